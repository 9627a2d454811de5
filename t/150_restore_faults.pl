# pg_parrestore under faults: each round restores an archive, is interrupted by
# what its seed says, at the moment that it says, and is continued with
# --resume, which is interrupted in its turn.  At the end the database is the
# source's: its definitions, every row, none twice; and until then no run claims
# to be done.
#
# PG_PARDUMP_FAULT_ROUNDS says how many rounds there are, and PG_PARDUMP_SEED
# which ones: round n has that seed + n - 1, so that one round can be had again.
# The counts are added to the file PG_PARDUMP_FAULT_REPORT (scripts/random_faults.sh
# runs many).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program dump_ok codecs new_path sql value);
use Pardump::Compare qw(fingerprint differences schema_text);
use Pardump::Copy qw(start_load sessions_left);
use Pardump::Faults qw(one_of choose_fault describe_fault suffer);
use Pardump::Moment qw(start_moments);
use Pardump::Restore qw(stock_archives);
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PG_PARDUMP_FAULT_ROUNDS} // 6;
my $seed = $ENV{PG_PARDUMP_SEED} // 1;

# ---- archives

my $node = start_cluster('restore_faults', leave_stopped => 1);
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;
sql($node, 'postgres', 'CREATE ROLE fault_keeper; CREATE ROLE fault_reader');
make_database($node, 'shop', options => 'TEMPLATE template0', files => ['restore_faults.sql']);
my $data = fingerprint($node, 'shop');
my $schema = schema_text($node, 'shop');
my %archives = (stock_archives($node, 'shop'),
	map { ("ours, $_" => dump_ok($node, 'shop', $_, 'pg_pardump', "-Z$_", '--chunk-size=128kB')) }
	  grep { /gzip|zstd/ } codecs($node));
my $definitions = new_path('definitions');
run_program('pg_dump', '-s', '-Fc', '-f', $definitions, '-d', $node->connstr('shop'));
sql($node, 'postgres', 'ALTER DATABASE shop RENAME TO source');

# ---- how an archive is restored: the options, the database, and what is there

my %modes = (
	'plain' => { options => [], db => 'copy', prepare => sub {} },
	'clean' => { options => [ '--clean', '--if-exists' ], db => 'copy', prepare => sub {
		sql($node, 'copy', q{CREATE TABLE big AS SELECT 1 AS id; CREATE FUNCTION gone() RETURNS int LANGUAGE sql AS 'SELECT 1';
			CREATE VIEW seen AS SELECT * FROM big; CREATE TABLE small_3 (id int DEFAULT gone());
			DROP FUNCTION gone CASCADE; SELECT lo_from_bytea(7005, 'old')}) } },
	'create' => { options => ['-C'], db => 'shop', prepare => sub { sql($node, 'postgres', 'DROP DATABASE shop') } },
	'data only' => { options => [ '-a', '--disable-triggers' ], db => 'copy', prepare => sub {
		run_program('pg_restore', '-d', $node->connstr('copy'), $definitions) } });

# What each is to come to: with data alone stock pg_restore says it.
my %expected = map { ($_ => { data => $data, schema => $schema }) } keys %modes;

sub prepare
{
	my ($mode) = @_;
	sql($node, 'postgres', "DROP DATABASE IF EXISTS $mode->{db} WITH (FORCE)");
	make_database($node, $mode->{db}, options => 'TEMPLATE template0');
	$mode->{prepare}->();
	return;
}

# ---- when, and what

