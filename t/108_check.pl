# What would end a run while it reads is told before it: by --check, and by every
# run, before anything is removed, made or written.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value
  nothing_left_ok listing has_slot_bug dump_ok);
use Pardump::Command qw(check_list check_verdict fake_pg_dump refused_ok accepted_ok system_faults);
use Pardump::EventSchema qw(events_valid_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('check');
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
-- tables only, as pg_read_all_data until 18: from 19 on it reads large objects too
CREATE ROLE reader;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader;
CREATE ROLE backup LOGIN IN ROLE reader;
CREATE ROLE "odd""' role" LOGIN IN ROLE reader;
CREATE TABLE orders AS SELECT g AS id FROM generate_series(1, 1000) g;
CREATE TABLE hidden AS SELECT g AS id FROM generate_series(1, 1000) g;
CREATE TABLE "hid
den" AS SELECT g AS id FROM generate_series(1, 1000) g;
SQL
my $connstr = $node->connstr('shop');
my @db = ('-d', $connstr, '--no-sync');
my @backup = (@db, '-U', 'backup');

# --check finds that: lines, without their end.  Nothing is told elsewhere, or left.
sub check_ok
{
	my ($what, $lines, @options) = @_;
	my $errors = grep { /^error: / } @$lines;
	my $warnings = @$lines - $errors;
	my ($rc, $out, $err) = run_program('pg_pardump', '--check', @options);
	my @found = split /\n(?!  (?:detail|hint): )/, check_list($out);
	my $sum = pop @found;
	is($rc, $errors ? 1 : 0, "$what, --check: exit code");
	is($sum, check_verdict($errors, $warnings), "$what, --check: sum");
	is(scalar(@found), scalar(@$lines), "$what, --check: findings") or diag($out);
	like($found[$_] // '', qr/^$lines->[$_]/, "$what, --check: finding") foreach 0 .. $#$lines;
	unlike($err, qr/^pg_pardump: (error|warning)/m, "$what, --check: no messages");
	nothing_left_ok($node, $node->host, "$what, --check");
	return;
}

# A run is refused with this message, once as the first one, which leaves no
# directory, and once over an archive, which stays whole.  Returns what it says.
sub stopped_ok
{
	my ($what, $message, @options) = @_;
	my $old = accepted_ok("$what: an archive of before", @db);
	my $before = listing($old);
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', $old, '--clean-output', @options);
	is($rc, 1, "$what, --clean-output: exit code");
	like($err, $message, "$what, --clean-output: message");
	is(listing($old), $before, "$what, --clean-output: nothing removed, nothing added");
	is((run_program('pg_pardump', '--verify', $old))[0], 0, "$what: the archive of before is whole");
	$before = listing($old);
	my ($rc_check) = run_program('pg_pardump', '--check', '-f', $old, '--clean-output', @options);
	is($rc_check, 1, "$what, --check --clean-output: exit code");
	is(listing($old), $before, "$what, --check --clean-output: nothing removed, nothing added");
	return refused_ok($message, $what, @options);
}

# ---- nothing to find

{
	my $dir = new_path('none');
	check_ok('all is well', [], @db, '-f', $dir, '-j2');
	ok(!-e $dir, 'no problems: no directory is created');
	check_ok('all is well, no directory given', [], @db);
	check_ok('all is well, --pipe', [], @db, '--pipe', "touch $dir.%f");
	is_deeply([ glob "$dir*" ], [], 'no problems, --pipe: no command was run');
}

# ---- the directory

{
	my $dir = new_path('not_empty');
	mkdir $dir;
	check_ok('an empty directory', [], @db, '-f', $dir);
	append_to_file("$dir/file", 'mine');
	check_ok('not empty', ['error: directory ".*" exists but is not empty\n  hint: .*'], @db, '-f', $dir);
	check_ok('not ours', ['error: .*was not written by pg_pardump\n  detail: '], @db, '-f', $dir, '--clean-output');
	is(slurp_file("$dir/file"), 'mine', 'not ours: the file is not changed');
}

{
	my $dir = new_path('not_mine');
	mkdir $dir;
	chmod 0500, $dir or die "could not change mode of \"$dir\": $!";
	check_ok('not writable', ['error: could not write to directory ".*not_mine": Permission denied$'], @db, '-f', $dir);
	check_ok('the parent is not writable', ['error: could not write to directory ".*not_mine": Permission denied$'],
		@db, '-f', "$dir/below");
}

# ---- room: of 1000 rows, 40 kB

{
	my $library = system_faults();
	my $parent = new_path('full');
	mkdir $parent or die "could not make directory \"$parent\": $!";
	my $found = qr/warning: the file system of directory ".*" has \S+ (?:kB|bytes) free, but about \S+ kB of data will be read/;
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{SYSTEM_FAULT} = 'statvfs _full';
	sql($node, 'shop', 'CREATE TABLE more AS SELECT g AS id FROM generate_series(1, 10000) g');
	check_ok('room', ["$found\n  detail: Compressed rows usually take "], @db, '-f', "$parent/new");
	check_ok('room, uncompressed', ["$found\n  detail: The data will not be compressed"], @db, '-f', "$parent/new", '-Z0');
	check_ok('room for a little', [], @db, '-f', "$parent/new", '-t', 'none_but', '-t', 'orders', '-s');
	# a run has made it by then
	$ENV{SYSTEM_FAULT} = 'statvfs /new';
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-f', "$parent/new");
	is($rc, 0, 'room: a dump is only warned');
	like($err, qr/^pg_pardump: $found\npg_pardump: detail: /, 'room: the warning');

	# what is there of an archive will be free
	check_ok('room, of an archive', [], @db, '-f', "$parent/new", '--clean-output', '-t', 'orders');
	check_ok('room, of a small archive', [$found], @db, '-f', "$parent/new", '--clean-output');
	sql($node, 'shop', 'DROP TABLE more');
}

# ---- what stops the look itself is a finding, too

check_ok('no database', ['error: connection to server .* database "none" does not exist$'],
	'-d', $node->connstr('none'));
check_ok('no such table', ['error: pg_dump failed with exit code 1$'], @db, '-t', 'none');

# ---- tables that pg_dump may not lock: it names one, we all

{
	sql($node, 'shop', <<'SQL');
CREATE ROLE unprivileged LOGIN;
CREATE SCHEMA closed;
CREATE TABLE closed.t (a serial);
GRANT SELECT ON closed.t, closed.t_a_seq, orders TO unprivileged;
SQL
	my $list = 'may not read 4 of the tables and sequences of the database: closed\.t, closed\.t_a_seq, public\."hid\\\\x0aden", public\.hidden\.';
	check_ok('tables', ["error: pg_dump failed with exit code 1\n  detail: Role \"unprivileged\" $list\n  hint: As a superuser, run: GRANT .* TO unprivileged;"],
		@db, '-U', 'unprivileged');
	stopped_ok('tables', qr/pg_dump: error: .*permission denied.*pg_pardump: error: pg_dump failed with exit code 1\npg_pardump: detail: .*$list/s,
		@db, '-U', 'unprivileged');
	check_ok('tables, but not of what is dumped', [], @db, '-U', 'unprivileged', '-t', 'orders');
	sql($node, 'shop', 'DROP SCHEMA closed CASCADE');
}

# ---- connections

sql($node, 'shop', 'CREATE ROLE few LOGIN IN ROLE pg_read_all_data, pg_read_all_stats CONNECTION LIMIT 3');
check_ok('connections', ['error: server "[^"]+" has only 2 of 3 needed connections left\n  hint: Use --jobs=1, or increase .*'],
	@db, '-U', 'few', '-j3');
{
	# pg_dump has no connection, and writes to standard error
	sql($node, 'shop', 'CREATE ROLE one LOGIN CONNECTION LIMIT 1; GRANT pg_read_all_data TO one');
	my ($rc, $out) = run_program('sh', '-c', 'exec "$@" 2>&1', 'sh', 'pg_pardump', '--check', @db, '-U', 'one');
	like($out, qr/\Apg_dump: error: .*too many connections .*\nerror: server "[^"]+" has only 0 of \d needed connections left\n  hint: End other sessions, or increase .*\nerror: pg_dump failed /,
		'a message of pg_dump: on a line of its own');
}
check_ok('connections, just enough', ['warning: server "[^"]+" has no spare connection\n  detail: .*\n  hint: Use --jobs=1, or increase .*'],
	@db, '-U', 'few', '-j2');

check_ok('connections of tasks', ['warning: server "[^"]+" has only 2 of 6 needed connections left\n  detail: Number of concurrent tasks: 3\.\n  hint: Run fewer tasks at a time'],
	@db, '-U', 'few', '--tasks=3');
check_ok('connections of a task', [], @db, '-U', 'few', '--tasks=1');
{
	my ($rc, $out, $err) = run_program('prlimit', '--nofile=80:100', 'pg_pardump', '--check', @db, '-j19');
	like($out, qr/^error: the limit of open files \(100\) is too low for 19 jobs: 102 are needed\n  hint: Use a smaller number for --jobs/m, 'open files');
	($rc, $out, $err) = run_program('prlimit', '--nofile=80:100', 'pg_pardump', '--check', @db, '-j18');
	unlike("$out$err", qr/open files/, 'open files: the soft limit is raised');
}

# ---- warnings of pg_dump and of the server are counted, although they are not in the list

{
	my $warns = fake_pg_dump('warns', 'echo "pg_dump: warning: of a test" >&2; exec "$PG_DUMP" "$@"');
	my ($rc, $out, $err) = run_program('pg_pardump', '--check', @db, "--pg-dump=$warns");
	is("$rc $err" . check_list($out), "0 pg_dump: warning: of a test\n1 problem (errors: 0, warnings: 1); a run would start\n", 'a warning of pg_dump');

	sql($node, 'shop', q{SET client_min_messages = error; ALTER DATABASE shop SET default_tablespace = 'missing'});
	($rc, $out, $err) = run_program('pg_pardump', '--check', @db);
	is($rc, 0, 'warnings of the server: exit code');
	like($err, qr/^WARNING:  invalid value for parameter "default_tablespace": "missing"$/m, 'warnings of the server: shown');
	like(check_list($out), qr/\A(\d+) problems? \(errors: 0, warnings: \g{-1}\); a run would start\n\z/, 'warnings of the server: counted');
	sql($node, 'shop', 'ALTER DATABASE shop RESET default_tablespace');
}

# ---- a slot

{
	my @slot = (@db, '--create-slot', '--slot=moving');
	my @release = has_slot_bug($node) ? 'warning: PostgreSQL [0-9.]+ has a bug that can give a new replication slot a wrong snapshot\n  detail: .*\n  hint: ' : ();
	check_ok('a slot', [ @release, 'error: a logical replication slot requires wal_level to be "logical" on the server, ',
		'error: could not open a replication connection: .*max_wal_senders.*\n  hint: .*max_wal_senders' ], @slot);
	$node->append_conf('postgresql.conf', "wal_level = logical\nmax_wal_senders = 4\nmax_replication_slots = 2");
	$node->restart;
	check_ok('a slot, wal_level', [@release], @slot);
	sql($node, 'shop', 'CREATE ROLE plain LOGIN IN ROLE pg_read_all_data');
	check_ok('a slot, REPLICATION', [ @release, 'error: could not open a replication connection: .*\n  hint: The role needs the attribute REPLICATION' ],
		@slot, '-U', 'plain');
	sql($node, 'shop', "SELECT pg_create_logical_replication_slot(name, 'pgoutput') FROM unnest('{moving,other}'::text[]) name");
	check_ok('a slot, none free', [ @release, 'error: replication slot "moving" already exists\n  hint: ', 'error: all 2 replication slots of the server are in use\n  hint: ' ], @slot);
	is(value($node, 'shop', 'SELECT count(*) FROM pg_replication_slots'), 2, 'a slot: --check creates none');
	sql($node, 'shop', 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
}

# ---- what a run would do

{
	make_database($node, 'planned');
	sql($node, 'planned', <<'SQL');
CREATE UNLOGGED TABLE large (id int, t text);
ALTER TABLE large ALTER t SET STORAGE PLAIN;
INSERT INTO large SELECT g, repeat('x', 7000) FROM generate_series(1, 4000) g;
CREATE TABLE small AS SELECT 1 AS a;
SELECT lo_from_bytea(0, 'contents');
SQL
	my @planned = ('-d', $node->connstr('planned'));
	my $plan = sub {
		my ($rc, $out) = run_program('pg_pardump', '--check', @planned, '-f', new_path('planned'), '-j3', @_);
		is($rc, 0, "a plan, @_: exit code");
		return $out;
	};
	my $sizes = qr/about \d\d\.\d MB/;
	my $begin = qr/\AA run would dump 2 tables, $sizes:\n  large objects: 1\n/;
	like($plan->('-Z', 'gzip', '-r', '1M'), qr/$begin  read by: COPY, \d\d\.\d MB \(the database has no extension pg_pardump\)
  jobs: 3
  connections to the source: 4 needed, \d+ free
  archive: about [6-9]\.\d+ MB with gzip
  free disk space: \d.*
  minimum time: 0:[23]\d at 1\.\d+ MB\/s \(--max-rate\)
no problems found\n\z/, 'a plan: by COPY');
	sql($node, 'planned', 'CREATE EXTENSION pg_pardump');
	like($plan->('-Z0', '--chunk-size=8MB', '--expected-rate=1MB'), qr/$begin  read by: extension, \d\d\.\d MB; COPY, \d.*
  jobs: 3
  connections to the source: 4 needed, \d+ free
  archive: $sizes
  free disk space: \d.*
  expected time: 0:[345]\d, with 3 jobs at 1\.00 MB\/s
no problems found\n\z/, 'a plan: by the extension');
	like($plan->('-s'), qr/\AA run would dump 0 tables, about 0 bytes:\n/, 'a plan: no rows');

	my $archive = dump_ok($node, 'planned', 'an archive to plan with', 'pg_pardump');

	# the same as an event
	my $event = sub {
		my ($what, @command) = @_;
		my ($rc, $out) = run_program(@command, '--check', '-j3', '--log-json=-');
		is($rc, 0, "$what: exit code");
		events_valid_ok($what, $out, qw(check_plan check));
		my ($event) = grep { $_->{event} eq 'check_plan' } map { decode_json($_) } split /\n/, $out;
		is_deeply([ @{$event}{qw(jobs tables large_objects)} ], [ 3, 2, 1 ], "$what: numbers");
		cmp_ok($event->{expected_bytes}, '>', 1_000_000, "$what: bytes to read");
		return $event;
	};
	my $made = $event->('the event of a dump', 'pg_pardump', @planned, '-f', new_path('planned'), '-Z', 'gzip');
	is($made->{compression}, 'gzip', 'the event of a dump: compression');
	cmp_ok($made->{archive_bytes}, '<', $made->{expected_bytes}, 'the event of a dump: a compressed archive is smaller');
	cmp_ok($made->{free_bytes}, '>', 0, 'the event of a dump: the disk');
	cmp_ok($made->{extension_bytes}, '>', $made->{expected_bytes} / 2, 'the event of a dump: the extension reads the large table');
	cmp_ok($made->{extension_bytes}, '<', $made->{expected_bytes}, 'the event of a dump: large objects are read with COPY');
	is($made->{connections_needed}, 4, 'the event of a dump: connections');
	cmp_ok($made->{connections_free_min}, '>', 4, 'the event of a dump: free connections');
	is($made->{connections_free_max}, $made->{connections_free_min}, 'the event of a dump: a superuser sees all sessions');
	$made = $event->('a rate', 'pg_pardump', @planned, '--expected-rate=1MB');
	cmp_ok($made->{expected_seconds}, '>=', $made->{expected_bytes} / 1024 / 1024 - 0.1, 'a rate: the event has the expected time');
	my $loaded = $event->('the event of a restore', 'pg_parrestore', '-d', $node->connstr('postgres'), $archive);
	is_deeply([ grep { exists $loaded->{$_} } qw(compression archive_bytes free_bytes extension_bytes connections_needed) ], [], 'the event of a restore: no archive, and no source');

	make_database($node, 'planned_copy');
	my ($rc, $out) = run_program('pg_pardump', '--check', @planned, '-j2', '--target', $node->connstr('planned_copy'));
	is($rc, 0, 'a plan of a copy: exit code');
	like($out, qr/\AA run would copy 2 tables, $sizes, into database "planned_copy":\n  target: .*:\d+\n  large objects: 1\n  read by: .*\n  jobs: 2\n  connections to the source: 3 needed, \d+ free\n  connections to the target: at most 5 needed, \d+ free\nno problems found\n\z/,
		'a plan of a copy');
	($rc, $out) = run_program('pg_parrestore', '--check', '-d', $node->connstr('planned_copy'), '-j2', $archive);
	is($rc, 0, 'a plan of a restore: exit code');
	like($out, qr/\AA run would restore 2 tables, about \d+.* MB, into database "planned_copy":\n  target: .*:\d+\n  archive: "\Q$archive\E", database "\w+", dumped \d{4}-\d\d-\d\d \d\d:\d\d\n  rows: [\d,]+, indexes and constraints: \d+\n  large objects: 1\n  jobs: 2\n  connections to the target: at most 5 needed, \d+ free\nno problems found\n\z/,
		'a plan of a restore');

	# the list of problems is last, each with its lines
	$out = (run_program('pg_pardump', '--check', @planned, '-U', 'few', '-j2'))[1];
	like($out, qr/\AA run would .*\n(?:  [a-z].*\n)+warning: .*\n  detail: .*\n  hint: .*\n(?:error: .*\n(?:  (?:detail|hint): .*\n)+)?\d problems? \(errors: \d, warnings: 1\); a run would (?:fail|start)\n\z/,
		'a plan with problems: these follow it');
}

# ---- events

{
	my $dir = new_path('not_empty');
	mkdir $dir;
	append_to_file("$dir/file", 'mine');
	my ($rc, $out, $err) = run_program('pg_pardump', '--check', @db, '-f', $dir, '--log-json=-');
	is($rc, 1, 'events: exit code');
	like(check_list($err), qr{^error: directory ".*" exists but is not empty\n  hint: .*\n1 problem \(errors: 1, warnings: 0\); a run would fail\n$}, 'events: the list is elsewhere');
	like($out, qr/"event":"error","message":"directory .*"event":"error","hint":.*"event":"failed".*"event":"check","errors":1,"warnings":0}\n$/s, 'events');
}

# ---- other options

foreach my $other ('--dry-run', '--verify=x', '--report=x')
{
	my ($rc, undef, $err) = run_program('pg_pardump', '--check', $other, $other =~ /verify/ ? () : @db);
	is($rc, 1, "with $other: exit code");
	my ($name) = $other =~ /^(--[a-z-]+)/;
	like($err, qr/options (?=.*--check).*\Q$name\E.* cannot be used together/, "with $other: message");
}

# ---- large objects

my @oids = split /\n/, value($node, 'shop', 'SELECT lo_from_bytea(0, \'contents\') FROM generate_series(1, 7)');
@oids = sort { $a <=> $b } @oids;
my $unprivileged = sub {
	my ($role, $n, $list) = @_;
	# pg_dump may have met the first one by then, and said so before
	return qr/^(?:pg_dump: error: .*\n)?pg_pardump: error: role "\Q$role\E" may not read $n of the 7 large objects\npg_pardump: detail: $list\.\npg_pardump: hint: .*\n$/;
};
{
	my $err = stopped_ok('large objects', $unprivileged->('backup', 7, "Large objects: " . join(', ', @oids[ 0 .. 4 ]) . ' and 2 more'), @backup);
	my ($hint) = $err =~ /with psql and as a superuser: (.*\\gexec)$/m;
	accepted_ok('large objects, but none is dumped', @backup, '-B');
	accepted_ok('large objects, but only a table is dumped', @backup, '-t', 'orders');
	sql($node, 'shop', "GRANT SELECT ON LARGE OBJECT $_ TO PUBLIC") foreach @oids[ 0, 1 ];
	sql($node, 'shop', "GRANT SELECT ON LARGE OBJECT $oids[2] TO reader");
	sql($node, 'shop', "ALTER LARGE OBJECT $oids[3] OWNER TO backup");
	sql($node, 'shop', "GRANT UPDATE ON LARGE OBJECT $oids[4] TO backup");
	# an owner may take the privilege from himself
	sql($node, 'shop', "ALTER LARGE OBJECT $oids[5] OWNER TO backup;
		REVOKE SELECT ON LARGE OBJECT $oids[5] FROM backup");
	refused_ok($unprivileged->('backup', 3, "Large objects: $oids[4], $oids[5], $oids[6]"),
		'large objects of many kinds', @backup);
	refused_ok($unprivileged->('backup', 3, "Large objects: $oids[4], $oids[5], $oids[6]"),
		'large objects, by --role', @db, '--role', 'backup');
	sql($node, 'shop', 'ALTER DATABASE shop SET lo_compat_privileges = on');
	accepted_ok('large objects without privileges', @backup);
	sql($node, 'shop', 'ALTER DATABASE shop RESET lo_compat_privileges');

	sql($node, 'shop', $hint);
	accepted_ok('large objects, granted as the hint says', @backup);
	sql($node, 'shop', "REVOKE SELECT ON LARGE OBJECT $oids[6] FROM backup");
	refused_ok($unprivileged->('backup', 1, "Large objects: $oids[6]"), 'one large object', @backup);

	# quoted by whom it is for
	$err = refused_ok(qr/role "odd"' role" may not read/, 'an odd role', @db, '-U', "odd\"' role");
	($hint) = $err =~ /with psql and as a superuser: (.*\\gexec)$/m;
	sql($node, 'shop', $hint);
	accepted_ok('an odd role, granted as the hint says', @db, '-U', "odd\"' role");
}

# doc/privileges.md
{
	my ($grant) = slurp_file("$FindBin::RealBin/../doc/privileges.md") =~ /^(    DO \$\$.*?^    \$\$;)$/ms;
	die 'no statement in privileges.md' if !defined $grant;
	sql($node, 'shop', $grant);
	accepted_ok('large objects, granted as privileges.md says', @backup);
}

# ---- row security

sql($node, 'shop', <<'SQL');
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
ALTER TABLE "hid
den" ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON hidden FOR SELECT USING (id <= 10);
SQL
# pg_dump may have met it too by then, and said so before
stopped_ok('row security',
	qr/^pg_pardump: error: row security prevents the role from reading all rows of 2 tables\n(?=.*detail: Tables: public\."hid\\x0aden", public\.hidden\.\n).*hint: .*BYPASSRLS.*--enable-row-security.*\n$/ms,
	@backup);
accepted_ok('row security, but not of what is dumped', @backup, '-t', 'orders');
accepted_ok('row security, --enable-row-security', @backup, '--enable-row-security');

# ---- both at once

sql($node, 'shop', "REVOKE SELECT ON LARGE OBJECT $oids[0] FROM backup, PUBLIC");
refused_ok(qr/of 2 tables\n.*may not read 1 of the 7 large objects\n/s, 'two errors', @backup);
check_ok('two errors', [
	'error: row security prevents .* of 2 tables\n  detail: Tables: public\."hid\\\\x0aden", public\.hidden\.\n  hint: ',
	"error: role \"backup\" may not read 1 of the 7 large objects\n  detail: Large objects: $oids[0]\\.\n  hint: Use --no-large-objects .*\\\\gexec\$" ], @backup);
check_ok('two errors, but not of what is dumped', [], @backup, '-t', 'orders');
sql($node, 'shop', 'ALTER ROLE backup SUPERUSER');
accepted_ok('a superuser', @backup);
sql($node, 'shop', 'ALTER ROLE backup NOSUPERUSER');

# ---- the lock table, which is made for 10 x 20 objects

{
	$node->append_conf('postgresql.conf', "max_locks_per_transaction = 10\nmax_connections = 20");
	$node->restart;
	make_database($node, 'many');
	sql($node, 'many', <<'SQL');
SELECT format('CREATE TABLE t%s (id int PRIMARY KEY)', n) FROM generate_series(1, 205) n \gexec
SQL
	my @many = ('-d', $node->connstr('many'), '--no-sync');
	check_ok('locks', [ 'warning: the server\'s lock table might be too small for this run\n  detail: It has room for 200 tables and indexes; 2\d\d are locked, and the jobs lock about 8 more at a time\.' ],
		@many, '-j8');
	check_ok('locks, of one table', [], @many, '-j8', '-t', 't1');
}

$node->stop;
done_testing();
