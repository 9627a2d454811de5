# A dump that reads from several hot standbys of one primary: they have one
# snapshot, whose replay is paused for a moment, and resumes even if the client
# dies; a standby that is lost in the midst of it is done without.
#
# PG_PARDUMP_ALSO_ROUNDS: how many dumps to make while others write, each of which
# compares three standbys; 3 in the highest tier, and 2 below.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump wait_until wait_in_run backends terminate);
use Pardump::Cluster qw(start_cluster start_standby make_database restore_ok
  run_program new_path start_psql sql value has_extension tier);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::Tasks qw(side_by_side);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $primary = start_cluster('primary', allows_streaming => 1);
make_database($primary, 'db');
sql($primary, 'db', <<'SQL');
CREATE ROLE dumper LOGIN;
CREATE TABLE gated (id int PRIMARY KEY, t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 40000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id % 100 = 0
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE TABLE busy (id int, t text);
INSERT INTO busy SELECT g, md5(g::text) FROM generate_series(1, 5000) g;
CREATE INDEX ON busy (id);
CREATE TABLE victim AS SELECT g AS id FROM generate_series(1, 5000) g;
GRANT SELECT ON gated, busy, victim TO dumper;
SQL
sql($primary, 'db', 'CREATE EXTENSION pg_pardump') if has_extension($primary);
my ($a, $b, $c) = map { start_standby($primary, $_) } 'a', 'b', 'c';
my @standbys = ($a, $b, $c);
my $copies = 0;

sub replay { $primary->wait_for_catchup($_, 'replay', $primary->lsn('insert')) foreach @standbys; return; }
sub state { return value($_[0], 'postgres', 'SELECT pg_get_wal_replay_pause_state()'); }
sub name { return $_[0]->host . ':' . $_[0]->port; }

sub resumed_ok
{
	my ($what) = @_;
	foreach my $standby (@standbys)
	{
		ok(wait_until('replay is resumed', sub { return state($standby) eq 'not paused' }),
			"$what: replay of " . $standby->name . ' resumes');
	}
	return;
}

# A gate on each standby, at which workers wait in the midst of the table: it has as
# many chunks, each a job of its own, as there are workers.
my @holders;
sub close_gates
{
	@holders = map { start_psql($_, 'db') } @standbys;
	$_->('SELECT pg_advisory_lock(42)') foreach @holders;
	return;
}
sub open_gates { $_->() foreach @holders; return; }
# Not the session that keeps replay paused, which waits for such a lock, too.
sub at_gate
{
	my ($node) = @_;
	return value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity
		WHERE wait_event = 'advisory' AND usename = 'dumper' AND query !~ '^DO '");
}

sub from_all
{
	return ('-U', 'dumper', '--enable-row-security', map { ('--also-from', $_->connstr('db')) } $b, $c);
}
sub refused_ok
{
	my ($what, $message, $node, @options) = @_;
	my $dir = new_path('refused');
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', $dir, (grep { /^--tasks/ } @options) ? () : '-j3',
		'-d', $node->connstr('db'), @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e $dir, "$what: no directory");
	return;
}

# Rows, with where they are, as a snapshot shows them.
my $rows_sql = q{SELECT md5(string_agg(r, ',' ORDER BY r)) FROM
	(SELECT ctid || gated::text AS r FROM gated UNION ALL SELECT ctid || busy::text FROM busy) x};
