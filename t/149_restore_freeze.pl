# pg_parrestore: a table that the run has made, and one transaction fills, is
# truncated there, so that its rows are frozen and need no WAL; no other is.
# All are loaded by the extension's library.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value new_path run_program dump_ok make_database);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore parrestore_ok errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('restore_freeze');
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nlog_min_messages = debug1\nautovacuum = off");
$node->restart;
make_database($node, 'source', options => 'TEMPLATE template0');
sql($node, 'source', q{
	CREATE TABLE alone (id int PRIMARY KEY, t text);
	INSERT INTO alone SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 10000) g;
	CREATE TABLE "Small t" AS SELECT * FROM alone LIMIT 10;
	CREATE TABLE parted (id int, t text) PARTITION BY RANGE (id);
	CREATE TABLE leaf PARTITION OF parted FOR VALUES FROM (1) TO (100000);
	INSERT INTO parted SELECT * FROM alone;
	CREATE TABLE large AS SELECT * FROM alone a, generate_series(1, 3) g});
my @tables = ('alone', '"Small t"', 'leaf', 'large');

# Has each table pages with rows that are frozen, and such that are not?
sub pages
{
	my ($db) = @_;
	sql($node, $db, 'CREATE EXTENSION IF NOT EXISTS pg_visibility');
	my @pages = map {
		value($node, $db, "SELECT (count(*) FILTER (WHERE all_frozen AND pd_all_visible) > 0)::int || ' ' ||
			(count(*) FILTER (WHERE NOT all_frozen) > 0)::int FROM pg_visibility('$_')
			WHERE blkno IN (SELECT split_part(trim('(' FROM ctid::text), ',', 1)::bigint FROM ONLY $_)")
	} @tables;
	return join ', ', @pages;
}

sub rows
{
	my ($db) = @_;
	return join ' ', map {
		value($node, $db, "SELECT count(*) || '-' || coalesce(md5(string_agg(x::text, '|' ORDER BY x::text)), '') FROM $_ x")
	} @tables;
}

sub wal { return value($node, 'postgres', 'SELECT pg_current_wal_insert_lsn()'); }

my $rows = rows('source');
my %archives = map { $_ => new_path("stock_$_") } qw(directory custom root);
run_program('pg_dump', '-Fd', '-Z0', '-f', $archives{directory}, '-d', $node->connstr('source'));
run_program('pg_dump', '-Fc', '-Z0', '-f', $archives{custom}, '-d', $node->connstr('source'));
run_program('pg_dump', '-Fc', '-Z0', '--load-via-partition-root', '-f', $archives{root}, '-d', $node->connstr('source'));
$archives{ours} = dump_ok($node, 'source', 'ours', 'pg_pardump', '-Z', 'none', '--chunk-size=2MB');

# --- which are frozen

my $some = '1 0, 0 1, 1 0, 0 1';
my @cases = (
	[ 'directory, one worker', 'directory', ['-j1'], '1 0, 0 1, 1 0, 1 0' ],
	[ 'directory, three workers, which share the large one', 'directory', [ '-j3', '--chunk-size=2MB' ], $some ],
	[ 'custom', 'custom', [ '-j2', '--chunk-size=2MB' ], $some ],
	[ 'ours, the large one in chunks', 'ours', ['-j1'], $some ],
	[ 'by the root of the partitions', 'root', ['-j1'], '1 0, 0 1, 0 1, 1 0' ]);
foreach my $case (@cases)
{
	my ($what, $archive, $options, $pages) = @$case;
	my $db = empty_copy($node, 'source', 'copy' . ($what =~ s/\W//gr));
	my $offset = -s $node->logfile;
	my $before = wal();
	parrestore_ok($node, $db, $archives{$archive}, $what, '--no-analyze', @$options);
	my $wal = value($node, 'postgres', "SELECT pg_current_wal_insert_lsn() - '$before'");
	is(pages($db), $pages, "$what: pages that are frozen, and not");
	is(rows($db), $rows, "$what: all rows");
	my $log = slurp_file($node->logfile, $offset);
	like($log, qr/COPY to table "$_" is done by pg_pardump/, "$what: $_ is loaded by the library") foreach qw(alone large);
	next unless "@$options" eq '-j1' && $archive eq 'directory';
	cmp_ok($wal, '<', value($node, $db, q{SELECT pg_table_size('large')}), "$what: next to no WAL of the rows");
}

# --- tables that must not be truncated

my $db = empty_copy($node, 'source', 'there');
sql($node, $db, q{CREATE TABLE alone (id int, t text); INSERT INTO alone VALUES (-1, 'precious');
	CREATE TABLE leaf (id int, t text)});
my ($rc, undef, $err) = run_parrestore($node, $db, $archives{directory}, '-j1', '--allow-existing');
is($rc, 1, 'existing tables: exit code');
is(value($node, $db, q{SELECT count(*) || ' ' || min(id) FROM alone}), '10001 -1', 'existing tables: the existing row is kept');
like(pages($db), qr/^0 1, 0 1, 0 1, 1 0$/, 'existing tables: only the created table is frozen');

$db = empty_copy($node, 'source', 'data_only');
parrestore_ok($node, $db, $archives{directory}, 'definitions', '--section=pre-data');
sql($node, $db, q{INSERT INTO alone VALUES (-1, 'precious')});
parrestore_ok($node, $db, $archives{directory}, 'data', '--data-only', '-j2');
is(value($node, $db, q{SELECT count(*) || ' ' || min(id) FROM alone}), '10001 -1', '--data-only: the existing row is kept');
is(pages($db), '0 1, 0 1, 0 1, 0 1', '--data-only: no table is frozen');

# the run creates the table, but an event trigger inserts a row first
$db = empty_copy($node, 'source', 'faster');
sql($node, $db, q{CREATE FUNCTION faster() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN IF to_regclass('public.alone') IS NOT NULL AND to_regclass('public.mark') IS NULL THEN
		CREATE TABLE public.mark (); INSERT INTO public.alone VALUES (-1, 'precious'); END IF; END $$;
	CREATE EVENT TRIGGER faster ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION faster()});
parrestore_ok($node, $db, $archives{directory}, 'a table with a row as soon as it is made', '-j1');
is(value($node, $db, q{SELECT count(*) || ' ' || min(id) FROM alone}), '10001 -1', 'the row of the event trigger is kept');

# --- rows that cannot be loaded, and a target that cannot

my $damaged = new_path('damaged');
run_program('cp', '-r', $archives{directory}, $damaged);
my ($file) = grep { -s $_ > 1e6 && slurp_file($_) =~ /^1\t/ } glob "$damaged/*.dat";
truncate $file, 1_000_000;
$db = empty_copy($node, 'source', 'damaged');
($rc, undef, $err) = run_parrestore($node, $db, $damaged, '-j1');
is("$rc " . errors_ignored($err), '1 1', 'data that are cut: exit code and number of errors');
is(value($node, $db, 'SELECT count(*) FROM alone') * value($node, $db, 'SELECT count(*) FROM leaf'), 0, 'data that are cut: one of the tables is empty');
is(value($node, $db, 'SELECT count(*) FROM "Small t"'), 10, 'data that are cut: another table contains its rows');

$node->stop;
done_testing();
