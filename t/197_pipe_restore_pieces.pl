# pg_parrestore --pipe of an archive without a manifest: workers load large tables in pieces.
# If a command returns different rows each time, either the restore fails, or each row is
# loaded exactly once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(make_database run_program new_path value sql dump_ok);
use Pardump::Copy qw(temp_dir no_temp_files_ok start_load);
use Pardump::Gate qw(gate_sql hold_gates close_gate open_gate wait_at_gate);
use Pardump::PipeRestore qw(start_pipe_shop pipe_copy pipe_arguments pipe_into piped_ok pipe_failed shop_copied_ok table_file failing_command $no_manifest);
use Pardump::Terminal qw(start_on_terminal);
use PostgreSQL::Test::Utils;
use Test::More;

# a command with a number of its own, because other test files may run at the same time
my $sleep = "sleep 100195.$$";

my $node = start_pipe_shop('pipe_restore_pieces');
my $stock = dump_ok($node, 'shop', 'stock', 'pg_dump', '-Z0');
my $big = table_file($stock, 'big');
my @pieces = ('--chunk-size=64kB');
my $restart = qr/^pg_parrestore: detail: Pieces of table public\.\w+ might have been committed\.\npg_parrestore: hint: The committed rows might be wrong\.  Run the same command without --resume, /m;

sub commands_left { return (run_program('pgrep', '-fc', "^$sleep\$"))[1] + 0; }

sub rows_of { return value($node, $_[0], "SELECT count(*) FROM $_[1]"); }

# The messages must be those of a run that has failed because of other rows than before.
sub restart_ok
{
	my ($err, $before, $what) = @_;
	like($err, qr/^pg_parrestore: error: data of entry \d+, TABLE DATA "[^"]*", differs from the $before$/m, "$what: message");
	like($err, $restart, "$what: hint");
	unlike($err, qr/with --resume\.$/m, "$what: no advice to resume");
}

# ---- A command returns other rows before it fails, each time, and the right rows when the
# restore is resumed.

foreach my $try ([ 'shorter rows', 's/[a-f]//g' ], [ 'longer rows', 's/a/aaaaa/g' ], [ 'rows of the same length', 's/a/b/g' ])
{
	my ($what, $edit) = @$try;
	my $db = pipe_copy();
	my $err = pipe_failed($db, $what, failing_command($stock, $big, "head -c 400000 $stock/$big | sed '$edit'; exit 3"), '--retries=1', '-j1', @pieces);
	like($err, qr/^pg_parrestore: hint: [^\n]* with --resume\.$/m, "$what: hint");
	my $n = rows_of($db, 'big');
	cmp_ok($n, '>', 0, "$what: rows are committed");
	foreach my $attempt (1, 2)
	{
		$err = pipe_failed($db, "$what, resumed, $attempt", "cat $stock/%f", '--resume', '-j2', @pieces);
		restart_ok($err, 'data that was read before', "$what, resumed, $attempt");
	}
	is(rows_of($db, 'big'), $n, "$what: no row is added");
}

# a journal of an older version: what was committed cannot be compared
{
	my $db = pipe_copy();
	pipe_failed($db, 'no checksums', failing_command($stock, $big, "head -c 400000 $stock/$big; exit 3"), '--retries=0', '-j1', @pieces);
	cmp_ok(rows_of($db, 'big'), '>', 0, 'no checksums: rows are committed');
	sql($node, $db, 'ALTER TABLE pardump_restore.done DROP COLUMN crc');
	like(piped_ok($db, 'no checksums, resumed', "cat $stock/%f", '--resume', '-j2', @pieces),
		qr/^pg_parrestore: warning: the rows that commands return cannot be compared with those that were committed before\npg_parrestore: detail: /m, 'no checksums, resumed: a warning');
}

