
# Dumps that run while the test does something to them, and what must be true
# after one has failed.  Every wait is bounded.

package Pardump::Background;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Pardump::Cluster qw(new_path poll run_program value);
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# A dump leaves SIGHUP ignored if it was when it began, as under nohup: the tests
# must not depend on how they were started.
$SIG{HUP} = 'DEFAULT';

our @EXPORT_OK = qw(start_dump new_timer pump_run end_dump dump_failed_ok nothing_remains_ok
  wait_until wait_in_run children sessions backends terminate end_writers cpu_seconds cpu_of_ended);

# How long anything may take that a test waits for, in seconds: what is at work has an
# end, and a machine that has much to do may be slow.
my $patience = $PostgreSQL::Test::Utils::timeout_default;

# How long after its end a run may still be seen on the server: its backends
# look for their client once a second.
my $grace = 30;

# start_dump($db_connstr, options...) runs pg_pardump in a process group of its
# own, as a shell runs a command.  Returns a hash with its directory and its
# process id.  Before the options, with => [...] puts a command in front, and
# dir => ... names the directory, else a new one.
sub start_dump
{
	my ($connstr, @options) = @_;
	my @front = ('setsid');
	my %dump = (out => '', err => '');
	while (@options && $options[0] =~ /^(with|dir)$/)
	{
		my ($key, $value) = splice @options, 0, 2;
		push @front, @$value if $key eq 'with';
		$dump{dir} = $value if $key eq 'dir';
	}
	$dump{dir} //= new_path('dump');
	my @cmd = (@front, 'pg_pardump', '-f', $dump{dir}, '--no-sync', '-d',
		$connstr, @options);
	note("starting: @cmd");
	# PostgreSQL::Test::Utils names all sessions alike
	delete local $ENV{PGAPPNAME};
	$dump{h} = IPC::Run::start(\@cmd, '<', \'', '>', \$dump{out},
		'2>', \$dump{err}, $dump{timer} = new_timer());
	$dump{pid} = $dump{h}{KIDS}[0]{PID};
	return \%dump;
}

# What bounds how long a run may take.
sub new_timer { return IPC::Run::timer($patience); }

# Takes what a run has said, without waiting for more; false once it has ended.
# IPC::Run dies if that is between its two looks for it.
sub pump_run
{
	my ($h) = @_;
	return 1 if $h->pumpable && eval { $h->pump_nb; 1 };
	my $error = $@;
	die $error if $h->pumpable;
	return 0;
}

# Its exit code, 128 + signal if it was killed, or undef when it does not end:
# it is then killed.  What the test has done meanwhile is not counted.
sub end_dump
{
	my ($dump) = @_;
	$dump->{timer}->start;
	sleep 0.01 while pump_run($dump->{h}) && !$dump->{timer}->is_expired;
	my $hangs = $dump->{h}->pumpable;
	kill KILL => -$dump->{pid} if $hangs;
	eval { $dump->{h}->finish; 1 } or note("finish: $@");
	print STDERR $dump->{err};
	return undef if $hangs;
	my $status = $dump->{h}->full_result(0) // $?;
	return ($status & 127) ? 128 + ($status & 127) : $status >> 8;
}

# dump_failed_ok($node, $dump, 'what', qr/message/): it ends with exit code 1
# and one error message, and nothing of it remains.
sub dump_failed_ok
{
	my ($node, $dump, $what, $message) = @_;
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, $message, "$what: message");
	# pg_dump may have met the same before it was stopped, and said so
	is(scalar(() = $dump->{err} =~ /^pg_pardump: error: /mg), 1, "$what: one error")
	  or diag($dump->{err});
	nothing_remains_ok($node, $dump->{dir}, $what);
	ok(!-e $dump->{dir}, "$what: the directory is removed");
	return;
}

