# pg_parrestore --resume with unlogged tables and sequences, which a crash of the
# target empties: these are restored again, and nothing else, wherever the restore
# was.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run);
use Pardump::Cluster qw(start_cluster make_database run_program dump_ok new_path value sql pg_major);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(gate_sql hold_gates close_gate open_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('resume_unlogged');
my $copies = 0;

# A row in the middle of a table waits at the gate.  What is loaded before it is of
# both kinds; what comes after the rows is made of unlogged ones.
make_database($node, 'gated', options => 'TEMPLATE template0');
sql($node, 'gated', gate_sql(30000, 7) . q{
	CREATE UNLOGGED TABLE big (id int CHECK (public.pass(id)), note text);
	INSERT INTO big SELECT i, repeat(md5(i::text), 3) FROM generate_series(1, 60000) i;
	ALTER TABLE big ADD PRIMARY KEY (id);
	CREATE UNLOGGED TABLE child (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, big int REFERENCES big,
		parent int REFERENCES child);
	INSERT INTO child (big, parent) SELECT i, nullif(i - 1, 0) FROM generate_series(1, 100) i;
	CREATE UNLOGGED TABLE leaf AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 3000) i;
	CREATE INDEX leaf_a ON leaf (a);
	CREATE TABLE lasting AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 3000) i;
	CREATE TABLE large AS SELECT i AS id, repeat(md5(i::text), 3) AS note FROM generate_series(1, 9000) i;
	CREATE SEQUENCE counted; SELECT setval('counted', 12);
	CREATE MATERIALIZED VIEW total AS SELECT count(*), sum(id) FROM big;
	CREATE MATERIALIZED VIEW totals AS SELECT count(*), sum(id) FROM big});
# 14 has none
sql($node, 'gated', q{CREATE UNLOGGED SEQUENCE fast; SELECT setval('fast', 4711)}) if pg_major($node) >= 15;
my $data = fingerprint($node, 'gated');
my $schema = schema_text($node, 'gated');

my $ours = dump_ok($node, 'gated', 'ours', 'pg_pardump', '--chunk-size=64kB');
my $custom = new_path('custom');
run_program('pg_dump', '-Fc', '-f', $custom, '-d', $node->connstr('gated'));
my %archives = (chunks => $ours, pieces => $custom);

sub start_until_gate
{
	my ($archive, @options) = @_;
	my $db = empty_copy($node, 'gated', 'copy' . ++$copies);
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $archive, '--chunk-size=64kB', @options);
	wait_at_gate($node, $run, 1);
	# the worker that waits may be the one that reads pieces of a table for all
	my $enough = $archive eq $ours
	  ? '(SELECT count(*) FROM lasting) = 3000 AND (SELECT count(*) FROM leaf) = 3000 AND (SELECT count(*) FROM big) > 0'
	  : '(SELECT count(*) FROM big) > 0';
	wait_in_run($run, 'all that can be is there', sub { value($node, $db, "SELECT $enough") eq 't' });
	return ($db, $run);
}

sub kill_leader
{
	my ($run) = @_;
	kill KILL => $run->{pid};
	end_dump($run);
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	return;
}

sub resumed_ok
{
	my ($db, $archive, $what, @source) = @_;
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, '--resume', '-j2', '--chunk-size=64kB');
	ok($rc == 0 && $out eq '' && $err eq '', "$what: resumed") or diag("$rc $out$err");
	same_database_ok($node, $db, @source ? @source : ($data, $schema), $what);
	is(value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}),
		0, "$what: no log is left");
	return;
}

