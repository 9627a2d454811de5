# pg_pardump_backup with cluster_snapshot = yes: all backups of a run are of one snapshot,
# and what happens if it is lost, or cannot be taken.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json);
use Pardump::Background qw(wait_until sessions terminate children);
use Pardump::Cluster qw(start_cluster start_standby run_program new_path sql value);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup failing_programs next_fault
  complete_backups partial_backups time_name);
use Pardump::WholeCluster qw(create_database);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $node = start_cluster('backup_snapshot', allows_streaming => 1);

# The largest is backed up first, but template1 before it.
my %rows = (first => 30000, second => 3000, third => 30);
my @dbs = qw(first second third);
my @all = (@dbs, 'postgres', 'template1');
create_database($node, $_) foreach @dbs;
sql($node, $_, 'CREATE EXTENSION pg_pardump') foreach @all;
sql($node, $_, "CREATE TABLE counter AS SELECT 0 AS n; CREATE TABLE filler AS SELECT g, md5(g::text) AS t FROM generate_series(1, $rows{$_}) g")
  foreach @dbs;

my $bin = failing_programs();
my $night = 0;
my $count = 0;

sub now { return 1_800_000_000 + $night * DAY; }

sub count_in_all
{
	sql($node, $_, 'UPDATE counter SET n = n + 1') foreach @dbs;
	$count++;
	return;
}

# Runs a night with faults.  The run is held before it dumps each of these databases, until
# the code has been executed and each counter has been increased.  After that, the run
# continues without faults.
sub night
{
	my ($file, $held, @faults) = @_;
	my @held = @$held;
	$night++;
	next_fault($bin, @faults, @held ? "waits $held[0]" : ());
	my $run = start_backup(now(), $file);
	while (my ($db, $code) = splice @held, 0, 2)
	{
		wait_until("the dump of $db", sub { -e "$bin/waits" });
		$code->($run);
		count_in_all();
		next_fault($bin, @held ? "waits $held[0]" : 'none');
		unlink "$bin/waits";
	}
	$run->{rc} = end_backup($run);
	return $run;
}

# The backup of a database in this night; undef if there is none.
sub path_of
{
	my ($dir, $db) = @_;
	my $path = "$dir/$db/" . time_name(now());
	return -d $path ? $path : undef;
}

sub counted_in
{
	my ($path) = @_;
	return 'none' if !defined $path;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', 'counter', '-f', '-', "$path/dump");
	die "pg_restore failed: $err" if $rc != 0;
	return join ' ', grep { /^\d+$/ } split /\n/, $out;
}

sub counters { my ($dir) = @_; return join ' ', map { counted_in(path_of($dir, $_)) } @dbs; }

sub record_of { my ($dir, $db) = @_; return decode_json(slurp_file(path_of($dir, $db) . '/backup.json'))->{cluster_snapshot}; }

sub manifest_of { my ($dir, $db) = @_; return decode_json(slurp_file(path_of($dir, $db) . '/dump/pg_pardump_manifest.json')); }

# Nothing of the snapshot is left.
sub ended_ok
{
	my ($server, $dir, $what) = @_;
	is(sessions($server), 0, "$what: no session left");
	ok(!-e "$dir/.cluster_snapshot", "$what: the file of the snapshot is removed");
	is(scalar(my @partial = partial_backups($dir)), 0, "$what: no backup is incomplete");
	return;
}

sub nothing { return; }

# ---- writes while the first databases are dumped

