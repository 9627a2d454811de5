# Loads the same data by the server's COPY FROM and by the extension's, and
# compares what comes of it: rows byte by byte, and errors.

package Pardump::Load;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(data_file run_program new_path sql value);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(prepare_load load_session who_copied same_copy_ok
  same_load_ok pieces);

# Makes the functions that compare.
sub prepare_load
{
	my ($node, $db) = @_;
	my ($rc, undef, $err) = run_program(
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db),
		'-f', data_file('load_compare.sql'));
	die "could not prepare to compare in \"$db\": $err" if $rc != 0;
	return;
}

# A session in which the extension copies, and says so, or the server.
sub load_session
{
	my ($node, $db, $fast, %params) = @_;
	my $session = Pardump::Wire->new($node, $db, %params);
	$session->query("LOAD 'pg_pardump'");
	$session->query('SET client_min_messages = debug1') unless $params{quiet};
	$session->query('SET pg_pardump.fast_copy = ' . ($fast ? 'on' : 'off'));
	return $session;
}

# Who did the last COPY: "us", why the server, or undef if that was not said.
sub who_copied
{
	my ($result) = @_;
	my ($said) = grep { /^COPY to table / } @{ $result->{notices} };
	return undef unless defined $said;
	return 'us' if $said =~ /is done by pg_pardump$/;
	return $said =~ s/.*is left to the server: //r;
}

# The text cut into messages of up to $max bytes.
sub pieces
{
	my ($data, $max) = @_;
	my @pieces;
	my $n = 0;
	for (my $at = 0; $at < length $data; $at += length $pieces[-1])
	{
		$n = ($n * 48271 + 11) % 2147483647;
		push @pieces, substr($data, $at, 1 + $n % $max);
	}
	return \@pieces;
}

# What can be compared of a result: all but who did it.
sub comparable
{
	my ($result) = @_;
	my %copy = %$result;
	$copy{notices} = [ grep { !/^COPY to table |index/ } @{ $result->{notices} } ];
	return \%copy;
}

# same_copy_ok($core, $ours, 'what', COPY, messages, options of copy):
# the same answer of the server, in a session of each kind.  The statement has
# %s where the table's name is, which is "core" and "ours", but for errors
# must be told the same.  Returns the extension's result.
sub same_copy_ok
{
	my ($core, $ours, $what, $sql, $pieces, %params) = @_;
	my $expected = $core->copy($sql, $pieces, %params);
	my $result = $ours->copy($sql, $pieces, %params);
	is_deeply(comparable($result), comparable($expected), "$what: as the server")
	  or diag(explain($result, $expected));
	return $result;
}

# same_load_ok($node, $db, 'what', schemas => 'pattern of LIKE', settings =>
# ['SET ...'], tables => how many there must be at least): loads what COPY makes
# of every table into two that are like it, and compares these.
sub same_load_ok
{
	my ($node, $db, $what, %params) = @_;
	my $core = load_session($node, $db, 0, quiet => 1);
	my $ours = load_session($node, $db, 1);
	my $reader = Pardump::Wire->new($node, $db);
	my @tables = map { $_->[0] } @{
		$reader->query("SELECT c.oid::regclass FROM pg_class c
			JOIN pg_namespace n ON n.oid = relnamespace
			WHERE relkind = 'r' AND nspname LIKE '$params{schemas}' ORDER BY 1")->{rows} };
	foreach my $session ($core, $ours, $reader)
	{
		$session->query($_) foreach @{ $params{settings} // [] };
	}
	my $file = new_path('load');
	my ($rows, @bad) = (0);
	foreach my $table (@tables)
	{
		$reader->query('DROP TABLE IF EXISTS load_compare.core, load_compare.ours');
		my $columns = $reader->value("SELECT load_compare.make_pair('$table', 'load_compare.core', 'load_compare.ours')");
		next if $columns eq '';
		$reader->query("COPY $table ($columns) TO '$file'");
		my $pieces = pieces(slurp_file($file), 20000);
		my $expected = $core->copy("COPY load_compare.core ($columns) FROM STDIN", $pieces);
		my $result = $ours->copy("COPY load_compare.ours ($columns) FROM STDIN", $pieces);
		my $difference = join ' ', @{ $reader->query(
			"SELECT * FROM load_compare.difference('load_compare.core', 'load_compare.ours')")->{rows}[0] };
		$rows += (split / /, $difference)[0];
		push @bad, "$table: " . (who_copied($result) // 'not said')
		  . ", $difference, " . ($result->{error}{message} // '') . ($result->{error}{context} // '')
		  if $difference !~ / 0$/ || (who_copied($result) // '') ne 'us'
		  || ($result->{tag} // '') ne ($expected->{tag} // '') || $result->{error};
	}
	unlink $file;
	$_->close foreach $core, $ours, $reader;
	ok(!@bad && @tables >= ($params{tables} // 1), "$what: the tuples are the server's")
	  or diag(join "\n", scalar(@tables) . ' tables', @bad);
	note(scalar(@tables) . " tables, $rows tuples");
	return;
}

1;
