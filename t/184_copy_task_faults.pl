# Faults while the tasks of a copy are at work, at gates: processes killed, sessions
# ended, the target crashed, locks that cannot be had, plans that are not the run's.
# All rows of the snapshot once, or no success.

use strict;
use warnings;

use File::Path qw(rmtree);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run terminate backends children);
use Pardump::Cluster qw(start_cluster make_database run_program new_path start_psql sql value);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(temp_dir start_copy run_copy sessions_left no_temp_files_ok);
use Pardump::ForgedPlan qw(forged_plans_refused_ok plan_refused_ok);
use Pardump::Gate qw(gated_rows_sql hold_gates close_gate open_gate at_gate wait_at_gate);
use Pardump::Tasks qw(side_by_side task_pid last_task forge_log forged_log_not_called_ok are_gone wait_for_second_attempt end_leaders_sessions);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('copy_task_faults_source');
my $target = start_cluster('copy_task_faults_target', leave_stopped => 1);
$target->append_conf('postgresql.conf', 'restart_after_crash = on');
$target->start;
make_database($source, 'gated', options => 'TEMPLATE template0');
sql($source, 'gated', gated_rows_sql());
my $data = fingerprint($source, 'gated');
my $schema = schema_text($source, 'gated');
my @chunks = ('--max-table-segment-pages=50');
my $names = 0;
my ($db, $place);

sub plan_options { $place = new_path('plan'); return (@chunks, "--plan=$place/plan.json"); }

# A copy of which so many sessions wait at the gate, at one chunk.
sub gated_tasks
{
	my ($waiting, $first, @options) = @_;
	$db = 'copy' . ++$names;
	make_database($target, $db, options => 'TEMPLATE template0');
	hold_gates($target, $db);
	close_gate(42);
	my $run = start_copy($source, 'gated', $target->connstr($db), '--tasks=3', side_by_side($first), plan_options(), @options);
	wait_at_gate($target, $run, $waiting);
	return $run;
}

sub complete_ok
{
	my ($what, $want) = @_;
	same_database_ok($target, $db, $want // $data, $schema, $what);
	is(sessions_left($source, $target), 0, "$what: no session left");
	no_temp_files_ok($what);
	return;
}

sub copied_ok
{
	my ($run, $what, $words, $want) = @_;
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, $words, "$what: what it says");
	like($run->{out}, qr/^copied 3 tables, 60000 rows, /, "$what: summary");
	ok(!-e $place, "$what: the plan is gone");
	complete_ok($what, $want);
	return;
}

# ---- a task is killed; it is run again, in the snapshot there was

{
	my $run = gated_tasks(1, '');
	my $task = last_task($run);
	sql($source, 'gated', $_) foreach q{UPDATE gated SET t = t || 'x' WHERE id % 3 = 0}, 'DELETE FROM after_it WHERE id > 100',
	  'INSERT INTO before_it SELECT g FROM generate_series(1, 1000) g', 'SELECT lo_unlink(1005)';
	kill KILL => task_pid($task);
	open_gate();
	copied_ok($run, 'a task killed',
		qr/^(?:Killed\n)?pg_pardump: warning: the command ended with exit code 137; tasks to be run again: \d; retry 1 of 5\n$/);
	sql($source, 'gated', $_) foreach q{UPDATE gated SET t = md5(id::text)}, 'DELETE FROM before_it WHERE t IS NULL',
	  'INSERT INTO after_it SELECT g, md5(g::text) FROM generate_series(101, 20000) g',
	  q{SELECT lo_from_bytea(1005, convert_to(repeat(md5('5'), 5), 'UTF8'))}, 'VACUUM FULL';
	$data = fingerprint($source, 'gated');
}

# ---- a task runs twice at the same time, both at one chunk: one waits for the other

my $twice = 'for i in "$@"; do pg_pardump --plan="$PLAN" --task=$i/$N & done';

{
	my $run = gated_tasks(1, $twice);
	wait_for_second_attempt($target, $run);
	open_gate();
	copied_ok($run, 'a task twice at a time', qr/^$/);
}

# so long that it tells of that; --stall-timeout is no matter, which is about the source

