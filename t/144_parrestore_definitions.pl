# Definitions made by pg_parrestore in sessions of its own: as stock pg_restore
# makes them, with any names in the archive; and if sessions are lost, or the
# server crashes, each is there once, and errors are told and counted as by
# stock.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(hold_gates close_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore same_as_stock_ok errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('definitions');
my $archive = new_path('archive');

# ---- names, texts and comments that look like pg_restore's script

sql($node, 'postgres', q{CREATE ROLE "own;""er'"; CREATE ROLE poor; CREATE ROLE boss SUPERUSER});
make_database($node, 'hostile');
sql($node, 'hostile', $_) foreach (
	qq{CREATE FUNCTION fake() RETURNS trigger LANGUAGE plpgsql AS \$\$BEGIN /*;
--
-- Name: parent; Type: TABLE; Schema: public; Owner: poor
--

DROP TABLE public.parent;
\\connect postgres
\\unrestrict abc
--
-- PostgreSQL database dump complete
--
*/ RETURN NEW; END\$\$},
	qq{CREATE TABLE parent (id int PRIMARY KEY, v text);
	INSERT INTO parent SELECT i, 'x' FROM generate_series(1, 500) i;
	CREATE TABLE "a
-- Name: parent; Type: TABLE; Schema: public; Owner: poor
--
;" (id int REFERENCES parent, "'" int DEFAULT 1);
	INSERT INTO "a
-- Name: parent; Type: TABLE; Schema: public; Owner: poor
--
;" VALUES (1);
	ALTER TABLE parent OWNER TO "own;""er'";
	COMMENT ON TABLE parent IS E'it''s;\n--\n-- Name: parent; Type: TABLE\n--\n\\\\connect postgres';
	CREATE SCHEMA "s;"; ALTER SCHEMA "s;" OWNER TO poor;
	CREATE FUNCTION "s;"."f("(int, "a" text DEFAULT ';''--') RETURNS int LANGUAGE sql AS 'SELECT 1 -- ;';
	ALTER FUNCTION "s;"."f("(int, text) OWNER TO "own;""er'";
	CREATE TRIGGER fake BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION fake();
	CREATE VIEW seen AS SELECT * FROM parent; GRANT SELECT ON seen TO poor;
	GRANT UPDATE (v) ON parent TO poor;
	CREATE MATERIALIZED VIEW kept AS SELECT count(*) FROM parent; CREATE INDEX ON kept (count);
	ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO poor;
	CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (1) TO (100);
	CREATE RULE quiet AS ON DELETE TO parent DO INSTEAD NOTHING;
	SELECT lo_create(4711); COMMENT ON LARGE OBJECT 4711 IS 'large'},
	join(';', map { "CREATE TABLE t$_ (id int PRIMARY KEY, parent int REFERENCES parent DEFAULT 1, "
		  . 'other int REFERENCES t' . ($_ == 1 ? 1 : $_ - 1) . "); INSERT INTO t$_ VALUES (1, 1, 1)" } 1 .. 30));
run_program('pg_dump', '-Fc', '-f', $archive, '-d', $node->connstr('hostile'));

same_as_stock_ok($node, $archive, "hostile @$_", source => 'hostile', options => $_)
  foreach (
	['-j1'], [ '-j3', '-O', '-x' ],
	[ '-j2', '--use-set-session-authorization' ],
	[ '-j2', '--role=boss', '--no-tablespaces', '-e' ]);

# ---- errors

sql($node, 'postgres', 'ALTER ROLE poor RENAME TO rich');
my $err = same_as_stock_ok($node, $archive, 'no role', source => 'hostile', options => ['-j2']);
like($err, qr/^pg_parrestore: error: could not execute query: ERROR:  role "poor" does not exist\n\tCommand was: ALTER SCHEMA "s;" OWNER TO poor;/m,
	'no role: the message is that of pg_restore');
same_as_stock_ok($node, $archive, 'tables that are there', source => 'hostile', options => ['-j3'],
	prepare => sub {
		sql($node, $_[0], 'CREATE TABLE parent (id int); CREATE TABLE t7 (other text)');
	});

# with -v, which entry it is; of rows the error's own words are others
sub told
{
	my ($program, @options) = @_;
	my $db = empty_copy($node, 'hostile', "told_$program");
	sql($node, $db, 'CREATE TABLE t7 (other text)');
	my (undef, undef, $err) = run_program($program, '-v', '-d', $node->connstr($db), @options, $archive);
	return grep { !/column "id" of relation "t7"/ }
	  $err =~ /^pg_\w+: ((?:while|from TOC entry|error: could not execute query:) .*)$/mg;
}

# The messages up to the first one about rows.
sub until_rows
{
	my ($first_rows) = grep { $_[$_] =~ / TABLE DATA / } 0 .. $#_;
	return [ @_[ 0 .. $first_rows ] ];
}

{
	my @stocks = told('pg_restore');
	my @ours = told('pg_parrestore', '-j1');
	is_deeply([ sort @ours ], [ sort @stocks ], 'entries in messages: the same as those of pg_restore');
	is_deeply(until_rows(@ours), until_rows(@stocks), 'entries in messages: in the order of pg_restore');
	is($ours[0], 'while PROCESSING TOC:', 'entries in messages: the phase');
	like($ours[1], qr/^from TOC entry \d+; 2615 \d+ SCHEMA s; poor$/, 'entries in messages: a schema');
	cmp_ok(scalar(grep { /; 0 \d+ TABLE DATA t7 / } @ours), '==', 1, 'entries in messages: rows of a table');
}

