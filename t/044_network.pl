# The network between a dump and its server cuts, resets, or stalls connections
# (a proxy does, after a number of bytes): the dump connects again, or says why
# it cannot; and it keeps below the rate it is told.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IO::Select;
use Pardump::Background qw(start_dump end_dump dump_failed_ok nothing_remains_ok
  wait_until children sessions terminate wait_in_run);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  start_psql tier);
use Pardump::Copy qw(start_load);
use Pardump::Gate qw(open_gate);
use Pardump::GatedDump qw(make_gated stuck_dump survived_ok leader_backend);
use Pardump::Proxy qw(start_proxy start_relay stop_proxy freeze_proxy);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_cluster('network');
make_gated($node);

sub by_proxy
{
	my ($proxy) = @_;
	return "host=127.0.0.1 port=$proxy->{port} dbname=gated sslmode=disable gssencmode=disable";
}

# No session waits at the gates here.
sub dump_by_proxy
{
	my ($proxy, @options) = @_;
	return start_dump(by_proxy($proxy), '-j2', '-Z0', @options);
}

sub network_ok
{
	my ($what, $rules, $warnings, @options) = @_;
	my $proxy = start_proxy($node, @$rules);
	# a stalled connection is open on its other side for as long as the proxy lives
	survived_ok(dump_by_proxy($proxy, '--max-table-segment-pages=20', @options), $what, $warnings,
		sub { stop_proxy($proxy) });
	return;
}

# The same, but that both workers wait in a chunk until each has one: otherwise
# one of them could be done before the other has got as far as the rules say,
# which is less than a chunk.
sub both_busy_ok
{
	my ($what, $rules, $warnings, $afterwards, @options) = @_;
	my $proxy = start_proxy($node, @$rules);
	my $dump = stuck_dump(42, 2, '-d', by_proxy($proxy), '-Z0', @options);
	open_gate();
	survived_ok($dump, $what, $warnings, sub { $afterwards->() if $afterwards; stop_proxy($proxy) });
	return;
}

my $lost = qr/warning: lost the connection of a worker; retry 1 of 5/;
my $closed = qr/server closed the connection unexpectedly|could not (receive data from|send data to) server|Connection reset/;

network_ok('a proxy that does nothing', [], qr/^$/);
both_busy_ok('a worker is cut off', [ [ 1, 100_000, 'cut' ] ], qr/$lost.*$closed/s);
both_busy_ok('a worker is reset', [ [ 2, 100_000, 'reset' ] ], qr/$lost.*$closed/s);
network_ok('a worker is cut off when it connects', [ [ 1, 1, 'cut' ] ],
	qr/warning: a connection was lost or could not be opened; retry 1 of 5/);
both_busy_ok('both are cut off', [ [ 1, 100_000, 'cut' ], [ 2, 120_000, 'cut' ] ],
	qr/($lost.*$closed.*){2}/s);
both_busy_ok('the same again and again', [ map { [ $_, 100_000, 'reset' ] } 2 .. 4 ],
	qr/($lost.*$closed.*)/s);
my $silence = qr/detail: Received no data from the server for longer than --stall-timeout/;
both_busy_ok('a worker stalls', [ [ 1, 100_000, 'stall' ] ], qr/$lost.*$silence/s,
	sub { wait_until('its backend is gone, though its connection is open', sub { !sessions($node) }) },
	'--stall-timeout=1');
network_ok('a worker stalls when it connects', [ [ 2, 1, 'stall' ] ],
	qr/warning: a connection was lost or could not be opened; retry 1 of 5.*$silence/s, '--stall-timeout=1');

# ---- a slow network is not silent, however long a row or a statement's result is

{
	make_database($node, 'slow');
	sql($node, 'slow', <<'SQL');
CREATE TABLE wide AS SELECT repeat('x', 5000000) AS t;
SELECT lo_from_bytea(0, convert_to(repeat('x', 4000000), 'UTF8'));
SQL
	my $proxy = start_proxy($node, map { [ $_, 1, 'slow' ] } 1, 2);
	my $dump = start_dump(by_proxy($proxy) =~ s/gated/slow/r, '-j2', '-Z0', '--stall-timeout=3');
	is(end_dump($dump) . $dump->{err}, '0', 'a slow network: exit code and messages');
	is_deeply([ sort { $a <=> $b } map { -s } grep { !/toc/ } glob "$dump->{dir}/*.dat" ],
		[ 4000000, 5000000 + length "\n\\.\n\n\n" ], 'a slow network: sizes of the data files');
	stop_proxy($proxy);
}

