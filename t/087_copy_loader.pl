# Who loads the rows of direct copies on the target, and builds their indexes: the
# extension's library where it is there, and what it cannot do, or where it is not
# wanted, the server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database own_installation installed_at run_program
  sql pg_major);
use Pardump::Copy qw(run_copy copy_ok);
use Pardump::Index qw(built_in_log);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('loader_source');
my $installation = own_installation();
my $target = start_cluster('loader_target', install_path => $installation);
$target->append_conf('postgresql.conf', "log_min_messages = debug1\nlog_statement = all");
$target->reload;

make_database($source, 'loader');
sql($source, 'loader', <<'SQL');
-- more than 8 MB, and enough rows for the library's builds
CREATE TABLE plain (id int PRIMARY KEY, t text) WITH (fillfactor = 75);
INSERT INTO plain SELECT g, md5(g::text) FROM generate_series(1, 100000) g;
CREATE TABLE root (id int, t text) PARTITION BY RANGE (id);
CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (1000);
INSERT INTO root SELECT g, md5(g::text) FROM generate_series(0, 999) g;
CREATE TABLE generated (a int, b int GENERATED ALWAYS AS (a + 1) STORED);
INSERT INTO generated (a) SELECT generate_series(1, 100);
SQL

# How many COPY the library did, and how many it left to the server; how often it
# was loaded; and how many indexes it built; by the target's log from an offset.
sub counts
{
	my ($offset) = @_;
	my $log = slurp_file($target->logfile, $offset);
	my $ours = () = $log =~ /COPY to table ".*" is done by pg_pardump/g;
	my $left = () = $log =~ /COPY to table ".*" is left to the server: it has generated columns/g;
	my $loads = () = $log =~ /statement: LOAD /g;
	my $built = built_in_log($log);
	return ($ours, $left, $loads, scalar keys %$built);
}

# Since 19 indexes are the server's, which a session that builds some finds out.
my $builds = pg_major($target) < 19 ? 1 : 0;
my $rows_are_left = 'loading rows with the target\'s own COPY: ';
my $indexes_are_left = 'building indexes with the target\'s own CREATE INDEX: ';
my @without = $builds ? () : ("${indexes_are_left}This release's access methods cannot be replaced");

# loaded_ok('what', [expected counts], how messages are, options...): copies into
# a new database, which is made as the code $prepare says.
my $copies = 0;

sub loaded_ok
{
	my ($what, $expected, $said, $prepare, @options) = @_;
	my $db = 'copy' . ++$copies;
	make_database($target, $db);
	sql($target, 'postgres', $prepare =~ s/DB/$db/gr) if $prepare;
	my $offset = -s $target->logfile;
	my ($rc, $out, $err) = run_copy($source, 'loader', $target, $db, '-v', '-j1', '--compare', @options);
	is($rc, 0, "$what: exit code") or diag($err);
	like($out, qr/^comparison: [^\n]*, [\d,]+ rows? in \d+\.\d s, no differences found$/m, "$what: the same rows");
	is_deeply([ counts($offset) ], $expected, "$what: numbers of loads by loader");
	my @told;
	push @told, "$1: $2" while $err =~ /: (\w+ \w+ with the target's own .*)\n\S+ detail: (.*)\.\n/g;
	is_deeply(\@told, $said, "$what: messages");
	return;
}

# the library is loaded by the leader, by the only worker, and by the session that
# builds the only index
loaded_ok('the library', [ 2, 1, 3, $builds ], \@without, undef, '--copy-format=text');
loaded_ok('binary is the server\'s', [ 0, 0, 3, $builds ], \@without, undef, '--copy-format=binary');
loaded_ok('--no-extension', [ 0, 0, 0, 0 ], [ map { "${_}Option --no-extension was specified" } $rows_are_left, $indexes_are_left ],
	undef, '--copy-format=text', '--no-extension');
loaded_ok('--no-fast-index', [ 2, 1, 2, 0 ], ["${indexes_are_left}Option --no-fast-index was specified"],
	undef, '--copy-format=text', '--no-fast-index');
loaded_ok('the database\'s setting of COPY', [ 0, 0, 2, $builds ], [ "${rows_are_left}Setting pg_pardump.fast_copy is off on the target", @without ],
	'ALTER DATABASE DB SET pg_pardump.fast_copy = off', '--copy-format=text');
loaded_ok('the database\'s setting of indexes', [ 2, 1, 2, 0 ], ["${indexes_are_left}Setting pg_pardump.fast_index is off on the target"],
	'ALTER DATABASE DB SET pg_pardump.fast_index = off', '--copy-format=text');
loaded_ok('preloaded anyway', [ 2, 1, 3, $builds ], \@without,
	'ALTER DATABASE DB SET local_preload_libraries = pg_pardump', '--copy-format=text');

# any role may
sql($target, 'postgres', 'CREATE ROLE plain LOGIN');
make_database($target, 'plains', options => 'OWNER plain TEMPLATE template0');
my $offset = -s $target->logfile;
my ($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr('loader'), '-O', '-x',
	'--copy-format=text', '--target', $target->connstr('plains') . ' user=plain');
is("$rc$err", '0', 'a role without privileges: copied, without a word');
is_deeply([ counts($offset) ], [ 2, 1, 3, $builds ], 'a role without privileges: numbers of loads by loader');

# a server that has no such library
SKIP:
{
	skip 'the installation is not the tests\' own' if !defined $installation;
	my $library = installed_at($installation, '--pkglibdir') . '/plugins/pg_pardump.so';
	rename $library, "$library.away" or die "could not rename \"$library\": $!";
	my $missing = 'Could not access file "$libdir/plugins/pg_pardump": No such file or directory';
	loaded_ok('no library', [ 0, 0, 1, 0 ], [ map { "$_$missing" } $rows_are_left, $indexes_are_left ],
		undef, '--copy-format=text');
	make_database($target, 'silent');
	copy_ok($source, 'loader', $target, 'silent', 'no library, without -v', '-j2', '--copy-format=text');
	my $control = installed_at($installation, '--sharedir') . '/extension/pg_pardump.control';
	rename $control, "$control.away" or die "could not rename \"$control\": $!";
	my $log_offset = -s $target->logfile;
	loaded_ok('no extension', [ 0, 0, 0, 0 ], [ map { "${_}Extension pg_pardump is not available on the target's server" } $rows_are_left, $indexes_are_left ],
		undef, '--copy-format=text');
	unlike(slurp_file($target->logfile, $log_offset), qr/ERROR: /, 'no extension: no error in the target\'s log');
	rename "$_.away", $_ or die "could not rename \"$_\": $!" foreach $library, $control;
}

$source->stop;
$target->stop;
done_testing();
