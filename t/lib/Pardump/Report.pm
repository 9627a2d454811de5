
# The page of --report: its tables and its data, that it can do no harm, and that
# it agrees with a manifest; and what a browser makes of it.

package Pardump::Report;

use strict;
use warnings;

use Compress::Zlib qw(uncompress);
use Digest::SHA qw(sha256_base64);
use Exporter 'import';
use IPC::Run;
use JSON::PP;
use Pardump::Cluster qw(new_path);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(shown table_of data_of harmless_ok page_right_ok pages_beside browse colors_of);

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

# The rows of the HTML table with this ID, by their columns' titles.
sub table_of
{
	my ($html, $id) = @_;
	my ($table) = $html =~ m{<table id="$id">(.*?)</table>}s or return;
	my ($head, @rows) = map { [ m{<t[hd][^>]*>(.*?)</t[hd]>}g ] } $table =~ m{<tr>(.*?)</tr>}g;
	return map {
		my $row = $_;
		+{ map { $head->[$_] => shown($row->[$_]) } 0 .. $#$head };
	} @rows;
}

# The members of each row of a table in the data, in their order.
my @members = qw(name table piece blocks notes worker start end seconds pieces files
  reused rows raw stored wire reused_bytes rate);

sub bytes_of
{
	my ($value) = @_;
	utf8::encode($value);
	return $value;
}

# The data of the page's script; texts are bytes.
sub data_of
{
	my ($html) = @_;
	my ($json) = $html =~ m{<script type="application/json" id="data">(.*?)</script>}s;
	my $data = decode_json($json);
	foreach my $rows (grep { ref eq 'ARRAY' } values %$data)
	{
		foreach my $row (@$rows)
		{
			my @values = @$row;
			$row = { map { $members[$_] => bytes_of($values[$_]) } 0 .. $#members };
		}
	}
	return $data;
}

# Tags are well nested, nothing is loaded, the only script that runs is the
# template's, and a policy forbids all others.
sub harmless_ok
{
	my ($what, $html) = @_;
	my (@open, @problems);
	my %known = map { $_ => 1 } qw(html head meta title style body main header
	  section footer h1 h2 p div b code ul li table thead tbody tr th td bdi noscript);

	push @problems, 'control' if $html =~ /[^\n\t -\xff]/;
	push @problems, 'UTF-8' if !utf8::decode(my $copy = $html);
	push @problems, 'data' if $html !~ s{^<script type="application/json" id="data">([^<]*)</script>\n}{}m ||
	  $1 =~ /\xe2\x80[\xa8\xa9]/;
	push @problems, 'script' if $html !~ s{^<script>(\n.*?\n)</script>\n}{}ms;
	my $hash = sha256_base64($1) . '=';
	push @problems, "policy, whose hash should be $hash" if $html !~ m{<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\Q$hash\E'">};
	$html =~ s/\A<!DOCTYPE html>\n//;
	$html =~ s/<!--.*?-->\n//s;
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

# The page has what the manifest says, in its tables and in its data.
sub page_right_ok
{
	my ($what, $page, $manifest) = @_;
	my $html = slurp_file($page);
	my $data = data_of($html);
	harmless_ok($what, $html);

	my $tables = tables_of($manifest);
	my ($all, @shown) = table_of($html, 'tables');
	my ($total, @data) = @{ $data->{tables} };
	is_deeply({ map { $_->{Name} => "$_->{Rows} $_->{Chunks}" } @shown },
		$tables, "$what: rows and chunks of every table");
	is_deeply({ map { $_->{name} => join ' ', map { with_commas($_) } @$_{qw(rows files)} } @data },
		$tables, "$what: the same in the data");

	# every file is in the timeline, by itself or with others
	my @work = grep { $_->{Kind} =~ /^(rows|large object)$/ } @{ $manifest->{Files} };
	my $n = 0;
	$n += $_->{files} foreach @{ $data->{slowest} };
	is($n, scalar(@work), "$what: all files are in the timeline");
	is_deeply([ sort map { $_->{piece} } @{ $data->{slowest} } ], [ sort map { $_->{Path} } @work ], "$what: by their paths");
	is($data->{lanes}, $manifest->{Jobs}, "$what: a lane for every worker");

	my $rows = 0;
	$rows += $_->{Rows} // 0 foreach @work;
	is("$all->{Name} $all->{Rows}", 'All ' . with_commas($rows), "$what: all rows");
	is($total->{rows}, $rows, "$what: the same in the data");
	is($data->{allTables}, scalar(keys %$tables), "$what: how many tables");
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
