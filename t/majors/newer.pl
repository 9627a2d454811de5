
# A server of an older major, which older.pl runs on another release, is copied,
# and dumped and restored, into one of this major by this major's pg_pardump,
# and comes out as by this major's pg_dump and pg_restore.  Then a database moves
# while sessions write to it, as doc/move_server.md says.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";

use IPC::Run;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value data_file
  dump_ok restore_ok pg_major);
use Pardump::Compare qw(fingerprint same_data_ok schema_text same_database_ok);
use Pardump::Copy qw(copy_ok copy_refused_ok run_copy stock_copy sessions_left);
use Pardump::Databases qw(prepare_for_everything empty_copy regress_dir);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A node that is not ours to start: only where it can be reached.
open my $in, '<&=', 9 or die "could not use descriptor 9: $!";
my ($host, $port, $user, $password) = split ' ', scalar <$in>;
my $source = PostgreSQL::Test::Cluster->new('older');
@$source{qw(_host _port)} = ($host, $port);
@ENV{qw(PGUSER PGPASSWORD)} = ($user, $password);
my $source_major = int(value($source, 'postgres', 'SHOW server_version_num') / 10000);

my $target = start_cluster('newer', leave_stopped => 1);
$target->append_conf('postgresql.conf',
	"dynamic_library_path = '\$libdir:" . regress_dir() . "'");
$target->start;
my $copies = 0;
my $from_to = "$source_major to " . pg_major($target);
cmp_ok(pg_major($target), '>', $source_major, "from $from_to");

copy_refused_ok(qr/the target is of version .*, older than the pg_dump in use/,
	'to an older major', $source, 'everything', $source, 'postgres');
if ((run_program('pg_dump', '-s', '-d', $source->connstr('everything')))[1] =~ /pg_attver/)
{
	copy_refused_ok(qr/pg_dump .* does not know what server .* keeps of columns/,
		'a pg_dump too old for the server', $source, 'everything', $target, 'postgres');
	$target->stop;
	done_testing();
	exit;
}

prepare_for_everything($target);
my $globals = new_path('globals.sql');
run_program('pg_dumpall', '--roles-only', '-f', $globals, '-d', $source->connstr('postgres'));
run_program('psql', '-Xq', '-d', $target->connstr('postgres'), '-f', $globals);

# Every way from the source's database to the target's.
sub ways_ok
{
	my ($db, $stock, $extension) = @_;
	foreach my $options ([ '-j4', '--compare' ],
		[ '-j2', '--copy-format=text', '--max-table-segment-pages=2', '--no-analyze' ])
	{
		my $what = "$from_to, $db, $extension, copy @$options";
		my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
		copy_ok($source, $db, $target, $copy, $what, @$options);
		same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, $what);
	}
	my $what = "$from_to, $db, $extension, dump";
	my $dir = dump_ok($source, $db, $what, 'pg_pardump', '-j4', '--max-table-segment-pages=2');
	is((run_program('pg_pardump', '--verify', $dir))[0], 0, "$what: verified");
	my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
	restore_ok($target, $dir, $copy, $what, '-j4');
	same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, $what);
	is(sessions_left($source, $target), 0, "$what: no session left");
	return;
}

foreach my $db (qw(everything regression))
{
	my $stock = stock_copy($source, $db, $target);
	is($stock->{errors}, '', "$from_to, $db: stock restores without a message");
	# but for what differs by design: extensions' configuration tables, and
	# materialized views, which a restore fills anew
	my $data = fingerprint($source, $db);
	my $stock_data = $stock->{data};
	same_data_ok(
		{ map { $_ => $data->{$_} } grep { !/[.](ext|mvtest)_/ } keys %$data },
		{ map { $_ => $stock_data->{$_} } grep { !/[.](ext|mvtest)_/ } keys %$stock_data },
		"$from_to, $db: source and stock's copy");
	ways_ok($db, $stock, 'without the extension');
	sql($_->[0], $_->[1], 'CREATE EXTENSION pg_pardump')
	  foreach ([ $source, $db ], [ $target, $stock->{copy} ]);
	$stock->{schema} = schema_text($target, $stock->{copy});
	ways_ok($db, $stock, 'with the extension');
}

# ---- a move

make_database($source, 'bank', options => 'TEMPLATE template0', files => ['bank.sql']);
sql($source, 'bank', 'ALTER TABLE bystander ADD PRIMARY KEY (id);
	CREATE PUBLICATION moving FOR ALL TABLES');
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-R', '2000', '-T', '1000',
		'-f', data_file('transfer.pgbench'), $source->connstr('bank') ],
	'>', new_path('pgbench.log'), '2>&1');
sub transfers { return value($_[0], 'bank', 'SELECT count(*) FROM journal'); }
wait_until('transfers', sub { transfers($source) > 100 });
make_database($target, 'bank', options => 'TEMPLATE template0');
my ($rc, $out, $err) = run_copy($source, 'bank', $target, 'bank', '-j2',
	'--max-table-segment-pages=20', '--create-slot', '--slot=moving',
	'--create-subscription=moving', '--publication=moving',
	'--subscription-conninfo', $source->connstr('bank') . " user=$user password=$password");
is("$rc $err", '0 ', "$from_to, a move: copied in silence");
my $after = transfers($source);
wait_until('more transfers', sub { transfers($source) > $after + 1000 });

# The applications stop, and the target gets the rest.
sql($source, 'postgres', 'ALTER DATABASE bank SET default_transaction_read_only = on');
sql($source, 'bank', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE datname = 'bank' AND backend_type = 'client backend' AND pid <> pg_backend_pid()");
$writers->finish;
my $end = value($source, 'bank', 'SELECT pg_current_wal_lsn()');
wait_until('the subscription', sub {
	value($source, 'bank', "SELECT confirmed_flush_lsn >= '$end'
		FROM pg_replication_slots WHERE slot_name = 'moving'") eq 't' });
sql($target, 'bank', value($source, 'bank', q{
	SELECT format('SELECT setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename),
		coalesce(last_value, start_value), last_value IS NOT NULL)
	FROM pg_sequences}));
sql($target, 'bank', 'DROP SUBSCRIPTION moving');
sql($source, 'postgres', 'ALTER DATABASE bank RESET default_transaction_read_only');
cmp_ok(transfers($source), '>', $after, "$from_to, a move: transfers went on after the copy");
same_data_ok(fingerprint($source, 'bank'), fingerprint($target, 'bank'),
	"$from_to, a move: both sides in the end");
is(value($source, 'postgres', 'SELECT count(*) FROM pg_replication_slots'), 0,
	"$from_to, a move: the slot is gone");

$target->stop;
done_testing();
