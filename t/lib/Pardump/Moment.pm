# Faults at exact moments: the nth time that clients of a server send something
# that a pattern matches, the connection that has sent it is held until the test
# has done what it wants to.

package Pardump::Moment;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(:flock);
use IO::Select;
use Pardump::Cluster qw(new_path);
use Pardump::Proxy qw(start_relay client_messages stop_proxy);
use POSIX ();
use PostgreSQL::Test::Utils;
use Socket qw(SOL_SOCKET SO_PEERCRED);

our @EXPORT_OK = qw(start_moments moment_held moment_go_on moments_seen stop_moments);

# start_moments($node, [pattern, ...], moment...): a relay in front of the server
# that counts, for each pattern, what of all clients' messages matches it.  A moment
# is a hash: "pattern" is a pattern's number and "n" the match, from 1; "answer" if
# not the client's message, but the server's answer to it is held; "cut" if it is
# not passed on then, but the connection is cut.  Returns a handle with "host" and
# "port".
sub start_moments
{
	my ($node, $patterns, @moments) = @_;
	my $moments = { file => new_path('moments'), n => scalar @$patterns };
	append_to_file($moments->{file}, pack 'N*', (0) x @$patterns);
	pipe $moments->{held}, my $tell or die "could not make a pipe: $!";
	pipe my $wait, $moments->{go_on} or die "could not make a pipe: $!";
	my $connection = { %$moments, tell => $tell, wait => $wait };
	$moments->{relay} = start_relay($node, sub {
		my @said = @_;
		# the test's own end would stop its servers
		return eval { hear($connection, $patterns, \@moments, @said) } // do { warn $@ if $@; 0 };
	});
	close $_ foreach $tell, $wait;
	@$moments{qw(host port)} = @{ $moments->{relay} }{qw(host port)};
	return $moments;
}

# Counts one more; returns how many there are now.
sub count
{
	my ($file, $i) = @_;
	open my $fh, '+<', $file or die "could not open \"$file\": $!";
	flock $fh, LOCK_EX or die "could not lock \"$file\": $!";
	sysseek $fh, 4 * $i, 0;
	sysread $fh, my $was, 4;
	sysseek $fh, 4 * $i, 0;
	syswrite $fh, pack('N', unpack('N', $was) + 1);
	close $fh;
	return unpack('N', $was) + 1;
}

# In a process of the relay, which has one connection.  False to cut it.
sub hear
{
	my ($connection, $patterns, $moments, $bytes, $is_servers, $client) = @_;
	# so that the test's end, or its next run, is the end of the pipe
	close delete $connection->{go_on} if $connection->{go_on};
	if ($is_servers)
	{
		# the server's process id comes once the client is let in
		$connection->{backend} //= $$bytes =~ /K\0\0\0\x0c(.{4})/s ? unpack('N', $1) : undef;
		my $moment = delete $connection->{answer};
		return $moment ? hold($connection, $moment, $client) : 1;
	}
	my $pass_on = 1;
	my @messages = client_messages($connection, $$bytes);
	foreach my $i (map { my $message = $_; grep { $message =~ $patterns->[$_] } 0 .. $#$patterns } @messages)
	{
		my $n = count($connection->{file}, $i);
		my ($no) = grep { $moments->[$_]{pattern} == $i && $moments->[$_]{n} == $n } 0 .. $#$moments;
		next if !defined $no;
		my $moment = { %{ $moments->[$no] }, no => $no };
		if ($moment->{answer}) { $connection->{answer} = $moment; }
		else { $pass_on &&= hold($connection, $moment, $client); }
	}
	return $pass_on;
}

sub hold
{
	my ($connection, $moment, $client) = @_;
	my $peer = getsockopt $client, SOL_SOCKET, SO_PEERCRED;
	syswrite $connection->{tell}, pack 'N3', $moment->{no}, unpack('i', $peer), $connection->{backend} // 0;
	sysread $connection->{wait}, my $go_on, 1 or POSIX::_exit(0);
	return !$moment->{cut};
}

# If a connection is held: the moment's number, and the process ids of its client
# and of its backend, which is 0 if not known.
sub moment_held
{
	my ($moments) = @_;
	return () if !IO::Select->new($moments->{held})->can_read(0);
	my $got = sysread $moments->{held}, my $said, 12;
	return $got ? unpack('N3', $said) : ();
}

sub moment_go_on
{
	my ($moments) = @_;
	syswrite $moments->{go_on}, '.';
	return;
}

# How often each pattern has matched.
sub moments_seen { return unpack 'N*', slurp_file($_[0]{file}); }

sub stop_moments
{
	my ($moments) = @_;
	stop_proxy($moments->{relay});
	close $moments->{$_} foreach qw(go_on held);
	return;
}

1;
