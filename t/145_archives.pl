# Archives of pg_dump's, directories and files in the custom format, are read
# with all their data, with any compression, also if they were written to a
# pipe; what is not a whole archive is refused, and no damage crashes or hangs.
#
# By the program of test/unit, which reads all there is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  dump_ok codecs);
use Pardump::DamagedArchive qw(damaged gone written other_toc);
use Pardump::Manifest qw(write_bytes $manifest_name);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/..";
my ($rc, $out, $err) = run_program('make', '-s', '-C', $tree, 'PG_CONFIG=pg_config',
	'test/unit/unit_test');
plan skip_all => 'no compiler, or not all that the program is built with'
  if $rc != 0 && $err !~ /error:/;
is($rc, 0, 'the program is built');
my $program = "$tree/test/unit/unit_test";

my $node = start_cluster('archives');
make_database($node, 'archives');
sql($node, 'archives', <<'SQL');
CREATE TABLE large AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE empty (a int);
CREATE TABLE none AS SELECT FROM generate_series(1, 5);
CREATE TABLE odd AS SELECT E'\\.\n\t\\\r' || g AS "new
line", E'\\' AS last FROM generate_series(1, 1000) g;
CREATE TABLE wide AS SELECT g, repeat(md5(g::text), 20000) AS t FROM generate_series(1, 3) g;
SELECT lo_from_bytea(4711, decode(repeat('00ff0a', 50000), 'hex'));
SELECT lo_from_bytea(4712, 'passed over');
SELECT lo_from_bytea(4714, 'and then this');
SELECT lo_create(4713);
SELECT lo_from_bytea(4000000001, 'a large number');
SQL

sub stock_dump
{
	my ($name, @options) = @_;
	my $path = new_path($name);
	my ($rc, undef, $err) = run_program('pg_dump', @options, '-f', $path, '-d',
		$node->connstr('archives'));
	is($rc, 0, "pg_dump @options") or diag($err);
	return $path;
}

# By way of a pipe: no offset is known.
sub piped_dump
{
	my (@options) = @_;
	my $path = new_path('piped');
	my $connstr = $node->connstr('archives');
	is(system("pg_dump -Fc @options -d \"$connstr\" | cat >$path"), 0, "piped: @options");
	return $path;
}

# What the program reads, by "entry ID" and "object OID"; undef if it fails.
sub read_archive
{
	my ($path) = @_;
	my ($rc, $out, $err) = run_program($program, '--read-archive', $path);
	return (undef, $err) if $rc != 0;

	my %data;
	while ($out =~ /\G(entry|object) (\d+) (\d+)\n/gc)
	{
		$data{"$1 $2"} = substr($out, pos $out, $3);
		pos($out) += $3 + 1;
	}
	die 'the end of the output is something else' if pos $out != length $out;
	return (\%data, $err);
}

