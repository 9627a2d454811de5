# A restore by many hosts: the tasks of pg_parrestore --tasks are run by a
# command, here a script of the test's on one machine; what they load is there
# once, however often they run, or the leader says what is missing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump);
use Pardump::Cluster qw(start_cluster run_program new_path sql value
  dump_ok listing);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore errors_ignored stock_archives);
use Pardump::Tasks qw(make_tasks restore_runner all_tasks liar);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('restore_tasks');
make_tasks($node);
my $data = fingerprint($node, 'tasks');
my $schema = schema_text($node, 'tasks');
my $ours = dump_ok($node, 'tasks', 'ours', 'pg_pardump', '--max-table-segment-pages=20');
my %stock = stock_archives($node, 'tasks');
my $names = 0;

sub new_database { return empty_copy($node, 'tasks', 'copy' . ++$names); }

# What was restored is all there, once, and nothing else is left.
sub complete_ok
{
	my ($db, $what, $archive) = @_;
	same_database_ok($node, $db, $data, $schema, $what);
	is(sessions_left($node), 0, "$what: no session left");
	unlike(listing($archive // $ours), qr/plan|results/, "$what: nothing is left in the archive") if -d ($archive // $ours);
	sql($node, 'postgres', "DROP DATABASE $db");
	return;
}

sub restored_ok
{
	my ($what, $words, $archive, @options) = @_;
	my $db = new_database();
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, @options);
	is("$rc$out", '0', "$what: exit code, and nothing on standard output");
	like($err, $words // qr/^$/, "$what: what it says");
	complete_ok($db, $what, $archive);
	return;
}

my $side_by_side = all_tasks();
my $all = restore_runner($side_by_side);

# ---- all goes well, with each kind of archive

{
	my $log = new_path('log');
	restored_ok('ours', undef, $ours, '--tasks=3', $all, "--log-json=$log");
	my @ends = grep { /"table": ?"public.big"/ } slurp_file($log) =~ /"chunk_end".*/g;
	cmp_ok(scalar(@ends), '>', 5, 'ours: an event for each chunk of a table');
	my %tasks = map { /"worker": ?(\d+)/ ? ($1 => 1) : () } @ends;
	cmp_ok(scalar(keys %tasks), '>', 1, 'ours: several tasks have loaded chunks of it');
}
{
	my $report = new_path('report.html');
	restored_ok('with a summary', qr/^restored 5 tables, 33010 rows/m, $ours, '--tasks=2', $all, '--progress', "--report=$report");
	like(slurp_file($report), qr/<html/, 'a report');
}
foreach my $kind (sort keys %stock)
{
	my $plan = new_path('plan');
	# its large table in pieces, by all workers of one task
	restored_ok("stock, $kind", undef, $stock{$kind}, '--tasks=3', '--chunk-size=64kB', $all, "--plan=$plan/plan.json");
	ok(!-e $plan, "stock, $kind: the plan is gone");
	restored_ok("stock, $kind, each task twice", undef, $stock{$kind}, '--tasks=2', '--chunk-size=64kB',
		restore_runner('set -- "$@" "$@"; ' . $side_by_side), "--plan=$plan/plan.json");
}

# ---- settings that its host's environment has are not a task's

restored_ok('settings of a host', undef, $ours, '--tasks=2',
	restore_runner("PGOPTIONS='-c no_such_setting=1'; export PGOPTIONS; $side_by_side"));

# ---- tasks are run three times at the same time; one was not run at all

restored_ok('each task three times', undef, $ours, '--tasks=3', restore_runner('set -- "$@" "$@" "$@"; ' . $side_by_side));

my $mark = new_path('mark');
restored_ok('a task that was not run',
	qr/^pg_parrestore: warning: the command ended with exit code 3; tasks to be run again: 1; retry 1 of 1\n$/,
	$ours, '--tasks=3', '--retries=1',
	restore_runner("if [ -e '$mark' ]; then echo \"\$@\" >'$mark'; $side_by_side; fi; touch '$mark'; one 0; one 2; exit 3"));
is(slurp_file($mark), "1\n", 'only that one was run again');

# ---- more tasks than there is to do; one

# the leader's own sessions count: for its lock, and to build an index
restored_ok('more tasks than jobs', qr/^\S+ warning: the server has \d+ connections left, and 100 tasks at a time need 202 or more\n\S+ detail: 2 of these are the leader's own, for a lock and to build indexes\.\n\S+ hint: .*\n$/,
	$ours, '--tasks=100', '--index-jobs=1', restore_runner('for i in "$@"; do [ $i -gt 40 ] || one $i || exit; done'));
restored_ok('one task', undef, $ours, '--tasks=1', $all);

# ---- with keys in force what is referenced comes first: another plan for each wave

{
	my $db = new_database();
	my $plans = new_path('plans');
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($db), '-s', $stock{directory});
	is("$rc$err", '0', 'keys in force: definitions');
	($rc, undef, $err) = run_parrestore($node, $db, $ours, '-a', '--tasks=3',
		restore_runner("echo \"\${PLAN##*/}\" >>'$plans'; $side_by_side"));
	is("$rc$err", '0', 'keys in force: exit code');
	is(slurp_file($plans), "plan.json\nplan.json.2\n", 'keys in force: two waves');
	complete_ok($db, 'keys in force');
}

# ---- rows that cannot be loaded are left out, told, and not tried again

foreach my $how ([], ['-e'])
{
	my $what = "bad rows @$how";
	my $db = new_database();
	my $runs = new_path('runs');
	run_program('pg_restore', '-d', $node->connstr($db), '-s', '--section=pre-data', $stock{directory});
	sql($node, $db, 'ALTER TABLE big ADD CHECK (id <> 15000); ALTER TABLE small ADD CHECK (g <> 3)');
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '-a', @$how, '--tasks=3',
		restore_runner("echo >>'$runs'; $side_by_side"));
	is($rc, 1, "$what: exit code");
	like($err, qr/pg_parrestore: error: a task could not load (?:chunk \d+ of \d+ of )?table public\.(?:big|small): see what it has said/,
		"$what: the leader tells");
	is(slurp_file($runs), "\n", "$what: the command was run once");
	if (@$how)
	{
		unlike($err, qr/errors ignored/, "$what: it is the end");
		next;
	}
	like($err, qr/violates check constraint "big_id_check"/, "$what: the task tells why");
	is(errors_ignored($err), 2, "$what: both are counted");
	my $rows = value($node, $db, 'SELECT count(*) FROM big');
	ok($rows > 20000 && $rows < 30000, "$what: all other chunks are there");
	is(value($node, $db, 'SELECT count(*) = count(DISTINCT id) FROM big'), 't', "$what: once");
	is(value($node, $db, 'SELECT count(*) FROM child'), 2000, "$what: so are other tables");
}

