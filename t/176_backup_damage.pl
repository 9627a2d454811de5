# Pages whose checksums are wrong: both readers of a base backup report the same ones as
# pg_basebackup, in its words, and keep the backup.  And bytes that are damaged
# on their way: what the extension says of them is not what has come.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl qw(SEEK_SET);
use Pardump::Background qw(end_dump);
use Pardump::BaseBackup qw(held_run start_run take_backup verify_backup_ok manifest_files enable_checksums);
use Pardump::Cluster qw(start_cluster run_program new_path sql value);
use Pardump::Command qw(preloaded);
use Pardump::Moment qw(moment_go_on stop_moments);
use Pardump::Proxy qw(start_relay stop_proxy);
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLOCK => 8192;

my $node = start_cluster('main', allows_streaming => 1);
enable_checksums($node);
my $pgdata = $node->data_dir;
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
# of all files the largest one, which is read first
sql($node, 'postgres', 'CREATE TABLE heap AS SELECT g, repeat(\'x\', 1000) AS t FROM generate_series(1, 3000) g; CREATE INDEX places ON heap (g)');
sql($node, 'postgres', 'CREATE TABLE much AS SELECT g, repeat(\'x\', 1000) AS t FROM generate_series(1, 400) g');
sql($node, 'postgres', 'VACUUM FREEZE');
sql($node, 'postgres', 'CHECKPOINT');
my ($heap, $index, $much) = map { value($node, 'postgres', "SELECT pg_relation_filepath('$_')") } qw(heap places much);

# How many pages are in a file, but for the last one: the server is built so.
my $in_segment = value($node, 'postgres', 'SELECT blocks_per_segment FROM pg_control_init()');

# Puts bytes into a page, behind its header.
sub damage
{
	my ($path, $block, $bytes) = @_;
	open my $file, '+<:raw', "$pgdata/$path" or die "could not open \"$path\": $!";
	seek $file, $block * BLOCK + 5000, SEEK_SET;
	print $file $bytes;
	close $file or die "could not write \"$path\": $!";
	return;
}

my $whole = slurp_file("$pgdata/$heap");

