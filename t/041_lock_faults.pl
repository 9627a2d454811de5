# Others lock, change, or forbid a table while it is being dumped: the dump
# waits for a while, then fails and says which table; it never waits behind a
# request that waits for itself, but reads what workers cannot lock in the
# leader's session, which has the lock; and never takes one table for another.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump dump_failed_ok nothing_remains_ok wait_until
  sessions);
use Pardump::Cluster qw(start_cluster make_database new_path restore_ok sql value);
use Pardump::Command qw(held_pg_dump changing_pg_dump);
use Pardump::Gate qw(hold_gates hold close_gate open_gate wait_at_gate);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('locks');
make_database($node, 'locks');
sql($node, 'locks', <<'SQL');
SET client_min_messages = warning;
CREATE ROLE dumper LOGIN;
CREATE TABLE gated AS SELECT g AS id, repeat(md5(g::text), 4) AS t
	FROM generate_series(1, 30000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id IN (5000, 25000)
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE FUNCTION make_victim() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	DROP TABLE IF EXISTS victim;
	CREATE TABLE victim (id int, t text);
	INSERT INTO victim SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 15000) g;
	GRANT SELECT ON gated, victim TO dumper;
END $$;
SELECT make_victim();
SQL
my $connstr = $node->connstr('locks');
my @options = ('-U', 'dumper', '--enable-row-security');
hold_gates($node, 'locks');

