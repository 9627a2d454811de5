# Incremental dumps of servers whose past is not what it was: put back to an earlier
# state, without transactions that a crash has lost, standbys, and after a promotion.
# All of that leaves pages of which log positions and transaction IDs say that they are
# as they were; what is stored says that they are not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster start_standby make_database new_path sql value start_psql);
use Pardump::Incremental qw(make_shop first_archive incremental_ok how);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('history', allows_streaming => 1, leave_stopped => 1);
$node->append_conf('postgresql.conf', "bgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h");
$node->start;
make_database($node, 'past');
sql($node, 'past', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE EXTENSION pageinspect;
CREATE TABLE t (id int, filler text, long text);
ALTER TABLE t ALTER filler SET STORAGE PLAIN;
ALTER TABLE t ALTER long SET STORAGE EXTERNAL;
INSERT INTO t SELECT g, repeat(md5(g::text), 20) FROM generate_series(1, 2000) g;
SQL

# Set hint bits and freeze rows now, so that this does not change pages later.
sub settle { sql($node, 'past', 'VACUUM FREEZE t'); return; }

# The last tuple of the table as it is stored, with its pointers, and who wrote it.
sub last_tuple
{
	return value($node, 'past', <<'SQL');
SELECT md5(t_data), t_xmin FROM heap_page_items(get_raw_page('t', (pg_relation_size('t') / 8192)::int - 1))
WHERE t_data IS NOT NULL ORDER BY lp DESC LIMIT 1
SQL
}

# The last row is the one that counts: whether it was dumped, and all before it reused.
sub last_is_dumped_ok
{
	my ($what, $old) = @_;
	my $dir = incremental_ok($node, 'past', $what, $old);
	like(how($dir, 't'), qr/^l+\.$/, "$what: the chunk of that row is dumped");
	return;
}

# What the last dump's sessions see is not kept for them any more by VACUUM.
sub wait_for_sessions
{
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}) or die 'the dump is there yet';
	return;
}

# Before a writer of the log that was stopped can do its duty.
sub stop_writer_and_server
{
	my ($writer) = @_;
	kill KILL => $writer;
	$node->stop('immediate', fail_ok => 1);
	wait_until('the server is gone', sub {
		my ($pid) = split /\n/, eval { slurp_file($node->data_dir . '/postmaster.pid') } // '';
		return !$pid || !kill 0, $pid;
	});
	unlink $node->data_dir . '/postmaster.pid';
	$node->{_pid} = undef;
	return;
}

# ---- the data directory is put back, and a transaction of the same number stores
# another long value under the same pointer

{
	my $what = 'put back';
	settle();
	$node->stop;
	my $kept = new_path('kept');
	system_or_bail('cp', '-a', $node->data_dir, $kept);
	my @tuples;
	my $old;
	foreach my $value ('first', 'other')
	{
		$node->start;
		sql($node, 'past', "INSERT INTO t VALUES (2001, 'x', repeat(md5('$value'), 200))");
		push @tuples, last_tuple();
		if ($value eq 'first')
		{
			$old = first_archive($node, 'past', $what);
			$node->stop;
			system_or_bail('rm', '-rf', $node->data_dir);
			system_or_bail('cp', '-a', $kept, $node->data_dir);
		}
	}
	is($tuples[1], $tuples[0], "$what: the same tuple, pointer and transaction included");
	last_is_dumped_ok($what, $old);
	system_or_bail('rm', '-rf', $kept);
}

# ---- a commit that was dumped is lost in a crash

