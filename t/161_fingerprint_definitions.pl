# What changes a table's text without a row being written: each change alone, after
# which the fingerprint of the rows is the same, must change the definition, or there
# is none from the beginning.  Settings are what a caller has to compare by itself, and
# incremental_functions.md names them.  And what leaves the text as it is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database pg_major sql);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('definitions');
my $major = pg_major($node);
make_database($node, 'defined');
sql($node, 'defined', <<'SQL');
CREATE EXTENSION pg_pardump;
SET check_function_bodies = off;	-- t is not there yet
CREATE FUNCTION columns() RETURNS name[] LANGUAGE sql AS $$
  SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute
  WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
$$;
-- what an archive would know of the table, and what its data file would be
CREATE FUNCTION state(OUT fingerprint text, OUT definition text, OUT content text) LANGUAGE sql AS $$
  SELECT encode(f.fingerprint, 'hex'), coalesce(encode(d.definition, 'hex'), d.reason),
    (SELECT md5(string_agg(b, '')) FROM pardump.pg_pardump_read('t', columns(), 0, NULL, 'none') b)
  FROM pardump.pg_pardump_definition('t', columns()) d,
    pardump.pg_pardump_fingerprint('t', columns(), 0, NULL, decode(repeat('a5', 32), 'hex')) f
$$;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE named ();
SQL

# Creates the table t, in a session of its own after which it is gone, as all settings
# are: which of fingerprint, definition ("refused", if there is none) and text are others
# after the changes.
sub changed
{
	my ($create, @changes) = @_;
	my $session = Pardump::Wire->new($node, 'defined');
	# VACUUM goes by itself
	my $alone = grep { /VACUUM/ } @changes;
	$session->query('BEGIN') unless $alone;
	$session->query($create);
	my @before = @{ $session->query('SELECT * FROM state()')->{rows}[0] };
	$session->query($_) foreach @changes;
	my @now = @{ $session->query('SELECT * FROM state()')->{rows}[0] };
	$session->query($alone ? 'DROP TABLE t' : 'ROLLBACK');
	close $session->{socket};
	my $refused = !grep { $_->[1] =~ /^[0-9a-f]{64}$/ } \@before, \@now;
	return join ' ', ($before[0] ne $now[0] ? 'fingerprint' : ()),
	  ($refused ? 'refused' : $before[1] ne $now[1] ? 'definition' : ()),
	  ($before[2] ne $now[2] ? 'text' : ());
}

sub table_of { return "CREATE TABLE t AS SELECT $_[0] AS v FROM generate_series(1, 5) g"; }

# ---- the text is another one

my $two = 'CREATE TABLE t AS SELECT g AS a, g + 1 AS b FROM generate_series(1, 5) g';
my $generated = 'CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a * 2) STORED); INSERT INTO t VALUES (1), (2)';
my $array_of_pairs = <<'SQL';
CREATE DOMAIN feeling AS mood;
CREATE TYPE felt AS (f feeling, b text);
CREATE TABLE t (v felt[]);
INSERT INTO t VALUES (ARRAY[ROW('sad', 'x'), ROW('ok', 'y')]::felt[])
SQL
my $range = 'CREATE TYPE moods AS RANGE (subtype = mood)';
my $own_type = <<'SQL';
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own IMMUTABLE STRICT LANGUAGE internal AS 'byteain';
CREATE FUNCTION own_out(own) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'byteaout';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = bytea);
CREATE TABLE t (v own);
INSERT INTO t VALUES ('abc')
SQL

