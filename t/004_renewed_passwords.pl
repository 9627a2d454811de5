# Passwords that change while a program runs: in a passfile, in a service file, or
# printed by --password-command.  Each later connection has the new one: workers
# that are replaced, index builds, pg_dump and pg_restore, comparison.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until wait_in_run terminate);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Command qw(text_file fake_pg_dump refused_ok accepted_ok system_faults);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(start_load);
use Pardump::Gate qw(hold_gates close_gate open_gate at_gate wait_at_gate gate_sql);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('passwords', allows_streaming => 1);
my $log_seed = 1e9 + int rand 1e9;
my $passwords = 0;
my $password;
my ($passfile, $services, $secret) = map { new_path($_) } qw(pgpass services secret);

# Replaces a file that only this user may read.
sub write_secret
{
	my ($path, $text) = @_;
	append_to_file("$path.new", $text);
	chmod 0600, "$path.new" or die "could not change mode of \"$path.new\": $!";
	rename "$path.new", $path or die "could not rename \"$path.new\": $!";
	return;
}

# The role gets another password, and so does each place that has it.  All its
# characters with a meaning in a passfile or in a connection string are in it.
sub renew_password
{
	$password = "tok:en\\ '$log_seed' " . ++$passwords;
	sql($node, 'postgres', 'SET log_min_error_statement = panic; ALTER ROLE app PASSWORD ' . ($password =~ s/'/''/gr =~ s/^|$/'/gr =~ s/^/E/r =~ s/\\/\\\\/gr));
	write_secret($passfile, '*:*:*:app:' . ($password =~ s/([\\:])/\\$1/gr) . "\n");
	write_secret($services, "[app]\nuser=app\npassword=$password\nhost=/nowhere\n");
	write_secret($secret, "$password\nnot the password\n");
	return;
}

make_database($node, 'shop');
sql($node, 'postgres', 'CREATE ROLE app SUPERUSER LOGIN');
sql($node, 'shop', gate_sql(15000, 42) . <<'SQL');
CREATE TABLE gated (id int CHECK (public.pass(id)), t text);
INSERT INTO gated SELECT g, md5(g::text) FROM generate_series(1, 30000) g;
CREATE INDEX gated_i ON gated (t);
CREATE TABLE other AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX other_i ON other (t);
ALTER TABLE other ADD PRIMARY KEY (id);
SQL
renew_password();
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
append_to_file($node->data_dir . '/pg_hba.conf', "local all app scram-sha-256\n$hba");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_hba_file_rules WHERE auth_method = 'scram-sha-256'}),
	'pg_hba.conf is read');

my $data = fingerprint($node, 'shop');
my $schema = schema_text($node, 'shop');
my $archive = new_path('archive');
run_program('pg_pardump', '-f', $archive, '--no-sync', $node->connstr('shop'));

my $command = "cat '$secret'";

