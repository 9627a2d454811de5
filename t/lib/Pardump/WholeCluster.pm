
# Whole clusters: databases with odd names, roles, memberships, settings and a
# tablespace; and what two clusters must have in common.

package Pardump::WholeCluster;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use Pardump::Cluster qw(run_program new_path pg_major start_psql sql);
use Pardump::Compare qw(fingerprint schema_text same_data_ok same_schema_ok);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(make_cluster odd_names quoted create_database globals_text cluster_print
  same_cluster_ok read_map archive_of dump_all close_gate);

# Their databases beside postgres and template1.
my @names = ('shop', q{it's a "db" \\ %s}, "two\nlines", ' -f ', 'in space');

sub odd_names { return @names; }

# An identifier, or another one's name in a connection string.
sub quoted { return '"' . $_[0] =~ s/"/""/gr . '"'; }

sub create_database
{
	my ($node, $name, $options) = @_;
	sql($node, 'postgres', 'CREATE DATABASE ' . quoted($name) . ' ' . ($options // ''));
	return;
}

# A session with the name that rows of a test wait for, in whichever database they are.
sub close_gate
{
	my ($node) = @_;
	local $ENV{PGAPPNAME} = 'gate';
	my $session = start_psql($node, 'postgres');
	$session->('SELECT 1');
	return $session;
}

# make_cluster($node, $space): $space is a directory for a tablespace.
sub make_cluster
{
	my ($node, $space) = @_;
	my $grant = pg_major($node) >= 16 ? 'WITH ADMIN TRUE, INHERIT FALSE, SET TRUE' : 'WITH ADMIN OPTION';

	sql($node, 'postgres', <<"SQL");
CREATE ROLE "own""er; --" LOGIN PASSWORD 'it''s \\secret;' CONNECTION LIMIT 7 VALID UNTIL '2099-01-01';
CREATE ROLE "a\nrole" NOINHERIT CREATEROLE;
CREATE ROLE staff; CREATE ROLE chief SUPERUSER;
COMMENT ON ROLE staff IS 'who works; -- here';
GRANT staff TO "own""er; --" $grant;
SET ROLE chief; GRANT "a\nrole" TO staff; RESET ROLE;
ALTER ROLE staff SET work_mem = '7MB';
ALTER ROLE postgres SET statement_timeout = '1h';
CREATE TABLESPACE space OWNER staff LOCATION '$space';
GRANT CREATE ON TABLESPACE space TO "own""er; --";
SQL
	create_database($node, $_, $_ eq 'in space' ? 'TABLESPACE space' : 'OWNER "own""er; --"')
	  foreach @names;
	foreach my $name (@names, 'postgres', 'template1')
	{
		my $rows = $name eq 'shop' ? 30000 : 300;
		sql($node, $name, <<"SQL");
CREATE TABLE orders (id int PRIMARY KEY, t text);
INSERT INTO orders SELECT g, repeat(md5(g::text || current_database()), 3) FROM generate_series(1, $rows) g;
ALTER TABLE orders OWNER TO "own""er; --";
GRANT SELECT ON orders TO staff, "a\nrole";
CREATE SEQUENCE numbers; SELECT nextval('numbers') FROM generate_series(1, 3);
SELECT lo_from_bytea(4711, convert_to(current_database(), 'UTF8'));
SQL
	}
	sql($node, 'postgres', <<'SQL');
ALTER DATABASE shop SET work_mem = '9MB';
ALTER DATABASE shop CONNECTION LIMIT 20;
GRANT CONNECT ON DATABASE shop TO staff;
COMMENT ON DATABASE shop IS 'the shop''s';
ALTER ROLE staff IN DATABASE shop SET work_mem = '8MB';
SQL
	return;
}

sub without_keys { return $_[0] =~ s/^\\(un)?restrict \w+$//mgr; }

sub globals_text
{
	my ($node) = @_;
	my ($rc, $out, $err) = run_program('pg_dumpall', '-g', '-d', $node->connstr('postgres'));
	die "pg_dumpall failed: $err" if $rc != 0;
	return without_keys($out);
}

# What pg_dumpall writes of the cluster without its rows, whose order may be
# another one, but of the database whose name it cannot say to pg_dump; and all
# rows of these databases.
sub cluster_print
{
	my ($node, @databases) = @_;
	my ($rc, $out, $err) = run_program('pg_dumpall', '-s', "--exclude-database=two*",
		'-d', $node->connstr('postgres'));
	die "pg_dumpall failed: $err" if $rc != 0;
	return {
		text => without_keys($out) =~ s/\n\n+/\n/gr,
		schemas => { map { $_ => schema_text($node, $_) } @databases },
		rows => { map { $_ => fingerprint($node, $_) } @databases } };
}

sub same_cluster_ok
{
	my ($want, $node, $what) = @_;
	my $got = cluster_print($node, sort keys %{ $want->{rows} });
	same_schema_ok($want->{text}, $got->{text}, "$what: pg_dumpall");
	foreach my $name (sort keys %{ $want->{rows} })
	{
		my $shown = $name =~ s/\n/ /gr;
		same_schema_ok($want->{schemas}{$name}, $got->{schemas}{$name}, "$what: $shown");
		same_data_ok($want->{rows}{$name}, $got->{rows}{$name}, "$what: $shown");
	}
	return;
}

sub read_map { return decode_json(slurp_file("$_[0]/map.json")); }

# The archive of a database in a cluster's directory; undef if the map has none.
sub archive_of
{
	my ($dir, $name) = @_;
	my ($found) = grep { $_->{Name} eq $name } @{ read_map($dir)->{Databases} };
	return $found && "$dir/$found->{Directory}";
}

# dump_all($node, options...): exit code, what was said, the directory.
sub dump_all
{
	my ($node, @options) = @_;
	my $dir = new_path('cluster');
	my ($rc, $out, $err) = run_program('pg_pardump', '--all-databases', '-f', $dir, '--no-sync',
		'-h', $node->host, '-p', $node->port, @options);
	return ($rc, $err, $dir, $out);
}

1;
