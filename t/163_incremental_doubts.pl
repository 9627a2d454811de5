# Incremental dumps where something is wrong with the previous archive, with its rows,
# or with the run: chunks in doubt are dumped, possible damage is reported, and the new
# archive equals a full dump under the same snapshot.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster run_program new_path sql value start_psql pg_major);
use Pardump::DamagedArchive qw(damaged flipped cut gone written other_manifest);
use Pardump::Incremental qw(make_shop first_archive incremental incremental_ok full_archive row_files
  how contents_equal verified_ok previous_unused);
use Pardump::Manifest qw($manifest_name read_manifest);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('doubts', leave_stopped => 1);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 10');
$node->start;
make_shop($node, 'shop');
my @fingerprinted = @Pardump::Incremental::fingerprinted;
my $mon = first_archive($node, 'shop', 'the first');
my $full = full_archive($node, 'shop', 'the first');

sub all_of { return qr/^\Q$_[0]\E+$/; }

sub all_dumped_ok
{
	my ($dir, $what) = @_;
	is(scalar(grep { $_->{Reused} } row_files($dir)), 0, "$what: number of reused files");
	return;
}

# ---- files of the archive before

{
	my @files = row_files($mon, 'updated');
	my ($cut, $longer, $changed, $missing) = map { $_->{Path} } @files;
	my ($link, $fifo, $directory, $emptied) = map { $_->{Path} } row_files($mon, 'appended');
	my ($writable) = map { $_->{Path} } row_files($mon, 'docs');
	my $old = damaged($mon, sub {
		my ($dir) = @_;
		cut($cut, -10)->($dir);
		written($longer, slurp_file("$dir/$longer") . 'x')->($dir);
		flipped($changed, 1000)->($dir);
		gone($missing)->($dir);
		rename "$dir/$link", "$dir/../elsewhere" or die "rename: $!";
		symlink '../elsewhere', "$dir/$link" or die "symlink: $!";
		gone($fifo, $directory, $emptied)->($dir);
		mkfifo("$dir/$fifo", 0600) or die "mkfifo: $!";
		mkdir "$dir/$directory" or die "mkdir: $!";
		written($emptied, '')->($dir);
		chmod 0660, "$dir/$writable" or die "chmod: $!";
	});
	my $what = 'damaged files';
	my $dir = incremental_ok($node, 'shop', $what, $old, options => ['-v'], full => $full, warning => qr/./);
	like(how($dir, 'updated'), qr/^\.{4}l+$/, "$what: cut, longer, changed, missing");
	like(how($dir, 'appended'), qr/^\.{4}l+$/, "$what: link, fifo, directory, empty");
	like(how($dir, 'docs'), qr/^[.c]l+$/, "$what: files that others could write are not linked");
	is_deeply([ grep { (stat)[2] & 077 } glob "$dir/*" ], [], "$what: the new archive is for its owner only");
	my $new = incremental($node, 'shop', $old);
	is($new->{rc}, 0, "$what: exit code");
	foreach my $name ($cut, $longer, $changed, $missing, $link, $fifo, $directory, $emptied)
	{
		like($new->{err}, qr/^pg_pardump: warning: could not reuse file "\Q$old\E\/\Q$name\E"; dumping its rows again\npg_pardump: detail: .+$/m, "$what: a warning names $name");
	}
	is_deeply([ grep { !/: (?:warning|detail): / } split /\n/, $new->{err} ], [], "$what: warnings are all");
}

# ---- a manifest that is damaged, missing, of no use, or edited

