#!/usr/bin/perl
#
# pipe_report.pl: print the medians of the runs that pipe.sh recorded as tables.
#
# usage: pipe_report.pl RUNS-CSV COMMANDS-CSV JOBS
#
# The first file has the restores, the second one the number and the bytes of the
# archive's files, and the seconds that the commands take alone.

use strict;
use warnings;
use FindBin;
use List::Util qw(sum uniq);
use lib $FindBin::Bin;
use Runs;

my ($runs_path, $commands_path, $jobs) = @ARGV;
my @runs = Runs::read_csv($runs_path);
my @commands = Runs::read_csv($commands_path);

sub median_of
{
	my ($set, $way, $column) = @_;

	return Runs::median(map { $_->{$column} } grep { $_->{set} eq $set && $_->{way} eq $way } @runs);
}

sub print_set
{
	my ($set) = @_;
	my @alone = grep { $_->{set} eq $set } @commands;
	my ($n, $stored) = @{ $alone[0] }{qw(files stored)};
	my $alone = Runs::median(map { $_->{commands} } @alone);
	my $local = median_of($set, 'local', 'wall');

	printf "\n%s: %d files, %.1f MB, on average %.1f kB; from local files each takes %.0f ms of a job\n",
	  $set, $n, $stored / 1e6, $stored / $n / 1e3, 1000 * $local * $jobs / $n;
	printf "the commands alone: %.2f s, %.2f ms each\n", $alone, 1000 * $alone / $n;
	printf "%-12s %8s %10s %22s %10s\n", 'way', 'wall s', 'to local', 'to local and commands', 'client CPU';
	foreach my $way (uniq map { $_->{way} } grep { $_->{set} eq $set } @runs)
	{
		my $wall = median_of($set, $way, 'wall');

		printf "%-12s %8.2f %10s %22s %10.2f\n", $way, $wall, sprintf('%+.1f %%', 100 * ($wall / $local - 1)),
		  $way eq 'local' ? '-' : sprintf('%+.1f %%', 100 * ($wall / ($local + $alone) - 1)), median_of($set, $way, 'client_cpu');
	}
}

print_set($_) foreach uniq map { $_->{set} } @runs;
