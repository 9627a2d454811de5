
# Every way in which stock pg_restore can load a chunked archive gives the
# database that was dumped.  And the trap that the layout of the archive is
# for: the same archive with its chunks written naively loses rows.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program dump_ok
  restore_ok nothing_left_ok new_path pg_major value sql);
use Pardump::Compare qw(fingerprint schema_text same_data_ok same_database_ok);
use Pardump::Databases qw(empty_copy);
use Pardump::Layout qw(layout_problems chunks_of);
use Pardump::Toc qw(read_toc write_toc copy_archive data_path is_table_data
  is_barrier chunked_tables);
use PostgreSQL::Test::Utils;
use Test::More;

# Pages of a chunk: a large table has dozens, a small one a few.
my @small_chunks = ('-j4', '--max-table-segment-pages=4');

# Rows of the table of accounts: each of some thirty restores loads it.
my $rows = 15000;

my $node = start_cluster('restore_modes');
my $copies = 0;

make_database($node, 'modes',
	options => 'TEMPLATE template0',
	files => ['modes.sql'],
	vars => { part => 60000 / $rows });
# properties of the database itself, restored by --create alone
sql($node, 'modes', q{
	ALTER DATABASE modes SET work_mem = '5MB';
	COMMENT ON DATABASE modes IS E'it''s \\ "modes"'});
my $data = fingerprint($node, 'modes');
my $schema = schema_text($node, 'modes');

sub new_copy { return empty_copy($node, 'modes', 'copy' . ++$copies); }

# Indexes and foreign keys are there and hold for the rows: what a restore that
# builds them before all chunks are loaded, or of too few rows, would break.
sub constraints_sound_ok
{
	my ($db, $what) = @_;
	is( value($node, $db, q{
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		SELECT (SELECT count(*) FROM pg_index WHERE NOT indisvalid),
			(SELECT count(*) FROM pg_constraint WHERE NOT convalidated),
			(SELECT count(*) FROM pg_constraint WHERE contype = 'f'),
			(SELECT count(*) FROM history h
			 WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.id = h.account)),
			(SELECT count(*) FROM accounts WHERE branch >= 0)}),
		"0|0|4|0|$rows",
		"$what: indexes and foreign keys are sound");
	return;
}

sub whole_ok
{
	my ($db, $what) = @_;
	same_database_ok($node, $db, $data, $schema, $what);
	constraints_sound_ok($db, $what);
	return;
}

# Restores into a new database, which must then be whole.
sub mode_ok
{
	my ($dir, $what, @options) = @_;
	my $db = new_copy();
	restore_ok($node, $dir, $db, $what, @options);
	whole_ok($db, $what);
	return $db;
}

# The rows of one table of the source.
sub only
{
	my (@names) = @_;
	return { map { ("table $_" => $data->{"table $_"}) } @names };
}

my $dir = dump_ok($node, 'modes', 'modes', 'pg_pardump', @small_chunks);
nothing_left_ok($node, $dir, 'modes');
is_deeply([ layout_problems($dir) ], [], 'layout');
cmp_ok(chunks_of($dir, 'toast'), '>', 1, 'toast is chunked');
my ($accounts) =
  grep { $_->{barrier}{namespace} eq 'public' && $_->{barrier}{tag} eq 'accounts' }
  chunked_tables(read_toc($dir));
my @sizes = map { -s data_path($dir, $_) } @{ $accounts->{chunks} };
cmp_ok(scalar @sizes, '>=', 20, 'accounts has many chunks');

# --- the trap

# TABLE DATA entries side by side without a barrier: of these, pg_restore -j
# takes the last for the table's only one, and empties the table before it.
my $naive_dir = copy_archive($dir, new_path('naive'));
my $toc = read_toc($naive_dir);
write_toc($toc, $naive_dir);
is(slurp_file("$naive_dir/toc.dat"),
	slurp_file("$dir/toc.dat"), 'toc.dat is read and written in full');
foreach my $table (chunked_tables($toc))
{
	my $table_id = $table->{barrier}{deps}[0];
	$_->{deps} = [$table_id] foreach @{ $table->{chunks} };
}
@{ $toc->{entries} } = grep { !is_barrier($_) } @{ $toc->{entries} };
write_toc($toc, $naive_dir);

cmp_ok($sizes[-1], '<', $sizes[0], 'the last chunk is smaller than others');
my $lossy = new_copy();
run_program('pg_restore', '-j2', '-d', $node->connstr($lossy), $naive_dir);
cmp_ok(value($node, $lossy, 'SELECT count(*) FROM accounts'),
	'<', $rows / 2, 'naive chunks: pg_restore -j loses most rows');
my ($naive_complaint) = layout_problems($naive_dir);
like($naive_complaint, qr/without a barrier/,
	'naive chunks: the check of the layout sees it');
