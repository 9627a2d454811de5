# pg_pardump_backup and dumps of all databases in an S3 server that verifies signatures,
# with the commands of the how-tos: old backups are removed there, the store refuses files
# or removals, and everything is restored from the store after the server and the backup
# host are lost.

use strict;
use warnings;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql tier);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Nights qw(backup_config run_backup complete_backups partial_backups time_name programs_without_retries);
use Pardump::Store qw(store_problem start_s3_store set_fault clear_faults times_struck stored_names);
use Pardump::WholeCluster qw(cluster_print same_cluster_ok);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

if (my $problem = store_problem('rclone') // (system('age --version >/dev/null 2>&1') == 0 ? undef : 'age is not installed'))
{
	plan skip_all => $problem;
}

my $now = 1_800_000_000;
my @names = map { time_name($now + $_ * DAY) } 0 .. 9;
my $store = start_s3_store();
my $node = start_cluster('store_backup');
make_database($node, 'shop');
sql($node, 'shop', 'CREATE TABLE t AS SELECT g, md5(g::text) AS m FROM generate_series(1, 2000) g; SELECT lo_from_bytea(4711, \'an object\')');
my $data = fingerprint($node, 'shop');
my $bin = programs_without_retries();
my ($rc, $out, $err, @left);

# The commands of an indented block of the how-to, from the one with this text.
sub recipe_of
{
	my ($page, $first) = @_;
	my ($block) = slurp_file("$FindBin::RealBin/../doc/$page") =~ /^(    \Q$first\E.*\n(?:    .*\n)*)/m;
	die "doc/$page has no command \"$first\"" if !defined $block;
	return $block =~ s/^    //gmr;
}

sub said
{
	my ($night, @arguments) = @_;
	my ($backup_rc, $printed, $complained) = run_backup($now + $night * DAY, @arguments);
	return $backup_rc . $printed =~ s/^\[.*\n//mgr =~ s/^verified .*\K in [\d.:]+(?: s)?$//mr . $complained;
}

# The backups of which the store has files.
sub stored_backups
{
	my %found = map { m{^(.*)/} ? ($1 => 1) : () } stored_names('backups');
	return [ sort keys %found ];
}

# ---- the commands of stored_backups.md

my $key = new_path('age.key');
run_program('age-keygen', '-o', $key);
my $keys = text_file('keys.txt', slurp_file($key) =~ /public key: (\w+)/ ? "$1\n" : die 'no key');
my @lines = map { s/-R \K\S+/$keys/r =~ s/-i \K[^"]+/$key/r } split /\n/, recipe_of('stored_backups.md', 'pipe = ');
is_deeply([ map { /^(\w+) = / } @lines ], [qw(pipe remove fetch list)], 'the commands of the how-to');
my ($file, $dir) = backup_config($node, 'jobs = 2', 'database = shop', 'keep_last = 2', "bindir = $bin", @lines);

is(said($_, $file), '0', "night $_") foreach 0 .. 2;
is_deeply(stored_backups(), [ map { "shop/$_" } @names[ 1, 2 ] ], 'two backups are kept, and all files of the other are removed');
is(said(3, '--verify', $file), "0verified 2 backups\n", '--verify');

{
	# rclone repeats each request up to ten times otherwise
	local $ENV{RCLONE_LOW_LEVEL_RETRIES} = 1;

	# the store is full, from the first file of rows on
	set_fault($store, 'full', match => qr/^(?:PUT|POST) \S*\.dat/, do => 'full');
	like(said(3, $file), qr/^1.*^pg_pardump_backup: error: could not back up database "shop"\n.*detail: pg_pardump failed /ms, 'full: message');
	cmp_ok(times_struck($store, 'full'), '>', 0, 'full: it has occurred');
	clear_faults($store);
	is_deeply([ [ complete_backups($dir, 'shop') ], [ partial_backups($dir) ] ], [ [ @names[ 1, 2 ] ], [] ], 'full: nothing is left in the directory');
	is_deeply(stored_backups(), [ map { "shop/$_" } @names[ 1, 2 ] ], 'full: nothing is left in the store');

	# the store refuses records; without a new record, no files are removed
	set_fault($store, 'quota', match => qr/^PUT \S*backup\.json/, do => 'quota');
	my $refused = qr/.*detail: Could not store file "backup\.json"\.\n.*detail: The command of "pipe" failed with exit code 1\.$/m;
	like(said(4, $file), qr/^1.*^pg_pardump_backup: error: could not remove backup "shop\/$names[4]"\n$refused.*^pg_pardump_backup: error: could not back up database "shop"\n$refused/ms, 'no record: message');
	clear_faults($store);
	# of both attempts
	@left = ($names[4], time_name($now + 4 * DAY + 1));
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 1, 2 ] ], 'no record: no backup');
	is_deeply(stored_backups(), [ map { "shop/$_" } @names[ 1, 2 ], @left ], 'no record: files are left in the store');
	is(said(4, '--verify', $file), "0verified 2 backups\n", 'no record: these are not backups') if tier() == 3;

	# old backups cannot be removed
	local $ENV{RCLONE_RETRIES} = 1;
	set_fault($store, 'denied', match => qr/^(?:DELETE|POST \S*\?delete)/, do => 'denied');
	like(said(5, $file), qr/^3.*^pg_pardump_backup: error: could not remove backup "shop\/$names[1]"\n.*detail: The command of "remove" failed /ms, 'removals are refused: message');
	clear_faults($store);
	is_deeply(stored_backups(), [ map { "shop/$_" } @names[ 1, 2 ], @left, $names[5] ], 'removals are refused: the store');
	is_deeply([ complete_backups($dir, 'shop') ], [ @names[ 2, 5 ] ], 'removals are refused: the directory');
}

# a store that refuses some requests
set_fault($store, 'throttled', match => qr/^(?:PUT|DELETE|HEAD) /, do => 'slow_down', times => 3);
is(said(6, $file), '0', 'throttled');
is(times_struck($store, 'throttled'), 3, 'throttled: refused requests');
clear_faults($store);
is_deeply(stored_backups(), [ map { "shop/$_" } @names[ 5, 6 ] ], 'throttled: old backups are removed, also those of which the removal had failed');

# ---- all databases; the newest dump has failed

sql($node, 'postgres', q{CREATE ROLE staff PASSWORD 'secret'; ALTER DATABASE shop OWNER TO staff; CREATE TABLE p AS SELECT 1 AS id});
my $want = cluster_print($node, qw(postgres shop));
foreach my $try ([ 0, '20261121T021500Z' ], [ 1, '20261122T021500Z' ])
{
	my ($expected, $new) = @$try;
	local $ENV{RCLONE_LOW_LEVEL_RETRIES} = 1;
	set_fault($store, 'full', match => qr/^PUT \S*map\.json/, do => 'full') if $expected;
	($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-j2', '-h', $node->host, '-p', $node->port,
		$expected ? ('--exclude-database=shop', '--exclude-database=template1') : (), "--pipe=rclone rcat store:backups/$new/%d/%f");
	is($rc, $expected, "all databases, $new: exit code") or diag($err);
	clear_faults($store);
}

# ---- a disaster: the server and the backup host are lost

$node->stop('immediate');
system_or_bail('rm', '-rf', $node->data_dir, $dir);

# all databases, with the two commands of backup_to_object_storage.md
my $other = start_cluster('store_drill');
my $drill = recipe_of('backup_to_object_storage.md', 'export RCLONE_CONFIG=/etc/pg_pardump/store.conf' . "\n    last=");
my $conninfo = $other->connstr('postgres');
$drill =~ s/^export .*\n//m;
$drill =~ s/-d '[^']*'/-d "$conninfo"/ or die 'the drill has no server';
($rc, undef, $err) = run_program('bash', '-c', "$drill\necho \"\$last\" >&2");
is($rc, 0, 'drill, all databases: exit code');
is($err, "20261121T021500Z\n", 'drill, all databases: the newest complete dump, and nothing else is said');
same_cluster_ok($want, $other, 'drill, all databases');
sql($other, 'postgres', 'DROP DATABASE shop');

