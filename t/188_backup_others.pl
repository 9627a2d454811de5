# What other servers, other users and owners of databases do to pg_pardump_backup: no
# backup of another server is removed, and nobody keeps the others from being made.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json encode_json);
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup failing_programs next_fault
  complete_backups time_name);
use Pardump::Prometheus qw(read_samples);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $night = 0;
my $second_socket = PostgreSQL::Test::Utils::tempdir_short();

sub start_server
{
	my ($name) = @_;
	my $node = start_cluster($name, leave_stopped => 1);
	$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\n"
		  . "unix_socket_directories = '" . $node->host . ($name eq 'one' ? ", $second_socket" : '') . "'\n");
	$node->start;
	make_database($node, 'shop');
	return $node;
}

my $one = start_server('one');
my $two = start_server('two');

# A configuration with the file name of another one, for another server or address, and
# the same directory.
sub moved
{
	my ($file, %values) = @_;
	my $place = new_path('moved');
	my $text = slurp_file($file);
	$text =~ s/^$_ = .*$/$_ = $values{$_}/m foreach keys %values;
	mkdir $place or die "could not make directory \"$place\": $!";
	my $path = $place . '/' . $file =~ s/.*\///r;
	append_to_file($path, $text);
	chmod 0600, $path;
	return $path;
}

# The next night.  Returns exit code and messages, and checks which nights have
# backups then.
sub night_ok
{
	my ($what, $file, $dir, $rc, $message, @kept) = @_;
	my ($status, $out, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
	is("$status$out", $rc, "$what: exit code") or diag($err);
	like($err, $message, "$what: messages");
	is_deeply([ complete_backups($dir, 'shop') ], [ map { time_name(1_800_000_000 + DAY * $_) } @kept ], "$what: backups");
	return;
}

my $silent = qr/\A\z/;

# ---- an owner who locks a table, or what else pg_dump reads, for ever

my $bin = failing_programs();
my ($file, $dir) = backup_config($one, 'database = attic', 'database = shop', 'lock_wait_timeout = 1s', "bindir = $bin");
make_database($one, 'attic');
sql($one, 'attic', 'CREATE TABLE t (id serial); CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT * FROM v');
my $waited = qr/waited for locks longer than lock_wait_timeout \(1s\), now for process \d+ of the server/;
foreach my $try ([ 'LOCK TABLE t', qr/$waited|failed with exit code 1/ ], [ 'ALTER SEQUENCE t_id_seq OWNER TO CURRENT_USER', $waited ],
	[ 'DROP VIEW w', $waited ])
{
	my ($command, $reason) = @$try;
	sql($one, 'attic', "BEGIN; $command; PREPARE TRANSACTION 'owner'");
	my ($rc, undef, $err) = run_backup(1_800_000_000 + DAY * ++$night, $file);
	is($rc, 1, "$command: exit code");
	like($err, qr/error: no backup of database "attic": pg_pardump (?:$reason)\n\z/, "$command: message");
	is_deeply([ complete_backups($dir, 'attic') ], [], "$command: no backup of this database");
	is((complete_backups($dir, 'shop'))[-1], time_name(1_800_000_000 + DAY * $night), "$command: a backup of the other one");
	sql($one, 'attic', "ROLLBACK PREPARED 'owner'");
}
# ---- who owns the directory of metrics puts a link in the place of the file

{
	my $metrics = new_path('metrics');
	my $secret = new_path('secret');
	my $modules = new_path('modules');
	mkdir $_ or die "could not make \"$_\": $!" foreach $metrics, $modules;
	append_to_file($secret, 'secret');
	chmod 0600, $secret;

	# between the moment when the file is made and whatever is done by its name
	append_to_file("$modules/Swap.pm", <<'PERL');
package Swap;
use IO::Handle;
my $sync = \&IO::Handle::sync;
no warnings 'redefine';
*IO::Handle::sync = sub {
	my $path = readlink '/proc/self/fd/' . fileno $_[0];
	rename $path, "$path.old" and symlink $ENV{SECRET}, $path or die $! if $path =~ /\.prom\.tmp$/;
	return $sync->(@_);
};
1;
PERL
	$night = 0;
	my ($file, $dir) = backup_config($one, 'database = shop', "metrics = $metrics");
	local $ENV{PERL5OPT} = "-I$modules -MSwap";
	local $ENV{SECRET} = $secret;
	night_ok('a link in the place of metrics', $file, $dir, 0, $silent, 1);
	is(sprintf('%o', (stat $secret)[2] & 07777), '600', 'a link in the place of metrics: nobody else may read the secret');
	ok(-e (glob "$metrics/.*.old")[0], 'a link in the place of metrics: it was there');
}

$one->stop;
$two->stop;
done_testing();
