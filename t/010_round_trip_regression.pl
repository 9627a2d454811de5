# Round trips of PostgreSQL's own regression database, as those of 010_round_trip.pl; and
# its rows by the extension's reader.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(value tier);
use Pardump::Databases qw(start_regression regress_dir);
use Pardump::Layout qw(toc_problems chunk_count);
use Pardump::Reader qw(prepare_comparison same_rows_ok);
use Pardump::RoundTrip qw(stock_round_trip round_trip create_extension);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'PG_PARDUMP_REGRESS is not set' if !defined regress_dir();

my $node = start_regression('round_trip_regression');

my $stock = stock_round_trip($node, 'regression');
# some materialized views are stale there, and a restore fills them again
my %stale = map { ("table $_" => 1) } split /\n/, value($node, 'regression',
	"SELECT oid::regclass FROM pg_class WHERE relkind = 'm'");
is_deeply([ grep { !$stale{$_} && !$stale{s/public\.//r} } @{ $stock->{differ} } ],
	[], 'regression: stock keeps all data of tables');
cmp_ok(scalar keys %{ $stock->{data} },
	'>', 500, 'regression: many relations');

round_trip($node, 'regression', $stock, 'default', ['-j4'], ['-j4']) if tier() == 3;
my $dir = round_trip($node, 'regression', $stock, 'pages, none',
	[ '-j4', '--max-table-segment-pages=2', '-Z', 'none' ], ['-j4']);
is_deeply([ toc_problems($stock->{dir}, $dir) ],
	[], 'regression: all but data as in stock\'s archive');
create_extension($node, 'regression');
$dir = round_trip($node, 'regression', $stock, 'extension, size',
	[ '-j4', '--chunk-size=16kB', '-Z', 'gzip' ], ['-j1']);
cmp_ok(chunk_count($dir), '>', 100, 'regression: chunks');

# the server's reader, row by row, with the system's catalogs
prepare_comparison($node, 'regression');
same_rows_ok($node, 'regression', join(', ', @$_),
	settings => [ map { "SET $_" } @$_ ], relations => 400,
	bytes => 5_000_000)
  foreach [ "search_path = ''", 'extra_float_digits = 3' ],
  [
	"DateStyle = 'SQL, DMY'", 'IntervalStyle = sql_standard',
	'bytea_output = escape', 'extra_float_digits = 0'
  ],
  [
	'IntervalStyle = iso_8601', "TimeZone = 'Asia/Kathmandu'",
	"client_encoding = 'LATIN1'"
  ];

$node->stop;
done_testing();
