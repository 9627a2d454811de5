# A hot standby whose replay waits for as long as a dump takes: it waits for the
# leader's lock, and no other session may wait for it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok wait_until
  sessions);
use Pardump::Cluster qw(start_cluster start_standby make_database restore_ok
  start_psql sql value);
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = start_cluster('primary', allows_streaming => 1);
make_database($primary, 'replayed');
# gated is read first, and guarded, which needs other, before other
sql($primary, 'replayed', <<'SQL');
CREATE ROLE dumper LOGIN;
CREATE TABLE gated AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 20000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id = 5000
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE TABLE other AS SELECT g AS id FROM generate_series(1, 1000) g;
CREATE SCHEMA guarded;
CREATE TABLE guarded.t AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 10000) g;
ALTER TABLE guarded.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY guard ON guarded.t USING (EXISTS (SELECT FROM public.other));
GRANT USAGE ON SCHEMA guarded TO dumper;
GRANT SELECT ON gated, other, guarded.t TO dumper;
GRANT EXECUTE ON FUNCTION pg_read_file(text, bigint, bigint, boolean) TO dumper;
SQL
my $standby = start_standby($primary);
$standby->append_conf('postgresql.conf',
	"max_standby_streaming_delay = -1\nmax_standby_archive_delay = -1");
$standby->reload;
my $holder = start_psql($standby, 'replayed');

# A dump that waits at the gate, and replay for its lock on the table "other".
sub start_behind
{
	my (@options) = @_;
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($standby->connstr('replayed'), '-U', 'dumper', '--enable-row-security',
		'--no-chunks', '--lock-wait-timeout=500', @options);
	wait_until('the worker waits', sub {
		$dump->{h}->pump_nb;
		return sessions($standby, "wait_event = 'advisory'");
	});
	sql($primary, 'replayed', 'ALTER TABLE other ADD more int');
	wait_until('replay waits', sub {
		return value($standby, 'replayed',
			"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'other'::regclass");
	});
	$holder->('SELECT pg_advisory_unlock_all()');
	return $dump;
}

# As it was in the dump's snapshot.
sub undo
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	sql($primary, 'replayed', 'ALTER TABLE other DROP more');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

{
	my $what = 'replay waits for the leader';
	my $dump = start_behind('-t', 'gated', '-t', 'other');
	is(end_dump($dump), 0, "$what: exit code");
	like($dump->{err}, qr/^pg_pardump: warning: could not lock table public\.other again; reading it in the session that already holds the lock
pg_pardump: detail: Replay \(startup process \d+\) is waiting for an ACCESS EXCLUSIVE lock on the table\.\n$/,
		"$what: message");
	undo();
	make_database($primary, 'copy', options => 'TEMPLATE template0');
	restore_ok($primary, $dump->{dir}, 'copy', $what);
	is(value($primary, 'copy', 'SELECT count(*) FROM other'), 1000, "$what: all rows");
}
{
	my $dump = start_behind();
	dump_failed_ok($standby, $dump, 'a policy waits behind replay',
		qr/error: deadlock detected\n.*detail: This run is waiting for a lock on (public\.)?other behind process \d+, which is waiting for this run\.\n.*hint: /);
	undo();
}

$holder->();
$standby->stop;
$primary->stop;
done_testing();
