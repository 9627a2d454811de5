# --dry-run shows the plan that a dump with the same options then executes, and
# leaves nothing behind: no file, no session, no lock.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(sessions wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value
  make_loop_server);
use Pardump::Command qw(refused_ok);
use Pardump::Layout qw(chunks_of);
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL::Test::Utils names all sessions alike; sessions() knows ours by their own
# names.
delete $ENV{PGAPPNAME};

my $node = start_cluster('dry_run');
make_database($node, 'shop');
make_loop_server($node, 'shop');
sql($node, 'shop', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE big AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE TABLE large (id int, t text);
ALTER TABLE large ALTER t SET STORAGE EXTERNAL;
INSERT INTO large SELECT g, repeat('x', 10000) FROM generate_series(1, 100) g;
CREATE TABLE middle AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 3000) g;
CREATE TABLE empty (a int);
CREATE TABLE "two
lines" AS SELECT 1 AS a;
CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE by_other USING other AS SELECT * FROM big;
CREATE FOREIGN TABLE far (id int, t text) SERVER loop OPTIONS (table_name 'big');
SELECT lo_from_bytea(0, 'contents') FROM generate_series(1, 3);
ANALYZE;
CREATE TABLE bloated WITH (autovacuum_enabled = off) AS SELECT * FROM big;
DELETE FROM bloated WHERE id > 20;
CREATE ROLE reader LOGIN IN ROLE pg_read_all_data;
SQL
my @db = ('-d', $node->connstr('shop'));

