# pg_parrestore --pipe and pg_pardump --verify --pipe: while a worker reads a file, the
# commands of its next files already run (--pipe-prefetch).  Each file is read once.  The
# commands of toc.dat and the manifest run at the same time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl;
use List::Util qw(max min);
use Pardump::Background qw(end_dump wait_in_run wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql dump_ok);
use Pardump::Command qw(data_files system_faults);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(start_load no_temp_files_ok sessions_left);
use Pardump::Manifest qw($manifest_name);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('pipe_prefetch');
my $copies = 0;

# A database with this number of small tables.
sub make_tables
{
	my ($db, $n, $more) = @_;
	make_database($node, $db, options => 'TEMPLATE template0');
	sql($node, $db, join ";\n", $more // (), map { "CREATE TABLE t$_ AS SELECT g AS id FROM generate_series(1, 10) g" } 1 .. $n);
	return;
}

sub new_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0 STRATEGY file_copy');
	return $db;
}

# ---- commands that wait: each writes a line "start FILE PID PARENT", waits until the test
# opens the file's gate, and writes "go FILE"

# Make the gates of the files of an archive.
sub make_gates
{
	my ($dir) = @_;
	my %gates = (dir => $dir, log => new_path('log'), open => new_path('open'), pipes => new_path('pipes'), held => []);
	mkdir $gates{pipes} or die "could not make directory \"$gates{pipes}\": $!";
	append_to_file($gates{log}, '');
	foreach my $file (data_files($dir))
	{
		mkfifo("$gates{pipes}/$file", 0600) or die "could not make the gate of $file: $!";
	}
	return \%gates;
}

# Files that the leader reads have no gate.
sub gated_command
{
	my ($gates) = @_;
	return "f=%f; case \$f in toc.dat|*.toc|*.json) ;; *) echo start \$f \$\$ \$PPID >>$gates->{log}; [ -e $gates->{open} ] || read x <$gates->{pipes}/\$f; echo go \$f >>$gates->{log};; esac; exec cat $gates->{dir}/\$f";
}

