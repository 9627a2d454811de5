# What other servers, other users and owners of databases do to pg_pardump_backup: no
# backup of another server is removed, and no user can prevent backups of the others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use JSON::PP qw(decode_json encode_json);
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database new_path start_psql sql value);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup failing_programs next_fault
  complete_backups time_name);
use Pardump::Prometheus qw(read_samples);
use Pardump::Terminal qw(run_on_terminal seen_lines);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $night = 0;
my $second_socket = PostgreSQL::Test::Utils::tempdir_short();

sub start_server
{
	my ($name) = @_;
	my $node = start_cluster($name, leave_stopped => 1);
	$node->append_conf('postgresql.conf', "max_prepared_transactions = 10\n"
		  . "unix_socket_directories = '" . $node->host . ($name eq 'one' ? ", $second_socket" : '') . "'\n");
	$node->start;
	make_database($node, 'shop');
	return $node;
}

my $one = start_server('one');
my $two = start_server('two');

# A configuration with the file name of another one, for another server or address, and
# the same directory.
sub moved
{
	my ($file, %values) = @_;
	my $place = new_path('moved');
	my $text = slurp_file($file);
	$text =~ s/^$_ = .*$/$_ = $values{$_}/m foreach keys %values;
	mkdir $place or die "could not make directory \"$place\": $!";
	my $path = $place . '/' . $file =~ s/.*\///r;
	append_to_file($path, $text);
	chmod 0600, $path;
	return $path;
}

