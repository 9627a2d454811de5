# What the target of a copy lacks is told before anything is made there, all of it,
# by --check and by the copy.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database own_installation installed_at run_program new_path sql value
  nothing_left_ok);
use Pardump::Command qw(check_list check_verdict);
use Pardump::Copy qw(run_copy copy_ok copy_refused_ok sessions_left);
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = own_installation();
my $source = start_cluster('source', install_path => $installation);
my $target = start_cluster('target');
my $tablespace = new_path('tablespace');
my $default = new_path('default');
mkdir $_ or die "could not make directory \"$_\": $!" foreach $tablespace, $default;
sql($source, 'postgres', "CREATE TABLESPACE \"fast \"\"disk\" LOCATION '$tablespace'");
sql($source, 'postgres', "CREATE TABLESPACE base LOCATION '$default'");
sql($source, 'postgres', <<'SQL');
CREATE ROLE owner;
CREATE ROLE "reader ""PUBLIC"" TO x, y";
CREATE ROLE grantor;
CREATE ROLE policed;
CREATE ROLE "also, policed";
CREATE ROLE mapped;
CREATE ROLE later;
CREATE ROLE by_default;
CREATE ROLE of_a_function;
CREATE ROLE of_the_system;
CREATE ROLE has_setting;
CREATE ROLE of_database;
CREATE ROLE of_index_only;
CREATE ROLE needless;
CREATE DATABASE shop TABLESPACE base;
GRANT CONNECT ON DATABASE shop TO of_database;
ALTER ROLE has_setting IN DATABASE shop SET search_path TO 'a''b', "TO x";
SQL
sql($source, 'shop', <<'SQL');
CREATE TABLE owned (a int) TABLESPACE "fast ""disk";
ALTER TABLE owned OWNER TO owner;
CREATE TABLE "TO needless;" (a int, "to needless" int);
GRANT SELECT ("to needless") ON "TO needless;" TO "reader ""PUBLIC"" TO x, y";
GRANT INSERT ON "TO needless;" TO PUBLIC;
GRANT UPDATE ON owned TO grantor WITH GRANT OPTION;
SET SESSION AUTHORIZATION grantor;
GRANT UPDATE ON owned TO PUBLIC;
RESET SESSION AUTHORIZATION;
REVOKE ALL ON owned FROM PUBLIC;
SET SESSION AUTHORIZATION grantor;
GRANT UPDATE ON owned TO PUBLIC;
RESET SESSION AUTHORIZATION;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON owned TO policed, "also, policed" USING (extract(epoch FROM now()) > a);
CREATE POLICY everybody ON owned USING (extract(epoch FROM now()) > a);
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'FOR needless');
CREATE USER MAPPING FOR mapped SERVER far OPTIONS (user 'FOR needless');
CREATE USER MAPPING FOR PUBLIC SERVER far;
ALTER DEFAULT PRIVILEGES FOR ROLE by_default GRANT SELECT ON TABLES TO later;
GRANT EXECUTE ON FUNCTION postgres_fdw_handler() TO of_a_function;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_waldir() TO of_the_system;
CREATE TABLE indexed (a int);
CREATE INDEX ON indexed (a);
SQL
my @all = ('also, policed', 'by_default', 'grantor', 'has_setting', 'later', 'mapped', 'of_a_function',
	'of_database', 'of_the_system', 'owner', 'policed', 'reader "PUBLIC" TO x, y');
make_database($target, 'shop');

# ---- Which roles does the target lack?  As --check lists them.

sub findings
{
	my ($what, @options) = @_;
	my ($rc, $out, $err) = run_copy($source, 'shop', $target, 'shop', '--check', @options);
	my @found = split /\n(?!  (?:detail|hint): )/, check_list($out);
	my $sum = pop @found;
	my $errors = grep { /^error: / } @found;
	is($rc, $errors > 0 ? 1 : 0, "$what: exit code");
	is($sum, check_verdict($errors, 0), "$what: sum");
	is($err, '', "$what: nothing elsewhere");
	nothing_left_ok($source, $source->host, $what);
	nothing_left_ok($target, $target->host, $what);
	return @found;
}

