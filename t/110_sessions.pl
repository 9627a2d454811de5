# What users see on terminals of 80 and 120 columns: sessions of all programs, as
# t/data/sessions has them.  scripts/record_sessions.sh records them again after
# a change of messages.  Below the highest tier, two of the programs run on the wide one.

use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster make_database new_path sql data_file tier);
use Pardump::Terminal qw(run_on_terminal seen_lines);
use PostgreSQL::Test::Utils;
use Test::More;

# Where sessions are written instead of compared.
my $record = $ENV{PG_PARDUMP_SESSIONS};

my $node = start_cluster('sessions', allows_streaming => 1);
my $host = $node->host;

# All databases are copied to it, and restored.
my $new = start_cluster('sessions_new');
my $services = new_path('services');
append_to_file($services, sprintf "[new]\nhost=%s\nport=%d\ndbname=postgres\n", $new->host, $new->port);

make_database($node, $_) foreach 'shop', 'web';
sql($node, $_, <<'SQL') foreach 'shop', 'web';
CREATE TABLE orders (id int PRIMARY KEY, note text);
INSERT INTO orders SELECT g, md5(g::text) FROM generate_series(1, 20000) g;
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO customers SELECT g, 'customer ' || g FROM generate_series(1, 100) g;
SQL
sql($node, 'shop', 'CREATE EXTENSION pg_pardump');
# a view that cannot be filled as long as a setting says so, and a constraint whose
# first check ends the session as long as another one says so
sql($node, 'shop', <<'SQL');
CREATE FUNCTION checked(int) RETURNS int LANGUAGE plpgsql AS
	'BEGIN IF current_setting(''shop.fails'', true) = ''on'' THEN RAISE ''not valid''; END IF; RETURN $1; END';
CREATE MATERIALIZED VIEW checked_customers AS SELECT public.checked(id) FROM customers;
CREATE SEQUENCE losses;
CREATE FUNCTION steady(int) RETURNS bool LANGUAGE plpgsql AS
	'BEGIN
		IF current_setting(''shop.loses'', true) = ''on'' THEN
			IF nextval(''public.losses'') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
		END IF;
		RETURN true;
	END';
ALTER TABLE customers ADD CHECK (public.steady(id));
SQL

# A database that is large enough for hints, without the extension, and with a table of
# another role.  It must be dropped before the next dump of all databases.
sub make_large
{
	make_database($node, 'large');
	sql($node, 'large', <<'SQL');
CREATE UNLOGGED TABLE events (id int, note text);
ALTER TABLE events OWNER TO app, ALTER note SET STORAGE PLAIN;
INSERT INTO events SELECT g, repeat('x', 7000) FROM generate_series(1, 10000) g;
CREATE TABLE kinds AS SELECT g AS id FROM generate_series(1, 100) g;
SQL
	return;
}
sql($node, 'postgres', 'CREATE ROLE app');

# ---- a session

my (@session, $columns, $program);

# What differs from run to run or between majors: numbers, sizes, times, LSNs, paths, methods of
# compression, how wide columns are, and which table was the slowest.
sub masked
{
	my ($line) = @_;

	$line =~ s/\Q$host\E/HOST/g;
	$line =~ s{(?<![\w.])(?:/[\w.-]+){2,}}{PATH}g;
	$line =~ s{\b[\dA-F]+/[\dA-F]{6,8}\b}{LSN}g;
	$line =~ s/\b(?:\d{8}T\d{6}|\d{4}-\d\d-\d\dT[\d:]+)Z/TIMESTAMP/g;
	$line =~ s/\b\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?/DATE/g;
	$line =~ s/\b\d+:\d\d(?::\d\d)?\b/TIME/g;
	$line =~ s/\b\d[\d.]* (?:bytes|[kMGT]B)\b/SIZE/g;
	$line =~ s/\b\d+\.dat\b(?:\.\w+)?/FILE/g;
	$line =~ s/\b(?:gzip|zstd|lz4)\b(?::\d+)?/METHOD/g;
	$line =~ s/(?<![A-Za-z_\d])\d[\d.,]*(?<=\d)/N/g;
	$line =~ s/^(slowest table: )[^,]+/$1NAME/;
	$line =~ s/ {2,}/ /g;
	$line =~ s/-{4,}/---/g;
	return progress_masked($line);
}

