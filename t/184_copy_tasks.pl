# A copy by many hosts: the tasks of pg_pardump --target --tasks are run by a
# command, here a script of the test's on one machine; what they copy is there
# once, however often they run, and is the snapshot's, or the leader says what is
# missing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Compare qw(fingerprint schema_text same_database_ok same_data_ok);
use Pardump::Copy qw(run_copy sessions_left no_temp_files_ok);
use Pardump::Databases qw(prepare_for_everything start_everything empty_copy);
use Pardump::Tasks qw(make_tasks runner all_tasks liar);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_everything('copy_tasks_source');
my $target = start_cluster('copy_tasks_target');
make_tasks($source);
my $data = fingerprint($source, 'tasks');
my $schema = schema_text($source, 'tasks');
my $summary = qr/^copied 5 tables, 33010 rows, \S+ [kM]B in [\d.]+ seconds$/m;
my @chunks = ('--max-table-segment-pages=20');
my $names = 0;

my $all = all_tasks();

sub new_database { return empty_copy($target, 'tasks', 'copy' . ++$names); }

# A copy by tasks into this database; what run_program() returns, and the
# directory of the plan.
sub copy_by_tasks
{
	my ($db, @options) = @_;
	my $place = new_path('plan');
	return (run_copy($source, 'tasks', $target, $db, @chunks, "--plan=$place/plan.json", @options), $place);
}

