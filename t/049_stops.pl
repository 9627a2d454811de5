# Processes that are stopped or killed: a dump does not wait for them forever, and
# does not hold resources of the server longer than necessary.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until children sessions
  nothing_remains_ok wait_in_run);
use Pardump::Cluster qw(start_cluster new_path sql value);
use Pardump::Gate qw(open_gate);
use Pardump::GatedDump qw(make_gated stuck_dump leader_backend worker_backends survived_ok);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = start_cluster('stops');
make_gated($node);
my $connstr = $node->connstr('gated');

sub process_state
{
	my ($pid) = @_;
	open my $fh, '<', "/proc/$pid/stat" or return '';
	return (<$fh> // '') =~ /^\d+ \(.*\) (\w) /s ? $1 : '';
}

sub stop_process
{
	my ($pid) = @_;
	kill STOP => $pid or die "could not stop process $pid: $!";
	wait_until('the process is stopped', sub { process_state($pid) eq 'T' });
	return;
}

# ---- a worker is stopped while it waits for the server, so that the server waits for
# the worker; and while it only waits because of the rate limit

{
	my $dump = stuck_dump(42, 2, '--stall-timeout=1');
	my ($worker) = children($dump->{pid});
	stop_process($worker);
	open_gate();
	survived_ok($dump, 'a worker is stopped while it waits for the server',
		qr/^(|pg_pardump: warning: lost the connection of a worker; retry 1 of 5 .*\n.*--stall-timeout.*\n.*detail: The worker was dumping .*\n)$/);
}
{
	my $dump = start_dump($connstr, '-j2', '-Z0', '--stall-timeout=1', '-r', '256k',
		'--max-table-segment-pages=20');
	my @workers;
	wait_in_run($dump, 'the workers write', sub {
		return -s "$dump->{dir}/" && grep { -s } glob "$dump->{dir}/*.dat";
	});
	@workers = children($dump->{pid});
	stop_process($_) foreach @workers;
	survived_ok($dump, 'workers are stopped at any point', qr/^(pg_pardump: (warning|detail): .*\n)*$/);
}
# A worker is stopped after its last job, when only one job is not done.
{
	my $log = new_path('log');
	my $dump = stuck_dump(43, 1, "--log-json=$log");
	wait_in_run($dump, 'all other jobs are done', sub {
		sessions($node, "query = 'ROLLBACK TO SAVEPOINT pardump' AND state = 'idle in transaction'"
			  . " AND state_change < clock_timestamp() - interval '4 s'") == 1 });
	my ($busy) = slurp_file($log) =~ /"pid":\s*(\d+),[^\n]*"chunk_start"[^\n]*"public\.in_batch"/;
	stop_process(grep { $_ != $busy } children($dump->{pid}));
	open_gate();
	survived_ok($dump, 'a worker is stopped after its last job', qr/^$/);
}

# ---- all processes are stopped, as with Ctrl-Z, for longer than --stall-timeout, and
# then continued, first the leader

{
	my $dump = stuck_dump(42, 2, '--stall-timeout=6');
	my @workers = children($dump->{pid});
	sleep 2;    # the leader notices that the workers wait
	stop_process($_) foreach $dump->{pid}, @workers;
	open_gate();
	wait_until('the server has nothing to do', sub { !sessions($node, "state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'") });
	sleep 6.5;
	kill CONT => $dump->{pid};
	sleep 0.7;
	kill CONT => @workers;
	survived_ok($dump, 'all processes of a run are stopped and continued', qr/^$/);
}

# ---- a backend is stopped: the dump waits for that of a worker, as it might be
# computing, and continues without that of the leader

{
	my $dump = stuck_dump(42, 2, '--stall-timeout=1');
	my ($backend) = worker_backends();
	stop_process($backend);
	open_gate();
	# wait for the other jobs, and then longer than --stall-timeout
	wait_in_run($dump, 'all other jobs are done', sub { sessions($node, "state = 'idle in transaction'") == 2 });
	sleep 3;
	ok($dump->{h}->pumpable, 'the backend of a worker is stopped: the dump waits');
	kill CONT => $backend;
	survived_ok($dump, 'the backend of a worker is stopped', qr/^$/);
}
{
	my $dump = stuck_dump(42, 2);
	my $backend = leader_backend();
	stop_process($backend);
	open_gate();
	survived_ok($dump, 'the backend of the leader is stopped',
		qr/^pg_pardump: warning: lost the connection that held the locks on all tables; retry 1 of 5/,
		sub { kill CONT => $backend });
}

# ---- a worker's backend waits for long, and the server does not show its state

{
	sql($node, 'postgres', 'ALTER ROLE dumper SET track_activities = off');
	my $dump = stuck_dump(42, 2, '--stall-timeout=1');
	sleep 4;
	open_gate();
	survived_ok($dump, 'the backend of a worker waits, track_activities is off', qr/^$/);
	sql($node, 'postgres', 'ALTER ROLE dumper RESET track_activities');
}

# ---- the leader is killed: all processes of its run end soon, even if they wait for a
# retry, and so do backends that compress (041 tests backends that wait for a lock)

sub killed_ok
{
	my ($dump, $what) = @_;
	my @workers = children($dump->{pid});
	kill KILL => $dump->{pid};
	is(end_dump($dump), 137, "$what: exit code");
	my $begin = time;
	wait_until('the workers are gone', sub { !grep { process_state($_) =~ /^[^Z]/ } @workers });
	wait_until('the sessions are gone', sub { !sessions($node) });
	my $took = time - $begin;
	note("$what: gone after $took s");
	nothing_remains_ok($node, $dump->{dir}, $what);
	return;
}

{
	my $dump = stuck_dump(42, 2);
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	value($node, 'postgres', 'SELECT pg_terminate_backend(' . (worker_backends())[0] . ')');
	wait_in_run($dump, 'a later retry', sub { $dump->{err} =~ /retry 2 of 5/ });
	killed_ok($dump, 'the leader is killed between retries');
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	open_gate();
}
{
	sql($node, 'gated', 'CREATE EXTENSION pg_pardump');
	my $dump = start_dump($connstr, '-j2', '-Z', 'server-gzip', '-r', '64k', '--max-table-segment-pages=50');
	wait_in_run($dump, 'both workers read', sub { sessions($node, "query LIKE 'COPY%' AND application_name LIKE 'pg_pardump: %'") == 2 });
	killed_ok($dump, 'the leader is killed while the server compresses');
	sql($node, 'gated', 'DROP EXTENSION pg_pardump');
}

# ---- the sessions end after the last row was read, before files are flushed and the
# table of contents is written

{
	my $gate = new_path('gate');
	my $dir = new_path('piped');
	mkdir $dir or die "could not create \"$dir\": $!";
	my ($out, $err) = ('', '');
	my $h = IPC::Run::start([ 'pg_pardump', '-d', $connstr, '-j2',
			"--pipe=cat >'$dir'/%f.part; case %f in pg_pardump_manifest.json) "
			  . "while [ ! -e '$gate' ]; do sleep 0.1; done;; esac; mv '$dir'/%f.part '$dir'/%f" ],
		'<', \'', '>', \$out, '2>', \$err);
	wait_until('the manifest is written', sub { $h->pump_nb; -e "$dir/pg_pardump_manifest.json.part" });
	wait_until('no session while the archive is finished', sub { !sessions($node) });
	is(value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()"),
		0, 'no snapshot is held while the archive is finished');
	ok(!-e "$dir/toc.dat", 'while the archive is finished, it has no table of contents');
	append_to_file($gate, '');
	$h->finish;
	is($h->full_result(0) . $err, '0', 'the dump succeeds without messages');
	ok(-s "$dir/toc.dat", 'the complete archive has a table of contents');
}

$node->stop;
done_testing();
