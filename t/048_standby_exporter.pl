
# --snapshot on a hot standby: a session that imports the snapshot while replay waits
# to remove rows is not protected from replay, its exporter is.  A run whose exporter
# ends before all rows are read fails, and leaves no archive.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok wait_until wait_in_run pump_run backends terminate);
use Pardump::Cluster qw(start_cluster start_standby make_database restore_ok new_path
  start_psql run_program sql value has_extension has_slot_bug);
use Pardump::Copy qw(start_copy);
use Pardump::Gate qw(hold_gates hold close_gate open_gate wait_at_gate);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::Tasks qw(runner all_tasks);
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = start_cluster('primary', allows_streaming => 1);
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$primary->restart;
make_database($primary, 'replayed');
sql($primary, 'replayed', <<'SQL');
CREATE TABLE gated (id int, t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 10000) g;
-- no lock of VACUUM's, which replay would wait for, too
CREATE TABLE removed (id int) WITH (vacuum_truncate = off);
SQL
make_database($primary, 'target', options => 'TEMPLATE template0');
my $standby = start_standby($primary);
hold_gates($standby, 'replayed');
my $connstr = $standby->connstr('replayed');
my @gated = ('-j2', '--where=public.gated:id NOT IN (5000, 9000) OR pg_advisory_xact_lock_shared(42) IS NOT NULL');
my $copies = 0;

sub replay { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); return; }

# A session of the standby that has exported a snapshot, and the name of that.
sub exporter
{
	my (@import) = @_;
	my $psql = start_psql($standby, 'replayed');
	$psql->(join('; ', 'BEGIN ISOLATION LEVEL REPEATABLE READ', map { "SET TRANSACTION SNAPSHOT '$_'" } @import));
	return ($psql, $psql->('SELECT pg_export_snapshot()'));
}

# Rows which the next snapshot sees; then VACUUM removes them, for which replay
# waits for that snapshot's sessions.
sub make_rows
{
	sql($primary, 'replayed', 'TRUNCATE removed; INSERT INTO removed SELECT generate_series(1, 200)');
	replay();
	return;
}

