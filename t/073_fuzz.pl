# The readers of untrusted bytes, fuzzed for a few seconds from their corpus: a
# crash, a leak, undefined behaviour, too much memory or time fails.
# PG_PARDUMP_FUZZER_SECONDS says for how long each is fuzzed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program tier);
use PostgreSQL::Test::Utils;
use Test::More;

# of each of the majors that are tested, which read by the same code
my $seconds = $ENV{PG_PARDUMP_FUZZER_SECONDS} // (tier() == 3 ? 2 : 1);
my @targets = qw(toc custom manifest map plan results decompress frame tar lines decode raw);

my ($rc, $out, $err) = run_program("$FindBin::RealBin/../test/fuzz/run.sh", $seconds, @targets);
plan skip_all => 'no clang with libFuzzer' if $rc == 77;
is($rc, 0, 'the fuzzers find no error') or diag($err);
my %said = $out =~ /^fuzzing (\w+) for $seconds s\n((?:(?!fuzzing).*\n)*)/mg;
like($said{$_} // '', qr/number_of_executed_units: [1-9]\d{2}/, "$_: was fuzzed") foreach @targets;

done_testing();
