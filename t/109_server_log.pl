# A run that succeeds leaves no warning or error in the log of any server, and no message
# about a lost connection: people who watch the log should see only what is wrong.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster start_standby make_database has_extension run_program new_path sql value tier);
use Pardump::Copy qw(temp_dir no_temp_files_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('source', allows_streaming => 1);
my $target = start_cluster('target');
is(has_extension($source), 1, 'the extension is installed');
my @nodes = ($source, $target);
sql($_, 'postgres', 'CREATE ROLE app LOGIN CREATEDB') foreach @nodes;

# The larger one has more in each table, and in its large objects, than pipes and
# connections hold.
my %rows = (small => 10, large => 5000);
foreach my $db (sort keys %rows)
{
	make_database($source, $db, options => 'OWNER app');
	sql($source, $db, <<"SQL");
SET ROLE app;
CREATE TABLE first (id int PRIMARY KEY, t text);
INSERT INTO first SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, $rows{$db}) g;
CREATE TABLE second (id serial PRIMARY KEY, first int REFERENCES first, t text);
INSERT INTO second (first, t) SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, $rows{$db}) g;
CREATE INDEX ON second (first);
CREATE TABLE parts (id int, t text) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (1000000);
INSERT INTO parts SELECT g, repeat('x', 100) FROM generate_series(1, $rows{$db}) g;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM first;
SELECT count(lo_from_bytea(0, repeat(md5(g::text), 3 * $rows{$db})::bytea)) FROM generate_series(1, 3) g;
ANALYZE;
SQL
}
make_database($source, 'only_large_objects', options => 'OWNER app');
sql($source, 'only_large_objects', 'SET ROLE app; SELECT count(lo_from_bytea(0, repeat(md5(g::text), 20000)::bytea)) FROM generate_series(1, 5) g');
make_database($source, 'empty', options => 'OWNER app');
my $standby = start_standby($source);
push @nodes, $standby;

# Messages of these levels, and those about a lost connection, which are of a lower one.
my $noise = qr/\b(?:WARNING|ERROR|FATAL|PANIC):  |could not (?:send|receive) data|unexpected EOF|connection to client lost|connection reset/i;
my %seen;

sub complaints
{
	my @found;
	foreach my $node (@nodes)
	{
		# what ends a session is logged before the session is gone
		$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND application_name ~ '^(pg_par|pg_dump|pg_restore|psql)' AND pid NOT IN
				(SELECT pid FROM pg_stat_replication)})
		  or die 'sessions are left: ' . value($node, 'postgres', 'SELECT string_agg(a::text, E\'\\n\') FROM pg_stat_activity a');
		my $log = slurp_file($node->logfile, $seen{ $node->name } // 0);
		$seen{ $node->name } = -s $node->logfile;
		push @found, map { $node->name . ": $_" } grep { /$noise/ } split /\n/, $log;
	}
	return @found;
}

# Runs a program, which must succeed and leave nothing in the logs.
sub quiet_ok
{
	my ($what, @command) = @_;
	local $ENV{TMPDIR} = temp_dir();
	my ($rc, undef, $err) = run_program(@command);
	is($rc, 0, "$what: exit code") or diag($err);
	is(join("\n", complaints()), '', "$what: nothing in the logs");
	no_temp_files_ok($what);
	return;
}

# An empty database for a role on the target.
my $made = 0;

sub new_database
{
	my ($owner) = @_;
	my $db = 'new' . ++$made;
	make_database($target, $db, options => 'TEMPLATE template0' . ($owner ? " OWNER $owner" : ''));
	return $db;
}

# ---- control: what must not be there is seen

foreach my $node (@nodes)
{
	is($node->name . ' ' . value($node, 'postgres', 'SHOW log_min_messages'), $node->name . ' warning', 'the default of log_min_messages');
}
complaints();
# PostgreSQL::Test::Utils names all sessions alike
delete $ENV{PGAPPNAME};
run_program('psql', '-Xq', '-d', $source->connstr('small'), '-c', 'SELECT 1/0');
is(scalar(grep { /^source: .*ERROR:  division by zero/ } complaints()), 1, 'control: an error is seen');
run_program('psql', '-Xq', '-d', $source->connstr('small'), '-c', 'BEGIN', '-c', '\! kill -KILL $PPID');
is(scalar(grep { /^source: .*unexpected EOF on client connection/ } complaints()), 1, 'control: a lost connection is seen');

# ---- one database, as a superuser and as an ordinary role; below the highest tier, all runs
# of the large one, and of each other only what transfers rows, by one of the roles

my $all = tier() == 3;