sub rows_in_snapshot
{
	my ($node, $sql) = @_;
	my ($name) = map { s/.*\///r } glob($node->data_dir . '/pg_snapshots/*');
	return (split /\n/, sql($node, 'db', qq{BEGIN ISOLATION LEVEL REPEATABLE READ;
		SET TRANSACTION SNAPSHOT '$name'; $sql; COMMIT}))[-1];
}

# ---- rights, and what cannot be read as one

like((run_program('pg_pardump', '--check', '-j3', '-d', $a->connstr('db'), from_all()))[1],
	qr/error: the role may not pause replay on standby .*\n(?s:.*)error: the role may not see which timeline standby/, 'without rights');
sql($primary, 'db', <<'SQL');
GRANT EXECUTE ON FUNCTION pg_wal_replay_pause(), pg_wal_replay_resume() TO dumper;
GRANT pg_read_all_stats TO dumper;
SQL
replay();
my $names = quotemeta(join ', ', map { name($_) } @standbys);
# each task looks for the leader on each server, and has a worker on one
{
	my (undef, $out) = run_program('pg_pardump', '--check', '--tasks=4000', '-d', $a->connstr('db'), from_all());
	like($out, qr/^  jobs: 4000 tasks at a time$/m, 'tasks in a plan');
	like($out, qr/^warning: server "[^"]+" has only \d+ of 5334 needed connections left/m, 'connections of tasks');
	like($out, qr/^warning: server "\Q$_\E" has only \d+ of 5334 needed connections left/m,
		'connections of tasks on a standby') foreach map { name($_) } $b, $c;
}
foreach my $look ('--check', '--dry-run')
{
	my ($rc, $out) = run_program('pg_pardump', $look, '-j3', '-d', $a->connstr('db'), from_all());
	is($rc, 0, "$look: exit code");
	like($out, qr/^Rows are read from several servers: $names\.$/m, "$look: names of the servers");
	like($out, qr/^  jobs: 3\n  connections to the source: [4-6] needed$/m, "$look: connections") if $look eq '--check';
}
refused_ok('a primary first', qr/error: server \S+ is not a standby, but --also-from requires/, $primary, from_all());
refused_ok('a primary, too', qr/error: server \S+ is not a standby, but --also-from requires/,
	$a, '--also-from', $primary->connstr('db'));
refused_ok('one twice', qr/error: (\S+) and \1 are the same server/, $a, '--also-from', $a->connstr('db'));
refused_ok('another database', qr/error: the databases on standbys \S+ and \S+ have different names\n/, $a, '--also-from', $b->connstr('postgres'));
refused_ok('too few jobs', qr/error: option --also-from requires at least one job \(--jobs\) for each of the 4 servers/, $a, from_all(), '--also-from', 'host=x');
refused_ok('too few tasks', qr/error: option --also-from requires at least one task \(--tasks\) for each of the 3 servers/, $a, from_all(), '--tasks=2', '--run-tasks=true %p');
refused_ok('no connection string', qr/error: invalid connection string for option --also-from/, $a, '--also-from', 'password=x b');
{
	my $other = start_cluster('other');
	make_database($other, 'db');
	refused_ok('another cluster', qr/error: standbys \S+ and \S+ have different system identifiers\n/,
		$a, '--also-from', $other->connstr('db'));
	$other->stop('immediate');
}

# ---- one snapshot, while others write

my $script = new_path('script');
append_to_file($script, <<'SQL');
\set n random(1, 5000)
BEGIN;
UPDATE busy SET t = md5(t) WHERE id = :n;
SAVEPOINT s;
INSERT INTO busy SELECT :n, 'undone';
ROLLBACK TO s;
INSERT INTO busy VALUES (:n + 5000, 'more');
DELETE FROM busy WHERE id = 5000 + (:n * 7) % 5000;
END;
SQL
my ($said, $complained) = ('', '');
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-R', '500', '-T', '3600', '-f', $script,
	'-d', $primary->connstr('db') ], '<', \'', '>', \$said, '2>', \$complained);

sub start_all
{
	my (@options) = @_;
	close_gates();
	my $dump = start_dump($a->connstr('db'), '-j6', from_all(), '--max-table-segment-pages=130', @options);
	wait_in_run($dump, 'workers wait at all', sub { return !grep { !at_gate($_) } @standbys; });
	return $dump;
}

