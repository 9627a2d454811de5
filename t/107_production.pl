# What a dump looks at before it loads a server that others need.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump pump_run end_dump wait_until sessions);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  start_psql pg_major);
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

# ---- connections; the leader has one of them.  A session of the run before, and that
# of the one that looks for it, may take a moment to end.

sub no_session_left
{
	my ($others) = @_;
	$others //= 0;
	my $psql = start_psql($node, 'postgres');
	my $pid = $psql->('SELECT pg_backend_pid()');
	wait_until('all other sessions have ended', sub {
		$psql->("SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") == $others;
	});
	$psql->();
	wait_until('this one, too', sub { !-e "/proc/$pid" });
	return;
}

no_session_left();
refused_ok(qr/server "[^"]+" has only 11 of 12 needed connections left\n.*hint: Use --jobs=10, or increase max_connections\./,
	'a superuser and max_connections', @db, '-j12');
no_session_left();
accepted_ok('one job less than there are connections', @db, '-j10');
no_session_left();
refused_ok(qr/server "[^"]+" has only 8 of 9 needed connections left\n.*hint: Use --jobs=7, /,
	'what is reserved for superusers', @db, '-U', 'dumper', '-j9');
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 3');
no_session_left();
refused_ok(qr/server "[^"]+" has only 2 of 3 needed connections left\n.*hint: Use --jobs=1, or increase the connection limit of role "dumper"\./,
	'the limit of a role', @db, '-U', 'dumper', '-j3');
no_session_left();
accepted_ok('within the limit of a role', @db, '-U', 'dumper', '-j1');
{
	no_session_left();
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('just'), '--no-sync',
		@db, '-U', 'dumper', '-j2');
	like("$rc$err", qr/^0pg_pardump: warning: server "[^"]+" has no spare connection\npg_pardump: detail: .*\npg_pardump: hint: Use --jobs=1, or increase .*\n$/,
		'just within the limit of a role');
}
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 1');
no_session_left();
refused_ok(qr/server "[^"]+" has only 0 of 1 needed connections left\n.*hint: End other sessions/,
	'no connection left', @db, '-U', 'dumper');
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT -1; ALTER DATABASE production CONNECTION LIMIT 4');
no_session_left();
refused_ok(qr/database "production" on server "[^"]+" has only 3 of 4 needed connections left\n.*hint: Use --jobs=2, or increase the connection limit of database "production"\./,
	'the limit of a database', @db, '-U', 'dumper', '-j4');
sql($node, 'postgres', 'ALTER DATABASE production CONNECTION LIMIT -1');

# ---- sessions of others, of which an ordinary role does not see that they are
# clients: a warning, and those workers that find a connection do all jobs

{
	sql($node, 'production', <<'SQL');
CREATE TABLE gated AS SELECT g, repeat(md5(g::text), 50) AS t FROM generate_series(1, 10000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (g % 1000 <> 0 OR pg_advisory_xact_lock_shared(42)::text IS NOT NULL);
GRANT SELECT ON gated TO dumper;
SQL
	my @others = map { start_psql($node, 'production') } 1 .. 4;
	$_->('SELECT 1') foreach @others;
	$others[0]->('SELECT pg_advisory_lock(42)');
	no_session_left(4);
	my $dump = start_dump($node->connstr('production'), '-U', 'dumper', '--enable-row-security',
		'-j6', '--retries=0', '-t', 'gated', '--max-table-segment-pages=250');
	wait_until('workers have given up', sub { !pump_run($dump->{h}) || $dump->{err} =~ /(?:continues without it\n.*){2}/s });
	$others[0]->('SELECT pg_advisory_unlock_all()');
	is(end_dump($dump), 0, 'fewer connections than jobs: exit code');
	like($dump->{err}, qr/^pg_pardump: warning: server "[^"]+" might have only 4 of 6 needed connections left\npg_pardump: detail: .*pg_read_all_stats/,
		'fewer connections than jobs: a warning at the beginning');
	like($dump->{err}, qr/could not open one of the connections; the run continues without it\npg_pardump: detail: .*remaining connection slots.*continues without it\n/s,
		'fewer connections than jobs: fewer workers');
	sql($node, 'postgres', 'GRANT pg_read_all_stats TO dumper');
	no_session_left(4);
	refused_ok(qr/server "[^"]+" has only 4 of 6 needed connections left\n.*hint: Use --jobs=3, /,
		'sessions of others that the role sees', @db, '-U', 'dumper', '-j6');
	sql($node, 'postgres', 'REVOKE pg_read_all_stats FROM dumper');
	sql($node, 'production', 'DROP TABLE gated');
	$_->() foreach @others;
}

