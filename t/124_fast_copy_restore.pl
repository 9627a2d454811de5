# Stock pg_restore and psql, unchanged, load by the extension's COPY FROM: whole
# databases come out as they do without it, and most of their tables were
# loaded by the extension.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program dump_ok new_path);
use Pardump::Compare qw(fingerprint differences schema_text);
use Pardump::Databases qw(make_everything make_latin1 make_sql_ascii
  start_regression regress_dir empty_copy);
use Pardump::Load qw(prepare_load same_load_ok);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_regression('fast_restore');
my $copies = 0;

# How many COPY were done by whom, of those in the server's log from an offset.
sub counts
{
	my ($offset) = @_;
	my $log = slurp_file($node->logfile, $offset);
	my $ours = () = $log =~ /COPY to table ".*" is done by pg_pardump/g;
	my $left = () = $log =~ /COPY to table ".*" is left to the server/g;
	return ($ours, $left);
}

# Restores an archive into a new database.  Returns what is there, and what
# the program said, in any order.
sub restore
{
	my ($db, $fast, @command) = @_;
	my $copy = empty_copy($node, $db, "${db}_" . ++$copies);
	local $ENV{PGOPTIONS} = '-c session_preload_libraries=pg_pardump -c pg_pardump.fast_copy=on -c log_min_messages=debug1'
	  if $fast;
	my ($rc, undef, $err) = run_program(@command, '-d', $node->connstr($copy));
	return {
		data => fingerprint($node, $copy),
		schema => schema_text($node, $copy),
		errors => join("\n", sort grep { /ERROR|CONTEXT/ } split /\n/, $err) };
}

sub same_restore_ok
{
	my ($db, $at_least) = @_;
	my $dir = dump_ok($node, $db, $db, 'pg_dump', '-j2');
	my $script = new_path('script');
	run_program('pg_restore', '-f', $script, $dir);
	my $expected = restore($db, 0, 'pg_restore', '-j2', $dir);
	foreach my $way ([ 'pg_restore', 'pg_restore', '-j2', $dir ],
		[ 'pg_restore --single-transaction', 'pg_restore', '-1', $dir ],
		[ 'psql', 'psql', '-Xq', '-f', $script ])
	{
		my ($what, @command) = @$way;
		# any error would end a single transaction
		next if $what =~ /single/ && $expected->{errors} ne '';
		my $offset = -s $node->logfile;
		my $got = restore($db, 1, @command);
		my @differences = differences($expected->{data}, $got->{data});
		ok(!@differences, "$db, $what: same rows") or diag(join "\n", @differences);
		is($got->{schema}, $expected->{schema}, "$db, $what: same schema");
		is($got->{errors} =~ s/psql:\S+ //gr, $expected->{errors}, "$db, $what: same errors")
		  if $what =~ /restore/;
		my ($ours, $left) = counts($offset);
		note("$ours by us, $left by the server");
		cmp_ok($ours, '>=', $at_least, "$db, $what: loaded by the extension");
	}
	return;
}

make_everything($node);
same_restore_ok('everything', 20);
prepare_load($node, 'everything');
same_load_ok($node, 'everything', 'everything', schemas => '%', tables => 50);
make_latin1($node);
same_restore_ok('latin1', 1);
make_sql_ascii($node);
same_restore_ok('sql_ascii', 1);

SKIP:
{
	skip 'PG_PARDUMP_REGRESS is not set', 1 unless regress_dir();
	same_restore_ok('regression', 100);
	prepare_load($node, 'regression');
	same_load_ok($node, 'regression', 'regression', schemas => 'public', tables => 100);
}

done_testing();
