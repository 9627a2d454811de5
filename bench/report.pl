#!/usr/bin/perl
#
# report.pl: print the medians of the runs that run.sh recorded as tables.
#
# usage: report.pl CSV PROCESSORS

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Runs;

my ($path, $processors) = @ARGV;
my ($medians, $text) = Runs::read_medians($path);

sub print_row
{
	my ($codec, $program, $run, $stock, $floor) = @_;

	printf "%-8s %-22s %8.2f %7s %7.2f %7.2f %7s %9.1f %6s %8s %7s\n",
	  $codec, $Runs::NAME{$program}, $run->{wall}, Runs::ratio($stock->{wall}, $run->{wall}),
	  $run->{client_cpu}, $run->{server_cpu}, Runs::ratio($stock->{cpu}, $run->{cpu}),
	  $run->{bytes} / 1e6, Runs::ratio($run->{bytes}, $stock->{bytes}),
	  defined $floor ? sprintf('%.2f', $floor) : '-', Runs::ratio($run->{wall}, $floor);
}

sub print_set
{
	my ($set) = @_;

	printf "\n%s%s\n", $set,
	  $text->{$set} > 0 ? sprintf(', %.0f MB of text', $text->{$set} / 1e6) : ', 5,000 tables';
	printf "%-8s %-22s %8s %7s %7s %7s %7s %9s %6s %8s %7s\n", 'codec', 'program', 'wall s',
	  'faster', 'client', 'server', 'less', 'MB', 'size', 'floor s', 'wall/';
	printf "%-8s %-22s %8s %7s %15s %7s %9s %6s %8s %7s\n", '', '', '', '', 'CPU s', 'CPU', '', '',
	  '', 'floor';
	foreach my $codec (@Runs::CODECS)
	{
		my $runs = $medians->{$set}{$codec} or next;
		my $floor = $runs->{floor} ? $runs->{floor}{cpu} / $processors : undef;

		foreach my $program (grep { $runs->{$_} } @Runs::PROGRAMS)
		{
			print_row($codec, $program, $runs->{$program}, $runs->{stock}, $floor);
		}
	}
}

# Ratios of stock to a program over the sets of one large table, as pairs of
# the ratio and where it was found.
sub ratios
{
	my ($program, $what, @codecs) = @_;
	my @found;

	foreach my $set (grep { $_ ne 'small' } @Runs::SETS)
	{
		foreach my $codec (@codecs)
		{
			my $runs = $medians->{$set}{$codec} or next;

			push @found, [ $runs->{stock}{$what} / $runs->{$program}{$what}, "$set $codec" ]
			  if $runs->{stock} && $runs->{$program} && $runs->{$program}{$what} > 0;
		}
	}
	return @found;
}

# The size of a program's archives together, as a share of stock's.
sub size_together
{
	my ($program, @codecs) = @_;
	my ($sum, $stock) = (0, 0);

	foreach my $codec (@codecs)
	{
		foreach my $set (grep { $_ ne 'small' } keys %$medians)
		{
			my $runs = $medians->{$set}{$codec};

			next unless $runs->{stock} && $runs->{$program};
			$sum += $runs->{$program}{bytes};
			$stock += $runs->{stock}{bytes};
		}
	}
	return $sum / $stock;
}

sub print_mean
{
	my ($title, @codecs) = @_;

	foreach my $program (grep { $_ ne 'stock' } @Runs::PROGRAMS)
	{
		my @wall = sort { $a->[0] <=> $b->[0] } ratios($program, 'wall', @codecs);
		my @cpu = ratios($program, 'cpu', @codecs);

		next unless @wall && @cpu;
		printf "%-16s %-22s %6.2fx %6.2fx %-16s %6.2fx %6.2fx\n", $title, $Runs::NAME{$program},
		  Runs::geometric_mean(map { $_->[0] } @wall), @{ $wall[0] },
		  Runs::geometric_mean(map { $_->[0] } @cpu), size_together($program, @codecs);
	}
}

print_set($_) foreach grep { $medians->{$_} } @Runs::SETS;
exit 0 unless grep { ratios($_, 'wall', @Runs::CODECS) } qw(sql client server);
printf "\nover the sets of one large table\n%-16s %-22s %7s %-24s %7s %7s\n", 'codec', 'program', 'faster',
  ' lowest', 'CPU', 'size';
print_mean('none lz4 zstd:1', qw(none lz4 zstd:1));
print_mean('gzip:6', 'gzip:6');
print_mean('default', 'default');
