# The log of a base backup is taken along as its segments are complete, and the
# server keeps no more than those that follow; what is started has all of it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run);
use Pardump::BaseBackup qw(held_run take_backup verify_backup_ok start_backup slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql value);
use Pardump::Moment qw(moment_go_on stop_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
$node->append_conf('postgresql.conf', "wal_keep_size = 0\nmin_wal_size = 32MB\n");
$node->restart;
sql($node, 'postgres', 'CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g');
sql($node, 'postgres', 'CREATE TABLE rounds (i int)');

my $first_segment = q{pg_walfile_name(redo_lsn) FROM pg_control_checkpoint()};

# The server ends a segment, whose rows are in the next one.
sub next_segment
{
	my ($i) = @_;
	sql($node, 'postgres', "INSERT INTO rounds VALUES ($i)");
	value($node, 'postgres', 'SELECT pg_switch_wal()');
	return;
}

# A run that is held at its second piece while the server writes some more segments,
# until the slot has followed; returns how it ended.
sub followed_run
{
	my ($what, @options) = @_;
	my ($moments, $run) = held_run($node, [qr/COPY \(SELECT v\.n/], $what, { pattern => 0, n => 2 }, [], @options);
	my $first = value($node, 'postgres', "SELECT $first_segment");
	next_segment($_) foreach 1 .. 3;
	my $now = value($node, 'postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
	ok($node->poll_query_until('postgres', "SELECT pg_walfile_name(restart_lsn) >= '$now' FROM pg_replication_slots"),
		"$what: the slot follows");
	sql($node, 'postgres', 'INSERT INTO rounds VALUES (4); CHECKPOINT');
	is(value($node, 'postgres', "SELECT count(*) FROM pg_ls_waldir() WHERE name = '$first'"), 0,
		"$what: the server keeps the first segment no more");
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code") or diag($run->{err});
	stop_moments($moments);
	is(slots_left($node), '', "$what: no slot is left");
	return ($run->{dir}, $first);
}

# What is started of it has the rows of all segments.
sub started_ok
{
	my ($dir, $what, $rows) = @_;
	my $started = start_backup($dir, $what =~ s/\W/_/gr);
	is(value($started, 'postgres', 'SELECT count(*) FROM rounds'), $rows, "$what: started, all rows are there");
	$started->stop;
	return;
}

my ($plain, $first) = followed_run('plain', '-j2');
ok(-f "$plain/pg_wal/$first" && -f "$plain/pg_wal/archive_status/$first.done", 'the first segment is in the backup');
verify_backup_ok($plain, 'plain');
started_ok($plain, 'plain', 4);

(my $tar, $first) = followed_run('tar', '-j2', '-Ft', '-Z', 'zstd:1');
ok(-f "$tar/pg_wal.tar.zst", 'the log has a file of its own, as with pg_basebackup');
my $extracted = new_path('extracted');
my ($rc, $out, $err) = run_program('pg_parbasebackup', "--extract=$tar", '-D', $extracted, '--no-sync');
is("$rc$err", '0', 'tar: extracted');
ok(-f "$extracted/pg_wal/$first", 'tar: the first segment is in it');
verify_backup_ok($extracted, 'tar');
started_ok($extracted, 'tar', 8);

# without a slot, complete segments are fetched, too
{
	my ($moments, $run) = held_run($node, [qr/COPY \(SELECT v\.n/], 'no slot', { pattern => 0, n => 2 }, [], '--no-slot');
	$first = value($node, 'postgres', "SELECT $first_segment");
	next_segment($_) foreach 1 .. 2;
	wait_in_run($run, 'no slot: the segment', sub { -s "$run->{dir}/pg_wal/$first" ? 1 : undef });
	moment_go_on($moments);
	is(end_dump($run), 0, 'no slot: exit code');
	verify_backup_ok($run->{dir}, 'no slot');
	stop_moments($moments);
}

# an idle session is used from time to time, or the server may end it
SKIP:
{
	skip 'slots may be idle', 4 if pg_major($node) < 18;
	$node->append_conf('postgresql.conf', "idle_replication_slot_timeout = 5s\ncheckpoint_timeout = 30s");
	$node->reload;
	my ($moments, $run) = held_run($node, [qr/COPY \(SELECT v\.n/], 'idle', { pattern => 0, n => 2 }, [], '-X', 'fetch');
	my ($restart, $since) = split /\|/, sql($node, 'postgres', 'SELECT restart_lsn, inactive_since FROM pg_replication_slots');
	ok($node->poll_query_until('postgres', "SELECT inactive_since > '$since' FROM pg_replication_slots"),
		'a slot that is not moved is used');
	is(value($node, 'postgres', 'SELECT restart_lsn FROM pg_replication_slots'), $restart, 'the slot keeps its position');
	moment_go_on($moments);
	is(end_dump($run), 0, 'idle: exit code');
	stop_moments($moments);

	# also while the backup's own checkpoint takes longer, which waits for a tenth of a
	# second after each block: at its end the slot was used within a second or so, and
	# not only when it was made
	sql($node, 'postgres', 'CREATE TABLE dirty AS SELECT g, repeat($$x$$, 1900) AS t FROM generate_series(1, 400) g');
	my ($rc, $err) = take_backup($node, 'pg_parbasebackup', '-c', 'spread');
	is("$rc$err", '0', 'a slot is used while the checkpoint lasts');
}

done_testing();
