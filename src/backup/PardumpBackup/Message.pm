# Messages on standard error, and the line that shows progress on a terminal.

package PardumpBackup::Message;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP qw(decode_json);
use List::Util qw(min);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our @EXPORT_OK = qw(inform show report with_detail cause caused_by messages_of read_events printable quoted counted first_names duration_text option_error terminal_width show_progress clear_progress end_progress
  n_warnings progress_of_line progress_lines);

# As in help.c.
use constant MAX_DISTANCE => 2;

# The names that a message contains at most.
use constant MAX_NAMES => 5;

# ioctl_list(2)
use constant TIOCGWINSZ => 0x5413;

# Bytes of the line that is shown, which are columns at least.
my $shown = 0;

sub clear_progress
{
	print STDERR "\r", ' ' x $shown, "\r" if $shown;
	$shown = 0;
	return;
}

# A message about a database names it in its first words, as messages of
# "pg_pardump --all-databases" do.  Lines of the text that begin with "detail: " or "hint: "
# are messages of their own.  All are written at once, because a pg_pardump that still runs
# writes to the same file.
sub inform
{
	my ($text, $database) = @_;
	my $prefix = 'pg_pardump_backup:' . (defined $database ? printable($database) . ':' : '');
	clear_progress();
	print STDERR join '', map { "$prefix $_\n" } split /\n(?=(?:detail|hint): )/, $text;
	return;
}

my $n_warnings = 0;

# How many warnings were reported.
sub n_warnings { return $n_warnings; }

