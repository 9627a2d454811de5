# Every way to say which server and who, and where passwords are not seen.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql);
use Pardump::Command qw(fake_pg_dump text_file refused_ok accepted_ok);
use Pardump::Toc qw(read_toc);
use PostgreSQL::Test::Utils;
use Test::More;

# Of this run alone: command lines of all processes are looked at, and others
# may be running this very test.
my $password = 'opensesame' . int rand 1e9;
my $pass_phrase = "pass $password";

my $node = start_cluster('connections');
make_database($node, 'options');
sql($node, 'options', 'CREATE TABLE t AS SELECT generate_series(1, 1000)');
sql($node, 'postgres', <<"SQL");
CREATE ROLE "pass word" SUPERUSER LOGIN PASSWORD 'se''cret \\ %word';
CREATE ROLE simple SUPERUSER LOGIN PASSWORD '$password';
SQL
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf';
append_to_file($node->data_dir . '/pg_hba.conf', <<"HBA" . $hba);
local all "pass word" scram-sha-256
local all simple scram-sha-256
HBA
$node->reload;
my $host_uri = $node->host =~ s/([^a-zA-Z0-9])/sprintf '%%%02X', ord $1/ger;
my @server = ('-h', $node->host, '-p', $node->port);

# Waits for the new pg_hba.conf by its first effect.
ok( $node->poll_query_until('postgres', <<'SQL'), 'pg_hba.conf is read');
SELECT count(*) = 2 FROM pg_hba_file_rules WHERE auth_method = 'scram-sha-256'
SQL
refused_ok(qr/no password supplied/, '-w without a password',
	'-w', '-U', 'simple', @server, 'options');
{
	local $ENV{PGPASSWORD} = 'wrong';
	refused_ok(qr/password authentication failed for user "simple"/,
		'a wrong password', '-w', '-U', 'simple', @server, 'options');
	$ENV{PGPASSWORD} = $password;
	accepted_ok('PGPASSWORD', '-j2', '-U', 'simple', @server, 'options');
}
{
	local @ENV{qw(PGPASSWORD PGDATABASE PGHOST PGPORT PGUSER)} =
	  ('se\'cret \ %word', 'options', $node->host, $node->port, 'pass word');
	my $dir = accepted_ok('all by the environment', '-j2');
	is(read_toc($dir)->{dbname}, 'options', 'the database of PGDATABASE');
}
{
	my $passfile = text_file('pgpass', "*:*:*:pass word:se'cret \\\\ %word\n*:*:*:simple:$password\n");
	chmod 0600, $passfile or die "could not change mode of \"$passfile\": $!";
	local $ENV{PGPASSFILE} = $passfile;
	accepted_ok('PGPASSFILE', '-w', '-j2', '-U', 'pass word', @server, 'options');
	delete $ENV{PGPASSFILE};
	accepted_ok('passfile in a connection string', '-j2', '-d',
		sprintf("host='%s' port=%d user=simple dbname=options passfile='%s'",
			$node->host, $node->port, $passfile));
}
accepted_ok('a URI with a password', '-j2',
	"postgresql://pass%20word:se%27cret%20%5C%20%25word\@$host_uri:" . $node->port . '/options');
accepted_ok('a URI with parameters', '-j2', '-d',
	"postgres:///options?host=$host_uri&port=" . $node->port
	  . "&user=simple&password=$password&application_name=it%27s");


# What the user set to nothing is not to be taken from the environment by some
# of the sessions: all of them would fail with these options.
{
	local $ENV{PGOPTIONS} = '-c no_such_setting=1';
	refused_ok(qr/no_such_setting/, 'PGOPTIONS', '-j2', @server, 'options');
	accepted_ok('options of a connection string, set to nothing', '-j2', '-d',
		$node->connstr('options') . " options=''");
}

# Who looks at the process list sees the password in the command line the user
# typed, but must not see it in pg_dump's; with PGPASSWORD, nowhere.  The pg_dump
# of this test looks itself, when the workers' leader waits for it.
my $seen = new_path('seen');
my $looking = fake_pg_dump('looking_pg_dump', <<"SH");
tr '\\0' ' ' </proc/\$\$/cmdline >'$seen.own'
cat /proc/[0-9]*/cmdline 2>'$seen.err' | tr '\\0' ' ' >'$seen.all'
exec "\$PG_DUMP" "\$@"
SH
{
	my $dir = new_path('secret');
	my (undef, undef, $err) = run_program('pg_pardump', '-v', '-j2', '-f', $dir,
		'--pg-dump', $looking,
		"postgresql://simple:$password\@$host_uri:" . $node->port . '/options');
	ok(-f "$dir/toc.dat", 'a dump with a password in a URI');
	like(slurp_file("$seen.own"), qr/looking_pg_dump.*dbname=/, 'pg_dump\'s command line was recorded');
	unlike(slurp_file("$seen.own"), qr/$password/, 'pg_dump\'s command line does not contain the password');
	like(slurp_file("$seen.own"), qr/keepalives_idle=30 .*tcp_user_timeout=90000/, 'pg_dump notices a lost server');
	unlike($err, qr/$password/, 'the output of -v does not contain the password');

	local $ENV{PGPASSWORD} = $password;
	accepted_ok('a dump with PGPASSWORD', '--pg-dump', $looking,
		'-j2', '-U', 'simple', @server, 'options');
	like(slurp_file("$seen.all"), qr/pg_pardump.*-U simple/, 'all command lines were recorded');
	unlike(slurp_file("$seen.all"), qr/$password/, 'no command line contains the password');
}