{
	my ($file, $dir) = backup_config($node, "bindir = $bin");
	my $run = night($file, [ second => \&nothing ]);
	is("$run->{rc} $run->{err}", '0 ', 'without cluster_snapshot: the run');
	is(counters($dir), '0 1 1', 'without cluster_snapshot: later backups are newer');
	ok(!defined record_of($dir, 'first'), 'without cluster_snapshot: no snapshot is recorded');
}
{
	my $before = $count;
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'jobs = 2', 'cluster_snapshot = yes', 'keep_last = 2');
	my ($sessions, $timeout);
	my $run = night($file, [
			second => sub {
				($timeout) = map { slurp_file("/proc/$_/cmdline") =~ /\0--file=.*\0--lock-wait-timeout=(\w+)\0/s } children($_[0]{pid});
				$sessions = join ' ', map { sessions($node, "datname = '$_'") } qw(template1 first second);
			},
			third => sub { sql($node, 'postgres', 'CREATE DATABASE meanwhile') } ]);
	is("$run->{rc} $run->{err}", '0 ', 'the run');
	is(counters($dir), "$before $before $before", 'all backups are of one snapshot');
	is($timeout, '5s', 'a dump does not wait long behind a statement that waits for the snapshot');
	is($sessions, '0 0 1', 'no session stays in databases that have been backed up');
	sql($node, 'postgres', 'DROP DATABASE meanwhile');
	ended_ok($node, $dir, 'the run');

	my $record = record_of($dir, 'first');
	is_deeply([ sort keys %$record ], [qw(LSN-Upper-Bound Snapshot Time Timeline)], 'what backup.json records');
	foreach my $db (@all)
	{
		is_deeply(record_of($dir, $db), $record, "backup.json of $db names the snapshot");
		is_deeply(manifest_of($dir, $db)->{'Cluster-Snapshot'}, $record, "the manifest of $db names the snapshot");
	}
	my ($rc, $out, $err) = run_backup(now(), '--list', '--json', $file);
	is_deeply([ map { $_->{cluster_snapshot} } @{ decode_json($out)->{backups} } ], [ ($record) x @all ], '--list --json shows the snapshot');
	($rc, $out) = run_backup(now(), '--verify', $file);
	like("$rc $out", qr/^0 .*^verified 5 backups, /ms, '--verify');
	create_database($node, 'restored');
	($rc) = run_backup(now(), '--restore', 'latest', 'second', '--to=restored', $file);
	is("$rc " . value($node, 'restored', 'SELECT n FROM counter'), "0 $before", '--restore');
	sql($node, 'postgres', 'DROP DATABASE restored');

	is("$_->{rc} $_->{err}", '0 ', 'the run of a later night') foreach map { night($file, []) } 1 .. 2;
	is(scalar(my @kept = complete_backups($dir, $_)), 2, "$_ has as many backups as are kept") foreach @all;
	isnt(record_of($dir, 'first')->{Snapshot}, $record->{Snapshot}, 'each run has a snapshot of its own');

	# the archive of another night
	my (@nights) = complete_backups($dir, 'second');
	system_or_bail('rm', '-r', "$dir/second/$nights[-1]/dump");
	system_or_bail('cp', '-a', "$dir/second/$nights[0]/dump", "$dir/second/$nights[-1]/dump");
	($rc, $out, $err) = run_backup(now(), '--verify', 'latest', $file);
	is($rc, 1, '--verify, an archive in another snapshot: exit code');
	like($err, qr/^pg_pardump_backup: error: backup "second\/$nights[-1]" is damaged\npg_pardump_backup: detail: The archive was not made in the snapshot that backup\.json names\.$/m,
		'--verify, an archive in another snapshot: message');
	($rc, $out) = run_backup(now(), '--check', $file);
	is("$rc$out", '0', '--check');
	ended_ok($node, $dir, '--check');
}

# ---- roles that are dropped or created meanwhile

{
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes');
	my $globals_of = sub { return slurp_file(path_of($dir, $_[0]) . '/globals.sql'); };
	sql($node, 'postgres', 'CREATE ROLE owner');
	sql($node, 'first', 'CREATE TABLE owned (id int); ALTER TABLE owned OWNER TO owner');
	my $run = night($file, [ second => sub { sql($node, 'first', 'DROP OWNED BY owner; DROP ROLE owner') } ]);
	is("$run->{rc} $run->{err}", '0 ', 'a role is dropped after the snapshot was taken: the run');
	like($globals_of->($_), qr/^CREATE ROLE owner;$/m, "a role is dropped after the snapshot was taken: the backup of $_ has the role")
	  foreach qw(first third);

	# pg_dumpall has run, but there is no snapshot yet
	$night++;
	next_fault($bin, 'waits');
	$run = start_backup(now(), '-v', $file);
	wait_until('the snapshot', sub { -e "$bin/waits" });
	sql($node, 'postgres', 'CREATE ROLE owner');
	next_fault($bin, 'none');
	unlink "$bin/waits";
	is(end_backup($run), 0, 'a role is created before the snapshot is taken: exit code');
	is(scalar(() = $run->{err} =~ /^pg_pardump_backup: taking the snapshot of all databases$/mg), 2,
		'a role is created before the snapshot is taken: the snapshot is taken again');
	like($globals_of->('first'), qr/^CREATE ROLE owner;$/m, 'a role is created before the snapshot is taken: the backup has the role');
	sql($node, 'postgres', 'DROP ROLE owner');
	ended_ok($node, $dir, 'roles that are dropped or created meanwhile');
}

