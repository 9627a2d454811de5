# A restore that ends or is disturbed in the midst of its definitions, before and
# after the rows: a worker's connection is lost, the leader is killed, the server
# crashes, even while it commits.  It continues, or --resume does: all is there
# once, and as stock pg_restore makes it, with the same options.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path value sql);
use Pardump::Compare qw(fingerprint schema_text);
use Pardump::Copy qw(sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore errors_ignored restored_as_stock_ok);
use Pardump::Stopper qw(start_stopper start_stopped stop_stopper kill_stopped disturb);
use Pardump::Toc qw(read_toc write_toc);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('resume_definitions');
my $archive = new_path('archive');
my $copies = 0;

sql($node, 'postgres', 'CREATE ROLE poor; CREATE ROLE other; CREATE ROLE boss SUPERUSER');
make_database($node, 'origin');
sql($node, 'origin', q{
	CREATE SCHEMA s; ALTER SCHEMA s OWNER TO poor;
	CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
	CREATE TABLE s.parent (id int PRIMARY KEY, v text);
	INSERT INTO s.parent SELECT i, 'x' FROM generate_series(1, 500) i;
	CREATE TABLE s.child (id int PRIMARY KEY, parent int REFERENCES s.parent);
	INSERT INTO s.child SELECT i, i FROM generate_series(1, 100) i;
	CREATE TABLE s.grandchild (id int REFERENCES s.child, again int REFERENCES s.parent);
	INSERT INTO s.grandchild VALUES (1, 2);
	ALTER TABLE s.parent OWNER TO poor; ALTER TABLE s.child OWNER TO poor; ALTER TABLE s.grandchild OWNER TO poor;
	CREATE VIEW s.seen AS SELECT * FROM s.parent; ALTER VIEW s.seen OWNER TO poor;
	COMMENT ON VIEW s.seen IS 'as it is';
	CREATE TRIGGER t BEFORE INSERT ON s.parent FOR EACH ROW EXECUTE FUNCTION s.f();
	CREATE MATERIALIZED VIEW s.kept AS SELECT count(*) FROM s.parent; ALTER MATERIALIZED VIEW s.kept OWNER TO boss;
	GRANT SELECT ON s.seen TO other; GRANT UPDATE (v) ON s.parent TO poor});
run_program('pg_dump', '-Fc', '-f', $archive, '-d', $node->connstr('origin'));

# What stock pg_restore makes of it in a database that prepare has changed.
sub by_stock
{
	my ($prepare, @options) = @_;
	my $db = new_copy();
	$prepare->($db);
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($db), @options, $archive);
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('s') AND relkind = 'r'}),
		3, "stock pg_restore @options: tables") or diag($err);
	return { rc => $rc, errors => errors_ignored($err), data => fingerprint($node, $db), schema => schema_text($node, $db) };
}

# An empty database, in which an owner of objects may make these.
sub new_copy
{
	my $db = empty_copy($node, 'origin', 'copy' . ++$copies);
	sql($node, $db, "GRANT CREATE ON DATABASE $db TO poor");
	return $db;
}

sub resumed_ok
{
	my ($db, $stock, $what, @options) = @_;
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', @options);
	restored_as_stock_ok($node, $db, $stock, $rc, $err, $what);
	return;
}

# ---- what disturbs it, at which place, with which options

my $view = qr/CREATE VIEW s\.seen/;
my $key = qr/ADD CONSTRAINT child_parent_fkey/;
my $privilege = qr/GRANT SELECT ON TABLE s\.seen/;
my $refresh = qr/REFRESH MATERIALIZED VIEW/;
my %stock;

