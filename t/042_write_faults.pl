# Files cannot be written: a full disk, for which a limit of the size of files
# stands, a directory that may not be written, too few descriptors.  No archive
# is left that pg_restore would take.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump dump_failed_ok
  nothing_remains_ok wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value codecs);
use Pardump::Command qw(fake_pg_dump accepted_ok system_faults);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('write');
make_database($node, 'write');
sql($node, 'write', <<'SQL');
CREATE SCHEMA a;
CREATE SCHEMA b;
CREATE SCHEMA c;
CREATE TABLE a.large AS SELECT md5(g::text) || md5((g + 1)::text) AS t
	FROM generate_series(1, 30000) g;
CREATE TABLE b.commented AS SELECT 1 AS a;
DO $$ BEGIN
	EXECUTE format('COMMENT ON TABLE b.commented IS %L',
		(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 20000) g));
END $$;
CREATE TABLE c.plain AS SELECT 1 AS a;
SELECT lo_from_bytea(g, decode((SELECT string_agg(md5(h::text), '')
	FROM generate_series(1, 20000) h), 'hex')) FROM generate_series(77777, 77778) g;
SQL
my $connstr = $node->connstr('write');

# No file may be larger than some 100 kB; shells differ in the unit.
my @small_disk = (with => [ 'sh', '-c', 'ulimit -f 100; exec "$@"', 'sh' ]);

foreach my $codec (codecs($node))
{
	dump_failed_ok($node,
		start_dump($connstr, @small_disk, '-Z', $codec, '-n', 'a', '-j2', '--no-chunks'),
		"a full disk, $codec",
		qr/could not write file ".*\.dat.*": File too large\n.*The worker was dumping table a\.large\./);
}
dump_failed_ok($node,
	start_dump($connstr, @small_disk, '-Z0', '-n', 'a', '-j2', '--max-table-segment-pages=100'),
	'a full disk, a chunk',
	qr/could not write file ".*\.dat.*": File too large\n.*The worker was dumping chunk \d+ of \d+ of table a\.large\./);
dump_failed_ok($node,
	start_dump($connstr, @small_disk, '-Z0', '-n', 'c', '-b', '-j2'),
	'a full disk, large objects',
	qr/could not write file ".*blob_7777[78]\.dat.*": File too large\n.*The worker was dumping 2 large objects, 77777 to 77778\./);
dump_failed_ok($node, start_dump($connstr, @small_disk, '-n', 'b', '-j2'),
	'a full disk, what pg_dump writes', qr/pg_dump was terminated by signal \d+: File size limit exceeded/);
dump_failed_ok($node,
	start_dump($connstr, with => [ 'sh', '-c', 'ulimit -S -f 100; exec "$@"', 'sh' ], '-n', 'b', '-j2',
		'--pg-dump', fake_pg_dump('on_another_disk', 'ulimit -S -f unlimited; exec "$PG_DUMP" "$@"')),
	'a full disk, table of contents',
	qr/could not write file ".*toc\.dat.*": File too large/);
{
	my $dump = start_dump($connstr, @small_disk, '-Z0', '-n', 'a', '-j2',
		'--max-table-segment-pages=4');
	is(end_dump($dump), 0, 'files below the limit: exit code') or diag($dump->{err});
	ok(-f "$dump->{dir}/toc.dat", 'files below the limit: the archive has a table of contents');
}

# A file system that is full, where an ordinary user may mount one.  It is gone
# with the command, which lists what is left in it.
SKIP: {
	my ($rc) = run_program('unshare', '-Urm', 'mount', '-t', 'tmpfs', 'none', '/mnt');
	skip 'no namespaces for ordinary users', 9 if $rc != 0;
	my $mount = new_path('mount');
	mkdir $mount or die "could not create \"$mount\": $!";
	my $user = value($node, 'postgres', 'SELECT current_user');
	foreach my $case (
		[ 'rows', qr/The worker was dumping (chunk \d+ of \d+ of )?table a\.large\./, '-n', 'a', '--max-table-segment-pages=100' ],
		[ 'rows, gzip', qr/The worker was dumping table a\.large\./, '-n', 'a', '-Z1' ],
		[ 'large objects', qr/The worker was dumping 2 large objects/, '-n', 'c', '-b', '-j1' ])
	{
		my ($what, $message, @options) = @$case;
		my ($rc, $out, $err) = run_program('unshare', '-Urm', 'sh', '-c',
			'mount -t tmpfs -o size=500k none "$0" && "$@"; rc=$?; ls -A "$0"; exit $rc', $mount,
			'pg_pardump', '-d', $connstr, '-U', $user, '-Z0', '-j2', '-f', "$mount/new", @options);
		is($rc, 1, "a full file system, $what: exit code");
		like($err, qr/error: could not (write|create|close) file ".*\.dat.*": No space left on device\n.*$message/,
			"a full file system, $what: message");
		is($out, '', "a full file system, $what: no archive is left");
	}
}

