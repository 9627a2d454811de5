# Compare doc/errors.md with the messages of the programs and of the extension: each
# message of the page is a text of the source.  "..." of the page is a placeholder of
# the source.  Headings of the third level are messages, and so is each code span of
# a paragraph that begins with "Also:".  The section of PostgreSQL's own messages is left
# out, as these are not in the source.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Find;
use FindBin;
use Test::More;

use constant FOREIGN => 'Messages of PostgreSQL';

my $tree = abs_path("$FindBin::RealBin/..");

sub read_text
{
	my ($file) = @_;

	open(my $in, '<', $file) or die "could not open file \"$file\": $!";
	local $/;
	return scalar <$in>;
}

# The form in which a text of the source and one of the page are compared: the first
# line, with one kind of placeholder, and one space between words.
sub plain
{
	my ($text) = @_;

	$text =~ s/\n.*//s;
	$text =~ s/\s+/ /g;
	$text =~ s/\.{3,}(?: ?\.{3,})*/.../g;
	return $text =~ s/^ | $//gr;
}

sub unescape { return $_[0] =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/gser; }

sub with_placeholders
{
	my ($format) = @_;

	$format =~ s/%(?!%)[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j)?[a-zA-Z]/.../g;
	return $format =~ s/%%/%/gr;
}

# A string of Perl with its quotes.  It may contain variables.
sub string_of_perl
{
	my ($text) = @_;
	my $is_literal = $text =~ /^'/;

	$text = substr $text, 1, -1;
	return $text if $is_literal;
	$text =~ s/\$\{?(?:\w+|[\$!@.])\}?(?:(?:->)?(?:\[[^\]]*\]|\{[^}]*\}))*/.../g;
	return unescape($text);
}

