# The indexes of a partition tree are attached one after the other: side by side
# two branches would leave the index above invalid, and foreign keys to it out.
# Foreign keys of the tree wait for all of them: beside them there may be a
# deadlock.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program dump_ok restore_ok sql value);
use Pardump::Compare qw(schema_text same_schema_ok);
use Pardump::Copy qw(copy_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('attach');

# Two branches of six partitions.  By their names, pg_dump has the branches
# attached first; then both get their last partition at the same time.
sql($node, 'postgres', 'CREATE DATABASE tree');
sql($node, 'tree', <<'SQL');
CREATE TABLE tree (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE tree_0 PARTITION OF tree FOR VALUES FROM (0) TO (60) PARTITION BY RANGE (a);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (60) TO (120) PARTITION BY RANGE (a);
SELECT format('CREATE TABLE tree_x%1$s_%2$s PARTITION OF tree_%1$s FOR VALUES FROM (%3$s) TO (%4$s)',
	i, j, i * 60 + j * 10, i * 60 + j * 10 + 10)
	FROM generate_series(0, 1) i, generate_series(0, 5) j \gexec
CREATE INDEX ON tree ((a + 1));
CREATE TABLE other (a int REFERENCES tree);
SQL
my $schema = schema_text($node, 'tree');

# An empty database, where each attachment takes a while to commit.
sub slow_database
{
	my ($name) = @_;
	sql($node, 'postgres', "CREATE DATABASE $name TEMPLATE template0");
	sql($node, $name, <<'SQL');
CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.1); END';
CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('ALTER INDEX') EXECUTE FUNCTION slow();
SQL
	return $name;
}

sub attached_ok
{
	my ($db, $what) = @_;
	is(value($node, $db, 'SELECT count(*) FROM pg_index WHERE NOT indisvalid'),
		0, "$what: all indexes are valid");
	sql($node, $db, 'DROP EVENT TRIGGER slow; DROP FUNCTION slow()');
	same_schema_ok($schema, schema_text($node, $db), $what);
	return;
}

my $stock = slow_database('stock');
run_program('pg_restore', '-j4', '-d', $node->connstr($stock),
	dump_ok($node, 'tree', 'stock', 'pg_dump', '-s'));
note("pg_dump's archive: invalid indexes, foreign keys: " . value($node, $stock,
	q(SELECT (SELECT count(*) FROM pg_index WHERE NOT indisvalid) || ', ' ||
		(SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conparentid = 0))));

my $archive = slow_database('archive');
restore_ok($node, dump_ok($node, 'tree', 'archive', 'pg_pardump', '-s'),
	$archive, 'archive', '-j4');
attached_ok($archive, 'archive');

my $copy = slow_database('copy');
copy_ok($node, 'tree', $node, $copy, 'copy', '-j4', '--no-analyze');
attached_ok($copy, 'copy');

sql($node, 'tree', 'CREATE TABLE referenced (a int PRIMARY KEY);
	ALTER TABLE tree ADD FOREIGN KEY (a) REFERENCES referenced');
my (undef, $list) = run_program('pg_restore', '-lv', dump_ok($node, 'tree', 'keys', 'pg_pardump', '-s'));
my @attach = $list =~ /^(\d+); \d+ \d+ INDEX ATTACH /mg;
my @needed = $list =~ /^\d+; \d+ \d+ FK CONSTRAINT .*\n;\tdepends on: (.*)$/mg;
is(scalar(@needed), 2, 'foreign keys');
like(" $_ ", qr/ $attach[-1] /, 'a foreign key waits for the last that is attached') foreach @needed;

$node->stop;
done_testing();
