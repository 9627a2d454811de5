# --incremental-by=wal-summaries on servers whose past, or whose summaries of it, are
# not what they seem to be: with each of these the archive must be what a full dump is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until wait_in_run);
use Pardump::Cluster qw(start_cluster start_standby make_database run_program new_path sql value pg_major);
use Pardump::Incremental qw(how);
use Pardump::Manifest qw(read_manifest);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Summaries qw(first_by_summaries by_summaries_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('histories', allows_streaming => 1, leave_stopped => 1);
plan skip_all => 'servers have summaries since 17' if pg_major($node) < 17;
$node->append_conf('postgresql.conf', "summarize_wal = on\nallow_in_place_tablespaces = on\nrestart_after_crash = on\n");
$node->start;
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 16000) g;
SQL
sql($node, 'shop', 'VACUUM FREEZE');

sub first { return first_by_summaries($node, 'shop', @_); }
sub by_summaries { return by_summaries_ok($node, 'shop', @_); }

# In place, so that nothing else is written to.
my $turn = 0;
sub change
{
	my ($id) = @_;
	$turn++;
	sql($node, 'shop', "UPDATE t SET t = repeat('$turn', 10) WHERE id = $id");
	return;
}

# All processes but the first end, and what was not on disk yet is lost.
sub crash
{
	my $query = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'};
	my $writer = value($node, 'postgres', $query);
	kill KILL => $writer;
	# not by what psql reads from its input: it may end before that is written
	wait_until('the server is there again', sub {
		my ($rc, $out) = run_program('psql', '-XAt', '-c', $query, '-d', $node->connstr('postgres'));
		return $rc == 0 && $out =~ /^\d+$/ && $out != $writer;
	});
	return;
}

sub set_and_restart
{
	my ($conf) = @_;
	$node->append_conf('postgresql.conf', $conf);
	$node->restart;
	return;
}

# ---- a crash when all rows are read, of which the mark must know

{
	my $what = 'a crash at the end';
	my $moments = start_moments($node, [qr/\AQ....COMMIT\0/s], map { { pattern => 0, n => $_, answer => 1 } } 1 .. 20);
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=shop", @Pardump::Summaries::first, '-j1');

	# the leader's own transactions before the worker's are those that look for poolers
	my ($client, $worker_ended) = (0, 0);
	until ($worker_ended && $client == $run->{pid})
	{
		wait_in_run($run, 'a transaction ends', sub { (undef, $client) = moment_held($moments); return defined $client });
		$worker_ended ||= $client != $run->{pid};
		moment_go_on($moments) if !$worker_ended || $client != $run->{pid};
	}
	crash();
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	stop_moments($moments);
	like($run->{err}, qr/a later run cannot use WAL summaries\n/, "$what: warning");
	is(read_manifest($run->{dir})->{'History-Token'}, undef, "$what: no later run relies on it");
}

# ---- a crash that undoes commits, after a dump

my $archive = first('before crashes');
foreach my $i (1, 2)
{
	sql($node, 'shop', q{SET synchronous_commit = off; UPDATE t SET t = 'may be lost' WHERE id = 4000});
	crash();
	change(8000 * $i - 100);
	$archive = by_summaries("crash $i", $archive);
}

# ---- the data directory is put back, but summaries of what is lost are still there,
# and end where the log of what is there has a checkpoint, too

