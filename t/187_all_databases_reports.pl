# --report and --metrics of all databases: what each of them and the whole run tells.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster run_program new_path start_psql sql value listing);
use Pardump::Prometheus qw(read_samples);
use Pardump::WholeCluster qw(create_database read_map dump_all);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('reports');
my $odd = 'odd "name"';
create_database($node, $_) foreach 'shop', $odd, 'broken';
sql($node, $_, 'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g') foreach 'shop', $odd, 'broken';
my @names = ($odd, 'broken', 'postgres', 'shop', 'template1');
my %oid = map { $_ => value($node, $_, 'SELECT oid FROM pg_database WHERE datname = current_database()') } @names;

my $files = new_path('files');
mkdir $files or die "could not make \"$files\": $!";
my @told = ("--metrics=$files/all.prom", '--metrics-label=site=north', "--report=$files/pages");

# All samples of all files, as a collector would have them: by metric, each with the
# database, and '' for the whole run.
sub collected
{
	my %values;
	foreach my $file (glob "$files/*.prom")
	{
		my $samples = read_samples($file);
		foreach my $metric (keys %$samples)
		{
			foreach my $sample (@{ $samples->{$metric} })
			{
				my ($name, $database) = ($metric =~ s/^pg_pardump_//r, $sample->{database} // '');
				die "$metric of \"$database\" is there twice" if exists $values{$name}{$database};
				die "$metric has no label" if ($sample->{site} // '') ne 'north';
				$values{$name}{$database} = $sample->{value};
			}
		}
	}
	return \%values;
}

sub pages { return join ' ', map { s/.*\///r } sort glob "$files/pages/*"; }
sub pages_of { return join ' ', sort 'index.html', map { "$oid{$_}.html" } @_; }

# ---- a dump

my ($rc, $err, $dir) = dump_all($node, '-j2', @told);
is("$rc$err", '0', 'a dump');
my $values = collected();
is_deeply($values->{success}, { '' => 1, map { $_ => 1 } @names }, 'a dump: success of each and of all');
is_deeply($values->{rows}, { $odd => 1000, shop => 1000, broken => 1000, postgres => 0, template1 => 0 }, 'a dump: rows of each');
is_deeply([ @{$values}{qw(databases failed_databases)} ], [ { '' => 5 }, { '' => 0 } ], 'a dump: databases');
my $success = $values->{last_success_timestamp_seconds};
is(listing($files), join(' ', sort 'all.prom', 'pages', map { "all.$_.prom" } values %oid), 'a dump: files of metrics');
is(pages(), pages_of(@names), 'a dump: a page of each');
like(slurp_file("$files/pages/$oid{shop}.html"), qr/<html.*\bshop\b/s, 'a dump: a page');
my $page = slurp_file("$files/pages/index.html");
like($page, qr/<h1>Dump of all databases<\/h1>.*5 databases complete/s, 'a dump: the page of all');
like($page, qr/<a href="$oid{shop}\.html"><bdi>shop<\/bdi><\/a>.*?<\/tr>/s, 'a dump: the page links to the page of a database');
like($page, qr/<bdi>odd &#34;name&#34;<\/bdi>/, 'a dump: the page shows names with special characters');
like($page, qr/<th scope="row"><bdi>All<\/bdi><\/th>.*?<td class="num">3,000<\/td>.*?<\/tr>/s, 'a dump: the page shows sums');
is(sprintf('%o', (stat "$files/pages")[2] & 07777), '700', 'a dump: no other user sees the pages');

# ---- one that fails

my $holder = start_psql($node, 'broken');
$holder->('BEGIN; LOCK TABLE t');
($rc, $err) = dump_all($node, '-j2', @told, '--lock-wait-timeout=3000');
is($rc, 1, 'one fails: exit code');
$values = collected();
is_deeply($values->{success}, { '' => 0, map { $_ => $_ eq 'broken' ? 0 : 1 } @names }, 'one fails: success');
is_deeply([ @{$values}{qw(databases failed_databases)} ], [ { '' => 5 }, { '' => 1 } ], 'one fails: databases');
is($values->{last_success_timestamp_seconds}{$_}, $success->{$_}, "one fails: last success of \"$_\"") foreach '', 'broken';
cmp_ok($values->{last_success_timestamp_seconds}{shop}, '>', $success->{shop}, 'one fails: last success of another');
$page = slurp_file("$files/pages/index.html");
like($page, qr/1 of 5 databases failed: broken</, 'one fails: the page of all');
like($page, qr/<tr><th scope="row"><bdi>broken<\/bdi><\/th><td><bdi>failed<\/bdi>/, 'one fails: the database has no link');
is($values->{all_databases_rows}{''}, 2000, 'one fails: rows of all');
$holder->('ROLLBACK');
($rc) = dump_all($node, @told, '-h', '/nowhere');
is($rc, 1, 'no server: exit code');
$values = collected();
is_deeply([ $values->{success}{''}, $values->{success}{shop} ], [ 0, 1 ], 'no server: only the metrics of the whole run change');

# ---- a page that cannot be written at the end: the archive is complete

{
	$holder->('BEGIN; LOCK TABLE t');
	my $pages = new_path('pages');
	my $dump = start_dump($node->connstr('postgres'), '--all-databases', "--report=$pages",
		map { "--exclude-database=$_" } qw(shop postgres template1 odd*));
	wait_in_run($dump, 'it waits', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'broken' AND wait_event_type = 'Lock'}) > 0;
	});
	SKIP:
	{
		skip 'root may write anywhere', 4 if $> == 0;
		chmod 0500, $pages or die "could not change a mode: $!";
		$holder->('ROLLBACK');
		is(end_dump($dump), 1, 'a page that cannot be written: exit code');
		chmod 0700, $pages;
		like($dump->{err}, qr/^pg_pardump:broken: error: could not write the report .*\n.*detail: The archive is complete\./m, 'a page that cannot be written');
		like($dump->{err}, qr/error: the run for database "broken" failed\n.*detail: Its archive is complete\.\n/, 'a page that cannot be written: message');
		is(read_map($dump->{dir})->{Databases}[0]{State}, 'complete', 'a page that cannot be written: state in the map');
	}
}
$holder->();

# ---- a restore, a copy, a verification

my $target = start_cluster('reports_target');
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j2', '-d', $target->connstr('postgres'), @told, $dir);
is("$rc$err", '0', 'a restore');
$values = collected();
is_deeply($values->{success}, { '' => 1, map { $_ => 1 } @names }, 'a restore: success, by the names of databases');
is_deeply([ @{ $values->{rows} }{ $odd, 'shop' } ], [ 1000, 1000 ], 'a restore: rows');
is(read_samples("$files/all.$oid{shop}.prom")->{pg_pardump_success}[0]{command}, 'restore', 'a restore: the command');
sql($target, 'postgres', "DROP DATABASE $_") foreach 'shop', '"odd ""name"""', 'broken';
unlink glob "$files/pages/*";
my ($rc2, undef, $err2) = run_program('pg_pardump', '--all-databases', '-j2', '-d', $node->connstr('postgres'),
	'--target', $target->connstr('postgres'), @told);
is("$rc2$err2", '0', 'a copy');
is_deeply(collected()->{success}, { '' => 1, map { $_ => 1 } @names }, 'a copy: success');
is(pages(), pages_of(@names), 'a copy: a page of each');
like(slurp_file("$files/pages/index.html"), qr/<h1>Copy of all databases<\/h1>/, 'a copy: the page of all');
unlink glob "$files/pages/*";
($rc) = run_program('pg_pardump', '--all-databases', "--verify=$dir", "--report=$files/pages");
is($rc, 0, 'a verification: exit code');
like(slurp_file("$files/pages/index.html"), qr/<h1>Verification of all databases<\/h1>/, 'a verification: the page of all');
is(pages(), pages_of(@names), 'a verification: a page of each');

# ---- what cannot be

foreach my $try (
	[ [ '-f', "$files/new", "--report=/nowhere/x" ], qr/could not create directory "\/nowhere\/x"/ ],
	[ [ "--verify=$dir", "--report=$dir" ], qr/file ".*" of option --report must not be in the archive's directory/ ],
	[ [ "--verify=$dir", "--report=$dir/pages" ], qr/file ".*" of option --report must not be in the archive's directory/ ])
{
	my ($options, $message) = @$try;
	my @server = grep({ /^--verify/ } @$options) ? () : ('-d', $node->connstr('postgres'), '--exclude-database=*');
	my ($rc, undef, $err) = run_program('pg_pardump', '--all-databases', @server, @$options);
	is($rc, 1, "@$options: exit code");
	like($err, $message, "@$options");
}
($rc, undef, my $warned) = run_program('pg_pardump', '--all-databases', '-d', $node->connstr('postgres'), '--exclude-database=*',
	'-f', new_path('unmeasured'), '--metrics=/nowhere/x');
is($rc, 0, 'no directory for metrics: exit code');
like($warned, qr/warning: could not create file "\/nowhere\/x\.\d+\.tmp"/, 'no directory for metrics: a warning');
ok(!-e $_, 'no file is created') foreach "$files/new", "$dir/pages";

$_->stop foreach $node, $target;
done_testing();
