
# Restores that end or are disturbed at an exact place: one connection is held
# there, until the test has done what it wants to.

package Pardump::Stopper;

use strict;
use warnings;

use Exporter 'import';
use Fcntl;
use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(new_path);
use Pardump::Copy qw(start_load);
use Pardump::Proxy qw(start_relay client_messages stop_proxy);
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT_OK = qw(start_stopper start_stopped stop_stopper cut kill_stopped disturb);

# start_stopper($node, $what, $where, $nth): a relay that stops the first connection
# on which $what is said in an $nth message (1 if not given): before the server hears
# it ('said'), before its answer is heard ('answered'), when it has done it, a CREATE
# DATABASE ('done'), before it hears the next COMMIT ('commit'), or when it has
# answered that ('committed').  When the test says so, that connection is cut.
sub start_stopper
{
	my ($node, $what, $where, $nth) = @_;
	my ($reached, $go) = map { new_path($_) } qw(reached go);
	my $missing = $nth // 1;
	my %connection;
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		my $says = $is_servers ? 0 : grep { $_ =~ $what } client_messages(\%connection, $$bytes);
		$missing -= $says;
		return 1 if $missing > 0 || -e $reached;
		return 1 if $where eq 'answered' && $says;
		return 1 if $where eq 'done' && (!$is_servers || $$bytes !~ /CREATE DATABASE\0/);
		return 1 if $where eq 'commit' && ($is_servers || $$bytes !~ /COMMIT\0/);
		return 1 if $where eq 'committed' && (!$is_servers || $$bytes !~ /COMMIT\0/);
		# but one of two that have come so far at the same moment
		sysopen my $mark, $reached, O_CREAT | O_EXCL | O_WRONLY or return 1;
		sleep 0.02 while !-e $go;
		return 0;
	});
	return { relay => $relay, reached => $reached, go => $go };
}

# A pg_parrestore through it, which is stopped by now.
sub start_stopped
{
	my ($stopper, $db, @args) = @_;
	my $run = start_load('pg_parrestore', '-d',
		"host=$stopper->{relay}{host} port=$stopper->{relay}{port} dbname=$db", @args);
	wait_in_run($run, 'it is stopped', sub { -e $stopper->{reached} });
	return $run;
}

sub stop_stopper { stop_proxy($_[0]->{relay}); return; }

sub cut { append_to_file($_[0]->{go}, ''); return; }

# The leader, by kill -9.
sub kill_stopped
{
	my ($run, $stopper) = @_;
	kill KILL => $run->{pid};
	end_dump($run);
	cut($stopper);
	return;
}

# What may come to a run that is stopped: its connection is 'lost', its leader is
# 'killed', the server has 'crashed', or 'crashed and killed'.
sub disturb
{
	my ($how, $node, $run, $stopper) = @_;
	$node->stop('immediate') if $how =~ /crashed/;
	$node->start if $how eq 'crashed';
	if ($how =~ /killed/) { kill_stopped($run, $stopper); }
	else { cut($stopper); }
	$node->start if $how =~ /crashed and/;
	return;
}

1;
