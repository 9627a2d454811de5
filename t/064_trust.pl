# Who may create, drop or replace what in the database must not have a dump run
# it: code in a dump is code by the role that dumps, a superuser often.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until sessions);
use Pardump::Cluster qw(start_cluster make_database new_path run_program
  restore_ok sql value start_psql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('trust');
sql($node, 'postgres', 'CREATE ROLE app LOGIN');
make_database($node, 'app', options => 'OWNER app');
sql($node, 'app', <<'SQL');
CREATE EXTENSION pg_pardump;
SET SESSION AUTHORIZATION app;
CREATE SCHEMA data;
CREATE TABLE data.gate AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 5000) g;
CREATE TABLE data.one AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 1000) g;
CREATE TABLE data.two AS TABLE data.one;
CREATE TABLE data.three AS TABLE data.one;
SQL
my $schema = value($node, 'app', q{SELECT extnamespace::regnamespace
	FROM pg_extension WHERE extname = 'pg_pardump'});
my $holder = start_psql($node, 'app');

# What the attacker's functions do if they are called, and where it would be seen.
my $pwned = new_path('pwned');
my $attack = <<"SQL";
LANGUAGE plpgsql AS \$\$ BEGIN
	EXECUTE 'COPY (SELECT current_user) TO PROGRAM ''cat >>$pwned'''; RETURN;
END \$\$;
SQL

# A dump whose only worker waits in the first table, by the user's own condition.
sub held_dump
{
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($node->connstr('app'), '-n', 'data', '-v',
		'--where=data.gate:id <> 50 OR pg_catalog.pg_advisory_xact_lock_shared(42)::pg_catalog.text IS NOT NULL',
		@_);
	wait_until('the worker waits at the gate', sub {
		$dump->{h}->pump_nb;
		die "the dump ended: $dump->{err}" if !$dump->{h}->pumpable;
		return sessions($node, "wait_event = 'advisory'");
	});
	return $dump;
}

# Goes on with it: it has all rows, and has run nothing of the attacker's.
my $copies = 0;
sub safe_ok
{
	my ($dump, $what) = @_;
	$holder->('SELECT pg_advisory_unlock_all()');
	is(end_dump($dump), 0, "$what: exit code");
	ok(!-e $pwned, "$what: nothing of the attacker's was run");
	my $copy = 'copy' . ++$copies;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, $copy, $what);
	is(value($node, $copy, join ' + ', 'SELECT 0',
			map { "(SELECT count(*) FROM data.$_)" } qw(gate one two three)),
		8000, "$what: all rows");
	unlink $pwned;
	return;
}

# ---- a function whose types come nearer to the literals of a call

{
	my $what = 'an overload is made while a dump runs';
	my $dump = held_dump();
	sql($node, 'app', "GRANT CREATE ON SCHEMA $schema TO app; SET SESSION AUTHORIZATION app;
		CREATE FUNCTION $schema.pg_pardump_read(regclass, name[], integer, integer, text, text)
			RETURNS SETOF bytea $attack");
	safe_ok($dump, $what);
	like($dump->{err}, qr/contents of table data\.three by the extension/, "$what: read by the extension");
	sql($node, 'app', "DROP FUNCTION $schema.pg_pardump_read(regclass, name[], integer, integer, text, text)");
}

$node->stop;
done_testing();
