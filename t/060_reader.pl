# The server's reader of rows gives the very bytes of COPY in both formats: for
# every table of the databases of everything and of tables over all built-in
# types, whole and in random ranges of blocks, under settings that change the
# text of values and in the client's encodings, errors included; compressed too;
# and rows and values that are longer than a block.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(make_database run_program new_path codecs value
  sql tier);
use Pardump::Databases qw(start_everything make_latin1 make_sql_ascii);
use Pardump::Reader qw(prepare_comparison same_rows_ok random_seed text_settings);
use POSIX qw(ceil);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_everything('reader');
note('PG_PARDUMP_SEED=' . random_seed());

# Below the highest tier: of each table the whole and fewer ranges, and of settings and
# encodings those that differ in what the reader does.
my $all = tier() == 3;
my $ranges = $all ? 4 : 2;
my @settings = text_settings();
my (undef, @as_pg_dump) = @{ $settings[0] };

# --- every type

make_database($node, 'types', options => 'TEMPLATE template0',
	files => [ map { "reader_$_.sql" } qw(numbers times documents others) ]);
sql($node, 'types', 'VACUUM reader_others.nulls; CREATE EXTENSION pg_pardump');
prepare_comparison($node, 'types');

# Two settings between them change the text of all types that settings change, and
# a third one converts it; all others differ in times alone.
sub same_types_ok
{
	my ($what, $whole, @set) = @_;
	same_rows_ok($node, 'types', $what, settings => \@set, $whole
		? (schemas => 'reader\_%', relations => 65, bytes => 20_000_000)
		: (schemas => 'reader\_times', relations => 4, bytes => 1_000_000));
	return;
}