sub whole_ok
{
	my ($dump, $want, $what) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	my $copy = 'copy' . ++$copies;
	make_database($primary, $copy, options => 'TEMPLATE template0');
	restore_ok($primary, $dump->{dir}, $copy, $what);
	is(value($primary, $copy, $rows_sql =~ s/ctid \|\| //gr), $want, "$what: rows as in the snapshot");
	sql($primary, 'postgres', "DROP DATABASE $copy");
	return;
}

foreach my $round (1 .. $ENV{PG_PARDUMP_ALSO_ROUNDS} // (tier() == 3 ? 3 : 2))
{
	my $what = "round $round";
	my $log = new_path('log');
	my $dump = start_all("--log-json=$log", '-v');
	resumed_ok($what);
	my ($at_a, @at_others) = map { rows_in_snapshot($_, $rows_sql) } @standbys;
	is_deeply(\@at_others, [ $at_a, $at_a ], "$what: the same rows at the same places on all standbys");
	my $want = rows_in_snapshot($b, $rows_sql =~ s/ctid \|\| //gr);
	open_gates();
	whole_ok($dump, $want, $what);
	events_valid_ok($what, slurp_file($log), qw(server));
	like($dump->{err}, qr/3 standbys have the same snapshot, at \S+, after \d+ attempt/, "$what: how many tries");
	my %files = slurp_file($log) =~ /"event": ?"server".*?"server": ?"(\S+?)".*?"files": ?(\d+)/mg;
	ok($files{ name($_) }, "$what: files of " . $_->name) foreach @standbys;
}

# ---- by tasks, each of which begins at another one

sub start_tasks
{
	my (@options) = @_;
	close_gates();
	my $dump = start_dump($a->connstr('db'), '--tasks=3', from_all(), '--max-table-segment-pages=130', @options,
		side_by_side('task() { exec pg_pardump --plan="$PLAN" --task=$1/$N -j2; }'));
	wait_in_run($dump, 'workers wait at all', sub { return !grep { !at_gate($_) } @standbys; });
	return $dump;
}
{
	my $what = 'by tasks';
	my $log = new_path('log');
	my $dump = start_tasks("--log-json=$log");
	resumed_ok($what);
	my $plan = slurp_file("$dump->{dir}/plan.tmp/plan.json");
	like($plan, qr/"name": "\Q@{[ name($_) ]}\E"/, "$what: the plan has " . $_->name) foreach $b, $c;
	my $want = rows_in_snapshot($c, $rows_sql =~ s/ctid \|\| //gr);
	open_gates();
	whole_ok($dump, $want, $what);
	is($dump->{err}, '', "$what: no messages");
	my %files = slurp_file($log) =~ /"event": ?"server".*?"server": ?"(\S+?)".*?"files": ?(\d+)/mg;
	ok($files{ name($_) }, "$what: files of " . $_->name) foreach @standbys;
}
{
	my $what = 'by tasks, the leader terminated on the second';
	my $dump = start_tasks();
	my $want = rows_in_snapshot($a, $rows_sql =~ s/ctid \|\| //gr);
	my ($first) = backends($b, "usename = 'dumper'");
	value($b, 'postgres', "SELECT pg_terminate_backend($first)");
	wait_in_run($dump, 'the loss is noticed', sub { return $dump->{err} =~ /warning: connection to standby \S+ was lost/ });
	open_gates();
	whole_ok($dump, $want, $what);
	like($dump->{err}, qr/detail: The leader's session on standby \S+ has ended, or the standby was promoted\./, "$what: message about the discarded session");
}
{
	my $what = 'by tasks, the second crashed';
	my $dump = start_tasks();
	my $want = rows_in_snapshot($a, $rows_sql =~ s/ctid \|\| //gr);
	$b->stop('immediate');
	open_gates();
	whole_ok($dump, $want, $what);
	like($dump->{err}, qr/warning: connection to standby \S+ was lost/, "$what: warning");
	$b->start;
	replay();
}

# ---- lost in the midst of it
{
	my $dump = start_all();
	my $want = rows_in_snapshot($a, $rows_sql =~ s/ctid \|\| //gr);
	# the leader's session is the oldest
	my ($first) = backends($b, "usename = 'dumper'");
	value($b, 'postgres', "SELECT pg_terminate_backend($first)");
	wait_in_run($dump, 'the loss is noticed', sub { return $dump->{err} =~ /warning: connection to standby \S+ was lost/ });
	open_gates();
	whole_ok($dump, $want, 'the leader terminated on the second');
	like($dump->{err}, qr/detail: The leader's session on standby \S+ has ended, or the standby was promoted\./, 'the leader terminated on the second: message about the discarded session');
}
{
	my $dump = start_all();
	my $want = rows_in_snapshot($a, $rows_sql =~ s/ctid \|\| //gr);
	$b->stop('immediate');
	open_gates();
	whole_ok($dump, $want, 'the second crashed');
	like($dump->{err}, qr/warning: connection to standby \S+ was lost/, 'the second crashed: warning');
	$b->start;
	replay();
}

# ---- the end of the client in the pause, before the second's snapshot

my $flags = new_path('flags');
mkdir $flags;

# The test may take longer than a pause lasts.  The text is as long as before.
sub lengthen
{
	my ($bytes) = @_;
	$$bytes =~ s/\('lock_timeout', '5000'\)/('lock_timeout', '9min')/ if -e "$flags/long";
	return 1;
}
my $relay_a = start_relay($a, \&lengthen);
my $relay = start_relay($b, sub {
	my ($bytes) = @_;
	lengthen($bytes);
	# before a pause a snapshot is taken, too, after another look at the server
	append_to_file("$flags/pausing", '') if $$bytes =~ /PERFORM pg_catalog\.pg_wal_replay_pause/;
	unlink "$flags/pausing" if $$bytes =~ /pg_is_in_recovery/;
	return 1 if $$bytes !~ /pg_export_snapshot/ || -e "$flags/open" || !-e "$flags/pausing";
	append_to_file("$flags/reached", '');
	sleep 0.02 while !-e "$flags/cut" && !-e "$flags/open";
	return -e "$flags/open";
});
sub start_in_pause
{
	my ($what, $long) = @_;
	unlink glob "$flags/*";
	append_to_file("$flags/long", '') if $long;
	my $dump = start_dump("host=$relay_a->{host} port=$relay_a->{port} dbname=db", '-j2', '-U', 'dumper', '--enable-row-security',
		'--also-from', "host=$relay->{host} port=$relay->{port}");
	wait_in_run($dump, 'the pause', sub { return -e "$flags/reached" });
	is(state($_), 'paused', "$what: " . $_->name . ' is paused') foreach $a, $b;
	return $dump;
}
{
	# the second's server is not told: it resumes after its five seconds
	my $what = 'kill -9 in the pause, and the host gone';
	$b->append_conf('postgresql.conf', 'log_min_duration_statement = 1000');
	$b->reload;
	my $dump = start_in_pause($what);
	my $said_before = -s $b->logfile;
	kill KILL => -$dump->{pid};
	resumed_ok($what);
	is(value($b, 'postgres', q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND usename = 'dumper'}), 1,
		"$what: the session whose lock ends a pause has it yet");
	wait_until('the pause is over', sub {
		return slurp_file($b->logfile, $said_before) =~ /duration: (\d+)\.\d+ ms  statement: DO LANGUAGE plpgsql/ });
	my ($lasted) = slurp_file($b->logfile, $said_before) =~ /duration: (\d+)\.\d+ ms  statement: DO LANGUAGE plpgsql/;
	cmp_ok($lasted, '>=', 4900, "$what: replay waits for five seconds");
	cmp_ok($lasted, '<', 30000, "$what: upper limit of the time, measured by the server");
	append_to_file("$flags/cut", '');
	is(end_dump($dump), 137, "$what: exit code");
	ok(!-e "$dump->{dir}/toc.dat", "$what: no archive");
}
foreach my $end ([ 'Ctrl-C in the pause', sub { kill INT => -$_[0]{pid} }, qr/terminated by user/ ],
	[ 'the connection cut in the pause', sub { append_to_file("$flags/cut", '') }, qr/error: query failed/ ])
{
	my ($what, $do, $message) = @$end;
	my $dump = start_in_pause($what);
	$do->($dump);
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, $message, "$what: message");
	append_to_file("$flags/cut", '');
	resumed_ok($what);
}
my $pausing = q{application_name = 'pg_pardump pause'};	# if these sessions are ended the servers stay paused
foreach my $ended ([ 'the pausing session ended', $pausing, $b ], [ 'both ended', $pausing, $a, $b ], [ 'all ended', q{usename = 'dumper'}, $a, $b ])
{
	my ($what, $which, @nodes) = @$ended;
	my $dump = start_in_pause($what, 1);
	# first the pausing ones, which else go on when the others are gone
	foreach my $node (@nodes) { terminate($node, backends($node, $_)) foreach $pausing, $which }
	is(state($_), 'paused', "$what: and " . $_->name . ' paused') foreach @nodes;
	append_to_file("$flags/open", '');
	is(end_dump($dump), 1, "$what: exit code");
	is(scalar(() = $dump->{err} =~ /error: could not pause replay on standby \S+: (?:.*\n)+?.*detail: Replay was resumed/g),
		scalar(@nodes), "$what: messages");
	resumed_ok($what);
}
stop_proxy($_) foreach $relay, $relay_a;
{
	my $what = 'a lock that another session has';	# whose number all know when the leader is connected
	my $hold = start_relay($b, sub {
		append_to_file("$flags/asks", '') if ${ $_[0] } =~ /advisory_lock\(1885811312/;
		sleep 0.02 while -e "$flags/asks" && !-e "$flags/held";
		return 1;
	});
	my $dump = start_dump($a->connstr('db'), '-j2', '-U', 'dumper', '--also-from', "host=$hold->{host} port=$hold->{port}");
	wait_in_run($dump, 'it asks for the lock', sub { return -e "$flags/asks" });
	my $other = start_psql($b, 'db');
	$other->("SELECT pg_advisory_lock(1885811312, $_)") foreach backends($b, "usename = 'dumper'");
	append_to_file("$flags/held", '');
	wait_in_run($dump, 'it is refused', sub { return $dump->{err} =~ /error: another session on standby \S+ holds the advisory lock/ });
	is(end_dump($dump), 1, "$what: exit code");
	resumed_ok($what);
	$other->();
	stop_proxy($hold);
}
is($complained =~ s/^pgbench.*\n//r, '', 'the writers have no complaint');
$writers->kill_kill;

# ---- a table is truncated while it is dumped: rows of the snapshot, or an error; without
# writers, whose pruning replay would wait for first

replay();

sub dump_victim_ok
{
	my ($dump, $what) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	my $copy = 'copy' . ++$copies;
	make_database($primary, $copy, options => 'TEMPLATE template0');
	restore_ok($primary, $dump->{dir}, $copy, $what);
	is(value($primary, $copy, 'SELECT count(*) FROM victim'), 5000, "$what: rows of the table");
	sql($primary, 'postgres', "DROP DATABASE $copy");
	return;
}
sub truncated_on { return value($_[0], 'db', 'SELECT count(*) = 0 FROM victim') eq 't'; }
sub refill
{
	sql($primary, 'db', 'INSERT INTO victim SELECT g FROM generate_series(1, 5000) g');
	replay();
	return;
}
{
	# whose sessions replay waits for; what others would read there is the table as it was
	my $what = 'truncated, and replay waits';
	my $dump = start_all();
	sql($primary, 'db', 'TRUNCATE victim');
	foreach my $standby (@standbys)
	{
		wait_in_run($dump, 'replay waits', sub {
			return value($standby, 'postgres', q{SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'}) });
	}
	open_gates();
	dump_victim_ok($dump, $what);
	refill();
}
{
	# whose replay waits for no session: the leader's session there is ended
	my $what = 'truncated, and replayed on the second';
	$b->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
	$b->reload;
	my $dump = start_all();
	sql($primary, 'db', 'TRUNCATE victim');
	wait_in_run($dump, 'it is truncated', sub { return truncated_on($b) });
	open_gates();
	dump_victim_ok($dump, $what);
	like($dump->{err}, qr/warning: connection to standby \S+ was lost/, "$what: warning");
	$b->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
	$b->reload;
	refill();
}
{
	# between the snapshot and the lock on the second: the snapshot's rows are nowhere
	my $what = 'truncated before the lock';
	my $once = new_path('once');
	my $hold = start_relay($b, sub {
		my ($bytes) = @_;
		return 1 if $$bytes !~ /LOCK TABLE (?!ONLY pardump\.)/ || -e $once;
		append_to_file("$once.reached", '');
		sleep 0.02 while !-e $once;
		return 1;
	});
	my $dump = start_dump($a->connstr('db'), '-j2', '-U', 'dumper', '--enable-row-security',
		'--also-from', "host=$hold->{host} port=$hold->{port}");
	wait_in_run($dump, 'the lock', sub { return -e "$once.reached" });
	sql($primary, 'db', 'TRUNCATE victim');
	wait_in_run($dump, 'it is truncated', sub { return truncated_on($b) });
	append_to_file($once, '');
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, qr/error: table public\.victim /, "$what: message");
	ok(!-e $dump->{dir}, "$what: no archive");
	stop_proxy($hold);
	refill();
}

# ---- paused by another user

# nothing more is written, not even by the primary itself
$primary->stop;
my (undef, $control) = run_program('pg_controldata', $primary->data_dir);
my ($checkpoint) = $control =~ /^Latest checkpoint location: +(\S+)$/m or die 'no checkpoint';
wait_until('all have all', sub {
	return 3 == grep { value($_, 'postgres', "SELECT pg_last_wal_replay_lsn() > '$checkpoint'") eq 't' } @standbys });
sql($b, 'postgres', 'SELECT pg_wal_replay_pause()');
wait_until('it is paused', sub { return state($b) eq 'paused' });
{
	my $dump = start_all();
	my $want = rows_in_snapshot($b, $rows_sql =~ s/ctid \|\| //gr);
	open_gates();
	is(end_dump($dump), 0, 'paused at the same place: exit code');
	is(state($b), 'paused', 'paused at the same place: it is still paused');
	is(state($_), 'not paused', 'paused at the same place: ' . $_->name . ' resumes') foreach $a, $c;
}
$primary->start;
sql($primary, 'db', 'INSERT INTO busy VALUES (0)');
$primary->wait_for_catchup($a, 'replay', $primary->lsn('insert'));
refused_ok('paused elsewhere', qr/error: WAL replay is already paused on standby \S+, at a different position than on another standby\n.*detail: Replay is at \S+ on \S+, and at \S+ on/,
	$a, from_all());
is(state($b), 'paused', 'paused elsewhere: it is still paused');
sql($b, 'postgres', 'SELECT pg_wal_replay_resume()');

# ---- commits that wait for replay

foreach my $node ($primary, $b)
{
	$node->append_conf('postgresql.conf', "synchronous_standby_names = 'b'\nsynchronous_commit = remote_apply");
	$node->reload;
}
wait_until('the settings are there', sub { return value($b, 'postgres', 'SHOW synchronous_commit') eq 'remote_apply' });
wait_until('b is synchronous', sub {
	return value($primary, 'postgres', "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") });
refused_ok('remote_apply', qr/error: commits on the primary might wait for replay on standby \S+/, $a, from_all());
{
	my $dump = start_all('--pause-synchronous');
	open_gates();
	is(end_dump($dump), 0, '--pause-synchronous: exit code');
	sql($primary, 'db', 'INSERT INTO busy VALUES (0)');
	resumed_ok('--pause-synchronous');
}
foreach my $node ($primary, $b)
{
	$node->append_conf('postgresql.conf', "synchronous_standby_names = ''\nsynchronous_commit = on");
	$node->reload;
}

# ---- the second is promoted during a dump: queries there could miss rows

$b->backup('backup_d');
my $d = PostgreSQL::Test::Cluster->new('d');
$d->init_from_backup($b, 'backup_d', has_streaming => 1);
$d->start;
{
	my $what = 'the second is promoted';
	my $dump = start_all();
	my $want = rows_in_snapshot($a, $rows_sql =~ s/ctid \|\| //gr);
	$b->promote;
	open_gates();
	whole_ok($dump, $want, $what);
	like($dump->{err}, qr/detail: The leader's session on standby \S+ has ended, or the standby was promoted\./, "$what: message about the discarded rows");
	is(scalar(() = $dump->{err} =~ /warning: connection to standby \S+ was lost; .*\n.*detail: Its session has ended, or the standby was promoted\.\n/g), 1, "$what: one warning");
}

# ---- another timeline: a standby of the second

sql($b, 'db', 'INSERT INTO busy VALUES (1)');
$b->wait_for_catchup($d, 'replay', $b->lsn('insert'));
refused_ok('another timeline', qr/error: standby \S+ follows timeline 2, but \S+ follows timeline 1/,
	$a, '-U', 'dumper', '--enable-row-security', '--also-from', $d->connstr('db'));
is(state($_), 'not paused', 'another timeline: no server is paused') foreach $a, $d;

$_->stop('immediate') foreach $d, $c, $b, $a, $primary;
done_testing();
