# Archives leave the extension pg_pardump out, so that every server can restore
# them, and pg_parrestore and copies create it again where pg_restore would have.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Cluster qw(start_cluster make_database own_installation installed_at run_program new_path sql
  value);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('left_out');
sql($node, 'postgres', 'CREATE ROLE reader LOGIN');
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
COMMENT ON EXTENSION pg_pardump IS 'ours';
COMMENT ON SCHEMA pardump IS 'ours, too';
GRANT CREATE, USAGE ON SCHEMA pardump TO reader;
GRANT EXECUTE ON FUNCTION pardump.pg_pardump_file_type TO reader;
REVOKE ALL ON FUNCTION pardump.pg_pardump_last_read FROM PUBLIC;
GRANT INSERT ON pardump.pg_pardump_history TO reader;
CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) g;
GRANT SELECT ON t TO reader;
SQL

# dumped(options...): the archive and standard error.
sub dumped
{
	my (@options) = @_;
	my $dir = new_path('archive');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', $dir, '-d', $node->connstr('shop'), @options);
	is($rc, 0, "dumped @options") or diag($err);
	return ($dir, $err);
}

# The entries of an archive that are about the extension.
sub entries
{
	my ($dir) = @_;
	my (undef, $out) = run_program('pg_restore', '-l', $dir);
	return [ map { s/^\d+; \d+ \d+ //r } grep { /^\d.*pardump/ } split /\n/, $out ];
}

sub manifest
{
	my ($dir) = @_;
	return decode_json(slurp_file("$dir/pg_pardump_manifest.json"));
}

sub extensions
{
	my ($server, $db) = @_;
	return value($server, $db, q{SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension});
}

sub schemas
{
	my ($server, $db) = @_;
	return value($server, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump'});
}

# ---- what an archive has

my ($dir, $err) = dumped('-j2');
is($err, '', 'the extension: no message');
is_deeply(entries($dir), [], 'the extension, its privileges and its schema are left out');
is(manifest($dir)->{'Left-Out'}, 'EXTENSION pg_pardump', 'the manifest records it');
(undef, $err) = dumped('-P');
unlike($err, qr/left out extension/, 'the summary does not');
(undef, $err) = dumped('-v');
like($err, qr/^pg_pardump: excluding extension pg_pardump, its comment, privileges and schema \(entries: \d+\)$/m,
	'-v reports it');

my ($with) = dumped('--with-pardump-extension');
is(scalar @{ entries($with) }, 8, '--with-pardump-extension keeps all entries');
is(manifest($with)->{'Left-Out'}, undef, '--with-pardump-extension: the manifest records nothing');
my ($chosen) = dumped('-e', 'pg_pard*');
like(join("\n", @{ entries($chosen) }), qr/^EXTENSION - pg_pardump/m, '-e pg_pard*: the archive contains the extension');
my ($table) = dumped('-t', 't');
is(manifest($table)->{'Left-Out'}, undef, '-t: pg_dump would not dump it either');

# what stays in the schema
sql($node, 'shop', 'CREATE TABLE pardump.mine AS SELECT 7 AS a');
my ($mine) = dumped();
is_deeply(
	[ grep { !/^(COMMENT|ACL) / } @{ entries($mine) } ],
	[ 'SCHEMA - pardump postgres', 'TABLE pardump mine postgres', 'TABLE DATA pardump mine postgres' ],
	'another table in its schema: the archive contains table and schema');
is(scalar(grep { /^(COMMENT|ACL) - SCHEMA pardump/ } @{ entries($mine) }), 2, 'another table in its schema: with its comment and privileges');
sql($node, 'shop', 'DROP TABLE pardump.mine; ALTER DEFAULT PRIVILEGES IN SCHEMA pardump GRANT SELECT ON TABLES TO reader');
($dir) = dumped();
like(join("\n", @{ entries($dir) }), qr/^SCHEMA - pardump.*^DEFAULT ACL pardump/ms, 'default privileges in its schema: both stay');
sql($node, 'shop', 'ALTER DEFAULT PRIVILEGES IN SCHEMA pardump REVOKE SELECT ON TABLES FROM reader');

# what needs it
sql($node, 'shop', q{CREATE VIEW v AS SELECT * FROM pardump.pg_pardump_chunks('t', 10)});
($dir, $err) = dumped();
like($err, qr/\Apg_pardump: warning: extension pg_pardump is included in the archive, because another object depends on it\npg_pardump: detail: The object is VIEW public\.v\.\npg_pardump: detail: .*\npg_pardump: hint: Install .*\n\z/,
	'a view that needs it: a warning');
like(join("\n", @{ entries($dir) }), qr/^EXTENSION - pg_pardump/m, 'a view that needs it: the archive contains the extension');
sql($node, 'shop', q{DROP VIEW v; CREATE FUNCTION f() RETURNS bigint LANGUAGE sql
	BEGIN ATOMIC SELECT bytes FROM pardump.pg_pardump_last_read(); END});
(undef, $err) = dumped();
like($err, qr/included in the archive, because another object depends on it\n.*detail: The object is FUNCTION public\.f\(\)\.\n/, 'a function that needs it: a warning');
sql($node, 'shop', 'DROP FUNCTION f()');

# ---- where it is restored

my $restored = 0;

# restored_ok('what', $server, [expected extensions, schemas], program, options...)
sub restored_ok
{
	my ($what, $server, $expected, @command) = @_;
	my $db = 'restored' . ++$restored;
	make_database($server, $db, options => 'TEMPLATE template0');
	my ($rc, undef, $err) = run_program(@command, '-d', $server->connstr($db));
	is("$rc$err", '0', "$what: restored without a message");
	is(value($server, $db, 'SELECT sum(a) FROM t'), 500500, "$what: rows");
	is_deeply([ extensions($server, $db), schemas($server, $db) ], $expected, "$what: extensions and schemas");
	return $db;
}

($dir) = dumped('-j2', '--max-table-segment-pages=1');
my $all = [ 'pg_pardump plpgsql', 1 ];
my $none = [ 'plpgsql', 0 ];
restored_ok('pg_restore', $node, $none, 'pg_restore', '--exit-on-error', '-j2', $dir);
restored_ok('pg_parrestore', $node, $all, 'pg_parrestore', '-j2', $dir);
restored_ok('into its schema', $node, $all, 'pg_parrestore', $mine);
restored_ok('-t', $node, $none, 'pg_parrestore', '-t', 't', $dir);
restored_ok('-n', $node, $none, 'pg_parrestore', '-n', 'public', $dir);
restored_ok('an archive that has it', $node, $all, 'pg_parrestore', $with);
my $clean = restored_ok('pg_parrestore again', $node, $all, 'pg_parrestore', $dir);
my ($rc, undef, $said) = run_program('pg_parrestore', '--clean', '--if-exists', '-d', $node->connstr($clean), $dir);
is("$rc$said", '0', '--clean: restored without a message');
is_deeply([ extensions($node, $clean), schemas($node, $clean) ], $all, '--clean: the extension stays');

make_database($node, 'definitions', options => 'TEMPLATE template0');
run_program('pg_parrestore', '--section=pre-data', '-d', $node->connstr('definitions'), $dir);
is_deeply([ extensions($node, 'definitions'), schemas($node, 'definitions') ], $all, '--section=pre-data creates it');

# parts of an archive that pg_restore would restore without it
make_database($node, 'parts', options => 'TEMPLATE template0');
sql($node, 'parts', 'CREATE TABLE t (a int)');
foreach my $part ('--data-only', '--section=data')
{
	my ($rc, undef, $err) = run_program('pg_parrestore', $part, '-d', $node->connstr('parts'), $dir);
	is("$rc$err", '0', "$part: restored without a message");
	is_deeply([ extensions($node, 'parts'), schemas($node, 'parts') ], $none, "$part: without the extension");
}

# a role that may not create it
sql($node, 'postgres', 'CREATE ROLE plain LOGIN CREATEDB; CREATE DATABASE plains OWNER plain TEMPLATE template0');
($rc, undef, $said) = run_program('pg_parrestore', '-O', '-x', '-U', 'plain', '-d', $node->connstr('plains'), $dir);
is("$rc$said", '0', 'a role without privileges: restored without a message');
is(extensions($node, 'plains'), 'plpgsql', 'a role without privileges: without the extension');

# a server that forbids it
sql($node, 'postgres', 'CREATE DATABASE guarded TEMPLATE template0');
sql($node, 'guarded', q{CREATE FUNCTION deny() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN RAISE 'no extensions here'; END $$;
	CREATE EVENT TRIGGER deny ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION deny()});
($rc, undef, $said) = run_program('pg_parrestore', '-d', $node->connstr('guarded'), $dir);
is($rc, 0, 'an event trigger against it: exit code');
like($said, qr/\Apg_parrestore: warning: could not create extension pg_pardump on the target: ERROR:  no extensions here\n/,
	'an event trigger against it: a warning');
is(value($node, 'guarded', 'SELECT sum(a) FROM t'), 500500, 'an event trigger against it: rows');

# a server without our files
SKIP:
{
	my $installation = own_installation();
	skip 'the installation is not the tests\' own', 1 if !defined $installation;
	my $bare = start_cluster('bare', install_path => $installation);
	my $share = installed_at($installation, '--sharedir') . '/extension';
	my $lib = installed_at($installation, '--pkglibdir');
	unlink "$share/pg_pardump.control", glob("$share/pg_pardump--*.sql"), "$lib/pg_pardump.so", "$lib/plugins/pg_pardump.so";
	is((run_program('psql', '-Xq', '-d', $bare->connstr('postgres'), '-c', 'CREATE EXTENSION pg_pardump'))[0], 1,
		'a server without the files: CREATE EXTENSION fails');
	sql($bare, 'postgres', 'CREATE ROLE reader');
	restored_ok('a server without the files, pg_restore', $bare, $none, 'pg_restore', '--exit-on-error', '-j2', $dir);
	restored_ok('a server without the files, pg_restore -1', $bare, $none, 'pg_restore', '-1', $dir);
	restored_ok('a server without the files, pg_parrestore', $bare, $none, 'pg_parrestore', '--exit-on-error', '-j2', $dir);
	# an extension that is made in its schema
	sql($node, 'shop', 'CREATE EXTENSION seg SCHEMA pardump');
	foreach my $archive ((dumped())[0], (dumped('--with-pardump-extension'))[0])
	{
		restored_ok('another extension in its schema, pg_parrestore', $bare, [ 'plpgsql seg', 1 ], 'pg_parrestore', '--exit-on-error', $archive);
	}
	$bare->stop;
}

$node->stop;
done_testing();