# Which fields of a progress line have room on a narrow terminal depends on its
# numbers.
sub progress_masked
{
	my ($line) = @_;

	return $line if $line !~ /^ ?(?:[A-Za-z ]+ )?N%, /;
	$line =~ s/^ //;
	$columns < 100 ? $line =~ s/^([^,]*(?:, [^,]+){2}), .*/$1, .../ : $line =~ s{, SIZE/s}{}g;
	return $line;
}

# Is it the last line of a stage without numbers, which only a slow machine shows?
sub is_of_slow_stage { return $_[0] =~ /^[a-z ]+, time \d+:\d\d$/; }

# Terminals wrap messages.
sub is_message { return $_[0] =~ /^(?:\t|(?:  |\w+(?::[^:]+)?: )?(?:error|warning|detail|hint): )/i; }

sub in_session
{
	my (@command) = @_;
	my ($rc, $shown) = run_on_terminal($columns, @command);
	my @lines = grep { !is_of_slow_stage($_) } seen_lines($shown);
	my $typed = join ' ', map { /[^\w.\/=:,-]/ ? "'$_'" : $_ } @command;

	# --list -v and --list --json print paths of any length, and messages those of this test
	is_deeply([ grep { length s{(?<![\w.])(?:/[\w.-]+){2,}}{PATH}gr > $columns && !is_message($_) && !m{/backups\b| archive\z} } @lines ], [],
		"$columns columns, $typed: no line is too long");
	push @session, join '', map { "$_\n" } "\$ $typed" =~ s{/\S+/}{}gr, (map { masked($_) } @lines), $rc ? "exit code $rc" : ();
	return;
}

