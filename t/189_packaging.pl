# packaging/ and debian/: versions and lists are those of the rest of the tree,
# manifests are what Kubernetes takes, and the scripts do what they say.  What
# takes building is in scripts/build_packages.sh.

use strict;
use warnings;

use CPAN::Meta::YAML;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value restore_ok);
use Pardump::Command qw(text_file);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = abs_path("$FindBin::RealBin/..");
my $packaging = "$tree/packaging";
my ($version) = (run_program('pg_pardump', '--version'))[1] =~ /^pg_pardump (\S+) /;
my @majors = (15, 17, 18);
my ($programs) = slurp_file("$tree/Makefile") =~ /^PROGRAMS = (.+)$/m;
my @programs = split ' ', $programs;

sub is_there { return scalar grep { -x "$_/$_[0]" } split /:/, $ENV{PATH} }

# ---- RPM

my $spec = "$packaging/rpm/pg_pardump.spec";
my $text = slurp_file($spec);
like($text, qr/^Version: +\Q$version\E$/m, 'RPM: the version');
like($text, qr/^%changelog\n\* .* - \Q$version\E-1$/m, 'RPM: its last change');
foreach my $program (@programs)
{
	like($text, qr{^%\{pginstdir\}/bin/$program$}m, "RPM: $program");
	like($text, qr{^%\{pgsharedir\}/man/man1/$program\.1\*$}m, "RPM: its manual");
}
like($text, qr{^%files\n(?:(?!^%files).)*^%\{pgsharedir\}/pg_pardump_report\.html$}ms, 'RPM: the template of reports, with the programs');
like($text, qr{^%files backup\n(?:(?!^%files).)*^%\{pgsharedir\}/pg_pardump$}ms, 'RPM: the dashboard, with pg_pardump_backup');
SKIP:
{
	skip 'rpmspec is not installed', 2 * @majors if !is_there('rpmspec');
	foreach my $major (@majors)
	{
		my ($rc, $out, $err) = run_program('rpmspec', '-q', '--define', "pgmajorversion $major",
			'--qf', '%{name} %{version} %{summary}\n', $spec);
		is("$rc$err", '0', "RPM: the spec for $major is one");
		is($out, <<"PACKAGES", "RPM: its packages");
pg_pardump_$major $version Parallel pg_dump within every table, for PostgreSQL $major
pg_pardump_$major-server $version Extension of pg_pardump for servers of PostgreSQL $major
pg_pardump_$major-backup $version Backups every night by pg_pardump
PACKAGES
	}
}

# ---- Debian, for the majors that apt.postgresql.org has

