# pg_pardump_backup --restore: a database from a backup, created or into one that
# exists; what is refused; and that no run removes a backup that is being restored.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup complete_backups time_name);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $now = 1_800_000_000;
my $node = start_cluster('restore');
make_database($node, 'shop');
make_database($node, 'odd name');
sql($node, 'shop', 'CREATE TABLE t AS SELECT g, md5(g::text) AS m FROM generate_series(1, 20000) g; CREATE INDEX ON t (g)');
sql($node, 'odd name', 'CREATE TABLE odd AS SELECT 1 AS one');
my ($file, $dir) = backup_config($node, 'jobs = 2', 'database = shop', 'database = odd name');
my @names = map { time_name($now + $_ * DAY) } 0 .. 3;
is((run_backup($now, $file))[0], 0, 'a backup');
my $data = fingerprint($node, 'shop');

sub restore_ok
{
	my ($what, $out, @arguments) = @_;
	my ($rc, $got, $err) = run_backup($now, '--restore', @arguments, $file);
	is("$rc$got", "0$out\n", $what) or diag($err);
	return;
}

sub refused_ok
{
	my ($what, $message, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now, '--restore', @arguments);
	is("$rc$out", '1', "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

# ---- without --to the database is created

refused_ok('a database that exists', qr/\Apg_pardump_backup: error: database "shop" already exists\npg_pardump_backup: hint: Rename the database \(ALTER DATABASE \.\.\. RENAME TO \.\.\.\), or use --to to restore into another database\.\n\z/,
	'latest', 'shop', $file);
same_data_ok($data, fingerprint($node, 'shop'), 'a database that exists is as it was');
sql($node, 'postgres', 'ALTER DATABASE shop RENAME TO lost');
restore_ok('create a database', qq(restored backup "shop/$names[0]" into database "shop"), $names[0], 'shop');
same_data_ok($data, fingerprint($node, 'shop'), 'the created database');
sql($node, 'postgres', 'DROP DATABASE "odd name"');
restore_ok('a name with a blank', qq(restored backup "odd name/$names[0]" into database "odd name"), "odd name/$names[0]");
is(value($node, 'odd name', 'SELECT one FROM odd'), '1', 'the one with a blank');

# ---- with --to

my $host = $node->host;
my $port = $node->port;
foreach my $to ('into 1', "host=$host port=$port dbname=into2", "postgresql:///into3?host=$host&port=$port")
{
	my ($database) = $to =~ /(into \d|into\d)/;
	make_database($node, $database);
	if ($database eq 'into2')
	{
		sql($node, $database, 'CREATE TABLE t AS SELECT 1 AS g');
		refused_ok('--to a database with rows', qr/the target already contains rows in \d+ of the tables to be restored\n(?:.*\n)*pg_pardump_backup: error: pg_parrestore failed with exit code 1\npg_pardump_backup: hint: If roles or tablespaces are missing, create them first: pg_parrestore --all-databases --globals-only -d postgres "\Q$dir\E\/shop\/$names[0]\/globals\.sql"\n\z/,
			'--to', $to, 'latest', 'shop', $file);
		sql($node, $database, 'DROP TABLE t');
	}
	restore_ok("--to=$to", qq(restored backup "shop/$names[0]" into database "$database"), '--to', $to, 'latest', 'shop');
	same_data_ok($data, fingerprint($node, $database), "--to=$to");
}
{
	# the configuration's service must not direct a connection string to its server
	my $services = new_path('services');
	append_to_file($services, "[night]\nhost=$host\nport=$port\n");
	local $ENV{PGSERVICEFILE} = $services;
	make_database($node, 'into4');
	my ($second) = backup_config($node, 'service = night');
	my $text = slurp_file($second) =~ s/^directory = \K.*/$dir/mr =~ s/^(host|port) = .*\n//mgr;
	unlink $second;
	append_to_file($second, $text);
	chmod 0600, $second;
	my ($rc, $out, $err) = run_backup($now, '--restore', 'latest', 'shop', '--to=into4', $second);
	is("$rc$out", qq(0restored backup "shop/$names[0]" into database "into4"\n), 'a service: the name of a database') or diag($err);
	same_data_ok($data, fingerprint($node, 'into4'), 'a service: the name of a database');
	local $ENV{PGHOST} = '/nowhere';
	local $ENV{PGPORT} = $port;
	refused_ok('a service and a connection string', qr/\/nowhere/, 'latest', 'shop', '--to=dbname=into4', $second);
}

# ---- what is refused

refused_ok('several databases', qr/\Apg_pardump_backup: error: backup "latest" contains several databases\npg_pardump_backup: detail: It contains "odd name", "shop"\.\npg_pardump_backup: hint: Specify one of them after the backup, for example: pg_pardump_backup --restore latest "odd name" \Q$file\E\n\z/, 'latest', $file);
refused_ok('another database', qr/\Apg_pardump_backup: error: backup "$names[0]" does not contain database "nosuch"\npg_pardump_backup: detail: It contains "odd name", "shop"\.\n\z/,
	$names[0], 'nosuch', $file);
refused_ok('no such backup', qr/error: could not find backup "nosuch"/, 'nosuch', $file);
foreach my $try (
	[ [ 'latest' ], qr/option --restore requires a backup and a configuration file\n/ ],
	[ [ 'a', 'b', 'c', 'd' ], qr/too many command-line arguments \(first is "d"\)\n/ ],
	[ [ '--verify', 'a', 'b' ], qr/options --restore and --verify cannot be used together\n/ ])
{
	my ($arguments, $message) = @$try;
	my ($rc, undef, $err) = run_backup($now, '--restore', @$arguments);
	is($rc, 2, "--restore @$arguments: exit code");
	like($err, $message, "--restore @$arguments");
}
{
	my ($rc, undef, $err) = run_backup($now, '--to=x', $file);
	is($rc, 2, '--to alone: exit code');
	like($err, qr/error: option --to requires option --restore\n/, '--to alone');
	my ($bin) = new_path('bin');
	mkdir $bin or die "could not make \"$bin\": $!";
	foreach my $program (qw(pg_pardump pg_dumpall psql))
	{
		my ($real) = grep { -x } map { "$_/$program" } split /:/, $ENV{PATH};
		symlink $real, "$bin/$program" or die "could not link \"$real\": $!";
	}
	my ($second) = backup_config($node, "bindir = $bin");
	($rc, undef, $err) = run_backup($now, '--restore', 'latest', $second);
	is($rc, 2, 'no pg_parrestore: exit code');
	like($err, qr/error: program "pg_parrestore" was not found in directory "\Q$bin\E" of bindir\n/, 'no pg_parrestore');
	is((run_backup($now, '--list', $second))[0], 0, 'no pg_parrestore: --list needs none');
}
{
	my $away = new_path('away');
	my ($piped, $dir) = backup_config($node, 'database = shop', "pipe = mkdir -p $away/%d/%t && cat >$away/%d/%t/%f", "remove = rm -rf $away/%d/%t");
	is((run_backup($now, $piped))[0], 0, 'a backup that is sent elsewhere');
	refused_ok('sent elsewhere', qr/\Apg_pardump_backup: error: the files of backup "shop\/$names[0]" were written by the command of "pipe"\npg_pardump_backup: hint: Fetch the files, and decrypt them into a directory\.  Then run "pg_parrestore" on that directory\.\n\z/,
		'latest', $piped);
}

# ---- a backup that is being restored stays

{
	my ($second, $dir) = backup_config($node, 'database = shop', 'keep_last = 1');
	is((run_backup($now, $second))[0], 0, 'while it is restored: a backup');
	make_database($node, 'slow');
	sql($node, 'slow', 'CREATE TABLE held (one int)');
	# its first statement waits: the name is locked
	my $session = $node->background_psql('postgres');
	$session->query_safe('BEGIN; ALTER DATABASE slow RENAME TO slower');
	my $run = start_backup($now, '--restore', 'latest', '--to=slow', $second);
	wait_until('it holds the backup', sub { -e "$dir/shop/$names[0]/.lock" });
	wait_until('it is at work', sub { (run_program('flock', '-xn', "$dir/shop/$names[0]/.lock", 'true'))[0] != 0 });
	my ($rc, undef, $err) = run_backup($now + DAY, $second);
	is($rc, 3, 'while it is restored: exit code of a run');
	like($err, qr/\Apg_pardump_backup: error: could not remove backup "shop\/$names[0]"\npg_pardump_backup: detail: The backup is in use by a restore\.\npg_pardump_backup: detail: The next run will try to remove the backup again\.\n\z/, 'while it is restored: message');
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 0, 1 ] ], 'while it is restored: it stays');
	$session->query_safe('ROLLBACK');
	$session->quit;
	is(end_backup($run), 0, 'the restore ends') or diag($run->{err});
	($rc, undef, $err) = run_backup($now + 2 * DAY, $second);
	is("$rc$err", '0', 'after the restore: a run');
	is_deeply([ complete_backups($dir, 'shop') ], [ $names[2] ], 'after the restore: it is removed');
}

$node->stop;
done_testing();
