
# Stores for backups that are reached with rclone: an S3 server that verifies signatures
# (t/data/s3_store.py), and an SSH server with sftp.  Each has a proxy in front, which
# records requests, and does what stores and networks do: it is slow, refuses requests,
# and cuts connections.  Where there is no rclone, s3cmd is the client of the S3 server.

package Pardump::Store;

use strict;
use warnings;

use Exporter 'import';
use Fcntl;
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use List::Util qw(max);
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(run_program new_path data_file);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket qw(SOL_SOCKET SO_LINGER);
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT_OK = qw(store_problem start_s3_store start_sftp_store set_fault clear_faults times_struck
  requests forget_requests stored_names store_command in_store client_config sshd_command $client);

# The Python of Debian's packages
my $python = '/usr/bin/python3';

# The program that reads and writes files of the store, and its commands.
our $client = defined program('rclone') ? 'rclone' : 's3cmd';
my %commands = (
	rclone => {
		put => 'rclone rcat store:TO', get => 'rclone cat --no-traverse store:FROM', copy => 'rclone copyto store:FROM store:TO',
		remove => 'rclone deletefile store:TO', list => 'rclone lsf -R --files-only store:FROM', bucket => 'rclone --s3-no-check-bucket=false mkdir store:TO' },
	s3cmd => {
		put => 's3cmd --quiet put - s3://TO', get => 's3cmd --quiet get s3://FROM -', copy => 's3cmd --quiet cp s3://FROM s3://TO',
		remove => 's3cmd --quiet del s3://TO', list => 's3cmd ls -r s3://FROM/', bucket => 's3cmd --quiet mb s3://TO' });

# Leaders of process groups.
my @groups;
my $owner = $$;
END { stop_stores() if $$ == $owner; }

sub stop_stores
{
	local ($?, $!);
	kill KILL => map { -$_ } @groups;
	waitpid $_, 0 foreach @groups;
	@groups = ();
	return;
}

# The path of a program; sshd is rarely in PATH.
sub program
{
	my ($name) = @_;
	my ($path) = grep { -x } map { "$_/$name" } split(/:/, $ENV{PATH}), '/usr/sbin';
	return $path;
}

# Why there can be no store of this kind, or nothing: "s3", "rclone" for one with rclone as
# its client, or "sftp".
sub store_problem
{
	my ($kind) = @_;
	foreach my $name ($kind eq 'sftp' ? ('rclone', 'sshd', 'ssh-keygen') : $kind eq 'rclone' ? 'rclone' : $client)
	{
		return "$name is not installed" if !defined program($name);
	}
	return if $kind eq 'sftp';
	return 'OpenStack Swift is not installed' if (run_program($python, '-c', 'import swift.common.middleware.s3api'))[0] != 0;
	return;
}

# Runs a server in a process group of its own, which ends with the test, also if the test
# is killed.
sub start_server
{
	my ($log, @command) = @_;
	note("starting: @command");
	my $pid = fork() // die "could not fork: $!";
	if ($pid == 0)
	{
		setpgrp 0, 0;
		open STDIN, '<', '/dev/null';
		open STDOUT, '>>', $log;
		open STDERR, '>>', $log;
		exec('setpriv', '--pdeathsig', 'KILL', @command) or POSIX::_exit(127);
	}
	setpgrp $pid, $pid;
	push @groups, $pid;
	return $pid;
}

sub wait_for_server
{
	my ($what, $pid, $log, $condition) = @_;
	wait_until($what, sub {
		die "$what has ended: " . slurp_file($log) if waitpid($pid, POSIX::WNOHANG()) != 0;
		return $condition->();
	});
	return;
}

sub new_directory
{
	my $dir = new_path($_[0]);
	mkdir $dir, 0700 or die "could not create directory \"$dir\": $!";
	return $dir;
}

sub write_text_file
{
	my ($path, $text) = @_;
	unlink $path;
	append_to_file($path, $text);
	return $path;
}

