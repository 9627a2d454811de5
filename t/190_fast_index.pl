# Indexes that the extension builds are the server's, byte by byte: random
# definitions over random data of all types, in memory and in temporary files.
# PG_PARDUMP_INDEX_CASES and PG_PARDUMP_INDEX_SEED ask for more, or for a run again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use List::Util qw(min);
use Pardump::Cluster qw(start_cluster sql value pg_major);
use Pardump::Index qw(index_session builders different_files check_index has_module);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_index');
plan skip_all => 'builds are left to the server' if pg_major($node) >= 19;

my $cases = $ENV{PG_PARDUMP_INDEX_CASES} // 60;
my $seed = $ENV{PG_PARDUMP_INDEX_SEED} // 20261128;
srand($seed);
note("seed $seed");

sub one_of { return $_[ int rand @_ ]; }

sql($node, 'postgres', 'CREATE DATABASE indexes');
sql($node, 'indexes', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TYPE mood ADD VALUE 'angry' BEFORE 'sad';
ALTER TYPE mood ADD VALUE 'fine' AFTER 'sad';
ALTER TYPE mood ADD VALUE 'last';
CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);
SQL

# A text: empty, with a header of one byte or four, with a beginning that many
# share, or with characters of several bytes.
sub text_of
{
	my ($n) = @_;
	return "CASE (random() * 8)::int WHEN 0 THEN '' WHEN 1 THEN repeat('ab', (random() * 65)::int)
		WHEN 2 THEN 'a beginning that many share/' || (random() * $n)::int
		WHEN 3 THEN repeat('x', 122 + (random() * 8)::int) || (random() * 9)::int
		WHEN 4 THEN (random() * $n)::int || repeat('y', (random() * 490)::int)
		WHEN 5 THEN U&'gr\\00fc\\00df\\e000' || chr(1 + (random() * $n)::int % 55000)
		WHEN 6 THEN (random() * $n)::int::text ELSE md5((random() * $n)::int::text) END";
}

# Equal values with different blanks at the end break an assertion of the server's own
# builds: its functions _bt_keep_natts() and _bt_keep_natts_fast() disagree about them.
my $blanks = value($node, 'postgres', 'SHOW debug_assertions') eq 'on' ? "''" : "repeat(' ', (random() * 2)::int)";

