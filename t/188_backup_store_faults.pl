# pg_pardump_backup with "fetch": stores that return damaged or forged files, or nothing;
# backups without records; and what --rebuild must not change.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use lib `pg_config --sharedir` =~ s/\n//r . '/pg_pardump';

use JSON::PP qw(decode_json encode_json);
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql tier);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup complete_backups partial_backups programs_without_retries time_name);
use Pardump::Terminal qw(run_on_terminal seen_lines);
use PardumpBackup::Config qw(read_config);
use PardumpBackup::Elsewhere ();
use PardumpBackup::Programs qw(run read_command);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

# a command with a number of its own, because other test files may run at the same time
my $sleep = "sleep 100188.$$";

# Below the highest tier, each fault of a list, an index or "fetch" is met by one of the tasks
# that would meet it in the same function.
my $all = tier() == 3;

my $now = 1_800_000_000;
my @names = map { time_name($now + $_ * DAY) } 0 .. 9;
my $node = start_cluster('faults');
make_database($node, 'shop');
sql($node, 'shop', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g; CREATE TABLE u AS SELECT 1 AS one');

# ---- two stores, one with "list", each with two backups; "new" is a changed copy

my $bin = programs_without_retries();
my (%file, %dir, %store);
foreach my $what ('list', 'index')
{
	my $store = $store{$what} = new_path('store');
	mkdir $store or die "could not make \"$store\": $!";
	($file{$what}, $dir{$what}) = backup_config($node, 'database = shop', 'keep_last = 2', "bindir = $bin",
		"pipe = test ! -e $store.refused.%f && mkdir -p $store/%d/%t && cat >$store/%d/%t/%f", "remove = rm -rf $store/%d/%t",
		"fetch = cat $store/%d/%t/%f", $what eq 'list' ? "list = ls $store/%d" : ());
	is((run_backup($now, '--init', $file{index}))[0], 0, 'index, --init') if $what eq 'index';
	is((run_backup($now + $_ * DAY, $file{$what}))[0], 0, "$what, night $_") foreach 0, 1;
	system_or_bail('cp', '-a', $_, "$_.kept") foreach $store, $dir{$what};
}

# The store as it was, and the directory as it was or empty.
sub reset_ok
{
	my ($what, $with_directory) = @_;
	foreach my $path ($store{$what}, $dir{$what})
	{
		system_or_bail('rm', '-rf', $path);
		$path eq $store{$what} || $with_directory ? system_or_bail('cp', '-a', "$path.kept", $path) : mkdir $path, 0700;
	}
	return ($file{$what}, $dir{$what}, $store{$what});
}

sub write_text
{
	my ($path, $text) = @_;
	unlink $path;
	append_to_file($path, $text);
	return;
}

sub change_json
{
	my ($path, $function) = @_;
	my $object = decode_json(slurp_file($path));
	$function->($object);
	write_text($path, encode_json($object));
	return;
}

# A command has failed with this message.
sub failed_ok
{
	my ($what, $night, $message, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, @arguments);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return $out;
}

sub statuses
{
	my ($file) = @_;
	my ($rc, $out) = run_backup($now + 2 * DAY, '--list', $file);
	return $rc . join '', map { /^(?:shop\/)?(\d{8}T\d{6}Z) .*?(incomplete|no valid record|not verified|verified|DAMAGED|UNREADABLE)/ ? " $1 $2" : () } split /\n/, $out;
}

# ---- a backup without a record

{
	my ($file, $dir, $store) = reset_ok('list', 0);
	unlink "$store/shop/$names[1]/backup.json";
	is(statuses($file), "0 $names[0] not verified $names[1] incomplete", 'no record: --list');
	make_database($node, 'older');
	my ($rc, $out) = run_backup($now, '--restore', 'latest', '--to=older', $file);
	is("$rc$out", "0restored backup \"shop/$names[0]\" into database \"older\"\n", 'no record: latest is the one before');
	foreach my $typed ("shop/$names[1]", $names[1])
	{
		failed_ok("no record, $typed", 2, qr/error: (?:backup "\Q$typed\E" is not complete|could not find backup "\Q$typed\E")/, '--restore', $typed, '--to=older', $file);
	}
	($rc, undef, my $err) = run_backup($now + 2 * DAY, '--rebuild', $file);
	is($rc, 0, 'no record, --rebuild: exit code');
	like($err, qr/\Apg_pardump_backup: warning: backup "shop\/$names[1]" in the store is incomplete\n.*detail: .*\n.*hint: .*\npg_pardump_backup: rebuilt 1 record in directory "\Q$dir\E"\n\z/, 'no record, --rebuild: message');
	is((run_backup($now + $_ * DAY, $file))[0], 0, "no record: the run of night $_") foreach 2, 3;
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 1, 2, 3 ] ], 'no record: no run removes it');
	is(statuses($file), "0 $names[1] incomplete $names[2] not verified $names[3] not verified", 'no record: --list after a run');
}
{
	my ($file, $dir, $store) = reset_ok('index', 0);
	unlink "$store/shop/$names[1]/backup.json";
	my $detail = qr/.*detail: Could not fetch file "backup\.json" from the store\.\n.*detail: The command of "fetch" failed with exit code 1\.\n/;
	is(statuses($file), "1 $names[0] not verified $names[1] no valid record", 'no record, index: --list');
	failed_ok('no record, index: --list', 2, qr/\Apg_pardump_backup: error: the record of backup "shop\/$names[1]" in the store cannot be used\n$detail.*detail: The command printed: .*\n\z/, '--list', $file);
	failed_ok('no record, index: latest', 2, qr/error: the latest backup of database "shop" is not known\n.*detail: The record of backup "shop\/$names[1]" in the store cannot be used\.\n$detail/, '--verify', 'latest', $file);
	is((run_backup($now, '--verify', "shop/$names[0]", $file))[0], 0, 'no record, index: another one');
	failed_ok('no record, index: by name', 2, qr/error: the record of backup "shop\/$names[1]" in the store cannot be used\n$detail/, '--verify', "shop/$names[1]", $file);
	failed_ok('no record, index: --rebuild', 2, qr/\Apg_pardump_backup: error: could not rebuild the record of backup "shop\/$names[1]"\n$detail(?:.*detail: .*\n)?pg_pardump_backup: rebuilt 1 record in /, '--rebuild', $file);
	is((run_backup($now + 2 * DAY, $file))[0], 0, 'no record, index: the next run');
	my $index = "$store/=index/index/index.json";
	is_deeply(decode_json(slurp_file($index))->{backups}, [ map { "shop/$_" } @names[ 0, 1, 2 ] ], 'no record, index: the index names it');
	unlink($index, $index =~ s/index\.json/index_copy.json/r) == 2 or die "could not remove the index: $!";
	is((run_backup($now + 2 * DAY, '--init', $file))[0], 0, 'no record, no index: --init');
	is_deeply(decode_json(slurp_file($index))->{backups}, [ map { "shop/$_" } @names[ 0, 1, 2 ] ], 'no record, no index: the new index names it, too');
}

