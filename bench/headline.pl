#!/usr/bin/perl
#
# headline.pl: draw the picture of the README, as SVG: how many times as fast
# as the stock programs dumps, restores and copies of the four data sets are.
#
# usage: headline.pl RESULTS.md >SVG
#
# All figures are read from RESULTS.md.  It is narrow, so that it can be read on
# a phone; colours come from CSS, for a light and a dark page.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max);

my @SETS = qw(pgbench logs mixed docs);

# In pixels.
my $WIDTH = 480;
my $LABEL_WIDTH = 66;
my $VALUE_WIDTH = 44;
my $BAR = 15;
my $HEADING = 40;
my $MARGIN = 12;

my $text = do { local $/; open my $file, '<', $ARGV[0] or die "could not open \"$ARGV[0]\": $!\n"; <$file> };

# What a figure is without the brackets that some have behind it.
sub numbers_of
{
	my ($what, @cells) = @_;
	my @numbers = map { /^ *([\d.]+)\b/ ? $1 : die "$what: \"$_\" is not a number\n" } @cells;

	die "$what: there are not four figures\n" if @numbers != @SETS;
	return @numbers;
}

# The first row that begins with $row, behind the text $after.
sub row_of
{
	my ($after, $row) = @_;
	my $start = index $text, $after;

	die "RESULTS.md has no \"$after\"\n" if $start < 0;
	my ($cells) = substr($text, $start) =~ /^\| \Q$row\E \|(.*)\|$/m or die "RESULTS.md has no row \"$row\"\n";
	my @cells = split /\|/, $cells;
	return numbers_of($row, @cells[ 0 .. $#SETS ]);
}

# "faster" of the program in the tables of all figures, a set each.
sub dumps_of
{
	my ($codec) = @_;

	return numbers_of(
		$codec,
		map {
			my ($table) = $text =~ /^$_, \d+ MB of text\n(.*?)\n\n/ms or die "RESULTS.md has no figures of $_\n";
			$table =~ /^\Q$codec\E +pg_pardump +[\d.]+ +([\d.]+)x/m or die "RESULTS.md has no $codec of $_\n";
			$1;
		} @SETS);
}

my @groups = (
	[ 'Dump', 'pg_pardump beside pg_dump, each by default', dumps_of('default') ],
	[ 'Dump, the same compression', 'zstd, level 1', dumps_of('zstd:1') ],
	[ 'Restore', 'pg_parrestore beside pg_restore, with a primary key; docs: TOAST by lz4', row_of('**pg_parrestore.**', "primary key: pg_pardump's archive") ],
	[ 'Copy to another server', 'pg_pardump --target beside pg_dump | psql, without indexes', row_of('`pg_pardump --target -j2`', 'since') ]);

my $scale = ($WIDTH - $LABEL_WIDTH - $VALUE_WIDTH - $MARGIN) / max(map { @$_[ 2 .. $#$_ ] } @groups);
my $one = sprintf '%.1f', $LABEL_WIDTH + $scale;
my ($body, $y) = ('', $MARGIN + 18);

sub add_text
{
	my ($x, $y, $class, $content) = @_;

	$body .= qq(<text x="$x" y="$y" class="$class">$content</text>\n);
	return;
}

add_text($MARGIN, $y, 'title', 'Times as fast as the stock program, 2 jobs on 2 cores');
foreach my $group (@groups)
{
	my ($title, $subtitle, @values) = @$group;

	add_text($MARGIN, $y + 26, 'group', $title);
	add_text($MARGIN, $y + 42, 'note', $subtitle);
	$y += $HEADING + 9;
	foreach my $i (0 .. $#SETS)
	{
		my $width = sprintf '%.1f', $values[$i] * $scale;

		add_text($LABEL_WIDTH - 6, $y + $BAR - 4, 'set', $SETS[$i]);
		$body .= sprintf qq(<rect x="%d" y="%d" width="%s" height="%d" rx="1.5" class="bar"/>\n), $LABEL_WIDTH, $y, $width, $BAR - 3;
		add_text(sprintf('%.0f', $LABEL_WIDTH + $width + 5), $y + $BAR - 4, 'value', sprintf('%.1f', $values[$i]));
		$y += $BAR;
	}
	# the stock program itself
	$body .= sprintf qq(<line x1="%s" x2="%s" y1="%d" y2="%d" class="%s"/>\n), $one, $one, $y - $BAR * @SETS - 2, $y, $_
	  foreach 'edge', 'one';
}
add_text($MARGIN, $y + 22, 'note', 'Line: the stock program. PostgreSQL 17, with the extension; one table of');
add_text($MARGIN, $y + 37, 'note', '1 GB: integers; log lines; many types, jsonb too; documents in TOAST.');
my $height = $y + 48;

print <<END;
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $WIDTH $height" width="$WIDTH" height="$height" role="img" aria-label="How many times as fast as the stock programs pg_pardump is">
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .page { fill: #ffffff }
  .title { font-weight: 600; font-size: 14.5px }
  .group { font-weight: 600; font-size: 13px }
  .note { fill: #59636e }
  .set { text-anchor: end }
  .bar { fill: #0969da }
  .edge { stroke: #ffffff; stroke-width: 4 }
  .one { stroke: #cf222e; stroke-width: 2 }
  \@media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .page { fill: #0d1117 }
    .note { fill: #9198a1 }
    .bar { fill: #58a6ff }
    .edge { stroke: #0d1117 }
    .one { stroke: #ff7b72 }
  }
</style>
<rect width="$WIDTH" height="$height" rx="6" class="page"/>
$body</svg>
END
