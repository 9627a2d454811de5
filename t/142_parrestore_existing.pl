# What pg_parrestore does where the database already has tables or large objects of
# the archive, and with names that the archive does not have.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database dump_ok run_program new_path sql value);
use Pardump::Command qw(check_list);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('existing');
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE SCHEMA s;
CREATE TABLE a AS SELECT g FROM generate_series(1, 100) g;
CREATE TABLE "b ü" AS SELECT 1 AS x;
CREATE TABLE s.c AS SELECT 1 AS x;
CREATE TABLE s.d AS SELECT 1 AS x;
CREATE TABLE empty (x int);
CREATE TABLE parts (x int) PARTITION BY RANGE (x);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10);
INSERT INTO parts VALUES (1);
CREATE INDEX an_index ON a (g);
CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE DOMAIN amount AS numeric(10, 2);
SQL
my $dir = dump_ok($node, 'shop', 'an archive', 'pg_pardump', '--max-table-segment-pages=1');
my $copies = 0;

sub new_copy { return empty_copy($node, 'shop', 'copy' . ++$copies); }
sub rows { my ($db) = @_; return value($node, $db, 'SELECT count(*) FROM a') }

sub refused_ok
{
	my ($what, $db, $message, @options) = @_;
	my $before = value($node, $db, 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
	my ($rc, $out, $err) = run_parrestore($node, $db, $dir, @options);
	is("$rc$out", '1', "$what: exit code");
	like($err, $message, "$what: message");
	is(value($node, $db, 'SELECT pg_snapshot_xmax(pg_current_snapshot())'), $before, "$what: no transaction has written");
	return;
}

# ---- tables with rows

my $db = new_copy();
is((run_parrestore($node, $db, $dir))[0], 0, 'restored');
my $hint = qr/pg_parrestore: hint: Use --clean to drop .*--allow-existing .*\n/;
my $five = qr/\Apg_parrestore: error: the target already contains rows in 5 of the tables to be restored\npg_parrestore: detail: Tables: public\.a, public\."b ü", public\.part and 2 more\.\n$hint\z/;
refused_ok('a second restore', $db, $five);
refused_ok('a second restore, -j4', $db, $five, '-j4');
refused_ok('-e', $db, qr/^pg_parrestore: error: the target already contains rows in 5 of the tables/m, '-e');
refused_ok('one table', $db,
	qr/\Apg_parrestore: error: the target already contains rows in 1 of the tables to be restored\npg_parrestore: detail: Tables: s\.c\.\n$hint\z/, '-t', 'c');
refused_ok('two schemas', $db, qr/error: .* in 2 of the .*\npg_parrestore: detail: Tables: s\.c, s\.d\.\n/, '-n', 's');
is(rows($db), 100, 'a second restore: no row is added');
my ($rc, $out, $err) = run_parrestore($node, $db, $dir, '--check');
is($rc, 1, '--check: exit code');
like($out, qr/^error: the target already contains rows in 5 of the tables to be restored$/m, '--check: finding');

# a partitioned table, whose partition alone has blocks; that of another name does not matter
$db = new_copy();
sql($node, $db, 'CREATE SCHEMA s; CREATE TABLE s.part AS SELECT 1 AS x; CREATE TABLE parts (x int) PARTITION BY RANGE (x);
	CREATE TABLE other PARTITION OF parts FOR VALUES FROM (0) TO (10)');
is((run_parrestore($node, $db, $dir))[0], 1, 'empty tables: errors, as of pg_restore');
is(rows($db), 100, 'empty tables: the others are restored');

# ---- the options that permit it

$db = new_copy();
run_parrestore($node, $db, $dir);
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--allow-existing');
my $stock = new_copy();
run_program('pg_restore', '-d', $node->connstr($stock), $dir);
my ($stock_rc, undef, $stock_err) = run_program('pg_restore', '-d', $node->connstr($stock), $dir);
is("$rc " . errors_ignored($err), "$stock_rc " . errors_ignored($stock_err), '--allow-existing: exit code and errors of pg_restore');
is(rows($db) . ' ' . rows($stock), '200 200', '--allow-existing: rows of pg_restore');
is((run_parrestore($node, $db, $dir, '--clean'))[0], 0, '--clean: exit code');
is(rows($db), 100, '--clean: rows');
is((run_parrestore($node, $db, $dir, '--data-only'))[0], 0, '--data-only: exit code');
is(rows($db), 200, '--data-only: rows');
is((run_parrestore($node, $db, $dir, '--section=data'))[0], 0, '--section=data: exit code');
is(rows($db), 300, '--section=data: rows');
is((run_parrestore($node, $db, $dir, '--no-data-for-failed-tables'))[0], 1, '--no-data-for-failed-tables: exit code');
is(rows($db), 300, '--no-data-for-failed-tables: rows');
my $list = new_path('list');
my (undef, $entries) = run_program('pg_restore', '-l', $dir);
append_to_file($list, join '', map { "$_\n" } grep { / TABLE DATA public a / } split /\n/, $entries);
is((run_parrestore($node, $db, $dir, '-L', $list))[0], 0, '-L without definitions: exit code');
is(rows($db), 400, '-L without definitions: rows');
is((run_parrestore($node, $db, $dir, '--schema-only'))[0], 1, '--schema-only: errors, as of pg_restore');
is(rows($db), 400, '--schema-only: rows');

# ---- -C

refused_ok('-C', 'postgres', $five, '-C');
is(rows('shop'), 100, '-C: no row is added');
is((run_parrestore($node, 'postgres', $dir, '-C', '--clean'))[0], 0, '-C --clean: exit code');
is(rows('shop'), 100, '-C --clean: rows');
sql($node, 'postgres', 'DROP DATABASE shop');
is((run_parrestore($node, 'postgres', $dir, '-C'))[0], 0, '-C, no such database: exit code');
is(rows('shop'), 100, '-C, no such database: rows');

# ---- large objects

sql($node, 'shop', q{SELECT lo_from_bytea(4711, 'archive'), lo_from_bytea(4712, 'archive')});
$dir = dump_ok($node, 'shop', 'large objects', 'pg_pardump');
$db = new_copy();
sql($node, $db, q{SELECT lo_from_bytea(4711, 'application')});
refused_ok('a large object', $db, qr/\Apg_parrestore: error: the target already contains 1 of the large objects to be restored\n.*detail: .*\n.*hint: .*--clean.*--allow-existing.*\n\z/);
is(value($node, $db, q{SELECT convert_from(lo_get(4711), 'UTF8')}), 'application', 'a large object: it is not changed');
is((run_parrestore($node, $db, $dir, '-t', 'a'))[0], 0, 'a restore of one table: large objects are not an error');
is((run_parrestore($node, new_copy(), $dir))[0], 0, 'a target without large objects: exit code');

# one error for all, and the rest as by pg_restore
($db, $stock) = (new_copy(), new_copy());
sql($node, $_, q{SELECT lo_from_bytea(4711, 'application'), lo_from_bytea(4712, 'application')}) foreach $db, $stock;
($stock_rc, undef, $stock_err) = run_program('pg_restore', '-d', $node->connstr($stock), $dir);
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--allow-existing');
is("$rc " . errors_ignored($err), "$stock_rc " . errors_ignored($stock_err), 'large objects, --allow-existing: exit code and errors of pg_restore');
like($err, qr/\Apg_parrestore: error: the target already contains 2 of the large objects to be restored\npg_parrestore: detail: .*\npg_parrestore: warning: errors ignored on restore: 2\n.*hint: .*\n\z/,
	'large objects, --allow-existing: one error with the number');
my $contents = q{SELECT string_agg(convert_from(lo_get(oid), 'UTF8'), ' ' ORDER BY oid) FROM pg_largeobject_metadata};
is(value($node, $db, $contents), value($node, $stock, $contents), 'large objects, --allow-existing: contents of pg_restore');
$db = new_copy();
sql($node, $db, 'SELECT lo_create(4711)');
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--allow-existing', '-e');
is($rc, 1, 'large objects, --allow-existing -e: exit code');
like($err, qr/ERROR:  duplicate key value/, 'large objects, --allow-existing -e: the first error');

# ---- --resume

my $nothing = qr/error: database "[^"]+" contains no restore to resume\npg_parrestore: detail: .*"pardump_restore", cannot be resumed\.\npg_parrestore: hint: Check the name .*\n\z/;
$db = new_copy();
sql($node, $db, 'CREATE SCHEMA s; CREATE TABLE another (a int)');
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--resume');
is("$rc $err", "1 pg_parrestore: error: could not execute query: ERROR:  schema \"s\" already exists\n\tCommand was: CREATE SCHEMA s;\n"
	. "pg_parrestore: warning: errors ignored on restore: 1\n"
	. "pg_parrestore: detail: Entries with errors: SCHEMA s.\n"
	. "pg_parrestore: hint: Fix the causes of the errors, and run the failed statements with psql.\n", '--resume where nothing of the archive exists: it restores');
is(rows($db), 100, '--resume where nothing of the archive exists: rows');
refused_ok('--resume of a completed restore', $db, $nothing, '--resume');
foreach my $exists (
	'CREATE TABLE empty ()', 'CREATE VIEW a AS SELECT 1', 'CREATE DOMAIN amount AS int', 'CREATE SCHEMA s; CREATE SEQUENCE s.d',
	'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$SELECT 1$$', 'SELECT lo_create(4712)')
{
	$db = new_copy();
	sql($node, $db, $exists);
	refused_ok("--resume, $exists", $db, $nothing, '--resume');
}
sql($node, 'postgres', 'ALTER DATABASE shop RENAME TO other_shop');
is((run_parrestore($node, 'postgres', $dir, '-C', '--resume'))[0], 0, '-C --resume, no such database: exit code');
is(rows('shop'), 100, '-C --resume, no such database: rows');
($rc, undef, $err) = run_parrestore($node, 'postgres', $dir, '-C', '--resume');
is($rc, 1, '-C --resume again: exit code');
like($err, $nothing, '-C --resume again: message');
sql($node, 'postgres', 'DROP DATABASE shop');
sql($node, 'postgres', 'CREATE DATABASE shop');
($rc, undef, $err) = run_parrestore($node, 'postgres', $dir, '-C', '--resume');
is($rc, 0, '-C --resume, an empty database: exit code');
like($err, qr/\Apg_parrestore: warning: restoring into existing database "shop", which contains nothing of the archive\npg_parrestore: detail: .*\n\z/,
	'-C --resume, an empty database: a warning');
is(rows('shop'), 100, '-C --resume, an empty database: rows');
sql($node, 'postgres', 'DROP DATABASE shop');
sql($node, 'postgres', 'ALTER DATABASE other_shop RENAME TO shop');

# ---- tables that hand rows on

make_database($node, 'elsewhere');
sql($node, 'elsewhere', 'CREATE TABLE a (g int)');
my $foreign = sprintf q{CREATE EXTENSION postgres_fdw; CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '%s', port '%s', dbname 'elsewhere'); CREATE USER MAPPING FOR PUBLIC SERVER elsewhere;}, $node->host, $node->port;
my %handing = (
	'a foreign table' => "$foreign CREATE FOREIGN TABLE a (g int) SERVER elsewhere",
	'a view with a trigger' => q{CREATE TABLE kept (g int); CREATE VIEW a AS SELECT g FROM kept;
		CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.kept VALUES (NEW.g); RETURN NEW; END$$;
		CREATE TRIGGER keep INSTEAD OF INSERT ON a FOR EACH ROW EXECUTE FUNCTION keep()},
	'a foreign partition' => "$foreign CREATE TABLE a (g int) PARTITION BY RANGE (g);
		CREATE FOREIGN TABLE a1 PARTITION OF a FOR VALUES FROM (0) TO (1000) SERVER elsewhere OPTIONS (table_name 'a')");
foreach my $what (sort keys %handing)
{
	my ($db, $stock) = (new_copy(), new_copy());
	sql($node, $_, $handing{$what}) foreach $db, $stock;
	my $hands_on = qr/\Apg_parrestore: error: the target already contains 1 of the tables to be restored, but as foreign tables or as views with triggers\npg_parrestore: detail: Tables: public\.a\.\npg_parrestore: hint: .*--allow-existing .*\n\z/;
	refused_ok($what, $db, $hands_on);
	refused_ok("$what, --clean", $db, qr/\Apg_parrestore: error: --clean cannot drop 1 of the tables that have rows in the archive\n.*detail: Tables: public\.a \(cannot be dropped by DROP TABLE\)\.\n.*hint: .*\n\z/, '--clean')
	  if $what ne 'a foreign partition';
	is(value($node, $db, 'SELECT count(*) FROM a'), 0, "$what: no row was inserted");
	my ($stock_rc, undef, $stock_err) = run_program('pg_restore', '-d', $node->connstr($stock), $dir);
	is(value($node, $stock, 'SELECT count(*) FROM a'), 100, "$what: pg_restore inserts rows");
	sql($node, 'elsewhere', 'TRUNCATE a');
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, '--allow-existing');
	is("$rc " . errors_ignored($err) . ' ' . value($node, $db, 'SELECT count(*) FROM a'), "$stock_rc " . errors_ignored($stock_err) . ' 100',
		"$what, --allow-existing: as pg_restore");
	sql($node, 'elsewhere', 'TRUNCATE a');
}

