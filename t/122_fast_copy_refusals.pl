# What the extension's COPY FROM cannot do exactly as the server is left to the
# server, before a byte is read: each condition is asked who did the COPY.
# Other libraries' hooks see every COPY. Permissions are the server's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql data_file new_path run_program);
use Pardump::Load qw(load_session who_copied comparable);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_refusals');
sql($node, 'postgres', 'CREATE DATABASE refusals');
sql($node, 'refusals', <<'SQL');
CREATE ROLE writer;
CREATE EXTENSION pg_pardump;
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION look(i int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN true; END';
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal VOLATILE STRICT AS 'textin';
CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal STABLE STRICT AS 'textout';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = text);
CREATE DOMAIN looking AS int CHECK (look(VALUE));
CREATE TYPE pair AS (a int, b own);
CREATE TABLE keys (i int PRIMARY KEY);
INSERT INTO keys SELECT generate_series(1, 10);
SQL

my ($core, $ours) = map { load_session($node, 'refusals', $_) } 0, 1;

# One COPY in each session, with what makes it unusual, which is undone.
sub who_ok
{
	my ($who, $what, $setup, $statement, %params) = @_;
	my $data = $params{data} // "1\ta\n2\tb\n";
	my @answers;
	foreach my $session ($core, $ours)
	{
		$session->query('BEGIN');
		$session->query($_) foreach ref $setup ? @$setup : $setup;
		my $answer = $session->copy($statement, [$data]);
		push @answers, comparable($answer);
		$answers[-1]{who} = $session == $ours ? who_copied($answer) : $who;
		$session->query('ROLLBACK');
	}
	is_deeply($answers[1], $answers[0], "$what: " . ($who // 'not ours'))
	  or diag(explain(@answers));
	return;
}

# --- tables

my $t = 'CREATE TABLE t (i int, t text)';
my $copy = 'COPY t FROM STDIN';
who_ok('us', 'an ordinary table', $t, $copy);
who_ok('us', 'an unlogged table', 'CREATE UNLOGGED TABLE t (i int, t text)', $copy);
who_ok('us', 'a leaf', "CREATE TABLE p (i int, t text) PARTITION BY LIST (i);
	CREATE TABLE t PARTITION OF p FOR VALUES IN (1, 2)", $copy);
who_ok('us', 'a child and parent', "CREATE TABLE p (i int); CREATE TABLE t (t text) INHERITS (p);
	CREATE TABLE c () INHERITS (t)", $copy);
who_ok('us', 'with dropped columns', "CREATE TABLE t (x int, i int, y text, t text); ALTER TABLE t DROP x, DROP y", $copy);
who_ok('us', 'with an index', "$t; CREATE INDEX ON t (i); CREATE UNIQUE INDEX ON t (lower(t)) WHERE i > 1", $copy);
who_ok('us', 'an identity', 'CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, i int, t text)', 'COPY t (i, t) FROM STDIN');
who_ok('us', 'the referenced table', "CREATE TABLE t (i int PRIMARY KEY, t text); CREATE TABLE f (i int REFERENCES t)", $copy);
# COPY inserts row by row if there is a row trigger BEFORE INSERT, even a disabled one
my $row_before = 'it has a row trigger before INSERT';
foreach my $case ([ 'us', 'AFTER INSERT ON t FOR EACH ROW' ], [ 'us', 'AFTER INSERT ON t' ],
	[ 'us', 'BEFORE INSERT ON t' ], [ 'us', 'BEFORE UPDATE OR DELETE ON t FOR EACH ROW' ],
	[ $row_before, 'BEFORE INSERT ON t FOR EACH ROW' ], [ $row_before, 'BEFORE UPDATE OR INSERT ON t FOR EACH ROW' ])
{
	my ($who, $kind) = @$case;
	who_ok($who, "a trigger $kind that is switched off", "$t; CREATE TRIGGER x $kind EXECUTE FUNCTION nothing();
		ALTER TABLE t DISABLE TRIGGER ALL", $copy);
}
who_ok('us', 'a foreign key that is switched off', 'CREATE TABLE t (i int REFERENCES keys, t text);
	ALTER TABLE t DISABLE TRIGGER ALL', $copy, data => "11\ta\n");
who_ok($row_before, 'a key twice and an error behind it, with a disabled trigger', 'CREATE TABLE t (i int PRIMARY KEY, t int[]);
	CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
	ALTER TABLE t DISABLE TRIGGER ALL', $copy, data => "1\t{}\n1\t{}\n2\t{\n");
who_ok('us', 'a trigger on UPDATE', "$t; CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION nothing()", $copy);
who_ok('us', 'a stable default', "CREATE TABLE t (i int, t text, d text DEFAULT current_user, n int DEFAULT 3)", 'COPY t (i, t) FROM STDIN');
foreach my $kind ('BEFORE INSERT ON t FOR EACH ROW', 'AFTER INSERT ON t FOR EACH ROW',
	'BEFORE INSERT ON t', 'AFTER INSERT ON t', 'AFTER INSERT ON t REFERENCING NEW TABLE AS n',
	'BEFORE INSERT OR DELETE ON t FOR EACH ROW')
{
	who_ok('it has triggers', "a trigger $kind", "$t; CREATE TRIGGER x $kind EXECUTE FUNCTION nothing()", $copy);
}
my @by_role = (
	[ '', 'us', 'it has triggers' ],
	[ 'REPLICA', 'it has triggers', 'us' ],
	[ 'ALWAYS', 'it has triggers', 'it has triggers' ]);
foreach my $case (@by_role)
{
	my ($enable, $in_replica, $else) = @$case;
	foreach my $kind ('AFTER INSERT', 'BEFORE INSERT')
	{
		my @setup = ("$t; CREATE TRIGGER x $kind ON t FOR EACH ROW EXECUTE FUNCTION nothing()",
			"ALTER TABLE t ENABLE $enable TRIGGER x");
		my ($replica, $other) = map { $kind eq 'BEFORE INSERT' && $_ eq 'us' ? $row_before : $_ } $in_replica, $else;
		who_ok($other, "a trigger $kind, ENABLE $enable", \@setup, $copy);
		who_ok($replica, "a trigger $kind, ENABLE $enable, in a replica",
			[ @setup, 'SET LOCAL session_replication_role = replica' ], $copy);
		who_ok($other, "a trigger $kind, ENABLE $enable, in a local session",
			[ @setup, 'SET LOCAL session_replication_role = local' ], $copy);
	}
}
who_ok('it has triggers', 'a foreign key', 'CREATE TABLE t (i int REFERENCES keys, t text)', $copy);
who_ok('it has triggers', 'a deferrable key', 'CREATE TABLE t (i int PRIMARY KEY DEFERRABLE, t text)', $copy);
who_ok('it has row security', 'row security', "$t; ALTER TABLE t ENABLE ROW LEVEL SECURITY", $copy);
who_ok('it has rules', 'a rule', "$t; CREATE RULE r AS ON INSERT TO t DO ALSO NOTHING", $copy);
who_ok('it has generated columns', 'a generated column', 'CREATE TABLE t (i int, t text, g int GENERATED ALWAYS AS (i + 1) STORED)', $copy);
who_ok('it is a temporary table', 'a temporary table', 'CREATE TEMP TABLE t (i int, t text)', $copy);
who_ok('it is not an ordinary table', 'a partitioned table', "CREATE TABLE t (i int, t text) PARTITION BY LIST (i);
	CREATE TABLE p PARTITION OF t FOR VALUES IN (1, 2)", $copy);
who_ok('it is not an ordinary table', 'a foreign table', "CREATE FOREIGN TABLE t (i int, t text) SERVER files OPTIONS (filename '/dev/null')", $copy);
who_ok('it is not an ordinary table', 'a view', 'CREATE VIEW t AS SELECT * FROM keys', $copy);
who_ok('it is not an ordinary table', 'a view with a trigger', "CREATE VIEW t AS SELECT i, ''::text AS t FROM keys;
	CREATE TRIGGER x INSTEAD OF INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()", $copy);
who_ok('it is not an ordinary table', 'a materialized view', 'CREATE MATERIALIZED VIEW t AS SELECT * FROM keys', $copy);
who_ok('it is not an ordinary table', 'a sequence', 'CREATE SEQUENCE t', $copy);
who_ok('it is a catalog', 'a catalog', 'SET LOCAL allow_system_table_mods = on', 'COPY pg_catalog.pg_description FROM STDIN', data => '');
who_ok('it has no columns', 'no columns', 'CREATE TABLE t ()', $copy, data => "\n\n");
who_ok('it has a constraint with a volatile function', 'a volatile CHECK constraint', 'CREATE TABLE t (i int CHECK (look(i)), t text)', $copy);
who_ok("a missing column's default is volatile", 'a volatile default', "CREATE TABLE t (i int, t text, r float DEFAULT random() * 0)", 'COPY t (i, t) FROM STDIN');
foreach my $type (qw(looking looking[] own own[] pair))
{
	who_ok("a type's input function or constraint is volatile", "a column of type $type",
		"CREATE TABLE t (i int, t $type)", $copy, data => "1\t\\N\n");
}
who_ok('us', 'such a column that is not read', "CREATE TABLE t (i int, t looking)", 'COPY t (i) FROM STDIN', data => "1\n");
who_ok("the client's encoding is not the database's", "the client's encoding",
	[ $t, 'SET LOCAL client_encoding = latin1' ], $copy, data => "1\t\xe9\n");
who_ok("the client's encoding is not the database's", 'no encoding',
	[ $t, 'SET LOCAL client_encoding = sql_ascii' ], $copy);

# --- statements

who_ok(undef, 'another option', $t, "$copy WITH $_", data => "1,a\n2,b\n")
  foreach '(DELIMITER \',\')', 'CSV', '(FORMAT csv)', '(DELIMITER \',\', FORMAT text)', '(DELIMITER \',\', ENCODING \'UTF8\')',
  '(FREEZE, FORMAT csv)', '(FORMAT nonsense)', '(FORMAT text, FORMAT text)';
who_ok('us', 'the option that is default', $t, "$copy WITH (FORMAT text)");
who_ok('us', 'the option that is default, in capitals', $t, "$copy WITH (FORMAT 'text')");
who_ok(undef, 'WHERE', $t, "$copy WHERE i > 1");
who_ok(undef, 'TO', $t, 'COPY t TO STDOUT');
who_ok(undef, 'from a file', $t, "COPY t FROM '/dev/null'");
who_ok(undef, 'no such table', $t, 'COPY nowhere FROM STDIN');
who_ok(undef, 'no such column', $t, 'COPY t (x) FROM STDIN');
who_ok(undef, 'a column twice', $t, 'COPY t (i, i) FROM STDIN');
who_ok(undef, 'in a function', $t, q{DO $$ BEGIN COPY t FROM STDIN; END $$});
who_ok(undef, 'the setting switched off', [ $t, 'SET LOCAL pg_pardump.fast_copy = off' ], $copy);
who_ok(undef, 'a read-only transaction', [ $t, 'SET TRANSACTION READ ONLY' ], $copy);
who_ok('us', 'by the function', [ $t, 'SET pg_pardump.fast_copy = off', 'SELECT pardump.pg_pardump_fast_copy()' ], $copy);
who_ok(undef, 'by the function, off', [ $t, 'SELECT pardump.pg_pardump_fast_copy(false)' ], $copy);

# --- permissions

sub permission_ok
{
	my ($what, $grant, $statement, $who) = @_;
	who_ok($who, $what, [ 'CREATE TABLE t (i int, t text, x int)', $grant, 'SET LOCAL ROLE writer' ], $statement);
	return;
}
permission_ok('no privilege', 'SELECT 1', 'COPY t (i, t) FROM STDIN', undef);
permission_ok('SELECT only', 'GRANT SELECT ON t TO writer', 'COPY t (i, t) FROM STDIN', undef);
permission_ok('INSERT', 'GRANT INSERT ON t TO writer', 'COPY t (i, t) FROM STDIN', 'us');
permission_ok('INSERT of the columns', 'GRANT INSERT (i, t) ON t TO writer', 'COPY t (i, t) FROM STDIN', 'us');
permission_ok('INSERT of one of the columns', 'GRANT INSERT (i) ON t TO writer', 'COPY t (i, t) FROM STDIN', undef);
permission_ok('INSERT of these columns, but not all', 'GRANT INSERT (i, t) ON t TO writer', 'COPY t FROM STDIN', undef);
permission_ok('no right to the schema', 'ALTER TABLE t SET SCHEMA pardump; REVOKE ALL ON SCHEMA pardump FROM PUBLIC', 'COPY pardump.t FROM STDIN', undef);

# --- several statements, and the extended protocol

foreach my $session ($core, $ours)
{
	$session->query($t);
	$session->message('Q', "BEGIN; COPY t FROM STDIN; COPY t (i) FROM STDIN; COMMIT\0");
	my $first = $session->result;
	is($first->{copy_in}, '0 2 0 0', 'two COPY in one message: the first begins');
	$session->message('d', "1\ta\n");
	$session->message('c', '');
	is($session->result->{copy_in}, '0 1 0', 'two COPY in one message: the second begins');
	$session->message('d', "2\n");
	$session->message('c', '');
	is($session->result->{error}, undef, 'two COPY in one message: no error');
	foreach my $i (1, 2)
	{
		$session->message('P', "\0COPY t FROM STDIN\0" . pack('n', 0));
		$session->message('B', "\0\0" . pack('nnn', 0, 0, 0));
		$session->message('E', "\0" . pack('N', 0));
		$session->message('S', '');
		is($session->result->{copy_in}, '0 2 0 0', 'COPY with the extended protocol begins');
		$session->message('d', $i == 1 ? "3\tc\n" : "wrong\n");
		$session->message('c', '');
		$session->message('S', '');
		my $result = $session->result;
		is($result->{tag} // $result->{error}{context}, $i == 1 ? 'COPY 1' : 'COPY t, line 1, column i: "wrong"', 'COPY with the extended protocol: result');
	}
	is($session->first_value("SELECT string_agg(i || coalesce(t, ''), ' ') FROM t"), '1a 2 3c', 'the table contains the rows of all COPY');
	$session->query('DROP TABLE t');
}

# --- triggers that begin to fire while rows are loaded

# A function that is declared IMMUTABLE, and is not, lets them fire: the server
# calls them for rows that are inserted afterwards, and the library refuses.
$ours->query(q{CREATE FUNCTION fire(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF i = 3 THEN
			PERFORM set_config('session_replication_role', 'origin', false);
		END IF;
		RETURN true;
	END $$});
foreach my $case ([ 'CHECK (fire(i))', '' ], [ '', 'CREATE INDEX ON t (fire(i))' ])
{
	my ($check, $index) = @$case;
	$ours->query("CREATE TABLE t (i int REFERENCES keys $check); $index; SET session_replication_role = replica");
	my $answer = $ours->copy('COPY t FROM STDIN', ["1\n2\n"]);
	is_deeply([ who_copied($answer), $answer->{tag} ], [ 'us', 'COPY 2' ], 'triggers that do not fire');
	$answer = $ours->copy('COPY t FROM STDIN', ["11\n3\n"]);
	is(who_copied($answer), 'us', 'triggers that begin to fire: the extension executes COPY');
	is_deeply([ @{ $answer->{error} }{qw(sqlstate message)} ],
		[ '0A000', 'cannot fire triggers of table "t" for rows that pg_pardump loads' ], 'triggers that begin to fire: error');
	is($ours->first_value('SELECT count(*) FROM t'), 2, 'triggers that begin to fire: no row was added');
	$ours->query('RESET session_replication_role; DROP TABLE t');
}
$_->close foreach $core, $ours;

# --- other libraries' hooks

# How often pg_stat_statements has seen a COPY of t, and its rows.
sub counted
{
	my ($reader) = @_;
	return $reader->first_value("SELECT sum(calls) || ' ' || sum(rows) FROM pg_stat_statements WHERE query LIKE 'COPY t %'");
}
foreach my $case ([ 'pg_stat_statements', "another library's hook is behind ours" ],
	[ 'pg_pardump, pg_stat_statements', 'us' ])
{
	my ($libraries, $who) = @$case;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->restart;
	my $session = load_session($node, 'refusals', 1);
	$session->query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
	$session->query('DROP TABLE IF EXISTS t');
	$session->query($t);
	$session->query('SELECT pg_stat_statements_reset()');
	is(who_copied($session->copy($copy, ["1\ta\n2\tb\n"])), $who, "$libraries: done by");
	is(counted($session), '1 2', "$libraries: counted, with its rows");
	$session->close;
}

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;

# a library of others, loaded before ours or behind it
my $library = new_path('other_hooks') . '.so';
system_or_bail('cc', '-shared', '-fPIC', '-o', $library,
	'-I' . (`pg_config --includedir-server` =~ s/\n//r), data_file('other_hooks.c'));
foreach my $case ([ 'alone', undef, $library ], [ 'before', "another library's hook is behind ours", $library, 'pg_pardump' ],
	[ 'behind', 'us', 'pg_pardump', $library ])
{
	my ($where, $who, @libraries) = @$case;
	my $session = Pardump::Wire->new($node, 'refusals');
	$session->query("LOAD '$_'") foreach @libraries;
	$session->query("SET client_min_messages = debug1; SET pg_pardump.fast_copy = on");
	my $result = $session->copy($copy, ["1\ta\n"]);
	is(who_copied($result), $who, "another library, $where: done by");
	is_deeply([ grep { /^other hook/ } @{ $result->{debug} } ],
		[ 'other hook: a utility command', 'other hook: permissions on 1 table' ],
		"another library, $where: each of its hooks is called once");
	$session->query('SET other_hooks.refuse = on');
	is($session->copy($copy, ["1\ta\n"])->{error}{message}, 'refused by the other hook',
		"another library, $where: it may refuse the statement");
	$session->close;
}

# its access method
{
	my $session = load_session($node, 'refusals', 1);
	$session->query("BEGIN; CREATE FUNCTION other(internal) RETURNS table_am_handler LANGUAGE C AS '$library', 'other_access_method';
		CREATE ACCESS METHOD other TYPE TABLE HANDLER other; CREATE TABLE elsewhere (i int) USING other");
	my $result = $session->copy('COPY elsewhere FROM STDIN', ["1\n"]);
	is(who_copied($result), 'its access method is not heap', 'another access method');
	is($session->first_value('SELECT count(*) FROM elsewhere'), 1, 'another access method: the row is there');
	is($session->first_value("SELECT pardump.pg_pardump_raw_reason('elsewhere', b) FROM (VALUES ($_)) v (b)"),
		'its access method is not heap', "another access method: raw tuples, loading $_") foreach 'true', 'false';
	$session->close;
}

# --- ways to have it

sub who_in_new_session
{
	my ($options, %params) = @_;
	my $session = Pardump::Wire->new($node, 'refusals', options => $options, %params);
	$session->query('SET client_min_messages = debug1');
	my $who = who_copied($session->copy($copy, ["1\ta\n"]));
	$session->close;
	return $who;
}
is(who_in_new_session('-c pg_pardump.fast_copy=on'), undef, 'the setting without the library');
is(who_in_new_session('-c session_preload_libraries=pg_pardump'), undef, 'the library without the setting');
is(who_in_new_session('-c session_preload_libraries=pg_pardump -c pg_pardump.fast_copy=on'), 'us', 'the library and the setting');
sql($node, 'postgres', 'ALTER DATABASE refusals SET session_preload_libraries = pg_pardump;
	ALTER DATABASE refusals SET pg_pardump.fast_copy = on');
is(who_in_new_session(''), 'us', "the library and the setting of the database");
sql($node, 'postgres', 'ALTER DATABASE refusals RESET ALL');

# an ordinary role may load libraries in $libdir/plugins
sql($node, 'refusals', 'CREATE ROLE ordinary LOGIN; GRANT INSERT ON t TO ordinary');
is(who_in_new_session('-c local_preload_libraries=pg_pardump -c pg_pardump.fast_copy=on', user => 'ordinary'),
	'us', 'an ordinary role, with local_preload_libraries');
{
	my $session = Pardump::Wire->new($node, 'refusals', user => 'ordinary', options => '-c client_min_messages=debug1');
	$session->query('SET pg_pardump.fast_copy = on');
	is(who_copied($session->copy($copy, ["1\ta\n"])), undef, 'an ordinary role, before LOAD');
	$session->query(q{LOAD '$libdir/plugins/pg_pardump'});
	is(who_copied($session->copy($copy, ["1\ta\n"])), 'us', 'an ordinary role, after LOAD');
	$session->query('SELECT pardump.pg_pardump_fast_copy(false)');
	is(who_copied($session->copy($copy, ["1\ta\n"])), undef, 'the extension\'s functions are in the same library');
	$session->close;
}

# stock programs of an ordinary role, which owns the tables that they create
sql($node, 'postgres', 'CREATE DATABASE ordinary OWNER ordinary; ALTER ROLE ordinary SET log_min_messages = debug1');
{
	local $ENV{PGUSER} = 'ordinary';
	local $ENV{PGOPTIONS} = '-c local_preload_libraries=pg_pardump -c pg_pardump.fast_copy=on';
	my $script = "CREATE TABLE by_psql (i int);\nCOPY by_psql FROM STDIN;\n1\n2\n\\.\n";
	my $offset = -s $node->logfile;
	my $file = new_path('script');
	append_to_file($file, $script);
	my ($rc, undef, $err) = run_program('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('ordinary'), '-f', $file);
	is("$rc$err", '0', 'psql of an ordinary role: exit code and messages');
	like(slurp_file($node->logfile, $offset), qr/COPY to table "by_psql" is done by pg_pardump/, 'psql of an ordinary role: the extension executes COPY');
	my $archive = new_path('archive');
	run_program('pg_dump', '-Fd', '-t', 'by_psql', '-f', $archive, '-d', $node->connstr('ordinary'));
	$offset = -s $node->logfile;
	($rc, undef, $err) = run_program('pg_restore', '--clean', '--exit-on-error', '-j2', '-d', $node->connstr('ordinary'), $archive);
	is("$rc$err", '0', 'pg_restore of an ordinary role: exit code and messages');
	like(slurp_file($node->logfile, $offset), qr/COPY to table "by_psql" is done by pg_pardump/, 'pg_restore of an ordinary role: the extension executes COPY');
	is(sql($node, 'ordinary', 'SELECT sum(i) FROM by_psql'), 3, 'the rows are there');
}

my $reader = Pardump::Wire->new($node, 'refusals');
$reader->query('SET client_min_messages = debug1');
$reader->query("SELECT pardump.pg_pardump_read('t', '{i}', 0, NULL, 'none')");
is(who_copied($reader->copy($copy, ["1\ta\n"])), undef, 'reading does not switch it on');

done_testing();
