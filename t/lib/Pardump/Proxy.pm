
# Proxies in front of a node: one for TCP that does to chosen connections, after
# a number of bytes from the server, what networks do: cut, reset, stall; and
# one on a Unix-domain socket, whose connections hear what they are told.

package Pardump::Proxy;

use strict;
use warnings;

use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Utils;
use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes qw(time);

our @EXPORT_OK = qw(start_proxy start_relay client_messages stop_proxy freeze_proxy);

# Those of this process.  A test that dies must not leave one of them, which may wait
# for it, nor the test's output open, whose end prove waits for.
my @relays;
my $owner = $$;
END { kill KILL => map { -$_ } @relays if $$ == $owner; }

# start_proxy($node, [session, bytes, action], ...): sessions of pg_pardump, or of
# pg_parbasebackup, are counted from 0, the leader's, in the order in which they connect;
# pg_dump's and those that only cancel are not counted.  Actions: 'cut' closes both sides,
# 'reset' the client's with a reset, 'stall' passes nothing on any more, in
# neither direction, 'slow' passes on 1 MB a second.  Returns a handle with the
# "port" on 127.0.0.1.
sub start_proxy
{
	my ($node, @rules) = @_;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 20)
	  or die "could not listen: $!";
	my $proxy = { port => $listener->sockport };
	my $server = server_path($node);
	$proxy->{pid} = fork() // die "could not fork: $!";
	return $proxy if $proxy->{pid} != 0;
	$SIG{PIPE} = 'IGNORE';
	$SIG{TERM} = sub { POSIX::_exit(0) };
	eval { forward($listener, $server, @rules); 1 } or warn $@;
	POSIX::_exit(1);
}

# start_relay($node, $hear): what passes, either way, is first shown to $hear as a
# reference, with whether it is the server's, and the client's socket: it may change
# it, and cuts the connection if it is false.  Each connection has a process of its
# own.  Returns a handle with "host" and "port".
sub start_relay
{
	my ($node, $hear) = @_;
	# a path of a socket must be short
	my $relay = { host => PostgreSQL::Test::Utils::tempdir_short(), port => $node->port };
	my $path = "$relay->{host}/.s.PGSQL.$relay->{port}";
	my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 20)
	  or die "could not listen on \"$path\": $!";
	$relay->{pid} = fork() // die "could not fork: $!";
	# its connections' processes are of its group
	setpgrp $relay->{pid}, $relay->{pid};
	if ($relay->{pid} != 0)
	{
		push @relays, $relay->{pid};
		return $relay;
	}
	$SIG{CHLD} = 'IGNORE';
	# not by the test's own end, which would stop its servers
	$SIG{TERM} = sub { POSIX::_exit(0) };
	while (my $client = $listener->accept)
	{
		next if fork;
		# not while the server is down
		my $server = IO::Socket::UNIX->new(Peer => server_path($node)) // POSIX::_exit(0);
		relay($client, $server, $hear);
	}
	POSIX::_exit(0);
}

# One connection, and the end of the process.
sub relay
{
	my ($client, $server, $hear) = @_;
	my $select = IO::Select->new($client, $server);
	while (1)
	{
		foreach my $from ($select->can_read)
		{
			sysread($from, my $bytes, 65536) or POSIX::_exit(0);
			$hear->(\$bytes, $from == $server, $client) or POSIX::_exit(0);
			my $to = $from == $server ? $client : $server;
			while (length $bytes)
			{
				my $sent = syswrite($to, $bytes) // POSIX::_exit(0);
				substr($bytes, 0, $sent, '');
			}
		}
	}
	return;
}

# client_messages($connection, $bytes): for a relay's $hear, the messages of a client,
# with their headers, that are whole with these bytes, of which a read may bring parts.
# $connection is a hash that keeps the beginning of the next one.
sub client_messages
{
	my ($connection, $bytes) = @_;
	$connection->{part} .= $bytes;
	my @messages;
	while (1)
	{
		# the startup packet, the first, has no type
		my $at = $connection->{is_started} ? 1 : 0;
		last if length $connection->{part} < $at + 4;
		my $len = $at + unpack 'N', substr($connection->{part}, $at, 4);
		last if length $connection->{part} < $len;
		push @messages, substr($connection->{part}, 0, $len, '');
		$connection->{is_started} = 1;
	}
	return @messages;
}

