# Snapshots of several databases under load, on a primary and on a standby that replays:
# clients count in one database after the other, by two-phase commits as well, with
# many subtransactions, while VACUUM runs.  Every snapshot shows the counts in order;
# separate snapshots do not.
#
# PG_PARDUMP_CLUSTER_ROUNDS: how many rounds there are on each server; 20 in the highest
# tier, and 5 below.  In each of them sessions take a snapshot as pg_pardump does; in every
# fourth one pg_pardump dumps the databases, too.
# PG_PARDUMP_CLUSTER_REPORT: a file to which it is added how long commits took.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until wait_in_run);
use Pardump::Cluster qw(start_cluster start_standby has_slot_bug sql tier);
use Pardump::Counting qw(make_counters start_counting stop_counting overflow_sql read_counters
  archived_counters torn commit_latencies);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::WholeCluster qw(create_database dump_all);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $rounds = $ENV{PG_PARDUMP_CLUSTER_ROUNDS} // (tier() == 3 ? 20 : 5);
my @dbs = qw(first second third);
my @options = map { "--exclude-database=$_" } qw(postgres template1);

my $primary = start_cluster('load', allows_streaming => 1, leave_stopped => 1);
$primary->append_conf('postgresql.conf', "max_connections = 120\nmax_prepared_transactions = 20");
$primary->start;
foreach my $db (@dbs)
{
	create_database($primary, $db);
	sql($primary, $db, 'CREATE EXTENSION pg_pardump');
	make_counters($primary, $db);
}
my $standby = start_standby($primary);
# what it is affected by was fixed in the same releases
my $is_affected = has_slot_bug($standby);
note('snapshots of the standby may be incomplete') if $is_affected;
my @loads = start_counting($primary, 1, @dbs);

# ---- what clients have done

my %watchers;

sub now_counted
{
	my ($node) = @_;
	$watchers{ $node->name } //= [ map { Pardump::Wire->new($node, $_) } @dbs ];
	return map { read_counters($_) } @{ $watchers{ $node->name } };
}

# Has every writer counted in every database, beyond these counts of the first one?
sub wait_for_writers
{
	my ($node, $before, $more) = @_;
	my @n = @{ $before->{n} };
	wait_until('every writer counts', sub {
		my @readings = now_counted($node);
		return !grep { my $reading = $_; grep { $reading->{n}[$_] < $n[$_] + $more } 0 .. $#n } @readings;
	});
	return;
}

# ---- a snapshot, taken by the steps of src/frontend/cluster/cluster_snapshot.c

my $begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

sub import_snapshot
{
	my ($session, $id) = @_;
	$session->query($begin);
	$session->query("SET TRANSACTION SNAPSHOT '$id'");
	return;
}

sub open_sessions
{
	my ($node) = @_;
	my $open = sub { return map { Pardump::Wire->new($node, $_) } @dbs };
	return { leader => Pardump::Wire->new($node, $dbs[0]), guards => [ $open->() ],
		readers => [ $open->() ], workers => [ $open->() ] };
}

sub all_sessions { return ($_[0]{leader}, map { @{ $_[0]{$_} } } qw(guards readers workers)); }

# Returns the snapshot's name in each database, and whether it has overflowed.  Nothing,
# if it lacks running transactions, as pg_pardump tries again then.
sub adopted
{
	my ($sessions) = @_;
	my ($leader, @guards) = ($sessions->{leader}, @{ $sessions->{guards} });
	foreach my $guard (@guards)
	{
		$guard->query($begin);
		$guard->query('SELECT 1');
	}
	$leader->query($begin);
	my $id = $leader->first_value('SELECT pg_export_snapshot()');
	my ($in_recovery, $overflowed, $has_list) =
	  @{ $leader->query("SELECT * FROM pardump.pg_pardump_exported_snapshot('$id')")->{rows}[0] };
	if ($in_recovery eq 't' && $overflowed eq 't' && $has_list ne 't')
	{
		$_->query('ROLLBACK') foreach $leader, @guards;
		return ();
	}
	return ($overflowed, map { $_->first_value("SELECT pardump.pg_pardump_adopt_snapshot('$id')") } @guards);
}

# Takes a snapshot; has sessions of each database import it, and others import it from
# those, as workers do; and reads.  On a primary the exporters end before that in every
# other round, and writers count meanwhile.  Returns what is wrong, and whether the
# snapshot has overflowed.
sub take_and_read
{
	my ($node, $sessions, $round) = @_;
	my @exporters = ($sessions->{leader}, @{ $sessions->{guards} });
	my ($readers, $workers) = @$sessions{qw(readers workers)};
	my ($overflowed, @ids);
	wait_until('a complete snapshot', sub { (($overflowed, @ids) = adopted($sessions)) > 0 });
	import_snapshot($readers->[$_], $ids[$_]) foreach 0 .. $#dbs;
	if ($node == $primary)
	{
		if ($round % 2) { $_->query('COMMIT') foreach @exporters; }
		wait_for_writers($node, read_counters($readers->[0]), 1);
	}
	import_snapshot($workers->[$_], $readers->[$_]->first_value('SELECT pg_export_snapshot()')) foreach 0 .. $#dbs;
	my @readings = map { read_counters($_) } @$workers;
	my @wrong = torn(@readings);
	my %snapshots = map { $_->first_value('SELECT pg_current_snapshot()') => 1 } @$readers, @$workers;
	push @wrong, 'different snapshots: ' . join ', ', sort keys %snapshots if keys %snapshots != 1;
	$_->query('ROLLBACK') foreach all_sessions($sessions);
	return ($overflowed eq 't', map { "round $round: $_" } @wrong);
}

# ---- rounds

# A transaction with too many subtransactions.
sub overflow
{
	my ($node) = @_;
	my $session = Pardump::Wire->new($primary, $dbs[1]);
	$session->query('BEGIN');
	$session->query(overflow_sql('INSERT INTO overflow VALUES (0)'));
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('insert')) if $node != $primary;
	return $session;
}

