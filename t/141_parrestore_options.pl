# pg_parrestore does what stock pg_restore does with the same options: the same
# schema and rows, the same exit code, as many errors.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program dump_ok new_path
  pg_major value sql tier);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore parrestore_ok by_stock same_as_stock_ok errors_ignored);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('parrestore');
my $major = pg_major($node);

make_database($node, 'modes', options => 'TEMPLATE template0', files => ['modes.sql'],
	vars => { part => 5 });
sql($node, 'modes', q{ALTER DATABASE modes SET work_mem = '5MB'});

my $ours = dump_ok($node, 'modes', 'chunks', 'pg_pardump', '-j2', '--max-table-segment-pages=12');
my $stocks = new_path('stock');
run_program('pg_dump', '-Fc', '-f', $stocks, '-d', $node->connstr('modes'));

# What -d names need not be empty: most tests begin with a copy of one of these.
make_database($node, $_, options => 'TEMPLATE template0') foreach qw(with_schema with_all);
run_program('bash', '-c', 'pg_dump -s -d "$0" | psql -Xq -d "$1"', $node->connstr('modes'), $node->connstr('with_schema'));
run_program('pg_restore', '-d', $node->connstr('with_all'), $stocks);

# Both archives, ours with chunks, and stock's.  Where stock pg_restore has no error with
# the one, it makes the same of the other, which 020 and the highest tier show.
sub option_ok
{
	my ($what, %params) = @_;
	my $stock = by_stock($node, $stocks, %params);
	my @same = $stock->{rc} == 0 && tier() < 3 ? (stock => $stock) : ();
	same_as_stock_ok($node, $ours, "$what, ours", %params, @same) if !$params{only_stocks};
	return same_as_stock_ok($node, $stocks, "$what, stock's", %params, stock => $stock);
}

# --- which entries

option_ok('schema', options => ['-s']);
option_ok('sections one and two', options => [ '--section=pre-data', '--section=data' ]);
option_ok('a table', options => [ '-t', 'history', '-t', 'toast', '-j2' ]);
option_ok('a schema', options => [ '-n', 'public', '-j2' ]);
option_ok('not a schema', options => [ '-N', 'public' ]);
option_ok('a table of two schemas', options => [ '-t', 'accounts', '-j2' ]);
option_ok('an index, a function', options => [ '-I', 'history_account', '-P', 'spoil()' ],
	template => 'with_all',
	prepare => sub { sql($node, $_[0], 'DROP INDEX history_account'); });
option_ok('-x -O', options => [ '-x', '-O', '--no-comments', '--no-tablespaces', '--no-security-labels', '-j2' ]);
option_ok('data and triggers', options => [ '-a', '--disable-triggers' ], template => 'with_schema',
	only_stocks => 1);
option_ok('rows of a table', options => [ '--section=data', '-t', 'toast', '-j2' ],
	template => 'with_schema');

# the README's limit: chunks that are loaded side by side with triggers off
{
	my ($theirs, $its) = ('triggers_stock', 'triggers_ours');
	make_database($node, $_, options => 'TEMPLATE with_schema') foreach ($theirs, $its, 'triggers_firing');
	run_program('pg_restore', '-a', '--disable-triggers', '-d', $node->connstr($theirs), $stocks);
	parrestore_ok($node, $its, $ours, 'triggers', '-a', '--disable-triggers', '-j4');
	same_database_ok($node, $its, fingerprint($node, $theirs), schema_text($node, $theirs),
		'chunks with --disable-triggers -j4');

	# triggers that fire anyway
	sql($node, 'triggers_firing', q{CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER "it fires" BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION fires();
		ALTER TABLE accounts ENABLE REPLICA TRIGGER "it fires"});
	my ($rc, undef, $err) = run_program('pg_parrestore', '-a', '--disable-triggers', '-d', $node->connstr('triggers_firing'), $ours);
	is($rc, 1, 'a trigger that is enabled REPLICA: exit code');
	like($err, qr/does not disable triggers that are enabled as ALWAYS or REPLICA\n.*detail: Triggers: "it fires" on public\.accounts\b/, 'a trigger that is enabled REPLICA: message');
	is(value($node, 'triggers_firing', 'SELECT count(*) FROM ONLY accounts'), 0, 'a trigger that is enabled REPLICA: no row is loaded');
}

