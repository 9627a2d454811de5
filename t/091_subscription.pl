
# --create-subscription: a database is copied while sessions write to it, and the
# subscription brings the copy up to date, until both sides are equal and an
# application can move.  What would not work is refused before anything is
# copied, and a run that fails leaves neither subscription nor slot.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(end_dump wait_until end_writers);
use Pardump::Cluster qw(start_cluster make_database new_path sql value data_file slots without_slot_warning);
use Pardump::Command qw(changing_pg_dump);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(run_copy start_copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('source', allows_streaming => 'logical');
my $target = start_cluster('target', allows_streaming => 'logical', leave_stopped => 1);
$target->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'");
$target->start;
sql($target, 'postgres', 'CREATE EXTENSION pg_stat_statements');
make_database($source, 'bank',
	options => 'TEMPLATE template0',
	files => ['bank.sql']);
sql($source, 'bank', <<'SQL');
ALTER TABLE bystander ADD PRIMARY KEY (id);
CREATE SCHEMA "Odd ""schema";
CREATE TABLE "Odd ""schema"."t t" (id int PRIMARY KEY, t text);
INSERT INTO "Odd ""schema"."t t" VALUES (1, 'one');
CREATE TABLE parted (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
INSERT INTO parted SELECT g, '2020-06-01'::date + g FROM generate_series(1, 300) g;
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE PUBLICATION "by, root" FOR TABLE parted WITH (publish_via_partition_root);
CREATE PUBLICATION rooted FOR TABLE parted WITH (publish_via_partition_root);
CREATE PUBLICATION banking FOR TABLE left_side, right_side, journal, bystander,
	"Odd ""schema"."t t";
SQL
my @options = ('-j2', '--max-table-segment-pages=20', '--create-slot', '--slot=moving',
	'--create-subscription=moving');
my $count = 0;

sub subscriptions { return value($target, 'postgres', 'SELECT count(*) FROM pg_subscription'); }

sub new_database
{
	my $db = 'db' . ++$count;
	sql($target, 'postgres', "CREATE DATABASE $db");
	return $db;
}

# Tables only: what sequences are at is not replicated.
sub same_tables_ok
{
	my ($db, $what) = @_;
	my ($want, $got) = (fingerprint($source, 'bank'), fingerprint($target, $db));
	foreach my $print ($want, $got)
	{
		delete $print->{$_} foreach grep { /journal_id_seq/ } keys %$print;
	}
	same_data_ok($want, $got, $what);
	return;
}

sub drop_subscription
{
	my ($db, $name) = @_;
	sql($target, $db, "DROP SUBSCRIPTION $name");
	is(slots($source), '', 'the slot goes with the subscription');
	return;
}

# ---- under load

{
	my $db = new_database();
	my $writers = do
	{
		local $ENV{PGAPPNAME} = 'writer';
		IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-R', '2000', '-T', '1000',
				'-f', data_file('transfer.pgbench'), $source->connstr('bank') ],
			'>', new_path('pgbench.log'), '2>&1');
	};
	my $transfers = sub { value($_[0], $_[1], 'SELECT count(*) FROM journal') };
	wait_until('transfers', sub { $transfers->($source, 'bank') > 100 });
	my $before = $transfers->($source, 'bank');
	# pg_dump begins when there are some: that must not be a matter of luck
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options,
		'--publication=everything', '--pg-dump', changing_pg_dump($source->connstr('bank'), 'before', <<'SQL'));
DO $$ DECLARE before bigint := (SELECT count(*) FROM journal); BEGIN
	WHILE (SELECT count(*) FROM journal) <= before + 100 LOOP PERFORM pg_sleep(0.02); END LOOP; END $$;
SQL
	my $after = $transfers->($source, 'bank');
	is($rc, 0, 'under load: exit code');
	unlike(without_slot_warning($source, $err), qr{warning: (?!sequence values)|error: }, 'under load: no other warning than of sequences');
	cmp_ok($after - $before, '>', 100, 'under load: transfers were committed during the copy');
	like($out, qr/^created logical replication slot "moving" at LSN [0-9A-F]+\/[0-9A-F]+\ncreated subscription "moving", which starts at this LSN$/m,
		'under load: names slot and subscription');
	is(value($source, 'postgres', 'SELECT slot_name, active FROM pg_replication_slots'),
		'moving|t', 'under load: the subscription streams');
	my $password = value($target, $db, 'SELECT subconninfo FROM pg_subscription');
	unlike($password, qr/password/, 'under load: no password in the subscription');

	# the application writes on, and other tables too
	sql($source, 'bank', <<'SQL');