foreach my $case (
	[ 'a column with a constant default', $two, 'ALTER TABLE t ADD c int DEFAULT 7' ],
	[ 'a column with a default that is stored as text', $two, q{ALTER TABLE t ADD c text DEFAULT 'seven'} ],
	[ 'a column of NULL', $two, 'ALTER TABLE t ADD c int' ],
	[ 'no column', $two, 'ALTER TABLE t DROP a' ],
	[ 'another column of the same type', $two, 'ALTER TABLE t DROP b', 'ALTER TABLE t ADD b int DEFAULT 3' ],
	[ 'an expression dropped', $generated, 'ALTER TABLE t ALTER b DROP EXPRESSION' ],
	[ 'a label', table_of(q{'sad'::mood}), q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'} ],
	[ 'an attribute more', table_of(q{ROW(1, 'x')::pair}), 'ALTER TYPE pair ADD ATTRIBUTE c int' ],
	[ 'an attribute less', table_of(q{ROW(1, 'x')::pair}), 'ALTER TYPE pair DROP ATTRIBUTE b' ],
	[ 'int4 to oid', table_of('-g'), 'ALTER TABLE t ALTER v TYPE oid' ],
	[ 'timestamp to timestamptz', table_of(q{timestamp '2020-01-01 01:02:03'}), q{SET LOCAL TimeZone = 'UTC'}, 'ALTER TABLE t ALTER v TYPE timestamptz' ],
	[ 'a label in a domain in a composite type in an array', $array_of_pairs, q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'} ],
	[ 'an attribute in an array', $array_of_pairs, 'ALTER TYPE felt ADD ATTRIBUTE c int' ],
	[ 'a label in a range', "$range; " . table_of(q{moods('sad', 'ok')}), q{ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'} ],
	[ 'a label in a multirange', "$range; " . table_of(q{multirange(moods('sad', 'ok'))}), q{ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'} ])
{
	my ($name, @statements) = @$case;
	is(changed(@statements), 'definition text', "another text and definition, the same rows: $name");
}

foreach my $case (
	[ 'a table', table_of(q{'named'::regclass}), 'ALTER TABLE named RENAME TO renamed' ],
	[ 'a table, in an array', table_of(q{'{named}'::regclass[]}), 'ALTER TABLE named RENAME TO renamed' ],
	[ 'a table, in a domain', 'CREATE DOMAIN d AS regclass; ' . table_of(q{'named'::regclass::d}), 'ALTER TABLE named RENAME TO renamed' ],
	[ 'a type', table_of(q{'mood'::regtype}), 'ALTER TYPE mood RENAME TO feeling' ],
	[ 'a function', 'CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$$$; ' . table_of(q{'f'::regproc}), 'ALTER FUNCTION f RENAME TO g' ],
	[ 'a function with its arguments', 'CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$$$; ' . table_of(q{'f()'::regprocedure}), 'ALTER FUNCTION f RENAME TO g' ],
	[ 'a schema', 'CREATE SCHEMA s; ' . table_of(q{'s'::regnamespace}), 'ALTER SCHEMA s RENAME TO t' ],
	[ 'a role', 'CREATE ROLE definition_role; ' . table_of(q{'definition_role'::regrole}), 'ALTER ROLE definition_role RENAME TO definition_other' ],
	[ 'a role, in a privilege', 'CREATE ROLE definition_role; ' . table_of(q{'definition_role=r'::aclitem || '/' || current_user}) =~ s/SELECT .* AS/SELECT ('definition_role=r\/' || quote_ident(current_user))::aclitem AS/r, 'ALTER ROLE definition_role RENAME TO definition_other' ])
{
	my ($name, @statements) = @$case;
	is(changed(@statements), 'refused text', "another text, and no definition: the name of $name");
}
is(changed($own_type, q{CREATE OR REPLACE FUNCTION own_out(own) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'textout'}),
	'refused text', 'another text, and no definition: an output function that is not of the initial catalogs');

# Readers that compare fingerprints compare definitions, too.
my $manual = slurp_file("$FindBin::RealBin/../doc/incremental_functions.md");
foreach my $case (
	[ 'client_encoding', table_of(q{U&'\00e4'}), q{SET LOCAL client_encoding = 'LATIN1'} ],
	[ 'DateStyle', table_of(q{date '2020-01-02'}), q{SET LOCAL DateStyle = 'German'} ],
	[ 'IntervalStyle', table_of(q{interval '1 day 02:03'}), q{SET LOCAL IntervalStyle = 'iso_8601'} ],
	[ 'TimeZone', table_of(q{timestamptz '2020-01-02 UTC'}), q{SET LOCAL TimeZone = 'Asia/Tokyo'} ],
	[ 'extra_float_digits', table_of('0.1::float8 + 0.2::float8'), 'SET LOCAL extra_float_digits = -5' ],
	[ 'bytea_output', table_of(q{'abc'::bytea}), q{SET LOCAL bytea_output = 'escape'} ])
{
	my ($name, @statements) = @$case;
	is(changed(@statements), 'text', "another text, the same definition: $name");
	like($manual, qr/are the same: [^.]*\bthe settings [^.]*`\Q$name\E`/, "the manual says so");
}

# ---- the text is the same

foreach my $case (
	[ 'VACUUM FREEZE', '', $two, 'VACUUM FREEZE t' ],
	[ 'VACUUM FULL', '', $two, 'VACUUM FULL t' ],
	[ 'names of the table and of columns', '', $two, 'ALTER TABLE t RENAME a TO c', 'ALTER TABLE t RENAME TO u', 'ALTER TABLE u RENAME TO t' ],
	[ 'an index, a constraint, statistics, storage parameters', '', $two, 'CREATE INDEX ON t (a)', 'ALTER TABLE t ADD CHECK (a > 0), ALTER a SET STATISTICS 5, SET (fillfactor = 50)', 'ANALYZE t' ],
	[ 'an owner', '', $two, 'CREATE ROLE definition_role', 'ALTER TABLE t OWNER TO definition_role' ],
	[ 'a domain without its constraint', 'definition', 'CREATE DOMAIN d AS int CHECK (VALUE > 0); ' . table_of('g::d'), 'ALTER TABLE t ALTER v TYPE int' ],
	[ 'a label there and back', 'definition', table_of(q{'sad'::mood}), q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'}, q{ALTER TYPE mood RENAME VALUE 'blue' TO 'sad'} ],
	[ 'another label', 'definition', table_of(q{'sad'::mood}), q{ALTER TYPE mood ADD VALUE 'great'} ],
	[ 'an attribute there and back', 'definition', table_of(q{ROW(1, 'x')::pair}), 'ALTER TYPE pair ADD ATTRIBUTE c int', 'ALTER TYPE pair DROP ATTRIBUTE c' ])
{
	my ($name, $expected, @statements) = @$case;
	is(changed(@statements), $expected, "the same text: $name");
}

SKIP:
{
	skip 'expressions of generated columns can be set from 17 on', 1 if $major < 17;
	# of the columns that COPY writes, a is the same
	is(changed($generated, 'ALTER TABLE t ALTER b SET EXPRESSION AS (a * 3)'), 'fingerprint', 'an expression that is set rewrites rows');
}

# ---- while rows are read

# Another session changes the enum between a chunk's first and last rows.
sub recorded_when
{
	my (@changes) = @_;
	my $reader = Pardump::Wire->new($node, 'defined');
	$reader->query(q{SELECT pardump.pg_pardump_fingerprint_reads(decode(repeat('a5', 32), 'hex'))});
	$reader->query('BEGIN; DECLARE c CURSOR FOR SELECT length(pardump.pg_pardump_read(\'felt\', \'{m,s}\', 0, NULL, \'none\'))');
	$reader->query('FETCH 1 FROM c');
	sql($node, 'defined', $_) foreach @changes;
	cmp_ok(@{ $reader->query('FETCH ALL FROM c')->{rows} }, '>', 0, 'the cursor had more rows');
	my $recorded = $reader->first_value('SELECT fingerprint IS NOT NULL FROM pardump.pg_pardump_last_fingerprint()');
	close $reader->{socket};
	return $recorded;
}

sql($node, 'defined', q{CREATE TABLE felt AS SELECT 'sad'::mood AS m, repeat('x', 1000) AS s FROM generate_series(1, 5000)});
is(recorded_when(), 't', 'a fingerprint is recorded');
is(recorded_when(q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'}), 'f', 'a label changes meanwhile: no fingerprint');
is(recorded_when(q{ALTER TYPE mood RENAME VALUE 'blue' TO 'sad'}, q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'}),
	'f', 'a label changes and changes back: no fingerprint');
is(recorded_when(q{ALTER TYPE pair ADD ATTRIBUTE c int}), 't', 'another type changes: a fingerprint');

# ---- a cluster that was put back

# The same transactions, with another value: its row has the same transaction ID, and
# the same pointer to what is out of line.
sub row_and_fingerprint
{
	my ($letter) = @_;
	$node->start;
	sql($node, 'defined', "INSERT INTO long VALUES (1, repeat('$letter', 5000))");
	my $toast = sql($node, 'defined', q{SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'long'});
	my @row = map { sql($node, 'defined', $_) } "SELECT DISTINCT chunk_id FROM $toast", 'SELECT xmin, ctid FROM long',
	  q{SELECT fingerprint FROM pardump.pg_pardump_fingerprint('long', '{id,v}', 0, NULL, decode(repeat('a5', 32), 'hex'))};
	$node->stop('immediate');
	return @row;
}

sql($node, 'defined', 'CREATE TABLE long (id int, v text); ALTER TABLE long ALTER v SET STORAGE EXTERNAL');
$node->stop;
my $data = $node->data_dir;
system_or_bail('cp', '-a', $data, "$data.old");
my ($value_id, $row, $fingerprint) = row_and_fingerprint('a');
system_or_bail('rm', '-rf', $data);
system_or_bail('mv', "$data.old", $data);
my ($same_id, $same_row, $other) = row_and_fingerprint('b');
is("$same_id $same_row", "$value_id $row", 'the row and its pointer are the same');
isnt($other, $fingerprint, 'the fingerprint is that of the value');

done_testing();
