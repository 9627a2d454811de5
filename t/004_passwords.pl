
# Prompts for passwords: when there is one, how often, with which answers, and
# signals at a prompt.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Cluster qw(start_cluster make_database run_program new_path dump_ok sql value);
use Pardump::Command qw(text_file);
use Pardump::Nights qw(backup_config);
use PostgreSQL::Test::Utils;
use Test::More;

# The programs ignore a signal that the caller of these tests ignores, as nohup does.
$SIG{$_} = 'DEFAULT' foreach qw(INT TERM QUIT HUP);

my $node = start_cluster('passwords', allows_streaming => 1);
make_database($node, $_) foreach qw(shop copy restored);
sql($node, 'shop', 'CREATE TABLE t AS SELECT generate_series(1, 1000) AS id');
my $archive = dump_ok($node, 'shop', 'an archive to restore', 'pg_pardump');
my $cluster_archive = new_path('cluster');
my ($dumped) = run_program('pg_pardump', '--all-databases', '-f', $cluster_archive, '-d', $node->connstr('postgres'));
is($dumped, 0, 'all databases, to restore');
# an archive that pg_parrestore leaves to stock pg_restore
my $inserts = new_path('inserts');
run_program('pg_dump', '-Fc', '--inserts', '-f', $inserts, $node->connstr('shop'));

sql($node, 'postgres', <<'SQL');
CREATE ROLE one SUPERUSER LOGIN PASSWORD 'first secret';
CREATE ROLE two SUPERUSER LOGIN PASSWORD 'second secret';
SQL
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
append_to_file($node->data_dir . '/pg_hba.conf', "local all one,two scram-sha-256\n$hba");
$node->append_conf('postgresql.conf', 'log_connections = on');
$node->restart;

delete $ENV{PGPASSWORD};
# no password file
$ENV{PGPASSFILE} = new_path('pgpass');
my @as_one = ('-h', $node->host, '-p', $node->port, '-U', 'one');
my $as_two = $node->connstr('copy') . ' user=two';

# ----------
# Runs
# ----------

# The number of connections that the server has seen since the log had this
# size, of these roles or others of which nothing is known yet.
sub attempts_since
{
	my ($size) = @_;
	return scalar(() = slurp_file($node->logfile, $size) =~ /connection received/g);
}

sub end_run
{
	my ($h) = @_;
	return 'does not end' if !eval { $h->finish; 1 } && do { $h->kill_kill; 1 };
	return $h->full_result(0);
}

# Runs a program without a terminal.  Returns its exit code, what it says, and
# the number of its attempts to connect.
sub run_without_terminal
{
	my ($input, @command) = @_;
	my $out = '';
	my $size = -s $node->logfile;
	note("running: @command");
	my $h = IPC::Run::start([ 'setsid', @command ], '<', \$input, '>&', \$out,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	my $result = end_run($h);
	note($out);
	return ($result =~ /^\d+$/ ? $result >> 8 : $result, $out, attempts_since($size));
}

# Runs a program with /dev/null as its input, on a terminal of its own.  When
# it asks for a password, the next of the answers is typed; a function is called
# with the program's process ID, and returns what is typed.  Returns its exit code, what is seen on the terminal, the
# number of prompts, whether the terminal still has its echo, and the number of
# attempts to connect.
my $on_terminal = text_file('on_terminal', <<'SH');
trap : INT QUIT
pid_file=$1
shift
sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$pid_file" "$@" </dev/null
echo "exit code $?"
case " $(stty -a </dev/tty | tr '\n;' '  ') " in
*' -echo '*) echo 'no echo' ;;
*) echo 'has echo' ;;
esac
SH

