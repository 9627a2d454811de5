# What cannot be is refused at once, with a message and often a hint; what
# pg_dump refuses comes with its own words.  Nothing is left behind.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  pg_major codecs);
use Pardump::Command qw(fake_pg_dump text_file data_files refused_ok
  accepted_ok);
use Pardump::Toc qw(read_toc toc_bytes);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('refusals');
my $major = pg_major($node);
make_database($node, 'refusals');
sql($node, 'refusals', <<'SQL');
CREATE ROLE loser LOGIN;
CREATE SCHEMA one;
CREATE TABLE one.t AS SELECT g FROM generate_series(1, 1000) g;
SQL
my $connstr = $node->connstr('refusals');

# ---- our own

my @db = ('-d', $connstr);
foreach my $format (qw(c custom p plain t tar T))
{
	like(
		refused_ok(qr/output format "$format" cannot be written in parallel/,
			"-F $format", @db, "-F$format"),
		qr/hint: .*pg_dump/, "-F $format: hint");
}
refused_ok(qr/invalid output format "x"/, '-F x', @db, '-Fx');
foreach my $option (qw(--inserts --column-inserts --attribute-inserts
	--on-conflict-do-nothing --rows-per-insert=10))
{
	my ($name) = $option =~ /^([^=]+)/;
	like(
		refused_ok(qr/option \Q$name\E is not supported/, $option, @db, $option),
		qr/hint: Use pg_dump/, "$option: hint");
}
like(
	refused_ok(qr/option --binary-upgrade is not supported/,
		'--binary-upgrade', @db, '--binary-upgrade'),
	qr/detail: .*pg_upgrade/, '--binary-upgrade: detail');

command_fails_like([ 'pg_pardump', @db ],
	qr/no output directory specified\n.*hint: .* -f DIRECTORY.* --pipe.* --target/, 'no -f');
command_fails_like([ 'pg_pardump', @db, '-f', '' ],
	qr/no output directory specified/, 'empty -f');
refused_ok(qr/too many command-line arguments \(first is "more"\)/,
	'two databases', 'options', 'more');
refused_ok(qr/too many command-line arguments \(first is "more"\)/,
	'-d and a database', @db, 'more');
refused_ok(qr/--no-chunks and --chunk-size cannot be used together/,
	'--no-chunks --chunk-size', @db, '--no-chunks', '--chunk-size=1MB');
refused_ok(qr/--no-chunks and --max-table-segment-pages cannot be used together/,
	'--no-chunks and pages', @db, '--no-chunks', '--max-table-segment-pages=2');
refused_ok(qr/--chunk-size and --max-table-segment-pages cannot be used together/,
	'size and pages', @db, '--chunk-size=1MB', '--max-table-segment-pages=2');