# No process, session or lock of the run, and nothing pg_restore would take for
# an archive.
sub nothing_remains_ok
{
	my ($node, $dir, $what) = @_;
	my @processes;
	my $sessions;
	my $end = time + $grace;
	do
	{
		sleep 0.05;
		@processes = processes_with($dir);
		$sessions = sessions($node);
	} while ((@processes || $sessions) && time < $end);
	is_deeply(\@processes, [], "$what: no process left");
	is($sessions, 0, "$what: no session left, nor its locks");
	return if !-e $dir;
	ok(!-e "$dir/toc.dat", "$what: no toc.dat");
	my ($rc) = run_program('pg_restore', '-l', $dir);
	isnt($rc, 0, "$what: pg_restore refuses what is left");
	return;
}

# Sessions of pg_pardump and pg_dump; a condition may be added.
sub sessions
{
	my ($node, $condition) = @_;
	$condition //= 'true';
	return value($node, 'postgres', <<"SQL");
SELECT count(*) FROM pg_stat_activity
WHERE (application_name LIKE 'pg_pardump%' OR application_name = 'pg_dump') AND ($condition)
SQL
}

# The process ids of the backends of our programs' sessions, the oldest first,
# which is the leader's.
sub backends
{
	my ($node, $condition) = @_;
	$condition //= 'true';
	return split /\n/, value($node, 'postgres', <<"SQL");
SELECT pid FROM pg_stat_activity
WHERE application_name LIKE 'pg\\_par%' AND ($condition)
ORDER BY backend_start
SQL
}

# Ends backends, and waits until they are gone.
sub terminate
{
	my ($node, @pids) = @_;
	my $pids = join ',', @pids;
	value($node, 'postgres', "SELECT pg_terminate_backend(p) FROM unnest('{$pids}'::int[]) p");
	wait_until('the backends are gone', sub {
		return value($node, 'postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = ANY ('{$pids}')") eq 't';
	});
	return;
}

# A pgbench whose sessions are called "writer" ends, and what these are in the midst
# of, which their servers do to its end without it.
sub end_writers
{
	my ($node, $writers) = @_;
	$writers->signal('TERM');
	$writers->finish;
	wait_until('no writer is left', sub {
		value($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'") eq 't' });
	return;
}

# What a process has used of the processors, in seconds, or undef if it has ended;
# and those of its children that have.  Unlike time it is what the work costs,
# on a busy machine too.
sub cpu_seconds
{
	my ($pid) = @_;
	open my $fh, '<', "/proc/$pid/stat" or return undef;
	my @fields = split ' ', (<$fh> // return undef) =~ s/.*\) //sr;
	my ($own, $childrens) = map { ($fields[$_] + $fields[ $_ + 1 ]) / POSIX::sysconf(POSIX::_SC_CLK_TCK()) } 11, 13;
	return wantarray ? ($own, $childrens) : $own;
}

# That of all sessions of a server which have ended.
sub cpu_of_ended
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return (cpu_seconds($postmaster))[1];
}

# Command lines of live processes that name the directory.
sub processes_with
{
	my ($dir) = @_;
	my @found;
	foreach my $file (glob '/proc/[0-9]*/cmdline')
	{
		open my $fh, '<', $file or next;    # ended meanwhile
		my $cmdline = <$fh> // next;        # a zombie has none
		push @found, $cmdline =~ tr/\0/ /r if index($cmdline, $dir) >= 0;
	}
	return @found;
}

# Live child processes.
sub children
{
	my ($parent) = @_;
	my @found;
	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open my $fh, '<', $file or next;
		my $stat = <$fh> // next;
		my ($pid, $state, $ppid) = $stat =~ /^(\d+) \(.*\) (\w) (\d+) /s or next;
		push @found, $pid if $ppid == $parent && $state ne 'Z';
	}
	return @found;
}

# wait_until('what', sub): until it returns true, else the test file dies.
# Returns what it returned.
sub wait_until
{
	my ($what, $condition) = @_;
	return poll($patience, $condition) || die "timed out waiting for: $what";
}

# The same while a dump or a copy runs: the test file dies, too, if that ends.
sub wait_in_run
{
	my ($run, $what, $condition) = @_;
	return wait_until($what, sub {
		die "the run ended: $run->{err}" if !pump_run($run->{h});
		return $condition->();
	});
}

1;