# ---- the leader stalls: while it plans, all sessions do, and in the midst of
# replacing its session

sub leader_failed_ok
{
	my ($dump, $proxy, $what) = @_;
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, qr/^pg_pardump: error: received no data from the server for longer than --stall-timeout, .*\n$/,
		"$what: message");
	ok(!-e $dump->{dir}, "$what: the directory is removed");
	stop_proxy($proxy);
	return;
}

{
	my $proxy = start_proxy($node, [ 0, 4000, 'stall' ]);
	leader_failed_ok(my $dump = dump_by_proxy($proxy, '--stall-timeout=1'), $proxy,
		'the leader stalls');
	nothing_remains_ok($node, $dump->{dir}, 'the leader stalls');
}
{
	my $locker = start_psql($node, 'gated');
	$locker->('BEGIN; LOCK TABLE pg_largeobject');
	my $proxy = start_proxy($node);
	local $ENV{PGCONNECT_TIMEOUT} = 2;
	my $dump = dump_by_proxy($proxy, '--stall-timeout=1', '--retries=1');
	my $waits = "application_name = 'pg_pardump' AND wait_event = 'relation'";
	wait_in_run($dump, 'the leader has waited for a lock, and asked', sub {
		sessions($node, "$waits AND state_change < clock_timestamp() - interval '4 s'") });
	freeze_proxy($proxy);
	leader_failed_ok($dump, $proxy, 'all is silent');
	$locker->('ROLLBACK');
	nothing_remains_ok($node, $dump->{dir}, 'all is silent');
}
foreach my $action ('stall', 'cut')
{
	# the sessions of workers are 1 and 2
	my $proxy = start_proxy($node, [ 4, 800, $action ]);
	my @timeout = $action eq 'stall' ? '--stall-timeout=2' : ();
	my $dump = stuck_dump(42, 2, '-d', by_proxy($proxy), @timeout);
	terminate($node, leader_backend());
	wait_in_run($dump, 'the leader tries again', sub { $dump->{err} =~ /retry 2 of 5/ });
	open_gate();
	my $cause = $action eq 'stall' ? qr/Received no data from the server/ : $closed;
	survived_ok($dump, "$action while the leader's session is replaced",
		qr/lost the connection that held.*retry 1 of 5.*lost the connection that held.*retry 2 of 5.*\n.*$cause/s,
		sub { stop_proxy($proxy) });
}

# ---- the server is silent when it is asked whether there is a pooler, before any
# other statement; below the highest tier, each program meets one of these statements

