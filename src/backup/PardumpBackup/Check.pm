# --check: runs "pg_pardump --check" for each database, and reports the sums and the verdict.
# Numbers and messages come from pg_pardump's event log, not from its text.

package PardumpBackup::Check;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use List::Util qw(sum0);

use PardumpBackup::Listing qw(size_text);
use PardumpBackup::Message qw(show report messages_of read_events printable quoted counted first_names duration_text n_warnings);
use PardumpBackup::Programs qw(dump_options dump_with_pg_pardump);
use PardumpBackup::Store qw(now time_name belongs_to expired);

# The number of bytes from which on there is a hint, as ADVICE_BYTES in src/frontend/status/summary.h.
use constant HINT_BYTES => 64 * 1024 * 1024;

our @EXPORT_OK = qw(run_check check_database count_expired print_sums report_verdict);

# The bytes of the tables, and how they would be read.
sub bytes_text
{
	my ($plan) = @_;
	my ($all, $by_extension) = map { $_ // 0 } @$plan{qw(expected_bytes extension_bytes)};

	return sprintf !$all ? '%1$s' : !$by_extension ? '%1$s (COPY)' : $by_extension == $all ? '%1$s (extension)' : '%1$s (%2$s with COPY)',
	  size_text($all), size_text($all - $by_extension);
}

# "[1/2] shop: 321 tables, 1.46 GB (extension), archive about 210 MB", from the event of
# pg_pardump's plan.
sub print_database
{
	my ($title, $plan) = @_;

	print STDERR "$title: ", join(', ', counted('%s table', '%s tables', $plan->{tables}),
		$plan->{large_objects} ? counted('%s large object', '%s large objects', $plan->{large_objects}) : (),
		bytes_text($plan),
		defined $plan->{archive_bytes} ? sprintf('archive about %s', size_text($plan->{archive_bytes})) : (),
		defined $plan->{reusable_bytes} ? sprintf('reused up to %s', size_text($plan->{reusable_bytes})) : ()), "\n";
	return;
}

# Calls a function that runs "pg_pardump --check" with {output} and {status}, and with an
# option, which must come last, because "options" may contain another --log-json.  Adds the
# number of warnings in pg_pardump's event log to the sums.  With -v, shows what it has printed;
# without -v only errors, warnings and hints.  Before, calls the function $plan with the events of
# the check and of the plan.  Dies if the check failed; with a function $plan, and after errors,
# without a message.
sub run_check
{
	my ($config, $sums, $database, $function, $plan) = @_;
	my $log = File::Temp->new;
	open(my $printed, '+>', undef) or die "could not create a temporary file: $!\n";
	my $status = 0;
	my $error = eval { $function->({ output => $printed, status => \$status }, "--log-json=$log"); 1 } ? undef : $@;

	seek $printed, 0, 0;
	my $text = do { local $/; <$printed> } // '';
	my @events = read_events($log);
	my %events = map { $_->{event} => $_ } @events;
	$sums->{warnings} += $events{check}{warnings} // 0;
	$plan->(@events{qw(check check_plan)}) if $plan;
	# hints without an error or a warning are not in the event log; without events, it could not
	# be opened
	print STDERR $config->{verbose} || !@events ? $text : $text =~ /^hint: .*\n/mg;
	show(@$_, $database) foreach $config->{verbose} ? () : messages_of(@events);
	die $plan && $events{check}{errors} && $status ? "\n" : $error if defined $error;
	return;
}

# Checks a database, and adds all numbers in pg_pardump's event log to the sums.
sub check_database
{
	my ($config, $database, $number, $backup, $previous, $sums) = @_;
	my $plan;

	run_check($config, $sums, $database, sub {
		my ($how, $log) = @_;
		dump_with_pg_pardump($config, 'pg_pardump --check', $database, $how, '--check', dump_options($config, $backup, $previous), $log);
	}, sub {
		(my $check, $plan) = @_;

		$sums->{errors}{$database} = $check->{errors} // 0;
		my $title = "$number " . printable($database);
		if ($config->{verbose}) { return; }
		elsif ($plan) { print_database($title, $plan); }
		else { print STDERR "$title: FAILED\n"; }
	});
	return if !$plan;
	$sums->{databases}++;
	$sums->{$_} += $plan->{$_} // 0 foreach qw(tables large_objects expected_bytes archive_bytes reusable_bytes expected_seconds);
	$sums->{$_} = $plan->{$_} // $sums->{$_} foreach qw(free_bytes compression);
	@$sums{qw(needed free_min free_max)} = map { $plan->{"connections_$_"} } qw(needed free_min free_max)
	  if ($plan->{connections_needed} // 0) > ($sums->{needed} // 0);
	return;
}

# How many old backups of the database a run would remove after it has made a new one.
sub count_expired
{
	my ($config, $server, $good) = @_;
	my @own = grep { belongs_to($_, $server) } @$good;
	return @own ? scalar expired([ { name => time_name(now()) }, @own ], $config->{keep_last}, $config->{keep_days}) : 0;
}

# The connections of the database that needs most.
sub connections_text
{
	my ($needed, $min, $max) = @_;
	return "$needed needed" if !defined $min;
	return $min == $max ? "$needed needed, $min free" : "$needed needed, $min to $max free";
}

# What a run of $n databases would do.  All archives together need room on one disk.
sub print_sums
{
	my ($config, $sums, $n) = @_;
	my ($archives, $reused) = map { $_ // 0 } @$sums{qw(archive_bytes reusable_bytes)};

	return if !$sums->{databases};
	my $size = size_text($sums->{expected_bytes});
	print STDERR $sums->{databases} < $n ? sprintf("A run would back up %d of %d databases, about %s:\n", $sums->{databases}, $n, $size)
	  : counted("A run would back up %s database, about %s:\n", "A run would back up %s databases, about %s:\n", $n, $size);
	printf STDERR "  tables: %d, large objects: %d\n", @$sums{qw(tables large_objects)};
	print STDERR "  jobs: $config->{jobs}\n";
	# the sessions that keep the snapshot need more
	print STDERR '  connections to the source: ', connections_text(@$sums{qw(needed free_min free_max)}), "\n" if $sums->{needed} && !$config->{cluster_snapshot};
	my $method = $sums->{compression} // 'none';
	print STDERR sprintf($method eq 'none' ? '  archives: about %1$s' : '  archives: about %1$s with %2$s', size_text($archives), $method), "\n";
	print STDERR '  reused from previous archives: up to ', size_text($reused), "\n" if $reused;
	print STDERR '  free disk space: ', size_text($sums->{free_bytes}), "\n" if defined $sums->{free_bytes};
	print STDERR '  expected time of the dumps: about ', duration_text($sums->{expected_seconds}), "\n" if $sums->{expected_seconds};
	print STDERR "  old backups to remove: $sums->{expired}\n" if defined $sums->{expired};
	print STDERR "hint: Using 1 worker for about $size; set \"jobs\" in the configuration to run more.\n"
	  if !$config->{jobs_given} && $sums->{expected_bytes} >= HINT_BYTES;
	return if !defined $sums->{free_bytes} || $archives - $reused <= $sums->{free_bytes};
	report('warning', "the file system of directory \"$config->{directory}\" might be too small for the archives of all databases\n"
		  . "hint: Specify a directory of a larger file system, or remove old backups.\n");
	return;
}

# Reports how many problems $n databases and the configuration have.  $n_wrong of its checks
# failed, those of the databases @failed among them.  Returns whether there are no errors.
sub report_verdict
{
	my ($config, $sums, $n_wrong, $n, @failed) = @_;
	# pg_pardump counts its errors only when it has begun to check
	my $errors = $n_wrong - @failed + sum0(map { $sums->{errors}{$_} || 1 } @failed);
	my $warnings = ($sums->{warnings} // 0) + n_warnings();
	my @numbers = ($errors + $warnings, $errors, $warnings);

	if (!$errors)
	{
		print STDERR !$warnings ? counted("no problems found in %s database\n", "no problems found in %s databases\n", $n)
		  : counted("%s problem (errors: %d, warnings: %d); a run would start\n", "%s problems (errors: %d, warnings: %d); a run would start\n", @numbers);
		return 1;
	}
	# a database without errors is backed up if nothing else is wrong
	my $text = $n_wrong == @failed && @failed < $n && !$config->{cluster_snapshot}
	  ? counted("%s problem (errors: %d, warnings: %d); a run would not back up %d of %d databases\n",
		"%s problems (errors: %d, warnings: %d); a run would not back up %d of %d databases\n", @numbers, scalar @failed, $n)
	  : counted("%s problem (errors: %d, warnings: %d); a run would fail\n", "%s problems (errors: %d, warnings: %d); a run would fail\n", @numbers);

	report('error', $text . ($n_wrong > @failed ? "detail: Errors of the configuration are listed before the first database.\n" : '')
		  . (@failed ? 'detail: Databases with errors: ' . first_names(map { quoted($_) } @failed) . ".\n" : ''));
	return 0;
}

1;
