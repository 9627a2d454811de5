
# Round trips: a database is dumped by pg_pardump, restored by stock pg_restore, and must
# come out as from stock pg_dump's own archive: same schema, same rows, same objects.

package Pardump::RoundTrip;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program dump_ok nothing_left_ok sql);
use Pardump::Compare qw(fingerprint differences schema_text same_database_ok);
use Pardump::Databases qw(empty_copy);
use Pardump::Layout qw(layout_problems);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(stock_round_trip round_trip create_extension);

my $copies = 0;

# What stock pg_dump's archive of a database gives: the measure of all others.
# Returns the archive, the fingerprint, the schema, and the names of relations
# that even so differ from the source.
sub stock_round_trip
{
	my ($node, $db) = @_;
	# first, since the schemas of its temporary tables shift pg_dump's ids
	my $source = fingerprint($node, $db);
	my $dir = dump_ok($node, $db, $db, 'pg_dump', '-j2');
	my $copy = empty_copy($node, $db, "${db}_stock");
	# with -j two branches of a tree of partitions may come to be attached at the same
	# moment, which leaves the index above invalid (021)
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($copy), $dir);
	my %stock = (
		dir => $dir,
		copy => $copy,
		errors => $err,
		data => fingerprint($node, $copy),
		schema => schema_text($node, $copy));
	$stock{differ} =
	  [ map { s/: expected .*//r }
		  differences($source, $stock{data}) ];
	$stock{schema_differs} = schema_text($node, $db) ne $stock{schema};
	return \%stock;
}

# One way to dump and restore.  Returns the archive's directory.
sub round_trip
{
	my ($node, $db, $stock, $what, $dump_options, $restore_options) = @_;
	my $dir = dump_ok($node, $db, "$db, $what", 'pg_pardump', @$dump_options);
	nothing_left_ok($node, $dir, "$db, $what");
	is_deeply([ layout_problems($dir) ], [], "$db, $what: layout");

	my $copy = empty_copy($node, $db, "${db}_" . ++$copies);
	my ($rc, undef, $err) = run_program('pg_restore', @$restore_options, '-d',
		$node->connstr($copy), $dir);
	is(errors_only($err), errors_only($stock->{errors}),
		"$db, $what: pg_restore @$restore_options says what it says of stock's");
	same_database_ok($node, $copy, $stock->{data}, $stock->{schema}, "$db, $what");
	return $dir;
}

# Messages of pg_restore without what differs from run to run, sorted.
sub errors_only
{
	my ($err) = @_;
	return join "\n",
	  sort map { s/; \d+ \d+ \d+//r =~ s/TOC entry \d+/TOC entry/r }
	  grep { /error:/ } split /\n/, $err;
}

# Archives leave it out.
sub create_extension
{
	my ($node, $db) = @_;
	sql($node, $db, 'CREATE EXTENSION pg_pardump');
	return;
}

1;