foreach my $i (0 .. $#settings)
{
	my ($what, @set) = @{ $settings[$i] };
	same_types_ok($what, $i < 2 || $all, @set);
}
my ($what, @set) = @{ $settings[2] };
same_types_ok("$what, client in GB18030", 1, @set, "SET client_encoding = 'GB18030'");

# settings hardly matter to binary forms
same_rows_ok($node, 'types', $_->[0], schemas => 'reader\_%',
	format => 'binary', ranges => $ranges, settings => [ @$_[ 1 .. $#$_ ] ],
	relations => 65, bytes => 20_000_000)
  foreach @settings[ $all ? 0 : (), 1 ];

# --- compressed values by each method, of which 19 took another as its default

foreach my $method (split /\n/, value($node, 'postgres', <<'SQL'))
SELECT unnest(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'
SQL
{
	my $db = "types_$method";
	{
		local $ENV{PGOPTIONS} = "-c default_toast_compression=$method";
		make_database($node, $db, options => 'TEMPLATE template0',
			files => ['reader_documents.sql']);
	}
	sql($node, $db, 'CREATE EXTENSION pg_pardump');
	prepare_comparison($node, $db);
	cmp_ok(value($node, $db, <<"SQL"), '>=', 10, "$db: the tables contain such values in line and in TOAST");
SELECT least(count(*) FILTER (WHERE pg_column_size(j) < 2000), 10 * count(*) FILTER (WHERE pg_column_size(j) > 10000))
FROM reader_documents.documents WHERE pg_column_compression(j) = '$method'
SQL
	same_rows_ok($node, $db, 'documents', schemas => 'reader\_%', format => $_,
		ranges => $ranges, relations => 2, bytes => 5_000_000)
	  foreach qw(text binary);
}

# --- text: database encodings by client encodings

# How text is written depends on two questions: is it converted, and may its characters
# contain ASCII bytes then?  The first two encodings of each list answer them differently,
# or one of them fails.
sub encodings { return $all ? @_ : @_[ 0, 1 ]; }

sub same_text_ok
{
	my ($db, $relations, $bytes, $errors, @encodings) = @_;
	foreach my $format (qw(text binary))
	{
		same_rows_ok(
			$node, $db, "client in $_",
			schemas => 'reader\_%', ranges => $ranges, format => $format,
			settings => [ "SET client_encoding = '$_'", 'SET bytea_output = escape' ],
			relations => $relations, bytes => $bytes * $ranges / 4,
			$errors ? (errors => $errors * $ranges / 4) : ())
		  foreach $all || $format eq 'text' ? @encodings : $encodings[-1];
	}
	return;
}

sub make_strings
{
	my ($encoding) = @_;
	my $db = 'strings_' . lc $encoding;
	make_database($node, $db,
		options => "TEMPLATE template0 ENCODING '$encoding'",
		files => ['reader_strings.sql']);
	sql($node, $db, 'CREATE EXTENSION pg_pardump');
	prepare_comparison($node, $db);
	return $db;
}

my $db = make_strings('UTF8');
same_text_ok($db, 15, 20_000_000, 0, encodings(qw(UTF8 GB18030 SQL_ASCII)));
same_text_ok($db, 15, 5_000_000, 20,
	encodings(qw(LATIN1 SJIS WIN1252 EUC_JP BIG5 UHC JOHAB)));
$db = make_strings('LATIN1');
same_text_ok($db, 10, 10_000_000, 0, encodings(qw(LATIN1 UTF8 SQL_ASCII),
	# gone in 19
	value($node, $db, q{SELECT pg_char_to_encoding('MULE_INTERNAL') >= 0}) eq 't' ? 'MULE_INTERNAL' : ()));
$db = make_strings('EUC_JP');
same_text_ok($db, 10, 10_000_000, 0, encodings(qw(EUC_JP SJIS UTF8)));
$db = make_strings('SQL_ASCII');
same_text_ok($db, 10, 10_000_000, 0, qw(SQL_ASCII LATIN1));
same_text_ok($db, 10, 10_000_000, 5, encodings(qw(UTF8 GB18030 SJIS BIG5)));

# --- the databases of everything, with the system's catalogs

make_latin1($node);
make_sql_ascii($node);
foreach my $everything (qw(everything latin1 sql_ascii))
{
	sql($node, $everything, 'CREATE EXTENSION IF NOT EXISTS pg_pardump');
	prepare_comparison($node, $everything);
	# catalogs have types without a send function; they hardly differ between the databases
	my $catalogs = $all || $everything eq 'everything';
	same_rows_ok($node, $everything, 'as pg_dump', format => $_, settings => \@as_pg_dump,
		$catalogs ? (relations => 60, bytes => 2_000_000, $_ eq 'binary' ? (errors => 1) : ()) : (schemas => 'public'))
	  foreach qw(text binary);
}
same_rows_ok($node, 'everything', $_->[0],
	schemas => 'types', settings => [ @$_[ 1 .. $#$_ ] ], relations => 8)
  foreach @settings;
same_rows_ok($node, 'latin1', 'client in UTF8', schemas => 'public',
	settings => ["SET client_encoding = 'UTF8'"], relations => 3);
same_rows_ok($node, 'sql_ascii', 'client in UTF8', schemas => 'public',
	settings => ["SET client_encoding = 'UTF8'"], bytes => 0, errors => 1);

# --- long values: one of 5 MB in every place of a row; pieces of a block

sql($node, 'types', q{
	CREATE TABLE reader_others.long_fields (a text, b bytea, c text, d text[]);
	ALTER TABLE reader_others.long_fields ALTER b SET STORAGE EXTERNAL;
	INSERT INTO reader_others.long_fields
		SELECT repeat(E'\\\\', 5000000), decode(repeat('00ff5c', 1700000), 'hex'),
			repeat('x', 5000000), ARRAY[repeat('"', 2500000), repeat('y', i)]
		FROM generate_series(1, 2) i;
	INSERT INTO reader_others.long_fields VALUES ('short', NULL, repeat('z', 40000000));
	INSERT INTO reader_others.long_fields
		SELECT repeat('u', 1048576 - i) FROM generate_series(0, 4) i});
same_rows_ok($node, 'types', 'long values', schemas => 'reader\_others',
	format => $_, settings => \@as_pg_dump, ranges => 0, bytes => 80_000_000)
  foreach qw(text binary);

# --- compressed: stock pg_restore reads what the reader has compressed, put in
# place of a stock archive's file of rows

# pg_pardump_read()'s values after each other.
sub reader_bytes
{
	my ($table, $compression) = @_;
	my $hex = value($node, 'types', qq{
		SELECT encode(pardump.pg_pardump_read('$table', ARRAY(
				SELECT attname FROM pg_attribute
				WHERE attrelid = '$table'::regclass AND attnum > 0
				ORDER BY attnum), 0, NULL, '$compression'), 'hex')});
	return pack('H*', $hex =~ tr/\n//dr);
}

# What pg_restore prints of an archive's only table's rows.
sub restored_rows
{
	my ($dir) = @_;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', $dir);
	return "pg_restore failed: $err" if $rc != 0;
	return "pg_restore says: $err" if $err ne '';
	return "no COPY in: $out" if $out !~ /^COPY .* FROM stdin;\n/mg;
	return substr($out, pos $out);
}

sql($node, 'types', q{
	CREATE TABLE public.noise AS
		SELECT i, decode(string_agg(md5(i || ' ' || j), ''), 'hex') AS b
		FROM generate_series(1, 1500) i, generate_series(1, 150) j GROUP BY i});
my %levels = (gzip => [qw(gzip gzip:1 gzip:9)], lz4 => [qw(lz4 lz4:1 lz4:9)],
	zstd => [qw(zstd zstd:1 zstd:12)]);
my $suffix = { gzip => 'gz', lz4 => 'lz4', zstd => 'zst' };
foreach my $table (qw(public.noise reader_numbers.decimals reader_others.no_rows))
{
	my $plain = reader_bytes($table, 'none');
	foreach my $codec (grep { $_ ne 'none' } codecs($node))
	{
		my $dir = new_path('archive');
		my ($rc, undef, $err) = run_program('pg_dump', '-Fd', '-f', $dir,
			'-t', $table, '-Z', $codec eq 'gzip' ? '6' : $codec,
			'-d', $node->connstr('types'));
		my ($file) = glob "$dir/*.dat.$suffix->{$codec}";
		die "no archive of $table: $err" if !defined $file;
		foreach my $spec (@{ $levels{$codec} })
		{
			my $bytes = reader_bytes($table, $spec);
			# their magic numbers; small frames would cost much of the size
			my $frames = $codec eq 'zstd' ? () = $bytes =~ /\x28\xb5\x2f\xfd/g
			  : $codec eq 'lz4' ? () = $bytes =~ /\x04\x22\x4d\x18/g : 1;
			is($frames, $spec eq 'zstd:1' ? ceil(length($plain) / (4 << 20)) || 1 : 1,
				"$table, $spec: as few frames as are to be");
			unlink $file;
			append_to_file($file, $bytes);
			my $rows = restored_rows($dir);
			# what follows the rows is pg_restore's
			ok(index($rows, "$plain--\n") == 0,
				"$table, $spec: " . length($bytes) . ' bytes stand for '
				  . length($plain))
			  or diag(substr($rows, length($plain) - 20, 200));
		}
	}
}

$node->stop;
unlike(slurp_file($node->logfile),
	qr/reference leak|refcount leak|not closed|still referenced|PANIC|TRAP/,
	'the log contains no leaked resource');
done_testing();
