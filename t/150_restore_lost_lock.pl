# The session that has a restore's lock is lost in silence: nothing comes any more
# from the server, which has not noticed, and holds the lock.  The leader has it
# again, from a session that the server ends at its word, or when it ends by itself.
# Then sessions that read the log, and a log that is another role's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl qw(O_CREAT O_EXCL);
use Pardump::Background qw(end_dump wait_in_run terminate);
use Pardump::Cluster qw(start_cluster start_psql make_database dump_ok new_path sql value);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(start_load sessions_left);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = start_cluster('restore_lost_lock');
sql($node, 'postgres', 'CREATE ROLE keeper LOGIN');
make_database($node, 'lost', options => 'TEMPLATE template0 OWNER keeper');
sql($node, 'lost', <<'SQL');
SET ROLE keeper;
CREATE SCHEMA s;
CREATE TABLE s.t AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX ON s.t (t);
SQL
my $data = fingerprint($node, 'lost');
my $schema = schema_text($node, 'lost');
my $archive = dump_ok($node, 'lost', 'archive', 'pg_pardump', '--max-table-segment-pages=20');

# A relay in which the first connection that has the lock passes nothing on any
# more once its client asks whether the server is there, while the file "$silence" is.
sub start_silence
{
	my ($silence) = @_;
	append_to_file($silence, '');
	my $has_lock;
	return start_relay($node, sub {
		my ($bytes, $is_server) = @_;
		return 1 if $is_server;
		if ($has_lock && $$bytes =~ /Q.{4}SHOW pardump\.session\0/s && sysopen my $mark, "$silence.was", O_CREAT | O_EXCL)
		{
			sleep 0.05 while -e $silence;
		}
		$has_lock = 1 if $$bytes =~ /LOCK TABLE pardump_restore\.running/;
		return 1;
	});
}

# A restore of that database as that role, whose sessions pass by the relay.
sub begin_restore
{
	my ($db, $relay, @options) = @_;
	return start_load('pg_parrestore', '-d', "host=$relay->{host} port=$relay->{port} dbname=$db user=keeper",
		@options, $archive);
}

sub restored_ok
{
	my ($run, $db, $what, $words) = @_;
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, $words, "$what: what it says");
	same_database_ok($node, $db, $data, $schema, $what);
	return;
}

# Both at the same time: what they wait for are quarters of a minute.  The workers
# have done all when the leader looks.  In one of the databases it may not end its
# session, which ends when its client is heard to be gone.

my $silence = new_path('silence');
my $other = new_path('other');
make_database($node, $_, options => 'TEMPLATE template0 OWNER keeper') foreach 'by_word', 'by_itself';
sql($node, 'by_itself', 'REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC');
my @relays = map { start_silence($_) } $silence, $other;
my $by_word = begin_restore('by_word', $relays[0], '-j2');
# the server may need longer than five retries to end the session
my $by_itself = begin_restore('by_itself', $relays[1], '-j2', '--retries=1000');

