# --verify finds whatever is missing, too much, cut off, or changed, in archives
# of pg_pardump and of pg_dump, and never crashes on what it reads.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  dump_ok codecs default_suffix);
use PostgreSQL::Test::Utils;
use Test::More;

my $manifest_name = 'pg_pardump_manifest.json';
my $node = start_cluster('verify');
my $suffix = default_suffix($node);

make_database($node, 'verify');
sql($node, 'verify', <<'SQL');
CREATE TABLE large AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE empty (a int);
CREATE TABLE odd AS SELECT E'\\.\n\t\n' AS "new
line" FROM generate_series(1, 10);
SELECT lo_from_bytea(4711, decode(repeat('00ff', 100000), 'hex'));
SELECT lo_create(4712);
SQL

sub verify
{
	my ($dir, @options) = @_;
	return run_program('pg_pardump', '--verify', $dir, '-j2', @options);
}

sub sound_ok
{
	my ($what, $dir, $rows, $without) = @_;
	my ($rc, $out, $err) = verify($dir);
	is($rc, 0, "$what: exit code");
	is($err, '', "$what: no finding");
	like($out,
		$without ? qr/^archive verified without a manifest: \d+ files, $rows rows, /
		: qr/^archive verified: \d+ files, $rows rows, /, "$what: summary");
	return;
}

# One line a finding: exactly as many lines as patterns, in any order.
sub found_ok
{
	my ($what, $dir, @patterns) = @_;
	my ($rc, $out, $err) = verify($dir);
	my @lines = split /\n/, $err;
	is($rc, 1, "$what: exit code");
	is($out, '', "$what: no summary");
	my @missing = grep { my $pattern = $_; !grep { /$pattern/ } @lines } @patterns;
	ok(@missing == 0 && @lines == @patterns, "$what: findings")
	  or diag("missing: @missing\nfound:\n$err");
	return;
}

sub write_bytes
{
	my ($path, $bytes) = @_;
	open my $fh, '>:raw', $path or die "could not write \"$path\": $!";
	print $fh $bytes;
	close $fh or die "could not write \"$path\": $!";
	return;
}

