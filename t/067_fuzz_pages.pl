# Tables of many types whose pages are damaged at random.  The planner and the
# reader bring the server down on none of them, unless a function of the server
# itself does, which COPY then calls, too; and the reader gives COPY's rows, or
# an error that names the row.  For fingerprints, and as raw tuples, which are
# loaded again, they are read without any function of the types, so that nothing
# may bring the server down.
#
# PG_PARDUMP_FUZZ_TABLES says how many tables there are, and PG_PARDUMP_SEED
# which ones; what was found is added to the file PG_PARDUMP_FUZZ_REPORT.  Here
# they are few, and the same every time; scripts/fuzz_pages.sh runs many others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql value
  pg_major);
use Pardump::DamagedPages qw(damage_types_sql leave_out_cstrings damaged_table_sql
  damage_file);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $n_tables = $ENV{PG_PARDUMP_FUZZ_TABLES} // 150;
my $seed = $ENV{PG_PARDUMP_SEED} // 1;
srand($seed);
note("$n_tables tables, PG_PARDUMP_SEED=$seed");

# tables that are made, damaged and read between two starts of the server
my $round_tables = 400;

my $node = start_cluster('fuzz', leave_stopped => 1);
# 19rc1 crashes at UPDATEs of such tables even if they are sound
leave_out_cstrings() if pg_major($node) >= 19;
$node->append_conf('postgresql.conf', <<'CONF');
restart_after_crash = on
ignore_checksum_failure = on
statement_timeout = 120s
synchronize_seqscans = off
CONF
$node->start;
my $copy_file = new_path('copy');

# Each answer is one line, in hexadecimal digits as a damaged value may be in it.
my $functions = <<'SQL';
CREATE FUNCTION fuzz.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	message text;
	context text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN encode(textsend('ok ' || answer), 'hex');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
	RETURN encode(textsend(concat('error ', SQLSTATE, ' ', message, ' CONTEXT ', context)), 'hex');
END $$;
CREATE FUNCTION fuzz.copy(arguments text, file text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'COPY ' || arguments;
	RETURN md5(pg_read_binary_file(file));
END $$;
SQL

my (%count, %sqlstates, @failures, @by_server);

sub failure
{
	push @failures, join ' ', @_;
	diag(substr("@_", 0, 2000));
	return;
}

# The node's own poll writes to psql, which may have ended by then.
sub wait_for_server
{
	my ($out, $err);
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', 'SELECT 1' ],
			'<', '/dev/null', '>', \$out, '2>', \$err);
		usleep(100_000);
	}
	die "no server: $err";
}

# The key of the statement that crashed, once the server has noticed: before,
# it lets in sessions that it ends then.
my $log_at = 0;
sub crashed_key
{
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $log = slurp_file($node->logfile, $log_at);
		if ($log =~ /^.*?Failed process was running: SELECT '(\S+ \S+)'/s)
		{
			$log_at += length $&;
			return $1;
		}
		usleep(100_000);
	}
	die 'a session was lost, and no server process crashed';
}

# Ask for all of [key, statement] in one session; a new one after each crash.
# Returns the answers by key: "ok ...", "error SQLSTATE ...", "crash", or
# nothing where the session said something else.
sub ask
{
	my ($db, @calls) = @_;
	my %answer;
	while (@calls)
	{
		my $script = new_path('calls.sql');
		open my $fh, '>', $script or die "$script: $!";
		print $fh "SELECT '$_->[0]', fuzz.attempt(\$st\$$_->[1]\$st\$);\n" foreach @calls;
		close $fh;
		my ($out, $err) = ('', '');
		IPC::Run::run([ 'psql', '-XqAt', '-F', ' ', '-f', $script, '-d', $node->connstr($db) ],
			'<', '/dev/null', '>', \$out, '2>', \$err);
		my $lost = $? >> 8 == 2;
		while ($out =~ /^(\S+ \S+) ([0-9a-f]+)$/mg)
		{
			my ($key, $hex) = ($1, $2);
			$answer{$key} = pack('H*', $hex) =~ s/\s+/ /gr;
		}
		unlink $script;
		last if !$lost;
		shift @calls while @calls && defined $answer{ $calls[0][0] };
		if (@calls)
		{
			my ($asked) = @{ shift @calls };
			my $crashed = crashed_key();
			die "$asked ended by the crash of $crashed: $err" if $crashed ne $asked;
			$answer{$asked} = 'crash';
		}
		wait_for_server();
	}
	return %answer;
}

# The statement that reads a table, "what" being a format, the plan or the fingerprint.
sub reader_call
{
	my ($schema, $table, $columns, $what) = @_;
	return "SELECT 'chunks' FROM $schema.pg_pardump_chunks('$table', 1000) LIMIT 1"
	  if $what eq 'plan';
	my $names = join ',', map { $_->[0] } @$columns;
	return "SELECT rows FROM $schema.pg_pardump_fingerprint('$table', '{$names}', 0, NULL, decode(repeat('5a', 32), 'hex'))"
	  if $what eq 'fingerprint';
	return "SELECT md5(coalesce(string_agg(r, '\\x'::bytea), '\\x'))"
	  . " FROM $schema.pg_pardump_read('$table', '{$names}', 0, NULL, 'none', '$what') r";
}