INSERT INTO "Odd ""schema"."t t" VALUES (2, 'two');
DELETE FROM parted WHERE id < 10;
UPDATE parted SET at = at + 200 WHERE id = 100;
UPDATE bystander SET id = 2;
SQL
	my $middle = $transfers->($source, 'bank');
	wait_until('more transfers', sub { $transfers->($source, 'bank') > $middle + 100 });
	end_writers($source, $writers);
	$source->wait_for_catchup('moving');
	same_tables_ok($db, 'under load: both sides, after the writers have stopped');
	is(value($target, $db, <<'SQL'), '20000|20000|20000000|20000000', 'under load: every transfer came once');
SELECT (SELECT count(*) FROM left_side), (SELECT count(*) FROM right_side),
	(SELECT sum(balance) FROM left_side) + (SELECT sum(amount) FROM journal),
	(SELECT sum(balance) FROM right_side) - (SELECT sum(amount) FROM journal)
SQL
	drop_subscription($db, 'moving');
}

# ---- odd names, and what the publications leave out

{
	my $db = new_database();
	sql($source, 'bank', 'SELECT lo_create(4711)');
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, '--create-slot',
		'--slot=moving', '--create-subscription=My "sub"', '--publication=banking');
	sql($source, 'bank', 'SELECT lo_unlink(4711)');
	is($rc, 0, 'a part is published: exit code');
	like($err, qr/warning: changes of large objects are not replicated\n.*detail: .*\n.*hint: Do not change large objects /,
		'a part is published: warning of large objects');
	like(without_slot_warning($source, $err), qr/\A.*warning: copied tables are not published\n.*detail: Tables: public\.parted_1, public\.parted_2\.\n.*detail: .*will not reach the target.*\n.*hint: .*ADD TABLE/,
		'a part is published: warning');
	like($err, qr/warning: sequence values are not replicated \(1 sequence\)\n.*hint: Set the sequences .*\n\z/,
		'a part is published: warning of what is in no publication');
	like($out, qr/created subscription "My "sub"", which/, 'odd name of a subscription');
	sql($source, 'bank', q{INSERT INTO "Odd ""schema"."t t" VALUES (3, 'three')});
	$source->wait_for_catchup('My "sub"');
	is(value($target, $db, q{SELECT string_agg(t, ' ' ORDER BY id) FROM "Odd ""schema"."t t"}),
		'one two three', 'a part is published: changes of this part arrive');
	drop_subscription($db, '"My ""sub"""');
}
{
	my $db = new_database();
	my $log_size = -s $target->logfile;
	# when all statements are logged
	sql($target, 'postgres', "ALTER DATABASE $db SET log_statement = 'all'");
	sql($target, 'postgres', "ALTER DATABASE $db SET $_ = '1'")
	  foreach qw(log_duration log_transaction_sample_rate log_statement_sample_rate
		log_min_duration_sample log_min_duration_statement debug_print_parse);
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options,
		'--publication=banking,rooted', '--subscription-conninfo',
		$source->connstr('bank') . ' password=verysecret');
	is($rc, 0, 'two publications, one by the partition root: exit code');
	unlike(without_slot_warning($source, $err), qr/warning: (?!sequence values)|large objects/, 'two publications, one by the partition root: no warning');
	unlike(slurp_file($target->logfile, $log_size), qr/verysecret/,
		'a subscription with a secret: not in the log of the target');
	is(value($target, 'postgres', q{SELECT bool_or(query LIKE '%verysecret%'),
			bool_or(query LIKE 'CREATE TABLE%') FROM pg_stat_statements}), 'f|t',
		'a subscription with a secret: not in pg_stat_statements');
	sql($source, 'bank', q{INSERT INTO parted VALUES (1000, '2021-02-02')});
	$source->wait_for_catchup('moving');
	same_tables_ok($db, 'two publications');
	drop_subscription($db, 'moving');
}
# the extension is on the source only
{
	sql($source, 'bank', 'CREATE EXTENSION pg_pardump');
	my $db = new_database();
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options,
		'-e', 'plpgsql', '--publication=everything');
	is($rc, 0, 'a target without the extension: exit code') or diag($err);
	unlike($err, qr/pardump\.pg_pardump_lock/, 'a target without the extension: no word of its table');
	sql($source, 'bank', 'INSERT INTO parted VALUES (1001, \'2021-02-03\')');
	$source->wait_for_catchup('moving');
	same_tables_ok($db, 'a target without the extension');
	drop_subscription($db, 'moving');
	sql($source, 'bank', 'DROP EXTENSION pg_pardump');
}
sql($source, 'bank', <<'SQL');
CREATE TABLE keyless (a int);
CREATE TABLE key_deferred (a int PRIMARY KEY DEFERRABLE);
CREATE TABLE key_dropped (a int NOT NULL, b int PRIMARY KEY);
CREATE UNIQUE INDEX dropped ON key_dropped (a);
ALTER TABLE key_dropped REPLICA IDENTITY USING INDEX dropped;
DROP INDEX dropped;
CREATE TABLE key_chosen (a int NOT NULL UNIQUE);
ALTER TABLE key_chosen REPLICA IDENTITY USING INDEX key_chosen_a_key;
CREATE TABLE key_row (a int);
ALTER TABLE key_row REPLICA IDENTITY FULL;
CREATE PUBLICATION inserts FOR TABLE keyless, key_deferred, key_dropped, key_chosen, key_row
	WITH (publish = 'insert');
