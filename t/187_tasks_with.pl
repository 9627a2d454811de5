# Dumps by tasks together with what else a dump can do: fingerprints and incremental
# dumps, whose tasks take the previous archive's files, and masked columns, whose
# values no plan, result or message has.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(start_dump end_dump wait_in_run);
use Pardump::Cluster qw(start_cluster make_database new_path sql value restore_ok pg_major);
use Pardump::Command qw(text_file);
use Pardump::Compare qw(fingerprint same_when_restored_ok);
use Pardump::Gate qw(open_gate close_gate);
use Pardump::GatedDump qw(make_gated gated_options);
use Pardump::Incremental qw(make_shop first_archive incremental incremental_ok full_archive
  row_files how);
use Pardump::Summaries qw(first_by_summaries by_summaries_ok);
use Pardump::Tasks qw(side_by_side task_pid);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('tasks_with', allows_streaming => 1);
my @fingerprinted = @Pardump::Incremental::fingerprinted;
my @tasks = ('--tasks=3', side_by_side(''));
my $copies = 0;

# ---- the first, and one after which nothing has changed

make_shop($node, 'shop');
my $mon = first_archive($node, 'shop', 'the first', @tasks);
{
	my %without = map { ($_->{Table} => 1) } grep { !$_->{Fingerprint} } row_files($mon);
	is(join(' ', sort keys %without), 'empty never small', 'the first: tables without fingerprints');
	ok(!grep({ $_->{Reused} } row_files($mon)), 'the first: no file is reused');
}
{
	my $what = 'nothing has changed';
	my $log = new_path('log');
	my $seen = new_path('seen');
	my $dir = incremental_ok($node, 'shop', $what, $mon, full => full_archive($node, 'shop', $what),
		options => [ '--tasks=3', side_by_side("cp \"\$PLAN\" '$seen'"), "--log-json=$log" ]);
	like(how($dir, $_), qr/^l+$/, "$what: $_") foreach @fingerprinted;
	like(how($dir, $_), qr/^\.+$/, "$what: $_ is dumped") foreach qw(never small empty);
	my @reused = grep { $_->{Reused} } row_files($dir);
	my @events = map { JSON::PP->new->utf8->decode($_) } split /\n/, slurp_file($log);
	my ($summary) = grep { $_->{event} eq 'summary' } @events;
	is($summary->{reused_chunks}, scalar(@reused), "$what: files are counted");
	my %ends = map { ($_->{file} => $_) } grep { $_->{event} eq 'chunk_end' } @events;
	is_deeply([ grep { ($ends{ $_->{Path} }{reused} // '') ne ($_->{Reused} // '') } row_files($dir) ], [],
		"$what: events of files: reused or not");
	is_deeply([ grep { !$_->{Reused} == !$ends{ $_->{Path} }{why_not_reused} } row_files($dir) ], [],
		"$what: events of files: why not");
	my $plan = slurp_file($seen);
	like($plan, qr/"previous": "\Q$mon\E"/, "$what: the plan names the directory");
	is(scalar(() = $plan =~ /"previous": \{/g), scalar(@reused), "$what: the plan contains the files of the previous archive");
	system_or_bail('rm', '-rf', $dir);
}

# ---- rows that have changed, while more do

my $tue;
{
	my $what = 'some changes';
	sql($node, 'shop', $_) foreach
	  q{INSERT INTO appended SELECT g, '2025-01-01', decode(md5(g::text), 'hex'), 'other ' || md5((-g)::text) FROM generate_series(20001, 20500) g},
	  'UPDATE updated SET n = n + 1 WHERE id BETWEEN 3000 AND 3100', 'VACUUM updated';
	my $data = fingerprint($node, 'shop');
	my $write = 'psql -XqAt -d ' . "'" . $node->connstr('shop') . "'" . q{ -c "UPDATE updated SET n = 0 WHERE id = 9000; DELETE FROM types WHERE id < 50"};
	my $new = incremental($node, 'shop', $mon, '--tasks=3', side_by_side($write));
	is("$new->{rc}$new->{err}", '0', "$what: works in silence");
	$tue = $new->{dir};
	Pardump::Incremental::links_right_ok($tue, $mon, $what);
	Pardump::Incremental::verified_ok($tue, $what);
	same_when_restored_ok($node, $tue, $data, $what);
	like(how($tue, 'appended'), qr/^l+\.+$/, "$what: a table that is appended to");
	like(how($tue, 'updated'), qr/^l+\..*l.*\.$/, "$what: a stretch that is updated");
	like(how($tue, 'types'), qr/^l+$/, "$what: changed after the snapshot");
}

# ---- archives of tasks and of a leader's own workers follow each other; copies

{
	my $what = 'after tasks, by workers';
	my $wed = incremental_ok($node, 'shop', $what, $tue);
	like(how($wed, $_), qr/^l+$/, "$what: $_ as it was") foreach qw(appended docs);
	$what = 'after workers, by tasks';
	my $thu = incremental_ok($node, 'shop', $what, $wed, full => full_archive($node, 'shop', $what),
		options => [ @tasks, '--incremental-copy-method=copy' ]);
	like(how($thu, $_), qr/^c+$/, "$what: $_ as it was") foreach @fingerprinted;
	is_deeply([ grep { (stat)[2] & 077 } glob "$thu/*" ], [], "$what: for its owner only");
	system_or_bail('rm', '-rf', $wed, $thu);
}

# ---- the previous archive is not where tasks look for it; or a file is not what it was

{
	my $what = 'out of reach';
	my $new = incremental($node, 'shop', $tue, '--tasks=3', side_by_side("[ ! -e '$tue' ] || mv '$tue' '$tue.away'"));
	rename "$tue.away", $tue or die "could not rename \"$tue.away\": $!";
	is($new->{rc}, 0, "$what: exit code");
	# lines of other tasks can come between the two of a task
	is(scalar(() = $new->{err} =~ /$_/g), 3, "$what: each task says so")
		foreach qr/cannot reuse archive "\Q$tue\E"$/m, qr/detail: Could not open directory: No such file or directory\.$/m;
	like(how($new->{dir}, $_), qr/^\.+$/, "$what: $_ is dumped") foreach @fingerprinted;
	system_or_bail('rm', '-rf', $new->{dir});

	$what = 'a damaged file';
	my ($file) = map { $_->{Path} } row_files($tue, 'docs');
	$new = incremental($node, 'shop', $tue, '--tasks=3',
		side_by_side("cp '$tue/$file' '$tue.new'; printf xxxx | dd of='$tue.new' conv=notrunc bs=1 seek=100 2>&-; mv '$tue.new' '$tue/$file'"));
	is($new->{rc}, 0, "$what: exit code");
	like($new->{err}, qr/^pg_pardump: warning: could not reuse file "\Q$tue\/$file\E"; dumping its rows again\n.*detail: The checksum does not match the manifest\.\n$/,
		"$what: warning");
	like(how($new->{dir}, 'docs'), qr/^(?=.*l)(?=.*\.)/, "$what: only that one is dumped");
	same_when_restored_ok($node, $new->{dir}, fingerprint($node, 'shop'), $what);
}

# ---- a task is killed, having taken files, and run again

make_gated($node);
sql($node, 'gated', $_) foreach 'CREATE EXTENSION pg_pardump',
  'CREATE TABLE kept AS SELECT g AS id, repeat(md5(g::text), 3) AS t FROM generate_series(1, 20000) g',
  'GRANT SELECT ON kept TO dumper', 'VACUUM';
{
	my $what = 'a task killed';
	my $original = fingerprint($node, 'gated');
	my @gated = ('--tasks=2', side_by_side(''), gated_options());
	open_gate();
	my $first = start_dump($node->connstr('gated'), '--manifest-fingerprints', @gated);
	is(end_dump($first), 0, "$what: the first");
	close_gate(42);
	my $dump = start_dump($node->connstr('gated'), "--incremental=$first->{dir}", @gated);
	wait_in_run($dump, 'tasks wait at the gate', sub {
		return value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity
			WHERE wait_event = 'advisory'}) == 2;
	});
	kill KILL => task_pid(1);
	open_gate();
	is(end_dump($dump), 0, "$what: exit code");
	like($dump->{err}, qr/^pg_pardump: warning: not all tasks were completed; tasks to run again: 1; retry 1 of 5\npg_pardump: detail: The command exited with exit code 137\.\n$/,
		"$what: warning");
	like(how($dump->{dir}, 'kept'), qr/^l{3,}$/, "$what: files are the first archive's");
	Pardump::Incremental::links_right_ok($dump->{dir}, $first->{dir}, $what);
	same_when_restored_ok($node, $dump->{dir}, $original, $what);
}

# ---- by summaries of the log: the plan says which files are as they were

SKIP:
{
	skip 'the server is older than 17', 1 if pg_major($node) < 17;
	$node->append_conf('postgresql.conf', "summarize_wal = on\n");
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW summarize_wal', 'on') or die;
	my @by_tasks = ('--tasks=3', side_by_side('task() { exec pg_pardump --plan="$PLAN" --task=$1/$N -v; }'));
	my @first = grep { !/^-j/ } @Pardump::Summaries::first;
	make_database($node, 'logged');
	sql($node, 'logged', $_) foreach 'CREATE EXTENSION pg_pardump',
	  'CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 4) AS t FROM generate_series(1, 16000) g', 'VACUUM';
	local @Pardump::Summaries::first = @first;
	my $first = first_by_summaries($node, 'logged', 'by summaries, the first', '--tasks=3', side_by_side(''));
	sql($node, 'logged', 'UPDATE t SET t = upper(t) WHERE id = 1');
	my $n = () = row_files($first, 't');
	by_summaries_ok($node, 'logged', 'by summaries', $first, options => \@by_tasks,
		t => join(' ', 2 .. $n - 1));
}

# ---- masks

make_database($node, 'masked');
sql($node, 'masked', <<'SQL');
CREATE EXTENSION pg_pardump;
CREATE TABLE people (id int PRIMARY KEY, name text, code text);
INSERT INTO people SELECT g, 'hush' || g, (71717000 + g)::text FROM generate_series(1, 20000) g;
CREATE TABLE open AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 3000) g;
SQL
my @masks = (q{--mask=people.name:md5('saltysalt' || name)},
	'--mask-file=' . text_file('masks', "people.code: CASE WHEN id % 2 = 0 THEN 'even' END\n"));

sub masked
{
	my (@options) = @_;
	my ($log, $report) = map { new_path($_) } qw(log report);
	my $dump = start_dump($node->connstr('masked'), '-Z0', '--tasks=2', '-v', '-P', '--max-table-segment-pages=40',
		"--log-json=$log", "--report=$report", @options);
	$dump->{rc} = end_dump($dump);
	$dump->{said} = join '', $dump->{err}, map { -e $_ ? slurp_file($_) : '' } $log, $report;
	return $dump;
}
{
	my $what = 'masks';
	my $seen = new_path('seen');
	my $dump = masked(@masks, side_by_side("cp \"\$PLAN\" '$seen'; cp -r \"\${PLAN%/*}\" '$seen.d'"));
	is($dump->{rc}, 0, "$what: exit code");
	my $all = join '', map { slurp_file($_) } glob "$dump->{dir}/*";
	unlike($all . $dump->{said}, qr/hush|7171\d{4}|saltysalt/, "$what: no value, nor what it is hashed with");
	ok(!-e "$dump->{dir}/plan.tmp", "$what: the plan is gone");
	my $plan = slurp_file($seen);
	like($plan, qr/md5\('saltysalt' \|\| name\)/, "$what: the plan has the expression");
	unlike($plan, qr/hush|7171\d{4}/, "$what: the plan contains no secret value");
	my $copy = 'copy' . ++$copies;
	make_database($node, $copy, options => 'TEMPLATE template0');
	restore_ok($node, $dump->{dir}, $copy, $what);
	my $rows = 'SELECT md5(string_agg(r::text, $$,$$ ORDER BY id)) FROM';
	is(value($node, $copy, "$rows (SELECT id, name, code FROM people) r"),
		value($node, 'masked', "$rows (SELECT id, md5('saltysalt' || name) AS name, CASE WHEN id % 2 = 0 THEN 'even' END AS code FROM people) r"),
		"$what: rows are masked");
	is(value($node, $copy, "$rows open r"), value($node, 'masked', "$rows open r"), "$what: other tables are not");
}
{
	# the server would quote the value
	my $what = 'a mask that fails';
	my $dump = masked('--retries=0', '--mask=people.name:(CASE WHEN id = 15000 THEN name::int ELSE 1 END)::text', side_by_side(''));
	is($dump->{rc}, 1, "$what: exit code");
	like($dump->{err}, qr/error: could not read rows\n.*detail: .*people/, "$what: message");
	unlike($dump->{said}, qr/hush/, "$what: no value in it");
	ok(!-e $dump->{dir}, "$what: nothing is left");
}

done_testing();
