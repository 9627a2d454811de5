# The manifest: valid JSON that says of every file what it is and holds, for
# objects of any name, and that pg_restore passes over.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value dump_ok restore_ok codecs);
use Pardump::Command qw(refused_ok system_faults);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Databases qw(make_latin1);
use Pardump::Manifest qw($manifest_name read_manifest);
use POSIX qw(strftime);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(gettimeofday);

my $node = start_cluster('manifest');

make_database($node, 'manifest');
sql($node, 'manifest', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE large AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE empty (a int);
CREATE TABLE columnless ();
INSERT INTO columnless DEFAULT VALUES;
CREATE SCHEMA "sch""ema";
SELECT lo_from_bytea(4711, decode(repeat('00ff', 100000), 'hex'));
SELECT lo_create(4712);
SQL
my @names = ('quote"', q{apostrophe'}, 'back\\slash', "new\nline", "tab\tand\x01\x1f\x7f",
	'../../etc/passwd', 'a/b', '', '{"a": [1', 'Gr' . "\xc3\xb6\xc3\x9fe \xe2\x82\xac", ' ');
foreach my $i (0 .. $#names)
{
	next if $names[$i] eq '';
	sql($node, 'manifest',
		'CREATE TABLE "sch""ema"."' . $names[$i] =~ s/"/""/gr
		  . "\" AS SELECT g FROM generate_series(1, $i) g");
}

# Bytes of a CRC-32C as a manifest has it, in the machine's order.
my @crc_table = map {
	my $c = $_;
	$c = $c & 1 ? ($c >> 1) ^ 0x82F63B78 : $c >> 1 for 1 .. 8;
	$c
} 0 .. 255;

sub crc32c_hex
{
	my ($data) = @_;
	my $crc = 0xFFFFFFFF;
	$crc = $crc_table[($crc ^ $_) & 0xFF] ^ ($crc >> 8) for unpack('C*', $data);
	return unpack('H*', pack('L', $crc ^ 0xFFFFFFFF));
}

sub files_in
{
	my ($dir) = @_;
	opendir my $dh, $dir or die "could not open \"$dir\": $!";
	return sort grep { !/^\.|^\Q$manifest_name\E$/ } readdir $dh;
}

# All that the manifest says of the directory's files must be so.
sub manifest_right_ok
{
	my ($what, $dir, $checksum) = @_;
	my $text = slurp_file("$dir/$manifest_name");
	my $manifest = decode_json($text);
	my @problems;

	is_deeply([ sort map { $_->{Path} } @{ $manifest->{Files} } ],
		[ files_in($dir) ], "$what: names every file once");
	foreach my $file (@{ $manifest->{Files} })
	{
		my $path = "$dir/$file->{Path}";
		push @problems, "$file->{Path}: size" if -s $path != $file->{Size};
		push @problems, "$file->{Path}: checksum"
		  if ($file->{Checksum} // '') ne ($checksum ? $checksum->(slurp_file($path)) : '');
		push @problems, "$file->{Path}: times"
		  unless $manifest->{'Start-Time'} lt $file->{'Start-Time'}
		  && $file->{'Start-Time'} le $file->{'End-Time'}
		  && $file->{'End-Time'} le $manifest->{'End-Time'};
		push @problems, "$file->{Path}: worker" unless $file->{Worker} =~ /^[01]$/;
	}
	is_deeply(\@problems, [], "$what: right about every file");
	my ($before, $own) = $text =~ /\A(.*\n)"Manifest-Checksum": "([0-9a-f]{64})"\}\n\z/s;
	is(sha256_hex($before // ''), $own, "$what: checksum of the manifest");
	return $manifest;
}

# As a manifest has it, to the microsecond.
sub utc_now
{
	my ($seconds, $us) = gettimeofday();
	return strftime('%Y-%m-%dT%H:%M:%S', gmtime $seconds) . sprintf('.%06dZ', $us);
}

# Rows by table, as the manifest has them.
sub rows_in
{
	my ($manifest) = @_;
	my %rows;
	foreach my $file (grep { $_->{Kind} eq 'rows' } @{ $manifest->{Files} })
	{
		my $table = $file->{Table} // pack('H*', $file->{'Encoded-Table'});
		utf8::encode($table) if defined $file->{Table};
		$rows{$table} += $file->{Rows};
	}
	return \%rows;
}

my %want = (large => 20000, empty => 0, columnless => 1,
	map { ($names[$_] => $_) } grep { $names[$_] ne '' } 0 .. $#names);
my @chunks = ('--max-table-segment-pages=20', '-j2');

foreach my $codec (codecs($node), 'server-gzip')
{
	my $dir = dump_ok($node, 'manifest', "-Z $codec", 'pg_pardump', @chunks, '-Z', $codec);
	my $manifest = manifest_right_ok("-Z $codec", $dir, \&crc32c_hex);
	is_deeply(rows_in($manifest), \%want, "-Z $codec: rows of every table");
	my ($object) = grep { $_->{Path} =~ /^blob_4711\.dat/ } @{ $manifest->{Files} };
	is($object->{'Raw-Bytes'}, 200000, "-Z $codec: bytes of a large object");
	my $raw = 0;
	$raw += $_->{'Raw-Bytes'} foreach grep { ($_->{Table} // '') eq 'large' } @{ $manifest->{Files} };
	my @large = grep { ($_->{Table} // '') eq 'large' } @{ $manifest->{Files} };
	is($raw, value($node, 'manifest', 'SELECT sum(length(id::text) + 34) FROM large') + 5 * @large,
		"-Z $codec: bytes of a table");
	cmp_ok(scalar(@large), '>', 3, "-Z $codec: chunks");
	my $end = 0;
	foreach my $file (sort { $a->{'Start-Block'} <=> $b->{'Start-Block'} } @large)
	{
		last if $file->{'Start-Block'} != $end;
		$end = $file->{'End-Block'} // 'open';
	}
	is($end, 'open', "-Z $codec: block ranges");
}

# ---- the head

{
	# what is committed but not yet written to the log is in the snapshot too
	my $lsn = sql($node, 'manifest', q{
		SET synchronous_commit = off;
		INSERT INTO columnless DEFAULT VALUES;
		SELECT pg_current_wal_insert_lsn()});
	my $begin = utc_now();
	my $dir = dump_ok($node, 'manifest', 'head', 'pg_pardump', '-Z0', '-j2');
	my $manifest = read_manifest($dir);
	my @times = ($begin, @$manifest{qw(Start-Time End-Time)}, utc_now());
	is_deeply([ sort @times ], \@times, 'head: times');
	is($manifest->{'PgPardump-Manifest-Version'}, 1, 'head: version');
	is($manifest->{Database}, 'manifest', 'head: database');
	is($manifest->{'System-Identifier'},
		value($node, 'manifest', 'SELECT system_identifier FROM pg_control_system()'),
		'head: system identifier');
	like($manifest->{Snapshot}, qr/^[0-9A-F]{8}-[0-9A-F]{8}-\d+$/, 'head: snapshot');
	is($manifest->{'Server-Version'}, value($node, 'manifest', 'SHOW server_version'),
		'head: server version');
	is(value($node, 'manifest',
			"SELECT '$manifest->{LSN}'::pg_lsn BETWEEN '$lsn' AND pg_current_wal_insert_lsn()"),
		't', 'head: LSN');
	is($manifest->{'Checksum-Algorithm'}, 'CRC32C', 'head: checksums');
	is("$manifest->{Jobs} $manifest->{Retries}", '2 0', 'head: jobs and retries');
	make_database($node, 'restored');
	restore_ok($node, $dir, 'restored', 'manifest beside', '-j2');
	same_data_ok(fingerprint($node, 'manifest'), fingerprint($node, 'restored'),
		'manifest beside');

	my ($rc, undef, $err) = run_program('pg_restore', '-l', $dir);
	ok($rc == 0 && $err eq '', 'pg_restore -l passes over the manifest');
}

# ---- when it reaches the disk

{
	my $log = new_path('disk_log');
	my $dir = new_path('flushed');
	my ($rc, undef, $err) = run_program('env', 'LD_PRELOAD=' . system_faults(), "SYSTEM_LOG=$log",
		'pg_pardump', '-f', $dir, '-j2', '-d', $node->connstr('manifest'));
	is("$rc$err", '0', 'flushed: dumped');
	my @events = map { s/\Q$dir\E/DIR/r } split /\n/, slurp_file($log);
	my @files = map { "fsync DIR/$_" } sort 'toc.dat.tmp', $manifest_name,
	  grep { $_ ne 'toc.dat' } files_in($dir);
	is_deeply([ sort @events[ 0 .. $#files ] ], \@files, 'flushed: every file first, once');
	my ($parent) = $dir =~ m{(.*)/};
	is_deeply([ @events[ @files .. $#events ] ],
		[ 'fsync DIR', 'rename DIR/toc.dat', 'fsync DIR', "fsync $parent" ],
		'flushed: the directory before and after toc.dat gets its name');
}

# ---- kinds of checksums

manifest_right_ok('SHA256',
	dump_ok($node, 'manifest', 'SHA256', 'pg_pardump', '-j2', '--manifest-checksums=sha256'),
	\&sha256_hex);
manifest_right_ok('no checksums',
	dump_ok($node, 'manifest', 'no checksums', 'pg_pardump', '-j2', '--manifest-checksums=NONE'));
refused_ok(qr/invalid value "MD5" for option --manifest-checksums\n.*hint: Use .*"SHA256"/, 'unknown checksum',
	'-d', $node->connstr('manifest'), '--manifest-checksums=MD5');

# ---- what the server does not tell

{
	sql($node, 'manifest', <<'SQL');
CREATE ROLE plain LOGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain;
REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_current_wal_insert_lsn() FROM PUBLIC;
SQL
	my $dir = dump_ok($node, 'manifest', 'revoked', 'pg_pardump', '--role=plain',
		'-n', 'public', '-t', 'large', '-B');
	my $manifest = read_manifest($dir);
	is($manifest->{'System-Identifier'}, undef, 'revoked: no system identifier');
	is($manifest->{LSN}, undef, 'revoked: no LSN');

	my @dump = ('pg_pardump', '-U', 'plain', '-d', $node->connstr('manifest'), '--no-sync', '-v',
		'-t', 'large', '-B', '-f');
	my $unwatched = qr/ cannot warn of an old snapshot: the role may not execute pg_control_checkpoint\(\)$/m;
	my (undef, undef, $err) = run_program(@dump, new_path('watched'));
	unlike($err, $unwatched, 'the age of the snapshot is watched');
	sql($node, 'manifest', 'REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC');
	my $logged = -s $node->logfile;
	(undef, undef, $err) = run_program(@dump, new_path('unwatched'));
	like($err, $unwatched, 'revoked: the age of the snapshot is not');
	unlike(slurp_file($node->logfile, $logged), qr/permission denied/, 'revoked: the server logs no refused call');
}

# ---- names that are not UTF-8

make_latin1($node);
{
	my $dir = dump_ok($node, 'latin1', 'LATIN1', 'pg_pardump');
	my $manifest = manifest_right_ok('LATIN1', $dir, \&crc32c_hex);
	is($manifest->{Encoding}, 'LATIN1', 'LATIN1: encoding');
	my %tables = map { ($_ => 1) } split /\n/, value($node, 'latin1', q{
		SELECT encode(convert_to(relname, 'LATIN1'), 'hex') FROM pg_class
		WHERE relkind = 'r' AND oid >= 16384});
	my @unknown = grep { !$tables{ unpack('H*', $_) } } keys %{ rows_in($manifest) };
	is_deeply(\@unknown, [], 'LATIN1: names of tables');
}

$node->stop;
done_testing();
