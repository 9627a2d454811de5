# Faults in a pause of replay, in which pg_pardump --all-databases --cluster-snapshot takes
# the snapshots of all databases on a standby without the extension: sessions are lost or
# stopped at each step.  Replay is resumed, and the snapshot is taken again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run backends terminate);
use Pardump::Cluster qw(start_cluster start_standby run_program nothing_left_ok sql value tier);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Proxy qw(start_relay client_messages stop_proxy);
use Pardump::WholeCluster qw(create_database archive_of);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $primary = start_cluster('cluster_pause', allows_streaming => 1);
my @dbs = qw(first second);
foreach my $db (@dbs)
{
	create_database($primary, $db);
	sql($primary, $db, 'CREATE TABLE counter AS SELECT 0 AS n');
}
my $standby = start_standby($primary);
my $count = 0;

# ---- steps of the pause, as [what a client sends, how often before it is held]

my $check = [ qr/'pg_catalog\.pg_wal_replay_pause\(\)'/, 1 ];
my $connection = [ qr/\0pg_pardump pause\0/, 1 ];
my $settings = [ qr/'lock_timeout', '5000'/, 1 ];

# The first export is a test for an overflowed snapshot, the second is the leader's, and the
# others are the guards'.
my $export = qr/pg_export_snapshot/;
my $test = [ $export, 1 ];
my $look = [ qr/pg_get_wal_replay_pause_state\(\), /, 1 ];
my $lock = [ qr/pg_try_advisory_lock/, 1 ];
my $block = [ qr/PERFORM pg_catalog\.pg_wal_replay_pause/, 1 ];
my $wait = [ $look->[0], 2 ];
my $leaders = [ $export, 2 ];
my $guards = [ $export, 3 ];
my $second_guards = [ $export, 4 ];
my $unlock = [ qr/pg_advisory_unlock/, 1 ];
my $file = [ qr/f \(text\) WHERE f\.text IS NOT NULL/, 2 ];
my $next_xid = [ qr/pg_snapshot_xmax/, 1 ];
my $contents = [ qr/count\(DISTINCT pg_catalog\.substr/, 1 ];
my $list = [ qr/to_regclass\(t\.name\)/, 1 ];
my %step = (
	'before the standby is checked' => $check,
	'before the session for the pause is opened' => $connection,
	'before the session for the pause is prepared' => $settings,
	'before the test snapshot' => $test,
	'before replay is looked at' => $look,
	'before the lock for the pause' => $lock,
	'before the pause begins' => $block,
	'while replay stops' => $wait,
	'before the leader takes its snapshot' => $leaders,
	'when the leader has its snapshot' => [ @$leaders, answer => 1 ],
	'before a guard takes its snapshot' => $guards,
	'before the other guard takes its snapshot' => $second_guards,
	'when a guard has its snapshot' => [ @$guards, answer => 1 ],
	'before the pause ends' => $unlock,
	'before the snapshot is checked' => $file,
	'after the pause' => $next_xid,
	'before the snapshots are compared' => $contents,
	'while tables are read' => $list,
);

# ---- faults, at a moment with the process ids of the held client and of its backend

sub end_oldest
{
	my ($condition) = @_;
	terminate($standby, (backends($standby, $condition))[0]);
	return;
}

my %fault = (
	'the session is terminated' => sub { terminate($standby, $_[1]) },
	'a guard is terminated' => sub { end_oldest(q{datname = 'second'}) },
	'the leader is terminated' => sub { end_oldest(q{datname = 'postgres'}) },
	'the session for the pause is terminated' => sub { end_oldest(q{application_name = 'pg_pardump pause'}) },
	'all sessions are terminated' => sub { terminate($standby, backends($standby, q{application_name = 'pg_pardump pause'}), backends($standby)) },
	'the server crashes' => sub { $standby->stop('immediate'); $standby->start },
	'the connection is cut' => sub { },
);

# Starts a run, and calls the code when it is held at a moment.
sub hold_run
{
	my ($moments, $code, @options) = @_;
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres", qw(--all-databases --cluster-snapshot -j1 -v),
		qw(--exclude-database=postgres --exclude-database=template1), @options);
	my @held;
	wait_in_run($run, 'the step', sub { @held = moment_held($moments); return @held > 0 });
	$code->(@held[ 1, 2 ]);
	moment_go_on($moments);
	$run->{rc} = end_dump($run);
	stop_moments($moments);
	return $run;
}

