# Index builds of the extension that fail, are canceled, or meet the end of the
# server; and what they do to WAL, to a standby and to the disk.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Cluster qw(start_cluster start_standby sql value pg_major run_program new_path);
use Pardump::Index qw(index_session builders check_index);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_cluster('fast_index_faults', leave_stopped => 1, allows_streaming => 1);
plan skip_all => 'builds are left to the server' if pg_major($node) >= 19;

# data checksums: pages that we write have them, too
run_program('pg_checksums', '--enable', '--no-sync', '-D', $node->data_dir);
$node->append_conf('postgresql.conf', "fsync = on\nrestart_after_crash = on\n");
$node->start;
is(value($node, 'postgres', 'SHOW data_checksums'), 'on', 'data checksums');

sql($node, 'postgres', 'CREATE DATABASE faults');
sql($node, 'faults', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big (a int4 NOT NULL, b int8, u uuid);
INSERT INTO big SELECT i, (i * 7919::int8) % 1000003, md5(i::text)::uuid FROM generate_series(1, 400000) i;
CREATE TABLE dup (a int4, b int2, c float8, d date, e text COLLATE "C", f bpchar COLLATE "C");
INSERT INTO dup SELECT i, i % 100, i, '2000-01-01'::date + i, i::text, i || ' ' FROM generate_series(1, 20000) i;
INSERT INTO dup VALUES (777, 77, 777, NULL, '777', '777'), (NULL, 1, 1, NULL, NULL, NULL), (NULL, 1, 1, NULL, NULL, NULL);
SQL

# --- errors are the server's

my %error;
foreach my $fast ('off', 'on')
{
	my @errors;
	foreach my $definition ('(a)', '(b DESC, a)', '(c, a, b)', '(a) NULLS NOT DISTINCT', '(b)', '(d)', '(d) NULLS NOT DISTINCT', '(e DESC)', '(f)', '(a, e, f DESC)')
	{
		my ($rc, $out, $err) = $node->psql('faults', index_session() . "SET pg_pardump.fast_index = $fast;
			SET client_min_messages = warning; \\set VERBOSITY verbose
			DROP INDEX IF EXISTS dup_index;
			CREATE UNIQUE INDEX dup_index ON dup $definition");
		$err =~ s/^LOCATION: .*\n?//mg;
		$err =~ s/Key \(b\)=\(\d+\)/Key (b)=(some)/;
		$err =~ s/Key \(a\)=\(777\)|Key \(a\)=\(null\)/Key (a)=(some)/ if $definition =~ /NOT DISTINCT/;
		# rows that differ in blanks at the end are duplicates, and either can be shown
		$err =~ s/777 \)/777)/;
		push @errors, $err;
	}
	$error{$fast} = \@errors;
}
is_deeply($error{on}, $error{off}, 'errors of duplicate keys') or diag(explain(\%error));
is($error{on}[5], '', 'NULLs are distinct');
like($error{on}[6], qr/Key \(d\)=\(null\) is duplicated/, 'NULLs are not distinct');
like($error{on}[7], qr/Key \(e\)=\(777\) is duplicated/, 'texts');
like($error{on}[8], qr/Key \(f\)=\(777\) is duplicated/, 'blanks at the end do not count');
like($error{on}[9], qr/Key \(a, e, f\)=\(777, 777, 777\) is duplicated/, 'several columns with texts');
like($error{on}[0], qr/23505: could not create unique index "dup_index"\nDETAIL:  Key \(a\)=\(777\) is duplicated\.\n.*TABLE NAME:  dup\nCONSTRAINT NAME:  dup_index/s,
	'with all fields');

# --- a canceled build, and one that another session watches

