# --log-json: every line is valid JSON, and the events are those of the run.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Command qw(data_files);
use Pardump::EventSchema qw(event_kinds events_valid_ok);
use Pardump::Prometheus qw(read_samples);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('log_json');
make_database($node, 'log');
sql($node, 'log', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE "a ""b\
c	" AS SELECT 1 AS a;
CREATE TABLE "ä" AS SELECT 1 AS a;
SELECT lo_from_bytea(0, repeat('x', 5000)::bytea) FROM generate_series(1, 5);
SQL
my @db = ('-d', $node->connstr('log'));

# The events in a text, but for those of which every run has the same, which are
# looked at here: each line must be JSON by itself, each run begin with what a
# program needs to read it, and have an id of its own.  @stages are those of the
# runs.
my @stages;
my %known_ids;

sub events
{
	my ($what, $text, @kinds) = @_;
	my (@events, @bad);
	foreach my $line (split /\n/, $text)
	{
		my $event = eval { JSON::PP->new->utf8->decode($line) };
		push @events, $event if ref $event eq 'HASH';
		push @bad, $line if ref $event ne 'HASH' || length $line >= 4096;
	}
	is_deeply(\@bad, [], "$what: all lines are JSON objects") or diag($text);
	is_deeply([ grep { $_->{time} !~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
				|| $_->{pid} !~ /^\d+$/ } @events ], [], "$what: time and process");
	like($text, qr/\n\z/, "$what: the last line is whole");
	events_valid_ok($what, $text, @kinds);
	my %runs;
	push @{ $runs{ $_->{run_id} // 'none' } }, $_ foreach @events;
	is_deeply([ grep { !/^[0-9a-f]{32}$/ || $known_ids{$_}++ } keys %runs ], [], "$what: run_id");
	is_deeply([ grep { $_->{event} ne 'start' || $_->{schema_version} != 1 || $_->{version} !~ /^\d+\.\d+/
				|| $_->{command} !~ /^(dump|dry-run|check|copy|verify|restore|compare)$/ } map { $_->[0] } values %runs ], [],
		"$what: the first event");
	@stages = map { $_->{stage} } of_kind('stage', @events);
	return grep { $_->{event} !~ /^(start|stage)$/ } @events;
}

sub of_kind
{
	my ($kind, @events) = @_;
	return grep { $_->{event} eq $kind } @events;
}

sub sum
{
	my ($key, @events) = @_;
	my $sum = 0;
	$sum += $_->{$key} foreach @events;
	return $sum;
}

# ---- what a run tells

my $known_raw_bytes;
foreach my $options ([], ['--no-extension'], [ '-Z', 'server-gzip' ])
{
	my $what = "@$options" || 'a run';
	my $dir = new_path('dump');
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '-j3', '--chunk-size=128kB',
		'--no-sync', '-f', $dir, '--log-json=-', '-Z', 'gzip', @$options);
	is("$rc$err", '0', "$what: exit code");
	my @events = events($what, $out);
	my @files = grep { /^\d+\.dat/ } data_files($dir);
	my ($run, $summary) = @events[ 0, -1 ];
	is($run->{event}, 'run', "$what: first");
	is($summary->{event}, 'summary', "$what: last");
	is_deeply(\@stages, [qw(plan rows flush end)], "$what: stages");
	is_deeply([ @{$run}{qw(database jobs tables large_objects compression)} ],
		[ 'log', 3, 3, 5, 'gzip' ], "$what: run");
	is($run->{chunks}, scalar(@files), "$what: chunks");
	my @starts = of_kind('chunk_start', @events);
	my @ends = of_kind('chunk_end', @events);
	is_deeply([ sort map { $_->{file} } @starts ], [ sort @files ], "$what: all chunks begin");
	is_deeply([ sort map { $_->{file} } @ends ], [ sort @files ], "$what: all chunks end");
	is(sum('rows', @ends), 20002, "$what: rows");
	is($summary->{rows}, 20002, "$what: rows in the summary");
	is(sum('stored_bytes', @ends), sum('size', map { { size => -s "$dir/$_" } } @files),
		"$what: stored bytes");
	is_deeply([ sort map { $_->{table} } grep { $_->{chunks} == 1 } @ends ],
		[ sort "public.\"a \"\"b\\\nc\t\"", "public.\"\x{e4}\"" ], "$what: names");
	is_deeply([ map { $_->{objects} } of_kind('objects_end', @events) ], [5],
		"$what: large objects");
	# what ends the rows of each file is counted too
	my $raw_bytes = sum('raw_bytes', @ends);
	$known_raw_bytes //= $raw_bytes - 5 * @files;
	is($raw_bytes, $known_raw_bytes + 5 * @files, "$what: raw bytes");
	is($summary->{raw_bytes}, $raw_bytes + 5 * 5000, "$what: raw bytes in the summary");
	is_deeply([ grep { $_->{worker} !~ /^[012]$/ } @starts, @ends ], [], "$what: workers");
}

# ---- one unit: the bytes of rows, on the screen, in the log and in the metrics

my $size = qr/\d+(?:\.\d+)? (?:bytes|[kMGT]B)/;

# Runs a command, and returns the bytes of rows, the summary and what was shown.
sub one_unit_ok
{
	my ($what, @command) = @_;
	my ($log, $file) = (new_path('unit.json'), new_path('unit.prom'));
	my ($rc, $out, $err) = run_program(@command, '--progress', "--log-json=$log", "--metrics=$file");
	is($rc, 0, "$what: exit code") or diag($err);
	my @events = events($what, slurp_file($log));
	my $summary = $events[-1];
	my ($done, $expected) = $err =~ /100%, time \S+, ($size) of ~($size)[,\n]/;
	my ($sum) = "$out$err" =~ /^  .*(?:rows|objects), ($size) (?:stored as|in) /m;
	is("$done $expected", "$sum $sum", "$what: the line ends with the bytes of the summary");
	# events of large objects have no bytes
	is($summary->{raw_bytes}, sum('raw_bytes', of_kind('chunk_end', @events)) + 5 * 5000, "$what: the chunks of the log contain all other bytes");
	my $metrics = read_samples($file);
	is($metrics->{pg_pardump_raw_bytes}[0]{value}, $summary->{raw_bytes}, "$what: the metrics have the same");
	is($metrics->{pg_pardump_wire_bytes} ? $metrics->{pg_pardump_wire_bytes}[0]{value} : undef, $summary->{wire_bytes}, "$what: bytes on the wire");
	return ($summary->{raw_bytes}, $summary, "$out$err");
}

{
	my ($first, $second) = map { new_path('unit') } 1, 2;
	my @dump = ('pg_pardump', @db, '-j2', '--chunk-size=128kB', '--no-sync', '--manifest-fingerprints');
	my ($rows, $summary) = one_unit_ok('a dump', @dump, '-f', $first);
	is($summary->{wire_bytes}, undef, 'a dump: the summary has no wire_bytes');
	is((one_unit_ok('compression on the server', @dump, '-f', new_path('unit'), '-Z', 'server-gzip'))[0], $rows, 'compression on the server: the same bytes');
	is((one_unit_ok('an incremental dump', @dump, '-f', $second, "--incremental=$first"))[0], $rows, 'an incremental dump: the same bytes');

	# what ends the rows of each file is not loaded
	$rows -= 5 * grep { /^\d+\.dat/ } data_files($first);
	foreach my $format (qw(text raw))
	{
		make_database($node, "unit_$format");
		my ($raw, $summary, $shown) = one_unit_ok("a copy, $format", 'pg_pardump', @db, '-j2', "--copy-format=$format",
			'--target=' . $node->connstr("unit_$format"), $format eq 'raw' ? '--wire-compression=zstd' : ());
		my ($wire) = $shown =~ /^  \d+ tables?, .*\/s, ($size) sent$/m;
		ok($wire, "a copy, $format: the wire is in the summary") or diag($shown);
		if ($format eq 'text')
		{
			is("$raw $summary->{wire_bytes}", "$rows $rows", 'a copy, text: the same bytes');
			next;
		}
		cmp_ok($summary->{wire_bytes}, '<', $raw * 0.9, 'a copy, raw: less is on the wire');
		cmp_ok($raw, '>', $rows, 'a copy, raw: tuples are larger than text');
	}
	make_database($node, 'unit_restored');
	is((one_unit_ok('a restore', 'pg_parrestore', '-j2', '-d', $node->connstr('unit_restored'), $first))[0], $rows, 'a restore: the same bytes');
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '-j2', '--compare-with=' . $node->connstr('unit_restored'), '--progress');
	is($rc, 0, 'a comparison: exit code');
	my ($done, $expected) = $err =~ /^comparing 100%, time \S+, ($size) of ~($size), /m;
	is($done, $expected, 'a comparison: the line ends with the bytes of both sides') or diag($err);
	like($out, qr/, \Q$done\E read from both in /, 'a comparison: the same bytes in the summary');
}

# ---- names that are not UTF-8, and a log that is appended to

make_database($node, 'latin', options => "ENCODING 'LATIN1' TEMPLATE template0");
sql($node, 'latin', "SET client_encoding = UTF8; CREATE TABLE \"\xc3\xa4\" AS SELECT 1 AS a");
my $log = new_path('log');
foreach my $try (1, 2)
{
	my ($rc) = run_program('pg_pardump', '-d', $node->connstr('latin'), '--no-sync',
		'-f', new_path('latin'), "--log-json=$log");
	is($rc, 0, "LATIN1: dump $try");
}
my @events = events('LATIN1', slurp_file($log));
is(scalar(keys %known_ids), 11, 'LATIN1: each run has its id');
is_deeply([ map { $_->{table} } of_kind('chunk_end', @events) ],
	[ ("public.\"\x{e4}\"") x 2 ], 'LATIN1: names of both runs');
is((stat $log)[2] & 07777, 0600, 'the log is only for its owner');

# ---- failures

my ($rc, $out, $err) = run_program('pg_pardump', @db, '-f', new_path('failed'),
	'-t', 'nowhere', '--log-json=-');
is($rc, 1, 'a failure: exit code');
@events = events('a failure', $out, qw(output error failed));
is_deeply([ map { $_->{event} } @events ], [ 'output', 'error', 'failed' ], 'a failure: events');
like($events[0]{message}, qr/^pg_dump: error: no matching tables/, 'a failure: the message of pg_dump');
like($events[1]{message}, qr/^pg_dump failed/, 'a failure: message');
like($err, qr/error: $events[1]{message}/, 'a failure: standard error says it too');

# an error of the server, in a worker
sql($node, 'log', <<'SQL');
CREATE ROLE reader LOGIN;
CREATE FUNCTION fail() RETURNS bool LANGUAGE plpgsql AS
	$$ BEGIN RAISE 'no "more"' USING errcode = 'XX123'; END $$;
CREATE TABLE guarded AS SELECT 1 AS a;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY fail ON guarded FOR SELECT USING (fail());
GRANT SELECT ON guarded TO reader;
SQL
($rc, $out) = run_program('pg_pardump', @db, '-U', 'reader', '-t', 'guarded',
	'-f', new_path('failed'), '--enable-row-security', '--no-extension', '--log-json=-');
is($rc, 1, 'an error of the server: exit code');
@events = events('an error of the server', $out);
my ($error) = grep { $_->{event} eq 'error' && $_->{message} } @events;
is($error->{sqlstate}, 'XX123', 'an error of the server: SQLSTATE') or diag($out);
like($error->{message}, qr/no "more"/, 'an error of the server: message');
is($events[-1]{event}, 'failed', 'an error of the server: the last event');

# no connection: what libraries tell is an event, too
foreach my $try ([ 'the source', '-d', $node->connstr('nowhere'), '-f', new_path('failed') ],
	[ 'the target', @db, '--target', $node->connstr('nowhere') ])
{
	my ($what, @options) = @$try;
	($rc, $out) = run_program('pg_pardump', @options, '--log-json=-');
	is($rc, 1, "no connection to $what: exit code");
	@events = grep { $_->{event} !~ /^(stage|warning)$/ } events("no connection to $what", $out);
	# a database of the target may be made
	is(join(' ', map { exists $_->{hint} ? 'hint' : $_->{event} } @events),
		$what =~ /target/ ? 'error hint failed' : 'error failed', "no connection to $what: events");
	like($events[0]{message}, qr/failed: FATAL:  database "nowhere" does not exist$/,
		"no connection to $what: message");
}

# no pg_dump
foreach my $to ([ '-f', new_path('failed') ], [ '--target', $node->connstr('nowhere') ])
{
	($rc, $out) = run_program('pg_pardump', @db, @$to, '--log-json=-', '--pg-dump=/nowhere/pg_dump');
	is($rc, 1, "no pg_dump, $to->[0]: exit code");
	@events = events("no pg_dump, $to->[0]", $out);
	like($events[0]{message}, qr/\/nowhere\/pg_dump/, "no pg_dump, $to->[0]: message");
	is($events[-1]{event}, 'failed', "no pg_dump, $to->[0]: the last event");
}

# ---- of a dry run

($rc, $out, $err) = run_program('pg_pardump', @db, '--dry-run', '--log-json=-');
is($rc, 0, '--dry-run: exit code');
is_deeply([ map { $_->{event} } events('--dry-run', $out, qw(plan dry_run)) ], [ ('plan') x 4, 'dry_run' ],
	'--dry-run: no text among the events');
like($err, qr/^ +Table +\|.*^tables: \d+, /ms, '--dry-run: the plan is elsewhere');

foreach my $command (qw(check dry-run))
{
	($rc, $out) = run_program('pg_pardump', @db, "--$command", '-f', new_path('none'), '--log-json=-');
	like($out, qr/\A[^\n]*"event":"start",[^\n]*"command":"$command"}\n/, "--$command: the first event");
}

