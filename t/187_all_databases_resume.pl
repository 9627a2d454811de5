# pg_parrestore --all-databases --resume: one command, killed at each of its steps and
# repeated until it ends with exit code 0, restores each database once.  And what it refuses:
# databases that no note calls restored, another archive, a table of notes that another role
# has made, a second run at the same time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run children);
use Pardump::Cluster qw(start_cluster run_program start_psql sql value);
use Pardump::Copy qw(start_load);
use Pardump::WholeCluster qw(create_database close_gate archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $notes = 'pardump_restore_all';
my @names = qw(shop crm postgres template1);

my $source = start_cluster('resume_source');
sql($source, 'postgres', 'CREATE ROLE app; CREATE ROLE intruder LOGIN');
create_database($source, $_, 'OWNER app') foreach qw(shop crm);
# A row takes as long as there is a session of the test with that name.
my $rows = 6000;
foreach my $name (@names)
{
	sql($source, $name, <<"SQL");
CREATE FUNCTION public.pass(id int) RETURNS boolean LANGUAGE plpgsql AS \$\$BEGIN
	WHILE id = 1 AND EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE application_name = 'gate') LOOP
		PERFORM pg_catalog.pg_sleep(0.02), pg_catalog.pg_stat_clear_snapshot();
	END LOOP;
	RETURN true; END\$\$;
CREATE TABLE items (id int CHECK (public.pass(id)), t text);
INSERT INTO items SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, $rows) g;
SQL
	$rows /= 2;
}
sql($source, 'postgres', q{ALTER DATABASE shop SET work_mem = '9MB'});
my ($rc, $err, $dir) = dump_all($source, '-j2');
is("$rc$err", '0', 'a dump');
my %count = map { $_ => value($source, $_, 'SELECT count(*) FROM items') } @names;

my $target = start_cluster('resume_target');
my @command = ('pg_parrestore', '--all-databases', '-j1', '-d', $target->connstr('postgres'));

# ---- killing

# The processes of the run and all that they have started; and their sessions, which
# would finish the statement that they wait in.
sub kill_run
{
	my ($run) = @_;
	my @processes = ($run->{pid});
	for (my $i = 0; $i < @processes; $i++) { push @processes, children($processes[$i]); }
	kill KILL => @processes;
	end_dump($run);
	wait_until('its sessions are gone', sub {
		return value($target, 'postgres', q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name LIKE 'pg\_%'}) == 0;
	});
	return;
}

# A statement of the run that waits for a lock.
sub wait_for_lock
{
	my ($run, $what, $statement) = @_;
	wait_in_run($run, $what, sub {
		return value($target, 'postgres', "SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND application_name LIKE 'pg\\_%' AND query LIKE '$statement'") > 0;
	});
	return;
}

sub wait_at_gate
{
	my ($node, $run) = @_;
	wait_in_run($run, 'rows are at the gate', sub {
		return value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") > 0;
	});
	return;
}

sub note_of
{
	my ($node, $name) = @_;
	my ($oid) = archive_of($dir, $name) =~ /(\d+)$/;
	return value($node, 'postgres', "SELECT state FROM $notes.databases WHERE source = $oid");
}

# Takes the last byte away.
sub cut_last
{
	my ($file) = @_;
	my $size = -s $file;
	truncate $file, $size - 1 or die "could not truncate \"$file\": $!";
	return;
}

sub start_restore { return start_load(@command, '--resume', $dir); }

sub has_schema
{
	my ($node, $db, $schema) = @_;
	return value($node, $db, "SELECT count(*) FROM pg_namespace WHERE nspname = '$schema'");
}

# ---- the same command, killed at each step

