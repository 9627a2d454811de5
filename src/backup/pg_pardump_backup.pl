#!/usr/bin/perl
#
# pg_pardump_backup: back up databases with pg_pardump, as a configuration file
# specifies, and remove old backups.  Main path: back_up() below.

use strict;
use warnings;

use lib '@LIBDIR@';

use File::Temp;
use Getopt::Long qw(GetOptionsFromArray);
use List::Util qw(min sum0);
use PardumpBackup::Check qw(check_database count_expired print_sums report_verdict);
use PardumpBackup::Catalog qw(catalog choose_run_name find_backups record_verification);
use PardumpBackup::Config qw(read_config);
use PardumpBackup::Drill qw(restore_test);
use PardumpBackup::Elsewhere qw(write_record note_removal init_store link_store);
use PardumpBackup::Listing qw(print_table print_json print_verified name_of size_text age_text elapsed_text);
use PardumpBackup::Message qw(inform show report with_detail cause caused_by messages_of read_events printable quoted counted first_names duration_text option_error show_progress
  clear_progress end_progress progress_of_line progress_lines);
use PardumpBackup::Metrics qw(write_metrics);
use PardumpBackup::Programs qw(catch_signals interrupted find_programs list_databases read_server dump_globals
  same_globals shell_quoted pipe_file dump_options dump_with_pg_pardump verify_archive target_database run_pg_parrestore run_command);
use PardumpBackup::Rebuild qw(rebuild);
use PardumpBackup::Snapshot qw(check_snapshot take_snapshot is_kept databases_of snapshot_options is_template release_database end_snapshot is_in_snapshot);
use PardumpBackup::Store qw(now time_name check_store claim_store note_server lock_store folder_of database_of folders backups
  unfinished belongs_to adopt_backup same_server begin_backup stored_bytes finish_backup replace_globals hold_backup
  remove_backup is_sound expired write_file);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use constant {
	SUCCESS => 0,
	BACKUP_FAILED => 1,
	CONFIGURATION_WRONG => 2,
	REMOVAL_FAILED => 3,
	LOCKED => 4,
	OTHER_SERVER => 5
};

# Exit codes of pg_pardump --verify: at least one file is damaged; or only commands failed.
use constant { VERIFY_DAMAGED => 1, VERIFY_UNREAD => 75 };

# How often roles may change while the snapshot of all databases is taken.
use constant SNAPSHOT_TRIES => 5;

my $HELP = <<'END';
pg_pardump_backup backs up PostgreSQL databases with pg_pardump, and removes old
backups.

Usage:
  pg_pardump_backup [OPTION]... CONFIGURATION
  pg_pardump_backup --list [--json] CONFIGURATION
  pg_pardump_backup --verify [BACKUP] CONFIGURATION
  pg_pardump_backup --restore BACKUP [DATABASE] [--to=CONNINFO] CONFIGURATION
  pg_pardump_backup --restore-test CONFIGURATION
  pg_pardump_backup --check CONFIGURATION
  pg_pardump_backup --adopt CONFIGURATION
  pg_pardump_backup --init CONFIGURATION
  pg_pardump_backup --rebuild CONFIGURATION

Actions (at most one; without any, make backups):
  -c, --check              check prerequisites
  -l, --list               list the backups; with -v, a line for each database,
                           with the path of its archive
  --restore BACKUP [DATABASE]
                           restore a database from a backup; without --to, the
                           database is created
  --restore-test           as root: restore the newest backups into a temporary
                           server
  --verify [BACKUP]        verify a backup, or all backups

Actions after the server, the directory or the store was replaced:
  --adopt                  assign all backups in the directory to the current
                           server
  --init                   create the index of a new store, before its first
                           backup
  --rebuild                recreate the directory's records of backups from the
                           store, after the directory was lost

Options:
  --json                   with --list: print JSON
  --to=CONNINFO            with --restore: restore into this existing database
  -v, --verbose            report each step
  -V, --version            output version information, then exit
  -?, --help               show this help, then exit

CONFIGURATION is a file with lines of the form "key = value", which the manual
page pg_pardump_backup(1) describes.  BACKUP is a name that --list prints,
DATABASE/TIME, the path of a backup, or "latest".  The store is where the
command of the key "pipe" stores backups outside of the directory.

Exit codes:
  0  success
  1  a backup, a verification, a restore or a restore test failed
  2  the configuration is wrong
  3  all backups succeeded, but old backups could not be removed
  4  another run is active
  5  all backups succeeded, but the directory contains backups of another
     server, and no backup was removed

Examples:
  pg_pardump_backup --check /etc/pg_pardump/nightly.conf
  pg_pardump_backup /etc/pg_pardump/nightly.conf
  pg_pardump_backup --list /etc/pg_pardump/nightly.conf
  pg_pardump_backup --restore latest shop /etc/pg_pardump/nightly.conf
  sudo pg_pardump_backup --restore-test /etc/pg_pardump/nightly.conf

See pg_pardump_backup(1) for all options and keys in detail.
For help with a problem, see the section "Getting help" of README.md.
END

my $NOT_ROOT = <<'END';
option --restore-test requires root
detail: It runs a server as the user of drill_user, and pg_parrestore as the owner of the backups.
hint: Run the command with sudo, or start the unit pg_pardump_restore_test@NAME of systemd.
END

my $NO_DATABASE = <<'END';
there is no database to back up
detail: Each database is named by exclude_database, or does not allow connections.
hint: Correct "database" and "exclude_database" in the configuration.
END

my $config;

# The snapshot that this run keeps for all databases; undefined without cluster_snapshot.
my $snapshot;

# The names of all backups that are in the store when a run begins.
my @stored;

# How many old backups of databases this run has removed.
my $n_removed = 0;

