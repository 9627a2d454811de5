# What the programs show of all databases: a line of progress, a line for each database
# as it ends and a summary, on a terminal and with -P; and the same figures as events and
# metrics.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use JSON::PP;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster run_program new_path start_psql sql value line_break);
use Pardump::Prometheus qw(read_samples);
use Pardump::WholeCluster qw(create_database archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('all_progress');
my $break = line_break($node);
my $odd = "odd${break}name";
my $shown_odd = sprintf 'odd\x%02xname', ord $break;
create_database($node, $_) foreach 'shop', $odd, 'broken';
sql($node, 'shop', <<'SQL');
CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader;
CREATE TABLE items AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 12345) g;
CREATE TABLE more AS SELECT 1 AS id;
SELECT lo_from_bytea(1, 'x'), lo_from_bytea(2, 'y');
SQL
sql($node, $_, 'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g') foreach $odd, 'broken';
my @names = ($odd, 'broken', 'postgres', 'shop', 'template1');

my $size = qr/\d+(?:\.\d+)? (?:bytes|[kMGT]B)/;
my $rate = qr/$size\/s/;
my $seconds = qr/\d+\.\d s/;
my $last = qr/databases (\d)\/\1, time \d+:\d\d, $size/;

sub events
{
	my ($file, $kind) = @_;
	return grep { $_->{event} eq $kind } map { decode_json($_) } split /\n/, slurp_file($file);
}

# The lines that remain, without those of the progress in between.
sub lines_of { return grep { !/^databases \d\/\d, (?!time)/ && !/^pg_/ } split /\n/, $_[0]; }

# They are numbered in the order in which they end.
sub numbered_ok
{
	my ($what, $n, @lines) = @_;
	is(join(' ', map { /^\[(\d\/\d)\] / ? $1 : () } @lines), join(' ', map { "$_/$n" } 1 .. $n), "$what: each is numbered");
	return;
}

# ---- a dump

my $log = new_path('log');
my $metrics = new_path('metrics') . '.prom';
my ($rc, $err, $dir) = dump_all($node, '-j2', '-P', "--log-json=$log", "--metrics=$metrics");
is($rc, 0, 'a dump: exit code');
my @lines = lines_of($err);
numbered_ok('a dump', 5, @lines);
ok((grep { /^\[\d\/5\] shop: 2 tables, 12,346 rows, 2 large objects, $size stored as $size in $seconds$/ } @lines), 'a dump: a line of a database')
  or diag($err);
ok((grep { /^\[\d\/5\] \Q$shown_odd\E: 1 table, 1,000 rows, $size stored as $size in $seconds$/ } @lines), 'a dump: a name that has two lines');
like($lines[-3], qr/^$last$/, 'a dump: the last line of progress');
like("$lines[-2]\n$lines[-1]", qr/^dumped: roles, tablespaces, 5 databases\n  4 tables, 14,346 rows, 2 large objects, $size stored as $size in $seconds, $size\/s$/, 'a dump: the summary');
is(scalar(@lines), 8, 'a dump: nothing else');
my ($sum) = grep { defined $_->{databases} } events($log, 'summary');
is_deeply({ %$sum{qw(databases failed_databases tables rows large_objects retries)} },
	{ databases => 5, failed_databases => 0, tables => 4, rows => 14346, large_objects => 2, retries => 0 }, 'a dump: the event of the summary');
my %ended = map { $_->{database} => $_ } events($log, 'database_end');
is_deeply([ sort keys %ended ], [ sort @names ], 'a dump: an event of each database');
is_deeply({ %{ $ended{shop} }{qw(state tables rows)} }, { state => 'complete', tables => 2, rows => 12346 }, 'a dump: figures of the event');
is_deeply([ sort map { $_->{database} } events($log, 'database_start') ], [ sort @names ], 'a dump: each begins');
foreach my $figure (qw(tables rows raw_bytes stored_bytes))
{
	my $of_all = 0;
	$of_all += $_->{$figure} foreach values %ended;
	is($sum->{$figure}, $of_all, "a dump: $figure are the sum");
	is(read_samples($metrics)->{"pg_pardump_all_databases_$figure"}[0]{value}, $of_all, "a dump: $figure as a metric");
}
cmp_ok($sum->{stored_bytes}, '>', 0, 'a dump: the sum contains stored bytes');
# who reads the log finds the run of a database
my ($outer) = grep { !defined $_->{database} } events($log, 'start');
my %started = map { $_->{database} => $_ } grep { defined $_->{database} } events($log, 'start');
is_deeply([ sort keys %started ], [ sort @names ], 'a dump: each run names its database');
is($started{shop}{all_databases_run_id}, $outer->{run_id}, 'a dump: the events of a database contain the ID of the whole run');

