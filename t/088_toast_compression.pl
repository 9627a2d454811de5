# --toast-compression: how long values are compressed on the target, which
# columns keep their own method, and targets that do not have it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Copy qw(copy_ok copy_refused_ok);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::Restore qw(parrestore_ok run_parrestore);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('toast_source');
my $target = start_cluster('toast_target');

make_database($source, 'long');
sql($source, 'long', q{CREATE TABLE docs (id int PRIMARY KEY, def text, own text COMPRESSION pglz);
	INSERT INTO docs SELECT g, repeat(md5(g::text) || 'word ', 300), repeat(md5(g::text) || 'word ', 300)
		FROM generate_series(1, 200) g;
	INSERT INTO docs SELECT -g, repeat(md5(g::text), 90), 'short' FROM generate_series(1, 50) g});

# Which methods the values of a column have.
sub methods
{
	my ($db, $column) = @_;
	return value($target, $db,
		"SELECT string_agg(DISTINCT pg_column_compression($column), ' ') FROM docs");
}

make_database($target, 'probe');
my $has_lz4 = value($target, 'probe', q{SELECT 'lz4' = ANY (enumvals) FROM pg_settings
	WHERE name = 'default_toast_compression'}) eq 't';
my $default = value($target, 'probe', 'SHOW default_toast_compression');

SKIP:
{
	skip 'the server was built without lz4', 1 if !$has_lz4;
	foreach my $format (qw(text binary))
	{
		my $db = "lz4_$format";
		make_database($target, $db);
		copy_ok($source, 'long', $target, $db, "lz4, $format", '-j2', '--compare',
			'--toast-compression=lz4', "--copy-format=$format");
		is(methods($db, 'def'), 'lz4', "lz4, $format: a column without a method");
		is(methods($db, 'own'), 'pglz', "lz4, $format: a column with its own");
	}
}
foreach my $case ([ 'pglz', 'lz4', 'pglz' ], [ 'default', $default, $default ])
{
	my ($method, $of_database, $expected) = @$case;
	next if $of_database eq 'lz4' && !$has_lz4;
	make_database($target, $method . '_copy');
	sql($target, 'postgres',
		"ALTER DATABASE ${method}_copy SET default_toast_compression = $of_database");
	copy_ok($source, 'long', $target, $method . '_copy', $method, "--toast-compression=$method",
		'--copy-format=text');
	is(methods($method . '_copy', 'def'), $expected, "$method: a column without a method");
}

# the same of a restore, which is told of nothing else

my $archive = new_path('archive');
run_program('pg_dump', '-Fc', '-f', $archive, '-d', $source->connstr('long'));
foreach my $method ('pglz', $has_lz4 ? 'lz4' : ())
{
	my $db = "${method}_restore";
	make_database($target, $db);
	sql($target, 'postgres', "ALTER DATABASE $db SET default_toast_compression = $default");
	parrestore_ok($target, $db, $archive, "restore, $method", "--toast-compression=$method");
	is(methods($db, 'def'), $method, "restore, $method: a column without a method");
	is(methods($db, 'own'), 'pglz', "restore, $method: a column with its own");
}

# ---- what is refused

make_database($target, 'untouched');
copy_refused_ok(qr/invalid value "zstd" for option --toast-compression\n.*hint: Use "default", "lz4" or "pglz"\.\n/, 'an unknown method',
	$source, 'long', $target, 'untouched', '--toast-compression=zstd');
my ($rc, undef, $err) =
  run_program('pg_pardump', '-d', $source->connstr('long'), '-f', 'x', '--toast-compression=lz4');
is($rc, 1, 'without --target: exit code');
like($err, qr/option --toast-compression requires option --target/, 'without --target: message');
($rc, undef, $err) = run_parrestore($target, 'untouched', $archive, '--toast-compression=zstd');
is($rc, 1, 'restore, an unknown method: exit code');
like($err, qr/invalid value "zstd" for option --toast-compression\n/, 'restore, an unknown method: message');

foreach my $case (
	[ 'a server without it', "\0\0\0\x03lz4", "\0\0\0\x03lz5",
		qr/the target server does not support TOAST compression method lz4/ ],
	[ 'a server without the setting', "'default_toast_compression'", "'default_toast_impression_'",
		qr/target server version .* does not support a choice of TOAST compression methods\s.*requires a target of PostgreSQL 14/s ])
{
	my ($what, $word, $heard, $message) = @$case;
	die 'not as long' if length $word != length $heard;
	# it hears another word of the same length, and so seems to be another server
	my $relay = start_relay($target, sub {
		my ($bytes, $is_server) = @_;
		$$bytes =~ s/\Q$word\E/$heard/g if !$is_server;
		return 1;
	});
	my $connstr = "host=$relay->{host} port=$relay->{port} dbname=untouched";
	foreach my $command (
		(map { [ 'pg_pardump', '-d', $source->connstr('long'), '--target', $connstr, @$_ ] } [], ['--check']),
		(map { [ 'pg_parrestore', '-d', $connstr, @$_, $archive ] } [], ['--check'], ['-e']))
	{
		my ($program, @options) = @$command;
		my ($rc, $out, $err) = run_program($program, '--toast-compression=lz4', @options);
		is($rc, 1, "$what: exit code");
		like($out . $err, $message, "$what: message");
	}
	stop_proxy($relay);
}
is(value($target, 'untouched', q{SELECT count(*) FROM pg_class WHERE relname = 'docs'}), 0,
	'refused: no table was created');

$source->stop;
$target->stop;
done_testing();
