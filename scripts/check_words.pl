#!/usr/bin/perl
#
# check_words.pl: find words that make a text hard to read.
#
# usage: scripts/check_words.pl PATH...
#
# PATH is a file, or a folder whose text files are read.  Prints FILE:LINE: WORDS
# for each occurrence, in upper or lower case, also where a line ends between two
# words.  The exit code is 0 if nothing was found, 1 if something was, and 2 if a
# file could not be read.

use strict;
use warnings;

use File::Find;

# What separates two words: spaces, or the end of a line and the signs that
# begin the next line of a comment.
my $space = qr{\s+(?:(?:\*|\#|//|--)\s+)?};

# "There is no" and "is no longer" are allowed, so they are skipped whole.  In
# quotes, "nobody" is the name of a role.
my @words = (
	'whoever', 'whatever', 'anew', 'in the end', 'all the same', 'so many', 'so often',
	'goes on', 'tells of', 'in vain', '(?<!")nobody', 'nobody(?!")', 'somebody', 'lest',
	'comes? to (?:an|its) end',
	'there is no(*SKIP)(*FAIL)', 'is no longer(*SKIP)(*FAIL)', 'is no');
my $pattern = join '|', map { s/ /$space/gr } @words;

my $found = 0;

sub fail
{
	warn "check_words.pl: @_\n";
	exit 2;
}

sub check_file
{
	my ($file) = @_;

	# This script and its test have to contain the words.
	return if !-f $file || -B $file || $file =~ /(^|\/)(check_words|008_house)\.pl$/;
	open(my $in, '<', $file) or fail("could not open file \"$file\": $!");
	my $text = do { local $/; <$in> // '' };

	while ($text =~ /\b($pattern)\b/gi)
	{
		my ($words, $before) = ($1, substr($text, 0, $-[1]));

		print "$file:", 1 + ($before =~ tr/\n//), ': ', $words =~ s/$space/ /gr, "\n";
		$found = 1;
	}
}

fail('no file or folder is given') if !@ARGV;
foreach my $path (@ARGV)
{
	fail("could not find \"$path\"") if !-e $path;
	find(
		{
			no_chdir => 1,
			preprocess => sub { sort grep { $_ ne '.git' } @_ },
			wanted => sub { check_file($_) }
		},
		$path);
}
exit $found;
