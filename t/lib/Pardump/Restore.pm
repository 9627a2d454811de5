
# pg_parrestore, measured by what stock pg_restore does with the same archive
# and the same options.

package Pardump::Restore;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program new_path make_database);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok sessions_left);
use Pardump::Databases qw(dump_by_stock empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(run_parrestore start_parrestore parrestore_ok by_stock same_as_stock_ok errors_ignored
  restored_as_stock_ok stock_archives);

# run_parrestore($node, $db, $archive, options...) returns what run_program
# does.
sub run_parrestore
{
	my ($node, $db, $archive, @options) = @_;
	local $ENV{TMPDIR} = temp_dir();
	return run_program('pg_parrestore', '-d', $node->connstr($db), @options, $archive);
}

# The same in the background; for end_dump().
sub start_parrestore
{
	my ($node, $db, $archive, @options) = @_;
	return start_load('pg_parrestore', '-d', $node->connstr($db), @options, $archive);
}

# It must work, and say nothing, as pg_restore.
sub parrestore_ok
{
	my ($node, $db, $archive, $what, @options) = @_;
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, @options);
	ok($rc == 0 && $out eq '' && $err eq '', "$what: pg_parrestore @options")
	  or diag("exit code $rc: $out" . substr($err, 0, 4000));
	no_temp_files_ok($what);
	return;
}

# The number in the last warning, by either program.
sub errors_ignored
{
	my ($err) = @_;
	return $err =~ /^pg_\w*restore: warning: errors ignored on restore: (\d+)\n(?:\S+ (?:detail|hint): .*\n){0,3}\z/m ? $1 : 0;
}

# A restore that has ended so is what stock pg_restore's was, which is a hash of
# its rc, errors, data and schema; and no session of it is left.
sub restored_as_stock_ok
{
	my ($node, $db, $stock, $rc, $err, $what) = @_;
	is("$rc " . errors_ignored($err), "$stock->{rc} $stock->{errors}", "$what: exit code and errors") or diag($err);
	same_database_ok($node, $db, $stock->{data}, $stock->{schema}, $what);
	is(sessions_left($node), 0, "$what: no session left");
	return;
}

# by_stock($node, $archive, options => [...], template => 'name', prepare => sub,
# source => 'name'): what stock pg_restore makes of an archive in a new database, which
# is empty, or a copy of the template, and which prepare has changed.  It has no -j: with
# that it counts some errors more than once.
sub by_stock
{
	my ($node, $archive, %params) = @_;
	my $db = new_pair_database($node, 'theirs', %params);
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($db),
		(grep { !/^-j/ } @{ $params{options} // [] }), $archive);
	return { rc => $rc, errors => errors_ignored($err), data => fingerprint($node, $db), schema => schema_text($node, $db) };
}

# same_as_stock_ok($node, $archive, 'what', stock => what by_stock() has returned,
# and what that takes): pg_parrestore does the same in such a database, and
# reports as many errors.  Without stock, that is asked for here.  Returns what
# ours has said.
sub same_as_stock_ok
{
	my ($node, $archive, $what, %params) = @_;
	my $stock = $params{stock} // by_stock($node, $archive, %params);
	my $db = new_pair_database($node, 'ours', %params);
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, @{ $params{options} // [] }, @{ $params{ours} // [] });
	is($rc, $stock->{rc}, "$what: exit code $stock->{rc}");
	is(errors_ignored($err), $stock->{errors}, "$what: $stock->{errors} errors");
	is($out, '', "$what: nothing on standard output");
	same_database_ok($node, $db, $stock->{data}, $stock->{schema}, $what);
	no_temp_files_ok($what);
	return $err;
}

my $pairs = 0;

sub new_pair_database
{
	my ($node, $whose, %params) = @_;
	my $db = 'pair_' . ++$pairs . "_$whose";
	if (defined $params{template})
	{
		make_database($node, $db, options => "TEMPLATE $params{template} STRATEGY file_copy");
	}
	else
	{
		empty_copy($node, $params{source} // 'modes', $db);
	}
	$params{prepare}->($db) if $params{prepare};
	return $db;
}

# Archives of stock pg_dump, by the kinds of dump_by_stock().
sub stock_archives
{
	my ($node, $db) = @_;
	my %archives = map { $_ => new_path("stock_$_") } qw(directory custom piped);
	dump_by_stock($node, $db, %archives);
	return %archives;
}

1;