# What clients send, counted for each.
my @patterns = (
	[ rows => qr/\Ad/ ],
	[ 'a COPY' => qr/COPY [^;]*FROM/i ],
	[ 'a commit' => qr/\bCOMMIT\b/ ],
	[ 'a line of the log' => qr/INSERT INTO pardump_restore\.done/ ],
	[ 'large objects, empty' => qr/lo_create\(/ ],
	[ 'a large object' => qr/\AF/ ],
	[ 'an index' => qr/CREATE (?:UNIQUE )?INDEX|(?:PRIMARY KEY|UNIQUE) \(/ ],
	[ 'a definition' => qr/CREATE (?:TABLE|VIEW|FUNCTION|TYPE|SCHEMA|SEQUENCE|MATERIALIZED|TRIGGER|RULE|POLICY|STATISTICS)\b/ ],
	[ 'a foreign key' => qr/FOREIGN KEY/ ],
	[ 'an index of a partition' => qr/ATTACH PARTITION/ ],
	[ 'the rest' => qr/COMMENT ON|REFRESH|setval|ANALYZE/ ],
	[ 'the end' => qr/DROP SCHEMA pardump_restore/ ]);

# Some of the moments of a run in which each pattern has been seen a number of
# times.
sub choose_moments
{
	my (@seen) = @_;
	my @may = grep { $seen[$_] } 0 .. $#seen;
	return map {
		my $pattern = one_of(@may);
		choose_fault($pattern, 1 + int(rand($seen[$pattern])))
	} 1 .. one_of(1, 1, 2, 3);
}

# ---- one run

# run_with($mode, [option, ...], $archive, moment...) returns exit code, standard
# error, how often each pattern has been seen, and the faults that there were.
sub run_with
{
	my ($mode, $options, $archive, @moments) = @_;
	my $moments = start_moments($node, [ map { $_->[1] } @patterns ], @moments);
	my $db = grep({ $_ eq '-C' } @$options) ? 'postgres' : $mode->{db};
	my $run = start_load('pg_parrestore', '-d',
		"host=$moments->{host} port=$moments->{port} dbname=$db", @$options, $archive);
	my ($rc, $seen, @done) = suffer($node, $run, $moments, @moments);
	return ($rc, $run->{err}, $seen, @done);
}

# ---- rounds

# What is wrong with the database, as lines.
sub wrong_with
{
	my ($mode) = @_;
	my $db = $modes{$mode}{db};
	my @wrong = differences($expected{$mode}{data}, fingerprint($node, $db));
	push @wrong, 'the schema differs' if schema_text($node, $db) ne $expected{$mode}{schema};
	push @wrong, 'the log is left'
	  if value($node, $db, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'pardump_restore'});
	push @wrong, 'sessions are left' if sessions_left($node);
	return @wrong;
}

sub expect_data_alone
{
	prepare($modes{'data only'});
	run_program('pg_restore', '-d', $node->connstr('copy'), '-a', '--disable-triggers', $archives{custom});
	$expected{'data only'}{data} = fingerprint($node, 'copy');
	return;
}

my %seen;

# How often each pattern is seen in a restore without a fault.
sub seen_without_faults
{
	my ($name, $mode) = @_;
	return $seen{$mode} //= do {
		expect_data_alone() if $mode eq 'data only';
		prepare($modes{$mode});
		my ($rc, $err, $seen) = run_with($modes{$mode}, [ @{ $modes{$mode}{options} }, '-j2', '--chunk-size=128kB' ], $archives{$name});
		my @wrong = wrong_with($mode);
		ok($rc == 0 && $err eq '' && !@wrong, "$mode: no fault") or diag("$rc $err", map { "\n$_" } @wrong);
		note(join ', ', map { "$patterns[$_][0]: $seen->[$_]" } 0 .. $#patterns);
		$seen;
	};
}

# One round: undef, or why it is wrong.
sub run_round
{
	my ($tell, $name, $mode_name) = @_;
	my $mode = $modes{$mode_name};
	my $begin = 1;
	for (my $n = 1; $n <= 8; $n++)
	{
		my @moments = $n <= 1 + int(rand(4)) ? choose_moments(@{ $seen{$mode_name} }) : ();
		prepare($mode) if $begin;
		my @options = (@{ $mode->{options} }, '-j' . one_of(1 .. 4), '--index-jobs=' . one_of(1 .. 3),
			'--chunk-size=128kB', $begin && $mode_name !~ /plain|create/ ? () : '--resume');
		# not to wait long for a server that does not come back
		push @options, '--retries=' . (grep({ $_->{fault} eq 'a long crash' } @moments) ? 0 : one_of(0, 1, 5, 5));
		# an error of the disk's alone would be passed over
		push @options, '-e' if one_of(0, 1) || grep { $_->{fault} eq 'a full disk' } @moments;
		my ($rc, $err, undef, @done) = run_with($mode, \@options, $archives{$name}, @moments);
		$tell->("run $n: @options: ", join('; ', map { describe_fault($_, \@patterns) } @moments),
			'; there was: ', join(', ', @done), '; exit code: ', $rc // 'hangs', "\n$err");
		return 'it hangs' if !defined $rc;
		if ($rc == 0)
		{
			my @wrong = wrong_with($mode_name);
			return @wrong ? join("\n", 'exit code 0, but', @wrong) : undef;
		}
		return 'errors were passed over' if $err =~ /errors ignored on restore/;
		return 'it fails without a fault' if !@done && $begin;
		return "exit code $rc" if $rc != 1 && !($rc == 137 && grep { /killed/ } @done);
		return 'no reason is told' if $rc == 1 && $err !~ /error: |terminated by user/;
		# it had completed; or had not begun where its tables existed before
		if ($err =~ /contains no restore to resume/)
		{
			return undef if !wrong_with($mode_name);
			return 'nothing to resume, but not complete' if $mode_name =~ /plain|create/;
			$begin = 1;
			next;
		}
		$begin = 0;
	}
	return 'it comes to no end';
}

my %count = (right => 0, wrong => 0);
foreach my $round (1 .. $rounds)
{
	srand($seed + $round - 1);
	my ($name, $mode) = (one_of(sort keys %archives), one_of(sort(keys %modes), 'plain', 'plain'));
	seen_without_faults($name, $mode);
	my @told;
	my $wrong = run_round(sub { push @told, join '', @_; note($told[-1]) }, $name, $mode);
	$count{ defined $wrong ? 'wrong' : 'right' }++;
	ok(!defined $wrong, "round $round, PG_PARDUMP_SEED=" . ($seed + $round - 1) . ": $name, $mode, " . @told . ' runs')
	  or diag($wrong, map { "\n$_" } @told);
}

my $report = "seed $seed, $rounds rounds of restores: $count{right} right, $count{wrong} wrong";
note($report);
append_to_file($ENV{PG_PARDUMP_FAULT_REPORT}, "$report\n") if $ENV{PG_PARDUMP_FAULT_REPORT};
$node->stop;
done_testing();
