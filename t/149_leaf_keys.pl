# pg_parrestore: foreign keys of partitioned tables are made partition by
# partition, and come out as by stock pg_restore, names, parents and all; where
# rows are in the way, too.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until);
use Pardump::Cluster qw(start_cluster sql value new_path run_program make_database);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(hold_gates close_gate open_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('leaf_keys');
$node->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = ddl");
$node->restart;

# fillfactor makes partitions large enough with few rows
make_database($node, 'source', options => 'TEMPLATE template0');
sql($node, 'source', q{
	CREATE TABLE customer (id int PRIMARY KEY, b int, UNIQUE (id, b));
	INSERT INTO customer SELECT g, g % 3 FROM generate_series(0, 999) g;
	CREATE TABLE region (id int PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE region_1 PARTITION OF region DEFAULT;
	INSERT INTO region SELECT generate_series(0, 9);
	CREATE TABLE "Big; t" (id int, "Cust; (" int, b int, r int) PARTITION BY RANGE (id);
	CREATE TABLE low PARTITION OF "Big; t" FOR VALUES FROM (0) TO (25000) WITH (fillfactor = 10);
	CREATE TABLE middle (r int, b int, "Cust; (" int, id int) PARTITION BY RANGE (id);
	CREATE TABLE middle_1 (b int, id int, r int, "Cust; (" int) WITH (fillfactor = 10);
	ALTER TABLE middle ATTACH PARTITION middle_1 FOR VALUES FROM (25000) TO (50000);
	CREATE TABLE "Middle 2" PARTITION OF middle FOR VALUES FROM (50000) TO (75000) WITH (fillfactor = 10);
	ALTER TABLE "Big; t" ATTACH PARTITION middle FOR VALUES FROM (25000) TO (75000);
	CREATE TABLE small PARTITION OF "Big; t" FOR VALUES FROM (75000) TO (80000);
	CREATE TABLE nothing PARTITION OF "Big; t" DEFAULT;
	INSERT INTO "Big; t" SELECT g, g % 1000, g % 1000 % 3, g % 10 FROM generate_series(0, 79999) g;
	ALTER TABLE "Big; t" ADD CONSTRAINT "Fk; one" FOREIGN KEY ("Cust; (") REFERENCES customer;
	ALTER TABLE "Big; t" ADD CONSTRAINT fk_two FOREIGN KEY ("Cust; (", b) REFERENCES customer (id, b)
		MATCH FULL ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
	ALTER TABLE "Big; t" ADD CONSTRAINT fk_region FOREIGN KEY (r) REFERENCES region;
	ALTER TABLE low ADD CONSTRAINT fk_rival CHECK (b < 1000);
	ALTER TABLE "Big; t" ADD CONSTRAINT fk_rival FOREIGN KEY (r) REFERENCES customer;
	CREATE TABLE twins (id int, c int) PARTITION BY LIST (id);
	CREATE TABLE twins_1 PARTITION OF twins FOR VALUES IN (1) WITH (fillfactor = 10);
	CREATE TABLE twins_2 PARTITION OF twins FOR VALUES IN (2) WITH (fillfactor = 10);
	INSERT INTO twins SELECT 1 + g % 2, g % 1000 FROM generate_series(0, 59999) g;
	ALTER TABLE twins ADD CONSTRAINT twin_b FOREIGN KEY (c) REFERENCES customer;
	ALTER TABLE twins ADD CONSTRAINT twin_a FOREIGN KEY (c) REFERENCES customer});

# Every foreign key, and how many triggers it has on which table.
sub keys_of
{
	my ($db) = @_;
	return value($node, $db, q{SELECT string_agg(x, E'\n' ORDER BY x COLLATE "C") FROM (
		SELECT concat_ws(' ', c.conrelid::regclass, c.conname, c.confrelid::regclass, 'of', p.conrelid::regclass, p.conname,
			c.convalidated, c.conislocal, c.coninhcount, c.conindid::regclass, pg_get_constraintdef(c.oid),
			(SELECT string_agg(concat_ws(' ', t.tgrelid::regclass, t.tgfoid::regproc, t.tgenabled, t.tgparentid <> 0), ', '
				ORDER BY t.tgrelid::regclass::text, t.tgfoid::regproc::text)
			FROM pg_trigger t WHERE t.tgconstraint = c.oid)) AS x
		FROM pg_constraint c LEFT JOIN pg_constraint p ON p.oid = c.conparentid WHERE c.contype = 'f') y});
}

# Restores by both; returns the keys, what each said, and what ours validated.
my $n = 0;

sub both
{
	my ($archive, @options) = @_;
	my ($theirs, $ours) = map { empty_copy($node, 'source', $_ . ++$n) } qw(theirs ours);
	my ($rc1, undef, $err1) = run_program('pg_restore', '-d', $node->connstr($theirs), $archive);
	my $offset = -s $node->logfile;
	my ($rc2, undef, $err2) = run_parrestore($node, $ours, $archive, @options);
	my @validated = slurp_file($node->logfile, $offset) =~ /ALTER TABLE ONLY .* VALIDATE CONSTRAINT (.*)/g;
	is("$rc2 " . errors_ignored($err2), "$rc1 " . errors_ignored($err1), "@options: exit code and number of errors") or diag($err2);
	is(keys_of($ours), keys_of($theirs), "@options: the keys are those of pg_restore");
	return ($err1, $err2, $ours, sort @validated);
}

my $archive = new_path('archive');
run_program('pg_dump', '-Fd', '-Z0', '-f', $archive, '-d', $node->connstr('source'));
my ($err1, $err2, $db, @validated) = both($archive, '-j2');
is("$err1$err2", '', 'no messages');
is(join(', ', @validated), join(', ', ('"Fk; one"') x 3, ('fk_two') x 3),
	'partitions of two keys are validated by themselves: not those of rivals, nor of what references a partitioned table');
like(keys_of($db), qr/^middle_1 Fk; one customer of middle Fk; one t f 1 /m, 'the keys of the partition after the restore');
my ($rc) = run_program('psql', '-Xqc', 'UPDATE middle_1 SET "Cust; (" = 5000 WHERE id = 30000', '-d', $node->connstr($db));
isnt($rc, 0, 'the key of the partition refuses an update');
value($node, $db, 'UPDATE customer SET b = 7 WHERE id = 10');
is(value($node, $db, 'SELECT count(*) FROM "Big; t" WHERE b = 7'), 80, 'the key cascades an update of the referenced table');
(undef, undef, undef, @validated) = both($archive, '-j2', '--index-jobs=1');
is("@validated", '', 'one session: no key of a partition is validated');

# --- rows that do not fit

sql($node, 'source', q{SET session_replication_role = replica; UPDATE "Middle 2" SET "Cust; (" = 5000 WHERE id = 60000});
my $violated = new_path('violated');
run_program('pg_dump', '-Fc', '-Z0', '-f', $violated, '-d', $node->connstr('source'));
($err1, $err2, $db) = both($violated, '-j3');
my @errors = map { join '|', sort /(ERROR: .* violates foreign key constraint .*|Key .* is not present in .*)/g } $err1, $err2;
like($errors[0], qr/ERROR:  insert or update on table "Middle 2" violates foreign key constraint "fk_two"/, "error of pg_restore");
is($errors[1], $errors[0], 'pg_parrestore reports the same errors') or diag($err2);
is(value($node, $db, q{SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conname IN ('Fk; one', 'fk_two')}), 0, 'violated keys do not exist afterwards');

# --- the table's own statement fails, which ends the run

$db = empty_copy($node, 'source', 'ended');
sql($node, $db, q{CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
		IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_two' AND conrelid = to_regclass('public."Big; t"') AND convalidated) THEN
			RAISE 'refused';
		END IF; END$$;
	CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse()});
my $offset = -s $node->logfile;
(my $ended, undef, $err2) = run_parrestore($node, $db, $archive, '-j2', '-e');
is($ended, 1, '-e: exit code');
like($err2, qr/^pg_parrestore: error: could not execute query: ERROR:  refused$/m, '-e: message');
unlike($err2, qr/could not drop/, '-e: no message about keys that could not be dropped');
like(slurp_file($node->logfile, $offset), qr/VALIDATE CONSTRAINT fk_two/, '-e: keys of partitions had been validated');
is(value($node, $db, q{SELECT count(*) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
	WHERE k.contype = 'f' AND c.relispartition AND k.conparentid = 0}), 0, '-e: no separate key of a partition is left');

# --- the leader is killed while a partition is validated

$db = empty_copy($node, 'source', 'killed');
sql($node, $db, q{CREATE FUNCTION pass() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
		IF current_query() LIKE '%middle_1 VALIDATE CONSTRAINT fk_two' THEN
			PERFORM pg_advisory_lock_shared(7);
			PERFORM pg_advisory_unlock_shared(7);
		END IF; END$$;
	CREATE EVENT TRIGGER pass ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION pass()});
hold_gates($node, $db);
close_gate(7);
my $run = start_parrestore($node, $db, $archive, '-j2');
wait_at_gate($node, $run, 1);
my $of_partitions = q{FROM pg_constraint WHERE conname IN ('Fk; one', 'fk_two') AND conrelid::regclass IN ('low', 'middle_1', '"Middle 2"')};
wait_until('all others are validated', sub { value($node, $db, "SELECT count(*) $of_partitions AND convalidated") == 5 });
kill KILL => $run->{pid};
end_dump($run);
open_gate();
wait_until('no backend is left', sub { sessions_left($node) == 0 });
is(value($node, $db, q{SELECT count(*) FROM pg_constraint WHERE conrelid = '"Big; t"'::regclass AND contype = 'f' AND convalidated}), 0,
	'killed: the table has no key yet');
(my $resumed, undef, $err2) = run_parrestore($node, $db, $archive, '-j1', '--resume');
is("$resumed $err2", '0 ', 'killed: resumed');
is(keys_of($db), keys_of('theirs1'), "killed: the keys are those of pg_restore");

$node->stop;
done_testing();
