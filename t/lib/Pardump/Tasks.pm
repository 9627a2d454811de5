
# Commands for --run-tasks: those that run tasks on this machine, and tell of their
# processes; and those that the documentation recommends.

package Pardump::Tasks;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename;
use Pardump::Background qw(end_dump wait_until wait_in_run terminate);
use Pardump::Cluster qw(make_database new_path sql value);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(same_when_restored_ok);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(make_tasks runner restore_runner all_tasks liar side_by_side task_pid task_is_alive last_task
  archive_made_ok forge_log forged_log_not_called_ok are_gone wait_for_second_attempt end_leaders_sessions recipe);

my $pids;

# The database "tasks": chunks, keys, an unlogged table, large objects.
sub make_tasks
{
	my ($node) = @_;
	make_database($node, 'tasks', options => 'TEMPLATE template0');
	sql($node, 'tasks', <<'SQL');
CREATE TABLE big (id int PRIMARY KEY, t text, "odd ""name" text);
INSERT INTO big SELECT g, md5(g::text), E'\\x' || g FROM generate_series(1, 30000) g;
CREATE TABLE child (id int PRIMARY KEY REFERENCES big, above int REFERENCES child);
INSERT INTO child SELECT g, nullif(g - 1, 0) FROM generate_series(1, 2000) g;
CREATE UNLOGGED TABLE fleeting AS SELECT g FROM generate_series(1, 1000) g;
CREATE TABLE small AS SELECT g FROM generate_series(1, 10) g;
CREATE TABLE nothing (x int);
CREATE INDEX ON big (t);
CREATE VIEW seen AS SELECT count(*) FROM big;
SELECT lo_from_bytea(1000 + g, convert_to(repeat(md5(g::text), g), 'UTF8'))
	FROM generate_series(1, 20) g;
SQL
	return;
}

# runner($body, $jobs, $program): the option for a shell script with this body, in
# which $PLAN and $N are the plan and the number of tasks, "$@" those to be run, and
# "one I" runs task I, with further options, by task(), which becomes it and may be defined
# anew.
sub runner
{
	my ($body, $jobs, $program) = @_;
	$jobs //= 2;
	$program //= 'pg_pardump';
	my $path = text_file('runner', <<"SH");
#!/bin/sh
PLAN=\$1; N=\$2; shift 2
task() { no=\$1; shift; exec $program --plan="\$PLAN" --task=\$no/\$N -j$jobs "\$@"; }
one() { (task "\$@"); }
$body
SH
	chmod 0755, $path or die "could not make \"$path\" executable: $!";
	return "--run-tasks=$path %p %n %L";
}

sub restore_runner { my ($body, $jobs) = @_; return runner($body, $jobs, 'pg_parrestore'); }

# A body, or its end: runs all tasks that are to be run side by side, and ends as one
# of them that failed.
sub all_tasks
{
	if (!defined $pids)
	{
		$pids = new_path('pids');
		mkdir $pids or die "could not make \"$pids\": $!";
	}
	return <<"SH" . 'exit $rc';
pids=; rc=0
for i in "\$@"; do rm -f '$pids'/\$i; done
for i in "\$@"; do (task \$i) & echo \$! >'$pids'/new; mv '$pids'/new '$pids'/\$i; pids="\$pids \$!"; done
for p in \$pids; do wait \$p || rc=\$?; done
SH
}

# A body that tells of rows that are not there; of so many files, by the shell.
sub liar
{
	my ($files) = @_;
	return <<"SH";
umask 077
line() { echo "{\\"is\\": \\"\$1\\", \$2 \\"checksum\\": \\"\\"}" >>"\${PLAN%/*}/0.liar.1.results"; }
line run "\$(grep -o '"run": "[0-9a-f]*",' "\$PLAN")"
for i in \$(seq 0 \$(($files - 1))); do line file "\\"number\\": \$i,"; done
for i in \$(seq 0 19); do line object "\\"number\\": \$i,"; done
line end
SH
}

# The option: all tasks side by side, each with one worker, after this text.
sub side_by_side
{
	my ($first, $program) = @_;
	return runner("$first\n" . all_tasks(), 1, $program);
}

# The process of a task that was begun last; the runner may be slower than the
# tasks before it.
sub task_pid
{
	my ($task) = @_;
	wait_until("task $task has begun", sub { return -e "$pids/$task" });
	return slurp_file("$pids/$task") + 0;
}

sub task_is_alive
{
	my ($task) = @_;
	open my $fh, '<', '/proc/' . task_pid($task) . '/stat' or return 0;
	return (<$fh> // ') Z ') !~ /\) Z /;
}

# Until all tasks of three but one have done what they can do; that one.
sub last_task
{
	my ($run) = @_;
	my @alive;
	wait_in_run($run, 'only one task is left', sub {
		@alive = grep { task_is_alive($_) } 0 .. 2;
		return @alive == 1;
	});
	return $alive[0];
}

# A dump by tasks works, says this or nothing, and has made the archive of those rows.
sub archive_made_ok
{
	my ($node, $dump, $want, $what, $words) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	like($dump->{err}, $words // qr/^$/, "$what: what it says");
	ok(-f "$dump->{dir}/toc.dat", "$what: an archive")
	  and same_when_restored_ok($node, $dump->{dir}, $want, $what);
	return;
}

# In the place of a run's log, with this attempt, another role puts a schema of its own,
# which tells whether anything of it is called.
sub forge_log
{
	my ($target, $db, $attempt) = @_;
	sql($target, $db, <<"SQL");
DROP SCHEMA IF EXISTS pardump_restore CASCADE;
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
CREATE TABLE pardump_restore.done_unlogged (name text PRIMARY KEY, attempt int, errors int);
SQL
	return;
}

sub forged_log_not_called_ok
{
	my ($target, $db) = @_;
	is(value($target, $db, 'SELECT is_called FROM pardump_restore.caught'), 'f', 'a log of another role: nothing of it is called');
	return;
}

# Of processes.
sub are_gone { return !grep { kill 0 => $_ } @_; }

# Until one of two attempts at a job waits on the target for the other.
sub wait_for_second_attempt
{
	my ($target, $run) = @_;
	wait_in_run($run, 'an attempt waits for the other', sub {
		return value($target, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'transactionid' AND query ~ 'pardump_restore.done'}) == 1;
	});
	return;
}

# End the leader's sessions on the target, and wait until it has its lock again.
sub end_leaders_sessions
{
	my ($target, $run) = @_;
	my $leader = q{FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND objid <> 42 AND granted};
	my $old = value($target, 'postgres', "SELECT pid $leader");
	terminate($target, split /\n/, value($target, 'postgres', q{SELECT pid FROM pg_stat_activity
		WHERE application_name = 'pg_pardump' AND wait_event IS DISTINCT FROM 'advisory'}));
	wait_in_run($run, 'the leader has its lock again', sub {
		my $new = value($target, 'postgres', "SELECT pid $leader");
		return $new ne '' && $new ne $old;
	});
	return;
}

# The command of doc/many_hosts.md that begins with this program, as it stands there.
sub recipe
{
	my ($program) = @_;
	my $doc = slurp_file(abs_path(dirname(__FILE__)) . '/../../../doc/many_hosts.md');
	my ($command) = $doc =~ /--run-tasks='(\Q$program\E [^']*)'/ or die "there is no recipe for $program";
	return $command;
}

1;
