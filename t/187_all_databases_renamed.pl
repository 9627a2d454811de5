# Databases that change their names while others have their turn, and the timeouts of
# the role that dumps them all, also where stock programs connect.

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

# ---- the first one gets the name of the third while the second is dumped

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
is(value($node, 'third', 'SELECT count(*) FROM t'), 60000, 'the first has the name of the third');
is($rc, 1, 'renamed: exit code');
like($err, qr/^pg_pardump:third: error: database "third" is not the one that had this name when the run started\n.*^pg_pardump: error: could not dump 1 of 5 databases$/ms,
	'renamed: the one that is not what it was is named');
is_deeply(
	{ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } },
	{ third => 'failed', map { $_ => 'complete' } qw(first second postgres template1) },
	'renamed: it is not in the dump, which is not taken for complete');
ok(!-e archive_of($dir, 'third'), 'renamed: nothing is dumped twice');

# ---- another user replaces the directory of the archives with a link to his own

my $others = new_path('others');
my @oids = split /\n/, value($node, 'postgres', q{SELECT oid FROM pg_database WHERE datname <> 'template0'});
mkdir $_ or die "could not make \"$_\": $!" foreach $others, map { ("$others/$_", "$others/$_/below") } @oids;
append_to_file("$others/$_/below/kept", 'x') foreach @oids;
my ($shared, $linking) = (new_path('shared'), new_path('linking'));
mkdir $linking or die "could not make \"$linking\": $!";
symlink fake_pg_dump('failing', 'exit 1'), "$linking/pg_dump" or die "could not link: $!";
# pg_pardump waits for pg_dumpall, so that the link is in place before the first database
append_to_file("$linking/pg_dumpall", <<"SH");
#!/bin/sh
case \$* in *--version*) ;; *)
	mv '$shared/databases' '$shared/aside' && ln -s '$others' '$shared/databases' || exit ;;
esac
exec "$programs/pg_dumpall" "\$@"
SH
chmod 0755, "$linking/pg_dumpall" or die "could not change a mode: $!";
($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-f', $shared, '-j1', "--pg-dump=$linking/pg_dump",
	'-h', $node->host, '-p', $node->port);
is($rc, 1, 'a link: exit code');
like($err, qr/error: directory "\Q$shared\E\/databases\/\d+" exists but is not empty\n/, 'a link: it was followed');
is(scalar(() = glob "$others/*/below/kept"), scalar(@oids), 'a link: what is behind it is there');

# ---- a database is made on the target, by a role that may, just before it is restored

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
is($rc, 1, 'made by another: exit code');
like($err, qr/^pg_parrestore:second: error: database "second" on the target was created by another session during the run\n/m,
	'made by another: message');
is(value($new, 'second', q{SELECT to_regclass('t') IS NULL}), 't', 'made by another: nothing is restored there');

# ---- the role's timeouts are not for what is asked of all databases

sql($node, 'postgres', q{
	CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET statement_timeout = '1min'; ALTER ROLE hasty SET log_statement = 'all'});
($rc, $err) = dump_all($node, '-j2', '-U', 'hasty');
is("$rc$err", '0', 'timeouts: all are dumped');
like(slurp_file($node->logfile), qr/statement: SET statement_timeout = 0\n(?:(?!statement: SELECT d\.oid).*\n)*.*pg_database_size/,
	'timeouts: none holds when the sizes are asked for');

# nor when stock pg_dumpall reads the roles, but where it could not matter, as there are
# poolers that refuse options
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
		is("$rc$err", '0', "$statement, $lock, $connection: roles are read");
		is(slurp_file($shown) =~ s/\n(?!\z)/ /gr, "$want $work_mem\n", "$statement, $lock, $connection: what holds for pg_dumpall");
	}
}

$node->stop;
done_testing();
