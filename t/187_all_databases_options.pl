# --all-databases: what its options mean and which are refused, maps that
# deceive, the budget of workers, and processes that are killed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run wait_until children sessions);
use Pardump::Cluster qw(start_cluster run_program new_path nothing_left_ok start_psql sql value
  listing data_file);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = start_cluster('all_options');
create_database($node, $_) foreach qw(gate1 gate2 gate3 Upper upper_two);
my @gates = qw(gate1 gate2 gate3);

# ---- which databases, by patterns as pg_dumpall reads them

sub dumped
{
	my (@options) = @_;
	my ($rc, $err, $dir) = dump_all($node, @options);
	is("$rc $err", '0 ', "dumped: @options");
	return join ' ', sort map { $_->{Name} } @{ read_map($dir)->{Databases} };
}
is(dumped('--exclude-database=gate*'), 'Upper postgres template1 upper_two', 'a pattern');
is(dumped('--exclude-database', 'gate?|UPPER_TWO', '--exclude-database=template1'), 'Upper postgres', 'two of them, folded');
is(dumped('--exclude-database', '"Upper"', '--exclude-database=*e*'), '', 'quoted; and nothing is left');
my ($rc, $err, $dir) = dump_all($node, '--exclude-database=a.b');
is($rc, 1, 'a qualified name: exit code');
like($err, qr/improper qualified name \(too many dotted names\): a\.b/, 'a qualified name');
ok(!-e $dir, 'no directory is left');

# the database to connect to first
foreach my $d ('template1', $node->connstr('template1'), 'application_name=x')
{
	($rc, $err) = dump_all($node, '--exclude-database=*', '-d', $d);
	is("$rc $err", '0 ', "-d $d");
}
($rc, $err) = dump_all($node, '-d', 'nowhere');
like($err, qr/database "nowhere" does not exist/, 'one that is not there');

# ---- parts of what databases share

