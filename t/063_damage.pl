# Damaged rows, as a disk or memory makes them: the server's reader names the
# table and the row, and neither crashes nor writes what lies behind a value;
# its planner leaves them to the reader.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('damage', leave_stopped => 1);
# 18 has checksums by default, which find the damage before it can be met
$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
$node->start;
make_database($node, 'damage');
sql($node, 'damage', q{
	CREATE EXTENSION pg_pardump;
	-- a type whose values end with a zero
	CREATE TYPE cs;
	CREATE FUNCTION cs_in(cstring) RETURNS cs LANGUAGE internal IMMUTABLE STRICT AS 'unknownin';
	CREATE FUNCTION cs_out(cs) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'unknownout';
	CREATE FUNCTION cs_send(cs) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'unknownsend';
	CREATE TYPE cs (INPUT = cs_in, OUTPUT = cs_out, SEND = cs_send, INTERNALLENGTH = -2, ALIGNMENT = char);
	CREATE TABLE sound AS SELECT 7 AS v;
	CREATE TABLE no_zero AS SELECT cs 'marker' AS v;
	CREATE TABLE item_alignment AS SELECT 'marker' AS v;
	CREATE TABLE many_items AS SELECT 'marker' AS v;
	CREATE TABLE null_bitmap AS SELECT NULL::text AS v, 'marker' AS w;
	CREATE TABLE first_length AS SELECT 'marker' || repeat('m', 200) AS v, 'b' AS w;
	CREATE TABLE zero_length AS SELECT 'marker' || repeat('m', 200) AS v, 'b' AS w;
	CREATE TABLE behind AS SELECT 'marker'::text AS w, 'b'::name AS v;
	CREATE TABLE unaligned AS SELECT 'marker' AS w, 'c' AS v;
	CREATE TABLE in_memory AS SELECT 'marker' AS v;
	CREATE TABLE expanded AS SELECT 'marker' AS v;
	CREATE TABLE transaction AS SELECT 'marker' AS v;
	CREATE TABLE line_pointer AS SELECT 'marker' AS v;
	CREATE TABLE too_short AS SELECT 'marker' AS v;
	CREATE TABLE header_size AS SELECT 'marker' AS v;
	CREATE TABLE text_length AS SELECT 'marker' AS v;
	CREATE TABLE json_entry AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_count AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_number AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_number_length AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_kind AS SELECT '["marker"]'::jsonb AS v;
	CREATE TABLE json_zero AS SELECT '["marker"]'::jsonb AS v;
	CREATE TABLE json_key AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_scalar AS SELECT '[["marker"]]'::jsonb AS v;
	CREATE TABLE json_root AS SELECT '["marker"]'::jsonb AS v;
	CREATE TABLE json_bomb AS SELECT jsonb_build_array('marker' || repeat('x', 1000)) AS v;
	CREATE TABLE numeric_group AS SELECT 848184818481::numeric AS v;
	CREATE TABLE numeric_length AS SELECT 848184818481::numeric AS v;
	CREATE TABLE inet_length AS SELECT '109.97.114.107'::inet AS v;
	CREATE TABLE cidr_length AS SELECT '109.97.114.107'::cidr AS v;
	CREATE TABLE array_size AS SELECT ARRAY[1802658157] AS v;
	CREATE TABLE array_dimensions AS SELECT ARRAY[1802658157] AS v;
	CREATE TABLE array_element AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE array_zero AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE array_in_memory AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE array_expanded AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE array_type AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE compressed (v text COMPRESSION pglz);
	INSERT INTO compressed SELECT repeat('marker', 1000);
	CREATE TABLE pointer (v text);
	ALTER TABLE pointer ALTER v SET STORAGE EXTERNAL;
	CREATE TABLE pieces (LIKE pointer INCLUDING STORAGE);
	CREATE TABLE piece_header (LIKE pointer INCLUDING STORAGE);
	CREATE TABLE pointer_expanded (LIKE pointer INCLUDING STORAGE);
	CREATE TABLE pointer_table (LIKE pointer INCLUDING STORAGE);
	INSERT INTO pointer SELECT repeat('marker', 1000);
	INSERT INTO pieces TABLE pointer;
	INSERT INTO piece_header TABLE pointer;
	INSERT INTO pointer_expanded TABLE pointer;
	INSERT INTO pointer_table TABLE pointer});

# A line pointer to a tuple (storage/itemid.h).
sub line_pointer
{
	my ($offset, $len) = @_;
	return pack('L', $offset | 1 << 15 | $len << 17);
}

