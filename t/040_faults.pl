# Something dies or is told to stop in the middle of a dump: it ends at once,
# says why, and leaves no archive, process or session.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok
  nothing_remains_ok wait_until children sessions);
use Pardump::Cluster qw(start_cluster run_program sql value);
use Pardump::Command qw(fake_pg_dump);
use Pardump::Gate qw(hold open_gate);
use Pardump::GatedDump qw(make_gated gated_options stuck_dump leader_backend worker_backends);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('faults');
make_gated($node);
my $connstr = $node->connstr('gated');
my @options = ('-j2', gated_options());

# Two workers in the middle of two chunks.
sub two_stuck { return stuck_dump(42, 2, @_); }

my $chunk = qr/The worker was dumping chunk \d+ of \d+ of table public\.gated\./;

# ---- the gate alone is not an error

{
	my $dump = two_stuck();
	ok(!-e "$dump->{dir}/toc.dat", 'no toc.dat while workers are busy');
	open_gate();
	is(end_dump($dump), 0, 'a dump that waits for a gate: exit code');
	is($dump->{err}, '', 'a dump that waits for a gate: no message');
	ok(-f "$dump->{dir}/toc.dat", 'a dump that waits for a gate: the archive has a table of contents');
	nothing_left($dump, 'a good dump');
}

sub nothing_left
{
	my ($dump, $what) = @_;
	wait_until("$what: no session", sub { sessions($node) == 0 });
	is(sessions($node), 0, "$what: no session left");
	return;
}

# ---- workers, backends, leader

my $user = qr/terminated by user\n.*detail: Signal/;
foreach my $fault (
	[ 'SIGKILL for a worker', sub { kill KILL => (children($_[0]{pid}))[0] },
		qr/worker process \d+ was terminated by signal 9: Killed\n.*$chunk/ ],
	[ 'SIGSEGV for a worker', sub { kill SEGV => (children($_[0]{pid}))[-1] },
		qr/worker process \d+ was terminated by signal 11: .*\n.*$chunk/ ],
	[ 'SIGTERM for a worker', sub { kill TERM => (children($_[0]{pid}))[-1] },
		qr/worker process \d+ was terminated by signal 15: Terminated\n.*$chunk/ ],
	[ 'a worker\'s backend terminated',
		sub { value($node, 'postgres', 'SELECT pg_terminate_backend(' . (worker_backends())[0] . ')') },
		qr/could not read rows: FATAL:  terminating connection due to administrator command.*$chunk/s ],
	[ 'a worker\'s statement cancelled',
		sub { value($node, 'postgres', 'SELECT pg_cancel_backend(' . (worker_backends())[0] . ')') },
		qr/could not read rows: ERROR:  canceling statement due to user request.*$chunk/s ],
	[ 'the leader\'s backend terminated',
		sub { value($node, 'postgres', 'SELECT pg_terminate_backend(' . leader_backend() . ')') },
		qr/lost the connection that held the locks on all tables/ ],
	(map { my $signal = $_;
			[ "SIG$signal for the leader", sub { kill $signal => $_[0]{pid} }, $user ] }
		  qw(INT TERM HUP QUIT)),
	[ 'SIGINT for all', sub { kill INT => -$_[0]{pid} }, $user ],
	[ 'SIGTERM with a stopped worker',
		sub { kill STOP => (children($_[0]{pid}))[0]; kill TERM => $_[0]{pid} }, $user ],
	[ 'the directory removed', sub { system_or_bail('rm', '-rf', $_[0]{dir}); open_gate() },
		qr/could not (create|open|read) .*No such file or directory/ ])
{
	my ($what, $do, $message) = @$fault;
	my $dump = two_stuck('--retries=0');
	$do->($dump);
	dump_failed_ok($node, $dump, $what, $message);
	open_gate();
}

# ---- signals that its parent ignores

{
	my $dump = two_stuck(with => ['nohup']);
	kill HUP => -$dump->{pid};
	open_gate();
	is(end_dump($dump), 0, 'SIGHUP for all with nohup: exit code');
	is($dump->{err}, '', 'SIGHUP for all with nohup: no message');
	ok(-f "$dump->{dir}/toc.dat", 'SIGHUP for all with nohup: an archive');

	$dump = two_stuck(with => ['nohup']);
	kill HUP => -$dump->{pid};
	kill INT => $dump->{pid};
	dump_failed_ok($node, $dump, 'SIGINT after SIGHUP with nohup', $user);
	open_gate();
}
{
	my $dump = start_dump($connstr,
		with => [ 'perl', '-e', '$SIG{CHLD} = "IGNORE"; exec @ARGV or die' ], @options);
	is(end_dump($dump), 0, 'SIGCHLD ignored: exit code');
	is($dump->{err}, '', 'SIGCHLD ignored: no message');
	ok(-f "$dump->{dir}/toc.dat", 'SIGCHLD ignored: an archive');
}

