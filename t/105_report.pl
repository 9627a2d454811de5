# --report: a page of HTML that agrees with the manifest, of a dump and of an
# archive, for any names, and that a browser renders.

use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_until sessions);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql
  value start_psql dump_ok default_suffix);
use Pardump::Command qw(refused_ok);
use Pardump::Databases qw(make_latin1);
use Pardump::EventSchema qw(events_valid_ok);
use Pardump::Manifest qw($manifest_name read_manifest write_manifest);
use Pardump::Report qw(shown table_of data_of harmless_ok page_right_ok pages_beside browse colors_of);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('report', allows_streaming => 'logical');
my $db = q{shop <b>&"'};

sql($node, 'postgres', 'CREATE DATABASE "' . $db =~ s/"/""/gr . '"');
sql($node, $db, <<'SQL');
CREATE TABLE large AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 30000) g;
CREATE INDEX "</title></svg><script>alert(2)</script>" ON large (t);
CREATE TABLE empty (a int);
CREATE SCHEMA "</style>";
SELECT lo_from_bytea(4711, decode(repeat('00ff', 100000), 'hex'));
SQL
my %pages;
my @names = ('<script>alert(1)</script>', "new\nline\tand\x01", q{q"uote's &amp;},
	'</title></svg><img src=x onerror=alert(1)>', '-->]]>',
	"Gr\xc3\xb6\xc3\x9fe \xe2\x82\xac", "\xe2\x80\xaegnp", ' ', '</script><script>alert(3)</script>',
	"<!--<script>", "\xe2\x80\xa8\xe2\x80\xa9", '@DATA@');
foreach my $i (0 .. $#names)
{
	sql($node, $db, 'CREATE TABLE "</style>"."' . $names[$i] =~ s/"/""/gr
		  . "\" AS SELECT g FROM generate_series(1, $i) g");
}

sub report_by_verify
{
	my ($what, $dir, $want_rc) = @_;
	my $page = new_path('verify.html');
	my ($rc) = run_program('pg_pardump', '--verify', $dir, '-j2', "--report=$page");
	is($rc, $want_rc, "$what: exit code");
	ok(-f $page && !pages_beside($page), "$what: one page is made");
	return $page;
}

# ---- of a dump, and the same of its archive

my @chunks = ('--max-table-segment-pages=20', '-j2');
my $page = new_path('dump.html');
append_to_file($page, 'an older one');
umask 0;
my $dir = dump_ok($node, $db, 'dump', 'pg_pardump', @chunks, "--report=$page");
my $dumped = page_right_ok('dump', $page, read_manifest($dir));
is((stat $page)[2] & 07777, 0600, 'only the owner may read the page');
is_deeply([ pages_beside($page) ], [], 'no other file is created');
is(scalar(() = $dumped =~ /<script|<img/g), 2, 'no name becomes a tag');
like(shown($dumped), qr/Its files have not been verified since/, 'the page shows that no file was verified');
like($dumped, qr/<h1>[^\n]*shop &#60;b&#62;&#38;&#34;&#39;/, 'the name of the database');

# the manifest, which is flushed too, does not know how long that took
my $verdict = qr{^<div class="verdict.*?</div>\n|^<p class="sub">[^\n]*|"whole":\w+,"seconds":[\d.]+}ms;
my $verified = report_by_verify('sound archive', $dir, 0);
my $html = page_right_ok('sound archive', $verified, read_manifest($dir));
my $n_files = @{ read_manifest($dir)->{Files} };
like(shown($html), qr/\xe2\x9c\x93 $n_files files equal to the manifest/, 'the page shows that all files are equal to the manifest');
ok(!data_of($html)->{whole}, 'sound archive: the data does not contain the whole run');
ok(data_of($dumped)->{whole}, 'dump: the data contains the whole run');
is($html =~ s/$verdict//gr, $dumped =~ s/$verdict//gr, 'sound archive: the rest of the page equals the page of the dump');

make_latin1($node);
{
	my $page = new_path('latin1.html');
	my $dir = dump_ok($node, 'latin1', 'LATIN1', 'pg_pardump', '-j2', "--report=$page");
	my $html = page_right_ok('LATIN1', $page, read_manifest($dir));
	my $again = slurp_file(report_by_verify('LATIN1', $dir, 0));
	is($again =~ s/$verdict//gr, $html =~ s/$verdict//gr, 'LATIN1: the same of its archive');
}

{
	my $page = new_path('filtered.html');
	dump_ok($node, $db, 'filtered', 'pg_pardump', "--report=$page", '-t', 'large',
		'--where=large:id < 200', '--sample=large:50');
	my $html = slurp_file($page);
	harmless_ok('filtered', $html);
	is((table_of($html, 'tables'))[1]{Notes}, 'sample: 50 % of rows, rows where id < 200', 'the page has the filters');
}

# Partitions stand under the table at the top, which sums them up.
{
	make_database($node, 'family');
	sql($node, 'family', <<'SQL');
CREATE TABLE alone AS SELECT g AS id FROM generate_series(1, 2000) g;
CREATE TABLE "<b>log" (id int) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF "<b>log" FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF "<b>log" FOR VALUES FROM (1000) TO (10000) PARTITION BY RANGE (id);
CREATE TABLE log_2a PARTITION OF log_2 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE log_2b PARTITION OF log_2 FOR VALUES FROM (2000) TO (10000);
INSERT INTO "<b>log" SELECT g FROM generate_series(0, 4999) g;
CREATE TABLE single (id int) PARTITION BY RANGE (id);
CREATE TABLE single_1 PARTITION OF single FOR VALUES FROM (0) TO (10);
CREATE TABLE child () INHERITS (alone);
SQL
	my $page = new_path('family.html');
	my $dir = dump_ok($node, 'family', 'partitions', 'pg_pardump', '--max-table-segment-pages=5', "--report=$page");
	is_deeply(
		{ map { $_->{Table} => join '.', map { $_ // 'none' } @$_{qw(Root-Schema Root-Table)} }
			  grep { $_->{Kind} eq 'rows' } @{ read_manifest($dir)->{Files} } },
		{ (map { $_ => 'public.<b>log' } qw(log_1 log_2a log_2b)), single_1 => 'public.single',
			map { $_ => 'none.none' } qw(alone child) },
		'partitions: the manifest names the table at the top');
	my $html = page_right_ok('partitions', $page, read_manifest($dir));
	my $log = 'public."<b>log"';
	my %tables = map { $_->{Name} => $_->{Table} } table_of($html, 'tables');
	is_deeply(\%tables, { All => '', (map { ("public.$_" => $log) } qw(log_1 log_2a log_2b)),
			'public.single_1' => 'public.single', map { ("public.$_" => '') } qw(alone child) },
		'partitions: each with the table at the top');
	is_deeply([ map { $_->{table} eq $log ? $_->{name} : () } @{ data_of($html)->{tables} } ],
		[qw(public.log_2b public.log_2a public.log_1)], 'partitions: the largest first');
	$pages{partitions} = $page;
	my $again = slurp_file(report_by_verify('partitions', $dir, 0));
	is($again =~ s/$verdict//gr, $html =~ s/$verdict//gr, 'partitions: the same of the archive');
	# what is wider than the screen says so
	like($html, qr/\.wide\{background:.*no-repeat local,/, 'a shadow where there is more');
	like($html, qr/\@media screen and \(max-width:600px\)\{.*content:'[^']*scroll sideways'/, 'words where the screen is small');
}

{
	my $page = new_path('nothing.html');
	dump_ok($node, $db, 'no data', 'pg_pardump', '-s', "--report=$page");
	harmless_ok('no data', slurp_file($page));
}

{
	my $piped = new_path('piped');
	my $page = new_path('piped.html');
	mkdir $piped or die "could not make directory \"$piped\": $!";
	my ($rc) = run_program('pg_pardump', '-d', $node->connstr($db), '-j2',
		"--pipe=cat >'$piped'/%f", "--report=$page");
	is($rc, 0, '--pipe: exit code');
	page_right_ok('--pipe', $page, read_manifest($piped));
}

# ---- of a copy

make_database($node, 'target');
foreach my $compare ([], ['--compare'])
{
	my $what = "a copy @$compare";
	my $page = new_path('copy.html');
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr($db), @chunks, '--clean',
		'--target=' . $node->connstr('target'), @$compare, '--where=large:id <= 29000', "--report=$page");
	is($rc, 0, "$what: exit code") or diag($err);
	my $html = slurp_file($page);
	harmless_ok($what, $html);
	like(shown($html), qr/^Copy of database shop <b>&"'$/m, "$what: title");
	like(shown($html), @$compare ? qr/Source and target have the same contents\./
		: qr/The copy is complete\. Source and target have not been compared/, "$what: verdict");
	my ($large) = grep { $_->{Name} eq 'public.large' } table_of($html, 'tables');
	is(join('|', @$large{qw(Notes Rows Chunks)}), 'rows where id <= 29000|29,000|13', "$what: rows and chunks of a table");
	like(shown($html), qr/^Stepsdefinitions .*, rows /m, "$what: steps");
	like(shown($html), qr/^Row formats(?:raw tuples|(?:binary|text) COPY) \(\d+ tables?/m, "$what: formats");
	like(shown($html), qr/^Target.*dbname=target\b/m, "$what: target");
	ok(!exists $large->{Stored}, "$what: no stored bytes are shown");

	# the charts continue after the rows, to the end of the run
	my $data = data_of($html);
	my @stages = @{ $data->{stages} };
	is("$data->{kind} $data->{lanes}", 'copy 2', "$what: workers");
	is(join(' ', map { $_->{name} } @stages),
		"plan definitions rows indexes rest statistics@{[ map { s/^--/ /r } @$compare ]}", "$what: stages");
	is_deeply([ map { $_->{Name} } table_of($html, 'stages') ], [ map { $_->{name} } @stages ], "$what: the same in a table");
	is($stages[-1]{end}, $data->{axis}, "$what: the last one ends where the charts do");
	my $index = 'public."</title></svg><script>alert(2)</script>"';
	is(join(' ', map { "$_->{name} $_->{table} $_->{worker}" } @{ $data->{indexes} }), "$index public.large 0", "$what: an index");
	is((table_of($html, 'indexes'))[0]{Name}, $index, "$what: the same in a table");
	my ($rows) = grep { $_->{name} eq 'rows' } @stages;
	my @pieces = @{ $data->{slowest} };
	is(join(' ', sort map { $_->{name} eq 'public.large' ? $_->{piece} =~ s/^chunk | of 13$//gr : () } @pieces),
		join(' ', sort 1 .. 13), "$what: chunks");
	is_deeply([ grep { $_->{start} < $rows->{start} || $_->{end} > $rows->{end} } @pieces ], [], "$what: workers load rows in their stage");
	$pages{"copy @$compare"} = $page;
	is_deeply([ pages_beside($page) ], [], "$what: nothing else is made");
}

# ---- a worker that was replaced: page, manifest, summary and event log

{
	my $page = new_path('retried.html');
	my $log = new_path('retried.json');
	my $holder = start_psql($node, $db);
	$holder->('SELECT pg_advisory_lock(42)');
	my $dump = start_dump($node->connstr($db), '-t', 'large', '-P', "--report=$page", "--log-json=$log",
		"--where=large:id <> 5 OR pg_advisory_xact_lock_shared(42)::text IS NOT NULL");
	wait_until('the worker waits', sub { sessions($node, "wait_event = 'advisory'") });
	is(value($node, 'postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'advisory'"),
		't', 'retried: the worker loses its connection');
	$holder->('SELECT pg_advisory_unlock(42)');
	is(end_dump($dump), 0, 'retried: exit code');
	is(read_manifest($dump->{dir})->{Retries}, 1, 'retried: manifest');
	is(data_of(slurp_file($page))->{retries}, 1, 'retried: page');
	like($dump->{err}, qr/^slowest table: public\.large, .* in 1 chunk\n(?:.+\n)?retries: 1$/m, 'retried: summary');
	events_valid_ok('retried', slurp_file($log), qw(retry warning));
	my @events = map { decode_json($_) } split /\n/, slurp_file($log);
	is_deeply([ map { $_->{job} } grep { $_->{event} eq 'retry' } @events ], ['table public.large'], 'retried: event');
	is($events[-1]{retries}, 1, 'retried: summary for programs');
}

# ---- findings

{
	my $copy = new_path('damaged');
	system_or_bail('cp', '-a', $dir, $copy);
	my ($file) = map { s/.*\///r } glob "$copy/[0-9]*.dat" . default_suffix($node);
	truncate("$copy/$file", 10) or die "could not truncate \"$file\": $!";
	append_to_file("$copy/<i onclick=alert(1)>", 'x');
	my $html = slurp_file(report_by_verify('damaged', $copy, 1));
	harmless_ok('damaged', $html);
	like(shown($html), qr/\xe2\x9c\x97 2 problems/, 'damaged: findings are counted');
	like(shown($html), qr/^file "<i onclick=alert\(1\)>" is not listed in the manifest$/m, 'damaged: an unknown file');
	like(shown($html), qr/^file "\Q$file\E" of table \S+ is damaged: the file has 10 bytes instead of \d+; the compressed data is truncated$/m, 'damaged: the page shows the truncated file');
	cmp_ok(scalar(@{ data_of($html)->{slowest} }), '>', 0, 'damaged: the data of the charts is there');

	append_to_file("$copy/$manifest_name", 'x');
	$html = slurp_file(report_by_verify('manifest damaged', $copy, 1));
	harmless_ok('manifest damaged', $html);
	like(shown($html), qr/own checksum does not match/, 'manifest damaged: the page shows the error');
}

{
	my $stock = dump_ok($node, $db, 'stock', 'pg_dump');
	my $html = slurp_file(report_by_verify('stock', $stock, 0));
	harmless_ok('stock', $html);
	like(shown($html), qr/\d+ files read without a problem/, 'stock: the page shows the number of files');
	like(shown($html), qr/there is no manifest/, 'stock: the page shows that there is no manifest');
}

# ---- what a manifest may say: more than can be shown, and what cannot be

sub made_up_page
{
	my ($what, $head, @files) = @_;
	my $dir = new_path('made_up');
	my $page = new_path('made_up.html');
	my $text = qq({ "PgPardump-Manifest-Version": 1,\n$head"Checksum-Algorithm": "NONE",\n"Files": [\n)
	  . join(",\n", @files) . "\n],\n";
	mkdir $dir or die "could not make directory \"$dir\": $!";
	write_manifest($dir, $text);
	# none of the files is there: too many messages
	my $rc = system("pg_pardump --verify '$dir' --report='$page' >/dev/null 2>'$page.log'");
	is($rc >> 8, 1, "$what: exit code");
	BAIL_OUT("no page: " . substr(slurp_file("$page.log"), 0, 1000)) if !-f $page;
	my $html = slurp_file($page);
	harmless_ok($what, $html);
	return $html;
}

sub second
{
	my ($seconds) = @_;
	return sprintf('2026-01-01T%02d:%02d:%09.6fZ', $seconds / 3600, $seconds / 60 % 60,
		$seconds - 60 * int($seconds / 60));
}

my $many = made_up_page('many files', qq("Database": "many",\n"Jobs": 8,\n), map {
		sprintf('{"Path": "%d.dat", "Kind": "rows", "Schema": "s", "Table": "table_%d", "Rows": 7, '
			  . '"Raw-Bytes": %d, "Size": %d, "Start-Time": "%s", "End-Time": "%s", "Worker": %d}',
			$_, $_ < 40000 ? 0 : $_, 1000000, 300000, second($_ / 5), second($_ / 5 + 1.4), $_ % 8)
	} 1 .. 50000);
my $data = data_of($many);
my ($all, @tables) = @{ $data->{tables} };
my $pieces = @{ $data->{slowest} };
cmp_ok($pieces, '<', 8001, 'many files: the number of spans is limited');
cmp_ok($pieces, '>', 300, 'many files: more than 300 spans are shown');
cmp_ok(length($many), '<', 2000000, 'many files: size of the page');
my $n = 0;
$n += $_->{files} foreach @{ $data->{slowest} };
is("$n $all->{files} $all->{rows}", '50000 50000 350000', 'many files: the sum of all');
is(scalar(@tables) . " $data->{allTables}", '10002 10002', 'many files: all tables are in the data');
cmp_ok(scalar(table_of($many, 'tables')), '<', 30, 'many files: few are shown as HTML');

my @files;
foreach my $times ([ 5, 5 ], [ 9, 2 ], [ 0, 86399 ], [ undef, 3 ], [ 3, undef ], [ undef, undef ])
{
	foreach my $worker (0, 3, 999999)
	{
		push @files, sprintf('{"Path": "%d.dat", "Kind": "%s", "Raw-Bytes": %s, "Size": %s, "Rows": %s, "Worker": %d%s%s}',
			scalar(@files), $worker ? 'rows' : 'large object', ($worker ? '18446744073709551615' : 0) x 3, $worker,
			map { defined $times->[$_] ? sprintf(', "%s-Time": "%s"', ('Start', 'End')[$_], second($times->[$_])) : '' } 0, 1);
	}
}
foreach my $head ('', qq("Jobs": 1000000,\n"Start-Time": "9999-12-31T23:59:59.999999Z",\n))
{
	my $html = made_up_page('impossible', $head, @files);
	cmp_ok(length($html), '<', 200000, 'impossible: size of the page');
	unlike($html =~ s{<script>.*</script>}{}sr, qr/\b(nan|inf)\b/i, 'impossible: numbers are numbers');
}

# ---- refused, before anything is done

foreach my $case (
	[ 'with --dry-run', qr/options --report and --dry-run cannot be used together/, '--dry-run', '--report=x.html' ],
	[ 'without a name', qr/invalid value "" for option --report/, '--report=' ],
	[ 'nowhere', qr/could not create file "\/nowhere\/x\.html": No such file/, '--report=/nowhere/x.html' ],
	[ 'a device', qr/"\/dev\/null" is not a regular file/, '--report=/dev/null' ])
{
	my ($what, $message, @options) = @$case;
	refused_ok($message, $what, @options, '-d', $node->connstr($db));
}
{
	# programs in a directory without PostgreSQL's files
	my $bin = new_path('bin');
	mkdir $bin or die "could not make directory \"$bin\": $!";
	my ($program) = grep { -x } map { "$_/pg_pardump" } split /:/, $ENV{PATH};
	copy($program, "$bin/pg_pardump") && chmod 0755, "$bin/pg_pardump" or die "could not copy \"$program\": $!";
	foreach my $all ([ '-d', $node->connstr($db) ], [ '-d', $node->connstr('postgres'), '--all-databases' ])
	{
		my ($archive, $page) = map { new_path($_) } qw(archive page.html);
		my ($rc, $out, $err) = run_program("$bin/pg_pardump", '-f', $archive, "--report=$page", @$all);
		is("$rc$out", '1', "no template, @$all[2 .. $#$all]: exit code");
		like($err, qr/error: could not read the report template "\S+\/pg_pardump_report\.html": No such file.*\n.*hint: Reinstall pg_pardump/,
			'no template: message');
		ok(!-e $archive && !-e $page, 'no template: neither archive nor page is created');
	}
}
{
	my ($rc, undef, $err) = run_program('pg_pardump', '--verify', $dir, "--report=$dir/x.html");
	is($rc, 1, 'in the archive: exit code');
	like($err, qr/must not be in the archive's directory/, 'in the archive: message');
	is_deeply([ glob "$dir/x.html*" ], [], 'in the archive: no part of the page is left');
}
{
	my $page = new_path('failed.html');
	refused_ok(qr/no_such_column/, 'failed dump', '-d', $node->connstr($db),
		'--where=large:no_such_column', "--report=$page");
	is_deeply([ glob "$page*" ], [], 'failed dump: no page is left');
}

# ---- a page that cannot be written after the dump: the archive is complete, and
# all else is told

sub write_failed_ok
{
	my ($what, $problem, $page, @command) = @_;
	my $dir = new_path('no_page');
	my $log = new_path('no_page.json');
	my ($rc, $out, $err) = run_program(@command, 'pg_pardump', '-d', $node->connstr($db), '-t', 'empty', '-f', $dir,
		"--report=$page", "--log-json=$log", '-P', '--create-slot', "--slot=$what");
	is($rc, 1, "$what: exit code");
	like($err, qr/error: could not write the report "\Q$page\E": $problem\n.*detail: The archive is complete\.\n.*hint: .*--verify/,
		"$what: message");
	like($out, qr/^created logical replication slot "$what" at LSN/, "$what: the slot is told");
	my @events = map { decode_json($_) } split /\n/, slurp_file($log);
	is(scalar(grep { $_->{event} eq 'summary' } @events), 1, "$what: summary of the archive");
	like((grep { $_->{event} eq 'error' } @events)[0]{message}, qr/could not write the report/, "$what: an event");
	is(system("pg_pardump --verify '$dir' >/dev/null"), 0, "$what: the archive is whole");
	is_deeply([ glob "$page*" ], [], "$what: no part of the page is left");
	sql($node, $db, "SELECT pg_drop_replication_slot('$what')");
}
# all files of the archive are smaller
write_failed_ok('no_space', 'File too large', new_path('large.html'), 'sh', '-c', 'ulimit -f 16; exec "$@"', 'sh');
{
	# removed by what runs after the page was begun
	my $parent = new_path('goes');
	mkdir $parent or die "could not make directory \"$parent\": $!";
	my $pg_dump = new_path('pg_dump');
	append_to_file($pg_dump, "#!/bin/sh\ncase \$1 in --version) ;; *) rm -r '$parent';; esac\nexec pg_dump \"\$@\"\n");
	chmod 0700, $pg_dump;
	write_failed_ok('no_place', 'No such file or directory', "$parent/x.html", 'env', 'sh', '-c', 'exec "$@" --pg-dump="$0"', $pg_dump);
}

# ---- in a browser

my ($browser) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") }
  split /:/, $ENV{PATH};
SKIP:
{
	skip 'no Chromium to render the page with', 16 if !defined $browser;

	my $dom = browse($browser, $page, '--dump-dom');
	is(scalar(() = $dom =~ /<script\b/g), 2, 'in a browser: number of scripts');
	unlike($dom, qr/<(img|i)\b/, 'in a browser: names become no elements');
	like($dom, qr{<dt>Rows</dt><dd class="value">[\d,]+</dd><dd>\d+ tables</dd>}, 'figures');
	cmp_ok(scalar(() = $dom =~ /<rect class="c\d"/g), '>', 13, 'rectangles of the timeline');
	like($dom, qr{<path class="raw".*<path class="stored"}s, 'curves of throughput');
	like($dom, qr{<th scope="row">.*public\.large</bdi>.*<td class="bar">}, 'a table with bars');
	like(shown($dom) =~ s/&lt;/</gr =~ s/&gt;/>/gr, qr/<script>alert\(1\)<\/script>/, 'names are texts');

	my $copied = browse($browser, $pages{'copy --compare'}, '--dump-dom');
	my ($timeline) = $copied =~ m{<h2>Workers over time</h2>(.*?)</section>}s;
	is(join(' ', $timeline =~ m{class="lane"[^>]*></rect><text[^>]*>(\w+)}g), 'stages worker worker indexes', 'a copy: lanes');
	like($timeline, qr{<title>public\."&lt;/title&gt;.*\nan index of public\.large\n}, 'a copy: an index');

	my $family = browse($browser, $pages{partitions}, '--dump-dom');
	like($family, qr{<th scope="row"><bdi>public\."&lt;b&gt;log"</bdi><button class="fold"[^>]*>3 partitions</button></th><td class="num">5,000</td>},
		'partitions: their sum');
	like($family, qr{(?:<tr class="part" hidden="">.*?public\.log_\w+</bdi></th>.*?</tr>){3}}s, 'partitions: folded');

	# page, blue of the largest table, text on it
	my %want = (light => [ '#ffffff', '#355abb' ], dark => [ '#14181d', '#419ef0' ]);
	foreach my $scheme (sort keys %want)
	{
		my $picture = new_path("$scheme.png");
		browse($browser, $page, '--window-size=1100,640', "--screenshot=$picture",
			'--blink-settings=preferredColorScheme=' . ($scheme eq 'dark' ? 0 : 1));
		my $colors = -f $picture ? colors_of($picture) : {};
		my ($most) = sort { $colors->{$b} <=> $colors->{$a} } keys %$colors;
		is($most, $want{$scheme}[0], "$scheme: colour of the page");
		cmp_ok($colors->{ $want{$scheme}[1] } // 0, '>', 2000, "$scheme: the chart is drawn");
	}

	my $paper = new_path('page.pdf');
	browse($browser, $page, "--print-to-pdf=$paper");
	like(-f $paper ? slurp_file($paper) : '', qr/\A%PDF-/, 'the page can be printed as PDF');
}

$node->stop;
done_testing();
