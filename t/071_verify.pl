# --verify finds whatever is missing, too much, cut off, or changed, in archives
# of pg_pardump and of pg_dump, and never crashes on what it reads.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  dump_ok codecs default_suffix);
use Pardump::Command qw(system_faults);
use Pardump::Manifest qw($manifest_name change_manifest write_bytes);
use Pardump::Toc qw(read_toc write_toc);
use PostgreSQL::Test::Utils;
use POSIX qw(mkfifo);
use Test::More;

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

# What stands before the command, e.g. with a variable of the environment.
our @front;

sub verify
{
	my ($dir, @options) = @_;
	return run_program(@front, 'pg_pardump', '--verify', $dir, '-j2', @options);
}

sub sound_ok
{
	my ($what, $dir, $rows, $without) = @_;
	my ($rc, $out, $err) = verify($dir);
	is($rc, 0, "$what: exit code");
	is($err, '', "$what: no finding");
	like($out,
		$without ? qr/^archive verified without a manifest: \d+ files?, $rows rows?, /
		: qr/^archive verified: \d+ files?, $rows rows?, /, "$what: summary");
	return;
}

# One line a finding, exactly as many lines as patterns, in any order; then their
# number.
sub found_ok
{
	my ($what, $dir, @patterns) = @_;
	my ($rc, $out, $err) = verify($dir);
	my @lines = split /\n/, $err;
	is($rc, 1, "$what: exit code");
	is($out, '', "$what: no summary");
	my $n = @patterns;
	like(pop @lines, $n == 1 ? qr/^1 finding in \d+ files?$/ : qr/^$n findings in \d+ files?$/, "$what: sum");
	my @missing = grep { my $pattern = $_; !grep { /$pattern/ } @lines } @patterns;
	ok(@missing == 0 && @lines == @patterns, "$what: findings")
	  or diag("missing: @missing\nfound:\n$err");
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

# ---- progress

{
	my $n = () = glob "$ours/*";
	$n--;	# all but the manifest
	my ($rc, $out, $err) = verify($ours, '-P');
	is($rc, 0, '-P: exit code');
	like($err, qr{^100%, time \d+:\d\d, files $n/$n, \d+ kB, \d+\.\d MB/s\n\z}, '-P: progress');
	like($out, qr/^archive verified: $n files, 20010 rows, /, '-P: sum');
	($rc, $out, $err) = verify(damaged($ours, sub { flip("$_[0]/$file", 0) }), '-P');
	is($rc, 1, '-P, a finding: exit code');
	like($err, qr{^100%, time \d+:\d\d, files $n/$n, .*, 1 finding\n1 finding in $n files\n\z}m, '-P, a finding: progress and sum');
	my $hostile = damaged($ours, sub {
		flip("$_[0]/$file", 0);
		change_manifest($_[0], sub { s/("\Q$file\E".*?"Table": )"large"/$1"\\u001b[2J\\nx"/ });
	});
	($rc, $out, $err) = verify($hostile);
	like($err, qr/file "\Q$file\E" of table public\."\\x1b\[2J\\x0ax" has another checksum/, 'a name that commands a terminal');
}

# ---- what is not

found_ok('file missing', damaged($ours, sub { unlink "$_[0]/$file" }),
	qr/file "\Q$file\E" of table public\.large is missing/);
found_ok('file too much', damaged($ours, sub { write_bytes("$_[0]/7777777.dat", 'x') }),
	qr/file "7777777\.dat" is not in the manifest/);
found_ok('odd name', damaged($ours, sub { write_bytes("$_[0]/a\n\x1b[31mb", 'x') }),
	qr/file "a\\x0a\\x1b\[31mb" is not in the manifest/);
found_ok('plain file cut', damaged($plain, sub { cut("$_[0]/$plain_file", 1000) }),
	qr/file "\Q$plain_file\E" of table public\.large has 1000 bytes, but the manifest says \d+/);
found_ok('file cut', damaged($ours, sub { cut("$_[0]/$file", 1000) }),
	qr/file "\Q$file\E" of table public\.large has 1000 bytes, but the manifest says \d+, and ends within compressed data$/);
found_ok('file empty', damaged($ours, sub { cut("$_[0]/$file", 0) }),
	qr/file "\Q$file\E" of table public\.large has 0 bytes, but the manifest says \d+, and ends within compressed data$/);
found_ok('plain byte changed', damaged($plain, sub { flip("$_[0]/$plain_file", 500) }),
	qr/file "\Q$plain_file\E" of table public\.large has another checksum than in the manifest/);
found_ok('byte changed', damaged($ours, sub { flip("$_[0]/$file", 0) }),
	qr/file "\Q$file\E" of table public\.large has another checksum than in the manifest, and could not be decompressed: /);
found_ok('link', damaged($ours, sub { rename "$_[0]/$file", "$_[0]/../linked"; symlink '../linked', "$_[0]/$file" }),
	qr/file "\Q$file\E" of table public\.large could not be opened: /);
found_ok('large object gone', damaged($ours, sub { unlink "$_[0]/blob_4711.dat$suffix" }),
	qr/file "blob_4711\.dat\Q$suffix\E" is missing/);
foreach my $archive ($ours, $stock)
{
	found_ok('list of large objects gone',
		damaged($archive, sub { unlink glob "$_[0]/blobs*.toc" }),
		qr/file "blobs\w*\.toc" is missing/);
	found_ok('odd list of large objects',
		damaged($archive, sub { write_bytes(glob("$_[0]/blobs*.toc"), "4711 blob_4711.dat\n4712\0x\n") }),
		qr/file "blobs\w*\.toc" is not a list of large objects/);
}
found_ok('large object out of its list',
	damaged($stock, sub { my ($list) = glob "$_[0]/blobs*.toc"; write_bytes($list, "4711 blob_4711.dat\n") }),
	qr/file "blob_4712\.dat\.gz" is not named by toc\.dat/);
found_ok('list that leads elsewhere',
	damaged($stock, sub { my ($list) = glob "$_[0]/blobs*.toc"; write_bytes($list, "4711 blob_4711.dat\n4712 ../x\n") }),
	qr/file "blob_4712\.dat\.gz" is not named by toc\.dat/, qr/file "\.\.\/x" has a name that leads out of the archive/);
found_ok('manifest changed', damaged($ours, sub { flip("$_[0]/$manifest_name", 100) }),
	qr/file "\Q$manifest_name\E" is damaged: its own checksum does not match/);
found_ok('manifest that claims to be huge', damaged($ours, sub { truncate "$_[0]/$manifest_name", 2**36 or die "truncate: $!" }),
	qr/file "\Q$manifest_name\E" is damaged: its own checksum does not match/);
foreach my $options ('', '--no-chunks -t empty', '--schema-only')
{
	my $whole = dump_ok($node, 'verify', "no manifest: $options", 'pg_pardump', split / /, $options);
	found_ok("no manifest: $options", damaged($whole, sub { unlink "$_[0]/$manifest_name" }),
		qr/file "\Q$manifest_name\E" is missing/);
	like((run_program('pg_restore', '-l', $whole))[1],
		qr/^;     Dumped by pg_dump version: \d.*, pg_pardump \d+\.\d+\.\d+$/m,
		"no manifest: pg_restore shows the mark: $options");
}
found_ok('toc.dat changed', damaged($ours, sub { flip("$_[0]/toc.dat", index(slurp_file("$_[0]/toc.dat"), 'CREATE TABLE')) }),
	qr/file "toc\.dat" has another checksum than in the manifest/);
found_ok('toc.dat cut', damaged($ours, sub { cut("$_[0]/toc.dat", 1000) }),
	qr/file "toc\.dat" is damaged: unexpected end/);
found_ok('no toc.dat', damaged($ours, sub { unlink "$_[0]/toc.dat" }),
	qr/file "toc\.dat" is missing/);
found_ok('all but the manifest missing', damaged($ours, sub { unlink grep { !/manifest/ } glob "$_[0]/*" }),
	map { my $name = s/.*\///r; qr/file "\Q$name\E"(?: of table public\.(?:large|empty|odd))? is missing/ } grep { !/manifest/ } glob "$ours/*");

# Rows that were changed with their checksum and size would deceive all but
# the count: here by a manifest that lies.
{
	my $dir = damaged($plain, sub {
		change_manifest($_[0], sub { s/("Path": "\Q$plain_file\E".*?"Rows": )\d+/${1}3/ });
	});
	found_ok('wrong number of rows', $dir,
		qr/file "\Q$plain_file\E" of table public\.large has \d+ rows?, but the manifest says 3/);
}

# Without checksums there are those of the codec, if any, and what the rows are.
{
	my $bare = dump_ok($node, 'verify', 'no checksums', 'pg_pardump',
		'--manifest-checksums=NONE', '-Z', 'gzip', @chunks);
	my ($name) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$bare/[0-9]*.dat.gz";
	found_ok('no checksums: byte changed', damaged($bare, sub { flip("$_[0]/$name", 1500) }),
		qr/file "\Q$name\E" of table public\.large could not be decompressed: /);
	found_ok('no checksums: other bytes', damaged($bare, sub {
			system_or_bail('sh', '-c', 'printf "1\n" | gzip >"$0/$1"', $_[0], $name);
		}), qr/file "\Q$name\E" of table public\.large has \d+ bytes, but .*, and does not decompress to \d+ bytes/);
	found_ok('no checksums: more than there should be', damaged($bare, sub {
			system_or_bail('sh', '-c', 'head -c 30000000 /dev/zero | gzip >"$0/$1"', $_[0], $name);
		}), qr/file "\Q$name\E" of table public\.large has \d+ bytes, but .*, and decompresses to more than \d+ bytes/);
	$bare = dump_ok($node, 'verify', 'no checksums', 'pg_pardump',
		'--manifest-checksums=NONE', '-Z0', @chunks);
	($name) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$bare/[0-9]*.dat";
	found_ok('no checksums: a line end changed', damaged($bare, sub {
			flip("$_[0]/$name", index(slurp_file("$_[0]/$name"), "\n"));
		}), qr/file "\Q$name\E" of table public\.large has \d+ rows?, but the manifest says \d+/);
	found_ok('no checksums: the end changed', damaged($bare, sub { flip("$_[0]/$name", -4) }),
		qr/file "\Q$name\E" of table public\.large does not end as rows do/);
}
{
	my $sha = dump_ok($node, 'verify', 'SHA256', 'pg_pardump', '--manifest-checksums=SHA256', '-Z0', @chunks);
	sound_ok('SHA256', $sha, 20010);
	my ($name) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$sha/[0-9]*.dat";
	found_ok('SHA256: byte changed', damaged($sha, sub { flip("$_[0]/$name", 500) }),
		qr/file "\Q$name\E" of table public\.large has another checksum than in the manifest/);
}

# ---- names that are made to deceive: nothing outside is opened, and nothing is
# shown as it is

foreach my $name ('../outside.dat', '/etc/passwd', 'sub/outside.dat', '.', '..', '.hidden',
	'', "a\nb", "\xc2\x9b31m", ' ')
{
	found_ok('manifest names ' . $name =~ s/[^ -~]/?/gr, damaged($plain, sub {
			change_manifest($_[0], sub {
					s/"Path": "\Q$plain_file\E"/'"Path": "' . $name =~ s{\n}{\\n}r . '"'/e;
			});
		}), qr/file "\Q$manifest_name\E" is damaged: invalid file name$/);
}
foreach my $try ([ '../outside.dat', 'leads out of the archive' ],
	[ '/etc/passwd', 'leads out of the archive' ], [ '..', 'is missing' ],
	[ "a\n\x1b[31mb", 'a\x0a\x1b[31mb" of table public.large is missing' ], [ 'x' x 5000, 'is missing' ])
{
	my ($name, $message) = @$try;
	my $was;
	my $dir = damaged($stock, sub {
		my $toc = read_toc($_[0]);
		my ($entry) = grep { $_->{had_dumper} && $_->{tag} eq 'large' } @{ $toc->{entries} };
		($was, $entry->{filename}) = ($entry->{filename}, $name);
		write_toc($toc, $_[0]);
		write_bytes("$_[0]/../outside.dat", slurp_file("$plain/$plain_file"));
	});
	found_ok('toc.dat names ' . substr($name, 0, 20) =~ s/[^ -~]/?/gr, $dir, qr/\Q$message\E/,
		qr/file "\Q$was\E\.gz" is not named by toc\.dat/);
}
{
	my %odd = ("a\nb" => 'a\x0ab', "\x1b[2J" => '\x1b[2J', '-rf' => '-rf', '%s%n' => '%s%n',
		'x' x 255 => 'x' x 255, "\xff\xfe" => "\xff\xfe", 'a"b' => 'a"b', '.toc.dat' => '.toc.dat',
		"\x9b2J" => '\x9b2J', "\xe2\x9b" => "\xe2" . '\x9b', "\xc4\x9b\xc3\x9f" => "\xc4\x9b\xc3\x9f");
	found_ok('odd names', damaged($ours, sub { write_bytes("$_[0]/$_", 'x') foreach keys %odd }),
		map { qr/file "\Q$_\E" is not in the manifest$/ } values %odd);
}
found_ok('a directory and a FIFO', damaged($ours, sub {
		unlink "$_[0]/$file", "$_[0]/blob_4711.dat$suffix";
		mkdir "$_[0]/$file";
		mkfifo("$_[0]/blob_4711.dat$suffix", 0600) or die "mkfifo: $!";
		mkfifo("$_[0]/fifo", 0600) or die "mkfifo: $!";
	}), qr/file "\Q$file\E" of table public\.large is not a regular file/,
	qr/file "blob_4711\.dat\Q$suffix\E" is not a regular file/, qr/file "fifo" is not in the manifest/);
foreach my $name ('toc.dat', $manifest_name)
{
	found_ok("$name is a FIFO", damaged($ours, sub { unlink "$_[0]/$name"; mkfifo("$_[0]/$name", 0600) }),
		qr/file "\Q$name\E" (is damaged: )?is not a regular file/);
	found_ok("$name is a link", damaged($ours, sub {
			rename "$_[0]/$name", "$_[0]/../other"; symlink '../other', "$_[0]/$name" }),
		qr/file "\Q$name\E" (is damaged: )?could not be opened/);
}

# ---- a disk that cannot be read

{
	my $library = system_faults();
	foreach my $try ([ $file, qr/file "\Q$file\E" of table public\.large could not be read: Input\/output error/ ],
		[ $manifest_name, qr/file "\Q$manifest_name\E" is damaged: could not be read/ ])
	{
		local @front = ('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=read $try->[0]");
		found_ok("$try->[0] cannot be read", $ours, $try->[1]);
	}
	foreach my $fault ('mmap 1', 'pipe 1', 'fork 1', 'fork 2')
	{
		local @front = ('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=$fault");
		my ($rc, $out, $err) = verify($ours);
		is("$rc$out", '1', "$fault fails: exit code");
		like($err, qr/\A[^\n]*error: could not (map shared memory|create pipe|create worker process): Input\/output error\n\z/,
			"$fault fails: message");
	}
}

# ---- manifests that are not what they should be, though their checksum is right

foreach my $try (
	[ 'unknown version', sub { s/(Manifest-Version": )1/${1}2/ } ],
	[ 'unknown checksum algorithm', sub { s/CRC32C/MD5/ } ],
	[ 'unknown kind of file', sub { s/"Kind": "rows"/"Kind": "ows"/ } ],
	[ 'invalid checksum of a file', sub { s/("Checksum": ")../$1xy/ } ],
	[ 'missing checksum of a file', sub { s/"Checksum": "\w+", // } ],
	[ 'invalid file name', sub { s/"Path": "[^"]*"/"Encoded-Path": "2e2e2f78"/ } ],
	[ 'invalid file name', sub { s/"Path"/"Other"/ } ],
	[ 'invalid encoded name', sub { s/"Table": "[^"]*"/"Encoded-Table": "xy"/ } ],
	[ 'invalid time', sub { s/"Start-Time": "\d+/"Start-Time": "x/ } ],
	[ 'number out of range', sub { s/("Rows": )\d+/${1}99999999999999999999/ } ],
	[ 'number out of range', sub { s/("Jobs": )\d+/${1}99999999999/ } ],
	[ 'expected a whole number', sub { s/("Rows": )\d+/${1}-1/ } ],
	[ 'expected an object', sub { s/\{ "Path"/[ "Path"/ } ],
	[ 'expected an array', sub { s/"Files": \[/"Files": {/ } ],
	[ 'expected a comma or the end', sub { s/,\n"Database"/\n"Database"/ } ],
	[ 'expected a string', sub { $_ .= '}' } ],
	[ 'nested too deeply', sub { s/"Jobs"/'"X": ' . '[' x 100 . ']' x 100 . ', "Jobs"'/e } ],
	[ 'it is not valid UTF-8', sub { s/("Database": ")/$1\xff/ } ])
{
	my ($message, $change) = @$try;
	found_ok("manifest: $message", damaged($ours, sub { change_manifest($_[0], $change) }),
		qr/file "\Q$manifest_name\E" is damaged: \Q$message\E$/);
}
sound_ok('manifest: names of a later version', damaged($ours, sub {
		change_manifest($_[0], sub { s/"Jobs"/"Later": {"a": [1.5e3, null, true, "\\u00e9"]}, "Jobs"/ });
	}), 20010);
found_ok('manifest: a file twice', damaged($ours, sub {
		change_manifest($_[0], sub { s/(\{ "Path": "\Q$file\E".*?\})/$1,\n$1/ });
	}), qr/file "\Q$file\E" of table public\.large is in the manifest twice/);
found_ok('manifest: another kind', damaged($ours, sub {
		change_manifest($_[0], sub { s/("\Q$file\E", "Kind": )"rows"/$1"large object"/ });
	}), qr/is another kind of file in the manifest/, qr/is not named by toc\.dat/);

# ---- a stock archive

found_ok('stock: file missing', damaged($stock, sub { unlink "$_[0]/$stock_file" }),
	qr/file "\Q${\ ($stock_file =~ s{\.gz$}{}r)}\E" of table public\.large is missing/);
foreach my $try ([ 'not an archive', sub { 'X' . substr($_[0], 1) } ],
	[ 'unsupported archive format', sub { substr($_[0], 0, 6) . "\xff" . substr($_[0], 7) } ],
	[ 'not an archive in the directory format', sub { substr($_[0], 0, 10) . "\1" . substr($_[0], 11) } ],
	[ 'more than it should hold', sub { "$_[0]x" } ], [ 'unexpected end', sub { substr($_[0], 0, -1) } ])
{
	my ($message, $change) = @$try;
	found_ok("stock: toc.dat is $message",
		damaged($stock, sub { write_bytes("$_[0]/toc.dat", $change->(slurp_file("$_[0]/toc.dat"))) }),
		qr/file "toc\.dat" is damaged: \Q$message\E$/);
}
foreach my $try ([ 'invalid dump ID', sub { $_[0]{id} = 0 } ], [ 'invalid dump ID', sub { $_[0]{id} = 2**28 + 1 } ],
	[ 'invalid dependency', sub { push @{ $_[0]{deps} }, 'x' } ], [ 'invalid dependency', sub { push @{ $_[0]{deps} }, '-1' } ],
	[ 'missing tag', sub { undef $_[0]{tag} } ], [ 'missing description', sub { undef $_[0]{desc} } ],
	[ 'missing object identifier', sub { undef $_[0]{oid} } ])
{
	my ($message, $change) = @$try;
	found_ok("stock: $message", damaged($stock, sub {
			my $toc = read_toc($_[0]);
			$change->($toc->{entries}[-1]);
			write_toc($toc, $_[0]);
		}), qr/file "toc\.dat" is damaged: \Q$message\E$/);
}
found_ok('stock: one file named twice', damaged($stock, sub {
		my $toc = read_toc($_[0]);
		my ($one, $other) = grep { $_->{had_dumper} && $_->{desc} eq 'TABLE DATA' } @{ $toc->{entries} };
		$other->{filename} = $one->{filename};
		write_toc($toc, $_[0]);
	}), qr/is named twice/, qr/is not named by toc\.dat/);
found_ok('stock: file cut', damaged($stock, sub { cut("$_[0]/$stock_file", 1000) }),
	qr/file "\Q$stock_file\E" of table public\.large ends within compressed data/);
found_ok('stock: byte changed', damaged($stock, sub { flip("$_[0]/$stock_file", 1500) }),
	qr/file "\Q$stock_file\E" of table public\.large could not be decompressed: /);

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

# the log counts what the line that sums up counts: what is missing and too much, too
{
	my $copy = damaged($ours, sub { });
	unlink "$copy/$file" or die "could not remove \"$file\": $!";
	write_bytes("$copy/foreign", 'x');
	my ($rc, $out, $err) = verify($copy, '--log-json=-');
	my ($files) = $err =~ /^2 findings in (\d+) files$/m;
	like($out, qr/"event":"summary","files":$files,/, 'as many files in the log') or diag($err);
	($files) = $out =~ /"event":"run",.*"files":(\d+)\}/;
	my @read = glob("$copy/[b0-9t]*");
	is($files, scalar(@read), 'those that are read are as many as there are');
}

my ($rc, $out, $err) = run_program('pg_pardump', '--verify', new_path('nothing'));
is($rc, 1, 'no directory: exit code');
like($err, qr/could not open directory ".*": No such file or directory/, 'no directory: message');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '-f', new_path('other'));
like($err, qr/options --verify and -f\/--file cannot be used together/, 'not with -f');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, 'verify');
like("$rc$err", qr/^1.*options --verify and -d\/--dbname cannot be used together/, 'not with a database');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '--clean-output');
like($err, qr/options --verify and --clean-output cannot be used together/, 'not with --clean-output');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '--pipe=cat >%f');
like($err, qr/options --verify and --pipe cannot be used together/, 'not with --pipe');
foreach my $try ([ 'verify', "--verify=$ours" ], [ 'dry run', '--dry-run', '-d', $node->connstr('verify') ])
{
	my ($what, @options) = @$try;
	foreach my $case ([ '>&-', 'Bad file descriptor' ], [ '>/dev/full', 'No space left on device' ])
	{
		my ($output, $reason) = @$case;
		($rc, undef, $err) = run_program('sh', '-c', "exec \"\$@\" $output", 'sh', 'pg_pardump', @options);
		is($rc, 1, "$what $output: exit code");
		like($err, qr/error: could not write to standard output: $reason$/, "$what $output: message");
	}
}
sound_ok('after all', $ours, 20010);

$node->stop;
done_testing();