my @tasks = (
	[ qr/set_config\('pardump\.session'/, 'a dump', 'a check' ],
	[ qr/SHOW pardump\.session/, 'a copy' ],
	[ qr/set_config\('search_path'/, 'a base backup' ]);
foreach my $row (@tasks)
{
	my ($statement, @whats) = @$row;
	my $relay = start_relay($node, sub {
		my ($bytes, $is_server, $client) = @_;
		return 1 if $is_server || $$bytes !~ $statement;
		# until the client closes its end
		IO::Select->new($client)->can_read;
		return 0;
	});
	my $through = "host=$relay->{host} port=$relay->{port} dbname=gated";
	my %runs = (
		'a dump' => [ 'pg_pardump', '-f', new_path('silent'), '-d', $through ],
		'a check' => [ 'pg_pardump', '--check', '-d', $through ],
		'a copy' => [ 'pg_pardump', '-d', $node->connstr('gated'), "--target=$through" ],
		'a base backup' => [ 'pg_parbasebackup', '-D', new_path('silent'), '-d', $through ]);
	foreach my $what (tier() == 3 ? sort keys %runs : @whats)
	{
		my $run = start_load(@{ $runs{$what} }, '--stall-timeout=1');
		is(end_dump($run), 1, "$what, silence at $statement: exit code");
		like($what eq 'a check' ? $run->{out} : $run->{err},
			qr/\A(pg_\w+: )?error: the server at "\Q$relay->{host}\E", port $relay->{port}, did not respond within 1 s\n.*detail: /i,
			"$what, silence at $statement: message");
	}
	stop_proxy($relay);
}

# ---- it never comes through

{
	my $proxy = start_proxy($node, map { [ $_, 50_000, 'cut' ] } 1 .. 50);
	dump_failed_ok($node, dump_by_proxy($proxy, '--retries=2', '--no-chunks', '-t', 'gated'),
		'a network that never carries a whole table',
		qr/retry 1 of 2.*retry 2 of 2.*error: could not read rows: .*detail: The worker was dumping table public\.gated\.\n.*tried 3 times/s);
	stop_proxy($proxy);
}

# ---- nothing passes any more: signals still end the run

sub writing_dump
{
	my ($proxy) = @_;
	my $dump = dump_by_proxy($proxy, '-r', '256k', '--max-table-segment-pages=20');
	wait_in_run($dump, 'the workers write', sub { 2 <= grep { -s } glob "$dump->{dir}/*.dat" });
	return $dump;
}

sub interrupted_ok
{
	my ($dump, $proxy, $signal, $what, $afterwards) = @_;
	kill $signal => $dump->{pid};
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, qr/^pg_pardump: error: terminated by user\npg_pardump: detail: .*\n$/,
		"$what: message");
	ok(!-e $dump->{dir}, "$what: the directory is removed");
	# the server learns of it when the proxy is gone
	stop_proxy($proxy);
	$afterwards->() if $afterwards;
	nothing_remains_ok($node, $dump->{dir}, $what);
	return;
}

{
	my $proxy = start_proxy($node);
	my $dump = writing_dump($proxy);
	freeze_proxy($proxy);
	interrupted_ok($dump, $proxy, 'INT', 'interrupted while workers wait');
}
# the leader waits for a lock, in the midst of its plan; it cannot cancel that, or
# gets no answer when it has
foreach my $what ('network', 'backend')
{
	my $locker = start_psql($node, 'gated');
	$locker->('BEGIN; LOCK TABLE pg_largeobject');
	my $proxy = start_proxy($node);
	my $dump = dump_by_proxy($proxy);
	my $waiting = "application_name = 'pg_pardump' AND wait_event = 'relation'";
	wait_in_run($dump, 'the leader waits', sub { sessions($node, $waiting) });
	my $backend = leader_backend();
	$what eq 'network' ? freeze_proxy($proxy) : kill STOP => $backend;
	interrupted_ok($dump, $proxy, 'TERM', "terminated while the leader waits for its $what", sub {
		kill CONT => $backend; $locker->('ROLLBACK') });
}
{
	my $proxy = start_proxy($node);
	my $dump = writing_dump($proxy);
	my @workers = children($dump->{pid});
	freeze_proxy($proxy);
	kill KILL => $dump->{pid};
	is(end_dump($dump), 137, 'the leader is killed: exit code');
	wait_until('the workers are gone', sub { !grep { kill 0 => $_ } @workers });
	stop_proxy($proxy);
	nothing_remains_ok($node, $dump->{dir}, 'the leader is killed');
}

# ---- the rate: 2 MB at 1 MB/s cannot take less than two seconds, on any
# machine

my $chunks = '--max-table-segment-pages=20';
foreach my $options ([$chunks], ['--no-chunks'], [ $chunks, '-Z', 'server-gzip' ])
{
	my $how = "@$options";
	sql($node, 'gated', 'CREATE EXTENSION IF NOT EXISTS pg_pardump') if $how =~ /server/;
	my $dir = new_path('rate');
	my $begin = time;
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $dir, '--no-sync', '-j2',
		'-Z0', '-r', $how =~ /server/ ? '64k' : '512',
		@$options, '-d', $node->connstr('gated'));
	my $took = time - $begin;
	is("$rc$err", '0', "--max-rate, $how: a dump");
	my $bytes = 0;
	$bytes += -s $_ foreach glob "$dir/*.dat*";
	my $least = $bytes / ($how =~ /server/ ? 65536 : 524288);
	# each worker may have some bytes that it has not accounted for yet
	cmp_ok($took, '>=', 0.9 * $least - 0.5, "--max-rate, $how: $bytes bytes not too fast");
}

$node->stop;
done_testing();