# A new configuration file of the client, in which "store" has these settings.
sub client_config
{
	my (%settings) = @_;
	my $host = ($settings{endpoint} // '') =~ s/^http:\/\///r;
	my $text = $client eq 'rclone' ? join '', "[store]\n", map { "$_ = $settings{$_}\n" } sort keys %settings : <<"CONF";
[default]
access_key = $settings{access_key_id}
secret_key = $settings{secret_access_key}
bucket_location = $settings{region}
host_base = $host
host_bucket = $host
use_https = False
multipart_chunk_size_mb = 5
max_retries = 1
CONF
	my $file = write_text_file(new_path('store.conf'), $text);
	chmod 0600, $file;
	return $file;
}

# What rclone and its libraries read from the environment is the test's.
sub clean_environment
{
	delete @ENV{ grep { /^(?:AWS|RCLONE)_/ } keys %ENV };
	# smaller files are sent in one request
	$ENV{RCLONE_STREAMING_UPLOAD_CUTOFF} = '1M';
	# no notices of the greatest size of an upload
	$ENV{RCLONE_LOG_LEVEL} = 'ERROR';
	return;
}

# Starts an S3 server with the bucket "backups", and makes the remote "store" of rclone
# that of this server.  Returns a hash with the "settings" of the remote.
sub start_s3_store
{
	my $dir = new_directory('s3');
	my ($key, $secret) = ('backups:pardump', join '', map { sprintf '%04x', rand 65536 } 1 .. 8);
	my $pid = start_server("$dir/log", $python, data_file('s3_store.py'), $dir, $key, $secret);
	wait_for_server('the S3 server', $pid, "$dir/log", sub { -e "$dir/port" });
	my %store = (dir => $dir, kind => 's3', name => 's3', server_port => slurp_file("$dir/port") + 0);
	start_front(\%store);
	# these settings are those of the how-to, except provider, endpoint and region
	$store{settings} = { type => 's3', provider => 'Other', endpoint => "http://127.0.0.1:$store{port}", region => 'us-east-1',
		access_key_id => $key, secret_access_key => $secret, no_check_bucket => 'true', chunk_size => '5M', upload_concurrency => 2 };
	clean_environment();
	@ENV{qw(RCLONE_CONFIG S3CMD_CONFIG)} = (client_config(%{ $store{settings} })) x 2;
	my ($rc, undef, $err) = run_program(split / /, store_command('bucket', 'backups'));
	die "could not create the bucket: $err" . slurp_file("$dir/log") if $rc != 0;
	return \%store;
}

# Writes $dir/sshd_config, which ends with $settings, and returns the command of an SSH server
# that has the keys $dir/host_key and $dir/key.  OpenSSH 9.8 and later refuse all connections
# of an address for some seconds after one without the right key.
sub sshd_command
{
	my ($dir, $settings) = @_;
	write_text_file("$dir/sshd_config", <<"CONF");
ListenAddress 127.0.0.1
HostKey $dir/host_key
AuthorizedKeysFile $dir/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
$settings
CONF
	my @command = (program('sshd'), '-D', '-e', '-f', "$dir/sshd_config");
	my @no_penalties = ('-o', 'PerSourcePenalties=no');
	return (@command, (run_program(@command, '-t', @no_penalties))[0] == 0 ? @no_penalties : ());
}

# Starts an SSH server that serves sftp in a new directory, with the options of internal-sftp
# in %params: "writer", "reader"; "front" is put in front of the server's command.  Returns
# a hash with the "settings" of the remote "store", whose identity is the writer's; with
# "reader", a hash like it; and "data", the directory.
sub start_sftp_store
{
	my (%params) = @_;
	my $dir = new_directory('sftp');
	my $data = $params{data} // "$dir/data";
	my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } qw(writer reader);
	mkdir $data if !-d $data;
	foreach my $file (qw(host_key key other_key))
	{
		run_program('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', "$dir/$file");
	}
	my @command = sshd_command($dir, <<"CONF");
Port $port{writer}
Port $port{reader}
Subsystem sftp internal-sftp
Match LocalPort $port{writer}
  ForceCommand internal-sftp -d $data $params{writer}
Match LocalPort $port{reader}
  ForceCommand internal-sftp -d $data $params{reader}
CONF
	my $pid = start_server("$dir/log", @{ $params{front} // [] }, @command);
	wait_for_server('the SSH server', $pid, "$dir/log", sub { -e "$dir/log" && slurp_file("$dir/log") =~ /listening on 127\.0\.0\.1 port $port{reader}\b/ });
	my ($key) = slurp_file("$dir/host_key.pub") =~ /^(\S+ \S+)/;
	my %store;
	foreach my $name (qw(writer reader))
	{
		my %one = (dir => $dir, kind => 'sftp', name => $name, server_port => $port{$name}, data => $data);
		start_front(\%one);
		append_to_file("$dir/known_hosts", "[127.0.0.1]:$one{port} $key\n");
		$one{settings} = { type => 'sftp', host => '127.0.0.1', port => $one{port}, user => scalar getpwuid($>), key_file => "$dir/key",
			known_hosts_file => "$dir/known_hosts", shell_type => 'none', disable_hashcheck => 'true', set_modtime => 'false' };
		%store = (%one, %store) if $name eq 'writer';
		$store{reader} = \%one if $name eq 'reader';
	}
	clean_environment();
	@ENV{qw(RCLONE_CONFIG S3CMD_CONFIG)} = (client_config(%{ $store{settings} })) x 2;
	return \%store;
}

# ---- what is stored

# A command for a file, or a directory, of the store: "put" stores its input, "get" returns
# a file, "copy" has two paths.
sub store_command
{
	my ($what, $from, $to) = @_;
	$to //= $from;
	return $commands{$client}{$what} =~ s/FROM/$from/r =~ s/TO/$to/r;
}

# Runs one of these, or another command of rclone; returns what run_program does.
sub in_store
{
	my ($what, @arguments) = @_;
	return run_program($commands{$client}{$what} ? split / /, store_command($what, @arguments) : ('rclone', $what, @arguments));
}

# The names of the files in a directory of the store, and in its directories.
sub stored_names
{
	my ($path) = @_;
	my ($rc, $out, $err) = in_store('list', $path);
	# 3: there is no such directory
	die "could not list \"$path\": $err" if $rc != 0 && $rc != 3;
	return sort map { s/.* s3:\/\/\Q$path\E\///r } split /\n/, $out;
}

# ---- faults

# set_fault($store, 'name', do => ..., match => regex, times => n, bytes => n): from now on,
# the proxy does this to the first n requests "METHOD PATH" that match, or to all.  To sftp
# there are no requests, but connections "CONNECT writer" and "CONNECT reader".  What it
# does: "wait" passes a request on after 0.05 s; a name of %answers answers it; "cut_request"
# and "cut_answer" reset the connection after this number of bytes; "hold" passes no more bytes of
# the request until the connection is closed.
sub set_fault
{
	my ($store, $name, %fault) = @_;
	mkdir "$store->{dir}/faults";
	$fault{match} = "$fault{match}";
	write_text_file("$store->{dir}/faults/new", encode_json({ %fault, name => $name }));
	rename "$store->{dir}/faults/new", "$store->{dir}/faults/$name.json" or die "could not set fault \"$name\": $!";
	return;
}

sub clear_faults
{
	my ($store) = @_;
	unlink glob "$store->{dir}/faults/*";
	return;
}

# How often a fault has occurred.
sub times_struck
{
	my ($store, $name) = @_;
	my @marks = glob "$store->{dir}/faults/$name.struck.*";
	return scalar @marks;
}

# The requests that the proxy got, "METHOD PATH".  The method of copies is COPY.
sub requests
{
	my ($store) = @_;
	return -e "$store->{dir}/requests" ? split /\n/, slurp_file("$store->{dir}/requests") : ();
}

sub forget_requests { unlink "$_[0]{dir}/requests"; return; }

# ---- the proxy

my %answers = (
	slow_down => [ '503 Slow Down', 'SlowDown', 'Please reduce your request rate.' ],
	full => [ '507 Insufficient Storage', 'XMinioStorageFull', 'Storage backend has reached its minimum free drive threshold.' ],
	quota => [ '403 Forbidden', 'QuotaExceeded', 'The quota is exceeded.' ],
	denied => [ '403 Forbidden', 'AccessDenied', 'Access Denied.' ]);

# Starts the proxy of a store, whose "port" it sets.
sub start_front
{
	my ($store) = @_;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 100) or die "could not listen: $!";
	$store->{port} = $listener->sockport;
	my $pid = fork() // die "could not fork: $!";
	if ($pid != 0)
	{
		setpgrp $pid, $pid;
		push @groups, $pid;
		return;
	}
	setpgrp 0, 0;
	$SIG{CHLD} = 'IGNORE';
	$SIG{PIPE} = 'IGNORE';
	$SIG{TERM} = 'DEFAULT';
	my $select = IO::Select->new($listener);
	while (getppid == $owner)
	{
		my $client = $select->can_read(1) ? $listener->accept : undef;
		next if !$client || (fork() // die "could not fork: $!");
		eval { serve_connection($store, $client); 1 } or warn $@;
		POSIX::_exit(0);
	}
	POSIX::_exit(0);
}

sub send_all
{
	my ($to, $bytes) = @_;
	while (length $bytes)
	{
		my $sent = syswrite($to, $bytes) // POSIX::_exit(0);
		substr($bytes, 0, $sent, '');
	}
	return;
}

# The faults that a request may suffer.
sub faults_of
{
	my ($store, $request) = @_;
	my @faults = map { eval { decode_json(slurp_file($_)) } // () } sort glob "$store->{dir}/faults/*.json";
	return grep { $request =~ $_->{match} } @faults;
}

# Has a fault not occurred often enough?  Then it does now.
sub strikes
{
	my ($store, $fault) = @_;
	foreach my $n (1 .. $fault->{times} // 10000)
	{
		return 1 if sysopen my $mark, "$store->{dir}/faults/$fault->{name}.struck.$n", O_CREAT | O_EXCL | O_WRONLY;
	}
	return 0;
}

# Answers a request, and reads what else the client sends.
sub answer
{
	my ($client, $request, $status, $code, $message) = @_;
	my $body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>$code</Code><Message>$message</Message></Error>";
	send_all($client, "HTTP/1.1 $status\r\nContent-Type: application/xml\r\nContent-Length: " . length($body)
		  . "\r\nConnection: close\r\n\r\n" . ($request =~ /^HEAD / ? '' : $body));
	shutdown $client, 1;
	while (sysread $client, my $bytes, 65536) { }
	return;
}

# One connection, which has one request if it is of HTTP.
sub serve_connection
{
	my ($store, $client) = @_;
	my ($head, $request) = ('', "CONNECT $store->{name}");

	if ($store->{kind} eq 's3')
	{
		while ($head !~ /\r\n\r\n/) { sysread($client, $head, 65536, length $head) or return; }
		$request = join ' ', $head =~ /^(\S+) (\S+)/;
		$request =~ s/%2F/\//gi;
		$request =~ s/^PUT/COPY/ if $head =~ /\r\nx-amz-copy-source:/i;
		$head =~ s/\r\n/\r\nConnection: close\r\n/;
	}
	open my $log, '>>', "$store->{dir}/requests" or die "could not open the log of requests: $!";
	syswrite $log, "$request\n";
	my @faults = faults_of($store, $request);
	sleep 0.05 if grep { $_->{do} eq 'wait' && strikes($store, $_) } @faults;
	foreach my $fault (grep { $answers{ $_->{do} } } @faults)
	{
		return answer($client, $request, @{ $answers{ $fault->{do} } }) if strikes($store, $fault);
	}
	my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $store->{server_port}) or die "could not connect: $!";
	my ($header, $body) = $head =~ /^(.*?\r\n\r\n)(.*)\z/s ? ($1, $2) : ('', '');
	send_all($server, $header);
	my %sides = (request => { from => $client, to => $server, passed => 0 }, answer => { from => $server, to => $client, passed => 0 });
	my $select = IO::Select->new($client, $server);
	my $front = getppid;
	my $continues = $body eq '' || pass_bytes($store, $body, 'request', \%sides, @faults);
	while ($continues && getppid == $front)
	{
		foreach my $from ($select->can_read(1))
		{
			my $side = $from == $client ? 'request' : 'answer';
			my $bytes;
			$continues &&= sysread($from, $bytes, 16384) && pass_bytes($store, $bytes, $side, \%sides, @faults);
		}
	}
	return;
}

# Passes bytes on, in a connection with these two sides.  Returns whether it continues.
sub pass_bytes
{
	my ($store, $bytes, $side, $sides, @faults) = @_;
	my $one = $sides->{$side};

	foreach my $fault (grep { ($_->{bytes} // 0) < $one->{passed} + length $bytes } @faults)
	{
		my $is_cut = $fault->{do} eq "cut_$side";
		next if !$is_cut && ($fault->{do} ne 'hold' || $side ne 'request') || !strikes($store, $fault);
		send_all($one->{to}, substr $bytes, 0, max(0, ($fault->{bytes} // 0) - $one->{passed}));
		if ($is_cut)
		{
			setsockopt $_->{from}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0) foreach values %$sides;
			return 0;
		}
		# until the client ends the connection
		while (sysread $one->{from}, my $more, 65536) { }
		return 0;
	}
	$one->{passed} += length $bytes;
	send_all($one->{to}, $bytes);
	return 1;
}

1;
