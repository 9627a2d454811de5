# What pg_parrestore does when something is wrong: as pg_restore it reports an
# error, continues, and counts; nothing is half loaded, nothing twice.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program dump_ok new_path value sql);
use Pardump::Compare qw(fingerprint differences same_data_ok);
use Pardump::Copy qw(no_temp_files_ok sessions_left);
use Pardump::DamagedArchive qw(damaged flipped cut gone other_manifest other_toc);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore parrestore_ok same_as_stock_ok errors_ignored);
use Pardump::Report qw(data_of);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('parrestore_errors');
my $copies = 0;
make_database($node, 'modes', options => 'TEMPLATE template0', files => ['modes.sql'], vars => { part => 2 });
my %rows = (accounts => 30000, history => 20000, toast => 1500);
sql($node, 'modes', 'CREATE ROLE rich; ALTER TABLE toast OWNER TO rich');
my $data = fingerprint($node, 'modes');

my $dir = dump_ok($node, 'modes', 'chunks', 'pg_pardump', '-Zgzip', '--max-table-segment-pages=32');
my $manifest = decode_json(slurp_file("$dir/pg_pardump_manifest.json"));

# Files of a table's chunks, in their order.
sub files_of
{
	my ($table) = @_;
	return map { $_->{Path} } grep { ($_->{Table} // '') eq $table } @{ $manifest->{Files} };
}

sub new_copy { return empty_copy($node, 'modes', 'copy' . ++$copies); }

# With one error, which is told: the tables named are all that differ.
sub one_error_ok
{
	my ($archive, $what, $message, $tables, @options) = @_;
	my $db = new_copy();
	my ($rc, $out, $err) = run_parrestore($node, $db, $archive, '-j2', @options);
	is("$rc $out", '1 ', "$what: exit code");
	like($err, $message, "$what: message");
	my @errors = $err =~ /^pg_\w+: error: /mg;
	is(errors_ignored($err), scalar(@errors), "$what: as many errors as are told");
	my %differ = map { /^(?:table )?([\w. ]+?)(?: \d+)?: / ? ($1 => 1) : () }
	  differences($data, fingerprint($node, $db));
	is_deeply([ sort keys %differ ], $tables, "$what: tables with differences");
	no_temp_files_ok($what);
	return $db;
}

# ---- damaged data

my ($chunk, $other) = files_of('history');
isnt($other, undef, 'the archive contains another chunk');
my ($whole) = files_of('toast');

foreach my $case (
	[ 'cut', cut($chunk, 2000), qr/compressed data is truncated|unexpected end/ ],
	[ 'flipped', flipped($chunk, 5000), qr/./ ],
	[ 'gone', gone($chunk), qr/does not exist/ ])
{
	my ($what, $damage, $reason) = @$case;
	my $db = one_error_ok(damaged($dir, $damage),
		$what, qr/error: COPY failed for chunk 1 of \d+ of table public\.history: .*$reason/,
		['public.history']);
	my $rows = value($node, $db, 'SELECT count(*) FROM history');
	my ($missing) = map { $_->{Rows} } grep { $_->{Path} eq $chunk } @{ $manifest->{Files} };
	is($rows, $rows{history} - $missing, "$what: all of the other chunks");
}

# without the mark at their end rows are not whole, though stock would take them
my $stocks = new_path('stock');
run_program('pg_dump', '-Fd', '-Z0', '-f', $stocks, '-d', $node->connstr('modes'));
my ($toast) = grep { slurp_file($_) =~ /\A1\t[0-9a-f]{100}/ } glob "$stocks/*.dat";
($toast) = $toast =~ /([^\/]+)$/;
my $whole_lines = length(slurp_file("$stocks/$toast") =~ s/^\\\.\n+\z//mr);
one_error_ok(damaged($stocks, cut($toast, $whole_lines)),
	'no end', qr/COPY failed for table public\.toast: the line that ends the rows is missing/, ['public.toast'],
	'--chunk-size=1GB');
one_error_ok(damaged($stocks, cut($toast, $whole_lines)),
	'no end, pieces', qr/COPY failed for a piece of table public\.toast: the line that ends the rows is missing/,
	['public.toast'], '--chunk-size=1MB');
one_error_ok(damaged($stocks, gone('blob_7007.dat')),
	'no large object', qr/could not restore 30 large objects, 7001 to 7030: .*"blob_7007\.dat" does not exist/,
	['large object']);
one_error_ok(damaged($dir, cut('blob_7007.dat.gz', 12)),
	'large object', qr/could not restore 30 large objects, 7001 to 7030: .*the compressed data is truncated/,
	['large object']);

one_error_ok(
	damaged($dir, other_manifest(sub { s/("Path": "\Q$whole\E".*?"Rows": )1500/${1}1499/s })),
	'rows', qr/COPY failed for table public\.toast: the manifest contains 1499 rows, but the target stored 1500/,
	['public.toast']);

{
	my $db = new_copy();
	my ($rc, $out, $err) = run_parrestore($node, $db, damaged($dir, flipped($chunk, 5000)), '--verify', '-j2');
	is($rc, 1, '--verify, damaged: exit code');
	like($err, qr/^pg_parrestore: error: file "\Q$chunk\E" /m, '--verify, damaged: message');
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace}),
		0, '--verify, damaged: no relation is created');
	($rc, $out, $err) = run_parrestore($node, $db, $dir, '--verify', '-j2');
	is("$rc $err", '0 ', '--verify, sound: restored');
	same_data_ok($data, fingerprint($node, $db), '--verify');
}

