# Loads the same data by the server's COPY FROM and by the extension's, and
# compares what comes of it: rows byte by byte, and errors.

package Pardump::Load;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(data_file run_program new_path value);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(prepare_load load_session who_copied comparable
  same_load_ok same_tuples_ok pieces);

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
	$session->query('SET client_min_messages = debug2') unless $params{quiet};
	$session->query('SET pg_pardump.fast_copy = ' . ($fast ? 'on' : 'off'));
	return $session;
}

# Who did the last COPY: "us", why the server, or undef if that was not said.
sub who_copied
{
	my ($result) = @_;
	my ($said) = grep { /^COPY to table .*(done by|left to)/ } @{ $result->{debug} };
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

# The line from which on the server's parser read, or undef.
sub left_at_line
{
	my ($result) = @_;
	my ($said) = grep { /^COPY to table .* is read by the server from line/ } @{ $result->{debug} };
	return defined $said ? $said =~ s/.* line (\d+) on$/$1/r : undef;
}

# What can be compared of a result: all but who did it.
sub comparable
{
	my ($result) = @_;
	my %copy = %$result;
	delete $copy{debug};
	return \%copy;
}

# Loads what COPY makes of a table into two that are like it.  Returns how
# many rows that were, and what was different, undef if nothing.
sub load_table
{
	my ($judge, $reader, $core, $ours, $oid, $table, $file) = @_;
	my $columns = $judge->first_value("SELECT load_compare.make_pair($oid)");
	return (0, undef) if $columns eq '';
	$reader->query("COPY $table ($columns) TO '$file'");
	my $pieces = pieces(slurp_file($file), 20000);
	my $expected = $core->copy("COPY core.loaded ($columns) FROM STDIN", $pieces);
	my $result = $ours->copy("COPY ours.loaded ($columns) FROM STDIN", $pieces);
	my ($rows, $different) = @{ $judge->query(
		"SELECT * FROM load_compare.difference('core.loaded', 'ours.loaded')")->{rows}[0] };
	my $who = who_copied($result) // 'not said';
	# the extension's parser must have read all of it
	my $left = left_at_line($result) // 0;
	$who = "the server from line $left on"
	  if defined $result->{tag} && $result->{tag} ne 'COPY ' . ($left - 1);
	my @answers = map { join '|', $_->{tag} // '', map { $_ // '' } @{ $_->{error} }{qw(sqlstate message context)} }
	  $expected, $result;
	return ($rows, undef)
	  if $different == 0 && $who eq 'us' && $answers[0] eq $answers[1];
	return ($rows, "$table: by $who, $different of $rows rows, @answers");
}

# What a table has stored, as a multiset, in one word.
sub tuples
{
	my ($node, $db, $table) = @_;
	return value($node, $db, "SELECT count(*) || ' ' || coalesce(md5(string_agg(t, ' ' ORDER BY t)), '')
		FROM (SELECT ROW(mask, natts, hoff, bits, len, bytes)::text AS t
			FROM load_compare.tuples('$table') WHERE natts IS NOT NULL) x");
}

# Both databases, which prepare_load() has prepared, have the same tuples in
# these tables.
sub same_tuples_ok
{
	my ($source, $db, $target, $target_db, $what, @tables) = @_;
	my @bad = grep { tuples($source, $db, $_) ne tuples($target, $target_db, $_) } @tables;
	ok(!@bad && @tables, "$what: the tuples are the source's") or diag("@bad");
	return;
}

# same_load_ok($node, $db, 'what', schemas => 'pattern of LIKE', settings =>
# ['SET ...'], tables => how many there must be at least): loads what COPY makes
# of every table into two that are like it, and compares these.
sub same_load_ok
{
	my ($node, $db, $what, %params) = @_;
	my $core = load_session($node, $db, 0, quiet => 1);
	my $ours = load_session($node, $db, 1);
	my ($judge, $reader) = map { Pardump::Wire->new($node, $db) } 0, 1;
	my @tables = map { [@$_] } @{
		$judge->query("SELECT c.oid, c.oid::regclass FROM pg_class c
			JOIN pg_namespace n ON n.oid = relnamespace
			WHERE relkind = 'r' AND nspname LIKE '$params{schemas}'
				AND nspname NOT IN ('pg_catalog', 'information_schema', 'core', 'ours') ORDER BY 2")->{rows} };
	foreach my $session ($core, $ours, $reader)
	{
		$session->query($_) foreach @{ $params{settings} // [] };
	}
	my $file = new_path('load');
	my ($rows, @bad) = (0);
	foreach my $table (@tables)
	{
		my ($n, $bad) = load_table($judge, $reader, $core, $ours, @$table, $file);
		$rows += $n;
		push @bad, $bad if defined $bad;
	}
	unlink $file;
	$_->close foreach $core, $ours, $judge, $reader;
	ok(!@bad && @tables >= ($params{tables} // 1), "$what: the tuples are the server's")
	  or diag(join "\n", scalar(@tables) . ' tables', @bad);
	note(scalar(@tables) . " tables, $rows tuples");
	return;
}

1;