SQL
{
	my $db = new_database();
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options,
		'-t', 'key*', '--publication=inserts');
	is($rc, 0, 'no replica identity: exit code');
	like($err, qr/warning: published tables have no replica identity\n.*detail: Tables: public\.key_deferred, public\.key_dropped, public\.keyless\.\n/,
		'no replica identity: warning');
	like($err, qr/warning: publications do not publish all of .*\n.*detail: Publications: inserts\.\n/,
		'a publication of inserts only: warning');
	sql($source, 'bank', 'INSERT INTO keyless VALUES (1)');
	$source->wait_for_catchup('moving');
	is(value($target, $db, 'SELECT a FROM keyless'), 1, 'no replica identity: inserts arrive');
	drop_subscription($db, 'moving');
}
sql($source, 'bank', 'DROP TABLE keyless, key_deferred, key_dropped, key_chosen, key_row');

# ---- refused before anything is copied

sub subscription_refused_ok
{
	my ($message, $what, $db, @args) = @_;
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @args);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	is($out, '', "$what: nothing on standard output");
	is(slots($source) . subscriptions(), '0', "$what: neither slot nor subscription left");
	is(value($target, $db, "SELECT count(*) FROM pg_class WHERE relname = 'journal'"), 0,
		"$what: nothing was copied");
	return $err;
}
my $empty = new_database();
my @pub = '--publication=everything';
foreach my $bad (
	[ qr/--create-subscription requires option --create-slot/, '--create-subscription=s', @pub ],
	[ qr/--create-subscription requires option --publication/, @options ],
	[ qr/--publication requires option --create-subscription/, @pub ],
	[ qr/--subscription-conninfo requires option --create-subscription/, '--subscription-conninfo=x' ],
	[ qr/--create-subscription and --slot-plugin cannot be used together/, @options, @pub, '--slot-plugin=test_decoding' ],
	[ qr/invalid value "everything," for option --publication\n.*detail: Names of publications must not be empty/, @options, '--publication=everything,' ],
	[ qr/publication "nothing" does not exist on the source\n.*hint: .*CREATE PUBLICATION nothing FOR ALL TABLES/,
		@options, '--publication=everything,nothing' ],
	[ qr/publication "odd" \\" does not exist on the source/, @options, '--publication=odd" \\' ],
	[ qr/published tables are not copied\n.*detail: Tables: "Odd ""schema"\."t t", public\.bystander, public\.parted_1, public\.parted_2\.\n.*hint/,
		@options, @pub, '-t', '*_side', '-t', 'journal' ],
	[ qr/could not create subscription "moving" on the target: ERROR:  .*could not connect to the publisher.*hint: .*--subscription-conninfo/s,
		@options, @pub, '--subscription-conninfo=host=/nonexistent dbname=bank' ],
	[ qr/invalid connection string for option --subscription-conninfo\n.*hint: Connect with psql/,
		@options, @pub, '--subscription-conninfo=this is none' ],
	[ qr/the server that the subscription connects to does not publish any tables.*hint: .*--subscription-conninfo/s,
		@options, @pub, '--subscription-conninfo', $target->connstr('postgres') ])
{
	my ($message, @args) = @$bad;
	subscription_refused_ok($message, "@args", $empty, @args);
}
command_fails_like([ 'pg_pardump', '-f', new_path('none'), '-d', $source->connstr('bank'), @options, @pub ],
	qr/--create-subscription requires option --target/, 'a subscription without a copy');

sql($target, $empty, 'CREATE ROLE poor LOGIN');
sql($target, 'postgres', "ALTER DATABASE $empty OWNER TO poor");
subscription_refused_ok(qr/could not create subscription "moving" on the target: ERROR:  (permission denied|must be superuser) to create subscription/,
	'no privilege on the target', $empty, @options, @pub, '--target',
	$target->connstr($empty) . ' user=poor');
sql($target, $empty,
	"CREATE SUBSCRIPTION moving CONNECTION '' PUBLICATION x WITH (connect = false, slot_name = NONE)");
{
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $empty, @options, @pub);
	is($rc, 1, 'the subscription exists: exit code');
	like($err, qr/ERROR:  subscription "moving" already exists/, 'the subscription exists: message');
	is(slots($source) . subscriptions(), '1', 'the subscription exists: it is kept, and no slot is created');
}
sql($target, $empty, 'DROP SUBSCRIPTION moving');

