# Faults while the tasks of a restore are at work, at gates: processes killed,
# sessions ended, the target crashed, plans that are not the run's. All rows once,
# or no success.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run terminate);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value dump_ok);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::ForgedPlan qw(forged_plans_refused_ok);
use Pardump::Gate qw(gate_sql hold_gates hold close_gate open_gate at_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore);
use Pardump::RestoreTasks qw(restore_runner);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('restore_task_faults', leave_stopped => 1);
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;
make_database($node, 'gated', options => 'TEMPLATE template0');
sql($node, 'gated', gate_sql(15000, 42) . <<'SQL');
CREATE TABLE before_it AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 10000) g;
CREATE TABLE gated (id int CHECK (public.pass(id)), t text);
INSERT INTO gated SELECT g, md5(g::text) FROM generate_series(1, 30000) g;
CREATE TABLE after_it AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX ON after_it (t);
SELECT lo_from_bytea(1000 + g, convert_to(repeat(md5(g::text), g), 'UTF8'))
	FROM generate_series(1, 20) g;
SQL
my $data = fingerprint($node, 'gated');
my $schema = schema_text($node, 'gated');
my $archive = dump_ok($node, 'gated', 'ours', 'pg_pardump', '--max-table-segment-pages=50');
my $names = 0;

# A command that runs tasks side by side, each with one worker; it leaves their
# process IDs.  $first may say otherwise how one runs.
my $pids = new_path('pids');
mkdir $pids or die "could not make \"$pids\": $!";

sub runner
{
	my ($first) = @_;
	return restore_runner(<<"SH");
task() { exec pg_parrestore --plan="\$PLAN" --task=\$1/\$N; }
$first
for i in "\$@"; do (task \$i) & echo \$! >'$pids'/\$i; done
rc=0; for i in "\$@"; do wait \$(cat '$pids'/\$i) || rc=\$?; done
exit \$rc
SH
}

sub pid_of { return slurp_file("$pids/$_[0]") + 0; }

sub gone { return !grep { kill 0 => $_ } @_; }

my $db;

# A restore of which so many sessions wait at the gate, at one chunk.
sub gated_tasks
{
	my ($waiting, $first, @options) = @_;
	$db = 'copy' . ++$names;
	make_database($node, $db, options => 'TEMPLATE template0');
	hold_gates($node, $db);
	close_gate(42);
	my $run = start_parrestore($node, $db, $archive, '--tasks=3', runner($first), @options);
	wait_at_gate($node, $run, $waiting);
	return $run;
}

sub complete_ok
{
	my ($what) = @_;
	same_database_ok($node, $db, $data, $schema, $what);
	is(sessions_left($node), 0, "$what: no session left");
	is_deeply([ glob "$archive/plan*" ], [], "$what: no plan left");
	return;
}

sub restored_ok
{
	my ($run, $what, $words) = @_;
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, $words, "$what: what it says");
	complete_ok($what);
	return;
}

# ---- a task is killed; it is run again

{
	my $run = gated_tasks(1, '');
	my $task;
	wait_in_run($run, 'only one task is left', sub {
		my @alive = grep { -d '/proc/' . pid_of($_) && slurp_file('/proc/' . pid_of($_) . '/stat') !~ /\) Z / } 0 .. 2;
		$task = $alive[0];
		return @alive == 1;
	});
	kill KILL => pid_of($task);
	open_gate();
	restored_ok($run, 'a task killed',
		qr/^(?:Killed\n)?pg_parrestore: warning: the command ended with exit code 137; tasks to be run again: \d; retry 1 of 5\n$/);
}

# ---- a task runs twice at the same time, both at one chunk: one waits for the other

{
	my $run = gated_tasks(1, <<'SH');
for i in "$@"; do pg_parrestore --plan="$PLAN" --task=$i/$N & done
SH
	wait_in_run($run, 'an attempt waits for the other', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'transactionid' AND query ~ 'pardump_restore.done'}) == 1;
	});
	open_gate();
	restored_ok($run, 'a task twice at a time', qr/^$/);
}

# ---- the same, and the first of them is ended, then

{
	my $run = gated_tasks(1, <<'SH', '--retries=7');
for i in "$@"; do pg_parrestore --plan="$PLAN" --task=$i/$N & done
SH
	wait_in_run($run, 'an attempt waits for the other', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'transactionid' AND query ~ 'pardump_restore.done'}) == 1;
	});
	terminate($node, at_gate($node));
	wait_at_gate($node, $run, 1);
	open_gate();
	restored_ok($run, 'the first of two attempts lost', qr/warning: a worker lost its connection while restoring /);
}

# ---- the leader is killed: the tasks leave, by themselves; --resume has the rest

