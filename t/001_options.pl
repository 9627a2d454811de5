# pg_dump's options mean to pg_pardump what they mean to pg_dump, which is shown
# by dumping one database with both programs; then the options of the output.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path
  sql pg_major codecs default_suffix make_loop_server);
use Pardump::Command qw(text_file data_files accepted_ok);
use Pardump::Layout qw(toc_problems chunks_of);
use Pardump::Toc qw(read_toc);
use PostgreSQL::Test::Utils;
use Test::More;

program_help_ok('pg_pardump');
program_version_ok('pg_pardump');
program_options_handling_ok('pg_pardump');

# behind other options, too; and misspelt options
foreach my $program ('pg_pardump', 'pg_parrestore', 'pg_parbasebackup')
{
	my @early = map { (run_program($program, $_))[1] } '--help', '--version';
	is_deeply([ map { (run_program($program, '-v', $_))[1] } '--help', '--version', '--vers' ], [ @early, $early[1] ],
		"$program: --help and --version behind another option");
	my $hints = sub { my ($err) = (run_program($program, @_))[2]; return join '', $err =~ /^$program: hint: (.*)\n/mg };
	my $try = qq{Try "$program --help" for more information.};
	is($hints->('--verbsoe'), qq{Perhaps you meant the option "--verbose".$try}, "$program: a misspelt option");
	is($hints->('--usernam_=x'), qq{Perhaps you meant the option "--username".$try}, "$program: one with a value");
	is($hints->('--xyz'), $try, "$program: an option like no other");
	is($hints->('-7'), $try, "$program: an unknown letter");
	is($hints->('--username'), $try, "$program: an option without its argument");
}

# What "-E auto" means; where nothing is set there is nothing to get wrong.
$ENV{LC_ALL} = 'C.UTF-8';

my $node = start_cluster('options');
my $major = pg_major($node);

# Dumps with both programs: all entries must be the same and, as no table is
# large enough to be split, all files too.  Returns our archive.
sub same_meaning_ok
{
	my ($db, @options) = @_;
	my $what = "same as pg_dump: @options";
	my ($stock, $ours) = (new_path('stock'), new_path('ours'));
	my @common = ('-Fd', '-Z0', '--no-sync', '-d', $node->connstr($db), @options);
	my ($stock_rc, undef, $stock_err) = run_program('pg_dump', @common, '-f', $stock);
	my ($rc, undef, $err) = run_program('pg_pardump', @common, '-f', $ours);
	if ($rc != 0 || $stock_rc != 0)
	{
		fail($what);
		diag("exit codes $stock_rc and $rc: $stock_err$err");
		return $ours;
	}
	my @problems = toc_problems($stock, $ours);
	push @problems, "pg_dump says: ${stock_err}we say: $err"
	  if $stock_err =~ s/^pg_dump: //mgr ne $err =~ s/^pg_(?:par)?dump: //mgr;
	my @files = data_files($stock);
	push @problems, 'other files: ' . join ' ', data_files($ours)
	  if "@files" ne join ' ', data_files($ours);
	foreach my $file (grep { -f "$ours/$_" } @files)
	{
		push @problems, "other contents of $file"
		  if slurp_file("$stock/$file") ne slurp_file("$ours/$file");
	}
	is_deeply(\@problems, [], $what);
	return $ours;
}

# ---- the database