# "[1/2] shop" while a backup is made on a terminal; undefined with -v or without a terminal.
my $label;

sub complain { return report('error', $_[0]); }

sub title { return '"' . name_of($_[0]) . '"'; }

# ---- a backup of one database

# The command of "remove" removes files that were sent elsewhere.
sub remove_any
{
	my ($backup) = @_;
	my $shown = name_of($backup);

	inform("removing backup \"$shown\"") if $config->{verbose};
	return 1 if eval {
		remove_backup($backup, sub {
			die "\"remove\" is not set in the configuration\n"
			  . "detail: The command of \"pipe\" stored the files of this backup elsewhere.\n"
			  . "hint: Keep \"remove\" in the configuration as long as there are such backups.\n"
			  if !$config->{remove};
			note_removal($config, $backup);
			run_command($config, 'remove', $backup) if @{ $config->{remove} };
		});
		1;
	};
	complain(caused_by("could not remove backup \"$shown\"", $@));
	return 0;
}

# If pg_pardump cannot write the file, it warns, and makes the dump.  Names of folders
# do not contain colons.
sub metrics_options
{
	my ($backup) = @_;
	return if !defined $config->{metrics};
	return ("--metrics=$config->{metrics}/pg_pardump_dump_$config->{name}:$backup->{folder}.prom",
		"--metrics-label=config=$config->{name}");
}

# The page of the backup, with the last dumps of its database.  Their records are next
# to the backups, so they remain when a backup is removed.
sub report_options
{
	my ($backup) = @_;
	return ("--report=$backup->{path}/report.html", "--report-history=$config->{directory}/$backup->{folder}/.history");
}

# Gives the globals of a new backup to the command of "pipe".  Roles that were created since
# the first dump of the globals may own objects in the dump of the database.  A file must not
# be written twice, so the later globals have another name.
sub pipe_later_globals
{
	my ($backup, $globals) = @_;
	my $later = dump_globals($config);

	return if same_globals($globals, $later);
	$backup->{globals} = 'globals_later.sql';
	pipe_file($config, $backup, $backup->{globals}, $later);
	return;
}

# How to run a program that works on the current backup, and options for the program.
sub shown
{
	my ($verb, @options) = @_;
	return defined $label ? ({ lines => progress_lines($label, $verb) }, @options) : {};
}

# Makes and verifies the files of a backup, in the directory that will become it.
sub fill_backup
{
	my ($backup, $database, $previous, $globals) = @_;
	my $dump = "$backup->{path}/dump";

	if (defined $config->{pipe} && !$config->{elsewhere})
	{
		mkdir $dump, 0700 or die "could not create directory \"$dump\": $!\n";
	}
	if (defined $globals)
	{
		$backup->{globals} = 'globals.sql' if defined $config->{pipe};
		defined $config->{pipe} ? pipe_file($config, $backup, $backup->{globals}, $globals)
		  : write_file("$backup->{path}/globals.sql", $globals);
	}
	$backup->{cluster_snapshot} = $snapshot->{record} if $snapshot;
	dump_with_pg_pardump($config, 'pg_pardump', $database, shown('dumping', '--progress'), $snapshot ? snapshot_options($snapshot, $database) : (),
		dump_options($config, $backup, $previous), metrics_options($backup), report_options($backup));
	verify_archive($config, $backup, shown('verifying', '--progress'), report_options($backup)) if !defined $config->{pipe};
	# commands write messages
	clear_progress();
	pipe_later_globals($backup, $globals) if defined $config->{pipe} && defined $globals && !$snapshot;
	run_command($config, 'verify_command', $backup, defined $label ? { lines => progress_lines($label, 'running verify_command', 1) } : {}) if $config->{verify_command};
	clear_progress();
	$backup->{verified} = now() if !defined $config->{pipe} || $config->{verify_command};
	return;
}

sub warn_of_strange
{
	report('warning', "directory \"$_\" has the name of a backup, but is not a backup\n"
		  . "detail: Its backup.json or dump/toc.dat is missing or not valid, so no run removes the directory.\n") foreach @_;
	return;
}

# The backup whose files an incremental dump reuses; nothing if there is none.  A command that
# copies a file does not read it, so a backup that may be damaged is not reused.  Files in the
# directory are compared before they are linked.
sub previous_of
{
	my ($good, $server) = @_;
	my ($newest) = grep { !$_->{pipe} == !defined $config->{pipe} && belongs_to($_, $server) } @$good;

	return $newest if !$config->{incremental} || !$newest || !$newest->{pipe} || is_sound($newest);
	report('warning', 'the backup of database ' . quoted(database_of($newest->{folder})) . " cannot be incremental\n"
		  . 'detail: The last verification of the previous backup ' . title($newest) . " failed, so all rows are dumped.\n"
		  . "hint: If the store failed during the verification, run \"pg_pardump_backup --verify $config->{file}\" again.\n");
	return;
}

# Returns the backup.  Dies if it fails, and leaves nothing of it.  The second attempt does not
# depend on the commands that return and copy files of the previous backup.
sub back_up_database
{
	my ($database, $server, $run, $globals, $is_second) = @_;
	my $folder = folder_of($database);
	my ($good, $strange) = backups($config->{directory}, $folder);

	inform('backing up database ' . quoted($database)) if $config->{verbose};
	warn_of_strange(@$strange);
	my ($future) = sort { $b->{name} cmp $a->{name} } grep { $_->{name} gt time_name(now()) } @$good;
	report('warning', 'backup ' . title($future) . " has a time in the future\n"
		  . 'detail: The clock was set back, or was wrong when the backup was made.'
		  . (defined $config->{keep_days} ? counted("\ndetail: The backup is kept until at least %s day after its time.",
				"\ndetail: The backup is kept until at least %s days after its time.", $config->{keep_days}) : '')
		  . "\nhint: Check the clock of this machine.\n") if $future;

	my $backup = begin_backup($config->{directory}, $folder, $server, $run, \@stored,
		pipe => defined $config->{pipe}, elsewhere => defined $config->{pipe} && $config->{remove});
	my $previous = defined $config->{pipe} && $is_second ? undef : previous_of($good, $server);
	return $backup if eval {
		$backup->{major} = $server->{major} if defined $config->{pipe};
		fill_backup($backup, $database, $previous, $globals);
		$backup->{bytes} = stored_bytes($backup->{path});
		$backup->{finished} = now();
		write_record($config, $backup) if $config->{elsewhere};
		finish_backup($backup);
		1;
	};
	my $error = $@;
	remove_any($backup);
	die $error;
}