{
	my $run = gated_tasks(1, 'task() { exec pg_pardump --plan="$PLAN" --task=$1/$N --stall-timeout=1; }' . "\n" .
		'for i in "$@"; do (task $i) & done');
	my ($first) = at_gate($target);
	wait_in_run($run, 'the attempt tells', sub {
		return $run->{err} =~ /warning: waiting for \d+ s by now to do "job \d+", which another session has begun, and not committed\n.*detail: Process $first of role /;
	});
	open_gate();
	copied_ok($run, 'an attempt that waits for long', qr/\A(?!.*(?:error: |lost its connection))/s);
}
{
	my $run = gated_tasks(1, $twice, '--retries=7');
	wait_for_second_attempt($target, $run);
	terminate($target, at_gate($target));
	wait_at_gate($target, $run, 1);
	open_gate();
	copied_ok($run, 'the first of two attempts lost', qr/warning: a worker lost its connection while copying /);
}

# ---- the leader is killed: the tasks leave, by themselves; the target is seen not to
# be complete, and can be made anew

{
	my $what = 'the leader killed';
	my $run = gated_tasks(1, '');
	my @tasks = map { task_pid($_) } 0 .. 2;
	kill KILL => $run->{pid};
	wait_until('the tasks leave', sub { return are_gone(@tasks) });
	open_gate();
	eval { end_dump($run) };
	like($run->{err}, qr/error: the run that this plan is of has ended\n.*detail: Nobody holds its lock on the server/,
		"$what: the tasks say why");
	is($run->{out}, '', "$what: no summary");
	is(sessions_left($source, $target), 0, "$what: no session left");
	is(value($target, $db, 'SELECT count(*) < 30000 FROM gated'), 't', "$what: not all rows are there");
	is(value($target, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}), 1, "$what: the log tells");
	my $old = "$place/plan.json";
	ok(-f $old, "$what: the plan is left");
	rmtree([ glob temp_dir() . '/pg_pardump.*' ]);
	my ($rc, undef, $err) = run_copy($source, 'gated', $target, $db, '--tasks=2', side_by_side(''), plan_options());
	is($rc, 1, "$what: it is not taken for empty");
	($rc, undef, $err) = run_copy($source, 'gated', $target, $db, '--tasks=2', side_by_side(''), plan_options(), '--clean');
	is("$rc$err", '0', "$what: copied anew");
	# a task of the run that is dead does nothing any more
	plan_refused_ok('pg_pardump', '0/3', 'a task of a dead run', $old, qr/error: the run that this plan is of has ended/);
	complete_ok($what);
}

# ---- so it is when the leader is interrupted

{
	my $what = 'Ctrl-C';
	my $run = gated_tasks(1, '');
	my @tasks = map { task_pid($_) } 0 .. 2;
	kill INT => $run->{pid};
	wait_until('the tasks leave', sub { return are_gone(@tasks) });
	open_gate();
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/error: terminated by user/, "$what: message");
	like($run->{err}, qr/warning: schema pardump_restore stays on the target/, "$what: what is left");
	like($run->{err}, qr/warning: all rows of \d of 3 tables were committed on the target, but not of .*public\.gated/, "$what: account");
	is($run->{out}, '', "$what: no summary");
	is(sessions_left($source, $target), 0, "$what: no session left");
	no_temp_files_ok($what);
	ok(!-e $place, "$what: no plan left");
}

# ---- a run that another one has taken over does nothing more

{
	my $what = 'another run has taken over';
	my $run = gated_tasks(1, '');
	my $task = last_task($run);
	# its next attempt would have the table before it is emptied, and wait at the gate
	my @stopped = (children(task_pid($task)), task_pid($task));
	kill STOP => @stopped;
	terminate($target, at_gate($target));
	sql($target, $db, 'BEGIN; TRUNCATE gated; UPDATE pardump_restore.run SET attempt = attempt + 1; COMMIT');
	kill CONT => @stopped;
	open_gate();
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/error: another run of pg_parrestore has taken over, or one of pg_pardump/, "$what: message");
	is($run->{out}, '', "$what: no summary");
	is(value($target, $db, 'SELECT count(*) FROM gated'), 0, "$what: no rows");
	is(sessions_left($source, $target), 0, "$what: no session left");
}

# ---- sessions are ended: those of tasks, and those of the leader

{
	my $run = gated_tasks(1, '');
	terminate($target, at_gate($target));
	terminate($source, split /\n/, value($source, 'postgres', q{SELECT pid FROM pg_stat_activity
		WHERE application_name = 'pg_pardump task'}));
	open_gate();
	copied_ok($run, 'sessions of tasks ended', qr/warning: a worker lost its connection while copying /);
}
{
	my $run = gated_tasks(1, '');
	end_leaders_sessions($target, $run);
	open_gate();
	# a worker that was at work may have been among them
	copied_ok($run, 'sessions of the leader on the target ended', qr/\A(?!.*error: )/s);
}

