# Tables of many types, and random damage to their pages.

package Pardump::DamagedPages;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(damage_types_sql leave_out_cstrings damaged_table_sql damage_file);

# Column types by name: the type, a value of row g, and whether values are
# written by the server's own function, which believes what is in them.
my %own = (
	i2 => [ 'smallint', 'g' ],
	i4 => [ 'int', 'g * 7919' ],
	i8 => [ 'bigint', 'g * 100000000007' ],
	bo => [ 'bool', 'g % 2 = 0' ],
	ch => [ '"char"', q{'x'} ],
	f4 => [ 'real', 'g / 7.0' ],
	f8 => [ 'double precision', 'g / 7.0' ],
	nu => [ 'numeric', 'g * 123456.789' ],
	nl => [ 'numeric', '(10::numeric ^ (g * 20)) + 1 / 3::numeric' ],
	tx => [ 'text', q{repeat('text ', g)} ],
	tl => [ 'text', 'repeat(md5(g::text), 8)' ],
	bp => [ 'char(10)', q{'bp' || g} ],
	vc => [ 'varchar(50)', q{E'\\\\ \t' || g} ],
	na => [ 'name', q{'name' || g} ],
	js => [ 'json', q{'{"a":1}'} ],
	jb => [ 'jsonb', q[jsonb_build_object('key', g, 'array', '[1, 2.5, null, true, {"b": "c"}]'::jsonb)] ],
	jn => [ 'jsonb', q{'[[[[1, [[["deep"]]]]], {}, []], {"a": {"b": {"c": -12345.678}}}]'} ],
	ja => [ 'jsonb[]', q{ARRAY['{"a": "b"}', NULL, '[1]']::jsonb[]} ],
	ia => [ 'int[]', 'ARRAY[g, NULL, 3]' ],
	im => [ 'int[]', q{'[0:1][2:4]={{1,2,3},{4,5,6}}'} ],
	ta => [ 'text[]', q{ARRAY['a', 'b"', repeat('c', g * 20), NULL]} ],
	nr => [ 'numeric[]', 'ARRAY[g, 1.5, g * 1000000]' ],
	ze => [ 'timestamptz[]', q{ARRAY['2026-11-22 10:00+00', 'epoch', NULL]} ],
	nn => [ 'name[]', q{ARRAY['one', 'two']::name[]} ],
	ip => [ 'inet', q{'192.168.0.0/16'::inet + g} ],
	i6 => [ 'inet', q{'2001:db8::/64'::inet + g} ],
	ci => [ 'cidr', q{'10.0.0.0/8'} ],
	ma => [ 'macaddr', q{'08:00:2b:01:02:03'} ],
	m8 => [ 'macaddr8', q{'08:00:2b:01:02:03:04:05'} ],
	uu => [ 'uuid', 'md5(g::text)::uuid' ],
	da => [ 'date', q{'2026-01-01'::date + g} ],
	ti => [ 'time', q{'12:34:56.789'} ],
	tt => [ 'timetz', q{'12:34:56.789+05:30'} ],
	ts => [ 'timestamp', q{'2026-01-01'::timestamp + g * interval '1 hour'} ],
	tz => [ 'timestamptz', q{'2026-01-01'::timestamptz + g * interval '1 hour'} ],
	iv => [ 'interval', q{g * interval '1 mon -2 days 03:04:05.6'} ],
	by => [ 'bytea', 'decode(md5(g::text), \'hex\')' ],
	en => [ 'fuzz.enum', q{CASE WHEN g % 2 = 0 THEN 'one' ELSE 'two' END::fuzz.enum} ],
	cs => [ 'fuzz.cs', q{'ends with a zero'} ],
	sa => [ 'fuzz.cs[]', q{ARRAY['one', 'two']::fuzz.cs[]} ],
	dt => [ 'fuzz.dom', q{'domain' || g} ],
	di => [ 'fuzz.dom_array', 'ARRAY[g, g]' ],
	dd => [ 'fuzz.dom_array[]', 'ARRAY[ARRAY[g, g]::fuzz.dom_array, ARRAY[1]::fuzz.dom_array]' ],
	co => [ 'text', q{repeat('compressed', 400)} ],
	lz => [ 'text COMPRESSION lz4', q{repeat('compressed by lz4', 300)} ],
	ou => [ 'text', q{(SELECT string_agg(md5((g * i)::text), '') FROM generate_series(1, 250) i)} ],
	oc => [ 'jsonb', q{(SELECT jsonb_agg(md5((g * i)::text)) FROM generate_series(1, 150) i)} ]);

