# Prints the table of --list, or its JSON; and the summary of --verify.

package PardumpBackup::Listing;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use List::Util qw(sum0);
use POSIX qw(strftime);

use PardumpBackup::Message qw(printable counted first_names duration_text terminal_width);
use PardumpBackup::Store qw(now database_of);

our @EXPORT_OK = qw(print_table print_json print_verified name_of size_text age_text elapsed_text);

# Columns that are never narrower: for a size with three digits, and for databases.
use constant { MIN_SIZE => 7, MIN_NAMES => 20 };

# As src/frontend/base/units.c prints sizes.
sub size_text
{
	my ($bytes) = @_;
	my @units = qw(kB MB GB TB PB EB);
	my $value = $bytes / 1024;

	return "$bytes bytes" if $bytes < 1024;
	for (; $value >= 999.5 && @units > 1; $value /= 1024)
	{
		shift @units;
	}
	return sprintf '%.*f %s', $value < 9.995 ? 2 : $value < 99.95 ? 1 : 0, $value, $units[0];
}

sub age_text
{
	my ($seconds) = @_;
	return 'future' if $seconds < 0;
	return sprintf '%d s', $seconds if $seconds < 60;
	return sprintf '%d min', $seconds / 60 if $seconds < 3600;
	return sprintf '%d h', $seconds / 3600 if $seconds < 48 * 3600;
	return sprintf '%d d', $seconds / 86400;
}

# How --list and messages name the backup of a database.  --verify and --restore take it.
sub name_of { return printable(database_of($_[0]{folder}) . "/$_[0]{name}"); }

# How long a step took.
sub elapsed_text { return $_[0] < 59.95 ? sprintf('%.1f s', $_[0]) : duration_text($_[0]); }

