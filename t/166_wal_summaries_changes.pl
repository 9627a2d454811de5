# --incremental-by=wal-summaries against all that changes what a snapshot sees, or
# seems to: with each of these the archive must be what a full dump is, and blocks
# that nothing was written to are not read.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value pg_major start_psql);
use Pardump::Incremental qw(how);
use Pardump::Manifest qw(read_manifest);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Summaries qw(first_by_summaries by_summaries_ok);
use Test::More;

my $node = start_cluster('changes', leave_stopped => 1);
plan skip_all => 'servers have summaries since 17' if pg_major($node) < 17;
$node->append_conf('postgresql.conf', "summarize_wal = on\nwal_level = replica\nmax_prepared_transactions = 10\n");
$node->start;
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 16000) g;
CREATE TABLE docs (id int, t text);
ALTER TABLE docs ALTER t SET STORAGE EXTERNAL;
INSERT INTO docs SELECT g, repeat(md5(g::text), 100) FROM generate_series(1, 300) g;
SQL
sql($node, 'shop', 'VACUUM FREEZE');

sub first { return first_by_summaries($node, 'shop', @_); }
sub by_summaries { return by_summaries_ok($node, 'shop', @_); }

my $archive = first('the first');

# The numbers of these chunks.
sub chunks
{
	my ($which) = @_;
	my @all = 1 .. length how($archive, 't');
	return join ' ', $which eq 'none' ? () : $which eq 'all' ? @all : @all[ 1 .. $#all ];
}

# Statements, and which chunks of "t" are not read then; undef for whichever, where
# hints may be logged, as with checksums, or rows find room anywhere.
my @changes = (
	[ 'a savepoint that is rolled back', 'but the first', "BEGIN; SAVEPOINT a; UPDATE t SET t = 'a' WHERE id = 1; ROLLBACK TO a; COMMIT" ],
	[ 'savepoints in savepoints', undef,
		"BEGIN; SAVEPOINT a; UPDATE t SET t = repeat('b', 128) WHERE id = 2; SAVEPOINT b; DELETE FROM t WHERE id = 3; RELEASE b; ROLLBACK TO a;"
		  . "DELETE FROM t WHERE id = 4; COMMIT" ],
	[ 'a row lock', 'but the first', 'BEGIN; SELECT FROM t WHERE id = 5 FOR UPDATE; COMMIT' ],
	[ 'hints', undef, 'SELECT count(*) FROM t' ],
	[ 'vacuum', undef, 'VACUUM t' ],
	[ 'nothing left to vacuum', 'all', 'VACUUM t' ],
	[ 'the visibility map alone', undef, 'CREATE EXTENSION pg_visibility', q{SELECT pg_truncate_visibility_map('t')}, 'VACUUM t' ],
	[ 'TRUNCATE rolled back', 'all', "BEGIN; TRUNCATE t; INSERT INTO t SELECT g, 'rolled back' FROM generate_series(1, 16000) g; ROLLBACK" ],
	[ 'a rewrite rolled back', 'all', 'BEGIN; ALTER TABLE t ALTER id TYPE bigint; ROLLBACK' ],
	[ 'TRUNCATE', 'none', 'CREATE TABLE kept AS SELECT * FROM t; BEGIN; TRUNCATE t; INSERT INTO t SELECT * FROM kept; COMMIT; DROP TABLE kept' ],
	[ 'COPY FREEZE', 'none', "COPY t TO '/dev/shm/PATH'; BEGIN; TRUNCATE t; COPY t FROM '/dev/shm/PATH' (FREEZE); COMMIT" ],
	[ 'VACUUM FULL', 'none', 'VACUUM FULL t' ],
	[ 'VACUUM FULL of what is out of line', 'all', 'SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = '
		  . "'docs'::regclass \\gset\nVACUUM FULL :toast" ],
	[ 'unlogged and back', 'none', 'ALTER TABLE t SET UNLOGGED; DELETE FROM t WHERE id = 10; ALTER TABLE t SET LOGGED' ],
	[ 'to a tablespace and back', 'none', "SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''; ALTER TABLE t SET TABLESPACE elsewhere;"
		  . 'DELETE FROM t WHERE id = 11; ALTER TABLE t SET TABLESPACE pg_default' ],
	[ 'rows that are killed', 'but the first', 'CREATE EXTENSION pg_surgery; BEGIN; DELETE FROM t WHERE id = 20; ROLLBACK;'
		  . "SELECT heap_force_kill('t', ARRAY['(0,7)'::tid])" ],
	[ 'a short end', undef, 'DELETE FROM t WHERE id > 12000', 'VACUUM t',
		"INSERT INTO t SELECT g, repeat(md5(g::text), 4) FROM generate_series(12001, 16000) g" ]);
foreach my $change (@changes)
{
	my ($what, $unread, @sql) = @$change;
	my $path = "pg_pardump_$$";
	sql($node, 'shop', s/PATH/$path/gr) foreach @sql;
	unlink "/dev/shm/$path";
	$archive = by_summaries($what, $archive, defined $unread ? (t => chunks($unread)) : ());
}

# values out of line, of which the table itself tells nothing but a pointer
sql($node, 'shop', q{UPDATE docs SET t = repeat(md5('other'), 100) WHERE id = 200});
$archive = by_summaries('a value out of line', $archive, docs => '');

# ---- transactions that have begun before the position: a later run must not ask

{
	my $what = 'prepared, and without a change yet';
	sql($node, 'shop', q{BEGIN; UPDATE t SET t = 'prepared' WHERE id = 100; PREPARE TRANSACTION 'p'});
	my $late = start_psql($node, 'shop');
	$late->('BEGIN');
	$late->('SELECT pg_current_xact_id()');
	my $dir = new_path('warned');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', $dir, @Pardump::Summaries::first, '-d', $node->connstr('shop'));
	is($rc, 0, "$what: exit code");
	like($err, qr/A long-running transaction was active/, "$what: warning");
	$late->(q{UPDATE t SET t = 'late' WHERE id = 6000});
	$late->('COMMIT');
	$late->();
	sql($node, 'shop', q{COMMIT PREPARED 'p'});
	$archive = by_summaries($what, $dir, t => '', warning => qr/The previous archive was made without/);
}

# ---- one that begins behind the position and before the snapshot, and continues after it

{
	my $what = 'begun before the snapshot';
	my $moments = start_moments($node, [qr/pg_catalog\.pg_current_xact_id\(\)/], { pattern => 0, n => 1, answer => 1 });
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=shop", @Pardump::Summaries::first);
	wait_in_run($run, 'the moment', sub { my @held = moment_held($moments); return @held > 0 });
	my @open = map { start_psql($node, 'shop') } 1 .. 2;
	foreach my $i (0, 1)
	{
		$open[$i]->($_) foreach 'BEGIN', 'SAVEPOINT a', "UPDATE t SET t = repeat('c', 128) WHERE id = " . (200 + 7000 * $i);
		# hints of who is still running are not set
		sql($node, 'shop', 'SELECT count(*) FROM t');
	}
	$open[1]->(q{PREPARE TRANSACTION 'later'});
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	stop_moments($moments);
	ok(read_manifest($run->{dir})->{'History-Token'}, "$what: a later run may ask");
	# it had not ended for the previous snapshot, but has for this one
	$open[0]->('COMMIT');
	sql($node, 'shop', q{COMMIT PREPARED 'later'});
	$_->() foreach @open;
	$archive = by_summaries($what, $run->{dir});
	like(how($archive, 't'), qr/^\.l+\.l*\.*$/, "$what: changed files are dumped");
}

$node->stop;
done_testing();