# ---- what is read goes to no temporary file, however little work_mem is

sql($node, 'production', <<'SQL');
CREATE TABLE large AS SELECT g, repeat(md5(g::text), 5) AS t FROM generate_series(1, 20000) g;
INSERT INTO large SELECT 0, string_agg(md5(g::text), '') FROM generate_series(1, 100000) g;
SELECT lo_from_bytea(0, convert_to(repeat(md5(g::text), 100000), 'UTF8')) FROM generate_series(1, 3) g;
SQL
foreach my $extension (0, 1)
{
	local $ENV{PGOPTIONS} = '-c work_mem=256kB -c log_temp_files=0';
	sql($node, 'production', 'CREATE EXTENSION pg_pardump') if $extension;
	my $logged = -s $node->logfile;
	accepted_ok('a table larger than work_mem', @db, '-j2', '--max-table-segment-pages=200');
	# as some of pg_dump's queries do
	unlike(slurp_file($node->logfile, $logged), qr/temporary file.*\n.*STATEMENT:  .*(COPY|lo_get|pg_pardump_)/,
		'no temporary file for rows and large objects');
}
sql($node, 'production', 'DROP EXTENSION pg_pardump; DROP TABLE large; SELECT lo_unlink(oid) FROM pg_largeobject_metadata');

# ---- old transaction IDs: each block with an exception handler takes one

sql($node, 'production', 'CREATE TABLE burnt (a int)');
my $burn = <<'SQL';
DO $$ BEGIN
	FOR i IN 1..205000 LOOP
		BEGIN INSERT INTO burnt VALUES (1); DELETE FROM burnt WHERE false;
		EXCEPTION WHEN division_by_zero THEN NULL; END;
	END LOOP;
END $$;
SQL
{
	# so that autovacuum, which comes then even if it is off, does not freeze
	# all in time
	my $keeper = start_psql($node, 'production');
	$keeper->('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t');
	sql($node, 'production', $burn);
	my $dir = new_path('old');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '--no-sync', '-f', $dir);
	is($rc, 0, 'a database with old transaction IDs: exit code');
	like($err, qr/^pg_pardump: warning: the oldest transaction ID in the database is 2\d{5} transactions old\npg_pardump: detail: autovacuum_freeze_max_age is 100000\..*\npg_pardump: hint: Run VACUUM \(FREEZE\) /,
		'a database with old transaction IDs: warning');
	# what it keeps is kept until its transaction has ended
	$keeper->('COMMIT');
	$keeper->();
}
sql($node, 'production', 'VACUUM FREEZE');
accepted_ok('the same, frozen', @db);

# ---- the run's own snapshot, when it was given, and as it grows old