# What is overwritten: where, in bytes from the marker, or in the page if there
# is none; by what; what the reader says of it, and its SQLSTATE if that is not
# XX001.  All are of one row, the first.
my $length = qr/invalid length of a value/;
my $json = qr/invalid value of type jsonb/;
my $array = qr/invalid value of type array/;
my %damage = (
	line_pointer => [ undef, 24, line_pointer(8000, 500), qr/invalid line pointer in block 0/ ],
	too_short => [ undef, 24, line_pointer(8000, 10), qr/invalid line pointer in block 0/ ],
	item_alignment => [ undef, 24, line_pointer(8001, 31), qr/invalid line pointer in block 0/ ],
	# pd_lower, up to where pd_upper is: too many line pointers
	many_items => [ undef, 12, pack('S', 8000), qr/invalid line pointer in block 0/ ],
	# t_hoff stands just before the data, and a byte of length before the text
	header_size => [ 'marker', -3, "\xf8", $length ],
	text_length => [ 'marker', -1, "\xff", $length ],
	# the number of attributes, 11 bits in front of t_infomask and t_hoff
	null_bitmap => [ 'marker', -7, pack('S', 0x7ff), $length ],
	# the header of four bytes of the first of two values
	first_length => [ 'marker', -4, "\xfc\xff\xff\xff", $length ],
	zero_length => [ 'marker', -4, pack('L', 2 << 2), $length ],
	# the tuple ends within the name
	behind => [ undef, 24, line_pointer(8096, 90), $length ],
	# a long header where only a short one can begin
	unaligned => [ 'marker', -1, "\x05m\xfc", $length ],
	no_zero => [ 'marker', 6, 'x', $length ],
	in_memory => [ 'marker', -1, "\x01\x01", $length ],
	expanded => [ 'marker', -1, "\x01\x02", $length ],
	# xmin, with which the header of 24 bytes begins
	transaction => [ 'marker', -25, pack('L', 0xf0000000),
		qr/could not (access status of transaction|open file "pg_xact\/)/, '58P01' ],
	# 848184818481 is 6 bytes of 33, 109.97.114.107 is "mark"
	json_number_length => [ 'marker', 8, pack('L', 3 << 2), $json ],
	json_zero => [ 'marker', 2, "\0", $json ],
	json_key => [ 'marker', -8, pack('L', 0x40000000), $json ],
	json_scalar => [ 'marker', -8, pack('L', 0x50000001), $json ],
	# the first entry, before the string, and before it the number of entries
	json_kind => [ 'marker', -4, pack('L', 0x60000000 | 6), $json ],
	json_root => [ 'marker', -8, pack('L', 0x80000001), $json ],
	# 60 arrays in each other, of two entries without length that share the next
	json_bomb => [ 'marker', -8, pack('L*', (0x40000002, (0x50000000) x 2) x 60, 0x40000000),
		qr/a value is too long for COPY/, '54000' ],
	numeric_group => [ '!!!!!!', 0, pack('S', 10000), qr/invalid value of type numeric/ ],
	numeric_length => [ '!!!!!!', -3, "\x03", qr/invalid value of type numeric/ ],
	inet_length => [ 'mark', -3, "\x03", qr/invalid value of type inet/ ],
	cidr_length => [ 'mark', -3, "\x07", qr/invalid value of type cidr/ ],
	# before the key: the number of pairs, the entries of key and value
	json_count => [ 'marker', -12, pack('L', 0x20000000 | 0x0fffffff), $json ],
	json_entry => [ 'marker', -8, pack('L', 0x0fffffff), $json ],
	json_number => [ 'marker', 6, "\0\0" . pack('L', 1000 << 2), $json ],
	# 1802658157 is "mark": before it ndim, dataoffset, elemtype, dims, lower bounds
	array_size => [ 'mark', -8, pack('l', 1000), $array ],
	array_dimensions => [ 'mark', -20, pack('l', 7), $array ],
	array_element => [ 'marker', -4, pack('L', 1000 << 2), $array ],
	array_zero => [ 'marker', -4, pack('L', 3 << 2), $array ],
	array_in_memory => [ 'marker', -4, "\x01\x01", $array ],
	array_expanded => [ 'marker', -4, "\x01\x02", $array ],
	# elemtype: a name would be longer
	array_type => [ 'marker', -24, pack('L', 19), $array ],
	# before the first byte: the length to be, and a control byte
	compressed => [ 'marker', -5, pack('L', 7000), qr/compressed pglz data is corrupt/ ],
	# the kind of pointer: 1 is one in memory; last in it is the TOAST table
	pointer => [ "\x01\x12", 1, "\x01", $length ],
	pointer_expanded => [ "\x01\x12", 1, "\x02", $length ],
	pointer_table => [ "\x01\x12", 14, pack('L', 1259), qr/invalid TOAST pointer/ ],
	# the first piece is last on the page: a header, two columns, 2000 bytes
	piece_header => [ undef, 8192 - 2000, "\xfc\xff\xff\xff", qr/invalid chunk of toast value/ ],
	# of the TOAST table, the second piece
	pieces => [ undef, 28, "\0\0\0\0", qr/unexpected chunk number 2 \(expected 1\)/ ]);

sub table_file
{
	my ($table) = @_;
	my $which = $table =~ /^piece/ ? 'reltoastrelid' : 'oid';
	return $node->data_dir . '/'
	  . value($node, 'damage', qq{SELECT pg_relation_filepath($which)
		FROM pg_class WHERE oid = '$table'::regclass});
}

my %file = map { ($_ => table_file($_)) } keys %damage;
$node->stop;
foreach my $table (sort keys %damage)
{
	my ($marker, $offset, $bytes) = @{ $damage{$table} };
	open my $fh, '+<:raw', $file{$table} or die "$file{$table}: $!";
	read($fh, my $page, 8192) == 8192 or die "$table: no page";
	if (defined $marker)
	{
		my $at = index($page, $marker);
		die "$table: no marker" if $at < 0;
		$offset += $at;
	}
	seek $fh, $offset, 0;
	print $fh $bytes;
	close $fh or die "$table: $!";
}
$node->start;

sub run_verbose
{
	my ($query) = @_;
	my (undef, $out, $err) = run_program('psql', '-XqAt', '-v', 'VERBOSITY=verbose',
		'-d', $node->connstr('damage'), '-c', $query);
	return ($out, $err);
}

foreach my $table (sort keys %damage)
{
	my (undef, undef, undef, $message, $sqlstate) = @{ $damage{$table} };
	$sqlstate //= 'XX001';
	my $error = qr/ERROR:  $sqlstate: $message/;
	my $context = $table eq 'many_items'
	  ? qr/CONTEXT:  reading table "$table"/
	  : qr/CONTEXT:  row at ctid \(0,1\) of table "$table"/;

	foreach my $format (qw(text binary))
	{
		my (undef, $err) = run_verbose(
			"SELECT pardump.pg_pardump_read('$table', '{v}', 0, NULL, 'none', '$format')");
		like($err, $error, "$table, $format: an error");
		like($err, $context, "$table, $format: context with the row");
		like($err, qr/of table "$table", column "v"/, "$table, $format: which column")
		  if $message =~ /invalid value/;
	}

	my ($chunks, $err) = run_verbose("SELECT count(*) FROM pardump.pg_pardump_chunks('$table', 1)");
	if ($table eq 'transaction')
	{
		like($err, qr/$error(?s:.*)$context/, "$table: no plan, and which row");
	}
	else
	{
		is($chunks, "1\n", "$table: a plan");
	}
}

# A value without a chunk: the index of its TOAST table may be the cause.
my $toast = value($node, 'damage', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'pieces'::regclass");
foreach my $how ([], ['--no-extension'])
{
	my (undef, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', new_path('damaged'), '-d', $node->connstr('damage'),
		'-t', 'pieces', @$how);
	like($err, qr/unexpected chunk number 2 .*\n(?:.*\n)*.*detail: .* REINDEX CONCURRENTLY .* 15\.20,.*\n.*hint: Run REINDEX TABLE \Q$toast\E, and .*\n/, "a missing chunk: a hint at the index @$how");
}
sql($node, 'damage', <<'SQL');
CREATE FUNCTION forged(int) RETURNS bool LANGUAGE plpgsql AS $$BEGIN
	RAISE 'missing chunk number 0 for toast value 1 in pg_toast_1; DROP TABLE sound' USING ERRCODE = 'XX001'; END$$;
SQL
{
	my (undef, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', new_path('damaged'), '-d', $node->connstr('damage'),
		'-t', 'sound', '--where=public.sound:public.forged(v)');
	like($err, qr/DROP TABLE/, 'a forged message: an error');
	unlike($err, qr/REINDEX/, 'a forged message: no hint');
}
is(value($node, 'damage', q{
		SELECT encode(pardump.pg_pardump_read('sound', '{v}', 0, NULL, 'none'), 'escape')}),
	"7\n", 'another table can be read');

unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated by signal/,
	'the server never went down');
$node->stop;
done_testing();
