# Random tables are loaded with random and damaged data, once by the server's
# COPY FROM and once by the extension's: the rows, the pages of the table, the
# sequence, and every field of an error are the same.
#
# Each case has a seed of its own: PG_PARDUMP_SEED is that of the first, and each
# other one's is one more.  PG_PARDUMP_FUZZ_CASES says how many there are, or
# PG_PARDUMP_FUZZ_SECONDS for how long; the result is added to the file
# PG_PARDUMP_FUZZ_REPORT.  Here they are few, and the same every time;
# scripts/fuzz_copy.sh runs many others.

use strict;
use warnings;

use Data::Dumper;
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database sql pg_major);
use Pardump::CopyFuzz qw(fuzz_types_sql random_case);
use Pardump::Load qw(prepare_load who_copied comparable);
use Pardump::Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{PG_PARDUMP_SEED} // 1;
my $seconds = $ENV{PG_PARDUMP_FUZZ_SECONDS};
my $n_cases = $ENV{PG_PARDUMP_FUZZ_CASES} // 60;
note(defined $seconds ? "$seconds s" : "$n_cases cases", ", PG_PARDUMP_SEED=$seed");

# A run ends after this many differences; more would be of the same kinds.
my $most_failures = 25;

my $node = start_cluster('fast_copy_fuzz');
my $major = pg_major($node);
make_database($node, 'fuzz');
prepare_load($node, 'fuzz');
sql($node, 'fuzz', 'CREATE ROLE ordinary LOGIN; GRANT USAGE ON SCHEMA public TO ordinary;' . fuzz_types_sql());
my $admin = Pardump::Wire->new($node, 'fuzz');

# All that is stored of a tuple but for its transaction, and its page's flags.
# TOAST pointers have OIDs, so that their bytes are compared in another way.
$admin->query(<<'SQL');
CREATE FUNCTION public.page_digest(rel regclass, with_data boolean) RETURNS text
LANGUAGE sql SET jit = off AS $$
	SELECT md5(string_agg(concat_ws(':', b, flags, lp, lp_off, lp_flags, lp_len, t_infomask, t_infomask2, t_hoff, t_bits,
		CASE WHEN with_data THEN encode(t_data, 'hex') END), ',' ORDER BY b, lp))
	FROM generate_series(0, pg_relation_size(rel) / current_setting('block_size')::int - 1) b,
		get_raw_page(rel::text, b::int) page, page_header(page), heap_page_items(page)
$$;
CREATE FUNCTION public.toast_size(rel regclass) RETURNS bigint
LANGUAGE sql AS $$
	SELECT coalesce((SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = rel AND reltoastrelid <> 0), 0)
$$;
SQL

my (%count, %left, %no_table, @failures);

sub failure
{
	push @failures, join ' ', @_;
	diag(substr("@_", 0, 4000));
	return;
}

# Make a case's tables, for both.  False if there can be none like that.
sub make_tables
{
	my ($case) = @_;
	$admin->query('DROP SCHEMA IF EXISTS core, ours CASCADE');
	foreach my $schema (qw(core ours))
	{
		$admin->query("CREATE SCHEMA $schema; GRANT USAGE ON SCHEMA $schema TO ordinary");
		my $statements = join '; ', map { s/:s\b/$schema/gr } @{ $case->{tables} };
		$admin->message('Q', "$statements\0");
		my $error = $admin->result->{error} or next;
		$no_table{ $error->{message} =~ s/"core"/"..."/r }++;
		return 0;
	}
	return 1;
}

# Run a case's COPY in one of the schemas.  Returns what the session was told.
sub copy_case
{
	my ($case, $schema) = @_;
	my $session = Pardump::Wire->new($node, 'fuzz', options => '-c local_preload_libraries=pg_pardump',
		$case->{user} ? (user => $case->{user}) : ());
	# random() is in a default
	$session->query("SET search_path = $schema, public; SET client_min_messages = debug1; SELECT setseed(0.5)");
	$session->query('SET pg_pardump.fast_copy = ' . ($schema eq 'ours' ? 'on' : 'off'));
	$session->query($_) foreach @{ $case->{settings} };
	$session->query('BEGIN');
	foreach my $statement (@{ $case->{before} })
	{
		# TRUNCATE fails in a read-only transaction, and the COPY then, too
		$session->message('Q', "$statement\0");
		$session->result;
	}
	my $result = $session->copy($case->{copy}, $case->{messages});
	if (!$result->{closed})
	{
		$session->message('Q', "COMMIT\0");
		my $end = $session->result;
		@{$result}{qw(end_tag end_error)} = @{$end}{qw(tag error)};
		$session->close;
	}
	return $result;
}