# ---- names

$db = new_copy();
foreach my $try (
	[ '-t nope' ], [ '-n nope' ], [ '-I nope' ], [ '-P nope' ], [ '-T nope' ], [ '-n s -t a' ], [ '-N public -t a' ],
	[ '-t s.c', 'Specify the schema with a separate option: -n s -t c.' ])
{
	my ($options, $hint) = @$try;
	my $expected = "pg_parrestore: error: no entry of the archive matches $options\n"
	  . 'pg_parrestore: hint: ' . ($hint // 'Use --list to show the entries of the archive.') . "\n";
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, split / /, $options);
	is("$rc $err", "1 $expected", "$options: an error");
}
($rc, undef, $err) = run_parrestore($node, $db, $dir, '-t', 'a', '-t', 'nope', '-N', 'nowhere');
is("$rc $err", '0 ' . join('', map { "pg_parrestore: warning: no entry of the archive matches $_\npg_parrestore: hint: Use --list to show the entries of the archive.\n" } '-t nope', '-N nowhere'),
	'one of several names: a warning');
is(rows($db), 100, 'one of several names: the others are restored');
sql($node, 'shop', 'CREATE TRIGGER fires BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()');
my $triggers = dump_ok($node, 'shop', 'a trigger', 'pg_pardump');
($rc, undef, $err) = run_parrestore($node, $db, $triggers, '-T', 'fires');
is("$rc $err", "1 pg_parrestore: error: no entry of the archive matches -T fires\n"
	. "pg_parrestore: hint: Specify the table before the name of the trigger: -T \"a fires\".\n", '-T fires: an error');
