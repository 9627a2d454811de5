# --clean-output removes what an earlier run of ours left, and nothing else.

use strict;
use warnings;

use Fcntl qw(:flock);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql dump_ok
  listing);
use Pardump::Command qw(text_file system_faults);
use Pardump::Manifest qw($manifest_name change_manifest);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('clean');
make_database($node, 'clean');
sql($node, 'clean', <<'SQL');
CREATE TABLE one AS SELECT g FROM generate_series(1, 1000) g;
CREATE TABLE two AS SELECT g FROM generate_series(1, 1000) g;
SELECT lo_create(4711);
SQL
my @db = ('-d', $node->connstr('clean'), '--no-sync');

sub cleaned_ok
{
	my ($what, $dir) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dir, '--clean-output', '-t', 'two', @db);
	ok($rc == 0 && $err eq '', "$what: dumped") or diag($err);
	my ($verified, $out) = run_program('pg_pardump', '--verify', $dir);
	is($verified, 0, "$what: whole, and nothing else is there");
	like($out, qr/ 1,000 rows, /, "$what: the new archive");
	return;
}

sub kept_ok
{
	my ($what, $dir, $message) = @_;
	my $before = listing($dir);
	foreach my $dry ('', '--dry-run')
	{
		my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dir, '--clean-output', @db, $dry || ());
		is($rc, 1, "$what $dry: exit code");
		like($err, $message, "$what $dry: message");
		is(listing($dir), $before, "$what $dry: nothing removed");
	}
	return;
}

