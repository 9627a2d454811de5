# --roles: a copy brings the roles that its database needs, and no others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(sessions wait_until);
use Pardump::Cluster qw(start_cluster run_program pg_major sql value);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::WholeCluster qw(globals_text);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; sessions() knows ours by their own
# names.
delete $ENV{PGAPPNAME};

my $source = start_cluster('roles_source');
my $target = start_cluster('roles_target');
my $admin = pg_major($source) >= 16 ? 'WITH ADMIN TRUE, INHERIT FALSE' : 'WITH ADMIN OPTION';

sql($source, 'postgres', <<"SQL");
CREATE ROLE "own""er; --" LOGIN PASSWORD 'it''s; \\secret' VALID UNTIL '2099-01-01';
CREATE ROLE granted; CREATE ROLE "by policy"; CREATE ROLE mapped; CREATE ROLE configured;
CREATE ROLE by_default; CREATE ROLE "group"; CREATE ROLE "group of\ngroups"; CREATE ROLE grantor;
CREATE ROLE stranger; CREATE ROLE db_owner; CREATE ROLE there NOLOGIN;
GRANT "group" TO "own""er; --" $admin;
GRANT "group of\ngroups" TO grantor WITH ADMIN OPTION;
GRANT "group of\ngroups" TO "group" GRANTED BY grantor;
GRANT granted TO stranger; GRANT pg_monitor TO granted;
ALTER ROLE granted SET work_mem = '7MB';
COMMENT ON ROLE granted IS 'GRANT x TO y; CREATE ROLE z;';
CREATE DATABASE shop OWNER db_owner;
ALTER ROLE configured IN DATABASE shop SET work_mem = '8MB';
ALTER ROLE there SET work_mem = '9MB';
SQL
sql($source, 'shop', <<'SQL');
CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 1000) g;
ALTER TABLE t OWNER TO "own""er; --";
GRANT SELECT ON t TO granted, there;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON t TO "by policy" USING (true);
CREATE EXTENSION postgres_fdw;
CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw;
CREATE USER MAPPING FOR mapped SERVER s;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO by_default;
SQL
sql($target, 'postgres', q{CREATE ROLE there LOGIN; ALTER ROLE there SET work_mem = '1MB'});

sub copy
{
	my ($to, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', '-j2', @options,
		'-d', $source->connstr('shop'), '--target', $target->connstr($to));
	return ($rc, $err);
}

# without it the copy cannot be
my ($rc, $err) = copy('postgres', '-C');
is($rc, 1, 'without --roles: exit code');
like($err, qr/role "db_owner"|role "granted"|roles?/, 'without --roles: message');
is(value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'shop'}), 0, 'without --roles: no database is created');

($rc, $err) = copy('postgres', '-C', '--roles');
is("$rc $err", '0 ', 'with it it can, in silence');
is(
	value($target, 'postgres', q{SELECT string_agg(rolname, ',' ORDER BY rolname COLLATE "C") FROM pg_roles
		WHERE oid >= 16384}),
	join(',', sort 'by policy', 'by_default', 'configured', 'db_owner', 'granted', 'grantor', 'group', "group of\ngroups",
		'mapped', 'own"er; --', 'there'),
	'the roles that are needed, and no others');

# what pg_dumpall says of those that were made is what it says on the source
sub about
{
	my ($node) = @_;
	my $text = globals_text($node) =~ s/^(--[^\n]*)?\n//mgr;
	return join "\n", grep { !/\bthere\b|\bstranger\b|^SET/ } split /(?<=;)\n/, $text;
}
is(about($target), about($source), 'their attributes, passwords, settings, comments and memberships');
is(value($target, 'postgres', q{SELECT rolcanlogin || ' ' || rolconfig::text FROM pg_roles WHERE rolname = 'there'}),
	'true {work_mem=1MB}', 'an existing role is not changed');
same_data_ok(fingerprint($source, 'shop'), fingerprint($target, 'shop'), 'the copy');
is(value($target, 'shop', q{SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 't'}), 'own"er; --', 'the owner');

