# Faults in a dump of all databases with --cluster-snapshot: guards, the leader, runs of
# databases and the server are lost or stopped at each step, and databases are created,
# dropped, renamed and closed.  All archives that the map calls complete are of one
# snapshot: before the first archive the run begins again, afterwards a database fails.
# Below the highest tier, each step has a fault, but not each of them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump wait_until wait_in_run terminate);
use Pardump::Cluster qw(start_cluster start_standby run_program nothing_left_ok sql value tier);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Proxy qw(start_relay client_messages stop_proxy);
use Pardump::WholeCluster qw(create_database read_map archive_of);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $primary = start_cluster('cluster_faults', allows_streaming => 1);
my $standby;

# The larger one is dumped before the other.
my %size = (first => 10000, second => 300, third => 30, extra => 1);
my @dbs = qw(first second third);
my @excluded = map { "--exclude-database=$_" } qw(postgres template1);

my $all = tier() == 3;

# How many rows each counter has: one more after each fault.
my $count = 0;

# Names of databases that are not their first ones; undef while nothing can connect.
my %name;
sub name_of { return exists $name{ $_[0] } ? $name{ $_[0] } : $_[0]; }

sub make_counted
{
	my ($db) = @_;
	create_database($primary, $db);
	sql($primary, $db, "CREATE EXTENSION pg_pardump;
		CREATE TABLE counter_of_$db AS SELECT 0 AS n FROM generate_series(1, $count);
		CREATE TABLE filler_of_$db AS SELECT g, md5(g::text) AS t FROM generate_series(1, $size{$db}) g");
	return;
}

make_counted($_) foreach @dbs;
my %oid = map { $_ => value($primary, $_, "SELECT 'filler_of_$_'::regclass::oid") } @dbs;

# ---- steps of a run, as [what a client sends, how often before it is held]

my $of_guard = [ qr/SELECT d\.oid FROM pg_catalog\.pg_database d WHERE d\.datname OPERATOR\(pg_catalog\.=\) pg_catalog\.current_database\(\)/ ];
my $first_connection = [ qr/\0database\0first\0/, 1 ];
my $second_guard = [ @$of_guard, 2 ];
my $export = [ qr/pg_export_snapshot/, 1 ];
my $adoption = [ qr/pg_pardump_adopt_snapshot\('/, 2 ];
my $list_import = [ qr/SET TRANSACTION SNAPSHOT/, 2 ];
my $list = [ qr/to_regclass\(t\.name\)/, 2 ];
my $lock = [ qr/LOCK TABLE.*counter_of_second/s, 1 ];
my $globals = [ qr/\0pg_dumpall\0/, 2 ];

# The run of the second database: before it imports; pg_dump's lock, when it has
# imported; and its rows.
my $import = [ @$of_guard, 5 ];
my $planned = [ $lock->[0], 2 ];

sub rows_of { return [ qr/COPY.*(?:filler_of_$_[0]|pg_pardump_read\('$oid{$_[0]}')/s, 1 ]; }

# ---- runs

# Sessions of our programs in a database, the oldest first, which is the guard's.
sub backends_in
{
	my ($node, $db) = @_;
	return split /\n/, value($node, 'postgres', "SELECT pid FROM pg_stat_activity
		WHERE datname = '$db' AND application_name IN ('pg_pardump', 'pg_dump') ORDER BY backend_start");
}

sub end_guard { terminate($_[0], (backends_in($_[0], $_[1]))[0]); return; }

sub count_in_all
{
	sql($primary, name_of($_), "INSERT INTO counter_of_$_ VALUES (0)") foreach grep { defined name_of($_) } @dbs;
	$count++;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')) if $standby;
	return;
}

# A run that is held at a step while the code brings the fault, with the run and the
# process ids of the held client and its backend, and all counters get another row.
sub run_held
{
	my ($node, $step, $fault, @options) = @_;
	my ($pattern, $n, %how) = @$step;
	my $moments = start_moments($node, [$pattern], { pattern => 0, n => $n, %how });
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres",
		'--all-databases', '--cluster-snapshot', '-j1', '-v', @excluded, @options);
	my @held;
	wait_in_run($run, 'the step', sub { @held = moment_held($moments); return @held > 0 });
	$fault->($run, @held[ 1, 2 ]);
	count_in_all();
	moment_go_on($moments);
	$run->{rc} = end_dump($run);
	stop_moments($moments);
	return $run;
}

# How many rows the counter of a database has in its archive.
sub counted_in
{
	my ($dir, $db) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', "counter_of_$db", '-f', '-', archive_of($dir, name_of($db)));
	die "pg_restore failed: $err" if $rc != 0;
	return scalar(() = $out =~ /^0$/mg);
}

# ended_ok($node, $run, 'what', $n, failed => [...]): archives are complete, with n rows
# in each counter, or the same number if n is undefined.  Some databases have failed, and
# have no archive.
sub ended_ok
{
	my ($node, $run, $what, $n, %params) = @_;
	my @failed = @{ $params{failed} // [] };
	my %is_failed = map { $_ => 1 } @failed;
	my @complete = grep { defined name_of($_) && !$is_failed{$_} } @dbs;
	my $dir = $run->{dir};
	is($run->{rc}, @failed ? 1 : 0, "$what: exit code");
	ok(-e "$dir/map.json", "$what: there is a map") or return;
	is_deeply({ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } },
		{ (map { name_of($_) => 'complete' } @complete), map { $_ => 'failed' } @failed }, "$what: the map");
	my %counted = map { $_ => counted_in($dir, $_) } @complete;
	$n //= $counted{ $complete[0] };
	is_deeply(\%counted, { map { $_ => $n } @complete }, "$what: all archives are of one snapshot");
	is(scalar(grep { -e archive_of($dir, $_) } @failed), 0, "$what: no archive of another one");
	nothing_left_ok($node, $dir, $what);
	return;
}

# The run has begun again: its snapshot is a later one.
sub again_ok
{
	my ($node, $step, $what, $fault, @options) = @_;
	my $run = run_held($node, $step, $fault, @options);
	like($run->{err}, qr/^pg_pardump: taking the snapshot of all databases again$/m, "$what: it is taken again");
	ended_ok($node, $run, $what, $count);
	return;
}

# These databases have failed, the others have the snapshot that was taken before.
sub failed_ok
{
	my ($node, $step, $what, $fault, $failed, @options) = @_;
	my $run = run_held($node, $step, $fault, @options);
	ended_ok($node, $run, $what, $count - 1, failed => $failed);
	return $run;
}

sub nothing { return; }

# ---- before the first archive; see 195_cluster_snapshot_checks.pl, too

again_ok($primary, $second_guard, 'a guard is terminated at its first query', sub { terminate($primary, $_[2]) }) if $all;
again_ok($primary, [ @$second_guard, cut => 1 ], 'the connection of a guard is cut at its first query', \&nothing);
again_ok($primary, $export, 'a guard is terminated before the export', sub { end_guard($primary, 'second') });
again_ok($primary, [ @$export, cut => 1 ], 'the connection of the leader is cut before the export', \&nothing) if $all;
again_ok($primary, [ @$export, answer => 1 ], 'the leader is terminated after the export', sub { terminate($primary, $_[2]) });
again_ok($primary, $adoption, 'a guard is terminated before it adopts', sub { terminate($primary, $_[2]) });
again_ok($primary, [ @$adoption, cut => 1 ], 'the connection of a guard is cut before it adopts', \&nothing) if $all;
again_ok($primary, $adoption, 'the leader is terminated while guards adopt', sub { end_guard($primary, 'postgres') });
again_ok($primary, $list_import, 'a guard is terminated before a session imports from it to read its tables', sub { end_guard($primary, 'second') });
again_ok($primary, $list, 'a guard is terminated before its tables are read', sub { end_guard($primary, 'second') }) if $all;
again_ok($primary, [ @$list, cut => 1 ], 'a connection is cut while tables are read', \&nothing) if $all;
again_ok($primary, $lock, 'a guard is terminated before it locks', sub { terminate($primary, $_[2]) });

{
	my $run = run_held($primary, $globals, sub { end_guard($primary, 'second') });
	ended_ok($primary, $run, 'a guard is terminated while roles are read again', $count);
}

# All guards have adopted by then, so it may continue or begin again.
foreach my $at ([ 'tables are read' => $list ], $all ? [ 'roles are read again' => $globals ] : ())
{
	my $run = run_held($primary, $at->[1], sub { end_guard($primary, 'postgres') });
	ended_ok($primary, $run, "the leader is terminated while $at->[0]", undef);
}

# A backend is stopped until the run has ended.
sub stop_ok
{
	my ($step, $what, $which) = @_;
	my $pid;
	my $run = run_held($primary, $step, sub { $pid = $which->(@_); kill STOP => $pid }, '--stall-timeout=2');
	kill CONT => $pid;
	like($run->{err}, qr/^pg_pardump: taking the snapshot of all databases again$/m, "$what: it is taken again");
	ended_ok($primary, $run, $what, $count);
	return;
}

stop_ok($adoption, 'a guard is stopped before it adopts', sub { $_[2] });
# its end is waited for
stop_ok($export, 'the leader is stopped before the export', sub { $_[2] }) if $all;

{
	my $what = 'connections are cut at each adoption';
	my %connection;
	my $relay = start_relay($primary, sub {
		my ($bytes, $is_servers) = @_;
		return $is_servers || !grep { $_ =~ $adoption->[0] } client_messages(\%connection, $$bytes);
	});
	my $run = start_dump("host=$relay->{host} port=$relay->{port} dbname=postgres", '--all-databases', '--cluster-snapshot', @excluded);
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: error: could not take a snapshot of all databases$/m, "$what: message");
	ok(!-e $run->{dir}, "$what: the directory is removed");
	stop_proxy($relay);
	nothing_left_ok($primary, $run->{dir}, $what);
}

# ---- the process of the run

foreach my $at ($all ? [ 'while guards adopt', $adoption, 0 ] : (), [ 'when the first archive is complete', rows_of('second'), 1 ])
{
	my ($when, $step, $n_complete) = @$at;
	my $run = run_held($primary, $step, sub { kill KILL => $_[0]{pid} });
	is($run->{rc}, 137, "the process is killed $when: exit code");
	ok(!-e "$run->{dir}/map.json", "the process is killed $when: there is no map");
	is(scalar(grep { -e "$_/toc.dat" } glob "$run->{dir}/databases/*"), $n_complete, "the process is killed $when: complete archives");
	nothing_left_ok($primary, $run->{dir}, "the process is killed $when");
}
{
	my $run = run_held($primary, $adoption, sub { kill INT => $_[0]{pid} });
	is($run->{rc}, 1, 'Ctrl-C while guards adopt: exit code');
	ok(!-e $run->{dir}, 'Ctrl-C while guards adopt: the directory is removed');
	nothing_left_ok($primary, $run->{dir}, 'Ctrl-C while guards adopt');
}

# ---- after the first archive has begun

# a guard, before the turn of its database: see 194_cluster_snapshot.pl
failed_ok($primary, $import, 'a guard is terminated before the run of its database imports',
	sub { end_guard($primary, 'second') }, ['second']);
failed_ok($primary, $planned, 'a guard is terminated after the run of its database has imported',
	sub { end_guard($primary, 'second') }, []) if $all;

# Workers that began after CREATE INDEX CONCURRENTLY had listed whom it waits for could use
# an index without some of their rows, if the rows are read with a query.
sql($primary, 'postgres', $_) foreach 'CREATE ROLE dumper LOGIN', 'GRANT pg_read_all_data TO dumper';
sql($primary, 'second', $_) foreach 'ALTER TABLE filler_of_second ENABLE ROW LEVEL SECURITY',
  'CREATE POLICY positive ON filler_of_second USING (g > 0)';
foreach my $options ([], ['--where=public.filler_of_second:g > 0'], [qw(-U dumper --enable-row-security --no-role-passwords)])
{
	my $run = failed_ok($primary, rows_of('second'), "a guard is terminated while rows are read @$options",
		sub { end_guard($primary, 'second') }, @$options ? ['second'] : [], @$options);
	like($run->{err}, qr/^pg_pardump:second: error: the transaction that exported snapshot ".*" has ended before all rows were read\n.*detail: An index that was created meanwhile might lack rows/m,
		"with a query, @$options: message") if @$options;
}
sql($primary, 'second', 'ALTER TABLE filler_of_second DISABLE ROW LEVEL SECURITY');
failed_ok($primary, $planned, 'the leader of a run is terminated while it plans',
	sub { terminate($primary, (backends_in($primary, 'second'))[1]) }, ['second']);
failed_ok($primary, $planned, 'pg_dump is killed', sub { kill KILL => $_[1] }, ['second']) if $all;
failed_ok($primary, $import, 'the process of a run is killed', sub { kill KILL => $_[1] }, ['second']);
foreach my $lost ($all ? [ 'the leader of a run is', 1 ] : (), [ 'the leader of a run and its guard are', 1, 0 ])
{
	my ($which, @numbers) = @$lost;
	failed_ok($primary, rows_of('second'), "$which terminated while rows are read", sub {
		my ($run) = @_;
		terminate($primary, (backends_in($primary, 'second'))[@numbers]);
		wait_in_run($run, 'another session takes its place', sub { $run->{err} =~ /opened another session with the same snapshot/ });
	}, []);
}
{
	my $pid;
	my $run = run_held($primary, rows_of('first'), sub { ($pid) = backends_in($primary, 'third'); kill STOP => $pid });
	kill CONT => $pid;
	ended_ok($primary, $run, 'a guard is stopped before the turn of its database', $count - 1);
}
failed_ok($primary, rows_of('second'), 'the server crashes when the first archive is complete',
	sub { $primary->stop('immediate'); $primary->start }, [qw(second third)], '--retries=1');

# A statement waits for the lock of a guard, and the run of its database behind it.
{
	my $what = 'ALTER TABLE waits for the lock of a guard';
	my $statement;
	my $run = failed_ok($primary, rows_of('first'), $what, sub {
			my ($run) = @_;
			$statement = IPC::Run::start([ 'psql', '-XqAt', '-d', $primary->connstr('second'), '-c', 'ALTER TABLE filler_of_second ADD more int' ],
				'<', \'', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
			wait_in_run($run, 'it waits', sub {
				return value($primary, 'second', "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'filler_of_second'::regclass") });
		}, ['second']);
	like($run->{err}, qr/^pg_dump: error: .*canceling statement due to (?:lock|statement) timeout/m, "$what: message");
	ok($statement->finish, "$what: it is executed afterwards");
	sql($primary, 'second', 'ALTER TABLE filler_of_second DROP more');
}

# ---- databases that come and go

make_counted('extra');
push @dbs, 'extra';

# What was not counted meanwhile, as nothing could connect.
sub reopen_extra
{
	sql($primary, 'postgres', 'ALTER DATABASE extra ALLOW_CONNECTIONS true');
	sql($primary, 'extra', 'INSERT INTO counter_of_extra VALUES (0)');
	%name = ();
	return;
}

sub close_extra
{
	sql($primary, 'postgres', 'ALTER DATABASE extra ALLOW_CONNECTIONS false');
	$name{extra} = undef;
	return;
}

again_ok($primary, $first_connection, 'a database is renamed before its guard is there', sub {
	sql($primary, 'postgres', 'ALTER DATABASE extra RENAME TO renamed');
	$name{extra} = 'renamed';
});
sql($primary, 'postgres', 'ALTER DATABASE renamed RENAME TO extra');
%name = ();

if ($all)
{
	my @swap = map { "ALTER DATABASE $_" } 'third RENAME TO aside', 'extra RENAME TO third', 'aside RENAME TO extra';
	again_ok($primary, $first_connection, 'two databases swap their names before their guards are there', sub {
		sql($primary, 'postgres', $_) foreach @swap;
		%name = (third => 'extra', extra => 'third');
	});
	sql($primary, 'postgres', $_) foreach @swap;
	%name = ();

	again_ok($primary, $first_connection, 'a database is closed before its guard is there', \&close_extra);
	reopen_extra();
}
again_ok($primary, $adoption, 'a database is closed while guards adopt', \&close_extra);
reopen_extra();
failed_ok($primary, rows_of('first'), 'a database is closed after the first archive has begun', \&close_extra, ['extra']);
reopen_extra();

{
	my $what = 'a database is created without the extension';
	my $run = run_held($primary, $export, sub { sql($primary, 'postgres', 'CREATE DATABASE new TEMPLATE template0') });
	is($run->{rc}, 1, "$what: exit code");
	like($run->{err}, qr/^pg_pardump: detail: Database "new" cannot be dumped with this option\.\npg_pardump: detail: The database has no extension pg_pardump\.$/m, "$what: it is named");
	ok(!-e $run->{dir}, "$what: nothing is made");
	sql($primary, 'postgres', 'DROP DATABASE new');
}
if ($all)
{
	failed_ok($primary, rows_of('first'), 'a database is created after the first archive has begun',
		sub { sql($primary, 'postgres', 'CREATE DATABASE new TEMPLATE template0') }, []);
	sql($primary, 'postgres', 'DROP DATABASE new');
}

sub drop_extra
{
	my ($options) = @_;
	sql($primary, 'postgres', "DROP DATABASE extra $options");
	pop @dbs;
	return;
}

if ($all)
{
	failed_ok($primary, rows_of('first'), 'a database is dropped by force after the first archive has begun',
		sub { drop_extra('WITH (FORCE)') }, ['extra']);
	make_counted('extra');
	push @dbs, 'extra';
}
again_ok($primary, $first_connection, 'a database is dropped before its guard is there', sub { drop_extra('') });

# ---- a hot standby

$standby = start_standby($primary);
again_ok($standby, $adoption, 'standby: a guard is terminated before it adopts', sub { terminate($standby, $_[2]) });
again_ok($standby, $adoption, 'standby: the leader is terminated while guards adopt', sub { end_guard($standby, 'postgres') }) if $all;
failed_ok($standby, rows_of('first'), 'standby: a guard is terminated before the turn of its database',
	sub { end_guard($standby, 'second') }, ['second']) if $all;
failed_ok($standby, rows_of('second'), 'standby: a guard is terminated while rows of its database are read',
	sub { end_guard($standby, 'second') }, ['second']);
failed_ok($standby, rows_of('second'), 'standby: the leader of a run is terminated while rows are read',
	sub { terminate($standby, (backends_in($standby, 'second'))[1]) }, ['second']);

# Replay removes rows that the snapshot sees.
{
	my $what = 'standby: replay ends the session of a guard';
	$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
	$standby->reload;
	my $run = failed_ok($standby, rows_of('second'), $what, sub {
			sql($primary, 'third', $_) foreach 'DELETE FROM filler_of_third WHERE g > 10', 'VACUUM filler_of_third';
			wait_until('the guard is ended', sub { !backends_in($standby, 'third') });
		}, ['third']);
	like($run->{err}, qr/^pg_pardump: warning: the session that keeps the snapshot in database "third" was lost\npg_pardump: detail: .*conflict with recovery/m,
		"$what: message");
}

$standby->stop;
$primary->stop;
done_testing();
