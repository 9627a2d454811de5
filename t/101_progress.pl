# --progress: what it shows, where it shows it, and the names of sessions.  A
# row takes as long as a row security policy wants, so that there is something to
# watch, and waits at a gate, but not for pg_dump, which reads some; chunks are larger
# than those that go together in one job.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(start_dump end_dump wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value dump_ok);
use Pardump::Command qw(refused_ok fake_pg_dump);
use Pardump::Gate qw(hold_gates hold close_gate open_gate wait_at_gate);
use Pardump::Manifest qw(read_manifest);
use Pardump::Terminal qw(run_on_terminal);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('progress');
make_database($node, 'progress');
my $long = 'ä' . ('x' x 61);
sql($node, 'progress', <<"SQL");
CREATE ROLE reader LOGIN;
CREATE SCHEMA fast;
CREATE TABLE fast.plain AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE fast.empty (a int);
SELECT lo_from_bytea(0, repeat('x', 5000)::bytea) FROM generate_series(1, 5);
CREATE SCHEMA slow;
CREATE FUNCTION slow.wait() RETURNS bool LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_sleep(0.01);
	IF current_setting(''application_name'') <> ''pg_dump'' THEN PERFORM pg_advisory_xact_lock_shared(42); END IF;
	RETURN true; END';
CREATE TABLE slow.one (id int, t text);
ALTER TABLE slow.one ALTER t SET STORAGE PLAIN;	-- a row a page
INSERT INTO slow.one SELECT g, repeat('x', 7000) FROM generate_series(1, 280) g;
CREATE TABLE slow."$long" (LIKE slow.one INCLUDING STORAGE);
INSERT INTO slow."$long" SELECT * FROM slow.one;
ALTER TABLE slow.one ENABLE ROW LEVEL SECURITY;
ALTER TABLE slow."$long" ENABLE ROW LEVEL SECURITY;
CREATE POLICY wait ON slow.one FOR SELECT USING (slow.wait());
CREATE POLICY wait ON slow."$long" FOR SELECT USING (slow.wait());
CREATE SCHEMA many;
CREATE TABLE many.chunks (LIKE slow.one INCLUDING STORAGE);
INSERT INTO many.chunks SELECT g, repeat('x', 7000) FROM generate_series(1, 2800) g;
GRANT USAGE ON SCHEMA slow TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA slow TO reader;
SQL
my @db = ('-d', $node->connstr('progress'));
my @slow = ('-n', 'slow', '-U', 'reader', '--enable-row-security', '-j2',
	'--max-table-segment-pages=140');

my $size = qr/\d+(?:\.\d+)? (?:bytes|[kMGT]B)/;
my $line = qr{\ *(\d+)%(?:,\ (?:ETA|time)\ \d+:\d\d)?,\ $size\ of\ ~$size,
	(?:\ workers\ \d+/\d+,)?\ chunks\ (\d+)/(\d+)(?:,\ objects\ \d+/\d+)?
	(?:,\ $size/s,\ $size/s\ stored,\ ([\d,]+)\ rows/s)?}x;

# The lines without those that a slow machine has time for, one in ten seconds.
sub last_lines
{
	my ($text) = @_;
	my @lines = grep { !/^plan, time/ } split /\n/, $text;
	shift @lines while @lines && $lines[0] =~ /^$line$/ && $lines[0] !~ /^100%/;
	return @lines;
}

# ---- not a terminal

dump_ok($node, 'progress', 'a dump without -P prints nothing', 'pg_pardump', '-n', 'fast');
my ($rc, $out, $err) = run_program('pg_pardump', @db, '-P', '-n', 'fast', '-j2', '-b',
	'--chunk-size=128kB', '--no-sync', '-f', new_path('plain'));
is("$rc$out", '0', '-P: exit code');
my @lines = last_lines($err);
is(scalar(@lines), 5, '-P: five lines of a short run') or diag($err);
like($lines[0], qr/^$line$/, '-P: the last line of progress');
like($lines[0], qr/^100%, time \d+:\d\d, (?!.*workers).*, objects 5\/5$/, '-P: the last line shows 100% and no workers');
like($lines[0], qr/chunks (\d+)\/\1, objects/, '-P: all chunks');
like("$lines[1]\n$lines[2]", qr/^dumped database "progress" into directory ".*":\n  2 tables, 20,000 rows, 5 large objects, $size stored as $size in \d+\.\d s, $size\/s$/,
	'-P: summary');
like($lines[3], qr/^slowest table: fast\.(plain|empty), \d+\.\d s of work in \d+ chunks?$/,
	'-P: slowest table');
like($lines[4], qr/^largest table: fast\.plain, $size$/, '-P: largest table');
is(($lines[0] =~ /($size) of ~$size/)[0], ($lines[2] =~ /, ($size) stored as/)[0], '-P: the line ends with the bytes of the summary');
is(($lines[0] =~ /$size of ~($size)/)[0], ($lines[2] =~ /, ($size) stored as/)[0], '-P: the expected bytes are those of the archive');

# ---- before and after the rows