# "list" shows a record, in whose name "pipe" has put other text, but "fetch" does not return it
{
	my ($file, $dir, $store) = reset_ok('list', 0);
	rename "$store/shop/$names[1]/backup.json", "$store/shop/$names[1]/data-backup.json" or die "could not rename: $!";
	is(statuses($file), "1 $names[0] not verified $names[1] no valid record", 'a record of another name: --list');
	failed_ok('a record of another name: latest', 2, qr/error: the latest backup of database "shop" is not known\n/, '--verify', 'latest', $file);
}

# ---- records that are damaged, forged, or of something else

foreach my $try (
	[ 'no JSON', sub { 'x' }, qr/.*detail: File "backup\.json" in the store is not valid\.\n.*detail: It is not a JSON object\./ ],
	[ 'an empty file', sub { '' }, qr/.*detail: Could not fetch file "backup\.json" from the store\.\n.*detail: The command of "fetch" returned no data\./ ],
	[ 'a large file', sub { $_[0] . ' ' x 70000 }, qr/.*detail: Could not fetch file "backup\.json" from the store\.\n.*detail: The command of "fetch" returned more than 65536 bytes\./ ])
{
	my ($what, $change, $message) = @$try;
	my ($file, $dir, $store) = reset_ok('list', 0);
	my $path = "$store/shop/$names[1]/backup.json";
	write_text($path, $change->(slurp_file($path)));
	failed_ok($what, 2, qr/\Apg_pardump_backup: error: could not rebuild the record of backup "shop\/$names[1]"\n$message\npg_pardump_backup: rebuilt 1 record in /, '--rebuild', $file);
	is_deeply([ complete_backups($dir, 'shop') ], [ $names[0] ], "$what: what is rebuilt");
}
{
	my ($config) = read_config($file{list});
	my $text = slurp_file("$store{list}.kept/shop/$names[1]/backup.json");
	my %backup = (folder => 'shop', name => $names[1]);
	is(PardumpBackup::Elsewhere::check_record($config, \%backup, $text)->{number}, 2, 'a record');
	foreach my $try (
		[ 'a truncated one', sub { substr $_[0], 0, 40 }, 'it is not a JSON object' ],
		[ 'an array', sub { '[1]' }, 'it is not a JSON object' ],
		[ 'deep arrays', sub { '[' x 10000 }, 'it is not a JSON object' ],
		[ 'another format', { format => 2 }, 'the format is unknown' ],
		[ 'no format', { format => undef }, 'the format is unknown' ],
		[ 'another database', { folder => 'other' }, "the record is of backup \"other/$names[1]\"" ],
		[ 'another time', { time => $names[0] }, "the record is of backup \"shop/$names[0]\"" ],
		[ 'a path', { folder => '..' }, 'the record does not name a backup' ],
		[ 'another path', { time => '../x' }, 'the record does not name a backup' ],
		[ 'an object for a name', { folder => {} }, 'the record does not name a backup' ],
		[ 'another configuration', { configuration => "a\tb" }, "the record is of configuration \"a?b\"\nhint: Give each configuration its own directory in the store." ],
		[ 'a number', { number => '1x' }, 'the value of "number" is not valid' ],
		[ 'no number', { number => undef }, 'the value of "number" is not valid' ],
		[ 'a large number', { number => '1' x 30 }, 'the value of "number" is not valid' ],
		[ 'a time', { finished => [] }, 'the value of "finished" is not valid' ],
		[ 'a run', { run => '../..' }, 'the value of "run" is not valid' ],
		[ 'a major', { major => '15; x' }, 'the value of "major" is not valid' ],
		[ 'globals', { globals => '/etc/passwd' }, 'the value of "globals" is not valid' ],
		[ 'a snapshot', { cluster_snapshot => { a => [] } }, 'the value of "cluster_snapshot" is not valid' ],
		[ 'a mark', { removed => 'x' }, 'the value of "removed" is not valid' ],
		[ 'a server', { system_identifier => "1\n" }, 'the server is not valid' ],
		[ 'no server', { address => undef }, 'the server is not valid' ])
	{
		my ($what, $change, $message) = @$try;
		my $bytes = ref $change eq 'HASH' ? encode_json({ %{ decode_json($text) }, %$change }) : $change->($text);
		my $record = eval { PardumpBackup::Elsewhere::check_record($config, \%backup, $bytes) };
		is(defined $record ? 'accepted' : $@, "$message\n", "a record with $what");
	}
}