# Let $n commands of this file go.  The pipe stays open, because it would lose its contents
# if it were closed.
sub let_go
{
	my ($gates, $file, $n) = @_;
	sysopen my $pipe, "$gates->{pipes}/$file", O_RDWR or die "could not open the gate of $file: $!";
	syswrite($pipe, "\n" x ($n // 1)) or die "could not write: $!";
	push @{ $gates->{held} }, $pipe;
	return;
}

sub let_all_go
{
	my ($gates) = @_;
	append_to_file($gates->{open}, '');
	let_go($gates, $_, 100) foreach data_files($gates->{dir});
	return;
}

# The commands that have started so far, in this order.
sub starts
{
	my ($gates) = @_;
	return map { my ($kind, $file, $pid, $parent) = split / /; $kind eq 'start' ? { file => $file, pid => $pid, parent => $parent } : () }
	  split /\n/, slurp_file($gates->{log});
}

sub wait_for_starts
{
	my ($run, $gates, $n) = @_;
	wait_in_run($run, "$n commands have started", sub { return starts($gates) >= $n; });
	return;
}

# Open the gates one after another, in the order in which the worker reads the files.  Because
# no command has returned a byte when its file is needed, the number of commands that are
# started early doubles with each file, up to $most.
sub open_gates_in_order
{
	my ($run, $gates, $most, @order) = @_;
	my $early = min(1, $most);
	foreach my $no (1 .. @order)
	{
		# the first command was not started early
		$early = min(2 * $early, $most) if $no > 1;
		wait_for_starts($run, $gates, min(scalar @order, $no + $early));
		let_go($gates, $order[ $no - 1 ]);
	}
	return;
}

# The order in which the worker reads the files of an archive: that of the commands if none is
# started early.  Also tests this.
sub reading_order
{
	my ($what, $dir, @command) = @_;
	my $gates = make_gates($dir);
	append_to_file($gates->{open}, '');
	my ($rc) = run_program(@command, '--pipe-prefetch=0', '--pipe=' . gated_command($gates));
	is($rc, 0, "$what, --pipe-prefetch=0: exit code");
	is(most_at_a_time($gates), 1, "$what, --pipe-prefetch=0: number of commands at the same time");
	return map { $_->{file} } starts($gates);
}

# The largest number of commands that waited at the same time.
sub most_at_a_time
{
	my ($gates) = @_;
	my ($n, $most) = (0, 0);
	foreach my $line (split /\n/, slurp_file($gates->{log}))
	{
		$n += $line =~ /^start / ? 1 : -1;
		$most = max($most, $n);
	}
	return $most;
}

sub start_restore
{
	my ($db, $gates, @options) = @_;
	return start_load('pg_parrestore', '-d', $node->connstr($db), '--pipe=' . gated_command($gates), @options);
}

# The commands of this list that are running.
sub running
{
	# the command line of a zombie is empty
	return grep { my $line = "/proc/$_->{pid}/cmdline"; -e $line && eval { slurp_file($line) ne '' } } @_;
}

# ---- the files of one job: the number of commands doubles up to the worker's share, because
# no command has returned a byte when its file is needed

make_tables('small', 24);
my $ours = dump_ok($node, 'small', 'one job', 'pg_pardump', '-Z0');
my $small_data = fingerprint($node, 'small');

my @order = reading_order('one job', $ours, 'pg_parrestore', '-d', $node->connstr(new_copy()));
is_deeply([ sort @order ], [ data_files($ours) ], 'one job, --pipe-prefetch=0: each file is read once');
foreach my $try ([ '-j1', 16 ], [ '-j1 --pipe-prefetch=100', 16 ], [ '-j1 --pipe-prefetch=3', 3 ], [ '-j3', 5 ], [ '-j3 --pipe-prefetch=2', 1 ])
{
	my ($what, $most) = @$try;
	my $gates = make_gates($ours);
	my $db = new_copy();
	my $run = start_restore($db, $gates, split / /, $what);
	open_gates_in_order($run, $gates, $most, @order);
	is(end_dump($run), 0, "$what: exit code");
	is($run->{err}, '', "$what: no message");
	is(most_at_a_time($gates), $most + 1, "$what: number of commands at the same time");
	is_deeply([ sort map { $_->{file} } starts($gates) ], [ data_files($ours) ], "$what: each file is read once");
	same_data_ok($small_data, fingerprint($node, $db), $what);
	no_temp_files_ok($what);
}

# ---- a worker that is killed, and a run that is ended

foreach my $signal ('KILL', 'TERM')
{
	my $what = $signal eq 'KILL' ? 'a killed worker' : 'a run that is ended';
	my $gates = make_gates($ours);
	my $db = new_copy();
	my $run = start_restore($db, $gates, '-j1');
	wait_for_starts($run, $gates, 2);
	let_go($gates, $order[0]);
	wait_for_starts($run, $gates, 4);
	my @waiting = grep { $_->{file} ne $order[0] } starts($gates);
	is(scalar(running(@waiting)), 3, "$what: commands that were started early");
	kill $signal => $signal eq 'KILL' ? $waiting[0]{parent} : $run->{pid};
	if ($signal eq 'KILL')
	{
		wait_in_run($run, 'the commands are gone', sub { return !running(@waiting); });
		let_all_go($gates);
		is(end_dump($run), 0, "$what: exit code");
		like($run->{err}, qr/\A[^\n]*warning: a worker process was killed; retry 1 of 5 [^\n]*\n(?:[^\n]*detail: [^\n]*\n){2}\z/, "$what: message");
		same_data_ok($small_data, fingerprint($node, $db), $what);
	}
	else
	{
		is(end_dump($run), 1, "$what: exit code");
		wait_until('the commands are gone', sub { return !running(@waiting); });
	}
	is(sessions_left($node), 0, "$what: no session left");
	no_temp_files_ok($what);
}

# ---- a command that fails before its file is needed is run again when it is: this failure does
# not count as one of --retries, and the next ones count

foreach my $n (1, 2)
{
	my $what = "an early failure, $n times";
	my $flag = new_path('flag');
	my ($first, $second) = @order;
	my $db = new_copy();
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db), '--retries=' . ($n - 1),
		"--pipe=f=%f; if [ \$f = $second ] && [ ! -e $flag.$n ]; then [ -e $flag ] && : >$flag.2; : >$flag; : >$flag.1; exit 3; fi; if [ \$f = $first ]; then while [ ! -e $flag ]; do sleep 0.02; done; fi; exec cat $ours/\$f");
	is($rc, 0, "$what: exit code");
	like($err, $n == 1 ? qr/\A\z/ : qr/\A[^\n]*warning: the command for a file failed; retry 1 of 1 in 0\.5 s\n[^\n]*detail: [^\n]*ommand for file "\Q$second\E" failed: [^\n]* exit code 3\.\n[^\n]*detail: Command was: f=\Q$second\E;[^\n]*\n\z/, "$what: message");
	same_data_ok($small_data, fingerprint($node, $db), $what);
}

