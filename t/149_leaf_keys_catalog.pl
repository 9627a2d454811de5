# pg_parrestore: foreign keys of partitioned tables that are made partition by
# partition leave pg_constraint, pg_trigger and pg_depend as stock pg_restore
# does, also if there are others that a key could be taken for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster sql value new_path run_program make_database pg_major);
use Pardump::Databases qw(empty_copy);
use Pardump::Restore qw(run_parrestore);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('leaf_keys_catalog');
$node->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = ddl");
$node->restart;
# where the table itself can have a key that is not valid
my $of_table = pg_major($node) >= 18;

# One row a page makes partitions large enough with few rows.
my $wide = 'WITH (fillfactor = 10)';
my $long = 'k' x 62;
make_database($node, 'source', options => 'TEMPLATE template0');
sql($node, 'source', qq{
	CREATE TABLE ref (id int PRIMARY KEY, b int, UNIQUE (id, b), UNIQUE (b, id));
	INSERT INTO ref SELECT g, g % 3 FROM generate_series(0, 99) g;
	CREATE TABLE refp (id int PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE refp_1 PARTITION OF refp FOR VALUES FROM (0) TO (50);
	CREATE TABLE refp_2 PARTITION OF refp FOR VALUES FROM (50) TO (100) PARTITION BY RANGE (id);
	CREATE TABLE refp_21 PARTITION OF refp_2 DEFAULT;
	INSERT INTO refp SELECT generate_series(0, 99);

	CREATE TABLE t (id int PRIMARY KEY, gone int, a int, b int, c int, d int, e int, f int, g int, h int, i int, j int, k int,
		p int, self int, pad text DEFAULT repeat('x', 700)) PARTITION BY RANGE (id);
	ALTER TABLE t DROP COLUMN gone;
	CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (1100) $wide;
	CREATE TABLE t2 (self int, p int, k int, j int, i int, h int, g int, f int, e int, d int, c int, b int, a int,
		pad text DEFAULT repeat('x', 700), id int NOT NULL) PARTITION BY RANGE (id);
	CREATE TABLE t21 (x int, LIKE t2 INCLUDING DEFAULTS, y text) $wide;
	ALTER TABLE t21 DROP COLUMN x, DROP COLUMN y;
	ALTER TABLE t2 ATTACH PARTITION t21 FOR VALUES FROM (1100) TO (2200);
	CREATE TABLE t22 PARTITION OF t2 FOR VALUES FROM (2200) TO (2250);
	ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (1100) TO (2250);
	CREATE TABLE t3 PARTITION OF t DEFAULT;
	INSERT INTO t (id, a, b, c, d, e, f, g, h, i, j, k, p, self)
		SELECT n, r, r % 3, r, r, r, r, r, r, r, r, r, r, n FROM (SELECT n, n % 100 AS r FROM generate_series(0, 2249) n) x;

	-- made partition by partition
	ALTER TABLE t ADD CONSTRAINT ${long}1 FOREIGN KEY (a) REFERENCES ref ON UPDATE CASCADE;
	ALTER TABLE t ADD CONSTRAINT ${long}2 FOREIGN KEY (a, b) REFERENCES ref (id, b)
		MATCH FULL ON UPDATE SET NULL ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
	ALTER TABLE t ADD CONSTRAINT "Fk "" c" FOREIGN KEY (c) REFERENCES ref (id) ON DELETE SET DEFAULT DEFERRABLE;
	-- what is referenced is partitioned
	ALTER TABLE t ADD CONSTRAINT fk_p FOREIGN KEY (p) REFERENCES refp ON DELETE CASCADE;
	ALTER TABLE t ADD CONSTRAINT fk_self FOREIGN KEY (self) REFERENCES t;
	-- one of another kind has the name in a partition
	ALTER TABLE t1 ADD CONSTRAINT fk_check CHECK (d >= 0);
	ALTER TABLE t ADD CONSTRAINT fk_check FOREIGN KEY (d) REFERENCES ref;
	-- the server takes these columns' numbers from the table, in its partitions, too
	ALTER TABLE t ADD CONSTRAINT fk_columns FOREIGN KEY (b, e) REFERENCES ref (b, id)
		ON DELETE SET NULL (e);
	-- a partition's own key is the same but for what is done; is the same
	ALTER TABLE t ADD CONSTRAINT fk_action FOREIGN KEY (f, b) REFERENCES ref (id, b) ON DELETE SET NULL;
	ALTER TABLE t21 ADD CONSTRAINT a_action FOREIGN KEY (f, b) REFERENCES ref (id, b) ON DELETE SET NULL (b);
	ALTER TABLE t ADD CONSTRAINT fk_same FOREIGN KEY (g) REFERENCES ref;
	ALTER TABLE t1 ADD CONSTRAINT a_same FOREIGN KEY (g) REFERENCES ref NOT VALID;
	-- so is one of a table between
	ALTER TABLE t ADD CONSTRAINT fk_above FOREIGN KEY (h) REFERENCES ref;
	ALTER TABLE t2 ADD CONSTRAINT fk_below FOREIGN KEY (h) REFERENCES ref;
	-- two of the table
	ALTER TABLE t ADD CONSTRAINT twin_b FOREIGN KEY (i) REFERENCES ref;
	ALTER TABLE t ADD CONSTRAINT twin_a FOREIGN KEY (i) REFERENCES ref});
sql($node, 'source', qq{
	ALTER TABLE t ADD CONSTRAINT fk_not_valid FOREIGN KEY (j) REFERENCES ref NOT VALID;
	ALTER TABLE t ADD CONSTRAINT fk_not_enforced FOREIGN KEY (k) REFERENCES ref NOT ENFORCED}) if $of_table;

# Triggers of foreign keys are named by their numbers.
sub described
{
	my ($class, $object, $sub) = @_;
	return qq{regexp_replace(pg_describe_object($class, $object, $sub), '(RI_ConstraintTrigger_[ac])_[0-9]+', '\\1')};
}

# Every column of every constraint and trigger, and what they depend on, and
# what depends on them, a line each, without numbers of objects.
sub catalog
{
	my ($db) = @_;
	my $constraint = described(q{'pg_constraint'::regclass}, '%s', 0);
	my ($parent, $its) = map { $constraint =~ s/%s/$_/r } qw(c.conparentid t.tgconstraint);
	return split /\n/, value($node, $db, qq{
		SELECT to_jsonb(c) - '{oid,conbin}'::text[] || jsonb_build_object('connamespace', c.connamespace::regnamespace,
			'conrelid', c.conrelid::regclass, 'confrelid', c.confrelid::regclass, 'conindid', c.conindid::regclass,
			'conparentid', $parent)
		FROM pg_constraint c WHERE c.oid >= 16384
		UNION ALL
		SELECT to_jsonb(t) - '{oid,tgqual}'::text[] || jsonb_build_object('tgname', regexp_replace(t.tgname, '_[0-9]+\$', ''),
			'tgrelid', t.tgrelid::regclass, 'tgfoid', t.tgfoid::regproc, 'tgconstrrelid', t.tgconstrrelid::regclass,
			'tgconstrindid', t.tgconstrindid::regclass, 'tgconstraint', $its, 'tgparentid',
			(SELECT jsonb_build_array(p.tgrelid::regclass, p.tgfoid::regproc, $its) FROM pg_trigger p WHERE p.oid = t.tgparentid))
		FROM pg_trigger t
		UNION ALL
		SELECT jsonb_build_array(} . described('classid', 'objid', 'objsubid') . ', deptype, '
		. described('refclassid', 'refobjid', 'refobjsubid') . q{)
		FROM pg_depend WHERE (classid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass) AND objid >= 16384)
			OR (refclassid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass) AND refobjid >= 16384)
		ORDER BY 1});
}

