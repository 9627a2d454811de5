# Check the layout that CONTRIBUTING.md describes: a file of src includes only
# files of its own folder and of folders on lower floors, and no files include
# each other in a circle.  Headers with a single includer, outside their folder,
# are listed.  Every folder has test files in the table that scripts/change.sh
# reads, and that script plans what .ci/run tests.  scripts/check_words.pl finds
# what it should.  The program of bench/ compiles with the headers of src.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Find;
use File::Temp qw(tempdir);
use FindBin;

use PostgreSQL::Test::Utils;
use Test::More;

use constant COLUMNS => 78;
use constant FIRST => 'base/fe_compat.h';

my $tree = abs_path("$FindBin::RealBin/..");

# The floors of a side by folder, from the table below its heading: lines of
# "| floor | `folder/` | ...", where one to come need not be there yet.
sub read_floors
{
	my ($text, $side) = @_;
	my ($section) = $text =~ /^#+ `src\/$side`.*?\n(.*?)(?=^#|\z)/ms;
	my %floors;

	while (($section // '') =~ /^\| (\d+) +\| (`[^|]+?) +\| (.*)/mg)
	{
		my ($floor, $folders, $idea) = ($1, $2, $3);

		foreach my $folder ($folders =~ /`([\w.]+)\/?`/g)
		{
			$floors{$folder} = { floor => $floor, to_come => scalar($idea =~ /^to come/) };
		}
	}
	return \%floors;
}

# What each file includes, by the file's path below its side, in whatever quotes.
sub read_includes
{
	my ($dir) = @_;
	my %includes;

	find(
		{
			no_chdir => 1,
			wanted => sub {
				my ($file) = /^\Q$dir\E\/(.*\.[ch])$/ or return;
				my $text = slurp_file($_);
				$includes{$file} = [ $text =~ /^\s*#\s*include\s+["<]([^">]+)[">]/mg ];
			}
		},
		$dir);
	return \%includes;
}

# A .c file and its header are one room.
sub room { return $_[0] =~ s/\.[ch]$//r }

# The top of a side has no folder.
sub folder { return $_[0] =~ /^(.*?)\// ? $1 : 'root' }

# Includes that point up, or across to another folder of the same floor; and
# those that name a file of ours in another way than by its folder and name: who
# could tell where they point?
sub wrong_includes
{
	my ($floors, $includes) = @_;
	my %name = map { s/.*\///r => 1 } keys %$includes;
	my @wrong;

	foreach my $file (sort keys %$includes)
	{
		my $own = $floors->{ folder($file) };

		push(@wrong, "$file has a folder without a floor") and next if !$own;
		foreach my $included (sort @{ $includes->{$file} })
		{
			my $other = $floors->{ folder($included) };

			if ($included =~ /(^|\/)\.\.?\// || $included =~ /^(src|frontend|server)\//
				|| $included !~ /\// && $name{$included})
			{
				push @wrong, "$file includes $included, by no folder of its side";
			}
			elsif ($included =~ /\// && $other && folder($included) ne folder($file)
				&& $other->{floor} >= $own->{floor})
			{
				push @wrong, "$file includes $included";
			}
		}
	}
	return @wrong;
}

# Rooms that include each other, by way of any number of others.  What every
# file includes first, as the server's do postgres.h, is not counted: it leads
# the macros of messages to base/message.c, which is a file like others.
sub circles
{
	my ($includes) = @_;
	my %below;
	my @circles;

	foreach my $file (keys %$includes)
	{
		$below{ room($file) }{ room($_) } = 1
		  foreach grep { exists $includes->{$_} && room($_) ne room($file) && $_ ne FIRST }
		  @{ $includes->{$file} };
	}

	# depth first: what is met again on the way to it is a circle
	my %state;
	my $visit;
	$visit = sub {
		my (@way) = @_;

		$state{ $way[-1] } = 'on the way';
		foreach my $next (sort keys %{ $below{ $way[-1] } // {} })
		{
			if (($state{$next} // '') eq 'on the way')
			{
				my ($from) = grep { $way[$_] eq $next } 0 .. $#way;
				push @circles, join(' -> ', @way[ $from .. $#way ], $next);
			}
			$visit->(@way, $next) if !$state{$next};
		}
		$state{ $way[-1] } = 'done';
	};
	$visit->($_) foreach grep { !$state{$_} } sort keys %below;
	return @circles;
}

# Headers that only one file includes, from outside the header's folder: they
# may belong into the folder of that file.
sub single_includers
{
	my ($includes) = @_;
	my %includers;

	foreach my $file (sort keys %$includes)
	{
		foreach my $header (grep { room($_) ne room($file) } @{ $includes->{$file} })
		{
			push @{ $includers{$header} }, $file;
		}
	}
	return map { "$_ is included only by $includers{$_}[0]" }
	  grep { @{ $includers{$_} } == 1 && folder($includers{$_}[0]) ne folder($_) }
	  grep { exists $includes->{$_} } sort keys %includers;
}

# Lines of comments, also beside code, that are wider than a tab of four
# columns lets them be: pgindent leaves those that begin a line as they are.
sub wide_comments
{
	my ($text) = @_;
	my $in_comment = 0;
	my @wide;

	foreach my $line (split /\n/, $text)
	{
		my $begins = $line =~ /\/\*/;

		1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
		push @wide, $line if ($in_comment || $begins) && length($line) > COLUMNS;
		$in_comment = 0 if $line =~ /\*\//;
		$in_comment = 1 if $line =~ /\/\*(?!.*\*\/)/;
	}
	return @wide;
}

# The folders without a line in the table of test files, the folders in the table
# without a file, and the patterns that match no test file.
sub untested
{
	my ($text, $files, $tests) = @_;
	my ($table) = $text =~ /^\| folders +\| test files +\|\n\|[-|]+\|\n((?:\|.*\n)+)/m;
	my (@folders, @wrong);

	foreach my $line (split /\n/, $table // '')
	{
		my (undef, $folders, $patterns) = split /\|/, $line;

		push @folders, $folders =~ /`([^`]+)`/g;
		foreach my $pattern ($patterns =~ /`([^`]+)`/g)
		{
			my $regexp = join '', map { $_ eq '*' ? '.*' : $_ eq '?' ? '.' : quotemeta } split //, $pattern;

			push @wrong, $pattern if !grep { /^$regexp\.pl$/ } @$tests;
		}
	}
	foreach my $folder (@folders)
	{
		push @wrong, $folder if !grep { /^\Q$folder\E/ } @$files;
	}
	foreach my $file (@$files)
	{
		push @wrong, $file if !grep { $file =~ /^\Q$_\E/ } @folders;
	}
	return @wrong;
}

# ---- the sides as they are

my $text = slurp_file("$tree/CONTRIBUTING.md");

my %folders;
foreach my $side (qw(frontend server))
{
	my $floors = read_floors($text, $side);
	my $includes = read_includes("$tree/src/$side");
	my %there = map { folder($_) => 1 } keys %$includes;

	%folders = (%folders, %$floors);
	cmp_ok(scalar(keys %$includes), '>', 20, "$side: there are more than 20 files");
	is_deeply(
		[ grep { !$there{$_} && !$floors->{$_}{to_come} } sort keys %$floors ],
		[], "$side: every folder of the table is there");
	is_deeply([ wrong_includes($floors, $includes) ], [], "$side: all includes point down");
	is_deeply([ circles($includes) ], [], "$side: no files include each other");
	note("$side: $_") foreach single_includers($includes);
}
is_deeply(
	[
		grep { m{/} && ($folders{ folder($_) } || m{^\.|^(src|frontend|server)/}) }
		map { @$_ } values %{ read_includes("$tree/src/shared") }
	],
	[],
	'src/shared includes no files of either side');

my @sources;
find({ no_chdir => 1, wanted => sub { push @sources, $1 if /^\Q$tree\E\/(src\/.*\.(?:c|h|sql|pl|pm))$/ } }, "$tree/src");
is_deeply([ untested($text, \@sources, [ map { s/.*\///r } glob "$tree/t/*.pl" ]) ], [], 'every folder has test files');

foreach my $dir (qw(src test))
{
	is_deeply(
		[
			map {
				my $file = $_;
				map { "$file: $_" } wide_comments(slurp_file("$tree/$dir/$file"))
			} sort keys %{ read_includes("$tree/$dir") }
		],
		[],
		"$dir: no comment is wider than it should be");
}

# ---- the test sees what it is to see, in a house of its own

my $floors = read_floors(<<'END', 'frontend');
### `src/frontend`
| 2 | `root` | the command |
| 1 | `attic/`, `loft/` | across |
| 1 | `annex/` | to come: nothing |
| 0 | `cellar/` | below |
### `src/server`
| 1 | `elsewhere/` | not of this side |
END
is_deeply(
	{ map { $_ => $floors->{$_}{floor} . ($floors->{$_}{to_come} ? ' to come' : '') } keys %$floors },
	{ root => 2, attic => 1, loft => 1, annex => '1 to come', cellar => 0 },
	'a table is read');

my $dir = tempdir(CLEANUP => 1);
my %house = (
	'main.c' => '#include "attic/a.h"',
	'attic/a.h' => '#include "cellar/c.h"',
	'attic/a.c' => "#include \"postgres_fe.h\"\n#include \"attic/a.h\"\n#include \"loft/l.h\"",
	'attic/b.c' => '#include "c.h"',
	'cellar/d.c' => "#include \"../attic/a.h\"\n#include <attic/a.h>\n#include \"frontend/main.h\"\n#include <string.h>",
	'loft/l.h' => '#include "loft/m.h"',
	'loft/m.c' => '#include "loft/n.h"',
	'loft/m.h' => '',
	'loft/n.h' => '#include "loft/l.h"',
	'cellar/c.h' => '#  include "attic/a.h"',
	'shed/s.c' => '');
foreach my $file (keys %house)
{
	mkdir("$dir/" . folder($file)) if $file =~ /\//;
	append_to_file("$dir/$file", $house{$file});
}
my $includes = read_includes($dir);
is_deeply(
	[ wrong_includes($floors, $includes) ],
	[
		'attic/a.c includes loft/l.h',
		'attic/b.c includes c.h, by no folder of its side',
		'cellar/c.h includes attic/a.h',
		'cellar/d.c includes ../attic/a.h, by no folder of its side',
		'cellar/d.c includes attic/a.h',
		'cellar/d.c includes frontend/main.h, by no folder of its side',
		'shed/s.c has a folder without a floor'
	],
	'includes across, up and without a folder are seen');
is_deeply(
	[ circles($includes) ],
	[ 'attic/a -> cellar/c -> attic/a', 'loft/l -> loft/m -> loft/n -> loft/l' ],
	'circles are seen, within a folder, too');
is_deeply(
	[
		single_includers(
			{
				'a/x.c' => [ 'a/x.h', 'b/one.h', 'b/two.h', 'a/near.h', 'string.h' ],
				'a/x.h' => [],
				'a/near.h' => [],
				'b/one.c' => ['b/one.h'],
				'b/one.h' => [],
				'b/two.c' => [ 'b/two.h', 'b/one.c' ],
				'b/two.h' => [],
				'c/y.c' => ['b/two.h']
			})
	],
	['b/one.h is included only by a/x.c'],
	'headers with a single includer outside their folder are listed');

is_deeply(
	[
		untested("| folders | test files |\n|---|---|\n| `src/a/` `src/b/` | `01?_*` `02_x` `03_*` |\n\n| `src/c/` | `04` |\n",
			[ 'src/a/a.c', 'src/c/c.c' ], [ '010_y.pl', '02_x.pl' ])
	],
	[ '03_*', 'src/b/', 'src/c/c.c' ],
	'folders without test files are seen, and names that are not there');

my $long = 'x' x 72;
is_deeply(
	[
		wide_comments(
			"/* $long */\n/*  $long */\n\t/* ${long}\n * y$long\n * $long abc */\n$long $long;\n")
	],
	[ "/*  $long */", "    /* $long", " * $long abc */" ],
	'wide comments are seen, tabs counted as they are shown, and code is left alone');

# ---- the script that plans what .ci/run tests, in a repository of its own

my $repository;

sub git
{
	my (@args) = @_;
	run_log(
		[
			'git', '-C', $repository, '-c', 'user.name=a', '-c', 'user.email=a@localhost', '-c',
			'commit.gpgsign=false', @args
		],
		'>', \my $output) or die "git @args failed";
	chomp $output;
	return $output;
}

# Write these files, with "text", and commit.
sub commit
{
	my (@files) = @_;

	foreach my $file (@files)
	{
		system_or_bail('mkdir', '-p', "$repository/" . $file =~ s/\/[^\/]*$//r) if $file =~ /\//;
		append_to_file("$repository/$file", 'text');
	}
	git('add', '--all');
	git('commit', '--quiet', '--message=change');
	return git('rev-parse', 'HEAD');
}

# What the script plans for the tree at $dir, with these variables.
sub plan_of
{
	my ($dir, %variables) = @_;
	my ($output, $error);
	local %ENV = (%ENV, %variables);

	IPC::Run::run(
		[
			'bash', '-c', <<'END', 'plan', $dir, "$tree/scripts/change.sh" ], '>', \$output, '2>', \$error);
set -euo pipefail
die() { echo "error: $*" >&2; exit 1; }
TREE=$1
RELEASES=${PG_PARDUMP_RELEASES:-"15:a 17:b 18:c"}
. "$2"
plan_change
END
	return $output . $error;
}

SKIP:
{
	skip 'git is not installed', 17 if !grep { -x "$_/git" } split /:/, $ENV{PATH};
	delete @ENV{qw(PG_PARDUMP_TURN PG_PARDUMP_BASE PG_PARDUMP_RELEASES)};
	$repository = tempdir(CLEANUP => 1);
	git('init', '--quiet', '--initial-branch=main');
	append_to_file("$repository/CONTRIBUTING.md",
		"| folders | test files |\n|---|---|\n| `src/a/` `src/b/` | `01?_*` `020_x` |\n"
		  . join('', map { "| `src/$_/` | `030_*` |\n" } qw(c d e)) . "\n");
	my @bases = (commit('README', map { "t/$_.pl" } qw(010_x 011_y 020_x 030_z)));
	push @bases, commit("README") foreach 1 .. 12;
	my $head = $bases[-1];
	my $whole = (15, 17, 18)[ hex(substr $head, 0, 7) % 3 ];

	my $plan = plan_of($repository);
	like($plan, qr/^change: whole suite on PostgreSQL $whole, --quick on the other majors /, 'the commit selects a major');
	like($plan, qr/^change: 0 folders and 0 TAP files changed since \Q@{[ substr $bases[2], 0, 12 ]}\E$/m, 'the tenth commit before it is the base');
	like($plan, qr/^change: on all majors: nothing more$/m, 'no test file is added if no folder was changed');
	like(plan_of($repository, PG_PARDUMP_TURN => '010'), qr/ on PostgreSQL 17, .*^change: to repeat: PG_PARDUMP_TURN=1 /ms, 'a variable selects a major');
	like(plan_of($repository, PG_PARDUMP_TURN => $_), qr/^error: PG_PARDUMP_TURN "\Q$_\E" is not a number$/m, "\"$_\" does not") foreach '-1', '1x';
	is(plan_of($repository, PG_PARDUMP_BASE => 'none'), "error: PG_PARDUMP_BASE \"none\" is not a commit of this repository\n", 'a base that is not there is an error');

	$plan = plan_of($repository, PG_PARDUMP_RELEASES => '18:c 19:d');
	my ($repeat) = $plan =~ /^change: to repeat: (.*) \.ci\/run$/m;
	is(plan_of($repository, $repeat =~ /(\w+)=(?|'([^']*)'|(\S+))/g), $plan, 'the command that is printed repeats the plan');

	# on a branch, also with files that are not committed
	git('update-ref', 'refs/remotes/origin/main', $head);
	git('checkout', '--quiet', '-b', 'branch');
	git('rm', '--quiet', 't/011_y.pl');
	commit('src/b/b.c', 't/040_new.pl', 'src/gone/x.c');
	system_or_bail('mkdir', "$repository/src/c");
	append_to_file("$repository/src/c/new.c", 'text');
	$plan = plan_of($repository);
	like($plan, qr/^change: 2 folders and 1 TAP files changed since \Q@{[ substr $head, 0, 12 ]}\E$/m, 'the merge base with the main branch is the base of a branch');
	like($plan, qr{^change: on all majors: t/010_x.pl t/020_x.pl t/030_z.pl t/040_new.pl $}m, 'test files of folders, and those that were changed');

	# a merge commit
	git('checkout', '--quiet', 'main');
	commit('src/d/d.c');
	git('merge', '--quiet', '--no-ff', '--message=merge', 'branch');
	like(plan_of($repository), qr/^change: 3 folders and 1 TAP files changed since \Q@{[ substr $head, 0, 12 ]}\E$/m, 'a merge commit has the changes of both sides');

	commit(map { sprintf 't/1%02d_many.pl', $_ } 1 .. 20);
	like(plan_of($repository), qr{^change: .*too many TAP files .*--all.*^change: on all majors: t/010_x.pl t/020_x.pl t/030_z.pl $}ms, 'more than 20 changed test files are left out, those of changed folders are not');
	commit('src/a/a.c', 'src/e/e.c');
	$plan = plan_of($repository);
	like($plan, qr/^change: 5 folders .*^change: .*too many folders .*--all/ms, 'a change of more than four folders: message');
	unlike($plan, qr/on all majors:/, 'a change of more than four folders: their test files are left out');

	# no repository, even if there is one above, or another in the environment
	my $inner = "$repository/inner";
	system_or_bail('mkdir', '-p', "$inner/src", "$inner/t");
	append_to_file("$inner/src/x.c", 'text');
	foreach my $variables ({}, { GIT_DIR => "$repository/.git" })
	{
		like(plan_of($inner, %$variables), qr/^change: no commit to compare with; run "scripts\/test.sh --all" by hand$/m, 'without a repository: message');
	}
	# a shallow clone
	system_or_bail('git', 'clone', '--quiet', '--depth=3', "file://$repository", "$inner/shallow");
	like(plan_of("$inner/shallow"), qr/^change: no commit to compare with; /m, 'in a shallow clone: message');
}

# ---- the script that finds words to avoid

my $words = tempdir(CLEANUP => 1);
append_to_file("$words/clean.md",
	"There is no file, and there\nis no other.  It is no\nlonger used.  Ongoing.  Lester.  The end.\nuser=\"nobody\"\n");
my ($stdout, $stderr);
ok(run_log([ $^X, "$tree/scripts/check_words.pl", $words ], '>', \$stdout, '2>', \$stderr),
	'a text without words to avoid passes');
is("$stdout$stderr", '', 'a text without words to avoid: no output');
append_to_file("$words/words.c",
	"/*\n * It Goes\n * on: the file is\n * no table, in the end.\n */\nnobody();\n-- so\n-- many, comes to its end\n");
ok(!run_log([ $^X, "$tree/scripts/check_words.pl", $words ], '>', \$stdout, '2>', \$stderr),
	'a text with words to avoid fails');
is($stdout =~ s/^\Q$words\E\///gmr,
	<<'END', 'each word is printed with its line, even if a line ends within it');
words.c:2: Goes on
words.c:3: is no
words.c:4: in the end
words.c:6: nobody
words.c:7: so many
words.c:8: comes to its end
END
IPC::Run::run([ $^X, "$tree/scripts/check_words.pl", "$words/none" ], '2>', \$stderr);
is($? >> 8, 2, 'a missing file is an error');

# ---- the program that only bench/run.sh compiles

ok(run_log([ 'cc', '-fsyntax-only', '-Wall', '-Werror', "-I$tree/src", "$tree/bench/floor.c" ]), 'bench/floor.c compiles');

done_testing();
