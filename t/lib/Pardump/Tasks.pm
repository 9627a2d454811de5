
# Commands for --run-tasks: one that runs tasks side by side on this machine, and
# tells of their processes; and those that the documentation recommends.

package Pardump::Tasks;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename;
use Pardump::Cluster qw(new_path);
use Pardump::Command qw(text_file);
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(side_by_side task_pid recipe);

my $pids;

# side_by_side($first): the option.  The shell's text comes before the tasks begin;
# it has the plan as $PLAN, their number as $N, those to be run as $@, and may define
# task() anew, which becomes a task.
sub side_by_side
{
	my ($first) = @_;
	if (!defined $pids)
	{
		$pids = new_path('pids');
		mkdir $pids or die "could not make \"$pids\": $!";
	}
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

# The process of a task that was begun last.
sub task_pid { return slurp_file("$pids/$_[0]") + 0; }

# The command of doc/many_hosts.md that begins with this program, as it stands there.
sub recipe
{
	my ($program) = @_;
	my $doc = slurp_file(abs_path(dirname(__FILE__)) . '/../../../doc/many_hosts.md');
	my ($command) = $doc =~ /--run-tasks='(\Q$program\E [^']*)'/ or die "there is no recipe for $program";
	return $command;
}

1;
