# pg_parbasebackup under faults: each round backs up a cluster that is written
# meanwhile, and is interrupted by what its seed says, at the moment that it says.
# What has a manifest is whole, and what it starts is consistent; what has none is
# nothing; and a run says which of both there is.
#
# PG_PARDUMP_FAULT_ROUNDS says how many rounds there are, and PG_PARDUMP_SEED
# which ones: round n has that seed + n - 1.  The counts are added to the file
# PG_PARDUMP_FAULT_REPORT (scripts/random_faults.sh runs many).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(wait_until);
use Pardump::BaseBackup qw(enable_checksums slots_left start_run start_backup start_pgbench stop_pgbench);
use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use Pardump::Faults qw(one_of choose_fault describe_fault suffer);
use Pardump::Moment qw(start_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PG_PARDUMP_FAULT_ROUNDS} // 4;
# of these some end well
my $seed = $ENV{PG_PARDUMP_SEED} // 3;

my $node = start_cluster('backup_faults', allows_streaming => 1);
enable_checksums($node);
$node->append_conf('postgresql.conf', "wal_keep_size = 0\nmin_wal_size = 32MB\nrestart_after_crash = on\n");
$node->restart;
sql($node, 'postgres', q{
	CREATE EXTENSION pg_pardump;
	CREATE TABLE bank AS SELECT g AS id, 0 AS balance, repeat('x', 300) AS t FROM generate_series(1, 20000) g;
	ALTER TABLE bank ADD PRIMARY KEY (id);
	CREATE TABLE still AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 30000) g});

# ---- who writes meanwhile, also settings, which are not in the log

my $script = new_path('writes.sql');
append_to_file($script, <<'SQL');
\set a random(1, 10000)
\set b random(10001, 20000)
BEGIN;
UPDATE bank SET balance = balance + 1 WHERE id = :a;
UPDATE bank SET balance = balance - 1 WHERE id = :b;
END;
CREATE TABLE made AS SELECT g FROM generate_series(1, 3000) g;
DROP TABLE made;
\set long random(0, 1)
\set threshold 2 + :long * 2147483645
ALTER SYSTEM SET geqo_threshold = :threshold;
SQL

# Until the server ends it, or the round.  What the one before was at is over: it would
# make the table that is there for this one already.
sub start_writer
{
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'})
	  or die 'sessions still write';
	sql($node, 'postgres', 'DROP TABLE IF EXISTS made');
	my $pid = start_pgbench($node, '/dev/null', '-c1', '-f', $script);
	wait_until('a session writes', sub { value($node, 'postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'}) });
	return $pid;
}

# ---- when, and what

my @patterns = (
	[ 'a piece' => qr/COPY \(SELECT (?:v\.n|pardump\.pg_pardump_read_files)/, 12 ],
	[ 'what came of a piece' => qr/FROM pardump\.pg_pardump_last_files/, 6 ],
	[ 'a piece of the log' => qr/pg_wal\/|70675f77616c2f/, 2 ],
	[ 'the slot' => qr/pg_create_physical_replication_slot/, 1 ],
	[ 'the start' => qr/pg_catalog[.]pg_backup_start/, 1 ],
	[ 'the end' => qr/pg_catalog[.]pg_backup_stop/, 1 ]);

my %own_faults = ('the log removed' => sub {
		sql($node, 'postgres', 'SELECT pg_switch_wal(); CHECKPOINT') foreach 1 .. 4 });

sub choose_options
{
	my @options = ('-j' . one_of(1 .. 4), '--retries=' . one_of(0, 1, 5, 5), '-X', one_of('fetch', 'stream'));
	my ($reader, $format) = (one_of(0, 1), one_of('plain', 'tar'));
	push @options, '--no-extension' if $reader == 0;
	push @options, '--no-slot' if one_of(0, 1);
	push @options, '-Ft', '-Z', one_of('none', 'lz4', 'zstd:1', $reader == 1 ? ('server-zstd:1', 'server-lz4') : ())
	  if $format eq 'tar';
	return @options;
}

# Of which faults one is to come, none for any of all: most that there are end the
# session that holds the backup, and with it the run.
sub choose_kinds
{
	my (@options) = @_;
	return 'the log removed' if grep({ $_ eq '--no-slot' } @options) && one_of(0, 0, 1);
	return one_of(0, 0, 1) ? () : ('cut', 'its backend terminated');
}

# ---- rounds

# Why a backup that claims to be whole is not; nothing if it is.
sub wrong_with
{
	my ($dir, $n) = @_;
	if (my @tars = glob "$dir/base.tar*")
	{
		my $extracted = new_path('extracted');
		my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $dir, '-D', $extracted, '--no-sync');
		return "it is not extracted: $err" if $rc != 0;
		system_or_bail('rm', '-rf', $dir);
		$dir = $extracted;
	}
	my ($rc, $out, $err) = run_program('pg_verifybackup', $dir);
	return "pg_verifybackup: $out$err" if $rc != 0;
	my $started = start_backup($dir, "started$n");
	my $found = sql($started, 'postgres', q{
		SELECT sum(balance), count(*) FROM bank;
		SET enable_seqscan = off;
		SELECT count(*), count(t) FROM bank WHERE id > 0;
		SELECT count(*), count(DISTINCT t) FROM still});
	$started->stop('immediate');
	$started->clean_node;
	return $found eq "0|20000\n20000|20000\n30000|30000" ? () : "it has $found";
}

