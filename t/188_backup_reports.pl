# The page that pg_pardump_backup makes of each backup, with the last dumps of the
# database.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database new_path sql);
use Pardump::Nights qw(backup_config run_backup complete_backups);
use Pardump::Report qw(shown data_of harmless_ok);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $node = start_cluster('reports');
make_database($node, $_) foreach 'shop', 'web';
sql($node, $_, 'CREATE EXTENSION pg_pardump; CREATE TABLE t AS SELECT g, md5(g::text) AS note FROM generate_series(1, 5000) g')
  foreach 'shop', 'web';

# The page of the newest backup.
sub newest_page
{
	my ($dir, $folder) = @_;
	my ($newest) = reverse complete_backups($dir, $folder);
	my $page = "$dir/$folder/$newest/report.html";
	is(sprintf('%o', ((stat $page)[2] // 0) & 07777), '600', "a page of $folder");
	return slurp_file($page);
}

my ($file, $dir) = backup_config($node, 'keep_last = 1', 'incremental = yes', 'database = shop', 'database = web');
foreach my $night (1 .. 3)
{
	my ($rc, $out, $err) = run_backup(1_800_000_000 + $night * DAY, $file);
	is("$rc$out$err", '0', "night $night");
}
foreach my $folder ('shop', 'web')
{
	my $html = newest_page($dir, $folder);
	my $data = data_of($html);

	harmless_ok($folder, $html);
	like(shown($html), qr/files equal to the manifest/, "$folder: the page has the result of the verification");
	is(scalar(my @kept = complete_backups($dir, $folder)), 1, "$folder: one backup is kept");
	is(join(' ', map { "$_->{reused}/$_->{files}" } @{ $data->{runs} }), '1/1 1/1 0/1', "$folder: the dumps of all nights");
	is($data->{thisRun}, 0, "$folder: the newest is this one");
}

# ---- what commands write has a page here, too

($file, $dir) = backup_config($node, 'database = shop', "pipe = cat >%D/%f");
my ($rc, $out, $err) = run_backup(1_800_000_000, $file);
is("$rc$out$err", '0', 'with a pipe');
my $html = newest_page($dir, 'shop');
like(shown($html), qr/Its files have not been verified since/, 'with a pipe: the page says that nothing was verified');
is(scalar @{ data_of($html)->{runs} }, 1, 'with a pipe: its dump');

$node->stop;
done_testing();