# A session that builds an index, in a process of its own that can be stopped.
sub start_build
{
	my ($create, $memory) = @_;
	my %build = (in => index_session() . "SET client_min_messages = warning; SET maintenance_work_mem = '$memory';
		SELECT 'pid', pg_backend_pid();\n", out => '', err => '');
	$build{run} = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('faults') ], '<', \$build{in}, '>', \$build{out}, '2>', \$build{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$build{run}->pump until $build{out} =~ /^pid\|(\d+)$/m;
	($build{pid}) = $build{out} =~ /^pid\|(\d+)$/m;
	kill 'STOP', $build{pid};
	$build{in} .= "$create;\n\\q\n";
	$build{run}->pump_nb foreach 1 .. 10;
	return \%build;
}

# Let it run in small steps until it is where $where says, by pg_stat_progress_create_index.
sub step_until
{
	my ($build, $where) = @_;
	my %phases;
	for (1 .. 100000)
	{
		kill 'CONT', $build->{pid};
		usleep(3000);
		kill 'STOP', $build->{pid};
		$build->{run}->pump_nb;
		my $phase = value($node, 'faults', "SELECT phase, $where FROM pg_stat_progress_create_index WHERE pid = $build->{pid}");
		$phases{$1} = 1 if $phase =~ /^(.*)\|/;
		return (1, \%phases) if $phase =~ /\|t$/;
	}
	return (0, \%phases);
}

my $build = start_build('CREATE INDEX canceled ON big (b)', '1MB');
my ($reached, $phases) = step_until($build, q{phase LIKE '%loading%' AND tuples_done BETWEEN 1 AND tuples_total - 1 AND tuples_total = 400000});
ok($reached, 'progress of the rows is reported') or diag(explain($phases));
ok((grep { /scanning table/ } keys %$phases), 'progress shows the scan of the table') or diag(explain($phases));
sql($node, 'faults', "SELECT pg_cancel_backend($build->{pid})");
kill 'CONT', $build->{pid};
$build->{run}->finish;
like($build->{err}, qr/canceling statement due to user request/, 'a build is canceled');
is(value($node, 'faults', "SELECT count(*) FROM pg_class WHERE relname = 'canceled'"), 0, 'a canceled build: no index exists');
is(value($node, 'faults', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, 'a canceled build: no temporary file exists');

# --- an immediate stop in the middle of a build, and after one

sub crash_and_start
{
	my ($damage) = @_;
	$node->stop('immediate');
	$damage->() if $damage;
	$node->start;
}

$build = start_build('CREATE INDEX interrupted ON big (b)', '64MB');
($reached) = step_until($build, q{phase LIKE '%loading%' AND tuples_done BETWEEN 1 AND tuples_total - 1});
ok($reached, 'a build is in the middle');
crash_and_start();
kill 'CONT', $build->{pid};
eval { $build->{run}->finish };
is(value($node, 'faults', "SELECT count(*) FROM pg_class WHERE relname = 'interrupted'"), 0, 'no index after an immediate stop');

sql($node, 'faults', 'CHECKPOINT');
my @definitions = ([ 'by_b', '', '(b)' ], [ 'by_a', 'UNIQUE ', '(a)' ], [ 'by_u', '', '(u, b DESC)' ]);
my (undef, undef, $err) = $node->psql('faults', index_session()
	. join('', map { "CREATE $_->[1]INDEX $_->[0] ON big $_->[2];\n" } @definitions));
is_deeply([ builders($err) ], [ map { [ $_->[0], 'us' ] } @definitions ], 'indexes are built') or diag($err);
my @paths = map { $node->data_dir . '/' . value($node, 'faults', "SELECT pg_relation_filepath('$_->[0]')") } @definitions;

# files as they may be after a crash of the machine, but for fsync
crash_and_start(
	sub {
		truncate($paths[0], 0) or die $!;
		truncate($paths[1], 8192) or die $!;
		truncate($paths[2], 3 * 8192) or die $!;
	});
foreach my $definition (@definitions)
{
	my ($name, $unique, $columns) = @$definition;
	sql($node, 'faults', "CREATE ${unique}INDEX servers ON big $columns");
	is(check_index($node, 'faults', $name), '', "$name: amcheck after a crash and a lost file");
	# what WAL leaves out of a page is not the same as in a file that was never lost
	is(-s $paths[ $name eq 'by_b' ? 0 : $name eq 'by_a' ? 1 : 2 ],
		-s $node->data_dir . '/' . value($node, 'faults', "SELECT pg_relation_filepath('servers')"), "$name: pages as many as the server's");
	sql($node, 'faults', 'DROP INDEX servers');
}

# --- pages reach the disk before the transaction ends

# An immediate stop does not show that a sync is missing, as the kernel keeps what
# was written: the calls of the backend do.  From 17 on it leaves the sync to the
# checkpointer, unless a checkpoint has begun since its first page.
SKIP:
{
	skip 'no strace', 4 if system('strace -o /dev/null true >/dev/null 2>&1') != 0;

	# the backend writes no other pages, and no WAL before the end: so it is stopped
	# where it holds no lock that a checkpoint needs
	$node->append_conf('postgresql.conf', "shared_buffers = 64MB\nwal_buffers = 16MB\n");
	$node->restart;
	sql($node, 'faults', $_) foreach 'VACUUM big', 'CHECKPOINT';
	$build = start_build('CREATE INDEX synced ON big (b); CREATE UNLOGGED TABLE fleeting AS SELECT * FROM dup; CREATE INDEX fleeting_index ON fleeting (a)', '64MB');
	my $trace = new_path('trace');
	my $strace = IPC::Run::start([ 'strace', '-y', '-e', 'trace=fsync,fdatasync,pwrite64,pwritev', '-e', 'inject=pwrite64,pwritev:signal=SIGSTOP:when=100',
		'-o', $trace, '-p', $build->{pid} ], '2>', \my $attached, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$strace->pump until $attached =~ /attached/;
	kill 'CONT', $build->{pid};
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if slurp_file($trace) =~ /pwrite.*stopped by SIGSTOP/s;
		usleep(10000);
	}
	sql($node, 'faults', 'CHECKPOINT');
	my $before = slurp_file($trace);
	kill 'CONT', $build->{pid};
	$build->{run}->finish;
	$strace->finish;
	is($build->{err}, '', 'a checkpoint in the middle of a build');
	my ($path, $unlogged) = map { value($node, 'faults', "SELECT pg_relation_filepath('$_')") } 'synced', 'fleeting_index';
	my $calls = substr(slurp_file($trace), length($before));
	like($before, qr/pwritev?(?:64)?\(\d+<\S*\Q$path\E>[^\n]*\n[^\n]*SIGSTOP/, 'the build was stopped at a page');
	like($calls, qr/sync\(\d+<\S*\Q$path\E>\)/, 'the file of an index is synced');
	skip 'the checkpointer syncs the file of an unlogged index', 1 if pg_major($node) >= 17;
	like($calls, qr/sync\(\d+<\S*\Q$unlogged\E>\)/, 'the file of an unlogged index is synced');
}

# --- a standby, which has the pages from WAL

my $standby = start_standby($node, 'fast_index_standby');
(undef, undef, $err) = $node->psql('faults', index_session()
	. join('', map { "CREATE $_->[1]INDEX $_->[0]_replayed ON big $_->[2];\n" } @definitions));
is_deeply([ builders($err) ], [ map { [ "$_->[0]_replayed", 'us' ] } @definitions ], 'indexes are built while a standby replays') or diag($err);
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
my @replayed = map { "$_->[0]_replayed" } @definitions;
my $query = 'SET enable_seqscan = off; SELECT count(*), sum(a) FROM big WHERE b < 5000';
is(value($standby, 'faults', $query), value($node, 'faults', $query), 'a query of the standby');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is(check_index($standby, 'faults', $_), '', "$_: amcheck on a promoted standby") foreach @replayed;
sql($standby, 'faults', 'INSERT INTO big SELECT -i, -i, md5(i::text)::uuid FROM generate_series(1, 1000) i; DELETE FROM big WHERE a % 3 = 0; VACUUM big');
is(check_index($standby, 'faults', $_), '', "$_: amcheck after changes on a promoted standby") foreach @replayed;
$standby->stop;

# --- wal_level = minimal, and a temporary and an unlogged table

$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
(undef, undef, $err) = $node->psql('faults', index_session() . 'BEGIN;
	CREATE TABLE fresh AS SELECT * FROM big; CREATE INDEX fresh_b ON fresh (b); CREATE UNIQUE INDEX fresh_a ON fresh (a DESC); COMMIT;
	CREATE TABLE later AS SELECT * FROM big; CREATE INDEX later_b ON later (b);
	CREATE UNLOGGED TABLE lost AS SELECT * FROM big; CREATE INDEX lost_b ON lost (b);
	CREATE TEMP TABLE temp AS SELECT * FROM big; CREATE INDEX temp_b ON temp (b);
	SET enable_seqscan = off; SELECT count(*) FROM temp WHERE b = 5');
is_deeply([ builders($err) ], [ map { [ $_, 'us' ] } qw(fresh_b fresh_a later_b lost_b temp_b) ], 'with wal_level = minimal') or diag($err);
crash_and_start();
is(check_index($node, 'faults', $_), '', "$_: amcheck after a crash with wal_level = minimal") foreach qw(fresh_b fresh_a later_b lost_b);
is(value($node, 'faults', 'SELECT count(*) FROM lost'), 0, 'the unlogged table was emptied');

# --- checksums

$node->stop;
my ($rc, $out) = run_program('pg_checksums', '--check', '-D', $node->data_dir);
is($rc, 0, 'pg_checksums finds no damaged page') or diag($out);
done_testing();
