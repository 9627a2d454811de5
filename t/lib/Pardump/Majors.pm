
# From a server of one major to one of a newer major, by the programs of either.

package Pardump::Majors;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(make_database run_program new_path sql value pg_major data_file dump_ok restore_ok without_slot_warning);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(run_copy copy_ok stock_restore sessions_left);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore errors_ignored);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(allow_access other_node keep_archives kept_archives_ok copies_ok move_ok);

# Have a node, which does not run yet, listen to the other side.
sub allow_access
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
	unlink $node->data_dir . '/pg_hba.conf';
	$node->append_conf('pg_hba.conf', <<'HBA');
local all all trust
host all,replication all 127.0.0.1/32 scram-sha-256
HBA
	return;
}

# A node that is not ours to start: only where it can be reached.
sub other_node
{
	my ($name, $port, $user, $password) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	@$node{qw(_host _port)} = ('127.0.0.1', $port);
	@ENV{qw(PGUSER PGPASSWORD)} = ($user, $password);
	return $node;
}

# Archives of this major's pg_dump, for the other side to fetch: nothing but the
# server is seen from there.
sub keep_archives
{
	my ($node) = @_;
	sql($node, 'postgres', 'CREATE TABLE kept_archives (db text, object oid)');
	foreach my $db (qw(everything regression))
	{
		my ($archive, $script) = (new_path('archive'), new_path('keep.sql'));
		is((run_program('pg_dump', '-Fc', '-f', $archive, '-d', $node->connstr($db)))[0], 0,
			"$db: pg_dump of " . pg_major($node));
		append_to_file($script,
			"\\lo_import '$archive'\nINSERT INTO kept_archives VALUES ('$db', :LASTOID);\n");
		is((run_program('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $script))[0],
			0, "$db: its archive is kept");
	}
	return;
}

# What the other side has kept comes out by pg_parrestore as by pg_restore, both of
# the target's major, with as many errors.
sub kept_archives_ok
{
	my ($source, $target, $from_to, $same_schema) = @_;
	my @kept = split /\n/, value($source, 'postgres', 'TABLE kept_archives');
	is(scalar(@kept), 2, "$from_to: there are archives of the older pg_dump");
	foreach my $row (@kept)
	{
		my ($db, $object) = split /\|/, $row;
		my $what = "$from_to, $db, an archive of the older pg_dump";
		my $archive = new_path('kept');
		run_program('psql', '-Xq', '-d', $source->connstr('postgres'), '-c',
			"\\lo_export $object '$archive'");
		my ($theirs, $ours) = map { empty_copy($target, $db, "${db}_kept_$_") } qw(theirs ours);
		my ($rc1, undef, $err1) = run_program('pg_restore', '-d', $target->connstr($theirs), $archive);
		my ($rc2, $out2, $err2) = run_parrestore($target, $ours, $archive, '-j3', '--chunk-size=64kB');
		is("$rc2 $out2", "$rc1 ", "$what: exit code $rc1") or diag($err2);
		is(errors_ignored($err2), errors_ignored($err1), "$what: " . errors_ignored($err1) . ' errors');
		same_data_ok(fingerprint($target, $theirs), fingerprint($target, $ours), $what);
		$same_schema->($theirs, $ours, $what);
	}
	return;
}

# Every way from the source's databases to the target's comes out as stock's.
# Schemas are compared by $same_schema->(stock's copy, ours, 'what').
sub copies_ok
{
	my ($source, $target, $from_to, $same_schema) = @_;
	my $copies = 0;
	foreach my $db (qw(everything regression))
	{
		foreach my $with (0, 1)
		{
			my $whole = "$from_to, $db, with" . ($with ? '' : 'out') . ' the extension';
			sql($source, $db, 'CREATE EXTENSION pg_pardump') if $with;
			my $stock = stock_restore($source, $db, $target, "${db}_stock$with");
			is($stock->{errors}, '', "$whole: stock restores without a message");
			# but for what differs by design: extensions' configuration tables, and
			# materialized views, which a restore fills again
			my ($data, $stock_data) = (fingerprint($source, $db), $stock->{data});
			same_data_ok(
				{ map { $_ => $data->{$_} } grep { !/[.](ext|mvtest)_/ } keys %$data },
				{ map { $_ => $stock_data->{$_} } grep { !/[.](ext|mvtest)_/ } keys %$stock_data },
				"$whole: source and stock's copy");
			my $same_ok = sub {
				my ($copy, $what) = @_;
				same_data_ok($stock_data, fingerprint($target, $copy), $what);
				$same_schema->($stock->{copy}, $copy, $what);
			};
			foreach my $options ([ '-j4', '--compare', '--trust-owners' ],
				[ '-j2', '--copy-format=text', '--max-table-segment-pages=2', '--no-analyze' ],
				# raw tuples, where the extension reads and loads
				[ '-j2', '--max-table-segment-pages=2', '--wire-compression=lz4', '--no-analyze' ])
			{
				my $what = "$whole, copy @$options";
				my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
				my $said = copy_ok($source, $db, $target, $copy, $what, @$options);
				like($said, qr/^row formats: raw tuples \(\d+ tables?\b/m, "$what: raw tuples")
				  if $with && grep { /^--wire-compression/ } @$options;
				$same_ok->($copy, $what);
			}
			my $what = "$whole, dump";
			my $dir = dump_ok($source, $db, $what, 'pg_pardump', '-j4',
				'--max-table-segment-pages=2');
			is((run_program('pg_pardump', '--verify', $dir))[0], 0, "$what: verified");
			my $copy = empty_copy($target, $db, "${db}_" . ++$copies);
			restore_ok($target, $dir, $copy, $what, '-j4');
			$same_ok->($copy, $what);
			is(sessions_left($source, $target), 0, "$what: no session left");
		}
	}
	return;
}

# A database moves while sessions write to it, as doc/move_server.md says.
# $conninfo is how the target reaches the source's database "bank".
sub move_ok
{
	my ($source, $target, $from_to, $conninfo) = @_;
	make_database($source, 'bank', options => 'TEMPLATE template0', files => ['bank.sql']);
	sql($source, 'bank', 'ALTER TABLE bystander ADD PRIMARY KEY (id);
		CREATE PUBLICATION moving FOR ALL TABLES');
	my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-R', '2000', '-T', '1000',
			'-f', data_file('transfer.pgbench'), $source->connstr('bank') ],
		'>', new_path('pgbench.log'), '2>&1');
	my $transfers = sub { value($source, 'bank', 'SELECT count(*) FROM journal') };
	wait_until('transfers', sub { $transfers->() > 100 });
	make_database($target, 'bank', options => 'TEMPLATE template0');
	my ($rc, $out, $err) = run_copy($source, 'bank', $target, 'bank', '-j2',
		'--max-table-segment-pages=20', '--create-slot', '--slot=moving',
		'--create-subscription=moving', '--publication=moving',
		'--subscription-conninfo', $conninfo);
	$err = without_slot_warning($source, $err);
	like("$rc $err", qr/\A0 .*warning: sequence values are not replicated \(1 sequence\)\n.*hint: Set the sequences .*\n\z/,
		"$from_to, a move: copied, and what is left to do is said");
	my $after = $transfers->();
	wait_until('more transfers', sub { $transfers->() > $after + 1000 });

	# The applications stop, and the target gets the rest.
	sql($source, 'postgres', 'ALTER DATABASE bank SET default_transaction_read_only = on');
	sql($source, 'bank', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = 'bank' AND backend_type = 'client backend' AND pid <> pg_backend_pid()");
	$writers->finish;
	my $end = value($source, 'bank', 'SELECT pg_current_wal_lsn()');
	wait_until('the subscription', sub {
		value($source, 'bank', "SELECT confirmed_flush_lsn >= '$end'
			FROM pg_replication_slots WHERE slot_name = 'moving'") eq 't' });
	sql($target, 'bank', value($source, 'bank', q{
		SELECT format('SELECT setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename),
			coalesce(last_value, start_value), last_value IS NOT NULL)
		FROM pg_sequences}));
	sql($target, 'bank', 'DROP SUBSCRIPTION moving');
	sql($source, 'postgres', 'ALTER DATABASE bank RESET default_transaction_read_only');
	cmp_ok($transfers->(), '>', $after, "$from_to, a move: transfers went on after the copy");
	same_data_ok(fingerprint($source, 'bank'), fingerprint($target, 'bank'),
		"$from_to, a move: both sides afterwards");
	is(value($source, 'postgres', 'SELECT count(*) FROM pg_replication_slots'), 0,
		"$from_to, a move: the slot is gone");
	return;
}

1;