# all pieces of the right rows are committed, and further rows
{
	make_database($node, 'even', options => 'TEMPLATE template0');
	sql($node, 'even', "CREATE TABLE even AS SELECT lpad(g::text, 63, '0') AS t FROM generate_series(1, 4096) g");
	my $dir = dump_ok($node, 'even', 'rows of 64 bytes', 'pg_dump', '-Z0');
	my $name = table_file($dir, 'even');
	my $db = pipe_copy();
	pipe_failed($db, 'more rows', failing_command($dir, $name, "head -c 262144 $dir/$name; seq -f '%%063.0f' 5000 9000; exit 3"), '--retries=0', '-j1', @pieces);
	cmp_ok(rows_of($db, 'even'), '>', 4096, 'more rows: further rows are committed');
	my $err = pipe_failed($db, 'more rows, resumed', "cat $dir/%f", '--resume', @pieces);
	restart_ok($err, 'rows that were committed before', 'more rows, resumed');
}

# ---- a worker is killed, and the command returns the same or other rows to the next worker

foreach my $try ([ 'the same rows', "cat $stock/$big" ], [ 'other rows', "sed 's/a/b/g' $stock/$big" ])
{
	my ($what, $second) = ("killed, $try->[0]", $try->[1]);
	my ($count, $worker) = map { new_path($_) } qw(count worker);
	my $db = pipe_copy();
	my $command = "echo >>$count; case \$(wc -l <$count) in 1) echo \$PPID >$worker; head -c 400000 $stock/$big; exec $sleep;; *) exec $second;; esac";
	my $run = start_load(pipe_arguments($db, failing_command($stock, $big, $command), '-j1', @pieces));
	wait_in_run($run, 'rows are committed', sub { -s $worker && rows_of($db, 'big') > 0 });
	my ($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, "$what: a worker is killed");
	my $rc = end_dump($run);
	is(slurp_file($count), "\n\n", "$what: two attempts");
	if ($try->[0] eq 'other rows')
	{
		is($rc, 1, "$what: exit code");
		restart_ok($run->{err}, 'rows that were committed before', $what);
	}
	else
	{
		is($rc, 0, "$what: exit code");
		shop_copied_ok($db, $what);
	}
}

# a pipeline, whose processes do not end when the shell of the worker ends
{
	my ($worker, $flag) = map { new_path($_) } qw(worker flag);
	my $db = pipe_copy();
	my $command = failing_command($stock, $big, "echo \$PPID >$worker; $sleep | cat", $flag);
	my $run = start_load(pipe_arguments($db, $command, '-j2', '--stall-timeout=0', '--retries=1', @pieces));
	wait_in_run($run, 'the pipeline runs', sub { -s $worker && commands_left() });
	my ($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, 'killed with a pipeline: a worker is killed');
	is(end_dump($run), 0, 'killed with a pipeline: exit code');
	is(commands_left(), 0, 'killed with a pipeline: no command is left');
	shop_copied_ok($db, 'killed with a pipeline');

	# after the last attempt, the run ends
	unlink $worker;
	$run = start_load(pipe_arguments(pipe_copy(), failing_command($stock, $big, "echo \$PPID >$worker; $sleep | cat"), '-j2', '--stall-timeout=0', '--retries=0', @pieces));
	wait_in_run($run, 'the pipeline runs', sub { -s $worker && commands_left() });
	($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, 'killed in the last attempt: a worker is killed');
	is(end_dump($run), 1, 'killed in the last attempt: exit code');
	is(commands_left(), 0, 'killed in the last attempt: no command is left');
}

# ---- a piece that the server rejects does not count as other rows

{
	my $db = pipe_copy();
	sql($node, $db, 'CREATE TABLE big (id int CHECK (id <> 5000), t text)');
	my ($rc, undef, $err) = pipe_into($db, "cat $stock/%f", '-a', '-t', 'big', '-j2', @pieces);
	is($rc, 1, 'a rejected piece: exit code');
	like($err, qr/COPY failed for a piece of table public\.big: .*violates check constraint.*errors ignored on restore: 1\n/s, 'a rejected piece: message');
	unlike($err, qr/differ/, 'a rejected piece: no error about other rows');
	my $n = rows_of($db, 'big');
	ok($n > 17000 && $n < 20000, 'a rejected piece: all other rows are loaded') or diag($n);
}

