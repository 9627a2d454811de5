# Direct copies: into what kinds of target, which tables in which format, what
# is refused, and what is said when something fails.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump terminate wait_in_run);
use Pardump::Cluster qw(start_cluster make_database make_loop_server new_path own_installation installed_at
  run_program start_psql value sql tier);
use Pardump::Command qw(check_list);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(run_copy start_copy copy_ok copy_refused_ok stock_copy sessions_left);
use PostgreSQL::Test::Utils;
use Test::More;

# Below the highest tier, copies that show something of the database are of a few tables, and
# dependent objects that have --clean refused are there together.
my $all = tier() == 3;
my $source = start_cluster('modes_source');
my $installation = own_installation();
my $target = start_cluster('modes_target', install_path => $installation);

sql($_, 'postgres', 'CREATE ROLE owner; CREATE ROLE reader') foreach ($source, $target);
make_database($source, 'modes');
sql($source, 'modes', <<'SQL');
CREATE SCHEMA inner_part;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS numeric CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b mood);
CREATE TYPE span AS RANGE (subtype = int8);
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE TABLE plain (id bigint PRIMARY KEY, t text, d timestamptz, n numeric, u uuid,
	j jsonb, a int[], b bytea, i inet, iv interval);
INSERT INTO plain SELECT g, repeat(chr(945), g % 50), '2020-02-02'::timestamptz + g * interval '1 s',
	g / 7.0, md5(g::text)::uuid, jsonb_build_object('g', g), ARRAY[g, NULL], decode(md5(g::text), 'hex'),
	'10.0.0.0'::inet + g, g * interval '1 h' FROM generate_series(1, 6000) g;
CREATE INDEX ON plain (twice(id::int));
CREATE UNIQUE INDEX ON plain (t, id) WHERE id > 100;
ALTER TABLE plain CLUSTER ON plain_pkey;
ALTER TABLE plain ADD CONSTRAINT no_overlap EXCLUDE USING btree (id WITH =);
COMMENT ON CONSTRAINT no_overlap ON plain IS 'a constraint';
COMMENT ON INDEX plain_twice_idx IS 'an index';
CREATE TABLE made (m mood, p positive, s span, sm int8multirange, dr daterange[], e mood DEFAULT 'sad');
INSERT INTO made SELECT 'happy', g, span(g, g + 10), int8multirange(int8range(1, g + 1)), NULL
	FROM generate_series(1, 1000) g;
