# pg_parrestore --all-databases --resume: which databases count as empty, and so are restored
# into, or dropped and created again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster own_installation installed_at run_program start_psql sql value);
use Pardump::Copy qw(start_load);
use Pardump::WholeCluster qw(create_database dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = own_installation();
plan(skip_all => 'the installation is not the tests\' own') if !defined $installation;
my $share = installed_at($installation, '--sharedir') . '/extension';

# Its tables are not in a dump, but their rows are, except those of its own.
append_to_file("$share/scheduler.control", "default_version = '1.0'\nrelocatable = false\nschema = public\n");
append_to_file("$share/scheduler--1.0.sql", <<'SQL');
CREATE TABLE jobs (id int, job text);
INSERT INTO jobs VALUES (0, 'clean up');
SELECT pg_catalog.pg_extension_config_dump('jobs', 'WHERE id > 0');
SQL

my $source = start_cluster('contents_source', install_path => $installation);
sql($source, 'postgres', <<'SQL');
CREATE ROLE app;
CREATE EXTENSION scheduler;
INSERT INTO jobs SELECT g, 'job' FROM generate_series(1, 10) g;
SQL
create_database($source, 'pattern', 'IS_TEMPLATE true');
sql($source, 'pattern', 'CREATE TABLE t AS SELECT 1 AS id');
my ($rc, $err, $dir) = dump_all($source, '-j2');
is("$rc$err", '0', 'a dump');
$source->stop;

my $target = start_cluster('contents_target', install_path => $installation);
my @command = ('pg_parrestore', '--all-databases', '--resume', '-j1', '-d', $target->connstr('postgres'), $dir);
# rows of the extension itself do not count as contents
sql($target, 'postgres', 'CREATE EXTENSION scheduler');

# ---- a template whose creation was interrupted before it had a journal

{
	my $holder = start_psql($target, 'postgres');
	$holder->('BEGIN; LOCK TABLE pg_authid IN SHARE MODE');
	my $run = start_load(@command);
	wait_in_run($run, 'it makes roles', sub {
		return value($target, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ROLE%'}) > 0;
	});
	kill INT => $run->{pid};
	is(end_dump($run), 1, 'interrupted: exit code');
	$holder->();
}
create_database($target, 'pattern', 'TEMPLATE template0 IS_TEMPLATE true');
($rc, undef, $err) = run_program(@command);
is("$rc$err", '0', 'an empty template is created again: exit code');
is(value($target, 'pattern', 'SELECT count(*) FROM t'), 1, 'an empty template is created again: rows');
is(value($target, 'postgres', q{SELECT datistemplate FROM pg_database WHERE datname = 'pattern'}), 't', 'an empty template is created again: it is a template');

# ---- rows of an extension are contents, and so is a foreign server

sql($target, 'template1', 'CREATE FOREIGN DATA WRAPPER other; CREATE SERVER other FOREIGN DATA WRAPPER other');
is(value($target, 'postgres', 'SELECT count(*) FROM jobs'), 11, 'rows of an extension');
($rc, undef, $err) = run_program(@command);
is($rc, 1, 'rows of an extension, without notes: exit code');
like($err, qr/error: database "$_" on the target is not empty, and was not restored from this archive\n.*hint: Drop the objects in it, or exclude it/, "without notes: $_ is refused")
  foreach qw(postgres template1);
is(value($target, 'postgres', 'SELECT count(*) FROM jobs'), 11, 'rows of an extension, without notes: each once');

# ---- without --resume, too

@command = ('pg_parrestore', '--all-databases', '--exclude-database=pattern', '-d', $target->connstr('postgres'), $dir);
($rc, undef, $err) = run_program(@command);
is($rc, 1, 'rows of an extension, without --resume: exit code');
like($err, qr/pg_parrestore:postgres: error: the target already contains rows in table public\.jobs of extension "\w+"\n.*detail: The archive would add rows to this table\.\n.*hint: Use --allow-existing/,
	'rows of an extension, without --resume: message');
is(value($target, 'postgres', 'SELECT count(*) FROM jobs'), 11, 'rows of an extension, without --resume: each once');
sql($target, 'postgres', 'DROP SCHEMA pardump_restore_all CASCADE');
run_program(@command, '--allow-existing');
is(value($target, 'postgres', 'SELECT count(*) FROM jobs'), 21, 'rows of an extension, --allow-existing: added');

$target->stop;
done_testing();
