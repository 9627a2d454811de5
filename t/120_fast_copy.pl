# The extension's COPY FROM stores the tuples that the server's stores: for
# every table over all types, under settings that change how values are read,
# whatever messages the data comes in.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database sql);
use Pardump::Load qw(prepare_load same_load_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_copy');

make_database($node, 'types', options => 'TEMPLATE template0',
	files => [ map { "reader_$_.sql" } qw(numbers times documents others) ]);
prepare_load($node, 'types');

# How pg_dump sets its sessions, and the opposite of it.
same_load_ok($node, 'types', 'as pg_dump', schemas => 'reader\_%', tables => 20,
	settings => [
		"SET DateStyle = ISO", "SET IntervalStyle = postgres",
		"SET extra_float_digits = 3", "SET TimeZone = 'UTC'" ]);
same_load_ok($node, 'types', 'other settings', schemas => 'reader\_times', tables => 4,
	settings => [
		"SET DateStyle = 'SQL, DMY'", 'SET IntervalStyle = sql_standard',
		"SET TimeZone = 'Asia/Kathmandu'", 'SET bytea_output = escape' ]);

done_testing();
