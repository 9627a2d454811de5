# pg_parrestore --resume: after any end of a restore it continues where that
# was.  All rows are there, none twice; what is not the same restore is refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run wait_until terminate);
use Pardump::Cluster qw(start_cluster start_psql make_database run_program dump_ok new_path value sql);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::DamagedArchive qw(damaged other_manifest);
use Pardump::Databases qw(empty_copy);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Gate qw(gate_sql hold_gates hold close_gate open_gate at_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('resume');
my $copies = 0;

# A row in the middle of a table waits at the gate, wherever it is loaded.
my $rows = 8000;
make_database($node, 'gated', options => 'TEMPLATE template0');
sql($node, 'gated', gate_sql($rows / 2, 7) . qq{
	CREATE TABLE big (id int CHECK (public.pass(id)), note text);
	INSERT INTO big SELECT i, repeat(md5(i::text), 3) FROM generate_series(1, $rows) i;
	ALTER TABLE big ADD PRIMARY KEY (id);
	CREATE TABLE small (id int PRIMARY KEY, big int REFERENCES big);
	INSERT INTO small SELECT i, i FROM generate_series(1, 100) i;
	CREATE TABLE other AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 2500) i;
	CREATE INDEX other_a ON other (a);
	SELECT lo_from_bytea(7000 + i, decode(md5(i::text), 'hex')) FROM generate_series(1, 30) i});
my $data = fingerprint($node, 'gated');
my $schema = schema_text($node, 'gated');

my $ours = dump_ok($node, 'gated', 'ours', 'pg_pardump', '--chunk-size=64kB');
my $stocks = new_path('stocks');
run_program('pg_dump', '-Fd', '-f', $stocks, '-d', $node->connstr('gated'));
my $custom = new_path('custom');
run_program('pg_dump', '-Fc', '-f', $custom, '-d', $node->connstr('gated'));
my %archives = (ours => $ours, stocks => $stocks, custom => $custom);

sub new_copy { return empty_copy($node, 'gated', 'copy' . ++$copies); }

# Until some rows are there, and others wait at the gate.
sub start_until_gate
{
	my ($db, $archive, @options) = @_;
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $archive, @options);
	wait_at_gate($node, $run, 1);
	wait_until('some rows are there', sub {
		return value($node, $db, q{SELECT count(*) > 0 FROM pardump_restore.done WHERE name LIKE 'rows %'}) eq 't';
	});
	return $run;
}

sub kill_leader
{
	my ($run) = @_;
	kill KILL => $run->{pid};
	return end_dump($run);
}

# All is there once, and nothing of the log.
sub resumed_ok
{
	my ($db, $archive, $what, @options) = @_;
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, '--resume', @options);
	ok($rc == 0 && $out eq '' && $err eq '', "$what: resumed") or diag("$rc $out$err");
	complete_ok($db, $what);
	return;
}

sub complete_ok
{
	my ($db, $what) = @_;
	same_database_ok($node, $db, $data, $schema, $what);
	is(value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}),
		0, "$what: no log is left");
	return;
}

sub refused_ok
{
	my ($db, $archive, $what, $message, @options) = @_;
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, @options);
	is("$rc $out", '1 ', "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

my $other_selection = qr/error: the restore cannot be resumed\n.*detail: The options that select the restored objects have changed\.
.*detail: Selection of the earlier run: "entries .*"\.\n.*detail: Selection of this command: "entries .*"\.\n.*hint: /;

# ---- the leader is killed; another number of workers continues

foreach my $kind (sort keys %archives)
{
	my ($db, $archive) = (new_copy(), $archives{$kind});
	my $run = start_until_gate($db, $archive, '-j3', '--chunk-size=64kB');
	kill_leader($run);
	open_gate();
	if ($kind eq 'ours')
	{
		refused_ok($db, $archive, 'without --resume',
			qr/error: an unfinished restore was found in this database.*--resume/s);
		my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr('gated'), '--target', $node->connstr($db), '-a', '-t', 'big');
		is($rc, 1, 'a copy of rows alone into it: exit code');
		like($err, qr/error: an unfinished restore was found in this database\n.*hint: To avoid loading rows twice/, 'a copy of rows alone into it: message');
		refused_ok($db, $stocks, 'another archive', qr/error: the restore cannot be resumed\n.*detail: The archive has changed\.\n.*hint: /, '--resume');
		refused_ok($db, damaged($ours, other_manifest(sub { s/"Jobs": \d+/"Jobs": 77/ })),
			'a changed manifest', qr/error: the restore cannot be resumed\n.*detail: The archive has changed\.\n.*hint: /, '--resume');
		refused_ok($db, $archive, 'other entries', $other_selection, '--resume', '-t', 'big');
		refused_ok($db, $archive, '--check', qr/--resume and --check cannot be used together/, '--resume', '--check');
	}
	if ($kind eq 'stocks')
	{
		refused_ok($db, $archive, 'other pieces', $other_selection, '--resume', '--chunk-size=32kB');
		utime 1, 1, (glob "$stocks/*.dat.gz")[0];
		refused_ok($db, $archive, 'a file has another time', qr/error: the restore cannot be resumed\n.*detail: The archive has changed\.\n.*hint: /,
			'--resume', '--chunk-size=64kB');
		# as a copy by tasks of an earlier version noted it
		sql($node, $db, q{UPDATE pardump_restore.run SET archive = 'a copy of database "d" in snapshot 1'});
		refused_ok($db, $archive, 'then and now', qr/error: the restore cannot be resumed\n.*detail: The archive has changed\.\n.*hint: /,
			'--resume', '--chunk-size=64kB');
		# --clean begins again
		my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '--clean', '--if-exists', '-j2');
		is("$rc $err", '0 ', '--clean forgets it');
		complete_ok($db, '--clean');
		next;
	}
	resumed_ok($db, $archive, $kind, '-j1', '--chunk-size=64kB');
	refused_ok($db, $archive, "$kind, again", qr/contains no restore to resume/, '--resume');
	is(sessions_left($node), 0, "$kind: no session left");
}

