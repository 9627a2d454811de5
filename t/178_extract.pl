# Backups in tar format are extracted by pg_parbasebackup --extract: the same as
# tar makes of them, whichever program has taken them, in whichever compression;
# and what is damaged, or not a base backup's, is refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Digest::SHA qw(sha256_hex);
use JSON::PP;
use Pardump::BaseBackup qw(connection backup_ok verify_backup_ok start_backup dump_of);
use Pardump::Cluster qw(start_cluster run_program new_path sql);
use Pardump::Command qw(system_faults);
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
my $place = PostgreSQL::Test::Utils::tempdir();
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION '$place'");
sql($node, 'postgres', q{
	CREATE TABLE near AS SELECT g AS id, repeat(md5(g::text), 10) AS t FROM generate_series(1, 30000) g;
	CREATE TABLE far TABLESPACE elsewhere AS SELECT * FROM near});
# what is not as everything else, in its parts and in its directory
my $odd = $node->data_dir . '/odd';
mkdir $odd or die "$odd: $!";
append_to_file("$odd/read_only", 'x' x (9 * 1024 * 1024));
append_to_file("$odd/old", 'text');
utime(1, 978307200, "$odd/old") or die "utime: $!";
chmod(0400, "$odd/read_only") or die "chmod: $!";
chmod(0640, "$odd/old") or die "chmod: $!";
chmod(0700, $odd) or die "chmod: $!";
utime(1, 978307201, $odd) or die "utime: $!";
my $dump = dump_of($node);
my $faults = system_faults();

# A backup by pg_basebackup; the tablespace goes elsewhere when it is extracted.
sub take_tar
{
	my (@options) = @_;
	my $dir = new_path('tar');
	my ($rc, undef, $err) = run_program('pg_basebackup', connection($node), '-D', $dir, '-Ft', '-c', 'fast',
		'--no-sync', @options);
	is("$rc$err", '0', "pg_basebackup -Ft @options");
	return $dir;
}

sub extract
{
	my ($from, @options) = @_;
	my $dir = new_path('extracted');
	my $far = new_path('far');
	my ($rc, $out, $err) = run_program('pg_parbasebackup', "--extract=$from", '-D', $dir, '-j3', '--no-sync',
		'-T', "$place=$far", @options);
	return ($rc, "$out$err", $dir, $far);
}

# --- the directory vanishes while it is flushed

foreach my $manifest ([], ['--no-manifest'])
{
	my $from = take_tar('-Xfetch', @$manifest);
	my ($dir, $far) = map { new_path($_) } 'vanished', 'far';
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = 'vanish vanished/PG_VERSION';
	my ($rc, undef, $err) = run_program('pg_parbasebackup', "--extract=$from", '-D', $dir, '-T', "$place=$far");
	is($rc, 1, "the directory vanishes, @$manifest: exit code");
	like($err, qr/error: could not access directory "\Q$dir\E"/, "the directory vanishes, @$manifest: message");
	ok(-d "$dir.gone", "the directory vanishes, @$manifest: it has another name");
	system_or_bail('rm', '-rf', "$dir.gone");
}

# --- the same files as with tar

my $plain = take_tar('-Xfetch');
my ($rc, $output, $dir, $far) = extract($plain);
is("$rc$output", '0', 'plain: exit code and messages');
my ($oid) = map { /(\d+)\.tar$/ } glob("$plain/*.tar");
my $by_tar = new_path('by_tar');
mkdir($_) or die "$_: $!" foreach $by_tar, "$by_tar.far";
system_or_bail('tar', '--delay-directory-restore', '-xpf', "$plain/base.tar", '-C', $by_tar);
system_or_bail('tar', '--delay-directory-restore', '-xpf', "$plain/$oid.tar", '-C', "$by_tar.far");

