# Messages on standard error, and the line that shows progress on a terminal.

package PardumpBackup::Message;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(min);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our @EXPORT_OK = qw(inform report with_detail as_detail printable quoted counted first_names duration_text option_error terminal_width show_progress clear_progress end_progress
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

sub inform
{
	clear_progress();
	print STDERR "pg_pardump_backup: $_[0]\n";
	return;
}

my $n_warnings = 0;

# How many warnings were reported.
sub n_warnings { return $n_warnings; }

# An error or a warning.  Lines of the text that begin with "detail: " or "hint: " are
# messages of their own.
sub report
{
	my ($kind, $text) = @_;
	$n_warnings++ if $kind eq 'warning';
	inform($_) foreach split /\n(?=(?:detail|hint): )/, "$kind: " . $text =~ s/\n\z//r;
	return;
}

# A text of a message with one more detail, which is the first one.
sub with_detail
{
	my ($text, $detail) = @_;
	return $text =~ s/^(.*)\n?/$1\ndetail: $detail\n/r;
}

# The text of an error as a detail of another message: its first line becomes a sentence.
sub as_detail { return 'detail: ' . ucfirst($_[0]) =~ s/\n/.\n/r; }

# Control characters could change the terminal.
sub printable { return $_[0] =~ tr/\x00-\x1f\x7f/?/r; }

sub quoted { return '"' . printable($_[0]) . '"'; }

sub with_commas { return scalar reverse join ',', reverse($_[0]) =~ /(\d{1,3})/g; }

sub counted
{
	my ($number, $noun) = @_;
	return with_commas($number) . " $noun" . ($number == 1 ? '' : 's');
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

# The percentage, and the other fields, of a line of pg_pardump or pg_parrestore that shows
# progress.  A stage such as "syncing files to disk 3/9" has no percentage.
sub progress_of_line
{
	my ($line) = @_;
	return ($1, split /, /, $2) if $line =~ /^ *(?:[a-z]+ +)*(\d+)%(?:, (.*))?\z/;
	return (undef, split /, /, $line) if $line =~ /^[A-Za-z ]+(?: \d+(?:\/\d+)?)?, time \d+:\d\d/;
	return;
}

# A function for "lines" of run(), which shows what a program with --progress does in one
# line, "TITLE: VERB 45%, ETA 0:41", and passes on the messages.  The summary of the program
# is left out, and so are its hints that do not follow a message.  With $is_users, every line
# is a message, of a command of the user.
sub progress_lines
{
	my ($title, $verb, $is_users) = @_;
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my ($first, @fields) = ("$title: $verb");
	my ($in_summary, $n_shown) = (0, 0);

	return sub {
		my ($line) = @_;
		my ($percent, @more) = defined $line && !$is_users ? progress_of_line($line) : ();

		if (defined $percent || @more)
		{
			$first = defined $percent ? "$title: $verb $percent%" : "$title: " . shift @more;
			@fields = grep { !/^time / } @more;
		}
		elsif (defined $line)
		{
			$in_summary = $line =~ /^(?:(?:dumped|read from|restored|reused) |(?:largest table|masked|retries|slowest table|time): )/ || $in_summary && $line =~ /^  /;
			return if !$is_users && ($in_summary || !$n_shown && $line =~ /^\w+: hint: /);
			clear_progress();
			print STDERR "$line\n";
			$n_shown++;
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
