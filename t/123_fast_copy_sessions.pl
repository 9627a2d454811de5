# The extension's COPY FROM among other sessions and transactions: savepoints,
# cancellation in mid-load, several loads of one table, a crash, a standby,
# logical decoding, a subscriber, statistics and progress, other encodings.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster start_standby run_program sql value pg_major);
use Pardump::Load qw(load_session who_copied comparable);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_sessions', allows_streaming => 1);
$node->append_conf('postgresql.conf', "wal_level = logical\nrestart_after_crash = on");
$node->restart;
sql($node, 'postgres', 'CREATE DATABASE sessions');
sql($node, 'sessions', 'CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility');
my $standby = start_standby($node);

# The lines of rows $from to $to: some values are stored out of line.
sub lines
{
	my ($from, $to) = @_;
	return join '', map { "$_\trow $_" . ($_ % 500 ? '' : join(' ', map { $_ * 7919 % 99991 } 1 .. 3000)) . "\n" } $from .. $to;
}

# Is the table sound, and has it just these rows?
sub sound_table_ok
{
	my ($server, $table, $rows, $what) = @_;
	is(value($server, 'sessions', "SELECT count(*) || ' ' || coalesce(sum(i), 0) FROM $table"), $rows, "$what: rows");
	is(value($server, 'sessions', "SELECT count(*) FROM verify_heapam('$table', check_toast => true)"), 0, "$what: sound");
	return if $server != $node;
	sql($server, 'sessions', "VACUUM $table");
	is(value($server, 'sessions', "SELECT count(*) FROM (SELECT pg_check_visible('$table') UNION ALL SELECT pg_check_frozen('$table')) x"),
		0, "$what: no page is wrongly marked all-visible or all-frozen");
	return;
}

my $ours = load_session($node, 'sessions', 1);
$ours->query('CREATE TABLE t (i int, t text)');
my $slot = value($node, 'sessions', "SELECT 1 FROM pg_create_logical_replication_slot('slot', 'test_decoding')");

# --- transactions

$ours->query('BEGIN');
is(who_copied($ours->copy('COPY t FROM STDIN', [ lines(1, 3000) ])), 'us', 'the extension copies');
$ours->query('SAVEPOINT one');
$ours->copy('COPY t FROM STDIN', [ lines(3001, 6000) ]);
$ours->query('ROLLBACK TO one');
is($ours->copy('COPY t FROM STDIN', [ lines(1, 3000), "wrong\n" ])->{error}{context},
	'COPY t, line 3001, column i: "wrong"', 'an error in a subtransaction');
$ours->query('ROLLBACK TO one');
is($ours->copy('COPY t FROM STDIN', [ lines(3001, 4000) ])->{tag}, 'COPY 1000', 'COPY after an error in a subtransaction');
is(value($node, 'sessions', 'SELECT count(*) FROM t'), 0, 'no other session sees the rows before the commit');
$ours->query('COMMIT');
sound_table_ok($node, 't', '4000 8002000', 'savepoints');
$ours->query('BEGIN');
$ours->copy('COPY t FROM STDIN', [ lines(1, 3000) ]);
is($ours->first_value('SELECT count(*) FROM t'), 7000, 'the transaction sees its own rows');
$ours->query('ROLLBACK');
sound_table_ok($node, 't', '4000 8002000', 'a rollback');

# a transaction that is in a failed state
$ours->message('Q', "BEGIN; SELECT 1 / 0\0");
$ours->result;
like($ours->copy('COPY t FROM STDIN', ["1\ta\n"])->{error}{message}, qr/current transaction is aborted/, 'a failed transaction');
$ours->query('ROLLBACK');

# a new table, which is dropped when the transaction fails
$ours->query('BEGIN; CREATE TABLE new (i int, t text)');
$ours->copy('COPY new FROM STDIN', [ lines(1, 3000) ]);
$ours->query('CREATE INDEX ON new (i); COMMIT');
sound_table_ok($node, 'new', '3000 4501500', 'a new table');

# --- cancellation

