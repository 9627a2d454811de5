# Restores by tasks, which a script of the test's runs on this machine.

package Pardump::RestoreTasks;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(new_path);
use Pardump::Command qw(text_file);

our @EXPORT_OK = qw(restore_runner $side_by_side);

# Runs all tasks that are to be run, and ends as one of them that failed.
our $side_by_side = <<'SH';
pids=; rc=0
for i in "$@"; do one $i & pids="$pids $!"; done
for p in $pids; do wait $p || rc=$?; done
exit $rc
SH

# The option for a script with this body, in which $PLAN and $N are the plan and
# the number of tasks, "$@" those to be run, and "one I" runs task I.
sub restore_runner
{
	my ($body, $jobs) = @_;
	$jobs //= 2;
	my $path = text_file('runner', <<"SH");
#!/bin/sh
PLAN=\$1; N=\$2; shift 2
one() { pg_parrestore --plan="\$PLAN" --task=\$1/\$N -j$jobs; }
$body
SH
	chmod 0755, $path or die "could not make \"$path\" executable: $!";
	return "--run-tasks=$path %p %n %L";
}

1;
