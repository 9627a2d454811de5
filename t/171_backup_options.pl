# The options of pg_parbasebackup: what is refused, and how; which rights a role
# needs; what it does with directories that are there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::BaseBackup qw(connection verify_backup_ok slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql listing);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);

sub refused_ok
{
	my ($message, @options) = @_;
	my $dir = new_path('refused');
	my ($rc, $out, $err) = run_program('pg_parbasebackup', connection($node), '--no-sync', '-D', $dir, @options);
	is("$rc$out", '1', "refused: @options");
	like($err, $message, "refused: @options: message");
	ok(!-e $dir, "refused: @options: nothing is created");
	return;
}

# ---- what only pg_basebackup can do

my $hint = qr/hint: Use pg_basebackup with the same options\.\n\z/;
foreach my $options ([ '-C', '-S', 'x' ], [ '-S', 'x' ], [ '-i', 'x' ], [ '-t', 'server:/x' ], ['--manifest-checksums=SHA256'], ['--manifest-force-encode'], [ '-D', '-' ])
{
	refused_ok(qr/error: .*not supported\n.*detail: .*\n.*$hint/, @$options);
}
refused_ok(qr/error: gzip is not supported\n.*hint: Use zstd or lz4, .*--compress=zstd, or use pg_basebackup\.\n\z/, @$_)
  foreach ['-z'], [ '-Z', '5' ], [ '-Ft', '-Z', 'gzip' ], [ '-Ft', '--compress=server-gzip' ];

# ---- what is wrong

foreach my $try (
	[ qr/invalid value "x" for option -X/, '-X', 'x' ],
	[ qr/only tar mode backups can be compressed/, '-Z', 'zstd' ],
	[ qr/invalid compression specification/, '-Ft', '-Z', 'x' ],
	[ qr/could not compress files on the server\n.*detail: The database has no extension pg_pardump\.\n.*hint: Use --compress=client-METHOD/, '-Ft', '-Z', 'server-zstd' ],
	[ qr/could not compress files on the server\n.*detail: Option --no-extension was specified\.\n/, '-Z', 'server-lz4', '--no-extension' ],
	[ qr/invalid checkpoint argument "x", must be "fast" or "spread"/, '-c', 'x' ],
	[ qr/database "odd:\/\/name" does not exist/, '-d', 'odd://name' ],
	[ qr/invalid output format "x", must be "plain" or "tar"/, '-F', 'x' ],
	[ qr/invalid value "x" for option --manifest-checksums/, '--manifest-checksums=x' ],
	[ qr/unrecognized sync method: x/, '--sync-method=x' ],
	[ qr/invalid value "0"|-j.*range/, '-j', '0' ],
	[ qr/must be an absolute path/, '--waldir', 'x' ],
	[ qr/must be "OLDDIR=NEWDIR"/, '-T', '/x' ],
	[ qr/must be "OLDDIR=NEWDIR"/, '-T', '/x=' ],
	[ qr/must be "OLDDIR=NEWDIR"/, '-T', '=/x' ],
	[ qr/multiple "=" signs/, '-T', '/x=/y=/z' ],
	[ qr/old directory is not an absolute path/, '-T', 'x=/y' ],
	[ qr/new directory is not an absolute path/, '-T', '/x\\=1=y' ],
	[ qr/--progress and --no-progress cannot/, '-P', '--no-progress' ],
	[ qr/--no-manifest and --manifest-checksums cannot/, '--no-manifest', '--manifest-checksums=none' ],
	[ qr/invalid value "" for option --report/, '--report=' ],
	[ qr/could not create file "\/nowhere\/x\.html": No such file/, '--report=/nowhere/x.html' ],
	[ qr/too many command-line arguments/, 'x' ],
	[ qr/backup label too long/, '-l', 'x' x 2000 ])
{
	my ($message, @options) = @$try;
	refused_ok($message, @options);
}
my ($rc, undef, $err) = run_program('pg_parbasebackup', connection($node));
is($rc, 1, 'no directory: exit code');
like($err, qr/no target directory specified/, 'no directory: message');

# ---- existing directories

