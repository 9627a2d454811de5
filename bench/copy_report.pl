#!/usr/bin/perl
#
# copy_report.pl: print the medians of the runs that copy.sh recorded as tables.
#
# usage: copy_report.pl CSV

use strict;
use warnings;
use FindBin;
use List::Util qw(sum);
use lib $FindBin::Bin;
use Runs;

my %NAME = (
	psql => 'pg_dump | psql',
	disk => 'pg_dump, pg_restore',
	pgcopydb => 'pgcopydb',
	text => 'pg_pardump, text',
	auto => 'pg_pardump');
my @WAYS = qw(psql disk pgcopydb text auto);
my (%values, %median, %bytes);

open my $file, '<', $ARGV[0] or die "could not open \"$ARGV[0]\": $!\n";
chomp(my $header = <$file>);
my @columns = split /,/, $header;
while (my $line = <$file>)
{
	my %run;

	chomp $line;
	@run{@columns} = split /,/, $line;
	$bytes{ $run{set} } = $run{data_bytes};
	push @{ $values{ $run{set} }{ $run{indexes} }{ $run{way} }{$_} }, $run{$_}
	  foreach qw(wall client_cpu source_cpu target_cpu);
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

# A ratio, or a dash where one of the two was not measured.
sub ratio
{
	my ($other, $own) = @_;

	return defined $other && $own > 0 ? sprintf('%.2fx', $other / $own) : '-';
}

# How much of a copy with indexes is not there without.
sub index_share
{
	my ($set, $kind, $way) = @_;
	my $with = $median{$set}{some}{$way}{wall};
	my $without = $median{$set}{none}{$way}{wall};

	return '-' if $kind ne 'some' || !$with || !$without;
	return sprintf '%.0f %%', 100 * ($with - $without) / $with;
}

foreach my $set (grep { $values{$_} } @Runs::SETS)
{
	my $gb = $bytes{$set} / 1e9;

	foreach my $kind (grep { $values{$set}{$_} } qw(none some))
	{
		my $ways = $median{$set}{$kind};

		printf "\n%s, %.0f MB of tables, %s\n", $set, $gb * 1000,
		  $kind eq 'some' ? 'with indexes' : 'without indexes';
		printf "%-58s %35s\n", '', 'CPU seconds a GB';
		printf "%-20s %8s %9s %9s %9s %8s %8s %8s %8s %8s\n", 'way', 'wall s', 'to psql', 'to disk',
		  'pgcopydb', 'client', 'source', 'target', 'all', 'indexes';
		foreach my $way (grep { $ways->{$_} } @WAYS)
		{
			my $run = $ways->{$way};
			my @cpu = map { $run->{$_} / $gb } qw(client_cpu source_cpu target_cpu);

			printf "%-20s %8.2f %9s %9s %9s %8.2f %8.2f %8.2f %8.2f %8s\n", $NAME{$way}, $run->{wall},
			  (map { ratio($ways->{$_}{wall}, $run->{wall}) } qw(psql disk pgcopydb)),
			  @cpu, sum(@cpu), index_share($set, $kind, $way);
		}
	}
}