sub remove_rows
{
	sql($primary, 'replayed', $_) foreach 'DELETE FROM removed', 'VACUUM removed';
	wait_until('replay waits for the exporter', sub {
		return value($standby, 'postgres',
			q{SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'}) eq 'RecoveryConflictSnapshot';
	});
	return;
}

my $message = sub {
	my ($snapshot) = @_;
	return qr/error: the transaction that exported snapshot "$snapshot" has ended before all rows were read\n.*detail: On a standby, replay might have removed rows that the snapshot sees\.\n.*hint: Export a new snapshot, and keep the transaction that exports it open until pg_pardump has finished\.\n/;
};

# ---- the exporter stays

{
	make_rows();
	my ($exporter, $snapshot) = exporter();
	remove_rows();
	close_gate(42);
	my $dump = start_dump($connstr, @gated, "--snapshot=$snapshot");
	wait_at_gate($standby, $dump, 1);
	open_gate();
	is(end_dump($dump), 0, 'the exporter stays: exit code');
	$exporter->('COMMIT');
	$exporter->();
	replay();
	sql($primary, 'postgres', 'CREATE DATABASE copy TEMPLATE template0');
	restore_ok($primary, $dump->{dir}, 'copy', 'the exporter stays');
	is(value($primary, 'copy', 'SELECT count(*) FROM removed'), 200, 'the exporter stays: all rows are in the archive');
}

# ---- the exporter ends while rows are read

sub ends_early
{
	my ($start, $failed, @import) = @_;
	make_rows();
	my ($exporter, $snapshot) = exporter();
	remove_rows();
	close_gate(42);
	my $run = $start->("--snapshot=$snapshot");
	wait_at_gate($standby, $run, 1);
	$exporter->('COMMIT');
	$exporter->();
	# the workers wait in a table that it does not touch
	replay();
	open_gate();
	$failed->($run, $message->($snapshot));
	return;
}

ends_early(sub { return start_dump($connstr, @gated, @_); },
	sub { my ($run, $words) = @_; dump_failed_ok($standby, $run, 'the exporter ends', $words); return; });
ends_early(sub { return start_dump($connstr, $gated[1], '--tasks=2', @_, runner(all_tasks())); },
	sub { my ($run, $words) = @_; dump_failed_ok($standby, $run, 'the exporter ends, tasks read', $words); return; });
ends_early(sub { return start_copy($standby, 'replayed', $primary->connstr('target'), @gated, @_); },
	sub {
		my ($run, $words) = @_;
		is(end_dump($run), 1, 'the exporter ends, a copy: exit code');
		like($run->{err}, $words, 'the exporter ends, a copy: message');
	});

# Nothing but definitions is read: no worker is needed, and the check is the same.
{
	my $what = 'the exporter ends, no rows are read';
	make_rows();
	my ($exporter, $snapshot) = exporter();
	remove_rows();
	my $moments = start_moments($standby, [qr/LOCK TABLE.*gated/s], { pattern => 0, n => 1 });
	my $dump = start_dump("host=$moments->{host} port=$moments->{port} dbname=replayed", '-s', "--snapshot=$snapshot");
	wait_in_run($dump, 'pg_dump', sub { return scalar(my @held = moment_held($moments)) });
	$exporter->('COMMIT');
	$exporter->();
	replay();
	moment_go_on($moments);
	dump_failed_ok($standby, $dump, $what, $message->($snapshot));
	stop_moments($moments);
}

# ---- before the run

{
	my ($exporter, $snapshot) = exporter();
	$exporter->();
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', "$primary->{_basedir}/gone", '-d', $connstr, "--snapshot=$snapshot");
	is($rc, 1, 'the exporter had ended: exit code');
	like($err, qr/error: snapshot "$snapshot" does not exist/, 'the exporter had ended: message');
}

# ---- a snapshot that is exported again: it is checked again, before others may import it

{
	my $lies = new_path('lies');
	my $imports = 0;
	# In sessions that have imported a snapshot, the file of the one that they export shows
	# an overflow: as the extension reports it, and its text, of the same length.
	my @relays = map { start_relay($_, sub {
		my ($bytes, $is_servers) = @_;
		my $is_import = !$is_servers && $$bytes =~ /SET TRANSACTION SNAPSHOT/;
		append_to_file("$lies.import", '') if $is_import;
		$imports ||= $is_import || -e "$lies.all";
		return 1 if !$imports || !$is_servers || !-e $lies;
		$$bytes =~ s/(\0\0\0\x01)[ft](\0\0\0\x01)f(\0\0\0\x01)t/$1t$2t$3f/;
		$$bytes =~ s/xmin:(.*)sof:0\nsxcnt:0\nrec:[01]\n/xmin:00000000$1sof:1\nrec:1\n/s;
		return 1;
	}) } $standby, $primary;
	my $start = sub {
		my ($relay, @options) = @_;
		return start_dump("host=$relay->{host} port=$relay->{port} dbname=replayed", @gated, @options);
	};
	my $refused_ok = sub {
		my ($what, $dump) = @_;
		is(end_dump($dump), 1, "$what: exit code");
		like($dump->{err}, qr/error: the standby exported incomplete snapshot "[0-9A-F-]+" during the run\n/, "$what: message");
		ok(!-e $dump->{dir}, "$what: no archive");
		return;
	};
	sql($primary, 'replayed', 'CREATE EXTENSION pg_pardump') if has_extension($primary);
	replay();

	append_to_file($lies, '');
	$refused_ok->("an incomplete snapshot of a worker, @$_", $start->($relays[0], @$_))
	  foreach has_extension($primary) ? [] : (), ['--no-extension'];
	unlink $lies;

	# one that is given, and the one that the leader exports after it has imported that
	my ($exporter, $given) = exporter();
	foreach my $what ('given', 'given, and exported again')
	{
		my $is_first = $what eq 'given';
		append_to_file($_, '') foreach $lies, $is_first ? "$lies.all" : ();
		unlink "$lies.import";
		my $dump = $start->($relays[0], "--snapshot=$given", '--allow-affected-standby');
		is(end_dump($dump), 1, "an incomplete snapshot that is $what: exit code");
		like($dump->{err}, qr/error: snapshot "\Q$given\E" lacks the transactions that were running when it was taken\n/,
			"an incomplete snapshot that is $what: message");
		ok(!-e $dump->{dir}, "an incomplete snapshot that is $what: no archive");
		is(-e "$lies.import" ? 1 : 0, $is_first ? 0 : 1, "an incomplete snapshot that is $what: " . ($is_first ? 'no session imports it' : 'a session imports it'));
		unlink $lies, "$lies.all";
	}
	$exporter->();

	# the file decides, for any version
	append_to_file($_, '') foreach $lies, "$lies.all";
	my $dump = $start->($relays[0], '--standby-snapshot-timeout=0');
	is(end_dump($dump), 1, 'a snapshot without running transactions: exit code');
	like($dump->{err}, has_slot_bug($primary)
		? qr/detail: .*\n.*detail: The server has version \S+.*; PostgreSQL \d+\.\d+ fixes this bug\.\n.*hint: Update the standby; or run/
		: qr/detail: .*\n.*detail: The server has version \S+.*, which should have the fix of this bug, but the file of its snapshot shows the bug\.\n.*hint: Run the same command again/,
		'a snapshot without running transactions: message');
	unlink $lies, "$lies.all";

	# another session takes the place of the leader's, which is so on a primary only
	hold_gates($primary, 'replayed');
	foreach my $is_lie (0, 1)
	{
		close_gate(42);
		my $dump = $start->($relays[1], '-v');
		wait_at_gate($primary, $dump, 1);
		append_to_file($lies, '') if $is_lie;
		terminate($primary, (backends($primary))[0]);
		wait_until('the leader has opened another session, or none',
			sub { return !pump_run($dump->{h}) || $dump->{err} =~ /the leader has opened another session/ });
		open_gate();
		$is_lie ? $refused_ok->('an incomplete snapshot of the leader', $dump) : is(end_dump($dump), 0, 'another session of the leader');
	}
	hold();
	hold_gates($standby, 'replayed');
	stop_proxy($_) foreach @relays;
}

# ---- a role that cannot read the file of a snapshot: the version decides

my $has_all_minors = value($primary, 'postgres', 'SHOW server_version_num') < 190000;
# reports the first minor release of the server's major version
my $old = start_relay($standby, sub {
	my ($bytes, $is_servers) = @_;
	$$bytes =~ s/(server_version\0\d+\.)(\d+)/$1 . '0' x length $2/e if $is_servers;
	return 1;
});
sql($primary, 'replayed', 'CREATE ROLE dumper LOGIN; GRANT SELECT ON gated, removed TO dumper');
replay();

# Returns exit code and messages.
sub blind_dump
{
	my (@options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('blind'), '--no-sync', '--no-extension',
		'-d', "host=$old->{host} port=$old->{port} dbname=replayed user=dumper", @options);
	return "$rc $err";
}

sub blind_ok
{
	my ($what, @options) = @_;
	my $words = qr/could not check whether snapshots of server \S+ are complete/;
	like(blind_dump(@options), qr/^1 pg_pardump: error: $words\n/, "the role cannot read the file, $what");
	like(blind_dump(@options, '--allow-affected-standby'), qr/^0 pg_pardump: warning: $words; .*the standby might be damaged\n/,
		"the role cannot read the file, $what, --allow-affected-standby");
	return;
}

SKIP:
{
	skip 'all releases of this major version have the fix', 4 if !$has_all_minors;
	my ($exporter, $snapshot) = exporter();
	blind_ok('a standby');
	blind_ok('a standby, --snapshot', "--snapshot=$snapshot");
	$exporter->();
}

# ---- a primary: a session that has imported the snapshot keeps its rows

{
	my $psql = start_psql($primary, 'replayed');
	$psql->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $psql->('SELECT pg_export_snapshot()');
	my $holder = start_psql($primary, 'replayed');
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($primary->connstr('replayed'), @gated, "--snapshot=$snapshot");
	wait_at_gate($primary, $dump, 1);
	$psql->('COMMIT');
	$psql->();
	$holder->();
	is(end_dump($dump), 0, 'a primary: the exporter may end');
}

# ---- a standby that is promoted meanwhile: a query that uses indexes could miss rows

{
	make_rows();
	my ($exporter, $snapshot) = exporter();
	close_gate(42);
	my $dump = start_dump($connstr, @gated, "--snapshot=$snapshot");
	wait_at_gate($standby, $dump, 1);
	my $moments = start_moments($standby, [qr/^.*COPY/s], { pattern => 0, n => 1 });
	my $whole = start_dump("host=$moments->{host} port=$moments->{port} dbname=replayed", '-j2', "--snapshot=$snapshot");
	wait_in_run($whole, 'the rows', sub { return scalar(my @held = moment_held($moments)) });
	$standby->promote;
	open_gate();
	moment_go_on($moments);
	is(end_dump($whole), 0, 'promotion, and the exporter stays: exit code');
	stop_moments($moments);
	dump_failed_ok($standby, $dump, 'promotion, and a condition',
		qr/error: the standby was promoted during the dump\n.*detail: Index entries might be missing for rows that the snapshot sees\.\n/);
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-d', $connstr, '-f', new_path('promoted'), "--snapshot=$snapshot");
	is($rc, 1, 'promotion, then a dump: exit code');
	like($err, qr/error: snapshot "\Q$snapshot\E" was taken before the standby was promoted\n/, 'promotion, then a dump: message');
  SKIP:
	{
		skip 'all releases of this major version have the fix', 3 if !$has_all_minors;
		blind_ok('a snapshot from before the promotion', "--snapshot=$snapshot");
		is(blind_dump(), '0 ', 'the role cannot read the file, a snapshot from after the promotion');
	}
	$exporter->();
}

hold();
stop_proxy($old);
$standby->stop;
$primary->stop;
done_testing();
