# All databases of a cluster: dumped, one of which cannot be, and restored into
# an empty cluster, which is equal by pg_dumpall and by all rows; and copied.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(sessions wait_until);
use Pardump::Cluster qw(start_cluster run_program new_path nothing_left_ok start_psql sql value);
use Pardump::WholeCluster qw(make_cluster odd_names create_database cluster_print
  same_cluster_ok globals_text read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; sessions() knows ours by their own
# names.
delete $ENV{PGAPPNAME};

# A tablespace has a directory of its own in each cluster, at the same place:
# first the one is there, then the other.
my $space = new_path('space');
mkdir "$space.$_" or die "could not create \"$space.$_\": $!" foreach qw(source target);
symlink "$space.source", $space or die "could not link \"$space\": $!";

my $source = start_cluster('all_source');
my @names = (odd_names(), 'postgres', 'template1');
make_cluster($source, $space);

# what pg_dumpall leaves out
create_database($source, $_) foreach qw(closed invalid);
sql($source, 'postgres', q{
	ALTER DATABASE closed ALLOW_CONNECTIONS false;
	UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'invalid'});

# ---- a database that cannot be dumped

create_database($source, 'broken');
sql($source, 'broken', 'CREATE TABLE busy AS SELECT 1');
my $holder = start_psql($source, 'broken');
$holder->('BEGIN; LOCK TABLE busy');
my ($rc, $err, $dir) = dump_all($source, '-j3', '--lock-wait-timeout=3000');
is($rc, 1, 'one cannot be dumped: exit code');
like($err, qr/^pg_pardump:broken: error: .*^pg_pardump: error: could not dump 1 of 8 databases\n.*detail: Failed databases: "broken"\.\n.*detail: The archives of the other databases are complete\.$/ms,
	'one cannot be dumped: message');
is_deeply(
	{ map { $_->{Name} => $_->{State} } @{ read_map($dir)->{Databases} } },
	{ broken => 'failed', map { $_ => 'complete' } @names },
	'one cannot be dumped: states in the map, which has the databases of pg_dumpall');
ok(!-e archive_of($dir, 'broken'), 'one cannot be dumped: it has no archive');
is(scalar(grep { -f archive_of($dir, $_) . '/toc.dat' } @names), @names, 'one cannot be dumped: the other archives are complete');
$holder->('ROLLBACK');
$holder->();
sql($source, 'postgres', 'DROP DATABASE broken');

# ---- all of them

($rc, $err, $dir) = dump_all($source, '-j3', '--chunk-size=512kB');
is("$rc $err", '0 ', 'dump of all databases: exit code and messages');
is(sprintf('%o', (stat "$dir/globals.sql")[2] & 07777), '600', 'no other user may read the passwords');
like(slurp_file("$dir/globals.sql"), qr/SCRAM-SHA-256/, 'globals.sql contains passwords');
my @sizes = map { $_->{Bytes} } @{ read_map($dir)->{Databases} };
is_deeply(\@sizes, [ sort { $b <=> $a } @sizes ], 'the map begins with the largest database');
is(read_map($dir)->{Databases}[0]{Name}, 'shop', 'the first database of the map');
foreach my $name (@names)
{
	my $shown = $name =~ s/\n/ /gr;
	my ($rc) = run_program('pg_pardump', '--verify', archive_of($dir, $name));
	is($rc, 0, "$shown: verified");
	($rc) = run_program('pg_restore', '-l', archive_of($dir, $name));
	is($rc, 0, "$shown: stock pg_restore reads it");
}
nothing_left_ok($source, $dir, 'dump');

# ---- into an empty cluster

my $want = cluster_print($source, @names);
my $globals = globals_text($source);
$source->stop;
unlink $space or die "could not remove \"$space\": $!";
symlink "$space.target", $space or die "could not link \"$space\": $!";
my $target = start_cluster('all_target');
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j3',
	'-d', 'host=' . $target->host . ' port=' . $target->port, $dir);
is("$rc $err", '0 ', 'restore of all databases: exit code and messages');
is(globals_text($target), $globals, 'roles, memberships, settings, tablespaces');
same_cluster_ok($want, $target, 'restored');
nothing_left_ok($target, $dir, 'restore');
is(value($target, 'in space', q{SELECT spcname FROM pg_tablespace t JOIN pg_database d ON d.dattablespace = t.oid
	WHERE datname = current_database()}), 'space', 'the tablespace is used');

# without tablespaces
my $other = start_cluster('all_other');
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j1', '--no-tablespaces', '--exclude-database', '"in space"',
	'-d', $other->connstr('postgres'), $dir);
is("$rc $err", '0 ', '--no-tablespaces: exit code and messages');
is(value($other, 'shop', 'SELECT count(*) FROM pg_tablespace'), 2, '--no-tablespaces: no tablespace is created');
is(value($other, 'shop', 'SELECT count(*) FROM orders'), 30000, '--no-tablespaces: the rows are there');
$other->stop;

# once more, when all databases exist
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j3',
	'-d', $target->connstr('postgres'), $dir);
is($rc, 1, 'existing databases: exit code');
is(scalar(() = $err =~ /^pg_parrestore: error: database ".*?" already exists on the target$/msg), odd_names(),
	'existing databases: message for each');
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '--globals-only',
	'-d', $target->connstr('postgres'), $dir);
is("$rc $err", '0 ', 'existing roles: exit code and messages');
is(globals_text($target), $globals, 'existing roles: globals are not changed');

# ---- from cluster to cluster

my $copy = start_cluster('all_copy');
my ($rc2, $out2, $err2) = run_program('pg_pardump', '--all-databases', '-j3', '--no-tablespaces',
	'-d', $target->connstr('postgres'), '--target', $copy->connstr('template1'), '--compare', '--trust-owners');
is("$rc2 $err2", '0 ', 'copy of all databases: exit code and messages');
like($out2, qr/^\[\d\/7\] two\\x0alines: 1 table, 300 rows, 1 large object, .*, equal to the source$/m, 'copy of all databases: line of a database');
is(scalar(() = $out2 =~ /^\[\d\/7\] /mg), @names, 'copy of all databases: a line for each');
sql($target, 'postgres', 'ALTER DATABASE "in space" SET TABLESPACE pg_default');
$want = cluster_print($target, @names);
$want->{text} =~ s/^(CREATE|ALTER|GRANT|REVOKE)[^\n]* TABLESPACE [^\n]*\n//mg;
$want->{text} =~ s/^--\n-- Tablespaces\n--\n//mg;
same_cluster_ok($want, $copy, 'copied');
# they end a moment after their client
ok(wait_until('no session', sub { sessions($target) + sessions($copy) == 0 }), 'copy: no session left');

$_->stop foreach ($target, $copy);
done_testing();
