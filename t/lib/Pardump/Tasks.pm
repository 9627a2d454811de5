
# Commands for --run-tasks: those that run tasks on this machine, and tell of their
# processes; and those that the documentation recommends.

package Pardump::Tasks;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename;
use Pardump::Background qw(end_dump wait_until);
use Pardump::Cluster qw(new_path);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(same_when_restored_ok);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(runner all_tasks side_by_side task_pid task_is_alive archive_made_ok are_gone recipe);

my $pids;

# runner($body, $jobs): the option for a shell script with this body, in
# which $PLAN and $N are the plan and the number of tasks, "$@" those to be run, and
# "one I" runs task I, with further options, by task(), which becomes it and may
# be redefined.
sub runner
{
	my ($body, $jobs) = @_;
	$jobs //= 2;
	my $path = text_file('runner', <<"SH");
#!/bin/sh
PLAN=\$1; N=\$2; shift 2
task() { no=\$1; shift; exec pg_pardump --plan="\$PLAN" --task=\$no/\$N -j$jobs "\$@"; }
one() { (task "\$@"); }
$body
SH
	chmod 0755, $path or die "could not make \"$path\" executable: $!";
	return "--run-tasks=$path %p %n %L";
}

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

# The option: all tasks side by side, each with one worker, after this text.
sub side_by_side
{
	my ($first) = @_;
	return runner("$first\n" . all_tasks(), 1);
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

# Of processes.
sub are_gone { return !grep { kill 0 => $_ } @_; }

# The command of doc/many_hosts.md that begins with this program, as it stands there.
sub recipe
{
	my ($program) = @_;
	my $doc = slurp_file(abs_path(dirname(__FILE__)) . '/../../../doc/many_hosts.md');
	my ($command) = $doc =~ /--run-tasks='(\Q$program\E [^']*)'/ or die "there is no recipe for $program";
	return $command;
}

1;