# A page that is written while it is read: what is wrong in the first answer is right
# when it is read once more.  The backup has what was read first: in a cluster, the
# page is in the log.
{
	my $bytes = substr $whole, 3 * BLOCK + 5000, 6;
	damage($heap, 3, 'damage');
	my ($moments, $run) = held_run($node, [qr/COPY \(SELECT v\.n.*\(0, '\Q$heap\E'/], 'a torn page',
		{ pattern => 0, n => 1, answer => 1 }, [], '--no-extension');
	damage($heap, 3, $bytes);
	moment_go_on($moments);
	is(end_dump($run) . $run->{err}, '0', 'a page that is right at the second read: exit code and messages');
	is(substr(slurp_file("$run->{dir}/$heap"), 3 * BLOCK + 5000, 6), 'damage', 'a page that is right at the second read: the backup contains the first one');
	stop_moments($moments);
}

# A file that ends within a page when it is read, since the server appends that page: it
# is read once more, and the file has the whole page then.
foreach my $option ('--no-extension', '--compress=none')
{
	my $grown = $heap =~ s/\d+$/99997/r;
	append_to_file("$pgdata/$grown", "\0" x (BLOCK + 100));
	my ($moments, $run) = held_run($node, [qr/SELECT pg_catalog\.pg_read_binary_file\(.*\Q$grown\E/], 'a page that grows',
		{ pattern => 0, n => 1 }, [], $option);
	append_to_file("$pgdata/$grown", "\0" x (BLOCK - 100));
	moment_go_on($moments);
	is(end_dump($run) . $run->{err}, '0', "$option: a page that is whole at the second read is not reported");
	stop_moments($moments);
	unlink "$pgdata/$grown";
}

# A page that is written while the extension reads it: the server reads a piece of the file, and then that page
# once more.  What is right then is in the backup.
{
	local $ENV{TORN_PAGE} = new_path('torn');
	{
		local $ENV{LD_PRELOAD} = preloaded('torn_page');
		$node->restart;
	}
	my @runs = (['-Fp'], [ '-Fp', '-Z', 'server-lz4' ]);
	append_to_file($ENV{TORN_PAGE}, "/$heap " . 3 * BLOCK);
	foreach my $try (@runs)
	{
		my ($rc, $err, $dir) = take_backup($node, 'pg_parbasebackup', '-j2', @$try);
		is("$rc$err", '0', "@$try: a page that is right at the second read: exit code and messages");
		is(slurp_file("$ENV{TORN_PAGE}.log"), "torn\nwhole\n", "@$try: it was read twice, and was torn at first");
		ok(slurp_file("$dir/$heap") eq $whole, "@$try: the backup contains the whole page");
		verify_backup_ok($dir, "@$try: a torn page");
		unlink "$ENV{TORN_PAGE}.log";
	}
	append_to_file($ENV{TORN_PAGE}, ' always');
	foreach my $try (@runs)
	{
		my ($rc, $err) = take_backup($node, 'pg_parbasebackup', '-j2', @$try);
		is($rc, 1, "@$try: a page that is wrong at the second read, too");
		like($err, qr/^pg_parbasebackup: warning: checksum verification failed in file "\Q$heap\E", block 3: /m, "@$try: message");
		is(slurp_file("$ENV{TORN_PAGE}.log"), "torn\ntorn\n", "@$try: once, after two reads");
		unlink "$ENV{TORN_PAGE}.log";
	}
	unlink $ENV{TORN_PAGE};
}
$node->restart;

damage($heap, $_, 'damage') foreach 3, 49;
damage($index, 1, 'damage');
damage("${heap}_vm", 0, 'damage');
damage($much, $_, 'damage') foreach 1 .. 8;
# a page that is none is not wrong
append_to_file("$pgdata/$heap", "\0" x BLOCK);
# A file of a later segment: a page of the first one has a checksum of another block.
my $segment = $heap =~ s/\d+$/99999.3/r;
append_to_file("$pgdata/$segment", substr $whole, 0, 2 * BLOCK);

# and one that ends within a page, which pg_basebackup tells in other words
my $cut = $heap =~ s/\d+$/99998/r;
append_to_file("$pgdata/$cut", substr $whole, 0, BLOCK + 100);

# What a run warns of, sorted; pg_basebackup's paths begin with "./", and before 17 its
# numbers of blocks are those in the file.
sub warnings_of
{
	my ($err) = @_;
	my @lines = $err =~ /^(?:WARNING: |pg_parbasebackup: warning:) (checksum verification .*|further .*)$/mg;
	s/"\.\//"/, s/(\Q$segment\E", block )([01]):/$1 . (3 * $in_segment + $2) . ':'/e foreach @lines;
	return [ sort @lines ];
}

my ($rc, $err) = take_backup($node, 'pg_basebackup');
is($rc, 1, 'pg_basebackup: exit code');
my $want = warnings_of($err);
is(scalar(grep { /^checksum/ } @$want), 4 + 5 + 2, 'pg_basebackup reports them') or diag($err);
my @later = map { 3 * $in_segment + $_ } 0, 1;
is(scalar(grep { /"\Q$segment\E", block (?:$later[0]|$later[1]):/ } @$want), 2, 'messages contain the block numbers in the relation');

foreach my $try ([], ['--no-extension'], [ '-Ft', '-Z', 'server-lz4' ], [ '-Ft', '-Z', 'client-lz4' ])
{
	my ($rc, $err, $dir) = take_backup($node, 'pg_parbasebackup', '-j2', @$try);
	is($rc, 1, "@$try: exit code");
	like($err, qr/\Q$segment\E", block $later[0]:/, "@$try: the block's number in the relation");
	is_deeply(warnings_of($err), $want, "@$try: the same warnings");
	like($err, qr/^pg_parbasebackup: warning: could not verify checksum in file "\Q$cut\E", block 1: the file ends within the page$/m,
		"@$try: a file that ends within a page");
	like($err, qr/^pg_parbasebackup: error: checksum error occurred: 14 pages\n.*detail: The backup is complete, .*\n.*hint: .*pg_filenode_relation/m, "@$try: how many");
	my $files = manifest_files($dir);
	is_deeply([ grep { !$files->{$_} } $heap, $index, $much, "${heap}_vm", $segment ], [], "@$try: the backup is kept");
	verify_backup_ok($dir, "@$try") if !@$try || $try->[0] ne '-Ft';
}

foreach my $options ([], ['--no-extension'])
{
	my ($rc, $err) = take_backup($node, 'pg_parbasebackup', '-j2', '--no-verify-checksums', @$options);
	is("$rc$err", '0', "--no-verify-checksums @$options");
}

# ---- what comes is not what was sent

foreach my $try (
	[ 'bytes of a file', sub { ${ $_[0] } =~ s/x{100}/'y' x 100/e }, '-Fp' ],
	[ 'the beginning of a frame', sub { ${ $_[0] } =~ s/\x04\x22\x4d\x18/\x04\x22\x4d\x19/ }, '-Ft', '-Z', 'server-lz4' ],
	[ 'that a file is there', sub { ${ $_[0] } =~ s/([{,])8192,/$1-001,/ }, '-Ft' ])
{
	my ($what, $change, @options) = @$try;
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		$change->($bytes) if $is_servers;
		return 1;
	});
	my $run = start_run($relay, [], '-j2', '--no-verify-checksums', @options);
	is(end_dump($run), 1, "changed answers, $what: exit code");
	like($run->{err}, qr/^pg_parbasebackup: error: unexpected answer from the server\n.*detail: Names, sizes or contents of files are not in the expected format\.$/m, "changed answers, $what: message");
	ok(!-e "$run->{dir}/backup_manifest", "changed answers, $what: no manifest exists");
	stop_proxy($relay);
}

# ---- connections that lead to two servers, as a pooler's may: all but the leader's, which
# asks for more, tell of another system

{
	my $system = value($node, 'postgres', 'SELECT system_identifier FROM pg_control_system()');
	my $is_leader;
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		$is_leader ||= !$is_servers && $$bytes =~ /catalog_version_no/;
		$$bytes =~ s/\Q$system\E/reverse($system) . ""/e if $is_servers && !$is_leader;
		return 1;
	});
	my $run = start_run($relay, []);
	is(end_dump($run), 1, 'another server: exit code');
	like($run->{err}, qr/^pg_parbasebackup: error: connections lead to different servers, or the server was restarted$/m,
		'another server: a message');
	ok(!-e $run->{dir}, 'another server: no backup is left');
	stop_proxy($relay);
}

# ---- pg_control, which may be read while it is written: it is read again, if not for ever

foreach my $times (1, 1000)
{
	my ($n, $asked) = (0, 0);
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		$asked = $$bytes =~ /pg_read_binary_file\(.*global\/pg_control/s if !$is_servers;
		# a byte of the system identifier, the first of the file
		$$bytes =~ s/(\x00\x01\x00\x00\x20\x00)(.)/$1 . chr(ord($2) ^ 1)/se if $is_servers && $asked && $n++ < $times;
		return 1;
	});
	my $run = start_run($relay, [], '--no-verify-checksums');
	is(end_dump($run), $times == 1 ? 0 : 1, "pg_control is torn, $times: exit code");
	stop_proxy($relay);
	if ($times == 1)
	{
		is($run->{err}, '', "pg_control is torn, $times: no messages");
		my ($rc) = run_program('pg_controldata', $run->{dir});
		is($rc, 0, "pg_control is torn, $times: a whole one is in the backup");
		verify_backup_ok($run->{dir}, "pg_control is torn, $times");
		next;
	}
	like($run->{err}, qr/^pg_parbasebackup: error: file "global\/pg_control" is damaged\n.*detail: Its checksum was wrong in \d+ attempts to read the file\.\n.*hint: .*pg_controldata/m,
		"pg_control is torn, $times: a message");
	ok(!-e $run->{dir}, "pg_control is torn, $times: no backup is left");
}

# ---- a server that lists nonsense, in the row of the first file of that name

foreach my $try (
	[ 'a path that leads elsewhere', 1, '../VERSION', qr/invalid file name from the server: "\.\.\/VERSION"/ ],
	[ 'a path that is absolute', 1, '/G_VERSION', qr/invalid file name from the server: "\/G_VERSION"/ ],
	[ 'a name that is none', 1, "..\0VERSION", qr/invalid file name from the server: "\.\."/ ],
	[ 'a directory that it was not asked for', 0, pack('N', 1), qr/Names, sizes or contents of files are not in the expected format\./ ],
	[ 'one that there is not', 0, pack('N', 0x7fffffff), qr/Names, sizes or contents of files are not in the expected format\./ ],
	[ 'one before the first', 0, pack('N', 0xffffffff), qr/Names, sizes or contents of files are not in the expected format\./ ],
	[ 'a negative size', 2, pack('N2', 0xffffffff, 0xffffffff), qr/The size of file "PG_VERSION", \d+, is out of range\./ ],
	# of a relation: others are measured again when they are read
	[ 'more pieces than there are numbers', 2, pack('N2', 1 << 29, 0), qr/the cluster has too many files for a parallel base backup/, '1255' ])
{
	my ($what, $column, $value, $message, $name) = @$try;
	$name //= 'PG_VERSION';
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		return 1 if !$is_servers;
		my $head = pack 'n', 6;
		my $len = pack 'N', length $name;
		$$bytes =~ s/$head\x00\x00\x00\x04(.{4})\Q$len\E($name)\0\0\0\x08(.{8})/
			my @columns = ($1, $2, $3);
			$columns[$column] = $value;
			$head . join '', map { pack('N', length) . $_ } @columns/se;
		return 1;
	});
	my $run = start_run($relay, []);
	is(end_dump($run), 1, "invalid answers, $what: exit code");
	like($run->{err}, qr/^pg_parbasebackup: (?:error|detail): $message$/m, "invalid answers, $what: message");
	ok(!-e $run->{dir}, "invalid answers, $what: nothing is left");
	stop_proxy($relay);
}

done_testing();
