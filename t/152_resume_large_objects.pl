# Large objects are made as definitions are: by batches, in the transaction that
# notes it, so that a restore that ends or is disturbed in their midst continues
# there.  All are there once, with their contents, owners, privileges and
# comments, as stock pg_restore makes them, be they an entry each, as until 16,
# or come by groups.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program dump_ok new_path pg_major value sql tier);
use Pardump::Compare qw(fingerprint schema_text);
use Pardump::Copy qw(sessions_left start_load);
use Pardump::Databases qw(empty_copy);
use Pardump::Moment qw(start_moments moments_seen stop_moments);
use Pardump::Restore qw(run_parrestore same_as_stock_ok errors_ignored restored_as_stock_ok);
use Pardump::Stopper qw(start_stopper start_stopped stop_stopper disturb);
use Pardump::Toc qw(read_toc write_toc copy_archive);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('resume_objects');
my $copies = 0;

# A hundred make a transaction.
sql($node, 'postgres', q{CREATE ROLE keeper; CREATE ROLE reader; CREATE ROLE giver;
	CREATE ROLE "; LARGE OBJECT 12 ""'"});
make_database($node, 'origin');
sql($node, 'origin', q{
	CREATE TABLE rows AS SELECT i FROM generate_series(1, 100) i;
	SELECT lo_from_bytea(7000 + i, decode(md5(i::text), 'hex')) FROM generate_series(1, 350) i;
	DO $$BEGIN FOR i IN 7001..7250 LOOP
		EXECUTE format('ALTER LARGE OBJECT %s OWNER TO keeper', i);
		EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO reader WITH GRANT OPTION', i);
		EXECUTE format('GRANT ALL ON LARGE OBJECT %s TO "; LARGE OBJECT 12 ""''"', i);
		EXECUTE format('REVOKE UPDATE ON LARGE OBJECT %s FROM keeper', i);
	END LOOP; END$$;
	COMMENT ON LARGE OBJECT 7003 IS E'a;\n''comment';
	SELECT lo_create(9001); ALTER LARGE OBJECT 9001 OWNER TO "; LARGE OBJECT 12 ""'"});

# An archive of the form that 15 and 16 write, of one of a later form.
sub older_form
{
	my ($dir) = @_;
	my $toc = read_toc($dir);
	my ($max) = sort { $b <=> $a } map { $_->{id} } @{ $toc->{entries} };
	my (%oids, @entries);
	foreach my $te (@{ $toc->{entries} })
	{
		my $group = $te->{deps}[0] // '';
		if ($te->{desc} eq 'BLOB METADATA')
		{
			$oids{ $te->{id} } = [ split /\n/, $te->{defn} ];
			foreach my $oid (@{ $oids{ $te->{id} } })
			{
				push @entries, { %$te, id => ++$max, oid => $oid, desc => 'BLOB', tag => $oid, deps => [],
					defn => "SELECT pg_catalog.lo_create('$oid');\n", drop => "SELECT pg_catalog.lo_unlink('$oid');\n" };
			}
		}
		elsif ($te->{tag} =~ /^LARGE OBJECTS /)
		{
			foreach my $oid (@{ $oids{$group} })
			{
				push @entries, { %$te, id => ++$max, tag => "LARGE OBJECT $oid", deps => [],
					defn => $te->{defn} =~ s/(ON LARGE OBJECT )\d+/$1$oid/gr };
			}
		}
		else { push @entries, $te; }
	}
	$toc->{entries} = \@entries;
	my $other = copy_archive($dir, new_path('older'));
	write_toc($toc, $other);
	return $other;
}

my %archives = (stock => new_path('stock'), custom => new_path('custom'),
	ours => dump_ok($node, 'origin', 'ours', 'pg_pardump'));
run_program('pg_dump', '-Fd', '-f', $archives{stock}, '-d', $node->connstr('origin'));
run_program('pg_dump', '-Fc', '-f', $archives{custom}, '-d', $node->connstr('origin'));
my $groups = grep { $_->{desc} eq 'BLOB METADATA' } @{ read_toc($archives{stock})->{entries} };
is($groups > 0, pg_major($node) >= 17, "$groups groups of large objects");
$archives{older} = older_form($archives{stock}) if $groups;

sub new_copy { return empty_copy($node, 'origin', 'copy' . ++$copies); }

sub noop { return; }

# ---- as stock, with all options

my $some = sub { sql($node, $_[0], q{SELECT lo_from_bytea(7002, 'old'); SELECT lo_from_bytea(8000, 'other')}); };
my %stock;

# What stock pg_restore makes of it.
sub by_stock
{
	my ($prepare, @options) = @_;
	my $db = new_copy();
	$prepare->($db);
	my ($rc, undef, $err) = run_program('pg_restore', '-d', $node->connstr($db), @options, $archives{stock});
	return { rc => $rc, errors => errors_ignored($err), data => fingerprint($node, $db), schema => schema_text($node, $db) };
}

