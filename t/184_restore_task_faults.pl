# Faults while the tasks of a restore are at work, at gates: processes killed,
# sessions ended, the target crashed, plans that are not the run's. All rows once,
# or no success.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run terminate);
use Pardump::Cluster qw(run_program new_path value dump_ok);
use Pardump::ForgedPlan qw(forged_plans_refused_ok);
use Pardump::Gate qw(hold open_gate at_gate wait_at_gate);
use Pardump::GatedRestore qw(start_gated gated_archive gated_database gated_tasks begin_gated_restore complete_ok restored_ok);
use Pardump::Restore qw(run_parrestore);
use Pardump::Tasks qw(side_by_side task_pid last_task are_gone wait_for_second_attempt end_leaders_sessions);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_gated('restore_task_faults');
my $archive = gated_archive();

# ---- a task is killed; it is run again

{
	my $run = gated_tasks(1, '');
	my $task = last_task($run);
	kill KILL => task_pid($task);
	open_gate();
	restored_ok($run, 'a task killed',
		qr/^(?:Killed\n)?pg_parrestore: warning: the command ended with exit code 137; tasks to be run again: \d; retry 1 of 5\n$/);
}

# ---- a task runs twice at the same time, both at one chunk: one waits for the other

{
	my $run = gated_tasks(1, <<'SH');
for i in "$@"; do pg_parrestore --plan="$PLAN" --task=$i/$N & done
SH
	wait_for_second_attempt($node, $run);
	open_gate();
	restored_ok($run, 'a task twice at a time', qr/^$/);
}

# ---- the same, and the first of them is ended, then

{
	my $run = gated_tasks(1, <<'SH', '--retries=7');
for i in "$@"; do pg_parrestore --plan="$PLAN" --task=$i/$N & done
SH
	wait_for_second_attempt($node, $run);
	terminate($node, at_gate($node));
	wait_at_gate($node, $run, 1);
	open_gate();
	restored_ok($run, 'the first of two attempts lost', qr/warning: a worker lost its connection while restoring /);
}

# ---- somebody else has the lock that all tasks share, whose number all can see: it is
# not waited for for ever

{
	my $what = 'a lock that somebody else has';
	my $go = new_path('go');
	my $run = begin_gated_restore($archive, '--tasks=1', '--retries=0', side_by_side("while [ ! -e '$go' ]; do sleep 0.05; done\n", 'pg_parrestore'));
	my $number;
	wait_in_run($run, 'the leader has its lock', sub {
		$number = value($node, gated_database(), q{SELECT ((classid::int8 << 32) | objid::int8) # 1 FROM pg_locks
			WHERE locktype = 'advisory' AND objsubid = 1 AND classid <> 0});
	});
	hold("SELECT pg_advisory_lock($number)");
	append_to_file($go, '');
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/error: Another session holds the lock by which tasks .*\n.*error: not all tasks were done, and the command ended with exit code 75/,
		"$what: message");
	open_gate();
	my ($rc, undef, $err) = run_parrestore($node, gated_database(), $archive, '--resume', '-j2');
	is("$rc$err", '0', "$what: resumed");
	complete_ok($what);
}

# ---- the leader is killed: the tasks leave, by themselves; --resume has the rest

{
	my $run = gated_tasks(1, '');
	my @tasks = map { task_pid($_) } 0 .. 2;
	kill KILL => $run->{pid};
	wait_until('the tasks leave', sub { return are_gone(@tasks) });
	open_gate();
	eval { end_dump($run) };
	like($run->{err}, qr/error: the leader of this run has been away for \d+ s\n.*detail: Nobody holds its lock on the target/,
		'the leader killed: the tasks say why');
	my @left = glob "$archive/plan.restore.*";
	is(scalar(@left), 1, 'the leader killed: the plan is left');
	my $old = "$left[0]/plan.json";
	my ($rc, undef, $err) = run_parrestore($node, gated_database(), $archive);
	is($rc, 1, 'the leader killed: it is not begun anew');
	like($err, qr/a restore into this database has not come to its end/, 'the leader killed: why not');
	($rc, undef, $err) = run_parrestore($node, gated_database(), $archive, '--resume', '--tasks=2', side_by_side('', 'pg_parrestore'));
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
	my ($rc, undef, $err) = run_parrestore($node, gated_database(), $archive, '--resume', '--tasks=2', '--retries=0',
		'--run-tasks=true %p; exit 1');
	is($rc, 1, 'another run has taken over: it has not done all');
	open_gate();
	wait_until('the tasks leave', sub { return are_gone(map { task_pid($_) } 0 .. 2) });
	eval { end_dump($run) };
	($rc, undef, $err) = run_parrestore($node, gated_database(), $archive, '--resume', '-j2');
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
	end_leaders_sessions($node, $run);
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
	forged_plans_refused_ok('pg_parrestore', $plan, 3, gated_database(),
		[ 'another attempt', sub { s/("attempt": )(\d+)/$1 . ($2 ^ 1)/e }, qr/another run of pg_parrestore has taken over/ ],
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
