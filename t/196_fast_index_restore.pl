# pg_parrestore has the extension build indexes: they are the server's own, byte by
# byte.  Where that is not wanted or cannot be, the server builds them, and the
# program says why.  Copies do the same: t/087_copy_loader.pl.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value new_path run_program dump_ok make_database own_installation installed_at pg_major);
use Pardump::Databases qw(empty_copy);
use Pardump::Index qw(built_in_log index_pages check_index);
use Pardump::Restore qw(run_parrestore parrestore_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = own_installation();
my $node = start_cluster('fast_index_restore', install_path => $installation);
my $supported = pg_major($node) < 19;
$node->append_conf('postgresql.conf', "log_min_messages = debug1\nautovacuum = off");
$node->reload;

make_database($node, 'shop', options => 'TEMPLATE template0');
sql($node, 'shop', <<'SQL');
CREATE TABLE items (id int PRIMARY KEY, u uuid UNIQUE, kind int2, at timestamptz, price float8);
INSERT INTO items SELECT g, md5(g::text)::uuid, g % 50, '2020-01-01'::timestamptz + g * 7919 % 30011 * interval '1 s', g / 3.0
	FROM generate_series(1, 120000) g;
CREATE INDEX items_two ON items (kind DESC NULLS LAST, at);
CREATE INDEX items_price ON items (price) WITH (fillfactor = 70);
CREATE INDEX items_left ON items ((id + 1));
CREATE UNLOGGED TABLE fleeting (id bigint PRIMARY KEY);
INSERT INTO fleeting SELECT g FROM generate_series(1, 3000) g;
CREATE TABLE parts (id int, day date, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE INDEX ON parts (id);
INSERT INTO parts SELECT g, '2020-01-01'::date + g % 600 FROM generate_series(1, 20000) g;
CREATE TABLE nothing (id int PRIMARY KEY);
SQL
my @indexes = split /\n/, value($node, 'shop', q{SELECT indexrelid::regclass FROM pg_index
	JOIN pg_class t ON t.oid = indrelid WHERE t.relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1});
my @fast = $supported ? grep { /^items_/ && $_ ne 'items_left' } @indexes : ();

my %archives = (ours => dump_ok($node, 'shop', 'ours', 'pg_pardump', '--max-table-segment-pages=20'), stock => new_path('stock'));
run_program('pg_dump', '-Fc', '-Z0', '-f', $archives{stock}, '-d', $node->connstr('shop'));

# Which indexes the extension has built since an offset of the server's log; none twice.
# A session that has built one of the large table builds those of small tables as well,
# which are left out here.
sub built
{
	my ($offset) = @_;
	my $built = built_in_log(slurp_file($node->logfile, $offset));
	my @built = map { ($_) x $built->{$_} } sort keys %$built;
	my @of_large = grep { /^items_/ } @built;
	return @of_large ? \@of_large : \@built;
}

# Restores into a new database, in which no table of a comparison is left.  Returns its
# name, and what the extension has built.
sub restore
{
	my ($db, $archive, @options) = @_;
	my $offset = -s $node->logfile;
	empty_copy($node, 'shop', $db);
	parrestore_ok($node, $db, $archives{$archive}, $db, '--no-analyze', @options);
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relname LIKE 'pg\_pardump\_index%'}), 0, "$db: the table of the comparison does not exist");
	return ($db, built($offset));
}

# --- the same indexes