# once more, when all roles exist
sql($target, 'postgres', 'DROP DATABASE shop');
($rc, $err) = copy('postgres', '-C', '--roles', '--no-role-passwords');
is("$rc $err", '0 ', 'existing roles: exit code and messages');
like(globals_text($target), qr/ALTER ROLE "own""er; --" [^;]* PASSWORD 'SCRAM/, 'existing roles: they have their passwords');

# a role that may not read passwords can copy roles without passwords
sql($source, 'postgres', 'CREATE ROLE reader LOGIN');
sql($source, 'shop', 'DROP POLICY p ON t; ALTER TABLE t DISABLE ROW LEVEL SECURITY; GRANT SELECT ON t TO reader');
sql($target, 'postgres', 'DROP DATABASE shop; DROP ROLE mapped');
($rc, $err) = copy('postgres', '-C', '--roles', '-U', 'reader');
is($rc, 1, 'a role that may not read passwords: exit code');
like($err, qr/permission denied for table pg_authid.*--no-role-passwords/s, 'a role that may not read passwords: message and hint');
($rc, undef, $err) = run_program('pg_pardump', '--roles', '--check', '-d', $source->connstr('shop'), '--target', 'x');
is($rc, 1, '--check: exit code');
like($err, qr/options --roles and --check cannot be used together/, '--check: message');

# On a managed server no role is a superuser.  Roles are copied anyway, and the role
# that creates them grants memberships.
sql($source, 'postgres', 'CREATE ROLE managed LOGIN; CREATE ROLE club; GRANT club TO managed; CREATE DATABASE small OWNER managed');
sql($target, 'postgres', 'CREATE ROLE lesser LOGIN CREATEROLE CREATEDB');
($rc, undef, $err) = run_program('pg_pardump', '--roles', '--no-owner', '-C', '-d', $source->connstr('small'),
	'--target', $target->connstr('postgres') . ' user=lesser');
is("$rc $err", '0 ', 'a role that is not a superuser: exit code and messages');
is(value($target, 'postgres', q{SELECT rolcanlogin AND pg_has_role('managed', 'club', 'MEMBER') FROM pg_roles WHERE rolname = 'managed'}),
	't', 'a role that is not a superuser: attributes and memberships of the copied role');
sql($target, 'postgres', 'DROP DATABASE small');
($rc, undef, $err) = run_program('pg_pardump', '-C', '-d', $source->connstr('small'), '--target', $target->connstr('postgres') . ' user=lesser');
is($rc, 1, 'a database of another owner: exit code');
like($err, qr/error: pg_restore could not create database "[^"]+" on the target\n.*hint: .*use --no-owner\.\n/, 'a database of another owner: message and hint');
($rc, undef, $err) = run_program('pg_pardump', '-C', '-d', $source->connstr('small'), '--target', $target->connstr('nowhere') . ' user=lesser');
unlike($err, qr/--no-owner/, 'another error has no such hint');
sql($source, 'postgres', 'ALTER ROLE club REPLICATION CONNECTION LIMIT 7');
sql($target, 'postgres', 'DROP DATABASE IF EXISTS small; DROP ROLE managed; DROP ROLE club');
($rc, undef, $err) = run_program('pg_pardump', '--roles', '--no-owner', '-C', '-d', $source->connstr('small'),
	'--target', $target->connstr('postgres') . ' user=lesser');
is($rc, 1, 'a role that only superusers can create: exit code');
like($err, qr/error: could not create the roles and tablespaces: .*\n.*Statement was: ALTER ROLE club WITH NOSUPERUSER/s, 'a role that only superusers can create: message');
is(value($target, 'postgres', q{SELECT rolconnlimit FROM pg_roles WHERE rolname = 'club'}), 7, 'a role that only superusers can create: its other attributes');

# since 16 a role without CREATEDB may not use NOCREATEDB
sql($source, 'postgres', 'ALTER ROLE club NOREPLICATION');
sql($target, 'postgres', 'DROP ROLE club; CREATE ROLE least LOGIN CREATEROLE; CREATE DATABASE small OWNER least');
($rc, undef, $err) = run_program('pg_pardump', '--roles', '--no-owner', '-d', $source->connstr('small'),
	'--target', $target->connstr('small') . ' user=least');
is("$rc $err", '0 ', 'a role that may not create databases: exit code and messages');
# they end a moment after their client
ok(wait_until('no session', sub { sessions($source) + sessions($target) == 0 }), 'no session is left');

$_->stop foreach ($source, $target);
done_testing();
