# Sessions of a dump are lost: it connects again, does what was interrupted
# anew, and its archive is that of a dump to which nothing happened; or it says
# why it cannot, and leaves nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(dump_failed_ok wait_until sessions);
use Pardump::Cluster qw(start_cluster start_psql sql value);
use Pardump::Gate qw(make_gated open_gate stuck_dump worker_backends terminate
  survived_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('lost');
make_gated($node);

my $chunk = qr/chunk \d+ of \d+ of table public\.gated/;
my $terminated = qr/could not read rows: FATAL:  terminating connection due to administrator command/;

# The warnings of retries: one of each number, with its delay.
sub warned
{
	my ($job, @numbers) = @_;
	my $text = join '', map {
		my $delay = sprintf '%.1f', 0.5 * 2**($_ - 1);
		"(?s:.*)warning: a worker lost its connection while dumping $job; retry $_ of \\d+ in $delay s"
		  . "\\npg_pardump: detail: $terminated"
	} @numbers;
	return qr/^$text/;
}

# ---- a worker's session

{
	my $dump = stuck_dump(42, 2);
	terminate((worker_backends())[0]);
	open_gate();
	survived_ok($dump, 'one worker', warned($chunk, 1));
	is(scalar(() = $dump->{err} =~ /warning/g), 1, 'one worker: one warning');
}
{
	my $dump = stuck_dump(42, 2);
	terminate(worker_backends());
	open_gate();
	survived_ok($dump, 'all workers', warned($chunk, 1, 1));
}
{
	my $dump = stuck_dump(42, 2, '--retries=3');
	foreach my $time (1 .. 3)
	{
		wait_until('both wait', sub { $dump->{h}->pump_nb; worker_backends() == 2 });
		terminate((worker_backends())[-1]);
	}
	wait_until('both wait', sub { $dump->{h}->pump_nb; worker_backends() == 2 });
	open_gate();
	survived_ok($dump, 'the same worker again and again', warned($chunk, 1 .. 3));
}
{
	my $dump = stuck_dump(43, 1, '-Z0');
	terminate(worker_backends());
	open_gate();
	survived_ok($dump, 'in a batch of tables', warned('table public\.in_batch', 1));
}
{
	# the leader measures them before the workers start
	my $dump = stuck_dump(42, 1, '-j1');
	my $locker = start_psql($node, 'gated');
	$locker->('BEGIN; LOCK TABLE pg_largeobject');
	open_gate();
	my $waiting = "wait_event = 'relation' AND application_name = 'pg_pardump'";
	wait_until('the worker waits for large objects',
		sub { $dump->{h}->pump_nb; sessions($node, $waiting) });
	terminate(value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE $waiting"));
	$locker->('ROLLBACK');
	survived_ok($dump, 'in large objects',
		qr/lost its connection while dumping 40 large objects, 1001 to 1040; retry 1 of 5 .*query failed: FATAL:  terminating/s);
	$locker->();
}

# ---- retries that do not help

{
	my $dump = stuck_dump(42, 2, '--retries=1');
	terminate((worker_backends())[-1]);
	wait_until('both wait again', sub { $dump->{h}->pump_nb; worker_backends() == 2 });
	terminate((worker_backends())[-1]);
	dump_failed_ok($node, $dump, 'retries exhausted',
		qr/warning: .*; retry 1 of 1 in 0\.5 s.*error: $terminated.*detail: The worker was dumping $chunk\.\n.*detail: It was tried 2 times\./s);
	open_gate();
}
{
	my $dump = stuck_dump(42, 2, '--retries=2');
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	terminate((worker_backends())[-1]);
	dump_failed_ok($node, $dump, 'no way back',
		qr/retry 1 of 2 in.*retry 2 of 2 in.*role "dumper" is not permitted to log in.*error: .*not permitted.*tried 3 times/s);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	open_gate();
}
{
	my $dump = stuck_dump(42, 2);
	my $pid = (worker_backends())[-1];
	value($node, 'postgres', "SELECT pg_cancel_backend($pid)");
	dump_failed_ok($node, $dump, 'a cancelled statement',
		qr/^pg_pardump: error: could not read rows: ERROR:  canceling statement due to user request/);
	open_gate();
}

$node->stop;
done_testing();
