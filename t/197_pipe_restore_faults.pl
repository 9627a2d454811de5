# pg_parrestore --pipe with commands that fail, hang or return wrong data: they are run again.
# No row of a file is committed before the whole file is known to be right, unless the file
# is loaded in pieces, which the journal records.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl;
use JSON::PP qw(decode_json);
use Pardump::Background qw(children end_dump pump_run wait_in_run wait_until);
use Pardump::Cluster qw(make_database run_program new_path value sql dump_ok tier);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok sessions_left);
use Pardump::Gate qw(gate_sql hold_gates close_gate open_gate wait_at_gate);
use Pardump::Manifest qw($manifest_name);
use Pardump::PipeRestore qw(start_pipe_shop pipe_copy pipe_arguments pipe_into piped_ok pipe_failed shop_copied_ok table_file failing_command failing_commands $no_manifest);
use Pardump::Toc qw(read_toc data_path is_table_data is_barrier);
use PostgreSQL::Test::Utils;
use Test::More;

# a command with a number of its own, because other test files may run at the same time
my $sleep = "sleep 100196.$$";

# The first failure of a command that was started early would not be reported or counted.
my $not_early = '--pipe-prefetch=0';

my $node = start_pipe_shop('pipe_restore_faults');
my %archives;
foreach my $try ([ 'pg_pardump gzip', '-Z6', '--chunk-size=128kB' ], [ 'pg_pardump none', '-Z0', '--chunk-size=128kB' ], [ 'pg_dump gzip', '-Z6' ], [ 'pg_dump none', '-Z0' ])
{
	my ($what, @options) = @$try;
	$archives{$what} = dump_ok($node, 'shop', $what, $what =~ s/ .*//r, @options);
}
my $ours = $archives{'pg_pardump gzip'};
my $plain = $archives{'pg_pardump none'};
my $stock = $archives{'pg_dump gzip'};
my $stock_plain = $archives{'pg_dump none'};
my ($db, $err);

# Below the highest tier, faults of several files share a run, and of a number of
# jobs and what fails only pairs are tried, in which each occurs.
my $all = tier() == 3;

# ---- commands that fail, once and each time

my $file = table_file($ours, 'small');
my $size = -s "$ours/$file";

# What fails: its name, a command of the file with this name and size, and the message of the
# failure.  All of them fail in one way only.
sub faults_of
{
	my ($name, $bytes) = @_;
	my $path = "$ours/$name";
	return (
		[ 'exit code', 'exit 3', qr/command for file "\Q$name\E" failed: child process exited with exit code 3/i ],
		[ 'after all data', "cat $path; exit 4", qr/command for file "\Q$name\E" failed: .* exit code 4/i ],
		[ 'killed', 'kill -9 $$', qr/command for file "\Q$name\E" failed: .* signal 9/i ],
		[ 'ends early', "head -c 10 $path", qr/command for file "\Q$name\E" returned 10 bytes instead of $bytes|the compressed data is truncated/i ],
		[ 'no data', 'true', qr/command for file "\Q$name\E" returned 0 bytes instead of $bytes/i ],
		[ 'too much data', "cat $path $path", qr/command for file "\Q$name\E" returned more than $bytes bytes/i ],
		[ 'hangs', "$sleep & $sleep", qr/command for file "\Q$name\E" returned no data for 1 s/i ],
		[ 'does not exit', "cat $path; exec >&-; exec $sleep", qr/command for file "\Q$name\E" did not exit within 1 s after its last data/i ]);
}

my $once = qr/pg_parrestore: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\n/;
my @options = ('-j2', '--stall-timeout=1', '--retries=1', $not_early);
my @faults = faults_of($file, $size);

# each once, of another file each
{
	my $what = 'each file fails once';
	my @names = map { data_path($ours, $_) =~ s/.*\///r } grep { is_table_data($_) && !is_barrier($_) } @{ read_toc($ours)->{entries} };
	cmp_ok(scalar @names, '>=', @faults, "$what: files");
	my @tried = map { (faults_of($names[$_], -s "$ours/$names[$_]"))[$_] } 0 .. $#faults;
	my $said = piped_ok(pipe_copy(), $what, failing_commands($ours, map { $names[$_] => [ $tried[$_][1], new_path('flag') ] } 0 .. $#tried), @options);
	is(scalar(() = $said =~ /^$once/mg), @tried, "$what: retries");
	like($said, qr/^${once}pg_parrestore: detail: [^\n]*(?:$_->[2])[^\n]*\npg_parrestore: detail: Command was: /m, "$what: $_->[0]") foreach @tried;
	is(scalar(() = $said =~ /^pg_parrestore: (?:warning|error): /mg), @tried, "$what: no other message");
}

foreach my $try (grep { $all || $_->[0] =~ /^(?:exit code|ends early|hangs|does not exit)$/ } @faults)
{
	my ($what, $command, $message) = @$try;
	my $flag = new_path('flag');
	if ($all)
	{
		my $said = piped_ok(pipe_copy(), "$what, once", failing_command($ours, $file, $command, $flag), @options);
		like($said, qr/\A${once}pg_parrestore: detail: [^\n]*$message[^\n]*\npg_parrestore: detail: Command was: /, "$what, once: message");
		is(scalar(() = $said =~ /^pg_parrestore: (?:warning|error): /mg), 1, "$what, once: no other message");
	}

	$db = pipe_copy();
	my $said = pipe_failed($db, $what, failing_command($ours, $file, "echo run >>$flag; $command"), @options, '-n', 'public', '-t', 'small', '-t', 'nothing');
	like($said, qr/^pg_parrestore: error: could not read data of entry \d+, TABLE DATA "small"\npg_parrestore: detail: (?:$message)[^\n]*\npg_parrestore: detail: Command was: .*^pg_parrestore: detail: The command was run 2 times\.$/ms, "$what: message");
	like($said, qr/^pg_parrestore: hint: Fix the cause, and run the same command with --resume\.$/m, "$what: hint");
	is(slurp_file($flag), "run\nrun\n", "$what: two attempts");
	is(value($node, $db, 'SELECT count(*) FROM small'), 0, "$what: no row is committed");
	is(sessions_left($node), 0, "$what: no session left");
	wait_until('no command is left', sub {
		return (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 0; });
}

# wrong bytes that only the checksum shows
$file = table_file($plain, 'small');
$db = pipe_copy();
$err = pipe_failed($db, 'other bytes', failing_command($plain, $file, "tr a b <$plain/$file"), '--retries=0');
like($err, qr/detail: Command for file "\Q$file\E" returned data that does not match the checksum in the manifest\.\n/, 'other bytes: message');
is(value($node, $db, 'SELECT count(*) FROM small'), 0, 'other bytes: no row is committed');
is(piped_ok($db, 'other bytes, resumed', "cat $plain/%f", '--resume', '-j2'), '', 'other bytes: resumed');

# wrong bytes that the server rejects before the checksum is known
{
	my $whole = dump_ok($node, 'shop', 'not split', 'pg_pardump', '-Z0', '-t', 'big', '-t', 'small');
	my $name = table_file($whole, 'big');
	my $flag = new_path('flag');
	make_database($node, 'rejected', options => 'TEMPLATE template0');
	sql($node, 'rejected', gate_sql(2, 7));
	my $said = (pipe_into('rejected', failing_command($whole, $name, "sed '500s/^[0-9]*/x/' $whole/$name", $flag), '--retries=1', $not_early))[2];
	like($said, qr/\Apg_parrestore: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_parrestore: detail: [^\n]*ommand for file "\Q$name\E" returned [^\n]*\npg_parrestore: detail: [^\n]*\n\z/, 'rejected bytes: retried');
	is(value($node, 'rejected', 'SELECT count(*) FROM big'), 20000, 'rejected bytes: rows');
}

# a command whose output does not end
$err = pipe_failed(pipe_copy(), 'endless output', 'cat /dev/zero; : %f', '--retries=0');
like($err, qr/command for file "toc\.dat" returned more than 512 MB\n/, 'endless output: message');

# toc.dat, the manifest and large objects; toc.dat and the manifest have the same retries
my ($list) = map { s/.*\///r } glob "$ours/blobs*.toc";
foreach my $tries (
	[
		[ 'toc.dat', 'exit 3', qr/command for file "toc\.dat" failed/i ],
		[ $list, 'exit 3', qr/command for file "\Q$list\E" failed/i ],
	], [
		[ $manifest_name, 'exit 3', qr/command for file "\Q$manifest_name\E" failed/i ],
		[ 'blob_1003.dat.gz', 'exit 3', qr/command for file "blob_1003\.dat\.gz" failed/i ],
	], [
		[ 'toc.dat', "head -c 100 $ours/toc.dat", qr/(?:file "toc\.dat" of archive "[^\n]*" is damaged\npg_parrestore: detail: )?It ends too early\./ ],
		[ 'blob_1003.dat.gz', "cat $ours/blob_1004.dat.gz", qr/command for file "blob_1003\.dat\.gz" returned /i ],
	], [
		[ $manifest_name, "head -c 1000 $ours/$manifest_name", qr/the manifest's own checksum does not match/i ],
	], [
		[ 'toc.dat', "cat $plain/toc.dat", qr/file "toc\.dat" of archive "[^\n]*" does not match its checksum in the manifest/i ]
	])
{
	my $what = join '; ', map { "$_->[0], $_->[1]" =~ s/\/\S*\///gr } @$tries;
	my $said = piped_ok(pipe_copy(), "$what, once", failing_commands($ours, map { $_->[0] => [ $_->[1], new_path('flag') ] } @$tries), '--retries=1', '-j2', $not_early);
	like($said, qr/^pg_parrestore: warning: the command for a file failed; [^\n]*\npg_parrestore: detail: [^\n]*(?:$_->[2])/m, "$what, once: message of $_->[0]") foreach @$tries;
	is(scalar(() = $said =~ /^pg_parrestore: (?:warning|error): /mg), @$tries, "$what, once: no other message");
	foreach my $try (@$tries)
	{
		my ($name, $command, $message) = @$try;
		$what = "$name, $command" =~ s/\/\S*\///gr;
		$said = pipe_failed(pipe_copy(), $what, failing_command($ours, $name, $command), '--retries=1', '-j2', $not_early);
		like($said, qr/^pg_parrestore: error: (?:could not read (?:large objects of entry \d+|the manifest of archive "[^\n]*")\npg_parrestore: detail: )?$message/m, "$what: message");
		like($said, qr/^pg_parrestore: detail: The command was run 2 times\.$/m, "$what: attempts");
	}
}

# Each large object has retries of its own, although many of them are loaded in one
# transaction.  Bytes from a failed command do not stay in the object.
foreach my $name ('pg_pardump none', 'pg_dump none')
{
	my $dir = $archives{$name};
	my $what = "large objects of $name";
	foreach my $always ('', 'blob_1005.dat')
	{
		next if !$all && ($always eq '') != ($name eq 'pg_dump none');
		my ($seen, $log) = (new_path('seen'), new_path('log'));
		mkdir $seen or die "could not make directory \"$seen\": $!";
		my $command = "f=%f; echo \$f >>$log; case \$f in blob_*) if [ \$f = '$always' ] || [ ! -e $seen/\$f ]; then : >$seen/\$f; head -c 9000 /dev/zero; exit 3; fi;; esac; exec cat $dir/%f";
		$db = pipe_copy();
		if ($always eq '')
		{
			my $said = piped_ok($db, "$what, each fails once", $command, '--retries=1', '-j2', $not_early);
			is(scalar(() = $said =~ /; retry 1 of 1 in 0\.5 s$/mg), 6, "$what, each fails once: retries");
			next;
		}
		my $said = pipe_failed($db, "$what, one fails", $command, '--retries=1', $not_early);
		like($said, qr/error: could not read large objects of entry \d+\npg_parrestore: detail: Command for file "$always" [^\n]*\n[^\n]*Command was: f=$always;[^\n]*\n[^\n]*detail: The command was run 2 times\.$/m, "$what, one fails: message");
		is(scalar(() = slurp_file($log) =~ /^$always$/mg), 2, "$what, one fails: attempts");
		like(piped_ok($db, "$what, resumed", "cat $dir/%f", '--resume'), $name =~ /pg_dump/ ? $no_manifest : qr/^\z/, "$what: resumed");
	}
}

# without a manifest, the compression or the end of the rows shows that a file is not complete
foreach my $try ([ $stock, qr/The compressed data is truncated/ ], [ $stock_plain, qr/The line that ends the rows is missing/ ])
{
	my ($dir, $message) = @$try;
	my $name = table_file($dir, 'small');
	my $what = "stock, $message";
	my $retry = qr/warning: the command for a file failed; retry 1 of 1 [^\n]*\n[^\n]*$message\.\n/;
	like(piped_ok(pipe_copy(), "$what, once", failing_command($dir, $name, "head -c 100 $dir/$name", new_path('flag')), '--retries=1', $not_early), $retry, "$what, once: message") if $all || $dir eq $stock;
	$db = pipe_copy();
	like(pipe_failed($db, $what, failing_command($dir, $name, "head -c 100 $dir/$name"), '--retries=1', $not_early), qr/$retry.*error: could not read data of entry \d+, TABLE DATA "small"\n[^\n]*detail: $message\.\n/s, "$what: message");
	is(value($node, $db, 'SELECT count(*) FROM small'), 0, "$what: no row is committed");
	like(piped_ok($db, "$what, resumed", "cat $dir/%f", '--resume'), $no_manifest, "$what: resumed");
}

# without a manifest, a list of large objects that is empty, cut off, or of another archive
foreach my $name (map { s/.*\///r } glob "$stock_plain/blobs*.toc")
{
	my ($second) = (split /\n/, slurp_file("$stock_plain/$name"))[1];
	foreach my $try (
		[ 'true', qr/command for file "\Q$name\E" returned no large objects/i ],
		[ "head -n 1 $stock_plain/$name", qr/command for file "\Q$name\E" returned 1 large object instead of 6/i ],
		[ "sed '1s/.*/$second/' $stock_plain/$name", qr/command for file "\Q$name\E" returned other large objects than "toc\.dat" lists/i ],
		[ "head -c 20 $stock_plain/$name", qr/the list of large objects is invalid|command for file "\Q$name\E" returned 1 large object instead of 6/i ])
	{
		my ($command, $message) = @$try;
		my $what = "list of large objects, $command" =~ s/\S*\///gr;
		my $retry = qr/warning: the command for a file failed; retry 1 of 1 [^\n]*\n[^\n]*detail: [^\n]*$message\.\n/;
		my $full = $all || $command eq 'true';
		like(piped_ok(pipe_copy(), "$what, once", failing_command($stock_plain, $name, $command, new_path('flag')), '--retries=1'), $retry, "$what, once: message") if $full;
		my $always = failing_command($stock_plain, $name, $command);
		$db = pipe_copy();
		$err = pipe_failed($db, $what, $always, '--retries=1');
		like($err, qr/$retry.*error: could not read large objects of entry \d+\n[^\n]*detail: (?:$message)\.\n[^\n]*Command was: f=\Q$name\E;.*The command was run 2 times\./s, "$what: message");
		is(value($node, $db, 'SELECT count(*) FROM pg_largeobject_metadata'), 0, "$what: nothing is restored");
		if ($full)
		{
			is((run_program('pg_restore', '-s', '-d', $node->connstr($db), $stock_plain))[0], 0, "$what, -a: definitions");
			like(pipe_failed($db, "$what, -a", $always, '--retries=0', '-a'), qr/error: could not read large objects of entry \d+\n[^\n]*detail: (?:$message)\.\n/, "$what, -a: message");
		}
		foreach my $flag (new_path('flag'), undef)
		{
			my ($rc, $out, $said) = run_program('pg_pardump', '--verify', '--retries=1', '--pipe=' . failing_command($stock_plain, $name, $command, $flag));
			is($rc, defined $flag ? 0 : 1, "$what, --verify: exit code");
			like($said, $flag ? qr/warning: the command for a file failed; retry 1 of 1 [^\n]*\n[^\n]*detail: $message\.\n/ : qr/error: $message/, "$what, --verify: message");
		}
	}
	# a list that does not end
	like(pipe_failed(pipe_copy(), 'endless list', failing_command($stock_plain, $name, 'yes "' . '0' x 400 . '1 blob_1.dat"'), '--retries=0'), qr/detail: Command for file "\Q$name\E" returned more than 512 MB\.\n/, 'endless list: message');
}

# Without a manifest, a command that returns nothing for a large object.  The file may be missing,
# or be that of an empty object, for which pg_dump writes nothing, except with gzip.
foreach my $method ('none', $node->pg_version >= 16 ? qw(lz4 zstd) : ())
{
	my $dir = $method eq 'none' ? $stock_plain : dump_ok($node, 'shop', "pg_dump $method", 'pg_dump', "-Z$method");
	my ($name, $empty) = map { s/.*\///r } map { glob "$dir/$_.dat*" } qw(blob_1003 blob_2000);
	foreach my $program ('pg_parrestore', 'pg_pardump')
	{
		my $what = "no large object, $method, $program";
		my $log = new_path('log');
		my $nothing = failing_command($dir, $name, "echo >>$log");
		my $once = failing_command($dir, $name, 'true', new_path('flag'));
		$db = pipe_copy();
		my @run = $program eq 'pg_pardump' ? ($program, '--verify') : ($program, '-d', $node->connstr($db));
		my $warning = sub { return qr/\A$program: warning: archive "[^\n]*" has no manifest\n[^\n]*\n$program: warning: commands of archive "[^\n]*" returned no data for $_[0]\n$program: detail: Files: $_[1]\.\n$program: detail: Without a manifest, [^\n]*\n$program: hint: Check that these files exist in the store\.\n\z/; };
		my ($rc, undef, $said) = run_program(@run, "--pipe=$nothing", '-j2');
		is($rc, 0, "$what: exit code");
		like($said, $warning->('2 large objects', $program eq 'pg_pardump' ? qr/$name, $empty|$empty, $name/ : qr/$name, $empty/), "$what: message");
		is(slurp_file($log), "\n\n", "$what: the command is run twice");
		$db = pipe_copy();
		$run[-1] = $node->connstr($db) if $program ne 'pg_pardump';
		($rc, undef, $said) = run_program(@run, "--pipe=$once");
		is($rc, 0, "$what, once: exit code");
		like($said, $warning->('1 large object', $empty), "$what, once: message");
		shop_copied_ok($db, "$what, once") if $program ne 'pg_pardump';
	}
}
like(pipe_failed(pipe_copy(), 'no large object, gzip', failing_command($stock, 'blob_1003.dat.gz', 'true'), '--retries=0'),
	qr/error: could not read large objects of entry \d+\npg_parrestore: detail: The compressed data is truncated\.\n/, 'no large object, gzip: message');

# ---- a run that is ended also ends its commands

{
	my $started = new_path('started');
	$db = pipe_copy();
	my $run = start_load(pipe_arguments($db, failing_command($ours, table_file($ours, 'small'), ": >$started; $sleep & $sleep"), '-j2'));
	wait_until('the command runs', sub { -e $started });
	kill TERM => $run->{pid};
	is(end_dump($run), 1, 'a signal: exit code');
	wait_until('no command is left', sub { (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 0 });
	is(sessions_left($node), 0, 'a signal: no session left');
	no_temp_files_ok('a signal');
	is(piped_ok($db, 'a signal, resumed', "cat $ours/%f", '--resume'), '', 'a signal: resumed');
}

# ---- Long tables of an archive without a manifest: one worker reads a table, and workers
# without another job load pieces of it.

my @pieces = ('--chunk-size=64kB', $not_early);
my $big = table_file($stock, 'big');

sub events
{
	my ($file, $kind) = @_;
	return grep { $_->{event} eq $kind && ($_->{table} // '') eq 'public.big' } map { decode_json($_) } split /\n/, slurp_file($file);
}

foreach my $loss (undef, 'pg_terminate_backend')
{
	my $what = 'long, ' . ($loss // 'shared');
	my ($log, $events) = (new_path('log'), new_path('events'));
	$db = pipe_copy();
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_load(pipe_arguments($db, "echo %f >>$log; exec cat $stock/%f", '-j3', @pieces, "--log-json=$events"));
	wait_at_gate($node, $run, 1);
	wait_until('all workers load the table', sub { events($events, 'chunk_start') >= 3 });
	if (defined $loss)
	{
		is(value($node, 'postgres', "SELECT $loss(pid) FROM pg_stat_activity WHERE datname = '$db' AND wait_event = 'advisory'"), 't', "$what: a session is ended");
	}
	open_gate();
	is(end_dump($run), 0, "$what: exit code");
	shop_copied_ok($db, $what);
	is(scalar(() = slurp_file($log) =~ /^\Q$big\E$/mg), defined $loss ? 2 : 1, "$what: the number of times that the file is read");
	is(scalar(keys %{ { map { $_->{worker} => 1 } events($events, 'chunk_start') } }), 3, "$what: all workers load the table");
	is(scalar(events($events, 'chunk_end')), 1, "$what: one event at its end");
	no_temp_files_ok($what);
}

# a command that fails in the middle of the file
$big = table_file($stock_plain, 'big');
foreach my $jobs ('-j1', '-j3')
{
	foreach my $try ([ 'fails', 'exit 3', qr/Command for file "\Q$big\E" failed/ ], [ 'ends early', 'exit 0', qr/The line that ends the rows is missing/ ])
	{
		my ($kind, $end, $message) = @$try;
		next if !$all && ($jobs eq '-j1') != ($kind eq 'fails');
		my $what = "long, $kind, $jobs";
		my $command = "head -c 400000 $stock_plain/$big; $end";
		like(piped_ok(pipe_copy(), "$what, once", failing_command($stock_plain, $big, $command, new_path('flag')), '--retries=1', $jobs, @pieces),
			qr/warning: the command for a file failed; retry 1 of 1 [^\n]*\n[^\n]*$message/, "$what, once: message");
		$db = pipe_copy();
		$err = pipe_failed($db, $what, failing_command($stock_plain, $big, $command), '--retries=1', $jobs, @pieces);
		like($err, qr/error: could not read data of entry \d+, TABLE DATA "big"\npg_parrestore: detail: $message[^\n]*\n.*The command was run 2 times\.\n[^\n]*Pieces of table public\.big might have been committed\.\n/s, "$what: message");
		my $there = value($node, $db, 'SELECT count(*) FROM big');
		ok($there > 0 && $there < 20000, "$what: some rows are committed");
		like(piped_ok($db, "$what, resumed", "cat $stock_plain/%f", '--resume', '-j2', @pieces), $no_manifest, "$what: resumed");
	}
}

# A command that returns other rows before it fails: the rows that it returns later differ
# from committed ones.
{
	my $right = "head -c 400000 $stock_plain/$big";
	my $wrong = "$right | sed '1s/^[0-9]*/-1/'";
	my $count = new_path('count');
	my $attempts = "echo >>$count; case \$(wc -l <$count) in 1) $wrong; exit 3;; *) exec cat $stock_plain/$big;; esac";
	my ($events, $metrics) = (new_path('events'), new_path('metrics'));
	$db = pipe_copy();
	$err = pipe_failed($db, 'other rows first', failing_command($stock_plain, $big, $attempts), '--retries=2', @pieces, "--log-json=$events", "--metrics=$metrics");
	like($err, qr/error: data of entry \d+, TABLE DATA "[^"]*", differs from the data that was read before\n.*^pg_parrestore: hint: The committed rows might be wrong\.  Run the same command without --resume, /ms, 'other rows first: message');
	unlike($err, qr/with --resume\.$/m, 'other rows first: no advice to resume');
	is(scalar(() = slurp_file($events) =~ /"event":"retry","[^\n]*big/g), 2, 'other rows first: events of retries');
	like(slurp_file($metrics), qr/^pg_pardump_retries\{[^\n]*\} 2$/m, 'other rows first: retries in the metrics of a failed run');

	$count = new_path('count');
	$attempts = "echo >>$count; case \$(wc -l <$count) in 1) $right; exit 3;; 2) sed '1s/^[0-9]*/-1/' $stock_plain/$big;; *) exec cat $stock_plain/$big;; esac";
	like(piped_ok(pipe_copy(), 'other rows once', failing_command($stock_plain, $big, $attempts), '--retries=2', @pieces),
		qr/warning: the command for a file failed; retry 2 of 2 [^\n]*\n[^\n]*The beginning of the data differs from the data that was read before\.\n/, 'other rows once: message');
}

# A worker is killed after all pieces were committed, but before the leader knows, because the
# worker waits for room in the event log.  The next worker does not read the file again.
{
	my ($fifo, $worker, $go) = map { new_path($_) } qw(fifo worker go);
	run_program('mkfifo', $fifo);
	sysopen my $log, $fifo, O_RDWR | O_NONBLOCK or die "could not open \"$fifo\": $!";
	$db = pipe_copy();
	sql($node, $db, 'CREATE TABLE big (id int, t text)');
	my $command = failing_command($stock_plain, $big, "echo \$PPID >>$worker; head -c 400000 $stock_plain/$big; while [ ! -e $go ]; do sleep 0.02; done; tail -c +400001 $stock_plain/$big");
	my $run = start_load(pipe_arguments($db, $command, '-a', '-t', 'big', @pieces, "--log-json=$fifo"));
	my $text = '';
	my $read = sub { my $more = ''; sysread $log, $more, 65536; $text .= $more; };
	wait_until('the worker loads the table', sub { $read->(); return $text =~ /"event":"chunk_start"[^\n]*big/ && -s $worker; });
	# fill the pipe: first with blocks, which are written completely or not at all
	foreach my $n (4096, 1) { 1 while syswrite $log, "\n" x $n; }
	append_to_file($go, '');
	wait_until('all pieces are committed', sub { value($node, $db, 'SELECT count(*) FROM big') == 20000; });
	my ($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, 'killed at the end: a worker');
	wait_until('the worker is gone', sub { $read->(); return !kill(0, $pid); });
	my $rc;
	wait_until('the end of the run', sub { $read->(); return !pump_run($run->{h}); });
	is(end_dump($run), 0, 'killed at the end: exit code');
	is(slurp_file($worker), "$pid\n", 'killed at the end: the file is read once');
	is(value($node, $db, 'SELECT count(*), count(DISTINCT id) FROM big'), '20000|20000', 'killed at the end: each row once');
}

# two long tables: the memory for pieces of the first is freed before the second one
{
	make_database($node, 'long', options => 'TEMPLATE template0');
	sql($node, 'long', "CREATE TABLE long$_ AS SELECT g AS id, repeat('$_', 1000) AS t FROM generate_series(1, 15000) g") foreach 1, 2;
	my $long = dump_ok($node, 'long', 'long tables', 'pg_dump', '-Z0');
	my ($second, $go, $events) = (table_file($long, 'long2'), map { new_path($_) } qw(go events));
	$db = pipe_copy();
	my $run = start_load(pipe_arguments($db, failing_command($long, $second, "while [ ! -e $go ]; do sleep 0.02; done; exec cat $long/$second"), '-j3', '--chunk-size=1MB', "--log-json=$events"));
	wait_in_run($run, 'the first table is complete', sub { -e $events && slurp_file($events) =~ /"event":"chunk_end"[^\n]*long1/ });
	my @kilobytes = map { slurp_file("/proc/$_/status") =~ /^RssShmem:\s+(\d+)/m ? $1 : () } $run->{pid}, children($run->{pid});
	my ($most) = sort { $b <=> $a } @kilobytes;
	cmp_ok($most, '<', 1500, 'the memory for the first table is freed') or diag("@kilobytes");
	append_to_file($go, '');
	is(end_dump($run), 0, 'two long tables: exit code');
	same_data_ok(fingerprint($node, 'long'), fingerprint($node, $db), 'two long tables');
}

# workers that help with long tables require sessions, even with a single table
{
	sql($node, 'shop', 'CREATE ROLE few LOGIN IN ROLE pg_read_all_stats CONNECTION LIMIT 3');
	my ($rc, $out, $said) = run_program('pg_parrestore', '-d', $node->connstr(pipe_copy()) . ' user=few', "--pipe=cat $stock_plain/%f", '--check', '-j3', '-t', 'nothing', '-O');
	is($rc, 1, 'too few connections: exit code');
	like($out . $said, qr/server "[^"]+" has only 2 of 3 needed connections left/, 'too few connections: message');
}

# several long tables with foreign keys that exist before the rows
{
	make_database($node, 'keys', options => 'TEMPLATE template0');
	sql($node, 'keys', <<'SQL');
CREATE TABLE top (id int PRIMARY KEY, t text);
INSERT INTO top SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, t text);
INSERT INTO tree SELECT g, nullif(g - 1, 0), repeat('y', 100) FROM generate_series(1, 3000) g;
CREATE TABLE few (id int REFERENCES top);
INSERT INTO few SELECT generate_series(1, 10);
CREATE TABLE long1 (id int REFERENCES top, t text);
INSERT INTO long1 SELECT g, repeat('1', 100) FROM generate_series(1, 3000) g;
CREATE TABLE long2 (id int REFERENCES top, t text);
INSERT INTO long2 SELECT g, repeat('2', 100) FROM generate_series(1, 3000) g;
SQL
	my $keys = dump_ok($node, 'keys', 'foreign keys', 'pg_dump', '-Z0');
	my $keys_data = fingerprint($node, 'keys');
	foreach my $jobs ($all ? '-j1' : (), '-j3')
	{
		my $what = "foreign keys, $jobs";
		$db = pipe_copy();
		is((run_program('pg_restore', '-s', '-d', $node->connstr($db), $keys))[0], 0, "$what: definitions");
		my ($keys_rc, undef, $said) = pipe_into($db, "cat $keys/%f", '--data-only', $jobs, @pieces);
		is($keys_rc, 0, "$what: exit code") or diag($said);
		same_data_ok($keys_data, fingerprint($node, $db), $what);
	}
}

# ---- --resume after the leader was killed, with other options and with another archive

foreach my $name ('pg_pardump gzip', $all ? 'pg_dump gzip' : (), 'pg_dump none')
{
	my $dir = $archives{$name};
	my $what = "killed, $name";
	my $log = new_path('log');
	$db = pipe_copy();
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_load(pipe_arguments($db, "cat $dir/%f", '-j2', @pieces));
	wait_at_gate($node, $run);
	kill KILL => $run->{pid};
	end_dump($run);
	open_gate();
	wait_until('its sessions have ended', sub { sessions_left($node) == 0 });
	system_or_bail('rm', '-r', glob temp_dir() . '/pg_pardump.*');
	like(pipe_failed($db, "$what, not resumed", "cat $dir/%f", '-j2', @pieces), qr/--resume to continue/, "$what: --resume is required");
	like(pipe_failed($db, "$what, another archive", "cat $plain/%f", '-j2', '--resume', @pieces), qr/error: the restore cannot be resumed\n.*detail: The archive has changed\.\n/, "$what: another archive is refused");
	my $said = piped_ok($db, "$what, resumed", "echo %f >>$log; exec cat $dir/%f", '-j2', '--resume', @pieces);
	like($said, $name =~ /pg_dump/ ? $no_manifest : qr/^\z/, "$what: messages");
	my %times;
	$times{$_}++ foreach split /\n/, slurp_file($log);
	# an empty object without a manifest may be a missing file
	delete $times{'blob_2000.dat'} if $name eq 'pg_dump none';
	is_deeply([ grep { $times{$_} > 1 } sort keys %times ], [], "$what: no file is read twice");
}

$node->stop;
done_testing();
