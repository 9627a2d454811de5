# The programs that pg_pardump_backup runs.  None of them is found or given its
# arguments by a shell; but the command of "pipe" is one of a shell, as that of
# pg_pardump's option is.

package PardumpBackup::Programs;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IO::Handle;
use POSIX ();

use PardumpBackup::Config qw(fill_in);

our @EXPORT_OK = qw(catch_signals interrupted find_programs list_databases dump_globals pipe_file dump_options
  run_pg_pardump run_command connection_words);

# ioctl_list(2)
use constant FIONREAD => 0x541B;

my ($child, $caught);

# A signal goes on to the program that runs, which cleans up, and then we do.
sub catch_signals
{
	foreach my $signal (grep { ($SIG{$_} // '') ne 'IGNORE' } qw(INT TERM HUP))
	{
		$SIG{$signal} = sub { $caught = $signal; kill $signal => $child if $child; };
	}
	$SIG{PIPE} = 'IGNORE';
	return;
}

sub interrupted { return $caught; }

# In the child: never returns.
sub execute
{
	my ($command, $stdin, $stdout) = @_;

	$SIG{$_} = 'DEFAULT' foreach grep { ($SIG{$_} // '') ne 'IGNORE' } qw(INT TERM HUP);
	$SIG{PIPE} = 'DEFAULT';
	no warnings 'exec';
	if (open(STDIN, '<&', $stdin) && open(STDOUT, '>&', $stdout))
	{
		exec { $command->[0] } @$command;
	}
	print STDERR "pg_pardump_backup: error: could not execute \"$command->[0]\": $!\n";
	POSIX::_exit(127);
}

# Gives a text to the pipe, and ends it.  What may be left of it in the pipe, which
# has room for some, is to be had from what is returned; nothing if not all got in.
sub feed
{
	my ($feed, $text) = @_;
	my $went = print {$feed} $text and $feed->flush;

	open(my $rest, '<', '/proc/self/fd/' . fileno $feed) or $went = 0;
	return close($feed) && $went ? $rest : undef;
}

sub was_taken
{
	my ($rest) = @_;
	my $left = pack 'i', 0;
	return $rest && ioctl($rest, FIONREAD, $left) && unpack('i', $left) == 0;
}

# Runs a program, with "input" on its standard input, to its end.  Its standard
# output is returned with "capture", dropped with "drop", or else goes to
# standard error.  Dies if it does not succeed.
sub run
{
	my ($what, $command, %how) = @_;
	my ($in, $feed, $out, $read);
	my $output = '';

	die "interrupted by SIG$caught\n" if $caught;
	open(my $null, '+<', '/dev/null') or die "could not open \"/dev/null\": $!\n";
	pipe($in, $feed) || die "could not create pipe: $!\n" if defined $how{input};
	pipe($read, $out) || die "could not create pipe: $!\n" if $how{capture};
	my $pid = fork // die "could not create process: $!\n";
	execute($command, $in // $null, $out // ($how{drop} ? $null : \*STDERR)) if $pid == 0;
	$child = $pid;
	kill $caught => $child if $caught;
	close $_ foreach grep { defined } $in, $out;
	my $rest = $feed ? feed($feed, $how{input}) : undef;
	$output = do { local $/; <$read> } // '' if $read;
	waitpid $child, 0;
	my $status = $?;
	$child = undef;
	die "interrupted by SIG$caught\n" if $caught;
	die "$what was ended by signal " . ($status & 127) . "\n" if $status & 127;
	die "$what failed with exit code " . ($status >> 8) . "\n" if $status;
	die "$what has not read all of it\n" if $feed && !was_taken($rest);
	return $output;
}

# Where each program is: in bindir and nowhere else if that is set, as those of
# another major may be in PATH; else beside this one, or in PATH.
sub find_programs
{
	my ($config) = @_;
	my @dirs = defined $config->{bindir} ? $config->{bindir} : ($FindBin::RealBin, split(/:/, $ENV{PATH} // ''));

	foreach my $program (qw(pg_pardump pg_dumpall psql))
	{
		($config->{program}{$program}) = grep { -f && -x _ } map { "$_/$program" } @dirs;
		die "could not find a program \"$program\"" . (defined $config->{bindir} ? " in \"$config->{bindir}\"\n" : "\n")
		  if !$config->{program}{$program};
	}
	return;
}

# Words, as they are for all three programs.  A name is never a connection
# string, whatever is in it.
sub connection_words
{
	my ($config, $database) = @_;
	return ((map { defined $config->{$_} ? ("--$_", $config->{$_}) : () } qw(host port username)),
		'--no-password', '--dbname', "dbname='" . $database =~ s/([\\'])/\\$1/gr . "'");
}

# Rows of the maintenance database, whatever timeouts the role has there.  Names
# come as the bytes that they are in the catalog.
sub query
{
	my ($config, $what, $sql) = @_;
	local $ENV{PGCLIENTENCODING} = 'SQL_ASCII';
	my $rows = run("the query for $what",
		[ $config->{program}{psql}, '-XAtq0', '-v', 'ON_ERROR_STOP=1',
			connection_words($config, $config->{maintenance_database}),
			map { ('-c', $_) } 'SET statement_timeout = 0', 'SET lock_timeout = 0', $sql ],
		capture => 1);
	return split /\0/, $rows =~ s/\n\z//r;
}

# All that allow connections, as pg_dumpall takes them.
sub list_databases
{
	my ($config) = @_;
	return query($config, 'the names of databases', 'SELECT datname FROM pg_catalog.pg_database WHERE datallowconn'
		  . ' AND datconnlimit OPERATOR(pg_catalog.<>) -2 ORDER BY datname');
}

# pg_dumpall does not end the timeouts of its role, as pg_dump does.  Options that
# do, of those that might be too short for one of its statements: poolers refuse
# such options.
sub without_timeouts
{
	my ($config) = @_;
	my @rows = query($config, 'timeouts', 'SELECT name, reset_val FROM pg_catalog.pg_settings'
		  . q{ WHERE name OPERATOR(pg_catalog.=) ANY (ARRAY['statement_timeout', 'lock_timeout']::pg_catalog.text[])});
	return map { /^(\w+)\|(\d+)\z/ && $2 > 0 && $2 < 60_000 ? "-c $1=0" : () } @rows;
}

sub dump_globals
{
	my ($config) = @_;
	return if $config->{globals} eq 'no';
	my @options = without_timeouts($config);
	local $ENV{PGOPTIONS} = join ' ', grep { defined } $ENV{PGOPTIONS}, @options;
	my $text = run('pg_dumpall',
		[ $config->{program}{pg_dumpall}, '--globals-only',
			$config->{globals} eq 'no-passwords' ? '--no-role-passwords' : (),
			connection_words($config, $config->{maintenance_database}) ],
		capture => 1);
	die "the output of pg_dumpall is not complete\n"
	  if $text !~ /^-- PostgreSQL database cluster dump complete$/m;
	return $text;
}

# What placeholders of commands stand for, for a backup.
sub values_of
{
	my ($backup) = @_;
	return { d => $backup->{folder}, t => $backup->{name}, D => dump_of($backup), '%' => '%' };
}

# The archive's directory.
sub dump_of { return $_[0]{dump} // "$_[0]{path}/dump"; }

# The command of "pipe" with all filled in but %f and %%, as pg_pardump takes it.
sub pipe_pattern
{
	my ($config, $backup) = @_;
	my $values = values_of($backup);

	delete $values->{'%'};
	foreach my $value (values %$values)
	{
		$value = q{'} . $value =~ s/'/'\\''/gr . q{'} if $value !~ m{^[A-Za-z0-9_./=-]+\z};
		$value =~ s/%/%%/g;
	}
	return fill_in($config->{pipe}, $values);
}

# Gives a file of ours to the command of "pipe".
sub pipe_file
{
	my ($config, $backup, $name, $bytes) = @_;
	my $command = fill_in(pipe_pattern($config, $backup), { f => $name, '%' => '%' });
	run("the command of pipe for \"$name\"", [ '/bin/sh', '-c', $command ], input => $bytes);
	return;
}

# How the database of a backup is dumped; "previous" is the newest that is there.
sub dump_options
{
	my ($config, $backup, $previous) = @_;
	return (
		defined $config->{pipe} ? '--pipe=' . pipe_pattern($config, $backup) : '--file=' . dump_of($backup),
		!$config->{incremental} ? () : $previous ? '--incremental=' . dump_of($previous) : '--manifest-fingerprints',
		defined $config->{compress} ? "--compress=$config->{compress}" : (),
		@{ $config->{options} // [] });
}

sub run_pg_pardump
{
	my ($config, $what, @options) = @_;
	# who looks on from a terminal is told no more than cron, unless it is wanted
	my $silent = !$config->{verbose} && !grep { /^(--pro|-\w*P)/ } @options;
	return run($what, [ $config->{program}{pg_pardump}, "--jobs=$config->{jobs}", $silent ? '--no-progress' : (), @options ],
		drop => !$config->{verbose} && $what !~ /--check/);
}

# A command of the configuration, without a shell.
sub run_command
{
	my ($config, $key, $backup) = @_;
	run("the command of $key", [ map { fill_in($_, values_of($backup)) } @{ $config->{$key} } ],
		drop => !$config->{verbose});
	return;
}

1;
