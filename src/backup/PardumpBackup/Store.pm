# The directory of backups: it contains a folder for each database, and the folder a
# directory for each backup, whose name is the UTC time of its start.  Until a backup is
# complete and verified, its name ends in ".partial".  Before a backup is removed, its
# name ends in ".partial" again.  So a backup with its final name is complete.
#
# A backup has a number in "backup.json", one more than the previous backup, because
# names do not show the order if the clock was set back.  If the directory was lost or
# replaced by an older copy, the numbers of later backups are not known, but none is larger
# than the time in the name of its backup.  So the next number is larger than these times.
#
# "backup.json" also identifies the server, by its system identifier and the address
# with which it was reached.  Neither is enough alone.  A server that was copied has
# the identifier of the original, and another server can get an address.  A backup
# belongs to the server in "adopted" if there is one, otherwise to the server that
# it was made from, and to no server if either of the two values is missing.

package PardumpBackup::Store;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(:DEFAULT :flock F_SETFD);
use File::Find;
use File::Path qw(remove_tree);
use IO::Handle;
use JSON::PP;
use List::Util qw(max);
use POSIX qw(strftime);
use Time::Local qw(timegm);

our @EXPORT_OK = qw(now time_name time_of is_time_name check_store claim_store note_server noted_server lock_store
  folder_of database_of folders backups unfinished belongs_to adopt_backup same_server begin_backup stored_bytes finish_backup
  replace_globals rebuild_backup hold_backup remove_backup is_sound expired write_file replace_file write_info read_json);

my @SERVER = qw(system_identifier address);

my $TIME = qr/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/;

