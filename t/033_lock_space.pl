# Few locks: workers give back those of every job, and keep no more than a
# session's share of those of tables in chunks, so that the server's lock table
# need not have room for all tables times all workers.

use strict;
use warnings;

use FindBin;
use List::Util qw(sum);
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump pump_run end_dump wait_until sessions);
use Pardump::Cluster qw(start_cluster make_database sql value start_psql);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('space');
$node->append_conf('postgresql.conf', "max_connections = 20\nmax_locks_per_transaction = 18\n");
$node->restart;
make_database($node, 'space');

# All tables are in chunks, many more than a session's share of locks.
my ($n_tables, $n_rows) = (300, 600);
foreach my $part (0 .. 5)
{
	sql($node, 'space', sprintf(<<'SQL', $part * 50 + 1, $part * 50 + 50, $n_rows));
DO $$ BEGIN FOR i IN %d..%d LOOP
	EXECUTE format('CREATE TABLE t%%s AS SELECT g, repeat(''x'', g * (17 + %%1$s) %%%% 211) AS t FROM generate_series(1, %d) g', i);
END LOOP; END $$;
SQL
}
# one worker waits in the midst, until the others have done all else;
# one that has come late may have had no job
sql($node, 'space', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE ROLE dumper LOGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO dumper;
ALTER TABLE t250 ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON t250 USING (CASE WHEN g = 1
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
SQL

my $holder = start_psql($node, 'space');
$holder->('SELECT pg_advisory_lock(42)');
my $dump = start_dump($node->connstr('space'), '-j12', '-U', 'dumper', '--enable-row-security',
	'--max-table-segment-pages=1');
wait_until('all but one have done their part', sub {
	my $idle = "state = 'idle in transaction' AND query ~";
	return !pump_run($dump->{h}) || sessions($node, "wait_event = 'advisory'") == 1
	  && sessions($node, "$idle '^(ROLLBACK TO )?SAVEPOINT pardump\$'") == 11
	  && sessions($node, "$idle '^ROLLBACK TO SAVEPOINT pardump\$'") > 5;
});
# some more are the extension's own
cmp_ok(value($node, 'postgres', <<'SQL'), '<=', 22, 'an idle worker keeps no more than its share');
SELECT max(count) FROM (SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
	WHERE locktype = 'relation' AND query = 'ROLLBACK TO SAVEPOINT pardump' GROUP BY pid) c
SQL
$holder->('SELECT pg_advisory_unlock_all()');
is(end_dump($dump), 0, 'many tables and few locks: exit code');
is($dump->{err}, '', 'many tables and few locks: no message');
is(sum(map { $_->{Rows} // 0 } @{ read_manifest($dump->{dir})->{Files} }), $n_tables * $n_rows,
	'many tables and few locks: all rows');
$holder->();
$node->stop;
done_testing();
