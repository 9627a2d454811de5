# The programs that pg_pardump_backup runs, without a shell.  Only the commands of
# "pipe", "fetch" and "copy" are run by a shell, like those of pg_pardump's options.

package PardumpBackup::Programs;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IO::Handle;
use POSIX qw(WNOHANG);
use Sys::Hostname qw(hostname);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use PardumpBackup::Config qw(fill_in seconds_of);
use PardumpBackup::Message qw(caused_by quoted);

our @EXPORT_OK = qw(catch_signals interrupted run read_command reason_of failure start_and_wait finish limit_of query connection_words find_programs list_databases read_server
  dump_globals same_globals shell_quoted pipe_file fetch_command list_command dump_options dump_with_pg_pardump run_pg_pardump verify_archive target_database
  run_pg_parrestore run_command);

# ioctl_list(2)
use constant FIONREAD => 0x541B;

# Seconds that a query, pg_dumpall and a query of lock waits may take even if
# lock_wait_timeout is shorter; and the most that a query of lock waits may take.
use constant {
	MIN_QUERY_LIMIT => 15,
	MIN_DUMPALL_LIMIT => 60,
	MIN_LOOK_LIMIT => 5,
	MAX_LOOK_LIMIT => 15
};

# Why a program failed, whose name is given, or the command of a key of the configuration.
my %CAUSES = (
	signal => '%s was terminated by signal %d',
	exit => '%s failed with exit code %d',
	late => '%s did not exit within %d s',
	lock => '%s waited for locks longer than lock_wait_timeout (%s)',
	input => '%s exited before it had read all of its input',
	silent => '%s has printed nothing');
my %CAUSES_OF_KEYS = (
	signal => 'the command of "%s" was terminated by signal %d',
	exit => 'the command of "%s" failed with exit code %d',
	late => 'the command of "%s" did not exit within %d s',
	input => 'the command of "%s" exited before it had read all of its input',
	stalled => 'the command of "%s" returned no data for %d s',
	large => 'the command of "%s" returned more than %d bytes',
	empty => 'the command of "%s" returned no data',
	unwritten => 'data that the command of "%s" returned could not be written: %s',
	invalid => 'the command of "%s" printed an invalid name: %s');
my %IS_KEY = map { $_ => 1 } qw(fetch list pipe remove verify_command);

# Seconds for which a command that returns a file may return nothing, as for pg_parrestore.
use constant STALL_LIMIT => 60;

# The most bytes of its messages that are shown.
use constant MAX_MESSAGES => 1000;

my ($child, $caught);

