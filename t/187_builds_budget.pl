# A copy of all databases: builds of indexes and foreign keys have one budget,
# too, across databases.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster sql value);
use Pardump::Copy qw(start_load);
use Pardump::WholeCluster qw(create_database);
use PostgreSQL::Test::Utils;
use Test::More;

my @databases = qw(one two three);
my $source = start_cluster('builds_source');
my $target = start_cluster('builds_target');

# Advisory locks are of a database, and those of the target are not there yet: a
# gate is a file in the directory of a server, and open if it is there.
sub open_gate
{
	my ($node, $gate) = @_;
	append_to_file($node->data_dir . "/gate.$gate", '');
	return;
}

# An index waits at its gate for values to be compared, a foreign key for one to be
# converted.
open_gate($source, $_) foreach qw(index key);
foreach my $db (@databases)
{
	create_database($source, $db);
	sql($source, $db, <<'SQL');
CREATE FUNCTION pass(gate text, n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
	WHILE (pg_catalog.pg_stat_file('gate.' || gate, true)).size IS NULL LOOP
		PERFORM pg_catalog.pg_sleep(0.01);
	END LOOP;
	RETURN n; END$$;
CREATE TYPE gated AS (n int);
CREATE FUNCTION gated_lt(gated, gated) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n < ($2).n';
CREATE FUNCTION gated_eq(gated, gated) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n = ($2).n';
CREATE FUNCTION gated_cmp(gated, gated) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RETURN public.pass('index', pg_catalog.btint4cmp(($1).n, ($2).n)); END$$;
CREATE OPERATOR < (FUNCTION = gated_lt, LEFTARG = gated, RIGHTARG = gated);
CREATE OPERATOR = (FUNCTION = gated_eq, LEFTARG = gated, RIGHTARG = gated);
CREATE OPERATOR CLASS gated_ops DEFAULT FOR TYPE gated USING btree AS
	OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 gated_cmp(gated, gated);
CREATE TYPE number AS (n int);
CREATE FUNCTION to_int(number) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RETURN public.pass('key', ($1).n); END$$;
CREATE CAST (number AS int) WITH FUNCTION to_int(number) AS IMPLICIT;
SQL
	foreach my $i (1 .. 2)
	{
		sql($source, $db, <<"SQL");
CREATE TABLE keys$i (id int PRIMARY KEY);
INSERT INTO keys$i VALUES (1);
CREATE TABLE t$i AS SELECT ROW(g)::gated AS id, ROW(1)::number AS other, repeat('x', 1000) AS text
	FROM generate_series(1, 2000) g;
CREATE INDEX gated$i ON t$i (id);
ALTER TABLE t$i ADD FOREIGN KEY (other) REFERENCES keys$i;
SQL
	}
}

# Sessions of the target that wait at a gate in such a statement.
my %most = (INDEX => 0, KEY => 0);
sub at_gate
{
	my ($statement) = @_;
	my $n = value($target, 'postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query ~ '$statement'");
	$most{$statement} = $n if $n > $most{$statement};
	return $n;
}

# Is there a row of every table, in all databases?
sub all_loaded
{
	return 0 if value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname IN ('one', 'two', 'three')}) < 3;
	return !grep { value($target, $_, q{SELECT count(*) FROM pg_stat_user_tables
		WHERE relname IN ('t1', 't2', 'keys1', 'keys2') AND n_tup_ins > 0}) < 4 } @databases;
}

my $copy = start_load('pg_pardump', '--all-databases', '-j3', '--index-jobs=2', '-d', $source->connstr('postgres'),
	'--target=' . $target->connstr('postgres'));
wait_in_run($copy, 'all rows are there, and two indexes are being built', sub {
	my $n = at_gate('INDEX');
	return $n >= 2 && all_loaded();
});
open_gate($target, 'index');
wait_in_run($copy, 'two foreign keys are being checked', sub {
	at_gate('INDEX');
	return at_gate('KEY') >= 2;
});
open_gate($target, 'key');
is(end_dump($copy), 0, 'the copy ends');
is($copy->{err}, '', 'in silence');
is_deeply(\%most, { INDEX => 2, KEY => 2 }, 'never more builds than --index-jobs');
foreach my $db (@databases)
{
	is(value($target, $db, q{SELECT count(*) FROM pg_index WHERE indisvalid AND indrelid IN ('t1'::regclass, 't2'::regclass)}),
		2, "$db: indexes");
	is(value($target, $db, q{SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated}), 2, "$db: foreign keys");
}

$_->stop foreach $source, $target;
done_testing();