foreach (
	[ 'lost', $view, 'said', '--use-set-session-authorization', '--role=boss' ],
	[ 'lost', $view, 'committed', '--use-set-session-authorization' ],
	[ 'lost', $key, 'committed' ],
	[ 'lost', $privilege, 'commit', '--use-set-session-authorization' ],
	[ 'killed', $view, 'commit', '--use-set-session-authorization', '--role=boss' ],
	[ 'killed', $view, 'committed', '-e' ],
	[ 'killed', $key, 'said', '--role=boss' ],
	[ 'killed', $privilege, 'committed', '--use-set-session-authorization' ],
	[ 'killed', $refresh, 'said', '-O', '-x' ],
	[ 'crashed', $view, 'commit', '--use-set-session-authorization' ],
	[ 'crashed', $view, 'committed' ],
	[ 'crashed', $key, 'commit' ],
	[ 'crashed', $refresh, 'committed' ],
	[ 'crashed and killed', $view, 'committed' ],
	[ 'crashed and killed', $privilege, 'commit' ])
{
	my ($how, $what, $where, @options) = @$_;
	my $name = "$how, $what $where, @options";
	my $stock = $stock{"@options"} //= by_stock(sub { }, @options);
	my $db = new_copy();
	my $stopper = start_stopper($node, $what, $where);
	my $run = start_stopped($stopper, $db, '-j2', '--retries=9', @options, $archive);
	disturb($how, $node, $run, $stopper);
	if ($how =~ /killed/)
	{
		resumed_ok($db, $stock, $name, '-j2', @options);
	}
	else
	{
		my $rc = end_dump($run);
		like($run->{err}, qr/lost the connection of a worker; /, "$name: message about the lost connection");
		restored_as_stock_ok($node, $db, $stock, $rc, $run->{err}, $name);
	}
	stop_stopper($stopper);
}

# ---- --create

{
	my @create = ('-d', $node->connstr('postgres'), '--create');
	run_program('psql', '-Xqc', 'ALTER DATABASE origin RENAME TO source', '-d', $node->connstr('postgres'));
	my $stock = by_stock(sub { });
	my $stopper = start_stopper($node, $view, 'said');
	my $run = start_stopped($stopper, 'postgres', '--create', '-j2', '-e', $archive);
	kill_stopped($run, $stopper);
	stop_stopper($stopper);
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my ($rc, undef, $err) = run_parrestore($node, 'postgres', $archive, '--resume', '--create', '-j2', '-e');
	restored_as_stock_ok($node, 'origin', $stock, $rc, $err, '--create -e');
	is(value($node, 'origin', q{SELECT to_regnamespace('pardump_restore') IS NULL}), 't', '--create: no log is left');
}

# ---- an error, mended, and resumed

# The role is missing, so that what is to be its own cannot be made.
{
	my @options = ('-j2', '--use-set-session-authorization');
	my $stock = $stock{'--use-set-session-authorization'};
	my $db = new_copy();
	my $theirs = new_copy();
	sql($node, 'postgres', 'ALTER ROLE poor RENAME TO rich');
	my ($rc1, undef, $err1) = run_program('pg_restore', '-d', $node->connstr($theirs), $options[1], $archive);
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, @options);
	my $words = qr/error: could not set session user.*: ERROR:  role "poor" does not exist$/m;
	is("$rc1 $rc", '1 1', 'session user: exit codes');
	like($err1, $words, 'session user: message of stock pg_restore');
	like($err, $words, 'session user: message of pg_parrestore');
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('s')}),
		value($node, $theirs, q{SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('s')}),
		'session user: nothing more is made');
	sql($node, 'postgres', 'ALTER ROLE rich RENAME TO poor');
	resumed_ok($db, $stock, 'session user', @options);
}

# The names of a view, and of a key, are taken.  With a publication of all tables, ours among them.
foreach ([ 'CREATE PUBLICATION every FOR ALL TABLES; CREATE SCHEMA s; CREATE TABLE s.seen ()',
		'DROP PUBLICATION every; DROP TABLE s.seen; DROP SCHEMA s', qr/schema "s" already exists/ ],
	[ q{CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'child_parent_fkey') THEN RAISE 'refused'; END IF; END$$;
		CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse()},
		'DROP EVENT TRIGGER refuse; DROP FUNCTION refuse()', qr/ERROR:  refused/ ],
	[ q{CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
			IF to_regclass('s.seen') IS NOT NULL THEN RAISE 'refused'; END IF; END$$;
		CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION refuse()},
		'DROP EVENT TRIGGER refuse; DROP FUNCTION refuse()', qr/ERROR:  refused/ ])
{
	my ($spoil, $mend, $message) = @$_;
	my $db = new_copy();
	sql($node, $db, $spoil);
	foreach my $again ([], ['--resume'])
	{
		my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-e', '-j2', @$again);
		is($rc, 1, "-e @$again: exit code");
		like($err, $message, "-e @$again: message");
	}
	my $tables = q{SELECT string_agg(oid::text, ' ' ORDER BY oid) FROM pg_class
		WHERE relnamespace = to_regnamespace('s') AND relkind = 'r' AND relname <> 'seen'};
	my $before = value($node, $db, $tables);
	sql($node, $db, $mend);
	resumed_ok($db, $stock{'-e'}, "-e, $message", '-e', '-j2');
	like(value($node, $db, $tables), qr/^\Q$before\E/, "-e, $message: existing tables are not created again");
}

