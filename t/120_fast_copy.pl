# The extension's COPY FROM stores the tuples that the server's stores, each at
# the same place: for every table over all types, under settings that change how
# values are written and read, for random tables, and for those of many blocks,
# in messages of any size.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database new_path sql value);
use Pardump::DamagedPages qw(damage_types_sql leave_out_cstrings damaged_table_sql);
use Pardump::Load qw(load_session prepare_load same_load_ok who_copied);
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

# --- rows that are too long: compressed, out of line, or neither

sql($node, 'postgres', 'CREATE DATABASE long');
prepare_load($node, 'long');
my $lz4 = value($node, 'long', q{SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'}) eq 't';
sql($node, 'long', <<"SQL");
CREATE SCHEMA long;
SELECT setseed(@{[ (random_seed() % 1000) / 1000 ]});
-- words of a language, hexadecimal digits, and one byte again and again
CREATE FUNCTION long.value(n int) RETURNS text LANGUAGE sql VOLATILE AS \$\$
	SELECT CASE floor(random() * 4)::int
		WHEN 0 THEN (SELECT left(string_agg(md5(random()::text), ''), n) FROM generate_series(0, n / 32))
		WHEN 1 THEN repeat('x', n)
		ELSE (SELECT left(string_agg((string_to_array('lorem ipsum dolor sit amet consectetur \u00e4\u00f6 elit', ' '))[1 + floor(random() * 8)::int]
			|| left(md5(random()::text), floor(random() * 3)::int), ' '), n) FROM generate_series(0, n / 4)) END
\$\$;
-- mostly short, some of about 2 kB, where values move out of line, a few beyond the
-- 32 kB and 64 kB within which places are told apart
CREATE FUNCTION long.random_value() RETURNS text LANGUAGE sql VOLATILE AS \$\$
	SELECT CASE WHEN random() > 0.1 THEN long.value((CASE WHEN random() < 0.5 THEN 1900 + random() * 200
		WHEN random() < 0.95 THEN power(random(), 3) * 9000 ELSE random() * 150000 END)::int) END
\$\$;
CREATE TABLE long.one (i int, a text);
INSERT INTO long.one SELECT g, long.random_value() FROM generate_series(1, 600) g;
CREATE TABLE long.mixed (i int, a text, b int8, c text, d bytea, e text, f text);
ALTER TABLE long.mixed ALTER c SET STORAGE EXTERNAL, ALTER e SET STORAGE MAIN, ALTER f SET STORAGE PLAIN;
INSERT INTO long.mixed SELECT g, long.random_value(), g, long.random_value(), convert_to(long.random_value(), 'UTF8'),
	left(long.random_value(), 5000), left(long.random_value(), 1000) FROM generate_series(1, 600) g;
CREATE TABLE long.many (@{[ join ', ', map { "c$_ text" } 1 .. 40 ]});
INSERT INTO long.many SELECT @{[ join ', ', map { "left(long.random_value(), 20 * $_)" } 1 .. 40 ]} FROM generate_series(1, 100) g;
CREATE TABLE long.methods (a text COMPRESSION pglz, b text COMPRESSION @{[ $lz4 ? 'lz4' : 'pglz' ]}, c text);
INSERT INTO long.methods SELECT long.random_value(), long.random_value(), long.random_value() FROM generate_series(1, 300);
SQL
same_load_ok($node, 'long', 'long rows', schemas => 'long', tables => 4);
same_load_ok($node, 'long', 'long rows, lz4', schemas => 'long', tables => 4, settings => ["SET default_toast_compression = 'lz4'"]) if $lz4;
cmp_ok(value($node, 'long', q{SELECT count(*) FROM long.one WHERE pg_column_compression(a) = 'pglz'}), '>', 50, 'some values are compressed');

# indexes and constraints read values that are compressed or out of line
my $session = load_session($node, 'long', 1);
$session->query('CREATE TABLE long.indexed (LIKE long.one); CREATE UNIQUE INDEX ON long.indexed (md5(a), i);
	ALTER TABLE long.indexed ADD CHECK (length(a) < 200000)');
my $file = new_path('indexed');
sql($node, 'long', "COPY long.one TO '$file'");
my $result = $session->copy('COPY long.indexed FROM STDIN', [ slurp_file($file) ]);
is(who_copied($result), 'us', 'an index on a long value: the extension loads');
is(value($node, 'long', 'SET enable_seqscan = off; SELECT count(*) FROM long.one o WHERE EXISTS
	(SELECT FROM long.indexed x WHERE md5(x.a) = md5(o.a) AND x.i = o.i AND x.a = o.a)'),
	value($node, 'long', 'SELECT count(a) FROM long.one'), 'an index on a long value: each row is found by it');

# a table that stores even short values out of line, and an index whose entries would fit
# if their values were compressed
my $ours = load_session($node, 'long', 1);
my $servers = load_session($node, 'long', 0);
sql($node, 'long', <<'SQL');
CREATE TABLE long.target AS SELECT long.random_value() AS a, long.random_value() AS b, left(long.value(3000), 300) AS c, left(long.value(3000), 300) AS d
FROM generate_series(1, 200);
CREATE TABLE core.target (LIKE long.target) WITH (toast_tuple_target = 128);
CREATE TABLE ours.target (LIKE long.target) WITH (toast_tuple_target = 128);
CREATE TABLE core.keys (a text, b text, c text, d text, e text, f text, g text, h text);
CREATE TABLE ours.keys (LIKE core.keys);
CREATE INDEX ON core.keys (a, b, c, d, e, f, g, h);
CREATE INDEX ON ours.keys (a, b, c, d, e, f, g, h);
CREATE TABLE long.numbers (n numeric);
ALTER TABLE long.numbers ALTER n SET STORAGE EXTERNAL;
INSERT INTO long.numbers VALUES (1);
CREATE INDEX ON long.numbers USING brin (n numeric_minmax_multi_ops);
SQL
sql($node, 'long', "COPY long.target TO '$file'");
$servers->copy('COPY core.target FROM STDIN', [ slurp_file($file) ]);
is(who_copied($ours->copy('COPY ours.target FROM STDIN', [ slurp_file($file) ])), 'us', 'toast_tuple_target: the extension loads');
is(value($node, 'long', q{SELECT n || ' ' || different FROM load_compare.difference('core.target', 'ours.target')}), '200 0',
	'toast_tuple_target: the tuples are the server\'s');
my $wide = join("\t", ('x' x 400) x 8) . "\n";
is($ours->copy('COPY ours.keys FROM STDIN', [$wide])->{error}{message},
	$servers->copy('COPY core.keys FROM STDIN', [$wide])->{error}{message}, 'entries are made of values that are not compressed');
is(who_copied($ours->copy('COPY long.numbers FROM STDIN', [ '7.' . '7' x 5000 . "\n" ])), 'us', 'an index that copies values: the extension loads');
$_->close foreach $ours, $servers;
is(value($node, 'long', 'INSERT INTO long.numbers VALUES (2); SET enable_seqscan = off; SELECT count(*) FROM long.numbers WHERE n > 5'), 1,
	'an index that copies values: they are the values');

done_testing();