my $run;
{
	my $holder = start_psql($target, 'postgres');
	$holder->('BEGIN; LOCK TABLE pg_authid IN SHARE MODE');
	$run = start_restore();
	wait_for_lock($run, 'it makes roles', '%ROLE%');
	kill_run($run);
	$holder->();
	is(note_of($target, $_), 'begun', "killed while it makes roles: what is noted of $_") foreach @names;
	is(value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname IN ('shop', 'crm')}), 0,
		'killed while it makes roles: no database exists');
}
{
	my $holder = start_psql($target, 'postgres');
	$holder->('BEGIN; LOCK TABLE pg_db_role_setting IN SHARE MODE');
	$run = start_restore();
	wait_for_lock($run, 'it has created the database, not its settings', 'ALTER DATABASE shop SET%');
	kill_run($run);
	$holder->();
	is(has_schema($target, 'shop', 'pardump_restore'), 0, 'killed after CREATE DATABASE: no journal exists');
	is(value($target, 'shop', 'SHOW work_mem'), '4MB', 'killed after CREATE DATABASE: the settings are missing');
}
{
	my $gate = close_gate($target);
	$run = start_restore();
	wait_at_gate($target, $run);
	kill_run($run);
	$gate->();
	is(has_schema($target, 'shop', 'pardump_restore'), 1, 'killed within the rows: a journal exists');
	is(note_of($target, 'shop'), 'begun', 'killed within the rows: state in the notes');
}
{
	my $gate = close_gate($target);
	$run = start_restore();
	wait_at_gate($target, $run);

	# a second run at the same time would restore databases whose turn comes later
	my ($rc2, undef, $err2) = run_program(@command, '--resume', $dir);
	is($rc2, 1, 'two at the same time: exit code');
	is($err2, "pg_parrestore: error: another pg_parrestore is restoring all databases of the target\npg_parrestore: hint: Wait until the other run has ended, or end its sessions with pg_terminate_backend().\n", 'two at the same time: message');
	is(value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'crm'}), 0, 'two at the same time: the second one makes nothing');

	kill INT => $run->{pid};
	is(end_dump($run), 1, 'interrupted by the user: exit code');
	$gate->();
	like($run->{err}, qr/error: terminated by user.*hint: Run the same command with --resume to continue\.$/ms, 'interrupted by the user: hint');
	wait_until('its sessions are gone', sub {
		return value($target, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pg\_%'}) == 0;
	});
}
{
	my $holder = start_psql($target, 'postgres');
	my $gate = close_gate($target);
	$run = start_restore();
	wait_at_gate($target, $run);
	$holder->("BEGIN; LOCK TABLE $notes.databases IN SHARE MODE");
	$gate->();
	wait_for_lock($run, 'it is about to note the end', 'LOCK TABLE%');
	is(value($target, 'shop', 'SELECT count(*) FROM items'), $count{shop}, 'killed before the note of the end: all rows are there');
	kill_run($run);
	$holder->();
	is(note_of($target, 'shop'), 'begun', 'killed before the note of the end: state in the notes');
}
{
	my $reader = start_psql($target, 'shop');
	$reader->('BEGIN; LOCK TABLE pardump_restore.done IN ACCESS SHARE MODE');
	$run = start_restore();
	wait_for_lock($run, 'it removes the journal', 'DROP SCHEMA pardump\_restore %');
	kill_run($run);
	$reader->();
	is(note_of($target, 'shop'), 'ending', 'killed while it removes the journal: state in the notes');
	is(has_schema($target, 'shop', 'pardump_restore'), 1, 'killed while it removes the journal: the journal exists');
}
{
	my $holder = start_psql($target, 'postgres');
	my $reader = start_psql($target, 'shop');
	$reader->('BEGIN; LOCK TABLE pardump_restore.done IN ACCESS SHARE MODE');
	$run = start_restore();
	wait_for_lock($run, 'it removes the journal', 'DROP SCHEMA pardump\_restore %');
	$holder->("BEGIN; LOCK TABLE $notes.databases IN SHARE MODE");
	$reader->();
	wait_for_lock($run, 'it is about to note that it is done', 'LOCK TABLE%');
	kill_run($run);
	$holder->();
	is(note_of($target, 'shop'), 'ending', 'killed after the journal was removed: state in the notes');
	is(has_schema($target, 'shop', 'pardump_restore'), 0, 'killed after the journal was removed: no journal exists');
}