sub run_on_terminal
{
	my ($answers, @command) = @_;
	my ($in, $out) = ('', '');
	my $pid_file = new_path('pid');
	my $size = -s $node->logfile;
	my @answers = @$answers;
	my $n = 0;
	note("running: @command");
	my $h = IPC::Run::start([ 'sh', $on_terminal, $pid_file, @command ],
		'<pty<', \$in, '>pty>', \$out,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	my $result = eval {
		while (@answers)
		{
			$n++;
			$h->pump until $out =~ /(?:Password[^\n]*: .*){$n}|exit code/s;
			last if $out =~ /exit code/;
			my $answer = shift @answers;
			$in .= ref $answer ? $answer->(slurp_file($pid_file)) : $answer;
		}
		$h->pump until $out =~ /(?:has|no) echo/;
		1;
	};
	# one more prompt than there are answers has no end
	$h->kill_kill if !$result;
	$h->finish if $result;
	note($out);
	return ($out =~ /exit code (\d+)/ ? "$1" : 'does not end', $out,
		scalar(() = $out =~ /Password/g), $out =~ /has echo/, attempts_since($size));
}

# Each with the words of its command line, and what it makes.
my $made;

sub programs
{
	$made = new_path('made');
	return (
		[ 'a dump', 'pg_pardump', '-f', $made, @as_one, 'shop' ],
		[ 'all databases', 'pg_pardump', '--all-databases', '-f', $made, @as_one ],
		[ 'a comparison', 'pg_pardump', '--compare-with', $archive, @as_one, 'shop' ],
		[ 'a restore', 'pg_parrestore', '--clean', '--if-exists', @as_one, '-d', 'restored', $archive ],
		[ 'a restore of all databases', 'pg_parrestore', '--all-databases', '--globals-only', @as_one, '-d', 'postgres', $cluster_archive ],
		[ 'a restore by pg_restore', 'pg_parrestore', '--clean', '--if-exists', @as_one, '-d', 'restored', $inserts ],
		[ 'a base backup', 'pg_parbasebackup', '-c', 'fast', '--no-sync', '-D', $made, @as_one ]);
}

# ----------
# Without a terminal
# ----------
foreach my $program (programs())
{
	my ($what, @command) = @$program;
	my ($rc, $out, $n) = run_without_terminal('', @command);
	is($rc, 1, "$what without a terminal: exit code");
	like($out, qr/no password supplied/, "$what without a terminal: libpq's message");
	unlike($out, qr/Password/, "$what without a terminal: no prompt");
	is($n, 1, "$what without a terminal: one attempt to connect");
	ok(!-e "$made/toc.dat", "$what without a terminal: nothing is made");
}
{
	my ($rc, $out, $n) = run_without_terminal('', 'pg_pardump', '-W', '-f', $made, @as_one, 'shop');
	is($rc, 1, '-W at the end of standard input: exit code');
	like($out, qr/no password supplied/, '-W at the end of standard input: libpq\'s message');
	is($n, 1, '-W at the end of standard input: one attempt to connect');
}
foreach my $program (grep { $_->[0] ne 'a restore by pg_restore' } programs())
{
	my ($what, $name, @options) = @$program;
	my ($rc, $out) = run_without_terminal("first secret\n", $name, '-W', @options);
	is($rc, 0, "$what, -W: the password is a line of standard input");
	is(scalar(() = $out =~ /Password/g), 1, "$what, -W: one prompt");
	unlike($out, qr/secret/, "$what, -W: the password is not shown");
	File::Path::remove_tree($made);
}
{
	my ($rc, $out) = run_without_terminal("first secret\nsecond secret\nrest\n",
		'pg_pardump', '-W', @as_one, '-d', 'shop', "--target=$as_two", '--roles');
	is($rc, 0, 'a copy, -W: a line for each server and role') or diag($out);
	is(scalar(() = $out =~ /Password/g), 2, 'a copy, -W: two prompts');
	sql($node, 'copy', 'DROP TABLE t');
}
{
	my ($file) = backup_config($node, 'username = one', 'database = shop');
	my ($rc, $out) = run_without_terminal('', 'pg_pardump_backup', $file);
	isnt($rc, 0, 'pg_pardump_backup without a terminal: exit code');
	like($out, qr/no password supplied/, 'pg_pardump_backup without a terminal: libpq\'s message');
	my (undef, $seen, $prompts) = run_on_terminal([], 'pg_pardump_backup', $file);
	like($seen, qr/no password supplied/, 'pg_pardump_backup on a terminal: libpq\'s message');
	is($prompts, 0, 'pg_pardump_backup on a terminal: no prompt');
}

# ----------
# On a terminal
# ----------
foreach my $program (programs())
{
	my ($what, $name, @options) = @$program;
	my ($rc, $out, $prompts, $has_echo, $n) = run_on_terminal([ "first secret\n", "\n" ], $name, @options);
	is($rc, 0, "$what: the password is typed") or diag($out);
	is($prompts, 1, "$what: one prompt");
	unlike($out, qr/secret/, "$what: no echo of the password");
	ok($has_echo, "$what: the terminal has its echo again");
	File::Path::remove_tree($made);

	next if $what eq 'a restore by pg_restore';
	($rc, $out, $prompts, $has_echo, $n) = run_on_terminal([ "\n", "\n" ], $name, @options);
	is($rc, 1, "$what, an empty answer: exit code");
	like($out, qr/no password supplied/, "$what, an empty answer: libpq's message");
	is($prompts, 1, "$what, an empty answer: one prompt");
	is($n, 1, "$what, an empty answer: no second attempt to connect");

	($rc, $out, $prompts) = run_on_terminal([ "wrong\n", "\n" ], $name, @options);
	is($rc, 1, "$what, a wrong answer: exit code");
	like($out, qr/password authentication failed for user "one"/, "$what, a wrong answer: libpq's message");
	is($prompts, 1, "$what, a wrong answer: one prompt");

	($rc, $out, $prompts) = run_on_terminal([ "\n" ], $name, '-w', @options);
	is($rc, 1, "$what, -w: exit code");
	is($prompts, 0, "$what, -w: no prompt");
}

# ----------
# Signals at a prompt
# ----------
my %signals = (
	'Ctrl-C' => "\x03",
	'end of input' => "\x04",
	map { my $signal = $_; ($signal => sub { kill $signal => $_[0]; '' }) } qw(TERM QUIT HUP));
foreach my $program (grep { $_->[0] ne 'a restore by pg_restore' } programs(),
	[ 'a copy', 'pg_pardump', @as_one, '-d', 'shop', "--target=$as_two" ])
{
	my ($what, @command) = @$program;
	my @before = $what eq 'a copy' ? ("first secret\n") : ();
	foreach my $signal (sort keys %signals)
	{
		my ($rc, $out, $prompts, $has_echo) = run_on_terminal([ @before, $signals{$signal}, "\n" ], @command);
		is($rc, 1, "$what, $signal at the prompt: exit code");
		like($out, $signal eq 'end of input' ? qr/no password supplied/ : qr/terminated by user/,
			"$what, $signal at the prompt: message");
		is($prompts, @before + 1, "$what, $signal at the prompt: no other prompt");
		ok($has_echo, "$what, $signal at the prompt: the terminal has its echo again");
	}
}

# ----------
# Several servers and roles
# ----------
{
	my ($rc, $out, $prompts) = run_on_terminal([ "first secret\n", "second secret\n", "\n" ],
		'pg_pardump', '-j2', @as_one, '-d', 'shop', "--target=$as_two", '--roles', '--compare');
	is($rc, 0, 'a copy: exit code after both passwords were typed') or diag($out);
	is($prompts, 2, 'a copy: one prompt for each role');
	like($out, qr/user one \(host .*user two \(host/s, 'a copy: prompts name role and server');
	is(value($node, 'copy', 'SELECT count(*) FROM t'), 1000, 'a copy: all rows');
	sql($node, 'copy', 'DROP TABLE t');

	my $transactions = 'nothing';
	my $look = sub {
		$transactions = value($node, 'postgres',
			q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'one' AND xact_start IS NOT NULL});
		return "wrong\n";
	};
	($rc, $out, $prompts) = run_on_terminal([ "first secret\n", $look, "\n" ],
		'pg_pardump', @as_one, '-d', 'shop', "--target=$as_two");
	is($rc, 1, 'a copy, a wrong password of the target: exit code');
	like($out, qr/password authentication failed for user "two"/, 'a copy, a wrong password of the target: message');
	is($prompts, 2, 'a copy, a wrong password of the target: no third prompt');
	is($transactions, 0, 'a copy: no snapshot on the source while the target\'s password is typed');

	foreach my $options ([], ['-W'])
	{
		($rc, $out, $prompts) = run_on_terminal([ "first secret\n", "\n" ],
			'pg_pardump', @$options, '-j2', @as_one, '-d', 'shop', '--target=' . $node->connstr('copy') . ' user=one');
		is($rc, 0, "a copy with one role @$options: the password is typed") or diag($out);
		is($prompts, 1, "a copy with one role @$options: one prompt");
		sql($node, 'copy', 'DROP TABLE t');
	}
}

# The target's role gets the source's password last, when no more connections are
# needed.
{
	my $other = start_cluster('passwords_other');
	sql($other, 'postgres', q{CREATE ROLE one SUPERUSER LOGIN PASSWORD 'third secret'});
	unlink $other->data_dir . '/pg_hba.conf';
	append_to_file($other->data_dir . '/pg_hba.conf', "local all one scram-sha-256\n$hba");
	$other->restart;
	my ($rc, $out, $prompts) = run_on_terminal([ "first secret\n", "third secret\n", "\n" ],
		'pg_pardump', '--all-databases', '-j2', @as_one, '--target=' . $other->connstr('postgres') . ' user=one');
	is($rc, 0, 'all databases to another cluster: exit code after both passwords were typed') or diag($out);
	is($prompts, 2, 'all databases to another cluster: two prompts');
	is(value($other, 'shop', 'SELECT count(*) FROM t'), 1000, 'all databases to another cluster: all rows');
	$other->stop;
}

$node->stop;
done_testing();
