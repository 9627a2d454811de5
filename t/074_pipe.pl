# pg_pardump --pipe: each file is written to a command, toc.dat last.  A command
# never sees the end of its input before the file is complete.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until children
  nothing_remains_ok);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value dump_ok restore_ok);
use Pardump::Command qw(data_files);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Gate qw(hold_gates hold close_gate open_gate wait_at_gate);
use Pardump::Proxy qw(start_proxy stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('pipe');
make_database($node, 'pipe');
sql($node, 'pipe', <<'SQL');
CREATE ROLE reader LOGIN;
CREATE SCHEMA data;
CREATE TABLE data.big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE data.small AS SELECT g AS id FROM generate_series(1, 100) g;
SELECT lo_from_bytea(0, repeat('x', g * 1000)::bytea) FROM generate_series(1, 5) g;
CREATE SCHEMA slow;
CREATE FUNCTION slow.wait(id int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN IF id = 1000 THEN PERFORM pg_advisory_xact_lock_shared(42); END IF; RETURN true; END $$;
CREATE TABLE slow.guarded AS SELECT g AS id, repeat('x', 5000) AS t FROM generate_series(1, 1150) g;
ALTER TABLE slow.guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY wait ON slow.guarded FOR SELECT USING (slow.wait(id));
GRANT USAGE ON SCHEMA data, slow TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA slow TO reader;
SQL
my @db = ('-d', $node->connstr('pipe'));
my @data = (@db, '-n', 'data', '-b', '--chunk-size=128kB');
my @slow = ('-n', 'slow', '-U', 'reader', '--enable-row-security', '-Z0');

sub new_dir
{
	my $dir = new_path('piped');
	mkdir $dir or die "could not make directory \"$dir\": $!";
	return $dir;
}

# Runs a dump to this command, in which DIR stands for a new directory.  Returns
# the exit code, the messages, and the directory.
sub pipe_to
{
	my ($command, @options) = @_;
	my $dir = new_dir();
	my ($rc, $out, $err) = run_program('pg_pardump', @options,
		'--pipe=' . $command =~ s/DIR/$dir/gr);
	is($out, '', 'standard output is empty');
	return ($rc, $err, $dir);
}

# Returns the names of the data files, sorted, with N instead of dump IDs.
sub kinds
{
	my ($dir) = @_;
	return sort map { s/^(\d+(?=\.dat)|blobs_\d+)/N/r } data_files($dir);
}

# The files that data_files() does not list.
my @whole = ('toc.dat', 'pg_pardump_manifest.json');

# ---- the same files as in a directory, toc.dat last

my $stock = dump_ok($node, 'pipe', 'to a directory', 'pg_pardump', '-n', 'data', '-b',
	'--chunk-size=128kB');
my $source = fingerprint($node, 'pipe');
delete $source->{$_} foreach grep { /slow/ } keys %$source;

my ($rc, $err, $dir) = pipe_to('cat >DIR/%f; echo %f >>DIR/order', @data, '-j3');
is("$rc$err", '0', 'to files: exit code');
my @order = split /\n/, slurp_file("$dir/order");
is($order[-1], 'toc.dat', 'to files: toc.dat is last');
unlink "$dir/order";
is_deeply([ sort @order ], [ sort @whole, data_files($dir) ], 'to files: each file once');
# dump IDs may differ from run to run
is_deeply([ kinds($dir) ], [ kinds($stock) ], 'to files: the same files as in a directory');
make_database($node, 'copy');
restore_ok($node, $dir, 'copy', 'to files', '-j2');
# the manifest contains the sizes of the piped files, also of toc.dat
my $manifest = slurp_file("$dir/pg_pardump_manifest.json");
foreach my $file ('toc.dat', data_files($dir))
{
	my $size = -s "$dir/$file";
	like($manifest, qr/"\Q$file\E"[^}]*\b$size\b/, "to files: $file in the manifest");
}
same_data_ok($source, fingerprint($node, 'copy'), 'to files');

# signs in the pattern
($rc, $err, $dir) = pipe_to('cat >"DIR/100%% of "%f.x', @data);
is("$rc$err", '0', 'percent signs: exit code');
is_deeply([ sort map { s/of (\d+(?=\.dat)|blobs_\d+)/of N/r } data_files($dir) ],
	[ sort map { "100% of $_.x" } @whole, kinds($stock) ], 'percent signs');
($rc, $err, $dir) = pipe_to('echo "to %f" >&1; echo "not %f" >&2; cat >DIR/%f', @data, '-s');
is($err, join('', map { "to $_\nnot $_\n" } reverse @whole),
	'the output of commands is written to standard error');

# ---- encryption with age

my $key = new_path('key');
my ($made, undef, $said) = run_program('age-keygen', '-o', $key);
is($made, 0, 'age-keygen') or diag('age is missing: see scripts/install_dependencies.sh');
my ($public) = slurp_file($key) =~ /public key: (\S+)/;
($rc, $err, $dir) = pipe_to("age -r $public -o DIR/%f.age", @data, '-j2');
is("$rc$err", '0', 'age: exit code');
is_deeply([ kinds($dir) ], [ sort map { "$_.age" } @whole, kinds($stock) ],
	'age: files');
is_deeply([ grep { slurp_file("$dir/$_") !~ /^age-encryption\.org/ } data_files($dir) ], [],
	'age: encrypted');
my ($decrypted) = run_program('sh', '-c',
	'cd "$0" && for f in *.age; do age -d -i "$1" -o "${f%.age}" "$f" && rm "$f" || exit 1; done',
	$dir, $key);
is($decrypted, 0, 'age: decrypted');
make_database($node, 'decrypted');
restore_ok($node, $dir, 'decrypted', 'age', '-j2');
same_data_ok($source, fingerprint($node, 'decrypted'), 'age');

# ---- commands that fail

foreach my $try (
	[ 'exit code', 'case %f in *.dat*) exit 3;; esac; cat >DIR/%f',
		qr/command for file "\S+\.dat\S*" failed: child process exited with exit code 3.*Command was: case /s ],
	[ 'after all data', 'cat >DIR/%f; case %f in blob_*) exit 4;; esac',
		qr/command for file "blob_\d+\.dat\S*" failed: .* exit code 4/ ],
	[ 'toc.dat', 'cat >/dev/null; case %f in toc.dat) exit 5;; esac',
		qr/command for file "toc\.dat" failed: .* exit code 5/ ],
	[ 'killed', 'kill -9 $$; : %f', qr/failed: child process was terminated by signal 9/ ],
	[ 'reads nothing of a small file', 'case %f in toc.dat) ;; *) cat >DIR/%f;; esac',
		qr/command for file "toc\.dat" exited before it had read all of its input/ ],
	[ 'a pipeline whose last command succeeds', '/nowhere/program %f 2>&1 | cat >DIR/%f',
		qr/command for file "\S+" exited before it had read all of its input/ ],
	[ 'reads a part', 'head -c 10 >DIR/%f', qr/command for file "\S+" exited before it had read all/ ],
	[ 'no such program', '/nowhere/program %f', qr/failed: command not found/ ])
{
	my ($what, $command, $message) = @$try;
	($rc, $err, $dir) = pipe_to($command, @data, '-j2', '-Z0');
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e "$dir/toc.dat", "$what: no toc.dat");
	nothing_remains_ok($node, $dir, $what);
}

