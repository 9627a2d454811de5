# Tables whose definition or files change between the snapshot and the locks: no
# run may end well with other values or rows than the snapshot's, whenever that
# was, and whether pg_dump held its locks until the leader had its own; and what
# pg_dump survives must end no run.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok nothing_remains_ok
  wait_until);
use Pardump::Cluster qw(start_cluster make_database new_path sql value restore_ok
  pg_major start_psql);
use Pardump::Command qw(changing_pg_dump);
use Pardump::Copy qw(run_copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('definitions', allows_streaming => 'logical');
make_database($node, 'app');
sql($node, 'app', <<'SQL');
CREATE ROLE dumper LOGIN REPLICATION;
CREATE ROLE other;
CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	SET LOCAL client_min_messages = warning;
	DROP SCHEMA IF EXISTS s, s2, s3 CASCADE;
	CREATE SCHEMA s;
	CREATE SCHEMA s2;
	CREATE TABLE s.t (id int PRIMARY KEY, a text, b text, v varchar(10), at timestamp);
	CREATE TABLE s2.t (LIKE s.t);
	INSERT INTO s.t SELECT g, 'A' || g, 'B' || g, 'V' || g, '2026-01-01 12:00'
		FROM generate_series(1, 100) g;
	CREATE TABLE s.secret AS SELECT g AS id, 'S' || g AS word FROM generate_series(1, 10) g;
	ALTER TABLE s.secret ENABLE ROW LEVEL SECURITY;
	CREATE POLICY every ON s.secret USING (true);
	CREATE TABLE s.bare ();
	INSERT INTO s.bare DEFAULT VALUES;
	CREATE TABLE s.parent (LIKE s.t) PARTITION BY RANGE (id);
	GRANT USAGE ON SCHEMA s, s2 TO dumper;
	GRANT SELECT ON ALL TABLES IN SCHEMA s, s2 TO dumper;
END $$;
CREATE TABLE filler AS SELECT g, repeat(md5(g::text), 100) AS t FROM generate_series(1, 500) g;
GRANT SELECT ON filler TO dumper;
SELECT make_tables();
SQL
my $connstr = $node->connstr('app');
my $rows = 'SELECT count(*), count(*) FILTER (WHERE a = \'A\' || id AND b = \'B\' || id'
  . ' AND v = \'V\' || id AND at = \'2026-01-01 12:00\') FROM s.t';
my @moments = ('before', 'after', 'ended');

# A dump by the superuser, all of whose rows are as they were: after SQL that does
# no harm, at each moment.
sub survives_ok
{
	my ($what, $sql, $warning, @options) = @_;
	foreach my $when (@moments)
	{
		my $dump = start_dump($connstr, '-j2', @options,
			'--pg-dump', changing_pg_dump($connstr, $when, $sql));
		is(end_dump($dump), 0, "$what, $when: exit code");
		like($dump->{err}, $warning, "$what, $when: message");
		sql($node, 'postgres', 'CREATE DATABASE copy');
		restore_ok($node, $dump->{dir}, 'copy', "$what, $when");
		is(value($node, 'copy', $rows), '100|100', "$what, $when: the snapshot's rows");
		is(value($node, 'copy', 'SELECT count(*) FROM s.secret'), 10, "$what, $when: all rows of the table are dumped");
		sql($node, 'postgres', 'DROP DATABASE copy');
		sql($node, 'app', 'SELECT make_tables()');
	}
	return;
}

# SQL that must end the run, "after" pg_dump, or "always": at each moment.
sub ends_ok
{
	my ($moments, $what, $sql, $message, @options) = @_;
	foreach my $when ($moments eq 'always' ? @moments : $moments)
	{
		my $dump = start_dump($connstr, @options,
			'--pg-dump', changing_pg_dump($connstr, $when, $sql));
		dump_failed_ok($node, $dump, "$what, $when", $message);
		sql($node, 'app', 'SELECT make_tables()');
	}
	return;
}

sub changed
{
	my ($table, $part) = @_;
	return qr/error: table s\.$table was changed after the snapshot was taken
pg_pardump: detail: The $part of the table differs? from the snapshot\.
pg_pardump: hint: Run the same command again\.\n/;
}
my $rewritten = qr/table s\.t was rewritten after the snapshot was taken
pg_pardump: detail: .*TRUNCATE, ALTER TABLE or REPACK \(CONCURRENTLY\)\. .*VACUUM FULL, CLUSTER/;
my $rewritten_error = qr/error: $rewritten.*\n.*hint: Run the same command again, or use --allow-rewritten/;

# ---- what would be dumped is not what the snapshot has

ends_ok('always', 'a column dropped and added again', q{ALTER TABLE s.t DROP b, ADD b text DEFAULT 'new'},
	changed('t', 'columns'));
ends_ok('always', 'two names swapped', 'ALTER TABLE s.t RENAME a TO c; ALTER TABLE s.t RENAME b TO a;
	ALTER TABLE s.t RENAME c TO b', changed('t', 'columns'));
ends_ok('after', 'a column dropped', 'ALTER TABLE s.t DROP b', changed('t', 'columns'));
ends_ok('after', 'a column of another name', 'ALTER TABLE s.t RENAME b TO c', changed('t', 'columns'));
# in UTC the files stay; then the dump's time zone decides what the text is
ends_ok('after', "another type, in $_", "SET timezone = '$_'; ALTER TABLE s.t ALTER at TYPE timestamptz",
	changed('t', 'columns')) foreach 'UTC', 'Europe/Berlin';
ends_ok('after', 'a column for a table without', 'ALTER TABLE s.bare ADD x int DEFAULT 1', changed('bare', 'columns'));
ends_ok(/TRUNCATE/ ? 'always' : 'after', $_, $_, $rewritten_error)
  foreach 'TRUNCATE s.t', 'ALTER TABLE s.t SET UNLOGGED', 'VACUUM FULL s.t', 'CLUSTER s.t USING t_pkey';
ends_ok('always', 'another table of its name', 'ALTER TABLE s.t RENAME TO u; CREATE TABLE s.t AS SELECT * FROM s.u;
	GRANT SELECT ON s.t TO dumper', qr/table s\.t was dropped or replaced while the run started\n/);
ends_ok('after', 'another schema of its name', 'ALTER SCHEMA s RENAME TO s3; ALTER SCHEMA s2 RENAME TO s',
	qr/table s\.t was dropped or replaced while the run started|(relation "s\.\w+"|schema "s2") does not exist/);

# rows that row security hides are missing without a word
my @row_security = ('-U', 'dumper', '--enable-row-security');
ends_ok('after', 'another policy', 'DROP POLICY every ON s.secret; CREATE POLICY every ON s.secret USING (id = 1)',
	changed('secret', 'row security'), @row_security);
ends_ok('always', 'one policy more', 'CREATE POLICY more ON s.secret AS RESTRICTIVE USING (id = 1)',
	changed('secret', 'row security'), @row_security);
ends_ok('after', 'row security', 'ALTER TABLE s.t ENABLE ROW LEVEL SECURITY',
	changed('t', 'row security'), @row_security);
ends_ok('after', 'no row security', 'ALTER TABLE s.secret DISABLE ROW LEVEL SECURITY',
	changed('secret', 'row security'), @row_security);
ends_ok('after', 'another owner, and row security', 'ALTER TABLE s.secret OWNER TO other',
	changed('secret', 'row security'), @row_security);

# several are all named
{
	my $dump = start_dump($connstr, '--pg-dump',
		changing_pg_dump($connstr, 'after', 'TRUNCATE s.t, filler, s.bare'));
	is(end_dump($dump), 1, 'several rewritten: exit code');
	like($dump->{err}, qr/^(pg_pardump: error: table (s\.t|s\.bare|public\.filler) was rewritten.*\n){3}pg_pardump: detail: .*\npg_pardump: hint: .*\n$/,
		'several rewritten: messages name each table, with one explanation');
	nothing_remains_ok($node, $dump->{dir}, 'several rewritten');
	sql($node, 'app', "SELECT make_tables();
		INSERT INTO filler SELECT g, repeat(md5(g::text), 100) FROM generate_series(1, 500) g");
}

# ---- what does no harm

survives_ok('what does no harm', <<'SQL', qr/^$/);
ALTER TABLE s.t ADD c text DEFAULT 'constant';
ALTER TABLE s.t ALTER v TYPE varchar(200);
ALTER TABLE s.t ALTER a SET STATISTICS 1000, ALTER a SET STORAGE EXTERNAL, ALTER a SET DEFAULT 'none', ALTER a SET NOT NULL;
ALTER TABLE s.t ADD CHECK (id > 0), SET (fillfactor = 50);
ALTER TABLE s.t OWNER TO other;
ALTER TABLE s.secret OWNER TO other;
GRANT SELECT ON s.t TO PUBLIC;
CREATE POLICY less ON s.secret AS RESTRICTIVE USING (id < 3);
ALTER TABLE s.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY nothing ON s.t USING (false);
COMMENT ON TABLE s.t IS 'a comment';
CREATE INDEX ON s.t (a);
DELETE FROM s.t;
UPDATE s.secret SET word = 'other';
VACUUM ANALYZE s.t;
REINDEX TABLE s.t;
ALTER TABLE s.parent ADD c text, ALTER v TYPE varchar(200);
ALTER TABLE s.parent ATTACH PARTITION s.t FOR VALUES FROM (0) TO (1000);
SQL
survives_ok('VACUUM FULL, allowed', 'VACUUM FULL s.t', qr/^pg_pardump: warning: $rewritten.*\n$/,
	'--allow-rewritten');
{
	my $dump = start_dump($connstr, '--allow-rewritten', '--pg-dump', changing_pg_dump($connstr, 'after',
		'ALTER TABLE s.t ALTER at TYPE timestamptz'));
	dump_failed_ok($node, $dump, 'another definition is never allowed', changed('t', 'columns'));
	sql($node, 'app', 'SELECT make_tables()');
}

# ---- with a snapshot of before

{
	my $holder = start_psql($node, 'app');
	$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->('SELECT pg_export_snapshot()');
	my @repack = ([ 'REPACK (CONCURRENTLY)', 'REPACK (CONCURRENTLY) s.t', qr/error: table s\.t was rewritten/ ]);
	SKIP:
	{
		skip 'REPACK (CONCURRENTLY) came with PostgreSQL 19', 1 if pg_major($node) < 19;
		pass('REPACK (CONCURRENTLY) is tried');
	}
	foreach my $case ([ 'DROP b, ADD b', q{ALTER TABLE s.t DROP b, ADD b text DEFAULT 'new'}, qr/error: table s\.t was changed/ ],
		[ 'VACUUM FULL', 'VACUUM FULL s.t', qr/error: table s\.t was rewritten/ ],
		pg_major($node) >= 19 ? @repack : ())
	{
		my ($what, $sql, $message) = @$case;
		sql($node, 'app', $sql);
		my $dump = start_dump($connstr, '-n', 's', "--snapshot=$snapshot");
		dump_failed_ok($node, $dump, "--snapshot, $what",
			qr/$message.*\n.*\n.*hint: Run the same command again with a new snapshot/);
		$holder->('ROLLBACK');
		sql($node, 'app', 'SELECT make_tables()');
		$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
		$snapshot = $holder->('SELECT pg_export_snapshot()');
	}
	$holder->('ROLLBACK');
	$holder->();
}
foreach my $when (@moments)
{
	my $dump = start_dump($connstr, '--create-slot', '--slot=new', '--pg-dump',
		changing_pg_dump($connstr, $when, 'TRUNCATE s.t'));
	dump_failed_ok($node, $dump, "--create-slot, $when", $rewritten_error);
	is(value($node, 'postgres', 'SELECT count(*) FROM pg_replication_slots'), 0,
		"--create-slot, $when: no slot is left");
	sql($node, 'app', 'SELECT make_tables()');
}

# ---- a name that leads to another table just when it is locked: the table that
# is dumped then is not locked

{
	make_database($node, 'many');
	sql($node, 'many', <<'SQL');
CREATE SCHEMA a; CREATE SCHEMA b; CREATE SCHEMA zz;
CREATE TABLE a.t AS SELECT 1 AS a; CREATE TABLE b.t AS SELECT 2 AS a; CREATE TABLE zz.t (a int);
DO $$ BEGIN FOR i IN 1..500 LOOP EXECUTE 'CREATE TABLE t' || i || ' ()'; END LOOP; END $$;
CREATE FUNCTION swap() RETURNS void LANGUAGE sql AS
	'ALTER SCHEMA a RENAME TO c; ALTER SCHEMA b RENAME TO a; ALTER SCHEMA c RENAME TO b';
SQL
	my $many = $node->connstr('many');
	my $gate = new_path('gate');
	my $dump = start_dump($many, '-N', 'b', '--lock-wait-timeout=1min', '--pg-dump',
		changing_pg_dump($many, 'after', "SELECT swap();\n\\! while [ ! -e '$gate' ]; do sleep 0.05; done\n"));
	wait_until('the schemas are swapped', sub {
		$dump->{h}->pump_nb;
		return value($node, 'many', 'SELECT a FROM a.t') == 2;
	});
	# in the second batch of what is locked
	my $holder = start_psql($node, 'many');
	$holder->('BEGIN; LOCK TABLE zz.t');
	append_to_file($gate, '');
	wait_until('the first batch is locked', sub {
		$dump->{h}->pump_nb;
		return value($node, 'many', "SELECT count(*) FROM pg_locks WHERE relation = 'a.t'::regclass AND mode = 'AccessShareLock' AND pid <> pg_backend_pid()");
	});
	sql($node, 'many', 'SELECT swap()');
	$holder->('ROLLBACK');
	$holder->();
	dump_failed_ok($node, $dump, 'another table was locked',
		qr/error: table a\.t was changed after the snapshot was taken\n.*The name, kind or access method of the table differs/);
}

# ---- a copy

make_database($node, 'target');
foreach my $when (@moments)
{
	my ($rc, $out, $err) = run_copy($node, 'app', $node, 'target', '--pg-dump',
		changing_pg_dump($connstr, $when, q{ALTER TABLE s.t DROP b, ADD b text DEFAULT 'new'}));
	is("$rc$out", '1', "a copy, $when: exit code");
	like($err, changed('t', 'columns'), "a copy, $when: message");
	is(value($node, 'target', q{SELECT count(*) FROM pg_namespace WHERE nspname = 's'}), 0,
		"a copy, $when: no schema is created on the target");
	sql($node, 'app', 'SELECT make_tables()');
}

# ---- another session is needed, for which there may be no room for a moment

{
	my $refuse = changing_pg_dump($connstr, 'after', 'ALTER ROLE dumper NOLOGIN');
	my $dump = start_dump($connstr, '-U', 'dumper', '-t', 'filler', '--retries=0', '--pg-dump', $refuse);
	dump_failed_ok($node, $dump, 'no other session',
		qr/error: could not open another connection to check for changed tables: .*not permitted to log in/);
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	my $log = -s $node->logfile;
	$dump = start_dump($connstr, '-U', 'dumper', '-t', 'filler', '--retries=9', '--pg-dump', $refuse);
	wait_until('it was refused once', sub {
		$dump->{h}->pump_nb;
		return slurp_file($node->logfile, $log) =~ /role "dumper" is not permitted to log in/;
	});
	sql($node, 'postgres', 'ALTER ROLE dumper LOGIN');
	is(end_dump($dump) . $dump->{err}, '0', 'another session, later');
}

# ---- a server that lies about the size of its blocks

foreach my $size ('0', '-8192', '12288', '65536', '8192x', '')
{
	sql($node, 'app', <<"SQL");
SET allow_system_table_mods = on;
UPDATE pg_proc SET proname = 'true_setting' WHERE oid = 'current_setting(text)'::regprocedure;
CREATE FUNCTION pg_catalog.current_setting(text) RETURNS text LANGUAGE sql AS
	\$\$ SELECT CASE \$1 WHEN 'block_size' THEN '$size' ELSE pg_catalog.true_setting(\$1) END \$\$;
SQL
	dump_failed_ok($node, start_dump($connstr), "blocks of $size bytes",
		qr/error: unexpected answer from the server\n.*detail: The block size "$size" is invalid\.\n.*hint: If you connect through a connection pooler /);
	sql($node, 'app', <<'SQL');
SET allow_system_table_mods = on;
DROP FUNCTION pg_catalog.current_setting(text);
UPDATE pg_proc SET proname = 'current_setting' WHERE proname = 'true_setting';
SQL
}

$node->stop;
done_testing();