restored_ok($by_word, 'by_word', 'ended by word', qr/^$/);
ok(-e "$silence.was", 'ended by word: the session was lost in silence');
wait_in_run($by_itself, 'the leader tries again', sub { return $by_itself->{err} =~ /retry 1 of 1000/ });
unlink $other, $silence;
# as it was
sql($node, 'by_itself', 'GRANT EXECUTE ON FUNCTION pg_terminate_backend TO PUBLIC');
restored_ok($by_itself, 'by_itself', 'ended by itself',
	qr/\A(?:\S+ warning: lost the leader's connection to the target; retry \d+ of 1000 in [\d.]+ s\n\S+ detail: The lock of the lost session is still held, by that session or by another run\.\n)+\z/);
stop_proxy($_) foreach @relays;

# ---- the log is read when it is to be removed: the leader names the reader, waits
# again if its connection is lost meanwhile, and can be interrupted

sub sessions_that
{
	my ($condition) = @_;
	return split /\n/, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE $condition");
}

# A restore that waits, with its last index, until the session gives up lock 7.
sub restore_until_index
{
	my ($db) = @_;
	make_database($node, $db, options => 'TEMPLATE template0');
	sql($node, $db, q{CREATE FUNCTION public.gate() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			PERFORM pg_catalog.pg_advisory_xact_lock_shared(7); END$$;
		CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION public.gate()});
	my $session = start_psql($node, $db);
	$session->('SELECT pg_advisory_lock(7), pg_advisory_lock(8)');
	my $run = start_load('pg_parrestore', '-d', $node->connstr($db), '-j2', $archive);
	wait_in_run($run, 'the index is being built', sub { return sessions_that("datname = '$db' AND wait_event = 'advisory'") });
	return ($run, $session);
}

my $removes = q{wait_event_type = 'Lock' AND query ~ '^DROP SCHEMA'};

# The same, and all else is done: it waits for a session that reads the log.
sub restore_until_reader
{
	my ($db) = @_;
	my ($run, $session) = restore_until_index($db);
	my $pid = $session->('SELECT pg_backend_pid()');
	$session->('BEGIN; LOCK TABLE pardump_restore.done IN ACCESS SHARE MODE; SELECT pg_advisory_unlock(7)');
	wait_in_run($run, 'the log is to be removed', sub { return sessions_that($removes) });
	return ($run, $session, $pid);
}

{
	my ($run, $session, $pid) = restore_until_reader('read');
	wait_in_run($run, 'the leader tells who reads', sub {
		return $run->{err} =~ /warning: still waiting after \d+ s to drop schema "pardump_restore", which another session is reading\n.*detail: Process $pid of role /;
	});
	terminate($node, sessions_that($removes));
	wait_in_run($run, 'it is tried again', sub {
		return $run->{err} =~ /warning: lost the leader's connection to the target; retry 1 of 5/ && sessions_that($removes);
	});
	$session->('COMMIT; DROP FUNCTION public.gate CASCADE');
	$session->();
	restored_ok($run, 'read', 'a log that is read', qr/\A(?!.*error: )/s);
	is(value($node, 'read', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}), 0, 'a log that is read: it is gone');
}
{
	my ($run, $session) = restore_until_reader('interrupted');
	kill INT => $run->{pid};
	is(end_dump($run), 1, 'interrupted before the log is removed: exit code');
	like($run->{err}, qr/error: terminated by user/, 'interrupted before the log is removed: message');
	$session->();
}

# ---- the leader's lock is lost, and another role has put a schema of its own in the
# place of the log: nothing of it is called

{
	my $db = 'forged';
	my ($run, $session) = restore_until_index($db);
	# ANALYZE waits behind this one, and so the leader for it, when all else is done
	my $holder = start_load('psql', '-Xqd', $node->connstr($db), '-c',
		'BEGIN; LOCK TABLE s.t IN SHARE UPDATE EXCLUSIVE MODE; SELECT pg_advisory_lock(8)');
	wait_in_run($holder, 'it waits for the index', sub { return sessions_that(q{wait_event = 'relation' AND query ~ '^BEGIN; LOCK TABLE'}) });
	$session->('SELECT pg_advisory_unlock(7)');
	wait_in_run($run, 'only ANALYZE is left', sub { return sessions_that(q{wait_event = 'relation' AND query ~ 'ANALYZE'}) });
	my $attempt = value($node, $db, 'SELECT attempt FROM pardump_restore.run');
	terminate($node, value($node, $db, q{SELECT pid FROM pg_locks WHERE relation = 'pardump_restore.running'::regclass}));
	sql($node, $db, <<"SQL");
SET client_min_messages = error;
DROP SCHEMA pardump_restore CASCADE;
CREATE ROLE mallory;
GRANT CREATE ON DATABASE $db TO mallory;
SET ROLE mallory;
CREATE SCHEMA pardump_restore;
CREATE SEQUENCE pardump_restore.caught;
CREATE FUNCTION pardump_restore.catch() RETURNS int LANGUAGE plpgsql AS \$\$BEGIN
	PERFORM pg_catalog.nextval('pardump_restore.caught');
	RETURN $attempt; END\$\$;
CREATE VIEW pardump_restore.running AS SELECT;
CREATE VIEW pardump_restore.run AS SELECT pardump_restore.catch() AS attempt;
CREATE TABLE pardump_restore.done (name text PRIMARY KEY, attempt int, errors int);
CREATE TABLE pardump_restore.no_crash (attempt int);
SQL
	$session->('SELECT pg_advisory_unlock(8)');
	end_dump($holder);
	is(end_dump($run), 1, 'a log of another role: exit code');
	like($run->{err}, qr/error: schema pardump_restore on the target no longer belongs to this run\n.*detail: .*\n.*hint: Run the same command again, into an empty database or with --clean\./, 'a log of another role: message');
	is(value($node, $db, 'SELECT is_called FROM pardump_restore.caught'), 'f', 'a log of another role: nothing of it is called');
	$session->();
}
is(sessions_left($node), 0, 'no session left');

done_testing();
