# The owner of a schema on the target can rename it at any time, without waiting
# for anybody, and give its name to another one.  Rows go to the table that had
# the name when they began, or nowhere, and nothing else is emptied.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Background qw(end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster make_database dump_ok new_path run_program sql value);
use Pardump::Copy qw(start_copy sessions_left);
use Pardump::Gate qw(hold_gates hold close_gate open_gate wait_at_gate);
use Pardump::Restore qw(start_parrestore);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_cluster('names_source');
my $target = start_cluster('names_target');

# Rows wait in constraints: of the table that is meant at gate 42, of the
# other one of the same form, which gets its name, at gate 43.
my $table = 'CREATE SCHEMA s; CREATE TABLE s.t (id int, v text)';
my $names = q{
	CREATE FUNCTION public.wait(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared($1); RETURN true; END';
	CREATE SCHEMA other; CREATE TABLE other.t (id int, v text)};
make_database($_, 'names') foreach $source, $target;
sql($source, 'names', "CREATE EXTENSION pg_pardump; $table;
	INSERT INTO s.t SELECT g, repeat(md5(g::text), 3) FROM generate_series(1, 20000) g");
sql($target, 'names', "CREATE EXTENSION pg_pardump; $table; $names;
	ALTER TABLE s.t ADD CHECK (id <> 3000 OR public.wait(42));
	ALTER TABLE other.t ADD CHECK (id % 1000 <> 0 OR public.wait(43))");
hold_gates($target, 'names');

my $swap = 'ALTER SCHEMA s RENAME TO mine; ALTER SCHEMA other RENAME TO s';
my $back = 'ALTER SCHEMA s RENAME TO other; ALTER SCHEMA mine RENAME TO s';

# Starts a run that waits at gate 42, and gives the name away.
sub swapped
{
	my ($start, $db) = @_;
	close_gate(42);
	my $run = $start->();
	wait_at_gate($target, $run);
	sql($target, $db, $swap);
	return $run;
}

# How many rows are where they belong, and elsewhere.
sub rows
{
	my $rows = value($target, 'names', 'SELECT (SELECT count(*) FROM mine.t), (SELECT count(*) FROM s.t)');
	sql($target, 'names', "$back; TRUNCATE s.t, other.t");
	return split /\|/, $rows;
}

sub copy_of
{
	my ($format) = @_;
	return sub { start_copy($source, 'names', $target->connstr('names'), '-a', '-j1',
			"--copy-format=$format", '--max-table-segment-pages=64') };
}

my $given_away = qr/could not write rows\n.*detail: The name of the table now refers to another table\.\n.*Statement was: COPY s\.t /;

# ---- between two chunks

foreach my $format (qw(text binary))
{
	my $copy = swapped(copy_of($format), 'names');
	open_gate();
	is(end_dump($copy), 1, "$format: exit code") or diag($copy->{err});
	like($copy->{err}, $given_away, "$format: message");
	my ($rows, $others) = rows();
	is($others, 0, "$format: no row for the other table");
	cmp_ok($rows, '>', 0, "$format: the target has rows of a chunk from before the change");
}
{
	my $copy = swapped(copy_of('raw'), 'names');
	open_gate();
	is(end_dump($copy), 0, 'raw: exit code') or diag($copy->{err});
	is(join(' ', rows()), '20000 0', 'raw: all rows are where they belong');
}

# ---- for as long as a chunk takes

foreach my $format (qw(text binary))
{
	close_gate(43);
	my $copy = swapped(copy_of($format), 'names');
	hold('SELECT pg_advisory_unlock(42)');
	wait_in_run($copy, 'the other table gets rows', sub {
		value($target, 'names', q{SELECT count(*) FROM pg_locks
			WHERE locktype = 'advisory' AND objid = 43 AND NOT granted}) });
	sql($target, 'names', $back);
	open_gate();
	is(end_dump($copy), 1, "$format, for a chunk: exit code") or diag($copy->{err});
	like($copy->{err}, $given_away, "$format, for a chunk: message");
	sql($target, 'names', $swap);
	is((rows())[1], 0, "$format, for a chunk: no row for the other table");
}

# ---- between the small tables of a job, which are looked at together: the first
# one of them, which is the largest, waits

{
	my @tables = map { ("s.$_", "r.$_") } qw(t u);
	make_database($_, 'small') foreach $source, $target;
	sql($source, 'small', join ';', 'CREATE SCHEMA s; CREATE SCHEMA r',
		"CREATE TABLE s.first AS SELECT g AS id, 's.first' AS v FROM generate_series(1, 900) g",
		map { "CREATE TABLE $_ AS SELECT g AS id, '$_' AS v FROM generate_series(1, 5) g" } @tables);
	sql($target, 'small', join ';', $names, 'CREATE SCHEMA s; CREATE SCHEMA r; CREATE TABLE other.u (LIKE other.t)',
		'CREATE TABLE s.first (id int CHECK (id <> 300 OR public.wait(42)), v text)',
		map { "CREATE TABLE $_ (id int, v text)" } @tables);
	hold_gates($target, 'small');
	my $archive = new_path('small');
	run_program('pg_dump', '-Fc', '-f', $archive, '-d', $source->connstr('small'));
	foreach my $case (
		[ 'other tables', $swap, $back, '-n', 's' ],
		[ 'in turns', map({ join ';', map { "ALTER TABLE s.$_->[0] RENAME TO $_->[1]" } [qw(t x)], [qw(u t)], [qw(x u)] } 1, 2), '-n', 's' ],
		[ 'schemas in turns', map({ join ';', map { "ALTER SCHEMA $_->[0] RENAME TO $_->[1]" } [qw(s x)], [qw(r s)], [qw(x r)] } 1, 2) ])
	{
		my ($what, $give, $take, @options) = @$case;
		foreach my $start (
			[ 'copy', qr/could not write rows\n.*detail: The name of the table now refers to another table\.\n.*COPY [rs]\.[tu] /,
				sub { start_copy($source, 'small', $target->connstr('small'), '-a', '-j1', '--copy-format=text', @options) } ],
			[ 'restore', qr/COPY failed for table [rs]\.[tu]: the name of the table now refers to another table\n/,
				sub { start_parrestore($target, 'small', $archive, '-a', '-j1', @options) } ])
		{
			my ($way, $message, $run) = @$start;
			close_gate(42);
			$run = $run->();
			wait_at_gate($target, $run);
			sql($target, 'small', $give);
			open_gate();
			is(end_dump($run), 1, "$way, $what: exit code");
			like($run->{err}, $message, "$way, $what: message");
			sql($target, 'small', $take);
			is(value($target, 'small', 'SELECT ' . join ' + ', map { "(SELECT count(*) FROM $_ WHERE v <> '$_')" } @tables, 'other.t', 'other.u'),
				0, "$way, $what: no row for another table");
			sql($target, 'small', join ';', map { "TRUNCATE $_" } @tables, 's.first');
		}
		# all is well again
		open_gate();
		my $copy = start_copy($source, 'small', $target->connstr('small'), '-a', '-j1', '--copy-format=text', @options);
		is(end_dump($copy), 0, "copy, $what, undone: exit code") or diag($copy->{err});
		is(value($target, 'small', "SELECT count(*) FROM s.u WHERE v = 's.u'"), 5, "copy, $what, undone: rows");
		sql($target, 'small', join ';', map { "TRUNCATE $_" } @tables, 's.first');
	}
	hold();
	hold_gates($target, 'names');
}

# ---- a table that is emptied first

{
	$target->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0");
	$target->restart;
	make_database($_, 'emptied') foreach $source, $target;
	sql($source, 'emptied', "$table; $names; DROP SCHEMA other CASCADE;
		INSERT INTO s.t SELECT g, repeat(md5(g::text), 3) FROM generate_series(1, 20000) g;
		CREATE TABLE s.larger (id int CHECK (id <> 3000 OR public.wait(42)), v text);
		INSERT INTO s.larger SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 20000) g");
	sql($target, 'emptied', "$names; DROP FUNCTION wait; INSERT INTO other.t VALUES (1, 'theirs')");
	hold_gates($target, 'emptied');
	my $copy = swapped(sub { start_copy($source, 'emptied', $target->connstr('emptied'), '-j1') }, 'emptied');
	open_gate();
	is(end_dump($copy), 1, 'a table that is emptied first: exit code') or diag($copy->{err});
	like($copy->{err}, qr/could not truncate table s\.t\n.*detail: The name of the table now refers to another table\.\n.*hint: Do not rename or replace tables/,
		'a table that is emptied first: message');
	is(value($target, 'emptied', 'SELECT v FROM s.t'), 'theirs', 'a table that is emptied first: not the other one');
	hold();

	make_database($target, 'restored');
	sql($target, 'restored', "$names; DROP FUNCTION wait; INSERT INTO other.t VALUES (1, 'theirs')");
	hold_gates($target, 'restored');
	my $archive = new_path('emptied');
	run_program('pg_dump', '-Fc', '-f', $archive, '-d', $source->connstr('emptied'));
	my $restore = swapped(sub { start_parrestore($target, 'restored', $archive, '-j1') }, 'restored');
	open_gate();
	is(end_dump($restore), 1, 'a table that a restore empties first: exit code');
	like($restore->{err}, qr/COPY failed for table s\.t: the name of the table now refers to another table\n/,
		'a table that a restore empties first: message');
	is(value($target, 'restored', 'SELECT v FROM s.t'), 'theirs', 'a table that a restore empties first: not the other one');
	hold();
	hold_gates($target, 'names');
}

# ---- pg_parrestore

my $stock = new_path('stock');
run_program('pg_dump', '-Fc', '-f', $stock, '-d', $source->connstr('names'));
foreach my $case (
	[ 'chunks', dump_ok($source, 'names', 'chunks', 'pg_pardump', '--max-table-segment-pages=64'),
		qr/chunk \d+ of \d+ of table s\.t/, '-j1' ],
	[ 'pieces', $stock, qr/a piece of table s\.t/, '-j2', '--chunk-size=64kB' ])
{
	my ($what, $archive, $part, @options) = @$case;
	my $restore = swapped(sub { start_parrestore($target, 'names', $archive, '-a', @options) }, 'names');
	open_gate();
	is(end_dump($restore), 1, "$what: exit code") or diag($restore->{err});
	like($restore->{err}, qr/COPY failed for $part: the name of the table now refers to another table\n/,
		"$what: message");
	my ($rows, $others) = rows();
	is($others, 0, "$what: no row for the other table");
	cmp_ok($rows, '>', 0, "$what: the target has rows from before the change");
}

is(sessions_left($source, $target), 0, 'no session is left');
hold();
$source->stop;
$target->stop;
done_testing();
