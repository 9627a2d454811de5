# Filters and masks of --all-databases: each database has those that match in it,
# one that matches in none is an error before anything is made.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster run_program start_psql sql value);
use Pardump::Command qw(text_file);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('filters');
my %made = (
	large => q{
		CREATE TABLE orders (id int, total int); INSERT INTO orders SELECT g, g FROM generate_series(1, 20000) g;
		CREATE TABLE customers (id int, email text); INSERT INTO customers VALUES (1, 'secret@large');
		CREATE TABLE part (id int, email text) PARTITION BY RANGE (id); CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (9);
		INSERT INTO part VALUES (1, 'secret@part')},
	middle => q{
		CREATE TABLE orders (id int, total int); INSERT INTO orders SELECT g, g FROM generate_series(1, 5000) g;
		CREATE TABLE log (id int, email text); INSERT INTO log VALUES (1, 'plain@log'); CREATE TABLE empty ()},
	small => q{
		CREATE SCHEMA s; CREATE TABLE s.customers (id int, email text); CREATE TABLE s.made (a text, b text GENERATED ALWAYS AS (a || '!') STORED);
		INSERT INTO s.customers VALUES (1, 'secret@small');
		CREATE SEQUENCE s.numbers});
foreach my $name (sort keys %made)
{
	create_database($node, $name);
	sql($node, $name, $made{$name});
}
sql($node, 'postgres', q{ALTER DATABASE small SET search_path = s});
my @all = qw(large middle postgres small template1);

# All rows of a database's archive as text, or undef.
sub rows
{
	my ($dir, $name) = @_;
	my $archive = archive_of($dir, $name);
	return if !defined $archive;
	my ($rc, $out, $err) = run_program('pg_restore', '-a', '-f', '-', $archive);
	die "pg_restore failed: $err" if $rc != 0;
	return $out;
}

# dumped_ok('what', \@options, databases...): these, and no others, are dumped.
# Returns the directory.
sub dumped_ok
{
	my ($what, $options, @databases) = @_;
	my ($rc, $err, $dir) = dump_all($node, '-j2', @$options);
	is("$rc$err", '0', "$what: exit code");
	is_deeply([ sort map { $_->{Name} } @{ read_map($dir)->{Databases} } ], [ sort @databases ], "$what: databases");
	return $dir;
}

sub refused_ok
{
	my ($what, $message, @options) = @_;
	my ($rc, $err, $dir) = dump_all($node, '-j2', @options);
	is($rc, 1, "$what: exit code");
	like($err, qr/\Apg_pardump: error: $message(\npg_pardump: (hint|detail): .*)?\n\z/, "$what: message");
	ok(!-e $dir, "$what: no directory is created");
	return;
}

# ---- masks

my $dir = dumped_ok('a mask', [q{--mask=customers.email:'masked'}], @all);
unlike(rows($dir, $_), qr/secret\@$_/, "a mask: $_") foreach qw(large small);
like(rows($dir, $_), qr/^1\tmasked/m, "a mask: its value in $_") foreach qw(large small);
like(rows($dir, 'large'), qr/secret\@part/, 'a mask: another table');
like(rows($dir, 'middle'), qr/plain\@log/, 'a mask: another database');
refused_ok('a mask of no column', qr/pattern "customers\.e_male" of option --mask matches no column of any database/, q{--mask=customers.e_male:'a secret'});
refused_ok('a mask of a system column', qr/pattern "customers\.ctid" of option --mask matches no column of any database/, q{--mask=customers.ctid:NULL});
refused_ok('a mask of a catalog', qr/pattern "\*\.\*\.relname" of option --mask matches no column of any database/, q{--mask=*.*.relname:NULL});
refused_ok('a mask of no form', qr/invalid value "customers" for option --mask/, '--mask=customers');
my $masks = text_file('masks', "part.email: 'masked'\nmiddle.public.log.email: 'masked'\n# x\ns.*.email: 'masked'\n");
$dir = dumped_ok('a file of masks', ["--mask-file=$masks"], @all);
unlike(rows($dir, 'large'), qr/secret\@part/, 'a file of masks: a partition');
like(rows($dir, $_), qr/^1\tmasked$/m, "a file of masks: $_") foreach qw(large middle small);
append_to_file($masks, "part.e_male: NULL\nlog.e_male: NULL\n");
refused_ok('a file of which two match nowhere',
	qr/pattern "part\.e_male" of option --mask matches no column of any database\npg_pardump: error: pattern "log\.e_male" of option --mask matches no column of any database/,
	"--mask-file=$masks");