sub refused_ok
{
	my ($db, $archive, $what, $message) = @_;
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $out", '1 ', "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

my $told = qr/error: a crash of the target has emptied unlogged tables, or reset unlogged sequences\n.*Relations: .*\n.*A run with --resume restores them again\./;

# ---- the server crashes while rows are loaded, and the leader is killed or is not

foreach my $kind (sort keys %archives)
{
	my $archive = $archives{$kind};
	my ($db, $run) = start_until_gate($archive, '-j3');
	$node->stop('immediate');
	kill KILL => $run->{pid};
	end_dump($run);
	$node->start;
	is(value($node, $db, 'SELECT (SELECT count(*) FROM big) + (SELECT count(*) FROM leaf)'), '0',
		"$kind, killed: what a crash takes");
	my $left = value($node, $db, 'SELECT (SELECT count(*) FROM lasting), (SELECT count(*) FROM large)');
	sql($node, $db, q{UPDATE lasting SET b = 'seen'; UPDATE large SET note = 'seen'});
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', "$kind, killed: resumed");
	is(value($node, $db, q{SELECT (SELECT count(*) FROM lasting WHERE b = 'seen'), (SELECT count(*) FROM large WHERE note = 'seen')}),
		$left, "$kind, killed: what was not lost is not loaded again");
	sql($node, $db, q{UPDATE lasting SET b = md5(a::text); UPDATE large SET note = repeat(md5(id::text), 3)});
	same_database_ok($node, $db, $data, $schema, "$kind, killed");

	($db, $run) = start_until_gate($archive, '-j3');
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 1, "$kind, continues: exit code");
	like($run->{err}, $told, "$kind, continues: message");
	like($run->{err}, qr/Relations: public\.big, public\.child, public\.leaf\.$/m, "$kind, continues: tables");
	is(value($node, $db, 'SELECT (SELECT count(*) FROM big), (SELECT count(*) FROM child), (SELECT count(*) FROM leaf)'),
		'0|0|0', "$kind, continues: no row is loaded after the crash");
	resumed_ok($db, $archive, "$kind, continues");
}

# ---- a server that is stopped as it should be loses nothing

{
	my ($db, $run) = start_until_gate($custom, '-j2');
	kill_leader($run);
	$node->restart;
	my ($n, $leaf) = map { value($node, $db, "SELECT count(*) FROM $_") } qw(big leaf);
	cmp_ok($n, '>', 0, 'restart: rows are there');
	sql($node, $db, q{UPDATE big SET note = 'seen'; UPDATE leaf SET b = 'seen'});
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', 'restart: resumed');
	is(value($node, $db, q{SELECT count(*), count(*) FILTER (WHERE note = 'seen'), (SELECT count(*) FROM leaf WHERE b = 'seen') FROM big}),
		"60000|$n|$leaf", 'restart: nothing is loaded again');
}

# ---- a crash when all rows are there, and sequences are set, and views are made

# In a database that waits at gate 8 after the nth of these commands.
sub start_until_command
{
	my ($archive, $tag, $condition, @options) = @_;
	my $db = empty_copy($node, 'gated', 'copy' . ++$copies);
	sql($node, $db, qq{CREATE SCHEMA trap; CREATE FUNCTION trap.wait() RETURNS event_trigger LANGUAGE plpgsql AS \$\$BEGIN
			IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c WHERE $condition) THEN
				PERFORM pg_advisory_xact_lock_shared(8);
			END IF; END\$\$;
		CREATE EVENT TRIGGER trap ON ddl_command_end WHEN TAG IN ('$tag') EXECUTE FUNCTION trap.wait()});
	hold_gates($node, $db);
	close_gate(8);
	my $run = start_parrestore($node, $db, $archive, '--chunk-size=64kB', @options);
	wait_at_gate($node, $run, 1);
	return ($db, $run);
}

sub drop_trap { sql($node, $_[0], 'SET client_min_messages = error; DROP SCHEMA IF EXISTS trap CASCADE'); return; }

my $a_key = q{EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.objid AND k.contype = 'f')};
my ($position, $set) = pg_major($node) >= 15 ? ('SELECT last_value FROM fast', 4711) : ('SELECT last_value FROM counted', 12);

{
	my ($db, $run) = start_until_command($ours, 'ALTER TABLE', $a_key, '-j1');
	wait_in_run($run, 'a sequence is set', sub { value($node, $db, $position) == $set });
	is(value($node, $db, 'SELECT count(*) FROM big'), 60000, 'keys: rows are there');
	$node->stop('immediate');
	kill KILL => $run->{pid};
	end_dump($run);
	$node->start;
	isnt(value($node, $db, $position), 4711, 'keys: the position is gone') if pg_major($node) >= 15;
	drop_trap($db);
	resumed_ok($db, $ours, 'keys');
}

