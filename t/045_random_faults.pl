# Random faults at random times: a dump survives them, and its archive has what
# its snapshot had; or it fails cleanly.  Nothing else may be.
#
# PG_PARDUMP_FAULT_ROUNDS says how many rounds there are, and PG_PARDUMP_SEED
# which ones; the counts are added to the file PG_PARDUMP_FAULT_REPORT
# (scripts/random_faults.sh runs many).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump pump_run end_dump children sessions backends);
use Pardump::Cluster qw(start_cluster make_database run_program sql value);
use Pardump::Compare qw(fingerprint differences);
use Pardump::Faults qw(one_of);
use Pardump::Proxy qw(start_proxy stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $rounds = $ENV{PG_PARDUMP_FAULT_ROUNDS} // 4;
my $seed = $ENV{PG_PARDUMP_SEED} // 1 + int(rand(2**31 - 1));
srand($seed);
note("$rounds rounds, PG_PARDUMP_SEED=$seed");

my $node = start_cluster('random');
make_database($node, 'source');
sql($node, 'source', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, 0 AS version, md5(g::text) || repeat('x', g % 200) AS t
	FROM generate_series(1, 20000) g;
CREATE TABLE long_values AS SELECT g AS id, 0 AS version,
	(SELECT string_agg(md5(g::text || i::text), '') FROM generate_series(1, 300) i) AS t
	FROM generate_series(1, 150) g;
DO $$ BEGIN FOR i IN 1..30 LOOP
	EXECUTE format('CREATE TABLE small_%s AS SELECT g AS id, 0 AS version FROM generate_series(1, %s) g', i, i * 10);
END LOOP; END $$;
SELECT lo_from_bytea(1000 + g, convert_to(repeat(md5(g::text), g * 20), 'UTF8'))
	FROM generate_series(1, 40) g;
SQL

# Their end is not waited for.
sub ask_to_end
{
	my $pids = join ',', @_;
	value($node, 'postgres', "SELECT pg_terminate_backend(p) FROM unnest('{$pids}'::int[]) p");
	return;
}

# Each gets the running dump.
my %faults = (
	'a backend terminated' => sub { my @b = backends($node); ask_to_end(one_of(@b)) if @b },
	'the leader\'s backend terminated' => sub { my @b = backends($node); ask_to_end($b[0]) if @b },
	'all workers\' backends terminated' => sub { my (undef, @b) = backends($node); ask_to_end(@b) if @b },
	'all backends terminated' => sub { ask_to_end(backends($node)) },
	'a worker killed' => sub { my @c = children($_[0]{pid}); kill KILL => one_of(@c) if @c },
	'a worker stopped for a moment' => sub {
		my @c = children($_[0]{pid}) or return;
		my $pid = one_of(@c);
		kill STOP => $pid;
		sleep rand(1.5);
		kill CONT => $pid;
	},
	'the dump interrupted' => sub { kill one_of('INT', 'TERM') => $_[0]{pid} },
	'an immediate restart' => sub { $node->stop('immediate'); $node->start },
	'rows changed' => sub { change() });

# Those that no run could survive come less often.
my @choice = map { ($_) x (/^all backends|killed|interrupted|restart/ ? 1 : 6) } sort keys %faults;

# Not in the snapshot, so not to be in the archive.
sub change
{
	sql($node, 'source', sprintf(<<'SQL', int(rand(7)), int(rand(150))));
UPDATE big SET version = version + 1 WHERE id % 7 = %d;
UPDATE long_values SET version = version + 1, t = reverse(t) WHERE id = %d;
DELETE FROM small_7; INSERT INTO small_7 SELECT g, g FROM generate_series(1, 70) g;
SQL
	return;
}

my %count = (survived => 0, 'failed cleanly' => 0, wrong => 0);
foreach my $round (1 .. $rounds)
{
	my $before = fingerprint($node, 'source');
	my ($holder, $snapshot) = export_snapshot();
	my @rules = map {
		[ 1 + int(rand(6)), int(rand(400_000)), one_of('cut', 'reset', 'stall') ]
	} 1 .. int(rand(3));
	my $proxy = start_proxy($node, @rules);
	my @options = (
		'-j' . (1 + int(rand(4))), '-Z' . one_of('none', 'gzip'),
		'--max-table-segment-pages=' . (5 + int(rand(60))),
		'--retries=' . one_of(0, 1, 5, 5, 5), '-r' . (1500 + int(rand(3000))),
		one_of([], [], ['--no-extension'])->@*);
	my $dump = start_dump(
		"host=127.0.0.1 port=$proxy->{port} dbname=source sslmode=disable gssencmode=disable",
		'--stall-timeout=1', "--snapshot=$snapshot", @options);
	# most come when rows are read: before, hardly a run survives
	my $begin = time + one_of(0, 10, 10, 10);
	sleep 0.02 while time < $begin && pump_run($dump->{h}) && !(my @files = glob "$dump->{dir}/[0-9]*.dat*");
	my @what;
	foreach (1 .. 1 + int(rand(3)))
	{
		my $fault = one_of(@choice);
		my $pause = rand(1.2);
		push @what, sprintf('%.1f s, %s', $pause, $fault);
		sleep $pause;
		pump_run($dump->{h});
		$faults{$fault}->($dump) if $dump->{h}->pumpable;
	}
	my $rc = end_dump($dump);
	stop_proxy($proxy);
	$holder->kill_kill;
	my $verdict = verdict($dump, $rc, $before, $round);
	$count{$verdict}++;
	ok($verdict ne 'wrong', "round $round: $verdict")
	  or diag("rules: @{[ map { \"[@$_]\" } @rules ]}; options: @options; faults: ",
		join('; ', @what), "; exit code: ", $rc // 'hangs', "\n$dump->{err}");
	note(join('; ', map { "[@$_]" } @rules), ' ', join('; ', @what));
	note($dump->{err} =~ /^(.* error: .*)/m) if $rc;
}

# A psql that holds a snapshot.  A server started meanwhile inherits its input,
# so that it sees no end of it: it is to be killed.
sub export_snapshot
{
	my $in = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT pg_export_snapshot();\n";
	my $out = '';
	my $h = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('source') ],
		'<', \$in, '>', \$out, '2>', '/dev/null',
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$h->pump until $out =~ /\n/;
	chomp $out;
	return ($h, $out);
}

sub verdict
{
	my ($dump, $rc, $before, $round) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	sleep 0.1 while sessions($node) && time < $end;
	diag('sessions are left') if sessions($node);
	return 'wrong' if !defined $rc || sessions($node);
	if ($rc != 0)
	{
		# one message, or what the signal did before there was anything to say
		return -e $dump->{dir} || ($rc == 1 && $dump->{err} !~ /error: /) ? 'wrong' : 'failed cleanly';
	}
	my $copy = "copy$round";
	make_database($node, $copy, options => 'TEMPLATE template0');
	my ($restored, undef, $err) =
	  run_program('pg_restore', '-d', $node->connstr($copy), '-j2', $dump->{dir});
	my @differences = differences($before, fingerprint($node, $copy));
	diag("pg_restore: $restored $err", map { "\n$_" } @differences) if $restored || @differences;
	sql($node, 'postgres', "DROP DATABASE $copy");
	system_or_bail('rm', '-rf', $dump->{dir});
	return $restored || @differences ? 'wrong' : 'survived';
}

my $report = "seed $seed, $rounds rounds: "
  . join(', ', map { "$count{$_} $_" } 'survived', 'failed cleanly', 'wrong');
note($report);
append_to_file($ENV{PG_PARDUMP_FAULT_REPORT}, "$report\n")
  if $ENV{PG_PARDUMP_FAULT_REPORT};
$node->stop;
done_testing();