# ---- a session of the snapshot is lost before the first dump

{
	my $lost = new_path('lost');
	system_or_bail('cp', '-a', $bin, $lost);
	unlink "$lost/pg_dumpall";
	my ($file, $dir) = backup_config($node, "bindir = $lost", 'cluster_snapshot = yes');
	append_to_file("$lost/pg_dumpall", <<"SH");
#!/bin/sh
if [ -e "$dir/.cluster_snapshot" ] && mkdir "$lost/once" 2>/dev/null; then
	psql -Xq -h "@{[$node->host]}" -p @{[$node->port]} -c "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'second'" postgres >/dev/null
fi
exec "$bin/pg_dumpall" "\$@"
SH
	chmod 0700, "$lost/pg_dumpall" or die "could not change a mode: $!";
	$night++;
	next_fault($bin, 'none');
	my ($rc, undef, $err) = run_backup(now(), '-v', $file);
	is($rc, 0, 'a session is lost before the first dump: exit code') or diag($err);
	ok(-e "$lost/once", 'a session is lost before the first dump: it has occurred');
	is(scalar(() = $err =~ /^pg_pardump_backup: taking the snapshot of all databases$/mg), 2,
		'a session is lost before the first dump: the snapshot is taken again');
	ended_ok($node, $dir, 'a session is lost before the first dump');
}

# ---- other keys

