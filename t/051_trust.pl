# Who may create, drop or replace what in the database must not have a dump run
# it: code in a dump is code by the role that dumps, a superuser often.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok wait_in_run sessions);
use Pardump::Cluster qw(start_cluster make_database new_path run_program
  restore_ok sql value start_psql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('trust');
sql($node, 'postgres', 'CREATE ROLE app LOGIN; CREATE ROLE dumper LOGIN IN ROLE app');
make_database($node, 'tables', options => 'OWNER app');
sql($node, 'tables', <<'SQL');
SET SESSION AUTHORIZATION app;
CREATE SCHEMA data;
CREATE TABLE data.gate AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 2000) g;
CREATE TABLE data.one AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 1000) g;
CREATE TABLE data.two AS TABLE data.one;
CREATE TABLE data.three AS TABLE data.one;
SQL

# A database of the role "app" with these tables, and what the SQL makes.
my $databases = 0;
sub database
{
	my ($sql) = @_;
	my $db = 'db' . ++$databases;
	make_database($node, $db, options => 'TEMPLATE tables OWNER app');
	sql($node, $db, $sql);
	return $db;
}

# What the attacker's functions do if they are called, and where it would be seen.
my $pwned = new_path('pwned');
my $attack = <<"SQL";
LANGUAGE plpgsql AS \$\$ BEGIN
	EXECUTE 'COPY (SELECT current_user) TO PROGRAM ''cat >>$pwned'''; RETURN;
END \$\$;
SQL

# All that the extension has, as the attacker makes it, but for the schema.
my $fakes = <<"SQL";
CREATE TABLE pardump.pg_pardump_lock (); GRANT SELECT ON pardump.pg_pardump_lock TO PUBLIC;
GRANT USAGE ON SCHEMA pardump TO PUBLIC;
CREATE FUNCTION pardump.pg_pardump_chunks(regclass, bigint, OUT chunk_no int, OUT start_block bigint,
	OUT end_block bigint, OUT est_rows float8, OUT est_bytes bigint) RETURNS SETOF record $attack
CREATE FUNCTION pardump.pg_pardump_read(regclass, name[], bigint, bigint, text, text)
	RETURNS SETOF bytea $attack
CREATE FUNCTION pardump.pg_pardump_last_read(OUT rows bigint, OUT bytes bigint) $attack
SQL

# A dump whose only worker waits in the first table, by the user's own condition.
sub held_dump
{
	my ($db, @options) = @_;
	my $holder = start_psql($node, $db);
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($node->connstr($db), '-n', 'data', '-v', '--trust-owners', @options,
		'--where=data.gate:id <> 50 OR pg_catalog.pg_advisory_xact_lock_shared(42)::pg_catalog.text IS NOT NULL');
	wait_in_run($dump, 'the worker waits at the gate',
		sub { return sessions($node, "wait_event = 'advisory'"); });
	$dump->{open} = sub { $holder->('SELECT pg_advisory_unlock_all()'); $holder->(); };
	return $dump;
}

# It continues, and has all rows; nothing of the attacker's was run.
sub safe_ok
{
	my ($dump, $what) = @_;
	$dump->{open}->();
	is(end_dump($dump), 0, "$what: exit code") or diag($dump->{err});
	ok(!-e $pwned, "$what: nothing of the attacker's was run");
	my $copy = 'copy' . ++$databases;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, $copy, $what);
	is(value($node, $copy, join ' + ', 'SELECT 0',
			map { "(SELECT count(*) FROM data.$_)" } qw(gate one two three)),
		5000, "$what: all rows");
	unlink $pwned;
	return;
}

# ---- a function whose types come nearer to the literals of a call

