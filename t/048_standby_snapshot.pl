# Snapshots of a hot standby that were exported without the transactions that were
# running: no session may import one.  Whether the server under test exports such
# snapshots is what its own file in pg_snapshots shows; of a server that does not,
# every run must succeed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until wait_in_run pump_run);
use Pardump::Cluster qw(start_cluster start_standby make_database run_program new_path start_psql
  sql value has_extension);
use Pardump::Nights qw(backup_config run_backup complete_backups partial_backups time_name);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $rows = 2000;
my $primary = start_cluster('primary', allows_streaming => 1);
my $has_extension = has_extension($primary);
make_database($primary, 'db');
sql($primary, 'db', 'CREATE EXTENSION pg_pardump') if $has_extension;
sql($primary, 'db', <<"SQL");
CREATE ROLE dumper LOGIN;
CREATE TABLE t (id int, v int, pad text);
INSERT INTO t SELECT g, 0, repeat('x', 100) FROM generate_series(1, $rows) g;
CREATE TABLE sub (id int);
GRANT SELECT ON t, sub TO dumper;
GRANT EXECUTE ON FUNCTION pg_wal_replay_pause(), pg_wal_replay_resume() TO dumper;
GRANT pg_read_all_stats TO dumper;
SQL
my $standby = start_standby($primary);
# one that follows the first
my $cascaded = PostgreSQL::Test::Cluster->new('cascaded');
$cascaded->init_from_backup($primary, 'backup_standby');
$cascaded->enable_streaming($standby);
$cascaded->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$cascaded->start;
my $db = $standby->connstr('db');