# ---- small tables of one job

sql($node, 'modes', 'CREATE TABLE small_' . $_ . ' AS SELECT 1 AS a') foreach (1 .. 3);
$data = fingerprint($node, 'modes');
my $small = dump_ok($node, 'modes', 'small', 'pg_pardump', '-Zgzip');
$manifest = decode_json(slurp_file("$small/pg_pardump_manifest.json"));
one_error_ok(damaged($small, cut(files_of('small_2'), 5)),
	'small', qr/COPY failed for table public\.small_2: /, ['public.small_2']);

# ---- a forged archive, whose COPY has others behind it

foreach my $more ('DELETE FROM public.small_2', 'COPY public.small_2 (a) FROM stdin')
{
	my $db = new_copy();
	my ($rc, $out, $err) = run_parrestore($node, $db, damaged($small,
			other_toc(sub { $_->{copy} =~ s/;\n/; $more;\n/ foreach grep { ($_->{copy} // '') =~ /small_2/ } @_ })), '-j2');
	is("$rc $out", '1 ', "$more: exit code");
	like($err, qr/error: unexpected answer from the server\n.*detail: A statement has more than one result\.\n/, "$more: message");
}

# ---- the first error is the end

{
	my $db = new_copy();
	my ($rc, undef, $err) = run_parrestore($node, $db, damaged($small, cut(files_of('small_2'), 5)), '-e', '-j2');
	is($rc, 1, '-e: exit code');
	like($err, qr/^pg_parrestore: error: COPY failed for table public\.small_2: /m, '-e: error');
	like($err, qr/^pg_parrestore: detail: Tables committed on the target with all rows: \d+ of \d+\.\n.*detail: Incomplete tables: .*small_2/m,
		'-e: account');
	unlike($err, qr/errors ignored/, '-e: no error is ignored');
	like($err, qr/hint: Fix the cause, and run the same command with --resume\.\n\z/, '-e: hint');
	is(sessions_left($node), 0, '-e: no session left');
	no_temp_files_ok('-e');
}

# what the target lacks is found before anything is made
my $roles = new_path('roles');
run_program('pg_dump', '-Fd', '-f', $roles, '-d', $node->connstr('modes'));
sql($node, 'modes', 'ALTER ROLE rich RENAME TO poor');
foreach my $option (qw(-e --check))
{
	my $db = new_copy();
	my ($rc, $out, $err) = run_parrestore($node, $db, $roles, $option);
	is($rc, 1, "$option, no role: exit code");
	like("$out$err", qr/the target lacks 1 required role.*rich/s, "$option, no role: message");
	is(value($node, $db, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace}),
		0, "$option, no role: nothing was made");
}
{
	my ($rc, $out, $err) = run_parrestore($node, new_copy(), $roles, '--check', '-O');
	is("$rc $err", '0 ', '--check: exit code and messages');
}
one_error_ok($roles, 'no role', qr/role "rich" does not exist/, []);

# ---- a role that may not look into a schema is refused its tables alone

{
	sql($node, 'postgres', 'CREATE ROLE outsider');
	make_database($node, 'closed', options => 'TEMPLATE template0');
	sql($node, 'closed', q{CREATE SCHEMA closed; CREATE SCHEMA open;
		CREATE TABLE closed.a AS SELECT g AS a FROM generate_series(1, 10) g; CREATE INDEX ON closed.a (a);
		CREATE TABLE open.b AS SELECT g AS b FROM generate_series(1, 10) g; CREATE INDEX ON open.b (b);
		CREATE UNLOGGED TABLE closed.c AS SELECT 1 AS c; CREATE TABLE closed.d (d int) PARTITION BY LIST (d);
		CREATE TABLE closed.d1 PARTITION OF closed.d FOR VALUES IN (1); INSERT INTO closed.d VALUES (1)});
	my $closed = new_path('closed');
	run_program('pg_dump', '-Fc', '-f', $closed, '-d', $node->connstr('closed'));
	my $prepare = sub {
		my ($db) = @_;
		run_program('pg_restore', '-s', '-O', '-d', $node->connstr($db), $closed);
		sql($node, $db, qq{GRANT ALL ON DATABASE $db TO outsider; GRANT ALL ON SCHEMA open TO outsider;
			ALTER TABLE open.b OWNER TO outsider});
	};
	my @options = ('-O', '--role=outsider', '-j2');
	my $err = same_as_stock_ok($node, $closed, 'closed, data', source => 'closed', prepare => $prepare,
		options => [ '-a', @options ]);
	like($err, qr/COPY failed for table closed\.a: .*permission denied for schema closed/, 'closed, data: message');
	same_as_stock_ok($node, $closed, 'closed', source => 'closed', prepare => $prepare, options => \@options);
	$prepare->(my $db = new_copy());
	(my $rc, my $out, undef) = run_parrestore($node, $db, $closed, '--check', @options);
	is($rc, 1, 'closed, --check: exit code');
	like($out, qr/the target already contains 4 of the tables to be created/, 'closed, --check: message');
}

# ---- constraints that are checked late

{
	my $db = new_copy();
	sql($node, 'modes', 'CREATE TABLE late (a int REFERENCES small_keys DEFERRABLE INITIALLY DEFERRED)')
	  if sql($node, 'modes', 'CREATE TABLE small_keys AS SELECT 1 AS a; ALTER TABLE small_keys ADD PRIMARY KEY (a)') eq '';
	sql($node, 'modes', 'INSERT INTO late VALUES (1)');
	my $late = new_path('late');
	run_program('pg_dump', '-Fd', '-a', '-t', 'late', '-t', 'small_1', '-f', $late, '-d', $node->connstr('modes'));
	run_program('bash', '-c', 'pg_dump -s -d "$0" | psql -Xq -d "$1"', $node->connstr('modes'), $node->connstr($db));
	my ($rc, undef, $err) = run_parrestore($node, $db, $late);
	is($rc, 1, 'late constraint: exit code');
	like($err, qr/COPY failed for table public\.late: .*foreign key.*errors ignored on restore: 1\n.*hint: .*\n\z/s,
		'late constraint: message');
	is(value($node, $db, 'SELECT (SELECT count(*) FROM late), (SELECT count(*) FROM small_1)'),
		'0|1', 'late constraint: only the rows of this table are missing');
}

# ---- a session is lost: the job is done again

{
	my $db = new_copy();
	sql($node, $db, q{
		CREATE TABLE toast (id int PRIMARY KEY, v text);
		CREATE SEQUENCE rows_seen;
		CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
			IF nextval('public.rows_seen') IN (100, 1100) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
			RETURN NEW; END$$;
		CREATE TRIGGER lose BEFORE INSERT ON toast FOR EACH ROW EXECUTE FUNCTION lose()});
	my $log = new_path('log');
	my ($rc, undef, $err) = run_parrestore($node, $db, $stocks, '-a', '-t', 'toast', "--log-json=$log");
	is($rc, 0, 'lost: exit code');
	like($err, qr/warning: lost the connection of a worker; .*terminating connection.*detail: The worker was restoring table public\.toast/s, 'lost: message');
	is(value($node, $db, 'SELECT count(*), count(DISTINCT id) FROM toast'), '1500|1500', 'lost: each row once');
	my @events = map { decode_json($_) } split /\n/, slurp_file($log);
	is(scalar(grep { $_->{event} eq 'retry' } @events), 2, 'lost: retries');
	is($events[0]{command}, 'restore', 'log: command');
	is(scalar(grep { $_->{event} eq 'summary' } @events), 1, 'log: summary');
	my ($run) = grep { $_->{event} eq 'run' } @events;
	is($run->{archive}, $stocks, 'log: archive');
}

# ---- a table that is whole in the archive, shared by workers

my $custom = new_path('custom');
run_program('pg_dump', '-Fc', '-f', $custom, '-d', $node->connstr('modes'));
{
	my $db = new_copy();
	my ($log, $page) = (new_path('log'), new_path('page.html'));
	parrestore_ok($node, $db, $custom, 'pieces', '-j3', '--chunk-size=32kB', "--log-json=$log",
		"--report=$page");
	same_data_ok(fingerprint($node, 'modes'), fingerprint($node, $db), 'pieces');
	my @starts = grep { $_->{event} eq 'chunk_start' && $_->{table} eq 'public.toast' }
	  map { decode_json($_) } split /\n/, slurp_file($log);
	is(scalar(@starts), 3, 'pieces: all workers were at it');
	my @shown = map { $_->{piece} =~ /^pieces by worker (\d)$/ }
	  grep { $_->{name} eq 'public.toast' && $_->{blocks} eq 'all' } @{ data_of(slurp_file($page))->{slowest} };
	cmp_ok(scalar(@shown), '>', 0, 'pieces: the page shows which worker had them');
	my %seen;
	is(scalar(grep { $seen{$_}++ } @shown), 0, 'pieces: each worker once');
}

# sessions are lost at many places: each piece is there once
{
	my $db = new_copy();
	sql($node, $db, q{
		CREATE TABLE accounts (id int, branch int, balance int, note text);
		CREATE SEQUENCE rows_seen;
		CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
			IF nextval('public.rows_seen') % 4500 = 0 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
			RETURN NEW; END$$;
		CREATE TRIGGER lose BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION lose()});
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '-a', '-t', 'accounts', '-n', 'public',
		'-j3', '--chunk-size=32kB', '--retries=20');
	is($rc, 0, 'pieces, lost: exit code');
	my @lost = $err =~ /(terminating connection)/g;
	cmp_ok(scalar(@lost), '>=', 5, 'pieces, lost: sessions');
	is(value($node, $db, 'SELECT count(*), count(DISTINCT id) FROM accounts'), '30000|30000',
		'pieces, lost: each row once');
}

# an error is that of a piece; the others are there
{
	my $db = new_copy();
	sql($node, $db, q{CREATE TABLE accounts (id int CHECK (id <> 15000), branch int, balance int, note text)});
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '-a', '-t', 'accounts', '-n', 'public',
		'-j2', '--chunk-size=32kB', '--progress');
	is($rc, 1, 'pieces, error: exit code');
	like($err, qr/^1 incomplete table: public\.accounts\nrestored archive ".*" into database ".*":\n  1 table, .*\n  errors ignored: 1\n/m, 'pieces, error: summary');
	like($err, qr/COPY failed for a piece of table public\.accounts: .*violates check constraint.*errors ignored on restore: 1\n.*hint: .*\n\z/s,
		'pieces, error: message');
	my $rows = value($node, $db, 'SELECT count(*) FROM accounts');
	cmp_ok($rows, '<', $rows{accounts}, 'pieces, error: less than all');
	cmp_ok($rows, '>', $rows{accounts} - 2000, 'pieces, error: all of the others');
}

# constraints that are checked late are those of the piece
{
	my $db = new_copy();
	sql($node, $db, q{CREATE TABLE good (id int PRIMARY KEY); INSERT INTO good SELECT generate_series(2, 30000);
		CREATE TABLE accounts (id int REFERENCES good DEFERRABLE INITIALLY DEFERRED, branch int, balance int, note text)});
	my ($rc, undef, $err) = run_parrestore($node, $db, $custom, '-a', '-t', 'accounts', '-n', 'public',
		'-j2', '--chunk-size=32kB');
	is($rc, 1, 'pieces, late constraint: exit code');
	like($err, qr/COPY failed for a piece of table public\.accounts: .*foreign key.*errors ignored on restore: 1\n.*hint: .*\n\z/s,
		'pieces, late constraint: message');
	cmp_ok(value($node, $db, 'SELECT count(*) FROM accounts'), '>', $rows{accounts} - 2000, 'pieces, late constraint: the others');
}

# what cannot be read ends it
{
	my $db = new_copy();
	my $bytes = slurp_file("$stocks/$toast");
	my $cut = damaged($stocks, cut($toast, int(length($bytes) / 2)));
	my ($rc, undef, $err) = run_parrestore($node, $db, $cut, '-j2', '--chunk-size=64kB', '-t', 'toast', '-O');
	is($rc, 1, 'pieces, cut: exit code');
	like($err, qr/COPY failed for a piece of table public\.toast: .*errors ignored on restore: 1\n.*hint: .*\n\z/s,
		'pieces, cut: message') or diag($err);
	my $rows = value($node, $db, 'SELECT count(*) FROM toast');
	ok($rows > 0 && $rows <= $rows{toast} / 2, "pieces, cut: the rows before the cut are loaded") or diag($rows);
}

# ---- messages and events

# All indexes are built as soon as the rows of their tables are loaded, even those of
# tables in chunks, and not with the other definitions at the end.
{
	my ($db, $log) = (new_copy(), new_path('log'));
	my (undef, undef, $err) = run_parrestore($node, $db, $dir, '-j2', '-O', "--log-json=$log");
	is($err, '', 'indexes: no message');
	my @built = map { $_->{name} } grep { $_->{event} eq 'index_end' }
	  map { decode_json($_) } split /\n/, slurp_file($log);
	is_deeply([ sort @built ],
		[ map { "public.$_" } qw(accounts_branch accounts_pkey chicken_pkey egg_pkey history_account history_pkey toast_pkey) ],
		'indexes: all are built while rows are loaded');
}

{
	my ($db, $page) = (new_copy(), new_path('page.html'));
	my ($rc, $out, $err) = run_parrestore($node, $db, $small, '-j2', '--progress', "--report=$page", '-O');
	is("$rc $out", '0 ', 'progress: nothing on standard output');
	like($err, qr/^rows 100%/m, 'progress: rows');
	like($err, qr/^restored archive ".*" into database ".*":\n  11 tables, [\d,]+ rows, (?:\d+ large objects?, )?\S+ [kM]B in [\d.]+ s, \S+ [kM]B\/s$/m, 'progress: summary')
	  or diag($err);
	my $html = slurp_file($page);
	like($html, qr/<h1>Restore of database .*The restore is complete.*toast_pkey/s, 'report: a restore');
	same_data_ok($data, fingerprint($node, $db), 'progress');
}

# ---- names that the target's encoding does not have

foreach my $try (
	[ 'SQL_ASCII', 'UTF8', q{'CREATE TABLE "n' || convert_from('\xe9', 'SQL_ASCII') || '" (a int)'} ],
	[ 'UTF8', 'LATIN1', q{'CREATE TABLE "n' || chr(8364) || '" (a int)'} ])
{
	my ($from, $to, $create) = @$try;
	my $what = "$from to $to";
	my ($db, $copy) = (lc "from_$from", lc "to_$to");
	make_database($node, $db, options => "TEMPLATE template0 ENCODING '$from' LOCALE 'C'");
	make_database($node, $copy, options => "TEMPLATE template0 ENCODING '$to' LOCALE 'C'");
	sql($node, $db, q{CREATE TABLE fine AS SELECT g FROM generate_series(1, 10) g});
	sql($node, $db, qq{DO \$\$BEGIN EXECUTE $create; END\$\$});
	sql($node, $db, q{CREATE TABLE bytes AS SELECT convert_from('\xe9e8', 'SQL_ASCII') AS v}) if $from eq 'SQL_ASCII';
	my $archive = dump_ok($node, $db, $what, 'pg_pardump');
	my $named = qr/error: the name of 1 table cannot be converted to the target's encoding, $to\n/;
	my ($rc, $out, $err) = run_parrestore($node, $copy, $archive, '--check');
	is($rc, 1, "$what, --check: exit code");
	like($out, $named, "$what, --check: finding");
	($rc, undef, $err) = run_program('pg_pardump', '-d', $node->connstr($db), '--target', $node->connstr($copy));
	is($rc, 1, "$what, a copy: exit code");
	like($err, $named, "$what, a copy: message");
	($rc, undef, $err) = run_parrestore($node, $copy, $archive, '--compare-with', $node->connstr($db));
	is($rc, 1, "$what: exit code");
	is(scalar(() = $err =~ /error: COPY failed for table public\."n/g), 1, "$what: an error of the table");
	is(value($node, $copy, 'SELECT count(*) FROM fine'), 10, "$what: the other table is restored");
	like($err, qr/error: table public\."n.*" is only in source database "[^"]+"\n/, "$what: message about the missing table");
	like($err, qr/error: source and target differ in 1 object\n/, "$what: all other tables are equal");
}

# ---- no archive

foreach my $case (
	[ 'nothing', new_path('nothing'), qr/No such file/ ],
	[ 'a script', __FILE__, qr/not an archive|input file does not appear to be a valid archive/ ],
	[ 'no toc', damaged($dir, gone('toc.dat')), qr/toc\.dat/ ],
	[ 'bad toc', damaged($dir, cut('toc.dat', 3000)), qr/./ ])
{
	my ($what, $archive, $message) = @$case;
	my ($rc, $out, $err) = run_parrestore($node, 'postgres', $archive);
	is("$rc $out", '1 ', "$what: exit code");
	like($err, $message, "$what: message");
	unlike($err, qr/committed/, "$what: no account");
}

$node->stop;
done_testing();