my $old = qr/warning: the snapshot of this run is \d{6} transactions old\npg_pardump: detail: autovacuum_freeze_max_age is 100000\./;
{
	my $holder = start_psql($node, 'production');
	$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->('SELECT pg_export_snapshot()');
	sql($node, 'production', $burn);
	sql($node, 'production', 'CHECKPOINT');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, "--snapshot=$snapshot", '--no-sync', '-f', new_path('given'));
	is($rc, 0, 'an old snapshot that was given: exit code');
	like($err, $old, 'an old snapshot that was given: warning');
	$holder->('COMMIT');
	$holder->();
}
sql($node, 'production', 'VACUUM FREEZE');
{
	sql($node, 'production', <<'SQL');
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON t USING (pg_advisory_xact_lock_shared(42)::text IS NOT NULL);
CREATE TABLE before_t AS SELECT g FROM generate_series(1, 3000) g;
GRANT SELECT ON before_t TO dumper;
SQL
	my $holder = start_psql($node, 'production');
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($node->connstr('production'), '-U', 'dumper', '--enable-row-security', '-t', 't', '-t', 'before_t');
	wait_until('the worker waits', sub { $dump->{h}->pump_nb; return sessions($node, "application_name LIKE 'pg_pardump: %' AND wait_event = 'advisory'") });
	sql($node, 'production', $burn);
	sql($node, 'production', 'CHECKPOINT');
	wait_until('the warning', sub { $dump->{h}->pump_nb; return $dump->{err} =~ $old });
	$holder->('SELECT pg_advisory_unlock_all()');
	is(end_dump($dump), 0, 'a snapshot that grows old: exit code');
	is(scalar(() = $dump->{err} =~ /warning/g), 1, 'a snapshot that grows old: one warning');
	$holder->();
}

# ---- schemas that change their names while names are read: no lock hinders them

{
	sql($node, 'production', <<'SQL');
CREATE SCHEMA live;
CREATE SCHEMA next;
CREATE TABLE live.s AS SELECT 'live' AS s;
CREATE TABLE next.s AS SELECT 'next' AS s;
GRANT USAGE ON SCHEMA live, next TO PUBLIC;
GRANT SELECT ON live.s, next.s TO PUBLIC;
SQL
	my $holder = start_psql($node, 'production');
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($node->connstr('production'), '-U', 'dumper', '--enable-row-security', '-t', 't', '-t', 'before_t', '-t', 'live.s');
	wait_until('the worker waits', sub { $dump->{h}->pump_nb; return sessions($node, "application_name LIKE 'pg_pardump: %' AND wait_event = 'advisory'") });
	sql($node, 'production', 'ALTER SCHEMA live RENAME TO old; ALTER SCHEMA next RENAME TO live');
	$holder->('SELECT pg_advisory_unlock_all()');
	is(end_dump($dump), 1, 'schemas were swapped: exit code');
	like($dump->{err}, qr/error: table live\.s was replaced by another table of this name during the run\n.*hint: /,
		'schemas were swapped: message');
	ok(!-e "$dump->{dir}/toc.dat", 'schemas were swapped: no archive');
	$holder->();
}

# ---- rows that are removed though a snapshot sees them, which servers of 16 and
# before can be told to do

if (pg_major($node) < 17)
{
	sql($node, 'production',
		'CREATE EXTENSION pg_pardump; CREATE TABLE pruned AS SELECT g FROM generate_series(1, 100) g');
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = 0');
	$node->restart;
	refused_ok(qr/error: old_snapshot_threshold must be -1 on the server, but is 0\n/,
		'old_snapshot_threshold', @db);
	my $reader = start_psql($node, 'production');
	$reader->('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t');
	sleep 6;    # the threshold's five seconds
	sql($node, 'production', $_) foreach 'UPDATE pruned SET g = g + 1', 'VACUUM pruned';
	is($reader->(<<'SQL'), 'noticed', 'old_snapshot_threshold: the extension notices');
DO $$ BEGIN
	PERFORM pardump.pg_pardump_read('pruned', '{g}', 0, NULL, 'none');
	RAISE 'read % rows', (SELECT rows FROM pardump.pg_pardump_last_read());
EXCEPTION WHEN snapshot_too_old THEN NULL;
END $$;
SELECT 'noticed'
SQL
	$reader->();
}

$node->stop;
done_testing();
