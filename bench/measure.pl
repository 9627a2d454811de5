#!/usr/bin/perl
#
# measure.pl: run a command and tell its wall and CPU seconds and the server's.
#
# usage: measure.pl POSTMASTER-PID[,POSTMASTER-PID] COMMAND [ARGUMENT...]
#
# Prints "wall,client,sessions,other": the seconds from the command's start to
# its end, the CPU seconds of the command and of all its children, those that the
# server's sessions used for it, with their parallel workers, and those of the
# server's other processes (checkpointer, writers); with two servers, the last
# two of each.  Ends with the command's exit code.
#
# A server's process counts in /proc/PID/stat of its own while it lives, and in
# its parent's once it is buried, so the sum over the postmaster and its
# children loses nothing when a session ends; and what the buried ones used is
# the sessions' share.  Both before and after, sessions are waited for until none
# is left: all must connect by a Unix-domain socket, for that is how their titles
# tell them from the server's other processes.

use strict;
use warnings;
use List::Util qw(sum);
use Time::HiRes qw(sleep time);
use POSIX ();

my $TICKS = POSIX::sysconf(&POSIX::_SC_CLK_TCK);

# The fields of /proc/PID/stat behind the command's name: state is the first.
sub stat_fields
{
	my ($pid) = @_;

	open my $file, '<', "/proc/$pid/stat" or return;
	my $line = <$file> // return;	# it has ended between open and read
	$line =~ s/^.*\) //s;
	return split ' ', $line;
}

# Numbers of backends, and CPU ticks of the postmaster's living children.
sub look_at_children
{
	my ($postmaster) = @_;
	my ($backends, $ticks) = (0, 0);

	foreach my $pid (map { m,(\d+)$, } glob '/proc/[0-9]*')
	{
		my @fields = stat_fields($pid);

		next unless @fields && $fields[1] == $postmaster;
		$ticks += $fields[11] + $fields[12];
		open my $file, '<', "/proc/$pid/cmdline" or next;
		# without a title it is on its way out
		$backends++ if (<$file> // '') =~ /\[local\]|^$/;
	}
	return ($backends, $ticks);
}

# The CPU seconds that the server's sessions and its other processes have used,
# once no session is left.  A child that is buried while we look would be missed
# on both sides: look again.
sub server_seconds
{
	my ($postmaster) = @_;

	for (my $tries = 0; $tries < 1200; $tries++)
	{
		my @before = stat_fields($postmaster) or die "there is no process $postmaster\n";
		my ($backends, $ticks) = look_at_children($postmaster);
		my @after = stat_fields($postmaster) or die "there is no process $postmaster\n";
		my $buried = sum(@after[ 13, 14 ]);	# cutime, cstime; utime, stime before

		return ($buried / $TICKS, ($ticks + sum(@after[ 11, 12 ])) / $TICKS)
		  if $backends == 0 && sum(@before[ 13, 14 ]) == $buried;
		sleep 0.05;
	}
	die "the server's sessions do not end\n";
}

my @postmasters = split /,/, shift @ARGV;
my @before = map { server_seconds($_) } @postmasters;
my $start = time;
my $status = system { $ARGV[0] } @ARGV;
my $wall = time - $start;
my (undef, undef, $user, $system) = times;

die "could not run \"$ARGV[0]\": $!\n" if $status == -1;
if ($status == 0)
{
	my @after = map { server_seconds($_) } @postmasters;

	printf "%.3f,%.2f,%s\n", $wall, $user + $system,
	  join(',', map { sprintf '%.2f', $after[$_] - $before[$_] } 0 .. $#after);
}
exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
