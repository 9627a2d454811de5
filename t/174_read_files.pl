# The extension's reader of files, for base backups: page checksums are checked
# as the server does when it makes one, files that change meanwhile are as long
# as was asked for, and each kind of file in the data directory is read or refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Fcntl qw(SEEK_SET);
use IPC::Run;
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster sql value start_psql);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLOCK => 8192;

my $node = start_cluster('files', leave_stopped => 1);
my $data = $node->data_dir;
my $has_checksums = sub { `pg_controldata -D '$data'` =~ /^Data page checksum version: +1$/m };
system_or_bail('pg_checksums', '--enable', '-D', $data) if !$has_checksums->();
ok($has_checksums->(), 'a cluster with checksums');
$node->start;
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');

# The call for items: each path (or the SQL of a bytea), offset, length and first
# block, or NULL; what is missing is filled with zeros.
sub read_call
{
	my ($start_lsn, @items) = @_;
	my @columns = map { my $column = $_; join(', ', map { $_->[$column] } @items) } 0 .. 3;
	my $of_each = sub { join(', ', ($_[0]) x @items) };

	$columns[0] = join(', ', map { $_->[0] =~ /\(/ ? $_->[0] : "'$_->[0]'" } @items);
	return "pardump.pg_pardump_read_files(ARRAY[$columns[0]]::bytea[],
		ARRAY[$columns[1]]::bigint[], ARRAY[$columns[2]]::bigint[],
		ARRAY[" . $of_each->('NULL') . ']::bytea[], ARRAY[' . $of_each->('0') . ']::int[],
		ARRAY[' . $of_each->('true') . "]::boolean[], ARRAY[$columns[3]]::bigint[], '$start_lsn', 'none')";
}

# What came of them, as "bytes|failures", and the MD5 of what was read.
sub read_files
{
	my $out = sql($node, 'postgres', 'SELECT md5(string_agg(b, \'\')) FROM (SELECT ' . read_call(@_) . ' b) s;
		SELECT bytes, failures FROM pardump.pg_pardump_last_files()');
	return reverse split /\n/, $out;
}

sub result { return (read_files(@_))[0]; }

# Write bytes into a file of the data directory, or cut it.
sub overwrite
{
	my ($path, $offset, $bytes) = @_;
	open(my $file, '+<:raw', "$data/$path") or die "$path: $!";
	seek($file, $offset, SEEK_SET);
	print $file $bytes;
	close($file) or die "$path: $!";
}

# --- page checksums

sql($node, 'postgres', q{
	CREATE TABLE pages (id int, t text) WITH (fillfactor = 10);
	INSERT INTO pages SELECT g, repeat('x', 600) FROM generate_series(1, 40) g;
	CHECKPOINT});
my $pages = value($node, 'postgres', q{SELECT pg_relation_filepath('pages')});
my $later = value($node, 'postgres', 'SELECT pg_current_wal_insert_lsn()');
my $n_blocks = (-s "$data/$pages") / BLOCK;
cmp_ok($n_blocks, '>=', 10, 'a table of some pages');
my $length = $n_blocks * BLOCK;
my @whole = ($pages, 0, $length, 0);

my ($found, $md5) = read_files($later, \@whole);
is($found, "{$length}|{}", 'whole pages: bytes and damaged pages');
is($md5, value($node, 'postgres', "SELECT md5(pg_read_binary_file('$pages'))"), 'whole pages: contents');

my $original = slurp_file("$data/$pages");
my $stored = sub { unpack('x8 S', substr($original, $_[0] * BLOCK, BLOCK)) };
overwrite($pages, 3 * BLOCK + 8000, 'damage');
($found, $md5) = read_files($later, \@whole);
like($found, qr/^\{$length\}\|\{1,3,\d+,${\ $stored->(3) }\}$/, 'a damaged page: it is reported');
is($md5, value($node, 'postgres', "SELECT md5(pg_read_binary_file('$pages'))"),
	'a damaged page: contents');
like(result($later, [ 'PG_VERSION', 0, 2, 'NULL' ], [ $pages, 2 * BLOCK, 2 * BLOCK, 0 ]),
	qr/^\{2,16384\}\|\{2,3,\d+,\d+\}$/, 'a damaged page in a range, which is the second item');
is(result($later, [ $pages, 4 * BLOCK, BLOCK, 0 ]), '{8192}|{}', 'no damaged page in another range');
is(result($later, [ @whole[ 0 .. 2 ], 'NULL' ]), "{$length}|{}", 'no damaged page in a file without pages');
is(result('0/1', \@whole), "{$length}|{}", 'no damaged page if all pages were written since the start');
foreach my $compression (qw(none zstd:1))
{
	# behind a header of odd length pages begin anywhere in memory
	my $call = read_call($later, \@whole) =~ s/NULL(?=\]::bytea)/'odd'/r =~ s/none/$compression/r;
	like(sql($node, 'postgres', "SELECT count(b) > 0 FROM (SELECT $call b) s;
			SELECT failures FROM pardump.pg_pardump_last_files()"),
		qr/^t\n\{1,3,\d+,${\ $stored->(3) }\}$/, "behind a header, $compression");
}
overwrite($pages, 0, $original);

# numbers go on from one file of a table to the next
my @failed = result($later, [ @whole[ 0 .. 2 ], 131072 ]) =~ /1,(\d+),\d+,\d+/g;
is("@failed", join(' ', map { 131072 + $_ } 0 .. $n_blocks - 1), 'pages under other numbers');

# a page that was never written has no checksum
overwrite($pages, 4 * BLOCK, "\0" x BLOCK);
is(result($later, \@whole), "{$length}|{}", 'a page of zeros');
overwrite($pages, 0, $original . 'x' x 100);
is(result($later, [ $pages, 0, $length + 100, 0 ]), '{' . ($length + 100) . '}|{}',
	'a piece of a page');

# each step of a long range, more failures than there is room for at first
my $many = "$data/base/many";
append_to_file($many, substr($original, 0, BLOCK) x 100);
@failed = result($later, [ 'base/many', 0, 100 * BLOCK, 0 ]) =~ /1,(\d+),\d+,\d+/g;
is("@failed", join(' ', 1 .. 99), 'every page but the one that is in its place');

# --- files that change

{
	my $psql = start_psql($node, 'postgres');
	$psql->('BEGIN');
	$psql->('DECLARE c CURSOR FOR SELECT md5(' . read_call('0/0', [ 'base/many', 0, 300000, 'NULL' ]) . ')');
	is($psql->('FETCH 1 FROM c'), value($node, 'postgres', "SELECT md5(pg_read_binary_file('base/many', 0, 131072))"),
		'a truncated file: the piece before');
	truncate($many, 135000) or die "$many: $!";
	is($psql->('FETCH 1 FROM c'), value($node, 'postgres',
			"SELECT md5(pg_read_binary_file('base/many', 131072, 131072) || decode(repeat('00', 127144), 'hex'))"),
		'a truncated file: the rest is filled with zeros');
	$psql->('FETCH ALL FROM c');
	is($psql->('SELECT bytes FROM pardump.pg_pardump_last_files()'), '{135000}', 'a truncated file: number of bytes');
	$psql->('COMMIT');
	$psql->();
}

# A file that is removed, or replaced, after the first of its rows: what the next
# rows have, or the error, and what is told of the file.
sub change_within
{
	my ($first_block, $compression, $change) = @_;
	unlink "$data/base/changes";
	append_to_file("$data/base/changes", 'a' x 400_000);
	my $psql = start_psql($node, 'postgres');
	$psql->("SELECT 1;\n\\set ON_ERROR_STOP 0\n\\set VERBOSITY sqlstate\nSELECT 1");
	$psql->('BEGIN');
	$psql->(q{DECLARE c CURSOR FOR SELECT rtrim(encode(b, 'escape'), '\\0') ~ '^a*$', strpos(encode(b, 'escape'), '\\000') FROM (SELECT }
		. read_call('0/0', [ 'base/changes', 0, 300_000, $first_block ]) . ' b OFFSET 0) s');
	is($psql->('FETCH 1 FROM c'), 't|0', 'the first row');
	$change->("$data/base/changes");
	my $rest = $psql->("FETCH ALL FROM c;\n\\echo state :SQLSTATE\nSELECT 1");
	my $bytes = $psql->('SELECT bytes FROM pardump.pg_pardump_last_files()');
	$psql->('ROLLBACK');
	$psql->();
	return $rest =~ s/\nstate 00000\n1$//r =~ s/\n1$//r =~ tr/\n/ /r . " $bytes";
}
my %changes = (
	removed => sub { unlink $_[0] or die "$_[0]: $!" },
	replaced => sub {
		append_to_file("$_[0].tmp", 'b' x 400_000);
		rename "$_[0].tmp", $_[0] or die "$_[0]: $!";
	},
	'replaced by a link to itself' => sub {
		rename $_[0], "$_[0].real";
		symlink "$_[0].real", $_[0] or die "$_[0]: $!";
	});
foreach my $how (sort keys %changes)
{
	is(change_within('0', 'none', $changes{$how}), 't|1 t|1 {131072}', "a file of pages is $how: zeros from there on, as if it had been cut");
	is(change_within('NULL', 'none', $changes{$how}), 'state 55006 ', "another file is $how: an error of its own");
}
unlink map { "$data/base/changes$_" } '', '.real';

# --- cursors whose rows are fetched in subtransactions: the file is that of the call

# Runs a script as a role that may only call the function, and has a table.
sub as_reader
{
	my ($script) = @_;
	my (undef, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0, extra_params => [ '-U', 'reader' ]);
	return ($out, $err);
}
sql($node, 'postgres', q{
	CREATE ROLE reader LOGIN;
	GRANT USAGE ON SCHEMA pardump TO reader;
	GRANT EXECUTE ON FUNCTION pardump.pg_pardump_read_files TO reader;
	CREATE TABLE big AS SELECT g, repeat(md5(g::text), 30) x FROM generate_series(1, 20000) g;
	CREATE TABLE secret AS SELECT g AS id, 'SECRET of ' || g AS x FROM generate_series(1, 5000) g;
	CREATE TABLE victim AS SELECT g, repeat('VICTIM', 150) x FROM generate_series(1, 20000) g;
	GRANT SELECT ON victim TO reader;
	CREATE TABLE own (id int, x text);
	INSERT INTO own VALUES (0, 'own row');
	ALTER TABLE own OWNER TO reader;
	CHECKPOINT});
my $big = value($node, 'postgres', q{SELECT pg_relation_filepath('big')});
my $secret = value($node, 'postgres', q{SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM secret t});
my $declare = 'DECLARE c CURSOR FOR SELECT md5(b) FROM (SELECT ' . read_call('0/0', [ $big, 0, 20_000_000, 'NULL' ]) . ' b OFFSET 0) s';
my @rows = split /\n/, value($node, 'postgres', "BEGIN; $declare; FETCH 4 FROM c");
{
	my ($out, $err) = as_reader(qq{
		BEGIN; $declare; SAVEPOINT s; FETCH 1 FROM c; ROLLBACK TO s;
		SELECT count(*) FROM victim;
		FETCH 2 FROM c;
		SAVEPOINT s; FETCH 1 FROM c; ROLLBACK TO s;
		CLOSE c;
		SELECT count(*), min(length(x)) FROM victim;
		COMMIT});
	is($out, join("\n", $rows[0], 20000, @rows[ 1 .. 3 ], '20000|900'), 'a cursor and a subtransaction: rows of the file');
	is($err, '', 'a cursor and a subtransaction: no messages');
	($out, $err) = as_reader(qq{
		BEGIN; $declare; SAVEPOINT s; FETCH 1 FROM c; ROLLBACK TO s;
		SELECT count(*) FROM own;
		CLOSE c;
		SAVEPOINT s2; SELECT * FROM secret; ROLLBACK TO s2;
		SELECT count(*), min(x) FROM own;
		INSERT INTO own SELECT g, 'ATTACKER' FROM generate_series(1, 20000) g;
		COMMIT;
		SELECT count(*) FROM own WHERE x LIKE '%SECRET%'});
	is($out, join("\n", $rows[0], 1, '1|own row', 0), 'the table of the role has its own rows');
	like($err, qr/\A\S+ ERROR:  permission denied for table secret\z/, 'one message');
	sql($node, 'postgres', 'CHECKPOINT');
	is(value($node, 'postgres', q{SELECT md5(string_agg(t::text, '' ORDER BY id)) FROM secret t}), $secret, 'the other table has its own rows');
}

# --- names and kinds of files

append_to_file("$data/base/\xe4\\'", 'content');
is((read_files('0/0', [ q{decode('626173652fe45c27', 'hex')}, 0, 7, 'NULL' ]))[1],
	value($node, 'postgres', q{SELECT md5('content')}), 'a name in no encoding');

mkfifo("$data/base/fifo", 0600) or die "mkfifo: $!";
my ($rc, undef, $err) = $node->psql('postgres', 'SELECT ' . read_call('0/0', [ 'base/fifo', 0, 1, 'NULL' ]));
like($err, qr/"base\/fifo" is not a regular file/, 'a FIFO is not waited for');

mkdir "$data/base/real" or die "base/real: $!";
append_to_file("$data/base/real/file", 'linked');
symlink 'file', "$data/base/real/link" or die "link: $!";
symlink 'real', "$data/base/directory" or die "link: $!";
foreach my $path ('base/real/link', 'base/directory/file', 'base/real/../directory/file')
{
	foreach my $length (6, 0)
	{
		($rc, undef, $err) = $node->psql('postgres', '\set VERBOSITY verbose' . "\nSELECT " . read_call('0/0', [ $path, 0, $length, 'NULL' ]));
		like($err, qr/ERROR:  42501: symbolic link in path ".*" not allowed\nDETAIL:  Only pg_wal and the links in pg_tblspc are followed\./,
			"$path, $length bytes: a symbolic link is not followed");
	}
}
symlink $data, "$data/pg_tblspc/x1" or die "link: $!";
($rc, undef, $err) = $node->psql('postgres', 'SELECT ' . read_call('0/0', [ 'pg_tblspc/x1/PG_VERSION', 0, 1, 'NULL' ]));
like($err, qr/symbolic link in path "pg_tblspc\/x1\/PG_VERSION" not allowed/, 'a link in pg_tblspc that is not one of a tablespace is not followed');
unlink map { "$data/$_" } 'base/real/link', 'base/real/file', 'base/directory', 'pg_tblspc/x1';
rmdir "$data/base/real";

my $place = PostgreSQL::Test::Utils::tempdir();
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION '$place'");
sql($node, 'postgres', 'CREATE TABLE far TABLESPACE elsewhere AS SELECT generate_series(1, 1000); CHECKPOINT');
my $far = value($node, 'postgres', q{SELECT pg_relation_filepath('far')});
like($far, qr/^pg_tblspc\//, 'path of a table in a tablespace');
is((read_files('0/0', [ $far, 0, -s "$data/$far", 0 ]))[1],
	value($node, 'postgres', "SELECT md5(pg_read_binary_file('$far'))"), 'a table in a tablespace can be read');

# --- calls that are stopped

append_to_file("$data/base/huge", 'x');
truncate("$data/base/huge", 1 << 42) or die "truncate: $!";
{
	my ($out, $errors) = ('', '');
	my $h = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c',
		'SELECT count(*) FROM (SELECT ' . read_call('0/0', [ 'base/huge', 0, 1 << 42, 'NULL' ]) . ') s' ],
		'<', \'', '>', \$out, '2>', \$errors);
	my $pid = wait_until('a huge file is read', sub {
		value($node, 'postgres', q{SELECT pid FROM pg_stat_activity
			WHERE query LIKE '%base/huge%' AND pid <> pg_backend_pid() AND state = 'active'}) });
	value($node, 'postgres', "SELECT pg_cancel_backend($pid)");
	$h->finish;
	like($errors, qr/canceling statement due to user request/, 'a canceled read of a huge file: error');
}
is(sql($node, 'postgres', 'SELECT length(' . read_call('0/0', [ 'base/huge', 0, 1 << 42, 'NULL' ]) . ') LIMIT 1'),
	131072, 'the first row of a huge file');
foreach my $items ([ [ 'base/huge', 0, 1 << 42, 'NULL' ] ],
	[ map { [ 'base/huge', 0, 1 << 25, 'NULL' ] } 1 .. 3 ])
{
	(undef, undef, $err) = $node->psql('postgres',
		'SELECT ' . read_call('0/0', @$items) =~ s/none/zstd:1/r, on_error_stop => 1);
	like($err, qr/more than 67108864 bytes cannot be compressed into one frame/,
		'compression of a large file: error');
}

# --- without checksums

$node->stop;
unlike(slurp_file($node->logfile), qr/leak|PANIC|TRAP|WARNING/, 'the log contains no leak, PANIC or warning');
unlink(map { "$data/base/$_" } qw(fifo huge many), "\xe4\\'");
overwrite($pages, 0, $original);
truncate("$data/$pages", $length) or die "truncate: $!";
system_or_bail('pg_checksums', '--disable', '-D', $data);
$node->start;
overwrite($pages, 3 * BLOCK + 8000, 'damage');
is(result($later, \@whole), "{$length}|{}", 'a cluster without checksums has none to check');
$node->stop;

done_testing();
