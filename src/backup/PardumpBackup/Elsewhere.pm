# The store: the place to which the command of "pipe" sends the files of backups, and from
# which the command of "fetch" returns them.  The store is enough to rebuild the directory
# of backups on another host.
#
# After the archive of a backup, "pipe" gets the backup's record, as a file "backup.json"
# next to the archive's files.  A backup without a record is incomplete.  The names of all
# backups come from the command of "list", or without it from an index, a file that "pipe"
# gets again after each new backup and before each removal.  A run reads the index, and
# adds or removes its own names only: the directory may be empty, or older than the store.
# If a host dies while it writes the index, the second copy remains, which is written last.
# A backup is complete only when both copies name it, so either copy is enough.
# Commands cannot say that a file is missing, so an index that cannot be read is an error;
# only --init writes an index without reading one.
#
# The file ".store" in the directory states that the directory contained all backups of the
# store, except some that --rebuild could not use, and some whose records it could not read.
#
# Everything that comes from the store may be damaged or forged: it is read up to a limit,
# and checked before it is used.

package PardumpBackup::Elsewhere;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

use PardumpBackup::Message qw(report with_detail caused_by printable quoted counted);
use PardumpBackup::Programs qw(interrupted pipe_file fetch_command list_command read_command failure);
use PardumpBackup::Store qw(is_time_name folder_of database_of folders backups unfinished same_server
  noted_server read_json replace_file write_info);

our @EXPORT_OK = qw(fetch_text fetch_into only_stored write_record note_removal init_store link_store note_link recorded_names);

use constant {
	TRIES => 4,
	MAX_RECORD => 64 * 1024,
	MAX_GLOBALS => 256 * 1024 * 1024,
	MAX_NAMES => 64 * 1024 * 1024,
	MAX_FILE => 2 * 1024 * 1024 * 1024,
	MAX_DEPTH => 8,
	FORMAT => 1
};

# The place of the index.  The folder of no database has this name: see folder_of().
my %INDEX = (folder => '=index', name => 'index');

my @INDEX_FILES = ('index.json', 'index_copy.json');

my $RECORD = 'backup.json';

# Seconds after the first failed try, twice as many after each further one: a store that is
# overloaded needs some.  Only tests set them.
my $RETRY_WAIT = $ENV{PG_PARDUMP_BACKUP_RETRY_WAIT} // 1;

sub name_of { return "$_[0]{folder}/$_[0]{name}"; }

sub shown { return '"' . printable(database_of($_[0]{folder}) . "/$_[0]{name}") . '"'; }

# Runs a function until it returns a value, but only a few times: a store may fail for a
# moment.
sub retry
{
	my ($function) = @_;

	foreach my $try (1 .. TRIES)
	{
		my $value = eval { $function->() };
		return $value if defined $value;
		die $@ if interrupted() || $try == TRIES;
		select undef, undef, undef, $RETRY_WAIT * 2**($try - 1);
	}
}

# ---- reading

# False if the command of "fetch" or "list" failed that was called last.  Otherwise, an error
# is about the data that it returned, or a problem on this host.
my $was_read;

# Calls read_command(), and notes whether the command has failed.
sub read_store
{
	my $failed = 0;
	$was_read = 1;
	my $bytes = eval { read_command(@_, failed => \$failed) };
	return $bytes if defined $bytes;
	$was_read = !$failed;
	die $@;
}

sub fetch_once
{
	my ($config, $backup, $name, %how) = @_;
	return read_store('fetch', "could not fetch file \"$name\" from the store", fetch_command($config, $backup, $name), %how);
}

# The value that the function returns for a file of a backup, unless it dies because the
# file is not valid.
sub fetch_checked
{
	my ($config, $backup, $name, $most, $check) = @_;
	my $bytes = fetch_once($config, $backup, $name, most => $most);
	return eval { $check->($bytes) } // die caused_by("file \"$name\" in the store is not valid", $@);
}

# The text of a backup's globals.
sub fetch_text
{
	my ($config, $backup, $name) = @_;
	return retry(sub {
		return fetch_checked($config, $backup, $name, MAX_GLOBALS, sub {
			return $_[0] if $_[0] =~ /^-- PostgreSQL database cluster dump complete$/m;
			die "the file is incomplete\n";
		});
	});
}

