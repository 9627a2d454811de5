# Faults while a base backup is taken: lost workers are replaced, and the backup is
# the same; every other fault ends the run and leaves nothing that looks like a
# backup, and nothing on the server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use POSIX qw(mkfifo);
use Pardump::Background qw(children end_dump wait_in_run);
use Pardump::BaseBackup qw(start_run held_run connection backup_ok verify_backup_ok differences enable_checksums
  slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use Pardump::Command qw(system_faults);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
enable_checksums($node);
$node->append_conf('postgresql.conf', "wal_keep_size = 0\nmin_wal_size = 32MB\n");
$node->restart;
sql($node, 'postgres', 'CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g');
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
sql($node, 'postgres', 'VACUUM FREEZE');
sql($node, 'postgres', 'CHECKPOINT');

# the statements of a piece, by either reader, of the end, of a piece of the log, the
# first of a worker, what asks the extension for what came of one, and where a tablespace is
my @patterns = (qr/COPY \(SELECT (?:v\.n|pardump\.pg_pardump_read_files)/, qr/pg_catalog[.]pg_backup_stop/, qr/pg_wal\/|70675f77616c2f/, qr/pg_catalog[.]pg_ls_dir/,
	qr/COPY \(SELECT v\.n|BEGIN ISOLATION LEVEL READ COMMITTED/, qr/FROM pardump\.pg_pardump_last_files/, qr/pg_tablespace_location/);
my $made = qr/^(backup_label|global\/pg_control)$/;
# what the first run looks up in the catalogs gets hints
my $whole = (map { backup_ok($node, "undisturbed, $_", 'pg_parbasebackup', '-j2') } 1, 2)[1];

# What a run that has failed may leave.
sub nothing_left_ok
{
	my ($run, $what) = @_;
	ok(!-e $run->{dir}, "$what: the directory is removed");
	is(slots_left($node), '', "$what: no slot is left");
	ok($node->poll_query_until('postgres',
			q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_parbasebackup%'}),
		"$what: no session is left");
	return;
}

# ---- workers that are lost

foreach my $try (
	[ 'a piece is asked for', { pattern => 0, n => 3, cut => 1 } ],
	[ 'a piece is on its way', { pattern => 0, n => 2, answer => 1, cut => 1 } ],
	[ 'a piece is asked for by SQL', { pattern => 0, n => 3, cut => 1 }, '--no-extension' ],
	[ 'a piece by SQL is on its way', { pattern => 0, n => 2, answer => 1, cut => 1 }, '--no-extension' ],
	[ 'the log is on its way', { pattern => 2, n => 1, answer => 1, cut => 1 } ])
{
	my ($what, $moment, @options) = @$try;
	my ($moments, $run) = held_run($node, \@patterns, $what, $moment, [], '-j2', @options);
	moment_go_on($moments);
	is(end_dump($run), 0, "lost while $what: exit code");
	like($run->{err}, qr/^pg_parbasebackup: warning: lost the connection of a worker; retry 1 of 5(?s:.*)detail: The worker was reading file "/m,
		"lost while $what: message");
	is_deeply([ differences($whole, $run->{dir}, $made) ], [], "lost while $what: the backup has the same contents");
	verify_backup_ok($run->{dir}, "lost while $what");
	stop_moments($moments);
}
# When a file is read again, its contents and their compressed length may have changed.
{
	my $large = value($node, 'postgres', q{SELECT pg_relation_filepath('large')});
	my ($moments, $run) = held_run($node, \@patterns, 'a piece has come', { pattern => 5, n => 1, cut => 1 }, [],
		'-j1', '-Ft', '-Z', 'server-lz4');
	sql($node, 'postgres', 'UPDATE large SET t = md5(g::text) || md5((-g)::text)');
	sql($node, 'postgres', 'VACUUM FREEZE large');
	sql($node, 'postgres', 'CHECKPOINT');
	moment_go_on($moments);
	is(end_dump($run), 0, 'lost when a piece of a tar file has come: exit code');
	like($run->{err}, qr/lost the connection of a worker; retry 1 of 5.*detail: The worker was reading file "\Q$large\E"\./s, 'lost when a piece of a tar file has come: message');
	my $dir = new_path('extracted');
	my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync');
	is("$rc$err", '0', 'lost when a piece of a tar file has come: exit code and messages of --extract');
	verify_backup_ok($dir, 'lost when a piece of a tar file has come');
	stop_moments($moments);
	sql($node, 'postgres', 'DROP TABLE large; CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g; CHECKPOINT');
}
foreach my $options ([], [ '-Ft', '-Z', 'server-zstd:1' ], [ '-Ft', '-Z', 'zstd:1', '--no-extension' ])
{
	my $what = "a worker is killed, @$options";
	my ($moments, $run) = held_run($node, \@patterns, $what, { pattern => 0, n => 3 }, [], '-j2', @$options);
	my @workers = children($run->{pid});
	is(scalar(@workers), 2, "$what: there are two");
	# also the one that is held
	kill KILL => @workers;
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code") or diag($run->{err});
	like($run->{err}, qr/^pg_parbasebackup: warning: a worker process was killed; retry 1 of 5(?s:.*)detail: The worker was reading file "/m, "$what: a message");
	my $dir = $run->{dir};
	if (@$options)
	{
		$dir = new_path('extracted');
		my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync');
		is("$rc$err", '0', "$what: extracted");
	}
	verify_backup_ok($dir, $what);
	is(slots_left($node), '', "$what: no slot is left");
	stop_moments($moments);
}
{
	my ($moments, $run, $backend) = held_run($node, \@patterns, 'a worker is terminated', { pattern => 0, n => 2 }, [], '-j2', '--retries=0');
	value($node, 'postgres', "SELECT pg_terminate_backend($backend, 30000)");
	moment_go_on($moments);
	is(end_dump($run), 1, 'without retries: exit code');
	nothing_left_ok($run, 'without retries');
	stop_moments($moments);
}

# ---- memory of workers, where they have read some pieces

foreach my $options ([ '-Ft', '-Z', 'none' ], [ '-Ft', '-Z', 'zstd:1', '--no-extension' ])
{
	my ($moments, $run) = held_run($node, \@patterns, 'memory', { pattern => 0, n => 9 }, [], '-j2', @$options);
	my @peaks = map { slurp_file("/proc/$_/status") =~ /^VmHWM:\s*(\d+) kB/m } children($run->{pid});
	is(scalar(@peaks), 2, "@$options: there are two workers");
	cmp_ok((sort { $b <=> $a } @peaks)[0], '<=', 20 * 1024, "@$options: neither has taken more than 20 MB");
	moment_go_on($moments);
	is(end_dump($run), 0, "@$options: exit code");
	stop_moments($moments);
}

# ---- tablespaces come first: a file that is read first, and gone when it is read again

my $places = new_path('places');
my ($place, $later, $new_place) = map { "$places/$_" } qw(old later new);
mkdir $_ or die "could not make \"$_\": $!" foreach $places, $place, $later;
sql($node, 'postgres', "CREATE TABLESPACE old LOCATION '$place'");
{
	sql($node, 'postgres', 'CREATE TABLE gone TABLESPACE old AS SELECT g FROM generate_series(1, 10000) g; CHECKPOINT');
	my $gone = value($node, 'postgres', q{SELECT pg_relation_filepath('gone')});
	my ($moments, $run) = held_run($node, \@patterns, 'a file has come', { pattern => 5, n => 1, cut => 1 }, [],
		'-j1', '-T', "$place=$new_place");
	ok(-s "$run->{dir}/$gone", 'gone when it is read again: the file was in the backup before');
	sql($node, 'postgres', 'DROP TABLE gone; CHECKPOINT');
	moment_go_on($moments);
	is(end_dump($run), 0, 'gone when it is read again: exit code');
	like($run->{err}, qr/retry 1 of 5.*detail: The worker was reading file "\Q$gone\E"/s, 'gone when it is read again: message');
	ok(!-e "$run->{dir}/$gone", 'gone when it is read again: the file is not in the backup');
	verify_backup_ok($run->{dir}, 'gone when it is read again');
	stop_moments($moments);
}

# A tablespace that is dropped, and another one that is made, between the start, of
# which the server tells the tablespaces, and the list.
{
	my ($moments, $run) = held_run($node, \@patterns, 'before the list', { pattern => 3, n => 1 }, [], '-Ft');
	sql($node, 'postgres', 'DROP TABLESPACE old');
	sql($node, 'postgres', "CREATE TABLESPACE later LOCATION '$later'");
	sql($node, 'postgres', 'CREATE TABLE there TABLESPACE later AS SELECT 1 AS a; CHECKPOINT');
	moment_go_on($moments);
	is(end_dump($run), 0, 'other tablespaces: exit code') or diag($run->{err});
	my ($dir, $elsewhere) = (new_path('extracted'), new_path('elsewhere'));
	my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync', '-T', "$later=$elsewhere");
	is("$rc$err", '0', 'other tablespaces: extracted');
	my $oid = value($node, 'postgres', q{SELECT oid FROM pg_tablespace WHERE spcname = 'later'});
	is(slurp_file("$dir/tablespace_map"), "$oid $elsewhere\n", 'other tablespaces: the map has those that are there');
	verify_backup_ok($dir, 'other tablespaces');
	stop_moments($moments);
	sql($node, 'postgres', 'DROP TABLE there');
	sql($node, 'postgres', 'DROP TABLESPACE later');
}

# One that is dropped when it was listed: the error that comes of that must not cost
# the leader's session its slot.
{
	sql($node, 'postgres', "CREATE TABLESPACE later LOCATION '$later'");
	my $moments = start_moments($node, \@patterns, { pattern => 6, n => 1 }, { pattern => 0, n => 1 });
	my $run = start_run($moments, [], '-Ft');
	my $wait = sub { wait_in_run($run, $_[0], sub { my @said = moment_held($moments); return @said ? \@said : undef }) };
	$wait->('where a tablespace is');
	sql($node, 'postgres', 'DROP TABLESPACE later');
	moment_go_on($moments);
	$wait->('a piece');
	is(value($node, 'postgres', 'SELECT count(*) FROM pg_replication_slots'), 1, 'a tablespace is dropped while it is listed: the slot exists');
	moment_go_on($moments);
	is(end_dump($run) . $run->{err}, '0', 'a tablespace is dropped while it is listed: exit code');
	ok(!glob("$run->{dir}/[0-9]*.tar"), 'a tablespace is dropped while it is listed: the backup does not contain it');
	stop_moments($moments);
}

# ---- the extension cannot be dropped while a worker uses it

{
	my ($moments, $run) = held_run($node, \@patterns, 'between two pieces', { pattern => 0, n => 3 }, [], '-j1');
	my (undef, undef, $err) = run_program('psql', '-Xq', '-d', $node->connstr('postgres'), '-c',
		q{SET lock_timeout = '100ms'; DROP EXTENSION pg_pardump});
	like($err, qr/canceling statement due to lock timeout/, 'DROP EXTENSION between two pieces: error');
	moment_go_on($moments);
	is(end_dump($run), 0, 'DROP EXTENSION between two pieces: exit code of the run') or diag($run->{err});
	stop_moments($moments);
}

# ---- it is dropped, or replaced, before a worker begins

foreach my $try ([ 'dropped', qr/pg_pardump_lock/ ], [ 'replaced', qr/extension pg_pardump was replaced during the run/ ])
{
	my ($what, $message) = @$try;
	my ($moments, $run) = held_run($node, \@patterns, $what, { pattern => 4, n => 1 }, [], '-j1');
	sql($node, 'postgres', 'DROP EXTENSION pg_pardump');
	sql($node, 'postgres', 'CREATE EXTENSION pg_pardump') if $what eq 'replaced';
	moment_go_on($moments);
	is(end_dump($run), 1, "the extension is $what: exit code");
	like($run->{err}, qr/error: .*$message/, "the extension is $what: a message");
	nothing_left_ok($run, "the extension is $what");
	stop_moments($moments);
	sql($node, 'postgres', 'CREATE EXTENSION IF NOT EXISTS pg_pardump');
}

# ---- what ends the run

my $leaders = q{SELECT active_pid FROM pg_replication_slots};
foreach my $try (
	[ 'the leader is terminated', { pattern => 0, n => 2 }, sub {
		my $leader = value($node, 'postgres', $leaders);
		value($node, 'postgres', "SELECT pg_terminate_backend($leader, 30000)") },
		1, qr/error: .*(the session of the backup was lost|terminating connection)/ ],
	[ 'its last statement is cut off', { pattern => 1, n => 1, cut => 1 }, sub { }, 1, qr/error: .*query failed/ ],
	[ 'it is interrupted', { pattern => 0, n => 2 }, sub { kill INT => $_[0]->{pid} }, 1, qr/./ ],
	[ 'the server is restarted', { pattern => 0, n => 2 }, sub { $node->restart }, 1,
		qr/error: .*(the session of the backup was lost|terminating connection)/ ])
{
	my ($what, $moment, $do, $rc, $message) = @$try;
	my ($moments, $run) = held_run($node, \@patterns, $what, $moment, [], '-j2');
	$do->($run);
	moment_go_on($moments);
	is(end_dump($run), $rc, "$what: exit code");
	like($run->{err}, $message, "$what: a message");
	nothing_left_ok($run, $what);
	stop_moments($moments);
}
{
	my ($moments, $run) = held_run($node, \@patterns, 'killed', { pattern => 0, n => 3 }, [], '-j2');
	kill KILL => $run->{pid};
	moment_go_on($moments);
	is(end_dump($run), 128 + 9, 'killed: exit code');
	ok(!-e "$run->{dir}/backup_manifest", 'killed: no manifest exists');
	ok(!-e "$run->{dir}/global/pg_control", 'killed: pg_control does not exist, so that no server starts');
	is(slots_left($node), '', 'no slot is left');
	stop_moments($moments);
}

# ---- the WAL was removed

{
	my ($moments, $run) = held_run($node, \@patterns, 'log', { pattern => 1, n => 1 }, [], '--no-slot');
	value($node, 'postgres', 'SELECT pg_switch_wal()'), sql($node, 'postgres', 'CREATE TABLE x (); DROP TABLE x; CHECKPOINT')
	  foreach 1 .. 4;
	moment_go_on($moments);
	is(end_dump($run), 1, 'the WAL was removed: exit code');
	like($run->{err}, qr/requested WAL segment "pg_wal\/\w{24}" has already been removed\n.*hint: Omit --no-slot, /, 'the WAL was removed: message');
	ok(!-e $run->{dir}, 'the WAL was removed: nothing is left');
	stop_moments($moments);
	($moments, $run) = held_run($node, \@patterns, 'log', { pattern => 1, n => 1 }, []);
	value($node, 'postgres', 'SELECT pg_switch_wal()'), sql($node, 'postgres', 'CREATE TABLE x (); DROP TABLE x; CHECKPOINT')
	  foreach 1 .. 4;
	moment_go_on($moments);
	is(end_dump($run), 0, 'a slot keeps the WAL');
	verify_backup_ok($run->{dir}, 'a slot keeps the WAL');
	stop_moments($moments);
	# beyond max_slot_wal_keep_size, the server ends the session that has the slot
	($moments, $run) = held_run($node, \@patterns, 'log', { pattern => 1, n => 1 }, []);
	$node->append_conf('postgresql.conf', 'max_slot_wal_keep_size = 1MB');
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW max_slot_wal_keep_size', '1MB') or die 'no limit';
	value($node, 'postgres', 'SELECT pg_switch_wal()'), sql($node, 'postgres', 'CREATE TABLE x (); DROP TABLE x; CHECKPOINT')
	  foreach 1 .. 4;
	moment_go_on($moments);
	is(end_dump($run), 1, 'a slot may not keep the WAL: exit code');
	like($run->{err}, qr/error: .*(the session of the backup was lost|terminating connection|server closed the connection)/s, 'a slot may not keep the WAL: message');
	nothing_left_ok($run, 'a slot may not keep the WAL');
	stop_moments($moments);
	$node->append_conf('postgresql.conf', 'max_slot_wal_keep_size = -1');
	$node->reload;
}

# ---- what the file system refuses

{
	my $run = start_run({ host => $node->host, port => $node->port }, [ 'prlimit', '--fsize=5000000' ], '-j2');
	is(end_dump($run), 1, 'a file is refused: exit code');
	like($run->{err}, qr/error: could not write .*: File too large/, 'a message');
	nothing_left_ok($run, 'a file');
}
# all is there but the manifest
my $faults = system_faults();
foreach my $try ([ 'close', 'backup_manifest.tmp' ], [ 'fsync', 'backup_manifest.tmp' ], [ 'rename', '/backup_manifest' ],
	[ 'close', 'backup_manifest.tmp', '-Ft' ], [ 'rename', '/backup_manifest', '-Ft', '-Z', 'lz4' ])
{
	my ($call, $path, @options) = @$try;
	my $what = "the manifest, $call @options";
	my $dir = new_path('refused');
	my ($rc, undef, $err) = run_program('env', "LD_PRELOAD=$faults", "SYSTEM_FAULT=$call $path", 'pg_parbasebackup',
		connection($node), '-D', $dir, '-c', 'fast', '-j2', @options, $call eq 'fsync' ? () : '--no-sync');
	is($rc, 1, "$what: exit code");
	like($err, qr/error: could not $call file ".*backup_manifest.*: Input\/output error/, "$what: a message");
	nothing_left_ok({ dir => $dir }, $what);
}
# where there is none, the names of all others are flushed
{
	my ($dir, $log) = (new_path('flushed'), new_path('log'));
	my ($rc, undef, $err) = run_program('env', "LD_PRELOAD=$faults", "SYSTEM_LOG=$log", 'pg_parbasebackup',
		connection($node), '-D', $dir, '-c', 'fast', '-j2', '-Ft', '--no-manifest');
	is("$rc$err", '0', '-Ft --no-manifest');
	my @flushed = slurp_file($log) =~ /^fsync \Q$dir\E(.*)$/mg;
	is(join(' ', sort @flushed), ' /base.tar /pg_wal.tar', 'tar files and their directory are flushed');
}
# a signal while files are flushed; the flush never ends, because it reports to a pipe
# that has no reader
foreach my $options ([], ['-Ft'])
{
	my $pipe = new_path('pipe');
	mkfifo($pipe, 0600) or die "could not make pipe \"$pipe\": $!";
	my $run = start_run({ host => $node->host, port => $node->port }, [ 'env', "LD_PRELOAD=$faults", "SYSTEM_LOG=$pipe" ],
		'--sync-method=fsync', @$options);
	wait_in_run($run, 'all is there but the end', sub { -e "$run->{dir}/backup_manifest.tmp" });
	kill INT => $run->{pid};
	is(end_dump($run), 1, "Ctrl-C while files are flushed, @$options: exit code");
	like($run->{err}, qr/error: terminated by user\n/, "Ctrl-C while files are flushed, @$options: a message");
	nothing_left_ok($run, "Ctrl-C while files are flushed, @$options");
}
{
	my $run = start_run({ host => $node->host, port => $node->port }, [ 'prlimit', '--fsize=5000000' ], '--no-clean');
	is(end_dump($run), 1, '--no-clean: exit code');
	ok(-d "$run->{dir}/base" && !-e "$run->{dir}/backup_manifest", 'the files are kept, but there is no manifest');
}

# ---- files that change after they were listed

foreach my $options ([], ['--no-extension'])
{
	sql($node, 'postgres', 'CREATE TABLE dropped AS SELECT 1 AS a; CREATE TABLE dropped_large AS SELECT g, repeat(\'x\', 100) AS t FROM generate_series(1, 50000) g; CREATE TABLE cut AS SELECT g, repeat(\'x\', 100) AS t FROM generate_series(1, 100000) g; CHECKPOINT');
	my $dropped = value($node, 'postgres', q{SELECT pg_relation_filepath('dropped')});
	my $cut = value($node, 'postgres', q{SELECT pg_relation_filepath('cut')});
	my $large = value($node, 'postgres', q{SELECT pg_relation_filepath('dropped_large')});
	my $large_size = -s $node->data_dir . "/$large";
	cmp_ok($large_size, '>', 4 * 1024 * 1024, 'a file of several pieces');
	# the first piece is of a larger one; between two no snapshot is held
	my ($moments, $run) = held_run($node, \@patterns, 'files', { pattern => 4, n => 1 }, [], @$options);
	my $size = -s $node->data_dir . "/$cut";
	sql($node, 'postgres', 'DROP TABLE dropped, dropped_large; DELETE FROM cut WHERE g > 10; ');
	sql($node, 'postgres', 'VACUUM cut; CHECKPOINT');
	cmp_ok(-s $node->data_dir . "/$cut", '<', $size, 'a file is cut');
	moment_go_on($moments);
	is(end_dump($run), 0, "files change, @$options: exit code");
	verify_backup_ok($run->{dir}, "files change, @$options");
	is(-s "$run->{dir}/$cut", $size, 'a truncated file is filled with zeros');
	ok(!-e "$run->{dir}/$dropped", 'a removed file is not in the backup');
	is(-s "$run->{dir}/$large", $large_size, 'a removed file of several pieces has its size');
	stop_moments($moments);
	sql($node, 'postgres', 'DROP TABLE cut');
}

# ---- another user has put a directory, with a link in it, where a tablespace goes

foreach my $options ([], ['--no-extension'])
{
	sql($node, 'postgres', "CREATE TABLESPACE led LOCATION '$place'");
	sql($node, 'postgres', 'CREATE TABLE led TABLESPACE led AS SELECT 1 AS a; CHECKPOINT');
	my $led = value($node, 'postgres', q{SELECT pg_relation_filepath('led')});
	my ($version, $database) = $led =~ m{(PG_\w+)/(\d+)/} or die "odd path \"$led\"";
	my ($goes, $victim) = map { new_path($_) } qw(goes victim);
	mkdir $victim or die "could not make \"$victim\": $!";
	my ($moments, $run) = held_run($node, \@patterns, 'directories are made', { pattern => 0, n => 1 }, [], '-T', "$place=$goes", @$options);
	ok(-d "$goes/$version/$database", "led elsewhere, @$options: the directories are there");
	rename $goes, "$goes.moved" or die "could not rename \"$goes\": $!";
	foreach ($goes, "$goes/$version") { mkdir $_ or die "could not make \"$_\": $!"; }
	symlink $victim, "$goes/$version/$database" or die "could not make a link: $!";
	moment_go_on($moments);
	is(end_dump($run), 1, "led elsewhere, @$options: exit code");
	like($run->{err}, qr/error: directory "\Q$goes\E" was replaced or filled by another process/, "led elsewhere, @$options: message");
	is(join(' ', glob("$victim/*")), '', "led elsewhere, @$options: the directory behind the link is empty");
	is(join(' ', glob("$goes.moved/*")), '', "led elsewhere, @$options: the moved directory is empty");
	stop_moments($moments);

	# nor is anything removed behind it
	($goes, $victim) = map { new_path($_) } qw(goes victim);
	foreach ($victim, $goes) { mkdir $_ or die "could not make \"$_\": $!"; }
	append_to_file("$victim/precious", 'x');
	chmod 0711, $goes or die "could not change mode: $!";
	($moments, $run) = held_run($node, \@patterns, 'directories are made', { pattern => 0, n => 1 }, [], '-T', "$place=$goes", @$options);
	rename $goes, "$goes.moved" or die "could not rename \"$goes\": $!";
	symlink $victim, $goes or die "could not make a link: $!";
	kill 'TERM', $run->{pid};
	isnt(end_dump($run), 0, "ended, @$options: exit code");
	ok(-e "$victim/precious", "ended, @$options: the file behind the link still exists");
	is(join(' ', glob("$goes.moved/*"), sprintf('%o', (stat "$goes.moved")[2] & 07777)), '711', "ended, @$options: the directory is empty, and has its mode");
	stop_moments($moments);
	nothing_left_ok($run, "ended, @$options");
	sql($node, 'postgres', 'DROP TABLE led');
	sql($node, 'postgres', 'DROP TABLESPACE led');
}

# ---- no space for the log, whose segments are larger than all other files now

sql($node, 'postgres', 'DROP TABLE large; CHECKPOINT');
foreach my $options ([ '-X', 'fetch' ], [ '-X', 'stream' ])
{
	my $run = start_run({ host => $node->host, port => $node->port }, [ 'prlimit', '--fsize=10000000' ], '-j2', @$options);
	is(end_dump($run), 1, "no space for the log, @$options: exit code");
	like($run->{err}, qr/error: could not write file ".*\/pg_wal\/[0-9A-F]{24}": File too large/, "no space for the log, @$options: a message");
	nothing_left_ok($run, "no space for the log, @$options");
}

done_testing();
