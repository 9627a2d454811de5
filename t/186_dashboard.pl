# packaging/grafana/pg_pardump.json: each panel shows samples that the programs write
# with --metrics, and all metrics are shown.  This file evaluates the expressions of
# the panels; it supports the parts of PromQL that they use.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::BaseBackup qw(connection);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Nights qw(backup_config);
use Pardump::Prometheus qw(read_samples);
use PostgreSQL::Test::Utils;
use Test::More;

# Metrics that no panel shows: a panel shows those of each database instead, and
# stored_bytes instead of wire_bytes, which has the same value.
my @not_shown = ('pg_pardump_wire_bytes',
	map { "pg_pardump_all_databases_$_" } qw(tables rows raw_bytes stored_bytes retries reused_files reused_bytes));

my $dashboard = decode_json(slurp_file(abs_path("$FindBin::RealBin/..") . '/packaging/grafana/pg_pardump.json'));
my @panels = grep { $_->{type} ne 'row' } @{ $dashboard->{panels} };

# ---- the samples of all programs

my $node = start_cluster('dashboard', allows_streaming => 1);
make_database($node, 'shop');
make_database($node, 'copied');
sql($node, 'shop', 'CREATE EXTENSION pg_pardump; CREATE TABLE t AS SELECT g, md5(g::text) AS t FROM generate_series(1, 20000) g');

my $metrics = new_path('metrics');
mkdir $metrics or die "could not make directory \"$metrics\": $!";
my ($config) = backup_config($node, 'database = shop', "metrics = $metrics");
my ($first, @shop) = (new_path('first'), '-d', $node->connstr('shop'));

foreach my $run (
	[ 'pg_pardump', @shop, '--no-sync', '-f', $first, '--manifest-fingerprints' ],
	[ 'pg_pardump', @shop, '--no-sync', '-f', new_path('second'), "--incremental=$first", "--metrics=$metrics/dump.prom" ],
	[ 'pg_pardump', @shop, '--target=' . $node->connstr('copied'), "--metrics=$metrics/copy.prom" ],
	[ 'pg_parrestore', '-d', $node->connstr('copied'), '-c', '--if-exists', "--metrics=$metrics/restore.prom", $first ],
	[ 'pg_pardump', '-d', $node->connstr('postgres'), '--all-databases', '--no-sync', '-f', new_path('all'), '--exclude-database=shop',
		"--metrics=$metrics/all.prom" ],
	[ 'pg_parbasebackup', connection($node), '-c', 'fast', '--no-sync', '-D', new_path('base'), "--metrics=$metrics/base.prom" ],
	[ 'pg_pardump_backup', $config ])
{
	my ($rc, undef, $err) = run_program(@$run);
	is($rc, 0, "$run->[0] $run->[-1]") or diag($err);
}

# The samples of all files, with the labels that Prometheus adds, by metric.
my %samples;
foreach my $file (sort glob "$metrics/*.prom")
{
	my $found = read_samples($file);
	foreach my $metric (keys %$found)
	{
		push @{ $samples{$metric} }, map { { %$_, instance => 'db:9100', job => 'node' } } @{ $found->{$metric} };
	}
}

# The labels that identify a series.
sub labels_of
{
	my ($series) = @_;
	return join ',', map { "$_=$series->{$_}" } grep { $_ ne 'value' } sort keys %$series;
}
my %metrics_of;
foreach my $metric (keys %samples)
{
	$metrics_of{ $metric . labels_of($_) }++ foreach @{ $samples{$metric} };
}
is_deeply([ grep { $metrics_of{$_} > 1 } sort keys %metrics_of ], [], 'no two series are the same');

# ---- expressions

my %labels_in_use;

