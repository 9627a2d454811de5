
# Base backups: taken by pg_parbasebackup or pg_basebackup, verified, compared by
# their manifests, and started.

package Pardump::BaseBackup;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use JSON::PP;
use Pardump::Background qw(new_timer wait_in_run);
use Pardump::Cluster qw(run_program new_path value);
use Pardump::Moment qw(start_moments moment_held);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(start_run held_run connection take_backup backup_ok verify_backup_ok manifest_files
  differences start_backup dump_of enable_checksums slots_left
  start_pgbench stop_pgbench);

# The options that lead to a node.
sub connection
{
	my ($node) = @_;
	return ('-h', $node->host, '-p', $node->port, '-U', 'postgres');
}

# A cluster that has been shut down gets checksums of its pages, if it has none.
sub enable_checksums
{
	my ($node) = @_;
	return if value($node, 'postgres', 'SHOW data_checksums') eq 'on';
	$node->stop;
	my ($rc, undef, $err) = run_program('pg_checksums', '--enable', '--no-sync', '-D', $node->data_dir);
	die "no checksums: $err" if $rc != 0;
	$node->start;
	return;
}

# Runs the program, and returns its exit code, its standard error and the directory.
sub take_backup
{
	my ($node, $program, @options) = @_;
	my $dir = new_path($program);
	my ($rc, undef, $err) = run_program($program, connection($node), '-D', $dir,
		'-c', 'fast', '--no-sync', @options);
	return ($rc, $err, $dir);
}

# Starts the program, by way of a relay, which may stop it at some moment; with is
# a command in front.  What is returned is for end_dump().
sub start_run
{
	my ($relay, $with, @options) = @_;
	my %run = (out => '', err => '', dir => new_path('run'));
	my @cmd = ('setsid', @$with, 'pg_parbasebackup', '-h', $relay->{host}, '-p', $relay->{port}, '-U', 'postgres',
		'-D', $run{dir}, '-c', 'fast', (grep { /^--sync-method/ } @options) ? () : '--no-sync', @options);
	note("starting: @cmd");
	# PostgreSQL::Test::Utils names all sessions alike
	delete local $ENV{PGAPPNAME};
	$run{h} = IPC::Run::start(\@cmd, '<', \'', '>', \$run{out}, '2>', \$run{err}, $run{timer} = new_timer());
	$run{pid} = $run{h}{KIDS}[0]{PID};
	return \%run;
}

# A run that is held at a moment of those that patterns tell (start_moments()): the
# relay, the run, and the backend that has sent, or is sent, it.
sub held_run
{
	my ($node, $patterns, $what, $moment, $with, @options) = @_;
	my $moments = start_moments($node, $patterns, $moment);
	# however long the test holds it
	my $run = start_run($moments, $with, '--stall-timeout=0', @options);
	my @held = wait_in_run($run, "$what: the moment", sub {
		my @said = moment_held($moments);
		return @said ? \@said : undef;
	});
	return ($moments, $run, $held[0][2]);
}

# The same as take_backup(), which must succeed in silence.
sub backup_ok
{
	my ($node, $what, $program, @options) = @_;
	my ($rc, $err, $dir) = take_backup($node, $program, @options);
	# the server's own words, if a tablespace is dropped while it looks
	$err =~ s/^\w+: WARNING:  could not read symbolic link "pg_tblspc\/\d+": No such file or directory\n//mg;
	is("$rc$err", '0', "$what: $program");
	return $dir;
}

sub verify_backup_ok
{
	my ($dir, $what, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_verifybackup', @options, $dir);
	ok($rc == 0 && $out . $err =~ /successfully verified/, "$what: pg_verifybackup")
	  or diag($out . $err);
	return;
}

# By path, a hash of each file of the manifest.
sub manifest_files
{
	my ($dir) = @_;
	my $manifest = decode_json(slurp_file("$dir/backup_manifest"));
	return { map { ($_->{Path} // $_->{'Encoded-Path'} => $_) } @{ $manifest->{Files} } };
}

# Each checkpoint writes it again, with the same bytes if there are no origins.
my $rewritten = 'pg_logical/replorigin_checkpoint';

# The paths of which two manifests do not tell the same, but for those that a
# pattern matches, if both have them; the map of tablespaces is in tar format only.
sub differences
{
	my ($one, $other, $but) = @_;
	my ($files, $others) = map { manifest_files($_) } $one, $other;
	my @differ;
	foreach my $path (sort keys %{ { %$files, %$others } })
	{
		my @keys = (qw(Size Checksum-Algorithm Checksum), $path eq $rewritten ? () : 'Last-Modified');
		my @tell = map { $_->{$path} ? join(' ', map { $_ // '' } @{ $_->{$path} }{@keys}) : 'none' } $files, $others;
		next if $path =~ $but && ($path eq 'tablespace_map' || !grep { $_ eq 'none' } @tell);
		push @differ, "$path: $tell[0], $tell[1]" if $tell[0] ne $tell[1];
	}
	return @differ;
}

# A running server of a backup, which is moved to its place.  conf is more for
# postgresql.conf.
sub start_backup
{
	my ($dir, $name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	rename $dir, $node->data_dir or die "could not rename \"$dir\": $!";
	$node->append_conf('postgresql.conf',
		join("\n", '', 'port = ' . $node->port, "unix_socket_directories = '" . $node->host . "'",
			"listen_addresses = ''", $conf // '', ''));
	$node->start;
	return $node;
}

# Starts pgbench, which writes until it is stopped, or the server ends it; what it
# says goes to a file.
sub start_pgbench
{
	my ($node, $log, @options) = @_;
	my $pid = fork() // die "could not fork: $!";
	return $pid if $pid != 0;
	open STDOUT, '>', $log or die "could not open \"$log\": $!";
	open STDERR, '>&', \*STDOUT or die "could not duplicate: $!";
	# PostgreSQL::Test::Utils names all sessions alike
	delete $ENV{PGAPPNAME};
	exec 'pgbench', connection($node), '-n', '-T600', @options, 'postgres'
	  or die "could not run pgbench: $!";
}

sub stop_pgbench
{
	my ($pid) = @_;
	kill TERM => $pid;
	waitpid $pid, 0;
	return;
}

# All databases, as SQL.
sub dump_of
{
	my ($node) = @_;
	my ($rc, $out, $err) = run_program('pg_dumpall', '--no-sync', connection($node));
	die "could not dump: $err" if $rc != 0;
	return $out =~ s/^\\(un)?restrict .*\n//mgr;
}

# The names of the server's slots, once those of sessions that have ended are gone.
sub slots_left
{
	my ($node) = @_;
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots');
	return value($node, 'postgres', q{SELECT coalesce(string_agg(slot_name, ' '), '') FROM pg_replication_slots});
}

1;
