# Tables of an extension whose keys and triggers exist before any row is loaded:
# CREATE EXTENSION makes them (TimescaleDB, topology of PostGIS).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database own_installation installed_at dump_ok run_program new_path sql value);
use Pardump::Databases qw(empty_copy);
use Pardump::Layout qw(layout_problems);
use Pardump::Toc qw(read_toc);
use PostgreSQL::Test::Utils;
use Test::More;

my $installation = own_installation();
plan(skip_all => 'the installation is not the tests\' own') if !defined $installation;
my $share = installed_at($installation, '--sharedir') . '/extension';

# The smaller the table, the later it is referenced: by its size alone pg_restore would
# take "leaf" first.
append_to_file("$share/keyed.control", "default_version = '1.0'\nrelocatable = false\nschema = public\n");
append_to_file("$share/keyed--1.0.sql", <<'SQL');
CREATE TABLE root (id int PRIMARY KEY);
CREATE TABLE node (id int PRIMARY KEY, root int REFERENCES root, v text);
CREATE TABLE leaf (id int, node int REFERENCES node, root int REFERENCES root, v text);
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree, v text);
CREATE TABLE one (id int PRIMARY KEY, other int);
CREATE TABLE other (id int PRIMARY KEY, one int REFERENCES one, v text);
ALTER TABLE one ADD FOREIGN KEY (other) REFERENCES other;
CREATE TABLE once (id int, v text);
CREATE FUNCTION skip_odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id % 2 = 1 THEN RETURN NULL; END IF; RETURN NEW; END';
CREATE TRIGGER skip BEFORE INSERT ON once FOR EACH ROW EXECUTE FUNCTION skip_odd();
DO $$ DECLARE name text; BEGIN
	FOREACH name IN ARRAY '{root,node,leaf,tree,one,other,once}'::text[] LOOP PERFORM pg_catalog.pg_extension_config_dump(name::regclass, ''); END LOOP;
END $$;
SQL

my $node = start_cluster('extension_tables', install_path => $installation);
make_database($node, 'keyed');
sql($node, 'keyed', <<'SQL');
CREATE EXTENSION keyed;
INSERT INTO root SELECT g FROM generate_series(1, 100) g;
INSERT INTO node SELECT g, g, repeat('n', 100) FROM generate_series(1, 100) g;
INSERT INTO node SELECT g, 1 + g % 100, repeat('n', 100) FROM generate_series(101, 3000) g;
INSERT INTO leaf SELECT g, 1 + g % 3000, 1 + g % 100, repeat('l', 100) FROM generate_series(1, 20000) g;
INSERT INTO tree SELECT g, nullif(g - 1, 0), repeat('t', 100) FROM generate_series(1, 2000) g;
INSERT INTO one SELECT g, NULL FROM generate_series(1, 10) g;
INSERT INTO other SELECT g, NULL, repeat('o', 100) FROM generate_series(1, 2000) g;
ALTER TABLE once DISABLE TRIGGER skip;
INSERT INTO once SELECT g, repeat('o', 100) FROM generate_series(1, 2000) g;
CREATE TABLE mine AS SELECT g FROM generate_series(1, 5000) g;
SQL
my @tables = qw(root node leaf tree one other mine);
my $count = 'SELECT ' . join(q{ || ' ' || }, map { "(SELECT count(*) FROM $_)" } @tables);
my $all = value($node, 'keyed', $count);
my $n = 0;

sub new_database
{
	my ($sql) = @_;
	my $db = empty_copy($node, 'keyed', 'restored' . ++$n);
	sql($node, $db, $sql) if $sql;
	return $db;
}

# restored_ok('what', 'sql to begin with', expected rows, rows of "once", command...)
sub restored_ok
{
	my ($what, $sql, $rows, $once, $message, @command) = @_;
	my $db = new_database($sql);
	my @to = $command[0] eq 'pg_pardump' ? ('--target', $node->connstr($db)) : ('-d', $node->connstr($db));
	my ($rc, undef, $err) = run_program(@command, @to);
	is($rc, 0, "$what: exit code") or diag($err);
	like($err, $message, "$what: messages");
	is(value($node, $db, $count), $rows, "$what: rows");
	is(value($node, $db, 'SELECT count(*) FROM once'), $once, "$what: rows that a trigger leaves out");
	sql($node, 'postgres', "DROP DATABASE $db");
	return;
}

