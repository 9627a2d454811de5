# Every statement that a dump or a copy sends names tables, functions, types and
# operators by their schema: the server's log has them as they arrive, all but
# CREATE SUBSCRIPTION, which is kept out of it for its password.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database new_path run_program
  make_loop_server sql codecs);
use PostgreSQL::Test::Utils;
use Test::More;

# What may stand before a parenthesis, and is not a function that others can
# make.
my %words = map { $_ => 1 } qw(ALL AND ANY ARRAY AS BY CASE COALESCE CONNECTION
  COPY ELSE EXCEPT EXISTS FILTER FROM GREATEST HAVING IN JOIN LATERAL LEAST NOT
  NULLIF ON OPERATOR OR OVER ROW ROWS SELECT SET TABLE THEN UNION USING VALUES
  WHEN WHERE WITH STDIN STDOUT SLOT LOGICAL PUBLICATION);

# Those that name something without a schema.  Names in quotes, literals and
# comments do not count; nor do aliases with a column list, and what is named by WITH.
sub unqualified
{
	my ($sql) = @_;
	my @found;
	$sql =~ s/(?<!\w)E?'(?:[^']|'')*'/LITERAL/g;
	$sql =~ s/"(?:[^"]|"")*"/quoted/g;
	# whose options are no expressions
	$sql =~ s/^(CREATE_REPLICATION_SLOT .*) \([^()]*\)$/$1/;
	$sql =~ s/^((?:SAVEPOINT \w+; )?SET \w+) = /$1 TO /;
	push @found, $1 while $sql =~ /(::(?!pg_catalog\.)\S*)/g;
	my $without = $sql =~ s/OPERATOR\(pg_catalog\.[^)]+\)/ OP /gr;
	$without =~ s/\bCTE //g;
	push @found, "operator $1"
	  while $without =~ /(?<![(*=<>+|~!\/^&%#@-])((?:(?!::)[=<>+|~!\/^&%#@-])+)(?![>=])/g;
	while ($sql =~ /((?:\w+\.)*)(\w+) ?\(/g)
	{
		my ($schema, $name, $before) = ($1, $2, substr($sql, 0, $-[0]));
		next if $schema ne '' || $words{ uc $name };
		# (...) name (columns), and WITH name (columns) AS
		next if $before =~ /(?:\)|\bAS|ORDINALITY) $/ || $before =~ /(?:WITH(?: RECURSIVE)?|,) $/;
		push @found, "function $name";
	}
	my %with = map { $_ => 1 } $sql =~ /(?:\bWITH|\bRECURSIVE|,) (\w+)(?: \([^()]*\))? AS \(/g;
	while ($sql =~ /\b(?:FROM|JOIN|TABLE|ANALYZE)(?: ONLY)? (?!ONLY\b)(\w+)\b(?![.(])/g)
	{
		push @found, "relation $1" if !$with{$1} && !$words{$1};
	}
	return @found;
}
is_deeply([ unqualified(q{SELECT pg_catalog.count(*), x::pg_catalog.text FROM ONLY a.b WHERE ctid OPERATOR(pg_catalog.>=) '(0,0)'::pg_catalog.tid}) ],
	[], 'control: nothing');
is_deeply([ unqualified(q{SELECT lower(a), b::text FROM t WHERE a = 'x(y) = z'}) ],
	[ '::text', 'operator =', 'function lower', 'relation t' ], 'control: all four');
is_deeply([ unqualified(q{WITH RECURSIVE a (b) AS (SELECT FROM ONLY "S".t), c AS (SELECT) SELECT FROM a JOIN c ON true}) ],
	[], 'control: names that WITH gives');

my $node = start_cluster('statements', allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "log_statement = all\nlog_replication_commands = on\nlog_line_prefix = '%m <%a> '");
$node->reload;
make_database($node, 'source');
make_loop_server($node, 'source');
sql($node, 'source', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE small (id serial PRIMARY KEY, t text);
INSERT INTO small SELECT g FROM generate_series(1, 10) g;
CREATE TABLE large AS SELECT g AS id, repeat(md5(g::text), 20) AS t FROM generate_series(1, 3000) g;
CREATE INDEX ON large (id);
CREATE TABLE parted (id int, t text) PARTITION BY HASH (id);
CREATE TABLE part0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT g, 'x' FROM generate_series(1, 100) g;
CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS a;
CREATE FOREIGN TABLE far (id int, t text) SERVER loop OPTIONS (table_name 'large');
SELECT lo_from_bytea(0, convert_to(repeat(md5(g::text), g), 'UTF8')) FROM generate_series(1, 40) g;
CREATE PUBLICATION moving FOR ALL TABLES;
SQL
my @db = ('-d', $node->connstr('source'));

sub normalized
{
	my ($sql) = @_;
	return $sql =~ s/\s+/ /gr =~ s/\d+/0/gr;
}

sub works_ok
{
	my ($what, @args) = @_;
	# PostgreSQL::Test::Utils names all sessions alike
	delete local $ENV{PGAPPNAME};
	my ($rc, undef, $err) = run_program('pg_pardump', @db, @args);
	is($rc, 0, "$what: exit code") or diag($err);
	return;
}
sub dumps_ok
{
	my ($what, @args) = @_;
	return works_ok($what, '--no-sync', '-f', new_path('dump'), '-j2', @args);
}

my $codec = (codecs($node))[-1];
dumps_ok('by the extension', '--chunk-size=64kB', '-Z', "server-$codec", '--lock-wait-timeout=5s');
my $first = new_path('first');
works_ok('with fingerprints', '--no-sync', '-f', $first, '--chunk-size=64kB', '--manifest-fingerprints');
dumps_ok('an incremental one', "--incremental=$first");
dumps_ok('by SQL', '--no-extension', '--max-table-segment-pages=10', '--include-foreign-data=loop');
dumps_ok('parts of tables', '--where=large:id OPERATOR(pg_catalog.<) 100', '--sample=parted:10');
dumps_ok('a slot', '--create-slot', '--slot=one', '--role=' . (getpwuid($<))[0]);
make_database($node, $_, options => 'TEMPLATE template0') foreach qw(copy moved);
works_ok('a copy', '--target=' . $node->connstr('copy'), '-j2', '--chunk-size=64kB', '--compare');
sql($node, 'copy', 'TRUNCATE small');
works_ok('a copy of rows', '--target=' . $node->connstr('copy'), '-a', '-t', 'small', '--copy-format=text');
# definitions of the archive are pg_dump's statements
my $definitions = normalized((run_program('pg_dump', '--schema-only', @db))[1]);
sql($node, 'source', 'DROP EXTENSION postgres_fdw CASCADE');
works_ok('a move', '--target=' . $node->connstr('moved'), '-j2', '--create-slot', '--slot=moving',
	'--create-subscription=moving', '--publication=moving', '--subscription-conninfo=' . $node->connstr('source'));
sql($node, 'moved', 'DROP SUBSCRIPTION moving');

$node->stop;
my %statements;
my $log = slurp_file($node->logfile);
while ($log =~ /^\S+ \S+ \S+ <pg_pardump[^>]*> LOG: +(?:statement|execute [^:]*|received replication command): (.*(?:\n\t.*)*)/mg)
{
	my $statement = normalized($1);
	$statements{$statement}++ if index($definitions, $statement =~ s/[; ]+\z//r) < 0;
}
cmp_ok(scalar(keys %statements), '>', 60, 'statements in the log');
foreach my $needed (qr/^COPY \(SELECT pardump\.pg_pardump_read/, qr/quote_ident/, qr/hashtidextended/,
	qr/^COPY .* FROM STDIN/, qr/^ANALYZE/, qr/^CREATE_REPLICATION_SLOT/, qr/lo_put/, qr/lo_get/, qr/^LOCK TABLE/,
	qr/pg_pardump_fingerprint\(/)
{
	ok((grep { $_ =~ $needed } keys %statements), "statements in the log: $needed");
}
# of our own functions the types too: others of their names might come nearer
foreach my $call (qr/pg_pardump_read\(/, qr/pg_pardump_chunks\(/, qr/pg_pardump_fingerprint\(/,
	qr/pg_pardump_definition\(/, qr/pg_pardump_fingerprint_reads\(/)
{
	my @untyped = grep { $_ =~ $call && $_ !~ /to_regprocedure/ && $_ !~ m{$call
		(?:(?:'[^']*'|\w+|\$0|ARRAY\[[^]]*\])(?:::pg_catalog\.oid)?::pg_catalog\.\w+(?:\[\])?(?:,\ |\)))+}x } keys %statements;
	is_deeply(\@untyped, [], "types of all arguments: $call");
}
foreach my $statement (sort keys %statements)
{
	my @found = unqualified($statement);
	is_deeply(\@found, [], 'names: ' . substr($statement, 0, 60)) or diag($statement);
}

done_testing();
