# --restore-test: restores the newest backup of each database into a throw-away
# cluster.
#
# Restoring runs code that the owners of the databases wrote, as a superuser of the
# server.  So the server is a new one and runs as a user that owns nothing else, the
# "drill_user"; its only socket is in a directory that only this user and the owner of
# the backups can enter; and only the owner of the backups can connect.  The backups
# are read, and pg_parrestore is run, by their owner.  Root starts both, watches the
# limits, and removes everything.  Root opens no file below the server's directory:
# a child that has become the drill_user does.
#
# A directory has these, and belongs to root, so that no other user can replace them:
#
#   server/data, server/log    of the drill_user, mode 0700
#   socket                     of the drill_user, and the group of the backups' owner
#   client                     of the backups' owner, mode 0700

package PardumpBackup::Drill;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(:mode);
use File::Find;
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX qw(WNOHANG);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use PardumpBackup::Account qw(account_of_name account_of_id become_user as_user processes_of kill_processes_of start_as);
use PardumpBackup::Catalog qw(newest_backups);
use PardumpBackup::Config qw(seconds_of bytes_of);
use PardumpBackup::Message qw(report);
use PardumpBackup::Programs qw(failure interrupted reason_of);
use PardumpBackup::RestoreCheck qw(describe_backup test_backups);
use PardumpBackup::Store qw(check_store);

our @EXPORT_OK = qw(restore_test);

# Seconds that initdb, and the end of the server, may take.
use constant { INITDB_LIMIT => 600, STOP_LIMIT => 60 };

# It is only part of the socket's name.
use constant PORT => 5432;

# Directories that the owner of servers owns on Debian and on Red Hat.
my @SERVER_DIRECTORIES = qw(/var/lib/postgresql /var/lib/pgsql);

# The share of the free space that may be used.
use constant FREE_SHARE => 0.9;