# A disk that fails when it has to store what it has accepted: data that were
# not certainly flushed are not an archive.
{
	my $library = system_faults();
	my ($rc, $err);
	foreach my $try ([ 'fsync', '.dat', 'fsync file' ],
		[ 'fsync', 'toc.dat.tmp', 'fsync file' ],
		[ 'fsync', 'pg_pardump_manifest.json', 'fsync file' ],
		[ 'fsync', 'DIR', 'fsync file' ], [ 'fsync', 'PARENT', 'fsync file' ],
		[ 'rename', 'toc.dat', 'rename file' ], [ 'close', '.dat', 'close file' ],
		[ 'close', 'toc.dat.tmp', 'close file' ],
		[ 'close', 'pg_pardump_manifest.json', 'close file' ],
		[ 'syncfs', '', 'synchronize file system for file', '--sync-method=syncfs' ])
	{
		my ($call, $path, $message, @options) = @$try;
		my $dir = new_path('dump');
		my ($parent) = $dir =~ m{(.*)/};
		$path =~ s/DIR/$dir/;
		$path =~ s/PARENT/$parent/;
		($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library",
			"SYSTEM_FAULT=$call $path", 'pg_pardump', '-d', $connstr, '-f', $dir,
			'-n', 'a', '-Z0', '-j2', @options);
		is($rc, 1, "$call of \"$try->[1]\" fails: exit code");
		like($err, qr/error: could not $message ".*": Input\/output error/,
			"$call of \"$try->[1]\" fails: message");
		ok(!-e $dir, "$call of \"$try->[1]\" fails: no archive is left");
	}
}

# Another user, who may write to the directory above, replaces the archive's directory, or
# the one above, with a link to another archive right after it was made.
{
	my $library = system_faults();
	my ($above, $victim) = (new_path('above'), new_path('victim'));
	foreach my $options ([ '-d', $connstr ], [ '--all-databases', '-d', $connstr ])
	{
		mkdir $_ or die "could not create \"$_\": $!" foreach $above, $victim;
		my ($rc, undef, $err) = run_program('pg_pardump', @$options, '-f', "$victim/data", '--no-sync');
		is("$rc$err", '0', "another archive: @$options");
		my $files = sub { return scalar `cd '$victim/data' && find . -type f -exec cksum {} + | sort`; };
		my $before = $files->();
		foreach my $swap ("mv '$above' '$above.moved' && ln -s '$victim' '$above'", "rmdir '$above/data' && ln -s '$victim/data' '$above/data'")
		{
			($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library", 'SYSTEM_MOMENT=above/data',
				"SYSTEM_COMMAND=case \$moment in 'after mkdir') $swap ;; esac",
				'pg_pardump', @$options, '-f', "$above/data", '--no-sync');
			is($rc, 1, "a directory that is replaced, $swap: exit code");
			like($err, qr/error: directory "\Q$above\E\/data" was replaced or filled by another process\n.*detail: [^\n]+\.\n.*hint: Choose a directory whose parent /,
				"a directory that is replaced, $swap: message");
			is($files->(), $before, "a directory that is replaced, $swap: the other archive is the same");
			system_or_bail('rm', '-rf', $above, "$above.moved");
			mkdir $above or die "could not create \"$above\": $!";
		}
		system_or_bail('rm', '-rf', $above, $victim);
	}

	# the same of the directory of a plan
	mkdir $_ or die "could not create \"$_\": $!" foreach $above, $victim;
	is((run_program('pg_pardump', '-d', $connstr, '-f', "$victim/data", '--no-sync'))[0], 0, 'another archive');
	my ($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library", 'SYSTEM_MOMENT=above/data',
		"SYSTEM_COMMAND=case \$moment in 'after mkdir') mv '$above' '$above.moved' && ln -s '$victim' '$above' ;; esac",
		'pg_pardump', '-d', $connstr, '-f', new_path('by_tasks'), '--tasks=1', '--run-tasks=false %p', "--plan=$above/data/plan.json", '--no-sync');
	is($rc, 1, 'a directory of a plan that is replaced: exit code');
	like($err, qr/error: directory "\Q$above\E\/data" was replaced or filled by another process/, 'a directory of a plan that is replaced: message');
	ok(-e "$victim/data/toc.dat", 'a directory of a plan that is replaced: the other archive is there');
}