# A value of each type, of about $n different ones, by the random() of SQL.
my %value = (
	'bool' => sub { 'random() < 0.3' },
	'"char"' => sub { my $n = $_[0] > 250 ? 250 : $_[0]; "(random() * $n - $n / 2)::int::\"char\"" },
	'int2' => sub { my $n = $_[0] > 65000 ? 65000 : $_[0]; "(random() * $n - $n / 2)::int::int2" },
	'int4' => sub { "(random() * $_[0] - $_[0] / 2)::int4" },
	'int8' => sub { "((random() * $_[0])::int8 - $_[0] / 2) * 4294967311" },
	'oid' => sub { "((random() * $_[0])::int8 * 2147483647 % 4294967296)::oid" },
	'date' => sub { "CASE WHEN random() < 0.02 THEN '-infinity' WHEN random() < 0.02 THEN 'infinity'
		ELSE '2000-01-01'::date + ((random() - 0.5) * least($_[0], 900000))::int END" },
	'time' => sub { "'00:00'::time + (random() * $_[0])::int * interval '1 us'" },
	'timestamp' => sub { "CASE WHEN random() < 0.02 THEN 'infinity'
		ELSE '2000-01-01'::timestamp + ((random() - 0.5) * $_[0])::int * interval '3 s' END" },
	'timestamptz' => sub { "CASE WHEN random() < 0.02 THEN '-infinity'
		ELSE '2000-01-01'::timestamptz + ((random() - 0.5) * $_[0])::int * interval '3 s' END" },
	'float4' => sub { "CASE WHEN random() < 0.02 THEN 'NaN' WHEN random() < 0.02 THEN '-Infinity' WHEN random() < 0.02 THEN 'Infinity'
		ELSE (random() * $_[0])::int * 0.37 - $_[0] / 7 END" },
	'float8' => sub { "CASE WHEN random() < 0.02 THEN 'NaN' WHEN random() < 0.02 THEN '-Infinity' WHEN random() < 0.02 THEN 0
		ELSE ((random() * $_[0])::int - $_[0] / 2) * 1.1e77::float8 END" },
	'uuid' => sub { "md5((random() * $_[0])::int::text)::uuid" },
	'mood' => sub { "(enum_range(NULL::mood))[1 + (random() * 4)::int]" },
	'positive' => sub { "1 + (random() * $_[0])::int4" },
	'text COLLATE "C"' => \&text_of,
	'varchar(600) COLLATE "POSIX"' => \&text_of,
	'char(14) COLLATE "C"' => sub { "(random() * $_[0])::int::text" },
	'bpchar COLLATE "C"' => sub { "(random() * $_[0])::int % 5000 || $blanks" });
my @types = sort keys %value;

# A table of random rows, with a column "u" of unique numbers that come in some order.
my (%tables, %uuids);
my $table_no = 0;
sub make_table
{
	my ($n_rows, $kind) = @_;
	my $table = 't' . ++$table_no;
	my (@columns, @values, @names);
	foreach my $type (@types, one_of(@types))
	{
		my $name = 'c' . @columns;
		my $nulls = one_of(0, 0, 0.1, 0.9);
		my $value = $value{$type}->(one_of(5, 300, 100000000));
		push @columns, "$name $type" . ($nulls || rand() < 0.5 ? '' : ' NOT NULL');
		push @values, "CASE WHEN random() >= $nulls THEN ($value)::$type END";
		push @names, $name;
		$uuids{$table}{$name} = 1 if $type eq 'uuid';
	}
	my $unique = one_of('i', "-i", "i * 7919 % 1000003");
	sql($node, 'indexes', "SELECT setseed(" . rand() . ");
		CREATE $kind TABLE $table (u int4 NOT NULL, " . join(', ', @columns) . ", s int4, t text, late int8 DEFAULT NULL);
		INSERT INTO $table SELECT $unique, " . join(', ', @values) . ", CASE WHEN random() < 0.5 THEN i END,
			repeat('x', (random() * 40)::int) FROM generate_series(1, $n_rows) i;
		ALTER TABLE $table ADD added int8 DEFAULT 5, DROP late");
	# dead rows, which nothing sees any more
	sql($node, 'indexes', "DELETE FROM $table WHERE u % 10 = 3") if rand() < 0.5;
	$tables{$table} = [ @names, 's', 'added' ];
	return $table;
}

# One definition for a table.  Two of type uuid and more can be too wide, and one
# with three others.
sub definition
{
	my ($table) = @_;
	my $unique = rand() < 0.3;
	my @columns;
	push @columns, one_of(@{ $tables{$table} }) foreach 1 .. one_of(1, 1, 2, 3, 4);
	my $uuids = grep { $uuids{$table}{$_} } @columns;
	return definition($table) if $uuids > 1 || ($uuids == 1 && @columns > 3);
	# unique: by the column of unique numbers, or by one whose NULLs are distinct
	my $key = $unique && rand() < 0.3 ? 's' : 'u';
	@columns = ($key) if $key eq 's' && $unique;
	$columns[ int rand @columns ] = 'u' if $unique && $key eq 'u';
	my $nulls = $unique && $key eq 'u' && rand() < 0.5 ? ' NULLS NOT DISTINCT' : '';
	my @keys = map { $_ . one_of('', '', ' DESC') . one_of('', '', ' NULLS FIRST', ' NULLS LAST') } @columns;
	my @with = (one_of('', '', 'fillfactor = ' . one_of(10, 50, 70, 100)), one_of('', '', 'deduplicate_items = off'));
	my $with = join ', ', grep { $_ ne '' } @with;
	return ($unique ? 'UNIQUE ' : '', '(' . join(', ', @keys) . ")$nulls" . ($with ne '' ? " WITH ($with)" : ''));
}

# Builds the indexes of some cases in one session, each by the extension and by the
# server, and compares them: [ table, "UNIQUE " or nothing, the rest of the definition,
# maintenance_work_mem, what it is, parallel workers of the extension's build, if any ].
my $amcheck = has_module($node, 'amcheck');
note($amcheck ? 'with amcheck' : 'without amcheck');
sql($node, 'indexes', 'CREATE EXTENSION amcheck') if $amcheck;
sub compare_definitions
{
	my (@cases) = @_;
	my @no = (0 .. $#cases);
	my @indexes = map { ("ours_$_", "servers_$_") } @no;
	my $script = index_session();
	foreach my $no (@no)
	{
		my ($table, $unique, $definition, $memory, undef, $workers) = @{ $cases[$no] };
		$workers //= 0;
		$script .= "SET maintenance_work_mem = '$memory'; SET pg_pardump.fast_index = on;
			SET max_parallel_maintenance_workers = $workers; ALTER TABLE $table SET (parallel_workers = $workers);
			CREATE ${unique}INDEX ours_$no ON $table $definition;
			SET pg_pardump.fast_index = off; SET max_parallel_maintenance_workers = 0;
			CREATE ${unique}INDEX servers_$no ON $table $definition;\n";
	}
	$script .= join '', map { "SELECT bt_index_parent_check('ours_$_', true, true);\n" } $amcheck ? @no : ();
	my (undef, undef, $err) = $node->psql('indexes', $script, on_error_stop => 0);
	my %builder = map { @$_ } builders($err);
	my %file = map { split /\|/ } split /\n/, value($node, 'indexes', "SELECT relname, pg_relation_filepath(oid) FROM pg_class
		WHERE relname IN ('" . join("', '", @indexes) . "')");

	# what amcheck finds is an error, too
	is(join("\n", grep { !/DEBUG: / } split /\n/, $err), '', "$cases[0][4] and following ones: no error");
	foreach my $no (@no)
	{
		my ($table, $unique, $definition, $memory, $what) = @{ $cases[$no] };
		my @files = map { defined $_ ? $node->data_dir . "/$_" : '/dev/null' } @file{ "ours_$no", "servers_$no" };

		is(different_files(@files), '', "$what: $table, $unique$definition, $memory");
		is($builder{"ours_$no"}, 'us', "$what: $table, $unique$definition, built by us");
	}
	sql($node, 'indexes', 'DROP INDEX IF EXISTS ' . join(', ', @indexes));
	return;
}

# Random cases, with new tables for each 200 of them.
my $largest;
for (my $done = 0; $done < $cases; $done += 200)
{
	sql($node, 'indexes', "DROP TABLE $_") foreach sort keys %tables;
	%tables = ();
	make_table(one_of(0, 1), '');
	make_table(300, '');
	make_table(2000, 'UNLOGGED');
	make_table(6000, '');
	$largest = make_table(20000, '');
	my @random;
	foreach my $case ($done + 1 .. min($done + 200, $cases))
	{
		my $table = one_of(sort keys %tables);
		push @random, [ $table, definition($table), one_of('1MB', '64MB'), "case $case", one_of(0, 0, 1, 3) ];
	}
	compare_definitions(splice @random, 0, 50) while @random;
}

# each type alone, of the table with most rows
compare_definitions(map { ([ $largest, '', "($_)", '64MB', 'each type' ], [ $largest, '', "($_ DESC NULLS LAST)", '1MB', 'each type' ]) }
	@{ $tables{$largest} });

# more than memory holds: one run, and more than can be merged at once
my $rows = 900000;
sql($node, 'indexes', "CREATE TABLE large (a int4 NOT NULL, b int8 NOT NULL, few int2);
	INSERT INTO large SELECT i, (i * 7919::int8 % 1300021 - 700000) * 4294967296, i % 5 FROM generate_series(1, $rows) i");
compare_definitions(
	[ 'large', 'UNIQUE ', '(a)', '1MB', 'in order' ],
	[ 'large', 'UNIQUE ', '(b)', '1MB', 'many runs' ],
	[ 'large', '', '(few)', '1MB', 'posting lists of runs' ],
	[ 'large', 'UNIQUE ', '(a)', '1MB', 'in order, with workers', 3 ],
	[ 'large', 'UNIQUE ', '(b)', '1MB', 'many runs of workers', 3 ],
	[ 'large', '', '(b DESC)', '64MB', 'in memory' ]);

# the same with texts, of which many share their beginning
sql($node, 'indexes', q{CREATE TABLE large_texts (t text COLLATE "C" NOT NULL, few varchar COLLATE "C", n int4);
	INSERT INTO large_texts SELECT 'a beginning/' || md5(i::text), 'few' || i % 7, i FROM generate_series(1, 300000) i});
compare_definitions(map { (
		[ 'large_texts', 'UNIQUE ', '(t)', $_, 'texts' ],
		[ 'large_texts', '', '(few DESC)', $_, 'posting lists of texts' ],
		[ 'large_texts', '', '(few, n DESC)', $_, 'texts and numbers' ]) } '1MB', '64MB');

# a primary key, and the index of a partitioned table; in a session that compares builds by itself
my (undef, undef, $err) = $node->psql('indexes', index_session(compared => 0) . 'ALTER TABLE large ADD CONSTRAINT large_pkey PRIMARY KEY (a);
	CREATE TABLE parent (a int4, b int8) PARTITION BY RANGE (a);
	CREATE TABLE leaf PARTITION OF parent FOR VALUES FROM (0) TO (1000);
	INSERT INTO parent SELECT i, i FROM generate_series(1, 900) i;
	CREATE INDEX ON parent (b, a)');
is_deeply([ builders($err) ], [ [ 'large_pkey', 'us' ], [ 'leaf_b_a_idx', 'us' ] ], 'a primary key, and a partition') or diag($err);
is(check_index($node, 'indexes', $_), '', "amcheck: $_") foreach qw(large_pkey leaf_b_a_idx);

$node->stop;
done_testing();
