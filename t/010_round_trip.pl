
# Round trips: databases with everything that PostgreSQL can hold are dumped by
# pg_pardump in several ways, restored by stock pg_restore, and must come out
# as from stock pg_dump's own archive: same schema, same rows, same objects.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program dump_ok codecs has_extension sql default_suffix new_path tier);
use Pardump::Compare qw(same_database_ok);
use Pardump::Databases qw(start_everything make_latin1 make_sql_ascii empty_copy);
use Pardump::Layout qw(toc_problems layout_problems chunk_count chunks_of);
use Pardump::RoundTrip qw(stock_round_trip round_trip create_extension);
use Pardump::Toc qw(read_toc);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_everything('round_trip');

is(has_extension($node), 1, 'the extension is installed');

# Below the highest tier those ways are left out that only combine what others try:
# sizes of chunks, and codecs, all of which 064, 071 and 145 try, too.
my $all = tier() == 3;
my @codecs = codecs($node);

# --- the database of everything

my $stock = stock_round_trip($node, 'everything');
is($stock->{errors}, '', 'everything: stock restores without a message');
ok(!$stock->{schema_differs}, 'everything: stock keeps the schema');
# extension_template.sql says why these
is_deeply(
	$stock->{differ},
	[ map { "table public.ext_$_" } qw(child parent some) ],
	'everything: stock keeps all data but that of conditional tables');
like($stock->{data}{'table public.ext_some'},
	qr/^5100 /, 'everything: the condition of an extension table holds');

my $dir = round_trip($node, 'everything', $stock, 'default', ['-j4'], ['-j4']);
is_deeply([ toc_problems($stock->{dir}, $dir) ],
	[], 'everything, default: all but data as in stock\'s archive');
my $suffix = default_suffix($node);
ok((grep { /\.dat\Q$suffix\E$/ } slurp_dir($dir)),
	"default codec writes $suffix");

# without $all, restored by psql only
my @by_pages = ('-j4', '--max-table-segment-pages=2', '-Z', 'none');
$dir = $all ? round_trip($node, 'everything', $stock, 'pages, none', \@by_pages, ['-j4'])
  : dump_ok($node, 'everything', 'everything, pages, none', 'pg_pardump', @by_pages);
is_deeply([ layout_problems($dir) ], [], 'everything, pages: layout');
is_deeply([ toc_problems($stock->{dir}, $dir) ],
	[], 'everything, pages: all but data as in stock\'s archive');
cmp_ok(chunks_of($dir, 'accounts'), '>', 200, 'a large table has many chunks');
cmp_ok(chunk_count($dir), '>', 1000, 'chunks everywhere');

# the same archive as a script for psql, where every odd value and name must
# survive another parser
my $script = new_path('everything.sql');
run_program('pg_restore', '-f', $script, $dir);
my $copy = empty_copy($node, 'everything', 'everything_script');
my ($rc, undef, $err) = run_program('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1',
	'-o', '/dev/null', '-d', $node->connstr($copy), '-f', $script);
is($rc, 0, 'everything, script: psql runs it') or diag(substr($err, 0, 2000));
same_database_ok($node, $copy, $stock->{data}, $stock->{schema},
	'everything, script');

my @by_size = ('-j3', '--chunk-size=16kB', '-Z', 'gzip:1');
my $without = $all ? round_trip($node, 'everything', $stock, 'size, gzip', \@by_size, ['-j1'])
  : dump_ok($node, 'everything', 'everything, size, gzip', 'pg_pardump', @by_size);
my @whole = ('--no-chunks', '-Z', '0');
$dir = $all ? round_trip($node, 'everything', $stock, 'no chunks', \@whole, ['-j4'])
  : dump_ok($node, 'everything', 'everything, no chunks', 'pg_pardump', @whole);
is_deeply([ toc_problems($stock->{dir}, $dir) ],
	[], 'everything, no chunks: all but data as in stock\'s archive');
is_deeply([ layout_problems($dir) ], [], 'everything, no chunks: layout');
is(chunk_count($dir), 0, '--no-chunks makes none');

create_extension($node, 'everything');
round_trip($node, 'everything', $stock, 'extension, default', ['-j4'], ['-j1']) if $all;
my $with = round_trip($node, 'everything', $stock, 'extension, size',
	[ '-j4', '--chunk-size=16kB', '-Z', $codecs[-1] ], ['-j4']);
round_trip($node, 'everything', $stock, 'extension, pages',
	[ '-j4', '--max-table-segment-pages=2', '-Z', $codecs[-2] ], ['-j4']) if $all;

# the extension sees what the number of pages does not tell
cmp_ok(chunks_of($with, 'dead_vacuumed') * 3,
	'<', chunks_of($without, 'dead_vacuumed'),
	'extension: a table of dead rows has fewer chunks');
$dir = dump_ok($node, 'everything', 'thin table', 'pg_pardump', '-j2',
	'-t', 'storage.thin', '--chunk-size=512kB');
cmp_ok(chunks_of($dir, 'thin'), '>=', 10,
	'extension: a small heap with much TOAST has many chunks');

# --- security labels

# No packaged module provides labels, so these are written as if one had been
# there; a server without it cannot restore them, hence only the archives are
# compared.
sql($node, 'postgres', q{CREATE DATABASE labels TEMPLATE template0});
sql($node, 'labels', q{
	CREATE TABLE labelled AS SELECT i, i AS j FROM generate_series(1, 5000) i;
	INSERT INTO pg_seclabel VALUES
		('labelled'::regclass, 'pg_class'::regclass, 0, 'unprivileged', E'a\\b''c'),
		('labelled'::regclass, 'pg_class'::regclass, 2, 'unprivileged', 'of j')});
my $stock_labels = dump_ok($node, 'labels', 'labels', 'pg_dump');
$dir = dump_ok($node, 'labels', 'labels', 'pg_pardump', '-j2',
	'--max-table-segment-pages=2');
is_deeply([ toc_problems($stock_labels, $dir) ],
	[], 'labels: all but data as in stock\'s archive');
my ($label) = grep { $_->{desc} eq 'SECURITY LABEL' } @{ read_toc($dir)->{entries} };
like($label->{defn}, qr/ON TABLE .*ON COLUMN /s, 'labels: the entry contains those of the table and of the column');

# --- other encodings

make_latin1($node);
make_sql_ascii($node);
foreach my $db (qw(latin1 sql_ascii))
{
	my $stock = stock_round_trip($node, $db);
	is($stock->{errors}, '', "$db: stock restores without a message");
	is_deeply($stock->{differ}, [], "$db: stock keeps all data");
	ok(!$stock->{schema_differs}, "$db: stock keeps the schema");

	round_trip($node, $db, $stock, 'pages, none',
		[ '-j2', '--max-table-segment-pages=2', '-Z', 'none' ], ['-j4'])
	  if $all || $db eq 'sql_ascii';
	round_trip($node, $db, $stock, 'UTF8 archive',
		[ '-j2', '--max-table-segment-pages=2', '-E', 'UTF8' ], ['-j4'])
	  if $db eq 'latin1';
	create_extension($node, $db);
	round_trip($node, $db, $stock, 'extension, size',
		[ '-j2', '--chunk-size=16kB' ], ['-j4']);
}

$node->stop;
done_testing();
