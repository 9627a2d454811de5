# pg_parrestore: archives of databases with everything that PostgreSQL can hold,
# of ours and of stock's, in all their forms, come out as by stock pg_restore.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster has_extension run_program new_path dump_ok codecs tier);
use Pardump::Compare qw(same_database_ok);
use Pardump::Copy qw(stock_copy sessions_left);
use Pardump::Databases qw(prepare_for_everything start_everything archives_of_everything
  make_latin1 make_sql_ascii empty_copy);
use Pardump::Restore qw(parrestore_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $source = start_everything('restore_source');
my $target = start_cluster('restore_target');
my $copies = 0;

sub restored_ok
{
	my ($db, $stock, $archive, $what, @options) = @_;
	my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
	parrestore_ok($target, $copy, $archive, "$db, $what", @options);
	same_database_ok($target, $copy, $stock->{data}, $stock->{schema}, "$db, $what");
	is(sessions_left($target), 0, "$db, $what: no session left");
	return;
}

is(has_extension($target), 1, 'the extension is installed');

# --- the database of everything

prepare_for_everything($target);
my %archives = archives_of_everything();
my $stock = stock_copy($source, 'everything', $target, $archives{custom});
is($stock->{errors}, '', 'everything: stock restores without a message');

# Below the highest tier, the custom format is read below only, and one job restores one of
# our archives instead of another one.
my $all = tier() == 3;
restored_ok('everything', $stock, $archives{$_}, "stock's, $_", '-j3') foreach 'directory', 'piped', $all ? 'custom' : ();
# 145 reads archives of every codec
my @codecs = codecs($source);
@codecs = @codecs[ 0, -1 ] if !$all;
foreach my $codec (@codecs)
{
	my $dir = dump_ok($source, 'everything', $codec, 'pg_pardump', '-j2', "-Z$codec",
		'--chunk-size=' . ($codec eq 'none' ? '16kB' : '128kB'));
	restored_ok('everything', $stock, $dir, "ours, $codec", '-j4', '--index-jobs=1') if $all || $codec ne 'none';
	restored_ok('everything', $stock, $dir, 'one job', '--no-analyze') if $codec eq 'none';
}

# --- other encodings

make_latin1($source);
make_sql_ascii($source);
foreach my $db (qw(latin1 sql_ascii))
{
	my $archive = new_path('custom');
	run_program('pg_dump', '-Fc', '-f', $archive, '-d', $source->connstr($db));
	my $stock = stock_copy($source, $db, $target, $archive);
	my $dir = dump_ok($source, $db, $db, 'pg_pardump', '--chunk-size=16kB');
	restored_ok($db, $stock, $dir, 'ours', '-j2');
	restored_ok($db, $stock, $archive, "stock's", '-j2');
}

$source->stop;
$target->stop;
done_testing();
