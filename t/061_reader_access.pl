# The server's reader of rows among other sessions: it sees what its snapshot
# sees while they change rows, takes part in the detection of serialization
# failures, keeps its hands off temporary tables, stops when asked to, works on
# a hot standby, and leaves nothing behind however a call ends.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(wait_until end_writers cpu_seconds cpu_of_ended);
use Pardump::Cluster qw(start_cluster new_path start_psql value sql start_standby tier);
use Pardump::Reader qw(prepare_comparison same_rows_ok random_seed);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('access', allows_streaming => 1);
note('PG_PARDUMP_SEED=' . random_seed());
sql($node, 'postgres', 'CREATE DATABASE access');
sql($node, 'access', 'CREATE EXTENSION pg_pardump');
prepare_comparison($node, 'access');

# What the server says of buffers, snapshots, relations or files that a call
# forgot.
my $forgotten = qr/reference leak|refcount leak|not closed|still referenced|PANIC|TRAP/;

# A session that continues after errors.
sub session
{
	my $psql = start_psql($node, 'access');
	$psql->("SELECT 1;\n\\set ON_ERROR_STOP 0\nSELECT 1");
	return $psql;
}

# The SQLSTATE of a statement, 00000 if it worked.
sub sqlstate
{
	my ($psql, $statement) = @_;
	my $out = $psql->("$statement;\n\\echo state :SQLSTATE\nSELECT 1");
	return $out =~ /^state (\w{5})$/m ? $1 : "no state in: $out";
}

# --- temporary tables of another session

{
	my $other = session();
	$other->('CREATE TEMP TABLE hers AS SELECT 1 AS a');
	my $name = $other->(q{SELECT relnamespace::regnamespace || '.hers'
		FROM pg_class WHERE relname = 'hers'});
	my (undef, undef, $err) = $node->psql('access',
		"SELECT pardump.pg_pardump_read('$name', '{a}', 0, NULL, 'none')");
	like($err, qr/ERROR:  cannot access temporary tables of other sessions/,
		"another session's temporary table is refused");
	$other->();
}

# --- what came of a call, which only its role may know: a SECURITY DEFINER function
# or SET ROLE may follow or have been before it

{
	sql($node, 'access', q{CREATE ROLE stranger; CREATE TABLE secrets AS SELECT g AS a FROM generate_series(1, 20000) g});
	my $psql = session();
	$psql->(q{SELECT pardump.pg_pardump_fingerprint_reads(sha256('key'))});
	my $read = q{pardump.pg_pardump_read('secrets', '{a}', 0, NULL, 'none')};
	my $files = q{pardump.pg_pardump_read_files('{PG_VERSION}', '{0}', '{3}', '{NULL}', '{NULL}', '{t}', '{NULL}', '0/0', 'none')};
	my $told = q{SELECT concat_ws(' ', r.rows, r.bytes > 0, length(p.fingerprint), length(p.first_fingerprint), length(p.definition), f.bytes,
		cardinality(f.crcs)) FROM pardump.pg_pardump_last_read() r, pardump.pg_pardump_last_fingerprint() p, pardump.pg_pardump_last_files() f};
	$psql->("SELECT count(*) FROM (SELECT $_ OFFSET 0) s") foreach $read, $files;
	like($psql->($told), qr/^20000 t \d+ \d+ \d+ \{3\} 1$/, 'a role is told what came of its calls');
	$psql->('SET ROLE stranger');
	is($psql->($told), '', 'another role is not');
	$psql->('RESET ROLE');

	# a cursor that began before another role's call, and ends after it
	$psql->('GRANT SELECT ON secrets TO stranger');
	$psql->("BEGIN; DECLARE c CURSOR FOR SELECT $read; FETCH 1 FROM c");
	$psql->("SET ROLE stranger; SELECT count(*) FROM (SELECT $read OFFSET 0) s; MOVE ALL FROM c");
	is($psql->($told), '', 'another role is not told of a cursor that is not its own');
	$psql->('COMMIT; RESET ROLE');
	like($psql->($told), qr/^20000 t /, 'the role of the cursor is');
	$psql->();
	sql($node, 'access', 'DROP TABLE secrets; DROP ROLE stranger');
}

# --- serialization failures

sql($node, 'access', q{
	CREATE TABLE skew (id int PRIMARY KEY, v int);
	INSERT INTO skew VALUES (1, 0), (2, 0)});

