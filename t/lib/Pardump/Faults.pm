# Faults of every kind at exact moments of a run (Pardump::Moment), for tests that choose
# faults at random with a seed.

package Pardump::Faults;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Background qw(backends pump_run end_dump wait_until terminate);
use Pardump::Cluster qw(run_program);
use Pardump::Moment qw(moment_held moment_go_on moments_seen stop_moments);
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT_OK = qw(one_of choose_fault describe_fault suffer);

sub one_of { return $_[ int(rand(@_)) ]; }

# The arguments are the node, the run, and the process IDs of the client and its backend.
my %faults = (
	'cut' => sub { },
	'its backend terminated' => sub { terminate($_[0], $_[3]) if $_[3] },
	'all backends terminated' => sub { my @all = backends($_[0]); terminate($_[0], @all) if @all },
	'its process killed' => sub { kill KILL => $_[2] },
	'the leader killed' => sub { kill KILL => $_[1]{pid} },
	'Ctrl-C' => sub { kill INT => $_[1]{pid} },
	'SIGTERM' => sub { kill TERM => $_[1]{pid} },
	'a crash' => sub { $_[0]->stop('immediate'); $_[0]->start },
	'a restart' => sub { $_[0]->stop('fast'); $_[0]->start },
	'a long crash' => sub { $_[0]->stop('immediate') },
	# the backend cannot write files: only this backend gets "no space left"
	'a full disk' => sub { run_program('prlimit', "--pid=$_[3]", '--fsize=65536:') if $_[3] });

# Choose a fault, one of @names if there are any.  Returns a moment for start_moments():
# the fault occurs when the pattern with this number is seen for the nth time.
sub choose_fault
{
	my ($pattern, $n, @names) = @_;
	my $fault = one_of(@names ? @names : sort keys %faults);
	return { pattern => $pattern, n => $n, answer => one_of(0, 1), cut => $fault eq 'cut', fault => $fault };
}

# Describe the fault and its moment.  Each pattern begins with its name.
sub describe_fault
{
	my ($moment, $patterns) = @_;
	return "$moment->{fault} at " . ($moment->{answer} ? 'the answer to ' : '')
	  . "$patterns->[ $moment->{pattern} ][0] $moment->{n}";
}

# suffer($node, $run, $moments, moment...) continues a run until its end, and lets the
# faults of these moments occur.  Afterwards the server is running.  $run->{faults} may
# contain additional faults of the caller.  Returns the exit code, the number of times
# that each pattern was seen, and the faults that occurred.
sub suffer
{
	my ($node, $run, $moments, @moments) = @_;
	my @done;
	while (pump_run($run->{h}) && !$run->{timer}->is_expired)
	{
		if (my ($no, $client, $backend) = moment_held($moments))
		{
			my $fault = $moments[$no]{fault};
			push @done, $fault;
			# the server may be down because of an earlier fault
			eval { ($run->{faults}{$fault} // $faults{$fault})->($node, $run, $client, $backend); 1 } or note($@);
			moment_go_on($moments);
		}
		sleep 0.005;
	}
	my $rc = end_dump($run);
	my @seen = moments_seen($moments);
	stop_moments($moments);
	$node->start if grep { $_ eq 'a long crash' } @done;
	wait_until('the server is up', sub { (run_program('pg_isready', '-q', '-d', $node->connstr('postgres')))[0] == 0 });
	return ($rc, \@seen, @done);
}

1;
