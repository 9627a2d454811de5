# PostgreSQL's own regression database, copied straight into another cluster,
# comes out there as from stock pg_dump and pg_restore.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(sql);
use Pardump::Compare qw(same_database_ok schema_text);
use Pardump::Copy qw(copy_ok stock_copy);
use Pardump::Databases qw(start_regression start_beside regress_dir empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'PG_PARDUMP_REGRESS is not set' if !defined regress_dir();

my $source = start_regression('copy_source');
my $target = start_beside($source, 'copy_target');

my $stock = stock_copy($source, 'regression', $target);
is($stock->{errors}, '', 'stock restores without a message');
my $copies = 0;

sub regression_copied_ok
{
	my ($what, @options) = @_;
	my $copy = empty_copy($target, 'regression', 'regression_' . ++$copies);
	copy_ok($source, 'regression', $target, $copy, "$what @options", '-j4',
		'--no-analyze', @options);
	same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, "$what @options");
	return;
}

regression_copied_ok('default');
copy_ok($source, 'regression', $target, 'regression_1', '--clean', '-j4', '--no-analyze', '--clean');
same_database_ok($target, 'regression_1', $stock->{data}, $stock->{schema}, '--clean');
regression_copied_ok('text', '--copy-format=text', '--max-table-segment-pages=2');
sql($_->[0], $_->[1], 'CREATE EXTENSION pg_pardump')
  foreach ([ $source, 'regression' ], [ $target, $stock->{copy} ]);
$stock->{schema} = schema_text($target, $stock->{copy});
regression_copied_ok('with the extension', '--max-table-segment-pages=2');

$source->stop;
$target->stop;
done_testing();