# ---- one that fails

my $holder = start_psql($node, 'broken');
$holder->('BEGIN; LOCK TABLE t');
$log = new_path('log');
($rc, $err) = dump_all($node, '-P', '--lock-wait-timeout=1000', "--log-json=$log", q{--mask=items.t:'x'});
is($rc, 1, 'one fails: exit code');
@lines = lines_of($err);
numbered_ok('one fails', 5, @lines);
ok((grep { /^\[\d\/5\] broken: FAILED after $seconds$/ } @lines), 'one fails: line of the database') or diag($err);
ok((grep { /^\[\d\/5\] shop: .*, 1 column masked$/ } @lines), 'one fails: a mask of another one');
like($err, qr/^dumped: roles, tablespaces, 4 of 5 databases\n  3 tables, 13,346 rows, .*, 1 column masked\n.*error: could not dump 1 of 5 databases\n.*detail: Failed databases: "broken"\.$/m, 'one fails: the summary, and the error that names it');
($sum) = grep { defined $_->{databases} } events($log, 'summary');
is($sum->{failed_databases}, 1, 'one fails: the event of the summary');
is(join(' ', map { $_->{database} } grep { $_->{state} eq 'failed' } events($log, 'database_end')), 'broken', 'one fails: event of the database');
$holder->();

# ---- a verification, a restore, a copy

($rc, my $out, $err) = run_program('pg_pardump', '--all-databases', "--verify=$dir");
is("$rc$err", '0', 'a verification: exit code');
@lines = split /\n/, $out;
numbered_ok('a verification', 5, @lines);
ok((grep { /^\[\d\/5\] shop: verified, \d+ files, 12,346 rows, $size stored as $size in $seconds$/ } @lines), 'a verification: a line of a database');
like("$lines[-2]\n$lines[-1]", qr/^verified: roles, tablespaces, 5 databases\n  \d+ files, 14,346 rows, $size stored as $size in $seconds, $size\/s$/, 'a verification: the summary');
is(scalar(@lines), 7, 'a verification: nothing else');
append_to_file(archive_of($dir, 'broken') . '/toc.dat', 'x');
($rc, $out, $err) = run_program('pg_pardump', '--all-databases', '-P', "--verify=$dir");
is($rc, 1, 'a damaged archive: exit code');
like($out, qr/^\[\d\/5\] broken: DAMAGED, 1 problem found, \d+ files? in $seconds$/m, 'a damaged archive: line of the database');
like($out, qr/^verified: roles, tablespaces, 4 of 5 databases\n  \d+ files, .*$/m, 'a damaged archive: the summary');
like($err, qr/^$last$/m, 'a damaged archive: the line of progress');
like($err, qr/^pg_pardump: error: verification of 1 of 5 databases failed\npg_pardump: detail: Damaged archives: "broken"\.\npg_pardump: hint: Use another copy of the damaged archives\.\npg_pardump: hint: To restore the other databases, run "pg_parrestore --all-databases --exclude-database=broken -d CONNINFO \Q$dir\E"\.\n\z/m,
	'a damaged archive: the last messages');

my $target = start_cluster('all_progress_target');
($rc, $out, $err) = run_program('pg_parrestore', '--all-databases', '-j2', '--progress', '--exclude-database=broken',
	'-d', $target->connstr('postgres'), $dir);
is("$rc$out", '0', 'a restore: exit code');
@lines = lines_of($err);
numbered_ok('a restore', 4, @lines);
ok((grep { /^\[\d\/4\] shop: 2 tables, 12,346 rows, 2 large objects, $size in $seconds$/ } @lines), 'a restore: a line of a database') or diag($err);
like($lines[-4], qr/^$last$/, 'a restore: the last line of progress');
like(join("\n", @lines[ -3 .. -1 ]), qr/^restored: roles, tablespaces, 4 databases\n  3 tables, 13,346 rows, 2 large objects, $size in $seconds, $size\/s\n  target: \Q@{[$target->host]}\E:\d+$/, 'a restore: the summary');
sql($target, 'postgres', 'DROP DATABASE shop');
sql($target, 'postgres', qq{DROP DATABASE "$odd"});
($rc, $out, $err) = run_program('pg_pardump', '--all-databases', '-j2', '-d', $node->connstr('postgres'), '--compare',
	'--target', $target->connstr('postgres'));
