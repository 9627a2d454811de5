# Faults while tasks are at work, at gates: processes killed, the server and disks
# that fail, plans that are not the run's. An archive equal to the snapshot, or none.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok nothing_remains_ok wait_until
  wait_in_run terminate sessions);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value
  restore_ok start_psql);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Gate qw(open_gate close_gate);
use Pardump::GatedDump qw(make_gated leader_backend gated_options);
use Pardump::Proxy qw(start_proxy stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('task_faults');
make_gated($node);
my $original = fingerprint($node, 'gated');
my $copies = 0;

# A command that runs tasks side by side, each with one worker; it leaves their
# process IDs, and runs $first before.
my $pids = new_path('pids');
mkdir $pids or die "could not make \"$pids\": $!";

sub runner
{
	my ($first) = @_;
	my $path = text_file('runner', <<"SH");
#!/bin/sh
PLAN=\$1; N=\$2; shift 2
task() { exec pg_pardump --plan="\$PLAN" --task=\$1/\$N; }
$first
for i in "\$@"; do (task \$i) & echo \$! >'$pids'/\$i; done
rc=0; for i in "\$@"; do wait \$(cat '$pids'/\$i) || rc=\$?; done
exit \$rc
SH
	chmod 0755, $path or die "could not make \"$path\" executable: $!";
	return "--run-tasks=$path %p %n %L";
}

sub archive_ok
{
	my ($dump, $what, $words) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	like($dump->{err}, $words, "$what: what it says");
	ok(-f "$dump->{dir}/toc.dat", "$what: an archive") or return;
	my $copy = 'copy' . ++$copies;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, $copy, $what, '-j2');
	same_data_ok($original, fingerprint($node, $copy), $what);
	sql($node, 'postgres', "DROP DATABASE $copy");
	return;
}

# A dump of which so many tasks wait at the gate.
sub gated_tasks
{
	my ($waiting, $first, @options) = @_;
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', runner($first), @options, gated_options());
	wait_in_run($dump, 'tasks wait at the gate', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) == $waiting;
	});
	return $dump;
}

sub pid_of { return slurp_file("$pids/$_[0]") + 0; }

# ---- a task is killed; it is run again, in the snapshot there was

{
	my $dump = gated_tasks(2, '');
	sql($node, 'gated', 'UPDATE after_it SET t = t || $$x$$');
	kill KILL => pid_of(1);
	open_gate();
	archive_ok($dump, 'a task killed',
		qr/^pg_pardump: warning: the command ended with exit code 137; tasks to be run again: 1; retry 1 of 5\n$/);
	$original = fingerprint($node, 'gated');
}

# ---- the leader is killed: the tasks leave, by themselves, and there is no archive;
# what is left can be cleared

{
	my $dump = gated_tasks(2, '');
	my @tasks = map { pid_of($_) } 0, 1;
	kill KILL => $dump->{pid};
	wait_until('the tasks leave', sub { return !grep { kill 0 => $_ } @tasks });
	nothing_remains_ok($node, $dump->{dir}, 'the leader killed');
	open_gate();
	eval { end_dump($dump) };
	like($dump->{err}, qr/error: the run that this plan is of has ended/, 'the leader killed: the tasks say why');
	ok(-d "$dump->{dir}/plan.tmp", 'the leader killed: the plan is left');
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dump->{dir}, '--clean-output',
		'-d', $node->connstr('gated'), gated_options());
	is("$rc$err", '0', 'the leader killed: the directory is used again');
	ok(!-e "$dump->{dir}/plan.tmp", 'the leader killed: the plan is gone');
}

# ---- the leader's session is lost: nobody else has its locks

{
	my $dump = gated_tasks(2, '');
	terminate($node, leader_backend());
	open_gate();
	is(end_dump($dump), 1, 'the leader without a session: exit code');
	like($dump->{err}, qr/error: the leader's connection to the server was lost: .*\n.*With --tasks no other session can take its place/,
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
		qr/warning: a worker lost its connection while dumping /);
}

# ---- a disk is full, for one of the tasks, once

{
	my $once = new_path('once');
	my $dump = gated_tasks(0, <<"SH", '-Z0');
[ -e '$once' ] || FULL=1; touch '$once'
task() { [ "\$FULL\$1" != 11 ] || ulimit -f 16; exec pg_pardump --plan="\$PLAN" --task=\$1/\$N; }
SH
	open_gate();
	archive_ok($dump, 'a disk full', qr/could not write file ".*": File too large.*tasks to be run again: 1; /s);
}