# All is there, once, and nothing else is left.
sub complete_ok
{
	my ($db, $what, $want) = @_;
	same_database_ok($target, $db, $want // $data, $schema, $what);
	is(sessions_left($source, $target), 0, "$what: no session left");
	no_temp_files_ok($what);
	sql($target, 'postgres', "DROP DATABASE $db");
	return;
}

sub copied_ok
{
	my ($what, $words, @options) = @_;
	my $db = new_database();
	my ($rc, $out, $err, $place) = copy_by_tasks($db, @options);
	is($rc, 0, "$what: exit code");
	like($err, $words // qr/^$/, "$what: what it says");
	like($out, $summary, "$what: summary");
	ok(!-e $place, "$what: the plan is gone");
	complete_ok($db, $what);
	return $out;
}

# ---- all goes well, in each format, and writes do not show

copied_ok('all goes well', undef, '--tasks=3', runner($all));
copied_ok('as text', undef, '--tasks=3', '--copy-format=text', runner($all));
copied_ok('by workers of their own', undef, '--tasks=2', '-j3', '--index-jobs=1', '--compare', runner($all));
{
	my $psql = "psql -XqAt -d '" . $source->connstr('tasks') . "' -c";
	copied_ok('writes', undef, '--tasks=4',
		runner("$psql \"UPDATE big SET t = t || 'x' WHERE id % 7 = 0\" && $psql 'DELETE FROM small' && $all"));
	$data = fingerprint($source, 'tasks');
	$summary = qr/^copied 5 tables, 33000 rows, /m;
}
foreach my $db ([ $source, 'tasks' ], [ $target, 'with_extension' ])
{
	make_database(@$db, options => 'TEMPLATE template0') if $db->[1] ne 'tasks';
	sql(@$db, 'CREATE EXTENSION pg_pardump');
}
$schema = schema_text($source, 'tasks');
{
	my $out = copied_ok('by the extension', undef, '--tasks=3', runner($all));
	like($out, qr/^\d tables? as raw tuples/m, 'by the extension: as raw tuples');
}

# ---- tasks are run several times at the same time; one was not run at all

copied_ok('each task three times', undef, '--tasks=3', runner('set -- "$@" "$@" "$@"; ' . $all));

my $mark = new_path('mark');
copied_ok('a task that was not run',
	qr/^pg_pardump: warning: the command ended with exit code 3; tasks to be run again: 1; retry 1 of 1\n$/,
	'--tasks=3', '--retries=1',
	runner("if [ -e '$mark' ]; then echo \"\$@\" >'$mark'; $all; fi; touch '$mark'; one 0; one 2; exit 3"));
is(slurp_file($mark), "1\n", 'only that one was run again');

# ---- more tasks than there is to do; one

copied_ok('more tasks than jobs',
	qr/warning: the server has \d+ connections left, and 100 tasks at a time need 200 or more\n.*warning: the target has \d+ connections left, and 100 tasks at a time need 102 or more\n.*detail: 2 of these are/s,
	'--tasks=100', runner('for i in "$@"; do [ $i -gt 40 ] || one $i || exit; done'));
copied_ok('one task', undef, '--tasks=1', runner($all));

# ---- rows alone, into tables that are there: after a failure nothing adds to them unseen

{
	my $db = new_database();
	my ($rc, $out, $err) = run_copy($source, 'tasks', $target, $db, '-s');
	is("$rc$err", '0', 'rows alone: tables');
	my @rows = ('-a', '-t', 'small', '-t', 'big');
	($rc, $out, $err) = copy_by_tasks($db, @rows, '--tasks=2', '--retries=0', runner('one 0; exit 3'));
	is($rc, 1, 'rows alone, a failure: exit code');
	like($err, qr/hint: This copy cannot be resumed: empty its tables, and DROP SCHEMA pardump_restore CASCADE, before they are copied again/,
		'rows alone, a failure: hint');
	my $n = value($target, $db, 'SELECT count(*) FROM big');
	cmp_ok($n, '>', 0, 'rows alone, a failure: rows are there');
	foreach my $again ([ \&copy_by_tasks, $db, '--tasks=2', runner($all) ], [ \&run_copy, $source, 'tasks', $target, $db, '-j2' ])
	{
		my ($run, @args) = @$again;
		($rc, $out, $err) = $run->(@args, @rows);
		is($rc, 1, 'rows alone, again: exit code');
		like($err, qr/has not come to its end, or a copy by tasks\n.*hint: Rows that are there would be loaded twice: empty the tables, and then DROP SCHEMA/,
			'rows alone, again: hint');
	}
	is(value($target, $db, 'SELECT count(*) FROM big'), $n, 'rows alone, again: no row is added');
	sql($target, $db, 'TRUNCATE big, small CASCADE; DROP SCHEMA pardump_restore CASCADE');
	($rc, $out, $err) = copy_by_tasks($db, @rows, '--tasks=2', runner($all));
	is("$rc$err", '0', 'rows alone, from the beginning');
	is(value($target, $db, 'SELECT count(*) || \' \' || (SELECT count(*) FROM small) FROM big'),
		value($source, 'tasks', 'SELECT count(*) || \' \' || (SELECT count(*) FROM small) FROM big'), 'rows alone, from the beginning: all are there');
	sql($target, 'postgres', "DROP DATABASE $db");
}

# ---- what was copied, but told to nobody, is known by the log

{
	my $elsewhere = new_path('elsewhere');
	copied_ok('results that the leader does not see', undef, '--tasks=2',
		runner("mkdir -m 700 '$elsewhere'; cp -p \"\$PLAN\" '$elsewhere/plan.json'; PLAN='$elsewhere/plan.json'; $all"));
	is(scalar(@{ [ glob "$elsewhere/*.results" ] }), 2, 'results that the leader does not see: there are some');
}

# ---- what is told of rows that are not there is not believed

{
	my $db = new_database();
	my ($rc, $out, $err) = copy_by_tasks($db, '--tasks=2', '--retries=0', runner(liar(q{$(grep -c '"chunk": ' "$PLAN")})));
	is($rc, 1, 'a liar: exit code');
	unlike($err, qr/results ".*" are not/, 'a liar: it was understood');
	like($err, qr/the command ended with exit code 0: rows of tasks 0,1 are missing\n.*Missing: /, 'a liar: all is missing');
	is($out, '', 'a liar: no summary');
	is(sessions_left($source, $target), 0, 'a liar: no session left');
}

# ---- what is told is told of all tasks

{
	my ($log, $report) = map { new_path($_) } qw(log report.html);
	copied_ok('with all that tells', qr/rows 100%/, '--tasks=3', '-P', "--log-json=$log", "--report=$report", runner($all));
	my @ends = slurp_file($log) =~ /"chunk_end".*/g;
	cmp_ok(scalar(grep { /"table": ?"public.big"/ } @ends), '>', 5, 'an event for each chunk of a table');
	my %tasks = map { /"worker": ?(\d+)/ ? ($1 => 1) : () } @ends;
	cmp_ok(scalar(keys %tasks), '>', 1, 'of several tasks');
	like(slurp_file($report), qr/<html/, 'a report');
}

# ---- a task fails always: what is missing is named, and the target tells, too

{
	my $what = 'a task that fails always';
	my $db = new_database();
	my ($rc, $out, $err, $place) = copy_by_tasks($db, '--tasks=3', '--retries=1', runner('one 0; one 2; exit 7'));
	is($rc, 1, "$what: exit code");
	like($err, qr/error: not all tasks were done, and the command ended with exit code 7: rows of tasks 1 are missing\n.*Missing: /,
		"$what: message");
	like($err, qr/detail: Tasks were run 2 times\./, "$what: how often");
	like($err, qr/warning: schema pardump_restore stays on the target, .*\n.*hint: .*--clean/, "$what: what is left");
	like($err, qr/warning: all rows of \d of 5 tables were committed on the target, but not of .*public\.big/, "$what: account");
	is($out, '', "$what: no summary");
	ok(!-e $place, "$what: no plan is left");
	ok(value($target, $db, 'SELECT count(*) < 30000 FROM big') eq 't', "$what: not all rows are there");
	is(value($target, $db, q{SELECT count(*) FROM pg_constraint WHERE contype = 'f'}), 0, "$what: nor what comes after them");

	# neither program goes on with it, nor begins anew beside it
	($rc, undef, $err) = copy_by_tasks($db, '--tasks=3', '-a', runner($all));
	is($rc, 1, "$what: another copy: exit code");
	like($err, qr/error: a restore into this database has not come to its end, or a copy by tasks\n.*hint: Rows that are there would be loaded twice/,
		"$what: another copy: message");
	my $archive = start_dump($source->connstr('tasks'));
	is(end_dump($archive), 0, "$what: an archive");
	($rc, undef, $err) = run_program('pg_parrestore', '-d', $target->connstr($db), '--resume', $archive->{dir});
	is($rc, 1, "$what: pg_parrestore --resume: exit code");
	like($err, qr/error: the restore cannot be resumed: the archive is another one now\n.*Then: a copy of database "tasks" in snapshot /,
		"$what: pg_parrestore --resume: message");

	($rc, $out, $err) = copy_by_tasks($db, '--tasks=3', '--clean', runner($all));
	is("$rc$err", '0', "$what: with --clean: exit code");
	complete_ok($db, "$what: with --clean");
}

# ---- other ways to copy

{
	my $db = new_database();
	my ($rc, undef, $err) = run_copy($source, 'tasks', $target, $db, '-s');
	is("$rc$err", '0', 'rows alone: definitions');
	($rc, undef, $err) = copy_by_tasks($db, '--tasks=2', '-a', '--disable-triggers', runner($all));
	is($rc, 0, 'rows alone: exit code');
	unlike($err, qr/^pg_pardump: /m, 'rows alone: nothing but what pg_dump says');
	# large objects come with definitions
	my %rows = map { $_ => $data->{$_} } grep { /^table/ } keys %$data;
	my $got = fingerprint($target, $db);
	same_data_ok(\%rows, { map { $_ => $got->{$_} } grep { /^table/ } keys %$got }, 'rows alone');
	sql($target, 'postgres', "DROP DATABASE $db");
}
{
	my ($rc, undef, $err) = copy_by_tasks('postgres', '--tasks=2', '--create', runner($all));
	is("$rc$err", '0', 'a new database: exit code');
	complete_ok('tasks', 'a new database');
}
{
	my $db = new_database();
	my ($rc, $out, $err) = copy_by_tasks($db, '--tasks=2', '--where=big:id <= 100', '-t', 'big',
		q{--mask=big.t:md5('saltysalt' || id)}, runner($all));
	is("$rc$err", '0', 'some rows, masked: exit code');
	like($out, qr/^copied 1 table, 100 rows, /m, 'some rows, masked: summary');
	is(value($target, $db, q{SELECT count(*) FROM big WHERE t = md5('saltysalt' || id)}), 100, 'some rows, masked');
	sql($target, 'postgres', "DROP DATABASE $db");
}

# ---- everything that a database can hold, as one host copies it

prepare_for_everything($target);
{
	my ($one, $many) = map { empty_copy($target, 'everything', $_) } qw(by_one by_many);
	my ($rc, undef, $err) = run_copy($source, 'everything', $target, $one, '-j2', '--chunk-size=64kB');
	is("$rc$err", '0', 'everything: by one host');
	my $place = new_path('plan');
	($rc, undef, $err) = run_copy($source, 'everything', $target, $many, '--chunk-size=64kB', '--tasks=3',
		"--plan=$place/plan.json", '--compare', '--trust-owners', runner($all));
	is("$rc$err", '0', 'everything: by tasks');
	same_database_ok($target, $many, fingerprint($target, $one), schema_text($target, $one), 'everything');
}

# ---- the plan as the tasks have it: no password, nobody else's

{
	my $what = 'a plan that is looked at';
	my $seen = new_path('seen');
	my $db = new_database();
	my $place = new_path('plan');
	my $look = "cp -p \"\$PLAN\" '$seen'; ls -ld \"\${PLAN%/*}\" \"\$PLAN\" | cut -c1-10 >'$seen.modes'\n";
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('tasks') . ' password=geheim', @chunks,
		'--target', $target->connstr($db) . ' password=secreto', '--tasks=2', "--plan=$place/plan.json", runner($look . $all));
	is("$rc$err", '0', "$what: exit code");
	unlike(slurp_file($seen), qr/geheim|secreto/, "$what: no password in it");
	is(slurp_file("$seen.modes"), "drwx------\n-rw-------\n", "$what: nobody else reads or writes it");
	complete_ok($db, $what);
	($rc, undef, $err) = run_program('pg_parrestore', "--plan=$seen", '--task=0/2');
	is($rc, 1, "$what: for pg_parrestore: exit code");
	like($err, qr/is not that of a restore/, "$what: for pg_parrestore: message");
	my $dump = start_dump($source->connstr('tasks'), '--tasks=1', "--run-tasks=cp -p %p '$seen.dump'; pg_pardump --plan=%p --task=0/1");
	is(end_dump($dump), 0, 'a dump by tasks');
	($rc, undef, $err) = run_program('pg_pardump', "--plan=$seen.dump", '--task=0/1', '--target=dbname=postgres');
	is($rc, 1, 'a plan of a dump, with a target: exit code');
	like($err, qr/is not that of a copy/, 'a plan of a dump, with a target: message');
}

# ---- what cannot be

sub refused_ok
{
	my ($message, $what, @arguments) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', @arguments);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return;
}
{
	my $db = new_database();
	my @copy = ('-d', $source->connstr('tasks'), '--target', $target->connstr($db), '--tasks=2');
	my $run = '--run-tasks=true %p';
	my $plan = new_path('plan') . '/plan.json';
	refused_ok(qr/options --tasks and --target require option --plan\n.*hint/, 'no plan', @copy, $run);
	refused_ok(qr/option --tasks requires option --run-tasks/, 'no command', @copy, "--plan=$plan");
	refused_ok(qr/invalid value "true" for option --run-tasks/, 'a command without the plan', @copy, "--plan=$plan", '--run-tasks=true');
	refused_ok(qr/--tasks and --create-slot cannot be used together\n.*detail/, 'a slot', @copy, "--plan=$plan", $run, '--create-slot', '--slot=s');
	refused_ok(qr/--tasks and -r\/--max-rate cannot be used together\n.*detail/, 'a rate', @copy, "--plan=$plan", $run, '-r', '1M');
	refused_ok(qr/--also-from and --target cannot be used together/, 'standbys', @copy, "--plan=$plan", $run, '--also-from=port=1');
	foreach my $option ('--compare', '--copy-format=raw', '--index-jobs=2', '--no-analyze', '--roles',
		'--toast-compression=lz4', '--wire-compression=lz4')
	{
		my ($name) = $option =~ /^([^=]*)/;
		refused_ok(qr/--task and $name cannot be used together\n.*detail: That is for the leader/, "a task with $option",
			"--plan=$plan", '--task=0/2', '--target=dbname=x', $option);
	}
	my $there = new_path('there');
	mkdir $there or die "could not make \"$there\": $!";
	refused_ok(qr/could not create directory .*File exists\n.*hint: --plan/, 'a directory that is there', @copy, $run, "--plan=$there/plan.json");
	is(value($target, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'big'}), 0, 'and nothing was made');

	# a role that can have no log
	sql($target, 'postgres', 'CREATE ROLE guest LOGIN');
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('tasks'), '--target',
		$target->connstr($db) . ' user=guest', '-O', '-x', '-t', 'small', '--tasks=2', "--plan=$plan", runner($all));
	is($rc, 1, 'a role without a log: exit code');
	like($err, qr/error: option --tasks requires a role that may create a schema in the target's database/, 'a role without a log: message');
	is(value($target, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'small'}), 0, 'a role without a log: nothing is made');
	my $out;
	($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr('tasks'), '--target',
		$target->connstr($db) . ' user=guest', '-O', '-x', '-t', 'small', '--tasks=2', '--check');
	is($rc, 1, 'a role without a log, with --check: exit code');
	like("$out$err", qr/option --tasks requires a role that may create a schema in the target's database/, 'a role without a log, with --check: message');

	# only looked at
	($rc, $out, $err) = run_program('pg_pardump', @copy, '--check', '--tasks=4000');
	is($rc, 0, '--check: exit code');
	like("$out$err", qr/the target has \d+ connections left, and 4000 tasks at a time need 4002 or more/, '--check: connections');
	is(value($target, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'big'}), 0, '--check: nothing is made');

	# the log of another run is no part of what is copied
	make_database($source, 'with_log', options => 'TEMPLATE template0');
	sql($source, 'with_log', 'CREATE SCHEMA pardump_restore; CREATE TABLE pardump_restore.done (x int); CREATE TABLE t (x int)');
	($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('with_log'), '--target', $target->connstr($db),
		'--tasks=2', "--plan=$plan", runner($all));
	is($rc, 1, 'a source with a log: exit code');
	like($err, qr/error: the source is a database into which a restore had not come to its end\n.*hint: -N pardump_restore/, 'a source with a log: message');
	($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('with_log'), '--target', $target->connstr($db),
		'--tasks=2', '-N', 'pardump_restore', "--plan=$plan", runner($all));
	is("$rc$err", '0', 'a source with a log: left out');
}

$source->stop;
$target->stop;
done_testing();
