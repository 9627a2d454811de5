# The progress of a copy in its stages without rows: every stage has a line with its
# count, on a terminal and in a file, and the line names the index that is being built.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use JSON::PP;
use Pardump::Background qw(pump_run wait_until);
use Pardump::Cluster qw(start_cluster make_database sql start_psql);
use Pardump::Copy qw(run_copy sessions_left);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('stages_source');
my $target = start_cluster('stages_target');

# An index whose build waits at a gate (42), an index of a constraint, and a foreign
# key.  The name of the table is long, its characters have two bytes each, and it
# contains an escape sequence of terminals.
my $long = "\e[31m" . ('ä' x 25);
make_database($source, 'staged');
sql($_->[0], $_->[1], q{CREATE FUNCTION pg_catalog.wait_at_gate(int) RETURNS int LANGUAGE plpgsql
	IMMUTABLE AS 'BEGIN IF $1 = 1200 THEN PERFORM pg_catalog.pg_advisory_xact_lock_shared(42); END IF;
	RETURN $1; END'}) foreach [ $source, 'staged' ], [ $target, 'template1' ];
sql($source, 'staged', <<"SQL");
CREATE TABLE "$long" (id int, t text);
ALTER TABLE "$long" ALTER t SET STORAGE PLAIN;
INSERT INTO "$long" SELECT g, repeat('x', 7900) FROM generate_series(1, 1400) g;
CREATE INDEX gated ON "$long" (wait_at_gate(id));
CREATE TABLE head (id int PRIMARY KEY);
CREATE TABLE tail (id int PRIMARY KEY REFERENCES head);
INSERT INTO head SELECT generate_series(1, 100);
INSERT INTO tail SELECT id FROM head;
SELECT lo_from_bytea(0, 'x') FROM generate_series(1, 5);
SQL

my $size = qr/\d+(?:\.\d+)? (?:bytes|[kMGT]B)/;
my $time = qr/time \d+:\d\d/;
my @stages = (
	qr{^definitions (\d+)/\g1, $time$},
	qr{^rows 100%, $time, $size of ~$size(?:, [\w/ ]+)*, indexes \d/3},
	qr{^indexes 3/3, $time$},
	qr{^foreign keys and other objects 1/1, $time$},
	qr{^ANALYZE 3/3, $time$},
	qr{^comparing 100%, $time, $size of ~$size, });

# The lines contain one for each pattern, in this order.
sub stages_ok
{
	my ($what, @lines) = @_;
	my @left = @stages;
	foreach my $line (@lines)
	{
		shift @left if @left && $line =~ $left[0];
	}
	is_deeply(\@left, [], "$what: every stage has a line") or diag(join "\n", @lines);
	my @seconds = map { /\btime (\d+):(\d+)/ ? $1 * 60 + $2 : () } @lines;
	is_deeply(\@seconds, [ sort { $a <=> $b } @seconds ], "$what: elapsed times do not decrease");
	return;
}

# ---- not a terminal

make_database($target, 'plain');
my ($rc, $out, $err) = run_copy($source, 'staged', $target, 'plain', '-P', '-j2', '--compare');
is($rc, 0, '-P: exit code') or diag($err);
stages_ok('-P', split /\n/, $err);
like($out, qr/^time: definitions \d+\.\d s, rows .*, ANALYZE \d+\.\d s\ncomparison: .* in \d+\.\d s, no differences found$/m,
	'-P: the summary contains all stages');

# ---- terminals, while an index is being built

# The first terminal is too narrow for the whole line.
foreach my $columns (80, 120)
{
	my $db = "columns$columns";
	make_database($target, $db);
	my $holder = start_psql($target, $db);
	$holder->('SELECT pg_advisory_lock(42)');
	my ($in, $shown) = ('', '');
	my $h = IPC::Run::start([ 'sh', '-c', 'stty cols $0 0<&1; exec "$@" 2>&1', $columns,
			'pg_pardump', '-d', $source->connstr('staged'), '--target', $target->connstr($db),
			'-j2', '--compare', '--retries=0' ],
		'<', \$in, '>pty>', \$shown, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until("an index of $db", sub {
		!pump_run($h) || $shown =~ /indexes 2\/3, $time, public\."\\x1b\[31m\S+, (?:scanning table )?\d\d?%/ });
	like($shown, qr/indexes 2\/3, $time, public\."\\x1b\[31m(?:\xc3\xa4)+\.\.\., (?:scanning table )?(\d\d?)%/,
		"$columns columns: the line names the index that is being built") or diag($shown);
	$holder->('SELECT pg_advisory_unlock_all()');
	$h->finish;
	is($h->full_result(0) >> 8, 0, "$columns columns: exit code");
	$holder->();
	my @lines = split /[\r\n]+/, $shown;
	stages_ok("$columns columns", map { s/ +$//r } @lines);
	my ($end) = grep { $lines[$_] =~ /^copied/ } 0 .. $#lines;
	is_deeply([ grep { length > $columns } @lines[ 0 .. $end - 1 ] ], [],
		"$columns columns: no line is wider than the terminal") if $columns > 80;
	like((grep { /^rows 100%/ } @lines)[0], qr{, chunks \d+/\d+, (?:objects \d/\d, )?indexes \d/3 *$}, "$columns columns: the last line contains no rate");
}
is(sessions_left($source, $target), 0, 'no session is left');

$source->stop;
$target->stop;
done_testing();
