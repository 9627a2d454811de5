# What a database, a role or the environment sets for its sessions changes how
# values are shown.  An archive or a copy has them right under all settings.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program dump_ok restore_ok sql value);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Databases qw(start_everything archives_of_everything empty_copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_everything('settings');
my $copies = 0;

my $stock = empty_copy($node, 'everything', 'stock');
restore_ok($node, { archives_of_everything() }->{directory}, $stock, 'stock');
my $want = fingerprint($node, $stock);

sql($node, 'postgres', "ALTER DATABASE everything SET $_")
  foreach "DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'",
  'extra_float_digits = -15', "TimeZone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
  "search_path = 'nowhere'",
  'quote_all_identifiers = on', 'array_nulls = off', 'transform_null_equals = on',
  'row_security = off', "xmloption = 'document'", 'default_transaction_read_only = on',
  "default_transaction_isolation = 'serializable'", 'enable_tidscan = off',
  "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'";
is(value($node, 'everything', "SELECT '2026-03-05'::date || ' ' || '-1 day -2 hours'::interval"),
	'05/03/2026 -1 2:00:00', 'dates and intervals look different');

sub archive_right_ok
{
	my ($what, @options) = @_;
	my $dir = dump_ok($node, 'everything', $what, 'pg_pardump', '-j2',
		'--chunk-size=16kB', @options);
	my $copy = empty_copy($node, 'everything', 'archive_' . ++$copies);
	restore_ok($node, $dir, $copy, $what, '-j2');
	same_data_ok($want, fingerprint($node, $copy), "$what, archive");
	return;
}

sub copy_right_ok
{
	my ($what, @options) = @_;
	my $copy = empty_copy($node, 'everything', 'copy_' . ++$copies);
	sql($node, 'postgres', "ALTER DATABASE $copy SET array_nulls = off");
	my ($rc, $out, $err) = run_program('pg_pardump', '-j2', '--chunk-size=16kB', '-d',
		$node->connstr('everything'), '--target', $node->connstr($copy), '--compare', '--trust-owners', @options);
	ok($rc == 0 && $err eq '', "$what, copy @options: equal") or diag($err);
	same_data_ok($want, fingerprint($node, $copy), "$what, copy @options");
	return;
}

# a setting that costs only time is seen by a condition
sql($node, 'postgres', q{CREATE DATABASE slow});
sql($node, 'slow', q{
	CREATE TABLE t AS SELECT 'a row' AS t;
	ALTER DATABASE slow SET jit = on;
	ALTER DATABASE slow SET enable_tidscan = off});
foreach my $setting ("jit') = 'off", "enable_tidscan') = 'on")
{
	my $dir = dump_ok($node, 'slow', $setting, 'pg_pardump', "--where=t:current_setting('$setting'");
	like((run_program('pg_restore', '-f', '-', $dir))[1], qr/^a row$/m, "setting of the dumping session: $setting");
}

# the target's first session, too, has as much time as it needs, before it asks for much
{
	my $copy = empty_copy($node, 'everything', 'no_time');
	sql($node, 'postgres', "ALTER DATABASE $copy SET log_statement = 'all'");
	my $offset = -s $node->logfile;
	is((run_program('pg_pardump', '-d', $node->connstr('everything'), '--target', $node->connstr($copy), '--check'))[0], 0,
		'a copy is checked');
	my $log = slurp_file($node->logfile, $offset);
	my ($pid) = $log =~ /\[(\d+)\] .*pg_available_extensions/;
	my ($asked) = $log =~ /\[$pid\] .*(?:statement|execute <unnamed>): (.*)/g;
	like($asked, qr/^BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT pg_catalog\.set_config\('statement_timeout', '0', true\); /, 'the first statement on the target');
}

archive_right_ok('by SQL', '--no-extension');
copy_right_ok('by SQL', '--copy-format=text');
copy_right_ok('by SQL');
{
	local $ENV{PGDATESTYLE} = 'German';
	local $ENV{PGTZ} = 'America/St_Johns';
	local $ENV{PGOPTIONS} = '-c IntervalStyle=iso_8601 -c extra_float_digits=0';
	archive_right_ok('environment', '--no-extension');
}
{
	local $ENV{PGOPTIONS} = '-c default_transaction_read_only=off';
	sql($node, 'everything', 'CREATE EXTENSION pg_pardump');
}
sql($node, $stock, 'CREATE EXTENSION pg_pardump');
archive_right_ok('by the extension');
copy_right_ok('by the extension', '--copy-format=text');
copy_right_ok('by the extension');

$node->stop;
done_testing();
