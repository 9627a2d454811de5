
# Equality of two databases: the schema as stock pg_dump writes it, and every
# row, sequence and large object by counts and checksums.
#
# A "fingerprint" is a hash of one line a relation: name => "rows checksum".
# The checksum is a sum of one 64-bit hash a row, so it does not depend on the
# order in which rows are stored, which a parallel restore changes.

package Pardump::Compare;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program new_path make_database restore_ok sql);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(fingerprint differences same_data_ok same_when_restored_ok schema_text
  same_schema_ok same_database_ok);

# One plpgsql loop over the catalog, so that thousands of tables cost one
# session.  ONLY makes a partition and an inheritance child count for
# themselves.  The exception: rows hashed on an enum value land in another
# partition after a restore, since the hash is that of the value's OID; such
# partitions are counted at their root.
#
# Columns are taken in the order of their names: pg_dump may give a child of an
# inheritance tree another column order than it had.  A relation that cannot be
# read has the error as its value.  The extension pg_pardump, and with it the table
# in its schema, is made when a test needs it.
my $fingerprint_sql = <<'SQL';
SET search_path = '';
SET extra_float_digits = 1;
SET DateStyle = 'ISO, MDY';
SET IntervalStyle = postgres;
SET TimeZone = UTC;
SET bytea_output = hex;
SET row_security = off;
CREATE FUNCTION pg_temp.one_relation(query text) RETURNS text LANGUAGE plpgsql
AS $f$
DECLARE r text;
BEGIN
	EXECUTE query INTO r;
	RETURN r;
EXCEPTION WHEN OTHERS THEN
	RETURN 'error: ' || SQLERRM;
END $f$;
CREATE TEMP TABLE moving AS
	SELECT p.partrelid::oid AS root, t.relid::oid AS relid
	FROM pg_catalog.pg_partitioned_table p,
		LATERAL pg_catalog.pg_partition_tree(p.partrelid) t
	WHERE p.partstrat = 'h' AND EXISTS (
		SELECT FROM pg_catalog.pg_attribute a
			JOIN pg_catalog.pg_type ty ON ty.oid = a.atttypid
		WHERE a.attrelid = p.partrelid AND a.attnum = ANY (p.partattrs::int2[])
			AND ty.typtype = 'e');
SELECT json_build_array(
	CASE relkind WHEN 'S' THEN 'sequence ' ELSE 'table ' END || c.oid::regclass::text,
	pg_temp.one_relation(CASE
		WHEN relkind = 'S' THEN
			format('SELECT last_value || '' '' || is_called FROM %s', c.oid::regclass)
		WHEN relkind = 'm' AND NOT relispopulated THEN 'SELECT ''unfilled'''
		ELSE format('SELECT count(*) || '' '' || coalesce(sum('
			|| 'hashtextextended(ROW(%s)::text, 0)::numeric), 0) FROM %s %s',
			(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname COLLATE "C")
			 FROM pg_catalog.pg_attribute
			 WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
			CASE WHEN relkind = 'p' THEN '' ELSE 'ONLY' END, c.oid::regclass)
		END))
FROM pg_catalog.pg_class c
WHERE (relkind IN ('r', 'm', 'S') AND c.oid NOT IN (SELECT relid FROM moving)
		OR c.oid IN (SELECT root FROM moving))
	AND relpersistence <> 't'
	AND relnamespace::regnamespace::text <> ALL ('{pg_catalog,information_schema,pardump}')
UNION ALL
SELECT json_build_array('large object ' || m.oid, concat_ws(' ',
	m.lomowner::regrole,
	(SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(m.lomacl) a),
	obj_description(m.oid, 'pg_largeobject'), md5(lo_get(m.oid))))
FROM pg_catalog.pg_largeobject_metadata m;
SQL

sub fingerprint
{
	my ($node, $db) = @_;
	my %print;
	foreach my $line (split /\n/, sql($node, $db, $fingerprint_sql))
	{
		my ($name, $value) = $line =~ /^\["(.*)", "(.*)"\]$/ or next;
		$print{$name} = $value;
	}
	return \%print;
}

# Names whose values differ, sorted, each with both values.
sub differences
{
	my ($want, $got) = @_;
	my %all = (%$want, %$got);
	my @found;
	foreach my $name (sort keys %all)
	{
		my ($a, $b) = ($want->{$name} // 'missing', $got->{$name} // 'missing');
		push @found, "$name: expected $a, found $b" if $a ne $b;
	}
	return @found;
}

sub same_data_ok
{
	my ($want, $got, $what) = @_;
	my @found = differences($want, $got);
	my $shown = $#found > 19 ? 19 : $#found;
	ok(@found == 0 && keys %$want > 0,
		"$what: all " . keys(%$want) . ' relations equal')
	  or diag(scalar(@found) . ' differ', map { "\n  $_" } @found[ 0 .. $shown ]);
	return;
}

# The archive, restored by stock pg_restore into a database of its own, has the rows
# of which these are the fingerprints.
my $restored = 0;

sub same_when_restored_ok
{
	my ($node, $dir, $want, $what) = @_;
	my $copy = 'restored' . ++$restored;
	make_database($node, $copy, options => 'TEMPLATE template0 STRATEGY file_copy');
	restore_ok($node, $dir, $copy, $what, '-j2');
	same_data_ok($want, fingerprint($node, $copy), $what);
	sql($node, 'postgres', "DROP DATABASE $copy");
	return;
}

# pg_dump -s, without the two lines whose key is random in every run.
sub schema_text
{
	my ($node, $db) = @_;
	my ($rc, $out, $err) =
	  run_program('pg_dump', '-s', '-d', $node->connstr($db));
	die "pg_dump -s of \"$db\" failed: $err" if $rc != 0;
	$out =~ s/^\\(un)?restrict \w+$//mg;
	return $out;
}

sub same_schema_ok
{
	my ($want, $got, $what) = @_;
	if ($want eq $got)
	{
		pass("$what: schema equal");
		return;
	}
	my ($a, $b) = (new_path('expected.sql'), new_path('found.sql'));
	append_to_file($a, $want);
	append_to_file($b, $got);
	my (undef, $diff) = run_program('diff', '-U2', $a, $b);
	fail("$what: schema equal");
	diag(substr($diff, 0, 4000));
	return;
}

# same_database_ok($node, $db, $fingerprint, $schema, 'what')
sub same_database_ok
{
	my ($node, $db, $fingerprint, $schema, $what) = @_;
	same_data_ok($fingerprint, fingerprint($node, $db), $what);
	same_schema_ok($schema, schema_text($node, $db), $what);
	return;
}

1;
