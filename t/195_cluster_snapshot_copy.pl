# pg_pardump --all-databases --cluster-snapshot --target on a hot standby: with the
# extension, and without it in a pause of replay, also of a synchronous standby.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump pump_run sessions wait_in_run wait_until terminate);
use Pardump::Cluster qw(start_cluster start_standby new_path nothing_left_ok sql value);
use Pardump::Copy qw(start_load no_temp_files_ok);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::WholeCluster qw(create_database dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $primary = start_cluster('copy_source', allows_streaming => 1);
my $target = start_cluster('copy_target');
my @excluded = map { "--exclude-database=$_" } qw(postgres template1);

# The larger one is copied first.
my %rows = (first => 30000, second => 300);
my @dbs = qw(first second);
my $count = 0;
foreach my $db (@dbs)
{
	create_database($primary, $db);
	sql($primary, $db, "CREATE EXTENSION pg_pardump; CREATE TABLE counter_of_$db AS SELECT 0 AS n;
		CREATE TABLE filler AS SELECT g, md5(g::text) AS t FROM generate_series(1, $rows{$db}) g");
}
my $standby = start_standby($primary);

sub replayed { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush')); return; }

sub count_in_all
{
	sql($primary, $_, "UPDATE counter_of_$_ SET n = n + 1") foreach @dbs;
	$count++;
	replayed();
	return;
}

# The databases of the target, each with its counter.
sub copied
{
	my @found = grep { value($target, 'postgres', "SELECT count(*) FROM pg_database WHERE datname = '$_'") } @dbs;
	return join ' ', map { "$_ " . value($target, $_, "SELECT n FROM counter_of_$_") } @found;
}

# Copies the databases of the standby.  The run is held in the first database, before
# pg_dump locks its tables, until the code has been executed and both counters have been
# increased.
sub copy_held
{
	my ($code, @options) = @_;
	my $has_guards = grep { $_ eq '--cluster-snapshot' } @options;
	sql($target, 'postgres', "DROP DATABASE IF EXISTS $_") foreach @dbs;
	# the guard locks them first
	my $moments = start_moments($standby, [qr/LOCK TABLE.*counter_of_first/s], { pattern => 0, n => $has_guards ? 2 : 1 });
	my $run = start_load('pg_pardump', '--all-databases', '-j1', @excluded, @options,
		'-d', "host=$moments->{host} port=$moments->{port} dbname=postgres", '--target', $target->connstr('postgres'));
	wait_in_run($run, 'the first database', sub { return scalar(my @held = moment_held($moments)) });
	$code->();
	count_in_all();
	moment_go_on($moments);
	$run->{rc} = end_dump($run);
	stop_moments($moments);
	return $run;
}

# What must be true after each copy.
sub ended_ok
{
	my ($what) = @_;
	nothing_left_ok($standby, 'no directory', $what, 'walreceiver');
	no_temp_files_ok($what);
	is(value($standby, 'postgres', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$what: replay is not paused afterwards");
	return;
}

sub nothing { return; }

sub copied_ok
{
	my ($what, @options) = @_;
	my $before = $count;
	my $run = copy_held(\&nothing, '--cluster-snapshot', @options);
	is("$run->{rc} $run->{err}", '0 ', "$what: the copy");
	is(copied(), "first $before second $before", "$what: both databases are of one snapshot");
	ended_ok($what);
	return $run;
}

# The session that keeps the snapshot in the second database is ended.
sub lost_ok
{
	my ($what) = @_;
	my $before = $count;
	my $run = copy_held(sub {
			is(value($standby, 'postgres', "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
				WHERE relation = 'pg_database'::regclass AND datname = 'second'"), 0, "$what: it has no lock on pg_database");
			terminate($standby, split /\n/, value($standby, 'postgres', "SELECT pid FROM pg_stat_activity WHERE datname = 'second'"));
		}, '--cluster-snapshot');
	is($run->{rc}, 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: error: could not copy 1 of 2 databases\n.*detail: Failed databases: "second"\.\npg_pardump: detail: The copies of the other databases are complete\.\n.*hint: Fix the cause, and copy all databases again into an empty cluster\. /m,
		"$what: message");
	is(copied(), "first $before", "$what: there is no copy of another snapshot");
	ended_ok($what);
	return;
}

# ---- a standby with the extension, and without

{
	my $before = $count;
	my $run = copy_held(\&nothing);
	is("$run->{rc} $run->{err}", '0 ', 'without --cluster-snapshot: the copy');
	is(copied(), "first $before second " . ($before + 1), 'without --cluster-snapshot: the second database is newer');
}
copied_ok('the extension is in both databases');
lost_ok('the extension is in both databases, and a guard is lost');
sql($primary, 'second', 'DROP EXTENSION pg_pardump');
replayed();
copied_ok('replay is paused');
lost_ok('replay was paused, and a guard is lost');

# ---- indexes of the target, for which the source is not needed

{
	my $what = 'the target builds an index';
	sql($target, 'postgres', "DROP DATABASE IF EXISTS $_") foreach @dbs;
	sql($primary, 'first', 'ALTER TABLE filler ADD PRIMARY KEY (g)');
	my $moments = start_moments($target, [qr/ADD CONSTRAINT filler_pkey/], { pattern => 0, n => 1 });
	my $run = start_load('pg_pardump', qw(--all-databases --cluster-snapshot -j2 --exclude-database=second), @excluded,
		'-d', $primary->connstr('postgres'), '--target', "host=$moments->{host} port=$moments->{port} dbname=postgres");
	wait_in_run($run, 'the index', sub { return scalar(my @held = moment_held($moments)) });
	wait_in_run($run, 'the end of the sessions of the source', sub { return sessions($primary, "datname = 'first'") == 0 });
	ok(pump_run($run->{h}), "$what: the snapshot is not kept meanwhile");
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	is(value($target, 'first', "SELECT count(*) FROM pg_index WHERE indrelid = 'filler'::regclass"), 1, "$what: the index");
	stop_moments($moments);
}

# ---- a standby that commits on the primary wait for

sub set_synchronous
{
	my ($names, $commit) = @_;
	foreach my $node ($primary, $standby)
	{
		$node->append_conf('postgresql.conf', "synchronous_standby_names = '$names'\nsynchronous_commit = $commit");
		$node->reload;
	}
	wait_until('the settings are there', sub { return value($standby, 'postgres', 'SHOW synchronous_commit') eq $commit });
	wait_until('the state of the standby', sub {
		return value($primary, 'postgres', "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == ($names ? 1 : 0) });
	return;
}

set_synchronous('standby', 'remote_apply');
sql($target, 'postgres', "DROP DATABASE IF EXISTS $_") foreach @dbs;
{
	my $what = 'a synchronous standby';
	my $refused = qr/^pg_pardump: error: commits on the primary might wait for replay on standby /m;
	my $run = start_load('pg_pardump', qw(--all-databases --cluster-snapshot), @excluded, '-d', $standby->connstr('postgres'),
		'--target', $target->connstr('postgres'));
	is(end_dump($run), 1, "$what: exit code of a copy");
	like($run->{err}, $refused, "$what: message of a copy");
	is(copied(), '', "$what: nothing is copied");
	ended_ok($what);
	my ($rc, $err, $dir) = dump_all($standby, '--cluster-snapshot', @excluded);
	is($rc, 1, "$what: exit code of a dump");
	like($err, $refused, "$what: message of a dump");
	ok(!-e $dir, "$what: nothing is dumped");
	# these write and commit before, during and after the copy
	copied_ok("$what and --pause-synchronous", '--pause-synchronous');
	($rc, $err) = dump_all($standby, qw(--cluster-snapshot --pause-synchronous), @excluded);
	is("$rc $err", '0 ', "$what and --pause-synchronous: a dump");
	count_in_all();
}
set_synchronous('', 'on');

# ---- a standby that is promoted, while pg_dump reads the first database

{
	my $what = 'a promotion';
	my $dir = new_path('promoted');
	sql($primary, $_, 'CREATE EXTENSION IF NOT EXISTS pg_pardump') foreach @dbs;
	replayed();
	# the guard locks them first
	my $moments = start_moments($standby, [qr/LOCK TABLE.*counter_of_first/s], { pattern => 0, n => 2 });
	my $run = start_load('pg_pardump', qw(--all-databases --cluster-snapshot -j1), @excluded,
		'-d', "host=$moments->{host} port=$moments->{port} dbname=postgres", '-f', $dir);
	wait_in_run($run, $what, sub { return scalar(my @held = moment_held($moments)) });
	$standby->promote;
	moment_go_on($moments);
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump:first: error: the standby was promoted during the dump$/m, "$what: the database that is being dumped");
	like($run->{err}, qr/^pg_pardump:second: error: snapshot ".*" was taken before the standby was promoted$/m, "$what: the next database");
	is_deeply([ glob "$dir/databases/*/toc.dat" ], [], "$what: there is no archive");
	stop_moments($moments);
}

$standby->stop;
$primary->stop;
$target->stop;
done_testing();
