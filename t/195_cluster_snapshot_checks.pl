# pg_pardump --all-databases --cluster-snapshot: sessions that are lost or silent while
# the snapshot is taken, what is checked before, what is recorded, and standbys without
# the extension.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Background qw(start_dump end_dump wait_in_run wait_until terminate);
use Pardump::Cluster qw(start_cluster start_standby run_program new_path nothing_left_ok sql value pg_major has_slot_bug);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $node = start_cluster('snapshot_checks', allows_streaming => 1);
my @own = qw(first second);
my @all = (@own, 'postgres', 'template1');

create_database($node, $_) foreach @own;
sql($node, $_, 'CREATE EXTENSION pg_pardump') foreach @all;
sql($node, $_, 'CREATE TABLE counter AS SELECT 0 AS n') foreach @own;

my $export = qr/pg_export_snapshot/;
my $adopt = qr/pg_pardump_adopt_snapshot\('/;
my $again = qr/^pg_pardump: taking the snapshot of all databases again$/m;

# Starts a dump of a server's databases that is held at the nth message of a pattern, and
# calls the code with the run, the process id of the backend, and a function that lets the
# run continue, which is called after the code if it has not been.  Returns exit code,
# messages and directory.
sub dump_with_pause
{
	my ($server, $pattern, $n, $code, @options) = @_;
	my $moments = start_moments($server, [$pattern], { pattern => 0, n => $n });
	my $dump = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres", '--all-databases',
		'--cluster-snapshot', '-j1', '-v', @options);
	my (@held, $continued);
	my $continue = sub { moment_go_on($moments) if !$continued++; };

	wait_in_run($dump, 'the moment', sub { return scalar(@held = moment_held($moments)); });
	$code->($dump, $held[2], $continue);
	$continue->();
	my $rc = end_dump($dump);
	stop_moments($moments);
	return ($rc, $dump->{err}, $dump->{dir});
}

sub states_of { return join ' ', map { "$_->{Name} $_->{State}" } sort { $a->{Name} cmp $b->{Name} } @{ read_map($_[0])->{Databases} }; }

# The value of the counter in an archive.
sub counted
{
	my ($dir, $db) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', 'counter', '-f', '-', archive_of($dir, $db));
	die "pg_restore failed: $err" if $rc != 0;
	return join ' ', grep { /^\d+$/ } split /\n/, $out;
}

sub count_in_both
{
	sql($node, $_, 'UPDATE counter SET n = n + 1') foreach @own;
	return;
}

my $complete = 'first complete postgres complete second complete template1 complete';

# ---- a session that is lost, or silent, while the snapshot is taken

my ($rc, $err, $dir) = dump_with_pause($node, $adopt, 1, sub {
		my ($dump) = @_;
		wait_in_run($dump, 'another try', sub { $dump->{err} =~ $again });
	}, '--stall-timeout=1');
is($rc, 0, 'the session of a guard stays silent: exit code');
like($err, qr/$again\n.*detail: Received no data from the server for longer than --stall-timeout/m,
	'the session of a guard stays silent: the snapshot is taken again');
is(states_of($dir), $complete, 'the session of a guard stays silent: all databases are dumped');

($rc, $err, $dir) = dump_with_pause($node, $export, 1, sub { terminate($node, $_[1]); count_in_both(); });
is($rc, 0, 'the session that takes the snapshot is lost: exit code');
like($err, $again, 'the session that takes the snapshot is lost: the snapshot is taken again');
is(states_of($dir), $complete, 'the session that takes the snapshot is lost: all databases are dumped');
is(counted($dir, $_), value($node, $_, 'SELECT n FROM counter'), "the session that takes the snapshot is lost: $_ is as of the later one")
  foreach @own;

($rc, $err, $dir) = dump_with_pause($node, $adopt, 2, sub { $node->stop('immediate'); $node->start; });
is($rc, 0, 'the server crashes while the snapshot is taken: exit code');
like($err, $again, 'the server crashes while the snapshot is taken: the snapshot is taken again');
is(states_of($dir), $complete, 'the server crashes while the snapshot is taken: all databases are dumped');
nothing_left_ok($node, $dir, 'after the crash');