# another server: an error for a directory of this one, and no removal after --rebuild
{
	my ($file, $dir, $store) = reset_ok('list', 1);
	change_json("$store/shop/$names[0]/backup.json", sub { $_[0]{address} = 'elsewhere:5432' });
	system_or_bail('rm', '-rf', "$dir/shop/$names[0]");
	failed_ok('a record of another server', 2, qr/error: could not rebuild the record of backup "shop\/$names[0]"\n.*detail: File "backup\.json" in the store is not valid\.\n.*detail: The record is from another server than directory "\Q$dir\E"\.\n.*detail: .* at address "elsewhere:5432"\.\n.*hint: .*\n.*rebuilt 0 records/,
		'--rebuild', $file);
	like(statuses($file), qr/^1.* $names[0] no valid record/, 'a record of another server: --list');
	($file, $dir, $store) = reset_ok('list', 0);
	change_json($_, sub { $_[0]{address} = 'elsewhere:5432' }) foreach glob "$store/shop/*/backup.json";
	is((run_backup($now + 2 * DAY, '--rebuild', $file))[0], 0, 'records of another server only: --rebuild');
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
	is($rc, 5, 'records of another server only: exit code of a run');
	is(scalar(complete_backups($dir, 'shop')), 3, 'records of another server only: nothing is removed');
	is((run_backup($now + 2 * DAY, '--adopt', $file))[0], 0, 'records of another server only: --adopt');
	is((run_backup($now + 3 * DAY, $file))[0], 0, 'records of another server only: a run after --adopt');
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 2, 3 ] ], 'records of another server only: old ones are removed after --adopt');
}

# ---- lists and indexes

