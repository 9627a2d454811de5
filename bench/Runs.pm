# Runs.pm: the medians of the runs that run.sh recorded, for the programs that
# show them.

package Runs;

use strict;
use warnings;

# Programs and codecs in the order in which they are shown, and the programs'
# names for people.
our @PROGRAMS = qw(stock sql client server);
our @CODECS = qw(none lz4 zstd:1 gzip:6 default);
our @SETS = qw(pgbench logs mixed docs small demo);
our %NAME = (
	stock => 'pg_dump',
	sql => 'pg_pardump, SQL',
	client => 'pg_pardump, -Z client-',
	server => 'pg_pardump, -Z server-');

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $half = int(@sorted / 2);

	return @sorted % 2 ? $sorted[$half] : ($sorted[ $half - 1 ] + $sorted[$half]) / 2;
}

# A ratio, or a dash where one of the two was not measured.
sub ratio
{
	my ($a, $b) = @_;

	return defined $a && defined $b && $b > 0 ? sprintf('%.2fx', $a / $b) : '-';
}

sub geometric_mean
{
	my $sum = 0;

	$sum += log $_ foreach @_;
	return exp($sum / @_);
}

# The lines of a CSV as hashes.
sub read_csv
{
	my ($path) = @_;

	open my $file, '<', $path or die "could not open \"$path\": $!\n";
	chomp(my @lines = <$file>);
	my @columns = split /,/, shift @lines;
	return map { my %run; @run{@columns} = split /,/, $_, -1; \%run } @lines;
}

# Read run.sh's CSV.  Returns a hash of set, codec and program, each a hash of
# the medians of "wall", "client_cpu", "server_cpu", "bytes" and of their sum
# "cpu"; and a hash of set to its bytes of text.
sub read_medians
{
	my ($path) = @_;
	my (%values, %medians, %text);

	foreach my $run (read_csv($path))
	{
		$run->{server_cpu} = $run->{session_cpu} + $run->{other_cpu};
		$run->{cpu} = $run->{client_cpu} + $run->{server_cpu};
		$text{ $run->{set} } = $run->{text_bytes};
		foreach my $what (qw(wall client_cpu server_cpu cpu bytes))
		{
			push @{ $values{ $run->{set} }{ $run->{codec} }{ $run->{program} }{$what} }, $run->{$what};
		}
	}
	foreach my $set (keys %values)
	{
		foreach my $codec (keys %{ $values{$set} })
		{
			foreach my $program (keys %{ $values{$set}{$codec} })
			{
				my $runs = $values{$set}{$codec}{$program};

				$medians{$set}{$codec}{$program}{$_} = median(@{ $runs->{$_} }) foreach keys %$runs;
			}
		}
		# What pg_dump does by default is gzip's level 6: measured once.
		$medians{$set}{default}{stock} //= $medians{$set}{'gzip:6'}{stock}
		  if $medians{$set}{default} && $medians{$set}{'gzip:6'};
	}
	return (\%medians, \%text);
}

1;
