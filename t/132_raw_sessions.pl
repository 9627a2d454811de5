# Raw tuples among other sessions and transactions: savepoints, several loads of
# one table, indexes, a cancelled load, the size of the table, statistics, a
# standby, logical decoding, a crash.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster start_standby run_program sql value);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('raw_sessions', allows_streaming => 1);
$node->append_conf('postgresql.conf', "wal_level = logical\nrestart_after_crash = on");
$node->restart;
sql($node, 'postgres', 'CREATE DATABASE sessions');
# rows of which some have a value out of line, compressed or not
sql($node, 'sessions', <<'SQL');
CREATE EXTENSION amcheck;
CREATE EXTENSION pg_pardump;
CREATE TABLE source (i int, t text, u text);
ALTER TABLE source ALTER u SET STORAGE EXTERNAL;
INSERT INTO source SELECT i, 'row ' || i || CASE WHEN i % 500 = 0
	THEN (SELECT string_agg((j::bigint * i * 7919 % 99991)::text, ' ') FROM generate_series(1, 3000) j) ELSE '' END,
	CASE WHEN i % 700 = 0 THEN repeat('u', i) END
	FROM generate_series(1, 30000) i;
CREATE TABLE t (LIKE source INCLUDING STORAGE);
SQL
my $standby = start_standby($node);
value($node, 'sessions', "SELECT 1 FROM pg_create_logical_replication_slot('slot', 'test_decoding')");

sub session { return Pardump::Wire->new($node, 'sessions'); }

# The blocks of a number of rows of the source each, as SQL writes them.
sub blocks
{
	my ($session, $rows) = @_;
	$session->query("CREATE UNLOGGED TABLE part_$_ (LIKE source INCLUDING STORAGE)") foreach 1 .. 30000 / $rows;
	my @blocks;
	foreach my $n (1 .. 30000 / $rows)
	{
		$session->query("INSERT INTO part_$n SELECT * FROM source WHERE i > ($n - 1) * $rows AND i <= $n * $rows");
		push @blocks, map { "'\\x$_->[0]'" } @{
			$session->query("SELECT encode(b, 'hex') FROM pardump.pg_pardump_read('part_$n', '{i,t,u}', 0, NULL, 'none', 'raw') b")->{rows} };
		$session->query("DROP TABLE part_$n");
	}
	return @blocks;
}

sub load
{
	my ($session, $table, $block) = @_;
	return $session->first_value("SELECT rows FROM pardump.pg_pardump_load_tuples('$table', $block)");
}

# Is the table sound, and are its rows those of the source up to that one?
sub sound_table_ok
{
	my ($server, $table, $upto, $what) = @_;
	my $rows = "SELECT count(*) || ' ' || coalesce(md5(string_agg(x::text, '|' ORDER BY i)), '') FROM";
	is(value($server, 'sessions', "$rows $table x"), value($server, 'sessions', "$rows source x WHERE i <= $upto"), "$what: rows");
	is(value($server, 'sessions', "SELECT count(*) FROM verify_heapam('$table', check_toast => true)"), 0, "$what: sound");
	return;
}

my $ours = session();
my @blocks = blocks($ours, 1000);
is(scalar @blocks, 30, 'each block contains a thousand rows');

# --- transactions

$ours->query('BEGIN');
is(load($ours, 't', $blocks[0]), 1000, 'a block is loaded');
$ours->query('SAVEPOINT one');
load($ours, 't', $_) foreach @blocks[ 1 .. 5 ];
$ours->query('ROLLBACK TO one');
load($ours, 't', $blocks[1]);
$ours->query('SAVEPOINT two');
my $bad = substr($blocks[2], 0, -3) . "'";
$ours->message('Q', "SELECT pardump.pg_pardump_load_tuples('t', $bad)\0");
is($ours->result->{error}{sqlstate}, '22P03', 'an error in a subtransaction');
$ours->query('ROLLBACK TO two');
load($ours, 't', $_) foreach @blocks[ 2, 3 ];
is($ours->first_value('SELECT count(*) FROM t'), 4000, 'the transaction sees its own rows');
is(value($node, 'sessions', 'SELECT count(*) FROM t'), 0, 'no other session sees the rows before the commit');
$ours->query('COMMIT');
sound_table_ok($node, 't', 4000, 'savepoints');
$ours->query('BEGIN');
load($ours, 't', $_) foreach @blocks[ 4 .. 8 ];
$ours->query('ROLLBACK');
sound_table_ok($node, 't', 4000, 'a rollback');

