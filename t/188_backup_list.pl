# pg_pardump_backup --list, --list --json and --verify: what they say of runs,
# databases with odd names, old and damaged backups, and what they accept.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json encode_json);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Nights qw(backup_config run_backup time_name);
use Pardump::Terminal qw(run_on_terminal seen_lines);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

local $ENV{TZ} = 'UTC';
my $now = 1_800_000_000;
my $node = start_cluster('list');
my @odd = ('odd name', 'a, b', "caf\xc3\xa9");
make_database($node, 'shop');
sql($node, 'shop', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g');
make_database($node, $_) foreach @odd;

sub night_ok
{
	my ($file, $night) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, $file);
	is("$rc$out$err", '0', "night $night");
	return;
}

sub backups_of
{
	my ($night, $file) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, '--list', '--json', $file);
	is("$rc$err", '0', '--list --json') or return [];
	return decode_json($out)->{backups};
}

# What the table is, with N in place of sizes, which depend on the server.
sub shown
{
	my ($night, @arguments) = @_;
	my ($rc, $out, $err) = run_backup($now + $night * DAY, '--list', @arguments);
	is("$rc$err", '0', "--list @arguments");
	return $out =~ s/( +)([\d.]+)(?= [kM]B  )/' ' x (length("$1$2") - 1) . 'N'/ger;
}

sub write_json
{
	my ($path, $object) = @_;
	unlink $path;
	append_to_file($path, encode_json($object));
	return;
}

# ---- the table, and the same as JSON

my ($file, $dir) = backup_config($node, 'keep_last = 2', 'keep_days = 3', map { "database = $_" } 'shop', @odd);
night_ok($file, $_) foreach 0 .. 3;
my @names = map { time_name($now + $_ * DAY) } 0 .. 4;