# Only tests set the clock.
sub now { return int($ENV{PG_PARDUMP_BACKUP_NOW} // time); }

sub time_name { return strftime('%Y%m%dT%H%M%SZ', gmtime $_[0]); }

sub time_of
{
	my ($name) = @_;
	my ($year, $month, @rest) = $name =~ /^$TIME/ or return;
	return eval { timegm(reverse(@rest), $month - 1, $year) };
}

sub is_time_name { return $_[0] =~ /^$TIME\z/; }

# A folder's name needs no quotes in any shell, and is never taken for an
# option.
sub folder_of
{
	my ($database) = @_;
	return $database =~ s/([^A-Za-z0-9_.-]|^[.-])/sprintf('=%02X', ord $1)/ger;
}

sub database_of { return $_[0] =~ s/=([0-9A-F]{2})/chr hex $1/ger; }

sub check_store
{
	my ($directory) = @_;
	my ($mode, $owner) = (stat $directory)[ 2, 4 ] or die "could not access directory \"$directory\": $!\n";
	die "\"$directory\" is not a directory\n" if !-d _;
	if ($owner != $>)
	{
		my ($other, $own) = map { '"' . (getpwuid($_) // $_) . '"' } $owner, $>;
		die "directory \"$directory\" must be owned by the current user\n"
		  . "detail: The owner is user $other, but the current user is $own.\n"
		  . "hint: Run pg_pardump_backup as user $other, or change the owner of the directory with chown.\n";
	}
	die "directory \"$directory\" must not be writable by its group or others\nhint: Run \"chmod go-w $directory\".\n" if $mode & 022;
	return;
}

# The configuration and the server that the directory belongs to: a line for the
# name, then lines "key=value".  Nothing if there is no such file.
sub read_claim
{
	my ($file) = @_;
	my $fh;

	if (!open $fh, '<', $file)
	{
		return if $!{ENOENT};
		die "could not open file \"$file\": $!\n";
	}
	chomp(my ($name, @lines) = <$fh>);
	my %values = map { /^(\w+)=(.*)\z/s } @lines;
	return { name => $name // '', map { $_ => $values{$_} } @SERVER };
}

sub write_claim
{
	my ($directory, $claim) = @_;
	replace_file("$directory/.configuration",
		join '', map { "$_\n" } $claim->{name}, map { "$_=$claim->{$_}" } grep { defined $claim->{$_} } @SERVER);
	return;
}

# Two configurations with one directory would remove each other's backups of databases
# with the same names.  With $changes, records the configuration that the directory belongs
# to.  Returns the recorded server.
sub claim_store
{
	my ($directory, $name, $changes) = @_;
	my $file = "$directory/.configuration";
	my $claim = read_claim($file);

	if (!$claim || $claim->{name} eq '')
	{
		$claim = { name => $name };
		write_claim($directory, $claim) if $changes;
	}
	die "directory \"$directory\" contains the backups of configuration \"" . $claim->{name} =~ tr/ -~//cdr . "\"\n"
	  . "detail: Each configuration requires a directory of its own.\n"
	  . "hint: Set another \"directory\".  If the configuration was renamed, remove the file \"$file\".\n"
	  if $claim->{name} ne $name;
	return $claim;
}

sub note_server
{
	my ($directory, $name, $server) = @_;
	return write_claim($directory, { %$server, name => $name });
}

# The server that the directory belongs to; nothing in it if no run has noted one.
sub noted_server
{
	my ($directory) = @_;
	return read_claim("$directory/.configuration") // {};
}

# A server whose identifier or address is unknown is never the same as another.
sub same_server
{
	my ($one, $other) = @_;
	return !grep { ($one->{$_} // '') eq '' || $one->{$_} ne ($other->{$_} // '') } @SERVER;
}

sub belongs_to
{
	my ($backup, $server) = @_;
	return same_server($backup->{adopted} // $backup, $server);
}

# Returns the lock; or nothing, and the holder, if another run has the lock.  Programs
# that this process runs inherit the lock, because they may work for hours after this
# process was killed.
sub lock_store
{
	my ($directory, $who) = @_;
	my $file = "$directory/.lock";
	sysopen(my $lock, $file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600)
	  or die "could not open file \"$file\": $!\n";
	if (!flock $lock, LOCK_EX | LOCK_NB)
	{
		die "could not lock file \"$file\": $!\n" if !$!{EWOULDBLOCK};
		return (undef, join('', <$lock>) =~ tr/ -~//cdr);
	}
	fcntl($lock, F_SETFD, 0) or die "could not set flags of file \"$file\": $!\n";
	truncate $lock, 0;
	$lock->autoflush(1);
	print $lock $who;
	return $lock;
}

sub entries
{
	my ($directory) = @_;
	opendir my $dh, $directory or die "could not open directory \"$directory\": $!\n";
	return sort readdir $dh;
}

sub is_directory { return lstat $_[0] && -d _; }

sub folders
{
	my ($directory) = @_;
	return grep { /^[A-Za-z0-9_=][A-Za-z0-9_.=-]*\z/ && is_directory("$directory/$_") } entries($directory);
}

# Nothing if the file is missing or does not contain an object.  Values are not checked.
sub read_json
{
	my ($file) = @_;
	open my $fh, '<', $file or return;
	my $object = eval { decode_json(join '', <$fh>) };
	return ref $object eq 'HASH' ? $object : ();
}

sub read_info
{
	my ($path) = @_;
	my $info = read_json("$path/backup.json") or return;
	delete $info->{adopted} if ref $info->{adopted} ne 'HASH';
	foreach my $server ($info, $info->{adopted} // ())
	{
		delete @$server{ grep { ref $server->{$_} } @SERVER };
	}
	return $info;
}

# The complete backups of a folder, the newest first; and the paths of directories that
# have the name of a backup but are not backups, which are never removed.
sub backups
{
	my ($directory, $folder) = @_;
	my $dir = "$directory/$folder";
	my (@good, @strange);

	return ([], []) if !-d $dir;
	foreach my $name (grep { /^$TIME\z/ } entries($dir))
	{
		my $path = "$dir/$name";
		my $info = is_directory($path) ? read_info($path) : undef;
		my $good = $info && ($info->{finished} // '') =~ /^\d+\z/
		  && ($info->{number} // '') =~ /^\d+\z/ && ($info->{pipe} || -f "$path/dump/toc.dat");

		$good ? push(@good, { %$info, name => $name, path => $path, folder => $folder })
		  : push(@strange, $path);
	}
	return ([ sort { $b->{number} <=> $a->{number} } @good ], \@strange);
}

# Incomplete backups, which killed runs or failed removals left.  A backup without
# "started" has no "backup.json", because the run was killed before it wrote anything.
sub unfinished
{
	my ($directory, $folder) = @_;
	my @found;

	foreach my $entry (entries("$directory/$folder"))
	{
		my ($name) = $entry =~ /^($TIME)\.partial\z/ or next;
		my $path = "$directory/$folder/$entry";
		push @found, { %{ read_info($path) // {} }, name => $name, path => $path, folder => $folder }
		  if is_directory($path);
	}
	return @found;
}

# Entries of a directory are on disk only after the directory was flushed.
sub flush
{
	my ($path) = @_;

	open my $fh, '<', $path or die "could not open file \"$path\": $!\n";
	$fh->sync or die "could not fsync file \"$path\": $!\n";
	return;
}

# With $public, the file is a new one that every user may read: in a directory of other
# users, an existing file may be theirs, or a FIFO, which would keep this program waiting.
# The mode is set on the open file, because another user may meanwhile replace the name with
# a link.
sub write_file
{
	my ($path, $bytes, $public) = @_;
	unlink $path if $public;
	sysopen(my $fh, $path, O_WRONLY | O_CREAT | ($public ? O_EXCL : O_TRUNC) | O_NOFOLLOW, 0600)
	  or die "could not create file \"$path\": $!\n";
	(print {$fh} $bytes and $fh->flush and (!$public || chmod 0644, $fh) and $fh->sync and close $fh)
	  or die "could not write file \"$path\": $!\n";
	return;
}

# In a directory of this program: a reader, or a run after a crash, finds the old file or
# the new one.
sub replace_file
{
	my ($path, $bytes) = @_;
	write_file("$path.tmp", $bytes);
	rename "$path.tmp", $path or die "could not rename file \"$path.tmp\" to \"$path\": $!\n";
	flush($path =~ s{/[^/]+\z}{}r);
	return;
}

sub write_info
{
	my ($backup) = @_;
	my %info = map { $_ => $backup->{$_} } grep { !/^(name|path|folder)\z/ } keys %$backup;
	replace_file("$backup->{path}/backup.json", JSON::PP->new->canonical->pretty->encode(\%info));
	return;
}

# From now on, the backup belongs to this server.  It still records the server that it was
# made from.
sub adopt_backup
{
	my ($backup, $server) = @_;
	return write_info({ %$backup, adopted => { map { $_ => $server->{$_} } @SERVER } });
}

# Of a complete backup.
sub replace_globals
{
	my ($backup, $text) = @_;
	my $path = "$backup->{path}/globals.sql";

	$backup->{bytes} += length($text) - (-s $path // 0);
	replace_file($path, $text);
	return write_info($backup);
}

# Makes the directory of a new backup of this server, in the run of this name.  %kind says
# whether commands write the backup, and whether to another place.  Its name is the time, or
# the next one, if the clock was set back, that no backup in the directory or among @$stored
# has, the names of backups in the store.
sub begin_backup
{
	my ($directory, $folder, $server, $run, $stored, %kind) = @_;
	my $dir = "$directory/$folder";
	my $time = now();

	if (mkdir $dir, 0700)
	{
		flush($directory);
	}
	elsif (!$!{EEXIST} || !is_directory($dir))
	{
		die "could not create directory \"$dir\": $!\n";
	}
	my ($good) = backups($directory, $folder);
	my %stored = map { my ($of, $name) = split m{/}; $of eq $folder ? ($name => 1) : () } @$stored;
	my $is_here = sub { return -e "$dir/$_[0]" || -e "$dir/$_[0].partial" };
	my @lost = map { time_of($_) // () } grep { !$is_here->($_) } keys %stored;
	$time++ while $stored{ time_name($time) } || $is_here->(time_name($time));
	my %backup = (
		folder => $folder,
		name => time_name($time),
		path => "$dir/" . time_name($time) . '.partial',
		number => 1 + max(0, @lost, @$good ? $good->[0]{number} : ()),
		run => $run,
		started => now(),
		(map { $_ => $server->{$_} } @SERVER),
		map { $_ => $kind{$_} ? JSON::PP::true : JSON::PP::false } qw(pipe elsewhere));
	mkdir $backup{path}, 0700 or die "could not create directory \"$backup{path}\": $!\n";
	return \%backup if eval { write_info(\%backup); flush($backup{path}); 1 };
	my $error = $@;
	remove_tree($backup{path});
	die $error;
}

# The size of the files in the directory of a backup.
sub stored_bytes
{
	my ($path) = @_;
	my $bytes = 0;

	find({ no_chdir => 1, wanted => sub { $bytes += -s _ if lstat && -f _ } }, $path);
	return $bytes;
}

# pg_pardump flushes its own files, but not those that commands write.
sub flush_files
{
	my ($dir) = @_;
	flush($_) foreach grep { lstat && -f _ } map { "$dir/$_" } entries($dir);
	flush($dir);
	return;
}

sub finish_backup
{
	my ($backup) = @_;
	my $path = $backup->{path} =~ s/\.partial\z//r;

	flush_files("$backup->{path}/dump") if $backup->{pipe} && -d "$backup->{path}/dump";
	$backup->{finished} //= now();
	write_info($backup);
	flush($backup->{path});
	rename $backup->{path}, $path or die "could not rename directory \"$backup->{path}\" to \"$path\": $!\n";
	$backup->{path} = $path;
	flush($path =~ s{/[^/]+\z}{}r);
	return;
}

# Makes the directory of a backup again from values of its record in the store; its name ends
# in ".partial" if the backup is to be removed.  An existing directory is not changed.  Until
# the new one is complete, its name is not that of an unfinished backup: a run would remove
# the backup from the store.
sub rebuild_backup
{
	my ($directory, $folder, $name, $values) = @_;
	my ($dir, $temporary) = ("$directory/$folder", "$directory/$folder/.rebuild");

	foreach my $path (map { "$dir/" . $name =~ s/\.partial\z//r . $_ } '', '.partial')
	{
		die "\"$path\" already exists\n" if lstat $path;
	}
	if (mkdir $dir, 0700)
	{
		flush($directory);
	}
	elsif (!$!{EEXIST} || !is_directory($dir))
	{
		die "could not create directory \"$dir\": $!\n";
	}
	# a killed run may have left it
	remove_tree($temporary);
	mkdir $temporary, 0700 or die "could not create directory \"$temporary\": $!\n";
	write_info({ %$values, path => $temporary });
	rename $temporary, "$dir/$name" or die "could not rename \"$temporary\": $!\n";
	flush($dir);
	return;
}

# Until the file that is returned is closed, also by programs that inherit it, no run
# removes the backup.  A backup that is only in the store has no such file.
sub hold_backup
{
	my ($backup) = @_;
	return if !defined $backup->{path};
	my $file = "$backup->{path}/.lock";
	sysopen(my $lock, $file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) or die "could not open file \"$file\": $!\n";
	if (!flock $lock, LOCK_SH | LOCK_NB)
	{
		die $!{EWOULDBLOCK} ? "directory \"$backup->{path}\" is being removed by a run\n" : "could not lock file \"$file\": $!\n";
	}
	fcntl($lock, F_SETFD, 0) or die "could not set flags of file \"$file\": $!\n";
	return $lock;
}

# Removes a backup, complete or not.  The function first removes files that were sent
# elsewhere.
sub remove_backup
{
	my ($backup, $remove_elsewhere) = @_;
	my $path = $backup->{path};
	my $lock;

	# held until this function returns
	if (sysopen $lock, "$path/.lock", O_RDWR | O_NOFOLLOW)
	{
		flock $lock, LOCK_EX | LOCK_NB
		  or die $!{EWOULDBLOCK} ? "the backup is in use by a restore\ndetail: The next run will try to remove the backup again.\n"
		  : "could not lock file \"$path/.lock\": $!\n";
	}
	if ($path !~ /\.partial\z/)
	{
		rename $path, "$path.partial" or die "could not rename directory \"$path\" to \"$path.partial\": $!\n";
		$backup->{path} = $path .= '.partial';
		flush($path =~ s{/[^/]+\z}{}r);
	}
	$remove_elsewhere->($backup) if $backup->{elsewhere};
	remove_tree($path, { error => \my $errors });
	my ($first) = map { %$_ } @{ $errors // [] };
	die "could not remove directory \"$path\": " . join(': ', grep { $_ ne '' } map { %$_ } $errors->[0]) . "\n"
	  if defined $first;
	die "could not remove directory \"$path\"\n" if -e $path;
	return;
}

# Has the last --verify, if any, read the backup and found no damage?  A backup that --check
# only counts has no path yet.
sub is_sound
{
	my ($backup) = @_;
	my $record = defined $backup->{path} ? read_json("$backup->{path}/verified.json") : undef;
	return !$record || $record->{good};
}

# The backups of one folder, the newest first, that need not be kept, because they are
# neither among the newest, of which only sound ones count, nor young.  A backup from the
# future is young: the clock may be wrong.
sub expired
{
	my ($backups, $keep_last, $keep_days) = @_;
	my $newer = 0;
	my @old = grep { my $is_old = $newer >= $keep_last; $newer++ if is_sound($_); $is_old } @$backups;

	return grep { !defined $keep_days || (time_of($_->{name}) // now()) < now() - $keep_days * 86400 } @old;
}

1;
