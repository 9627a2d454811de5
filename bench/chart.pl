#!/usr/bin/perl
#
# chart.pl: draw the medians of the runs that run.sh recorded, as SVG: for
# every data set and codec, how many times faster than pg_dump each program is.
#
# usage: chart.pl CSV >SVG
#
# Each data set is a panel, two beside each other.  Colours come from CSS, for
# a light and a dark page.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max);
use Runs;

# All in pixels.
my $PANEL_WIDTH = 440;
my $LABEL_WIDTH = 62;
my $VALUE_WIDTH = 50;
my $BAR_HEIGHT = 11;
my $GROUP_GAP = 8;
my $TITLE_HEIGHT = 34;
my $TOP = 64;

my @programs = grep { $_ ne 'stock' } @Runs::PROGRAMS;
my ($medians, $text) = Runs::read_medians($ARGV[0]);

# How many times faster than stock, or nothing where one was not measured.
sub speedup
{
	my ($set, $codec, $program) = @_;
	my $runs = $medians->{$set}{$codec};

	return unless $runs && $runs->{stock} && $runs->{$program};
	return $runs->{stock}{wall} / $runs->{$program}{wall};
}

sub text_element
{
	my ($x, $y, $class, $content) = @_;

	return qq(<text x="$x" y="$y" class="$class">$content</text>\n);
}

# The bars of a codec from $y on; returns them and the y below them.
sub draw_group
{
	my ($set, $codec, $x, $y, $scale) = @_;
	my $svg = '';
	my $top = $y;

	foreach my $program (@programs)
	{
		my $speedup = speedup($set, $codec, $program) // next;
		my $width = sprintf '%.1f', $speedup * $scale;

		$svg .= sprintf qq(<rect x="%d" y="%d" width="%s" height="%d" class="%s"/>\n),
		  $x + $LABEL_WIDTH, $y, $width, $BAR_HEIGHT - 1, $program;
		$svg .= text_element(int($x + $LABEL_WIDTH + $width + 4), $y + $BAR_HEIGHT - 2, 'value',
			sprintf '%.1fx', $speedup);
		$y += $BAR_HEIGHT;
	}
	return ('', $y) if $y == $top;
	$svg .= text_element($x + $LABEL_WIDTH - 6, int(($top + $y) / 2) + 4, 'codec', $codec);
	return ($svg, $y + $GROUP_GAP);
}

# A data set's panel; returns it and the y below it.
sub draw_panel
{
	my ($set, $x, $y, $scale) = @_;
	my $title = $text->{$set} > 0 ? sprintf('%s, %.2f GB of text', $set, $text->{$set} / 1e9) : "$set, 5,000 tables";
	my $svg = text_element($x + $LABEL_WIDTH, $y + 20, 'set', $title);
	my $top = $y += $TITLE_HEIGHT - 4;
	my $one = sprintf '%.1f', $x + $LABEL_WIDTH + $scale;

	foreach my $codec (@Runs::CODECS)
	{
		my $group;

		($group, $y) = draw_group($set, $codec, $x, $y, $scale);
		$svg .= $group;
	}
	# The line of pg_dump itself.
	$svg .= qq(<line x1="$one" x2="$one" y1="$top" y2="$y" class="one"/>\n);
	return ($svg, $y);
}

sub draw_legend
{
	my $svg = text_element(16, 26, 'set', 'Times faster than pg_dump -Fd (the line): same codec and level, and each by default');
	my $x = 16;

	foreach my $program (@programs)
	{
		$svg .= qq(<rect x="$x" y="40" width="12" height="12" class="$program"/>\n);
		$svg .= text_element($x + 18, 50, 'legend', $Runs::NAME{$program});
		$x += 190;
	}
	return $svg;
}

my $longest = max(map { my $set = $_; map { my $codec = $_; map { speedup($set, $codec, $_) // () } @programs }
		@Runs::CODECS } keys %$medians) // 1;
my $scale = ($PANEL_WIDTH - $LABEL_WIDTH - $VALUE_WIDTH) / max($longest, 1);
my $body = draw_legend();
my ($y, $bottom, $column) = ($TOP, $TOP, 0);

foreach my $set (grep { $medians->{$_} } @Runs::SETS)
{
	my ($panel, $below) = draw_panel($set, $column * $PANEL_WIDTH, $y, $scale);

	$body .= $panel;
	$bottom = max($bottom, $below);
	$column = 1 - $column;
	$y = $bottom if $column == 0;
}

my ($width, $height) = (2 * $PANEL_WIDTH, $bottom + 12);
print <<END;
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height">
<style>
  text { font: 12px sans-serif; fill: #1f2328 }
  .page { fill: #ffffff }
  .set { font-weight: bold; font-size: 13px }
  .codec { text-anchor: end }
  .value { font-size: 10px }
  .sql { fill: #8c959f }
  .client { fill: #0969da }
  .server { fill: #1a7f37 }
  .one { stroke: #cf222e; stroke-dasharray: 3 2 }
  \@media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .page { fill: #0d1117 }
    .sql { fill: #6e7681 }
    .client { fill: #58a6ff }
    .server { fill: #3fb950 }
    .one { stroke: #ff7b72 }
  }
</style>
<rect width="$width" height="$height" class="page"/>
$body</svg>
END
