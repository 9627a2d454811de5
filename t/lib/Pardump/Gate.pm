
# A gate in the middle of the work: an advisory lock that a session of the test
# holds, and that policies or triggers of some tables take, shared, at some rows.
# What is under test waits there until the test opens it.

package Pardump::Gate;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Background qw(wait_in_run);
use Pardump::Cluster qw(start_psql value);

our @EXPORT_OK = qw(gate_sql hold_gates hold close_gate open_gate at_gate wait_at_gate);

my $holder;

# SQL of a function public.pass() for a CHECK constraint, which takes the gate at
# the row of this number and leaves it at once: a session that waited there has
# no more of it than others that come later.
sub gate_sql
{
	my ($row, $gate) = @_;
	return qq{
	CREATE FUNCTION public.pass(id int) RETURNS boolean LANGUAGE plpgsql AS \$\$BEGIN
		IF id = $row THEN
			PERFORM pg_catalog.pg_advisory_lock_shared($gate);
			PERFORM pg_catalog.pg_advisory_unlock_shared($gate);
		END IF;
		RETURN true; END\$\$;
};
}

# The gates of this database are held, from now on, by a new session.  The one
# before is left as it is: its server may be gone.
sub hold_gates
{
	my ($node, $db) = @_;
	$holder = start_psql($node, $db);
	return;
}

# A statement in that session; without one it ends.
sub hold { return $holder->(@_); }

sub close_gate
{
	my ($gate) = @_;
	hold("SELECT pg_advisory_lock($gate)");
	return;
}

# All that are closed.
sub open_gate { hold('SELECT pg_advisory_unlock_all()'); return; }

# The process ids of the backends that wait at a gate, the oldest first, of all
# clients.
sub at_gate
{
	my ($node) = @_;
	return split /\n/, value($node, 'postgres',
		q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' ORDER BY backend_start});
}

# Until this number of backends wait there while a dump or a copy runs; or any,
# if no number is given.
sub wait_at_gate
{
	my ($node, $run, $n) = @_;
	wait_in_run($run, ($n // 'some') . ' wait at the gate',
		sub { return defined $n ? at_gate($node) == $n : at_gate($node) > 0; });
	return;
}

1;
