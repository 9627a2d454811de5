# A dump by tasks that GNU parallel runs by ssh, as the documentation has it: on
# "hosts" that are this machine, whose SSH server is the test's own, and an ordinary
# user's; a host that is not there, and a connection that breaks.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump wait_in_run wait_until children);
use Pardump::Cluster qw(start_cluster new_path run_program value);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(fingerprint same_when_restored_ok);
use Pardump::Gate qw(open_gate close_gate);
use Pardump::GatedDump qw(make_gated gated_options);
use Pardump::Store qw(sshd_command);
use Pardump::Tasks qw(recipe);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PATH} = "$ENV{PATH}:/usr/sbin";
my %path;
foreach my $program (qw(parallel sshd ssh ssh-keygen))
{
	($path{$program}) = grep { -x } map { "$_/$program" } split /:/, $ENV{PATH};
	plan skip_all => "$program is not installed" if !defined $path{$program};
}
my ($user, $shell) = (getpwuid $>)[ 0, 8 ];
plan skip_all => "user $user may not log in" if $shell =~ /nologin|false/ || !-x $shell;

# ---- the server, and how it is reached

my $dir = new_path('ssh');
mkdir $dir or die "could not make \"$dir\": $!";
system_or_bail('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', "$dir/$_") foreach 'host_key', 'key';
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $set = join ' ', map { "$_=\"$ENV{$_}\"" } grep { defined $ENV{$_} } qw(PATH LD_LIBRARY_PATH);
my @sshd_command = sshd_command($dir, "Port $port\nSetEnv $set\n");
append_to_file("$dir/config", <<"CONF");
Host one two
  HostName 127.0.0.1
  Port $port
Host gone
  HostName 127.0.0.1
  Port 1
Host *
  User $user
  IdentityFile $dir/key
  IdentitiesOnly yes
  UserKnownHostsFile $dir/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
CONF
# what others have in ~/.ssh
mkdir "$dir/bin" or die "could not make \"$dir/bin\": $!";
append_to_file("$dir/bin/ssh", "#!/bin/sh\necho \"\$@\" >>'$dir/calls'\nexec $path{ssh} -F '$dir/config' \"\$@\"\n");
chmod 0755, "$dir/bin/ssh";
$ENV{PATH} = "$dir/bin:$ENV{PATH}";
$ENV{HOME} = $dir;

my $log = "$dir/sshd.log";
open my $log_file, '>>', $log or die "no log: $!";
my $sshd = IPC::Run::start([ 'setsid', @sshd_command ], '<', \'', '>', $log_file, '2>', $log_file);
my $sshd_pid = $sshd->{KIDS}[0]{PID};

END
{
	my $status = $?;
	kill KILL => -$sshd_pid if $sshd_pid;
	eval { $sshd->finish } if $sshd;
	$? = $status;
}

wait_until('the SSH server', sub { return (run_program('ssh', 'one', 'pg_pardump --version'))[0] == 0 });

my $node = start_cluster('ssh');
make_gated($node);
my $original = fingerprint($node, 'gated');

sub by_parallel
{
	my ($hosts) = @_;
	my $file = text_file('hosts', $hosts);
	return '--run-tasks=' . recipe('parallel') =~ s/--sshloginfile hosts /--sshloginfile $file /r;
}

sub archive_ok
{
	my ($dump, $what) = @_;
	is(end_dump($dump), 0, "$what: exit code") or diag($dump->{err});
	ok(-f "$dump->{dir}/toc.dat", "$what: an archive") or return;
	same_when_restored_ok($node, $dump->{dir}, $original, $what);
	return;
}

sub connections { return scalar(() = slurp_file($log) =~ /^Accepted publickey/mg); }

# ---- all goes well

{
	my $before = connections();
	my $dump = start_dump($node->connstr('gated'), '--tasks=3', by_parallel("one\ntwo\n"), gated_options());
	archive_ok($dump, 'two hosts');
	is($dump->{err}, '', 'two hosts: no messages');
	is(connections() - $before, 3, 'two hosts: a connection for each task');
}

# ---- a host is not there

{
	my $before = connections();
	my $dump = start_dump($node->connstr('gated'), '--tasks=3', by_parallel("gone\none\n"), gated_options());
	archive_ok($dump, 'a host that is gone');
	like(slurp_file("$dir/calls"), qr/^.*\bgone\b/m, 'a host that is gone: ssh was called for it');
	is(connections() - $before, 3, 'a host that is gone: the other one has all tasks');
	unlike($dump->{err}, qr/run again/, 'a host that is gone: the command does it alone');
}

# ---- connections break while tasks are at work; the tasks may go on, or be run again

{
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), '--tasks=2', by_parallel("one\ntwo\n"), gated_options());
	my $waits = sub { return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) >= 2 };
	wait_in_run($dump, 'tasks wait at the gate', $waits);
	my $before = connections();
	# of each connection the monitor, and the session's process
	kill KILL => map { (children($_), $_) } children($sshd_pid);
	wait_in_run($dump, 'tasks are run again', sub { return connections() >= $before + 2 });
	wait_in_run($dump, 'tasks wait at the gate', $waits);
	open_gate();
	archive_ok($dump, 'connections broken');
}

done_testing();
