# pg_pardump --all-databases --cluster-snapshot: all databases as of the same set of
# transactions, and what happens to guards, databases and tables meanwhile.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run wait_until backends sessions);
use Pardump::Cluster qw(start_cluster start_standby run_program new_path nothing_left_ok start_psql sql value
  pg_major);
use Pardump::Moment qw(start_moments moment_held moment_go_on moments_seen stop_moments);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $node = start_cluster('cluster_snapshot', allows_streaming => 1);
my @counted = qw(first second third);
my @all = (@counted, 'postgres', 'template1');

foreach my $db (@all)
{
	create_database($node, $db) if grep { $_ eq $db } @counted;
	sql($node, $db, 'CREATE EXTENSION pg_pardump');
}
# the larger one is dumped before the other
my %rows = (first => 30000, second => 300, third => 30);
sql($node, $_, "CREATE TABLE counter_of_$_ (client int PRIMARY KEY, n int);
	INSERT INTO counter_of_$_ SELECT g, 0 FROM generate_series(0, 3) g;
	CREATE TABLE filler_of_$_ AS SELECT g, md5(g::text) AS t FROM generate_series(1, $rows{$_}) g")
  foreach @counted;

# The counters in an archive, by client.
sub counters
{
	my ($dir, $db) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', "counter_of_$db", '-f', '-', archive_of($dir, $db));
	die "pg_restore failed: $err" if $rc != 0;
	return map { [ split /\t/ ]->[1] } sort grep { /^\d\t\d+$/ } split /\n/, $out;
}

sub states
{
	my ($dir) = @_;
	return join ' ', map { "$_->{Name} $_->{State}" } sort { $a->{Name} cmp $b->{Name} } @{ read_map($dir)->{Databases} };
}

sub count_in { sql($node, $_[0], "UPDATE counter_of_$_[0] SET n = n + 1"); return; }

# Starts a dump of all databases that is held where the nth message matches; runs the
# code; and lets it go on.  Returns exit code, what was said, the directory, and how
# often the pattern has matched.
sub dump_held
{
	my ($pattern, $n, $code, @options) = @_;
	my $moments = start_moments($node, [$pattern], { pattern => 0, n => $n });
	my $dump = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres", '--all-databases', '-j1', @options);
	wait_in_run($dump, 'the moment', sub { return defined +(moment_held($moments))[0]; });
	$code->();
	moment_go_on($moments);
	my $rc = end_dump($dump);
	my ($seen) = moments_seen($moments);
	stop_moments($moments);
	return ($rc, $dump->{err}, $dump->{dir}, $seen);
}

# ---- a transaction in two databases while the second one waits for its turn

my $of_second = qr/LOCK TABLE.*counter_of_second/s;
my $in_both = sub { count_in($_) foreach qw(first second); };
# the second match is the second database's, before it has a snapshot
my ($rc, $err, $dir) = dump_held(qr/pg_export_snapshot/, 2, $in_both);
is("$rc $err", '0 ', 'without --cluster-snapshot: the dump');
is_deeply([ map { (counters($dir, $_))[0] } qw(first second) ], [ 0, 1 ], 'without it: the second database is newer');
ok(!exists read_map($dir)->{'Cluster-Snapshot'}, 'without it: the map has no snapshot');

# the first match is the guard's lock
($rc, $err, $dir) = dump_held($of_second, 2, $in_both, '--cluster-snapshot');
is("$rc $err", '0 ', '--cluster-snapshot: the dump');
is_deeply([ map { (counters($dir, $_))[0] } qw(first second) ], [ 1, 1 ], '--cluster-snapshot: both are as of one moment');
my $snapshot = read_map($dir)->{'Cluster-Snapshot'};
like($snapshot->{Snapshot}, qr/^\d+:\d+:[\d,]*$/, 'the map has the snapshot');
like($snapshot->{Time}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, 'time of the snapshot');
is($snapshot->{Timeline}, '1', 'timeline of the snapshot');
like($snapshot->{'LSN-Upper-Bound'}, qr{^[0-9A-F]+/[0-9A-F]+$}, 'WAL position of the snapshot');
nothing_left_ok($node, $dir, '--cluster-snapshot');
is((run_program('pg_pardump', '--all-databases', "--verify=$dir"))[0], 0, '--cluster-snapshot: verified');

# ---- settings that change the text of numbers

foreach my $digits ([ '--extra-float-digits=-10' ], [ 'the setting of the sessions', PGOPTIONS => '-c extra_float_digits=-10' ])
{
	my ($what, %settings) = @$digits;
	local @ENV{ keys %settings } = values %settings;
	($rc, $err) = dump_all($node, '--cluster-snapshot', %settings ? () : $what);
	is("$rc $err", '0 ', "extra_float_digits of -10 by $what: the dump");
}

# ---- locks

# The statement waits for a lock no longer than a moment.
sub fails_for_lock
{
	my ($db, $statement) = @_;
	my ($rc, $out, $err) = $node->psql($db, "SET lock_timeout = '100ms'; $statement", on_error_stop => 1);
	return $err =~ /canceling statement due to lock timeout/ ? 1 : 0;
}

my $locked;
($rc) = dump_held($of_second, 2, sub { $locked = fails_for_lock('second', 'TRUNCATE filler_of_second'); }, '--cluster-snapshot');
is("$rc $locked", '0 1', 'tables are locked before the turn of their database');

($rc, $err, $dir) = dump_held($of_second, 1, sub { $locked = fails_for_lock('second', 'TRUNCATE filler_of_second'); },
	'--cluster-snapshot', '--lock-later');
is("$rc $locked", '1 0', '--lock-later: exit code, and number of locked tables');
like($err, qr/^pg_pardump:second: error: table public\.filler_of_second was rewritten after the snapshot was taken$/m,
	'--lock-later: a table without its rows is an error');
is(states($dir), 'first complete postgres complete second failed template1 complete third complete',
	'--lock-later: only one database fails');
is((counters($dir, 'third'))[0], 0, '--lock-later: the others have the snapshot');
sql($node, 'second', 'INSERT INTO filler_of_second VALUES (1)');

my $holder = start_psql($node, 'second');
$holder->('BEGIN; LOCK TABLE filler_of_second');
($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', '--lock-wait-timeout=300');
is($rc, 1, 'a table that cannot be locked: exit code');
like($err, qr/^pg_pardump: warning: could not lock the tables of database "second" in advance\npg_pardump: detail: .*filler_of_second/m,
	'a table that cannot be locked: a warning names it');
is(states($dir), 'first complete postgres complete second failed template1 complete third complete',
	'a table that cannot be locked: only its database fails');
($rc, $err) = dump_all($node, '--cluster-snapshot', '--lock-wait-timeout=300', '-T', 'filler_of_second');
is("$rc $err", '0 ', 'a table that is left out is not waited for');
$holder->();

# ---- a template is free again after its turn

my $made = 'no';
($rc, $err) = dump_held($of_second, 2, sub { sql($node, 'postgres', 'CREATE DATABASE fourth'); $made = 'yes'; }, '--cluster-snapshot');
is("$rc $err $made", '0  yes', 'CREATE DATABASE while the others are dumped');
sql($node, 'postgres', 'DROP DATABASE fourth');

# ---- a guard that is lost

sub end_guard
{
	my ($db) = @_;
	is(value($node, 'postgres', "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '$db' AND application_name = 'pg_pardump'
		AND state = 'idle in transaction'"), 1, "the guard of $db is ended");
	wait_until('its end', sub { value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity WHERE datname = '$db'") == 0 });
	return;
}

($rc, $err, $dir) = dump_held($of_second, 2, sub { end_guard('third'); count_in('third'); }, '--cluster-snapshot');
is($rc, 1, 'a guard is lost before the turn of its database: exit code');
like($err, qr/^pg_pardump: error: the session that kept the snapshot in database "third" was lost$/m, 'a guard is lost: message');
like($err, qr/^pg_pardump: error: could not dump 1 of 5 databases\n.*detail: Failed databases: "third"\.\n.*detail: The archives of the other databases are complete\.\n.*hint: Fix the cause, and dump all databases again into a new directory\. /m, 'a guard is lost: the others are complete');
is(states($dir), 'first complete postgres complete second complete template1 complete third failed', 'a guard is lost: the map');
ok(!defined archive_of($dir, 'third') || !-e archive_of($dir, 'third'), 'a guard is lost: the database has no archive');

# before the first archive all is begun again: the leader of the snapshot has not asked yet
my $adopt = qr/pg_pardump_adopt_snapshot\('/;
($rc, $err, $dir, my $seen) = dump_held($adopt, 2, sub { end_guard($_) foreach grep { $_ ne 'postgres' } 'second'; count_in($_) foreach @counted; },
	'--cluster-snapshot', '-v');
is($rc, 0, 'a guard is lost while the snapshot is taken: exit code');
like($err, qr/^pg_pardump: taking the snapshot of all databases again$/m, 'a guard is lost while the snapshot is taken: message');
is_deeply([ map { (counters($dir, $_))[0] } @counted ], [ map { value($node, $_, "SELECT min(n) FROM counter_of_$_") } @counted ],
	'a guard is lost while the snapshot is taken: the later one counts');

# ---- databases that come and go

my $leader = qr/pg_export_snapshot/;
($rc, $err, $dir) = dump_held($leader, 1, sub {
		sql($node, 'postgres', 'CREATE DATABASE late TEMPLATE template0');
		sql($node, 'late', 'CREATE EXTENSION pg_pardump');
	}, '--cluster-snapshot', '-v');
is($rc, 0, 'a database is created meanwhile: exit code');
like($err, qr/^pg_pardump: taking the snapshot of all databases again\n.*detail: Databases were created, dropped or renamed\.$/m,
	'a database is created meanwhile: message');
like(states($dir), qr/\blate complete\b/, 'a database is created meanwhile: it is dumped');

my $guard = qr/FROM pg_catalog\.pg_database d WHERE d\.datname OPERATOR\(pg_catalog\.=\) pg_catalog\.current_database\(\)/;
($rc, $err, $dir) = dump_held(qr/CREATE ROLE|pg_pardump_adopt_snapshot\('/, 1, sub { sql($node, 'postgres', 'CREATE ROLE meanwhile'); },
	'--cluster-snapshot', '-v');
is($rc, 0, 'a role is created meanwhile: exit code');
like(slurp_file("$dir/globals.sql"), qr/^CREATE ROLE meanwhile;$/m, 'a role is created meanwhile: it is dumped');
is(scalar(() = $err =~ /reading roles and tablespaces/g), 4, 'a role is created meanwhile: globals are read again');
sql($node, 'postgres', 'DROP DATABASE late');

# ---- what is refused

sub refused_ok
{
	my ($what, $message, @options) = @_;
	my ($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e $dir, "$what: no directory is created");
	return;
}

sql($node, $_, 'DROP EXTENSION pg_pardump') foreach qw(second template1);
refused_ok('databases without the extension',
	qr/^pg_pardump: error: option --cluster-snapshot requires extension pg_pardump in every database\npg_pardump: detail: Database "template1" cannot be dumped with this option\.\npg_pardump: detail: The database has no extension pg_pardump\.\npg_pardump: detail: Database "second" cannot be dumped with this option\.\npg_pardump: detail: .*\npg_pardump: hint: Run CREATE EXTENSION pg_pardump in each database without it\.\npg_pardump: hint: To leave out databases, use --exclude-database\./);
($rc, $err, $dir, my $list) = dump_all($node, '--cluster-snapshot', '--check');
is("$rc $err", '1 ', 'databases without the extension: --check finds it');
like($list, qr/\Aerror: option --cluster-snapshot requires extension pg_pardump in every database\n(?:  .*\n)+1 problem \(errors: 1, warnings: 0\); a run would fail\n\z/,
	'databases without the extension: the list of --check');
($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', '--exclude-database=second', '--exclude-database=template1');
is("$rc $err", '0 ', 'databases without the extension can be left out');
is(states($dir), 'first complete postgres complete third complete', 'the others are dumped');
sql($node, $_, 'CREATE EXTENSION pg_pardump') foreach qw(second template1);
refused_ok('--no-extension', qr/options --cluster-snapshot and --no-extension cannot be used together/, '--no-extension');
refused_ok('--serializable-deferrable', qr/options --cluster-snapshot and --serializable-deferrable cannot be used together/, '--serializable-deferrable');
refused_ok('--allow-rewritten', qr/options --cluster-snapshot and --allow-rewritten cannot be used together/, '--allow-rewritten');
sql($node, 'postgres', 'CREATE ROLE few LOGIN SUPERUSER CONNECTION LIMIT 8');
{
	# limits do not hold for superusers, so the server's own is lowered
	$node->append_conf('postgresql.conf', "max_connections = 12\nsuperuser_reserved_connections = 1\nmax_wal_senders = 3");
	$node->restart;
	refused_ok('too few connections', qr/^pg_pardump: error: server "[^"]+" has only \d+ of 17 needed connections left$/m, '-j4');
	$node->append_conf('postgresql.conf', 'max_connections = 40');
	$node->restart;
}
($rc, $err) = dump_all($node, '--cluster-snapshot', '--dry-run');
is("$rc $err", '0 ', '--dry-run');

# ---- a hot standby

my $standby = start_standby($node);
($rc, $err, $dir) = dump_all($standby, '--cluster-snapshot', '-j2');
is("$rc $err", '0 ', 'a standby: the dump');
is_deeply([ map { join ' ', counters($dir, $_) } @counted ],
	[ map { value($node, $_, "SELECT string_agg(n::text, ' ' ORDER BY client) FROM counter_of_$_") } @counted ], 'a standby: the rows');
ok(!exists read_map($dir)->{'Cluster-Snapshot'}{'LSN-Upper-Bound'}, 'a standby: no position');

# ---- a copy

my $target = start_cluster('cluster_snapshot_target');
(my $rc2, undef, $err) = run_program('pg_pardump', '--all-databases', '--cluster-snapshot', '-j2', '-d', $node->connstr('postgres'),
	'--target', $target->connstr('postgres'));
is("$rc2 $err", '0 ', 'a copy');
is_deeply([ map { value($target, $_, "SELECT sum(n) FROM counter_of_$_") } @counted ],
	[ map { value($node, $_, "SELECT sum(n) FROM counter_of_$_") } @counted ], 'a copy: the rows');

done_testing();