# Shows an error or a warning.
sub show
{
	my ($kind, $text, $database) = @_;
	return inform("$kind: " . $text =~ s/\n\z//r, $database);
}

# Shows such a message, and counts it.
sub report
{
	my ($kind, $text) = @_;
	$n_warnings++ if $kind eq 'warning';
	return show($kind, $text);
}

# A text of a message with one more detail, after the others and before the hints.
sub with_detail
{
	my ($text, $detail) = @_;
	return $text =~ s/\n?\z/\n/r =~ s/^(.*\n(?:(?!hint: ).*\n)*)/$1detail: $detail\n/r;
}

# The text of an error as a detail of another one.  Its first line becomes a sentence, which
# does not change the name of a program.
sub cause
{
	my ($text) = @_;
	$text = ucfirst $text if $text !~ /^(?:pg_|psql )/;
	return "detail: $text" =~ s/\n/.\n/r;
}

# The text of an error, whose cause is another error.
sub caused_by { return "$_[0]\n" . cause($_[1]); }

# The events of a log.  Its last line is incomplete if the disk was full.
sub read_events
{
	my ($log) = @_;
	local $@;
	return map { eval { decode_json($_) } // () } <$log>;
}

# The errors and warnings in an event log, each with its kind and its text.
sub messages_of
{
	my (@events) = @_;
	my (@messages, %last);

	foreach my $event (grep { $_->{event} eq 'error' || $_->{event} eq 'warning' } @events)
	{
		my ($part) = grep { defined $event->{$_} } qw(message detail hint);
		# events contain names and messages of the server as they are
		utf8::encode(my $text = printable($event->{$part} =~ s/\n\t?/ /gr) =~ tr/\x80-\x9f/?/r . "\n");
		# events of several processes may alternate
		my $message = \$last{ $event->{pid} };

		push @messages, $$message = [ $event->{event}, '' ] if $part eq 'message';
		$$message->[1] .= $part eq 'message' ? $text : "$part: $text";
	}
	return @messages;
}

# Control characters could change the terminal.
sub printable { return $_[0] =~ tr/\x00-\x1f\x7f/?/r; }

sub quoted { return '"' . printable($_[0]) . '"'; }

sub with_commas { return scalar reverse join ',', reverse($_[0]) =~ /(\d{1,3})/g; }

# The text for one or for several, like ngettext(), with the number, which comes first, and
# other values.
sub counted
{
	my ($one, $several, $number, @values) = @_;
	return sprintf $number == 1 ? $one : $several, with_commas($number), @values;
}

# The names, or the first ones of a list that would fill the screen.
sub first_names
{
	my @names = map { printable($_) } @_;
	return join(', ', @names) if @names <= MAX_NAMES;
	return join(', ', @names[ 0 .. MAX_NAMES - 1 ]) . ' and ' . (@names - MAX_NAMES) . ' more';
}

sub duration_text
{
	my ($seconds) = @_;
	my ($h, $min, $s) = (int($seconds / 3600), $seconds / 60 % 60, $seconds % 60);
	return $h ? sprintf('%d:%02d:%02d', $h, $min, $s) : sprintf('%d:%02d', $min, $s);
}

# The number of characters to insert, remove or replace to make one word of another.
sub distance
{
	my ($one, $other) = @_;
	my @row = 0 .. length $other;

	foreach my $i (1 .. length $one)
	{
		my $diagonal = $row[0]++;

		foreach my $j (1 .. length $other)
		{
			my $replaced = $diagonal + (substr($one, $i - 1, 1) ne substr($other, $j - 1, 1));

			$diagonal = $row[$j];
			$row[$j] = min($replaced, $row[$j] + 1, $row[ $j - 1 ] + 1);
		}
	}
	return $row[-1];
}

# A message of Getopt::Long in PostgreSQL's words, with a hint at the option that was
# meant, by the rule of help.c.
sub option_error
{
	my ($text, @known) = @_;

	$text =~ s/^Option (\S+) (?=requires|does)/option --$1 /;
	return $text if $text !~ /^Unknown option: (.*)/;
	my $word = $1;
	return "unrecognized option \"-$word\"\n" if length $word == 1;
	my ($best) = sort { $a->[0] <=> $b->[0] } map { [ distance($word, $_), $_ ] } @known;
	my $hint = $best->[0] <= MAX_DISTANCE && 2 * $best->[0] <= length $word ? "hint: Perhaps you meant the option \"--$best->[1]\".\n" : '';
	return "unrecognized option \"--$word\"\n$hint";
}

# Nothing if the file is not a terminal, or if its width is unknown.
sub terminal_width
{
	my ($fh) = @_;
	my $size = pack 'S4', 0;
	return if !-t $fh || !ioctl $fh, TIOCGWINSZ, $size;
	return (unpack 'S4', $size)[1] || undef;
}

# Shows a line in place of the last one, with as many of the fields as fit: a line that
# wraps could not be replaced.
sub show_progress
{
	my ($line, @fields) = @_;
	my $room = (terminal_width(\*STDERR) // 80) - 1;

	foreach my $field (@fields)
	{
		$line .= ", $field" if length "$line, $field" <= $room;
	}
	$line = substr $line, 0, $room;
	print STDERR "\r", ' ' x $shown, "\r$line";
	$shown = length $line;
	return;
}

# The percentage, and all fields except elapsed times, of a line of pg_pardump or pg_parrestore
# that shows progress: its fields are separated by ", ", and one of them is a time.
# The words of the line do not matter.  A stage such as "syncing files to disk 3/9" has no
# percentage.
sub progress_of_line
{
	my ($line) = @_;
	my ($first, @fields) = split /, /, $line =~ s/^ +//r =~ s/  +/ /gr;
	my $time = qr/^(?:\S+ )?\d+(?::\d\d){1,2}\z/;

	return if !defined $first || $first =~ /[:"]/ || !grep { $_ =~ $time } @fields;
	my ($percent) = $first =~ /(\d+)%\z/;
	# until the end, the time that is left follows the percentage
	my @left = defined $percent && $percent < 100 ? shift @fields : ();
	return ($percent, $first, @left, grep { $_ !~ $time } @fields);
}

# A function for "lines" of run(), which shows what a program with --progress does in one
# line, "TITLE: VERB 45%, ETA 0:41", and passes on the messages.  At its end, the program
# prints a summary, which is not shown: a line with a colon at its end, and then indented
# lines.  Hints of a run without errors or warnings, such as that about one worker, are shown by
# --check.  With $is_users, every line is a message, of a command of the user.
sub progress_lines
{
	my ($title, $verb, $is_users) = @_;
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my ($first, @fields) = ("$title: $verb");
	my (@summary, $has_messages);

	return sub {
		my ($line) = @_;
		my ($percent, $stage, @more) = defined $line && !$is_users ? progress_of_line($line) : ();
		my @messages;

		if (defined $stage)
		{
			$first = $stage =~ /^\d/ ? "$title: $verb $stage" : "$title: $stage";
			@fields = @more;
		}
		elsif (defined $line && !$is_users && $line !~ /^pg_\w+: / && (@summary > 1 || $line =~ (@summary ? qr/^  / : qr/^\S.*:\z/)))
		{
			push @summary, $line;
			return;
		}
		elsif (defined $line && ($is_users || $has_messages || $line !~ /^pg_\w+: hint: /))
		{
			@messages = $line;
			$has_messages = 1;
		}
		if (defined $line)
		{
			# no summary: the program has not ended
			unshift @messages, splice @summary;
			clear_progress() if @messages;
			print STDERR "$_\n" foreach @messages;
		}
		show_progress($first, @fields, 'time ' . duration_text(clock_gettime(CLOCK_MONOTONIC) - $began));
	};
}

# Leaves the last line as it is.
sub end_progress
{
	print STDERR "\n" if $shown;
	$shown = 0;
	return;
}

1;
