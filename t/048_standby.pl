# A dump of a hot standby, whose replay takes rows and locks from it: the dump
# ends and says by which settings, or continues, if its snapshot lives.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump pump_run end_dump dump_failed_ok wait_until sessions
  backends terminate);
use Pardump::Cluster qw(start_cluster start_standby make_database restore_ok
  run_program sql value);
use Pardump::Command qw(check_list);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Gate qw(hold_gates hold close_gate open_gate at_gate wait_at_gate);
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = start_cluster('primary', allows_streaming => 1);
make_database($primary, 'replayed');
sql($primary, 'replayed', <<'SQL');
CREATE ROLE dumper LOGIN;
CREATE TABLE gated (id int PRIMARY KEY, t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 10000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id IN (5000, 9000)
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE TABLE other AS SELECT g AS id FROM generate_series(1, 1000) g;
GRANT SELECT ON gated, other TO dumper;
GRANT EXECUTE ON FUNCTION pg_read_file(text, bigint, bigint, boolean) TO dumper;
SQL
my $standby = start_standby($primary);
hold_gates($standby, 'replayed');
my $copies = 0;

sub set_standby
{
	my ($name, $value) = @_;
	$standby->append_conf('postgresql.conf', "$name = $value");
	$standby->reload;
	wait_until("$name is set", sub {
		return value($standby, 'postgres', "SHOW $name") eq $value;
	});
	return;
}

# Replay takes nothing while a dump begins: pages of catalogs that VACUUM or a
# query of the primary has pruned are wanted for a moment, too, and feedback does
# not help with these.
sub patient { set_standby('max_standby_streaming_delay', '1min'); return; }
sub impatient { set_standby('max_standby_streaming_delay', '100ms'); return; }

sub replay { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); return; }

# Both workers wait in the middle of a chunk.
sub dump_standby
{
	my (@options) = @_;
	close_gate(42);
	my $dump = start_dump($standby->connstr('replayed'), '-j2', '-U', 'dumper',
		'--enable-row-security', '--max-table-segment-pages=20', @options);
	wait_at_gate($standby, $dump, 2);
	return $dump;
}

sub dump_restored_ok
{
	my ($dump, $want, $what) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	my $copy = 'copy' . ++$copies;
	make_database($primary, $copy, options => 'TEMPLATE template0');
	restore_ok($primary, $dump->{dir}, $copy, $what);
	same_data_ok($want, fingerprint($primary, $copy), $what);
	return;
}

my $for_rows = qr/HINT:  On the standby, enable hot_standby_feedback, or set max_standby_streaming_delay and max_standby_archive_delay to -1 during the run\.$/m;
my $for_locks = qr/HINT:  Set max_standby_streaming_delay and max_standby_archive_delay to -1 on the standby during the run; or, if VACUUM took the lock, set vacuum_truncate to off on the primary/;
my $vacuumed = 'DELETE FROM other WHERE id % 2 = 0; VACUUM other';

# ---- told before: --check, by what of it counts

sub delays
{
	my ($rc, $out) = run_program('pg_pardump', '--check', '-d', $standby->connstr('replayed'), '-U', 'dumper',
		'--enable-row-security');
	is($rc, 0, 'delays: exit code');
	return check_list($out) =~ s/^  (?:detail|hint): .*\n//mgr;
}
is(delays(), "no problems found\n", 'delays: no warning without a finite delay');
set_standby('max_standby_streaming_delay', '1min');
my $warning = 'warning: replay on this standby might cancel queries of the run';
is(delays(), "$warning (max_standby_streaming_delay = 1min)\n1 problem (errors: 0, warnings: 1); a run would start\n", 'delays: warning for the delay of streaming');
set_standby('restore_command', 'false');
is(delays(), "$warning (max_standby_streaming_delay = 1min and max_standby_archive_delay = 30s)\n1 problem (errors: 0, warnings: 1); a run would start\n",
	'delays: warning for both delays');
set_standby('max_standby_archive_delay', '-1');
is(delays(), "$warning (max_standby_streaming_delay = 1min)\n1 problem (errors: 0, warnings: 1); a run would start\n", 'delays: not of that');
$standby->append_conf('postgresql.conf', "restore_command = ''\nmax_standby_archive_delay = 30s");

# ---- what replay must take away