my ($oldest) = slurp_file("$tree/debian/pgversions") =~ /^(\d+)$/m;
is($oldest, $majors[0], 'Debian: built from the oldest major on');
like(slurp_file("$tree/src/frontend/base/fe_compat.h"), qr/^#if PG_VERSION_NUM < ${oldest}0000$/m, 'which is the oldest that can be built for');
SKIP:
{
	skip 'pg_buildext is not installed', 5 if !is_there('pg_buildext');
	my $dir = new_path('source');
	mkdir $_ or die "could not make directory \"$_\": $!" foreach $dir, "$dir/debian";
	copy("$tree/debian/$_", "$dir/debian/$_") or die "could not copy \"$_\": $!" foreach qw(control control.in pgversions changelog);
	my $update = 'cd "$1" && PG_SUPPORTED_VERSIONS="$2" pg_buildext "$3" 2>&1';
	my ($rc, $out) = run_program('sh', '-c', $update, 'sh', $dir, '15', 'checkcontrol');
	is($rc, 0, 'Debian: control is made of control.in') or diag($out);
	($rc, $out) = run_program('sh', '-c', $update, 'sh', $dir, "9.6 13 14 16 @majors", 'updatecontrol');
	is($rc, 0, 'Debian: control for several majors') or diag($out);
	my $control = slurp_file("$dir/debian/control");
	is_deeply([ $control =~ /^Package: postgresql-client-(\d+)-pg-pardump$/mg ], \@majors, 'Debian: programs for each major');
	is_deeply([ $control =~ /^Package: postgresql-(\d+)-pg-pardump$/mg ], \@majors, 'Debian: the extension for each major');
	unlike($control, qr/PGVERSION/, 'Debian: no place is left open');
}
my $links = slurp_file("$tree/debian/pg-pardump.links");
like($links, qr{^usr/share/postgresql-common/pg_wrapper usr/bin/$_$}m, "Debian: the command $_") foreach @programs;

# ---- the container

my $container = "$packaging/container";
my $file = slurp_file("$container/Containerfile");
my ($image_majors) = $file =~ /^ARG MAJORS="(.*)"$/m;
is($image_majors, "@majors", 'container: the majors');
like($file, qr{^FROM \$\{BASE\}\n(?:(?!^FROM).)*^USER ([1-9]\d*):\1\n(?:(?!^USER).)*\z}ms, 'container: no root at the end');
foreach my $path ($file =~ /^COPY (?:--chmod=\d+ )?(packaging\S+)/mg)
{
	ok(-f "$tree/$path" && -x _, "container: $path is there");
}
is((run_program('sh', '-n', $_))[0], 0, "$_ can be parsed") foreach glob("$packaging/*/*.sh");

# the entry point
my $bindirs = new_path('bindirs');
mkdir $_ or die "could not make directory \"$_\": $!" foreach $bindirs, "$bindirs/15", "$bindirs/15/bin";
append_to_file("$bindirs/15/bin/$_", "#!/bin/sh\nprintf '%s|' $_ \"\$@\"\n") foreach @programs;
chmod 0755, glob("$bindirs/15/bin/*");
foreach my $try (
	[ 'options', [ '-f', 'a b', 'shop' ], 'pg_pardump|-f|a b|shop|' ],
	[ 'nothing', [], 'pg_pardump|' ],
	[ 'a program', [ 'pg_parrestore', '-d', 'x' ], 'pg_parrestore|-d|x|' ],
	[ 'any program', [ 'sh', '-c', 'echo $0 it', 'does' ], "does it\n" ])
{
	my ($what, $args, $want) = @$try;
	local $ENV{PG_MAJOR} = 15;
	local $ENV{PG_BINDIRS} = $bindirs;
	my ($rc, $out, $err) = run_program("$container/entry_point.sh", @$args);
	is("$rc$err$out", "0$want", "entry point: $what");
}
{
	local $ENV{PG_MAJOR} = 14;
	my ($rc, $out, $err) = run_program("$container/entry_point.sh", '--version');
	is("$rc$out", 1, 'entry point: a major that is not there');
	like($err, qr/error: there are no programs of PostgreSQL "14" in this image/, 'entry point: says so');
}
{
	local $ENV{PG_MAJOR};
	delete $ENV{PG_MAJOR};
	like((run_program("$container/entry_point.sh", '--version'))[1], qr/^pg_pardump \Q$version\E /, 'entry point: no major');
}

# ---- Kubernetes

my %manifests = map { /([^\/]+)\.yaml$/ => CPAN::Meta::YAML->read_string(slurp_file($_)) } glob("$packaging/kubernetes/*.yaml");
is_deeply([ map { $_->{kind} } map { @{ $manifests{$_} } } sort keys %manifests ], [qw(Job PersistentVolumeClaim CronJob)], 'manifests: what they are');
my $job = $manifests{dump_tasks}[0]{spec};
my $nightly = $manifests{nightly_dump}[1]{spec}{jobTemplate}{spec};
foreach my $pod ([ 'tasks', $job->{template}{spec} ], [ 'nightly', $nightly->{template}{spec} ])
{
	my ($name, $pod) = @$pod;
	my ($user) = $file =~ /^USER (\d+)/m;
	is($pod->{securityContext}{runAsUser}, $user, "manifests: $name: the container's user");
	is($pod->{securityContext}{runAsNonRoot}, 'true', "manifests: $name: not root");
	foreach my $container (@{ $pod->{containers} })
	{
		like($container->{image}, qr/:\Q$version\E$/, "manifests: $name: the version");
		is_deeply([ grep { $_->{name} =~ /PASS/ && exists $_->{value} } @{ $container->{env} } ], [], "manifests: $name: no password in it");
		ok((grep { $_ eq (map { $_->{value} } grep { $_->{name} eq 'PG_MAJOR' } @{ $container->{env} })[0] } @majors), "manifests: $name: a major of the image");
		is((run_program('sh', '-n', text_file('args', $container->{args}[2])))[0], 0, "manifests: $name: the command can be parsed");
	}
}
# as the documentation of tasks lists exit codes
is_deeply([ map { [ $_->{action}, @{ $_->{onExitCodes}{values} } ] } grep { $_->{onExitCodes} } @{ $job->{podFailurePolicy}{rules} } ],
	[ [ 'FailJob', 1 ], [ 'Count', 75 ] ], 'manifests: tasks: which ends have a second chance');
SKIP:
{
	skip 'kubernetes-validate is not installed', 2 if !is_there('kubernetes-validate');
	foreach my $name (sort keys %manifests)
	{
		my $manifest = slurp_file("$packaging/kubernetes/$name.yaml") =~ s/JOB_NAME/name/r =~ s/: COMPLETIONS$/: 4/gmr;
		my ($rc, $out, $err) = run_program('kubernetes-validate', '--strict', text_file('manifest', $manifest));
		is($rc, 0, "manifests: $name: valid by the schema") or diag("$out$err");
	}
}

# ---- tasks as indexes of a job, with a program in kubectl's place, which runs
# what the manifest says, one index after the other

my $bin = new_path('bin');
my $state = new_path('state');
mkdir $_ or die "could not make directory \"$_\": $!" foreach $bin, $state;
append_to_file("$bin/kubectl", <<"KUBECTL");
#!$^X
use strict;
use warnings;
use CPAN::Meta::YAML;

my (\$state, \@args) = ('$state', \@ARGV);
sub note { open my \$log, '>>', "\$state/log" or die; print \$log "\@_\\n"; close \$log; return }
if (\$args[0] eq 'apply')
{
	my \$job = CPAN::Meta::YAML->read_string(do { local \$/; <STDIN> })->[0];
	my \$container = \$job->{spec}{template}{spec}{containers}[0];
	my %env = map { exists \$_->{value} ? (\$_->{name} => \$_->{value}) : () } \@{ \$container->{env} };
	note("apply \$job->{metadata}{name} \$job->{spec}{completions} of \$env{TASKS}");
	my \$failed = 0;
	foreach my \$index (0 .. \$job->{spec}{completions} - 1)
	{
		local \@ENV{ keys %env } = values %env;
		local \$ENV{JOB_COMPLETION_INDEX} = \$index;
		if (\$index == 1 && !-e "\$state/once")
		{
			open my \$once, '>', "\$state/once" or die;
			\$failed++;
			next;
		}
		\$failed++ if system(\@{ \$container->{args} }) != 0;
	}
	open my \$end, '>', "\$state/\$job->{metadata}{name}" or die;
	print \$end \$failed ? "FailureTarget\\nFailed\\n" : "Complete\\n";
}
elsif (\$args[0] eq 'get')
{
	open my \$end, '<', "\$state/\$args[2]" or die;
	print <\$end>;
}
else
{
	note("\@args[0 .. 2]");
	unlink "\$state/\$args[2]" or die;
}
KUBECTL
chmod 0755, "$bin/kubectl";

my $node = start_cluster('packaging');
make_database($node, 'tasks');
sql($node, 'tasks', 'CREATE TABLE big AS SELECT g, md5(g::text) AS t FROM generate_series(1, 80000) g; CREATE TABLE small AS SELECT 1');
{
	local $ENV{PATH} = "$bin:$ENV{PATH}";
	local $ENV{INTERVAL} = 0;
	my $dir = new_path('dump');
	my ($rc, $out, $err) = run_program('pg_pardump', '-d', $node->connstr('tasks'), '-f', $dir, '--no-sync', '--tasks=4',
		'--max-table-segment-pages=20', "--run-tasks=$packaging/kubernetes/run_tasks.sh %p %n %L");
	is($rc, 0, 'tasks as a job: exit code') or diag($err);
	my @log = split /\n/, slurp_file("$state/log");
	my ($first, $second) = map { /^apply (\S+)/ ? $1 : () } @log;
	is_deeply(\@log, [ "apply $first 4 of 0 1 2 3", "delete job $first", "apply $second 1 of 1", "delete job $second" ],
		'tasks as a job: the second has what was not done');
	isnt($first, $second, 'tasks as a job: of another name');
	is((run_program('pg_pardump', "--verify=$dir"))[0], 0, 'tasks as a job: an archive');
	make_database($node, 'restored', options => 'TEMPLATE template0');
	restore_ok($node, $dir, 'restored', 'tasks as a job');
	is(value($node, 'restored', 'SELECT count(*), sum(g) FROM big'), '80000|3200040000', 'tasks as a job: its rows');

	($rc, $out, $err) = run_program("$packaging/kubernetes/run_tasks.sh", '/with "quotes"', 4, 1);
	is($rc, 1, 'tasks as a job: a path that would be YAML: exit code');
	like($err, qr/error: the path of the plan has other characters/, 'tasks as a job: message');
}

$node->stop;
done_testing();