foreach my $try ([ 'cat', qr/invalid value "cat" for option --pipe.*must contain %f/s ],
	[ 'cat %%f', qr/invalid value "cat %%f"/ ], [ 'cat %f %x', qr/invalid value/ ],
	[ 'cat %f %', qr/invalid value/ ], [ '', qr/invalid value ""/ ])
{
	($rc, undef, $err) = run_program('pg_pardump', @data, "--pipe=$try->[0]");
	is($rc, 1, "--pipe='$try->[0]': exit code");
	like($err, $try->[1], "--pipe='$try->[0]': message");
}
($rc, undef, $err) = run_program('pg_pardump', @data, '--pipe=cat >%f', '-f', new_path('both'));
like($err, qr/options --pipe and -f\/--file cannot be used together/, 'with -f');

# ---- a run ends in the middle of a file: the command must not see the end of its input

hold_gates($node, 'pipe');

# Starts a dump whose command creates a ".done" file after each file.  Waits until a file is
# being written and the reading of its rows waits at the gate.  Returns the dump.
sub start_piped
{
	my ($dir) = @_;
	close_gate(42);
	# start_dump() names the directory itself
	my $dump = start_dump($node->connstr('pipe'),
		with => [ 'sh', '-c', 'shift 3; exec pg_pardump "$@" "--pipe=cat >$0/%f; : >$0/%f.done"', $dir ],
		@slow, '--retries=3');
	wait_at_gate($node, $dump, 1);
	wait_until('a file begins', sub { grep { -s } glob "$dir/*.dat" });
	return $dump;
}
$dir = new_dir();
my $dump = start_piped($dir);
kill TERM => $dump->{pid};
is(end_dump($dump), 1, 'a signal: exit code');
nothing_remains_ok($node, $dir, 'a signal');
is_deeply([ glob "$dir/*.done" ], [], 'a signal: no command saw the end of its input');
open_gate();