# ---- of --verify

my $archive = new_path('archive');
($rc) = run_program('pg_pardump', @db, '-t', 'big', '--no-sync', '-f', $archive);
is($rc, 0, 'an archive to verify');
($rc, $out, $err) = run_program('pg_pardump', '--verify', $archive, '-j2', '--log-json=-');
is($rc, 0, '--verify: exit code');
@events = events('--verify', $out);
is_deeply([ map { $_->{event} } @events ], [ 'run', 'summary' ], '--verify: events');
is_deeply([ @{ $events[0] }{qw(directory jobs files)} ], [ $archive, 2, 2 ], '--verify: run');
is_deeply([ @{ $events[1] }{qw(files rows findings)} ], [ 2, 20000, 0 ], '--verify: summary');
like($err, qr/^verified archive "/, '--verify: text for people is elsewhere');
append_to_file("$archive/strange\n\"file", 'x');
($rc, $out) = run_program('pg_pardump', '--verify', $archive, '--log-json=-');
is($rc, 1, '--verify, a finding: exit code');
@events = events('--verify, a finding', $out);
is_deeply([ map { $_->{event} } @events ], [ 'error', 'run', 'error', 'error', 'summary' ], '--verify, a finding: events');
like($events[0]{message}, qr/^file "strange.*file" is not listed in the manifest$/s, '--verify, a finding: message');
is($events[-1]{findings}, 1, '--verify, a finding: summary');
($rc, $out) = run_program('pg_pardump', '--verify', new_path('nothing'), '--log-json=-');
is($rc, 1, '--verify of nothing: exit code');
is_deeply([ map { $_->{event} } events('--verify of nothing', $out) ], [ 'error', 'failed' ], '--verify of nothing: events');

my $dir = new_path('full');
($rc, undef, $err) = run_program('pg_pardump', @db, '-f', $dir, '--no-sync', '--log-json=/dev/full');
is($rc, 0, 'a log that cannot be written: the dump does not fail');
like($err, qr/warning: could not write to the event log: No space left/,
	'a log that cannot be written: message');
ok(-f "$dir/toc.dat", 'a log that cannot be written: the archive is whole');
($rc, undef, $err) = run_program('pg_pardump', @db, '-f', new_path('nolog'), '--log-json=/nowhere/x');
is($rc, 1, 'a log that cannot be opened: exit code');
like($err, qr/could not open file "\/nowhere\/x": No such file/, 'a log that cannot be opened');

# ---- not among the archive's files

my $empty = new_path('empty');
mkdir $empty or die "could not make directory \"$empty\": $!";
foreach my $try ([ $archive, '--verify', $archive ], [ $archive, @db, '-f', "$archive/.", '--clean-output' ],
	[ $empty, @db, '-f', $empty ], [ $empty, @db, '-f', $empty, '--dry-run' ])
{
	my ($place, @options) = @$try;
	my $what = "in the directory of @options";
	($rc, $out, $err) = run_program('pg_pardump', @options, "--log-json=$place/x.json");
	is("$rc$out", '1', "$what: exit code");
	like($err, qr/file "\Q$place\E\/x\.json" of option --log-json must not be in the archive's directory/, "$what: message");
	ok(!-e "$place/x.json", "$what: no file is created");
}
{
	# standard output is in no directory
	($rc) = run_program('sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', $empty,
		'pg_pardump', @db, '-f', '.', '--no-sync', '--log-json=-');
	is($rc, 0, 'standard output, and a dump into where we are');
}

# ---- each kind of event is in a log that a test has validated

my %validated = map { $_ => 1 } map { map { split ' ' } slurp_file($_) =~ /\bevents(?:_valid_ok)?\(.*\bqw\(([a-z_ ]+)\)/g } glob("$FindBin::RealBin/*.pl");
is_deeply([ grep { !$validated{$_} } event_kinds() ], [], 'kinds of events that no test validates');

$node->stop;
done_testing();