{
	my $run = gated_tasks(1, '');
	my @tasks = map { pid_of($_) } 0 .. 2;
	kill KILL => $run->{pid};
	wait_until('the tasks leave', sub { return gone(@tasks) });
	open_gate();
	eval { end_dump($run) };
	like($run->{err}, qr/error: the run that this plan is of has ended\n.*detail: Nobody holds its lock on the target/,
		'the leader killed: the tasks say why');
	my @left = glob "$archive/plan.restore.*";
	is(scalar(@left), 1, 'the leader killed: the plan is left');
	my $old = "$left[0]/plan.json";
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive);
	is($rc, 1, 'the leader killed: it is not begun anew');
	like($err, qr/a restore into this database has not come to its end/, 'the leader killed: why not');
	($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', '--tasks=2', runner(''));
	is("$rc$err", '0', 'the leader killed: resumed');
	# a task of the run that is dead does nothing any more
	($rc, undef, $err) = run_program('pg_parrestore', "--plan=$old", '--task=0/3');
	is($rc, 1, 'a task of a dead run: exit code');
	like($err, qr/error: the run that this plan is of has ended/, 'a task of a dead run: message');
	# it is no part of the archive
	($rc, undef, $err) = run_program('pg_pardump', "--verify=$archive");
	is("$rc$err", '0', 'a plan that is left: the archive verifies');
	unlink glob "$left[0]/*";
	rmdir $left[0] or die "could not remove \"$left[0]\": $!";
	complete_ok('the leader killed');
}

# ---- tasks that are left behind when another run has taken over load nothing more

{
	my $run = gated_tasks(1, '');
	kill KILL => $run->{pid};
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', '--tasks=2', '--retries=0',
		"--run-tasks=cp %p '$pids/new'; exit 1");
	is($rc, 1, 'another run has taken over: it has not done all');
	open_gate();
	wait_until('the tasks leave', sub { return gone(map { pid_of($_) } 0 .. 2) });
	eval { end_dump($run) };
	($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', '-j2');
	is("$rc$err", '0', 'another run has taken over: resumed once more');
	system('rm', '-r', glob "$archive/plan.restore.*");
	complete_ok('another run has taken over');
}

# ---- sessions are ended: those of tasks, and those of the leader

{
	my $run = gated_tasks(1, '');
	terminate($node, at_gate($node));
	open_gate();
	restored_ok($run, 'sessions of tasks ended', qr/warning: a worker lost its connection while restoring /);
}
{
	my $run = gated_tasks(1, '');
	my $leader = q{FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND objid <> 42 AND granted};
	my $old = value($node, 'postgres', "SELECT pid $leader");
	terminate($node, split /\n/, value($node, 'postgres', q{SELECT pid FROM pg_stat_activity
		WHERE application_name = 'pg_pardump' AND wait_event IS DISTINCT FROM 'advisory'}));
	wait_in_run($run, 'the leader has its lock again', sub {
		my $new = value($node, 'postgres', "SELECT pid $leader");
		return $new ne '' && $new ne $old;
	});
	open_gate();
	# a worker that was at work may have been among them
	restored_ok($run, 'sessions of the leader ended', qr/\A(?!.*error: )/s);
}

# ---- the target crashes, and recovers

{
	my $run = gated_tasks(1, '', '--retries=8');
	$node->stop('immediate');
	$node->start;
	restored_ok($run, 'the target crashed', qr/warning: a worker lost its connection while restoring /);
}

# ---- plans that are not the run's

{
	my $run = gated_tasks(1, '');
	my ($plan) = glob "$archive/plan.restore.*/plan.json";
	my $text = slurp_file($plan);
	my $other = dump_ok($node, 'gated', 'other', 'pg_pardump');
	forged_plans_refused_ok('pg_parrestore', $plan, 3, $db,
		[ 'another attempt', sub { s/"attempt": /${&}9/ }, qr/another run of pg_parrestore has taken over/ ],
		[ 'another history', sub { s/"history": "/${&}9/ }, qr/the target is another server now/ ],
		[ 'another archive', sub { s/("archive": ")[^"]*/$1$other/ }, qr/is another one here than the leader's/ ],
		[ 'a file out of range', sub { s/"left_out": \[/${&}99999/ }, qr/is damaged: there is no such file/ ],
		[ 'fewer tables', sub { s/"tables": \[\s*\{[^}]*\},/"tables": [/ }, qr/is damaged: the archive has other tables/ ]);

	# results of another run, those that somebody else could have written, and those
	# that tell of rows that the target has not
	my $place = $plan =~ s/plan\.json$//r;
	my ($id) = $text =~ /"run": "(\w+)"/;
	append_to_file("${place}0.other.1.results", qq({"is": "run", "run": "0123", "checksum": ""}\n));
	append_to_file("${place}1.other.1.results", qq({"is": "end", "checksum": ""}\n));
	append_to_file("${place}2.other.1.results", join '', qq({"is": "run", "run": "$id", "checksum": ""}\n),
		map { qq({"is": "file", "number": $_, "rows": 1, "checksum": ""}\n) } 0 .. 9);
	chmod 0622, "${place}1.other.1.results";
	chmod 0600, "${place}0.other.1.results", "${place}2.other.1.results";
	open_gate();
	restored_ok($run, 'results of others',
		qr/results "0\.other\.1" are not of this run, or damaged.*|results "1\.other\.1" are not taken: the file can be written by other users/s);
}

done_testing();