is(shown(3.125, $file), <<"END", 'the table');
name              started           age      size  status    expires     databases
$names[0]  2027-01-15 08:00  3 d      N kB  verified  next run    "a, b", caf\xc3\xa9, odd name, shop
$names[1]  2027-01-16 08:00  2 d      N kB  verified  2027-01-19  "a, b", caf\xc3\xa9, odd name, shop
$names[2]  2027-01-17 08:00  27 h     N kB  verified  2027-01-20  "a, b", caf\xc3\xa9, odd name, shop
$names[3]  2027-01-18 08:00  3 h      N kB  verified  2027-01-21  "a, b", caf\xc3\xa9, odd name, shop
END
is(shown(6, $file) =~ s/^.*\n//r =~ s/^.*(verified +(?:next run|after \d more backups?)).*$/$1/mgr, <<"END", 'when dates have passed');
verified  next run
verified  next run
verified  after 1 more backup
verified  after 2 more backups
END

my $listed = backups_of(3.125, $file);
is(scalar(@$listed), 16, 'JSON: a backup for each database of each night');
{
	my ($found) = grep { $_->{database} eq 'odd name' && $_->{name} eq $names[2] } @$listed;
	cmp_ok(delete $found->{bytes}, '>', 500, 'JSON: bytes');
	is_deeply($found, {
		name => $names[2], time => $names[2], database => 'odd name', folder => 'odd=20name',
		path => "$dir/odd=20name/$names[2]", archive => "$dir/odd=20name/$names[2]/dump",
		status => 'verified', complete => JSON::PP::true, pipe => JSON::PP::false, only_in_store => JSON::PP::false, problem => undef,
		started => '2027-01-17T08:00:00Z', finished => '2027-01-17T08:00:00Z', seconds => 0, age_seconds => 1.125 * DAY,
		cluster_snapshot => undef,
		verified => { time => '2027-01-17T08:00:00Z', good => JSON::PP::true, unreadable => JSON::PP::false },
		kept_until => { time => '2027-01-20T08:00:00Z', newer_backups => 1 } }, 'JSON: what it says');
	is_deeply([ map { $_->{database} } @$listed[ 0 .. 3 ] ], [ 'a, b', "caf\x{e9}", 'odd name', 'shop' ], 'JSON: names');
	is((run_program('pg_pardump', "--verify=$found->{archive}"))[0], 0, 'JSON: pg_pardump --verify accepts the path');
}
{
	my $out = shown(3, '-v', $file);
	my @paths = $out =~ /(\/.*)$/mg;
	is_deeply(\@paths, [ map { $_->{archive} } @$listed ], '-v: paths');
	like($out, qr/^$names[1]  2027-01-16 08:00  2 d  .* verified .* 0:00  "a, b"    \Q$dir\E\/a=2C=20b\/$names[1]\/dump$/m, '-v: a line');
	is((run_program('pg_pardump', "--verify=$paths[5]"))[0], 0, '-v: pg_pardump --verify accepts the path');
}

# ---- a terminal

foreach my $try ([ 80, "\"a, b\", caf\xc3\xa9 and 2 more" ], [ 100, "\"a, b\", caf\xc3\xa9 and 2 more" ], [ 101, "\"a, b\", caf\xc3\xa9, odd name, shop" ])
{
	my ($columns, $names) = @$try;
	local $ENV{PG_PARDUMP_BACKUP_NOW} = $now + 3.125 * DAY;
	my ($rc, $shown) = run_on_terminal($columns, 'pg_pardump_backup', '--list', $file);
	is($rc, 0, "$columns columns: exit code");
	my @ends = map { s/\r//gr =~ s/.*(?:next run|more backups?|-\d\d) +//r } grep { /^2027/ } split /\n/, $shown;
	is_deeply(\@ends, [ ($names) x 4 ], "$columns columns") or diag($shown);
}

# ---- --verify

# The output of --verify without sizes and durations in its summary.
sub without_figures { return $_[0] =~ s/^(?:verified|checked) .*?\K(?:, [\d.]+ [kM]B stored,)? in [\d.:]+(?: s)?(?=$| \()//mr; }

# $out is what follows the lines for each archive.
sub verify_ok
{
	my ($what, $rc, $out, $err, @arguments) = @_;
	my ($got_rc, $got_out, $got_err) = run_backup($now + 4 * DAY, '--verify', @arguments, $file);
	is("$got_rc " . without_figures($got_out =~ s/^\[.*\n//mgr), "$rc $out", "--verify, $what");
	like($got_err, $err, "--verify, $what: messages");
	return;
}

my $silent = qr/\A\z/;
verify_ok('all', 0, "verified 16 backups\n", $silent);
verify_ok('a run', 0, "verified 4 backups\n", $silent, $names[0]);
verify_ok('the latest', 0, "verified 4 backups\n", $silent, 'latest');
foreach my $typed ("shop/$names[0]", "odd name/$names[0]", "odd=20name/$names[0]", "a, b/$names[1]", "$dir/shop/$names[1]",
	"$dir/shop/$names[1]/", "$dir/odd=20name/$names[2]/dump")
{
	verify_ok($typed, 0, "verified 1 backup\n", $silent, $typed);
}
{
	my (undef, $out) = run_backup($now + 4 * DAY, '--verify', $names[2], $file);
	my @lines = map { my $database = $_; qr/$database\/$names[2]: verified, [\d.]+ kB stored, in \d+\.\d s\n/ } 'a, b', "caf\xc3\xa9", 'odd name', 'shop';
	like($out, qr/\A\[1\/4\] $lines[0]\[2\/4\] $lines[1]\[3\/4\] $lines[2]\[4\/4\] $lines[3]verified 4 backups, [\d.]+ [kM]B stored, in \d+\.\d s\n\z/, '--verify: a line for each archive');

	# the first archive's progress is shown as soon as pg_pardump has shown its own
	local $ENV{PG_PARDUMP_BACKUP_NOW} = $now + 4 * DAY;
	my ($rc, $shown) = run_on_terminal(80, 'pg_pardump_backup', '--verify', $names[2], $file);
	is($rc, 0, '--verify on a terminal: exit code');
	like($shown, qr/\r\d+%, time 0:\d\d, backups 0\/4, ETA 0:\d\d, a, b\/$names[2]/, '--verify on a terminal: progress');
	is_deeply([ map { without_figures($_) =~ s/0:\d\d/TIME/r } seen_lines($shown) ], [ '100%, time TIME, backups 4/4', 'verified 4 backups' ],
		'--verify on a terminal: what stays');
}
foreach my $typed ('20200101T000000Z', "nosuch/$names[0]", '/etc', 'shop')
{
	verify_ok($typed, 1, '', qr/\Apg_pardump_backup: error: could not find backup "\Q$typed\E" in directory "\Q$dir\E"\npg_pardump_backup: detail: .*\npg_pardump_backup: hint: To list the backups, run "pg_pardump_backup --list \Q$file\E"\.\n\z/, $typed);
}
is(scalar(grep { $_->{verified}{time} eq '2027-01-19T08:00:00Z' } @{ backups_of(4, $file) }), 16, '--verify: the time is recorded');
{
	my ($data) = grep { -s } glob "$dir/shop/$names[1]/dump/[0-9]*.dat*";
	open my $fh, '+<', $data or die "could not open \"$data\": $!";
	seek $fh, 5, 0;
	print $fh 'X';
	close $fh or die "could not write \"$data\": $!";
	my $damaged = qr/^pg_pardump_backup: error: backup "shop\/$names[1]" is damaged$/m;
	my @sum = ('checked 16 backups (good: 15, damaged: 1, unreadable: 0)', "  damaged: shop/$names[1]");
	verify_ok('a damaged one', 1, "$sum[0]\n$sum[1]\n", qr/\A$damaged\n.*detail: File ".*" of table public\.t is damaged\.\n(?:.*detail: .*\n)*.*hint: To make a new backup now, run "pg_pardump_backup \Q$file\E"\.  Like every run, this removes old backups as keep_last and keep_days specify\.  To restore the last backup without known damage, run "pg_pardump_backup --restore shop\/$names[3] \Q$file\E"\.\n\z/);
	like((run_backup($now + 4 * DAY, '--verify', $file))[1], qr/^\[8\/16\] shop\/$names[1]: DAMAGED, /m, 'a damaged one: its line');
	{
		local $ENV{PG_PARDUMP_BACKUP_NOW} = $now + 4 * DAY;
		my ($rc, $shown) = run_on_terminal(160, 'pg_pardump_backup', '--verify', $file);
		my @lines = seen_lines($shown);
		is($rc, 1, 'a damaged one, on a terminal: exit code');
		is_deeply([ map { without_figures($_) =~ s/0:\d\d/TIME/r } @lines[ -3 .. -1 ] ], [ '100%, time TIME, backups 16/16', @sum ], 'a damaged one, on a terminal: the end');
		is(scalar(grep { /$damaged/ } @lines), 1, 'a damaged one, on a terminal: the error');
		is(scalar(grep { /^pg_pardump_backup: detail: File ".*" of table public\.t is damaged\.$/ } @lines), 1, 'a damaged one, on a terminal: the file');
		is_deeply([ grep { /%, .*backups/ } @lines[ 0 .. $#lines - 3 ] ], [], 'a damaged one, on a terminal: messages replace progress');
	}
	like(shown(4, $file), qr/^$names[1] .* verified .* "a, b", caf\xc3\xa9, odd name\n$names[1] .* DAMAGED .* shop$/m, 'a damaged one: the table');
	is_deeply([ map { $_->{verified}{good} ? () : "$_->{database} $_->{name} $_->{status}" } @{ backups_of(4, $file) } ], ["shop $names[1] damaged"], 'a damaged one: JSON');
}

# ---- backups that are not complete, of another server, or from before there were runs

{
	my $partial = "$dir/shop/$names[4].partial";
	mkdir $partial or die "could not make \"$partial\": $!";
	like(shown(5, $file), qr/^shop\/$names[4]  .*  +-  incomplete +- +shop$/m, 'not complete: the table');
	my ($found) = grep { !$_->{complete} } @{ backups_of(5, $file) };
	is_deeply([ @$found{qw(database path status verified kept_until bytes)} ], [ 'shop', $partial, 'incomplete', undef, undef, undef ], 'not complete: JSON');
	verify_ok('not complete', 1, '', qr/error: backup "shop\/$names[4]" is not complete\n.*detail: A run is making this backup, /, "shop/$names[4]");
	rmdir $partial;

	my $info = "$dir/shop/$names[0]/backup.json";
	my $object = decode_json(slurp_file($info));
	is(delete $object->{run}, $names[0], 'the run is recorded');
	delete $object->{verified};
	unlink "$dir/shop/$names[0]/verified.json";
	write_json($info, { %$object, address => 'elsewhere:5432' });
	like(shown(3.125, $file), qr/^shop\/$names[0]  .*kB  verified +never +shop$(?:.*\n)*\n"never": no run removes a backup of another server; see --adopt\.\n\z/m,
		'an old one of another server: the table');
	verify_ok('an old one', 0, "verified 1 backup\n", $silent, "shop/$names[0]");

	mkdir "$dir/shop/20260101T000000Z" or die "could not make a directory: $!";
	my ($rc, $out, $err) = run_backup($now, '--list', $file);
	like($err, qr/\Apg_pardump_backup: warning: directory "\Q$dir\E\/shop\/20260101T000000Z" has the name of a backup, but is not a backup\n.*detail: .*\n\z/, 'what only looks like a backup');
}

# ---- two runs at the same time by the clock have names of their own

{
	my ($file) = backup_config($node, 'database = shop', 'database = odd name');
	night_ok($file, 0) foreach 0 .. 1;
	is_deeply([ map { "$_->{name} $_->{time}" } @{ backups_of(1, $file) } ],
		[ ("$names[0] $names[0]") x 2, map { "$_ $_" } (time_name($now + 1)) x 2 ], 'the clock stands still: names of runs');
}

# ---- what "pipe" has written

{
	my ($file, $dir) = backup_config($node, 'database = shop', 'pipe = cat >%D/%f');
	night_ok($file, 0);
	like(shown(1, $file), qr/^$names[0]  2027-01-15 08:00  24 h        -  not verified  after 7 more backups  shop$/m, 'pipe: the table');
	my ($found) = @{ backups_of(1, $file) };
	is_deeply([ @$found{qw(bytes status verified pipe)} ], [ undef, 'not verified', undef, JSON::PP::true ], 'pipe: JSON');
	my ($rc, $out, $err) = run_backup($now, '--verify', 'latest', $file);
	is("$rc$out", '1', 'pipe: --verify of one: exit code');
	like($err, qr/\Apg_pardump_backup: error: the files of backup "shop\/$names[0]" were written by the command of "pipe"\npg_pardump_backup: hint: Decrypt the files of "\Q$dir\E.*" into another directory\.  Then run "pg_pardump --verify" on that directory\.\n\z/,
		'pipe: --verify of one: message');
	($rc, $out, $err) = run_backup($now, '--verify', $file);
	is("$rc$out$err", "1pg_pardump_backup: error: there are no backups to verify in directory \"$dir\"\npg_pardump_backup: detail: \"fetch\" is not set, so files that the command of \"pipe\" wrote cannot be read.\npg_pardump_backup: hint: Set \"fetch\" to the command that returns the files.\n",
		'pipe: --verify of all');
	my $config = slurp_file($file);
	unlink $file;
	append_to_file($file, $config =~ s/^pipe = .*\n//mr);
	chmod 0600, $file;
	night_ok($file, 1);
	($rc, $out, $err) = run_backup($now, '--verify', $file);
	is($rc . without_figures($out =~ s/^\[1\/1\].*\n//r) . $err, "0verified 1 backup\n1 backup not verified: \"fetch\" is not set, so files that the command of \"pipe\" wrote cannot be read\n",
		'pipe: --verify of all, and another backup');
}
{
	my ($file, $dir) = backup_config($node, 'database = shop');
	my ($rc, $out, $err) = run_backup($now, '--verify', $file);
	is("$rc$out", '1', 'no backups: exit code');
	like($err, qr/\Apg_pardump_backup: error: there are no backups to verify in directory "\Q$dir\E"\npg_pardump_backup: hint: To make a backup, run "pg_pardump_backup \Q$file\E"\.\n\z/, 'no backups');
	(undef, undef, $err) = run_backup($now, '--verify', 'latest', $file);
	like($err, qr/\Apg_pardump_backup: error: there are no complete backups in directory "\Q$dir\E"\npg_pardump_backup: hint: To make a backup, run "pg_pardump_backup \Q$file\E"\.\n\z/, 'no backups: latest');
}

$node->stop;
done_testing();
