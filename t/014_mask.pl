# --mask: what is written in place of values is what the server makes of the
# expression, and the values are in nothing that is written.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use Pardump::Cluster qw(start_cluster make_database run_program new_path pg_major sql value);
use Pardump::Command qw(refused_ok fake_pg_dump text_file);
use Pardump::Copy qw(run_copy copy_refused_ok);
use Pardump::Layout qw(chunks_of);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('mask');
make_database($node, 'mask', options => 'TEMPLATE template0');
sql($node, 'mask', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TYPE "my enum" AS ENUM ('a', 'b', 'c');
CREATE DOMAIN "a.dom" AS varchar(8) CHECK (VALUE <> 'bad');
CREATE TYPE pair AS (n int, t text);
CREATE TABLE kinds (id int PRIMARY KEY, t text, i int, n numeric(12,2), d date, u uuid, j jsonb,
	b bytea, a text[], e "my enum", o "a.dom", c pair, v varchar(6), nn text NOT NULL DEFAULT 'default',
	q text UNIQUE, z timestamptz, bits bit(3), keep text,
	"sp ace" text, "quo""te" text, "new
line" text, "do.t" text, "col:on" text,
	g text GENERATED ALWAYS AS (t || '!') STORED);
INSERT INTO kinds SELECT g, 'hush' || g, 2071717000 + g, 9182736.45 + g, '1911-11-11', 'deadbeef-0000-4000-8000-000000000000',
	'{"k": "hush"}', 'hush', '{hush,hush}', 'c', 'hush', ROW(717171, 'hush')::pair, 'hush', 'hush', 'hush' || g, '1911-11-11', B'101',
	repeat('kept ', 30), 'hush', 'hush', 'hush', 'hush', 'hush' FROM generate_series(1, 1500) g;
CREATE MATERIALIZED VIEW copied AS SELECT t, i FROM kinds;
CREATE TABLE refs (q text REFERENCES kinds (q));
INSERT INTO refs SELECT q FROM kinds WHERE id <= 10;
CREATE SCHEMA "sch:ema";
CREATE TABLE "sch:ema"."na.me ""x""
y" (t text);
INSERT INTO "sch:ema"."na.me ""x""
y" VALUES ('hush');
CREATE TABLE parent (t text);
CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO parent VALUES ('hush');
INSERT INTO child VALUES ('hush', 'kept');
CREATE TABLE family (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE family_1 PARTITION OF family FOR VALUES FROM (0) TO (50);
CREATE TABLE family_2 (t text, k int) PARTITION BY RANGE (k);
ALTER TABLE family ATTACH PARTITION family_2 FOR VALUES FROM (50) TO (100);
CREATE TABLE grandchild PARTITION OF family_2 FOR VALUES FROM (50) TO (100);
INSERT INTO family SELECT g, 'hush' FROM generate_series(0, 99) g;
CREATE TABLE other AS SELECT g AS id, repeat('x', 100) AS t FROM generate_series(1, 3000) g;
SQL
my @db = ('-d', $node->connstr('mask'));

# what hides the values of each column; the secret is in no file either
my %expression = (
	id => 'id + 1', t => '\'saltysalt\' || id', i => 'id', n => 'id / 3.0', d => 'd + 4000',
	u => '\'00000000-0000-4000-8000-000000000000\'', j => 'j - \'k\'', b => 'NULL', a => 'ARRAY[id::text]',
	e => '\'a\'', o => '\'ok\' -- not the domain', c => 'ROW(1, \'x\')::public.pair', v => 'id', nn => '\'\'',
	q => 'pg_catalog.md5(\'saltysalt\' || q)', z => 'z::date + 4000', bits => 'B\'010\'',
	'"sp ace"' => 'NULL', '"quo""te"' => 'lower(NULL)', "\"new\nline\"" => '(SELECT \'one\')',
	'"do.t"' => 'CASE WHEN id > 5 THEN \'more\' END', '"col:on"' => '\'a:b\'');
my @masks = ((map { "--mask=kinds.$_:" . $expression{$_} } sort keys %expression),
	'--mask=refs.q:pg_catalog.md5(\'saltysalt\' || q)', "--mask=\"sch:ema\".\"na.me \"\"x\"\"\ny\".t:NULL",
	'--mask=parent.t:\'p\'', '--mask=public.fam*.t:k::text');
# saltysalt is in column t, which is to be written
# the same as values of the columns' types
my %sql_of = (%expression, t => '\'x\' || id', e => '\'a\'::"my enum"', u => '\'00000000-0000-4000-8000-000000000000\'::uuid', v => 'id::varchar', z => '(z::date + 4000)::timestamptz', n => '(id / 3.0)::numeric(12,2)');
@masks = map { s/^(--mask=kinds\.t:).*/$1'x' || id/r } @masks;

# Every way in which a value could be written.
my @secrets = (qr/hush/i, qr/207171[78]\d{3}/, qr/9182[78]\d\d\./, qr/1911-11-11/, qr/deadbeef/, qr/68757368/, qr/saltysalt/);

# The secrets that stand in any of these files, or directories of them.
sub secrets_in
{
	my %found;
	foreach my $file (map { -d $_ ? glob("$_/*") : $_ } @_)
	{
		my $bytes = slurp_file($file);
		if ($file =~ /\.gz$/)
		{
			my $stored = $bytes;
			gunzip(\$stored, \$bytes, MultiStream => 1) or die "could not read \"$file\": $GunzipError";
		}
		$bytes =~ $_ and $found{"$_"} = $file foreach @secrets;
	}
	return [ sort keys %found ];
}

# A dump that must work and give no secret to anybody; its directory, and what
# it said.
sub masked_dump
{
	my ($what, @options) = @_;
	my ($dir, $log, $report) = map { new_path($_) } qw(masked log report);
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', $dir, '--no-sync', '-v', '-P', "--log-json=$log",
		"--report=$report", @db, @options);
	is($rc, 0, "$what: exit code");
	is_deeply(secrets_in($dir, $log, $report, text_file('said', "$out$err")), [], "$what: no secret in any file");
	return ($dir, $err, $log, $report);
}

# Rows of a query, as COPY writes them.
sub rows_of
{
	my ($db, $query) = @_;
	return value($node, $db, "COPY ($query) TO STDOUT");
}

my @names = ('id', sort grep { $_ ne 'id' } keys %expression);
my $expected = rows_of('mask', 'SELECT ' . join(', ', map { "($sql_of{$_}\n)" } @names) . ', keep FROM kinds ORDER BY kinds.id');

# What a database that was made of a masked dump or by a copy must hold.
sub masked_ok
{
	my ($db, $what) = @_;
	is(rows_of($db, 'SELECT ' . join(', ', @names) . ', keep FROM kinds ORDER BY id'), $expected, "$what: all kinds of columns");
	is(value($node, $db, "SELECT count(*) FROM kinds WHERE g = t || '!' AND (c).t = 'x'"), 1500, "$what: a generated column");
	is(value($node, $db, 'SELECT count(*) FROM copied JOIN kinds USING (t, i)'), 1500, "$what: a materialized view");
	is(value($node, $db, 'SELECT count(*) FROM refs JOIN kinds USING (q)'), 10, "$what: a foreign key, the same on both sides");
	is(value($node, $db, "SELECT string_agg(t, ',') || count(*) FROM parent"), 'p,p2', "$what: a parent and its child");
	is(value($node, $db, 'SELECT count(*) FROM family WHERE t = k::text'), 100, "$what: partitions, of another order of columns");
	is(value($node, $db, "SELECT count(*) || coalesce(min(t), '') FROM \"sch:ema\".\"na.me \"\"x\"\"\ny\""), 1, "$what: a name with everything");
}

# ---- the secrets are there, and would be found

{
	my $dir = new_path('plain');
	my ($rc) = run_program('pg_pardump', '-f', $dir, '--no-sync', '-Z', 'gzip', @db);
	is($rc, 0, 'without masks: exit code');
	is_deeply([ grep { !/salt/ } @{ secrets_in($dir) } ], [ grep { !/salt/ } sort map { "$_" } @secrets ], 'without masks: all secrets are found');
}

# ---- dumps

my ($warned, $said, $log, $report);
foreach my $options ([ '-Z', 'none' ], [ '-j2', '--chunk-size=64kB', '-Z', 'gzip' ],
	[ '-j2', '--max-table-segment-pages=20', '--no-extension', '-Z', 'none' ], [ '-Z', 'server-gzip' ])
{
	my $what = "@$options";
	my $dir;
	($dir, $said, $log, $report) = masked_dump($what, @$options, @masks);
	cmp_ok(chunks_of($dir, 'kinds'), '>', 2, "$what: in chunks") if $options->[0] eq '-j2';
	make_database($node, 'restored', options => 'TEMPLATE template0');
	my ($rc, undef, $err) = run_program('pg_restore', '-j2', '-d', $node->connstr('restored'), $dir);
	ok($rc == 0 && $err eq '', "$what: stock pg_restore") or diag($err);
	masked_ok('restored', $what);
	my %hashes = map { $_->{Table} => $_->{Masks} // 'none' } grep { $_->{Kind} eq 'rows' } @{ read_manifest($dir)->{Files} };
	like($hashes{kinds}, qr/^[0-9a-f]{64}$/, "$what: manifest");
	is_deeply([ @hashes{qw(other)}, $hashes{grandchild} eq $hashes{kinds} ? 1 : 0 ], [ 'none', 0 ], "$what: others in the manifest");
	is((run_program('pg_pardump', '--verify', $dir))[0], 0, "$what: verified");
	if ($options->[1] eq 'none')
	{
		(undef, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr('restored'), '--clean',
			'--compare-with=' . $node->connstr('mask'), $dir);
		like($err, qr/--compare-with cannot be used: columns of table \S+ are masked in the archive/, "$what: not to be compared");
	}
	sql($node, 'postgres', 'DROP DATABASE restored');
}

# what is told
foreach my $warning ('kinds.id is NOT NULL', 'kinds.nn is NOT NULL', 'kinds.id is in unique index "kinds_pkey"',
	'kinds.q is in unique index "kinds_q_key"', 'kinds.q is referenced by foreign key "refs_q_fkey"',
	'refs.q is in foreign key "refs_q_fkey"', 'kinds.nn has a default', 'kinds.t is in a rule of table or view "public.copied"')
{
	like($said, qr/detail: .*public\.\Q$warning\E/, "warned: $warning");
}
like($said, qr/^masked: 2\d columns \(tables: 7\)$/m, 'summary');
like(slurp_file($log), qr/"event": ?"summary".*"masked_columns": ?2\d/, 'summary in the log');
like(slurp_file($report), qr/masked columns/, 'report');
my ($rc, $out) = run_program('pg_pardump', @db, '--dry-run', '--mask=kinds.t:NULL -- all');
is($rc, 0, '--dry-run: exit code');
like($out, qr/^ public\.kinds .*COPY.*\b(\d)\)\n.*^\(\1\) read with COPY: it has masked columns\n.*^masked: public\.kinds\.t:NULL -- all$/ms, '--dry-run shows masks');

# ---- copies

foreach my $format (qw(auto text))
{
	make_database($node, 'copy', options => 'TEMPLATE template0');
	my $log = new_path('log');
	my ($rc, $out, $err) = run_copy($node, 'mask', $node, 'copy', '-j2', '--chunk-size=64kB', "--copy-format=$format",
		'-v', "--log-json=$log", @masks);
	is($rc, 0, "copy by $format: exit code") or diag($err);
	is_deeply(secrets_in($log, text_file('said', "$out$err")), [], "copy by $format: no secret told");
	like($out, qr/^masked: 2\d columns/m, "copy by $format: summary");
	masked_ok('copy', "copy by $format");
	sql($node, 'postgres', 'DROP DATABASE copy');
}
make_database($node, 'copy', options => 'TEMPLATE template0');
is((run_copy($node, 'mask', $node, 'copy', '-t', 'fam*', '-t', 'grandchild', '--copy-format=binary', '--mask=family.t:k::text'))[0], 0, 'copy by binary: exit code');
is(value($node, 'copy', 'SELECT count(*) FROM family WHERE t = k::text'), 100, 'copy by binary: rows');
sql($node, 'copy', 'CREATE EXTENSION pg_pardump');
copy_refused_ok(qr/table public\.other cannot be copied as raw tuples\n.*detail: It has masked columns\./, 'copy of raw tuples',
	$node, 'mask', $node, 'copy', '-t', 'other', '--copy-format=raw', '--mask=other.t:NULL');

# ---- increments: never from one to the other

{
	my ($plain, $masked, $plain_again) = map { new_path($_) } qw(plain masked again);
	my %reused;
	foreach my $try ([ $plain, '--manifest-fingerprints' ], [ $masked, "--incremental=$plain", @masks ],
		[ $plain_again, "--incremental=$masked" ])
	{
		my ($dir, @options) = @$try;
		is((run_program('pg_pardump', '-f', $dir, '--no-sync', @db, '-Z', 'gzip', @options))[0], 0, 'increment: exit code');
		$reused{$dir} = { map { $_->{Table} => 1 } grep { $_->{Reused} } @{ read_manifest($dir)->{Files} } };
	}
	is_deeply(secrets_in($masked), [], 'masks after a dump without: no secret');
	is_deeply([ $reused{$masked}, $reused{$plain_again} ], [ ({ other => 1 }) x 2 ], 'increments: tables without masks only');
	is_deeply([ grep { ($_->{Table} // '') eq 'kinds' && $_->{Fingerprint} } @{ read_manifest($masked)->{Files} } ], [],
		'increments: masked tables have no fingerprint');
	cmp_ok(scalar @{ secrets_in($plain_again) }, '>', 3, 'a dump without masks after one with: the values are back');
}

# ---- what rows the mask is of, and where they belong

{
	my ($sample) = masked_dump('sample', '-a', '-t', 'kinds', (grep { /kinds/ } @masks), '--sample=kinds:50', '--where=kinds:id % 2 = 0');
	my ($rc, $out) = run_program('pg_restore', '-f', '-', $sample);
	my @rows = $out =~ /^(\d+)\tx(\d+)\t/mg;
	ok(@rows > 2 * 200 && @rows < 2 * 550 && !grep({ $rows[ 2 * $_ ] % 2 == 0 } 0 .. $#rows / 2), 'sample and condition, of values as they are');
}
{
	my ($dir, $said) = masked_dump('partition key', '-t', 'family*', '-t', 'grandchild', '--mask=family.k:99 - k', '--mask=family.t:NULL', '--load-via-partition-root');
	like($said, qr/public\.family_1\.k is in the partition key/, 'partition key: warned');
	like($said, qr/public\.family_1\.k is in the bounds of partitions/, 'partition key: warned of its definition');
	make_database($node, 'roots', options => 'TEMPLATE template0');
	is((run_program('pg_restore', '-d', $node->connstr('roots'), $dir))[0], 0, 'partition key: restored');
	is(value($node, 'roots', 'SELECT count(*), sum(k), count(t) FROM family_1'), '50|1225|0', 'partition key: rows in their new places');
}

# ---- definitions that show values: of the partitioned table, too
{
	sql($node, 'mask', <<'SQL');
CREATE VIEW of_family AS SELECT k FROM family WHERE t = 'shown';
CREATE TABLE derived (t text, g text GENERATED ALWAYS AS (t || 'shown') STORED);
CREATE STATISTICS of_derived ON (t || 'shown'), (t || 'more') FROM derived;
SQL
	my ($rc, undef, $said) = run_program('pg_pardump', @db, '--dry-run', '--mask=family.t:NULL', '--mask=derived.t:NULL');
	is($rc, 0, 'definitions: exit code');
	like($said, qr/$_/, "definitions: warned: $_")
	  foreach 'family_1\.t is in a rule of table or view "public\.of_family"', 'derived\.t is in the expression of column "g"',
	  'derived\.t is in statistics object (public\.)?of_derived\.';
	sql($node, 'mask', 'DROP VIEW of_family; DROP TABLE derived');
}

# ---- what a restore checks, and what else shows values: each is named, once, in
# the warning that it belongs to
{
	sql($node, 'mask', <<'SQL');
CREATE TABLE checked (id int, t text CHECK (t <> 'shown'), n int, free text, d text DEFAULT 'shown',
	CONSTRAINT of_both CHECK (n > 0 OR t IS NULL), UNIQUE (n));
CREATE TABLE refers (n int CONSTRAINT to_checked REFERENCES checked (n));
CREATE INDEX of_some ON checked (id) WHERE t = 'shown';
CREATE INDEX of_expression ON checked ((t || 'shown'));
CREATE UNIQUE INDEX of_lower ON checked (lower(d));
ALTER TABLE checked ADD CONSTRAINT of_overlap EXCLUDE USING btree (id WITH =);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER on_shown BEFORE INSERT ON checked FOR EACH ROW WHEN (NEW.t = 'shown') EXECUTE FUNCTION nothing();
CREATE TRIGGER on_all BEFORE UPDATE OF free ON checked FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE POLICY see ON checked USING (t <> 'shown');
CREATE POLICY put ON checked WITH CHECK (d <> 'shown');
CREATE TABLE listed (t text, x int) PARTITION BY LIST (lower(t));
CREATE TABLE listed_shown PARTITION OF listed FOR VALUES IN ('shown');
SQL
	my (undef, undef, $said) = run_program('pg_pardump', @db, '--dry-run', map { "--mask=$_" } 'checked.*:NULL', 'refers.n:1', 'listed.t:NULL');
	my ($checks, $definitions) = map { [ ($said =~ /warning: $_.*\n((?:.*detail: .*\n)+)/)[0] =~ /detail: Column (.*)\.$/mg ] }
	  'masked values might violate constraints', 'definitions are dumped unmasked';
	is_deeply([ sort grep { /checked|refers|listed/ } @$checks ], [ sort map { "public.$_" }
		'checked.t is in CHECK constraint "checked_t_check"', 'checked.t is in CHECK constraint "of_both"', 'checked.n is in CHECK constraint "of_both"',
		'checked.n is in unique index "checked_n_key"', 'checked.d is in unique index "of_lower"', 'checked.id is in unique index "of_overlap"',
		'checked.n is referenced by foreign key "to_checked"', 'refers.n is in foreign key "to_checked"', 'listed_shown.t is in the partition key' ],
		'warnings: what a restore checks');
	is_deeply([ sort @$definitions ], [ sort map { "public.$_" }
		'checked.t is in CHECK constraint "checked_t_check"', 'checked.t is in CHECK constraint "of_both"', 'checked.n is in CHECK constraint "of_both"',
		'checked.d has a default', 'checked.t is in partial or expression index "of_some"', 'checked.id is in partial or expression index "of_some"',
		'checked.t is in partial or expression index "of_expression"', 'checked.d is in partial or expression index "of_lower"',
		'checked.t is in policy "see"', 'checked.d is in policy "put"', 'checked.t is in the condition of trigger "on_shown"',
		'listed_shown.t is in the bounds of partitions' ],
		'warnings: definitions that show values');
	unlike($said, qr/checked\.free/, 'warnings: no warning names a column without constraints');
	sql($node, 'mask', 'DROP TABLE checked, refers, listed; DROP FUNCTION nothing()');
}

# ---- errors do not say what is hidden

sql($node, 'mask', <<'SQL');
CREATE FUNCTION noisy(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', $1; RAISE WARNING '%', $1; RETURN 'x'; END $$;
CREATE FUNCTION broken(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	RAISE '%', $1 USING DETAIL = $1, HINT = $1, ERRCODE = 'P0009'; END $$;
CREATE FUNCTION lost(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	RAISE '%', $1 USING DETAIL = $1, HINT = $1, ERRCODE = '08006'; END $$;
SQL
masked_dump('notices', '-a', '-t', 'child', '--mask=child.t:public.noisy(t)');
foreach my $try ([ 'i:t::int', '22P02' ], [ 't:public.broken(t)', 'P0009' ], [ 'v:t', '22001' ], [ 'bits:B\'1111\'', '22026' ],
	[ 'o:\'bad\'', '23514' ], [ 't:public.lost(t)', '08006', '--retries=0' ])
{
	my ($mask, $sqlstate, @options) = @$try;
	my $log = new_path('log');
	my $message = @options ? qr/he session was lost while table public\.kinds was read \(SQLSTATE $sqlstate\)/
	  : qr/error: could not read rows\n[^\n]*detail: The error has SQLSTATE $sqlstate, and occurred while table public\.kinds was read\.\n/;
	my $err = refused_ok($message, "error of $mask", @db, '-t', 'kinds',
		'--no-sync', '-v', "--log-json=$log", @options, "--mask=kinds.$mask");
	is_deeply(secrets_in($log, text_file('said', $err)), [], "error of $mask: no secret told");
	like(slurp_file($log), qr/"(?:message|detail)": ?"[^"]*SQLSTATE $sqlstate/, "error of $mask: in the log");
}
{
	my $err = copy_refused_ok(qr/could not read rows\n[^\n]*detail: The error has SQLSTATE 22P02, and occurred while table "sch:ema"\."na\.me ""x""\\x0ay" was read\.\n/, 'error in a copy',
		$node, 'mask', $node, 'copy', '-n', '"sch:ema"', '--mask="sch:ema".*.t:t::int');
	is_deeply(secrets_in(text_file('said', $err)), [], 'error in a copy: no secret told');
}

# ---- files of masks

my $file = text_file('masks', <<"FILE");
# a comment with t:hush

kinds.t: 'a'
	|| id
refs."q":NULL\r
"sch:ema"."na.me ""x""
y".t: 'file'
FILE
($rc, $out) = run_program('pg_pardump', @db, '--dry-run', "--mask-file=$file", '--mask=kinds.i:1', '--mask=kinds."new' . "\n" . 'line":2::text');
is($rc, 0, 'file: exit code');
like($out, qr/^masked: public\.kinds\.t: 'a'\\x0a\\x09\|\| id$/m, 'file: a mask of two lines');
like($out, qr/^masked: public\.refs\.q:NULL$/m, 'file: quotes, and lines of Windows');
like($out, qr/^masked: .*\.t: 'file'$/m, 'file: a name of two lines');
refused_ok(qr/could not open file "\/nowhere": No such file/, 'no file', @db, '--mask-file=/nowhere');
refused_ok(qr/file ".*" contains no mask/, 'an empty file', @db, '--mask-file=' . text_file('empty', "# nothing\n \n"));
refused_ok(qr/unterminated quoted name in file ".*", line 4\n/, 'an open quote', @db,
	'--mask-file=' . text_file('open', "# of two lines\nkinds.n:\n  NULL\nkinds.\"t:NULL\nkinds.n2:NULL\n"));
refused_ok(qr/file ".*" contains a zero byte/, 'a zero byte', @db, '--mask-file=' . text_file('zero', "kinds.t:NULL\0\n"));
refused_ok(qr/invalid value "no mask" for option --mask/, 'a line that is none', @db, '--mask-file=' . text_file('none', "no mask\n"));

# ---- names are looked up in pg_catalog alone

sql($node, 'mask', <<'SQL');
CREATE FUNCTION public.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$;
CREATE FUNCTION public.more(int, int) RETURNS int LANGUAGE sql AS $$ SELECT 666 $$;
CREATE OPERATOR public.+ (leftarg = int, rightarg = int, function = public.more);
ALTER DATABASE mask SET search_path = public, pg_catalog;
SQL
is(value($node, 'mask', 'SELECT md5(NULL), id + 1 FROM kinds LIMIT 1'), 'evil|666', 'hostile search_path: the query calls the functions of the other role');
{
	my ($dir) = masked_dump('hostile search_path', '-a', '-t', 'child', '--mask=child.t:md5(\'1\') || (1 + 1)');
	my ($rc, $out) = run_program('pg_restore', '-f', '-', $dir);
	like($out, qr/^c4ca4238a0b923820dcc509a6f75849b2\tkept$/m, 'hostile search_path: not by it');
}

# ---- what is refused

foreach my $try (
	[ 'kinds.t:nothing', qr/invalid expression for column t of table public\.kinds\n.*detail: .*column "nothing" does not exist\n\z/s ],
	[ 'kinds.i:t', qr/cannot be assigned to the column, whose type is integer/ ],
	[ 'kinds.e:t', qr/cannot be assigned to the column, whose type is public\."my enum"/ ],
	[ 'kinds.i:\'abc\'', qr/invalid input syntax for type integer/ ],
	[ 'kinds.e:\'d\'', qr/invalid input value for enum/ ],
	[ 'kinds.t:count(*)::text', qr/aggregate functions are not allowed/ ],
	[ 'kinds.t:unnest(a)', qr/set-returning functions|must not return a set/ ],
	[ 'kinds.i:rank() OVER ()', qr/window functions are not allowed/ ],
	[ 'kinds.t:t) FROM kinds; DROP TABLE other; --', qr/syntax error/ ],
	[ 'kinds.t:t, id', qr/cannot be matched|could not|syntax error/ ],
	[ 'kinds.t:t] , ARRAY[t', qr/syntax error/ ],
	[ 'kinds.t:$1', qr/Parameters are not supported|could not determine/ ],
	[ 'kinds.t:helper(1)', qr/function helper\(integer\) does not exist\n.*hint: Expressions are evaluated with an empty search_path\./ ],
	[ 'kinds.t:/* no end', qr/unterminated/ ],
	[ 'kinds.g:NULL', qr/pattern "kinds\.g" of option --mask matches no column that is dumped\n.*detail: The column is generated\.\n.*hint: Mask the columns/ ],
	[ 'kinds.ctid:NULL', qr/matches no column that is dumped/ ],
	[ 'kinds.nowhere:NULL', qr/matches no column that is dumped\n.*detail: No table that matches "kinds" has a column that matches "nowhere"\.\n\z/ ],
	[ 'nowhere.t:NULL', qr/matches no column that is dumped\n\z/ ],
	[ 'copied.t:NULL', qr/matches no column that is dumped/ ],
	[ 'x.y.z.kinds.t:NULL', qr/improper relation name \(too many dotted names\) for option --mask: x\.y\.z\.kinds/ ],
	[ 'kinds:NULL', qr/invalid value "kinds:NULL" for option --mask\n.*hint: Use TABLE\.COLUMN:EXPRESSION/ ],
	[ 'kinds.t', qr/invalid value/ ], [ 'kinds.t:', qr/invalid value/ ], [ '.t:NULL', qr/invalid value/ ],
	[ 'kinds.:NULL', qr/invalid value/ ], [ '"kinds.t":NULL', qr/invalid value/ ])
{
	refused_ok($try->[1], "--mask=$try->[0]", @db, "--mask=$try->[0]");
}
sql($node, 'mask', 'CREATE SCHEMA sales; CREATE TABLE sales.sold (id int)');
refused_ok(qr/pattern "sold\.id" of option --mask matches no column that is dumped\n.*detail: Tables of this name that are not in your search_path: sales\.sold\.\n.*hint: Specify the table with its schema\.\n\z/,
	'a table of another schema', @db, '--mask=sold.id:1');
refused_ok(qr/pattern "sold\.nowhere" of option --mask matches no column that is dumped\n\z/, 'no such column of it', @db, '--mask=sold.nowhere:1');
sql($node, 'mask', 'DROP SCHEMA sales CASCADE');
refused_ok(qr/column t of table public\.kinds matches more than one option --mask/, 'two masks', @db, '--mask=kinds.t:NULL', '--mask=k*.t*:NULL');
refused_ok(qr/options --mask and \Q$_->[0]\E cannot be used together/, "--mask and $_->[0]", @db, '--mask=kinds.t:NULL', @$_)
  foreach [ '--statistics' ], [ '--create-slot', '--slot=s' ];
copy_refused_ok(qr/options --mask and --compare cannot be used together/, '--mask and --compare', $node, 'mask', $node, 'copy', '--mask=kinds.t:NULL', '--compare');
SKIP:
{
	skip 'pg_dump of 18 dumps statistics', 3 if pg_major($node) < 18;
	refused_ok(qr/option --mask cannot be used in a dump that contains statistics/, 'statistics, asked for by another option', @db, '--mask=kinds.t:NULL',
		'--pg-dump=' . fake_pg_dump('statistics', 'exec "$PG_DUMP" --statistics "$@"'));
}

# whose functions may run
sql($node, 'mask', <<'SQL');
CREATE ROLE stranger;
CREATE TABLE foreign_owned (t text, f int);
ALTER TABLE foreign_owned OWNER TO stranger;
CREATE DOMAIN foreign_domain AS text;
ALTER DOMAIN foreign_domain OWNER TO stranger;
CREATE TYPE with_domain AS (d foreign_domain);
CREATE TABLE of_domain (t with_domain[]);
CREATE TYPE foreign_enum AS ENUM ('a');
ALTER TYPE foreign_enum OWNER TO stranger;
CREATE TABLE of_enum (t foreign_enum);
SELECT lo_from_bytea(0, 'bytes');
SQL
refused_ok(qr/querying 1 table could run code of role "stranger" with the privileges of /, 'the table of another role', @db, '--mask=foreign_owned.t:NULL');
refused_ok(qr/masking column t of table public\.of_domain could run code of role "stranger" with the privileges of /, 'the domain of another role', @db, '--mask=of_domain.t:NULL');
refused_ok(qr/masking column t of table public\.of_enum could run code of role "stranger" with the privileges of /, 'the type of another role, to which it may make a cast', @db, '--mask=of_enum.t:NULL');
{
	my ($dir, $said) = masked_dump('--trust-owners', '--trust-owners', @masks, '--mask=of_domain.t:NULL', '--mask=foreign_owned.t:NULL');
	like($said, qr/warning: large objects are not masked/, 'large objects: warned');
}

# Stock pg_dump reads no row: it would show one whose character has no place in the
# encoding.
{
	make_database($node, 'signs', options => "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
	sql($node, 'signs', "CREATE TABLE signs AS SELECT U&'\\20AC' AS t");
	my $pg_dump = fake_pg_dump('own_words', "[ \"\$LC_ALL\$LC_MESSAGES\" = C ] || exit 1\nexec \"\$PG_DUMP\" \"\$@\"");
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', new_path('signs'), '--no-sync', '-E', 'LATIN1', "--pg-dump=$pg_dump",
		'--mask=signs.t:NULL', '-d', $node->connstr('signs'));
	is("$rc $err", '0 ', 'a masked value that has no place in the encoding is not shown');
}

$node->stop;
done_testing();