is((run_parrestore($node, $db, $triggers, '-T', 'a fires'))[0], 0, '-T "a fires": restored');
($rc, undef, $err) = run_parrestore($node, $db, $dir, '-t', 'a', '-t', 'nope', '--strict-names');
is($rc, 1, '--strict-names: exit code');
like($err, qr/table "nope" not found/, '--strict-names: message of pg_restore');
foreach my $names ([ '-P', 'f(integer)', '-t', 'empty' ], [ '-I', 'an_index', '-t', 'empty' ])
{
	(undef, undef, $err) = run_parrestore($node, $db, $dir, @$names);
	unlike($err, qr/no entry of the archive/, "@$names: found");
}

# ---- --clean where other objects keep tables from being dropped

sql($node, 'shop', <<'SQL');
CREATE TYPE state AS ENUM ('new', 'done');
CREATE TABLE referenced AS SELECT 1 AS id;
ALTER TABLE referenced ADD PRIMARY KEY (id);
CREATE TABLE referring (id int REFERENCES referenced, n serial);
INSERT INTO referring VALUES (1);
CREATE TABLE of_type AS SELECT 'new'::state AS s;
CREATE VIEW seen AS SELECT id FROM referring;
CREATE FUNCTION body() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM a; END;
SQL
$dir = dump_ok($node, 'shop', 'other objects', 'pg_pardump');
my $keeps = sub { my ($list) = @_; return qr/\Apg_parrestore: error: --clean cannot drop [0-9]+ of the tables that have rows in the archive, because other objects of the target depend on them\npg_parrestore: detail: $list\npg_parrestore: hint: .*--allow-existing .*--no-data-for-failed-tables .*\n\z/ };
my $counts = q{SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM s.c), (SELECT count(*) FROM part),
	(SELECT count(*) FROM referenced), (SELECT count(*) FROM referring), (SELECT count(*) FROM of_type)};