# the free pages that the transaction had belong to the old file
$ours->query('CREATE TABLE shrinking (LIKE source)');
$ours->query('BEGIN');
load($ours, 'shrinking', $_) foreach @blocks[ 0 .. 9 ];
$ours->query('TRUNCATE shrinking');
load($ours, 'shrinking', $blocks[0]);
$ours->query('CREATE TABLE other (LIKE source)');
foreach my $block (@blocks[ 1 .. 5 ])
{
	load($ours, $_, $block) foreach 'shrinking', 'other';
}
$ours->query('COMMIT');
sound_table_ok($node, 'shrinking', 6000, 'truncated in mid-load');
is(value($node, 'sessions', 'SELECT count(*) FROM other'), 5000, 'rows of another table that is loaded alternately');

# --- the size of the table: as the server's COPY makes it, with any number of
# calls; in a table of the same transaction no other session looks for free
# space

my $file = "$PostgreSQL::Test::Utils::tmp_check/large";
$ours->query('CREATE TABLE large AS SELECT i, repeat(md5(i::text), 3) AS t FROM generate_series(1, 250000) i');
$ours->query("COPY large TO '$file'");
foreach my $when ('that is new', 'that was there')
{
	$ours->query('BEGIN; CREATE TABLE copied (i int, t text); CREATE TABLE loaded (i int, t text)');
	$ours->query('COMMIT; BEGIN') if $when eq 'that was there';
	$ours->query("COPY copied FROM '$file'");
	cmp_ok($ours->first_value("SELECT count((l).rows) FROM (SELECT pardump.pg_pardump_load_tuples('loaded', b) AS l
			FROM (SELECT pardump.pg_pardump_read('large', '{i,t}', 0, NULL, 'none', 'raw') AS b OFFSET 0) x OFFSET 0) y"),
		'>=', 25, 'a table of many blocks');
	$ours->query('COMMIT');
	my ($copied, $loaded) = map { $ours->first_value("SELECT pg_relation_size('$_') / 8192") } qw(copied loaded);
	cmp_ok($loaded, '<=', 1.01 * $copied + 64, "a table $when is as large as by COPY");
	note("$copied pages by COPY, $loaded");
	is($ours->first_value('SELECT count(*) FROM (TABLE large EXCEPT TABLE loaded) x'), 0, 'with the same rows');
	$ours->query('SELECT 1');
	$node->poll_query_until('sessions', "SELECT n_tup_ins = 250000 AND n_live_tup = 250000 FROM pg_stat_user_tables WHERE relname = 'loaded'")
	  or die 'rows are not counted';
	pass('rows are counted');
	$ours->query('DROP TABLE copied, loaded');
}
$ours->query('DROP TABLE large');
unlink $file;

# --- several loads of one table in turns, and its indexes

{
	my @sessions = map { session() } 0 .. 2;
	sql($node, 'sessions', <<'SQL');
CREATE TABLE shared (i int PRIMARY KEY, t text, u text);
CREATE INDEX shared_long ON shared (md5(t), md5(u)) WHERE i > 0;
CREATE INDEX shared_hash ON shared USING hash (t);
CREATE INDEX shared_partial ON shared (left(u, 100)) WHERE length(t) > 10000;
SQL
	$_->query('BEGIN') foreach @sessions;
	load($sessions[ $_ % 3 ], 'shared', $blocks[$_]) foreach 0 .. $#blocks;
	$_->query('COMMIT') foreach @sessions;
	sound_table_ok($node, 'shared', 30000, 'three loads');
	value($node, 'sessions', "SELECT bt_index_check(x, true) FROM unnest('{shared_pkey,shared_long,shared_partial}'::regclass[]) x");
	is(value($node, 'sessions', 'SET enable_seqscan = off; SELECT count(*) FROM source s JOIN shared USING (t) WHERE s.i % 500 = 0'),
		60, 'indexes lead to values out of line');

	# a key that exists
	$sessions[0]->message('Q', "SELECT pardump.pg_pardump_load_tuples('shared', $blocks[7])\0");
	my $error = $sessions[0]->result->{error};
	is("$error->{sqlstate} $error->{detail}", '23505 Key (i)=(7001) already exists.', 'a duplicate key: error');
	like($error->{context}, qr/^raw tuples of table "shared", /, 'a duplicate key: context of the error');
	$_->close foreach @sessions;
}

