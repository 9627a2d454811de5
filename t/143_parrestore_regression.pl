# PostgreSQL's own regression database, restored by pg_parrestore, comes out as
# by stock pg_dump and pg_restore.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program dump_ok new_path);
use Pardump::Compare qw(same_database_ok);
use Pardump::Copy qw(stock_copy);
use Pardump::Databases qw(start_regression start_beside regress_dir empty_copy);
use Pardump::Restore qw(parrestore_ok);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'PG_PARDUMP_REGRESS is not set' if !defined regress_dir();

my $source = start_regression('restore_source');
my $target = start_beside($source, 'restore_target');

my $stock = stock_copy($source, 'regression', $target);
is($stock->{errors}, '', 'stock restores without a message');

my $custom = new_path('custom');
run_program('pg_dump', '-Fc', '-f', $custom, '-d', $source->connstr('regression'));
my %archives = (
	"stock's" => $custom,
	ours => dump_ok($source, 'regression', 'ours', 'pg_pardump', '-j2',
		'--max-table-segment-pages=2'));
foreach my $whose (sort keys %archives)
{
	my $copy = empty_copy($target, 'regression', 'regression_' . length $whose);
	parrestore_ok($target, $copy, $archives{$whose}, $whose, '-j4', '--no-analyze');
	same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, $whose);
}

$source->stop;
$target->stop;
done_testing();
