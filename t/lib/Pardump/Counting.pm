# Clients that count in several databases, one after the other, while these are
# dumped, and what a snapshot of all these databases shows of them.

package Pardump::Counting;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max sum);
use Pardump::Cluster qw(run_program new_path sql);
use Pardump::WholeCluster qw(archive_of);
use Pardump::Wire;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(make_counters start_counting stop_counting overflow_sql read_counters
  archived_counters torn commit_latencies);

# The last quarter of the writers uses PREPARE TRANSACTION.
my $writers = 16;

# More subtransactions than a session keeps in shared memory, which is 64.
my $subtransactions = 70;

my $accounts = 100;
my $rows = 10;    # that each writer moves between two tables

# The tables, without VACUUM's truncation: on a standby its lock would wait for the
# lock of a guard, and the dump behind it.
sub make_counters
{
	my ($node, $db) = @_;
	my $n_rows = $writers * $rows;
	sql($node, $db, <<"SQL");
CREATE TABLE counter (writer int PRIMARY KEY, n bigint NOT NULL, subtransactions bigint NOT NULL) WITH (vacuum_truncate = off);
INSERT INTO counter SELECT g, 0, 0 FROM generate_series(0, $writers - 1) g;
CREATE TABLE account (id int PRIMARY KEY, amount bigint NOT NULL, transfers bigint NOT NULL) WITH (vacuum_truncate = off);
INSERT INTO account SELECT g, 0, 0 FROM generate_series(0, $accounts - 1) g;
CREATE TABLE here (id int PRIMARY KEY) WITH (vacuum_truncate = off);
INSERT INTO here SELECT generate_series(0, $n_rows - 1);
CREATE TABLE there (id int PRIMARY KEY) WITH (vacuum_truncate = off);
CREATE TABLE overflow (id int) WITH (vacuum_truncate = off);
SQL
	return;
}

# ---- clients

# Runs $prepare, and then what it has returned, in a process, until stop_counting() or
# the end of the test.
sub start_client
{
	my ($prepare) = @_;
	my $test = $$;
	my $pid = fork // die "could not create process: $!";
	return $pid if $pid;
	my $ends = 0;
	local $SIG{TERM} = sub { $ends = 1 };
	my $done = eval {
		my $work = $prepare->();
		for (my $n = 1; !$ends && getppid == $test; $n++) { $work->($n) }
		1;
	};
	warn $@ if !$done;
	POSIX::_exit($done ? 0 : 1);
}

sub run_sql
{
	my ($session, $sql) = @_;
	my $result = $session->query($sql);
	die "the connection was lost in: $sql" if $result->{closed};
	return;
}

# SQL that makes subtransactions, whose IDs no longer fit in shared memory.
sub overflow_sql
{
	my ($statement) = @_;
	return join '; ', map { "SAVEPOINT s$_; $statement" } 1 .. $subtransactions;
}

