# Blocks of raw tuples that are damaged or forged are refused with an SQLSTATE:
# nothing of them is inserted, and the server is none the worse for it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('raw_forged');

# Row 1 has a value out of line that is not compressed, row 2 one that is, row
# 3 one that is compressed in line, and row 4 NULLs.
sql($node, 'postgres', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE source (i int4, s text, n name, l int8, x text COMPRESSION pglz, CHECK (i < 1000));
ALTER TABLE source ALTER s SET STORAGE PLAIN, ALTER x SET STORAGE EXTERNAL;
INSERT INTO source VALUES (1, 'short', 'name', 2, repeat('0123456789', 500));
ALTER TABLE source ALTER x SET STORAGE EXTENDED;
INSERT INTO source SELECT 2, 'short', 'name', 2, string_agg(md5(i::text) || repeat('x', 32), '') FROM generate_series(1, 300) i;
INSERT INTO source VALUES (3, 'short', 'name', 2, repeat('0123456789', 500));
INSERT INTO source VALUES (4, NULL, 'name', NULL, 'x');
CREATE TABLE target (LIKE source INCLUDING ALL);
CREATE TABLE other_name (i int4, s text, n name, l int8, y text);
CREATE TABLE other_type (i int4, s text, n name, l int4, x text);
CREATE TABLE other_typmod (i int4, s text, n name, l int8, x varchar(9));
CREATE TABLE fewer (i int4, s text, n name, l int8);
CREATE TABLE strict (i int4, s text NOT NULL, n name, l int8, x text);
CREATE TABLE parted (i int4, s text, n name, l int8, x text) PARTITION BY LIST (i);
CREATE TABLE leaf PARTITION OF parted FOR VALUES IN (1, 2, 3);
SQL

my $session = Pardump::Wire->new($node, 'postgres');

sub read_block
{
	my ($compression) = @_;
	return pack 'H*', $session->first_value("SELECT encode(b, 'hex') FROM
		pardump.pg_pardump_read('source', '{i,s,n,l,x}', 0, NULL, '$compression', 'raw') b");
}

# What loading a block says: its SQLSTATE, or the number of rows.
sub load
{
	my ($block, $table) = @_;
	$session->message('Q', "SELECT rows FROM pardump.pg_pardump_load_tuples('"
		. ($table // 'target') . "', '\\x" . unpack('H*', $block) . "')\0");
	my $result = $session->result;
	return "closed" if $result->{closed};
	return $result->{error} ? $result->{error}{sqlstate} : $result->{rows}[0][0];
}

sub load_error
{
	my ($block, $table) = @_;
	$table //= 'target';
	my $said = load($block, $table) . ': ' . $session->first_value("SELECT count(*) FROM $table");
	$session->query("TRUNCATE $table");
	return $said;
}

my $block = read_block('none');
is(load($block), 4, 'a sound block is loaded');
is(value($node, 'postgres', 'SELECT count(*) FROM (TABLE source EXCEPT ALL TABLE target) x'), 0,
	'the target contains the rows of the source');
$session->query('TRUNCATE target');

# ----------
# The header (src/server/read/raw_block.h) and the frames
# ----------
use constant HEADER => 68;
my %FIELD = (
	magic => [ 0, 'C' ], byte_order => [ 8, 'L' ], version => [ 12, 'C' ], max_align => [ 13, 'C' ],
	datum_bytes => [ 14, 'C' ], name_bytes => [ 15, 'C' ], encoding => [ 16, 'L' ],
	n_columns => [ 20, 'L' ], compression => [ 24, 'L' ], n_rows => [ 28, 'L' ],
	frame_bytes => [ 32, 'L' ], stored_bytes => [ 36, 'L' ], columns => [ 40, 'C' ]);

# The block with a number at a place changed by a sub of it.
sub changed
{
	my ($bytes, $at, $form, $change) = @_;
	my $len = length pack $form, 0;
	my ($number) = unpack "x$at $form", $bytes;
	local $_ = $number;
	substr($bytes, $at, $len) = pack $form, $change->();
	return $bytes;
}

sub field
{
	my ($name, $change, $bytes) = @_;
	return changed($bytes // $block, @{ $FIELD{$name} }, $change);
}

# Bytes put in at a place, or taken out of it, with the lengths of the header.
sub spliced
{
	my ($at, $len, $put) = @_;
	my $bytes = $block;
	substr($bytes, $at, $len) = $put;
	my $more = length($put) - $len;
	$bytes = field('frame_bytes', sub { $_ + $more }, $bytes);
	return field('stored_bytes', sub { $_ + $more }, $bytes);
}

# Where frames and the values behind them begin.
my (@frames, @values);
my $at = HEADER;
for (1 .. 4)
{
	push @frames, $at;
	my ($word) = unpack "x$at L", $block;
	$at += 4 + ($word & 0x1fffffff);
	next unless $word & 0x20000000;
	$at = HEADER + 8 * int(($at - HEADER + 7) / 8);
	push @values, $at;
	my ($size) = unpack "x$at L", $block;
	$at += $size >> 2;
}
is($at, length $block, 'the test knows the form of a block');

# In a row without NULLs: i int4, s text with a header of 4 bytes and 5
# letters, n name, l int8, x, which is a pointer of 18 bytes, or compressed.
my %COLUMN = (i => 0, s => 4, n => 13, l => 80, x => 88);
sub column { my ($row, $name) = @_; return $frames[ $row - 1 ] + 4 + $COLUMN{$name}; }

sub word { my ($row, $change) = @_; return changed($block, $frames[ $row - 1 ], 'L', $change); }
sub at { my ($row, $name, $form, $change) = @_; return changed($block, column($row, $name), $form, $change); }

# A varlena header of a number of bytes, and of what kind.
sub size4 { my ($size) = @_; return $size << 2; }

my %forged = (
	'nothing' => [ '', '22P03' ],
	'header cut off' => [ substr($block, 0, HEADER - 1), '22P03' ],
	'header alone' => [ substr($block, 0, HEADER), '22P03' ],
	'magic' => [ field('magic', sub { $_ + 1 }), '22P03' ],
	'byte order' => [ field('byte_order', sub { 0x04030201 }), '0A000' ],
	'version' => [ field('version', sub { $_ + 1 }), '0A000' ],
	'alignment' => [ field('max_align', sub { 4 }), '0A000' ],
	'Datum' => [ field('datum_bytes', sub { 4 }), '0A000' ],
	'NAMEDATALEN' => [ field('name_bytes', sub { 128 }), '0A000' ],
	'encoding' => [ field('encoding', sub { $_ + 1 }), '0A000' ],
	'columns' => [ field('columns', sub { $_ ^ 1 }), '42804' ],
	'one column more' => [ field('n_columns', sub { $_ + 1 }), '42804' ],
	'many columns' => [ field('n_columns', sub { 0xffffffff }), '42804' ],
	'one row more' => [ field('n_rows', sub { $_ + 1 }), '22P03' ],
	'one row less' => [ field('n_rows', sub { $_ - 1 }), '22P03' ],
	'many rows' => [ field('n_rows', sub { 0xffffffff }), '22P03' ],
	'no rows' => [ field('n_rows', sub { 0 }), '22P03' ],
	'one byte of rows more' => [ field('frame_bytes', sub { $_ + 1 }), '22P03' ],
	'2 GB of rows' => [ field('frame_bytes', sub { 0x80000000 }), '22P03' ],
	'one stored byte more' => [ field('stored_bytes', sub { $_ + 1 }), '22P03' ],
	'many stored bytes' => [ field('stored_bytes', sub { 0xffffffff }), '22P03' ],
	'unknown compression' => [ field('compression', sub { 99 }), '0A000' ],
	'gzip' => [ field('compression', sub { 1 }), '0A000' ],
	'a byte behind the block' => [ "$block\0", '22P03' ],
	'a byte behind the rows' => [ spliced(length $block, 0, "\0"), '22P03' ],
	'last byte cut off' => [ spliced(length($block) - 1, 1, ''), '22P03' ],
	'row cut off' => [ spliced($frames[3] + 2, length($block) - $frames[3] - 2, ''), '22P03' ],
	'value out of line cut off' => [ spliced($values[1] + 2, length($block) - $values[1] - 2, ''), '22P03' ],
	'row one byte longer' => [ word(3, sub { $_ + 1 }), '22P03' ],
	'row one byte shorter' => [ word(3, sub { $_ - 1 }), '22P03' ],
	'row much longer' => [ word(3, sub { $_ | 0x1fffffff }), '22P03' ],
	'row of no bytes' => [ word(3, sub { $_ & 0xe0000000 }), '22P03' ],
	'last row longer than the block' => [ word(4, sub { $_ + 1 }), '22P03' ],
	'bitmap where there is none' => [ word(3, sub { $_ | 0x80000000 }), '22P03' ],
	'no bitmap where there is one' => [ word(4, sub { $_ & 0x7fffffff }), '22P03' ],
	'row shorter than its bitmap' => [ word(4, sub { ($_ & 0xe0000000) + 0 }), '22P03' ],
	'fixed width that is not' => [ word(3, sub { $_ & ~0x40000000 }), '22P03' ],
	'a value out of line that is not said' => [ word(1, sub { $_ & ~0x20000000 }), '22P03' ],
	'a value out of line that is not there' => [ word(3, sub { $_ | 0x20000000 }), '22P03' ],
	'bit of a NULL' => [ changed($block, $frames[3] + 4, 'C', sub { $_ | 2 }), '22P03' ],
	'bit of a value' => [ changed($block, $frames[3] + 4, 'C', sub { $_ & ~1 }), '22P03' ],
	'no bits at all' => [ changed($block, $frames[3] + 4, 'C', sub { 0 }), '22P03' ],
	'value eight bytes longer' => [ at(3, 's', 'L', sub { $_ + size4(8) }), '22P03' ],
	'value much longer' => [ at(3, 's', 'L', sub { size4(0x3fffffff) }), '22P03' ],
	'value shorter than its header' => [ at(3, 's', 'L', sub { size4(3) }), '22P03' ],
	'value of no bytes' => [ at(3, 's', 'L', sub { 0 }), '22P03' ],
	'a short header of too many bytes' => [ at(3, 's', 'C', sub { 0xff }), '22P03' ],
	'a short header of no bytes' => [ at(3, 's', 'C', sub { 0x03 }), '22P03' ],
	'last value one byte longer' => [ at(3, 'x', 'L', sub { $_ + size4(1) }), '22P03' ],
	'last value one byte shorter' => [ at(3, 'x', 'L', sub { $_ - size4(1) }), '22P03' ],
	'unaligned value' => [ spliced(column(3, 'x'), 0, "\1"), '22P03' ],
	'name without end' => [ spliced(column(3, 'n'), 64, 'n' x 64), '22P03' ],
	'pointer to memory' => [ at(1, 'x', 'S', sub { 0x0101 }), '22P03' ],
	'pointer to an expanded object' => [ at(1, 'x', 'S', sub { 0x0201 }), '22P03' ],
	'pointer to an expanded object to be changed' => [ at(1, 'x', 'S', sub { 0x0301 }), '22P03' ],
	'pointer of an unknown kind' => [ at(1, 'x', 'S', sub { 0x4201 }), '22P03' ],
	'pointer with a length' => [ changed($block, column(1, 'x') + 2, 'L', sub { 5004 }), '22P03' ],
	'pointer to a value of a table' => [ changed($block, column(1, 'x') + 10, 'L', sub { 16384 }), '22P03' ],
	'pointer into a table' => [ changed($block, column(1, 'x') + 14, 'L', sub { 1259 }), '22P03' ],
	'pointer in a column of fixed width' => [ at(1, 'i', 'L', sub { 0x1201 }), '23514' ],
	'value out of line one byte longer' => [ changed($block, $values[0], 'L', sub { $_ + size4(1) }), '22P03' ],
	'value out of line one byte shorter' => [ changed($block, $values[0], 'L', sub { $_ - size4(8) }), '22P03' ],
	'value out of line much longer' => [ changed($block, $values[0], 'L', sub { size4(0x3fffffff) }), '22P03' ],
	'value out of line of no bytes' => [ changed($block, $values[0], 'L', sub { 0 }), '22P03' ],
	'value out of line with a short header' => [ changed($block, $values[0], 'C', sub { 0x21 }), '22P03' ],
	'pointer out of line' => [ changed($block, $values[0], 'S', sub { 0x1201 }), '22P03' ],
	'pointer to memory out of line' => [ changed($block, $values[0], 'S', sub { 0x0101 }), '22P03' ],
	'compressed out of line, shorter than before' => [ changed($block, $values[1] + 4, 'L', sub { 100 }), '22P03' ],
	'compressed out of line, from 2 GB' => [ changed($block, $values[1] + 4, 'L', sub { 0x3fffffff }), '22P03' ],
	'compressed out of line, unknown method' => [ changed($block, $values[1] + 4, 'L', sub { $_ | 0x80000000 }), '0A000' ],
	'compressed, shorter than before' => [ changed($block, column(3, 'x') + 4, 'L', sub { 8 }), '22P03' ],
	'compressed, from 1 GB' => [ changed($block, column(3, 'x') + 4, 'L', sub { 0x3fffffff }), '22P03' ],
	'compressed, unknown method' => [ changed($block, column(3, 'x') + 4, 'L', sub { $_ | 0xc0000000 }), '0A000' ]);

foreach my $what (sort keys %forged)
{
	my ($bytes, $sqlstate) = @{ $forged{$what} };
	is(load_error($bytes), "$sqlstate: 0", $what);
}

# ----------
# Compressed ones
# ----------
foreach my $compression (qw(lz4 zstd))
{
	my $bytes = read_block($compression);
	my $data = substr $bytes, HEADER;
	my $fit = sub { my ($d) = @_; return field('stored_bytes', sub { length $d }, substr($bytes, 0, HEADER) . $d) };
	my $flip = sub { my ($i) = @_; my $d = $data; substr($d, $i, 1) ^= "\x55"; return $fit->($d) };
	my %damaged = (
		'garbage' => $fit->('garbage' x 100),
		'no data' => $fit->(''),
		'cut off' => $fit->(substr $data, 0, -1),
		'half of it' => $fit->(substr $data, 0, length($data) / 2),
		'a byte behind it' => $fit->("$data\0"),
		'twice' => $fit->("$data$data"),
		'another magic number' => $flip->(0),
		'one byte more than said' => field('frame_bytes', sub { $_ - 1 }, $bytes),
		'one byte less than said' => field('frame_bytes', sub { $_ + 1 }, $bytes),
		'much more than said' => field('frame_bytes', sub { 64 }, field('n_rows', sub { 1 }, $bytes)),
		'much less than said' => field('frame_bytes', sub { 0x3ffffb00 }, $bytes));
	foreach my $what (sort keys %damaged)
	{
		is(load_error($damaged{$what}), 'XX001: 0', "$compression: $what");
	}
	is(load_error(field('compression', sub { $_ ^ 1 }, $bytes)), 'XX001: 0', "$compression: called the other one");
	is(load($bytes), 4, "$compression: as it was");
	$session->query('TRUNCATE target');
}

# ----------
# The right block in the wrong place
# ----------
is(load_error($block, 'other_name'), '42804: 0', 'column of another name');
is(load_error($block, 'other_type'), '42804: 0', 'column of another type');
is(load_error($block, 'other_typmod'), '42804: 0', 'column of another type and modifier');
is(load_error($block, 'fewer'), '42804: 0', 'fewer columns');
is(load_error($block, 'strict'), '23502: 0', 'NULL in a column that is not null');
is(load_error($block, 'leaf'), '23514: 0', 'row that is not of the partition');
is(load(at(1, 'i', 'L', sub { 1000 })), '23514', 'row that violates a constraint');

# ----------
# Random damage: the rows of a block may come out different, or it is an error.
# Within these types there is nothing that could lead further.
# ----------
sql($node, 'postgres', <<'SQL');
CREATE FUNCTION load_damaged(block bytea, rounds int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	damaged bytea;
	errors int := 0;
	loaded int := 0;
	place int;
	bytes bigint;
	len int := length(block);
BEGIN
	PERFORM setseed(0.5);
	FOR round IN 1 .. rounds LOOP
		damaged := block;
		FOR i IN 0 .. (random() * random() * 8)::int LOOP
			-- mostly where a row begins or what is out of line
			place := CASE WHEN random() < 0.05 THEN 28 + (random() * 15)::int
				WHEN random() < 0.5 THEN 44 + (random() * 120)::int ELSE (random() * (len - 1))::int END;
			damaged := set_byte(damaged, place, CASE WHEN random() < 0.5
				THEN get_byte(damaged, place) # (1 << (random() * 7)::int) ELSE (random() * 255)::int END);
		END LOOP;
		IF random() < 0.1 THEN
			damaged := substr(damaged, 1, (random() * len)::int);
		END IF;
		BEGIN
			PERFORM pardump.pg_pardump_load_tuples('target', damaged);
			SELECT sum(octet_length(s) + octet_length(x) + octet_length(md5(x)) + octet_length(n::text)) FROM target INTO bytes;
			loaded := loaded + 1;
			DELETE FROM target;
		EXCEPTION WHEN OTHERS THEN
			errors := errors + 1;
		END;
	END LOOP;
	RETURN format('%s %s', loaded > 0, errors > 0) || CASE WHEN errors + loaded = rounds THEN ' all' END;
END $$;
SQL
foreach my $compression (qw(none lz4 zstd))
{
	my $bytes = unpack 'H*', read_block($compression);
	my $rounds = $ENV{PG_PARDUMP_RAW_ROUNDS} // 700;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT load_damaged('\\x$bytes', $rounds)");
	is($out, 't t all', "$rounds random damages, $compression") or diag($err);
}

$session->close;
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|TRAP/, 'the log contains no PANIC, failed assertion or death by a signal');

done_testing();
