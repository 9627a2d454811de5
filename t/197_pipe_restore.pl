# pg_parrestore --pipe and pg_pardump --verify --pipe: commands return the files of an
# archive, and each file is read once.  Only toc.dat is stored, and commands get only names
# without special characters.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program new_path value dump_ok codecs);
use Pardump::Command qw(text_file data_files);
use Pardump::Copy qw(temp_dir no_temp_files_ok);
use Pardump::Manifest qw($manifest_name change_manifest);
use Pardump::PipeRestore qw(start_pipe_shop pipe_copy pipe_into piped_ok pipe_failed table_file failing_command $no_manifest);
use Pardump::Toc qw(read_toc write_toc copy_archive is_table_data);
use PostgreSQL::Test::Utils;
use Test::More;

# a command with a number of its own, because other test files may run at the same time
my $sleep = "sleep 100197.$$";

my $node = start_pipe_shop('pipe_restore');

# ---- with every compression, the databases are equal, and each file is read once

my %archives;
foreach my $codec (codecs($node))
{
	my $compress = $codec eq 'none' ? '-Z0' : $codec eq 'gzip' ? '-Z6' : "--compress=$codec";
	foreach my $program ('pg_pardump', 'pg_dump')
	{
		my $what = "$program, $codec";
		my $dir = $archives{"$program $codec"} = dump_ok($node, 'shop', $what, $program, $compress,
			$program eq 'pg_pardump' ? '--chunk-size=128kB' : ());
		my $log = new_path('log');
		my $err = piped_ok(pipe_copy(), $what, "echo %f >>$log; exec cat $dir/%f", '-j3');
		like($err, $program eq 'pg_pardump' ? qr/^\z/ : $no_manifest, "$what: messages");
		# if there is no manifest, its command is ended, perhaps before it has written its line
		my @read = grep { $program eq 'pg_pardump' || $_ ne $manifest_name } split /\n/, slurp_file($log);
		my @first = ($program eq 'pg_pardump' ? $manifest_name : (), 'toc.dat');
		is_deeply([ sort @read[ 0 .. $#first ] ], \@first, "$what: toc.dat and the manifest are read first");
		# an empty object without a manifest may be a missing file
		my @again = $program eq 'pg_dump' && $codec ne 'gzip' ? grep { !-s "$dir/$_" } data_files($dir) : ();
		is_deeply([ sort @read ], [ sort @first, data_files($dir), @again ], "$what: each file is read once");
	}
}
my $ours = $archives{'pg_pardump gzip'};
my $plain = $archives{'pg_pardump none'};
my $stock = $archives{'pg_dump gzip'};
my $stock_plain = $archives{'pg_dump none'};

# ---- local files, and the environment of commands

my $seen = new_path('seen');
my $temp = temp_dir();
# the command of the manifest runs after toc.dat was read
piped_ok(pipe_copy(), 'local files', <<"SH", '--pipe-prefetch=0');
find $temp/pg_pardump.* -printf '%%y %%m %%P %%s\\n' >>$seen 2>/dev/null; cat $ours/%f
SH
is_deeply([ grep { !/^d 700  / && !/^f 600 (?:database\/)?toc\.dat / } split /\n/, slurp_file($seen) ], [], 'only toc.dat is stored locally, in a private directory');
my $toc_size = -s "$ours/toc.dat";
like(slurp_file($seen), qr/^f 600 toc\.dat $toc_size$/m, 'toc.dat is stored locally');
$seen = new_path('seen');
piped_ok(pipe_copy(), 'no terminal', "readlink /proc/\$\$/fd/0 >>$seen; ps -o tty= -p \$\$ >>$seen; cat $ours/%f");
is_deeply([ do { my %all = map { $_ => 1 } split /\n/, slurp_file($seen); sort keys %all } ], [ '/dev/null', '?' ],
	'commands have no terminal and no input');

# If a user gives the dump's command by mistake, it must not store an empty file.
my $input = new_path('input');
piped_ok(pipe_copy(), 'input', "cat >$input.%f 2>/dev/null && touch $input; cat $ours/%f");
ok(!-e $input, 'a command that reads its input fails');

# processes that a command leaves in the background
piped_ok(pipe_copy(), 'a process in the background', "$sleep >/dev/null 2>&1 & exec cat $ours/%f", '-j2');
cmp_ok((run_program('pgrep', '-fc', "^$sleep\$"))[1], '==', 0, 'a process in the background is ended');

like(pipe_failed(pipe_copy(), 'an open output', "cat $ours/%f; $sleep &", '--retries=0', '--stall-timeout=1'),
	qr/error: command for file "toc\.dat" has ended, but a process that it left in the background kept its output open for 1 s\n/, 'an open output: message');
cmp_ok((run_program('pgrep', '-fc', "^$sleep\$"))[1], '==', 0, 'an open output: the process in the background is ended');

# ---- an encrypted archive, and a directory with an unusual name

my $key = new_path('key');
my ($made) = run_program('age-keygen', '-o', $key);
is($made, 0, 'age-keygen') or diag('age is missing: see scripts/install_dependencies.sh');
my ($public) = slurp_file($key) =~ /public key: (\S+)/;
my $encrypted = new_path('encrypted');
mkdir $encrypted or die "could not make directory \"$encrypted\": $!";
my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr('shop'), "--pipe=age -r $public -o $encrypted/%f.age");
is("$rc$err", '0', 'age: dump');
is(piped_ok(pipe_copy(), 'age', "cat $encrypted/%f.age | age -d -i $key", '-j2'), '', 'age: no messages');

my $odd = new_path('odd') . q{ "it's" $HOME};
copy_archive($ours, $odd);
is(piped_ok(pipe_copy(), 'quotes', q{cat '} . $odd =~ s/'/'\\''/gr . q{'/%f}), '', 'a directory with quotes: no messages');

# A forged archive may contain names that a shell would execute, or that programs treat as
# options.  Commands do not get such names, even if %f is within quotes in the pattern.
my $toc = read_toc($stock_plain);
my ($te) = grep { is_table_data($_) && $_->{tag} eq 'small' } @{ $toc->{entries} };
foreach my $evil (q{a'$(touch pwned)"`touch pwned`;touch pwned;'.dat}, '-n.dat', "a\n.dat", '../../a.dat', '.a.dat', '$HOME.dat', 'a b.dat')
{
	my ($here, $forged, $log) = map { new_path($_) } qw(here forged log);
	my $what = 'a name that is ' . $evil =~ s/\n/ /r;
	my $invalid = qr/" is not a valid file name in an archive\n/;
	mkdir $here or die "could not make directory \"$here\": $!";
	copy_archive($stock_plain, $forged);
	$te->{filename} = $evil;
	write_toc($toc, $forged);
	foreach my $pattern ("echo %f >>$log; cat $forged/%f", "bash -c 'echo %f >>$log; cat $forged/%f'", "bash -c \"echo %f >>$log; cat $forged/%f\"")
	{
		$pattern = "cd $here && $pattern";
		my $err = pipe_failed(pipe_copy(), $what, $pattern, '--retries=1');
		# some pg_restores reject the name themselves
		like($err, qr/COPY failed for table public\.small: [^\n]*(?:\n[^\n]*)?$invalid|^pg_restore: error: invalid file name in archive: /m, "$what: message");
		unlike($err, qr/retry/, "$what: no retry");
		my ($rc, undef, $said) = run_program('pg_pardump', '--verify', "--pipe=$pattern", '--retries=1');
		is($rc, 1, "$what, --verify: exit code");
		like($said, qr/error: "[^\n]*$invalid/, "$what, --verify: message");
		is_deeply([ glob "$here/*" ], [], "$what: nothing is executed");
	}
	is_deeply([ grep { !/^(?:\d+\.dat|toc\.dat|\Q$manifest_name\E|blobs\w*\.toc|blob_\d+\.dat)$/ } split /\n/, slurp_file($log) ], [], "$what: commands get only harmless names");
}
# the same in a manifest
{
	my $forged = copy_archive($plain, new_path('forged'));
	my $name = table_file($plain, 'small');
	# copy_archive() has made a hard link
	system_or_bail('cp', '--remove-destination', "$plain/$manifest_name", $forged);
	change_manifest($forged, sub { s/"\Q$name\E"/"-n.dat"/ });
	my ($rc, undef, $said) = run_program('pg_pardump', '--verify', "--pipe=cat $forged/%f", '--retries=1');
	is($rc, 1, 'a forged name in the manifest: exit code');
	like($said, qr/error: "-n\.dat" is not a valid file name in an archive\n/, 'a forged name in the manifest: message');
	my $err = pipe_failed(pipe_copy(), 'a forged name in the manifest', "cat $forged/%f", '--retries=1');
	like($err, qr/file "\Q$name\E" is not listed in the manifest\n/, 'a file that the manifest does not list: message');
	unlike($err, qr/retry/, 'a file that the manifest does not list: no retry');
}
foreach my $name ('blob_1003.dat', map { s/.*\///r } glob "$plain/blobs*.toc")
{
	my $what = "$name is not in the manifest";
	my $forged = copy_archive($plain, new_path('forged'));
	system_or_bail('cp', '--remove-destination', "$plain/$manifest_name", $forged);
	change_manifest($forged, sub { s/"\Q$name\E"/"x$name"/ });
	my $db = pipe_copy();
	my $err = pipe_failed($db, $what, "cat $forged/%f");
	like($err, qr/error: could not [^\n]*(?:\n[^\n]*detail: )?file "\Q$name\E" is not listed in the manifest\.?\n/i, "$what: message");
	unlike($err, qr/retry|Command was/, "$what: no command was run");
	# a list is read before anything is restored
	is(value($node, $db, q{SELECT to_regclass('small') IS NULL}), $name =~ /toc/ ? 't' : 'f', "$what: whether tables were created");
}
# ---- a secret in the command does not appear in the event log and in the report

{
	my ($events, $page) = (new_path('events'), new_path('page'));
	my $command = "TOKEN=hidden5 cat $ours/%f";
	is(piped_ok(pipe_copy(), 'a secret', $command, "--log-json=$events", "--report=$page"), '', 'a secret: no messages');
	like(slurp_file($events), qr/"event":"run"/, 'a secret: the event log is written');
	like(slurp_file($page), qr/files that commands return/, 'a secret: the report is written');
	my ($rc) = run_program('pg_pardump', '--verify', "--pipe=$command", "--log-json=$events", "--report=$page.verify");
	is($rc, 0, 'a secret, --verify: exit code');
	unlike(slurp_file($_), qr/hidden5/, "a secret: not in $_") foreach $events, $page, "$page.verify";
}

# ---- runs that read only toc.dat, the manifest and selected files

my $log = new_path('log');
my $logged = "echo %f >>$log; cat $ours/%f";
{
	local $ENV{TMPDIR} = temp_dir();
	my ($list_rc, $list, $list_err) = run_program('pg_parrestore', '-l', "--pipe=$logged");
	is("$list_rc$list_err", '0', '-l: exit code');
	is($list, (run_program('pg_restore', '-l', $ours))[1], '-l: the same list as that of pg_restore');
	is_deeply([ sort split /\n/, slurp_file($log) ], [ $manifest_name, 'toc.dat' ], '-l: only toc.dat and the manifest are read');
	no_temp_files_ok('-l');
	($rc) = run_program('pg_parrestore', '-l', '-t', 'small', "--pipe=cat /nowhere/%f", '--retries=0');
	is($rc, 1, '-l of a missing archive: exit code');
	no_temp_files_ok('-l of a missing archive');

	my $lines = text_file('list', join '', grep { /^;|small/ } split /^/, $list);
	foreach my $options ([ '-L', $lines ], [ '-t', 'small', '-n', 'public' ])
	{
		my $db = pipe_copy();
		unlink $log;
		($rc, undef, $err) = pipe_into($db, $logged, @$options);
		is("$rc$err", '0', "$options->[0]: exit code");
		is(value($node, $db, 'SELECT count(*) FROM small'), 1000, "$options->[0]: rows");
		is_deeply([ sort split /\n/, slurp_file($log) ], [ table_file($ours, 'small'), $manifest_name, 'toc.dat' ], "$options->[0]: only the selected file is read");
	}
}
unlink $log;
my ($check_rc, $check, $check_err) = pipe_into(pipe_copy(), $logged, '--check');
is("$check_rc$check_err", '0', '--check: exit code');
like($check, qr/^A run would restore 5 tables, about /, '--check: the plan');
is_deeply([ grep { !/^(?:toc\.dat|\Q$manifest_name\E|blobs\w*\.toc)$/ } split /\n/, slurp_file($log) ], [], '--check: no data files are read');
like((pipe_into(pipe_copy(), "cat $stock/%f", '--check'))[1], qr/^A run would restore 5 tables into database /, '--check without a manifest: the plan contains no size');

# ---- pg_pardump --verify

my $size = -s "$ours/" . table_file($ours, 'small');

sub verify_piped { return run_program('pg_pardump', '--verify', "--pipe=$_[0]", @_[ 1 .. $#_ ]); }

foreach my $name (sort keys %archives)
{
	my $dir = $archives{$name};
	my (undef, $expected) = run_program('pg_pardump', '--verify', $dir);
	my ($verify_rc, $out, $said) = verify_piped("cat $dir/%f", '-j2');
	s/^verified archive ".*"| in [\d.]+ s, \S+ \S+\/s$//mg foreach $out, $expected;
	is("$verify_rc $out", "0 $expected", "--verify, $name: the same result as for a directory") or diag($said);
	like($said, $name =~ /pg_dump/ ? qr/^pg_pardump: warning: archive "[^\n]*" has no manifest\npg_pardump: detail: Files are read without checksums\.\n(?:pg_pardump: warning: [^\n]* returned no data for 1 large object\npg_pardump: detail: Files: blob_2000\.dat[^\n]*\npg_pardump: detail: [^\n]*\npg_pardump: hint: [^\n]*\n)?\z/ : qr/^\z/, "--verify, $name: messages");
}
foreach my $try (
	[ $ours, 'exit 3', qr/command for file "[^"]*" failed: child process exited with exit code 3/i ],
	[ $ours, 'head -c 10 FILE', qr/command for file "[^"]*" returned 10 bytes instead of $size/i ],
	[ $plain, 'tr a b <FILE', qr/command for file "[^"]*" returned data that does not match the checksum in the manifest/i ],
	[ $ours, $sleep, qr/command for file "[^"]*" returned no data for 1 s/i ],
	[ $stock, 'head -c 100 FILE', qr/The compressed data is truncated/i ],
	[ $stock_plain, 'head -c 100 FILE', qr/The line that ends the rows is missing/i ])
{
	my ($dir, $command, $message) = @$try;
	my $name = table_file($dir, 'small');
	my $what = "--verify, $command";
	my @options = ('--stall-timeout=1', '--retries=1', '--pipe-prefetch=0');
	$command =~ s/FILE/$dir\/$name/;
	my ($verify_rc, undef, $said) = verify_piped(failing_command($dir, $name, $command, new_path('flag')), @options);
	is($verify_rc, 0, "$what, once: exit code");
	like($said, qr/^pg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: $message\.\npg_pardump: detail: Command was: /m, "$what, once: message");
	($verify_rc, undef, $said) = verify_piped(failing_command($dir, $name, $command), @options);
	is($verify_rc, $command =~ /^(?:exit|\Q$sleep\E)/ ? 75 : 1, "$what: exit code");
	like($said, qr/^pg_pardump: error: [^\n]*\btable public\.small[^\n]*\npg_pardump: detail: $message\.\n.*^pg_pardump: error: verification of archive "[^\n]*" failed: 1 problem found, files checked: \d+\n[^\n]*hint: [^\n]*\n\z/ms, "$what: message");
}
# If a list of large objects cannot be read, this is the only problem.
foreach my $dir ($ours, $stock_plain)
{
	foreach my $name (map { s/.*\///r } glob "$dir/blobs*.toc")
	{
		my $what = "--verify, $dir/$name";
		my ($verify_rc, undef, $said) = verify_piped(failing_command($dir, $name, 'exit 3'), '--retries=0');
		is($verify_rc, 75, "$what: exit code");
		like($said, qr/^pg_pardump: error: command for file "\Q$name\E" failed: [^\n]*\npg_pardump: error: verification of archive "[^\n]*" failed: 1 problem found, files checked: \d+\n[^\n]*hint: [^\n]*\n\z/m, "$what: message");
	}
}
foreach my $try (
	[ [ "--verify=$ours", '--pipe=cat %f' ], qr/options --verify=DIRECTORY and --pipe cannot be used together/ ],
	[ [ '--verify', $ours, '--pipe=cat %f' ], qr/options --verify=DIRECTORY and --pipe cannot be used together/ ],
	[ ['--verify'], qr/option '--verify' requires an argument/ ],
	[ ['--verify='], qr/no directory specified for option --verify/ ],
	[ [ '--verify', '--pipe=cat' ], qr/invalid value "cat" for option --pipe/ ],
	[ [ '--verify', '--pipe=cat /nowhere/%f', '--retries=0' ], qr/command for file "toc\.dat" failed/ ])
{
	my ($options, $message) = @$try;
	my ($verify_rc, undef, $said) = run_program('pg_pardump', @$options);
	is($verify_rc, "$message" =~ /failed/ ? 75 : 1, "@$options: exit code");
	like($said, $message, "@$options: message");
}

# ---- options

my $inserts = dump_ok($node, 'shop', 'stock, --inserts', 'pg_dump', '--inserts');
foreach my $try (
	[ [ '-d', 'x', '--pipe=cat' ], qr/invalid value "cat" for option --pipe.*must contain %f/s ],
	[ [ '-d', 'x', '--pipe=cat %f', $ours ], qr/an archive cannot be specified together with option --pipe/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '-Fc' ], qr/options --pipe and --format=c cannot be used together.*directory format/s ],
	[ [ '-d', 'x', '--pipe=cat %f', '--format=tar' ], qr/options --pipe and --format=tar cannot be used together/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '-1' ], qr/option --pipe cannot be used, because pg_restore runs this restore\n.*detail: A single transaction/ ],
	[ [ '-d', 'x', '--pipe=cat %f', '--verify' ], qr/options --pipe and --verify cannot be used together/ ],
	[ [ '--pipe=cat %f' ], qr/option --pipe cannot be used without a database to restore into/ ],
	[ [ '-f', '-', '--stall-timeout=5', $ours ], qr/option --stall-timeout cannot be used without a database to restore into/ ],
	[ [ '-f', '-', '--stall-timeout=60', $ours ], qr/option --stall-timeout cannot be used without a database to restore into/ ],
	[ [ '-l', '--retries=5', $ours ], qr/option --retries cannot be used without a database to restore into/ ],
	[ [ '-f', '-', '--pipe=cat %f' ], qr/option --pipe cannot be used without a database to restore into/ ],
	[ [ '-d', $node->connstr('postgres'), "--pipe=cat $inserts/%f" ], qr/option --pipe cannot be used, because pg_restore runs this restore\n.*detail: The archive contains rows as INSERT commands\./ ])
{
	my ($options, $message) = @$try;
	local $ENV{TMPDIR} = temp_dir();
	($rc, undef, $err) = run_program('pg_parrestore', @$options);
	is($rc, 1, "@$options: exit code");
	like($err, $message, "@$options: message");
	no_temp_files_ok("@$options");
}
is(piped_ok(pipe_copy(), '--format=directory', "cat $ours/%f", '-Fd'), '', '-Fd: no messages');

$node->stop;
done_testing();
