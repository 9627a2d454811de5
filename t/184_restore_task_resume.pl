# pg_parrestore --resume of restores by tasks, which were interrupted: nothing is
# loaded twice, whoever goes on; and of unlogged tables that a crash of the target
# has emptied meanwhile what is gone is loaded again, and nothing else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until wait_in_run);
use Pardump::Cluster qw(start_cluster make_database run_program dump_ok new_path value sql);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Gate qw(gate_sql hold_gates close_gate open_gate wait_at_gate);
use Pardump::Restore qw(run_parrestore start_parrestore);
use Pardump::Tasks qw(restore_runner all_tasks);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('restore_task_resume');
my $copies = 0;

# A row in the middle of one table waits at the gate; the others are of both kinds.
sub make_gated
{
	my ($db, $kind) = @_;
	make_database($node, $db, options => 'TEMPLATE template0');
	sql($node, $db, gate_sql(30000, 7) . qq{
		CREATE $kind TABLE big (id int CHECK (public.pass(id)), note text);
		INSERT INTO big SELECT i, repeat(md5(i::text), 3) FROM generate_series(1, 60000) i;
		ALTER TABLE big ADD PRIMARY KEY (id);
		CREATE $kind TABLE leaf AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 3000) i;
		CREATE INDEX leaf_a ON leaf (a);
		CREATE TABLE lasting AS SELECT i AS a, md5(i::text) AS b FROM generate_series(1, 3000) i;
		SELECT lo_from_bytea(7000 + i, decode(md5(i::text), 'hex')) FROM generate_series(1, 30) i});
	my $custom = new_path('custom');
	run_program('pg_dump', '-Fc', '-f', $custom, '-d', $node->connstr($db));
	return {
		db => $db, data => fingerprint($node, $db), schema => schema_text($node, $db),
		archives => { chunks => dump_ok($node, $db, $db, 'pg_pardump', '--chunk-size=64kB'), pieces => $custom } };
}

my @pieces = ('--chunk-size=64kB');

# A plan elsewhere, as an archive may be a file.
sub by_tasks
{
	my ($n) = @_;
	return ("--tasks=$n", restore_runner(all_tasks()), '--plan=' . new_path('plan') . '/plan.json', @pieces);
}

# Until what can be is there, and one session waits at the gate.
sub start_until_gate
{
	my ($source, $kind) = @_;
	my $db = empty_copy($node, $source->{db}, 'copy' . ++$copies);
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_parrestore($node, $db, $source->{archives}{$kind}, by_tasks(3));
	wait_at_gate($node, $run, 1);
	wait_in_run($run, 'all that can be is there', sub {
		return value($node, $db, 'SELECT (SELECT count(*) FROM lasting) = 3000 AND (SELECT count(*) FROM leaf) = 3000
			AND (SELECT count(*) FROM big) > 0') eq 't';
	});
	return ($db, $run);
}

sub complete_ok
{
	my ($db, $source, $what) = @_;
	same_database_ok($node, $db, $source->{data}, $source->{schema}, $what);
	is(value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}),
		0, "$what: no log is left");
	return;
}

# What is there is marked first: so it is seen that it is not loaded again.
sub resumed_ok
{
	my ($db, $source, $kind, $what, @options) = @_;
	my $counts = 'SELECT (SELECT count(*) FROM big), (SELECT count(*) FROM leaf), (SELECT count(*) FROM lasting)';
	my $left = value($node, $db, $counts);
	sql($node, $db, q{UPDATE big SET note = 'seen'; UPDATE leaf SET b = 'seen'; UPDATE lasting SET b = 'seen'});
	my ($rc, $out, $err) = run_parrestore($node, $db, $source->{archives}{$kind}, '--resume', @options);
	ok($rc == 0 && $out eq '' && $err eq '', "$what: resumed") or diag("$rc $out$err");
	is(value($node, $db, $counts =~ s/(FROM big)/$1 WHERE note = 'seen'/r =~ s/(FROM l\w+)/$1 WHERE b = 'seen'/gr),
		$left, "$what: nothing is loaded again");
	sql($node, $db, q{UPDATE big SET note = repeat(md5(id::text), 3); UPDATE leaf SET b = md5(a::text); UPDATE lasting SET b = md5(a::text)});
	complete_ok($db, $source, $what);
	return;
}

# ---- Ctrl-C: the tasks are gone, and the other way goes on

my $lasting = make_gated('lasting', '');
foreach my $kind ('chunks', 'pieces')
{
	foreach my $how ([ 'by tasks', by_tasks(2) ], [ 'by workers', '-j3', @pieces ])
	{
		my ($by, @options) = @$how;
		my ($db, $run) = start_until_gate($lasting, $kind);
		kill INT => -$run->{pid};
		is(end_dump($run), 1, "$kind, Ctrl-C, $by: exit code");
		open_gate();
		wait_until('no backend is left', sub { sessions_left($node) == 0 });
		resumed_ok($db, $lasting, $kind, "$kind, Ctrl-C, $by", @options);
	}
}

# ---- the target crashes, and unlogged tables are empty: with all of the run, or
# without

my $unlogged = make_gated('unlogged', 'UNLOGGED');
my $told = qr/error: the target has crashed, and has lost what was restored of unlogged .*\n.*These are: public\.big, public\.leaf\.\n.*--resume restores it again/;
foreach my $kind ('chunks', 'pieces')
{
	my ($db, $run) = start_until_gate($unlogged, $kind);
	kill KILL => -$run->{pid};
	end_dump($run);
	$node->stop('immediate');
	$node->start;
	is(value($node, $db, 'SELECT (SELECT count(*) FROM big) + (SELECT count(*) FROM leaf)'), 0,
		"$kind, killed and crash: what a crash takes");
	resumed_ok($db, $unlogged, $kind, "$kind, killed and crash", by_tasks(2));

	($db, $run) = start_until_gate($unlogged, $kind);
	$node->stop('immediate');
	$node->start;
	is(end_dump($run), 1, "$kind, crash: exit code");
	like($run->{err}, $told, "$kind, crash: message");
	is(value($node, $db, 'SELECT count(*) FROM lasting'), 3000, "$kind, crash: the others");
	my ($rc, $out, $err) = run_parrestore($node, $db, $unlogged->{archives}{$kind}, '--resume', by_tasks(2));
	ok($rc == 0 && $out eq '' && $err eq '', "$kind, crash: resumed") or diag("$rc $out$err");
	complete_ok($db, $unlogged, "$kind, crash");
}

$node->stop;
done_testing();
