# A dump leaves the server's cache as it is: the pages of a table in use stay
# in shared buffers while tables larger than these are dumped, their rows or
# their long values.  Reading by SQL drives them out, which shows that the test
# can fail.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program new_path value sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('cache', leave_stopped => 1);
$node->append_conf('postgresql.conf', 'shared_buffers = 32MB');
$node->start;
sql($node, 'postgres', 'CREATE DATABASE cache');

# hot fills half of the cache; the others are larger than all of it
sql($node, 'cache', q{
	CREATE EXTENSION pg_pardump;
	CREATE EXTENSION pg_buffercache;
	CREATE TABLE hot (id int PRIMARY KEY, v text);
	INSERT INTO hot SELECT i, repeat('h', 1900) FROM generate_series(1, 8000) i;
	CREATE TABLE cold AS SELECT i, repeat('c', 900) AS v FROM generate_series(1, 48000) i;
	CREATE TABLE documents (id int, v text);
	ALTER TABLE documents ALTER v SET STORAGE EXTERNAL;
	INSERT INTO documents SELECT i, repeat('d', 100000) FROM generate_series(1, 450) i;
	VACUUM ANALYZE;
	CHECKPOINT});
my $blocks = value($node, 'cache',
	q{SELECT pg_relation_size('hot') / current_setting('block_size')::int});
foreach my $table (qw(cold documents))
{
	cmp_ok(value($node, 'cache', qq{
			SELECT pg_table_size('$table') > 1.2 * pg_size_bytes(current_setting('shared_buffers'))}),
		'eq', 't', "$table is larger than the cache");
}

# How many of a table's pages are cached.
sub cached
{
	my ($table) = @_;
	return value($node, 'cache', qq{
		SELECT count(*) FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('$table')
			AND relforknumber = 0 AND reldatabase = (SELECT oid FROM pg_database
				WHERE datname = current_database())});
}

# Reads the table as queries by its index do, until all of it is cached.
sub warm_up
{
	sql($node, 'cache', q{
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;} . q{
		SELECT count(v) FROM hot WHERE id > 0;} x 5);
	is(cached('hot'), $blocks, 'the table in use is cached');
	return;
}

sub dump_table
{
	my ($table, @options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '-v', '-j2',
		'--no-sync', '-f', new_path('dump'), '-t', $table, '-Z', 'none',
		@options, '-d', $node->connstr('cache'));
	die "dump of $table failed: $err" if $rc != 0;
	return $err;
}

my %pages = (cold => 1500, documents => 2);
foreach my $table (qw(cold documents))
{
	my $segment = "--max-table-segment-pages=$pages{$table}";
	warm_up();
	my $said = dump_table($table, $segment);
	like($said, qr/ chunk 2 of \d+ of table public\.$table with the extension/,
		"$table: read by the extension, in chunks");
	unlike($said, qr/ with COPY/, "$table: all of it");
	cmp_ok(cached('hot'), '>=', 0.95 * $blocks,
		"$table: a dump leaves the cache as it is")
	  or diag('pages of the table in use: ' . cached('hot') . " of $blocks");

	warm_up();
	dump_table($table, $segment, '--no-extension');
	cmp_ok(cached('hot'), '<', 0.5 * $blocks,
		"$table: control: reading by SQL does not")
	  or diag('pages of the table in use: ' . cached('hot') . " of $blocks");
}

$node->stop;
done_testing();