# ---- a task fails always: what is missing is named, and --resume has it, by
# tasks or by workers

foreach my $how ([ 'by tasks', '--tasks=2', $all ], [ 'by workers', '-j2' ])
{
	my ($by, @options) = @$how;
	my $db = new_database();
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '--tasks=3', '--retries=1',
		restore_runner('one 0; one 2; exit 7'));
	is($rc, 1, "a task that fails always: exit code");
	like($err, qr/error: not all tasks were done, and the command ended with exit code 7: rows of tasks 1 are missing\n.*Missing: /,
		'a task that fails always: message');
	like($err, qr/detail: Tasks were run 2 times\./, 'a task that fails always: how often');
	unlike(listing($ours), qr/plan/, 'a task that fails always: no plan is left');
	($rc, undef, $err) = run_parrestore($node, $db, $ours, '--resume', @options);
	is("$rc$err", '0', "resumed $by: exit code");
	complete_ok($db, "resumed $by");
}
{
	my $db = new_database();
	my ($rc, undef, $err) = run_parrestore($node, $db, $stock{directory}, '-e', '-j2', '--chunk-size=64kB',
		'--tasks=2', '--retries=0', restore_runner('pg_parrestore --plan="$PLAN" --task=0/$N & sleep 0.2; kill -9 $!; exit 1'));
	is($rc, 1, 'pieces: a task that is killed: exit code');
	($rc, undef, $err) = run_parrestore($node, $db, $stock{directory}, '--resume', '--chunk-size=64kB', '--tasks=2', $all);
	is("$rc$err", '0', 'pieces: resumed: exit code');
	complete_ok($db, 'pieces: resumed', $stock{directory});
}

