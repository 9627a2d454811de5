# One snapshot in several databases by pg_pardump_adopt_snapshot(): the order of
# snapshots that loses no row, the one that would, which is refused, and what else is.

use strict;
use warnings;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster start_standby make_database run_program new_path start_psql
  sql value data_file pg_major);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('adopt', allows_streaming => 1);
foreach my $db (qw(a b))
{
	make_database($node, $db);
	sql($node, $db, 'CREATE EXTENSION pg_pardump');
}
sql($node, 'a', 'CREATE TABLE busy (id int)');
sql($node, 'b', 'CREATE TABLE victim (id int); CREATE ROLE low LOGIN');

# The function without its rule, for the proof that the rule decides.
my $library = new_path('unchecked_snapshot') . '.so';
my $src = dirname(dirname(data_file(''))) . '/src';
system_or_bail('cc', '-shared', '-fPIC', '-o', $library, "-I$src/server", "-I$src",
	'-I' . (`pg_config --includedir-server` =~ s/\n//r), data_file('unchecked_snapshot.c'));
sql($node, 'b', "CREATE FUNCTION adopt_unchecked(text) RETURNS text LANGUAGE c AS '$library', 'adopt_unchecked'");

my $begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

# An error of a session of start_psql() ends psql, so statements that may fail are run
# by this: in a transaction that has begun by $first.
sub refused_ok
{
	my ($server, $db, $first, $statement, $message, $what) = @_;
	my ($rc, $out, $err) = $server->psql($db, "$first; $statement", on_error_stop => 1,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	is($rc, 3, "$what: refused");
	like($err, $message, "$what: message");
	return;
}

# What the snapshot sees of the 1000 rows that are deleted between the snapshot and
# the adoption, when the guard has begun before the snapshot was taken, or after the
# rows were removed.  An old transaction of the other database holds back the xmin of
# all sessions, so that the server's own check passes.
sub rows_seen
{
	my ($when, $function) = @_;
	my ($old, $leader) = map { start_psql($node, 'a') } 1 .. 2;
	my ($writer, $guard, $importer) = map { start_psql($node, 'b') } 1 .. 3;
	my $begin_guard = sub { $guard->($begin); $guard->('SELECT 1'); };

	sql($node, 'b', 'TRUNCATE victim');
	sql($node, 'b', 'INSERT INTO victim SELECT generate_series(1, 1000)');
	sql($node, 'b', 'VACUUM victim');
	$old->('BEGIN; INSERT INTO busy VALUES (0)');
	$writer->('BEGIN; DELETE FROM victim');
	sql($node, 'b', 'SELECT pg_current_xact_id()');
	$begin_guard->() if $when eq 'before';
	$leader->($begin);
	my $id = $leader->('SELECT pg_export_snapshot()');
	$writer->('COMMIT');
	sql($node, 'b', 'VACUUM victim');
	$begin_guard->() if $when eq 'after';
	my $adopted = $guard->("SELECT $function('$id')");
	$importer->($begin);
	$importer->("SET TRANSACTION SNAPSHOT '$adopted'");
	is($importer->('SELECT pg_current_snapshot()'), $leader->('SELECT pg_current_snapshot()'),
		"guard $when the snapshot, $function: the same snapshot in both databases");
	my $seen = $importer->('SELECT count(*) FROM victim');
	$_->() foreach $old, $leader, $writer, $guard, $importer;
	return $seen;
}

is(rows_seen('before', 'pardump.pg_pardump_adopt_snapshot'), 1000, 'guard before the snapshot: all rows are seen');
is(rows_seen('after', 'adopt_unchecked'), 0, 'guard after it, without the rule: rows are lost without an error');

# The same order with the rule.
{
	my ($old, $leader) = map { start_psql($node, 'a') } 1 .. 2;
	my $writer = start_psql($node, 'b');
	$old->('BEGIN; INSERT INTO busy VALUES (0)');
	$writer->('BEGIN; INSERT INTO victim VALUES (0)');
	$leader->($begin);
	my $id = $leader->('SELECT pg_export_snapshot()');
	$writer->('COMMIT');
	refused_ok($node, 'b', "$begin; SELECT 1", "SELECT pardump.pg_pardump_adopt_snapshot('$id')",
		qr/ERROR:  55000: snapshot "$id" is older than this transaction's snapshot\nDETAIL:  Transactions have ended between the two/,
		'guard after the snapshot');
	$_->() foreach $old, $leader, $writer;
}

# ---- what else is refused

{
	my $leader = start_psql($node, 'a');
	$leader->($begin);
	my $id = $leader->('SELECT pg_export_snapshot()');
	my $call = "SELECT pardump.pg_pardump_adopt_snapshot('$id')";

	# a role without privileges has what SET TRANSACTION SNAPSHOT would give it
	my ($rc, $out, $err) = $node->psql('b', "$begin; SELECT 1; $call", on_error_stop => 1,
		connstr => $node->connstr('b') . ' user=low');
	is("$rc$err", '0', 'a role without privileges may adopt');

	refused_ok($node, 'b', 'BEGIN ISOLATION LEVEL READ COMMITTED', $call,
		qr/55000: a snapshot can be adopted only in a REPEATABLE READ transaction/, 'READ COMMITTED');
	refused_ok($node, 'b', 'BEGIN ISOLATION LEVEL SERIALIZABLE', $call,
		qr/55000: a snapshot can be adopted only in a REPEATABLE READ transaction/, 'SERIALIZABLE');
	refused_ok($node, 'b', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()', $call,
		qr/25001: cannot adopt a snapshot in a transaction that has written/, 'a transaction with an ID');
	refused_ok($node, 'b', "$begin; SAVEPOINT s", $call,
		qr/25001: cannot adopt a snapshot in a subtransaction/, 'a savepoint');
	refused_ok($node, 'b', $begin, "SELECT pardump.pg_pardump_adopt_snapshot($_->[0])", $_->[1], "identifier $_->[0]")
	  foreach [ q{'../PG_VERSION'}, qr/22023: invalid snapshot identifier/ ],
	  [ q{''}, qr/22023: invalid snapshot identifier/ ],
	  [ q{'00000003-0000001B-1'}, qr/42704: snapshot ".*" does not exist/ ],
	  [ 'NULL', qr/22004: /];
	$leader->();
}

# Files that no server writes; and a file whose transaction IDs were used two billion
# transactions ago, so that they are not in use yet.
my $next = value($node, 'b', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
foreach my $case ([ 'xmin:', "xmin:0\n" ], [ 'xmax:', "xmax:1\n" ], [ 'xip:', "xcnt:1\nxip:2\n" ], [ 'xmax:', 'xmax:' . ($next + 2**30) . "\n" ])
{
	my ($line, $text) = @$case;
	my $file = "vxid:3/99\npid:1\ndbid:1\niso:2\nro:1\nxmin:$next\nxmax:$next\nxcnt:0\nsof:0\nsxcnt:0\nrec:0\n";
	my ($name) = $text =~ /^(\w+:)/;
	$file =~ s/^$name.*\n/$text/m;
	append_to_file($node->data_dir . '/pg_snapshots/00000003-00000063-1', $file);
	refused_ok($node, 'b', $begin, q{SELECT pardump.pg_pardump_adopt_snapshot('00000003-00000063-1')},
		qr/XX001: invalid file of exported snapshot.*\nDETAIL:  The line "$line" is missing or invalid/, 'a file with ' . $text =~ s/\n/ /gr);
	unlink $node->data_dir . '/pg_snapshots/00000003-00000063-1';
}

# A guard that has imported the snapshot takes the place of the first one.
{
	my $leader = start_psql($node, 'a');
	my ($guard, $second, $third) = map { start_psql($node, 'b') } 1 .. 3;
	$guard->($begin);
	$guard->('SELECT 1');
	$leader->($begin);
	my $id = $leader->('SELECT pg_export_snapshot()');
	my $of_guard = $guard->("SELECT pardump.pg_pardump_adopt_snapshot('$id')");
	$second->($begin);
	$second->("SET TRANSACTION SNAPSHOT '$of_guard'");
	my $of_second = $second->("SELECT pardump.pg_pardump_adopt_snapshot('$id')");
	$guard->('COMMIT');
	sql($node, 'b', 'DELETE FROM victim');
	sql($node, 'b', 'VACUUM victim');
	$third->($begin);
	$third->("SET TRANSACTION SNAPSHOT '$of_second'");
	cmp_ok($third->('SELECT count(*) FROM victim'), '>', 0, 'a session that has imported the snapshot keeps it');
	$_->() foreach $leader, $guard, $second, $third;
	# sessions end a moment after their clients
	wait_until('no file of a snapshot is left', sub { my @files = glob $node->data_dir . '/pg_snapshots/*'; return !@files; });
}

# A setting by which the server removes rows that snapshots see.
if (pg_major($node) < 17)
{
	my $leader = start_psql($node, 'a');
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = 60min');
	$leader->();
	$node->restart;
	refused_ok($node, 'b', $begin, q{SELECT pardump.pg_pardump_adopt_snapshot('00000003-0000001B-1')},
		qr/55000: cannot adopt a snapshot while "old_snapshot_threshold" is set/, 'old_snapshot_threshold');
	$node->append_conf('postgresql.conf', 'old_snapshot_threshold = -1');
	$node->restart;
}

# ---- a hot standby

sql($node, 'b', 'INSERT INTO victim SELECT generate_series(1, 500)');
my $standby = start_standby($node);
{
	my $leader = start_psql($standby, 'a');
	my ($guard, $importer) = map { start_psql($standby, 'b') } 1 .. 2;
	$guard->($begin);
	$guard->('SELECT 1');
	my $early = Pardump::Wire->new($standby, 'b');
	$early->query($begin);
	$early->query('SELECT 1');
	$leader->($begin);
	my $id = $leader->('SELECT pg_export_snapshot()');
	my $adopted = $guard->("SELECT pardump.pg_pardump_adopt_snapshot('$id')");
	$importer->($begin);
	$importer->("SET TRANSACTION SNAPSHOT '$adopted'");
	is($importer->('SELECT count(*) FROM victim'), 500, 'on a standby: all rows are seen');
	sql($node, 'b', 'INSERT INTO victim VALUES (0)');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	refused_ok($standby, 'b', $begin, "SELECT pardump.pg_pardump_adopt_snapshot('$id')",
		qr/55000: snapshot "$id" is older than this transaction's snapshot/, 'on a standby, a guard after the snapshot');
	is($importer->('SELECT count(*) FROM victim'), 500, 'on a standby: the snapshot stays');

	# a guard from before a promotion, and one from before the snapshot, too
	my $old = Pardump::Wire->new($standby, 'b');
	$old->query($begin);
	$old->query('SELECT 1');
	$standby->promote;
	my $later = start_psql($standby, 'a');
	$later->($begin);
	my $new = $later->('SELECT pg_export_snapshot()');
	my $said = eval { $old->query("SELECT pardump.pg_pardump_adopt_snapshot('$new')"); 1 } ? '' : $@;
	like($said, qr/^snapshot "$new" is older than this transaction's snapshot/, 'a guard from before the promotion: refused');
	$old->close;
	$said = eval { $early->query("SELECT pardump.pg_pardump_adopt_snapshot('$id')"); 1 } ? '' : $@;
	like($said, qr/^snapshot "$id" was taken before the standby was promoted/, 'guard and snapshot from before the promotion: refused');
	$early->close;
	$_->() foreach $leader, $guard, $importer, $later;
}

done_testing();
