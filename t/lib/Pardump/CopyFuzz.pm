# Random tables, and random and damaged data for them, for COPY FROM: what
# t/125_fast_copy_fuzz.pl loads once by the server and once by the extension.
#
# All choices are made by rand(), so that srand() repeats them.

package Pardump::CopyFuzz;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(fuzz_types_sql random_case);

# Made once: the types of columns that are not built in, and a trigger's function.
sub fuzz_types_sql
{
	return <<'SQL';
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
CREATE EXTENSION btree_gist;
CREATE DOMAIN d_pos AS int CHECK (VALUE > 0);
CREATE DOMAIN d_txt AS text CHECK (length(VALUE) < 6);
CREATE DOMAIN d_arr AS int[] CHECK (coalesce(VALUE[1], 0) >= 0);
CREATE DOMAIN d_nn AS int NOT NULL;
CREATE TYPE e_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE c_pair AS (a int, b text);
CREATE DOMAIN d_comp AS c_pair CHECK ((VALUE).a IS NULL OR (VALUE).a > 0);
CREATE FUNCTION trg() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_LEVEL = 'ROW' THEN
		NEW.id := coalesce(NEW.id, 0) + 1;
	END IF;
	RETURN NEW;
END $$;
SQL
}

sub pick { return $_[ int(rand @_) ]; }
sub chance { return rand() < $_[0]; }
sub between { my ($from, $to) = @_; return $from + int(rand($to - $from + 1)); }