# pg_pardump_backup, with the commands of the same chapter: the files in /etc/pg_pardump are
# copied to a new machine, where its server is the default one
my $etc = new_path('etc');
my $name = basename($file);
mkdir $etc or die "could not make \"$etc\": $!";
system_or_bail('cp', '-p', $file, "$etc/$name");
my $here = sub { return $_[0] =~ s/\/etc\/pg_pardump/$etc/gr =~ s/nightly\.conf/$name/gr };
my $superuser = sql($other, 'postgres', 'SELECT current_user');
my $prepare = $here->(recipe_of('backup_to_object_storage.md', 'install -d -m 700 -o postgres /var/backups/pg_pardump'));
$prepare =~ s/ -o postgres \S+/ $dir/ or die 'the drill makes no directory';
$prepare =~ s/username = \Kpostgres/$superuser/ or die 'the drill sets no superuser';
is(join('', run_program('bash', '-ec', $prepare)), '0', 'drill: the directory and the configuration of restores are made');
unlike(slurp_file("$etc/restore/$name"), qr/^(?:host|port) /m, 'drill: the configuration of restores does not contain the lost server');
my @two = map { recipe_of($_, 'pg_pardump_backup --rebuild') } 'backup_to_object_storage.md', 'stored_backups.md';
is($two[0], $two[1], 'drill: the two pages have the same commands');
my ($rebuild, $restore, @more) = split /\n/, $here->($two[0]);
is_deeply(\@more, [], 'drill: two commands');
# later runs use the new server
my $text = slurp_file($file);
my ($host, $port) = ($other->host, $other->port);
unlink $file;
append_to_file($file, $text =~ s/^host = \K.*/$host/mr =~ s/^port = \K.*/$port/mr);
chmod 0600, $file;
# a connection that breaks
set_fault($store, 'cut', match => qr/^GET \S*backup\.json/, do => 'cut_answer', bytes => 600, times => 1);
is(join('', (run_program('bash', '-c', $rebuild))[ 0, 2 ]), "0pg_pardump_backup: rebuilt 2 records in directory \"$dir\"\n", 'drill: --rebuild');
is(times_struck($store, 'cut'), 1, 'drill: a connection was cut');
clear_faults($store);
{
	local @ENV{qw(PGHOST PGPORT)} = ($host, $port);
	($rc, $out, $err) = run_program('bash', '-c', $restore);
}
is("$rc$out$err", "0restored backup \"shop/$names[6]\" into database \"shop\"\n", 'drill: --restore');
same_data_ok($data, fingerprint($other, 'shop'), 'drill: --restore');
like(said(7, $file), qr/^5/, 'drill: a run for the other server removes nothing');
is(said(7, '--adopt', $file) =~ s/\D.*//sr, 0, 'drill: --adopt');
is(said(8, $file), '0', 'drill: the next run');
is_deeply([ grep { /^shop/ } @{ stored_backups() } ], [ map { "shop/$_" } @names[ 7, 8 ] ], 'drill: old backups are removed');

# ---- without "list": an index, which 188_backup_store.pl tries in all tiers

if (tier() == 3)
{
	my ($index_file, $index_dir) = backup_config($other, 'database = shop', 'keep_last = 1', "bindir = $bin",
		map { s/store:backups/store:backups\/second/r =~ s/\/%d\/%t\/\*\* \K.*/store:backups\/second/r } grep { !/^list/ } @lines);
	is(said(0, '--init', $index_file), "0pg_pardump_backup: made the index of the store, with 0 backups\n", 'index: --init');
	is(said($_, $index_file), '0', "index, night $_") foreach 0, 1;
	is_deeply([ grep { /^second/ } @{ stored_backups() } ], [ 'second/=index/index', "second/shop/$names[1]" ], 'index: the store');
	system_or_bail('rm', '-rf', $index_dir);
	mkdir $index_dir, 0700 or die "could not make \"$index_dir\": $!";
	is(said(2, '--rebuild', $index_file), "0pg_pardump_backup: rebuilt 1 record in directory \"$index_dir\"\n", 'index: --rebuild');
	is(said(2, '--verify', 'latest', $index_file), "0verified 1 backup\n", 'index: --verify');
}

$other->stop;
done_testing();
