#!/usr/bin/perl
#
# incremental_report.pl: print what incremental.sh measured as tables of medians.
#
# usage: incremental_report.pl RUNS.csv NIGHTS.csv
#
# Of each set every way beside pg_dump and beside our own full dump without
# fingerprints; then what all nights together take on disk, beside their last archive.

use strict;
use warnings;
use FindBin;
use List::Util qw(any sum);

use lib $FindBin::RealBin;
use Runs;

my %NAME = (
	stock => 'pg_dump',
	full => 'pg_pardump',
	recorded => 'with fingerprints',
	same => 'incremental, nothing changed',
	summaries => 'the same by WAL summaries',
	changed => 'incremental, all changed',
	late => 'incremental, all changed late');
my @MEASURES = qw(wall client_cpu session_cpu other_cpu cpu bytes files reused);

sub print_set
{
	my ($set, @runs) = @_;
	my $gb = $runs[0]{data_bytes} / 1e9;
	my (@ways, %median);

	foreach my $run (@runs)
	{
		$run->{cpu} = sum(@$run{qw(client_cpu session_cpu other_cpu)});
		push @ways, $run->{way} if !any { $_ eq $run->{way} } @ways;
	}
	foreach my $way (@ways)
	{
		my @its = grep { $_->{way} eq $way } @runs;

		foreach my $measure (@MEASURES)
		{
			$median{$way}{$measure} = Runs::median(map { $_->{$measure} || 0 } @its);
		}
	}
	printf "\n%s, %.0f MB of tables\n%-29s %8s %10s %8s %9s%35s %16s\n", $set, $gb * 1000, '', '', 'faster than', '',
	  'CPU of', 'CPU seconds a GB', 'MB, files reused';
	printf "%-29s %8s %10s %8s %9s %8s %8s %8s %8s %8s %10s\n", 'way', 'wall s', 'pg_dump', 'full', 'full',
	  qw(client sessions other all MB files);
	foreach my $way (@ways)
	{
		my $run = $median{$way};
		my $full = $median{full};

		printf "%-29s %8.2f %10s %8s %9s %8.2f %8.2f %8.2f %8.2f %8.1f %10s\n", $NAME{$way}, $run->{wall},
		  Runs::ratio($median{stock}{wall}, $run->{wall}), Runs::ratio($full->{wall}, $run->{wall}),
		  $full ? sprintf('%.0f %%', 100 * $run->{cpu} / $full->{cpu}) : '-',
		  (map { $run->{$_} / $gb } qw(client_cpu session_cpu other_cpu cpu)), $run->{bytes} / 1e6,
		  $run->{files} ? "$run->{reused}/$run->{files}" : '-';
	}
}

sub print_nights
{
	my (@nights) = @_;
	my (@series, %series);

	foreach my $night (@nights)
	{
		my $name = "$night->{set}, $night->{kind} 1 %, chunks: $night->{chunk}";

		push @series, $name if !$series{$name};
		push @{ $series{$name} }, $night;
	}
	printf "\n%-41s %6s %9s %9s %9s %9s\n", 'nights', 'number', 'last, MB', 'all, MB', 'all/last', 'reused';
	foreach my $name (@series)
	{
		my $last = $series{$name}[-1];

		printf "%-41s %6d %9.1f %9.1f %8.2fx %8.0f%%\n", $name, $last->{night}, $last->{bytes} / 1e6,
		  $last->{all_bytes} / 1e6, $last->{all_bytes} / $last->{bytes},
		  100 * sum(map { $_->{reused} } @{ $series{$name} }) / sum(map { $_->{files} } @{ $series{$name} });
	}
}

my @runs = Runs::read_csv($ARGV[0]);
foreach my $set (@Runs::SETS)
{
	my @its = grep { $_->{set} eq $set } @runs;

	print_set($set, @its) if @its;
}
my @nights = Runs::read_csv($ARGV[1]);
print_nights(@nights) if @nights;