# ---- a store that serves one command at a time: the command of a file waits for an early
# command, which waits for its reader, until both are ended

{
	my $what = 'a store that serves one command at a time';
	my ($lock, $held) = map { new_path($_) } qw(lock held);
	my ($first, $second) = @order;
	my $db = new_copy();
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db), '-j1', '--retries=1', '--stall-timeout=1',
		"--pipe=f=%f; if [ \$f = $second ] && [ ! -e $held ]; then exec 9>$lock; flock 9; : >$held; exec sleep 1000; fi; if [ \$f = $first ]; then until [ -e $held ]; do sleep 0.02; done; exec flock $lock cat $ours/\$f; fi; exec cat $ours/\$f");
	is($rc, 0, "$what: exit code");
	like($err, qr/\A[^\n]*warning: the command for a file failed; retry 1 of 1 in 0\.5 s\n[^\n]*detail: Command for file "\Q$first\E" returned no data for 1 s\.\n[^\n]*\n\z/, "$what: message");
	same_data_ok($small_data, fingerprint($node, $db), $what);
}

# ---- files of other jobs: without a manifest, each table is a job of its own

make_tables('jobs', 8);
my $stock = dump_ok($node, 'jobs', 'eight jobs', 'pg_dump', '-Z0');
my $jobs_data = fingerprint($node, 'jobs');
my @stock_order = reading_order('jobs', $stock, 'pg_parrestore', '-d', $node->connstr(new_copy()));

{
	my $gates = make_gates($stock);
	my $db = new_copy();
	my $run = start_restore($db, $gates, '-j1');
	open_gates_in_order($run, $gates, 16, @stock_order);
	is(end_dump($run), 0, 'jobs: exit code');
	is(most_at_a_time($gates), 5, 'jobs: number of commands at the same time');
	is_deeply([ sort map { $_->{file} } starts($gates) ], [ data_files($stock) ], 'jobs: each file is read once');
	same_data_ok($jobs_data, fingerprint($node, $db), 'jobs');
}

# A command that cannot be started early is started when its file is needed.  The first child
# processes return toc.dat and the manifest, verify the archive, and return the first file.
my $without = qr/detail: Files are read without checksums\.\n\z/;
foreach my $try ([ $stock, 1, 1, qr/error: could not create child process: / ], [ $stock, 2, 0, $without ], [ $ours, 2, 0, qr/\A\z/ ],
	[ $stock, 4, 1, qr/error: could not create child process: / ], [ $stock, 5, 0, $without ])
{
	my ($dir, $n, $want, $message) = @$try;
	my ($rc, undef, $err) = run_program('env', 'LD_PRELOAD=' . system_faults(), "SYSTEM_FAULT=fork $n", 'pg_pardump', '--verify', "--pipe=exec cat $dir/%f");
	is($rc, $want, "no child process $n: exit code");
	like($err, $message, "no child process $n: message");
}

# if a worker is killed, other workers do its next jobs, and their commands are not killed
{
	my $gates = make_gates($stock);
	my $db = new_copy();
	my $run = start_restore($db, $gates, '-j2');
	wait_for_starts($run, $gates, 4);
	my %of_worker;
	push @{ $of_worker{ $_->{parent} } }, $_ foreach starts($gates);
	is(join(' ', map { scalar @$_ } values %of_worker), '2 2', 'two workers: each has started a command early');
	my ($killed) = keys %of_worker;
	is(kill('KILL', $killed), 1, 'two workers: one is killed');
	wait_in_run($run, 'its commands are gone', sub { return !running(@{ $of_worker{$killed} }); });
	let_all_go($gates);
	is(end_dump($run), 0, 'two workers: exit code');
	my %times;
	$times{ $_->{file} }++ foreach starts($gates);
	is_deeply({ map { $_ => $times{$_} } grep { $times{$_} > 1 } keys %times }, { map { $_->{file} => 2 } @{ $of_worker{$killed} } }, 'two workers: only files of the killed one are read again');
	same_data_ok($jobs_data, fingerprint($node, $db), 'two workers');
}

