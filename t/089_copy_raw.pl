# Direct copies of raw tuples: the target has the very tuples of the source;
# which tables are not copied so, and why; and what becomes of them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::Cluster qw(start_cluster make_database run_program sql value);
use Pardump::Copy qw(run_copy copy_ok copy_refused_ok sessions_left);
use Pardump::Load qw(prepare_load same_tuples_ok);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('raw_source');
my $target = start_cluster('raw_target');

# How tables were copied, by their names without a schema, as -v tells.
sub formats
{
	my ($err) = @_;
	my %format;
	while ($err =~ /copying (?:chunk \d+ of \d+ of )?table \w+\.(\S+): format (\w+)(?: \(reason: (.*)\))?, read with (?:COPY|pg_pardump_read\(\))$/mg)
	{
		$format{$1} = $2 . (defined $3 ? ": $3" : '');
	}
	return \%format;
}

# ---- all types, chunks, TOAST, re-formed rows

make_database($source, 'types', options => 'TEMPLATE template0',
	files => [ map { "reader_$_.sql" } qw(numbers times documents others) ]);
prepare_load($source, 'types');
sql($source, 'types', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE SCHEMA s;
CREATE TABLE s.large (id int PRIMARY KEY, t text, d date);
INSERT INTO s.large SELECT g, md5(g::text), '2020-01-01'::date + g FROM generate_series(1, 6000) g;
CREATE TABLE s.long (id int, compressed text, stored text, small text);
ALTER TABLE s.long ALTER stored SET STORAGE EXTERNAL;
INSERT INTO s.long SELECT g, repeat(md5(g::text), 1000), repeat(md5(g::text), 300), 'x'
	FROM generate_series(1, 100) g;
INSERT INTO s.long VALUES (0, NULL, repeat('long', 1000000), NULL);
CREATE TABLE s.formed (gone int, a int, b text);
INSERT INTO s.formed SELECT g, g, md5(g::text) FROM generate_series(1, 3000) g;
ALTER TABLE s.formed DROP gone, ADD c text DEFAULT 'filled';
INSERT INTO s.formed VALUES (0, NULL, NULL);
CREATE TABLE s.empty (a int);
CREATE TABLE s.root (id int, t text NOT NULL CHECK (t <> '')) PARTITION BY RANGE (id);
CREATE TABLE s.leaf PARTITION OF s.root FOR VALUES FROM (0) TO (1000);
CREATE TABLE s.hashed PARTITION OF s.root FOR VALUES FROM (1000) TO (2000) PARTITION BY HASH (t);
CREATE TABLE s.hash0 PARTITION OF s.hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE s.hash1 PARTITION OF s.hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO s.root SELECT g % 2000, md5(g::text) FROM generate_series(0, 11999) g;
CREATE UNLOGGED TABLE s.unlogged AS SELECT 7 AS a;
SQL
make_database($target, 'types', options => 'TEMPLATE template0');
my ($rc, $out, $err) = run_copy($source, 'types', $target, 'types', '-v', '-j2', '--compare',
	'--chunk-size=128kB');
is($rc, 0, 'all types: exit code') or diag($err);
like($out, qr/^comparison: [^\n]*, [\d,]+ rows? in \d+\.\d s, no differences found$/m, 'all types: --compare');
my $format = formats($err);
is_deeply([ grep { $format->{$_} ne 'raw' } qw(large long formed leaf hash0 hash1) ],
	[], 'all types: raw');
like($err, qr/chunk 2 of \d+ of table s\.large: format raw,/, 'all types: a table is split');
my %other = map { $_ => $format->{$_} } grep { $format->{$_} ne 'raw' } keys %$format;
is((grep { !/: ./ } values %other), 0, 'all types: each table that is not raw has a reason');
is(value($target, 'types', 'SELECT count(*), count(b), count(c) FROM s.formed'), '3001|3000|3000',
	'all types: number of rows that were formed again');

# all that can be, small ones too; but one has versions of rows that are gone
my @tables = split /\n/, value($source, 'types', q{SELECT oid::regclass FROM pg_class
	WHERE relkind = 'r' AND relname <> 'churned' AND relnatts > 0 AND NOT relispartition
		AND relnamespace::regnamespace::text ~ '^(reader|s$)'
		AND pardump.pg_pardump_raw_reason(oid, true) IS NULL ORDER BY 1});
cmp_ok(scalar(@tables), '>', 60, 'all types, raw: tables');
make_database($target, 'all_raw', options => 'TEMPLATE template0');
prepare_load($target, 'all_raw');
sql($target, 'all_raw', 'CREATE EXTENSION pg_pardump; CREATE SCHEMA s; CREATE SCHEMA reader_numbers;
	CREATE SCHEMA reader_times; CREATE SCHEMA reader_documents; CREATE SCHEMA reader_others');
copy_ok($source, 'types', $target, 'all_raw', 'all types, raw', '-j2', '--copy-format=raw',
	'--chunk-size=256kB', map { ('-t', $_) } @tables);
same_tuples_ok($source, 'types', $target, 'all_raw', 'all types, raw', @tables);

# ---- blocks compressed on their way

# blocks are parameters, whose text does not go to the log
$target->append_conf('postgresql.conf', "log_statement = all\nlog_min_duration_statement = 0\nlog_parameter_max_length_on_error = -1");
$target->reload;
my $log_offset = -s $target->logfile;
foreach my $compression (qw(none lz4 zstd:1))
{
	my $db = 'wire_' . $compression =~ s/:.*//r;
	$source->append_conf('postgresql.conf', 'log_statement = all');
	$source->reload;
	my $offset = -s $source->logfile;
	make_database($target, $db, options => 'TEMPLATE template0');
	prepare_load($target, $db);
	sql($target, $db, 'CREATE EXTENSION pg_pardump');
	copy_ok($source, 'types', $target, $db, "--wire-compression=$compression", '-j2', '-n', 's',
		'-T', 's.formed', '--copy-format=raw', "--wire-compression=$compression");
	my ($used) = slurp_file($source->logfile, $offset) =~ /'(\S*)'::pg_catalog.text, 'raw'/;
	like($used, $compression eq 'none' ? qr/^none$/ : $compression eq 'lz4' ? qr/^lz4/ : qr/^zstd:level=1\b/, "--wire-compression=$compression: asked for");
	same_tuples_ok($source, 'types', $target, $db, "--wire-compression=$compression",
		map { "s.$_" } qw(long leaf hash1 unlogged));
}
my $log = slurp_file($target->logfile, $log_offset);
cmp_ok(scalar(() = $log =~ /execute <unnamed>: SELECT l\.rows FROM pardump\.pg_pardump_load_tuples/g), '>', 3,
	'blocks: their statements are logged');
ok($log !~ /\\x[0-9a-f]{200}/, 'blocks: without their rows');

# ---- which tables are not

make_database($source, 'others');
sql($source, 'others', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE plain (id int PRIMARY KEY, t text);
INSERT INTO plain SELECT g, repeat(md5(g::text), 5) FROM generate_series(1, 1000) g;
CREATE TABLE with_enum AS SELECT 'sad'::mood AS m FROM generate_series(1, 5000);
CREATE TABLE with_domain AS SELECT 1::positive AS p FROM generate_series(1, 5000);
CREATE TABLE with_oid AS SELECT 'plain'::regclass AS c FROM generate_series(1, 5000);
CREATE TABLE small AS SELECT 1 AS a;
CREATE TABLE without_columns ();
INSERT INTO without_columns DEFAULT VALUES;
CREATE TABLE generated (a int, b int GENERATED ALWAYS AS (a + 1) STORED);
INSERT INTO generated SELECT generate_series(1, 5000);
CREATE TABLE filtered AS SELECT generate_series(1, 10) AS a;
CREATE FUNCTION is_right(int) RETURNS bool LANGUAGE sql VOLATILE AS 'SELECT true';
CREATE TABLE checked (a int CHECK (is_right(a)));
INSERT INTO checked SELECT generate_series(1, 5000);
SQL
make_database($target, 'others');
($rc, $out, $err) = run_copy($source, 'others', $target, 'others', '-v', '--compare',
	'--where=filtered:a OPERATOR(pg_catalog.<) 5', '--log-json=-');
is($rc, 0, 'other tables: exit code') or diag($err);
my %reason = (
	with_enum => qr/^text: a column's type may be stored in another way on another server/,
	with_domain => qr/^text: a column's type may be stored in another way on another server/,
	with_oid => qr/^text: column c is of type regclass/,
	without_columns => qr/^binary: ./,
	small => qr/^binary: it is a small table/,
	generated => qr/^binary: it has generated columns/,
	filtered => qr/^binary: ./,
	checked => qr/^text: it has a constraint with a volatile function/,
	plain => qr/^raw$/);
$format = formats($err);
like($format->{$_}, $reason{$_}, "other tables: $_") foreach sort keys %reason;
my %event = map { $_->{table} =~ s/^public\.//r => $_ } grep { $_->{event} eq 'chunk_start' }
  map { JSON::PP->new->utf8->decode($_) } split /\n/, $out;
is_deeply({ map { $_ => join ': ', $event{$_}{format}, $event{$_}{format_reason} // () } keys %event },
	$format, 'other tables: events have the formats, and the same reasons');
copy_refused_ok(qr/table public\.$_ cannot be copied as raw tuples\n.*detail: .*\n.*--copy-format=auto/,
	"--copy-format=raw, $_", $source, 'others', $target, 'others', '-a', '--copy-format=raw', '-t', $_)
  foreach qw(with_enum with_oid generated);

# what stands in the way on the target
make_database($target, 'there');
sql($target, 'there', q{CREATE EXTENSION pg_pardump;
	CREATE TABLE plain (id int PRIMARY KEY, t text)});
my $n = 0;
foreach my $case (
	[ 'a trigger', qr/it has triggers/, q{CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER t BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION f()}, 'DROP TRIGGER t ON plain' ],
	[ 'a rule', qr/it has rules/, 'CREATE RULE r AS ON UPDATE TO plain DO ALSO NOTHING', 'DROP RULE r ON plain' ],
	[ 'another type', qr/its columns differ between source and target/,
		'ALTER TABLE plain ALTER t TYPE varchar', 'ALTER TABLE plain ALTER t TYPE text' ],
	[ 'another modifier', qr/its columns differ between source and target/,
		'ALTER TABLE plain ALTER t TYPE varchar(500)', 'ALTER TABLE plain ALTER t TYPE text' ],
	[ 'another order', qr/its columns differ between source and target/,
		'DROP TABLE plain; CREATE TABLE plain (t text, id int)', 'DROP TABLE plain; CREATE TABLE plain (id int, t text)' ],
	[ 'a dropped column', qr/it has dropped columns/,
		'ALTER TABLE plain ADD x int; ALTER TABLE plain DROP x', 'DROP TABLE plain; CREATE TABLE plain (id int, t text)' ])
{
	my ($what, $reason, $make, $undo) = @$case;
	sql($target, 'there', $make);
	my ($rc, undef, $err) = run_copy($source, 'others', $target, 'there', '-v', '-a', '-t', 'plain');
	is($rc, 0, "$what there: exit code") or diag($err);
	like(formats($err)->{plain}, $reason, "$what there: why not raw");
	unlike(formats($err)->{plain}, qr/^raw$/, "$what there: not raw");
	is(value($target, 'there', 'SELECT count(*), count(DISTINCT t) FROM plain'), '1000|1000', "$what there: rows");
	sql($target, 'there', "TRUNCATE plain; $undo");
}

# what does not matter: indexes and row security that are there; and rows are
# added
sql($target, 'there', 'ALTER TABLE plain ADD PRIMARY KEY (id), ENABLE ROW LEVEL SECURITY');
copy_ok($source, 'others', $target, 'there', 'an index there', '-a', '-t', 'plain', '--copy-format=raw');
is(value($target, 'there', 'SET enable_seqscan = off; SELECT t FROM plain WHERE id = 77'),
	value($source, 'others', 'SELECT t FROM plain WHERE id = 77'), 'an existing index: it is kept');
($rc, $out, $err) = run_copy($source, 'others', $target, 'there', '-a', '-t', 'plain', '--copy-format=raw');
is($rc, 1, 'the same rows again: exit code');
like($err, qr/could not write rows: ERROR:  duplicate key value violates unique constraint "plain_pkey"/,
	'the same rows again: the server\'s words');
is(value($target, 'there', 'SELECT count(*) FROM plain'), 1000, 'the same rows again: number of rows does not change');

# ---- what rules it out altogether

sub not_raw_ok
{
	my ($what, $reason, $db, $target_options, @options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr($db), '-v', '-O', '-x',
		'-t', 'plain', '--target', $target->connstr("${db}_t") . $target_options, @options);
	is($rc, 0, "$what: exit code") or diag($err);
	is(formats($err)->{plain} =~ s/^[^:]*: //r, $reason, "$what: why not raw");
	is(value($target, "${db}_t", 'SELECT count(*) FROM plain'), 1000, "$what: rows");
	return;
}

sql($target, 'postgres', 'CREATE ROLE plain LOGIN');
make_database($target, 'others_t', options => 'OWNER plain TEMPLATE template0');
not_raw_ok('an ordinary role there', 'the role is not a superuser on the target', 'others', ' user=plain');
foreach my $option ([], ['--check'])
{
	($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr('others'), '--copy-format=raw', '-a',
		'--target', $target->connstr('others_t') . ' user=plain', @$option);
	is($rc, 1, "--copy-format=raw, @$option: exit code");
	like($out . $err, qr/tables cannot be copied as raw tuples\n.*detail: The role is not a superuser on the target\./,
		"--copy-format=raw, @$option: why not");
}
# a server that was built without lz4 is nowhere to be had: one seems to be, as it
# hears another word
SKIP:
{
	skip 'the source was built without lz4', 3 if value($source, 'others', q{SELECT 'lz4' = ANY (enumvals)
		FROM pg_settings WHERE name = 'default_toast_compression'}) ne 't';
	my $relay = start_relay($target, sub {
		my ($bytes, $is_server) = @_;
		$$bytes =~ s/'lz4' OPERATOR/'lz5' OPERATOR/ if !$is_server;
		return 1;
	});
	sql($target, 'others_t', 'DROP TABLE plain');
	not_raw_ok('no lz4 there', 'the target server was built without lz4', 'others', " host=$relay->{host}");
	stop_proxy($relay);
}
sql($target, 'others_t', 'DROP TABLE plain');
not_raw_ok('no extension there', 'on the target, the database has no extension pg_pardump', 'others', '');
sql($target, 'others_t', 'DROP TABLE plain; CREATE SCHEMA pardump AUTHORIZATION plain;
	CREATE EXTENSION pg_pardump');
not_raw_ok('an extension of others\' there',
	'on the target, the schema of extension pg_pardump is owned by role "plain"', 'others', '');
sql($target, 'others_t', 'DROP TABLE plain');
not_raw_ok('--no-extension', 'option --no-extension was specified', 'others', '', '--no-extension');
foreach my $encoding ('LATIN1', 'SQL_ASCII')
{
	my $db = lc $encoding;
	make_database($source, $db, options => "TEMPLATE template0 ENCODING 'UTF8'");
	sql($source, $db, 'CREATE EXTENSION pg_pardump; CREATE TABLE plain AS SELECT g AS id, repeat(md5(g::text), 5) AS t FROM generate_series(1, 1000) g');
	make_database($target, "${db}_t", options => "TEMPLATE template0 ENCODING '$encoding'");
	sql($target, "${db}_t", 'CREATE EXTENSION pg_pardump');
	not_raw_ok("into $encoding", 'source and target have different encodings', $db, '');
	($rc, $out, $err) = run_program('pg_pardump', '-d', $source->connstr($db), '--copy-format=raw',
		'--clean', '--if-exists', '--check', '--target', $target->connstr("${db}_t"));
	is($rc, 1, "--copy-format=raw into $encoding, --check: exit code");
	like($out . $err, qr/tables cannot be copied as raw tuples\n.*detail: Source and target have different encodings\./,
		"--copy-format=raw into $encoding, --check: why not");
}

# ---- refusals

foreach my $try (
	[ qr/tables cannot be copied as raw tuples\n.*detail: The database has no extension pg_pardump\./, '--copy-format=raw' ],
	[ qr/options --no-extension and --copy-format=raw cannot be used together/, '--copy-format=raw', '--no-extension' ],
	[ qr/options --copy-format=text and --wire-compression cannot be used together/, '--copy-format=text', '--wire-compression=lz4' ],
	[ qr/options --copy-format=binary and --wire-compression cannot be used together/, '--copy-format=binary', '--wire-compression=lz4' ],
	[ qr/invalid value "gzip" for option --wire-compression/, '--wire-compression=gzip' ],
	[ qr/invalid compression specification: unrecognized compression algorithm/, '--wire-compression=snappy' ])
{
	my ($message, @options) = @$try;
	copy_refused_ok($message, "@options", $source, 'postgres', $target, 'postgres', @options);
}
($rc, undef, $err) = run_program('pg_pardump', '-d', $source->connstr('types'), '-f', 'x', '--wire-compression=lz4');
is($rc, 1, '--wire-compression without --target: exit code');
like($err, qr/option --wire-compression requires option --target/, '--wire-compression without --target: message');

# ---- a database made by the copy, and dropped first

sql($target, 'postgres', 'DROP DATABASE others');
foreach my $options ([ '--create' ], [ '--create', '--clean' ])
{
	($rc, $out, $err) = run_copy($source, 'others', $target, 'postgres', @$options, '-v', '-j2');
	is($rc, 0, "@$options: exit code") or diag($err);
	is(formats($err)->{plain}, 'raw', "@$options: raw");
	is(value($target, 'others', 'SELECT count(*) FROM plain'), 1000, "@$options: rows");
}

is(sessions_left($source, $target), 0, 'no session is left');
$source->stop;
$target->stop;
done_testing();