# ---- the log is read when it is to be removed, and the connection lost meanwhile

{
	my $run = gated_tasks(1, '');
	my $reader = start_psql($target, $db);
	my $removes = q{SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '^DROP SCHEMA'};
	$reader->('BEGIN; LOCK TABLE pardump_restore.done IN ACCESS SHARE MODE');
	open_gate();
	wait_in_run($run, 'the log is to be removed', sub { return value($target, 'postgres', $removes) ne '' });
	terminate($target, value($target, 'postgres', $removes));
	wait_in_run($run, 'it is tried again', sub {
		return $run->{err} =~ /the leader lost its connection to the target: .*; retry 1 of 5/s && value($target, 'postgres', $removes) ne '';
	});
	$reader->('COMMIT');
	$reader->();
	copied_ok($run, 'the connection lost when the log is removed', qr/\A(?!.*error: )/s);
}
{
	my $what = 'the leader without the snapshot';
	my $run = gated_tasks(1, '');
	my ($leader) = backends($source);
	terminate($source, $leader);
	open_gate();
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/error: the leader's connection to the server was lost: .*\n.*With --tasks no other session can take its place/,
		"$what: message");
	like($run->{err}, qr/warning: schema pardump_restore stays on the target/, "$what: what is left");
	is($run->{out}, '', "$what: no summary");
	is(sessions_left($source, $target), 0, "$what: no session left");
	ok(!-e $place, "$what: no plan left");
}

# ---- the target is started again

foreach my $mode (qw(fast immediate))
{
	my $run = gated_tasks(1, '', '--retries=8');
	# of its COMMIT a restarted server could not tell whether it was done
	wait_in_run($run, 'the index is built', sub {
		value($target, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'after_it_t_idx'}) });
	$target->stop($mode);
	$target->start;
	copied_ok($run, "the target restarted ($mode)", qr/warning: a worker lost its connection while copying /);
}

# ---- the same, and there is a table that a crash empties: that is told, as of any copy

{
	my $what = 'the target crashed, with an unlogged table';
	sql($source, 'gated', 'CREATE UNLOGGED TABLE fleeting AS SELECT g AS id FROM generate_series(1, 1000) g');
	my $run = gated_tasks(1, '', '--retries=8');
	last_task($run);
	$target->stop('immediate');
	$target->start;
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/error: the target was restarted, .*unlogged tables may have lost rows .*\n.*These are: public\.fleeting\.\n/, "$what: message");
	is($run->{out}, '', "$what: no summary");
	is(value($target, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}), 0,
		"$what: all else is done, and the log is gone");
	is(value($target, $db, 'SELECT count(*) FROM gated'), 30000, "$what: all other rows are there");
	sql($source, 'gated', 'DROP TABLE fleeting');
}

# ---- a table that no task can lock is copied by the leader