$dir = new_dir();
$dump = start_piped($dir);
kill KILL => $dump->{pid};
is(end_dump($dump), 137, 'the leader is killed: exit code');
nothing_remains_ok($node, $dir, 'the leader is killed');
is_deeply([ glob "$dir/*.done" ], [], 'the leader is killed: no command saw the end of its input');
open_gate();

# A worker that is killed cannot end its command, so no archive may be completed.
$dir = new_dir();
$dump = start_piped($dir);
kill KILL => children($dump->{pid});
is(end_dump($dump), 1, 'a worker is killed: exit code');
like($dump->{err}, qr/^pg_pardump: error: worker process \d+ was terminated by signal 9: Killed
pg_pardump: detail: The worker was dumping table slow\.guarded\.\n$/, 'a worker is killed: message');
ok(!-e "$dir/toc.dat", 'a worker is killed: no toc.dat');
nothing_remains_ok($node, $dir, 'a worker is killed');
open_gate();

# a worker that loses its connection, and does its job again
$dir = new_dir();
$dump = start_piped($dir);
is(value($node, 'postgres', <<'SQL'), 't', 'a worker loses its connection');
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'
	AND application_name LIKE 'pg_pardump%'
SQL
open_gate();
is(end_dump($dump), 0, 'a lost connection: exit code');
like($dump->{err}, qr/warning: lost the connection of a worker; .*detail: The worker was dumping table slow\.guarded\./s,
	'a lost connection: a retry');
unlink glob "$dir/*.done";
my ($data) = glob "$dir/*.dat";
is_deeply([ scalar(() = slurp_file((grep { !/toc\.dat/ } glob "$dir/*.dat")[0]) =~ /\n/g) ], [1153],
	'a lost connection: all rows');
hold();

# A command with several processes that ignore SIGTERM.  A process that sees the end of its
# input stores what it has got as the file.
foreach my $action ('stall', 'reset')
{
	my $proxy = start_proxy($node, [ 1, 300_000, $action ]);
	delete local $ENV{PGAPPNAME};    # by which the proxy knows sessions
	my $published = 'trap "" TERM; cat >DIR/.part.$$; : >DIR/.ended.$$; '
	  . 'mv DIR/.part.$$ DIR/%f; echo %f >>DIR/order';
	($rc, $err, $dir) = pipe_to("cat | ($published)", '-n', 'data', '--no-chunks', '-Z0',
		'--stall-timeout=1', '-d',
		"host=127.0.0.1 port=$proxy->{port} dbname=pipe sslmode=disable gssencmode=disable");
	is($rc, 0, "$action: exit code");
	like($err, qr/warning: lost the connection of a worker; retry 1.*detail: The worker was dumping table data\.big\./s,
		"$action: a retry");
	my @published = split /\n/, slurp_file("$dir/order");
	is_deeply([ sort @published ], [ sort @whole, grep { !/order/ } data_files($dir) ],
		"$action: each file is published once");
	is(scalar(() = glob "$dir/.ended.*"), scalar @published, "$action: no other process saw the end of its input");
	unlink "$dir/order", glob "$dir/.ended.* $dir/.part.*";
	make_database($node, "copy_$action");
	restore_ok($node, $dir, "copy_$action", $action, '-j2');
	is(value($node, "copy_$action", 'SELECT count(*) FROM data.big'), 20000, "$action: all rows");
	stop_proxy($proxy);
}

$node->stop;
done_testing();