# The same by COPY, of all rows or those of a condition.
sub copy_call
{
	my ($table, $columns, $format, $where) = @_;
	my $names = join ', ', map { $_->[0] } @$columns;
	my $source = $where ? "(SELECT $names FROM $table WHERE $where)" : "$table ($names)";
	return "SELECT fuzz.copy(\$a\$$source TO '$copy_file' (FORMAT $format)\$a\$, '$copy_file')";
}

# Where COPY crashes: the first row.
sub crashing_row
{
	my ($db, $table, $columns, $format) = @_;
	my @places = map { my $block = $_; map { "($block,$_)" } 1 .. 12 } 0 .. 3;
	foreach my $place (@places)
	{
		my %answer = ask($db, [ "row $place", copy_call($table, $columns, $format, "ctid = '$place'") ]);
		return $place if ($answer{"row $place"} // '') eq 'crash';
	}
	return 'none alone';
}

sub judge_error
{
	my ($table, $what, $answer) = @_;
	my ($sqlstate) = $answer =~ /^error (\S{5}) /;
	$sqlstates{$sqlstate}++;
	$count{"$what: error"}++;
	# a page whose header is damaged is refused as a whole, by its number
	failure("$table, $what: the error names no row:", $answer)
	  if $answer !~ /CONTEXT .*row at ctid \(\d+,\d+\) of table "\w+"/
	  && $answer !~ /^error XX001 invalid page in block \d+ of relation .*CONTEXT .* table "\w+"/;
	failure("$table, $what: cancelled or out of resources:", $answer)
	  if $sqlstate =~ /^(57|53)/;
	return;
}

# What the reader made of a table against what COPY makes of it.  Where they
# differ, or either crashes, both read it again without the columns that the
# server's own functions write: what these make of a damaged value is a matter
# of what lies behind it in memory.
sub judge_rows
{
	my ($db, $schema, $table, $columns, $format, $ours, $copy) = @_;
	if ($ours eq $copy && $ours =~ /^ok/)
	{
		$count{"$format: equal"}++;
		return;
	}

	my @columns = grep { !$_->[1] } @$columns;
	my %again = ask($db, [ "$table ours", reader_call($schema, $table, \@columns, $format) ],
		[ "$table copy", copy_call($table, \@columns, $format) ]);
	my ($ours_again, $copy_again) = map { $again{"$table $_"} // 'no answer' } qw(ours copy);
	if ($ours_again =~ /^ok/ && $ours_again eq $copy_again)
	{
		my %word = (crash => 'crash', ok => 'rows', error => 'error');
		my $what = join ', ', map { $word{ (split ' ', $_)[0] } // $_ } $ours, $copy;
		my $row = $copy eq 'crash' ? ', row ' . crashing_row($db, $table, $columns, $format) : '';
		$count{"$format: by the server's own functions (reader, COPY): $what"}++;
		push @by_server, "$db.$table, $format, reader and COPY: $what$row";
	}
	elsif ($ours_again =~ /^error/)
	{
		judge_error("$db.$table", $format, $ours_again);
	}
	elsif ($ours_again =~ /^ok/ && $copy_again eq 'crash')
	{
		$count{"$format: COPY alone crashes"}++;
	}
	else
	{
		$count{"$format: WRONG"}++;
		failure("$db.$table, $format: reader ($ours, $ours_again), COPY ($copy, $copy_again)");
	}
	return;
}

# Read the tables as raw tuples, by those columns that can be, and load these
# into others.  No row is looked at to learn which columns that are.
sub raw_round
{
	my ($db, $schema, $columns) = @_;
	my @tables = sort keys %$columns;
	my %may = ask($db, map { my $table = $_;
		map { [ "$table $_->[0]", "SELECT count(*) FROM $schema.pg_pardump_read('$table', '{$_->[0]}', 0, 0, 'none', 'raw')" ] }
		  @{ $columns->{$table} } } @tables);
	my %names = map { my $table = $_;
		($table => join ',', grep { ($may{"$table $_"} // '') =~ /^ok/ } map { $_->[0] } @{ $columns->{$table} }) } @tables;
	@tables = grep { $names{$_} ne '' } @tables;
	sql($node, $db, join ';', map { "CREATE TABLE ${_}_raw AS SELECT $names{$_} FROM $_ LIMIT 0" } @tables);
	my %answer = ask($db, map { [ "$_ raw", "SELECT sum(l.rows)
		FROM $schema.pg_pardump_read('$_', '{$names{$_}}', 0, NULL, 'none', 'raw') r,
		$schema.pg_pardump_load_tuples('${_}_raw', r) l" ] } @tables);
	foreach my $table (@tables)
	{
		my $answer = $answer{"$table raw"} // 'no answer';
		if ($answer =~ /^ok/) { $count{'raw: loaded'}++ }
		elsif ($answer =~ /^error (?:22P03|0A000) .*CONTEXT raw tuples of table/) { $count{'raw: refused when loaded'}++ }
		elsif ($answer =~ /^error/) { judge_error("$db.$table", 'raw', $answer) }
		else { failure("$db.$table, raw: $answer") }
	}
	return;
}

# Make the tables of a round, and damage their files with the server stopped.
sub make_tables
{
	my ($db, $n) = @_;
	my %columns;
	my $script = new_path('tables.sql');
	open my $fh, '>', $script or die "$script: $!";
	foreach my $i (1 .. $n)
	{
		my ($sql, $columns) = damaged_table_sql("fuzz.t$i");
		print $fh $sql;
		$columns{"fuzz.t$i"} = $columns;
	}
	close $fh;
	my ($rc, undef, $err) = run_program('psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr($db), '-f', $script);
	die "could not make tables: $err" if $rc != 0;
	unlink $script;

	my @files = split /\n/, value($node, $db, q{
		SELECT pg_relation_filepath(oid) || ' ' || coalesce(pg_relation_filepath(nullif(reltoastrelid, 0)), '')
		FROM pg_class WHERE relnamespace = 'fuzz'::regnamespace AND relkind = 'r' ORDER BY oid});
	$node->stop;
	foreach my $files (@files)
	{
		my ($heap, $toast) = split ' ', $files;
		my @damaged = $toast && -s $node->data_dir . "/$toast" && rand() < 0.2 ? $toast : $heap;
		my ($pages, $bytes) = damage_file($node->data_dir . "/$damaged[0]");
		$count{'pages damaged'} += $pages;
		$count{'bytes changed'} += $bytes;
	}
	$node->start;
	return \%columns;
}

sub run_round
{
	my ($round, $n) = @_;
	my $db = "round$round";
	make_database($node, $db);
	sql($node, $db, 'CREATE EXTENSION pg_pardump;' . damage_types_sql() . $functions);
	my $schema = value($node, $db, q{SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_pardump'});
	my $columns = make_tables($db, $n);
	my @tables = sort keys %$columns;
	$count{tables} += $n;

	my %ours = ask($db, map { my $table = $_;
		map { [ "$table $_", reader_call($schema, $table, $columns->{$table}, $_) ] } qw(plan fingerprint text binary) } @tables);
	foreach my $key (map { ("$_ plan", "$_ fingerprint", "$_ text", "$_ binary") } @tables)
	{
		my ($table, $what) = split ' ', $key;
		my $answer = $ours{$key};
		if (!defined $answer) { failure("$db.$table, $what: no answer") }
		elsif ($answer =~ /^error/) { judge_error("$db.$table", $what, $answer) }
		elsif ($what ne 'plan' && $what ne 'fingerprint') { next }
		elsif ($answer eq 'crash') { $count{"$what: CRASH"}++; failure("$db.$table: the server crashes at the $what") }
		else { $count{"$what: made"}++ }
		delete $ours{$key};
	}
	my %copy = ask($db, map { my ($table, $format) = split;
		[ $_, copy_call($table, $columns->{$table}, $format) ] } sort keys %ours);
	foreach my $key (sort keys %ours)
	{
		my ($table, $format) = split ' ', $key;
		judge_rows($db, $schema, $table, $columns->{$table}, $format, $ours{$key}, $copy{$key} // 'no answer');
	}
	raw_round($db, $schema, $columns);
	sql($node, 'postgres', "DROP DATABASE $db") if !@failures;
	return;
}

my $rounds = int(($n_tables + $round_tables - 1) / $round_tables);
run_round($_, int($n_tables * $_ / $rounds) - int($n_tables * ($_ - 1) / $rounds)) foreach 1 .. $rounds;

my $report = "seed $seed\n"
  . join('', map { "$_: $count{$_}\n" } sort keys %count)
  . 'SQLSTATE of errors: ' . join(', ', map { "$_ $sqlstates{$_}" } sort keys %sqlstates) . "\n"
  . join('', map { "the server's own functions: $_\n" } @by_server)
  . join('', map { "FAILURE: $_\n" } @failures);
note($report);
append_to_file($ENV{PG_PARDUMP_FUZZ_REPORT}, $report) if $ENV{PG_PARDUMP_FUZZ_REPORT};

is(scalar @failures, 0, "$n_tables tables: no crash but the server's own, COPY's rows or an error");
cmp_ok($count{'text: equal'} // 0, '>', $n_tables / 20, 'some tables were read as by COPY');
cmp_ok($count{'text: error'} // 0, '>', $n_tables / 20, 'some tables were refused');
cmp_ok($count{"fingerprint: $_"} // 0, '>', $n_tables / 20, "fingerprints of some tables: $_") foreach qw(made error);
cmp_ok($count{"raw: $_"} // 0, '>', $n_tables / 20, "raw tuples: some tables: $_") foreach qw(loaded error);
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|WARNING: .*leak/, 'the log contains no failed assertion, PANIC or leak');
$node->stop;
done_testing();