# one that is of a table which is not dumped there is no error
$dir = dumped_ok('a mask, and a table that is left out', [ q{--mask=*.*.email:'masked'}, '-T', 'log' ], @all);
unlike(rows($dir, $_), qr/secret/, "a mask, and a table that is left out: $_") foreach qw(large small);
unlike(rows($dir, 'middle'), qr/plain/, 'a mask, and a table that is left out: it is not dumped');

# nor is one whose value would be computed again a mask
my ($rc, $err);
($rc, $err, $dir) = dump_all($node, '-j2', '--mask=made.b:NULL');
is($rc, 1, 'a mask of a generated column: exit code');
like($err, qr/^pg_pardump:small: error: pattern .* matches no column that is dumped\n.*detail: The column is generated\./m, 'a mask of a generated column');
ok(!-e "$dir/databases/" . value($node, 'small', 'SELECT oid FROM pg_database WHERE datname = current_database()'), 'a mask of a generated column: no archive');

# ---- rows

$dir = dumped_ok('--where', ['--where=orders:id <= 10'], @all);
is(scalar(() = rows($dir, $_) =~ /^\d+\t\d+$/mg), 10, "--where: $_") foreach qw(large middle);
$dir = dumped_ok('--sample', ['--sample=customers:0'], @all);
unlike(rows($dir, $_), qr/secret\@$_/, "--sample: $_") foreach qw(large small);
dumped_ok('--where, a table without columns', ['--where=empty:false'], @all);
refused_ok('--where of no table', qr/pattern "nowhere" of option --where matches no table of any database/, '--where=nowhere:true', '--where=orders:true');
refused_ok('--sample of no table', qr/pattern "large\.s\.customers" of option --sample matches no table of any database/, '--sample=large.s.customers:1');
refused_ok('--where of no form', qr/invalid value "orders" for option --where/, '--where=orders');

# ---- tables and schemas

dumped_ok('-t', [ '-t', 'orders' ], qw(large middle));
dumped_ok('-t of a view of it all', ['--table=*.orders'], qw(large middle));
dumped_ok('-t, by the search path of each', [ '-t', 'customers' ], qw(large small));
dumped_ok('-t, a sequence', [ '-t', 's.numbers' ], 'small');
dumped_ok('-t, one of two', [ '-t', 'orders', '-t', 'nowhere' ], qw(large middle));
dumped_ok('-t, of one database', [ '-t', 'middle.public.orders' ], 'middle');
dumped_ok('-t, and a schema', [ '-t', 'orders', '-n', 'pub*' ], qw(large middle));
dumped_ok('-t and --strict-names', [ '--strict-names', '-t', 'log', '-t', 's.customers', '-n', 'public' ], qw(middle small));
dumped_ok('-n', [ '-n', 's' ], 'small');
dumped_ok('-n and --strict-names', [ '--strict-names', '--schema=s', '-n', 'pub*' ], @all);
refused_ok('-t of no table', qr/no matching tables were found in any database/, '-t', 'nowhere', '-t', 'no.where');
refused_ok('-n of no schema', qr/no matching schemas were found in any database/, '-n', 's', '-t', 'orders');
refused_ok('-t of another database', qr/no matching tables were found in any database/, '-t', 'large.public.log');
refused_ok('-t and --strict-names, one of two', qr/no matching tables were found for pattern "nowhere" in any database/, '--strict-names', '-t', 'orders', '-t', 'nowhere');
refused_ok('-n and --strict-names, one of two', qr/no matching schemas were found for pattern "nowhere" in any database/, '--strict-names', '-n', 's', '-n', 'nowhere');
refused_ok('-t of too many names', qr/improper relation name \(too many dotted names\): a\.b\.c\.d/, '-t', 'a.b.c.d');
refused_ok('-n of too many names', qr/improper qualified name \(too many dotted names\): small\.s/, '-n', 'small.s');
refused_ok('-t, and a mask of what is left out', qr/pattern "log\.email" of option --mask matches no column of any database/, '-t', 's.customers', '--mask=log.email:NULL');
($rc, $err) = dump_all($node, '-j2', '-v', '-t', 's.numbers');
is(scalar(() = $err =~ /^pg_pardump: excluding database ".*": it contains nothing that the options name$/mg), 4, '-v tells what is left out');
SKIP:
{
	skip 'pg_dump has no such option', 4 if (run_program('pg_dump', '--help'))[1] !~ /--table-and-children/;
	dumped_ok('--table-and-children', ['--table-and-children=part'], 'large');
	refused_ok('--table-and-children of no table', qr/no matching tables were found in any database/, '--table-and-children=nowhere');
}