# What can be compared of an answer, which may name the schema.
sub answer
{
	my ($result) = @_;
	my %answer = %{ comparable($result) };
	foreach my $error (grep { defined } @answer{qw(error end_error)})
	{
		$error = { map { $_ => $error->{$_} =~ s/\b(core|ours)\.//gr } keys %$error };
	}
	s/\b(core|ours)\.//g foreach @{ $answer{notices} };
	return \%answer;
}

# What is in a schema after the COPY.
sub stored
{
	my ($case, $schema) = @_;
	my $columns = join ', ', 'ctid', @{ $case->{columns} };
	my %stored;
	@stored{qw(n rows)} = @{ $admin->query("SELECT count(*), md5(string_agg(ROW($columns)::text, ' ' ORDER BY ctid))
		FROM $schema.t")->{rows}[0] };
	@stored{qw(size toast sequence)} = @{ $admin->query("SELECT pg_relation_size('$schema.t'), toast_size('$schema.t'),
		last_value || ' ' || is_called FROM $schema.sq")->{rows}[0] };
	$stored{pages} = $admin->first_value("SELECT page_digest('$schema.t', toast_size('$schema.t') = 0)");
	return \%stored;
}

sub dumped
{
	my ($what) = @_;
	local ($Data::Dumper::Indent, $Data::Dumper::Terse, $Data::Dumper::Sortkeys, $Data::Dumper::Useqq) = (0, 1, 1, 1);
	return Dumper($what);
}

# Run the case of a seed, and compare.
sub run_case
{
	my ($case_seed) = @_;
	# of seeds that follow each other the first numbers are alike
	srand($case_seed * 2_654_435_761 % 2**32);
	rand() foreach 1 .. 10;
	my $case = random_case($major, 'ordinary');
	if (!make_tables($case))
	{
		$count{'no table'}++;
		return;
	}
	my ($expected, $result) = map { copy_case($case, $_) } qw(core ours);
	my $who = who_copied($result) // 'nothing said';
	$who eq 'us' ? $count{'by the extension'}++ : $left{$who}++;
	$count{ defined $result->{tag} ? 'loaded' : 'errors' }++;

	my %core = (%{ answer($expected) }, %{ stored($case, 'core') });
	my %ours = (%{ answer($result) }, %{ stored($case, 'ours') });
	$ours{values} = $admin->first_value(q{SELECT different FROM load_compare.difference('core.t', 'ours.t')})
	  if $ours{toast} > 0;
	$core{values} = 0 if $ours{toast} > 0;
	my @different = grep { dumped($core{$_}) ne dumped($ours{$_}) } sort keys %{ { %core, %ours } };
	return if !@different;
	my ($core_says, $ours_says) = map { my $said = $_; dumped({ map { $_ => $said->{$_} } @different }) } \%core, \%ours;
	my %shown = map { $_ => $case->{$_} } qw(tables user settings before copy);
	failure("PG_PARDUMP_SEED=$case_seed: different: @different; server: $core_says; extension: $ours_says; case: " . dumped(\%shown));
	return;
}

my $end = defined $seconds ? time + $seconds : undef;
my $cases = 0;
while (@failures < $most_failures && (defined $end ? time < $end : $cases < $n_cases))
{
	my $case_seed = $seed + $cases++;
	next if eval { run_case($case_seed); 1 };
	failure("PG_PARDUMP_SEED=$case_seed: $@");
	last;
}

my $report = "seeds $seed to " . ($seed + $cases - 1) . ": $cases cases\n"
  . join('', map { "$_: $count{$_}\n" } sort keys %count)
  . join('', map { "left to the server, $_: $left{$_}\n" } sort keys %left)
  . join('', map { "no table, $_: $no_table{$_}\n" } sort keys %no_table)
  . join('', map { "FAILURE: $_\n" } @failures);
note($report);
append_to_file($ENV{PG_PARDUMP_FUZZ_REPORT}, $report) if $ENV{PG_PARDUMP_FUZZ_REPORT};

is(scalar @failures, 0, "$cases cases: as the server");
cmp_ok($count{$_} // 0, '>=', int($cases / 10), "many cases: $_") foreach 'by the extension', 'loaded', 'errors';
unlike(slurp_file($node->logfile), qr/TRAP|PANIC|WARNING: .*leak/, 'the log contains no failed assertion, PANIC or leak');
$admin->close;
$node->stop;
done_testing();
