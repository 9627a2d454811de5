
# Programs on a terminal of some width, and what a user sees there at the end.

package Pardump::Terminal;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(start_on_terminal run_on_terminal seen_lines);

# Starts a program whose standard output and standard error are a terminal of a number
# of columns.  What it has written, in bytes, is in the run's out.
sub start_on_terminal
{
	my ($columns, @command) = @_;
	my %run = (out => '', err => '');
	$run{h} = IPC::Run::start([ 'sh', '-c', 'stty cols $0 0<&1; exec "$@" 2>&1', $columns, @command ],
		'<', \'', '>pty>', \$run{out}, $run{timer} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$run{pid} = $run{h}{KIDS}[0]{PID};
	return \%run;
}

# Runs it until it ends.  Returns the exit code and what it has written.
sub run_on_terminal
{
	my $run = start_on_terminal(@_);
	$run->{h}->finish;
	note($run->{out} =~ s/\r/\n/gr);
	return ($run->{h}->full_result(0) >> 8, $run->{out});
}

# The lines that are seen at the end, without blanks at their ends: a carriage return
# leads back to the beginning of the line, and what follows is written over it.  Dies at
# other ways to control a terminal, which no program uses.
sub seen_lines
{
	my ($shown) = @_;
	my @lines;

	utf8::decode($shown);
	foreach my $written (split /\r*\n/, $shown)
	{
		my $line = '';

		foreach my $part (split /\r/, $written)
		{
			die 'control character in: ' . $part =~ s/[^ -~]/?/gr if $part =~ /[\x00-\x08\x0b-\x1f\x7f]/;
			$line = length $part < length $line ? $part . substr($line, length $part) : $part;
		}
		push @lines, $line =~ s/ +\z//r;
	}
	return @lines;
}

1;
