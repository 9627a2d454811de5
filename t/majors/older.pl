
# The older side of newer.pl: a server that can be reached at 127.0.0.1, by a
# password of this run, with the database of everything and PostgreSQL's
# regression database in it.  If the other side's programs cannot read it, this
# side's do all that has to be done.
#
# scripts/test_majors.sh opens descriptor 8 for what the other side has to know,
# and holds the other end of descriptor 7 until that side is done, or dies.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use IO::Select;
use Pardump::Cluster qw(sql value pg_major);
use Pardump::Databases qw(make_everything start_regression regress_dir);
use Pardump::Majors qw(allow_access other_node keep_archives copies_ok move_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_regression('older');
my $password = join '', map { ('a' .. 'z')[ rand 26 ] } 1 .. 20;
my $library_path = '$libdir:' . regress_dir();
$node->append_conf('postgresql.conf', "dynamic_library_path = '$library_path'\nwal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\n");
allow_access($node);
$node->restart;
sql($node, 'postgres', "ALTER ROLE CURRENT_USER PASSWORD '$password'");

make_everything($node);

# What PostgreSQL's own test of upgrades takes out of the regression database,
# because newer majors have it no more (its AdjustUpgrade.pm).  Functions of
# the tests' own libraries are looked for where the server's are, so that each
# side finds its own.
sql($node, 'regression', <<'SQL');
DROP FUNCTION IF EXISTS ttdummy(), set_ttdummy(integer), autoinc(), check_foreign_key(),
	check_primary_key(), get_columns_length(oid[]) CASCADE;
DROP TABLE IF EXISTS gtest_normal_child, gtest_normal_child2;
UPDATE pg_proc SET probin = regexp_replace(probin, '^.*/', '')
 WHERE probin ~ '/(regress|autoinc|refint)(\.so)?$';
SQL

keep_archives($node);
open my $out, '>&=', 8 or die "could not use descriptor 8: $!";
my $user = value($node, 'postgres', 'SELECT CURRENT_USER');
printf $out "%d %s %s\n", $node->port, $user, $password;
close $out;

# The end of the other side, or a task of its: a table.
open my $end, '<&=', 7 or die "could not use descriptor 7: $!";
my $select = IO::Select->new($end);
until ($select->can_read(1))
{
	next if value($node, 'postgres', "SELECT to_regclass('task') IS NULL") eq 't';
	my $port = value($node, 'postgres', 'SELECT port FROM task') || next;
	my $target = other_node('newer', $port, $user, $password);
	my $from_to = pg_major($node) . ' to '
	  . int(value($target, 'postgres', 'SHOW server_version_num') / 10000);
	copies_ok($node, $target, "$from_to, by the older side's programs", sub {
		sql($node, 'postgres', sprintf(q{INSERT INTO made VALUES ($$%s$$, $$%s$$, $$%s$$)}, @_)) });
	move_ok($node, $target, $from_to,
		"host=127.0.0.1 port=" . $node->port . " dbname=bank user=$user password=$password");
	sql($node, 'postgres', 'DELETE FROM task');
}

$node->stop('fast');
done_testing();
