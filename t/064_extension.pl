# With the extension in the database: which tables it reads and which SQL does,
# that both give the same archive, where the rows are compressed, and that a
# role that may not use it, or an extension that plans nonsense, loses no rows.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path
  sql dump_ok restore_ok codecs make_loop_server);
use Pardump::Command qw(data_files preloaded refused_ok);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Layout qw(layout_problems chunks_of);
use Pardump::Proxy qw(start_proxy stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('extension');
make_database($node, 'extension');
make_loop_server($node, 'extension');
sql($node, 'extension', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE ROLE reader LOGIN;
CREATE SCHEMA data;
CREATE TABLE data.plain AS SELECT g AS id, E'a\tb\\' || g AS t FROM generate_series(1, 5000) g;
CREATE TABLE data.empty (a int);
CREATE TABLE data.no_columns ();
INSERT INTO data.no_columns SELECT FROM generate_series(1, 5000);
CREATE TABLE data.large (id int, t text);
ALTER TABLE data.large ALTER t SET STORAGE EXTERNAL;
INSERT INTO data.large SELECT g, repeat(md5(g::text), 100000 / g) FROM generate_series(1, 40) g;
CREATE TABLE data.guarded (a int, owner text);
INSERT INTO data.guarded SELECT g, CASE WHEN g % 2 = 0 THEN 'reader' ELSE 'x' END
	FROM generate_series(1, 2000) g;
ALTER TABLE data.guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON data.guarded FOR SELECT USING (owner = current_user);
GRANT USAGE ON SCHEMA data TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA data TO reader;

CREATE SCHEMA other;
CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other.by_other USING other AS SELECT g FROM generate_series(1, 1000) g;
-- pg_extension_config_dump() writes the last two, but only for an extension's own script
CREATE EXTENSION tcn SCHEMA other;
CREATE TABLE other.settings AS SELECT g AS id FROM generate_series(1, 1000) g;
ALTER EXTENSION tcn ADD TABLE other.settings;
UPDATE pg_extension SET extconfig = ARRAY['other.settings'::regclass]::oid[],
	extcondition = ARRAY['WHERE id > 500'] WHERE extname = 'tcn';
CREATE FOREIGN TABLE other.far (id int, t text) SERVER loop
	OPTIONS (schema_name 'data', table_name 'plain');
SQL
my @db = ('-d', $node->connstr('extension'));
my @data = ('-n', 'data', '-j2', '--max-table-segment-pages=5');
my @all = ('-j2', '--max-table-segment-pages=5', '--include-foreign-data=loop');
my @as_reader = ('-U', 'reader', '--enable-row-security');

# The rows that an archive restores: COPY statement => lines in their order.
sub rows_of
{
	my ($dir) = @_;
	my (%rows, $copy);
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', $dir);
	die "pg_restore does not read \"$dir\": $err" if $rc != 0 || $err ne '';
	foreach my $line (split /\n/, $out)
	{
		if (!defined $copy)
		{
			$copy = $line if $line =~ /^COPY /;
			$rows{$copy} //= '' if defined $copy;
		}
		elsif ($line eq '\.') { undef $copy; }
		else { $rows{$copy} .= "$line\n"; }
	}
	die 'no rows' if !keys %rows;
	return \%rows;
}

# The tables whose rows differ, in contents or order.
sub differing
{
	my ($want, $got) = @_;
	my %all = (%$want, %$got);
	return [ grep { ($want->{$_} // 'none') ne ($got->{$_} // 'none') } sort keys %all ];
}

# What -v says of who read each table: name => 'the extension' or why not.
sub readers
{
	my ($err) = @_;
	my %by;
	while ($err =~ /dumping contents of (?:chunk \d+ of \d+ of )?table (\S+) with (COPY \(reason: )?(.*?)\)?$/mg)
	{
		my ($table, $reader) = ($1, $3);
		$by{$table} //= $reader;
		$by{$table} .= ", $reader" if $by{$table} ne $reader;
	}
	return \%by;
}

# Dumps with -v, and returns the archive and what was said.
sub verbose_dump
{
	my ($what, @options) = @_;
	my $dir = new_path('verbose');
	my ($rc, undef, $err) =
	  run_program('pg_pardump', '-v', '--no-sync', @db, '-f', $dir, @options);
	is($rc, 0, "$what: exit code") or diag($err);
	is_deeply([ layout_problems($dir) ], [], "$what: layout");
	return ($dir, $err);
}

# ---- who reads what

my $stock_rows = rows_of(dump_ok($node, 'extension', 'all', 'pg_dump',
	'--include-foreign-data=loop'));
my %by_extension =
  map { ("data.$_" => 'the extension') } qw(plain no_columns large guarded);
my $foreign = 'it is a foreign table';
my $condition = "it is an extension's configuration table with a filter condition";
my $method = 'its access method is not heap';
$by_extension{'data.empty'} = 'it is a small table';
my %not_by_it = ('other.far' => $foreign, 'other.settings' => $condition,
	'other.by_other' => $method);
my ($dir, $err) = verbose_dump('extension', @all);
is_deeply(readers($err), { %by_extension, %not_by_it }, 'extension: readers of the tables');
is_deeply(differing($stock_rows, rows_of($dir)), [], 'extension: rows as of pg_dump');
cmp_ok(chunks_of($dir, 'plain'), '>', 3, 'extension: chunks');

($dir, $err) = verbose_dump('--no-extension', @all, '--no-extension');
is_deeply(readers($err), { map { ($_ => 'option --no-extension was specified') } keys %by_extension, keys %not_by_it },
	'--no-extension: SQL reads all');
is_deeply(differing($stock_rows, rows_of($dir)), [], '--no-extension: rows as of pg_dump');

# row security applies to one table, and only for the reader
my $reader_rows = rows_of(dump_ok($node, 'extension', 'row security', 'pg_dump',
	'-n', 'data', @as_reader));
($dir, $err) = verbose_dump('row security', @data, @as_reader);
is_deeply(readers($err), { %by_extension, 'data.guarded' => 'row security applies to it' },
	'row security: readers of the tables');
is_deeply(differing($reader_rows, rows_of($dir)), [], 'row security: rows as of pg_dump');
cmp_ok(chunks_of($dir, 'guarded'), '>', 1, 'row security: chunks');
is_deeply(differing($stock_rows, $reader_rows),
	[ 'COPY data.guarded (a, owner) FROM stdin;', grep { /^COPY other/ } sort keys %$stock_rows ],
	'row security: only the rows of this table differ');

# ---- where it is compressed

my %suffix = (none => '', gzip => '.gz', lz4 => '.lz4', zstd => '.zst');
my %detail = (none => '', gzip => ':9', lz4 => ':level=3', zstd => ':level=3,long');
foreach my $codec (codecs($node))
{
	foreach my $spec ("client-$codec", "Server-$codec$detail{$codec}")
	{
		($dir, $err) = verbose_dump("-Z $spec", @all, '-Z', $spec);
		is_deeply(readers($err), { %by_extension, %not_by_it }, "-Z $spec: readers of the tables");
		is_deeply([ grep { !/^\d+\.dat\Q$suffix{$codec}\E$/ } data_files($dir) ],
			[], "-Z $spec: suffix");
		is_deeply(differing($stock_rows, rows_of($dir)), [], "-Z $spec: rows as of pg_dump");
		command_ok([ 'gzip', '-t', map { "$dir/$_" } data_files($dir) ],
			"-Z $spec: valid for gzip")
		  if $codec eq 'gzip';
	}
}

# What -v says of where a dump of two tables is compressed, which come out.
sub compressed_ok
{
	my ($what, $where, @options) = @_;
	($dir, $err) = verbose_dump($what, '-n', 'data', @options);
	is_deeply([ $err =~ /: compressing (.*)$/mg ], $where ? [$where] : [], "$what: where");
	is_deeply(differing({ map { ($_ => $stock_rows->{$_}) } grep { /^COPY data\./ } keys %$stock_rows },
			rows_of($dir)), [], "$what: rows as of pg_dump");
	return;
}
my ($by_server, $by_workers) = ('on the server', 'in the workers');
chomp(my $processors = `getconf _NPROCESSORS_ONLN`);
my $all_busy = "-j$processors";
compressed_ok('a socket', $by_server, $all_busy);
compressed_ok('a socket, a method', $by_server, $all_busy, '-Z', 'gzip:1');
compressed_ok('a socket, nothing to compress', undef, $all_busy, '-Z', 'none');
compressed_ok('a socket, client-', $by_workers, $all_busy, '-Z', 'client-gzip:1');
compressed_ok('a socket, a rate', $by_workers, $all_busy, '-r', '100M');
compressed_ok('a socket, a rate, server-', $by_server, '-r', '100M', '-Z', 'server-gzip:1');
compressed_ok('a socket, --no-extension', $by_workers, $all_busy, '--no-extension');
compressed_ok('a socket, processors to spare', $by_workers) if $processors > 1;
my $proxy = start_proxy($node);
my @by_tcp = ('-d', "host=127.0.0.1 port=$proxy->{port} dbname=extension sslmode=disable gssencmode=disable");
compressed_ok('TCP', $by_workers, $all_busy, @by_tcp);
compressed_ok('TCP, server-', $by_server, @by_tcp, '-Z', 'server-gzip:1');
stop_proxy($proxy);

# restored into a database, and with chunks that the extension plans
my $codec = (codecs($node))[-1];
my $source = fingerprint($node, 'extension');
$dir = dump_ok($node, 'extension', 'by size', 'pg_pardump', '-n', 'data', '-j2',
	'--chunk-size=64kB', '-Z', "server-$codec");
cmp_ok(chunks_of($dir, 'plain'), '>', 1, 'by size: chunks');
make_database($node, 'copy');
restore_ok($node, $dir, 'copy', 'by size', '-j4');
same_data_ok({ map { ($_ => $source->{$_}) } grep { /^table data\./ } keys %$source },
	fingerprint($node, 'copy'), 'by size');

# Few rows in many blocks: time goes by the blocks, so more than one worker
# is to have some.  (The dead rows stay: no VACUUM, no pruning.)
make_database($node, 'sparse');
sql($node, 'sparse', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE sparse AS SELECT g AS id, repeat('x', 1000) AS filler FROM generate_series(1, 8000) g;
DELETE FROM sparse WHERE id % 2000 <> 0;
SQL
$dir = dump_ok($node, 'sparse', 'sparse', 'pg_pardump', '-j2', '--chunk-size=500kB');
is(chunks_of($dir, 'sparse'), 5, 'sparse: a chunk has at most four times its size in blocks');
is_deeply([ layout_problems($dir) ], [], 'sparse: layout');
my $sparse_rows = rows_of($dir);
is_deeply(differing(rows_of(dump_ok($node, 'sparse', 'sparse', 'pg_dump')), $sparse_rows),
	[], 'sparse: rows as of pg_dump');

foreach my $bad ([ 'server-', qr/found empty string|unrecognized compression algorithm/ ],
	[ 'server-foo', qr/unrecognized compression algorithm: "foo"/ ],
	[ 'server-server-gzip', qr/unrecognized compression algorithm: "server-gzip"/ ],
	[ 'server-gzip:10', qr/expects a compression level between 1 and 9/ ],
	[ 'remote-gzip', qr/unrecognized compression algorithm: "remote-gzip"/ ])
{
	refused_ok($bad->[1], "-Z $bad->[0]", @db, '-Z', $bad->[0]);
}
refused_ok(qr/--no-extension and .*server-.* cannot be used together/,
	'--no-extension and compression on the server', @db, '--no-extension', '-Z', 'server-gzip');
my $needs_extension = qr/compression on the server requires extension.*hint: .*CREATE EXTENSION pg_pardump.*client-gzip/s;
refused_ok($needs_extension, 'compression on a server without the extension',
	'-d', $node->connstr('copy'), '-Z', 'server-gzip');

# ---- a role that may not use it can still dump

my $no_permission = 'the role may not use extension pg_pardump';

# The reader's dump, by size so that a function that may not be called would be.
sub reader_dumps_by_sql_ok
{
	my ($what, $reason) = @_;
	($dir, $err) = verbose_dump($what, '-n', 'data', '-j2', '--chunk-size=64kB', @as_reader);
	like($err, qr/: splitting tables by blocks and reading them with COPY\n.*detail: \u\Q$reason\E\.$/m, "$what: message");
	is_deeply(readers($err), { map { ($_ => $reason) } keys %by_extension },
		"$what: SQL reads all");
	cmp_ok(chunks_of($dir, 'plain'), '>', 1, "$what: chunks");
	is_deeply(differing($reader_rows, rows_of($dir)), [], "$what: rows as of pg_dump");
	return;
}

foreach my $function ('pardump.pg_pardump_chunks(regclass, bigint)',
	'pardump.pg_pardump_read(regclass, name[], bigint, bigint, text, text)',
	'pardump.pg_pardump_last_read()')
{
	sql($node, 'extension', "REVOKE EXECUTE ON FUNCTION $function FROM PUBLIC");
	reader_dumps_by_sql_ok("no EXECUTE on $function", $no_permission);
	sql($node, 'extension', "GRANT EXECUTE ON FUNCTION $function TO reader");
}
sql($node, 'extension', 'REVOKE SELECT ON pardump.pg_pardump_lock FROM PUBLIC');
reader_dumps_by_sql_ok('no SELECT on its table', $no_permission);
sql($node, 'extension', 'GRANT SELECT ON pardump.pg_pardump_lock TO reader');
sql($node, 'extension', 'REVOKE USAGE ON SCHEMA pardump FROM PUBLIC');
reader_dumps_by_sql_ok('no USAGE on its schema', $no_permission);
refused_ok(qr/requires extension pg_pardump\n.*detail: \u$no_permission\.$/m,
	'no USAGE on its schema: compression on the server',
	@db, '-n', 'data', @as_reader, '-Z', 'server-gzip');
sql($node, 'extension', 'GRANT USAGE ON SCHEMA pardump TO reader');
($dir, $err) = verbose_dump('USAGE on its schema', @data, @as_reader);
is(readers($err)->{'data.plain'}, 'the extension', 'USAGE on its schema: the extension reads');
sql($node, 'extension', q{UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'pg_pardump'});
reader_dumps_by_sql_ok('another version', 'extension pg_pardump has version 0.9, not 1.0');
sql($node, 'extension', q{UPDATE pg_extension SET extversion = '1.0' WHERE extname = 'pg_pardump'});

# ---- chunks that do not cover the table

sql($node, 'extension', 'CREATE SCHEMA standin');
my $stand_in = preloaded('stand_in');
my $bad_plan = qr/the server plans chunks with a gap or an overlap at block/;
foreach my $plan (
	[ 'a gap', '(1, 0, 10), (2, 11, NULL)', qr/$bad_plan 10 of table data\.plain/ ],
	[ 'an overlap', '(1, 0, 10), (2, 9, NULL)', qr/$bad_plan 10 of table data\.plain/ ],
	[ 'no beginning', '(1, 1, 10), (2, 10, NULL)', qr/$bad_plan 0 of table data\.plain/ ],
	[ 'an end in the midst', '(1, 0, NULL), (2, 10, NULL)', qr/$bad_plan \d+ of table data\.plain/ ],
	[ 'a chunk that ends before it begins', '(1, 0, 10), (2, 10, 5), (3, 5, NULL)',
		qr/$bad_plan 10 of table data\.plain/ ],
	[ 'nothing in it', '(0, 0, 0)', qr/the server plans no chunks for table data\.plain/ ])
{
	my ($what, $rows, $message) = @$plan;
	sql($node, 'extension', <<"SQL");
CREATE OR REPLACE FUNCTION standin.pg_pardump_chunks(relation regclass, chunk_bytes bigint,
	OUT chunk_no int, OUT start_block bigint, OUT end_block bigint,
	OUT est_rows float8, OUT est_bytes bigint)
RETURNS SETOF record LANGUAGE sql AS \$\$
	SELECT no, b, e::bigint, 1.0, 1 FROM (VALUES $rows) v (no, b, e) WHERE no > 0 \$\$;
SQL
	local $ENV{LD_PRELOAD} = $stand_in;
	refused_ok($message, "a plan with $what", @db, '-t', 'data.plain',
		'--chunk-size=64kB', '-j2');
}

# ---- a reader that gives no rows

sql($node, 'extension', <<'SQL');
CREATE OR REPLACE FUNCTION standin.pg_pardump_chunks(relation regclass, chunk_bytes bigint,
	OUT chunk_no int, OUT start_block bigint, OUT end_block bigint,
	OUT est_rows float8, OUT est_bytes bigint)
RETURNS SETOF record LANGUAGE sql AS 'SELECT * FROM pardump.pg_pardump_chunks($1, $2)';
CREATE FUNCTION standin.pg_pardump_read(regclass, name[], bigint, bigint, text, text)
RETURNS SETOF bytea LANGUAGE sql AS 'SELECT NULL::bytea WHERE false';
CREATE FUNCTION standin.pg_pardump_last_read(OUT rows bigint, OUT bytes bigint)
LANGUAGE sql AS 'SELECT 0::bigint, 0::bigint';
CREATE FUNCTION standin.pg_pardump_exported_snapshot(text,
	OUT in_recovery boolean, OUT overflowed boolean, OUT has_subtransactions boolean)
LANGUAGE sql AS 'SELECT * FROM pardump.pg_pardump_exported_snapshot($1)';
CREATE TABLE data.hollow AS SELECT g AS id, repeat('x', 100) AS t FROM generate_series(1, 20000) g;
DELETE FROM data.hollow WHERE id < 10000;
CREATE TABLE data.emptied AS TABLE data.plain;
DELETE FROM data.emptied;
SQL
my $no_rows = qr/the extension read no rows of .*table data\.plain, although it contains rows.*A query finds a row/s;
foreach my $options ([ '--chunk-size=64kB', '-j2' ], ['--no-chunks'], [ '-Z', 'server-gzip' ],
	['--max-table-segment-pages=5'])
{
	local $ENV{LD_PRELOAD} = $stand_in;
	refused_ok($no_rows, "no rows, @$options", @db, '-t', 'data.plain', @$options);
}
make_database($node, 'binary');
sql($node, 'binary', 'CREATE SCHEMA data');
{
	local $ENV{LD_PRELOAD} = $stand_in;
	my ($rc, undef, $said) = run_program('pg_pardump', @db, '-t', 'data.plain',
		'--target=' . $node->connstr('binary'));
	is($rc, 1, 'no rows, in binary: exit code');
	like($said, $no_rows, 'no rows, in binary: message');
}
# where there are none, nothing is said
foreach my $options ([], ['--max-table-segment-pages=50'], ['--chunk-size=64kB'])
{
	($dir, $err) = verbose_dump("no rows to read, @$options", '-t', 'data.hollow', '-t', 'data.emptied', @$options);
	is_deeply(readers($err), { map { ("data.$_" => 'the extension') } qw(hollow emptied) },
		"no rows to read, @$options: the extension reads them");
	unlike($err, qr/error|warning/, "no rows to read, @$options: no messages");
}

$node->stop;
done_testing();