{
	my $what = 'summaries of another history';
	my $write = sub {
		change($_[0]);
		# what reading would change is logged before the checkpoint, too
		sql($node, 'shop', 'VACUUM t');
		sql($node, 'postgres', $_) foreach 'SELECT pg_switch_wal()', 'CHECKPOINT';
		my $end = value($node, 'postgres', 'SELECT redo_lsn FROM pg_control_checkpoint()');
		$node->poll_query_until('postgres', "SELECT summarized_lsn >= '$end' FROM pg_get_wal_summarizer_state()") or die;
		return $end;
	};
	$archive = first("before $what");
	$node->stop;
	my ($saved, $gone) = map { new_path($_) } qw(saved lost);
	system_or_bail('cp', '-a', $node->data_dir, $saved);
	$node->start;
	my $there = $write->(50);
	$node->stop;
	rename $node->data_dir, $gone or die;
	rename $saved, $node->data_dir or die;
	system_or_bail('sh', '-c', "cp -a $gone/pg_wal/summaries/* " . $node->data_dir . '/pg_wal/summaries/');
	$node->start;
	is($write->(9000), $there, "$what: ends at the same position");
	$archive = by_summaries($what, $archive, warning => qr/The server was restarted/);
}

# ---- summaries with a gap, and made later

$archive = first('before gaps');
change(100);
sql($node, 'postgres', 'CHECKPOINT');
{
	change(5000);
	sql($node, 'postgres', $_) foreach 'SELECT pg_switch_wal()', 'CHECKPOINT';
	$node->poll_query_until('postgres',
		'SELECT s.summarized_lsn >= c.redo_lsn FROM pg_get_wal_summarizer_state() s, pg_control_checkpoint() c') or die;
	my @summaries = sort glob $node->data_dir . '/pg_wal/summaries/*';
	unlink $summaries[-2] or die;
	$archive = by_summaries('a gap in the midst', $archive, warning => qr/WAL summaries are missing/);
}
$archive = first('before a pause');
foreach my $set (qw(off on))
{
	$node->append_conf('postgresql.conf', "summarize_wal = $set\n");
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW summarize_wal', $set) or die;
	change($set eq 'off' ? 200 : 9000);
}
$archive = by_summaries('a pause', $archive);
like(how($archive, 't'), qr/\..*\./, 'a pause: both changes are dumped');

$archive = first('before wal_level = minimal');
set_and_restart("summarize_wal = off\nwal_level = minimal\nmax_wal_senders = 0\n");
sql($node, 'shop', 'CREATE TABLE kept AS SELECT * FROM t');
sql($node, 'shop', 'BEGIN; TRUNCATE t; INSERT INTO t SELECT id, t || 1 FROM kept; COMMIT; DROP TABLE kept');
change(300);
set_and_restart("wal_level = replica\nmax_wal_senders = 5\nsummarize_wal = on\n");
change(9100);
$archive = by_summaries('wal_level = minimal', $archive, warning => qr/The server was restarted/);

# ---- another database under the same name and OID

foreach my $strategy (qw(wal_log file_copy))
{
	$archive = first("before $strategy");
	my $oid = value($node, 'postgres', q{SELECT oid FROM pg_database WHERE datname = 'shop'});
	sql($node, 'postgres', 'CREATE DATABASE twin TEMPLATE shop');
	sql($node, 'twin', q{UPDATE t SET t = 'twin' WHERE id = 7000});
	sql($node, 'postgres', $_) foreach 'DROP DATABASE shop', "CREATE DATABASE shop OID $oid TEMPLATE twin STRATEGY $strategy", 'DROP DATABASE twin';
	$archive = by_summaries("made again by $strategy", $archive, t => '');
}
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION ''");
sql($node, 'postgres', 'ALTER DATABASE shop SET TABLESPACE elsewhere');
$archive = by_summaries('a database that has moved', $archive, t => '');

# ---- a position that was set forward

{
	$node->stop;
	system_or_bail('pg_resetwal', '-f', $node->data_dir);
	$node->start;
	change(400);
	$archive = by_summaries('pg_resetwal', $archive, warning => qr/The server was restarted/);
}

# ---- another timeline

{
	$archive = first('before promotion');
	my $standby = start_standby($node);
	change(500);
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	$node->stop('immediate');
	$standby->promote;
	$node = $standby;
	change(9500);
	by_summaries('after promotion', $archive, warning => qr/The server switched to another timeline/);
}

$node->stop;
done_testing();
