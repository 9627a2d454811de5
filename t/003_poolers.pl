# Connections through PgBouncer: a pool of sessions works, and other pools are
# refused before anything is read, written or set in a session of the pool.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Command qw(fake_pg_dump);
use PostgreSQL::Test::Utils;
use Test::More;

use constant POOL_SIZE => 6;

# It is a service of the system's, and so not in everybody's PATH.
my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' if !defined $pgbouncer;

my $node = start_cluster('pooled');
make_database($node, 'app');
make_database($node, $_) foreach qw(copied restored);
sql($node, 'app', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE numbers (id int PRIMARY KEY, n float8);
INSERT INTO numbers SELECT i, sqrt(i) / 54321 FROM generate_series(1, 20000) i;
SQL
sql($node, 'copied', 'CREATE TABLE numbers (id int PRIMARY KEY, n float8)');
my $sum = "SELECT count(*), md5(string_agg(n::text, ' ' ORDER BY id)) FROM numbers";
my $expected = value($node, 'app', $sum);
my $archive = new_path('archive');
is((run_program('pg_dump', '-Fd', '-f', $archive, '-d', $node->connstr('app')))[0], 0, 'a dump without a pooler');

# ---- a pooler for the cluster, whose clients are all the superuser

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = 6432;
my $pooler;

sub configure
{
	my (%settings) = @_;
	open my $fh, '>', "$dir/pgbouncer.ini" or die "could not write \"$dir/pgbouncer.ini\": $!";
	printf $fh "[databases]\n* = host=%s port=%d user=%s\n[pgbouncer]\n", $node->host, $node->port, value($node, 'postgres', 'SELECT CURRENT_USER');
	my %all = (
		listen_addr => '',
		listen_port => $port,
		unix_socket_dir => $dir,
		auth_type => 'any',
		admin_users => 'admin',
		ignore_startup_parameters => 'extra_float_digits,options',
		logfile => "$dir/log",
		default_pool_size => POOL_SIZE,
		server_reset_query => '',
		%settings);
	print $fh "$_ = $all{$_}\n" foreach sort keys %all;
	close $fh or die "could not write \"$dir/pgbouncer.ini\": $!";
	return;
}

sub start_pooler
{
	configure(@_);
	$pooler = IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', \'', '>', \my $out, '2>', \my $err);
	wait_until('the pooler is there', sub { -S "$dir/.s.PGSQL.$port" });
	return;
}

sub stop_pooler
{
	$pooler->signal('TERM');
	$pooler->finish;
	unlink "$dir/.s.PGSQL.$port";
	return;
}

END { $pooler->kill_kill if $pooler && eval { $pooler->pumpable } }

sub through { return "host=$dir port=$port dbname=$_[0]" }

