# Faults in the midst of a dump, a restore and a copy of all databases: the process
# of one of them is killed, files are swept away; and what is refused before, as it
# would be such a fault.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl qw(LOCK_EX LOCK_NB);
use Pardump::Background qw(start_dump end_dump wait_until wait_in_run children);
use Pardump::Cluster qw(start_cluster run_program new_path nothing_left_ok start_psql sql value);
use Pardump::Copy qw(start_load temp_dir);
use Pardump::WholeCluster qw(create_database close_gate read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('faults_source');
my @names = qw(largest middle smallest);

# What reads or loads a row waits as long as a session of the test has that name, in
# whichever database: one that is yet to be made has no lock that could be held.
my $rows = 9000;
foreach my $name (@names)
{
	create_database($source, $name);
	sql($source, $name, <<"SQL");
CREATE FUNCTION public.pass(id int) RETURNS boolean LANGUAGE plpgsql AS \$\$BEGIN
	WHILE id = 1 AND EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE application_name = 'gate') LOOP
		PERFORM pg_catalog.pg_sleep(0.02), pg_catalog.pg_stat_clear_snapshot();
	END LOOP;
	RETURN true; END\$\$;
CREATE TABLE gated (id int CHECK (public.pass(id)), t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, $rows) g;
CREATE INDEX ON gated (id);
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY pass ON gated USING (public.pass(id));
SQL
	$rows -= 3000;
}
sql($source, 'postgres', 'CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper');
my @dumper = ('-U', 'dumper', '--enable-row-security', '--no-role-passwords', '--no-chunks');