sql($node, 'postgres', <<'SQL');
CREATE ROLE reader;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE elsewhere LOCATION '';
SQL
make_database($node, 'options');
sql($node, 'options', <<'SQL');
CREATE SCHEMA one;
CREATE SCHEMA "Two";
CREATE FUNCTION one.f(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$;
CREATE TABLE one.parent (id int PRIMARY KEY, t text, f float8 DEFAULT 0.1)
	TABLESPACE elsewhere;
CREATE INDEX ON one.parent (t);
COMMENT ON TABLE one.parent IS 'a comment';
COMMENT ON COLUMN one.parent.t IS 'another';
GRANT SELECT ON one.parent TO reader;
GRANT USAGE ON SCHEMA one TO reader;
INSERT INTO one.parent SELECT g, 'row ' || g, 1.0 / g FROM generate_series(1, 500) g;
CREATE TABLE one.child (id serial REFERENCES one.parent, x numeric, d date, i interval);
INSERT INTO one.child (x, d, i)
	SELECT g, 'yesterday'::date - g, g * interval '1 hour' FROM generate_series(1, 50) g;
CREATE UNLOGGED TABLE one.unlogged AS SELECT 1 AS a;
CREATE VIEW one.v AS SELECT * FROM one.parent;
CREATE MATERIALIZED VIEW one.mv AS SELECT count(*) FROM one.parent;
CREATE TABLE "Two"."Mixed ""name" (a int, b text) ;
INSERT INTO "Two"."Mixed ""name" VALUES (1, E'a\\b\tc\nd'), (2, NULL), (3, 'äöü');
CREATE TABLE "Two".family (a int) PARTITION BY RANGE (a);
CREATE TABLE "Two".family_1 PARTITION OF "Two".family FOR VALUES FROM (0) TO (50);
CREATE TABLE "Two".family_2 PARTITION OF "Two".family FOR VALUES FROM (50) TO (100);
INSERT INTO "Two".family SELECT g FROM generate_series(0, 99) g;
CREATE TABLE one.elder (a int);
CREATE TABLE one.younger () INHERITS (one.elder);
INSERT INTO one.elder VALUES (1);
INSERT INTO one.younger VALUES (2), (3);
CREATE TABLE one.guarded (a int, owner text);
INSERT INTO one.guarded SELECT g, CASE WHEN g % 2 = 0 THEN 'reader' ELSE 'x' END
	FROM generate_series(1, 20) g;
ALTER TABLE one.guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON one.guarded FOR SELECT USING (owner = current_user);
GRANT SELECT ON one.guarded TO reader;
CREATE FUNCTION one.trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER t BEFORE INSERT ON one.child FOR EACH ROW EXECUTE FUNCTION one.trigger();
SET client_min_messages = error;	-- about wal_level
CREATE PUBLICATION pub FOR TABLE one.parent;
SELECT lo_from_bytea(77777, 'contents');
SELECT lo_from_bytea(77778, '');
ANALYZE;
SQL
make_loop_server($node, 'options');
sql($node, 'options', <<'SQL');
CREATE FOREIGN TABLE one.far (id int, t text) SERVER loop
	OPTIONS (schema_name 'one', table_name 'parent');
SQL

# ---- options that choose what is dumped

my $filter = text_file('filter',
	"include table one.*\nexclude table one.child\nexclude table_data one.parent\n");
my $nothing = text_file('filter', "exclude schema nowhere\n");

my @combinations = (
	[],
	['-a'], ['--data-only', '--disable-triggers', '-S', 'postgres'],
	['-s'], ['--schema-only', '-n', 'one'],
	['-c', '-C', '--if-exists'], [ '--create', '--no-owner', '--no-acl' ],
	[ '-O', '-x' ],
	[ '-t', 'one.parent' ], [ '--table=one.*', '-T', '*.child', '-b' ],
	[ '-t', '"Two"."Mixed ""name"' ], [ '-t', 'one.child_id_seq' ],
	[ '-n', 'one', '-N', '"Two"' ], [ '--exclude-schema=one', '-B' ],
	[ '-N', '', '-t', 'one.parent' ], [ '--exclude-schema=', '-tone.child' ],
	[ '-e', 'postgres_fdw' ], ['--extension=*fdw'],
	[ '--exclude-table-data=one.parent', '--exclude-table=one.v' ],
	['--section=pre-data'],
	[ '--section', 'data' ],
	[ '--section=post-data', '--section=data' ],
	[ '-E', 'SQL_ASCII' ], [ '-E', 'auto' ], ['--encoding=LATIN1'],
	[ '--role=reader', '-t', 'one.parent' ],
	[ '--role=reader', '--enable-row-security', '-t', 'one.guarded', '-t', 'one.parent' ],
	[ '--lock-wait-timeout=2000', '--no-sync', '--no-comments' ],
	['--lock-wait-timeout=2s'],
	['--load-via-partition-root'],
	['--include-foreign-data=loop'],
	[ '--include-foreign-data=l*', '-t', 'one.far', '--strict-names' ],
	[ '--no-publications', '--no-subscriptions', '--no-security-labels' ],
	[ '--no-unlogged-table-data', '--no-tablespaces', '--no-toast-compression' ],
	[ '--no-table-access-method', '--use-set-session-authorization' ],
	['--quote-all-identifiers'],
	['--extra-float-digits=-10'],
	[ '--disable-dollar-quoting', '--no-blobs', '-R' ],
	['--serializable-deferrable'],
);
push @combinations,
  [ '--table-and-children=one.elder' ],
  [ '--exclude-table-and-children="Two".family', '--large-objects' ],
  [ '--exclude-table-data-and-children=*.family' ]
  if $major >= 16;
push @combinations,
  ["--filter=$filter"], [ '--filter', $nothing, '-a' ],
  ['--exclude-extension=postgres_fdw']
  if $major >= 17;
push @combinations,
  ['--statistics'], ['--statistics-only'], ['--no-data'], ['--no-schema'],
  [ '--no-statistics', '--no-policies' ], [ '--sequence-data', '-s' ]
  if $major >= 18;

my ($everything, $through_root);
foreach my $options (@combinations)
{
	my $dir = same_meaning_ok('options', @$options);
	$everything //= $dir;
	$through_root = $dir if "@$options" eq '--load-via-partition-root';
}
like(
	(grep { $_->{tag} eq 'family_1' && $_->{copy} }
		  @{ read_toc($through_root)->{entries} })[0]{copy},
	qr/COPY "Two"\.family /, 'partitions are loaded via the root');

# In these encodings the second byte of a character may be a backslash, as it is
# in the table's name.
foreach my $try ([ 'SJIS', '表', "\x95\\" ], [ 'BIG5', '功', "\xA5\\" ])
{
	my ($encoding, $name, $bytes) = @$try;
	my $db = lc $encoding;
	make_database($node, $db);
	sql($node, $db, qq{
		CREATE TABLE "$name" AS SELECT '$name' || g AS "$name" FROM generate_series(1, 500) g;
		CREATE TABLE "a ""b" AS SELECT 1 AS "c\\d"});
	my $dir = same_meaning_ok($db, '-E', $encoding);
	ok( -f "$dir/toc.dat"
		  && (grep { $_->{desc} eq 'TABLE DATA' && $_->{tag} eq $bytes }
			  @{ read_toc($dir)->{entries} }),
		"$encoding: the table's name ends in a backslash");
}

# Chunks must not change what a session option does to the rows: all rows of
# the table, in order, are those of pg_dump.
sub text_of_rows
{
	my ($dir, $tag) = @_;
	return join '', map { slurp_file("$dir/$_->{filename}") =~ s/\\\.\n\n\n$//r }
	  grep { $_->{desc} eq 'TABLE DATA' && $_->{tag} eq $tag && $_->{had_dumper} }
	  @{ read_toc($dir)->{entries} };
}
foreach my $options ([], ['--extra-float-digits=-10'], [ '--role', 'reader' ],
	[ '-E', 'LATIN1' ], ['--quote-all-identifiers'], ['--load-via-partition-root'])
{
	my @common = ('-Z0', '--no-sync', '-d', $node->connstr('options'),
		'-t', 'one.parent', @$options);
	my ($stock, $ours) = (new_path('stock'), new_path('ours'));
	my ($stock_rc) = run_program('pg_dump', '-Fd', '-f', $stock, @common);
	my ($rc) = run_program('pg_pardump', '-j2', '--max-table-segment-pages=1', '-f', $ours, @common);
	is("$stock_rc$rc", '00', "exit codes of both programs: @$options");
	cmp_ok(chunks_of($ours, 'parent'), '>=', 3, 'the table is split');
	ok(text_of_rows($ours, 'parent') eq text_of_rows($stock, 'parent'),
		"rows in chunks are the same: @$options");
}

# ---- any order, all spellings of the same

my $connstr = $node->connstr('options');
foreach my $args (
	[ $connstr, '-t', 'one.parent' ],
	[ '-t', 'one.parent', $connstr, '-j', '2' ],
	[ '-j2', '-tone.parent', '-vv', '-Fdirectory', '--dbname', $connstr ],
	[ '--jobs=2', '--table', 'one.parent', '--format=d', "--dbname=$connstr", '--compress=1', '--verbose' ],
	[ '-wOxj1', '-Fd', '-tone.parent', "-d$connstr" ],
	[ '--host=' . $node->host, '--port', $node->port, '-t', 'one.parent', 'options' ],
	[ '-h', $node->host, '-p' . $node->port, '-dpostgres', '-d', 'options', '-t', 'one.parent' ])
{
	my $dir = new_path('order');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', @$args, '-f', $dir);
	is($rc, 0, "accepted: @$args") or diag($err);
	is(scalar(grep { $_->{desc} eq 'TABLE DATA' } @{ read_toc($dir)->{entries} }),
		1, "one table is dumped: @$args");
}

# ---- files and compression

my @db = ('-d', $connstr);

umask 0;
my $restored;
foreach my $try (
	[ 'none', '', 0 ], [ '0', '', 0 ],
	[ 'gzip', '.gz', 1 ], [ '9', '.gz', 1 ], [ '1', '.gz', 1 ],
	[ 'gzip:3', '.gz', 1 ], [ 'gzip:level=2', '.gz', 1 ],
	[ 'lz4', '.lz4', 2 ], [ 'lz4:9', '.lz4', 2 ], [ 'lz4:level=1', '.lz4', 2 ],
	[ 'zstd', '.zst', 3 ], [ 'zstd:-5', '.zst', 3 ],
	[ 'zstd:level=4,workers=2,long', '.zst', 3 ], [ 'zstd:long=off', '.zst', 3 ],
	[ undef, default_suffix($node), $major >= 16 ? 3 : 1 ])
{
	my ($spec, $suffix, $byte) = @$try;
	next if !grep { $_ eq ('none', 'gzip', 'lz4', 'zstd')[$byte] } codecs($node);
	my $what = '-Z ' . ($spec // '(default)');
	my $dir = accepted_ok($what, @db, defined $spec ? ('-Z', $spec) : (), '-j2',
		'--chunk-size=16kB');
	my $toc = read_toc($dir);
	# 15 and older have gzip's level there, none of which is 0
	my $found = $toc->{compression};
	$found = $found != 0 ? 1 : 0 if $toc->{minor} < 15;
	is($found, $byte, "$what: byte in the header");
	my @data = grep { !/\.toc$/ } data_files($dir);
	is_deeply([ grep { !/\d\.dat\Q$suffix\E$/ } @data ], [], "$what: suffix");
	cmp_ok(scalar(@data), '>', 10, "$what: many files");
	command_ok([ 'gzip', '-t', map { "$dir/$_" } @data ], "$what: valid for gzip")
	  if $byte == 1;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', $dir);
	is("$rc$err", '0', "$what: pg_restore reads it");
	$out =~ s/^\\(un)?restrict \w+$//mg;
	$restored //= $out;
	ok($out eq $restored && length $out > 10000, "$what: same contents");
	is_deeply(
		[ grep { ((stat "$dir/$_")[2] & 07777) != 0600 } (@data, 'toc.dat') ],
		[], "$what: only for the owner");
	is((stat $dir)[2] & 07777, 0700, "$what: directory only for the owner");
}

# ---- verbose

sql($node, 'options', <<'SQL');
CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE one.by_other USING other AS SELECT * FROM generate_series(1, 1000);
SQL
{
	my $dir = new_path('verbose');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-v', '-f', $dir,
		'--max-table-segment-pages=1');
	is($rc, 0, '-v: exit code');
	like($err, qr/not splitting table one\.by_other into chunks\n.*detail: Its access method is not heap\./,
		'-v: the reason why a table is not split');
	like($err, qr/chunk 1 of \d+ of table one\.parent/, '-v: names chunks');
	like($err, qr/splitting tables by blocks and reading them with COPY\n.*detail: The database has no extension pg_pardump\.$/m,
		'-v: the extension does not exist');
	like($err, qr/^pg_dump: /m, '-v: pg_dump is verbose, too');
	is(chunks_of($dir, 'by_other'), 0, 'a table of another method is not split');
}

$node->stop;
done_testing();