sub replay_continues_ok
{
	my ($what) = @_;
	is(value($standby, 'postgres', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$what: replay is not paused");
	return;
}

sub count_on_both
{
	sql($primary, $_, 'UPDATE counter SET n = n + 1') foreach @dbs;
	$count++;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

sub count_in_archive
{
	my ($dir, $db) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', 'counter', '-f', '-', archive_of($dir, $db));
	die "pg_restore failed: $err" if $rc != 0;
	return join ' ', grep { /^\d+$/ } split /\n/, $out;
}

# The snapshot was taken again, and all databases are dumped.
sub taken_again_ok
{
	my ($run, $what) = @_;
	is($run->{rc}, 0, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: taking the snapshot of all databases again$/m, "$what: the snapshot is taken again");
	replay_continues_ok($what);
	is_deeply([ map { count_in_archive($run->{dir}, $_) } @dbs ], [ ($count) x @dbs ], "$what: the rows");
	nothing_left_ok($standby, $run->{dir}, $what);
	return;
}

sub repeated_ok
{
	my ($fault, $when, @options) = @_;
	my ($pattern, $n, %how) = @{ $step{$when} // die "unknown step \"$when\"" };
	my $code = $fault{$fault} // die "unknown fault \"$fault\"";
	$how{cut} = 1 if $fault eq 'the connection is cut';
	count_on_both();
	taken_again_ok(hold_run(start_moments($standby, [$pattern], { pattern => 0, n => $n, %how }), $code, @options), "$fault $when");
	return;
}

# ---- each kind of session at each step; all of them with tier 3

my @faults = (
	[ 'a guard is terminated' => 2, 'before the lock for the pause', 'before the leader takes its snapshot', 'before the pause ends',
		'before the snapshots are compared' ],
	[ 'a guard is terminated' => 3, 'before the standby is checked', 'before the session for the pause is opened',
		'before the test snapshot', 'before replay is looked at', 'before the pause begins', 'while replay stops',
		'before a guard takes its snapshot', 'before the snapshot is checked', 'after the pause' ],
	[ 'the leader is terminated' => 2, 'before the pause begins', 'before a guard takes its snapshot', 'before the snapshots are compared' ],
	[ 'the leader is terminated' => 3, 'before the standby is checked', 'before the session for the pause is opened',
		'before the session for the pause is prepared', 'before the test snapshot', 'before replay is looked at',
		'before the lock for the pause', 'while replay stops', 'before the leader takes its snapshot', 'when the leader has its snapshot',
		'before the pause ends', 'before the snapshot is checked', 'after the pause' ],
	[ 'the session for the pause is terminated' => 2, 'before the session for the pause is prepared', 'before the leader takes its snapshot',
		'before the pause ends' ],
	[ 'the session for the pause is terminated' => 3, 'before the test snapshot', 'before the lock for the pause', 'before the pause begins',
		'while replay stops', 'before a guard takes its snapshot' ],
	[ 'the session is terminated' => 2, 'before a guard takes its snapshot', 'when a guard has its snapshot' ],
	[ 'the session is terminated' => 3, 'before the other guard takes its snapshot', 'while tables are read' ],
	[ 'the connection is cut' => 2, 'before the session for the pause is opened', 'before the pause begins',
		'before the leader takes its snapshot', 'before the other guard takes its snapshot' ],
	[ 'the connection is cut' => 3, 'before the standby is checked', 'before the session for the pause is prepared',
		'before the test snapshot', 'before replay is looked at', 'before the lock for the pause', 'while replay stops',
		'before a guard takes its snapshot', 'when a guard has its snapshot', 'before the pause ends', 'before the snapshot is checked',
		'after the pause', 'before the snapshots are compared', 'while tables are read' ],
	[ 'all sessions are terminated' => 2, 'before a guard takes its snapshot' ],
	[ 'the server crashes' => 2, 'before a guard takes its snapshot' ],
);
foreach my $row (@faults)
{
	my ($fault, $tier, @when) = @$row;
	next if $tier > tier();
	repeated_ok($fault, $_) foreach @when;
}

# ---- a backend is stopped until the run has ended

sub stopped_ok
{
	my ($what, $step, $which) = @_;
	my ($pattern, $n, %how) = @$step;
	my $pid;
	count_on_both();
	my $run = hold_run(start_moments($standby, [$pattern], { pattern => 0, n => $n, %how }),
		sub { $pid = $which->(@_); kill STOP => $pid }, '--stall-timeout=2');
	replay_continues_ok("$what, and not continued");
	kill CONT => $pid;
	taken_again_ok($run, $what);
	return;
}

stopped_ok('a guard is stopped before it takes its snapshot', $guards, sub { $_[1] });
if (tier() == 3)
{
	stopped_ok('the leader is stopped before it takes its snapshot', $leaders, sub { $_[1] });
	stopped_ok('the session for the pause is stopped before it is prepared', $settings, sub { $_[1] });
	stopped_ok('the session for the pause is stopped', $leaders, sub { (backends($standby, q{application_name = 'pg_pardump pause'}))[0] });
}

# ---- other ends

# The session that pauses replay is terminated in the pause, and the connection that
# should resume it is cut.
sub resuming_cut
{
	my (@options) = @_;
	my $moments = start_moments($standby, [ $export, qr/\0pg_pardump resume\0/ ], { pattern => 0, n => 2 }, { pattern => 1, n => 1, cut => 1 });
	return hold_run($moments, sub {
			$fault{'the session for the pause is terminated'}->();
			is(value($standby, 'postgres', 'SELECT pg_get_wal_replay_pause_state()'), 'paused', 'replay stays paused without the session');
			# for the second moment
			moment_go_on($moments);
		}, @options);
}

count_on_both();
taken_again_ok(resuming_cut(), 'the first connection that should resume replay is cut');
{
	my $what = 'no connection can resume replay';
	my $run = resuming_cut('--retries=0');
	is($run->{rc}, 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: error: could not resume replay on standby \S+: .*\n(?:.*\n)*?pg_pardump: hint: If replay on the standby is paused, resume it with SELECT pg_wal_replay_resume\(\)\.$/m,
		"$what: message");
	ok(!-e $run->{dir}, "$what: the directory is removed");
	sql($standby, 'postgres', 'SELECT pg_wal_replay_resume()');
}

{
	my $what = 'connections are cut in each pause';
	my (%connection, $is_guards);
	my $relay = start_relay($standby, sub {
		my ($bytes, $is_servers) = @_;
		return 1 if $is_servers;
		my @messages = client_messages(\%connection, $$bytes);
		$is_guards ||= grep { /\0database\0(?:first|second)\0/ } @messages;
		return !$is_guards || !grep { $_ =~ $export } @messages;
	});
	my $run = start_dump("host=$relay->{host} port=$relay->{port} dbname=postgres", qw(--all-databases --cluster-snapshot),
		qw(--exclude-database=postgres --exclude-database=template1));
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: error: could not take a snapshot of all databases\n(?:.*\n)*?pg_pardump: detail: Number of attempts: 5\.$/m, "$what: message");
	ok(!-e $run->{dir}, "$what: the directory is removed");
	replay_continues_ok($what);
	stop_proxy($relay);
	nothing_left_ok($standby, $run->{dir}, $what);
}

$standby->stop;
$primary->stop;
done_testing();