# As stock pg_restore does, which then doubles rows, unless a key that the tables
# have by now refuses them; or refused.
sub kept_ok
{
	my ($what, $sql, $message, $expected, @options) = @_;
	my ($db, $stock) = (new_copy(), new_copy());
	foreach ($db, $stock)
	{
		sql($node, $_, 'GRANT CREATE ON SCHEMA public TO PUBLIC');
		my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($_), @options, $dir);
		is("$rc$err", '0', "--clean, $what: exit code of pg_restore");
		sql($node, $_, $sql);
	}
	refused_ok("--clean, $what", $db, $message, '--clean', @options);
	my ($stock_rc, undef, $stock_err) = run_program('pg_restore', '--clean', '-d', $node->connstr($stock), @options, $dir);
	is(value($node, $stock, $counts), $expected, "--clean, $what: rows by pg_restore");
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean', '--allow-existing', @options);
	is("$rc " . errors_ignored($err) . ' ' . value($node, $db, $counts),
		"$stock_rc " . errors_ignored($stock_err) . " $expected", "--clean --allow-existing, $what: as pg_restore");
	($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean', '--no-data-for-failed-tables', @options);
	is($rc, 1, "--clean --no-data-for-failed-tables, $what: exit code");
	is(value($node, $db, $counts), value($node, $stock, $counts), "--clean --no-data-for-failed-tables, $what: no row is added");
	like($err, qr/^pg_parrestore: error: .*ERROR:  relation "\w+" already exists$/m, "--clean --no-data-for-failed-tables, $what: an error");
	return;
}

