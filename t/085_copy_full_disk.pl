
# Direct copies into a server whose disk fills up: that of a tablespace, which
# the server tells, and that of its WAL, which it does not survive.
# The copy ends with an account, no row comes twice, and nothing remains.
#
# The small disks are file systems in memory that only the target's server sees:
# as an ordinary user it mounts them in namespaces of its own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Compare qw(fingerprint);
use Pardump::Copy qw(copy_refused_ok temp_dir sessions_left no_temp_files_ok);
use Pardump::SmallDisk qw(small_disk_problem start_on_small_disk);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => $_ foreach small_disk_problem();

my $source = start_cluster('source');
my $target = start_cluster('target');
my %space;
foreach my $name (qw(source_small source_roomy small roomy))
{
	$space{$name} = new_path($name);
	mkdir $space{$name} or die "could not create \"$space{$name}\": $!";
}

sub make_tablespaces
{
	my ($node, $small, $roomy) = @_;
	sql($node, 'postgres', "CREATE TABLESPACE small LOCATION '$small'");
	sql($node, 'postgres', "CREATE TABLESPACE roomy LOCATION '$roomy'");
	return;
}

# One comes first: its rows, and its indexes after them, take longest.
make_tablespaces($source, @space{qw(source_small source_roomy)});
make_database($source, 'disk');
sql($source, 'disk', <<'SQL');
CREATE TABLE fits (g int, t text) TABLESPACE roomy;
ALTER TABLE fits ALTER t SET STORAGE EXTERNAL;
INSERT INTO fits SELECT g, repeat(md5(g::text), 3000) FROM generate_series(1, 160) g;
CREATE TABLE large TABLESPACE small AS
	SELECT g, repeat(md5(g::text), 30) AS t FROM generate_series(1, 20000) g;
SQL
make_database($target, 'disk');
$target->append_conf('postgresql.conf', 'wal_recycle = off');
$target->stop;

# The copy fails, and says of which tables all rows are there.  One worker, so
# that the one table comes first.
sub copy_fails_ok
{
	my ($what, $message, $account) = @_;
	local $ENV{TMPDIR} = temp_dir();
	my ($rc, $out, $err) = run_program('timeout', $PostgreSQL::Test::Utils::timeout_default, 'pg_pardump', '-d',
		$source->connstr('disk'), '--target', $target->connstr('disk'), '-j1',
		'--max-table-segment-pages=400', '--retries=1');
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	like($err, qr/The worker was copying chunk \d+ of \d+ of table public\.(fits|large)\./,
		"$what: the table's name");
	like($err, $account, "$what: account");
	is($out, '', "$what: no summary");
	is(sessions_left($source), 0, "$what: no session left on the source");
	is(value($source, 'postgres', 'SELECT count(*) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_xmin IS NOT NULL'), 0, "$what: no snapshot held");
	no_temp_files_ok($what);
	return;
}

{
	my $server = start_on_small_disk($target, '12m', $space{small});
	make_tablespaces($target, @space{qw(small roomy)});
	copy_fails_ok('a full tablespace', qr/could not write rows: ERROR:  could not extend file .*No space left on device/,
		qr/detail: Tables committed on the target with all rows: 1 of 2\.\n.*detail: Incomplete tables: public\.large\.\n/);
	is(sessions_left($target), 0, 'a full tablespace: no session left on the target');
	my $fits = 'table public.fits';
	is(fingerprint($target, 'disk')->{$fits}, fingerprint($source, 'disk')->{$fits},
		'a full tablespace: a table that fits has every row');
	is(value($target, 'disk', 'SELECT count(*) - count(DISTINCT g) FROM large'), 0,
		'a full tablespace: no row twice');
	copy_refused_ok(qr/the target already contains 2 of the tables to be created/, 'a full tablespace, again', $source, 'disk', $target, 'disk');
	sql($target, 'disk', 'DROP TABLE fits, large');
	sql($target, 'postgres', "DROP TABLESPACE $_") foreach qw(small roomy);
	$server->signal('INT');
	$server->finish;
}
{
	my $data = $target->data_dir;
	my $size = (split ' ', `du -sm $data`)[0] + 10;
	my $server = start_on_small_disk($target, "${size}m", $data);
	make_tablespaces($target, @space{qw(small roomy)});
	copy_fails_ok('a disk full of WAL', qr/retry 1 of 1.*error: connection to server .* failed/s,
		qr/detail: Tables committed on the target with all rows: [01] of 2\.\n.*detail: Incomplete tables: .*public\.large\.\n/);
	$server->signal('QUIT') if $server->pumpable;
	$server->finish;
	like(slurp_file($target->logfile), qr/PANIC:.*No space left on device/, 'a disk full of WAL: the server says so');
}

$source->stop;
done_testing();
