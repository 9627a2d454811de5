
# pg_pardump_backup, night after night: configurations, runs at a time of the test's
# choice, and programs that fail when they are told to.

package Pardump::Nights;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Pardump::Cluster qw(new_path run_program);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(backup_config run_backup start_backup end_backup failing_programs next_fault
  programs_without_retries complete_backups partial_backups time_name);

# "fetch" and "pipe" are tried again without waiting for seconds.
$ENV{PG_PARDUMP_BACKUP_RETRY_WAIT} //= 0.05;

# A configuration file of these lines, after those that name a new directory and
# the server.  Returns its path and the directory.
sub backup_config
{
	my ($node, @lines) = @_;
	my $dir = new_path('backups');
	my $file = new_path('nightly.conf');
	mkdir $dir, 0700 or die "could not make directory \"$dir\": $!";
	append_to_file($file, join "\n", "directory = $dir", 'host = ' . $node->host, 'port = ' . $node->port, @lines, '');
	chmod 0600, $file or die "could not change mode of \"$file\": $!";
	return ($file, $dir);
}

sub time_name
{
	my ($time) = @_;
	my ($s, $m, $h, $day, $month, $year) = gmtime $time;
	return sprintf '%04d%02d%02dT%02d%02d%02dZ', $year + 1900, $month + 1, $day, $h, $m, $s;
}

sub run_backup
{
	my ($time, @arguments) = @_;
	local $ENV{PG_PARDUMP_BACKUP_NOW} = $time;
	return run_program('pg_pardump_backup', @arguments);
}

sub start_backup
{
	my ($time, @arguments) = @_;
	local $ENV{PG_PARDUMP_BACKUP_NOW} = $time;
	my %run = (err => '');
	$run{h} = IPC::Run::start([ 'pg_pardump_backup', @arguments ], '<', \'', '>', \$run{out}, '2>', \$run{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$run{pid} = $run{h}{KIDS}[0]{PID};
	return \%run;
}

# The exit code, or 128 + signal.
sub end_backup
{
	my ($run) = @_;
	$run->{h}->finish;
	my $status = $run->{h}->full_result(0);
	return ($status & 127) ? 128 + ($status & 127) : $status >> 8;
}

# A directory for "bindir": its pg_pardump and pg_dumpall do what the real ones do,
# but for a fault that next_fault() has named.  The pg_pardump of a fault that waits
# makes the file "waits", and continues when that is removed.
sub failing_programs
{
	my $bin = new_path('bin');
	mkdir $bin or die "could not make directory \"$bin\": $!";
	my ($real, $real_dumpall, @linked) = map {
		my $program = $_;
		(grep { -x } map { "$_/$program" } split /:/, $ENV{PATH})[0];
	} qw(pg_pardump pg_dumpall psql pg_parrestore);
	foreach my $program (@linked)
	{
		symlink $program, "$bin/" . $program =~ s/.*\///r or die "could not link \"$program\": $!";
	}
	append_to_file("$bin/pg_pardump", <<"SH");
#!/bin/sh
real=$real
bin=$bin
SH
	append_to_file("$bin/pg_pardump", <<'SH');
fault=
dump=
for word; do
	case $word in
		--verify=* | --check) exec "$real" "$@" ;;
		--file=*) dump=${word#--file=} ;;
	esac
done
wait_here()
{
	: >"$bin/waits"
	while [ -e "$bin/waits" ]; do sleep 0.02; done
}
# the first fault that is not for a database whose directory has another name
while read -r line; do
	case $line in *" "*) case $dump in */"${line#* }"/*) ;; *) continue ;; esac ;; esac
	fault=$line
	break
done <"$bin/fault"
case ${fault%% *} in
	full) ulimit -f 100 ;;
	waits) wait_here ;;
	slow) set -- "$@" --max-rate=32 ;;
	killed)
		"$real" "$@" --max-rate=32 &
		until [ -e "$dump/toc.dat.tmp" ]; do sleep 0.02; done
		kill -KILL $!
		kill -KILL $$ ;;
	all_killed)
		"$real" "$@" --max-rate=32 &
		until [ -e "$dump/toc.dat.tmp" ]; do sleep 0.02; done
		kill -KILL $PPID
		wait_here
		kill -KILL $!
		exit 1 ;;
	damage)
		"$real" "$@" || exit
		for file in "$dump"/[0-9]*.dat*; do
			[ -s "$file" ] && printf X | dd of="$file" bs=1 seek=5 conv=notrunc 2>/dev/null && exit 0
		done
		exit 9 ;;
esac
exec "$real" "$@"
SH
	append_to_file("$bin/pg_dumpall", <<"SH");
#!/bin/sh
case \$(cat "$bin/fault" 2>/dev/null) in
	globals) echo "no globals" >&2; exit 1 ;;
	half_globals) echo "CREATE ROLE half;"; exit 0 ;;
esac
exec "$real_dumpall" "\$@"
SH
	chmod 0755, "$bin/pg_pardump", "$bin/pg_dumpall";
	next_fault($bin, 'none');
	return $bin;
}

# A directory for "bindir": its pg_pardump and pg_parrestore do not run failed commands
# again, which takes half a minute.
sub programs_without_retries
{
	my $bin = new_path('bin');
	mkdir $bin or die "could not make directory \"$bin\": $!";
	foreach my $program (qw(pg_pardump pg_parrestore pg_dumpall psql pg_restore))
	{
		my ($real) = grep { -x } map { "$_/$program" } split /:/, $ENV{PATH};
		append_to_file("$bin/$program", "#!/bin/sh\nexec $real \"\$@\"" . ($program =~ /^pg_par/ ? " --retries=0\n" : "\n"));
		chmod 0755, "$bin/$program";
	}
	return $bin;
}

# Some of those above; after a blank, the folder of the database that it is for.
sub next_fault
{
	my ($bin, @faults) = @_;
	open my $fh, '>', "$bin/fault" or die "could not write \"$bin/fault\": $!";
	print $fh map { "$_\n" } @faults;
	close $fh or die "could not write \"$bin/fault\": $!";
	return;
}

sub complete_backups
{
	my ($dir, $folder) = @_;
	return map { s/.*\///r } grep { !/\.partial$/ } sort glob "$dir/$folder/*";
}

sub partial_backups
{
	my ($dir) = @_;
	my @found = glob "$dir/*/*.partial";
	return @found;
}

1;