# The name of one file of rows in an archive.
sub a_file { return (map { s/.*\///r } glob "$_[0]/[0-9]*.dat*")[0]; }

sub archive { return dump_ok($node, 'clean', $_[0], 'pg_pardump'); }

# ---- ours

cleaned_ok('whole archive', archive('whole archive'));
cleaned_ok('no directory', new_path('none'));
{
	my $dir = archive('dry run');
	my $before = listing($dir);
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dir, '--clean-output', '--dry-run', @db);
	ok($rc == 0 && $err eq '', 'dry run: the plan') or diag($err);
	is(listing($dir), $before, 'dry run: nothing removed');
}
{
	my $dir = new_path('empty');
	mkdir $dir;
	cleaned_ok('empty directory', $dir);
}
{
	my $dir = archive('cleaning stopped');
	unlink "$dir/toc.dat", glob "$dir/[0-9]*.dat*";
	cleaned_ok('cleaning stopped', $dir);
}
{
	my $dir = archive('killed');
	rename "$dir/toc.dat", "$dir/toc.dat.tmp";
	unlink "$dir/$manifest_name";
	cleaned_ok('killed', $dir);
}
{
	my $dir = archive('killed in the manifest');
	rename "$dir/toc.dat", "$dir/toc.dat.tmp";
	append_to_file("$dir/$manifest_name", 'x');
	cleaned_ok('killed in the manifest', $dir);
}

{
	my $dir = archive('through a link');
	my $link = new_path('link');
	symlink $dir, $link;
	cleaned_ok('through a link', $link);
	ok(-l $link, 'through a link: the link still exists');
}
{
	# what another name leads to is not lost
	my $dir = archive('a second name');
	my $other = new_path('other');
	my $name = a_file($dir);
	link "$dir/$name", $other or die "could not link: $!";
	my $bytes = slurp_file($other);
	cleaned_ok('a second name', $dir);
	ok(slurp_file($other) eq $bytes, 'a second name: the other file is not changed');
}
{
	my $dir = archive('dry run');
	my $before = listing($dir);
	my ($rc, undef, $err) =
	  run_program('pg_pardump', '-f', $dir, '--clean-output', '--dry-run', @db);
	is("$rc$err", '0', 'dry run: exit code');
	is(listing($dir), $before, 'dry run: nothing removed');
}


# ---- ours, but the dump is refused before it has read a row

foreach my $try (
	[ 'no such table', qr/no matching tables were found/, '-t', 'nosuch' ],
	[ 'a bad condition', qr/invalid condition for table public\.two/, '--where=two:nosuch = 1' ])
{
	my ($what, $message, @options) = @$try;
	my $dir = archive($what);
	my $before = listing($dir);
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dir, '--clean-output', @options, @db);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	is(listing($dir), $before, "$what: nothing removed, nothing added");
	is((run_program('pg_pardump', '--verify', $dir))[0], 0, "$what: the old archive is whole");
	cleaned_ok($what, $dir);
}

# ---- not ours

# Manifests that lie, though their own checksum is right.
foreach my $name ('notes.txt', 'blobs.txt', '5.dat.bak', 'toc.dat.old', 'blob_.dat')
{
	my $dir = archive('named by a manifest');
	append_to_file("$dir/$name", 'mine');
	change_manifest($dir, sub { s/"Path": "\d+\.dat[^"]*"/"Path": "$name"/ });
	kept_ok("$name, named by a manifest", $dir, qr/" was not written by pg_pardump/);
}
{
	my $precious = text_file('precious', 'mine');
	my $dir = archive('outside');
	foreach my $name ($precious, '../' . $precious =~ s/.*\///r)
	{
		change_manifest($dir, sub { s/"Path": "[^"]*"/"Path": "$name"/ });
		kept_ok('a file outside', $dir, qr/could not recognize directory .* as an archive of pg_pardump\n.*detail: The manifest contains an invalid file name/);
		is(slurp_file($precious), 'mine', 'a file outside: it is not changed');
	}
}
foreach my $name ($manifest_name, 'toc.dat', 'toc.dat.tmp')
{
	my $dir = archive("$name is a link");
	my $other = new_path('other');
	rename "$dir/$name", $other if -e "$dir/$name";
	append_to_file($other, '') if !-e $other;
	symlink $other, "$dir/$name" or die "could not link: $!";
	kept_ok("$name is a link", $dir, $name eq $manifest_name ? qr/could not recognize directory .* as an archive/ : qr/was not written by pg_pardump/);
	ok(-f $other, "$name is a link: the file behind it still exists");
}
foreach my $kind ('directory', 'FIFO')
{
	my $dir = archive($kind);
	my $name = a_file($dir);
	unlink "$dir/$name";
	$kind eq 'FIFO' ? mkfifo("$dir/$name", 0600) : mkdir "$dir/$name" or die "could not make it: $!";
	kept_ok("a $kind instead of a file", $dir, qr/\/\Q$name\E" was not written by pg_pardump/);
}
foreach my $name ('notes.txt', '.hidden', '1.dat/', '1.dat.txt', 'blob_1', 'blobs_.toc', 'toc.dat')
{
	my $dir = new_path('killed');
	mkdir $dir;
	append_to_file("$dir/$_", '') foreach 'toc.dat.tmp', '7.dat.gz';
	$name =~ m{/} ? mkdir "$dir/$name" : append_to_file("$dir/$name", 'mine');
	kept_ok("$name beside toc.dat.tmp", $dir, qr/was not written by pg_pardump/);
}
{
	my $dir = archive('a file more');
	append_to_file("$dir/notes.txt", 'mine');
	kept_ok('a file more', $dir, qr/"\Q$dir\E\/notes\.txt" was not written by pg_pardump/);
}
{
	my $dir = archive('an odd name');
	append_to_file("$dir/a\nb", 'mine');
	kept_ok('an odd name', $dir, qr/\/a\\x0ab" was not written by pg_pardump/);
}
{
	my $dir = archive('a hidden file');
	append_to_file("$dir/.hidden", 'mine');
	kept_ok('a hidden file', $dir, qr/\/\.hidden" was not written by pg_pardump/);
}
{
	my $dir = archive('a data file more');
	append_to_file("$dir/99999.dat", 'mine');
	kept_ok('a data file more', $dir, qr/\/99999\.dat" was not written by pg_pardump/);
}
{
	my $dir = archive('a directory');
	mkdir "$dir/sub";
	kept_ok('a directory', $dir, qr/\/sub" was not written by pg_pardump/);
}
{
	my $dir = archive('a link');
	my $precious = text_file('precious', 'mine');
	my ($name) = glob "$dir/[0-9]*.dat*";
	unlink $name;
	symlink $precious, $name;
	kept_ok('a link', $dir, qr/was not written by pg_pardump/);
	is(slurp_file($precious), 'mine', 'a link: the file behind it still exists');
}
{
	my $dir = dump_ok($node, 'clean', 'stock', 'pg_dump');
	kept_ok('an archive of pg_dump', $dir,
		qr/was not written by pg_pardump\n.*File "$manifest_name" is missing/);
}
{
	my $dir = archive('a damaged manifest');
	append_to_file("$dir/$manifest_name", 'x');
	kept_ok('a damaged manifest', $dir,
		qr/could not recognize directory .* as an archive of pg_pardump\n.*detail: The manifest's own checksum does not match.*\n.*hint: Remove the directory yourself/);
}
{
	my $dir = new_path('other files');
	mkdir $dir;
	append_to_file("$dir/1.dat", 'mine');
	kept_ok('other files', $dir, qr/was not written by pg_pardump/);
}

# ---- a link to an archive in the place of the directory

{
	my ($dir, $link) = (archive('behind a link'), new_path('link'));
	symlink $dir, $link or die "could not make a link: $!";
	cleaned_ok('a link', $link);
	SKIP:
	{
		skip 'there is no fakeroot', 3 if system('command -v fakeroot >/dev/null') != 0;
		my $before = listing($dir);
		my ($rc, undef, $err) = run_program('fakeroot', 'sh', '-c', 'chown -h daemon "$1" && shift && exec pg_pardump "$@"', 'sh', $link,
			'-U', 'postgres', '-f', $link, '--clean-output', @db);
		is($rc, 1, 'a link of another user: exit code');
		like($err, qr/error: symbolic link "\Q$link\E" is owned by another user/, 'a link of another user: message');
		is(listing($dir), $before, 'a link of another user: the directory behind it is not changed');
	}
}

# ---- another run is at work

{
	my $dir = archive('in use');
	open my $fh, '<', $dir or die "could not open \"$dir\": $!";
	flock $fh, LOCK_EX | LOCK_NB or die "could not lock \"$dir\": $!";
	kept_ok('in use', $dir, qr/directory ".*" is in use by another run/);
	close $fh;
	cleaned_ok('in use no more', $dir);
}

# ---- what cannot be removed

{
	my $library = system_faults();
	my $dir = archive('cannot be removed');
	my $name = a_file($dir);
	foreach my $fault ('unlinkat toc.dat', "unlinkat $name", 'fsync ' . $dir)
	{
		my ($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=$fault",
			'pg_pardump', '-f', $dir, '--clean-output', @db);
		is($rc, 1, "$fault fails: exit code");
		like($err, qr/could not (remove file|fsync directory) ".*": Input\/output error/, "$fault fails: message");
	}
	ok(-e "$dir/$name" && !-e "$dir/toc.dat", 'cannot be removed: no archive any more');
	cleaned_ok('cannot be removed, but then can', $dir);
}

# ---- options

foreach my $try ([ '--pipe', '--pipe=cat >%f' ], [ '--target', '--target=dbname=none' ],
	[ '--verify', '--verify=' . archive('options') ])
{
	my ($name, $option) = @$try;
	my ($rc, undef, $err) = run_program('pg_pardump', '--clean-output', $option, @db);
	is($rc, 1, "with $name: exit code");
	like($err, qr/options (?=.*--clean-output).*\Q$name\E.* cannot be used together/, "with $name: message");
}

$node->stop;
done_testing();
