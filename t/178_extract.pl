# Backups in tar format are extracted by pg_parbasebackup --extract: the same as
# tar makes of them, whichever program has taken them, in whichever compression;
# and what is damaged, or not a base backup's, is refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::BaseBackup qw(connection verify_backup_ok start_backup dump_of);
use Pardump::Cluster qw(start_cluster run_program new_path sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
my $place = PostgreSQL::Test::Utils::tempdir();
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION '$place'");
sql($node, 'postgres', q{
	CREATE TABLE near AS SELECT g AS id, repeat(md5(g::text), 10) AS t FROM generate_series(1, 30000) g;
	CREATE TABLE far TABLESPACE elsewhere AS SELECT * FROM near});
my $dump = dump_of($node);

# A backup by pg_basebackup; the tablespace goes elsewhere when it is extracted.
sub take_tar
{
	my (@options) = @_;
	my $dir = new_path('tar');
	my ($rc, undef, $err) = run_program('pg_basebackup', connection($node), '-D', $dir, '-Ft', '-c', 'fast',
		'--no-sync', @options);
	is("$rc$err", '0', "pg_basebackup -Ft @options");
	return $dir;
}

sub extract
{
	my ($from, @options) = @_;
	my $dir = new_path('extracted');
	my $far = new_path('far');
	my ($rc, $out, $err) = run_program('pg_parbasebackup', "--extract=$from", '-D', $dir, '-j3', '--no-sync',
		'-T', "$place=$far", @options);
	return ($rc, "$out$err", $dir, $far);
}

# --- as tar does it

my $plain = take_tar('-Xfetch');
my ($rc, $output, $dir, $far) = extract($plain);
is("$rc$output", '0', 'it is extracted');
my ($oid) = map { /(\d+)\.tar$/ } glob("$plain/*.tar");
my $by_tar = new_path('by_tar');
mkdir($_) or die "$_: $!" foreach $by_tar, "$by_tar.far";
system_or_bail('tar', '-xpf', "$plain/base.tar", '-C', $by_tar);
system_or_bail('tar', '-xpf', "$plain/$oid.tar", '-C', "$by_tar.far");

# Every path with its kind, mode and content; of links where they lead.
sub tree
{
	my ($root) = @_;
	my $command = 'cd "$1" && find . \( -type f -printf "%P %m " -exec sh -c \'md5sum <"$1"\' sh {} \; \) '
	  . '-o \( -type d -printf "%P %m\n" \) -o -printf "%P -> %l\n" | sort';
	open(my $pipe, '-|', 'sh', '-c', $command, 'sh', $root) or die "find: $!";
	return join('', <$pipe>);
}
my $changed = qr/^(tablespace_map |backup_manifest |pg_tblspc\/$oid -> | 7).*\n/m;
is(tree($dir) =~ s/$changed//gr, tree($by_tar) =~ s/$changed//gr, 'the same files as by tar');
is(tree($far) =~ s/^ 7.*\n//mr, tree("$by_tar.far") =~ s/^ 7.*\n//mr, 'in the tablespace, too');
is(readlink("$dir/pg_tblspc/$oid"), $far, 'which is where it was mapped to');
is(slurp_file("$dir/tablespace_map"), "$oid $far\n", 'and the server is told so');
verify_backup_ok($dir, 'what is extracted is what was taken', '--ignore=tablespace_map');

# --- and it can be started

{
	my $started = start_backup($dir, 'started');
	# but for where the tablespace is
	ok(dump_of($started) =~ s/\Q$far\E/$place/r eq $dump, 'a server has the same data');
	$started->stop;
}

# --- compressed, by server and client; with WAL in an archive of its own

my @ways = ([ '-Xfetch', '-z' ], ['-Xstream'], [ '-Xstream', '-z' ]);
push @ways, map { ([ '-Xfetch', "--compress=server-$_" ]) } qw(lz4 zstd:1), 'zstd:workers=2';
foreach my $way (@ways)
{
	my $tar = take_tar(@$way);
	($rc, $output, $dir, $far) = extract($tar);
	is("$rc$output", '0', "@$way: extracted");
	verify_backup_ok($dir, "@$way", '--ignore=tablespace_map');
}

# --- what is refused

sub refused_ok
{
	my ($message, $from, @options) = @_;
	my ($status, $text, $to, $tablespace) = extract($from, @options);
	is($status, 1, "refused: @options");
	like($text, $message, 'with the message');
	ok(!-e $to && !-e $tablespace, 'and nothing is left');
	return;
}

refused_ok(qr/there is no base\.tar in directory/, $place);
refused_ok(qr/options --extract and --$_ cannot be used together/, $plain,
	$_ eq 'host' ? '--host=x' : "--$_")
  foreach qw(host no-slot write-recovery-conf);
truncate("$plain/base.tar", (-s "$plain/base.tar") - 5000) or die "truncate: $!";
refused_ok(qr/file ".*base\.tar" is cut off/, $plain);

# what is there must be of this backup
my $other = take_tar('-Xfetch');
rename("$other/$oid.tar", "$other/12345.tar") or die "rename: $!";
refused_ok(qr/tablespace_map has no tablespace 12345, whose archive is there/, $other);
unlink("$other/12345.tar");
refused_ok(qr/there is no archive of tablespace $oid/, $other);

# a path that leads out of the directory
my $evil = new_path('evil');
mkdir($evil) or die "$evil: $!";
append_to_file("$evil/victim", 'text');
system_or_bail('tar', '-cPf', "$evil/base.tar", '--transform', 's,^.*victim,../victim,', "$evil/victim");
refused_ok(qr/a path is not one of a base backup/, $evil);

# --- where something is there already

my $full = new_path('full');
mkdir($full) or die "$full: $!";
append_to_file("$full/file", 'text');
($rc, undef, my $err) = run_program('pg_parbasebackup', "--extract=$plain", '-D', $full);
like($err, qr/exists but is not empty/, 'a directory that is not empty');
is(slurp_file("$full/file"), 'text', 'is left as it is');

$node->stop;
done_testing();