{
	my $what = 'an overload is made while a dump runs';
	my $db = database('CREATE EXTENSION pg_pardump');
	my $schema = value($node, $db, q{SELECT extnamespace::regnamespace
		FROM pg_extension WHERE extname = 'pg_pardump'});
	my $dump = held_dump($db);
	sql($node, $db, "GRANT CREATE ON SCHEMA $schema TO app; SET SESSION AUTHORIZATION app;
		CREATE FUNCTION $schema.pg_pardump_read(regclass, name[], integer, integer, text, text)
			RETURNS SETOF bytea $attack");
	safe_ok($dump, $what);
	like($dump->{err}, qr/contents of table data\.three with the extension/, "$what: read by the extension");
}

# ---- the owner of the schema

{
	my $what = 'the schema is dropped and made again while a dump runs';
	my $db = database('CREATE SCHEMA pardump AUTHORIZATION app;
		CREATE EXTENSION pg_pardump SCHEMA pardump');
	my $dump = held_dump($db, '-P');
	sql($node, $db, "SET SESSION AUTHORIZATION app; SET client_min_messages = warning;
		DROP SCHEMA pardump CASCADE; CREATE SCHEMA pardump; $fakes");
	safe_ok($dump, $what);
	my $reason = 'the schema of extension pg_pardump is owned by role "app"';
	like($dump->{err}, qr/: splitting tables by blocks and reading them with COPY\n.*detail: \u$reason\.$/m, "$what: message");
	like($dump->{err}, qr/contents of table data\.three with COPY \(reason: $reason\)$/m, "$what: table by table");
	unlike($dump->{err}, qr/hint/, "$what: no hint for small tables");
}

# ---- the extension goes while it is in use

{
	my $what = 'the extension is dropped while a dump runs';
	my $db = database('CREATE EXTENSION pg_pardump');
	my $dump = held_dump($db);
	my $drop = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr($db), '-c', 'DROP EXTENSION pg_pardump' ]);
	wait_in_run($dump, 'DROP EXTENSION waits', sub {
		return value($node, $db, q{SELECT count(*) FROM pg_locks WHERE NOT granted
			AND mode = 'AccessExclusiveLock' AND relation = 'pardump.pg_pardump_lock'::regclass}); });
	safe_ok($dump, $what);
	like($dump->{err}, qr/contents of table data\.three with the extension/, "$what: read by the extension");
	$drop->finish;
	is(value($node, $db, q{SELECT count(*) FROM pg_extension WHERE extname = 'pg_pardump'}), 0,
		"$what: dropped afterwards");
}

# The snapshot may be older than the drop: then its catalogs have the extension.
{
	my $what = 'the extension goes before the dump has a lock on it';
	my $db = database('CREATE EXTENSION pg_pardump; CREATE TABLE written (a int)');
	my $writer = start_psql($node, $db);
	$writer->('BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO written VALUES (1)');
	my $dump = start_dump($node->connstr($db), '-n', 'data', '-v', '--serializable-deferrable');
	wait_in_run($dump, 'the leader waits for its snapshot',
		sub { return sessions($node, "wait_event = 'SafeSnapshot'"); });
	sql($node, $db, "DROP EXTENSION pg_pardump; DROP SCHEMA pardump;
		SET SESSION AUTHORIZATION app; CREATE SCHEMA pardump; $fakes");
	$dump->{open} = sub { $writer->('COMMIT'); $writer->(); };
	safe_ok($dump, $what);
	like($dump->{err}, qr/: splitting tables by blocks and reading them with COPY\n.*detail: Extension pg_pardump was replaced while the run started\.$/m,
		"$what: message");
}

# Only a superuser can take a function from the extension, lock or no lock.
foreach my $who ('worker', 'leader')
{
	my $what = "a function was replaced when the $who has another session";
	my $db = database('CREATE EXTENSION pg_pardump');
	my $dump = held_dump($db);
	sql($node, $db, q{ALTER EXTENSION pg_pardump DROP FUNCTION pardump.pg_pardump_last_read();
		DROP FUNCTION pardump.pg_pardump_last_read();
		CREATE FUNCTION pardump.pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
			AS '$libdir/pg_pardump' LANGUAGE C;
		ALTER EXTENSION pg_pardump ADD FUNCTION pardump.pg_pardump_last_read()});
	value($node, 'postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name LIKE 'pg_pardump%'
			AND (wait_event IS NOT DISTINCT FROM 'advisory') = ('$who' = 'worker')");
	dump_failed_ok($node, $dump, $what, qr/error: extension pg_pardump was replaced during the run/);
	$dump->{open}->();
}

# ---- in an archive: the extension, which every role may use, and not its table

{
	my $what = 'the extension in an archive';
	my $db = database('CREATE EXTENSION pg_pardump');
	my $dir = new_path('archive');
	my ($rc) = run_program('pg_pardump', '--no-sync', '--with-pardump-extension', '-f', $dir, '-d', $node->connstr($db));
	is($rc, 0, "$what: exit code");
	my (undef, $list) = run_program('pg_restore', '-l', $dir);
	unlike($list, qr/pg_pardump_lock/, "$what: no table of it");
	my $copy = 'copy' . ++$databases;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dir, $copy, $what);
	is(value($node, $copy, q{SET SESSION AUTHORIZATION app;
		SELECT count(*) FROM pardump.pg_pardump_chunks('data.one', 1000)}) > 1, 1, "$what: other roles can call the function");
	my ($status, $out) = run_program('pg_pardump', '--dry-run', '-t', 'data.one', '-d', $node->connstr($copy), '-U', 'dumper');
	like($out, qr/data\.one .*\| extension \|/, "$what: the extension reads the table");
}

# ---- what is not trusted

my $owned_by = sub {
	my ($role) = @_;
	return join ';', "UPDATE pg_extension SET extowner = '$role'::regrole WHERE extname = 'pg_pardump'",
	  "ALTER SCHEMA pardump OWNER TO $role",
	  "ALTER TABLE pardump.pg_pardump_lock OWNER TO $role",
	  map { "ALTER FUNCTION pardump.$_ OWNER TO $role" }
	  qw(pg_pardump_chunks pg_pardump_read pg_pardump_last_read);
};
# one table is enough for these
sql($node, 'postgres', 'ALTER DATABASE tables RENAME TO one_table');
sql($node, 'one_table', 'DROP TABLE data.gate, data.two, data.three; CREATE EXTENSION pg_pardump');
foreach my $try (
	[ undef, '', [], 'a superuser\'s' ],
	[ undef, 'GRANT CREATE ON SCHEMA pardump TO CURRENT_USER', [], 'CREATE for a superuser' ],
	[ undef, $owned_by->('dumper'), [ '-U', 'dumper' ], 'the dumping role\'s' ],
	[ undef, 'GRANT CREATE ON SCHEMA pardump TO dumper', [ '-U', 'dumper' ], 'CREATE for the dumping role' ],
	[ 'extension pg_pardump is owned by role "dumper"', $owned_by->('dumper'), [], 'the dumping role\'s, for another' ],
	[ 'extension pg_pardump is owned by role "dumper"', $owned_by->('dumper'), ['--role=dumper'],
		'that of --role only' ],
	[ 'extension pg_pardump is owned by role "app"', $owned_by->('app'), [ '-U', 'dumper' ],
		'that of a role that the dumping role is in' ],
	[ 'the schema of extension pg_pardump is owned by role "app"', 'ALTER SCHEMA pardump OWNER TO app' ],
	[ 'role "app" may create objects in the schema of extension pg_pardump', 'GRANT CREATE ON SCHEMA pardump TO app' ],
	[ 'every role may create objects in the schema of extension pg_pardump', 'GRANT CREATE ON SCHEMA pardump TO PUBLIC' ],
	[ 'extension pg_pardump is not in the schema pardump',
		q{UPDATE pg_extension SET extnamespace = 'public'::regnamespace WHERE extname = 'pg_pardump'} ],
	[ 'object pg_pardump_read of extension pg_pardump is owned by role "app"',
		'ALTER FUNCTION pardump.pg_pardump_read OWNER TO app' ],
	[ 'object pg_pardump_lock of extension pg_pardump is owned by role "app"',
		'ALTER TABLE pardump.pg_pardump_lock OWNER TO app' ],
	[ 'object pg_pardump_chunks does not belong to extension pg_pardump',
		'ALTER EXTENSION pg_pardump DROP FUNCTION pardump.pg_pardump_chunks', [], 'a function that is not a member' ],
	[ 'object pg_pardump_lock does not belong to extension pg_pardump',
		'ALTER EXTENSION pg_pardump DROP TABLE pardump.pg_pardump_lock', [], 'a table that is not a member' ],
	[ 'object pg_pardump_read does not belong to extension pg_pardump', 'CREATE OR REPLACE FUNCTION
		pardump.pg_pardump_read(relation regclass, columns name[], start_block bigint, end_block bigint,
			compression text, format text DEFAULT \'text\') RETURNS SETOF bytea LANGUAGE sql AS \'SELECT NULL::bytea\'',
		[], 'another language' ],
	[ 'object pg_pardump_last_read does not belong to extension pg_pardump', 'CREATE OR REPLACE FUNCTION
		pardump.pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
			AS \'$libdir/pg_pardump\', \'pg_pardump_read\' LANGUAGE C', [], 'another function of the library' ],
	[ 'extension pg_pardump is incomplete', 'ALTER EXTENSION pg_pardump DROP TABLE pardump.pg_pardump_lock;
		DROP TABLE pardump.pg_pardump_lock' ])
{
	my ($reason, $change, $options, $what) = @$try;
	my $db = 'changed';
	make_database($node, $db, options => 'TEMPLATE one_table OWNER app');
	sql($node, $db, "SET client_min_messages = warning; $change");
	$what //= $reason;
	my ($rc, $out, $err) = run_program('pg_pardump', '--dry-run', '-t', 'data.one',
		'-d', $node->connstr($db), @{ $options // [] });
	is($rc, 0, "$what: exit code") or diag($err);
	like($out, $reason ? qr/ read with COPY: \Q$reason\E *$/m : qr/data\.one .*\| extension \|/, "$what: the plan shows who reads the table, and why");
	sql($node, 'postgres', "DROP DATABASE $db");
}

$node->stop;
done_testing();
