# A base backup by pg_parbasebackup is one as pg_basebackup takes it: on a quiet
# cluster the manifests tell the same files with the same checksums, pg_verifybackup
# and the server accept it, and all rows are there.  So it is if the extension reads
# the files.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::BaseBackup qw(connection backup_ok verify_backup_ok manifest_files differences
  start_backup dump_of enable_checksums slots_left);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value start_psql listing);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Report qw(shown table_of data_of harmless_ok pages_beside);
use PostgreSQL::Test::Utils;
use Test::More;

program_help_ok('pg_parbasebackup');
program_version_ok('pg_parbasebackup');
program_options_handling_ok('pg_parbasebackup');

my $node = start_cluster('main', allows_streaming => 1);
enable_checksums($node);
my $pgdata = $node->data_dir;

# ---- a cluster that has everything

my $location = new_path('tablespace');
mkdir $location or die "could not make \"$location\": $!";
make_database($node, 'much');
sql($node, 'much', 'SET allow_in_place_tablespaces = on; CREATE TABLESPACE in_place LOCATION \'\'');
sql($node, 'much', "CREATE TABLESPACE elsewhere LOCATION '$location'");
sql($node, 'much', <<'SQL');
CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g;
CREATE INDEX ON large (g);
CREATE TABLE far TABLESPACE elsewhere AS SELECT g, md5(g::text) FROM generate_series(1, 1000) g;
CREATE TABLE near TABLESPACE in_place AS SELECT g, md5(g::text) FROM generate_series(1, 1000) g;
CREATE UNLOGGED TABLE forgotten AS SELECT g FROM generate_series(1, 1000) g;
CREATE INDEX ON forgotten (g);
CREATE UNLOGGED TABLE forgotten_far TABLESPACE elsewhere AS SELECT 1 AS g;
CREATE TABLE empty (a int);
CREATE EXTENSION pg_pardump;
VACUUM;
SQL
my $forgotten = value($node, 'much', q{SELECT pg_relation_filepath('forgotten')});
my $forgotten_far = value($node, 'much', q{SELECT pg_relation_filepath('forgotten_far')});
my $far = value($node, 'much', q{SELECT pg_relation_filepath('far')});
my $near = value($node, 'much', q{SELECT pg_relation_filepath('near')});
my $large = value($node, 'much', q{SELECT pg_relation_filepath('large')});
cmp_ok(-s "$pgdata/$large", '>', 16 * 1024 * 1024, 'a file is read in several pieces');

# a session that has a temporary table meanwhile
my $session = start_psql($node, 'much');
$session->('CREATE TEMP TABLE gone AS SELECT 1 AS a; CHECKPOINT');

# what is to be left out, and what is not: of any name
umask 0077;
my ($base) = $large =~ /(.*)\//;
mkdir "$pgdata/$base/pgsql_tmp" or die "could not make directory: $!";
mkdir "$pgdata/more" or die "could not make directory: $!";
mkdir "$pgdata/more/pg_stat_tmp" or die "could not make directory: $!";
mkdir "$pgdata/more/none" or die "could not make directory: $!";
mkdir "$pgdata/more/b\xFC" or die "could not make directory: $!";
my @out = ("$base/pgsql_tmp/pgsql_tmp1.0", "$base/pg_internal.init.77", "$base/t3_99999", "$base/t3_99999_fsm",
	'backup_label', 'tablespace_map', 'backup_manifest', 'postgresql.auto.conf.tmp', 'current_logfiles.tmp',
	'more/postmaster.pid', 'more/pg_stat_tmp/x', 'more/.DS_Store', 'pg_notify/x', 'pg_replslot/x', 'pg_wal/x');
my @in = ("$base/t3", "$base/99999x", "$base/16000_init", 'more/16000', 'more/t3_99999', 'more/of none', "more/\xE4",
	"more/b\xFC/\xF6", "more/b\xFC/it's", 'postgresql.conf.bak', 'more/PG_VERSION');
append_to_file("$pgdata/$_", "\0" x 8192) foreach @out, @in;
append_to_file("$pgdata/more/nothing", '');
$node->safe_psql('postgres', 'CHECKPOINT');

# ---- beside pg_basebackup's