{
	my $pwned = new_path('pwned');
	my @tasks = (['--list'], ['--rebuild'], [ '--verify', 'latest' ]);
	foreach my $try (
		[ 'a path', $tasks[0], 'shop/../x', qr/printed an invalid name: "shop\/\.\.\/x"\.\n/ ],
		[ 'a path at the top', $tasks[1], '/etc', qr/printed an invalid name: "\/etc"\.\n/ ],
		[ 'a control character', $tasks[2], "sh\aop", qr/printed an invalid name: "sh\?op"\.\n/ ])
	{
		my ($what, $task, $line, $message) = @$try;
		my ($file) = reset_ok('list', 0);
		my $text = slurp_file($file);
		write_text($file, $text =~ s/^list = .*/list = printf '%%s\\n' '$line' %d/mr);
		chmod 0600, $file;
		failed_ok("list: $what", 2, qr/error: could not list the directories of databases in the store\n.*detail: The command of "list" $message.*hint: /, @$_, $file) foreach $all ? @tasks : $task;
		write_text($file, $text);
		chmod 0600, $file;
	}
	my ($file, $dir, $store) = reset_ok('list', 0);
	my @odd = ("\$(touch $pwned)" =~ tr/\//_/r, '-n', '..data', "a'b", 'two words', '=zz', 'lost+found', '=00', '=41');
	mkdir "$store/$_" or die "could not make \"$store/$_\": $!" foreach @odd;
	mkdir "$store/shop/$_" or die "could not make \"$store/shop/$_\": $!" foreach '20260101', "$names[2].partial", '-n';
	is(statuses($file), "0 $names[0] not verified $names[1] not verified", 'list: other names are not used');
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^list = .*/list = false %d/mr);
	chmod 0600, $file;
	my ($rc, $out, $err) = run_backup($now, '--list', $file);
	is($rc . $out . $err, "1There are no backups in directory \"$dir\".\npg_pardump_backup: error: could not list the directories of databases in the store\npg_pardump_backup: detail: The command of \"list\" failed with exit code 1.\n", 'list fails: --list');
	failed_ok("list fails: @$_", 2, qr/\Apg_pardump_backup: error: could not list the directories of databases in the store\n.*detail: The command of "list" failed with exit code 1\.\n/, @$_, $file)
	  foreach [], [ '--restore', 'latest' ], $all ? (['--rebuild'], ['--verify'], ['--check']) : ();
	is_deeply([ glob "$dir/.[s]tore $dir/[s]hop" ], [], 'list fails: nothing is made');
	reset_ok('list', 1);
	# the directory is enough to find a backup
	($rc, $out, $err) = run_backup($now, '--verify', "shop/$names[0]", $file);
	is($rc, 0, 'list fails, a known backup: exit code');
	like($err, qr/\Apg_pardump_backup: warning: could not list the directories of databases in the store\n.*detail: The command of "list" failed/, 'list fails, a known backup: a warning');
	# and to find a name that no backup in the store has
	failed_ok('list fails, a known directory: --check', 2, qr/^pg_pardump_backup: error: could not list the directories of databases in the store\n.*detail: The command of "list" failed with exit code 1\.\n/m, '--check', $file);
	if ($all)
	{
		($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
		is("$rc$err", "0pg_pardump_backup: warning: could not read the names of the backups in the store\npg_pardump_backup: detail: Could not list the directories of databases in the store.\npg_pardump_backup: detail: The command of \"list\" failed with exit code 1.\npg_pardump_backup: detail: No old backup is removed in this run.\n", 'list fails: a run');
		is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 0 .. 2 ] ], 'list fails: the store after a run');
	}
	{
		local $ENV{PG_PARDUMP_BACKUP_NOW} = $now + 3 * DAY;
		my ($rc, $shown) = run_on_terminal(200, 'pg_pardump_backup', $file);
		is($rc, 0, 'list fails, on a terminal: exit code');
		is(join("\n", map { s/, \d[\d.:]*(?: s)?\z//r } seen_lines($shown)), <<"END" =~ s/\n\z//r, 'list fails, on a terminal: lines');
pg_pardump_backup: warning: could not read the names of the backups in the store
pg_pardump_backup: detail: Could not list the directories of databases in the store.
pg_pardump_backup: detail: The command of "list" failed with exit code 1.
pg_pardump_backup: detail: No old backup is removed in this run.
[1/1] shop: made, not verified
pg_pardump_backup: made backup "$names[3]", not verified:
  1 database
pg_pardump_backup: kept all old backups; see the warning above
END
		is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 0, 1, $all ? 2 : (), 3 ] ], 'list fails, on a terminal: the store');
	}
	write_text($file, $text);
	chmod 0600, $file;
	($rc, undef, $err) = run_backup($now + 4 * DAY, $file);
	is("$rc$err", '0', 'list succeeds again: a run');
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 3, 4 ] ], 'list succeeds again: old backups are removed');
}
SKIP:
{
	# then it is not known whether the store contains newer backups than the directory
	skip 'root reads everything', 3 if $> == 0;
	my ($file, $dir) = reset_ok('list', 1);
	mkdir "$dir/private", 0 or die "could not make a directory: $!";
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
	is($rc, 3, 'a folder that cannot be read: exit code');
	like($err, qr/could not open directory "\Q$dir\E\/private"/, 'a folder that cannot be read: message');
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 1, 2 ] ], 'a folder that cannot be read: the backup is made');
	rmdir "$dir/private";
}
foreach my $try (
	[ 'no JSON', [], sub { 'x' }, qr/It is not a JSON object/ ],
	[ 'another configuration', [], sub { $_[0] =~ s/("configuration" : ").*?"/$1x"/r }, qr/The index is of another configuration/ ],
	[ 'a path', ['--list'], sub { $_[0] =~ s/shop\/\d{8}/shop\/..\/$&/r }, qr/The index contains a name that is not the name of a backup/ ],
	[ 'a folder', ['--rebuild'], sub { $_[0] =~ s/shop(?=\/\d)/\$(id)/r }, qr/The index contains a name that is not the name of a backup/ ],
	[ 'an object for a name', ['--list'], sub { $_[0] =~ s/"shop\/[^"]*"/{}/r }, qr/The index contains a name that is not the name of a backup/ ],
	[ 'no names', [], sub { $_[0] =~ s/"backups"/"others"/r }, qr/The index contains no list of backups/ ])
{
	my ($what, $task, $change, $message) = @$try;
	my ($file, $dir, $store) = reset_ok('index', 0);
	my $path = "$store/=index/index/index.json";
	my $text = $change->(slurp_file($path));
	write_text($_, $text) foreach $path, $path =~ s/index\.json/index_copy.json/r;
	failed_ok("index, $what: @$_", 2, qr/file "index\.json" in the store is not valid\n.*detail: $message\.\n/, @$_, $file) foreach $all ? (['--list'], ['--rebuild'], []) : $task;
	is(slurp_file($path), $text, "index, $what: no run replaces it");
}
foreach my $copy ('index.json', 'index_copy.json')
{
	# the host was lost while it wrote this copy
	my ($file, $dir, $store) = reset_ok('index', 0);
	write_text("$store/=index/index/$copy", '{ "back');
	is(statuses($file), "0 $names[0] not verified $names[1] not verified", "half of $copy: --list");
	is((run_backup($now + 2 * DAY, '--rebuild', $file))[0], 0, "half of $copy: --rebuild");
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
	is("$rc$err", '0', "half of $copy: a run");
	is_deeply([ map { decode_json(slurp_file($_))->{backups} } glob "$store/=index/index/index*.json" ], [ ([ map { "shop/$_" } @names[ 1, 2 ] ]) x 2 ], "half of $copy: the run writes both");
}
{
	# "fetch" that fails, always or for the index only: there may be one
	my ($file, $dir, $store) = reset_ok('index', 0);
	my $text = slurp_file($file);
	my $index = slurp_file("$store/=index/index/index.json");
	foreach my $try (
		[ 'fetch of the index fails', $text =~ s/^fetch = \K/test %f != index.json && test %f != index_copy.json && /mr ],
		[ 'fetch fails', $text =~ s/^fetch = cat \K/\/nowhere/mr ])
	{
		my ($what, $changed) = @$try;
		foreach my $with_directory ($all ? (1, 0) : $what ne 'fetch fails')
		{
			reset_ok('index', $with_directory);
			write_text($file, $changed);
			chmod 0600, $file;
			failed_ok("$what: a run", 2, qr/error: could not read the index of the store\n.*detail: Could not fetch file "index\.json" from the store\.\n.*detail: The command of "fetch" failed with exit code 1\.\n/, $file);
			is(slurp_file("$store/=index/index/index.json"), $index, "$what: the index stays");
			is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 0, 1 ] ], "$what: nothing is removed");
		}
	}
	failed_ok('fetch fails: --init', 2, qr/error: could not fetch file "probe\.json" from the store\n.*detail: The command of "fetch" failed with exit code 1\.\n/, '--init', $file);
	is(slurp_file("$store/=index/index/index.json"), $index, 'fetch fails: --init does not replace the index');

	# but only until --init has stored another file
	reset_ok('index', 0);
	write_text($file, $text =~ s/^fetch = \K/{ test %f = probe.json || test -e $store\/=index\/index\/probe.json; } && /mr);
	chmod 0600, $file;
	unlink "$store/=index/index/probe.json" or die "could not remove a file: $!";
	failed_ok('fetch fails for a moment: --init', 2, qr/\Apg_pardump_backup: error: the store already has an index, which names 2 backups\n/, '--init', $file);
	is(slurp_file("$store/=index/index/index.json"), $index, 'fetch fails for a moment: --init does not replace the index');
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- "fetch" does not return what "pipe" has stored: the run that stores a backup fails

foreach my $try ([ 'echo x && ', 'The command of "fetch" did not return file "backup.json" as the command of "pipe" stored it.' ],
	[ 'test %f != backup.json && ', 'Could not fetch file "backup.json" from the store.' ])
{
	my ($prefix, $reason) = @$try;
	my ($file, $dir, $store) = reset_ok('list', 1);
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^fetch = \K/$prefix/mr);
	chmod 0600, $file;
	failed_ok("fetch $reason", 2, qr/error: could not back up database "shop"\n.*detail: \Q$reason\E\n/, $file);
	is_deeply([ [ complete_backups($dir, 'shop') ], [ map { s/.*\///r } glob "$store/shop/*" ] ], [ ([ @names[ 0, 1 ] ]) x 2 ], "fetch $reason: the older backups are kept");
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- fetch fails once, or always; data that is damaged

{
	my ($file, $dir, $store) = reset_ok('list', 1);
	my $text = slurp_file($file);
	my $flag = new_path('flag');
	write_text($file, $text =~ s/^fetch = \K/{ test -e $flag || ! touch $flag; } && /mr);
	chmod 0600, $file;
	system_or_bail('rm', '-rf', "$dir/shop/$names[0]");
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, '--rebuild', $file);
	is("$rc$err", "0pg_pardump_backup: rebuilt 1 record in directory \"$dir\"\n", 'fetch fails once: --rebuild');

	write_text($file, $text =~ s/^fetch = \K/exit 7; /mr =~ s/^pipe = .*//mr);
	chmod 0600, $file;
	($rc, undef, $err) = run_backup($now, '--list', $file);
	is($rc, 2, 'fetch without pipe: exit code');
	write_text($file, $text =~ s/^fetch = \K/exit 7; /mr);
	chmod 0600, $file;
	my $printed = failed_ok('fetch fails: --verify', 2, qr/failed: child process exited with exit code 7.*error: could not verify backup "shop\/$names[1]"\n.*detail: pg_pardump --verify failed with exit code 75\.\n/s, '--verify', 'latest', $file);
	like($printed, qr/^checked 1 backup in \d+\.\d s \(good: 0, damaged: 0, unreadable: 1\)\n  unreadable: shop\/$names[1]\n\z/m, 'fetch fails: the summary');
	is(statuses($file), "0 $names[0] not verified $names[1] UNREADABLE", 'fetch fails: it is recorded');
	make_database($node, 'unread');
	failed_ok('fetch fails: --restore', 2, qr/failed: child process exited with exit code 7.*error: pg_parrestore failed with exit code 1\n.*hint: .*the output of the command of "fetch" for "globals\.sql"/s, '--restore', 'latest', '--to=unread', $file);
	write_text($file, $text);
	chmod 0600, $file;
	my ($rows, $other) = grep { -s } glob "$store/shop/$names[1]/[0-9]*.dat*";
	append_to_file($rows, 'x');
	failed_ok('damage: --verify', 2, qr/error: backup "shop\/$names[1]" is damaged\n(?:.*detail: .*\n)+.*hint: To make a new backup now, run "pg_pardump_backup \Q$file\E"\.  .*  To restore the last backup without known damage, run "pg_pardump_backup --restore shop\/$names[0] \Q$file\E"\.\n/, '--verify', $file);
	is(statuses($file), "0 $names[0] verified $names[1] DAMAGED", 'damage: it is recorded');
	write_text($file, $text =~ s/^fetch = \K/test %f != @{[ $other =~ s{.*\/}{}r ]} && /mr);
	chmod 0600, $file;
	failed_ok('damage, and fetch fails: --verify', 2, qr/error: backup "shop\/$names[1]" is damaged\n.*child process exited with exit code 1/s, '--verify', 'latest', $file);
	is(statuses($file), "0 $names[0] verified $names[1] DAMAGED", 'damage, and fetch fails: damage is recorded');
	write_text($file, $text);
	chmod 0600, $file;
	failed_ok('damage: --restore', 2, qr/error: pg_parrestore failed with exit code 1\n/, '--restore', 'latest', '--to=unread', $file);
}

# ---- the store lacks backups that it should contain, or "list" prints nothing

{
	my ($file, $dir, $store) = reset_ok('list', 1);
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^list = \K.*/true %d/mr);
	chmod 0600, $file;
	failed_ok("list prints nothing: @$_", 2, qr/error: the store lacks backups whose records are in directory "\Q$dir\E"\n.*detail: Missing backups: 2 of 2, for example "shop\/$names[1]"\.\n.*hint: /, @$_, $file) foreach [], ['--check'];
	reset_ok('list', 0);
	failed_ok('list prints nothing: --rebuild', 2, qr/\Apg_pardump_backup: error: the store contains no backups\n.*detail: The command of "list" .*\n.*hint: .*\n\z/, '--rebuild', $file);
	ok(!-e "$dir/.store", 'list prints nothing: the directory does not contain all backups');
	foreach my $try ([ 'remove = none', '0' ], [ 'remove', "0pg_pardump_backup: warning: the store lacks backups whose records are in directory \"$dir\"\n" ])
	{
		my ($what, $expected) = @$try;
		reset_ok('list', 1);
		write_text($file, $what eq 'remove' ? $text : $text =~ s/^remove = .*/$what/mr);
		chmod 0600, $file;
		system_or_bail('rm', '-rf', "$store/shop/$names[0]");
		my ($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
		is($rc . $err =~ s/\n\K.*//sr, $expected, "$what: a backup that the store lacks");
	}
}

# ---- records that --rebuild could not read: each run warns until it can

{
	my ($file, $dir, $store) = reset_ok('list', 0);
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^fetch = \K/exit 7; /mr);
	chmod 0600, $file;
	failed_ok('records that cannot be read: --rebuild', 2, qr/could not rebuild the record of backup "shop\/$names[1]"\n.*detail: The command of "fetch" .*rebuilt 0 records/s, '--rebuild', $file);
	write_text($file, $text =~ s/^keep_last = \K.*/5/mr);
	chmod 0600, $file;
	foreach my $night ($all ? 2 : (), 3)
	{
		my ($rc, undef, $err) = run_backup($now + $night * DAY, $file);
		like("$rc$err", qr/\A0pg_pardump_backup: warning: the store contains backups whose records are not in directory "\Q$dir\E"\n.*detail: 2 backups, for example "shop\/$names[1]"\.\n.*hint: .* --rebuild \Q$file\E"\.\n\z/,
			"records that cannot be read, night $night: a warning");
	}
	my ($rc, undef, $err) = run_backup($now + 4 * DAY, '--rebuild', $file);
	is("$rc$err", "0pg_pardump_backup: rebuilt 2 records in directory \"$dir\"\n", 'records that can be read again: --rebuild');
	($rc, undef, $err) = run_backup($now + 4 * DAY, $file);
	is("$rc$err", '0', 'records that can be read again: a run');
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 0, 1, $all ? 2 : (), 3, 4 ] ], 'records that can be read again: all backups');
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- what --rebuild does not change

{
	my ($file, $dir, $store) = reset_ok('list', 1);
	my $info = "$dir/shop/$names[1]/backup.json";
	change_json($info, sub { $_[0]{number} = 77 });
	my $kept = slurp_file($info);
	is((run_backup($now + 2 * DAY, '--rebuild', $file))[0], 0, 'a record that is here: --rebuild');
	is(slurp_file($info), $kept, 'a record that is here is not changed');

	unlink $info;
	failed_ok('a directory without a record', 2, qr/error: could not rebuild the record of backup "shop\/$names[1]"\n.*detail: "\Q$dir\E\/shop\/$names[1]" already exists\.\n/, '--rebuild', $file);
	ok(!-e $info, 'a directory without a record is not changed');

	# a run that was killed while it made the record
	reset_ok('list', 1);
	rename "$dir/shop/$names[1]", "$dir/shop/.rebuild" or die "could not rename: $!";
	is((run_backup($now + 2 * DAY, '--rebuild', $file))[0], 0, 'killed: --rebuild');
	is_deeply([ map { s/.*\///r } glob "$dir/shop/* $dir/shop/.r*" ], [ @names[ 0, 1 ] ], 'killed: the record is made');
	ok(-e "$store/shop/$names[1]/toc.dat", 'killed: the store is as it was');

	# backups that were made meanwhile without the old ones
	reset_ok('list', 1);
	change_json($info, sub { $_[0]{number} = 1 });
	system_or_bail('rm', '-rf', "$dir/shop/$names[0]");
	change_json("$store/shop/$names[0]/backup.json", sub { $_[0]{number} = 5 });
	failed_ok('numbers that contradict', 2, qr/error: could not rebuild the record of backup "shop\/$names[0]"\n.*detail: Backup "shop\/$names[1]" in directory "\Q$dir\E" has a lower number, but a later time\.\n.*detail: .*\n.*hint: /, '--rebuild', $file);
	is_deeply([ complete_backups($dir, 'shop') ], [ $names[1] ], 'numbers that contradict: nothing is made');
}

# ---- retention: the index never names a backup that is partly removed

{
	my ($file, $dir, $store) = reset_ok('index', 1);
	my $text = slurp_file($file);
	my $names = sub { return decode_json(slurp_file("$store/=index/index/index.json"))->{backups} };
	write_text($file, $text =~ s/^remove = .*/remove = false %d %t/mr);
	chmod 0600, $file;
	is((run_backup($now + 2 * DAY, $file))[0], 3, 'remove fails: exit code');
	is_deeply($names->(), [ map { "shop/$_" } @names[ 1, 2 ] ], 'remove fails: the index');
	is(scalar(partial_backups($dir)), 1, 'remove fails: the next run tries again');
	write_text($file, $text);
	chmod 0600, $file;
	is((run_backup($now + 3 * DAY, $file))[0], 0, 'removed: exit code');
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 2, 3 ] ], 'removed: the store');
	is_deeply($names->(), [ map { "shop/$_" } @names[ 2, 3 ] ], 'removed: the index');

	# neither a record nor an index can be written
	foreach my $which ('backup.json', 'index.json')
	{
		append_to_file("$store.refused.$which", '');
		my ($rc, undef, $err) = run_backup($now + 4 * DAY, $file);
		is($rc, 1, "$which cannot be written: exit code");
		like($err, qr/could not back up database "shop"\n.*detail: Could not store file "\Q$which\E"\.\n.*detail: The command of "pipe" failed with exit code 1\.\n/, "$which cannot be written: message");
		is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 2, 3 ] ], "$which cannot be written: no backup");
		unlink "$store.refused.$which";
	}
	is((run_backup($now + 5 * DAY, $file))[0], 0, 'the next run: exit code');
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 3, 5 ] ], 'the next run: the store');
	is_deeply($names->(), [ map { "shop/$_" } @names[ 3, 5 ] ], 'the next run: the index');
}