my $silent = qr/\A\z/;
my $half = qr/\A(pg_\w+: warning: loaded \d+ rows? of .*public\.once.* the target stored \d+\npg_\w+: detail: A BEFORE INSERT trigger .*\npg_\w+: hint: If the rows are needed, .*\n)+\z/;
my @chunks = ('--max-table-segment-pages=20');
foreach my $kind ('whole tables', 'chunks', 'chunks by the extension')
{
	sql($node, 'keyed', 'CREATE EXTENSION pg_pardump') if $kind =~ /by the extension/;
	my @options = $kind eq 'whole tables' ? () : @chunks;
	my $dir = new_path('archive');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-j2', '-f', $dir, '-d', $node->connstr('keyed'), @options);
	is($rc, 0, "$kind: dumped");
	unlike($err, qr/pg_pardump: /, "$kind: no message but pg_dump's, of circles");
	is_deeply([ layout_problems($dir) ], [], "$kind: layout");
	if (@options)
	{
		my %entries;
		$entries{ $_->{tag} }++ foreach grep { $_->{desc} eq 'TABLE DATA' } @{ read_toc($dir)->{entries} };
		cmp_ok($entries{leaf}, '>', 3, "$kind: a table is split");
		is($entries{$_}, 1, "$kind: $_, whose keys form a circle, is not split") foreach qw(tree one other);
	}
	restored_ok("$kind, pg_restore -j1", undef, $all, 1000, $silent, 'pg_restore', $dir);
	restored_ok("$kind, pg_restore -j4", undef, $all, 1000, $silent, 'pg_restore', '-j4', $dir);
	restored_ok("$kind, pg_parrestore -j1", undef, $all, 1000, $half, 'pg_parrestore', $dir);
	restored_ok("$kind, pg_parrestore -j4", undef, $all, 1000, $half, 'pg_parrestore', '-j4', $dir);
	my @copied = ('pg_pardump', '-d', $node->connstr('keyed'), @options);
	restored_ok("$kind, a copy", undef, $all, 1000, qr/warning: loaded 2000 rows of .*public\.once, but the target stored 1000\n/, @copied)
	  if $kind eq 'whole tables';
	restored_ok("$kind, a copy -j4", undef, $all, 1000, qr/the target stored \d+\n/, @copied, '-j4');
	restored_ok("$kind, a copy --data-only", 'CREATE EXTENSION keyed; CREATE TABLE mine (g int)', $all, 1000, qr/the target stored \d+\n/, @copied, '-j4', '--data-only');
	next if $kind ne 'chunks';

	my $made = 'CREATE EXTENSION keyed; CREATE TABLE mine (g int)';
	foreach my $program ('pg_restore', 'pg_parrestore')
	{
		my $messages = $program eq 'pg_restore' ? $silent : $half;
		restored_ok("$program --section=data", $made, $all, 1000, $messages, $program, '-j4', '--section=data', $dir);
		restored_ok("$program --data-only", $made, $all, 1000, $messages, $program, '-j4', '--data-only', $dir);
		restored_ok("$program -t", 'CREATE EXTENSION keyed; CREATE TABLE mine ()', '100 3000 20000 0 0 0 0', 0, $silent,
			$program, '-j4', '--data-only', (map { ('-t', $_) } qw(root node leaf)), $dir);
		my $list = new_path('list');
		my (undef, $entries) = run_program('pg_restore', '-l', $dir);
		append_to_file($list, join '', map { "$_\n" } grep { !/ (TABLE DATA public (once|other|one|tree) |EXTENSION - pg_pardump)/ } split /\n/, $entries);
		restored_ok("$program -L", undef, '100 3000 20000 0 0 0 5000', 0, $silent, $program, '-j4', '-L', $list, $dir);
	}
}

# ---- rows that a trigger of the user's own leaves out, or inserts elsewhere