# ---- failures

# A password is in no message, and not in the target's log.
foreach my $conninfo ('host=x password=a verysecret', 'postgresql://u:verysecret@[::1')
{
	my $err = subscription_refused_ok(qr/invalid connection string for option --subscription-conninfo/,
		"a string that is none: $conninfo", $empty, @options, @pub,
		"--subscription-conninfo=$conninfo");
	unlike($err, qr/verysecret/, "a string that is none: $conninfo: no secret in the message");
}
{
	my $log_size = -s $target->logfile;
	my $err = subscription_refused_ok(qr/could not create subscription "moving"/, 'a secret', $empty, @options,
		@pub, "--subscription-conninfo=host=/nonexistent password=verysecret");
	unlike($err, qr/verysecret/, 'a secret: not in the message');
	unlike(slurp_file($target->logfile, $log_size), qr/verysecret/,
		'a secret: not in the log of the target');
}

# The last step fails: a table was dropped from the target in the meantime, and
# the subscription cannot be made.  All that this run made for it goes.
{
	my $db = new_database();
	sql($target, $db, <<'SQL');
CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM pg_class WHERE relname = 'journal') THEN
		RAISE EXCEPTION 'not today';
	END IF;
END $$;
CREATE EVENT TRIGGER fail ON ddl_command_start WHEN TAG IN ('CREATE SUBSCRIPTION')
	EXECUTE FUNCTION fail();
SQL
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options, @pub);
	is($rc, 1, 'the last step fails: exit code');
	like($err, qr/could not create subscription "moving" on the target: ERROR:  not today/,
		'the last step fails: message');
	is(slots($source) . subscriptions(), '0', 'the last step fails: neither slot nor subscription left');
}

# A definition fails, and rows are missing that the subscription would rely on.
{
	my $db = new_database();
	sql($target, $db, <<'SQL');
CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.parted_2') THEN
		RAISE EXCEPTION 'not here';
	END IF;
END $$;
CREATE EVENT TRIGGER fail ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION fail();
SQL
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, $db, @options, @pub);
	is($rc, 1, 'a definition fails: exit code');
	like($err, qr/ERROR:  not here/, 'a definition fails: message');
	like($err, qr/warning: not copying rows of table public\.parted_2, which could not be created\n/, 'a definition fails: table');
	is(value($target, $db, 'SELECT count(*) > 0 FROM journal'), 't', 'a definition fails: other tables are copied');
	is(slots($source) . subscriptions(), '0', 'a definition fails: neither slot nor subscription left');
}

