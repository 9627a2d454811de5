# Attempts at tasks of a restore that have to wait for others, which are stopped, and
# runs that wait for whoever reads their log: they tell for whom, can be ended, and
# load no row twice. Attempts that were ended by somebody else say that another one
# may succeed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run wait_until terminate children);
use Pardump::Cluster qw(new_path start_psql value);
use Pardump::Copy qw(start_load sessions_left);
use Pardump::Gate qw(open_gate at_gate);
use Pardump::GatedRestore qw(start_gated gated_tasks begin_gated_restore gated_archive gated_database restored_ok);
use Pardump::Tasks qw(restore_runner last_task task_pid forge_log forged_log_not_called_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_gated('restore_task_waits');

# Process IDs of sessions of which this is true.
sub sessions_that
{
	my ($condition) = @_;
	return split /\n/, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE $condition");
}

# ---- an attempt is stopped in the midst of its rows: another one tells of it, and so
# does the leader; it can be ended; and when the session is ended that both name, the
# next attempt loads what was undone

{
	my $run = gated_tasks(1, '');
	my ($plan) = glob gated_archive() . '/plan.restore.*/plan.json';
	my $task = last_task($run);
	my ($held) = at_gate($node);
	my @stopped = (children(task_pid($task)), task_pid($task));
	kill STOP => @stopped;
	open_gate();
	# who waits for somebody that has nothing to do with the log is not told to end that
	my $other = start_psql($node, gated_database());
	my $stranger = $other->('SELECT pg_backend_pid()');
	$other->('BEGIN; CREATE SCHEMA other');
	my $waits = start_load('psql', '-Xqd', $node->connstr(gated_database()), '-c',
		'LOCK TABLE pardump_restore.done IN ROW EXCLUSIVE MODE; CREATE SCHEMA other; DROP SCHEMA other');
	wait_until('it waits', sub { return sessions_that(qq{$stranger = ANY (pg_blocking_pids(pid))}) });
	my @again = ('pg_parrestore', "--plan=$plan", "--task=$task/3");
	my $who = qr/\n.*detail: Process $held of role "[^"]*", application "pg_par[^"]*", from the server's own host: \S.* for \d+ s\.\n.*hint: If that one is stopped/;
	my $new = start_load(@again);
	wait_in_run($new, 'the attempt tells', sub {
		return $new->{err} =~ /warning: waiting for \d+ s by now to do "rows \d+", which another session has begun, and not committed$who/;
	});
	kill INT => $new->{pid};
	is(end_dump($new), 75, 'an attempt that waits is interrupted: exit code');
	like($new->{err}, qr/error: terminated by user/, 'an attempt that waits is interrupted: message');
	wait_until('its session is gone', sub { return !sessions_that(q{wait_event = 'transactionid' AND application_name LIKE 'pg_par%'}) });
	$new = start_load(@again);
	wait_in_run($run, 'the leader tells', sub {
		return $run->{err} =~ /warning: tasks wait for other sessions on the target, which have begun the same work and not committed it$who/;
	});
	unlike($run->{err}, qr/Process $stranger /, 'the leader tells of nobody else');
	$other->('ROLLBACK');
	$other->();
	is(end_dump($waits), 0, 'nobody else is waited for any more');
	terminate($node, $held);
	is(end_dump($new), 0, 'the session of the stopped attempt ended: the other one has done all');
	kill CONT => @stopped;
	restored_ok($run, 'the stopped attempt goes on', qr/\A(?!.*error: )/s);
}

# ---- the log is read when it is to be removed, and the connection lost meanwhile

sub reader
{
	my $reader = start_psql($node, gated_database());
	my $pid = $reader->('SELECT pg_backend_pid()');
	$reader->('BEGIN; LOCK TABLE pardump_restore.done IN ACCESS SHARE MODE');
	return ($reader, $pid);
}

my $removes = q{wait_event_type = 'Lock' AND query ~ '^DROP SCHEMA'};

{
	my $run = gated_tasks(1, '');
	my ($reader, $pid) = reader();
	open_gate();
	wait_in_run($run, 'the leader tells who reads', sub {
		return $run->{err} =~ /warning: waiting for \d+ s by now to remove schema "pardump_restore", which another session reads\n.*detail: Process $pid of role /;
	});
	terminate($node, sessions_that($removes));
	wait_in_run($run, 'it is tried again', sub {
		return $run->{err} =~ /warning: the leader lost its connection to the target: .*; retry 1 of 5/s && sessions_that($removes);
	});
	$reader->('COMMIT');
	$reader->();
	restored_ok($run, 'the log is removed', qr/\A(?!.*error: )/s);
	is(value($node, gated_database(), q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}), 0, 'the log is gone');
}
{
	my $run = gated_tasks(1, '');
	my ($reader) = reader();
	open_gate();
	wait_in_run($run, 'the log is to be removed', sub { return sessions_that($removes) });
	kill INT => $run->{pid};
	is(end_dump($run), 1, 'interrupted before the log is removed: exit code');
	like($run->{err}, qr/error: terminated by user/, 'interrupted before the log is removed: message');
	$reader->();
	is(sessions_left($node), 0, 'interrupted before the log is removed: no session left');
}

# ---- what ends an attempt from outside is no reason not to try again

foreach my $fault (
	[ 'a task gets SIGTERM', sub { kill TERM => $_[0] }, qr/error: terminated by user/ ],
	[ 'a worker gets SIGTERM', sub { kill TERM => children($_[0]) }, qr/error: worker process \d+ was ended by signal 15/ ],
	[ 'a worker is killed as often as can be', sub { kill KILL => children($_[0]) },
		qr/error: worker process \d+ was terminated by signal 9/ ])
{
	my ($what, $do, $words) = @$fault;
	my $run = gated_tasks(1, '', '--retries=0');
	$do->(task_pid(last_task($run)));
	is(end_dump($run), 1, "$what: exit code of the leader");
	open_gate();
	like($run->{err}, $words, "$what: the task's words");
	like($run->{err}, qr/and the command ended with exit code 75: rows of tasks \d are missing/, "$what: exit code of the task");
}

# ---- the leader's lock is lost, and another role has put a schema of its own in the
# place of the log: nothing of it is called

{
	my ($begun, $go) = (new_path('begun'), new_path('go'));
	my $run = begin_gated_restore(gated_archive(), '--tasks=3',
		restore_runner("touch '$begun'; until [ -e '$go' ]; do sleep 0.05; done; exit 1"));
	wait_in_run($run, 'the command is at work', sub { return -e $begun });
	my $db = gated_database();
	my $attempt = value($node, $db, 'SELECT attempt FROM pardump_restore.run');
	kill STOP => $run->{pid};
	terminate($node, sessions_that("datname = '$db' AND application_name LIKE 'pg_par%'"));
	forge_log($node, $db, $attempt);
	kill CONT => $run->{pid};
	is(end_dump($run), 1, 'a log of another role: exit code');
	like($run->{err}, qr/error: schema pardump_restore on the target is not the run's any more/, 'a log of another role: message');
	forged_log_not_called_ok($node, $db);
	append_to_file($go, '');
	open_gate();
}

$node->stop;
done_testing();
