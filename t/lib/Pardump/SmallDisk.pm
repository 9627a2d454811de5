
# Servers whose disk fills up.  The small disk is a file system in memory that only
# the server sees: as an ordinary user it mounts it in namespaces of its own.

package Pardump::SmallDisk;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(run_program new_path);

our @EXPORT_OK = qw(small_disk_problem start_on_small_disk on_small_disk);

# Mount a file system of $1 at $2 with the files of $2 in it, and go on with the
# rest as the user who we were: a server does not run as root, as who alone
# mounts.
my $mount = <<'SH';
set -e
mkdir -m 700 "$2.new"
mount -n -t tmpfs -o "size=$1,mode=700" tmpfs "$2.new"
cp -a "$2/." "$2.new/"
mount -n --move "$2.new" "$2"
rmdir "$2.new"
shift 2
exec unshare --user --map-user="$UID_OUTSIDE" "$@"
SH

# A command in which the directory $dir is on a disk of $size.
sub on_small_disk
{
	my ($size, $dir, @command) = @_;
	$ENV{UID_OUTSIDE} = $<;
	return ('unshare', '--map-root-user', '--mount', 'sh', '-c', $mount, 'sh', $size, $dir, @command);
}

# Why there can be none, or nothing.
sub small_disk_problem
{
	my $dir = new_path('tried');
	mkdir $dir or die "could not create \"$dir\": $!";
	my ($rc, undef, $err) = run_program(on_small_disk('1m', $dir, 'true'));
	return $rc == 0 ? () : 'an ordinary user may not mount here: ' . $err =~ s/\n.*//sr;
}

# The node's server runs with the directory $dir on a disk of $size.  Returns what
# IPC::Run::start() does.
sub start_on_small_disk
{
	my ($node, $size, $dir) = @_;
	my $server = IPC::Run::start([ on_small_disk($size, $dir, 'postgres', '-D', $node->data_dir) ],
		'>>', $node->logfile, '2>&1');
	wait_until('the server', sub {
		$server->pumpable && (run_program('pg_isready', '-d', $node->connstr('postgres')))[0] == 0 });
	return $server;
}

1;
