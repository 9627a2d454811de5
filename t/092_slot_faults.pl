
# A slot that is not used fills the server's disk: a run with --create-slot that
# fails, at any moment and for any reason, leaves none behind, or says that it
# does; and it never drops one of someone else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok wait_until
  children sessions);
use Pardump::Cluster qw(start_cluster sql value slots without_slot_warning);
use Pardump::Command qw(fake_pg_dump refused_ok);
use Pardump::Gate qw(hold_gates hold open_gate);
use Pardump::GatedDump qw(make_gated gated_options stuck_dump);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('slot_faults', allows_streaming => 'logical');
make_gated($node);
sql($node, 'postgres', 'ALTER ROLE dumper REPLICATION');
my $connstr = $node->connstr('gated');
my @slot = ('--create-slot', '--slot=mine');
my @options = ('-j2', gated_options(), @slot);

# A dump whose slot is made and whose two workers wait.
sub stuck_with_slot
{
	my $dump = stuck_dump(42, 2, @slot);
	is(slots($node), 'mine', 'the slot is there while the dump runs');
	return $dump;
}

# A dump that waits for a transaction before its slot can be made.
sub waiting_dump
{
	hold(q{BEGIN; INSERT INTO after_it VALUES (2, 'x')});
	my $dump = start_dump($connstr, @options);
	wait_until('the slot is being made', sub {
		$dump->{h}->pump_nb;
		return slots($node) eq 'mine'
		  && sessions($node, "backend_type = 'walsender' AND wait_event = 'transactionid'");
	});
	return $dump;
}