# The string that leads to a database as the role, with more keywords.
sub as_app { my ($db, $more) = @_; return $node->connstr($db) . ' user=app' . ($more // ''); }

sub command_lines { return join "\n", map { eval { slurp_file($_) } // () } glob '/proc/[0-9]*/cmdline'; }

# Each place that a password may come from: the environment, keywords in the
# connection string, and options for either side.
my %PLACES = (
	'a passfile of the environment' => { env => { PGPASSFILE => $passfile } },
	'a passfile of the connection string' => { string => " passfile='$passfile'" },
	'a service file' => { string => ' service=app', env => { PGSERVICEFILE => $services } },
	'a service of the environment' => { env => { PGSERVICEFILE => $services, PGSERVICE => 'app' } },
	'a command' => { options => ["--password-command=$command"], target => ["--target-password-command=$command"] });

# with_place('what', sub): the function is called with the connection string's
# keywords and the options of the sides.
sub with_place
{
	my ($what, $body) = @_;
	my $place = $PLACES{$what};
	my %env = %{ $place->{env} // {} };
	local @ENV{ keys %env } = values %env;
	return $body->($place->{string} // '', $place->{options} // [], $place->{target} // []);
}

# The run waits at the gate; the password changes; the worker that waits is
# killed; the worker in its place waits again.  Then the function is called.
sub change_at_gate
{
	my ($run, $what, $then) = @_;
	wait_at_gate($node, $run, 1);
	my ($before) = at_gate($node);
	renew_password();
	terminate($node, $before);
	wait_in_run($run, 'another worker waits at the gate', sub { return grep { $_ != $before } at_gate($node); });
	unlike(command_lines(), qr/$log_seed/, "$what: no command line has the password");
	$then->() if $then;
	open_gate();
	return;
}

# A database into which a load waits at the gate.
my $copies = 0;

sub gated_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0');
	hold_gates($node, $db);
	close_gate(42);
	return $db;
}

sub loaded_ok
{
	my ($run, $db, $what) = @_;
	is(end_dump($run), 0, "$what: exit code");
	unlike($run->{err} . $run->{out}, qr/$log_seed/, "$what: the password is not told");
	same_database_ok($node, $db, $data, $schema, $what);
	return;
}

# ---- the password changes in the middle

# A dump that waits: by a function in place of a value.
sub dump_changes
{
	my ($what, $string, $options) = @_;
	hold_gates($node, 'shop');
	close_gate(42);
	my $run = start_dump(as_app('shop', $string), '-j2', '--retries=3', '-v', '--where=gated:public.pass(id)', '--trust-owners',
		@$options);
	change_at_gate($run, $what);
	is(end_dump($run), 0, "$what: exit code");
	unlike($run->{err}, qr/$log_seed/, "$what: the password is not told");
	my ($rc, undef, $err) = run_program('pg_pardump', '--verify', $run->{dir});
	is("$rc$err", '0', "$what: the archive is whole");
	unlike(join('', map { slurp_file($_) } "$run->{dir}/toc.dat", glob "$run->{dir}/*.json"),
		qr/$log_seed/, "$what: the archive does not have the password");
	return;
}

foreach my $place (sort keys %PLACES)
{
	with_place($place, sub { dump_changes("a dump, $place", @_); });
}

# Both sides are asked: workers, index builds, and the comparison.
foreach my $place ('a passfile of the environment', 'a service file', 'a command')
{
	with_place($place, sub {
		my ($string, $options, $target_options) = @_;
		my $db = gated_copy();
		my $run = start_load('pg_pardump', '-d', as_app('shop', $string), '--target', as_app($db, $string), '-j2',
			'--retries=3', '--compare', @$options, @$target_options);
		change_at_gate($run, "a copy, $place");
		loaded_ok($run, $db, "a copy, $place");
	});
}

foreach my $place ('a passfile of the connection string', 'a command')
{
	with_place($place, sub {
		my ($string, $options) = @_;
		my $db = gated_copy();
		my $run = start_load('pg_parrestore', '-d', as_app($db, $string), '-j2', '--retries=3', @$options, $archive);
		change_at_gate($run, "a restore, $place");
		loaded_ok($run, $db, "a restore, $place");
	});
}

# The session of an index that waits is ended, after the password has changed: the
# worker in its place has the new one.
foreach my $place ('a passfile of the environment', 'a command')
{
	with_place($place, sub {
		my ($string, $options, $target_options) = @_;
		my $what = "index builds, $place";
		my $db = 'copy' . ++$copies;
		make_database($node, $db, options => 'TEMPLATE template0');
		sql($node, $db, q{CREATE FUNCTION gate() RETURNS event_trigger LANGUAGE plpgsql AS
				'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(7); END';
			CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION gate()});
		hold_gates($node, $db);
		close_gate(7);
		my $run = start_load('pg_pardump', '-d', as_app('shop', $string), '--target', as_app($db, $string), '--index-jobs=1',
			'--retries=3', @$options, @$target_options);
		change_at_gate($run, $what);
		is(end_dump($run), 0, "$what: exit code");
		sql($node, $db, 'DROP EVENT TRIGGER gate; DROP FUNCTION gate()');
		same_database_ok($node, $db, $data, $schema, $what);
	});
}

# This pg_restore, which drops what --clean drops, waits before it connects, as one that
# creates a large database does before it connects again.  The password changes
# meanwhile.  The command is run once a minute, and the passfile that pg_restore was
# given has the new password then.
{
	my ($bin, $noted, $waits, $ahead) = map { new_path($_) } qw(bin noted waits ahead);
	mkdir $bin or die "could not make directory \"$bin\": $!";
	my %real = map { my $program = $_; ($program => (grep { -x } map { "$_/$program" } split /:/, $ENV{PATH})[0]) } qw(pg_dump pg_restore);
	symlink $real{pg_dump}, "$bin/pg_dump" or die "could not link \"$real{pg_dump}\": $!";
	append_to_file("$bin/pg_restore", <<"SH");
#!/bin/sh
note() { { env | grep ^PGPASS; stat -L -c %a "\$PGPASSFILE"; cat "\$PGPASSFILE"; } >>'$noted'; }
case "\$*" in */drop)
	note
	first=\$(cat "\$PGPASSFILE")
	: >'$waits'
	while [ -e '$waits' ] && [ "\$(cat "\$PGPASSFILE")" = "\$first" ]; do sleep 0.02; done
	rm -f '$waits'
	note ;;
esac
exec '$real{pg_restore}' "\$@"
SH
	chmod 0755, "$bin/pg_restore";
	# as libpq reads it, without the empty lines at its end
	my $line = sub { return '*:*:*:*:' . ($password =~ s/([\\:])/\\$1/gr); };
	foreach my $program ('pg_pardump', 'pg_parrestore')
	{
		my $what = "pg_restore of $program";
		my $db = gated_copy();
		open_gate();
		local $ENV{PGPASSWORD} = 'wrong';
		local $ENV{LD_PRELOAD} = system_faults();
		local $ENV{SYSTEM_CLOCK} = $ahead;
		unlink $noted, $ahead;
		my $run = start_load($program, '-j2', '--clean',
			$program eq 'pg_pardump'
			? ('-d', $node->connstr('shop'), '--target', as_app($db), "--target-password-command=$command", "--pg-dump=$bin/pg_dump")
			: ('--if-exists', '-d', as_app($db), "--password-command=$command", "--pg-restore=$bin/pg_restore", $archive));
		my $before = $line->();
		wait_in_run($run, 'pg_restore waits', sub { return -e $waits });
		renew_password();
		append_to_file($ahead, '');
		wait_until('the passfile of pg_restore changes', sub { return !-e $waits });
		loaded_ok($run, $db, $what);
		like(slurp_file($noted), qr{\APGPASSFILE=/dev/fd/(\d+)\n600\n\Q$before\E\n+PGPASSFILE=/dev/fd/\g1\n600\n\Q@{[ $line->() ]}\E\n+\z},
			"$what: pg_restore has a passfile with the renewed password, and no PGPASSWORD");
	}
}

# ---- what programs are given

# This pg_dump notes the part of its environment by which it is told passwords, and
# what its passfile has.
my $seen = new_path('seen');
my $looking = fake_pg_dump('looking_pg_dump', <<"SH");
{ env | grep ^PGPASS; stat -L -c %a "\$PGPASSFILE"; cat "\$PGPASSFILE"; } >'$seen'
exec "\$PG_DUMP" "\$@"
SH
{
	local $ENV{PGPASSWORD} = 'wrong';
	accepted_ok('a command comes before PGPASSWORD', '-d', as_app('shop', ' password=wrong'), "--pg-dump=$looking",
		"--password-command=$command");
	my $escaped = quotemeta($password =~ s/([\\:])/\\$1/gr);
	like(slurp_file($seen), qr{\APGPASSFILE=/dev/fd/\d+\n600\n\*:\*:\*:\*:$escaped\n+\z}, 'pg_dump has a passfile, and no PGPASSWORD');
	unlink $seen;
	accepted_ok('a password in a connection string', '-d', as_app('shop', ' password=' . ($password =~ s/([\\'])/\\$1/gr =~ s/^|$/'/gr)),
		"--pg-dump=$looking");
	like(slurp_file($seen), qr{\APGPASSFILE=/dev/fd/\d+\n600\n\*:\*:\*:\*:$escaped\n+\z}, 'a password in a connection string: pg_dump has a passfile, and no PGPASSWORD');
}

# The plan of tasks does not have the command, which each task is given for itself.
{
	my $dir = new_path('tasks');
	my $runner = text_file('runner', <<"SH");
#!/bin/sh
cat "\$1" >'$dir.plan'
exec pg_pardump --plan="\$1" --task=0/1 "--password-command=$command" -v
SH
	chmod 0755, $runner;
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', as_app('shop'), '-f', $dir, '--no-sync', '--tasks=1',
		"--run-tasks=$runner %p", "--password-command=$command");
	ok($rc == 0 && -f "$dir/toc.dat", 'a dump by a task') or diag($err);
	unlike(slurp_file("$dir.plan") . $err, qr/$log_seed|cat '/, 'the plan has neither the password nor the command');
}

# All databases, a comparison of two, and a base backup.
{
	my @both = ('-d', as_app('postgres'), "--password-command=$command");
	my $dir = new_path('all');
	my ($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-f', $dir, '--no-sync', '-j2', @both,
		'--exclude-database=copy*');
	is("$rc$err", '0', 'all databases');
	($rc, undef, $err) = run_program('pg_pardump', '-d', as_app('shop'), '--compare-with=' . as_app('copy1'),
		"--password-command=$command", "--target-password-command=$command");
	is($rc, 0, 'a comparison of two databases') or diag($err);
	($rc, undef, $err) = run_program('pg_parbasebackup', '-D', new_path('backup'), '--no-sync', '-c', 'fast', '-X', 'none', '-j2', @both);
	is($rc, 0, 'a base backup') or diag($err);
}

# ---- commands that fail

refused_ok(qr/password command failed: .*exit code 3: no token today\n\tnor tomorrow$/m, 'a command that fails', '-d', as_app('shop'),
	q{--password-command=echo no token today >&2; echo nor tomorrow >&2; exit 3});
refused_ok(qr/the output of the password command is empty$/m, 'a command that prints nothing', '-d', as_app('shop'),
	'--password-command=true');
refused_ok(qr/the output of the password command is longer than/, 'a command that prints without end', '-d', as_app('shop'),
	q{--password-command=head -c 100000 /dev/zero | tr '\0' x});
refused_ok(qr/the output of the password command contains a zero byte/, 'a command that prints a zero byte', '-d', as_app('shop'),
	q{--password-command=printf 'a\000b'});
refused_ok(qr/options --password-command and -W\/--password cannot be used together/, 'a prompt, too', '-W',
	"--password-command=$command", as_app('shop'));
refused_ok(qr/invalid value "" for option --password-command/, 'no command', '--password-command=', as_app('shop'));
{
	local $ENV{PGCONNECT_TIMEOUT} = 1;
	my $long = 3000 + int rand 1e6;
	refused_ok(qr/password command did not exit within 1 s/, 'a command that hangs', '-d', as_app('shop'),
		"--password-command=sleep $long & sleep $long; true");
	wait_until('the processes of a command that hangs are killed', sub { return command_lines() !~ /\x{0}$long\x{0}/; });
}
# A process that the command leaves behind, in a session of its own, writes without end,
# and always before the program reads again.
{
	my $writes = new_path('writes');
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = 'outrun ]';
	my $run = start_dump(as_app('shop'),
		"--password-command=setsid sh -c \": >'$writes'; exec yes\" & until [ -e '$writes' ]; do sleep 0.02; done; exit 3");
	is(end_dump($run), 1, 'a command that leaves a process behind: exit code');
	like($run->{err}, qr/password command failed: .*exit code 3/, 'a command that leaves a process behind: message');
}
# A signal while the first command runs, before there is a connection.
foreach my $signal (qw(INT TERM QUIT))
{
	my $long = 3000 + int rand 1e6;
	my $run = start_dump(as_app('shop'), "--password-command=sleep $long & sleep $long; true");
	wait_until('the command runs', sub { return command_lines() =~ /\x{0}$long\x{0}/; });
	$run->{h}->signal($signal);
	isnt(end_dump($run), 0, "SIG$signal while the first command runs: exit code");
	like($run->{err}, qr/terminated by user/, "SIG$signal: message");
	wait_until("SIG$signal: the processes of the command are killed", sub { return command_lines() !~ /\x{0}$long\x{0}/; });
}
foreach my $program ('pg_parrestore', 'pg_parbasebackup')
{
	my ($rc, undef, $err) = run_program($program, '--password-command=exit 4', '-d', as_app('shop'),
		$program eq 'pg_parrestore' ? $archive : ('-D', new_path('none')));
	like("$rc $err", qr/^1 .*password command failed: .*exit code 4/s, "$program: a command that fails");
}
{
	my ($rc, undef, $err) = run_program('pg_pardump', '-f', new_path('none'), $node->connstr('shop'),
		'--target-password-command=true');
	like("$rc $err", qr/^1 .*option --target-password-command requires option --target/s, 'no target');
}

# In the middle: it is tried again as a lost connection is, and tells why.
{
	hold_gates($node, 'shop');
	close_gate(42);
	my $run = start_dump(as_app('shop'), '-j2', '--where=gated:public.pass(id)', '--trust-owners', "--password-command=$command");
	wait_at_gate($node, $run, 1);
	rename $secret, "$secret.away" or die "could not rename \"$secret\": $!";
	# at first its last output may be used, if that is not older than a second
	wait_in_run($run, 'the command fails', sub {
		terminate($node, at_gate($node)) if at_gate($node);
		return $run->{err} =~ /assword command failed: .*exit code 1: cat: .*secret/; });
	rename "$secret.away", $secret or die "could not rename \"$secret\": $!";
	wait_in_run($run, 'another worker waits at the gate', sub { return at_gate($node) > 0; });
	open_gate();
	is(end_dump($run), 0, 'a command that fails in the middle: exit code');
}

# Many workers at a time: one of them runs the command, the others wait.
{
	my ($busy, $overlap) = map { new_path($_) } qw(busy overlap);
	accepted_ok('many workers', '-d', as_app('shop'), '-j8', '--max-table-segment-pages=5',
		"--password-command=mkdir '$busy' || touch '$overlap'; sleep 0.2; rmdir '$busy'; $command");
	ok(!-e $overlap, 'the command runs once at a time');
}

done_testing();