# ---- what is told of rows that are not there is not believed

{
	my $db = new_database();
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '--tasks=2', '--retries=0', restore_runner(liar(q{$(grep -o '"files": [0-9]*' "$PLAN" | cut -c10-)})));
	is($rc, 1, 'a liar: exit code');
	unlike($err, qr/results ".*" are not/, 'a liar: it was understood');
	like($err, qr/the command ended with exit code 0: rows of tasks 0,1 are missing\n.*Missing: /, 'a liar: all is missing');
	($rc, undef, $err) = run_parrestore($node, $db, $ours, '--resume', '--tasks=2', $all);
	is("$rc$err", '0', 'a liar: resumed');
	complete_ok($db, 'a liar');
}

# ---- the plan as the tasks have it: no password, nobody else's

{
	my $seen = new_path('seen');
	my $db = new_database();
	my $look = "cp \"\$PLAN\" '$seen'; ls -ld \"\${PLAN%/*}\" \"\$PLAN\" | cut -c1-10 >'$seen.modes'\n";
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db) . ' password=geheim',
		'--tasks=2', restore_runner($look . $side_by_side), $ours);
	is("$rc$err", '0', 'a plan that is looked at: exit code');
	unlike(slurp_file($seen), qr/geheim/, 'no password in the plan');
	is(slurp_file("$seen.modes"), "drwx------\n-rw-------\n", 'nobody else reads or writes it');
	complete_ok($db, 'a plan that is looked at');

	# a dump's is none, nor is a restore's one of a dump
	chmod 0600, $seen;
	($rc, undef, $err) = run_program('pg_pardump', "--plan=$seen", '--task=0/2');
	is($rc, 1, 'a plan of a restore: exit code');
	like($err, qr/is not that of a dump/, 'a plan of a restore: message');
	my $dump = start_dump($node->connstr('tasks'), '--tasks=1', "--run-tasks=cp %p '$seen.dump'; pg_pardump --plan=%p --task=0/1");
	is(end_dump($dump), 0, 'a dump by tasks');
	($rc, undef, $err) = run_program('pg_parrestore', "--plan=$seen.dump", '--task=0/1');
	is($rc, 1, 'a plan of a dump: exit code');
	like($err, qr/is not that of a restore/, 'a plan of a dump: message');
}

# ---- what cannot be

sub refused_ok
{
	my ($message, $what, @arguments) = @_;
	my ($rc, undef, $err) = run_program('pg_parrestore', @arguments);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return;
}
{
	my $db = new_database();
	my @target = ('-d', $node->connstr($db));
	my $run = '--run-tasks=true %p';
	my $task = '--plan=x';
	refused_ok(qr/option --tasks requires option --run-tasks/, 'no command', @target, '--tasks=2', $ours);
	refused_ok(qr/option --run-tasks requires option --tasks/, 'no tasks', @target, $run, $ours);
	refused_ok(qr/option --plan requires option --task or --tasks/, 'a plan alone', @target, '--plan=x', $ours);
	refused_ok(qr/invalid value "true" for option --run-tasks/, 'a command without the plan', @target, '--tasks=2', '--run-tasks=true', $ours);
	refused_ok(qr/option --tasks requires option --plan where the archive is no directory/, 'a file', @target, '--tasks=2', $run, $stock{custom});
	refused_ok(qr/cannot be used where stock pg_restore does the work/, 'a single transaction', @target, '--tasks=2', $run, '-1', $ours);
	refused_ok(qr/cannot be used without a database to restore into/, 'a script', '--tasks=2', $run, '-f', '-', $ours);
	refused_ok(qr/option --task requires option --plan/, 'a task without a plan', '--task=0/2');
	refused_ok(qr/--task and --tasks cannot be used together/, 'a task that leads', $task, '--task=0/2', '--tasks=2');
	foreach my $option ('--resume', '--clean', '--role=x', '--check', '--verify', '--schema=s', '--chunk-size=1MB', '--log-json=x', '-e')
	{
		refused_ok(qr/--task and --\S+ cannot be used together\n.*detail: That is for the leader/, "a task with $option", $task, '--task=0/2', $option);
	}
	refused_ok(qr/--task and \S+ cannot be used together\n/, 'a task with an archive', $task, '--task=0/2', $ours);
	refused_ok(qr/invalid value "\Q$_\E" for option --task/, "--task=$_", $task, "--task=$_") foreach '2/2', '1', '0/0', '';
	my $there = new_path('there');
	mkdir $there or die "could not make \"$there\": $!";
	refused_ok(qr/could not create directory .*File exists\n.*hint: --plan/, 'a directory that is there', @target, '--tasks=2', $run, "--plan=$there/plan.json", $ours);
	is(value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'}), 0, 'and nothing was made');
}

# only looked at
{
	my $db = new_database();
	my ($rc, $out, $err) = run_program('pg_parrestore', '-d', $node->connstr($db), '--tasks=4000', '--index-jobs=2', '--check', $ours);
	is($rc, 0, '--check: exit code');
	like("$out$err", qr/warning: the server has \d+ connections left, and 4000 tasks at a time need 8003 or more\n  DETAIL: 3 of these are/, '--check: connections');
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'big'}), 0, '--check: nothing is made');
	sql($node, 'postgres', "DROP DATABASE $db");
}

