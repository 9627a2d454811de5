# Faults while tasks are at work, at gates: processes killed, the server and disks
# that fail, plans that are not the run's. An archive equal to the snapshot, or none.

use strict;
use warnings;

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump nothing_remains_ok wait_until
  wait_in_run terminate sessions children);
use Pardump::Cluster qw(start_cluster run_program new_path sql value listing);
use Pardump::Compare qw(fingerprint);
use Pardump::ForgedPlan qw(forged_plans_refused_ok);
use Pardump::Gate qw(open_gate close_gate);
use Pardump::GatedDump qw(make_gated leader_backend gated_options);
use Pardump::Proxy qw(start_proxy stop_proxy);
use Pardump::Tasks qw(runner side_by_side task_pid task_is_alive archive_made_ok are_gone);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('task_faults');
make_gated($node);
my $original = fingerprint($node, 'gated');

sub archive_ok
{
	my ($dump, $what, $words) = @_;
	archive_made_ok($node, $dump, $original, $what, $words);
	return;
}

# A dump of which a number of tasks wait at the gate.
sub gated_tasks
{
	my ($waiting, $first, @options) = @_;
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', side_by_side($first), @options, gated_options());
	wait_in_run($dump, 'tasks wait at the gate', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) == $waiting;
	});
	return $dump;
}

# ---- a task is killed; it is run again, in the snapshot there was

{
	my $dump = gated_tasks(2, '');
	sql($node, 'gated', 'UPDATE after_it SET t = t || $$x$$');
	kill KILL => task_pid(1);
	open_gate();
	archive_ok($dump, 'a task killed',
		qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: 1; retry 1 of 5\npg_pardump: detail: The command exited with exit code 137\.\n$/);
	$original = fingerprint($node, 'gated');
}

# ---- a task is ended from outside, or its worker is: another attempt may
# succeed; there is no other task to do its jobs

foreach my $fault (
	[ 'a task gets SIGTERM', sub { kill TERM => $_[0] }, qr/error: terminated by user/ ],
	[ 'a worker gets SIGTERM', sub { kill TERM => children($_[0]) }, qr/error: worker process \d+ was terminated by signal 15/ ],
	[ 'a worker is killed as often as can be', sub { kill KILL => children($_[0]) },
		qr/error: worker process \d+ was terminated by signal 9/ ])
{
	my ($what, $do, $words) = @$fault;
	my $dump = gated_tasks(1, '', '--retries=0', '--tasks=1');
	$do->(task_pid(0));
	wait_until('the task leaves', sub { return !task_is_alive(0) });
	open_gate();
	is(end_dump($dump), 1, "$what: exit code of the leader");
	like($dump->{err}, $words, "$what: the task's words");
	like($dump->{err}, qr/not all tasks were completed; tasks with missing files: 0\n.*detail: The command exited with exit code 75\./, "$what: exit code of the task");
}

# ---- the leader is killed: the tasks leave, by themselves, and there is no archive;
# what is left can be cleared

{
	my $dump = gated_tasks(2, '');
	my @tasks = map { task_pid($_) } 0, 1;
	kill KILL => $dump->{pid};
	wait_until('the tasks leave', sub { return are_gone(@tasks) });
	nothing_remains_ok($node, $dump->{dir}, 'the leader killed');
	open_gate();
	eval { end_dump($dump) };
	like($dump->{err}, qr/error: the run of this plan has ended/, 'the leader killed: the tasks say why');
	ok(-d "$dump->{dir}/plan.tmp", 'the leader killed: the plan is left');
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dump->{dir}, '--clean-output',
		'-d', $node->connstr('gated'), gated_options());
	is("$rc$err", '0', 'the leader killed: the directory is used again');
	ok(!-e "$dump->{dir}/plan.tmp", 'the leader killed: the plan is gone');
}

# ---- the leader's session is lost: no other session has its locks

{
	my $dump = gated_tasks(2, '');
	terminate($node, leader_backend());
	open_gate();
	is(end_dump($dump), 1, 'the leader without a session: exit code');
	like($dump->{err}, qr/error: lost the connection that held the locks on all tables\n.*\n.*With --tasks, no other session can replace it/,
		'the leader without a session: message');
	nothing_remains_ok($node, $dump->{dir}, 'the leader without a session');
}

# ---- tasks that lose the server have retries of their own