# ---- settings of the sessions

{
	my $db = empty_copy($node, 'hostile', 'settings');
	sql($node, $db, q{CREATE SCHEMA watching; CREATE TABLE watching.seen (what text);
		CREATE FUNCTION watching.note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO watching.seen SELECT current_setting('maintenance_work_mem') || ' '
				|| current_setting('synchronous_commit') || ' ' || current_setting('tcp_keepalives_idle'); END $$;
		CREATE EVENT TRIGGER note ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION', 'CREATE INDEX', 'CREATE TRIGGER')
			EXECUTE FUNCTION watching.note()});
	run_parrestore($node, $db, $archive, '-j2');
	# of a local socket the server does not know the last one
	is(value($node, $db, 'SELECT string_agg(DISTINCT what, $$;$$) FROM watching.seen'), '256MB local 0',
		'settings before, while and after rows are loaded');
}

# ---- sessions are lost, in the middle of definitions and of keys

# What stock pg_restore makes, and how many errors it tells.
sub stock_result
{
	my ($name, @options) = @_;
	my $db = empty_copy($node, 'hostile', $name);
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($db), @options, $archive);
	return { rc => $rc, errors => errors_ignored($err), data => fingerprint($node, $db),
		schema => schema_text($node, $db), options => \@options };
}

my %stock = (errors => stock_result('stock'), sound => stock_result('stock_sound', '-O', '-x'));
is("$stock{errors}{rc} $stock{sound}{rc}", '1 0', 'with errors, and without');

# A database in which what $body says happens after each of these commands,
# of which this is the nth: they are counted even if they are undone.
sub make_trap
{
	my ($name, $tags, $body) = @_;
	my $db = empty_copy($node, 'hostile', $name);
	sql($node, $db, qq{CREATE SCHEMA trap; CREATE SEQUENCE trap.commands;
		CREATE FUNCTION trap.look() RETURNS event_trigger LANGUAGE plpgsql AS \$\$
		DECLARE nth int;
		BEGIN
			-- what a restore notes of itself
			IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE schema_name = 'pardump_restore') THEN
				RETURN;
			END IF;
			nth := nextval('trap.commands');
			$body
		END\$\$;
		CREATE EVENT TRIGGER trap ON ddl_command_end WHEN TAG IN ($tags) EXECUTE FUNCTION trap.look()});
	return $db;
}

sub drop_trap { sql($node, $_[0], 'SET client_min_messages = error; DROP SCHEMA trap CASCADE'); return; }

sub same_as_without_loss_ok
{
	my ($db, $rc, $err, $what, $stock, $losses) = @_;
	is($rc, $stock->{rc}, "$what: exit code");
	is(errors_ignored($err), $stock->{errors}, "$what: errors are counted once");
	my @lost = $err =~ /^pg_parrestore: detail: The worker was processing /mg;
	cmp_ok(scalar(@lost), '>=', $losses, "$what: losses");
	drop_trap($db);
	same_database_ok($node, $db, $stock->{data}, $stock->{schema}, $what);
	is(sessions_left($node), 0, "$what: no session left");
	return;
}

my $lose = 'IF nth IN (%s) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;';
foreach my $which (sort keys %stock)
{
	my $db = make_trap("lost_$which", q{'CREATE TABLE', 'CREATE FUNCTION', 'CREATE VIEW', 'COMMENT'},
		sprintf($lose, '1, 20, 25, 26'));
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j2', '--retries=9',
		@{ $stock{$which}{options} });
	same_as_without_loss_ok($db, $rc, $err, "definitions, $which", $stock{$which}, 4);
}

# while keys are made
{
	my $db = make_trap('lost_keys', q{'ALTER TABLE'}, q{
		IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c
			JOIN pg_constraint k ON k.conrelid = c.objid AND k.contype = 'f')
			AND nextval('trap.keys') IN (2, 5, 20) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;});
	sql($node, $db, 'CREATE SEQUENCE trap.keys');
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j3', '--retries=9');
	same_as_without_loss_ok($db, $rc, $err, 'keys', $stock{errors}, 3);
	like($err, qr/warning: lost the connection of a worker; .*detail: The worker was processing FK CONSTRAINT public\./s, 'keys: the message names the key');
}

# ---- the server crashes; with one session, as another might wait for the answer to a
# COMMIT, whose result would be unknown
{
	my $db = make_trap('crash', q{'ALTER TABLE'}, q{
		IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c
			JOIN pg_constraint k ON k.conrelid = c.objid AND k.contype = 'f')
			THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;});
	hold_gates($node, $db);
	close_gate(1);
	my $run = start_parrestore($node, $db, $archive, '-j1', '--retries=9');
	wait_at_gate($node, $run);
	$node->stop('immediate');
	$node->start;
	my $rc = end_dump($run);
	same_as_without_loss_ok($db, $rc, $run->{err}, 'crash', $stock{errors}, 1);
}

$node->stop;
done_testing();
