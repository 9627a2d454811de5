# Damaged rows, as a disk or memory makes them: the server's reader names the
# table and the row, and neither crashes nor writes what lies behind a value.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program value sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('damage', leave_stopped => 1);
# 18 has checksums by default, which find the damage before it can be met
$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
$node->start;
make_database($node, 'damage');
sql($node, 'damage', q{
	CREATE EXTENSION pg_pardump;
	CREATE TABLE sound AS SELECT 7 AS v;
	CREATE TABLE line_pointer AS SELECT 'marker' AS v;
	CREATE TABLE too_short AS SELECT 'marker' AS v;
	CREATE TABLE header_size AS SELECT 'marker' AS v;
	CREATE TABLE text_length AS SELECT 'marker' AS v;
	CREATE TABLE json_entry AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_count AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE json_number AS SELECT '{"marker": 1}'::jsonb AS v;
	CREATE TABLE numeric_length AS SELECT 848184818481::numeric AS v;
	CREATE TABLE inet_length AS SELECT '109.97.114.107'::inet AS v;
	CREATE TABLE cidr_length AS SELECT '109.97.114.107'::cidr AS v;
	CREATE TABLE array_size AS SELECT ARRAY[1802658157] AS v;
	CREATE TABLE array_dimensions AS SELECT ARRAY[1802658157] AS v;
	CREATE TABLE array_element AS SELECT ARRAY['x', 'marker'] AS v;
	CREATE TABLE compressed (v text COMPRESSION pglz);
	INSERT INTO compressed SELECT repeat('marker', 1000);
	CREATE TABLE pointer (v text);
	ALTER TABLE pointer ALTER v SET STORAGE EXTERNAL;
	CREATE TABLE pieces (LIKE pointer INCLUDING STORAGE);
	INSERT INTO pointer SELECT repeat('marker', 1000);
	INSERT INTO pieces TABLE pointer});

# A line pointer to a tuple (storage/itemid.h).
sub line_pointer
{
	my ($offset, $len) = @_;
	return pack('L', $offset | 1 << 15 | $len << 17);
}

# What is overwritten: where, in bytes from the marker, or in the page if there
# is none; by what; and what the reader says of it.  All are of one row, the
# first.
my $json = qr/invalid value of type jsonb/;
my $array = qr/invalid value of type array/;
my %damage = (
	line_pointer => [ undef, 24, line_pointer(8000, 500), qr/invalid line pointer in block 0/ ],
	too_short => [ undef, 24, line_pointer(8000, 10), qr/invalid line pointer in block 0/ ],
	# t_hoff stands just before the data, and a byte of length before the text
	header_size => [ 'marker', -3, "\xf8", qr/invalid length of a value/ ],
	text_length => [ 'marker', -1, "\xff", qr/invalid length of a value/ ],
	# 848184818481 is 6 bytes of 33, 109.97.114.107 is "mark"
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
	# before the first byte: the length to be, and a control byte
	compressed => [ 'marker', -5, pack('L', 7000), qr/compressed pglz data is corrupt/ ],
	# the kind of pointer: 1 is one in memory
	pointer => [ "\x01\x12", 1, "\x01", qr/invalid TOAST pointer/ ],
	# of the TOAST table, the second piece
	pieces => [ undef, 28, "\0\0\0\0", qr/unexpected chunk number 2 \(expected 1\)/ ]);

sub table_file
{
	my ($table) = @_;
	my $which = $table eq 'pieces' ? 'reltoastrelid' : 'oid';
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

foreach my $table (sort keys %damage)
{
	foreach my $format (qw(text binary))
	{
		my (undef, undef, $err) = run_program(
			'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('damage'),
			'-c', "SELECT pg_pardump_read('$table', '{v}', 0, NULL, 'none', '$format')");
		like($err, qr/ERROR:  XX001: $damage{$table}[3]/, "$table, $format: an error");
		my $row = $damage{$table}[3] =~ /line pointer/
		  ? 'reading' : 'row at ctid \(0,1\) of';
		like($err, qr/CONTEXT:  $row table "$table"/, "$table, $format: which row");
	}
}
is(value($node, 'damage', q{
		SELECT encode(pg_pardump_read('sound', '{v}', 0, NULL, 'none'), 'escape')}),
	"7\n", 'another table can be read');

unlike(slurp_file($node->logfile), qr/TRAP|PANIC|was terminated by signal/,
	'the server never went down');
$node->stop;
done_testing();
