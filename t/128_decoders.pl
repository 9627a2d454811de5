# What the extension's decoders make of a text is, byte for byte, what the
# type's input function makes of it; what is an error, or unusual, they decline.
# Texts of t/data/decoder_samples.sql, and random changes of them, by a module
# that the decoders are linked into, with and without the processor's vectors.
#
# PG_PARDUMP_DECODER_ROUNDS says how many changes of each type there are, and
# PG_PARDUMP_SEED which ones.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database run_program new_path sql tier);
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PG_PARDUMP_DECODER_ROUNDS} // (tier() == 3 ? 1000 : 300);
my $seed = $ENV{PG_PARDUMP_SEED} // 1;
note("$rounds changes, PG_PARDUMP_SEED=$seed");

# Texts are in the database's encoding, in which the length of a character, and
# whether a byte begins one, differ.
my @encodings = qw(UTF8 EUC_JIS_2004 LATIN1 SQL_ASCII);
my @variants = ([ 'vectors', \@encodings ], [ 'words', ['UTF8'], '-DPARDUMP_NO_SIMD' ]);

my $build = "$FindBin::RealBin/../test/decode/build.sh";
my $node;
foreach my $variant (@variants)
{
	my ($name, $encodings, @arguments) = @$variant;
	my $module = new_path("$name.so");
	my ($rc, undef, $err) = run_program($build, $module, @arguments);
	plan skip_all => 'no compiler, or no headers of the server'
	  if $rc != 0 && !defined $node && $err !~ /error:/;
	is($rc, 0, "$name: built") or next;
	$node //= start_cluster('decoders');

	foreach my $encoding (@$encodings)
	{
		my $db = lc "${name}_$encoding";
		make_database($node, $db,
			options => "ENCODING '$encoding' LOCALE 'C' TEMPLATE template0",
			files => ['decoder_samples.sql'], vars => { module => $module });
		foreach my $line (split /\n/, sql($node, $db, <<"SQL"))
SELECT concat_ws(', ', type, nullif(settings, '')), check_decoder(s, $rounds, $seed + n)
FROM decoder_sample s ORDER BY n
SQL
		{
			my ($type, $answer) = split /\|/, $line, 2;
			is($answer, '', "$db: $type");
		}
	}
}

# --- memory

# What a decoder takes is a small multiple of its text, however many parts that
# has.  The largest that a session ever had, in kB, is Linux's VmHWM.
SKIP:
{
	skip 'no /proc', 3 unless -r '/proc/self/status';
	sql($node, 'postgres', 'CREATE TABLE parts (t text[], j jsonb[])');
	my %value = (
		t => '{' . join(',', ('"a\\\\\\\\b"') x 20000) . '}',
		j => '{' . join(',', ('"{\\\\"k\\\\": [1, 2]}"') x 10000) . '}');
	foreach my $column (sort keys %value)
	{
		my $answer = sql($node, 'postgres', join "\n",
			"LOAD 'pg_pardump';", 'SET pg_pardump.fast_copy = on;',
			"COPY parts ($column) FROM STDIN;", $value{$column}, '\\.',
			"SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s*(\\d+) kB');");
		cmp_ok($answer, '<', 150000, "memory of many escaped elements: $column");
	}
	is(sql($node, 'postgres', 'SELECT sum(cardinality(t)), sum(cardinality(j)) FROM parts'),
		'20000|10000', 'the tables contain all elements');
}

done_testing();