# Source or target are out of reach for a moment when the last step comes.
my $done = new_path('done');
foreach my $fault (
	[ 'the source is out of reach', 'nextval($$public.tries$$) < 3', 'RAISE connection_failure' ],
	[ 'the session ends', 'nextval($$public.tries$$) < 3',
		'PERFORM pg_terminate_backend(pg_backend_pid())' ],
	[ 'the target is restarted', "pg_stat_file('$done', true) IS NULL",
		"COPY (SELECT) TO PROGRAM 'cat && mkdir $done'; PERFORM pg_sleep(60)",
		sub { wait_until('the last step', sub { -d $done }); $target->stop('immediate'); $target->start } ])
{
	my ($what, $when, $do, $meanwhile) = @$fault;
	my $db = new_database();
	sql($target, $db, <<"SQL");
CREATE SEQUENCE tries;
CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS \$f\$ BEGIN
	IF EXISTS (SELECT FROM pg_class WHERE relname = 'journal') AND $when THEN
		$do;
	END IF;
END \$f\$;
CREATE EVENT TRIGGER fail ON ddl_command_start WHEN TAG IN ('CREATE SUBSCRIPTION')
	EXECUTE FUNCTION fail();
SQL
	my $copy = start_copy($source, 'bank', $target->connstr($db), @options, @pub);
	$meanwhile->() if $meanwhile;
	is(end_dump($copy), 0, "$what: exit code");
	like($copy->{err}, qr/^.*warning: could not create the subscription; retry 1 of 5 in .*\n.*detail: /m,
		"$what: warning");
	like($copy->{err}, qr/retry 2 of 5/, "$what: another one") if !$meanwhile;
	unlike($copy->{err}, qr/error: /, "$what: no error");
	is(value($source, 'postgres', 'SELECT slot_name, active FROM pg_replication_slots'),
		'moving|t', "$what: the subscription streams");
	drop_subscription($db, 'moving');
}

# A subscription that does not stream, as it is disabled, is left to the user.  It
# is waited for while the next test runs.
my $idle_db = new_database();
sql($target, $idle_db, <<'SQL');
CREATE FUNCTION disable() RETURNS event_trigger LANGUAGE plpgsql AS
	$$ BEGIN ALTER SUBSCRIPTION idle DISABLE; END $$;
CREATE EVENT TRIGGER disable ON ddl_command_end WHEN TAG IN ('CREATE SUBSCRIPTION')
	EXECUTE FUNCTION disable();
SQL
my $idle = start_copy($source, 'bank', $target->connstr($idle_db), '-j2', '--create-slot',
	'--slot=idle', '--create-subscription=idle', @pub);
wait_until('the subscription that is disabled', sub { subscriptions() });

# Interrupted after the subscription was made, while the program waits for it to
# stream, which it cannot: another one has the only worker.  The database's own
# setting must not keep it from being dropped.
{
	my $db = new_database();
	sql($target, 'postgres', "ALTER DATABASE $db SET default_transaction_read_only = on");
	$target->append_conf('postgresql.conf', 'max_logical_replication_workers = 1');
	$target->restart;
	sql($source, 'postgres', 'CREATE PUBLICATION p');
	my $connstr = $source->connstr('postgres') =~ s/'/''/gr;
	sql($target, 'postgres', "CREATE SUBSCRIPTION busy CONNECTION '$connstr' PUBLICATION p");
	$source->poll_query_until('postgres',
		q{SELECT active FROM pg_replication_slots WHERE slot_name = 'busy'})
	  or die 'the other subscription does not stream';
	my ($out, $err) = ('', '');
	delete local $ENV{PGAPPNAME};
	my $copy = IPC::Run::start([ 'pg_pardump', '-d', $source->connstr('bank'), '--target',
			$target->connstr($db), @options, @pub ], '>', \$out, '2>', \$err);
	wait_until('the subscription', sub {
		return value($target, 'postgres',
			"SELECT count(*) FROM pg_subscription WHERE subname = 'moving'");
	});
	$copy->signal('INT');
	$copy->finish;
	is($copy->result(0), 1, 'interrupted at the end: exit code');
	like($err, qr/terminated by user/, 'interrupted at the end: message');
	unlike($err, qr/could not drop/, 'interrupted at the end: all could be dropped');
	is(value($source, 'postgres', 'SELECT slot_name FROM pg_replication_slots ORDER BY 1'),
		"busy\nidle", 'interrupted at the end: no slot left');
	is(value($target, 'postgres', 'SELECT subname FROM pg_subscription ORDER BY 1'),
		"busy\nidle", 'interrupted at the end: no subscription left');
	sql($target, 'postgres', 'DROP SUBSCRIPTION busy');
}
is(end_dump($idle), 0, 'a subscription that does not stream: exit code');
like($idle->{err}, qr/^.*warning: subscription "idle" is not streaming yet\n.*hint: .*\n\z/m,
	'a subscription that does not stream: warning');
like($idle->{out}, qr/^created subscription "idle"/m, 'a subscription that does not stream: stays');
drop_subscription($idle_db, 'idle');

$source->stop;
$target->stop;
done_testing();
