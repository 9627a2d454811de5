# Cursors over the set-returning functions: what a call holds between its rows
# survives subtransactions that are rolled back, is released when a transaction
# fails, and is small enough for many cursors.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('cursors');
sql($node, 'postgres', q{
	CREATE EXTENSION pg_pardump;
	CREATE TABLE t (id int PRIMARY KEY, x text, y text);
	ALTER TABLE t ALTER y SET STORAGE EXTERNAL;
	-- which no codec makes small
	INSERT INTO t SELECT g, string_agg(md5(g || ' ' || i), ''), CASE WHEN g % 20 = 0 THEN repeat(md5(g::text), 200) END
		FROM generate_series(1, 10000) g, generate_series(1, 15) i GROUP BY g;
	CREATE TABLE small AS SELECT * FROM t LIMIT 100;
	CREATE TABLE other AS SELECT g, repeat('other', 100) x FROM generate_series(1, 20000) g;
	CHECKPOINT});
my $file = value($node, 'postgres', q{SELECT pg_relation_filepath('t')});

sub read_call { return "pardump.pg_pardump_read('$_[0]', '{id,x,y}', 0, NULL, '$_[1]', '$_[2]')"; }

sub files_call
{
	my ($length, $compression) = @_;
	return "pardump.pg_pardump_read_files(ARRAY['$file', NULL]::bytea[], '{0,0}', '{$length,0}', '{head,NULL}',
		'{0,8192}', '{t,t}', '{0,NULL}', '0/0', '$compression')";
}

# name => call; each returns several rows
my %calls = (
	(map { ("read, $_->[1], $_->[0]" => read_call('t', @$_)) } [ 'none', 'text' ], [ 'gzip', 'text' ], [ 'zstd:1', 'text' ],
		[ 'lz4', 'binary' ], [ 'zstd:3', 'binary' ], [ 'auto', 'raw' ], [ 'none', 'raw' ]),
	(map { ("files, $_" => files_call(3_000_000, $_)) } qw(none lz4 zstd:1)),
	chunks => "pardump.pg_pardump_chunks('t', 100000)");

# The rows' hashes.
sub query { return "SELECT md5(f::text) FROM (SELECT $_[0] AS f OFFSET 0) s"; }