# What keeps which tables
foreach my $case (
	[ 'a view', 'CREATE VIEW mine AS SELECT g FROM a', 'public.a', 'view public.mine (depends on table public.a)', '200|1|1|1|1|1' ],
	[ 'a function', 'CREATE FUNCTION mine() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM s.c; END',
		's.c', 'function public.mine() (depends on table s.c)', '100|2|1|1|1|1' ],
	[ 'a foreign key', 'CREATE TABLE mine (o int REFERENCES referenced)', 'public.referenced',
		'constraint mine_o_fkey on table public.mine (depends on index public.referenced_pkey)', '100|1|1|1|1|1' ],
	[ 'a view on a view', 'CREATE VIEW mine AS SELECT id FROM seen', 'public.referring', 'view public.mine (depends on view public.seen)', '100|1|1|1|2|1' ],
	[ 'a default on a sequence', q{CREATE TABLE mine (a int DEFAULT nextval('referring_n_seq'))}, 'public.referring',
		'default value for column a of table public.mine (depends on sequence public.referring_n_seq)', '100|1|1|1|2|1' ],
	[ 'a view of a partition', 'CREATE VIEW mine AS SELECT x FROM part', 'public.part', 'view public.mine (depends on table public.part)', '100|1|2|1|1|1' ])
{
	my ($what, $sql, $tables, $other, $expected) = @$case;
	kept_ok($what, $sql, $keeps->(qr/Tables: \Q$tables\E\.\n.*detail: Dependent objects: \Q$other\E\./i), $expected);
}

# a policy that goes with its table, which is dropped after the table that it needs
foreach my $program ('pg_restore', 'pg_parrestore')
{
	$db = new_copy();
	run_program('pg_restore', '-d', $node->connstr($db), $dir);
	sql($node, $db, 'CREATE POLICY mine ON a USING (EXISTS (SELECT FROM s.c))');
	refused_ok('--clean, a policy of a table that is dropped later', $db,
		$keeps->(qr/Tables: s\.c\.\n.*detail: Dependent objects: policy mine on table public\.a \(depends on table s\.c\)\./), '--clean');
	run_program($program, '--clean', ($program eq 'pg_restore' ? () : '--allow-existing'), '-d', $node->connstr($db), $dir);
	is(value($node, $db, $counts), '100|2|1|1|1|1', "a policy of a table that is dropped later, $program: rows are added");
}