# a task whose workers do not all get a connection; the leader has two
{
	my $db = new_database();
	sql($node, 'postgres', "CREATE ROLE few LOGIN CONNECTION LIMIT 5; ALTER DATABASE $db OWNER TO few");
	# those that have made the definitions may be there for a moment
	my $few = "psql -XqAt -d '" . $node->connstr('postgres') . "' -c \"SELECT count(*) FROM pg_stat_activity WHERE usename = 'few'\"";
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db) . ' user=few', '-n', 'public', '--no-owner',
		'--tasks=1', '--index-jobs=1', restore_runner("until [ \"\$($few)\" = 2 ]; do sleep 0.1; done; $side_by_side", 4), $ours);
	is($rc, 0, 'a task with few connections: exit code');
	like($err, qr/warning: the server has 2 connections left, and this task has 4 workers\n.*hint: Use fewer --jobs, have fewer tasks run/,
		'a task with few connections: message');
	sql($node, 'postgres', "DROP DATABASE $db");
}

# open files, before anything is made
{
	my $db = new_database();
	my ($rc, undef, $err) = run_program('prlimit', '--nofile=80:100', 'pg_parrestore', '-d', $node->connstr($db), '-j19', $ours);
	is($rc, 1, 'open files: exit code');
	like($err, qr/error: 19 jobs need 102 open files, and the limit is 100\n.*hint: Use fewer --jobs/, 'open files: message');
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'big'}), 0, 'open files: nothing is made');
	sql($node, 'postgres', "DROP DATABASE $db");
}

# a role that can have no log
{
	my $db = new_database();
	sql($node, 'postgres', 'CREATE ROLE guest LOGIN');
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db) . ' user=guest', '-n', 'public', '--no-owner', '--tasks=2', $all, $ours);
	is($rc, 1, 'a role without a log: exit code');
	like($err, qr/option --tasks requires a role that may create a schema in the target's database/, 'a role without a log: message');
	my $out;
	($rc, $out, $err) = run_program('pg_parrestore', '-d', $node->connstr($db) . ' user=guest', '-n', 'public', '--no-owner', '--tasks=2',
		'--check', $ours);
	is($rc, 1, 'a role without a log, with --check: exit code');
	like("$out$err", qr/option --tasks requires a role that may create a schema in the target's database/, 'a role without a log, with --check: message');
}

# a role that may not ask which server it is, of a login that may
{
	my $db = new_database();
	sql($node, 'postgres', 'CREATE ROLE loader');
	sql($node, 'postgres', "ALTER DATABASE $db OWNER TO loader");
	sql($node, $db, "REVOKE EXECUTE ON FUNCTION $_() FROM PUBLIC")
	  foreach qw(pg_control_system pg_control_checkpoint pg_control_recovery);
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '-n', 'public', '--no-owner', '--role=loader', '--tasks=2', $all);
	is($rc, 0, 'a role that may not ask for the server: exit code');
	like($err, qr/^(?:pg_parrestore: warning: the role may not execute pg_control_system\(\), [^\n]*\n)+$/, 'a role that may not ask for the server: words');
}

done_testing();
