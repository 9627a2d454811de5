#!/usr/bin/perl
#
# basebackup_report.pl: print what basebackup.sh measured as a table of medians.
#
# usage: basebackup_report.pl RUNS.csv
#
# How many times as fast a way of pg_parbasebackup is as those it stands beside.

use strict;
use warnings;
use FindBin;
use List::Util qw(any sum);

use lib $FindBin::RealBin;
use Runs;

my %NAME = (
	'stock-plain' => 'pg_basebackup -Fp',
	'sql-plain' => 'pg_parbasebackup -Fp, by SQL',
	plain => 'pg_parbasebackup -Fp',
	'stock-zstd' => 'pg_basebackup -Z server-zstd:1',
	'stock-zstd-workers' => 'the same with workers',
	'stock-pipe' => 'pg_basebackup | zstd -1',
	'stock-pigz' => 'pg_basebackup | pigz',
	'sql-zstd' => 'pg_parbasebackup -Z zstd:1',
	zstd => 'pg_parbasebackup -Z server-zstd:1',
	'stock-lz4' => 'pg_basebackup -Z server-lz4',
	'sql-lz4' => 'pg_parbasebackup -Z lz4',
	lz4 => 'pg_parbasebackup -Z server-lz4',
	'stock-gzip' => 'pg_basebackup -z',
	tar => 'tar --zstd -x',
	extract => 'pg_parbasebackup --extract');

# What each of ours is compared with.
my %BESIDE = (
	'sql-plain' => ['stock-plain'],
	plain => ['stock-plain'],
	'sql-zstd' => [qw(stock-zstd stock-zstd-workers stock-pipe stock-pigz stock-gzip)],
	zstd => [qw(stock-zstd stock-zstd-workers stock-pipe stock-pigz stock-gzip)],
	'sql-lz4' => ['stock-lz4'],
	lz4 => ['stock-lz4'],
	extract => ['tar']);

my @MEASURES = qw(wall client_cpu session_cpu other_cpu cpu bytes);
my (@ways, %values, %median, $gb);

foreach my $run (Runs::read_csv($ARGV[0]))
{
	$run->{cpu} = sum(@$run{qw(client_cpu session_cpu other_cpu)});
	$gb = $run->{data_bytes} / 1e9;
	push @ways, $run->{way} if !any { $_ eq $run->{way} } @ways;
	push @{ $values{ $run->{way} }{$_} }, $run->{$_} foreach @MEASURES;
}
foreach my $way (@ways)
{
	$median{$way}{$_} = Runs::median(@{ $values{$way}{$_} }) foreach @MEASURES;
}

printf "\ncluster of %.2f GB\n%-34s %8s %35s %9s\n", $gb, '', '', 'CPU seconds a GB', '';
printf "%-34s %8s %8s %8s %8s %8s %9s\n", 'way', 'wall s', qw(client sessions other all MB);
foreach my $way (@ways)
{
	my $run = $median{$way};

	printf "%-34s %8.2f %8.2f %8.2f %8.2f %8.2f %9.1f\n", $NAME{$way}, $run->{wall},
	  (map { $run->{$_} / $gb } qw(client_cpu session_cpu other_cpu cpu)), $run->{bytes} / 1e6;
}
print "\n";
foreach my $way (grep { $BESIDE{$_} } @ways)
{
	foreach my $other (grep { $median{$_} } @{ $BESIDE{$way} })
	{
		printf "%-34s %5.2fx as fast as %-34s with %3.0f %% of its CPU\n", $NAME{$way},
		  $median{$other}{wall} / $median{$way}{wall}, "$NAME{$other},", 100 * $median{$way}{cpu} / $median{$other}{cpu};
	}
}
