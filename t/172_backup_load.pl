# Base backups of a cluster that is written meanwhile, by all that changes files:
# rows, new tables, TRUNCATE, VACUUM FULL, databases, tablespaces in place and
# elsewhere.  What is started of one is consistent.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::BaseBackup qw(connection backup_ok verify_backup_ok start_backup enable_checksums
  start_pgbench stop_pgbench);
use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('load', allows_streaming => 1);
enable_checksums($node);
$node->append_conf('postgresql.conf', 'allow_in_place_tablespaces = on');
$node->reload;
run_program('pgbench', connection($node), '-iqs', '3', 'postgres');
sql($node, 'postgres', 'CREATE TABLE grows (a int, t text); CREATE INDEX ON grows (a)');

# What a client does in a round: a transfer, whose sums must hold, and one of the
# things that make and remove files.
my $files = new_path('files.sql');
my $places = new_path('places');
mkdir $_ or die "could not make \"$_\": $!" foreach $places, map { "$places/$_" } 0 .. 3;
append_to_file($files, <<'SQL' =~ s/PLACES/$places/r);
\set what random(1, 8)
\if :what = 1
CREATE TABLE t:client_id AS SELECT g, repeat('x', 500) AS t FROM generate_series(1, 5000) g;
CREATE INDEX ON t:client_id (g);
DROP TABLE t:client_id;
\elif :what = 2
INSERT INTO grows SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 3000) g;
DELETE FROM grows WHERE a % 3 = 0;
\elif :what = 3
TRUNCATE pgbench_history;
VACUUM FULL pgbench_tellers;
\elif :what = 4
CREATE DATABASE d:client_id STRATEGY = wal_log;
DROP DATABASE d:client_id;
\elif :what = 6
CREATE TABLESPACE s:client_id LOCATION '';
CREATE TABLE far:client_id TABLESPACE s:client_id AS SELECT g FROM generate_series(1, 3000) g;
DROP TABLE far:client_id;
DROP TABLESPACE s:client_id;
CHECKPOINT;
\elif :what = 7
CREATE TABLESPACE o:client_id LOCATION 'PLACES/:client_id';
CREATE TABLE out:client_id TABLESPACE o:client_id AS SELECT g FROM generate_series(1, 3000) g;
DROP TABLE out:client_id;
DROP TABLESPACE o:client_id;
CHECKPOINT;
\elif :what = 5
CREATE DATABASE d:client_id STRATEGY = file_copy;
DROP DATABASE d:client_id;
\else
CREATE TEMP TABLE gone AS SELECT g FROM generate_series(1, 5000) g;
DROP TABLE gone;
VACUUM grows;
\endif
SQL
my $transfers = new_path('transfers.sql');
append_to_file($transfers, <<'SQL');
\set aid random(1, 300000)
\set bid random(1, 3)
\set tid random(1, 30)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
END;
SQL

my $log = new_path('pgbench.log');
my $pgbench = start_pgbench($node, $log, '-c4', '-f', "$transfers\@8", '-f', $files);
# not before all of them have begun
$node->poll_query_until('postgres', q{SELECT sum(abalance) <> 0 FROM pgbench_accounts})
  or die 'pgbench does nothing: ' . slurp_file($log);

my @backups;
foreach my $options ([ '-j4', '-X', 'fetch' ], [ '-j2', '-X', 'stream' ])
{
	my $new = new_path('new_places');
	push @backups, backup_ok($node, "under load @$options", 'pg_parbasebackup', @$options,
		map { ('-T', "$places/$_=$new/$_") } 0 .. 3);
	verify_backup_ok($backups[-1], "under load @$options");
}
stop_pgbench($pgbench);
unlike(slurp_file($log), qr/aborted|error/i, 'the log contains no failed client');
# recovery creates files again from the log in the same place
$node->stop;

my $n = 0;
foreach my $backup (@backups)
{
	my $restored = start_backup($backup, 'restored' . ++$n);
	is(value($restored, 'postgres', <<'SQL'), '1', 'the sums of all balances are equal');
SELECT count(DISTINCT s) FROM (SELECT sum(abalance) FROM pgbench_accounts
	UNION ALL SELECT sum(tbalance) FROM pgbench_tellers
	UNION ALL SELECT sum(bbalance) FROM pgbench_branches) x (s)
SQL
	my ($rc, $out, $err) = run_program('pg_amcheck', connection($restored), '--install-missing', '--heapallindexed',
		'--parent-check', 'postgres');
	is($rc, 0, 'pg_amcheck finds nothing') or diag($out . $err);
	$restored->stop;
	($rc, $out, $err) = run_program('pg_checksums', '--check', '-D', $restored->data_dir);
	is($rc, 0, 'pg_checksums finds no damaged page') or diag($out . $err);
}

done_testing();