# The two users.  Dies if they share files or processes.
sub accounts
{
	my ($config) = @_;
	my $name = $config->{drill_user} // die "drill_user is not set in the configuration\n"
	  . "hint: Create a separate user, for example with \"useradd --system --no-create-home pgdrill\", and set \"drill_user = pgdrill\".\n";
	my $drill = account_of_name($name) // die "drill_user \"$name\" does not exist\n"
	  . "hint: Create the user, for example with \"useradd --system --no-create-home $name\".\n";
	my $directory = $config->{directory};
	my $uid = (stat $directory)[4] // die "could not access directory \"$directory\": $!\n";
	my $owner = account_of_id($uid) // die "directory \"$directory\" is owned by user ID $uid, which does not exist\n";
	my $reason = "detail: Code in the restored databases runs as this user, who must own nothing else.\n"
	  . "hint: Create a separate user, for example with \"useradd --system --no-create-home pgdrill\", and set \"drill_user = pgdrill\".\n";

	die "drill_user \"$name\" is root\n$reason" if $drill->{uid} == 0;
	die "directory \"$directory\" is owned by root, but the restore test requires backups of another user\n"
	  . "detail: pg_parrestore runs as the owner of the backups, who must not be root.\n"
	  if $uid == 0;
	die "drill_user \"$name\" owns the backups in directory \"$directory\"\n$reason" if $drill->{uid} == $uid;
	foreach my $server (@SERVER_DIRECTORIES)
	{
		die "drill_user \"$name\" owns directory \"$server\" of a server\n$reason" if ((stat $server)[4] // 0) == $drill->{uid};
	}
	my ($pid) = processes_of($drill);
	die "drill_user \"$name\" must not run other processes, but runs process $pid\n"
	  . "detail: At the end of the restore test, all processes of this user are killed.\n"
	  if defined $pid;
	return ($drill, $owner);
}

# The directory with initdb and postgres of a major.
sub server_programs
{
	my ($config, $major) = @_;
	my ($own) = $config->{program}{pg_pardump} =~ m{^(.*)/};
	my @dirs = (defined $config->{bindir} ? $config->{bindir} : ($own, "/usr/lib/postgresql/$major/bin", "/usr/pgsql-$major/bin"));

	foreach my $dir (@dirs)
	{
		next if grep { !-x "$dir/$_" } qw(initdb postgres psql pg_restore);
		open my $fh, '-|', "$dir/initdb", '--version' or next;
		my $version = <$fh> // '';
		close $fh;
		return $dir if $version =~ /^initdb \(PostgreSQL\) $major\D/;
	}
	die "could not find initdb of PostgreSQL $major in " . join(', ', map { "\"$_\"" } @dirs) . "\n"
	  . "hint: Install the server of PostgreSQL $major on this machine, or set bindir to the directory of its programs.\n";
}

sub free_bytes
{
	my ($directory) = @_;
	open my $fh, '-|', 'df', '-Pk', $directory or die "could not run df: $!\n";
	my (undef, $line) = <$fh>;
	close $fh;
	my ($free) = ($line // '') =~ /^.*?\s+\d+\s+\d+\s+(\d+)\s+\d+%/ or die "could not determine the free space of directory \"$directory\"\ndetail: The output of df does not contain it.\n";
	return $free * 1024;
}

# ---- the directory

sub make_directory
{
	my ($config, $drill, $owner) = @_;
	my $parent = $config->{drill_directory};
	my ($mode, $uid) = (stat $parent)[ 2, 4 ] or die "could not access directory \"$parent\": $!\n";

	die "drill_directory \"$parent\" must be a directory owned by root\nhint: Create it as root, for example: install -d -m 0755 \"$parent\"\n"
	  if !S_ISDIR($mode) || $uid != 0;
	die "drill_directory \"$parent\" must not be writable by its group or others, unless it has the sticky bit\nhint: Run \"chmod go-w $parent\".\n"
	  if $mode & 022 && !($mode & S_ISVTX);
	my $directory = tempdir('pg_pardump_drill.XXXXXXXX', DIR => $parent);
	my @made = ([ server => $drill->{uid}, $drill->{gid}, 0700 ], [ socket => $drill->{uid}, $owner->{gid}, 0710 ],
		[ client => $owner->{uid}, $owner->{gid}, 0700 ]);
	foreach my $made (@made)
	{
		my ($name, $uid, $gid, $mode) = @$made;
		# the mode first: the new owner may change the contents
		mkdir("$directory/$name", 0700) && chmod($mode, "$directory/$name") && chown($uid, $gid, "$directory/$name")
		  or die "could not create directory \"$directory/$name\": $!\n";
	}
	chmod 0711, $directory or die "could not change permissions of directory \"$directory\": $!\n";
	return $directory;
}

sub remove_directory
{
	my ($directory, $drill, $owner) = @_;
	my @errors;

	foreach my $part ([ server => $drill ], [ socket => $drill ], [ client => $owner ])
	{
		my ($name, $account) = @$part;
		my $path = "$directory/$name";

		next if !-e $path;
		my ($good, $output) = as_user($account, sub {
			remove_tree($path, { keep_root => 1, error => \my $errors });
			die map { (%$_)[1] . "\n" } @$errors if @$errors;
		});
		push @errors, $output =~ s/\n.*//sr if !$good;
		rmdir $path or push @errors, "$!";
	}
	rmdir $directory or push @errors, "$!";
	die "could not remove directory \"$directory\": $errors[0]\n" if @errors;
	return;
}

# ---- the server

# A detail with the last messages of the server, or of initdb.
sub log_tail
{
	my ($directory, $drill) = @_;
	my (undef, $output) = as_user($drill, sub {
		open my $fh, '<', "$directory/server/log" or die "no log\n";
		my @lines = <$fh>;
		print splice @lines, @lines > 10 ? -10 : 0;
	});
	return "detail: The last messages were:\n" . $output =~ s/[^ -~\n]/?/gr =~ s/^/\t/mgr;
}

# Waits for a process; returns its status, or nothing if it takes longer.
sub wait_limited
{
	my ($pid, $limit) = @_;
	my $end = clock_gettime(CLOCK_MONOTONIC) + $limit;

	while (1)
	{
		return $? if waitpid($pid, WNOHANG) == $pid;
		return if clock_gettime(CLOCK_MONOTONIC) > $end;
		select undef, undef, undef, 0.1;
	}
}

# A name in pg_hba.conf and pg_ident.conf.
sub quoted { return '"' . $_[0] =~ s/"/""/gr . '"'; }

sub start_server
{
	my ($config, $directory, $bin, $drill, $owner, $superuser) = @_;
	my $data = "$directory/server/data";
	my $log = "$directory/server/log";
	my $initdb = start_as($drill, $log, "$bin/initdb", "--pgdata=$data", "--username=$superuser", '--auth=reject',
		'--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions');
	my $status = wait_limited($initdb, INITDB_LIMIT);
	my @reason = defined $status ? reason_of($status) : (late => INITDB_LIMIT);

	if (!defined $status)
	{
		kill KILL => $initdb;
		waitpid $initdb, 0;
	}
	die failure('initdb', undef, @reason) . log_tail($directory, $drill) if @reason;
	my ($good, $output) = as_user($drill, sub {
		my %files = (
			'pg_hba.conf' => 'local all ' . quoted($superuser) . " peer map=drill\n",
			'pg_ident.conf' => join(' ', 'drill', quoted($owner->{name}), quoted($superuser)) . "\n");
		foreach my $name (sort keys %files)
		{
			open my $fh, '>', "$data/$name" or die "could not create file \"$data/$name\": $!\n";
			(print {$fh} $files{$name} and close $fh) or die "could not write file \"$data/$name\": $!\n";
		}
	});
	die $output if !$good;
	my %settings = (
		listen_addresses => '',
		unix_socket_directories => "$directory/socket",
		unix_socket_permissions => '0777',
		port => PORT,
		shared_preload_libraries => join(',', @{ $config->{drill_preload} // [] }),
		session_preload_libraries => '',
		local_preload_libraries => '',
		max_connections => $config->{jobs} * 2 + 30,
		max_locks_per_transaction => 1024,
		# the server need not survive a crash, and must not leave files elsewhere
		fsync => 'off', full_page_writes => 'off', synchronous_commit => 'off', wal_level => 'minimal', max_wal_senders => 0,
		dynamic_shared_memory_type => 'mmap', logging_collector => 'off', log_destination => 'stderr', lc_messages => 'C');
	return start_as($drill, $log, "$bin/postgres", '-D', $data, map { ('-c', "$_=$settings{$_}") } sort keys %settings);
}

sub stop_server
{
	my ($server) = @_;

	foreach my $signal (qw(QUIT KILL))
	{
		kill $signal => $server;
		return if defined wait_limited($server, STOP_LIMIT);
	}
	die "could not stop the temporary server, process $server\n";
}

# ---- the run

# The newest backup of each database, as its owner finds them.
sub described_backups
{
	my ($config, $owner) = @_;
	my ($good, $output) = as_user($owner, sub {
		# commands of the configuration are run
		$ENV{HOME} = $owner->{home} if defined $config->{fetch};
		check_store($config->{directory});
		print JSON::PP->new->latin1->encode([ map { describe_backup($config, $_) } newest_backups($config) ]);
	}, defined $config->{fetch} ? seconds_of($config->{drill_time_limit}) : ());
	die $output if !$good;
	return @{ JSON::PP->new->latin1->decode($output) };
}

# Why the test must not continue.  Code in a database can prevent the first measurement,
# but not the second one.
sub lack_of_space
{
	my ($config, $directory, $drill, $limits) = @_;
	my ($good, $used) = as_user($drill, sub {
		my $bytes = 0;
		find({ no_chdir => 1, wanted => sub { $bytes += 512 * ((lstat)[12] // 0) } }, "$directory/server");
		print $bytes;
	});

	return sprintf "the restore test needs more disk space than it may use (%d MB)\n"
	  . 'hint: Set a larger drill_disk_limit, or a drill_directory with more free space.', $limits->{used} / 2**20
	  if $good && $used > $limits->{used};
	return "the file system of \"$config->{drill_directory}\" is almost full\nhint: Set a drill_directory with more free space." if free_bytes($config->{drill_directory}) < $limits->{free};
	return;
}

# Waits for the client, and ends the client if the server ends or a limit is exceeded.
# Returns the client's status, or dies with the reason.  If the server ends, $$server
# becomes undefined.
sub watch
{
	my ($config, $directory, $drill, $client, $server, $limits) = @_;
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my ($next, $reason) = ($began, undef);

	until (defined $reason)
	{
		my $now = clock_gettime(CLOCK_MONOTONIC);

		return $? if waitpid($client, WNOHANG) == $client;
		$reason = 'interrupted by SIG' . interrupted() if interrupted();
		$reason = "the restore test took longer than drill_time_limit ($config->{drill_time_limit})\nhint: Set a longer drill_time_limit."
		  if $now - $began > seconds_of($config->{drill_time_limit});
		if (waitpid($$server, WNOHANG) == $$server)
		{
			$$server = undef;
			$reason = "the temporary server stopped during the restore test\n" . log_tail($directory, $drill);
		}
		if (!defined $reason && $now >= $next)
		{
			$reason = lack_of_space($config, $directory, $drill, $limits);
			my $end = clock_gettime(CLOCK_MONOTONIC);

			$next = $end + 1 + 10 * ($end - $now);
		}
		select undef, undef, undef, 0.2 if !defined $reason;
	}
	kill TERM => $client;
	if (!defined wait_limited($client, STOP_LIMIT))
	{
		kill KILL => $client;
		waitpid $client, 0;
	}
	die $reason =~ s/\n*\z/\n/r;
}

# Returns whether all tests succeeded.  Dies if it could not test.
sub restore_test
{
	my ($config) = @_;
	my ($drill, $owner) = accounts($config);
	# the current directory may not be accessible to other users
	chdir '/' or die "could not change to directory \"/\": $!\n";
	my @backups = described_backups($config, $owner);
	my ($newest) = sort { $b->{started} <=> $a->{started} } grep { defined $_->{major} } @backups;
	die map { $_->{problem} // () } @backups if !$newest && grep { defined $_->{problem} } @backups;
	die "there are no backups to test in directory \"$config->{directory}\"\n"
	  . "detail: Backups without a manifest, and backups that the command of \"pipe\" wrote, cannot be tested if the key \"fetch\" is not set.\n"
	  if !$newest;
	my ($major) = $newest->{major} =~ /^(\d{2})\z/
	  or die "the restore test requires PostgreSQL 10 or newer\ndetail: The newest backup is from PostgreSQL $newest->{major}.\n";
	my $bin = server_programs($config, $major);
	my $free = free_bytes($config->{drill_directory});
	my %limits = (used => $free * FREE_SHARE, free => $free * (1 - FREE_SHARE));
	my $wanted = defined $config->{drill_disk_limit} ? bytes_of($config->{drill_disk_limit}) : $limits{used};
	$limits{used} = $wanted if $wanted < $limits{used};

	my $directory = make_directory($config, $drill, $owner);
	my %access = (host => "$directory/socket", port => PORT, username => $newest->{superuser}, major => $major, bin => $bin,
		client => "$directory/client", home => $owner->{home});
	my ($server, $status);
	my $good = eval {
		$server = start_server($config, $directory, $bin, $drill, $owner, $newest->{superuser});
		my $client = fork // die "could not create process: $!\n";
		if ($client == 0)
		{
			my $good = eval { become_user($owner); test_backups($config, \%access, @backups) };
			report('error', $@) if $@;
			STDOUT->flush;
			POSIX::_exit($good ? 0 : 1);
		}
		$status = watch($config, $directory, $drill, $client, \$server, \%limits);
		1;
	};
	my $error = $@;
	my $removed = eval { stop_server($server) if defined $server; kill_processes_of($drill); remove_directory($directory, $drill, $owner); 1 };
	report('error', $@) if !$removed;
	die $error if !$good;
	return $removed && $status == 0;
}

1;