sql($node, 'postgres', q{CREATE ROLE a_role LOGIN PASSWORD 'secret'; CREATE ROLE reader LOGIN});
my %globals;
foreach my $part ('-g', '--globals-only', '--roles-only', '--tablespaces-only', '--no-role-passwords')
{
	my ($rc, $err, $dir) = dump_all($node, $part, $part =~ /no-/ ? '--exclude-database=*' : ());
	is("$rc $err", '0 ', $part);
	is_deeply(read_map($dir)->{Databases}, [], "$part: no databases");
	is(listing($dir), 'databases globals.sql map.json', "$part: nothing else");
	$globals{$part} = slurp_file("$dir/globals.sql");
}
like($globals{$_}, qr/CREATE ROLE a_role;.*PASSWORD 'SCRAM/s, "$_: a role and its password")
  foreach ('-g', '--globals-only', '--roles-only');
unlike($globals{'--tablespaces-only'}, qr/a_role/, 'tablespaces: no role');
like($globals{'--no-role-passwords'}, qr/CREATE ROLE a_role;/, 'no passwords: globals contain a role');
unlike($globals{'--no-role-passwords'}, qr/PASSWORD/, 'no passwords: globals contain no password');

# a role that may not read pg_authid
($rc, $err, $dir) = dump_all($node, '-g', '-U', 'reader');
is($rc, 1, 'a role that may not read passwords: exit code');
like($err, qr/permission denied for table pg_authid.*hint: .*--no-role-passwords/s, 'a role that may not read passwords: message and hint');
ok(!-e $dir, 'a role that may not read passwords: no directory is left');
($rc, $err, undef, my $out) = dump_all($node, '--check', '-U', 'reader');
is($rc, 1, '--check, a role that may not read passwords: exit code');
like("$err$out", qr/permission denied for table pg_authid.*hint: .*--no-role-passwords.*\n1 problem \(errors: 1, warnings: 0\); a run would fail\n\z/s, '--check, a role that may not read passwords: message and hint');
($rc, $err) = dump_all($node, '-g', '-U', 'reader', '--no-role-passwords');
is("$rc $err", '0 ', 'a role that may not read passwords, with --no-role-passwords: exit code and messages');

# pg_dumpall does not notice that it cannot write
my ($cut, $bin) = (new_path('cut'), new_path('bin'));
mkdir $bin or die "could not make \"$bin\": $!";
my ($pg_dump) = grep { -x } map { "$_/pg_dump" } split /:/, $ENV{PATH};
symlink $pg_dump, "$bin/pg_dump" or die "could not make a link: $!";
my $whole = $pg_dump =~ s/pg_dump$/pg_dumpall/r;
append_to_file("$bin/pg_dumpall", qq{#!/bin/sh\ncase \$* in *--version*) exec $whole "\$@";; esac\n$whole "\$@" | head -c 300\n});
chmod 0755, "$bin/pg_dumpall" or die "could not change a mode: $!";
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-g', "--pg-dump=$bin/pg_dump",
	'-d', $node->connstr('postgres'), '-f', $cut);
is($rc, 1, 'half of what databases share: exit code');
like($err, qr/error: the output of pg_dumpall is incomplete\n.*detail: .*\n.*hint: Run pg_dumpall --globals-only /, 'half of what databases share');
ok(!-e $cut, 'half of what databases share: no directory is left');

# a failure that has nothing to do with passwords or encodings
unlink "$bin/pg_dumpall";
append_to_file("$bin/pg_dumpall", qq{#!/bin/sh\ncase \$* in *--version*) exec $whole "\$@";; esac\necho 'pg_dumpall: error: it fails' >&2\nexit 1\n});
chmod 0755, "$bin/pg_dumpall" or die "could not change a mode: $!";
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-g', "--pg-dump=$bin/pg_dump",
	'-d', $node->connstr('postgres'), '-f', $cut);
is($rc, 1, 'pg_dumpall fails: exit code');
like($err, qr/^pg_dumpall: error: it fails\npg_pardump: error: pg_dumpall failed with exit code 1$/m, 'pg_dumpall fails: message');
unlike($err, qr/hint: /, 'pg_dumpall fails: no hint on passwords or encodings');

# an option that suits no database
($rc, $err, $dir) = dump_all($node, '--exclude-schema=a.b.c.d');
is($rc, 1, 'all databases fail: exit code');
like($err, qr/^pg_pardump: error: could not dump any database\n.*hint: Fix the causes /m, 'all databases fail: message');
ok(!-e $dir, 'all databases fail: no directory is left');

# what is in a database that is there is not loaded twice
sql($node, 'postgres', 'CREATE TABLE once AS SELECT g FROM generate_series(1, 10) g');
($rc, $err, $dir) = dump_all($node, map { "--exclude-database=$_" } 'gate*', 'upper*', '"Upper"');
is("$rc $err", '0 ', 'a table in postgres');
($rc) = run_program('pg_parrestore', '--all-databases', '-d', $node->connstr('postgres'), $dir);
is($rc, 1, 'a table that is there: exit code');
is(value($node, 'postgres', 'SELECT count(*) FROM once'), 10, 'an existing table: its rows are not loaded twice');
sql($node, 'postgres', 'DROP TABLE once');

# ---- refusals

foreach my $case (
	[ [ '--pipe=cat >%d/%f' ], qr/--pipe and -f\/--file/ ],
	[ [ '--snapshot=x' ], qr/--all-databases and --snapshot/ ],
	[ [ '--create-slot', '--slot=x' ], qr/--all-databases and --create-slot/ ],
	[ [ '--clean-output' ], qr/--all-databases and --clean-output/ ],
	[ [ '-g', '--roles-only' ], qr/-g\/--globals-only and --roles-only cannot/ ],
	[ [ '-g', '--exclude-database=x' ], qr/-g\/--globals-only and --exclude-database cannot/ ],
	[ [ '--roles', '--target=x' ], qr/--all-databases and --roles/ ],
	[ ['shop'], qr/cannot dump all databases and a specific one \("shop"\) at the same time\n.*hint: Use -d / ],
	[ ['--dbname=x y=z'], qr/could not|invalid|missing/ ])
{
	my ($options, $message) = @$case;
	my ($rc, $err, $dir) = dump_all($node, @$options);
	is($rc, 1, "@$options: exit code");
	like($err, $message, "@$options: message");
	ok(!-e $dir, "@$options: no directory");
}
foreach my $option ('--exclude-database=x', '-g', '--roles-only', '--tablespaces-only', '--no-role-passwords')
{
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('no'), $option, 'postgres');
	is($rc, 1, "$option alone: exit code");
	like($err, qr/requires option --all-databases/, "$option alone");
}
($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('no'), '--roles', 'postgres');
like($err, qr/option --roles requires option --target/, '--roles without a target');
my $full = new_path('full');
mkdir $full or die;
append_to_file("$full/x", 'x');
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-f', $full, '-d', $node->connstr('postgres'));
is($rc, 1, 'a directory that is not empty: exit code');
like($err, qr/exists but is not empty\n.*hint: Specify another directory/, 'a directory that is not empty: message');
is(listing($full), 'x', 'a directory that is not empty: the file is not changed');

# ---- a look before the run

my ($rc2, $err2, $dir2, $out2) = dump_all($node, '--dry-run');
is($rc2, 0, '--dry-run: exit code');
is(scalar(() = $out2 =~ /^\[\d\/7\] .*, .*:$/mg), 7, '--dry-run: a heading for each database');
ok(!-e $dir2, '--dry-run: nothing is written');

# ---- maps that are none, or deceive

($rc, $err, $dir) = dump_all($node, '--exclude-database=gate*|*pp*');
my $map = slurp_file("$dir/map.json");
my $map_no = 0;
sub restore
{
	my ($text, @options) = @_;
	my $copy = new_path('map' . ++$map_no);
	system_or_bail('cp', '-a', $dir, $copy);
	unlink "$copy/map.json" or die;
	append_to_file("$copy/map.json", $text);
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases',
		'-d', $node->connstr('postgres'), @options, $copy);
	return ($rc, $err);
}
my ($oid) = $map =~ /"Name": "postgres", "Oid": (\d+)/;
foreach my $case (
	[ 'another directory', sub { s{"databases/$oid"}{"databases/../../$oid"} }, qr/not that of its OID/ ],
	[ 'an absolute path', sub { s{"databases/$oid"}{"/databases/$oid"} }, qr/not that of its OID/ ],
	[ 'a database twice', sub { s/"template1"/"postgres"/ }, qr/named twice/ ],
	[ 'a directory twice', sub { s/"Oid": 1, "Directory": "databases\/1"/"Oid": $oid, "Directory": "databases\/$oid"/ }, qr/named twice/ ],
	[ 'template0', sub { s/"template1"/"template0"/ }, qr/detail: A database has an impossible name/ ],
	[ 'an empty name', sub { s/"template1"/""/ }, qr/detail: A database has an impossible name/ ],
	[ 'a long name', sub { s/"template1"/'"' . 'x' x 64 . '"'/e }, qr/detail: Member "Name" is too long/ ],
	[ 'a zero byte', sub { s/"template1"/"tem\\u0000plate1"/ }, qr/detail: Member "Name" is invalid/ ],
	[ 'an unknown escape', sub { s/"template1"/"\\xtemplate1"/ }, qr/detail: Member "Name" is invalid/ ],
	[ 'bytes that are no UTF-8', sub { s/"template1"/"\xff"/ }, qr/not UTF-8/ ],
	[ 'an encoded name that is none', sub { s/"Name": "template1"/"Encoded-Name": "7g"/ }, qr/detail: Member "Name" has an invalid encoded text/ ],
	[ 'a large number', sub { s/"Oid": 1,/"Oid": 4294967296,/ }, qr/detail: Member "Oid" is out of range/ ],
	[ 'a number twice', sub { s/"Oid": 1,/$&$&/ }, qr/detail: Member "Oid" is repeated/ ],
	[ 'no name', sub { s/"Name": "template1", // }, qr/detail: Member "Name" is missing/ ],
	[ 'another state', sub { s/"complete"/"half"/ }, qr/detail: Member "State" has the unknown value "half"/ ],
	[ 'another script', sub { s/"globals.sql"/"..\/globals.sql"/ }, qr/detail: Member "Globals" has the unknown value "..\/globals.sql"/ ],
	[ 'a later version', sub { s/-Map": 1/-Map": 2/ }, qr/detail: The file has an unsupported version\.\n.*hint: Use the release of pg_pardump that wrote the file/ ],
	[ 'half of it', sub { $_ = substr $_, 0, length() / 2 }, qr/is not the map/ ],
	[ 'more than it', sub { $_ .= '{}' }, qr/detail: Its JSON contains text/ ],
	[ 'an archive that is not there', sub { s/"Oid": 1, "Directory": "databases\/1"/"Oid": 9, "Directory": "databases\/9"/ },
		qr/could not open file .*databases\/9\/toc.dat" of database "template1"/ ],
	[ 'another checksum', sub { s/SHA256": "../SHA256": "xx/ }, qr/globals.sql" was changed after the dump/ ])
{
	my ($what, $change, $message) = @$case;
	local $_ = $map;
	$change->();
	die "nothing is changed: $what" if $_ eq $map;
	my ($rc, $err) = restore($_);
	is($rc, 1, "map, $what: exit code");
	like($err, $message, "map, $what: message");
}
($rc, $err) = restore($map =~ s/"Name": "template1"/"Encoded-Name": "74656d706c61746531"/r, '--exclude-database=postgres');
is("$rc $err", '0 ', 'an encoded name');
($rc, $err) = restore($map =~ s/complete" \}\n/failed" }\n/r, '--exclude-database=postgres');
is($rc, 1, 'a database that was not dumped: exit code');
like($err, qr/warning: database "template1" could not be dumped, so there is no archive of it\n.*hint: .*--exclude-database\.\n.*could not restore 1 of 1 database\n.*detail: Failed databases: "template1"\.\n/s, 'a database that was not dumped: messages');

# ---- a directory of the first version of the format: a database failed, one has an odd
# name

($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--exclude-database=postgres|template1',
	'-d', $node->connstr('postgres'), data_file('format_1/cluster'));
is($rc, 1, 'format 1: exit code');
like($err, qr/^pg_parrestore: warning: database "broken" could not be dumped.*could not restore 1 of 3 databases\n/ms, 'format 1: message');
is(value($node, 'shop', 'SELECT sum(id) FROM orders'), 55, 'format 1: rows');
sql($node, 'postgres', $_) foreach ('DROP DATABASE shop', q{DROP DATABASE "it's a ""db"""});

# ---- verified

sub verify
{
	my ($copy) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', '--all-databases', '--verify', $copy);
	return ($rc, $err, $out);
}
($rc, $err, $out) = verify($dir);
is($rc, 0, '--verify: exit code');
is(scalar(() = $out =~ /^\[\d\/2\] \w+: verified, \d+ files?, /mg), 2, '--verify: each database');
# a hint says that the directory is not an archive
foreach my $command ([ 'pg_pardump', '--verify', $dir ], [ 'pg_parrestore', '-d', $node->connstr('postgres'), $dir ])
{
	($rc, undef, $err) = run_program(@$command);
	is($rc, 1, "$command->[0] without --all-databases: exit code");
	like($err, qr/error: .* is not an archive.*\n.*hint: .*below "\Q$dir\E\/databases"/s, "$command->[0] without --all-databases: message and hint");
}
my $damaged = new_path('damaged');
system_or_bail('cp', '-a', $dir, $damaged);
append_to_file(archive_of($damaged, 'postgres') . '/toc.dat', 'x');
($rc, $err, $out) = verify($damaged);
is($rc, 1, '--verify, a damaged archive: exit code');
like($err, qr/^pg_pardump:postgres: error: file "toc\.dat" .*^pg_pardump: error: verification of 1 of 2 databases failed\n.*detail: Damaged archives: "postgres"\.\n.*hint: Use another copy of the damaged archives\.\n.*hint: To restore the other databases, run "pg_parrestore --all-databases --exclude-database=postgres -d CONNINFO \Q$damaged\E"\.$/ms,
	'--verify, a damaged archive: message');
like($out, qr/^\[\d\/2\] template1: verified, \d+ files?, /m, '--verify: the other one is verified, too');
append_to_file("$damaged/globals.sql", "\n");
($rc, $err) = verify($damaged);
is($rc, 1, '--verify, another script: exit code');
like($err, qr/globals.sql" was changed after the dump/, '--verify, another script: message');
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--exclude-database=x', '--verify', $dir);
like($err, qr/--exclude-database and --verify cannot be used together/, '--verify is refused with --exclude-database');

# commands of psql are not executed
my $run = new_path('run');
my $globals = slurp_file("$dir/globals.sql");
foreach my $command ("\\! touch $run", "\\copy (select 1) to '$run'", "\\restrict x\n\\! touch $run")
{
	my $evil = new_path('evil');
	system_or_bail('cp', '-a', $dir, $evil);
	unlink "$evil/globals.sql", "$evil/map.json";
	my $text = "$globals\n$command\n";
	append_to_file("$evil/globals.sql", $text);
	require Digest::SHA;
	append_to_file("$evil/map.json", $map =~ s/SHA256": "\K\w+/Digest::SHA::sha256_hex($text)/er);
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--globals-only', '-d', $node->connstr('postgres'), $evil);
	is($rc, 1, 'a command of psql: exit code');
	like($err, qr/detail: It contains "\\(!|copy)", which pg_dumpall does not write\./, 'a command of psql: message');
	($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--globals-only', '-d', $node->connstr('postgres'), "$evil/globals.sql");
	is($rc, 1, 'a command of psql in a script alone: exit code');
	like($err, qr/detail: It contains "\\(!|copy)", which pg_dumpall does not write\./, 'a command of psql in a script alone: message');
	ok(!-e $run, 'a command of psql: it is not run');
}

# a script without a dump
my $script = new_path('script');
append_to_file($script, $globals =~ s/^(?=ALTER ROLE)/CREATE ROLE "of a \\! script"; /mr);
foreach my $what ('a script', 'a script, again')
{
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--globals-only', '-d', $node->connstr('postgres'), $script);
	is("$rc$err", '0', "$what: no messages");
	is(value($node, 'postgres', q{SELECT count(*) FROM pg_roles WHERE rolname = 'of a \! script'}), 1, "$what: its roles");
}
sql($node, 'postgres', q{DROP ROLE "of a \! script"});
foreach my $try ([ "-- nothing\n", qr/detail: The last line of a script of pg_dumpall, .* is missing from file "\Q$script\E"\./ ], [ undef, qr/error: could not read / ])
{
	my ($text, $message) = @$try;
	unlink $script;
	append_to_file($script, $text) if defined $text;
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--globals-only', '-d', $node->connstr('postgres'), $script);
	is($rc, 1, 'a script that is not complete, or missing: exit code');
	like($err, $message, 'a script that is not complete, or missing: message');
}

# ---- the budget

sql($node, 'postgres', 'CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper');
foreach my $db (@gates)
{
	my $rows = $db eq 'gate1' ? 40000 : 20000;
	sql($node, $db, <<"SQL");
CREATE TABLE gated (id int PRIMARY KEY, t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, $rows) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id % 2500 = 0 THEN
	pg_advisory_xact_lock_shared(CASE WHEN id = $rows THEN 43 ELSE 42 END)::text IS NOT NULL ELSE true END);
SQL
}
my @gated = ('-U', 'dumper', '--enable-row-security', '--max-table-segment-pages=20', '--no-role-passwords',
	'--exclude-database=*pp*');

# Locks are of a database: each has a session that holds its gates.
my %holders;
sub close_gates
{
	$holders{$_} = start_psql($node, $_) foreach @gates;
	$_->('SELECT pg_advisory_lock(42), pg_advisory_lock(43)') foreach values %holders;
	return;
}
sub open_gates
{
	$_->() foreach values %holders;
	%holders = ();
	return;
}

# Sessions of workers, which are named by their jobs.
sub workers
{
	my ($condition) = @_;
	return value($node, 'postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pg_pardump: %' AND ($condition)");
}

# Their processes, which are there before and after their sessions.  One that is to
# become pg_dump has our name for a moment.
sub worker_processes
{
	my ($dump) = @_;
	my @found = map { children($_) } children($dump->{pid});
	my $ours = sub { (eval { slurp_file("/proc/$_/comm") } // '') eq "pg_pardump\n" };
	@found = grep { $ours->() } @found;
	for (my $i = 0; @found > 3 && $i < 50; $i++)
	{
		sleep 0.1;
		@found = grep { $ours->() } @found;
	}
	return scalar @found;
}
my $at_gate = q{wait_event = 'advisory'};

close_gates();
my $dump = start_dump($node->connstr('postgres'), '--all-databases', '-j3', @gated);
my $most = 0;
my $look = sub {
	my $n = worker_processes($dump);
	$most = $n if $n > $most;
	return workers($at_gate) == 3 && $n == 3;
};
wait_in_run($dump, 'three workers are at gates', $look);
cmp_ok(value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_pardump'"), '<=', 3,
	'there are no more leaders than jobs');
$holders{gate1}->('SELECT pg_advisory_unlock(42)');
wait_in_run($dump, 'one of the largest is at its last chunk, and others have the rest', sub {
	return $look->() && workers("$at_gate AND datname = 'gate1'") == 1;
});
is(workers("datname <> 'gate1'"), 2, 'other databases use the free workers');
$holders{gate2}->('SELECT pg_advisory_unlock_all()');
$holders{gate3}->('SELECT pg_advisory_unlock(42)');
wait_in_run($dump, 'gate2 is done', sub { $look->(); return value($node, 'postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'gate2' AND application_name LIKE 'pg_pardump%'") eq 't' });
ok(!-e "$dump->{dir}/map.json" && !-e "$dump->{dir}/globals.sql", 'neither map nor globals exist before all databases are dumped');
open_gates();
is(end_dump($dump), 0, 'budget: exit code');
is($dump->{err}, '', 'budget: no messages');
is($most, 3, 'budget: the largest number of workers');
is(scalar(@{ read_map($dump->{dir})->{Databases} }), 5, 'the map contains all databases');
nothing_left_ok($node, $dump->{dir}, 'budget');

# ---- processes that are killed

sub stuck
{
	close_gates();
	my $dump = start_dump($node->connstr('postgres'), '--all-databases', '-j3', @gated);
	wait_in_run($dump, 'three workers are at gates', sub { return workers($at_gate) == 3 });
	return $dump;
}

# The process of a database's run, by the session that its worker has.
sub leader_of
{
	my ($dump, $db) = @_;
	foreach my $leader (children($dump->{pid}))
	{
		open my $fh, '<', "/proc/$leader/cmdline" or next;
		return $leader if children($leader) && socket_of($leader, $db);
	}
	die "no leader of $db";
}

# Is one of its sessions in that database?  The port of its Unix socket does not
# say; by the archive's directory, which it has open, all do.
sub socket_of
{
	my ($pid, $db) = @_;
	my $oid = value($node, 'postgres', "SELECT oid FROM pg_database WHERE datname = '$db'");
	return grep { (readlink($_) // '') =~ /\/databases\/$oid$/ } glob "/proc/$pid/fd/*";
}

$dump = stuck();
my $killed = leader_of($dump, 'gate1');
kill KILL => $killed;
wait_in_run($dump, 'its workers are gone', sub { return workers("datname = 'gate1'") == 0 });
open_gates();
is(end_dump($dump), 1, 'a leader is killed: exit code');
like($dump->{err}, qr/error: could not dump database "gate1"\n.*detail: Its process was terminated by signal 9/,
	'a leader is killed: message');
is_deeply([ map { $_->{Name} } grep { $_->{State} eq 'failed' } @{ read_map($dump->{dir})->{Databases} } ],
	['gate1'], 'a leader is killed: only its database failed');
ok(!-e archive_of($dump->{dir}, 'gate1'), 'a leader is killed: its database has no archive');
nothing_left_ok($node, $dump->{dir}, 'a leader is killed');

# a worker that is killed leaves its place in the budget
$dump = stuck();
my ($worker) = grep { slurp_file("/proc/$_/comm") eq "pg_pardump\n" } children(leader_of($dump, 'gate2'));
kill KILL => $worker;
wait_in_run($dump, 'another one has its place', sub {
	return !-e "/proc/$worker" && worker_processes($dump) == 3 && workers($at_gate) == 3;
});
open_gates();
is(end_dump($dump), 0, 'a worker is killed: exit code');
like($dump->{err}, qr/^pg_pardump:gate2: warning: a worker process was killed; .*^pg_pardump:gate2: detail: The worker was dumping /ms, 'a worker is killed: warning');
unlike($dump->{err}, qr/error/, 'a worker is killed: no error');

foreach my $signal (qw(INT TERM))
{
	$dump = stuck();
	kill $signal => $dump->{pid};
	is(end_dump($dump), 1, "$signal: exit code");
	open_gates();
	like($dump->{err}, qr/error: terminated by user/, "$signal: message");
	ok(!-e "$dump->{dir}/map.json" && !-e "$dump->{dir}/globals.sql", "$signal: neither map nor globals exist");
	is(join(' ', grep { !-f "$_/toc.dat" } glob "$dump->{dir}/databases/*"), '', "$signal: no half archive is left");
	nothing_left_ok($node, $dump->{dir}, $signal);
}
$dump = stuck();
kill KILL => $dump->{pid};
is(end_dump($dump), 128 + 9, 'KILL: exit code');
wait_until('no session is left', sub { return sessions($node) == 0 });
open_gates();
ok(!-e "$dump->{dir}/map.json" && !-e "$dump->{dir}/globals.sql", 'KILL: neither map nor globals exist');
wait_until('no half archive is left', sub { return !grep { !-f "$_/toc.dat" } glob "$dump->{dir}/databases/*" });
nothing_left_ok($node, $dump->{dir}, 'KILL');

# ---- a password that was given once is every run's

my $password = 'opensesame' . int rand 1e9;
sql($node, 'postgres', qq{CREATE ROLE "pass word" SUPERUSER LOGIN PASSWORD '$password'});
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
append_to_file($node->data_dir . '/pg_hba.conf', qq{local all "pass word" scram-sha-256\n$hba});
$node->reload;
ok( $node->poll_query_until('postgres', <<'SQL'), 'pg_hba.conf is read');
SELECT count(*) = 1 FROM pg_hba_file_rules WHERE auth_method = 'scram-sha-256'
SQL
($rc, $err) = dump_all($node, '--exclude-database=gate*', '-d', "user='pass word' password=wrong");
is($rc, 1, 'a wrong password: exit code');
like($err, qr/password authentication failed/, 'a wrong password');

{
	local $ENV{PGPASSWORD} = $password;
	($rc, $err) = dump_all($node, '--exclude-database=gate*', '-U', 'pass word');
	is("$rc $err", '0 ', 'PGPASSWORD');
}
($rc, $err, my $with) = dump_all($node, '--exclude-database=gate*', '-d', "user='pass word' password=$password");
is("$rc $err", '0 ', 'a password in a connection string');
unlike(join('', map { slurp_file("$with/$_") } qw(map.json globals.sql)), qr/$password/, 'the dump contains no password');

# ---- incremental

$node->safe_psql('postgres', "CREATE DATABASE inc$_") foreach 1 .. 2;
foreach my $db (qw(inc1 inc2))
{
	sql($node, $db, 'CREATE EXTENSION pg_pardump; CREATE TABLE t AS
		SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 20000) g');
}
my @incremental = ('--max-table-segment-pages=100', '--exclude-database=gate*|*pp*|postgres|template1');

# How many of the archive's files are also files of another one.
sub links
{
	my ($dir, $db) = @_;
	return scalar grep { (stat)[3] == 2 } glob archive_of($dir, $db) . '/*.dat*';
}
my ($rc3, $err3, $first) = dump_all($node, '--manifest-fingerprints', @incremental);
is("$rc3 $err3", '0 ', 'an incremental dump: exit code and messages of the first one');
sql($node, 'inc1', 'UPDATE t SET t = t WHERE id = 1');
create_database($node, 'inc3');
sql($node, 'inc3', 'CREATE EXTENSION pg_pardump');
($rc3, $err3, my $second) = dump_all($node, "--incremental=$first", '--incremental-copy-method=link', @incremental);
is("$rc3 $err3", '0 ', 'an incremental dump: exit code and messages');
cmp_ok(links($second, 'inc2'), '>', 3, 'an incremental dump: files of an unchanged database are reused');
is(links($second, 'inc2') - links($second, 'inc1'), 2, 'an incremental dump: the files with the old and the new row version are not reused');
ok(-f archive_of($second, 'inc3') . '/toc.dat', 'an incremental dump: a new database is dumped');
is((verify($second))[0], 0, 'an incremental dump: exit code of --verify');
($rc3, $err3, my $third) = dump_all($node, "--incremental=$full", @incremental);
is($rc3, 1, 'against a directory that is not a dump of a cluster: exit code');
like($err3, qr/map.json" does not exist/, 'against a directory that is not a dump of a cluster: message');
ok(!-e $third, 'against a directory that is not a dump of a cluster: no directory is created');

$node->stop;
done_testing();
