# A dump by tasks under Slurm: a real controller and two nodes on this machine, run
# by an ordinary user, while rows are changed: a task is killed, a node, and the leader;
# tasks run twice at a time; a disk is full.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump nothing_remains_ok wait_in_run wait_until);
use Pardump::Cluster qw(start_cluster new_path run_program sql value);
use Pardump::Compare qw(fingerprint);
use Pardump::Gate qw(open_gate close_gate);
use Pardump::GatedDump qw(make_gated gated_options);
use Pardump::Tasks qw(archive_made_ok recipe);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PATH} = "$ENV{PATH}:/usr/sbin";
foreach my $program (qw(slurmctld slurmd sbatch srun squeue munged))
{
	plan skip_all => "$program is not installed"
	  if !grep { -x "$_/$program" } split /:/, $ENV{PATH};
}

# Processes are told by their node's name, and more than this test may run here.
my @nodes = map { "n${_}of$$" } 1, 2;
my $user = getpwuid($>);
my $host = `hostname -s`;
chomp $host;
my %daemons;

# Sockets have short names, and munged wants all above its own to be safe.
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $shared = new_path('slurm');
mkdir $shared or die "could not make \"$shared\": $!";

sub start_daemon
{
	my ($name, @command) = @_;
	open my $log, '>>', "$shared/$name.out" or die "no log: $!";
	$daemons{$name} = IPC::Run::start([ 'setsid', @command ], '<', \'', '>', $log, '2>', $log);
	return;
}

END
{
	my $status = $?;
	kill KILL => map { -$_->{KIDS}[0]{PID} } values %daemons;
	eval { $_->finish } foreach values %daemons;
	$? = $status;
}

chmod 0755, $dir;
append_to_file("$dir/key", join '', map { chr int rand 256 } 1 .. 1024);
chmod 0400, "$dir/key";
start_daemon('munged', 'munged', '--foreground', '--force', "--socket=$dir/munge", "--key-file=$dir/key",
	"--pid-file=$dir/munge.pid", "--log-file=$shared/munge.log", "--seed-file=$dir/seed");
wait_until('munged', sub { -S "$dir/munge" });

my @ports = map { PostgreSQL::Test::Cluster::get_free_port() } 0 .. 2;
append_to_file("$shared/slurm.conf", <<"CONF");
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$ports[0]
AuthType=auth/munge
AuthInfo=socket=$dir/munge
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$shared/state
SlurmdSpoolDir=$shared/spool.%n
SlurmctldPidFile=$shared/slurmctld.pid
SlurmdPidFile=$shared/%n.pid
SlurmctldLogFile=$shared/slurmctld.log
SlurmdLogFile=$shared/%n.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmdTimeout=15
KillWait=1
ReturnToService=2
NodeName=$nodes[0] NodeHostname=$host NodeAddr=127.0.0.1 Port=$ports[1] CPUs=1
NodeName=$nodes[1] NodeHostname=$host NodeAddr=127.0.0.1 Port=$ports[2] CPUs=1
PartitionName=all Nodes=$nodes[0],$nodes[1] Default=YES State=UP
CONF
# An ordinary user has no control groups, which Slurm wants since 23.11.
my ($slurm) = `slurmd -V` =~ /(\d+)/;
append_to_file("$shared/cgroup.conf", "CgroupPlugin=disabled\n") if $slurm >= 24;
$ENV{SLURM_CONF} = "$shared/slurm.conf";
mkdir "$shared/$_" or die "could not make \"$_\": $!" foreach 'state', map { "spool.$_" } @nodes;
start_daemon('slurmctld', 'slurmctld', '-D', '-f', $ENV{SLURM_CONF});
start_daemon($_, 'slurmd', '-D', '-N', $_, '-f', $ENV{SLURM_CONF}) foreach @nodes;
nodes_are_idle();

my $node = start_cluster('slurm');
make_gated($node);
my $original;
my $run = "--run-tasks=sbatch --quiet --wait --no-requeue --array=%l -o $shared/task.%%a"
  . ' --wrap "pg_pardump --plan=%p --task=\$SLURM_ARRAY_TASK_ID/%n"';

# Until each of them gets one of the next two tasks.
sub nodes_are_idle
{
	wait_until('both nodes are idle', sub {
		my ($rc, $out) = run_program('sinfo', '-h', '-N', '-o', '%T');
		return $rc == 0 && (() = $out =~ /^idle$/mg) == 2;
	});
	return;
}

# A dump of which a number of attempts at tasks wait on both nodes, and what is
# dumped has changed since.
sub dump_on_both
{
	my ($waiting, $command) = @_;
	$original = fingerprint($node, 'gated');
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', $command, gated_options());
	wait_in_run($dump, 'tasks wait at the gate', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) == $waiting;
	});
	sql($node, 'gated', 'UPDATE after_it SET t = t || $$x$$');
	return $dump;
}