# ---- --no-data-for-failed-tables

foreach ([ $view, 'said' ], [ $key, 'said' ])
{
	my @options = ('--no-data-for-failed-tables');
	my $prepare = sub {
		sql($node, $_[0], 'CREATE SCHEMA s; CREATE TABLE s.grandchild (id int, again int); ALTER SCHEMA s OWNER TO poor');
	};
	my $stock = by_stock($prepare, @options);
	my $db = new_copy();
	$prepare->($db);
	my $stopper = start_stopper($node, @$_);
	my $run = start_stopped($stopper, $db, '-j2', @options, $archive);
	kill_stopped($run, $stopper);
	resumed_ok($db, $stock, "@options, $_->[0]", '-j2', @options);
	is(value($node, $db, 'SELECT count(*) FROM s.grandchild'), 0, "@options: no rows of a failed table");
	stop_stopper($stopper);
}

# ---- definitions that cannot be in a transaction, and one that would end it

# A copy of the archive, a directory, in which the function is another definition.
sub other_definition
{
	my ($defn) = @_;
	my $dir = new_path('other');
	run_program('pg_dump', '-Fd', '-f', $dir, '-d', $node->connstr('origin'));
	my $toc = read_toc($dir);
	my ($te) = grep { $_->{desc} eq 'FUNCTION' } @{ $toc->{entries} };
	@$te{qw(defn drop)} = ($defn, '');
	$toc->{entries} = [ grep { $_->{desc} ne 'TRIGGER' } @{ $toc->{entries} } ];
	write_toc($toc, $dir);
	return $dir;
}

{
	$archive = other_definition("CREATE DATABASE beside;\n");
	my $drop = sub { sql($node, 'postgres', 'DROP DATABASE beside'); return; };
	my $beside = q{SELECT count(*) FROM pg_database WHERE datname = 'beside'};
	my $stock = by_stock(sub { });
	is("$stock->{rc} " . value($node, 'postgres', $beside), '0 1', 'outside: stock pg_restore');
	my $spoiled = by_stock(sub { });
	is("$spoiled->{rc} $spoiled->{errors}", '1 1', 'outside: an error of stock, if it is there');

	# it is there
	my $db = new_copy();
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j2');
	restored_as_stock_ok($node, $db, $spoiled, $rc, $err, 'outside, an error');
	$db = new_copy();
	foreach my $again ([], ['--resume'], ['--resume'])
	{
		($rc, undef, $err) = run_parrestore($node, $db, $archive, '-e', '-j2', @$again);
		is($rc, 1, "outside, -e @$again: exit code");
		like($err, qr/database "beside" already exists\n\tCommand was: CREATE DATABASE beside/, "outside, -e @$again: message");
	}
	$drop->();
	resumed_ok($db, $stock, 'outside, mended', '-e', '-j2');
	is(value($node, 'postgres', $beside), 1, 'outside, after the cause was removed: the database is created');

	# a fault occurs before or after the database is created
	foreach ([ 'lost', 'said' ], [ 'lost', 'done' ], [ 'killed', 'done' ], [ 'crashed', 'done' ])
	{
		my ($how, $where) = @$_;
		my $name = "outside, $how, $where";
		$drop->();
		$db = new_copy();
		my $stopper = start_stopper($node, qr/CREATE DATABASE beside/, $where);
		# the first attempt is in a transaction, and fails
		my $run = start_stopped($stopper, $db, '-j2', '--retries=9', $archive);
		disturb($how, $node, $run, $stopper);
		resumed_ok($db, $stock, $name, '-j2') if $how eq 'killed';
		restored_as_stock_ok($node, $db, $stock, end_dump($run), $run->{err}, $name) if $how ne 'killed';
		stop_stopper($stopper);
		is(value($node, 'postgres', $beside), 1, "$name: the database is created");
	}
}
{
	$archive = other_definition('COMMIT; CREATE TABLE public.beside ()');
	my ($rc, undef, $err) = run_parrestore($node, new_copy(), $archive, '-j2');
	is($rc, 1, 'COMMIT: exit code');
	like($err, qr/error: an entry of the archive ended the transaction of the restore\n.*detail: Statement was: COMMIT; CREATE TABLE/, 'COMMIT: message');
}

$node->stop;
done_testing();
