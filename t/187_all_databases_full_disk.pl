# All databases where a disk is full: one that does not fit fails, and is named; nothing
# that is not complete looks as if it was.

use strict;
use warnings;

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program new_path nothing_left_ok sql value);
use Pardump::Command qw(system_faults);
use Pardump::SmallDisk qw(small_disk_problem start_on_small_disk);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $space = new_path('space');
mkdir $space or die "could not create \"$space\": $!";
my $source = start_cluster('disk_source');
sql($source, 'postgres', "CREATE TABLESPACE small LOCATION '$space'; CREATE ROLE commented");
create_database($source, 'large', 'TABLESPACE small');
create_database($source, 'fits');
sql($source, 'large', 'CREATE TABLE t AS SELECT g, repeat(md5(g::text), 15) AS t FROM generate_series(1, 20000) g');
sql($source, 'fits', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 100) g');
my $connstr = $source->connstr('postgres');

# No file may be larger than some 100 kB; shells differ in the unit.
my @small_files = ('sh', '-c', 'ulimit -f 100; exec "$@"', 'sh');

# ---- a dump of which one database does not fit

my $dir = new_path('cluster');
my ($rc, undef, $err) = run_program(@small_files, 'pg_pardump', '--all-databases', '-j2', '-Z0', '-d', $connstr, '-f', $dir);
is($rc, 1, 'one does not fit: exit code');
like($err, qr/^pg_pardump:large: error: could not write file ".*\.dat": File too large$/m, 'one does not fit: why');
like($err, qr/^pg_pardump: error: could not dump 1 of 4 databases\n.*detail: Failed databases: "large"\.$/m, 'one does not fit: message');
is_deeply({ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } },
	{ large => 'failed', map { $_ => 'complete' } qw(fits postgres template1) }, 'one does not fit: states in the map');
ok(!-e archive_of($dir, 'large'), 'one does not fit: nothing of it is left');
($rc) = run_program('pg_pardump', '--verify', archive_of($dir, 'fits'));
is($rc, 0, 'one does not fit: another one is complete');
my ($pages, $log) = (new_path('pages'), new_path('log'));
($rc, my $out, $err) = run_program('pg_pardump', '--all-databases', "--verify=$dir", "--report=$pages", "--log-json=$log");
is($rc, 1, 'one does not fit: exit code of --verify');
like($out, qr/\A\[1\/4\] large: NO ARCHIVE, its dump failed\n(?:\[[234]\/4\] \w+: verified, .*\n){3}verified: roles, tablespaces, 3 of 4 databases\n/, 'one does not fit: --verify');
is($err, <<"ERR", 'one does not fit: messages of --verify');
pg_pardump: error: verification of 1 of 4 databases failed
pg_pardump: detail: Databases without an archive: "large".
pg_pardump: hint: To restore the other databases, run "pg_parrestore --all-databases --exclude-database=large -d CONNINFO $dir".
ERR
like(slurp_file("$pages/index.html"), qr/1 of 4 databases failed: .*\blarge\b.*no archive/s, 'one does not fit: the page of --verify');
is_deeply([ map { @$_{qw(database state seconds)} } grep { $_->{event} eq 'database_end' && $_->{state} eq 'failed' } map { decode_json($_) } split /\n/, slurp_file($log) ],
	[ 'large', 'failed', 0 ], 'one does not fit: the event of --verify');
nothing_left_ok($source, $dir, 'one does not fit');

# ---- what --check finds before: all archives share one disk

