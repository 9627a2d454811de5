# Definitions in a direct copy: sessions that build indexes while rows are copied,
# their number and settings; what becomes of the copy if a definition fails or a
# connection is lost, also with retries; and WAL, which tables need that it has not
# made.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until children terminate);
use Pardump::Cluster qw(start_cluster make_database run_program sql value pg_major);
use Pardump::Copy qw(start_copy run_copy copy_ok sessions_left no_temp_files_ok);
use Pardump::Gate qw(hold_gates hold close_gate open_gate at_gate wait_at_gate);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $source = start_cluster('indexes_source');
my $target = start_cluster('indexes_target');
$target->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
$target->restart;

# ---- sessions that build indexes

# Three tables so large that each index is a job of its own, and waits: for a
# function that is none of the database's, whose indexes are built at the end.
make_database($source, 'built');
sql($_->[0], $_->[1], q{CREATE FUNCTION pg_catalog.wait_at_gate(int) RETURNS int LANGUAGE plpgsql
	IMMUTABLE AS 'BEGIN IF $1 = 1 THEN PERFORM pg_catalog.pg_advisory_xact_lock_shared(42); END IF;
	RETURN $1; END'}) foreach [ $source, 'built' ], [ $target, 'template1' ];
sql($source, 'built', <<'SQL');
CREATE FUNCTION same(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION hear(int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(pg_catalog.current_setting(name), ' ' ORDER BY name) FROM pg_catalog.unnest('{tcp_keepalives_count,
		tcp_keepalives_idle,tcp_keepalives_interval,transaction_isolation}'::pg_catalog.text[]) name $$;
CREATE TABLE small (id int, heard text GENERATED ALWAYS AS (hear(id)) STORED);
INSERT INTO small VALUES (1);
CREATE INDEX late ON small (same(id));
GRANT SELECT ON small TO PUBLIC;
CREATE SEQUENCE counter;
SELECT setval('counter', 41);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER keep BEFORE UPDATE ON small FOR EACH ROW EXECUTE FUNCTION keep();
DO $$ BEGIN FOR i IN 1 .. 3 LOOP
	EXECUTE format('CREATE TABLE wide%s (id int, t text);
		ALTER TABLE wide%1$s ALTER t SET STORAGE PLAIN', i);
	EXECUTE format('INSERT INTO wide%s SELECT g, repeat(chr(120), 7900)
		FROM generate_series(2, 1200) g; INSERT INTO wide%1$s VALUES (1)', i);
	EXECUTE format('CREATE INDEX wide%s_i ON wide%1$s (wait_at_gate(id))', i);
END LOOP; END $$;
SQL
my $databases = 0;

# A database where CREATE INDEX waits (gate 42), or commands that are named (43).
sub gated_database
{
	my ($gate, @tags) = @_;
	my $db = 'built' . ++$databases;
	make_database($target, $db);
	sql($target, $db, <<'SQL');
CREATE SCHEMA watching;
CREATE TABLE watching.seen (what text);
CREATE FUNCTION watching.note() RETURNS event_trigger LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO watching.seen SELECT current_setting('maintenance_work_mem') || ' '
		|| current_setting('max_parallel_maintenance_workers') || ' '
		|| current_setting('synchronous_commit') || ' '
		|| current_setting('idle_session_timeout') || ' '
		|| current_setting('tcp_keepalives_idle') || ' '
		|| current_setting('tcp_keepalives_interval') || ' '
		|| current_setting('tcp_keepalives_count') || ' '
		|| current_setting('transaction_read_only') || ' '
		|| coalesce(current_setting('transaction_timeout', true), '0') || ' '
		|| (SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout'); END $$;
CREATE FUNCTION watching.wait() RETURNS event_trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(43); END $$;
CREATE EVENT TRIGGER note ON ddl_command_end WHEN TAG IN ('CREATE INDEX')
	EXECUTE FUNCTION watching.note();
SQL
	sql($target, $db, q{ALTER ROLE CURRENT_USER SET transaction_timeout = '1h'}) if pg_major($target) >= 17;
	sql($target, $db, "CREATE EVENT TRIGGER wait ON ddl_command_start WHEN TAG IN ('$_')
		EXECUTE FUNCTION watching.wait()") foreach @tags;
	hold() if $databases > 1;    # the session in the database before ends
	hold_gates($target, $db);
	close_gate($gate);
	# what a database may set, and must not matter; but the number of workers is the database's
	sql($target, 'postgres', "ALTER DATABASE $db SET idle_session_timeout = '1h';
		ALTER DATABASE $db SET max_parallel_maintenance_workers = 1;
		ALTER DATABASE $db SET statement_timeout = '1h';
		ALTER DATABASE $db SET default_transaction_read_only = on;
		ALTER DATABASE $db SET default_transaction_isolation = serializable");
	return $db;
}

# A copy over TCP of which a number of sessions wait.
sub copy_at_gate
{
	my ($db, $n, @options) = @_;
	my $copy = start_copy($source, 'built', "host=127.0.0.1 port=" . $target->port . " dbname=$db", @options);
	wait_at_gate($target, $copy, $n);
	return $copy;
}

foreach my $limit (1, 2)
{
	my $db = gated_database(42);
	my $copy = copy_at_gate($db, $limit, '-j2', "--index-jobs=$limit");
	# all rows are there: a session too many would have begun to wait
	wait_until('all rows', sub { value($target, $db, 'SELECT count(*) FROM wide3') == 1200 });
	sleep 0.2;
	is(scalar(at_gate($target)), $limit, "--index-jobs=$limit: sessions at a time");
	open_gate();
	is(end_dump($copy), 0, "--index-jobs=$limit: exit code");
	is(value($target, $db, 'SELECT string_agg(DISTINCT what, $$;$$), count(*) FROM watching.seen'),
		'256MB 1 local 0 30 10 6 off 0 0|4', "--index-jobs=$limit: settings");
	is(value($target, $db, 'SELECT heard FROM small'), '6 30 10 read committed', "--index-jobs=$limit: settings of workers");
}

# ---- a connection that only waits

{
	my $db = gated_database(43, 'CREATE TABLE');
	my $copy = copy_at_gate($db, undef, '-j2');
	# while another session makes the definitions
	is(value($target, 'postgres', q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'pg_pardump' AND wait_event IS DISTINCT FROM 'advisory'}), 1,
		'the leader\'s session is ended');
	open_gate();
	is(end_dump($copy), 0, 'the leader\'s session, meanwhile: exit code') or diag($copy->{err});
	is($copy->{err}, '', 'the leader\'s session, meanwhile: no message');
}

# ---- connections that are lost

my $account = qr/error: the copy was not completed\n.*detail: All rows were committed on the target \(4 tables\)\./;
foreach my $fault (
	[ 'definitions', 43, 'CREATE TABLE', qr/error: query failed: FATAL: .*The worker was processing TABLE public\.small\./s,
		qr/error: the copy was not completed\n.*detail: The target contains some of the definitions but no rows\./ ],
	[ 'an index', 42, undef,
		qr/error: query failed: FATAL: .*The worker was building INDEX public\.wide\d_i\.\n.*error: could not build 3 of 3 indexes and constraints\n/s,
		qr/$account.*detail: Indexes and constraints built: 0 of 3\./s ],
	[ 'the rest', 43, 'CREATE TRIGGER', qr/error: query failed: FATAL: .*The worker was processing TRIGGER public\.small keep\./s,
		qr/$account.*detail: Indexes and constraints built: 3 of 3\..*detail: Not all objects .* were created.*sequence values/s ])
{
	my ($what, $gate, $tag, $message, $expected) = @$fault;
	my $copy = copy_at_gate(gated_database($gate, grep { defined } $tag), 1, '-j2', '--index-jobs=1', '--retries=0');
	my ($pid) = at_gate($target);
	terminate($target, $pid);
	open_gate();
	is(end_dump($copy), 1, "a connection is lost, $what: exit code");
	like($copy->{err}, $message, "a connection is lost, $what: named");
	like($copy->{err}, $expected, "a connection is lost, $what: account");
	is($copy->{out}, '', "a connection is lost, $what: no summary");
	is(sessions_left($source, $target), 0, "a connection is lost, $what: no session left");
	no_temp_files_ok("a connection is lost, $what");
}
my $lost = "built$databases";

# with retries, before and after the rows
foreach my $fault ([ 'CREATE TABLE', 'TABLE public\.small' ], [ 'CREATE TRIGGER', 'TRIGGER public\.small keep' ])
{
	my ($tag, $what) = @$fault;
	my $db = gated_database(43, $tag);
	my $copy = copy_at_gate($db, 1, '-j2', '--index-jobs=1');
	terminate($target, at_gate($target));
	open_gate();
	is(end_dump($copy), 0, "a connection is lost, $tag, with retries: exit code");
	like($copy->{err}, qr/warning: lost the connection of a worker; retry 1 of 5.*detail: The worker was processing $what\./s,
		"a connection is lost, $tag, with retries: retry");
	unlike($copy->{err}, qr/error: /, "a connection is lost, $tag, with retries: no error");
	is(value($target, $db, 'SELECT count(*), (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal) FROM small'), '1|1',
		"a connection is lost, $tag, with retries: rows and trigger on the target");
}
{
	my $db = $lost;
	is(value($target, $db, 'SELECT count(*) FROM wide1'), 1200, 'the rest: all rows');
	# what the hint and the manual say
	sql($target, 'postgres', "ALTER DATABASE $db RESET ALL");
	my ($from, $to) = ($source->connstr('built'), $target->connstr($db));
	my (undef, undef, $said) = run_program('bash', '-c', <<"SH");
pg_dump --section=pre-data --section=post-data -d "$from" | psql -Xq "$to"
psql -XAt "$from" <<'SQL' | psql -Xq "$to"
SELECT format('SELECT setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename),
	coalesce(last_value, start_value), last_value IS NOT NULL) FROM pg_sequences;
SQL
SH
	unlike($said, qr/ERROR:  (?!.*already exists)/, 'the rest, by hand: nothing else fails');
	is(value($target, $db, q{SELECT has_table_privilege('pg_monitor', 'small', 'SELECT'),
		(SELECT tgname FROM pg_trigger WHERE NOT tgisinternal), nextval('counter')}),
		't|keep|42', 'the rest, with psql: privilege, trigger and sequence');
}

# the process whose workers build indexes
{
	my $copy = copy_at_gate(gated_database(42), 1, '-j2', '--index-jobs=1');
	my ($builder) = grep { children($_) } children($copy->{pid});
	kill KILL => $builder;
	open_gate();
	is(end_dump($copy), 1, 'SIGKILL for the process that builds indexes: exit code');
	like($copy->{err}, qr/error: the process that builds indexes was terminated by signal 9/,
		'SIGKILL for the process that builds indexes: message');
	like($copy->{err}, $account, 'SIGKILL for the process that builds indexes: account');
	is(sessions_left($source, $target), 0,
		'SIGKILL for the process that builds indexes: no session left');
}

# an error before the rows
{
	make_database($target, 'failing');
	sql($target, 'failing', 'CREATE FUNCTION same(int) RETURNS text LANGUAGE sql AS $$SELECT NULL::text$$');
	my ($rc, $out, $err) = run_copy($source, 'built', $target, 'failing');
	is($rc, 1, 'an error before the rows: exit code');
	like($err, qr/warning: errors ignored on copy: 1\n/, 'an error before the rows: counted');
	like($err, qr/ERROR:  function "same" already exists with same argument types\n\tCommand was: CREATE FUNCTION public\.same\(integer\)/,
		'an error before the rows: the object is named');
	is(value($target, 'failing', 'SELECT (SELECT count(*) FROM wide1), (SELECT count(*) FROM wide2), (SELECT count(*) FROM wide3)'),
		'1200|1200|1200', 'an error before the rows: rows are copied');
	is(value($target, 'failing', q{SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal}), 1,
		'an error before the rows: definitions after them are made');
}

hold();

# ---- WAL

# Rows of tables in one piece need none if the target has wal_level = minimal.
$target->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0");
$target->restart;
my %wal;
foreach my $options ([ '--no-chunks' ], [ '--max-table-segment-pages=400' ])
{
	my $db = 'wal' . keys %wal;
	make_database($target, $db);
	my $before = value($target, $db, 'SELECT pg_current_wal_lsn()');
	copy_ok($source, 'built', $target, $db, "wal_level = minimal, @$options", '-j2', '--compare',
		@$options);
	$wal{"@$options"} = value($target, $db, "SELECT pg_current_wal_lsn() - '$before'");
}
cmp_ok($wal{'--no-chunks'}, '<', 5_000_000, 'wal_level = minimal: whole tables are not logged');
cmp_ok($wal{'--max-table-segment-pages=400'}, '>', 25_000_000, 'wal_level = minimal: chunks are');

$source->stop;
$target->stop;
done_testing();