my @periods;

sub timed
{
	my ($node, $code) = @_;
	my $from = time;
	my @result = $code->();
	push @periods, [ $from, time ] if $node == $primary;
	return @result;
}

sub dump_and_read
{
	my ($node, $round) = @_;
	my ($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', '-j2', @options);
	return "dump in round $round: $rc $err" if $rc != 0 || $err ne '';
	return map { "dump in round $round: $_" } torn(map { archived_counters($dir, $_) } @dbs);
}

sub rounds_ok
{
	my ($node) = @_;
	my $what = $node == $primary ? 'primary' : 'standby';
	my $sessions = open_sessions($node);
	my (@wrong, $n_overflowed, @held);
	my ($counted) = now_counted($node);
	foreach my $round (1 .. $rounds)
	{
		# on a standby this shows that it replays
		wait_for_writers($node, $counted, 1);
		($counted) = now_counted($node);
		my $is_held = $round % 5 == 0 && !($is_affected && $node == $standby);
		my $holder = $is_held ? overflow($node) : undef;
		# a snapshot takes no note of a transaction that is later than all that have ended
		wait_for_writers($node, (now_counted($node))[0], 2) if $holder;
		my ($overflowed, @found) = timed($node, sub { take_and_read($node, $sessions, $round) });
		push @wrong, @found;
		push @held, $overflowed ? 1 : 0 if $is_held;
		$n_overflowed++ if $overflowed;
		if ($holder)
		{
			$holder->query('COMMIT');
			$holder->close;
		}
		push @wrong, timed($node, sub { dump_and_read($node, $round) }) if $round % 4 == 0;
	}
	$_->close foreach all_sessions($sessions);
	is_deeply(\@wrong, [], "$what: $rounds rounds: every snapshot is one of all databases");
	is_deeply(\@held, [ (1) x @held ], "$what: snapshots overflow while a transaction has many subtransactions");
	note("$what: " . ($n_overflowed // 0) . ' snapshots had overflowed');
	return;
}

rounds_ok($primary);
if ($is_affected)
{
	# else the standby would rarely have a complete snapshot
	is(stop_counting($loads[0]), 0, 'no client has failed');
	push @loads, start_counting($primary, 0, @dbs);
}
rounds_ok($standby);

# A standby without the extension, whose replay is paused for the snapshots.
{
	sql($primary, $_, 'DROP EXTENSION pg_pardump') foreach @dbs;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my $n = int($rounds / 4);
	is_deeply([ map { wait_for_writers($standby, (now_counted($standby))[0], 1); dump_and_read($standby, $_) } 1 .. $n ], [],
		"standby without the extension: $n dumps: every snapshot is one of all databases");
}

# ---- separate snapshots fail the same test

# The run of the second database begins when all writers have counted twice since the
# snapshot of the first one.
sub separate_snapshots_ok
{
	my ($node) = @_;
	my $what = $node == $primary ? 'primary' : 'standby';
	my $moments = start_moments($node, [qr/SELECT d\.oid FROM pg_catalog\.pg_database d WHERE d\.datname OPERATOR/], { pattern => 0, n => 2 });
	my $dump = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres", '--all-databases', '-j1', @options);
	wait_in_run($dump, 'the second database', sub { return defined +(moment_held($moments))[0] });
	wait_for_writers($node, (now_counted($node))[0], 2);
	moment_go_on($moments);
	is(end_dump($dump), 0, "$what: without --cluster-snapshot: the dump");
	stop_moments($moments);
	my @torn = torn(map { archived_counters($dump->{dir}, $_) } @dbs);
	like(join("\n", @torn), qr/\Aorder: /, "$what: without --cluster-snapshot: the databases do not fit together");
	return;
}

separate_snapshots_ok($_) foreach $primary, $standby;

is(stop_counting($loads[-1]), 0, 'no client has failed');
$_->close foreach map { @$_ } values %watchers;
my $latencies = commit_latencies(\@loads, @periods);
note($latencies);
append_to_file($ENV{PG_PARDUMP_CLUSTER_REPORT}, $latencies) if $ENV{PG_PARDUMP_CLUSTER_REPORT};

$standby->stop;
$primary->stop;
done_testing();
