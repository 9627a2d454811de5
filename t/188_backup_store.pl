# pg_pardump_backup with "fetch": backups that are only in a store, which here is a
# directory, with "list" and with an index.  The host of the backups is lost, and rebuilt.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use lib `pg_config --sharedir` =~ s/\n//r . '/pg_pardump';

use JSON::PP qw(decode_json);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value pg_major tier);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Nights qw(backup_config run_backup complete_backups time_name failing_programs programs_without_retries);
use PardumpBackup::Catalog qw(find_backups newest_backups);
use PardumpBackup::Config qw(read_config);
use PardumpBackup::Programs qw(find_programs);
use PardumpBackup::RestoreCheck qw(describe_backup test_backups);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

local $ENV{TZ} = 'UTC';
my $now = 1_800_000_000;
my @names = map { time_name($now + $_ * DAY) } 0 .. 9;
my $node = start_cluster('store');
make_database($node, $_) foreach 'shop', 'odd name';
sql($node, 'shop', 'CREATE TABLE t AS SELECT g, md5(g::text) AS m FROM generate_series(1, 20000) g; SELECT lo_from_bytea(0, \'an object\')');
sql($node, 'odd name', 'CREATE TABLE odd AS SELECT 1 AS one');
my $data = fingerprint($node, 'shop');
my $bin = programs_without_retries();

# Below the highest tier, what does not depend on how names are found is only tried with "list".
my $all = tier() == 3;

# A store with these commands, without --init; if no database is among the lines, of both.
sub store_without_index
{
	my ($with_list, @lines) = @_;
	unshift @lines, 'database = shop', 'database = odd name' if !grep { /^database = / } @lines;
	my $store = new_path('store');
	mkdir $store or die "could not make \"$store\": $!";
	my ($file, $dir) = backup_config($node, 'jobs = 2',
		"pipe = mkdir -p $store/%d/%t && cat >$store/%d/%t/%f", "remove = rm -rf $store/%d/%t",
		"fetch = cat $store/%d/%t/%f", "bindir = $bin", $with_list ? "list = ls $store/%d" : (), @lines);
	return ($file, $dir, $store);
}

sub new_store
{
	my ($with_list, @lines) = @_;
	my ($file, $dir, $store) = store_without_index($with_list, @lines);
	is(said(0, '--init', $file), "0pg_pardump_backup: made the index of the store, with 0 backups\n", '--init') if !$with_list;
	return ($file, $dir, $store);
}

sub lose
{
	my ($dir) = @_;
	system_or_bail('rm', '-rf', $dir);
	mkdir $dir, 0700 or die "could not make \"$dir\": $!";
	return;
}

# The exit code, standard output without the lines of single archives, and standard error.
sub said
{
	my ($night, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, @arguments);
	return $rc . $out =~ s/^\[.*\n//mgr =~ s/^verified .*\K in [\d.:]+(?: s)?$//mr . $err;
}

# Restores a backup of shop with these arguments of --restore.
sub restored_ok
{
	my ($what, $file, $name, $database, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now, '--restore', @arguments, $file);
	is("$rc$out", "0restored backup \"shop/$name\" into database \"$database\"\n", "$what: --restore") or diag($err);
	same_data_ok($data, fingerprint($node, $database), "$what: --restore");
	return;
}

sub listed
{
	my ($night, $file) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, '--list', '--json', $file);
	is("$rc$err", '0', '--list --json') or return [];
	return decode_json($out)->{backups};
}

sub index_names
{
	my ($store) = @_;
	return decode_json(slurp_file("$store/=index/index/index.json"))->{backups};
}

# ---- lost and rebuilt

