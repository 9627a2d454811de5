# Archives on an SSH server with sftp, written and read with rclone, with the privileges of
# the how-to: connections are cut in mid-file, and the disk is full.  The data is equal, or
# the run fails, and no archive looks complete that is not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value tier);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok);
use Pardump::Manifest qw(read_manifest);
use Pardump::SmallDisk qw(small_disk_problem on_small_disk);
use Pardump::Store qw(store_problem start_sftp_store set_fault clear_faults times_struck stored_names in_store client_config);
use PostgreSQL::Test::Utils;
use Test::More;

if (my $problem = store_problem('sftp'))
{
	plan skip_all => $problem;
}

# as the how-to has them
my $doc = slurp_file("$FindBin::RealBin/../doc/backup_to_object_storage.md");
my ($writer, $reader) = $doc =~ /^ +ForceCommand internal-sftp (.+)$/mg;
my $store = start_sftp_store(writer => $writer, reader => $reader);
my $as_reader = client_config(%{ $store->{reader}{settings} });
my $node = start_cluster('store_sftp');
make_database($node, 'shop', options => 'TEMPLATE template0');
# a long comment makes toc.dat long
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, md5(g::text) || md5((-g)::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE small AS SELECT g AS id, 'aaa' AS t FROM generate_series(1, 1000) g;
DO $$BEGIN EXECUTE 'COMMENT ON TABLE small IS ' || quote_literal((SELECT string_agg(md5(g::text), ' ') FROM generate_series(1, 6000) g)); END$$;
SELECT lo_from_bytea(4711, 'a large object');
SQL
my $data = fingerprint($node, 'shop');
my ($rc, $out, $err);
my $copies = 0;

# Below the highest tier, what depends on rclone or sshd alone is tried in one way.
my $all = tier() == 3;

sub put { return "rclone rcat store:backups/$_[0]/%f"; }
sub get { return "rclone cat --no-traverse store:backups/$_[0]/%f"; }

sub dump_to
{
	my ($place, @options) = @_;
	in_store('mkdir', "store:backups/$place");
	return run_program('pg_pardump', '-d', $node->connstr('shop'), '-j2', '-Z0', '--no-chunks', '--pipe=' . put($place), @options);
}

sub verify_piped
{
	local $ENV{RCLONE_CONFIG} = $as_reader;
	return run_program('pg_pardump', '--verify', '-j2', '--pipe=' . get($_[0]), @_[ 1 .. $#_ ]);
}

sub new_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0');
	return $db;
}

sub restore_into
{
	my ($db, $place, @options) = @_;
	local $ENV{TMPDIR} = temp_dir();
	local $ENV{RCLONE_CONFIG} = $as_reader;
	return run_program('pg_parrestore', '-d', $node->connstr($db), '-j2', '--pipe=' . get($place), @options);
}

sub restored_ok
{
	my ($db, $place, $what, @options) = @_;
	my ($restore_rc, undef, $said) = restore_into($db, $place, @options);
	is($restore_rc, 0, "$what: restored") or diag($said);
	same_data_ok($data, fingerprint($node, $db), $what);
	no_temp_files_ok($what);
	return $said;
}

# A dump has failed with this message.  What it left is not taken for an archive.
sub incomplete_ok
{
	my ($what, $place, $message, @result) = @_;
	is($result[0], 1, "$what: exit code");
	like($result[2], $message, "$what: message");
	isnt((run_program('pg_parrestore', '-l', '--pipe=' . get($place), '--retries=0'))[0], 0, "$what: pg_parrestore refuses it");
	isnt((verify_piped($place, '--retries=0'))[0], 0, "$what: --verify refuses it");
	return;
}

# ---- keys and privileges

# rclone repeats what is refused up to ten times otherwise
@ENV{qw(RCLONE_RETRIES RCLONE_LOW_LEVEL_RETRIES)} = (1, 1);
foreach my $try ([ 'another key', key_file => "$store->{dir}/other_key" ],
	$all ? [ 'another host', known_hosts_file => "$store->{dir}/sshd_config" ] : ())
{
	my ($what, @change) = @$try;
	local $ENV{RCLONE_CONFIG} = client_config(%{ $store->{settings} }, @change);
	($rc, undef, $err) = dump_to('refused');
	is($rc, 1, "$what, dump: exit code");
	like($err, qr/^pg_pardump: error: command for file "[^"]*" failed: /m, "$what, dump: message");
}
is_deeply([ stored_names('backups') ], [], 'refused: nothing is stored');

is((dump_to('first'))[0], 0, 'the writer: dumped');
my @names = stored_names('backups/first');
my ($big, $small) = map { my $table = $_; map { $_->{Path} } grep { $_->{Kind} eq 'rows' && $_->{Table} eq $table } @{ read_manifest("$store->{data}/backups/first")->{Files} } } qw(big small);
isnt((in_store('remove', "backups/first/$small"))[0], 0, 'the writer cannot remove a file');
isnt((in_store('purge', 'store:backups/first'))[0], 0, 'the writer cannot remove a directory');
{
	local $ENV{RCLONE_CONFIG} = $as_reader;
	($rc) = dump_to('readers');
	is($rc, 1, 'the reader cannot dump');
}
delete @ENV{qw(RCLONE_RETRIES RCLONE_LOW_LEVEL_RETRIES)};
is_deeply([ stored_names('backups') ], [ map { "first/$_" } @names ], 'the writer and the reader: the store is unchanged');
($rc, undef, $err) = verify_piped('first');
is("$rc$err", '0', 'the reader: verified');

# ---- all databases, whose directories are made first, as the how-to says

{
	my ($recipe) = $doc =~ /^(    rclone mkdir store:.*?^    done\n)/ms;
	local @ENV{qw(PGHOST PGPORT new)} = ($node->host, $node->port, 'all');
	my $where = 'store:backups/all/%d/%f';
	is(join('', run_program('bash', '-c', $recipe =~ s/store:\K\///gr =~ s/ -U backup//r)), '0', 'all databases: directories are made');
	is((run_program('pg_pardump', '--all-databases', '-j2', "--pipe=rclone rcat $where"))[0], 0, 'all databases: dumped');
	my @made = map { s/.*\///r } glob "$store->{data}/backups/all/databases/*";
	is_deeply([ sort @made ], [ sort split /\n/, sql($node, 'postgres', 'SELECT oid FROM pg_database WHERE datallowconn') ], 'all databases: the directories are those of the dump');
	local $ENV{RCLONE_CONFIG} = $as_reader;
	($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--verify', '-j2', "--pipe=rclone cat --no-traverse $where");
	is("$rc$err", '0', 'all databases: verified');
}

# ---- a restore

is(restored_ok(new_copy(), 'first', 'the reader'), '', 'the reader: nothing is said');

# ---- uploads that are cut: the incomplete file has its final name

set_fault($store, 'cut', match => qr/^CONNECT writer/, do => 'cut_request', bytes => 500_000, times => 1);
incomplete_ok('upload cut', 'cut', qr/^pg_pardump: error: command for file "\Q$big\E" failed: child process exited with exit code \d+\n/m, dump_to('cut'));
is(times_struck($store, 'cut'), 1, 'upload cut: it has occurred');
clear_faults($store);
ok(!-e "$store->{data}/backups/cut/toc.dat", 'upload cut: no toc.dat');
cmp_ok(-s "$store->{data}/backups/cut/$big", '<', -s "$store->{data}/backups/first/$big", 'upload cut: an incomplete file');

# toc.dat itself
{
	my $faults = "$store->{dir}/faults";
	set_fault($store, 'toc', match => qr/^CONNECT writer/, do => 'cut_request', bytes => 100_000);
	rename "$faults/toc.json", "$faults/toc.later" or die "could not rename the fault: $!";
	in_store('mkdir', 'store:backups/toc');
	my @result = run_program('pg_pardump', '-d', $node->connstr('shop'), '-j2', '-Z0', '--no-chunks',
		"--pipe=[ %f != toc.dat ] || mv $faults/toc.later $faults/toc.json; " . put('toc'));
	clear_faults($store);
	incomplete_ok('toc.dat cut', 'toc', qr/^pg_pardump: error: command for file "toc\.dat" failed: child process exited with exit code \d+\n/m, @result);
	cmp_ok(-s "$store->{data}/backups/toc/toc.dat", '<', -s "$store->{data}/backups/first/toc.dat", 'toc.dat cut: an incomplete file');
}

# ---- a dump that is killed while it sends

foreach my $signal (qw(TERM KILL))
{
	my $what = "SIG$signal";
	in_store('mkdir', "store:backups/$what");
	set_fault($store, 'held', match => qr/^CONNECT writer/, do => 'hold', bytes => 500_000);
	my $run = start_load('pg_pardump', '-d', $node->connstr('shop'), '-j2', '-Z0', '--no-chunks', '--pipe=' . put($what));
	wait_in_run($run, 'a file is held', sub { times_struck($store, 'held') > 0 });
	kill $signal => $run->{pid};
	is(end_dump($run), $signal eq 'TERM' ? 1 : 128 + 9, "$what: exit code");
	wait_until('no command is left', sub { (run_program('pgrep', '-fc', "^rclone rcat store:backups/$what/"))[1] == 0 });
	clear_faults($store);
	ok(!-e "$store->{data}/backups/$what/toc.dat", "$what: no toc.dat");
	cmp_ok(-s "$store->{data}/backups/$what/$big", '<', -s "$store->{data}/backups/first/$big", "$what: an incomplete file");
}

# ---- downloads that are cut, once and always

my %cut = (match => qr/^CONNECT reader/, do => 'cut_answer', bytes => 500_000);
set_fault($store, 'cut_once', %cut, times => 1);
($rc, undef, $err) = verify_piped('first', '--retries=1');
is($rc, 0, 'download cut once, verified: exit code');
like($err, qr/^pg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: Command for file "\Q$big\E" /m, 'download cut once, verified: message');
clear_faults($store);
if ($all)
{
	set_fault($store, 'cut_once', %cut, times => 1);
	like(restored_ok(new_copy(), 'first', 'download cut once', '--retries=1'), qr/^pg_parrestore: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_parrestore: detail: [^\n]*ommand for file "\Q$big\E" /m, 'download cut once: message');
	clear_faults($store);
}
{
	my $db = new_copy();
	set_fault($store, 'cut', %cut);
	($rc, undef, $err) = restore_into($db, 'first', '--retries=1');
	is($rc, 1, 'download cut: exit code');
	like($err, qr/^pg_parrestore: warning: the command for a file failed; retry 1 of 1 .*^pg_parrestore: error: could not read data of entry [^\n]*\npg_parrestore: detail: Command for file "\Q$big\E" /ms, 'download cut: message');
	is(times_struck($store, 'cut'), 2, 'download cut: it has occurred');
	is(value($node, $db, 'SELECT count(*) FROM big'), 0, 'download cut: no row is committed');
	clear_faults($store);
	is(restored_ok($db, 'first', 'download cut, resumed', '--resume'), '', 'download cut, resumed: nothing is said');
}

# ---- a missing file

system_or_bail('cp', '-r', "$store->{data}/backups/first", "$store->{data}/backups/missing");
unlink "$store->{data}/backups/missing/$small";
($rc, undef, $err) = verify_piped('missing', '--retries=0');
is($rc, $err =~ /" failed: / ? 75 : 1, 'missing, verified: exit code');
like($err, qr/^pg_pardump: error: could not verify the rows of table [^\n]*\npg_pardump: detail: Command for file "\Q$small\E" /m, 'missing, verified: message');

# ---- an incremental dump; rclone reads and writes a file to copy it

{
	my @options = ('-d', $node->connstr('shop'), '-j2', '-Z0', '--chunk-size=500kB');
	sql($node, 'shop', 'VACUUM big');
	in_store('mkdir', "store:backups/$_") foreach qw(mon tue);
	($rc, undef, $err) = run_program('pg_pardump', @options, '--manifest-fingerprints', '--pipe=' . put('mon'));
	is("$rc$err", '0', 'incremental, the first: dumped');
	sql($node, 'shop', 'UPDATE big SET t = id::text WHERE id = 10');
	$data = fingerprint($node, 'shop');
	($rc, undef, $err) = run_program('pg_pardump', @options, '--incremental-pipe=' . get('mon'),
		'--pipe-copy=rclone copyto store:backups/mon/%o store:backups/tue/%f', '--pipe=' . put('tue'));
	is("$rc$err", '0', 'incremental: dumped');
	cmp_ok(scalar(grep { $_->{Reused} } @{ read_manifest("$store->{data}/backups/tue")->{Files} }), '>', 1, 'incremental: files are reused');
	($rc, undef, $err) = verify_piped('tue');
	is("$rc$err", '0', 'incremental: verified');
	is(restored_ok(new_copy(), 'tue', 'incremental'), '', 'incremental: nothing is said');
}

# ---- a disk that is full

SKIP:
{
	my $problem = small_disk_problem();
	skip $problem, 4 if defined $problem;
	my $disk = new_path('disk');
	mkdir $disk or die "could not create directory \"$disk\": $!";
	start_sftp_store(writer => $writer, reader => $reader, data => $disk, front => [ on_small_disk('1m', $disk) ]);
	my @result = dump_to('full');
	is($result[0], 1, 'full: exit code');
	like($result[2], qr/^pg_pardump: error: command for file "[^"]*" failed: child process exited with exit code \d+\n/m, 'full: message');
	is_deeply([ grep { $_ eq 'toc.dat' } stored_names('backups/full') ], [], 'full: no toc.dat');
	isnt((run_program('pg_pardump', '--verify', '--retries=0', '--pipe=' . get('full')))[0], 0, 'full: --verify refuses it');
}

$node->stop;
done_testing();
