# Names chosen to do harm: they end lines, command terminals, leave quotes and
# directories.  Nothing of that reaches a message, an event, a file name or a
# statement, and the archive has them as they are.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program new_path restore_ok sql
  start_psql pg_major);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use PostgreSQL::Test::Utils;
use Test::More;

# Each of at most 50 bytes, and none a part of another.
my @names = (
	"line\npg_pardump: error: forged", "return\rpg_pardump: forged", "title\e]0;owned\a",
	"color\e[31mred", "c1\x{c2}\x{9b}31m", "back\bspace\x7f", "tab\there", "../../etc/name",
	"/absolute", "..", "it's", 'dou"ble; DROP TABLE x; --', 'back\\slash', '%s%n%1$s',
	'$(touch owned)', '`owned`', "x\n\\! touch owned", '\\.', "\x{c3}\x{a4}\x{e2}\x{82}\x{ac}");

my $node = start_cluster('hostile');

sub ident { return '"' . $_[0] =~ s/"/""/gr . '"'; }

# From 19 on those of databases and roles have no ends of lines.
sub global_name { return pg_major($node) >= 19 ? $_[0] =~ tr/\n\r/\x0b\f/r : $_[0]; }

my $db = global_name("db $names[0]");
sql($node, 'postgres', "CREATE DATABASE ${\ident($db)}");
my @statements = ('CREATE EXTENSION pg_pardump');
foreach my $i (0 .. $#names)
{
	my ($name, $other) = map { ident($_) } @names[ $i, ($i + 3) % @names ];
	my $role = ident(global_name($names[$i]));
	my $oid = 90000 + $i;
	push @statements,
	  "CREATE ROLE $role", "CREATE SCHEMA $name AUTHORIZATION $role",
	  "CREATE TABLE $name.$other ($name int PRIMARY KEY, $other text DEFAULT 'x')",
	  "INSERT INTO $name.$other SELECT g, repeat('y', 200) FROM generate_series(1, 1500) g",
	  "CREATE INDEX ${\ident(qq(i $names[$i]))} ON $name.$other ($other)",
	  "ALTER TABLE $name.$other OWNER TO $role",
	  "ALTER TABLE $name.$other ADD CONSTRAINT ${\ident(qq(c $names[$i]))} CHECK ($name > 0)",
	  "COMMENT ON TABLE $name.$other IS '" . $names[$i] =~ s/'/''/gr . "'",
	  "SELECT lo_create($oid)", "ALTER LARGE OBJECT $oid OWNER TO $role",
	  "CREATE PUBLICATION $name FOR TABLE $name.$other";
}
sql($node, $db, 'SET client_min_messages = error; SET standard_conforming_strings = on;'
	. join(';', @statements));
my ($data, $schema) = (fingerprint($node, $db), schema_text($node, $db));
my @db = ('-d', $node->connstr($db));

# No control characters but ends of lines and the tabs that continue them, and
# no line that a name began.
sub clean_ok
{
	my ($what, $text, $lines) = @_;
	unlike($text, qr/[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/, "$what: no control characters");
	my @strange = grep { !/^($lines|\t)/ } split /\n/, $text;
	is_deeply(\@strange, [], "$what: no line of another's");
	unlike($text, qr/^pg_pardump: (error: )?forged/m, "$what: no forged line");
	return;
}

sub dump_failed_cleanly
{
	my ($what, $message, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', new_path('failed'), '--no-sync', @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	clean_ok($what, $out . $err, 'pg_pardump: |pg_dump: ');
	return;
}

# ---- dumps

foreach my $reader ('--no-extension', '-v')
{
	my ($dir, $log) = (new_path('dump'), new_path('log'));
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '-f', $dir, '--no-sync', '-j2', '-P',
		'--max-table-segment-pages=10', "--log-json=$log", '--with-pardump-extension', $reader);
	is($rc, 0, "$reader: a dump");
	# with -v pg_dump speaks too
	clean_ok($reader, $err, 'pg_pardump: |pg_dump: |\d+%|dumped database |copied database |  \d+ tables?, |slowest table: |largest table: ');
	like($err, qr/^pg_dump: reading /m, "$reader: pg_dump is heard")
	  if $reader eq '-v';
	like($err, qr/chunk 1 of \d of table "line\\x0apg_pardump: error: forged"\./,
		"$reader: a name as it is shown") if $reader eq '-v';
	unlike(slurp_file($log), qr/[\x00-\x09\x0b-\x1f\x7f]/, "$reader: events");
	opendir my $dh, $dir or die "could not open \"$dir\": $!";
	is_deeply([ grep { !/^(\.\.?|[0-9a-z_]+(\.[a-z0-9]+)*)$/ } readdir $dh ], [], "$reader: file names");

	my $copy = global_name("copy $reader $names[0]");
	sql($node, 'postgres', "CREATE DATABASE ${\ident($copy)} TEMPLATE template0");
	restore_ok($node, $dir, $copy, $reader, '-j2');
	same_database_ok($node, $copy, $data, $schema, $reader);

	($rc, $out, $err) = run_program('pg_pardump', "--verify=$dir", '-j2');
	is("$rc$err", '0', "$reader: verified");
	my ($file) = grep { -s } glob "$dir/*.dat.*";
	append_to_file($file, 'x');
	append_to_file("$dir/odd\e[31m\nname", 'x');
	($rc, $out, $err) = run_program('pg_pardump', "--verify=$dir", '-j2');
	is($rc, 1, "$reader: damage");
	clean_ok("$reader: damage", $err, 'pg_pardump: ');
}
{
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '--dry-run', '--max-table-segment-pages=10');
	is("$rc$err", '0', 'dry run');
	clean_ok('dry run', $out, '.*');
	like($out, qr/^ "line\\x0apg_pardump: error: forged"\./m, 'dry run: a name as it is shown');
}

# From the environment libpq does not take a name for a connection string, as in -d.
{
	my $name = 'sslmode=forged';
	sql($node, 'postgres', qq(CREATE DATABASE "$name"));
	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, $name);
	my ($rc, undef, $err) = run_program('pg_pardump', '-v', '-f', new_path('string'), '--no-sync');
	is($rc, 0, 'the name of a database is a connection string: exit code');
	unlike($err, qr/could not open a second connection/, 'the name of a database is a connection string: all sessions');
}

# ---- what others say: the server, pg_dump, pg_restore

sql($node, $db, <<'SQL');
CREATE TABLE public.noticed AS SELECT 1 AS a;
CREATE FUNCTION public.notice() RETURNS boolean LANGUAGE plpgsql AS
$$BEGIN RAISE NOTICE E'first\npg_pardump: error: forged\r\x1b[31mred\n'; RETURN true; END$$;
SQL
foreach my $color ('never', 'always')
{
	local $ENV{PG_COLOR} = $color;
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '-f', new_path('noticed'), '--no-sync',
		'-t', 'public.noticed', '--where=public.noticed:public.notice()');
	is($rc, 0, "notice, color $color: exit code");
	is($err, "pg_pardump: NOTICE:  first\n\tpg_pardump: error: forged\\x0d\\x1b[31mred\n",
		"notice, color $color: shown");
	(undef, undef, $err) = run_program('pg_pardump', @db, '-f', new_path('color'), '--no-sync',
		'-t', 'public.noticed', '--where=public.noticed:1 / 0 = 0');
	like($err, $color eq 'always' ? qr/\A\e\[01mpg_pardump: \e\[0m/ : qr/\Apg_pardump: /,
		"color $color: a worker's message");
}
foreach my $try ([ 'a copy' ], [ 'a copy into what is there', $names[0] ])
{
	my ($what, $schema_there) = @$try;
	my $copy = global_name("$what $names[0]");
	sql($node, 'postgres', "CREATE DATABASE ${\ident($copy)} TEMPLATE template0");
	sql($node, $copy, "CREATE SCHEMA ${\ident($schema_there)}") if $schema_there;
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '--target', $node->connstr($copy), '-v', '-j2',
		'-N', 'public');
	is($rc, $schema_there ? 1 : 0, "$what: exit code");
	clean_ok($what, $err, 'pg_pardump: |pg_dump: |pg_restore: |\d+%|dumped database |copied database |  \d+ tables?, |slowest table: |largest table: ');
	like($err, qr/^pg_pardump: creating .*line\n\tpg_pardump: error: forged/m, "$what: message about the created object");
	like($err, qr/^pg_pardump: error: .*schema "line\n\tpg_pardump: error: forged" already exists/m,
		"$what: the server's error") if $schema_there;
}

# ---- failures that name something

dump_failed_cleanly('pg_dump fails', qr/^pg_dump: error: [^\n]*\n\tpg_pardump: error: forged/m, @db, '--strict-names',
	'-t', ident("nothing\npg_pardump: error: forged"));
dump_failed_cleanly('rows that cannot be read',
	qr/division by zero.*The worker was dumping (chunk 1 of \d of )?table "/s, @db,
	'-t', ident($names[0]) . '.*', '--trust-owners', '--where=*.*:1 / 0 = 0');
{
	my $holder = start_psql($node, $db);
	my $table = ident($names[0]) . '.' . ident($names[3]);
	$holder->("BEGIN; LOCK TABLE $table");
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-f', new_path('locked'),
		'--lock-wait-timeout=100');
	isnt($rc, 0, 'a lock: exit code');
	clean_ok('a lock', $err, 'pg_pardump: |pg_dump: ');
	$holder->();
}
ok(!-e 'owned', 'no name was executed as a command');