# one job more than workers: no worker reserves it, so the worker that is ready first does it
{
	my $gates = make_gates($stock);
	my $db = new_copy();
	my @tables = map { ('-t', "t$_") } 1 .. 3;
	my $run = start_restore($db, $gates, '-j2', @tables);
	wait_for_starts($run, $gates, 2);
	my ($first, $second) = starts($gates);
	isnt($first->{parent}, $second->{parent}, 'the last jobs: two workers');
	let_go($gates, $first->{file});
	wait_for_starts($run, $gates, 3);
	my $third = (starts($gates))[2];
	is($third->{parent}, $first->{parent}, 'the last jobs: the worker that is ready does the last one');
	let_go($gates, $third->{file});
	my $filled = join ' + ', map { "(SELECT count(*) FROM t$_)" } 1 .. 3;
	wait_in_run($run, 'two tables are complete', sub { return value($node, $db, "SELECT $filled") == 20; });
	let_go($gates, $second->{file});
	is(end_dump($run), 0, 'the last jobs: exit code');
	is(most_at_a_time($gates), 2, 'the last jobs: number of commands at the same time');
}

# With a manifest, a worker reserves the last job when it will have read its file before a
# command could return data, which takes as long as for toc.dat.
{
	my $n = 3;
	make_tables('last', 0, join ';', map { "CREATE TABLE t$_ AS SELECT repeat('x', 1000) FROM generate_series(1, 900)" } 1 .. $n);
	my $dir = dump_ok($node, 'last', 'the last job', 'pg_pardump', '-Z0');
	my $log = new_path('log');
	my $db = new_copy();
	my $begun = "grep -c . $log";
	my ($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr($db), '-j2', '--retries=0',
		"--pipe=f=%f; case \$f in toc.dat) sleep 2;; *.json) ;; *) echo \$f >>$log; head -c 600000 $dir/\$f; until [ \$($begun) = $n ]; do sleep 0.02; done; exec tail -c +600001 $dir/\$f;; esac; exec cat $dir/\$f");
	is("$rc$err", '0', 'the last job, with a manifest: its command starts while the first files are read');
	is_deeply([ sort split /\n/, slurp_file($log) ], [ data_files($dir) ], 'the last job, with a manifest: each file is read once');
	same_data_ok(fingerprint($node, 'last'), fingerprint($node, $db), 'the last job, with a manifest');
}

# ---- without a manifest, a worker whose file turns out to be long releases its next jobs

{
	make_tables('long', 4, q{CREATE TABLE a AS SELECT repeat('x', 100000) AS t FROM generate_series(1, 800)});
	my $dir = dump_ok($node, 'long', 'a long table', 'pg_dump', '-Z0');
	my ($long) = sort { -s "$dir/$b" <=> -s "$dir/$a" } data_files($dir);
	my $gates = make_gates($dir);
	my $db = new_copy();
	my $run = start_restore($db, $gates, '-j1');
	wait_for_starts($run, $gates, 2);
	my ($next) = grep { $_->{file} ne $long } starts($gates);
	let_go($gates, $long);
	wait_in_run($run, 'the command of the next file is gone', sub { return !running($next); });
	let_all_go($gates);
	is(end_dump($run), 0, 'a long file: exit code');
	is(scalar(grep { $_->{file} eq $next->{file} } starts($gates)), 2, 'a long file: the command of the next one runs again');
	is(scalar(grep { $_->{file} eq $long } starts($gates)), 1, 'a long file: it is read once');
	same_data_ok(fingerprint($node, 'long'), fingerprint($node, $db), 'a long file');
}

# ---- large objects, and --verify