my $single = new_copy();
run_program('pg_restore', '-d', $node->connstr($single), $naive_dir);
is(value($node, $single, 'SELECT count(*) FROM accounts'),
	$rows, 'naive chunks: without -j no row is lost');

# --- the same archive, as it is

mode_ok($dir, 'parallel, 2', '-j2');
my $clean = mode_ok($dir, 'parallel, 4', '-j4');
mode_ok($dir, 'one job');
mode_ok($dir, 'one transaction', '-1');
if (pg_major($node) >= 17)
{
	mode_ok($dir, 'transactions', '--transaction-size=3');
	mode_ok($dir, 'transactions, parallel', '--transaction-size=3', '-j4');
}

foreach my $jobs ('-j4', '-j1')
{
	sql($node, $clean, "DELETE FROM history WHERE id % 2 = 0;
		INSERT INTO history (account, amount) VALUES (1, 99);
		UPDATE other.parts SET v = 'wrong' WHERE at < 500");
	restore_ok($node, $dir, $clean, 'clean', '--clean', '--if-exists', $jobs);
	whole_ok($clean, "clean $jobs");
}

my $sections = new_copy();
foreach my $section (qw(pre-data data post-data))
{
	restore_ok($node, $dir, $sections, 'sections', "--section=$section", '-j4');
}
whole_ok($sections, 'sections');

# --- data into an existing schema

my $two_steps = new_copy();
restore_ok($node, $dir, $two_steps, 'two steps', '-s');
restore_ok($node, $dir, $two_steps, 'two steps', '-a', '--disable-triggers');
whole_ok($two_steps, 'two steps');

my $as_replica = new_copy();
restore_ok($node, $dir, $as_replica, 'as replica', '-s');
{
	local $ENV{PGOPTIONS} = '-c session_replication_role=replica';
	restore_ok($node, $dir, $as_replica, 'as replica', '-a', '-j4');
}
whole_ok($as_replica, 'as replica');

# stock pg_dump warns of the cycle of foreign keys, and so must we
my $data_dir = new_path('data_only');
my ($rc, $out, $err) = run_program('pg_pardump', @small_chunks, '--no-sync',
	'-f', $data_dir, '--data-only', '-d', $node->connstr('modes'));
is($rc, 0, 'data only: pg_pardump');
my (undef, undef, $stock_err) = run_program('pg_dump', '-f', '/dev/null',
	'--data-only', '-d', $node->connstr('modes'));
like($stock_err, qr/circular/, 'data only: stock warns');
is($err, $stock_err, 'data only: the same warnings as of stock');
is_deeply([ layout_problems($data_dir) ], [], 'data only: layout');
cmp_ok(chunks_of($data_dir, 'history'), '>', 5, 'data only: chunks');
foreach my $jobs ('-j4', '-j1')
{
	my $db = new_copy();
	restore_ok($node, $dir, $db, 'data only', '-s');
	restore_ok($node, $data_dir, $db, 'data only', '--disable-triggers', '-a',
		$jobs);
	whole_ok($db, "data only $jobs");
}

# --- rows that refer to others of their table, into tables that exist

# pg_restore checks the key at the end of each COPY: in chunks the rows of the
# first, which refer to those of the last, would be refused.
make_database($node, 'tree');
sql($node, 'tree', q{
	CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, t text);
	INSERT INTO tree SELECT i, CASE WHEN i < 5000 THEN 5001 - i END, 'leaf' || i
		FROM generate_series(1, 5000) i;
	CREATE TABLE forest (id int PRIMARY KEY, t text);
	CREATE TABLE wood (id int PRIMARY KEY, parent int REFERENCES wood, t text)
		PARTITION BY RANGE (id);
	CREATE TABLE wood_1 PARTITION OF wood FOR VALUES FROM (0) TO (10000);
	INSERT INTO wood SELECT i, CASE WHEN i < 5000 THEN 5001 - i END, 'leaf' || i
		FROM generate_series(1, 5000) i;
	INSERT INTO forest SELECT i, 'tree' || i FROM generate_series(1, 5000) i});
