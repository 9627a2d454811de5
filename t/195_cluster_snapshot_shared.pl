# pg_pardump --all-databases --cluster-snapshot --shared-snapshot: a run keeps the
# snapshot of all databases, and other runs dump the databases in it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use JSON::PP qw(decode_json encode_json);
use Pardump::Background qw(end_dump wait_in_run sessions terminate);
use Pardump::Cluster qw(start_cluster run_program new_path nothing_left_ok sql value);
use Pardump::WholeCluster qw(create_database);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; ours have names of their own.
delete $ENV{PGAPPNAME};

my $node = start_cluster('shared_snapshot');
my @dbs = qw(first second);

foreach my $db (@dbs)
{
	create_database($node, $db);
	sql($node, $db, 'CREATE EXTENSION pg_pardump; CREATE TABLE counter AS SELECT 0 AS n');
}

sub keeper_command
{
	my ($file, @options) = @_;
	return ('pg_pardump', qw(--all-databases --cluster-snapshot --exclude-database=postgres --exclude-database=template1),
		"--shared-snapshot=$file", '-d', $node->connstr('postgres'), @options);
}

# A run that keeps the snapshot.  "input" is sent to it.
sub start_keeper
{
	my ($file) = @_;
	my %run = (file => $file, input => '', out => '', err => '', timer => IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$run{h} = IPC::Run::start([ keeper_command($file) ], '<', \$run{input}, '>', \$run{out}, '2>', \$run{err}, $run{timer});
	$run{pid} = $run{h}{KIDS}[0]{PID};
	wait_in_run(\%run, 'the snapshot', sub { $run{out} =~ /\n/ });
	return \%run;
}

# Closes its standard input.  Returns the exit code.
sub end_keeper
{
	my ($run) = @_;
	$run->{h}->finish;
	return $run->{h}->full_result(0) >> 8;
}

sub described { return decode_json(slurp_file($_[0]{file})); }

# How the file describes a database.
sub database_in
{
	my ($run, $db) = @_;
	my ($found) = grep { $_->{Name} eq $db } @{ described($run)->{Databases} };
	return $found;
}

# Dumps a database with the snapshot of a database in a file.
sub dump_in
{
	my ($run, $db, %params) = @_;
	my $dir = new_path('dump');
	my $id = $params{id} // database_in($run, $db)->{Snapshot};
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', $dir, '--no-sync', "--snapshot=$id",
		'--shared-snapshot=' . ($params{file} // $run->{file}), @{ $params{options} // [] }, '-d', $node->connstr($db));
	return ($rc, $err, $dir);
}

sub counted
{
	my ($dir) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-t', 'counter', '-f', '-', $dir);
	die "pg_restore failed: $err" if $rc != 0;
	return join ' ', grep { /^\d+$/ } split /\n/, $out;
}

sub sessions_in { return sessions($node, "datname = '$_[0]'"); }

sub changed_file
{
	my ($run, %members) = @_;
	my $path = new_path('changed');
	append_to_file($path, encode_json({ %{ described($run) }, %members }));
	return $path;
}

sub writable_file
{
	my $path = changed_file(@_);
	chmod 0666, $path or die "could not change mode of \"$path\": $!";
	return $path;
}

# ---- two databases, which are written to after the snapshot was taken

my $run = start_keeper(new_path('snapshot'));
is($run->{out}, "$run->{file}\n", 'the run prints the path of the file');
is((stat $run->{file})[2] & 07777, 0600, 'no other user can read the file');
sql($node, $_, 'UPDATE counter SET n = n + 1') foreach @dbs;
my ($rc, $err, $dir) = dump_in($run, 'first');
is("$rc $err " . counted($dir), '0  0', 'the first database is in the snapshot');
is_deeply(decode_json(slurp_file("$dir/pg_pardump_manifest.json"))->{'Cluster-Snapshot'}, described($run)->{'Cluster-Snapshot'},
	'its manifest names the snapshot');
is(sessions_in('first'), 1, 'its guard is there');
$run->{input} .= database_in($run, 'first')->{Oid} . "\n";
wait_in_run($run, 'the end of its guard', sub { sessions_in('first') == 0 });
is(sessions_in('second'), 1, 'the guard of the other database is there');
($rc, $err) = dump_in($run, 'first');
is($rc, 1, 'without its guard, a database cannot be dumped');
($rc, $err, $dir) = dump_in($run, 'second');
is("$rc $err " . counted($dir), '0  0', 'the second database is in the same snapshot');
# once more the first database, which has no guard any more
$run->{input} .= database_in($run, 'first')->{Oid} . "\n7\nx\n";
wait_in_run($run, 'two warnings', sub { $run->{err} =~ /"x"/ });
like($run->{err}, qr/\A(?:pg_pardump: warning: ignoring line "\w" of standard input, which is not the OID of a database in the snapshot\n){2}\z/,
	'other input is ignored with a warning');

# ---- what a dump refuses

my @others = (
	[ 'a snapshot of another run', qr/^pg_pardump: error: file ".*" does not contain snapshot "00000000-0-1"$/m, id => '00000000-0-1' ],
	[ 'another snapshot of the same name', qr/^pg_pardump: error: snapshot ".*" is not the one that was taken for all databases$/m,
		file => changed_file($run, Identity => 'another') ],
	[ 'another database of the same name', qr/^pg_pardump: error: database "second" is not the one that had this name when the run started$/m,
		file => changed_file($run, Databases => [ { %{ database_in($run, 'second') }, Oid => 1 } ]) ],
	# on a primary, the exporter is looked for if a query reads rows
	[ 'another exporter of the same name', qr/^pg_pardump: error: the transaction that exported snapshot ".*" has ended before all rows were read$/m,
		options => ['--where=public.counter:n = 0'], file => changed_file($run, Databases => [ { %{ database_in($run, 'second') }, Process => 1 } ]) ],
	[ 'a file without the snapshot', qr/^pg_pardump: error: file ".*" does not describe a shared snapshot\n.*detail: Member "Cluster-Snapshot" is invalid\.$/m,
		file => changed_file($run, 'Cluster-Snapshot' => undef) ],
	[ 'a file that other users may write', qr/^pg_pardump: error: file ".*" is writable by its group or others$/m, file => writable_file($run) ],
	[ 'no file', qr/^pg_pardump: error: file "\/nowhere" does not exist$/m, file => '/nowhere' ]);
foreach my $other (@others)
{
	my ($what, $message, %params) = @$other;
	($rc, $err, $dir) = dump_in($run, 'second', %params);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e $dir, "$what: nothing is made");
}

# ---- a guard that is lost

terminate($node, split /\n/, value($node, 'postgres', "SELECT pid FROM pg_stat_activity WHERE datname = 'second'"));
wait_in_run($run, 'a warning', sub { $run->{err} =~ /^pg_pardump: warning: the session that keeps the snapshot in database "second" was lost$/m });
($rc, $err, $dir) = dump_in($run, 'second');
is($rc, 1, 'a guard is lost: the dump fails');
ok(!-e $dir, 'a guard is lost: there is no archive of another snapshot');
# the end of the input is the end of the run
is(end_keeper($run), 0, 'the run ends with its standard input');
nothing_left_ok($node, $run->{file}, 'the run');
ok(!-e $run->{file}, 'the file is removed');

# ---- other ends

$run = start_keeper(new_path('terminated'));
kill TERM => $run->{pid};
is(end_dump($run), 1, 'SIGTERM: exit code');
nothing_left_ok($node, $run->{file}, 'SIGTERM');
ok(!-e $run->{file}, 'SIGTERM: the file is removed');

my $file = new_path('existing');
append_to_file($file, 'mine');
($rc, undef, $err) = run_program(keeper_command($file));
is($rc, 1, 'a file that exists: exit code');
like($err, qr/^pg_pardump: error: could not create file "\Q$file\E": File exists$/m, 'a file that exists: message');
is(slurp_file($file), 'mine', 'a file that exists: it is not changed');

my $none = new_path('none');
($rc, my $out, $err) = run_program(keeper_command($none, '--check'));
is("$rc $out$err", "0 no problems found\n", '--check');
ok(!-e $none, '--check makes no file');

# ---- options

foreach my $try (
	[ qr/options --shared-snapshot and --allow-rewritten cannot be used together\n.*detail: /, '-f', $none, '--snapshot=00000003-0000001B-1', '--allow-rewritten', 'first' ],
	[ qr/option --shared-snapshot requires option --snapshot or --cluster-snapshot/, '-f', $none, 'first' ],
	[ qr/option --shared-snapshot requires option --snapshot or --cluster-snapshot/, '-f', $none, '--all-databases' ],
	map({ [ qr/options --shared-snapshot and \Q$_->[0]\E cannot be used together\n.*detail: /, qw(--all-databases --cluster-snapshot), @{ $_->[1] } ] }
		[ '-f/--file', [ '-f', $none ] ], [ '--target', ['--target=x'] ], [ '--report', ["--report=$none"] ],
		[ '--metrics', ["--metrics=$none.prom"] ], [ '--dry-run', ['--dry-run'] ]))
{
	my ($message, @options) = @$try;
	($rc, undef, $err) = run_program('pg_pardump', "--shared-snapshot=$none", @options);
	is($rc, 1, "@options: exit code");
	like($err, qr/^pg_pardump: error: $message/, "@options: message");
}

sql($node, 'second', 'DROP EXTENSION pg_pardump');
($rc, $out, $err) = run_program(keeper_command($none));
is("$rc$out", '1', 'a database without the extension: exit code');
like($err, qr/error: option --cluster-snapshot requires extension pg_pardump in every database\npg_pardump: detail: Database "second" cannot be dumped with this option\.\npg_pardump: detail: The database has no extension pg_pardump\.\n/,
	'a database without the extension: message');

done_testing();
