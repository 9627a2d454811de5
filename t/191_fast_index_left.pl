# Index builds that the extension leaves to the server, and the reasons.  The
# extension replaces a single build: if a later command of the same transaction
# rebuilds the index, the server does it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value pg_major start_psql);
use Pardump::Index qw(index_session builders check_index LEFT_BEFORE);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_index_left');
my $supported = pg_major($node) < 19;

sql($node, 'postgres', 'CREATE DATABASE left_over');
sql($node, 'left_over', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE EXTENSION btree_gist;
CREATE TABLE t (a int4, b int8 NOT NULL, t text, p point, n numeric, f4 float4, f8 float8, c "char");
INSERT INTO t SELECT i, i, 'x' || i, point(i, i), i, i, i, 'x' FROM generate_series(1, 1000) i;
CREATE FUNCTION even_first(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE
	AS 'SELECT btint4cmp($1 % 2, $2 % 2) * 2 + btint4cmp($1, $2)';
CREATE OPERATOR CLASS own_int4_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 even_first(int4, int4);
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE ROLE plain LOGIN;
GRANT CREATE ON SCHEMA public TO plain;
GRANT USAGE ON SCHEMA pardump TO plain;
REVOKE TEMP ON DATABASE left_over FROM PUBLIC;
SQL

if (!$supported)
{
	my (undef, $out, $err) = $node->psql('left_over', "LOAD 'pg_pardump'; SET pg_pardump.fast_index = on;
		SET client_min_messages = debug1; SELECT pardump.pg_pardump_compare_builds(); CREATE INDEX ON t (a)");
	like($out, qr/cannot be replaced/, 'builds are left to the server');
	is_deeply([ builders($err) ], [], 'no build is reported');
	$node->stop;
	done_testing();
	exit;
}

# The statements succeed, and these builders build their indexes.
sub builds_ok
{
	my ($sql, $expected, $what, %params) = @_;
	my ($rc, $out, $err) = $node->psql('left_over', index_session(%params) . $sql);
	is_deeply([ builders($err) ], $expected, $what) or diag("$out$err");
	is($rc, 0, "$what: no error") or diag($err);
	return $err;
}

# --- indexes, and their builders

my $class = 'it has an operator class that is not known';
my $collation = 'it has a collation that is not known';
my $hot = 'it has HOT chains';
my $compare = 'a value has to be compared by the server';
my @cases = (
	[ 'us', 'an ordinary index', '', 'CREATE INDEX i ON t (a)' ],
	[ 'us', 'a named operator class', '', 'CREATE INDEX i ON t (a int4_ops)' ],
	[ $class, 'another operator class', '', 'CREATE INDEX i ON t (a own_int4_ops)' ],
	[ $class, 'another operator class of text', '', 'CREATE INDEX i ON t (t text_pattern_ops)' ],
	[ 'us', 'text in C collation', '', 'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ 'us', 'text and numbers', '', 'CREATE UNIQUE INDEX i ON t (c, t COLLATE "POSIX" DESC, a)' ],
	[ $collation, 'text in a collation of ICU', '', 'CREATE INDEX i ON t (a, t COLLATE "und-x-icu")' ],
	[ $collation, 'text in a nondeterministic collation', '', 'CREATE INDEX i ON t (t COLLATE no_case)' ],
	[ 'it has a column with plain storage', 'text with plain storage', 'ALTER TABLE t ALTER t SET STORAGE PLAIN',
		'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ $compare, 'a text of 508 bytes', q{INSERT INTO t (b, t) VALUES (0, repeat('x', 508))}, 'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ 'us', 'a text of 500 bytes', q{INSERT INTO t (b, t) VALUES (0, repeat('x', 500))}, 'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ $compare, 'a compressed text', q{INSERT INTO t (b, t) VALUES (0, repeat('x', 3000))}, 'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ $compare, 'a text out of line', q{ALTER TABLE t ALTER t SET STORAGE EXTERNAL; INSERT INTO t (b, t) VALUES (0, repeat('x', 2600))},
		'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ 'us', 'a column of texts added later', q{ALTER TABLE t ADD d text COLLATE "C" DEFAULT 'seven'}, 'CREATE INDEX i ON t (d, a)' ],
	[ 'us', 'no texts', 'TRUNCATE t', 'CREATE INDEX i ON t (t COLLATE "C")' ],
	[ $class, 'numeric behind a column that is known', '', 'CREATE INDEX i ON t (a, n)' ],
	[ undef, 'another access method', '', 'CREATE INDEX i ON t USING hash (a)' ],
	[ undef, 'an exclusion constraint by GiST', '', 'ALTER TABLE t ADD CONSTRAINT i EXCLUDE USING gist (a WITH =)' ],
	[ 'it is that of an exclusion constraint', 'an exclusion constraint', '', 'ALTER TABLE t ADD CONSTRAINT i EXCLUDE (a WITH =)' ],
	[ 'it has an expression or a predicate', 'an expression', '', 'CREATE INDEX i ON t ((a + 1))' ],
	[ 'it has an expression or a predicate', 'a predicate', '', 'CREATE INDEX i ON t (a) WHERE b > 5' ],
	[ 'it has included columns', 'INCLUDE', '', 'CREATE INDEX i ON t (a) INCLUDE (b)' ],
	[ 'it has too many columns', 'five columns', '', 'CREATE INDEX i ON t (a, b, f4, f8, c)' ],
	[ 'its columns are too wide', 'three uuids', 'ALTER TABLE t ADD x uuid, ADD y uuid, ADD z uuid', 'CREATE INDEX i ON t (x, y, z)' ],
	[ 'us', 'two uuids', 'ALTER TABLE t ADD x uuid, ADD y uuid', 'CREATE INDEX i ON t (x DESC, y)' ],
	[ 'its constraint is deferrable', 'a deferrable constraint', '', 'ALTER TABLE t ADD CONSTRAINT i UNIQUE (a) DEFERRABLE' ],
	[ 'us', 'a constraint', '', 'ALTER TABLE t ADD CONSTRAINT i UNIQUE (a)' ],
	[ $compare, '-0.0 as float4', q{INSERT INTO t (b, f4) VALUES (0, '-0')}, 'CREATE INDEX i ON t (f4)' ],
	[ $compare, '-0.0 as float8', q{INSERT INTO t (b, f8) VALUES (0, '-0')}, 'CREATE INDEX i ON t (f8)' ],
	[ $compare, 'a NaN of other bits', q{INSERT INTO t (b, f8) VALUES (0, '-NaN')}, 'CREATE INDEX i ON t (f8)' ],
	[ 'us', 'a NaN', q{INSERT INTO t (b, f8) VALUES (0, 'NaN')}, 'CREATE INDEX i ON t (f8)' ],
	[ $hot, 'HOT chains', 'UPDATE t SET t = $$y$$ WHERE a > 998', 'CREATE INDEX i ON t (a)' ],
	[ $hot, 'pruned HOT chains', 'UPDATE t SET t = $$y$$ WHERE a > 998; VACUUM t', 'CREATE INDEX i ON t (a)' ],
	[ 'us', 'deleted rows', 'DELETE FROM t WHERE a % 100 = 0', 'CREATE INDEX i ON t (a)' ],
	[ 'a row is being deleted', 'rows deleted in the transaction', 'BEGIN; DELETE FROM t WHERE a % 100 = 0', 'CREATE INDEX i ON t (a); COMMIT' ],
	[ 'us', 'rows inserted in the transaction', 'BEGIN; INSERT INTO t (b) VALUES (1)', 'CREATE INDEX i ON t (a, b); COMMIT' ],
	[ 'us', 'rows of a subtransaction that was aborted', 'BEGIN; SAVEPOINT s; INSERT INTO t (a, b) VALUES (7, 1); ROLLBACK TO s',
		'CREATE INDEX i ON t (b); COMMIT' ],
	[ 'us', 'locked rows', 'BEGIN; SELECT FROM t WHERE b % 50 = 0 FOR KEY SHARE', 'CREATE UNIQUE INDEX i ON t (b); COMMIT' ],
	[ 'us', 'a column added later', 'ALTER TABLE t ADD d int4 DEFAULT 7', 'CREATE INDEX i ON t (d)' ],
	[ 'us', 'no rows', 'TRUNCATE t', 'CREATE INDEX i ON t (b)' ],
	[ 'us', 'IF NOT EXISTS', '', 'CREATE INDEX IF NOT EXISTS i ON t (b)' ]);
foreach my $case (@cases)
{
	my ($who, $what, $setup, $create) = @$case;

	sql($node, 'left_over', 'DROP TABLE IF EXISTS kept; CREATE TABLE kept (LIKE t); INSERT INTO kept SELECT * FROM t');
	builds_ok("$setup;\n$create", defined $who ? [ [ 'i', $who ] ] : [], $what);
	is(check_index($node, 'left_over', 'i'), '', "$what: amcheck") if $create !~ /USING/;
	sql($node, 'left_over', 'DROP TABLE t; ALTER TABLE kept RENAME TO t');
}

# system tables get no new indexes; the server itself creates the index of a TOAST table
builds_ok('CREATE TABLE wide (t text); DROP TABLE wide', [], 'the index of a TOAST table');

# texts in the collation of the database
my %databases = ('C' => q{LOCALE_PROVIDER libc LC_COLLATE 'C'}, 'ICU' => q{LOCALE_PROVIDER icu ICU_LOCALE 'en'});
$databases{'builtin C.UTF-8'} = q{LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'} if pg_major($node) >= 17;
foreach my $what (sort keys %databases)
{
	my $db = $what =~ s/\W/_/gr;
	sql($node, 'postgres', qq{CREATE DATABASE "$db" TEMPLATE template0 ENCODING 'UTF8' $databases{$what}});
	sql($node, $db, q{CREATE EXTENSION pg_pardump; CREATE TABLE t AS SELECT 'x' || i AS t FROM generate_series(1, 1000) i});
	my (undef, undef, $messages) = $node->psql($db, index_session() . 'CREATE INDEX i ON t (t); CREATE INDEX c ON t (t COLLATE "C")');
	is_deeply([ builders($messages) ], [ [ 'i', $what eq 'ICU' ? $collation : 'us' ], [ 'c', 'us' ] ], "texts in a database of $what")
		or diag($messages);
	is(check_index($node, $db, 'i'), '', "texts in a database of $what: amcheck");
}

# --- the setting and the time of the comparison

my $left = LEFT_BEFORE;
sql($node, 'left_over', q{CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM t;
	-- one table above 8 MB, one below
	CREATE TABLE s.large WITH (fillfactor = 10) AS SELECT i AS a FROM generate_series(1, 40000) i;
	CREATE TABLE s.small AS SELECT * FROM s.large;
	CREATE TABLE s.parts (a int4) PARTITION BY RANGE (a); CREATE TABLE s.part PARTITION OF s.parts DEFAULT});
cmp_ok(value($node, 'left_over', q{SELECT pg_relation_size('s.large')}), '>=', 8 * 1024 * 1024, 'size of a large table');
my (undef, $out, $err) = $node->psql('left_over', "LOAD 'pg_pardump'; SET client_min_messages = debug1;
	SHOW pg_pardump.fast_index; CREATE INDEX off ON s.t (a)");
is($out, 'off', 'the setting is off by default');
is_deeply([ builders($err) ], [], 'with the setting off, the extension builds no index');
builds_ok('CREATE INDEX small_first ON s.small (a); CREATE INDEX by_hook ON s.large (a); CREATE INDEX small_later ON s.small (a)',
	[ [ 'small_first', $left ], [ 'by_hook', 'us' ], [ 'small_later', 'us' ] ],
	'a session that compares before CREATE INDEX on a large table', compared => 0);
builds_ok('ALTER TABLE s.small ADD CONSTRAINT small_alter UNIQUE (a); ALTER TABLE s.large ADD CONSTRAINT by_alter UNIQUE (a)',
	[ [ 'small_alter', $left ], [ 'by_alter', 'us' ] ], 'a session that compares before ALTER TABLE on a large table', compared => 0);
builds_ok('CREATE INDEX ON ONLY s.parts (a); CREATE INDEX small_only ON s.small (a); CREATE INDEX by_parts ON s.parts (a)',
	[ [ 'small_only', $left ], [ 'part_a_idx', 'us' ] ], 'a session that compares before CREATE INDEX on partitions', compared => 0);
builds_ok('SET pg_pardump.fast_index = on; BEGIN; CREATE INDEX by_set ON s.t (a); COMMIT', [ [ 'by_set', 'us' ] ],
	'a session that compares after SET', compared => 0);
builds_ok('BEGIN; SET pg_pardump.fast_index = on; COMMIT; SET LOCAL pg_pardump.fast_index = on;
	BEGIN; CREATE INDEX in_block_set ON s.t (a); COMMIT', [ [ 'in_block_set', $left ] ],
	'nothing is compared after SET in a transaction block, or SET LOCAL', compared => 0);
(undef, $out) = $node->psql('left_over', "LOAD 'pg_pardump'; SHOW pg_pardump.fast_index_reason;
	SET pg_pardump.fast_index = on; SHOW pg_pardump.fast_index_reason");
is($out, "$left\n", 'the reason is shown');
builds_ok('BEGIN; CREATE INDEX in_block ON s.large (a); COMMIT; CREATE INDEX behind ON s.large (a)',
	[ [ 'in_block', $left ], [ 'behind', 'us' ] ], 'nothing is compared in a transaction block', compared => 0);
builds_ok(q{DO $$ BEGIN CREATE INDEX in_function ON s.large (a); END $$}, [ [ 'in_function', $left ] ],
	'nothing is compared in a function', compared => 0);
builds_ok('SET default_transaction_isolation = serializable; CREATE INDEX serializable ON s.large (a)', [ [ 'serializable', $left ] ],
	'nothing is compared with a snapshot of the whole transaction', compared => 0);
builds_ok('CREATE INDEX CONCURRENTLY beside ON s.t (a); REINDEX INDEX CONCURRENTLY s.beside', [],
	'CREATE INDEX and REINDEX CONCURRENTLY');
is(value($node, 'left_over', "SELECT count(*) FROM pg_class WHERE relname LIKE 'pg\\_pardump\\_index%'"), 0,
	'the table of a comparison does not exist afterwards');

sql($node, 'left_over', q{SET allow_in_place_tablespaces = on; CREATE TABLESPACE place LOCATION ''});
builds_ok('CREATE INDEX in_place ON s.t (a) TABLESPACE place', [ [ 'in_place', 'us' ] ], 'an index in a tablespace');
is(check_index($node, 'left_over', 's.in_place'), '', 'an index in a tablespace: amcheck');

# a role that may not create temporary tables
sql($node, 'left_over', 'CREATE TABLE of_plain AS SELECT * FROM t; ALTER TABLE of_plain OWNER TO plain');
builds_ok('SET SESSION AUTHORIZATION plain; SELECT pardump.pg_pardump_compare_builds(); CREATE INDEX plain_left ON of_plain (a)',
	[ [ 'plain_left', q{builds could not be compared with the server's} ] ], 'a role without the privilege to create temporary tables', compared => 0);
sql($node, 'left_over', 'GRANT TEMP ON DATABASE left_over TO plain');
builds_ok('SET SESSION AUTHORIZATION plain; SET pg_pardump.fast_index = on; CREATE INDEX plain_ours ON of_plain (a)',
	[ [ 'plain_ours', 'us' ] ], 'an ordinary role', compared => 0);

# a role without privileges gets the error of CREATE INDEX at once, without a lock
sql($node, 'left_over', 'GRANT USAGE ON SCHEMA s TO plain');
my $holder = start_psql($node, 'left_over');
$holder->('BEGIN');
$holder->('LOCK TABLE s.large');
(undef, undef, $err) = $node->psql('left_over', index_session(compared => 0) . "SET SESSION AUTHORIZATION plain;
	SET lock_timeout = '1s'; CREATE INDEX without_privileges ON s.large (a)");
like($err, qr/must be owner of table large/, 'a role without privileges does not wait for a lock');
$holder->('COMMIT');
$holder->();

# the server's statistics of scans
my %scans;
foreach my $fast ('on', 'off')
{
	sql($node, 'left_over', "CREATE TABLE scanned_$fast AS SELECT i AS a FROM generate_series(1, 3000) i");
	(undef, $scans{$fast}) = $node->psql('left_over', index_session() . "SET pg_pardump.fast_index = $fast; CREATE INDEX ON scanned_$fast (a);
		SELECT pg_stat_force_next_flush(); SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'scanned_$fast'");
}
like($scans{off}, qr/^1\|3000$/m, q{a scan of the server's build is counted});
is($scans{on}, $scans{off}, 'so is one of a build by the extension') or diag(explain(\%scans));

# an old snapshot keeps deleted rows in indexes; the server then sets indcheckxmin or indexes them
my $old = start_psql($node, 'left_over');
$old->('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->('SELECT count(*) FROM of_plain');
sql($node, 'left_over', 'DELETE FROM of_plain WHERE a % 10 = 1');
builds_ok('CREATE INDEX old ON of_plain (a)', [ [ 'old', 'an older snapshot may see a deleted row' ] ], 'an old snapshot');

# a snapshot that does not see later rows finds the right rows with an index of the extension
sql($node, 'left_over', 'CREATE TABLE seen AS SELECT i AS a FROM generate_series(1, 2000) i');
$old->('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_seqscan = off; SELECT count(*) FROM of_plain');
sql($node, 'left_over', 'INSERT INTO seen SELECT i FROM generate_series(1, 3000) i');
builds_ok('CREATE INDEX young ON seen (a)', [ [ 'young', 'us' ] ], 'an old snapshot that sees no deleted row');
is($old->('SELECT count(*) FROM seen WHERE a BETWEEN 1000 AND 2500'), 1001, 'rows that an old snapshot finds by the index');
like($old->('EXPLAIN SELECT count(*) FROM seen WHERE a BETWEEN 1000 AND 2500'), qr/young/, 'the old snapshot uses the index');
$old->('COMMIT');
$old->();

# --- one replacement serves one build

my %build = (
	'REINDEX INDEX' => 'REINDEX INDEX ours',
	'REINDEX TABLE' => 'REINDEX TABLE trap',
	'TRUNCATE' => 'TRUNCATE trap; INSERT INTO trap SELECT i, i FROM generate_series(1, 500) i; TRUNCATE trap; INSERT INTO trap VALUES (1, 2)',
	'ALTER TYPE' => 'ALTER TABLE trap ALTER a TYPE text USING $$x$$ || a',
	'ALTER TYPE to a known one' => 'ALTER TABLE trap ALTER a TYPE int8',
	'CLUSTER' => 'CLUSTER trap USING ours',
	'SET and REINDEX' => 'ALTER INDEX ours SET (fillfactor = 70); REINDEX INDEX ours',
	'UPDATE and REINDEX' => 'UPDATE trap SET b = 5 WHERE a % 7 = 0; DELETE FROM trap WHERE a % 11 = 0; REINDEX INDEX ours');
foreach my $what (sort keys %build)
{
	foreach my $end ('COMMIT', 'ROLLBACK TO s; COMMIT')
	{
		builds_ok("DROP TABLE IF EXISTS trap; BEGIN; CREATE TABLE trap (a int4, b int4);
			INSERT INTO trap SELECT i * 7 % 5003, i FROM generate_series(1, 5000) i;
			CREATE INDEX ours ON trap (a); SAVEPOINT s; $build{$what}; $end", [ [ 'ours', 'us' ] ], "$what, $end");
		is(check_index($node, 'left_over', 'ours'), '', "$what, $end: amcheck");
	}
}
# if a command rewrites a table and adds a key, the key is built after the rewrite
builds_ok('DROP TABLE trap; CREATE TABLE trap (a int4, b int4); INSERT INTO trap SELECT i * 7 % 5003, i FROM generate_series(1, 5000) i;
	ALTER TABLE trap ADD c float8 DEFAULT random(), ADD CONSTRAINT rewritten PRIMARY KEY (a)',
	[ [ 'rewritten', 'it was not created by this command' ] ], 'a primary key of a table that is rewritten');
is(check_index($node, 'left_over', 'rewritten'), '', 'a primary key of a table that is rewritten: amcheck');
builds_ok('BEGIN; CREATE TEMP TABLE emptied (a int4) ON COMMIT DELETE ROWS; INSERT INTO emptied SELECT generate_series(1, 1000);
	CREATE INDEX of_emptied ON emptied (a); INSERT INTO emptied VALUES (5); COMMIT;
	INSERT INTO emptied SELECT generate_series(1, 1000);
	BEGIN; INSERT INTO emptied VALUES (7); SELECT count(*) FROM emptied; COMMIT; SELECT count(*) FROM emptied',
	[ [ 'of_emptied', 'us' ] ], 'ON COMMIT DELETE ROWS');
builds_ok('DROP TABLE trap; BEGIN; CREATE TABLE trap (a int4); SAVEPOINT s; CREATE INDEX gone ON trap (a); ROLLBACK TO s;
	INSERT INTO trap SELECT generate_series(1, 1000); CREATE INDEX kept ON trap (a); COMMIT',
	[ [ 'gone', 'us' ], [ 'kept', 'us' ] ], 'an index that is rolled back, then another');
is(check_index($node, 'left_over', 'kept'), '', 'an index that is rolled back, then another: amcheck');

# --- the server itself creates the index of a partition that is attached

builds_ok('CREATE TABLE whole (a int4) PARTITION BY RANGE (a); CREATE INDEX ON whole (a); CREATE TABLE attached (a int4);
	INSERT INTO attached SELECT generate_series(1, 1000); ALTER TABLE whole ATTACH PARTITION attached DEFAULT', [],
	'ATTACH PARTITION');
is(check_index($node, 'left_over', 'attached_a_idx'), '', 'ATTACH PARTITION: amcheck');

# --- the setting changes between two builds

builds_ok('SET pg_pardump.fast_index = off; CREATE INDEX switched ON trap (a); SET pg_pardump.fast_index = on; REINDEX INDEX switched', [],
	'switched off, then a REINDEX');

$node->stop;
done_testing();