# A session that asks for the victim's ACCESS EXCLUSIVE lock and waits for it.
sub request_lock
{
	my ($table) = @_;
	$table //= 'victim';
	my $request = {};
	$request->{h} = IPC::Run::start(
		[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $connstr, '-c', 'BEGIN', '-c', "LOCK TABLE $table", '-c', 'COMMIT' ],
		'<', \'', '>', \$request->{out}, '2>', \$request->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until('the lock is requested', sub {
		$request->{h}->pump_nb;
		return value($node, 'locks',
			"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '$table'::regclass");
	});
	return $request;
}

sub end_request
{
	my ($request) = @_;
	$request->{h}->finish;
	return $request->{err} // '';
}

my $busy = qr/could not lock table: could not obtain lock on relation "(public\.)?victim"
.*detail: Another session holds or is waiting for .*
.*hint: .*--lock-wait-timeout\./;

# ---- the lock is held at the start: pg_dump waits

hold('BEGIN; LOCK TABLE victim');
{
	my $dump = start_dump($connstr, @options, '--lock-wait-timeout=300');
	dump_failed_ok($node, $dump, 'a lock held, and a timeout',
		qr/pg_dump: error: .*canceling statement due to (statement|lock) timeout.*victim/s);
	$dump = start_dump($connstr, @options);
	wait_until('pg_dump waits', sub {
		$dump->{h}->pump_nb;
		return sessions($node, "wait_event = 'relation'");
	});
	hold('ROLLBACK');
	is(end_dump($dump), 0, 'a lock held for a while: exit code') or diag($dump->{err});
	is($dump->{err}, '', 'a lock held for a while: no message');
}

# ---- a request is queued while pg_dump holds its locks

foreach my $forever (1, 0)
{
	my $what = 'a lock requested ' . ($forever ? 'for ever' : 'for a while') . ' before pg_dump ends';
	my ($ready, $gate) = map { new_path($_) } qw(ready gate);
	my $dump = start_dump($connstr, @options, '--pg-dump',
		held_pg_dump("touch '$ready'; while [ ! -e '$gate' ]; do sleep 0.05; done"),
		$forever ? '--lock-wait-timeout=500' : '--lock-wait-timeout=3min');
	wait_until('pg_dump has its locks', sub { $dump->{h}->pump_nb; -e $ready });
	my $request = request_lock();
	my $log = -s $node->logfile;
	append_to_file($gate, '');
	if ($forever)
	{
		dump_failed_ok($node, $dump, $what, $busy);
		is(end_request($request), '', "$what: the waiting session gets the lock");
	}
	else
	{
		# once the dump has tried to get its own
		wait_until('the leader has asked', sub {
			$dump->{h}->pump_nb;
			return slurp_file($node->logfile, $log) =~ /could not obtain lock on relation "(public\.)?victim"/;
		});
		value($node, 'locks', q{SELECT pg_cancel_backend(pid) FROM pg_locks
			WHERE NOT granted AND relation = 'victim'::regclass});
		like(end_request($request), qr/canceling statement due to user request/,
			"$what: the waiting session was canceled");
		is(end_dump($dump), 0, "$what: exit code") or diag($dump->{err});
	}
}

# ---- a request is queued after the leader has its locks, before a worker has

# The dump, once a number of workers wait at the gate.
sub dump_at_gate
{
	my ($waiting, @more) = @_;
	close_gate(42);
	my $dump = start_dump($connstr, @options, @more);
	wait_at_gate($node, $dump, $waiting);
	return $dump;
}

my $copies = 0;

# It ends well, has said what is expected, and its archive has all rows; then
# who asked for the lock gets it.
sub goes_on_ok
{
	my ($dump, $request, $what, $words) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	like($dump->{err}, $words, "$what: message");
	is(end_request($request), '', "$what: the waiting session gets the lock") if $request;
	make_database($node, 'copy' . ++$copies, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, "copy$copies", $what);
	my $tables = q{SELECT string_agg(format('%s %s', relname, (xpath('/row/n/text()', query_to_xml(
		'SELECT count(*) AS n FROM ' || oid::regclass, false, true, '')))[1]), ', ' ORDER BY relname)
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace};
	is(value($node, "copy$copies", $tables), value($node, 'locks', $tables), "$what: all rows");
	sql($node, 'postgres', "DROP DATABASE copy$copies");
	return;
}

# What the leader says of the only table that no worker could lock.
sub read_by_leader
{
	my ($table) = @_;
	return qr/^pg_pardump: warning: could not lock table $table again; reading it in the session that already holds the lock
pg_pardump: detail: Process \d+ is waiting for an ACCESS EXCLUSIVE lock on the table\.\n$/;
}

{
	my $dump = dump_at_gate(1, '--no-chunks');
	my $request = request_lock();
	open_gate();
	goes_on_ok($dump, $request, 'a whole table', read_by_leader('public\.victim'));
}

# all workers have the lock of what is in chunks, before they have read of it
{
	my $dump = dump_at_gate(2, '-j2', '--max-table-segment-pages=100');
	my $request = request_lock();
	open_gate();
	goes_on_ok($dump, $request, 'many chunks', qr/^$/);
}

# but one that comes later, which the others make good
{
	my $dump = dump_at_gate(2, '-j2', '--max-table-segment-pages=100');
	my $request = request_lock();
	my $pid = value($node, 'postgres', <<'SQL');
SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' ORDER BY backend_start LIMIT 1
SQL
	value($node, 'postgres', "SELECT pg_terminate_backend($pid)");
	wait_until('the next worker waits at the gate', sub {
		$dump->{h}->pump_nb;
		return value($node, 'postgres', <<"SQL") == 2;
SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND pid <> $pid
SQL
	});
	open_gate();
	goes_on_ok($dump, $request, 'a worker that was replaced',
		qr/^pg_pardump: warning: lost the connection of a worker; [^\n]*\n[^\n]*(\n\s[^\n]*)*\n[^\n]*detail: The worker was dumping [^\n]*\n$/);
}

# of a batch of tables, by workers and in the midst of others
{
	sql($node, 'locks', <<'SQL');
DO $$ BEGIN FOR i IN 1..100 LOOP
	EXECUTE format('CREATE TABLE small_%s AS SELECT g FROM generate_series(1, %s) g; GRANT SELECT ON small_%1$s TO dumper', i, i);
END LOOP; END $$;
SQL
	my $dump = dump_at_gate(2, '-j2', '--max-table-segment-pages=300');
	my $request = request_lock('small_50');
	open_gate();
	goes_on_ok($dump, $request, 'many tables', read_by_leader('public\.small_50'));
}

# ---- the leader while it reads: as a worker

sub leader_reads
{
	my (@more) = @_;
	my $dump = dump_at_gate(1, '--no-chunks', @more);
	my $request = request_lock('late');
	hold('SELECT pg_advisory_lock(43); SELECT pg_advisory_unlock(42)');
	wait_until('the leader waits', sub {
		$dump->{h}->pump_nb;
		return sessions($node, "wait_event = 'advisory' AND application_name = 'pg_pardump: public.late'");
	});
	return ($dump, $request);
}

sql($node, 'locks', <<'SQL');
CREATE TABLE late AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 14000) g;
ALTER TABLE late ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON late USING (CASE WHEN id = 13000
	THEN pg_advisory_xact_lock_shared(43)::text IS NOT NULL ELSE true END);
