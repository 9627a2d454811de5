# Silence while a base backup is taken: connections that pass nothing on are noticed
# though they are open, a worker's is replaced, and that which holds the backup ends
# the run; what only takes its time is waited for.  Sessions that wait are not the
# server's to end, with any timeouts that are set meanwhile.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump backends wait_in_run);
use Pardump::BaseBackup qw(start_run held_run verify_backup_ok slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path sql start_psql value);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use Pardump::Proxy qw(start_proxy stop_proxy freeze_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
my $gate = new_path('gate');
$node->append_conf('postgresql.conf', <<"CONF");
archive_mode = on
archive_command = 'until test -e $gate; do sleep 0.1; done'
CONF
$node->restart;
sql($node, 'postgres', 'CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g');
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
sql($node, 'postgres', 'CHECKPOINT');

# the statements of a piece, by either reader, of the start, of the end, and of a piece of
# the log
my @patterns = (qr/COPY \(SELECT (?:v\.n|pardump\.pg_pardump_read_files)/, qr/pg_catalog[.]pg_backup_start/, qr/pg_catalog[.]pg_backup_stop/,
	qr/pg_wal\/|70675f77616c2f/);
my $silence = qr/detail: Received no data from the server for longer than --stall-timeout/;
my $leader_silence = qr/^pg_parbasebackup: error: received no data from the server for longer than --stall-timeout, .*\n\z/;

sub no_sessions_ok
{
	my ($what) = @_;
	ok($node->poll_query_until('postgres',
			q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_par%'}), "$what: no session is left");
	return;
}

sub failed_ok
{
	my ($run, $what, $message) = @_;
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, $message, "$what: a message");
	ok(!-e $run->{dir}, "$what: the directory is removed");
	return;
}

# By a relay, or a proxy's port.
sub by_proxy
{
	my ($proxy, @options) = @_;
	local @ENV{qw(PGSSLMODE PGGSSENCMODE)} = qw(disable disable);
	return start_run({ host => '127.0.0.1', port => $proxy->{port} }, [], '--stall-timeout=1', @options);
}

# ---- workers: the leader's session is 0, that of the list 1

foreach my $try ([ 100_000, qr/lost the connection of a worker/ ], [ 1, qr/a connection was lost or could not be opened|lost the connection of a worker/ ])
{
	my ($bytes, $doing) = @$try;
	my $what = "a worker's proxy stalls after $bytes bytes";
	my $proxy = start_proxy($node, [ 2, $bytes, 'stall' ]);
	my $run = by_proxy($proxy, '-j2');
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, qr/^pg_parbasebackup: warning: $doing; retry 1 of 5.*\n.*$silence/m, "$what: a message");
	verify_backup_ok($run->{dir}, $what);
	# its backend was ended, though its connection is open, if it was known
	stop_proxy($proxy) if $bytes == 1;
	no_sessions_ok($what);
	stop_proxy($proxy) if $bytes > 1;
}
foreach my $try (
	[ 'a piece is asked for', { pattern => 0, n => 2 } ],
	[ 'a piece is on its way', { pattern => 0, n => 2, answer => 1 }, '--no-extension' ],
	[ 'a piece of a tar file is on its way', { pattern => 0, n => 2, answer => 1 }, '-Ft', '-Z', 'server-lz4' ],
	[ 'the log is on its way', { pattern => 3, n => 1, answer => 1 }, '-X', 'fetch' ])
{
	my ($what, $moment, @options) = @$try;
	my ($moments, $run) = held_run($node, \@patterns, $what, $moment, [], '-j2', '--stall-timeout=1', @options);
	is(end_dump($run), 0, "silence when $what: exit code");
	like($run->{err}, qr/^pg_parbasebackup: warning: lost the connection of a worker; retry 1 of 5.*\n.*$silence(?s:.*)detail: The worker was reading file "/m,
		"silence when $what: a message");
	no_sessions_ok("silence when $what");
	stop_moments($moments);
	my $dir = $run->{dir};
	if ($options[0] && $options[0] eq '-Ft')
	{
		$dir = new_path('extracted');
		my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync');
		is("$rc$err", '0', "silence when $what: extracted");
	}
	verify_backup_ok($dir, "silence when $what");
}

# ---- the session that holds the backup

foreach my $try (
	[ 'it is begun', { pattern => 1, n => 1 } ],
	[ 'it is ended', { pattern => 2, n => 1 } ],
	[ 'the end is told', { pattern => 2, n => 1, answer => 1 } ])
{
	my ($what, $moment) = @$try;
	my ($moments, $run) = held_run($node, \@patterns, $what, $moment, [], '--stall-timeout=1');
	failed_ok($run, "silence when $what", $leader_silence);
	stop_moments($moments);
	is(slots_left($node), '', "silence when $what: no slot is left");
	no_sessions_ok("silence when $what");
}
{
	my $proxy = start_proxy($node, [ 1, 1000, 'stall' ]);
	failed_ok(by_proxy($proxy), 'silence when files are listed', $leader_silence);
	stop_proxy($proxy);
}
# no session can be asked
{
	my $proxy = start_proxy($node, [ 2, 100_000, 'stall' ]);
	local $ENV{PGCONNECT_TIMEOUT} = 2;
	my $run = by_proxy($proxy, '-X', 'none', '--retries=1');
	wait_in_run($run, 'a worker has read', sub {
		value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY (SELECT pardump%' AND wait_event_type = 'Client'}) });
	freeze_proxy($proxy);
	failed_ok($run, 'all is silent', qr/error: could not check a session that received no data for longer than --stall-timeout\n.*detail: Attempts to query the server over a new connection: \d+\.\n/);
	stop_proxy($proxy);
	no_sessions_ok('all is silent');
}

# ---- a server that takes its time: longer than the timeout in one statement

sub has_waited
{
	my ($run, $function) = @_;
	wait_in_run($run, "$function has taken long", sub {
		value($node, 'postgres', <<"SQL") });
SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT %$function(%'
AND application_name = 'pg_parbasebackup' AND state_change < clock_timestamp() - interval '3 s'
SQL
	return;
}

# the checkpoint takes a tenth of a second for each page, until another one hurries
# it; rows that long are not compressed
{
	sql($node, 'postgres', q{CREATE TABLE dirty AS SELECT repeat('x', 1900) AS t FROM generate_series(1, 4000)});
	my $run = start_run({ host => $node->host, port => $node->port }, [], '--stall-timeout=1', '-c', 'spread');
	has_waited($run, 'pg_backup_start');
	sql($node, 'postgres', 'CHECKPOINT');
	is(end_dump($run) . $run->{err}, '0', 'a checkpoint takes long, and the backup waits');
	verify_backup_ok($run->{dir}, 'a checkpoint takes long');
}
{
	my $run = start_run({ host => $node->host, port => $node->port }, [], '--stall-timeout=1', '-X', 'none');
	has_waited($run, 'pg_backup_stop');
	append_to_file($gate, '');
	is(end_dump($run), 0, 'the archive takes long, and the backup waits') or diag($run->{err});
	unlike($run->{err}, qr/stall-timeout|retry/, 'the archive takes long: no message about a lost connection');
	verify_backup_ok($run->{dir}, 'the archive takes long', '-n');
}

# ---- sessions that are idle, of which the server is told meanwhile to end such, are not
# ended: a worker's in a transaction, and without the extension not in one

foreach my $options ([], ['--no-extension'])
{
	my $what = "idle sessions, @$options";
	my $moments = start_moments($node, \@patterns, map { { pattern => 0, n => $_ } } 2, 3);
	my $run = start_run($moments, [], '-j1', @$options);
	my $wait = sub { wait_in_run($run, $what, sub { scalar(my @said = moment_held($moments)) }) };
	my @timeouts = qw(idle_session_timeout idle_in_transaction_session_timeout);
	my @psql = map { start_psql($node, 'postgres') } @timeouts;
	my $others = join ',', map { $_->('SELECT pg_backend_pid()') } @psql;
	$psql[1]->('BEGIN');
	$wait->();
	my @ours = backends($node);
	cmp_ok(scalar(@ours), '>=', 2, "$what: there are two or more");
	sql($node, 'postgres', "ALTER SYSTEM SET $_ = '200ms'") foreach @timeouts;
	$node->reload;
	# tried again where it is ended itself
	$node->poll_query_until('postgres', q{SELECT current_setting('idle_session_timeout') = '200ms'});
	# the test's own sessions may be slow to ask
	local $ENV{PGOPTIONS} = join ' ', map { "-c $_=0" } @timeouts;
	# a session learns of it with its next statement
	moment_go_on($moments);
	$wait->();
	$_->('SELECT 1') foreach @psql;
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ($others)"),
		"$what: the server ends others");
	is_deeply([ backends($node) ], \@ours, "$what: the backup's are there");
	moment_go_on($moments);
	is(end_dump($run) . $run->{err}, '0', "$what: exit code and messages");
	stop_moments($moments);
	sql($node, 'postgres', "ALTER SYSTEM RESET $_") foreach @timeouts;
	$node->reload;
	# they have lost their sessions
	eval { $_->() } foreach @psql;
	verify_backup_ok($run->{dir}, $what);
}

$node->stop;
done_testing();
