# COPY FREEZE by the extension: tuples, visibility maps and errors are those of
# the server's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value);
use Pardump::Load qw(prepare_load load_session who_copied comparable pieces);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('freeze');
sql($node, 'postgres', 'CREATE DATABASE frozen');
prepare_load($node, 'frozen');
sql($node, 'frozen', 'CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility');

my ($core, $ours) = map { load_session($node, 'frozen', $_) } 0, 1;
$core->query('SET search_path = core, public');
$ours->query('SET search_path = ours, public');

# What a table has stored: each tuple with its place and what says whether it is
# frozen, and each page's bits.
sub stored
{
	my ($table) = @_;
	return value($node, 'frozen', "SELECT (SELECT count(*) || ' ' || md5(string_agg(x::text, ' ' ORDER BY x::text))
			FROM (SELECT t, i.t_infomask, i.t_infomask2 FROM load_compare.tuples('$table') t
				JOIN LATERAL heap_page_items(get_raw_page('$table', t.block)) i USING (lp)) x)
		|| ' ' || (SELECT string_agg(v::text, ' ' ORDER BY blkno) FROM pg_visibility('$table') v)
		|| ' ' || (SELECT coalesce(string_agg(v::text, ' ' ORDER BY blkno), '')
			FROM pg_class c, pg_visibility(reltoastrelid) v WHERE c.oid = '$table'::regclass AND reltoastrelid <> 0)");
}

# How many tuples, and how many pages that have some, are not frozen.
sub not_frozen
{
	my ($table) = @_;
	return value($node, 'frozen', "SELECT (SELECT count(*) FROM load_compare.tuples('$table') t
			JOIN LATERAL heap_page_items(get_raw_page('$table', t.block)) i USING (lp) WHERE t_infomask & 768 <> 768)
		|| ' ' || (SELECT count(*) FROM pg_visibility('$table') WHERE NOT (all_visible AND all_frozen AND pd_all_visible)
			AND blkno IN (SELECT block FROM load_compare.tuples('$table')))");
}