my %last;
foreach my $with_list (1, 0)
{
	my $what = $with_list ? 'list' : 'index';
	my ($file, $dir, $store) = new_store($with_list, 'keep_last = 2');
	my @stored = sort map { ("odd=20name/$_", "shop/$_") } @names[ 1, 2 ];

	is(said($_, $file), '0', "$what, night $_") foreach 0 .. 2;
	is_deeply([ sort map { s/^\Q$store\E\///r =~ s/\/backup\.json$//r } glob "$store/*/*/backup.json" ], \@stored, "$what: records in the store");
	$with_list ? ok(!-e "$store/=index", "$what: no index") : is_deeply(index_names($store), \@stored, "$what: the index");
	my $full = $with_list || $all;
	if ($full)
	{
		like(said(3, '--check', $file), qr/\A0\[1\/2\] shop: 1 table, .*, archive about .*\n/, "$what: --check");
		is(said(3, '--verify', $file), "0verified 4 backups\n", "$what: --verify with records");
	}
	my $before = listed(3, $file);
	is_deeply([ map { $_->{verified} && $_->{verified}{good} } @$before ], [ ($full ? JSON::PP::true : undef) x 4 ], "$what: --verify records its result");

	lose($dir);
	my $after = listed(3, $file);
	is_deeply([ map { [ @$_{qw(name time database started finished complete only_in_store path verified)} ] } @$after ],
		[ map { [ @$_{qw(name time database started finished complete)}, JSON::PP::true, undef, undef ] } @$before ], "$what, lost: JSON");
	is(said(3.125, '--list', $file), <<"END", "$what, lost: the table");
0name              started           age      size  status        expires        databases
$names[1]  2027-01-16 08:00  2 d         -  not verified  only in store  odd name, shop
$names[2]  2027-01-17 08:00  27 h        -  not verified  only in store  odd name, shop

"only in store": no run removes a backup whose record is only in the store; see --rebuild.
END
	like((run_backup($now, '--list', '-v', $file))[1], qr/^$names[2] .* only in store  0:00  shop +-$/m, "$what, lost: the table with -v");
	is(said(3, '--verify', 'latest', $file), "0verified 2 backups\n", "$what, lost: --verify") if $full;
	my $copy = "copy_$what";
	make_database($node, $copy);
	restored_ok("$what, lost", $file, $names[1], $copy, $names[1], 'shop', "--to=$copy");
	is_deeply([ glob "$dir/* $dir/.[a-z]*" ], [], "$what, lost: no file was made");

	# no run would ever remove the others
	my ($rc, undef, $err) = run_backup($now + 3 * DAY, $file);
	is($rc, 1, "$what, lost: exit code of a run");
	like($err, qr/\Apg_pardump_backup: error: the store contains backups whose records are not in directory "\Q$dir\E"\n.*detail: 4 backups, for example "shop\/$names[2]"\.\n.*hint: Run "pg_pardump_backup --rebuild \Q$file\E"\.\n\z/, "$what, lost: a run");
	is((run_backup($now + 3 * DAY, '--check', $file))[0], 1, "$what, lost: --check");

	is(said(3, '--rebuild', $file), "0pg_pardump_backup: rebuilt 4 records in directory \"$dir\"\n", "$what: --rebuild");
	is_deeply([ map { [ @$_{qw(name time database started finished complete kept_until)} ] } @{ listed(3, $file) } ],
		[ map { [ @$_{qw(name time database started finished complete kept_until)} ] } @$before ], "$what, rebuilt: JSON");
	is(said(3, '--rebuild', $file), "0pg_pardump_backup: rebuilt 0 records in directory \"$dir\"\n", "$what: --rebuild again");
	if ($full)
	{
		is(said(3, '--verify', $file), "0verified 4 backups\n", "$what, rebuilt: --verify");
		sql($node, 'postgres', 'ALTER DATABASE shop RENAME TO kept');
		restored_ok("$what, rebuilt", $file, $names[2], 'shop', 'latest', 'shop');
		sql($node, 'postgres', $_) foreach 'DROP DATABASE shop', 'ALTER DATABASE kept RENAME TO shop';
	}
	is(said(4, $file), '0', "$what, rebuilt: a run");
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ @names[ 2, 4 ] ], "$what, rebuilt: the run removes the oldest backup from the store");
	is_deeply(index_names($store), [ sort map { ("odd=20name/$_", "shop/$_") } @names[ 2, 4 ] ], "$what, rebuilt: the index") if !$with_list;
	$last{$what} = [ $file, $dir, $store ];
}

# ---- the restore test of backups that are only in the store

# Tests backups in a new server.  Returns the result and the report.
my $servers = 0;

sub tested
{
	my ($config, $home, @backups) = @_;
	# begins as the second cluster of another test file does, which saves initdb
	my $server = start_cluster('drill' . ++$servers, own => 2);
	my ($client, $report) = (new_path('client'), new_path('report'));
	mkdir $client, 0700 or die "could not make \"$client\": $!";
	my %access = (host => $server->host, port => $server->port, username => value($node, 'postgres', 'SELECT CURRENT_USER'),
		major => pg_major($node), bin => $bin, client => $client, home => $home);
	local %ENV = %ENV;
	open my $saved, '>&', \*STDOUT or die "could not save standard output: $!";
	STDOUT->flush;
	open STDOUT, '>', $report or die "could not open \"$report\": $!";
	my $result = eval { test_backups($config, \%access, @backups) };
	my $error = $@;
	STDOUT->flush;
	open STDOUT, '>&', $saved or die "could not restore standard output: $!";
	$server->stop('immediate');
	return ($result ? 1 : 0, slurp_file($report) . $error);
}

foreach my $what ('list', 'index')
{
	my ($file, $dir, $store) = @{ $last{$what} };
	lose($dir);
	my ($config, @wrong) = read_config($file);
	is_deeply(\@wrong, [], "$what, restore test: the configuration");
	find_programs($config, 'pg_parrestore');
	my $home = new_path("it's 100% home");
	mkdir $home or die "could not make \"$home\": $!";
	my $config_with_home = { %$config, fetch => "echo \"\$HOME\" >>\"\$HOME/seen\"; echo %f >>\"\$HOME/fetched\"; $config->{fetch}" };
	my @backups = map { describe_backup($config, $_) } newest_backups($config);
	is_deeply([ map { "$_->{database}/$_->{name} $_->{major}" } @backups ], [ map { "$_/$names[4] " . pg_major($node) } 'odd name', 'shop' ], "$what, restore test: what is tested");
	next if $what eq 'index' && !$all;
	my ($good, $report) = tested($config_with_home, $home, @backups);
	my $shop = qr/\[2\/2\] shop\/$names[4]: passed: 1 table, 20,000 rows, .*\n/;
	is($good, 1, "$what, restore test: the result");
	like($report, qr/\A\[1\/2\] odd name\/$names[4]: passed: 1 table, 1 row, .*\n${shop}restore test passed \(databases passed: 2, failed: 0, not tested: 0\)\n\z/, "$what, restore test: the report");
	my %seen = map { $_ => 1 } split /\n/, slurp_file("$home/seen");
	is_deeply([ sort keys %seen ], [$home], "$what, restore test: the home directory of commands");
	is_deeply([ sort grep { /^(?:toc\.dat|pg_pardump_manifest\.json)$/ } split /\n/, slurp_file("$home/fetched") ], [ ('pg_pardump_manifest.json') x 2, ('toc.dat') x 2 ],
		"$what, restore test: what is compared is what was verified");
	next if $what eq 'index';

	# globals that cannot be fetched; then data that is damaged
	my $globals = "$store/odd=20name/$names[4]/globals.sql";
	rename $globals, "$globals.lost" or die "could not rename \"$globals\": $!";
	($good, $report) = tested($config, $home, map { describe_backup($config, $_) } newest_backups($config));
	is($good, 0, 'restore test, no globals: the result');
	like($report, qr/\A\[1\/2\] odd name\/$names[4]: FAILED: could not fetch file "globals\.sql" from the store\n  detail: The command of "fetch" failed with exit code 1\.\n  detail: .*\n${shop}restore test FAILED \(databases passed: 1, failed: 1, not tested: 0\)\n\z/, 'restore test, no globals: the report');
	rename "$globals.lost", $globals or die "could not rename \"$globals.lost\": $!";

	# a damaged record of the newest backup of one database
	my $record = "$store/odd=20name/$names[4]/backup.json";
	rename $record, "$record.good" or die "could not rename \"$record\": $!";
	append_to_file($record, 'x');
	($good, $report) = tested($config, $home, map { describe_backup($config, $_) } newest_backups($config));
	is($good, 0, 'restore test, damaged record: the result');
	like($report, qr/\A\[1\/2\] odd name\/$names[4]: FAILED: the latest backup of database "odd name" is not known\n  detail: The record of backup "odd name\/$names[4]" in the store cannot be used\.\n(?:  detail: .*\n)+${shop}restore test FAILED \(databases passed: 1, failed: 1, not tested: 0\)\n\z/,
		'restore test, damaged record: the report');
	is_deeply([ map { $_->{name} } find_backups($config, 'latest', 'shop') ], [ $names[4] ], 'damaged record: latest of another database');
	foreach my $database (undef, 'odd name')
	{
		is(eval { find_backups($config, 'latest', $database); '' } // $@ =~ s/cannot be used\.\K\ndetail: .*?(?=\nhint)//sr,
			"the latest backup of database \"odd name\" is not known\ndetail: The record of backup \"odd name/$names[4]\" in the store cannot be used.\nhint: Specify a backup by its name.\n",
			'damaged record: latest of ' . ($database // 'all databases'));
	}
	make_database($node, 'into');
	like(said(4, '--restore', 'latest', 'shop', '--to=into', $file), qr/\A0restored backup "shop\/$names[4]" into database "into"\n/, 'damaged record: --restore of another database');
	rename "$record.good", $record or die "could not rename \"$record.good\": $!";

	my ($file_of_rows) = grep { -s } glob "$store/odd=20name/$names[4]/[0-9]*.dat*";
	append_to_file($file_of_rows, 'x');
	($good, $report) = tested($config, $home, @backups);
	is($good, 0, 'restore test, damage: the result');
	like($report, qr/\A\[1\/2\] odd name\/$names[4]: FAILED: pg_pardump --verify failed with exit code 1\n${shop}/, 'restore test, damage: the report');
}

# ---- an index is made once, and no run replaces it

{
	my ($file, $dir, $store) = store_without_index(0);
	my $missing = qr/error: could not read the index of the store\n.*detail: Could not fetch file "index\.json" from the store\.\n.*detail: The command of "fetch" failed with exit code 1\.\n(?:.*detail: .*\n)?.*hint: If no backup was ever made in this store, run "pg_pardump_backup --init \Q$file\E" once\.\n/;
	like(said(0, '--check', $file), qr/\A1(?:.*\n)*.*$missing/, 'a new store: --check');
	like(said(0, $file), qr/\A1.*$missing\z/, 'a new store: a run');
	is_deeply([ glob "$store/*" ], [], 'a new store: nothing is written');
	is(said(0, '--init', $file), "0pg_pardump_backup: made the index of the store, with 0 backups\n", 'a new store: --init');
	is(said(0, $file), '0', 'a new store: a run after --init');
	is(said(1, '--init', $file), "1pg_pardump_backup: error: the store already has an index, which names 2 backups\n"
		  . "pg_pardump_backup: hint: To recreate the records of these backups in another directory, run \"pg_pardump_backup --rebuild $file\".\n", 'a store with an index: --init');

	# the directory is enough to make a lost index again
	unlink(map { "$store/=index/index/$_" } 'index.json', 'index_copy.json') == 2 or die "could not remove the index: $!";
	like(said(1, $file), qr/\A1.*$missing\z/, 'a lost index: a run');
	is(said(1, '--init', $file), "0pg_pardump_backup: made the index of the store, with 2 backups\n", 'a lost index: --init');
	is_deeply(index_names($store), [ "odd=20name/$names[0]", "shop/$names[0]" ], 'a lost index: the new one');

	# the index of another store must not name them: a run would call "remove" there
	my $other = new_path('store');
	mkdir $other or die "could not make \"$other\": $!";
	my $text = slurp_file($file);
	unlink $file;
	append_to_file($file, $text =~ s/\Q$store\E/$other/gr);
	chmod 0600, $file;
	like(said(1, '--init', $file), qr/\A1pg_pardump_backup: error: directory "\Q$dir\E" contains backups of another store\n.*detail: The command of "pipe" has changed; it was "mkdir -p \Q$store\E\/.*"\.\n.*hint: .*\n\z/, 'another store: --init');
	is_deeply([ glob "$other/*" ], [], 'another store: nothing is written');
	lose($dir);
	is(said(1, '--init', $file), "0pg_pardump_backup: made the index of the store, with 0 backups\n", 'another store, and an empty directory: --init');

	my ($with_list) = store_without_index(1);
	like((run_backup($now, '--init', $with_list))[2], qr/\Apg_pardump_backup: error: option --init cannot be used, because "list" is set\npg_pardump_backup: detail: .*\n\z/, '--init with "list"');
}

# ---- a directory that is replaced by an older copy

foreach my $with_list (1, 0)
{
	my $what = $with_list ? 'list, set back' : 'index, set back';
	my ($file, $dir, $store) = new_store($with_list, 'database = shop');
	is(said(0, $file), '0', "$what, night 0");
	system_or_bail('cp', '-a', $dir, "$dir.old");
	is(said($_, $file), '0', "$what, night $_") foreach 1, 2;
	my $set_back = sub { system_or_bail('rm', '-rf', $dir); system_or_bail('cp', '-a', "$dir.old", $dir) };
	my $warning = sub {
		my ($n, $newest) = @_;
		return "pg_pardump_backup: warning: the store contains backups whose records are not in directory \"$dir\"\n"
		  . "pg_pardump_backup: detail: $n backups, for example \"shop/$newest\".\n"
		  . "pg_pardump_backup: hint: Run \"pg_pardump_backup --rebuild $file\".\n";
	};
	my $record = sub { return slurp_file("$store/shop/$_[0]/backup.json") };

	$set_back->();
	is(said(3, $file), '0' . $warning->(2, $names[2]), "$what: a run");
	is_deeply(index_names($store), [ map { "shop/$_" } @names[ 0 .. 3 ] ], "$what: the index keeps all names") if !$with_list;
	my @numbers = map { decode_json($record->($_))->{number} } @names[ 0 .. 3 ];
	is_deeply([ sort { $a <=> $b } @numbers ], \@numbers, "$what: numbers are in the order of the backups");
	isnt($numbers[3], $numbers[2], "$what: a new number");
	next if !$with_list && !$all;
	is(said(3, '--rebuild', $file), "0pg_pardump_backup: rebuilt 2 records in directory \"$dir\"\n", "$what: --rebuild");
	is_deeply([ map { $_->{time} } @{ listed(3, $file) } ], [ @names[ 0 .. 3 ] ], "$what: --list");
	is(said(4, $file), '0', "$what: a run after --rebuild");

	# the clock was set back, too
	$set_back->();
	my $kept = $record->($names[1]);
	my $free = time_name($now + DAY + 1);
	is(said(1, $file), '0' . $warning->(4, $names[4]), "$what with the clock: a run");
	is_deeply([ map { s/.*\///r } glob "$store/shop/*" ], [ sort @names[ 0 .. 4 ], $free ], "$what with the clock: names");
	is($record->($names[1]), $kept, "$what with the clock: the older backup");
	is(decode_json($record->($free))->{run}, $free, "$what with the clock: the name of the run");
}

# ---- a new host that cannot read the store begins with number 1 again
{
	my ($file, $dir, $store) = new_store(1, 'database = shop');
	is(said($_, $file), '0', "new host, night $_") foreach 0, 1;
	lose($dir);
	my $text = slurp_file($file);
	unlink $file;
	append_to_file($file, $text =~ s/^(?:fetch|list) = .*\n//gmr);
	chmod 0600, $file;
	is(said(2, $file), '0', 'new host, a run');
	is(decode_json(slurp_file("$store/shop/$names[2]/backup.json"))->{number}, 1, 'new host, a run: the number');

	# in the directory, and in the store alone
	unlink $file;
	append_to_file($file, $text);
	chmod 0600, $file;
	foreach my $where ('directory', 'store')
	{
		my ($config) = read_config($file);
		is_deeply([ map { $_->{name} } find_backups($config, 'latest') ], [ $names[2] ], "new host, $where: the latest backups");
		lose($dir);
	}
}

# ---- globals that change during a run

{
	my ($file, $dir, $store) = new_store(1);
	my $bin = failing_programs();
	my $text = slurp_file($file);
	unlink $file;
	append_to_file($file, $text =~ s/^bindir = \K.*/$bin/mr);
	chmod 0600, $file;
	my $script = slurp_file("$bin/pg_dumpall");
	my $psql = "$bin/psql -Xq -d '" . $node->connstr('postgres') . "' -c 'CREATE ROLE late' 2>$bin/ignored";
	unlink "$bin/pg_dumpall";
	append_to_file("$bin/pg_dumpall", $script =~ s/^exec (.*)$/if [ -e "$bin\/second" ]; then $psql; fi; touch "$bin\/second"; $1/mr);
	chmod 0755, "$bin/pg_dumpall";
	is(said(0, $file), '0', 'globals that change: the run');
	is_deeply([ map { decode_json(slurp_file("$store/$_/$names[0]/backup.json"))->{globals} } 'shop', 'odd=20name' ], [ ('globals_later.sql') x 2 ],
		'globals that change: records name the later ones');
	like(slurp_file("$store/shop/$names[0]/globals_later.sql"), qr/CREATE ROLE late;/, 'globals that change: the later ones');
	sql($node, 'postgres', 'DROP ROLE late');
}

# ---- files that are encrypted in the directory itself

{
	my ($file, $dir) = backup_config($node, 'database = shop', 'pipe = gzip >%D/%f.gz', 'fetch = gzip -dc %D/%f.gz');
	is(said(0, $file), '0', 'in the directory: the run');
	is_deeply([ glob "$dir/shop/*/dump/backup.json* $dir/.[s]tore" ], [], 'in the directory: no record for a store');
	is(said(1, '--verify', $file), "0verified 1 backup\n", 'in the directory: --verify');
	make_database($node, 'inside');
	restored_ok('in the directory', $file, $names[0], 'inside', 'latest', '--to=inside');
	my ($rc, undef, $err) = run_backup($now, '--rebuild', $file);
	is($rc, 2, 'in the directory: exit code of --rebuild');
	like($err, qr/\Apg_pardump_backup: error: option --rebuild cannot be used, because "pipe" contains %D\npg_pardump_backup: detail: .*\n\z/, 'in the directory: --rebuild');
}

$node->stop;
done_testing();
