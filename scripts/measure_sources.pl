#!/usr/bin/perl
#
# measure_sources.pl: print the size of the sources in C, and how they are cut.
#
# usage: scripts/measure_sources.pl [COMMIT...]
#
# Measures the working tree, or each COMMIT: lines of code without comments and
# blank lines, files, folders, the share of comments in .c files, externs per 1,000
# lines of code, and the words of check_words.pl in the comments and strings of src
# and in t.

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Find;
use File::Temp qw(tempdir);

my $top = dirname($0) . '/..';

# The lines of a text that have something besides blanks.
sub lines { return scalar grep { /\S/ } split /\n/, $_[0] }

# A text of C without its comments; strings are kept, even if they contain comments.
sub code
{
	my ($text) = @_;

	return $text =~ s{("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|/\*.*?\*/|//[^\n]*}{$1 // ''}gesr;
}

sub measure
{
	my ($dir) = @_;
	my %n = map { $_ => 0 } qw(c h lines code comments c_lines externs words);
	my %folders;

	find(
		{
			no_chdir => 1,
			wanted => sub {
				my ($folder, $type) = /^\Q$dir\E\/(.*)\/[^\/]+\.([ch])$/ or return;
				open(my $in, '<', $_) or die "measure_sources.pl: could not open file \"$_\": $!\n";
				my $text = do { local $/; <$in> // '' };
				my $code = code($text);

				$folders{$folder} = 1;
				$n{$type}++;
				$n{lines} += ($text =~ tr/\n//);
				$n{code} += lines($code);
				$n{externs} += () = $code =~ /^(?:pg_noreturn )?extern /mg if $type eq 'h';
				return if $type ne 'c';
				$n{c_lines} += lines($text);
				$n{comments} += lines($text) - lines($code);
			}
		},
		"$dir/src");
	$n{words} = () = `'$^X' '$top/scripts/check_words.pl' '$dir/src' '$dir/t'`;
	printf "lines of code          %6d of %d lines\n", @n{qw(code lines)};
	printf "files                  %6d .c, %d .h in %d folders\n", @n{qw(c h)}, scalar keys %folders;
	printf "comments in .c files   %6.1f %% of the lines\n", 100 * $n{comments} / $n{c_lines};
	printf "externs                %6.1f per 1,000 lines of code\n", 1000 * $n{externs} / $n{code};
	printf "words to avoid         %6d in src and t\n", $n{words};
}

measure($top) if !@ARGV;
foreach my $commit (@ARGV)
{
	my $dir = tempdir(CLEANUP => 1);

	system("git -C '$top' archive '$commit' src t | tar -xf - -C '$dir'") == 0
	  or die "measure_sources.pl: could not read commit \"$commit\"\n";
	print "$commit:\n";
	measure($dir);
}