# what --check says of that
($rc, my $out) = run_program(@command, '--resume', '--check', $dir);
is($rc, 0, '--check: exit code');
like($out, qr/^  restored by earlier runs: 1 database$/m, '--check: what is done');
like($out, qr/^A run would restore \d databases, \d\S* \S+ with indexes:\n  target: .*:\d+\n  global objects: roles, tablespaces\n(?:  .*\n)*  crm: new database, \d.*$/m, '--check: what is not');
like($out, qr/^  jobs: \d+\n  connections to the target: at most \d+ needed, \d+ free\n  progress table: $notes\.databases in database "postgres"\n  not checked: .*\nno problems found$/m, '--check: the table, and the sum');
is(note_of($target, 'shop'), 'ending', '--check: changes nothing');

{
	my $reader = start_psql($target, 'postgres');
	$reader->("BEGIN; LOCK TABLE $notes.run IN ACCESS SHARE MODE");
	$run = start_restore();
	wait_for_lock($run, 'it removes the notes', "DROP SCHEMA $notes %");
	is(note_of($target, $_), 'done', "killed while it removes the notes: what is noted of $_") foreach @names;
	kill_run($run);
	$reader->();
}
($rc, undef, $err) = run_program(@command, '--resume', $dir);
is("$rc$err", '0', 'the last time: exit code');
is(value($target, $_, 'SELECT count(*) FROM items'), $count{$_}, "the rows of $_, each once") foreach @names;
is(value($target, 'shop', 'SHOW work_mem'), '9MB', 'settings of the database');
is(value($target, 'postgres', q{SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop'}), 'app', 'owner of the restored database');
is(has_schema($target, 'postgres', $notes), 0, 'the notes are removed');
is(has_schema($target, $_, 'pardump_restore'), 0, "$_ has no journal") foreach @names;

# ---- what is there without a note is not taken for restored, nor restored again

($rc, undef, $err) = run_program(@command, '--resume', $dir);
is($rc, 1, 'without notes: exit code');
is_deeply([ sort $err =~ /error: database "(.*)" on the target is not empty, and was not restored from this archive$/mg ], [ sort @names ],
	'without notes: message for each database');
is(has_schema($target, 'postgres', $notes), 0, 'without notes: no notes are created');
is(value($target, 'shop', 'SELECT count(*) FROM items'), $count{shop}, 'without notes: number of rows does not change');
($rc, $out, $err) = run_program(@command, '--resume', '--check', $dir);
is($rc, 1, 'without notes, --check: exit code');
like($out, qr/^error: database "shop" on the target is not empty/m, 'without notes, --check: error');
unlike($out, qr/^Database "shop"/m, 'without notes, --check: the plan does not contain the database');
$target->stop;

# ---- a database that is empty; another archive; and a run that is not a resumed one

my $other = start_cluster('resume_other');
@command = ('pg_parrestore', '--all-databases', '-j1', '-d', $other->connstr('postgres'));
create_database($other, 'shop');
{
	my $gate = close_gate($other);
	$run = start_load(@command, '--resume', $dir);
	wait_at_gate($other, $run);
	$target = $other;

	# another role cannot write a note, even with default privileges
	sql($other, 'postgres', 'CREATE ROLE writer LOGIN; GRANT SELECT ON pg_database TO writer');
	my ($rc2, undef, $err2) = run_program('psql', '-X', '-d', $other->connstr('postgres') . ' user=writer', '-c',
		"UPDATE $notes.databases SET state = 'done'");
	isnt($rc2, 0, 'another role cannot write a note');
	like($err2, qr/permission denied for schema $notes/, 'a role without privileges on the schema: message');
	kill_run($run);
	$gate->();
	is(value($other, 'postgres', "SELECT string_agg(datname, ' ' ORDER BY datname) FROM $notes.databases n JOIN pg_database d ON d.oid = n.target
		WHERE n.existed"), 'postgres shop template1', 'a database that existed is noted');
}
($rc, undef, $err) = run_program(@command, $dir);
is($rc, 1, 'without --resume: exit code');
like($err, qr/error: an unfinished restore of all databases was found on the target\n.*detail: Table $notes\.databases of database "postgres".*\n.*hint: Use --resume to continue it, or DROP SCHEMA $notes CASCADE/,
	'without --resume: message');
append_to_file("$dir/map.json", ' ');
($rc, undef, $err) = run_program(@command, '--resume', $dir);
is($rc, 1, 'another dump: exit code');
like($err, qr/error: the restore of all databases cannot be resumed\n.*detail: The unfinished restore was started with another dump\.\n.*hint: Specify that dump, or use DROP SCHEMA /,
	'another dump: message');
cut_last("$dir/map.json");
# elsewhere it is the same
rename $dir, "$dir.moved" or die "could not rename \"$dir\": $!";
($rc, undef, $err) = run_program(@command, '--resume', "$dir.moved");
is("$rc$err", '0', 'the archive was moved: exit code');
is(value($other, $_, 'SELECT count(*) FROM items'), $count{$_}, "the archive was moved: rows of $_") foreach @names;
is(has_schema($other, 'postgres', $notes), 0, 'the archive was moved: the notes are removed');
rename "$dir.moved", $dir or die "could not rename \"$dir.moved\": $!";
$other->stop;

# ---- a schema that another role has made, default privileges, a part of the databases

my $new = start_cluster('resume_new');
@command = ('pg_parrestore', '--all-databases', '-j1', '-d', $new->connstr('postgres'));
sql($new, 'postgres', <<"SQL");
CREATE ROLE intruder LOGIN;
GRANT CREATE ON DATABASE postgres TO intruder;
SET ROLE intruder;
CREATE SCHEMA $notes CREATE TABLE run (archive text PRIMARY KEY)
	CREATE TABLE databases (source oid PRIMARY KEY, target oid, state text, errors int4, at timestamptz);
SQL
($rc, undef, $err) = run_program(@command, '--resume', $dir);
is($rc, 1, 'a schema of another role: exit code');
like($err, qr/error: schema "$notes" in database "postgres" of the target belongs to another role$/m, 'a schema of another role: message');
is(value($new, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname = 'shop'}), 0, 'a schema of another role: no database is created');
sql($new, 'postgres', <<"SQL");
DROP SCHEMA $notes CASCADE;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO intruder;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO intruder;
SQL
{
	my $gate = close_gate($new);
	$target = $new;
	$run = start_load(@command, $dir);
	wait_at_gate($new, $run);
	my ($rc2, undef, $err2) = run_program('psql', '-X', '-d', $new->connstr('postgres') . ' user=intruder', '-c',
		"UPDATE $notes.databases SET state = 'done'");
	isnt($rc2, 0, 'default privileges: exit code');
	like($err2, qr/permission denied for schema $notes/, 'default privileges: no other role can write a note');
	kill_run($run);
	$gate->();
}
($rc, undef, $err) = run_program(@command, '--resume', '--exclude-database=crm', $dir);
is($rc, 0, 'a part of the databases: exit code');
like($err, qr/warning: databases of the dump that are not restored completely: 1\n.*detail: Table $notes\.databases in database "postgres" records the state of each database\.\n.*hint: To restore all of them, run the command again with --resume and without --exclude-database\./,
	'a part of the databases: what is left');
is(note_of($new, $_), $_ eq 'crm' ? 'begun' : 'done', "a part of the databases: what is noted of $_") foreach @names;
# one that was restored from what is now another archive
my $toc = archive_of($dir, 'shop') . '/toc.dat';
append_to_file($toc, 'x');
($rc, undef, $err) = run_program(@command, '--resume', $dir);
is($rc, 1, 'another archive of a database that is restored: exit code');
like($err, qr/error: database "shop" on the target was restored from another archive$/m, 'another archive of a database that is restored: message');
cut_last($toc);
# one that was dropped since does not count
sql($new, 'postgres', 'DROP DATABASE shop');
{
	my $gate = close_gate($new);
	$run = start_load(@command, '--resume', $dir);
	wait_at_gate($new, $run);
	# the session that keeps other runs away may be lost
	is(value($new, 'postgres', "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE relation = '$notes.running'::regclass"), 1,
		'one session keeps other runs away');
	$gate->();
	$rc = end_dump($run);
	is("$rc$run->{err}", '0', 'a database that was dropped since: exit code');
}
is(value($new, $_, 'SELECT count(*) FROM items'), $count{$_}, "a database that was dropped since: rows of $_") foreach @names;
is(has_schema($new, 'postgres', $notes), 0, 'a database that was dropped since: the notes are removed');

$_->stop foreach $source, $new;
done_testing();