# A client of the pooler: returns a function as start_psql() does.
sub client
{
	my ($db) = @_;
	my ($in, $out) = ('', '');
	my $h = IPC::Run::start([ 'psql', '-XqAt', '-d', through($db) ], '<', \$in, '>', \$out, '2>&1',
		my $timer = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return sub {
		my ($statement) = @_;
		$timer->start;
		if (!defined $statement)
		{
			$in .= "\\q\n";
			return $h->finish;
		}
		$out = '';
		$in .= "$statement;\n\\echo -done-\n";
		$h->pump until $out =~ /^-done-$/m;
		return $out =~ s/\n?-done-\n//r;
	};
}

# What sessions of the pool have set, as its next clients find it.
sub left_in_pool
{
	my ($db) = @_;
	my @clients = map { client($db) } 1 .. POOL_SIZE;
	my %left;
	foreach my $client (@clients)
	{
		$left{$_} = 1 foreach split /\n/, $client->(<<'SQL');
BEGIN; SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN
('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle', 'standard_conforming_strings')
-- SET TRANSACTION leaves its name as the source, but each transaction begins with the default
AND NOT (name IN ('transaction_isolation', 'transaction_read_only') AND setting = current_setting('default_' || name))
UNION ALL SELECT 'role' WHERE CURRENT_USER <> SESSION_USER
UNION ALL SELECT 'lock' FROM pg_locks WHERE locktype = 'advisory'
SQL
	}
	$_->('COMMIT') foreach @clients;
	$_->() foreach @clients;
	return join ' ', sort keys %left;
}

# What no stock program sets.
sub ours { return join ' ', grep { /^(jit|enable_tidscan|gin_fuzzy_search_limit|constraint_exclusion|client_connection_check_interval|array_nulls|session_replication_role|role|lock|pg_pardump.*)$/ } split / /, $_[0] }

# ---- pools of transactions and of statements

my $new = new_path('refused');
my %runs = (
	'a dump' => [ 'pg_pardump', '-j2', '-f', $new, '-d', through('app') ],
	'a dump of all databases' => [ 'pg_pardump', '--all-databases', '-f', $new, '-d', through('postgres') ],
	'a check' => [ 'pg_pardump', '--check', '-d', through('app') ],
	'a copy from' => [ 'pg_pardump', '-j2', '--target=' . $node->connstr('restored'), '-d', through('app') ],
	'a copy to' => [
		'pg_pardump', '-j2', '--data-only', '--disable-triggers', '--target=' . through('copied'), '-d', $node->connstr('app')
	],
	'a comparison' => [ 'pg_pardump', '--compare-with=' . through('copied'), '-d', $node->connstr('app') ],
	'a restore' => [ 'pg_parrestore', '-j2', '--disable-triggers', '-d', through('restored'), $archive ],
	'a check of a restore' => [ 'pg_parrestore', '--check', '-d', through('restored'), $archive ],
	'a base backup' => [ 'pg_parbasebackup', '-D', $new, '-d', through('postgres') ]);

my @pools = (
	[ 'transactions', pool_mode => 'transaction' ],
	[ 'transactions, in turn', pool_mode => 'transaction', server_round_robin => 1 ],
	[ 'transactions, each reset', pool_mode => 'transaction', server_reset_query => 'DISCARD ALL', server_reset_query_always => 1 ],
	[ 'statements', pool_mode => 'statement' ]);

sub refuse
{
	my ($pool, @names) = @_;
	foreach my $run (@names)
	{
		my ($rc, $out, $err) = run_program(@{ $runs{$run} });
		is($rc, 1, "$pool: $run is refused");
		like($run =~ /check/ ? $out : $err, qr/error: the connection pooler at "\Q$dir\E", port $port, does not keep one server session for each client\n.*detail: .*\n.*hint: Connect to the server directly/i,
			"$pool: $run: message");
		ok(!-e $new, "$pool: $run leaves no directory");
	}
	return;
}

foreach my $pool (@pools)
{
	my ($name, @settings) = @$pool;
	start_pooler(@settings);
	refuse($name, sort keys %runs);
	if ($name !~ /statements/)
	{
		# others have a session of each pool, and one is between transactions
		my @others = map { client($_) } qw(app copied restored postgres) x 2;
		$_->('BEGIN; SELECT 1') foreach @others;
		$others[$_]->('COMMIT') foreach 0 .. 3;
		refuse("$name, other clients", 'a dump', 'a copy to', 'a restore');
		$_->() foreach @others;
		is(left_in_pool($_), '', "$name, other clients: nothing is left in sessions of $_") foreach qw(app copied restored postgres);
	}
	stop_pooler();
}
is(value($node, 'copied', 'SELECT count(*) FROM numbers'), 0, 'no row was copied');
is(value($node, 'restored', "SELECT to_regclass('numbers') IS NULL"), 't', 'no table was made');

# ---- a pool that becomes one of transactions after the probe

# of several idle sessions, each transaction of the one worker gets another one then
start_pooler(pool_mode => 'session', server_round_robin => 1);
my @clients = map { client('app') } 2 .. POOL_SIZE;
$_->('SELECT 1') foreach @clients;
$_->() foreach @clients;
my $admin = "psql -XqAt -d 'host=$dir port=$port dbname=pgbouncer user=admin'";
my $fake = fake_pg_dump('pg_dump_after_change', <<"SH");
$admin -c "SET pool_mode = 'transaction'" >/dev/null || exit 1
exec "\$PG_DUMP" "\$@"
SH
my ($rc, undef, $err) = run_program('pg_pardump', '-j1', "--pg-dump=$fake", '-f', $new, '-d', through('app'));
is($rc, 1, 'a pool that changes is refused');
# PgBouncer 1.26 may end pg_dump's own session by the change
like($err, qr/error: the connection pooler .*\n.*detail: .*the setting pardump\.session|^pg_dump: error: .*FATAL:  invalid server parameter/im,
	'a pool that changes: message');
ok(!-e $new, 'a pool that changes: no directory left');
stop_pooler();

# ---- a pool of sessions works, and has no setting of ours afterwards

start_pooler(pool_mode => 'session');
my $dump = new_path('dump');
($rc, undef, $err) = run_program('pg_pardump', '-j2', '--max-table-segment-pages=10', '-f', $dump, '-d', through('app'));
is("$rc$err", '0', 'a pool of sessions: a dump');
is(ours(left_in_pool('app')), '', 'a pool of sessions: the dump leaves nothing');
($rc, undef, $err) = run_program('pg_pardump', '-j2', '--data-only', '--disable-triggers',
	'--target=' . through('copied'), '-d', through('app'));
is($rc, 0, 'a pool of sessions: a copy') or diag($err);
is(ours(left_in_pool('app')), '', 'a pool of sessions: the copy leaves nothing at the source');
is(ours(left_in_pool('copied')), '', 'a pool of sessions: the copy leaves nothing at the target');
is(value($node, 'copied', $sum), $expected, 'a pool of sessions: the same values are copied');
($rc, undef, $err) = run_program('pg_parrestore', '-j2', '--disable-triggers', '-d', through('restored'), $dump);
is("$rc$err", '0', 'a pool of sessions: a restore');
is(ours(left_in_pool('restored')), '', 'a pool of sessions: the restore leaves nothing');
is(value($node, 'restored', $sum), $expected, 'a pool of sessions: the same values are restored');
($rc, undef, $err) = run_program('pg_pardump', '--check', '-d', through('app'));
is($rc, 0, 'a pool of sessions: --check') or diag($err);
stop_pooler();

done_testing();
