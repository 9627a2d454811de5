# Incremental dumps with --incremental-pipe, which returns files of the previous archive, and
# --pipe-copy, which copies them: the new archive is complete, copied files are not read, and
# --verify finds damage in them.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run wait_until nothing_remains_ok);
use Pardump::Cluster qw(start_cluster run_program new_path sql);
use Pardump::Compare qw(fingerprint same_when_restored_ok);
use Pardump::DamagedArchive qw(damaged flipped cut gone written other_manifest);
use Pardump::Incremental qw(make_shop first_archive full_archive row_files how
  same_contents_ok verified_ok);
use Pardump::Manifest qw($manifest_name read_manifest);
use Pardump::Tasks qw(runner side_by_side);
use Pardump::WholeCluster qw(archive_of);
use PostgreSQL::Test::Utils;
use Test::More;

# a command with a number of its own, because other test files may run at the same time
my $sleep = "sleep 100198.$$";

my $node = start_cluster('pipe_incremental');
make_shop($node, 'shop');
my @fingerprinted = @Pardump::Incremental::fingerprinted;
my @db = ('-d', $node->connstr('shop'));
my ($rc, $out, $err);

sub new_dir
{
	my $dir = new_path('store');
	mkdir $dir or die "could not make directory \"$dir\": $!";
	return $dir;
}

my %default = (pipe => 'cat >NEW/%f', read => 'cat OLD/%f 2>/dev/null', copy => 'cp OLD/%o NEW/%f');

