# Archives in an S3 server that verifies signatures, written and read with rclone: the
# server refuses requests, connections are cut in mid-file, and the store is full.  The
# data is equal, or the run fails, and no archive looks complete that is not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP qw(decode_json);
use Pardump::Background qw(end_dump wait_in_run wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program sql value);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Copy qw(temp_dir start_load no_temp_files_ok);
use Pardump::Manifest qw($manifest_name);
use Pardump::Store qw(store_problem start_s3_store set_fault clear_faults times_struck requests forget_requests
  stored_names store_command in_store client_config $client);
use PostgreSQL::Test::Utils;
use Test::More;

if (my $problem = store_problem('s3'))
{
	plan skip_all => $problem;
}

my $store = start_s3_store();
my $node = start_cluster('store_s3');
make_database($node, 'shop', options => 'TEMPLATE template0');
# "big" is one file, which is sent in two parts
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, md5(g::text) || md5((-g)::text) AS t FROM generate_series(1, 90000) g;
ALTER TABLE big ADD PRIMARY KEY (id);
CREATE TABLE small AS SELECT g AS id, 'aaa' AS t FROM generate_series(1, 1000) g;
SELECT lo_from_bytea(4711, 'a large object');
SQL
my $data = fingerprint($node, 'shop');
my ($rc, $err);
my $copies = 0;

sub put { return '--pipe=' . store_command('put', "backups/$_[0]/%f"); }
sub get { return '--pipe=' . store_command('get', "backups/$_[0]/%f"); }

# A run has succeeded, and says nothing.  s3cmd warns when it repeats a request.
sub silent_ok
{
	my ($what, @result) = @_;
	is("$result[0]" . ($client eq 'rclone' ? $result[2] : ''), '0', $what) or diag($result[2]);
	return;
}

sub dump_to
{
	my ($place, @options) = @_;
	return run_program('pg_pardump', '-d', $node->connstr('shop'), '-j2', '-Z0', '--no-chunks', put($place), @options);
}

sub dumped_ok
{
	my ($place, $what, @options) = @_;
	silent_ok("$what: dumped", dump_to($place, @options));
	return;
}