# On a standby, the first session could take the same snapshot again, which guards refuse.
{
	my $what = 'the snapshot is taken again';
	my $moments = start_moments($node, [$export], map { { pattern => 0, n => $_ } } 1, 2);
	my $dump = start_dump("host=$moments->{host} port=$moments->{port} dbname=postgres", qw(--all-databases --cluster-snapshot -j1));
	my @backends;
	foreach my $try (1, 2)
	{
		my @held;
		wait_in_run($dump, "try $try", sub { return scalar(@held = moment_held($moments)) });
		push @backends, $held[2];
		terminate($node, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE datname = 'second' AND application_name = 'pg_pardump'")) if $try == 1;
		moment_go_on($moments);
	}
	is(end_dump($dump), 0, "$what: exit code");
	isnt($backends[1], $backends[0], "$what: another session takes it");
	stop_moments($moments);
}

# ---- what is checked before

sub nothing_made_ok
{
	my ($what, $message, $rc, $err, $dir) = @_;
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e $dir, "$what: nothing is made");
	return;
}

sql($node, 'postgres', $_) foreach 'CREATE ROLE limited LOGIN', 'GRANT pg_read_all_data TO limited';
my @limited = ('-U', 'limited', '--no-role-passwords', '-j2');
sql($node, 'postgres', 'ALTER DATABASE second CONNECTION LIMIT 3');
nothing_made_ok('a database with too low a limit',
	qr/^pg_pardump: error: database "second" has only 3 of 4 needed connections left\npg_pardump: hint: Run ALTER DATABASE second CONNECTION LIMIT/m,
	dump_all($node, '--cluster-snapshot', @limited));
($rc, $err) = dump_all($node, '--cluster-snapshot', '-j2');
is("$rc $err", '0 ', 'the limit of a database does not hold for a superuser');
sql($node, 'postgres', 'ALTER DATABASE second CONNECTION LIMIT 4');
($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', @limited);
is("$rc " . states_of($dir), "0 $complete", 'four connections are enough for a database');
sql($node, 'postgres', 'ALTER DATABASE second CONNECTION LIMIT -1');

my @files = ('sh', '-c', 'ulimit -n 69; exec "$@"', 'sh', 'pg_pardump', '--all-databases', '--no-sync', '-d', $node->connstr('postgres'));
my $none = new_path('none');
($rc, undef, $err) = run_program(@files, '-f', $none, '--cluster-snapshot');
nothing_made_ok('open files',
	qr/\Apg_pardump: error: the limit of open files \(69\) is too low for 1 job: 70 are needed\npg_pardump: detail: This number includes a connection to each database \(4\)\.\n/,
	$rc, $err, $none);
($rc, undef, $err) = run_program(@files, '-f', $none);
is("$rc $err", '0 ', 'the same limit is enough without guards');

my $nowhere = new_path('nowhere');
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--cluster-snapshot', '-v', '-d', $node->connstr('postgres'),
	'--target', "host=$nowhere");
is($rc, 1, 'a target that cannot be reached: exit code');
like($err, qr/^pg_pardump: error: .*\Q$nowhere\E/m, 'a target that cannot be reached: message');
unlike($err, qr/reading roles/, 'a target that cannot be reached: the source is not read before');

sql($node, 'first', 'DROP EXTENSION pg_pardump');
sql($node, 'second', q{UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'pg_pardump'});
sql($node, 'template1', 'ALTER EXTENSION pg_pardump DROP FUNCTION pardump.pg_pardump_adopt_snapshot(text)');
nothing_made_ok('databases without the right extension',
	qr/\Apg_pardump: error: option --cluster-snapshot requires extension pg_pardump in every database
pg_pardump: detail: Database "template1" cannot be dumped with this option\.
pg_pardump: detail: Object pg_pardump_adopt_snapshot does not belong to extension pg_pardump\.
pg_pardump: detail: Database "first" cannot be dumped with this option\.
pg_pardump: detail: The database has no extension pg_pardump\.
pg_pardump: detail: Database "second" cannot be dumped with this option\.
pg_pardump: detail: Extension pg_pardump has version 0\.9, not 1\.0\.
pg_pardump: hint: Run CREATE EXTENSION pg_pardump in each database without it\.
pg_pardump: hint: Run ALTER EXTENSION pg_pardump UPDATE in each database with an older version\.
pg_pardump: hint: To leave out databases, use --exclude-database\.
\z/, dump_all($node, '--cluster-snapshot'));
sql($node, 'first', 'CREATE EXTENSION pg_pardump');
nothing_made_ok('no database lacks the extension',
	qr/Database "second" cannot be dumped with this option\.\npg_pardump: detail: .*\npg_pardump: hint: Run ALTER EXTENSION/,
	dump_all($node, '--cluster-snapshot', '--exclude-database=template1'));
