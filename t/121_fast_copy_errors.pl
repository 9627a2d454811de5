# What the extension's COPY FROM says and does about unusual and damaged data
# is what the server's says and does: message, SQLSTATE and context of errors,
# and the rows where there is no error; in messages of any size.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster pg_major sql);
use Pardump::Load qw(load_session who_copied pieces comparable);
use Pardump::Reader qw(random_seed);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('fast_errors');
sql($node, 'postgres', 'CREATE DATABASE errors');
note('PG_PARDUMP_SEED=' . random_seed());

# Both sessions have tables of the same names.
my ($core, $ours) = map { load_session($node, 'errors', $_) } 0, 1;
foreach my $session ($core, $ours)
{
	my $schema = $session == $ours ? 'ours' : 'core';
	$session->query("CREATE SCHEMA $schema; SET search_path = $schema;
		CREATE DOMAIN short AS text NOT NULL CHECK (length(VALUE) < 5);
		CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
		CREATE TABLE plain (i int, t text, n numeric(6, 2), d date);
		CREATE TABLE strict (i int PRIMARY KEY, t varchar(8) NOT NULL, c char(4) CHECK (c <> 'none'), s short);
		CREATE TABLE wide (i int, t text);
		ALTER TABLE wide ALTER t SET STORAGE PLAIN;
		CREATE TABLE missing (i int DEFAULT 5, t text, s serial, e even DEFAULT 4, w text DEFAULT current_user);
		CREATE TABLE one (t text);
		CREATE TABLE document (j jsonb);
		CREATE TABLE nowhere_null (x int, i int NOT NULL, t text NOT NULL DEFAULT 'a');
		ALTER TABLE nowhere_null DROP x;
		CREATE TABLE parted (i int, t text) PARTITION BY RANGE (i);
		CREATE TABLE leaf PARTITION OF parted FOR VALUES FROM (1) TO (10)");
}

# The rows of a table.  Where they lie depends on when those of earlier rounds,
# which were undone, were pruned.
sub stored_rows
{
	my ($session, $table) = @_;
	my $schema = $session == $ours ? 'ours' : 'core';
	return $session->first_value("SELECT count(*) || coalesce(md5(string_agg(x::text, '|' ORDER BY x::text)), '')
		FROM $schema.$table x");
}

# One COPY in each session, which is undone: same answer, and same rows.
sub same_ok
{
	my ($what, $statement, $pieces, %params) = @_;
	my ($table) = $statement =~ /^COPY (\w+)/;
	my @answers;
	foreach my $session ($core, $ours)
	{
		$session->query('BEGIN');
		my $answer = $session->copy($statement, $pieces, %params);
		push @answers, comparable($answer);
		$answers[-1]{who} = $session == $ours ? who_copied($answer) : 'us';
		$answers[-1]{rows} = stored_rows($session, $table) if defined $answer->{tag};
		$session->query('ROLLBACK');
	}
	is_deeply($answers[1], $answers[0], "$what: as the server")
	  or diag(explain(@answers));
	return;
}

# --- unusual and wrong files

my $row = "1\ttext\t12.50\t2024-02-29\n";
my $rows = join '', map { "$_\trow $_\t$_.25\t2024-01-01\n" } 1 .. 2500;
my @plain = (
	[ 'rows', $row x 3 ],
	[ 'nothing', '' ],
	[ 'no newline at the end', $row . '2' . substr($row, 1, -1) ],
	[ 'an empty line', "$row\n$row" ],
	[ 'an empty line at the end', "$row\n" ],
	[ 'an end mark', "$row\\.\n" ],
	[ 'an end mark without a newline', "$row\\." ],
	[ 'an end mark and other lines', "$row\\.\n$row\nnonsense\xff" ],
	[ 'an end mark behind a row', "$row" . "7\\.\n" ],
	[ 'an end mark behind values', $row . substr($row, 0, -1) . "\\.\n$row" ],
	[ 'a broken end mark', "$row\\.x\n" ],
	[ 'an end mark of another newline', "$row\\.\r\n" ],
	[ 'CR LF', join('', map { "$_\ta\t1\t2000-01-01\r\n" } 1 .. 5) ],
	[ 'CR LF and an end mark', "1\ta\t1\t2000-01-01\r\n\\.\r\n" ],
	[ 'CR', "1\ta\t1\t2000-01-01\r2\ta\t1\t2000-01-01\r" ],
	[ 'LF, then CR LF', $row . "1\ta\t1\t2000-01-01\r\n" ],
	[ 'CR LF, then LF', "1\ta\t1\t2000-01-01\r\n" . $row ],
	[ 'CR, then LF', "1\ta\t1\t2000-01-01\r" . $row ],
	[ 'CR in a value', "$row" . "1\ta\rb\t1\t2000-01-01\n" ],
	[ 'a column too many', $row . "1\ta\t1\t2000-01-01\tx\n" ],
	[ 'a column too few', $row . "1\ta\t1\n" ],
	[ 'a column too few, and the first is wrong', $row . "x\ta\t1\n" ],
	[ 'a zero', $row . "1\ta\0b\t1\t2000-01-01\n" ],
	[ 'an invalid character', $row . "1\ta\xffb\t1\t2000-01-01\n$row" ],
	[ 'a character cut by a tab', $row . "1\t\xe2\x82\t1\t2000-01-01\n$row" ],
	[ 'a character cut by a newline', $row . "1\ta\t1\t\xe2\n$row" ],
	[ 'a character cut by the end', "$row\xe2\x82" ],
	[ 'an invalid character behind an error', "x$row\xff" ],
	[ 'an error behind an invalid character', "\xff\nx$row" ],
	[ 'octal escapes', "1\t\\101\\0602\\7\\1234\\400x\t1\t2000-01-01\n" ],
	[ 'an escaped zero', "1\ta\\0b\t1\t2000-01-01\n" ],
	[ 'hexadecimal escapes', "1\t\\x41\\x4z\\xz\\xe2\\x82\\xac\t1\t2000-01-01\n$row" ],
	[ 'an escape that is not a character', "1\t\\xe2\\x82\t1\t2000-01-01\n" ],
	[ 'letters', "1\t\\b\\f\\n\\r\\t\\v\\a\\\\n\\q\\\xc3\xa9\t1\t2000-01-01\n" ],
	[ 'an escaped newline', "1\ta\\\nb\t1\t2000-01-01\n$row" ],
	[ 'an escaped tab', "1\ta\\\tb\t1\t2000-01-01\n$row" ],
	[ 'an escaped CR', "1\ta\\\rb\t1\t2000-01-01\n$row" ],
	[ 'a backslash at the end', $row . "1\ta\\" ],
	[ 'a backslash before the end of a line', $row . "1\ta\t1\t2000-01-01\\\n" ],
	[ 'NULLs', "\\N\t\\N\t\\N\t\\N\n" x 3 ],
	[ 'what is not NULL', "1\t\\\\N\t\\N\t\\N\n2\t\\NN\t\\N\t\\N\n3\tN\\N\t\\N\t\\N\n" ],
	[ 'escapes in an error', "1\ta\tx\\tb\\\\\\n\\N\t2000-01-01\n" ],
	[ 'a wrong number', $row . "1x$row" ],
	[ 'a number out of range', "9999999999" . substr($row, 1) ],
	[ 'a numeric out of range', "1\ta\t12345.6\t2000-01-01\n" ],
	[ 'a wrong date', "1\ta\t1\t2000-02-30\n" ],
	[ 'a date out of range', "1\ta\t1\t99999999-01-01\n" ],
	[ 'many rows', $rows ],
	[ 'an error behind many rows', $rows . "x$row" ],
	[ 'a column too many behind many rows', $rows . "x\t$row" ],
	[ 'a long line', $row . "1\t" . ('long ' x 100_000) . "\t1\t2000-01-01\n" . $row ],
	[ 'a long line of escapes', "1\t" . ('\\\\\\n' x 100_000) . "\t1\t2000-01-01\n" . $row ],
	[ 'a long wrong value', $row . ("\xe2\x82\xac" x 50) . $row ],
	[ 'a long wrong line', $row . "1\t" . ("\xc3\xa9" x 300_000) . "\n" ],
	[ 'other control characters', "1\t\x01\x02\x07\x08\x0b\x0c\x0e\x1f\x7f\t1\t2000-01-01\n" ],
);
foreach my $case (@plain)
{
	my ($what, $data) = @$case;
	same_ok($what, 'COPY plain FROM STDIN', [$data]);
	same_ok("$what, in pieces", 'COPY plain FROM STDIN', pieces($data, length $data > 10000 ? 9000 : 5));
}
same_ok('one column', 'COPY one FROM STDIN', ["a\n\nb\n\\N\n\\N \n"]);
same_ok('one column with a tab', 'COPY one FROM STDIN', ["a\n\tb\n"]);
same_ok('options', 'COPY plain (d, i) FROM STDIN WITH (FORMAT text)', ["2000-01-01\t3\n"]);

# jsonb keeps the last of equal keys, but every number must be one
my ($long, $large) = ('0.' . '1' x 16384, '1' . '0' x 131072);
foreach my $case ([ 'a number with too many digits', qq({"a":$long,"a":1}) ],
	[ 'a number that is too large', qq({"a":$large,"a":1}) ],
	[ 'in an array', qq({"x":[$long],"x":0}) ],
	[ 'in an object', qq({"x":{"y":$large},"x":0}) ],
	[ 'numbers', '{"b":1,"a":2,"b":3.50}' ])
{
	my ($what, $value) = @$case;
	same_ok("jsonb, a key twice: $what", 'COPY document FROM STDIN', [ qq({"a":1}\n$value\n{"b":1}\n) ]);
}

# --- constraints, indexes, defaults

my @strict = (
	[ 'rows', "1\ta\tb\tc\n2\ta\tb\tc\n" ],
	[ 'a NULL where none may be', "1\ta\tb\tc\n2\t\\N\tb\tc\n" ],
	[ 'a NULL in the key', "1\ta\tb\tc\n\\N\ta\tb\tc\n" ],
	[ 'a NULL in a domain', "1\ta\tb\tc\n2\ta\tb\t\\N\n" ],
	[ 'a CHECK constraint', "1\ta\tb\tc\n2\ta\tnone\tc\n" ],
	[ 'a domain\'s constraint', "1\ta\tb\tc\n2\ta\tb\tccccc\n" ],
	[ 'a key that is twice there', "1\ta\tb\tc\n2\ta\tb\tc\n1\ta\tb\tc\n3\ta\tb\tc\n" ],
	[ 'a key twice, and an error behind it', "1\ta\tb\tc\n1\ta\tb\tc\nx\ta\tb\tc\n" ],
	[ 'a key twice, and an error far behind it', "1\ta\tb\tc\n" . join('', map { "$_\ta\tb\tc\n" } 1 .. 1100) . "x\n" ],
	[ 'too many characters', "1\taaaaaaaab\tb\tc\n" ],
	[ 'blanks behind the last character', "1\taaaaaaaa   \tb        \tc\n" ],
	[ 'too many characters for char(n)', "1\ta\tbbbbb\tc\n" ],
	[ 'characters, not bytes', "1\t" . ("\xc3\xa9" x 8) . "\t" . ("\xc3\xa9" x 4) . "\tc\n" ]);
same_ok("strict: $_->[0]", 'COPY strict FROM STDIN', [ $_->[1] ]) foreach @strict;
same_ok('NOT NULL and no other constraint', 'COPY nowhere_null FROM STDIN', ["1\ta\n\\N\tb\n"]);
same_ok('NOT NULL and another lane', 'COPY nowhere_null FROM STDIN', ["1\t\\101\n\\N\tb\n"]);
same_ok('NOT NULL, with a default', 'COPY nowhere_null (i) FROM STDIN', ["1\n2\n"]);
same_ok('NOT NULL, without a default', 'COPY nowhere_null (t) FROM STDIN', ["a\n"]);
same_ok('missing columns', 'COPY missing (t) FROM STDIN', ["a\nb\n"]);
same_ok('a missing column, others in another order', 'COPY missing (e, t) FROM STDIN', ["2\tb\n\\N\tx\n"]);
same_ok('a missing column, wrong value', 'COPY missing (e, t) FROM STDIN', ["2\tb\n3\tx\n"]);
same_ok('rows of a partition', 'COPY leaf FROM STDIN', ["1\ta\n9\tb\n"]);
same_ok('a row of another partition', 'COPY leaf FROM STDIN', ["1\ta\n10\tb\n"]);
same_ok('a row longer than a page', 'COPY wide FROM STDIN',
	[ join '', map { "$_\t" . ($_ == 5 ? 'x' x 9000 : 'x') . "\n" } 1 .. 10 ]);
same_ok('a row longer than a page far behind', 'COPY wide FROM STDIN',
	[ join '', map { "$_\t" . ($_ == 1500 ? 'x' x 9000 : 'x') . "\n" } 1 .. 2000 ]);

# --- settings that change while rows are loaded

# A domain's constraint whose function is declared IMMUTABLE, and is not, changes
# the setting before the other value of the row is read.  These are all the
# settings that input functions read, and those that only output functions read.
my @changing = (
	[ 'array_nulls', '{on,off}', 'text[]', '{a,NULL,"NULL",null}' ],
	[ 'array_nulls', '{on,off}', 'int[]', '{1,NULL}' ],
	[ 'array_nulls', '{off,on}', 'interval[]', '{NULL,"1 day"}' ],
	[ 'IntervalStyle', '{postgres,sql_standard,iso_8601}', 'interval', '-1 days 02:00:00' ],
	[ 'IntervalStyle', '{sql_standard,postgres}', 'interval[]', '{"-1 days 02:00:00"}' ],
	[ 'DateStyle', '{"ISO, MDY","SQL, DMY",German,"Postgres, YMD"}', 'date', '2020-01-02' ],
	[ 'DateStyle', '{"ISO, MDY","ISO, DMY","ISO, YMD"}', 'date', '01/02/03' ],
	[ 'DateStyle', '{"ISO, MDY","SQL, DMY"}', 'timestamp', '2020-01-02 03:04:05' ],
	[ 'DateStyle', '{"ISO, MDY","SQL, DMY"}', 'timestamptz[]', '{"2020-01-02 03:04:05+02"}' ],
	[ 'TimeZone', '{UTC,America/New_York,Asia/Kolkata}', 'timestamptz', '2020-07-01 10:00:00' ],
	[ 'TimeZone', '{UTC,America/New_York,Asia/Kolkata}', 'timestamptz', '2020-07-01 10:00:00+02' ],
	[ 'TimeZone', '{UTC,Asia/Kolkata}', 'timetz', '10:00:00' ],
	[ 'timezone_abbreviations', '{Default,India}', 'timestamptz', '2020-07-01 10:00:00 IST' ],
	[ 'xmloption', '{content,document}', 'xml', 'x' ],
	[ 'lc_monetary', '{C,POSIX}', 'money', '$1,000.50' ],
	[ 'search_path', '{core,ours}', 'regclass', 'plain' ],
	[ 'extra_float_digits', '{1,0,-5}', 'float8', '0.1234567890123456' ],
	[ 'bytea_output', '{hex,escape}', 'bytea', '\\\\x00ff' ],
	[ 'standard_conforming_strings', '{on,off}', 'text', 'a\\\\b' ],
	[ 'backslash_quote', '{on,off}', 'text', 'a\'\\\\b' ],
	[ 'default_transaction_read_only', '{on,off}', 'int', '1' ],
	[ 'max_stack_depth', '{100kB,2MB}', 'jsonb', '[' x 30 . ']' x 30 ],
	[ 'max_stack_depth', '{100kB,2MB}', 'json', '[' x 3000 . ']' x 3000 ]);
$core->query(q{CREATE FUNCTION public.change(name text, choices text[], i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		PERFORM set_config(name, choices[1 + i % array_length(choices, 1)], false);
		RETURN true;
	END $$});
foreach my $case (@changing)
{
	my ($name, $choices, $type, $text) = @$case;
	foreach my $session ($core, $ours)
	{
		$session->query("CREATE DOMAIN changing AS int CHECK (public.change('$name', '$choices', VALUE));
			CREATE TABLE changed (i changing, v $type)");
	}
	same_ok("$name changes, $type", 'COPY changed FROM STDIN', [ join '', map { "$_\t$text\n" } 0 .. 6 ]);
	$_->query('DROP TABLE changed; DROP DOMAIN changing') foreach $core, $ours;
}

# --- the protocol

# 19 reads on before it is done with the last line that it has, and so finds
# out about the failure a line earlier
if (pg_major($node) < 19)
{
	same_ok('CopyFail', 'COPY plain FROM STDIN', [ $row, $row . '2' ], fail => 'no more');
	same_ok('CopyFail after an error', 'COPY plain FROM STDIN', [ $row, "x$row" ], fail => 'no more');
	same_ok('CopyFail after the end mark', 'COPY plain FROM STDIN', [ $row, "\\.\n" ], fail => 'no more');
	same_ok('CopyFail after many rows', 'COPY plain FROM STDIN', pieces($rows, 9000), fail => 'no more');
}
same_ok('Flush and Sync', 'COPY plain FROM STDIN',
	[ [ 'S', '' ], $row, [ 'H', '' ], $row . '2', [ 'S', '' ], substr($row, 1), [ 'H', '' ] ]);
# shorter and longer than the room there is for them, and than the server's buffer
my $much = $rows x 9;
same_ok("messages of up to $_ bytes", 'COPY plain FROM STDIN', pieces($much, $_)) foreach 40_000, 200_000, 700_000;
same_ok('a long message with an error', 'COPY plain FROM STDIN', [ $much . "x$row" . $rows ]);
same_ok('an error behind a long message', 'COPY plain FROM STDIN', [ $much . '2', substr($row, 1) . $rows, "x$row" ]);
same_ok('the client gives up behind a long message', 'COPY plain FROM STDIN', [ $much . '2' ], fail => 'no more')
  if pg_major($node) < 19;
same_ok('empty messages', 'COPY plain FROM STDIN', [ '', $row, '', '', $row, '' ]);

# A client that waits for an answer sends no more: it gets its error at once,
# but not from 19, which reads on before the last line that it has.
my @answering = pg_major($node) < 19 ? ($core, $ours) : ($ours);
foreach my $case ([ 'the first row', "x$row" ], [ 'a row behind others', $rows . "x$row" ],
	[ 'a row behind one that was sent in part', [ $row . '2', substr($row, 1) . "x$row" . '3' ] ])
{
	my ($what, $data) = @$case;
	my @answers;
	foreach my $session (@answering)
	{
		$session->message('Q', "COPY plain FROM STDIN\0");
		$session->result;
		$session->message('d', $_) foreach ref $data ? @$data : $data;
		# comes to nothing if there is no error, and then never ends
		push @answers, comparable($session->result);
	}
	like($answers[-1]{error}{context}, qr/^COPY plain, line \d+, column i: "x1"$/, "a client that waits: $what");
	is_deeply($answers[-1], $answers[0], "a client that waits: $what: as the server");
}

# --- damaged at random

my @special = ("\0", "\t", "\n", "\r", "\\", '.', 'N', 'x', '7', "\x80", "\xc3", "\xff", 'a', '0', '-', "\\.", "\\x", "\r\n");
my $file = join '', map { "$_\trow \xc3\xa9 \\\\ $_\\n\t" . ($_ % 7 ? "$_.25" : '\\N') . "\t2024-01-01\n" } 1 .. 40;
my ($n, $errors, @different) = (1000, 0);
srand random_seed();
foreach my $i (1 .. $n)
{
	my $data = $file;
	substr($data, int rand length $data, int rand 3) = $special[ rand @special ] foreach 0 .. rand 2;
	my @answers;
	my $pieces = rand() < 0.5 ? [$data] : pieces($data, 300);
	foreach my $session ($core, $ours)
	{
		$session->query('BEGIN');
		my $answer = comparable($session->copy('COPY plain FROM STDIN', $pieces));
		push @answers, join '|', map { $_ // '' } $answer->{tag},
		  @{ $answer->{error} }{qw(sqlstate message detail context)},
		  defined $answer->{tag} ? stored_rows($session, 'plain') : '';
		$session->query('ROLLBACK');
	}
	$errors++ if $answers[0] =~ /^\|/;
	push @different, [ $data, @answers ] if $answers[0] ne $answers[1];
}
ok(!@different, "$n damaged files: as the server")
  or diag(explain(@different[ 0 .. ($#different < 5 ? $#different : 5) ]));
cmp_ok($errors, '>', $n / 4, 'many of them are errors');
note("$errors errors");

# --- the end of a connection

foreach my $how ([ 'a connection that is lost', qr/unexpected EOF on client connection with an open transaction/,
		[ $row, '1' ], close => 1 ],
	# the length is that of a message of which no more than this comes
	[ 'a connection that is lost within a long message', qr/unexpected EOF on client connection with an open transaction/,
		[ [ 'd' . pack('N', 100_000), $row x 2000 ] ], close => 1 ],
	[ 'a message that may not come', qr/unexpected message type 0x45 during COPY from stdin/,
		[ $row, [ 'E', "\0\0\0\0\0" ] ] ])
{
	my ($what, $error, $pieces, %params) = @$how;
	# a message to a client that is gone would be an error of its own
	my $session = load_session($node, 'errors', 1, quiet => 1);
	$session->query('SET search_path = ours');
	my $offset = -s $node->logfile;
	$session->copy('COPY plain FROM STDIN', $pieces, %params);
	$node->wait_for_log(qr/$error\n.*CONTEXT:  COPY plain, line [12]/, $offset);
	pass("$what: the server's log contains the error");
}
is($ours->first_value('SELECT count(*) FROM plain'), 0, 'the table is empty after the errors');

done_testing();
