# Much of everything, on a small scale: as many columns as a table can have,
# thousands of tables and large objects, and a field of 50 MB.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until sessions cpu_of_ended);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql dump_ok restore_ok value);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Layout qw(layout_problems chunks_of);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; sessions() knows ours by their own
# names.
delete $ENV{PGAPPNAME};

my $node = start_cluster('scale');
make_database($node, $_) foreach qw(wide wide_copy many many_copy);

# ---- 1,600 columns, 50 MB in a field

sql($node, 'wide', <<'SQL');
DO $$ BEGIN
	EXECUTE 'CREATE TABLE columns (' ||
		(SELECT string_agg(format('%I int2', 'column ' || g), ', ') FROM generate_series(1, 1600) g) || ')';
	EXECUTE 'INSERT INTO columns SELECT ' ||
		(SELECT string_agg(CASE WHEN g % 7 = 0 THEN 'NULL' ELSE format('(g * %s) %% 30000', g) END, ', ')
		 FROM generate_series(1, 1600) g) || ' FROM generate_series(1, 200) g';
END $$;
CREATE TABLE fields (id int, field text);
ALTER TABLE fields ALTER field SET STORAGE EXTERNAL;
INSERT INTO fields SELECT g, repeat(E'a\\b\tc\n0123', CASE WHEN g % 2 = 0 THEN 5000000 ELSE g END)
	FROM generate_series(1, 2) g;
SQL
my $want = fingerprint($node, 'wide');
my $dir = dump_ok($node, 'wide', 'wide', 'pg_pardump', '-j2',
	'--max-table-segment-pages=5');
cmp_ok(chunks_of($dir, 'columns'), '>=', 10, 'wide: many chunks of 1,600 columns');
is_deeply([ layout_problems($dir) ], [], 'wide: layout');
restore_ok($node, $dir, 'wide_copy', 'wide', '-j2');
same_data_ok($want, fingerprint($node, 'wide_copy'), 'wide');
is(value($node, 'wide_copy', 'SELECT max(length(field)) FROM fields'),
	50000000, 'wide: the field has 50 MB');

# ---- 3,000 tables, 2,000 large objects

# In several transactions: each has its share of locks.
foreach my $part (0 .. 5)
{
	sql($node, 'many', sprintf(<<'SQL', $part * 500 + 1, ($part + 1) * 500));
DO $$ BEGIN
	FOR i IN %d .. %d LOOP
		EXECUTE format('CREATE TABLE t%%s (id int, d date)', i);
		EXECUTE format('INSERT INTO t%%s SELECT g, ''2000-01-01''::date + %%s FROM generate_series(1, %%s) g', i, i, i %% 5);
	END LOOP;
END $$;
SQL
}
sql($node, 'many', <<'SQL');
SELECT lo_from_bytea(g, CASE WHEN g % 100 = 0 THEN decode(repeat('00ff5c0a', g), 'hex') ELSE decode(to_hex(100000 + g) || '0', 'hex') END)
	FROM generate_series(100001, 102000) g;
SQL
$want = fingerprint($node, 'many');
is(scalar(keys %$want), 5000, 'many: 3,000 tables and 2,000 large objects');

# An archive, and what it has cost the program and the server, in seconds of a processor:
# time is a matter of what else the machine does.
sub cost_of
{
	my ($program) = @_;
	my $used = sub {
		wait_until('no session', sub { sessions($node) == 0 });
		my (undef, undef, $user, $system) = times;
		return $user + $system + cpu_of_ended($node);
	};
	my $before = $used->();
	my $dir = dump_ok($node, 'many', 'many', $program, '-j2');
	return ($dir, $used->() - $before);
}
my (undef, $stock) = cost_of('pg_dump');
($dir, my $ours) = cost_of('pg_pardump');
note(sprintf 'pg_dump %.1f s, pg_pardump %.1f s', $stock, $ours);
cmp_ok($stock, '>', 0, 'many: costs are seen');
# a wide margin: what is looked for is a quadratic cost
cmp_ok($ours, '<', 10 * $stock + 10, 'many: no dearer than pg_dump by a multiple');
is_deeply([ layout_problems($dir) ], [], 'many: layout');
restore_ok($node, $dir, 'many_copy', 'many', '-j2');
same_data_ok($want, fingerprint($node, 'many_copy'), 'many');

# ---- chunks in pg_stat_statements: their statements are equal

SKIP:
{
	skip 'pg_stat_statements is not installed', 1
	  if !value($node, 'postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'});
	make_database($node, 'statements');
	sql($node, 'statements', <<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE TABLE t AS SELECT g AS id, repeat('x', 100) AS v FROM generate_series(1, 60000) g;
VACUUM t;
SQL
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'pg_stat_statements'});
	$node->restart;

	# How many entries a run adds.
	my $entries = sub {
		my ($what, @command) = @_;
		sql($node, 'statements', 'SELECT pg_stat_statements_reset()');
		my ($rc, undef, $err) = run_program(@command);
		is($rc, 0, "$what: exit code") or diag($err);
		return value($node, 'statements', 'SELECT count(*) FROM pg_stat_statements');
	};
	my $chunks = sub { return '--max-table-segment-pages=' . (shift() ? 1 : 100); };
	my @db = ('-d', $node->connstr('statements'));
	my $stock = $entries->('pg_dump', 'pg_dump', '-Fd', '-j2', '-f', new_path('stock'), @db);
	foreach my $extension ('no extension', 'the extension')
	{
		sql($node, 'statements', 'CREATE EXTENSION pg_pardump') if $extension eq 'the extension';
		my @ours = map { $entries->("$extension, a dump", 'pg_pardump', '--no-sync', '-j2', '-f', new_path('archive'), $chunks->($_), @db) } 0, 1;
		cmp_ok($ours[1], '<=', $ours[0] + 5, "$extension: 1,000 chunks add no more entries than 10");
		cmp_ok($ours[1], '<=', $stock + 60, "$extension: few entries more than pg_dump's");
		my @copies = map {
			make_database($node, "statements_$_");
			my $n = $entries->("$extension, a copy", 'pg_pardump', '-j2', '--target', $node->connstr("statements_$_"), $chunks->($_), @db);
			sql($node, 'postgres', "DROP DATABASE statements_$_");
			$n } 0, 1;
		cmp_ok($copies[1], '<=', $copies[0] + 5, "$extension: 1,000 chunks of a copy add no more entries than 10");
	}
}

$node->stop;
done_testing();
