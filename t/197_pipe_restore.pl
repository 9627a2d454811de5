# pg_parrestore --pipe: commands return the files of an archive. Each file is read once,
# nothing of a file is committed before all of it is known to be right, and a command
# that fails, hangs or returns other data is run again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json);
use Fcntl;
use Pardump::Background qw(children end_dump pump_run wait_in_run wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql dump_ok codecs);
use Pardump::Command qw(text_file data_files);
use Pardump::Compare qw(fingerprint schema_text same_data_ok same_database_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok sessions_left);
use Pardump::Gate qw(gate_sql hold_gates close_gate open_gate wait_at_gate);
use Pardump::Manifest qw($manifest_name change_manifest);
use Pardump::Toc qw(read_toc write_toc copy_archive data_path is_table_data);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('pipe_restore');
make_database($node, 'shop', options => 'TEMPLATE template0');
sql($node, 'shop', gate_sql(2, 7) . <<'SQL');
CREATE TABLE big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
ALTER TABLE big ADD PRIMARY KEY (id);
ALTER TABLE big ADD CHECK (public.pass(id));
CREATE TABLE small AS SELECT g AS id, 'aaa' AS t FROM generate_series(1, 1000) g;
CREATE TABLE "it's" AS SELECT 1 AS "a ""b""";
CREATE TABLE nothing (id int);
CREATE TABLE self (id int PRIMARY KEY, parent int REFERENCES self);
INSERT INTO self SELECT g, nullif(g - 1, 0) FROM generate_series(1, 100) g;
SELECT lo_from_bytea(g, repeat('x', g * 1000)::bytea) FROM generate_series(1001, 1005) g;
SELECT lo_create(2000);
SQL
my $data = fingerprint($node, 'shop');
my $schema = schema_text($node, 'shop');
my $copies = 0;

sub new_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0 STRATEGY file_copy');
	return $db;
}

sub arguments
{
	my ($db, $command, @options) = @_;
	return ('pg_parrestore', '-d', $node->connstr($db), "--pipe=$command", @options);
}

# Restores through a command into a database; returns what run_program does.
sub pipe_into
{
	local $ENV{TMPDIR} = temp_dir();
	return run_program(arguments(@_));
}

# The restore must be complete; returns what it says.
sub piped_ok
{
	my ($db, $what, $command, @options) = @_;
	my ($rc, $out, $err) = pipe_into($db, $command, @options);
	is("$rc$out", '0', "$what: exit code") or diag($err);
	same_database_ok($node, $db, $data, $schema, $what);
	no_temp_files_ok($what);
	return $err;
}

# The restore must fail; returns what it says.
sub pipe_failed
{
	my ($db, $what, $command, @options) = @_;
	my ($rc, $out, $err) = pipe_into($db, $command, @options);
	is("$rc$out", '1', "$what: exit code");
	no_temp_files_ok($what);
	return $err;
}

sub stock_dump
{
	my (@options) = @_;
	return dump_ok($node, 'shop', "stock @options", 'pg_dump', @options);
}

# The name of the file of a table that is not in chunks.
sub file_of
{
	my ($dir, $table) = @_;
	my ($te) = grep { is_table_data($_) && $_->{tag} eq $table } @{ read_toc($dir)->{entries} };
	return data_path($dir, $te) =~ s/.*\///r;
}

# ---- every compression: the same database, each file read once

