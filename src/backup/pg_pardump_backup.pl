#!/usr/bin/perl
#
# pg_pardump_backup: back up databases by pg_pardump, as a configuration file
# says, and remove old backups.  Main path: back_up() below.

use strict;
use warnings;

use lib '@LIBDIR@';

use File::Find;
use Getopt::Long qw(GetOptionsFromArray);
use PardumpBackup::Config qw(read_config);
use PardumpBackup::Metrics qw(write_metrics);
use PardumpBackup::Programs qw(catch_signals interrupted find_programs list_databases dump_globals pipe_file
  dump_options dump_with_pg_pardump run_pg_pardump run_command);
use PardumpBackup::Store qw(now time_name check_store claim_store lock_store folder_of folders backups
  unfinished begin_backup finish_backup remove_backup expired write_file);

use constant {
	SUCCESS => 0,
	BACKUP_FAILED => 1,
	CONFIGURATION_WRONG => 2,
	REMOVAL_FAILED => 3,
	LOCKED => 4
};

my $HELP = <<'END';
pg_pardump_backup backs up PostgreSQL databases by pg_pardump, and removes old backups.

Usage:
  pg_pardump_backup [OPTION]... CONFIGURATION

Options:
  -c, --check                  look for what would make a backup fail, and make none
  -l, --list                   list the backups that there are, and end
  -v, --verbose                tell what is done
  -V, --version                print the version, and end
  -?, --help                   show this help, and end

Exit status: 0 success; 1 a backup failed; 2 the configuration is wrong; 3 all
backups are made, but old ones could not be removed; 4 another run is at work.
END

my $config;

sub inform { print STDERR "pg_pardump_backup: $_[0]\n"; return; }

