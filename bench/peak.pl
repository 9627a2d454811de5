#!/usr/bin/perl
#
# peak.pl: run a command and tell its wall seconds and how much memory it and
# the server needed at most.
#
# usage: peak.pl POSTMASTER-PID COMMAND [ARGUMENT...]
#
# Prints "wall client client_sum server server_sum": seconds, then MB of memory
# of their own (RssAnon, so without shared buffers, code and files) that the
# largest process needed and that all of them needed at one time; the client's
# are the command's process group, the server's are the backends.  Looks fifty
# times a second: shorter peaks are missed.  Ends with the command's exit code.

use strict;
use warnings;
use List::Util qw(max sum0);
use POSIX ();
use Time::HiRes qw(sleep time);

# Memory of its own of a process, in MB; 0 when it is gone.
sub own_memory
{
	my ($pid) = @_;

	open my $file, '<', "/proc/$pid/status" or return 0;
	my ($kb) = map { /^RssAnon:\s+(\d+)/ } <$file>;
	return ($kb // 0) / 1024;
}

# Parent and process group of a process; the list is empty when it is gone.
sub family
{
	my ($pid) = @_;

	open my $file, '<', "/proc/$pid/stat" or return;
	my $line = <$file> // return;
	$line =~ s/^.*\) //s;
	return (split ' ', $line)[ 1, 2 ];
}

my $postmaster = shift @ARGV;
my %peak = map { $_ => 0 } qw(client client_sum server server_sum);
my $start = time;
my $child = fork // die "could not fork: $!\n";

if ($child == 0)
{
	setpgrp;
	exec { $ARGV[0] } @ARGV or die "could not run \"$ARGV[0]\": $!\n";
}
while (waitpid($child, POSIX::WNOHANG) == 0)
{
	my %memory = (client => [], server => []);

	foreach my $pid (map { m,(\d+)$, } glob '/proc/[0-9]*')
	{
		my ($parent, $group) = family($pid) or next;
		my $side =
			$group == $child ? 'client'
		  : $parent == $postmaster ? 'server'
		  : next;

		push @{ $memory{$side} }, own_memory($pid);
	}
	foreach my $side (qw(client server))
	{
		$peak{$side} = max($peak{$side}, @{ $memory{$side} });
		$peak{"${side}_sum"} = max($peak{"${side}_sum"}, sum0(@{ $memory{$side} }));
	}
	sleep 0.02;
}
my $status = $?;
printf "%.1f %.0f %.0f %.0f %.0f\n", time - $start,
  @peak{qw(client client_sum server server_sum)};
exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
