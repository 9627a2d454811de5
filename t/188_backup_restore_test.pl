# pg_pardump_backup --restore-test: what an ordinary user is told, and what the program
# does with the new server, here one that the test has started.  Everything that needs
# root is in test/packages/restore_test.sh.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use lib `pg_config --sharedir` =~ s/\n//r . '/pg_pardump';

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value pg_major);
use Pardump::Nights qw(backup_config run_backup time_name);
use PardumpBackup::Catalog qw(find_backups);
use PardumpBackup::Config qw(read_config);
use PardumpBackup::Programs qw(find_programs);
use PardumpBackup::RestoreCheck qw(describe_backup test_backups);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $now = 1_800_000_000;
my $name = time_name($now);
my $node = start_cluster('source');
my ($bin) = `pg_config --bindir` =~ /(.*)/;
my $superuser = value($node, 'postgres', 'SELECT CURRENT_USER');

# ---- refusals

SKIP:
{
	skip 'for an ordinary user', 2 if $> == 0;
	my ($file) = backup_config($node, 'drill_user = unprivileged');
	my ($rc, $out, $err) = run_backup($now, '--restore-test', $file);
	is("$rc$out", '2', 'an ordinary user: exit code');
	like($err, qr/\Apg_pardump_backup: error: option --restore-test requires root\npg_pardump_backup: detail: It runs a server as the user of drill_user, .*\npg_pardump_backup: hint: Run the command with sudo, or .*\n\z/, 'an ordinary user: message');
}

# ---- backups

