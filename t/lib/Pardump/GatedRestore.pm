# Restores by tasks that wait at a gate (Pardump::Gate) until the test opens it: a
# table of which one row of 30,000 is behind it, and others.  Sessions with the
# setting gated.fails = yes cannot load any row of that table.

package Pardump::GatedRestore;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Background qw(end_dump);
use Pardump::Cluster qw(start_cluster make_database sql dump_ok);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(sessions_left);
use Pardump::Gate qw(gated_rows_sql hold_gates close_gate wait_at_gate);
use Pardump::Restore qw(start_parrestore);
use Pardump::Tasks qw(side_by_side);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(start_gated gated_archive gated_database gated_tasks begin_gated_restore
  complete_ok restored_ok);

my ($node, $archive, $data, $schema, $db);
my $names = 0;

# A server with the database "gated"; its archive is gated_archive().
sub start_gated
{
	my ($name) = @_;
	$node = start_cluster($name, leave_stopped => 1);
	$node->append_conf('postgresql.conf', 'restart_after_crash = on');
	$node->start;
	make_database($node, 'gated', options => 'TEMPLATE template0');
	sql($node, 'gated', q{CREATE FUNCTION public.may() RETURNS boolean LANGUAGE sql
		AS $$SELECT pg_catalog.current_setting('gated.fails', true) IS DISTINCT FROM 'yes'$$;}
		. gated_rows_sql('CHECK (public.may())'));
	$data = fingerprint($node, 'gated');
	$schema = schema_text($node, 'gated');
	$archive = dump_ok($node, 'gated', 'ours', 'pg_pardump', '--max-table-segment-pages=50');
	return $node;
}

sub gated_archive { return $archive; }

# That of the restore that was begun last.
sub gated_database { return $db; }

# A restore of which so many sessions wait at the gate, at one chunk.
sub gated_tasks
{
	my ($waiting, $first, @options) = @_;
	my $run = begin_gated_restore($archive, side_by_side($first, 'pg_parrestore'), '--tasks=3', @options);
	wait_at_gate($node, $run, $waiting);
	return $run;
}

# Any restore into a new database whose gate is closed.
sub begin_gated_restore
{
	my ($of, @options) = @_;
	$db = 'copy' . ++$names;
	make_database($node, $db, options => 'TEMPLATE template0');
	hold_gates($node, $db);
	close_gate(42);
	return start_parrestore($node, $db, $of, @options);
}

sub complete_ok
{
	my ($what) = @_;
	same_database_ok($node, $db, $data, $schema, $what);
	is(sessions_left($node), 0, "$what: no session left");
	is_deeply([ glob "$archive/plan*" ], [], "$what: no plan left");
	return;
}

sub restored_ok
{
	my ($run, $what, $words) = @_;
	is(end_dump($run), 0, "$what: exit code");
	like($run->{err}, $words, "$what: what it says");
	complete_ok($what);
	return;
}

1;