my $full = new_path('full');
mkdir $full or die "could not make \"$full\": $!";
append_to_file("$full/mine", 'x');
my $empty = new_path('empty');
mkdir $empty or die "could not make \"$empty\": $!";
($rc, undef, $err) = run_program('pg_parbasebackup', connection($node), '-c', 'fast', '-D', $full);
is($rc, 1, 'a directory with a file: exit code');
like($err, qr/exists but is not empty\n.*hint: Specify another directory\.  Remove this one only if .*\n\z/, 'a directory with a file: message');
is(listing($full), 'mine', 'a directory with a file: the file is kept');
($rc, undef, $err) = run_program('pg_parbasebackup', connection($node), '-c', 'fast', '-D', $empty, '--waldir', $full);
is($rc, 1, 'a WAL directory with a file: exit code');
ok(-d $empty && listing($empty) eq '', 'a WAL directory with a file: the other directory is empty again');
# An existing directory keeps its mode, which other users may need to reach its parent.
my $mode_of = sub { return sprintf '%o', (stat $_[0])[2] & 07777 };
my ($empty_wal, $kept) = map { new_path($_) } qw(empty_wal kept);
foreach ($empty, $empty_wal, $kept)
{
	mkdir $_;
	chmod 01755, $_ or die "could not change mode: $!";
}
my @fails = (connection($node), '-c', 'fast', '-N', '-X', 'none', '-D');
($rc, undef, $err) = run_program('prlimit', '--fsize=10000', 'pg_parbasebackup', @fails, $empty, '--waldir', $empty_wal);
is($rc, 1, 'a run that fails when it writes: exit code');
like($err, qr/error: could not write file/, 'a run that fails when it writes: message');
is(join(' ', map { listing($_) . $mode_of->($_) } $empty, $empty_wal), '1755 1755', 'both existing directories are empty and have their modes');
($rc, undef, $err) = run_program('prlimit', '--fsize=10000', 'pg_parbasebackup', @fails, $kept, '--no-clean');
is("$rc " . $mode_of->($kept), '1 700', 'only the owner may read the kept files');
my $parents = new_path('parent') . '/child';
($rc, undef, $err) = run_program('pg_parbasebackup', connection($node), '-c', 'fast', '-N', '-D', $parents, '--sync-method=fsync');
is("$rc$err", '0', 'parents are made');
($rc, undef, $err) = run_program('pg_parbasebackup', connection($node), '-c', 'fast', '-D', $empty, '-s', '7',
	'--no-estimate-size');
is("$rc$err", '0', 'an empty one is taken, and all is flushed');
verify_backup_ok($empty, 'an empty directory');
foreach my $options ([ '--waldir=' . new_path('wal') ], ['-Ft'])
{
	my $synced = new_path('synced');
	($rc, undef, $err) = run_program('pg_parbasebackup', connection($node), '-c', 'fast', '-D', $synced, '--sync-method=syncfs',
		'-P', @$options);
	is($rc, 0, "--sync-method=syncfs $options->[0]");
	is(scalar(() = $err =~ /^syncing files to disk, /mg), 1, "--sync-method=syncfs $options->[0]: a stage of its own");
	verify_backup_ok($synced, "--sync-method=syncfs $options->[0]") if $options->[0] ne '-Ft';
}

# ---- a terminal shows what it waits for: a checkpoint that writes a page in a tenth
# of a second, as it has much time

