
# Dumps that are held in the middle of their work, and what is done to them
# there.
#
# The middle is made by row security: the policies of some tables wait, at some
# rows, for an advisory lock that the test holds.

package Pardump::Gate;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Background qw(start_dump end_dump wait_until sessions
  nothing_remains_ok);
use Pardump::Cluster qw(make_database new_path restore_ok sql value start_psql);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(make_gated gated_options hold close_gate open_gate stuck_dump
  leader_backend worker_backends terminate survived_ok renew_holder wait_in_dump);

my ($node, $holder, $connstr, $original);
my $copies = 0;

# How gated databases are dumped: some chunks of one table, a batch of others,
# by a role to which the policies apply.
my @options = ('-U', 'dumper', '--enable-row-security', '--max-table-segment-pages=20');

# make_gated($node): the database "gated".  Its tables: gated, of 8 or so
# chunks, two of which wait; in_batch, which waits in the midst of a batch of
# small tables.  And large objects.
sub make_gated
{
	($node) = @_;
	make_database($node, 'gated');
	sql($node, 'gated', <<'SQL');
CREATE ROLE dumper LOGIN;
CREATE TABLE gated (id int PRIMARY KEY, t text);
INSERT INTO gated SELECT g, repeat(md5(g::text), 4) FROM generate_series(1, 10000) g;
ALTER TABLE gated ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON gated USING (CASE WHEN id IN (5000, 9000)
	THEN pg_advisory_xact_lock_shared(42)::text IS NOT NULL ELSE true END);
CREATE TABLE after_it AS SELECT g, md5(g::text) AS t FROM generate_series(1, 300) g;
CREATE TABLE before_it AS SELECT g, md5(g::text) AS t FROM generate_series(1, 500) g;
CREATE TABLE in_batch AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 400) g;
ALTER TABLE in_batch ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON in_batch USING (CASE WHEN id = 300
	THEN pg_advisory_xact_lock_shared(43)::text IS NOT NULL ELSE true END);
GRANT SELECT ON ALL TABLES IN SCHEMA public TO dumper;
SELECT lo_from_bytea(1000 + g, convert_to(repeat(md5(g::text), g), 'UTF8'))
	FROM generate_series(1, 40) g;
DO $$ DECLARE o oid; BEGIN FOR o IN SELECT oid FROM pg_largeobject_metadata LOOP
	EXECUTE format('ALTER LARGE OBJECT %s OWNER TO dumper', o); END LOOP; END $$;
SQL
	$connstr = $node->connstr('gated');
	$holder = start_psql($node, 'gated');
	$original = fingerprint($node, 'gated');
	return;
}

sub gated_options { return @options; }

# A statement in the session that holds the locks.
sub hold { my ($sql) = @_; return $holder->($sql); }

# After the server was started again.
sub renew_holder
{
	$holder = start_psql($node, 'gated');
	return;
}

# The gates: 42 of table gated, 43 of the batch.
sub close_gate { my ($gate) = @_; $holder->("SELECT pg_advisory_lock($gate)"); return; }
sub open_gate { $holder->('SELECT pg_advisory_unlock_all()'); return; }

# Waits for something while a dump runs.
sub wait_in_dump
{
	my ($dump, $what, $condition) = @_;
	wait_until($what, sub {
		die "the dump ended: $dump->{err}" if !$dump->{h}->pumpable;
		eval { $dump->{h}->pump_nb; 1 } or die "the dump ended: $dump->{err}";
		return $condition->();
	});
	return;
}

# stuck_dump(gate, how many workers wait there, options...), of start_dump() too
sub stuck_dump
{
	my ($gate, $waiting, @more) = @_;
	close_gate($gate);
	push @more, '-j2' unless grep { /^-j/ } @more;
	my $dump = start_dump($connstr, @more, @options);
	wait_in_dump($dump, 'workers wait at the gate',
		sub { return worker_backends() == $waiting; });
	return $dump;
}

# The process id of the leader's backend: its session is the oldest.
sub leader_backend
{
	return value($node, 'postgres', <<'SQL');
SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pg_pardump%'
ORDER BY backend_start LIMIT 1
SQL
}

# Those of the workers that wait at a gate.
sub worker_backends
{
	return split /\n/, value($node, 'postgres', <<'SQL');
SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'
AND application_name LIKE 'pg_pardump%' ORDER BY backend_start
SQL
}

# Ends backends, and waits until they are gone.
sub terminate
{
	my $pids = join ',', @_;
	value($node, 'postgres', "SELECT pg_terminate_backend(p) FROM unnest('{$pids}'::int[]) p");
	wait_until('the backends are gone', sub {
		return value($node, 'postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = ANY ('{$pids}')") eq 't';
	});
	return;
}

# survived_ok($dump, 'what', qr/warnings/, sub): it ends well, having said just
# that in warnings, leaves nothing after the function was called, and its archive
# has all rows.
sub survived_ok
{
	my ($dump, $what, $warnings, $afterwards) = @_;
	is(end_dump($dump), 0, "$what: exit code");
	$afterwards->() if $afterwards;
	like($dump->{err}, $warnings, "$what: warnings");
	unlike($dump->{err}, qr/error/, "$what: no error");
	ok(-f "$dump->{dir}/toc.dat", "$what: an archive")
	  or return;
	is(read_manifest($dump->{dir})->{Retries},
		scalar(() = $dump->{err} =~ /a worker (?:lost its connection|was killed) while dumping/g), "$what: retries in the manifest");
	wait_until('no session', sub { sessions($node) == 0 });
	my $copy = 'copy' . ++$copies;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, $copy, $what, '-j2');
	same_data_ok($original, fingerprint($node, $copy), $what);
	sql($node, 'postgres', "DROP DATABASE $copy");
	return;
}

1;