# The next night.  Returns exit code and messages, and checks which nights have
# backups then.
sub night_ok
{
	my ($what, $file, $dir, $rc, $message, @kept) = @_;
	my ($status, $out, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
	is("$status$out", $rc, "$what: exit code") or diag($err);
	like($err, $message, "$what: messages");
	is_deeply([ complete_backups($dir, 'shop') ], [ map { time_name(1_800_000_000 + DAY * $_) } @kept ], "$what: backups");
	return;
}

sub adopted_ok
{
	my ($what, $file) = @_;
	my ($rc, $out, $err) = run_backup(1_800_000_000, '--adopt', $file);
	is("$rc$out", '0', "$what: --adopt");
	like($err, qr/\Apg_pardump_backup: assigned \d+ backups? in directory ".*" to the server with system identifier \d+ at address ".*"\n\z/, "$what: --adopt says so");
	return;
}

my $another = qr/\Apg_pardump_backup: error: no old backup was removed
.*detail: Directory ".*" contains backups of another server\.
(?:.*detail: It contains backups of the server with .*\.
)+.*detail: The configuration leads to the server with .*\.
.*hint: .*"pg_pardump_backup --adopt \/.*"\. .*\n\z/;
my $silent = qr/\A\z/;

# ---- two servers, whose configurations have one name and one directory

{
	my $metrics = new_path('metrics');
	mkdir $metrics or die "could not make \"$metrics\": $!";
	my ($file, $dir) = backup_config($one, 'database = shop', 'keep_last = 1', "metrics = $metrics");
	my $second = moved($file, host => $two->host, port => $two->port);

	night_ok('the first server', $file, $dir, 0, $silent, 1);
	night_ok('the first server, again', $file, $dir, 0, $silent, 2);
	my $info = decode_json(slurp_file("$dir/shop/" . time_name(1_800_000_000 + DAY * 2) . '/backup.json'));
	is($info->{system_identifier}, value($one, 'postgres', 'SELECT system_identifier FROM pg_control_system()'), 'the identifier is kept');
	like($info->{address}, qr/^\S+:\Q@{[ $one->host ]}\E:@{[ $one->port ]}$/, 'so is the address, with the machine of a socket');
	night_ok('the second server', $second, $dir, 5, $another, 2, 3);
	my $count = (read_samples((glob "$metrics/pg_pardump_backup_*")[0])->{pg_pardump_backup_backups})->[0]{value};
	is($count, 1, 'metrics count the backups of one server');
	is((run_backup(1_800_000_000, '--check', $second))[0], 1, '--check finds it');
	night_ok('the second server, again', $second, $dir, 5, $another, 2, 3, 4);
	night_ok('the first server, after that', $file, $dir, 5, $another, 2, 3, 4, 5);

	# what a killed run has left may be the other one's
	my $partial = "$dir/shop/20200101T000000Z.partial";
	mkdir $partial or die "could not make \"$partial\": $!";
	append_to_file("$partial/backup.json", encode_json({ %$info, system_identifier => '1' }));
	adopted_ok('the second server', $second);
	night_ok('the second server, to which all belongs', $second, $dir, 0, $silent, 6);
	ok(!-e $partial, 'the second server, to which all belongs: what was left half done');
	night_ok('the first server, to which nothing belongs', $file, $dir, 5, $another, 6, 7);
	mkdir $partial or die "could not make \"$partial\": $!";
	append_to_file("$partial/backup.json", encode_json({ %$info, system_identifier => '1' }));
	night_ok('half a backup of another server', $file, $dir, 5, $another, 6, 7, 8);
	ok(-e $partial, 'half a backup of another server: it stays');
	like((run_backup(1_800_000_000 + DAY * ++$night, '-v', $file))[2],
		qr/made and verified backup "\w+":\n  1 database, .*\npg_pardump_backup: error: no old backup was removed\n(?:.*detail: .*\n)+.*hint: .*\n\z/, 'another server, -v: the last lines');
	my ($rc, undef, $err) = run_backup(0, '--adopt', '--list', $file);
	is($rc, 2, '--adopt with --list: exit code');
	like($err, qr/error: options --adopt and --list cannot be used together\n/, '--adopt with --list');
}

# ---- the same identifier at another address, as a server that was copied has

{
	$night = 0;
	my ($file, $dir) = backup_config($one, 'database = shop', 'keep_last = 1');
	my $second = moved($file, host => $second_socket);
	night_ok('an address', $file, $dir, 0, $silent, 1);
	night_ok('another address', $second, $dir, 5, $another, 1, 2);
	adopted_ok('another address', $second);
	night_ok('another address, adopted', $second, $dir, 0, $silent, 3);
}

# ---- backups from before there were identifiers

{
	$night = 0;
	my ($file, $dir) = backup_config($one, 'database = shop', 'keep_last = 1', 'globals = no');
	night_ok('an old backup', $file, $dir, 0, $silent, 1);
	my $json = "$dir/shop/" . time_name(1_800_000_000 + DAY) . '/backup.json';
	my $info = decode_json(slurp_file($json));
	delete @$info{qw(system_identifier address)};
	unlink $json, "$dir/.configuration";
	append_to_file($json, encode_json($info));
	append_to_file("$dir/.configuration", $file =~ s/.*\/|\.conf$//gr . "\n");
	append_to_file("$json.odd", encode_json({ %$info, system_identifier => ['1'], address => {}, adopted => { address => [] } }));
	rename "$json.odd", $json or die "could not rename \"$json.odd\": $!";
	night_ok('an old backup, of an unknown server', $file, $dir, 5, qr/system identifier unknown at address "unknown"/, 1, 2);
	adopted_ok('an old backup', $file);
	night_ok('an old backup, adopted', $file, $dir, 0, $silent, 3);

	# a role that may not ask
	sql($one, 'postgres', 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; CREATE ROLE poor LOGIN; GRANT pg_read_all_data TO poor');
	append_to_file($file, "username = poor\n");
	night_ok('a server that cannot be identified', $file, $dir, 5,
		qr/error: no old backup was removed\n.*detail: The server cannot be identified\.\n.*detail: The role may not execute .*\n.*hint: .*"GRANT EXECUTE ON FUNCTION pg_control_system\(\) TO poor" in database "postgres"\.\n/, 3, 4);
	is((run_backup(1_800_000_000, '--adopt', $file))[0], 1, 'a server that cannot be identified: --adopt');
	sql($one, 'postgres', 'GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
}

# ---- an owner who locks a table, or what else pg_dump reads, for ever

# The owner of the maintenance database locks it while a dump runs.  The database of the
# dump shows what that waits for, unless its owner locks it, too.  These runs take long,
# so they end below.
my @blind;
foreach my $locks_both (0, 1)
{
	my ($bin, $database, $maintenance) = (failing_programs(), map { $_ . $locks_both } qw(barn mill));
	make_database($one, $database);
	make_database($one, $maintenance);
	my ($file, $dir) = backup_config($one, "database = $database", 'lock_wait_timeout = 1s', "maintenance_database = $maintenance",
		'globals = no', "bindir = $bin");
	sql($one, $database, "CREATE SEQUENCE q; BEGIN; ALTER SEQUENCE q OWNER TO CURRENT_USER; PREPARE TRANSACTION '$database'")
	  if !$locks_both;
	next_fault($bin, "waits $database");
	push @blind, { run => start_backup(1_800_000_000 + DAY * ++$night, $file), dir => $dir, database => $database };
	wait_until("the dump of $database begins", sub { -e "$bin/waits" });
	sql($one, 'postgres', join '; ', 'BEGIN', (map { "ALTER DATABASE $_ RENAME TO away_$_" } $maintenance, $locks_both ? $database : ()),
		"PREPARE TRANSACTION '$maintenance'");
	next if $locks_both;
	next_fault($bin, 'none');
	unlink "$bin/waits";
}

my $bin = failing_programs();
my ($file, $dir) = backup_config($one, 'database = attic', 'database = shop', 'lock_wait_timeout = 1s', "bindir = $bin");
make_database($one, 'attic');
sql($one, 'attic', 'CREATE TABLE t (id serial); CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT * FROM v');
my $again = qr/.*detail: Another attempt will be made after the other databases\.\n/;
my $waited = qr/waited for locks longer than lock_wait_timeout \(1s\)\.
.*detail: The locks are held by (?:a prepared transaction\.
(?:$again)?.*hint: Run ROLLBACK PREPARED or COMMIT PREPARED for the transaction, which pg_prepared_xacts shows,|server process \d+\.
(?:$again)?.*hint: To end its session, run SELECT pg_terminate_backend\(\d+\);) or set a longer lock_wait_timeout\.\n/;
foreach my $try ([ 'LOCK TABLE t', qr/$waited|failed with exit code 1\.\n(?:$again)?/ ], [ 'ALTER SEQUENCE t_id_seq OWNER TO CURRENT_USER', $waited ],
	[ 'DROP VIEW w', $waited ], [ 'ALTER DATABASE attic RENAME TO loft', $waited, 'postgres' ])
{
	my ($command, $reason, $from) = @$try;
	sql($one, $from // 'attic', "BEGIN; $command; PREPARE TRANSACTION 'owner'");
	my ($rc, undef, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
	is($rc, 1, "$command: exit code");
	like($err, qr/warning: could not back up database "attic"\n.*detail: pg_pardump (?:$reason)/, "$command: warning");
	like($err, qr/warning: could not back up database "attic"\n(?:.*detail: .*\n)+?$again/, "$command: another try");
	like($err, qr/error: could not back up database "attic"\n.*detail: pg_pardump (?:$reason)\z/, "$command: message");
	is_deeply([ complete_backups($dir, 'attic') ], [], "$command: no backup of this database");
	is((complete_backups($dir, 'shop'))[-1], time_name(1_800_000_000 + DAY * $night), "$command: a backup of the other one");
	sql($one, $from // 'attic', "ROLLBACK PREPARED 'owner'");
}

# On a terminal, the program reads the messages of pg_pardump while it looks at lock waits.
{
	my $what = 'on a terminal';
	sql($one, 'attic', "BEGIN; DROP VIEW w; PREPARE TRANSACTION 'owner'");
	local $ENV{PG_PARDUMP_BACKUP_NOW} = 1_800_000_000 + DAY * ++$night;
	my ($rc, $shown) = run_on_terminal(200, 'pg_pardump_backup', $file);
	my $lines = join '', map { "$_\n" } seen_lines($shown);
	is($rc, 1, "$what: exit code");
	like($lines, qr/warning: could not back up database "attic"\n.*detail: pg_pardump (?:$waited)\[1\/2\] attic: FAILED after \d+\.\d s, will be retried\n\[2\/2\] shop: made and verified, .*\n(?:.*\n)*.*error: could not back up database "attic"\n.*detail: pg_pardump (?:$waited)\[1\/2\] attic: FAILED after \d+\.\d s\npg_pardump_backup: made /, "$what: messages");
	like($lines, qr/^pg_pardump_backup: made and verified backup "\w+":\n  1 of 2 databases, .*\n(?:pg_pardump_backup: removed \d+ old backups?\n)?pg_pardump_backup: error: no new backup of 1 of 2 databases: attic\n.*detail: Databases without a new backup keep all old backups\.\n.*hint: Fix the cause\.  The next run backs up all databases\.  To start it now, run "pg_pardump_backup .*"\.\n\z/m,
		"$what: the last lines");
	sql($one, 'attic', "ROLLBACK PREPARED 'owner'");
}

# Settings by which pg_dump, and each query outside of a transaction, waits for the end
# of other serializable transactions; the role that the owner sets shows no other
# role's waits.
my @deferrable = map { "default_transaction_$_" } 'isolation = serializable', 'read_only = on', 'deferrable = on';

sub set_deferrable
{
	my ($database) = @_;
	sql($one, 'postgres', join '; ', map { "ALTER DATABASE $database SET $_" } @deferrable);
	return;
}

# A serializable transaction that stays open.
sub start_serializable
{
	my $psql = start_psql($one, 'postgres');
	$psql->('BEGIN ISOLATION LEVEL SERIALIZABLE');
	$psql->('SELECT count(*) FROM pg_class');
	return $psql;
}
{
	my $what = 'a serializable transaction';
	set_deferrable('attic');
	my $psql = start_serializable();
	my ($rc, undef, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
	is($rc, 1, "$what: exit code");
	like($err, qr/error: could not back up database "attic"\n.*detail: pg_pardump $waited\z/, "$what: message");
	is_deeply([ complete_backups($dir, 'attic') ], [], "$what: no backup of this database");
	is((complete_backups($dir, 'shop'))[-1], time_name(1_800_000_000 + DAY * $night), "$what: a backup of the other one");
	$psql->();
	sql($one, 'postgres', 'ALTER DATABASE attic RESET ALL');
}

# The runs that have begun above.
foreach my $locks_both (0, 1)
{
	my $what = 'a maintenance database that is locked during the dump' . ($locks_both ? ', and the other database' : '');
	my ($run, $dir, $database) = @{ $blind[$locks_both] }{qw(run dir database)};
	my $reason = "pg_pardump waited for locks longer than lock_wait_timeout (1s).\npg_pardump_backup: detail: "
	  . ($locks_both ? 'The session that holds the locks is not known.' : 'The locks are held by a prepared transaction.');
	is(end_backup($run), 1, "$what: exit code");
	like($run->{err}, qr/error: could not back up database "$database"\npg_pardump_backup: detail: \Q$reason\E\n/, "$what: message");
	is_deeply([ complete_backups($dir, $database) ], [], "$what: no backup");
	sql($one, 'postgres', "ROLLBACK PREPARED 'mill$locks_both'");
	sql($one, $database, "ROLLBACK PREPARED '$database'") if !$locks_both;
}

# What the owner of the maintenance database can do there.
sql($one, 'postgres', 'CREATE ROLE owner LOGIN CREATEDB');
sql($one, 'postgres', 'CREATE DATABASE hall OWNER owner');
my ($reader, $vacuum, @late);
{
	my ($file, $dir) = backup_config($one, 'database = shop', 'lock_wait_timeout = 1s', 'maintenance_database = hall', "bindir = $bin");
	my $night_ok = sub {
		my ($what, $rc, $message) = @_;
		my ($status, undef, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
		is($status, $rc, "$what: exit code");
		like($err, $message, "$what: messages");
		is(((complete_backups($dir, 'shop'))[-1] // '') eq time_name(1_800_000_000 + DAY * $night), $rc == 0, "$what: a backup, or none");
		return;
	};
	$night_ok->('a maintenance database', 0, $silent);
	set_deferrable('hall');
	my $psql = start_serializable();
	$night_ok->('deferrable transactions in the maintenance database', 0, $silent);
	$psql->();
	sql($one, 'postgres', 'ALTER DATABASE hall RESET ALL');

	# that role does not see that the backup's role waits
	append_to_file($file, "globals = no\n");
	sql($one, 'postgres', 'ALTER DATABASE hall SET role = owner');
	sql($one, 'shop', "CREATE SEQUENCE q; BEGIN; ALTER SEQUENCE q OWNER TO CURRENT_USER; PREPARE TRANSACTION 'owner'");
	$night_ok->('another role in the maintenance database', 1, qr/error: could not back up database "shop"\n.*detail: pg_pardump $waited\z/);
	sql($one, 'shop', "ROLLBACK PREPARED 'owner'");
	sql($one, 'postgres', 'ALTER DATABASE hall RESET role');

	# One is locked itself.  In the other one VACUUM FULL waits for a reader, and all who
	# come after it wait for both.  These runs end below, as their limit is long.
	sql($one, 'postgres', 'CREATE DATABASE yard OWNER owner');
	my ($other) = backup_config($one, 'database = shop', 'lock_wait_timeout = 1s', 'maintenance_database = yard', "bindir = $bin");
	sql($one, 'postgres', "BEGIN; ALTER DATABASE hall RENAME TO cellar; PREPARE TRANSACTION 'renamed'");
	$reader = start_psql($one, 'yard');
	$reader->('BEGIN');
	$reader->('SELECT count(*) FROM pg_proc');
	$vacuum = IPC::Run::start([ 'psql', '-Xq', '-d', $one->connstr('yard') . ' user=owner', '-c', 'VACUUM FULL pg_proc' ]);
	wait_until('VACUUM FULL waits', sub {
		value($one, 'postgres', q{SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'pg_proc'::regclass}) });
	@late = map { start_backup(1_800_000_000 + DAY * ++$night, $_) } $file, $other;
}
{
	# it ends before the second try
	sql($one, 'attic', "BEGIN; LOCK TABLE t; PREPARE TRANSACTION 'owner'");
	next_fault($bin, 'waits shop');
	my $run = start_backup(1_800_000_000 + DAY * ++$night, $file);
	wait_until('the other database is backed up', sub { -e "$bin/waits" });
	sql($one, 'attic', "ROLLBACK PREPARED 'owner'");
	next_fault($bin, 'none');
	unlink "$bin/waits";
	is(end_backup($run), 0, 'a lock that ends: exit code');
	like($run->{err}, qr/\A(?:.*\n)*.*warning: could not back up database "attic"\n(?:.*detail: .*\n)+?$again(?:.*(?:detail|hint): .*\n)*\z/, 'a lock that ends: a warning');
	is_deeply([ map { (complete_backups($dir, $_))[-1] } 'attic', 'shop' ], [ (time_name(1_800_000_000 + DAY * $night)) x 2 ], 'a lock that ends: both are backed up');
}

# ---- roles that are made while databases are dumped

foreach my $pipe (0, 1)
{
	$night = 0;
	my ($file, $dir) = backup_config($one, 'database = attic', 'database = shop', "bindir = $bin",
		$pipe ? 'pipe = set -C; cat >%D/%f' : ());
	my $globals = $pipe ? 'dump/globals.sql' : 'globals.sql';
	my $later = $pipe ? 'dump/globals_later.sql' : 'globals.sql';
	night_ok("globals, $pipe", $file, $dir, 0, $silent, 1);
	is(scalar(my @files = glob "$dir/*/*/globals*"), $pipe ? 0 : 2, "globals, $pipe: none more if nothing has changed");
	my $hook = "$bin/pg_dumpall";
	my $script = slurp_file($hook);
	my $psql = "$bin/psql -Xq -d '" . $one->connstr('postgres') . "' -c 'CREATE ROLE late$pipe'";
	unlink $hook;
	append_to_file($hook, $script =~ s/^exec (.*)$/if [ -e "$bin\/second" ]; then $psql 2>$bin\/ignored; fi; touch "$bin\/second"; $1/mr);
	chmod 0755, $hook;
	my ($rc, undef, $err) = run_backup(1_800_000_000 + DAY * 2, $file);
	is("$rc$err", '0', "globals that change, $pipe: the run");
	unlink $hook, "$bin/second";
	append_to_file($hook, $script);
	chmod 0755, $hook;
	foreach my $database ('attic', 'shop')
	{
		my $path = "$dir/$database/" . time_name(1_800_000_000 + DAY * 2);
		like(slurp_file("$path/$later"), qr/CREATE ROLE late$pipe;/, "globals that change, $pipe: $database has the later ones");
		unlike(slurp_file("$path/$globals"), qr/CREATE ROLE late/, "globals that change, $pipe: $database has the first ones, too") if $pipe;
	}
	sql($one, 'postgres', "DROP ROLE late$pipe");
}

# ---- who owns the directory of metrics puts a link in the place of the file

{
	my $metrics = new_path('metrics');
	my $secret = new_path('secret');
	my $modules = new_path('modules');
	mkdir $_ or die "could not make \"$_\": $!" foreach $metrics, $modules;
	append_to_file($secret, 'secret');
	chmod 0600, $secret;

	# after the file is created, and before any operation by its name
	append_to_file("$modules/Swap.pm", <<'PERL');
package Swap;
use IO::Handle;
my $sync = \&IO::Handle::sync;
no warnings 'redefine';
*IO::Handle::sync = sub {
	my $path = readlink '/proc/self/fd/' . fileno $_[0];
	rename $path, "$path.old" and symlink $ENV{SECRET}, $path or die $! if $path =~ /\.prom\.tmp$/;
	return $sync->(@_);
};
1;
PERL
	$night = 0;
	my ($file, $dir) = backup_config($one, 'database = shop', "metrics = $metrics");
	local $ENV{PERL5OPT} = "-I$modules -MSwap";
	local $ENV{SECRET} = $secret;
	night_ok('a link in the place of metrics', $file, $dir, 0, $silent, 1);
	is(sprintf('%o', (stat $secret)[2] & 07777), '600', 'a link in the place of metrics: other users cannot read the secret');
	ok(-e (glob "$metrics/.*.old")[0], 'a link in the place of metrics: it was there');
}

# ---- the runs that the owner of the maintenance database keeps waiting

foreach my $what ('a maintenance database that is locked', 'a maintenance database with a locked catalog')
{
	my $run = shift @late;
	is(end_backup($run), 1, "$what: exit code");
	like($run->{err}, qr/\Apg_pardump_backup: error: could not read the system identifier\n.*detail: psql did not exit within 15 s\.\n.*detail: A session might have locked .*\n.*hint: To find it, .*\n\z/,
		"$what: message");
}
sql($one, 'postgres', "ROLLBACK PREPARED 'renamed'");
$reader->();
$vacuum->finish;

# ---- databases that are left out are reported

sql($one, 'postgres', 'CREATE DATABASE closed ALLOW_CONNECTIONS false');
{
	$night = 0;
	my ($file, $dir) = backup_config($one, map { "exclude_database = $_" } qw(attic postgres template1));
	night_ok('a closed database', $file, $dir, 0, qr/\Apg_pardump_backup: warning: skipping database "closed", which does not allow connections\n.*hint: .* exclude_database\.\n\z/, 1);
	append_to_file($file, "exclude_database = closed\n");
	night_ok('a closed database that is excluded', $file, $dir, 0, $silent, 1, 2);
}

$one->stop;
$two->stop;
done_testing();
