# Workers whose connections the server refuses because of a connection limit.
# The limits of a role and of a database also count sessions that are just
# starting.  So if two workers connect at the same moment, a server with room
# for one of them may refuse both.  No test can arrange that moment, so a
# relay refuses the connections here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl;
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

# the relay recognizes sessions by their application_name, for which
# PostgreSQL::Test::Utils sets the same value in all of them
delete $ENV{PGAPPNAME};

my $node = start_cluster('refused');
make_database($node, $_) foreach qw(source restored copied);
sql($node, 'source', join '', map { "CREATE TABLE t$_ AS SELECT g AS id FROM generate_series(1, 20000) g;" } 1 .. 4);
my $original = fingerprint($node, 'source');

my $message = 'too many connections for role "few"';
my $fields = "SFATAL\0VFATAL\0C53300\0M$message\0\0";

# Starts a relay that counts the sessions of pg_pardump and refuses those with
# the given numbers.  It writes to a log when each session starts and is
# ready.
sub start_limit
{
	my ($log, @refused) = @_;
	my ($number, $is_ready);
	append_to_file($log, '');
	return start_relay($node, sub {
		my ($bytes, $is_server, $client) = @_;
		if (!$is_server && !$number && $$bytes =~ /\0application_name\0pg_pardump\0/)
		{
			1 until sysopen my $place, "$log." . ++$number, O_CREAT | O_EXCL;
			append_to_file($log, "$number starts\n");
			return 1 if !grep { $_ == $number } @refused;
			syswrite $client, 'E' . pack('N', 4 + length $fields) . $fields;
			return 0;
		}
		append_to_file($log, "$number is ready\n") if $is_server && $number && !$is_ready++ && $$bytes =~ /Z\0\0\0\x05I/;
		return 1;
	});
}

# Runs a program without retries, two of whose workers are refused.  They must
# start again, one after the other, without any message.
sub refused_ok
{
	my ($what, $refused, $db, $program, @command) = @_;
	my $log = new_path('log');
	my $relay = start_limit($log, @$refused);
	my ($rc, undef, $err) = run_program($program, '-j2', '--retries=0', @command, "host=$relay->{host} port=$relay->{port} dbname=$db");
	stop_proxy($relay);
	is("$rc$err", '0', "$what: no error, and no warning");
	my $next = $refused->[-1] + 1;
	note(slurp_file($log));
	like(slurp_file($log), qr/^$next starts\n$next is ready\n/m,
		"$what: a refused worker starts again when no other worker is starting");
	return;
}

my $archive = new_path('archive');
my @chunks = ('--max-table-segment-pages=20');
# Refused in the dump: the workers that read, which connect after the leader.
# Refused in the restore and in the copy: the workers that run ANALYZE, which
# connect after all other sessions.
refused_ok('a dump', [ 2, 3 ], 'source', 'pg_pardump', @chunks, '-f', $archive, '-d');
refused_ok('a restore', [ 9, 10 ], 'restored', 'pg_parrestore', $archive, '-d');
same_data_ok($original, fingerprint($node, 'restored'), 'a restore');
refused_ok('a copy', [ 7, 8 ], 'copied', 'pg_pardump', @chunks, '-d', $node->connstr('source'), '--target');
same_data_ok($original, fingerprint($node, 'copied'), 'a copy');

$node->stop;
done_testing();
