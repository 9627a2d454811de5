
# The command line under test: calls that must work or be refused, and scripts
# that stand for pg_dump.

package Pardump::Command;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program new_path data_file);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(check_list check_verdict fake_pg_dump held_pg_dump changing_pg_dump text_file data_files refused_ok accepted_ok
  preloaded system_faults);

# What --check prints, without the lines that say what a run would do.
sub check_list
{
	my ($out) = @_;
	return $out =~ s/^A run would .*:\n(?:  [a-z].*\n)+//mr;
}

# The last line of --check, with these numbers of errors and warnings.
sub check_verdict
{
	my ($errors, $warnings) = @_;
	my $n = $errors + $warnings;

	return 'no problems found' if $n == 0;
	return "$n problem" . ($n == 1 ? '' : 's') . " (errors: $errors, warnings: $warnings); a run would " . ($errors ? 'fail' : 'start');
}

# The first pg_dump in PATH, which is that of the installation under test.
sub real_pg_dump
{
	my ($path) = grep { -x } map { "$_/pg_dump" } split /:/, $ENV{PATH};
	die "no pg_dump in PATH" if !defined $path;
	return $path;
}

# A shell script that stands for pg_dump: asked for its version it tells
# $version, by default the real one's; else it runs $body, in which $PG_DUMP is
# the real one, $TOC the file that pg_pardump reads, and real_toc "$@" prints that
# of a real one that has ended.  The service of a connection is for the real one.
sub fake_pg_dump
{
	my ($name, $body, $version) = @_;
	my $path = new_path($name);
	my $real = real_pg_dump();
	my $output = new_path('output');
	$version = defined $version ? "echo '$version'" : '"$PG_DUMP" --version';
	append_to_file($path, <<"SH");
#!/bin/sh
PG_DUMP='$real'
case "\$1" in --version) $version; exit 0;; esac
TOC=\$2/toc.dat
psql() { env -u PGSERVICE -u PGSERVICEFILE psql "\$@"; }
real_toc() { shift 2; rm -rf '$output'; env -u PGSERVICE -u PGSERVICEFILE "\$PG_DUMP" -f '$output' "\$@" && cat '$output/toc.dat'; }
$body
SH
	chmod 0755, $path or die "could not make \"$path\" executable: $!";
	return $path;
}

# A pg_dump that runs a shell command when it has its locks and begins to write, and
# then lets pg_pardump read.
sub held_pg_dump
{
	my ($command) = @_;
	my $output = new_path('output');
	return fake_pg_dump('held_pg_dump', <<"SH");
shift 2
PGAPPNAME=pg_dump "\$PG_DUMP" -f '$output' "\$@" &
pid=\$!
while [ ! -s '$output/toc.dat' ]; do kill -0 \$pid || exit 9; sleep 0.05; done
$command
tail -f -c +1 -s 0.1 --pid=\$\$ '$output/toc.dat' >"\$TOC" &
wait \$pid
kill \$!
SH
}

# A pg_dump that runs SQL in the database of $connstr before it begins, when the
# snapshot is there; "after" it has ended; or when its session was "ended" while
# it waits with its locks.
sub changing_pg_dump
{
	my ($connstr, $when, $sql) = @_;
	my $output = new_path('output');
	$sql = <<'SQL' . $sql if $when eq 'ended';
DO $$ BEGIN LOOP
	EXIT WHEN (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'pg_dump' AND state = 'idle in transaction') > 0;
	PERFORM pg_sleep(0.02), pg_stat_clear_snapshot();
END LOOP; END $$;
SQL
	my $file = text_file('change.sql', $sql);
	my $change = "psql -XqAt -v ON_ERROR_STOP=1 -d '$connstr' -f '$file' >&2 || exit 9";
	return held_pg_dump($change) if $when eq 'ended';
	return fake_pg_dump('changing_pg_dump',
		$when eq 'before' ? "$change\nexec \"\$PG_DUMP\" \"\$@\""
		: "real_toc \"\$@\" >'$output'\n$change\ncat '$output' >\"\$TOC\"");
}

# A file with the given text.
sub text_file
{
	my ($name, $text) = @_;
	my $path = new_path($name);
	append_to_file($path, $text);
	return $path;
}

# t/data/$name.c as a library, to be preloaded.
sub preloaded
{
	my ($name) = @_;
	my $library = new_path("$name.so");
	my ($rc, undef, $err) = run_program('cc', '-shared', '-fPIC', '-o', $library,
		data_file("$name.c"), '-ldl');
	die "could not compile $name.c: $err" if $rc != 0;
	return $library;
}

sub system_faults { return preloaded('system_faults'); }

# The names of all files of a directory but toc.dat and the manifest.
sub data_files
{
	my ($dir) = @_;
	opendir my $dh, $dir or die "could not open \"$dir\": $!";
	return sort grep { !/^\.|^toc\.dat$|^pg_pardump_manifest\.json$/ } readdir $dh;
}

# refused_ok(message, 'what', options...): must fail with exit code 1, say so,
# and leave no directory.  Returns what it says.
sub refused_ok
{
	my ($message, $what, @args) = @_;
	my $dir = new_path('refused');
	my ($rc, $out, $err) = run_program('pg_pardump', '-f', $dir, @args);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	ok(!-e $dir, "$what: no directory left");
	return $err;
}

# Must work, and in silence.  Returns the archive.
sub accepted_ok
{
	my ($what, @args) = @_;
	my $dir = new_path('accepted');
	my ($rc, undef, $err) =
	  run_program('pg_pardump', '-f', $dir, '--no-sync', @args);
	ok($rc == 0 && $err eq '' && -f "$dir/toc.dat", $what)
	  or diag("exit code $rc: $err");
	return $dir;
}

1;