foreach my $size ('0', '-1', 'x', '1XB', '1.5MB', '', '99999999TB', '1MB1')
{
	refused_ok(qr/invalid value "\Q$size\E" for option --chunk-size\n.*hint: Specify a whole number greater than 0 with unit /,
		"--chunk-size=$size", @db, "--chunk-size=$size");
}
# a unit that was forgotten
foreach my $size ('12', '1', '1048575', '64 ')
{
	like(
		refused_ok(qr/invalid value "$size" for option --chunk-size\n.*detail: The unit is missing\.\n/,
			"--chunk-size=$size", @db, "--chunk-size=$size"),
		qr/hint: Use "B", "kB", "MB", "GB" or "TB", for example "${size}MB"/, "--chunk-size=$size: hint");
}
accepted_ok("--chunk-size=$_", @db, "--chunk-size=$_") foreach '1048576', '20000B', '12 kB';
foreach my $bad ([ '-j0', qr/-j\/--jobs must be in range/ ],
	[ '-jx', qr/invalid value "x" for option -j.*\n.*hint: Specify a number from 1 to 4096\.\n/ ],
	[ '-j-1', qr/-j\/--jobs must be in range/ ],
	[ '--jobs=2x', qr/invalid value "2x" for option -j/ ],
	[ '-j999999999999999999999', qr/-j\/--jobs must be in range/ ],
	[ '--max-table-segment-pages=0', qr/--max-table-segment-pages must be in range/ ],
	[ '--max-table-segment-pages=4294967296', qr/--max-table-segment-pages must be in range/ ],
	[ '--retries=-1', qr/--retries must be in range 0..1000/ ],
	[ '-r31', qr/-r\/--max-rate must be in range 32 kB\/s to/ ],
	[ '--max-rate=1G', qr/invalid value "1G" for option -r\/--max-rate/ ],
	[ '-r-1M', qr/-r\/--max-rate must be in range/ ],
	[ '--stall-timeout=x', qr/invalid value "x" for option --stall-timeout/ ],
	[ '--retries=1001', qr/--retries must be in range 0..1000/ ],
	[ '--max-table-segment-pages=a', qr/invalid value "a" for option --max-table/ ],
	[ '--extra-float-digits=4', qr/--extra-float-digits must be in range/ ],
	[ '--sync-method=hope', qr/unrecognized sync method: hope/ ],
	[ '-Zfoo', qr/unrecognized compression algorithm: "foo"/ ],
	[ '-Z10', qr/expects a compression level between 1 and 9/ ],
	[ '-Z-1', qr/compression/ ],
	[ '-Zgzip:10', qr/expects a compression level between 1 and 9/ ],
	[ '-Znone:1', qr/"none" does not accept a compression level/ ],
	[ '-Zgzip:workers=2', qr/"gzip" does not support option "workers"/ ],
	[ '-Zzstd:level=23', qr/expects a compression level between/ ],
	[ '-Zzstd:depth=1', qr/unrecognized compression option: "depth"/ ],
	[ '-Zgzip:', qr/found empty string/ ],
	[ '--lock-wait-timeout=soon', qr/invalid value for parameter "lock_timeout": "soon"/ ],
	[ '-EKLINGON', qr/invalid client encoding "KLINGON"/ ],
	[ '--role=nobody_there', qr/role "nobody_there" does not exist/ ],
	[ '--snapshot=none', qr/snapshot/ ],
	[ '--pg-dump=/nonexistent/pg_dump', qr/program "\/nonexistent\/pg_dump" does not exist or is not executable/ ],
	[ '--chunk-siz', qr/requires an argument/ ],
	[ '--no-such', qr/unrecognized option .*--no-such/ ])
{
	refused_ok($bad->[1], $bad->[0], @db, $bad->[0]);
}
foreach my $codec (grep { my $c = $_; !grep { $_ eq $c } codecs($node) } qw(lz4 zstd))
{
	like(
		refused_ok(qr/pg_restore of PostgreSQL $major cannot read .*"$codec"/,
			"-Z $codec", @db, '-Z', $codec),
		qr/hint: Use gzip or none/, "-Z $codec: hint");
}
refused_ok(qr/database "nowhere" does not exist/,
	'no such database', '-d', $node->connstr('nowhere'));
refused_ok(qr/No such file or directory/, 'no server', '-h', '/nonexistent');

my $full = new_path('full');
mkdir $full or die "could not create \"$full\": $!";
append_to_file("$full/precious", "x");
command_fails_like([ 'pg_pardump', @db, '-f', $full ],
	qr/directory "\Q$full\E" exists but is not empty\n.*hint: .* --clean-output /, 'a directory with a file');
is(join(' ', data_files($full)), 'precious', 'a directory with a file: the file still exists');
command_fails_like([ 'pg_pardump', @db, '-f', "$full/precious" ],
	qr/\Q$full\E\/precious/, 'a file as directory');
is(slurp_file("$full/precious"), 'x', 'a file as directory: its contents are not changed');
command_fails_like([ 'pg_pardump', @db, '-f', "$full/a/b" ],
	qr/could not create directory "\Q$full\E\/a\/b"/, 'no parent directory');
my $empty = new_path('empty');
mkdir $empty or die "could not create \"$empty\": $!";
command_fails([ 'pg_pardump', @db, '-f', $empty, '-t', 'nothing' ],
	'a failure with an empty directory');
ok(-d $empty && !data_files($empty), 'a failure with an empty directory: the directory still exists and is empty');
command_ok([ 'pg_pardump', @db, '-f', $empty, '-s' ], 'a dump to an empty directory succeeds');
ok(-f "$empty/toc.dat", 'an empty directory: the archive has a table of contents');

# ---- pg_dump's own messages

refused_ok(qr/^pg_dump: error: no matching tables were found$/m,
	'no matching table', @db, '-t', 'nothing');
refused_ok(qr/^pg_dump: error: no matching .*"nothing"/m,
	'strict names', @db, '--strict-names', '-t', 'one.*', '-t', 'nothing');
# (19 names them in the other order)
refused_ok(qr/^pg_dump: error: options (?=.*-s\/--schema-only)(?=.*-a\/--data-only).+ cannot be used together/m,
	'-s -a', @db, '-s', '-a');
refused_ok(qr/pg_dump: unrecognized option .--no-synchronized-snapshots/,
	'an option pg_dump does not know', @db, '--no-synchronized-snapshots');
refused_ok(qr/permission denied/, 'no privileges', '-U', 'loser', @db);

