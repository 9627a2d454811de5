# pg_parrestore --compare-with: a restored database is compared with the one that
# the archive was made of.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run children);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value dump_ok);
use Pardump::Command qw(check_list);
use Pardump::Copy qw(sessions_left start_load);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore stock_archives);
use Pardump::Stopper qw(start_stopper stop_stopper cut);
use Pardump::Toc qw(read_toc write_toc copy_archive);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('compared_source');
my $target = start_cluster('compared_target');
sql($_, 'postgres', 'CREATE ROLE owner') foreach ($source, $target);

make_database($source, 'shop');
sql($source, 'shop', <<'SQL');
CREATE SCHEMA "odd ""names""";
CREATE TABLE "odd ""names"""."a b" AS SELECT g AS "x y", g / 7.0 AS n, now() AS d, 'ä' || g AS t
	FROM generate_series(1, 3000) g;
CREATE TABLE plain (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, t text, b bytea);
INSERT INTO plain (t, b) SELECT repeat(md5(g::text), 10), decode(md5(g::text), 'hex')
	FROM generate_series(1, 20000) g;
CREATE TABLE root (id int, b text, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE leaf1 PARTITION OF root FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE leaf2 PARTITION OF root FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO root SELECT g, g FROM generate_series(1, 1000) g;
CREATE TABLE empty (a int);
CREATE TABLE none AS SELECT FROM generate_series(1, 5);
SELECT lo_from_bytea(4711, repeat('large', 100000)::bytea), lo_create(4712);
SQL

my %archives = stock_archives($source, 'shop');
$archives{chunks} = dump_ok($source, 'shop', 'in chunks', 'pg_pardump', '-j2', '--chunk-size=64kB');
$archives{root} = new_path('root');
is((run_program('pg_dump', '-Fd', '--load-via-partition-root', '-f', $archives{root}, '-d',
	$source->connstr('shop')))[0], 0, 'pg_dump --load-via-partition-root');

my $copies = 0;
my $shop = $source->connstr('shop');

# restore('archive', options...) into a new database; returns what
# run_parrestore() does, and the database.
sub restore
{
	my ($archive, @options) = @_;
	my $copy = empty_copy($target, 'shop', 'copy' . ++$copies);
	return (run_parrestore($target, $copy, $archive, @options), $copy);
}

sub same_ok
{
	my ($archive, $what, @options) = @_;
	my ($rc, $out, $err, $copy) = restore($archive, '--compare-with', @options);
	is("$rc$out$err", '0', "$what: the same, in silence");
	is(sessions_left($source, $target), 0, "$what: no session left");
	return $copy;
}

# differs_ok(qr/what is said/, number of places, 'archive', 'what', options...)
sub differs_ok
{
	my ($message, $places, $archive, $what, @options) = @_;
	my ($rc, $out, $err) = restore($archive, @options);
	is("$rc$out", '1', "$what: exit code");
	like($err, $message, "$what: message");
	like($err, qr/error: source and target differ in $places$/m, "$what: in $places");
	like($err, qr/All rows were committed on the target \(6 tables\)\.$/m, "$what: account");
	return $err;
}

sub refused_ok
{
	my ($message, $what, $archive, @options) = @_;
	my ($rc, $out, $err, $copy) = restore($archive, @options);
	is("$rc$out", '1', "$what: exit code");
	like($err, $message, "$what: message");
	is(value($target, $copy, "SELECT count(*) FROM pg_class WHERE relname = 'plain'"), 0,
		"$what: nothing was made");
	return;
}

# ---- the same

same_ok($archives{$_}, $_, $shop, '-j2', '--chunk-size=256kB') foreach qw(chunks custom root);
my $copy = same_ok($archives{directory}, 'one job', $shop);
{
	my ($page, $log) = map { new_path($_) } qw(page.html events.json);
	my ($rc, $out, $err) = restore($archives{chunks}, '-j2', "--compare-with=$shop", '--progress',
		"--report=$page", "--log-json=$log");
	is("$rc$out", '0', 'the same contents: exit code');
	like($err, qr/^comparison: [^\n]*, [\d,]+ rows? in \d+\.\d s, no differences found\n\z/m, 'the same contents: summary');
	like(slurp_file($page), qr/Source and target have the same contents/, 'the same contents: page of --report');
	like(slurp_file($log), qr/"compare"/, 'the same contents: event');
}

# Restored databases have other OIDs.
same_ok($archives{custom}, 'with another copy', $target->connstr($copy), '-j2');

# A worker that compares is killed.
{
	my $half_done = empty_copy($target, 'shop', 'copy' . ++$copies);
	my $stopper = start_stopper($source, qr/COPY public\.plain/, 'said');
	my $run = start_load('pg_parrestore', '-d', $target->connstr($half_done),
		"--compare-with=host=$stopper->{relay}{host} port=$stopper->{relay}{port} dbname=shop", $archives{custom});
	wait_in_run($run, 'it compares', sub { -e $stopper->{reached} });
	kill KILL => children($run->{pid});
	cut($stopper);
	is(end_dump($run), 0, 'a worker is killed: exit code');
	like($run->{err}, qr/warning: a worker process was killed; retry 1 of 5.*detail: The worker was comparing /s, 'a worker is killed: retry');
	stop_stopper($stopper);
}

# ---- other contents, and other databases

sql($target, $copy, q{UPDATE plain SET t = 'other' WHERE id = 10000;
	DELETE FROM leaf1 WHERE id = (SELECT min(id) FROM leaf1)});
my $changed = $target->connstr($copy);
differs_ok(qr/error: table public\.plain differs\n.*detail: Rows: 20,000 in each\.\n.*detail: Different values: 1 row\.\n.*detail: Keys: id=10000\.$/m,
	'2 objects', $archives{chunks}, 'another value', "--compare-with=$changed", '-j2');
differs_ok(qr/error: table public\.leaf1 differs\n.*detail: Rows: ([\d,]+) in source database "[^"]+", (?!\1 )[\d,]+ in target database "[^"]+"\.\n.*detail: Only in target database "[^"]+": 1 row\.\n.*detail: (?:Key|Value)s: id=\d+\.$/m,
	'2 objects', $archives{custom}, 'a row less', "--compare-with=$changed");