my $quiet = dump_of($node);
# what the first run looks up in the catalogs gets hints
backup_ok($node, 'first', 'pg_parbasebackup', '-d', 'dbname=much', '-T', "$location=" . new_path('place'));
my ($stock_place, $place) = map { new_path($_) } qw(stock_place place);
my $stock = backup_ok($node, 'quiet', 'pg_basebackup', '-T', "$location=$stock_place");
my $ours = backup_ok($node, 'quiet', 'pg_parbasebackup', '-j3', '-T', "$location=$place");
my @by_extension = map { backup_ok($node, "by the extension, @$_", 'pg_parbasebackup', '-j3', '-d', 'dbname=much', @$_,
	'-T', "$location=" . new_path('place')) } [], [ '-Z', 'server-zstd:1' ], ['--no-verify-checksums'];
is(slots_left($node), '', 'no slot is left');

# made for each backup, or written by the checkpoint that begins it
my $made = qr/^(backup_label|global\/pg_control)$/;
is_deeply([ differences($stock, $ours, $made) ], [], 'the manifests tell the same');
foreach my $dir (@by_extension)
{
	is_deeply([ differences($stock, $dir, $made) ], [], 'differences from pg_basebackup, with the extension');
	verify_backup_ok($dir, 'by the extension');
}
my $files = manifest_files($ours);
cmp_ok(scalar(keys %$files), '>', 900, 'the manifest contains more than 900 files');
is_deeply([ grep { $files->{$_} && !/^backup_label/ } @out ], [], 'the manifest contains no excluded files');
is_deeply([ grep { !/[\x80-\xFF]/ && !$files->{$_} } @in ], [], 'the manifest contains all other files');
is(-s "$ours/more/b\xFC/\xF6", 8192, 'also under a name that is not text');
like(slurp_file("$ours/backup_label"), qr/^START WAL LOCATION/, 'the label is the backup\'s own');
is_deeply([ map { -e "$ours/$_" ? 1 : 0 } $forgotten, "${forgotten}_init" ], [ 0, 1 ],
	'only the init fork of an unlogged table is in the backup');
is_deeply([ grep { /^\Q$forgotten_far\E/ } sort keys %$files ], ["${forgotten_far}_init"], 'in a tablespace, too');
ok(-s "$ours/$near" && !-l "$ours/" . ($near =~ s/^(pg_tblspc\/\d+)\/.*/$1/r), 'a tablespace in place is a directory');
is(readlink("$ours/" . ($far =~ s/^(pg_tblspc\/\d+)\/.*/$1/r)), $place, 'one that is not is a link');
ok(-d "$ours/more/none" && -d "$ours/pg_notify" && -d "$ours/pg_wal/archive_status", 'empty directories are there');
my %listed;
foreach my $dir ($stock, $ours)
{
	$listed{$_}++ foreach grep { !m{ \./pg_wal/| \./backup_manifest} } `cd '$dir' && find . -printf '%y %m %p\n'`;
}
is_deeply([ sort grep { $listed{$_} != 2 } keys %listed ], [], 'the other entries of both backups have the same names and modes');

# ---- accepted

verify_backup_ok($ours, 'quiet');
# without the setting recovery takes such a directory for a mistake
my $restored = start_backup($ours, 'restored', 'allow_in_place_tablespaces = on');
my $without = sub { return $_[0] =~ s/^(COPY public\.forgotten\w* .*?;\n).*?^\\\.\n/$1/smgr };
is($without->(dump_of($restored)) =~ s/\Q$place\E/PLACE/gr, $without->($quiet) =~ s/\Q$location\E/PLACE/gr,
	'the restored server contains all rows');
is(value($restored, 'much', 'SELECT count(*) FROM forgotten'), 0, 'the unlogged table is empty');
is(value($restored, 'much', q{SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '\.done$'}), 0, 'the server has its log');
sql($restored, 'much', 'INSERT INTO far VALUES (0)');
$restored->stop;
my ($rc, $out, $err) = run_program('pg_checksums', '--check', '-D', $restored->data_dir);
is($rc, 0, 'pg_checksums finds no damaged page') or diag("$out$err");

# ---- what it tells

