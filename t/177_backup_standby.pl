# Base backups and recovery: a standby that is made by -R, backups that are taken from
# it, idle and while it replays, and what ends these; and recovery to a point in time
# from a backup and an archive.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until);
use Pardump::BaseBackup qw(connection held_run backup_ok take_backup verify_backup_ok start_backup enable_checksums slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path keep_wal sql value);
use Pardump::Moment qw(moment_go_on stop_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = start_cluster('primary', allows_streaming => 1, has_archiving => 1);
enable_checksums($primary);
keep_wal($primary);
sql($primary, 'postgres', 'CREATE EXTENSION pg_pardump; CREATE TABLE said (what text);
	CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g');

# ---- a standby

my $standby = start_backup(backup_ok($primary, '-R', 'pg_parbasebackup', '-j2', '-R'), 'standby', 'archive_mode = off');
is(value($standby, 'postgres', 'SELECT pg_is_in_recovery()'), 't', '-R: the started server is a standby');

sub heard
{
	my ($node, $what) = @_;
	return $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM said WHERE what = '$what'");
}

# Says something on the primary, and waits until the standby has heard it.
sub say_and_wait
{
	my ($what) = @_;
	sql($primary, 'postgres', "INSERT INTO said VALUES ('$what')");
	heard($standby, $what) or die "\"$what\" is not heard";
	return;
}

sub said { return value($_[0], 'postgres', q{SELECT string_agg(what, ' ' ORDER BY what) FROM said}); }

say_and_wait('first');
is(said($standby), 'first', '-R: the standby follows this server');

# ---- backups of it

my $idle = backup_ok($standby, 'idle', 'pg_parbasebackup', '-j2');
verify_backup_ok($idle, 'idle');
# what it has replayed may lie behind the backup's end, as with pg_basebackup:
# it is a standby of the same primary, and continues
my $restored = start_backup($idle, 'restored', 'archive_mode = off');
ok(heard($restored, 'first'), 'idle: the restored server contains the rows');
$restored->stop;

# its own standby.signal is written again
{
	my $tar = backup_ok($standby, 'tar, -R', 'pg_parbasebackup', '-Ft', '-R');
	is(scalar(grep { /^standby\.signal$/ } split /\n/, `tar -tf '$tar/base.tar'`), 1, 'tar, -R: the archive contains standby.signal once');
	is(scalar(() = slurp_file("$tar/backup_manifest") =~ /"standby\.signal"/g), 1, 'tar, -R: the manifest contains standby.signal once');
}

# The statements that a worker begins a piece with, by each reader.
my @piece = (qr/COPY \(SELECT v\.n|BEGIN ISOLATION LEVEL READ COMMITTED/);
{
	my ($moments, $run) = held_run($standby, \@piece, 'replay', { pattern => 0, n => 2 }, [], '-Ft', '-Z', 'server-lz4', '-j2');
	sql($primary, 'postgres', 'UPDATE large SET t = t || g WHERE g % 3 = 0; CREATE TABLE late AS SELECT 7 AS a');
	sql($primary, 'postgres', 'VACUUM large; CHECKPOINT');
	say_and_wait('second');
	moment_go_on($moments);
	is(end_dump($run), 0, 'replaying: exit code') or diag($run->{err});
	stop_moments($moments);
	is(slots_left($standby), '', 'replaying: no slot is left');
	my $dir = new_path('extracted');
	my ($rc, undef, $err) = run_program('pg_parbasebackup', "--extract=$run->{dir}", '-D', $dir, '-j2', '--no-sync');
	is("$rc$err", '0', 'replaying: extracted');
	verify_backup_ok($dir, 'replaying');
	my $again = start_backup($dir, 'replaying', 'archive_mode = off');
	ok(heard($again, 'second'), 'replaying: the restored server follows the primary');
	$again->promote;
	is(value($again, 'postgres', 'SELECT count(*), sum(length(t) - 320) > 0, (SELECT a FROM late) FROM large'), '50000|t|7',
		'replaying: all rows are there');
	my ($check_rc, $out, $check_err) = run_program('pg_amcheck', connection($again), '--heapallindexed', '--parent-check',
		'--install-missing', 'postgres');
	is($check_rc, 0, 'replaying: pg_amcheck') or diag("$out$check_err");
	$again->stop;
}

# ---- what ends them

sql($primary, 'postgres', 'ALTER SYSTEM SET full_page_writes = off');
$primary->reload;
wait_until('full pages are not written', sub { value($primary, 'postgres', 'SHOW full_page_writes') eq 'off' });
sql($primary, 'postgres', 'CHECKPOINT');
say_and_wait('third');
my ($rc, $err, $dir) = take_backup($standby, 'pg_parbasebackup');
is($rc, 1, 'without full pages: exit code');
like($err, qr/error: .*full_page_writes=off/, 'without full pages: message of the server');
ok(!-e $dir, 'without full pages: no backup is left');
sql($primary, 'postgres', 'ALTER SYSTEM RESET full_page_writes');
$primary->reload;
wait_until('full pages are written', sub { value($primary, 'postgres', 'SHOW full_page_writes') eq 'on' });
sql($primary, 'postgres', 'CHECKPOINT');
say_and_wait('fourth');

# one that is promoted, and one that follows it to its new timeline
{
	my $cascade = start_backup(backup_ok($standby, 'cascade', 'pg_parbasebackup', '-j2', '-R'), 'cascade', 'archive_mode = off');
	my ($others, $followed) = held_run($cascade, \@piece, 'cascade', { pattern => 0, n => 2 }, [], '-j2');
	my ($moments, $run) = held_run($standby, \@piece, 'promotion', { pattern => 0, n => 2 }, [], '-j2');
	$standby->promote;
	sql($standby, 'postgres', q{INSERT INTO said VALUES ('fifth')});
	sql($standby, 'postgres', 'CHECKPOINT');
	heard($cascade, 'fifth') or die 'the cascade does not follow';
	sql($cascade, 'postgres', 'CHECKPOINT');
	moment_go_on($others);
	is(end_dump($followed), 1, 'on another timeline: exit code');
	like($followed->{err}, qr/error: the standby switched from timeline 1 to 2 during the backup/, 'on another timeline: message');
	ok(!-e $followed->{dir}, 'on another timeline: no backup is left');
	is(slots_left($cascade), '', 'on another timeline: no slot either');
	stop_moments($others);
	$cascade->stop;
	moment_go_on($moments);
	is(end_dump($run), 1, 'promoted: exit code');
	like($run->{err}, qr/error: .*the standby was promoted during/, 'promoted: message');
	ok(!-e $run->{dir}, 'promoted: no backup is left');
	is(slots_left($standby), '', 'promoted: no slot either');
	stop_moments($moments);
}
$standby->stop;

# ---- to a point in time

my $base = backup_ok($primary, 'for recovery', 'pg_parbasebackup', '-j2', '-X', 'none', '--no-slot');
sql($primary, 'postgres', q{INSERT INTO said VALUES ('before')});
sql($primary, 'postgres', q{SELECT pg_create_restore_point('here')});
sql($primary, 'postgres', q{INSERT INTO said VALUES ('behind')});
my $last = value($primary, 'postgres', 'SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql($primary, 'postgres', 'SELECT pg_switch_wal()');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die 'nothing is archived';
append_to_file("$base/recovery.signal", '');
my $archive = $primary->archive_dir;
my $recovered = start_backup($base, 'recovered', "archive_mode = off
	restore_command = 'cp \"$archive/%f\" \"%p\"'
	recovery_target_name = 'here'
	recovery_target_action = 'promote'");
$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
is(said($recovered), 'before first fourth second third', 'recovery ends at the point that was named');
$recovered->stop;

done_testing();