sql($node, 'postgres', 'CREATE TABLE dirty AS SELECT repeat(\'x\', 1900) AS t FROM generate_series(1, 4000)');
my $spread = new_path('spread');
my $shown = '';
my $backup = IPC::Run::start([ 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'pg_parbasebackup', connection($node), '--no-sync', '-D', $spread ],
	'<', \'', '>pty>', \$shown, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$backup->pump until $shown =~ /waiting for the checkpoint \(-c fast speeds it up\), time 0:\d\d/;
$backup->signal('INT');
$backup->finish;
isnt($backup->full_result(0), 0, 'interrupted while it waits for the checkpoint: exit code');
ok(!-e $spread, 'interrupted while it waits for the checkpoint: nothing is left');

# ---- the privileges of the manual are sufficient and necessary

my ($grants) = slurp_file("$FindBin::RealBin/../doc/privileges.md") =~ /^    (CREATE ROLE backup LOGIN REPLICATION;\n.*?;)\n/ms;
sql($node, 'postgres', $grants);
my @role = ('-h', $node->host, '-p', $node->port, '-U', 'backup', '-c', 'fast', '--no-sync');
my $dir = new_path('role');
($rc, undef, $err) = run_program('pg_parbasebackup', @role, '-j2', '-D', $dir);
is("$rc$err", '0', 'a role with the privileges of the manual: exit code and messages');
verify_backup_ok($dir, 'a role with the privileges of the manual');
my $functions = join ' ', $grants =~ /FUNCTION (.*) TO/s;
foreach my $function ($functions =~ /(\w+\([^)]*\))/g)
{
	sql($node, 'postgres', "REVOKE EXECUTE ON FUNCTION $function FROM backup");
	$dir = new_path('role');
	($rc, undef, $err) = run_program('pg_parbasebackup', @role, '-D', $dir);
	my ($name) = $function =~ /^(\w+)/;
	is($rc, 1, "without privilege on $function: exit code");
	like($err, qr/error: role "backup" may not take a base backup\n.*detail: The role may not execute \Q$function\E\.\n.*hint: .*"postgres": (GRANT .*;)\n\z/,
		"without privilege on $function: message");
	ok(!-e $dir, "without privilege on $function: nothing is left");
	my ($grant) = $err =~ /(GRANT .*;)/;
	sql($node, 'postgres', $grant // '');
}
sql($node, 'postgres', 'ALTER ROLE backup NOREPLICATION');
($rc, undef, $err) = run_program('pg_parbasebackup', @role, '-D', new_path('role'));
is($rc, 1, 'without REPLICATION: exit code');
like($err, qr/detail: .* REPLICATION attribute .*\n.*hint: .*ALTER ROLE backup REPLICATION; or use --no-slot.*\n\z/, 'without REPLICATION: message');
$dir = new_path('role');
($rc, undef, $err) = run_program('pg_parbasebackup', @role, '--no-slot', '-D', $dir);
is("$rc$err", '0', 'without REPLICATION, --no-slot: exit code and messages');
verify_backup_ok($dir, 'without REPLICATION, --no-slot');
sql($node, 'postgres', 'ALTER ROLE backup REPLICATION');

# the extension is used if the role has the privilege; the role's other settings do not matter:
# the checkpoint takes longer than its timeout, at a tenth of a second for each page
# (19 knows standard strings only)
sql($node, 'postgres', "ALTER ROLE backup SET $_") foreach pg_major($node) < 19 ? 'standard_conforming_strings = off' : (), 'backslash_quote = off',
  'array_nulls = off',
  'bytea_output = escape', 'client_encoding = latin1', 'default_transaction_read_only = on', 'statement_timeout = 1000';
my ($more) = slurp_file("$FindBin::RealBin/../doc/privileges.md") =~ /^    (GRANT EXECUTE ON FUNCTION pardump\..*?;)\n/ms;
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
sql($node, 'postgres', 'CREATE TABLE pages AS SELECT repeat(\'x\', 1900) AS t FROM generate_series(1, 80); CHECKPOINT');
foreach my $try ([ 'SELECT 1', qr/^pg_parbasebackup: reading files with SQL\npg_parbasebackup: detail: The role may not use extension pg_pardump\.$/m ],
	[ $more, qr/^pg_parbasebackup: reading files with extension pg_pardump$/m ])
{
	my ($grant, $said) = @$try;
	sql($node, 'postgres', $grant);
	sql($node, 'postgres', 'UPDATE pages SET t = t');
	$dir = new_path('role');
	($rc, undef, $err) = run_program('pg_parbasebackup', @role, '-v', '-c', 'spread', '-D', $dir);
	is($rc, 0, "$grant: exit code");
	unlike($err, qr/warning/i, "$grant: without a warning");
	like($err, $said, "$grant: message about the extension");
	verify_backup_ok($dir, $grant);
}
sql($node, 'postgres', 'ALTER ROLE backup RESET ALL');
sql($node, 'postgres', 'DROP EXTENSION pg_pardump');

sql($node, 'postgres', 'ALTER ROLE backup NOREPLICATION');
($rc, undef, $err) = run_program('pg_parbasebackup', @role, '-D', new_path('role'));
is($rc, 1, 'without REPLICATION: exit code');
$dir = new_path('role');
($rc, undef, $err) = run_program('pg_parbasebackup', @role, '--no-slot', '-D', $dir);
is("$rc$err", '0', 'without REPLICATION, --no-slot: exit code and messages');
verify_backup_ok($dir, 'without REPLICATION, --no-slot');
is(slots_left($node), '', 'no slot is left');

# ---- a server that reports wrong values about itself

sub nonsense
{
	my ($message) = @_;
	return $message =~ /timeline/ ? qr/error: \Q$message\E\npg_parbasebackup: hint: Run the same command again\.\n\z/
	  : qr/error: unexpected answer from the server\npg_parbasebackup: detail: \Q$message\E.*\npg_parbasebackup: hint: .*connect to the server itself\.\n\z/;
}

foreach my $try (
	[ 'init', 'bytes_per_wal_segment', 0, 'The size of WAL segments, 0, is not a power of two from 1 MB to 1 GB.' ],
	[ 'system', 'catalog_version_no', -1, 'The catalog version "-1" is not a number.' ],
	[ 'checkpoint', 'timeline_id', 7, 'the server switched from timeline 1 to 7 while the backup started', '-X', 'none' ])
{
	my ($function, $column, $told, $message, @options) = @$try;
	sql($node, 'postgres', qq{
		SET allow_system_table_mods = on;
		CREATE TABLE public.told AS SELECT * FROM pg_catalog.pg_control_$function();
		ALTER FUNCTION pg_catalog.pg_control_$function() RENAME TO pg_control_true;
		DO \$\$ BEGIN EXECUTE (SELECT 'CREATE FUNCTION pg_catalog.pg_control_$function() RETURNS SETOF public.told LANGUAGE sql AS '
			|| pg_catalog.quote_literal('SELECT ' || pg_catalog.string_agg(CASE attname WHEN '$column' THEN '$told' ELSE attname END, ', ' ORDER BY attnum)
				|| ' FROM public.told') FROM pg_catalog.pg_attribute
			WHERE attrelid = 'public.told'::pg_catalog.regclass AND attnum > 0); END \$\$;});
	refused_ok(nonsense($message), '-c', 'fast', @options);
	sql($node, 'postgres', qq{
		SET allow_system_table_mods = on;
		DROP FUNCTION pg_catalog.pg_control_$function();
		DROP TABLE public.told;
		ALTER FUNCTION pg_catalog.pg_control_true() RENAME TO pg_control_$function});
}

# of the log as much as this would be named, and read, for days; and a label that would
# have a server recover from somewhere else
my ($lsn, $label) = qw(lsn labelfile);
foreach my $try (
	(map { [ "''$_''::pg_lsn", $label, "The end of the backup is $_, but its start is " ] } 'FFFFFFFF/FFFFFFFE', '0/1'),
	(map { [ $lsn, $_, 'The backup label does not match the start of this backup.' ] } q{''x''}, q{substr(labelfile, 2)},
		q{replace(labelfile, ''START WAL LOCATION: 0'', ''START WAL LOCATION: 1'')}),
	[ $lsn, q{replace(labelfile, ''START TIMELINE: 1'', ''START TIMELINE: 7'')},
		'the server switched from timeline 7 to 1 while the backup started' ])
{
	my ($end, $labelfile, $message) = @$try;
	sql($node, 'postgres', qq{
		SET allow_system_table_mods = on;
		ALTER FUNCTION pg_catalog.pg_backup_stop(boolean) RENAME TO pg_backup_stop_true;
		CREATE FUNCTION pg_catalog.pg_backup_stop(boolean, OUT lsn pg_lsn, OUT labelfile text, OUT spcmapfile text)
		LANGUAGE sql AS 'SELECT $end, $labelfile, spcmapfile FROM pg_catalog.pg_backup_stop_true(\$1)'});
	refused_ok(nonsense($message), '-c', 'fast');
	sql($node, 'postgres', q{
		SET allow_system_table_mods = on;
		DROP FUNCTION pg_catalog.pg_backup_stop(boolean);
		ALTER FUNCTION pg_catalog.pg_backup_stop_true(boolean) RENAME TO pg_backup_stop});
}

done_testing();