CREATE TABLE with_oids (c regclass, o oid);
INSERT INTO with_oids VALUES ('plain', 7), ('made', 8);
CREATE TABLE with_pairs (p pair);
INSERT INTO with_pairs VALUES ((1, 'sad')), ((2, 'happy'));
CREATE TABLE with_moods (m mood[], p positive[]);
INSERT INTO with_moods VALUES ('{sad,happy}', '{1,2}'), (NULL, NULL);
CREATE TABLE with_xml (x xml, m money);
INSERT INTO with_xml VALUES ('<a>ä</a>', 7), (NULL, NULL);
CREATE TABLE nothing ();
INSERT INTO nothing DEFAULT VALUES;
INSERT INTO nothing DEFAULT VALUES;
CREATE TABLE generated (a int, b int GENERATED ALWAYS AS (a + 1) STORED, c int GENERATED ALWAYS AS IDENTITY);
INSERT INTO generated (a) SELECT generate_series(1, 100);
ALTER TABLE generated DROP COLUMN c;
CREATE TABLE root (id int, b text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE leaf1 PARTITION OF root FOR VALUES FROM (0) TO (500);
CREATE TABLE inner_part.leaf2 PARTITION OF root FOR VALUES FROM (500) TO (1000);
CREATE INDEX ON root (b);
INSERT INTO root SELECT g, 'row ' || g FROM generate_series(0, 999) g;
CREATE TABLE referrer (r int REFERENCES root, p bigint REFERENCES plain);
INSERT INTO referrer SELECT g, g + 1 FROM generate_series(0, 999) g;
CREATE VIEW seen AS SELECT * FROM root;
CREATE MATERIALIZED VIEW filled AS SELECT count(*) FROM seen;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER refuse BEFORE INSERT ON referrer FOR EACH ROW WHEN (NEW.r = 77) EXECUTE FUNCTION refuse();
CREATE SEQUENCE counter START 100;
SELECT nextval('counter') FROM generate_series(1, 5);
ALTER TABLE plain OWNER TO owner;
GRANT SELECT ON plain TO reader;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON plain FOR SELECT USING (true);
SELECT lo_from_bytea(4711, decode(repeat('0123456789abcdef', 200000), 'hex'));
SELECT lo_from_bytea(4712, 'small'), lo_from_bytea(4713, '');
SELECT lo_from_bytea(4714, 'one'), lo_from_bytea(4715, 'of a group');
GRANT SELECT ON LARGE OBJECT 4714, 4715 TO reader;
ALTER LARGE OBJECT 4711 OWNER TO owner;
GRANT SELECT ON LARGE OBJECT 4711 TO reader;
COMMENT ON LARGE OBJECT 4712 IS 'a small one';
SQL

my $stock = stock_copy($source, 'modes', $target);
is($stock->{errors}, '', 'stock restores without a message');

sub same_as_stock_ok
{
	my ($db, $what) = @_;
	same_database_ok($target, $db, $stock->{data}, $stock->{schema}, $what);
	return;
}

# ---- which format

make_database($target, 'formats');
my ($rc, $out, $err) = run_copy($source, 'modes', $target, 'formats', '-v', '-j2',
	'--chunk-size=128kB', '--trust-owners');
is($rc, 0, '-v: exit code');
same_as_stock_ok('formats', '-v');
my %format;
while ($err =~ /copying (?:chunk \d+ of \d+ of )?table (\S+): format (binary|text \(reason: .*\))/g)
{
	$format{$1} = $2;
}
is($format{"public.$_"}, 'binary', "$_ is copied in binary format")
  foreach qw(plain made nothing generated leaf1 referrer);
foreach my $text (
	[ with_oids => 'column c is of type regclass' ],
	[ with_pairs => 'column p is of type public.pair' ],
	[ with_moods => 'column m is of type public.mood[]' ],
	[ with_xml => 'column m is of type money' ])
{
	is($format{"public.$text->[0]"}, "text (reason: $text->[1])",
		"$text->[0] is copied as text");
}
like($err, qr/chunk 2 of \d+ of table public\.plain: format binary\b/, 'plain is split');
like($err, qr/table public\.plain: 6,000 rows, \S+ [kM]B/, '-v: rows of each table');
like($out, qr/^  11 tables, 9,110 rows, /m, 'summary counts all rows');
is( value($target, 'formats',
		'SELECT count(*) FROM pg_stats WHERE tablename = $$plain$$ AND attname = $$id$$'),
	1, 'statistics are there');

copy_refused_ok(
	qr/table public\.with_(oids|pairs|moods|xml) cannot be copied in binary format\n.*detail: Column/,
	'--copy-format=binary', $source, 'modes', $target, 'formats', '--clean',
	'--copy-format=binary');
copy_ok($source, 'modes', $target, 'formats', '--clean, binary', '-j2', '--clean',
	'--copy-format=binary', '-t', 'made');

# ---- over what is there

sql($target, 'postgres', 'ALTER DATABASE formats RENAME TO there');
my $before = fingerprint($target, 'there');
$err = copy_refused_ok(qr/the target already contains 11 of the tables to be created/,
	'tables are there', $source, 'modes', $target, 'there');
like($err, qr/Tables: inner_part\.leaf2, public\.generated, /, 'tables are there: named');
is_deeply(fingerprint($target, 'there'), $before, 'tables are there: nothing was changed');

copy_ok($source, 'modes', $target, 'there', '--clean', '-j2', '--clean');
same_as_stock_ok('there', '--clean');
make_database($target, 'nothing_there');
copy_ok($source, 'modes', $target, 'nothing_there', '--clean of nothing', '-j2', '--clean', '--if-exists', '--no-analyze');
same_as_stock_ok('nothing_there', '--clean of nothing');
is( value($target, 'nothing_there', 'SELECT count(*) FROM pg_stats WHERE tablename = $$plain$$'),
	0, '--no-analyze leaves statistics out');

copy_ok($source, 'modes', $target, 'there', '--data-only', '-j2', '-a', '-t', 'made');
is(value($target, 'there', 'SELECT count(*) FROM made'), 2000, '--data-only adds rows');

# ---- triggers that are there already

make_database($target, 'triggers');
copy_ok($source, 'modes', $target, 'triggers', '--schema-only', '-s');
is(value($target, 'triggers', 'SELECT count(*) FROM referrer'), 0, '--schema-only: no rows');
sql($source, 'modes', 'ALTER TABLE referrer DISABLE TRIGGER refuse');
($rc, $out, $err) = run_copy($source, 'modes', $target, 'triggers', '-a', '-B',
	'-t', 'root', '-t', 'leaf1', '-t', 'inner_part.leaf2', '-t', 'plain', '-t', 'referrer',
	'--disable-triggers');
is($rc, 0, '--disable-triggers: exit code') or diag($err);
is(value($target, 'triggers', 'SELECT count(*) FROM referrer'), 1000, '--disable-triggers: all rows');
sql($source, 'modes', 'ALTER TABLE referrer ENABLE TRIGGER refuse');
sql($target, 'triggers', 'TRUNCATE referrer');
foreach my $state (qw(ALWAYS REPLICA))
{
	sql($target, 'triggers', "ALTER TABLE referrer ENABLE $state TRIGGER refuse");
	($rc, $out, $err) = run_copy($source, 'modes', $target, 'triggers', '-a', '-t', 'referrer', '--disable-triggers');
	is($rc, 1, "--disable-triggers, a trigger is enabled $state: exit code");
	like($err, qr/does not disable triggers that are enabled as ALWAYS or REPLICA\n.*detail: Triggers: refuse on public\.referrer\./, "--disable-triggers, a trigger is enabled $state: message");
	is(value($target, 'triggers', 'SELECT count(*) FROM referrer'), 0, 'and nothing is loaded');
}
sql($target, 'triggers', 'ALTER TABLE referrer ENABLE TRIGGER refuse');
($rc, $out, $err) = run_copy($source, 'modes', $target, 'triggers', '-a', '-t', 'referrer');
is($rc, 0, 'a trigger leaves out a row: exit code');
like($err, qr/warning: loaded 1000 rows of table public\.referrer, but the target stored 999\n.*detail: A BEFORE INSERT trigger/,
	'a trigger leaves out a row: a warning');
is(value($target, 'triggers', 'SELECT count(*) FROM referrer'), 999,
	'a trigger leaves out a row: the others are committed');

# a trigger that reads a view
sql($target, 'triggers', q{TRUNCATE referrer; CREATE VIEW one AS SELECT 1 AS one;
	CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM one FROM public.one; RETURN NEW; END'});
copy_ok($source, 'modes', $target, 'triggers', 'a trigger that reads a view', '-a', '-t', 'referrer');
is(value($target, 'triggers', 'SELECT count(*) FROM referrer'), 1000,
	'a trigger that reads a view: all rows');

# partitions elsewhere, of which one cannot be reached
make_database($source, 'tiered');
make_loop_server($source, 'tiered');
sql($source, 'tiered', q{CREATE TABLE far (id int, t text);
	CREATE TABLE root (id int, t text) PARTITION BY RANGE (id);
	CREATE TABLE near PARTITION OF root FOR VALUES FROM (0) TO (100);
	CREATE FOREIGN TABLE reached PARTITION OF root FOR VALUES FROM (100) TO (200)
		SERVER loop OPTIONS (table_name 'far');
	INSERT INTO root SELECT g, 'row' FROM generate_series(1, 199) g});
make_database($target, 'tiered');
copy_ok($source, 'tiered', $target, 'tiered', 'a foreign partition', '-j2');
is(value($target, 'tiered', 'SELECT count(*) FROM root'), 199, 'a foreign partition: read');
sql($source, 'tiered', q{ALTER FOREIGN TABLE reached OPTIONS (SET table_name 'nothing')});
($rc, $out, $err) = run_copy($source, 'tiered', $target, 'tiered', '--clean');
is($rc, 0, 'statistics that cannot be had: exit code') or diag($err);
like($err, qr/warning: could not analyze table (ONLY )?public\.root: ERROR:  relation "public\.nothing" does not exist.*hint: Run ANALYZE on this table later/s,
	'statistics that cannot be had: warning');

# our extension, which the target's server lacks
SKIP:
{
	skip 'the installation is not the tests\' own' if !defined $installation;
	my $control = installed_at($installation, '--sharedir') . '/extension/pg_pardump.control';
	make_database($_, 'extended') foreach ($source, $target);
	sql($source, 'extended', 'CREATE EXTENSION pg_pardump; CREATE TABLE t AS SELECT 1 AS a;
		REVOKE ALL ON FUNCTION pardump.pg_pardump_last_read FROM PUBLIC;
		REVOKE ALL ON pardump.pg_pardump_lock FROM PUBLIC');
	rename $control, "$control.away" or die "could not rename \"$control\": $!";
	copy_ok($source, 'extended', $target, 'extended', 'no extension on the target');
	rename "$control.away", $control or die "could not rename \"$control\": $!";
	is(value($target, 'extended', 'TABLE t'), 1, 'no extension on the target: rows');
	my $schema = q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump'};
	is(value($target, 'extended', $schema), 0, 'no extension on the target: its schema does not exist');
	sql($source, 'extended', 'CREATE TABLE pardump.t AS SELECT 2 AS a');
	make_database($target, 'extended2');
	rename $control, "$control.away" or die "could not rename \"$control\": $!";
	copy_ok($source, 'extended', $target, 'extended2', 'something else in its schema');
	rename "$control.away", $control or die "could not rename \"$control\": $!";
	is(value($target, 'extended2', 'TABLE pardump.t'), 2, 'something else in its schema: rows');
	sql($source, 'extended', 'DROP TABLE pardump.t');
}

# and which it has, with its schema
make_database($_, 'extended3') foreach ($source, $target);
sql($_, 'extended3', 'CREATE EXTENSION pg_pardump') foreach ($source, $target);
sql($source, 'extended3', 'CREATE TABLE t AS SELECT 1 AS a');
copy_ok($source, 'extended3', $target, 'extended3', 'the extension is on the target');
is(value($target, 'extended3', 'TABLE t'), 1, 'the extension is on the target: rows');

# and which only a superuser could make there
make_database($source, 'extended4');
sql($source, 'extended4', 'CREATE EXTENSION pg_pardump; CREATE TABLE t AS SELECT 1 AS a');
sql($target, 'postgres', 'CREATE ROLE plain LOGIN');
make_database($target, 'extended4', options => 'OWNER plain TEMPLATE template0');
($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr('extended4'), '-O', '-x',
	'--target', $target->connstr('extended4') . ' user=plain');
is($rc, 0, 'the target\'s role may not make the extension: exit code') or diag($err);
is(value($target, 'extended4', 'TABLE t'), 1, 'the target\'s role may not make the extension: rows');
is(value($target, 'extended4', q{SELECT count(*) FROM pg_extension, pg_namespace
	WHERE extname = 'pg_pardump' OR nspname = 'pardump'}), 0, 'the target\'s role may not make the extension: left out');

# a database that is created has none, also if the one that is connected to
# first has it
sql($target, 'postgres', 'CREATE EXTENSION pg_pardump');
my $archive = new_path('extended3');
is((run_program('pg_pardump', '--no-sync', '-d', $source->connstr('extended3'), '-f', $archive))[0], 0, 'an archive with the extension');
foreach my $command (
	[ 'pg_pardump', '-d', $source->connstr('extended3'), '--target', $target->connstr('postgres'), '--create' ],
	[ 'pg_parrestore', '-d', $target->connstr('postgres'), '--create', '--exit-on-error', $archive ])
{
	sql($target, 'postgres', 'DROP DATABASE extended3');
	($rc, $out, $err) = run_program(@$command);
	is($rc, 0, "$command->[0] --create, the extension is in the database connected to: exit code") or diag($err);
	is(value($target, 'extended3', q{SELECT count(*) FROM t, pg_extension WHERE extname = 'pg_pardump'}), 1,
		"$command->[0] --create: rows and extension");
}
sql($target, 'postgres', 'DROP EXTENSION pg_pardump; DROP SCHEMA pardump');

# the schema public, of which -n has a statement, is in every new database
make_database($source, 'publicly');
sql($source, 'publicly', q{ALTER SCHEMA public OWNER TO owner; COMMENT ON SCHEMA public IS 'ours';
	CREATE TABLE t AS SELECT 1 AS a});
my $of_public = q{SELECT nspowner::regrole, obj_description(oid, 'pg_namespace'), (SELECT a FROM public.t)
	FROM pg_namespace WHERE nspname = 'public'};
make_database($target, 'publicly');
copy_ok($source, 'publicly', $target, 'publicly', '-n public', '-n', 'public');
is(value($target, 'publicly', $of_public), 'owner|ours|1', '-n public: as it was');
sql($target, 'publicly', 'DROP SCHEMA public CASCADE');
copy_ok($source, 'publicly', $target, 'publicly', '-n public, which is not there', '-n', 'public');
is(value($target, 'publicly', $of_public), 'owner|ours|1', '-n public, which is not there: made');
sql($target, 'postgres', 'DROP DATABASE publicly');
copy_ok($source, 'publicly', $target, 'postgres', '-C -n public', '-C', '-n', 'public');
is(value($target, 'publicly', $of_public), 'owner|ours|1', '-C -n public: as it was');

# other columns there
sql($target, 'triggers', 'TRUNCATE made; ALTER TABLE made ALTER e TYPE text');
($rc, $out, $err) = run_copy($source, 'modes', $target, 'triggers', '-v', '-a', '-t', 'made');
is($rc, 0, 'another type there: exit code');
like($err, qr/table public\.made: format text \(reason: its columns differ between source and target\)/,
	'another type there: text');
is(value($target, 'triggers', 'SELECT count(*) FROM made'), 1000, 'another type there: all rows');

# types of the same name that are made of others
make_database($_, 'namesakes') foreach ($source, $target);
sql($source, 'namesakes', 'CREATE DOMAIN d AS int4; CREATE TYPE r AS RANGE (subtype = int8);
	CREATE TABLE t (d d, r r); INSERT INTO t VALUES (7, $$[1,3)$$)');
sql($target, 'namesakes', 'CREATE DOMAIN d AS float4; CREATE TYPE r AS RANGE (subtype = float8);
	CREATE TABLE t (d d, r r)');
($rc, $out, $err) = run_copy($source, 'namesakes', $target, 'namesakes', '-a');
is($rc, 0, 'namesakes of types there: exit code') or diag($err);
is(value($target, 'namesakes', 'TABLE t'), '7|[1,3)', 'namesakes of types there: values');

copy_refused_ok(qr/table public\.made does not exist on the target/, 'no table there',
	$source, 'modes', $target, 'postgres', '-a', '-t', 'made');

# ---- the database itself

sql($source, 'postgres', q{COMMENT ON DATABASE modes IS 'with all';
	ALTER DATABASE modes SET work_mem = '5MB'; GRANT CONNECT ON DATABASE modes TO reader});
my $config = q{SELECT shobj_description(d.oid, 'pg_database'), s.setconfig,
	has_database_privilege('reader', d.oid, 'CONNECT')
	FROM pg_database d JOIN pg_db_role_setting s ON s.setdatabase = d.oid
	WHERE datname = 'modes'};
foreach my $options ([ '--create' ], [ '-C', '-c' ])
{
	my $is_whole = $all || $options->[0] eq '-C';
	copy_ok($source, 'modes', $target, 'postgres', "@$options", '-j2', @$options, $is_whole ? () : ('-t', 'root', '-t', 'leaf1'));
	is(value($target, 'postgres', $config), 'with all|{work_mem=5MB}|t',
		"@$options: the database's own");
	same_as_stock_ok('modes', "@$options") if $is_whole;
}

# ---- owners and privileges

make_database($target, 'plainly');
copy_ok($source, 'modes', $target, 'plainly', '-O -x', '-O', '-x', '-j2', '--no-comments');
is( value($target, 'plainly',
		'SELECT relowner::regrole, relacl FROM pg_class WHERE oid = $$plain$$::regclass'),
	(getpwuid($<))[0] . '|', '-O -x: owner and privileges');

# ---- refusals

copy_refused_ok(qr/source and target are the same database, "modes"/,
	'the same database', $source, 'modes', $source, 'modes');
copy_refused_ok(qr/source and target are the same database, "modes"/,
	'the same database to be created', $source, 'modes', $source, 'postgres', '-C', '-c');
make_database($source, 'beside');
copy_ok($source, 'modes', $source, 'beside', 'another database of the same server', '-j2', $all ? () : ('-t', 'root', '-t', 'leaf1'));
foreach my $try (
	[ qr/options --target and -f\/--file cannot be used together/, '-f', 'x' ],
	[ qr/options --target and -Z\/--compress cannot be used together/, '-Z', 'none' ],
	[ qr/invalid value "csv" for option --copy-format\n.*hint: Use "auto", "raw", "binary" or "text"\.\n/, '--copy-format=csv' ],
	[ qr/--index-jobs must be in range 1\.\.4096/, '--index-jobs=0' ],
	[ qr/options (?=.*-s\/--schema-only)(?=.*-a\/--data-only).+ cannot be used together/, '-s', '-a' ])
{
	my ($message, @options) = @$try;
	copy_refused_ok($message, "@options", $source, 'modes', $target, 'postgres', @options);
}
foreach my $option ('--copy-format=text', '--index-jobs=2', '--no-analyze')
{
	my ($name) = $option =~ /^([^=]+)/;
	my ($rc, undef, $err) =
	  run_program('pg_pardump', '-d', $source->connstr('modes'), '-f', 'x', $option);
	is($rc, 1, "$name without --target: exit code");
	like($err, qr/option $name requires option --target/, "$name without --target: message");
}
($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('modes'),
	'--target', 'host=/nonexistent dbname=x');
is($rc, 1, 'no such server: exit code');
like($err, qr/connection to server on socket .* failed/, 'no such server: message');

# ---- what fails

make_database($target, 'failing');
sql($target, 'failing', 'CREATE TYPE mood AS ENUM ()');
$err = copy_refused_ok(
	qr/type "mood" already exists.*Command was: CREATE TYPE public\.mood.*invalid input value for enum/s,
	'a type is there', $source, 'modes', $target, 'failing');

# an index that cannot be built: two rows that are equal on the target only
make_database($target, 'duplicates');
sql($target, 'duplicates', 'CREATE SCHEMA inner_part');
copy_ok($source, 'modes', $target, 'duplicates', 'schema for duplicates', '-s', '-t', 'root',
	'-t', 'leaf1', '-t', 'inner_part.leaf2', '--section=pre-data');
sql($target, 'duplicates', q{CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN NEW.id = NEW.id / 2 * 2; RETURN NEW; END';
	CREATE TRIGGER again BEFORE INSERT ON leaf1 FOR EACH ROW EXECUTE FUNCTION again()});
($rc, $out, $err) = run_copy($source, 'modes', $target, 'duplicates', '-j2', '-t', 'root',
	'-t', 'leaf1', '-t', 'inner_part.leaf2', '--section=data', '--section=post-data');
is($rc, 1, 'an index fails: exit code');
like($err, qr/could not create unique index "leaf1_pkey"/,
	'an index fails: named');
like($err, qr/All rows were committed on the target \(2 tables\)\./, 'an index fails: account of rows');
is($out, '', 'an index fails: no summary');
is(value($target, 'duplicates', 'SELECT count(*) FROM root'), 1000, 'an index fails: all rows are there');

# objects of the application with the names of ours
make_database($source, 'named');
sql($source, 'named', 'CREATE TABLE a1 AS SELECT 1 AS a; CREATE TABLE a2 AS SELECT 1 AS a; CREATE SEQUENCE s START 5');
make_database($target, 'named');
sql($target, 'named', 'CREATE SEQUENCE s START 1000');
copy_refused_ok(qr/error: the target already contains 1 of the sequences to be created\n.*detail: Sequences: public\.s\.\n/,
	'a sequence is there', $source, 'named', $target, 'named');
sql($target, 'named', q{DROP SEQUENCE s; CREATE FUNCTION late() RETURNS event_trigger LANGUAGE plpgsql AS
	$$BEGIN IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.a1') THEN
		CREATE TABLE public.a2 AS SELECT 2 AS a; END IF; END$$;
	CREATE EVENT TRIGGER late ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION late()});
$err = copy_refused_ok(qr/relation "a2" already exists.*warning: not copying rows of table public\.a2, which could not be created\n/s,
	'a table comes meanwhile', $source, 'named', $target, 'named');
is(value($target, 'named', 'SELECT (SELECT count(*) FROM a1), (SELECT string_agg(a::text, $$,$$) FROM a2)'), '1|2', 'a table is created meanwhile: no row is loaded into it');

# a role that may not ask which server the target is
make_database($target, 'hardened');
sql($target, 'hardened', q{ALTER DATABASE hardened OWNER TO owner;
	REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC});
($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr('modes'), '-O', '-x',
	'-t', 'with_xml', '--target', $target->connstr('hardened') . ' options=-crole=owner');
is($rc, 0, 'without control functions: exit code');
like($err, qr/^pg_pardump: warning: a failover of the target will not be detected\n[^\n]*detail: Role "\w+" may not execute [^\n]* on the target\.\n[^\n]*hint: As a superuser, run in database "\w+" of the target: GRANT EXECUTE ON FUNCTION [^\n]* TO \w+;\n$/,
	'without control functions: a warning');
is(value($target, 'hardened', 'SELECT count(*) FROM with_xml'), 2, 'without control functions: number of rows');

# large objects: what others have granted is in a group that stock pg_restore of 17
# cannot make; an error is the end, unless --clean drops what is in the way
sql($_, 'postgres', 'CREATE ROLE giver') foreach ($source, $target);
make_database($source, 'given');
sql($source, 'given', q{
	SELECT lo_from_bytea(7000 + i, decode(md5(i::text), 'hex')) FROM generate_series(1, 150) i;
	DO $$BEGIN FOR i IN 7001..7150 LOOP
		EXECUTE format('ALTER LARGE OBJECT %s OWNER TO owner', i);
		EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO reader WITH GRANT OPTION', i);
		SET LOCAL SESSION AUTHORIZATION reader;
		EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO giver', i);
		RESET SESSION AUTHORIZATION;
	END LOOP; END$$});
make_database($target, 'given');
sql($target, 'given', q{SELECT lo_from_bytea(7120, 'own')});
foreach my $options ([], ['--check'])
{
	($rc, $out, $err) = run_copy($source, 'given', $target, 'given', '-j2', @$options);
	is($rc, 1, "a large object is there @$options: exit code");
	like("$out$err", qr/error: the target already contains 1 of the large objects to be copied\n/, "a large object is there @$options: message");
}
is(value($target, 'given', 'SELECT count(*), convert_from(lo_get(7120), $$UTF8$$) FROM pg_largeobject_metadata'), '1|own',
	'an existing large object: it is not changed');
# it comes while definitions are made
sql($target, 'given', 'SELECT lo_unlink(7120)');
sql($target, 'given', q{CREATE FUNCTION late() RETURNS event_trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM lo_from_bytea(7120, 'own'); END$$;
	CREATE EVENT TRIGGER late ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION late()});
sql($source, 'given', 'CREATE TABLE small (a int)');
$err = copy_refused_ok(qr/error: the target already contains 1 of the large objects to be copied\n/,
	'a large object comes meanwhile', $source, 'given', $target, 'given', '-j2');
is(value($target, 'given', 'SELECT convert_from(lo_get(7120), $$UTF8$$)'), 'own', 'a large object is created meanwhile: it is not overwritten');
sql($target, 'given', 'DROP EVENT TRIGGER late; DROP FUNCTION late()');
copy_ok($source, 'given', $target, 'given', 'given by others', '-j2', '--clean');
same_database_ok($target, 'given', fingerprint($source, 'given'), schema_text($source, 'given'), 'given by others');

# ---- --clean of a database that has grown: other objects depend on what it drops

make_database($source, 'grown');
sql($source, 'grown', <<'SQL');
CREATE SCHEMA app;
CREATE TYPE app.state AS ENUM ('new', 'done');
CREATE DOMAIN app.amount AS numeric CHECK (VALUE > 0);
CREATE TYPE app.pair AS (a int, s app.state);
CREATE TYPE app.span AS RANGE (subtype = int8);
CREATE SEQUENCE app.numbers;
CREATE FUNCTION app.twice(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * a';
CREATE FUNCTION app.twice(s app.state, text[]) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE PROCEDURE app.proc(INOUT p app.pair) LANGUAGE plpgsql AS 'BEGIN END';
CREATE AGGREGATE app.twices(int) (SFUNC = int4pl, STYPE = int);
CREATE FUNCTION app.same(app.pair, app.pair) RETURNS bool LANGUAGE sql AS 'SELECT $1.a = $2.a';
CREATE OPERATOR app.=== (LEFTARG = app.pair, RIGHTARG = app.pair, FUNCTION = app.same);
CREATE FUNCTION app.from_pair(app.pair) RETURNS int LANGUAGE sql AS 'SELECT $1.a';
CREATE CAST (app.pair AS int) WITH FUNCTION app.from_pair(app.pair);
CREATE TABLE app.orders (id int PRIMARY KEY, s app.state DEFAULT 'new', no bigint DEFAULT nextval('app.numbers'),
	p app.pair, d app.amount DEFAULT app.twice(1), twice int GENERATED ALWAYS AS (app.twice(id)) STORED);
INSERT INTO app.orders (id, p) SELECT g, ROW(g, 'new')::app.pair FROM generate_series(1, 100) g;
CREATE INDEX ON app.orders (app.twice(id));
CREATE TABLE app.items (id serial, orders int REFERENCES app.orders);
INSERT INTO app.items (orders) VALUES (1), (2);
CREATE TABLE app.heir (more app.span) INHERITS (app.orders);
CREATE TABLE app.parts (id int PRIMARY KEY, orders int REFERENCES app.orders) PARTITION BY RANGE (id);
CREATE TABLE app.part PARTITION OF app.parts FOR VALUES FROM (0) TO (10);
INSERT INTO app.parts VALUES (1, 1);
CREATE FUNCTION app.total(app.items) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.id + $1.orders';
CREATE INDEX ON app.items (app.total(items));
CREATE VIEW app.grouped AS SELECT id, s, count(*) FROM app.orders GROUP BY id;
CREATE VIEW app.open AS SELECT *, app.twice(id) AS two FROM app.orders WHERE p OPERATOR(app.===) p;
CREATE MATERIALIZED VIEW app.counted AS SELECT count(*) FROM app.open;
CREATE FUNCTION app.body() RETURNS SETOF app.open LANGUAGE sql BEGIN ATOMIC SELECT * FROM app.open; END;
CREATE FUNCTION app.fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER fires BEFORE UPDATE ON app.parts FOR EACH ROW EXECUTE FUNCTION app.fires();
CREATE POLICY positive ON app.orders USING (app.twice(id) > 0);
CREATE RULE nothing AS ON DELETE TO app.items DO INSTEAD NOTHING;
CREATE STATISTICS app.together ON id, no FROM app.orders;
CREATE TYPE app.base;
CREATE FUNCTION app.base_in(cstring) RETURNS app.base LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION app.base_out(app.base) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE app.base (INPUT = app.base_in, OUTPUT = app.base_out, LIKE = text);
CREATE FUNCTION app.before(app.base, int) RETURNS bool LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR app.<<< (LEFTARG = app.base, RIGHTARG = int, FUNCTION = app.before, COMMUTATOR = OPERATOR(app.>>>));
CREATE OPERATOR app.~~~ (RIGHTARG = app.pair, FUNCTION = app.from_pair);
CREATE TEXT SEARCH DICTIONARY app.dict (TEMPLATE = simple);
CREATE TEXT SEARCH CONFIGURATION app.conf (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION app.conf ALTER MAPPING FOR word WITH app.dict;
CREATE OPERATOR FAMILY app.family USING btree;
CREATE OPERATOR CLASS app.class FOR TYPE app.base USING btree FAMILY app.family AS STORAGE app.base;
CREATE FOREIGN DATA WRAPPER wrapper;
CREATE SERVER server FOREIGN DATA WRAPPER wrapper;
CREATE USER MAPPING FOR owner SERVER server;
CREATE FOREIGN TABLE app.far (s app.state) SERVER server;
CREATE FUNCTION app.notes() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER notes ON ddl_command_end WHEN TAG IN ('CREATE RULE') EXECUTE FUNCTION app.notes();
SELECT lo_from_bytea(4711, 'one');
SQL
my @without = ('--no-analyze', '-j2');
my $archive_of_grown = new_path('grown');
run_program('pg_dump', '-Fc', '-f', $archive_of_grown, '-d', $source->connstr('grown'));
my $grown = stock_copy($source, 'grown', $target, $archive_of_grown);
is($grown->{errors}, '', 'grown: stock restores without a message');
make_database($target, 'grown');
copy_ok($source, 'grown', $target, 'grown', 'grown', @without);
same_database_ok($target, 'grown', $grown->{data}, $grown->{schema}, 'grown');
sub clean_grown_ok
{
	my ($what) = @_;
	copy_ok($source, 'grown', $target, 'grown', $what, '--clean', @without);
	same_database_ok($target, 'grown', $grown->{data}, $grown->{schema}, $what);
	return;
}
if ($all)
{
	clean_grown_ok('grown, --clean');
	make_database($target, 'ungrown');
	copy_ok($source, 'grown', $target, 'ungrown', '--clean of an empty database', '--clean', @without);
}
# other objects stay
sql($target, 'grown', 'DROP VIEW app.grouped; CREATE VIEW app.grouped AS SELECT id, id AS other FROM app.orders GROUP BY id;
	CREATE TABLE app2 (a int); CREATE VIEW mine AS SELECT * FROM app2');
copy_ok($source, 'grown', $target, 'grown', '--clean of a view that has other columns', '--clean', @without);
is(value($target, 'grown', 'SELECT count(*) FROM mine'), 0, 'other objects stay');
sql($target, 'grown', 'DROP TABLE app2 CASCADE');
same_database_ok($target, 'grown', $grown->{data}, $grown->{schema}, '--clean of a view that has other columns');
{
	# a read-only serializable transaction that is deferrable would wait for this one
	my $writer = start_psql($target, 'grown');
	$writer->('BEGIN ISOLATION LEVEL SERIALIZABLE; CREATE TEMPORARY TABLE t (a int)');
	sql($target, 'postgres', "ALTER DATABASE grown SET default_transaction_$_") foreach "isolation = 'serializable'", 'deferrable = on';
	my (undef, $checked) = run_copy($source, 'grown', $target, 'grown', '--clean', '--check');
	is(check_list($checked), "no problems found\n", '--clean, deferrable transactions: output of --check');
	sql($target, 'postgres', "ALTER DATABASE grown RESET default_transaction_$_") foreach 'isolation', 'deferrable';
	$writer->('ROLLBACK');
	undef $writer;
}

sub state_of_grown { return { %{ fingerprint($target, 'grown') }, schema => schema_text($target, 'grown') }; }

# pg_restore in one transaction fails, too, and so shows that nothing less is refused.
sub fails_by_stock_ok
{
	my ($what) = @_;
	my ($rc) = run_program('pg_restore', '-1', '--clean', '--if-exists', '-d', $target->connstr('grown'), $archive_of_grown);
	is($rc, 1, "$what: pg_restore -1 fails, too");
	return;
}

my $mine = 'CREATE TABLE mine';
my %others = (
	'a view' => [ 'CREATE VIEW mine AS SELECT id FROM app.orders', 'view public.mine (depends on table app.orders)' ],
	'a view on a view' => [ 'CREATE VIEW mine AS SELECT id FROM app.open', 'view public.mine (depends on view app.open)' ],
	'a materialized view' => [ 'CREATE MATERIALIZED VIEW mine AS SELECT id FROM app.part', 'materialized view public.mine (depends on table app.part)' ],
	'a foreign key' => [ "$mine (o int REFERENCES app.orders)", 'constraint mine_o_fkey on table public.mine (depends on index app.orders_pkey)' ],
	'a SQL-body function' => [ 'CREATE FUNCTION mine() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM app.items; END', 'function public.mine() (depends on table app.items)' ],
	'an argument of a row type' => [ q{CREATE FUNCTION mine(app.items) RETURNS int LANGUAGE sql AS 'SELECT 1'}, 'function public.mine(app.items) (depends on type app.items)' ],
	'a default on a sequence' => [ "$mine (a bigint DEFAULT nextval('app.numbers'))", 'default value for column a of table public.mine (depends on sequence app.numbers)' ],
	'a default on the sequence of a column' => [ "$mine (a bigint DEFAULT nextval('app.items_id_seq'))", 'default value for column a of table public.mine (depends on sequence app.items_id_seq)' ],
	'a column of a type' => [ "$mine (s app.state)", 'column s of table public.mine (depends on type app.state)' ],
	'a column of an array' => [ "$mine (s app.state[])", 'column s of table public.mine (depends on type app.state[])' ],
	'a composite type' => [ 'CREATE TYPE mine AS (s app.amount)', 'type public.mine (depends on type app.amount)' ],
	'an index on a function' => [ "$mine (a int); CREATE INDEX mine_index ON mine (app.twice(a))", 'index public.mine_index (depends on function app.twice(integer))' ],
	'a trigger' => [ "$mine (a int); CREATE TRIGGER t AFTER DELETE ON mine FOR EACH ROW EXECUTE FUNCTION app.fires()", 'trigger t on table public.mine (depends on function app.fires())' ],
	'an heir' => [ "$mine () INHERITS (app.items)", 'table public.mine (depends on table app.items)' ],
	'a table in the schema' => [ 'CREATE TABLE app."mi,ne" ()', 'table app."mi,ne" (depends on schema app)' ],
	'a server' => [ 'CREATE SERVER mine FOREIGN DATA WRAPPER wrapper', 'server mine (depends on foreign-data wrapper wrapper)' ]);
# These go with a base type, which is dropped with CASCADE.
my $shell = q{CREATE FUNCTION mine(%1$s, %1$s) RETURNS bool LANGUAGE sql AS 'SELECT true';
	CREATE OPERATOR === (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = mine, COMMUTATOR = OPERATOR(public.====));
	DROP OPERATOR === (%1$s, %1$s); DROP FUNCTION mine(%1$s, %1$s)};
my %of_base_type = (
	'a column of a base type' => [ "$mine (b app.base)", 'column b of table public.mine (depends on type app.base)', 'TABLE mine' ],
	'an operator of the same name' => [ q{CREATE FUNCTION mine(app.base, app.base) RETURNS bool LANGUAGE sql AS 'SELECT true';
		CREATE OPERATOR app.<<< (LEFTARG = app.base, RIGHTARG = app.base, FUNCTION = mine)}, 'operator app.<<<(app.base,app.base) (depends on schema app)', 'FUNCTION mine CASCADE' ],
	'a shell operator of a base type' => [ sprintf($shell, 'app.base'), 'operator public.====(app.base,app.base) (depends on type app.base)', 'OPERATOR ==== (app.base, app.base)' ],
	'an operator class of the same name' => [ 'CREATE OPERATOR CLASS app.class FOR TYPE app.base USING hash AS STORAGE app.base', 'operator class app.class for access method hash (depends on schema app)', 'OPERATOR FAMILY app.class USING hash CASCADE' ]);
%others = (%others, %of_base_type,
	'an operator of the same name, not of a base type' => [ q{CREATE FUNCTION mine(app.orders) RETURNS int LANGUAGE sql AS 'SELECT 1';
		CREATE OPERATOR app.~~~ (RIGHTARG = app.orders, FUNCTION = mine)}, 'operator app.~~~(NONE,app.orders) (depends on schema app)', 'FUNCTION mine CASCADE' ],
	'a shell operator of an enum' => [ sprintf($shell, 'app.state'), 'operator public.====(app.state,app.state) (depends on type app.state)', 'OPERATOR ==== (app.state, app.state)' ],
	'an operator family of the same name' => [ 'CREATE OPERATOR FAMILY app.family USING hash', 'operator family app.family for access method hash (depends on schema app)', 'OPERATOR FAMILY app.family USING hash' ]);
my $before_grown = state_of_grown();

# --clean is refused because of all of these, whose names get numbers.  Messages name up to
# ten objects.
sub others_refused_ok
{
	my ($what, @whats) = @_;
	my (@found, @drop);
	foreach my $n (1 .. @whats)
	{
		my ($sql, $found, $name) = map { defined $_ ? s/\bmine(?![a-z])/mine$n/gr : undef } @{ $others{ $whats[ $n - 1 ] } };
		sql($target, 'grown', $sql);
		push @found, $found;
		push @drop, $name // ($sql =~ /^CREATE (MATERIALIZED VIEW|\w+) (mine\d+\b(?:\([\w.]*\))?|app\."mi,ne")/ ? "$1 $2" : die);
	}
	my $before = state_of_grown();
	fails_by_stock_ok($what) if grep { !$of_base_type{$_} } @whats;
	my $err = copy_refused_ok(
		qr/\Apg_pardump: error: --clean cannot drop objects with (?:1 dependent object|\d+ dependent objects) on the target\npg_pardump: detail: [^\n]*\.\npg_pardump: hint: [^\n]*\n\z/,
		$what, $source, 'grown', $target, 'grown', '--clean');
	like($err, qr/detail: [^\n]*\Q$found[$_]\E/, "$whats[$_]: found") foreach 0 .. $#whats;
	cmp_ok($err =~ /with (\d+) dependent/ ? $1 : 0, '<=', 2 * @whats, "$what: number of objects");
	is_deeply(state_of_grown(), $before, "$what: nothing was changed");
	sql($target, 'grown', "DROP $_") foreach @drop;
	return;
}

my @whats = sort keys %others;
if ($all)
{
	others_refused_ok($_, $_) foreach @whats;
}
else
{
	while (my @some = splice @whats, 0, 6) { others_refused_ok("$some[0] to $some[-1]", @some); }
}
is_deeply(state_of_grown(), $before_grown, 'the others are gone');

# --check finds it, however many there are
sql($target, 'grown', join ';', map { "CREATE VIEW mine$_ AS SELECT id FROM app.orders" } 1 .. 11);
my (undef, $list) = run_copy($source, 'grown', $target, 'grown', '--clean', '--check');
like(check_list($list), qr/\Aerror: --clean cannot drop objects with 11 dependent objects on the target\n  detail: Dependent objects: view public\.mine1 \(.*\), view public\.mine8 \(depends on table app\.orders\) and 1 more\.\n  hint: .*\n1 problem \(errors: 1, warnings: 0\); a run would fail\n\z/,
	'--check: found');
(undef, $list) = run_copy($source, 'grown', $target, 'grown', '--clean', '--check', '-t', 'app.heir');
is(check_list($list), "no problems found\n", '--check of another table: no problems');
sql($target, 'grown', join ';', map { "DROP VIEW mine$_" } 1 .. 11);

# Partitions that the source does not have go with their table; what depends on
# nothing stays.
sql($target, 'grown', 'CREATE TABLE more PARTITION OF app.parts FOR VALUES FROM (10) TO (20)');
sql($target, 'postgres', 'ALTER DATABASE grown SET quote_all_identifiers = on');
copy_ok($source, 'grown', $target, 'grown', 'a partition, quote_all_identifiers', '--clean', @without);
sql($target, 'postgres', 'ALTER DATABASE grown RESET quote_all_identifiers');
same_database_ok($target, 'grown', $grown->{data}, $grown->{schema}, 'a partition, quote_all_identifiers');
sql($target, 'grown', 'CREATE TABLE more PARTITION OF app.parts FOR VALUES FROM (10) TO (20); INSERT INTO more VALUES (11)');
copy_refused_ok(qr/dependent object on the target\n.*detail: Dependent objects: table public\.more \(depends on table app\.parts\)\./, 'a partition with rows', $source, 'grown', $target, 'grown', '--clean');
is(value($target, 'grown', 'SELECT count(*) FROM more'), 1, 'a partition with rows: number of rows');
sql($target, 'grown', 'DROP TABLE more; CREATE FUNCTION app.twice(bigint) RETURNS app.state LANGUAGE sql AS $$SELECT NULL::app.state$$');
copy_refused_ok(qr/detail: Dependent objects: function app\.twice\(bigint\) /, 'a function of the same name', $source, 'grown', $target, 'grown', '--clean');
sql($target, 'grown', 'DROP FUNCTION app.twice(bigint)');

# The index of a constraint has an operator class, which is dropped before its
# table, because a function that comes before operator classes needs the table.
make_database($_, 'classes') foreach $source, $target;
my %compares = ('<' => 'lt', '<=' => 'le', '=' => 'eq', '>=' => 'ge', '>' => 'gt');
sql($source, 'classes', join ';', 'CREATE TYPE pair AS (x int)',
	(map { ("CREATE FUNCTION pair_$compares{$_}(pair, pair) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'record_$compares{$_}'",
		"CREATE OPERATOR $_ (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_$compares{$_})") } sort keys %compares),
	"CREATE FUNCTION pair_cmp(pair, pair) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btrecordcmp'",
	'CREATE OPERATOR CLASS pairs DEFAULT FOR TYPE pair USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 pair_cmp(pair, pair)',
	'CREATE TABLE pairs (p pair UNIQUE)', "CREATE FUNCTION of(pairs) RETURNS int LANGUAGE sql AS 'SELECT 1'", 'INSERT INTO pairs VALUES (row(1))');
is((run_copy($source, 'classes', $target, 'classes'))[0], 0, 'an operator class of a constraint: a copy');
($rc, undef, $err) = run_copy($source, 'classes', $target, 'classes', '--clean');
is("$rc$err", '0', 'an operator class of a constraint: --clean');

# What belongs to another role, or to an extension; by the rules of the server's
sql($target, 'grown', 'ALTER EXTENSION plpgsql ADD FUNCTION app.twice(int); ALTER EXTENSION plpgsql ADD TABLE app.part');
my $of_extension = qr/--clean cannot drop 2 of the objects that are to be copied\n.*detail: Objects: function app\.twice\(integer\) \(belongs to extension plpgsql\), table app\.part \(belongs to extension plpgsql\)\.\n.*hint: .*\n/i;
$before_grown = state_of_grown();
fails_by_stock_ok('objects of an extension');
copy_refused_ok(qr/\Apg_pardump: error: $of_extension\z/, 'objects of an extension', $source, 'grown', $target, 'grown', '--clean');
is_deeply(state_of_grown(), $before_grown, 'objects of an extension: nothing was changed');
(undef, $list) = run_copy($source, 'grown', $target, 'grown', '--clean', '--check');
like(check_list($list), qr/\Aerror: ${of_extension}1 problem \(errors: 1, warnings: 0\); a run would fail\n\z/, 'objects of an extension: --check');
sql($target, 'grown', 'ALTER EXTENSION plpgsql DROP FUNCTION app.twice(int); ALTER EXTENSION plpgsql DROP TABLE app.part');
make_database($_, 'owned') foreach $source, $target;
sql($source, 'owned', 'CREATE TABLE a AS SELECT 1 AS g; CREATE TABLE b AS SELECT 1 AS g; CREATE VIEW seen AS SELECT g FROM b; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$SELECT 1$$');
sql($target, 'owned', 'CREATE ROLE mover LOGIN; CREATE ROLE mine; GRANT CREATE ON SCHEMA public TO mover');
my @move = ('pg_pardump', '-d', $source->connstr('owned'), '--no-owner', '--no-analyze', '--target=' . $target->connstr('owned') . ' user=mover');
is((run_program(@move))[0], 0, 'objects of a role: a copy');
is((run_program(@move, '--clean'))[0], 0, 'objects of a role: --clean');
# a key of a table that is dropped after the table that it refers to
sql($target, 'owned', 'ALTER TABLE b ADD PRIMARY KEY (g); ALTER TABLE a ADD CONSTRAINT mine FOREIGN KEY (g) REFERENCES b');
($rc, undef, $err) = run_program(@move, '--clean');
is($rc, 1, 'a key between two tables that are dropped: exit code');
like($err, qr/\Apg_pardump: error: --clean cannot drop objects with 1 dependent object on the target\n.*detail: Dependent objects: constraint mine on table public\.a \(depends on index public\.b_pkey\)\.\n.*hint: .*\n\z/,
	'a key between two tables that are dropped: message');
sql($target, 'owned', 'ALTER TABLE a DROP CONSTRAINT mine');
# the other way round it goes with its table
sql($target, 'owned', 'ALTER TABLE b DROP CONSTRAINT b_pkey; ALTER TABLE a ADD PRIMARY KEY (g); ALTER TABLE b ADD CONSTRAINT mine FOREIGN KEY (g) REFERENCES a');
is((run_program(@move, '--clean'))[0], 0, 'a key of a table that is dropped first: --clean');
sql($target, 'owned', "ALTER $_ OWNER TO mine") foreach 'TABLE a', 'VIEW seen', 'FUNCTION f()';
foreach my $by ([ 'mover' ], [ '--role', '--role=mover' ])
{
	my ($who, @options) = @$by;
	sql($source, 'owned', 'CREATE ROLE mover SUPERUSER') if @options;
	($rc, undef, $err) = run_program(@move[0 .. 4], @options ? ('--target=' . $target->connstr('owned'), @options) : $move[5], '--clean');
	is($rc, 1, "objects of another role, $who: exit code");
	like($err, qr/\Apg_pardump: error: --clean cannot drop 3 of the objects that are to be copied\n.*detail: Objects: function public\.f\(\) \(belongs to role mine\), table public\.a \(belongs to role mine\), view public\.seen \(belongs to role mine\)\.\n.*hint: .*\n\z/,
		"objects of another role, $who: message");
}
is(value($target, 'owned', 'SELECT count(*) FROM a, b'), 1, 'objects of another role: nothing was dropped');
my $subscription = "SUBSCRIPTION sub CONNECTION '' PUBLICATION pub WITH (connect = false, slot_name = NONE)";
foreach my $node ($source, $target)
{
	sql($node, 'owned', "CREATE $_") foreach 'PUBLICATION pub FOR TABLE b', 'STATISTICS stat ON g, (g + 1) FROM b', $subscription;
}
($rc, undef, $err) = run_program(@move, '--clean');
is($rc, 1, 'other kinds of objects of another role: exit code');
like($err, qr/\Apg_pardump: error: --clean cannot drop 6 of the objects that are to be copied\n.*detail: .*\b\Q$_\E \(belongs to role [^)]+\).*\n.*hint: .*\n\z/,
	"$_ of another role: message") foreach 'publication pub', 'statistics object public.stat', 'subscription sub';
foreach my $node ($source, $target) { sql($node, 'owned', "DROP $_") foreach 'PUBLICATION pub', 'STATISTICS stat', 'SUBSCRIPTION sub'; }
# a large object
sql($_, 'owned', 'SELECT lo_create(4712)') foreach $source, $target;
($rc, undef, $err) = run_program(@move, '--clean');
is($rc, 1, 'a large object of another role: exit code');
like($err, qr/^pg_pardump: error: --clean cannot drop 1 of the large objects that are to be copied\n.*detail: .*\n.*hint: .*--no-large-objects\.\n/m,
	'a large object of another role: message');
sql($target, 'owned', 'ALTER LARGE OBJECT 4712 OWNER TO mover');
(undef, undef, $err) = run_program(@move, '--clean');
unlike($err, qr/large object/, 'a large object of the role: no error');
sql($_, 'owned', 'SELECT lo_unlink(4712)') foreach $source, $target;
# a subscription of another database is none of this one's
make_database($target, 'subscribed');
sql($source, 'owned', "CREATE $subscription");
sql($target, 'subscribed', "CREATE $subscription");
sql($target, 'owned', 'ALTER SCHEMA public OWNER TO mover; GRANT CREATE ON DATABASE owned TO mover');
is(check_list((run_program(@move, '--clean', '--check'))[1]), "no problems found\n", 'a subscription of another database: --clean --check');
sql($source, 'owned', 'DROP SUBSCRIPTION sub; CREATE PUBLICATION pub FOR TABLE b; CREATE STATISTICS stat ON g, (g + 1) FROM b');
is((run_program(@move, '--clean'))[0], 0, 'objects of another role in a schema of the own');
is((run_program(@move, '--clean'))[0], 0, 'a publication and statistics of the role: --clean');
# relations of another kind
sql($target, 'owned', 'DROP TABLE a; CREATE VIEW a AS SELECT 1 AS g; CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
	DROP VIEW seen; CREATE FOREIGN TABLE seen (g int) SERVER s; ALTER TABLE a OWNER TO mover; ALTER TABLE seen OWNER TO mover');
($rc, undef, $err) = run_program(@move, '--clean');
is($rc, 1, 'relations of another kind: exit code');
like($err, qr/\Apg_pardump: error: --clean cannot drop 2 of the objects that are to be copied\n.*detail: Objects: foreign table public\.seen \(cannot be dropped by DROP VIEW\), view public\.a \(cannot be dropped by DROP TABLE\)\.\n.*hint: .*\n\z/,
	'relations of another kind: message');

# ---- --clean that fails at its end: all of it is rolled back

sql($target, 'grown', q{CREATE FUNCTION guard() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'guarded'; END$$;
	CREATE EVENT TRIGGER guard ON ddl_command_start WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION guard()});
$before_grown = state_of_grown();
fails_by_stock_ok('a guard');
$err = copy_refused_ok(
	qr/\Apg_restore: error: could not execute query: ERROR:  guarded\n.*\tCommand was: DROP SCHEMA IF EXISTS app;\n.*pg_pardump: error: --clean could not drop the objects that are to be copied\npg_pardump: detail: The transaction that drops them was rolled back\.\npg_pardump: hint: Fix the cause, [^\n]*\n\z/s,
	'a guard', $source, 'grown', $target, 'grown', '--clean');
is_deeply(state_of_grown(), $before_grown, 'a guard: nothing was changed');

# A lost session does the same, also while it removes large objects.
sql($target, 'grown', 'DROP EVENT TRIGGER guard');
sql($_, 'grown', 'SELECT lo_create(4713)') foreach $source, $target;
foreach my $held ('LOCK TABLE app.orders IN ACCESS SHARE MODE', 'SELECT lo_unlink(4713)')
{
	$before_grown = state_of_grown();
	my $holder = start_psql($target, 'grown');
	$holder->($_) foreach 'BEGIN', $held;
	my $copy = start_copy($source, 'grown', $target->connstr('grown'), '--clean', @without);
	my $blocked = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_restore' AND wait_event_type = 'Lock'};
	terminate($target, wait_in_run($copy, "$held: pg_restore waits", sub { value($target, 'postgres', $blocked) }));
	is(end_dump($copy), 1, "a lost session, $held: exit code");
	like($copy->{err}, qr/terminating connection.*error: --clean could not drop the objects that are to be copied\n.*was rolled back\.\n[^\n]*hint: Fix the cause, [^\n]*\n\z/s,
		"a lost session, $held: message");
	$holder->('ROLLBACK');
	$holder->();
	is_deeply(state_of_grown(), $before_grown, "a lost session, $held: nothing was changed");
}
sql($_, 'grown', 'SELECT lo_unlink(4713)') foreach $source, $target;

# A subscription with a slot cannot be dropped in a transaction, and here not at all.
sql($_, 'grown', q{CREATE SUBSCRIPTION idle CONNECTION 'host=/nowhere' PUBLICATION p WITH (connect = false, slot_name = 'idle')}) foreach $source, $target;
$before_grown = state_of_grown();
copy_refused_ok(qr/could not connect to (?:the )?publisher .*pg_pardump: error: --clean could not drop the subscriptions\n[^\n]*detail: Nothing else was dropped\.\n[^\n]*hint: On the target, run ALTER SUBSCRIPTION [^\n]*\n\z/s,
	'a subscription', $source, 'grown', $target, 'grown', '--clean');
is_deeply(state_of_grown(), $before_grown, 'a subscription: nothing was changed');
sql($target, 'grown', q{ALTER SUBSCRIPTION idle SET (slot_name = NONE);
	CREATE EVENT TRIGGER guard ON ddl_command_start WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION guard()});
copy_refused_ok(qr/detail: The transaction that drops them was rolled back\.  Subscriptions had been dropped before\.\n[^\n]*hint: Fix the cause, and run the same command again\.\n\z/,
	'a subscription and a guard', $source, 'grown', $target, 'grown', '--clean');
is(value($target, 'grown', 'SELECT count(*) FROM app.orders'), 100, 'a subscription and a guard: rows');
sql($target, 'grown', 'DROP EVENT TRIGGER guard; DROP FUNCTION guard()');
sql($source, 'grown', 'ALTER SUBSCRIPTION idle SET (slot_name = NONE); DROP SUBSCRIPTION idle');

# Too little room for the locks of one transaction
$target->append_conf('postgresql.conf', "max_locks_per_transaction = 10\nmax_connections = 12");
$target->restart;
($rc, $out, $err) = run_copy($source, 'grown', $target, 'grown', '--clean', @without);
is($rc, 0, 'a small lock table: exit code');
like($err, qr/\Apg_pardump: warning: the lock table of the target is too small to drop \d+ objects in one transaction\n.*detail: .*\n.*hint: Increase max_locks_per_transaction.*\n\z/,
	'a small lock table: a warning');
same_database_ok($target, 'grown', $grown->{data}, $grown->{schema}, 'a small lock table');

is(sessions_left($source, $target), 0, 'no session is left');

$source->stop;
$target->stop;
done_testing();
