# Who owns a table can have a query of it call functions, before it reads a row:
# what is constant in the expressions of its indexes and statistics, and in its
# constraints, is computed when it is planned, by the role that asks.  COPY of a
# table is not a query.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database new_path run_program restore_ok sql value);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('owners');
my $pwned = new_path('pwned');
sql($node, 'postgres', 'CREATE ROLE app LOGIN');
make_database($node, 'shop', options => 'OWNER app');
sql($node, 'shop', <<"SQL");
ALTER DATABASE shop SET constraint_exclusion = on;
CREATE SCHEMA ours;
CREATE TABLE ours.large AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 400) g;
CREATE TABLE public.in_public AS TABLE ours.large;
SET SESSION AUTHORIZATION app;
CREATE SCHEMA data;
CREATE FUNCTION data.attack(what text) RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN
	EXECUTE format('COPY (SELECT %L) TO PROGRAM ''cat >>$pwned''', what);
END \$\$;
-- harmless as long as its owner calls it
CREATE FUNCTION data.one(what text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS \$\$ BEGIN
	IF current_user <> 'app' THEN PERFORM data.attack(what); END IF; RETURN 1;
END \$\$;
CREATE TABLE data.expression AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 400) g;
CREATE TABLE data.predicate AS TABLE data.expression;
CREATE TABLE data.statistics AS TABLE data.expression;
CREATE TABLE data.constrained AS TABLE data.expression;
CREATE TABLE data.empty AS TABLE data.expression;
CREATE TABLE data.sparse AS TABLE data.expression;
CREATE INDEX ON data.expression ((id + data.one('expression')));
CREATE INDEX ON data.predicate (id) WHERE id > data.one('predicate');
CREATE STATISTICS data.s ON (id + data.one('statistics')), t FROM data.statistics;
ALTER TABLE data.constrained ADD CHECK (id >= data.one('constrained'));
CREATE INDEX ON data.empty ((id + data.one('empty')));
DELETE FROM data.empty;
CREATE INDEX ON data.sparse ((id + data.one('sparse')));
DELETE FROM data.sparse WHERE id < 390;
CREATE TABLE data.parted (id int, t text) PARTITION BY LIST (id);
RESET SESSION AUTHORIZATION;
CREATE TABLE data.in_schema AS TABLE ours.large;
CREATE TABLE ours.part PARTITION OF data.parted DEFAULT;
INSERT INTO ours.part TABLE ours.large;
GRANT ALL ON SCHEMA ours TO app;
-- goes down to the partition, which another role may own
SET SESSION AUTHORIZATION app;
CREATE INDEX ON data.parted ((id + data.one('part')));
SQL
my @names = qw(expression predicate statistics constrained);
my @db = ('-d', $node->connstr('shop'));
my @small = ('--chunk-size=32kB');

sub calls
{
	my $text = -e $pwned ? slurp_file($pwned) : '';
	my %found = map { $_ => 1 } split /\n/, $text;
	unlink $pwned;
	return [ sort keys %found ];
}

sub dump_calls_ok
{
	my ($what, $expected, @options) = @_;
	my $dir = new_path('dump');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '--no-sync', '-j2', '-f', $dir, @options);
	is($rc, 0, "$what: exit code") or diag($err);
	is_deeply(calls(), $expected, "$what: functions that were called");
	return $dir;
}

# By table, how many chunks it would be dumped in.
sub planned
{
	my ($db, @options) = @_;
	my (undef, $out) = run_program('pg_pardump', '-d', $node->connstr($db), '--dry-run', '-v', @small, @options);
	my %chunks = $out =~ /^ (\w+\.\w+) +\|[^|]*\|[^|]*\| +(\d+) \|/mg;
	return (\%chunks, $out);
}

# ---- control: what the server does with a query, and with COPY of a table

calls();    # the partition's index is built as the partition's owner
foreach my $table (@names)
{
	my $where = $table eq 'constrained' ? ' WHERE id > 5' : '';
	sql($node, 'shop', "SELECT count(*) FROM data.$table$where");
	is_deeply(calls(), [$table], "control: a query of data.$table");
	sql($node, 'shop', "COPY data.$table TO '/dev/null'");
	is_deeply(calls(), [], "control: COPY of data.$table");
}

# ---- by SQL: only tables of trusted owners are split