my $archive = new_path('archive');
run_program('pg_dump', '-Fd', '-Z0', '-f', $archive, '-d', $node->connstr('source'));
my ($theirs, $ours) = map { empty_copy($node, 'source', $_) } qw(theirs ours);
my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($theirs), $archive);
is("$rc $err", '0 ', 'stock');
my $offset = -s $node->logfile;
# all else in the archive's order: which of two keys is first decides what they are
($rc, undef, $err) = run_parrestore($node, $ours, $archive, '-j1', '--index-jobs=2');
is("$rc $err", '0 ', 'ours');

my %validated = map { $_ => 1 } slurp_file($node->logfile, $offset) =~ /ALTER TABLE (?:ONLY )?(.*VALIDATE CONSTRAINT .*)/g;
my @keys = ("${long}1", "${long}2", '"Fk "" c"', $of_table ? 'fk_columns' : ());
is(join("\n", sort keys %validated),
	join("\n", sort map { my $key = $_; map { "public.$_ VALIDATE CONSTRAINT $key" } 't1', 't21', $of_table ? 't' : () } @keys),
	'keys that are made partition by partition');

# What of the first list is not in the second, as often as it is there.
sub without
{
	my ($list, $other) = @_;
	my %left;
	$left{$_}++ foreach @$other;
	return grep { --$left{$_} < 0 } @$list;
}

my @theirs = catalog($theirs);
my @ours = catalog($ours);
cmp_ok(scalar(@theirs), '>', 500, 'constraints, triggers and dependencies');
if (!$of_table)
{
	# as after ATTACH PARTITION of a table that had the key
	my ($names, $n) = (join('|', "${long}1", "${long}2", 'Fk \\\\" c'), 0);
	foreach my $line (@ours)
	{
		next unless $line =~ /"conname": "($names)"/ && $line =~ /"conrelid": "(t1|t21)"/;
		$n += $line =~ s/"connoinherit": true/"connoinherit": false/;
	}
	is($n, 2 * @keys, 'connoinherit is true of keys that are taken over');
	my @more = grep { /^\["trigger RI_ConstraintTrigger_c on table t2?1", ("S", "table t2?1"|"P", "trigger RI_ConstraintTrigger_c on table t2?")\]$/ }
		without(\@ours, \@theirs);
	is(scalar(@more), 2 * 2 * 2 * @keys, 'their triggers depend on the table above, too');
	@ours = without(\@ours, \@more);
}
is(join("\n", without(\@theirs, \@ours)), '', 'no row of the catalogs is missing');
is(join("\n", without(\@ours, \@theirs)), '', 'the catalogs contain no additional rows');

$node->stop;
done_testing();
