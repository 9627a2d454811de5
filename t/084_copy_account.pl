# What a direct copy tells and checks: progress, events, summary; rows read and
# written; statistics; --compare.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Cluster qw(start_cluster make_database sql value pg_major make_loop_server);
use Pardump::Copy qw(run_copy copy_ok);
use Pardump::EventSchema qw(events_valid_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('account_source');
my $target = start_cluster('account_target');

make_database($source, 'told');
sql($source, 'told', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big (id int PRIMARY KEY, t text);
INSERT INTO big SELECT g, md5(g::text) FROM generate_series(1, 20000) g;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE as_text (id int, m mood[]);
INSERT INTO as_text SELECT g, '{sad,happy}' FROM generate_series(1, 5000) g;
CREATE TABLE root (id int) PARTITION BY RANGE (id);
CREATE TABLE leaf1 PARTITION OF root FOR VALUES FROM (0) TO (500);
CREATE TABLE inner_root PARTITION OF root FOR VALUES FROM (500) TO (1000) PARTITION BY RANGE (id);
CREATE TABLE leaf2 PARTITION OF inner_root FOR VALUES FROM (500) TO (1000);
INSERT INTO root SELECT generate_series(0, 999);
CREATE MATERIALIZED VIEW filled AS SELECT id FROM root WHERE id < 10;
CREATE MATERIALIZED VIEW empty AS SELECT 1 AS id WITH NO DATA;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER keep BEFORE UPDATE ON big FOR EACH ROW EXECUTE FUNCTION keep();
CREATE SEQUENCE counter;
SELECT setval('counter', 77);
SELECT lo_from_bytea(1000 + g, repeat('x', 5000)::bytea) FROM generate_series(1, 5) g;
SQL

# ---- progress, events, summary

make_database($target, 'told');
my ($rc, $out, $err) = run_copy($source, 'told', $target, 'told', '-j2', '-P', '--chunk-size=128kB',
	'--log-json=-');
is($rc, 0, 'a copy that tells: exit code');
events_valid_ok('a copy that tells', $out, qw(start run stage chunk_start chunk_end objects_start objects_end index_start index_end summary));
my @events = map { JSON::PP->new->utf8->decode($_) } split /\n/, $out;
my ($run) = grep { $_->{event} eq 'run' } @events;
is_deeply([ @{$run}{qw(database jobs tables large_objects directory compression)} ],
	[ 'told', 2, 4, 5, undef, undef ], 'run');
like($run->{target}, qr/dbname='?told/, 'run: the target');
is_deeply([ map { $_->{stage} } grep { $_->{event} eq 'stage' } @events ],
	[qw(plan definitions rows indexes rest statistics end)], 'stages');
my %index = map { ($_->{event} => $_) } grep { $_->{event} =~ /^index_/ } @events;
is_deeply([ @{ $index{index_start} }{qw(worker name table together)} ], [ 0, 'public.big_pkey', 'public.big', 1 ],
	'an index begins');
is_deeply([ map { $index{index_end}{$_} } qw(worker name table together) ], [ 0, 'public.big_pkey', 'public.big', 1 ],
	'an index ends');
like($index{index_end}{seconds}, qr/^\d+\.\d+$/, 'an index: seconds');
is($events[0]{command}, 'copy', 'the first event');
my %started = map { ($_->{table} => "$_->{format} $_->{read_by}") }
  grep { $_->{event} eq 'chunk_start' } @events;
is_deeply(\%started, {
		'public.big' => 'raw extension', 'public.as_text' => 'text extension',
		'public.leaf1' => 'binary SQL', 'public.leaf2' => 'binary SQL' },
	'formats of chunks');
my $rows = 0;
$rows += $_->{rows} foreach grep { $_->{event} eq 'chunk_end' } @events;
is($rows, 26000, 'rows of chunks');
is((grep { $_->{event} eq 'chunk_end' && $_->{file} } @events), 0, 'no event contains the name of a file');
is_deeply([ map { $_->{objects} } grep { $_->{event} eq 'objects_end' } @events ], [5],
	'large objects');
my $summary = $events[-1];
is_deeply([ @{$summary}{qw(event tables large_objects rows retries)} ],
	[ 'summary', 4, 5, 26000, 0 ], 'summary');
like($summary->{slowest_table}, qr/^public\.\w+$/, 'slowest table');
like($err, qr{^rows 100%, time \d+:\d\d, .*, chunks (\d+)/\1, objects 5/5, indexes \d/1$}m,
	'progress');
unlike($err, qr/stored/, 'progress: no stored bytes');
like($err, qr/^  4 tables, 26,000 rows, 5 large objects, \S+ kB in .*\nrow formats: raw tuples \(1 table\), binary COPY \(2 small tables\), text COPY \(1 table, reason: column m is of type public\.mood\[\]\)\nslowest table: public\.\w+, \d+\.\d s of work in \d+ chunks?\n/m,
	'the summary gives way to a log on standard output');

# ---- statistics

is(value($target, 'told', <<'SQL'), "big|f\nfilled|f\ninner_root|t\nleaf1|f\nleaf2|f\nroot|t", 'ANALYZE');
SELECT DISTINCT tablename, inherited FROM pg_stats
WHERE schemaname = 'public' AND attname = 'id' AND tablename <> 'as_text' ORDER BY 1
SQL
SKIP:
{
	skip 'pg_dump has no --statistics', 2 if pg_major($source) < 18;
	sql($source, 'told', 'ANALYZE big');
	make_database($target, 'with_statistics');
	copy_ok($source, 'told', $target, 'with_statistics', '--statistics', '--statistics');
	is(value($target, 'with_statistics', q{SELECT string_agg(DISTINCT tablename, ' ') FROM pg_stats
			WHERE schemaname = 'public'}), 'big', '--statistics: tables with statistics');
}

# ---- rows read and written; a trigger that could be the cause would make it a warning

make_database($target, 'counted');
sql($target, 'counted', q{
	CREATE TABLE big (id int, t text);
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN UPDATE pg_catalog.pg_trigger SET tgenabled = $$D$$ WHERE tgname = $$refuse$$; RETURN NULL; END';
	CREATE TRIGGER refuse BEFORE INSERT ON big FOR EACH ROW WHEN (NEW.id = 20000)
		EXECUTE FUNCTION refuse()});
foreach my $way (
	[ 'binary by the extension', '--copy-format=binary' ],
	[ 'binary by SQL', '--copy-format=binary', '--no-extension' ],
	[ 'text by the extension', '--copy-format=text' ],
	[ 'text by SQL', '--copy-format=text', '--no-extension' ])
{
	my ($what, @options) = @$way;
	sql($target, 'counted', 'TRUNCATE big');
	($rc, $out, $err) = run_copy($source, 'told', $target, 'counted', '-a', '-B', '-t', 'big',
		'--max-table-segment-pages=50', @options);
	is($rc, 1, "$what, a row is left out: exit code");
	like($err, qr/read (\d+) rows from chunk (\d) of \2 of table public\.big, but the target stored (\d+)\n/,
		"$what, a row is left out: message");
	$err =~ /read (\d+) rows .* stored (\d+)/;
	is($1 - $2, 1, "$what, a row is left out: numbers");
	is(value($target, 'counted', "SELECT count(*) FROM big WHERE id > 20000 - $1"), 0,
		"$what, a row is left out: its chunk is not committed");
}

# ---- --compare

make_database($target, 'compared');
sql($target, 'compared', <<'SQL');
CREATE SCHEMA meddling;
CREATE TABLE meddling.how (sql text);
CREATE FUNCTION meddling.do_it() RETURNS event_trigger LANGUAGE plpgsql AS
	$$ DECLARE s text; BEGIN FOR s IN SELECT sql FROM meddling.how LOOP EXECUTE s; END LOOP; END $$;
CREATE EVENT TRIGGER meddle ON ddl_command_end WHEN TAG IN ('CREATE TRIGGER')
	EXECUTE FUNCTION meddling.do_it();
SQL
$out = copy_ok($source, 'told', $target, 'compared', '--compare', '-j1', '--compare');
like($out, qr/^comparison: [^\n]*, [\d,]+ rows? in \d+\.\d s, no differences found$/m, '--compare: summary');
foreach my $way (
	[ 'a large object', 'SELECT lo_put(1003, 4999, $$y$$)',
		qr/error: large objects differ: 5 in each, with different OIDs or contents\n/ ],
	[ 'no large object', 'SELECT lo_unlink(1003)',
		qr/error: large objects differ: 5 in source database "[^"]+", 4 in target database "[^"]+"\n/ ],
	[ 'a longer large object', 'SELECT lo_put(1003, 3000000, $$y$$)',
		qr/error: large objects differ: 5 in each, with different OIDs or contents\n/ ],
	[ 'a sequence', 'SELECT setval($$counter$$, 77, false)',
		qr/error: sequence public\.counter differs\n.*detail: Value of is_called: true in source database "[^"]+", false in target database "[^"]+"\.\n/ ],
	[ 'a partition', 'UPDATE leaf2 SET id = 998 WHERE id = 999',
		qr/error: table public\.leaf2 differs\n.*detail: Rows: \d+ in each\.\n.*detail: Only in source database "[^"]+": 1 row\.\n.*detail: (?:Key|Value)s: id=999.*\n.*detail: Only in target database "[^"]+": 1 row\.\n/ ])
{
	my ($what, $sql, $message) = @$way;
	$sql =~ s/counter\b/public.counter/;
	$sql =~ s/UPDATE /UPDATE public./;
	sql($target, 'compared', "TRUNCATE meddling.how; INSERT INTO meddling.how VALUES (\$x\$$sql\$x\$)");
	($rc, $out, $err) = run_copy($source, 'told', $target, 'compared', '-j1', '--clean',
		'--compare', '--no-analyze');
	is($rc, 1, "--compare, $what: exit code");
	like($err, $message, "--compare, $what: message");
	like($err, qr/source and target differ in 1 object$/m, "--compare, $what: nothing else");
	like($err, qr/detail: All rows were copied before/, "--compare, $what: account");
	unlike($err, qr/committed on the target/, "--compare, $what: no other account");
	is($out, '', "--compare, $what: no summary");
}

# A partition that is loaded by way of the root, as a hash of an enum value says
# nothing on another server; one that is loaded for itself; and one that cannot
# be read.
make_database($source, 'mixed');
make_loop_server($source, 'mixed');
sql($source, 'mixed', <<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'happy', 'so so');
CREATE TABLE mixed (id int, kind text, m mood) PARTITION BY LIST (kind);
CREATE TABLE "it""s own" PARTITION OF mixed FOR VALUES IN ('own');
CREATE TABLE hashed (m mood, kind text, id int) PARTITION BY HASH (m);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE mixed ATTACH PARTITION hashed FOR VALUES IN ('hashed');
CREATE FOREIGN TABLE far PARTITION OF mixed FOR VALUES IN ('far')
	SERVER loop OPTIONS (table_name 'nothing');
INSERT INTO mixed SELECT g, 'own', 'sad' FROM generate_series(1, 100) g;
INSERT INTO mixed SELECT g, 'hashed', m FROM generate_series(1, 100) g, unnest(enum_range(NULL::mood)) m;
SQL
foreach my $option ('--max-table-segment-pages=1', '--load-via-partition-root')
{
	my $db = $option =~ s/\W/_/gr;
	make_database($target, $db);
	copy_ok($source, 'mixed', $target, $db, "--compare $option", '--compare', '--no-analyze', $option);
}
($rc, $out, $err) = run_copy($source, 'mixed', $target, '__max_table_segment_pages_1', '-a',
	'--compare', '--no-analyze');
like($err, qr/error: table public\.mixed differs\n.*detail: Rows: 300 in source database "[^"]+", 600 in target database "[^"]+"\.\n.*detail: Only in target database "[^"]+": 300 rows/,
	'--compare, twice the rows by way of the root: message');
like($err, qr/error: table public\."it""s own" differs\n.*detail: Rows: 100 in source database "[^"]+", 200 in target database "[^"]+"\.\n.*detail: Only in target database "[^"]+": 100 rows/,
	'--compare, twice the rows of a partition: message');
like($err, qr/differ in 2 objects/, '--compare, twice the rows: nothing else');

$source->stop;
$target->stop;
done_testing();