# Each of two sessions reads all rows, and writes one of them, found by its
# index: by reading first, or after the other has written.  Not both may
# commit.  Returns how many of them fail.
sub skewed
{
	my ($read, $second_reads_late) = @_;
	sql($node, 'access', 'UPDATE skew SET v = 0');
	my ($one, $two) = (session(), session());
	foreach my $psql ($one, $two)
	{
		$psql->('SET enable_seqscan = off');
		$psql->('BEGIN ISOLATION LEVEL SERIALIZABLE');
		$psql->('SELECT 1');
	}
	my @states;
	if ($second_reads_late)
	{
		push @states, sqlstate($one, 'UPDATE skew SET v = 1 WHERE id = 1'),
		  sqlstate($two, $read),
		  sqlstate($two, 'UPDATE skew SET v = 1 WHERE id = 2'),
		  sqlstate($one, 'SELECT * FROM skew');
	}
	else
	{
		push @states, sqlstate($one, $read), sqlstate($two, $read),
		  sqlstate($one, 'UPDATE skew SET v = 1 WHERE id = 1'),
		  sqlstate($two, 'UPDATE skew SET v = 1 WHERE id = 2');
	}
	push @states, sqlstate($one, 'COMMIT'), sqlstate($two, 'COMMIT');
	$_->() foreach $one, $two;
	return scalar grep { $_ eq '40001' } @states;
}

my $read_skew = q{SELECT pardump.pg_pardump_read('skew', '{v}', 0, NULL, 'none')};
foreach my $late (0, 1)
{
	my $what = $late ? 'read after a write' : 'write after a read';
	is(skewed('SELECT 1', $late), 0,
		"control, $what: no conflict without");
	cmp_ok(skewed('SELECT * FROM skew', $late),
		'>=', 1, "control, $what: SELECT");
	cmp_ok(skewed($read_skew, $late), '>=', 1, "$what: reader");
}

# --- calls that are stopped: how soon is told by what they cost from then on, as
# the machine may do something else

sql($node, 'access', q{
	CREATE TABLE noise AS
		SELECT i, string_agg(md5(i || ' ' || j), '') AS t
		FROM generate_series(1, 20000) i, generate_series(1, 60) j GROUP BY i});
my $slow = q{SELECT count(*) FROM (
	SELECT pardump.pg_pardump_read('noise', '{i,t}', 0, NULL, 'zstd:19')) s};
foreach my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	my ($out, $err) = ('', '');
	my $h = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $node->connstr('access'), '-c', $slow ],
		'<', \'', '>', \$out, '2>', \$err);
	my $pid = wait_until('the reader runs', sub {
		value($node, 'access', q{
			SELECT pid FROM pg_stat_activity JOIN pg_locks USING (pid)
			WHERE query LIKE '%zstd:19%' AND pid <> pg_backend_pid()
				AND relation = 'noise'::regclass}) });
	my $before = cpu_of_ended($node);
	value($node, 'access', "SELECT $function($pid)");
	my $at_stop = cpu_seconds($pid);
	$h->finish;
	wait_until('the backend has ended', sub { !-e "/proc/$pid" });
	my $seconds = defined $at_stop ? cpu_of_ended($node) - $before - $at_stop : 0;
	like($err, $function eq 'pg_cancel_backend'
		? qr/canceling statement due to user request/
		: qr/terminating connection due to administrator command/,
		"$function: stops the reader");
	cmp_ok($seconds, '<', 5, "$function: at once");
}
my (undef, undef, $err) = $node->psql('access',
	"SET statement_timeout = '200ms'; $slow");
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout');

# within a value: all of it, in one go, would take half a minute
sql($node, 'access', q{
	CREATE TABLE huge AS SELECT string_agg(md5(i::text), '') AS t
		FROM generate_series(1, 1000000) i});
my $before = cpu_of_ended($node);
(undef, my $pid, $err) = $node->psql('access', q{
	SELECT pg_backend_pid();
	SET statement_timeout = '200ms';
	SELECT count(*) FROM (SELECT pardump.pg_pardump_read('huge', '{t}', 0, NULL, 'zstd:22')) s});
like($err, qr/canceling statement due to statement timeout/,
	'statement_timeout within a value');
wait_until('the backend has ended', sub { !-e "/proc/$pid" });
cmp_ok(cpu_of_ended($node) - $before, '<', 5, 'statement_timeout within a value: at once');
sql($node, 'access', 'DROP TABLE huge');

# --- a value that COPY's text cannot hold

sql($node, 'access', 'CREATE TABLE giant (v bytea)');
# a server may be built without lz4; pglz takes seconds for this value
eval { sql($node, 'access', 'ALTER TABLE giant ALTER v SET COMPRESSION lz4') };
sql($node, 'access', q{
	INSERT INTO giant VALUES ('x'), (convert_to(repeat('x', 512 * 1024 * 1024), 'SQL_ASCII'))});
