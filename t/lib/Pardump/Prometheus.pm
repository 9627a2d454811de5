
# A strict reader of Prometheus's text format.

package Pardump::Prometheus;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(read_samples);

# The samples of a file by their names, of each a list of labels and value; dies
# at what the format (exposition_formats.md, version 0.0.4) does not allow.
sub read_samples
{
	my ($file) = @_;
	my $text = slurp_file($file);
	my (%samples, %type, %help);
	my $metric = qr/[a-zA-Z_:][a-zA-Z0-9_:]*/;
	my $last = '';

	die 'the last line has no end' if $text !~ /\n\z/;
	foreach my $line (split /\n/, $text)
	{
		if ($line =~ /^# HELP ($metric) ((?:[^\\\n]|\\\\|\\n)*)\z/)
		{
			die "two HELP lines: $line" if $help{$1}++;
		}
		elsif ($line =~ /^# TYPE ($metric) (counter|gauge|histogram|summary|untyped)\z/)
		{
			die "TYPE twice, or after samples: $line" if $type{$1} || $samples{$1};
			$type{$1} = $2;
		}
		elsif ($line =~ /^($metric)(?:\{(.*)\})? ([+-]?(?:[0-9.]+(?:e[+-]?\d+)?|Inf|NaN))(?: -?\d+)?\z/)
		{
			my ($sample, $rest, $value, %labels) = ($1, $2 // '', $3);

			while ($rest =~ s/^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\["\\n])*)"(?:,|\z)//)
			{
				my ($label, $text) = ($1, $2);
				die "label twice: $line" if exists $labels{$label};
				$labels{$label} = $text =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ger;
			}
			die "labels: $line" if $rest ne '';
			die "no TYPE or HELP: $line" if !$type{$sample} || !$help{$sample};
			die "samples of one metric apart: $line" if $samples{$sample} && $last ne $sample;
			push @{ $samples{$sample} }, { %labels, value => $value };
			$last = $sample;
		}
		else
		{
			die "no line of the format: $line";
		}
	}
	return \%samples;
}

1;