# A system that has no more processes, pipes or memory to give: at whichever
# call it says so, the run ends, and leaves nothing.
foreach my $call ('fork', 'pipe', 'mmap')
{
	my $library = system_faults();
	my ($n, $rc, $err) = (0);
	do
	{
		my $dir = new_path('dump');
		$n++;
		($rc, undef, $err) = run_program('env', "LD_PRELOAD=$library",
			"SYSTEM_FAULT=$call $n", 'pg_pardump', '-d', $connstr, '-f', $dir,
			'--no-sync', '-n', 'a', '-j2', '-r100M');
		if ($rc != 0)
		{
			like($err, qr/\A[^\n]*error: could not (create (child process|worker process|pipe)|map shared memory): Input\/output error\n/,
				"$call no. $n fails: message");
			is($rc, 1, "$call no. $n fails: exit code");
			nothing_remains_ok($node, $dir, "$call no. $n fails");
			ok(!-e $dir, "$call no. $n fails: no directory");
		}
	} while ($rc != 0 && $n < 50);
	ok($n > 3 && $rc == 0, "$call: " . ($n - 1) . ' calls could fail');
}

# A directory that was there stays there, but nothing of ours in it.
{
	my $dir = new_path('there');
	mkdir $dir or die "could not create \"$dir\": $!";
	my ($rc, undef, $err) = run_program('sh', '-c', 'ulimit -f 100; exec "$@"', 'sh',
		'pg_pardump', '-d', $connstr, '-f', $dir, '-Z0', '-j2');
	is($rc, 1, 'a full disk, and an existing directory: exit code');
	ok(-d $dir, 'a full disk, and an existing directory: it still exists');
	is(join(' ', map { s/.*\///r } glob "$dir/*"), '', 'a full disk, and an existing directory: it is empty');
}

# Two runs into one directory, the second while the first has not written a row:
# the first gets it, also if it was there before, and loses nothing to the
# second's clean-up.
foreach my $there (0, 1)
{
	my $what = 'two runs, ' . ($there ? 'an empty' : 'no') . ' directory';
	my ($ready, $gate) = (new_path('ready'), new_path('gate'));
	my $waiting = fake_pg_dump('waiting_pg_dump',
		"touch '$ready'; while [ ! -e '$gate' ]; do sleep 0.05; done; exec \"\$PG_DUMP\" \"\$@\"");
	my $dir = new_path('shared');
	mkdir $dir or die "could not create \"$dir\": $!" if $there;
	my @options = ('-j2', '-Z0', '--max-table-segment-pages=50', '-n', 'a');
	my $first = start_dump($connstr, dir => $dir, @options, '--pg-dump', $waiting);
	wait_until('the first waits', sub { $first->{h}->pump_nb; -e $ready });
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '-f', $dir, @options);
	is($rc, 1, "$what: exit code of the second");
	like($err, qr/"\Q$dir\E" exists but is not empty/, "$what: message");
	append_to_file($gate, '');
	is(end_dump($first), 0, "$what: exit code of the first");
	is($first->{err}, '', "$what: no message");
	# lines of rows, in their order
	my ($got, $want) = map {
		my (undef, $out) = run_program('pg_restore', '-a', '-f', '-', $_);
		join "\n", grep { /^[0-9a-f]{64}$/ } split /\n/, $out;
	} ($dir, accepted_ok("$what: undisturbed", '-d', $connstr, @options));
	ok($got eq $want && length $got == 30000 * 65 - 1, "$what: the archive contains all rows");
}

# What only the superuser may ignore, and PostgreSQL does not run as root.
{
	my $dir = new_path('readonly');
	mkdir $dir, 0555 or die "could not create \"$dir\": $!";
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '-f', "$dir/new");
	is($rc, 1, 'a parent directory that may not be written');
	like($err, qr/could not create directory "\Q$dir\E\/new": Permission denied/, 'message');
	($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '-f', $dir);
	is($rc, 1, 'a directory that may not be written');
	like($err, qr/could not create file "\Q$dir\E\/.*": Permission denied/, 'message');
	nothing_remains_ok($node, $dir, 'a directory that may not be written');
	chmod 0000, $dir or die "could not change mode of \"$dir\": $!";
	($rc, undef, $err) = run_program('pg_pardump', '-d', $connstr, '-f', $dir);
	is($rc, 1, 'a directory that may not be read');
	like($err, qr/could not (read|access|open) directory "\Q$dir\E": Permission denied/, 'message');
	chmod 0755, $dir or die "could not change mode of \"$dir\": $!";
}

dump_failed_ok($node,
	start_dump($connstr, with => [ 'sh', '-c', 'ulimit -n 20; exec "$@"', 'sh' ],
		'-j30', '--max-table-segment-pages=2'),
	'too few file descriptors', qr/error: the limit of open files \(20\) is too low for 30 jobs: 124 are needed\n.*hint: Use a smaller number for --jobs/);

$node->stop;
done_testing();