is($rc, 0, 'a copy: exit code') or diag($err);
@lines = split /\n/, $out;
numbered_ok('a copy', 5, @lines);
ok((grep { /^\[\d\/5\] shop: 2 tables, 12,346 rows, 2 large objects, $size in $seconds, $size sent, equal to the source$/ } @lines),
	'a copy: a line of a database') or diag($out);
like(join("\n", @lines[ -3 .. -1 ]), qr/^copied: roles, tablespaces, 5 databases\n  4 tables, 14,346 rows, 2 large objects, $size in $seconds, $size\/s, $size sent\n  target: \Q@{[$target->host]}\E:\d+$/, 'a copy: the summary');
is(scalar(@lines), 8, 'a copy: nothing else');

# ---- a terminal: the rows of one database wait at a gate

sql($node, 'shop', <<'SQL');
CREATE TABLE gated AS SELECT g AS id FROM generate_series(1, 3000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY pass ON gated USING (CASE WHEN id = 2000 AND current_setting('application_name') <> 'pg_dump' THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
SQL
my $gate = start_psql($node, 'shop');
$gate->('SELECT pg_advisory_lock(42)');
my ($in, $shown) = ('', '');
my $h = IPC::Run::start([ 'sh', '-c', 'stty cols $0 0<&1; exec "$@" 2>&1', 200, 'pg_pardump', '--all-databases',
		'-d', $node->connstr('postgres') . ' user=reader', '--enable-row-security', '--no-role-passwords', '-B', '-j2', '--no-sync', '-f', new_path('terminal') ],
	'<', \$in, '>pty>', \$shown, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
my $line = qr/\rdatabases 4\/5,\ +\d+%, ETA \d+:\d\d, $size of ~$size, $rate, running shop \d+%/;
eval { $h->pump until $shown =~ $line; 1 } or diag($@, $shown =~ s/\r/\n/gr);
like($shown, $line, 'a terminal: the line of progress');
$gate->('SELECT pg_advisory_unlock(42)');
$h->finish;
is($h->full_result(0) >> 8, 0, 'a terminal: exit code');
like($shown, qr/\[5\/5\] shop: 3 tables, /, 'a terminal: a line of a database');
like($shown, qr/\r\ndumped: roles, tablespaces, 5 databases\r\n  5 tables, 17,346 rows, /, 'a terminal: the summary');
# no line of the progress is left before another line
unlike($shown, qr/[kMG]B\/s[^\r\n]*\[\d\/5\]/, 'a terminal: the line of progress is cleared');
$gate->();

# ---- a terminal: the duration of the rest of the last database, which waits for a file, is unknown

my $file = new_path('go');
append_to_file($file, '');
sql($node, 'shop', <<"SQL");
DROP TABLE gated;
CREATE FUNCTION wait_for_file() RETURNS int LANGUAGE plpgsql AS \$\$BEGIN
	WHILE (pg_stat_file('$file', true)).size IS NULL LOOP PERFORM pg_sleep(0.1); END LOOP;
	RETURN 1; END\$\$;
CREATE MATERIALIZED VIEW slow AS SELECT wait_for_file();
SQL
unlink $file;
sql($target, 'postgres', "DROP DATABASE $_") foreach 'shop', 'broken', qq{"$odd"};
$shown = '';
$h = IPC::Run::start([ 'sh', '-c', 'stty cols $0 0<&1; exec "$@" 2>&1', 200, 'pg_pardump', '--all-databases', '-j2',
		'-d', $node->connstr('postgres'), '--target', $target->connstr('postgres') ],
	'<', \$in, '>pty>', \$shown, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$line = qr/\rdatabases 4\/5, +99%, $size of ~$size, $rate, running shop \(rest\)/;
eval { $h->pump until $shown =~ $line; 1 } or diag($@, $shown =~ s/\r/\n/gr);
like($shown, $line, 'the rest of a copy: no ETA after all rows and indexes');
append_to_file($file, '');
$h->finish;
is($h->full_result(0) >> 8, 0, 'the rest of a copy: exit code');

$_->stop foreach $node, $target;
done_testing();
