# A server that lies, as a relay changes what it answers: where rows are missing, or
# the number of a thing is that of none, there is an error, and nothing is looked for
# beyond what is there; a COPY that was not asked for is not waited for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('lying');
make_database($node, 'lying');
sql($node, 'lying', 'CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g;'
	  . ' CREATE TABLE refs (id int REFERENCES t); INSERT INTO refs SELECT id FROM t');

# $change does that to bytes of the server's, in place; the program is to end in order.
sub lied_ok
{
	my ($what, $change, @command) = @_;
	my $changed = new_path('changed');
	my $relay = start_relay($node, sub {
		my ($bytes, $is_server) = @_;

		append_to_file($changed, 'x') if $is_server && $change->($bytes);
		return 1;
	});
	my ($rc, undef, $err) = run_program(@command, '-d',
		"host=$relay->{host} port=$relay->{port} dbname=lying sslmode=disable gssencmode=disable");
	stop_proxy($relay);
	ok(-e $changed, "$what: the server has lied");
	is($rc, 1, "$what: exit code");
	like($err, qr/error: (?:query failed: unexpected answer from the server: |unexpected answer from the server\n.*detail: )/, "$what: an error");
	return;
}

lied_ok('a row is missing', sub { ${ $_[0] } =~ s/(T.{4}\0\x01pg_is_in_recovery\0.{18})D.{4}\0\x01\0{3}\x01[tf]/$1/s },
	'pg_pardump', '-f', new_path('dump'), '--no-sync');
lied_ok('the columns of a row are missing', sub { ${ $_[0] } =~ s/T.{4}\0\x01pg_is_in_recovery\0.{18}D.{4}\0\x01\0{3}\x01[tf]/T\0\0\0\x06\0\0D\0\0\0\x06\0\0/s },
	'pg_pardump', '-f', new_path('dump'), '--no-sync');
lied_ok('a masked column', sub { ${ $_[0] } =~ s/(D.{4}\0\x03\0{3}\x01)1(\0{3}\x010\xff{4})/${1}9$2/s },
	'pg_pardump', '-f', new_path('dump'), '--no-sync', "--mask=public.t.v:'x'");
lied_ok('a table that is compared', sub { ${ $_[0] } =~ s/(D.{4}\0\x02\0{3}\x01)\d(\0{3}\x02id)/${1}9$2/s },
	'pg_pardump', '--compare-with=' . $node->connstr('lying'));
foreach my $copy ([ 'COPY FROM', 'G' ], [ 'COPY of both', 'W' ])
{
	my ($what, $type) = @$copy;
	lied_ok($what, sub { ${ $_[0] } =~ s/T.{4}\0\x01pg_is_in_recovery\0.{18}D.*/$type\0\0\0\x07\0\0\0/s },
		'pg_pardump', '-f', new_path('dump'), '--no-sync');
}

done_testing();
