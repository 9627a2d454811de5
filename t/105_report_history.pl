# --report-history: what is recorded of each run, what the page shows of the last
# runs, and that no file in the directory does harm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use JSON::PP;
use Pardump::BaseBackup qw(connection);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql listing dump_ok);
use Pardump::Command qw(refused_ok);
use Pardump::Manifest qw(read_manifest);
use Pardump::Report qw(table_of data_of harmless_ok browse);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('report_history', allows_streaming => 1);
my $odd = q{odd/"<b>"=name-};
make_database($node, $_) foreach 'shop', 'copied';
sql($node, 'postgres', 'CREATE DATABASE "' . $odd =~ s/"/""/gr . '"');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE t AS SELECT g AS id, md5(g::text) AS note FROM generate_series(1, 20000) g;
SQL

my $history = new_path('history');

sub record_names
{
	my ($prefix) = @_;
	return grep { /^\Q$prefix\E/ } split / /, listing($history);
}

sub read_record
{
	my ($name) = @_;
	return decode_json(slurp_file("$history/$name"));
}

# dumped($db, options...): the archive, the page, and what was said.
sub dumped
{
	my ($db, @options) = @_;
	my ($dir, $page) = (new_path('dump'), new_path('page.html'));
	my $name = $db =~ s/([\\'])/\\$1/gr;
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr . " dbname='$name'", '--no-sync', '-f', $dir,
		"--report=$page", "--report-history=$history", @options);
	is($rc, 0, "dump of $db: exit code") or diag($err);
	return ($dir, $page, $err);
}

# The runs of a page, which agree in HTML and data; and which of them is its own.
sub runs_of
{
	my ($what, $page) = @_;
	my $html = slurp_file($page);
	my $data = data_of($html);
	my @runs = @{ $data->{runs} // [] };

	harmless_ok($what, $html);
	is_deeply([ map { $_->{Name} } table_of($html, 'runs') ], [ map { $_->{name} } @runs ], "$what: the same runs in HTML");
	is_deeply([ map { $_->{name} } @runs ], [ reverse sort map { $_->{name} } @runs ], "$what: the newest first");
	return ($data->{thisRun}, @runs);
}

# ---- dumps

umask 0;
my ($first, $page, $err) = dumped('shop', '--manifest-fingerprints');
is($err, '', 'a first run: no message');
is(sprintf('%o', (stat $history)[2] & 07777), '700', 'the directory is private');
my @names = record_names('dump');
like("@names", qr/^dump-shop-\d{8}T\d{6}\.\d{6}Z\.json\z/, 'a first run: name of the record');
is(sprintf('%o', (stat "$history/$names[0]")[2] & 07777), '600', 'a record is private');
my ($own, @runs) = runs_of('a first run', $page);
is("$own " . @runs, '0 1', 'a first run: alone');

my $manifest = read_manifest($first);
my $record = read_record($names[0]);
my ($raw, $stored) = (0, 0);
foreach my $file (grep { $_->{Kind} eq 'rows' } @{ $manifest->{Files} })
{
	$raw += $file->{'Raw-Bytes'};
	$stored += $file->{Size};
}
is_deeply(
	{ map { $_ => $record->{$_} } qw(pg_pardump_run command database start_time rows files reused_files raw_bytes stored_bytes reused_raw_bytes) },
	{ pg_pardump_run => 1, command => 'dump', database => 'shop', start_time => $manifest->{'Start-Time'}, rows => 20000, files => 1,
		reused_files => 0, raw_bytes => $raw, stored_bytes => $stored, reused_raw_bytes => 0 },
	'a first run: the record contains the figures of the manifest');
is("$runs[0]{rows} $runs[0]{raw} $runs[0]{stored}", "20000 $raw $stored", 'a first run: rows and bytes in the page');
cmp_ok(abs($runs[0]{rate} * $record->{data_microseconds} / 1e6 - $raw), '<', $raw / 1000, 'a first run: the rate refers to the time in which data was read');

(undef, $page) = dumped('shop', "--incremental=$first");
($own, @runs) = runs_of('a second run', $page);
is("$own " . @runs, '0 2', 'a second run: the page shows two runs, and the newest is its own');
is($runs[1]{raw}, $raw, 'a second run: the page also shows the first run');
is("$runs[0]{reused} of $runs[0]{files}, $runs[0]{reused_bytes} of $runs[0]{raw}, at $runs[0]{rate}", "1 of 1, $raw of $raw, at 0", 'a second run: reused files and bytes in the page');

(undef, my $other) = dumped($odd);
is((runs_of('another database', $other))[1]{rows}, 0, 'another database: the older run is one of this database');
is(scalar(my @alone = runs_of('another database again', $other)), 2, 'another database: the page shows its two runs');
my ($odd_name) = grep { !/^dump-shop/ } record_names('dump');
like($odd_name, qr/^dump-odd=2F=22=3Cb=3E=22=3Dname--\d{8}T/, 'a name of any characters');
is(read_record($odd_name)->{database}, $odd, 'the record contains the name of the database');

# ---- of an archive, without a record

{
	my $page = new_path('verified.html');
	my ($rc, undef, $err) = run_program('pg_pardump', "--verify=$first", "--report=$page", "--report-history=$history");
	is("$rc$err", '0', '--verify: exit code');
	my ($own, @runs) = runs_of('--verify', $page);
	is("$own " . @runs, '1 2', '--verify: the run that made the archive, among the others');
	is(scalar(record_names('dump')), 3, '--verify: number of records');
	my $missing = new_path('missing');
	($rc, undef, $err) = run_program('pg_pardump', "--verify=$first", "--report=$page", "--report-history=$missing");
	is($rc, 1, '--verify, no directory: exit code');
	like($err, qr/error: could not open directory "\Q$missing\E": No such file/, '--verify, no directory: message');
	ok(!-e $missing, '--verify: no directory is made');
}

# ---- other programs

my @report = ('--report=' . new_path('other.html'), "--report-history=$history");
foreach my $run (
	[ 'copy-shop', 'pg_pardump', '-d', $node->connstr('shop'), '--target', $node->connstr('copied') ],
	[ 'restore-shop', 'pg_parrestore', '-c', '--if-exists', '-d', $node->connstr('copied'), $first ],
	[ 'basebackup', 'pg_parbasebackup', connection($node), '-c', 'fast', '--no-sync', '-D', new_path('base') ])
{
	my ($name, $program, @options) = @$run;
	my ($rc, undef, $err) = run_program($program, @report, @options);
	is($rc, 0, "$name: exit code") or diag($err);
	my @found = record_names($name);
	is(scalar @found, 1, "$name: number of records");
	cmp_ok(read_record($found[0])->{raw_bytes}, '>', 0, "$name: the record contains the bytes");
	my ($own, @runs) = runs_of($name, $report[0] =~ s/^--report=//r);
	is("$own " . @runs, '0 1', "$name: the page shows only this run");
}

{
	my ($dir, $pages) = (new_path('all'), new_path('pages'));
	my ($rc, undef, $err) = run_program('pg_pardump', '--all-databases', '-d', $node->connstr('postgres'), '--no-sync', '-f', $dir,
		"--report=$pages", "--report-history=$history");
	is("$rc$err", '0', '--all-databases: exit code');
	is(scalar(record_names('dump-shop')), 3, '--all-databases: database shop gets another record');
	is(scalar(record_names('dump-postgres')), 1, '--all-databases: database postgres gets its first record');
	my ($rc2, undef, $err2) = run_program('pg_pardump', '--all-databases', '-d', $node->connstr('postgres'), '-f', new_path('none'),
		"--report=$pages", '--report-history=/nowhere/x');
	is($rc2, 1, '--all-databases, no directory: exit code');
	is(scalar(() = $err2 =~ /could not create directory "\/nowhere\/x"/g), 1, '--all-databases, no directory: said once');
}

# ---- more than are shown, and more than are kept

sub made_up
{
	my ($second, %changes) = @_;
	my $time = sprintf '2026-01-01T%02d:%02d:%02d.000000Z', $second / 3600, $second / 60 % 60, $second % 60;
	my %record = (pg_pardump_run => 1, start_time => $time, end_time => $time, rows => 1, %changes);
	my $name = 'dump-shop-' . $time =~ s/[-:]//gr . '.json';
	append_to_file("$history/$name", ref $changes{text} ? ${ $changes{text} } : encode_json(\%record));
	return $name;
}

made_up($_) foreach 1 .. 150;
(undef, $page, $err) = dumped('shop');
is($err, '', 'many records: no message');
($own, @runs) = runs_of('many records', $page);
is("$own " . @runs, '0 30', 'many records: 30 are shown');
is(scalar(grep { $_->{rows} == 1 } @runs), 26, 'many records: the newest of them');
@names = record_names('dump-shop');
is(scalar @names, 100, 'many records: 100 are kept');
is($names[0], 'dump-shop-20260101T000055.000000Z.json', 'many records: the oldest are removed');
is(scalar(record_names($_)), $_ eq 'dump-odd' ? 2 : 1, "many records: $_ is not touched") foreach 'dump-odd', 'copy', 'restore', 'basebackup';

# ---- files that are not records

unlink map { "$history/$_" } record_names('dump-shop-20260101');
my $outside = new_path('outside');
append_to_file($outside, "precious\n");
my $later = 86000;
my %bad;
my $bad_file = sub { my ($text) = @_; $bad{ made_up(++$later, text => \$text) } = 1; return; };
$bad_file->($_) foreach '', '{', "\0" x 100, 'x' x 5000, '[]', '{"pg_pardump_run": 2}', '{"pg_pardump_run": 1}',
  '<script>alert(1)</script>', '{"pg_pardump_run": 1, "start_time": "<script>", "end_time": "2026-01-01T00:00:00Z"}';
my ($start, $end) = map { qq("${_}_time": "2026-01-01T00:00:00Z") } qw(start end);
$bad_file->(qq({"pg_pardump_run": 1, $start, $end, $_})) foreach '"rows": -1', '"rows": 1e99', '"rows": 99999999999999999999', '"rows": "<b>"',
  '"raw_bytes": 1, "reused_raw_bytes": 2', '"files": 1, "reused_files": 2', '"rows": 1, "rows": 2';
$bad_file->(qq({"pg_pardump_run": 1, $start, "end_time": "2025-01-01T00:00:00Z"}));
my $name_of = sub { $bad{ my $name = made_up(++$later, text => \'') } = 1; unlink "$history/$name"; return "$history/$name"; };
mkfifo($name_of->(), 0600) or die "could not make a FIFO: $!";
symlink $outside, $name_of->() or die "could not make a link: $!";
mkdir $name_of->() or die "could not make a directory: $!";

# the page shows no text of a record
made_up(1, command => '<script>alert(1)</script>', database => "\x{2028}</script>", version => '@DATA@', other => '<!--');
made_up(2, raw_bytes => 18446744073709551615, stored_bytes => 18446744073709551615, data_microseconds => 1);
# these have other names
append_to_file("$history/$_", 'x') foreach 'dump-shop-note.json', 'dump-shop-20260101T000000.000000Z.json.tmp', 'other';

(undef, $page, $err) = dumped('shop');
my $n_bad = keys %bad;
like($err, qr/\A\S+ warning: skipped $n_bad files in directory "\Q$history\E" of option --report-history\n\S+ detail: "dump-shop-[^"]+" is not a regular file\.\n\z/,
	'files that are not records: one warning');
($own, @runs) = runs_of('files that are not records', $page);
is(scalar @runs, 7, 'files that are not records: the runs that are');
unlike(slurp_file($page) =~ s{<script>.*</script>}{}sr, qr/\b(?:nan|inf)\b|alert/i, 'files that are not records: nothing of them');
is(slurp_file($outside), "precious\n", 'a link leads nowhere');
is_deeply([ grep { !-e "$history/$_" && !-l "$history/$_" } sort keys %bad ], [], 'files that are not records are left');

# ---- what cannot be

my $db = $node->connstr('shop');
my $shared = new_path('shared');
mkdir $shared, 0777 or die "could not make a directory: $!";
foreach my $case (
	[ 'without a page', qr/option --report-history requires option --report/, "--report-history=$history" ],
	[ 'without a name', qr/invalid value "" for option --report-history/, '--report-history=', '--report=x.html' ],
	[ 'nowhere', qr/could not create directory "\/nowhere\/x"/, '--report-history=/nowhere/x', '--report=' . new_path('x.html') ],
	[ 'a file', qr/could not open directory "\Q$outside\E": Not a directory/, "--report-history=$outside", '--report=' . new_path('x.html') ],
	[ 'a shared directory', qr/directory "\Q$shared\E" of option --report-history is not private\n.*detail: /, "--report-history=$shared",
		'--report=' . new_path('x.html') ])
{
	my ($what, $message, @options) = @$case;
	refused_ok($message, $what, @options, '-d', $db);
}
{
	my $dir = new_path('inside');
	mkdir $dir, 0700 or die "could not make a directory: $!";
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $db, '-f', $dir, '--report=' . new_path('x.html'), "--report-history=$dir");
	is($rc, 1, 'in the archive: exit code');
	like($err, qr/file ".*" of option --report-history must not be in the archive's directory/, 'in the archive: message');
	is(listing($dir), '', 'in the archive: no file is created');
}
foreach my $command (
	[ 'pg_parrestore', '-d', $db, $first ],
	[ 'pg_parbasebackup', connection($node), '-D', new_path('base') ])
{
	my ($rc, undef, $err) = run_program($command->[0], "--report-history=$history", @$command[ 1 .. $#$command ]);
	is($rc, 1, "$command->[0] without a page: exit code");
	like($err, qr/option --report-history requires option --report/, "$command->[0] without a page: message");
	($rc, undef, $err) = run_program($command->[0], '--report-history=', '--report=x.html', @$command[ 1 .. $#$command ]);
	is($rc, 1, "$command->[0] without a name: exit code");
	like($err, qr/invalid value "" for option --report-history/, "$command->[0] without a name: message");
}
SKIP:
{
	skip 'root may write anywhere', 3 if $> == 0;
	my $full = new_path('full');
	mkdir $full, 0500 or die "could not make a directory: $!";
	my $page = new_path('page.html');
	my ($rc, undef, $err) = run_program('pg_pardump', '-d', $db, '--no-sync', '-f', new_path('dump'), "--report=$page", "--report-history=$full");
	is($rc, 0, 'no record can be written: exit code');
	like($err, qr/\A\S+ warning: could not write file "\Q$full\E\/dump-shop-\S+": Permission denied\n\z/, 'no record can be written: a warning');
	is(scalar(my @found = runs_of('no record can be written', $page)), 2, 'no record can be written: the page shows the run');
}

# ---- by a browser

my ($browser) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") } split /:/, $ENV{PATH};
SKIP:
{
	skip 'no Chromium to render the page with', 4 if !defined $browser;
	my $dom = browse($browser, $page, '--dump-dom');
	my ($charts) = $dom =~ m{<h2>The last 7 runs</h2>(.*?)</section>}s;
	is(join(', ', ($charts // '') =~ m{<dt>([\w ]+)}g), 'Data, Time, Rate, Reused data', 'charts of the last runs');
	is(scalar(() = ($charts // '') =~ m{<rect class="stored" x=}g), 4 * 7, 'a bar for each run');
	is(scalar(() = ($charts // '') =~ m{>this run</text>}g), 4, 'this run is marked');
	like($dom, qr{<table id="runs">.*this run.*</table>}s, 'the table of runs');
}

$node->stop;
done_testing();