my $share = `pg_config --sharedir` =~ s/\n//r;
append_to_file("$share/extension/needs_library.control", "default_version = '1'\nrelocatable = true\n");
append_to_file("$share/extension/needs_library--1.sql", <<'SQL');
DO $$ BEGIN IF current_database() <> 'library' THEN
RAISE EXCEPTION 'needs_library must be loaded via shared_preload_libraries'; END IF; END $$;
SQL
make_database($node, $_) foreach 'shop', 'odd name', 'library', 'parts';
sql($node, 'postgres', 'CREATE ROLE app; GRANT app TO CURRENT_USER');
sql($node, 'shop', <<'SQL');
CREATE TABLE t (id int PRIMARY KEY, n int);
INSERT INTO t SELECT g, g FROM generate_series(1, 20000) g;
ALTER TABLE t OWNER TO app, ADD CONSTRAINT late CHECK (n > 10) NOT VALID;
SQL
sql($node, 'odd name', 'CREATE SCHEMA "s ""x"; CREATE TABLE "s ""x"."a table" AS SELECT 1 AS one; CREATE TABLE empty (one int)');
sql($node, 'library', 'CREATE EXTENSION needs_library');
sql($node, 'parts', <<'SQL');
CREATE TABLE p (k text) PARTITION BY HASH (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO p SELECT g FROM generate_series(1, 1000) g;
CREATE INDEX ON ONLY p (k);
SQL
my ($file, $dir) = backup_config($node, 'jobs = 2');
is((run_backup($now, $file))[0], 0, 'backups');
my ($config, @wrong) = read_config($file);
is_deeply(\@wrong, [], 'the configuration');
find_programs($config, 'pg_parrestore');
my @backups = map { describe_backup($config, $_) } find_backups($config, 'latest');
is_deeply([ map { $_->{database} } @backups ], [ 'library', 'odd name', 'parts', 'postgres', 'shop', 'template1' ], 'what is tested');
is_deeply([ map { $_->{major} } @backups ], [ (pg_major($node)) x 6 ], 'the major of the server');

# ---- a server for each test, as the program makes room in it

my $number = 0;

sub test_ok
{
	my ($what, $want, $lines, @tested) = @_;
	my $server = PostgreSQL::Test::Cluster->new('drill' . ++$number);
	my $client = new_path('client');
	mkdir $client, 0700 or die "could not make \"$client\": $!";
	$server->init;
	$server->start;
	my %access = (host => $server->host, port => $server->port, username => $superuser, major => pg_major($node), bin => $bin, client => $client);
	my $out = '';
	my $result;
	{
		local %ENV = %ENV;
		open my $saved, '>&', \*STDOUT or die "could not save standard output: $!";
		my $path = new_path('report');
		STDOUT->flush;
		open STDOUT, '>', $path or die "could not open \"$path\": $!";
		$result = eval { test_backups($config, \%access, @tested) };
		STDOUT->flush;
		open STDOUT, '>&', $saved or die "could not restore standard output: $!";
		$out = slurp_file($path) . ($@ // '');
	}
	is($result ? 1 : 0, $want, "$what: the result") or diag($out);
	my $pattern = join '', map { "$_\n" } @$lines;
	like($out, qr/\A$pattern\z/, "$what: the report");
	my $left = value($server, 'pardump_drill', 'SELECT string_agg(datname, \' \' ORDER BY datname) FROM pg_database');
	is($left, 'pardump_drill template0', "$what: databases are dropped");
	$server->stop('immediate');
	return;
}

my $figures = '[\d.]+ MB in (?:\d+\.\d s|\d:\d\d)';
test_ok('all', 1, [
	"\\[1/6\\] library/$name: not tested: extension \"needs_library\" needs a library that drill_preload does not list",
	"\\[2/6\\] odd name/$name: passed: 2 tables, 1 row, $figures",
	"\\[3/6\\] parts/$name: passed: 2 tables, 1,000 rows, $figures",
	"\\[4/6\\] postgres/$name: passed: 0 tables, 0 rows, $figures",
	"\\[5/6\\] shop/$name: passed: 1 table, 20,000 rows, $figures",
	"\\[6/6\\] template1/$name: passed: 0 tables, 0 rows, $figures",
	'restore test passed \(databases passed: 5, failed: 0, not tested: 1\)' ], @backups);

# ---- what is damaged, or cannot be tested

{
	my ($shop) = grep { $_->{database} eq 'shop' } @backups;
	my ($odd) = grep { $_->{database} eq 'odd name' } @backups;
	my $globals = "$odd->{path}/globals.sql";
	my $text = slurp_file($globals);
	my $run = new_path('run');
	append_to_file($globals, "\\! touch $run\n");
	test_ok('a command of psql', 0, [
		"\\[1/1\\] odd name/$name: FAILED: could not restore globals.sql",
		'  detail: Could not read the script of roles and tablespaces\.',
		'  detail: It contains "\\\\!", which pg_dumpall does not write\.',
		'  hint: Check the script, .*',
		'restore test FAILED \(databases passed: 0, failed: 1, not tested: 0\)' ], $odd);
	ok(!-e $run, 'a command of psql is not run');
	unlink $globals;
	append_to_file($globals, $text . "GRANT nosuch TO app;\n");
	my ($data) = grep { -s } glob "$shop->{archive}/[0-9]*.dat*";
	open my $fh, '+<', $data or die "could not open \"$data\": $!";
	seek $fh, 5, 0;
	print $fh 'X';
	close $fh or die "could not write \"$data\": $!";
	test_ok('damage', 0, [
		"\\[1/2\\] odd name/$name: FAILED: could not restore globals.sql",
		'  detail: Could not create the roles and tablespaces: role "nosuch" does not exist\.',
		'  detail: Statement was: GRANT nosuch TO app',
		"\\[2/2\\] shop/$name: FAILED: pg_pardump --verify failed with exit code 1",
		'restore test FAILED \(databases passed: 0, failed: 2, not tested: 0\)' ], $odd, $shop);
	unlink $globals;
	test_ok('nothing to test', 0, [
		"\\[1/4\\] odd name/$name: not tested: it contains no globals.sql \\(globals = no\\)",
		"\\[2/4\\] shop/$name: not tested: it is from PostgreSQL 9, but the newest backup is from PostgreSQL \\d+",
		"\\[3/4\\] shop/$name: not tested: the version of its server is unknown",
		"\\[4/4\\] shop/$name: not tested: its files were written by the command of \"pipe\", and the key \"fetch\" is not set",
		'the restore test tested no backup', 'hint: The lines above state the reasons\. .*' ], $odd, { %$shop, major => 9 }, { %$shop, major => undef }, { %$shop, pipe => 1 });
}

# ---- the comparison of a database with its manifest, on the source, which is changed

sub comparison_is
{
	my ($what, $function, $database, $message) = @_;
	my ($backup) = grep { $_->{database} eq $database } @backups;
	my $client = new_path('client');
	mkdir $client, 0700 or die "could not make \"$client\": $!";
	my $test = { %$config, client => $client, program => { %{ $config->{program} }, pg_restore => "$bin/pg_restore" } };
	my $good = eval { $function->($test, $backup); 1 };
	is($good ? '' : $@, $message, $what);
	return;
}

my $counts = \&PardumpBackup::RestoreCheck::compare_counts;
my $indexes = sub { PardumpBackup::RestoreCheck::check_indexes($_[0], $_[1]{database}) };
my $constraints = \&PardumpBackup::RestoreCheck::check_constraints;

comparison_is('equal counts', $counts, 'shop', '');
sql($node, 'shop', 'DELETE FROM t WHERE id = 17');
comparison_is('a row less', $counts, 'shop', "the number of rows of table \"public\".\"t\" is 20000 in the backup, but 19999 after the restore\n");
comparison_is('partitions', $counts, 'parts', '');
sql($node, 'parts', 'CREATE TABLE kept AS SELECT * FROM p; TRUNCATE p; DROP TABLE p0, p1;
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0); INSERT INTO p SELECT * FROM kept');
comparison_is('rows of another partition', $counts, 'parts', '');
sql($node, 'parts', "DELETE FROM p WHERE k = '17'");
comparison_is('a row less in a partition', $counts, 'parts', "the number of rows of table \"public\".\"p\" is 1000 in the backup, but 999 after the restore\n");
sql($node, 'odd name', 'DROP TABLE empty');
comparison_is('a table less', $counts, 'odd name', "could not count the rows of tables\ndetail: psql failed with exit code 1.\n");

{
	# as psql reads lines, the NUL would hide the end of the first name from it
	my $archive = new_path('archive');
	my $run = new_path('run');
	mkdir $archive, 0700 or die "could not make \"$archive\": $!";
	append_to_file("$archive/pg_pardump_manifest.json", <<"JSON");
{ "Path": "1.dat", "Schema": "a", "Table": "a\\u0000", "Rows": 1 },
{ "Path": "2.dat", "Schema": "z\\n\\\\! touch $run\\n", "Table": "t", "Rows": 1 }
JSON
	is(eval { $counts->({ %$config, client => $archive }, { database => 'shop', archive => $archive }); '' } // $@, "the manifest contains an impossible name of a table\n", 'a NUL in a name');
	ok(!-e $run, 'a NUL in a name: no command of psql is run');
}
sql($node, 'shop', qq{CREATE TABLE "two\n\\! lines" AS SELECT 1 AS one});
is_deeply([ PardumpBackup::RestoreCheck::count_rows($config, 'shop', ('public.t', qq{public."two\n\\! lines"}) x 600) ], [ (19999, 1) x 600 ], 'names with newlines, and many of them');
sql($node, 'shop', qq{DROP TABLE "two\n\\! lines"});

comparison_is('valid indexes', $indexes, $_, '') foreach 'shop', 'parts';
sql($node, 'shop', 'CREATE TABLE twice AS SELECT 1 AS one FROM generate_series(1, 2)');
$node->psql('shop', 'CREATE UNIQUE INDEX CONCURRENTLY broken ON twice (one)');
comparison_is('an index that is not valid', $indexes, 'shop', "index \"broken\" is not valid\n");

comparison_is('a constraint that is NOT VALID in the backup', $constraints, 'shop', '');
sql($node, 'shop', 'ALTER TABLE twice ADD CONSTRAINT big CHECK (one > 1) NOT VALID');
comparison_is('another constraint', $constraints, 'shop', "the number of constraints that are NOT VALID is 1 in the backup, but 2 after the restore\ndetail: One of them is \"big\".\n");

$node->stop;
done_testing();