sub database_is_quiet
{
	my ($node, $db, $role, $what, $transfers_only) = @_;
	my $user = $role ? " user=$role" : '';
	my @from = ('-d', $node->connstr($db) . $user);
	my $into = sub { return $target->connstr(new_database($role)) . $user; };
	my %dir = map { $_ => new_path($_) } qw(first second one);

	my ($copy, $restored) = ($into->(), $into->());
	quiet_ok("$what, a dump", 'pg_pardump', @from, '-j2', '--manifest-fingerprints', '-f', $dir{first});
	quiet_ok("$what, an incremental dump", 'pg_pardump', @from, '-j2', "--incremental=$dir{first}", '-f', $dir{second});
	if (!$transfers_only)
	{
		quiet_ok("$what, a dump by one worker", 'pg_pardump', @from, '-j1', '-f', $dir{one});
		quiet_ok("$what, $_", 'pg_pardump', @from, $_, '-f', new_path('none')) foreach '--check', '--dry-run';
		quiet_ok("$what, --check of a copy", 'pg_pardump', @from, '--check', "--target=$copy");
		quiet_ok("$what, --check of a restore", 'pg_parrestore', '--check', '-d', $restored, $dir{second});
	}
	quiet_ok("$what, a copy", 'pg_pardump', @from, '-j2', '--compare', "--target=$copy");
	quiet_ok("$what, a restore", 'pg_parrestore', '-j2', '-d', $restored, $dir{second});
	return if $transfers_only;
	quiet_ok("$what, a comparison with the copy", 'pg_pardump', @from, '-j2', "--compare-with=$copy");
	quiet_ok("$what, a comparison with an archive", 'pg_pardump', @from, '-j2', "--compare-with=$dir{first}");
	quiet_ok("$what, a restore with --clean", 'pg_parrestore', '-j2', '--clean', '--if-exists', '-d', $restored, $dir{one});
	return;
}
foreach my $role (undef, 'app')
{
	my $who = $role ? 'an ordinary role' : 'a superuser';
	my @others = $all ? qw(small only_large_objects empty) : $role ? qw(small empty) : 'only_large_objects';
	database_is_quiet($source, 'large', $role, "large, $who");
	database_is_quiet($source, $_, $role, "$_, $who", !$all) foreach @others;
}
quiet_ok('selected and masked rows, ' . ($_ || 'a superuser'), 'pg_pardump', '-d', $source->connstr('large') . ($_ && " user=$_"), '-j2',
	'--trust-owners', '--where', 'first:id % 2 = 0', '--sample', 'second:10', '--mask', q{first.t:'x'}, '-f', new_path('selected'))
  foreach '', 'app';
# An ordinary role cannot learn whether the server's minor release can be trusted.
quiet_ok('a dump from a standby, ' . ($_ || 'a superuser'), 'pg_pardump', '-d', $standby->connstr('large') . ($_ && " user=$_"), '-j2',
	$_ ? '--allow-affected-standby' : (), '-f', new_path('standby'))
  foreach '', 'app';

# ---- all databases

foreach my $role (undef, 'app')
{
	my $what = 'all databases, ' . ($role // 'a superuser');
	my @from = ('-h', $source->host, '-p', $source->port, $role ? ('-U', $role, '--no-role-passwords') : ());
	my $dir = new_path('all');
	quiet_ok("$what: --check of a dump", 'pg_pardump', '--all-databases', '--check', '-j2', @from, '-f', new_path('none'));
	quiet_ok("$what: a dump", 'pg_pardump', '--all-databases', '-j2', @from, '-f', $dir);
	quiet_ok("$what: a verification", 'pg_pardump', '--all-databases', '-j2', "--verify=$dir");
	next if $role;
	my @into = ('-d', $target->connstr('postgres'));
	my $drop = sub { sql($target, 'postgres', "DROP DATABASE $_") foreach sort(keys %rows), 'only_large_objects', 'empty' };
	quiet_ok("$what: --check of a restore", 'pg_parrestore', '--all-databases', '--check', '-j2', @into, $dir);
	quiet_ok("$what: a restore", 'pg_parrestore', '--all-databases', '-j2', @into, $dir);
	$drop->();
	quiet_ok("$what: a copy", 'pg_pardump', '--all-databases', '-j2', @from, '--target', $target->connstr('postgres'));
	$drop->();
}

# ---- base backups, by a superuser and by the role of the manual

my ($grants) = slurp_file("$FindBin::RealBin/../doc/privileges.md") =~ /^    (CREATE ROLE backup LOGIN REPLICATION;\n.*?;)\n/ms;
sql($source, 'postgres', $grants);
foreach my $role ('', 'backup')
{
	my @from = ('-h', $source->host, '-p', $source->port, $role ? ('-U', $role) : ());
	quiet_ok('a base backup, ' . ($role || 'a superuser'), 'pg_parbasebackup', @from, '-j2', '-c', 'fast', '-D', new_path('backup'));
}

# ---- with the extension

sql($source, 'large', 'CREATE EXTENSION pg_pardump');
database_is_quiet($source, 'large', $_, 'the extension, ' . ($_ // 'a superuser'), !$all && !$_) foreach undef, 'app';

$_->stop foreach reverse @nodes;
done_testing();
