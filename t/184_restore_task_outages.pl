# Tasks of a restore whose leader, or whose own session, is away for a while, and
# attempts that are left behind, at gates: nothing is given up, loaded again, or
# counted as an error for that.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run terminate);
use Pardump::Cluster qw(new_path value sql start_psql);
use Pardump::Copy qw(start_load);
use Pardump::Gate qw(hold_gates close_gate open_gate wait_at_gate);
use Pardump::GatedRestore qw(start_gated gated_tasks begin_gated_restore gated_archive gated_database
  restored_ok);
use Pardump::Restore qw(stock_archives);
use Pardump::Tasks qw(restore_runner side_by_side last_task);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = start_gated('restore_task_outages');
my %stock = stock_archives($node, 'gated');

# Process IDs of the sessions by which tasks look for their leader.
sub looks
{
	return split /\n/, value($node, 'postgres',
		q{SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_pardump task'});
}

# ---- the target is away for a while, and the leader, which waits longer each time,
# comes back later than the tasks: they wait for it, and so does one that has not
# seen it

{
	my $run = gated_tasks(1, '', '--retries=8');
	my ($plan) = glob gated_archive() . '/plan.restore.*/plan.json';
	my $last = last_task($run);
	my $other = ($last + 1) % 3;
	$node->stop('immediate');
	wait_in_run($run, 'the leader waits for some seconds', sub { return $run->{err} =~ /the leader lost .* retry 5 of 8/s });
	kill STOP => $run->{pid};
	$node->start;
	hold_gates($node, gated_database());
	close_gate(42);
	my $new = start_load('pg_parrestore', "--plan=$plan", "--task=$other/3");
	wait_in_run($run, 'the tasks look for the leader', sub { return looks() == 2 });
	# longer than they wait where the target was there all the time
	sleep 14;
	is(scalar(looks()), 2, 'the leader comes late: the tasks are there');
	kill CONT => $run->{pid};
	is(end_dump($new), 0, 'the leader comes late: exit code of a task that has not seen it');
	open_gate();
	restored_ok($run, 'the leader comes late', qr/\A(?!.*error: )/s);
}

# ---- the leader alone has lost its connection, for longer than tasks wait for one that
# has no retries: those wait that know that it has some

{
	my $run = gated_tasks(1, '', '--retries=8');
	my ($plan) = glob gated_archive() . '/plan.restore.*/plan.json';
	my $last = last_task($run);
	my $text = slurp_file($plan);
	my $impatient = new_path('plan.json');
	append_to_file($impatient, $text =~ s/("retries": )\d+/${1}0/r);
	chmod 0600, $impatient;
	cmp_ok(($text =~ /"attempt": (\d+)/)[0], '>', 1_000_000, 'the number of a run is one of very many');
	kill STOP => $run->{pid};
	terminate($node, split /\n/, value($node, 'postgres',
		q{SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND objid <> 42 AND granted}));
	my $new = start_load('pg_parrestore', "--plan=$impatient", "--task=$last/3");
	is(end_dump($new), 75, 'the leader away, without retries: exit code');
	like($new->{err}, qr/error: the leader of this run has been away for \d+ s\n/, 'the leader away, without retries: message');
	# the session of the one that has ended may be there for a moment
	wait_in_run($run, 'the one that has ended is gone', sub { return looks() < 2 });
	is(scalar(looks()), 1, 'the leader away: the task that knows of retries is there');
	kill CONT => $run->{pid};
	open_gate();
	restored_ok($run, 'the leader is there again', qr/\A(?!.*error: )/s);
}

# ---- the same, and somebody else has the leader's lock then, whose number all see: it is
# waited for, and tried again

{
	my $run = gated_tasks(1, '');
	last_task($run);
	my ($pid, $number) = split /\|/, value($node, 'postgres', q{SELECT pid, (classid::int8 << 32) | objid::int8 FROM pg_locks
		WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND objid <> 42 AND granted});
	my $other = start_psql($node, gated_database());
	kill STOP => $run->{pid};
	terminate($node, $pid);
	$other->("SELECT pg_advisory_lock($number)");
	kill CONT => $run->{pid};
	wait_in_run($run, 'the leader tells', sub {
		return $run->{err} =~ /warning: the leader lost its connection to the target: Another session holds the lock by which tasks see that the leader is there\.; retry 1 of 5/;
	});
	$other->('SELECT pg_advisory_unlock_all()');
	$other->();
	wait_in_run($run, 'it has its lock again', sub {
		return value($node, 'postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND objid <> 42 AND granted") == 1;
	});
	open_gate();
	restored_ok($run, 'the lock was taken away', qr/\A(?!.*error: )/s);
}

# ---- when the last piece of a file is loaded the session that is to note it is
# lost: it is noted all the same, and the task not run again

{
	my $run = begin_gated_restore($stock{directory}, '--tasks=1', side_by_side('', 'pg_parrestore'), '--retries=0', '--chunk-size=64kB');
	wait_at_gate($node, $run, 1);
	terminate($node, looks());
	open_gate();
	restored_ok($run, 'no session for a note', qr/^$/);
}
# ---- attempts could not load a table; others, which the command has left behind,
# are at it yet when it ends

{
	my $go = new_path('go');
	my $run = begin_gated_restore(gated_archive(), '--tasks=3', '--retries=0', restore_runner(<<"SH", 1));
for i in "\$@"; do one \$i -d "options='-c gated.fails=yes'"; done
for i in "\$@"; do one \$i >/dev/null 2>&1 & done
while [ ! -e '$go' ]; do sleep 0.05; done
SH
	wait_at_gate($node, $run, 1);
	append_to_file($go, '');
	wait_in_run($run, 'the leader waits', sub { return $run->{err} =~ /warning: the command has ended, but tasks are at work yet/ });
	open_gate();
	restored_ok($run, 'attempts that are left behind', qr/violates check constraint/);
	unlike($run->{err}, qr/a task could not load/, 'attempts that are left behind: no error is counted');
}

# ---- the same, and none is left behind: it is an error, even if somebody else has the
# lock that all tasks share, as that would be waited for without end

{
	my $go = new_path('go');
	my $run = begin_gated_restore(gated_archive(), '--tasks=3', '--retries=0',
		restore_runner("while [ ! -e '$go' ]; do sleep 0.05; done;" . q{for i in "$@"; do one $i -d "options='-c gated.fails=yes'"; done}, 1));
	my $number;
	wait_in_run($run, 'the leader has its lock', sub {
		$number = value($node, gated_database(), q{SELECT ((classid::int8 << 32) | objid::int8) # 1 FROM pg_locks
			WHERE locktype = 'advisory' AND objsubid = 1 AND classid <> 0});
	});
	sql($node, 'postgres', 'CREATE ROLE other LOGIN');
	local $ENV{PGUSER} = 'other';
	my $other = start_psql($node, gated_database());
	delete local $ENV{PGUSER};
	$other->("SELECT pg_advisory_lock_shared($number)");
	append_to_file($go, '');
	is(end_dump($run), 1, 'none is left behind: exit code');
	like($run->{err}, qr/error: a task could not load /, 'none is left behind: message');
	open_gate();
}

$node->stop;
done_testing();