# the second of two views, with the first one and all keys made; then the run
# continues, and fills the second from a table that is empty
{
	my ($db, $run) = start_until_command($ours, 'REFRESH MATERIALIZED VIEW', q{c.object_identity = 'public.totals'}, '-j2');
	wait_in_run($run, 'the other one is filled', sub {
		return value($node, $db, q{SELECT ispopulated FROM pg_matviews WHERE matviewname = 'total'}) eq 't';
	});
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 1, 'views: exit code');
	my @all = (qw(big child), pg_major($node) >= 15 ? qw(child_id_seq fast) : (), 'leaf');
	like($run->{err}, $told, 'views: message');
	like($run->{err}, qr/Relations: @{[ join ', ', map { "public\\.$_" } @all ]}\.$/m, 'views: tables and sequences');
	is(value($node, $db, 'SELECT (SELECT count FROM totals), (SELECT count FROM total)'), '0|60000', 'views: one is wrong');
	drop_trap($db);

	# the run that would load it all is killed, too
	hold_gates($node, $db);
	close_gate(7);
	$run = start_parrestore($node, $db, $ours, '--resume', '-j2', '--chunk-size=64kB');
	wait_at_gate($node, $run, 1);
	kill_leader($run);
	open_gate();

	# rows come without triggers
	sql($node, $db, q{CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.note := 'other'; RETURN NEW; END$$;
		CREATE TRIGGER t BEFORE INSERT ON big FOR EACH ROW EXECUTE FUNCTION other()});
	refused_ok($db, $ours, 'triggers', qr/cannot be resumed\n.*detail: Rows of unlogged table public\.big are missing, and the table has triggers\.\n.*Disable the triggers/);
	sql($node, $db, 'ALTER TABLE big DISABLE TRIGGER t');
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', 'views: resumed');
	sql($node, $db, 'DROP TRIGGER t ON big; DROP FUNCTION other()');
	same_database_ok($node, $db, $data, $schema, 'views');
}

# ---- logged and unlogged tables that depend on each other

make_database($node, 'mixed', options => 'TEMPLATE template0');
sql($node, 'mixed', gate_sql(5000, 7) . q{
	CREATE UNLOGGED TABLE gated AS SELECT i AS id, 'row'::text AS note FROM generate_series(1, 9000) i;
	ALTER TABLE gated ADD CHECK (public.pass(id));
	CREATE TABLE parted (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);
	CREATE UNLOGGED TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (1000);
	CREATE TABLE high PARTITION OF parted FOR VALUES FROM (1000) TO (2000);
	INSERT INTO parted SELECT i, 'row' FROM generate_series(1, 1999) i;
	CREATE TABLE refers AS SELECT i AS id, 'row'::text AS note FROM generate_series(500, 1500) i;
	ALTER TABLE refers ADD FOREIGN KEY (id) REFERENCES parted;
	CREATE UNLOGGED TABLE circle (id int PRIMARY KEY, next int REFERENCES circle, low int REFERENCES low);
	INSERT INTO circle SELECT i, 1 + i % 300, i FROM generate_series(1, 300) i;
	CREATE TABLE parent (id int, note text);
	CREATE UNLOGGED TABLE heir () INHERITS (parent);
	INSERT INTO parent SELECT i, 'row' FROM generate_series(1, 200) i;
	INSERT INTO heir SELECT i, 'row' FROM generate_series(1, 100) i;
	CREATE MATERIALIZED VIEW counts AS
		SELECT (SELECT count(*) FROM parted) AS parted, (SELECT count(*) FROM parent) AS parent});
my @mixed = (fingerprint($node, 'mixed'), schema_text($node, 'mixed'));
my $mixed = dump_ok($node, 'mixed', 'mixed', 'pg_pardump', '--chunk-size=64kB');
my $counts = 'SELECT (SELECT count(*) FROM low), (SELECT count(*) FROM circle), (SELECT count(*) FROM heir),
	(SELECT count(*) FROM high), (SELECT count(*) FROM ONLY parent), (SELECT count(*) FROM refers)';

# A chunk of one table waits at gate 7 until all rows are there that can be: where keys
# are made, tables without them come first.
sub start_mixed
{
	my ($db, $expected, @options) = @_;
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $mixed, '-j2', '--chunk-size=64kB', @options);
	wait_at_gate($node, $run, 1);
	wait_in_run($run, 'all other rows are there', sub { value($node, $db, $counts) eq $expected });
	return $run;
}

sub crash
{
	my ($run, $what) = @_;
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 1, "$what: exit code");
	like($run->{err}, $told, "$what: message");
	return;
}

