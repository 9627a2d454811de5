
# Dumps that are held at a gate in the middle of their work, by row security.

package Pardump::GatedDump;

use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use Exporter 'import';
use Pardump::Background qw(start_dump end_dump wait_until sessions backends);
use Pardump::Cluster qw(make_database sql);
use Pardump::Compare qw(fingerprint same_when_restored_ok);
use Pardump::Gate qw(hold_gates close_gate at_gate wait_at_gate);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(make_gated gated_options stuck_dump leader_backend worker_backends
  survived_ok);

my ($node, $connstr, $original, $contents);

# How gated databases are dumped: some chunks of one table, a batch of others,
# by a role to which the policies apply.
my @options = ('-U', 'dumper', '--enable-row-security', '--max-table-segment-pages=20');

# make_gated($node): the database "gated".  Its tables: gated, of 8 or so
# chunks, two of which wait at gate 42; in_batch, which waits at gate 43 in the
# midst of a batch of small tables.  And large objects.
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
	hold_gates($node, 'gated');
	$original = fingerprint($node, 'gated');
	return;
}

sub gated_options { return @options; }

# stuck_dump(gate, how many workers wait there, options...), of start_dump() too
sub stuck_dump
{
	my ($gate, $waiting, @more) = @_;
	close_gate($gate);
	push @more, '-j2' unless grep { /^-j/ } @more;
	my $dump = start_dump($connstr, @more, @options);
	wait_at_gate($node, $dump, $waiting);
	return $dump;
}

# The process id of the leader's backend: its session is the oldest.
sub leader_backend
{
	my ($leader) = backends($node);
	return $leader;
}

# Those of the workers that wait at a gate.
sub worker_backends { return at_gate($node); }

# What pg_restore would send: the rows of each table in any order, and all other lines.  How
# large objects are divided among transactions does not matter.
sub contents_of
{
	my ($dir) = @_;
	my (%rows, $rows, @other);
	open my $pipe, '-|', 'pg_restore', '-f', '-', $dir or die "could not run pg_restore: $!";
	while (my $line = <$pipe>)
	{
		if ($rows)
		{
			$line eq "\\.\n" ? undef $rows : push @$rows, $line;
			next;
		}
		next if $line =~ /^(?:--.*|\\(?:un)?restrict .*|BEGIN;|COMMIT;)?\n/;
		$line =~ /^COPY .* FROM stdin;\n/ ? $rows = $rows{$line} //= [] : push @other, $line;
	}
	close $pipe or die "pg_restore failed on \"$dir\"";
	return { other => \@other, map { $_ => md5_hex(sort @{ $rows{$_} }) } keys %rows };
}

# survived_ok($dump, 'what', qr/warnings/, sub): it ends well, having said just
# that in warnings, leaves nothing after the function was called, and its archive
# has all rows.  The first archive is restored and compared with the database, the others
# are compared with the first one, which takes much less time.
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
		scalar(() = $dump->{err} =~ /detail: The worker was dumping /g), "$what: retries in the manifest");
	wait_until('no session', sub { sessions($node) == 0 });
	my $found = contents_of($dump->{dir});
	same_when_restored_ok($node, $dump->{dir}, $original, $what) if !$contents;
	$contents //= $found;
	is_deeply($found, $contents, "$what: contents of the archive");
	return;
}

1;
