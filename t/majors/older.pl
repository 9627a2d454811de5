
# The older side of newer.pl: a server that can be reached at 127.0.0.1, by a
# password of this run, with the database of everything and PostgreSQL's
# regression database in it.
#
# scripts/test_majors.sh opens descriptor 8 for what the other side has to know,
# and holds the other end of descriptor 7 until that side is done, or dies.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Pardump::Cluster qw(start_cluster sql);
use Pardump::Databases qw(make_everything make_regression regress_dir);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('older', allows_streaming => 'logical', leave_stopped => 1);
my $password = join '', map { ('a' .. 'z')[ rand 26 ] } 1 .. 20;
my $library_path = '$libdir:' . regress_dir();
$node->append_conf('postgresql.conf', <<"CONF");
listen_addresses = '127.0.0.1'
dynamic_library_path = '$library_path'
CONF
unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', <<'HBA');
local all all trust
host all,replication all 127.0.0.1/32 scram-sha-256
HBA
$node->start;
sql($node, 'postgres', "ALTER ROLE CURRENT_USER PASSWORD '$password'");

make_everything($node);
cmp_ok(make_regression($node), '>', 150, 'the regression tests ran');

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

open my $out, '>&=', 8 or die "could not use descriptor 8: $!";
printf $out "127.0.0.1 %d %s %s\n", $node->port, sql($node, 'postgres', 'SELECT CURRENT_USER'), $password;
close $out;
open my $end, '<&=', 7 or die "could not use descriptor 7: $!";
<$end>;

$node->stop('fast');
done_testing();