# Passes a signal on to the program that runs.  The program cleans up, and then this
# process does.
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
	my ($command, $stdin, $stdout, $stderr) = @_;

	$SIG{$_} = 'DEFAULT' foreach grep { ($SIG{$_} // '') ne 'IGNORE' } qw(INT TERM HUP);
	$SIG{PIPE} = 'DEFAULT';
	no warnings 'exec';
	if (open(STDIN, '<&', $stdin) && open(STDOUT, '>&', $stdout) && (!$stderr || open(STDERR, '>&', $stderr)))
	{
		exec { $command->[0] } @$command;
	}
	print STDERR "pg_pardump_backup: error: could not execute \"$command->[0]\": $!\n";
	POSIX::_exit(127);
}

# Writes a text to a pipe, and closes the pipe.  Returns a file from which the part of the
# text can be read that is still in the pipe; nothing if the text could not be written.
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

# Gives each line that comes from a pipe to a function, and calls the function about every
# second without a line.  Continues until the other end of the pipe is closed, or until
# $attend, which is called as often, returns that the program has ended: a process that the
# program left in the background may keep the pipe open.
sub pass_lines
{
	my ($fh, $function, $attend) = @_;
	my ($text, $bits, $ended) = ('', '', 0);

	vec($bits, fileno $fh, 1) = 1;
	while (1)
	{
		my $n = select(my $found = $bits, undef, undef, $ended ? 0 : 1);

		if ($n > 0)
		{
			my $bytes = sysread $fh, $text, 65536, length $text;
			next if !defined $bytes && $!{EINTR};
			last if !$bytes;
		}
		last if $n == 0 && $ended;
		$function->($1) while $text =~ s/^(.*)\n//;
		$function->();
		$ended ||= $attend->();
	}
	$function->($text) if $text ne '';
	return;
}

# A hint at sessions that hold locks which others wait for.
my $FIND_LOCK = "hint: To find it, run in another database: SELECT pid, pg_blocking_pids(pid) FROM pg_locks WHERE NOT granted;";

# The text of an error: a program failed, or the command of a key, for one of the reasons
# above.  If another error is given, which this prevented, the reason is its detail.
sub failure
{
	my ($what, $error, $reason, @values) = @_;
	my $text = sprintf(($IS_KEY{$what} ? \%CAUSES_OF_KEYS : \%CAUSES)->{$reason}, $what, @values) . "\n";
	return defined $error ? caused_by($error, $text) : $text;
}

sub late_error
{
	my ($what, $error, $limit) = @_;
	return failure($what, $error, 'late', $limit) . "detail: A session might have locked the database or its catalogs.\n$FIND_LOCK\n";
}

# A reason and its value; nothing for a program that succeeded.
sub reason_of
{
	my ($status) = @_;
	return $status & 127 ? (signal => $status & 127) : $status ? (exit => $status >> 8) : ();
}

# Dies if a program did not succeed.
sub check_status
{
	my ($what, $error, $status) = @_;
	die failure($what, $error, reason_of($status)) if $status;
	return;
}

# Runs a program, or the command of a key, with "input" on its standard input, to its end.
# Its standard output is returned with "capture", dropped with "drop", written to the file
# "output", or else goes to standard error.  Its messages are dropped with "quiet", go to standard output with
# "merge", and to a function with "lines": see pass_lines().  "watch" may end the program:
# it is called about every second, and returns the error.  With "limit" the program is
# ended after that many seconds, and the variable "late" is set.  Stores the status of the
# program in the variable "status".  Dies if the program does not succeed, but not with
# "any_exit".  "error" is the error that this causes; otherwise, the error is about the program.
sub run
{
	my ($what, $command, %how) = @_;
	my ($in, $feed, $out, $read);
	my $output = '';

	die "interrupted by SIG$caught\n" if $caught;
	open(my $null, '+<', '/dev/null') or die "could not open file \"/dev/null\": $!\n";
	pipe($in, $feed) || die "could not create pipe: $!\n" if defined $how{input};
	pipe($read, $out) || die "could not create pipe: $!\n" if $how{capture} || $how{lines};
	my $pid = fork // die "could not create process: $!\n";
	execute($command, $in // $null, $how{capture} ? $out : $how{drop} ? $null : $how{output} // \*STDERR,
		$how{quiet} ? $null : $how{merge} || $how{lines} ? $out : undef) if $pid == 0;
	my $late;
	local $SIG{ALRM} = sub { $late = 1; kill TERM => $pid };
	alarm $how{limit} if $how{limit};
	$child = $pid;
	kill $caught => $child if $caught;
	close $_ foreach grep { defined } $in, $out;
	my $rest = $feed ? feed($feed, $how{input}) : undef;
	my ($reason, $status);
	# Returns whether the program has ended, and ends it if "watch" returns a reason.
	my $attend = sub {
		$status = $? if !defined $status && waitpid($pid, WNOHANG) == $pid;
		return 1 if defined $status;
		return 0 if $caught || defined $reason || !$how{watch};
		$reason = $how{watch}->($what);
		# the watch may have run another program, which then got the signal
		$child = $pid;
		kill $caught => $pid if $caught;
		kill TERM => $pid if defined $reason;
		return 0;
	};
	pass_lines($read, $how{lines}, $attend) if $how{lines};
	$output = do { local $/; <$read> } // '' if $how{capture};
	if ($how{watch})
	{
		# wakes select()
		local $SIG{CHLD} = sub { };
		select undef, undef, undef, 1 until $attend->() || defined $reason;
	}
	if (!defined $status)
	{
		waitpid $pid, 0;
		$status = $?;
	}
	alarm 0 if $how{limit};
	$child = undef;
	die "interrupted by SIG$caught\n" if $caught;
	${ $how{late} } = $late if $how{late};
	die late_error($what, $how{error}, $how{limit}) if $late;
	die $reason if defined $reason;
	${ $how{status} } = $status if $how{status};
	return $output if $how{any_exit};
	check_status($what, $how{error}, $status);
	die failure($what, $how{error}, 'input') if $feed && !was_taken($rest);
	return $output;
}

# The messages that a command has written to a file, as a detail.
sub messages_of
{
	my ($fh) = @_;
	seek $fh, 0, 0;
	read $fh, my $text, MAX_MESSAGES;
	my @lines = grep { /\S/ } split /\n/, $text // '';
	return @lines ? 'detail: The command printed: ' . join(' ', map { tr/\x00-\x1f\x7f/?/r } @lines) . "\n" : '';
}

# Why a command has not succeeded, and the value of the reason; nothing if it has.
sub wait_for_end
{
	my ($pid, $limit) = @_;
	my $end = clock_gettime(CLOCK_MONOTONIC) + $limit;

	until (waitpid($pid, WNOHANG) == $pid)
	{
		return 'interrupted' if $caught;
		return (late => $limit) if clock_gettime(CLOCK_MONOTONIC) >= $end;
		select undef, undef, undef, 0.05;
	}
	return reason_of($?);
}

# Runs the command of a key, which has no input and no terminal.  Returns its standard output,
# or writes it to the file "to".  Dies with the error if the command fails, returns nothing or
# more than "most" bytes, or returns nothing for "limit" seconds, and sets "failed" then, but
# not after a problem on this host.  At the end, all processes of its group are killed.
sub read_command
{
	my ($key, $error, $command, %how) = @_;
	my ($output, $bits, $bytes, $limit) = ('', '', 0, $how{limit} // STALL_LIMIT);

	die "interrupted by SIG$caught\n" if $caught;
	open(my $null, '<', '/dev/null') or die "could not open file \"/dev/null\": $!\n";
	open(my $messages, '+>', undef) or die "could not create a temporary file: $!\n";
	pipe(my $read, my $write) or die "could not create pipe: $!\n";
	my $pid = fork // die "could not create process: $!\n";
	if ($pid == 0)
	{
		POSIX::setsid();
		execute($command, $null, $write, $messages);
	}
	close $write;
	# a signal ends the group
	$child = -$pid;
	vec($bits, fileno $read, 1) = 1;
	my $end = clock_gettime(CLOCK_MONOTONIC) + $limit;
	my @reason;
	while (!@reason)
	{
		if (select(my $found = $bits, undef, undef, 1) > 0)
		{
			my $n = sysread $read, my $part, 65536;
			next if !defined $n && $!{EINTR};
			last if !$n;
			$bytes += $n;
			$end = clock_gettime(CLOCK_MONOTONIC) + $limit;
			@reason = (large => $how{most}) if $bytes > $how{most};
			$how{to} ? (print { $how{to} } $part or @reason = (unwritten => "$!")) : ($output .= $part);
		}
		elsif ($caught || clock_gettime(CLOCK_MONOTONIC) >= $end)
		{
			@reason = $caught ? 'interrupted' : (stalled => $limit);
		}
	}
	@reason = wait_for_end($pid, $limit) if !@reason;
	kill KILL => -$pid;
	waitpid $pid, 0;
	$child = undef;
	die "interrupted by SIG$caught\n" if $caught;
	# of some stores, rclone returns a missing file as an empty one
	@reason = 'empty' if !@reason && !$bytes && !$how{may_be_empty};
	${ $how{failed} } = 1 if @reason && $reason[0] ne 'unwritten' && $how{failed};
	die failure($key, $error, @reason) . messages_of($messages) if @reason;
	return $output;
}

# Starts a program, and waits until it has printed a line, but not longer than the limit
# in seconds.  The program runs until its standard input, which is "feed" of the result,
# is closed.  No other program inherits that file, so if this process is killed, the
# program ends, too.
sub start_and_wait
{
	my ($what, $command, $limit) = @_;

	die "interrupted by SIG$caught\n" if $caught;
	pipe(my $in, my $feed) && pipe(my $read, my $out) or die "could not create pipe: $!\n";
	my $pid = fork // die "could not create process: $!\n";
	execute($command, $in, $out) if $pid == 0;
	my $late;
	local $SIG{ALRM} = sub { $late = 1; kill TERM => $pid };
	alarm $limit;
	$child = $pid;
	kill $caught => $child if $caught;
	close $_ foreach $in, $out;
	my $line = <$read>;
	alarm 0;
	$child = undef;
	my $program = { what => $what, pid => $pid, feed => $feed };
	return $program if defined $line && !$late && !$caught;
	my $ended = eval { finish($program); 1 };
	die "interrupted by SIG$caught\n" if $caught;
	die late_error($what, undef, $limit) if $late;
	die $ended ? failure($what, undef, 'silent') : $@;
}

# Ends such a program.  Dies if it did not succeed, with the error, if one is given.
sub finish
{
	my ($program, $error) = @_;
	close $program->{feed};
	waitpid $program->{pid}, 0;
	check_status($program->{what}, $error, $?);
	return;
}

# The path of each program: only in bindir if bindir is set, because PATH may lead to
# another major version; otherwise next to this program, or in PATH.  Only some tasks need
# the programs @more.
sub find_programs
{
	my ($config, @more) = @_;
	my @dirs = defined $config->{bindir} ? $config->{bindir} : ($FindBin::RealBin, split(/:/, $ENV{PATH} // ''));

	foreach my $program (qw(pg_pardump pg_dumpall psql), @more)
	{
		($config->{program}{$program}) = grep { -f && -x _ } map { "$_/$program" } @dirs;
		next if $config->{program}{$program};
		die "program \"$program\" was not found in directory \"$config->{bindir}\" of bindir\n" if defined $config->{bindir};
		die "program \"$program\" was found neither in the directory of pg_pardump_backup nor in PATH\n"
		  . "hint: Set bindir in the configuration to the directory of the programs.\n";
	}
	return;
}

# Options for all programs.  A name is never taken for a connection string.
sub connection_words
{
	my ($config, $database) = @_;
	return ((map { defined $config->{$_} ? ("--$_", $config->{$_}) : () } qw(host port username)),
		'--no-password', '--dbname', "dbname='" . $database =~ s/([\\'])/\\$1/gr . "'");
}

# Seconds that a program may take whose work is short.  A database's owner can keep all
# sessions waiting, even before they are connected, when no setting of the session can
# limit the wait.
sub limit_of
{
	my ($config, $min) = @_;
	my $seconds = int seconds_of($config->{lock_wait_timeout});
	return $seconds > $min ? $seconds : $min;
}

# Output of psql's commands in the maintenance database, or in another one.
sub psql
{
	my ($config, $error, $commands, %how) = @_;
	local $ENV{PGCLIENTENCODING} = 'SQL_ASCII';
	return run('psql',
		[ $config->{program}{psql}, '-XAtq0', '-v', 'ON_ERROR_STOP=1',
			$how{connection} ? @{ $how{connection} } : connection_words($config, $how{database} // $config->{maintenance_database}),
			map { ('-c', $_) } @$commands ],
		capture => 1, error => $error, limit => limit_of($config, MIN_QUERY_LIMIT), %how);
}

# Rows of such a database, read without the timeouts of the role.  Names are the bytes in
# the catalog.  A serializable transaction of another role would keep a deferrable
# transaction waiting.
sub query
{
	my ($config, $error, $sql, %how) = @_;
	my $rows = psql($config, $error,
		[ (map { "SET $_" } 'default_transaction_deferrable = off', 'statement_timeout = 0', 'lock_timeout = 0', @{ $how{set} // [] }), $sql ],
		%how);
	return split /\0/, $rows =~ s/\n\z//r;
}

# The databases that pg_dumpall would dump; and the databases that it would leave out
# without a message: those that an interrupted DROP DATABASE left invalid, and those that do
# not allow connections.  The owner of a database can close it.
sub list_databases
{
	my ($config) = @_;
	my @rows = query($config, 'could not read the names of databases', q{SELECT CASE WHEN datconnlimit OPERATOR(pg_catalog.=) -2}
		  . q{ THEN 'invalid' WHEN datallowconn THEN 'open' ELSE 'closed' END, datname}
		  . q{ FROM pg_catalog.pg_database WHERE datallowconn OR datname OPERATOR(pg_catalog.<>) 'template0'}
		  . q{ ORDER BY datname});
	my %found = map { $_ => [] } qw(open invalid closed);

	foreach my $row (@rows)
	{
		my ($state, $name) = $row =~ /^(\w+)\|(.*)\z/s;
		push @{ $found{$state} }, $name;
	}
	return @found{qw(open invalid closed)};
}

# An address that leads to another server from another machine.
sub is_local { return $_[0] =~ m{^([/@]|localhost\z|127\.|::1\z)}; }

# The identity of the server, for Store.pm.  The identifier is empty if the role may not
# read it.  The address is the one in the configuration, or else the one that libpq takes
# from the service, the environment or its defaults.  "major" is the major version.
sub read_server
{
	my ($config) = @_;
	my $error = 'could not read the system identifier';
	my ($host, $port, $version, $allowed) = psql($config, $error, [ '\echo :HOST', '\echo :PORT', '\echo :SERVER_VERSION_NUM',
			'SET default_transaction_deferrable = off', q{SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')} ]) =~ /^(.*)\n(.*)\n(\d+)\n(.*)\0$/s
	  or die "$error\ndetail: The output of psql is not a host, a port, a version and the answer to a query.\n";
	my ($identifier) = $allowed eq 't'
	  ? query($config, $error, 'SELECT system_identifier FROM pg_catalog.pg_control_system()') : '';

	$host = $config->{host} // $host;
	my $address = join ':', (grep({ is_local($_) } split /,/, $host) ? hostname() : ()), $host, $config->{port} // $port;
	return { system_identifier => $identifier, address => $address =~ s/([^ -~]|=)/sprintf('=%02X', ord $1)/ger, major => int($version / 10000) };
}

# pg_dumpall, unlike pg_dump, does not reset the timeouts of its role, and its transactions
# are deferrable if that is the default.  Returns options that reset these settings.  Only
# timeouts that may be too short for a statement are reset, because poolers refuse such
# options.
sub without_timeouts
{
	my ($config) = @_;
	my @rows = query($config, 'could not read the timeouts of the role', 'SELECT name, reset_val FROM pg_catalog.pg_settings'
		  . q{ WHERE name OPERATOR(pg_catalog.=) ANY (ARRAY['statement_timeout', 'lock_timeout', 'transaction_timeout',}
		  . q{ 'default_transaction_deferrable']::pg_catalog.text[])});
	return map { /^(\w+)\|(?:on|(\d+))\z/ && (!defined $2 || ($2 > 0 && $2 < 60_000)) ? "-c $1=0" : () } @rows;
}

sub dump_globals
{
	my ($config) = @_;
	return if $config->{globals} eq 'no';
	my @options = without_timeouts($config);
	# pg_dumpall ignores the name of a database in --dbname
	my @connection = connection_words($config, $config->{maintenance_database});
	local $ENV{PGOPTIONS} = join ' ', grep { defined } $ENV{PGOPTIONS}, @options;
	my $text = run('pg_dumpall',
		[ $config->{program}{pg_dumpall}, '--globals-only',
			$config->{globals} eq 'no-passwords' ? '--no-role-passwords' : (),
			@connection, "--database=$connection[-1]" ],
		capture => 1, limit => limit_of($config, MIN_DUMPALL_LIMIT));
	die "the output of pg_dumpall is incomplete\nhint: Run pg_dumpall --globals-only to find the cause.\n"
	  if $text !~ /^-- PostgreSQL database cluster dump complete$/m;
	return $text;
}

# Newer minor releases write a random key into each script.
sub same_globals
{
	my ($one, $other) = map { s/^\\(?:un)?restrict .*$//mgr } @_;
	return $one eq $other;
}

# The archive's directory; undefined if the backup is only in the store.
sub dump_of
{
	my ($backup) = @_;
	return $backup->{dump} // (defined $backup->{path} ? "$backup->{path}/dump" : undef);
}

# The values of the placeholders of commands, for a backup.
sub values_of
{
	my ($backup) = @_;
	my $dump = dump_of($backup);
	return { d => $backup->{folder}, t => $backup->{name}, '%' => '%', defined $dump ? (D => $dump) : () };
}

sub shell_quoted
{
	my ($text) = @_;
	return $text =~ m{^[A-Za-z0-9_./=-]+\z} ? $text : q{'} . $text =~ s/'/'\\''/gr . q{'};
}

# The command of "pipe", "fetch" or "copy" in which only %f, %o and %% are left, for
# pg_pardump and pg_parrestore.  "copy" also needs the backup from which it copies.
sub file_pattern
{
	my ($config, $key, $backup, $previous) = @_;
	my $values = values_of($backup);

	@$values{qw(p P)} = ($previous->{name}, dump_of($previous)) if $previous;

	delete $values->{'%'};
	$_ = shell_quoted($_) =~ s/%/%%/gr foreach values %$values;
	return fill_in($config->{$key}, $values);
}

# The same command for a file.
sub file_command
{
	my ($config, $key, $backup, $name) = @_;
	return [ '/bin/sh', '-c', fill_in(file_pattern($config, $key, $backup), { f => $name, '%' => '%' }) ];
}

# Gives a file of this program to the command of "pipe".
sub pipe_file
{
	my ($config, $backup, $name, $bytes) = @_;
	run('pipe', file_command($config, 'pipe', $backup, $name), input => $bytes, error => 'could not store file ' . quoted($name));
	return;
}

# The command that returns a file of a backup.
sub fetch_command { return file_command($_[0], 'fetch', @_[ 1, 2 ]); }

# The command that lists a folder of the store.
sub list_command
{
	my ($config, $folder) = @_;
	return [ map { fill_in($_, { d => $folder, '%' => '%' }) } @{ $config->{list} } ];
}

# Options for reusing files of the newest backup of the database, "previous".
sub incremental_options
{
	my ($config, $backup, $previous) = @_;
	return if !$config->{incremental};
	return '--manifest-fingerprints' if !$previous;
	return '--incremental=' . dump_of($previous) if !defined $config->{pipe};
	return ('--incremental-pipe=' . file_pattern($config, 'fetch', $previous), '--pipe-copy=' . file_pattern($config, 'copy', $backup, $previous));
}

# Options of pg_pardump for a backup; "previous" is the newest backup of the database.
sub dump_options
{
	my ($config, $backup, $previous) = @_;
	return (
		defined $config->{pipe} ? '--pipe=' . file_pattern($config, 'pipe', $backup) : '--file=' . dump_of($backup),
		incremental_options($config, $backup, $previous),
		defined $config->{compress} ? "--compress=$config->{compress}" : (),
		"--lock-wait-timeout=$config->{table_lock_timeout}",
		# these two are for the run that takes the snapshot of all databases
		grep { !$config->{cluster_snapshot} || !/^--(?:lock-l|pau)/ } @{ $config->{options} // [] });
}

# The processes for which sessions of a dump of the database wait; undefined if no session
# waits.
#
# If psql has the same application name, it comes from a service or the environment.  A setting
# of the database makes transactions serializable and deferrable; pg_dump then waits
# for the end of other serializable transactions.
#
# A session that connects may wait before pg_stat_activity shows its role: for the
# database, which its owner can rename in a transaction that stays open, or for a
# catalog, which its owner can keep locked with VACUUM FULL.  Therefore all sessions count
# that connect to the database and wait.
sub lock_waits
{
	my ($config, $database, $where, %how) = @_;
	my $sql = q{SELECT pg_catalog.array_to_string(CASE WHEN wait_event OPERATOR(pg_catalog.=) 'SafeSnapshot'}
	  . q{ THEN pg_catalog.pg_safe_snapshot_blocking_pids(pid) ELSE pg_catalog.pg_blocking_pids(pid) END, ', '), datname}
	  . q{ FROM pg_catalog.pg_stat_activity WHERE (wait_event_type OPERATOR(pg_catalog.=) 'Lock'}
	  . q{ OR wait_event OPERATOR(pg_catalog.=) 'SafeSnapshot')}
	  . q{ AND usename OPERATOR(pg_catalog.=) SESSION_USER AND application_name OPERATOR(pg_catalog.=)}
	  . q{ CASE WHEN pg_catalog.current_setting('application_name') OPERATOR(pg_catalog.=) 'psql' THEN 'pg_dump'}
	  . q{ ELSE pg_catalog.current_setting('application_name') END}
	  . q{ UNION ALL SELECT pg_catalog.array_to_string(pg_catalog.pg_blocking_pids(l.pid), ', '), d.datname}
	  . q{ FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=)}
	  . q{ CASE WHEN l.locktype OPERATOR(pg_catalog.=) 'object'}
	  . q{ AND l.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_database'::pg_catalog.regclass THEN l.objid ELSE l.database END}
	  . q{ WHERE NOT l.granted AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid OPERATOR(pg_catalog.=) l.pid}
	  . q{ AND (a.usename IS NOT NULL OR a.backend_type OPERATOR(pg_catalog.<>) 'client backend'))};
	# a setting of the database may have changed the role, which then sees no waits
	my @rows = query($config, 'could not read the lock waits', $sql, database => $where, set => ['ROLE NONE'], quiet => 1, %how);
	my ($by) = map { /^([0-9, ]*)\|\Q$database\E\z/s ? $1 : () } @rows;
	return $by;
}

# Detail and hint about what held the locks: numbers of server processes, of which 0 is
# a prepared transaction.
sub holders_text
{
	my @holders = @_;
	my @pids = grep { $_ } @holders;

	return "detail: The session that holds the locks is not known.\n$FIND_LOCK" if !@holders;
	return "detail: The locks are held by a prepared transaction.\n"
	  . "hint: Run ROLLBACK PREPARED or COMMIT PREPARED for the transaction, which pg_prepared_xacts shows, or set a longer lock_wait_timeout." if !@pids;
	return 'detail: The locks are held by server process ' . join(', ', @pids) . ".\n"
	  . "hint: To end its session, run SELECT pg_terminate_backend($pids[0]); or set a longer lock_wait_timeout.";
}

# With --lock-wait-timeout, pg_dump limits each LOCK TABLE.  But it also waits, without
# a limit, when it reads a sequence or the definition of a view, and an owner may lock one
# object after the other.  This function limits the total time of these waits, which
# regular queries find.
#
# The maintenance database has an owner, too.  If it cannot be used, the database of the
# dump shows the same waits; and if no session can connect to either database, the dump
# waits.
sub lock_watch
{
	my ($config, $database) = @_;
	my $limit = seconds_of($config->{lock_wait_timeout});
	my $interval = $limit / 10 < 0.5 ? 0.5 : $limit / 10 > 30 ? 30 : $limit / 10;
	my $look = int($limit / 10) < MIN_LOOK_LIMIT ? MIN_LOOK_LIMIT : $limit / 10 > MAX_LOOK_LIMIT ? MAX_LOOK_LIMIT : int($limit / 10);
	my ($last, $waited) = (clock_gettime(CLOCK_MONOTONIC), 0);

	return sub {
		my ($what) = @_;
		my $now = clock_gettime(CLOCK_MONOTONIC);
		return if $now < $last + $interval;
		my ($by, $late);
		foreach my $where ($config->{maintenance_database}, $database)
		{
			last if eval { $by = lock_waits($config, $database, $where, limit => $look, late => \$late); 1 };
			# a query may also fail because there are too many connections
			$by = $late ? '' : undef;
		}
		$waited += $now - $last if defined $by;
		$last = $now;
		return if $waited < $limit;
		my %holders = map { $_ => 1 } split /, /, $by;
		return failure($what, undef, 'lock', $config->{lock_wait_timeout}) . holders_text(sort keys %holders) . "\n";
	};
}

# Dumps a database, or checks it with --check.
sub dump_with_pg_pardump
{
	my ($config, $what, $database, $how, @options) = @_;
	return run_pg_pardump($config, $what, { watch => lock_watch($config, $database), %$how }, @options,
		connection_words($config, $database));
}

sub run_pg_pardump
{
	my ($config, $what, $how, @options) = @_;
	# without -v, a terminal shows no more than the mail of cron
	my $silent = !$config->{verbose} && !grep { /^(--pro|-\w*P)/ } @options;
	return run($what, [ $config->{program}{pg_pardump}, "--jobs=$config->{jobs}", $silent ? '--no-progress' : (), @options ],
		drop => !$config->{verbose} && $what !~ /--check/, %$how);
}

# Verifies the archive of a backup.  @options are further ones of pg_pardump.
sub verify_archive
{
	my ($config, $backup, $how, @options) = @_;
	my $fetch = $backup->{pipe} ? '--pipe=' . file_pattern($config, 'fetch', $backup) : undef;
	return run_pg_pardump($config, 'pg_pardump --verify', $how, @options, defined $fetch ? ('--verify', $fetch) : '--verify=' . dump_of($backup));
}

# Is it a connection string, as libpq sees it, and not the name of a database?
sub is_conninfo { return $_[0] =~ m{=|^postgres(ql)?://}; }

# Calls a function with the options to connect to the database $to, or to the
# maintenance database.
sub with_target
{
	my ($config, $to, $function) = @_;
	my $elsewhere = defined $to && is_conninfo($to);

	# the service would add its server to that of the connection string
	local %ENV = %ENV;
	delete $ENV{PGSERVICE} if $elsewhere && defined $config->{service};
	return $function->($elsewhere ? ('--no-password', "--dbname=$to")
		: connection_words($config, $to // $config->{maintenance_database}));
}

# The name of the database $to.
sub target_database
{
	my ($config, $to) = @_;
	return $to if !is_conninfo($to);
	my ($name) = with_target($config, $to, sub {
		return query($config, 'could not read the name of the target database', 'SELECT pg_catalog.current_database()', connection => [@_]);
	});
	return $name;
}

# Restores a backup into the database $to, or creates the backup's database.  $how is for
# run().  @options are further ones of pg_parrestore.
sub run_pg_parrestore
{
	my ($config, $backup, $to, $how, @options) = @_;
	my $archive = $backup->{pipe} ? '--pipe=' . file_pattern($config, 'fetch', $backup) : dump_of($backup);

	with_target($config, $to, sub {
		run('pg_parrestore',
			[ $config->{program}{pg_parrestore}, "--jobs=$config->{jobs}", defined $to ? () : '--create', @options, @_, $archive ], %$how);
	});
	return;
}

# A command of the configuration, without a shell.
sub run_command
{
	my ($config, $key, $backup, $how) = @_;
	run($key, [ map { fill_in($_, values_of($backup)) } @{ $config->{$key} } ],
		drop => !$config->{verbose}, $how ? %$how : ());
	return;
}

1;