{
	$db = 'copy' . ++$names;
	make_database($target, $db, options => 'TEMPLATE template0');
	my $psql = "psql -XqAt -d '" . $source->connstr('gated') . "' -c";
	my $run = start_copy($source, 'gated', $target->connstr($db), '--tasks=2', plan_options(), side_by_side(<<"SH"));
$psql 'BEGIN; LOCK TABLE after_it IN ACCESS EXCLUSIVE MODE; ROLLBACK' &
until [ "\$($psql "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'")" = 1 ]; do sleep 0.1; done
SH
	copied_ok($run, 'a lock that is waited for',
		qr/is left to the leader: .*no worker can lock table public\.after_it: it is read in the leader's session/s);
}

# ---- rows that the target does not take: the task says why, and all else is there

{
	my $what = 'a row that is refused';
	$db = 'copy' . ++$names;
	make_database($target, $db, options => 'TEMPLATE template0');
	run_copy($source, 'gated', $target, $db, '-s');
	sql($target, $db, 'ALTER TABLE after_it ADD CHECK (id <> 15000)');
	my ($rc, $out, $err) = run_copy($source, 'gated', $target, $db, '-a', '--tasks=3', '--retries=1', side_by_side(''), plan_options());
	is($rc, 1, "$what: exit code");
	like($err, qr/could not write rows: ERROR: .*violates check constraint "after_it_id_check"/, "$what: the task tells why");
	like($err, qr/error: not all tasks were done, .* are missing\n.*Missing: chunk \d+ of \d+ of table public\.after_it/, "$what: the leader tells what");
	is(value($target, $db, 'SELECT count(*) = count(DISTINCT id) AND count(*) < 20000 FROM after_it'), 't', "$what: no row twice");
	is($out, '', "$what: no summary");
}

# ---- plans that are not the run's

{
	my $run = gated_tasks(1, '');
	my $plan = "$place/plan.json";
	my $text = slurp_file($plan);
	# of "target", which has members of the same names
	my $in_target = sub { my ($change) = @_; my $rest = $_; $rest =~ /"target": \[/ or die; my ($head, $tail) = ($`, "$&$'"); $change->() foreach $tail; $_ = $head . $tail; };
	forged_plans_refused_ok('pg_pardump', $plan, 3, 'gated',
		[ 'another attempt', sub { s/("attempt": )(\d+)/$1 . ($2 ^ 1)/e }, qr/another run of pg_parrestore has taken over, or one of pg_pardump/ ],
		[ 'another history', sub { s/"history": "/${&}9/ }, qr/the target is another server now/ ],
		[ 'another server as the target', sub { $in_target->(sub { s/("system_identifier": ")/${1}9/ }) }, qr/this is another server than the leader's: its system identifier is/ ],
		[ 'no target', sub { s/"target": \[/"aim": [/ }, qr/is damaged: something of the target is missing/ ],
		[ 'a format that there is not', sub { s/"format": \d/"format": 7/ }, qr/is damaged: a table of the target lacks something/ ],
		[ 'no statement', sub { s/"statement": "[^"]*"/"statement": null/ }, qr/is damaged: a table of the target lacks something/ ],
		[ 'fewer tables', sub { s/"target_tables": \[\s*\{[^}]*\},/"target_tables": [/ }, qr/is damaged: the target has other tables/ ]);
	plan_refused_ok('pg_pardump', '0/3', 'another database as the target', $plan, qr/its database is "postgres", not "$db"\n.*hint: Name the leader's by --target/,
		'--target=dbname=postgres');
	plan_refused_ok('pg_pardump', '0/3', 'no connection string', $plan, qr/invalid connection string for option --target/, '--target=x=1');

	# what has the log's name is not believed, nor called: another role may have made it
	my ($attempt) = $text =~ /"attempt": (\d+)/;
	sql($target, 'postgres', 'CREATE DATABASE evil TEMPLATE template0');
	forge_log($target, 'evil', $attempt);
	my $elsewhere = $text;
	$in_target->(sub { s/("database": ")[^"]*/${1}evil/ }) foreach $elsewhere;
	my $forged = new_path('evil.json');
	append_to_file($forged, $elsewhere);
	chmod 0600, $forged;
	plan_refused_ok('pg_pardump', '0/3', 'a log of another role', $forged,
		qr/schema pardump_restore on the target is not the run's any more/, '--target=' . $target->connstr('evil'));
	forged_log_not_called_ok($target, 'evil');
	sql($target, 'postgres', 'DROP DATABASE evil');
	my ($rc) = run_program('pg_pardump', "--plan=$plan", '--task=0/3', '--target=host=127.0.0.1 port=1');
	is($rc, 75, 'a target that cannot be reached: another exit code');

	# another copy into the same database meanwhile
	{
		my $other = $place;
		my (undef, undef, $err) = run_copy($source, 'gated', $target, $db, '-a', '--tasks=1', side_by_side(''), plan_options());
		$place = $other;
		like($err, qr/error: another pg_parrestore is restoring into this database, or pg_pardump is copying into it by tasks/,
			'another copy into the database: message');
	}

	# results of another run, those that somebody else could have written, and those
	# that tell of rows that the target has not
	my ($id) = $text =~ /"run": "(\w+)"/;
	append_to_file("$place/0.other.1.results", qq({"is": "run", "run": "0123", "checksum": ""}\n));
	append_to_file("$place/1.other.1.results", qq({"is": "end", "checksum": ""}\n));
	append_to_file("$place/2.other.1.results", qq({"is": "run", "run": "$id", "checksum": ""}\n{"is": "file", "number": 99999, "checksum": ""}\n));
	chmod 0622, "$place/1.other.1.results";
	chmod 0600, "$place/0.other.1.results", "$place/2.other.1.results";
	open_gate();
	copied_ok($run, 'results of others',
		qr/results "0\.other\.1" are not of this run, or damaged.*results "\S+\/1\.other\.1\.results" are not taken: the file can be written by other users.*results "2\.other\.1" are not of this run, or damaged/s);
}

$source->stop;
$target->stop;
done_testing();
