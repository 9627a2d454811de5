# Copies between servers that lose connections, or fail.  Each row is copied
# once, or the failure is reported, and no session or file remains.
#
# To stop a copy in the middle, a trigger on the target waits at one row for
# an advisory lock (a gate), which the test holds until the fault has
# occurred.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(end_dump wait_until children backends terminate);
use Pardump::Cluster qw(start_cluster make_database new_path sql value);
use Pardump::Compare qw(fingerprint differences);
use Pardump::Copy qw(start_copy run_copy sessions_left no_temp_files_ok);
use Pardump::Gate qw(hold_gates hold close_gate open_gate at_gate wait_at_gate);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('faults_source');
my $target = start_cluster('faults_target');

my $tables = q{
	CREATE TABLE gated (id int, t text);
	CREATE TABLE small1 (id int, t text);
	CREATE TABLE small2 (id int, t text)};
make_database($source, 'faults');
sql($source, 'faults', $tables . q{;
	INSERT INTO gated SELECT g, repeat(md5(g::text), 16) FROM generate_series(1, 10000) g;
	INSERT INTO small1 SELECT g, md5(g::text) FROM generate_series(1, 100) g;
	INSERT INTO small2 SELECT * FROM small1});
my $original = fingerprint($source, 'faults');

make_database($target, 'faults');
sql($target, 'faults', $tables . q{;
	CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int); RETURN NEW; END';
	CREATE TRIGGER gate BEFORE INSERT ON gated FOR EACH ROW WHEN (NEW.id = 5000)
		EXECUTE FUNCTION gate(42);
	CREATE TRIGGER gate BEFORE INSERT ON small2 FOR EACH ROW WHEN (NEW.id = 50)
		EXECUTE FUNCTION gate(43)});
hold_gates($target, 'faults');

# Starts a copy of the rows to $connstr, which is the target by default.
sub start_rows
{
	my ($connstr, @options) = @_;
	sql($target, 'faults', 'TRUNCATE gated, small1, small2');
	push @options, '--max-table-segment-pages=40' if !grep { $_ eq '--no-chunks' } @options;
	return start_copy($source, 'faults', $connstr // $target->connstr('faults'), '-a', '-j2',
		@options);
}

# Starts a copy of the rows to the target, and waits until a worker is at the
# gate.
sub rows_at_gate
{
	my @options = @_;
	close_gate(42);
	my $copy = start_rows(undef, @options);
	wait_at_gate($target, $copy);
	return $copy;
}

sub all_rows_ok
{
	my ($what) = @_;
	is_deeply([ differences($original, fingerprint($target, 'faults')) ],
		[], "$what: every row, once");
	is(sessions_left($source, $target), 0, "$what: no session left");
	no_temp_files_ok($what);
	return;
}

sub copy_survived_ok
{
	my ($copy, $what, $warning) = @_;
	is(end_dump($copy), 0, "$what: exit code") or diag($copy->{err});
	like($copy->{err}, $warning, "$what: warning");
	like($copy->{out}, qr/^copied database .*\n  3 tables, 10,200 rows, /, "$what: summary");
	all_rows_ok($what);
	return;
}

sub failed_ok
{
	my ($copy, $what, $message, $account) = @_;
	is(end_dump($copy), 1, "$what: exit code");
	like($copy->{err}, $message, "$what: message");
	like($copy->{err}, $account, "$what: account");
	is($copy->{out}, '', "$what: no summary");
	is(sessions_left($source, $target), 0, "$what: no session left");
	no_temp_files_ok($what);
	return;
}

my $lost = qr/warning: lost the connection of a worker; retry 1 of 5/;

# ---- lost connections and killed workers

{
	my $copy = rows_at_gate('--exclude-table-data=small?');
	terminate($target, (at_gate($target))[0]);
	wait_at_gate($target, $copy);
	open_gate();
	is(end_dump($copy), 0, 'the target\'s session is lost, one table: exit code');
	is(value($target, 'faults', 'SELECT count(*) FROM gated'), 10000,
		'the target\'s session is lost, one table: rows');
}