# The process that waits for it on the server.
sub end_walsender
{
	value($node, 'postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'");
	return;
}

my $user = qr/terminated by user\n.*detail: Signal/;

# ---- after the slot was made

{
	my $dump = stuck_with_slot();
	# it ends a moment after its client has closed it
	ok(wait_until('the replication connection ends', sub { sessions($node, "backend_type = 'walsender'") == 0 }),
		'no replication connection is kept while the dump runs');
	open_gate();
	is(end_dump($dump), 0, 'a good dump: exit code');
	is(without_slot_warning($node, $dump->{err}), '', 'a good dump: no messages');
	is(slots($node), 'mine', 'a good dump: the slot stays');
}
refused_ok(qr/replication slot "mine" already exists/, 'a second dump',
	'-d', $connstr, @options);
is(slots($node), 'mine', 'a dump that finds the slot made leaves it');
sql($node, 'postgres', "SELECT pg_drop_replication_slot('mine')");

foreach my $fault (
	[ 'SIGSEGV for a worker', sub { kill SEGV => (children($_[0]{pid}))[0] },
		qr/worker process \d+ was terminated by signal 11: / ],
	(map { my $signal = $_;
			[ "SIG$signal", sub { kill $signal => $_[0]{pid} }, $user ] }
		  qw(INT TERM HUP QUIT)),
	[ 'SIGINT for all', sub { kill INT => -$_[0]{pid} }, $user ],
	[ 'the directory removed', sub { system_or_bail('rm', '-rf', $_[0]{dir}); open_gate() },
		qr/could not (create|open|read) .*No such file or directory/ ],
	[ 'a statement cancelled',
		sub {
			value($node, 'postgres',
				"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'advisory' LIMIT 1");
		},
		qr/canceling statement due to user request/ ])
{
	my ($what, $do, $message) = @$fault;
	my $dump = stuck_with_slot();
	$do->($dump);
	dump_failed_ok($node, $dump, $what, $message);
	is(slots($node), '', "$what: no slot left");
	open_gate();
}
{
	my $dump = start_dump($connstr, @options, '--pg-dump',
		fake_pg_dump('bad_pg_dump', 'echo "no ideas" >&2; exit 1'));
	dump_failed_ok($node, $dump, 'pg_dump fails', qr/pg_dump failed with exit code 1/);
	is(slots($node), '', 'pg_dump fails: no slot left');
}

# Our sessions are not let in any more: nothing can be done but to say so.
{
	my $dump = stuck_with_slot();
	sql($node, 'postgres', 'ALTER ROLE dumper NOLOGIN');
	kill INT => $dump->{pid};
	is(end_dump($dump), 1, 'no way to drop the slot: exit code');
	like($dump->{err}, qr/could not drop replication slot "mine", which was created by this run: .*not permitted to log in.*detail: .*removing WAL.*hint: .*SELECT pg_drop_replication_slot\('mine'\);/s,
		'no way to drop the slot: message and hint');
	is(slots($node), 'mine', 'no way to drop the slot: it still exists');
	sql($node, 'postgres',
		"ALTER ROLE dumper LOGIN; SELECT pg_drop_replication_slot('mine')");
	open_gate();
}

# What the manual says about it.
{
	my $dump = stuck_with_slot();
	kill KILL => $dump->{pid};
	is(end_dump($dump), 137, 'SIGKILL for the leader: exit code');
	open_gate();
	is(value($node, 'postgres', <<'SQL'), 'mine', 'SIGKILL for the leader: the query of the manual finds the slot');
SELECT slot_name FROM pg_replication_slots WHERE NOT active
SQL
	sql($node, 'postgres', "SELECT pg_drop_replication_slot('mine')");
}

# ---- while the slot is being made

foreach my $fault (
	[ 'SIGINT before the slot is made', sub { kill INT => $_[0]{pid} }, $user ],
	[ 'SIGTERM for all before the slot is made', sub { kill TERM => -$_[0]{pid} }, $user ],
	[ 'the replication connection ended before the slot is made', \&end_walsender,
		qr/could not create replication slot "mine": FATAL:  terminating connection due to administrator command/ ])
{
	my ($what, $do, $message) = @$fault;
	my $dump = waiting_dump();
	$do->($dump);
	dump_failed_ok($node, $dump, $what, $message);
	is(slots($node), '', "$what: no slot left");
	hold('COMMIT');
}
{
	my $dump = waiting_dump();
	$node->stop('immediate');
	$node->start;
	is(end_dump($dump), 1, 'immediate shutdown before the slot is made: exit code');
	like($dump->{err}, qr/could not create replication slot "mine": /,
		'immediate shutdown before the slot is made: message');
	is(slots($node), '', 'immediate shutdown before the slot is made: no slot left');
}

# ---- a slot that is lost under way

hold_gates($node, 'gated');
{
	my $dump = stuck_with_slot();
	sql($node, 'postgres', "SELECT pg_drop_replication_slot('mine')");
	open_gate();
	is(end_dump($dump), 0, 'the slot dropped by someone: exit code');
	like(without_slot_warning($node, $dump->{err}), qr/\Apg_pardump: warning: replication slot "mine" was dropped by another session\n.*detail: .*\n.*hint: .*dump again, into a new directory\.\n\z/,
		'the slot dropped by someone: warning');
	ok(-f "$dump->{dir}/toc.dat", 'the slot dropped by someone: an archive');

	# the server does not tell how the slot is
	$dump = stuck_with_slot();
	hold('SET allow_system_table_mods = on; BEGIN;'
		  . ' ALTER VIEW pg_catalog.pg_replication_slots SET (security_barrier = off)');
	open_gate();
	is(end_dump($dump), 0, 'no answer about the slot: exit code');
	like(without_slot_warning($node, $dump->{err}), qr/\Apg_pardump: warning: could not check replication slot "mine": the server did not respond\npg_pardump: detail: .*\npg_pardump: hint: Check the slot on the source: SELECT .*\n\z/,
		'no answer about the slot: warning');
	ok(-f "$dump->{dir}/toc.dat", 'no answer about the slot: the archive is complete');
	hold('ROLLBACK');
	sql($node, 'postgres', "SELECT pg_drop_replication_slot('mine')");

	$dump = stuck_with_slot();
	sql($node, 'postgres', "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
	$node->reload;
	foreach (1 .. 4)
	{
		sql($node, 'postgres', 'CREATE TABLE wal (); DROP TABLE wal');
		sql($node, 'postgres', 'SELECT pg_switch_wal()');
	}
	sql($node, 'postgres', 'CHECKPOINT');
	is(value($node, 'postgres', 'SELECT wal_status FROM pg_replication_slots'), 'lost',
		'control: the server has given the slot up');
	open_gate();
	is(end_dump($dump), 0, 'the slot given up by the server: exit code');
	like($dump->{err}, qr/warning: replication slot "mine" was invalidated by the server.*\n.*hint: Check max_slot_wal_keep_size/,
		'the slot given up by the server: warning');
}

$node->stop;
done_testing();