foreach my $conflict (
	[ 'rows', $vacuumed, qr/\s*DETAIL:  User query might have needed to see row versions that must be removed\.\n\s*$for_rows/ ],
	[ 'a lock', 'BEGIN; LOCK TABLE other; COMMIT', qr/\s*DETAIL:  User was holding a relation lock for too long\.\n\s*$for_locks/ ])
{
	my ($what, $sql, $words) = @$conflict;
	patient();
	my $dump = dump_standby();
	impatient();
	# VACUUM is not for a transaction, which several statements at once are
	sql($primary, 'replayed', $_) foreach $what eq 'rows' ? split(/; /, $sql) : $sql;
	dump_failed_ok($standby, $dump, "a conflict about $what",
		qr/error: the server terminated the session that held the locks on all tables\n.*detail: FATAL:  terminating connection due to conflict with recovery\n$words/);
	is(scalar(() = $dump->{err} =~ s/.*error: //sr =~ /hint/gi), 1, "a conflict about $what: one hint");
	open_gate();
	replay();
}

# ---- what it must not; the delay is told before the run

my $only_warned = qr/^pg_pardump: warning: replay on this standby might cancel queries of the run \(max_standby_streaming_delay = 1min\)\n.*detail: .*\n.*hint: .*\n$/;

patient();
set_standby('wal_receiver_status_interval', '1s');
set_standby('hot_standby_feedback', 'on');
{
	my $want = fingerprint($primary, 'replayed');
	my $dump = dump_standby();
	wait_until('the primary knows the snapshot', sub {
		return value($primary, 'postgres',
			'SELECT count(*) FROM pg_stat_replication WHERE backend_xmin IS NOT NULL');
	});
	sql($primary, 'replayed', $_) foreach split /; /, $vacuumed =~ s/2/3/r;
	replay();
	open_gate();
	dump_restored_ok($dump, $want, 'hot_standby_feedback');
	like($dump->{err}, $only_warned, 'hot_standby_feedback: a warning that it does not help with locks, and that is all');
}

# but VACUUM takes a lock to give back the empty end of a table
sub make_empty_end
{
	my (@options) = @_;
	sql($primary, 'replayed', $_) foreach 'DROP TABLE IF EXISTS emptied',
	  "CREATE TABLE emptied @options AS SELECT g, repeat(md5(g::text), 4) AS t FROM generate_series(1, 100) g",
	  'GRANT SELECT ON emptied TO dumper', 'DELETE FROM emptied';
	replay();
	return;
}
{
	make_empty_end();
	my $dump = dump_standby();
	impatient();
	# the primary may have an older snapshot's feedback yet
	wait_until('VACUUM cuts the table', sub {
		pump_run($dump->{h});
		sql($primary, 'replayed', 'VACUUM emptied');
		return value($primary, 'replayed', "SELECT pg_relation_size('emptied') = 0") eq 't';
	});
	dump_failed_ok($standby, $dump, 'VACUUM and hot_standby_feedback',
		qr/detail: .*due to conflict with recovery\n\s*DETAIL:  User was holding a relation lock for too long\.\n\s*$for_locks/);
	open_gate();
	patient();
	make_empty_end('WITH (vacuum_truncate = off)');
	my $want = fingerprint($primary, 'replayed');
	$dump = dump_standby();
	sql($primary, 'replayed', 'VACUUM emptied');
	replay();
	open_gate();
	dump_restored_ok($dump, $want, 'VACUUM and vacuum_truncate');
	like($dump->{err}, $only_warned, 'VACUUM and vacuum_truncate: nothing else is said');
}

# ---- lost sessions: a worker's is replaced, the leader's cannot be

{
	my $want = fingerprint($primary, 'replayed');
	my $dump = dump_standby();
	terminate($standby, at_gate($standby));
	open_gate();
	dump_restored_ok($dump, $want, 'workers terminated');
	like($dump->{err}, qr/(lost the connection of a worker.*){2}/s, 'workers terminated: warnings');
}
{
	my $dump = dump_standby();
	terminate($standby, backends($standby, "wait_event IS DISTINCT FROM 'advisory'"));
	dump_failed_ok($standby, $dump, 'the leader terminated',
		qr/error: lost the connection that held the locks on all tables\n.*detail: On a standby, no other session can replace it/s);
	open_gate();
}

# so it is not taken for lost too soon
{
	my $want = fingerprint($primary, 'replayed');
	my $dump = dump_standby();
	my $leader = value($standby, 'postgres', <<'SQL');
SELECT pid FROM pg_stat_activity
WHERE application_name LIKE 'pg_pardump%' AND wait_event IS DISTINCT FROM 'advisory'
SQL
	kill STOP => $leader;
	open_gate();
	wait_until('the workers are done', sub { sessions($standby, "query LIKE 'COPY%' AND state = 'active'") == 0 });
	sleep 17;
	kill CONT => $leader;
	dump_restored_ok($dump, $want, 'the leader without an answer for a while');
	like($dump->{err}, $only_warned, 'the leader without an answer for a while: no message about the leader');
}

hold();
$standby->stop;
$primary->stop;
done_testing();