# The texts of a file of C, each with its line.  Strings that follow each other are one
# text, and a macro between or after them is a placeholder.
sub texts_of_c
{
	my ($source) = @_;
	my (@texts, $text);
	my ($line, $first) = (1, 1);

	while ($source =~ m{\G(?:(/\*.*?\*/|//[^\n]*|\s+|\\\n)|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)*'|([A-Z][A-Z0-9_]+\b)|\w+|.)}gcs)
	{
		my ($token, $space, $string, $macro) = ($&, $1, $2, $3);

		if (defined $string)
		{
			$first = $line if !defined $text;
			$text = ($text // '') . $string;
		}
		elsif (defined $macro && defined $text)
		{
			$text .= '...';
		}
		elsif (!defined $space)
		{
			push @texts, [ plain(unescape(with_placeholders($text))), $first ] if defined $text;
			$text = undef;
		}
		$line += $token =~ tr/\n//;
	}
	return @texts;
}

# The texts of a file of Perl.  An expression between two strings, or after them, is a
# placeholder.
sub texts_of_perl
{
	my ($source) = @_;
	my $string = qr/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/;
	my $expression = qr/[\$\w](?:->|[^"';,\n?:])*?/;
	my @texts;

	$source =~ s/^[ \t]*#[^\n]*//mg;
	while ($source =~ /\G(?:(sprintf[ (]+)?($string(?:\s*\.\s*(?:$expression\s*\.\s*)?$string)*(?:\s*\.\s*[\$\w(])?)|<<'END';\n([^\n]*)|.)/gs)
	{
		my ($is_format, $strings, $here) = ($1, $2, $3);
		my $text = $here // '';

		next if !defined $strings && !defined $here;
		my $line = 1 + (substr($source, 0, $-[0]) =~ tr/\n//);
		while (defined $strings && $strings =~ /($string)|([\$\w(][^"']*)/g)
		{
			$text .= defined $1 ? string_of_perl($1) : '...';
		}
		# counted() has formats, too, which contain a number
		push @texts, [ plain($is_format || $text =~ /%s/ ? with_placeholders($text) : $text), $line ];
	}
	return @texts;
}

# The messages of a page, in their order.
sub messages_of
{
	my ($page) = @_;
	my ($section, @messages) = ('');

	foreach my $paragraph (split /\n{2,}/, $page)
	{
		$section = $1 if $paragraph =~ /^## (.+)/;
		next if $section =~ /^\Q@{[FOREIGN]}\E/;
		push @messages, $1 if $paragraph =~ /^### (.+)/;
		push @messages, $paragraph =~ /`([^`]+)`/g if $paragraph =~ /^Also: /;
	}
	return @messages;
}

# How alike two texts are, from 0 to 1: by the words and the pairs of words that both
# have.
sub likeness
{
	my ($one, $other) = map
	{
		my @words = ('', split(/[^\w-]+/, lc), '');
		[ @words, map { "$words[$_] $words[ $_ + 1 ]" } 0 .. $#words - 1 ]
	} @_;
	my %parts;

	$parts{$_}++ foreach @$one;
	my $common = grep { ($parts{$_} // 0) > 0 && $parts{$_}-- } @$other;
	return 2 * $common / (@$one + @$other);
}

# The messages of the page that the texts do not have, with the nearest texts of each.
# What follows a punctuation mark in a text may be missing in the message.
sub missing
{
	my ($messages, $texts) = @_;
	my (%known, @missing);

	foreach my $text (map { $_->[0] =~ s/^(?:error|warning|hint): //r } @$texts)
	{
		$known{$text} = 1;
		$known{ substr $text, 0, $-[0] } = 1 while $text =~ /[.:;,](?: |\z)| \(/g;
	}
	foreach my $message (@$messages)
	{
		next if $known{ plain($message) };
		my @nearest = map { $_->[1] } sort { $b->[0] <=> $a->[0] } map { [ likeness($message, $_->[0]), $_ ] } @$texts;

		push @missing, join "\n    ", "not in the source: $message", 'nearest texts:',
		  map { "$_->[0] ($_->[2], line $_->[1])" } grep { defined } @nearest[ 0 .. 2 ];
	}
	return @missing;
}

sub texts_below
{
	my ($dir) = @_;
	my @texts;

	find(
		{
			no_chdir => 1,
			wanted => sub {
				my $read = /\.[ch]$/ ? \&texts_of_c : /\.p[lm]$/ ? \&texts_of_perl : return;
				my $file = s/^\Q$tree\E\///r;
				push @texts, map { [ @$_, $file ] } $read->(read_text($_));
			}
		},
		$dir);
	return sort { "$a->[2]" cmp "$b->[2]" || $a->[1] <=> $b->[1] } @texts;
}

# ---- the page

my @messages = messages_of(read_text("$tree/doc/errors.md"));
my @texts = texts_below("$tree/src");

cmp_ok(scalar(@texts), '>', 2000, 'the source has texts');
cmp_ok(scalar(@messages), '>=', 80, 'the page has messages');
my %seen;
is_deeply([ grep { $seen{$_}++ } @messages ], [], 'the page contains no message twice');
my @missing = missing(\@messages, \@texts);
is(scalar(@missing), 0, 'the source contains all messages of the page') or diag(join "\n", @missing);

# ---- the test sees what it is to see

is_deeply(
	[ texts_of_c(qq{/* "not this" */\nf("file \\"%s\\" has %d rows"\n  " of %5.1f%%", x, LIMIT);\ng("in " MB " or less: " INT64_FORMAT "\\nnext", '"', "%m");}) ],
	[ [ 'file "..." has ... rows of ...%', 2 ], [ 'in ... or less: ...', 4 ], [ '...', 4 ] ],
	'texts of C');
is_deeply(
	[ texts_of_perl(qq{# "not this"\nf("file \\"\$c->{name}[0]\\": \$!\\n");\ng('backup ' . title(\$_[0]) . " is \$state", 'x');\n}) ],
	[ [ 'file "...": ...', 2 ], [ 'backup ... is ...', 3 ], [ 'x', 3 ] ],
	'texts of Perl');
is_deeply(
	[ messages_of("### one\n\nAlso: `two`,\n`three`.\n\n`Not`: this\n\n## @{[FOREIGN]} and others\n\n### four\n\n## Five\n\n### six\n") ],
	[qw(one two three six)], 'messages of a page');
is_deeply(
	[ missing([ 'could not open file "..."', 'disk is full' ], [ [ 'could not open file "..."', 1, 'a.c' ], [ 'the disk is full', 7, 'b.c' ] ]) ],
	["not in the source: disk is full\n    nearest texts:\n    the disk is full (b.c, line 7)\n    could not open file \"...\" (a.c, line 1)"],
	'a message that was reworded is reported with the nearest texts');

done_testing();