# the message if another process kills a worker
my $killed = qr/warning: a worker process was killed; retry 1 of 5.*detail: The worker was copying [^\n]*public\.gated\./s;

sub kill_workers
{
	my ($copy) = @_;
	kill KILL => children($copy->{pid});
	wait_until('a retry', sub { $copy->{h}->pump_nb; $copy->{err} =~ $killed });
	return;
}

# each case: name, options, the fault while a worker is at the gate, and the
# expected message
foreach my $case (
	[ 'the target\'s session is lost', [], sub { terminate($target, (at_gate($target))[0]) }, $lost ],
	# in one chunk, which is so large that the source has not sent all of it
	[ 'the workers\' sessions on the source are lost', [ '--copy-format=text', '--no-chunks' ],
		sub { my (undef, @workers) = backends($source); terminate($source, @workers) }, $lost ],
	# this session is idle while workers copy, so its loss is not even
	# reported
	[ 'the leader\'s session on the target is lost', ['--compare'],
		sub { my ($leader) = backends($target); terminate($target, $leader) }, qr/\A\z/ ],
	[ 'SIGKILL for the workers', [], \&kill_workers, $killed ])
{
	my ($what, $options, $fault, $warning) = @$case;
	my $copy = rows_at_gate(@$options);
	$fault->($copy);
	open_gate();
	copy_survived_ok($copy, $what, $warning);
}

# Requests a lock in another session of the source, and waits until this
# session waits for the lock.
sub request_lock_of_source
{
	my $request = { err => '' };
	$request->{h} = IPC::Run::start(
		[ 'psql', '-Xq', '-d', $source->connstr('faults'), '-c', 'BEGIN; LOCK TABLE small2' ],
		'<', \'', '>', \my $out, '2>', \$request->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until('the lock is requested', sub {
		$request->{h}->pump_nb;
		return value($source, 'faults', 'SELECT count(*) FROM pg_locks WHERE NOT granted');
	});
	return $request;
}

# Another session waits for a lock on a table, so no worker can lock it.  The
# leader, which already holds the lock, then copies the table; its session on
# the target is lost.
{
	close_gate(43);
	my $copy = rows_at_gate('--no-chunks', '-j1');
	my $request = request_lock_of_source();
	hold('SELECT pg_advisory_unlock(42)');
	wait_until('the leader copies', sub {
		$copy->{h}->pump_nb;
		return $copy->{err} =~ /could not lock table/ && at_gate($target);
	});
	terminate($target, (at_gate($target))[0]);
	$request->{h}->finish;
	is($request->{err}, '', 'another session waits for a lock: it gets the lock when the leader\'s session is lost');
	open_gate();
	copy_survived_ok($copy, 'another session waits for a lock',
		qr/warning: could not lock table public\.small2 again; reading it in the session that already holds the lock\n.*warning: lost the connection that held the locks on all tables; retry 1 of 5/s);
}

# the same with --compare, which locks tables in the same way
{
	my $copy = rows_at_gate('--compare', '--no-chunks', '-j1', '--lock-wait-timeout=1s');
	my $request = request_lock_of_source();
	open_gate();
	is(end_dump($copy), 0, '--compare behind a request for a lock: exit code');
	like($copy->{err}, qr/\A.*warning: could not lock table public\.small2 again; reading it in the session that already holds the lock\n.*\n\z/,
		'--compare behind a request for a lock: the leader reads the table');
	$request->{h}->finish;
	is($request->{err}, '', '--compare behind a request for a lock: the other session then gets the lock');
	all_rows_ok('--compare behind a request for a lock');
}

# Faults at the end of a transaction: a deferred trigger waits in COMMIT.
sql($target, 'faults', q{
	CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END';
	DROP TRIGGER gate ON gated;
	CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON gated DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.id = 5000) EXECUTE FUNCTION at_commit()});