# ---- "pipe" fails once for a record and for an index

{
	my ($file, $dir, $store) = reset_ok('index', 1);
	my $text = slurp_file($file);
	my $flag = new_path('flag');
	write_text($file, $text =~ s/^pipe = \K/{ test %f != backup.json && test %f != index.json || test -e $flag.%f || ! touch $flag.%f; } && /mr);
	chmod 0600, $file;
	is((run_backup($now + 2 * DAY, $file))[0], 0, 'pipe fails once: exit code');
	is_deeply([ grep { !-e "$flag.$_" } 'backup.json', 'index.json' ], [], 'pipe fails once: it has failed');
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 1, 2 ] ], 'pipe fails once: the store');
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- a removal that breaks off: what is left of the backup is not used as a backup

foreach my $what ('list', 'index')
{
	my ($file, $dir, $store) = reset_ok($what, 1);
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^remove = .*/remove = sh -c 'rm $store\/%d\/%t\/toc.dat; exit 1'/mr);
	chmod 0600, $file;
	my ($status, undef, $told) = run_backup($now + 2 * DAY, '-v', $file);
	is($status, 3, "half removed, $what: exit code");
	like($told, qr/^pg_pardump_backup: removing backup .*\n(?:.*\n)*.*error: could not remove backup .*\npg_pardump_backup: detail: The command of "remove" failed with exit code 1\.\npg_pardump_backup: made backup "$names[2]", not verified:\n  1 database, \d.*\npg_pardump_backup: could not remove all old backups; see the errors above\n\z/m, "half removed, $what: the last lines");
	ok(!-e "$store/shop/$names[0]/toc.dat" && -e "$store/shop/$names[0]/backup.json", "half removed, $what: files");

	# the host is lost, too
	system_or_bail('rm', '-rf', $dir);
	mkdir $dir, 0700 or die "could not make \"$dir\": $!";
	is(statuses($file), "0 $names[1] not verified $names[2] not verified", "half removed, $what: --list");
	failed_ok("half removed, $what: --verify", 2, qr/error: could not find backup "shop\/$names[0]" in directory/, '--verify', "shop/$names[0]", $file);
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, '--rebuild', $file);
	is("$rc$err", "0pg_pardump_backup: rebuilt 2 records in directory \"$dir\"\n", "half removed, $what: --rebuild");
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 1, 2 ] ], "half removed, $what: what is rebuilt");
	write_text($file, $text);
	chmod 0600, $file;
	is((run_backup($now + 3 * DAY, $file))[0], 0, "half removed, $what: the next run");
	# the index does not name it any more
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ $what eq 'list' ? () : $names[0], @names[ 2, 3 ] ], "half removed, $what: the next run removes the rest");
}