nothing_made_ok('neither CREATE nor ALTER EXTENSION helps',
	qr/\A.*\n.*Database "template1" cannot be dumped with this option\.\npg_pardump: detail: .*\npg_pardump: hint: To leave out databases, use --exclude-database\./,
	dump_all($node, '--cluster-snapshot', '--exclude-database=second'));
sql($node, 'second', q{UPDATE pg_extension SET extversion = '1.0' WHERE extname = 'pg_pardump'});
sql($node, 'template1', 'ALTER EXTENSION pg_pardump ADD FUNCTION pardump.pg_pardump_adopt_snapshot(text)');

foreach my $try ([ '--dry-run', 0 ], [ '--check', 1 ])
{
	my ($option, $n) = @$try;
	($rc, $err) = dump_all($node, '--cluster-snapshot', '-v', $option);
	is($rc, 0, "$option: exit code");
	is(scalar(() = $err =~ /reading roles and tablespaces/g), $n, "$option: how often pg_dumpall runs");
}

if (pg_major($node) <= 16)
{
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = 1h');
	$node->restart;
	($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', '-v');
	nothing_made_ok('old_snapshot_threshold',
		qr/^pg_pardump: error: option --cluster-snapshot cannot be used while old_snapshot_threshold is 1h$/m, $rc, $err, $dir);
	unlike($err, $again, 'old_snapshot_threshold: there is one try');
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = -1');
	$node->restart;
}

# ---- what is recorded

my $log = new_path('log');
my $pages = new_path('pages');
my $before = new_path('cluster');
sub record_of { return decode_json(slurp_file("$_[0]/pg_pardump_manifest.json"))->{'Cluster-Snapshot'}; }

($rc, $err, $before) = dump_all($node, '--cluster-snapshot');
is("$rc $err", '0 ', 'a dump');
count_in_both();
($rc, $err, $dir) = dump_all($node, '--cluster-snapshot', "--log-json=$log", "--report=$pages");
is("$rc $err", '0 ', 'a dump with a log and a report');
my $record = read_map($dir)->{'Cluster-Snapshot'};
is_deeply([ sort keys %$record ], [qw(LSN-Upper-Bound Snapshot Time Timeline)], 'the map: what is recorded on a primary');
is_deeply(record_of(archive_of($dir, $_)), $record, "the manifest of $_ has the same record") foreach @all;
events_valid_ok('a dump', slurp_file($log), qw(cluster_snapshot database_start database_end));
my @events = grep { $_->{event} eq 'cluster_snapshot' } map { decode_json($_) } split /\n/, slurp_file($log);
is_deeply([ map { [ @$_{qw(snapshot snapshot_time timeline lsn_upper_bound)} ] } @events ],
	[ [ @$record{qw(Snapshot Time Timeline LSN-Upper-Bound)} ] ], 'one event has the same values');
my ($first) = map { $_->{Oid} } grep { $_->{Name} eq 'first' } @{ read_map($dir)->{Databases} };
like(slurp_file("$pages/$_.html"), qr/\Q$record->{Snapshot}\E/, "the page $_ shows the snapshot") foreach 'index', $first;


# A guard is held until the second has passed in which the snapshot was taken.
my $began;
(undef, undef, my $held) = dump_with_pause($node, $adopt, 1, sub {
		my $leader = q{FROM pg_stat_activity WHERE datname = 'postgres' AND application_name = 'pg_pardump' ORDER BY backend_start LIMIT 1};
		$began = value($node, 'postgres', qq{SELECT to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $leader});
		wait_until('the next second', sub {
			return value($node, 'postgres', "SELECT date_trunc('second', clock_timestamp()) > xact_start $leader") eq 't' });
	});
is(read_map($held)->{'Cluster-Snapshot'}{Time}, $began, 'the time is when the snapshot was taken');

($rc, my $out, $err) = run_program('pg_pardump', '--all-databases', "--verify=$dir");
is("$rc $err", '0 ', '--verify');
like($out, qr/^all databases are in one snapshot, which was taken at \Q$record->{Time}: $record->{Snapshot}\E$/m, '--verify shows the snapshot');
system_or_bail('rm', '-r', archive_of($dir, 'first'));
system_or_bail('cp', '-a', archive_of($before, 'first'), archive_of($dir, 'first'));
($rc, $out, $err) = run_program('pg_pardump', '--all-databases', "--verify=$dir");
is($rc, 1, '--verify with an archive of another dump: exit code');
like($err, qr/^pg_pardump:first: error: file "pg_pardump_manifest\.json" does not name the snapshot of all databases$/m,
	'--verify with an archive of another dump: message');
unlike($out, qr/one snapshot/, '--verify with an archive of another dump: nothing else is claimed');

# ---- a standby without the extension

sql($node, 'second', 'DROP EXTENSION pg_pardump');
my $standby = start_standby($node);
sub replayed { $node->wait_for_catchup($standby, 'replay', $node->lsn('flush')); return; }
sub replays_ok { is(value($standby, 'postgres', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$_[0]: replay is not paused afterwards"); return; }

nothing_made_ok('a role that may not pause replay', qr/^pg_pardump: error: the role may not pause replay on standby /m,
	dump_all($standby, '--cluster-snapshot', @limited));
foreach my $option (qw(--check --dry-run))
{
	($rc, $err) = dump_all($standby, '--cluster-snapshot', '-v', $option);
	is($rc, 0, "a standby, $option: exit code");
	unlike($err, qr/all sessions have the same snapshot/, "a standby, $option: replay is not paused");
}

count_in_both();
replayed();
($rc, $err, $dir) = dump_all($standby, '--cluster-snapshot', '-j2', '-v');
is($rc, 0, 'a pause: exit code');
my ($lsn) = $err =~ /^pg_pardump: all sessions have the same snapshot, at (\S+), after \d+ attempt/m;
is(read_map($dir)->{'Cluster-Snapshot'}{'Replay-LSN'}, $lsn, 'a pause: the map has the position of replay');
is_deeply(record_of(archive_of($dir, 'second')), read_map($dir)->{'Cluster-Snapshot'}, 'a pause: so has a manifest');
is(states_of($dir), $complete, 'a pause: all databases are dumped');
is(counted($dir, $_), value($node, $_, 'SELECT n FROM counter'), "a pause: the rows of $_") foreach @own;
replays_ok('a pause');

# Of the exports, the first is a test for an overflowed snapshot, the second the leader's;
# the third and later ones are the guards'.
($rc, $err, $dir) = dump_with_pause($standby, $export, 3, sub {
		value($standby, 'postgres', 'SELECT pg_wal_replay_resume()');
		count_in_both();
		replayed();
	});
is($rc, 0, 'another session resumes replay in the pause: exit code');
like($err, qr/all sessions have the same snapshot, at \S+, after 2 attempts/, 'another session resumes replay in the pause: there is another pause');
is(counted($dir, $_), value($node, $_, 'SELECT n FROM counter'), "another session resumes replay in the pause: the rows of $_ are those of the second pause")
  foreach @own;
replays_ok('another session resumes replay in the pause');

# The database of the first session has the extension, but others have not.  The role may
# not read files, and the server reports the first minor release of its major version.
SKIP:
{
	skip 'all releases of this major version have the fix', 8 if pg_major($node) >= 19;
	my $what = 'a pause of a server whose snapshots might be incomplete';
	sql($node, 'postgres', $_) foreach 'GRANT pg_read_all_stats TO limited',
	  'GRANT EXECUTE ON FUNCTION pg_wal_replay_pause(), pg_wal_replay_resume() TO limited';
	replayed();
	my $old = start_relay($standby, sub {
		my ($bytes, $is_servers) = @_;
		$$bytes =~ s/(server_version\0\d+\.)(\d+)/$1 . '0' x length $2/e if $is_servers;
		return 1;
	});
	my @dump = ('pg_pardump', qw(--all-databases --cluster-snapshot --no-sync), @limited, '-d',
		"host=$old->{host} port=$old->{port} dbname=postgres");
	foreach my $options ([], ['--check'])
	{
		my $path = new_path('incomplete');
		($rc, $out, $err) = run_program(@dump, '-f', $path, @$options);
		nothing_made_ok("$what @$options", qr/^(?:pg_pardump: )?error: could not check whether snapshots of server \S+ are complete\n/m, $rc, "$out$err", $path);
	}
	stop_proxy($old);
	replays_ok($what);
	my $path = new_path('complete');
	($rc, undef, $err) = run_program(@dump[0 .. $#dump - 1], $standby->connstr('postgres'), '-f', $path);
	is($rc, has_slot_bug($node) ? 1 : 0, "$what: the server's own version decides");
}

($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--pause-synchronous', '-f', $none, '-d', $standby->connstr('postgres'));
is("$rc $err", "1 pg_pardump: error: option --pause-synchronous requires option --also-from or --cluster-snapshot\n", '--pause-synchronous');

done_testing();