# The same in both sessions, in a transaction that is committed; 'us' if the
# extension did it.  Returns what was said.
sub same_ok
{
	my ($who, $what, $setup, $statement, $pieces, %params) = @_;
	my (@answers, $by);
	foreach my $session ($core, $ours)
	{
		$session->query('DROP TABLE IF EXISTS t, p');
		$session->query('BEGIN') unless $params{no_block};
		$session->query($_) foreach @$setup;
		my $answer = $session->copy($statement, $pieces);
		push @answers, comparable($answer);
		$by = who_copied($answer) if $session == $ours;
		$session->query($answer->{error} ? 'ROLLBACK' : 'COMMIT') unless $params{no_block};
	}
	is($by, $who, "$what: " . ($who // 'not ours'));
	is_deeply($answers[1], $answers[0], "$what: as the server says") or diag(explain(@answers));
	if (!$answers[0]{error} && !$params{rows_only})
	{
		is(stored('ours.t'), stored('core.t'), "$what: as the server stores it");
		is(value($node, 'frozen', q{SELECT count(*) FROM verify_heapam('ours.t', check_toast => true)}), 0, "$what: sound");
	}
	return $answers[1];
}

my @rows = map { "$_\trow $_" . ($_ % 400 ? '' : join(' ', map { $_ * 7919 % 99991 } 1 .. 3000)) . "\n" } 1 .. 6000;
my $data = pieces(join('', @rows), 20000);
my $new = ['CREATE TABLE t (i int, t text)'];
my $old = [ 'CREATE TABLE t (i int, t text)', 'COMMIT', 'BEGIN', 'TRUNCATE t' ];

foreach my $statement ('COPY t FROM STDIN FREEZE', 'COPY t FROM STDIN (FREEZE)', 'COPY t FROM STDIN (FORMAT text, FREEZE on)')
{
	same_ok('us', $statement, $new, $statement, $data);
	is(not_frozen('ours.t'), '0 0', "$statement: all pages are frozen");
}
same_ok('us', 'a truncated table', $old, 'COPY t FROM STDIN (FREEZE)', $data);
is(not_frozen('ours.t'), '0 0', 'a truncated table: all pages are frozen');
same_ok('us', 'not FREEZE', $new, 'COPY t FROM STDIN (FREEZE off)', $data);
like(not_frozen('ours.t'), qr/^6000 [1-9]\d*$/, 'without FREEZE, no page is frozen');
same_ok('us', 'an empty table', $new, 'COPY t FROM STDIN (FREEZE)', []);

# the second COPY's rows follow on a page of the first's
same_ok('us', 'a leaf with a key', [ 'CREATE TABLE p (i int, t text) PARTITION BY RANGE (i)',
	'CREATE TABLE t PARTITION OF p FOR VALUES FROM (1) TO (10000)', 'ALTER TABLE t ADD PRIMARY KEY (i)' ],
	'COPY t FROM STDIN (FREEZE)', $data);

# two of them in one transaction, with and without
foreach my $first ('(FREEZE)', '(FREEZE off)')
{
	foreach my $session ($core, $ours)
	{
		$session->query('DROP TABLE IF EXISTS t, p; BEGIN; CREATE TABLE t (i int, t text)');
		$session->copy("COPY t FROM STDIN $first", ["-1\tfirst\n"]);
		my $said = $session->copy('COPY t FROM STDIN (FREEZE)', $data);
		is($said->{tag}, 'COPY 6000', "a second COPY after $first");
		$session->query('COMMIT');
	}
	is(stored('ours.t'), stored('core.t'), "after $first: as the server stores it");
}

# --- what may not be frozen

my $created = ['CREATE TABLE t (i int, t text)'];
my $not_new = qr/^cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction$/;
my @refused = (
	[ 'a table that was there', [ @$created, 'COMMIT', 'BEGIN' ], $not_new ],
	[ 'a table of the transaction around', [ @$created, 'SAVEPOINT s' ], $not_new ],
	[ 'one that was truncated around', [ @$old, 'SAVEPOINT s' ], $not_new ],
	[ 'one whose truncation was undone', [ @$created, 'COMMIT', 'BEGIN', 'SAVEPOINT s', 'TRUNCATE t', 'ROLLBACK TO s' ], $not_new ],
	[ 'an open cursor', [ @$created, 'DECLARE c CURSOR FOR SELECT * FROM t', 'FETCH c' ],
		qr/^cannot perform COPY FREEZE because of prior transaction activity$/ ]);
foreach my $case (@refused)
{
	my ($what, $setup, $message) = @$case;
	my $said = same_ok('us', $what, $setup, 'COPY t FROM STDIN (FREEZE)', [ $rows[0] ]);
	like($said->{error}{message}, $message, $what);
}
same_ok('us', 'a subtransaction that was released', [ 'SAVEPOINT s', @$created, 'RELEASE s' ], 'COPY t FROM STDIN (FREEZE)', $data);
same_ok('us', 'a repeatable transaction', [ 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', @$created, 'SELECT count(*) FROM t' ],
	'COPY t FROM STDIN (FREEZE)', $data);
same_ok('it is not an ordinary table', 'a partitioned table', [ 'CREATE TABLE t (i int, t text) PARTITION BY RANGE (i)',
	'CREATE TABLE p PARTITION OF t DEFAULT' ], 'COPY t FROM STDIN (FREEZE)', [ $rows[0] ]);
same_ok(undef, "$_", $created, "COPY t FROM STDIN $_", [ $rows[0] ])
  foreach '(FREEZE, FREEZE)', '(FREEZE, DELIMITER \',\')';
same_ok(undef, 'no boolean', $created, 'COPY t FROM STDIN (FREEZE perhaps)', [ $rows[0] ]);
same_ok('us', 'a wrong row', $created, 'COPY t FROM STDIN (FREEZE)', [ @rows[ 0 .. 2000 ], "wrong\n" ]);

# nothing of what failed is seen: its file has gone with the transaction
foreach my $session ($core, $ours)
{
	$session->query('DROP TABLE IF EXISTS t, p');
	$session->query($_) foreach @$created;
	$session->copy('COPY t FROM STDIN', [ @rows[ 0 .. 9 ] ]);
	$session->query('BEGIN; TRUNCATE t');
	$session->copy('COPY t FROM STDIN (FREEZE)', [ @rows[ 20 .. 2000 ], "wrong\n" ]);
	$session->query('ROLLBACK');
	is($session->first_value('SELECT sum(i) FROM t'), 55, 'a failed one leaves what was there');
}
$_->close foreach $core, $ours;
$node->stop;

done_testing();
