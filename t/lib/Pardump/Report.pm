
# The page of --report: what it shows, that it can do no harm, and that it is
# right beside a manifest; and what a browser makes of it.

package Pardump::Report;

use strict;
use warnings;

use Compress::Zlib qw(uncompress);
use Exporter 'import';
use IPC::Run;
use Pardump::Cluster qw(new_path);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(shown harmless_ok page_right_ok pages_beside browse colors_of);

# What a browser shows of a piece of HTML; in bytes.
sub shown
{
	my ($html) = @_;
	$html =~ s/<[^>]*>//g;
	$html =~ s/&#(\d+);/my $c = chr $1; utf8::encode($c); $c/ge;
	return $html;
}

sub with_commas
{
	my ($number) = @_;
	1 while $number =~ s/^(\d+)(\d{3})/$1,$2/;
	return $number;
}

# Tags are well nested, nothing is loaded or run, and a policy forbids it.
sub harmless_ok
{
	my ($what, $html) = @_;
	my (@open, @problems);
	my %known = map { $_ => 1 } qw(html head meta title style body main header
	  section footer h1 h2 p div b code dl dt dd ul li svg path rect text table
	  thead tbody tr th td bdi span details summary);

	$html =~ s/\A<!DOCTYPE html>\n//;
	push @problems, 'not one document' if $html !~ m{\A<html .*</html>\n\z}s;
	while ($html =~ m{<(/?)([^\s>/]*)((?: [a-zA-Z-]+="[^"<>]*")*)(/?)>|(<.{0,40})}gs)
	{
		my ($end, $tag, $attributes, $empty, $stray) = ($1, $2, $3, $4, $5);
		if (defined $stray) { push @problems, "stray: $stray"; next; }
		push @problems, "attributes: $attributes" if $attributes =~ /\b(on\w+|style|href|src)=/;
		push @problems, "tag: $tag" if !$known{$tag};
		if ($end) { push @problems, "not open: $tag" if pop(@open) ne $tag; }
		else { push @open, $tag unless $empty || $tag eq 'meta'; }
	}
	push @problems, 'open: ' . join ' ', @open if @open;
	push @problems, 'loads: ' . $1 if $html =~ /((?:url\(|\@import|https?:).*)/;
	push @problems, 'control' if $html =~ /[^\n -\xff]/;
	push @problems, 'UTF-8' if !utf8::decode(my $copy = $html);
	push @problems, 'policy' if $html !~ /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">/;
	is_deeply(\@problems, [], "$what: nothing in it can do harm");
	return;
}

sub quoted
{
	my ($name) = @_;
	return $name if $name =~ /^[a-z_][a-z0-9_]*$/;
	return '"' . $name =~ s/"/""/gr . '"';
}

# Rows and files of every table, and of large objects, by the names that the
# page should show.
sub tables_of
{
	my ($manifest) = @_;
	my %tables;
	foreach my $file (grep { $_->{Kind} =~ /^(rows|large object)$/ } @{ $manifest->{Files} })
	{
		my $name = 'large objects';
		if ($file->{Kind} eq 'rows')
		{
			$name = join '.', map {
				my $text = $file->{$_} // pack('H*', $file->{"Encoded-$_"});
				# names in other encodings: the characters of their bytes' numbers
				utf8::encode($text);
				quoted($text) =~ s/([\x00-\x1f\x7f])/sprintf '\\x%02x', ord $1/ger;
			} qw(Schema Table);
		}
		$tables{$name}[0] += $file->{Rows} // 0;
		$tables{$name}[1]++;
	}
	return { map { $_ => join ' ', map { with_commas($_) } @{ $tables{$_} } } keys %tables };
}

# The page shows what the manifest says.
sub page_right_ok
{
	my ($what, $page, $manifest) = @_;
	my $html = slurp_file($page);
	harmless_ok($what, $html);

	my ($section) = $html =~ m{<h2>Largest tables</h2>(.*?)</section>}s;
	my %shown;
	while ($section =~ m{<tr><th scope="row">(.*?)</th>(.*?)</tr>}gs)
	{
		my ($name, $cells) = ($1, $2);
		my @cells = $cells =~ m{<td class="num">([^<]*)</td>}g;
		$cells[0] = 0 if $cells[0] eq '';
		$shown{ shown($name) } = "$cells[0] $cells[1]";
	}
	is_deeply(\%shown, tables_of($manifest), "$what: rows and files of every table");

	# every file is in a piece of the timeline, by itself or with others
	my @work = grep { $_->{Kind} =~ /^(rows|large object)$/ } @{ $manifest->{Files} };
	my ($timeline) = $html =~ m{<h2>Workers over time</h2>(.*?)</section>}s;
	my $n = 0;
	$n += defined $1 ? $1 =~ s/,//gr : 1
	  while $timeline =~ m{<title>[^<]*?(?:: ([\d,]+) files\n|\nfile )[^<]*</title>}g;
	is($n, scalar(@work), "$what: all files are in the timeline");
	my $lanes = () = $timeline =~ /class="lane"/g;
	is($lanes, $manifest->{Jobs}, "$what: a lane for every worker");

	my $n_tables = grep { $_ ne 'large objects' } keys %{ tables_of($manifest) };
	my $rows = 0;
	$rows += $_->{Rows} // 0 foreach @work;
	like($html, qr{<dt>Rows</dt><dd class="value">${\ with_commas($rows)}</dd><dd>$n_tables tables?</dd>},
		"$what: all rows and tables");
	like($html, qr{<h1>Dump of database <bdi>[^<]+</bdi></h1>}, "$what: title");
	return $html;
}

# What else is there that begins as its name does: left by who made it.
sub pages_beside
{
	my ($page) = @_;
	return grep { $_ ne $page } glob "$page*";
}

# Runs Chromium without a network; returns whether it came to an end.
sub browse
{
	my ($browser, $page, @options) = @_;
	my $home = new_path('browser');
	mkdir $home or die "could not make directory \"$home\": $!";
	local $ENV{HOME} = $home;
	my $out = '';
	IPC::Run::run([ $browser, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
			'--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND',
			"--user-data-dir=$home", @options, "file://$page" ],
		'<', \'', '>', \$out, '2>', "$home/log", IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
	  or diag(slurp_file("$home/log"));
	return $out;
}

# How often each colour is in a PNG of eight bits without interlacing, as
# Chromium writes it (RFC 2083).
sub colors_of
{
	my ($path) = @_;
	my ($data, $channels, $width, $height, %count) = ('');
	my $png = slurp_file($path);
	pos($png) = 8;
	while ($png =~ /\G(.{4})(.{4})/gcs)
	{
		my ($len, $type) = (unpack('N', $1), $2);
		my $chunk = substr($png, pos($png), $len);
		pos($png) += $len + 4;
		($width, $height, my $depth, my $kind) = unpack('N2C2', $chunk) if $type eq 'IHDR';
		$channels = $kind == 6 ? 4 : 3 if defined $kind;
		$data .= $chunk if $type eq 'IDAT';
	}
	$data = uncompress($data);
	my $row = $width * $channels;
	my @before = (0) x $row;
	foreach my $y (0 .. $height - 1)
	{
		my ($filter, @line) = unpack('C*', substr($data, $y * ($row + 1), $row + 1));
		foreach my $x ($filter ? (0 .. $row - 1) : ())
		{
			my $left = $x >= $channels ? $line[ $x - $channels ] : 0;
			my $corner = $x >= $channels ? $before[ $x - $channels ] : 0;
			my $above = $before[$x];
			my ($pl, $pa, $pc) = (abs($above - $corner), abs($left - $corner), abs($left + $above - 2 * $corner));
			$line[$x] = 255 & $line[$x] + (
				$filter == 1 ? $left : $filter == 2 ? $above : $filter == 3 ? ($left + $above) >> 1
				: $pl <= $pa && $pl <= $pc ? $left : $pa <= $pc ? $above : $corner);
		}
		$count{ sprintf '#%02x%02x%02x', @line[ $_ * $channels .. $_ * $channels + 2 ] }++
		  foreach 0 .. $width - 1;
		@before = @line;
	}
	return \%count;
}

1;
