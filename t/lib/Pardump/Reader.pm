# Compares the server's reader of rows, pg_pardump_read(), with COPY, table by
# table (t/data/reader_compare.sql does the work on the server).

package Pardump::Reader;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(data_file run_program new_path);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(prepare_comparison same_rows_ok random_seed text_settings);

# How pg_dump sets its sessions.
my @as_pg_dump = (
	"SET search_path = ''",
	"SET DateStyle = ISO", "SET IntervalStyle = postgres",
	"SET extra_float_digits = 3", "SET TimeZone = 'UTC'");

# Every value of every setting that the text of a value depends on, in
# combinations by which none hides another: [name, SET ...], the first as
# pg_dump has them.  All but the first three change dates, times and intervals alone.
my @text_settings = (
	[ 'as pg_dump', @as_pg_dump ],
	[
		'ISO, Kathmandu', "SET DateStyle = 'ISO, DMY'",
		"SET IntervalStyle = sql_standard", "SET extra_float_digits = -15",
		"SET TimeZone = 'Asia/Kathmandu'", 'SET bytea_output = escape'
	],
	[
		'ISO, St_Johns', "SET DateStyle = 'ISO, YMD'",
		'SET IntervalStyle = postgres_verbose', 'SET extra_float_digits = 0',
		"SET TimeZone = 'America/St_Johns'", "SET search_path = ''",
		'SET quote_all_identifiers = on', 'SET xmlbinary = hex'
	],
	[
		'ISO, Dublin', 'SET IntervalStyle = iso_8601',
		'SET extra_float_digits = 1', "SET TimeZone = 'Europe/Dublin'"
	],
	[ 'ISO, POSIX zone', "SET TimeZone = 'FOO+03:30BAR,M3.2.0,M11.1.0/1:30'" ],
	[ 'ISO, Monrovia', "SET TimeZone = 'Africa/Monrovia'" ],
	[ 'ISO, numeric zone', 'SET TimeZone = -7.5' ],
	[
		'SQL, DMY', "SET DateStyle = 'SQL, DMY'",
		"SET TimeZone = 'Europe/Amsterdam'"
	],
	[
		'SQL, MDY', "SET DateStyle = 'SQL, MDY'",
		"SET TimeZone = 'America/Caracas'"
	],
	[
		'Postgres, MDY', "SET DateStyle = 'Postgres, MDY'",
		"SET TimeZone = 'Australia/Lord_Howe'"
	],
	[
		'Postgres, DMY', "SET DateStyle = 'Postgres, DMY'",
		"SET TimeZone = '<-05:13>+05:13'"
	],
	[ 'German', 'SET DateStyle = German', "SET TimeZone = 'Asia/Tehran'" ]);

sub text_settings { return @text_settings; }

# Makes the functions that compare.  The extension must be in the database.
sub prepare_comparison
{
	my ($node, $db) = @_;
	my ($rc, undef, $err) = run_program(
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db),
		'-f', data_file('reader_compare.sql'));
	die "could not prepare to compare in \"$db\": $err" if $rc != 0;
	return;
}

# same_rows_ok($node, $db, 'what', schemas => 'pattern of LIKE', ranges => how
# many random ones of each table beside all of it, format => that of COPY,
# text by default, settings => ['SET ...'],
# snapshot => an exported one to use, relations, bytes, errors => what there must
# be at least; no error without the last).  All is done under one snapshot.
sub same_rows_ok
{
	my ($node, $db, $what, %params) = @_;
	my $ranges = $params{ranges} // 1;
	my $schemas = $params{schemas} // '%';
	my $format = $params{format} // 'text';
	my $file = new_path('copy');
	my ($rc, $out, $err) = run_program(
		'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db),
		'-c', 'SET client_min_messages = warning',
		(map { ('-c', $_) } @{ $params{settings} // [] }),
		'-c', sprintf('SELECT setseed(%.6f)', random_seed() / 2**31),
		'-c', 'BEGIN ISOLATION LEVEL REPEATABLE READ',
		$params{snapshot} ? ('-c', "SET TRANSACTION SNAPSHOT '$params{snapshot}'") : (),
		'-c', "SELECT reader_compare.summary('$schemas', $ranges, '$format', '$file')",
		'-c', 'COMMIT');
	unlink $file;
	my ($relations, $compared, $bytes, $errors, $different, $details) =
	  $out =~ /^(\d+) (\d+) (\d+) (\d+) (\d+)\n(.*)/ms;
	ok( $rc == 0 && defined $different && $different == 0
		  && $relations >= ($params{relations} // 1)
		  && $bytes >= ($params{bytes} // 1)
		  && $errors >= ($params{errors} // 0)
		  && ($errors == 0 || defined $params{errors}),
		"$db, $what: as COPY in $format format")
	  or diag(substr($err . $out, 0, 6000));
	note("$relations relations, $compared ranges, $bytes bytes, $errors errors")
	  if defined $errors;
	return;
}

# PG_PARDUMP_SEED chooses the ranges that are compared, so that a failed run
# can be run again.
my $seed = $ENV{PG_PARDUMP_SEED} // 1 + int(rand(2**31 - 1));

sub random_seed
{
	return $seed;
}

1;
