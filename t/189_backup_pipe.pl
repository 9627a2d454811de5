# pg_pardump_backup with commands that encrypt and store elsewhere, and with incremental
# dumps: what comes back is equal, and what is removed does not harm others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql restore_ok has_extension);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Manifest qw(read_manifest);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup complete_backups
  partial_backups programs_without_retries time_name);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $now = 1_800_000_000;
my $node = start_cluster('pipes');
make_database($node, 'shop');
sql($node, 'postgres', 'CREATE ROLE owner PASSWORD \'secret\'');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE kept AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE nights (night int);
SELECT lo_from_bytea(0, 'a large object');
SQL

sub new_dir
{
	my $dir = new_path($_[0]);
	mkdir $dir, 0700 or die "could not make directory \"$dir\": $!";
	return $dir;
}

# The configuration of this file, which has been changed to this text.
sub changed
{
	my ($file, $text) = @_;
	my $path = new_dir('changed') . '/' . $file =~ s/.*\///r;
	append_to_file($path, $text);
	chmod 0600, $path;
	return $path;
}

# A backup of shop by this configuration's "pipe", which works in silence.  Returns the
# local directory of it.
sub backup_ok
{
	my ($what, @lines) = @_;
	my ($file, $dir) = backup_config($node, 'jobs = 2', 'database = shop', @lines);
	my ($rc, $out, $err) = run_backup($now, $file);
	is("$rc$out$err", '0', "$what: the backup") or diag($err);
	return "$dir/shop/" . time_name($now);
}

# Files of a directory, decrypted by a command, are the archive and globals that they
# should be.
my $restored = 0;