# ---- a table that no task can lock is read by the leader

{
	my $psql = "psql -XqAt -d '" . $node->connstr('gated') =~ s/'/'\\''/gr . "' -c";
	my $dump = gated_tasks(0, <<"SH");
$psql 'BEGIN; LOCK TABLE after_it IN ACCESS EXCLUSIVE MODE; ROLLBACK' &
until [ "\$($psql "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'")" = 1 ]; do sleep 0.1; done
SH
	open_gate();
	archive_ok($dump, 'a lock that is waited for',
		qr/is left to the leader: .*no worker can lock table public\.after_it: it is read in the leader's session/s);
}

# ---- a worker of a task that waits in vain: for the network, or behind whoever waits
# for the leader

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
		qr/warning: a worker lost its connection while dumping .*the server has sent nothing for --stall-timeout/s);
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
	like($dump->{err}, qr/error: a worker waits for a lock on (public\.)?victim behind process \d+, which waits for this run\n.*hint: /,
		'behind the leader\'s lock: the task says so');
	nothing_remains_ok($node, $dump->{dir}, 'behind the leader\'s lock');
	sql($node, 'gated', 'DROP TABLE victim, guarded');
}

# ---- plans that are not the run's

{
	my $dump = gated_tasks(2, '');
	my $plan = "$dump->{dir}/plan.tmp/plan.json";
	my $text = slurp_file($plan);
	my $forge = sub {
		my ($change) = @_;
		my $path = new_path('forged.json');
		my $forged = $text;
		$change->() foreach $forged;
		append_to_file($path, $forged);
		chmod 0600, $path;
		return $path;
	};
	my $refused = sub {
		my ($what, $path, $message, @options) = @_;
		my ($rc, undef, $err) = run_program('pg_pardump', "--plan=$path", '--task=0/2', @options);
		is($rc, 1, "$what: exit code");
		like($err, $message, "$what: message");
	};
	my $same = $forge->(sub { });
	symlink $plan, "$plan.link" or die "could not make a link: $!";
	$refused->('a link', "$plan.link", qr/could not be opened/);
	chmod 0660, $same;
	$refused->('a plan that others can write', $same, qr/can be written by other users/);
	$refused->('a plan of another user', '/etc/passwd', qr/belongs to another user/) if $> != 0;
	$refused->('no plan', "$plan.x", qr/is missing/);
	$refused->('half a plan', $forge->(sub { $_ = substr $_, 0, length($_) / 2 }), qr/is damaged/);
	$refused->('another version', $forge->(sub { s/"version": "/$&9/ }), qr/was written by pg_pardump 9.*, and this is/);
	$refused->('another run', $forge->(sub { s/"run": "./"run": "0000/ }), qr/the run that this plan is of has ended/);
	$refused->('another server', $forge->(sub { s/("system_identifier": ")/${1}9/ }), qr/its system identifier is/);
	$refused->('another timeline', $forge->(sub { s/("timeline": ")/${1}9/ }), qr/its timeline is "1", not "91"/);
	$refused->('another database', $plan, qr/its database is "postgres", not "gated"/, '-d', 'postgres');
	$refused->('a job out of range', $forge->(sub { s/("jobs": \[\s*\{"kind": \d+, "first": )/${1}99999/ }), qr/is damaged/);
	my ($rc, undef, $err) = run_program('pg_pardump', "--plan=$plan", '--task=0/3');
	is($rc, 1, 'another number of tasks: exit code');
	like($err, qr/the plan is for 2 tasks, not for 3/, 'another number of tasks: message');
	($rc, undef, $err) = run_program('pg_pardump', "--plan=$plan", '--task=0/2', '-h', '127.0.0.1', '-p', '1');
	is($rc, 75, 'a server that cannot be reached: another exit code');

	# results of another run, and those that somebody else could have written
	append_to_file("$dump->{dir}/plan.tmp/0.other.1.results", qq({"is": "run", "run": "0123"}\n));
	append_to_file("$dump->{dir}/plan.tmp/1.other.1.results", qq({"is": "end"}\n));
	chmod 0622, "$dump->{dir}/plan.tmp/1.other.1.results";
	chmod 0600, "$dump->{dir}/plan.tmp/0.other.1.results";
	open_gate();
	archive_ok($dump, 'results of others',
		qr/results "0\.other\.1" are not of this run, or damaged.*|results "1\.other\.1" are not taken: the file can be written by other users/s);
}

done_testing();