sub wait_at_gates
{
	my ($node, $run) = @_;
	wait_in_run($run, 'each database is at its gate', sub {
		return value($node, 'postgres', "SELECT count(DISTINCT datname) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == @names;
	});
	return;
}

# They begin one after the other, the largest first.
sub kill_first
{
	my ($run) = @_;
	my ($first) = sort { $a <=> $b } children($run->{pid});
	kill KILL => $first;
	return;
}

# Between two waits at the gate they wait for nothing.
sub gone_ok
{
	my ($node, $run) = @_;
	wait_in_run($run, 'its workers are gone', sub {
		return value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity WHERE datname = 'largest'") == 0;
	});
	return;
}

# One is named, and no other.
sub told_ok
{
	my ($run, $what, $doing, $sum) = @_;
	is(end_dump($run), 1, "$what: exit code");
	is_deeply([ $run->{err} =~ /error: could not $doing database "(.*)"$/mg ], ['largest'], "$what: the message names the database");
	like($run->{err}, qr/"largest"\n.*detail: Its process was terminated by signal 9: /, "$what: the message contains the reason");
	like($run->{err}, $sum, "$what: the sum");
	return;
}

# All rows and the index.
sub complete_ok
{
	my ($node, $what, @complete) = @_;
	is(value($node, $_, q{SELECT (SELECT count(*) FROM gated) || ' ' || count(*) FROM pg_indexes WHERE tablename = 'gated'}),
		value($source, $_, 'SELECT count(*) FROM gated') . ' 1', "$what: $_ is complete") foreach @complete;
	return;
}

# ---- what a sweeper removes from TMPDIR while a dump takes days

{
	local $ENV{TMPDIR} = new_path('tmp');
	mkdir $ENV{TMPDIR} or die "could not make \"$ENV{TMPDIR}\": $!";
	my $gate = close_gate($source);
	my $dump = start_dump($source->connstr('postgres'), '--all-databases', '-j3', @dumper);
	wait_at_gates($source, $dump);
	unlink glob "$ENV{TMPDIR}/*/*";
	rmdir foreach glob "$ENV{TMPDIR}/*";
	$gate->();
	is(end_dump($dump), 0, 'a swept TMPDIR: exit code');
	is($dump->{err}, '', 'a swept TMPDIR: no messages');
	is(scalar(@{ read_map($dump->{dir})->{Databases} }), 5, 'a swept TMPDIR: number of databases in the map');
}

# ---- a dump of which a process is killed

{
	my $gate = close_gate($source);
	my $dump = start_dump($source->connstr('postgres'), '--all-databases', '-j3', @dumper);
	wait_at_gates($source, $dump);
	kill_first($dump);
	gone_ok($source, $dump);
	$gate->();
	told_ok($dump, 'dump', 'dump', qr/error: could not dump 1 of 5 databases\n.*detail: Failed databases: "largest"\.\n.*detail: The archives of the other databases are complete\.$/m);
	is_deeply({ map { $_->{Name} => $_->{State} } @{ read_map($dump->{dir})->{Databases} } },
		{ largest => 'failed', map { $_ => 'complete' } qw(middle smallest postgres template1) }, 'dump: states in the map');
	ok(!-e archive_of($dump->{dir}, 'largest'), 'dump: nothing of it is left');
	is((run_program('pg_pardump', '--verify', archive_of($dump->{dir}, $_)))[0], 0, "dump: $_ is complete") foreach qw(middle smallest);
	nothing_left_ok($source, $dump->{dir}, 'dump');
}

# ---- a restore

my ($rc, $err, $dir) = dump_all($source, '-j2');
is("$rc$err", '0', 'a dump');
my $target = start_cluster('faults_target');
{
	my $gate = close_gate($target);
	my $run = start_load('pg_parrestore', '--all-databases', '-j3', '-d', $target->connstr('postgres'), $dir);
	wait_at_gates($target, $run);
	kill_first($run);
	gone_ok($target, $run);
	$gate->();
	told_ok($run, 'restore', 'restore', qr/error: could not restore 1 of 5 databases\n.*detail: Failed databases: "largest"\.\n.*detail: Table pardump_restore_all\.databases in database \"postgres\" records the state of each database\.\n.*hint: Fix the cause, and run the same command with --resume\.$/m);
	complete_ok($target, 'restore', qw(middle smallest));
	is(value($target, 'largest', q{SELECT count(*) FROM pg_indexes WHERE tablename = 'gated'}), 0, 'restore: the other one is not');

	# which --resume continues, for that database alone
	my ($rc, undef, $err) = run_program('pg_parrestore', '--resume', '-C', '-d', $target->connstr('postgres'), archive_of($dir, 'largest'));
	is("$rc$err", '0', 'restore: --resume for the database alone');
	complete_ok($target, 'restore, resumed', 'largest');
	nothing_left_ok($target, $dir, 'restore');
}

# ---- a copy; and its definitions are not for sweepers

my $copy = start_cluster('faults_copy');
{
	my $gate = close_gate($copy);
	# what the restore that was killed has left
	my %before = map { $_ => 1 } glob temp_dir() . '/*';
	my $run = start_load('pg_pardump', '--all-databases', '-j3', '-d', $source->connstr('postgres'), '--target', $copy->connstr('postgres'));
	wait_at_gates($copy, $run);
	my @kept = grep { !$before{$_} } glob temp_dir() . '/*';
	is(scalar(@kept), @names, 'copy: directories of definitions');
	foreach my $path (@kept)
	{
		open my $fh, '<', $path or die "could not open \"$path\": $!";
		ok(!flock($fh, LOCK_EX | LOCK_NB), 'copy: each is locked');
	}
	kill_first($run);
	gone_ok($copy, $run);
	$gate->();
	told_ok($run, 'copy', 'copy', qr/error: could not copy 1 of 5 databases\n.*detail: Failed databases: "largest"\.\n.*detail: The copies of the other databases are complete\.\n.*hint: .* --create --clean --target=CONNINFO "largest"$/m);
	complete_ok($copy, 'copy', qw(middle smallest));
	is(value($copy, 'largest', q{SELECT count(*) FROM gated}), 0, 'copy: the other database has definitions but no rows');
	is(scalar(() = $run->{out} =~ /^\[\d\/5\] \w+: \d+ tables?, /mg), 4, 'copy: four lines of what was copied');
	nothing_left_ok($copy, $dir, 'copy');
	nothing_left_ok($source, $dir, 'copy, source');
}

# ---- connections: there are 40, less those that stay, and each database takes two
# besides its workers

$copy->stop;
$target->stop;
my $new = start_cluster('faults_new');

# Until there are but this number of sessions, of which this one looks: one that
# came to look might be there yet when they are counted.
my @holders;
my $watcher = start_psql($source, 'postgres');

sub wait_for_others
{
	my ($session, $n) = @_;
	wait_until('no other session is connected', sub {
		return $session->(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'}) == $n;
	});
	return;
}

sub refused_ok
{
	my ($what, $message, $program, @options) = @_;
	wait_for_others($watcher, 1);
	wait_for_others($holders[0], scalar(@holders)) if @holders;
	my ($rc, undef, $err) = run_program($program, '--all-databases', @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, $what);
	is(value($new, 'postgres', q{SELECT (SELECT count(*) FROM pg_database) || ' ' || count(*) FROM pg_roles WHERE rolname = 'dumper'}), '3 0',
		"$what: no database or role is created");
	return;
}
my $none = new_path('none');
my @from = ('-d', $source->connstr('postgres'));
my $message = qr/error: server "[^"]+" has only 39 of 46 needed connections left\n.*detail: The run needs 36 connections for jobs, and 10 for databases \(5 at a time\)\.\n.*hint: Use --jobs=29, or increase max_connections/;
refused_ok('connections of a dump', $message, 'pg_pardump', '-j36', @from, '-f', $none);
ok(!-e $none, 'connections of a dump: no directory is made');
refused_ok('connections of a copy', $message, 'pg_pardump', '-j36', @from, '--target', $new->connstr('postgres'));
@holders = map { start_psql($new, 'postgres') } 1 .. 5;
$_->('SELECT 1') foreach @holders;
$message = qr/error: server "[^"]+" has only 35 of 39 needed connections left\n.*detail: The run needs 29 connections for jobs, and 10 for databases \(5 at a time\)\.\n.*hint: Use --jobs=25, /;
refused_ok('connections of a copy, on the target', $message, 'pg_pardump', '-j29', @from, '--target', $new->connstr('postgres'));
# one more session keeps other restores away
$message = qr/error: server "[^"]+" has only 34 of 39 needed connections left\n.*detail: The run needs 29 connections for jobs, and 10 for databases \(5 at a time\)\.\n.*hint: Use --jobs=24, /;
refused_ok('connections of a restore', $message, 'pg_parrestore', '-j29', '-d', $new->connstr('postgres'), $dir);