# --- an index that copies values as they are

{
	sql($node, 'sessions', <<'SQL');
CREATE TABLE numbers (n numeric);
ALTER TABLE numbers ALTER n SET STORAGE EXTERNAL;
CREATE TABLE same_numbers (LIKE numbers INCLUDING STORAGE);
INSERT INTO numbers VALUES (('7.' || repeat('7', 5000))::numeric);
INSERT INTO same_numbers VALUES (1);
CREATE INDEX ON same_numbers USING brin (n numeric_minmax_multi_ops);
SELECT pardump.pg_pardump_load_tuples('same_numbers', b) FROM pardump.pg_pardump_read('numbers', '{n}', 0, NULL, 'none', 'raw') b;
SQL
	is(value($node, 'sessions', 'INSERT INTO same_numbers VALUES (2); SET enable_seqscan = off; SELECT count(*) FROM same_numbers WHERE n > 5'), 1,
		'an index has values, and not where they were');
}

# --- cancellation

{
	my $session = session();
	$session->query('CREATE TABLE slow (LIKE source)');
	$session->query('CREATE FUNCTION wait(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF $1 = 500 THEN PERFORM pg_sleep(60); END IF; RETURN $1; END $$');
	$session->query('CREATE INDEX ON slow (wait(i))');
	$session->message('Q', "SELECT pardump.pg_pardump_load_tuples('slow', $blocks[0])\0");
	$node->poll_query_until('sessions', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $session->{pid}")
	  or die 'does not sleep';
	value($node, 'sessions', "SELECT pg_cancel_backend($session->{pid})");
	is($session->result->{error}{sqlstate}, '57014', 'a canceled call: error');
	is($session->first_value('SELECT count(*) FROM slow'), 0, 'a canceled call: the table is empty');
	$session->query('DROP INDEX slow_wait_idx');
	is(load($session, 'slow', $blocks[0]), 1000, 'after a canceled call, the session can load rows');
	$session->close;
}

# --- the standby, and logical decoding

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
sound_table_ok($standby, $_->[0], $_->[1], "on the standby, $_->[0]") foreach [ 't', 4000 ], [ 'shared', 30000 ];
my ($rc, $out, $err) = $standby->psql('sessions', "SELECT pardump.pg_pardump_load_tuples('t', $blocks[0])");
like($err, qr/cannot execute pg_pardump_load_tuples\(\) in a read-only transaction/, 'a call on the standby: error');
$standby->stop;
is(value($node, 'sessions', "SELECT count(*) FILTER (WHERE data LIKE 'table public.shared: INSERT: i[integer]:%') || ' ' ||
	count(*) FILTER (WHERE data LIKE 'table public.t: INSERT: i[integer]:%') || ' ' ||
	count(*) FILTER (WHERE data LIKE 'table public.shared: INSERT: %' AND length(data) > 10000) || ' ' ||
	count(*) FILTER (WHERE data LIKE '%unchanged-toast%')
	FROM pg_logical_slot_get_changes('slot', NULL, NULL)"),
	value($node, 'sessions', "SELECT '30000 4000 ' || count(*) FILTER (WHERE length(source::text) > 9900) || ' 0' FROM source"),
	'logical decoding has every row, and its values out of line');

# --- a crash in mid-load

$ours->query('BEGIN');
$ours->query('CREATE TABLE finished (LIKE source)');
load($ours, 'finished', $_) foreach @blocks;
$ours->query('COMMIT; BEGIN');
load($ours, 't', $_) foreach @blocks[ 4 .. 9 ];
sql($node, 'sessions', 'CHECKPOINT');
load($ours, 't', $_) foreach @blocks[ 10 .. 12 ];
# before it has noticed it lets in sessions that it ends then
my $offset = -s $node->logfile;
kill 'KILL', $ours->{pid};
$ours->result;
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $offset);
wait_until('the server is back', sub
{
	my ($rc) = run_program('psql', '-XAtc', 'SELECT 1', '-d', $node->connstr('postgres'));
	return $rc == 0;
});
sound_table_ok($node, 't', 4000, 'after a crash');
sound_table_ok($node, 'finished', 30000, 'loaded before a crash');

done_testing();