# ---- a copy, and a look

my $target = start_cluster('filters_target');
my @copy = ('pg_pardump', '--all-databases', '-j2', '-d', $node->connstr('postgres'), '--target', $target->connstr('postgres'));
($rc, undef, $err) = run_program(@copy, '--mask=nowhere.email:NULL');
is($rc, 1, 'a copy, a mask of no column: exit code');
like($err, qr/error: pattern "nowhere\.email" of option --mask matches no column of any database/, 'a copy, a mask of no column');
is(value($target, 'postgres', 'SELECT count(*) FROM pg_database'), 3, 'a copy, a mask of no column: no database is created');
($rc, undef, $err) = run_program(@copy, '-t', 'orders');
is("$rc$err", '0', 'a copy of tables');
is(value($target, 'postgres', q{SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database}), 'large middle postgres template0 template1',
	'a copy of tables: databases without these are not created');
sql($target, 'postgres', "DROP DATABASE $_") foreach qw(large middle);
($rc, undef, $err) = run_program(@copy, q{--mask=customers.email:'masked'});
is("$rc$err", '0', 'a copy');
is(value($target, 'large', 'SELECT email FROM customers') . value($target, 'small', 'SELECT email FROM s.customers'), 'maskedmasked', 'a copy: masks');
$target->stop;
foreach my $look ('--dry-run', '--check')
{
	($rc, $err, $dir) = dump_all($node, $look, '--mask=customers.email:NULL');
	is($rc, 0, "$look: exit code") or diag($err);
	($rc, $err) = dump_all($node, $look, '--mask=nowhere.email:NULL');
	is($rc, 1, "$look, a mask of no column: exit code");
}

# ---- what does not match any more when the turn has come, or only then, is not left unmasked

{
	my $holder = start_psql($node, 'large');
	$holder->('BEGIN; LOCK TABLE orders');
	my $dump = start_dump($node->connstr('postgres'), '--all-databases', '-j1', q{--mask=customers.email:'masked'});
	wait_in_run($dump, 'the largest waits', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'large' AND wait_event_type = 'Lock'}) > 0;
	});
	sql($node, 'small', 'ALTER TABLE s.customers RENAME TO clients');
	sql($node, 'middle', q{CREATE TABLE customers AS SELECT 'secret@middle' AS email});
	$holder->('ROLLBACK');
	$holder->();
	is(end_dump($dump), 1, 'a table has another name meanwhile: exit code');
	like($dump->{err}, qr/^pg_pardump:small: error: pattern "customers\.email" of option --mask matches no column that is dumped/m, 'a table has another name meanwhile');
	is_deeply([ map { $_->{Name} } grep { $_->{State} eq 'failed' } @{ read_map($dump->{dir})->{Databases} } ], ['small'],
		'a table has another name meanwhile: the others are complete');
	like(rows($dump->{dir}, 'middle'), qr/^masked$/m, 'a table is made meanwhile: masked');
	unlike(rows($dump->{dir}, 'middle'), qr/secret/, 'a table is made meanwhile: nothing else');
	sql($node, 'small', 'ALTER TABLE s.clients RENAME TO customers');
	sql($node, 'middle', 'DROP TABLE customers');
}

# ---- a database that cannot be asked is that run's to fail

sql($node, 'postgres', 'CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper; REVOKE CONNECT ON DATABASE middle FROM public');
($rc, $err, $dir) = dump_all($node, '-j2', '-U', 'dumper', '--no-role-passwords', '--trust-owners', '--mask=customers.email:NULL');
is($rc, 1, 'a database that refuses connections: exit code');
like($err, qr/\npg_pardump: error: could not dump 1 of 5 databases\n.*detail: Failed databases: "middle"\.\n.*detail: The archives of the other databases are complete\.\n.*hint: .*: pg_pardump -f DIRECTORY "middle"\n\z/,
	'a database that refuses connections');
unlike(rows($dir, $_), qr/secret\@$_/, "a database that refuses connections: $_ is masked") foreach qw(large small);

$node->stop;
done_testing();