# ---- data after the line that ends the rows: the restore can be resumed

{
	my $db = pipe_copy();
	my $err = pipe_failed($db, 'more after the rows', failing_command($stock, $big, "cat $stock/$big; echo 1"), '--retries=0', '-j2', @pieces);
	like($err, qr/^pg_parrestore: error: could not read data of entry \d+, TABLE DATA "[^"]*"\npg_parrestore: detail: Unexpected data after the rows\.\npg_parrestore: detail: Pieces of table public\.big might have been committed\.$/m, 'more after the rows: message');
	like(piped_ok($db, 'more after the rows, resumed', "cat $stock/%f", '--resume', '-j2', @pieces), $no_manifest, 'more after the rows, resumed: messages');
}

# ---- memory for pieces

like(piped_ok(pipe_copy(), 'large pieces', "cat $stock/%f", '-j8', '--chunk-size=4GB'), $no_manifest, 'large pieces: messages');
{
	my $db = pipe_copy();
	local $ENV{TMPDIR} = temp_dir();
	my ($rc, undef, $err) = run_program('sh', '-c', 'ulimit -v 4000000; exec "$@"', 'sh', pipe_arguments($db, "cat $stock/%f", '-j8', '--chunk-size=4GB'));
	is($rc, 1, 'too little memory: exit code');
	like($err, qr/^pg_parrestore: error: could not map 32\.0 GB of shared memory for pieces of a table: Cannot allocate memory\npg_parrestore: hint: Use a smaller number for --jobs, or a smaller --chunk-size\.$/m, 'too little memory: message');
	no_temp_files_ok('too little memory');
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relname = 'big'}), 0, 'too little memory: no table is created');
}

# ---- progress of a table that one worker must load at once, because it references itself

{
	make_database($node, 'tree', options => 'TEMPLATE template0');
	sql($node, 'tree', gate_sql(3000, 7) . <<'SQL');
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, t text, CHECK (public.pass(id)));
INSERT INTO tree SELECT g, nullif(g - 1, 0), repeat('y', 100) FROM generate_series(1, 3000) g;
SQL
	my $dir = dump_ok($node, 'tree', 'a table that references itself', 'pg_dump', '-Z0');
	my $db = pipe_copy();
	is((run_program('pg_restore', '-s', '-d', $node->connstr($db), $dir))[0], 0, 'at once: definitions');
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_on_terminal(200, pipe_arguments($db, "cat $dir/%f", '-a', '-j2', @pieces));
	wait_at_gate($node, $run, 1);
	wait_in_run($run, 'progress', sub { $run->{out} =~ /[1-9][\d.]* kB of ~/ });
	open_gate();
	is(end_dump($run), 0, 'at once: exit code');
	is(rows_of($db, 'tree'), 3000, 'at once: rows');
}

# ---- without a restore journal, one worker loads a table in one transaction

{
	my $db = pipe_copy();
	sql($node, $db, 'CREATE ROLE loader; CREATE TABLE big (id int, t text); ALTER TABLE big OWNER TO loader');
	my @options = ('-a', '-t', 'big', '--role=loader', '-j3', @pieces);
	my $err = pipe_failed($db, 'no journal', failing_command($stock, $big, "head -c 400000 $stock/$big; exit 3"), @options, '--retries=0');
	like($err, qr/the restore cannot be resumed if it is interrupted/, 'no journal: warning');
	unlike($err, qr/might have been committed/, 'no journal: nothing is committed');
	is(rows_of($db, 'big'), 0, 'no journal: no row');
	my $count = new_path('count');
	my ($rc) = pipe_into($db, failing_command($stock, $big, "echo >>$count; exec cat $stock/$big"), @options);
	is($rc, 0, 'no journal, repeated: exit code');
	is(rows_of($db, 'big'), 20000, 'no journal, repeated: rows');
	is(slurp_file($count), "\n", 'no journal, repeated: the file is read once');
}

$node->stop;
done_testing();