sub decrypted_ok
{
	my ($what, $from, $suffix, @command) = @_;
	my $dir = new_dir('decrypted');
	my @files = map { s/.*\///r } glob "$from/*";

	is_deeply([ grep { !/\.$suffix$/ } @files ], [], "$what: all files have their suffix");
	is_deeply([ grep { slurp_file("$from/$_") =~ /CREATE|PGDMP|large object|Manifest/ } @files ], [], "$what: none can be read");
	foreach my $name (map { s/\.$suffix$//r } @files)
	{
		my %path = (IN => "$from/$name.$suffix", OUT => "$dir/$name");
		my ($rc, undef, $err) = run_program(map { $path{$_} // $_ } @command);
		is("$rc$err", '0', "$what: $name is decrypted");
	}
	like(slurp_file("$dir/globals.sql"), qr/^ALTER ROLE owner .*SCRAM.*^-- PostgreSQL database cluster dump complete/ms, "$what: globals");
	unlink "$dir/globals.sql", "$dir/backup.json";
	is((run_program('pg_pardump', "--verify=$dir"))[0], 0, "$what: the archive is sound");
	make_database($node, 'restored' . ++$restored);
	restore_ok($node, $dir, "restored$restored", $what);
	same_data_ok(fingerprint($node, 'shop'), fingerprint($node, "restored$restored"), $what);
	return;
}

# ---- gpg, into the backup's own directory

SKIP:
{
	skip 'gpg is not installed', 10 if system('gpg --version >/dev/null 2>&1') != 0;
	# the path of an agent's socket must be short
	my $home = PostgreSQL::Test::Utils::tempdir_short();
	local $ENV{GNUPGHOME} = $home;
	chmod 0700, $home;
	my ($rc) = run_program('gpg', '--batch', '--quiet', '--passphrase', '', '--quick-generate-key', 'backup@example.com', 'rsa2048', 'encr', 'never');
	is($rc, 0, 'gpg: a key');
	my $backup = backup_ok('gpg', 'pipe = gpg --batch --quiet --no-tty --trust-model always -r backup@example.com -e -o %D/%f.gpg');
	is_deeply([ map { s/.*\///r } glob "$backup/*" ], [ 'backup.json', 'dump', 'report.html' ], 'gpg: what is there beside the files');
	is(sprintf('%o', (stat "$backup/dump")[2] & 07777), '700', 'gpg: no other user may look');
	decrypted_ok('gpg', "$backup/dump", 'gpg', 'gpg', '--batch', '--quiet', '-d', '-o', 'OUT', 'IN');
	run_program('gpgconf', '--kill', 'gpg-agent');
}

# ---- age, to a remote of rclone

sub age_key
{
	my $file = new_path('age.key');
	run_program('age-keygen', '-o', $file);
	return ($file, slurp_file($file) =~ /public key: (\w+)/);
}

SKIP:
{
	skip 'age is not installed', 10 if system('age --version >/dev/null 2>&1') != 0;
	my ($key, $public) = age_key();
	my $backup = backup_ok('age', "pipe = age -r $public -o %D/%f.age");
	decrypted_ok('age', "$backup/dump", 'age', 'age', '-d', '-i', $key, '-o', 'OUT', 'IN');

	skip 'rclone is not installed', 10 if system('rclone version >/dev/null 2>&1') != 0;
	my $remote = new_dir('remote');
	local $ENV{RCLONE_CONFIG} = text_file('rclone.conf', "[away]\ntype = alias\nremote = $remote\n");
	my $recipients = text_file('keys.txt', "$public\n");

	# as stored_backups.md has it
	my @lines = slurp_file("$FindBin::RealBin/../doc/stored_backups.md") =~ /^    ((?:pipe|remove|fetch|list) = .*\brclone .*)$/mg;
	is(scalar(@lines), 4, 'stored_backups.md has commands');
	my ($file, $dir) = backup_config($node, 'database = shop', 'keep_last = 2',
		map { s/store:backups\/?/away:/r =~ s/-R \K\S+/$recipients/r =~ s/-i \K[^"]+/$key/r } @lines);
	foreach my $night (0 .. 3)
	{
		my ($rc, $out, $err) = run_backup($now + $night * DAY, $file);
		is("$rc$out$err", '0', "rclone, night $night: the backup") or diag($err);
	}
	my @names = map { time_name($now + $_ * DAY) } 2, 3;
	is_deeply([ complete_backups($dir, 'shop') ], \@names, 'rclone: two are kept');
	is_deeply([ map { s/.*\///r } glob "$remote/shop/*" ], \@names, 'rclone: also there');
	decrypted_ok('rclone', "$remote/shop/$names[-1]", 'age', 'age', '-d', '-i', $key, '-o', 'OUT', 'IN');
	my ($rc, $out, $err) = run_backup($now + 4 * DAY, '--verify', $file);
	like($rc . $out =~ s/^\[.*\n//mgr . $err, qr/\A0verified 2 backups in [\d.:]+(?: s)?\n\z/, 'rclone: --verify');

	# the host and the database are lost: two commands restore them
	system_or_bail('rm', '-rf', $dir);
	mkdir $dir, 0700 or die "could not make \"$dir\": $!";
	($rc, $out, $err) = run_backup($now + 4 * DAY, '--rebuild', $file);
	is("$rc$out$err", "0pg_pardump_backup: rebuilt 2 records in directory \"$dir\"\n", 'rclone: --rebuild');
	sql($node, 'postgres', 'ALTER DATABASE shop RENAME TO original');
	($rc, undef, $err) = run_backup($now + 4 * DAY, '--restore', 'latest', 'shop', $file);
	is($rc, 0, 'rclone: --restore') or diag($err);
	same_data_ok(fingerprint($node, 'original'), fingerprint($node, 'shop'), 'rclone: --restore');
	sql($node, 'postgres', $_) foreach 'DROP DATABASE shop', 'ALTER DATABASE original RENAME TO shop';
	($rc, undef, $err) = run_backup($now + 5 * DAY, $file);
	is("$rc$err", '0', 'rclone: the next run');
	is_deeply([ map { s/.*\///r } glob "$remote/shop/*" ], [ map { time_name($now + $_ * DAY) } 3, 5 ], 'rclone: the next run removes the oldest');
}

# ---- elsewhere: what is there is removed with its record here, or tried again

my $away = new_dir('away');
my $wall = "$away/wall";
my @away = (
	"pipe = test ! -e $wall && mkdir -p $away/%d/%t && cat >$away/%d/%t/%f",
	"remove = sh -c 'test ! -e $wall && rm -rf $away/%d/%t'");

sub away { return map { s/.*\///r } sort glob "$away/shop/*"; }

{
	my ($file, $dir) = backup_config($node, 'database = shop', 'keep_last = 2', @away,
		"verify_command = test -f $away/%d/%t/toc.dat -a -f $away/%d/%t/globals.sql -a ! -e $away/unwanted");
	my @names = map { time_name($now + $_ * DAY) } 0 .. 9;
	is((run_backup($now + $_ * DAY, $file))[0], 0, "elsewhere, night $_: the backup") foreach 0 .. 2;
	is_deeply([ away() ], [ @names[ 1, 2 ] ], 'elsewhere: two are kept');

	append_to_file("$away/unwanted", '');
	my ($rc, undef, $err) = run_backup($now + 3 * DAY, $file);
	unlink "$away/unwanted";
	is($rc, 1, 'verify_command fails: exit code');
	like($err, qr/error: could not back up database "shop"\n.*detail: The command of "verify_command" failed with exit code 1\.\n\z/, 'verify_command fails: message');
	is_deeply([ away() ], [ @names[ 1, 2 ] ], 'verify_command fails: what was sent is removed');

	append_to_file($wall, '');
	($rc, undef, $err) = run_backup($now + 4 * DAY, $file);
	is($rc, 1, 'nothing can be sent: exit code');
	like($err, qr/error: could not remove backup "shop\/$names[4]"\n.*detail: The command of "remove" failed with exit code 1\.\n(.*\n)*.*could not back up database "shop"\n.*detail: Could not store file "globals\.sql"\.\n.*detail: The command of "pipe" failed with exit code 1\.\n\z/,
		'nothing can be sent: messages');
	is(scalar(my @partial = partial_backups($dir)), 2, 'nothing can be sent: both tries are to be removed');
	unlink $wall;
	($rc, undef, $err) = run_backup($now + 5 * DAY, $file);
	is("$rc$err", '0', 'the night after: all is well');
	is_deeply([ away() ], [ @names[ 2, 5 ] ], 'the night after: what was to be removed is');

	# old backups that cannot be removed
	my $config = slurp_file($file);
	my $second = changed($file, $config =~ s/^remove = \K.*/false %d %t/mr);
	($rc, undef, $err) = run_backup($now + 6 * DAY, $second);
	is($rc, 3, 'nothing can be removed: exit code');
	like($err, qr/\Apg_pardump_backup: error: could not remove backup "shop\/$names[2]"\n.*detail: The command of "remove" failed with exit code 1\.\n\z/, 'nothing can be removed: message');
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 5, 6 ] ], 'nothing can be removed: what is to be has no final name');
	is((run_backup($now + 7 * DAY, $file))[0], 0, 'and is removed by the next run');
	is_deeply([ away() ], [ @names[ 6, 7 ] ], 'there too');

	# directories again: what is elsewhere is not forgotten
	my $third = changed($file, $config =~ s/^(pipe|remove|verify_command) = .*\n//mgr);
	is((run_backup($now + 8 * DAY, $third))[0], 3, 'a configuration without commands: exit code');
	($rc, undef, $err) = run_backup($now + 9 * DAY, $third);
	is($rc, 3, 'a configuration without commands: exit code');
	like($err, qr/error: could not remove backup "shop\/$names[6]"\n.*detail: "remove" is not set in the configuration\.\n.*detail: .*\n.*hint: Keep "remove" in the configuration /, 'a configuration without commands: message');
	is_deeply([ away() ], [ @names[ 6, 7 ] ], 'a configuration without commands: nothing is removed there');
	append_to_file($third, $config =~ /^(remove = .*\n)/m ? $1 : die 'no command');
	is((run_backup($now + 10 * DAY, $third))[0], 0, 'a configuration with remove only: exit code');
	is_deeply([ away() ], [], 'a configuration with remove only: all is removed');
}
{
	# killed while it sends
	my $gate = new_path('gate');
	my ($file, $dir) = backup_config($node, 'database = shop', @away);
	my $config = slurp_file($file);
	my $second = changed($file, $config =~ s/ && cat / && { : >$gate; while [ -e $gate ]; do sleep 0.02; done; } && cat /r);
	my $run = start_backup($now + 8 * DAY, $second);
	wait_until('it sends', sub { -e $gate });
	kill KILL => $run->{pid};
	is((run_backup($now + 9 * DAY, $file))[0], 4, 'killed while it sends: what it runs has the lock');
	unlink $gate;
	is(end_backup($run), 128 + 9, 'killed while it sends');
	wait_until('the lock is free', sub { (run_program('flock', '-n', "$dir/.lock", 'true'))[0] == 0 });
	my ($rc, undef, $err) = run_backup($now + 9 * DAY, $file);
	is("$rc$err", '0', 'killed while it sends: the next run');
	is_deeply([ grep { $_ eq time_name($now + 8 * DAY) } away() ], [], 'and what was sent is removed');
}
{
	# a path that needs quotes, for two shells
	my $dir = new_dir("it's 100% \$HOME \"x");
	my ($file) = backup_config($node, 'database = shop', 'pipe = cat >%D/%f');
	my $config = slurp_file($file);
	append_to_file("$file.2", $config =~ s/^directory = \K.*/$dir/mr);
	chmod 0600, "$file.2";
	my ($rc, undef, $err) = run_backup($now, "$file.2");
	is("$rc$err", '0', 'an odd path: the backup');
	ok(-s "$dir/shop/" . time_name($now) . '/dump/toc.dat' && -s "$dir/shop/" . time_name($now) . '/dump/globals.sql', 'an odd path: files');
}

# ---- a command that does not read all

{
	my ($file, $dir) = backup_config($node, 'database = shop', 'pipe = case %f in globals.sql) head -c 10 >%D/%f;; *) cat >%D/%f;; esac');
	my ($rc, undef, $err) = run_backup($now, $file);
	is($rc, 1, 'globals that are not taken whole: exit code');
	like($err, qr/could not back up database "shop"\n.*detail: Could not store file "globals\.sql"\.\n.*detail: The command of "pipe" exited before it had read all of its input\./, 'globals that are not taken whole');
	is_deeply([ glob "$dir/shop/*" ], [], 'globals that are not taken whole: no backup');
}

# ---- incremental dumps, of which any can be removed

ok(has_extension($node), 'the extension is there');
{
	my ($file, $dir) = backup_config($node, 'database = shop', 'keep_last = 2', 'incremental = yes', 'compress = none', 'options = --chunk-size=192kB');
	my ($last, @dumps);
	foreach my $night (0 .. 5)
	{
		sql($node, 'shop', "INSERT INTO nights VALUES ($night)");
		my ($rc, $out, $err) = run_backup($now + $night * DAY, $file);
		is("$rc$out$err", '0', "incremental, night $night: the backup") or diag($err);
		@dumps = map { "$dir/shop/$_/dump" } complete_backups($dir, 'shop');
		is(scalar(@dumps), $night == 0 ? 1 : 2, "incremental, night $night: two are kept");
		is_deeply([ grep { (run_program('pg_pardump', "--verify=$_"))[0] != 0 } @dumps ], [], "incremental, night $night: both are sound");
		my @reused = grep { $_->{Reused} } @{ read_manifest($dumps[-1])->{Files} };
		cmp_ok(scalar(@reused), $night == 0 ? '==' : '>', 0, "incremental, night $night: what is used again");
		my @wrong = grep { !-e || (stat)[3] != 2 } map { "$dumps[-1]/$_->{Path}" } @reused;
		is_deeply(\@wrong, [], "incremental, night $night: files have as many names as there are backups");
	}
	make_database($node, 'incremental');
	restore_ok($node, $dumps[-1], 'incremental', 'incremental');
	same_data_ok(fingerprint($node, 'shop'), fingerprint($node, 'incremental'), 'incremental');

	# damage of the last one is not inherited
	my ($old) = grep { $_->{Reused} } @{ read_manifest($dumps[-1])->{Files} };
	append_to_file("$dumps[-1]/$old->{Path}", 'x');
	my ($rc, undef, $err) = run_backup($now + 6 * DAY, $file);
	is($rc, 0, 'a damaged one before: exit code');
	like($err, qr/warning: .*\Q$old->{Path}\E/, 'a damaged one before: a warning');
	@dumps = map { "$dir/shop/$_/dump" } complete_backups($dir, 'shop');
	is((run_program('pg_pardump', "--verify=$dumps[-1]"))[0], 0, 'a damaged one before: the new one is sound');
}

# ---- the same with commands: files of the previous backup are copied in the store

sub reused { return grep { $_->{Reused} } @{ read_manifest($_[0])->{Files} }; }

my @chunks = ('incremental = yes', 'compress = none', 'options = --chunk-size=192kB', 'database = shop');
{
	my $store = new_dir('store');
	my $archive = sub { return "$store/shop/" . time_name($now + $_[0] * DAY) };
	my ($file, $dir) = backup_config($node, @chunks, 'keep_last = 2', 'bindir = ' . programs_without_retries(),
		"pipe = mkdir -p $store/%d/%t && cat >$store/%d/%t/%f", "fetch = cat $store/%d/%t/%f", "copy = cp $store/%d/%p/%o $store/%d/%t/%f",
		"list = ls $store/%d", "remove = rm -rf $store/%d/%t");
	foreach my $night (0 .. 3)
	{
		sql($node, 'shop', "INSERT INTO nights VALUES ($night)");
		my ($rc, $out, $err) = run_backup($now + $night * DAY, $file);
		is("$rc$out$err", '0', "incremental with commands, night $night: the backup") or diag($err);
		my @reused = reused($archive->($night));
		cmp_ok(scalar(@reused), $night == 0 ? '==' : '>', 0, "incremental with commands, night $night: files that are reused");
		is_deeply([ grep { $_->{Reused} ne 'pipe-copy' } @reused ], [], "incremental with commands, night $night: a command copied them");
	}
	is((run_backup($now + 4 * DAY, '--check', $file))[0], 0, 'incremental with commands: --check');
	my ($rc, $out, $err) = run_backup($now + 4 * DAY, '--verify', $file);
	like($rc . $out =~ s/^\[.*\n//mgr . $err, qr/\A0verified 2 backups in [\d.:]+(?: s)?\n\z/, 'incremental with commands: --verify');
	make_database($node, 'copied');
	is((run_backup($now, '--restore', 'latest', '--to=copied', $file))[0], 0, 'incremental with commands: --restore');
	same_data_ok(fingerprint($node, 'shop'), fingerprint($node, 'copied'), 'incremental with commands');

	# a file that cannot be copied, and a previous archive that is gone
	my ($lost) = map { $_->{Path} } reused($archive->(3));
	unlink $archive->(3) . "/$lost" or die "could not remove \"$lost\": $!";
	foreach my $try ([ 4, qr/could not copy file "\Q$lost\E" of the previous archive/ ], [ 5, qr/could not read the previous archive/ ])
	{
		my ($night, $reason) = @$try;
		system_or_bail('rm', '-rf', $archive->(4)) if $night == 5;
		($rc, undef, $err) = run_backup($now + $night * DAY, $file);
		is($rc, 0, "a previous backup that is damaged, night $night: exit code");
		like($err, qr/$reason.*warning: could not back up database "shop"\n.*detail: pg_pardump failed with exit code 1\.\n.*detail: Another attempt will be made after the other databases\.\n.*detail: It will dump all rows\.\n\z/s,
			"a previous backup that is damaged, night $night: message");
		my ($new) = grep { $_ ge time_name($now + $night * DAY) } complete_backups($dir, 'shop');
		is(scalar(reused("$store/shop/$new")), 0, "a previous backup that is damaged, night $night: all rows are dumped");
		is((run_backup($now + $night * DAY, '--verify', 'latest', $file))[0], 0, "a previous backup that is damaged, night $night: the new one");
	}
	($rc, undef, $err) = run_backup($now + 6 * DAY, $file);
	like("$rc$err", qr/\A0pg_pardump_backup: warning: the store lacks backups whose records are in directory .*\n.*detail: .*\n.*hint: .*\n\z/, 'after a full backup: the backup');
	cmp_ok(scalar(reused($archive->(6))), '>', 0, 'after a full backup: files that are reused');

	# damage that --verify has found is not copied, and the backup does not count in keep_last
	my ($shared) = map { $_->{Path} } reused($archive->(6));
	append_to_file($archive->(6) . "/$shared", 'x');
	is((run_backup($now + 6 * DAY, '--verify', 'latest', $file))[0], 1, 'damage that is known: --verify');
	($rc, undef, $err) = run_backup($now + 7 * DAY, '--check', $file);
	like("$rc$err", qr/^0.*warning: the backup of database "shop" cannot be incremental\n.*1 problem \(errors: 0, warnings: 1\); a run would start\n\z/s, 'damage that is known: --check');
	($rc, $out, $err) = run_backup($now + 7 * DAY, $file);
	my $damaged = 'shop/' . time_name($now + 6 * DAY);
	is("$rc$out$err", "0pg_pardump_backup: warning: the backup of database \"shop\" cannot be incremental\n"
		  . "pg_pardump_backup: detail: The last verification of the previous backup \"$damaged\" failed, so all rows are dumped.\n"
		  . "pg_pardump_backup: hint: If the store failed during the verification, run \"pg_pardump_backup --verify $file\" again.\n", 'damage that is known: the next run');
	is(scalar(reused($archive->(7))), 0, 'damage that is known: all rows are dumped');
	my @kept = complete_backups($dir, 'shop');
	is_deeply([ scalar(@kept), @kept[ 1, 2 ] ], [ 3, map { time_name($now + $_ * DAY) } 6, 7 ], 'damage that is known: two other backups are kept');
	like((run_backup($now + 7 * DAY, '--list', $file))[1], qr/  verified      after 1 more backup .*\n.*  DAMAGED       after 1 more backup .*\n.* not verified  after 2 more backups /, 'damage that is known: --list');
	is((run_backup($now + 8 * DAY, $file))[0], 0, 'damage that is known: the run after the next');
	cmp_ok(scalar(reused($archive->(8))), '>', 0, 'damage that is known: files are reused again');
	is_deeply([ complete_backups($dir, 'shop') ], [ map { time_name($now + $_ * DAY) } 7, 8 ], 'damage that is known: then it is removed');
}
{
	my ($file, $dir) = backup_config($node, @chunks, 'keep_last = 1', 'pipe = gzip >%D/%f.gz', 'fetch = gzip -dc %D/%f.gz', 'copy = ln %P/%o.gz %D/%f.gz');
	foreach my $night (0, 1)
	{
		my ($rc, $out, $err) = run_backup($now + $night * DAY, $file);
		is("$rc$out$err", '0', "incremental in the directory, night $night: the backup") or diag($err);
	}
	my (undef, $manifest) = run_program('gzip', '-dc', glob "$dir/shop/*/dump/pg_pardump_manifest.json.gz");
	like($manifest, qr/"Reused": "pipe-copy"/, 'incremental in the directory: files that are reused');
	is((run_backup($now + 2 * DAY, '--verify', $file))[0], 0, 'incremental in the directory: --verify');
}

$node->stop;
done_testing();
