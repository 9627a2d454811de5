# Dumps whose sessions are lost.  The dump connects again and retries the
# interrupted jobs, and its archive is the same as without the loss; or it
# reports why it cannot continue, and leaves no files.
#
# stuck_dump() starts a dump whose workers wait at a gate, an advisory lock
# that a policy of the dumped table takes (Pardump::GatedDump).  So each fault
# occurs at a known place of the dump.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump dump_failed_ok nothing_remains_ok sessions children
  terminate wait_in_run);
use Pardump::Cluster qw(start_cluster start_psql sql value);
use Pardump::Gate qw(hold_gates open_gate);
use Pardump::GatedDump qw(make_gated stuck_dump leader_backend worker_backends survived_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('lost');
make_gated($node);

my $chunk = qr/chunk \d+ of \d+ of table public\.gated/;
my $terminated = qr/[Cc]ould not read rows: FATAL:  terminating connection due to administrator command/;

# A pattern for the warnings of retries of a job: one for each number, with
# its delay.
sub warned
{
	my ($job, @numbers) = @_;
	my $text = join '', map {
		my $delay = sprintf '%.1f', 0.5 * 2**($_ - 1);
		"(?s:.*)warning: lost the connection of a worker; retry $_ of \\d+ in $delay s"
		  . "\\npg_pardump: detail: $terminated(?s:.*?)\\npg_pardump: detail: The worker was dumping $job\\."
	} @numbers;
	return qr/^$text/;
}

# ---- the session of a worker is lost

{
	my $dump = stuck_dump(42, 2);
	terminate($node, (worker_backends())[0]);
	open_gate();
	survived_ok($dump, 'the session of one worker is lost', warned($chunk, 1));
	is(scalar(() = $dump->{err} =~ /warning/g), 1, 'the session of one worker is lost: one warning');
}
{
	my $dump = stuck_dump(42, 2);
	terminate($node, worker_backends());
	open_gate();
	survived_ok($dump, 'the sessions of all workers are lost', warned($chunk, 1, 1));
}
{
	my $dump = stuck_dump(42, 2, '--retries=3');
	foreach my $time (1 .. 3)
	{
		wait_in_run($dump, 'both wait', sub { worker_backends() == 2 });
		terminate($node, (worker_backends())[-1]);
	}
	wait_in_run($dump, 'both wait', sub { worker_backends() == 2 });
	open_gate();
	survived_ok($dump, 'the session of one worker is lost three times', warned($chunk, 1 .. 3));
}
{
	my $dump = stuck_dump(43, 1, '-Z0');
	terminate($node, worker_backends());
	open_gate();
	survived_ok($dump, 'a session is lost in a batch of tables', warned('table public\.in_batch', 1));
}
{
	# locked only now, as the leader measures large objects before workers
	# start
	my $dump = stuck_dump(42, 1, '-j1');
	my $locker = start_psql($node, 'gated');
	$locker->('BEGIN; LOCK TABLE pg_largeobject');
	open_gate();
	my $waiting = "wait_event = 'relation' AND application_name LIKE 'pg_pardump%'";
	wait_in_run($dump, 'the worker waits for large objects',
		sub { sessions($node, $waiting) });
	terminate($node, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE $waiting"));
	$locker->('ROLLBACK');
	survived_ok($dump, 'a session is lost while it reads large objects',
		qr/lost the connection of a worker; retry 1 of 5 .*detail: Query failed: FATAL:  terminating.*detail: The worker was dumping 40 large objects, 1001 to 1040\./s);
	$locker->();
}

# ---- the process of a worker is killed, as when memory runs out

foreach my $gate (42, 43)
{
	my $what = $gate == 42 ? 'chunks' : 'a batch of tables';
	my $dump = stuck_dump($gate, $gate == 42 ? 2 : 1, '-Z0');
	my @old = worker_backends();
	kill KILL => children($dump->{pid});
	# a backend that waits for a lock tests once a second if its client is
	# there
	wait_in_run($dump, "$what: others wait", sub {
		my %is_old = map { $_ => 1 } @old;
		return @old == grep { !$is_old{$_} } worker_backends();
	});
	open_gate();
	my $job = $gate == 42 ? $chunk : qr/table public\.in_batch/;
	survived_ok($dump, "workers killed in $what",
		qr/(warning: a worker process was killed; retry 1 of 5 in 0\.5 s\n[^\n]*detail: The process was terminated by SIGKILL[^\n]*\n[^\n]*detail: The worker was dumping $job.*){${\scalar @old}}/s);
}
{
	my $dump = stuck_dump(42, 2, '--retries=0');
	kill KILL => (children($dump->{pid}))[0];
	dump_failed_ok($node, $dump, 'a worker is killed, --retries=0',
		qr/error: worker process \d+ was terminated by signal 9: Killed\n.*The worker was dumping $chunk/);
	open_gate();
}

# ---- retries fail

{
	my $dump = stuck_dump(42, 2, '--retries=1');
	terminate($node, (worker_backends())[-1]);
	wait_in_run($dump, 'both wait again', sub { worker_backends() == 2 });
	terminate($node, (worker_backends())[-1]);
	dump_failed_ok($node, $dump, 'retries exhausted',
		qr/warning: .*; retry 1 of 1 in 0\.5 s.*error: $terminated.*detail: The worker was dumping $chunk\.\n.*detail: The job was tried 2 times\./s);
	open_gate();
}
{
	my $dump = stuck_dump(42, 2, '--retries=2');
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	terminate($node, (worker_backends())[-1]);
	dump_failed_ok($node, $dump, 'a worker cannot connect again',
		qr/retry 1 of 2 in.*retry 2 of 2 in.*role "dumper" is not permitted to log in.*error: .*not permitted.*tried 3 times/s);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	open_gate();
}
{
	my $dump = stuck_dump(42, 2);
	my $pid = (worker_backends())[-1];
	value($node, 'postgres', "SELECT pg_cancel_backend($pid)");
	dump_failed_ok($node, $dump, 'a cancelled statement',
		qr/^pg_pardump: error: could not read rows: ERROR:  canceling statement due to user request/);
	open_gate();
}

# ---- the session of the leader is lost, or all sessions with the snapshot

my $leader_lost = qr/warning: lost the connection that held the locks on all tables; retry 1 of 5 in 0\.5 s
pg_pardump: detail: FATAL:  terminating connection due to administrator command\.?/;
my $no_holder = qr/error: the snapshot of this run was lost\n.*detail: All sessions that had the snapshot were lost/;

# Changes rows after the snapshot was taken.  The archive must not contain
# these changes, no matter from which session another one imports the
# snapshot.
sub change_data
{
	sql($node, 'gated', <<'SQL');
UPDATE gated SET t = 'changed' WHERE id % 7 = 0;
DELETE FROM after_it WHERE g % 3 = 0;
INSERT INTO in_batch SELECT g, 'new' FROM generate_series(1000, 1100) g;
SQL
	return;
}

sub change_back
{
	sql($node, 'gated', <<'SQL');
UPDATE gated SET t = repeat(md5(id::text), 4) WHERE id % 7 = 0;
INSERT INTO after_it SELECT g, md5(g::text) FROM generate_series(3, 300, 3) g;
DELETE FROM in_batch WHERE id >= 1000;
SQL
	return;
}

# Waits until the leader has its locks again, and returns its new backend.
sub wait_for_new_leader
{
	my ($dump) = @_;
	my $pid;
	wait_in_run($dump, 'the leader has locks again', sub {
		$pid = value($node, 'gated', <<'SQL');
SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE relation = 'after_it'::regclass AND granted
	AND application_name LIKE 'pg_pardump%' AND wait_event IS DISTINCT FROM 'advisory'
SQL
	});
	note("the new leader is $pid");
	return $pid;
}

foreach my $given (0, 1)
{
	my $what = $given ? 'the session of the leader is lost, --snapshot' : 'the session of the leader is lost';
	my ($holder, @snapshot);
	if ($given)
	{
		$holder = start_psql($node, 'gated');
		$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
		@snapshot = '--snapshot=' . $holder->('SELECT pg_export_snapshot()');
	}
	my $dump = stuck_dump(42, 2, @snapshot);
	$holder->() if $given;
	change_data();
	my $leader = leader_backend();
	terminate($node, $leader);
	isnt(wait_for_new_leader($dump), $leader, "$what: the leader has a new session");
	open_gate();
	survived_ok($dump, $what, qr/^pg_pardump: $leader_lost\n$/);
	change_back();
}
{
	my $dump = stuck_dump(42, 2);
	change_data();
	my ($one, $two) = worker_backends();
	# the leader imports the snapshot from a worker, and new workers import it
	# from the leader
	terminate($node, leader_backend());
	wait_for_new_leader($dump);
	terminate($node, $one, $two);
	wait_in_run($dump, 'two others wait', sub { worker_backends() == 2 });
	terminate($node, leader_backend());
	open_gate();
	survived_ok($dump, 'all sessions are lost, one after the other',
		qr/$leader_lost.*(lost the connection of a worker; .*){2}$leader_lost/s);
	change_back();
}
# A worker without a job does not notice that its session is lost.  The leader
# must find the snapshot in the session of another worker, or report that no
# session has it.
foreach my $others (0, 1)
{
	my $what = ($others ? 'all sessions' : 'the idle sessions') . ' are lost at once';
	my $dump = stuck_dump(42, 2, '-j3');
	my $idle = "state = 'idle in transaction' AND state_change < clock_timestamp() - interval '3 s'"
	  . ' AND pid <> ' . leader_backend();
	wait_in_run($dump, 'the third has no job', sub { sessions($node, $idle) });
	terminate($node, split(/\n/, value($node, 'postgres', <<'SQL')), $others ? worker_backends() : ());
SELECT pid FROM pg_stat_activity
WHERE application_name LIKE 'pg_pardump%' AND wait_event IS DISTINCT FROM 'advisory'
SQL
	dump_failed_ok($node, $dump, $what, $no_holder) if $others;
	wait_for_new_leader($dump) if !$others;
	open_gate();
	survived_ok($dump, $what, qr/^pg_pardump: $leader_lost\n$/) if !$others;
}
{
	my $dump = stuck_dump(42, 2, '--retries=0');
	terminate($node, leader_backend());
	dump_failed_ok($node, $dump, 'the session of the leader is lost, --retries=0',
		qr/^pg_pardump: error: lost the connection that held the locks on all tables\npg_pardump: detail: FATAL:  terminating/);
	open_gate();
}
{
	my $dump = stuck_dump(42, 2, '--retries=1');
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	terminate($node, leader_backend());
	dump_failed_ok($node, $dump, 'the leader cannot connect again',
		qr/error: lost the connection that held the locks on all tables\n.*detail: Connection .*not permitted to log in.*\n.*detail: .*\n.*hint: Check the server and the network, /);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	open_gate();
}

# changes to a table while the leader has no locks
foreach my $change (
	[ 'TRUNCATE after_it', "INSERT INTO after_it SELECT g, md5(g::text) FROM generate_series(1, 300) g" ],
	[ 'ALTER TABLE after_it RENAME t TO u', 'ALTER TABLE after_it RENAME u TO t' ],
	[ 'ALTER TABLE after_it ENABLE ROW LEVEL SECURITY', 'ALTER TABLE after_it DISABLE ROW LEVEL SECURITY' ],
	[ 'ALTER TABLE after_it RENAME TO other; CREATE TABLE after_it AS SELECT * FROM other; GRANT SELECT ON after_it TO dumper',
		'DROP TABLE after_it; ALTER TABLE other RENAME TO after_it' ])
{
	my ($do, $undo) = @$change;
	my $dump = stuck_dump(42, 2);
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	terminate($node, leader_backend());
	sql($node, 'gated', $do);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	dump_failed_ok($node, $dump, "$do without the leader's locks",
		qr/error: table public\.after_it was changed while this run had no lock on it\n.*hint: Run the same command again/);
	sql($node, 'gated', $undo);
	open_gate();
}
{
	my $dump = stuck_dump(42, 2);
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	terminate($node, leader_backend());
	sql($node, 'gated', 'ANALYZE; CREATE INDEX i ON after_it (g); VACUUM');
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	open_gate();
	survived_ok($dump, 'what does no harm without the leader\'s locks', qr/lost the connection that held the locks/);
}

# ---- the server is stopped

foreach my $again (0, 1)
{
	my $what = 'immediate shutdown' . ($again ? ' and start' : '');
	my $dump = stuck_dump(42, 2);
	$node->stop('immediate');
	$node->start if $again;
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, $no_holder, "$what: message");
	is(scalar(() = $dump->{err} =~ /^pg_pardump: error: /mg), 1, "$what: one error");
	ok(!-e $dump->{dir}, "$what: the directory is removed");
	$node->start if !$again;
	nothing_remains_ok($node, $dump->{dir}, $what);
	hold_gates($node, 'gated');
}

# ---- after a restart, the server exports another snapshot with the same name

# Exports snapshots with these names in a new run of the server.  The name of
# a snapshot consists of the numbers of its exporter's process and
# transaction, so sessions with the same numbers export snapshots with the
# same names.
sub export_again
{
	my %wanted;
	foreach my $name (@_)
	{
		my ($process, $transaction) = map { hex } $name =~ /^(\w+)-(\w+)-/;
		$wanted{$process} = $transaction;
	}
	my (@sessions, $found);
	foreach (1 .. 15)
	{
		push @sessions, my $psql = start_psql($node, 'gated');
		while (1)
		{
			my $name = $psql->("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT pg_export_snapshot()");
			my ($process, $transaction) = map { hex } $name =~ /^(\w+)-(\w+)-/;
			my $distance = ($wanted{$process} // 0) - $transaction;
			$found++ if $distance == 0;
			last if $distance <= 0;
			$psql->('ROLLBACK');
		}
	}
	ok($found, 'the new server run exports a snapshot with the same name');
	return @sessions;
}

{
	# enough retries for the time until workers can connect again
	my $dump = stuck_dump(42, 2, '--retries=9');
	my @workers = children($dump->{pid});
	my @names = map { s/.*\///r } glob $node->data_dir . '/pg_snapshots/*';
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	kill STOP => @workers;
	$node->stop('immediate');
	$node->start;
	my @sessions = export_again(@names);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	dump_failed_ok($node, $dump, 'another snapshot has the same name',
		qr/No session of a worker has the snapshot.*$no_holder/s);
	$_->('ROLLBACK'), $_->() foreach @sessions;
}

$node->stop;
done_testing();
