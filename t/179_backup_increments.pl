# A base backup is one that stock increments stand on: two deep, combined by
# pg_combinebackup, it is the cluster at the time of the last one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::BaseBackup qw(backup_ok verify_backup_ok start_backup dump_of enable_checksums);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1, leave_stopped => 1);
plan skip_all => 'there are incremental backups since 17' if pg_major($node) < 17;
$node->append_conf('postgresql.conf', 'summarize_wal = on');
$node->start;
enable_checksums($node);
my $location = new_path('tablespace');
mkdir $location or die "could not make \"$location\": $!";
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION '$location'");
sql($node, 'postgres', 'CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 30000) g;
	CREATE TABLE gone AS SELECT 1 AS a; CREATE TABLE far TABLESPACE elsewhere AS SELECT g FROM generate_series(1, 5000) g');

# Of a run its tablespace's place, which is its own.
my @places = map { new_path("place$_") } 0 .. 3;
my @map = map { [ '-T', "$location=$_" ] } @places;
my @backups = (backup_ok($node, 'whole', 'pg_parbasebackup', '-j2', @{ $map[0] }));
sql($node, 'postgres', 'UPDATE large SET t = md5(t) WHERE g % 1000 = 0; DROP TABLE gone; INSERT INTO far SELECT g FROM generate_series(1, 10) g');
push @backups, backup_ok($node, 'first increment', 'pg_basebackup', "--incremental=$backups[0]/backup_manifest", @{ $map[1] });
sql($node, 'postgres', 'DELETE FROM large WHERE g > 25000; CREATE TABLE late AS SELECT g FROM generate_series(1, 1000) g');
sql($node, 'postgres', 'VACUUM');
push @backups, backup_ok($node, 'second increment', 'pg_basebackup', "--incremental=$backups[1]/backup_manifest", @{ $map[2] });
my $want = dump_of($node);

my $increments = () = `find '$backups[2]/base' -name 'INCREMENTAL.*'`;
cmp_ok($increments, '>', 0, 'the increments have parts of files only');
my $combined = new_path('combined');
my ($rc, $out, $err) = run_program('pg_combinebackup', '--no-sync', '-o', $combined, '-T', "$places[2]=$places[3]", @backups);
is("$rc$err", '0', 'pg_combinebackup');
verify_backup_ok($combined, 'combined');
my $restored = start_backup($combined, 'restored', 'summarize_wal = off');
is(dump_of($restored) =~ s/\Q$places[3]\E/PLACE/gr, $want =~ s/\Q$location\E/PLACE/gr, 'the restored server contains the rows of the second increment');
$restored->stop;

# A backup in tar format that was extracted with another place of its tablespace is
# as good, by itself and as what an increment stands on.
my $tar = backup_ok($node, 'tar', 'pg_parbasebackup', '-j2', '-Ft');
my ($extracted, @far) = map { new_path($_) } qw(extracted far0 far1 far2 far3);
($rc, $out, $err) = run_program('pg_parbasebackup', "--extract=$tar", '-D', $extracted, '--no-sync', '-T', "$location=$far[0]");
is("$rc$out$err", '0', 'extracted');
my $alone = new_path('alone');
($rc, $out, $err) = run_program('pg_combinebackup', '--no-sync', '-o', $alone, '-T', "$far[0]=$far[1]", $extracted);
is("$rc$err", '0', 'extracted: pg_combinebackup');
verify_backup_ok($alone, 'extracted and combined alone');
sql($node, 'postgres', 'INSERT INTO far SELECT g FROM generate_series(1, 100) g');
my $third = backup_ok($node, 'third increment', 'pg_basebackup', "--incremental=$extracted/backup_manifest", '-T', "$location=$far[2]");
$combined = new_path('combined');
($rc, $out, $err) = run_program('pg_combinebackup', '--no-sync', '-o', $combined, '-T', "$far[2]=$far[3]", $extracted, $third);
is("$rc$err", '0', 'extracted, with an increment: pg_combinebackup');
verify_backup_ok($combined, 'extracted and combined with an increment');

done_testing();