sub replay
{
	my ($flush) = @_;
	# what an open transaction has written is flushed with another one's end
	sql($primary, 'db', $flush // 'INSERT INTO sub VALUES (0)');
	my $lsn = value($primary, 'db', 'SELECT pg_current_wal_flush_lsn()');
	foreach my $node ($standby, $cascaded)
	{
		wait_until('replay', sub { value($node, 'db', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") eq 't' });
	}
	return;
}

my %overflow = (
	'64 subtransactions' => q{DO $$BEGIN FOR i IN 1..64 LOOP
		BEGIN INSERT INTO sub VALUES (i); EXCEPTION WHEN others THEN NULL; END; END LOOP; END$$},
	'a savepoint first' => 'SAVEPOINT s; INSERT INTO sub VALUES (1); RELEASE s',
);

# Rows are changed in one transaction, and another one overflows.
my ($change, $overflow);

sub overflow
{
	my ($how) = @_;
	($change, $overflow) = map { start_psql($primary, 'db') } 1 .. 2;
	$change->('BEGIN; UPDATE t SET v = v + 1');
	$overflow->("BEGIN; $overflow{$how}");
	replay();
	return;
}

# That these commit while what comes to be is wrong has imported the snapshot.
sub commit
{
	$change->('COMMIT');
	$overflow->('COMMIT');
	$change->();
	$overflow->();
	return;
}

# An open transaction there, and the snapshot that it has exported.
sub export
{
	my ($node) = @_;
	my $psql = start_psql($node, 'db');
	$psql->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $psql->('SELECT pg_export_snapshot()');
	return ($psql, $snapshot, slurp_file($node->data_dir . "/pg_snapshots/$snapshot"));
}

sub is_affected
{
	my ($psql, undef, $text) = export($standby);
	$psql->();
	like($text, qr/^sof:1$/m, 'the snapshot has overflowed');
	like($text, qr/^rec:1$/m, 'the snapshot was taken during recovery');
	my $is = $text !~ /^sxcnt:/m;
	note($is ? 'the server is affected' : 'the server is not affected');
	return $is;
}

# Rows by value, of a node and of an archive.
sub rows_of
{
	my ($node) = @_;
	return value($node, 'db', q{SELECT string_agg(v || ': ' || n, ', ' ORDER BY v)
		FROM (SELECT v, count(*) AS n FROM t GROUP BY v) x});
}

sub rows_in
{
	my ($dir) = @_;
	my (undef, $out) = run_program('pg_restore', '-a', '-t', 't', '-f', '-', $dir);
	my %n;
	$n{$1}++ while $out =~ /^\d+\t(\d+)\t/mg;
	return join ', ', map { "$_: $n{$_}" } sort keys %n;
}

my $incomplete = qr/^(?:pg_pardump(?::\w+)?: )?error: could not take a complete snapshot on .* in 0 s \(--standby-snapshot-timeout\)/m;
my $affected;

# While it is overflowed: without a wait it fails on a server that is affected.
sub refused_ok
{
	my ($what, @command) = @_;
	my ($rc, $out, $err) = run_program(@command, '--standby-snapshot-timeout=0');
	if (!$affected)
	{
		is($rc, 0, "$what: exit code of a server that is not affected") || diag("$out$err");
		return;
	}
	is($rc, 1, "$what: exit code");
	like($out . $err, $incomplete, "$what: message");
	return;
}

my $now = 0;
sub dump_refused_ok
{
	my ($what, @options) = @_;
	my $dir = new_path('refused');
	refused_ok($what, 'pg_pardump', '--no-sync', '-f', $dir, @options);
	is(-e $dir ? rows_in($dir) : 'no directory', $affected ? 'no directory' : "$now: $rows", "$what: rows");
	return;
}

my @as_dumper = ('-U', 'dumper');
my @from_all = ('-d', $db, '--also-from', $cascaded->connstr('db'), '-j2');

sub unharmed_ok
{
	my ($what) = @_;
	commit();
	$now++;
	replay();
	is(rows_of($_), "$now: $rows", "$what: rows of " . $_->name) foreach $primary, $standby, $cascaded;
	return;
}

# ---- the function, by which everybody can look

SKIP:
{
	skip 'needs the extension', 1 if !$has_extension;
	my $look = sub {
		my ($node, $snapshot) = @_;
		my (undef, $out, $err) = $node->psql('db',
			"SELECT * FROM pardump.pg_pardump_exported_snapshot('$snapshot')", connstr => $node->connstr('db') . ' user=dumper');
		return $out . ($err =~ s/^psql.*?ERROR:/ERROR:/r);
	};
	my $snapshots = $primary->data_dir . '/pg_snapshots';
	my ($psql, $snapshot) = export($primary);
	is($look->($primary, $snapshot), 'f|f|t', 'a snapshot of a primary');
	$psql->();
	($psql, $snapshot) = export($standby);
	is($look->($standby, $snapshot), 't|f|t', 'a snapshot of a standby');
	$psql->();
	like($look->($standby, $snapshot), qr/ERROR:  snapshot "\Q$snapshot\E" does not exist/, 'the session that exported the snapshot has ended');
	like($look->($primary, $_), qr/ERROR:  invalid snapshot identifier: "\Q$_\E"/, "not a name: \"$_\"")
	  foreach '', '../PG_VERSION', '/etc/passwd', '1/../1', 'abc', '1' x 100;
	symlink('../PG_VERSION', "$snapshots/A-1");
	like($look->($primary, 'A-1'), qr/ERROR:  could not open file "pg_snapshots\/A-1"/, 'a symbolic link');
	unlink "$snapshots/A-1";
	system_or_bail('mkfifo', "$snapshots/A-1");
	like($look->($primary, 'A-1'), qr/ERROR:  "pg_snapshots\/A-1" is not a regular file/, 'a FIFO');
	unlink "$snapshots/A-1";
	append_to_file("$snapshots/A-1", "vxid:1/1\n");
	like($look->($primary, 'A-1'), qr/ERROR:  invalid file of exported snapshot "A-1"\n.*The line "pid:" is missing/, 'a file that was cut');
	append_to_file("$snapshots/A-1", 'x' x (10 * 1024 * 1024));
	like($look->($primary, 'A-1'), qr/ERROR:  file "pg_snapshots\/A-1" is too long for a snapshot/, 'a long file');
	unlink "$snapshots/A-1";
	like((run_program('psql', '-XAt', '-d', $primary->connstr('db'), '-c', 'SELECT pardump.pg_pardump_exported_snapshot(NULL)'))[2],
		qr/ERROR:  identifier must not be null/, 'NULL');
}

# ---- backups from before the overflow

my $previous = new_path('previous');
is((run_program('pg_pardump', '--no-sync', '-d', $db, '-f', $previous, $has_extension ? '--manifest-fingerprints' : ()))[0], 0,
	'an archive from before the overflow');
my ($config, $backups) = backup_config($standby, 'database = db', 'keep_last = 1', $has_extension ? 'incremental = yes' : (),
	'options = --standby-snapshot-timeout=0');
my $night = 0;
my $last_backup;

# Whether a night of pg_pardump_backup has made a backup, which replaces the one before.
sub night_ok
{
	my ($what, $makes_backup) = @_;
	my $time = 1_800_000_000 + 86400 * ++$night;
	my ($rc, undef, $err) = run_backup($time, $config);
	is($rc, $makes_backup ? 0 : 1, "$what: exit code") or diag($err);
	like($err, qr/$incomplete(?:.*\n)+pg_pardump_backup: error: could not back up database "db"/m, "$what: message") if !$makes_backup;
	$last_backup = time_name($time) if $makes_backup;
	is_deeply([ complete_backups($backups, 'db') ], [$last_backup], "$what: backups");
	is_deeply([ partial_backups($backups) ], [], "$what: nothing else is left");
	is(rows_in("$backups/db/$last_backup/dump"), "$now: $rows", "$what: rows");
	return;
}
night_ok('pg_pardump_backup, no overflow', 1);

# ---- 64 subtransactions

overflow('64 subtransactions');
$affected = is_affected();
dump_refused_ok('a dump', '-d', $db, '-j2');
dump_refused_ok('by SQL, one worker', '-d', $db, '--no-extension');
dump_refused_ok('--allow-affected-standby', '-d', $db, '--allow-affected-standby');
dump_refused_ok('a standby of a standby', '-d', $cascaded->connstr('db'), '-j2');
dump_refused_ok('by the extension alone', @as_dumper, '-d', $db) if $has_extension;
dump_refused_ok('--also-from', @from_all);
dump_refused_ok('--manifest-fingerprints', '-d', $db, '--manifest-fingerprints') if $has_extension;
dump_refused_ok('--incremental', '-d', $db, "--incremental=$previous") if $has_extension;
night_ok('pg_pardump_backup', !$affected);
is((run_backup(1_800_000_000, '--check', $config))[0], $affected ? 1 : 0, 'pg_pardump_backup --check: exit code');
refused_ok('--check', 'pg_pardump', '--check', '-d', $db);
refused_ok('--check of several', 'pg_pardump', '--check', @from_all);
refused_ok('--dry-run', 'pg_pardump', '--dry-run', '-d', $db);
refused_ok('--compare-with', 'pg_pardump', '-d', $primary->connstr('db'), '--compare-with', $db, '-t', 'sub');
refused_ok('--all-databases', 'pg_pardump', '--no-sync', '--all-databases', '-d', $standby->connstr('postgres'),
	'--exclude-database=postgres', '-f', new_path('all'));
{
	my $dir = new_path('tasks');
	refused_ok('--tasks', 'pg_pardump', '--no-sync', '-d', $db, '-f', $dir, '--tasks=2',
		'--run-tasks=for i in 0 1; do pg_pardump --plan=%p --task=$i/%n || exit; done');
}

# its transactions are missing already: nothing to wait for, and no import
{
	my ($psql, $snapshot) = export($standby);
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-d', $db, '-f', new_path('given'), "--snapshot=$snapshot",
		'--allow-affected-standby');
	is($rc, $affected ? 1 : 0, '--snapshot: exit code');
	like($err, qr/^pg_pardump: error: snapshot "\Q$snapshot\E" lacks the transactions that were running when it was taken$/m,
		'--snapshot: message') if $affected;
	$psql->();
	like((run_program('pg_pardump', '-d', $db, '-f', new_path('gone'), "--snapshot=$snapshot"))[2],
		qr/snapshot "\Q$snapshot\E" does not exist/, '--snapshot: its session has ended');
	like((run_program('pg_pardump', '-d', $db, '-f', new_path('path'), '--snapshot=../PG_VERSION'))[2],
		qr/^pg_pardump: error: invalid snapshot identifier: "..\/PG_VERSION"$/m, '--snapshot: a path');
}

# who cannot look is refused by the version
{
	my @blind = ('pg_pardump', '--no-sync', @as_dumper, '-d', $db, '--no-extension');
	my ($rc, undef, $err) = run_program(@blind, '-f', new_path('blind'));
	is($rc, $affected ? 1 : 0, 'no role may read the file: exit code');
	like($err, qr/^pg_pardump: error: could not check whether snapshots of server \S+ are complete\n.*\n.*; PostgreSQL \d+\.\d+ fixes this bug\.\n.*hint: Update the standby, .*\n.*hint: .*CREATE EXTENSION pg_pardump;\n.*hint: .*--allow-affected-standby/m,
		'no role may read the file: message') if $affected;
	sql($primary, 'db', 'GRANT EXECUTE ON FUNCTION pg_read_file(text, bigint, bigint, boolean) TO dumper');
	replay();
	dump_refused_ok('who may read files', @blind[2 .. $#blind]);
	sql($primary, 'db', 'REVOKE EXECUTE ON FUNCTION pg_read_file(text, bigint, bigint, boolean) FROM dumper');
}

# a dump that waits has no snapshot, lock or pg_dump, and reads what is there after it
foreach my $run ([ 'a wait', '-d', $db, '-j2' ], [ 'a wait for several', @from_all ])
{
	my ($what, undef, @options) = @$run;
	$overflow or overflow('64 subtransactions');
	my $dump = start_dump($options[0], '-v', '--standby-snapshot-timeout=600', @options[1 .. $#options]);
	if ($affected)
	{
		wait_in_run($dump, 'the dump waits', sub { $dump->{err} =~ /lacks running transactions; retrying for up to 600 s/ });
		is(value($standby, 'db', q{SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass}), 0, "$what: no lock");
		unlike($dump->{err}, qr/reading the schema/, "$what: no pg_dump");
		is(value($standby, 'db', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$what: replay continues");
		unharmed_ok($what);
		undef $overflow;
	}
	is(end_dump($dump), 0, "$what: exit code");
	is(rows_in($dump->{dir}), "$now: $rows", "$what: rows");
}
unharmed_ok('64 subtransactions') if $overflow;

# allowed, while all is well
{
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', @as_dumper, '-d', $db, '--no-extension', '-f', my $dir = new_path('allowed'),
		'--allow-affected-standby');
	is($rc, 0, '--allow-affected-standby: exit code');
	is(rows_in($dir), "$now: $rows", '--allow-affected-standby: rows');
	is($err, '', 'a server that is not affected: no warning') if !$affected;
	is(scalar(() = $err =~ /^pg_pardump: warning: could not check whether snapshots of server \S+ are complete; .*the standby might be damaged$/mg), 1,
		'--allow-affected-standby: one warning') if $affected;
}

night_ok('pg_pardump_backup, after the overflow', 1);

# ---- an overflow between the check before a pause and the snapshots of the pause

{
	my $flags = new_path('flags');
	mkdir $flags or die "could not make directory \"$flags\": $!";
	my $checked;
	my $relay = start_relay($cascaded, sub {
		my ($bytes, $is_servers) = @_;
		return 1 if $is_servers;
		# the end of the check, and the first look for a place to pause at
		$checked = 1 if $$bytes =~ /ROLLBACK/;
		return 1 if !$checked || $$bytes !~ /pg_get_wal_replay_pause_state/;
		$checked = 0;
		append_to_file("$flags/held", '');
		sleep 0.02 while !-e "$flags/go";
		unlink "$flags/go";
		return 1;
	});
	my $start = sub {
		return start_dump($db, '-j2', '-v', '--standby-snapshot-timeout=600',
			'--also-from', "host=$relay->{host} port=$relay->{port}");
	};
	my $is_held = sub { return -e "$flags/held" };
	my $continue = sub {
		unlink "$flags/held";
		append_to_file("$flags/go", '');
		return;
	};
	# whether it waits again, and has not ended
	my $waits_again = sub {
		my ($dump, $n) = @_;
		wait_until('the dump waits again or has ended',
			sub { return $n < (() = $dump->{err} =~ /lacks running transactions; retrying/g) || !pump_run($dump->{h}) });
		return $n < (() = $dump->{err} =~ /lacks running transactions; retrying/g);
	};
	my $paused_again = qr/the snapshot of server \S+ lacks running transactions; pausing replay again/;

	my $what = 'an overflow in the first pause';
	my $dump = $start->();
	wait_in_run($dump, 'the first pause', $is_held);
	overflow('64 subtransactions');
	$continue->();
	if ($affected)
	{
		ok($waits_again->($dump, 0), "$what: the dump waits");
		like($dump->{err}, $paused_again, "$what: the snapshots are checked again");
		unharmed_ok($what);
		undef $overflow;
		# places may differ, and each try begins with a check
		wait_until('the second pause', sub { $continue->() if $is_held->(); return !pump_run($dump->{h}) });
	}
	is(end_dump($dump), 0, "$what: exit code");
	is(rows_in($dump->{dir}), "$now: $rows", "$what: rows");
	unharmed_ok($what) if $overflow;

  SKIP:
	{
		$what = 'an overflow in each pause';
		skip 'the server exports complete snapshots', 1 if !$affected;
		unlink glob "$flags/*";
		$dump = $start->();
		# more than five if places differ
		foreach my $try (0 .. 30)
		{
			wait_in_run($dump, 'a pause', $is_held);
			overflow('64 subtransactions');
			$continue->();
			my $ended = !$waits_again->($dump, $try);
			commit();
			$now++;
			replay();
			last if $ended;
		}
		is(end_dump($dump), 1, "$what: exit code");
		is(scalar(() = $dump->{err} =~ /$paused_again \(pause [2-5] of 5\)/g), 4, "$what: five pauses");
		like($dump->{err}, qr/^pg_pardump: error: could not take a complete snapshot on server \S+ in 5 pauses of replay\n.*detail: A transaction on the primary has 64 or more subtransactions.*\n.*\n.*hint: Update the standby; or run the same command again when those transactions have ended \(.*\); or dump the primary\.$/m,
			"$what: message");
		ok(!-e $dump->{dir}, "$what: no directory");
		is(value($_, 'db', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$what: replay of " . $_->name . ' continues')
		  foreach $standby, $cascaded;
		is(rows_of($_), "$now: $rows", "$what: rows of " . $_->name) foreach $primary, $standby, $cascaded;
		undef $overflow;
	}
	stop_proxy($relay);
}

# ---- the same on any server: the file of each snapshot that is taken in a pause shows an
# overflow, as the extension reports it, and its text, of the same length

{
	my ($paused, $lies) = (0, 0);
	my $relay = start_relay($cascaded, sub {
		my ($bytes, $is_servers) = @_;
		if (!$is_servers)
		{
			# a look before a pause begins with this
			$paused = $lies = 0 if $$bytes =~ /pg_is_in_recovery/;
			$paused = 1 if $$bytes =~ /pg_get_wal_replay_pause_state/;
			$lies = $paused if $$bytes =~ /pg_export_snapshot/;
			return 1;
		}
		return 1 if !$lies;
		$$bytes =~ s/(\0\0\0\x01)[ft](\0\0\0\x01)f(\0\0\0\x01)t/$1t$2t$3f/;
		$$bytes =~ s/xmin:(.*)sof:0\nsxcnt:0\nrec:[01]\n/xmin:00000000$1sof:1\nrec:1\n/s;
		return 1;
	});
	foreach my $options ($has_extension ? [] : (), ['--no-extension'])
	{
		my $what = "a forged overflow in each pause, @$options";
		my $dump = start_dump($db, '-j2', '-v', '--standby-snapshot-timeout=600', @$options,
			'--also-from', "host=$relay->{host} port=$relay->{port}");
		is(end_dump($dump), 1, "$what: exit code");
		is(scalar(() = $dump->{err} =~ /lacks running transactions; pausing replay again \(pause [2-5] of 5\)/g), 4, "$what: five pauses");
		like($dump->{err}, qr/^pg_pardump: error: could not take a complete snapshot on server \S+ in 5 pauses of replay$/m, "$what: message");
		ok(!-e $dump->{dir}, "$what: no directory");
		is(value($_, 'db', 'SELECT pg_get_wal_replay_pause_state()'), 'not paused', "$what: replay of " . $_->name . ' continues')
		  foreach $standby, $cascaded;
	}
	stop_proxy($relay);
}

# ---- one subtransaction

$primary->append_conf('postgresql.conf', 'wal_level = logical');
$primary->restart;
replay();
overflow('a savepoint first');
$affected = is_affected();
dump_refused_ok('wal_level = logical', '-d', $db, '-j2');
dump_refused_ok('wal_level = logical, --also-from', @from_all);

# ---- a promotion between the snapshot and its check: the file's "rec:" counts

{
	# the standby has not replayed the end of any transaction since it was started
	replay('CHECKPOINT');
	sql($standby, 'db', 'CHECKPOINT');
	$standby->restart;
	my $again = start_psql($primary, 'db');
	$again->("BEGIN; $overflow{'a savepoint first'}");
	replay('CHECKPOINT');
	my ($psql, $snapshot, $text) = export($standby);
	like($text, qr/^sof:1$/m, 'a promotion: the snapshot has overflowed');
	is(value($standby, 'db', 'SELECT pg_last_xact_replay_timestamp() IS NULL'), 't', 'a promotion: no transaction has ended');
	$standby->promote;
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-d', $db, '-f', new_path('promoted'), "--snapshot=$snapshot");
	is($rc, 1, 'a promotion: exit code');
	like($err, $affected ? qr/error: snapshot "\Q$snapshot\E" lacks the transactions/ :
		qr/error: snapshot "\Q$snapshot\E" was taken before the standby was promoted\n/, 'a promotion: message');
	($rc, undef, $err) = run_program('pg_pardump', '--no-sync', @as_dumper, '-d', $db, '--no-extension', '-f', new_path('promoted'),
		"--snapshot=$snapshot");
	is($rc, $affected ? 1 : 0, 'a promotion, no role may read the file: exit code');
	like($err, qr/error: could not check whether snapshots of server \S+ are complete/, 'a promotion, no role may read the file: message')
	  if $affected;
	$psql->();
	is(rows_of($standby), "$now: $rows", 'a promotion: rows');
	my $dir = new_path('primary');
	is((run_program('pg_pardump', '--no-sync', '-d', $db, '-f', $dir))[0], 0, 'a server that was promoted: exit code');
	is(rows_in($dir), "$now: $rows", 'a server that was promoted: rows');
	$again->();
}
$_->() foreach $change, $overflow;

$cascaded->stop('immediate');
$standby->stop('immediate');
$primary->stop('immediate');
done_testing();