{
	my ($chunks, $out) = planned('shop', '--no-extension');
	is($chunks->{"data.$_"}, 1, "data.$_ is not split") foreach @names, 'empty', 'sparse';
	is($chunks->{'data.in_schema'}, 1, 'a table in a schema that another role can rename is not split');
	is($chunks->{'ours.part'}, 1, 'a partition of another role\'s table is not split');
	is($chunks->{'public.in_public'}, 1, 'a table in a schema that the owner of the database owns is not split');
	cmp_ok($chunks->{'ours.large'}, '>', 5, 'a table of a superuser is split');
	like($out, qr/not split: querying it could run functions of role "app", which owns it, its parent or its schema \(see --trust-owners\)/,
		'the plan shows why a table is not split');
	($chunks) = planned('shop', '--no-extension', '-U', 'app', '-n', 'data', '-T', 'data.in_schema');
	cmp_ok($chunks->{"data.$_"}, '>', 5, "the owner's own data.$_ is split") foreach @names;

	my $dir = dump_calls_ok('by SQL', [], '--no-extension', @small);
	make_database($node, 'copy', options => 'TEMPLATE template0');
	restore_ok($node, $dir, 'copy', 'by SQL');
	is(value($node, 'copy', join ' + ', 'SELECT 0',
			map { "(SELECT count(*) FROM data.$_)" } @names, 'empty', 'sparse', 'in_schema'),
		2011, 'by SQL: all rows');
	calls();
	dump_calls_ok('segments', [], '--no-extension', '--max-table-segment-pages=10');
	# no constraint is looked at, though the owner of the database has it so
	dump_calls_ok('--trust-owners', [ sort grep { $_ ne 'constrained' } @names, qw(empty part sparse) ],
		'--no-extension', '--trust-owners', '--max-table-segment-pages=10');
}

# ---- queries that the user asks for

foreach my $option ('--where=data.predicate:id OPERATOR(pg_catalog.<) 5', '--sample=data.predicate:50')
{
	my ($what) = split /=/, $option;
	my $dir = new_path('dump');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-f', $dir, $option);
	is($rc, 1, "$what: refused");
	like($err, qr/error: querying 1 table could run code of role "app" with the privileges of "[^"]+"\n.*detail: Tables: data\.predicate\.\n.*detail: .* can attach functions that run as "[^"]+" when the table is queried \($what\)\.\n.*hint: If you trust this role, use --trust-owners\.\n\z/,
		"$what: why");
	is_deeply(calls(), [], "$what: functions that were called");
	ok(!-e $dir, "$what: no file is written");
	dump_calls_ok("$what with --trust-owners", ['predicate'], '-t', 'data.predicate', $option, '--trust-owners');
	dump_calls_ok("$what of a superuser's", [], $option =~ s/data\.predicate/ours.large/r);
}

# ---- a comparison reads by COPY, also on the target of a copy, and of a restore

{
	my $dir = dump_calls_ok('a dump to be compared', []);
	my %called;

	foreach my $way ('', '--compare')
	{
		my $db = $way ? 'compared' : 'copied';
		make_database($node, $db, options => 'TEMPLATE template0');
		my ($rc, undef, $err) = run_program('pg_pardump', @db, '--target=' . $node->connstr($db), '-j2', @small, $way || ());
		is("$rc$err", '0', "a copy, $way: exit code");
		$called{$way} = calls();
	}
	# what checks rows that come, and a superuser's index, run as the role that copies
	is_deeply($called{''}, [qw(constrained part)], 'a copy: functions that were called');
	is_deeply($called{'--compare'}, $called{''}, '--compare: no others');
	make_database($node, 'restored', options => 'TEMPLATE template0');
	my ($rc, undef, $err) = run_program('pg_parrestore', '-j2', '-d', $node->connstr('restored'), '--compare-with=' . $node->connstr('shop'), $dir);
	is("$rc$err", '0', 'pg_parrestore --compare-with: exit code');
	is_deeply(calls(), $called{''}, 'pg_parrestore --compare-with: no others');
}

# ---- by the extension: split, and no query

sql($node, 'shop', 'CREATE EXTENSION pg_pardump');
{
	my ($chunks) = planned('shop');
	cmp_ok($chunks->{"data.$_"}, '>', 5, "data.$_ is split with the extension") foreach @names;
	dump_calls_ok('the extension', [], @small);
	dump_calls_ok('the extension, empty tables', []);
	dump_calls_ok('the extension, segments', [], '--max-table-segment-pages=10');
}

$node->stop;
done_testing();
