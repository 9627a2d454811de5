
# Restores with --pipe: the database "shop", databases into which pg_parrestore --pipe restores
# it, and commands that fail.

package Pardump::PipeRestore;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(start_cluster make_database run_program sql);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(temp_dir no_temp_files_ok);
use Pardump::Gate qw(gate_sql);
use Pardump::Toc qw(read_toc data_path is_table_data);
use Test::More;

our @EXPORT_OK = qw(start_pipe_shop pipe_copy pipe_arguments pipe_into piped_ok pipe_failed
  shop_copied_ok table_file failing_command failing_commands $no_manifest);

my ($node, $data, $schema);
my $copies = 0;

# The messages of pg_parrestore for an archive without a manifest, with a warning of the empty
# large object if the archive is not compressed with gzip.
our $no_manifest = qr/^pg_parrestore: warning: archive "[^\n]*" has no manifest\npg_parrestore: detail: Files are read without checksums\.\n(?:pg_parrestore: warning: commands of archive "[^\n]*" returned no data for 1 large object\npg_parrestore: detail: Files: blob_2000\.dat[^\n]*\npg_parrestore: detail: [^\n]*\npg_parrestore: hint: [^\n]*\n)?\z/;

# Starts a server with the database "shop".  Returns the server.
sub start_pipe_shop
{
	my ($name) = @_;
	$node = start_cluster($name);
	make_database($node, 'shop', options => 'TEMPLATE template0');
	sql($node, 'shop', gate_sql(2, 7) . <<'SQL');
CREATE TABLE big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
ALTER TABLE big ADD PRIMARY KEY (id);
ALTER TABLE big ADD CHECK (public.pass(id));
CREATE TABLE small AS SELECT g AS id, 'aaa' AS t FROM generate_series(1, 1000) g;
CREATE TABLE "it's" AS SELECT 1 AS "a ""b""";
CREATE TABLE nothing (id int);
CREATE TABLE self (id int PRIMARY KEY, parent int REFERENCES self);
INSERT INTO self SELECT g, nullif(g - 1, 0) FROM generate_series(1, 100) g;
SELECT lo_from_bytea(g, repeat('x', g * 1000)::bytea) FROM generate_series(1001, 1005) g;
SELECT lo_create(2000);
SQL
	$data = fingerprint($node, 'shop');
	$schema = schema_text($node, 'shop');
	return $node;
}

sub shop_copied_ok
{
	my ($db, $what) = @_;
	return same_database_ok($node, $db, $data, $schema, $what);
}

sub pipe_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0 STRATEGY file_copy');
	return $db;
}

sub pipe_arguments
{
	my ($db, $command, @options) = @_;
	return ('pg_parrestore', '-d', $node->connstr($db), "--pipe=$command", @options);
}

# Restores with this command into a database.  Returns the results of run_program.
sub pipe_into
{
	local $ENV{TMPDIR} = temp_dir();
	return run_program(pipe_arguments(@_));
}

# Restores with this command, which must succeed.  Returns the messages.
sub piped_ok
{
	my ($db, $what, $command, @options) = @_;
	my ($rc, $out, $err) = pipe_into($db, $command, @options);
	is("$rc$out", '0', "$what: exit code") or diag($err);
	shop_copied_ok($db, $what);
	no_temp_files_ok($what);
	return $err;
}

# Restores with this command, which must fail.  Returns the messages.
sub pipe_failed
{
	my ($db, $what, $command, @options) = @_;
	my ($rc, $out, $err) = pipe_into($db, $command, @options);
	is("$rc$out", '1', "$what: exit code");
	no_temp_files_ok($what);
	return $err;
}

# Returns the file name of a table that is not split.
sub table_file
{
	my ($dir, $table) = @_;
	my ($te) = grep { is_table_data($_) && $_->{tag} eq $table } @{ read_toc($dir)->{entries} };
	return data_path($dir, $te) =~ s/.*\///r;
}

# A command that returns all files except one, for which it runs the given command: each
# time, or, with a flag file, only the first time.
sub failing_command
{
	my ($dir, $name, $command, $flag) = @_;
	return failing_commands($dir, $name => [ $command, $flag ]);
}

# The same for several files: failing_commands($dir, name => [command, flag file], ...).
sub failing_commands
{
	my ($dir, %failing) = @_;
	my @tests;
	foreach my $name (sort keys %failing)
	{
		my ($command, $flag) = @{ $failing{$name} };
		my $guard = defined $flag ? "[ ! -e $flag ] && : >$flag && " : '';
		push @tests, "if [ \$f = '$name' ] && ${guard}true; then $command; ";
	}
	return 'f=%f; ' . join('el', @tests) . "else exec cat $dir/%f; fi";
}

1;
