# Makes the records in the directory of backups again from the records in the store, after
# the directory was lost (--rebuild).

package PardumpBackup::Rebuild;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use PardumpBackup::Elsewhere qw(only_stored note_link recorded_names);
use PardumpBackup::Message qw(inform report caused_by printable counted);
use PardumpBackup::Programs qw(interrupted);
use PardumpBackup::Store qw(database_of backups note_server rebuild_backup);

our @EXPORT_OK = qw(rebuild);

sub title { return '"' . printable(database_of($_[0]{folder}) . "/$_[0]{name}") . '"'; }

# The number of a backup shows its place among the backups of its database.  Dies if it
# contradicts a backup that is already in the directory.
sub check_order
{
	my ($config, $backup, @others) = @_;

	foreach my $other (@others)
	{
		my ($by_number, $by_time) = ($backup->{number} <=> $other->{number}, $backup->{started} <=> ($other->{started} // 0));

		next if $by_number != 0 && $by_number * $by_time >= 0;
		my $shown = title($other) . " in directory \"$config->{directory}\"";
		die(($by_number == 0 ? "backup $shown has the same number\n"
			: $by_number > 0 ? "backup $shown has a lower number, but a later time\n"
			: "backup $shown has a higher number, but an earlier time\n")
			. "detail: Runs have made backups since the record of this backup was lost.\n"
			. "hint: Set \"directory\" to an empty directory, and run \"pg_pardump_backup --rebuild $config->{file}\".\n");
	}
	return;
}

# Makes the record of a backup again that is only in the store.  The next run removes the
# rest of a backup that a run has begun to remove.
sub rebuild_record
{
	my ($config, $backup) = @_;
	my %values = map { $_ => $backup->{$_} } grep { !/^(?:name|folder|store_only|complete|removed)\z/ } keys %$backup;

	check_order($config, $backup, @{ (backups($config->{directory}, $backup->{folder}))[0] }) if !$backup->{removed};
	rebuild_backup($config->{directory}, $backup->{folder}, $backup->{name} . ($backup->{removed} ? '.partial' : ''),
		{ %values, recorded => JSON::PP::true, map { $_ => JSON::PP::true } qw(pipe elsewhere) });
	return;
}

# Makes the records of all backups again that are only in the store.  Nothing in the directory
# is changed.  Returns whether all records could be used.
sub rebuild
{
	my ($config, $claim) = @_;
	my (@rebuilt, @unused, @unread, $failed, %servers);
	my @stored = only_stored($config);

	die "the store contains no backups\n"
	  . 'detail: ' . ($config->{list} ? 'The command of "list" printed no name of a backup.' : 'The index that the command of "fetch" returned names no backup.')
	  . "\nhint: Check that all commands in the configuration use the same location.\n" if !@stored && !recorded_names($config);
	foreach my $backup (sort { $a->{folder} cmp $b->{folder} || ($a->{number} // 0) <=> ($b->{number} // 0) } @stored)
	{
		my $shown = title($backup);

		if (($backup->{complete} || $backup->{removed}) && eval { rebuild_record($config, $backup); 1 })
		{
			inform($backup->{removed} ? "the next run removes the rest of backup $shown" : "rebuilt the record of backup $shown") if $config->{verbose};
			push @rebuilt, $backup if !$backup->{removed};
			next;
		}
		die $@ if interrupted();
		push @{ $backup->{unread} ? \@unread : \@unused }, "$backup->{folder}/$backup->{name}";
		if (!$backup->{complete} && !$backup->{removed} && !defined $backup->{problem})
		{
			report('warning', "backup $shown in the store is incomplete\n"
				  . "detail: The store contains no record of this backup.  Runs do not remove such backups.\n"
				  . "hint: If no other host is making this backup now, remove its files from the store.\n");
			next;
		}
		report('error', caused_by("could not rebuild the record of backup $shown", $backup->{problem} // $@));
		$failed = 1;
	}
	$servers{ join "\n", @$_{qw(system_identifier address)} } = $_ foreach @rebuilt;
	my ($server) = values %servers;
	note_server($config->{directory}, $config->{name}, $server) if keys %servers == 1 && !defined $claim->{system_identifier};
	note_link($config, \@unused, \@unread);
	inform(counted('rebuilt %s record in directory "%s"', 'rebuilt %s records in directory "%s"', scalar @rebuilt, $config->{directory}));
	return !$failed;
}

1;