# The same for the pass phrase of a client's key, for which there is no
# environment variable.  Without a terminal it cannot be asked for.
my $ssl = new_path('ssl');
mkdir $ssl, 0700 or die "could not create \"$ssl\": $!";
foreach my $side ([ 'server', '-nodes' ], [ 'simple', '-passout', "pass:$pass_phrase" ])
{
	my ($name, @key) = @$side;
	command_ok([ 'openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
			'ec_paramgen_curve:prime256v1', '-days', 2, '-subj', "/CN=$name",
			'-keyout', "$ssl/$name.key", '-out', "$ssl/$name.crt", @key ],
		"openssl makes the key of $name");
	chmod 0600, "$ssl/$name.key" or die "could not change mode: $!";
}
like(slurp_file("$ssl/simple.key"), qr/ENCRYPTED/, 'the client\'s key is encrypted');
append_to_file($node->data_dir . '/pg_hba.conf', <<'HBA');
hostssl all simple 127.0.0.1/32 cert
HBA
$node->append_conf('postgresql.conf', <<"CONF");
listen_addresses = '127.0.0.1'
ssl = on
ssl_cert_file = '$ssl/server.crt'
ssl_key_file = '$ssl/server.key'
ssl_ca_file = '$ssl/simple.crt'
CONF
$node->restart;

# Dumps, and returns the command line of pg_dump and all that was seen.
sub dump_by_key_ok
{
	my ($what, $connstr) = @_;
	unlink "$seen.own", "$seen.all";
	my $dir = new_path('key');
	my ($rc, undef, $err) = run_program('setsid', '--wait', 'pg_pardump', '-v',
		'-j2', '--max-table-segment-pages=1', '-f', $dir, '--pg-dump', $looking,
		'-d', $connstr);
	ok($rc == 0 && -f "$dir/toc.dat", "$what: an archive") or diag($err);
	unlike($err, qr/$pass_phrase/, "$what: nothing of it in the output of -v");
	return map { -f "$seen.$_" ? slurp_file("$seen.$_") : '' } qw(own all);
}
my %by_key = (
	host => '127.0.0.1',
	port => $node->port,
	dbname => 'options',
	user => 'simple',
	sslmode => 'require',
	sslcert => "$ssl/simple.crt",
	sslkey => "$ssl/simple.key");
refused_ok(qr/private key file/, 'an encrypted key and a wrong pass phrase', '-d',
	join(' ', map { "$_='$by_key{$_}'" } sort keys %by_key) . " sslpassword='x'");
$by_key{sslpassword} = $pass_phrase;
{
	my $what = 'sslpassword in a connection string';
	my ($own) = dump_by_key_ok($what,
		join ' ', map { "$_='$by_key{$_}'" } sort keys %by_key);
	like($own, qr/looking_pg_dump.*sslkey=/, "$what: pg_dump's command line was recorded");
	unlike($own, qr/$pass_phrase/, "$what: pg_dump's command line does not contain the pass phrase");
}
{
	my $what = 'sslpassword of a service';
	local $ENV{PGSERVICEFILE} = text_file('service',
		join '', "[by_key]\n", map { "$_=$by_key{$_}\n" } sort keys %by_key);
	my (undef, $all) = dump_by_key_ok($what, 'service=by_key');
	like($all, qr/pg_pardump.*service=by_key/, "$what: all command lines were recorded");
	unlike($all, qr/$pass_phrase/, "$what: no command line contains the pass phrase");

	local $ENV{PGSERVICE} = 'by_key';
	dump_by_key_ok("$what of the environment", 'dbname=options');
}

# -W asks on the terminal, once, though three sessions are opened and pg_dump
# opens one.
{
	my $dir = new_path('prompt');
	my ($in, $out) = ('', '');
	my $h = IPC::Run::start(
		[ 'pg_pardump', '-W', '-j2', '-f', $dir, '-U', 'simple', @server, 'options' ],
		'<pty<', \$in, '>pty>', \$out,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$h->pump until $out =~ /Password for user simple .*: /;
	$in .= "$password\n";
	$h->finish;
	is($?, 0, '-W: exit code');
	is(scalar(() = $out =~ /Password/g), 1, '-W: one prompt');
	unlike($out, qr/$password/, '-W: no echo');
	ok(-f "$dir/toc.dat", '-W: an archive');
}

$node->stop;
done_testing();
