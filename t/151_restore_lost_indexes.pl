# Indexes whose builds lose their session, or their worker, in a restore and in a
# copy: each is there once, nothing is an error, and a build whose client is gone is
# waited for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run children backends terminate);
use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(start_copy sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(hold_gates close_gate open_gate at_gate wait_at_gate);
use Pardump::Restore qw(start_parrestore);
use Pardump::Stopper qw(start_stopper start_stopped stop_stopper cut);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('lost_indexes');
my $copies = 0;

make_database($node, 'gated', options => 'TEMPLATE template0');
sql($node, 'gated', q{
	CREATE TABLE waits (id int PRIMARY KEY, v text);
	INSERT INTO waits SELECT i, md5(i::text) FROM generate_series(1, 10) i;
	CREATE INDEX waits_before ON waits (v);
	CREATE INDEX waits_gate ON waits (v, id);
	CREATE INDEX waits_later ON waits (id, v)});
my $data = fingerprint($node, 'gated');
my $schema = schema_text($node, 'gated');
my $archive = new_path('archive');
run_program('pg_dump', '-Fc', '-f', $archive, '-d', $node->connstr('gated'));

# Starts a restore, or a copy, into a new database.  One of its indexes waits at
# the gate, before it commits.
sub start_until_gate
{
	my ($is_copy, @options) = @_;
	my $db = empty_copy($node, 'gated', 'copy' . ++$copies);
	sql($node, $db, q{CREATE FUNCTION gate() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			IF pg_catalog.current_query() LIKE '%CREATE INDEX waits_gate %' THEN
				PERFORM pg_catalog.pg_advisory_xact_lock_shared(7);
			END IF; END$$;
		CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION gate()});
	hold_gates($node, $db);
	close_gate(7);
	my $run = $is_copy ? start_copy($node, 'gated', $node->connstr($db), @options)
	  : start_parrestore($node, $db, $archive, @options);
	wait_at_gate($node, $run, 1);
	return ($db, $run);
}

# The index builder, and its child, the worker that builds.
sub builder_of
{
	my ($run) = @_;
	foreach my $builder (children($run->{pid}))
	{
		my ($pid) = children($builder);
		return ($builder, $pid) if defined $pid;
	}
	die 'no worker that builds indexes';
}

sub worker_of { return (builder_of(@_))[1]; }

sub complete_ok
{
	my ($db, $run, $what) = @_;
	is(end_dump($run), 0, "$what: exit code");
	unlike($run->{err}, qr/error: /, "$what: no error");
	sql($node, $db, 'DROP EVENT TRIGGER IF EXISTS gate; DROP FUNCTION IF EXISTS gate()');
	same_database_ok($node, $db, $data, $schema, $what);
	is(sessions_left($node), 0, "$what: no session left");
	return;
}

sub wait_for_retry
{
	my ($run, $how) = @_;
	wait_in_run($run, 'a retry',
		sub { $run->{err} =~ /warning: $how; retry 1 of 5 in 0\.5 s\n\S+ detail: .*\n\S+ detail: The worker was building \w+ public\.waits/s });
	return;
}

foreach my $is_copy (0, 1)
{
	my $what = $is_copy ? 'copy' : 'restore';
	{
		my ($db, $run) = start_until_gate($is_copy, '-j2');
		terminate($node, at_gate($node));
		wait_for_retry($run, 'lost the connection of a worker');
		wait_at_gate($node, $run, 1);
		open_gate();
		complete_ok($db, $run, "$what, a session");
	}
	{
		my ($db, $run) = start_until_gate($is_copy, '-j2', '--index-jobs=1');
		kill KILL => worker_of($run);
		wait_for_retry($run, 'a worker process was killed');
		wait_in_run($run, 'the next worker waits for the build of the one before', sub {
			value($node, $db, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_pardump'
				AND wait_event_type = 'Lock' AND wait_event <> 'advisory'}) });
		is(scalar(at_gate($node)), 1, "$what, a worker: no other one builds the index");
		open_gate();
		complete_ok($db, $run, "$what, a worker");
	}
}

# without a retry left the restore ends, and can be resumed
{
	my ($db, $run) = start_until_gate(0, '--retries=0');
	terminate($node, at_gate($node));
	is(end_dump($run), 1, 'no retry: exit code');
	like($run->{err}, qr/error: query failed: FATAL:  terminating/,
		'no retry: message');
	unlike($run->{err}, qr/errors ignored/, 'no retry: nothing is passed over');
	open_gate();
	complete_ok($db, start_parrestore($node, $db, $archive, '--resume'), 'no retry, resumed');
}

# nor is anything passed over when the builder itself is gone
{
	my ($db, $run) = start_until_gate(0);
	kill KILL => builder_of($run);
	is(end_dump($run), 1, 'the builder is killed: exit code');
	like($run->{err}, qr/error: the process that builds indexes was terminated by signal 9.*\n.*: could not build \d of 4 indexes and constraints/,
		'the builder is killed: message');
	like($run->{err}, qr/hint: .* the same command with --resume\.\n/, 'the builder is killed: hint');
	unlike($run->{err}, qr/errors ignored/, 'the builder is killed: nothing is passed over');
	open_gate();
	complete_ok($db, start_parrestore($node, $db, $archive, '--resume'), 'the builder is killed, resumed');
}

# the server continues an index of a run that was killed
{
	my ($db, $run) = start_until_gate(0, '--index-jobs=1');
	my @all = (worker_of($run), children($run->{pid}), $run->{pid});
	kill KILL => @all;
	end_dump($run);
	my $next = start_parrestore($node, $db, $archive, '--resume');
	wait_until('it waits for that', sub { $next->{h}->pump_nb;
		value($node, $db, q{SELECT count(*) FROM pg_stat_activity
			WHERE application_name LIKE 'pg_pardump%' AND wait_event_type = 'Lock' AND wait_event <> 'advisory'}) });
	is(scalar(at_gate($node)), 1, 'killed: one builds the index');
	open_gate();
	complete_ok($db, $next, 'killed, resumed');
}

# while statistics are collected, when all is there, a worker is killed, or all
# sessions are lost, the leader's too
foreach my $how ('a worker process was killed', 'lost the connection of a worker')
{
	my $db = empty_copy($node, 'gated', 'copy' . ++$copies);
	my $stopper = start_stopper($node, qr/ANALYZE /, 'said');
	my $run = start_stopped($stopper, $db, $archive);
	if ($how =~ /killed/) { kill KILL => children($run->{pid}); }
	else { terminate($node, backends($node)); }
	cut($stopper);
	complete_ok($db, $run, "ANALYZE, $how");
	like($run->{err}, qr/warning: $how; retry 1 of 5.*detail: The worker was analyzing table [^\n]*waits\./s, "ANALYZE, $how: retry");
	stop_stopper($stopper);
	is(value($node, $db, q{SELECT reltuples FROM pg_class WHERE relname = 'waits'}), 10, "ANALYZE, $how: done");
}

$node->stop;
done_testing();
