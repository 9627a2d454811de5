# pg_parrestore --pipe of an archive without a manifest: large tables, which workers load in
# pieces, and commands that do not return the right rows.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(dump_ok);
use Pardump::PipeRestore qw(start_pipe_shop pipe_copy piped_ok pipe_failed table_file failing_command $no_manifest);
use Test::More;

my $node = start_pipe_shop('pipe_restore_pieces');
my $stock = dump_ok($node, 'shop', 'stock', 'pg_dump', '-Z0');
my $big = table_file($stock, 'big');
my @pieces = ('--chunk-size=64kB');

# ---- more after the line that ends the rows: the journal stays

{
	my $db = pipe_copy();
	my $err = pipe_failed($db, 'more after the rows', failing_command($stock, $big, "cat $stock/$big; echo 1"), '--retries=0', '-j2', @pieces);
	like($err, qr/^pg_parrestore: error: could not read data of entry \d+: unexpected data after the rows\npg_parrestore: detail: Parts of table public\.big may have been committed\.$/m, 'more after the rows: message');
	like(piped_ok($db, 'more after the rows, resumed', "cat $stock/%f", '--resume', '-j2', @pieces), $no_manifest, 'more after the rows, resumed: what it says');
}

$node->stop;
done_testing();
