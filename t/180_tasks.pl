# A dump by many hosts: the tasks of --tasks are run by a command, here a script
# of the test's on one machine; what they leave is one archive, as of one
# snapshot, or none.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql restore_ok
  value listing data_file);
use Pardump::Command qw(refused_ok);
use Pardump::Compare qw(fingerprint schema_text same_database_ok same_when_restored_ok);
use Pardump::Manifest qw(read_manifest);
use Pardump::Tasks qw(runner all_tasks archive_made_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('tasks');
make_database($node, 'tasks');
sql($node, 'tasks', <<'SQL');
CREATE TABLE big (id int PRIMARY KEY, t text, "odd ""name" text);
INSERT INTO big SELECT g, md5(g::text), E'\\x' || g FROM generate_series(1, 30000) g;
CREATE TABLE small AS SELECT g FROM generate_series(1, 10) g;
CREATE TABLE nothing (x int);
SELECT lo_from_bytea(1000 + g, convert_to(repeat(md5(g::text), g), 'UTF8'))
	FROM generate_series(1, 20) g;
CREATE EXTENSION pg_pardump;
SQL
my $connstr = $node->connstr('tasks');

my $all = all_tasks();
my @chunks = ('--max-table-segment-pages=20');

sub archive_ok
{
	my ($dump, $what, $original, $words) = @_;
	archive_made_ok($node, $dump, $original, $what, $words);
	unlike(listing($dump->{dir}), qr/plan|tmp|results/, "$what: nothing else in it");
	my ($rc, $out, $err) = run_program('pg_pardump', "--verify=$dump->{dir}");
	is($rc, 0, "$what: exit code of --verify") or diag($err);
	return;
}

# ---- all goes well, and writes do not show

my $original = fingerprint($node, 'tasks');
foreach my $how ([], ['--no-extension'], ['-Zserver-gzip'])
{
	my $what = "tasks @$how";
	my $writes = "psql -XqAt -d '$connstr' -c \"UPDATE big SET t = t || 'x' WHERE id % 7 = 0\"";
	archive_ok(start_dump($connstr, '--tasks=4', @$how, @chunks, runner("$writes\n$all")),
		$what, $original);
	$original = fingerprint($node, 'tasks');
}

# ---- a task is run twice at the same time; one is killed; one was not run at all

archive_ok(start_dump($connstr, '--tasks=3', @chunks,
		runner('set -- "$@" "$@"; ' . $all)), 'each task twice', $original);

my $mark = new_path('mark');
archive_ok(start_dump($connstr, '--tasks=3', '--retries=1', @chunks,
		runner("if [ -e '$mark' ]; then echo \"\$@\" >'$mark'; $all; fi; touch '$mark'; one 0; one 2; exit 3")),
	'a task that was not run', $original,
	qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: 1; retry 1 of 1\npg_pardump: detail: The command exited with exit code 3\.\n$/);
is(slurp_file($mark), "1\n", 'only the failed task was run again');

# ---- the plan as the tasks have it: no password, not readable by others; one
# whose extension is another is refused by the session that is to use it

my $seen = new_path('seen');
my $look = <<"SH";
cp "\$PLAN" '$seen'; ls -ld "\${PLAN%/*}" "\$PLAN" | cut -c1-10 >'$seen.modes'
sed 's/"extension_functions": "{[0-9]*/&9/' "\$PLAN" >"\$PLAN.forged"; chmod 600 "\$PLAN.forged"
pg_pardump --plan="\$PLAN.forged" --task=0/\$N >'$seen.says' 2>&1; echo \$? >>'$seen.says'
SH
archive_ok(start_dump("$connstr password=geheim", '--tasks=2', @chunks, runner($look . $all)),
	'a plan that is looked at', $original);
unlike(slurp_file($seen), qr/geheim/, 'the plan contains no password');
is(slurp_file("$seen.modes"), "drwx------\n-rw-------\n", 'no other user can read or write the plan');
like(slurp_file("$seen.says"), qr/error: extension pg_pardump was replaced during the run\n.*\n1\n$/s,
	'a task whose extension is another leaves');

# ---- a task whose workers do not all get a connection; the leader has one

sql($node, 'tasks', q{CREATE ROLE few LOGIN CONNECTION LIMIT 3 IN ROLE pg_read_all_data; DO $$BEGIN FOR oid IN 1001 .. 1020 LOOP
	EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO few', oid); END LOOP; END$$});
$original = fingerprint($node, 'tasks');
# pg_dump's may be there for a moment
my $few = "psql -XqAt -d '$connstr' -c \"SELECT count(*) FROM pg_stat_activity WHERE usename = 'few'\"";
archive_ok(start_dump("$connstr user=few", '--tasks=1', '--retries=0', @chunks,
		runner("until [ \"\$($few)\" = 1 ]; do sleep 0.1; done; pg_pardump --plan=\"\$PLAN\" --task=0/\$N -j3")),
	'a task with few connections', $original,
	qr/warning: server "[^"]+" has only 1 of 3 needed connections left\n.*hint: Use --jobs=1, or increase /);

# ---- what is told is told of all tasks

{
	my $log = new_path('log');
	my $report = new_path('report.html');
	my $dump = start_dump($connstr, '--tasks=3', @chunks, '-P', "--log-json=$log", "--report=$report", runner($all));
	archive_ok($dump, 'with log, report and progress', $original, qr/chunks \d+\/\d+/);
	my $manifest = read_manifest($dump->{dir});
	my $rows = grep { $_->{Kind} eq 'rows' } @{ $manifest->{Files} };
	my @ends = slurp_file($log) =~ /"chunk_end".*/g;
	is(scalar(@ends), $rows, 'an event for each file');
	my %tasks = map { /"worker": ?(\d+)/ ? ($1 => 1) : () } @ends;
	like(join(' ', sort keys %tasks), qr/^[0-2]( [0-2])*$/, 'events contain the number of a task');
	like(slurp_file($report), qr/<html/, 'a report');
}

# ---- a task's settings are the leader's, not those of its host's environment

make_database($node, 'moments');
sql($node, 'moments', q{CREATE TABLE moments AS SELECT timestamptz '2024-01-01 00:00+00' + g * interval '1 min' AS at,
	repeat('x', 200) FROM generate_series(1, 20000) g});
{
	my $copies = 0;
	my $condition = q{at >= '01.08.2024 00:00'};
	my $host = q{export PGTZ=Asia/Tokyo PGDATESTYLE=German PGOPTIONS='-c TimeZone=Asia/Tokyo'; };
	foreach my $of_leader ({}, { PGTZ => 'America/St_Johns' }, { PGOPTIONS => '-c TimeZone=America/St_Johns' })
	{
		local %ENV = (%ENV, %$of_leader);
		my $what = join ' ', 'settings of the leader:', %$of_leader;
		my $want = value($node, 'moments', "SELECT count(*) FROM moments WHERE $condition");
		my $dump = start_dump($node->connstr('moments'), '--tasks=2', @chunks, "--where=moments:$condition", runner($host . $all));
		is(end_dump($dump) . $dump->{err}, '0', "$what: exit code");
		my $copy = 'moments' . ++$copies;
		make_database($node, $copy, options => 'TEMPLATE template0');
		restore_ok($node, $dump->{dir}, $copy, $what);
		is(value($node, $copy, 'SELECT count(*) FROM moments'), $want, "$what: the rows that its condition finds");
	}
}

# ---- into commands: the plan is where it was asked for, and is removed at the
# end

{
	my $dir = new_path('piped');
	my $plan = new_path('plan');
	mkdir $dir or die "could not make \"$dir\": $!";
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '--tasks=3', @chunks,
		"--plan=$plan/plan.json", "--pipe=cat >$dir/%f", runner($all));
	is("$rc$err", '0', 'into commands: exit code');
	ok(!-e $plan, 'into commands: the plan is gone');
	same_when_restored_ok($node, $dir, $original, 'into commands');
}

# ---- into commands, and a task is run twice: if the two attempts read different rows, it is
# not known which of them are in the store

foreach my $try ([ 'id % 2 = 0', 0, qr/\A\z/ ],
	[ 'random() < 0.5', 1, qr/^pg_pardump: error: two attempts of a task stored different contents in file "\d+\.dat[^"]*"\npg_pardump: detail: .*\npg_pardump: hint: Run the dump again, with a new destination\.\n/m ])
{
	my ($where, $want, $message) = @$try;
	my ($dir, $plan) = map { new_path($_) } qw(twice plan);
	mkdir $dir or die "could not make \"$dir\": $!";
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '--tasks=1', '-Z', 'gzip:1', "--where=big:$where", '--no-chunks',
		"--plan=$plan/plan.json", "--pipe=cat >$dir/%f", runner("one 0\none 0"));
	is($rc, $want, "run twice, $where: exit code");
	like($err, $message, "run twice, $where: message");
	is(-e "$dir/toc.dat" ? 0 : 1, $want, "run twice, $where: the archive");
}

# ---- what cannot be

# Without a directory.
sub bare_refused_ok
{
	my ($message, $what, @arguments) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', @arguments);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

my @tasks = ('-d', $connstr, '--tasks=2');
my $run = '--run-tasks=true %p';
refused_ok(qr/option --tasks requires option --run-tasks/, 'no command', @tasks);
refused_ok(qr/invalid value "true" for option --run-tasks/, 'a command without the plan', @tasks, '--run-tasks=true');
refused_ok(qr/--tasks and --create-slot cannot be used together\n.*detail/, 'a slot', @tasks, $run, '--create-slot', '--slot=s');
refused_ok(qr/--incremental and --pipe cannot be used together\n.*detail/, 'an incremental dump into commands', @tasks, $run, '--incremental=x', '--pipe=cat >%f', '--plan=x');
refused_ok(qr/--tasks and -j\/--jobs cannot be used together\n.*detail/, 'jobs of the leader', @tasks, $run, '-j2');
refused_ok(qr/--task and -f\/--file cannot be used together/, 'a task with a directory', '--plan=x', '--task=0/2');
foreach my $task ('2/2', '-1/2', '1', '1/', '0/0', '0/2x', '')
{
	my ($rc, undef, $err) = run_program('pg_pardump', '--plan=x', "--task=$task");
	is($rc, 1, "--task=$task: exit code");
	like($err, qr/invalid value "\Q$task\E" for option --task/, "--task=$task: message");
}
bare_refused_ok(qr/--tasks and --target cannot be used together\n.*detail: Tasks can dump, but not copy/, 'a copy', @tasks, $run, '--target=dbname=x', '--plan=x');
bare_refused_ok(qr/--task and --target cannot be used together\n.*detail: Tasks can dump, but not copy/, 'a task with a target', '--plan=x', '--task=0/2', '--target=dbname=x');
bare_refused_ok(qr/options --tasks and --pipe require option --plan\n.*hint/, 'commands without a plan', '-d', $connstr, '--tasks=2', $run, '--pipe=cat >%f');
refused_ok(qr/option --run-tasks requires option --tasks/, 'no tasks', '-d', $connstr, $run);
refused_ok(qr/option --plan requires option --task or --tasks/, 'a plan alone', '-d', $connstr, '--plan=x');
refused_ok(qr/option --task requires option --plan/, 'a task without a plan', '--task=0/2');
refused_ok(qr/--task and --tasks cannot be used together/, 'a task that leads', '--plan=x', '--task=0/2', '--tasks=2');
refused_ok(qr/--tasks and -r\/--max-rate cannot be used together\n.*detail/, 'a rate of the leader', @tasks, $run, '-r', '1M');
refused_ok(qr/--task and \S+ cannot be used together\n.*detail: Specify this option for the leader/, "a task with $_", '--plan=x', '--task=0/2', $_)
  foreach '--role=x', '--check', '--log-json=x', '--schema=s', '--snapshot=x';
foreach my $option ('--tasks=2', '--run-tasks=true %p', '--plan=x', '--task=0/2')
{
	my ($name) = $option =~ /^([^=]*)/;
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $connstr, $option, 'x');
	is($rc, 1, "pg_parrestore $name: exit code");
	like($err, qr/unrecognized option '$name/, "pg_parrestore $name: message");
}

# ---- what the documentation says to do instead of tasks of a restore

{
	my ($recipe) = slurp_file("$FindBin::RealBin/../doc/many_hosts.md") =~ /^(    cd \/shared\n(?:    .*\n)+)/m or die 'there is no recipe';
	my $shared = new_path('shared');
	mkdir $shared or die "could not make \"$shared\": $!";
	make_database($node, 'by_lists', options => 'TEMPLATE template0');
	my $target = $node->connstr('by_lists');
	$recipe =~ s/\/shared/$shared/;
	$recipe =~ s/'host=db2 dbname=shop'/"$target"/g;
	$recipe =~ s/^ *(pg_restore --section=data -j .*)rows[.]aa(.*)$/for l in rows.*; do $1\$l$2 & pids="\$pids \$!"; done; for p in \$pids; do wait \$p; done/m;
	my $dump = start_dump("$connstr", '-j2', @chunks);
	is(end_dump($dump), 0, 'restored by lists: an archive');
	symlink $dump->{dir}, "$shared/shop" or die "could not make a link: $!";
	my ($rc, undef, $err) = run_program('bash', '-ec', $recipe);
	is("$rc$err", '0', 'restored by lists: exit code');
	same_database_ok($node, 'by_lists', fingerprint($node, 'tasks'), schema_text($node, 'tasks'), 'restored by lists');
}

# ---- a task fails always

{
	my $dump = start_dump($connstr, '--tasks=3', '--retries=1', @chunks,
		runner('one 0; one 2; exit 7'));
	is(end_dump($dump), 1, 'a task that fails always: exit code');
	like($dump->{err}, qr/error: not all tasks were completed; tasks with missing files: 1\n.*detail: The command exited with exit code 7\.\n.*Incomplete jobs: (?:.*, )?chunk \d+ of \d+ of table public\.big/,
		'a task that fails always: message');
	ok(!-e $dump->{dir}, 'a task that fails always: nothing is left');
}

# ---- a plan of the first version of the format is read; then its server is another

{
	my ($version) = (run_program('pg_pardump', '--version'))[1] =~ /^pg_pardump (\S+)/;
	my $user = value($node, 'tasks', 'SELECT session_user');
	my $format_1 = slurp_file(data_file('format_1/plan.json')) =~ s/("version": )"[^"]*"/$1"$version"/r
	  =~ s/("user": )"[^"]*"/$1"$user"/r;
	foreach my $case ([ 'as it was', sub { }, qr/error: this is not the leader's server: its system identifier is/ ],
		[ 'a member that is missing', sub { s/"run": "[^"]*", // }, qr/ is damaged\n.*detail: Member "run" is missing\.$/m ],
		[ 'a member twice', sub { s/"tasks": 2, /$&$&/ }, qr/ is damaged\n.*detail: Member "tasks" is repeated\.$/m ],
		[ 'a large number', sub { s/("chunks": )3/${1}4294967296/ }, qr/ is damaged\n.*detail: Member "chunks" is out of range\.$/m ],
		[ 'another type', sub { s/("oids": \[)/$1"/ }, qr/ is damaged\n.*detail: Member "oids" is invalid\.$/m ],
		[ 'a long checksum', sub { s/("checksum": ")/$1 . '00' x 100/e }, qr/ is damaged\n.*detail: Member "checksum" is too long\.$/m ],
		[ 'a mask too many', sub { s/("masks": \[)/$1null, / }, qr/ is damaged\n.*detail: The number of masks is not the number of columns\.$/m ])
	{
		my ($what, $change, $message) = @$case;
		my $plan = new_path('format_1');
		local $_ = $format_1;
		$change->();
		append_to_file($plan, $_);
		chmod 0600, $plan;
		my ($rc, undef, $err) = run_program('pg_pardump', "--plan=$plan", '--task=0/2', '-d', $connstr);
		is($rc, 1, "a plan of format 1, $what: exit code");
		like($err, $message, "a plan of format 1, $what: message");
	}
}

# ---- many fail: a message names some, and how many

make_database($node, 'many');
sql($node, 'many', join '', map { "CREATE TABLE t$_ (t text); ALTER TABLE t$_ ALTER t SET STORAGE EXTERNAL; INSERT INTO t$_ VALUES (repeat('x', 600000));" } 1 .. 24);
foreach my $many ([ 'exit 7', qr/tasks with missing files: 0-23$/m ],
	[ 'for i in $(seq 0 2 23); do one $i || exit; done', qr/tasks with missing files: 1,3,5,7,9,11,13,15,17,19 and 2 more$/m ])
{
	my $dump = start_dump($node->connstr('many'), '--tasks=24', '--retries=0', '-Z0', runner($many->[0]));
	is(end_dump($dump), 1, 'many that fail: exit code');
	like($dump->{err}, $many->[1], 'many that fail: message');
}

done_testing();
