# --verify finds what is missing, too much, cut off, or changed, in archives of
# pg_pardump and of pg_dump, and never crashes on what it reads.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  dump_ok codecs default_suffix data_file value);
use Pardump::Command qw(system_faults);
use Pardump::DamagedArchive qw(damaged flipped cut gone written other_manifest other_toc);
use Pardump::Manifest qw($manifest_name change_manifest write_bytes);
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
	$rows =~ s/\d\K(?=(?:\d{3})+\z)/,/g;
	my ($rc, $out, $err) = verify($dir);
	is($rc, 0, "$what: exit code");
	like($err, $without ? qr/\A\w+: warning: archive ".*" has no manifest\n\w+: detail: Files are read without checksums\.\n\z/ : qr/\A\z/, "$what: no finding");
	like($out,
		$without ? qr/^verified archive ".*" without a manifest:\n  \d+ files?, $rows rows?, \S+ (?:bytes|kB|MB) stored as \S+ (?:bytes|kB|MB) in \d+\.\d s, \S+ (?:bytes|kB|MB|GB)\/s$/m
		: qr/^verified archive ".*":\n  \d+ files?, $rows rows?, .*\nno problems found\n\z/, "$what: summary");
	return;
}

# The last two lines: a hint, and before it the number of problems, of which the number of
# files is returned.
sub summed_up
{
	my ($what, $n, $lines) = @_;

	like(pop @$lines, qr/^pg_pardump: hint: (?:Use the release of pg_pardump that wrote the file, or a newer one\.|Use another copy of the archive, or make a new dump\.(?:  To restore the undamaged tables, run "pg_parrestore -l .*", .* "pg_parrestore --use-list=list -d DATABASE .*"\.)?)$/, "$what: hint");
	my $sum = pop @$lines;
	my $problems = $n == 1 ? '1 problem' : "$n problems";
	my ($files) = $sum =~ /^pg_pardump: error: verification of archive ".*" failed: $problems found, files checked: (\d+)$/;
	ok(defined $files, "$what: sum") or diag($sum);
	return $files;
}

# One line a finding, with its details, exactly as many lines as patterns, in any order;
# then their number.
sub found_ok
{
	my ($what, $dir, @patterns) = @_;
	my ($rc, $out, $err) = verify($dir);
	my @lines = grep { !/: warning: .* has no manifest;/ } split /\n/, $err =~ s/\n\w+: detail: (.*)\.$/; \l$1/gmr;
	is($rc, 1, "$what: exit code");
	is($out, '', "$what: no summary");
	summed_up($what, scalar @patterns, \@lines);
	my @missing = grep { my $pattern = $_; !grep { /$pattern/ } @lines } @patterns;
	ok(@missing == 0 && @lines == @patterns, "$what: findings")
	  or diag("missing: @missing\nfound:\n$err");
	return;
}