{
	my $what = 'a lost commit';
	settle();
	sql($node, 'past', 'CHECKPOINT');
	my $writer = value($node, 'postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill STOP => $writer;
	sql($node, 'past', q{SET synchronous_commit = off; INSERT INTO t VALUES (2002, 'lost', NULL)});
	my $old = first_archive($node, 'past', $what);
	stop_writer_and_server($writer);
	$node->start;
	is(value($node, 'past', 'SELECT count(*) FROM t WHERE id = 2002'), 0, "$what: the row is lost");
	sql($node, 'past', q{INSERT INTO t VALUES (2002, 'kept', NULL)});
	last_is_dumped_ok($what, $old);
}

# ---- pages of zeros where rows were: given back, and taken again by who crashed before
# anything of it was in the log

{
	my $what = 'pages of zeros';
	sql($node, 'past', q{INSERT INTO t SELECT g, repeat(md5(g::text), 20) FROM generate_series(3001, 3300) g});
	settle();
	my $blocks = q{SELECT pg_relation_size('t') / 8192};
	my $before = value($node, 'past', $blocks);
	my $old = first_archive($node, 'past', $what);
	wait_for_sessions();
	sql($node, 'past', 'DELETE FROM t WHERE id > 3000');
	sql($node, 'past', 'VACUUM (FREEZE, TRUNCATE) t');
	cmp_ok(value($node, 'past', $blocks), '<', $before, "$what: given back");
	sql($node, 'past', 'CHECKPOINT');
	my $writer = value($node, 'postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill STOP => $writer;
	my $crashing = start_psql($node, 'past');
	$crashing->($_) foreach 'BEGIN', q{INSERT INTO t SELECT g, repeat('z', 600) FROM generate_series(3001, 3300) g};
	stop_writer_and_server($writer);
	$node->start;
	my $zeros = value($node, 'past', <<'SQL');
SELECT count(*) FROM generate_series(0, pg_relation_size('t') / 8192 - 1) b, page_header(get_raw_page('t', b::int)) h WHERE h.lsn = '0/0'
SQL
	cmp_ok($zeros, '>', 0, "$what: the file contains zeros");
	my $dir = incremental_ok($node, 'past', $what, $old);
	like(how($dir, 't'), qr/^l+\.+$/, "$what: old files are reused, later ones are dumped");
	eval { $crashing->() };
}

# ---- the counter of OIDs is set back: another value out of line is stored under the
# pointer of one that was deleted

{
	my $what = 'an OID again';
	my (@tuples, $old);
	foreach my $value ('first', 'other')
	{
		sql($node, 'past', "INSERT INTO t VALUES (4001, 'x', repeat(md5('$value'), 200))");
		settle();
		push @tuples, value($node, 'past', <<'SQL');
SELECT t.ctid, md5(i.t_data) FROM t, heap_page_items(get_raw_page('t', ((t.ctid::text::point)[0])::int)) i
WHERE t.id = 4001 AND i.lp = (t.ctid::text::point)[1]
SQL
		last if $value eq 'other';
		$old = first_archive($node, 'past', $what);
		my $toast = value($node, 'past', q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 't'::regclass});
		my $oid = value($node, 'past', "SELECT max(chunk_id) FROM $toast");
		wait_for_sessions();
		sql($node, 'past', 'DELETE FROM t WHERE id = 4001');
		sql($node, 'past', 'VACUUM (FREEZE, TRUNCATE off) t');
		$node->stop;
		system_or_bail('pg_resetwal', '-o', $oid, $node->data_dir);
		$node->start;
	}
	is($tuples[1], $tuples[0], "$what: the same tuple, with its pointer");
	my $dir = incremental_ok($node, 'past', $what, $old);
	like(how($dir, 't'), qr/^l*\.l*$/, "$what: the chunk of that row is dumped");
}

# ---- a database of another one's files, under its OID: CREATE DATABASE ... OID is of 15
# and later

SKIP:
{
	skip 'CREATE DATABASE has no OID', 1 if $node->pg_version < 15;
	my $what = 'a database made again by its files';
	make_database($node, 'twin', options => 'TEMPLATE past');
	my $old = first_archive($node, 'past', $what);
	sql($node, 'twin', q{UPDATE t SET filler = 'twin' WHERE id = 700});
	my $oid = value($node, 'postgres', q{SELECT oid FROM pg_database WHERE datname = 'past'});
	sql($node, 'postgres', $_) foreach 'DROP DATABASE past', "CREATE DATABASE past TEMPLATE twin OID $oid STRATEGY file_copy", 'DROP DATABASE twin';
	my $dir = incremental_ok($node, 'past', $what, $old);
	like(how($dir, 't'), qr/^l+\.l+$/, "$what: different files are dumped");
}

# ---- the next incremental dumps are taken from a standby, before and after its promotion

{
	make_shop($node, 'shop');
	my $old = first_archive($node, 'shop', 'the primary');
	my $standby = start_standby($node);
	my $warned = qr/\A(pg_pardump: (warning: replay on this standby|detail|hint).*\n)*\z/;
	my $dir = incremental_ok($standby, 'shop', 'a standby', $old, warning => $warned);
	like(how($dir, $_), qr/^l+$/, "a standby: $_ is reused") foreach @Pardump::Incremental::fingerprinted;
	sql($node, 'shop', 'UPDATE updated SET n = 1 WHERE id = 10');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	$dir = incremental_ok($standby, 'shop', 'a standby that has replayed', $dir, warning => $warned);
	like(how($dir, 'updated'), qr/^\.l+.*\.$/, 'a standby that has replayed: changed files are dumped');
	# the primary ends, with what the standby has not got
	$standby->stop;
	sql($node, 'shop', q{UPDATE docs SET raw = 'only there' WHERE id = 100});
	$old = first_archive($node, 'shop', 'the primary at its end');
	$node->stop('immediate');
	$standby->start;
	$standby->promote;
	sql($standby, 'shop', q{UPDATE docs SET raw = 'elsewhere' WHERE id = 100});
	$dir = incremental_ok($standby, 'shop', 'after promotion', $old);
	like(how($dir, 'docs'), qr/^(?=.*l)(?=.*\.)/, 'after promotion: another past is found out');
	like(how($dir, 'types'), qr/^l+$/, 'after promotion: unchanged files are reused');
	$standby->stop;
}

done_testing();