sub complain { return inform("error: " . $_[0] =~ s/\n\z//r); }

# ---- a backup of one database

# What is elsewhere goes by the command of "remove".
sub remove_any
{
	my ($backup) = @_;
	my $what = "$backup->{folder}/$backup->{name}";

	inform("removing $what") if $config->{verbose};
	return 1 if eval {
		remove_backup($backup, sub {
			die "it is elsewhere, and the configuration has no remove\n" if !$config->{remove};
			run_command($config, 'remove', $backup);
		});
		1;
	};
	complain("could not remove $what: $@");
	return 0;
}

sub stored_bytes
{
	my ($path) = @_;
	my $bytes = 0;

	find({ no_chdir => 1, wanted => sub { $bytes += -s _ if lstat && -f _ } }, $path);
	return $bytes;
}

# If it cannot write the file pg_pardump warns, and makes the dump.  No folder's
# name has a colon.
sub metrics_options
{
	my ($backup) = @_;
	return if !defined $config->{metrics};
	return ("--metrics=$config->{metrics}/pg_pardump_dump_$config->{name}:$backup->{folder}.prom",
		"--metrics-label=config=$config->{name}");
}

# What is in the directory that will become the backup, verified.
sub fill_backup
{
	my ($backup, $database, $previous, $globals) = @_;
	my $dump = "$backup->{path}/dump";

	if (defined $config->{pipe} && $config->{pipe} =~ /%D/)
	{
		mkdir $dump, 0700 or die "could not create directory \"$dump\": $!\n";
	}
	if (defined $globals)
	{
		defined $config->{pipe} ? pipe_file($config, $backup, 'globals.sql', $globals)
		  : write_file("$backup->{path}/globals.sql", $globals);
	}
	dump_with_pg_pardump($config, 'pg_pardump', $database,
		dump_options($config, $backup, $previous), metrics_options($backup));
	run_pg_pardump($config, 'pg_pardump --verify', {}, "--verify=$dump") if !defined $config->{pipe};
	run_command($config, 'verify_command', $backup) if $config->{verify_command};
	return;
}

# Dies if it fails, and leaves nothing of it.
sub back_up_database
{
	my ($database, $globals) = @_;
	my $folder = folder_of($database);
	my ($good, $strange) = backups($config->{directory}, $folder);

	inform("backing up database \"$folder\"") if $config->{verbose};
	inform("warning: \"$_\" is no backup of this program, and is left as it is") foreach @$strange;
	my ($future) = reverse sort grep { $_ gt time_name(now()) } map { $_->{name} } @$good;
	inform("warning: backup $folder/$future is from the future: the clock was set back, or has been wrong")
	  if defined $future;

	my $backup = begin_backup($config->{directory}, $folder,
		pipe => defined $config->{pipe}, elsewhere => defined $config->{pipe} && $config->{remove});
	my ($previous) = grep { !$_->{pipe} } @$good;
	return if eval {
		fill_backup($backup, $database, $previous, $globals);
		$backup->{bytes} = stored_bytes($backup->{path});
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
	return grep { !$left_out{$_}++ } $config->{database} ? @{ $config->{database} } : list_databases($config);
}

# All but the lock, which the caller has.  Returns the exit status, and of each
# database whether there is a backup of it now.
sub back_up
{
	my ($removed, %outcome) = (1);
	my (@databases, $globals);

	foreach my $folder (folders($config->{directory}))
	{
		next if eval { $removed &= remove_any($_) foreach unfinished($config->{directory}, $folder); 1 };
		complain($@);
		$removed = 0;
	}
	if (!eval { @databases = databases(); $globals = dump_globals($config); 1 })
	{
		complain($@);
		return (BACKUP_FAILED, { map { folder_of($_) => 0 } @{ $config->{database} // [] } });
	}
	foreach my $database (@databases)
	{
		my $folder = folder_of($database);

		$outcome{$folder} = eval { back_up_database($database, $globals); 1 } ? 1 : 0;
		complain("no backup of database \"$folder\": $@") if !$outcome{$folder};
		return (BACKUP_FAILED, \%outcome) if interrupted();
	}

	# what is old goes only where there is something new
	foreach my $folder (grep { $outcome{$_} } sort keys %outcome)
	{
		next if eval {
			my ($good) = backups($config->{directory}, $folder);
			$removed &= remove_any($_) foreach expired($good, $config->{keep_last}, $config->{keep_days});
			1;
		};
		complain($@);
		$removed = 0;
	}
	complain('there is no database to be backed up') if !%outcome;
	my $status = !%outcome || (grep { !$_ } values %outcome) ? BACKUP_FAILED : $removed ? SUCCESS : REMOVAL_FAILED;
	return ($status, \%outcome);
}

sub run
{
	my $who = sprintf 'process %d, since %s', $$, time_name(now());
	my ($lock, $holder) = lock_store($config->{directory}, $who);

	if (!$lock)
	{
		complain("another run is at work in \"$config->{directory}\": $holder");
		return LOCKED;
	}
	if (!eval { claim_store($config->{directory}, $config->{name}, 1); 1 })
	{
		complain($@);
		return CONFIGURATION_WRONG;
	}
	# what would only tell of backups must not keep them from being made
	if (defined $config->{metrics} && !(-d $config->{metrics} && -w _))
	{
		inform("warning: \"$config->{metrics}\" is no directory that can be written to, so there are no metrics");
		delete $config->{metrics};
	}
	my ($status, $outcome) = back_up();
	if (defined $config->{metrics} && !eval { write_metrics($config, $status, $outcome); 1 })
	{
		inform('warning: ' . $@ =~ s/\n\z//r);
	}
	return $status;
}

# ---- what changes nothing

sub check
{
	my $failed = 0;

	# of a name that no database's folder has
	my $backup = { folder => 'check', name => time_name(now()), dump => "$config->{directory}/=check" };
	my $try = sub {
		my ($what, $function) = @_;
		return if eval { $function->(); 1 };
		complain("$what: $@");
		$failed = 1;
	};
	my @databases;
	$try->('directory', sub { claim_store($config->{directory}, $config->{name}, 0) });
	$try->('directory', sub { unfinished($config->{directory}, $_) foreach folders($config->{directory}) });
	$try->('directory', sub { die "\"$config->{directory}\" cannot be written to: $!\n" if !-w $config->{directory} });
	$try->('metrics', sub { die "\"$config->{metrics}\" is no directory that can be written to\n"
			if defined $config->{metrics} && !(-d $config->{metrics} && -w _) });
	$try->('databases', sub { @databases = databases(); die "there is none\n" if !@databases });
	$try->('globals', sub { dump_globals($config) });
	foreach my $database (@databases)
	{
		my $folder = folder_of($database);
		my ($good) = backups($config->{directory}, $folder);
		my ($previous) = grep { !$_->{pipe} } @$good;

		# as pg_pardump does not name it
		inform("checking database \"$folder\"");
		$try->("database \"$folder\"", sub {
			dump_with_pg_pardump($config, 'pg_pardump --check', $database, '--check',
				dump_options($config, $backup, $previous));
		});
	}
	return $failed ? BACKUP_FAILED : SUCCESS;
}

sub list
{
	foreach my $folder (folders($config->{directory}))
	{
		my ($good, $strange) = backups($config->{directory}, $folder);

		foreach my $backup (reverse @$good)
		{
			printf "%s\t%s\t%s\t%d s\t%s\n", $folder, $backup->{name},
			  $backup->{pipe} ? 'piped' : "$backup->{bytes} bytes",
			  $backup->{finished} - $backup->{started}, $backup->{path};
		}
		print "$folder\t$_->{name}\tnot complete\t\t$_->{path}\n" foreach unfinished($config->{directory}, $folder);
	}
	return SUCCESS;
}

sub main
{
	my (%option, @wrong);

	Getopt::Long::Configure(qw(bundling no_auto_abbrev no_ignore_case));
	local $SIG{__WARN__} = sub { push @wrong, @_ };
	GetOptionsFromArray(\@_, \%option, 'check|c', 'list|l', 'verbose|v', 'version|V', 'help|?');
	delete $SIG{__WARN__};
	push @wrong, 'exactly one configuration file must be named' if !@wrong && @_ != 1 && !grep { $option{$_} } qw(help version);
	push @wrong, 'options --check and --list cannot be used together' if $option{check} && $option{list};
	if (@wrong)
	{
		complain($_) foreach @wrong;
		inform('hint: Try "pg_pardump_backup --help".');
		return CONFIGURATION_WRONG;
	}
	return print($HELP) ? SUCCESS : BACKUP_FAILED if $option{help};
	return print('pg_pardump_backup @VERSION@', "\n") ? SUCCESS : BACKUP_FAILED if $option{version};

	($config, @wrong) = read_config($_[0]);
	if (!@wrong)
	{
		eval { check_store($config->{directory}); find_programs($config); 1 } or push @wrong, $@;
	}
	if (@wrong)
	{
		complain($_) foreach @wrong;
		return CONFIGURATION_WRONG;
	}
	$config->{verbose} = $option{verbose};
	$ENV{PGSERVICE} = $config->{service} if defined $config->{service};
	umask 077;
	catch_signals();
	return list() if $option{list};
	my $status = eval { $option{check} ? check() : run() };
	return $status if defined $status;
	complain($@);
	return BACKUP_FAILED;
}

exit main(@ARGV);