# in the midst of one message: the rest is not loaded, the session continues.
# The timeout ends with the transaction that the error aborts: a RESET could be
# late itself.
$ours->query('CREATE TABLE many (i int)');
$ours->query("BEGIN; SET LOCAL statement_timeout = '100ms'");
my $cancelled = $ours->copy('COPY many FROM STDIN', [ "1\n" x 4_000_000 ]);
$ours->query('ROLLBACK');
is($cancelled->{error}{sqlstate}, '57014', 'a statement that is canceled within a message: error');
my ($line) = ($cancelled->{error}{context} // '') =~ /^COPY many, line (\d+)/;
cmp_ok($line // 4_000_000, '<', 4_000_000, 'a statement that is canceled within a message: line of the error');
is($ours->first_value('SELECT count(*) FROM many'), 0, 'a statement that is canceled within a message: the table is empty');

# while the client is slow
$ours->message('Q', "COPY many FROM STDIN\0");
$ours->result;
$ours->message('d', "1\n" x 200_000);
value($node, 'sessions', "SELECT pg_cancel_backend($ours->{pid})");
$ours->message('d', "1\n");
$ours->message('c', '');
is($ours->result->{error}{sqlstate}, '57014', 'cancelled by another session');
is($ours->copy('COPY many FROM STDIN', [ "1\n" x 1000 ])->{tag}, 'COPY 1000', 'the session continues');

# wherever it waits, its context is the server's
sql($node, 'sessions', q{CREATE FUNCTION wait(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_sleep(600); RETURN true; END';
	CREATE DOMAIN waits AS int CHECK (VALUE <> 30 OR public.wait(VALUE));
	CREATE TABLE of_domain (i int, w waits);
	CREATE TABLE constrained (i int CHECK (i <> 3 OR public.wait(i)), t text)});
my $core = load_session($node, 'sessions', 0);
foreach my $case (
	[ 'a constraint', 'constrained', qr/^COPY constrained, line 3: "3\tc"$/m, "1\ta\n2\tb\n3\tc\n4\td\n" ],
	[ 'a domain', 'of_domain', qr/^COPY of_domain, line 2, column w: "30"$/m, "1\t10\n2\t30\n" . "3\t40\n" x 10 ],
	[ 'the client, which continues', 'many', qr/^COPY many, line 3: "3"$/, "1\n2\n", 'd', "3\n4\n" ],
	[ 'the client, in a line', 'many', qr/^COPY many, line 3: "34"$/, "1\n2\n3", 'd', "4\n5\n" ])
{
	my ($what, $table, $expected, $data, @then) = @$case;
	# from 19 on, the server begins a line only when the next 16 bytes are there
	next if @then && pg_major($node) >= 19;
	my $waits = @then ? "wait_event = 'ClientRead' AND bytes_processed = " . length $data : "wait_event = 'PgSleep'";
	my @contexts;
	foreach my $session ($core, $ours)
	{
		$session->message('Q', "COPY $table FROM STDIN\0");
		$session->result;
		$session->message('d', $data);
		wait_until('it waits', sub { value($node, 'sessions', "SELECT count(*) FROM pg_stat_activity
			JOIN pg_stat_progress_copy USING (pid) WHERE pid = $session->{pid} AND $waits") });
		value($node, 'sessions', "SELECT pg_cancel_backend($session->{pid})");
		$session->message(@then) if @then;
		push @contexts, $session->result->{error}{context};
		$session->message('c', '');
	}
	like($contexts[0], $expected, "cancelled while it waits for $what: context");
	is($contexts[1], $contexts[0], "cancelled while it waits for $what: as the server's");
}

# --- progress and statistics

$ours->message('Q', "COPY t FROM STDIN\0");
$ours->result;
$ours->message('d', lines(1, 20000));
$node->poll_query_until('sessions', q{SELECT command = 'COPY FROM' AND type = 'PIPE' AND relid = 't'::regclass
	AND tuples_processed > 0 AND bytes_processed > 0 AND bytes_total = 0 FROM pg_stat_progress_copy})
  or die 'pg_stat_progress_copy shows no COPY';
pass('pg_stat_progress_copy shows the COPY');
$ours->message('c', '');
is($ours->result->{tag}, 'COPY 20000', 'the COPY ends');
is(value($node, 'sessions', 'SELECT count(*) FROM pg_stat_progress_copy'), 0, 'pg_stat_progress_copy is empty after the COPY');
$ours->query('CREATE TABLE counted (i int, t text)');
$ours->copy('COPY counted FROM STDIN', [ lines(1, 2500) ]);
$ours->query('SELECT 1');
$node->poll_query_until('sessions', "SELECT n_tup_ins = 2500 AND n_live_tup = 2500 FROM pg_stat_user_tables WHERE relname = 'counted'")
  or die 'rows are not counted';
pass('rows are counted');

# --- two loads of one table, in turns

{
	my @sessions = map { load_session($node, 'sessions', 1, quiet => 1) } 0 .. 2;
	sql($node, 'sessions', 'CREATE TABLE shared (i int PRIMARY KEY, t text)');
	$_->message('Q', "COPY shared FROM STDIN\0") foreach @sessions;
	$_->result foreach @sessions;
	foreach my $i (0 .. 29)
	{
		$sessions[ $i % 3 ]->message('d', lines(1 + 1000 * $i, 1000 + 1000 * $i));
	}
	$_->message('c', '') foreach @sessions;
	is($_->result->{tag}, 'COPY 10000', 'one of three loads of a table') foreach @sessions;
	sound_table_ok($node, 'shared', '30000 450015000', 'three loads');
	value($node, 'sessions', "SELECT bt_index_check('shared_pkey', true)");

	# a key that another session is about to insert
	$sessions[0]->query('BEGIN');
	$sessions[0]->copy('COPY shared FROM STDIN', ["0\tfirst\n"]);
	$sessions[1]->message('Q', "COPY shared FROM STDIN\0");
	$sessions[1]->result;
	$sessions[1]->message('d', "-1\ta\n0\tsecond\n");
	$sessions[1]->message('c', '');
	$node->poll_query_until('sessions', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $sessions[1]{pid}")
	  or die 'does not wait';
	$sessions[0]->query('COMMIT');
	is($sessions[1]->result->{error}{context}, 'COPY shared, line 2', 'a key that another session inserts');
	$_->close foreach @sessions;
}

# --- indexes of every kind

my $indexed = join '', map { "$_\tText $_\t{$_," . ($_ % 7) . "}\t[$_," . ($_ + 1) . ")\t($_," . -$_ . ")\n" } 1 .. 3000;
my $both = join '', map { "$_\t\\N\t\\N\t[5,7)\t\\N\n" } 5, 4000;
{
	my $core = load_session($node, 'sessions', 0);
	my @answers;
	foreach my $session ($core, $ours)
	{
		my $schema = $session == $ours ? 'ours' : 'core';
		$session->query("CREATE SCHEMA $schema; SET search_path = $schema, public;
			CREATE TABLE indexed (i int PRIMARY KEY, t text, a int[], r int4range, p point, EXCLUDE USING gist (r WITH &&));
			CREATE INDEX indexed_lower ON indexed (lower(t), i) INCLUDE (p) WHERE i > 10;
			CREATE INDEX ON indexed USING hash (t); CREATE INDEX ON indexed USING gin (a);
			CREATE INDEX ON indexed USING brin (i) WITH (pages_per_range = 1); CREATE INDEX ON indexed USING spgist (p)");
		my @said = map { comparable($session->copy('COPY indexed FROM STDIN', [$_])) } $indexed, $both, substr $both, 1;
		$session->query('SET enable_seqscan = off');
		my @found = map { $session->first_value("SELECT count(*) FROM indexed WHERE $_") }
		  "lower(t) = 'text 77' AND i > 10", "t = 'Text 99'", 'a @> ARRAY[3]', 'i BETWEEN 100 AND 200',
		  "r && int4range(5, 10)", "p <@ box '((0,0),(100,-100))'";
		$session->query('RESET enable_seqscan; RESET search_path');
		push @answers, [ \@said, \@found ];
		value($node, 'sessions', "SELECT bt_index_check(x, true) FROM unnest(ARRAY['$schema.indexed_lower', '$schema.indexed_pkey']::regclass[]) x");
	}
	is_deeply($answers[1], $answers[0], 'indexes of every kind: as the server') or diag(explain(@answers));
	is(join(' ', @{ $answers[1][1] }), '1 1 429 101 5 100', 'queries with the indexes find the rows');
	$core->close;
}

# --- the standby, and logical decoding

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
foreach my $table (qw(t new shared))
{
	my $query = "SELECT count(*) || md5(string_agg(x::text, '|' ORDER BY ctid)) FROM (SELECT ctid, * FROM $table) x";
	is(value($standby, 'sessions', $query), value($node, 'sessions', $query), "on the standby: $table");
	is(value($standby, 'sessions', "SELECT count(*) FROM verify_heapam('$table', check_toast => true)"), 0, "$table: sound there");
}
{
	my @answers = map {
		my $session = load_session($standby, 'sessions', $_);
		comparable($session->copy('COPY t FROM STDIN', ["1\ta\n"]));
	} 0, 1;
	is($answers[1]{error}{sqlstate}, '25006', 'a COPY on a standby: error');
	is_deeply($answers[1], $answers[0], 'a COPY on a standby: the server reports the same error');
}
$standby->stop;
is(value($node, 'sessions', "SELECT count(*) FILTER (WHERE data LIKE 'table public.shared: INSERT: i[integer]:%') || ' ' ||
	count(*) FILTER (WHERE data LIKE 'table public.t: INSERT: i[integer]:%') || ' ' ||
	count(*) FILTER (WHERE data LIKE 'table public.t: INSERT: %' AND length(data) > 10000)
	FROM pg_logical_slot_get_changes('slot', NULL, NULL)"),
	'30001 24000 48', 'logical decoding has every row, and its values out of line');

# --- a crash in mid-load

$ours->message('Q', "COPY shared FROM STDIN\0");
$ours->result;
$ours->message('d', lines(50001, 70000));
$node->poll_query_until('sessions', 'SELECT tuples_processed > 5000 FROM pg_stat_progress_copy')
  or die 'pg_stat_progress_copy shows no COPY';
sql($node, 'sessions', 'CHECKPOINT');
{
	my $other = load_session($node, 'sessions', 1);
	$other->query('CREATE TABLE finished (i int, t text)');
	$other->copy('COPY finished FROM STDIN', [ lines(1, 3000) ]);
	$other->copy('COPY shared FROM STDIN', [ lines(40001, 41000) ]);
	$other->close;
}
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
sound_table_ok($node, 'shared', '31001 490515500', 'after a crash');
sound_table_ok($node, 'finished', '3000 4501500', 'loaded before a crash');
value($node, 'sessions', "SELECT bt_index_check('shared_pkey', true)");

# --- other encodings

foreach my $case (
	[ 'LATIN1', "1\t\xe9\xff\x80\n2\t\\xe9\\351\n" ], [ 'LATIN1', "1\ta\0b\n" ],
	[ 'SQL_ASCII', "1\t\xe9\xff\xc3\n2\t\\xff\n" ], [ 'SQL_ASCII', "1\t\xff\0\n" ],
	[ 'EUC_JP', "1\t\xa4\xa2\x8f\xb0\xa1\n2\t\\xa4\\xa2\n" ], [ 'EUC_JP', "1\t\xa4\\\n" ], [ 'EUC_JP', "1\t\xa4" ])
{
	my ($encoding, $data) = @$case;
	sql($node, 'postgres', "CREATE DATABASE enc TEMPLATE template0 ENCODING '$encoding'");
	my @answers;
	foreach my $fast (0, 1)
	{
		my $session = load_session($node, 'enc', $fast, options => "-c client_encoding=$encoding");
		$session->query('BEGIN; CREATE TABLE t (i int, t text)');
		my $answer = $session->copy('COPY t FROM STDIN', [$data]);
		push @answers, comparable($answer);
		$answers[-1]{who} = $fast ? who_copied($answer) : 'us';
		$answers[-1]{rows} = $session->first_value("SELECT string_agg(t::bytea::text, ' ') FROM t") if $answer->{tag};
		$session->close;
	}
	is_deeply($answers[1], $answers[0], "$encoding: as the server") or diag(explain(@answers));
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'enc'");
	sql($node, 'postgres', 'DROP DATABASE enc');
}

# --- as little WAL as the server's, and all rows after a crash

my $minimal = start_cluster('fast_minimal');
$minimal->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0");
$minimal->restart;
sql($minimal, 'postgres', 'CREATE DATABASE sessions');
{
	my $rows = lines(1, 20000);
	my @wal;
	foreach my $fast (0, 1)
	{
		my $session = load_session($minimal, 'sessions', $fast, quiet => 1);
		$session->query("BEGIN; CREATE TABLE t$fast (i int, t text)");
		my $before = $session->first_value('SELECT pg_current_wal_insert_lsn()');
		$session->copy("COPY t$fast FROM STDIN", [$rows]);
		push @wal, $session->first_value("SELECT pg_current_wal_insert_lsn() - '$before'");
		$session->query('COMMIT');
		$session->close;
	}
	my $size = value($minimal, 'sessions', "SELECT pg_table_size('t1')");
	note("WAL: $wal[0] by the server, $wal[1] by the extension, of a table of $size");
	cmp_ok($wal[1], '<', $size / 10, 'wal_level = minimal: little WAL for a new table');
	cmp_ok($wal[1], '<', 1.05 * $wal[0] + 8192, 'wal_level = minimal: not more WAL than with the server');
	$minimal->stop('immediate');
	$minimal->start;
	is(value($minimal, 'sessions', "SELECT count(*) || md5(string_agg(x::text, '|' ORDER BY i)) FROM t1 x"),
		value($minimal, 'sessions', "SELECT count(*) || md5(string_agg(x::text, '|' ORDER BY i)) FROM t0 x"),
		'wal_level = minimal: the table contains all rows after a crash');
}

# --- a subscriber gets every row, also those of raw tuples, and no row that was rolled back

{
	my $rows = 'i int PRIMARY KEY, t text';
	sql($_, 'sessions', "CREATE TABLE followed ($rows); CREATE TABLE followed_raw ($rows)") foreach $node, $minimal;
	sql($node, 'sessions', 'CREATE EXTENSION pg_pardump; CREATE PUBLICATION followed FOR TABLE followed, followed_raw');
	sql($minimal, 'sessions', q{CREATE SUBSCRIPTION followed CONNECTION '} . $node->connstr('sessions') =~ s/'/''/gr . q{' PUBLICATION followed});
	$minimal->poll_query_until('sessions', "SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'")
	  or die 'the subscription does not begin';
	my $session = load_session($node, 'sessions', 1);
	$session->query('BEGIN');
	is(who_copied($session->copy('COPY followed FROM STDIN', [ lines(1, 3000) ])), 'us', 'the extension executes COPY to a published table');
	$session->query('SAVEPOINT one');
	$session->copy('COPY followed FROM STDIN', [ lines(3001, 4000) ]);
	$session->query('ROLLBACK TO one');
	$session->copy('COPY followed FROM STDIN', [ lines(5001, 6000) ]);
	$session->query('COMMIT');
	is($session->first_value("SELECT sum((l).rows) FROM (SELECT pardump.pg_pardump_load_tuples('followed_raw', b) AS l FROM
		(SELECT pardump.pg_pardump_read('followed', '{i,t}', 0, NULL, 'none', 'raw') AS b OFFSET 0) x OFFSET 0) y"), 4000, 'raw tuples are loaded into a published table');
	$session->close;
	$node->wait_for_catchup('followed', 'replay', $node->lsn('insert'));
	my $all = q{SELECT count(*) || md5(string_agg(x::text, '|' ORDER BY i)) FROM};
	is(value($minimal, 'sessions', "$all $_ x"), value($node, 'sessions', "$all $_ x"), "a subscriber has the rows, $_")
	  foreach qw(followed followed_raw);
	sql($minimal, 'sessions', 'DROP SUBSCRIPTION followed');
}

done_testing();