# The option, where each task's command is that which is made of it.
sub run_as
{
	my ($make) = @_;
	my ($first, $task) = $run =~ /^(.*--wrap )"(.*)"$/;
	return "$first\"" . $make->($task) =~ s/(?<!\\)\$/\\\$/gr . '"';
}

sub archive_ok
{
	my ($dump, $what, $words) = @_;
	archive_made_ok($node, $dump, $original, $what, $words);
	return;
}

# Processes by what /proc says of them.
sub processes
{
	my ($file, $pattern) = @_;
	my @found;
	foreach my $path (glob "/proc/[0-9]*/$file")
	{
		open my $fh, '<', $path or next;
		local $/;
		my $text = <$fh> // next;
		push @found, $path =~ /(\d+)/ if $text =~ $pattern;
	}
	return @found;
}

# Other controllers have jobs of the same number.
sub is_ours
{
	my ($pid) = @_;
	return grep { index(readlink($_) // '', "$shared/") == 0 } "/proc/$pid/cwd", glob "/proc/$pid/fd/*";
}

sub on_node { return processes('environ', qr/(?:^|\0)SLURMD_NODENAME=$_[0]\0/); }

# ---- a task is killed

{
	my $dump = dump_on_both(2, $run);
	my @first = grep { my $pid = $_; grep { $_ == $pid } processes('cmdline', qr/^pg_pardump\0/) } on_node($nodes[0]);
	kill KILL => @first;
	open_gate();
	archive_ok($dump, 'a task killed under Slurm',
		qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: \d; retry 1 of 5\npg_pardump: detail: The command exited with exit code \d+\.\n$/);
}

# ---- each task runs twice at a time

{
	my $dump = dump_on_both(4, run_as(sub { return "$_[0] & $_[0]; rc=\$?; wait \$! && exit \$rc" }));
	open_gate();
	archive_ok($dump, 'tasks twice at a time under Slurm', qr/^$/);
}

# ---- srun, by the recipe: a job of its own, a process for each task; one is killed

{
	my $dump = dump_on_both(2, '--run-tasks=' . recipe('srun'));
	my @first = grep { my $pid = $_; grep { $_ == $pid } processes('cmdline', qr/^pg_pardump\0/) } on_node($nodes[0]);
	cmp_ok(scalar(@first), '>', 0, 'srun has tasks on a node');
	kill KILL => @first;
	open_gate();
	archive_ok($dump, 'a task killed under srun',
		qr/warning: not all tasks were completed; tasks to run again: \d; retry 1 of 5\npg_pardump: detail: The command exited with exit code \d+\.\n/);
}

# ---- a node is killed, with all that runs there

{
	my $dump = dump_on_both(2, $run);
	my (undef, $job) = run_program('squeue', '-h', '-w', $nodes[1], '-o', '%A');
	chomp $job;
	kill KILL => -$daemons{ $nodes[1] }{KIDS}[0]{PID};
	my @steps = grep { is_ours($_) } processes('cmdline', qr/^slurmstepd: \[$job\./);
	cmp_ok(scalar(@steps), '>', 0, 'a node has a process for its step');
	kill KILL => @steps, on_node($nodes[1]);
	open_gate();
	archive_ok($dump, 'a node killed',
		qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: \d; retry 1 of 5\npg_pardump: detail: The command exited with exit code \d+\.\n$/);
}

# ---- the leader is killed: the tasks leave their nodes, and there is no archive

{
	start_daemon($nodes[1], 'slurmd', '-D', '-N', $nodes[1], '-f', $ENV{SLURM_CONF});
	my $dump = dump_on_both(2, $run);
	kill KILL => $dump->{pid};
	wait_until('the tasks leave', sub { return !grep { on_node($_) } @nodes });
	nothing_remains_ok($node, $dump->{dir}, 'the leader killed under Slurm');
	open_gate();
	eval { end_dump($dump) };
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dump->{dir}, '--clean-output', '-d', $node->connstr('gated'), gated_options());
	is("$rc$err", '0', 'the leader killed under Slurm: the directory is used again');
}

# ---- a disk is full, on one node, once: the task is run again

{
	nodes_are_idle();
	my $once = new_path('once');
	my $dump = start_dump($node->connstr('gated'), '--tasks=8', '-Z0', gated_options(), run_as(sub {
		return "if [ \$SLURMD_NODENAME = $nodes[1] ] && [ ! -e $once ]; then touch $once; ulimit -f 16; fi; $_[0]";
	}));
	$original = fingerprint($node, 'gated');
	archive_ok($dump, 'a disk full on a node', qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: [\d,-]+; retry 1 of 5\npg_pardump: detail: The command exited with exit code 1\.\n$/);
	ok(-e $once, 'a disk full on a node: the fault occurred');
}

done_testing();