my $tree = fingerprint($node, 'tree');
my $tree_dir = dump_ok($node, 'tree', 'tree', 'pg_pardump', @small_chunks, '-Z0');
cmp_ok(chunks_of($tree_dir, 'tree'), '>', 1, 'tree: chunks when its schema is dumped');
foreach my $only ('--data-only', '--section=data')
{
	my $what = "tree, $only";
	my $dir = new_path('tree');
	my ($rc, undef, $err) = run_program('pg_pardump', @small_chunks, '-v', '--no-sync',
		$only, '-f', $dir, '-d', $node->connstr('tree'));
	is($rc, 0, "$what: pg_pardump");
	like($err, qr/not splitting table public\.tree into chunks\n.*detail: It has a foreign key to itself/,
		"$what: -v says why");
	is(chunks_of($dir, 'tree'), 0, "$what: no chunks");
	is(chunks_of($dir, 'wood_1'), 0, "$what: no chunks of a partition either");
	cmp_ok(chunks_of($dir, 'forest'), '>', 1, "$what: chunks of the other table");
	foreach my $jobs ('-j4', '-j1')
	{
		my $db = empty_copy($node, 'tree', 'tree' . ++$copies);
		restore_ok($node, $tree_dir, $db, $what, '-s');
		restore_ok($node, $dir, $db, $what, '-a', $jobs);
		same_data_ok($tree, fingerprint($node, $db), "$what $jobs");
	}
}

# --- parts of an archive

my $list = new_path('list');
(undef, my $listing) = run_program('pg_restore', '-l', $dir);
append_to_file($list, $listing);
my @data_lines = grep { / TABLE DATA public accounts / } split /\n/, $listing;
is(scalar @data_lines, scalar @sizes, '-l shows each chunk, and no barrier');
ok(!(grep { /^$accounts->{barrier}{id}; / } split /\n/, $listing),
	'-l does not show the barrier under its id');
mode_ok($dir, 'full list', '-L', $list, '-j4');

my $edited = new_path('edited');
append_to_file($edited,
	$listing =~ s/^(?=.* TABLE DATA public toast )/;/mgr);
my $without_toast = new_copy();
restore_ok($node, $dir, $without_toast, 'edited list', '-L', $edited, '-j4');
same_data_ok({ %$data, 'table public.toast' => '0 0' },
	fingerprint($node, $without_toast), 'edited list');

# entries of data in the opposite order; the others stay where they are
my $reversed = new_path('reversed');
my @reverse = reverse grep { / TABLE DATA / } split /\n/, $listing;
append_to_file($reversed,
	join "\n", map { / TABLE DATA / ? shift @reverse : $_ } split /\n/, $listing);
mode_ok($dir, 'reversed list', '-L', $reversed, '-j4');
mode_ok($dir, 'reversed list', '-L', $reversed);

foreach my $jobs ('-j4', '-j1')
{
	my $db = new_copy();
	restore_ok($node, $dir, $db, 'one table', '-n', 'public', '-t', 'accounts',
		$jobs);
	same_data_ok(only('public.accounts'), fingerprint($node, $db), "one table $jobs");

	$db = new_copy();
	sql($node, $db, 'CREATE SCHEMA other');
	restore_ok($node, $dir, $db, 'one schema', '-n', 'other', $jobs);
	my %want = %{ only(map { "other.$_" } qw(accounts parts_1 parts_2)) };
	$want{'sequence other.counter'} = $data->{'sequence other.counter'};
	same_data_ok(\%want, fingerprint($node, $db), "one schema $jobs");
}

# --- as text

my $script = new_path('script.sql');
run_program('pg_restore', '-f', $script, $dir);
my $by_psql = new_copy();
($rc, undef, $err) = run_program('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1',
	'-o', '/dev/null', '-d', $node->connstr($by_psql), '-f', $script);
is("$rc$err", '0', 'script: psql runs it without a message');
whole_ok($by_psql, 'script');

# --- by the partition root

my $root_dir = dump_ok($node, 'modes', 'partition root', 'pg_pardump',
	@small_chunks, '--load-via-partition-root');
is_deeply([ layout_problems($root_dir) ], [], 'partition root: layout');
my @root_chunks = grep { is_table_data($_) && $_->{tag} =~ /^parts_/ && !is_barrier($_) }
  @{ read_toc($root_dir)->{entries} };
cmp_ok(scalar @root_chunks, '>', 4, 'partition root: chunks');
is_deeply([ grep { $_->{copy} !~ /^COPY other\.parts \(/ } @root_chunks ],
	[], 'partition root: rows are copied into the root');
mode_ok($root_dir, 'partition root', '-j4');
mode_ok($root_dir, 'partition root');

# --- into a database that pg_restore creates: another cluster has the name free

my $properties = q{
	SELECT setconfig, shobj_description(d.oid, 'pg_database'), pg_encoding_to_char(encoding)
	FROM pg_database d JOIN pg_db_role_setting s ON s.setdatabase = d.oid
	WHERE datname = 'modes'};
my $target = start_cluster('target');
foreach my $options ([], [ '--clean', '--if-exists' ])
{
	my $what = "create @$options";
	restore_ok($target, $dir, 'postgres', $what, '--create', '-j4', @$options);
	same_database_ok($target, 'modes', $data, $schema, $what);
	is(value($target, 'modes', $properties),
		value($node, 'modes', $properties), "$what: the database's properties");
}

$target->stop;
$node->stop;
done_testing();