# Changes one byte of a file.
sub flip
{
	my ($path, $at, $bits) = @_;
	my $bytes = slurp_file($path);
	substr($bytes, $at, 1) = chr(ord(substr($bytes, $at, 1)) ^ ($bits // 1));
	write_bytes($path, $bytes);
	return;
}

sub cut
{
	my ($path, $len) = @_;
	write_bytes($path, substr(slurp_file($path), 0, $len));
	return;
}

# A copy of the archive to be damaged by the function.
sub damaged
{
	my ($dir, $damage) = @_;
	my $copy = new_path('damaged');
	system_or_bail('cp', '-a', $dir, $copy);
	$damage->($copy);
	return $copy;
}

# ---- what is sound

my @chunks = ('--max-table-segment-pages=20', '-j2');
foreach my $codec (codecs($node))
{
	sound_ok("-Z $codec", dump_ok($node, 'verify', "-Z $codec", 'pg_pardump', @chunks, '-Z', $codec), 20010);
	my $stock = dump_ok($node, 'verify', "-Z $codec", 'pg_dump', '-Z', $codec =~ s/gzip/6/r =~ s/none/0/r);
	sound_ok("pg_dump -Z $codec", $stock, 20010, 1);
}
my $ours = dump_ok($node, 'verify', 'to be damaged', 'pg_pardump', @chunks);
my $plain = dump_ok($node, 'verify', 'to be damaged', 'pg_pardump', '-Z0', @chunks);
my $stock = dump_ok($node, 'verify', 'to be damaged', 'pg_dump');
sound_ok('INSERT commands',
	dump_ok($node, 'verify', 'INSERT commands', 'pg_dump', '--inserts'), 0, 1);
sound_ok('no checksums',
	dump_ok($node, 'verify', 'no checksums', 'pg_pardump', '--manifest-checksums=NONE'), 20010);

my ($file) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$ours/[0-9]*.dat$suffix";
my ($plain_file) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$plain/[0-9]*.dat";
my ($stock_file) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$stock/[0-9]*.dat.gz";

# ---- what is not

found_ok('file missing', damaged($ours, sub { unlink "$_[0]/$file" }),
	(qr/file "\Q$file\E" is missing/, qr/file "\Q${\ ($file =~ s{\Q$suffix\E$}{}r)}\E" is missing/));
found_ok('file too much', damaged($ours, sub { write_bytes("$_[0]/7777777.dat", 'x') }),
	qr/file "7777777\.dat" is not in the manifest/);
found_ok('odd name', damaged($ours, sub { write_bytes("$_[0]/a\n\x1b[31mb", 'x') }),
	qr/file "a\\x0a\\x1b\[31mb" is not in the manifest/);
found_ok('plain file cut', damaged($plain, sub { cut("$_[0]/$plain_file", 1000) }),
	qr/file "\Q$plain_file\E" has 1000 bytes, but the manifest says \d+/,
	qr/file "\Q$plain_file\E" does not decompress to \d+ bytes/);
found_ok('file cut', damaged($ours, sub { cut("$_[0]/$file", 1000) }),
	qr/file "\Q$file\E" has 1000 bytes, but/, qr/file "\Q$file\E" ends within compressed data/);
found_ok('file empty', damaged($ours, sub { cut("$_[0]/$file", 0) }),
	qr/file "\Q$file\E" has 0 bytes, but/, qr/file "\Q$file\E" ends within compressed data/);
found_ok('plain byte changed', damaged($plain, sub { flip("$_[0]/$plain_file", 500) }),
	qr/file "\Q$plain_file\E" has another checksum than in the manifest/);
found_ok('byte changed', damaged($ours, sub { flip("$_[0]/$file", 0) }),
	qr/file "\Q$file\E" has another checksum/, qr/file "\Q$file\E" could not be decompressed: /);
found_ok('link', damaged($ours, sub { rename "$_[0]/$file", "$_[0]/../linked"; symlink '../linked', "$_[0]/$file" }),
	qr/file "\Q$file\E" could not be opened: /);
found_ok('large object gone', damaged($ours, sub { unlink "$_[0]/blob_4711.dat$suffix" }),
	qr/file "blob_4711\.dat\Q$suffix\E" is missing/, qr/file "blob_4711\.dat" is missing/);
found_ok('large object out of its list',
	damaged($stock, sub { my ($list) = glob "$_[0]/blobs*.toc"; write_bytes($list, "4711 blob_4711.dat\n") }),
	qr/file "blob_4712\.dat\.gz" is not named by toc\.dat/);
found_ok('list that leads elsewhere',
	damaged($stock, sub { my ($list) = glob "$_[0]/blobs*.toc"; write_bytes($list, "4711 blob_4711.dat\n4712 ../x\n") }),
	qr/file "blob_4712\.dat\.gz" is not named by toc\.dat/, qr/file "\.\.\/x" is missing/);
found_ok('manifest changed', damaged($ours, sub { flip("$_[0]/$manifest_name", 100) }),
	qr/file "\Q$manifest_name\E" is damaged: its own checksum does not match/);
found_ok('no toc.dat', damaged($ours, sub { unlink "$_[0]/toc.dat" }),
	qr/file "toc\.dat" could not be opened: /, qr/file "toc\.dat" is missing/);

# Rows that were changed with their checksum and size would deceive all but
# the count: here by a manifest that lies.
{
	my $dir = damaged($plain, sub {
		my $text = slurp_file("$_[0]/$manifest_name");
		$text =~ s/("Path": "\Q$plain_file\E".*?"Rows": )\d+/${1}3/;
		$text =~ s/"Manifest-Checksum".*//s;
		write_bytes("$_[0]/$manifest_name", "$text\"Manifest-Checksum\": \"" . sha256_hex($text) . "\"}\n");
	});
	found_ok('wrong number of rows', $dir,
		qr/file "\Q$plain_file\E" has \d+ rows, but the manifest says 3/);
}

# ---- a stock archive

found_ok('stock: file missing', damaged($stock, sub { unlink "$_[0]/$stock_file" }),
	qr/file "\Q${\ ($stock_file =~ s{\.gz$}{}r)}\E" is missing/);
found_ok('stock: file cut', damaged($stock, sub { cut("$_[0]/$stock_file", 1000) }),
	qr/file "\Q$stock_file\E" ends within compressed data/);
found_ok('stock: byte changed', damaged($stock, sub { flip("$_[0]/$stock_file", 1500) }),
	qr/file "\Q$stock_file\E" could not be decompressed: /);

# ---- damage everywhere: found, and never a crash

sub never_sound_ok
{
	my ($what, $dir, $name, @positions) = @_;
	my $copy = damaged($dir, sub { });
	my $bytes = slurp_file("$dir/$name");
	my @wrong;
	foreach my $at (@positions)
	{
		my $changed = $bytes;
		substr($changed, $at, 1) = chr(ord(substr($changed, $at, 1)) ^ 0x81);
		foreach my $damage ([ "byte $at", $changed ], [ "cut at $at", substr($bytes, 0, $at) ])
		{
			write_bytes("$copy/$name", $damage->[1]);
			my ($rc, undef, $err) = verify($copy);
			push @wrong, "$damage->[0]: $rc" if $rc != 1 || $err eq '';
		}
	}
	is_deeply(\@wrong, [], $what);
	return;
}

foreach my $name ('toc.dat', $manifest_name, $file)
{
	my $size = -s "$ours/$name";
	never_sound_ok("damage in $name is found", $ours, $name,
		map { int($_ * ($size - 1) / 12) } 0 .. 12);
}

# toc.dat of a stock archive has no checksum: not all damage can be seen, but
# none may crash.
{
	my $copy = damaged($stock, sub { });
	my $bytes = slurp_file("$stock/toc.dat");
	my %codes;
	foreach my $at (0 .. 60)
	{
		my $changed = $bytes;
		substr($changed, $at, 1) = chr(ord(substr($changed, $at, 1)) ^ 0x81);
		write_bytes("$copy/toc.dat", $changed);
		my ($rc) = verify($copy);
		$codes{$rc}++;
	}
	is_deeply([ grep { $_ > 1 } keys %codes ], [], 'no byte of toc.dat makes it crash');
}

# ---- the command

my ($rc, $out, $err) = run_program('pg_pardump', '--verify', new_path('nothing'));
is($rc, 1, 'no directory: exit code');
like($err, qr/could not open directory ".*": No such file or directory/, 'no directory: message');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '-f', new_path('other'));
like($err, qr/options --verify and -f\/--file cannot be used together/, 'not with -f');

$node->stop;
done_testing();