# The series of metric{label="value",label=~"pattern"}.  Variables of the dashboard
# have the value "All".
sub selected
{
	my ($metric, $matchers) = @_;
	my @series = @{ $samples{$metric} // die "no program writes $metric\n" };

	while ($matchers =~ s/^(\w+)(=~?)"([^"]*)"(?:,|\z)//)
	{
		my ($label, $operator, $value) = ($1, $2, $3);
		$labels_in_use{$label} = 1;
		$value =~ s/^\$\w+\z/.*/;
		@series = grep { $operator eq '=' ? ($_->{$label} // '') eq $value : ($_->{$label} // '') =~ /^(?:$value)\z/s } @series;
	}
	die "matchers: $matchers\n" if $matchers ne '';
	return [ map { { %$_ } } @series ];
}

my %operation = (
	'-' => sub { $_[0] - $_[1] },
	'/' => sub { $_[1] == 0 ? 'NaN' : $_[0] / $_[1] });

# Apply an operator.  Operands and result are numbers or lists of series.
sub evaluate
{
	my ($left, $operator, $right) = @_;
	my $pairs = ref $right && ref $left;
	my %others = map { labels_of($_) => $_->{value} } $pairs ? @$right : ();
	my @result;

	if ($operator eq '>')
	{
		return [ grep { $_->{value} > $right } @$left ];
	}
	foreach my $series (ref $left ? @$left : @$right)
	{
		my @values = $pairs ? ($series->{value}, $others{ labels_of($series) } // next)
		  : ref $left ? ($series->{value}, $right) : ($left, $series->{value});
		push @result, { %$series, value => $operation{$operator}->(@values) };
	}
	return \@result;
}

# Remove an expression from the beginning of $$text, and evaluate it.  Operators are
# evaluated from left to right, because no panel needs their precedence.
sub value_of
{
	my ($text) = @_;
	my $value;

	do
	{
		my $operator = defined $value ? $1 : undef;
		my $next = $$text =~ s/^\(// ? value_of($text)
		  : $$text =~ s/^time\(\)// ? time
		  : $$text =~ s/^(\d+)// ? $1
		  : $$text =~ s/^([a-z_]+)(?:\{([^{}]*)\})?// ? selected($1, $2 // '')
		  : die "not a term: $$text\n";
		$value = defined $operator ? evaluate($value, $operator, $next) : $next;
		return $value if $$text =~ s/^\)//;
	} while $$text =~ s/^ ([-\/>]) //;
	return $value;
}

my %shown;
foreach my $panel (@panels)
{
	my @names;

	foreach my $target (@{ $panel->{targets} })
	{
		my $text = $target->{expr};
		my $series = eval { value_of(\$text) };
		my $what = "panel \"$panel->{title}\"";

		is($@ . $text, '', "$what: the expression can be evaluated");
		cmp_ok(scalar @{ $series // [] }, '>', 0, "$what: the expression has series");
		$shown{$_} = 1 foreach $target->{expr} =~ /\b(pg_pardump_\w+)/g;
		my @labels = $target->{legendFormat} =~ /\{\{(\w+)\}\}/g;
		foreach my $label (@labels)
		{
			cmp_ok(scalar(grep { defined $_->{$label} } @{ $series // [] }), '>', 0, "$what: the series have label $label of the legend");
		}
		push @names, map { my $one = $_; $target->{legendFormat} =~ s/\{\{(\w+)\}\}/$one->{$1} \/\/ ''/ger } @{ $series // [] };
	}
	my %seen;
	is_deeply([ grep { $seen{$_}++ } @names ], [], "panel \"$panel->{title}\": no two series have the same name");
}
is_deeply([ sort keys %shown, @not_shown ], [ sort keys %samples ], 'all metrics are shown, or listed as not shown');

# ---- variables

my %variables;
foreach my $variable (@{ $dashboard->{templating}{list} })
{
	$variables{ $variable->{name} } = 1;
	next if $variable->{type} ne 'query';
	my ($metric, $label) = $variable->{query}{query} =~ /^label_values\((\w+), (\w+)\)\z/;
	cmp_ok(scalar(grep { defined $_->{$label} } @{ $samples{ $metric // '' } // [] }), '>', 0, "variable $variable->{name}: the label has values");
	is($label, $variable->{name}, "variable $variable->{name}: it has the name of its label");
	ok($labels_in_use{$label}, "variable $variable->{name}: an expression uses it");
}
my %used = map { $_ => 1 } encode_json(\@panels) =~ /\$\{?(\w+)/g;
is_deeply([ sort keys %used ], [ sort keys %variables ], 'panels use all variables, and no others');

# ---- IDs, places and descriptions

my (%ids, %places);
foreach my $panel (@{ $dashboard->{panels} })
{
	my ($x, $y, $w, $h) = @{ $panel->{gridPos} }{qw(x y w h)};
	$ids{ $panel->{id} }++;
	foreach my $column ($x .. $x + $w - 1)
	{
		$places{"$column $_"}++ foreach $y .. $y + $h - 1;
	}
}
is_deeply([ grep { $ids{$_} > 1 } keys %ids ], [], 'no two panels have the same ID');
is_deeply([ grep { $places{$_} > 1 || /^(?:2[4-9]|[3-9]\d) / } sort keys %places ], [], 'panels do not overlap');
is_deeply([ map { $_->{title} } grep { ($_->{description} // '') eq '' } @panels ], [], 'each panel has a description');

$node->stop;
done_testing();