sub read_ok
{
	my ($what, $path, $expected, $message) = @_;
	my ($data, $err) = read_archive($path);
	like($err, $message // qr/^$/, "$what: no other message than expected");
	is(join(' ', sort keys %{ $data // {} }), join(' ', sort keys %$expected), "$what: names of the data");
	is(join(' ', grep { ($data->{$_} // '') ne $expected->{$_} } sort keys %$expected),
		'', "$what: as it was");
	return;
}

# The same of a directory whose files are not compressed.  Every fourth object is
# passed over.
sub plain_data
{
	my ($dir) = @_;
	my %data;
	foreach my $path (glob "$dir/*.dat")
	{
		my ($object, $id) = $path =~ /\/(blob_)?(\d+)\.dat$/ or next;
		$data{ $object ? "object $id" : "entry $id" } =
		  $object && $id % 4 == 0 ? '' : slurp_file($path);
	}
	return \%data;
}

sub refused_archive_ok
{
	my ($what, $path, $pattern) = @_;
	my ($data, $err) = read_archive($path);
	is($data, undef, "$what: refused");
	like($err, $pattern, "$what: message");
	return;
}

# ---- all kinds of archives

my $plain = stock_dump('plain', '-Fd', '-Z0');
my $expected = plain_data($plain);
is(scalar(grep { /entry/ } keys %$expected), 5, 'rows of all tables');
is(scalar(grep { /object/ } keys %$expected), 5, 'number of large objects');
my %custom;
foreach my $codec (codecs($node))
{
	my $compress = $codec eq 'none' ? '-Z0' : $codec eq 'gzip' ? '-Z5' : "--compress=$codec";

	read_ok("$codec: directory", stock_dump('dir', '-Fd', $compress), $expected);
	$custom{$codec} = stock_dump('custom', '-Fc', $compress);
	read_ok("$codec: custom", $custom{$codec}, $expected);
	my $piped = piped_dump($compress);
	read_ok("$codec: piped", $piped, $expected,
		qr/^\w+: searching archive "\Q$piped\E" for its data, because it was written to a pipe$/);

	my $bytes = slurp_file($piped);
	my $cut = new_path('cut');
	foreach my $len (int(length($bytes) / 2), length($bytes) - 1)
	{
		write_bytes($cut, substr($bytes, 0, $len));
		refused_archive_ok("$codec: piped, cut at $len", $cut,
			qr/archive "\Q$cut\E" is damaged\n.*detail: The file ends unexpectedly\./);
	}
}

my $ours = dump_ok($node, 'archives', 'ours', 'pg_pardump', '-j2', '-Z0', '--chunk-size=100kB');
read_ok('ours', $ours, plain_data($ours));

# ---- files of a directory that are not as pg_dump makes them

my $by_hand = damaged($plain, sub { });
my ($rows) = grep { -s $_ > 100000 } glob "$by_hand/[0-9]*.dat";
is(system('gzip', $rows, "$by_hand/toc.dat", glob "$by_hand/blobs*.toc"), 0, 'gzip');
read_ok('compressed by hand', $by_hand, $expected);

my ($file) = $rows =~ /(\d+\.dat)$/;
my ($id) = $file =~ /(\d+)/;
foreach (
	[ 'a file is missing', gone($file), qr/file "\Q$file\E" does not exist/ ],
	[ 'a file is a link', sub { rename "$_[0]/$file", "$_[0]/x"; symlink 'x', "$_[0]/$file" },
		qr/file "\Q$file\E" is a symbolic link/ ],
	[ 'a file is a FIFO', sub { unlink "$_[0]/$file"; mkfifo("$_[0]/$file", 0600) },
		qr/"\Q$file\E" is not a regular file/ ],
	[ 'a file is a directory', sub { unlink "$_[0]/$file"; mkdir "$_[0]/$file" },
		qr/"\Q$file\E" is not a regular file/ ],
	[ 'a file is empty', written($file, ''),
		qr/entry $id: the line that ends the rows is missing/ ],
	[ 'more behind the end', sub { append_to_file("$_[0]/$file", "1\n") },
		qr/entry $id: unexpected data after the rows/ ],
	[ 'toc.dat continues', sub { append_to_file("$_[0]/toc.dat", "\0") },
		qr/file "toc\.dat" of archive .* is damaged\n.*detail: It contains data after its end\./ ],
	[ 'no toc.dat', gone('toc.dat'), qr/is not an archive\n.*detail: File "toc\.dat" does not exist\./ ],
	[ 'a list with other names', written('blobs*.toc', "4711 ../x\n"),
		qr/"\.\.\/x" is not a valid file name in an archive/ ],
	[ 'a list that is none', written('blobs*.toc', 'x' x 1000),
		qr/the list of large objects is invalid/ ],
	map {
		my $name = $_;
		[ "a file is called $name",
			other_toc(sub { $_->{filename} = $name foreach grep { $_->{filename} eq $file } @_ }),
			qr/"\Q$name\E" is not a valid file name in an archive/ ]
	} ("../$file", "./$file", "/$file", '.', '.hidden'))
{
	my ($what, $change, $pattern) = @$_;
	refused_archive_ok($what, damaged($plain, $change), $pattern);
}

my $no_manifest = damaged($ours, gone($manifest_name));
($rc, $out, $err) = run_program($program, '--read-archive', $no_manifest);
is($rc, 0, 'an archive of pg_pardump without a manifest: exit code');
like($err, qr/warning: archive .* has no manifest/, 'an archive of pg_pardump without a manifest: warning');
write_bytes("$no_manifest/$manifest_name", '{}');
refused_archive_ok('ours with a damaged manifest', $no_manifest,
	qr/could not read the manifest of archive .*\n.*detail: The manifest's own checksum does not match\./);

# ---- what is not an archive

my $fifo = new_path('fifo');
mkfifo($fifo, 0600) or die "mkfifo: $!";
my $text = new_path('text');
write_bytes($text, "some text\n");
my $old = new_path('old');
write_bytes($old, slurp_file($custom{none}) =~ s/^(PGDMP.)./$1\x0d/sr);
my $empty = new_path('empty');
write_bytes($empty, '');
foreach (
	[ 'tar', stock_dump('tar', '-Ft'), qr/has an unsupported format \(tar\)\n.*hint: Restore the archive with pg_restore/ ],
	[ 'a script', stock_dump('script', '-Fp'), qr/has an unsupported format \(plain text\)\n.*hint: Restore the script with psql/ ],
	[ 'a text', $text, qr/is not an archive\n.*detail: The file is in none of the formats/ ],
	[ 'nothing', $empty, qr/is not an archive\n.*detail: The file is in none of the formats/ ],
	[ 'a FIFO', $fifo, qr/is neither a directory nor a regular file/ ],
	[ 'a device', '/dev/null', qr/is neither a directory nor a regular file/ ],
	[ 'no file', new_path('missing'), qr/could not open input file .*: No such file/ ],
	[ 'an old version', $old, qr/archive "\Q$old\E" has an unsupported format version\n.*detail: Archives of pg_dump 12 to/ ])
{
	refused_archive_ok(@$_);
}

# ---- damage: a bit of many bytes, and the end cut off at them

sub damage_ok
{
	my ($what, $path, $file, $step, $pattern) = @_;
	my ($rc, $out) = run_program($program, '--damage-archive', $path, $file, $step);
	note("$what: $out");
	is($rc, 0, "$what: exit code of the program");
	like($out, $pattern, "$what: output of the program");
	return;
}

make_database($node, 'small');
sql($node, 'small', q{CREATE TABLE small AS SELECT g, md5(g::text) FROM generate_series(1, 50) g;
SELECT lo_from_bytea(4711, 'an object')});
foreach my $codec (codecs($node))
{
	my $compress = $codec eq 'none' ? '-Z0' : $codec eq 'gzip' ? '-Z5' : "--compress=$codec";
	my $custom = new_path('small');
	my $dir = new_path('small');

	run_program('pg_dump', '-Fc', $compress, '-f', $custom, '-d', $node->connstr('small'));
	run_program('pg_dump', '-Fd', $compress, '-f', $dir, '-d', $node->connstr('small'));
	damage_ok("$codec: custom", $custom, $custom, 7,
		qr/^changed: \d+ same, \d+ refused, \d+ other, 0 crashed\ncut: 0 same, [1-9]\d* refused, 0 other, 0 crashed$/);

	# only gzip has a checksum
	my $other = $codec eq 'gzip' ? qr/0/ : qr/\d+/;
	my ($rows) = grep { !/blob/ } glob "$dir/*.dat.*" or next;
	damage_ok("$codec: rows of a directory", $dir, $rows, 3,
		qr/^changed: \d+ same, [1-9]\d* refused, $other other, 0 crashed\ncut: 0 same, [1-9]\d* refused, 0 other, 0 crashed$/);
}

done_testing();
