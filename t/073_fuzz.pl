# The readers of untrusted bytes, fuzzed for a few seconds from their corpus: a
# crash, a leak, undefined behaviour, too much memory or time fails.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program);
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = 4;
my $run = "$FindBin::RealBin/../test/fuzz/run.sh";

foreach my $target (qw(toc custom manifest plan decompress frame tar lines decode))
{
	my ($rc, $out, $err) = run_program($run, $seconds, $target);
	plan skip_all => 'no clang with libFuzzer' if $rc == 77;
	is($rc, 0, "$target: nothing found") or diag($err);
	like($out, qr/number_of_executed_units: [1-9]\d{2}/, "$target: was fuzzed");
}

done_testing();