# twice while rows are loaded, when all else is done, and when rows are loaded again
{
	my $db = empty_copy($node, 'mixed', 'mixed_copy');
	crash(start_mixed($db, '999|300|100|1000|200|1001'), 'mixed');
	is(value($node, $db, $counts), '0|0|0|1000|200|1001', 'mixed: no row is loaded after the crash');
	sql($node, $db, q{UPDATE ONLY parent SET note = 'seen'; UPDATE high SET note = 'seen'; UPDATE refers SET note = 'seen'});
	crash(start_mixed($db, '999|300|100|1000|200|1001', '--resume'), 'mixed, again');
	is(value($node, $db, $counts), '0|0|0|1000|200|1001', 'mixed, again: no row is loaded after the crash');
	# what removes the log is undone by the crash, and is not to be done after it
	sql($node, $db, q{CREATE SCHEMA trap; CREATE FUNCTION trap.wait() RETURNS event_trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_advisory_xact_lock_shared(8); END';
		CREATE EVENT TRIGGER trap ON ddl_command_end WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION trap.wait()});
	hold_gates($node, $db);
	close_gate(8);
	my $run = start_parrestore($node, $db, $mixed, '-j2', '--chunk-size=64kB', '--resume');
	wait_at_gate($node, $run, 1);
	crash($run, 'mixed, at the end');
	drop_trap($db);
	crash(start_mixed($db, '999|0|100|1000|200|1001', '--resume'), 'mixed, with keys');
	my ($rc, undef, $err) = run_parrestore($node, $db, $mixed, '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', 'mixed: resumed');
	is(value($node, $db, q{SELECT count(*) FROM parent WHERE note = 'seen'}) . ' ' .
		value($node, $db, q{SELECT count(*) FROM high WHERE note = 'seen'}) . ' ' .
		value($node, $db, q{SELECT count(*) FROM refers WHERE note = 'seen'}),
		'200 1000 1001', 'mixed: rows of logged tables are not loaded again');
	sql($node, $db, q{UPDATE ONLY parent SET note = 'row'; UPDATE high SET note = 'row'; UPDATE refers SET note = 'row'});
	same_database_ok($node, $db, @mixed, 'mixed');
}

# a key of a logged table fails after the crash, as rows of the unlogged one are missing
{
	my $condition = q{EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.objid AND k.contype = 'f')
		AND c.object_identity = 'public.refers'};
	my ($db, $run) = start_until_command($mixed, 'ALTER TABLE', $condition, '-j1');
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 1, 'a key fails: exit code');
	like($run->{err}, qr/violates foreign key constraint/, 'a key fails: it does');
	like($run->{err}, $told, 'a key fails: message');
	drop_trap($db);
	resumed_ok($db, $mixed, 'a key fails', @mixed);
}

# ---- with data alone: the triggers of the tables are as they were before, and other
# tables keep the rows that they had

{
	my $db = empty_copy($node, 'mixed', 'mixed_data');
	run_program('pg_restore', '-s', '-d', $node->connstr($db), $mixed);
	sql($node, $db, q{INSERT INTO parent SELECT 0, 'before' FROM generate_series(1, 5);
		CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.note := 'seen'; RETURN NEW; END$$;
		CREATE TRIGGER t BEFORE INSERT ON heir FOR EACH ROW EXECUTE FUNCTION seen()});
	crash(start_mixed($db, '999|0|100|1000|205|0', '-a'), 'data only');
	my ($rc, undef, $err) = run_parrestore($node, $db, $mixed, '-a', '--resume', '-j2', '--chunk-size=64kB');
	is("$rc $err", '0 ', 'data only: resumed');
	is(value($node, $db, $counts), '999|300|100|1000|205|1001', 'data only: all rows are there once');
	is(value($node, $db, q{SELECT count(*) FROM heir WHERE note = 'seen'}), 100, 'data only: triggers have seen them');
}

# ---- a sequence alone is unlogged: a crash before its position is set does not matter