foreach my $archive (sort keys %archives)
{
	my ($with, $built) = restore("${archive}_with", $archive, '-j1');
	is_deeply($built, [ sort @fast ], "$archive: builders of the indexes");
	(my $without, $built) = restore("${archive}_without", $archive, '-j1', '--no-fast-index');
	is_deeply($built, [], "$archive, --no-fast-index: the server");

	my $pages = 0;
	foreach my $index (@indexes)
	{
		my @pages = map { [ index_pages($node, $_, $index) ] } $with, $without;
		$pages += @{ $pages[0] };
		ok(join('', @{ $pages[0] }) eq join('', @{ $pages[1] }), "$archive, $index: the same pages");
		is(check_index($node, $with, $index), '', "$archive, $index: amcheck");
	}
	cmp_ok($pages, '>', 400, "$archive: number of pages");
}
my ($db, $built) = restore('side_by_side', 'ours', '-j3');
is_deeply($built, [ sort @fast ], 'three sessions: builders of the indexes');
is(check_index($node, $db, $_), '', "three sessions, $_: amcheck") foreach @indexes;

# a restore that has only small tables compares nothing
my $offset = -s $node->logfile;
parrestore_ok($node, empty_copy($node, 'shop', 'small'), dump_ok($node, 'shop', 'small tables', 'pg_pardump', '-T', 'items'), 'small tables', '-j1');
is(value($node, 'small', q{SELECT count(*) FROM pg_index WHERE indrelid = 'fleeting'::regclass}), 1, 'small tables: indexes');
unlike(slurp_file($node->logfile, $offset), qr/pg_pardump_index_comparison/, 'small tables: no comparison');

# --- who builds, and what is said

# Restores with --verbose into a database that the SQL changes first.
sub told_ok
{
	my ($what, $expected, $prepare, $reasons, @options) = @_;
	my $db = empty_copy($node, 'shop', $what =~ s/\W/_/gr);
	sql($node, 'postgres', $prepare =~ s/DB/$db/gr) if $prepare;
	my $offset = -s $node->logfile;
	my ($rc, undef, $err) = run_program('pg_parrestore', '-v', '-j3', '-O', '-x', @options, $archives{ours});
	is($rc, 0, "$what: exit code") or diag($err);
	is_deeply(built($offset), [ sort @$expected ], "$what: builders of the indexes");
	my @told = $err =~ /: building indexes with the target's own CREATE INDEX\n(?:.*\n)*?\S+ detail: (.*)\.\n/g;
	is_deeply(\@told, $reasons, "$what: one message for each reason");
	return;
}

my @without = $supported ? () : ('This release\'s access methods cannot be replaced');
sub into { return ('-d', $node->connstr($_[0]) . ($_[1] // '')); }

sql($node, 'postgres', 'CREATE ROLE plain LOGIN');
told_ok('by the extension', \@fast, '', \@without, into('by_the_extension'));
told_ok('not wanted', [], '', ['Option --no-fast-index was specified'], into('not_wanted'), '--no-fast-index');
told_ok('switched off', [], 'ALTER DATABASE DB SET pg_pardump.fast_index = off', ['Setting pg_pardump.fast_index is off on the target'],
	into('switched_off'));
told_ok('switched on', \@fast, 'ALTER DATABASE DB SET pg_pardump.fast_index = on', \@without, into('switched_on'));
told_ok('any role', \@fast, 'ALTER DATABASE DB OWNER TO plain', \@without, into('any_role', ' user=plain'));
told_ok('no comparison', [], 'ALTER DATABASE DB OWNER TO plain; REVOKE TEMP ON DATABASE DB FROM PUBLIC, plain',
	$supported ? [q{Builds could not be compared with the server's}] : \@without, into('no_comparison', ' user=plain'));

# a server that has no such library
SKIP:
{
	skip 'the installation is not the tests\' own' if !defined $installation;
	my $library = installed_at($installation, '--pkglibdir') . '/plugins/pg_pardump.so';
	rename $library, "$library.away" or die "could not rename \"$library\": $!";
	told_ok('no library', [], '', ['Could not access file "$libdir/plugins/pg_pardump": No such file or directory'], into('no_library'));
	is(value($node, 'no_library', q{SELECT count(*) FROM pg_index WHERE indrelid = 'items'::regclass AND indisvalid}), 5,
		'no library: number of valid indexes');
	rename "$library.away", $library or die "could not rename \"$library\": $!";
}

$node->stop;
done_testing();