# What servers of newer minor releases keep among a column's options, and only
# their pg_dump leaves out.
sql($node, 'refusals', 'CREATE FOREIGN DATA WRAPPER none; CREATE SERVER none FOREIGN DATA WRAPPER none');
foreach my $table ([ 'TABLE', '(a int)' ], [ 'FOREIGN TABLE', '(a int) SERVER none' ],
	[ 'MATERIALIZED VIEW', 'AS SELECT 1 AS a' ])
{
	my ($kind, $definition) = @$table;
	sql($node, 'refusals', qq{CREATE $kind one.versions $definition;
		UPDATE pg_attribute SET attoptions = '{pg_attver=1}'
		WHERE attrelid = 'one.versions'::regclass AND attnum = 1 AND attoptions IS NULL});
	if ((run_program('pg_dump', @db, '-t', 'one.versions'))[1] =~ /pg_attver/)
	{
		refused_ok(qr/error: pg_dump [\d.]+.* is too old for a server of version .*\n.*detail: Its definitions of columns could not be restored\.\n.*hint: Update pg_dump/,
			"a pg_dump too old for the server, $kind", @db);
	}
	else
	{
		accepted_ok("column versions, which pg_dump knows, $kind", @db);
	}
	sql($node, 'refusals', "DROP $kind one.versions");
}
sql($node, 'refusals', 'DROP FOREIGN DATA WRAPPER none CASCADE');

my %broken = (
	'words and exit 3' => [ 'echo "pg_dump: error: out of ideas" >&2; exit 3',
		qr/^pg_dump: error: out of ideas\n.*pg_dump failed with exit code 3/ms, 3 ],
	'silent failure' => [ 'exit 1', qr/pg_dump failed with exit code 1/ ],
	'success without output' => [ 'exit 0', qr/could not read the output of pg_dump\n.*detail: The output ends within its header\.\n/ ],
	'garbage' => [ 'head -c 100000 /dev/zero >"$TOC"; exit 0',
		qr/error: .*pg_dump/ ],
	'text' => [ 'echo "-- PostgreSQL database dump" >"$TOC"; exit 0', qr/error: .*pg_dump/ ],
	'half a table of contents' => [ 'real_toc "$@" | head -c 1000 >"$TOC"',
		qr/could not read the output of pg_dump\n.*detail: The output ends within its table of contents\.\n/ ],
	'half a head' => [ 'real_toc "$@" | head -c 50 >"$TOC"',
		qr/could not read the output of pg_dump\n.*detail: The output ends within its header\.\n/ ],
	'death by signal' => [ 'kill -9 $$', qr/pg_dump was terminated by signal 9/ ],
	'death half way' => [ 'real_toc "$@" | head -c 900 >"$TOC"; kill -6 $$',
		qr/pg_dump was terminated by signal 6/ ],
	'a newer archive version' => [ '{ printf "PGDMP\001\143\000\004\010\003"; head -c 9000 /dev/zero; } >"$TOC"',
		qr/detail: Archive format 1\.99 is not supported\./ ]);
foreach my $what (sort keys %broken)
{
	my ($body, $message, $code) = @{ $broken{$what} };
	my $dir = new_path('broken');
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-f', $dir,
		'--pg-dump', fake_pg_dump('fake_pg_dump', $body));
	is($rc, $code // 1, "pg_dump: $what: exit code");
	like($err, $message, "pg_dump: $what: message");
	ok(!-e $dir, "pg_dump: $what: no directory left");
}

# A later pg_dump may have data that is neither a table's nor large objects: an
# archive without it must not be made.
{
	my $dir = accepted_ok('an archive to change', @db);
	my $pg_dump_with = sub {
		my $toc = read_toc($dir);
		push @{ $toc->{entries} }, { %{ $toc->{entries}[-1] }, id => 9999, deps => [], @_ };
		my $output = text_file('output', toc_bytes($toc));
		return fake_pg_dump('fake_pg_dump', "exec cat '$output' >\"\$TOC\"");
	};
	like(
		refused_ok(qr/error: pg_dump .* is too old for a server of version .*\n.*detail: Its definitions of columns could not be restored\./,
			'definitions of a pg_dump too old for the server', @db, '--pg-dump',
			$pg_dump_with->(desc => 'TABLE', defn => 'ALTER TABLE x ALTER COLUMN a SET (pg_attver=1);')),
		qr/hint: Update pg_dump .*, or use pg_pardump and pg_restore of PostgreSQL $major, /,
		'definitions of a pg_dump too old for the server: hint');
	my @new_kind = (desc => 'GRAPH DATA', tag => 'g', section => 3);
	refused_ok(qr/error: could not read the output of pg_dump\n.*detail: It contains data of an unknown kind: "GRAPH DATA"\.\n.*hint: Check that --pg-dump /,
		'data of an unknown kind', @db, '--pg-dump',
		$pg_dump_with->(@new_kind, had_dumper => 1));
	$dir = accepted_ok('an unknown kind without data', @db, '--pg-dump',
		$pg_dump_with->(@new_kind, had_dumper => 0));
	ok((grep { $_->{desc} eq 'GRAPH DATA' } @{ read_toc($dir)->{entries} }),
		'an unknown kind without data: the archive contains the entry');
}
like(
	refused_ok(qr/is pg_dump 12, which is too old/, 'pg_dump 12',
		@db, '--pg-dump',
		fake_pg_dump('fake_pg_dump', 'exit 0', 'pg_dump (PostgreSQL) 12.22 (Debian)')),
	qr/hint: Use pg_dump 15 or newer/, 'pg_dump 12: hint');
