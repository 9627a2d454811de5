# Users of the operating system, for a process of root that works as other users: a
# child process gives up root for good, becomes a user, and does the work.

package PardumpBackup::Account;

use strict;
use warnings;

use Exporter 'import';
use POSIX qw(WNOHANG);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use PardumpBackup::Programs qw(interrupted catch_signals);

our @EXPORT_OK = qw(account_of_name account_of_id become_user as_user processes_of kill_processes_of start_as);

sub account
{
	my ($name, $uid, $gid, $home) = @_[ 0, 2, 3, 7 ];
	return defined $uid ? { name => $name, uid => $uid, gid => $gid, home => $home } : undef;
}

sub account_of_name { return account(getpwnam $_[0]); }

sub account_of_id { return account(getpwuid $_[0]); }

# Gives up root for good, with all groups except the user's own group, and with the
# environment.  Dies if a step fails.
sub become_user
{
	my ($account) = @_;
	my ($uid, $gid) = @$account{qw(uid gid)};

	die "user \"$account->{name}\" is root\n" if $uid == 0;
	%ENV = (PATH => '/usr/local/bin:/usr/bin:/bin', LC_ALL => 'C', USER => $account->{name}, LOGNAME => $account->{name});
	$! = 0;
	$) = "$gid $gid";
	die "could not set the groups of user \"$account->{name}\": $!\n" if $!;
	POSIX::setgid($gid) or die "could not become group $gid: $!\n";
	POSIX::setuid($uid) or die "could not become user \"$account->{name}\": $!\n";
	die "could not become user \"$account->{name}\"\ndetail: The process still has root privileges.\n"
	  if $< != $uid || $> != $uid || $( + 0 != $gid || $) ne "$gid $gid" || POSIX::setuid(0);
	return;
}

# All that a pipe returns within a number of seconds; undefined if it takes longer, or if
# this process is interrupted.
sub read_limited
{
	my ($read, $limit) = @_;
	my ($end, $output, $bits) = (clock_gettime(CLOCK_MONOTONIC) + $limit, '', '');

	vec($bits, fileno $read, 1) = 1;
	while (clock_gettime(CLOCK_MONOTONIC) < $end && !interrupted())
	{
		next if select(my $found = $bits, undef, undef, 1) <= 0;
		return $output if !(sysread($read, $output, 65536, length $output) // $!{EINTR});
	}
	return;
}

# Ends a child that may be running a program, which it ends first.
sub end_child
{
	my ($pid) = @_;

	kill TERM => $pid;
	foreach (1 .. 50)
	{
		return if waitpid($pid, WNOHANG) == $pid;
		select undef, undef, undef, 0.1;
	}
	kill KILL => $pid;
	waitpid $pid, 0;
	return;
}

# Runs a function in a child that has become the user.  Returns whether it succeeded, and
# what it printed, which includes its error message.  Without a limit in seconds, the
# function must not execute a program: other processes of the user can trace a program,
# but not a process that has given up root, and could keep this one waiting.
sub as_user
{
	my ($account, $function, $limit) = @_;

	pipe(my $read, my $write) or die "could not create pipe: $!\n";
	my $pid = fork // die "could not create process: $!\n";
	if ($pid == 0)
	{
		# a signal that ends the parent must not end the parent's cleanup
		local @SIG{qw(INT TERM HUP)} = (defined $limit ? 'DEFAULT' : 'IGNORE') x 3;
		catch_signals() if defined $limit;
		my $good = eval {
			close $read;
			POSIX::setsid();
			open(STDOUT, '>&', $write) && open(STDIN, '<', '/dev/null') && open(STDERR, '>', '/dev/null')
			  or die "could not redirect standard input, output and error: $!\n";
			become_user($account);
			$function->();
			STDOUT->flush or die "could not write to pipe: $!\n";
			1;
		};
		if (!$good)
		{
			print $@;
			STDOUT->flush;
		}
		POSIX::_exit($good ? 0 : 1);
	}
	close $write;
	my $output = defined $limit ? read_limited($read, $limit) : do { local $/; <$read> } // '';
	end_child($pid) if !defined $output;
	waitpid $pid, 0 if defined $output;
	return ($? == 0, $output) if defined $output;
	return (0, interrupted() ? 'interrupted by SIG' . interrupted() . "\n" : "the store did not return the newest backups within $limit s\n");
}

# The processes of the user.
sub processes_of
{
	my ($account) = @_;
	my @found;

	foreach my $status (glob '/proc/[0-9]*/status')
	{
		open my $fh, '<', $status or next;
		my $text = do { local $/; <$fh> } // '';
		push @found, $status =~ /(\d+)/ if $text =~ /^Uid:\t$account->{uid}\t/m && $text !~ /^State:\tZ/m;
	}
	return @found;
}

# Ends all processes of a user.  Some of them may start others meanwhile.
sub kill_processes_of
{
	my ($account) = @_;

	foreach (1 .. 20)
	{
		return if !processes_of($account);
		# as this user, who cannot end processes of other users
		as_user($account, sub { kill KILL => grep { $_ != $$ } processes_of($account) });
		select undef, undef, undef, 0.1;
	}
	die "could not end process " . (processes_of($account))[0] . " of user \"$account->{name}\"\n" if processes_of($account);
	return;
}

# Starts a program as the user, in a session of its own.  It appends its output to a file
# that is opened by this user.  Returns the process.
sub start_as
{
	my ($account, $log, @command) = @_;
	my $pid = fork // die "could not create process: $!\n";

	return $pid if $pid;
	eval {
		@SIG{qw(INT TERM HUP PIPE)} = ('DEFAULT') x 4;
		POSIX::setsid();
		become_user($account);
		open(STDIN, '<', '/dev/null') or die "$!\n";
		open(STDOUT, '>>', $log) or die "$!\n";
		open(STDERR, '>&', \*STDOUT) or die "$!\n";
		# files that the caller of this program left open
		POSIX::close($_) foreach grep { $_ > 2 } map { /(\d+)\z/ } glob '/proc/self/fd/*';
		no warnings 'exec';
		exec { $command[0] } @command;
	};
	POSIX::_exit(127);
}

1;