# role => those missing, sorted, in the findings
sub missing
{
	my ($kind, @findings) = @_;
	my ($list) = map { /^error: the target lacks \d+ required ${kind}s?\n  detail: Names: (.*)\.\n  hint: / } @findings;
	return [] if !defined $list;
	return [ sort grep { $_ ne '' } split /(?:^|, )"|"(?=, "|$)/, $list ];
}

my @roles = grep { !/^(has_setting|of_database)$/ } @all;
my @found = findings('all that a copy needs');
is(scalar(@found), 2, 'missing roles and tablespaces: number of findings');
is_deeply(missing('role', @found), \@roles, 'missing roles and tablespaces: roles');
is_deeply(missing('tablespace', @found), ['fast "disk'], 'missing roles and tablespaces: tablespaces');

@found = findings('with --create', '--create', '--clean');
is_deeply(missing('role', @found), \@all, 'with --create: roles');
is_deeply(missing('tablespace', @found), [ 'base', 'fast "disk' ], 'with --create: tablespaces');
@found = findings('--create of what is there', '--create', '-O', '-x', '--no-tablespaces', '-t', 'indexed');
is(scalar(grep { /^error: database "shop" already exists on the target\n  hint: / } @found), 1,
	'--create of what is there: found');

# what is left out is not needed
@found = findings('-O', '-O');
is_deeply(missing('role', @found), [ grep { $_ ne 'owner' } @roles ], '-O: all but owners');
@found = findings('-x', '-x');
is_deeply(missing('role', @found), [ 'also, policed', 'mapped', 'owner', 'policed' ], '-x: roles of privileges are not needed');
@found = findings('-t', '-t', 'indexed');
is_deeply(\@found, [], '-t: no others');
@found = findings('--no-tablespaces', '--no-tablespaces');
is_deeply(missing('tablespace', @found), [], '--no-tablespaces');
sql($source, 'shop', 'GRANT pg_read_all_data TO of_index_only');
@found = findings('--role', '--role', 'of_index_only', '-t', 'indexed', '-O');
is_deeply(missing('role', @found), ['of_index_only'], '--role');
sql($source, 'shop', 'ALTER TABLE indexed OWNER TO of_index_only');
@found = findings('--section=post-data', '--section=post-data', '-t', 'indexed');
is_deeply(\@found, [], '--section=post-data: an index has no owner of its own');
sql($source, 'shop', 'ALTER TABLE indexed OWNER TO CURRENT_USER');

# connections: the one that looks is there already
sql($target, 'postgres', 'CREATE ROLE few LOGIN IN ROLE pg_read_all_stats CONNECTION LIMIT 7');
sub connections
{
	my ($what, @options) = @_;
	is(sessions_left($target), 0, "connections, $what: no session is left");
	my ($rc, $out) = run_program('pg_pardump', '-d', $source->connstr('shop'), '--target',
		$target->connstr('shop') . ' user=few', '--check', '-t', 'indexed', '-O', @options);
	return "$rc " . check_list($out);
}
is(connections('enough', '-j4', '--index-jobs=2'), "0 no problems found\n", 'connections: enough');
is(connections('more jobs than work', '-j20'), "0 no problems found\n", 'connections: more jobs than work');
sql($target, 'postgres', 'ALTER ROLE few CONNECTION LIMIT 2');
like(connections('none for an index', '-j4'),
	qr/^0 warning: server "[^"]+" has only 1 of 2 needed connections left\n  detail: The run needs 1 connection for jobs, and 1 for index builds\.\n  hint: .*\n1 problem \(errors: 0, warnings: 1\); a run would start\n$/,
	'connections: none for an index');
sql($target, 'postgres', 'ALTER ROLE few CONNECTION LIMIT 1');
like(connections('too few', '-j4'),
	qr/^1 error: server "[^"]+" has only 0 of 1 needed connections left\n  hint: .*\n1 problem \(errors: 1, warnings: 0\); a run would fail\n$/,
	'connections: too few');

# extensions
SKIP:
{
	skip 'the installation is not the tests\' own', 6 if !defined $installation;
	my $stem = installed_at($installation, '--sharedir') . '/extension/for_source_only';
	append_to_file("$stem.control", "default_version = '1'\n");
	append_to_file("$stem--1.sql", '');
	sql($source, 'shop', 'CREATE EXTENSION for_source_only');
	unlink "$stem.control", "$stem--1.sql";
	@found = findings('an extension', '-O', '-x', '--no-tablespaces', '-e', 'for_source_only');
	is_deeply(missing('extension', @found), ['for_source_only'], 'an extension: found');

	# so does a restore, of all that an archive needs
	my $archive = new_path('archive');
	run_program('pg_dump', '-Fd', '-f', $archive, '-d', $source->connstr('shop'));
	my ($rc, $out) = run_program('pg_parrestore', '--check', '-d', $target->connstr('shop'), $archive);
	is($rc, 1, 'a restore: exit code');
	like($out, qr/^error: the target lacks $_\b/m, "a restore: $_")
	  foreach '10 required roles', '1 required tablespace', '1 required extension';
	is(value($target, 'shop', "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"), 0,
		'a restore: nothing was made');
	sql($source, 'shop', 'DROP EXTENSION for_source_only');
}

# ---- the copy itself, with a table there that it is to make

sql($target, 'shop', 'CREATE TABLE indexed (a int)');
copy_refused_ok(
	qr/^pg_pardump: error: the target lacks 10 required roles\n.*\n.*\npg_pardump: error: the target lacks 1 required tablespace\n.*\n.*\npg_pardump: error: the target already contains 1 of the tables to be created\n.*\n.*\n$/,
	'a copy', $source, 'shop', $target, 'shop');
is(value($target, 'shop', "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"), 1, 'a copy: nothing was made');
sql($target, 'shop', 'DROP TABLE indexed');
sql($target, 'postgres', 'ALTER DATABASE shop RENAME TO other');
copy_refused_ok(qr/lacks 12 required roles/, 'a copy with --create', $source, 'shop', $target, 'postgres', '--create');
is(value($target, 'postgres', "SELECT count(*) FROM pg_database WHERE datname = 'shop'"), 0, 'a copy with --create: nothing was made');
sql($target, 'postgres', 'ALTER DATABASE other RENAME TO shop');

# as the hint says
{
	my $roles = new_path('roles.sql');
	run_program('pg_dumpall', '--roles-only', '-d', $source->connstr('postgres'), '-f', $roles);
	run_program('psql', '-Xq', '-d', $target->connstr('postgres'), '-f', $roles);
	copy_ok($source, 'shop', $target, 'shop', 'with the roles', '--no-tablespaces');
}

$source->stop;
$target->stop;
done_testing();