# All times are elapsed times of the run.  pg_dump takes two seconds before the first row.
my $slow_pg_dump = fake_pg_dump('slow_pg_dump', 'sleep 2; exec "$PG_DUMP" "$@"');
my $dir = new_path('flushed');
($rc, $out, $err) = run_program('pg_pardump', @db, '-P', '-n', 'fast', '-f', $dir, '--log-json=-',
	"--pg-dump=$slow_pg_dump");
is($rc, 0, 'a slow pg_dump: exit code') or diag($err);
@lines = last_lines($err);
like($lines[0], qr/^100%, time (?!0:0[01])\d+:\d\d, /, 'the elapsed time includes the time of pg_dump');
like($lines[1], qr/^syncing files to disk (\d+)\/\1, time \d+:\d\d$/, 'the last stage is shown');
my $n_files = () = glob "$dir/*";
like($lines[1], qr/^syncing files to disk $n_files\//, 'the last stage counts all files, with toc.dat and the manifest');
my @times = ((map { /time (\d+):(\d\d)/ ? $1 * 60 + $2 : () } @lines), $lines[3] =~ / in (\d+)\.\d s, /, $out =~ /.*"seconds":(\d+)\.\d+,"slow/);
is(scalar(@times), 4, 'lines of rows, flushing and summary, and the log contain the time');
# the shown times are rounded, but this test discards fractions
is_deeply([ grep { $times[$_] < $times[$_ - 1] - 1 || $times[$_] < 2 } 1 .. $#times ], [],
	'elapsed times in logs and files do not decrease') or diag($err, $out);
my ($start, $end) = map { /(\d\d):(\d\d):(\d\d)\.\d+Z$/ ? $1 * 3600 + $2 * 60 + $3 : () } @{ read_manifest($dir) }{qw(Start-Time End-Time)};
cmp_ok(($end - $start) % 86400, '>=', 2, 'manifest: the start time precedes the end time by two seconds');

($rc, $out, $err) = run_program('pg_pardump', @db, '--progress', '-s', '--no-sync',
	'-f', new_path('nothing'));
is("$rc$out", '0', 'nothing to read: exit code');
like($err, qr/^100%, time \d+:\d\d, chunks 0\/0\ndumped database ".*:\n  0 tables, 0 rows, 0 bytes stored as 0 bytes in .*\n$/,
	'nothing to read: progress and summary');
refused_ok(qr/options -P\/--progress and --no-progress cannot be used together/,
	'both ways', @db, '-P', '--no-progress');

# ---- a terminal

# Runs with standard error a terminal, of a number of columns; returns the exit
# code and what it shows.
sub on_terminal
{
	my ($columns, @options) = @_;
	my ($rc, $shown) = run_on_terminal($columns, 'pg_pardump', @db, '--no-sync', '-f', new_path('terminal'), @options);

	# a slow machine's plan takes long enough to be seen
	$shown =~ s/^(\rplan, time \d+:\d\d *)+(\r\n)?// unless grep { /^--pg-dump/ } @options;
	return ($rc, $shown =~ s/\r\n/\n/gr);
}

($rc, $out) = on_terminal(80, @slow);
is($rc, 0, 'terminal: exit code');
my ($shown, $summary) = $out =~ /^(.*?)\n(.*)$/s;
my @shown = grep { $_ ne '' } split /\r/, $shown;
cmp_ok(scalar(@shown), '>=', 3, 'terminal: a line a second, written over');
# the terminal has 80 columns, what does not fit is left out, and nothing is cut
my $field = qr{\ *\d+%|(?:ETA|time)\ \d+:\d\d|$size\ of\ ~$size|(?:workers\ )?\d/2|(?:chunks\ )?\d/\d
	|$size/s(?:\ stored)?|[\d,]+\ rows/s}x;
is_deeply([ grep { !/^$field(?:, $field)+ *$/ || length >= 80 } @shown ], [],
	'terminal: all lines are complete and fit');
is_deeply([ grep { !/B\/s.*rows\/s *$/ } @shown[ 0 .. $#shown - 1 ] ], [], 'terminal: speed is not what is left out');
# but when no row has come yet
is(scalar(grep { /ETA|^ *0%/ } @shown), @shown - 1, 'terminal: all lines but the last show the time left') or diag(explain(\@shown));
cmp_ok(scalar(grep { /ETA/ } @shown), '>=', 1, 'terminal: the time left is shown after some rows');
my @percents = map { /(\d+)%/ } @shown;
is_deeply([ sort { $a <=> $b } @percents ], \@percents, 'terminal: percentages do not fall');
is($percents[-1], 100, 'terminal: the last line shows 100%');
is_deeply([ grep { $_ >= 100 } @percents[ 0 .. $#percents - 1 ] ], [],
	'terminal: only the last line shows 100%');
like($summary, qr/^dumped database .*:\n  2 tables, 560 rows, .*\nslowest table: slow\..*\nlargest table: slow\..*\n$/, 'terminal: summary');

# a worker between two of many chunks is not idle
($rc, $out) = on_terminal(150, '-n', 'many', '-j2', '--max-table-segment-pages=140', '-r', '6M');
is($rc, 0, 'many chunks: exit code');
my @busy = map { m{ workers (\d)/2, chunks (\d+)/(\d+)} ? { workers => $1, left => $3 - $2 } : () } split /\r/, $out;
# which have to connect first
shift @busy while @busy && $busy[0]{workers} < 2;
cmp_ok(scalar(@busy), '>=', 2, 'many chunks: lines');
# one of them may be done while the other one has the last chunk
is_deeply([ grep { $_->{left} >= 2 && $_->{workers} != 2 } @busy ], [], 'many chunks: both workers are busy')
  or diag($out);
like($out, qr/\r *100%, (?!.*workers).*, chunks (\d+)\/\1 *\n/, 'many chunks: no workers at the end');

# what is seen while there is no plan
my $time = qr/time \d+:\d\d/;
($rc, $out) = on_terminal(80, '-n', 'fast', "--pg-dump=$slow_pg_dump");
is($rc, 0, 'a long plan: exit code');
like($out, qr/^(?:\rplan, $time *)+\n\r.*100%, $time, .*\n/, 'a long plan: progress is shown');
($rc, $out) = on_terminal(80, "--pg-dump=" . fake_pg_dump('failing', 'sleep 2; echo "pg_dump: error: no" >&2; sleep 2; exit 3'));
is($rc, 3, 'a long plan that fails: exit code');
like($out, qr/^(?:\rplan, $time *)+\r *\rpg_dump: error: no\n(?:(?:\rplan, $time *)+\r *\r)?pg_pardump: error: pg_dump failed with exit code 3\n$/,
	'a long plan that fails: the line of the progress is erased');

# messages come on lines of their own
($rc, $out) = on_terminal(150, @slow, '-v');
is($rc, 0, 'messages on a terminal: exit code');
my @messages = grep { /pg_pardump: / } split /[\r\n]+/, $out;
cmp_ok(scalar(@messages), '>=', 3, 'messages on a terminal');
is_deeply([ grep { !/^pg_pardump: / } @messages ], [], 'messages on a terminal: each on its line');
@shown = grep { /^ *\d+%/ } split /[\r\n]+/, $out;
is_deeply([ grep { !/^$line *$/ || ($4 // '') eq '0' && $1 > 0 } @shown ], [], 'a wide terminal: the whole line, and rows as they come');
($rc, $out) = on_terminal(80, '-n', 'fast', '--no-progress');
is("$rc$out", '0', 'terminal: --no-progress');
($rc, $out) = on_terminal(80, '-n', 'fast', '-t', 'nowhere');
unlike($out, qr/%|tables,/, 'terminal: no progress of what fails at once');

# ---- sessions

hold_gates($node, 'progress');

# The names of workers' sessions, of which a number wait at their next row.
sub names_at_gate
{
	my ($dump, $n) = @_;
	wait_at_gate($node, $dump, $n);
	return split /\n/, value($node, 'postgres',
		"SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'pg_pardump:%' ORDER BY 1");
}

close_gate(42);
my $dump = start_dump($node->connstr('progress'), @slow, '-P', '-j4');
my @names = names_at_gate($dump, 4);
is(scalar(grep { /^pg_pardump: slow\.one [12]\/2$/ } @names), 2, 'names of sessions: a table')
  or diag(explain(\@names));
is(scalar(grep { /^pg_pardump: slow\."\?\?x{35,45} [12]\/2$/ } @names), 2, 'names of sessions: one of a long name')
  or diag(explain(\@names));
is_deeply([ grep { length > 63 } @names ], [], 'names of sessions: at most 63 bytes');
like(value($node, 'postgres', 'SELECT count(*) FROM pg_stat_progress_copy'), qr/^[1-9]/,
	'pg_stat_progress_copy shows what is read');
open_gate();
is(end_dump($dump), 0, 'the dump that was watched');
close_gate(42);
$dump = start_dump($node->connstr('progress'), '-n', 'slow', '-U', 'reader',
	'--enable-row-security', '--max-table-segment-pages=50');
like(join(', ', names_at_gate($dump, 1)), qr/^pg_pardump: slow\.\S+ and 1 more$/, 'the name of a batch');
open_gate();
is(end_dump($dump), 0, 'the dump of a batch');
unlike($dump->{err}, qr/truncated/, 'no application_name is too long for the server');

# a name that the user chose stays
{
	local $ENV{PGAPPNAME} = 'mine';
	my $dir = new_path('named');
	my $h = IPC::Run::start([ 'pg_pardump', @db, @slow, '--no-sync', '-f', $dir ],
		'<', \'', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until('workers of the name', sub {
		value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'mine' AND query LIKE 'COPY%'") > 0 });
	is(value($node, 'postgres', "SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'pg_pardump%'"), 0, 'sessions have the application_name that the user chose');
	$h->finish;
	is($h->result(0), 0, 'exit code of the dump');
}
hold();

$node->stop;
done_testing();