GRANT SELECT ON late TO dumper;
SQL
foreach my $signal (qw(INT KILL))
{
	my $what = "SIG$signal while the leader reads";
	my ($dump, $request) = leader_reads();
	kill $signal => $dump->{pid};
	if ($signal eq 'INT')
	{
		dump_failed_ok($node, $dump, $what, qr/terminated by user/);
	}
	else
	{
		is(end_dump($dump), 137, "$what: exit code");
		nothing_remains_ok($node, $dump->{dir}, $what);
	}
	is(end_request($request), '', "$what: the waiting session gets the lock");
	open_gate();
}
# another session cannot have the lock before who asked for it
{
	my ($dump, $request) = leader_reads();
	value($node, 'postgres', <<'SQL');
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'advisory' AND application_name LIKE 'pg_pardump%'
SQL
	is(end_request($request), '', 'the leader is lost while it reads: the waiting session gets the lock');
	open_gate();
	goes_on_ok($dump, undef, 'the leader is lost while it reads',
		qr/warning: lost the connection that held the locks on all tables; retry 1 of 5 in 0\.5 s\n/);
}
sql($node, 'locks', 'DROP TABLE late');

# ---- a request waits for one worker, and another worker for the request: none of
# them may wait for ever

# The worker of the table "first" takes its next chunk when REINDEX waits for the
# other worker, which has read of the indexes' table and is in the midst of it.
foreach my $reader ('SQL', 'the extension')
{
	my $what = "REINDEX, read by $reader";
	sql($node, 'locks', <<'SQL');
CREATE SCHEMA waiting;
CREATE TABLE waiting.first AS SELECT g AS id, repeat(md5(g::text), 100) AS t FROM generate_series(1, 3000) g;
ALTER TABLE waiting.first ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON waiting.first USING (CASE WHEN id = 50
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE TABLE waiting.indexed (id int PRIMARY KEY, t text);
ALTER TABLE waiting.indexed ALTER t SET STORAGE EXTERNAL;
INSERT INTO waiting.indexed SELECT g, repeat(md5(g::text), 2) FROM generate_series(1, 20000) g;
GRANT USAGE ON SCHEMA waiting TO dumper;
GRANT SELECT ON ALL TABLES IN SCHEMA waiting TO dumper;
SQL
	# without TOAST for SQL: a query and REINDEX of both are a deadlock for the server
	sql($node, 'locks', $reader eq 'SQL' ? <<'SQL' : <<'EXTENSION');
ALTER TABLE waiting.indexed ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON waiting.indexed USING (CASE WHEN id = 100
	THEN pg_advisory_xact_lock_shared(43)::text IS NOT NULL ELSE true END);
SQL
CREATE EXTENSION pg_pardump;
UPDATE waiting.indexed SET t = repeat(t, 50) WHERE id % 100 = 0;
EXTENSION
	hold('SELECT pg_advisory_lock(42), pg_advisory_lock(43)');
	my $dump = start_dump($connstr, @options, '-j2', '-n', 'waiting', '--max-table-segment-pages=120');
	wait_until('both workers wait, or one has done its part', sub {
		$dump->{h}->pump_nb;
		return sessions($node, "wait_event = 'advisory'") == 2 || $reader ne 'SQL'
		  && sessions($node, "wait_event = 'advisory'") == 1 && sessions($node, "state = 'idle in transaction'") >= 2;
	});
	my ($out, $err) = ('', '');
	my $reindex = IPC::Run::start([ 'psql', '-Xq', '-d', $connstr, '-c', 'REINDEX TABLE waiting.indexed' ],
		'<', \'', '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	if ($reader eq 'SQL')
	{
		wait_until('REINDEX waits', sub {
			$reindex->pump_nb;
			return value($node, 'locks',
				"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'waiting.indexed_pkey'::regclass");
		});
		hold('SELECT pg_advisory_unlock(42)');
		wait_until('a worker waits for REINDEX', sub {
			$dump->{h}->pump_nb;
			return value($node, 'locks',
				"SELECT count(*) = 2 FROM pg_locks WHERE NOT granted AND relation = 'waiting.indexed_pkey'::regclass") eq 't';
		});
	}
	else
	{
		$reindex->finish;
	}
	open_gate();
	$reindex->finish;
	is($reindex->full_result(0) . $err, '0', "$what: REINDEX is done");
	is(end_dump($dump), 0, "$what: exit code");
	is($dump->{err}, '', "$what: no message");
	sql($node, 'locks', 'SET client_min_messages = warning; DROP SCHEMA waiting CASCADE; DROP EXTENSION IF EXISTS pg_pardump');
}

# A policy reads another table, whose lock the leader has.
{
	sql($node, 'locks', <<'SQL');
CREATE TABLE guarded AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 20000) g;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY guard ON guarded USING (EXISTS (SELECT FROM victim));
GRANT SELECT ON guarded TO dumper;
SQL
	close_gate(42);
	my $dump = start_dump($connstr, @options, '--no-chunks', '--lock-wait-timeout=500');
	wait_until('the worker waits at the gate', sub {
		$dump->{h}->pump_nb;
		return sessions($node, "wait_event = 'advisory'");
	});
	my $request = request_lock();
	open_gate();
	dump_failed_ok($node, $dump, 'a policy waits for the leader\'s lock',
		qr/error: deadlock detected\n.*detail: This run is waiting for a lock on (public\.)?victim behind process \d+, which is waiting for this run\.\n.*hint: /);
	is(end_request($request), '', 'a policy waits for the leader\'s lock: the waiting session gets the lock');
	sql($node, 'locks', 'DROP TABLE guarded');
}

# ---- a table changes between the snapshot and the leader's lock

sub change_and_fail_ok
{
	my ($what, $when, $sql, $message) = @_;
	my $dump = start_dump($connstr, @options, '--max-table-segment-pages=100',
		'--pg-dump', changing_pg_dump($connstr, $when, $sql));
	dump_failed_ok($node, $dump, "$what $when pg_dump", $message);
	sql($node, 'locks', 'DROP VIEW IF EXISTS victim') if $sql =~ /VIEW/;
	sql($node, 'locks', 'DROP TABLE IF EXISTS moved; SELECT make_victim()');
	return;
}

my $replaced = qr/table public\.victim was dropped or replaced while the run started\n.*hint: Run the same command again/;
my $missing = qr/relation "public\.victim" does not exist/;
change_and_fail_ok('dropped', 'before', 'DROP TABLE victim', $missing);
change_and_fail_ok('dropped', 'after', 'DROP TABLE victim', $missing);
change_and_fail_ok('renamed', 'after', 'ALTER TABLE victim RENAME TO moved', $missing);
change_and_fail_ok('replaced by a view', 'after',
	'ALTER TABLE victim RENAME TO moved; CREATE VIEW victim AS SELECT * FROM moved;
	 GRANT SELECT ON victim TO dumper', $replaced);
change_and_fail_ok('replaced by a table', 'after',
	'ALTER TABLE victim RENAME TO moved; CREATE TABLE victim AS SELECT * FROM moved;
	 GRANT SELECT ON victim TO dumper', $replaced);
change_and_fail_ok('a column dropped', 'after', 'ALTER TABLE victim DROP t',
	qr/table public\.victim was changed after the snapshot was taken\n/);
change_and_fail_ok('privileges revoked', 'after', 'REVOKE SELECT ON victim FROM dumper',
	qr/permission denied for table victim/);
# ---- what may not be read

sql($node, 'locks', 'CREATE TABLE secret (a int)');
dump_failed_ok($node, start_dump($connstr, @options), 'a table without privileges',
	qr/pg_dump: error: .*permission denied for table secret/s);
sql($node, 'locks', 'DROP TABLE secret');
dump_failed_ok($node,
	start_dump($connstr, '-U', 'dumper', '-j2', '--max-table-segment-pages=100'),
	'row security without --enable-row-security',
	qr/row security prevents the role from reading all rows of 1 table\n.*Tables: public\.gated\.\n/);

# ---- what the archive's encoding does not have

sql($node, 'locks', <<'SQL');
CREATE TABLE words AS SELECT g, CASE g WHEN 19000 THEN '€' ELSE 'word' END AS word
	FROM generate_series(1, 20000) g;
GRANT SELECT ON words TO dumper;
SQL
dump_failed_ok($node,
	start_dump($connstr, @options, '-E', 'LATIN1', '-j2', '--max-table-segment-pages=50'),
	'a character without equivalent',
	qr/has no equivalent in encoding "LATIN1".*The worker was dumping chunk [2-9] of \d+ of table public\.words/s);

hold();
$node->stop;
done_testing();