foreach my $try (
	[ 'manifest damaged', flipped($manifest_name, 200), qr/.*(manifest|checksum).*/ ],
	[ 'manifest cut', cut($manifest_name, -100), qr/.*(manifest|checksum).*/ ],
	[ 'manifest missing', gone($manifest_name), qr/It has no manifest/ ],
	[ 'manifest empty', written($manifest_name, ''), qr/.*(manifest|checksum).*/ ],
	[ 'manifest that names files elsewhere', other_manifest(sub { s/("Path": ")\d/$1..\/1/ }), qr/.*invalid file name.*/ ],
	[ 'manifest with another fingerprint than one', other_manifest(sub { s/("Fingerprint": ")\w\w/$1'"/ }), qr/.*/ ],
	[ 'manifest without a key', other_manifest(sub { s/"Fingerprint-Key": "\w+"/"Fingerprint-Key": null/ }), qr/.*fingerprint.*/ ],
	[ 'manifest with a short key', other_manifest(sub { s/("Fingerprint-Key": ")\w\w/$1/ }), qr/.*/ ],
	[ 'manifest with an unknown algorithm', other_manifest(sub { s/"poly1305"/"crc32"/ }), qr/.*/ ],
	[ 'no toc.dat', gone('toc.dat'), qr/.*toc\.dat.*/ ])
{
	my ($what, $damage, $reason) = @$try;
	my $old = damaged($mon, $damage);
	my $new = incremental($node, 'shop', $old);
	is($new->{rc}, 0, "$what: exit code");
	like($new->{err}, previous_unused($old, $reason), "$what: warning");
	all_dumped_ok($new->{dir}, $what);
	ok(contents_equal($new->{dir}, $full), "$what: as a full dump");
}
# a full dump in its place might not fit on the disk
foreach my $try (
	[ 'no directory', sub { system_or_bail('rm', '-rf', $_[0]) }, qr/could not open directory "(.*)" of the previous archive: No such file or directory\n/ ],
	[ 'a file', sub { system_or_bail('rm', '-rf', $_[0]); append_to_file($_[0], 'x') }, qr/".*" is not a directory\n/ ])
{
	my ($what, $damage, $message) = @$try;
	my $new = incremental($node, 'shop', damaged($mon, $damage));
	is($new->{rc}, 1, "$what: exit code");
	like($new->{err}, qr/\Apg_pardump: error: $message\z/, "$what: message");
	ok(!-e $new->{dir}, "$what: no archive is created");
}
foreach my $try ([ 'without checksums', '--manifest-checksums=NONE', qr/.*checksum.*/ ], [ 'without fingerprints', undef, qr/.*fingerprint.*/ ])
{
	my ($what, $option, $reason) = @$try;
	my $old = $option ? first_archive($node, 'shop', $what, $option) : $full;
	my $dir = incremental_ok($node, 'shop', $what, $old, full => $full, warning => previous_unused($old, $reason));
	all_dumped_ok($dir, $what);
	# and from that one on all is well
	my $next = incremental_ok($node, 'shop', "$what, the next", $dir, full => $full);
	like(how($next, $_), all_of('l'), "$what, the next: $_") foreach @fingerprinted;
}
{
	# with a checksum that is right: of one file another, of all another key
	my ($file) = map { $_->{Path} } row_files($mon, 'docs');
	my $old = damaged($mon, other_manifest(sub { s/("\Q$file\E".*?"Checksum": ")(\w)/$1 . ($2 eq '0' ? 1 : 0)/e }));
	my $dir = incremental_ok($node, 'shop', 'another checksum of a file', $old, full => $full, warning => qr/\Apg_pardump: warning: could not reuse file ".*\/\Q$file\E"; dumping its rows again\n.*detail: The checksum does not match the manifest\.\n\z/);
	like(how($dir, 'docs'), qr/^\.l+$/, 'another checksum of a file: dumped');
	$old = damaged($mon, other_manifest(sub { s/("Fingerprint-Key": ")(\w)/$1 . ($2 eq '0' ? 1 : 0)/e }));
	$dir = incremental_ok($node, 'shop', 'another key', $old, full => $full);
	all_dumped_ok($dir, 'another key');
}

# What this test is worth: were a fingerprint to say of other rows that they are the
# same, the comparison would find out.
{
	my $what = 'a manifest that lies about a fingerprint';
	my ($file) = row_files($mon, 'updated');
	my $key = read_manifest($mon)->{'Fingerprint-Key'};
	sql($node, 'shop', 'BEGIN; UPDATE updated SET n = 1 WHERE id = 1; COMMIT');
	my ($new, $first, $rows) = split /\|/, value($node, 'shop', <<"SQL");
SELECT encode(fingerprint, 'hex'), encode(first_fingerprint, 'hex'), rows
FROM pardump.pg_pardump_fingerprint('updated', '{id,n,t}', $file->{'Start-Block'}, $file->{'End-Block'}, decode('$key', 'hex'))
SQL
	my $lie = damaged($mon, other_manifest(sub {
		s/("Path": "\Q$file->{Path}\E".*?"Rows": )\d+(.*?"Fingerprint": ")\w+(", "First-Fingerprint": ")\w+/$1$rows$2$new$3$first/;
	}));
	my $archive = incremental($node, 'shop', $lie);
	like(how($archive->{dir}, 'updated'), qr/^l/, "$what: believed");
	ok(!contents_equal($archive->{dir}, full_archive($node, 'shop', $what)), "$what: found out");
	my $dir = incremental_ok($node, 'shop', 'the manifest that does not lie', $mon);
	like(how($dir, 'updated'), qr/^\.l/, 'the manifest that does not lie: dumped');
}

# ---- the same directory, no extension

{
	my $old = damaged($mon, sub { });
	my $link = new_path('link');
	symlink $old, $link or die "symlink: $!";
	foreach my $f ($old, $link, "$old/.")
	{
		my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr('shop'), "--incremental=$old", '-f', $f,
			'--clean-output');
		is($rc, 1, 'PREVIOUS is -f: exit code');
		like($err, qr/error: the new archive cannot be in the directory of the previous archive, /, 'PREVIOUS is -f: message');
	}
	verified_ok($old, 'PREVIOUS is -f: the archive is not changed');
	# through a link it may be named
	my $dir = incremental_ok($node, 'shop', 'PREVIOUS is a link', $link, full => full_archive($node, 'shop', 'now'));
	like(how($dir, 'docs'), all_of('l'), 'PREVIOUS is a link: reused');
}
{
	sql($node, 'shop', 'DROP EXTENSION pg_pardump');
	my $dir = incremental_ok($node, 'shop', 'no extension', $mon, warning => previous_unused($mon, qr/.*extension.*/));
	all_dumped_ok($dir, 'no extension');
	my $first = new_path('first');
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', '--manifest-fingerprints', '-f', $first, '-d', $node->connstr('shop'));
	is($rc, 0, 'no extension, the first: exit code');
	like($err, qr/\Apg_pardump: warning: cannot record fingerprints\npg_pardump: detail: .*extension.*\npg_pardump: detail: .*\npg_pardump: hint: Run CREATE EXTENSION pg_pardump;.*\n\z/, 'no extension, the first: warning');
	# where no table is large enough for it there is nothing to tell, every night
	sql($node, 'postgres', 'CREATE TABLE small AS SELECT 1 AS i');
	foreach my $options ([ '--manifest-fingerprints' ], [ "--incremental=$first" ])
	{
		($rc, undef, $err) = run_program('pg_pardump', '--no-sync', @$options, '-f', new_path('small'), '-d', $node->connstr('postgres'));
		is("$rc$err", '0', "no extension, small tables: nothing is said with @$options");
	}
	sql($node, 'postgres', 'DROP TABLE small');
	sql($node, 'shop', 'CREATE EXTENSION pg_pardump');
}

# ---- the run: the archive before is removed in its midst, a worker is killed, a
# session is lost, when some files are linked already

my $now = full_archive($node, 'shop', 'before faults');
my $base = first_archive($node, 'shop', 'before faults');

# Runs with one worker, which is held when it asks for the nth fingerprint, until
# the function was called with the run, and the process ids of worker and backend.
sub run_with_fault
{
	my ($what, $previous, $n, $fault) = @_;
	my $moments = start_moments($node, [qr/FROM pardump\.pg_pardump_fingerprint\(/], { pattern => 0, n => $n });
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=shop",
		@Pardump::Incremental::chunks, '-j1', "--incremental=$previous");
	my ($client, $backend);
	wait_in_run($run, 'the moment', sub { (undef, $client, $backend) = moment_held($moments); return defined $client });
	cmp_ok(scalar(glob_rows($run->{dir})), '>', 0, "$what: some files are there");
	$fault->($run, $client, $backend);
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	stop_moments($moments);
	ok(contents_equal($run->{dir}, $now), "$what: as a full dump");
	verified_ok($run->{dir}, $what);
	return $run;
}

sub glob_rows { my @files = glob "$_[0]/[0-9]*.dat"; return @files; }

{
	my $what = 'the archive before is removed';
	my $old = damaged($base, sub { });
	my $run = run_with_fault($what, $old, 9, sub { system_or_bail('rm', '-rf', $old) });
	like($run->{err}, qr/\A(pg_pardump: warning: could not reuse file "\Q$old\E\/\d+\.dat"; dumping its rows again\n.*detail: File "\d+\.dat" does not exist\.\n)+\z/, "$what: warnings");
	my @reused = grep { $_->{Reused} } row_files($run->{dir});
	cmp_ok(scalar(@reused), '>', 0, "$what: files that were linked before are reused");
	cmp_ok(scalar(@reused), '<', scalar(grep { $_->{Fingerprint} } row_files($base)), "$what: the others are dumped");
}
{
	my $what = 'another archive in its place';
	my $old = damaged($base, sub { });
	my $run = run_with_fault($what, $old, 9, sub {
		rename $old, "$old.moved" or die "rename: $!";
		system_or_bail('cp', '-a', $full, $old);
	});
	unlike($run->{err}, qr/error/, "$what: no error");
}
foreach my $try ([ 'a worker is killed', sub { kill KILL => $_[1] } ],
	[ 'a session is lost', sub { value($node, 'postgres', "SELECT pg_terminate_backend($_[2])") } ])
{
	my ($what, $fault) = @$try;
	my $run = run_with_fault($what, $base, 9, $fault);
	like($run->{err}, qr/\A(pg_pardump: (warning|detail): .*\n)*pg_pardump: warning: .*retry 1 of 5/, "$what: a retry");
	like(how($run->{dir}, $_), all_of('l'), "$what: all is reused of $_") foreach @fingerprinted;
}
{
	# the whole run ends: the archive before is as it was
	my $links = sub { my $n = 0; $n += (stat)[3] foreach glob_rows($base); return $n; };
	my $before = $links->();
	my $moments = start_moments($node, [qr/FROM pardump\.pg_pardump_fingerprint\(/], { pattern => 0, n => 9 });
	my $run = start_dump("host=$moments->{host} port=$moments->{port} dbname=shop", @Pardump::Incremental::chunks, '-j1',
		"--incremental=$base");
	wait_in_run($run, 'the moment', sub { my @held = moment_held($moments); return @held > 0 });
	cmp_ok($links->(), '>', $before, 'interrupted: links were created before');
	kill TERM => $run->{pid};
	is(end_dump($run), 1, 'interrupted: exit code');
	stop_moments($moments);
	ok(!-e $run->{dir}, 'interrupted: the archive is removed');
	is($links->(), $before, 'interrupted: the links are removed');
	verified_ok($base, 'interrupted: the archive before');
	# left by a run that was killed, an archive with links is removed as any other
	my $left = incremental($node, 'shop', $base)->{dir};
	rename "$left/toc.dat", "$left/toc.dat.tmp" or die "rename: $!";
	my ($rc, undef, $err) = run_program('pg_pardump', @Pardump::Incremental::chunks, '--no-sync', '--clean-output', '-f', $left,
		"--incremental=$base", '-d', $node->connstr('shop'));
	is("$rc$err", '0', '--clean-output: works in silence');
	ok(contents_equal($left, $now), '--clean-output: as a full dump');
	verified_ok($base, '--clean-output: the archive before');
}

# ---- transactions that the old dump did not see, or saw, and that end later

{
	my $what = 'open transactions';
	my $open = start_psql($node, 'shop');
	$open->($_) foreach 'BEGIN', 'UPDATE updated SET n = 77 WHERE id = 4000', 'SAVEPOINT a',
	  q{UPDATE docs SET raw = repeat('open', 1000) WHERE id = 60}, 'SAVEPOINT b', 'DELETE FROM types WHERE id = 500',
	  'ROLLBACK TO b', 'DELETE FROM types WHERE id = 501', 'RELEASE a';
	sql($node, 'shop', q{BEGIN; UPDATE appended SET payload = 'prepared' WHERE id = 6000;
		INSERT INTO parts VALUES (5, 'prepared'); PREPARE TRANSACTION 'later'});
	sql($node, 'shop', q{BEGIN; DELETE FROM updated WHERE id = 8000; PREPARE TRANSACTION 'never'});
	my $old = first_archive($node, 'shop', $what);
	# nothing of it is to be seen yet
	my $dir = incremental_ok($node, 'shop', "$what, still open", $old);
	like(how($dir, $_), all_of('l'), "$what, still open: $_ is reused") foreach @fingerprinted;
	$open->('COMMIT');
	sql($node, 'shop', q{COMMIT PREPARED 'later'});
	sql($node, 'shop', q{ROLLBACK PREPARED 'never'});
	$dir = incremental_ok($node, 'shop', "$what, ended", $old);
	like(how($dir, $_), qr/^(?=.*l)(?=.*\.)/, "$what, ended: $_ in part") foreach qw(updated docs types appended parts_old);
	like(how($dir, 'parts_new'), all_of('l'), "$what, ended: what they have not touched");
	$open->();
}

# ---- rows that move: to another chunk, to another partition, to new files

{
	my $old = first_archive($node, 'shop', 'before rows move');
	sql($node, 'shop', $_) foreach 'CREATE TABLE moved AS SELECT * FROM updated WHERE id BETWEEN 1000 AND 1100',
	  'DELETE FROM updated WHERE id BETWEEN 1000 AND 1100', 'DELETE FROM updated WHERE id BETWEEN 6000 AND 6200',
	  'VACUUM updated', 'INSERT INTO updated SELECT * FROM moved ORDER BY id', 'DROP TABLE moved',
	  'UPDATE parts SET id = id + 20000 WHERE id BETWEEN 200 AND 210';
	my $dir = incremental_ok($node, 'shop', 'rows of other chunks', $old);
	like(how($dir, $_), qr/^(?=.*l)(?=.*\.)/, "rows of other chunks: $_ in part") foreach qw(updated parts_old parts_new);
	sql($node, 'shop', 'VACUUM FULL');
	incremental_ok($node, 'shop', 'VACUUM FULL', $dir);
	sql($node, 'shop', 'CLUSTER updated USING updated_pkey');
	$dir = incremental_ok($node, 'shop', 'CLUSTER', $dir);

	# ---- definitions: what rows mean, though nothing of them is written
	my $dumped = sub {
		my ($what, $table, @sql) = @_;
		sql($node, 'shop', $_) foreach @sql;
		$dir = incremental_ok($node, 'shop', $what, $dir);
		like(how($dir, $table), all_of('.'), "$what: dumped");
		like(how($dir, 'docs'), all_of('l'), "$what: another table is reused");
		return;
	};
	$dumped->('a column is added', 'updated', q{ALTER TABLE updated ADD added text DEFAULT 'new'});
	$dumped->('a column is dropped', 'updated', 'ALTER TABLE updated DROP n');
	$dumped->('a label', 'types', q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'});
	$dumped->('an attribute', 'types', 'ALTER TYPE pair ADD ATTRIBUTE c int');
	$dumped->('another type without a rewrite', 'types', q{SET TimeZone = UTC; ALTER TABLE types ALTER ts TYPE timestamptz});
	sql($node, 'shop', 'ALTER TABLE appended ENABLE ROW LEVEL SECURITY; CREATE ROLE reader LOGIN IN ROLE pg_read_all_data;'
		  . 'CREATE POLICY half ON appended USING (id % 2 = 0)');
	$dir = incremental_ok($node, 'shop', 'row security', $dir, options => [ '-U', 'reader', '--enable-row-security', '--no-large-objects' ]);
	like(how($dir, 'appended'), all_of('.'), 'row security: dumped');
	like(how($dir, 'docs'), all_of('l'), 'row security: another table is reused');
	$dir = incremental_ok($node, 'shop', 'beyond row security', $dir);
	like(how($dir, 'appended'), all_of('.'), 'beyond row security: dumped');
}

# ---- who may read every column that is dumped, but not the table: that locks it only
# since 16

SKIP:
{
	skip 'LOCK TABLE takes SELECT on the table', 1 if pg_major($node) < 16;
	my $what = 'privileges on columns';
	sql($node, 'postgres', 'CREATE DATABASE granted');
	sql($node, 'granted', q{CREATE EXTENSION pg_pardump; CREATE ROLE columns LOGIN;
		CREATE TABLE t (id int, s text, twice int GENERATED ALWAYS AS (id * 2) STORED);
		INSERT INTO t SELECT g, md5(g::text) FROM generate_series(1, 9000) g;
		GRANT UPDATE, SELECT (id, s) ON t TO columns});
	my $old = first_archive($node, 'granted', $what);
	my $dir = incremental_ok($node, 'granted', $what, $old, options => [ '-U', 'columns' ]);
	like(how($dir, 't'), qr/^\.{2,}$/, "$what: dumped, in chunks");
	my $first = first_archive($node, 'granted', "$what, the first", '-U', 'columns');
	is(scalar(grep { $_->{Fingerprint} } row_files($first)), 0, "$what, the first: no fingerprints");
}

$node->stop;
done_testing();
