# All workers load pieces of a table that is small in the archive and long as text;
# a short table is loaded by one COPY. This holds for each compression, format and
# number of workers, before and after --resume, and also if the archive claims wrong
# sizes.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json);
use Pardump::Background qw(end_dump wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql codecs);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::DamagedArchive qw(damaged);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(hold_gates close_gate open_gate wait_at_gate);
use Pardump::Manifest qw(write_bytes);
use Pardump::Restore qw(run_parrestore start_parrestore parrestore_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('long');
my $copies = 0;
my @pieces = ('--chunk-size=64kB');

# Of 60,000 rows 420 kB of text, and hardly any of it when it is compressed.  One
# waits at the gate.
make_database($node, 'dull', options => 'TEMPLATE template0');
sql($node, 'dull', q{
	CREATE FUNCTION public.pass(id int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
		IF id = 2 THEN
			PERFORM pg_catalog.pg_advisory_lock_shared(7);
			PERFORM pg_catalog.pg_advisory_unlock_shared(7);
		END IF;
		RETURN true; END$$;
	CREATE TABLE long (id int CHECK (public.pass(id)), note text);
	INSERT INTO long SELECT CASE i WHEN 30000 THEN 2 ELSE 1 END, 'dull' FROM generate_series(1, 60000) i;
	CREATE TABLE short AS SELECT i AS a, 'short' AS b FROM generate_series(1, 1000) i;
	CREATE TABLE self (id int PRIMARY KEY, parent int REFERENCES self);
	INSERT INTO self SELECT i, nullif(i - 1, 0) FROM generate_series(1, 10000) i});
my $data = fingerprint($node, 'dull');
my $schema = schema_text($node, 'dull');

sub new_copy { return empty_copy($node, 'dull', 'copy' . ++$copies); }

sub stock_dump
{
	my ($db, $format, $codec) = @_;
	my $path = new_path('stock');
	my $compress = $codec eq 'none' ? '-Z0' : $codec eq 'gzip' ? '-Z6' : "--compress=$codec";
	my ($rc, undef, $err) =
	  run_program('pg_dump', $format, $compress, '-f', $path, '-d', $node->connstr($db));
	is("$rc $err", '0 ', "pg_dump $format $compress");
	return $path;
}

# The file of the long table.
sub long_file
{
	my ($dir) = @_;
	my ($out) = (run_program('pg_restore', '-l', $dir))[1];
	my ($id) = $out =~ /^(\d+);.* TABLE DATA public long /m;
	return (glob "$dir/$id.dat*")[0];
}

# How many workers have been at each table, by name.
sub workers_at
{
	my ($log) = @_;
	my %n;
	$n{ $_->{table} }++
	  foreach grep { $_->{event} eq 'chunk_start' } map { decode_json($_) } split /\n/, slurp_file($log);
	return \%n;
}

# Which lines of rows the log of an unfinished restore has, "rows N" and "rows N
# piece N" each.
sub count_lines
{
	my ($db, $pattern) = @_;
	return value($node, $db, "SELECT count(*) FROM pardump_restore.done WHERE name ~ '^rows [0-9]+$pattern\$'");
}

# ---- of any compression, in both formats, by one and by four

my $size = value($node, 'dull', 'SELECT sum(length(t.*::text)) FROM long t');
cmp_ok($size, '>', 300000, 'the table is long');
my %archives;
foreach my $codec (codecs($node))
{
	foreach my $format ('-Fd', '-Fc')
	{
		my $archive = $archives{"$format $codec"} = stock_dump('dull', $format, $codec);
		foreach my $jobs ('-j1', '-j4')
		{
			my $what = "$codec, $format, $jobs";
			my ($db, $log) = (new_copy(), new_path('log'));
			parrestore_ok($node, $db, $archive, $what, $jobs, @pieces, "--log-json=$log");
			same_database_ok($node, $db, $data, $schema, $what);
			my ($n) = $jobs =~ /(\d)/;
			my $workers = workers_at($log);
			is("$workers->{'public.long'} $workers->{'public.short'}", "$n 1",
				"$what: all were at the long table, one at the short one");
		}
	}
	next if $codec eq 'none';
	cmp_ok(-s long_file($archives{"-Fd $codec"}), '<', 64 * 1024, "$codec: its file is shorter than a piece");
}

my $archive = $archives{'-Fd gzip'};

# ---- a table that references itself, into which rows go with its key in force,
# is loaded at once, however long it is

{
	my ($db, $log) = (new_copy(), new_path('log'));
	my ($rc, undef, $err) = run_program('pg_restore', '-s', '-d', $node->connstr($db), $archive);
	is("$rc $err", '0 ', 'definitions alone');
	parrestore_ok($node, $db, $archive, 'data alone', '-a', '-j3', '--chunk-size=32kB', "--log-json=$log");
	same_database_ok($node, $db, $data, $schema, 'data alone');
	my $workers = workers_at($log);
	is("$workers->{'public.long'} $workers->{'public.self'}", '3 1', 'data alone: who was at them');
}

# ---- more long tables than are left to all

{
	make_database($node, 'many', options => 'TEMPLATE template0');
	sql($node, 'many', q{SELECT format('CREATE TABLE t%s AS SELECT 1 AS a, ''dull'' AS b FROM generate_series(1, 6000)', i)
		FROM generate_series(1, 40) i \gexec});
	my ($db, $log) = (empty_copy($node, 'many', 'copy' . ++$copies), new_path('log'));
	parrestore_ok($node, $db, stock_dump('many', '-Fc', 'gzip'), 'many', '-j2', '--chunk-size=32kB',
		"--log-json=$log");
	same_database_ok($node, $db, fingerprint($node, 'many'), schema_text($node, 'many'), 'many');
	my @at = values %{ workers_at($log) };
	is(join(' ', map { my $n = $_; scalar(grep { $_ == $n } @at) } 1, 2), '8 32',
		'many: 32 are left to all');
}

# ---- what an archive claims to hold is not believed

sub claim_refused_ok
{
	my ($what, $archive, $message) = @_;
	my $db = new_copy();
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j2', @pieces);
	is($rc, 1, "$what: exit code");
	like($err, qr/COPY failed for (a piece of )?table public\.long: .*$message.*errors ignored on restore: 1\n.*hint: .*\n\z/s,
		"$what: message");
	is(value($node, $db, 'SELECT count(*) FROM short'), 1000, "$what: other tables are there");
	return;
}

sub changed
{
	my ($archive, $change) = @_;
	return damaged($archive, sub {
		my ($dir) = @_;
		my $file = long_file($dir);
		write_bytes($file, $change->(slurp_file($file)));
	});
}

foreach my $claim (0, 0xfffffff0)
{
	claim_refused_ok("gzip, $claim bytes",
		changed($archive, sub { substr($_[0], 0, -4) . pack('V', $claim) }), 'incorrect length check');
}
if (my $zstd = $archives{'-Fd zstd'})
{
	# behind the magic number and the descriptor, of which two bits say that the
	# size has eight bytes, is the window's size
	foreach my $claim (1, 1 << 50)
	{
		claim_refused_ok("zstd, $claim bytes",
			changed($zstd, sub {
				my ($bytes) = @_;
				my ($magic, $descriptor, $window, $rest) = unpack 'a4 C a1 a*', $bytes;
				die 'the frame has a size, or no window' if $descriptor & 0xe0;
				return $magic . chr($descriptor | 0xc0) . $window . pack('Q<', $claim) . $rest;
			}),
			'\S');
	}
}

# ---- killed in the middle, and gone on with, by another number of workers

foreach my $case ([ '-j1', '-j4' ], [ '-j4', '-j1' ])
{
	my ($first, $second) = @$case;
	my $db = new_copy();
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $archive, $first, @pieces);
	wait_at_gate($node, $run, 1);
	wait_until('pieces are there', sub { count_lines($db, ' piece [0-9]+') > 0 });
	kill KILL => $run->{pid};
	end_dump($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	is(count_lines($db, ''), 2, "$first: the short tables are done as such");
	my $done = value($node, $db, 'SELECT count(*) FROM long');
	cmp_ok($done, '<', 60000, "$first: rows are missing");
	sql($node, $db, q{UPDATE long SET note = 'seen'; UPDATE short SET b = 'seen'});
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, '--resume', $second, @pieces);
	is("$rc $out$err", '0 ', "$first, $second: resumed");
	is(value($node, $db, q{SELECT count(*), count(*) FILTER (WHERE note = 'seen') FROM long}),
		"60000|$done", "$first, $second: no piece is loaded again");
	is(value($node, $db, q{SELECT count(*), count(*) FILTER (WHERE b = 'seen') FROM short}), '1000|1000',
		"$first, $second: nor is a table");
}

$node->stop;
done_testing();
