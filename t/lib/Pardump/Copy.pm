
# Direct copies from one server into another.

package Pardump::Copy;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Pardump::Background qw(new_timer);
use Pardump::Cluster qw(run_program new_path value);
use Pardump::Compare qw(fingerprint schema_text);
use Pardump::Databases qw(empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(temp_dir start_copy start_load run_copy copy_ok copy_refused_ok no_temp_files_ok stock_copy
  stock_restore sessions_left);

# A place of our own for temporary files, in which nothing may be left.
my $temp_dir;

sub temp_dir
{
	return $temp_dir if defined $temp_dir;
	$temp_dir = new_path('tmp');
	mkdir $temp_dir or die "could not create \"$temp_dir\": $!";
	return $temp_dir;
}

# run_copy($source, $db, $target, $target_db, options...) returns what
# run_program does.
sub run_copy
{
	my ($source, $db, $target, $target_db, @options) = @_;
	local $ENV{TMPDIR} = temp_dir();
	return run_program('pg_pardump', '-d', $source->connstr($db), '--target',
		$target->connstr($target_db), @options);
}

# The same in the background, into $connstr; for end_dump().
sub start_copy
{
	my ($source, $db, $connstr, @options) = @_;
	return start_load('pg_pardump', '-d', $source->connstr($db), '--target', $connstr, @options);
}

# Any program that loads.
sub start_load
{
	my @cmd = ('setsid', @_);
	my %copy = (out => '', err => '');
	local $ENV{TMPDIR} = temp_dir();
	delete local $ENV{PGAPPNAME};
	note("starting: @cmd");
	$copy{h} = IPC::Run::start(\@cmd, '<', \'', '>', \$copy{out}, '2>', \$copy{err},
		$copy{timer} = new_timer());
	$copy{pid} = $copy{h}{KIDS}[0]{PID};
	return \%copy;
}

# It must work, and say nothing but its summary.  Returns that.
sub copy_ok
{
	my ($source, $db, $target, $target_db, $what, @options) = @_;
	my ($rc, $out, $err) =
	  run_copy($source, $db, $target, $target_db, @options);
	ok($rc == 0 && $err eq '', "$what: copied")
	  or diag("exit code $rc: " . substr($err, 0, 4000));
	like($out, qr/^copied database ".*"(?: on \S+)? to database ".*"(?: on \S+)?:\n  \d+ tables?, [\d,]+ rows?, (?:[\d,]+ large objects?, )?\S+ (?:bytes|[kMGT]B) in [\d.]+ s, \S+ (?:bytes|[kMGT]B)\/s, \S+ (?:bytes|[kMGT]B) sent$/m,
		"$what: summary");
	no_temp_files_ok($what);
	return $out;
}

# It must fail before anything is done.  Returns what it says.
sub copy_refused_ok
{
	my ($message, $what, $source, $db, $target, $target_db, @options) = @_;
	my ($rc, $out, $err) =
	  run_copy($source, $db, $target, $target_db, @options);
	is($rc, 1, "$what: exit code");
	like($err, $message, "$what: message");
	is($out, '', "$what: no summary");
	no_temp_files_ok($what);
	return $err;
}

sub no_temp_files_ok
{
	my ($what) = @_;
	is_deeply([ grep { !/^\.\.?$/ } slurp_dir(temp_dir()) ],
		[], "$what: no temporary file left");
	return;
}

# What stock makes of a database on the target, the measure of all others: its
# name there, its fingerprint, and what pg_restore had to say.  An archive of pg_dump
# may be given.
sub stock_restore
{
	my ($source, $db, $target, $name, $archive) = @_;
	my $made = new_path('stock');
	run_program('pg_dump', '-Fc', '-Z0', '-f', $made, '-d', $source->connstr($db)) if !defined $archive;
	my $copy = empty_copy($target, $db, $name);
	my ($rc, undef, $err) =
	  run_program('pg_restore', '-d', $target->connstr($copy), $archive // $made);
	unlink $made;
	return { copy => $copy, errors => $err, data => fingerprint($target, $copy) };
}

# The same, and its schema.
sub stock_copy
{
	my ($source, $db, $target, $archive) = @_;
	my $stock = stock_restore($source, $db, $target, "${db}_stock", $archive);
	$stock->{schema} = schema_text($target, $stock->{copy});
	return $stock;
}

# Sessions of a copy on these servers; those that are about to end are waited
# for.
sub sessions_left
{
	my @nodes = @_;
	my $query = "SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'pg_pardump%' OR application_name IN ('pg_dump', 'pg_restore')";
	my $left = 0;
	foreach my $node (@nodes)
	{
		$node->poll_query_until('postgres', "SELECT ($query) = 0")
		  or $left += value($node, 'postgres', $query);
	}
	return $left;
}

1;