# Of each damage just this is found: [what, archive, damage, patterns...], ...
sub all_found_ok
{
	foreach my $case (@_)
	{
		my ($what, $dir, $damage, @patterns) = @$case;
		found_ok($what, damaged($dir, $damage), @patterns);
	}
	return;
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

# The name of a file with rows of the large table.
sub large_file
{
	my ($dir) = @_;
	my ($name) = map { s/.*\///r } grep { -s $_ > 2000 } glob "$dir/[0-9]*.dat*";
	return $name;
}

my ($file, $plain_file, $stock_file) = map { large_file($_) } ($ours, $plain, $stock);

# How findings about them begin.
my ($in_file, $in_plain_file, $in_stock_file) =
  map { qr/file "\Q$_\E" of table public\.large/ } ($file, $plain_file, $stock_file);
my $bad_manifest = qr/could not read the manifest of archive "[^"]*";/;

# ---- progress

{
	my $n = () = glob "$ours/*";
	$n--;	# all but the manifest
	my ($rc, $out, $err) = verify($ours, '-P');
	is($rc, 0, '-P: exit code');
	# a slow machine has time for a line in ten seconds
	$err =~ s/^(?: *\d\d?%,.*\n)+//;
	like($err, qr{^100%, time \d+:\d\d, files $n/$n, \d+ kB of \d+ kB stored\n\z}, '-P: progress');
	like($out, qr/^verified archive "\Q$ours\E":\n  $n files, 20,010 rows, /, '-P: sum');
	($rc, $out, $err) = verify(damaged($ours, flipped($file, 0)), '-P');
	is($rc, 1, '-P, a finding: exit code');
	my @lines = grep { !/: detail: / } split /\n/, $err;
	is(summed_up('-P, a finding', 1, \@lines), $n, '-P, a finding: files');
	like($lines[-1], qr{^100%, time \d+:\d\d, files $n/$n, .*, 1 problem$}, '-P, a finding: progress');
	my $hostile = damaged($ours, sub {
		flipped($file, 0)->($_[0]);
		change_manifest($_[0], sub { s/("\Q$file\E".*?"Table": )"large"/$1"\\u001b[2J\\nx"/ });
	});
	($rc, $out, $err) = verify($hostile);
	like($err, qr/file "\Q$file\E" of table public\."\\x1b\[2J\\x0ax" is damaged\n.*detail: The checksum does not match/, 'a name that commands a terminal');
}

# ---- what is not

all_found_ok(
	[ 'file missing', $ours, gone($file), qr/$in_file is missing/ ],
	[ 'file too much', $ours, written('7777777.dat', 'x'), qr/file "7777777\.dat" is not listed in the manifest/ ],
	[ 'odd name', $ours, written("a\n\x1b[31mb", 'x'), qr/file "a\\x0a\\x1b\[31mb" is not listed in the manifest/ ],
	[ 'plain file cut', $plain, cut($plain_file, 1000),
		qr/$in_plain_file is damaged; the file has 1000 bytes instead of \d+$/ ],
	[ 'file cut', $ours, cut($file, 1000),
		qr/$in_file is damaged; the file has 1000 bytes instead of \d+; the compressed data is truncated$/ ],
	[ 'file empty', $ours, cut($file, 0),
		qr/$in_file is damaged; the file has 0 bytes instead of \d+; the compressed data is truncated$/ ],
	[ 'plain byte changed', $plain, flipped($plain_file, 500),
		qr/$in_plain_file is damaged; the checksum does not match the manifest/ ],
	[ 'byte changed', $ours, flipped($file, 0),
		qr/$in_file is damaged; the checksum does not match the manifest; the data could not be decompressed: / ],
	[ 'link', $ours,
		sub { rename "$_[0]/$file", "$_[0]/../linked"; symlink '../linked', "$_[0]/$file" },
		qr/could not read $in_file; file ".*" is a symbolic link$/ ],
	[ 'large object gone', $ours, gone("blob_4711.dat$suffix"),
		qr/file "blob_4711\.dat\Q$suffix\E" is missing/ ],
	(map {
		[ 'list of large objects gone', $_, gone('blobs*.toc'), qr/file "blobs\w*\.toc" is missing/ ],
		[ 'odd list of large objects', $_, written('blobs*.toc', "4711 blob_4711.dat\n4712\0x\n"),
			qr/file "blobs\w*\.toc" is not a list of large objects/ ]
	} ($ours, $stock)),
	[ 'large object out of its list', $stock, written('blobs*.toc', "4711 blob_4711.dat\n"),
		qr/file "blob_4712\.dat\.gz" is not listed in toc\.dat/ ],
	[ 'list that leads elsewhere', $stock, written('blobs*.toc', "4711 blob_4711.dat\n4712 ../x\n"),
		qr/file "blob_4712\.dat\.gz" is not listed in toc\.dat/,
		qr/"\.\.\/x" is not a valid file name in an archive/ ],
	[ 'manifest changed', $ours, flipped($manifest_name, 100),
		qr/$bad_manifest the manifest's own checksum does not match/ ],
	[ 'manifest that claims to be huge', $ours,
		sub { truncate "$_[0]/$manifest_name", 2**36 or die "truncate: $!" },
		qr/$bad_manifest the manifest's own checksum does not match/ ]);
foreach my $options ('', '--no-chunks -t empty', '--schema-only')
{
	my $whole = dump_ok($node, 'verify', "no manifest: $options", 'pg_pardump', split / /, $options);
	all_found_ok([ "no manifest: $options", $whole, gone($manifest_name),
		qr/file "\Q$manifest_name\E" is missing/ ]);
	like((run_program('pg_restore', '-l', $whole))[1],
		qr/^;     Dumped by pg_dump version: \d.*, pg_pardump \d+\.\d+\.\d+$/m,
		"no manifest: pg_restore shows the mark: $options");
}
my @but_manifest = map { s/.*\///r } grep { !/manifest/ } glob "$ours/*";
all_found_ok(
	[ 'toc.dat changed', $ours, flipped('toc.dat', index(slurp_file("$ours/toc.dat"), 'CREATE TABLE')),
		qr/file "toc\.dat" is damaged; the checksum does not match the manifest/ ],
	[ 'toc.dat cut', $ours, cut('toc.dat', 1000), qr/file "toc\.dat" is damaged; it ends too early/ ],
	[ 'no toc.dat', $ours, gone('toc.dat'), qr/file "toc\.dat" is missing/ ],
	[ 'all but the manifest missing', $ours, gone(@but_manifest),
		map { qr/file "\Q$_\E"(?: of table public\.(?:large|empty|odd))? is missing/ } @but_manifest ],
	# Rows that were changed with their checksum and size would deceive all but
	# the count: here by a manifest that lies.
	[ 'wrong number of rows', $plain,
		other_manifest(sub { s/("Path": "\Q$plain_file\E".*?"Rows": )\d+/${1}3/ }),
		qr/$in_plain_file is damaged; the file has \d+ rows? instead of 3/ ]);

# Without checksums there are those of the codec, if any, and what the rows are.
{
	my $bare = dump_ok($node, 'verify', 'no checksums', 'pg_pardump',
		'--manifest-checksums=NONE', '-Z', 'gzip', @chunks);
	my $name = large_file($bare);
	my $in_it = qr/file "\Q$name\E" of table public\.large/;
	my $gzip = sub {
		my ($command) = @_;
		return sub { system_or_bail('sh', '-c', "$command | gzip >\"\$0/\$1\"", $_[0], $name); };
	};
	all_found_ok(
		[ 'no checksums: byte changed', $bare, flipped($name, 1500), qr/$in_it is damaged; the data could not be decompressed: / ],
		[ 'no checksums: other bytes', $bare, $gzip->('printf "1\n"'),
			qr/$in_it is damaged; the file has \d+ bytes instead of \d+; the decompressed data has \d+ bytes instead of \d+/ ],
		[ 'no checksums: more than there should be', $bare, $gzip->('head -c 30000000 /dev/zero'),
			qr/$in_it is damaged; the file has \d+ bytes instead of \d+; the decompressed data has more than \d+ bytes/ ]);
	$bare = dump_ok($node, 'verify', 'no checksums', 'pg_pardump',
		'--manifest-checksums=NONE', '-Z0', @chunks);
	$name = large_file($bare);
	$in_it = qr/file "\Q$name\E" of table public\.large/;
	all_found_ok(
		[ 'no checksums: a line end changed', $bare,
			flipped($name, index(slurp_file("$bare/$name"), "\n")),
			qr/$in_it is damaged; the file has \d+ rows? instead of \d+/ ],
		[ 'no checksums: the end changed', $bare, flipped($name, -4), qr/$in_it is damaged; the line that ends the rows is missing/ ]);
}
{
	my $sha = dump_ok($node, 'verify', 'SHA256', 'pg_pardump', '--manifest-checksums=SHA256', '-Z0', @chunks);
	sound_ok('SHA256', $sha, 20010);
	my $name = large_file($sha);
	all_found_ok([ 'SHA256: byte changed', $sha, flipped($name, 500),
		qr/file "\Q$name\E" of table public\.large is damaged; the checksum does not match the manifest/ ]);
}

# ---- names that are made to deceive: nothing outside is opened, and nothing is
# shown as it is

all_found_ok(map {
		my $name = $_;
		[ 'manifest names ' . $name =~ s/[^ -~]/?/gr, $plain,
			other_manifest(sub { s/"Path": "\Q$plain_file\E"/'"Path": "' . $name =~ s{\n}{\\n}r . '"'/e }),
			qr/$bad_manifest the manifest contains an invalid file name$/ ]
	} ('../outside.dat', '/etc/passwd', 'sub/outside.dat', '.', '..', '.hidden', '', "a\nb", "\xc2\x9b31m", ' '));
all_found_ok(map {
		my ($name, $message) = @$_;
		[ 'toc.dat names ' . substr($name, 0, 20) =~ s/[^ -~]/?/gr, $stock,
			sub {
				write_bytes("$_[0]/../outside.dat", slurp_file("$plain/$plain_file"));
				other_toc(sub {
					my ($entry) = grep { $_->{had_dumper} && $_->{tag} eq 'large' } @_;
					$entry->{filename} = $name;
				})->($_[0]);
			},
			qr/\Q$message\E/, qr/file "\Q$stock_file\E" is not listed in toc\.dat/ ]
	} ([ '../outside.dat', 'is not a valid file name in an archive' ],
		[ '/etc/passwd', 'is not a valid file name in an archive' ], [ '..', 'is missing' ],
		[ "a\n\x1b[31mb", 'a\x0a\x1b[31mb" of table public.large is missing' ], [ 'x' x 5000, 'is missing' ]));
{
	my %odd = ("a\nb" => 'a\x0ab', "\x1b[2J" => '\x1b[2J', '-rf' => '-rf', '%s%n' => '%s%n',
		'x' x 255 => 'x' x 255, "\xff\xfe" => "\xff\xfe", 'a"b' => 'a"b', '.toc.dat' => '.toc.dat',
		"\x9b2J" => '\x9b2J', "\xe2\x9b" => "\xe2" . '\x9b', "\xc4\x9b\xc3\x9f" => "\xc4\x9b\xc3\x9f");
	all_found_ok([ 'odd names', $ours, sub { write_bytes("$_[0]/$_", 'x') foreach keys %odd },
		map { qr/file "\Q$_\E" is not listed in the manifest$/ } values %odd ]);
}
all_found_ok(
	[ 'a directory and a FIFO', $ours,
		sub {
			unlink "$_[0]/$file", "$_[0]/blob_4711.dat$suffix";
			mkdir "$_[0]/$file";
			mkfifo("$_[0]/blob_4711.dat$suffix", 0600) or die "mkfifo: $!";
			mkfifo("$_[0]/fifo", 0600) or die "mkfifo: $!";
		},
		qr/could not read $in_file; ".*" is not a regular file$/,
		qr/could not read file "blob_4711\.dat\Q$suffix\E"; ".*" is not a regular file$/, qr/file "fifo" is not listed in the manifest/ ],
	map {
		my $name = $_;
		[ "$name is a FIFO", $ours, sub { unlink "$_[0]/$name"; mkfifo("$_[0]/$name", 0600) },
			qr/".*\/\Q$name\E" is not a regular file$/ ],
		[ "$name is a link", $ours,
			sub { rename "$_[0]/$name", "$_[0]/../other"; symlink '../other', "$_[0]/$name" },
			qr/file ".*\/\Q$name\E" is a symbolic link$/ ]
	} ('toc.dat', $manifest_name));

# ---- a disk that cannot be read

{
	my $library = system_faults();
	foreach my $try ([ $file, qr/could not read $in_file: Input\/output error/ ],
		[ $manifest_name, qr/could not read file "\Q$manifest_name\E": Input\/output error/ ])
	{
		local @front = ('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=read $try->[0]");
		found_ok("$try->[0] cannot be read", $ours, $try->[1]);
	}
	foreach my $fault ('mmap 1', 'pipe 1', 'fork 1', 'fork 2')
	{
		local @front = ('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=$fault");
		my ($rc, $out, $err) = verify($ours);
		is("$rc$out", '1', "$fault fails: exit code");
		like($err, qr/\A[^\n]*error: could not (map shared memory|create pipe|create child process): Input\/output error\n\z/,
			"$fault fails: message");
	}
}

# ---- manifests that are not what they should be, though their checksum is right

all_found_ok(map {
		my ($message, $change) = @$_;
		[ "manifest: $message", $ours, other_manifest($change), qr/$bad_manifest \Q$message\E$/ ]
	} (
	[ 'the file has an unsupported version', sub { s/(Manifest-Version": )1/${1}2/ } ],
	[ 'member "PgPardump-Manifest-Version" is missing', sub { s/"PgPardump-Manifest-Version": 1,// } ],
	[ 'member "Checksum-Algorithm" has the unknown value "MD5"', sub { s/CRC32C/MD5/ } ],
	[ 'member "Checksum-Algorithm" is missing', sub { s/"Checksum-Algorithm"/"Other"/ } ],
	[ 'member "Kind" has the unknown value "ows"', sub { s/"Kind": "rows"/"Kind": "ows"/ } ],
	[ 'member "Kind" is missing', sub { s/"Kind": "rows", // } ],
	[ 'member "Files" is missing', sub { s/"Files"/"Others"/ } ],
	[ 'member "Checksum" has invalid hexadecimal digits', sub { s/("Checksum": ")../$1xy/ } ],
	[ 'member "Checksum" is too long', sub { s/("Checksum": ")/$1 . '00' x 100/e } ],
	[ 'the manifest does not contain the checksum of a file', sub { s/"Checksum": "\w+", // } ],
	[ 'the manifest contains an invalid file name', sub { s/"Path": "[^"]*"/"Encoded-Path": "2e2e2f78"/ } ],
	[ 'member "Path" is missing', sub { s/"Path"/"Other"/ } ],
	[ 'member "Path" is missing', sub { s/"Path": "[^"]*"/"Path": null/ } ],
	[ 'member "Path" is repeated', sub { s/("Path": )("[^"]*")/$1$2, "Encoded-Path": "78"/ } ],
	[ 'member "Jobs" is repeated', sub { s/"Jobs": \d+,/$&$&/ } ],
	[ 'member "Table" has an invalid encoded text', sub { s/"Table": "[^"]*"/"Encoded-Table": "xy"/ } ],
	[ 'member "Table" has an invalid encoded text', sub { s/"Table": "[^"]*"/"Encoded-Table": "7800"/ } ],
	[ 'member "Start-Time" has an invalid time', sub { s/"Start-Time": "\d+/"Start-Time": "x/ } ],
	[ 'member "Rows" is invalid', sub { s/("Rows": )\d+/${1}99999999999999999999/ } ],
	[ 'member "Jobs" is out of range', sub { s/("Jobs": )\d+/${1}99999999999/ } ],
	[ 'member "Rows" is invalid', sub { s/("Rows": )\d+/${1}-1/ } ],
	[ 'member "Rows" is invalid', sub { s/("Rows": )\d+/${1}null/ } ],
	[ 'member "Size" is invalid', sub { s/("Size": )\d+/${1}"1"/ } ],
	[ 'member "Files" is invalid', sub { s/\{ "Path"/[ "Path"/ } ],
	[ 'member "Files" is invalid', sub { s/"Files": \[/"Files": {/ } ],
	[ 'a comma or the end is missing', sub { s/,\n"Database"/\n"Database"/ } ],
	[ 'a string is missing', sub { $_ .= '}' } ],
	[ 'its JSON is nested too deeply', sub { s/"Jobs"/'"X": ' . '[' x 100 . ']' x 100 . ', "Jobs"'/e } ],
	[ 'it is not UTF-8', sub { s/("Database": ")/$1\xff/ } ]));
sound_ok('manifest: names of a later version', damaged($ours,
	other_manifest(sub { s/"Jobs"/"Later": {"a": [1.5e3, null, true, "\\u00e9"]}, "Jobs"/ })), 20010);
all_found_ok(
	[ 'manifest: a file twice', $ours,
		other_manifest(sub { s/(\{ "Path": "\Q$file\E".*?\})/$1,\n$1/ }),
		qr/$in_file is listed twice in the manifest/ ],
	[ 'manifest: another kind', $ours,
		other_manifest(sub { s/("\Q$file\E", "Kind": )"rows"/$1"large object"/ }),
		qr/is listed as different kinds in the manifest and in toc\.dat/, qr/is not listed in toc\.dat/ ]);

# ---- an archive of the first version of the format: names in LATIN1, chunks,
# fingerprints, a mask, a condition, a partition, large objects

my $format_1 = data_file('format_1/archive');
sound_ok('format 1', $format_1, 320);
sql($node, 'postgres', q{CREATE DATABASE format_1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0});
{
	my ($rc, undef, $err) = run_program('pg_parrestore', '-j2', '-d', $node->connstr('format_1'), $format_1);
	is("$rc$err", '0', 'format 1: restored');
	is(value($node, 'format_1', qq{SELECT sum(id) || ' ' || (SELECT max(t) FROM masked) || ' ' || (SELECT count(*) FROM parts)
		FROM "m\xe4rz"}), '45150 x 10', 'format 1: restored rows');
}

# ---- a stock archive

my $stock_name = $stock_file =~ s/\.gz$//r;
all_found_ok(
	[ 'stock: file missing', $stock, gone($stock_file),
		qr/file "\Q$stock_name\E" of table public\.large is missing/ ],
	(map {
		my ($message, $change) = @$_;
		[ "stock: toc.dat: $message", $stock,
			sub { write_bytes("$_[0]/toc.dat", $change->(slurp_file("$_[0]/toc.dat"))) },
			qr/file "toc\.dat" is damaged; \Q$message\E$/ ]
	} ([ 'it is not an archive', sub { 'X' . substr($_[0], 1) } ],
		[ 'it has an unsupported format version', sub { substr($_[0], 0, 6) . "\xff" . substr($_[0], 7) } ],
		[ 'it is not an archive in directory format', sub { substr($_[0], 0, 10) . "\1" . substr($_[0], 11) } ],
		[ 'it contains data after its end', sub { "$_[0]x" } ],
		[ 'it ends too early', sub { substr($_[0], 0, -1) } ])),
	(map {
		my ($message, $change) = @$_;
		[ "stock: $message", $stock, other_toc(sub { $change->($_[-1]) }),
			qr/file "toc\.dat" is damaged; \Q$message\E$/ ]
	} ([ 'it contains an invalid dump ID', sub { $_[0]{id} = 0 } ],
		[ 'it contains an invalid dump ID', sub { $_[0]{id} = 2**28 + 1 } ],
		[ 'it contains an invalid dependency', sub { push @{ $_[0]{deps} }, 'x' } ],
		[ 'it contains an invalid dependency', sub { push @{ $_[0]{deps} }, '-1' } ],
		[ 'an entry has no tag', sub { undef $_[0]{tag} } ],
		[ 'an entry has no description', sub { undef $_[0]{desc} } ],
		[ 'an entry has no object identifier', sub { undef $_[0]{oid} } ])),
	[ 'stock: one file named twice', $stock,
		other_toc(sub {
			my ($one, $other) = grep { $_->{had_dumper} && $_->{desc} eq 'TABLE DATA' } @_;
			$other->{filename} = $one->{filename};
		}),
		qr/is listed twice in toc\.dat/, qr/is not listed in toc\.dat/ ],
	[ 'stock: file cut', $stock, cut($stock_file, 1000), qr/$in_stock_file is damaged; the compressed data is truncated$/ ],
	[ 'stock: byte changed', $stock, flipped($stock_file, 1500), qr/$in_stock_file is damaged; the data could not be decompressed: / ]);

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
	is_deeply([ grep { $_ > 1 } keys %codes ], [], 'no changed byte of toc.dat leads to another exit code');
}

# ---- the command

# the log counts what the line that sums up counts: what is missing and too much, too
{
	my $copy = damaged($ours, sub { });
	unlink "$copy/$file" or die "could not remove \"$file\": $!";
	write_bytes("$copy/foreign", 'x');
	my ($rc, $out, $err) = verify($copy, '--log-json=-');
	my $files = summed_up('a log', 2, [ split /\n/, $err ]);
	like($out, qr/"event":"summary","files":$files,/, 'number of files in the log') or diag($err);
	($files) = $out =~ /"event":"run",.*"files":(\d+)\}/;
	my @read = glob("$copy/[b0-9t]*");
	is($files, scalar(@read), 'number of files that were read');
}

my ($rc, $out, $err) = run_program('pg_pardump', '--verify', new_path('nothing'));
is($rc, 1, 'no directory: exit code');
like($err, qr/could not open directory ".*": No such file or directory/, 'no directory: message');
($rc, $out, $err) = run_program('pg_pardump', '--verify', '/etc');
is("$rc$out", '1', 'another directory: exit code');
is($err, "pg_pardump: error: \"/etc\" is not an archive\npg_pardump: detail: It contains neither \"toc.dat\" nor \"$manifest_name\".\n",
	'another directory: message');
{
	my $backup = new_path('backup');
	mkdir $backup or die "could not make directory \"$backup\": $!";
	symlink $ours, "$backup/dump" or die "could not make a link: $!";
	(undef, undef, $err) = run_program('pg_pardump', '--verify', $backup);
	like($err, qr/is not an archive\n.*\n.*hint: The directory is a backup of pg_pardump_backup\.  Specify its archive: "\Q$backup\E\/dump"\.\n\z/, 'a backup of pg_pardump_backup: hint');
}
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '-f', new_path('other'));
like($err, qr/options --verify and -f\/--file cannot be used together/, '-f is refused');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, 'verify');
like("$rc$err", qr/^1.*options --verify and -d\/--dbname cannot be used together/, '-d is refused');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '--clean-output');
like($err, qr/options --verify and --clean-output cannot be used together/, '--clean-output is refused');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '--pipe=cat >%f');
like($err, qr/options --verify=DIRECTORY and --pipe cannot be used together/, '--pipe is refused');
# the directory belongs to the option, also if it looks like options, or options end there
{
	my $hyphen = new_path('hyphen');
	mkdir $hyphen or die "could not make directory \"$hyphen\": $!";
	system_or_bail('cp', '-a', $ours, "$hyphen/-dir");
	($rc, $out, $err) = run_program('sh', '-c', "cd $hyphen && exec pg_pardump --verify -dir");
	is("$rc$err", '0', 'a directory with a hyphen: exit code');
	local $ENV{POSIXLY_CORRECT} = 1;
	($rc, $out, $err) = run_program('pg_pardump', '--verify', $ours, '-j2');
	is("$rc$err", '0', 'with POSIXLY_CORRECT: exit code');
}
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
