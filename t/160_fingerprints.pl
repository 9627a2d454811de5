# Fingerprints while transactions write: if two snapshots give a range the same
# fingerprint, both give it the same text.  The test also checks itself: a count of
# rows, used in place of a fingerprint, must be found out.
#
# PG_PARDUMP_FINGERPRINT_ROUNDS says how many tables there are, and PG_PARDUMP_SEED
# which ones: round n has that seed + n - 1, so that one round can be had again.
# Statements come one by one, so a seed makes the same of a table each time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database sql);
use Pardump::Wire;
use Test::More;

# of a round: sessions that write, statements, statements between two dumps, and
# how many rows the table begins with
use constant { WRITERS => 5, STEPS => 480, DUMP_EVERY => 16, ROWS => 1500 };

my $rounds = $ENV{PG_PARDUMP_FINGERPRINT_ROUNDS} // 4;
my $first_seed = $ENV{PG_PARDUMP_SEED} // 1;

my $node = start_cluster('fingerprints', leave_stopped => 1);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 500');
$node->start;
make_database($node, 'written');
sql($node, 'written', 'CREATE EXTENSION pg_pardump');

# ---- what writers do

sub one_of { return $_[ int(rand @_) ]; }
sub some_id { return 1 + int(rand(2 * ROWS)); }

sub some_ids
{
	my ($n) = @_;
	my $first = some_id();
	return "BETWEEN $first AND " . ($first + $n);
}

sub new_rows
{
	my ($n, $value) = @_;
	my $first = some_id();
	return "INSERT INTO t SELECT g, 0, $value FROM generate_series($first, $first + $n) g ON CONFLICT";
}

# Values of 32 bytes to 6 kB, of which the longest are stored out of line.
sub some_value { return sprintf 'repeat(md5(%s::text), %d)', $_[0], one_of(1, 3, 90, 200); }

my @changes = (
	sub { new_rows(20, some_value('g')) . ' DO NOTHING' },
	sub { new_rows(5, q{'again'}) . ' (id) DO UPDATE SET n = t.n + 1' },
	sub { 'UPDATE t SET n = n + 1 WHERE id ' . some_ids(10) },
	sub { 'UPDATE t SET n = n WHERE id = ' . some_id() },
	sub { 'UPDATE t SET s = ' . some_value('n') . ' WHERE id ' . some_ids(2) },
	sub { 'DELETE FROM t WHERE id ' . some_ids(5) },
	sub { 'DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY ctid DESC LIMIT 60)' },
	sub { 'SELECT FROM t WHERE id ' . some_ids(20) . ' FOR ' . one_of('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE') });

# How many transactions of this round were prepared, finished or not.
my $prepared = 0;

sub outside_transaction
{
	my ($writer) = @_;
	# to give back the table's end it would wait for the others: give_back_end()
	return 'VACUUM (TRUNCATE off' . one_of('', ', FREEZE', ', DISABLE_PAGE_SKIPPING') . ') t' if rand() < 0.1;
	return one_of('COMMIT', 'ROLLBACK') . q{ PREPARED 'p} . (1 + int(rand $prepared)) . q{'} if $prepared && rand() < 0.15;
	return 'VACUUM FULL t' if rand() < 0.01;
	return one_of(@changes)->() if rand() < 0.4;
	$writer->{open} = 1;
	return 'BEGIN';
}

sub inside_transaction
{
	my ($writer) = @_;
	return one_of(@changes)->() if rand() < 0.6;
	return one_of('SAVEPOINT s', 'ROLLBACK TO s', 'RELEASE s') if rand() < 0.5;
	$writer->{open} = 0;
	return q{PREPARE TRANSACTION 'p} . ++$prepared . q{'} if rand() < 0.3;
	return one_of(('COMMIT') x 4, 'ROLLBACK');
}

# What was done, by its command tag.
my %done;