# foreign keys that are there: what is referenced comes first, and a table that
# references itself all at once
{
	make_database($node, 'keys', options => 'TEMPLATE template0');
	sql($node, 'keys', q{
		CREATE TABLE z (id int PRIMARY KEY, up int REFERENCES z, fill text);
		CREATE TABLE m (id int PRIMARY KEY, z int REFERENCES z);
		CREATE TABLE a (m int REFERENCES m);
		INSERT INTO z SELECT i, 20001 - i, repeat('x', 50) FROM generate_series(1, 20000) i;
		INSERT INTO m SELECT i, i FROM generate_series(1, 2000) i;
		INSERT INTO a SELECT i FROM generate_series(1, 2000) i});
	my $archive = dump_ok($node, 'keys', 'keys', 'pg_pardump', '--max-table-segment-pages=16');
	my $db = empty_copy($node, 'keys', 'keys_copy');
	parrestore_ok($node, $db, $archive, 'keys', '-s');
	parrestore_ok($node, $db, $archive, 'keys', '-a', '-j3');
	same_database_ok($node, $db, fingerprint($node, 'keys'), schema_text($node, 'keys'),
		'data under foreign keys');
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-a');
	is($rc, 1, 'the same rows again: exit code');
	like($err, qr/COPY failed for \d+ chunks of table public\.z: .*z_pkey/, 'the same rows again: the chunks of one COPY');

	# so it is where definitions fail because they are there already
	$db = empty_copy($node, 'keys', 'keys_there');
	parrestore_ok($node, $db, $archive, 'keys there', '-s');
	($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j3');
	is($rc, 1, 'keys there: exit code');
	unlike($err, qr/violates foreign key/, 'keys there: no key is violated');
	same_database_ok($node, $db, fingerprint($node, 'keys'), schema_text($node, 'keys'),
		'rows under foreign keys that are there');
}

# keys in a circle: no order is right, as with pg_restore; --disable-triggers does
{
	make_database($node, 'circle', options => 'TEMPLATE template0');
	sql($node, 'circle', q{
		CREATE TABLE x (id int PRIMARY KEY, y int);
		CREATE TABLE y (id int PRIMARY KEY, x int REFERENCES x);
		INSERT INTO x SELECT i, i FROM generate_series(1, 100) i;
		INSERT INTO y SELECT i, i FROM generate_series(1, 100) i;
		ALTER TABLE x ADD FOREIGN KEY (y) REFERENCES y});
	my $archive = dump_ok($node, 'circle', 'circle', 'pg_pardump');
	run_parrestore($node, empty_copy($node, 'circle', 'circle_schema'), $archive, '-s');
	my $err = same_as_stock_ok($node, $archive, 'a circle', template => 'circle_schema',
		options => [ '-a', '-j3' ]);
	is(() = $err =~ /violates foreign key/g, 2, 'a circle: both keys are violated');
	$err = same_as_stock_ok($node, $archive, 'a circle, --disable-triggers', template => 'circle_schema',
		options => [ '-a', '-j3', '--disable-triggers' ]);
	is($err, '', 'a circle, --disable-triggers: no messages');
}

# a list, edited: another order, a table less
{
	my $list = new_path('list');
	my (undef, $lines) = run_program('pg_restore', '-l', $ours);
	my @lines = grep { !/^;/ && !/TABLE DATA public accounts / } split /\n/, $lines;
	append_to_file($list, join("\n", reverse(@lines)) . "\n");
	my (undef, undef, $err) = run_program('pg_parrestore', '-l', '-L', $list, $ours);
	is($err, '', '-l is stock\'s');
	my $forward = new_path('list');
	append_to_file($forward, join("\n", @lines) . "\n");
	same_as_stock_ok($node, $ours, 'a list', options => [ '-L', $forward, '-j2' ]);
}

SKIP:
{
	skip 'pg_restore has no --filter', 1 if $major < 17;
	my $filter = new_path('filter');
	append_to_file($filter, "include table accounts\n");
	option_ok('a filter', options => ["--filter=$filter"]);
	option_ok('--transaction-size', options => ['--transaction-size=3']);
}
SKIP:
{
	skip 'pg_restore has no --no-data', 1 if $major < 18;
	option_ok($_, options => [$_], template => $_ eq '--no-schema' ? 'with_schema' : undef)
	  foreach qw(--no-data --no-schema --no-policies);
}

# --- what is there already

option_ok('a table that is there', options => ['-j2'], ours => ['--allow-existing'], prepare => sub {
	sql($node, $_[0], q{CREATE SCHEMA other; CREATE TABLE other.accounts (id int, v text);
		INSERT INTO other.accounts VALUES (0, 'was there')});
});
option_ok('--no-data-for-failed-tables', options => ['--no-data-for-failed-tables'],
	template => 'with_all', only_stocks => 1);
option_ok('--clean', options => ['-c'], template => 'with_all');
option_ok('--clean of nothing', options => [ '-c', '-j2' ]);
option_ok('--if-exists', options => [ '-c', '--if-exists' ], template => 'with_all');
option_ok('exit on error', options => ['-e'], template => 'with_all');
{
	empty_copy($node, 'modes', 'clean_stops');
	my ($rc, undef, $err) = run_program('pg_parrestore', '-e', '-c', '-d', $node->connstr('clean_stops'), $stocks);
	is($rc, 1, 'exit on an error of --clean: exit code');
	like($err, qr/error: could not execute query: ERROR: .* does not exist/, 'exit on an error of --clean: message');
	is(value($node, 'clean_stops', q{SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace}), 0,
		'exit on an error of --clean: no relation is created');
}

# the README's limit
{
	my $db = 'failed_tables';
	make_database($node, $db, options => 'TEMPLATE with_all');
	my ($data, $schema) = (fingerprint($node, $db), schema_text($node, $db));
	my ($rc, undef, $err) = run_parrestore($node, $db, $ours, '-j3', '--no-data-for-failed-tables');
	is($rc, 1, 'chunks of failed tables: exit code');
	cmp_ok(errors_ignored($err), '>', 5, 'chunks of failed tables: errors');
	same_database_ok($node, $db, $data, $schema, 'chunks of failed tables are not loaded again');
}

# --- what the others have not got

{
	sql($node, 'postgres', 'CREATE ROLE limited');
	make_database($node, 'selected', options => 'TEMPLATE template0');
	sql($node, 'selected', q{
		CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
		CREATE TABLE guarded (id int, v text) USING other_heap;
		INSERT INTO guarded SELECT g, 'row ' || g FROM generate_series(1, 500) g;
		ANALYZE guarded;
		GRANT ALL ON guarded TO limited;
		CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER passes BEFORE UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION pass();
		CREATE PUBLICATION published FOR TABLE guarded;
		CREATE SUBSCRIPTION subscribed CONNECTION 'host=/nowhere' PUBLICATION published WITH (connect = false, slot_name = NONE)});
	my $archive = new_path('selected');
	run_program('pg_dump', '-Fc', $major >= 18 ? '--statistics' : (), '-f', $archive, '-d', $node->connstr('selected'));
	my $definitions = sub { run_program('pg_restore', '-s', '-d', $node->connstr($_[0]), $archive) };
	my $superuser = value($node, 'postgres', 'SELECT current_user');
	foreach my $case (
		[ [ '--no-publications', '-j2' ] ],
		[ ['--no-subscriptions'] ],
		[ [ '--no-table-access-method', '-Fc', '-R' ] ],
		[ [ '-a', '--disable-triggers', '-S', $superuser ], '' ],
		[ [ '-T', 'guarded passes' ], 'DROP TRIGGER passes ON guarded' ],
		[ [ '-a', '--role=limited' ], 'ALTER TABLE guarded ENABLE ROW LEVEL SECURITY' ],
		[ [ '-a', '--role=limited', '--enable-row-security' ], 'ALTER TABLE guarded ENABLE ROW LEVEL SECURITY' ])
	{
		my ($options, $change) = @$case;
		my $prepare = defined $change ? sub { $definitions->(@_); sql($node, $_[0], $change); } : undef;
		my $err = same_as_stock_ok($node, $archive, "@$options", source => 'selected', options => $options, prepare => $prepare);
		like($err, qr/row-level security/, "@$options: the server's words") if "@$options" =~ /limited/;
	}
	my @said = map { (run_program($_, '--restrict-key=abc', '-d', $node->connstr('selected'), $archive))[2] =~ s/^\w+: //r }
	  qw(pg_restore pg_parrestore);
	like($said[0], qr/restrict-key/, '--restrict-key is for a script');
	like($said[1], qr/\Q$said[0]\E/, '--restrict-key: as pg_restore');

	# statistics, which are told by another dump
	my $statistics = sub {
		my ($db) = @_;
		my (undef, $told) = run_program('pg_dump', '--statistics-only', '-d', $node->connstr($db));
		return $told =~ s/^\\(?:un)?restrict \w+$//mgr;
	};
	foreach my $options ($major < 18 ? () : ([], ['--statistics'], [ '--no-statistics', '--no-analyze' ],
			['--statistics-only'], [ '--section=post-data' ]))
	{
		my %told;
		foreach my $program (qw(pg_restore pg_parrestore))
		{
			my $db = empty_copy($node, 'selected', join '_', 'statistics', $program, map { tr/a-z//cdr } @$options);
			$definitions->($db) if "@$options" =~ /only|section/;
			my ($rc, undef, $err) = run_program($program, '-d', $node->connstr($db),
				(grep { !/analyze/ || $program eq 'pg_parrestore' } @$options), $archive);
			$told{$program} = "$rc " . $statistics->($db);
		}
		is($told{pg_parrestore}, $told{pg_restore}, "statistics, @$options: as pg_restore");
		like($told{pg_restore}, qr/'avg_width'/, "statistics, @$options: the archive contains statistics") if "@$options" !~ /no-statistics|section/;
	}
}

# --- --create

{
	my $schema = schema_text($node, 'modes');
	my $data = fingerprint($node, 'modes');
	my $settings = q{SELECT setconfig FROM pg_db_role_setting s JOIN pg_database d ON d.oid = setdatabase
		WHERE datname = 'modes'};
	my $want = value($node, 'postgres', $settings);
	my ($rc, undef, $err) = run_parrestore($node, 'postgres', $ours, '-C', '-j2', '--allow-existing');
	is($rc, 1, '--create of an existing database: exit code');
	like($err, qr/database "modes" already exists/, '--create of an existing database: message');
	sql($node, 'postgres', 'DROP DATABASE modes');
	parrestore_ok($node, 'postgres', $ours, '--create', '-C', '-j2', '-e');
	same_database_ok($node, 'modes', $data, $schema, '--create');
	is(value($node, 'postgres', $settings), $want, '--create: settings of the database');
	parrestore_ok($node, 'postgres', $stocks, '--create --clean', '-C', '-c', '-j2', '-e');
	same_database_ok($node, 'modes', $data, $schema, '--create --clean');
}

# --- a role

{
	sql($node, 'postgres', 'CREATE ROLE owner_of_all');
	my $db = empty_copy($node, 'modes', 'role');
	sql($node, $db, 'ALTER SCHEMA public OWNER TO owner_of_all;
		ALTER DATABASE role OWNER TO owner_of_all');
	parrestore_ok($node, $db, $ours, 'role', '--role=owner_of_all', '-O', '-x', '-t', 'history', '-j2');
	is(value($node, $db, q{SELECT relowner::regrole FROM pg_class WHERE relname = 'history'}),
		'owner_of_all', '--role');
}

# --- what stock pg_restore does

foreach my $options (['-l'], [ '-f', '-' ], [ '-f', '-', '-s' ])
{
	my (undef, $want) = run_program('pg_restore', @$options, $ours);
	my ($rc, $out, $err) = run_program('pg_parrestore', @$options, $ours);
	s/^\\(un)?restrict \w+$//mg foreach ($want, $out);
	is("$rc $err", '0 ', "@$options: no errors");
	ok($out eq $want, "@$options: as pg_restore");
}
{
	my ($rc, undef, $err) = run_program('pg_parrestore', $ours);
	is($rc, 1, 'neither -d nor -f: exit code');
	like($err, qr/^pg_restore: error: one of -d\/--dbname and -f\/--file must be specified$/m,
		'neither -d nor -f: as pg_restore');
	my $tar = new_path('tar');
	run_program('pg_dump', '-Ft', '-f', $tar, '-d', $node->connstr('modes'));
	foreach my $way ([ 'tar', $tar ], [ 'format', '-Ft', $tar ], [ 'single', '-1', $ours ])
	{
		my ($what, @options) = @$way;
		my $db = empty_copy($node, 'modes', "by_stock_$what");
		my ($rc, undef, $err) = run_parrestore($node, $db, pop @options, @options);
		is($rc, 0, "$what: exit code");
		like($err, qr/^pg_parrestore: warning: falling back to pg_restore\npg_parrestore: detail: .*\.\n\z/, "$what: message");
		same_database_ok($node, $db, fingerprint($node, 'modes'), schema_text($node, 'modes'), $what);
	}
	($rc, undef, $err) = run_program('pg_parrestore', '-d', $node->connstr('postgres'), '--progress', $tar);
	is($rc, 1, 'tar and our own option: exit code');
	like($err, qr/option --progress cannot be used, because pg_restore runs this restore/,
		'tar and our own option: message');
	($rc, undef, $err) = run_program('pg_parrestore', '-l', '--report=x', $ours);
	is($rc, 1, '-l and our own option: exit code');
	like($err, qr/option --report cannot be used without a database/, '-l and our own option: message');
}

# --- what is refused

foreach my $case (
	[ [ '-s', '-a' ], qr/options -[as].* and -[as].* cannot be used together/ ],
	[ [ '-a', '-c' ], qr/options -[ac].* and -[ac].* cannot be used together/ ],
	[ [ '-f', '-' ], qr/^pg_parrestore: error: options -d\/--dbname and -f\/--file cannot be used together$/m ],
	[ ['--if-exists'], qr/option --if-exists requires option -c\/--clean/ ],
	[ ['-j0'], qr/-j\/--jobs must be in range 1\.\.4096/ ],
	[ ['--nothing'], qr/unrecognized option/ ],
	[ [ '-F', 'x' ], qr/unrecognized archive format "x"/ ],
	[ [ '--progress', '--no-progress' ], qr/cannot be used together/ ],
	[ [ '-L', '/nonexistent' ], qr/could not open/ ],
	[ [ '-t', 'no_such_table', '--strict-names' ], qr/table "no_such_table" not found/ ],
	[ ['--pg-restore=/nonexistent'], qr/program "\/nonexistent" does not exist or is not executable/ ])
{
	my ($options, $message) = @$case;
	my ($rc, $out, $err) = run_parrestore($node, 'postgres', $ours, @$options);
	is("$rc $out", '1 ', "@$options: exit code");
	like($err, $message, "@$options: message");
}

$node->stop;
done_testing();
