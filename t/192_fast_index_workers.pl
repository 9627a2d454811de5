# Index builds of the extension with the server's parallel workers: the index is the
# server's, byte by byte, if workers have read most of the rows; and what
# happens if a worker finds a row for the server, fails, or does not start.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use File::Copy ();
use Pardump::Cluster qw(start_cluster sql value pg_major poll own_installation installed_at);
use Pardump::Index qw(builders different_files check_index);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = own_installation();
my $node = start_cluster('fast_index_workers', leave_stopped => 1, install_path => $installation);
plan skip_all => 'builds are left to the server' if pg_major($node) >= 19;
$node->append_conf('postgresql.conf', <<'CONF');
max_worker_processes = 16
max_parallel_workers = 16
min_parallel_table_scan_size = 0
CONF
$node->start;

sql($node, 'postgres', 'CREATE DATABASE workers');
sql($node, 'workers', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TYPE mood ADD VALUE 'angry' BEFORE 'sad';
SELECT setseed(0.5);
CREATE TABLE many (o int4 NOT NULL, a int4 NOT NULL, b int8, c int2, d bool, e "char", f oid, g date, h time, i timestamp,
	j timestamptz, k float4, l float8, m uuid, n mood, p text COLLATE "C", q varchar COLLATE "POSIX", r char(9) COLLATE "C")
	WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, i * 7919::int8 % 100003, CASE WHEN i % 10 > 0 THEN i * 7919::int8 % 60013 * 4294967311 END, i % 50,
	i % 3 = 0, (i % 100)::"char", i * 7919::int8 % 4294967291, '2000-01-01'::date + i % 5000, '00:00'::time + i * interval '1 ms',
	'2000-01-01'::timestamp + i * 7919::int8 % 60013 * interval '1 min', '2000-01-01'::timestamptz - i * interval '1 min',
	i % 7000 * 0.37, CASE WHEN i % 100 = 0 THEN 'NaN' ELSE random() - 0.5 END, md5(i::text)::uuid,
	(enum_range(NULL::mood))[1 + i % 3], CASE WHEN i % 7 > 0 THEN 'a beginning/' || md5(i::text) END, 'few' || i % 7, i % 5000
	FROM generate_series(1, 60000) i;
DELETE FROM many WHERE o % 11 = 3;
SQL
my $watch = Pardump::Wire->new($node, 'postgres');

# A session that lets the extension build indexes with up to this number of workers.
sub builder
{
	my ($n_workers, %params) = @_;
	my $session = Pardump::Wire->new($node, $params{db} // 'workers', user => $params{user} // (getpwuid $<)[0],
		options => join ' ', map { "-c $_" } 'client_min_messages=debug1', "max_parallel_maintenance_workers=$n_workers", $params{options} // ());
	$session->{pid} = $session->first_value('SELECT pg_backend_pid()');
	return $session if $params{options};
	$session->query(q{LOAD 'pg_pardump'});
	$session->query('SET pg_pardump.fast_index = on');
	return $session;
}

# What a process shows as its command.  Nothing is asked of the server: the answer could
# need a lock that a stopped process holds.
sub title_of
{
	open(my $in, '<', "/proc/$_[0]/cmdline") or return '';
	return scalar(<$in>) // '';
}

# The parallel workers of a session.
sub workers_of
{
	my ($pid) = @_;
	return grep { title_of($_) =~ /parallel worker for PID $pid\b/ } map { /(\d+)/ } glob '/proc/[0-9]*';
}

# Let a stopped session run for moments, until a condition is true.  Returns its value, or
# nothing if the statement of the session ended before.  The session is not just left
# stopped: it may hold a lock that its workers need.
sub step_until
{
	my ($session, $condition) = @_;
	my $value;
	until ($value = $condition->())
	{
		kill 'CONT', $session->{pid};
		last if has_ended($session);
		kill 'STOP', $session->{pid};
	}
	return $value;
}

# Has the statement of a session ended?
sub has_ended { return $_[0]->has_input && title_of($_[0]{pid}) =~ /\bidle\b/; }

# Run a statement with a leader that hardly runs while workers do, so that these read
# most of the table.  This is a matter of time, so it is repeated on a busy machine, until
# workers have read rows, or another condition is true of the result.  The statement $undo
# comes before each time.  Returns the result, and the number of rows that workers have read.
sub run_with_workers
{
	my ($session, $sql, $undo, $done) = @_;
	my ($result, $n_rows);
	for (1 .. 30)
	{
		$session->query($undo);
		kill 'STOP', $session->{pid};
		$session->message('Q', "$sql\0");
		step_until($session, sub { workers_of($session->{pid}) });
		step_until($session, sub { !workers_of($session->{pid}) });
		kill 'CONT', $session->{pid};
		$result = $session->result;
		$n_rows = rows_of_workers($result);
		last if $done ? $done->($result) : $n_rows > 0;
	}
	return ($result, $n_rows);
}

# The number of rows that workers have read.
sub rows_of_workers
{
	my ($result) = @_;
	return (map { /^\d+ parallel workers have read (\d+) rows/ } @{ $result->{debug} })[0] // 0;
}

# What a result says of builders: as builders() of Pardump::Index.
sub builders_of
{
	my ($result) = @_;
	return builders(join '', map { "DEBUG:  $_\n" } @{ $result->{debug} });
}

# Build an index with workers.
sub build_with_workers
{
	my ($session, $name, $create) = @_;
	return run_with_workers($session, $create, "DROP INDEX IF EXISTS $name");
}

sub file_of { return $node->data_dir . '/' . value($node, 'workers', "SELECT pg_relation_filepath('$_[0]')"); }

# What pg_class says of an index.
sub counts_of { return value($node, 'workers', "SELECT reltuples, relpages FROM pg_class WHERE oid = '$_[0]'::regclass"); }

# Files in directories of temporary files, and the directories of shared ones.
sub temporary_files { return grep { -e } glob($node->data_dir . '/base/pgsql_tmp/*'), glob($node->data_dir . '/base/pgsql_tmp/*/*'); }

# --- each type, by different numbers of workers

my @definitions = ((map { "($_)" } 'a' .. 'n', 'p', 'q', 'r'), '(b DESC NULLS LAST)', '(l DESC)', '(p DESC)',
	'(c, i DESC)', '(q, b)', '(d, n, e, g)', '(o)');
my @unique = ('(a)', '(m)', '(o DESC)', '(b) NULLS DISTINCT', '(p)');
my @cases = ((map { [ '', $_ ] } @definitions), (map { [ 'UNIQUE ', $_ ] } grep { $_ ne '(b) NULLS DISTINCT' } @unique));
sql($node, 'workers', join ';', map { "CREATE $cases[$_][0]INDEX servers_$_ ON many $cases[$_][1]" } 0 .. $#cases);
foreach my $n_workers (1, 2, 4)
{
	my $session = builder($n_workers);
	$session->query("ALTER TABLE many SET (parallel_workers = $n_workers)");
	# all of them with two workers, which is the server's default, and a part with others
	foreach my $no (grep { $n_workers == 2 || $_ % 4 == $n_workers % 4 } 0 .. $#cases)
	{
		# the many bytes of texts do not fit into this memory
		$session->query("SET maintenance_work_mem = '" . ($no % 2 ? '1MB' : '64MB') . "'");
		my $what = "$n_workers workers, $cases[$no][0]$cases[$no][1]";
		my ($result, $n_rows) = build_with_workers($session, "ours_$no", "CREATE $cases[$no][0]INDEX ours_$no ON many $cases[$no][1]");
		is($result->{error}{message}, undef, "$what: no error");
		is_deeply([ builders_of($result) ], [ [ "ours_$no", 'us' ] ], "$what: built by us") or diag(explain($result->{debug}));
		cmp_ok($n_rows, '>', 0, "$what: rows read by workers");
		is(different_files(file_of("ours_$no"), file_of("servers_$no")), '', "$what: pages");
		is(counts_of("ours_$no"), counts_of("servers_$no"), "$what: counts of pg_class") if $n_workers == 2;
		is(check_index($node, 'workers', "ours_$no"), '', "$what: amcheck") if $n_workers == 2;
	}
	$session->close;
}
sql($node, 'workers', join ';', map { ("DROP INDEX ours_$_", "DROP INDEX servers_$_") } 0 .. $#cases);
is_deeply([ temporary_files() ], [], 'no temporary file is left');

# --- more than memory holds

sql($node, 'workers', 'CREATE TABLE large (a int4 NOT NULL, b int8 NOT NULL, t text COLLATE "C") WITH (parallel_workers = 4);
	INSERT INTO large SELECT i, i * 7919::int8 % 1300021, md5(i::text) FROM generate_series(1, 400000) i');
foreach my $columns ('(a)', '(b)', '(b DESC, a)', '(t)')
{
	my $session = builder(4);
	$session->query(q{SET maintenance_work_mem = '1MB'});
	sql($node, 'workers', "DROP INDEX IF EXISTS theirs; CREATE INDEX theirs ON large $columns");
	my ($result, $n_rows) = build_with_workers($session, 'ours', "CREATE INDEX ours ON large $columns");
	is_deeply([ builders_of($result) ], [ [ 'ours', 'us' ] ], "many runs, $columns: built by us") or diag(explain($result));
	cmp_ok($n_rows, '>', 100000, "many runs, $columns: most rows read by workers");
	is(different_files(file_of('ours'), file_of('theirs')), '', "many runs, $columns: pages");
	$session->close;
}
is_deeply([ temporary_files() ], [], 'many runs: no temporary file is left');

# --- errors

sql($node, 'workers', q{CREATE TABLE dup WITH (parallel_workers = 2) AS SELECT i AS a, i::float8 AS f FROM generate_series(1, 100000) i;
	INSERT INTO dup VALUES (777, 1)});
my %error;
foreach my $fast ('off', 'on')
{
	my $session = builder(2);
	$session->query("SET pg_pardump.fast_index = $fast");
	my ($result) = run_with_workers($session, 'CREATE UNIQUE INDEX dup_index ON dup (a)', 'SELECT 1', $fast eq 'on' ? undef : sub { 1 });
	$error{$fast} = $result->{error};
	delete $error{$fast}{context};
	is(rows_of_workers($result) > 0, $fast eq 'on', "a duplicate key, $fast: rows read by workers");
	$session->close;
}
is_deeply($error{on}, $error{off}, 'the error of a duplicate key') or diag(explain(\%error));
is($error{on}{sqlstate}, '23505', 'a duplicate key: SQLSTATE');
is($error{on}{detail}, 'Key (a)=(777) is duplicated.', 'a duplicate key: detail');

{
	my $session = builder(2);
	sql($node, 'workers', q{INSERT INTO dup VALUES (0, '-0')});
	my $reason = 'a value has to be compared by the server';
	my ($result) = run_with_workers($session, 'CREATE INDEX left_by_worker ON dup (f)', 'DROP INDEX IF EXISTS left_by_worker',
		sub { grep { $_ eq qq{parallel worker cannot build index "left_by_worker": $reason} } @{ $_[0]{debug} } });
	is_deeply([ builders_of($result) ], [ [ 'left_by_worker', $reason ] ], 'a row for the server, found by a worker') or diag(explain($result));
	is(scalar(grep { /^parallel worker cannot build index/ } @{ $result->{debug} }), 1, 'a row for the server: a worker has found it');
	is(check_index($node, 'workers', 'left_by_worker'), '', 'a row for the server, found by a worker: amcheck');

	# the limit of files is that of a process
	$session->query(q{SET temp_file_limit = '64kB'});
	($result) = run_with_workers($session, 'CREATE INDEX limited ON dup (a)', 'DROP INDEX IF EXISTS limited', sub { $_[0]{error} });
	is($result->{error}{sqlstate}, '53400', 'temp_file_limit in a worker: SQLSTATE') or diag(explain($result));
	like($result->{error}{message}, qr/temporary file size exceeds "?temp_file_limit/, 'temp_file_limit in a worker: message');
	$session->query('RESET temp_file_limit');

	# errors in subtransactions, and builds that are rolled back
	$session->query('BEGIN');
	$session->query('SAVEPOINT s');
	($result) = run_with_workers($session, 'CREATE UNIQUE INDEX dup_index ON dup (a)', 'ROLLBACK TO s');
	is($result->{error}{sqlstate}, '23505', 'an error in a subtransaction');
	($result) = run_with_workers($session, 'CREATE INDEX gone ON dup (a)', 'ROLLBACK TO s');
	is_deeply([ builders_of($result) ], [ [ 'gone', 'us' ] ], 'a build in a subtransaction');
	$session->query('ROLLBACK TO s');
	$session->query('INSERT INTO dup SELECT -i, -i FROM generate_series(1, 50000) i');
	$session->query('SAVEPOINT t');
	($result) = run_with_workers($session, 'CREATE INDEX kept ON dup (a DESC)', 'ROLLBACK TO t');
	is_deeply([ builders_of($result) ], [ [ 'kept', 'us' ] ], 'a build after that, with rows of the transaction');
	$session->query('COMMIT');
	is(check_index($node, 'workers', 'kept'), '', 'a build after that, with rows of the transaction: amcheck');
	is(value($node, 'workers', q{SELECT count(*) FROM pg_class WHERE relname IN ('gone', 'limited', 'dup_index')}), 0, 'failed builds: no index exists');
	$session->close;
}
is_deeply([ temporary_files() ], [], 'failed builds: no temporary file is left');

# --- a leader that waits for a worker

sub waits_for_workers
{
	my ($session) = @_;
	return ($watch->first_value("SELECT wait_event FROM pg_stat_activity WHERE pid = $session->{pid}") // '') eq 'ParallelFinish';
}

# Does a process have this file open?
sub has_open
{
	my ($pid, $file) = @_;
	return grep { (readlink($_) // '') eq $file } glob "/proc/$pid/fd/*";
}

# Begin a build, and stop its worker, which has begun to read.  Returns the session and the
# worker, when the leader waits for it.
sub start_waiting
{
	my $session = builder(1);
	my $file = file_of('large');
	my $worker;
	for (1 .. 30)
	{
		$session->query('DROP INDEX IF EXISTS waiting');
		kill 'STOP', $session->{pid};
		$session->message('Q', "CREATE INDEX waiting ON large (b)\0");
		step_until($session, sub { ($worker) = grep { has_open($_, $file) } workers_of($session->{pid}); defined $worker });
		kill 'STOP', $worker if defined $worker;
		kill 'CONT', $session->{pid};
		poll($PostgreSQL::Test::Utils::timeout_default, sub { waits_for_workers($session) || has_ended($session) });
		last if waits_for_workers($session);
		kill 'CONT', $worker if defined $worker;
		$session->result;
	}
	return ($session, $worker);
}

my ($session, $worker) = start_waiting();
ok(waits_for_workers($session), 'the leader waits for a worker');
is($watch->first_value("SELECT query FROM pg_stat_activity WHERE pid = $worker"), 'CREATE INDEX waiting ON large (b)', 'the query of a worker');
cmp_ok($watch->first_value("SELECT blocks_done FROM pg_stat_progress_create_index WHERE pid = $session->{pid}"), '>', 0, 'progress is reported');
$watch->query("SELECT pg_cancel_backend($session->{pid})");
kill 'CONT', $worker;
is($session->result->{error}{message}, 'canceling statement due to user request', 'a build is canceled');
ok(poll($PostgreSQL::Test::Utils::timeout_default, sub { !workers_of($session->{pid}) }), 'a canceled build: no worker is left');
is_deeply([ temporary_files() ], [], 'a canceled build: no temporary file is left');
is(value($node, 'workers', q{SELECT count(*) FROM pg_class WHERE relname = 'waiting'}), 0, 'a canceled build: no index exists');
$session->close;

($session, $worker) = start_waiting();
$watch->query("SELECT pg_terminate_backend($worker)");
kill 'CONT', $worker;
is($session->result->{error}{sqlstate}, '57P01', 'a worker is terminated: the build fails');
is_deeply([ temporary_files() ], [], 'a terminated worker: no temporary file is left');
is($session->first_value('SELECT 1'), 1, 'a terminated worker: the session continues');
$session->close;

# --- an enum type that changes between the leader's begin and that of its worker, which the
# stopped postmaster does not start before

{
	$session = builder(1);
	my $other = Pardump::Wire->new($node, 'workers');
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)/;
	kill 'STOP', $postmaster;
	$session->message('Q', "CREATE INDEX of_moods ON many (n)\0");
	ok(poll($PostgreSQL::Test::Utils::timeout_default, sub { waits_for_workers($session) }), 'an enum type: the leader waits for a worker');
	my $changed = $other->query(q{ALTER TYPE mood ADD VALUE 'calm' BEFORE 'happy'});
	kill 'CONT', $postmaster;
	is($changed->{error}{message}, undef, 'an enum type: no error when it changes');
	is_deeply([ builders_of($session->result) ], [ [ 'of_moods', 'its table or an enum type has changed' ] ],
		'an enum type that changes: built by the server');
	is(check_index($node, 'workers', 'of_moods'), '', 'an enum type that changes: amcheck');
	$_->close foreach $session, $other;
}

# --- no worker

$session = builder(4);
$session->query('SET max_parallel_workers = 0');
my $result = $session->query('CREATE INDEX alone ON large (b)');
is_deeply([ builders_of($result) ], [ [ 'alone', 'us' ] ], 'no worker can be started: built by us');
is_deeply([ grep { /workers have read/ } @{ $result->{debug} } ], [], 'no worker can be started: none has read');
sql($node, 'workers', 'CREATE INDEX theirs_alone ON large (b)');
is(different_files(file_of('alone'), file_of('theirs_alone')), '', 'no worker can be started: pages');
$session->query('SET max_parallel_workers = 16');
$session->query('CREATE TEMP TABLE temporary WITH (parallel_workers = 4) AS SELECT * FROM large');
$result = $session->query('CREATE INDEX of_temporary ON temporary (b)');
is_deeply([ builders_of($result) ], [ [ 'of_temporary', 'us' ] ], 'a temporary table: built by us');
is_deeply([ grep { /workers have read/ } @{ $result->{debug} } ], [], 'a temporary table: no worker has read');

# --- other commands and tables

$session->query('CREATE UNLOGGED TABLE fleeting WITH (parallel_workers = 2) AS SELECT * FROM large; CREATE TABLE none (a int4) WITH (parallel_workers = 2);
	CREATE TABLE parent (a int4, b int8) PARTITION BY RANGE (a); CREATE TABLE part PARTITION OF parent DEFAULT WITH (parallel_workers = 2);
	INSERT INTO parent SELECT i, -i FROM generate_series(1, 100000) i');
foreach my $command ([ 'fleeting_pkey', 'ALTER TABLE fleeting ADD PRIMARY KEY (a)' ], [ 'none_a_idx', 'CREATE INDEX ON none (a)' ], [ 'part_b_idx', 'CREATE INDEX ON parent (b)' ])
{
	my ($name, $sql) = @$command;
	$result = $session->query($sql);
	is_deeply([ builders_of($result) ], [ [ $name, 'us' ] ], "$sql: built by us") or diag(explain($result));
	is(scalar(grep { /parallel workers have read/ } @{ $result->{debug} }), 1, "$sql: with workers");
	is(check_index($node, 'workers', $name), '', "$sql: amcheck");
}

# what workers read and write is counted in the session
$session->query('CREATE FUNCTION make_index() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE INDEX counted ON large (b); END $$');
($result, my $n_counted) = run_with_workers($session, 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT make_index()', 'DROP INDEX IF EXISTS counted');
cmp_ok($n_counted, '>', 0, 'a build in a function: rows read by workers');
my $explained = join "\n", map { $_->[0] } @{ $result->{rows} };
my %blocks = map { $explained =~ /"$_ Blocks": (\d+)/ ? ($_ => $1) : () } 'Shared Hit', 'Shared Read', 'Temp Written';
cmp_ok(($blocks{'Shared Hit'} // 0) + ($blocks{'Shared Read'} // 0), '>=',
	value($node, 'workers', q{SELECT pg_relation_size('large') / current_setting('block_size')::int8}), 'blocks that were read') or diag($explained);
cmp_ok($blocks{'Temp Written'} // 0, '>', 0, 'blocks of temporary files') or diag($explained);
$session->close;

# --- an ordinary role, which loads the library from $libdir/plugins; there it may be a file
# of its own, and the other one may be missing

SKIP:
{
	skip 'the installation is not the tests\' own', 3 if !defined $installation;
	my $library = installed_at($installation, '--pkglibdir') . '/pg_pardump.so';
	my $plugin = $library =~ s/pg_pardump\.so$/plugins\/pg_pardump.so/r;
	unlink $plugin or die "could not remove \"$plugin\": $!";
	File::Copy::copy($library, $plugin) or die "could not copy \"$library\": $!";
	rename $library, "$library.away" or die "could not rename \"$library\": $!";
	sql($node, 'workers', 'CREATE ROLE plain LOGIN; CREATE TABLE of_plain WITH (parallel_workers = 2) AS SELECT * FROM large; ALTER TABLE of_plain OWNER TO plain;
		GRANT CREATE ON SCHEMA public TO plain');
	$session = builder(2, user => 'plain', options => 'local_preload_libraries=pg_pardump -c pg_pardump.fast_index=on');
	($result, my $n_rows) = build_with_workers($session, 'plains', 'CREATE INDEX plains ON of_plain (b)');
	is_deeply([ (builders_of($result))[-1] ], [ [ 'plains', 'us' ] ], 'local_preload_libraries: built by us') or diag(explain($result));
	cmp_ok($n_rows, '>', 0, 'local_preload_libraries: rows read by workers');
	$session->close;
	rename "$library.away", $library or die "could not rename \"$library\": $!";
	is(check_index($node, 'workers', 'plains'), '', 'local_preload_libraries: amcheck');
}
$watch->close;

# --- wal_level = minimal, and an immediate stop

$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
$watch = Pardump::Wire->new($node, 'postgres');
$session = builder(2);
$session->query('BEGIN');
$session->query('CREATE TABLE fresh WITH (parallel_workers = 2) AS SELECT * FROM large');
$session->query('SAVEPOINT s');
($result, my $n_rows) = run_with_workers($session, 'CREATE INDEX fresh_b ON fresh (b)', 'ROLLBACK TO s');
is_deeply([ builders_of($result) ], [ [ 'fresh_b', 'us' ] ], 'wal_level = minimal: built by us');
cmp_ok($n_rows, '>', 0, 'wal_level = minimal: rows read by workers');
$session->query('COMMIT');
$_->close foreach $session, $watch;
$node->stop('immediate');
$node->start;
is(check_index($node, 'workers', 'fresh_b'), '', 'wal_level = minimal: amcheck after an immediate stop');

$node->stop;
done_testing();