# Compare the sessions of a program, or record them.
sub end_program
{
	my $name = "${program}_$columns.txt";

	if (defined $record)
	{
		open my $fh, '>:utf8', "$record/$name" or die "could not write \"$record/$name\": $!";
		print {$fh} join "\n", @session or die "could not write \"$record/$name\": $!";
		close $fh or die "could not write \"$record/$name\": $!";
	}
	else
	{
		my @recorded = split /\n(?=\$ )/, slurp_file(data_file("sessions/$name"));
		utf8::decode($_) foreach @recorded;
		is(scalar @session, scalar @recorded, "$name: sessions");
		foreach my $i (0 .. $#session)
		{
			my ($typed) = $session[$i] =~ /^\$ (.*)/;
			is($session[$i], $recorded[$i], "$name: $typed");
		}
	}
	@session = ();
	return;
}

# ---- the programs

my $home = getcwd();
local @ENV{qw(PGHOST PGPORT PGDATABASE PGSERVICEFILE)} = ($host, $node->port, 'postgres', $services);

foreach my $width (80, 120)
{
	my $dir = new_path("home_$width");
	mkdir $dir, 0700 or die "could not make directory \"$dir\": $!";
	chdir $dir or die "could not change to directory \"$dir\": $!";
	$columns = $width;
	my $is_all = $width == 80 || defined $record || tier() == 3;

	if ($is_all)
	{
		$program = 'pg_pardump';
		my @chunks = ('-j2', '--chunk-size=256kB');
		make_database($node, 'copy', options => 'TEMPLATE template0');
		in_session('pg_pardump', '--dry-run', @chunks, 'shop');
		in_session('pg_pardump', '--check', @chunks, '-f', 'shop.dump', 'shop');
		in_session('pg_pardump', @chunks, '-f', 'shop.dump', 'shop');
		in_session('pg_pardump', @chunks, '-f', 'web.dump', 'web');
		in_session('pg_pardump', @chunks, '-f', 'shop.dump', 'shop');
		in_session('pg_pardump', '--check', @chunks, '-f', 'shop.dump', 'shop');
		system_or_bail('pg_pardump', @chunks, '--manifest-fingerprints', '-f', 'monday.dump', '--no-progress', 'shop');
		in_session('pg_pardump', @chunks, '--incremental=monday.dump', '-f', 'tuesday.dump', 'shop');
		in_session('pg_pardump', '--verify=shop.dump', '-j2');
		in_session('pg_pardump', '--check', @chunks, '--target', 'dbname=copy', 'shop');
		in_session('pg_pardump', @chunks, '--target', 'dbname=copy', 'shop');
		in_session('pg_pardump', @chunks, '--compare-with', 'dbname=copy', 'shop');
		sql($node, 'copy', q{UPDATE orders SET note = 'changed' WHERE id = 7});
		in_session('pg_pardump', @chunks, '--compare-with', 'dbname=copy', 'shop');
		in_session('pg_pardump', @chunks, '--compare-with', 'shop.dump', 'shop');
		sql($node, 'postgres', 'DROP DATABASE copy');
		make_database($node, 'compared', options => 'TEMPLATE template0');
		in_session('pg_pardump', @chunks, '--target', 'dbname=compared', '--compare', 'shop');
		sql($node, 'postgres', 'DROP DATABASE compared');
		in_session('pg_pardump', '--all-databases', '--check', '-f', 'all.dump');
		# a limit that leaves no spare connection to one database
		sql($node, 'postgres', $_) foreach 'CREATE ROLE backup LOGIN', 'GRANT pg_read_all_data TO backup', 'ALTER DATABASE web CONNECTION LIMIT 2';
		in_session('pg_pardump', '--all-databases', '--check', '-U', 'backup', '--no-role-passwords', '-f', 'all.dump');
		sql($node, 'postgres', $_) foreach 'ALTER DATABASE web CONNECTION LIMIT -1', 'DROP ROLE backup';
		in_session('pg_pardump', '--all-databases', '-f', 'all.dump');
		in_session('pg_pardump', '--all-databases', '--check', '-f', 'all.dump');
		in_session('pg_pardump', '--all-databases', '--verify=all.dump');
		# a condition that fails in database web only, whose name has three letters
		in_session('pg_pardump', '--all-databases', '--where', 'orders:id <> 1 / (length(current_database()) - 3)', '-f', 'failed.dump');
		truncate((glob 'failed.dump/databases/*/[0-9]*.dat*')[0], 100) or die "could not truncate: $!";
		in_session('pg_pardump', '--all-databases', '--verify=failed.dump');
		my @others = map { "--exclude-database=$_" } qw(web postgres template1);
		in_session('pg_pardump', '--all-databases', '--cluster-snapshot', @others, '--check', '-f', 'snapshot.dump');
		in_session('pg_pardump', '--all-databases', '--cluster-snapshot', @others, '-f', 'snapshot.dump');
		in_session('pg_pardump', '--all-databases', '--target', 'service=new', '--check');
		in_session('pg_pardump', '--all-databases', '--target', 'service=new');
		sql($new, 'postgres', "DROP DATABASE $_") foreach 'shop', 'web';
		make_large();
		in_session('pg_pardump', '--check', '-f', 'large.dump', 'large');
		in_session('pg_pardump', '--all-databases', '--exclude-database=shop', @others, '--check', '-f', 'large.dump');
		in_session('pg_pardump', '-f', 'large.dump', 'large');
		sql($node, 'postgres', 'DROP DATABASE large');
		in_session('pg_pardump', '-f', 'other.dump', 'no_such_database');
		truncate((glob 'shop.dump/[0-9]*.dat*')[0], 100) or die "could not truncate: $!";
		in_session('pg_pardump', '--verify=shop.dump', '-j2');
		end_program();
	}
	else
	{
		system_or_bail('pg_pardump', '--all-databases', '-f', 'all.dump', '--no-progress');
	}

	$program = 'pg_parrestore';
	my @databases = ('restored', 'failing', 'ignoring', 'losing');
	make_database($node, $_, options => 'TEMPLATE template0') foreach @databases;
	sql($node, 'postgres', "ALTER DATABASE $_ SET shop.fails = 'on'") foreach 'failing', 'ignoring';
	sql($node, 'postgres', q{ALTER DATABASE losing SET shop.loses = 'on'});
	system_or_bail('pg_pardump', '-f', 'sound.dump', '--no-progress', 'shop');
	in_session('pg_parrestore', '--check', '-j2', '-d', 'restored', 'sound.dump');
	in_session('pg_parrestore', '-j2', '-d', 'restored', 'sound.dump');
	in_session('pg_parrestore', '-j2', '-d', 'restored', 'sound.dump');
	in_session('pg_parrestore', '-e', '-d', 'failing', 'sound.dump');
	sql($node, 'postgres', 'ALTER DATABASE failing RESET shop.fails');
	in_session('pg_parrestore', '--resume', '-d', 'failing', 'sound.dump');
	in_session('pg_parrestore', '-d', 'ignoring', 'sound.dump');
	in_session('pg_parrestore', '-d', 'losing', 'sound.dump');
	in_session('pg_parrestore', '-d', 'restored', 'no_such.dump');
	my @all = ('pg_parrestore', '--all-databases', '-d', 'service=new');
	in_session(@all, '--check', 'all.dump');
	in_session(@all, 'all.dump');
	sql($new, 'postgres', "DROP DATABASE $_") foreach 'shop', 'web';
	sql($new, 'postgres', q{ALTER ROLE CURRENT_USER SET shop.fails = 'on'});
	in_session(@all, '-e', 'all.dump');
	sql($new, 'postgres', 'ALTER ROLE CURRENT_USER RESET shop.fails');
	in_session(@all, '--resume', '--check', 'all.dump');
	in_session(@all, '--resume', 'all.dump');
	sql($new, 'postgres', "DROP DATABASE $_") foreach 'shop', 'web';
	sql($node, 'postgres', "DROP DATABASE $_") foreach @databases;
	end_program();

	$program = 'pg_parbasebackup';
	in_session('pg_parbasebackup', '-j2', '-c', 'fast', '-D', 'base');
	in_session('pg_parbasebackup', '-j2', '-c', 'fast', '-Ft', '-Z', 'zstd', '-D', 'tar');
	in_session('pg_parbasebackup', '-j2', '--extract=tar', '-D', 'extracted');
	in_session('pg_parbasebackup', '-j2', '-c', 'fast', '-D', 'base');
	end_program();

	if ($is_all)
	{
		$program = 'pg_pardump_backup';
		mkdir 'backups', 0700 or die "could not make directory: $!";
		append_to_file('nightly.conf', "directory = $dir/backups\ndatabase = shop\ndatabase = web\n");
		chmod 0600, 'nightly.conf' or die "could not change a mode: $!";
		local $ENV{PG_PARDUMP_BACKUP_NOW} = 1_800_000_000;
		in_session('pg_pardump_backup', '--check', 'nightly.conf');
		in_session('pg_pardump_backup', 'nightly.conf');
		$ENV{PG_PARDUMP_BACKUP_NOW} += 86400;
		in_session('pg_pardump_backup', '-v', 'nightly.conf');
		$ENV{PG_PARDUMP_BACKUP_NOW} += 7200;
		in_session('pg_pardump_backup', '--list', 'nightly.conf');
		in_session('pg_pardump_backup', '--list', '-v', 'nightly.conf');
		in_session('pg_pardump_backup', '--verify', 'nightly.conf');
		make_database($node, 'restored', options => 'TEMPLATE template0');
		in_session('pg_pardump_backup', '--restore', 'latest', 'shop', '--to', 'restored', 'nightly.conf');
		in_session('pg_pardump_backup', '--restore', 'latest', 'shop', 'nightly.conf');
		# for root, t/188_backup_restore_test.pl compares the report
		in_session('pg_pardump_backup', '--restore-test', 'nightly.conf');
		sql($node, 'postgres', 'DROP DATABASE restored');
		# a condition that fails in database web, as above
		append_to_file('nightly.conf', "keep_last = 1\noptions = --where \"orders:id <> 1 / (length(current_database()) - 3)\"\n");
		$ENV{PG_PARDUMP_BACKUP_NOW} += 86400;
		in_session('pg_pardump_backup', 'nightly.conf');
		in_session('pg_pardump_backup', '--check', 'nightly.conf');
		mkdir 'others', 0700 or die "could not make directory: $!";
		append_to_file('others.conf', "directory = $dir/others\ndatabase = web\ndatabase = no_such_database\nmetrics = $dir/missing\n");
		chmod 0600, 'others.conf' or die "could not change a mode: $!";
		in_session('pg_pardump_backup', '--check', 'others.conf');
		make_large();
		append_to_file('large.conf', "directory = $dir/others\ndatabase = large\n");
		chmod 0600, 'large.conf' or die "could not change a mode: $!";
		in_session('pg_pardump_backup', '--check', 'large.conf');
		sql($node, 'postgres', 'DROP DATABASE large');
		# the newest backup of web, which has an older one
		truncate((glob((glob 'backups/web/*')[-1] . '/dump/[0-9]*.dat*'))[0], 100) or die "could not truncate: $!";
		in_session('pg_pardump_backup', '--verify', 'latest', 'nightly.conf');
		in_session('pg_pardump_backup', '--list', '--json', 'nightly.conf');
		end_program();
	}
	chdir $home or die "could not change to directory \"$home\": $!";
}

$node->stop;
$new->stop;
done_testing();
