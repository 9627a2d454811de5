# The session that has a restore's lock is lost in silence: nothing comes any more
# from the server, which has not noticed, and holds the lock.  The leader has it
# again, from a session that the server ends at its word, or when it ends by itself.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl qw(O_CREAT O_EXCL);
use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster make_database dump_ok new_path sql value);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(start_load sessions_left);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::Tasks qw(restore_runner all_tasks);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = start_cluster('restore_lost_lock');
sql($node, 'postgres', 'CREATE ROLE keeper LOGIN');
make_database($node, 'lost', options => 'TEMPLATE template0 OWNER keeper');
sql($node, 'lost', <<'SQL');
SET ROLE keeper;
CREATE SCHEMA s;
CREATE TABLE s.t AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX ON s.t (t);
SQL
my $data = fingerprint($node, 'lost');
my $schema = schema_text($node, 'lost');
my $archive = dump_ok($node, 'lost', 'archive', 'pg_pardump', '--max-table-segment-pages=20');

# A relay in which the first connection that has the lock passes nothing on any
# more once its client asks whether the server is there, while the file "$silence" is.
sub start_silence
{
	my ($silence) = @_;
	append_to_file($silence, '');
	my $has_lock;
	return start_relay($node, sub {
		my ($bytes, $is_server) = @_;
		return 1 if $is_server;
		if ($has_lock && $$bytes =~ /SELECT 1\0/ && sysopen my $mark, "$silence.was", O_CREAT | O_EXCL)
		{
			sleep 0.05 while -e $silence;
		}
		$has_lock = 1 if $$bytes =~ /LOCK TABLE pardump_restore\.running/;
		return 1;
	});
}

# A restore of that database as that role, whose sessions pass by the relay.
sub begin_restore
{
	my ($db, $relay, @options) = @_;
	return start_load('pg_parrestore', '-d', "host=$relay->{host} port=$relay->{port} dbname=$db user=keeper",
		@options, $archive);
}

sub restored_ok
{
	my ($run, $db, $what, $words) = @_;
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, $words, "$what: what it says");
	same_database_ok($node, $db, $data, $schema, $what);
	return;
}

# Both at the same time: what they wait for are quarters of a minute.  The tasks
# are at work until the leader has its lock again.  Workers have done all when it
# looks; there it may not end its session, which ends when its client is heard to
# be gone.

my $silence = new_path('silence');
my $other = new_path('other');
my $go = new_path('go');
make_database($node, $_, options => 'TEMPLATE template0 OWNER keeper') foreach 'by_tasks', 'by_workers';
sql($node, 'by_workers', 'REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC');
my @relays = map { start_silence($_) } $silence, $other;
my $tasks = begin_restore('by_tasks', $relays[0], '--tasks=2',
	restore_runner("while [ ! -e '$go' ]; do sleep 0.05; done\n" . all_tasks()));
my $locks = q{SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
	WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted AND datname = 'by_tasks'};
my $old;
wait_in_run($tasks, 'the leader has its lock', sub { return $old = value($node, 'postgres', $locks) });
my $workers = begin_restore('by_workers', $relays[1], '-j2');

wait_in_run($tasks, 'the leader has its lock again', sub {
	my $new = value($node, 'postgres', $locks);
	return $new ne '' && $new ne $old;
});
append_to_file($go, '');
restored_ok($tasks, 'by_tasks', 'tasks', qr/^$/);
wait_in_run($workers, 'the leader tries again', sub { return $workers->{err} =~ /retry 1 of 5/ });
unlink $other, $silence;
# as it was
sql($node, 'by_workers', 'GRANT EXECUTE ON FUNCTION pg_terminate_backend TO PUBLIC');
restored_ok($workers, 'by_workers', 'workers',
	qr/\A(?:\S+ warning: the leader lost its connection to the target: The lock of the session that was lost is held yet, by that or by another run\.; retry [12] of 5\n)+\z/);
stop_proxy($_) foreach @relays;
is(sessions_left($node), 0, 'no session left');

done_testing();
