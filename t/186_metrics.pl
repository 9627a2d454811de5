# --metrics: what a strict reader of Prometheus's text format makes of the file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use List::Util qw(sum);
use Pardump::BaseBackup qw(connection manifest_files enable_checksums);
use Pardump::Cluster qw(start_cluster run_program new_path sql value line_break);
use Pardump::Prometheus qw(read_samples);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('metrics', allows_streaming => 1);
my $break = line_break($node);
my $name = "odd \"name\\ \xc3\xa4${break}line";
sql($node, 'postgres', 'CREATE DATABASE "odd ""name\\ ä' . $break . 'line"; CREATE DATABASE copied');
my $db = "dbname='" . $name =~ s/([\\'])/\\$1/gr . "'";
my $conninfo = $node->connstr . " $db";
run_program('psql', '-Xq', '-d', $conninfo, '-c',
	'CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g; CREATE TABLE u (a int)');

sub read_metrics
{
	my $samples = read_samples(@_);
	return { map { s/^pg_pardump_//r => $samples->{$_}[0] } keys %$samples };
}

# values_ok('what', \%metrics, name => value...)
sub values_ok
{
	my ($what, $metrics, %expected) = @_;
	my %got = map { $_ => $metrics->{$_} ? $metrics->{$_}{value} : undef } keys %expected;
	is_deeply(\%got, \%expected, "$what: values");
	return;
}

# ---- a dump: success, failure, success

my $dir = new_path('metrics');
mkdir $dir;
my $file = "$dir/shop.prom";
my @log = ("--metrics=$file", '--no-sync');

sub dump_into
{
	my ($archive, @options) = @_;
	umask 077;
	return run_program('pg_pardump', @log, '-f', $archive, '-d', $conninfo, @options);
}

my $first = new_path('first');
my ($rc, undef, $err) = dump_into($first, '-j2');
is("$rc$err", '0', 'a dump');
my $metrics = read_metrics($file);
values_ok('a dump', $metrics, success => 1, tables => 2, rows => 1000, retries => 0, reused_files => 0);
is($metrics->{success}{database}, $name, 'a dump: label with the name of the database');
is($metrics->{success}{command}, 'dump', 'a dump: label with the command');
my @stored = map { -s $_ } glob "$first/[0-9]*.dat*";
my $stored = 0;
$stored += $_ foreach @stored;
is($metrics->{stored_bytes}{value}, $stored, 'a dump: stored bytes');
is(sprintf('%o', (stat $file)[2] & 07777), '644', 'others may read it');
my $success = $metrics->{last_success_timestamp_seconds}{value};
is($success, $metrics->{last_run_timestamp_seconds}{value}, 'a dump: the last run was the last success');

($rc) = dump_into($first);
is($rc, 1, 'a failure: exit code');
$metrics = read_metrics($file);
values_ok('a failure', $metrics, success => 0, last_success_timestamp_seconds => $success, rows => 0);
isnt($metrics->{last_run_timestamp_seconds}{value}, $success, 'a failure: time of the last run');
is($metrics->{success}{database}, $name, 'a failure: the same database');
($rc) = run_program('pg_pardump', @log, '-f', new_path('x'), '-d', "$conninfo host=/nowhere");
is($rc, 1, 'no server: exit code');
values_ok('no server', read_metrics($file), success => 0, last_success_timestamp_seconds => $success);
is_deeply([ map { s/.*\///r } glob "$dir/*" ], ['shop.prom'], 'the directory contains no other file');

# the value is of this database: of another one there was no success
($rc) = run_program('pg_pardump', @log, '-f', new_path('y'), '-d', $node->connstr('missing'));
values_ok('another database', read_metrics($file), success => 0, last_success_timestamp_seconds => undef);

# ---- a copy, a restore

($rc) = run_program('pg_pardump', @log, '--target=' . $node->connstr('copied'), '-d', $conninfo);
$metrics = read_metrics($file);
values_ok('a copy', $metrics, success => 1, rows => 1000, tables => 2);
is($metrics->{rows}{command}, 'copy', 'a copy: label with the command');
($rc) = run_program('pg_parrestore', "--metrics=$file", '-d', $node->connstr('copied'), $first);
is($rc, 1, 'a restore with errors: exit code');
$metrics = read_metrics($file);
values_ok('a restore with errors', $metrics, success => 0, last_success_timestamp_seconds => undef);
is($metrics->{rows}{command}, 'restore', 'a restore: label with the command');
is($metrics->{rows}{database}, 'copied', 'a restore: label with the database');
($rc) = run_program('pg_parrestore', "--metrics=$file", '-c', '--if-exists', '-d', $node->connstr('copied'), $first);
values_ok('a restore', read_metrics($file), success => 1, rows => 1000);
my ($damaged) = glob "$first/*.dat*";
append_to_file($damaged, 'x');
($rc) = run_program('pg_parrestore', "--metrics=$file", '--verify', '-c', '--if-exists', '-d', $node->connstr('copied'), $first);
is($rc, 1, 'a damaged archive: exit code');
values_ok('a damaged archive', read_metrics($file), success => 0);

# ---- a base backup

my $cluster = "$dir/cluster.prom";

sub back_up
{
	my ($directory, @options) = @_;
	return run_program('pg_parbasebackup', "--metrics=$cluster", '--no-sync', '-c', 'fast', connection($node),
		'-D', $directory, @options);
}

my $backup = new_path('backup');
($rc, undef, $err) = back_up($backup, '-j2');
is("$rc$err", '0', 'a base backup');
my $files = manifest_files($backup);
my $metrics_of_backup = read_metrics($cluster);

# two files are the leader's: pg_control, and the label
my @read = grep { $_ ne 'backup_label' && $_ ne 'global/pg_control' } keys %$files;
my $bytes = sum(map { $files->{$_}{Size} } @read);
values_ok('a base backup', $metrics_of_backup, success => 1, retries => 0, backup_checksum_failures => 0,
	backup_files => scalar @read, backup_bytes => $bytes);
delete $metrics_of_backup->{success}{value};
is_deeply($metrics_of_backup->{success}, { command => 'basebackup', host => $node->host, port => $node->port },
	'a base backup: labels');
$success = $metrics_of_backup->{last_success_timestamp_seconds}{value};
($rc) = back_up($backup);
is($rc, 1, 'a base backup that fails: exit code');
values_ok('a base backup that fails', read_metrics($cluster), success => 0, backup_bytes => 0,
	last_success_timestamp_seconds => $success);

# a connection string comes before options, as for libpq
($rc) = back_up(new_path('x'), '-d', 'port=1');
is($rc, 1, 'another server: exit code');
values_ok('another server', read_metrics($cluster), success => 0, last_success_timestamp_seconds => undef);
is(read_metrics($cluster)->{success}{port}, '1', 'another server: label with the port');

# a page that is damaged is not a success, though all has been read
enable_checksums($node);
my $damaged_file = $node->data_dir . '/' . value($node, 'copied', "SELECT pg_relation_filepath('t')");
$node->stop;
open my $table, '+<:raw', $damaged_file or die "$damaged_file: $!";
seek $table, 2000, 0 or die "seek: $!";
print {$table} 'damage' or die "print: $!";
close $table or die "close: $!";
$node->start;
($rc) = back_up(new_path('damaged'));
is($rc, 1, 'a damaged page: exit code');
values_ok('a damaged page', read_metrics($cluster), success => 0, backup_checksum_failures => 1);
($rc, undef, $err) = run_program('pg_parbasebackup', '--extract=x', '-D', new_path('y'), "--metrics=$cluster");
like($err, qr/options --extract and --metrics cannot be used together/, '--metrics is refused with --extract');

sub refused_ok
{
	my ($message, $what, @options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('none'), '-d', $conninfo, @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

# ---- labels of the user's

my @labels = ('--metrics-label=site=north "1"', '--metrics-label=_x2=a=b\\');
($rc, undef, $err) = run_program('pg_pardump', "--metrics=$dir/labels.prom", @labels, '-f', new_path('labels'), '-d', $conninfo);
is("$rc$err", '0', 'labels');
my $labelled = read_metrics("$dir/labels.prom");
is_deeply({ %{ $labelled->{success} } }, { command => 'dump', database => $name, site => 'north "1"', _x2 => 'a=b\\', value => 1 }, 'labels: all of them');
$success = $labelled->{last_success_timestamp_seconds}{value};
($rc) = run_program('pg_pardump', "--metrics=$dir/labels.prom", @labels, '-f', $dir, '-d', $conninfo);
is($rc, 1, 'labels, a failure: exit code');
values_ok('labels, a failure', read_metrics("$dir/labels.prom"), success => 0, last_success_timestamp_seconds => $success);
($rc) = back_up(new_path('x'), '--metrics-label=site=south');
is(read_metrics($cluster)->{success}{site}, 'south', 'labels of a base backup');
($rc) = run_program('pg_parrestore', "--metrics=$dir/labels.prom", '--metrics-label=site=west', '-c', '--if-exists', '-d', $node->connstr('copied'), $first);
is(read_metrics("$dir/labels.prom")->{success}{site}, 'west', 'labels of a restore');

refused_ok(qr/option --metrics-label requires option --metrics/, 'a label without a file', '--metrics-label=a=b');
refused_ok(qr/invalid value "\Q$_\E" for option --metrics-label\n.*hint: Use NAME=VALUE/, "label $_", "--metrics=$file", "--metrics-label=$_")
  foreach 'a', '=b', '1a=b', 'a b=c', '__a=b', 'a-b=c';
refused_ok(qr/label "a" specified more than once/, 'a label twice', "--metrics=$file", '--metrics-label=a=b', '--metrics-label=ab=c', '--metrics-label=a=c');
refused_ok(qr/label "$_" is reserved/, "label $_", "--metrics=$file", "--metrics-label=$_=b") foreach qw(command database host port);
refused_ok(qr/options --metrics and --check cannot be used together/, '--check', "--metrics=$file", '--check');

# ---- what only reports does not prevent a dump

sub dumped_ok
{
	my ($message, $what, $metrics) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '-f', new_path('none'), '-d', $conninfo, "--metrics=$metrics");
	is($rc, 0, "$what: exit code");
	like($err, qr/\A(?:pg_pardump: )?warning: $message\n.*detail: The run continues without metrics\.\n\z/, "$what: a warning");
	return;
}

append_to_file("$dir/other", "precious\n");
dumped_ok(qr/file ".*other" of option --metrics does not contain metrics/, 'another file', "$dir/other");
is(slurp_file("$dir/other"), "precious\n", 'another file: as it was');
dumped_ok(qr/could not create file "\/nowhere\/x\.\d+\.tmp": No such file or directory/, 'no directory', '/nowhere/x');
dumped_ok(qr/could not use the file of option --metrics\n.*detail: "\Q$dir\E" is not a regular file\./, 'a directory', $dir);
append_to_file("$dir/large", '# HELP pg_pardump_' . 'x' x 1048576);
dumped_ok(qr/file ".*large" of option --metrics is too large/, 'a file over 1 MB', "$dir/large");
dumped_ok(qr/could not create file ".*x\.\d+\.tmp": File name too long/, 'a long name', "$dir/" . 'x' x 250);
mkfifo("$dir/fifo", 0600) or die "could not make a FIFO: $!";
dumped_ok(qr/could not use the file of option --metrics\n.*detail: "\Q$dir\E\/fifo" is not a regular file\./, 'a FIFO', "$dir/fifo");
symlink "$dir/shop.prom", "$dir/link" or die "could not make a link: $!";
dumped_ok(qr/could not use the file of option --metrics\n.*detail: File "\Q$dir\E\/link" is a symbolic link\./, 'a symbolic link', "$dir/link");
ok(-l "$dir/link", 'a symbolic link: as it was');

$node->stop;
done_testing();
