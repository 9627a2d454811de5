# The manual and the completions have the options that --help has, and no
# others; man pages and site have no errors, and links lead somewhere.  No file of
# the tree contains words that make a text hard to read.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program new_path);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = abs_path("$FindBin::RealBin/..");

# All options of --help, and which of them have an argument.
my (undef, $help) = run_program('pg_pardump', '--help');
my %takes;
foreach my $line (grep { /^  -/ } split /\n/, $help)
{
	# "  -f, --file=DIRECTORY   text", "  -P, --[no-]progress"
	my ($short, $no, $long, $arg) =
	  $line =~ /^  (?:(-.), )?--(\[no-\])?([a-z-]+)(=\S)?/;
	BAIL_OUT("not the form of an option: $line") if !defined $long;
	$takes{"--$long"} = defined $arg ? 1 : 0;
	$takes{"--no-$long"} = 0 if $no;
	$takes{$short} = $takes{"--$long"} if $short;
}
cmp_ok(scalar(keys %takes), '>', 80, 'the table contains more than 80 options');

# ---- --help of all programs

foreach my $program (qw(pg_pardump pg_parrestore pg_parbasebackup pg_pardump_backup))
{
	my (undef, $text) = run_program($program, '--help');
	my ($examples) = $text =~ /^Examples:\n((?:  .*\n)+)/m;

	is_deeply([ grep { length > 80 } split /\n/, $text ], [], "$program: --help fits 80 columns");
	cmp_ok(scalar(() = ($examples // '') =~ /^  $program /mg), '>=', 3, "$program: --help has three examples or more");
	like($text, qr/\n\nSee $program\(1\) for all options .*\nFor help with a problem, see the section "Getting help" of README\.md\.\n\z/,
		"$program: --help ends with its manual page, and where to get help");
	unlike($text, qr/\S@\S|https?:/, "$program: --help names no address");
	# options of the stock program come last, under one heading
	my @headings = $text =~ /^(\S.*):\n(?=  -)/mg;
	like($headings[-1], qr/^Options of pg_(dump|restore|basebackup)\b/, "$program: stock options come last")
	  if $program ne 'pg_pardump_backup';
}

like(slurp_file("$tree/README.md"), qr/^## Getting help$/m, 'README says where to get help');

# ---- the manual: terms of definition lists

my $manual = slurp_file("$tree/doc/pg_pardump.md");
my %manual;
while ($manual =~ /^(`-.*`)\n:   /mg)
{
	foreach my $option ($1 =~ /`([^`]+)`/g)
	{
		my ($name, $arg) = $option =~ /^(--?[a-zA-Z?-]+)([ =].+)?$/;
		ok(!exists $manual{$name}, "$name is explained once");
		$manual{$name} = defined $arg ? 1 : 0;
	}
}
is_deeply(\%manual, \%takes, 'the manual has the options of --help');

# Since when pg_dump has an option, both say alike.
my %help_since = $help =~ /^  (--[a-z-]+)(?:(?!^  ?-).)*?\(pg_dump (\d+)\)$/msg;
my %manual_since = $manual =~ /^`(--[a-z-]+)[^`]*`\n:   (?:(?!\n\n).)*?\(pg_dump (\d+)\)/msg;
cmp_ok(scalar(keys %help_since), '>=', 12, 'some came with a later pg_dump');
is_deeply(\%manual_since, \%help_since, 'the manual says the same of when');

# ---- the manuals of the other programs, whose options are in groups, too

# The options that a program's --help and its manual tell of, and which of them
# have an argument; what the two say, and what the stock program's --help says.
sub told_options
{
	my ($program, $stock) = @_;
	my (undef, $help) = run_program($program, '--help');
	my $theirs = defined $stock ? (run_program($stock, '--help'))[1] : '';
	my $manual = slurp_file("$tree/doc/$program.md");
	my (%help, %manual);

	foreach my $line (grep { /^  -/ } split /\n/, $help)
	{
		my ($short, $long, $arg) = $line =~ /^  (?:(-.), )?--([a-z-]+)(=\S)?/;
		$help{$_} = defined $arg ? 1 : 0 foreach ("--$long", $short // ());
	}
	while ($manual =~ /^(`-.*`)\n:   /mg)
	{
		foreach my $option ($1 =~ /`([^`]+)`/g)
		{
			my ($name, $arg) = $option =~ /^(--?[a-zA-Z0-9?-]+)([ =].+)?$/;
			ok(!exists $manual{$name}, "$program: $name is explained once");
			$manual{$name} = defined $arg ? 1 : 0;
		}
	}
	is_deeply(\%manual, \%help, "$program: the manual describes the options of --help");
	return (\%help, $help, $manual,
		[ grep { !exists $help{$_} } $theirs =~ /^  (?:-., )?(--[a-z-]+)/mg ]);
}

my %restore_takes;
{
	my ($takes, $help, $manual, $missing) = told_options('pg_parrestore', 'pg_restore');
	%restore_takes = %$takes;
	cmp_ok(scalar(keys %restore_takes), '>', 70, 'pg_parrestore has more than 70 options');
	my %help_since = $help =~ /^  (--[a-z-]+)(?:(?!^  ?-).)*?\(pg_restore (\d+)\)$/msg;
	my %manual_since = $manual =~ /^`(--[a-z-]+)[^`]*`\n:   (?:(?!\n\n).)*?\(pg_restore (\d+)\)/msg;
	cmp_ok(scalar(keys %help_since), '>=', 8, '--help names later versions of pg_restore for some options');
	is_deeply(\%manual_since, \%help_since, 'manual and --help name the same first versions');
	is_deeply($missing, [], 'pg_parrestore has all options of the installed pg_restore');
}

my %backup_takes;
{
	my ($takes, undef, undef, $missing) = told_options('pg_parbasebackup', 'pg_basebackup');
	%backup_takes = %$takes;
	cmp_ok(scalar(keys %backup_takes), '>', 45, 'pg_parbasebackup has options');

	# what the pg_basebackup in use has, it has too, or refuses it by name
	foreach my $option (@$missing)
	{
		my (undef, undef, $err) = run_program('pg_parbasebackup', $option, 'x');
		like($err, qr/(?:option \Q$option\E|gzip) is not supported\n(?:.*detail: .*\n)?.*hint: .*pg_basebackup/, "$option is refused");
	}
}

my ($nightly_takes) = told_options('pg_pardump_backup');
is(keys %$nightly_takes, 18, 'pg_pardump_backup has options');

# ---- the overview, the manuals and the chapters name only options that exist

my %programs = (pg_pardump => \%takes, pg_parrestore => \%restore_takes,
	pg_parbasebackup => \%backup_takes, pg_pardump_backup => $nightly_takes);

# Stock programs that the chapters use.
my @stock = qw(pg_dump pg_restore pg_dumpall pg_basebackup pg_verifybackup psql createdb vacuumdb);

# Options of other programs, by page: of git, Debian's tools, docker, aws, gcloud, az, sbatch,
# parallel, systemctl, rclone, gpg, useradd, tar, scripts of bench/, and of vacuumdb 18.
my %foreign = (
	'README' => [qw(--build --no-sign --quick --remove)],
	'backup_to_object_storage' => [
		qw(--account-name --batch --bucket --config --container-name --create-bucket-configuration --files-only --include --lifecycle-configuration --lifecycle-file),
		qw(--lock-retention-period --max-depth --no-traverse --object-lock-configuration --object-lock-enabled-for-bucket --period --quiet --resource-group),
		qw(--retention-period --rmdirs --streaming-upload-cutoff --trust-model)
	],
	'base_backup' => [qw(--delay-directory-restore --zstd)],
	'containers' => [qw(--build-arg --from-file --rm --userns)],
	'errors' => [qw(--only-upgrade)],
	'faq' => [qw(--no-traverse)],
	'managed_cloud' => [qw(--hostname --output --query --region --resource-type)],
	'many_hosts' => [qw(--array --requeue --sshloginfile --wait --wrap)],
	'nightly_backup' => [qw(--failed --now)],
	'object_storage' => [qw(--config --no-traverse --transfers)],
	'pg_pardump_backup' => [qw(--now)],
	'restore_tests' => [qw(--no-create-home --now --shell --system)],
	'sizing' => [ map { slurp_file($_) =~ /(--[a-z][a-z-]+)/g } glob "$tree/bench/*.sh" ],
	'stored_backups' => [qw(--batch --config --include --no-traverse --quiet --rmdirs --trust-model)],
	'uninstall' => [qw(--now)],
	'upgrade' => [qw(--missing-stats-only)]);

{
	my ($refused) = $manual =~ /^(Not supported.*?)\n\n/ms;
	my %exists = map { $_ => 1 } ($refused // '') =~ /`(--[a-z-]+)`/g;
	cmp_ok(scalar(keys %exists), '>', 4, 'the manual names options that are refused');
	@exists{ keys %$_ } = (1) x keys %$_ foreach values %programs;
	foreach my $program (@stock)
	{
		my @options = (run_program($program, '--help'))[1] =~ /(?<![\w-])(--[a-z][a-z-]+)/g;
		cmp_ok(scalar(@options), '>', 5, "$program has options");
		@exists{@options} = (1) x @options;
	}
	foreach my $file ("$tree/README.md", glob "$tree/doc/*.md")
	{
		my $page = basename($file, '.md');
		my %here = map { $_ => 1 } @{ $foreign{$page} // [] };
		my %named = map { $_ => 1 } slurp_file($file) =~ /(?<![\w-])(--[a-z][a-z-]+)/g;
		is_deeply([ grep { !$exists{$_} && !$here{$_} } sort keys %named ], [], "$page names no other options");
	}
}

# ---- the form of the four manuals

my @sections = ('Name', 'Synopsis', 'Description', 'Options', 'Exit status', 'Environment', 'Files', 'Examples', 'Notes', 'See also');
my %codes;
{
	my @rows = map { [ split /\s*\|\s*/, $_ ] } slurp_file("$tree/doc/exit_codes.md") =~ /^(\| (?:code|\d+) \|.*?) *\|$/mg;
	my ($head) = grep { $_->[1] eq 'code' && grep { $_ eq 'pg_pardump' } @$_ } @rows;
	foreach my $row (grep { $_->[1] ne 'code' } @rows)
	{
		$codes{ $head->[$_] }{ $row->[1] } = 1 foreach grep { ($row->[$_] // '') ne '' } 2 .. $#$head;
	}
}
foreach my $program (sort keys %programs)
{
	my $text = slurp_file("$tree/doc/$program.md");
	my %section = map { /^([^\n]+)\n(.*)\z/s ? ($1 => $2) : () } split /^## /m, $text;
	is_deeply([ $text =~ /^## (.+)$/mg ], \@sections, "$program: sections of its manual");
	is_deeply([ sort grep { /^\d/ } $section{'Exit status'} =~ /^\| (\S+) \|/mg ],
		[ sort keys %{ $codes{$program} } ], "$program: the manual lists the exit codes of exit_codes.md");
	like($section{'Exit status'}, qr/\]\(exit_codes\.md\)/, "$program: a link leads to all exit codes");
	unlike($text =~ s/^## Exit status$//mr, qr/exit\s+status/i, "$program: the manual uses the term exit code");

	# an example is a sentence and its commands, which have options of their programs
	my @examples = $section{Examples} =~ /^\S[^\n]*:\n\n((?:    .*\n)+)/mg;
	is(scalar(@examples), 10, "$program: ten examples");
	my @wrong;
	foreach my $line (map { split /\n/, s/\\\n//gr } @examples)
	{
		my ($name, $words) = $line =~ /^\s*(?:sudo )?(\w+)(.*)/;
		my $known = $programs{$name // ''} or next;
		push @wrong, map { "$name $_" } grep { !exists $known->{$_} } $words =~ s/'[^']*'|"[^"]*"//gr =~ /(?<=\s)(--[a-z-]+|-[a-zA-Z])/g;
	}
	is_deeply(\@wrong, [], "$program: the options in examples exist");
	is(scalar(grep { /^\s*(?:sudo )?\Q$program\E / } map { split /\n/ } @examples) >= 9, 1, "$program: examples are of this program");
}

# ---- links of one file to another, and to headings, lead somewhere

foreach my $file (map { glob("$tree/$_*.md") } '', qw(doc/ bench/ packaging/ test/))
{
	my $text = slurp_file($file);
	foreach my $link ($text =~ /\]\(([^)\s]+)\)/g)
	{
		my ($target, $heading) = $link =~ /^([^#]*)(?:#(.*))?$/;
		next if $target =~ /^https?:/;
		my $path = $target eq '' ? $file : dirname($file) . "/$target";
		ok(-e $path, basename($file) . " links to $link");
		next if !defined $heading || !-e $path;
		my @headings = map { lc s/[^\w -]//gr =~ s/ /-/gr } slurp_file($path) =~ /^#+ (.+)$/mg;
		ok((grep { $_ eq $heading } @headings), "$link is a heading");
	}
}

# ---- pages: in the list of the front page, which is the navigation, and with
# pictures that exist and are used

my @sources = map { s/^\Q$tree\E\///r } map { glob "$tree/$_*.md" } '', qw(doc/ bench/ packaging/);
my $index = slurp_file("$tree/doc/index.md");
my %listed = map { m{^\.\./(.*)} ? ($1 => 1) : ("doc/$_" => 1) } $index =~ /^- \[[^]]+\]\(([^)]+)\)/mg;
is_deeply([ sort keys %listed ], [ sort grep { $_ ne 'doc/index.md' } @sources ], 'the front page lists all pages');
my %shown = map { $_ => 1 } map { slurp_file("$tree/$_") =~ /!\[[^]]*\]\((?:[^)]*\/)?([^)\/]+)\)/g } @sources;
is_deeply([ grep { !$shown{$_} } map { basename($_) } glob "$tree/doc/*.svg" ], [], 'each picture is used in a page');

# ---- the words of all files

# The folders and files of the tree, but not those that a build or a test makes.
my @tree = map { "$tree/$_" } (
	qw(.ci CHANGELOG.md CONTRIBUTING.md META.json Makefile README.md bench completions debian doc),
	qw(expected packaging pg_pardump.control scripts sql src t test));
is_deeply([ run_program($^X, "$tree/scripts/check_words.pl", @tree) ], [ 0, '', '' ], 'no file contains words to avoid');

cmp_ok(scalar(split ' ', slurp_file("$tree/README.md")), '<=', 1300, 'words of the README');

# ---- the man pages

# The options of a page as man shows it at 80 columns, and how many lines the
# description of each has.  Terms are indented as all text is, by 7 columns (5 by
# groff 1.24), descriptions by 7 more.
sub described_options
{
	my ($text) = @_;
	my ($margin) = map { length } $text =~ /^NAME\n( +)/m;
	my $indent = $margin + 7;
	my ($options) = $text =~ /^OPTIONS\n(.*?)^EXIT STATUS$/ms;
	my ($term, $lines, %lines) = ('', 0);

	foreach my $line (split(/\n/, $options // ''), 'END')
	{
		if ($line =~ /^ {$indent}/)
		{
			$lines++ if $term ne '';
		}
		elsif ($line ne '' || !$lines)
		{
			$lines{$term} = $lines if $lines;
			$term = '' if $lines || $line !~ /^ {$margin}[^ %]/;
			$lines = 0;
			$term .= " $1" if $line =~ /^ {$margin}([^ %].*)/;
			# the description of a short term begins next to it
			$lines = 1 if $line =~ /^ {$margin}-\S+ +(?=\S)/ && $+[0] == $indent;
		}
	}
	return \%lines;
}

my @man_pages = qw(pg_parbasebackup.1 pg_pardump.1 pg_pardump_backup.1 pg_parrestore.1);
SKIP:
{
	skip 'pandoc is not installed', 36 if system('pandoc --version >/dev/null 2>&1') != 0;
	skip 'man is not installed', 36 if system('man --version >/dev/null 2>&1') != 0;
	my $log = new_path('make.log');
	is(system("make -s -C '$tree' man >'$log' 2>&1"), 0, 'man pages are made')
	  or diag(slurp_file($log));
	is(slurp_file($log), '', 'man pages: no warnings');
	foreach my $program (sort keys %programs)
	{
		my $page = "$tree/doc/$program.1";
		is(`LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l '$page' 2>&1 >/dev/null`, '',
			"$program.1 renders without warnings");
		my $text = `LC_ALL=C.UTF-8 MANWIDTH=80 man -l '$page' 2>/dev/null`;
		utf8::decode($text);
		my @lines = split /\n/, $text;
		cmp_ok(scalar(@lines), '<=', 900, "$program.1: lines at 80 columns");
		is_deeply([ grep { length > 80 } @lines ], [], "$program.1 fits 80 columns");
		my $described = described_options($text);
		my ($section) = slurp_file("$tree/doc/$program.md") =~ /^## Options$(.*?)^## /ms;
		is(keys %$described, scalar(() = $section =~ /^`.*`\n:   /mg), "$program.1: all options are found");
		is_deeply([ grep { $described->{$_} > 4 } sort keys %$described ], [], "$program.1: no option has more than four lines");
		is_deeply([ $text =~ /\w+\.md\b/g ], [], "$program.1 names no source");
		my @named = ($text =~ m{/usr/share/doc/pg-pardump/html/([\w/]+)\.html}g, map { "doc/$_" } $text =~ /\((\w+)\.html\)/g);
		cmp_ok(scalar(@named), '>', 3, "$program.1 names pages");
		is_deeply([ grep { !-e "$tree/$_.md" } @named ], [], "$program.1 names pages that exist");
	}

	# what is made is installed without pandoc
	my $bin = new_path('bin');
	mkdir $bin or die "could not make directory \"$bin\": $!";
	append_to_file("$bin/pandoc", "#!/bin/sh\necho 'pandoc is called' >&2\nexit 1\n");
	chmod 0755, "$bin/pandoc" or die "could not change mode of \"$bin/pandoc\": $!";
	my $root = new_path('root');
	my ($rc, $out, $err) = do
	{
		local $ENV{PATH} = "$bin:$ENV{PATH}";
		run_program('make', '-s', '-C', $tree, 'install-man', 'install-completions', "DESTDIR=$root");
	};
	is("$rc$out$err", '0', 'man pages are installed without pandoc');
	my @installed = map { s{.*/}{}r } split /\n/, `find '$root' ! -type d`;
	is_deeply([ sort @installed ], [ sort @man_pages, '_pg_pardump', map { s/\.1$//r } @man_pages ], 'with the completions');
}

# ---- the site

SKIP:
{
	skip 'another run makes the site of this tree', 7 if $ENV{PG_PARDUMP_TREE_CHECKED};
	skip 'pandoc is not installed', 7 if system('pandoc --version >/dev/null 2>&1') != 0;
	skip 'Sphinx, MyST or Furo is not installed', 7
	  if system('sphinx-build --version >/dev/null 2>&1 && python3 -c "import furo, myst_parser" 2>/dev/null') != 0;

	# by the archive of a release, which contains it; of the commit any file will do
	my $log = new_path('html.log');
	my $dist = new_path('dist');
	mkdir $dist or die "could not make directory \"$dist\": $!";
	local $ENV{GIT_DIR} = new_path('git');
	local $ENV{GIT_WORK_TREE} = $tree;
	my $commit = 'git init -q && git add META.json && git -c user.name=x -c user.email=x commit -qm x';
	my $has_git = grep { -x "$_/git" } split /:/, $ENV{PATH};
	my $command = $has_git ? "$commit && make -s dist DIST_DIR='$dist'" : 'make -s man html';
	is(system("cd '$tree' && ($command) >'$log' 2>&1"), 0, 'HTML is made') or diag(slurp_file($log));
	is(slurp_file($log), '', 'HTML: no warnings');
	SKIP:
	{
		skip 'git is not installed', 1 if !$has_git;
		my ($archive) = glob "$dist/*.zip";
		my %archived = map { m{^pg_pardump-[\d.]+/(\S+)} ? ($1 => 1) : () } split /\n/, `python3 -m zipfile -l '$archive'`;
		my @generated = ((map { "doc/$_" } @man_pages), (map { 'html/' . s/md$/html/r } @sources), 'html/search.html', 'html/searchindex.js');
		is_deeply([ grep { !$archived{$_} } @generated ], [], 'the archive of a release has man pages and HTML');
	}
	my %html = map { s{^\Q$tree\E/html/}{}r => slurp_file($_) } split /\n/, `find '$tree/html' -name '*.html'`;
	my @missing = grep { !exists $html{ s/md$/html/r } } @sources;
	is_deeply(\@missing, [], 'HTML of all pages');

	# links lead to pages that are made, and to places in them
	my @astray;
	foreach my $page (sort keys %html)
	{
		foreach my $link ($html{$page} =~ /<(?:a|link)\b[^>]* href="([^"]*)"/g)
		{
			my ($target, $place) = $link =~ /^([^#?]*)(?:\?[^#]*)?(?:#(.*))?$/;
			next if $target =~ /^(?:https?|mailto):/ || $link eq '#';
			my $path = $target eq '' ? $page : dirname($page) . "/$target";
			1 while $path =~ s{(?:^|(?<=/))(?:\./|(?!\.\./)[^/]+/\.\./)}{};
			push @astray, "$page: $link"
			  if !-e "$tree/html/$path" || $place && $html{$path} !~ / id="\Q$place\E"/;
		}
		push @astray, "$page: $_"
		  foreach grep { !/^data:/ && !-e "$tree/html/" . dirname($page) . "/$_" } $html{$page} =~ /<img\b[^>]* src="([^"]*)"/g;
	}
	is_deeply(\@astray, [], 'links and pictures of the pages lead somewhere');
	my ($navigation) = $html{'doc/faq.html'} =~ m{<div class="sidebar-tree">(.*?)</aside>}s;
	my %reached = map { $_ => 1 } map { m{^\.\./(.*)} ? $1 : $_ eq '#' ? 'doc/faq.html' : "doc/$_" } ($navigation // '') =~ /<a class="(?:current )?reference internal" href="([^"]+)"/g;
	is_deeply([ grep { !$reached{ s/md$/html/r } } grep { $_ ne 'doc/index.md' } @sources ], [], 'the navigation of each page leads to all');
	my @left_out = grep { index($html{'genindex.html'}, qq{href="doc/pg_pardump.html#option} . substr($_, 1) . '"') < 0 } grep { /^--/ } sort keys %takes;
	is_deeply(\@left_out, [], 'the index leads to all options');
}

# ---- the picture of the front page and the README tells the figures that were measured

is(`"$^X" '$tree/bench/headline.pl' '$tree/bench/RESULTS.md'`, slurp_file("$tree/doc/measured.svg"), 'the picture is of the figures');

# ---- the completions: what they say of options themselves

my $bash = "$tree/completions/pg_pardump.bash";
my $zsh = "$tree/completions/_pg_pardump";
foreach my $file ($bash, $zsh)
{
	my @names = grep { $_ ne '--help' } slurp_file($file) =~ /(--[a-z][a-z-]+)/g;
	my @wrong = grep { !$takes{$_} && !$restore_takes{$_} && !$backup_takes{$_} } @names;
	cmp_ok(scalar(@names), '>', 5, "$file: more than five options have values");
	is_deeply(\@wrong, [], "$file: the options of these values take a value");
}

# bash's own functions are needed only for completing values.
foreach my $program (sort keys %programs)
{
	my ($rc, $words) = run_program('bash', '-c', <<'BASH', 'bash', $bash, $program);
_init_completion() { prev=$program cur=- split=false; }
compopt() { :; }
program=$2
. "$1" && "_$program" "$program" && printf '%s\n' "${COMPREPLY[@]}"
BASH
	is_deeply([ sort map { s/=$//r } split /\n/, $words ],
		[ sort keys %{ $programs{$program} } ],
		"bash completes all options of $program");
}

# Names of the server that are shell code are but names.
my $path = new_path('path');
my $run = new_path('run');
mkdir $path or die "could not make directory \"$path\": $!";
append_to_file("$path/psql", <<"PSQL");
#!/bin/sh
cat <<'NAMES'
public."\$(touch $run)"
public."`touch $run`"
public."Orders"
public.orders
other."Orders"
NAMES
PSQL
chmod 0755, "$path/psql" or die "could not change mode of \"$path/psql\": $!";
foreach my $word ('public.', 'public.\\"O')
{
	my ($rc, $words, $err) = run_program('bash', '-c', <<'BASH', 'bash', $bash, $path, $word);
word=$3
_init_completion() { prev=-t cur=$word split=false; }
. "$1" && PATH=$2:$PATH && _pg_pardump pg_pardump && printf '%s\n' "${COMPREPLY[@]}"
BASH
	# what bash makes of the words when the line is run
	my (undef, $names) = run_program('bash', '-c', "printf '%s\n' " . join(' ', split /\n/, $words));
	my @want = $word =~ /O/ ? 'public."Orders"'
	  : ("public.\"\$(touch $run)\"", "public.\"`touch $run`\"", 'public."Orders"', 'public.orders');
	is("$rc $err", '0 ', "bash completes $word");
	is_deeply([ split /\n/, $names ], \@want, "bash completes $word: names of tables");
	ok(!-e $run, "bash completes $word: no command of a name is run");
}

# ---- names in a store must not become commands of a shell

{
	my $page = slurp_file("$FindBin::RealBin/../doc/backup_to_object_storage.md");
	my @commands = $page =~ /^    (last=\$\(rclone lsf .*?\n?.*\))$/mg;
	my $dir = new_path('drill');
	mkdir $dir or die "could not make \"$dir\": $!";
	is(scalar(@commands), 2, 'the drill finds the newest dump with two commands');
	foreach my $command (@commands)
	{
		my (undef, $last) = run_program('sh', '-c', <<"SH");
rclone() { printf '%s/map.json\\n' 20261121T021500Z 20261120T021500Z '20261122T021500Z x' 'z\$(touch run)' test; }
cd $dir
$command
sh -c ": \$last"
echo "\$last"
SH
		is($last, "20261121T021500Z\n", 'the drill accepts only names that a dump makes');
		ok(!-e "$dir/run", 'the drill runs no command of a name');
	}
}

SKIP:
{
	skip 'zsh is not installed', 3 if system('zsh -c true 2>/dev/null') != 0;
	is(system('zsh', '-n', $zsh), 0, "zsh can parse $zsh");
	foreach my $program (sort keys %programs)
	{
		# the specifications that it gives to zsh's own function
		my (undef, $specs) = run_program('zsh', '-f', '-c', <<'ZSH', 'zsh', dirname($zsh), $program);
_call_program() { $words[1] --help }
_arguments() { print -rl -- "$@" }
words=($2) fpath=($1)
autoload -Uz _pg_pardump && _pg_pardump
ZSH
		my %specs = map { /^\*(--?[a-zA-Z0-9?-]+?)[=+]?\[(?:\\.|[^\]])*\](:?)/ ? ($1 => $2 ? 1 : 0) : () } split /\n/, $specs;
		is_deeply(\%specs, $programs{$program}, "zsh completes all options of $program, with their values");
	}
}

done_testing();