# The options of a dump into this directory.  In the commands, NEW and OLD stand for the
# directories of both archives.
sub pipe_options
{
	my ($new, $old, %params) = @_;
	my %command = map { $_ => ($params{$_} // $default{$_}) =~ s/NEW/$new/gr =~ s/OLD/$old/gr } keys %default;
	return ("--pipe=$command{pipe}", "--incremental-pipe=$command{read}", "--pipe-copy=$command{copy}", @{ $params{options} // [] });
}

# Runs an incremental dump.  Returns a hash with the "dir" of the new archive, and the "rc",
# "out" and "err" of the run.
sub piped
{
	my ($old, %params) = @_;
	my %new = (dir => new_dir());
	@new{qw(rc out err)} = run_program('pg_pardump', @db, @Pardump::Incremental::chunks, pipe_options($new{dir}, $old, %params));
	return \%new;
}

# Runs an incremental dump, which must succeed and print this message, or none.  Returns the
# directory of the new archive.
sub piped_ok
{
	my ($what, $old, %params) = @_;
	my $new = piped($old, %params);
	is($new->{rc}, 0, "$what: exit code");
	like($new->{err}, $params{message} // qr/\A\z/, "$what: message");
	die "no archive to test with" if !-f "$new->{dir}/toc.dat";
	return $new->{dir};
}

# Runs an incremental dump, which must fail with this message, and leave no toc.dat.
sub piped_failed
{
	my ($what, $old, $message, %params) = @_;
	my $new = piped($old, %params);
	is($new->{rc}, 1, "$what: exit code");
	like($new->{err}, $message, "$what: message");
	nothing_remains_ok($node, $new->{dir}, $what);
	return $new->{dir};
}

# A command that runs $command for one file of the previous archive, each time or, with a
# flag file, only the first time.  Then, or for other files, it runs $next.
sub but
{
	my ($sign, $name, $command, $next, $flag) = @_;
	my $guard = defined $flag ? "[ ! -e $flag ] && : >$flag && " : '';
	return "f=$sign; if [ \$f = '$name' ] && ${guard}true; then $command; fi; $next";
}

sub how_ok
{
	my ($dir, $what, $how, @tables) = @_;
	like(how($dir, $_), $how, "$what: $_") foreach @tables;
	return;
}

sub lines { return split /\n/, slurp_file($_[0]); }

# ---- nothing has changed

my $mon = first_archive($node, 'shop', 'the first');
my $full = full_archive($node, 'shop', 'the first');
{
	my $what = 'nothing has changed';
	my ($read, $copied, $log) = map { new_path($_) } qw(read copied log);
	my $dir = piped_ok($what, $mon, read => "echo %f >>$read; $default{read}", copy => "echo %o %f >>$copied; $default{copy}",
		options => ["--log-json=$log"]);
	how_ok($dir, $what, qr/^p+$/, @fingerprinted);
	how_ok($dir, "$what, dumped", qr/^\.+$/, qw(never small empty));
	is_deeply([ lines($read) ], [ $manifest_name, 'toc.dat', $manifest_name ], "$what: only the manifest and toc.dat are read");
	my @reused = grep { $_->{Reused} } row_files($dir);
	is_deeply([ grep { $_->{Reused} ne 'pipe-copy' } @reused ], [], "$what: the manifest names the copy method");
	is_deeply([ sort map { (split / /)[1] } lines($copied) ], [ sort map { $_->{Path} } @reused ], "$what: each file is copied once");
	my @events = map { JSON::PP->new->utf8->decode($_) } lines($log);
	my %ends = map { ($_->{file} => $_) } grep { $_->{event} eq 'chunk_end' } @events;
	is_deeply([ grep { ($ends{ $_->{Path} }{reused} // '') ne ($_->{Reused} // '') } row_files($dir) ], [], "$what: events name the copy method");
	my ($old, $new) = map { read_manifest($_)->{'Fingerprint-Key'} } $mon, $dir;
	is($new, $old, "$what: the key is inherited");
	same_contents_ok($dir, $full, $what);
	verified_ok($dir, $what);

	# runs that only plan or check
	foreach my $option ('--dry-run', '--check')
	{
		my $checked = piped($mon, copy => "echo >>$copied.more; $default{copy}", options => [$option]);
		is($checked->{rc}, 0, "$option: exit code");
		like($checked->{out} . $checked->{err}, qr/^(?:reusable from the previous archive, if rows have not changed: [1-9]|  reused from the previous archive: up to [1-9])/m, "$option: reusable bytes are printed");
		is_deeply([ glob "$checked->{dir}/*" ], [], "$option: no file is written");
	}
	ok(!-e "$copied.more", '--dry-run and --check copy no file');
}

# ---- some rows have changed, and files have other names

my $tue;
{
	my $what = 'some changes';
	sql($node, 'shop', $_) foreach
	  q{INSERT INTO appended SELECT g, '2025-01-01', decode(md5(g::text), 'hex'), 'other ' || md5((-g)::text) FROM generate_series(20001, 20500) g},
	  'UPDATE updated SET n = n + 1 WHERE id BETWEEN 3000 AND 3100', 'CREATE TABLE aaa AS SELECT 1 AS id', 'VACUUM updated';
	my $data = fingerprint($node, 'shop');
	my $copied = new_path('copied');
	$tue = piped_ok($what, $mon, copy => "echo 'it copies'; echo %o %f >>$copied; $default{copy}",
		message => qr/\A(?:it copies\n)+\z/);
	how_ok($tue, $what, qr/^p+\.+$/, 'appended');
	how_ok($tue, $what, qr/^p+\..*p.*\.$/, 'updated');
	how_ok($tue, $what, qr/^p+$/, qw(docs types parts_old));
	cmp_ok(scalar(grep { !/^(\S+) \1$/ } lines($copied)), '>', 0, "$what: files are copied to other names");
	verified_ok($tue, $what);
	same_when_restored_ok($node, $tue, $data, $what);

	# the next dump requires only the second archive, also with fewer jobs
	my $away = "$mon.away";
	rename $mon, $away or die "could not rename \"$mon\": $!";
	my $wed = piped_ok('the third', $tue, options => ['-j1']);
	how_ok($wed, 'the third', qr/^p+$/, @fingerprinted);
	same_when_restored_ok($node, $wed, $data, 'the third');
	rename $away, $mon or die "could not rename \"$away\": $!";
}

# ---- commands that fail

my ($name) = map { $_->{Path} } row_files($tue, 'docs');
foreach my $try ([ 'exit code', 'exit 3', qr/child process exited with exit code 3/ ], [ 'killed', 'kill -9 $$', qr/child process was terminated by signal 9/ ])
{
	my ($what, $command, $reason) = @$try;
	my $message = qr/Command for file "\S+" failed: $reason/i;
	my $dir = piped_ok("$what, once", $tue, copy => but('%o', $name, $command, $default{copy}, new_path('flag')), options => ['--retries=1'],
		message => qr/\Apg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: $message[^\n]*\npg_pardump: detail: Command was: [^\n]*\n\z/);
	how_ok($dir, "$what, once", qr/^p+$/, @fingerprinted);
	verified_ok($dir, "$what, once");
	piped_failed($what, $tue, qr/^pg_pardump: error: could not copy file "\Q$name\E" of the previous archive\npg_pardump: detail: $message[^\n]*\npg_pardump: detail: Command was: [^\n]*\npg_pardump: detail: The command was run 2 times\.\npg_pardump: hint: If the file is missing, /m,
		copy => but('%o', $name, "$command", $default{copy}), options => ['--retries=1']);
}
piped_failed('missing file', damaged($tue, gone($name)), qr/^cp: .*^pg_pardump: error: could not copy file "\Q$name\E" of the previous archive\n/ms,
	options => ['--retries=0']);

# a run that is ended also ends its commands
{
	my $what = 'a signal while a file is copied';
	my $dir = new_dir();
	my $dump = start_dump($node->connstr('shop'), with => [ 'sh', '-c', 'shift 3; exec pg_pardump "$@"', 'sh' ],
		@Pardump::Incremental::chunks, pipe_options($dir, $tue, copy => ": >NEW.copies; $sleep; $default{copy}"));
	wait_in_run($dump, 'a command copies', sub { -e "$dir.copies" });
	kill TERM => $dump->{pid};
	is(end_dump($dump), 1, "$what: exit code");
	nothing_remains_ok($node, $dir, $what);
	wait_until('no command is left', sub { return (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 0; });
}

# ---- --verify finds damaged files that were copied from the previous archive

my $first = (grep { $_->{Fingerprint} } row_files($tue, 'types'))[0];
foreach my $try ([ 'other bytes', flipped($name, 100) ], [ 'fewer bytes', cut($name, 1000) ],
	[ 'another file', sub { system_or_bail('cp', "$_[0]/$first->{Path}", "$_[0]/$name"); } ])
{
	my ($what, $damage) = @$try;
	my $dir = piped_ok($what, damaged($tue, $damage));
	my ($new) = map { $_->{Path} } row_files($dir, 'docs');
	($rc, undef, $err) = run_program('pg_pardump', "--verify=$dir");
	is($rc, 1, "$what, verified: exit code");
	like($err, qr/error: file "\Q$new\E"/, "$what, verified: message");
	($rc, undef, $err) = run_program('pg_pardump', '--verify', "--pipe=cat $dir/%f", '--retries=0');
	is($rc, 1, "$what, verified through commands: exit code");
	like($err, qr/error: could not verify the rows of table .*\n.*detail: Command for file "\Q$new\E" returned /, "$what, verified through commands: message");
}

# ---- a previous archive that cannot be used

my $without = full_archive($node, 'shop', 'without fingerprints');
foreach my $try (
	[ 'no manifest', gone($manifest_name), qr/Command for file "\Q$manifest_name\E" failed: .* exit code 1/ ],
	[ 'no toc.dat', gone('toc.dat'), qr/Command for file "toc\.dat" failed: .* exit code 1/ ],
	[ 'another toc.dat', written('toc.dat', 'x'), qr/Command for file "toc\.dat" returned 1 byte instead of \d+/ ],
	[ 'damaged manifest', cut($manifest_name, 1000), qr/The manifest's own checksum does not match/ ],
	[ 'names for a shell', other_manifest(sub { s/"Path": "\Q$name\E"/"Path": "\$(x).dat"/ or die "no $name" }), qr/The manifest contains invalid file name "\$\(x\)\.dat"/ ],
	[ 'another version', other_manifest(sub { s/("Tool-Version": ")/${1}0/ or die 'no version' }), qr/Its version of pg_pardump was .*/ ],
	[ 'no fingerprints', undef, qr/It has no fingerprints/ ])
{
	my ($what, $damage, $reason) = @$try;
	my $old = $damage ? damaged($tue, $damage) : $without;
	my $dir = piped_ok($what, $old, options => ['--retries=0'],
		message => qr/\Apg_pardump: warning: cannot reuse archive "cat \Q$old\E\/%f 2>\/dev\/null"\npg_pardump: detail: $reason\.\npg_pardump: detail: All rows will be dumped\.\npg_pardump: hint: The new archive contains fingerprints, .*\n\z/);
	how_ok($dir, $what, qr/^\.+$/, @fingerprinted);
	is(scalar(grep { !$_->{Fingerprint} } row_files($dir, 'docs')), 0, "$what: fingerprints for the next dump");
}
foreach my $file ($manifest_name, 'toc.dat')
{
	my $dir = piped_ok("$file, once", $tue, read => but('%f', $file, 'exit 3', $default{read}, new_path('flag')), options => ['--retries=1'],
		message => qr/\Apg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: Command for file "\Q$file\E" failed: [^\n]*\npg_pardump: detail: Command was: [^\n]*\n\z/);
	how_ok($dir, "$file, once", qr/^p+$/, @fingerprinted);
}
my $nothing = piped_failed('no archive', new_dir(), qr/\Apg_pardump: error: could not read the previous archive\n.*^pg_pardump: detail: Command for file "toc\.dat" failed: .*^pg_pardump: hint: Run the command in a shell, /ms,
	options => ['--retries=0']);
is_deeply([ glob "$nothing/*" ], [], 'no archive: nothing is written');

# ---- tasks

{
	my $what = 'tasks';
	my $dir = new_dir();
	my $plan = new_path('plan');
	($rc, $out, $err) = run_program('pg_pardump', @db, '--chunk-size=192kB', '-Z0', '--tasks=2', "--plan=$plan/plan.json", side_by_side(''),
		pipe_options($dir, $tue));
	is("$rc$err", '0', "$what: exit code");
	how_ok($dir, $what, qr/^p+$/, @fingerprinted);
	verified_ok($dir, $what);
}

# a worker that is killed leaves no process of its command behind
{
	my $what = 'a worker of a task that is killed';
	my ($dir, $plan, $worker) = (new_dir(), map { new_path($_) } qw(plan worker));
	my $dump = start_dump($node->connstr('shop'), with => [ 'sh', '-c', 'shift 3; exec pg_pardump "$@"', 'sh' ], '--chunk-size=192kB', '-Z0',
		'--tasks=1', "--plan=$plan/plan.json", runner('one 0', 1),
		pipe_options($dir, $tue, copy => "if [ ! -e $worker ]; then echo \$PPID >$worker; $sleep; fi; $default{copy}"));
	wait_in_run($dump, 'a command copies', sub { -s $worker && (run_program('pgrep', '-fc', "^$sleep\$"))[1] == 1 });
	my ($pid) = slurp_file($worker) =~ /(\d+)/;
	is(kill('KILL', $pid), 1, "$what: a worker");
	is(end_dump($dump), 1, "$what: exit code");
	like($dump->{err}, qr/error: worker process $pid was terminated by signal 9.*error: attempt "[^"]+" of a task has not ended\n/s, "$what: message");
	is((run_program('pgrep', '-fc', "^$sleep\$"))[1] + 0, 0, "$what: its command");
}

# ---- all databases

sub all_databases
{
	my ($new, @options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-h', $node->host, '-p', $node->port, @Pardump::Incremental::chunks,
		"--pipe=mkdir -p $new/%d && cat >$new/%d/%f", @options);
	return "$rc$err";
}

sub of_previous
{
	my ($old, $new) = @_;
	return ("--incremental-pipe=cat $old/%d/%f", "--pipe-copy=mkdir -p $new/%d && cp $old/%d/%o $new/%d/%f");
}

{
	my @all = map { new_path('all') } 0 .. 3;
	# databases without the extension cannot have fingerprints, but have no large table
	is(all_databases($all[0], '--manifest-fingerprints'), '0', 'all databases, first dump');
	sql($node, 'shop', 'UPDATE updated SET n = n + 1 WHERE id = 1');
	like(all_databases($all[1], of_previous(@all[ 0, 1 ]), '--check'), qr/\A0/, 'all databases: --check');
	ok(!-e $all[1], 'all databases: --check runs no command that writes');
	is(all_databases($all[1], of_previous(@all[ 0, 1 ])), '0', 'all databases: exit code');
	my $shop = archive_of($all[1], 'shop');
	how_ok($shop, 'all databases', qr/^p+$/, qw(appended docs types));
	how_ok($shop, 'all databases', qr/^\.+p+$/, 'updated');
	($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '--verify', "--pipe=cat $all[1]/%d/%f");
	is("$rc$err", '0', 'all databases: verified');

	# the same tables in a database with another OID, and so with another directory
	sql($node, 'postgres', $_) foreach 'CREATE DATABASE other TEMPLATE shop STRATEGY file_copy', 'DROP DATABASE shop', 'ALTER DATABASE other RENAME TO shop';
	is(all_databases($all[2], of_previous(@all[ 1, 2 ])), '0', 'all databases, another OID: exit code');
	isnt((archive_of($all[2], 'shop') =~ /(\d+)$/)[0], ($shop =~ /(\d+)$/)[0], 'all databases, another OID: another directory');
	how_ok(archive_of($all[2], 'shop'), 'all databases, another OID', qr/^\.+$/, @fingerprinted);
	is(scalar(grep { !$_->{Fingerprint} } row_files(archive_of($all[2], 'shop'), 'docs')), 0, 'all databases, another OID: fingerprints for the next dump');
	like(all_databases($all[3], of_previous(new_dir(), $all[3]), '--retries=0'), qr/\A1.*^pg_pardump: error: command for file "map\.json" failed: /ms, 'all databases, no map: exit code and message');
	ok(!-e $all[3], 'all databases, no map: nothing is written');
}

# ---- the same place for both archives, and another dump that replaces the previous archive

my $replaced = qr/^pg_pardump: error: the previous archive was replaced during the dump\npg_pardump: detail: [^\n]*\npg_pardump: hint: Verify the previous archive /m;
{
	my $dir = new_path('same');
	system_or_bail('cp', '-a', $tue, $dir);
	my $contents = sub { return { map { $_ => slurp_file($_) } glob "$dir/*" } };
	my $before = $contents->();
	foreach my $copy ("cp OLD/%o $dir/%f", 'cd OLD && cp "./%o" ./%f', 'sh -c "cp --from=OLD/%o --to=OLD/%f"')
	{
		my $what = 'the same place in --pipe-copy, ' . $copy =~ s/\/\S+\///gr;
		($rc, undef, $err) = run_program('pg_pardump', @db, @Pardump::Incremental::chunks, pipe_options(new_dir(), $dir, copy => $copy));
		is($rc, 1, "$what: exit code");
		like($err, qr/\Apg_pardump: error: the command of --pipe-copy would replace files of the previous archive\npg_pardump: detail: [^\n]*"[^"]*\/%f"\.\npg_pardump: hint: Use a new destination for each dump\. /, "$what: message");
	}
	is_deeply($contents->(), $before, 'the same place in --pipe-copy: nothing is written');

	# the same place by a symbolic link, and toc.dat of the complete archive must not stay
	symlink $dir, "$dir.link" or die "could not make a link: $!";
	($rc, undef, $err) = run_program('pg_pardump', @db, @Pardump::Incremental::chunks, pipe_options($dir, "$dir.link", copy => "cmp OLD/%o NEW/%f || cp OLD/%o NEW/%f"));
	is($rc, 1, 'the same place: exit code');
	like($err, $replaced, 'the same place: message');
	is(slurp_file("$dir/toc.dat"), $before->{"$dir/toc.dat"}, 'the same place: toc.dat is not written');

	# not the same place, or not known to be
	foreach my $copy ('cp "$OLD"/%o "$NEW"/%f', 'cp "/mnt/old dir/%o" "/mnt/new dir/%f"', 'cp $(old)/%o $(new)/%f', 'rclone copyto s:b/1/my=20db/%o s:b/2/my=20db/%f')
	{
		($rc, undef, $err) = run_program('pg_pardump', @db, '--incremental-pipe=false', "--pipe-copy=$copy", '--pipe=false %f', '--retries=0');
		unlike($err, qr/would replace files/, "another place, $copy: not refused");
	}
	$dir = piped_ok('a script', $tue, copy => 'copy() { cp OLD/"$1" NEW/"$2"; }; copy %o %f');
	how_ok($dir, 'a script', qr/^p+$/, 'docs');
}

# another dump replaces the previous archive: its manifest is stored before this dump ends
{
	my $old = damaged($tue, sub { });
	my $other = damaged($old, other_manifest(sub { s/"Start-Time": "\d/"Start-Time": "9/ or die 'no time' }));
	my $flag = new_path('flag');
	piped_failed('another dump', $old, $replaced, copy => "[ -e $flag ] || { : >$flag; cp $other/$manifest_name OLD/; }; $default{copy}");
	piped_failed('no manifest at the end', damaged($tue, sub { }),
		qr/^pg_pardump: error: could not read the manifest of the previous archive again\npg_pardump: detail: Command for file "\Q$manifest_name\E" failed: .*^pg_pardump: hint: /ms,
		copy => "rm -f OLD/$manifest_name; $default{copy}", options => ['--retries=0']);
	piped_ok('manifest is read again, once', $tue, read => "f=%f; [ \$f = toc.dat ] || [ ! -e $flag.1 ] || [ -e $flag.2 ] || { : >$flag.2; exit 3; }; : >$flag.1; $default{read}",
		options => ['--retries=1'], message => qr/\Apg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: Command for file "\Q$manifest_name\E" failed: [^\n]*\n[^\n]*\n\z/);
}

# ---- refused options
my ($pipe, $read, $copy) = ('--pipe=cat >%f', '--incremental-pipe=cat %f', '--pipe-copy=cp %o %f');
foreach my $try (
	[ [ $read, $copy, '-f', new_path('refused') ], qr/option --incremental-pipe requires option --pipe\n.*detail: Files are copied from the previous archive / ],
	[ [ $read, $pipe ], qr/option --incremental-pipe requires option --pipe-copy\n.*detail: The files that are reused are not read: / ],
	[ [ $copy, $pipe ], qr/option --pipe-copy requires option --incremental-pipe\n.*detail: / ],
	[ [ '--incremental=x', $pipe ], qr/options --incremental and --pipe cannot be used together\n.*detail: .* use --incremental-pipe and --pipe-copy\.\n/ ],
	[ [ $read, $copy, $pipe, '--incremental-copy-method=copy' ], qr/option --incremental-copy-method requires option --incremental\n/ ],
	[ [ $read, $copy, $pipe, '--target=dbname=x' ], qr/options --pipe and --target cannot be used together\n/ ],
	[ [ '--verify', $read, $pipe ], qr/options --verify and --incremental-pipe cannot be used together\n/ ],
	[ [ '--incremental-copy-method=pipe-copy', '--incremental=x', '-f', new_path('refused') ], qr/invalid value "pipe-copy" for option --incremental-copy-method\n/ ],
	(map { [ [ "--incremental-pipe=$_", $copy, $pipe ], qr/invalid value "\Q$_\E" for option --incremental-pipe\n.*hint: The command must contain %f, / ] } 'cat', 'cat %f %o', 'cat %d/%f'),
	(map { [ [ "--pipe-copy=$_", $read, $pipe ], qr/invalid value "\Q$_\E" for option --pipe-copy\n.*hint: The command must contain %o and %f, / ] } 'cp %f', 'cp %o', 'cp %%o %f', 'cp %o %f %d', ''),
	[ [ '--all-databases', '--incremental-pipe=cat /a/%d/%f', '--pipe-copy=cp /a/%d/%o /a/%d/%f', '--pipe=cat >/a/%d/%f' ], qr/the command of --pipe-copy would replace files of the previous archive\n/ ],
	[ [ '--all-databases', '--pipe=cat >%d/%f', '--incremental-pipe=cat %f', '--pipe-copy=cp %d/%o %d/%f' ], qr/invalid value "cat %f" for option --incremental-pipe\n.*hint: With --all-databases, / ],
	[ [ '--all-databases', '--pipe=cat >%d/%f', '--incremental-pipe=cat %d/%f', '--pipe-copy=cp %o %f' ], qr/invalid value "cp %o %f" for option --pipe-copy\n.*hint: With --all-databases, the command must contain %d, %o and %f, / ])
{
	my ($options, $message) = @$try;
	($rc, undef, $err) = run_program('pg_pardump', @$options);
	is($rc, 1, "@$options: exit code");
	like($err, $message, "@$options: message");
}

$node->stop;
done_testing();