sql($target, $copy, q{SELECT lo_put(4711, 400000, 'X')});
differs_ok(qr/error: large objects differ: 2 in each, with different OIDs or contents$/m, '3 objects', $archives{custom},
	'another large object', "--compare-with=$changed", '-j2');

# What was not restored differs, after errors that were passed over.
{
	my $half = empty_copy($target, 'shop', 'half');
	sql($target, $half, 'CREATE SCHEMA "odd ""names"""; CREATE TABLE "odd ""names"""."a b"
		("x y" int, n int, d timestamptz, t text)');
	my ($rc, $out, $err) = run_parrestore($target, $half, $archives{custom}, "--compare-with=$shop");
	is("$rc$out", '1', 'after errors: exit code');
	like($err, qr/table .*"a b" differs\n.*detail: Rows: 3,000 in source database "[^"]+", 0 in target database "[^"]+"\.\n.*detail: Only in source database "[^"]+": 3,000 rows/m,
		'after errors: message');
	like($err, qr/errors ignored on restore: \d+\n/, 'after errors: number of ignored errors');
	like($err, qr/Tables committed on the target with all rows: 5 of 6\.\n.*detail: Incomplete tables: "odd ""names"""\."a b"\.$/m,
		'after errors: account');
}
# only what was restored is compared
{
	sql($target, $copy, 'DROP TABLE none');
	my ($rc, $out, $err) = restore($archives{custom}, "--compare-with=$changed", '-t', 'empty');
	is("$rc$out$err", '0', 'one table: the same');
}

# Names of columns in an archive that was made to deceive are no SQL for the source.
{
	sql($source, 'shop', q{CREATE FUNCTION evil(int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''evil was called''; END';
		CREATE DOMAIN deceit AS int CHECK (public.evil(VALUE))});
	my $archive = copy_archive($archives{directory}, new_path('deceit'));
	my $toc = read_toc($archive);
	$_->{copy} =~ s/\(id, /(id, id::public.deceit, / foreach grep { $_->{desc} eq 'TABLE DATA' && $_->{tag} eq 'plain' } @{ $toc->{entries} };
	write_toc($toc, $archive);
	my ($rc, $out, $err) = restore($archive, "--compare-with=$shop");
	is("$rc$out", '1', 'a column that is SQL: exit code');
	like($err, qr/error: table public\.plain differs\n.*detail: Rows: 20,000 in source database "[^"]+", 0 in target database "[^"]+"\.\n.*detail: Only in source database "[^"]+": about [\d,]+ rows/, 'a column that is SQL: message about the table');
	unlike($err, qr/evil was called/, 'a column that is SQL: the source does not run it');
	sql($source, 'shop', 'DROP DOMAIN deceit; DROP FUNCTION evil');
}

# ---- refused before anything is made, and tables of others

refused_ok(qr/error: table public\."none" of the archive does not exist on the source$/m, 'a table less',
	$archives{custom}, "--compare-with=$changed");
sql($source, 'shop', 'ALTER TABLE plain OWNER TO owner');
# no query of it is needed, which could run what its owner wrote
same_ok($archives{custom}, 'a table of another role', $shop);
same_ok($archives{custom}, 'a table of another role that is trusted', $shop, '--trust-owners', '--chunk-size=64kB');
refused_ok(qr/error: source and target are the same database/, 'the target itself',
	$archives{custom}, '--compare-with=' . $target->connstr('copy' . ($copies + 1)));
refused_ok(qr/database "nowhere" does not exist/, 'no such database', $archives{custom},
	'--compare-with=' . $source->connstr('nowhere'));
{
	my $dir = dump_ok($source, 'shop', 'a part', 'pg_pardump', '--where=plain:id < 10', '--trust-owners');
	refused_ok(qr/--compare-with cannot be used: the archive contains only some rows of table public\.plain\n.*hint: To leave out this table, use -L\.$/m,
		'a part', $dir, "--compare-with=$shop");
}
refused_ok(qr/option --trust-owners requires option --compare-with/, 'trust in none',
	$archives{custom}, '--trust-owners');
refused_ok(qr/option --compare-with cannot be used, because pg_restore runs this restore/,
	'a restore that pg_restore runs', $archives{custom}, "--compare-with=$shop", '-1');
{
	my ($rc, $out, $err, $copy) = restore($archives{custom}, '--check', "--compare-with=$shop");
	is("$rc " . check_list($out), "0 no problems found\n", '--check: exit code and problems') or diag($err);
	($rc, $out, $err) = restore($archives{custom}, '--check', '--compare-with=' . $source->connstr('nowhere'));
	is($rc, 1, '--check with a database that does not exist: exit code');
}

$source->stop;
$target->stop;
done_testing();
