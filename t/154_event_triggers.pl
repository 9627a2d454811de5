# A restored event trigger sees nothing that a restore does, and one of the target does
# not keep a restore from completing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database dump_ok run_program sql value);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('event_triggers');
make_database($node, 'source');
sql($node, 'source', <<'SQL');
CREATE TABLE seen (what text);
INSERT INTO seen VALUES ('mine');
CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g;
CREATE INDEX ON t (g);
CREATE MATERIALIZED VIEW mv AS SELECT count(*) FROM t;
CREATE FUNCTION dropped() RETURNS event_trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO public.seen SELECT object_identity FROM pg_event_trigger_dropped_objects(); END';
CREATE FUNCTION made() RETURNS event_trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO public.seen SELECT object_identity FROM pg_event_trigger_ddl_commands(); END';
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'refused'; END$$;
CREATE EVENT TRIGGER dropped ON sql_drop EXECUTE FUNCTION dropped();
CREATE EVENT TRIGGER made ON ddl_command_end EXECUTE FUNCTION made();
CREATE EVENT TRIGGER refuse ON sql_drop EXECUTE FUNCTION refuse();
ALTER EVENT TRIGGER made ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER dropped IS 'what is dropped';
DELETE FROM seen WHERE what <> 'mine';
SQL
my $dir = dump_ok($node, 'source', 'event triggers', 'pg_pardump', '-j2');
my $triggers = q{SELECT string_agg(concat_ws(' ', evtname, evtenabled, obj_description(oid, 'pg_event_trigger')), ', ' ORDER BY evtname)
	FROM pg_event_trigger};
my $expected = 'dropped O what is dropped, made A, refuse O';
my $n = 0;

sub new_database
{
	my ($sql) = @_;
	my $db = empty_copy($node, 'source', 'restored' . ++$n);
	sql($node, $db, $sql) if $sql;
	return $db;
}

sub log_is_there { my ($db) = @_; return value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}) }

sub complete_ok
{
	my ($db, $what, $triggers_expected) = @_;
	is(value($node, $db, 'SELECT string_agg(what, $$,$$) FROM seen'), 'mine', "$what: no event trigger has fired");
	is(value($node, $db, 'SELECT count(*) FROM t'), 1000, "$what: rows");
	is(value($node, $db, 'SELECT count FROM mv'), 1000, "$what: materialized view");
	is(value($node, $db, $triggers), $triggers_expected, "$what: event triggers");
	return;
}

foreach my $options ([], ['-j4'], ['-e'], ['--use-set-session-authorization'], ['--no-owner'])
{
	my ($db, $what) = (new_database(), "restored @$options");
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, @$options);
	is("$rc$err", '0', "$what: exit code");
	complete_ok($db, $what, $expected);
	is(log_is_there($db), 0, "$what: the log is removed");
}
{
	my $db = new_database();
	my ($rc, undef, $err) = run_program('pg_pardump', '-j2', '-d', $node->connstr('source'), '--target', $node->connstr($db));
	is($rc, 0, 'copied: exit code') or diag($err);
	complete_ok($db, 'copied', $expected);
}

# What is there is dropped before it is made again.
foreach my $program ('pg_parrestore', 'pg_pardump')
{
	my ($db, $what) = (new_database(), "$program --clean");
	my @again = $program eq 'pg_parrestore' ? ('-d', $node->connstr($db), $dir) :
	  ('-d', $node->connstr('source'), '--target', $node->connstr($db));
	is((run_program($program, @again))[0], 0, "$what: exit code of the first run");
	sql($node, $db, 'DROP EVENT TRIGGER refuse; DROP EVENT TRIGGER dropped; DROP EVENT TRIGGER made');
	sql($node, $db, "CREATE EVENT TRIGGER $_ ON ddl_command_end WHEN TAG IN ('CREATE ROUTINE') EXECUTE FUNCTION $_()") foreach qw(refuse dropped made);
	my ($rc, undef, $err) = run_program($program, '--clean', @again);
	is($rc, 0, "$what: exit code") or diag($err);
	complete_ok($db, $what, $expected);
}

# ---- errors

sql($node, 'postgres', 'CREATE ROLE plain LOGIN CREATEDB');
foreach my $exit (0, 1)
{
	my $what = 'a role that may not create them' . ($exit ? ', -e' : '');
	my $db = "plain$exit";
	sql($node, 'postgres', "CREATE DATABASE $db OWNER plain TEMPLATE template0");
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, '-O', '-U', 'plain', $exit ? '-e' : ());
	is($rc, 1, "$what: exit code");
	like($err, qr/ERROR:  permission denied to create event trigger "dropped"/, "$what: message");
	is(log_is_there($db), $exit, "$what: the log");
	if (!$exit)
	{
		my $stock = new_database();
		sql($node, 'postgres', "ALTER DATABASE $stock OWNER TO plain");
		my (undef, undef, $stock_err) = run_program('pg_restore', '-O', '-U', 'plain', '-d', $node->connstr($stock), $dir);
		is(errors_ignored($err), errors_ignored($stock_err), "$what: errors of pg_restore");
	}
	complete_ok($db, $what, '');
}

