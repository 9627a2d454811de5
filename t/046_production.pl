# What a dump looks at before it loads a server that others need.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  start_psql);
use Pardump::Command qw(refused_ok accepted_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('production');
$node->append_conf('postgresql.conf', <<'CONF');
max_connections = 12
superuser_reserved_connections = 3
autovacuum_freeze_max_age = 100000
CONF
$node->restart;
make_database($node, 'production');
sql($node, 'production', 'CREATE ROLE dumper LOGIN; CREATE TABLE t AS SELECT 1 AS a; GRANT SELECT ON t TO dumper');
my @db = ('-d', $node->connstr('production'));

# ---- connections; the leader has one of them

refused_ok(qr/the server has 11 connections left, too few for 12 jobs\n.*hint: Use --jobs=11, or raise max_connections/,
	'a superuser and max_connections', @db, '-j12');
accepted_ok('as many jobs as there are connections', @db, '-j11');
refused_ok(qr/the server has 8 connections left, too few for 9 jobs\n.*hint: Use --jobs=8,/,
	'what is reserved for superusers', @db, '-U', 'dumper', '-j9');
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 3');
refused_ok(qr/the server has 2 connections left, too few for 3 jobs\n.*hint: Use --jobs=2,/,
	'the limit of a role', @db, '-U', 'dumper', '-j3');
accepted_ok('within the limit of a role', @db, '-U', 'dumper', '-j2');
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 1');
refused_ok(qr/the server has 0 connections left, too few for 1 jobs\n.*hint: End other sessions/,
	'no connection left', @db, '-U', 'dumper');
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT -1; ALTER DATABASE production CONNECTION LIMIT 4');
refused_ok(qr/the server has 3 connections left, too few for 4 jobs/,
	'the limit of a database', @db, '-U', 'dumper', '-j4');
sql($node, 'postgres', 'ALTER DATABASE production CONNECTION LIMIT -1');

# ---- old transaction IDs: each block with an exception handler takes one

sql($node, 'production', <<'SQL');
CREATE TABLE burnt (a int);
DO $$ BEGIN
	FOR i IN 1..205000 LOOP
		BEGIN INSERT INTO burnt VALUES (1); DELETE FROM burnt WHERE false;
		EXCEPTION WHEN division_by_zero THEN NULL; END;
	END LOOP;
END $$;
SQL
{
	my $dir = new_path('old');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '--no-sync', '-f', $dir);
	is($rc, 0, 'a database with old transaction IDs: exit code');
	like($err, qr/^pg_pardump: warning: the oldest transaction ID in the database is 2\d{5} transactions old\npg_pardump: detail: autovacuum_freeze_max_age is 100000\./,
		'a database with old transaction IDs: warning');
}
sql($node, 'production', 'VACUUM FREEZE');
accepted_ok('the same, frozen', @db);

$node->stop;
done_testing();
