# --incremental-by=wal-summaries: chunks whose blocks are in no summary of the
# write-ahead log are not read.  If the history is in doubt, fingerprints decide, so
# that the archive equals a full dump.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value pg_major start_psql start_standby);
use Pardump::Command qw(refused_ok);
use Pardump::Incremental qw(how);
use Pardump::Manifest qw(read_manifest);
use Pardump::Summaries qw(first_by_summaries by_summaries_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('history', allows_streaming => 1);
my @by = ('--incremental-by=wal-summaries');
my @first = @Pardump::Summaries::first;

make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 16000) g;
CREATE TABLE docs AS SELECT g AS id, (SELECT string_agg(md5((g * 100 + i)::text), ' ') FROM generate_series(1, 150) i) AS t
	FROM generate_series(1, 200) g;
CREATE UNLOGGED TABLE unlogged AS SELECT g AS id, repeat('u', 100) AS t FROM generate_series(1, 3000) g;
SQL
sql($node, 'shop', 'VACUUM');

refused_ok(qr/invalid value "lsn" for option --incremental-by/, 'another way', '--manifest-fingerprints',
	'--incremental-by=lsn', '-d', $node->connstr('shop'));
refused_ok(qr/option --incremental-by requires option --incremental/, 'nothing to do by it', @by,
	'-d', $node->connstr('shop'));

# A dump that warns of why the next one cannot ask.
sub warned_ok
{
	my ($what, $warning, @options) = @_;
	my $dir = new_path('warned');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', $dir, @first, '-d', $node->connstr('shop'), @options);
	is($rc, 0, "$what: exit code");
	like($err, qr/\Apg_pardump: warning: $warning\.\n\z/, "$what: warning");
	is(read_manifest($dir)->{'History-Token'}, undef, "$what: nothing of it in the manifest");
	return $dir;
}

my $unused = $Pardump::Summaries::unused;

if (pg_major($node) < 17)
{
	warned_ok('an old server', "$unused\npg_pardump: detail: The server is older than 17");
	done_testing();
	exit;
}

warned_ok('no summaries', "$unused\npg_pardump: detail: The parameter summarize_wal is off");
$node->append_conf('postgresql.conf', "summarize_wal = on\n");
$node->reload;
$node->poll_query_until('postgres', 'SHOW summarize_wal', 'on') or die;

sub first { return first_by_summaries($node, 'shop', @_); }

sub by_summaries
{
	my ($what, $previous, $table, $unread, %params) = @_;
	return by_summaries_ok($node, 'shop', $what, $previous, $table => $unread, %params);
}

# ---- what has changed is looked at, and nothing else

my $first = first('first');
like(read_manifest($first)->{'History-Token'}, qr/^[0-9a-f]{32}$/, 'the manifest has a token');
my $all = join ' ', 1 .. length how($first, 't');
cmp_ok(length how($first, 't'), '>', 4, 'number of chunks');
my $second = by_summaries('nothing has changed', $first, 't', $all);
like(how($second, 't'), qr/^l+$/, 'nothing has changed: all files are reused');
like(how($second, 'unlogged'), qr/^l+$/, 'nothing has changed: files of an unlogged table are reused');
my $third = by_summaries('nothing has changed again', $second, 'docs', join ' ', 1 .. length how($first, 'docs'));
by_summaries('unlogged', $third, 'unlogged', '');

