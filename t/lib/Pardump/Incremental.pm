
# Incremental dumps: the first archive, those that follow, what they have taken
# from the one before, and whether they are what a full dump would have been.

package Pardump::Incremental;

use strict;
use warnings;

use Digest::MD5;
use Exporter 'import';
use Pardump::Cluster qw(make_database run_program new_path start_psql sql dump_ok);
use Pardump::Manifest qw(read_manifest);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(make_shop first_archive incremental incremental_ok full_archive under_snapshot
  row_files how ranges contents contents_equal same_contents_ok links_right_ok verified_ok
  previous_unused);

# Tables of some 1 MB are cut in several chunks.  Uncompressed, so that equal
# files are equal rows; a later option wins.
our @chunks = ('-j2', '--chunk-size=192kB', '-Z0');

# These, without the workers if it is tasks that have them.
sub chunks_for
{
	my $tasks = grep { /^--tasks/ } @_;
	return grep { !$tasks || !/^-j/ } @chunks;
}

# The same, unless one of the options says how chunks are cut.
sub with_chunks
{
	my @options = @_;
	my $cut = grep { /^--(max-table-segment-pages|no-chunks)/ } @options;
	return ((grep { !$cut || !/^--chunk-size/ } chunks_for(@options)), @options);
}

# A database of tables that are appended to, updated, partitioned, kept in TOAST, of
# many types; of types whose text depends on more than is stored of them; small; empty.
sub make_shop
{
	my ($node, $db) = @_;
	make_database($node, $db);
	sql($node, $db, <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE appended (id bigint PRIMARY KEY, at timestamptz, digest bytea, payload text);
INSERT INTO appended SELECT g, '2024-01-01 00:00+00'::timestamptz + g * interval '1 min',
	decode(md5(g::text), 'hex'), 'order ' || md5((-g)::text) FROM generate_series(1, 12000) g;
CREATE TABLE updated (id int PRIMARY KEY, n int, t text);
INSERT INTO updated SELECT g, 0, repeat(md5(g::text), 3) FROM generate_series(1, 10000) g;
CREATE TABLE parts (id int, t text) PARTITION BY RANGE (id);
CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE parts_new PARTITION OF parts FOR VALUES FROM (10000) TO (100000);
INSERT INTO parts SELECT g, repeat(md5(g::text), 2) FROM generate_series(1, 19000) g;
CREATE TABLE docs (id int PRIMARY KEY, raw text, body text) WITH (fillfactor = 10);
ALTER TABLE docs ALTER raw SET STORAGE EXTERNAL;
INSERT INTO docs SELECT g, CASE WHEN g % 3 = 0 THEN repeat(md5(g::text), 120) END,
	(SELECT string_agg(md5((g * 1000 + i)::text), ' ') FROM generate_series(1, 200) i)
	FROM generate_series(1, 200) g;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b text, m mood);
CREATE TABLE types AS SELECT g AS id, g % 2 = 0 AS bo, (g % 100)::int2 AS i2, g::int8 * 1000000007 AS i8,
	g / 7.0 AS nu, g / 7.0::float4 AS f4, sqrt(g) AS f8, ('c' || g)::char(10) AS ch, 'v'::varchar(5) AS vc,
	'n'::name AS na, decode(md5(g::text), 'hex') AS by, '2024-02-29'::date + g AS da, '12:34:56.789'::time AS ti,
	'12:34:56+05:30'::timetz AS tz, '2024-02-29 12:34:56'::timestamp + g * interval '1 s' AS ts,
	'2024-02-29 12:34:56+00'::timestamptz AS tt, g * interval '1 h 1 s' AS iv, '10.0.0.0'::inet + g AS ip,
	'10.0.0.0/8'::cidr AS ci, '08:00:2b:01:02:03'::macaddr AS ma, md5(g::text)::uuid AS uu,
	json_build_object('k', g) AS js, jsonb_build_object('k', array[g, NULL]) AS jb, point(g, 1) AS po,
	box(point(0, 0), point(g, g)) AS bx, g::bit(12) AS bi, B'101'::varbit AS vb, int4range(g, g + 5) AS ra,
	tstzrange('2024-01-01 00:00+00', NULL) AS rt, (ARRAY['sad', 'ok', 'happy'])[1 + g % 3]::mood AS mo,
	(g + 1)::positive AS pd, ROW(g, 'b', 'ok')::pair AS pa, ARRAY[ROW(g, NULL, 'sad')::pair] AS pas,
	ARRAY[[g, 1], [2, NULL]] AS ar, to_tsvector('simple', 'a b c') AS tv, NULL::text AS nothing
	FROM generate_series(1, 1200) g;
CREATE TABLE never AS SELECT g AS id, g::numeric::money AS m, 'pg_class'::regclass AS c, repeat('x', 50) AS t
	FROM generate_series(1, 5000) g;
CREATE TABLE small AS SELECT g AS id FROM generate_series(1, 10) g;
CREATE TABLE empty (a int);
SELECT lo_from_bytea(4711, 'a large object');
SQL
	# as vacuum and hint bits leave them
	sql($node, $db, 'VACUUM');
	return;
}

# The tables of it that have fingerprints.
our @fingerprinted = qw(appended docs parts_new parts_old types updated);

sub first_archive
{
	my ($node, $db, $what, @options) = @_;
	return dump_ok($node, $db, $what, 'pg_pardump', chunks_for(@options), '--manifest-fingerprints', @options);
}

sub full_archive
{
	my ($node, $db, $what, @options) = @_;
	return dump_ok($node, $db, "$what, a full dump", 'pg_pardump', with_chunks(@options));
}