sub server_path
{
	my ($node) = @_;
	return $node->host . '/.s.PGSQL.' . $node->port;
}

sub stop_proxy
{
	my ($proxy) = @_;
	kill TERM => $proxy->{pid};
	kill CONT => $proxy->{pid};
	waitpid $proxy->{pid}, 0;
	return;
}

# From now on nothing passes, in no connection, and new ones, which the system
# accepts, hear nothing.
sub freeze_proxy
{
	my ($proxy) = @_;
	kill STOP => $proxy->{pid};
	waitpid $proxy->{pid}, POSIX::WUNTRACED();
	return;
}

# One connection is two ends; each knows the other, and its buffer is what waits
# to be written to it, which is bounded: what cannot be written is not read.
sub forward
{
	my ($listener, $server, @rules) = @_;
	my %ends;
	my $sessions = 0;
	my $parent = getppid;
	while (getppid == $parent)
	{
		my $now = time;
		my @read = grep { !$_->{stalled} && length $_->{peer}{buffer} < 65536
			  && ($_->{wait_until} // 0) <= $now } values %ends;
		my @write = grep { !$_->{stalled} && length $_->{buffer} } values %ends;
		my ($readable, $writable) = IO::Select->select(
			IO::Select->new($listener, map { $_->{socket} } @read),
			IO::Select->new(map { $_->{socket} } @write), undef,
			(grep { $_->{wait_until} } values %ends) ? 0.004 : 1);
		foreach my $socket (@{ $writable // [] })
		{
			my $end = $ends{$socket} or next;
			my $sent = syswrite $socket, $end->{buffer};
			substr($end->{buffer}, 0, $sent, '') if $sent;
			close_both(\%ends, $end) if !defined $sent;
		}
		foreach my $socket (@{ $readable // [] })
		{
			if ($socket == $listener)
			{
				my $client = { socket => scalar $listener->accept, buffer => '' };
				my $backend = { buffer => '', got => 0,
					socket => IO::Socket::UNIX->new(Peer => $server) };
				if (!$backend->{socket}) { close $client->{socket}; next; }
				@$client{qw(peer is_client)} = ($backend, 1);
				$backend->{peer} = $client;
				$ends{ $_->{socket} } = $_ foreach $client, $backend;
				$_->{socket}->blocking(0) foreach $client, $backend;
				next;
			}
			my $end = $ends{$socket} or next;
			my $got = sysread $socket, my $data, 8192;
			if (!$got) { close_both(\%ends, $end); next; }
			$end->{peer}{buffer} .= $data;
			if ($end->{is_client})
			{
				# the startup packet is the first
				$end->{peer}{session} = $sessions++
				  if !$end->{seen}++ && $data =~ /application_name\0pg_par(?:dump|basebackup)\0/;
				next;
			}
			$end->{got} += $got;
			foreach my $rule (@rules)
			{
				next if !defined $end->{session} || $rule->[0] != $end->{session}
				  || $end->{got} < $rule->[1];
				my $client = $end->{peer};
				if ($rule->[2] eq 'slow') { $end->{wait_until} = $now + $got / 1e6; next; }
				if ($rule->[2] eq 'stall') { $_->{stalled} = 1 foreach $end, $client; next; }
				setsockopt $client->{socket}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)
				  if $rule->[2] eq 'reset';
				close_both(\%ends, $end);
				last;
			}
		}
	}
	return;
}

sub close_both
{
	my ($ends, $end) = @_;
	foreach my $one ($end, $end->{peer})
	{
		# what the server said last is passed on
		syswrite $one->{socket}, $one->{buffer} if length $one->{buffer};
		delete $ends->{ $one->{socket} };
		close $one->{socket};
	}
	return;
}

1;