# Options that the pg_dump in use does not have yet; those of which --help says so.
my (undef, $help) = run_program('pg_pardump', '--help');
my %since = $help =~ /^  (--[a-z-]+=?)(?:(?!^  ?-).)*?\(pg_dump (\d+)\)$/msg;
cmp_ok(scalar(keys %since), '>=', 12, 'options of newer majors');
foreach my $option (sort keys %since)
{
	my $name = $option =~ s/=//r;
	my $given = $option eq $name ? $name : "${option}x";
	my ($before, $has) = ($since{$option} - 1, $since{$option});
	my $says = 'echo "pg_dump: error: was run" >&2; exit 1';
	my $path = fake_pg_dump('old_pg_dump', $says, "pg_dump (PostgreSQL) $before.1");
	like(
		refused_ok(qr/error: option $name requires pg_dump $has or newer, but this is pg_dump $before$/m,
			"$name, pg_dump $before", @db, $given, '--pg-dump',
			$path),
		qr/detail: .*"\Q$path\E"/, "$name, pg_dump $before: path of pg_dump");
	unlike(
		# on a newer server that pg_dump is refused, too, but for another reason
		refused_ok($has < $major ? qr/ cannot dump a newer server$/m : qr/^pg_dump: error: was run$/m,
			"$name, pg_dump $has", @db, $given,
			'--pg-dump', fake_pg_dump('new_pg_dump', $says, "pg_dump (PostgreSQL) $has.1")),
		qr/ requires pg_dump/, "$name, pg_dump $has: not refused");
}
like(
	refused_ok(qr/reported version 99, but ran as pg_dump \d/,
		'a wrapper of many majors', @db, '--pg-dump',
		fake_pg_dump('wrapper', 'exec "$PG_DUMP" "$@"', 'pg_dump (PostgreSQL) 99.1')),
	qr/hint: Use --pg-dump to specify the program itself instead of a wrapper/, 'a wrapper of many majors: hint');
refused_ok(qr/could not get the version of pg_dump from ".* --version"/, 'not a pg_dump',
	@db, '--pg-dump', fake_pg_dump('fake_pg_dump', 'exit 0', 'psql 15'));
refused_ok(qr/program ".*" does not exist or is not executable/, 'not executable', @db,
	'--pg-dump', text_file('no_program', ''));
accepted_ok('another pg_dump is used', @db, '--pg-dump',
	fake_pg_dump('fake_pg_dump', 'exec "$PG_DUMP" "$@"'));

# Without one beside pg_pardump the first in PATH is taken, or none.
my $lonely = new_path('bin');
mkdir $lonely or die "could not create \"$lonely\": $!";
my ($self) = grep { -x } map { "$_/pg_pardump" } split /:/, $ENV{PATH};
system_or_bail('cp', $self, "$lonely/pg_pardump");
{
	my $dir = new_path('lonely');
	local $ENV{PATH} = '/nonexistent';
	my ($rc, undef, $err) =
	  run_program("$lonely/pg_pardump", @db, '-f', $dir);
	is($rc, 1, 'no pg_dump anywhere: exit code');
	like($err, qr/"pg_dump" was found neither in the directory of pg_pardump nor in PATH.*hint: /s,
		'no pg_dump anywhere: message and hint');
}
command_ok([ "$lonely/pg_pardump", @db, '-s', '-f', new_path('lonely') ],
	'pg_dump is found in PATH');
{
	my $other = "$lonely/pg_dump";
	system_or_bail('mv', fake_pg_dump('other', 'exit 1', 'pg_dump (PostgreSQL) 99.1'), $other);
	my $dir = new_path('lonely');
	my ($rc, undef, $err) = run_program("$lonely/pg_pardump", @db, '-f', $dir);
	is($rc, 1, 'pg_dump of another major: exit code');
	like($err, qr/"\Q$other\E" is pg_dump 99, but this is pg_pardump of PostgreSQL \d+\n.*hint: /s,
		'pg_dump of another major: message and hint');
}

$node->stop;
done_testing();