{
	my $before = $count;
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes', 'incremental = yes', 'database = first', 'database = second');
	is(night($file, [])->{rc}, 0, 'incremental: the first run');
	append_to_file($file, "options = --incremental-copy-method=copy --lock-later\n");
	my $run = night($file, [ second => \&nothing ]);
	is("$run->{rc} $run->{err}", '0 ', 'incremental: the second run');
	is(counters($dir), "$before $before none", 'incremental: the backups are of one snapshot');
	is(scalar(grep { ($_->{Table} // '') eq 'filler' && ($_->{Reused} // '') eq 'copy' } @{ manifest_of($dir, 'second')->{Files} }), 1,
		'incremental: unchanged files are reused');
}
{
	my $before = $count;
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes', 'pipe = cat >%D/%f', 'database = second', 'database = nosuch',
		'database = first');
	my $run = night($file, []);
	is($run->{rc}, 1, 'a database that does not exist: exit code');
	like($run->{err}, qr/^pg_pardump_backup: error: could not back up database "nosuch"\n.*detail: The snapshot of all databases does not contain database "nosuch"\.\n.*detail: /m,
		'a database that does not exist: message');
	is(counters($dir), "$before $before none", 'pipe: the backups of the other databases');
	is_deeply(record_of($dir, 'first'), record_of($dir, 'second'), 'pipe: backup.json names the snapshot');
}

# ---- databases that fail

{
	my $before = $count;
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes');
	my $run = night($file, [ third => \&nothing ], 'damage second');
	is($run->{rc}, 0, 'the first attempt of a database fails: exit code');
	like($run->{err}, qr/^pg_pardump_backup: warning: could not back up database "second"\n(?:.*detail: .*\n)+?.*detail: Another attempt/m,
		'the first attempt of a database fails: message');
	is(counters($dir), "$before $before $before", 'the first attempt of a database fails: the second one is of the same snapshot');

	# CREATE DATABASE fails if a session is connected to the template
	$run = night($file, [ second => sub { sql($node, 'postgres', 'CREATE DATABASE meanwhile') } ], 'damage template1');
	is($run->{rc}, 1, 'a template fails: exit code');
	like($run->{err}, qr/^pg_pardump_backup: warning: could not back up database "template1"\n(?:.*detail: .*\n)+?.*detail: Another attempt will be made after the other template databases\.\n(?:.*\n)*pg_pardump_backup: error: could not back up database "template1"$/m,
		'a template fails: messages');
	is(value($node, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'meanwhile'}), 1,
		'a template fails: its session has ended when the other databases are dumped');
	ok(defined path_of($dir, 'second'), 'a template fails: the other databases have backups');
	sql($node, 'postgres', 'DROP DATABASE meanwhile');

	my %older = map { $_ => path_of($dir, $_) } @all;
	$before = $count;
	$run = night($file, [
			second => sub {
				terminate($node, split /\n/, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE datname = 'second'"));
			} ]);
	is($run->{rc}, 1, 'the snapshot of a database is lost: exit code');
	like($run->{err}, qr/^pg_pardump: warning: the session that keeps the snapshot in database "second" was lost$/m,
		'the snapshot of a database is lost: warning');
	like($run->{err}, qr/^pg_pardump_backup: error: could not back up database "second"\n.*detail: pg_pardump failed with exit code 1\.$/m,
		'the snapshot of a database is lost: error');
	is(counters($dir), "$before none $before", 'the snapshot of a database is lost: no backup is of another snapshot');
	ok(-d $older{second}, 'the snapshot of a database is lost: its older backup is kept');
	ended_ok($node, $dir, 'the snapshot of a database is lost');

	$before = $count;
	$run = night($file, [
			second => sub {
				my ($keeper) = grep { slurp_file("/proc/$_/cmdline") =~ /--shared-snapshot/ } children($_[0]{pid});
				kill KILL => $keeper;
				wait_until('the end of its sessions', sub { sessions($node) == 0 });
			} ]);
	is($run->{rc}, 1, 'the process that keeps the snapshot is killed: exit code');
	is(counters($dir), "$before none none", 'the process that keeps the snapshot is killed: later databases have no backups');
	like($run->{err}, qr/^pg_pardump_backup: warning: could not keep the snapshot of all databases\n.*detail: pg_pardump --cluster-snapshot was terminated by signal 9\.$/m,
		'the process that keeps the snapshot is killed: warning');
	$run = night($file, []);
	is("$run->{rc} $run->{err}", '0 ', 'the process that keeps the snapshot is killed: the next run');

	foreach my $try ([ TERM => 1 ], [ KILL => 128 + 9 ])
	{
		my ($signal, $rc) = @$try;
		$run = night($file, [
				second => sub {
					kill $signal => $_[0]{pid};
					wait_until('the end of the snapshot', sub { sessions($node) == 0 });
				} ]);
		is($run->{rc}, $rc, "SIG$signal: exit code");
		ok(!defined path_of($dir, 'second'), "SIG$signal: the database that was being dumped has no backup");
		ok(!-e "$dir/.cluster_snapshot", "SIG$signal: the file of the snapshot is removed");
		wait_until('the lock is free', sub { (run_program('flock', '-n', "$dir/.lock", 'true'))[0] == 0 });
	}
	is(night($file, [])->{rc}, 0, 'the next run');
	ended_ok($node, $dir, 'the next run');
}

# ---- what is not possible

{
	my ($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes');
	my $missing = qr/^pg_pardump: error: option --cluster-snapshot requires extension pg_pardump in every database\npg_pardump: detail: Database "third" cannot be dumped with this option\.\npg_pardump: detail: The database has no extension pg_pardump\.$/m;
	is(night($file, [])->{rc}, 0, 'a run with the extension');
	my @older = map { path_of($dir, $_) } @all;
	sql($node, 'third', 'DROP EXTENSION pg_pardump');
	my $run = night($file, []);
	is($run->{rc}, 1, 'a database without the extension: exit code');
	like($run->{err}, $missing, 'a database without the extension: it is named');
	like($run->{err}, qr/^pg_pardump_backup: error: could not take a snapshot of all databases\n.*detail: .* failed with exit code 1\.$/m,
		'a database without the extension: message');
	is(scalar(grep { defined path_of($dir, $_) } @all), 0, 'a database without the extension: no backup is made');
	is(scalar(grep { -d } @older), scalar @all, 'a database without the extension: older backups are kept');
	ended_ok($node, $dir, 'a database without the extension');
	my ($rc, $out, $err) = run_backup(now(), '--check', $file);
	is($rc, 1, '--check finds a database without the extension: exit code');
	like($err, qr/^pg_pardump_backup: error: option --cluster-snapshot requires extension pg_pardump in every database\n.*detail: Database "third" cannot be dumped with this option\.\n.*detail: The database has no extension pg_pardump\.$/m,
		'--check finds a database without the extension: message');
	like($err, qr/^pg_pardump_backup: error: could not take a snapshot of all databases$/m, '--check finds a database without the extension: what it prevents');

	# a pg_pardump that finds a possible problem of the snapshot
	my $warning = new_path('bin');
	system_or_bail('cp', '-a', $bin, $warning);
	unlink "$warning/pg_pardump";
	append_to_file("$warning/pg_pardump", <<"SH");
#!/bin/sh
for word; do
	case \$word in
		--shared-snapshot=*) shared=yes ;;
		--log-json=*) log=\${word#*=} ;;
	esac
done
[ "\$shared" ] || exec "$bin/pg_pardump" "\$@"
echo 'warning: the snapshot is old'
echo '1 problem (errors: 0, warnings: 1); a run would start'
echo '{"event":"check","errors":0,"warnings":1}' >"\$log"
echo '{"event":"warning","pid":1,"message":"the snapshot is old"}' >>"\$log"
SH
	chmod 0700, "$warning/pg_pardump" or die "could not change a mode: $!";
	($file) = backup_config($node, "bindir = $warning", 'cluster_snapshot = yes');
	($rc, $out, $err) = run_backup(now(), '--check', $file);
	is("$rc $out", '0 ', '--check, a warning about the snapshot: exit code');
	like($err, qr/^pg_pardump_backup: warning: the snapshot is old\n(?!1 problem)(?:.*\n)*(\d+) problems? \(errors: 0, warnings: \g{-1}\); a run would start\n\z/m, '--check, a warning about the snapshot: it is shown and counted');

	($file) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes', 'options = --no-extension');
	$run = night($file, []);
	is($run->{rc}, 1, '--no-extension: exit code');
	like($run->{err}, qr/^pg_pardump: error: options --cluster-snapshot and --no-extension cannot be used together$/m, '--no-extension: message');

	# names of excluded databases are patterns of pg_pardump
	my $odd = 'a"b.c*d';
	create_database($node, $odd);
	create_database($node, 'latin', q{TEMPLATE template0 ENCODING 'LATIN1'});
	sql($node, 'latin', q{SET client_encoding = 'LATIN1'; CREATE DATABASE "caf} . "\xe9" . q{" TEMPLATE template0 ENCODING 'LATIN1'});
	($file, $dir) = backup_config($node, "bindir = $bin", 'cluster_snapshot = yes',
		map { "exclude_database = $_" } 'third', $odd, 'latin', "caf\xe9");
	$run = night($file, []);
	is("$run->{rc} $run->{err}", '0 ', 'databases without the extension can be excluded');
	is_deeply([ map { s/.*\///r } glob "$dir/*" ], [qw(first postgres second template1)], 'the other databases have backups');
	sql($node, 'latin', q{SET client_encoding = 'LATIN1'; DROP DATABASE "caf} . "\xe9" . q{"});
	sql($node, 'postgres', "DROP DATABASE $_") foreach '"a""b.c*d"', 'latin';
}

# ---- a standby without the extension in each database

{
	my $standby = start_standby($node);
	my $before = $count;
	my ($file, $dir) = backup_config($standby, "bindir = $bin", 'cluster_snapshot = yes');
	my $run = night($file, [
			second => sub {
				count_in_all();
				$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
			} ]);
	is("$run->{rc} $run->{err}", '0 ', 'a standby: the run');
	is(counters($dir), "$before $before $before", 'a standby: all backups are of one snapshot');
	like(record_of($dir, 'third')->{'Replay-LSN'}, qr{^[0-9A-F]+/[0-9A-F]+$}, 'a standby: the position of replay is recorded');
	is(value($standby, 'postgres', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', 'a standby: replay is not paused afterwards');
	ended_ok($standby, $dir, 'a standby');
	$standby->stop;
}

$node->stop;
done_testing();