my $redirect = q{CREATE TABLE mine (g int); CREATE TABLE part () INHERITS (mine);
	CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.part VALUES (NEW.g); RETURN NULL; END'};
my $trigger = 'CREATE TRIGGER move BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION move()';
my $archive = dump_ok($node, 'keyed', 'mine', 'pg_pardump', '-t', 'mine');
my @commands = ([ 'pg_parrestore', '--data-only', $archive ], [ 'pg_pardump', '--data-only', '-t', 'mine', '-d', $node->connstr('keyed') ]);
foreach my $command (@commands)
{
	my ($program, @options) = @$command;
	my $moved = new_database("$redirect; $trigger");
	my @to = $program eq 'pg_pardump' ? ('--target', $node->connstr($moved)) : ('-d', $node->connstr($moved));
	my ($rc, undef, $err) = run_program($program, @options, @to);
	is($rc, 0, "$program, a redirecting trigger: exit code");
	like($err, qr/warning: loaded 5000 rows of .*table public\.mine.* the target stored 0\n/, "$program, a redirecting trigger: a warning");
	is(value($node, $moved, 'SELECT count(*) FROM part'), 5000, "$program, a redirecting trigger: rows");

	# one that does not fire in this session leaves nothing out
	my $db = new_database("$redirect; $trigger; ALTER TABLE mine DISABLE TRIGGER move");
	@to = $program eq 'pg_pardump' ? ('--target', $node->connstr($db)) : ('-d', $node->connstr($db));
	($rc, undef, $err) = run_program($program, @options, @to);
	is("$rc$err", '0', "$program, a disabled trigger: no message") if $program ne 'pg_pardump';
	is(value($node, $db, 'SELECT count(*) FROM ONLY mine'), 5000, "$program, a disabled trigger: rows");
}

# ---- an extension that the target's database cannot have (pg_cron)

append_to_file("$share/homely.control", "default_version = '1.0'\nrelocatable = false\nschema = public\n");
append_to_file("$share/homely--1.0.sql", <<'SQL');
DO $$ BEGIN
	IF current_database() <> 'home' THEN RAISE EXCEPTION 'can only create extension in database home'; END IF;
END $$;
CREATE TABLE job (id int PRIMARY KEY);
SELECT pg_catalog.pg_extension_config_dump('job', '');
SQL
# It cannot be created twice in one session, even if the first time is rolled back
# (TimescaleDB).
append_to_file("$share/aware.control", "default_version = '1.0'\nrelocatable = false\nschema = public\n");
append_to_file("$share/aware--1.0.sql", 'PREPARE remembered AS SELECT 1');
make_database($node, 'home');
sql($node, 'home', <<'SQL');
CREATE EXTENSION aware;
CREATE EXTENSION homely;
INSERT INTO job VALUES (1);
CREATE TABLE mine (g int PRIMARY KEY);
INSERT INTO mine SELECT generate_series(1, 5000);
CREATE TABLE other (g int REFERENCES mine);
INSERT INTO other VALUES (7);
SQL
my $homely = dump_ok($node, 'home', 'homely', 'pg_pardump');
my $rows = 'SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM other), to_regclass($$job$$),'
  . ' (SELECT count(*) FROM pg_extension WHERE extname = $$aware$$),'
  . ' (SELECT count(*) FROM pg_constraint WHERE connamespace = $$public$$::regnamespace AND contype IN ($$p$$, $$f$$))';
my $stock = new_database();
is((run_program('pg_restore', '-d', $node->connstr($stock), $homely))[0], 1, 'an extension cannot be created, pg_restore: exit code');
is(value($node, $stock, $rows), '5000|1||1|2', 'an extension cannot be created, pg_restore: all else is there');
foreach my $command ([ 'pg_parrestore', $homely ], [ 'pg_pardump', '--compare', '-d', $node->connstr('home') ], [ 'pg_pardump', '-j2', '-d', $node->connstr('home') ])
{
	my ($program, @options) = @$command;
	my $what = "an extension cannot be created, $program @options[0 .. $#options - 1]";
	my $db = new_database();
	my @to = $program eq 'pg_pardump' ? ('--target', $node->connstr($db)) : ('-d', $node->connstr($db));
	my ($rc, $out, $err) = run_program($program, @options, @to);
	is($rc, 1, "$what: exit code");
	like($err, qr/error: could not execute query: ERROR:  can only create extension in database home/, "$what: message");
	is(value($node, $db, $rows), value($node, $stock, $rows), "$what: all else is there");
	next if $program ne 'pg_pardump';
	like($err, qr/\Q$_/, "$what: $_") foreach (
		'warning: not copying rows of table public.job, which could not be created',
		'warning: errors ignored on copy: 1',
		'detail: Tables committed on the target with all rows: 2 of 3.',
		'detail: Incomplete tables: public.job.',
		'detail: Some objects could not be created; see the errors.');
	is($out, '', "$what: no summary");
	like($err, qr/error: table public\.job is only in source database "[^"]+"\n.*differ in 1 object/s, "$what: not compared")
	  if grep { $_ eq '--compare' } @options;
}

{
	# a table of the application with the name of the extension's
	my $db = new_database('CREATE TABLE job (id int)');
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr('home'), '--target', $node->connstr($db));
	is($rc, 1, 'a table has the name of an extension\'s: exit code');
	like($err, qr/warning: not copying rows of table public\.job, which could not be created\n/, 'a table has the name of an extension\'s: message');
	is(value($node, $db, 'SELECT count(*) FROM job'), 0, 'a table with the name of an extension\'s table: no row is loaded');
}

$node->stop;
done_testing();