# what has been loaded is not loaded again: rows that are changed meanwhile stay so
{
	my $db = new_copy();
	my $run = start_until_gate($db, $custom, '-j2', '--chunk-size=64kB');
	kill_leader($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my ($n, $others) = map { value($node, $db, "SELECT count(*) FROM $_") } qw(big other);
	cmp_ok($n, '<', $rows, 'some rows are missing');
	sql($node, $db, q{UPDATE big SET note = 'seen'; UPDATE other SET b = 'seen'});
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', 'seen: resumed');
	is(value($node, $db, q{SELECT count(*), count(*) FILTER (WHERE note = 'seen') FROM big}),
		"$rows|$n", 'seen: pieces are not loaded again');
	is(value($node, $db, q{SELECT count(*) FILTER (WHERE b = 'seen') FROM other}), $others,
		'seen: tables are not loaded again');
}

# what has been done is told
{
	my ($db, $log, $page) = (new_copy(), new_path('log'), new_path('page'));
	my $run = start_until_gate($db, $ours, '-j2');
	kill_leader($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my ($files, $objects) = map { value($node, $db, "SELECT count(*) FROM pardump_restore.done WHERE name ~ '^$_ [0-9]'") } 'rows', 'large objects';
	$objects *= 30;
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '--resume', '-j2', '--progress', "--log-json=$log", "--report=$page");
	is($rc, 0, 'told: resumed');
	events_valid_ok('told', slurp_file($log), qw(resumed));
	my ($done, $expected) = $err =~ /^rows 100%, time \S+, (\S+ \S+) of ~(\S+ \w+), /m;
	my ($restored) = $err =~ /^  by this run: .* rows, (\S+ \S+) in /m;
	is("$done $expected", "$restored $restored", 'told: the line ends with the bytes that the summary has') or diag($err);
	unlike($err, qr/^rows.* 0 rows\/s/m, 'told: rows per second');
	like($err, qr/^completed the restore of archive ".*" into database ".*":\n  \d+ tables\n  by this run: .*\n  by earlier runs: ~\d\S* \S+ \($files of \d+ chunks, $objects of 30 large objects\)$/m, 'told: on the screen');
	like(slurp_file($log), qr/"event": ?"resumed", ?"chunks": ?$files, ?"pieces": ?0, ?"large_objects": ?$objects, ?"expected_bytes": ?[1-9]/, 'told: in the log');
	like(slurp_file($page), qr/<bdi>Restored by earlier runs<.bdi><.th><td><bdi>~\d\S* \S+ \($files of \d+ chunks/, 'told: on the page');
	cmp_ok(() = slurp_file($log) =~ /"chunk_end"/g, '<', $err =~ /^  by earlier runs: [^(]*\(\d+ of (\d+)/m ? $1 : 0, 'told: the others were loaded');
}

# pieces of a file, too, with the bytes that they have in the archive
{
	my ($db, $log) = (new_copy(), new_path('log'));
	# of a file that is complete there may be some, too
	my $count_pieces = sub { return value($node, $db, q{SELECT count(*) FROM pardump_restore.done p
		WHERE name ~ '^rows [0-9]+ piece [0-9]+$'
		AND NOT EXISTS (SELECT FROM pardump_restore.done f WHERE f.name = regexp_replace(p.name, ' piece .*', ''))}) };
	my $run = start_until_gate($db, $custom, '-j3', '--chunk-size=140kB');
	# the only table of more than one piece is at the gate
	wait_in_run($run, 'a piece is there', sub { return $count_pieces->() > 0 });
	kill_leader($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my $files = value($node, $db, q{SELECT count(*) FROM pardump_restore.done WHERE name ~ '^rows [0-9]+$'});
	my $pieces = $count_pieces->();
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '--resume', '-j2', '--chunk-size=140kB', '--progress', "--log-json=$log");
	is($rc, 0, 'pieces: resumed');
	my $text = $pieces > 1 ? "$pieces pieces" : '1 piece';
	like($err, qr/^  by earlier runs: [^(]*\($files of \d+ chunks, $text of other chunks, /m, 'pieces: on the screen');
	my ($bytes) = slurp_file($log) =~ /"event": ?"resumed", ?"chunks": ?$files, ?"pieces": ?$pieces, ?.*"expected_bytes": ?(\d+)/;
	my ($expected) = slurp_file($log) =~ /"event": ?"run".*"expected_bytes": ?(\d+)/;
	ok($bytes > 0 && $bytes < $expected, 'pieces: in the log') or diag(slurp_file($log));
	complete_ok($db, 'pieces');
}

# ---- a second run, while the first is at work

{
	my $db = new_copy();
	my $run = start_until_gate($db, $ours, '-j2');
	# they wait at the same time
	my @others = map { [ "a second run @$_", start_parrestore($node, $db, $ours, @$_) ] } [], ['--resume'];
	foreach my $other (@others)
	{
		my ($what, $refused) = @$other;
		is(end_dump($refused) . " $refused->{out}", '1 ', "$what: exit code");
		like($refused->{err}, qr/another pg_parrestore is restoring into this database/, "$what: message");
	}
	# one that waits for the end of the first must not begin then
	my $second = start_parrestore($node, $db, $ours, '-j2');
	wait_in_run($second, 'it has asked for the lock', sub {
		return value($node, $db, q{SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND query ~ '^(LOCK TABLE pardump_restore\.running|ROLLBACK$)' AND backend_start >
				(SELECT max(backend_start) FROM pg_stat_activity WHERE wait_event = 'advisory')});
	});
	open_gate();
	is(end_dump($run), 0, 'a second run: the first continues');
	is(end_dump($second), 1, 'a second run, which waits: exit code');
	like($second->{err}, qr/error: another pg_parrestore (is|was) restoring into this database/, 'a second run, which waits: message');
	complete_ok($db, 'a second run');
}

# ---- a run that was taken for dead finds that another one has taken over

{
	my $db = new_copy();
	my $run = start_until_gate($db, $ours, '-j1');
	sql($node, $db, 'UPDATE pardump_restore.run SET attempt = 2');
	open_gate();
	is(end_dump($run), 1, 'taken over: exit code');
	like($run->{err}, qr/another run of pg_parrestore has taken over this restore\n.*detail: .*\n.*hint: Wait until the other run has ended\.\n/, 'taken over: message');
	resumed_ok($db, $ours, 'taken over');
}

# ---- another session has begun the same rows, and not committed them: the run names it,
# and loads them when it is gone

{
	my $db = new_copy();
	my $run = start_until_gate($db, $ours, '-j2');
	kill_leader($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my (undef, $list) = run_program('pg_restore', '-l', $ours);
	my %done = map { $_ => 1 } split /\n/, value($node, $db, 'SELECT name FROM pardump_restore.done');
	my ($missing) = grep { !$done{$_} } map { "rows $_" } $list =~ /^(\d+);.* TABLE DATA public big /mg;
	my $other = start_psql($node, $db);
	my $pid = $other->('SELECT pg_backend_pid()');
	$other->("BEGIN; INSERT INTO pardump_restore.done (name, attempt, errors) VALUES ('$missing', 1, 0)");
	my ($entry) = $missing =~ /(\d+)/;
	$run = start_parrestore($node, $db, $ours, '--resume', '-j2');
	wait_in_run($run, 'it names the session', sub {
		return $run->{err} =~ /warning: still waiting after \d+ s for another session to restore entry $entry of the archive
.*detail: Process $pid of role "[^"]*", application "[^"]*", on the server's host has been in state "\w[^"]*" for \d+ s\.
.*hint: If that session is stopped/;
	});
	terminate($node, $pid);
	is(end_dump($run), 0, 'rows that another session has begun: exit code');
	complete_ok($db, 'rows that another session has begun');
}

# ---- Ctrl-C, and the first error with -e

{
	my $db = new_copy();
	my $run = start_until_gate($db, $custom, '-j2', '--chunk-size=64kB');
	kill INT => $run->{pid};
	is(end_dump($run), 1, 'Ctrl-C: exit code');
	open_gate();
	resumed_ok($db, $custom, 'Ctrl-C', '-j3', '--chunk-size=64kB');
}

# ---- the server crashes

{
	my $db = new_copy();
	my $run = start_until_gate($db, $ours, '-j2');
	$node->stop('immediate');
	kill_leader($run);
	$node->start;
	resumed_ok($db, $ours, 'crash and kill', '-j2');
}
{
	my $db = new_copy();
	my $run = start_until_gate($db, $custom, '-j2', '--chunk-size=64kB');
	$node->stop('immediate');
	$node->start;
	my $rc = end_dump($run);
	is($rc, 0, 'crash: the run continues') or diag($run->{err});
	complete_ok($db, 'crash');
}

# ---- a worker's session is lost, and its process

{
	my $db = new_copy();
	my $run = start_until_gate($db, $custom, '-j2', '--chunk-size=64kB');
	terminate($node, at_gate($node));
	open_gate();
	is(end_dump($run), 0, 'a session: exit code');
	complete_ok($db, 'a session');
}

# ---- half of the definitions: after an error each is committed by itself

{
	my $db = new_copy();
	sql($node, $db, 'CREATE TABLE public.other (a int, b text)');
	hold_gates($node, $db);
	hold('BEGIN; CREATE TABLE public.small ()');
	my $run = start_parrestore($node, $db, $ours);
	wait_until('it waits for the name, after the error', sub {
		return value($node, 'postgres', qq{SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = '$db' AND wait_event = 'transactionid'}) eq 't'
		  && value($node, $db, q{SELECT to_regclass('big') IS NOT NULL}) eq 't';
	});
	kill_leader($run);
	hold('ROLLBACK');
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my $big = value($node, $db, q{SELECT 'big'::regclass::oid});
	refused_ok($db, $ours, 'definitions', qr/\A[^\n]*errors ignored on restore: 1\n(?:.*detail: .*\n)?.*hint: .*\n\z/, '--resume', '--clean');
	complete_ok($db, 'definitions');
	is(value($node, $db, q{SELECT 'big'::regclass::oid}), $big, 'definitions: the table is not created again');
}

# ---- half of the large objects

{
	my $db = new_copy();
	hold_gates($node, $db);
	hold('BEGIN; SELECT lo_create(7005)');
	my $run = start_parrestore($node, $db, $ours);
	wait_until('it waits for the large object', sub {
		return value($node, 'postgres', qq{SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = '$db' AND wait_event = 'transactionid'}) eq 't';
	});
	kill_leader($run);
	hold('ROLLBACK');
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	resumed_ok($db, $ours, 'large objects');
}

# ---- half of the rest

{
	my $db = new_copy();
	sql($node, $db, q{CREATE SCHEMA trap; CREATE FUNCTION trap.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c
				JOIN pg_constraint k ON k.conrelid = c.objid AND k.contype = 'f') THEN
				PERFORM pg_advisory_xact_lock_shared(8);
			END IF; END$$;
		CREATE EVENT TRIGGER trap ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION trap.wait()});
	hold_gates($node, $db);
	close_gate(8);
	my $run = start_parrestore($node, $db, $ours, '-j2');
	wait_at_gate($node, $run, 1);
	kill_leader($run);
	open_gate();
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	sql($node, $db, 'SET client_min_messages = error; DROP SCHEMA trap CASCADE');
	resumed_ok($db, $ours, 'rest', '-j2');
}

# ---- errors that were ignored are not forgotten

{
	my $db = new_copy();
	sql($node, $db, 'CREATE TABLE public.small (id int, big int)');
	my $run = start_until_gate($db, $ours, '-j2');
	kill_leader($run);
	open_gate();
	refused_ok($db, $ours, 'errors', qr/errors ignored on restore: 1\n(?:.*detail: .*\n)?.*hint: .*\n\z/, '--resume', '-j2');
	is(value($node, $db, 'SELECT (SELECT count(*) FROM big), (SELECT count(*) FROM small)'), "$rows|100",
		'errors: rows');
}

# ---- roles

{
	my $db = new_copy();
	sql($node, $db, q{CREATE ROLE loader LOGIN; CREATE TABLE public.other (a int, b text);
		ALTER TABLE public.other OWNER TO loader});
	my ($rc, $out, $err) = run_parrestore($node, $db, $ours, '-a', '-t', 'other', '--role=loader');
	is("$rc $out", '0 ', 'no CREATE: exit code');
	like($err, qr/warning: the restore cannot be resumed if it is interrupted\n.*detail: The role may not create a schema .*\n.*hint: .*GRANT CREATE ON DATABASE .* TO /,
		'no CREATE: a warning');
	is(value($node, $db, 'SELECT count(*) FROM other'), 2500, 'no CREATE: rows');
	refused_ok($db, $ours, 'no CREATE', qr/contains no restore to resume/, '-a', '-t', 'other', '--role=loader', '--resume');

	# without a log there is a lock that anybody can have: it is told who has it
	sql($node, $db, 'CREATE ROLE hostile LOGIN');
	my $hostile = start_psql($node, $db);
	$hostile->('SET SESSION AUTHORIZATION hostile; SELECT pg_advisory_lock(1885434468, i) FROM generate_series(0, 99) i');
	my $pid = $hostile->('SELECT pg_backend_pid()');
	refused_ok($db, $ours, 'a held lock', qr/could not lock the target database for the restore\n.*Process $pid of role "\w+" holds/s,
		'-a', '-t', 'other', '--role=loader');
	is(value($node, $db, 'SELECT count(*) FROM other'), 2500, 'a held lock: no row twice');

	# one that waits for it finds the log of a run that has come in between
	my $waiting = start_parrestore($node, $db, $ours, '-a', '-t', 'other', '--role=loader');
	wait_in_run($waiting, 'it wants the lock', sub { value($node, $db, q{SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'SELECT pg_catalog.pg_try_advisory_lock%'}) });
	$hostile->('RESET SESSION AUTHORIZATION; CREATE SCHEMA pardump_restore; SELECT pg_advisory_unlock_all()');
	is(end_dump($waiting), 1, 'a log in between: exit code');
	like($waiting->{err}, qr/error: schema "pardump_restore" in database "[^"]+" of the target belongs to another role/, 'a log in between: message');
	is(value($node, $db, 'SELECT count(*) FROM other'), 2500, 'a log in between: no row twice');
	sql($node, $db, 'DROP SCHEMA pardump_restore');

	# with a log there is none: only its owner can keep a restore from it
	my ($free, $run) = (new_copy());
	my $other = start_psql($node, $free);
	$other->('SET SESSION AUTHORIZATION hostile; SELECT pg_advisory_lock(1885434468, i) FROM generate_series(0, 99) i');
	$run = start_until_gate($free, $ours, '-j2');
	is(value($node, $free, q{SELECT count(*), count(backend_xid), count(backend_xmin) FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE relation = 'pardump_restore.running'::regclass AND mode = 'ShareUpdateExclusiveLock' AND granted}), '1|0|0',
		'the lock of the log holds up nothing');
	foreach my $mode ('ACCESS SHARE', 'SHARE UPDATE EXCLUSIVE', 'ACCESS EXCLUSIVE')
	{
		my (undef, undef, $err) = run_program('psql', '-XqAt', '-d', $node->connstr($free), '-c',
			'SET SESSION AUTHORIZATION hostile', '-c', "BEGIN; LOCK TABLE pardump_restore.running IN $mode MODE NOWAIT");
		like($err, qr/permission denied for schema pardump_restore/, "the lock of the log: hostile, $mode");
	}
	kill_leader($run);
	open_gate();
	# but it might be another run
	$pid = $other->('SELECT pg_backend_pid()');
	($rc, $out, $err) = run_parrestore($node, $free, $ours, '--resume', '-j2');
	is("$rc $out", '0 ', 'with all advisory locks held: resumed');
	like($err, qr/^pg_parrestore: warning: another pg_parrestore might be restoring into this database\npg_parrestore: detail: Process $pid of role "\w+" holds .*\n.*detail: It has no restore journal, .*\n.*hint: .*\n\z/,
		'with all advisory locks held: a warning');
	complete_ok($free, 'with all advisory locks held');

	sql($node, $db, "GRANT CREATE ON DATABASE $db TO loader; SET ROLE loader;
		CREATE SCHEMA pardump_restore; CREATE TABLE pardump_restore.run (attempt int); CREATE TABLE pardump_restore.done ()");
	refused_ok($db, $ours, "another role's", qr/schema "pardump_restore" in database "[^"]+" of the target belongs to another role/, $_)
	  foreach '--resume', '--clean', '--no-owner';
}

$node->stop;
done_testing();