# A name as it is, with quotes if its ends would not be visible.
sub name_text
{
	my ($name) = @_;
	my $text = printable($name);
	return $text if $text !~ /^\s|\s\z|[,"]|^\z/;
	return '"' . $text =~ s/"/""/gr . '"';
}

sub status_text
{
	my ($backup) = @_;
	my $verified = $backup->{verified};
	return defined $backup->{problem} ? 'no valid record' : !$backup->{complete} ? 'incomplete' : !$verified ? 'not verified'
	  : $verified->{good} ? 'verified' : $verified->{unreadable} ? 'UNREADABLE' : 'DAMAGED';
}

# The text without a date, which differs between the databases of a run.
sub expiry_text
{
	my ($backup) = @_;
	my $keeps = $backup->{keeps};

	return '-' if !$backup->{complete};
	return 'only in store' if $backup->{store_only};
	return 'never' if !$keeps;
	return 'DATE' if defined $keeps->{until} && $keeps->{until} > now();
	return 'next run' if !$keeps->{newer};
	return counted('after %s more backup', 'after %s more backups', $keeps->{newer});
}

# Characters on a terminal, as far as there is one for each code point.
sub width
{
	my ($text) = @_;
	utf8::decode(my $copy = $text);
	return length $copy;
}

# The columns of a terminal that columns of these widths leave; undefined for a file.
sub room
{
	my ($columns, @widths) = @_;
	$columns -= $_ + 2 foreach defined $columns ? @widths : ();
	return $columns;
}

# As many names as fit; all names if there is no limit.
sub names_text
{
	my ($room, @names) = @_;
	my $all = join ', ', @names;
	my $text = shift @names;

	return $all if !defined $room || width($all) <= $room;

	while (@names > 1 && width(sprintf '%s, %s and %d more', $text, $names[0], @names - 1) <= $room)
	{
		$text .= ', ' . shift @names;
	}
	return @names ? sprintf('%s and %d more', $text, scalar @names) : $text;
}

# The backups of a row: of one run, with the same texts.
sub row
{
	my ($verbose, @backups) = @_;
	my $first = $backups[0];
	my ($started) = sort { $a <=> $b } map { $_->{started} } @backups;
	my ($until) = sort { $a <=> $b } map { $_->{keeps}{until} // () } grep { $_->{keeps} } @backups;
	my $bytes = 0;
	my $expires = expiry_text($first);

	$bytes += $_->{bytes} // 0 foreach @backups;
	return [
		name_text($first->{run}), strftime('%Y-%m-%d %H:%M', localtime $started), age_text(now() - $started),
		$first->{pipe} || !$first->{complete} ? '-' : size_text($bytes), status_text($first),
		$expires eq 'DATE' ? strftime('%Y-%m-%d', localtime $until) : $expires,
		$verbose ? ($first->{complete} ? duration_text($first->{finished} - $first->{started}) : '-', name_text($first->{database}), $first->{archive} // '-')
		: [ map { name_text($_->{database}) } @backups ] ];
}

# A row for each run, or with $verbose for each backup, with its archive's path.
sub print_table
{
	my ($config, $backups, $verbose) = @_;
	my @heads = ('name', 'started', 'age', 'size', 'status', 'expires', $verbose ? ('took', 'database', 'archive') : 'databases');
	my (@keys, %groups);

	if (!@$backups)
	{
		print "There are no backups in directory \"$config->{directory}\".\n";
		return;
	}
	foreach my $backup (@$backups)
	{
		my $key = join "\0", $backup->{run}, status_text($backup), expiry_text($backup), $backup->{pipe} ? 1 : 0,
		  $verbose ? "$backup->{folder}/$backup->{name}" : ();
		push @keys, $key if !$groups{$key};
		push @{ $groups{$key} }, $backup;
	}
	my @rows = map { row($verbose, @{ $groups{$_} }) } @keys;
	my @widths = map { $_ eq 'size' ? MIN_SIZE : width($_) } @heads;
	foreach my $row (@rows)
	{
		foreach my $i (0 .. $#heads - 1)
		{
			my $width = width($row->[$i]);
			$widths[$i] = $width if $width > $widths[$i];
		}
	}
	my @shown = (0 .. $#heads - 1);
	my $columns = terminal_width(\*STDOUT);
	my $room = room($columns, @widths[@shown]);
	if (defined $room && $room < MIN_NAMES)
	{
		# the name of a run is the same time, in UTC
		@shown = grep { $heads[$_] ne 'started' } @shown;
		$room = room($columns, @widths[@shown]);
		$room = MIN_NAMES if $room < MIN_NAMES;
	}
	foreach my $row (\@heads, @rows)
	{
		my @cells = map { ref $_ ? names_text($room, @$_) : $_ } @$row;
		# sizes are numbers
		print join('  ', map { my $blanks = ' ' x ($widths[$_] - width($cells[$_])); $heads[$_] eq 'size' ? "$blanks$cells[$_]" : "$cells[$_]$blanks" } @shown),
		  "  $cells[-1]\n";
	}
	print "\n\"never\": no run removes a backup of another server; see --adopt.\n" if grep { $_->[5] eq 'never' } @rows;
	print "\n\"only in store\": no run removes a backup whose record is only in the store; see --rebuild.\n" if grep { $_->[5] eq 'only in store' } @rows;
	return;
}

sub json_time { return defined $_[0] ? strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $_[0]) : undef; }

sub json_bool { return $_[0] ? JSON::PP::true : JSON::PP::false; }

# JSON is UTF-8; a name or path that is not has replacement characters.
sub json_text
{
	my ($text) = @_;
	return undef if !defined $text;
	my $copy = $text;
	utf8::decode($copy) or $copy =~ s/[^\x00-\x7f]/\x{FFFD}/g;
	return $copy;
}

sub json_backup
{
	my ($backup) = @_;
	my ($verified, $keeps) = @$backup{qw(verified keeps)};

	return {
		name => json_text($backup->{run}),
		time => $backup->{name},
		database => json_text($backup->{database}),
		folder => $backup->{folder},
		path => json_text($backup->{path}),
		archive => json_text($backup->{archive}),
		complete => json_bool($backup->{complete}),
		# the word of the table
		status => lc status_text($backup),
		pipe => json_bool($backup->{pipe}),
		only_in_store => json_bool($backup->{store_only}),
		problem => json_text($backup->{problem}),
		started => json_time($backup->{started}),
		finished => json_time($backup->{finished}),
		age_seconds => now() - $backup->{started},
		seconds => defined $backup->{finished} ? $backup->{finished} - $backup->{started} : undef,
		bytes => $backup->{pipe} || !defined $backup->{bytes} ? undef : $backup->{bytes} + 0,
		cluster_snapshot => $backup->{cluster_snapshot},
		verified => $verified ? { time => json_time($verified->{time}), map { $_ => json_bool($verified->{$_}) } qw(good unreadable) } : undef,
		kept_until => $keeps ? { time => json_time($keeps->{until}), newer_backups => $keeps->{newer} } : undef };
}

sub print_json
{
	my ($config, $backups) = @_;
	print JSON::PP->new->utf8->canonical->pretty->encode({
		configuration => json_text($config->{name}),
		directory => json_text($config->{directory}),
		backups => [ map { json_backup($_) } @$backups ] });
	return;
}

# The summary of --verify.  The result for each backup is "verified", "damaged" or "unreadable".
sub print_verified
{
	my ($seconds, $backups, $results) = @_;
	my %found = map { $_ => [] } qw(verified damaged unreadable);

	push @{ $found{ $results->[$_] } }, $backups->[$_] foreach 0 .. $#$backups;
	my ($n, $n_good, $n_damaged, $n_unreadable) = map { scalar @$_ } $backups, @found{qw(verified damaged unreadable)};
	my $took = elapsed_text($seconds);

	if ($n_good == $n)
	{
		# backups from old versions have no record of their size
		my $known = !grep { !defined $_->{bytes} } @$backups;
		print $known ? counted("verified %s backup, %s stored, in %s\n", "verified %s backups, %s stored, in %s\n", $n, size_text(sum0(map { $_->{bytes} } @$backups)), $took)
		  : counted("verified %s backup in %s\n", "verified %s backups in %s\n", $n, $took);
		return;
	}
	print counted("checked %s backup in %s (good: %d, damaged: %d, unreadable: %d)\n", "checked %s backups in %s (good: %d, damaged: %d, unreadable: %d)\n",
		$n, $took, $n_good, $n_damaged, $n_unreadable);
	print '  damaged: ', first_names(map { name_of($_) } @{ $found{damaged} }), "\n" if $n_damaged;
	print '  unreadable: ', first_names(map { name_of($_) } @{ $found{unreadable} }), "\n" if $n_unreadable;
	return;
}

1;