(undef, undef, $err) = $node->psql('access',
	q{SELECT count(*) FROM (SELECT pardump.pg_pardump_read('giant', '{v}', 0, NULL, 'none')) s});
like($err, qr/ERROR:  a value is too long for COPY\n(?s:.*)ctid \(0,2\) of table "giant", column "v"/,
	'a text beyond 1 GB: an error that says where');
sql($node, 'access', 'DROP TABLE giant');

# --- settings that change between two FETCH of one cursor

# The rows that are read afterwards are those that COPY writes under the new setting.
sql($node, 'access', q{CREATE TABLE styles AS SELECT i, now() AS z, now()::timestamp AS ts, now()::date AS d,
	i * interval '1 day -1 second' AS iv, i / 3.0::float8 AS f8, i / 3.0::float4 AS f4,
	decode(md5(i::text), 'hex') AS b, ARRAY[now()::date] AS a FROM generate_series(1, 10000) i});
my $read_styles =
  q{SELECT encode(pardump.pg_pardump_read('styles', '{i,z,ts,d,iv,f8,f4,b,a}', 0, NULL, 'none'), 'hex')};
sub text { return join '', map { pack 'H*', $_ } split /\n/, $_[0]; }
foreach my $case ([ 'DateStyle', 'ISO', 'German' ], [ 'IntervalStyle', 'postgres', 'iso_8601' ],
	[ 'extra_float_digits', 1, 0 ], [ 'bytea_output', 'hex', 'escape' ], [ 'TimeZone', 'UTC', 'Asia/Kolkata' ])
{
	my ($name, @values) = @$case;
	foreach my $turn ([@values], [ reverse @values ])
	{
		my $reader = session();
		my @copies = map { $reader->("SET $name = '$_'"); [ split /\n/, $reader->('COPY styles TO STDOUT') ] } @$turn;
		$reader->("SET $name = '$turn->[0]'; BEGIN");
		$reader->("DECLARE c CURSOR FOR $read_styles");
		my $before = text($reader->('FETCH 1 FROM c'));
		$reader->("SET $name = '$turn->[1]'");
		my $after = text($reader->('FETCH ALL FROM c'));
		$reader->();
		my $n = () = $before =~ /[^\n]+/g;
		my @expected = (@{ $copies[0] }[ 0 .. $n - 1 ], @{ $copies[1] }[ $n .. $#{ $copies[1] } ]);
		my @got = split /\n/, "$before$after";
		# the first piece may end between two values of a row
		$got[ $n - 1 ] = $expected[ $n - 1 ] = '';
		ok($n > 0 && length $after > 1000 && "@got" eq "@expected",
			"$name changes from $turn->[0] to $turn->[1]: the rows are COPY's")
		  or diag("$n rows, then", map { "\n$_" } @got[ $n - 1 .. $n + 1 ], @expected[ $n - 1 .. $n + 1 ]);
	}
}

# --- what may happen to a table that is being read

sql($node, 'access', q{
	CREATE TABLE changing AS SELECT i, repeat('x', 300) AS t
		FROM generate_series(1, 20000) i;
	ALTER TABLE changing ADD d text DEFAULT 'with a default',
		ADD k int DEFAULT 7;
	CREATE TABLE referenced (id int PRIMARY KEY);
	INSERT INTO referenced VALUES (7)});
my $read_changing =
  q{SELECT convert_from(pardump.pg_pardump_read('changing', '{i,t,d,k}', 0, NULL, 'none'), 'UTF8')};
my $expected = value($node, 'access', $read_changing);
{
	my $reader = session();
	$reader->('BEGIN');
	$reader->("DECLARE c CURSOR WITH HOLD FOR $read_changing");
	my $got = $reader->('FETCH 2 FROM c');
	foreach my $statement ('DROP TABLE changing', 'TRUNCATE changing',
		'ALTER TABLE changing ADD late int')
	{
		is(sqlstate($reader, "SAVEPOINT s;\n$statement"), '55006',
			"not in the same session: $statement");
		$reader->('ROLLBACK TO s');
	}

	# all that no ACCESS SHARE lock holds back, with the invalidations it sends
	sql($node, 'access', $_) foreach
	  'ALTER TABLE changing ALTER t SET STATISTICS 10',
	  'ALTER TABLE changing ALTER t SET (n_distinct = 5)',
	  'CREATE INDEX ON changing (i)',
	  'ALTER TABLE changing ADD FOREIGN KEY (k) REFERENCES referenced',
	  'UPDATE changing SET t = NULL WHERE i % 2 = 0',
	  'DELETE FROM changing WHERE i > 10000',
	  'VACUUM ANALYZE changing';
	# the rest is read when the transaction ends, as the cursor is to stay
	$reader->('COMMIT');
	$got .= "\n" . $reader->('FETCH ALL FROM c');
	$reader->('CLOSE c');
	$reader->();
	ok($got eq $expected, 'the rows of the snapshot, while the table changes')
	  or diag(length($got) . ' bytes for ' . length($expected));
	isnt(value($node, 'access', $read_changing), $expected,
		'control: the change is visible');
}

# --- writers, pruning and vacuum, under one snapshot and under new ones

sql($node, 'access', q{
	CREATE SCHEMA churn;
	CREATE TABLE churn.short (id int PRIMARY KEY, v text, n int DEFAULT 0) WITH (fillfactor = 60);
	INSERT INTO churn.short SELECT i, 'row ' || i FROM generate_series(1, 4000) i;
	CREATE TABLE churn.long (id int PRIMARY KEY, v text, n int DEFAULT 0);
	ALTER TABLE churn.long ALTER v SET STORAGE EXTERNAL;
	INSERT INTO churn.long SELECT i, repeat(md5(i::text), 100) FROM generate_series(1, 300) i;
	CREATE UNLOGGED TABLE churn.unlogged AS SELECT 1 AS i});

# A script for pgbench.
sub script
{
	my ($name, $text) = @_;
	my $path = new_path($name);
	append_to_file($path, $text);
	return $path;
}
my @scripts = (
	script('write.pgbench', <<'SQL') . '@20',
\set id random(1, 4000)
\set other random(1, 300)
UPDATE churn.short SET n = n + 1 WHERE id = :id;
UPDATE churn.short SET n = n + 1 WHERE id = :id;
DELETE FROM churn.short WHERE id = :other;
INSERT INTO churn.short VALUES (:other, 'again') ON CONFLICT DO NOTHING;
UPDATE churn.long SET v = repeat(md5(random()::text), 90), n = n + 1 WHERE id = :other;
BEGIN;
UPDATE churn.short SET id = -id, v = 'never' WHERE id = :id;
ROLLBACK;
SQL
	script('vacuum.pgbench', "VACUUM churn.short;\nVACUUM churn.long;\n") . '@1');

my $checksum = q{SELECT md5(string_agg(b, '')) FROM (
	SELECT pardump.pg_pardump_read(t, '{id,v,n}', 0, NULL, 'none') AS b
	FROM unnest('{churn.short,churn.long}'::regclass[]) t) s};

# What has been done to the tables so far, of all that could disturb a reader.
sub disturbances
{
	return value($node, 'access', q{
		SELECT sum(n_tup_hot_upd) > 100 AND sum(n_tup_upd - n_tup_hot_upd) > 100
			AND sum(n_tup_del) > 10 AND sum(vacuum_count) > 2
		FROM pg_stat_user_tables WHERE schemaname = 'churn'}) eq 't';
}

{
	my $old = session();
	$old->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $old->('SELECT pg_export_snapshot()');
	my $before = $old->($checksum);

	my $rate = tier() == 3 ? 1500 : 500;
	my $writers = do
	{
		local $ENV{PGAPPNAME} = 'writer';
		IPC::Run::start(
			[
				'pgbench', '-n', '-c', '3', '-R', $rate, '-T', '1000',
				(map { ('-f', $_) } @scripts), $node->connstr('access')
			],
			'>', new_path('pgbench.log'), '2>&1');
	};
	wait_until('the writers have written', \&disturbances);
	foreach my $round (1 .. 3)
	{
		same_rows_ok($node, 'access', "old snapshot, round $round",
			schemas => 'churn', snapshot => $snapshot, ranges => 20,
			relations => 3, bytes => 900_000);
		same_rows_ok($node, 'access', "new snapshot, round $round",
			schemas => 'churn', ranges => 20, relations => 3, bytes => 900_000);
		is($old->($checksum), $before, "old snapshot, round $round: no change");
	}
	isnt(value($node, 'access', $checksum), $before, 'control: new rows');
	$old->();

	# --- a hot standby, while it replays

	my $standby = start_standby($node);
	# the unlogged table's error is COPY's
	same_rows_ok($standby, 'access', "standby, round $_",
		schemas => 'churn', ranges => 20, relations => 3, bytes => 900_000,
		errors => 1)
	  foreach 1 .. 2;

	end_writers($node, $writers);
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is(value($standby, 'access', $checksum), value($node, 'access', $checksum),
		'standby: as its primary');
	$standby->stop;
	unlike(slurp_file($standby->logfile), $forgotten,
		'standby: nothing left behind');
}

$node->stop;
unlike(slurp_file($node->logfile), $forgotten,
	'the log contains no leaked resource');
done_testing();
