# In a locale with a decimal comma, output for programs contains a decimal point.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program new_path sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $locales = new_path('locales');
mkdir $locales;
my ($rc, undef, $err) =
  run_program('localedef', '-i', 'de_DE', '-f', 'UTF-8', "$locales/de_DE.UTF-8");
die "localedef failed: $err" if $rc != 0;

my $node = start_cluster('locale');
sql($node, 'postgres',
	'CREATE TABLE t AS SELECT g, md5(g::text) FROM generate_series(1, 100000) g');

my ($dir, $log, $page) = map { new_path($_) } qw(dump log.json page.html);
{
	local $ENV{LOCPATH} = $locales;
	local $ENV{LC_ALL} = 'de_DE.UTF-8';
	my (undef, $out) = run_program('bash', '-c', q(printf '%.1f' 1,5));
	is($out, '1,5', 'bash prints a decimal comma in this locale');
	($rc, undef, $err) = run_program('pg_pardump', '-j2', '-f', $dir, '--no-sync',
		'-d', $node->connstr('postgres'), "--log-json=$log", "--report=$page",
		'--sample=t:12.5', '--max-rate=99.5M', '--max-table-segment-pages=50');
	ok($rc == 0 && $err eq '', 'dump') or diag($err);
}

my @events = map { decode_json($_) } split /\n/, slurp_file($log);
my ($summary) = grep { $_->{event} eq 'summary' } @events;
like($summary->{seconds}, qr/^\d+[.]?\d*$/, 'log: the seconds contain a decimal point');
cmp_ok($summary->{rows}, '<', 50000, '--sample selects fewer rows than the table contains');

my $html = slurp_file($page);
my ($json) = $html =~ m{<script type="application/json" id="data">(.*?)</script>}s;
my $data = decode_json($json);
cmp_ok(scalar @{ $data->{slowest} }, '>', 5, 'page: the data contains more than five files');
is_deeply([ grep { !/^-?\d+([.]\d+)?(e-\d+)?$/ } map { @$_[5 .. $#$_] } @{ $data->{slowest} } ], [], 'page: all values are numbers');
like($html, qr{<td class="num">\d+[.]\d+ s</td>}, 'page: a table contains a decimal point');

$node->stop;
done_testing();
