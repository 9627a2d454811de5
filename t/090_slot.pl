
# --create-slot: the archive and the slot fit together without a gap and without
# an overlap, and what cannot be is refused before anything is made.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump pump_run end_dump dump_failed_ok wait_until wait_in_run end_writers terminate);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value data_file restore_ok start_psql nothing_left_ok pg_major keep_wal slots without_slot_warning);
use Pardump::Command qw(refused_ok);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Gate qw(hold_gates hold close_gate open_gate at_gate);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('slots', allows_streaming => 'logical');
make_database($node, 'bank',
	options => 'TEMPLATE template0',
	files => ['bank.sql']);
make_database($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE TABLE item (id int PRIMARY KEY, t text);
INSERT INTO item SELECT g, 'item ' || g FROM generate_series(1, 1000) g;
SQL
my $connstr = $node->connstr('shop');

# dump_with_slot_ok($server, $db, 'slot', 'what', options...): returns the
# archive and the LSN that is printed, which must be the slot's.
sub dump_with_slot_ok
{
	my ($server, $db, $slot, $what, @options) = @_;
	my $dir = new_path('dump');
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', $dir, '--no-sync', '-j2',
		'--create-slot', "--slot=$slot", @options, '-d', $server->connstr($db));
	$err = without_slot_warning($server, $err);
	ok($rc == 0 && $err eq '' && -f "$dir/toc.dat", "$what: dumped in silence")
	  or diag("exit code $rc: $err");
	my ($lsn) = $out =~ /\Acreated logical replication slot "$slot" at LSN ([0-9A-F]+\/[0-9A-F]+)\n\z/;
	ok(defined $lsn, "$what: tells the slot's LSN") or diag($out);
	is(value($server, 'postgres', <<"SQL"), "$db|t|f|f", "$what: such a slot is there");
SELECT database, confirmed_flush_lsn = '$lsn'::pg_lsn, temporary, active
FROM pg_replication_slots WHERE slot_name = '$slot'
SQL
	my $manifest = read_manifest($dir);
	is(join(' ', map { $_ // 'none' } @$manifest{qw(Slot Slot-LSN)}), "$slot $lsn",
		"$what: the manifest has the slot");
	is(value($server, 'postgres', "SELECT '$manifest->{LSN}'::pg_lsn >= '$lsn'"), 't',
		"$what: the LSN of the manifest is not earlier");
	nothing_left_ok($server, $dir, $what, 'writer');
	return ($dir, $lsn);
}

# ---- what comes from the slot is what is not in the archive

{
	my ($dir) = dump_with_slot_ok($node, 'shop', 'plain', 'changes after',
		'--slot-plugin=test_decoding');
	sql($node, 'shop', q{DELETE FROM item WHERE id = 7;
		INSERT INTO item VALUES (1001, 'late'); UPDATE item SET t = 'new' WHERE id = 8});
	my $changes = value($node, 'shop',
		q{SELECT data FROM pg_logical_slot_peek_changes('plain', NULL, NULL) WHERE data LIKE 'table %'});
	is($changes, join("\n",
		q{table public.item: DELETE: id[integer]:7},
		q{table public.item: INSERT: id[integer]:1001 t[text]:'late'},
		q{table public.item: UPDATE: id[integer]:8 t[text]:'new'}),
		'changes after: the slot has these and no others');
	sql($node, 'postgres', 'CREATE DATABASE plain');
	restore_ok($node, $dir, 'plain', 'changes after');
	is(value($node, 'plain', q{SELECT count(*), count(*) FILTER (WHERE t = 'item ' || id) FROM item}),
		'1000|1000', 'changes after: the archive has none of them');
	sql($node, 'shop', "SELECT pg_drop_replication_slot('plain')");
}

# A transaction that has written but not committed: the slot waits for it, and
# says so after five seconds, under any timeout of the role; then its row is in
# the archive.
{
	sql($node, 'shop', <<'SQL');
CREATE ROLE mover LOGIN SUPERUSER;
ALTER ROLE mover SET statement_timeout = '4s';
ALTER ROLE mover SET lock_timeout = '4s';
ALTER ROLE mover SET idle_in_transaction_session_timeout = '4s';
ALTER ROLE mover SET idle_session_timeout = '4s';
SQL
	my $writer = start_psql($node, 'shop');
	$writer->(q{BEGIN; INSERT INTO item VALUES (2000, 'in between')});
	my $pid = $writer->('SELECT pg_backend_pid()');
	my $dump = start_dump($connstr, '-U', 'mover', '--create-slot', '--slot=waiting',
		'--slot-plugin=test_decoding');
	wait_until('the dump tells whom it waits for', sub {
		$dump->{h}->pump_nb;
		return $dump->{err} =~ /detail: The oldest/;
	});
	like(without_slot_warning($node, $dump->{err}), qr/\Apg_pardump: warning: replication slot "waiting" is waiting for all running write transactions.*\n.*detail: The oldest transaction is that of process $pid, of user ".+" on database "shop", since 2/,
		'a transaction in progress: warning');
	$writer->(q{COMMIT});
	is(end_dump($dump), 0, 'a transaction in progress: dumped');
	unlike($dump->{err}, qr/error/, 'a transaction in progress: no error');
	sql($node, 'postgres', 'CREATE DATABASE waiting');
	restore_ok($node, $dump->{dir}, 'waiting', 'a transaction in progress');
	my $archived = value($node, 'waiting', 'SELECT count(*) FROM item WHERE id = 2000');
	my $decoded = value($node, 'shop',
		q{SELECT count(*) FROM pg_logical_slot_peek_changes('waiting', NULL, NULL) WHERE data LIKE '%id[integer]:2000 %'});
	is("$archived $decoded", '1 0', 'a transaction in progress: only the archive contains its row');
	sql($node, 'shop', "SELECT pg_drop_replication_slot('waiting')");
	$writer->();
}

# ---- under load, with a subscription that continues where the archive ends

{
	my $target = start_cluster('moved', allows_streaming => 'logical');
	sql($node, 'bank', 'CREATE PUBLICATION everything FOR ALL TABLES');
	my $writers = do
	{
		local $ENV{PGAPPNAME} = 'writer';
		IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-R', '2000', '-T', '1000',
				'-f', data_file('transfer.pgbench'), $node->connstr('bank') ],
			'>', new_path('pgbench.log'), '2>&1');
	};
	my $transfers = sub { value($_[0], 'bank', 'SELECT count(*) FROM journal') };
	wait_until('transfers', sub { $transfers->($node) > 100 });
	my ($dir) = dump_with_slot_ok($node, 'bank', 'moving', 'under load',
		'--max-table-segment-pages=20');
	sql($target, 'postgres', 'CREATE DATABASE bank');
	restore_ok($target, $dir, 'bank', 'under load', '-j2');
	my $archived = $transfers->($target);
	my $source = $node->connstr('bank') =~ s/'/''/gr;
	sql($target, 'bank', <<"SQL");
CREATE SUBSCRIPTION moving CONNECTION '$source' PUBLICATION everything
	WITH (create_slot = false, slot_name = 'moving', copy_data = false)
SQL
	ok(wait_until('transfers after the archive', sub { $transfers->($node) > $archived + 100 }),
		'under load: changes after the archive exist');
	end_writers($node, $writers);
	$node->wait_for_catchup('moving');
	# sequences are not replicated
	my ($want, $got) = (fingerprint($node, 'bank'), fingerprint($target, 'bank'));
	foreach my $print ($want, $got)
	{
		delete $print->{$_} foreach grep { /journal_id_seq/ } keys %$print;
	}
	same_data_ok($want, $got, 'under load: after the subscription has caught up');
	cmp_ok($transfers->($target), '>', $archived, 'under load: the subscriber has received changes');
	sql($target, 'bank', 'DROP SUBSCRIPTION moving');
	is(slots($node), '', 'under load: the slot went with the subscription');
	$target->stop;
}