my %cores = (
	bi => [ 'bit(12)', q{B'101010101010'} ],
	vb => [ 'varbit', q{repeat('01', g)::varbit} ],
	ra => [ 'int4range', 'int4range(g, g + 10)' ],
	rn => [ 'numrange', 'numrange(g, NULL)' ],
	mr => [ 'int4multirange', 'int4multirange(int4range(g, g + 2), int4range(g + 4, g + 5))' ],
	rr => [ 'int4range[]', q{ARRAY[int4range(1, g + 1), 'empty']} ],
	cm => [ 'fuzz.composite', q{ROW(g, 'text', ARRAY['x', 'y'], 1.5)} ],
	ca => [ 'fuzz.composite[]', q{ARRAY[ROW(g, 'text', ARRAY['x'], NULL)]::fuzz.composite[]} ],
	tv => [ 'tsvector', q{to_tsvector('simple', 'a few words in a text')} ],
	pa => [ 'path', q{'((1,2),(3,4),(5,6))'} ],
	po => [ 'polygon', q{'((1,2),(3,4),(5,6))'} ],
	jp => [ 'jsonpath', q{'$.a[*] ? (@ > 1)'} ],
	ov => [ 'oidvector', q{'1 2 3'} ]);

sub damage_types_sql
{
	return <<'SQL';
CREATE SCHEMA fuzz;
CREATE TYPE fuzz.enum AS ENUM ('one', 'two');
CREATE DOMAIN fuzz.dom AS text;
CREATE DOMAIN fuzz.dom_array AS int[];
CREATE TYPE fuzz.cs;
CREATE FUNCTION fuzz.cs_in(cstring) RETURNS fuzz.cs LANGUAGE internal IMMUTABLE STRICT AS 'unknownin';
CREATE FUNCTION fuzz.cs_out(fuzz.cs) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'unknownout';
CREATE FUNCTION fuzz.cs_send(fuzz.cs) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'unknownsend';
CREATE TYPE fuzz.cs (INPUT = fuzz.cs_in, OUTPUT = fuzz.cs_out, SEND = fuzz.cs_send, INTERNALLENGTH = -2, ALIGNMENT = char);
CREATE TYPE fuzz.composite AS (a int, b text, c text[], d numeric);
SQL
}

sub some_of
{
	my ($n, @from) = @_;
	my @some;
	push @some, splice @from, int(rand(@from)), 1 for 1 .. $n;
	return @some;
}

# No columns of a type as long as its cstring.
sub leave_out_cstrings
{
	delete $own{cs};
	return;
}