# ---- what a server says before the connection is there: a setting that is of no use,
# which the owner of a database may make

{
	my ($said, $shown) = (q{E'x\x1b[31m\npg_pardump: error: forged'}, q{"x\x1b[31m} . "\n\tpg_pardump: error: forged\"");
	sql($node, 'postgres', 'CREATE DATABASE settings');
	sql($node, 'settings', "CREATE TABLE t (a int); SET client_min_messages = warning; ALTER DATABASE settings SET default_tablespace = $said");
	my $archive = new_path('settings');
	foreach my $run (
		[ 'pg_pardump', '--no-sync', '-d', $node->connstr('settings'), '-f', $archive ],
		[ 'pg_parrestore', '--check', '-d', $node->connstr('settings'), $archive ],
		[ 'pg_pardump', '--check', '-d', $node->connstr('postgres'), '--target', $node->connstr('settings') ],
		[ 'pg_parbasebackup', '-c', 'fast', '--no-sync', '-X', 'none', '--no-slot', '-d', $node->connstr('settings'), '-D', new_path('settings') ])
	{
		my (undef, undef, $err) = run_program(@$run);
		like($err, qr/^WARNING:  invalid value for parameter "default_tablespace": \Q$shown\E$/m, "$run->[0]: first message of the server");
		unlike($err, qr/\x1b|^pg_pardump: error: forged/m, "$run->[0]: commands no terminal, and does not look like a message of ours");
	}
}

$node->stop;
done_testing();