# ---- a run

sub databases
{
	my %left_out = map { $_ => 1 } @{ $config->{exclude_database} // [] };
	return grep { !$left_out{$_}++ } @{ $config->{database} } if $config->{database};
	my ($open, $invalid, $closed) = list_databases($config);

	report('warning', 'skipping database ' . quoted($_) . ", which an interrupted DROP DATABASE left invalid\nhint: Run DROP DATABASE for this database again.\n")
	  foreach grep { !$left_out{$_} } @$invalid;
	report('warning', 'skipping database ' . quoted($_) . ", which does not allow connections\nhint: To avoid this warning, name the database in exclude_database.\n")
	  foreach grep { !$left_out{$_} } @$closed;
	return grep { !$left_out{$_} } @$open;
}

# Backups that unfinished runs left; all backups of other servers, unfinished ones
# included; and whether every folder could be read.
sub survey
{
	my ($server) = @_;
	my (@unfinished, @others);
	my $complete = 1;

	foreach my $folder (folders($config->{directory}))
	{
		next if eval {
			my ($good) = backups($config->{directory}, $folder);
			my @left = unfinished($config->{directory}, $folder);
			push @unfinished, @left;
			push @others, grep { !belongs_to($_, $server) } @$good, grep { defined $_->{started} } @left;
			1;
		};
		complain($@);
		$complete = 0;
	}
	return (\@unfinished, \@others, $complete);
}

# The system identifier and the address of a server, for messages.
sub identity
{
	my ($server) = @_;
	return map { ($_ // '') eq '' ? 'unknown' : tr/ -~//cdr } @$server{qw(system_identifier address)};
}

sub unidentified
{
	my $role = $config->{username} // 'ROLE';
	return "the server cannot be identified\ndetail: The role may not execute pg_control_system().\n"
	  . "hint: As a superuser, run \"GRANT EXECUTE ON FUNCTION pg_control_system() TO $role\" in database \"$config->{maintenance_database}\".\n";
}

# Why nothing may be removed; nothing if there is no such reason.
sub other_server
{
	my ($claim, $server, $others) = @_;

	return unidentified() if $server->{system_identifier} eq '';
	my $contains = sub { return sprintf "detail: It contains backups of the server with system identifier %s at address \"%s\".\n", identity($_[0]) };
	my %seen = map { $contains->($_->{adopted} // $_) => 1 } @$others;
	$seen{ $contains->($claim) } = 1 if defined $claim->{system_identifier} && !same_server($claim, $server);
	return if !%seen;
	return "directory \"$config->{directory}\" contains backups of another server\n"
	  . join('', sort keys %seen)
	  . sprintf("detail: The configuration leads to the server with system identifier %s at address \"%s\".\n", identity($server))
	  . "hint: After pg_upgrade or a change of address, run \"pg_pardump_backup --adopt $config->{file}\"."
	  . "  Otherwise, give each server a directory of its own.\n";
}

sub are_verified { return !grep { !defined $_->{verified} } @_; }

# The line about a new backup of a database, which begins with a title.
sub made_text
{
	my ($title, $began, $backup) = @_;
	my $took = elapsed_text(clock_gettime(CLOCK_MONOTONIC) - $began);

	# a command may have stored its files elsewhere
	return sprintf are_verified($backup) ? '%s: made and verified, %s' : '%s: made, not verified, %s', $title, $took if defined $config->{pipe};
	return sprintf are_verified($backup) ? '%s: made and verified, %s stored in %s' : '%s: made, not verified, %s stored in %s',
	  $title, size_text($backup->{bytes}), $took;
}

# Makes attempts to back up databases.  $next is the sentence that announces the next attempt;
# there is none if it is undefined.  Adds the backups by folder, undef for a database without a
# new backup.  %$numbers contains "[1/2]" for each database.  Returns the databases that have
# failed.
sub try_databases
{
	my ($databases, $next, $server, $run, $globals, $made, $numbers) = @_;
	my $dumps_all = $config->{incremental} && defined $config->{pipe};
	my @failed;

	foreach my $database (@$databases)
	{
		my $folder = folder_of($database);
		my $shown = printable($database);
		my $began = clock_gettime(CLOCK_MONOTONIC);

		$label = "$numbers->{$database} $shown" if $config->{watched} && !$config->{verbose};
		$made->{$folder} = eval { back_up_database($database, $server, $run, $globals, !defined $next) };
		my $error = caused_by("could not back up database \"$shown\"", $@);
		release_database($snapshot, $database) if $snapshot && ($made->{$folder} || !defined $next);
		clear_progress();
		if ($made->{$folder})
		{
			print STDERR made_text($label, $began, $made->{$folder}), "\n" if defined $label;
			next;
		}
		push @failed, $database;
		if (interrupted() || !defined $next) { complain($error); }
		else
		{
			$error = with_detail($error, $next);
			report('warning', $dumps_all ? with_detail($error, 'It will dump all rows.') : $error);
		}
		last if interrupted();
		printf STDERR defined $next ? "%s: FAILED after %s, will be retried\n" : "%s: FAILED after %s\n", $label,
		  elapsed_text(clock_gettime(CLOCK_MONOTONIC) - $began) if defined $label;
	}
	return @failed;
}

# Backs up each database.  Databases that failed are backed up again after the others,
# when a session that held a lock may have ended; but templates before the others, because
# the session of a template that keeps the snapshot makes CREATE DATABASE fail.  Returns
# the backups by folder, undef for a database without a new backup.
sub back_up_all
{
	my ($databases, $server, $globals) = @_;
	my @templates = grep { $snapshot && is_template($snapshot, $_) } @$databases;
	my %is_template = map { $_ => 1 } @templates;
	my @others = grep { !$is_template{$_} } @$databases;
	my $n = 0;
	my %numbers = map { $_ => sprintf '[%d/%d]', ++$n, scalar @$databases } @templates, @others;
	my @last = ($server, choose_run_name($config->{directory}, @stored), $globals, \my %made, \%numbers);

	foreach my $group ([ \@templates, 'Another attempt will be made after the other template databases.' ],
		[ \@others, 'Another attempt will be made after the other databases.' ])
	{
		my @failed = try_databases(@$group, @last);
		try_databases(\@failed, undef, @last) if !interrupted();
		last if interrupted();
	}
	return \%made;
}

# Takes the snapshot of these databases.  Returns the globals, which were the same before
# and after the snapshot was taken, as pg_dumpall cannot read them in the snapshot; and the
# databases, in the order in which they should be backed up, with databases that were
# created meanwhile unless the configuration contains "database".
sub take_snapshot_of
{
	my ($globals, @databases) = @_;
	my %wanted = map { $_ => 1 } @databases;

	foreach my $try (1 .. SNAPSHOT_TRIES)
	{
		inform('taking the snapshot of all databases') if $config->{watched};
		$snapshot = take_snapshot($config, @databases);
		my $later = dump_globals($config);
		my $kept = is_kept($config, $snapshot);
		last if $kept && (!defined $globals || same_globals($globals, $later));
		die $kept ? 'roles or tablespaces were changed in each of ' . SNAPSHOT_TRIES . " attempts\n" :
		  "a session that keeps the snapshot was lost\ndetail: Number of attempts: " . SNAPSHOT_TRIES . ".\n" if $try == SNAPSHOT_TRIES;
		$globals = $later;
		end_snapshot($snapshot);
		$snapshot = undef;
	}
	my @seen = grep { $wanted{$_} || !$config->{database} } databases_of($snapshot);
	my %seen = map { $_ => 1 } @seen;
	return ($globals, @seen, grep { !$seen{$_} } @databases);
}

# Roles that were created meanwhile may own objects in a dump, unless all dumps are in one
# snapshot.
sub store_later_globals
{
	my ($globals, @backups) = @_;
	return if defined $config->{pipe};
	my $later = dump_globals($config);

	return if !defined $globals || same_globals($globals, $later);
	replace_globals($_, $later) foreach @backups;
	return;
}

# Old backups are removed only of databases that have a new backup, and not if the store
# may lack some of those that would be kept.
sub remove_expired
{
	my ($server, @folders) = @_;
	my $removed = 1;

	return $removed if $config->{names_unread};
	foreach my $folder (@folders)
	{
		next if eval {
			my ($good) = backups($config->{directory}, $folder);
			my @own = grep { belongs_to($_, $server) } @$good;
			remove_any($_) ? ++$n_removed : ($removed = 0) foreach expired(\@own, $config->{keep_last}, $config->{keep_days});
			1;
		};
		complain($@);
		$removed = 0;
	}
	return $removed;
}

# What a run on a terminal, or with -v, reports at the end about its backups, of $n databases.
sub report_made
{
	my ($began, $n, @made) = @_;

	my $took = elapsed_text(clock_gettime(CLOCK_MONOTONIC) - $began);
	my $databases = @made < $n ? sprintf('%d of %d databases', scalar @made, $n) : counted('%s database', '%s databases', $n);

	inform(sprintf are_verified(@made) ? 'made and verified backup "%s":' : 'made backup "%s", not verified:', $made[0]{run});
	print STDERR '  ', join(', ', $databases, defined $config->{pipe} ? $took : sprintf '%s stored in %s', size_text(sum0(map { $_->{bytes} } @made)), $took), "\n";
	return;
}

# What it reports at the end about old backups, unless an error has explained why all were
# kept, and about the databases that failed.
sub report_kept
{
	my ($removed_all, $n, @failed) = @_;

	inform(counted('removed %s old backup', 'removed %s old backups', $n_removed)) if $n_removed;
	if (defined $removed_all && !$removed_all) { inform('could not remove all old backups; see the errors above'); }
	elsif ($removed_all && $config->{names_unread}) { inform('kept all old backups; see the warning above'); }
	elsif ($removed_all && !$n_removed && !@failed) { inform('no old backups to remove'); }
	report('error', sprintf "no new backup of %d of %d databases: %s\ndetail: Databases without a new backup keep all old backups.\n"
		  . "hint: Fix the cause.  The next run backs up all databases.  To start it now, run \"pg_pardump_backup %s\".\n", scalar @failed,
		$n, first_names(@failed), $config->{file})
	  if @failed && $n > 1;
	return;
}

# A run, without the lock, which the caller holds.  Returns the exit status; for each
# database whether it has a new backup; and the server.
sub back_up
{
	my ($claim) = @_;
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my (@databases, $server, $globals);

	if (!eval { @stored = link_store($config, 1); @databases = databases(); $server = read_server($config); $globals = dump_globals($config); 1 })
	{
		complain($@);
		return (BACKUP_FAILED, { map { folder_of($_) => 0 } @{ $config->{database} // [] } }, $server // $claim);
	}
	my ($unfinished, $others, $removed) = survey($server);
	my $other = other_server($claim, $server, $others);
	if (!defined $other)
	{
		note_server($config->{directory}, $config->{name}, $server) if !same_server($claim, $server);
		$removed &= remove_any($_) foreach @$unfinished;
	}
	if ($config->{cluster_snapshot} && @databases && !eval { ($globals, @databases) = take_snapshot_of($globals, @databases); 1 })
	{
		complain(caused_by('could not take a snapshot of all databases', $@));
		report('warning', $@) if $snapshot && !eval { end_snapshot($snapshot); 1 };
		return (BACKUP_FAILED, { map { folder_of($_) => 0 } @databases }, $server);
	}
	my $made = back_up_all(\@databases, $server, $globals);
	report('warning', $@) if $snapshot && !eval { end_snapshot($snapshot); 1 } && !interrupted();
	my %outcome = map { $_ => $made->{$_} ? 1 : 0 } keys %$made;
	return (BACKUP_FAILED, \%outcome, $server) if interrupted();

	my $failed = !%outcome || grep { !$_ } values %outcome;
	complain($NO_DATABASE) if !%outcome;
	if (!eval {
			store_later_globals($globals, grep { defined } values %$made) if !$snapshot;
			die "the server changed during the run\n"
			  . "detail: A failover happened, or the address leads to several servers.  No old backup was removed.\n"
			  . "hint: Check that \"host\" is the address of one server, and run pg_pardump_backup again.\n"
			  if !defined $other && !same_server(read_server($config), $server);
			1;
		})
	{
		complain($@);
		return (BACKUP_FAILED, \%outcome, $server);
	}
	my @made = map { $made->{$_} // () } sort keys %$made;
	$removed &= remove_expired($server, grep { $outcome{$_} } sort keys %outcome) if !defined $other;
	# all lines of the verdict are together, after the errors
	report_made($began, scalar keys %outcome, @made) if $config->{watched} && @made;
	complain(caused_by('no old backup was removed', $other)) if defined $other;
	report_kept(defined $other ? undef : $removed, scalar keys %outcome, grep { !$made->{ folder_of($_) } } @databases) if $config->{watched} && %outcome;
	return ($failed ? BACKUP_FAILED : defined $other ? OTHER_SERVER : $removed ? SUCCESS : REMOVAL_FAILED, \%outcome, $server);
}

# Calls a function with the recorded server of the directory, while no other run works in
# the directory.  Returns the exit status.
sub with_store
{
	my ($function) = @_;
	my ($lock, $holder) = lock_store($config->{directory}, "$$ " . time_name(now()));

	if (!$lock)
	{
		# the other run may not have written it yet
		my ($pid, $time) = $holder =~ /^(\d+) (\w+)\z/;
		complain("directory \"$config->{directory}\" is in use by another run\n"
			  . (defined $pid ? "detail: The run is process $pid, which was started at $time.\n" : '')
			  . "hint: Wait until the other run has ended.\n");
		return LOCKED;
	}
	my $claim = eval { claim_store($config->{directory}, $config->{name}, 1) };
	return $function->($claim) if $claim;
	complain($@);
	return CONFIGURATION_WRONG;
}

# What is wrong with the directory of metrics; nothing if they can be written.
sub metrics_problem
{
	my $directory = $config->{metrics};
	return if !defined $directory || -d $directory && -w _;
	return -d $directory ? "directory \"$directory\" of key \"metrics\" is not writable\n" : "directory \"$directory\" of key \"metrics\" does not exist\n";
}

sub run
{
	my ($claim) = @_;
	my $problem = metrics_problem();

	# without metrics, backups can still be made
	if (defined $problem)
	{
		report('warning', with_detail($problem, 'No metrics will be written.'));
		delete $config->{metrics};
	}
	my ($status, $outcome, $server) = back_up($claim);
	if (defined $config->{metrics} && !eval { write_metrics($config, $status, $outcome, $server); 1 })
	{
		report('warning', $@);
	}
	return $status;
}

# From now on, all backups in the directory belong to the present server.
sub adopt
{
	my $server = read_server($config);

	die unidentified() if $server->{system_identifier} eq '';
	my (undef, $others, $complete) = survey($server);
	adopt_backup($_, $server) foreach @$others;
	note_server($config->{directory}, $config->{name}, $server);
	inform(counted('assigned %s backup in directory "%s" to the server with system identifier %s at address "%s"',
			'assigned %s backups in directory "%s" to the server with system identifier %s at address "%s"', scalar @$others, $config->{directory}, identity($server)));
	return $complete ? SUCCESS : REMOVAL_FAILED;
}

# Before the first run in a new store without "list".
sub init
{
	my @names = init_store($config);
	inform(counted('made the index of the store, with %s backup', 'made the index of the store, with %s backups', scalar @names));
	return SUCCESS;
}

# ---- --check and --list

sub check
{
	my (%sums, @failed);
	my $n_wrong = 0;

	# a name that no folder of a database has
	my $backup = { folder => 'check', name => time_name(now()), dump => "$config->{directory}/=check" };
	my $try = sub {
		my ($function, $what) = @_;
		return 1 if eval { $function->(); 1 };
		complain(defined $what ? caused_by($what, $@) : $@) if $@ ne "\n";
		$n_wrong++;
		return;
	};
	my (@databases, $claim, $server, $other);
	$try->(sub { $claim = claim_store($config->{directory}, $config->{name}, 0) });
	$try->(sub { unfinished($config->{directory}, $_) foreach folders($config->{directory}) });
	$try->(sub { die "directory \"$config->{directory}\" is not writable\n" if !-w $config->{directory} });
	$try->(sub {
		my $problem = metrics_problem();
		report('warning', with_detail($problem, 'No metrics will be written.')) if defined $problem;
	});
	$try->(sub { link_store($config, 0) });
	$try->(sub { @databases = databases(); die $NO_DATABASE if !@databases });
	$try->(sub { dump_globals($config) });
	$try->(sub { check_snapshot($config, \%sums, @databases) }, 'could not take a snapshot of all databases') if $config->{cluster_snapshot} && @databases;
	$try->(sub { $server = read_server($config) });
	$try->(sub {
		$other = other_server($claim, $server, (survey($server))[1]);
		die caused_by('no old backup would be removed', $other) if defined $other;
	}) if $claim && $server;
	foreach my $i (0 .. $#databases)
	{
		my $shown = quoted($databases[$i]);
		my ($good) = backups($config->{directory}, folder_of($databases[$i]));
		my $previous = $server ? previous_of($good, $server) : undef;
		my $number = sprintf '[%d/%d]', $i + 1, scalar @databases;

		inform("checking database $shown") if $config->{verbose};
		$try->(sub { check_database($config, $databases[$i], $number, $backup, $previous, \%sums) }, "database $shown cannot be backed up")
		  or push @failed, $databases[$i];
		$sums{expired} += count_expired($config, $server, $good) if $server;
	}
	delete $sums{expired} if defined $other || !$server;
	print_sums($config, \%sums, scalar @databases);
	return report_verdict($config, \%sums, $n_wrong, scalar @databases, @failed) ? SUCCESS : BACKUP_FAILED;
}

# Reports what could not be read from the store.  Returns whether all of it could.
sub complain_of_store
{
	my ($backups, $failure) = @_;
	my @unusable = grep { defined $_->{problem} } @$backups;

	complain($failure) if defined $failure;
	complain(caused_by('the record of backup ' . title($_) . ' in the store cannot be used', $_->{problem})) foreach @unusable;
	return !defined $failure && !@unusable;
}

sub list
{
	my ($verbose, $json) = @_;
	my ($backups, $strange, $failure) = catalog($config);
	my $is_known = complain_of_store($backups, $failure);

	warn_of_strange(@$strange);
	$json ? print_json($config, $backups) : print_table($config, $backups, $verbose);
	return $is_known ? SUCCESS : BACKUP_FAILED;
}

# ---- --verify and --restore

# Dies if a backup's files are not here as pg_pardump has written them, and no command
# returns them.
sub require_files
{
	my ($backup, $command) = @_;
	return if !$backup->{pipe} || defined $config->{fetch};
	die 'the files of backup ' . title($backup) . " were written by the command of \"pipe\"\n"
	  . ($backup->{elsewhere} ? "hint: Fetch the files, and decrypt them into a directory.  Then run \"$command\" on that directory.\n"
		: "hint: Decrypt the files of \"$backup->{archive}\" into another directory.  Then run \"$command\" on that directory.\n");
}

sub note_verification
{
	eval { record_verification(@_); 1 } or report('warning', caused_by('could not record the result of the verification', $@));
	return;
}

# Reports that a backup is damaged, with details, and the ways out.
sub complain_of_damage
{
	my ($backup, $details) = @_;
	my ($other) = grep { $_->{name} ne $backup->{name} && is_sound($_) } @{ (backups($config->{directory}, $backup->{folder}))[0] };
	my $new = "pg_pardump_backup $config->{file}";

	complain('backup ' . title($backup) . " is damaged\n$details"
		  . ($other ? sprintf("hint: To make a new backup now, run \"%s\".  Like every run, this removes old backups as keep_last and keep_days specify."
				. "  To restore the last backup without known damage, run \"pg_pardump_backup --restore %s %s\".\n", $new, shell_quoted(name_of($other)), $config->{file})
			: "hint: Run \"$new\" to make a new backup now.  This database has no other backup without known damage.  Check the disk or the store.\n"));
	return;
}

# Returns whether the backup is as it was written.  The function, if there is one, is
# called about every second with the share of the archive that is done.  Dies if a command
# does not return the files, and nothing else shows that they are damaged.
sub verify_one
{
	my ($backup, $show) = @_;
	my ($done, $status) = (0, 0);
	my $log = File::Temp->new;
	my @printed;
	# the messages are printed at the end, except those that are details of another one
	my $lines = sub {
		my ($line) = @_;
		my ($percent, $stage) = defined $line ? progress_of_line($line) : ();

		push @printed, $line if defined $line && !defined $stage;
		$done = $percent / 100 if defined $percent;
		$show->($done) if $show;
	};
	my $is_verified = eval {
		verify_archive($config, $backup, { status => \$status, $config->{verbose} ? () : (lines => $lines) }, "--log-json=$log", $show ? '--progress' : ());
		1;
	};
	my $error = $@;
	my @events = read_events($log);
	my @messages = $status == VERIFY_DAMAGED << 8 && !$config->{verbose} ? messages_of(@events) : ();
	my $is_own;

	clear_progress();
	foreach my $line (@printed)
	{
		$is_own = $line =~ /^pg_pardump: / || $is_own && $line =~ /^\t/;
		# a command has printed the other lines
		print STDERR "$line\n" if !@messages || !$is_own;
	}
	if ($is_verified)
	{
		return 1 if $backup->{pipe} || is_in_snapshot($backup);
		complain_of_damage($backup, "detail: The archive was not made in the snapshot that backup.json names.\n");
		return 0;
	}
	die $error if interrupted();
	die 'could not verify backup ' . title($backup) . "\ndetail: Another run of pg_pardump_backup removed it.\nhint: To list the backups, run \"pg_pardump_backup --list $config->{file}\".\n"
	  if defined $backup->{path} && !-d $backup->{path};
	note_verification($backup, 0, 1) if $status == VERIFY_UNREAD << 8;
	die caused_by('could not verify backup ' . title($backup), $error) if $status != VERIFY_DAMAGED << 8;
	show(@$_) foreach grep { $_->[0] eq 'warning' } @messages;
	my @errors = map { $_->[1] } grep { $_->[0] eq 'error' } @messages;
	# the last error counts the others
	pop @errors if grep { $_->{event} eq 'summary' } @events;
	complain_of_damage($backup, join '', map { cause($_) } @errors);
	return 0;
}

# Returns a function that shows the progress of --verify, when it has done a number of these
# backups, and a share of the next one.
sub progress_of
{
	my (@backups) = @_;
	my $known = !grep { !$_->{bytes} } @backups;
	my @weights = map { $known ? $_->{bytes} : 1 } @backups;
	my $all = sum0(@weights);
	my $began = clock_gettime(CLOCK_MONOTONIC);

	return sub {
		my ($n, $share) = @_;
		my $seconds = clock_gettime(CLOCK_MONOTONIC) - $began;
		my $done = sum0(@weights[ 0 .. $n - 1 ], map { $_ * $share } $weights[$n] // ());
		my $percent = $n < @backups ? min(99, int($done / $all * 100)) : 100;

		show_progress(
			"$percent%", 'time ' . duration_text($seconds), "backups $n/" . @backups,
			$done > 0 && $done < $all ? 'ETA ' . duration_text($seconds * ($all / $done - 1)) : (),
			$n < @backups ? name_of($backups[$n]) : ());
	};
}

# Verifies backups, and reports each one.  Returns a result for each backup: "verified",
# "damaged" or "unreadable".  If it is interrupted, the list is shorter.
sub verify_backups
{
	my (@backups) = @_;
	my $show = !$config->{verbose} && -t STDERR ? progress_of(@backups) : undef;
	my @results;

	foreach my $n (1 .. @backups)
	{
		my $backup = $backups[ $n - 1 ];
		my $began = clock_gettime(CLOCK_MONOTONIC);
		my $is_good = eval { verify_one($backup, $show ? sub { $show->($n - 1, $_[0]) } : undef) };

		if (defined $is_good)
		{
			note_verification($backup, $is_good);
		}
		else
		{
			complain($@);
			last if interrupted();
		}
		push @results, $is_good ? 'verified' : defined $is_good ? 'damaged' : 'unreadable';
		next if $show && -t STDOUT;
		printf defined $backup->{bytes} ? "[%d/%d] %s: %s, %s stored, in %s\n" : "[%d/%d] %s: %s in %s\n", $n, scalar @backups, name_of($backup),
		  $is_good ? 'verified' : uc $results[-1], defined $backup->{bytes} ? size_text($backup->{bytes}) : (), elapsed_text(clock_gettime(CLOCK_MONOTONIC) - $began);
		STDOUT->flush;
	}
	$show->(scalar @backups, 0) if $show && @results == @backups;
	end_progress();
	return @results;
}

# Verifies all backups, or the backups that the user specified.
sub verify
{
	my ($typed) = @_;
	my ($found, undef, $failure) = defined $typed ? [ find_backups($config, $typed) ] : catalog($config);
	my @backups = grep { $_->{complete} } @$found;
	my @readable = grep { !$_->{pipe} || defined $config->{fetch} } @backups;

	if (defined $typed)
	{
		require_files($_, 'pg_pardump --verify') foreach @backups;
	}
	my $is_known = complain_of_store($found, $failure);
	die "there are no backups to verify in directory \"$config->{directory}\"\n"
	  . (@backups ? "detail: \"fetch\" is not set, so files that the command of \"pipe\" wrote cannot be read.\nhint: Set \"fetch\" to the command that returns the files.\n"
		: "hint: To make a backup, run \"pg_pardump_backup $config->{file}\".\n")
	  if !@readable;
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my @results = verify_backups(@readable);
	return BACKUP_FAILED if @results < @readable;

	print_verified(clock_gettime(CLOCK_MONOTONIC) - $began, \@readable, \@results);
	my $left_out = @backups - @readable;
	print counted("%s backup not verified: \"fetch\" is not set, so files that the command of \"pipe\" wrote cannot be read\n",
		"%s backups not verified: \"fetch\" is not set, so files that the command of \"pipe\" wrote cannot be read\n", $left_out) if $left_out;
	return !$is_known || grep({ $_ ne 'verified' } @results) ? BACKUP_FAILED : SUCCESS;
}

# The backup of one database.
sub find_backup
{
	my ($typed, $database) = @_;
	my @backups = find_backups($config, $typed, $database);
	my $names = join ', ', map { quoted($_->{database}) } @backups;

	@backups = grep { $_->{database} eq $database } @backups if defined $database;
	die 'backup ' . quoted($typed) . ' does not contain database ' . quoted($database) . "\ndetail: It contains $names.\n" if !@backups;
	die 'backup ' . quoted($typed) . " contains several databases\ndetail: It contains $names.\n"
	  . "hint: Specify one of them after the backup, for example: pg_pardump_backup --restore $typed " . quoted($backups[0]{database}) . " $config->{file}\n"
	  if @backups > 1;
	return $backups[0];
}

# Without $to, the database is created: pg_parrestore --create would restore into an
# existing one.
sub restore
{
	my ($typed, $database, $to) = @_;
	my $backup = find_backup($typed, $database);

	require_files($backup, 'pg_parrestore');
	die 'database ' . quoted($backup->{database}) . " already exists\n"
	  . "hint: Rename the database (ALTER DATABASE ... RENAME TO ...), or use --to to restore into another database.\n"
	  if !defined $to && grep { $_ eq $backup->{database} } map { @$_ } list_databases($config);
	my $lock = hold_backup($backup);
	my $target = defined $to ? target_database($config, $to) : $backup->{database};
	my $age = now() - $backup->{started};
	print STDERR 'restoring backup ', title($backup), ' into database ', quoted($target), ":\n  ",
	  join(', ', $age >= 0 ? sprintf('%s old', age_text($age)) : 'from the future', defined $backup->{bytes} ? sprintf('%s stored', size_text($backup->{bytes})) : ()), "\n" if $config->{watched};
	if (!eval { run_pg_parrestore($config, $backup, $to, {}); 1 })
	{
		my $error = $@;
		die $error if interrupted();
		die $error . "hint: If roles or tablespaces are missing, create them first: store the output of the command of \"fetch\" for \"$backup->{globals}\" in a file, and run \"pg_parrestore --all-databases --globals-only -d postgres FILE\".\n"
		  if $backup->{pipe} && defined $backup->{globals};
		my $globals = $backup->{pipe} ? undef : "$backup->{path}/globals.sql";
		die $error if !defined $globals || !-e $globals;
		die $error . "hint: If roles or tablespaces are missing, create them first: pg_parrestore --all-databases --globals-only -d postgres \"$globals\"\n";
	}
	print 'restored backup ', title($backup), ' into database ', quoted($target), "\n";
	return SUCCESS;
}

# Dies if there is no store for this option, or the store has no index.
sub check_store_option
{
	my ($option) = @_;

	die "option $option requires the key \"fetch\"\n"
	  . "detail: Without \"fetch\", the program cannot read backups that the command of \"pipe\" stored.\n" if !defined $config->{fetch};
	die "option $option cannot be used, because \"pipe\" contains %D\n"
	  . "detail: The backups and their records are in the directory itself, not in a store.\n" if !$config->{store};
	die "option $option cannot be used, because \"list\" is set\n"
	  . "detail: A store has an index only if \"list\" is not set.\n" if $option eq '--init' && $config->{list};
	return;
}

# What is wrong with the number of arguments; the last one is the configuration.
sub wrong_arguments
{
	my ($task, @arguments) = @_;
	my $most = $task eq '--restore' ? 3 : $task eq '--verify' ? 2 : 1;
	return 'option --restore requires a backup and a configuration file' if $task eq '--restore' && @arguments < 2;
	return 'no configuration file specified' if !@arguments;
	return "too many command-line arguments (first is \"$arguments[$most]\")" if @arguments > $most;
	return;
}

sub main
{
	my (%option, @wrong);

	Getopt::Long::Configure(qw(bundling no_auto_abbrev no_ignore_case));
	local $SIG{__WARN__} = sub { push @wrong, @_ };
	my @known = ('adopt', 'check|c', 'init', 'json', 'list|l', 'rebuild', 'restore', 'restore-test', 'to=s', 'verbose|v', 'verify', 'version|V', 'help|?');
	GetOptionsFromArray(\@_, \%option, @known);
	delete $SIG{__WARN__};
	my @tasks = map { "--$_" } grep { $option{$_} } qw(adopt check init list rebuild restore restore-test verify);
	push @wrong, wrong_arguments($tasks[0] // '', @_) if !@wrong && !grep { $option{$_} } qw(help version);
	push @wrong, "options $tasks[0] and $tasks[1] cannot be used together" if @tasks > 1;
	push @wrong, 'option --json requires option --list' if $option{json} && !$option{list};
	push @wrong, 'option --to requires option --restore' if defined $option{to} && !$option{restore};
	if (@wrong)
	{
		complain(option_error($_, map { s/[|=].*//r } @known)) foreach @wrong;
		inform('hint: Try "pg_pardump_backup --help" for more information.');
		return CONFIGURATION_WRONG;
	}
	return print($HELP) ? SUCCESS : BACKUP_FAILED if $option{help};
	return print('pg_pardump_backup @VERSION@', "\n") ? SUCCESS : BACKUP_FAILED if $option{version};

	if ($option{'restore-test'} && $> != 0)
	{
		complain($NOT_ROOT);
		return CONFIGURATION_WRONG;
	}

	($config, @wrong) = read_config(pop);
	if (!@wrong)
	{
		my $restores = $option{restore} || $option{'restore-test'};

		# the restore test checks it as the owner of the directory
		eval {
			check_store($config->{directory}) if !$option{'restore-test'};
			find_programs($config, $restores ? 'pg_parrestore' : ());
			check_store_option($tasks[0]) if $option{init} || $option{rebuild};
			1;
		} or push @wrong, $@;
	}
	if (@wrong)
	{
		complain($_) foreach @wrong;
		return CONFIGURATION_WRONG;
	}
	$config->{verbose} = $option{verbose};
	# without a terminal, a run that succeeds prints nothing
	$config->{watched} = $option{verbose} || -t STDERR;
	$ENV{PGSERVICE} = $config->{service} if defined $config->{service};
	umask 077;
	catch_signals();
	my $status = eval {
		  $option{list} ? list(@option{qw(verbose json)})
		: $option{check} ? check()
		: $option{verify} ? verify(@_)
		: $option{restore} ? restore(@_[ 0, 1 ], $option{to})
		: $option{'restore-test'} ? (restore_test($config) ? SUCCESS : BACKUP_FAILED)
		: with_store($option{adopt} ? \&adopt : $option{init} ? \&init : $option{rebuild} ? sub { rebuild($config, @_) ? SUCCESS : BACKUP_FAILED } : \&run);
	};
	return $status if defined $status;
	complain($@);
	return BACKUP_FAILED;
}

exit main(@ARGV);