# ---- refused before anything is made

my @db = ('-d', $connstr);

# minors that have the setting look for no plugin that is not in its list
my $has_list = value($node, 'postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
sub allow_plugins
{
	my ($list) = @_;
	$node->append_conf('postgresql.conf', "output_plugin_libraries = '$list'");
	$node->reload;
	wait_until('the list of plugins', sub { value($node, 'postgres', 'SHOW output_plugin_libraries') eq $list });
	return;
}
allow_plugins('pgoutput, test_decoding, no_such_plugin, "odd""name"') if $has_list;
foreach my $bad (
	[ qr/--create-slot requires option --slot/, '--create-slot' ],
	[ qr/--slot requires option --create-slot\n.*detail: A slot exports a snapshot only when it is created/, '--slot=s' ],
	[ qr/--slot-plugin requires option --create-slot/, '--slot-plugin=x' ],
	[ qr/--create-slot and --snapshot cannot be used together/, '--create-slot', '--slot=s', '--snapshot=x' ],
	[ qr/--create-slot and --serializable-deferrable cannot be/, '--create-slot', '--slot=s', '--serializable-deferrable' ],
	(map { [ qr/invalid replication slot name "\Q$_\E"\n.*hint: A slot name consists of 1 to 63 lower-case/, '--create-slot', "--slot=$_" ] }
		'', 'Shop', 'a-b', 'a b', q{a"b}, q{a'b}, 'ä', 'x' x 64),
	[ qr/error: could not create replication slot "s": ERROR:  .*no_such_plugin/, '--create-slot', '--slot=s', '--slot-plugin=no_such_plugin' ],
	# (a quote in a name is a syntax error to the replication grammar of 15.18)
	[ qr/error: could not create replication slot "s": ERROR:  (.*odd"name|syntax error)/, '--create-slot', '--slot=s', '--slot-plugin=odd"name' ])
{
	my ($message, @options) = @$bad;
	refused_ok($message, "@options", @db, @options);
}
allow_plugins('pgoutput, test_decoding') if $has_list;
is(slots($node), '', 'refused options made no slot');

sql($node, 'shop', 'CREATE ROLE plain LOGIN; GRANT pg_read_all_data TO plain');
like(
	refused_ok(qr/could not open a replication connection: .*replication/is,
		'a role without REPLICATION', @db, '-U', 'plain', '--create-slot', '--slot=s'),
	qr/hint: .* ALTER ROLE plain REPLICATION/, 'a role without REPLICATION: hint');
sql($node, 'shop', 'ALTER ROLE plain REPLICATION');
my ($dir) = dump_with_slot_ok($node, 'shop', 'by_plain', 'a role with REPLICATION', '-U', 'plain');
like(
	refused_ok(qr/replication slot "by_plain" already exists/,
		'the slot exists', @db, '--create-slot', '--slot=by_plain'),
	qr/hint: .*pg_drop_replication_slot\('by_plain'\)/, 'the slot exists: hint');
is(slots($node), 'by_plain', 'the slot exists, still');

sql($node, 'postgres',
	q{SELECT pg_create_physical_replication_slot('p' || g) FROM generate_series(1, 9) g});
like(
	refused_ok(qr/all 10 replication slots of the server are in use/,
		'no free slot', @db, '--create-slot', '--slot=s'),
	qr/hint: .*max_replication_slots/, 'no free slot: hint');
sql($node, 'postgres', 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');

{
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '--create-slot', '--slot=s', '--dry-run');
	is("$rc " . without_slot_warning($node, $err), '0 ', '--dry-run with --create-slot');
	unlike($out, qr/created/, '--dry-run with --create-slot: does not say that it made one');
	is(slots($node), '', '--dry-run with --create-slot: made none');
}

# ---- plugins that the server does not allow: from 15.19 and so on

if ($has_list)
{
	my $words = qr/error: the server does not allow output plugin/;
	my $hint = refused_ok($words, 'a plugin not allowed', @db, '--create-slot', '--slot=s', '--slot-plugin=wal2json');
	like($hint, qr/detail: .*"pgoutput, test_decoding"\.\n.*hint: .*add it to output_plugin_libraries/, 'a plugin not allowed: hint');
	my ($rc, $out) = run_program('pg_pardump', @db, '--create-slot', '--slot=s', '--slot-plugin=wal2json', '--check');
	is($rc, 1, 'a plugin not allowed, --check: exit code');
	like($out, qr/^error: the server does not allow output plugin "wal2json"\n  detail: /m, 'a plugin not allowed, --check: told');

	# as the server reads the list
	allow_plugins(' pgoutput,"Foo" , Bar, "a""b, c" ');
	foreach my $plugin ('pgoutput', 'Foo', 'foo', 'Bar', 'bar', 'a"b, c', 'a"b', 'c', 'test_decoding')
	{
		IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('shop'), '-c',
			"SELECT pg_create_logical_replication_slot('listed', '$plugin', true)" ], '<', \'', '>', \my $made, '2>', \my $err);
		my $allowed = $err =~ /may not be used as an output plugin/ ? 0 : 1;
		(undef, $out) = run_program('pg_pardump', @db, '--create-slot', '--slot=s', "--slot-plugin=$plugin", '--check');
		is($out =~ /^$words/m ? 0 : 1, $allowed, "output_plugin_libraries: $plugin");
	}
	allow_plugins('pgoutput, test_decoding');
	is(slots($node), '', 'plugins not allowed: no slot was made');
}

# ---- a standby

keep_wal($node);
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
if (pg_major($node) < 16)
{
	like(
		refused_ok(qr/standbys older than PostgreSQL 16 do not support logical replication slots/,
			'a standby', '-d', $standby->connstr('shop'), '--create-slot', '--slot=s'),
		qr/hint: .*primary/, 'a standby: hint');
}
else
{
	refused_ok(qr/--create-slot on a standby requires hot_standby_feedback to be enabled/,
		'a standby without feedback', '-d', $standby->connstr('shop'), '--create-slot', '--slot=s');
	$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
	$standby->restart;
	my $dump = start_dump($standby->connstr('shop'), '--create-slot', '--slot=far',
		'--slot-plugin=test_decoding', '-j2');
	wait_until('the dump from the standby', sub {
		sql($node, 'postgres', 'SELECT pg_log_standby_snapshot()');
		return !pump_run($dump->{h});
	});
	is(end_dump($dump), 0, 'a standby: dumped');
	sql($node, 'shop', q{INSERT INTO item VALUES (3000, 'later')});
	$node->wait_for_catchup($standby);
	is(value($standby, 'shop',
			q{SELECT data FROM pg_logical_slot_peek_changes('far', NULL, NULL) WHERE data LIKE 'table %'}),
		q{table public.item: INSERT: id[integer]:3000 t[text]:'later'},
		'a standby: the slot has what came later');
	sql($node, 'postgres', 'CREATE DATABASE far');
	restore_ok($node, $dump->{dir}, 'far', 'a standby');
	is(value($node, 'far', 'SELECT count(*) FROM item WHERE id = 3000'), 0,
		'a standby: the archive does not');

	# The replication connection exported the snapshot: without it replay may
	# remove rows from sessions that have imported the snapshot.
	hold_gates($standby, 'shop');
	close_gate(42);
	$dump = start_dump($standby->connstr('shop'), '--create-slot', '--slot=alone',
		'--where=public.item:id <> 10 OR pg_advisory_xact_lock_shared(42) IS NOT NULL');
	wait_in_run($dump, 'a worker waits at the gate', sub {
		sql($node, 'postgres', 'SELECT pg_log_standby_snapshot()');
		return at_gate($standby) == 1;
	});
	my $exporters = value($standby, 'postgres', "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'walsender'");
	like($exporters, qr/^\d+$/, 'a standby, the exporter ends: the connection is open');
	terminate($standby, split / /, $exporters);
	open_gate();
	dump_failed_ok($standby, $dump, 'a standby, the exporter ends',
		qr/error: the transaction that exported snapshot "[0-9A-F-]+" has ended before all rows were read/);
	unlike(slots($standby), qr/alone/, 'a standby, the exporter ends: the slot is dropped');
	hold();
}
$standby->stop;

# ---- a server without logical decoding

# From 19 on the first slot turns it on.
my $too_low = 'replica';
if (pg_major($node) >= 19)
{
	$node->append_conf('postgresql.conf', 'wal_level = replica');
	$node->restart;
	dump_with_slot_ok($node, 'shop', 'first', 'wal_level = replica');
	sql($node, 'shop', q{SELECT pg_drop_replication_slot('first')});
	$too_low = 'minimal';
}
$node->append_conf('postgresql.conf', "wal_level = $too_low\nmax_wal_senders = 0");
$node->restart;
like(
	refused_ok(qr/a logical replication slot requires wal_level to be "logical" on the server, not "$too_low"/,
		'wal_level', @db, '--create-slot', '--slot=s'),
	qr/hint: .*ALTER SYSTEM SET wal_level/, 'wal_level: hint');
$node->append_conf('postgresql.conf', 'wal_level = logical');
$node->restart;
like(
	refused_ok(qr/could not open a replication connection: .*max_wal_senders/,
		'no replication connections', @db, '--create-slot', '--slot=s'),
	qr/hint: Check that pg_hba\.conf allows this connection, and that max_wal_senders is large enough/, 'no replication connections: hint');
is(slots($node), '', 'the refused runs have created no slot');

$node->stop;
done_testing();