# Runs it, and returns the new archive as a hash: "dir", and the "rc" and "err" of
# the run.
sub incremental
{
	my ($node, $db, $previous, @options) = @_;
	my $dir = new_path('incremental');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', "--incremental=$previous", '-f', $dir,
		'-d', $node->connstr($db), with_chunks(@options));
	return { dir => $dir, rc => $rc, err => $err };
}

# What a run says that takes nothing of the previous archive.
sub previous_unused
{
	my ($previous, $reason) = @_;
	return qr/\A(pg_pardump: warning: cannot record fingerprints\n(?:pg_pardump: (?:detail|hint): .*\n){3})?pg_pardump: warning: cannot reuse archive "\Q$previous\E"\npg_pardump: detail: $reason\.\npg_pardump: detail: All rows will be dumped\.\n(?:pg_pardump: hint: The new archive contains fingerprints, .*\n)?\z/;
}

# incremental_ok($node, $db, 'what', $previous, options => [...], warning => regex of all
# that it says, full => archive to compare with): it works, and the archive is what a
# full dump under the same snapshot is, sound, and linked as it says.  Without "full" that
# one is made here.  Returns the new archive's directory.
sub incremental_ok
{
	my ($node, $db, $what, $previous, %params) = @_;
	my @options = @{ $params{options} // [] };
	my ($new, $full);
	my $both = sub {
		$full = $params{full} // full_archive($node, $db, $what, @options, @_);
		$new = incremental($node, $db, $previous, @options, @_);
	};
	$params{full} ? $both->() : under_snapshot($node, $db, $both);
	is($new->{rc}, 0, "$what: exit code") or diag($new->{err});
	$params{warning}
	  ? like($new->{err}, $params{warning}, "$what: warning")
	  : is($new->{err}, '', "$what: nothing is said");
	die "no archive to test with" if !-f "$new->{dir}/toc.dat";
	is_deeply(contents($new->{dir}), $params{full} ? contents_once($full) : contents($full), "$what: as a full dump");
	links_right_ok($new->{dir}, $previous, $what);
	verified_ok($new->{dir}, $what);
	return $new->{dir};
}

# Calls the function with the option that names a snapshot, held by a session
# meanwhile.
sub under_snapshot
{
	my ($node, $db, $function) = @_;
	my $holder = start_psql($node, $db);
	$holder->('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->('SELECT pg_export_snapshot()');
	$function->("--snapshot=$snapshot");
	$holder->('COMMIT');
	$holder->();
	return;
}

# ---- what is in an archive

# The manifest's files of rows of one table, or of all, in the order of their blocks.
sub row_files
{
	my ($dir, $table) = @_;
	return sort { $a->{Table} cmp $b->{Table} || $a->{'Start-Block'} <=> $b->{'Start-Block'} }
	  grep { $_->{Kind} eq 'rows' && (!defined $table || $_->{Table} eq $table) } @{ read_manifest($dir)->{Files} };
}

# How a table's files came to be, a letter each: "l"ink, "c"lone or copy, "." for what
# was dumped.
sub how
{
	my ($dir, $table) = @_;
	return join '', map { substr($_->{Reused} // '.', 0, 1) } row_files($dir, $table);
}

# "0-30 30-61 61-" for a table's.
sub ranges
{
	my ($dir, $table) = @_;
	return join ' ', map { "$_->{'Start-Block'}-" . ($_->{'End-Block'} // '') } row_files($dir, $table);
}

# What pg_restore would send: of every COPY statement a hash of all its lines, however
# many entries have them, and all that is not COPY as one text.
sub contents
{
	my ($dir) = @_;
	my (%digest, $digest);
	my $other = '';
	open my $pipe, '-|', 'pg_restore', '-a', '-f', '-', $dir or die "could not run pg_restore: $!";
	while (my $line = <$pipe>)
	{
		if ($digest)
		{
			$line eq "\\.\n" ? undef $digest : $digest->add($line);
			next;
		}
		next if $line =~ /^(--.*|\\(un)?restrict .*)?\n/;
		$digest = $digest{$line} //= Digest::MD5->new if $line =~ /^COPY .* FROM stdin;\n/;
		$other .= $line if !$digest;
	}
	close $pipe or die "pg_restore failed on \"$dir\"";
	return { other => $other, map { ($_ => $digest{$_}->hexdigest) } keys %digest };
}

# The same, of an archive with which several are compared.
my %contents;
sub contents_once { return $contents{ $_[0] } //= contents($_[0]); }

sub contents_equal
{
	my ($dir, $full) = map { contents($_) } @_;
	return !grep { ($dir->{$_} // '') ne ($full->{$_} // '') } keys %$dir, keys %$full;
}

sub same_contents_ok
{
	my ($dir, $full, $what) = @_;
	is_deeply(contents($dir), contents($full), "$what: as a full dump");
	return;
}

sub inode { return join ':', (stat $_[0])[ 0, 1 ]; }

# What the manifest calls a link shares its inode with a file of the previous
# archive, and nothing else does.
sub links_right_ok
{
	my ($dir, $previous, $what) = @_;
	my %old = map { (inode($_) => 1) } glob "$previous/*";
	my %link = map { ("$dir/$_->{Path}" => 1) } grep { ($_->{Reused} // '') eq 'link' } row_files($dir);
	my @wrong = grep { ($old{ inode($_) } // 0) != ($link{$_} // 0) } glob "$dir/*";
	is_deeply(\@wrong, [], "$what: links are as the manifest says");
	return;
}

sub verified_ok
{
	my ($dir, $what) = @_;
	my ($rc, undef, $err) = run_program('pg_pardump', "--verify=$dir");
	is("$rc$err", '0', "$what: verified");
	return;
}

1;