# room for workers, but not for builds of indexes
create_database($new, 'middle');
foreach my $try ([ '-j22', 22 ], [ '-j22', 4, '--index-jobs=4' ], [ '-j22', 0, '--index-jobs=2' ])
{
	my ($jobs, $builds, @options) = @$try;
	wait_for_others($holders[0], scalar(@holders));
	my (undef, undef, $err) = run_program('pg_parrestore', '--all-databases', $jobs, @options,
		'-d', $new->connstr('postgres'), $dir);
	like($err, qr/error: database "middle" already exists on the target/, "@options: it ends before anything is made");
	my $warning = $builds == 0 ? qr/^(?!.*needed connections)/s
	  : qr/warning: server "[^"]+" has only 34 of @{[ 32 + $builds ]} needed connections left\n.*detail: The run needs 22 connections for jobs, 10 for databases \(5 at a time\), and $builds for index builds\.\n/;
	like($err, $warning, "$jobs @options: builds of indexes");
}
# --check of a copy finds an existing database, and creates nothing
my ($rc_of_check, $list) = run_program('pg_pardump', '--all-databases', '--check', @from, '--target', $new->connstr('postgres'));
is($rc_of_check, 1, '--check of a copy: exit code');
like($list, qr/^A run would copy 5 databases, .*:\n(?:  .*\n)+  not checked: .*\nerror: database "middle" already exists on the target\n  hint: .*\n1 problem \(errors: 1, warnings: 0\); a run would fail\n\z/m,
	'--check of a copy: the plan, what is not checked, and the problem');
is(value($new, 'postgres', q{SELECT count(*) FROM pg_roles WHERE rolname = 'dumper'}), 0, '--check of a copy: no role is created');
sql($new, 'postgres', 'DROP DATABASE middle');
sql($source, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 4');
refused_ok('the limit of a role', qr/server "[^"]+" has only 4 of 9 needed connections left\n.*detail: The run needs 3 connections for jobs, .*\n.*hint: Use --jobs=1, /,
	'pg_pardump', '-j3', @from, @dumper, '-f', $none);
sql($source, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT 1');
refused_ok('no room for one', qr/server "[^"]+" has only 1 of \d+ needed connections left\n.*detail: .*\n.*hint: End other sessions, or increase /,
	'pg_pardump', '-j1', @from, @dumper, '-f', $none);

# the limit of the database that is only asked for the list is none of the others'
$watcher->();
sql($source, 'postgres', 'ALTER ROLE dumper CONNECTION LIMIT -1; ALTER DATABASE postgres CONNECTION LIMIT 5');
($rc, $err) = dump_all($source, '-j8', @dumper);
is("$rc$err", '0', 'the limit of one database');

# sessions that the role cannot see: others may be clients, or not
my $other = start_psql($source, 'middle');
wait_for_others($other, 1);
($rc, undef, undef, my $out) = dump_all($source, '-j27', '--check', @dumper);
is($rc, 0, 'sessions that are hidden: exit code');
like($out, qr/^warning: server "[^"]+" might have only 36 of 37 needed connections left\n  detail: .*pg_read_all_stats.*\n(?:  .*\n)*1 problem \(databases checked: 5, errors: 0, warnings: 1\); a run would start\n\z/m,
	'sessions that are hidden');
$other->();

# ---- open files, of which a leader has two for each job

my $limited = 'ulimit -n 60; exec "$@"';
foreach my $try ([ 'pg_pardump', @from, '-f', $none ], [ 'pg_parrestore', '--index-jobs=1', '-d', $new->connstr('postgres'), $dir ])
{
	my ($program, @options) = @$try;
	my ($rc, undef, $err) = run_program('sh', '-c', $limited, 'sh', $program, '--all-databases', '-j20', @options);
	is($rc, 1, "open files, $program: exit code");
	like($err, qr/\A$program: error: the limit of open files \(60\) is too low for 20 jobs: \d+ are needed\n.*hint: .*\n\z/, "open files, $program");
}
is(value($new, 'postgres', 'SELECT count(*) FROM pg_database'), 3, 'open files: no database or role is created');
ok(!-e $none, 'open files: no directory is made');

$_->() foreach @holders;
$_->stop foreach $source, $new;
done_testing();
