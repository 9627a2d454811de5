# Direct copies: databases with everything that PostgreSQL can hold are copied
# into another cluster in several ways, and must come out there as from stock
# pg_dump and pg_restore.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster has_extension sql tier);
use Pardump::Compare qw(schema_text same_database_ok);
use Pardump::Copy qw(copy_ok stock_copy sessions_left);
use Pardump::Databases qw(prepare_for_everything start_everything archives_of_everything
  make_latin1 make_sql_ascii empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_everything('copy_source');
my $target = start_cluster('copy_target');
my $copies = 0;

# One way to copy.
sub copied_ok
{
	my ($db, $stock, $what, @options) = @_;
	my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
	my $out = copy_ok($source, $db, $target, $copy, "$db, $what", @options);
	same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, "$db, $what");
	is(sessions_left($source, $target), 0, "$db, $what: no session left");
	return $out;
}

is(has_extension($source), 1, 'the extension is installed');

# --- the database of everything

prepare_for_everything($target);
my $stock = stock_copy($source, 'everything', $target, { archives_of_everything() }->{custom});
is($stock->{errors}, '', 'everything: stock restores without a message');

# Below the highest tier, each option is in one of the ways.
my $all = tier() == 3;
copied_ok('everything', $stock, 'default', '-j4') if $all;
copied_ok('everything', $stock, 'chunks', '-j4', '--chunk-size=16kB',
	'--index-jobs=1');
copied_ok('everything', $stock, 'text', '-j2', '--copy-format=text',
	'--max-table-segment-pages=2', '--no-analyze') if $all;
copied_ok('everything', $stock, 'whole tables', '--no-chunks', $all ? () : ('--copy-format=text', '--no-analyze'));

sql($_->[0], $_->[1], 'CREATE EXTENSION pg_pardump')
  foreach ([ $source, 'everything' ], [ $target, $stock->{copy} ]);
$stock->{schema} = schema_text($target, $stock->{copy});
copied_ok('everything', $stock, 'text by the extension', '-j4',
	'--copy-format=text', '--chunk-size=16kB');
copied_ok('everything', $stock, 'by the extension', '-j4', '--chunk-size=16kB');

# --- other encodings

make_latin1($source);
make_sql_ascii($source);
foreach my $db (qw(latin1 sql_ascii))
{
	my $stock = stock_copy($source, $db, $target);
	copied_ok($db, $stock, 'default', '-j2', '--chunk-size=16kB');
	copied_ok($db, $stock, 'text', '-j2', '--copy-format=text', '--max-table-segment-pages=2') if $all || $db eq 'sql_ascii';
	copied_ok($db, $stock, 'UTF8', '-j2', '-E', 'UTF8') if $db eq 'latin1';
}

$source->stop;
$target->stop;
done_testing();