sub shuffled
{
	my @list = @_;
	foreach my $i (reverse 1 .. $#list)
	{
		my $j = int(rand($i + 1));
		@list[ $i, $j ] = @list[ $j, $i ];
	}
	return @list;
}

# Of each type a value that is a dump's, as it stands in COPY's text format, and
# others: limits, other forms, errors.  A type that is the name of another one
# has the values of that.
my %values = (
	int2 => [ '12', sub { between(-40_000, 40_000) } ],
	int4 => [ '7', sub { between(-3_000_000_000, 3_000_000_000) }, sub { between(-50, 50) },
		' 12 ', '+5', '0x1F', '1_000', '' ],
	int8 => [ '99', sub { pick('', '-') . between(1, 9) . join('', map { between(0, 9) } 1 .. 18) },
		sub { between(0, 9) }, '-0' ],
	# the other values are as usual as the first
	text => [ undef, '', 'abc', 'a\\\\b', 'tab\\tx', 'n\\nl', "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e",
		sub { 'x' x between(0, 300) }, '\\x41\\101', '\\N', 'N', '\\\\N', q{q"'} ],
	'varchar(7)' => 'text', 'char(5)' => 'text', bpchar => 'text', name => 'text',
	bool => [ 't', 'f', 'true', 'yes', 'of', 'on', '1', '0', 'tr', 'T', 'null' ],
	numeric => [ '1.5', '1.50', '1e5', '-0.000', 'NaN', 'Infinity', '-inf',
		sub { sprintf '%.17g', rand() * 10**between(-20, 30) }, ('1' x 200) . '.' . ('5' x 200),
		'1e-1000', ' 7 ', '.5', '5.', '1_0' ],
	'numeric(8,2)' => 'numeric',
	float8 => [ '2.5', '1.5', 'NaN', 'inf', '-Infinity', '1e400', '4.9e-324', '1e-400',
		sub { sprintf '%.17g', rand() * 10**between(-300, 300) }, '0x1p3', '-0', ' 1 ' ],
	float4 => 'float8',
	date => [ '2020-02-29', '2020-02-30', '1999-12-31', 'infinity', 'J2451187', 'today', '20200101', '01/02/03',
		'4714-11-24 BC', '5874897-12-31', '5874898-01-01', '99-1-1' ],
	# not "now": both are loaded at different times
	timestamp => [ '2020-01-01 10:00:00', '2020-01-01T24:00:00', '2020-01-01 23:59:60', '2020-01-01 10:00:00.1234567',
		'infinity', 'epoch', 'tomorrow', '294276-12-31 23:59:59.999999', '2020-03-29 02:30:00', '1883-11-18 12:03:57' ],
	timestamptz => [ '2020-01-01 10:00:00+02', '2020-01-01 10:00:00-15:59:59', '2020-03-29 02:30:00',
		'2020-01-01 10:00:00 Europe/Berlin', '2020-01-01 10:00:00 EST', '-infinity', '2020-01-01 10:00:00+16',
		'0044-03-15 12:00:00+00 BC', '2020-11-01 01:30:00' ],
	'timestamptz(0)' => 'timestamptz',
	time => [ '10:00', '24:00:00', '23:59:60', '10:00:00.999999999', '25:00', '10 PM' ],
	timetz => [ '10:00+02', '24:00:00-03:30', '10:00', '10:00:00.5 UTC' ],
	interval => [ '1 day', 'P1Y2M', '1-2', '-1 mon +3 days -04:05:06.7', '-1 days 02:00:00', 'infinity', '1.5 years',
		'178000000 years', '00:00:00.0000005' ],
	uuid => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}',
		'a0eebc999c0b4ef8bb6d6bb9bd380a1', 'zz' ],
	inet => [ '10.0.0.0/8', '192.168.0.1', '::1', '2001:db8::/33', '1.2.3.4/33', 'fe80::1%eth0', '::ffff:1.2.3.4',
		'256.1.1.1', '10.1' ],
	cidr => 'inet',
	macaddr => [ '08:00:2b:01:02:03', '08002b-010203', 'x' ],
	bytea => [ '\\\\x00ff', '\\\\xABc', '\\\\000\\\\377', 'abc', '\\\\\\\\', '\\\\x0 1', '' ],
	json => [ '{"a": [1, "x"]}', '{"a":1}', '[1,2,{"b":null}]', '{"a":1,"a":2}', '"\\\\u0000"', '1e400', '{', 'nul',
		'"\\\\ud834\\\\udd1e"', '"\\\\ud834"', sub { ('[' x pick(3, 50, 7000)) . (']' x pick(3, 50, 7000)) }, ' 1 ',
		'{"k":"\\\\\\\\"}', '-0.0', '1.0e-3', '01', "\"\xc3\xa9\"", '"\\\\/"' ],
	jsonb => 'json',
	'int4[]' => [ '{1,2}', '{1,2,3}', '{}', '{{1,2},{3,4}}', '[0:1]={1,2}', '{1,NULL}', '{1,2', '{{1},{2,3}}',
		'{ 1 , 2 }', '{"3"}', '{9999999999}', '[1:2]={1}' ],
	'numeric[]' => 'int4[]',
	'text[]' => [ '{a,"b c"}', '{a,"b c",NULL,"NULL",""}', '{"a\\\\"b","\\\\\\\\"}', '{a\\\\,b}', '{{a},{b}}',
		'{a b , c}', '{"a" b}', '{,}', '{a,}', '{"\\\\\\\\\\\\""}', '{nUlL}' ],
	point => [ '(1,2)', '1,2', '(NaN,inf)', '(1 2)' ],
	box => [ '(1,2),(3,4)', '((3,4),(1,2))', '1,2,3,4' ],
	int4range => [ '[1,5)', 'empty', '(,)', '[5,1]', '[1,1]', '(1,2)' ],
	tsvector => [ 'a b', 'a:1 b:2A', q{'x y':3}, 'a a a', q{'} ],
	'bit(3)' => [ '101', '1', 'b101', 'x5' ],
	varbit => [ '1', '', '101', 'xF' ],
	money => [ '1.5', '$1.50', '1,000.00', '-$5', '(3.00)' ],
	oid => [ '1', '4294967295', '-1', '4294967296', '  7' ],
	'"char"' => [ 'a', '', 'ab', '\\\\101' ],
	xid => [ '3', '-1', '0x5' ],
	pg_lsn => [ '0/1', 'FFFFFFFF/FFFFFFFF', '1/', '0/G' ],
	d_pos => [ '3', '1', '5', '-1', '0' ],
	d_txt => [ 'ab', 'abc', '', 'toolongtext' ],
	d_arr => [ '{1}', '{1,2}', '{1,-2}', '{}' ],
	d_nn => [ '1', '2' ],
	e_mood => [ 'ok', 'sad', 'happy', 'Sad', '' ],
	c_pair => [ '(1,a)', '(,)', '(1,"a b")', '(1)', '(x,y)' ],
	'c_pair[]' => [ '{"(1,a)"}', '{"(1,a)","(2,b)"}', '{}' ],
	d_comp => [ '(1,a)', '(-1,a)', '(,)' ],
	xml => [ '<a/>', '<a>', 'x', '<?xml version="1.0"?><b/>' ],
	jsonpath => [ '$.a', '$', 'strict $[*]?(@>1)', '$.' ],
	int4multirange => [ '{[1,2)}', '{}', '{[3,4),[1,2)}' ],
	regclass => [ 'pg_class', 'nope', '1259' ],
	regtype => [ 'int4', 'text[]', 'nope' ],
	hstore => [ 'a=>1', '"a"=>NULL, b=>"2"', 'a=>', '' ],
	citext => [ 'Ab', 'Abc', 'abc', '' ]);
my @types = sort keys %values;

# A value of the type; "rare" is how likely it is none of a dump's.
sub random_value
{
	my ($type, $rare) = @_;
	return '\\N' if chance(0.08);
	my $of = $values{$type};
	$of = $values{$of} if !ref $of;
	my ($usual, @others) = @$of;
	return $usual if defined $usual && !chance($rare);
	my $value = pick($usual // (), @others);
	return ref $value ? $value->() : $value;
}

# --- tables

# The columns' definitions; "id" is the first, and :s stands for the schema.
sub random_columns
{
	my ($major, @columns) = @_;
	my @sql = ('id int' . (chance(0.3) ? ' NOT NULL' : '')
		  . pick(' DEFAULT 42', q{ DEFAULT nextval(':s.sq')}, ' GENERATED BY DEFAULT AS IDENTITY', '',
			' CHECK (id <> 13)', ' CHECK (id < 10000) NO INHERIT'));
	foreach my $column (@columns)
	{
		my ($name, $type) = @$column;
		my $sql = "$name $type";
		$sql .= ' NOT NULL' if chance(0.15);
		$sql .= q{ DEFAULT 'dflt'} if $type eq 'text' && chance(0.3);
		$sql .= " CHECK (length($name) <> 3)" if $type eq 'text' && chance(0.2);
		$sql .= chance(0.4) ? ' DEFAULT (random() * 100)::int' : ' DEFAULT 9' if $type eq 'int4' && chance(0.3);
		push @sql, $sql;
	}
	push @sql, 'g int GENERATED ALWAYS AS (id * 2) STORED' if chance(0.07);
	push @sql, 'gv int GENERATED ALWAYS AS (id * 2) VIRTUAL' . pick('', ' NOT NULL', ' CHECK (gv < 100)')
	  if $major >= 18 && chance(0.1);
	push @sql, 'CONSTRAINT ne CHECK (id < 20) NOT ENFORCED' if $major >= 18 && chance(0.1);
	return join ', ', @sql;
}

# The table "t": an ordinary or unlogged one, a partition, or a child.
sub table_sql
{
	my ($columns) = @_;
	my $kind = rand();
	if ($kind < 0.12)
	{
		$columns =~ s/ GENERATED BY DEFAULT AS IDENTITY| NO INHERIT//;
		return ("CREATE TABLE :s.p ($columns) PARTITION BY RANGE (id)",
			'CREATE TABLE :s.t PARTITION OF :s.p FOR VALUES FROM (0) TO (100000)');
	}
	return ("CREATE TABLE :s.p ($columns)", 'CREATE TABLE :s.t () INHERITS (:s.p)') if $kind < 0.2;
	my $unlogged = pick('', '', '', 'UNLOGGED ');
	my $storage = pick('', ' WITH (fillfactor = 30)', ' WITH (toast_tuple_target = 128)');
	return "CREATE ${unlogged}TABLE :s.t ($columns)$storage";
}

sub trigger_sql
{
	my $when = pick('BEFORE INSERT', 'AFTER INSERT', 'BEFORE INSERT OR UPDATE');
	my $level = chance(0.8) ? 'ROW' : 'STATEMENT';
	my @sql = "CREATE TRIGGER tr $when ON :s.t FOR EACH $level EXECUTE FUNCTION trg()";
	push @sql, 'ALTER TABLE :s.t ' . pick('DISABLE', 'ENABLE REPLICA', 'ENABLE ALWAYS') . ' TRIGGER tr' if chance(0.5);
	return @sql;
}

# What is added to the table: indexes, constraints, triggers, policies, rules.
sub additions_sql
{
	my ($major, @columns) = @_;
	my @sql;
	my $perhaps = sub { my ($p, @statements) = @_; push @sql, @statements if chance($p); };
	$perhaps->(0.3, 'CREATE UNIQUE INDEX ON :s.t (id)');
	$perhaps->(0.1, 'ALTER TABLE :s.t ADD CONSTRAINT uq UNIQUE (id) DEFERRABLE INITIALLY DEFERRED');
	$perhaps->(0.15, 'CREATE INDEX ON :s.t ((id + 1)) WHERE id > 5');
	$perhaps->(0.08, 'ALTER TABLE :s.t ADD EXCLUDE USING btree (id WITH =) WHERE (id > 50)');
	$perhaps->(0.12, trigger_sql());
	$perhaps->(0.08, 'ALTER TABLE :s.t ENABLE ROW LEVEL SECURITY',
		'CREATE POLICY pp ON :s.t FOR ALL USING (true) WITH CHECK (id < 50)');
	$perhaps->(0.1, 'ALTER TABLE :s.t ADD dr int', 'ALTER TABLE :s.t DROP dr');
	$perhaps->(0.1, q{ALTER TABLE :s.t ADD am text DEFAULT 'miss'});
	$perhaps->(0.07, 'CREATE TABLE :s.ref (id int PRIMARY KEY)', 'INSERT INTO :s.ref SELECT generate_series(0, 40)',
		'ALTER TABLE :s.t ADD FOREIGN KEY (id) REFERENCES :s.ref');
	$perhaps->(0.05, 'ALTER TABLE :s.t DISABLE TRIGGER ALL');
	$perhaps->(0.05, 'CREATE RULE ru AS ON INSERT TO :s.t DO ALSO NOTIFY x');
	$perhaps->(0.15, 'ALTER TABLE :s.t ADD CONSTRAINT nnv NOT NULL id NOT VALID') if $major >= 18;
	$perhaps->(0.1, q{ALTER TABLE :s.t ADD rg int4range DEFAULT '[1,2)', ADD CONSTRAINT tmp_uq UNIQUE (id, rg WITHOUT OVERLAPS)})
	  if $major >= 18;
	foreach my $column (@columns)
	{
		my ($name, $type) = @$column;
		$perhaps->(0.1, "CREATE INDEX ON :s.t USING hash ($name)") if $type =~ /^(text|int4|uuid)$/;
		$perhaps->(0.3, "CREATE INDEX ON :s.t USING gin ($name)") if $type =~ /^(jsonb|int4\[\]|text\[\]|tsvector)$/;
		$perhaps->(0.3, "ALTER TABLE :s.t ALTER $name SET STORAGE " . pick('EXTERNAL', 'PLAIN', 'MAIN'))
		  if $type =~ /^(text|jsonb|bytea)$/;
	}
	return @sql;
}

# --- data

# One of 13 kinds of damage to a line.
sub damage
{
	my ($line) = @_;
	my $at = int(rand(1 + length $line));
	my ($head, $tail) = (substr($line, 0, $at), substr($line, $at));
	return pick("$line\textra", $head, "$head\\x4$tail", "$head\xff\xfe$tail", "$head\r$tail", '\\.',
		"$head\\$tail", '', "$line\\", "$head\0$tail", "$head\xc3$tail", "$head\\.$tail", "$head\\1234$tail");
}

sub random_data
{
	my ($type_of, @names) = @_;
	my $n = pick(0, 1, 3, 20, 300, 1500);
	# one of many rare values is an error
	my $rare = pick(0.07, 0.07, 0.01, 0);
	my @lines;
	foreach my $i (0 .. $n - 1)
	{
		push @lines, join "\t", map { $_ eq 'id' && chance(0.99) ? $i : random_value($type_of->{$_}, $rare) } @names;
	}
	if ($n > 0 && chance(0.35))
	{
		my $line = int(rand $n);
		$lines[$line] = damage($lines[$line]);
	}
	my $newline = chance(0.93) ? "\n" : pick("\r\n", "\r");
	my $data = join $newline, @lines;
	$data .= $newline if @lines && chance(0.95);
	$data .= '\\.' . pick("\n", '', "\nmore\n", 'x') if chance(0.05);
	$data =~ s/\n/\r\n/ if chance(0.03);
	return $data;
}

# The data cut into messages of 1 byte to 1 MB, all of one size or of any up to that.
sub messages
{
	my ($data) = @_;
	my $size = length $data < 20_000 ? pick(8192, 65_536, 1, -100, -9000, 7, 1_000_000) : pick(8192, 65_536, -9000, 1_000_000);
	my @messages;
	for (my $at = 0; $at < length $data; $at += length $messages[-1])
	{
		push @messages, substr($data, $at, $size > 0 ? $size : between(1, -$size));
	}
	return \@messages;
}

# --- sessions and statements

sub random_settings
{
	my ($major, $user) = @_;
	my @settings;
	my $perhaps = sub { my ($p, $name, @values) = @_; push @settings, "SET $name = " . pick(@values) if chance($p); };
	$perhaps->(0.2, 'DateStyle', q{'German'}, q{'SQL, DMY'}, q{'Postgres'}, q{'ISO, YMD'});
	$perhaps->(0.2, 'TimeZone', map { "'$_'" } qw(America/New_York Europe/Berlin Asia/Kolkata UTC Australia/Lord_Howe));
	$perhaps->(0.1, 'IntervalStyle', 'sql_standard', 'iso_8601');
	$perhaps->(0.05, 'standard_conforming_strings', $major < 19 ? 'off' : 'on');
	$perhaps->(0.05, 'array_nulls', 'off');
	$perhaps->(0.05, 'client_encoding', 'latin1');
	$perhaps->(0.05, 'default_transaction_read_only', 'on');
	$perhaps->(0.05, 'default_transaction_isolation', 'serializable');
	$perhaps->(0.1, 'session_replication_role', 'replica') if $user eq '';
	return @settings;
}

# What comes before the COPY in its transaction.
sub random_before
{
	my ($user) = @_;
	my $which = rand();
	return 'SAVEPOINT s' if $which < 0.1;
	return 'TRUNCATE t' if $which < 0.2 && $user eq '';
	return 'SET CONSTRAINTS ALL IMMEDIATE' if $which >= 0.2 && $which < 0.25;
	return;
}

# FREEZE is an error unless the transaction has truncated the table.
sub random_options
{
	my @before = @_;
	return pick(' WITH (FREEZE)', ' WITH (FREEZE true)') if chance("@before" eq 'TRUNCATE t' ? 0.6 : 0.05);
	return pick('', '', ' WITH (FORMAT text)', q{ WITH (FORMAT 'text', FREEZE false)});
}

sub random_grant
{
	my @names = @_;
	my $which = rand();
	return 'INSERT' if $which < 0.8;
	return $which < 0.92 ? 'INSERT (' . join(', ', @names) . ')' : 'INSERT (id)';
}

# A case: statements that make the tables, in which :s stands for the schema; the
# user, '' for the superuser; settings of the session; statements before the
# COPY; the COPY, of the table "t"; data and messages; columns that are compared.
sub random_case
{
	my ($major, $user_name) = @_;
	my $i = 0;
	my @columns = map { [ 'k' . $i++, $_ ] } map { pick(@types) } 1 .. between(1, 7);
	my @tables = table_sql(random_columns($major, @columns));
	my @additions = additions_sql($major, @columns);
	my @all = ('id', map { $_->[0] } @columns);
	my @names = chance(0.35) ? shuffled(@all) : @all;
	@names = @names[ 0 .. int(rand @names) ] if chance(0.25);
	my $grant = random_grant(@names);
	my %type_of = (id => 'int4', map { @$_ } @columns);
	my $data = random_data(\%type_of, @names);
	my $has_all = "@names" eq "@all" && !grep { /ADD (am|rg)/ } @additions;
	my $list = $has_all && chance(0.7) ? '' : ' (' . join(', ', @names) . ')';
	my $user = pick($user_name, $user_name, '');
	my @before = random_before($user);
	return {
		tables => [ 'CREATE SEQUENCE :s.sq', @tables, @additions,
			"GRANT SELECT, $grant ON :s.t TO $user_name", "GRANT USAGE ON SEQUENCE :s.sq TO $user_name" ],
		user => $user,
		settings => [ random_settings($major, $user) ],
		before => \@before,
		copy => "COPY t$list FROM STDIN" . random_options(@before),
		data => $data,
		messages => messages($data),
		columns => \@all };
}

1;