# The output of a session that continues after errors.
sub output
{
	my ($script) = @_;
	my (undef, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
	return wantarray ? ($out, $err) : $out;
}

# Without the errors that the scripts mean to raise.
sub without_division { return $_[0] =~ s/^.*ERROR:  division by zero(\n|\z)//mgr; }

my $use_buffers = 'SELECT count(*) FROM other';

# --- one cursor

foreach my $name (sort keys %calls)
{
	my $query = query($calls{$name});
	my $want = value($node, 'postgres', $query);
	cmp_ok(scalar split(/\n/, $want), '>', 1, "$name: several rows");

	my ($out, $err) = output(qq{
		BEGIN; DECLARE c CURSOR FOR $query;
		SAVEPOINT s; FETCH 1 FROM c; ROLLBACK TO s;
		\\o /dev/null
		$use_buffers;
		\\o
		SAVEPOINT s2; FETCH 1 FROM c; RELEASE s2;
		SAVEPOINT s3; SELECT 1/0; ROLLBACK TO s3;
		FETCH ALL FROM c; CLOSE c; COMMIT});
	is($out, $want, "$name: the first row is fetched in a savepoint that is rolled back");
	is(without_division($err), '', "$name: without a message");

	($out, $err) = output(qq{
		BEGIN; DECLARE c CURSOR FOR $query;
		FETCH 1 FROM c;
		SAVEPOINT s; FETCH 1 FROM c; SELECT 1/0; ROLLBACK TO s;
		FETCH ALL FROM c; COMMIT});
	is($out, $want, "$name: the second row");

	($out, $err) = output(qq{
		BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR $query; FETCH 1 FROM c; ROLLBACK TO s;
		FETCH 1 FROM c;
		ROLLBACK;
		BEGIN; DECLARE c CURSOR WITH HOLD FOR $query; FETCH 1 FROM c; SAVEPOINT s; MOVE 0 FROM c; RELEASE s; COMMIT;
		FETCH ALL FROM c; CLOSE c});
	my ($first) = $want =~ /^(.*)\n/;
	is($out, "$first\n$want", "$name: WITH HOLD");
	like($err, qr/cursor "c" does not exist/, "$name: a cursor of the savepoint is dropped");

	($out, $err) = output(qq{
		BEGIN; DECLARE c SCROLL CURSOR FOR $query; FETCH 2 FROM c; MOVE ABSOLUTE 0 FROM c; FETCH ALL FROM c; SELECT 1/0; ROLLBACK;
		BEGIN; DECLARE c CURSOR FOR $query; FETCH 1 FROM c; SELECT 1/0; FETCH 1 FROM c; ROLLBACK;
		BEGIN; DECLARE c CURSOR FOR $query; FETCH 1 FROM c; CLOSE c;
		DECLARE c CURSOR FOR $query; FETCH 1 FROM c; COMMIT});
	is($out, join("\n", $want =~ /^(.*\n.*)\n/, $want, ($first) x 3), "$name: in an aborted transaction, closed, left open");
}

# --- labels of enums that a subtransaction renames: as with a cursor over the values

{
	sql($node, 'postgres', q{
		CREATE TYPE mood AS ENUM ('first', 'other');
		CREATE TABLE moods AS SELECT 'other'::mood AS m, repeat('x', 1000) AS pad FROM generate_series(1, 8000)});
	my $rename = q{ALTER TYPE mood RENAME VALUE 'other' TO 'renamed'};
	my %label = map { ($_ => q{SELECT substring(encode(f, 'escape') from 'other|renamed') FROM (SELECT }
		  . (read_call('moods', 'none', $_) =~ s/id,x,y/m,pad/r) . ' AS f OFFSET 0) s') } qw(text binary);
	# the first row of the binary format is its header
	foreach my $try ([ 'SELECT m FROM moods', '' ], [ $label{text}, '' ], [ $label{binary}, 'MOVE 1 FROM c;' ])
	{
		my ($query, $begin) = @$try;
		my ($out, $err) = output(qq{
			BEGIN; DECLARE c CURSOR FOR $query; $begin
			SAVEPOINT s; $rename; FETCH 1 FROM c; ROLLBACK TO s;
			FETCH 1 FROM c;
			$rename; FETCH 1 FROM c;
			ROLLBACK});
		is($out, "renamed\nother\nrenamed", "labels that a subtransaction renames: $query");
		is($err, '', 'no messages');
	}
}

# --- many cursors at a time

# Descriptors, and megabytes, of the session.
my $descriptors = q{SELECT count(*) FROM pg_ls_dir('/proc/self/fd')};
my $megabytes = q{SELECT substring(pg_read_file('/proc/self/status') from 'VmRSS:\s+(\d+)')::int / 1024};

# read: 100 that have a page pinned, and blocks of rows, which take a megabyte each
foreach my $many ([ 'files', 1000, files_call(3_000_000, 'none') ], [ 'small tables', 1000, read_call('small', 'zstd:1', 'text') ],
	[ 'tables', 100, read_call('t', 'none', 'text') ], [ 'chunks', 1000, "pardump.pg_pardump_chunks('small', 8192)" ])
{
	my ($what, $n, $call) = @$many;
	my $query = query($call);
	my $want = value($node, 'postgres', $query);
	my $declare = join ' ', map { "DECLARE c$_ CURSOR FOR $query; MOVE 1 FROM c$_;" } 1 .. $n;
	my ($out, $err) = output(qq{
		$descriptors;
		BEGIN; SAVEPOINT s; $declare ROLLBACK TO s;
		$declare
		SAVEPOINT s2; MOVE 0 FROM c1; ROLLBACK TO s2;
		$descriptors;
		$use_buffers;
		FETCH ALL FROM c$n;
		CLOSE ALL; COMMIT;
		BEGIN; $declare SELECT 1/0; ROLLBACK;
		$use_buffers});
	my ($before, $during, $used, @rest) = split /\n/, $out;
	is(pop @rest, $used, "$n cursors, $what: the session works afterwards");
	cmp_ok($during - $before, '<', 50, "$n cursors, $what: no file stays open");
	is(join("\n", @rest), $want =~ s/^.*(\n|\z)//r, "$n cursors, $what: rows");
	is(without_division($err), '', "$n cursors, $what: no message");
}

# --- memory of the codecs, which is malloc()ed

foreach my $call (read_call('t', 'zstd:1', 'text'), read_call('t', 'gzip', 'text'), read_call('t', 'lz4', 'raw'), files_call(3_000_000, 'zstd:3'))
{
	my $query = query($call);
	my @round = ("BEGIN; DECLARE c CURSOR FOR $query; MOVE 1 FROM c; SELECT 1/0; ROLLBACK;",
		"BEGIN; DECLARE c CURSOR FOR $query; SAVEPOINT s; MOVE 1 FROM c; ROLLBACK TO s; COMMIT;");
	my ($few, $many) = split /\n/, scalar output(join ' ', (@round) x 5, "$megabytes;", (@round) x 30, "$megabytes;");
	cmp_ok($many - $few, '<', 20, 'the memory of codecs is freed, ' . $call =~ s/^.*'(\w+(:\d)?)'.*$/$1/rs);
}

# --- files that the end of a subtransaction removes

foreach my $change (
	[ 'table', 't', 'CLUSTER t USING t_pkey' ],
	[ 'index of a TOAST table', 'pg_toast_\d+_index', 'REINDEX TABLE t' ],
	[ 'new table', 'made', 'CREATE TABLE made AS SELECT * FROM t', 'made' ])
{
	my ($what, $name, $statement, $table) = @$change;
	# the table may not be known when the cursor is declared
	my $call = read_call($table // 't', 'none', 'text') =~ s/'(?=[\w']+, '\{)/pg_temp.table_of('/r =~ s/(table_of\('\w+')/$1)/r;
	my $query = query($call);
	my ($out, $err) = output(qq{
		CREATE FUNCTION pg_temp.table_of(text) RETURNS regclass LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN \$1::regclass; END';
		BEGIN; DECLARE c CURSOR FOR $query;
		SAVEPOINT s; $statement; FETCH ALL FROM c; ROLLBACK TO s;
		$use_buffers; ROLLBACK;
		BEGIN; SAVEPOINT s; $statement; RELEASE s;
		DECLARE c CURSOR FOR $query; SAVEPOINT s; MOVE 1 FROM c; ROLLBACK TO s; MOVE ALL FROM c; COMMIT;
		$use_buffers});
	like($err, qr/^\S+ ERROR:  cannot read "$name", whose file was created in a subtransaction\nHINT:  Release the savepoint, or use COPY \.\.\. TO STDOUT to read the table\.(\nCONTEXT: .*)?\z/,
		"$what: refused while it may be rolled back");
	is($out =~ s/^[0-9a-f]{32}\n//mgr, "20000\n20000", "$what: nothing else fails");
}

$node->stop;
unlike(slurp_file($node->logfile), qr/leak|not closed|still referenced|PANIC|TRAP|WARNING/, 'the log contains no leak or warning');
done_testing();
