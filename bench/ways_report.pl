#!/usr/bin/perl
#
# ways_report.pl: print the medians of the runs that copy.sh or restore.sh
# recorded as tables.
#
# usage: ways_report.pl CSV WAY[,WAY...]
#
# The ways named are those that all are compared with, the first of them in CPU
# and over all sets too.

use strict;
use warnings;
use FindBin;
use List::Util qw(any sum);
use lib $FindBin::Bin;
use Runs;

my %NAME = (
	psql => 'pg_dump | psql',
	disk => 'pg_dump, pg_restore',
	pgcopydb => 'pgcopydb',
	text => 'pg_pardump, text',
	binary => 'pg_pardump, binary',
	raw => 'pg_pardump, raw',
	auto => 'pg_pardump',
	stock => q(pg_dump's archive),
	own => q(pg_pardump's archive),
	parrestore => 'pg_parrestore',
	'stock-by-parrestore' => q(pg_dump's by pg_parrestore));
my %KIND = (
	none => 'without indexes',
	key => 'with the primary key',
	all => 'with the primary key and two more indexes',
	own => 'with their own indexes');
my @KINDS = qw(none key all own);
my ($path, $references) = @ARGV;
my @references = split /,/, $references;
my (%values, %median, %bytes, @ways);

open my $file, '<', $path or die "could not open \"$path\": $!\n";
chomp(my $header = <$file>);
my @columns = split /,/, $header;
my @measures = @columns[ 6 .. $#columns ];
my @cpu = grep { /_cpu$/ } @measures;
while (my $line = <$file>)
{
	my %run;

	chomp $line;
	@run{@columns} = split /,/, $line;
	$run{cpu} = sum(@run{@cpu});
	$bytes{ $run{set} } = $run{data_bytes};
	push @ways, $run{way} if !any { $_ eq $run{way} } @ways;
	push @{ $values{ $run{set} }{ $run{indexes} }{ $run{way} }{$_} }, $run{$_} foreach @measures, 'cpu';
}
foreach my $set (keys %values)
{
	foreach my $kind (keys %{ $values{$set} })
	{
		foreach my $way (keys %{ $values{$set}{$kind} })
		{
			my $runs = $values{$set}{$kind}{$way};

			$median{$set}{$kind}{$way}{$_} = Runs::median(@{ $runs->{$_} }) foreach keys %$runs;
		}
	}
}

# The medians of a way; undef where it was not measured.
sub run_of
{
	my ($set, $kind, $way) = @_;

	return $median{$set} && $median{$set}{$kind} ? $median{$set}{$kind}{$way} : undef;
}

# A way's name for people: "own+fast+lz4" is "own" with two additions.
sub name
{
	my ($way, @additions) = split /\+/, $_[0];

	return join ', ', $NAME{$way}, @additions;
}

# How much of the time with indexes is not there without.
sub index_share
{
	my ($set, $kind, $way) = @_;
	my $with = run_of($set, $kind, $way);
	my $without = run_of($set, 'none', $way);

	return '-' if $kind eq 'none' || !$without;
	return sprintf '%.0f %%', 100 * ($with->{wall} - $without->{wall}) / $with->{wall};
}

my %CPU_NAME = (
	client_cpu => 'client',
	session_cpu => 'sessions',
	other_cpu => 'other',
	source_session_cpu => 'source',
	source_other_cpu => 'other');

sub print_kind
{
	my ($set, $kind) = @_;
	my $gb = $bytes{$set} / 1e9;
	my $ways = $median{$set}{$kind};

	printf "\n%s, %.0f MB of tables, %s\n", $set, $gb * 1000, $KIND{$kind};
	printf "%-*s%*s%*s\n", 41 + 12 * @references, '', 9 * @cpu + 9, 'CPU seconds a GB', 27, 'MB';
	printf "%-31s %8s%s %8s", 'way', 'wall s', join('', map { sprintf ' %11s', "to $_" } @references), 'less CPU';
	printf " %8s", $CPU_NAME{$_} foreach @cpu;
	printf " %8s %8s %8s %8s %8s\n", qw(all WAL tables indexes indexes);
	foreach my $way (grep { $ways->{$_} } @ways)
	{
		my $run = $ways->{$way};

		printf "%-31s %8.2f%s %8s", name($way), $run->{wall},
		  join('', map { sprintf ' %11s', Runs::ratio($ways->{$_}{wall}, $run->{wall}) } @references),
		  Runs::ratio($ways->{ $references[0] }{cpu}, $run->{cpu});
		printf " %8.2f", $run->{$_} / $gb foreach @cpu;
		printf " %8.2f %8.1f %8.1f %8.1f %8s\n", $run->{cpu} / $gb,
		  (map { $run->{$_} / 1e6 } qw(wal_bytes table_bytes index_bytes)), index_share($set, $kind, $way);
	}
}

# The medians of a way, or, where a set has none of it, of the way without its
# last addition.
sub nearest_run
{
	my ($set, $kind, $way) = @_;
	my $run = run_of($set, $kind, $way);

	return $run if $run || $way !~ s/\+\w+$//;
	return nearest_run($set, $kind, $way);
}

# Geometric means over the sets of one large table, and the set with the least
# gain.
sub print_means
{
	my ($kind, $reference) = @_;
	my @sets = grep { $_ !~ /^(small|demo)$/ && run_of($_, $kind, $reference) } @Runs::SETS;

	return if @sets < 2;
	printf "\nover %s, %s\n%-31s %11s %8s  %s\n", join(', ', @sets), $KIND{$kind}, 'way', "to $reference",
	  'less CPU', 'least';
	foreach my $way (@ways)
	{
		my (@faster, @less);

		foreach my $set (@sets)
		{
			my $run = nearest_run($set, $kind, $way) or last;
			my $other = run_of($set, $kind, $reference);

			push @faster, $other->{wall} / $run->{wall};
			push @less, $other->{cpu} / $run->{cpu};
		}
		next if @faster < @sets;
		my ($least) = sort { $faster[$a] <=> $faster[$b] } 0 .. $#sets;

		printf "%-31s %10.2fx %7.2fx  %.2fx %s\n", name($way), Runs::geometric_mean(@faster),
		  Runs::geometric_mean(@less), $faster[$least], $sets[$least];
	}
}

foreach my $set (grep { $values{$_} } @Runs::SETS)
{
	print_kind($set, $_) foreach grep { $values{$set}{$_} } @KINDS;
}
print_means($_, $references[0]) foreach @KINDS;