# Runs it; returns what it prints, by line.
sub dry_run
{
	my ($what, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', '--dry-run', @options);
	ok($rc == 0 && $err eq '', "$what: --dry-run works in silence")
	  or diag("exit code $rc: $err");
	# they end a moment after their client
	ok(wait_until("$what: no session", sub { sessions($node) == 0 }), "$what: no session left");
	return split /\n/, $out;
}

# Of its table: name => [heap, TOAST, chunks, expected, read by, why], where the
# reasons stand below the table, each once.
sub plan_of
{
	my %plan;
	my %reasons = map { /^\((\d+)\) (.*)/ ? ($1 => $2) : () } @_;
	is(scalar(keys %{ { reverse %reasons } }), scalar(keys %reasons), 'each reason is printed once');
	foreach my $line (@_)
	{
		my ($name, @cells) = map { s/^\s+|\s+$//gr } split /\|/, $line;
		next if @cells != 6 || $name eq 'Table';
		$cells[5] = join '; ', map { $reasons{$_} } $cells[5] =~ /\d+/g;
		$plan{$name} = \@cells;
	}
	return \%plan;
}

# ---- the plan is what is done

foreach my $options ([ '-j2', '--chunk-size=64kB' ], ['--max-table-segment-pages=10'],
	[ '--no-extension', '--chunk-size=64kB' ], [ '--no-chunks', '--include-foreign-data=loop' ],
	[ '--chunk-size=64kB', '-T', 'big', '--include-foreign-data=loop' ])
{
	my $what = "@$options";
	my @lines = dry_run($what, @db, @$options);
	my $plan = plan_of(@lines);
	my $dir = new_path('done');
	my ($rc, undef, $said) = run_program('pg_pardump', @db, @$options, '-v',
		'--no-sync', '-f', $dir);
	is($rc, 0, "$what: the dump itself");

	my (%planned, %done);
	foreach my $name (grep { /^public\.[a-z_]+$/ } keys %$plan)
	{
		my ($chunks, $reader, $why) = @{ $plan->{$name} }[ 2, 4, 5 ];
		$planned{$name} = "$chunks by $reader";
		$planned{$name} .= ": $1" if $why =~ /\bread with COPY: (.*)/;
	}
	while ($said =~ /dumping contents of (?:chunk \d+ of (\d+) of )?table (\S+) with (the )?(COPY|extension)(?: \(reason: (.*)\))?$/mg)
	{
		my ($chunks, $table, $reader, $why) = ($1 // 1, $2, $4, defined $5 ? ": $5" : '');
		$done{$table} = "$chunks by $reader$why" if $table !~ /"/;
	}
	is_deeply(\%planned, \%done, "$what: as it was planned");
	cmp_ok(scalar(keys %planned), '>=', 4, "$what: tables in the plan");
	is(chunks_of($dir, 'big') || 1, $plan->{'public.big'}[2], "$what: chunks in the archive")
	  if $plan->{'public.big'};
	like(join(qq(\n), @lines), qr/^tables: \d+, chunks: \d+, large objects: 3, to read: about .*\n(?:chunk size: .*\n)?compression: \w+\z/m,
		"$what: sums");
	is($plan->{'(3 large objects)'}[2], 1, "$what: large objects");
}

my $plan = plan_of(dry_run('sizes and reasons', @db, '--chunk-size=64kB', '--include-foreign-data=loop'));
is($plan->{'public.large'}[0], '8.00 kB', 'sizes: heap');
like($plan->{'public.large'}[1], qr/^1\.\d\d MB$/, 'sizes: TOAST');
is_deeply($plan->{'public.large'}[5], 'not split: it has one block', 'reasons: one block');
is($plan->{'public.big'}[5], '', 'reasons: no reason for a table that is split and read with the extension');
is($plan->{'public.empty'}[5], 'not split: it is smaller than 1.5 times the chunk size; read with COPY: it is a small table',
	'reasons: two');
is($plan->{'public.by_other'}[5], 'not split, and read with COPY: its access method is not heap',
	'reasons: one for both');
$plan = plan_of(dry_run('few live rows', @db, '-t', 'bloated', '--chunk-size=512kB'));
is($plan->{'public.bloated'}[5], 'not split: its rows fit into one chunk', 'reasons: few live rows');

# ---- the true reasons, and what a chunk is

foreach my $try ([ [], qr/^not split: it is smaller than 1\.5 times the chunk size$/, qr/\nchunk size: 32\.0 MB\n/ ],
	[ ['--no-chunks'], qr/^not split: option --no-chunks was specified$/, qr/to read: .*\ncompression: / ],
	[ ['--max-table-segment-pages=100000'], qr/^not split: it is not larger than --max-table-segment-pages$/,
		qr/\nchunk size: 100000 pages\n/ ],
	[ ['--no-extension'], qr/; read with COPY: option --no-extension was specified$/, qr/./ ],
	[ ['--role=reader'], qr/; read with COPY: the role may not use extension pg_pardump$/, qr/./,
		'REVOKE EXECUTE ON FUNCTION pardump.pg_pardump_last_read() FROM PUBLIC' ],
	[ [], qr/; read with COPY: extension pg_pardump has version 0\.9, not [0-9.]+$/, qr/./,
		q{UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'pg_pardump'} ],
	[ [], qr/; read with COPY: the database has no extension pg_pardump$/, qr/./, 'DROP EXTENSION pg_pardump' ])
{
	my ($options, $why, $sums, $change) = @$try;
	my $what = join ' ', 'why', @$options, $change // ();
	sql($node, 'shop', $change) if $change;
	my @lines = dry_run($what, @db, '-t', 'big', @$options);
	like(plan_of(@lines)->{'public.big'}[5], $why, "$what: why");
	like(join(qq(\n), @lines[ -3 .. -1 ]), $sums, "$what: chunks");
}
# ---- largest first, small ones summed up, and the same as JSON

{
	make_database($node, 'many');
	sql($node, 'many', 'CREATE EXTENSION pg_pardump; SELECT lo_from_bytea(0, \'x\');' . join '', map {
		"CREATE TABLE t$_ AS SELECT g AS id FROM generate_series(1, $_ * 300) g;" } 1 .. 30);
	sql($node, 'many', 'VACUUM FULL');    # from 16 on tables grow by several pages
	my @many = ('-d', $node->connstr('many'));
	my @lines = dry_run('many tables', @many);
	my @names = map { /^ public\.(\S+)/ ? $1 : () } @lines;
	is_deeply(\@names, [ map { "t$_" } reverse 11 .. 30 ], 'many tables: the 20 largest, largest first');
	my ($small) = grep { /^ \(10 smaller tables\) / } @lines;
	my ($pages) = value($node, 'many', "SELECT sum(pg_relation_size('t' || g)) FROM generate_series(1, 10) g");
	like($small // '', qr{\| +@{[ $pages / 1024 ]} kB \| 0 bytes \| +10 \| +\d+ kB \| COPY }, 'many tables: the others in one line');
	is_deeply([ grep { length > 80 } grep { / \| / } @lines ], [], 'many tables: the table has 80 columns');
	is(scalar(grep { /smaller than 1\.5 times the chunk size/ } @lines), 1, 'many tables: a reason once');

	my @all = dry_run('many tables, in chunks', @many, '--max-table-segment-pages=1');
	is(scalar(grep { /^ public\./ } @all), 30, 'many tables: each split table has its own line');
	my ($rc, $out) = run_program('pg_pardump', '--dry-run', '-v', @many);
	is(scalar(() = $out =~ /^ public\./mg), 30, 'many tables: -v shows all');

	my $err;
	($rc, $out, $err) = run_program('pg_pardump', '--dry-run', @many, '-j2', '--log-json=-', '--expected-rate=8kB');
	is($rc, 0, 'JSON: exit code');
	is_deeply([ grep { !/^\(\d\) / } split /\n/, $err =~ s/^expected time.*//mr ],
		[ grep { !/^\(\d\) / } @lines ], 'JSON: the text goes to standard error');
	my @events = grep { $_->{event} !~ /^(start|stage)$/ }
	  map { JSON::PP->new->utf8->decode($_) } split /\n/, $out;
	is_deeply([ map { $_->{event} } @events ], [ ('plan') x 30, 'dry_run' ], 'JSON: nothing but events');
	is_deeply([ map { $_->{table} } @events[ 0 .. 29 ] ], [ map { "public.t$_" } reverse 1 .. 30 ],
		'JSON: all tables, largest first');
	is_deeply([ @{ $events[29] }{qw(heap_bytes toast_bytes chunks read_by why_whole why_sql)} ],
		[ value($node, 'many', "SELECT pg_relation_size('t1')"), 0, 1, 'SQL',
			'it is smaller than 1.5 times the chunk size', 'it is a small table' ], 'JSON: a table');
	is_deeply([ grep { exists $_->{why_sql} != ($_->{read_by} eq 'SQL') } @events[ 0 .. 29 ] ], [],
		'JSON: why SQL reads it');
	is_deeply([ @{ $events[30] }{qw(jobs tables chunks large_objects)} ], [ 2, 30, 30, 1 ], 'JSON: sums');
	cmp_ok($events[30]{expected_seconds}, '>', 10, 'JSON: expected time');
}
like(join("\n", dry_run("a name of two lines", @db)), qr{^ public\."two\\x0alines"\s+\|}m, "a name of two lines");

# ---- the time: all by one worker, and one table that keeps one of two busy

my $pages = value($node, 'shop', "SELECT pg_relation_size('middle') / 8192");
foreach my $try ([ 1, $pages ], [ 2, 2 * $pages ])
{
	my ($jobs, $seconds) = @$try;
	my @lines = dry_run("$jobs jobs", @db, '-t', 'middle', '--no-chunks', "-j$jobs",
		'--expected-rate=8kB');
	is($lines[-1], sprintf('expected time: %d:%02d, with %s at 8.00 kB/s', $seconds / 60, $seconds % 60,
			$jobs == 1 ? '1 job' : "$jobs jobs"), "$jobs jobs: expected time");
}

# ---- nothing is written, no lock is waited for longer than a dump would

my $dir = new_path('never');
dry_run('with -f', @db, '-f', $dir);
ok(!-e $dir, 'with -f: no directory made');
mkdir $dir or die "could not make directory \"$dir\": $!";
dry_run('with -f, an empty directory', @db, '-f', $dir);
is_deeply([ glob "$dir/*" ], [], 'with -f: nothing in it');
append_to_file("$dir/file", 'x');
my ($rc, $out, $err) = run_program('pg_pardump', '--dry-run', @db, '-f', $dir);
is("$rc$out", '1', 'a directory that is not empty: exit code');
like($err, qr/exists but is not empty/, 'a directory that is not empty: message');
sql($node, 'shop', 'TRUNCATE empty');    # would hang if a lock were left

my @lines = dry_run('no tables', @db, '-s');
like($lines[-3], qr/^tables: 0, chunks: 0, large objects: 0, to read: about 0 bytes$/, 'no tables');
($rc, undef, $err) = run_program('sh', '-c', 'exec pg_pardump --dry-run -d "$0" >/dev/full',
	$node->connstr('shop'));
is($rc, 1, 'output that cannot be written: exit code');
like($err, qr/could not write to standard output: No space left/, 'output that cannot be written');
refused_ok(qr/option --expected-rate requires option --check or --dry-run/, '--expected-rate alone',
	@db, '--expected-rate=1MB');
refused_ok(qr/invalid value "fast" for option --expected-rate/, 'a rate that is none',
	@db, '--dry-run', '--expected-rate=fast');

# ---- one of each

make_database($node, 'small');
sql($node, 'small', 'CREATE TABLE one AS SELECT 1 AS a; SELECT lo_from_bytea(4711, repeat(\'x\', 100)::bytea)');
@db = ('-d', $node->connstr('small'));
@lines = dry_run('one of each', @db, '--max-table-segment-pages=1', '--expected-rate=1kB');
is(plan_of(@lines)->{'(1 large object)'}[2], 1, 'one of each: large object');
like(join(qq(\n), @lines), qr/^tables: 1, chunks: 1, large objects: 1, to read: about .*\nchunk size: 1 page\n/m, 'one of each: sums');
like($lines[-1], qr/^expected time: .*, with 1 job /, 'one of each: time');
($rc, undef, $err) = run_program('pg_pardump', @db, '-P', '--no-sync', '-f', new_path('small'));
like($err, qr/^dumped database "small" into directory ".*":\n  1 table, 1 row, 1 large object, .*\nslowest table: public\.one, .* in 1 chunk\n/m,
	'one of each: summary');

$node->stop;
done_testing();