SKIP:
{
	skip 'there are no unlogged sequences before 15', 6 if pg_major($node) < 15;
	make_database($node, 'position', options => 'TEMPLATE template0');
	sql($node, 'position', gate_sql(5000, 7) . q{CREATE UNLOGGED SEQUENCE fast; SELECT setval('fast', 4711);
		CREATE TABLE gated AS SELECT i AS id FROM generate_series(1, 9000) i; ALTER TABLE gated ADD CHECK (public.pass(id));
		CREATE MATERIALIZED VIEW last AS SELECT 1 AS one});
	my $archive = dump_ok($node, 'position', 'position', 'pg_pardump');
	my $db = empty_copy($node, 'position', 'position_copy');
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $archive, '-j2');
	wait_at_gate($node, $run, 1);
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 0, 'position, rows: exit code') or diag($run->{err});
	is(value($node, $db, 'SELECT last_value FROM fast'), 4711, 'position, rows: it is set');
	($db, $run) = start_until_command($archive, 'REFRESH MATERIALIZED VIEW', 'true', '-j1');
	crash($run, 'position, view');
	drop_trap($db);
	($run->{rc}, undef, $run->{err}) = run_parrestore($node, $db, $archive, '--resume', '--chunk-size=64kB');
	is("$run->{rc} $run->{err}", '0 ', 'position, view: resumed');
	is(value($node, $db, 'SELECT last_value FROM fast'), 4711, 'position, view: it is set again');
}

# ---- other tables are unlogged now

{
	my ($db, $run) = start_until_gate($ours, '-j2');
	kill_leader($run);
	open_gate();
	sql($node, $db, 'ALTER TABLE leaf SET LOGGED');
	refused_ok($db, $ours, 'logged', qr/cannot be resumed\n.*detail: The set of unlogged tables has changed since the restore started\.\n/);
	sql($node, $db, 'ALTER TABLE leaf SET UNLOGGED; ALTER TABLE large SET UNLOGGED');
	refused_ok($db, $ours, 'unlogged', qr/cannot be resumed\n.*detail: The set of unlogged tables has changed since the restore started\.\n/);
	sql($node, $db, 'ALTER TABLE large SET LOGGED');
	resumed_ok($db, $ours, 'back');
}

# a table that was logged when the server crashed, and is unlogged again, still has
# its rows, and one into which rows were inserted after the crash has those
{
	my ($db, $run) = start_until_gate($ours, '-j2');
	kill_leader($run);
	open_gate();
	sql($node, $db, 'ALTER TABLE leaf SET LOGGED');
	$node->stop('immediate');
	$node->start;
	refused_ok($db, $ours, 'logged, crash',
		qr/cannot be resumed\n.*detail: The set of unlogged tables has changed since the restore started\.\n.*hint: Run the same command without --resume, into an empty database or with --clean\.$/m);
	sql($node, $db, 'ALTER TABLE leaf SET UNLOGGED');
	is(value($node, $db, 'SELECT count(*) FROM leaf'), 3000, 'unlogged, crash: rows are still there');
	my $refused = qr/cannot be resumed\n.*detail: Unlogged table public\.leaf contains rows that were not loaded after the crash of the target\.\n.*hint: Truncate the table, and resume the restore\.$/m;
	refused_ok($db, $ours, 'unlogged, crash', $refused);
	sql($node, $db, q{TRUNCATE leaf; INSERT INTO leaf VALUES (0, 'other')});
	refused_ok($db, $ours, 'other rows', $refused);
	sql($node, $db, 'TRUNCATE leaf');
	resumed_ok($db, $ours, 'truncated');
}

# rows that came by way of a partitioned table, into partitions of both kinds
{
	make_database($node, 'parts', options => 'TEMPLATE template0');
	sql($node, 'parts', q{CREATE TABLE parted (id int) PARTITION BY LIST ((id % 2));
		CREATE TABLE even PARTITION OF parted FOR VALUES IN (0);
		CREATE UNLOGGED TABLE odd PARTITION OF parted FOR VALUES IN (1);
		INSERT INTO parted SELECT generate_series(1, 100);
		CREATE TABLE gate (id int CHECK (id > 0)); INSERT INTO gate VALUES (1)});
	my $archive = new_path('parts');
	run_program('pg_dump', '-Fc', '--load-via-partition-root', '-f', $archive, '-d', $node->connstr('parts'));
	my $db = empty_copy($node, 'parts', 'parts_copy');
	sql($node, $db, q{CREATE SCHEMA trap; CREATE FUNCTION trap.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.gate') THEN
				ALTER TABLE public.gate ADD CHECK (id > 1);
			END IF; END$$;
		CREATE EVENT TRIGGER trap ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION trap.refuse()});
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-e');
	like("$rc $err", qr/^1 .*violates check constraint/, 'parts: it ends');
	$node->stop('immediate');
	$node->start;
	($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume');
	like("$rc $err", qr/^1 .*error: the restore cannot be resumed\n.*detail: A crash of the target has emptied some, but not all, partitions of table public\.parted\.\n/,
		'parts: refused');
}

$node->stop;
done_testing();
