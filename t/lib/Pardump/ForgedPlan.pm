
# Plans that tasks have to refuse: forged ones, and those that are not the user's.

package Pardump::ForgedPlan;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program new_path);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(forged_plans_refused_ok);

# plan_refused_ok($task, 'what', $path, $message, @options)
sub plan_refused_ok
{
	my ($task, $what, $path, $message, @options) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', "--plan=$path", "--task=$task", @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	return;
}

# A copy of a plan, changed by this code, in $_, if there is any; its path.
sub forge
{
	my ($plan, $change) = @_;
	my $path = new_path('forged.json');
	my $forged = slurp_file($plan);
	if ($change)
	{
		my $plan_text = $forged;

		$change->() foreach $forged;
		die "a forgery has changed nothing" if $forged eq $plan_text;
	}
	append_to_file($path, $forged);
	chmod 0600, $path;
	return $path;
}

# The plan of a run that is at work, of $n tasks in a database; then more forgeries:
# what they are, the code, the message.
sub forged_plans_refused_ok
{
	my ($plan, $n, $db, @more) = @_;
	my $refused = sub { return plan_refused_ok("0/$n", @_) };
	my $same = forge($plan);
	symlink $plan, "$plan.link" or die "could not make a link: $!";
	$refused->('a link', "$plan.link", qr/is a symbolic link/);
	chmod 0660, $same;
	$refused->('a plan that others can write', $same, qr/is writable by its group or others/);
	$refused->('a plan of another user', '/etc/passwd', qr/is owned by another user/) if $> != 0;
	$refused->('no plan', "$plan.x", qr/does not exist/);
	$refused->('another database', $plan, qr/its name is "postgres", not "$db"/, '-d', 'postgres');
	foreach my $forgery (
		[ 'half a plan', sub { $_ = substr $_, 0, length($_) / 2 }, qr/is damaged/ ],
		[ 'another version', sub { s/"version": "/$&9/ }, qr/was written by pg_pardump 9.*, but this is/ ],
		[ 'another run', sub { s/"run": "./"run": "0000/ }, qr/the run of this plan has ended/ ],
		# which earlier versions wrote
		[ 'the plan of a restore', sub { s/"what": "dump"/"what": "restore"/ }, qr/plan ".*" is not the plan of a dump/ ],
		[ 'the plan of a copy', sub { s/"what": "dump"/"what": "copy"/ }, qr/plan ".*" is not the plan of a dump/ ],
		[ 'another server', sub { s/("system_identifier": ")/${1}9/ }, qr/its system identifier is/ ],
		[ 'a leader that may not ask for the server', sub { s/("(?:system_identifier|timeline)": ")\d+/$1/g },
			qr/error: could not verify that this is the leader's server\n.*detail: Role "[^"]*" may execute pg_control_system\(\)/ ],
		[ 'a job out of range', sub { s/("jobs": \[\s*\{ "kind": \d+, "first": )/${1}99999/ },
			qr/is damaged\n.*detail: A job has no files\./ ],
		@more)
	{
		my ($what, $change, $message) = @$forgery;
		$refused->($what, forge($plan, $change), $message);
	}
	plan_refused_ok('0/' . ($n + 1), 'another number of tasks', $plan,
		qr/the plan is for $n tasks, not for ${\($n + 1)}/);
	my ($rc) = run_program('pg_pardump', "--plan=$plan", "--task=0/$n", '-h', '127.0.0.1', '-p', '1');
	is($rc, 75, 'a server that cannot be reached: another exit code');
	return;
}

1;
