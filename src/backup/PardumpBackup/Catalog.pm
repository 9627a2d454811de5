# All backups of a directory and of its store, with the run that made each backup, the time
# of its last verification, and how long it is kept; and the search for a backup by a name
# that a user typed.
#
# A run makes one backup of each database.  The run's name is the UTC time of its
# start, in "run" of "backup.json".  A backup without "run" is from a version before
# 1.0.0, and counts as a run of its own.
#
# The last verification after the run is in "verified.json".  It is not part of
# "backup.json", so --verify needs no lock, which would keep a run from starting.

package PardumpBackup::Catalog;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use PardumpBackup::Elsewhere qw(only_stored);
use PardumpBackup::Message qw(report cause caused_by);
use PardumpBackup::Programs qw(interrupted);
use PardumpBackup::Store qw(now time_name time_of is_time_name folder_of database_of folders backups unfinished
  belongs_to noted_server is_sound read_json replace_file);

our @EXPORT_OK = qw(catalog choose_run_name find_backups newest_backups record_verification);

# The time and the result of the last verification; nothing if there was none.
# Before its name is final, pg_pardump verifies each backup that is not given to commands.
sub verification
{
	my ($backup) = @_;
	my $record = defined $backup->{path} ? read_json("$backup->{path}/verified.json") : {};
	return { time => $record->{time}, map { $_ => $record->{$_} ? 1 : 0 } qw(good unreadable) } if ($record->{time} // '') =~ /^\d+\z/;
	my $time = $backup->{verified} // ($backup->{pipe} ? '' : $backup->{finished});
	return $time =~ /^\d+\z/ ? { time => $time, good => 1, unreadable => 0 } : undef;
}

# A backup that was unreadable is not good, either: an encrypted file that is damaged cannot be
# decrypted.  A backup that is only in the store has no place for the record.
sub record_verification
{
	my ($backup, $good, $unreadable) = @_;
	my %record = (good => $good, unreadable => $unreadable);
	return if !defined $backup->{path};
	return replace_file("$backup->{path}/verified.json",
		JSON::PP->new->canonical->pretty->encode({ time => now(), map { $_ => $record{$_} ? JSON::PP::true : JSON::PP::false } keys %record }));
}

sub described
{
	my ($backup, %more) = @_;
	my $run = !ref $backup->{run} && is_time_name($backup->{run} // '') ? $backup->{run} : undef;

	return {
		%$backup, %more,
		database => database_of($backup->{folder}),
		run => $run // database_of($backup->{folder}) . "/$backup->{name}",
		started => ($backup->{started} // '') =~ /^\d+\z/ ? $backup->{started} : time_of($backup->{name}) // 0,
		bytes => !$backup->{pipe} && ($backup->{bytes} // '') =~ /^\d+\z/ ? $backup->{bytes} : undef,
		archive => defined $backup->{path} ? "$backup->{path}/dump" : undef };
}

# All backups of the directory and of the store, complete or not, in the order of their
# runs; the paths of directories that look like a backup and are not; and why the store
# could not be read, if so.  A backup with a "problem" is in the store, but its record
# cannot be used.  Backups that a run has begun to remove from the store are not among them.
#
# "keeps" contains the conditions under which a run removes a backup: "newer" more
# backups of the database, and the time "until".  "keeps" is undefined if no run removes
# the backup, because the backup is from another server, or only in the store.
sub catalog
{
	my ($config) = @_;
	my $server = noted_server($config->{directory});
	my (@found, @strange);

	foreach my $folder (folders($config->{directory}))
	{
		my ($good, $wrong) = backups($config->{directory}, $folder);
		my $newer = 0;

		push @strange, @$wrong;
		foreach my $backup (@$good)
		{
			my %keeps = (newer => $newer < $config->{keep_last} ? $config->{keep_last} - $newer : 0);
			my $own = belongs_to($backup, $server);

			$keeps{until} = (time_of($backup->{name}) // now()) + $config->{keep_days} * 86400 if defined $config->{keep_days};
			push @found, described($backup, complete => 1, verified => verification($backup), keeps => $own ? \%keeps : undef);
			$newer++ if $own && is_sound($backup);
		}
		push @found, map { described($_, complete => 0) } unfinished($config->{directory}, $folder);
	}
	my $failure;
	if ($config->{store} && !eval { push @found, map { described($_, $_->{complete} ? (verified => verification($_)) : ()) } grep { !$_->{removed} } only_stored($config); 1 })
	{
		$failure = $@;
		die $failure if interrupted();
	}
	my %began;
	foreach my $backup (@found)
	{
		my $began = \$began{ $backup->{run} };
		$$began = $backup->{started} if !defined $$began || $$began > $backup->{started};
	}
	return ([ sort { $began{ $a->{run} } <=> $began{ $b->{run} } || $a->{run} cmp $b->{run} || $a->{folder} cmp $b->{folder} } @found ],
		\@strange, $failure);
}

# A name that no run with remaining backups has, and no backup in the store, whose names are
# @stored: the time, or the next free one if the clock was set back.  A folder that cannot be
# read does not prevent a run; the run reports it elsewhere.
sub choose_run_name
{
	my ($directory, @stored) = @_;
	my $time = now();
	my %used = map { s/.*\///r => 1 } @stored;

	foreach my $folder (folders($directory))
	{
		eval { $used{ $_->{run} // '' } = 1 foreach @{ (backups($directory, $folder))[0] }, unfinished($directory, $folder); 1 } or next;
	}
	$time++ while $used{ time_name($time) };
	return time_name($time);
}

# Is a backup of a database newer than another one?  A directory that was lost, or replaced by
# an older copy, begins again with numbers that backups in the store already have.
sub is_newer
{
	my ($backup, $other) = @_;
	return $backup->{store_only} || $other->{store_only} ? $backup->{name} gt $other->{name} : $backup->{number} > $other->{number};
}

# The newest complete backup of each database.  If a backup with an unusable record may be
# newer, that backup is returned, and "problem" states that the newest one is not known.
sub newest_of
{
	my (@all) = @_;
	my %newest;

	foreach my $backup (grep { $_->{complete} } @all)
	{
		my $newest = \$newest{ $backup->{folder} };
		$$newest = $backup if !$$newest || is_newer($backup, $$newest);
	}
	foreach my $backup (grep { defined $_->{problem} } @all)
	{
		my $newest = \$newest{ $backup->{folder} };
		next if $$newest && $$newest->{name} gt $backup->{name};
		$$newest = { %$backup, problem => "the latest backup of database \"$backup->{database}\" is not known\n"
			  . "detail: The record of backup \"$backup->{database}/$backup->{name}\" in the store cannot be used.\n" . cause($backup->{problem}) };
	}
	return map { $newest{$_} } sort keys %newest;
}

# The newest backups, for a caller that handles each "problem".  Dies if the store cannot
# be read.
sub newest_backups
{
	my ($config) = @_;
	my ($all, undef, $failure) = catalog($config);

	die $failure if defined $failure;
	return newest_of(@$all);
}

# The complete backups that a user specified: by the name of a run, as "latest" (the newest
# of each database), by DATABASE/TIME, or by the path of a backup or of its archive.  Dies
# if no backup matches, or if the latest backup of a database is not known; with a database,
# only if it is that one.
sub find_backups
{
	my ($config, $typed, $database) = @_;
	my ($all, undef, $failure) = catalog($config);
	my @complete = grep { $_->{complete} } @$all;
	my @found;

	if ($typed eq 'latest')
	{
		die $failure if defined $failure;
		@found = newest_of(@$all);
		my ($unknown) = grep { defined $_->{problem} && (!defined $database || $_->{database} eq $database) } @found;
		die "$unknown->{problem}hint: Specify a backup by its name.\n" if $unknown;
		@found = grep { !defined $_->{problem} } @found;
	}
	elsif (my ($database, $name) = $typed =~ m{^([^/].*)/([^/]+)\z}s)
	{
		# the name of the database, or else the name of its folder
		@found = grep { $_->{name} eq $name && $_->{database} eq $database } @complete;
		@found = grep { $_->{name} eq $name && $_->{folder} eq $database } @complete if !@found;
	}
	else
	{
		@found = grep { $_->{run} eq $typed } @complete;
	}
	@found = grep { defined $_->{path} && (same_directory($_->{path}, $typed) || same_directory($_->{archive}, $typed)) } @complete if !@found;
	report('warning', $failure) if @found && defined $failure;
	return @found if @found;
	die $failure if defined $failure;
	my ($unusable) = grep { defined $_->{problem} && "$_->{database}/$_->{name}" eq $typed } @$all;
	die caused_by("the record of backup \"$typed\" in the store cannot be used", $unusable->{problem}) if $unusable;
	die "there are no complete backups in directory \"$config->{directory}\"\n"
	  . "hint: To make a backup, run \"pg_pardump_backup $config->{file}\".\n" if $typed eq 'latest';
	die "backup \"$typed\" is not complete\ndetail: A run is making this backup, or was stopped before the backup was complete.\n"
	  . "hint: To list the backups, run \"pg_pardump_backup --list $config->{file}\".\n"
	  if grep { !$_->{complete} && $_->{run} eq $typed } @$all;
	die "could not find backup \"$typed\" in directory \"$config->{directory}\"\n"
	  . "detail: A backup is specified by a name that --list prints, by DATABASE/TIME, by a path, or as \"latest\".\n"
	  . "hint: To list the backups, run \"pg_pardump_backup --list $config->{file}\".\n";
}

sub same_directory
{
	my ($one, $other) = @_;
	my @one = stat $one or return;
	my @other = stat $other or return;
	return $one[0] == $other[0] && $one[1] == $other[1];
}

1;
