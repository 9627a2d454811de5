# Base backups of what hardly any data directory has: paths as long as a tar
# archive has room for, and longer, files that are none, the log behind a link, and a
# tablespace within the data directory.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IO::Socket::UNIX;
use Pardump::BaseBackup qw(take_backup verify_backup_ok manifest_files differences start_backup
  slots_left);
use Pardump::Cluster qw(start_cluster new_path run_program sql value);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_cluster('odd', allows_streaming => 1, leave_stopped => 1);
my $pgdata = $node->data_dir;

$node->append_conf('postgresql.conf', 'max_connections = 80');
# the log behind a link
my $log = new_path('log');
rename "$pgdata/pg_wal", $log or die "could not move the log: $!";
symlink $log, "$pgdata/pg_wal" or die "could not make a link: $!";
$node->start;

# a tablespace within the data directory, of which the server warns
mkdir "$pgdata/inside", 0700 or die "could not make a directory: $!";
sql($node, 'postgres', "CREATE TABLESPACE inside LOCATION '$pgdata/inside'");
sql($node, 'postgres', <<'SQL');
CREATE TABLE rows TABLESPACE inside AS SELECT g, repeat('x', 500) AS t FROM generate_series(1, 5000) g;
CREATE EXTENSION pg_pardump;
VACUUM;
CHECKPOINT;
SQL
my $content = q{SELECT count(*), sum(g), md5(string_agg(t, '' ORDER BY g)) FROM rows};
my $rows = sql($node, 'postgres', $content);

# files that are none
mkdir "$pgdata/more", 0700 or die "could not make a directory: $!";
mkfifo("$pgdata/more/fifo", 0600) or die "could not make a FIFO: $!";
my $cwd = POSIX::getcwd();
chdir "$pgdata/more" or die "could not change directory: $!";
my $socket = IO::Socket::UNIX->new(Local => 'socket', Listen => 1) or die "could not make a socket: $!";
chdir $cwd or die "could not change directory: $!";
# links: to a directory, to a file, to nothing, and in the tablespace
symlink '../global', "$pgdata/more/to_directory" or die "could not make a link: $!";
symlink '../PG_VERSION', "$pgdata/more/to_file" or die "could not make a link: $!";
symlink 'nothing', "$pgdata/more/to_nothing" or die "could not make a link: $!";
my ($oid) = map { m{/(\d+)$} } glob("$pgdata/pg_tblspc/*");
my ($in_tablespace) = map { s{.*/}{pg_tblspc/$oid/}r } glob("$pgdata/inside/PG_*");
symlink 'nothing', "$pgdata/$in_tablespace/to_nothing" or die "could not make a link: $!";

# a path of 99 bytes, the most that tar has room for
my $longest = 'more/' . 'x' x 94;
append_to_file("$pgdata/$longest", 'long');

my @readers = ([ 'by SQL', '--no-extension' ], ['by the extension']);
my $made = qr/^(backup_label|tablespace_map|global\/pg_control)$/;

my $dangling = "./more/to_nothing ./$in_tablespace/to_nothing";
my $special = "./more/fifo ./more/socket ./more/to_directory ./more/to_file $dangling";

# pg_basebackup's, which tells what it skips, and does so twice where it has looked
# for the size before.
sub stock_backup
{
	my ($what) = @_;
	my ($rc, $err, $dir) = take_backup($node, 'pg_basebackup', '-T', "$pgdata/inside=" . new_path('place'));
	is($rc, 0, "$what: pg_basebackup") or diag($err);
	my %skipped = map { (s{^\Q$pgdata\E/inside/[^/]*}{./$in_tablespace}r => 1) } $err =~ /skipping special file "(.*)"/g;
	is(join(' ', sort keys %skipped), $special, "$what: pg_basebackup skips all but files");
	return $dir;
}

