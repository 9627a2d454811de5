# Dumps of all databases with --pipe: commands write and return the files, and %d is the
# directory of a file.  A file that a command does not return is read again.  A restore
# creates nothing before it has read all archives' tables of contents.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use Pardump::Toc qw(read_toc data_path is_table_data);
use Pardump::WholeCluster qw(create_database cluster_print same_cluster_ok globals_text read_map archive_of);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('pipe_all_source');
my @new = ('shop', q{it's "%d" $(db)});
my @names = (@new, 'postgres', 'template1');
sql($source, 'postgres', q{CREATE ROLE staff PASSWORD 'secret'; ALTER ROLE staff SET work_mem = '7MB'});
create_database($source, $_) foreach @new;
foreach my $name (@names)
{
	sql($source, $name, <<'SQL');
CREATE TABLE orders AS SELECT g AS id, current_database() || g AS t FROM generate_series(1, 300) g;
SELECT lo_from_bytea(4711, convert_to(current_database(), 'UTF8'));
SQL
}
my $want = cluster_print($source, @names);
my $globals = globals_text($source);

# Dumps all databases to this command, in which DIR stands for a new directory.  Returns the
# results of run_program, and the directory.
sub dump_piped
{
	my ($command) = @_;
	my $dir = new_path('store');
	my @result = run_program('pg_pardump', '--all-databases', '-j3', '-h', $source->host, '-p', $source->port,
		'--pipe=' . $command =~ s/DIR/$dir/gr);
	return (@result, $dir);
}

# ---- a dump

my $store = 'mkdir -p DIR/%d && cat >DIR/%d/%f';
my ($rc, $out, $err, $dir) = dump_piped("$store && echo %d/%f >>DIR.log");
is("$rc$err", '0', 'dump: no messages');
my @written = split /\n/, slurp_file("$dir.log");
is_deeply([ @written[ -2, -1 ] ], [ 'globals.sql', 'map.json' ], 'dump: globals.sql and map.json are written last');
is_deeply({ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } }, { map { $_ => 'complete' } @names }, 'dump: the map lists all databases as complete');
is_deeply([ sort map { s/^\Q$dir\E\///r } glob "$dir/databases/*/*" ], [ sort grep { /^databases/ } @written ], 'dump: each file is stored in the directory of its database');
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--verify', $dir);
is("$rc$err", '0', 'dump: the stored files are a complete directory dump');
my $shop = archive_of($dir, 'shop') =~ s/^\Q$dir\E\///r;

my $failed;
($rc, undef, $err, $failed) = dump_piped("[ %d/%f != $shop/toc.dat ] || exit 3; $store");
is($rc, 1, 'a database fails: exit code');
like($err, qr/^pg_pardump:shop: error: command for file "toc\.dat" failed: .*^pg_pardump: error: could not dump 1 of 4 databases\n/ms, 'a database fails: message');
is_deeply([ map { $_->{Name} } grep { $_->{State} eq 'failed' } @{ read_map($failed)->{Databases} } ], ['shop'], 'a database fails: the map lists it as failed');
($rc, undef, $err, $failed) = dump_piped("[ %d/%f != globals.sql ] || exit 3; $store");
is($rc, 1, 'globals.sql fails: exit code');
like($err, qr/^pg_pardump: error: command for file "globals\.sql" failed: /m, 'globals.sql fails: message');
ok(!-e "$failed/map.json", 'globals.sql fails: no map');

# ---- verification
my $read = "cat $dir/%d/%f";

# A command that returns all files except one, for which it runs the given command: each
# time, or, with a flag file, only the first time.
sub read_but
{
	my ($file, $command, $flag) = @_;
	my $guard = defined $flag ? "[ ! -e $flag ] && : >$flag && " : '';
	return "f=%d/%f; if [ \$f = '$file' ] && ${guard}true; then $command; else exec $read; fi";
}

sub verify_piped { return run_program('pg_pardump', '--all-databases', '--verify', "--pipe=$_[0]", @_[ 1 .. $#_ ]); }

my $page = new_path('page');
($rc, $out, $err) = verify_piped($read, "--report=$page");
is("$rc$err", '0', 'verification: no messages');
like($out, qr/^\[4\/4\] /m, 'verification: each database is reported');
unlike(slurp_file("$page/index.html"), qr/\Q$dir\E/, 'verification: the report does not contain the command');
my ($te) = grep { is_table_data($_) } @{ read_toc("$dir/$shop")->{entries} };
my $rows = data_path("$dir/$shop", $te) =~ s/.*\///r;
foreach my $try (
	[ 'map.json', 'exit 3', qr/command for file "map\.json" failed: /i ],
	[ 'map.json', "head -c 100 $dir/map.json", qr/(?:command for file "map\.json" did not return the map of a cluster's dump\npg_pardump: detail: )?[^\n]*\npg_pardump: detail: Command was: /i ],
	[ 'globals.sql', "head -c 100 $dir/globals.sql", qr/command for file "globals\.sql" returned data that does not match the checksum in "map\.json"/i ],
	[ "$shop/toc.dat", 'exit 3', qr/command for file "toc\.dat" failed: /i ],
	[ "$shop/$rows", 'true', qr/command for file "\Q$rows\E" returned 0 bytes /i ])
{
	my ($file, $command, $message) = @$try;
	my $what = "verification, $file, $command" =~ s/ \/\S*\// /r;
	($rc, undef, $err) = verify_piped(read_but($file, $command, new_path('flag')), '--retries=1', '--pipe-prefetch=0');
	is($rc, 0, "$what, once: exit code");
	like($err, qr/^pg_pardump(?::shop)?: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump(?::shop)?: detail: $message/, "$what, once: message");
	($rc, undef, $err) = verify_piped(read_but($file, $command), '--retries=1');
	is($rc, 1, "$what: exit code");
	like($err, qr/^pg_pardump(?::shop)?: error: (?:could not verify the rows of table public\.orders\npg_pardump(?::shop)?: detail: )?$message/m, "$what: message");
}

# ---- restore
sub restore_piped
{
	my ($node, $command, @options) = @_;
	return run_program('pg_parrestore', '--all-databases', '-j3', '-d', $node->connstr('postgres'), "--pipe=$command", @options);
}

my $log = new_path('log');
my $target = start_cluster('pipe_all_target');
($rc, undef, $err) = restore_piped($target, "echo %d/%f >>$log; exec $read");
is("$rc$err", '0', 'restore: no messages');
is(globals_text($target), $globals, 'restore: roles');
same_cluster_ok($want, $target, 'restore');
my @was_read = split /\n/, slurp_file($log);
is_deeply([ @was_read[ 0, 1 ] ], [ 'map.json', 'globals.sql' ], 'restore: map.json and globals.sql are read first');
my %times;
$times{$_}++ foreach grep { !/toc\.dat$|\.json$/ } @was_read;
is_deeply([ grep { $times{$_} > 1 } sort keys %times ], [], 'restore: other files are read once');
$target->stop;

# a missing archive, then a missing table
my $other = start_cluster('pipe_all_other');
($rc, undef, $err) = restore_piped($other, read_but("$shop/toc.dat", 'exit 3'), '--retries=0');
is($rc, 1, 'an archive is missing: exit code');
like($err, qr/^pg_parrestore: error: command for file "toc\.dat" failed: /m, 'an archive is missing: message');
is(value($other, 'postgres', "SELECT (SELECT count(*) FROM pg_database) + (SELECT count(*) FROM pg_roles WHERE rolname = 'staff')"), 3, 'an archive is missing: nothing is created');
($rc, undef, $err) = restore_piped($other, read_but("$shop/$rows", 'exit 3'), '--retries=0');
is($rc, 1, 'a table is missing: exit code');
like($err, qr/^pg_parrestore:shop: error: could not read data of entry [^\n]*\npg_parrestore:shop: detail: Command for file "\Q$rows\E" failed: .*^pg_parrestore: error: could not restore 1 of 4 databases\n.*hint: Fix the cause, and run the same command with --resume\.\n/ms, 'a table is missing: message');
($rc, undef, $err) = restore_piped($other, $read, '--resume');
is($rc, 0, 'resumed restore: exit code') or diag($err);
same_cluster_ok($want, $other, 'resumed restore');

# ---- refused patterns
foreach my $try ([ 'pg_pardump', 'cat >%f' ], [ 'pg_pardump', 'cat >%d' ], [ 'pg_pardump', 'cat >%d/%f/%x' ], [ 'pg_pardump', 'cat >%%d/%f' ], [ 'pg_parrestore', 'cat %f', '-d', 'x' ])
{
	my ($program, $pattern, @options) = @$try;
	($rc, undef, $err) = run_program($program, '--all-databases', "--pipe=$pattern", @options);
	is($rc, 1, "$program, $pattern: exit code");
	like($err, qr/error: invalid value "\Q$pattern\E" for option --pipe\n.*hint: With --all-databases, the command must contain %d and %f, /, "$program, $pattern: message");
}
foreach my $program ('pg_pardump', 'pg_parrestore')
{
	($rc, undef, $err) = run_program($program, '-d', 'x', '--pipe=cat %d/%f');
	is($rc, 1, "$program of one database: exit code");
	like($err, qr/error: invalid value "cat %d\/%f" for option --pipe\n/, "$program of one database: message");
}

$_->stop foreach $source, $other;
done_testing();