# Every path with its kind, mode and content; of links where they lead.
sub tree
{
	my ($root) = @_;
	my $command = 'cd "$1" && find . \( -type f -printf "%P %m " -exec sh -c \'md5sum <"$1"\' sh {} \; \) '
	  . '-o \( -type d -printf "%P %m\n" \) -o -printf "%P -> %l\n" | sort';
	open(my $pipe, '-|', 'sh', '-c', $command, 'sh', $root) or die "find: $!";
	return join('', <$pipe>);
}
my $changed = qr/^(tablespace_map |backup_manifest |pg_tblspc\/$oid -> | 7).*\n/m;
is(tree($dir) =~ s/$changed//gr, tree($by_tar) =~ s/$changed//gr, 'the same files as by tar');
is(tree($far) =~ s/^ 7.*\n//mr, tree("$by_tar.far") =~ s/^ 7.*\n//mr, 'the same files in the tablespace');

# What lstat() returns for every path, but for the top, which is not in the
# archive.
sub attributes
{
	my ($root) = @_;
	open(my $pipe, '-|', 'find', $root, '-mindepth', '1', '-printf', '%P %y %m %T@ %U %G %l', '(', '-type', 'd', '-o',
		'-printf', ' %s', ')', '-printf', '\n') or die "find: $!";
	return join('', sort <$pipe>);
}

# pg_basebackup's archives contain no links, and with -T the map is another one
my $written = qr/^(?:tablespace_map|backup_manifest) .*\n/m;
my $mapped = sub { return attributes($_[0]) =~ s/$written|^pg_tblspc\/$oid l .*\n//mgr };
is($mapped->($dir), $mapped->($by_tar), 'attributes of files in the data directory');
is(attributes($far), attributes("$by_tar.far"), 'attributes of files in the tablespace');
like(attributes($dir), qr/^odd d \d+ 978307201\.0/m, 'attributes of a directory');
is(readlink("$dir/pg_tblspc/$oid"), $far, 'the link leads to the directory of -T');
is(slurp_file("$dir/tablespace_map"), "$oid $far\n", 'tablespace_map contains the directory of -T');
verify_backup_ok($dir, 'the extracted backup');

# --- and it can be started

{
	my $started = start_backup($dir, 'started');
	# but for where the tablespace is
	ok(dump_of($started) =~ s/\Q$far\E/$place/r eq $dump, 'a server has the same data');
	$started->stop;
}

# What tar makes of an archive's base; undef if it cannot read it.
sub by_tar_too
{
	my ($from) = @_;
	my ($path) = glob("$from/base.tar*");
	my $program = { gz => 'gzip', zst => 'zstd', lz4 => 'lz4' }->{ $path =~ s/.*\.//r };
	return if $program && system("$program --version >/dev/null 2>&1") != 0;
	my $to = new_path('by_tar');
	mkdir $to or die "$to: $!";
	system_or_bail('tar', $program ? "--use-compress-program=$program" : (), '--delay-directory-restore', '-xpf', $path, '-C', $to);
	return $to;
}

# --- compressed, by server and client; with WAL in an archive of its own

my @ways = ([ '-Xfetch', '-z' ], ['-Xstream'], [ '-Xstream', '-z' ]);
push @ways, map { ([ '-Xfetch', "--compress=server-$_" ]) } qw(lz4 zstd:1), 'zstd:workers=2';
foreach my $way (@ways)
{
	my $tar = take_tar(@$way);
	($rc, $output, $dir, $far) = extract($tar);
	is("$rc$output", '0', "@$way: extracted");
	verify_backup_ok($dir, "@$way");
	next if grep { /stream/ } @$way;
	SKIP:
	{
		my $too = by_tar_too($tar) or skip 'there is no program to decompress', 1;
		is($mapped->($dir), $mapped->($too), "@$way: the same attributes as by tar");
	}
}

# one of our own, which has links
my $own = backup_ok($node, 'our own', 'pg_parbasebackup', '-Ft', '-Xfetch');

# --- the manifest has the new map, and all else as it was

foreach my $way ([], [ '--manifest-checksums=sha256', '--manifest-force-encode' ], ['--manifest-checksums=none'], undef)
{
	my $what = $way ? "manifest of pg_basebackup @$way" : 'our own manifest';
	my $tar = $way ? take_tar('-Xfetch', @$way) : $own;
	($rc, $output, $dir, $far) = extract($tar);
	is("$rc$output", '0', "$what: extracted");
	verify_backup_ok($dir, $what);
	my ($was, $is) = map { slurp_file("$_/backup_manifest") } $tar, $dir;
	my @differ = grep { (split /\n/, $was)[$_] ne (split /\n/, $is)[$_] } 0 .. ($was =~ tr/\n//) - 1;
	is(scalar(@differ), 2, "$what: two lines are others") or diag("@differ");
	is($was =~ tr/\n//, $is =~ tr/\n//, "$what: number of lines");
	my ($entry) = grep { ($_->{Path} // pack('H*', $_->{'Encoded-Path'})) eq 'tablespace_map' } @{ decode_json($is)->{Files} };
	is($entry->{Size}, -s "$dir/tablespace_map", "$what: size");
	is($entry->{'Last-Modified'}, POSIX::strftime('%Y-%m-%d %H:%M:%S GMT', gmtime((stat "$dir/tablespace_map")[9])),
		"$what: modification time");
}

# --- refusals

sub refused_ok
{
	my ($message, $from, @options) = @_;
	my ($status, $text, $to, $tablespace) = extract($from, @options);
	is($status, 1, "refused: @options");
	like($text, $message, "refused: @options: message");
	ok(!-e $to && !-e $tablespace, "refused: @options: nothing is left");
	return;
}

refused_ok(qr/directory ".*" does not contain base\.tar/, $place);
refused_ok(qr/options --extract and --$_ cannot be used together/, $plain,
	$_ eq 'host' ? '--host=x' : "--$_")
  foreach qw(host no-slot write-recovery-conf);
# a damaged manifest is not made a good one
foreach my $damage (
	[ qr/("Manifest-Checksum": "..)./s, '', qr/damaged\n.*detail: The manifest's own checksum does not match\./ ],
	[ qr/("Path": "PG_VERSION", "Size": )./s, '7', qr/damaged\n.*detail: The manifest's own checksum does not match\./ ],
	[ qr/()"Manifest-Checksum".*/s, '', qr/damaged\n.*detail: It has no checksum\./ ],
	[ qr/("Manifest-Checksum".*)/s, "\n", qr/damaged\n.*detail: Its checksum is not on the last line\./ ],
	[ qr/("Path": "tablespace_map", "Size": )\d+/s, '7777', qr/size of file "tablespace_map" in the backup does not match the size in file .*\n.*detail: The file has \d+ bytes instead of 7777\./ ],
	[ qr/("Path": "tablespace_map".*?"Checksum": ")......../s, '00000000', qr/checksum of file ".*tablespace_map" in the backup does not match/ ],
	[ qr/("Path": "tablespace_)map/s, 'mop', qr/has no entry for file "tablespace_map"/ ],
	[ qr/(\{ "Path": "tablespace_map"[^\n]*\n)/s, '{ "Path": "tablespace_map", "Size": 0 },' . "\n", qr/damaged\n.*detail: It contains two entries for the same file\./ ],
	[ qr/(^)/s, '{' x 100_000, qr/damaged\n.*detail: A line is too long\./ ],
	[ qr/(^)/s, "\0", qr/damaged\n.*detail: It contains a zero byte\./ ])
{
	my ($pattern, $with, $message) = @$damage;
	my $manifest = slurp_file("$plain/backup_manifest");
	my $bad = $manifest =~ s/$pattern/$1$with/r;
	# who forges a manifest can make its checksum, too
	$bad =~ s/(.*\n)"Manifest-Checksum.*/$1 . '"Manifest-Checksum": "' . sha256_hex($1) . "\"}\n"/es if $pattern =~ /tablespace/;
	unlink "$plain/backup_manifest";
	append_to_file("$plain/backup_manifest", $bad);
	refused_ok($message, $plain);
	unlink "$plain/backup_manifest";
	append_to_file("$plain/backup_manifest", $manifest);
}
truncate("$plain/base.tar", (-s "$plain/base.tar") - 5000) or die "truncate: $!";
refused_ok(qr/file ".*base\.tar" is truncated/, $plain);

# an error of the manifest comes before hours of work: before base.tar is read or, if it
# is one of the tablespace_map that this has, before the tablespaces' archives are
foreach my $damage (
	[ qr/("Path": "PG_VERSION", "Size": )./s, '7', 0, qr/damaged\n.*detail: The manifest's own checksum does not match\./, 'base.tar' ],
	[ qr/("Path": "tablespace_)map/s, 'mop', 1, qr/has no entry for file "tablespace_map"/, "$oid.tar" ])
{
	my ($pattern, $with, $is_forged, $message, $archive) = @$damage;
	my $early = take_tar('-Xfetch');
	my $bad = slurp_file("$early/backup_manifest") =~ s/$pattern/$1$with/r;
	$bad =~ s/(.*\n)"Manifest-Checksum.*/$1 . '"Manifest-Checksum": "' . sha256_hex($1) . "\"}\n"/es if $is_forged;
	unlink "$early/backup_manifest";
	append_to_file("$early/backup_manifest", $bad);
	truncate("$early/$archive", (-s "$early/$archive") - 5000) or die "truncate: $!";
	refused_ok($message, $early);
}

# what is there must be of this backup
my $other = take_tar('-Xfetch');
rename("$other/$oid.tar", "$other/12345.tar") or die "rename: $!";
refused_ok(qr/error: file "\Q$other\E\/12345\.tar.*" does not belong to this backup\n.*does not list tablespace 12345\.\n/, $other);
unlink("$other/12345.tar");
refused_ok(qr/archive of tablespace $oid is missing from directory.*\n.*detail: The file is named $oid\.tar, .*\n.*hint: Use another copy of the backup, or make a new backup\.\n/, $other);
# what is kept cannot be started, as it would be without it
{
	my ($status, undef, $kept) = extract($other, '--no-clean');
	is($status, 1, '--no-clean: exit code');
	ok(-e "$kept/backup_label" && !-e "$kept/global/pg_control" && !-e "$kept/backup_manifest",
		'a server cannot be started of what is kept');
}

# a path that leads out of the directory
my $evil = new_path('evil');
mkdir($evil) or die "$evil: $!";
append_to_file("$evil/victim", 'text');
system_or_bail('tar', '-cPf', "$evil/base.tar", '--transform', 's,^.*victim,../victim,', "$evil/victim");
refused_ok(qr/A path does not belong to a base backup/, $evil);

# root would give a directory away by its last member, and then go on with what is in it
foreach my $again ([ 'odd', qr/could not create directory ".*odd": File exists/ ],
	[ '.', qr/base\.tar" is damaged\n.*detail: Its top directory follows the contents of the directory\./ ])
{
	my $late = new_path('late');
	mkdir($late) or die "$late: $!";
	system_or_bail('tar', '-cf', "$late/base.tar", '-C', $by_tar, 'PG_VERSION', 'odd');
	system_or_bail('tar', '--no-recursion', '-rf', "$late/base.tar", '-C', $by_tar, $again->[0]);
	refused_ok($again->[1], $late);
}

# but a directory of base.tar's may be in an archive of pg_wal that tar has made
# again
{
	my $packed = take_tar('-Xstream');
	my $wal = new_path('wal');
	mkdir($wal) or die "$wal: $!";
	system_or_bail('tar', '-xf', "$packed/pg_wal.tar", '-C', $wal);
	mkdir("$wal/archive_status");
	append_to_file("$wal/archive_status/000000010000000000000001.done", '');
	system_or_bail('tar', '-cf', "$packed/pg_wal.tar", '-C', $wal, '.');
	($rc, $output, $dir) = extract($packed);
	is("$rc$output", '0', 'pg_wal.tar packed again: exit code and messages');
	ok(-e "$dir/pg_wal/archive_status/000000010000000000000001.done", 'pg_wal.tar packed again: a file in a directory');
}

# the archive determines the location of a tablespace, so its paths must be those of one
{
	my $forged = take_tar('-Xfetch');
	append_to_file("$evil/cron", 'text');
	system_or_bail('tar', '-cf', "$forged/$oid.tar", '-C', $evil, 'cron');
	refused_ok(qr/path does not belong to a tablespace/, $forged);
}

# --- existing files

my $full = new_path('full');
mkdir($full) or die "$full: $!";
append_to_file("$full/file", 'text');
($rc, undef, my $err) = run_program('pg_parbasebackup', "--extract=$plain", '-D', $full);
like($err, qr/exists but is not empty\n.*hint: Specify another directory/, 'a directory that is not empty: message');
is(slurp_file("$full/file"), 'text', 'a directory that is not empty: the file is not changed');
my $beside = new_path('beside');
($rc, undef, $err) = run_program('pg_parbasebackup', '--extract=' . take_tar('-Xfetch'), '-D', $beside);
like($err, qr/"\Q$place\E" exists but is not empty\n.*hint: .*tablespace's location on the server\.  Use -T to specify another one\.\n\z/,
	"a tablespace's directory that the server still has: message");
ok(!-e $beside, "a tablespace's directory that the server still has: nothing is left");

# --- root: owners, by name where there is such a user, as tar

SKIP:
{
	my $plain_too = take_tar('-Xfetch');
	skip 'there is no fakeroot', 10 if system('command -v fakeroot >/dev/null') != 0;
	my $owned = new_path('owned');
	mkdir $owned or die "$owned: $!";
	system_or_bail('tar', '--owner=daemon:4711', '--group=no_such_group:4712', '-cf', "$owned/base.tar", '-C', $by_tar,
		'PG_VERSION', 'base', 'odd');
	system_or_bail('tar', '--owner=no_such_user:4713', '-rf', "$owned/base.tar", '-C', $by_tar, 'global');
	my $ours = new_path('ours');
	mkdir "$ours.tar" or die "$ours.tar: $!";
	my ($status, $out, $errors) = run_program('fakeroot', 'sh', '-c', <<~'END', 'sh', "$owned/base.tar", $ours, $owned);
		tar --delay-directory-restore -xpf "$1" -C "$2.tar" && pg_parbasebackup --extract="$3" -D "$2" -j2 --no-sync || exit
		for i in "$2.tar" "$2"; do
			find "$i" -mindepth 1 ! -name tablespace_map -printf '%P %U:%G %m %T@\n' | sort
		done
		echo "top $(stat -c %u:%g "$2")"
		END
	my @lines = split /\n/, $out;
	my $top = pop @lines;
	is_deeply([ @lines[ @lines / 2 .. $#lines ] ], [ @lines[ 0 .. @lines / 2 - 1 ] ], "root: the same owners as with tar$errors");
	is($top, 'top ' . getpwnam('daemon') . ':4712', 'root: the directory belongs to the owner of its first file');
	my $by_root = new_path('by_root');
	($status, $out, $errors) = run_program('fakeroot', 'pg_parbasebackup', "--extract=$plain_too", '-D', $by_root, '--no-sync');
	is($status, 1, 'root, location of the archive: exit code');
	my $refusal = qr/error: no directory specified for tablespace $oid\n.*detail: Its location on the server is "\Q$place\E"\. .*\n.*hint: Use -T \Q$place\E=NEWDIR/;
	like($errors, $refusal, 'root, location of the archive: message');
	ok(!-e $by_root, 'root, location of the archive: nothing is left');
	# a location that the server reports
	my @plain_format = ('fakeroot', 'pg_parbasebackup', connection($node), '-c', 'fast', '-D', $by_root, '--no-sync');
	($status, $out, $errors) = run_program(@plain_format);
	is($status, 1, 'root, plain format, location of the server: exit code');
	like($errors, $refusal, 'root, plain format, location of the server: message');
	ok(!-e $by_root, 'root, plain format, location of the server: nothing is left');
	my $named = new_path('named');
	($status, $out, $errors) = run_program(@plain_format, '-T', "$place=$named");
	is("$status$errors", '0', 'root, plain format, directory of -T: exit code and messages');
	is(readlink("$by_root/pg_tblspc/$oid"), $named, 'root, plain format, directory of -T: the link leads there');

	# nor to where another user could put a link: that user's directory, one above it, one
	# that others may write to, or behind the user's link
	my $others = new_path('others');
	mkdir $_ or die "$_: $!" foreach $others, "$others/owned", "$others/open";
	symlink 'root', "$others/link" or die "symlink: $!";
	foreach my $try ([ 'the directory', 'owned', 'owned' ], [ 'the directory above', 'owned', 'owned/new' ],
		[ 'a directory for all', 'open', 'open/new' ], [ 'a link', 'link', 'link/new' ])
	{
		my ($what, $part, $dir) = @$try;
		my $found = -d "$others/$dir";
		foreach my $form ([ '--extract', "--extract=$own" ], [ 'plain', connection($node), '-c', 'fast', '-T', "$place=$named.2" ])
		{
			my ($name, @words) = @$form;
			($status, $out, $errors) = run_program('fakeroot', 'sh', '-c',
				'chown -h daemon "$1/owned" "$1/link" && chmod 777 "$1/open" && shift && exec pg_parbasebackup "$@"',
				'sh', $others, @words, '-D', "$others/$dir", '--no-sync');
			is($status, 1, "root, $name, $what: exit code");
			like($errors, qr/error: directory "\Q$others\E\/\Q$dir\E" is not safe for root\n.*detail: .*"\Q$others\E\/$part"/,
				"root, $name, $what: message");
			ok($found ? !glob("$others/$dir/*") : !-e "$others/$dir", "root, $name, $what: nothing is left");
		}
	}
	($status, $out, $errors) = run_program('fakeroot', 'sh', '-c', 'mkdir "$1/sticky" && chmod 1777 "$1/sticky" && shift && exec pg_parbasebackup "$@"',
		'sh', $others, "--extract=$plain_too", '-T', "$place=$named.3", '-D', "$others/sticky/new", '--no-sync');
	is("$status$errors", '0', 'root, a directory of its own in a sticky one');

	# nor where a link was while the directory was opened, and is gone when its path is
	# looked at again
	my ($victim, $lead) = ("$others/victim", "$others/sticky/lead");
	mkdir $_ or die "$_: $!" foreach $victim, "$victim/data";
	my $gone = qq{case \$moment in
		before*) ln -sfn '$victim' '$lead' ;;
		"after open") rm -f '$lead' ;;
	esac};
	foreach my $form ([ '--extract', "--extract=$plain_too" ], [ 'plain', connection($node), '-c', 'fast' ])
	{
		my ($name, @words) = @$form;
		($status, $out, $errors) = run_program('fakeroot', 'sh', '-c',
			'export LD_PRELOAD="$LD_PRELOAD:$1" SYSTEM_MOMENT=/lead/data SYSTEM_COMMAND="$2"; shift 2; exec pg_parbasebackup "$@"',
			'sh', $faults, $gone, @words, '-D', "$lead/data", '-T', "$place=$named.4", '--no-sync');
		is($status, 1, "root, $name, a link for a moment: exit code");
		like($errors, qr/error: directory "\Q$lead\E\/data" was replaced/, "root, $name, a link for a moment: message");
		is(join(' ', glob("$victim/data/*")), '', "root, $name, a link for a moment: the directory behind the link is empty");
	}

	# nor by way of a link and "..", with anything above the directory that it
	# leads to
	mkdir $_ or die "$_: $!" foreach "$others/far", "$others/far/deep", "$others/near", "$others/far/new";
	symlink '../far/deep', "$others/near/link" or die "symlink: $!";
	($status, $out, $errors) = run_program('fakeroot', 'pg_parbasebackup', "--extract=$plain_too", '-T', "$place=$named.5",
		'-D', "$others/near/link/../new", '--no-sync');
	is("$status$errors", '0', 'root, a link and ".."');
	is(join(' ', glob("$others/far/new/*")), '', 'no file is created above the directory of the link');
	ok(-e "$others/near/new/PG_VERSION", 'the files are in the directory that was checked');
}

# --- a directory that another user replaces with one of ours that has files

foreach my $form ([ '--extract', "--extract=$own" ], [ 'plain', connection($node), '-c', 'fast' ],
	[ 'tar', connection($node), '-c', 'fast', '-Ft' ])
{
	my ($name, @words) = @$form;
	my ($above, $victim) = (new_path('above'), new_path('victim'));
	mkdir $_ or die "$_: $!" foreach $above, $victim, "$victim/data";
	append_to_file("$victim/data/precious", 'text');
	my ($status, $out, $errors) = run_program('env', "LD_PRELOAD=$faults", 'SYSTEM_MOMENT=/data',
		qq{SYSTEM_COMMAND=case \$moment in "after mkdir") mv '$above' '$above.moved' && ln -s '$victim' '$above' ;; esac},
		'pg_parbasebackup', @words, '-D', "$above/data", '--no-sync');
	is($status, 1, "replaced, $name: exit code");
	like($errors, qr/error: directory "\Q$above\E\/data" was replaced/, "replaced, $name: message");
	is(join(' ', glob("$victim/data/*")), "$victim/data/precious", "replaced, $name: the directory behind the link is not changed");
}

# --- a directory that another user replaces with one of another backup, whose manifest
# has no name yet: while files are flushed, or right before the manifest gets its name

foreach my $form ([ 'plain', connection($node), '-c', 'fast', '-T' ], [ 'plain, no sync', connection($node), '-c', 'fast', '--no-sync', '-T' ],
	[ 'tar, no sync', connection($node), '-c', 'fast', '--no-sync', '-Ft' ], [ '--extract', "--extract=$own", '-T' ])
{
	my ($name, @words) = @$form;
	foreach my $moment ($name eq '--extract' ? 'after opendir' : 'after open', 'after stat')
	{
		my $what = "replaced by another backup, $name, $moment";
		my ($above, $victim) = (new_path('above'), new_path('victim'));
		mkdir $_ or die "$_: $!" foreach $above, $victim, "$victim/data";
		append_to_file("$victim/data/backup_manifest.tmp", 'text');
		my ($status, $out, $errors) = run_program('env', "LD_PRELOAD=$faults",
			'SYSTEM_MOMENT=/data' . ($moment eq 'after open' ? '/backup_manifest.tmp' : ''),
			qq{SYSTEM_COMMAND=if [ "\$moment" = '$moment' ] && [ -e '$above/data/backup_manifest.tmp' ] && [ ! -h '$above' ]; then
				mv '$above' '$above.moved' && ln -s '$victim' '$above'; fi},
			'pg_parbasebackup', @words, $words[-1] eq '-T' ? "$place=" . new_path('far') : (), '-D', "$above/data");
		ok(-l $above, "$what: it was");
		is(join(' ', glob("$victim/data/*")), "$victim/data/backup_manifest.tmp", "$what: the other backup is the same");
		if ($moment eq 'after stat')
		{
			is("$status$errors", '0', "$what: the run");
			ok(-e "$above.moved/data/backup_manifest", "$what: the manifest has its name");
		}
		else
		{
			is($status, 1, "$what: exit code");
			like($errors, qr/error: directory "\Q$above\E\/data" was replaced or filled by another process\n.*detail: The path now leads to another directory .*\n.*hint: Choose /,
				"$what: message");
			ok(!-e "$above.moved/data", "$what: the backup is removed");
		}
	}
}

# --- where it was on the server, which is gone

$node->stop;
rename($place, "$place.away") or die "rename: $!";
my $again = new_path('again');
($rc, $output, $err) = run_program('pg_parbasebackup', "--extract=$own", '-D', $again, '--no-sync');
is("$rc$output$err", '0', 'to the same place: exit code and messages');
my $own_by_tar = by_tar_too($own);
is(attributes($again) =~ s/^backup_manifest .*\n//mr, attributes($own_by_tar), 'to the same place: attributes of all files');
is(readlink("$again/pg_tblspc/$oid"), $place, 'to the same place: the link leads to the tablespace');
ok(scalar(() = glob("$place/PG_*")), 'to the same place: the tablespace contains its directory');

done_testing();
