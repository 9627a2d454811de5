# Raw tuples, read on one side and loaded on the other, are stored as they were
# at the source: for every table over types that can be read so, in every
# compression.

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
	same_raw_ok($node, 'types', $compression, schemas => 'reader\_%', tables => 20,
		compression => $compression);
}

done_testing();