sub verify_piped { return run_program('pg_pardump', '--verify', '-j2', get($_[0]), @_[ 1 .. $#_ ]); }

sub verified_ok
{
	my ($place, $what) = @_;
	silent_ok("$what: verified", verify_piped($place));
	return;
}

sub new_copy
{
	my $db = 'copy' . ++$copies;
	make_database($node, $db, options => 'TEMPLATE template0');
	return $db;
}

sub restore_into
{
	my ($db, $place, @options) = @_;
	local $ENV{TMPDIR} = temp_dir();
	return run_program('pg_parrestore', '-d', $node->connstr($db), '-j2', get($place), @options);
}

sub restored_ok
{
	my ($db, $place, $what, @options) = @_;
	silent_ok("$what: restored", restore_into($db, $place, @options));
	same_data_ok($data, fingerprint($node, $db), $what);
	no_temp_files_ok($what);
	return;
}

# A dump has failed with this message.  What it left cannot be taken for an archive.
sub incomplete_ok
{
	my ($what, $place, $message, @result) = @_;
	is($result[0], 1, "$what: exit code");
	like($result[2], $message, "$what: message");
	my @names = stored_names("backups/$place");
	is_deeply([ grep { /^toc\.dat/ } @names ], [], "$what: no toc.dat");
	($rc, undef, $err) = run_program('pg_parrestore', '-l', get($place), '--retries=0');
	is($rc, 1, "$what: pg_parrestore refuses it");
	like($err, qr/file "toc\.dat"/, "$what: pg_parrestore names toc.dat");
	return @names;
}

# The manifest of an archive in the store, and in it the name of the file of a table that is
# one file.
sub stored_manifest { return decode_json((in_store('get', "backups/$_[0]/$manifest_name"))[1]); }

sub file_of
{
	my ($place, $table) = @_;
	my ($file) = grep { $_->{Kind} eq 'rows' && $_->{Table} eq $table } @{ stored_manifest($place)->{Files} };
	return $file->{Path};
}

# The requests for an object in their order: methods, and what requests for large objects do.
sub method_of
{
	my ($request) = @_;
	my ($method, $query) = $request =~ /^(\S+) [^?]*\??(.*)/;
	my ($does) = grep { $query =~ /\b$_\b/ } qw(uploads partNumber uploadId);
	return $method eq 'GET' && $query =~ /\bprefix=/ ? 'LIST' : defined $does ? "$method.$does" : $method;
}

sub methods
{
	my ($name) = @_;
	return join ' ', map { method_of($_) } grep { /^\S+ \S*\b\Q$name\E(?![\w.])/ } requests($store);
}

# rclone has sent these requests since the last call, as the how-to says.
sub requests_ok
{
	my ($what, %want) = @_;
	if ($client eq 'rclone')
	{
		is(methods($_), $want{$_}, "requests, $what: $_") foreach sort keys %want;
	}
	forget_requests($store);
	return;
}

# ---- signatures are verified

foreach my $try ([ 'another secret', secret_access_key => 'x' x 32 ], [ 'another key', access_key_id => 'backups:other' ])
{
	my ($what, @change) = @$try;
	local @ENV{qw(RCLONE_CONFIG S3CMD_CONFIG)} = (client_config(%{ $store->{settings} }, @change)) x 2;
	($rc, undef, $err) = in_store('list', 'backups');
	isnt($rc, 0, "$what: nothing is listed");
	like($err, qr/SignatureDoesNotMatch|InvalidAccessKeyId|Forbidden|AccessDenied|403/, "$what: the server refuses the signature");
	($rc, undef, $err) = dump_to('refused');
	is($rc, 1, "$what, dump: exit code");
	like($err, qr/^pg_pardump: error: command for file "[^"]*" failed: /m, "$what, dump: message");
}
is_deeply([ stored_names('backups') ], [], 'refused: nothing is stored');

# ---- a dump, and what comes back

forget_requests($store);
dumped_ok('first', 'first');
my @names = stored_names('backups/first');
my ($big, $small) = map { file_of('first', $_) } qw(big small);
is_deeply([ grep { /toc\.dat|\Q$manifest_name\E/ } @names ], [ $manifest_name, 'toc.dat' ], 'first: toc.dat and the manifest are stored');
requests_ok('dump', $small => 'PUT HEAD', $big => 'POST.uploads PUT.partNumber PUT.partNumber POST.uploadId HEAD');
verified_ok('first', 'first');
requests_ok('verify', $small => 'HEAD HEAD GET', $big => 'HEAD HEAD GET');
restored_ok(new_copy(), 'first', 'first');
requests_ok('restore', $small => 'HEAD HEAD GET', $big => 'HEAD HEAD GET');

# ---- the store is slow, and refuses some requests

set_fault($store, 'latency', match => qr/./, do => 'wait');
# s3cmd waits three seconds before it repeats a request
my $times = $client eq 'rclone' ? 3 : 1;
set_fault($store, 'throttled', match => qr/^(?:PUT|POST) /, do => 'slow_down', times => $times);
dumped_ok('throttled', 'throttled');
is(times_struck($store, 'throttled'), $times, 'throttled, dump: refused requests');
set_fault($store, 'throttled_get', match => qr/^(?:GET|HEAD) /, do => 'slow_down', times => $times);
restored_ok(new_copy(), 'throttled', 'throttled');
is(times_struck($store, 'throttled_get'), $times, 'throttled, restore: refused requests');
clear_faults($store);

# ---- uploads that are cut, once

set_fault($store, 'cut_file', match => qr/^PUT \S*\Q$small\E/, do => 'cut_request', bytes => 1000, times => 1);
set_fault($store, 'cut_part', match => qr/^PUT \S*\Q$big\E\?/, do => 'cut_request', bytes => 500_000, times => 1);
dumped_ok('cut_once', 'cut once');
is(times_struck($store, $_), 1, "cut once: $_") foreach qw(cut_file cut_part);
clear_faults($store);
verified_ok('cut_once', 'cut once');

# ---- dumps that the store does not take

{
	# rclone repeats each request up to ten times otherwise
	local $ENV{RCLONE_LOW_LEVEL_RETRIES} = 1;
	foreach my $try (
		[ 'throttled', $small, 'slow_down' ],
		[ 'cut', $small, 'cut_request', 1000 ],
		[ 'cut', $big, 'cut_request', 500_000 ],
		[ 'full', $big, 'full' ],
		[ 'full', $manifest_name, 'quota' ],
		[ 'full', 'toc.dat', 'full' ],
		[ 'full', 'toc.dat', 'cut_request', 100 ])
	{
		my ($kind, $name, $do, $bytes) = @$try;
		my $what = "$kind, $do of $name";
		my $place = $what =~ s/\W+/_/gr;
		set_fault($store, 'fault', match => qr/^(?:PUT|POST) \S*\Q$name\E(?![\w.])/, do => $do, defined $bytes ? (bytes => $bytes) : ());
		my @result = dump_to($place);
		my @stored = incomplete_ok($what, $place, qr/^pg_pardump: error: command for file "\Q$name\E" failed: child process exited with exit code \d+\n/m, @result);
		cmp_ok(times_struck($store, 'fault'), '>', 0, "$what: it has occurred");
		is_deeply([ grep { $_ eq $name } @stored ], [], "$what: no part of the file is stored as a file");
		clear_faults($store);
	}
}

# ---- a dump that is killed while it sends

foreach my $signal (qw(TERM KILL))
{
	my $what = "SIG$signal";
	set_fault($store, 'held', match => qr/^PUT \S*\Q$big\E\?/, do => 'hold', bytes => 500_000);
	my $run = start_load('pg_pardump', '-d', $node->connstr('shop'), '-j2', '-Z0', '--no-chunks', put($what));
	wait_in_run($run, 'a part is held', sub { times_struck($store, 'held') > 0 });
	kill $signal => $run->{pid};
	is(end_dump($run), $signal eq 'TERM' ? 1 : 128 + 9, "$what: exit code");
	my $command = store_command('put', "backups/$what/");
	wait_until('no command is left', sub { (run_program('pgrep', '-fc', quotemeta $command))[1] == 0 });
	clear_faults($store);
	is_deeply([ grep { /^(?:toc\.dat|\Q$big\E)$/ } stored_names("backups/$what") ], [], "$what: neither the file nor toc.dat is stored");
	like((in_store('backend', 'list-multipart-uploads', 'store:backups'))[1], qr/"\Q$what\E\/\Q$big\E"/, "$what: the incomplete upload is listed") if $client eq 'rclone';
}

# ---- downloads that are cut, once and always

my %cut = (match => qr/^GET \S*\Q$big\E(?![\w.])/, do => 'cut_answer', bytes => 2_000_000);
set_fault($store, 'cut_once', %cut, times => 1);
($rc, undef, $err) = verify_piped('first', '--retries=1');
is($rc, 0, 'download cut once, verified: exit code');
like($err, qr/^pg_pardump: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_pardump: detail: Command for file "\Q$big\E" failed: /m, 'download cut once, verified: message');
clear_faults($store);
set_fault($store, 'cut_once', %cut, times => 1);
{
	my $db = new_copy();
	($rc, undef, $err) = restore_into($db, 'first', '--retries=1');
	is($rc, 0, 'download cut once: exit code');
	like($err, qr/^pg_parrestore: warning: the command for a file failed; retry 1 of 1 in 0\.5 s\npg_parrestore: detail: [^\n]*ommand for file "\Q$big\E" /m, 'download cut once: message');
	same_data_ok($data, fingerprint($node, $db), 'download cut once');
}
is(times_struck($store, 'cut_once'), 1, 'download cut once: it has occurred');
clear_faults($store);
foreach my $try ([ 'cut', %cut ], [ 'throttled', %cut, do => 'slow_down' ])
{
	my ($what, %fault) = @$try;
	my $db = new_copy();
	set_fault($store, 'always', %fault);
	{
		local $ENV{RCLONE_LOW_LEVEL_RETRIES} = 1;
		($rc, undef, $err) = restore_into($db, 'first', '--retries=1');
	}
	is($rc, 1, "download $what: exit code");
	like($err, qr/^pg_parrestore: error: could not read data of entry [^\n]*\npg_parrestore: detail: Command for file "\Q$big\E" /m, "download $what: message");
	is(value($node, $db, 'SELECT count(*) FROM big'), 0, "download $what: no row is committed");
	is(value($node, $db, 'SELECT count(*) FROM small'), 1000, "download $what: the other table is complete");
	clear_faults($store);
	forget_requests($store);
	restored_ok($db, 'first', "download $what, resumed", '--resume');
	is(methods($small), '', "download $what, resumed: other files are not read again");
}

# ---- a file that is missing: of S3, "rclone cat" returns it as an empty one

{
	my $place = 'cut_once';
	is((in_store('remove', "backups/$place/$small"))[0], 0, 'missing: a file is removed');
	is((in_store('get', "backups/$place/$small"))[0], 0, 'missing: the exit code of rclone') if $client eq 'rclone';
	($rc, undef, $err) = verify_piped($place, '--retries=0');
	is($rc, $err =~ /returned 0 bytes/ ? 1 : 75, 'missing, verified: exit code');
	like($err, qr/^pg_pardump: error: could not verify the rows of table [^\n]*\npg_pardump: detail: Command for file "\Q$small\E" (?:returned 0 bytes instead of \d+\.\n|failed: )/m, 'missing, verified: message');
	my $db = new_copy();
	($rc, undef, $err) = restore_into($db, $place, '--retries=0');
	is($rc, 1, 'missing, restored: exit code');
	like($err, qr/^pg_parrestore: error: could not read data of entry [^\n]*\npg_parrestore: detail: Command for file "\Q$small\E" (?:returned 0 bytes instead of \d+\.\n|failed: )/m, 'missing, restored: message');
	is(value($node, $db, 'SELECT count(*) FROM small'), 0, 'missing, restored: no row');
	is((in_store('copy', "backups/first/$small", "backups/$place/$small"))[0], 0, 'missing: the file is back');
	restored_ok($db, $place, 'missing, resumed', '--resume');
}

# ---- incremental dumps, whose unchanged files the server copies

{
	my @options = ('-d', $node->connstr('shop'), '-j2', '-Z0', '--chunk-size=2MB');
	my $how = sub { return join '', map { substr $_->{Reused} // '.', 0, 1 } sort { $a->{'Start-Block'} <=> $b->{'Start-Block'} } grep { $_->{Kind} eq 'rows' && $_->{Table} eq 'big' } @{ stored_manifest($_[0])->{Files} }; };
	my $incremental = sub {
		my ($place) = @_;
		return run_program('pg_pardump', @options, '--incremental-pipe=' . store_command('get', 'backups/mon/%f'),
			'--pipe-copy=' . store_command('copy', 'backups/mon/%o', "backups/$place/%f"), put($place), @_[ 1 .. $#_ ]);
	};
	sql($node, 'shop', 'VACUUM big');
	silent_ok('incremental, the first: dumped', run_program('pg_pardump', @options, '--manifest-fingerprints', put('mon')));
	sql($node, 'shop', 'UPDATE big SET t = id::text WHERE id = 10');
	$data = fingerprint($node, 'shop');
	forget_requests($store);
	silent_ok('incremental: dumped', $incremental->('tue'));
	like($how->('tue'), qr/^\.p+\.?$/, 'incremental: what is reused');
	is(scalar(grep { /^COPY / } requests($store)), scalar(() = $how->('tue') =~ /p/g), 'incremental: the server copies files');
	verified_ok('tue', 'incremental');
	restored_ok(new_copy(), 'tue', 'incremental');

	# a copy that fails
	set_fault($store, 'copy', match => qr/^COPY /, do => 'quota');
	local $ENV{RCLONE_LOW_LEVEL_RETRIES} = 1;
	local $ENV{RCLONE_RETRIES} = 1;
	incomplete_ok('incremental, full', 'wed', qr/^pg_pardump: error: could not copy file "[^"]*" of the previous archive\npg_pardump: detail: Command for file "[^"]*" failed: /m, $incremental->('wed', '--retries=0'));
	clear_faults($store);
}

$node->stop;
done_testing();
