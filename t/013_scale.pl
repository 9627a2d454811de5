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

# ---- pg_stat_statements: few entries more than stock programs make, with any number of chunks

# How many more than pg_dump -j makes a dump may make in its database, and the source of
# a copy; and how many more than pg_restore -j a restore, and the target of a copy.
use constant {
	MORE_IN_DUMP => 20,
	MORE_AT_SOURCE => 20,
	MORE_IN_RESTORE => 21,
	MORE_AT_TARGET => 20,
};

SKIP:
{
	skip 'pg_stat_statements is not installed', 1
	  if !value($node, 'postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'});
	make_database($node, 'statements');
	sql($node, 'statements', <<'SQL');
CREATE TABLE t AS SELECT g AS id, repeat('x', 100) AS v FROM generate_series(1, 60000) g;
VACUUM t;
SQL
	sql($node, 'postgres', 'CREATE EXTENSION pg_stat_statements');
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'pg_stat_statements'});
	$node->restart;

	# Runs a program, with an empty database to write to, and returns the entries that
	# it adds in each of these databases.
	my $entries = sub {
		my ($what, $command, @databases) = @_;
		sql($node, 'postgres', "DROP DATABASE IF EXISTS statements_new");
		make_database($node, 'statements_new');
		sql($node, 'postgres', 'SELECT pg_stat_statements_reset()');
		my ($rc, undef, $err) = run_program(@$command);
		is($rc, 0, "$what: exit code") or diag($err);
		return map { [ split /\n/, value($node, 'postgres', <<"QUERIES") ] } @databases;
SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 200)
FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid
WHERE datname = '$_' ORDER BY 1
QUERIES
	};
	my ($from, $to) = map { $node->connstr($_) } qw(statements statements_new);
	my $few_ok = sub {
		my ($what, $ours, $stock, $more) = @_;
		my %stock = map { $_ => 1 } @$stock;
		cmp_ok(@$ours, '<=', @$stock + $more, "$what: at most $more entries more than the stock program's")
		  or diag(join "\n", grep { !$stock{$_} } @$ours);
		note(sprintf '%s: %d, stock %d', $what, scalar @$ours, scalar @$stock);
	};
	foreach my $extension ('no extension', 'the extension')
	{
		sql($node, 'statements', 'CREATE EXTENSION pg_pardump') if $extension eq 'the extension';
		my $archive = new_path('stock');
		my ($pg_dump) = $entries->("$extension, pg_dump", [ 'pg_dump', '-Fd', '-j2', '-f', $archive, '-d', $from ], 'statements');
		my ($pg_restore) = $entries->("$extension, pg_restore", [ 'pg_restore', '-j2', '-d', $to, $archive ], 'statements_new');
		foreach my $pages (100, 1)
		{
			my $what = "$extension, " . 1000 / $pages . ' chunks';
			my @chunks = ("--max-table-segment-pages=$pages");
			$archive = new_path('archive');
			my ($dump) = $entries->("$what, a dump", [ 'pg_pardump', '--no-sync', '-j2', '-f', $archive, @chunks, '-d', $from ], 'statements');
			cmp_ok(chunks_of($archive, 't'), '>=', 900 / $pages, "$what: the number of chunks");
			$few_ok->("$what, a dump", $dump, $pg_dump, MORE_IN_DUMP);
			my ($same) = $entries->("$what, pg_restore", [ 'pg_restore', '-j2', '-d', $to, $archive ], 'statements_new');
			my ($restore) = $entries->("$what, a restore", [ 'pg_parrestore', '-j2', '-d', $to, $archive ], 'statements_new');
			$few_ok->("$what, a restore", $restore, $same, MORE_IN_RESTORE);
			my ($source, $target) = $entries->("$what, a copy", [ 'pg_pardump', '-j2', '--target', $to, @chunks, '-d', $from ],
				'statements', 'statements_new');
			$few_ok->("$what, the source of a copy", $source, $pg_dump, MORE_AT_SOURCE);
			$few_ok->("$what, the target of a copy", $target, $pg_restore, MORE_AT_TARGET);
		}
	}
}

$node->stop;
done_testing();