# The name of the owner cannot be converted to the target's encoding.
{
	my $what = 'an owner that cannot be converted';
	sql($node, 'postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	sql($node, 'ascii', <<"SQL");
CREATE FUNCTION quiet() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE ROLE "r\xe9" SUPERUSER;
CREATE EVENT TRIGGER first ON sql_drop EXECUTE FUNCTION quiet();
CREATE EVENT TRIGGER second ON sql_drop EXECUTE FUNCTION quiet();
ALTER EVENT TRIGGER first OWNER TO "r\xe9";
SQL
	my $ascii = dump_ok($node, 'ascii', $what, 'pg_pardump');
	my $db = new_database();
	sql($node, 'postgres', "DROP DATABASE $db");
	sql($node, 'postgres', "CREATE DATABASE $db ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	my ($rc, undef, $err) = run_parrestore($node, $db, $ascii);
	is($rc, 1, "$what: exit code");
	like($err, qr/ERROR:  invalid byte sequence.*ALTER EVENT TRIGGER first OWNER.*errors ignored on restore: 1\n/s, "$what: message");
	is(value($node, $db, $triggers), 'first O, second O', "$what: event triggers");
}

# The session user that an event trigger needs does not exist.
{
	my $what = 'an owner that does not exist';
	sql($node, 'postgres', $_) foreach 'CREATE ROLE absent SUPERUSER', 'CREATE DATABASE owned TEMPLATE template0';
	sql($node, 'owned', <<'SQL');
CREATE FUNCTION quiet() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER theirs ON sql_drop EXECUTE FUNCTION quiet();
ALTER EVENT TRIGGER theirs OWNER TO absent;
SQL
	my $owned = dump_ok($node, 'owned', $what, 'pg_pardump');
	sql($node, 'postgres', 'DROP DATABASE owned');
	sql($node, 'postgres', 'DROP ROLE absent');
	my $db = new_database();
	my ($rc, undef, $err) = run_parrestore($node, $db, $owned, '--use-set-session-authorization');
	is($rc, 1, "$what: exit code");
	like($err, qr/error: could not set session user: ERROR:  role "absent" does not exist/, "$what: message");
	is(value($node, $db, $triggers), '', "$what: no event trigger of another role");
}

# ---- event triggers of the target

my $guard = sub {
	my ($event, $tag, $state) = @_;
	$state //= 'P0001';
	return "CREATE FUNCTION guard() RETURNS event_trigger LANGUAGE plpgsql AS \$\$BEGIN RAISE 'guarded' USING ERRCODE = '$state'; END\$\$;"
	  . " CREATE EVENT TRIGGER guard ON $event" . ($tag ? " WHEN TAG IN ('$tag')" : '') . ' EXECUTE FUNCTION guard()';
};
{
	my ($db, $what) = (new_database($guard->('sql_drop')), 'a guard against drops');
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir);
	is($rc, 0, "$what: exit code");
	like($err, qr/\Apg_parrestore: warning: could not drop schema pardump_restore of the restore journal on the target: ERROR:  guarded\n.*pg_parrestore: hint: Drop it: DROP SCHEMA pardump_restore CASCADE;\n\z/s,
		"$what: a warning that names what is left");
	is(log_is_there($db), 1, "$what: it is left");
	complete_ok($db, $what, "dropped O what is dropped, guard O, made A, refuse O");
	($rc, undef, $err) = run_parrestore($node, $db, $dir, '--resume');
	is($rc, 0, "$what, --resume: exit code");
	unlike($err, qr/error: /, "$what, --resume: no event trigger is made again");
	complete_ok($db, "$what, --resume", "dropped O what is dropped, guard O, made A, refuse O");
	($rc, undef, $err) = run_parrestore($node, $db, $dir, '--clean');
	is($rc, 1, "$what, --clean: exit code");
	like($err, qr/^pg_parrestore: error: the restore cannot start while schema pardump_restore of an earlier restore exists\n\z/m, "$what, --clean: message");
}
{
	my ($db, $what) = (new_database($guard->('ddl_command_start', 'CREATE SCHEMA')), 'a guard against schemas');
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir);
	is($rc, 0, "$what: exit code");
	like($err, qr/\Apg_parrestore: warning: the restore cannot be resumed if it is interrupted\npg_parrestore: detail: Could not create the restore journal on the target: ERROR:  guarded\n[^\n]*\n\z/,
		"$what: a warning");
	complete_ok($db, $what, "dropped O what is dropped, guard O, made A, refuse O");
}
# the server is short of memory, which is not a guard's error
foreach my $event ([ 'sql_drop', undef, 'could not remove' ], [ 'ddl_command_start', 'CREATE SCHEMA', 'could not create' ])
{
	my ($name, $tag, $unwanted) = @$event;
	my ($db, $what) = (new_database($guard->($name, $tag, '53200')), "no memory, $name");
	my ($rc, undef, $err) = run_parrestore($node, $db, $dir, '--retries=0');
	is($rc, 1, "$what: exit code");
	like($err, qr/error: .*guarded/, "$what: an error");
	unlike($err, qr/warning: $unwanted/, "$what: no warning");
	next if $name ne 'sql_drop';
	sql($node, $db, 'DROP EVENT TRIGGER guard');
	is((run_parrestore($node, $db, $dir, '--resume'))[0], 0, "$what, --resume: exit code");
	complete_ok($db, "$what, --resume", "dropped O what is dropped, made A, refuse O");
}

$node->stop;
done_testing();