# What a run has left on the server.
sub left_on_server
{
	my $slots = slots_left($node);
	return $slots ne '' ? "the slots $slots are left" : ()
	  if $node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_parbasebackup%'});
	return 'sessions are left';
}

# One round: what is wrong, and what there was.
sub run_round
{
	my ($n) = @_;
	my @options = choose_options();
	my @moments = map {
		my $pattern = one_of(0, 0, 0, 0 .. $#patterns);
		choose_fault($pattern, 1 + int(rand($patterns[$pattern][2])), choose_kinds(@options))
	} 1 .. one_of(1, 1, 2, 3);
	# no space for one file in four rounds
	my @with = one_of(0, 0, 0, 1) ? ('prlimit', '--fsize=' . int(1024 * 2 ** rand(14))) : ();
	my $writer = start_writer();
	my $moments = start_moments($node, [ map { $_->[1] } @patterns ], @moments);
	my $run = start_run($moments, \@with, @options);
	$run->{faults} = \%own_faults;
	my ($rc, undef, @done) = suffer($node, $run, $moments, @moments);
	stop_pgbench($writer);
	my $told = join "\n", "options: @with @options", "exit code: " . ($rc // 'hangs'),
	  map({ describe_fault($_, \@patterns) } @moments),
	  'there was: ' . join(', ', @done), $run->{err};
	note($told);
	my $whole = -e "$run->{dir}/backup_manifest";
	my @wrong = !defined $rc ? 'it hangs' : left_on_server();
	push @wrong, 'exit code 0 without a manifest' if defined $rc && $rc == 0 && !$whole;
	push @wrong, 'an error, but a manifest' if $whole && $rc && $rc != 128 + 9;
	push @wrong, 'an error without a fault' if $rc && !@done && !@with;
	push @wrong, 'an error, but files' if $rc && $rc != 128 + 9 && -e $run->{dir};
	push @wrong, 'no reason is told' if defined $rc && $rc == 1 && $run->{err} !~ /error: |terminated by user/;
	push @wrong, wrong_with($run->{dir}, $n) if $whole;
	system_or_bail('rm', '-rf', $run->{dir});
	return (\@wrong, $told, $whole);
}

my %count = (whole => 0, 'failed cleanly' => 0, wrong => 0);
foreach my $round (1 .. $rounds)
{
	srand($seed + $round - 1);
	my ($wrong, $told, $whole) = run_round($round);
	$count{ @$wrong ? 'wrong' : $whole ? 'whole' : 'failed cleanly' }++;
	ok(!@$wrong, "round $round, PG_PARDUMP_SEED=" . ($seed + $round - 1)) or diag(join "\n", @$wrong, $told);
}

my $report = "seed $seed, $rounds rounds of base backups: "
  . join(', ', map { "$count{$_} $_" } 'whole', 'failed cleanly', 'wrong');
note($report);
append_to_file($ENV{PG_PARDUMP_FAULT_REPORT}, "$report\n") if $ENV{PG_PARDUMP_FAULT_REPORT};
$node->stop;
done_testing();