{
	my $parent = new_path('full');
	mkdir $parent or die "could not make directory \"$parent\": $!";
	my @check = ('pg_pardump', '--all-databases', '--check', '-d', $connstr, '-f', "$parent/new");
	my ($rc, $out, $err) = run_program(@check);
	is("$rc $err", '0 ', '--check, where there is room');
	like($out, qr/^\[1\/4\] large: 1 table, .*\(COPY\), archive about .*\n(?:\[\d\/4\] .*\n){3}A run would dump 4 databases, about \S+ .?B:\n  global objects: roles, tablespaces\n  tables: \d, large objects: \d+\n  jobs: \d+\n  connections to the source: at most \d+ needed, \d+ free on the server\n  archives: about \S+ .?B with \w+\n  free disk space: \S+ .?B\nno problems found in \d+ databases\n\z/m,
		'--check, where there is room: what is needed, and what there is');
	($rc, $out) = run_program(@check, '--no-tablespaces', '-Z0');
	like($out, qr/^A run would dump 4 databases, about .*:\n  global objects: roles\n(?:  .*\n)*  archives: about \S+ .?B\n/m, '--check, no tablespaces, and no compression');
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = 'statvfs _full';
	($rc, $out, $err) = run_program(@check);
	is("$rc $err", '0 ', '--check, where there is none');
	like($out, qr/^warning: the file system of directory ".*_full" has \S+ \S+ free, but about \S+ .?B of data will be read\n  detail: .*\n1 problem \(databases checked: 4, errors: 0, warnings: 1\); a run would start\n\z/m,
		'--check, where there is none: a warning, and the last line');
	delete $ENV{LD_PRELOAD};

	# warnings and errors of databases
	sql($source, 'postgres', $_) foreach 'CREATE ROLE reader LOGIN', 'GRANT pg_read_all_data TO reader', 'ALTER DATABASE fits CONNECTION LIMIT 2';
	push @check, '-U', 'reader', '--no-role-passwords';
	my $spare = qr/\[\d\/4\] fits: .*\nwarning: database "fits" on server "[^"]*" has no spare connection\n  detail: .*\n  hint: .*\n/;
	($rc, $out, $err) = run_program(@check);
	is("$rc $err", '0 ', '--check, a warning of a database');
	like($out, qr/^$spare(?!\d+ problem)/m, '--check, a warning of a database: the list');
	like($out, qr/^1 problem \(databases checked: 4, errors: 0, warnings: 1\); a run would start\n\z/m, '--check, a warning of a database: the last line');
	sql($source, 'large', 'DROP EXTENSION plpgsql');
	($rc, $out) = run_program(@check, '-e', 'plpgsql');
	is($rc, 1, '--check, an error of another one: exit code');
	like($out, qr/^\[\d\/4\] large:\nerror: .*\n(?:  .*\n)*$spare/m, '--check, an error of another one: the list');
	like($out, qr/^2 problems \(databases checked: 4, errors: 1, warnings: 1\); a run would dump all databases except large\n\z/m, '--check, an error of another one: the last line');
	sql($source, 'postgres', 'ALTER DATABASE fits CONNECTION LIMIT -1');

	# errors that concern all databases
	chmod 0500, $parent or die "could not change a mode: $!";
	($rc, $out, $err) = run_program(@check);
	is("$rc $err", '1 ', '--check, a directory that cannot be made');
	like($out, qr/^A run would dump 4 databases, .*\n(?:  .*\n)+error: could not write to directory "\Q$parent\E": Permission denied\n1 problem \(databases checked: 4, errors: 1, warnings: 0\); a run would fail\n\z/m,
		'--check, a directory that cannot be made: the last line');
	chmod 0700, $parent or die "could not change a mode: $!";
	append_to_file("$parent/file", 'mine');
	($rc, $out, $err) = run_program(@check, '-f', $parent);
	is("$rc $err", '1 ', '--check, a directory that is not empty');
	like($out, qr/^A run would dump 4 databases, .*\n(?:  .*\n)+error: directory "\Q$parent\E" exists but is not empty\n  hint: .*\n1 problem \(databases checked: 4, errors: 1, warnings: 0\); a run would fail\n\z/m,
		'--check, a directory that is not empty: the plan, and the last line');
	($rc, $out, $err) = run_program(@check, '--role=no_such_role');
	is($rc, 1, '--check, a role that does not exist: exit code');
	like($out, qr/^\d+ problems? \((?:databases checked: 4, )?errors: [1-9]\d*, warnings: 0\); a run would fail.*\n\z/m, '--check, a role that does not exist: the last line');
	my $log = new_path('log_of_check');
	run_program(@check, '-f', $parent, "--log-json=$log");
	my ($sum) = grep { $_->{event} eq 'check' } reverse map { decode_json($_) } split /\n/, slurp_file($log);
	is_deeply([ @$sum{qw(errors warnings)} ], [ 1, 0 ], '--check: the event with the sums');
}

# ---- a dump of what databases share does not fit, before or after all archives

