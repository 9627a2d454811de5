# Copies tables by blocks of raw tuples, and compares what is stored then.

package Pardump::Raw;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Wire;
use Test::More;

our @EXPORT_OK = qw(same_raw_ok);

# Reads the columns of a table, "a, b", in raw format, and loads them into
# another: how many rows.
sub raw_copy
{
	my ($session, $from, $to, $columns, $compression) = @_;
	# names as they are quoted in SQL, all in one array
	my $names = join ', ', map { /^"(.*)"$/ ? "'" . $1 =~ s/""/"/gr =~ s/'/''/gr . "'" : "'$_'" } split /, /, $columns;
	return $session->first_value("SELECT coalesce(sum(l.rows), 0)
		FROM pardump.pg_pardump_read('$from', ARRAY[$names]::name[], 0, NULL, '$compression', 'raw') b,
			pardump.pg_pardump_load_tuples('$to', b) l");
}

# Copies a table, and compares what is stored.  Where the table has attributes
# that its columns do not have, or lacks some in some tuples, all attributes
# must be there, and the values be the same.  What is wrong, or undef.
sub copy_table
{
	my ($session, $table, $oid, $compression) = @_;
	my $columns = $session->first_value("SELECT load_compare.make_pair($oid)");
	my $read = eval { raw_copy($session, $table, 'ours.loaded', $columns, $compression) };
	return "$table: $@" unless defined $read;
	my $rows = $session->first_value("SELECT count(*) FROM ONLY $table");
	return "$table: $read of $rows rows" if $read != $rows;
	my $formed = $session->first_value(
		"SELECT coalesce(bool_or(attisdropped OR atthasmissing), false) FROM pg_attribute WHERE attrelid = $oid AND attnum > 0");
	return $session->first_value("SELECT load_compare.rows_different('$table', 'ours.loaded')") == 0 ? undef : "$table: other tuples"
	  if $formed eq 'f';
	my $different = $session->first_value("WITH theirs AS (SELECT ($columns)::text FROM ONLY $table x),
			own AS (SELECT ($columns)::text FROM ours.loaded x)
		SELECT (SELECT count(*) FROM (TABLE theirs EXCEPT ALL TABLE own) x)
			+ (SELECT count(*) FROM (TABLE own EXCEPT ALL TABLE theirs) x)
			+ (SELECT count(*) FROM load_compare.rows('ours.loaded')
				WHERE natts <> (SELECT max(attnum) FROM pg_attribute WHERE attrelid = 'ours.loaded'::regclass))");
	return $different == 0 ? undef : "$table: $different rows are different";
}

# same_raw_ok($node, $db, 'what', schemas => 'pattern of LIKE', tables => how many there
# must be at least, compression => 'none'): every table that can be read and
# loaded so has the same tuples afterwards.
sub same_raw_ok
{
	my ($node, $db, $what, %params) = @_;
	my $session = Pardump::Wire->new($node, $db);
	my @tables = @{
		$session->query("SELECT c.oid, c.oid::regclass FROM pg_class c
			JOIN pg_namespace n ON n.oid = relnamespace
			WHERE relkind = 'r' AND nspname LIKE '$params{schemas}'
				AND nspname NOT IN ('pg_catalog', 'information_schema', 'core', 'ours', 'pardump')
				AND pardump.pg_pardump_raw_reason(c.oid, false) IS NULL
				AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attgenerated <> '')
			ORDER BY 2")->{rows} };
	my @bad;
	foreach my $table (@tables)
	{
		my $bad = copy_table($session, $table->[1], $table->[0], $params{compression} // 'none');
		push @bad, $bad if defined $bad;
	}
	$session->close;
	ok(!@bad && @tables >= $params{tables}, "$what: the tuples are those of the source")
	  or diag(join "\n", scalar(@tables) . ' tables', @bad);
	note(scalar(@tables) . ' tables');
	return;
}

1;