# SQL does not tell what is a FIFO or a socket, and follows links.
sub same_ok
{
	my ($stock, $dir, $what) = @_;
	my @differ = map { s/: .*//r } grep { !m{^more/to_directory/} } differences($stock, $dir, $made);
	is(join(' ', @differ), $what =~ /SQL/ ? 'more/fifo more/socket more/to_file' : '', "$what: the manifest tells the same as pg_basebackup's");
	is(-e "$dir/more/to_directory/pg_filenode.map" ? 1 : 0, $what =~ /plain, by SQL/ ? 1 : 0, "$what: files behind a link");
	return;
}

# A backup that succeeds, and warns once of each file that is skipped.
sub odd_backup
{
	my ($what, @options) = @_;
	my ($rc, $err, $dir) = take_backup($node, 'pg_parbasebackup', @options);
	is($rc, 0, "$what: exit code");
	my $warning = qr/^pg_parbasebackup: warning: skipping special file "(.*)"\n/m;
	is(join(' ', sort $err =~ /$warning/g), (grep { $_ eq '--no-extension' } @options) ? $dangling : $special, "$what: one warning for each skipped file");
	is($err =~ s/$warning//gr, '', "$what: no other messages");
	return $dir;
}

# what the first runs look up in the catalogs gets hints
odd_backup('first', '-Ft', @$_[ 1 .. $#$_ ]) foreach @readers;
my $stock = stock_backup('plain');
foreach my $reader (@readers)
{
	my ($what, @options) = @$reader;
	my $dir = odd_backup("plain, $what", '-j2', @options, '-T', "$pgdata/inside=" . new_path('place'));
	same_ok($stock, $dir, "plain, $what");
	ok(-d "$dir/pg_wal" && !-l "$dir/pg_wal", "plain, $what: the log is in a directory");
	is(slurp_file("$dir/$longest"), 'long', "plain, $what: the longest path");
	verify_backup_ok($dir, "plain, $what");
	if (!@options)
	{
		my $started = start_backup($dir, 'started');
		is(sql($started, 'postgres', $content), $rows, 'the started server contains all rows');
		$started->stop;
	}
	my $tar = odd_backup("tar, $what", '-j2', '-Ft', @options);
	same_ok($stock, $tar, "tar, $what");
	my $members = `tar -tf '$tar/base.tar'`;
	like($members, qr/^\Q$longest\E$/m, "tar, $what: the longest path");
	is(join(' ', $members =~ m{^(inside\b.*)}mg), 'inside/', "tar, $what: only the directory of the tablespace is in the archive");
	my $out = new_path('out');
	my ($rc, undef, $err) = run_program('pg_parbasebackup', "--extract=$tar", '-D', $out, '-T', "$pgdata/inside=$out/inside");
	is("$rc$err", '0', "tar, $what: extracted, to within the new directory");
	# which is listed below pg_tblspc
	verify_backup_ok($out, "tar, $what: extracted", '--ignore=inside');
}

# ---- more workers than there ever were, a file that is a hole, and a limit

{
	my $hole = 256 * 1024 * 1024;
	append_to_file("$pgdata/more/hole", '');
	truncate "$pgdata/more/hole", $hole or die "could not make a hole: $!";
	my $dir = odd_backup('64 workers', '-j64', '-Ft', '-Z', 'server-zstd:1');
	my $file = manifest_files($dir)->{'more/hole'};
	# the CRC-32C of that number of zeros
	is("$file->{Size} $file->{Checksum}", "$hole 783bf602", '64 workers: a file that is a hole');
	cmp_ok(-s "$dir/base.tar.zst", '<', 32 * 1024 * 1024, '64 workers: size of the compressed archive');
	unlink "$pgdata/more/hole" or die "could not remove a file: $!";

	# what comes by the network counts, by either reader
	foreach my $try ([ '1M', 'base.tar.zst', '-Ft', '-Z', 'server-zstd:1' ],
		[ '20M', undef, '--no-extension', '-T', "$pgdata/inside=" . new_path('place') ])
	{
		my ($rate, $name, @options) = @$try;
		my $begin = time;
		$dir = odd_backup("--max-rate=$rate", '-j2', '-X', 'none', '--no-slot', '-r', $rate, @options);
		my $took = time - $begin;
		my $bytes = $name ? -s "$dir/$name" : 0;
		$bytes += $_->{Size} foreach $name ? () : values %{ manifest_files($dir) };
		my $least = $bytes / ($rate =~ s/M//r * 1024 * 1024);
		# each worker may have some bytes that it has not accounted for yet
		cmp_ok($took, '>=', 0.9 * $least - 0.5, sprintf "--max-rate=$rate @options: not faster than %.1f s", $least);
	}
}

# ---- a link that leads to a directory that it is in

foreach my $to ('..', '.', '../more')
{
	foreach (1 .. 2) { symlink $to, "$pgdata/more/back$_" or die "could not make a link: $!"; }
	my ($rc, $err, $dir) = take_backup($node, 'pg_parbasebackup', '-X', 'none', '--no-slot', '--no-extension');
	is($rc, 1, "a link to $to: exit code");
	like($err, qr/error: symbolic link "more\/back.*" in the data directory points to a directory that contains the link\n.*hint: Remove the link, or use pg_basebackup/,
		"a link to $to: message");
	ok(!-e $dir, "a link to $to: no backup is left");
	foreach (1 .. 2) { unlink "$pgdata/more/back$_" or die "could not remove a link: $!"; }
}
# directories may have names that those above have, too
foreach (0 .. 2) { mkdir "$pgdata/more/same" . ('/same' x $_), 0700 or die "could not make a directory: $!"; }
append_to_file("$pgdata/more/same/same/same/file", 'deep');
{
	my $dir = odd_backup('names that come again', '-T', "$pgdata/inside=" . new_path('place'));
	is(slurp_file("$dir/more/same/same/same/file"), 'deep', 'names that come again: a file');
}

# ---- a file that the server may not read, though there is nothing to be read

foreach my $path ("$in_tablespace/" . (split m{/}, value($node, 'postgres', q{SELECT pg_relation_filepath('rows')}))[3] . '/99999', 'more/unreadable')
{
	append_to_file("$pgdata/$path", '');
	chmod 0, "$pgdata/$path" or die "could not change mode: $!";
	foreach my $program (['pg_basebackup'], ['pg_parbasebackup'], [ 'pg_parbasebackup', '--no-extension' ])
	{
		my ($name, @options) = @$program;
		# SQL cannot tell an empty file that is not a relation's from a FIFO
		next if @options && $path =~ /^more/;
		my ($rc, $err, $dir) = take_backup($node, $name, '-T', "$pgdata/inside=" . new_path('place'), @options);
		is($rc, 1, "@$program: $path cannot be read: exit code");
		like($err, qr/could not open file ".*\/?(?:99999|more\/unreadable)"(?: for reading)?: Permission denied/, "@$program: $path cannot be read: message");
		ok(!-e "$dir/backup_manifest", "@$program: $path cannot be read: no backup");
	}
	unlink "$pgdata/$path" or die "could not remove a file: $!";
}

# ---- too long for tar

append_to_file("$pgdata/${longest}y", 'longer');
foreach my $program (['pg_basebackup'], map { my ($what, @options) = @$_; [ 'pg_parbasebackup', '-j2', @options ] } @readers)
{
	my ($name, @options) = @$program;
	my ($rc, $err, $dir) = take_backup($node, $name, '-Ft', @options);
	is($rc, 1, "@$program: a path too long for tar: exit code");
	like($err, qr/too long for tar format: "\Q${longest}y\E"/, "@$program: a path too long for tar: message");
	ok(!-e "$dir/backup_manifest", "@$program: a path too long for tar: no backup");
}
# pg_basebackup's plain format comes as tar, too; ours does not
my $dir = odd_backup('a path too long for tar, plain', '-T', "$pgdata/inside=" . new_path('place'));
verify_backup_ok($dir, 'a path too long for tar, plain');
is(slurp_file("$dir/${longest}y"), 'longer', 'a path too long for tar, plain: contents of the file');

is(slots_left($node), '', 'no slot is left');
$node->stop;
done_testing();