{
	my $dump = gated_tasks(2, '');
	terminate($node, split /\n/, value($node, 'postgres',
		q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'}));
	open_gate();
	archive_ok($dump, 'sessions of tasks ended',
		qr/warning: lost the connection of a worker; .*detail: The worker was dumping /s);
}

# ---- a disk is full, for the only task, once

{
	my $once = new_path('once');
	my $dump = gated_tasks(0, <<"SH", '-Z0', '--tasks=1');
[ -e '$once' ] || FULL=1; touch '$once'
task() { [ "\$FULL" != 1 ] || ulimit -f 16; exec pg_pardump --plan="\$PLAN" --task=\$1/\$N; }
SH
	open_gate();
	archive_ok($dump, 'a disk full', qr/could not write file ".*": File too large.*tasks to run again: 0; /s);
}

# ---- a table that no task can lock is read by the leader, though an attempt has told of
# another one that is read with it

# An attempt that names this table, without its rows.
sub forge_file
{
	my ($directory, $name) = @_;
	my $plan = decode_json(slurp_file("$directory/plan.json"));
	my ($no) = grep { $plan->{tables}[ $plan->{files}[$_]{table} ]{name} eq $name } 0 .. $#{ $plan->{files} };
	my @files = map { "$directory/$_" } "$plan->{files}[$no]{id}.dat.1.other.1.0", '1.other.1.0.results';
	append_to_file($files[0], 'x');
	append_to_file($files[1], qq({"is": "run", "run": "$plan->{run}", "checksum": ""}\n{"is": "file", "number": $no, "stored_bytes": 1, "checksum": ""}\n));
	chmod 0600, @files;
	return;
}

foreach my $told (0, 1)
{
	my ($begun, $go) = (new_path('begun'), new_path('go'));
	my $psql = "psql -XqAt -d '" . $node->connstr('gated') =~ s/'/'\\''/gr . "' -c";
	my $dump = gated_tasks(0, <<"SH", '-Z0');
$psql 'BEGIN; LOCK TABLE after_it IN ACCESS EXCLUSIVE MODE; ROLLBACK' &
until [ "\$($psql "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'")" = 1 ]; do sleep 0.1; done
touch '$begun'; until [ -e '$go' ]; do sleep 0.1; done
SH
	wait_in_run($dump, 'a session waits for a lock', sub { return -e $begun });
	forge_file("$dump->{dir}/plan.tmp", 'public.before_it') if $told;
	append_to_file($go, '');
	open_gate();
	archive_ok($dump, 'a lock that is waited for',
		qr/could not lock a table; the leader will run the job that reads it\n.*could not lock table public\.after_it again; reading it in the session that already holds the lock/s);
}

# ---- a worker of a task that waits for ever: for the network, or behind a
# session that waits for the leader

{
	# that of the task itself, which looks after it, is not counted
	my $proxy = start_proxy($node, [ 0, 100_000, 'stall' ]);
	my $dump = gated_tasks(0, <<"SH", '-Z0');
task() {
	[ \$1 = 0 ] || exec pg_pardump --plan="\$PLAN" --task=\$1/\$N
	exec pg_pardump --plan="\$PLAN" --task=\$1/\$N --stall-timeout=1 -d 'host=127.0.0.1 port=$proxy->{port} dbname=gated sslmode=disable gssencmode=disable'
}
SH
	open_gate();
	archive_ok($dump, 'a worker stalls',
		qr/warning: lost the connection of a worker; .*detail: Received no data from the server for longer than --stall-timeout/s);
	stop_proxy($proxy);
}
{
	sql($node, 'gated', <<'SQL');
CREATE TABLE victim AS SELECT 1 AS a;
CREATE TABLE guarded AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 10000) g;
GRANT SELECT ON victim, guarded TO dumper;
SQL
	my $psql = "psql -XqAt -d '" . $node->connstr('gated') =~ s/'/'\\''/gr . "' -c";
	# the request ends when the run is gone, or with it the task that waits behind
	my $dump = gated_tasks(0, <<"SH", '-t', 'guarded', '-t', 'victim', '--where=guarded:EXISTS (SELECT FROM public.victim)', '--lock-wait-timeout=500', '--retries=0');
$psql 'BEGIN; LOCK TABLE victim IN ACCESS EXCLUSIVE MODE; ROLLBACK' &
until [ "\$($psql "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'")" = 1 ]; do sleep 0.1; done
SH
	open_gate();
	is(end_dump($dump), 1, 'behind the leader\'s lock: exit code');
	like($dump->{err}, qr/error: deadlock detected\n.*detail: This run is waiting for a lock on (public\.)?victim behind process \d+, which is waiting for this run\.\n.*hint: /,
		'behind the leader\'s lock: the task says so');
	nothing_remains_ok($node, $dump->{dir}, 'behind the leader\'s lock');
	sql($node, 'gated', 'DROP TABLE victim, guarded');
}

# ---- an attempt that the command has left behind: the archive is finished without it,
# and it leaves nothing there

{
	my $stray = new_path('stray');
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', side_by_side(<<"SH"), gated_options());
task 1 >/dev/null 2>&1 & echo \$! >'$stray'
until [ -e "\${PLAN%/*}"/1.*.results ]; do sleep 0.1; done
kill -STOP \$(cat '$stray')
SH
	wait_in_run($dump, 'tasks wait at the gate, and another attempt at one is stopped', sub {
		return -s $stray && value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) >= 2;
	});
	my $pid = slurp_file($stray) + 0;
	my @workers = children($pid);
	kill STOP => @workers;
	open_gate();
	archive_ok($dump, 'an attempt left behind', qr/^$/);
	my $before = listing($dump->{dir});
	unlike($before, qr/tmp|results/, 'an attempt left behind: nothing of it in the archive');
	kill CONT => $pid, @workers;
	wait_until('it leaves', sub { return are_gone($pid, @workers) });
	is(listing($dump->{dir}), $before, 'an attempt left behind: files after its end');
	my ($rc, undef, $err) = run_program('pg_pardump', "--verify=$dump->{dir}");
	is("$rc$err", '0', 'an attempt left behind: the archive verifies');
}

# ---- what an attempt has left in the plan's directory cannot be removed: the archive
# is finished, and told of

{
	my $dump = gated_tasks(0, 'mkdir "${PLAN%/*}/stray"');
	open_gate();
	archive_ok($dump, 'a stray directory', qr/warning: could not remove directory ".*plan\.tmp": /);
	ok(-d "$dump->{dir}/plan.tmp/stray", 'a stray directory: it still exists');
	is(listing("$dump->{dir}/plan.tmp"), 'stray', 'a stray directory: the directory of the plan contains nothing else');
	my ($rc, undef, $err) = run_program('pg_pardump', "--verify=$dump->{dir}");
	is($rc, 1, 'a stray directory: --verify finds it');
	is(scalar(() = $err =~ /error: /g), 2, 'a stray directory: number of errors');
	like($err, qr/error: file "plan\.tmp" is not listed in the manifest\n/, 'a stray directory: message');
	my $toc = slurp_file("$dump->{dir}/toc.dat");
	($rc, undef, $err) = run_program('pg_pardump', '-f', $dump->{dir}, '--clean-output',
		'-d', $node->connstr('gated'), gated_options());
	is($rc, 1, 'a stray directory: --clean-output removes nothing that is not ours');
	like($err, qr/plan\.tmp" was not written by pg_pardump/, 'a stray directory: message');
	is(slurp_file("$dump->{dir}/toc.dat"), $toc, 'a stray directory: the archive is as it was');
}

# ---- plans that are not the run's

{
	my $dump = gated_tasks(2, '');
	my $plan = "$dump->{dir}/plan.tmp/plan.json";
	forged_plans_refused_ok($plan, 2, 'gated',
		[ 'another timeline', sub { s/("timeline": ")/${1}9/ }, qr/its timeline is "1", not "91"/ ]);

	# results of another run, and those that another user could have written
	append_to_file("$dump->{dir}/plan.tmp/0.other.1.results", qq({"is": "run", "run": "0123", "checksum": ""}\n));
	append_to_file("$dump->{dir}/plan.tmp/1.other.1.results", qq({"is": "end", "checksum": ""}\n));
	chmod 0622, "$dump->{dir}/plan.tmp/1.other.1.results";
	chmod 0600, "$dump->{dir}/plan.tmp/0.other.1.results";
	open_gate();
	archive_ok($dump, 'results of others',
		qr/ignoring the rest of result file "0\.other\.1", which is damaged or belongs to another run.*|ignoring result file "[^"]*1\.other\.1[^"]*"\n.*detail: File ".*" is writable by its group or others/s);
}

# ---- another user has put a link in the place of the tasks' directory

{
	my ($others, $aside) = map { new_path($_) } 'others', 'aside';
	mkdir $others or die "could not make \"$others\": $!";
	append_to_file("$others/kept", 'x');
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', '--retries=0', gated_options(),
		runner("D=\${PLAN%/*}; mv \"\$D\" '$aside'; ln -s '$others' \"\$D\"; exit 1"));
	is(end_dump($dump), 1, 'a link: exit code');
	ok(-e "$others/kept", 'a link: the file behind it still exists');
	is(scalar(() = glob "$aside/*"), 0, 'a link: the files of the run are removed');
}

done_testing();
