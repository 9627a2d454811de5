
# A server of an older major, which older.pl runs on another release, is copied,
# and dumped and restored, into one of this major, and comes out as by stock
# pg_dump and pg_restore; so do archives of its own pg_dump, restored by
# pg_parrestore; and a database moves while sessions write to it.  By
# this major's programs, unless its pg_dump is too old for the other server:
# then that is told, and the older side's programs do it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use Pardump::Cluster qw(start_cluster run_program new_path sql value pg_major);
use Pardump::Compare qw(schema_text same_schema_ok);
use Pardump::Copy qw(copy_refused_ok);
use Pardump::Databases qw(prepare_for_everything regress_dir);
use Pardump::Majors qw(allow_access other_node kept_archives_ok copies_ok move_ok);
use PostgreSQL::Test::Utils;
use Test::More;

open my $in, '<&=', 9 or die "could not use descriptor 9: $!";
my ($port, $user, $password) = split ' ', scalar <$in>;
my $source = other_node('older', $port, $user, $password);

my $target = start_cluster('newer', allows_streaming => 'logical', leave_stopped => 1);
$target->append_conf('postgresql.conf',
	"dynamic_library_path = '\$libdir:" . regress_dir() . "'");
allow_access($target);
$target->start;
my $from_to = int(value($source, 'postgres', 'SHOW server_version_num') / 10000) .
  ' to ' . pg_major($target);

sub same_ok
{
	my ($stock, $copy, $what) = @_;
	same_schema_ok(schema_text($target, $stock), schema_text($target, $copy), $what);
	return;
}

prepare_for_everything($target);
my $globals = new_path('globals.sql');
run_program('pg_dumpall', '--roles-only', '-f', $globals, '-d', $source->connstr('postgres'));
run_program('psql', '-Xq', '-d', $target->connstr('postgres'), '-f', $globals);
sql($target, 'postgres', qq{ALTER ROLE "$user" SUPERUSER LOGIN PASSWORD '$password'});

kept_archives_ok($source, $target, $from_to, \&same_ok);
if ((run_program('pg_dump', '-s', '-d', $source->connstr('everything')))[1] !~ /pg_attver/)
{
	copy_refused_ok(qr/target server version .* is older than the pg_dump in use/,
		"$from_to, the other way", $source, 'postgres', $source, 'everything');
	copies_ok($source, $target, "$from_to, by its own programs", \&same_ok);
	move_ok($source, $target, $from_to,
		$source->connstr('bank') . " user=$user password=$password");
}
else
{
	copy_refused_ok(qr/pg_dump .* is too old for a server of version .*\n.*detail: Its definitions of columns could not be restored\.\n.*hint: Update pg_dump/,
		"$from_to, a pg_dump too old for the server", $source, 'everything', $target, 'postgres');
	SKIP: { skip "$from_to: no copy by this pg_dump, but by that of the older side", 1; }
	sql($source, 'postgres', 'CREATE TABLE made (stock text, copy text, what text);
		CREATE TABLE task AS SELECT ' . $target->port . ' AS port');
	for (my $tries = 0; value($source, 'postgres', 'SELECT count(*) FROM task') > 0; $tries++)
	{
		die 'the older side has not done its task' if $tries > 1800;
		sleep 1;
	}
	my @made = split /\n/, value($source, 'postgres', 'TABLE made');
	cmp_ok(scalar(@made), '>', 0, "$from_to: the older side has made copies");
	same_ok(split /\|/) foreach @made;
}

$target->stop;
done_testing();