# A file of an archive, stored as this local file.
sub fetch_into
{
	my ($config, $backup, $name, $path) = @_;

	retry(sub {
		open my $fh, '>', $path or die "could not create file \"$path\": $!\n";
		fetch_once($config, $backup, $name, most => MAX_FILE, to => $fh);
		close $fh or die "could not write file \"$path\": $!\n";
		return 1;
	});
	return;
}

# An object of this format.
sub read_object
{
	my ($bytes) = @_;
	my $object = eval { JSON::PP->new->utf8->max_depth(MAX_DEPTH)->decode($bytes) };

	die "it is not a JSON object\n" if ref $object ne 'HASH';
	die "the format is unknown\n" if ref $object->{format} || ($object->{format} // '') ne FORMAT;
	return $object;
}

# A name of a folder that folder_of() returns, and the name of a backup.
sub is_folder
{
	my ($folder) = @_;
	return $folder =~ /^[A-Za-z0-9_=][A-Za-z0-9_.=-]{0,254}\z/ && $folder !~ /=00/ && folder_of(database_of($folder)) eq $folder;
}

sub is_name
{
	my ($folder, $name, @more) = split m{/}, $_[0], -1;
	return !@more && defined $name && is_folder($folder) && is_time_name($name);
}

# ---- the names of all backups

# The lines that the command of "list" prints for a folder of the store; "" is the root.
# Each is a name, with a slash at its end if it is a directory and the command knows.
sub list_folder
{
	my ($config, $folder) = @_;
	my $error = $folder eq '' ? 'could not list the directories of databases in the store' : "could not list directory \"$folder\" in the store";
	my @lines = split /\n/, retry(sub { return read_store('list', $error, list_command($config, $folder), most => MAX_NAMES, may_be_empty => 1) });

	foreach my $line (@lines)
	{
		die failure('list', $error, 'invalid', quoted(substr $line, 0, 100)) . "hint: The command must print one name per line, without directories: see \"list\" in pg_pardump_backup(1).\n"
		  if $line =~ m{/.|[\x00-\x1f\x7f]};
	}
	return @lines;
}

sub list_directories
{
	my ($config, $folder) = @_;
	my @lines = list_folder($config, $folder);
	my @directories = map { m{^(.*)/\z} ? $1 : () } @lines;
	return @directories ? @directories : @lines;
}

sub names_of_list
{
	my ($config) = @_;
	my @names;

	foreach my $folder (grep { is_folder($_) } list_directories($config, ''))
	{
		push @names, map { "$folder/$_" } grep { is_time_name($_) } list_directories($config, $folder);
	}
	return @names;
}

sub check_index
{
	my ($config, $bytes) = @_;
	my $index = read_object($bytes);
	my $names = $index->{backups};

	die "the index contains no list of backups\n" if ref $names ne 'ARRAY';
	die "the index is of another configuration\nhint: Give each configuration its own directory in the store.\n" if ref $index->{configuration} || ($index->{configuration} // '') ne $config->{name};
	die "the index contains a name that is not the name of a backup\n" if grep { !defined $_ || ref $_ || !is_name($_) } @$names;
	return $names;
}

# The names in a copy of the index that can be read.  Otherwise dies, with the error of a copy
# that exists, if there is one: $was_read is then true.
sub read_index
{
	my ($config) = @_;
	my ($of_copy, $of_fetch);

	foreach my $file (@INDEX_FILES)
	{
		my $names = eval { fetch_checked($config, \%INDEX, $file, MAX_NAMES, sub { check_index($config, $_[0]) }) };
		return $names if $names;
		$was_read ? ($of_copy //= $@) : ($of_fetch //= $@);
	}
	$was_read = defined $of_copy;
	die $of_copy // $of_fetch;
}

sub names_of_index
{
	my ($config) = @_;
	return @{ retry(sub { return read_index($config) }) };
}

sub names
{
	my ($config) = @_;
	my %names = map { $_ => 1 } $config->{list} ? names_of_list($config) : names_of_index($config);
	return sort keys %names;
}

# The names of the directory's complete backups whose records were stored.
sub recorded_names
{
	my ($config) = @_;
	my $directory = $config->{directory};
	return map { map { name_of($_) } grep { $_->{elsewhere} && $_->{recorded} } @{ (backups($directory, $_))[0] } } folders($directory);
}

# The names of the directory's backups, complete or not.
sub local_names
{
	my ($config) = @_;
	my $directory = $config->{directory};
	return map { my $folder = $_; map { name_of($_) => 1 } @{ (backups($directory, $folder))[0] }, unfinished($directory, $folder) } folders($directory);
}

# ---- records

sub is_number { return defined $_[0] && !ref $_[0] && $_[0] =~ /^\d{1,12}\z/; }

# The server of a record, as Programs.pm writes it.
sub is_server
{
	my ($record) = @_;
	my ($identifier, $address) = @$record{qw(system_identifier address)};
	return !(grep { !defined $_ || ref $_ } $identifier, $address)
	  && $identifier =~ /^\d{0,20}\z/ && $address =~ /^[ -~]{0,1024}\z/;
}

# What a record says of the snapshot of all databases: an object of plain values.
sub is_snapshot
{
	my ($snapshot) = @_;
	return !defined $snapshot || ref $snapshot eq 'HASH' && !grep { ref } values %$snapshot;
}

# The values of a record that this backup may have.
sub check_record
{
	my ($config, $backup, $bytes) = @_;
	my $record = read_object($bytes);
	my ($folder, $name, $configuration, $run, $globals) = map { ref ? '' : $_ // '' } @$record{qw(folder time configuration run globals)};

	die "the record does not name a backup\n" if !is_name("$folder/$name");
	die 'the record is of backup ' . shown({ folder => $folder, name => $name }) . "\n" if "$folder/$name" ne name_of($backup);
	die 'the record is of configuration ' . quoted(substr $configuration, 0, 100) . "\nhint: Give each configuration its own directory in the store.\n" if $configuration ne $config->{name};
	foreach my $key (qw(number started finished), map { defined $record->{$_} ? $_ : () } qw(verified major))
	{
		die "the value of \"$key\" is not valid\n" if !is_number($record->{$key});
	}
	die "the value of \"run\" is not valid\n" if !is_time_name($run);
	die "the value of \"globals\" is not valid\n" if defined $record->{globals} && $globals !~ /^globals(?:_later)?\.sql\z/;
	die "the value of \"cluster_snapshot\" is not valid\n" if !is_snapshot($record->{cluster_snapshot});
	die "the value of \"removed\" is not valid\n" if defined $record->{removed} && (ref $record->{removed} || $record->{removed} ne '1');
	die "the server is not valid\n" if !is_server($record);
	return { map { defined $record->{$_} ? ($_ => $record->{$_}) : () }
		  qw(number run started finished verified major globals cluster_snapshot system_identifier address removed) };
}

# Dies if the directory belongs to another server than the record.
sub check_server
{
	my ($config, $record) = @_;
	my $server = noted_server($config->{directory});

	die "the record is from another server than directory \"$config->{directory}\"\n"
	  . "detail: The record is from the server with system identifier $record->{system_identifier} at address \"$record->{address}\".\n"
	  . "hint: To use this backup, set \"directory\" to an empty directory, and run \"pg_pardump_backup --rebuild $config->{file}\".\n"
	  if defined $server->{system_identifier} && !same_server($record, $server);
	return;
}

# Has the store no record of this backup?  Only the command of "list" can answer.  "pipe" may
# add other text to the name of the record.
sub lacks_record
{
	my ($config, $backup) = @_;
	return $config->{list} && !(grep { /\Q$RECORD\E/ } list_folder($config, name_of($backup)));
}

# A backup of the store, with the values of its record: "complete", incomplete, "removed" if
# a run has begun to remove it, or with the "problem" of its record.
sub read_stored
{
	my ($config, $name) = @_;
	my %backup;

	@backup{qw(folder name)} = split m{/}, $name;
	@backup{qw(store_only pipe elsewhere complete)} = (1, 1, 1, 0);
	my $read = sub {
		return fetch_checked($config, \%backup, $RECORD, MAX_RECORD, sub {
			my $record = check_record($config, \%backup, $_[0]);
			check_server($config, $record);
			return $record;
		});
	};
	my $record = eval { $read->() };
	if (!$record && !interrupted())
	{
		$record = eval { lacks_record($config, \%backup) } ? {} : eval { retry($read) };
	}
	my $error = $@;
	die $error if interrupted();
	return { %backup, problem => $error, unread => !$was_read } if !$record;
	return { %backup, %$record, complete => %$record && !$record->{removed} ? 1 : 0 };
}

# The backups of the store that are not in the directory.  Dies if their names cannot be
# read.
sub only_stored
{
	my ($config) = @_;
	my %local = local_names($config);
	return map { read_stored($config, $_) } grep { !$local{$_} } names($config);
}

# ---- writing

sub encode { return JSON::PP->new->ascii->canonical->pretty->encode({ %{ $_[0] }, format => FORMAT }); }

# Gives a file to "pipe", which may overwrite it.
sub put
{
	my ($config, $place, $name, $text) = @_;
	retry(sub { pipe_file($config, $place, $name, $text); return 1 });
	return;
}

# Dies if "fetch" does not return a file that "pipe" has just stored.
sub check_stored
{
	my ($config, $place, $name, $text) = @_;
	die "the command of \"fetch\" did not return file \"$name\" as the command of \"pipe\" stored it\nhint: Check that both commands use the same location.\n"
	  if retry(sub { return fetch_once($config, $place, $name, most => MAX_RECORD) }) ne $text;
	return;
}

# Gives the record of a backup to "pipe".  Returns the text of the record.
sub put_record
{
	my ($config, $backup, %more) = @_;
	my %record = map { defined $backup->{$_} ? ($_ => $backup->{$_}) : () }
	  qw(number run started finished verified major globals cluster_snapshot system_identifier address folder);

	my $text = encode({ %record, %more, configuration => $config->{name}, time => $backup->{name} });
	put($config, $backup, $RECORD, $text);
	return $text;
}

sub put_index
{
	my ($config, @names) = @_;
	my $text = encode({ configuration => $config->{name}, backups => [ sort @names ] });
	put($config, \%INDEX, $_, $text) foreach @INDEX_FILES;
	return;
}

# Has a function change the names in the index, which it gets as the keys of a hash.
sub change_index
{
	my ($config, $change) = @_;
	return if $config->{list};
	my %names = map { $_ => 1 } names_of_index($config);
	my $before = join ' ', sort keys %names;

	$change->(\%names);
	put_index($config, keys %names) if join(' ', sort keys %names) ne $before;
	return;
}

# Writes the record of a backup whose other files are in the store.
sub write_record
{
	my ($config, $backup) = @_;

	# before it is there, so that a removal knows it
	$backup->{recorded} = JSON::PP::true;
	write_info($backup);
	my $text = put_record($config, $backup);
	return if !$config->{store};
	# before old backups are removed
	check_stored($config, $backup, $RECORD, $text);
	change_index($config, sub { $_[0]{ name_of($backup) } = 1 });
	return;
}

# Notes in the store that the files of a backup are going to be removed.  The command of
# "remove" may remove some of them and fail; its record may then still be there, and must not
# be that of a complete backup.
sub note_removal
{
	my ($config, $backup) = @_;
	return if !$config->{elsewhere} || !$backup->{recorded};

	put_record($config, $backup, removed => 1) if @{ $config->{remove} };
	change_index($config, sub { delete $_[0]{ name_of($backup) } }) if $config->{store};
	return;
}

sub link_file { return "$_[0]{directory}/.store"; }

# The directory contains all backups of the store, except those of these names, which --rebuild
# could not use, or not read.
sub note_link
{
	my ($config, $unused, $unread) = @_;
	replace_file(link_file($config), encode({ pipe => $config->{pipe}, unused => $unused, unread => $unread }));
	return;
}

sub read_link
{
	my ($config) = @_;
	my $link = read_json(link_file($config)) // {};
	return ($link->{pipe} // '', map { ref $link->{$_} eq 'ARRAY' ? $link->{$_} : [] } qw(unused unread));
}

# Makes the index of a store that has none, with the backups whose records are in the
# directory.  Only a user knows that a store is new.  But if "fetch" returns another file that
# "pipe" has just stored, and then no index, it is not the store that fails.
sub init_store
{
	my ($config) = @_;
	my $text = encode({ configuration => $config->{name} });
	my ($pipe, $unused, $unread) = read_link($config);
	my @names = (recorded_names($config), @$unused, @$unread);

	# later runs would call "remove" here for backups that are elsewhere
	die "directory \"$config->{directory}\" contains backups of another store\n"
	  . 'detail: The command of "pipe" has changed; it was ' . quoted($pipe) . ".\n"
	  . "hint: If the new command leads to another store, set \"directory\" to an empty directory.  Otherwise, run --init with the former command, and then change it.\n"
	  if @names && $pipe ne '' && $pipe ne $config->{pipe};
	put($config, \%INDEX, 'probe.json', $text);
	check_stored($config, \%INDEX, 'probe.json', $text);
	my @present = eval { names_of_index($config) };
	my $error = $@;

	die counted("the store already has an index, which names %s backup\n", "the store already has an index, which names %s backups\n", scalar @present)
	  . "hint: To recreate the records of these backups in another directory, run \"pg_pardump_backup --rebuild $config->{file}\".\n"
	  if $error eq '';
	die $error if interrupted() || $was_read;

	put_index($config, @names);
	note_link($config, $unused, $unread);
	return @names;
}

# The names for a run or --check.
sub names_for_run
{
	my ($config) = @_;
	my @names = eval { names($config) };

	return @names if $@ eq '';
	die $@ if $config->{list} || interrupted() || $was_read;
	die caused_by('could not read the index of the store', $@) . "hint: If no backup was ever made in this store, run \"pg_pardump_backup --init $config->{file}\" once.\n";
}

# Backups of the store that are newer than all backups of their databases in the directory:
# the directory was replaced by an older copy.  And backups whose records --rebuild could not
# read: the store may have failed for a moment.
sub warn_of_unknown
{
	my ($config, $known, $unread, @names) = @_;
	my %local = local_names($config);
	my %unread = map { $_ => 1 } @$unread;
	my @unknown = grep { !$local{$_} && !$known->{$_} } @names;
	my %newest;

	foreach my $backup (sort keys %local)
	{
		my ($folder, $name) = split m{/}, $backup;
		$newest{$folder} = $name;
	}
	my @lost = grep { my ($folder, $name) = split m{/}; $unread{$_} || $name gt ($newest{$folder} // '') } @unknown;
	report('warning', "the store contains backups whose records are not in directory \"$config->{directory}\"\n"
		  . counted("detail: %s backup, for example \"%s\".\n", "detail: %s backups, for example \"%s\".\n", scalar @lost, $lost[-1])
		  . "hint: Run \"pg_pardump_backup --rebuild $config->{file}\".\n") if @lost;
	return;
}

# Looks for backups of the directory that the store does not contain.  If it contains none of
# them, "list" probably prints something else, or the commands use another store.  With
# "remove = none", the store may remove backups first, even all of them.
sub check_missing
{
	my ($config, @names) = @_;
	my %stored = map { $_ => 1 } @names;
	# a folder that cannot be read does not prevent a run, which reports it elsewhere
	my @recorded = eval { recorded_names($config) };
	my @missing = grep { !$stored{$_} } @recorded;
	my ($n, $of, $removes) = (scalar @missing, scalar @recorded, scalar @{ $config->{remove} });

	return if !$n || $n < $of && !$removes;
	my $text = "the store lacks backups whose records are in directory \"$config->{directory}\"\n"
	  . "detail: Missing backups: $n of $of, for example \"$missing[0]\".\n"
	  . "hint: Check the commands in the configuration.  If the store was emptied, or \"pipe\" leads to another one now, set \"directory\" to an empty directory.\n";
	die $text if $n == $of && $removes;
	report('warning', $text);
	return;
}

# Returns the names of all backups in the store.  Dies if they cannot be read, except for a run
# in a directory that is linked with the store, if "list" fails.  Also dies for a directory that
# is not yet linked, if it does not know all names: no run would ever remove these backups.
# With $changes, which only a run has, links the directory with the store.
sub link_store
{
	my ($config, $changes) = @_;
	my ($pipe, $unused, $unread) = read_link($config);

	return if !$config->{store};
	my %known = map { $_ => 1 } @$unused;
	my @names = eval { names_for_run($config) };
	if ($@ ne '')
	{
		# a directory that knows all backups is enough to find a name that none of them has
		die $@ if !$changes || interrupted() || $pipe ne $config->{pipe} || !$config->{list} || $was_read;
		report('warning', with_detail(caused_by('could not read the names of the backups in the store', $@), 'No old backup is removed in this run.'));
		$config->{names_unread} = 1;
		return (eval { recorded_names($config) }, @$unused, @$unread);
	}
	check_missing($config, @names);
	if ($pipe eq $config->{pipe})
	{
		# a folder that cannot be read does not prevent a run, which reports it elsewhere
		eval { warn_of_unknown($config, \%known, $unread, @names) };
		return @names;
	}
	%known = (%known, local_names($config));
	my @unknown = grep { !$known{$_} } @names;
	die "the store contains backups whose records are not in directory \"$config->{directory}\"\n"
	  . counted("detail: %s backup, for example \"%s\".\n", "detail: %s backups, for example \"%s\".\n", scalar @unknown, $unknown[-1])
	  . "hint: Run \"pg_pardump_backup --rebuild $config->{file}\".\n"
	  if @unknown;
	note_link($config, $unused, $unread) if $changes;
	return @names;
}

1;