{
	my $dump = two_stuck();
	kill KILL => $dump->{pid};
	is(end_dump($dump), 137, 'SIGKILL for the leader: exit code');
	nothing_remains_ok($node, $dump->{dir}, 'SIGKILL for the leader');
	ok(-d $dump->{dir}, 'SIGKILL for the leader: its directory could not be removed');
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '-f', $dump->{dir});
	is($rc, 1, 'the directory of a killed dump: exit code of the next dump');
	like($err, qr/exists but is not empty/, 'the directory of a killed dump: message');
	open_gate();
}

# ---- while pg_dump works

# Waits for a lock in pg_dump, or in a pg_dump that does not even start.
sub dump_in_pg_dump
{
	my (@more) = @_;
	hold('BEGIN; LOCK TABLE after_it');
	my $dump = start_dump($connstr, @more, @options);
	wait_until('pg_dump waits for a lock', sub {
		$dump->{h}->pump_nb;
		return sessions($node, "application_name = 'pg_dump' AND wait_event = 'relation'");
	});
	return $dump;
}
foreach my $fault (
	(map { my $signal = $_;
			[ "SIG$signal while pg_dump waits", sub { kill $signal => $_[0]{pid} }, $user ] }
		  qw(INT TERM)),
	[ 'SIGINT for all while pg_dump waits', sub { kill INT => -$_[0]{pid} }, $user ],
	# its backend sees it only when it has the lock
	[ 'SIGKILL for pg_dump',
		sub { kill KILL => (children($_[0]{pid}))[0]; hold('ROLLBACK') },
		qr/pg_dump was terminated by signal 9: Killed/ ],
	[ 'the leader\'s backend terminated while pg_dump waits',
		sub {
			value($node, 'postgres', 'SELECT pg_terminate_backend(' . leader_backend() . ')');
			hold('ROLLBACK');
		},
		qr/terminating connection due to administrator command/ ])
{
	my ($what, $do, $message) = @$fault;
	my $dump = dump_in_pg_dump();
	$do->($dump);
	dump_failed_ok($node, $dump, $what, $message);
	hold('ROLLBACK');
}
{
	my $dump = dump_in_pg_dump(with => ['nohup']);
	kill HUP => -$dump->{pid};
	hold('ROLLBACK');
	is(end_dump($dump), 0, 'SIGHUP for all with nohup while pg_dump waits: exit code');
	is($dump->{err}, '', 'SIGHUP for all with nohup while pg_dump waits: no message');
}
{
	my $dump = dump_in_pg_dump();
	kill KILL => $dump->{pid};
	is(end_dump($dump), 137, 'SIGKILL for the leader while pg_dump waits: exit code');
	nothing_remains_ok($node, $dump->{dir}, 'SIGKILL for the leader while pg_dump waits');
	hold('ROLLBACK');
}
{
	my $dump = start_dump($connstr, '--pg-dump',
		fake_pg_dump('deaf_pg_dump', 'trap "" TERM INT; sleep 600; sleep 600'));
	wait_until('pg_dump runs', sub { children($dump->{pid}) });
	wait_until('a session', sub { sessions($node) });
	wait_until('the directory', sub { -d $dump->{dir} });
	kill INT => $dump->{pid};
	dump_failed_ok($node, $dump, 'a pg_dump that does not listen', $user);
}

# ---- settings of the server

sql($node, 'postgres', <<'SQL');
ALTER ROLE dumper SET statement_timeout = '4s';
ALTER ROLE dumper SET lock_timeout = '4s';
ALTER ROLE dumper SET idle_in_transaction_session_timeout = '4s';
ALTER ROLE dumper SET idle_session_timeout = '4s';
SQL
{
	# they apply until a session has set its own: that must not be a matter of luck
	my $dump = two_stuck();
	value($node, 'postgres', 'SELECT pg_sleep(5)');
	open_gate();
	is(end_dump($dump), 0, 'timeouts of the role do not apply') or diag($dump->{err});
	nothing_left($dump, 'timeouts of the role do not apply');
}
sql($node, 'postgres', 'ALTER ROLE dumper RESET ALL; ALTER ROLE dumper CONNECTION LIMIT 2');
{
	my $dump = start_dump($connstr, @options, '-j4', '--retries=0');
	dump_failed_ok($node, $dump, 'too few connections',
		qr/server "[^"]+" has only 1 of 4 needed connections left\n.*hint: Use --jobs=1/);
}
sql($node, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT -1');

# ---- the whole server

{
	my $dump = two_stuck();
	$node->stop('immediate');
	my $rc = end_dump($dump);
	$node->start;
	is($rc, 1, 'immediate shutdown: exit code');
	my @errors = $dump->{err} =~ /^pg_pardump: error: .*/mg;
	is(scalar(@errors), 1, 'immediate shutdown: one error') or diag($dump->{err});
	like($dump->{err}, qr/the snapshot of this run was lost/,
		'immediate shutdown: message');
	nothing_remains_ok($node, $dump->{dir}, 'immediate shutdown');
	ok(!-e $dump->{dir}, 'immediate shutdown: the directory is removed');
}

$node->stop;
done_testing();
