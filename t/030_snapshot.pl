
# One snapshot: while sessions move amounts between tables, every dump must
# show one moment of all of them, in each table, in each chunk, whichever
# program chose the moment: pg_pardump, its caller (--snapshot), the server
# (--serializable-deferrable), or a standby.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Cluster qw(start_cluster make_database dump_ok restore_ok
  nothing_left_ok start_psql data_file value sql new_path start_standby);
use Pardump::Background qw(end_writers);
use Pardump::Command qw(changing_pg_dump);
use Pardump::Databases qw(empty_copy);
use Pardump::Layout qw(layout_problems chunks_of);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

my @small_chunks = ('-j4', '--max-table-segment-pages=8');
my $copies = 0;

# The invariants as text: rows of both sides, and what must be constant.
my $invariant_sql = q{
	SELECT (SELECT count(*) FROM left_side), (SELECT count(*) FROM right_side),
		(SELECT sum(balance) FROM left_side) + (SELECT sum(amount) FROM journal),
		(SELECT sum(balance) FROM right_side) - (SELECT sum(amount) FROM journal)};
my $invariant = '20000|20000|20000000|20000000';

my $node = start_cluster('bank', allows_streaming => 1);
make_database($node, 'bank',
	options => 'TEMPLATE template0',
	files => ['bank.sql']);

sub transfers
{
	my ($server, $db) = @_;
	return value($server, $db, 'SELECT count(*) FROM journal');
}

# Wait until the writers have made a number of further transfers.
sub wait_for_transfers
{
	my ($count) = @_;
	my $target = transfers($node, 'bank') + $count;
	$node->poll_query_until('bank',
		"SELECT count(*) >= $target FROM journal")
	  or die 'the writers have stopped';
	return;
}

sub start_writers
{
	local $ENV{PGAPPNAME} = 'writer';
	my $log = new_path('pgbench.log');
	my $writers = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-R', '3000', '-T', '1000',
			'-f', data_file('transfer.pgbench'), $node->connstr('bank')
		],
		'>', $log, '2>&1');
	wait_for_transfers(100);
	return $writers;
}

# The journal's length in a restored copy of the archive, whose rows must be
# those of one snapshot.
sub restored_ok
{
	my ($dir, $what) = @_;
	is_deeply([ layout_problems($dir) ], [], "$what: layout");
	cmp_ok(chunks_of($dir, $_), '>', 10, "$what: $_ is chunked")
	  foreach qw(left_side right_side);
	my $db = empty_copy($node, 'bank', 'copy' . ++$copies);
	restore_ok($node, $dir, $db, $what, '-j2');
	is(value($node, $db, $invariant_sql), $invariant,
		"$what: the copy is of one moment");
	return transfers($node, $db);
}

# What pg_dump waits for, which begins when the snapshot is there: it must not be a
# matter of luck that there is something in the way.
my $more_transfers = <<'SQL';
DO $$ DECLARE before bigint := (SELECT count(*) FROM journal); BEGIN
	WHILE (SELECT count(*) FROM journal) <= before + 50 LOOP PERFORM pg_sleep(0.02); END LOOP; END $$;
SQL

# Dumps while the writers write, and proves that they did.
sub dump_under_load
{
	my ($server, $what, @options) = @_;
	my $before = transfers($node, 'bank');
	my $dir = dump_ok($server, 'bank', $what, 'pg_pardump', @small_chunks,
		'--pg-dump', changing_pg_dump($node->connstr('bank'), 'before', $more_transfers), @options);
	my $after = transfers($node, 'bank');
	nothing_left_ok($server, $dir, $what, 'writer', 'holder');
	cmp_ok($after - $before, '>', 50,
		"$what: transfers were committed during the dump");
	my $dumped = restored_ok($dir, $what);
	return ($before, $dumped, $after, $dir);
}

my $writers = start_writers();

# Control: reads under several snapshots do break the invariant, soon.
my ($total, $tries) = (0, 0);
do
{
	$total = value($node, 'bank', 'SELECT sum(balance) FROM left_side');
	wait_for_transfers(1);
	$total += value($node, 'bank', 'SELECT sum(balance) FROM right_side');
} while ($total == 40000000 && $tries++ < 100);
isnt($total, 40000000, 'control: two snapshots do not add up');

# --- a snapshot of pg_pardump's own

my ($before, $dumped, $after) = dump_under_load($node, 'own snapshot');
ok($dumped >= $before && $dumped < $after,
	'own snapshot: taken during the dump');
sql($node, 'bank', 'CREATE EXTENSION pg_pardump');
dump_under_load($node, 'own snapshot, extension');

# --- a snapshot given by the caller

{
	local $ENV{PGAPPNAME} = 'holder';
	my $holder = start_psql($node, 'bank');
	$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->('SELECT pg_export_snapshot()');
	my $expected = $holder->('SELECT count(*) FROM journal');
	wait_for_transfers(500);
	local $ENV{PGAPPNAME} = 'dump';
	(undef, $dumped) =
	  dump_under_load($node, 'given snapshot', "--snapshot=$snapshot");
	is($dumped, $expected, 'given snapshot: the copy is of its moment');
	$holder->('COMMIT');
	$holder->();
}

# --- the server's choice: a snapshot counts as safe only when a serializable
# transaction that was open at its moment has ended

{
	local $ENV{PGAPPNAME} = 'holder';
	my $holder = start_psql($node, 'bank');
	$holder->('BEGIN ISOLATION LEVEL SERIALIZABLE');
	$holder->('UPDATE bystander SET id = id + 1');

	my ($out, $err) = ('', '');
	my $dir = new_path('deferrable');
	$before = transfers($node, 'bank');
	my $dump = IPC::Run::start(
		[
			'pg_pardump', @small_chunks, '-f', $dir, '--no-sync',
			'--serializable-deferrable', '-d', $node->connstr('bank')
		],
		'<', \'', '>', \$out, '2>', \$err);
	ok( $node->poll_query_until(
			'bank', q{SELECT count(*) = 1 FROM pg_stat_activity
				WHERE wait_event = 'SafeSnapshot'}),
		'serializable deferrable: waits for a safe snapshot');
	is_deeply([ -d $dir ? grep { /\.dat/ } slurp_dir($dir) : () ],
		[], 'serializable deferrable: no data file exists while the dump waits');
	$holder->('COMMIT');
	$holder->();
	$dump->finish;
	is($dump->full_result(0) . $err, '0', 'serializable deferrable: pg_pardump');
	cmp_ok(restored_ok($dir, 'serializable deferrable'),
		'>=', $before, 'serializable deferrable: a moment after the start');
}

# --- a hot standby as source

my $standby = start_standby($node);
my $replayed = value($standby, 'bank', 'SELECT pg_last_wal_replay_lsn()');
my $manifest = read_manifest((dump_under_load($standby, 'standby'))[3]);
is(value($standby, 'bank',
		"SELECT '$manifest->{LSN}'::pg_lsn BETWEEN '$replayed' AND pg_last_wal_replay_lsn()"),
	't', 'standby: LSN in the manifest');
is($manifest->{'System-Identifier'},
	value($node, 'bank', 'SELECT system_identifier FROM pg_control_system()'),
	'standby: system identifier in the manifest');
is(value($standby, 'bank', 'SELECT pg_is_in_recovery()'),
	't', 'standby: still one');

end_writers($node, $writers);
is(value($node, 'bank', $invariant_sql), $invariant, 'the source itself is sound');

$standby->stop;
$node->stop;
done_testing();