# Some entries alone: of an owner, or privileges without what they are on.
sub list_of
{
	my ($archive, $wanted) = @_;
	my $list = new_path('list');
	my (undef, $all) = run_program('pg_restore', '-l', $archive);
	append_to_file($list, join '', map { "$_\n" } grep { /^;/ || $_ =~ $wanted } split /\n/, $all);
	return $list;
}

# The archives in which the entries are the same are restored by stock pg_restore to the
# same database, which is made from each of them in the highest tier alone.
my %same;
foreach my $name (sort keys %archives)
{
	my $archive = $archives{$name};
	my $case = 0;
	my $with_all = sub { run_program('pg_restore', '-x', '-d', $node->connstr($_[0]), $archive); };
	foreach ([ \&noop ], [ \&noop, '-O' ], [ \&noop, '-x' ], [ \&noop, '-O', '--no-comments', '--role=keeper' ],
		[ \&noop, '-s' ], [ \&noop, '--use-set-session-authorization' ], [ $some ],
		[ $some, '--clean', '--if-exists' ], [ $with_all, '--clean' ], [ sub { $some->(@_); sql($node, $_[0], 'CREATE TABLE rows (i int)') }, '-a' ],
		[ \&noop, '-L', list_of($archive, qr/ keeper$/) ],
		[ $with_all, '-L', list_of($archive, qr/ ACL .* LARGE OBJECT/) ])
	{
		my ($prepare, @options) = @$_;
		$case++;
		# the entries are the same ones
		next if $name =~ /ours|custom/ && "@options" !~ /^(?:|--clean --if-exists)$/;
		my $may_log = sub { $prepare->(@_); sql($node, $_[0], "GRANT CREATE ON DATABASE $_[0] TO keeper; GRANT ALL ON SCHEMA public TO keeper"); };
		my %params = (source => 'origin', prepare => $may_log, options => [ @options, '-j2' ]);
		$params{stock} = $same{$case} //= Pardump::Restore::by_stock($node, $archives{stock}, %params)
		  if $name ne 'older' && tier() < 3;
		same_as_stock_ok($node, $archive, "$name @options", %params, ours => $prepare == $some && !@options ? ['--allow-existing'] : []);
	}
}

# ---- their owner fills them, and has fewer privileges later

foreach my $name (grep { /stock|older/ } sort keys %archives)
{
	my $prepare = sub { sql($node, $_[0], "GRANT CREATE ON DATABASE $_[0] TO keeper"); };
	my @options = ('--role=keeper', '-L', list_of($archives{$name}, qr/(?:BLOB|LARGE OBJECT).*(?: keeper$|700[13]|7001\.\.)/));
	same_as_stock_ok($node, $archives{$name}, "$name, by their owner", source => 'origin', prepare => $prepare,
		options => [ @options, '-j2' ]);
}

# ---- a message for many

