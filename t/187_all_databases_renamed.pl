# Databases that are renamed during the dump of all databases; a directory that is
# replaced by a link; a database that another role creates during a restore; and the
# timeouts of the dumping role, also in sessions of stock programs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use File::Basename qw(dirname);
use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use Pardump::Command qw(fake_pg_dump text_file);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('renamed');
my $rows = 60000;
foreach my $name (qw(first second third))
{
	create_database($node, $name);
	sql($node, $name, "CREATE TABLE t AS SELECT g, '$name' FROM generate_series(1, $rows) g");
	$rows -= 25000;
}

# ---- while the second database is dumped, the first one gets the name of the third

my $turns = new_path('turns');
my $connection = join ' ', '-h', $node->host, '-p', $node->port;
my $pg_dump = fake_pg_dump('renaming', <<"SH");
echo turn >>'$turns'
if [ "\$(wc -l <'$turns')" -eq 2 ]; then
	psql -Xq $connection -c 'ALTER DATABASE first RENAME TO aside' -c 'ALTER DATABASE third RENAME TO first' \\
		-c 'ALTER DATABASE aside RENAME TO third' postgres >&2
fi
exec "\$PG_DUMP" "\$@"
SH
my ($programs) = grep { -x "$_/pg_dumpall" } split /:/, $ENV{PATH};
symlink "$programs/pg_dumpall", dirname($pg_dump) . '/pg_dumpall' or die "could not link: $!";

my ($rc, $err, $dir) = dump_all($node, '-j1', "--pg-dump=$pg_dump");
is(value($node, 'third', 'SELECT count(*) FROM t'), 60000, 'renamed: database third contains the rows of the first one');
is($rc, 1, 'renamed: exit code');
like($err, qr/^pg_pardump:third: error: database "third" is not the one that had this name when the run started\n.*^pg_pardump: error: could not dump 1 of 5 databases$/ms,
	'renamed: the message names the database whose name belongs to another one now');
is_deeply(
	{ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } },
	{ third => 'failed', map { $_ => 'complete' } qw(first second postgres template1) },
	'renamed: the map shows the state of each database');
ok(!-e archive_of($dir, 'third'), 'renamed: no archive of database third exists');

# ---- another user replaces the directory of the archives with a link to another directory

my $others = new_path('others');
my @oids = split /\n/, value($node, 'postgres', q{SELECT oid FROM pg_database WHERE datname <> 'template0'});
mkdir $_ or die "could not make \"$_\": $!" foreach $others, map { ("$others/$_", "$others/$_/below") } @oids;
append_to_file("$others/$_/below/kept", 'x') foreach @oids;
my $shared = new_path('shared');

# The directory of the first database is made while its pg_dump runs.  With one worker, the
# link is in place before that of the second one is made.
$pg_dump = fake_pg_dump('linking', <<"SH");
if [ ! -e '$shared/aside' ]; then
	until ls -d '$shared'/databases/*/ >/dev/null 2>&1; do sleep 0.05; done
	mv '$shared/databases' '$shared/aside' && ln -s '$others' '$shared/databases'
fi
exit 1
SH
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-f', $shared, '-j1', "--pg-dump=$pg_dump",
	'-h', $node->host, '-p', $node->port);
is($rc, 1, 'a link: exit code');
like($err, qr/error: directory "\Q$shared\E\/databases\/\d+" exists but is not empty\n/, 'a link: message');
is(scalar(() = glob "$others/*/below/kept"), scalar(@oids), 'a link: files behind the link still exist');

# ---- another role creates a database on the target just before its restore

my $new = start_cluster('renamed_new');
my $at_new = join ' ', '-h', $new->host, '-p', $new->port;
sql($new, 'postgres', 'CREATE ROLE maker LOGIN CREATEDB');
my $pg_restore = text_file('making', <<"SH");
#!/bin/sh
case "\$*" in *--create*) psql -Xq $at_new -U maker -c 'CREATE DATABASE second' postgres >&2
	psql -Xq $at_new -U maker -c 'CREATE TABLE public.theirs ()' second >&2;; esac
exec '$programs/pg_restore' "\$@"
SH
chmod 0755, $pg_restore or die "could not make \"$pg_restore\" executable: $!";
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', "--pg-restore=$pg_restore", '-d', $new->connstr('postgres'),
	'--exclude-database=first', '--exclude-database=third', (dump_all($node))[2]);
is($rc, 1, 'created by another role: exit code');
like($err, qr/^pg_parrestore:second: error: database "second" on the target was created by another session during the run\n/m,
	'created by another role: message');
is(value($new, 'second', q{SELECT to_regclass('t') IS NULL}), 't', 'created by another role: no table is restored into the database');

# ---- the queries about all databases run without the role's timeouts

sql($node, 'postgres', q{
	CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET statement_timeout = '1min'; ALTER ROLE hasty SET log_statement = 'all'});
($rc, $err) = dump_all($node, '-j2', '-U', 'hasty');
is("$rc$err", '0', 'timeouts: exit code and messages of the dump');
like(slurp_file($node->logfile), qr/statement: SET statement_timeout = 0\n(?:(?!statement: SELECT d\.oid).*\n)*.*pg_database_size/,
	'timeouts: statement_timeout is off when sizes are read');

# Timeouts below a minute are also turned off for stock pg_dumpall.  Longer ones are not,
# because some poolers refuse options.
my ($shown, $bin) = (new_path('shown'), new_path('bin'));
mkdir $bin or die "could not make \"$bin\": $!";
symlink "$programs/pg_dump", "$bin/pg_dump" or die "could not link: $!";
append_to_file("$bin/pg_dumpall", <<"SH");
#!/bin/sh
case \$* in *--version*) ;; *) psql -XAtq -d "\$6" -c 'SHOW statement_timeout' -c 'SHOW lock_timeout' -c 'SHOW work_mem' >'$shown' || exit ;; esac
exec "$programs/pg_dumpall" "\$@"
SH
chmod 0755, "$bin/pg_dumpall" or die "could not change a mode: $!";
foreach my $try ([ '50s', '2s', '0 0' ], [ '0', '59999ms', '0 0' ], [ '1h', '1min', '1h 1min' ], [ '1h', '2s', '1h 0' ])
{
	my ($statement, $lock, $want) = @$try;
	sql($node, 'postgres', "ALTER ROLE hasty SET statement_timeout = '$statement'; ALTER ROLE hasty SET lock_timeout = '$lock'");
	local $ENV{PGOPTIONS} = '-c work_mem=6MB';
	foreach my $set ([ 'user=hasty', '6MB' ], [ q{user=hasty options='-c work_mem=7MB'}, '7MB' ])
	{
		my ($connection, $work_mem) = @$set;
		($rc, $err) = dump_all($node, '-g', "--pg-dump=$bin/pg_dump", '-d', $connection);
		is("$rc$err", '0', "$statement, $lock, $connection: exit code and messages");
		is(slurp_file($shown) =~ s/\n(?!\z)/ /gr, "$want $work_mem\n", "$statement, $lock, $connection: settings of pg_dumpall's session");
	}
}

$node->stop;
done_testing();