sub stuck_commit
{
	close_gate(42);
	my $copy = start_rows();
	wait_until('COMMIT waits', sub {
		$copy->{h}->pump_nb;
		value($target, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory' AND query = 'COMMIT'}) });
	return $copy;
}
foreach my $case (
	[ 'COMMIT fails',
		sub { terminate($target, backends($target, q{wait_event = 'advisory' AND query = 'COMMIT'})) }, $lost ],
	[ 'SIGKILL for a worker in COMMIT', \&kill_workers, $killed ])
{
	my ($what, $fault, $warning) = @$case;
	my $copy = stuck_commit();
	$fault->($copy);
	open_gate();
	copy_survived_ok($copy, $what, $warning);
}
sql($target, 'faults', 'DROP TRIGGER at_commit ON gated');

# A COMMIT succeeds, but its result is lost: a relay closes the first
# connection on which the server reports the COMMIT of rows, before the client
# gets this.
{
	my $mark = new_path('cut');
	my $loads;
	my $relay = start_relay($target, sub {
		my ($bytes, $is_server) = @_;
		$loads ||= !$is_server && $$bytes =~ /COPY \S*gated\b.* FROM STDIN/;
		return 1 if !$loads;
		return 1 if !$is_server || $$bytes !~ /C\0\0\0\x0bCOMMIT\0/ || -e $mark;
		append_to_file($mark, 'cut');
		return 0;
	});
	my $copy = start_rows("host=$relay->{host} port=$relay->{port} dbname=faults");
	copy_survived_ok($copy, 'COMMIT succeeds', $lost);
	ok(-e $mark, 'COMMIT succeeds: the answer was lost');
	stop_proxy($relay);
}
sql($target, 'faults', q{CREATE TRIGGER gate BEFORE INSERT ON gated FOR EACH ROW
	WHEN (NEW.id = 5000) EXECUTE FUNCTION gate(42)});

# ---- raw tuples
#
# Faults occur in the middle of a block, where a constraint waits at the gate.
# Each of both workers waits there with a table of its own.  So none of them
# is in a COMMIT, whose result would be unknown after a restart of the target.

foreach my $node ($source, $target)
{
	make_database($node, 'raw');
	sql($node, 'raw', 'CREATE EXTENSION pg_pardump; CREATE TABLE gated (id int, t text);
		CREATE TABLE other (id int, t text)');
}
sql($source, 'raw', 'INSERT INTO gated SELECT g, md5(g::text) FROM generate_series(1, 10000) g;
	INSERT INTO other SELECT * FROM gated');
sql($target, 'raw', q{CREATE FUNCTION wait(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END';
	ALTER TABLE gated ADD CHECK (id <> 5000 OR wait(id));
	ALTER TABLE other ADD CHECK (id <> 5000 OR wait(id))});
my $raw_rows = fingerprint($source, 'raw');
hold_gates($target, 'raw');
foreach my $case (
	[ 'the target\'s session is lost', sub { terminate($target, (at_gate($target))[0]) }, $lost ],
	[ 'the sessions on the source are lost', sub { my (undef, @workers) = backends($source); terminate($source, @workers) }, $lost ],
	[ 'SIGKILL for the workers', \&kill_workers, $killed ])
{
	my ($what, $fault, $warning) = @$case;
	sql($target, 'raw', 'TRUNCATE gated, other');
	close_gate(42);
	my $copy = start_copy($source, 'raw', $target->connstr('raw'), '-a', '-j2', '--copy-format=raw',
		'--max-table-segment-pages=30');
	wait_at_gate($target, $copy, 2);
	$fault->($copy);
	open_gate();
	is(end_dump($copy), 0, "raw tuples, $what: exit code") or diag($copy->{err});
	like($copy->{err}, $warning, "raw tuples, $what: warning");
	is_deeply([ differences($raw_rows, fingerprint($target, 'raw')) ], [],
		"raw tuples, $what: every row, once");
	is(sessions_left($source, $target), 0, "raw tuples, $what: no session left");
}

# The target is restarted.  This also ends the test's session that holds the
# gate.
foreach my $mode (qw(fast immediate))
{
	sql($target, 'raw', 'TRUNCATE gated, other');
	close_gate(42);
	my $copy = start_copy($source, 'raw', $target->connstr('raw'), '-a', '-j2', '--copy-format=raw',
		'--max-table-segment-pages=30', '--retries=20');
	wait_at_gate($target, $copy, 2);
	$target->stop($mode);
	$target->start;
	is(end_dump($copy), 0, "raw tuples, restart ($mode): exit code") or diag($copy->{err});
	like($copy->{err}, qr/retry 1 of 20/, "raw tuples, restart ($mode): the lost connection was noticed");
	is_deeply([ differences($raw_rows, fingerprint($target, 'raw')) ], [],
		"raw tuples, restart ($mode): every row, once");
	eval { hold('SELECT 1') };
	hold_gates($target, 'raw');
}

# a row violates a constraint of the target
{
	sql($target, 'raw', 'TRUNCATE gated, other; ALTER TABLE gated ADD CONSTRAINT refuses CHECK (id <> 7777)');
	my ($rc, $out, $err) = run_copy($source, 'raw', $target, 'raw', '-a', '-t', 'gated', '--copy-format=raw', '--no-chunks');
	is($rc, 1, 'raw tuples, a constraint fails: exit code');
	like($err, qr/could not write rows: ERROR:  new row for relation "gated" violates check constraint "refuses"/,
		'raw tuples, a constraint fails: the server\'s words');
	like($err, qr/Tables committed on the target with all rows: 0 of 1\.\n/, 'raw tuples, a constraint fails: account');
	is(value($target, 'raw', 'SELECT count(*) FROM gated'), 0, 'raw tuples, a constraint fails: no row');
}
hold_gates($target, 'faults');

# ---- copies that fail

{
	my $copy = rows_at_gate('--retries=1', '--exclude-table-data=small?');
	foreach my $time (1, 2)
	{
		wait_at_gate($target, $copy);
		terminate($target, (at_gate($target))[0]);
	}
	failed_ok($copy, 'retries exhausted', qr/error: could not write rows: FATAL:  terminating/,
		qr/detail: Tables committed on the target with all rows: 0 of 1\.\n.*detail: Incomplete tables: public\.gated\./);
	open_gate();
}
{
	my $copy = rows_at_gate('--no-analyze');
	kill INT => $copy->{pid};
	failed_ok($copy, 'SIGINT', qr/terminated by user/,
		qr/detail: Tables committed on the target with all rows: \d of 3\.\n.*detail: Incomplete tables: .*public\.gated/);
	open_gate();
}

hold();

# The target crashes, or becomes another server after a failover, when an
# index has just been built.  The index must not be lost, and if rows may be
# lost, the copy must report that.
$target->append_conf('postgresql.conf', "wal_writer_delay = 10s\nwal_writer_flush_after = 2GB");
$target->restart;
foreach my $fault (
	[ 'a crash of the target', 'TABLE', undef ],
	[ 'a crash of the target, unlogged table', 'UNLOGGED TABLE',
		qr/unlogged tables of the target might have lost rows\n.*\n.*detail: Tables: public\.first\.\n/ ],
	# the target recovers and continues on a new timeline, like a standby
	[ 'a failover', 'TABLE', qr/the target is now another server, after a failover/ ])
{
	my ($what, $kind, $message) = @$fault;
	my $db = $what =~ s/\W/_/gr;
	if ($what eq 'a failover')
	{
		$target->append_conf('postgresql.conf',
			"wal_level = replica\nhot_standby = off\nrestore_command = 'false'");
		$target->restart;
	}
	make_database($_, $db) foreach ($source, $target);
	sql($source, $db, qq{CREATE FUNCTION wait(int) RETURNS bool LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(42); RETURN true; END';
		CREATE $kind first AS SELECT generate_series(1, 60000) AS id;
		CREATE INDEX first_i ON first (id);
		CREATE TABLE gated (id int CHECK (wait(id)));
		INSERT INTO gated VALUES (1)});
	hold_gates($target, $db);
	close_gate(42);
	my $copy = start_copy($source, $db, $target->connstr($db), '-j2', '--retries=20');
	wait_until('the index', sub {
		$copy->{h}->pump_nb;
		value($target, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'first_i'}) });
	wait_at_gate($target, $copy);
	$target->stop('immediate');
	append_to_file($target->data_dir . '/recovery.signal', '') if $what eq 'a failover';
	$target->start;
	is(end_dump($copy), $message ? 1 : 0, "$what: exit code") or diag($copy->{err});
	like($copy->{err}, $message // qr/retry 1 of 20(?!.*error: )/s, "$what: message");
	is(value($target, $db, q{SELECT (SELECT count(*) FROM first), (SELECT count(*) FROM gated),
		to_regclass('first_i')}), '60000|1|first_i', "$what: rows and index on the target") if !$message;
	# This query lets the gate's psql notice that its session is lost, and
	# exit. It cannot notice the end of its input: the new server also has the
	# pipe.
	eval { hold('SELECT 1') };
}
$target->append_conf('postgresql.conf', 'hot_standby = on');

# A file of the target cannot grow, as if the disk were full: the limit of the
# operating system for the size of a file applies to this server only.
{
	sql($source, 'faults', q{CREATE TABLE wide AS SELECT repeat(md5(g::text), 30) AS t,
		now() AS since, '\x01'::bytea AS b FROM generate_series(1, 30000) g});
	make_database($target, 'full');
	$target->stop;
	my @start = ('bash', '-c', 'ulimit -f 20480; exec pg_ctl -w -D "$1" -l "$2" start', 'bash',
		$target->data_dir, $target->logfile);
	system_or_bail(@start);
	my ($rc, $out, $err) = run_copy($source, 'faults', $target, 'full', '-j2', '--no-analyze');
	is($rc, 1, 'no space: exit code');
	like($err, qr/could not write rows: ERROR:  could not extend file .*File too large/,
		'no space: message');
	like($err, qr/Tables committed on the target with all rows: [0-3] of 4\.\n.*detail: Incomplete tables: .*public\.wide/,
		'no space: account');
	is($out, '', 'no space: no summary');
	no_temp_files_ok('no space');
	system_or_bail('pg_ctl', '-w', '-D', $target->data_dir, '-m', 'immediate', 'stop');
	$target->start;
}

# ---- --compare

{
	make_database($target, 'compared');
	sql($target, 'compared', q{ALTER DATABASE compared SET timezone = 'Asia/Tokyo';
		ALTER DATABASE compared SET bytea_output = 'escape'});
	my ($rc, $out, $err) = run_copy($source, 'faults', $target, 'compared', '-j2', '--compare');
	is("$rc$err", '0', '--compare, equal contents: no messages');
	like($out, qr/^comparison: [^\n]*, [\d,]+ rows? in \d+\.\d s, no differences found$/m, '--compare, equal contents: result');
	sql($target, 'compared', 'DELETE FROM wide; DELETE FROM small2');
	($rc, $out, $err) = run_copy($source, 'faults', $target, 'compared', '-j2', '--compare', '-a',
		'-t', 'wide', '-t', 'small2');
	is($rc, 0, '--compare of two tables');
	($rc, $out, $err) = run_copy($source, 'faults', $target, 'compared', '--compare', '-a', '-t', 'small1');
	is($rc, 1, '--compare, rows duplicated on the target');
	like($err, qr/error: table public\.small1 differs\n.*detail: Rows: 100 in source database "[^"]+", 200 in target database "[^"]+"\.\n.*detail: Only in target database "[^"]+": 100 rows/,
		'--compare, rows duplicated on the target: message');
	sql($target, 'compared', q{TRUNCATE small1;
		CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.t = ''x''; RETURN NEW; END';
		CREATE TRIGGER other BEFORE INSERT ON small1 FOR EACH ROW WHEN (NEW.id = 7)
			EXECUTE FUNCTION other()});
	($rc, $out, $err) = run_copy($source, 'faults', $target, 'compared', '--compare', '-a', '-t', 'small1');
	is($rc, 1, '--compare, a value differs');
	like($err, qr/error: table public\.small1 differs\n.*detail: Rows: 100 in each\.\n.*detail: Only in source database "[^"]+": 1 row\.\n.*detail: (?:Key|Value)s: id=7, .*\n.*detail: Only in target database "[^"]+": 1 row\.\n.*detail: (?:Key|Value)s: id=7, t=x\.\n/,
		'--compare, a value differs: message');
	is(sessions_left($source, $target), 0, '--compare: no session left');
}

$source->stop;
$target->stop;
done_testing();