sql($node, 'shop', "UPDATE t SET t = 'new' WHERE ctid >= '(0,1)' AND ctid < '(0,9)'");
my $changed = by_summaries('the first chunk', $third, 't', $all =~ s/^1 //r);
like(how($changed, 't'), qr/^\.l+$/, 'the first chunk: it is dumped');
sql($node, 'shop', 'VACUUM FREEZE t');
my $frozen = by_summaries('freezing', $changed, 't', '');
like(how($frozen, 't'), qr/^l+$/, 'freezing: all files are reused');

sql($node, 'shop', 'BEGIN; DELETE FROM t; ROLLBACK');
my $rolled = by_summaries('a rollback', $frozen, 't', '');
sql($node, 'shop', 'DELETE FROM t WHERE id > 15000');
sql($node, 'shop', 'VACUUM (FREEZE, TRUNCATE) t');
sql($node, 'shop', "INSERT INTO t SELECT g, repeat(md5(g::text), 4) FROM generate_series(20001, 22000) g");
my $cut = by_summaries('truncated and extended', $rolled, 't', '');
my $chunks = join ' ', 1 .. length how($cut, 't');
sql($node, 'shop', 'VACUUM FULL t');
my $full = by_summaries('rewritten', $cut, 't', '');
sql($node, 'shop', "ALTER TABLE docs ADD COLUMN n int DEFAULT 7");
by_summaries('a column more', $full, 'docs', '');

# ---- visibility: what was decided for the previous snapshot

my $base = first('base');
my $old = start_psql($node, 'shop');
$old->('BEGIN');
$old->("UPDATE t SET t = 'open' WHERE id = 1");
my $open = warned_ok('a transaction is running',
	"a later run cannot use WAL summaries\npg_pardump: detail: A long-running transaction was active when the snapshot was taken");
$old->('COMMIT');
$old->();
by_summaries('it has committed since', $open, 't', '', warning => qr/The previous archive was made without --incremental-by=wal-summaries, or while older transactions were running/);

my $holder = start_psql($node, 'shop');
$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $snapshot = $holder->('SELECT pg_export_snapshot()');
sql($node, 'shop', "UPDATE t SET t = 'later' WHERE id = 2");
my $later = first('later');
by_summaries('an older snapshot', $later, 't', '', snapshot => $snapshot, warning => qr/.*still running/);
$holder->('COMMIT');
$holder->();

# ---- another history

sql($node, 'shop', "UPDATE t SET t = 'before the copy' WHERE id = 3");
$node->stop;
my $saved = new_path('saved');
system_or_bail('cp', '-a', $node->data_dir, $saved);
$node->start;
sql($node, 'shop', "UPDATE t SET t = 'lost' WHERE id = 4");
my $lost = first('of what is lost');
$node->stop;
rename $node->data_dir, new_path('gone') or die;
rename $saved, $node->data_dir or die;
$node->start;
sql($node, 'shop', "UPDATE t SET t = 'kept' WHERE id = 4");
by_summaries('PGDATA put back', $lost, 't', '', warning => qr/The server was restarted after the previous archive/);

my $forgotten = first('to be forgotten');
sql($node, 'shop', "UPDATE t SET t = 'forgotten' WHERE id = 5");
sql($node, 'shop', 'COMMENT ON TABLE pardump.pg_pardump_history IS NULL');
by_summaries('no mark', $forgotten, 't', '', warning => qr/The server has no record of the previous dump/);

# a database that is a copy has the token, too
my $copied = first('to be copied');
my $oid = value($node, 'postgres', "SELECT oid FROM pg_database WHERE datname = 'shop'");
sql($node, 'postgres', 'CREATE DATABASE copy TEMPLATE shop');
sql($node, 'copy', "UPDATE t SET t = 'copy' WHERE id < 3000");
sql($node, 'copy', 'VACUUM FREEZE t');
sql($node, 'postgres', 'DROP DATABASE shop');
sql($node, 'postgres', "CREATE DATABASE shop OID $oid TEMPLATE copy STRATEGY file_copy");
by_summaries('a database copied in its place', $copied, 't', '');

# ---- no summaries, no rights

my $gap = first('before a gap');
sql($node, 'shop', "UPDATE t SET t = 'gap' WHERE id = 5");
sql($node, 'postgres', 'CHECKPOINT');
$node->poll_query_until('postgres',
	'SELECT s.summarized_lsn >= c.redo_lsn FROM pg_get_wal_summarizer_state() s, pg_control_checkpoint() c') or die;
unlink glob $node->data_dir . '/pg_wal/summaries/*';
by_summaries('summaries are missing', $gap, 't', '', warning => qr/WAL summaries are missing/);

sql($node, 'shop', 'CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper');
{
	my $dir = new_path('dumper');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', $dir, @first, '-U', 'dumper', '-d', $node->connstr('shop'));
	is($rc, 0, 'a role without rights: exit code') or diag($err);
	like($err, qr/^pg_pardump: warning: (?:a later run )?cannot use WAL summaries\npg_pardump: detail: Permission denied/m, 'message of the warning');
	is(read_manifest($dir)->{'History-Token'}, undef, 'the manifest contains no history token');

	# as the manual says
	sql($node, 'shop', <<'SQL');
GRANT EXECUTE ON FUNCTION pardump.pg_pardump_note_dump(text) TO dumper;
GRANT EXECUTE ON FUNCTION pg_available_wal_summaries(), pg_get_wal_summarizer_state(),
	pg_wal_summary_contents(bigint, pg_lsn, pg_lsn) TO dumper;
GRANT pg_checkpoint TO dumper;
SQL
	my $base = first('with rights', '-U', 'dumper');
	by_summaries('a role with rights', $base, 't', join(' ', 1 .. length how($base, 't')), options => [ '-U', 'dumper' ]);
}

# ---- the token's place is in no dump and no publication

unlike(scalar `pg_dump -s -d '@{[ $node->connstr('shop') ]}'`, qr/pg_pardump_history/, 'pg_dump does not see it');
sql($node, 'shop', 'CREATE PUBLICATION everything FOR ALL TABLES');
is(value($node, 'shop', "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'pg_pardump_history'"), 0,
	'the history table is in no publication');
sql($node, 'shop', 'DROP PUBLICATION everything');

# ---- a standby

my $standby = start_standby($node);
$node = $standby;
my $there = warned_ok('a standby', "$unused\npg_pardump: detail: The server is a standby");

done_testing();