# What a writer does in one transaction.  All lock accounts in the same order, so there
# are no deadlocks.
sub transaction
{
	my ($writer, $n, $overflows) = @_;
	my $mine = "WHERE writer = $writer";
	my $first = int(rand($accounts - 1));
	my $second = $first + 1 + int(rand($accounts - 1 - $first));
	my $row = $writer * $rows + int(rand($rows));
	my @statements = ('BEGIN');
	push @statements, overflow_sql("UPDATE counter SET subtransactions = subtransactions + 1 $mine")
	  if $overflows && $writer % 4 == 1 && $n % 10 == 0;
	push @statements, "SAVEPOINT undone; UPDATE counter SET n = n + 1000 $mine; ROLLBACK TO undone" if $writer % 4 == 2;
	return (@statements,
		"UPDATE counter SET n = n + 1 $mine",
		"UPDATE account SET amount = amount + 1, transfers = transfers + 1 WHERE id = $first",
		"UPDATE account SET amount = amount - 1 WHERE id = $second",
		"WITH gone AS (DELETE FROM here WHERE id = $row RETURNING id), back AS (DELETE FROM there WHERE id = $row RETURNING id),
			moved AS (INSERT INTO there SELECT id FROM gone) INSERT INTO here SELECT id FROM back");
}

# Counts once in each database.
sub count_once
{
	my ($writer, $n, $overflows, $log, $sessions) = @_;
	my $is_prepared = $writer >= $writers * 3 / 4;
	my $commit = sub {
		my ($session, $statement) = @_;
		my $begin = time;
		run_sql($session, $statement);
		my $end = time;
		syswrite $log, pack 'd2', $end, $end - $begin;
	};
	foreach my $i (0 .. $#$sessions)
	{
		run_sql($sessions->[$i], $_) foreach transaction($writer, $n, $overflows);
		if ($is_prepared) { run_sql($sessions->[$i], "PREPARE TRANSACTION 'counting $writer $i'"); }
		else { $commit->($sessions->[$i], 'COMMIT'); }
	}
	return if !$is_prepared;
	$commit->($sessions->[$_], "COMMIT PREPARED 'counting $writer $_'") foreach 0 .. $#$sessions;
	return;
}

sub writer
{
	my ($node, $overflows, $dbs, $file, $writer) = @_;
	return sub {
		my @sessions = map { Pardump::Wire->new($node, $_) } @$dbs;
		open my $log, '>', $file or die "could not open \"$file\": $!";
		srand($writer);
		return sub {
			my ($n) = @_;
			count_once($writer, $n, $overflows, $log, \@sessions);
			# the run under test needs the processors, too
			sleep rand(0.15);
		};
	};
}

sub vacuumer
{
	my ($node, $dbs) = @_;
	return sub {
		my @sessions = map { Pardump::Wire->new($node, $_) } @$dbs;
		return sub {
			my ($n) = @_;
			my $options = $n % 2 ? '' : '(FREEZE) ';
			run_sql($_, "VACUUM ${options}counter, account, here, there") foreach @sessions;
			sleep 0.05;
		};
	};
}

# start_counting($node, $overflows, database...): each writer counts in the databases in
# this order, and in the first one again only when it has counted in the last one.  If
# $overflows, some have too many subtransactions now and then.
sub start_counting
{
	my ($node, $overflows, @dbs) = @_;
	my $load = { dir => new_path('commits') };
	mkdir $load->{dir} or die "could not make \"$load->{dir}\": $!";
	$load->{pids} = [ (map { start_client(writer($node, $overflows, \@dbs, "$load->{dir}/$_", $_)) } 0 .. $writers - 1),
		start_client(vacuumer($node, \@dbs)) ];
	return $load;
}

# Returns how many of the clients have failed.
sub stop_counting
{
	my ($load) = @_;
	kill TERM => @{ $load->{pids} };
	return scalar grep { waitpid $_, 0; $? != 0 } @{ $load->{pids} };
}

# ---- what there is to see

my $counters_sql = <<'SQL';
SELECT (SELECT string_agg(n::text, ' ' ORDER BY writer) FROM counter),
	(SELECT sum(subtransactions) FROM counter),
	(SELECT concat_ws(' ', count(*), sum(amount), sum(transfers)) FROM account),
	(SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM (SELECT id FROM here UNION ALL SELECT id FROM there) x)
SQL

sub reading
{
	my ($n, $subtransactions, $account, $moved) = @_;
	return { n => [ split / /, $n ], subtransactions => $subtransactions, account => $account, moved => $moved };
}

# As the transaction of a Pardump::Wire sees them.
sub read_counters
{
	my ($session) = @_;
	return reading(@{ $session->query($counters_sql)->{rows}[0] });
}

# As an archive in the directory of a dump of all databases has them.
sub archived_counters
{
	my ($dir, $db) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', archive_of($dir, $db));
	die "pg_restore failed: $err" if $rc != 0;
	my %rows;
	while ($out =~ /^COPY public\.(\w+) .*\n((?:.*\n)*?)\\\.$/mg)
	{
		my ($table, $text) = ($1, $2);
		$rows{$table} = [ sort { $a->[0] <=> $b->[0] } map { [ split /\t/ ] } split /\n/, $text ];
	}
	my @moved = map { @{ $rows{$_} } } qw(here there);
	my %ids = map { $_->[0] => 1 } @moved;
	my @account = @{ $rows{account} };
	return reading(join(' ', map { $_->[1] } @{ $rows{counter} }), sum(map { $_->[2] } @{ $rows{counter} }),
		join(' ', scalar(@account), map { my $i = $_; sum(map { $_->[$i] } @account) } 1, 2),
		scalar(@moved) . ' ' . keys %ids);
}

# What no single snapshot of all databases can show: a list of texts.  The readings are
# in the order in which writers count.
sub torn
{
	my (@readings) = @_;
	my @wrong;
	foreach my $i (0 .. $#readings)
	{
		my $reading = $readings[$i];
		my $want = join ' ', $accounts, 0, sum(@{ $reading->{n} });
		my $all = $writers * $rows;
		push @wrong, "database $i: accounts: $reading->{account}, not $want" if $reading->{account} ne $want;
		push @wrong, "database $i: moved rows: $reading->{moved}, not $all $all" if $reading->{moved} ne "$all $all";
		push @wrong, "database $i: subtransactions: $reading->{subtransactions}" if $reading->{subtransactions} % $subtransactions;
	}
	foreach my $writer (0 .. $writers - 1)
	{
		my @n = map { $_->{n}[$writer] } @readings;
		push @wrong, "order: writer $writer: @n"
		  if $n[-1] < $n[0] - 1 || grep { $n[$_] > $n[ $_ - 1 ] } 1 .. $#n;
	}
	return @wrong;
}

# ---- how long commits take

sub latency_line
{
	my ($what, @ms) = @_;
	my @sorted = sort { $a <=> $b } @ms;
	my $at = sub { sprintf '%.2f', $sorted[ int($_[0] * $#sorted) ] };
	my %n;
	$n{ max(0, POSIX::ceil(log(max($_, 0.001)) / log(2)) + 2) }++ foreach @ms;
	return sprintf("%s: %d commits, ms: median %s, 99 %% %s, 99.9 %% %s, longest %s\n", $what, scalar(@ms),
		map { $at->($_) } 0.5, 0.99, 0.999, 1)
	  . join '', map { sprintf "  up to %8.2f ms: %d\n", 2**($_ - 2), $n{$_} } sort { $a <=> $b } keys %n;
}

# A text: the commits that ended within one of the periods, each [begin, end], and the
# others.
sub commit_latencies
{
	my ($loads, @periods) = @_;
	my @commits = map { my @values = unpack 'd*', slurp_file($_); map { [ @values[ 2 * $_, 2 * $_ + 1 ] ] } 0 .. $#values / 2 }
	  map { glob "$_->{dir}/*" } @$loads;
	my %ms = (during => [], other => []);
	foreach my $commit (@commits)
	{
		my ($end, $seconds) = @$commit;
		my $is_during = grep { $end >= $_->[0] && $end - $seconds <= $_->[1] } @periods;
		push @{ $ms{ $is_during ? 'during' : 'other' } }, 1000 * $seconds;
	}
	return join '', map { @{ $ms{ $_->[0] } } ? latency_line($_->[1], @{ $ms{ $_->[0] } }) : () }
	  [ during => 'while snapshots are taken and read' ], [ other => 'at other times' ];
}

1;
