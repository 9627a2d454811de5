
# pg_parrestore, measured by what stock pg_restore does with the same archive
# and the same options.

package Pardump::Restore;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(run_program new_path);
use Pardump::Compare qw(fingerprint schema_text same_database_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok sessions_left);
use Pardump::Databases qw(empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(run_parrestore start_parrestore parrestore_ok same_as_stock_ok errors_ignored
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

# The number in the last line, by either program.
sub errors_ignored
{
	my ($err) = @_;
	return $err =~ /^pg_\w*restore: warning: errors ignored on restore: (\d+)\n\z/m ? $1 : 0;
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

# same_as_stock_ok($node, $archive, 'what', options => [...], prepare => sub,
# source => 'name'): in two empty databases, which prepare has changed, both
# programs do the same, and tell of as many errors.  Stock's has no -j: with that
# it counts some errors more than once.  Returns what ours has said.
my $pairs = 0;

sub same_as_stock_ok
{
	my ($node, $archive, $what, %params) = @_;
	my @options = @{ $params{options} // [] };
	my ($theirs, $ours) = map { "pair_" . ++$pairs . "_$_" } qw(theirs ours);

	foreach my $db ($theirs, $ours)
	{
		empty_copy($node, $params{source} // 'modes', $db);
		$params{prepare}->($db) if $params{prepare};
	}
	my ($rc1, undef, $err1) =
	  run_program('pg_restore', '-d', $node->connstr($theirs), (grep { !/^-j/ } @options), $archive);
	my ($rc2, $out2, $err2) = run_parrestore($node, $ours, $archive, @options);
	is($rc2, $rc1, "$what: exit code $rc1");
	is(errors_ignored($err2), errors_ignored($err1), "$what: " . errors_ignored($err1) . ' errors');
	is($out2, '', "$what: nothing on standard output");
	same_database_ok($node, $ours, fingerprint($node, $theirs), schema_text($node, $theirs), $what);
	no_temp_files_ok($what);
	return $err2;
}

# Archives of stock pg_dump: of each kind, and one in the custom format that
# could not be written but in one go.
sub stock_archives
{
	my ($node, $db) = @_;
	my %archives = map { $_ => new_path("stock_$_") } qw(directory custom piped);
	my $connstr = $node->connstr($db);

	run_program('pg_dump', '-Fd', '-f', $archives{directory}, '-d', $connstr);
	run_program('pg_dump', '-Fc', '-f', $archives{custom}, '-d', $connstr);
	run_program('bash', '-c', 'pg_dump -Fc -d "$0" | cat >"$1"', $connstr, $archives{piped});
	return %archives;
}

1;