# The statements that make a table of random columns and 10 rows, two columns
# of it dropped and two added when it had 6; and the names of the columns that
# are left, each as [name, whether the server's own function writes it].
sub damaged_table_sql
{
	my ($table) = @_;
	my @names = some_of(6 + int(rand(16)), sort(keys %own, keys %cores));
	my %kind = (%own, %cores);
	my (@definitions, @values);
	foreach my $name (@names)
	{
		my ($type, $value) = @{ $kind{$name} };
		my $null = int(rand(7));
		push @definitions, "$name $type";
		push @values, "CASE WHEN (g + $null) % 7 > 0 THEN ($value)::" . ($type =~ s/ COMPRESSION.*//r) . ' END';
	}
	my @dropped = some_of(2, @names);
	my $insert = "INSERT INTO $table SELECT " . join(', ', @values) . ' FROM generate_series';
	my $sql = "CREATE TABLE $table (" . join(', ', @definitions) . ");\n";
	$sql .= "ALTER TABLE $table ALTER ou SET STORAGE EXTERNAL;\n"
	  if grep { $_ eq 'ou' } @names;
	my @left = grep { my $name = $_; !grep { $_ eq $name } @dropped } @names;
	my %value;
	@value{@names} = @values;
	$sql .= "$insert(1, 6) g;\n";
	$sql .= "ALTER TABLE $table DROP $_;\n" foreach @dropped;
	$sql .= "ALTER TABLE $table ADD added text DEFAULT 'added later', ADD more int[] DEFAULT '{7,8}';\n";
	$sql .= "INSERT INTO $table (" . join(', ', @left) . ') SELECT '
	  . join(', ', @value{@left}) . " FROM generate_series(7, 10) g;\n";
	$sql .= "UPDATE $table SET added = 'updated' WHERE ctid < '(0,4)';\nVACUUM $table;\n" if rand() < 0.1;
	$sql .= "VACUUM FREEZE $table;\n" if rand() < 0.2;
	return ($sql, [ (map { [ $_, exists $cores{$_} ] } @left), [ 'added', 0 ], [ 'more', 0 ] ]);
}

# Where a page has a byte worth changing: anywhere between its line pointers
# and its end, or near the begin of a tuple, or in a line pointer.
sub place_in_page
{
	my ($page) = @_;
	my ($lower, $upper) = unpack('@12 SS', $page);
	my $items = ($lower - 24) / 4;
	my $kind = rand();
	return 24 + int(rand($lower - 24)) if $kind < 0.05;
	return $upper + int(rand(8192 - $upper)) if $kind < 0.5;
	my $item = unpack('L', substr($page, 24 + 4 * int(rand($items)), 4));
	my ($offset, $len) = ($item & 0x7fff, $item >> 17);
	return $upper + int(rand(8192 - $upper)) if $len == 0;
	my $place = $offset + int(rand($kind < 0.65 ? 24 : $len));
	return $place < 8192 ? $place : 8191;
}

# Bytes that mean something to a header, or any, or one bit.
sub other_byte
{
	my ($byte) = @_;
	my @telling = (0, 1, 2, 3, 0x12, 0x40, 0x7f, 0x80, 0xfc, 0xff);
	my $kind = rand();
	return $telling[ rand @telling ] if $kind < 0.4;
	return $kind < 0.7 ? int(rand(256)) : $byte ^ 1 << int(rand(8));
}

# Change 1 to 6 bytes of some of a table file's pages, of one at least.
# Returns how many pages and bytes were changed.
sub damage_file
{
	my ($file) = @_;
	open my $fh, '+<:raw', $file or die "$file: $!";
	my $n_blocks = (-s $file) / 8192;
	my @blocks = grep { rand() < 0.7 } 0 .. $n_blocks - 1;
	@blocks = (int(rand($n_blocks))) if !@blocks && $n_blocks;
	my $bytes = 0;
	foreach my $block (@blocks)
	{
		seek $fh, $block * 8192, 0;
		read($fh, my $page, 8192) == 8192 or die "$file: $!";
		next if unpack('@12 S', $page) <= 24;
		foreach (0 .. int(rand(6)))
		{
			# its header may be damaged by now
			my $place = place_in_page($page) % 8192;
			substr($page, $place, 1) = chr(other_byte(ord(substr($page, $place, 1))));
			$bytes++;
		}
		seek $fh, $block * 8192, 0;
		print $fh $page;
	}
	close $fh or die "$file: $!";
	return (scalar @blocks, $bytes);
}

1;
