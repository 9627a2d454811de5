# --where and --sample: exactly the rows that the server itself chooses, in
# chunks and whole, and nothing but one condition is taken for one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump dump_failed_ok wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program sql value dump_ok
  restore_ok make_loop_server start_psql);
use Pardump::Command qw(refused_ok);
use Pardump::Layout qw(chunks_of);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('row_filter');
make_database($node, 'filter');
make_loop_server($node, 'filter');
sql($node, 'filter', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE other AS SELECT g AS id FROM generate_series(1, 3000) g;
CREATE SCHEMA "a:b";
CREATE TABLE "a:b"."c:""d" AS SELECT g AS id FROM generate_series(1, 100) g;
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT g FROM generate_series(1, 100) g;
INSERT INTO child SELECT g FROM generate_series(101, 200) g;
CREATE TABLE family (id int) PARTITION BY RANGE (id);
CREATE TABLE family_1 PARTITION OF family FOR VALUES FROM (0) TO (50);
CREATE TABLE family_2 PARTITION OF family FOR VALUES FROM (50) TO (100);
CREATE TABLE family_3 PARTITION OF family FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
CREATE TABLE grandchild PARTITION OF family_3 FOR VALUES FROM (100) TO (120);
INSERT INTO family SELECT g FROM generate_series(0, 119) g;
CREATE VIEW a_view AS SELECT * FROM family;
CREATE TABLE no_columns ();
INSERT INTO no_columns SELECT FROM generate_series(1, 50);
CREATE EXTENSION tcn;
CREATE TABLE settings AS SELECT g AS id FROM generate_series(1, 10) g;
ALTER EXTENSION tcn ADD TABLE settings;
UPDATE pg_extension SET extconfig = ARRAY['settings'::regclass]::oid[],
	extcondition = ARRAY['WHERE id > 5'] WHERE extname = 'tcn';
CREATE FOREIGN TABLE far (id int) SERVER loop OPTIONS (table_name 'other');
SQL
my @db = ('-d', $node->connstr('filter'));
my @foreign = ('--include-foreign-data=loop');

# The rows of a dump with these options, sorted: COPY's table => [line, ...].
sub chosen_rows
{
	my ($what, @options) = @_;
	my $dir = dump_ok($node, 'filter', $what, 'pg_pardump', '-a', @options);
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', $dir);
	die "pg_restore does not read \"$dir\": $err" if $rc != 0 || $err ne '';
	my %rows;
	while ($out =~ /^COPY (\S+) .*?FROM stdin;\n(.*?)^\\\.$/msg)
	{
		my ($table, @lines) = ($1, split /\n/, $2, -1);
		pop @lines;    # what follows the last line; a chunk may have none
		push @{ $rows{$table} }, @lines;
	}
	@$_ = sort @$_ foreach values %rows;
	return (\%rows, $dir);
}

# The rows that a query gives, as COPY writes them.
sub queried
{
	my ($query) = @_;
	return [ sort split /\n/, value($node, 'filter', "COPY ($query) TO STDOUT") ];
}

my ($all) = chosen_rows('no filter', @foreign);

# ---- conditions

foreach my $options ([], [ '-j2', '--chunk-size=64kB' ],
	[ '-j2', '--max-table-segment-pages=20', '--no-extension' ])
{
	my $what = "@$options" || 'whole';
	my ($rows, $dir) = chosen_rows($what, @$options, @foreign,
		'--where=big:id % 3 = 0 OR id < 100',
		'--where', 'big:t > \'8\' -- comment', '--where', 'public.par*:id > 90',
		'--where="a:b"."c:""d":id::text like \'%:%\' or id = 7',
		'--where=public.family_?:id > 60', '--where=far:id <= 5', '--where=no_col*:false');
	is_deeply($rows->{'public.big'},
		queried("SELECT * FROM big WHERE (id % 3 = 0 OR id < 100) AND t > '8'"),
		"$what: two conditions, a comment");
	cmp_ok(chunks_of($dir, 'big'), '>', 2, "$what: in chunks") if @$options;
	is_deeply($rows->{'public.parent'}, [ 100, 91 .. 99 ],
		"$what: a parent without its children");
	is_deeply($rows->{'"a:b"."c:""d"'}, [7], "$what: colons in names");
	is_deeply([ @{ $rows->{'public.family_1'} }, @{ $rows->{'public.family_2'} } ],
		[ 61 .. 99 ], "$what: partitions by a pattern");
	is_deeply($rows->{'public.far'}, [ 1 .. 5 ], "$what: a foreign table");
	# the others are whole
	is_deeply($rows->{$_}, $all->{$_}, "$what: all of $_")
	  foreach qw(public.other public.child public.settings);
	ok(!$rows->{'public.no_columns'} || !@{ $rows->{'public.no_columns'} },
		"$what: a table without columns");
}

# a partitioned table stands for its partitions, and theirs
{
	my ($rows, $dir) = chosen_rows('a partitioned table', '--where=family:id % 10 = 7', '--sample=family_3:100');
	is_deeply([ sort { $a <=> $b } map { @{ $rows->{$_} } } qw(public.family_1 public.family_2 public.grandchild) ],
		[ map { 10 * $_ + 7 } 0 .. 11 ], 'a partitioned table: rows of all partitions');
	is_deeply([ map { $_->{Sample} } grep { ($_->{Table} // '') eq 'grandchild' } @{ read_manifest($dir)->{Files} } ],
		[100], 'a partitioned table: manifest');
}

# the manifest tells the filters, as they were given
{
	my $dir = dump_ok($node, 'filter', 'manifest', 'pg_pardump', '-t', 'big', '-t', 'other',
		'-j2', '--chunk-size=64kB', '--where=big:t <> E\'"\\n\'', '--where=big:id > 50', '--sample=big:12.5');
	my %told;
	foreach my $file (grep { $_->{Kind} eq 'rows' } @{ read_manifest($dir)->{Files} })
	{
		$told{$file->{Table}}{ join '|', map { $_ // 'all' } @$file{qw(Where Sample)} }++;
	}
	is_deeply([ sort map { keys %$_ } values %told ],
		[ '(t <> E\'"\\n\') AND (id > 50)|12.5', 'all|all' ], 'manifest: filters');
	cmp_ok((values %{ $told{big} })[0], '>', 2, 'manifest: several chunks have the filter');
	my ($rc) = run_program('pg_pardump', '--verify', $dir);
	is($rc, 0, 'manifest: verified');
}

# what is restored is what was chosen
make_database($node, 'copy');
my $dir = dump_ok($node, 'filter', 'to restore', 'pg_pardump', '-t', 'big', '-j2',
	'--chunk-size=64kB', '--where=big:id <= 5000');
restore_ok($node, $dir, 'copy', 'to restore', '-j2');
is(value($node, 'copy', 'SELECT count(*), min(id), max(id) FROM big'), '5000|1|5000',
	'restored');

# ---- samples

my ($whole) = chosen_rows('sample', '--sample=big:10', '--sample=other:50');
my ($chunks, $chunked) = chosen_rows('sample in chunks', '--sample=big:10',
	'--sample=other:50', '-j2', '--chunk-size=64kB');
cmp_ok(chunks_of($chunked, 'big'), '>', 2, 'sample: chunks');
is_deeply($chunks, $whole, 'sample: the same choice in chunks');
# ten standard deviations
my $n = @{ $whole->{'public.big'} };
ok($n > 2000 - 425 && $n < 2000 + 425, "sample: $n of 20000 rows for 10 percent");
$n = @{ $whole->{'public.other'} };
ok($n > 1500 - 275 && $n < 1500 + 275, "sample: $n of 3000 rows for 50 percent");
my ($rows) = chosen_rows('sample of all and none', '--sample=big:100', '--sample=other:0',
	'--sample=child:0.0', '--sample=family_1:100.000');
is_deeply($rows->{$_}, $all->{$_}, "sample: all of $_") foreach qw(public.big public.family_1);
is_deeply($rows->{$_} // [], [], "sample: none of $_") foreach qw(public.other public.child);
($rows) = chosen_rows('sample and condition', '--sample=big:10', '--where=big:id > 10000');
is_deeply($rows->{'public.big'},
	[ grep { /^(\d+)/ && $1 > 10000 } @{ $whole->{'public.big'} } ], 'sample and condition');

# ---- rows that belong together, as the manual has it

sql($node, 'postgres', 'CREATE DATABASE related');
sql($node, 'related', <<'SQL');
CREATE TABLE customers (id int PRIMARY KEY);
CREATE TABLE orders (id int PRIMARY KEY, customer_id bigint REFERENCES customers);
CREATE TABLE lines (order_id int REFERENCES orders);
INSERT INTO customers SELECT g FROM generate_series(1, 300) g;
INSERT INTO orders SELECT g, g % 300 + 1 FROM generate_series(1, 900) g;
INSERT INTO lines SELECT g % 900 + 1 FROM generate_series(1, 2700) g;
SQL
$dir = dump_ok($node, 'related', 'rows that belong together', 'pg_pardump', '-j2', '--max-table-segment-pages=3',
	'--where=customers:hashint8extended(id, 0) % 10 = 0',
	'--where=orders:hashint8extended(customer_id, 0) % 10 = 0',
	'--where=lines:EXISTS (SELECT FROM public.orders o WHERE o.id = order_id
		AND hashint8extended(o.customer_id, 0) % 10 = 0)');
make_database($node, 'related_copy');
restore_ok($node, $dir, 'related_copy', 'rows that belong together');
my ($customers, $orders, $lines) = split /\|/, value($node, 'related_copy',
	'SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders), (SELECT count(*) FROM lines)');
ok($customers > 0 && $customers < 100, "rows that belong together: $customers of 300 customers");
is_deeply([ $orders, $lines ], [ 3 * $customers, 9 * $customers ], 'rows that belong together: all that refer to them');

# ---- what is told

my ($rc, $out) = run_program('pg_pardump', @db, '--dry-run', '--where=big:true');
is($rc, 0, '--dry-run: exit code');
like($out, qr/^ public\.big .*COPY.*\b(\d)\)\n.*^\(\1\) read with COPY: its rows are filtered$/ms, '--dry-run shows the filter');

# ---- what is refused

foreach my $try (
	[ 'big:nothing = 1', qr/invalid condition for table public\.big: nothing = 1.*detail: .*column "nothing" does not exist\n\z/s ],
	[ 'big:id', qr/argument of WHERE must be type boolean/ ],
	[ 'big:true; DROP TABLE other', qr/syntax error/ ],
	[ 'big:true) TO STDOUT; DROP TABLE other; --', qr/syntax error/ ],
	[ 'big:true) UNION ALL SELECT id, t FROM big WHERE (true', qr/syntax error/ ],
	[ 'big:true] , ARRAY[true', qr/syntax error|cannot/ ],
	[ 'big:true, false', qr/argument of WHERE must be type boolean/ ],
	[ 'big:/* no end', qr/unterminated/ ],
	[ 'big:\'no end', qr/unterminated/ ],
	[ 'big:id = $1', qr/Parameters are not supported/ ],
	[ 'big:count(*) > 1', qr/aggregate functions are not allowed in WHERE/ ],
	[ 'big:id = helper(1)', qr/function helper\(integer\) does not exist\n.*hint: Expressions are evaluated with an empty search_path\./ ],
	[ 'family:family.id > 1', qr/invalid condition for table public\.family_1: .*missing FROM-clause entry/s ],
	[ 'a_view:true', qr/pattern "a_view" of option --where matches no table whose rows are dumped/ ],
	[ 'nowhere:true', qr/pattern "nowhere" of option --where matches no table whose rows are dumped/ ],
	[ 'x.y.z.big:true', qr/improper relation name \(too many dotted names\) for option --where: x\.y\.z\.big/ ],
	[ 'postgres.public.big:true', qr/cross-database references are not implemented: postgres\.public\.big/ ],
	[ 'settings:true', qr/option --where cannot be used for table public\.settings\n.*detail: .* filter condition of its own .*\n.*hint: Use a pattern that does not match this table\./ ],
	[ 'big', qr/invalid value "big" for option --where\n.*hint: Use TABLE:CONDITION, for example / ],
	[ 'big:', qr/invalid value "big:" for option --where/ ],
	[ ':true', qr/invalid value ":true" for option --where/ ],
	[ '"big:true', qr/invalid value/ ])
{
	refused_ok($try->[1], "--where=$try->[0]", @db, "--where=$try->[0]");
}
{
	my $hint = sub { my ($err) = @_; return $err =~ /^pg_pardump: detail: (.*)\npg_pardump: hint: Specify the table with its schema\.$/m ? $1 : 'none' };
	my $refused = sub { $hint->(refused_ok(qr/ matches no table whose rows are dumped/, "@_", @db, @_)) };
	is($refused->('--where="c:""d":true'), 'Tables of this name that are not in your search_path: "a:b"."c:""d".',
		'a table of another schema: hint');
	is($refused->('--where=a_view:true'), 'none', 'a view: no hint');
	is($refused->('--sample=nowhere:1'), 'none', 'no such table: no hint');
	is($refused->('--where=public."c:""d":true'), 'none', 'a pattern with a schema: no hint');
	is($refused->('-t', 'other', '--where=big:true'), 'none', 'a table that is left out: no hint');
	sql($node, 'filter', join ' ', map { "CREATE SCHEMA s$_; CREATE TABLE s$_.sold (id int);" } 1 .. 4);
	is($refused->('--sample=sold:1'), 'Tables of this name that are not in your search_path: s1.sold, s2.sold, s3.sold and 1 more.',
		'tables of several schemas: hint');
	sql($node, 'filter', join ' ', map { "DROP TABLE s$_.sold; DROP SCHEMA s$_;" } 1 .. 4);
}
refused_ok(qr/matches no table whose rows are dumped/, '--where of what is not dumped', @db,
	'-t', 'other', '--where=big:true');
foreach my $percent ('', 'x', '-1', '100.1', '1e1', 'nan', 'inf', '0x10', '5%')
{
	refused_ok(qr/invalid value "(?:\Q$percent\E|big:)" for option --sample\n.*hint: .*(from 0 to 100|TABLE:PERCENT)/,
		"--sample=big:$percent", @db, "--sample=big:$percent");
}
refused_ok(qr/table public\.big matches more than one option --sample/, 'two samples',
	@db, '--sample=big:1', '--sample=b*:2');
refused_ok(qr/option --sample cannot be used for foreign table public\.far/, 'a sample of a foreign table',
	@db, @foreign, '--sample=far:1');

# The server parses the condition when the session ends: that says nothing of
# the condition.
{
	my $holder = start_psql($node, 'filter');
	$holder->('BEGIN; LOCK TABLE other');
	my $dump = start_dump($node->connstr('filter'), '-t', 'big',
		'--where=big:EXISTS (SELECT FROM public.other)');
	wait_until('the condition is parsed', sub {
		value($node, 'postgres', <<'SQL') });
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'pg_pardump' AND wait_event_type = 'Lock'
SQL
	dump_failed_ok($node, $dump, 'a condition, and the session is lost',
		qr/^pg_pardump: error: query failed: FATAL:  terminating connection/);
	$holder->('ROLLBACK');
	$holder->();
}

$node->stop;
done_testing();
