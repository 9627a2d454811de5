# The extension's COPY FROM stores the tuples that the server's stores, each at
# the same place: for every table over all types, under settings that change how
# values are written and read, for random tables, and for those of many blocks,
# in messages of any size.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database sql);
use Pardump::DamagedPages qw(damage_types_sql leave_out_cstrings damaged_table_sql);
use Pardump::Load qw(prepare_load same_load_ok);
use Pardump::Reader qw(random_seed text_settings);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_copy');
note('PG_PARDUMP_SEED=' . random_seed());

make_database($node, 'types', options => 'TEMPLATE template0',
	files => [ map { "reader_$_.sql" } qw(numbers times documents others) ]);
prepare_load($node, 'types');

# bytea and floats, too, are written in two ways by the first two settings
my $n_settings = 0;
foreach my $setting (text_settings())
{
	my ($what, @set) = @$setting;
	my @tables = $n_settings++ < 2 ? (schemas => 'reader\_%', tables => 65) : (schemas => 'reader\_times', tables => 4);
	same_load_ok($node, 'types', $what, @tables, settings => \@set);
}

# --- random columns of many types

srand random_seed();
sql($node, 'postgres', 'CREATE DATABASE random');
prepare_load($node, 'random');
leave_out_cstrings();
sql($node, 'random', join ";\n", damage_types_sql(),
	map { (damaged_table_sql("fuzz.t$_"))[0] } 1 .. 60);
same_load_ok($node, 'random', 'random tables', schemas => 'fuzz', tables => 60);

# --- tables that grow by many blocks, in and out of line

sql($node, 'postgres', 'CREATE DATABASE large');
prepare_load($node, 'large');
sql($node, 'large', <<'SQL');
CREATE SCHEMA large;
CREATE TABLE large.narrow AS SELECT g, md5(g::text) AS t, g % 7 AS i FROM generate_series(1, 100000) g;
CREATE TABLE large.wide (g int, t text, u text);
ALTER TABLE large.wide ALTER u SET STORAGE EXTERNAL;
INSERT INTO large.wide SELECT g, repeat(md5(g::text), 80), CASE WHEN g % 3 = 0 THEN repeat(md5(g::text), 200) END
FROM generate_series(1, 4000) g;
CREATE TABLE large.uneven AS SELECT g, repeat('x', g * 7919 % 4001) AS t FROM generate_series(1, 6000) g;
ALTER TABLE large.uneven SET (fillfactor = 50);
SQL
same_load_ok($node, 'large', 'large tables', schemas => 'large', tables => 3);

done_testing();