my $no_manifest = qr/^pg_parrestore: warning: archive "[^\n]*" has no manifest, so its files are read without checksums\n\z/;
my %archives;
foreach my $codec (codecs($node))
{
	my $compress = $codec eq 'none' ? '-Z0' : $codec eq 'gzip' ? '-Z6' : "--compress=$codec";
	foreach my $program ('pg_pardump', 'pg_dump')
	{
		my $what = "$program, $codec";
		my $dir = $archives{"$program $codec"} = dump_ok($node, 'shop', $what, $program, $compress,
			$program eq 'pg_pardump' ? '--chunk-size=128kB' : ());
		my $log = new_path('log');
		my $err = piped_ok(new_copy(), $what, "echo %f >>$log; exec cat $dir/%f", '-j3');
		like($err, $program eq 'pg_pardump' ? qr/^\z/ : $no_manifest, "$what: what it says");
		my @read = split /\n/, slurp_file($log);
		my @first = ('toc.dat', $program eq 'pg_pardump' ? $manifest_name : ());
		is_deeply([ @read[ 0 .. $#first ] ], \@first, "$what: what is read first");
		is_deeply([ sort @read ], [ sort @first, data_files($dir) ], "$what: each file is read once");
	}
}
my $ours = $archives{'pg_pardump gzip'};
my $plain = $archives{'pg_pardump none'};
my $stock = $archives{'pg_dump gzip'};
my $stock_plain = $archives{'pg_dump none'};

# ---- what is local, and what commands are given

my $seen = new_path('seen');
my $temp = temp_dir();
piped_ok(new_copy(), 'only toc.dat is local', <<"SH");
find $temp/pg_pardump.* -printf '%%y %%m %%P %%s\\n' >>$seen 2>/dev/null; cat $ours/%f
SH
is_deeply([ grep { !/^d 700  / && !/^f 600 (?:database\/)?toc\.dat / } split /\n/, slurp_file($seen) ], [], 'only toc.dat is local, in a private directory');
my $toc_size = -s "$ours/toc.dat";
like(slurp_file($seen), qr/^f 600 toc\.dat $toc_size$/m, 'toc.dat is local');
$seen = new_path('seen');
piped_ok(new_copy(), 'no terminal', "readlink /proc/\$\$/fd/0 >>$seen; ps -o tty= -p \$\$ >>$seen; cat $ours/%f");
is_deeply([ do { my %all = map { $_ => 1 } split /\n/, slurp_file($seen); sort keys %all } ], [ '/dev/null', '?' ],
	'commands have no terminal and no input');

# one that reads its input would take nothing for the file to store, if it were the dump's
my $input = new_path('input');
piped_ok(new_copy(), 'input', "cat >$input.%f 2>/dev/null && touch $input; cat $ours/%f");
ok(!-e $input, 'a command that reads its input fails');

# a command leaves nothing behind
piped_ok(new_copy(), 'a process in the background', "sleep 100197 >/dev/null 2>&1 & exec cat $ours/%f", '-j2');
cmp_ok((run_program('pgrep', '-fc', '^sleep 100197$'))[1], '==', 0, 'a process in the background: it is ended');

# ---- encrypted; a place with an unusual name

my $key = new_path('key');
my ($made) = run_program('age-keygen', '-o', $key);
is($made, 0, 'age-keygen') or diag('age is missing: see scripts/install_dependencies.sh');
my ($public) = slurp_file($key) =~ /public key: (\S+)/;
my $encrypted = new_path('encrypted');
mkdir $encrypted or die "could not make directory \"$encrypted\": $!";
my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr('shop'), "--pipe=age -r $public -o $encrypted/%f.age");
is("$rc$err", '0', 'age: dumped');
is(piped_ok(new_copy(), 'age', "cat $encrypted/%f.age | age -d -i $key", '-j2'), '', 'age: nothing is said');

my $odd = new_path('odd') . q{ "it's" $HOME};
copy_archive($ours, $odd);
is(piped_ok(new_copy(), 'quotes', q{cat '} . $odd =~ s/'/'\\''/gr . q{'/%f}), '', 'a directory with quotes: nothing is said');

# names in the archive that the shell would run, or programs take for options: no command
# gets them, also where %f is within quotes
my $toc = read_toc($stock_plain);
my ($te) = grep { is_table_data($_) && $_->{tag} eq 'small' } @{ $toc->{entries} };
foreach my $evil (q{a'$(touch pwned)"`touch pwned`;touch pwned;'.dat}, '-n.dat', "a\n.dat", '../../a.dat', '.a.dat', '$HOME.dat', 'a b.dat')
{
	my ($here, $forged, $log) = map { new_path($_) } qw(here forged log);
	my $what = 'a name that is ' . $evil =~ s/\n/ /r;
	my $invalid = qr/ has a name that is not valid in an archive\n/;
	mkdir $here or die "could not make directory \"$here\": $!";
	copy_archive($stock_plain, $forged);
	$te->{filename} = $evil;
	write_toc($toc, $forged);
	foreach my $pattern ("echo %f >>$log; cat $forged/%f", "bash -c 'echo %f >>$log; cat $forged/%f'", "bash -c \"echo %f >>$log; cat $forged/%f\"")
	{
		$pattern = "cd $here && $pattern";
		my $err = pipe_failed(new_copy(), $what, $pattern, '--retries=1');
		# or pg_restore's own refusal
		like($err, qr/COPY failed for table public\.small: [^\n]*(?:\n[^\n]*)?$invalid|^pg_restore: error: invalid file name in archive: /m, "$what: message");
		unlike($err, qr/retry/, "$what: no retry");
		my ($rc, undef, $said) = run_program('pg_pardump', '--verify', "--pipe=$pattern", '--retries=1');
		is($rc, 1, "$what, --verify: exit code");
		like($said, qr/error: file "[^\n]*" of table public\.small$invalid/, "$what, --verify: message");
		is_deeply([ glob "$here/*" ], [], "$what: nothing is run");
	}
	is_deeply([ grep { !/^(?:\d+\.dat|toc\.dat|blobs\w*\.toc|blob_\d+\.dat)$/ } split /\n/, slurp_file($log) ], [], "$what: names that commands got");
}
# the same in a manifest
{
	my $forged = copy_archive($plain, new_path('forged'));
	my $name = file_of($plain, 'small');
	# else the manifest would be the same file
	system_or_bail('cp', '--remove-destination', "$plain/$manifest_name", $forged);
	change_manifest($forged, sub { s/"\Q$name\E"/"-n.dat"/ });
	my ($rc, undef, $said) = run_program('pg_pardump', '--verify', "--pipe=cat $forged/%f", '--retries=1');
	is($rc, 1, 'a forged name in the manifest: exit code');
	like($said, qr/error: file "-n\.dat" of table public\.small has a name that is not valid in an archive\n/, 'a forged name in the manifest: message');
	my $err = pipe_failed(new_copy(), 'a forged name in the manifest', "cat $forged/%f", '--retries=1');
	like($err, qr/file "\Q$name\E" is not listed in the manifest\n/, 'a file that the manifest does not list: message');
	unlike($err, qr/retry/, 'a file that the manifest does not list: no retry');
}
my $db;

# ---- commands that fail, once and always

my $file = file_of($ours, 'small');
my $size = -s "$ours/$file";
my $size_plain = -s "$plain/" . file_of($plain, 'small');

# A command that does this for one file, at first or always, and else returns the file.
sub fails
{
	my ($dir, $name, $command, $flag) = @_;
	my $guard = defined $flag ? "[ ! -e $flag ] && : >$flag && " : '';
	return "f=%f; if [ \$f = '$name' ] && ${guard}true; then $command; else exec cat $dir/%f; fi";
}

foreach my $try (
	[ 'exit code', 'exit 3', qr/command for file "\Q$file\E" failed: child process exited with exit code 3/ ],
	[ 'after all data', "cat $ours/$file; exit 4", qr/command for file "\Q$file\E" failed: .* exit code 4/ ],
	[ 'killed', 'kill -9 $$', qr/command for file "\Q$file\E" failed: .* signal 9/ ],
	[ 'ends early', "head -c 10 $ours/$file", qr/command for file "\Q$file\E" returned 10 bytes instead of $size|its compressed data is cut off/ ],
	[ 'nothing', 'true', qr/command for file "\Q$file\E" returned 0 bytes instead of $size/ ],
	[ 'more', "cat $ours/$file $ours/$file", qr/command for file "\Q$file\E" returned more than $size bytes/ ],
	[ 'hangs', 'sleep 100197 & sleep 100197', qr/command for file "\Q$file\E" returned no data for 1 s/ ],
	[ 'hangs at its end', "cat $ours/$file; exec >&-; exec sleep 100197", qr/command for file "\Q$file\E" did not exit within 1 s after its last data/ ])
{
	my ($what, $command, $message) = @$try;
	my @options = ('-j2', '--stall-timeout=1');
	my $flag = new_path('flag');
	my $said = piped_ok(new_copy(), "$what, once", fails($ours, $file, $command, $flag), @options, '--retries=1');
	like($said, qr/\Apg_parrestore: warning: [^\n]*(?:$message)[^\n]*; retry 1 of 1 in 0\.5 s\npg_parrestore: detail: Command was: /, "$what, once: message");
	is(scalar(() = $said =~ /^pg_parrestore: (?:warning|error): /mg), 1, "$what, once: one message");

	$db = new_copy();
	$said = pipe_failed($db, $what, fails($ours, $file, "echo run >>$flag; $command"), @options, '--retries=1', '-n', 'public', '-t', 'small', '-t', 'nothing');
	like($said, qr/^pg_parrestore: error: [^\n]*(?:$message)[^\n]*\npg_parrestore: detail: Command was: .*^pg_parrestore: detail: The command was run 2 times\.$/ms, "$what: message");
	like($said, qr/^pg_parrestore: hint: Remove the cause of the error, then run the same command with --resume\.$/m, "$what: hint");
	is(slurp_file($flag), "run\nrun\n", "$what: two attempts");
	is(value($node, $db, 'SELECT count(*) FROM small'), 0, "$what: no row is committed");
	is(sessions_left($node), 0, "$what: no session left");
	wait_until('no command is left', sub {
		return (run_program('pgrep', '-fc', '^sleep 100197$'))[1] == 0; });
}

# bytes that only the checksum shows to be wrong
$file = file_of($plain, 'small');
$db = new_copy();
$err = pipe_failed($db, 'other bytes', fails($plain, $file, "tr a b <$plain/$file"), '--retries=0');
like($err, qr/command for file "\Q$file\E" returned data that does not match the checksum in the manifest\n/, 'other bytes: message');
is(value($node, $db, 'SELECT count(*) FROM small'), 0, 'other bytes: no row is committed');
is(piped_ok($db, 'other bytes, resumed', "cat $plain/%f", '--resume', '-j2'), '', 'other bytes: resumed');

# bytes that the server rejects before the checksum shows that they are wrong
{
	my $whole = dump_ok($node, 'shop', 'not split', 'pg_pardump', '-Z0', '-t', 'big', '-t', 'small');
	my $name = file_of($whole, 'big');
	my $flag = new_path('flag');
	make_database($node, 'rejected', options => 'TEMPLATE template0');
	sql($node, 'rejected', gate_sql(2, 7));
	my $said = (pipe_into('rejected', fails($whole, $name, "sed '500s/^[0-9]*/x/' $whole/$name", $flag), '--retries=1'))[2];
	like($said, qr/\Apg_parrestore: warning: [^\n]*command for file "\Q$name\E" returned [^\n]*; retry 1 of 1 in 0\.5 s\npg_parrestore: detail: [^\n]*\n\z/, 'rejected bytes: retried');
	is(value($node, 'rejected', 'SELECT count(*) FROM big'), 20000, 'rejected bytes: rows');
}

# a command that writes without an end
$err = pipe_failed(new_copy(), 'without an end', 'cat /dev/zero; : %f', '--retries=0');
like($err, qr/command for file "toc\.dat" returned more than 512 MB\n/, 'without an end: message');

# other files than those of rows
foreach my $try (
	[ 'toc.dat', 'exit 3', qr/command for file "toc\.dat" failed/ ],
	[ 'toc.dat', "head -c 100 $ours/toc.dat", qr/is damaged: file "toc\.dat": / ],
	[ 'toc.dat', "cat $plain/toc.dat", qr/file "toc\.dat" of archive "[^\n]*" does not match its checksum in the manifest/ ],
	[ $manifest_name, 'exit 3', qr/command for file "\Q$manifest_name\E" failed/ ],
	[ $manifest_name, "head -c 1000 $ours/$manifest_name", qr/the manifest of archive "[^\n]*" is damaged: its own checksum does not match/ ],
	(map { my $name = s/.*\///r; [ $name, 'exit 3', qr/could not read the list of large objects: [^\n]*command for file "\Q$name\E" failed/ ] } glob "$ours/blobs*.toc"),
	[ 'blob_1003.dat.gz', 'exit 3', qr/could not read large objects of entry \d+: command for file "blob_1003\.dat\.gz" failed/ ],
	[ 'blob_1003.dat.gz', "cat $ours/blob_1004.dat.gz", qr/large objects of entry \d+: command for file "blob_1003\.dat\.gz" returned / ])
{
	my ($name, $command, $message) = @$try;
	my $what = "$name, $command" =~ s/\/\S*\///gr;
	my $said = piped_ok(new_copy(), "$what, once", fails($ours, $name, $command, new_path('flag')), '--retries=1', '-j2');
	like($said, qr/^pg_parrestore: warning: [^\n]*$message/, "$what, once: message");
	$said = pipe_failed(new_copy(), $what, fails($ours, $name, $command), '--retries=1', '-j2');
	like($said, qr/^pg_parrestore: error: [^\n]*$message/m, "$what: message");
	like($said, qr/^pg_parrestore: detail: The command was run 2 times\.$/m, "$what: attempts");
}

# without a manifest: what the compression and the end of rows show
foreach my $try ([ $stock, qr/its compressed data is cut off/ ], [ $stock_plain, qr/the line that ends the rows is missing/ ])
{
	my ($dir, $message) = @$try;
	my $name = file_of($dir, 'small');
	my $what = "stock, $message";
	like(piped_ok(new_copy(), "$what, once", fails($dir, $name, "head -c 100 $dir/$name", new_path('flag')), '--retries=1'), qr/warning: [^\n]*$message; retry 1 of 1/, "$what, once: message");
	$db = new_copy();
	like(pipe_failed($db, $what, fails($dir, $name, "head -c 100 $dir/$name"), '--retries=0'), qr/error: [^\n]*"small": [^\n]*$message|error: $message/, "$what: message");
	is(value($node, $db, 'SELECT count(*) FROM small'), 0, "$what: no row is committed");
	like(piped_ok($db, "$what, resumed", "cat $dir/%f", '--resume'), $no_manifest, "$what: resumed");
}

# ---- a run that ends ends its commands

{
	my $started = new_path('started');
	$db = new_copy();
	my $run = start_load(arguments($db, fails($ours, file_of($ours, 'small'), ": >$started; sleep 100197 & sleep 100197"), '-j2'));
	wait_until('the command runs', sub { -e $started });
	kill TERM => $run->{pid};
	is(end_dump($run), 1, 'a signal: exit code');
	wait_until('no command is left', sub { (run_program('pgrep', '-fc', '^sleep 100197$'))[1] == 0 });
	is(sessions_left($node), 0, 'a signal: no session left');
	no_temp_files_ok('a signal');
	is(piped_ok($db, 'a signal, resumed', "cat $ours/%f", '--resume'), '', 'a signal: resumed');
}

# ---- long tables of an archive without a manifest: in pieces, by workers that have no
# other job, from what one of them reads

my @pieces = ('--chunk-size=64kB');
my $big = file_of($stock, 'big');

sub events
{
	my ($file, $kind) = @_;
	return grep { $_->{event} eq $kind && ($_->{table} // '') eq 'public.big' } map { decode_json($_) } split /\n/, slurp_file($file);
}

foreach my $loss (undef, 'pg_terminate_backend')
{
	my $what = 'long, ' . ($loss // 'shared');
	my ($log, $events) = (new_path('log'), new_path('events'));
	$db = new_copy();
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_load(arguments($db, "echo %f >>$log; exec cat $stock/%f", '-j3', @pieces, "--log-json=$events"));
	wait_at_gate($node, $run, 1);
	wait_until('all workers are at the table', sub { events($events, 'chunk_start') >= 3 });
	if (defined $loss)
	{
		is(value($node, 'postgres', "SELECT $loss(pid) FROM pg_stat_activity WHERE datname = '$db' AND wait_event = 'advisory'"), 't', "$what: a session");
	}
	open_gate();
	is(end_dump($run), 0, "$what: exit code");
	same_database_ok($node, $db, $data, $schema, $what);
	is(scalar(() = slurp_file($log) =~ /^\Q$big\E$/mg), defined $loss ? 2 : 1, "$what: how often the file is read");
	is(scalar(keys %{ { map { $_->{worker} => 1 } events($events, 'chunk_start') } }), 3, "$what: all workers");
	is(scalar(events($events, 'chunk_end')), 1, "$what: it ends once");
	no_temp_files_ok($what);
}

# a failure in the middle
$big = file_of($stock_plain, 'big');
foreach my $jobs ('-j1', '-j3')
{
	foreach my $try ([ 'fails', 'exit 3', qr/command for file "\Q$big\E" failed/ ], [ 'ends early', 'exit 0', qr/the line that ends the rows is missing/ ])
	{
		my ($kind, $end, $message) = @$try;
		my $what = "long, $kind, $jobs";
		my $command = "head -c 400000 $stock_plain/$big; $end";
		like(piped_ok(new_copy(), "$what, once", fails($stock_plain, $big, $command, new_path('flag')), '--retries=1', $jobs, @pieces),
			qr/warning: [^\n]*$message[^\n]*; retry 1 of 1/, "$what, once: message");
		$db = new_copy();
		$err = pipe_failed($db, $what, fails($stock_plain, $big, $command), '--retries=1', $jobs, @pieces);
		like($err, qr/error: [^\n]*$message[^\n]*\n.*The command was run 2 times\.\n[^\n]*Parts of table public\.big may have been committed\.\n/s, "$what: message");
		my $there = value($node, $db, 'SELECT count(*) FROM big');
		ok($there > 0 && $there < 20000, "$what: some rows are there");
		like(piped_ok($db, "$what, resumed", "cat $stock_plain/%f", '--resume', '-j2', @pieces), $no_manifest, "$what: resumed");
	}
}

# a command that returned other rows before it failed: what it returns then does not fit
{
	my $right = "head -c 400000 $stock_plain/$big";
	my $wrong = "$right | sed '1s/^[0-9]*/-1/'";
	my $count = new_path('count');
	my $attempts = "echo >>$count; case \$(wc -l <$count) in 1) $wrong; exit 3;; *) exec cat $stock_plain/$big;; esac";
	my ($events, $metrics) = (new_path('events'), new_path('metrics'));
	$db = new_copy();
	$err = pipe_failed($db, 'other rows first', fails($stock_plain, $big, $attempts), '--retries=2', @pieces, "--log-json=$events", "--metrics=$metrics");
	like($err, qr/error: could not read data of entry \d+: its beginning differs from what was read before\n.*^pg_parrestore: hint: Restore from the beginning, and not with --resume: the committed rows may be wrong\.$/ms, 'other rows first: message');
	unlike($err, qr/with --resume\.$/m, 'other rows first: no advice to resume');
	is(scalar(() = slurp_file($events) =~ /"event":"retry","[^\n]*big/g), 2, 'other rows first: events of retries');
	like(slurp_file($metrics), qr/^pg_pardump_retries\{[^\n]*\} 2$/m, 'other rows first: retries in the metrics of a failed run');

	$count = new_path('count');
	$attempts = "echo >>$count; case \$(wc -l <$count) in 1) $right; exit 3;; 2) sed '1s/^[0-9]*/-1/' $stock_plain/$big;; *) exec cat $stock_plain/$big;; esac";
	like(piped_ok(new_copy(), 'other rows once', fails($stock_plain, $big, $attempts), '--retries=2', @pieces),
		qr/warning: [^\n]*its beginning differs from what was read before; retry 2 of 2/, 'other rows once: message');
}

# a worker that is killed when all pieces are committed, before the leader knows: it waits
# to write to the event log.  Without a journal, only shared memory shows that they are
{
	my ($fifo, $worker, $go) = map { new_path($_) } qw(fifo worker go);
	run_program('mkfifo', $fifo);
	sysopen my $log, $fifo, O_RDWR | O_NONBLOCK or die "could not open \"$fifo\": $!";
	$db = new_copy();
	sql($node, $db, 'CREATE ROLE loader LOGIN; CREATE TABLE big (id int, t text); ALTER TABLE big OWNER TO loader');
	my $command = fails($stock_plain, $big, "echo \$PPID >$worker; head -c 400000 $stock_plain/$big; while [ ! -e $go ]; do sleep 0.02; done; tail -c +400001 $stock_plain/$big");
	my $run = start_load(arguments($db, $command, '-a', '-t', 'big', '--role=loader', @pieces, "--log-json=$fifo"));
	my $text = '';
	my $read = sub { my $more = ''; sysread $log, $more, 65536; $text .= $more; };
	wait_until('the worker is at the table', sub { $read->(); return $text =~ /"event":"chunk_start"[^\n]*big/ && -s $worker; });
	# blocks of the size that a write needs all of, and then what is left
	foreach my $n (4096, 1) { 1 while syswrite $log, "\n" x $n; }
	append_to_file($go, '');
	wait_until('all pieces are committed', sub { value($node, $db, 'SELECT count(*) FROM big') == 20000; });
	my ($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, 'killed at the end: a worker');
	wait_until('the worker is gone', sub { $read->(); return !kill(0, $pid); });
	my $rc;
	wait_until('the end of the run', sub { $read->(); return !pump_run($run->{h}); });
	is(end_dump($run), 0, 'killed at the end: exit code');
	like($run->{err}, qr/the restore cannot be resumed if it is interrupted/, 'killed at the end: no journal');
	is(value($node, $db, 'SELECT count(*), count(DISTINCT id) FROM big'), '20000|20000', 'killed at the end: each row once');
}

# two long tables: memory that was used for one is given back before the other
{
	make_database($node, 'long', options => 'TEMPLATE template0');
	sql($node, 'long', "CREATE TABLE long$_ AS SELECT g AS id, repeat('$_', 1000) AS t FROM generate_series(1, 15000) g") foreach 1, 2;
	my $long = dump_ok($node, 'long', 'long tables', 'pg_dump', '-Z0');
	my ($second, $go, $events) = (file_of($long, 'long2'), map { new_path($_) } qw(go events));
	$db = new_copy();
	my $run = start_load(arguments($db, fails($long, $second, "while [ ! -e $go ]; do sleep 0.02; done; exec cat $long/$second"), '-j3', '--chunk-size=1MB', "--log-json=$events"));
	wait_in_run($run, 'the first table is complete', sub { -e $events && slurp_file($events) =~ /"event":"chunk_end"[^\n]*long1/ });
	my @kilobytes = map { slurp_file("/proc/$_/status") =~ /^RssShmem:\s+(\d+)/m ? $1 : () } $run->{pid}, children($run->{pid});
	my ($most) = sort { $b <=> $a } @kilobytes;
	cmp_ok($most, '<', 1500, 'memory of the first table is given back') or diag("@kilobytes");
	append_to_file($go, '');
	is(end_dump($run), 0, 'two long tables: exit code');
	same_data_ok(fingerprint($node, 'long'), fingerprint($node, $db), 'two long tables');
}

# workers that help need sessions, however few tables there are
{
	sql($node, 'shop', 'CREATE ROLE few LOGIN IN ROLE pg_read_all_stats CONNECTION LIMIT 3');
	my ($rc, $out, $said) = run_program('pg_parrestore', '-d', $node->connstr(new_copy()) . ' user=few', "--pipe=cat $stock_plain/%f", '--check', '-j3', '-t', 'nothing', '-O');
	is($rc, 1, 'too few connections: exit code');
	like($out . $said, qr/the target has 2 connections left, too few for 3 jobs/, 'too few connections: message');
}

# several long tables, with foreign keys that exist before the rows
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
	foreach my $jobs ('-j1', '-j3')
	{
		my $what = "foreign keys, $jobs";
		$db = new_copy();
		is((run_program('pg_restore', '-s', '-d', $node->connstr($db), $keys))[0], 0, "$what: definitions");
		my ($keys_rc, undef, $said) = pipe_into($db, "cat $keys/%f", '--data-only', $jobs, @pieces);
		is($keys_rc, 0, "$what: exit code") or diag($said);
		same_data_ok($keys_data, fingerprint($node, $db), $what);
	}
}

# ---- --resume after the leader was killed, with other options and with another archive

foreach my $name ('pg_pardump gzip', 'pg_dump gzip', 'pg_dump none')
{
	my $dir = $archives{$name};
	my $what = "killed, $name";
	my $log = new_path('log');
	$db = new_copy();
	hold_gates($node, $db);
	close_gate(7);
	my $run = start_load(arguments($db, "cat $dir/%f", '-j2', @pieces));
	wait_at_gate($node, $run);
	kill KILL => $run->{pid};
	end_dump($run);
	open_gate();
	wait_until('its sessions have ended', sub { sessions_left($node) == 0 });
	system_or_bail('rm', '-r', glob temp_dir() . '/pg_pardump.*');
	like(pipe_failed($db, "$what, not resumed", "cat $dir/%f", '-j2', @pieces), qr/--resume to continue/, "$what: not without --resume");
	like(pipe_failed($db, "$what, another archive", "cat $plain/%f", '-j2', '--resume', @pieces), qr/the restore cannot be resumed: the archive has changed/, "$what: not with another archive");
	my $said = piped_ok($db, "$what, resumed", "echo %f >>$log; exec cat $dir/%f", '-j2', '--resume', @pieces);
	like($said, $name =~ /pg_dump/ ? $no_manifest : qr/^\z/, "$what: what it says");
	my %times;
	$times{$_}++ foreach split /\n/, slurp_file($log);
	is_deeply([ grep { $times{$_} > 1 } sort keys %times ], [], "$what: no file is read twice");
}

# ---- what needs only toc.dat and the manifest

my $log = new_path('log');
my $logged = "echo %f >>$log; cat $ours/%f";
{
	local $ENV{TMPDIR} = temp_dir();
	my ($list_rc, $list, $list_err) = run_program('pg_parrestore', '-l', "--pipe=$logged");
	is("$list_rc$list_err", '0', '-l: exit code');
	is($list, (run_program('pg_restore', '-l', $ours))[1], '-l: as pg_restore');
	is(slurp_file($log), "toc.dat\n$manifest_name\n", '-l: what is read');
	no_temp_files_ok('-l');
	($rc) = run_program('pg_parrestore', '-l', '-t', 'small', "--pipe=cat /nowhere/%f", '--retries=0');
	is($rc, 1, '-l: an archive that is not there');
	no_temp_files_ok('-l of nothing');

	my $lines = text_file('list', join '', grep { /^;|small/ } split /^/, $list);
	$db = new_copy();
	unlink $log;
	($rc, undef, $err) = pipe_into($db, $logged, '-L', $lines);
	is("$rc$err", '0', '-L: exit code');
	is(value($node, $db, 'SELECT count(*) FROM small'), 1000, '-L: rows');
	is(slurp_file($log), "toc.dat\n$manifest_name\n" . file_of($ours, 'small') . "\n", '-L: what is read');
}
unlink $log;
my ($check_rc, $check, $check_err) = pipe_into(new_copy(), $logged, '--check');
is("$check_rc$check_err", '0', '--check: exit code');
like($check, qr/^A run would restore 5 tables and 6 large objects, about /, '--check: what it says');
is_deeply([ grep { !/^(?:toc\.dat|\Q$manifest_name\E|blobs\w*\.toc)$/ } split /\n/, slurp_file($log) ], [], '--check: what is read');

# ---- pg_pardump --verify

sub verify_piped { return run_program('pg_pardump', '--verify', "--pipe=$_[0]", @_[ 1 .. $#_ ]); }

foreach my $name (sort keys %archives)
{
	my $dir = $archives{$name};
	my (undef, $expected) = run_program('pg_pardump', '--verify', $dir);
	my ($verify_rc, $out, $said) = verify_piped("cat $dir/%f", '-j2');
	is("$verify_rc $out", "0 $expected", "--verify, $name: as of a directory") or diag($said);
	like($said, $name =~ /pg_dump/ ? qr/^pg_pardump: warning: archive "[^\n]*" has no manifest, so its files are read without checksums\n\z/ : qr/^\z/, "--verify, $name: what it says");
}
foreach my $try (
	[ $ours, 'exit 3', qr/could not be read: command for file "[^"]*" failed: child process exited with exit code 3/ ],
	[ $ours, 'head -c 10 FILE', qr/could not be read: command for file "[^"]*" returned 10 bytes instead of $size/ ],
	[ $plain, 'tr a b <FILE', qr/could not be read: command for file "[^"]*" returned data that does not match the checksum in the manifest/ ],
	[ $ours, 'sleep 100197', qr/could not be read: command for file "[^"]*" returned no data for 1 s/ ],
	[ $stock, 'head -c 100 FILE', qr/is cut off within its compressed data/ ],
	[ $stock_plain, 'head -c 100 FILE', qr/lacks the line that ends the rows/ ])
{
	my ($dir, $command, $message) = @$try;
	my $name = file_of($dir, 'small');
	my $what = "--verify, $command";
	my @options = ('--stall-timeout=1', '--retries=1');
	$command =~ s/FILE/$dir\/$name/;
	my ($verify_rc, undef, $said) = verify_piped(fails($dir, $name, $command, new_path('flag')), @options);
	is($verify_rc, 0, "$what, once: exit code");
	like($said, qr/^pg_pardump: warning: file "\Q$name\E" $message; retry 1 of 1 in 0\.5 s$/m, "$what, once: message");
	($verify_rc, undef, $said) = verify_piped(fails($dir, $name, $command), @options);
	is($verify_rc, 1, "$what: exit code");
	like($said, qr/^pg_pardump: error: file "\Q$name\E" of table public\.small $message\n.*^verification of archive "[^\n]*" failed: 1 problem found, \d+ files checked\n\z/ms, "$what: message");
}
# a list of large objects that cannot be read is a problem of the archive, and no other file is
foreach my $dir ($ours, $stock_plain)
{
	foreach my $name (map { s/.*\///r } glob "$dir/blobs*.toc")
	{
		my $what = "--verify, $dir/$name";
		my ($verify_rc, undef, $said) = verify_piped(fails($dir, $name, 'exit 3'), '--retries=0');
		is($verify_rc, 1, "$what: exit code");
		like($said, qr/^pg_pardump: error: file "\Q$name\E" could not be read: command for file "\Q$name\E" failed: [^\n]*\nverification of archive "[^\n]*" failed: 1 problem found, \d+ files checked\n\z/m, "$what: message");
	}
}
foreach my $try (
	[ [ "--verify=$ours", '--pipe=cat %f' ], qr/options --verify=DIRECTORY and --pipe cannot be used together/ ],
	[ ['--verify'], qr/no directory specified for option --verify/ ],
	[ [ '--verify', '--pipe=cat' ], qr/invalid value "cat" for option --pipe/ ],
	[ [ '--verify', '--pipe=cat /nowhere/%f', '--retries=0' ], qr/command for file "toc\.dat" failed/ ])
{
	my ($options, $message) = @$try;
	my ($verify_rc, undef, $said) = run_program('pg_pardump', @$options);
	is($verify_rc, 1, "@$options: exit code");
	like($said, $message, "@$options: message");
}

# ---- options

my $inserts = stock_dump('--inserts');
foreach my $try (
	[ [ '-d', 'x', '--pipe=cat' ], qr/invalid value "cat" for option --pipe.*must contain %f/s ],
	[ [ '-d', 'x', '--pipe=cat %f', $ours ], qr/an archive cannot be specified together with option --pipe/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '-Fc' ], qr/options --pipe and --format=c cannot be used together.*directory format/s ],
	[ [ '-d', 'x', '--pipe=cat %f', '--format=tar' ], qr/options --pipe and --format=tar cannot be used together/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '-1' ], qr/option --pipe cannot be used when pg_restore runs the restore: a single transaction/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '--verify' ], qr/options --pipe and --verify cannot be used together/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '--all-databases' ], qr/options --pipe and --all-databases cannot be used together/ ],
	[ [ '--pipe=cat %f' ], qr/option --pipe cannot be used without a database to restore into/ ],
	[ [ '-f', '-', '--stall-timeout=5', $ours ], qr/option --stall-timeout cannot be used without a database to restore into/ ],
	[ [ '-l', '--retries=3', $ours ], qr/option --retries cannot be used without a database to restore into/ ],
	[ [ '-f', '-', '--pipe=cat %f' ], qr/option --pipe cannot be used without a database to restore into/ ],
	[ [ '-d', $node->connstr('postgres'), "--pipe=cat $inserts/%f" ], qr/option --pipe cannot be used when pg_restore runs the restore: the archive contains rows as INSERT commands/ ])
{
	my ($options, $message) = @$try;
	local $ENV{TMPDIR} = temp_dir();
	($rc, undef, $err) = run_program('pg_parrestore', @$options);
	is($rc, 1, "@$options: exit code");
	like($err, $message, "@$options: message");
	no_temp_files_ok("@$options");
}
is(piped_ok(new_copy(), '--format=directory', "cat $ours/%f", '-Fd'), '', '-Fd: nothing is said');

$node->stop;
done_testing();