{
	my ($log, $page) = map { new_path($_) } qw(events.json page.html);
	my $dir = backup_ok($node, '--log-json', 'pg_parbasebackup', '-j2', '-T', "$location=" . new_path('place'), "--log-json=$log", "--report=$page");
	my @events = map { decode_json($_) } split /\n/, slurp_file($log);
	my ($run, $end) = map { my $kind = $_; grep { $_->{event} eq $kind } @events } qw(run end);
	is(join(' ', map { $_->{stage} } grep { $_->{event} eq 'stage' } @events), 'start list files stop wal sync', '--log-json: stages');
	is_deeply([ $events[0]{command}, @$run{qw(jobs tablespaces directory)} ], [ 'basebackup', 2, 1, $dir ], '--log-json: the run');
	# but for the label and pg_control
	my $n = keys(%{ manifest_files($dir) }) - 2;
	is_deeply([ $run->{files}, @$end{qw(files checksum_failures retries)} ], [ $n, $n, 0, 0 ], '--log-json: last event');
	is($events[-1]{event}, 'end', '--log-json: the last one');
	events_valid_ok('--log-json', slurp_file($log), qw(end));

	my $html = slurp_file($page);
	harmless_ok('--report', $html);
	like(shown($html), qr/^Base backup pg_parbasebackup base backup$/m, '--report: title');
	like(shown($html), qr/^The backup is complete\./m, '--report: verdict');
	my $data = data_of($html);
	is("$data->{kind} $data->{lanes} $data->{tables}[0]{files}", "backup 2 $n", '--report: workers and all files');
	is(join(' ', map { $_->{name} } @{ $data->{stages} }), 'start list files stop wal sync', '--report: stages');
	my ($largest) = grep { $_->{Name} eq $large } table_of($html, 'tables');
	is("$largest->{Files} $largest->{Pieces}", '1 4', '--report: a file of four pieces and an end');
	like($html, qr{<h2>Largest files</h2>.*<h2>Slowest pieces</h2>}s, '--report: largest files, slowest pieces');
	is_deeply([ pages_beside($page) ], [], '--report: nothing else is made');

	my ($status, $said, $told) = run_program('pg_parbasebackup', connection($node), '-D', new_path('shown'), '-c', 'fast',
		'--no-sync', '-j2', '-P', '-T', "$location=" . new_path('place'));
	is("$status$said", '0', '--progress: exit code');
	like($told, qr/^files 100%, time [\d:]+, (\S+ [kMG]?B) of \1$/m, '--progress: how far it is');
	my $files = $n =~ s/\d\K(?=(?:\d{3})+\z)/,/gr;
	like($told, qr/^backed up server ".*" into directory ".*":\n  $files files, \S+ [kMG]B in [\d.]+ s, \S+ [kMG]B\/s\n  WAL from [\dA-F]+\/[\dA-F]+ to [\dA-F]+\/[\dA-F]+ on timeline 1\n\z/m, '--progress: a summary');

	my ($rc) = run_program('pg_parbasebackup', connection($node), '-D', new_path('failed'), '-c', 'fast', '-T', '/a=/b', "--log-json=$log");
	is($rc, 1, '--log-json of a run that fails');
	@events = map { decode_json($_) } split /\n/, slurp_file($log);
	is($events[-1]{event}, 'failed', '--log-json: the last event is "failed"');
}

# ---- other forms

my $waldir = new_path('waldir');
my $none = backup_ok($node, 'no manifest', 'pg_parbasebackup', '-j2', '-X', 'fetch', '--no-manifest',
	'--waldir', $waldir, '-T', "$location=" . new_path('place'));
ok(!-e "$none/backup_manifest", '--no-manifest');
is(readlink "$none/pg_wal", $waldir, '--waldir');
like(listing($waldir), qr/[0-9A-F]{24}/, 'the directory contains WAL segments');
my $plain = backup_ok($node, 'without checksums', 'pg_parbasebackup', '--manifest-checksums=none', '-X', 'none', '--no-slot',
	'-l', q{it's "mine"}, '-T', "$location=" . new_path('place'));
verify_backup_ok($plain, 'without checksums', '-n');
is_deeply([ grep { exists $_->{Checksum} } values %{ manifest_files($plain) } ], [], '--manifest-checksums=none');
like(slurp_file("$plain/backup_label"), qr/^LABEL: it's "mine"$/m, '--label');
unlike(listing("$plain/pg_wal"), qr/[0-9A-F]{24}/, '-X none');

unlink "$pgdata/$_" foreach qw(backup_label tablespace_map);
chmod 0750, $pgdata or die "could not change mode: $!";
$node->restart;
my $group = backup_ok($node, 'group access', 'pg_parbasebackup', '-j2', '-T', "$location=" . new_path('place'));
is(sprintf('%o %o', map { (stat $_)[2] & 07777 } $group, "$group/PG_VERSION"), '750 640', 'modes are those of the server');

done_testing();