# ---- a store that removes old backups itself

foreach my $what ('list', 'index')
{
	my ($file, $dir, $store) = reset_ok($what, 1);
	my $record = slurp_file("$store/shop/$names[0]/backup.json");
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^remove = .*/remove = none/mr);
	chmod 0600, $file;
	my ($rc, undef, $err) = run_backup($now + 2 * DAY, $file);
	is("$rc$err", '0', "remove = none, $what: a run");
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 1, 2 ] ], "remove = none, $what: the directory");
	is(slurp_file("$store/shop/$names[0]/backup.json"), $record, "remove = none, $what: the record in the store");
	ok(-e "$store/shop/$names[0]/toc.dat", "remove = none, $what: the files in the store");
	is_deeply(decode_json(slurp_file("$store/=index/index/index.json"))->{backups}, [ map { "shop/$_" } @names[ 1, 2 ] ], "remove = none, $what: the index") if $what eq 'index';
	if ($all || $what eq 'index')
	{
		($rc, undef, $err) = run_backup($now + 3 * DAY, $file);
		is("$rc$err", '0', "remove = none, $what: the next run");
	}
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- interrupted while a command is running

{
	my ($file, $dir, $store) = reset_ok('list', 0);
	my $gate = new_path('gate');
	my $text = slurp_file($file);
	write_text($file, $text =~ s/^fetch = \K/: >$gate; $sleep; /mr);
	chmod 0600, $file;
	foreach my $task ('--list', '--rebuild')
	{
		unlink $gate;
		my $run = start_backup($now, $task, $file);
		wait_until("$task runs a command", sub { -e $gate });
		kill TERM => $run->{pid};
		is(end_backup($run), 1, "interrupted, $task: exit code");
		is($run->{err}, "pg_pardump_backup: error: interrupted by SIGTERM\n", "interrupted, $task: message");
	}
	wait_until('commands of interrupted tasks have ended', sub { (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 0 });
	is_deeply([ glob "$dir/.[s]tore $dir/[s]hop" ], [], 'interrupted: nothing is made');
	write_text($file, $text);
	chmod 0600, $file;
}

# ---- commands that return too much, or nothing, and what they leave behind

sub command_failed_ok
{
	my ($what, $message, $command, %how) = @_;
	my $result = eval { read_command('fetch', undef, [ '/bin/sh', '-c', $command ], most => 1000, limit => 1, %how) };
	is($result, undef, "$what: it fails");
	like($@, qr/\A$message\n\z/, "$what: message");
	return;
}

is(read_command('fetch', undef, [ '/bin/sh', '-c', 'head -c 1000 /dev/zero' ], most => 1000), "\0" x 1000, 'a command that returns 1000 bytes');
command_failed_ok('too much', 'the command of "fetch" returned more than 1000 bytes', 'cat /dev/zero');
command_failed_ok('nothing', 'the command of "fetch" returned no data for 1 s', $sleep);
command_failed_ok('no end', 'the command of "fetch" did not exit within 1 s', "exec >&-; $sleep");
command_failed_ok('exit code', "the command of \"fetch\" failed with exit code 3\ndetail: The command printed: a\\?b c", 'printf "a\tb\nc\n" >&2; exit 3');
command_failed_ok('a signal', 'the command of "fetch" was terminated by signal 9', 'kill -KILL $$');
is(read_command('fetch', undef, [ '/bin/sh', '-c', "$sleep >/dev/null & echo x" ], most => 1000), "x\n", 'a process in the background');
my @lines;
my $background = new_path('background');
run('the command', [ '/bin/sh', '-c', "echo a >&2; $sleep & echo \$! >$background; echo b >&2" ], lines => sub { push @lines, $_[0] // () });
is_deeply(\@lines, [ 'a', 'b' ], 'a process in the background keeps messages open');
is(kill('TERM', slurp_file($background) =~ /^(\d+)$/), 1, 'a process in the background is there until it is ended');
wait_until('processes of commands have ended', sub { (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 0 });
is(read_command('fetch', undef, [ '/bin/sh', '-c', 'readlink /proc/$$/fd/0; ps -o tty= -p $$' ], most => 1000), "/dev/null\n?\n", 'no terminal and no input');

$node->stop;
done_testing();
