# Copies tables by blocks of raw tuples, and compares what is stored then.

package Pardump::Raw;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(new_path);
use Pardump::Wire;
use Test::More;

our @EXPORT_OK = qw(raw_copy same_raw_ok);

# Reads the columns of a table, "a, b", in raw format, and loads them into
# another: how many rows.
sub raw_copy
{
	my ($session, $from, $to, $columns, $compression) = @_;
	my $names = join ', ', map { $_ =~ /^"/ ? "parse_ident(\$q\$$_\$q\$) || '{}'" : "ARRAY['$_']" } split /, /, $columns;
	my $array = $columns eq '' ? "'{}'" : '(' . join(' || ', split /, (?=ARRAY|parse)/, $names) . ')';
	return $session->first_value("SELECT coalesce(sum(l.rows), 0)
		FROM pardump.pg_pardump_read('$from', $array\::name[], 0, NULL, '$compression', 'raw') b,
			pardump.pg_pardump_load_tuples('$to', b) l");
}

# Copies a table twice, raw and by the server's COPY, and compares the raw one
# with the table itself; with the other where the table has attributes that
# its columns do not have, or lacks some in some tuples.  What is wrong, or
# undef.
sub copy_table
{
	my ($session, $table, $oid, $compression) = @_;
	my $columns = $session->first_value("SELECT load_compare.make_pair($oid)");
	my $read = eval { raw_copy($session, $table, 'ours.loaded', $columns, $compression) };
	return "$table: $@" unless defined $read;
	my $rows = $session->first_value("SELECT count(*) FROM ONLY $table");
	return "$table: $read of $rows rows" if $read != $rows;
	return undef
	  if $session->first_value("SELECT load_compare.rows_different('$table', 'ours.loaded')") == 0;
	my $file = new_path('raw');
	$session->query("COPY $table ($columns) TO '$file'");
	$session->query("COPY core.loaded ($columns) FROM '$file'");
	unlink $file;
	my $same = $session->first_value("SELECT load_compare.rows_different('core.loaded', 'ours.loaded')
		+ (SELECT count(*) FROM pg_attribute WHERE attrelid = $oid AND attnum > 0
			HAVING bool_or(attisdropped OR atthasmissing) IS NOT TRUE)");
	return ($same // 0) == 0 ? undef : "$table: other tuples";
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
