# The configuration of pg_pardump_backup: what is wrong with it is told by file and
# line; --check, and what a run tells Prometheus.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use lib `pg_config --sharedir` =~ s/\n//r . '/pg_pardump';

use Fcntl qw(O_RDWR);
use JSON::PP qw(decode_json);
use IPC::Run;
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Command qw(text_file);
use Pardump::Nights qw(backup_config run_backup failing_programs next_fault complete_backups time_name);
use Pardump::Prometheus qw(read_samples);
use PardumpBackup::Listing qw(size_text);
use PardumpBackup::Message qw(first_names);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/..";
my $now = 1_800_000_000;
my $node = start_cluster('config');
make_database($node, $_) foreach 'shop', 'other';
sql($node, 'shop', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g');

sub wrong_ok
{
	my ($what, $message, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now, @arguments);
	is("$rc$out", '2', "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

# ---- the command line

wrong_ok('no file', qr/error: no configuration file specified\n.*hint: Try "pg_pardump_backup --help" for more information\.\n\z/);
wrong_ok('two files', qr/error: too many command-line arguments \(first is "b"\)\n/, 'a', 'b');
wrong_ok('an unknown option', qr/error: unrecognized option "--nosuch"\n\S+ hint: Try /, '--nosuch', 'a');
wrong_ok('a misspelt option', qr/error: unrecognized option "--lisst"\n\S+ hint: Perhaps you meant the option "--list"\.\n/, '--lisst', 'a');
wrong_ok('an option of which there is a part', qr/error: unrecognized option "--che"\n/, '--che', 'a');
wrong_ok('--json without --list', qr/error: option --json requires option --list\n/, '--json', 'a');
wrong_ok('two tasks', qr/error: options --check and --list cannot be used together\n/, '--check', '--list', 'a');
my ($rc, $out, $err) = run_backup($now, '--version');
my $version = decode_json(slurp_file("$tree/META.json"))->{version};
is("$rc$err$out", "0pg_pardump_backup $version\n", 'version');

# ---- lines

# Each a wrong line, and what is said of it after file and number.
my @wrong = (
	[ 'directory', qr/line does not have the form "key = value"/ ],
	[ '= value', qr/line does not have the form "key = value"/ ],
	[ 'key with blanks = 1', qr/line does not have the form "key = value"/ ],
	[ 'nosuch = 1', qr/unrecognized key "nosuch"/ ],
	[ 'Jobs = 1', qr/unrecognized key "Jobs"/ ],
	[ 'jobs =', qr/key "jobs" has no value/ ],
	[ 'port = 2', qr/key "port" is already set in line 3/ ],
	[ 'jobs = 0', qr/invalid value for key "jobs"\n.*detail: The value must be a number from 1 to 4096/ ],
	[ 'jobs = four', qr/invalid value for key "jobs"\n.*detail: The value must be a number/ ],
	[ 'keep_last = 0', qr/invalid value for key "keep_last"\n.*detail: The value must be a number from 1 to 100000/ ],
	[ 'keep_days = -1', qr/invalid value for key "keep_days"\n.*detail: The value must be a number from 1 to 36500/ ],
	[ 'incremental = perhaps', qr/invalid value for key "incremental"\n.*detail: The allowed values are: "yes", "no"\./ ],
	[ 'cluster_snapshot = maybe', qr/invalid value for key "cluster_snapshot"\n.*detail: The allowed values are: "yes", "no"\./ ],
	[ 'globals = some', qr/invalid value for key "globals"\n.*detail: The allowed values are: "yes", "no", "no-passwords"\./ ],
	[ 'lock_wait_timeout = 15', qr/invalid value for key "lock_wait_timeout"\n.*detail: The value must be a time with a unit, from "1ms" to "24d", such as "15min"/ ],
	[ 'lock_wait_timeout = 0s', qr/invalid value for key "lock_wait_timeout"\n.*detail: The value must be a time/ ],
	[ 'lock_wait_timeout = 25d', qr/invalid value for key "lock_wait_timeout"\n.*detail: The value must be a time/ ],
	[ 'options = -n a --lock-wait-timeout=1s', qr/invalid value for key "options"\n.*detail: The value must not contain --lock-wait-timeout=1s; use the key lock_wait_timeout instead/ ],
	[ 'options = --lock 1s', qr/invalid value for key "options"\n.*detail: The value must not contain --lock; use the key/ ],
	[ 'remove = rclone purge remote:backups', qr/invalid value for key "remove"\n.*detail: The command must contain %D, or %d and %t; otherwise it would also remove other backups/ ],
	[ 'remove = rclone purge remote:backups/%d', qr/invalid value for key "remove"\n.*detail: The command must contain %D, or %d and %t/ ],
	[ 'remove = rclone purge remote:backups/%t/%%d', qr/invalid value for key "remove"\n.*detail: The command must contain %D, or %d and %t/ ],
	[ 'drill_directory = tmp', qr/invalid value for key "drill_directory"\n.*detail: The value must be an absolute path/ ],
	[ 'drill_disk_limit = 100', qr/invalid value for key "drill_disk_limit"\n.*detail: The value must be a size with a unit, such as "100GB"/ ],
	[ 'drill_disk_limit = 0GB', qr/invalid value for key "drill_disk_limit"\n.*detail: The value must be a size/ ],
	[ 'drill_time_limit = 12', qr/invalid value for key "drill_time_limit"\n.*detail: The value must be a time with a unit/ ],
	[ 'drill_preload = ,', qr/invalid value for key "drill_preload"\n.*detail: The value must be names of libraries, such as "timescaledb"/ ],
	[ 'drill_preload = citus, /tmp/x', qr/invalid value for key "drill_preload"\n.*detail: The value must be names of libraries/ ],
	[ 'metrics = here', qr/invalid value for key "metrics"\n.*detail: The value must be an absolute path/ ],
	[ 'bindir = bin', qr/invalid value for key "bindir"\n.*detail: The value must be an absolute path/ ],
	[ 'remove = true "a', qr/invalid value for key "remove"\n.*detail: The value contains an unterminated quote/ ],
	[ 'remove = true %f', qr/invalid value for key "remove"\n.*detail: The command contains unknown placeholder "%f"\.\n.*hint: This command may contain %d, %t, %D; %% stands for a percent sign\./ ],
	[ 'verify_command = test %x %', qr/invalid value for key "verify_command"\n.*detail: The command contains unknown placeholder "%x"/ ],
	[ 'pipe = cat >%D/%f%', qr/invalid value for key "pipe"\n.*detail: The command contains unknown placeholder "%"/ ],
	[ 'pipe = cat >%D/x', qr/invalid value for key "pipe"\n.*detail: The command must contain %f/ ],
	[ 'pipe = cat >/x/%d/%f', qr/invalid value for key "pipe"\n.*detail: The command must contain %D, or %d and %t; otherwise a backup would overwrite another/ ],
	[ 'fetch = cat /x/%d/%t', qr/invalid value for key "fetch"\n.*detail: The command must contain %f/ ],
	[ 'fetch = cat /x/%d/%f', qr/invalid value for key "fetch"\n.*detail: The command must contain %D, or %d and %t; otherwise it would return files of other backups/ ],
	[ 'fetch = cat /x/%d/%t/%f | gpg -d', qr/invalid value for key "fetch"\n.*detail: The command is a pipeline in sh/ ],
	[ 'fetch = cat /x/%d/%t/%f%x', qr/invalid value for key "fetch"\n.*detail: The command contains unknown placeholder "%x"/ ],
	[ 'copy = cp /x/%d/%p/%o /x/%d/%t', qr/invalid value for key "copy"\n.*detail: The command must contain %f/ ],
	[ 'copy = cp /x/%d/%p/%f /x/%d/%t/%f', qr/invalid value for key "copy"\n.*detail: The command must contain %o, the name of the file in the previous backup/ ],
	[ 'copy = cp /x/%d/%o /x/%d/%t/%f', qr/invalid value for key "copy"\n.*detail: The command must contain %p or %P, which stand for the previous backup/ ],
	[ 'copy = cp /x/%d/%p/%o /x/%d/%f', qr/invalid value for key "copy"\n.*detail: The command must contain %D, or %d and %t; otherwise a backup would overwrite another/ ],
	[ 'pipe = cat >%D/%p/%f', qr/invalid value for key "pipe"\n.*detail: The command contains unknown placeholder "%p"/ ],
	[ 'list = ls /x', qr/invalid value for key "list"\n.*detail: The command must contain %d, the directory to list/ ],
	[ 'list = ls /x/%%d', qr/invalid value for key "list"\n.*detail: The command must contain %d, the directory to list/ ],
	[ 'list = ls /x/%d/%t', qr/invalid value for key "list"\n.*detail: The command contains unknown placeholder "%t"/ ],
	[ 'list = ls "/x/%d', qr/invalid value for key "list"\n.*detail: The value contains an unterminated quote/ ],
	[ 'pipe = cat | cat >%D/%f', qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh, .*\n.*hint: Use bash -o pipefail -c / ],
	[ 'pipe = cat "|" && gpg -e|rclone rcat r:%d/%t/%f', qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ 'pipe = case %f in a|b) cat;; *) gpg -e | cat;; esac >%D/%f', qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ 'pipe = case %f in *.sql) (gpg -e | cat) ;; esac >%D/%f', qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ 'pipe = sh -c "gpg -e | cat >%D/%f"', qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ q{pipe = /bin/bash -e -uc 'gpg -e "\$x" | cat >%D/%f'}, qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ q{pipe = sh -c 'sh -c "gpg -e | cat >%D/%f"'}, qr/invalid value for key "pipe"\n.*detail: The command is a pipeline in sh/ ],
	[ 'options = -n "a', qr/invalid value for key "options"\n.*detail: The value contains an unterminated quote/ ],
	map({ [ "options = -n a $_", qr/invalid value for key "options"\n.*detail: The value must not contain \Q$_\E, which pg_pardump_backup sets itself/ ] }
		qw(-Ofx -vj8 -xOd -Og -cVv -fx --file=x --fil=x -d --pipe=cat --pip=cat --pipe-copy=x --incremental-pipe=x --incremental-p=x --verify=x --target=x --no-sync --jobs=2 -Z1 --incremental=x --host=x --cluster-snapshot --shared-snapshot=x)));
foreach my $try (@wrong)
{
	my ($line, $message) = @$try;
	my ($file) = backup_config($node, $line);
	wrong_ok($line, qr/^pg_pardump_backup: error: \Q$file\E:4: $message.*\n(?:pg_pardump_backup: (?:detail|hint): .*\n)*\z/, $file);
}
{
	my ($file) = backup_config($node, '# a comment', '', "\t # another", map { $_->[0] } grep { $_->[0] !~ /^port/ } @wrong);
	my (undef, undef, $err) = run_backup($now, $file);
	my @lines = $err =~ /^pg_pardump_backup: error: \Q$file\E:(\d+): /mg;
	is_deeply([ grep { $_ > 6 } @lines ], [ 7 .. 6 + grep { $_->[0] !~ /^port/ } @wrong ], 'all errors are reported at once, each with its line');
}

# ---- what single lines cannot know

foreach my $try (
	[ [ 'incremental = yes', 'pipe = cat >%D/%f' ], qr/:4: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'pipe = cat >%D/%f || sed "s|a|b|" \|', 'database = a', 'exclude_database = b' ], qr/:6: keys "exclude_database" and "database" cannot/ ],
	[ [ 'pipe = bash -o pipefail -c "cat | cat >%D/%f"', 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'pipe = set -o pipefail; cat | cat >%D/%f', 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'pipe = cat >%D/$(hostname | cut -d. -f1).%f', 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'pipe = case %f in *.zst|*.lz4) cat;; *) gzip;; esac >%D/%f', 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'pipe = case %f in (*.zst|*.lz4) cat;; a|b) sed s/a/b/;; *) gzip;; esac >%D/%f', 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ q{pipe = sh -c 'grep -e "a|b" >%D/%f' sh "x | y"}, 'incremental = yes' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'options = --create --clean', 'incremental = yes', 'pipe = cat >%D/%f' ], qr/:5: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ [ 'database = a', 'exclude_database = b' ], qr/:5: keys "exclude_database" and "database" cannot be used together/ ],
	[ [ 'pipe = cat >/x/%d/%t/%f', 'remove = rm -r %D' ], qr/:5: key "remove" must contain %d and %t, as "pipe" does/ ],
	[ ['verify_command = true'], qr/:4: key "verify_command" requires key "pipe"/ ],
	[ ['fetch = cat /x/%d/%t/%f'], qr/:4: key "fetch" requires key "pipe"/ ],
	[ [ 'incremental = yes', 'pipe = cat >%D/%f', 'fetch = cat %D/%f' ], qr/:4: keys "incremental" and "pipe" require keys "fetch" and "copy"/ ],
	[ ['copy = cp %P/%o %D/%f'], qr/:4: key "copy" requires key "pipe"/ ],
	[ [ 'pipe = cat >/x/%d/%t/%f', 'remove = rm -r /x/%d/%t', 'copy = cp %P/%o /x/%d/%t/%f' ], qr/:6: key "copy" must contain %p, and not %P, because "pipe" does not contain %D/ ],
	[ [ 'pipe = cat >/x/%d/%t/%f', 'remove = rm -r /x/%d/%t', 'copy = cp /x/%p/%o %D/%f' ], qr/:6: key "copy" must contain %d and %t, as "pipe" does/ ],
	[ [ 'pipe = cat >%D/%f', 'list = ls /x/%d' ], qr/:5: key "list" requires key "fetch"/ ],
	[ [ 'pipe = cat >%D/%f', 'fetch = cat %D/%f', 'list = ls /x/%d' ], qr/:6: key "list" cannot be used if "pipe" contains %D\n.*detail: All backups are in the directory\./ ],
	[ [ 'pipe = cat >/x/%d/%t/%f', 'remove = rm -r /x/%d/%t', 'fetch = cat %D/%f' ], qr/:6: key "fetch" must contain %d and %t, as "pipe" does/ ],
	[ [ 'pipe = cat >/x/%d/%t/%f', 'remove = rm -r /x/%d/%t', 'fetch = cat %D/%d/%t/%f' ], qr/:6: key "fetch" must not contain %D, because "pipe" does not/ ],
	[ [ 'pipe = cat >/x/%%D/%d/%t/%f', 'database = a' ], qr/:4: key "pipe" without %D requires key "remove"/ ],
	[ ['pipe = cat >/x/%d/%t/%f'], qr/:4: key "pipe" without %D requires key "remove"/ ])
{
	my ($lines, $message) = @$try;
	my ($file) = backup_config($node, @$lines);
	wrong_ok("@$lines", qr/^pg_pardump_backup: error: \Q$file\E$message.*\n\z/, $file);
}
{
	my $file = text_file('none.conf', "jobs = 2\n");
	chmod 0600, $file;
	wrong_ok('no directory', qr/error: \Q$file\E: the required key "directory" is missing\n\z/, $file);
}

# ---- files and directories

{
	# other programs may be in PATH, of another major
	my $bin = new_path('empty');
	mkdir $bin or die "could not make directory \"$bin\": $!";
	my ($file) = backup_config($node, "bindir = $bin");
	wrong_ok('a bindir without the programs', qr/error: program "pg_pardump" was not found in directory "\Q$bin\E" of bindir\n\z/, $file);
}

wrong_ok('a missing file', qr/error: could not open configuration file "\/nowhere": No such file or directory\n.*hint: The configuration file is the last argument\.\n\z/, '/nowhere');
wrong_ok('a directory', qr/error: configuration file "\Q$tree\E" is not a regular file\n.*hint: .*\n\z/, $tree);
foreach my $mode (0620, 0602, 0666)
{
	my ($file) = backup_config($node);
	chmod $mode, $file;
	wrong_ok(sprintf('mode %o', $mode),
		qr/error: configuration file "\Q$file\E" must not be writable by its group or others\n.*detail: .*\n.*hint: Run "chmod go-w \Q$file\E"\.\n\z/, $file);
}
SKIP:
{
	# there root has another number
	my ($rc) = run_program('unshare', '-Ur', 'true');
	skip 'no namespaces for ordinary users', 2 if $rc != 0;
	($rc, undef, $err) = run_program('unshare', '-Ur', 'pg_pardump_backup', '/etc/passwd');
	is($rc, 2, "another user's file: exit code");
	like($err, qr/error: configuration file "\/etc\/passwd" must be owned by root or the current user, but is owned by user "\w+"\n/, "another user's file: message");
}
{
	my ($file, $dir) = backup_config($node);
	chmod 0770, $dir;
	wrong_ok('a directory of others', qr/error: directory "\Q$dir\E" must not be writable by its group or others\n.*hint: Run "chmod go-w \Q$dir\E"\.\n\z/, $file);
	rmdir $dir;
	wrong_ok('a missing directory', qr/error: could not access directory "\Q$dir\E": No such file or directory\n\z/, $file);
	append_to_file($dir, '');
	wrong_ok('a file for a directory', qr/error: "\Q$dir\E" is not a directory\n\z/, $file);
}
SKIP:
{
	skip 'for an ordinary user', 2 if $> == 0;
	my $file = text_file('root.conf', "directory = /usr\n");
	chmod 0600, $file;
	wrong_ok('a directory of root',
		qr/error: directory "\/usr" must be owned by the current user\n.*detail: The owner is user "root", but .*\n.*hint: Run pg_pardump_backup as user "root", or .*\n\z/, $file);
}

# ---- the example and the manual contain all keys

my %keys = map { $_ => 1 } slurp_file("$tree/src/backup/PardumpBackup/Config.pm") =~ /^my %KEYS = \((.*?)\);$/ms ? $1 =~ /^\t(\w+) =>/mg : ();
cmp_ok(scalar(keys %keys), '>', 15, 'the program has more than 15 keys');
my ($section) = slurp_file("$tree/doc/pg_pardump_backup.md") =~ /^### Configuration$(.*?)^## /ms;
my @told = map { /`(\w+)/g } ($section // '') =~ /^(`.*`)\n:   /mg;
is_deeply([ sort @told ], [ sort keys %keys ], 'the manual contains all keys');
my $example = slurp_file("$tree/src/backup/pg_pardump_backup.conf");
is_deeply([ grep { !$keys{$_} } $example =~ /^#?(\w+) = /mg ], [], 'the example has no other keys');
{
	my ($file, $dir) = backup_config($node);
	unlink $file;
	append_to_file($file, $example =~ s/^directory = \K.*/$dir/mr);
	($rc, $out, $err) = run_backup($now, '--list', $file);
	is("$rc$out$err", "0There are no backups in directory \"$dir\".\n", 'the example is right');
	unlink $file;
	append_to_file($file, $example =~ s/^directory = \K.*/$dir/mr =~ s/^#(?=(pipe|remove|fetch|list|host|port|database|metrics) = )//mgr);
	# a store that is empty
	my $bin = new_path('bin');
	mkdir $bin or die "could not make \"$bin\": $!";
	append_to_file("$bin/rclone", "#!/bin/sh\nexit 0\n");
	chmod 0755, "$bin/rclone";
	local $ENV{PATH} = "$bin:$ENV{PATH}";
	($rc, $out, $err) = run_backup($now, '--list', $file);
	is("$rc$out$err", "0There are no backups in directory \"$dir\".\n", 'and what it has as comments');
}

# ---- what nightly_backup.md says, from the role to the restore

{
	my $page = slurp_file("$tree/doc/nightly_backup.md");
	my ($role) = $page =~ /^    (CREATE ROLE backup .*\n    GRANT .*)$/m;
	my ($config) = $page =~ /^((?:    \w+ = .*\n)+)/m;
	my ($file, $dir) = backup_config($node);

	sql($node, 'postgres', $role);
	append_to_file($file, $config =~ s/^ +//mgr =~ s/^directory = .*\n//mr);
	foreach my $arguments ([ '--check', $file ], [$file])
	{
		($rc, undef, $err) = run_backup($now, @$arguments);
		is($rc, 0, "nightly_backup.md, @$arguments: exit code") or diag($err);
	}
	is($err, '', 'nightly_backup.md: cron is told nothing');
	local $ENV{PG_PARDUMP_BACKUP_NOW} = $now + 1;
	foreach my $try ([ [], qr/\A(?:(?:[^\n]*\r)?\[\d\/4\] \w+: made and verified, \S+ \w+ stored in [\d.:]+(?: s)?\r?\n){4}pg_pardump_backup: made and verified backup "\w+":\r?\n  4 databases, .*\r?\npg_pardump_backup: no old backups to remove\r?\n\z/, 'is shown each database and a summary' ], [ ['-v'], qr/100%, time/, 'is shown progress with -v' ])
	{
		my ($options, $want, $what) = @$try;
		my $shown = '';
		my $run = IPC::Run::start([ 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'pg_pardump_backup', @$options, $file ], '<', \'', '>pty>', \$shown,
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		$run->finish;
		is($run->full_result(0), 0, 'on a terminal: exit code') or diag($shown);
		like($shown, $want, "nightly_backup.md: a terminal $what");
		$ENV{PG_PARDUMP_BACKUP_NOW}++;
	}
	is_deeply([ map { s/.*\///r } glob "$dir/*" ], [ 'other', 'postgres', 'shop', 'template1' ], 'nightly_backup.md: all databases');
	local $ENV{PGOPTIONS} = '-c client_min_messages=error';
	($rc, undef, $err) = run_program('psql', '-Xq', '-f', "$dir/shop/" . time_name($now) . '/globals.sql', $node->connstr('postgres'));
	like($err, qr/\A(.*ERROR:  role "\w+" already exists\n)+\z/, 'nightly_backup.md: globals are SQL');
}

is(first_names("a\nb", 'b' .. 'e'), 'a?b, b, c, d, e', 'names of databases: all of five');
is(first_names('a' .. 'h'), 'a, b, c, d, e and 3 more', 'names of databases: five of eight');

# ---- --check

{
	my ($file, $dir) = backup_config($node, 'jobs = 2', 'database = shop', 'database = other');
	($rc, $out, $err) = run_backup($now, '--check', $file);
	is("$rc$out", '0', '--check: exit code') or diag($err);
	my $end = qr/(?:no problems found in 2 databases|(\d+) problems? \(errors: 0, warnings: \g{-1}\); a run would start)\n\z/;
	like($err, qr/\A(?:\[\d\/2\] (?:shop|other): \d tables?, .*, archive about .*\n(?:pg_pardump_backup:\w+: warning: .*\n(?:pg_pardump_backup:\w+: (?:detail|hint): .*\n)*)*){2}A run would back up 2 databases, about .*:\n  tables: \d+, large objects: \d+\n  jobs: 2\n  connections to the source: \d needed, \d+ free\n  archives: about .* with \w+\n  free disk space: .*\n  old backups to remove: 0\n$end/,
		'--check: each database, and the sums');
	my $verbose = (run_backup($now, '--check', '-v', $file))[2];
	like($verbose, qr/\A(?:pg_pardump_backup: checking database "(?:shop|other)"\nA run would dump .*:\n(?:  .*\n)+(?:no problems found\n|(?:warning: .*\n(?:  .*\n)*)+\d problems? found.*\n)){2}A run would back up 2 databases, (?:.*\n)*$end/,
		'--check -v: what pg_pardump says of each database');
	is_deeply([ glob "$dir/* $dir/.[a-z]*" ], [], '--check: no file is created');

	# the sum of the sizes in the event logs, and not of the sizes that are printed
	my ($sum) = $err =~ /^  archives: about (.*) with /m;
	my $log = new_path('log');
	my $expected = 0;
	foreach my $database ('shop', 'other')
	{
		run_program('pg_pardump', '--check', '-f', new_path('checked'), '-d', $node->connstr($database), '-j2', '--trust-owners', "--log-json=$log");
	}
	$expected += $_->{archive_bytes} // 0 foreach map { decode_json($_) } split /\n/, slurp_file($log);
	cmp_ok($expected, '>', 0, '--check: the sizes in the event logs');
	is($sum, size_text($expected), '--check: their sum');
	foreach my $try (
		[ 'database = missing', qr/^\[2\/2\] missing: FAILED\npg_pardump_backup:missing: error: .*database "missing" does not exist\nA run would back up 1 of 2 databases, (?:.*\n)*.*error: \d problems? \(errors: 1, warnings: \d\); a run would not back up 1 of 2 databases\n.*detail: Databases with errors: "missing"\.\n\z/m ],
		[ 'options = --trust-owners -n "no such"', qr/no matching schemas.*\n(.*\n)*\[1\/1\] shop: FAILED\npg_pardump_backup:shop: error: .*\n(?!.*cannot be backed up)/ ],
		[ 'options = --trust-owners -Oxvn "no such"', qr/no matching schemas.*\n(.*\n)*\[1\/1\] shop: FAILED\npg_pardump_backup:shop: error: .*\n(?!.*cannot be backed up)/ ],
		[ 'options = --trust-owners -n -fx', qr/no matching schemas.*\n(.*\n)*\[1\/1\] shop: FAILED\npg_pardump_backup:shop: error: .*\n(?!.*cannot be backed up)/ ],
		[ 'compress = zstd:77', qr/error: database "shop" cannot be backed up\n.*detail: pg_pardump --check failed with exit code 1\.\n/ ],
		[ 'username = nobody_of_this_name', qr/error: could not read the timeouts of the role\n.*detail: psql failed with exit code 2\.\n(?:.*\n)*.*detail: Errors of the configuration are listed before the first database\.\n/ ],
		[ "metrics = /nowhere\ndatabase = missing", qr/warning: directory "\/nowhere" of key "metrics" does not exist\n.*detail: No metrics will be written\.\n(?:.*\n)*.*error: \d problems \(errors: 1, warnings: \d\); a run would not back up 1 of 2 databases\n.*detail: Databases with errors: "missing"\.\n\z/ ])
	{
		my ($line, $message) = @$try;
		my ($file) = backup_config($node, 'database = shop', $line);
		($rc, undef, $err) = run_backup($now, '--check', $file);
		is($rc, 1, "--check, $line: exit code");
		like($err, $message, "--check, $line: message");
	}
	($file) = backup_config($node, 'database = shop', 'metrics = /nowhere');
	($rc, $out, $err) = run_backup($now, '--check', $file);
	is($rc, 0, '--check, only metrics: exit code');
	like($err, qr/warning: directory "\/nowhere" of key "metrics" does not exist\n.*detail: No metrics will be written\.\n(?:.*\n)*.*\d problems? \(errors: 0, warnings: \d\); a run would start\n/, '--check, only metrics: message');
}

# ---- the role's timeouts are not for what is asked before the first backup

{
	my ($bin, $shown) = (failing_programs(), new_path('shown'));
	my ($real) = grep { -x } map { "$_/pg_dumpall" } split /:/, $ENV{PATH};
	unlink "$bin/pg_dumpall";
	append_to_file("$bin/pg_dumpall", <<"SH");
#!/bin/sh
(shift; n=\$#
for arg; do case \$arg in --database=*) ;; *) set -- "\$@" "\$arg" ;; esac; done; shift \$n
psql -XAtq "\$@" -c 'SHOW statement_timeout' -c 'SHOW lock_timeout' -c 'SHOW work_mem' >'$shown') || exit
exec "$real" "\$@"
SH
	chmod 0755, "$bin/pg_dumpall" or die "could not change a mode: $!";
	sql($node, 'postgres', q{CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET log_statement = 'all';
		ALTER ROLE hasty SET statement_timeout = '50s'; ALTER ROLE hasty SET lock_timeout = '1h'});
	local $ENV{PGOPTIONS} = '-c work_mem=7MB';
	my ($file) = backup_config($node, "bindir = $bin", 'username = hasty', map { "exclude_database = $_" } qw(shop postgres template1));
	($rc, undef, $err) = run_backup($now, $file);
	is("$rc$err", '0', 'timeouts: a backup');
	is(slurp_file($shown), "0\n1h\n7MB\n", 'timeouts: short ones are off in the session of pg_dumpall');
	like(slurp_file($node->logfile), qr/statement: SET statement_timeout = 0\n(?:.*\n)?.*statement: SET lock_timeout = 0\n(?:.*\n)?.*statement: SELECT .* FROM pg_catalog\.pg_database /,
		'timeouts: they are off when the names of databases are read');
	sql($node, 'postgres', 'DROP ROLE hasty');
}

# ---- what would take one configuration's backups for another's, or none for some

{
	my ($file, $dir) = backup_config($node, 'database = shop', 'keep_last = 1');
	($rc, undef, $err) = run_backup($now, $file);
	is("$rc$err", '0', 'the first configuration');
	my ($second) = backup_config($node, 'database = shop', 'keep_last = 1');
	my $text = slurp_file($second) =~ s/^directory = \K.*/$dir/mr;
	unlink $second;
	append_to_file($second, $text);
	chmod 0600, $second;
	foreach my $options ([], ['--check'])
	{
		($rc, undef, $err) = run_backup($now + 3600, @$options, $second);
		is($rc, @$options ? 1 : 2, "another one's directory, @$options: exit code");
		like($err, qr/error: directory "\Q$dir\E" contains the backups of configuration "[^"]+"\n.*detail: Each configuration requires a directory of its own\.\n.*hint: /, "another one's directory, @$options");
	}
	is_deeply([ complete_backups($dir, 'shop') ], [ time_name($now) ], 'the directory of another configuration: its backup exists');

	# a directory that cannot be read does not prevent a backup
	SKIP:
	{
		skip 'root reads everything', 3 if $> == 0;
		mkdir "$dir/private", 0 or die "could not make a directory: $!";
		($rc, undef, $err) = run_backup($now + 7200, $file);
		is($rc, 3, 'a directory that cannot be read: exit code');
		like($err, qr/could not open directory "\Q$dir\E\/private"/, 'a directory that cannot be read: message');
		is_deeply([ complete_backups($dir, 'shop') ], [ time_name($now + 7200) ], 'a directory that cannot be read: a backup is made');
		is((run_backup($now, '--check', $file))[0], 1, 'a directory that cannot be read: --check');
		rmdir "$dir/private";
	}
	my ($none) = backup_config($node, map { "exclude_database = $_" } qw(shop other postgres template1));
	($rc, undef, $err) = run_backup($now, $none);
	is($rc, 1, 'no database: exit code');
	like($err, qr/error: there is no database to back up\n.*detail: .*\n.*hint: Correct "database" and "exclude_database" /, 'no database: message');
}

# ---- metrics

{
	my $metrics = new_path('metrics');
	mkdir $metrics or die "could not make \"$metrics\": $!";
	my $bin = failing_programs();
	my ($file, $dir) = backup_config($node, "bindir = $bin", "metrics = $metrics", 'database = other', 'database = shop', 'keep_last = 2');
	my ($name) = $file =~ /([^\/]+)\.conf$/;
	my $own = "$metrics/pg_pardump_backup_$name.prom";
	my $value = sub {
		my ($metric, $database) = @_;
		my ($found) = grep { !defined $database || $_->{database} eq $database } @{ read_samples($own)->{"pg_pardump_backup_$metric"} // [] };
		return $found ? $found->{value} : undef;
	};
	foreach my $night (0 .. 3)
	{
		next_fault($bin, $night == 3 ? 'damage shop' : 'none');
		($rc) = run_backup($now + 86400 * $night, $file);
		is($rc, $night == 3 ? 1 : 0, "metrics, night $night: exit code");
	}
	is_deeply([ map { s/.*\///r } glob "$metrics/* $metrics/.[a-z]*" ],
		[ sort map { "pg_pardump_$_.prom" } "backup_$name", "dump_$name:other", "dump_$name:shop" ], 'metrics: files');
	is(sprintf('%o', (stat $own)[2] & 07777), '644', 'metrics: others may read them');
	is_deeply([ map { $value->(@$_) } [ 'success', 'shop' ], [ 'success', 'other' ], ['exit_status'], ['last_run_timestamp_seconds'],
			[ 'last_success_timestamp_seconds', 'shop' ], [ 'last_success_timestamp_seconds', 'other' ], [ 'backups', 'shop' ] ],
		[ 0, 1, 1, $now + 3 * 86400, $now + 2 * 86400, $now + 3 * 86400, 2 ], 'metrics: values');
	is(read_samples("$metrics/pg_pardump_dump_$name:other.prom")->{pg_pardump_success}[0]{database}, 'other', 'metrics of pg_pardump');
	is(read_samples($_)->{ $_ eq $own ? 'pg_pardump_backup_success' : 'pg_pardump_success' }[0]{config}, $name, "metrics: the configuration, $_")
	  foreach glob "$metrics/*";

	# a metrics file with other contents does not prevent a backup
	my $dump = "$metrics/pg_pardump_dump_$name:shop.prom";
	unlink $dump or die "could not remove \"$dump\": $!";
	append_to_file($dump, "junk\n");
	next_fault($bin, 'none');
	($rc, undef, $err) = run_backup($now + 86400 * 3 + 3600, $file);
	is($rc, 0, 'a metrics file with other contents: exit code');
	like($err, qr/\Apg_pardump: warning: file "\Q$dump\E" of option --metrics does not contain metrics\n.*detail: .*\n\z/, 'a metrics file with other contents: warning');
	is(slurp_file($dump), "junk\n", 'a metrics file with other contents: it is not changed');
	unlink $dump;

	# the program does not wait for a FIFO that another user has put into the directory
	my $fifo = "$metrics/.pg_pardump_backup_$name.prom.tmp";
	mkfifo($fifo, 0600) or die "could not make \"$fifo\": $!";
	sysopen(my $other, $fifo, O_RDWR) or die "could not open \"$fifo\": $!";
	next_fault($bin, 'none');
	($rc, undef, $err) = run_backup($now + 86400 * 3 + 7200, $file);
	is("$rc$err", '0', 'a FIFO in the way of metrics: exit code');
	is($value->('last_run_timestamp_seconds'), $now + 86400 * 3 + 7200, 'a FIFO in the way of metrics: metrics are written');

	# a failed write of metrics at the end does not prevent a backup
	chmod 0500, $metrics;
	next_fault($bin, 'none');
	($rc, undef, $err) = run_backup($now + 86400 * 4, $file);
	chmod 0700, $metrics;
	is($rc, 0, 'metrics that cannot be written: exit code');
	like($err, qr/\Apg_pardump_backup: warning: directory "\Q$metrics\E" of key "metrics" is not writable\n.*detail: No metrics will be written\.\n\z/,
		'metrics that cannot be written: a warning');
	is_deeply([ map { (complete_backups($dir, $_))[-1] } 'other', 'shop' ], [ (time_name($now + 86400 * 4)) x 2 ],
		'metrics that cannot be written: backups exist');
}

# ---- the units of systemd

SKIP:
{
	skip 'systemd-analyze is not installed', 2 if system('systemd-analyze --version >/dev/null 2>&1') != 0;
	my $share = `pg_config --sharedir` =~ s/\n//r;
	my @units = map { ("$share/pg_pardump/$_\@.service", "$share/pg_pardump/$_\@.timer") } 'pg_pardump_backup', 'pg_pardump_restore_test';
	is_deeply([ grep { !-f } @units ], [], 'units are installed');
	my ($rc, undef, $err) = run_program('systemd-analyze', 'verify', '--man=no', @units);
	is("$rc$err", '0', 'systemd-analyze finds no error in the units');
}

$node->stop;
done_testing();
