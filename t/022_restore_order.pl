
# The order in which stock pg_restore -j takes the entries of a chunked archive:
# a table's index is built as soon as the table has all its rows, and not when
# those of all other tables are loaded.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run ();
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database dump_ok restore_ok start_psql
  sql value);
use Pardump::Databases qw(empty_copy);
use Pardump::Layout qw(layout_problems chunks_of);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('restore_order');

# The file of "held" is the largest, those of "late" are smaller than a chunk.
make_database($node, 'source', options => 'TEMPLATE template0');
sql($node, 'source', q{
	CREATE TABLE held (rows text);
	INSERT INTO held SELECT string_agg(md5(n::text), '') FROM generate_series(1, 20000) n;
	CREATE TABLE late_1 AS SELECT 1 AS id;
	CREATE TABLE late_2 AS SELECT 1 AS id;
	CREATE TABLE split (id int PRIMARY KEY, name text);
	INSERT INTO split SELECT n, md5(n::text) FROM generate_series(1, 10000) n});
my $dir = dump_ok($node, 'source', 'source', 'pg_pardump', '-j2', '--max-table-segment-pages=16');
is_deeply([ layout_problems($dir) ], [], 'layout');
my $chunks = chunks_of($dir, 'split');
cmp_ok($chunks, '>', 2, 'a table has chunks');
is(chunks_of($dir, 'held'), 0, 'the one with the largest file has none');

# One of two workers waits for the table that is taken first, so that the other
# takes everything else, one after the other.
my $db = empty_copy($node, 'source', 'target');
restore_ok($node, $dir, $db, 'definitions', '--section=pre-data');
my $locker = start_psql($node, $db);
$locker->('BEGIN');
$locker->('LOCK TABLE held');
my $err = '';
my $restore = IPC::Run::start(
	[ 'pg_restore', '-j2', '--verbose', '--section=data', '--section=post-data', '-d', $node->connstr($db), $dir ],
	'<', \undef, '2>', \$err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
wait_until('all other rows are loaded', sub {
	$restore->pump_nb;
	return value($node, $db, q{SELECT (SELECT count(*) FROM late_1) + (SELECT count(*) FROM late_2)}) == 2
		&& $err =~ /finished item \d+ CONSTRAINT/;
});
$locker->('COMMIT');
$locker->();
ok($restore->finish, 'pg_restore ends well') or diag($err);

my @launched = $err =~ /launching item \d+ (?:TABLE DATA|CONSTRAINT) (?:split )?(\w+)/g;
is_deeply(\@launched, [ 'held', ('split') x $chunks, 'split_pkey', 'late_1', 'late_2' ],
	'the key is built before smaller tables are loaded');
is(value($node, $db, 'SELECT count(*) FROM split'), 10000, 'all rows are restored');

done_testing();