foreach my $name (sort keys %archives)
{
	my $moments = start_moments($node, [ qr/lo_create\(/, qr/INSERT INTO pardump_restore\.done/, qr/GRANT SELECT ON LARGE/ ]);
	my $db = new_copy();
	my $run = start_load('pg_parrestore', '-d', "host=$moments->{host} port=$moments->{port} dbname=$db", $archives{$name});
	is(end_dump($run), 0, "$name: restored") or diag($run->{err});
	my ($made, $lines, $grants) = moments_seen($moments);
	# with one for each of 351 objects, or of 250 that have privileges, there would be hundreds
	ok($made <= 10 && $lines <= 30 && $grants <= 10, "$name: in $made messages, privileges in $grants, with $lines for the log");
	stop_moments($moments);
}

# ---- in their midst

my $create = qr/lo_create\(/;
my $privilege = qr/GRANT SELECT ON LARGE OBJECT/;

foreach my $name (grep { /stock|older/ } sort keys %archives)
{
	foreach (
		[ 'lost', $create, 'said', \&noop ],
		[ 'lost', $create, 'answered', \&noop ],
		[ 'lost', $create, 'committed', \&noop, '--use-set-session-authorization' ],
		[ 'lost', $privilege, 'committed', \&noop ],
		[ 'killed', $create, 'said', \&noop ],
		[ 'killed', $create, 'commit', $some, '--clean', '--if-exists' ],
		[ 'killed', $create, 'committed', $some, '--clean', '--if-exists' ],
		[ 'killed', $create, 'committed', \&noop, '-e', '-O' ],
		[ 'killed', $privilege, 'committed', \&noop ],
		[ 'crashed', $create, 'commit', \&noop ],
		[ 'crashed and killed', $create, 'committed', \&noop ])
	{
		my ($how, $what, $where, $prepare, @options) = @$_;
		my $title = "$name, $how, $what $where, @options";
		my $stock = $stock{"@options"} //= by_stock($prepare, @options);
		my $db = new_copy();
		$prepare->($db);
		# of two workers either may be first: by one the second is the second hundred
		my $jobs = $how =~ /killed/ ? '-j1' : '-j2';
		my $stopper = start_stopper($node, $what, $where, 2);
		my $run = start_stopped($stopper, $db, $jobs, '--retries=9', @options, $archives{$name});
		disturb($how, $node, $run, $stopper);
		if ($how =~ /killed/)
		{
			wait_until('no backend is left', sub { sessions_left($node) == 0 });
			# the second hundred is there if and only if it was committed
			is(value($node, $db, 'SELECT count(*) FROM pg_largeobject_metadata WHERE oid BETWEEN 7101 AND 7200'),
				$where eq 'committed' || $what eq $privilege ? 100 : 0, "$title: in their midst");
			my ($rc, undef, $err) = run_parrestore($node, $db, $archives{$name}, '--resume', '-j2', @options);
			restored_as_stock_ok($node, $db, $stock, $rc, $err, $title);
		}
		else
		{
			my $rc = end_dump($run);
			like($run->{err}, qr/lost the connection of a worker; /, "$title: it says so");
			restored_as_stock_ok($node, $db, $stock, $rc, $run->{err}, $title);
		}
		stop_stopper($stopper);
	}
}

# ---- errors: one by one then; and what is the first one with -e is made by --resume

foreach my $name (grep { /stock|older/ } sort keys %archives)
{
	my $archive = $archives{$name};
	my $stock = $stock{there} //= by_stock($some);
	my $db = new_copy();
	$some->($db);
	my $stopper = start_stopper($node, qr/lo_create\('7150'\);\n?\0/, 'said');
	# what is there is an error; it is one of the first hundred
	sql($node, $db, q{SELECT lo_create(7101)});
	my $run = start_stopped($stopper, $db, '-j2', '--allow-existing', $archive);
	disturb('killed', $node, $run, $stopper);
	stop_stopper($stopper);
	wait_until('no backend is left', sub { sessions_left($node) == 0 });
	my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '--resume', '-j2');
	is("$rc " . errors_ignored($err), "1 " . ($stock->{errors} + 1), "$name, one by one: errors of all runs count");
	is_deeply(fingerprint($node, $db), $stock->{data}, "$name, one by one: all is there once");

	$db = new_copy();
	sql($node, $db, q{SELECT lo_create(7150)});
	foreach my $again (['--allow-existing'], ['--resume'])
	{
		($rc, undef, $err) = run_parrestore($node, $db, $archive, '-e', '-j2', @$again);
		is($rc, 1, "$name, -e @$again: exit code");
		like($err, qr/duplicate key value .*Command was: SELECT pg_catalog\.lo_create\('7150'\)/s, "$name, -e @$again: message");
	}
	sql($node, $db, 'SELECT lo_unlink(7150)');
	($rc, undef, $err) = run_parrestore($node, $db, $archive, '-e', '-j2', '--resume');
	restored_as_stock_ok($node, $db, $stock{plain} //= by_stock(\&noop), $rc, $err, "$name, -e, mended");
}

# ---- privileges that another role has given: on groups, stock pg_restore cannot

{
	sql($node, 'origin', q{DO $$BEGIN FOR i IN 7001..7250 LOOP
		SET LOCAL SESSION AUTHORIZATION reader;
		EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO giver', i);
		RESET SESSION AUTHORIZATION;
	END LOOP; END$$});
	my $archive = new_path('given');
	run_program('pg_dump', '-Fc', '-f', $archive, '-d', $node->connstr('origin'));
	foreach my $options ([], ['--use-set-session-authorization'])
	{
		my $db = new_copy();
		my ($rc, undef, $err) = run_parrestore($node, $db, $archive, '-j2', @$options);
		is("$rc $err", '0 ', "given by another, @$options: exit code");
		is_deeply(fingerprint($node, $db), fingerprint($node, 'origin'), "given by another, @$options: all is there");
	}
}

# ---- a group that has no list, and privileges of no group

if ($groups)
{
	my $prepare = sub {
		my ($change) = @_;
		my $toc = read_toc($archives{stock});
		$change->($_) foreach @{ $toc->{entries} };
		my $dir = copy_archive($archives{stock}, new_path('damaged'));
		write_toc($toc, $dir);
		return $dir;
	};
	my %damaged = (
		'is not a list of large objects' => $prepare->(sub { $_[0]{defn} =~ s/7002\n/7002');\n/ if $_[0]{desc} eq 'BLOB METADATA' }),
		'has privileges of missing large objects' =>
		  $prepare->(sub { $_[0]{deps} = [] if $_[0]{tag} =~ /^LARGE OBJECTS / }));
	foreach my $message (sort keys %damaged)
	{
		my ($rc, undef, $err) = run_parrestore($node, new_copy(), $damaged{$message});
		is($rc, 1, "$message: exit code");
		like($err, qr/error: archive .* is damaged\n.*detail: Entry \d+ .*\Q$message\E/, "$message: told");
	}
}

$node->stop;
done_testing();
