# --check: runs "pg_pardump --check" for each database, and reports the sums and the verdict.

package PardumpBackup::Check;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use JSON::PP qw(decode_json);
use List::Util qw(sum0);

use PardumpBackup::Listing qw(size_text);
use PardumpBackup::Message qw(report printable quoted counted first_names duration_text n_warnings);
use PardumpBackup::Programs qw(dump_options dump_with_pg_pardump);
use PardumpBackup::Store qw(now time_name belongs_to expired);

our @EXPORT_OK = qw(run_check check_database count_expired print_sums report_verdict);

# How the bytes of the tables would be read.
sub reader_text
{
	my ($text, $bytes) = @_;
	my ($by) = $text =~ /^  read by: (.*)/m or return '';

	return '' if !$bytes;
	return " ($1 with COPY)" if $by =~ /^extension, .*; COPY, ([^;(]*\S)/;
	return $by =~ /^extension/ ? ' (extension)' : ' (COPY)';
}

# "[1/2] shop: 321 tables, 1.46 GB (extension), archive about 210 MB", from the text and
# the event of pg_pardump's plan.
sub print_database
{
	my ($title, $text, $plan) = @_;

	print STDERR "$title: ", counted($plan->{tables}, 'table'), $plan->{large_objects} ? ', ' . counted($plan->{large_objects}, 'large object') : '',
	  ', ', size_text($plan->{expected_bytes}), reader_text($text, $plan->{expected_bytes}),
	  defined $plan->{archive_bytes} ? ', archive about ' . size_text($plan->{archive_bytes}) : '',
	  defined $plan->{reusable_bytes} ? ', reused up to ' . size_text($plan->{reusable_bytes}) : '', "\n";
	return;
}

# Calls a function that runs "pg_pardump --check" with {output} and with an option, which must
# come last, because "options" may contain another --log-json.  Adds the number of warnings
# in pg_pardump's event log to the sums.  Shows what it has printed: without -v only errors, warnings
# and hints.  Whether there is a problem is reported of all databases together.  Before, calls
# the function $plan with the text, and with the events of the check and of the plan.  Dies if
# the check failed; with a function $plan, which prints a title, and errors below it, without
# a message.
sub run_check
{
	my ($config, $sums, $function, $plan) = @_;
	my $log = File::Temp->new;
	open(my $printed, '+>', undef) or die "could not create a temporary file: $!\n";
	my $error = eval { $function->({ output => $printed }, "--log-json=$log"); 1 } ? undef : $@;

	seek $printed, 0, 0;
	my $text = do { local $/; <$printed> } // '';
	my %events = map { $_->{event} => $_ } map { decode_json($_) } grep { /"event":"check(?:_plan)?"/ } <$log>;
	$sums->{warnings} += $events{check}{warnings} // 0;
	$plan->($text, @events{qw(check check_plan)}) if $plan;
	# all archives together need room on one disk
	print STDERR $config->{verbose} ? $text =~ s/^(?:  free disk space: .*|no problems found.*|\d+ problems? found\b.*)\n//mgr
	  : $text =~ s/^(?:\[\d+\/\d+\] .*\n(?!(?:error|warning): )|A run would .*\n(?:  .*\n)*|no problems found.*\n|\d+ errors?, .*\n|\d+ problems? found\b.*\n)//mgr;
	die $plan && $events{check}{errors} && $error =~ / failed with exit code \d+\n\z/ ? "\n" : $error if defined $error;
	return;
}

# Checks a database, and adds all numbers in pg_pardump's event log to the sums.
sub check_database
{
	my ($config, $database, $number, $backup, $previous, $sums) = @_;
	my ($plan, $needed, $left);

	run_check($config, $sums, sub {
		my ($how, $log) = @_;
		dump_with_pg_pardump($config, 'pg_pardump --check', $database, $how, '--check', dump_options($config, $backup, $previous), $log);
	}, sub {
		(my ($text, $check), $plan) = @_;

		$sums->{errors}{$database} = $check->{errors} // 0;
		($needed, $left) = $text =~ /^  connections to the source: (\d+) needed(.*)/m;
		my $title = "$number " . printable($database);
		if ($config->{verbose}) { return; }
		elsif ($plan) { print_database($title, $text, $plan); }
		elsif ($check) { print STDERR "$title:\n"; }
	});
	return if !$plan;
	$sums->{databases}++;
	$sums->{$_} += $plan->{$_} // 0 foreach qw(tables large_objects expected_bytes archive_bytes reusable_bytes expected_seconds);
	$sums->{$_} = $plan->{$_} // $sums->{$_} foreach qw(free_bytes compression);
	@$sums{qw(needed left)} = ($needed, $left) if defined $needed && $needed > ($sums->{needed} // 0);
	return;
}

# How many old backups of the database a run would remove after it has made a new one.
sub count_expired
{
	my ($config, $server, $good) = @_;
	my @own = grep { belongs_to($_, $server) } @$good;
	return @own ? scalar expired([ { name => time_name(now()) }, @own ], $config->{keep_last}, $config->{keep_days}) : 0;
}

# What a run of $n databases would do.  All archives together need room on one disk.
sub print_sums
{
	my ($config, $sums, $n) = @_;
	my ($archives, $reused) = map { $_ // 0 } @$sums{qw(archive_bytes reusable_bytes)};
	my @what = (($sums->{databases} // 0) < $n ? sprintf('%d of %s', $sums->{databases} // 0, counted($n, 'database')) : counted($n, 'database'),
		counted($sums->{tables} // 0, 'table'), $sums->{large_objects} ? counted($sums->{large_objects}, 'large object') : ());
	my $last = pop @what;

	return if !$sums->{databases};
	print STDERR 'A run would back up ', join(', ', @what), " and $last, about ", size_text($sums->{expected_bytes}), ":\n", "  jobs: $config->{jobs}\n";
	# the sessions that keep the snapshot need more
	print STDERR "  connections to the source: $sums->{needed} needed$sums->{left}\n" if defined $sums->{needed} && !$config->{cluster_snapshot};
	print STDERR '  archives: about ', size_text($archives), ($sums->{compression} // 'none') eq 'none' ? '' : " with $sums->{compression}", "\n";
	print STDERR '  reused from previous archives: up to ', size_text($reused), "\n" if $reused;
	print STDERR '  free disk space: ', size_text($sums->{free_bytes}), "\n" if defined $sums->{free_bytes};
	print STDERR '  expected time of the dumps: about ', duration_text($sums->{expected_seconds}), "\n" if $sums->{expected_seconds};
	print STDERR "  old backups to remove: $sums->{expired}\n" if defined $sums->{expired};
	return if !defined $sums->{free_bytes} || $archives - $reused <= $sums->{free_bytes};
	report('warning', "the file system of directory \"$config->{directory}\" might be too small for the archives of all databases\n"
		  . "hint: Specify a directory of a larger file system, or remove old backups.\n");
	return;
}

# Reports how many problems $n databases and the configuration have.  $n_wrong of its checks
# failed, those of the databases @failed among them.  Returns whether there are no errors.
sub report_verdict
{
	my ($sums, $n_wrong, $n, @failed) = @_;
	my $all = counted($n, 'database');
	# pg_pardump counts its errors only when it has begun to check
	my $errors = $n_wrong - @failed + sum0(map { $sums->{errors}{$_} || 1 } @failed);
	my $warnings = ($sums->{warnings} // 0) + n_warnings();
	my $found = counted($errors + $warnings, 'problem') . ($n ? " found in $all" : ' found');
	my $list = join ', ', $errors ? counted($errors, 'error') : (), $warnings ? counted($warnings, 'warning') : ();

	if (!$errors)
	{
		print STDERR $warnings ? "$found: $list; a run would start\n" : "no problems found in $all\n";
		return 1;
	}
	report('error', "$found: $list; a run would fail\n"
		  . ($n_wrong > @failed ? "detail: Errors of the configuration are listed before the first database.\n" : '')
		  . (@failed ? 'detail: Databases with errors: ' . first_names(map { quoted($_) } @failed) . ".\n" : ''));
	return 0;
}

1;