# Errors are part of it: of locks that others have, of what is not there.
sub run_step
{
	my ($writer) = @_;
	my $statement = $writer->{open} ? inside_transaction($writer) : outside_transaction($writer);
	$writer->{wire}->message('Q', "$statement\0");
	my $result = $writer->{wire}->result;
	die "the server is gone after: $statement" if $result->{closed};
	$done{ $result->{tag} =~ s/ [\d ]+$//r }++ if defined $result->{tag} && !$result->{error};
	return unless $result->{error} && $writer->{open};
	# some go on in the transaction, where only a savepoint helps
	return if $result->{error}{message} =~ /savepoint/ && rand() < 0.5;
	$writer->{wire}->query('ROLLBACK');
	$writer->{open} = 0;
	return;
}

# All transactions end, and the table's end is given back to the file system.
sub give_back_end
{
	my ($writers) = @_;
	foreach my $writer (grep { $_->{open} } @$writers)
	{
		$writer->{wire}->query(one_of('COMMIT', 'ROLLBACK'));
		$writer->{open} = 0;
	}
	finish_prepared();
	my $wire = $writers->[0]{wire};
	$wire->query('DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY ctid DESC LIMIT 200)');
	my $size = $wire->first_value(q{SELECT pg_relation_size('t')});
	$wire->query('VACUUM t');
	$done{'table made smaller'}++ if $wire->first_value(q{SELECT pg_relation_size('t')}) < $size;
	return;
}

sub finish_prepared
{
	sql($node, 'written', one_of('COMMIT', 'ROLLBACK') . " PREPARED '$_'")
	  foreach split /\n/, sql($node, 'written', 'SELECT gid FROM pg_prepared_xacts ORDER BY prepared');
	return;
}

# ---- what snapshots see

# By range of 8 blocks: its fingerprint, how many rows, its text's hash, and the
# fingerprint that was recorded while it was read.
my $by_range = <<'SQL';
SELECT start, encode(f.fingerprint, 'hex'), f.rows, r.content,
	encode((pardump.pg_pardump_last_fingerprint()).fingerprint, 'hex')
FROM generate_series(0, pg_relation_size('t') / 8192, 8) start,
	LATERAL pardump.pg_pardump_fingerprint('t', '{id,n,s}', start, start + 8, decode(repeat('5a', 32), 'hex')) f,
	LATERAL (SELECT coalesce(md5(string_agg(b, '')), 'none') AS content
		FROM pardump.pg_pardump_read('t', '{id,n,s}', start, start + 8, 'none') b) r
SQL

# A dump of all ranges: { start => [ fingerprint, rows, text ] }.
sub dump_ranges
{
	my ($dumper, $writers) = @_;
	$dumper->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$dumper->query('SELECT FROM t LIMIT 1');
	# writes between the snapshot and the reading
	run_step(one_of(@$writers)) foreach 1 .. int(rand 6);
	my $rows = $dumper->query($by_range)->{rows};
	$dumper->query('COMMIT');
	$done{'range recorded otherwise'}++ foreach grep { $_->[4] ne $_->[1] } @$rows;
	return { map { ($_->[0] => [ @$_[ 1 .. 3 ] ]) } @$rows };
}

sub make_table
{
	sql($node, 'written', sprintf <<'SQL', one_of(10, 50, 100), ROWS);
DROP TABLE IF EXISTS t;
CREATE TABLE t (id int PRIMARY KEY, n int, s text) WITH (fillfactor = %d);
ALTER TABLE t ALTER s SET STORAGE EXTERNAL;
INSERT INTO t SELECT g, 0, repeat(md5(g::text), CASE WHEN g %% 100 = 0 THEN 100 ELSE 2 END) FROM generate_series(1, %d) g
SQL
	return;
}

# All dumps of a table, in their order.
sub dumps_under_writers
{
	my ($seed) = @_;
	srand $seed;
	make_table();
	$prepared = 0;
	# One process plays all writers, so none may wait for a lock of another.
	my @writers = map { { wire => Pardump::Wire->new($node, 'written', options => '-c lock_timeout=1ms'), open => 0 } } 1 .. WRITERS;
	my $dumper = Pardump::Wire->new($node, 'written', options => '-c lock_timeout=180s');
	$dumper->query(q{SELECT pardump.pg_pardump_fingerprint_reads(decode(repeat('5a', 32), 'hex'))});
	my @dumps;
	foreach my $i (1 .. STEPS)
	{
		give_back_end(\@writers) if $i % 96 == 90;
		run_step(one_of(@writers));
		push @dumps, dump_ranges($dumper, \@writers) unless $i % DUMP_EVERY;
	}
	foreach my $writer (@writers)
	{
		$writer->{wire}->query('ROLLBACK') if $writer->{open};
		close $writer->{wire}{socket};
	}
	close $dumper->{socket};
	finish_prepared();
	return @dumps;
}

# ---- what is to be thought of it

# Of a dump and the one before it: ranges whose text is the same, is another one,
# that would be reused by what stands at "by" in a range, and that would be though
# their text is another one.  What was seen in any earlier dump counts for this last one.
sub judge
{
	my ($by, @dumps) = @_;
	my (%text_of, %before);
	my %count = map { ($_ => 0) } qw(same other reused stale);
	foreach my $dump (@dumps)
	{
		foreach my $start (keys %$dump)
		{
			my $range = $dump->{$start};
			my ($evidence, $text) = ($range->[$by], $range->[2]);
			$count{stale}++ if ($text_of{"$start $evidence"} //= $text) ne $text;
			next unless $before{$start};
			$count{ $before{$start}[2] eq $text ? 'same' : 'other' }++;
			$count{reused}++ if $before{$start}[$by] eq $evidence;
		}
		%before = %$dump;
	}
	return \%count;
}

my (%by_fingerprint, %by_rows);
foreach my $seed ($first_seed .. $first_seed + $rounds - 1)
{
	my @dumps = dumps_under_writers($seed);
	my $count = judge(0, @dumps);
	is($count->{stale}, 0, "seed $seed: no fingerprint has two texts");
	$by_fingerprint{$_} += $count->{$_} foreach keys %$count;
	$count = judge(1, @dumps);
	$by_rows{$_} += $count->{$_} foreach keys %$count;
}
note("ranges: $by_fingerprint{same} with the same text, of which $by_fingerprint{reused} have the same fingerprint,"
	  . " and $by_fingerprint{other} with another one; by their number of rows $by_rows{stale} stale");
note('done: ' . join ', ', map { "$done{$_} $_" } sort keys %done);
cmp_ok($by_fingerprint{other}, '>=', 40 * $rounds, 'texts of ranges change');
cmp_ok($by_fingerprint{reused}, '>=', 0.9 * $by_fingerprint{same}, 'most ranges with the same text have the same fingerprint');
cmp_ok($by_rows{stale}, '>', 0, 'the number of rows does not detect all changes');
is($done{'range recorded otherwise'}, undef, 'a read and a check of a range return the same fingerprint');
my @unseen = grep { !$done{$_} } 'COMMIT PREPARED', 'ROLLBACK PREPARED', 'PREPARE TRANSACTION',
  'table made smaller', qw(BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE INSERT UPDATE DELETE SELECT VACUUM);
is("@unseen", '', 'writers did all that they can');
$node->stop;
done_testing();