make_tables('objects', 0, 'SELECT lo_from_bytea(g, repeat(g::text, 1000)::bytea) FROM generate_series(3001, 3020) g');
my $objects = dump_ok($node, 'objects', 'large objects', 'pg_pardump', '-Z0');
my $objects_data = fingerprint($node, 'objects');
foreach my $what ('large objects', '--verify')
{
	my $verify = $what eq '--verify';
	my @program = $verify ? ('pg_pardump', '--verify') : ('pg_parrestore', '-d', $node->connstr(new_copy()));
	my @files = reading_order($what, $objects, @program);
	my $gates = make_gates($objects);
	my $db = new_copy();
	my $run = $verify ? start_load(@program, '--pipe=' . gated_command($gates)) : start_restore($db, $gates);
	open_gates_in_order($run, $gates, 16, @files);
	is(end_dump($run), 0, "$what: exit code");
	cmp_ok(most_at_a_time($gates), '>', 10, "$what: number of commands at the same time");
	is_deeply([ sort map { $_->{file} } starts($gates) ], [ grep { /\.dat$/ } data_files($objects) ], "$what: each file is read once");
	same_data_ok($objects_data, fingerprint($node, $db), $what) if !$verify;
}

# ---- toc.dat and the manifest: the command of toc.dat ends when that of the manifest has begun

# toc.dat and the manifest as commands that wait for each other; the manifest prints a message
sub begins_together
{
	my ($dir, $log) = @_;
	return "f=%f; case \$f in toc.dat) echo toc >>$log; until [ -e $log.manifest ]; do sleep 0.02; done; echo end >>$log;;"
	  . " $manifest_name) echo manifest >>$log; : >$log.manifest; echo about the manifest >&2;; esac; exec cat $dir/\$f";
}

foreach my $try ([ 'ours', $ours, qr/\Aabout the manifest\n\z/ ], [ 'stock', $stock, qr/\A[^\n]*warning: [^\n]* has no manifest\n[^\n]*detail: Files are read without checksums\.\n\z/ ])
{
	my ($what, $dir, $messages) = @$try;
	foreach my $program ([ 'pg_parrestore', '-d', $node->connstr(new_copy()) ], [ 'pg_pardump', '--verify' ], [ 'pg_parrestore', '-l' ])
	{
		my $log = new_path('log');
		my ($rc, undef, $err) = run_program(@$program, '--retries=0', '--pipe=' . begins_together($dir, $log));
		is($rc, 0, "toc.dat and the manifest, $what, @$program[0, 1]: exit code");
		like($err, $messages, "toc.dat and the manifest, $what, @$program[0, 1]: messages");
	}
}
{
	my $log = new_path('log');
	append_to_file("$log.manifest", '');
	my ($rc) = run_program('pg_parrestore', '-d', $node->connstr(new_copy()), '--pipe-prefetch=0', '--pipe=' . begins_together($ours, $log));
	is($rc . slurp_file($log), "0toc\nend\nmanifest\n", '--pipe-prefetch=0: the manifest is read after toc.dat');
}
# a store that refuses a second command at the same time: a retry runs one after the other
{
	my $lock = new_path('lock');
	my ($rc) = run_program('pg_pardump', '--verify', '-j1', '--retries=1', "--pipe=exec flock -n $lock cat $ours/%f");
	is($rc, 0, 'one command at a time: exit code');
}

# ---- options

foreach my $try (
	[ 'pg_parrestore', [ '-d', 'x', '--pipe=cat %f', '--pipe-prefetch=65537' ], qr/--pipe-prefetch must be in range 0\.\.65536/ ],
	[ 'pg_parrestore', [ '-d', 'x', '--pipe=cat %f', '--pipe-prefetch=x' ], qr/invalid value "x" for option --pipe-prefetch/ ],
	[ 'pg_parrestore', [ '-d', 'x', '--pipe-prefetch=4', $ours ], qr/option --pipe-prefetch requires option --pipe/ ],
	[ 'pg_pardump', [ '--pipe=cat >%f', '--pipe-prefetch=0' ], qr/option --pipe-prefetch requires option --verify\n/ ],
	[ 'pg_pardump', [ "--verify=$ours", '--pipe-prefetch=0' ], qr/option --pipe-prefetch requires option --pipe\n/ ])
{
	my ($program, $options, $message) = @$try;
	my ($rc, undef, $err) = run_program($program, @$options);
	is($rc, 1, "$program @$options: exit code");
	like($err, $message, "$program @$options: message");
}

$node->stop;
done_testing();