# all of them, by --check, and with options that do not matter
$db = new_copy();
run_program('pg_restore', '-d', $node->connstr($db), $dir);
sql($node, $db, 'CREATE TABLE mine (s state); CREATE TABLE s.more (a int); CREATE FUNCTION f(text) RETURNS int LANGUAGE sql AS $$SELECT 1$$;
	CREATE VIEW mine2 AS SELECT f(id) FROM referenced');
($rc, $out) = run_parrestore($node, $db, $dir, '--clean', '--check');
is($rc, 1, '--clean --check: exit code');
like(check_list($out), qr/\Aerror: --clean cannot drop 1 of the tables that have rows in the archive, .*\n  detail: Tables: public\.referenced\.\n  detail: Dependent objects: column s of table public\.mine \(depends on type public\.state\), table s\.more \(depends on schema s\), view public\.mine2 \(depends on function public\.f\(integer\)\)\.\n/,
	'--clean --check: found');
refused_ok('--clean -e', $db, qr/--clean cannot drop 1 of the tables/, '--clean', '-e');
refused_ok('--clean --if-exists -j2', $db, qr/--clean cannot drop 1 of the tables/, '--clean', '--if-exists', '-j2');
sql($node, $db, 'DROP VIEW mine2');
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean');
is("$rc " . errors_ignored($err), '1 4', '--clean, other objects that keep no table: errors');
is(value($node, $db, $counts), '100|1|1|1|1|1', '--clean, other objects that keep no table: rows');
($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean', '-e');
is($rc, 1, '--clean -e, other objects that keep no table: exit code');
like($err, qr/\Apg_restore: error: could not execute query: ERROR:  cannot drop /, '--clean -e, other objects that keep no table: the first error');
is((run_parrestore($node, 'postgres', $dir, '-C', '--clean'))[0], 0, '-C --clean again: exit code');
$db = new_copy();
run_program('pg_restore', '-d', $node->connstr($db), $dir);
sql($node, $db, 'CREATE TABLE mine (o int REFERENCES referenced); TRUNCATE referenced CASCADE');
(undef, undef, $err) = run_parrestore($node, $db, $dir, '--clean', '--section=data', '--section=post-data');
unlike($err, qr/--clean cannot drop/, '--clean without tables: not refused');
like($err, qr/ERROR:  cannot drop constraint referenced_pkey /, '--clean without tables: an error');
is(value($node, $db, 'SELECT count(*) FROM referenced'), 1, '--clean without tables: rows');

# names that the target's encoding does not have
sql($node, 'postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
sql($node, 'ascii', "CREATE TABLE \"t\xe9\" AS SELECT 1 AS g; CREATE TABLE a AS SELECT 1 AS g");
$dir = dump_ok($node, 'ascii', 'names in no encoding', 'pg_pardump');
$db = new_copy();
sql($node, $db, 'CREATE TABLE a AS SELECT 1 AS g; CREATE VIEW mine AS SELECT g FROM a');
refused_ok('--clean, a name that cannot be converted', $db,
	$keeps->(qr/Tables: public\.a\.\n.*detail: Dependent objects: view public\.mine \(depends on table public\.a\)\./), '--clean');

# ---- --clean where tables belong to other roles, or to extensions

sql($node, 'postgres', 'CREATE ROLE restorer LOGIN; CREATE ROLE other; CREATE ROLE member LOGIN IN ROLE other');
make_database($node, 'owned');
sql($node, 'owned', <<'SQL');
CREATE TABLE a AS SELECT g FROM generate_series(1, 100) g;
CREATE TABLE referenced AS SELECT 1 AS id;
ALTER TABLE referenced ADD PRIMARY KEY (id);
CREATE TABLE referring (id int REFERENCES referenced);
INSERT INTO referring VALUES (1);
CREATE TABLE parts (x int) PARTITION BY RANGE (x);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10);
INSERT INTO parts VALUES (1);
CREATE VIEW seen AS SELECT g FROM a;
SQL
$dir = dump_ok($node, 'owned', 'tables that others own', 'pg_pardump');
$counts = 'SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM referenced), (SELECT count(*) FROM referring), (SELECT count(*) FROM part)';
my $belong = sub { my ($list) = @_; return qr/\Apg_parrestore: error: --clean cannot drop [0-9]+ of the tables that have rows in the archive\npg_parrestore: detail: $list\npg_parrestore: hint: .*--allow-existing .*--no-data-for-failed-tables .*\n\z/ };
my $given = 'GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC; ALTER %s OWNER TO other';
my @as_restorer = ('--no-owner', '-U', 'restorer');
my $is_a = qr/Tables: public\.a \(belongs to role other\)\./;
kept_ok('a table of another role', sprintf($given, 'TABLE a'), $belong->($is_a), '200|1|1|1', @as_restorer);
kept_ok('a table of another role, --role', 'GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC; ALTER TABLE a OWNER TO other',
	$belong->($is_a), '200|1|1|1', '--no-owner', '--role=restorer');
kept_ok('a table of another role that refers', sprintf($given, 'TABLE referring'),
	qr/\Apg_parrestore: error: --clean cannot drop 1 of the tables that have rows in the archive\n.*detail: Tables: public\.referring \(belongs to role other\)\.\n.*hint: .*\n.*error: --clean cannot drop 1 of the tables .*, because other objects .*\n.*detail: Tables: public\.referenced\.\n.*detail: Dependent objects: constraint referring_id_fkey on table public\.referring \(depends on .*\)\.\n.*hint: .*\n\z/,
	'100|1|2|1', @as_restorer);
kept_ok('a view of another role', sprintf($given, 'VIEW seen'),
	$keeps->(qr/Tables: public\.a\.\n.*detail: Dependent objects: view public\.seen \(depends on table public\.a\)\./), '200|1|1|1', @as_restorer);
kept_ok('a table of an extension', 'ALTER EXTENSION plpgsql ADD TABLE a', $belong->(qr/Tables: public\.a \(belongs to extension plpgsql\)\./), '200|1|1|1');

# not refused: the owner's group, the schema's owner, and a partition that goes with its table
foreach my $case (
	[ 'a member of the owner', sprintf($given, 'TABLE a'), '0 0', '--no-owner', '-U', 'member' ],
	[ 'the owner of the schema', sprintf($given, 'TABLE a') . '; ALTER SCHEMA public OWNER TO restorer', '0 0', @as_restorer ],
	[ 'a partition of another role', sprintf($given, 'TABLE part'), '1 1', @as_restorer ])
{
	my ($what, $sql, $expected, @options) = @$case;
	$db = new_copy();
	sql($node, $db, 'GRANT CREATE ON SCHEMA public TO PUBLIC');
	run_program('pg_restore', '-d', $node->connstr($db), @options, $dir);
	sql($node, $db, $sql);
	($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean', @options);
	is("$rc " . (errors_ignored($err) // 0) . ' ' . value($node, $db, $counts), "$expected 100|1|1|1", "--clean, $what: all is dropped, and restored")
	  or diag($err);
}

# --check reports the same
$db = new_copy();
run_program('pg_restore', '-d', $node->connstr($db), $dir);
sql($node, $db, 'ALTER EXTENSION plpgsql ADD TABLE a; CREATE VIEW mine AS SELECT id FROM referring');
($rc, $out) = run_parrestore($node, $db, $dir, '--clean', '--check');
is($rc, 1, '--clean --check, a table of an extension: exit code');
like(check_list($out), qr/\Aerror: --clean cannot drop 1 of .*\n  detail: Tables: public\.a \(belongs to extension plpgsql\)\.\n  hint: .*\nerror: --clean cannot drop 1 of .*, because other objects .*\n  detail: Tables: public\.referring\.\n  detail: Dependent objects: view public\.mine \(depends on table public\.referring\)\.\n  hint: .*\n2 problems \(errors: 2, warnings: 0\); a run would fail\n\z/,
	'--clean --check, a table of an extension: found, with tables that others depend on');

$node->stop;
done_testing();
