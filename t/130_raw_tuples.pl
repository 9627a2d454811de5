# Raw tuples, read on one side and loaded on the other, are stored as they were
# at the source: for every table over types that can be read so, for all kinds
# of storage and long rows, in every compression.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database sql);
use Pardump::Load qw(prepare_load);
use Pardump::Raw qw(same_raw_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('raw_tuples');

make_database($node, 'types', options => 'TEMPLATE template0',
	files => [ map { "reader_$_.sql" } qw(numbers times strings documents others) ]);
sql($node, 'types', 'CREATE EXTENSION pg_pardump');
prepare_load($node, 'types');
foreach my $compression (qw(none lz4 zstd:1))
{
	same_raw_ok($node, 'types', "types, $compression", schemas => 'reader\_%', tables => 20,
		compression => $compression);
}

make_database($node, 'cases', files => ['raw_cases.sql']);
sql($node, 'cases', 'CREATE EXTENSION pg_pardump');
prepare_load($node, 'cases');
foreach my $compression (qw(none zstd:1))
{
	same_raw_ok($node, 'cases', "cases, $compression", schemas => 'raw\_cases', tables => 11,
		compression => $compression);
}

done_testing();