sub no_cluster_ok
{
	my ($what, $dir) = @_;
	ok(!-e "$dir/$_", "$what: no $_") foreach qw(map.json map.json.tmp globals.sql globals.sql.tmp);
	my ($rc) = run_program('pg_parrestore', '--all-databases', '-d', $connstr, $dir);
	is($rc, 1, "$what: exit code of a restore");
	return;
}

sql($source, 'postgres', q{DO $$ BEGIN EXECUTE format('COMMENT ON ROLE commented IS %L', repeat('x', 600000)); END $$});
$dir = new_path('globals');
($rc, undef, $err) = run_program(@small_files, 'pg_pardump', '--all-databases', '-d', $connstr, '-f', $dir);
is($rc, 1, 'roles cannot be read: exit code');
like($err, qr/^pg_pardump: error: (the output of pg_dumpall is incomplete|pg_dumpall (was terminated|failed))/m, 'roles cannot be read');
ok(!-e $dir, 'roles cannot be read: no directory is left');
SKIP:
{
	my ($rc) = run_program('unshare', '-Urm', 'mount', '-t', 'tmpfs', 'none', '/mnt');
	skip 'no namespaces for ordinary users', 3 if $rc != 0;
	my $mount = new_path('mount');
	mkdir $mount or die "could not create \"$mount\": $!";
	my $user = value($source, 'postgres', 'SELECT current_user');
	($rc, my $out, my $err) = run_program('unshare', '-Urm', 'sh', '-c',
		'mount -t tmpfs -o size=400k none "$0" && "$@"; rc=$?; ls -A "$0/new" "$0/new/databases"/*; exit $rc', $mount,
		'pg_pardump', '--all-databases', '--exclude-database=large', '-d', $connstr, '-U', $user, '-f', "$mount/new");
	is($rc, 1, 'roles cannot be written: exit code');
	like($err, qr/error: could not (write|close) file "\Q$mount\E\/new\/globals\.sql\.tmp": No space left on device\n.*warning: complete archives of single databases remain in /,
		'roles cannot be written');
	is_deeply([ scalar(() = $out =~ /^toc\.dat$/mg), grep { /json|globals/ && !/manifest/ } split /\n/, $out ], [3],
		'roles cannot be written: only archives exist');
}
my $library = system_faults();
foreach my $fault ('fsync globals.sql.tmp', 'rename globals.sql', 'fsync map.json.tmp', 'rename map.json', 'close map.json.tmp')
{
	my $dir = new_path('fault');
	my ($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library", "SYSTEM_FAULT=$fault", 'pg_pardump', '--all-databases',
		'--exclude-database=large', '-d', $connstr, '-f', $dir);
	is($rc, 1, "$fault: exit code");
	like($err, qr/^pg_pardump: error: could not .*$/m, "$fault: message");
	like($err, qr/warning: complete archives of single databases remain in "\Q$dir\E\/databases"/, "$fault: warning about the remaining archives");
	no_cluster_ok($fault, $dir);
}

# ---- a restore into a server whose disk has no room for one database

sql($source, 'postgres', 'COMMENT ON ROLE commented IS NULL');
($rc, $err, $dir) = dump_all($source, '-j2');
is("$rc$err", '0', 'a dump');
$source->stop;
SKIP:
{
	my ($problem) = small_disk_problem();
	skip $problem, 6 if defined $problem;
	rename $space, "$space.source" or die "could not rename \"$space\": $!";
	mkdir $space, 0700 or die "could not create \"$space\": $!";
	my $target = start_cluster('disk_target', leave_stopped => 1);
	my $server = start_on_small_disk($target, '12m', $space);
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j2', '-d', $target->connstr('postgres'), $dir);
	is($rc, 1, 'restore: exit code');
	like($err, qr/^pg_parrestore:large: error: .*No space left on device/m, 'restore: why');
	is_deeply([ $err =~ /^pg_parrestore: error: (?:could not restore )?database "(.*?)"(?: was restored with errors)?$/mg ], ['large'], 'restore: message');
	like($err, qr/^pg_parrestore: error: (?:1 of 4 databases restored with errors|could not restore 1 of 4 databases)$/m, 'restore: the sum');
	is(value($target, 'fits', 'SELECT count(*) FROM t'), 100, 'restore: another one is complete');
	is(value($target, 'large', 'SELECT count(*) - count(DISTINCT g) FROM t'), 0, 'restore: no row is there twice');
	$server->signal('INT');
	$server->finish;
}

done_testing();
