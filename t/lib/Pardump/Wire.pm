# A session that speaks PostgreSQL's protocol by itself, for what libpq and
# psql do not let one do: data for COPY in pieces of any size, end marks, other
# messages between them, and every field of an error.

package Pardump::Wire;

use strict;
use warnings;

use Errno;
use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(max);
use Socket qw(SOL_SOCKET SO_RCVTIMEO);

# Names of the fields of errors and notices that are looked at: not those that
# say where in the server's source they come from, nor the schema.
my %FIELDS = (
	S => 'severity', C => 'sqlstate', M => 'message', D => 'detail',
	H => 'hint', W => 'context', P => 'position', t => 'table',
	c => 'column', d => 'type', n => 'constraint');

sub new
{
	my ($class, $node, $db, %params) = @_;
	my $self = bless {}, $class;
	$self->{socket} = IO::Socket::UNIX->new(
		Peer => $node->host . '/.s.PGSQL.' . $node->port)
	  or die "could not connect: $!";
	# a wait for what never comes ends as if the server were gone
	setsockopt($self->{socket}, SOL_SOCKET, SO_RCVTIMEO, pack('l! l!', max(180, $ENV{PG_TEST_TIMEOUT_DEFAULT} // 0), 0))
	  or die "could not set a socket's timeout: $!";
	my $user = $params{user} // getpwuid($<);
	my $startup = pack('N (Z*)8 x', 196608, user => $user, database => $db,
		options => $params{options} // '', application_name => $params{application_name} // '');
	$self->send_bytes(pack('N', 4 + length $startup) . $startup);
	my $result = $self->result;
	die "could not connect: $result->{error}{message}" if $result->{error};
	return $self;
}

sub send_bytes
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes)
	{
		my $n = syswrite($self->{socket}, $bytes);
		next if !defined $n && $!{EINTR};
		return 0 unless defined $n;
		substr($bytes, 0, $n, '');
	}
	return 1;
}

sub message
{
	my ($self, $type, $body) = @_;
	return $self->send_bytes($type . pack('N', 4 + length $body) . $body);
}

sub read_bytes
{
	my ($self, $len) = @_;
	my $bytes = '';
	while (length $bytes < $len)
	{
		my $n = sysread($self->{socket}, $bytes, $len - length $bytes, length $bytes);
		next if !defined $n && $!{EINTR};
		return undef unless $n;
	}
	return $bytes;
}

sub fields
{
	my ($body) = @_;
	my %fields;
	while ($body =~ /\G([^\0])([^\0]*)\0/g)
	{
		$fields{ $FIELDS{$1} } = $2 if $FIELDS{$1};
	}
	return \%fields;
}

# The values of a row; NULL is undefined.
sub row_of
{
	my ($body) = @_;
	my ($place, @values) = (2);
	while ($place < length $body)
	{
		my $len = unpack 'l>', substr($body, $place, 4);
		push @values, $len < 0 ? undef : substr($body, $place + 4, $len);
		$place += 4 + ($len < 0 ? 0 : $len);
	}
	return \@values;
}

# What the server says up to the end of a statement, or until it asks for
# data: error => fields, notices => [messages], debug => [messages of that
# level], tag, rows => [[values]], copy_in => format and number of columns,
# closed => 1.
sub result
{
	my ($self) = @_;
	my %result = (notices => [], debug => [], rows => []);
	while (1)
	{
		my $head = $self->read_bytes(5);
		my ($type, $len) = defined $head ? unpack('a N', $head) : ();
		my $body = defined $head ? $self->read_bytes($len - 4) : undef;
		if (!defined $body)
		{
			$result{closed} = 1;
			return \%result;
		}
		if ($type eq 'E') { $result{error} //= fields($body); }
		elsif ($type eq 'N')
		{
			my $notice = fields($body);
			push @{ $result{ $notice->{severity} =~ /^DEBUG/ ? 'debug' : 'notices' } }, $notice->{message};
		}
		elsif ($type eq 'C') { $result{tag} = unpack('Z*', $body); }
		elsif ($type eq 'D') { push @{ $result{rows} }, row_of($body); }
		elsif ($type eq 'K') { $result{pid} = $self->{pid} = unpack('N', $body); }
		elsif ($type eq 'G')
		{
			$result{copy_in} = join ' ', unpack('C n n*', $body);
			return \%result;
		}
		elsif ($type eq 'R' && unpack('N', $body) != 0)
		{
			$result{error} = { message => 'the server asks for a password' };
			return \%result;
		}
		elsif ($type eq 'Z') { return \%result; }
	}
}

# Runs statements; dies on an error.
sub query
{
	my ($self, $sql) = @_;
	$self->message('Q', "$sql\0");
	my $result = $self->result;
	die "$result->{error}{message} in: $sql" if $result->{error};
	return $result;
}

# The first value of the first row.
sub first_value
{
	my ($self, $sql) = @_;
	return $self->query($sql)->{rows}[0][0];
}

# COPY with these pieces of data, each a message, or [type, body] of another
# one; ends with CopyDone, or with CopyFail if fail => 'why', or by closing the
# connection if close => 1.
sub copy
{
	my ($self, $sql, $pieces, %params) = @_;
	$self->message('Q', "$sql\0");
	my $begin = $self->result;
	return $begin unless defined $begin->{copy_in};
	foreach my $piece (@$pieces)
	{
		$self->message(ref $piece ? @$piece : ('d', $piece));
	}
	if ($params{close})
	{
		CORE::close $self->{socket};
		return $begin;
	}
	defined $params{fail} ? $self->message('f', "$params{fail}\0") : $self->message('c', '');
	my $result = $self->result;
	$result->{copy_in} = $begin->{copy_in};
	unshift @{ $result->{$_} }, @{ $begin->{$_} } foreach qw(notices debug);
	return $result;
}

# Between statements: has the server said something, which usually is that it has ended the
# session?
sub has_input { return IO::Select->new($_[0]{socket})->can_read(0); }

# Closes the session, and waits until the server has ended it.
sub close
{
	my ($self) = @_;
	$self->message('X', '');
	1 while defined $self->read_bytes(1);
	CORE::close $self->{socket};
	return;
}

1;
