# Incremental dumps: files of chunks whose rows are as they were are those of the
# archive before, and the new archive is whole, refers to nothing, and is what a full
# dump under the same snapshot would have been.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value
  codecs nothing_left_ok tier);
use Pardump::Command qw(check_list refused_ok system_faults);
use Pardump::Compare qw(fingerprint same_when_restored_ok);
use Pardump::DamagedArchive qw(damaged other_manifest);
use Pardump::Incremental qw(make_shop first_archive incremental incremental_ok full_archive
  row_files how ranges same_contents_ok contents_equal previous_unused);
use Pardump::Manifest qw(read_manifest);
use Pardump::Report qw(harmless_ok table_of);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('incremental');
make_shop($node, 'shop');
my @fingerprinted = @Pardump::Incremental::fingerprinted;

# How a table's files came to be, where all came to be in one way.
sub all_of { return qr/^\Q$_[0]\E+$/; }

# ---- the first one

my $mon = first_archive($node, 'shop', 'the first');
{
	my $manifest = read_manifest($mon);
	is($manifest->{'Fingerprint-Algorithm'}, 'poly1305', 'the first: algorithm');
	like($manifest->{'Fingerprint-Key'}, qr/^[0-9a-f]{64}$/, 'the first: key');
	like($manifest->{Settings} // '', qr/TimeZone/, 'the first: settings');
	is($manifest->{'Chunk-Bytes'}, 192 * 1024, 'the first: size of a chunk');
	my %without = map { ($_->{Table} => 1) } grep { !$_->{Fingerprint} } row_files($mon);
	is(join(' ', sort keys %without), 'empty never small', 'the first: tables without fingerprints');
	my @odd = grep {
		$_->{Fingerprint} && ($_->{Fingerprint} !~ /^[0-9a-f]{32}$/ || $_->{'First-Fingerprint'} !~ /^[0-9a-f]{32}$/
			|| $_->{Definition} !~ /^[0-9a-f]{64}$/ || $_->{'Table-OID'} == 0 || $_->{'Relation-Blocks'} == 0)
	} row_files($mon);
	is_deeply(\@odd, [], 'the first: members of files in the manifest');
	is(scalar(grep { $_->{Reused} } row_files($mon)), 0, 'the first: number of reused files');
	cmp_ok(scalar(() = how($mon, $_) =~ /\./g), '>=', 3, "the first: chunks of $_") foreach @fingerprinted;
	is_deeply([ grep { (stat)[2] & 077 } glob "$mon/*" ], [], 'the first: for its owner only');
	my $without = read_manifest(full_archive($node, 'shop', 'without fingerprints'));
	ok(!defined $without->{'Fingerprint-Key'} && !grep({ $_->{Fingerprint} } @{ $without->{Files} }),
		'without the option, the manifest contains no fingerprints');
}

# ---- nothing has changed; what is told of it

my $unchanged;
{
	# as read, freezing, and locks leave rows as they are
	sql($node, 'shop', 'VACUUM FREEZE');
	sql($node, 'shop', 'BEGIN; SELECT count(*) FROM (SELECT FROM updated FOR UPDATE) s; COMMIT');
	my ($log, $page) = map { new_path($_) } qw(log page);
	$unchanged = incremental_ok($node, 'shop', 'nothing has changed', $mon,
		options => [ '-P', "--log-json=$log", "--report=$page" ], full => full_archive($node, 'shop', 'nothing has changed'),
		warning => qr/\b100%, .* chunks (\d+)\/\g1\b.*\n(?s:.*)^reused \d+ of \g1 chunks, [\d.]+ [kM]B stored; new: \d+, \S+ (?:bytes|[kM]B) stored$/m);
	like(how($unchanged, $_), all_of('l'), "nothing has changed: $_") foreach @fingerprinted;
	like(how($unchanged, $_), all_of('.'), "nothing has changed: $_ is dumped") foreach qw(never small empty);
	is(ranges($unchanged, $_), ranges($mon, $_), "nothing has changed: ranges of $_") foreach @fingerprinted;
	my ($old, $new) = map { read_manifest($_) } $mon, $unchanged;
	is_deeply([ map { $new->{$_} } qw(Fingerprint-Key Fingerprint-Algorithm Chunk-Bytes) ],
		[ map { $old->{$_} } qw(Fingerprint-Key Fingerprint-Algorithm Chunk-Bytes) ],
		'nothing has changed: key and algorithm are inherited');
	my @same = qw(Table Start-Block Rows Raw-Bytes Size Checksum Fingerprint First-Fingerprint Definition Table-OID);
	my ($were, $are) = map {
		[ map { my $file = $_; [ @$file{@same} ] } grep { $_->{Fingerprint} } row_files($_) ]
	} $mon, $unchanged;
	is_deeply($are, $were, 'nothing has changed: files in the manifest');

	my @reused = grep { $_->{Reused} } row_files($unchanged);
	my $rows = () = row_files($unchanged);
	my @events = map { JSON::PP->new->utf8->decode($_) } split /\n/, slurp_file($log);
	my ($summary) = grep { $_->{event} eq 'summary' } @events;
	is($summary->{reused_chunks}, scalar(@reused), 'summary event: files');
	is($summary->{reused_bytes}, eval(join '+', map { $_->{Size} } @reused), 'summary event: bytes');
	my %ends = map { ($_->{file} => $_) } grep { $_->{event} eq 'chunk_end' } @events;
	is_deeply([ grep { ($ends{ $_->{Path} }{reused} // '') ne ($_->{Reused} // '') } row_files($unchanged) ], [],
		'events of files: reused or not');
	is_deeply([ grep { !$_->{Reused} == !$ends{ $_->{Path} }{why_not_reused} } row_files($unchanged) ], [],
		'events of files: why not');
	my $html = slurp_file($page);
	harmless_ok('nothing has changed', $html);
	foreach my $table (map { $_->{Table} } grep { $_->{'Start-Block'} == 0 } row_files($unchanged))
	{
		my ($row) = grep { $_->{Name} eq "public.$table" } table_of($html, 'tables');
		my $n = () = how($unchanged, $table) =~ /l/g;
		is($row->{Reused}, $n, "report: $table");
	}
	my ($rc, undef, $err) = run_program('pg_pardump', '--no-sync', @Pardump::Incremental::chunks, '-v', "--incremental=$mon",
		'-f', new_path('verbose'), '-d', $node->connstr('shop'));
	like($err, qr/^pg_pardump: reused @{[ scalar @reused ]} of $rows chunks, /m, '-v: sum');
	my $lines = () = $err =~ /^pg_pardump: reusing contents of (?:chunk \d+ of \d+ of )?table \S+ from the previous archive$/mg;
	is($lines, scalar(@reused), '-v: each file');
}

# ---- changes, and some more after the snapshot

my $holder_sees;
{
	sql($node, 'shop', $_) foreach
	  # as long as the others: shorter ones find room in their pages
	  q{INSERT INTO appended SELECT g, '2025-01-01', decode(md5(g::text), 'hex'), 'other ' || md5((-g)::text) FROM generate_series(20001, 20500) g},
	  'UPDATE updated SET n = n + 1 WHERE id BETWEEN 3000 AND 3100',
	  q{INSERT INTO parts SELECT 19000 + g, repeat(md5(g::text), 2) FROM generate_series(1, 3000) g},
	  q{UPDATE docs SET raw = repeat(md5('new'), 120) WHERE id = 99},
	  q{UPDATE types SET mo = 'sad' WHERE id = 600},
	  'INSERT INTO small VALUES (11)', 'VACUUM updated';
}
my $data = fingerprint($node, 'shop');

# Dumps both ways under one snapshot, while others write.
my $tue;
{
	my $what = 'some changes';
	my $full;
	Pardump::Incremental::under_snapshot($node, 'shop', sub {
		sql($node, 'shop', $_) foreach 'UPDATE appended SET payload = NULL WHERE id % 3000 = 0',
		  'DELETE FROM docs WHERE id = 150', 'DELETE FROM parts_old WHERE id < 100',
		  q{INSERT INTO updated SELECT -g, 0, 'later' FROM generate_series(1, 1000) g};
		$full = full_archive($node, 'shop', $what, @_);
		$tue = incremental($node, 'shop', $mon, @_);
	});
	is("$tue->{rc}$tue->{err}", '0', "$what: works in silence");
	$tue = $tue->{dir};
	same_contents_ok($tue, $full, $what);
	Pardump::Incremental::links_right_ok($tue, $mon, $what);
	Pardump::Incremental::verified_ok($tue, $what);
	same_when_restored_ok($node, $tue, $data, $what);

	# uncompressed files of the same range have the same bytes if and only if they are reused
	my %old = map { ("$_->{Table} $_->{'Start-Block'}" => $_) } row_files($mon);
	my (@stale, @missed);
	foreach my $new (grep { $_->{Fingerprint} } row_files($tue))
	{
		my $was = $old{"$new->{Table} $new->{'Start-Block'}"} or next;
		next if ($was->{'End-Block'} // '') ne ($new->{'End-Block'} // '');
		my $same = slurp_file("$mon/$was->{Path}") eq slurp_file("$tue/$new->{Path}");
		push @stale, $new if $new->{Reused} && !$same;
		push @missed, $new if !$new->{Reused} && $same;
	}
	is_deeply(\@stale, [], "$what: reused files have the same rows");
	is_deeply(\@missed, [], "$what: files with the same rows are reused");
	like(how($tue, 'appended'), qr/^l+\.+$/, "$what: a table that is appended to");
	like(how($tue, 'parts_old'), all_of('l'), "$what: a partition of the past");
	like(how($tue, 'updated'), qr/^l+\..*l.*\.$/, "$what: a stretch that is updated");
	like(how($tue, $_), qr/^(?=.*l)(?=.*\.)/, "$what: $_ in part") foreach qw(docs types parts_new);
	nothing_left_ok($node, $tue, $what);
}

# ---- a third one from the second, which needs neither of them

{
	$data = fingerprint($node, 'shop');
	my $wed = incremental_ok($node, 'shop', 'the third', $tue);
	like(how($wed, $_), all_of('l'), "the third: $_ as it was") foreach qw(parts_new types);
	like(how($wed, 'appended'), qr/^(?=.*l)(?=.*\.)/, 'the third: files changed after the snapshot are dumped');
	my $inherited = grep { (stat)[3] > 2 } glob "$wed/*";
	cmp_ok($inherited, '>', 0, 'the third: files of the first');
	my $apart = damaged($mon, sub { });
	system_or_bail('rm', '-rf', $mon, $tue, $unchanged);
	$mon = $apart;
	Pardump::Incremental::verified_ok($wed, 'the others are gone');
	same_when_restored_ok($node, $wed, $data, 'the others are gone');
	system_or_bail('rm', '-rf', $wed);
}

# ---- with other options than the archive before

my $base = first_archive($node, 'shop', 'the base');
my $full = full_archive($node, 'shop', 'the base');

# of two tables, below the highest tier
my @tables = tier() == 3 ? @fingerprinted : qw(docs updated);
my @selected = tier() == 3 ? () : map { ('-t', $_) } @tables;
my $full_of_tables = @selected ? full_archive($node, 'shop', 'two tables', @selected) : $full;

foreach my $try (
	[ ['-j5'], qr/^l+$/ ], [ ['--no-extension'], qr/^\.+$/, qr/.*extension.*/ ],
	[ ['--chunk-size=300kB'], qr/^[.l]+$/ ], [ ['--max-table-segment-pages=13'], qr/^[.l]+$/ ],
	[ ['-Zgzip:3'], qr/^\.+$/, qr/.*compress.*/i ], [ [ '-E', 'LATIN1' ], qr/^\.+$/, qr/.*encoding.*/i ],
	[ ['--manifest-checksums=SHA256'], qr/^\.+$/, qr/.*checksum.*/ ])
{
	my ($options, $how, $reason) = @$try;
	my $what = "with @$options";
	my $same_text = grep { /^-[jZ]|extension|chunk|segment|checksums/ } @$options;
	push @$options, @selected;
	my $dir = incremental_ok($node, 'shop', $what, $base, options => $options,
		$same_text ? (full => $full_of_tables) : (), $reason ? (warning => previous_unused($base, $reason)) : ());
	like(how($dir, $_), $how, "$what: $_") foreach @tables;
	if ("@$options" =~ /SHA256/)
	{
		is(read_manifest($dir)->{'Fingerprint-Algorithm'}, 'sha256', "$what: algorithm");
		my $next = incremental_ok($node, 'shop', "$what, again", $dir, options => $options, full => $full_of_tables);
		like(how($next, $_), all_of('l'), "$what, again: $_") foreach @tables;
	}
	system_or_bail('rm', '-rf', $dir);
}

# compressed by the client or by the server
foreach my $codec (grep { /gzip|zstd/ } codecs($node))
{
	my @options = ('-Z', "client-$codec", '-t', 'docs', '-t', 'appended');
	my $first = first_archive($node, 'shop', "-Z $codec", @options);
	$options[1] = "server-$codec";
	my $dir = incremental_ok($node, 'shop', "-Z $codec", $first, options => \@options);
	like(how($dir, $_), all_of('l'), "-Z $codec: $_") foreach qw(docs appended);
}

# conditions, added and removed
{
	my @where = ('-t', 'appended', '-t', 'docs', '--where=appended:id % 2 = 0');
	my $dir = incremental_ok($node, 'shop', '--where added', $base, options => \@where);
	like(how($dir, 'appended'), all_of('.'), '--where added: not reused');
	like(how($dir, 'docs'), all_of('l'), '--where added: another table is');
	is(scalar(grep { $_->{Fingerprint} } row_files($dir, 'appended')), 0, '--where added: no fingerprints');
	$dir = incremental_ok($node, 'shop', '--where removed', $dir, options => [ @where[ 0 .. 3 ] ]);
	like(how($dir, 'appended'), all_of('.'), '--where removed: not reused');
	like(how($dir, 'docs'), all_of('l'), '--where removed: another table is');
	# tables that were not dumped before
	$dir = incremental_ok($node, 'shop', 'more tables', $dir, full => $full);
	like(how($dir, 'docs'), all_of('l'), 'more tables: files of the old tables are reused');
	like(how($dir, 'updated'), all_of('.'), 'more tables: others');
	$dir = incremental_ok($node, 'shop', '--sample', $base, options => [ '-t', 'docs', '--sample=docs:50' ]);
	like(how($dir, 'docs'), all_of('.'), '--sample: not reused');
	# of the schema only, and of nothing
	my $new = incremental($node, 'shop', $base, '-s');
	is("$new->{rc}$new->{err}", '0', '--schema-only');
}

# another server, another program, as the manifest says
foreach my $try ([ 'Server-Version', qr/.*version.*/ ], [ 'Tool-Version', qr/.*version.*/ ])
{
	my ($member, $reason) = @$try;
	my $other = damaged($base, other_manifest(sub { s/("$member": ")/${1}0/ or die "no $member" }));
	my $dir = incremental_ok($node, 'shop', "other $member", $other, options => \@selected, full => $full_of_tables,
		warning => previous_unused($other, $reason));
	is(scalar(grep { $_->{Reused} } row_files($dir)), 0, "other $member: number of reused files");
	system_or_bail('rm', '-rf', $dir, $other);
}

# the role's settings
foreach my $setting (q{TimeZone = 'Asia/Kathmandu'}, tier() == 3 ? q{bytea_output = 'escape'} : ())
{
	my ($name, $value) = $setting =~ /^(\w+) = '(.*)'/;
	sql($node, 'postgres', "ALTER ROLE CURRENT_USER SET $setting");
	incremental_ok($node, 'shop', $setting, $base, options => [ '-t', 'appended' ],
		warning => previous_unused($base, qr/Its $name was [^; ]+, but is \Q$value\E now/));
	sql($node, 'postgres', "ALTER ROLE CURRENT_USER RESET $name");
}

# ---- how files are taken

# Are there clones on the file system of these archives?
sub has_clones
{
	my ($file) = glob "$base/[0-9]*.dat";
	my ($rc) = run_program('cp', '--reflink=always', $file, new_path('clone'));
	return $rc == 0;
}

my $cloned = has_clones() ? 'clone' : 'copy';
foreach my $method (qw(link clone copy))
{
	my $dir = incremental_ok($node, 'shop', "by $method", $base, full => $full_of_tables,
		options => [ "--incremental-copy-method=$method", @selected ]);
	like(how($dir, $_), $method eq 'link' ? all_of('l') : all_of('c'), "by $method: $_") foreach @tables;
	is_deeply([ grep { (stat)[2] & 077 } glob "$dir/*" ], [], "by $method: only the owner may read the files");
	my $way = $method eq 'clone' ? $cloned : $method;
	my @other = grep { $_->{Reused} && $_->{Reused} ne $way } row_files($dir);
	is(scalar(@other), 0, "by $method: all by $way");
	system_or_bail('rm', '-rf', $dir);
}
SKIP:
{
	my ($place) = grep { -w $_ && (stat $_)[0] != (stat $base)[0] } qw(/dev/shm /var/tmp /tmp);
	skip 'there is no other file system', 3 if !defined $place;
	my $dir = "$place/pg_pardump_incremental_$$";
	# what a stopped test has left is removed when the machine starts
	my ($rc, undef, $err) = run_program('pg_pardump', @Pardump::Incremental::chunks, "--incremental=$base", '-f', $dir,
		'-d', $node->connstr('shop'));
	my $what = 'another file system';
	is("$rc$err", '0', "$what: works in silence");
	is_deeply([ map { how($dir, $_) =~ s/c//gr } @fingerprinted ], [ map { '' } @fingerprinted ], "$what: copied");
	ok(contents_equal($dir, $full), "$what: as a full dump");
	system_or_bail('rm', '-rf', $dir);
}

# ---- one that has as many names as it can have

{
	my $what = 'too many links';
	my ($file) = map { $_->{Path} } row_files($base, 'docs');
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = "linkat /$file";
	my $dir = incremental_ok($node, 'shop', $what, $base, full => $full);
	is((row_files($dir, 'docs'))[0]{Path}, $file, "$what: under the same name");
	is((row_files($dir, 'docs'))[0]{Reused}, $cloned, "$what: the file is copied");
	unlike(how($dir, 'docs'), qr/\./, "$what: nothing is dumped for that");
	like(how($dir, 'appended'), all_of('l'), "$what: others are linked");
	system_or_bail('rm', '-rf', $dir);
}

# ---- where a descriptor has no name, links are made by the file's, and are none if
# that was given to another file meanwhile

{
	my $what = 'no /proc';
	my $old = damaged($base, sub { });
	my ($file) = map { $_->{Path} } row_files($old, 'docs');
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = "noproc /$file";
	my $dir = incremental_ok($node, 'shop', $what, $old, full => $full);
	is(-s "$old/$file", 0, "$what: another file has the name");
	is((row_files($dir, 'docs'))[0]{Reused}, $cloned, "$what: the file is not linked");
	like(how($dir, $_), $_ eq 'docs' ? qr/^cl+$/ : all_of('l'), "$what: $_") foreach @fingerprinted;
	system_or_bail('rm', '-rf', $dir, $old);
}

# ---- bytes of no encoding

{
	my $what = 'SQL_ASCII';
	make_database($node, 'ascii', options => q{TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'});
	sql($node, 'ascii', q{CREATE EXTENSION pg_pardump;
		CREATE TABLE bytes AS SELECT g AS id, convert_from('\xe9ff', 'SQL_ASCII') || md5(g::text) AS t
			FROM generate_series(1, 12000) g});
	my $old = first_archive($node, 'ascii', $what);
	sql($node, 'ascii', q{UPDATE bytes SET t = convert_from('\xe8ff', 'SQL_ASCII') WHERE id = 12000});
	my $dir = incremental_ok($node, 'ascii', $what, $old);
	like(how($dir, 'bytes'), qr/^l+\.$/, "$what: the changed file is dumped");
}

# ---- room: links need none

{
	local $ENV{LD_PRELOAD} = system_faults();
	local $ENV{SYSTEM_FAULT} = 'statvfs _full';
	my $path = new_path('full');
	my $room = sub {
		my (undef, $out) = run_program('pg_pardump', '--check', @Pardump::Incremental::chunks, '-d', $node->connstr('shop'), '-f', $path,
			'-t', 'docs', @_);
		return $out;
	};
	# the fault is of any directory whose name ends so
	mkdir $path or die "could not make directory \"$path\": $!";
	like($room->(), qr/warning: the file system of directory/, 'room: a full dump');
	is(check_list($room->("--incremental=$base")), "no problems found\n", 'room: links');
	like($room->("--incremental=$base"), qr/^  archive: about \d\S* \w+\b.*\n  reused from the previous archive: up to \d\S* \w+\n  free disk space: .*$/m,
		'room: bytes of files that may be reused');
	my ($event) = grep { $_->{event} eq 'check_plan' } map { decode_json($_) } split /\n/, $room->("--incremental=$base", '--log-json=-');
	cmp_ok($event->{reusable_bytes}, '>', 0, 'room: event with the bytes that may be reused');
	my $copies = $room->("--incremental=$base", '--incremental-copy-method=copy');
	like($copies, qr/warning: the file system of directory.*Files of the previous archive that might have to be copied take \S+ [kM]B/s,
		'room: copies');
}

# ---- tells before

{
	my @events;
	my $dry = sub {
		my ($rc, $out, $err) = run_program('pg_pardump', '--dry-run', @Pardump::Incremental::chunks, "--incremental=$_[0]",
			'--log-json=-', '-d', $node->connstr('shop'));
		is($rc, 0, '--dry-run: exit code') or diag($err);
		@events = map { JSON::PP->new->utf8->decode($_) } split /\n/, $out;
		return $err;
	};
	my $text = $dry->($base);
	my %reusable = map { ($_->{table} =~ s/^public\.//r => $_->{reusable_chunks}) } grep { $_->{event} eq 'plan' } @events;
	is($reusable{$_}, length how($base, $_), "--dry-run: $_") foreach @fingerprinted;
	my %why = map { ($_->{table} =~ s/^public\.//r => $_->{why_not_reused}) } grep { $_->{event} eq 'plan' } @events;
	ok(!$reusable{$_} && $why{$_}, "--dry-run: why not $_") foreach qw(never small);
	like($text, qr/^reusable from the previous archive, if rows have not changed: \d+ of \d+ chunks$/m, '--dry-run: in words');
}

# ---- old cuts of tables that have become others

# about a kilobyte a row, without TOAST
make_database($node, 'cuts');
sql($node, 'cuts', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE other (id int, t text);
ALTER TABLE other ALTER t SET STORAGE PLAIN;
CREATE TABLE t (id int, t text);
ALTER TABLE t ALTER t SET STORAGE PLAIN;
INSERT INTO other SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 3000) g;
INSERT INTO t SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 1600) g;
SQL

sub blocks { return value($node, 'cuts', q{SELECT pg_relation_size('t') / current_setting('block_size')::int}); }

sub append
{
	my ($rows) = @_;
	sql($node, 'cuts', "INSERT INTO t SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, $rows) g");
	return;
}

sub starts { return map { $_->{'Start-Block'} } row_files($_[0], 't'); }

{
	my $last = first_archive($node, 'cuts', 'cuts');
	my $next = sub {
		my ($what) = @_;
		my $dir = incremental_ok($node, 'cuts', $what, $last);
		like(how($dir, 'other'), all_of('l'), "$what: the other table");
		my $before = $last;
		$last = $dir;
		return ($before, $dir);
	};

	append(40);    # 6 blocks of some 24
	my ($before, $after) = $next->('grown by less than half a chunk');
	is(ranges($after, 't'), ranges($before, 't'), 'grown by less than half a chunk: no new one');
	like(how($after, 't'), qr/^l+\.$/, 'grown by less than half a chunk: the last is dumped');

	my $end = blocks();
	append(200);
	($before, $after) = $next->('grown by about a chunk');
	is_deeply([ grep { $_ <= $end } starts($after) ], [ starts($before), grep { $_ == $end } starts($after) ],
		'grown by about a chunk: old cuts');
	my $old = () = starts($before);
	like(how($after, 't'), qr/^l{$old}\.+$/, 'grown by about a chunk: the old ones are reused');

	$end = blocks();
	append(1000);
	($before, $after) = $next->('grown by several chunks');
	$old = () = starts($before);
	like(how($after, 't'), qr/^l{$old}\.{3,}$/, 'grown by several chunks: the new ones are cut');

	sql($node, 'cuts', q{DELETE FROM t WHERE ctid >= '(150,0)'});
	sql($node, 'cuts', 'VACUUM t');
	cmp_ok(blocks(), '<=', 151, 'the table is shorter');
	($before, $after) = $next->('shrunk');
	cmp_ok((starts($after))[-1], '<', 151, 'shrunk: no range beyond its end');
	like(how($after, 't'), qr/^lll/, 'shrunk: remaining files are reused');

	sql($node, 'cuts', $_) foreach 'DELETE FROM t', 'VACUUM t';
	($before, $after) = $next->('without blocks');
	is(how($after, 't'), '.', 'without blocks: one file');
	append(1600);
	($before, $after) = $next->('filled again');
	like(how($after, 't'), all_of('.'), 'filled again: dumped');
	like(ranges($after, 't'), qr/ /, 'filled again: in chunks');

	sql($node, 'cuts', $_) foreach 'CREATE SCHEMA elsewhere', 'ALTER TABLE t RENAME COLUMN id TO number', 'ALTER TABLE t RENAME TO u',
	  'ALTER TABLE u SET SCHEMA elsewhere', 'ALTER TABLE elsewhere.u ADD CHECK (number > 0)';
	($before, $after) = $next->('another name');
	like(how($after, 'u'), all_of('l'), 'another name: reused');
	sql($node, 'cuts', $_) foreach 'ALTER TABLE elsewhere.u SET SCHEMA public', 'ALTER TABLE u RENAME TO t';
	sql($node, 'cuts', $_) foreach 'CREATE TABLE made_again (LIKE t INCLUDING STORAGE)', 'INSERT INTO made_again SELECT * FROM t',
	  'DROP TABLE t', 'ALTER TABLE made_again RENAME TO t';
	($before, $after) = $next->('dropped and made again');
	like(how($after, 't'), all_of('.'), 'dropped and made again: dumped');

	# the size of chunks is that of the archive before, unless it is said
	my ($rc, undef, $err) = run_program('pg_pardump', '-j3', '-Z0', "--incremental=$last", '-f', my $dir = new_path('inherited'),
		'-d', $node->connstr('cuts'));
	is("$rc$err", '0', 'no --chunk-size: exit code and messages');
	is(ranges($dir, $_), ranges($last, $_), "no --chunk-size: ranges of $_") foreach qw(t other);
	like(how($dir, $_), all_of('l'), "no --chunk-size: $_ is reused") foreach qw(t other);
}

# ---- what is refused

my @db = ('-d', $node->connstr('cuts'));
refused_ok(qr/option --incremental-copy-method requires option --incremental/, 'method without --incremental',
	@db, '--incremental-copy-method=link');
refused_ok(qr/invalid value "move" for option --incremental-copy-method\n.*hint: Use "link", "clone" or "copy"\.\n/, 'unknown method', @db, "--incremental=$base", '--incremental-copy-method=move');
foreach my $options ([ "--incremental=$base", '--target=dbname=x' ], [ '--manifest-fingerprints', '--target=dbname=x' ],
	[ "--incremental=$base", '--pipe=cat >/dev/null' ])
{
	my ($rc, undef, $err) = run_program('pg_pardump', @db, @$options);
	my ($first, $second) = map { /^(--[a-z-]+)/ } @$options;
	is($rc, 1, "$first with $second: exit code");
	like($err, qr/options (?=.*$first)(?=.*$second).* cannot be used together/, "$first with $second: message");
}

$node->stop;
done_testing();
