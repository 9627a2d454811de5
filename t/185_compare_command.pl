# pg_pardump --compare-with: a database against another one, or an archive.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Background qw(end_dump wait_in_run children);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value dump_ok nothing_left_ok tier);
use Pardump::Copy qw(start_load);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Restore qw(stock_archives);
use Pardump::Stopper qw(start_stopper stop_stopper cut);
use Pardump::Toc qw(read_toc write_toc copy_archive);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('compared', allows_streaming => 1);
sql($node, 'postgres', 'CREATE ROLE owner');

make_database($node, 'shop');
sql($node, 'postgres', q{ALTER DATABASE shop SET timezone = 'UTC'});
sql($node, 'shop', <<'SQL');
CREATE SCHEMA "odd ""names""";
CREATE TABLE "odd ""names"""."a b" ("x y" int, "N" float8, t text, PRIMARY KEY ("x y", t));
INSERT INTO "odd ""names"""."a b" SELECT g, g / 7.0, 'ä' || g FROM generate_series(1, 3000) g;
CREATE TABLE big (id int PRIMARY KEY, t text, at timestamptz DEFAULT '2024-01-01 00:00:00+00',
	twice int GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO big (id, t) SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 20000) g;
ALTER TABLE big ADD gone int, ADD b bytea;
ALTER TABLE big DROP gone;
CREATE TABLE loose (a int, b text, f float8);
INSERT INTO loose SELECT g % 50, CASE WHEN g % 3 > 0 THEN g::text END, 0.0 FROM generate_series(1, 500) g;
CREATE TABLE root (id int, b text, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE leaf1 PARTITION OF root FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE leaf2 PARTITION OF root FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO root SELECT g, g FROM generate_series(1, 1000) g;
CREATE TABLE none AS SELECT FROM generate_series(1, 5);
CREATE SEQUENCE seq;
SELECT nextval('seq'), lo_from_bytea(4711, repeat('large', 300000)::bytea), lo_create(4712);
SQL

# Other files, other order of rows, other order of columns, and another zone.
sql($node, 'postgres', 'CREATE DATABASE other TEMPLATE shop');
sql($node, 'other', <<'SQL');
ALTER DATABASE other SET timezone = 'Asia/Tokyo';
ALTER DATABASE other SET bytea_output = 'escape';
CREATE TABLE turned (b bytea, at timestamptz DEFAULT '2024-01-01 00:00:00+00', t text, id int PRIMARY KEY,
	twice int GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO turned (b, at, t, id) SELECT b, at, t, id FROM big ORDER BY t;
DROP TABLE big;
ALTER TABLE turned RENAME TO big;
SQL

our $shop = $node->connstr('shop');
my $other = $node->connstr('other');
my @chunks = qw(-j2 --chunk-size=64kB);
my %archives = stock_archives($node, 'shop');
$archives{ours} = dump_ok($node, 'shop', 'in chunks', 'pg_pardump', @chunks);

# compare('with', options...): the exit code, and what is said
sub compare
{
	my ($with, @options) = @_;
	return run_program('pg_pardump', "--compare-with=$with", @options, '-d', $shop);
}

# same_ok('what', 'with', options...): returns what is said
sub same_ok
{
	my ($what, $with, @options) = @_;
	my ($rc, $out, $err) = compare($with, @options);
	is("$rc$err", '0', "$what: equal, exit code") or diag($out);
	like($out, qr/^compared database "\w+" with (?:database "\w+"|archive ".+"):\n  \d+ tables?, .*[\d,]+ rows?, \S+ \w+ read from both in \d+\.\d s\nno differences found$/m, "$what: equal, in all");
	unlike($out, qr/differs|only in|differences found: /, "$what: no table differs");
	return $out;
}

# differs_ok('what', 'with', \@options, number, lines...): these are all that
# tell of a difference
sub differs_ok
{
	my ($what, $with, $options, $places, @lines) = @_;
	my ($rc, $out, $err) = compare($with, @$options);
	is("$rc$err", '1', "$what: exit code");
	my @told = grep { !/ (is|are) equal \(|^compared |^  \d+ tables?, / } split /\n/, $out;
	my @tables = map { /^table (\S+) / } @lines;
	my ($n_tables, $n_sequences) = (scalar @tables, scalar grep { /^sequence / } @lines);
	my $names = join ', ', @tables > 5 ? @tables[ 0 .. 4 ] : @tables;
	$names .= ' and ' . (@tables - 5) . ' more' if @tables > 5;
	is(pop @told, 'differences found: ' . join(', ',
			$n_tables ? $n_tables . ' table' . ($n_tables == 1 ? '' : 's') . " ($names)" : (),
			$n_sequences ? $n_sequences . ' sequence' . ($n_sequences == 1 ? '' : 's') : (),
			$n_tables + $n_sequences < $places ? 'large objects' : ()), "$what: in all");
	is_deeply(\@told, \@lines, "$what: lines about differences");
	return $out;
}

# ---- the same

my $out = same_ok('a database', $other, @chunks);
like($out, qr/\Acompared .*:\n  .*\nno differences found\n\z/, 'without -v, there are no lines for equal tables');
(undef, $out) = compare($other, '-v', @chunks);
like($out, qr/^table public\.big is equal \(20,000 rows\)$/m, 'a line of each table');
like($out, qr/^table public\.leaf1 is equal \(\d+ rows\)$/m, 'a line of each partition');
like($out, qr/^table public\."none" is equal \(5 rows\)$/m, 'a table without columns');
like($out, qr/^large objects are equal \(2\)$/m, 'large objects');
like($out, qr/^compared database "shop" with database "other":\n  6 tables, 1 sequence, 2 large objects, 24,505 rows, \S+ [kM]B read from both in \d+\.\d s\nno differences found$/m, 'the sum');
same_ok('a database, without the extension', $other, '--no-extension', @chunks) if tier() == 3;
same_ok("archive $_", $archives{$_}, @chunks) foreach sort keys %archives;
like(same_ok('one table', $archives{ours}, '-t', 'loose'), qr/^  1 table, 500 rows, /m,
	'one table: nothing else is compared');
like(same_ok('not one table', $archives{directory}, '-T', 'big'), qr/^  5 tables, 1 sequence/m, 'a comparison without one table');
same_ok('by a condition', $other, '--where=big:id <= 100') if tier() == 3;
like((compare($other, '-v', '--where=big:id <= 100'))[1], qr/^table public\.big is equal \(100 rows\)$/m, 'a comparison with --where');
nothing_left_ok($node, $archives{ours}, 'the same');

# A worker that compares is killed.
{
	my $stopper = start_stopper($node, qr/COPY public\.loose/, 'said');
	my $run = start_load('pg_pardump', '-d', $shop, '--no-extension',
		"--compare-with=host=$stopper->{relay}{host} port=$stopper->{relay}{port} dbname=other");
	wait_in_run($run, 'it compares', sub { -e $stopper->{reached} });
	kill KILL => children($run->{pid});
	cut($stopper);
	is(end_dump($run), 0, 'a worker is killed: exit code');
	like($run->{err}, qr/warning: a worker process was killed; retry 1 of 5.*detail: The worker was comparing /s, 'a worker is killed: retry');
	stop_stopper($stopper);
}

# What is read by name meanwhile is of another table, though its rows are the same.
{
	sql($node, 'other', 'CREATE SCHEMA twin; CREATE TABLE twin.big AS SELECT * FROM public.big;
		CREATE TABLE twin.loose AS SELECT * FROM public.loose');
	my $stopper = start_stopper($node, qr/COPY public\.loose/, 'said');
	# pg_dump begins with the first table, so that it does not say what is ours to say
	my $run = start_load('pg_pardump', '-d', $shop, '--no-extension', '-t', 'big', '-t', 'loose',
		"--compare-with=host=$stopper->{relay}{host} port=$stopper->{relay}{port} dbname=other");
	wait_in_run($run, 'it compares', sub { -e $stopper->{reached} });
	sql($node, 'other', 'ALTER SCHEMA public RENAME TO was; ALTER SCHEMA twin RENAME TO public');
	cut($stopper);
	is(end_dump($run), 1, 'another table of the name: exit code');
	like($run->{err}, qr/error: table public\.(big|loose) was replaced by another table of this name/, 'another table of the name: message');
	stop_stopper($stopper);
	sql($node, 'other', 'DROP SCHEMA public CASCADE; ALTER SCHEMA was RENAME TO public');
}

# ---- rows that differ

sql($node, 'other', <<'SQL');
UPDATE big SET t = 'other' WHERE id IN (9, 10, 19999);
DELETE FROM big WHERE id IN (77, 5);
INSERT INTO big (id, t) VALUES (100001, 'new');
DELETE FROM loose WHERE ctid = (SELECT min(ctid) FROM loose WHERE a = 3 AND b IS NULL);
INSERT INTO loose SELECT a, b, f FROM loose WHERE b = '4';
UPDATE loose SET f = '-0' WHERE b = '5';
UPDATE loose SET b = '' WHERE ctid = (SELECT min(ctid) FROM loose WHERE a = 0 AND b IS NULL);
SELECT nextval('seq'), lo_put(4711, 400000, 'X');
SQL
my @big = (
	'table public.big differs', '  rows: 20,000 in database "shop", 19,999 in database "other"',
	'  different values: 3 rows', '  keys:', '    id=9', '    id=10', '    id=19999',
	'  only in database "shop": 2 rows', '  keys:', '    id=5', '    id=77',
	'  only in database "other": 1 row', '  keys:', '    id=100001');
my @loose = (
	'table public.loose differs', '  rows: 500 in each',
	'  only in database "shop": 3 rows', '  values:', '    a=0, b=NULL, f=0', '    a=3, b=NULL, f=0', '    a=5, b=5, f=0',
	'  only in database "other": 3 rows', '  values:', '    a=0, b=, f=0', '    a=4, b=4, f=0', '    a=5, b=5, f=-0');
my @rest = ('sequence public.seq differs', '  last value: 1 in database "shop", 2 in database "other"', 'large objects differ: 2 in each, with different OIDs or contents');
differs_ok('rows', $other, \@chunks, 4, @big, @loose, @rest);
differs_ok('rows, one worker, whole tables', $other, [ '--no-chunks', '--no-extension' ], 4, @big, @loose, @rest);

# the same against archives of it
{
	my $archive = dump_ok($node, 'other', 'of the other', 'pg_pardump', @chunks);
	my $custom = new_path('custom');
	run_program('pg_dump', '-Fc', '-f', $custom, '-d', $other);

	differs_ok('an archive, one table', $archive, [ @chunks, '-t', 'loose' ], 1,
		map { s/database "other"/archive "$archive"/gr } @loose);

	# its zone is not that of the database, which says so
	my ($rc, $out) = compare($custom, '-t', 'big');
	is($rc, 1, 'an archive of another zone: differs');
	local $ENV{PGTZ} = 'Asia/Tokyo';
	foreach my $place ($archive, tier() == 3 ? $custom : ())
	{
		differs_ok('an archive of another zone, with that', $place, [ @chunks, '-t', 'big' ], 1,
			map { s/database "other"/archive "$place"/gr } @big);
	}
}

# what no row is like, and so much that it can but be estimated
sql($node, 'other', q{UPDATE big SET t = t || 'x'});
{
	my ($rc, $out) = compare($other, @chunks, '-t', 'big');
	my ($n) = $out =~ /^table public\.big differs\n  rows: .*\n  different values: about ([\d,]+) rows/m;
	$n =~ tr/,//d if defined $n;
	is($rc, 1, 'many rows: exit code');
	cmp_ok(abs(($n // 0) - 19998), '<', 2000, 'many rows: how many, about') or diag($out);
	like($out, qr/^  different values: .*\n  some of the keys:\n(?:    id=\d+\n){4}    id=\d+$/m, 'many rows: some of them');
}
sql($node, 'other', 'TRUNCATE big');
{
	my ($rc, $out) = compare($other, @chunks, '-t', 'big');
	like($out, qr/differs\n  rows: 20,000 in database "shop", 0 in database "other"\n  only in database "shop": about [\d,]+ rows\n  some of the keys:$/m, 'a table without rows in the other database');
}

# ---- tables and columns that differ; events

sql($node, 'other', q{DROP TABLE none; CREATE TABLE more (a int); ALTER TABLE leaf1 RENAME TO renamed;
	ALTER TABLE loose RENAME f TO g});
{
	my $log = new_path('events.json');
	differs_ok('tables', $other, [ '-T', 'big', "--log-json=$log" ], 7,
		'table public."none" is only in database "shop"',
		'table public.leaf1 is only in database "shop"',
		'table public.loose has column f only in database "shop"',
		'table public.more is only in database "other"',
		'table public.renamed is only in database "other"', @rest);
	my @events = map { decode_json($_) } split /\n/, slurp_file($log);
	is($events[0]{command}, 'compare', 'events: the command');
	events_valid_ok('a comparison', slurp_file($log), qw(compared));
	my %tables = map { $_->{table} => $_ } grep { $_->{event} eq 'compared' } @events;
	is_deeply([ @{ $tables{'public.leaf2'} }{qw(result rows other_rows)} ], [ 'equal', map { value($node, 'shop', 'SELECT count(*) FROM leaf2') } 1 .. 2 ],
		'events: a table that is equal');
	is($tables{'public.loose'}{problem}, 'table public.loose has column f only in database "shop"', 'events: a problem');
	is($events[-1]{event}, 'summary', 'events: the last one');
	is($events[-1]{differences}, 7, 'events: differences');
}
# an archive that has more than was asked for; and less
my $less = dump_ok($node, 'shop', 'less', 'pg_pardump', '-T', 'leaf1', '-T', 'seq', '-B');
differs_ok('an archive has less', $less, [], 3,
	'table public.leaf1 is only in database "shop"', 'sequence public.seq is only in database "shop"',
	qq(large objects differ: 2 in database "shop", 0 in archive "$less"));

# ---- what cannot be

sub refused_ok
{
	my ($message, $what, $with, @options) = @_;
	my ($rc, $out, $err) = compare($with, @options);
	is("$rc$out", '1', "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

refused_ok(qr/database "nowhere" does not exist/, 'no such database', $node->connstr('nowhere'));
refused_ok(qr/could not open .*"\/nowhere\/at all"/, 'no such archive', '/nowhere/at all');
refused_ok(qr/options --compare-with and -f\/--file cannot be used together/, '-f', $other, '-f', new_path('x'));
refused_ok(qr/options --compare-with and -s\/--schema-only cannot be used together/, '--schema-only', $other, '--schema-only');
refused_ok(qr/options --compare-with and --sample cannot be used together/, '--sample', $other, '--sample=big:1');
{
	my $part = dump_ok($node, 'shop', 'a part', 'pg_pardump', '--where=big:id < 10');
	refused_ok(qr/--compare-with cannot be used: the archive contains only some rows of table public\.big\n.*hint: To leave out this table, use -T\.\n/, 'a part', $part);
	my $masked = new_path('masked');
	run_program('pg_pardump', '-d', $shop, '-f', $masked, '--mask=big.t:NULL');
	refused_ok(qr/--compare-with cannot be used: columns of table public\.big are masked in the archive/, 'masks', $masked);
	my $damaged = dump_ok($node, 'shop', 'damaged', 'pg_pardump', '-Z', 'none', '-t', 'loose');
	my ($file) = grep { /\/\d+\.dat$/ } glob("$damaged/*");
	truncate $file, (-s $file) - 20;
	refused_ok(qr/error: could not read the rows of table public\.loose in archive ".*"\n.*detail: The line that ends the rows is missing\.\n.*hint: Use another copy of the archive, or make a new dump\.\n/, 'a damaged archive', $damaged, '-t', 'loose');
}
# a sequence of no schema, which no archive has but one that is made to deceive
{
	my $archive = copy_archive($archives{ours}, new_path('no_schema'));
	my $toc = read_toc($archive);
	$_->{namespace} = undef foreach grep { $_->{desc} eq 'SEQUENCE SET' } @{ $toc->{entries} };
	write_toc($toc, $archive);
	my ($rc, $out) = run_program('pg_pardump', "--compare-with=$archive", '-d', $shop);
	is($rc, 1, 'a sequence of no schema: exit code');
	like($out, qr/^sequence \w+ is only in archive "\Q$archive\E"$/m, 'a sequence without schema: it is reported as another one');
}

# a row without an end, which takes up a megabyte in the archive, and 1088 in memory
{
	my ($archive, $member) = map { new_path($_) } qw(endless member);
	run_program('pg_dump', '-Fd', '-Z1', '-f', $archive, '-t', 'loose', '-d', $shop);
	my ($file) = glob("$archive/*.dat.gz");
	system_or_bail('sh', '-c', "head -c 64M /dev/zero | tr '\\0' x | gzip -1 > '$member'");
	unlink $file;
	append_to_file($file, slurp_file($member) x 17);
	cmp_ok(-s $file, '<', 8 * 1024 * 1024, 'an endless row is short');
	refused_ok(qr/error: could not compare the rows of table public\.loose\n.*detail: A row is longer than 1 GB\.\n.*hint: To leave out this table, use -T 'public\.loose' \(pg_pardump\) or -L \(pg_parrestore\)\.\n/, 'an endless row', $archive, '-t', 'loose');
}
# who owns a table cannot have us run functions, and so need not be trusted
sql($node, 'shop', <<'SQL');
ALTER TABLE loose OWNER TO owner;
SQL
same_ok('a table of another role', $archives{ours}, '-t', 'loose', '--no-extension');
refused_ok(qr/querying 1 table could run code of role "owner" with the privileges of /, 'a condition on a table of another role',
	$archives{ours}, '-t', 'loose', '--where=loose:a > 0');

# ---- what is chosen by patterns shows what only one side has, on either side

sql($node, 'postgres', 'CREATE DATABASE thin; CREATE DATABASE full_one');
sql($node, $_, 'CREATE TABLE both_have (id serial); INSERT INTO both_have SELECT FROM generate_series(1, 10)') foreach qw(thin full_one);
sql($node, 'full_one', <<'SQL');
CREATE TABLE gone2 (id serial);
CREATE SCHEMA s;
CREATE TABLE s.gone (id int GENERATED ALWAYS AS IDENTITY, x text);
CREATE UNLOGGED TABLE s.fleeting (a int);
CREATE SEQUENCE s.counter;
CREATE TABLE "od.d" ("x y" serial);
CREATE TABLE s.both_have (a int);
INSERT INTO s.gone (x) SELECT g FROM generate_series(1, 7) g;
INSERT INTO s.fleeting VALUES (1);
SELECT lo_create(0);
SQL
$shop = $node->connstr('thin');
my $full = $node->connstr('full_one');
my $quoted = new_path('quoted');
run_program('pg_dump', '-Fc', '--quote-all-identifiers', '-f', $quoted, '-d', $full);
my %gone = (
	gone2 => 'table public.gone2', odd => 'table public."od.d"', fleeting => 'table s.fleeting', gone => 'table s.gone', both => 'table s.both_have',
	gone2_seq => 'sequence public.gone2_id_seq', odd_seq => 'sequence public."od.d_x y_seq"', counter => 'sequence s.counter', gone_seq => 'sequence s.gone_id_seq');
my $objects = 'large objects differ: 0 in database "thin", 1 in SIDE';
# Below the highest tier, only every other one is asked of a database, for which pg_dump finds
# what matches.
my $all = tier() == 3;
my $tried = 0;
foreach my $try (
	[ 'a table', [ '-t', 's.gone' ], qw(gone gone_seq) ],
	[ 'a table in the search path', [ '-t', 'gone2' ], qw(gone2 gone2_seq) ],
	[ 'a table that is found before another', [ '-t', 'both_have', '-t', 's.fleeting' ], 'fleeting' ],
	[ 'a table out of the search path, and another', [ '-t', 'gone', '-t', '"od.d"' ], qw(odd odd_seq) ],
	[ 'a schema', [ '-n', 's' ], qw(both fleeting gone counter gone_seq) ],
	[ 'a schema, less a table', [ '-n', 's', '-T', 's.*g*' ], qw(both counter) ],
	[ 'a schema, without unlogged tables', [ '-n', 's', '--no-unlogged-table-data' ], qw(both gone counter gone_seq) ],
	[ 'no schema', [ '-N', 's', '-B' ], qw(odd gone2 gone2_seq odd_seq) ],
	[ 'a table, of any schema', [ '-N', 's', '-t', 's.gone' ], qw(gone gone_seq) ],
	[ 'no rows of tables', [ '--exclude-table-data=s.*', '--exclude-table-data=gone2', '-B' ], qw(odd gone2_seq odd_seq) ],
	[ 'all but large objects', ['-B'], qw(odd gone2 both fleeting gone gone2_seq odd_seq counter gone_seq) ],
	[ 'a schema and large objects', [ '-n', 's', '-b' ], qw(both fleeting gone counter gone_seq objects) ])
{
	my ($what, $options, @only) = @$try;
	my $with_database = $all || $tried++ % 2 == 0;

	foreach my $side ([ qq(archive "$quoted"), $quoted ], $with_database ? [ 'database "full_one"', $full ] : ())
	{
		my @lines = map { $_ eq 'objects' ? $objects =~ s/SIDE/$side->[0]/r : "$gone{$_} is only in $side->[0]" } @only;
		# what a sequence whose rows are left out has is pg_dump's to say
		next if $what eq 'no rows of tables' && $side->[1] ne $quoted;
		differs_ok("only in $side->[0]: $what", $side->[1], $options, scalar @only, @lines);
	}
}
{
	local $shop = $full;
	differs_ok('only in the database', $node->connstr('thin'), [ '-t', 's.gone' ], 2,
		map { qq($gone{$_} is only in database "full_one") } qw(gone gone_seq));
	differs_ok('only in the database, a schema', dump_ok($node, 'thin', 'the thin one', 'pg_pardump'), [ '-n', 's', '-T', 's.*_have' ], 4,
		map { qq($gone{$_} is only in database "full_one") } qw(fleeting gone counter gone_seq));
}
same_ok('a table that both have', $_, '-t', 'both_have') foreach $quoted, $full;
foreach my $with ([ qq(archive "$quoted"), $quoted ], [ 'database "full_one"', $full ])
{
	refused_ok(qr/error: no table of database "thin" or \Q$with->[0]\E matches the options/, "on no side, $with->[0]", $with->[1], '-t', 'nowhere.*');
}
foreach my $try ([ '-T', '*.*', '-B' ], [ '-N', '*', '-B' ])
{
	my @with = ([ qq(archive "$archives{ours}"), $archives{ours} ], [ 'database "other"', $other ]);
	foreach my $with ($all ? @with : $with[ $try->[0] eq '-N' ])
	{
		refused_ok(qr/error: no table of database "thin" or \Q$with->[0]\E matches the options\n.*detail: No rows, sequences or large objects were compared\./,
			"all is left out, $with->[0], @$try", $with->[1], @$try);
	}
}
sql($node, 'postgres', "CREATE DATABASE empty$_") foreach 1 .. 2;
{
	local $shop = $node->connstr('empty1');
	same_ok('two that are empty', $node->connstr('empty2'));
}
refused_ok(qr/no matching tables were found for pattern "s.gone"/, '--strict-names', $quoted, '--strict-names', '-t', 's.gone');

$node->stop;
done_testing();
