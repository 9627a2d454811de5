
# Throwaway clusters and the programs under test: start a cluster, make
# databases, dump with pg_pardump or stock pg_dump, restore with stock
# pg_restore, and look for what a run may have left behind.
#
# Programs are found in PATH, where "make installcheck" puts the installation
# under test first.

package Pardump::Cluster;

use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use Exporter 'import';
use Fcntl ':flock';
use File::Basename;
use File::Path;
use IPC::Run;
use List::Util qw(min);
use Pardump::Wire;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(start_cluster make_database run_program dump_ok
  restore_ok codecs default_suffix has_extension nothing_left_ok pg_major
  new_path value sql data_file start_psql keep_wal start_standby make_loop_server
  listing make_once own_installation installed_at slots has_slot_bug without_slot_warning tier
  line_break poll);

# A minute is what pg_ctl gives a server to start or to end; a slow machine has more.
$ENV{PGCTLTIMEOUT} //= $PostgreSQL::Test::Utils::timeout_default;

# PostgreSQL::Test::Utils sees to messages alone: whose locale has a decimal comma, or
# another order, would fail tests of what programs say.
delete @ENV{qw(LANG LC_COLLATE LC_CTYPE LC_MONETARY LC_NUMERIC LC_TIME)};

# Archives and other files of one test file, numbered so that the log of a
# failed run says which is which.  If all went well none of them is kept: those of
# all test files would be some gigabytes, mostly of memory.
my @paths;
my $owner = $$;
END { remove_paths() if $$ == $owner; }

# How much is asked of the tests: 1 by scripts/test.sh --quick, 2 by the whole
# suite on one major, 3 by scripts/test.sh --all.
sub tier
{
	my $tier = $ENV{PG_PARDUMP_TIER} // 2;
	die "PG_PARDUMP_TIER is \"$tier\", and must be 1, 2 or 3" if $tier !~ /^[123]\z/;
	return $tier;
}

# Make a directory that all test files share, unless it exists: $make gets a
# path to make it at, and the directory gets its name when it is complete.  Files
# that run side by side wait for the one that makes it.  Returns whether this
# call made it.
sub make_once
{
	my ($dir, $make) = @_;
	open(my $lock, '>', "$dir.lock") or die "could not open \"$dir.lock\": $!";
	flock($lock, LOCK_EX) or die "could not lock \"$dir.lock\": $!";
	return 0 if -d $dir;
	$make->("$dir.new");
	rename("$dir.new", $dir) or die "could not rename \"$dir.new\": $!";
	return 1;
}

# A copy of the installation under test, for start_cluster()'s install_path: a test
# that removes files of the extension must not take them from the servers of test
# files that run side by side.  Returns undef if the installation is a packaged
# server's.
sub own_installation
{
	chomp(my $bin = `pg_config --bindir`);
	return undef if !-w $bin;
	my $root = $bin =~ s{(/lib/postgresql/\d+)?/bin$}{}r;
	my $copy = new_path('installation');
	system_or_bail('cp', '-al', $root, $copy);
	return $copy . substr(dirname($bin), length $root);
}

# Run pg_config of that copy.
sub installed_at
{
	my ($installation, $option) = @_;
	chomp(my $dir = (run_program("$installation/bin/pg_config", $option))[1]);
	return $dir;
}

# The node's init(), whose initdb is run once for the first clusters of all test
# files, once for the second ones, and so on, and once for those of each "own": they
# begin as copies of what it made then.  So those of one file have identifiers of their
# own, by which servers are told apart.
my $clusters = 0;

sub init_cluster
{
	my ($node, %params) = @_;
	my $which = $params{own} // ++$clusters;
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	my $from_template = sub {
		my @command = @_;
		return $run->(@command) if $command[0] ne 'initdb';
		my $dir = $node->data_dir;
		my $template = "${PostgreSQL::Test::Utils::tmp_check}/initdb_${which}_"
		  . md5_hex(join "\n", grep { $_ ne $dir } @command);
		make_once($template, sub { $run->(@command); $run->('cp', '-a', $dir, $_[0]); })
		  and return 1;
		return $run->('cp', '-a', $template, $dir);
	};
	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail = $from_template;
	$node->init(%params);
	return;
}

# A node is not running when its test dies half way; what is running is
# stopped by PostgreSQL::Test::Cluster's END block.
sub start_cluster
{
	my ($name, %params) = @_;

	# PGXS of a packaged server passes a path that may not exist
	if (!-x ($ENV{PG_REGRESS} // ''))
	{
		my $pgxs = `pg_config --pgxs`;
		chomp $pgxs;
		$ENV{PG_REGRESS} =
		  dirname(dirname($pgxs)) . '/test/regress/pg_regress';
	}

	my $installation = delete $params{install_path};
	my $node = PostgreSQL::Test::Cluster->new($name,
		defined $installation ? (install_path => $installation) : ());
	init_cluster($node, %params,
		extra => [ '--encoding=UTF8', '--locale=C', '--no-sync' ]);

	# a test that needs autovacuum's absence would be a matter of luck;
	# statements are logged only when they fail, the rest is noise; a query that
	# looks dear is none that compiling makes cheaper here
	$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_connections = 40
shared_buffers = 128MB
max_wal_size = 4GB
jit = off
log_statement = none
max_locks_per_transaction = 1024
CONF
	$node->start unless $params{leave_stopped};
	return $node;
}

sub pg_major
{
	my ($node) = @_;
	return int($node->pg_version =~ s/^(\d+).*/$1/r);
}

# What breaks a line in the names of databases and roles: from 19 on, the server
# refuses line feeds there.
sub line_break
{
	my ($node) = @_;
	return pg_major($node) < 19 ? "\n" : "\x0b";
}

# A name below the test's own directory that does not exist yet.
sub new_path
{
	my ($name) = @_;
	my $stem = basename($0) =~ s/\.pl$//r;
	my $path = File::Spec->rel2abs(
		"${PostgreSQL::Test::Utils::tmp_check}/${stem}_" . (@paths + 1) . "_$name");
	# as after a run of this file by hand
	system_or_bail('rm', '-rf', $path) if -e $path || -l $path;
	push @paths, $path;
	return $path;
}

sub remove_paths
{
	return if $? != 0 || !PostgreSQL::Test::Utils::all_tests_passing() || $ENV{PG_TEST_NOCLEAN};
	local $?;
	# what cannot be removed goes with the rest
	File::Path::remove_tree(@paths, { error => \my $ignored });
	return;
}

# The names in a directory that do not begin with two dots, or with a dot and a
# capital, with blanks between them.
sub listing
{
	my ($dir) = @_;
	return join ' ', map { s/.*\///r } sort glob "$dir/* $dir/.[a-z]*";
}

sub data_file
{
	my ($name) = @_;
	return dirname(dirname(dirname(File::Spec->rel2abs(__FILE__)))) . "/data/$name";
}

# The statements of SQL that psql would send one by one as they are; none if only psql
# knows where they end, or does something else with them.
sub statements_of
{
	my ($sql) = @_;
	return () if $sql =~ /\\|\bCOPY\b.*\bSTD(?:IN|OUT)\b|\b(?:ATOMIC|RULE)\b/is;
	my @statements;
	while ($sql =~ /\G((?>[^'"\$;\/-]+|'[^']*'|"[^"]*"|(\$\w*\$).*?\2|--[^\n]*|\/\*.*?\*\/|[\$\/-])++)(?:;|\z)|\G;/gcs)
	{
		my $statement = $1 // '';
		push @statements, $statement if $statement =~ /\S/;
	}
	return (pos($sql) // 0) == length $sql ? @statements : ();
}

# Sessions that poll() keeps for its next turn, by what they were started with; undef
# outside of it.
our $kept;

# Calls a sub until it returns true, and returns that; but not for longer than $seconds.
# Most subs run a program, so they are called less often the longer it takes.  In the sub,
# sql() and value() do not start a session for each statement: a server takes much longer to
# start one than to answer.
sub poll
{
	my ($seconds, $condition) = @_;
	my $end = time + $seconds;
	my $result;
	local $kept = {};
	for (my $pause = 0.02; time < $end; $pause = min($pause * 1.5, 0.1))
	{
		last if $result = $condition->();
		sleep $pause;
	}
	$_->close foreach values %$kept;
	return $result;
}

# What psql -At prints for statements that it would send as they are.  Starting psql
# takes longer than most statements, and the tests run tens of thousands.  Returns nothing
# if only psql can run the SQL, or can connect.  Dies on any error.
sub run_statements
{
	my ($node, $db, $sql) = @_;
	return if grep { defined $ENV{$_} } qw(PGPASSWORD PGPASSFILE PGSERVICE PGCLIENTENCODING PGTZ PGDATESTYLE);
	utf8::encode($sql) if utf8::is_utf8($sql);
	my @statements = statements_of($sql) or return;
	my @params = (user => $ENV{PGUSER}, options => $ENV{PGOPTIONS}, application_name => $ENV{PGAPPNAME} // 'psql');
	my $key = join "\0", $node->host, $node->port, $db, map { $_ // '' } @params;
	my $session = $kept && delete $kept->{$key};
	$session = eval { Pardump::Wire->new($node, $db, @params) } if !$session || $session->has_input;
	return if !$session;
	my @rows;
	foreach my $statement (@statements)
	{
		my $result = $session->query($statement);
		die "the connection was lost in: $sql" if $result->{closed};
		push @rows, @{ $result->{rows} };
	}
	if ($kept) { $kept->{$key} = $session; }
	else { $session->close; }
	return join "\n", map { join '|', map { $_ // '' } @$_ } @rows;
}

# The stock one starts psql each time it asks.
{
	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::poll_query_until = sub {
		my ($node, $db, $query, $expected) = @_;
		my $answer;
		return 1 if poll($PostgreSQL::Test::Utils::timeout_default,
			sub { ($answer = eval { value($node, $db, $query) } // "error: $@") eq ($expected // 't') });
		diag("timed out waiting for: $query\nlast answer: $answer");
		return 0;
	};
}

# Runs SQL, and dies with the server's message on any error.
sub sql
{
	my ($node, $db, $sql) = @_;
	my $answer = run_statements($node, $db, $sql);
	return $answer if defined $answer;
	my ($rc, $out, $err) = $node->psql($db, $sql, on_error_stop => 1);
	die "$err\nin: $sql" if $rc != 0;
	return $out;
}

# One value, or rows as psql -At writes them.
sub value { return sql(@_); }

# The names of the server's replication slots, with blanks between them.
sub slots
{
	my ($node) = @_;
	return value($node, 'postgres',
		q{SELECT string_agg(slot_name, ' ' ORDER BY slot_name) FROM pg_replication_slots});
}

# Is the server's minor release one that --create-slot warns of?
sub has_slot_bug
{
	my ($node) = @_;
	my ($major, $minor) = value($node, 'postgres', 'SHOW server_version') =~ /^(\d+)\.(\d+)/;
	my %fixed = (15 => 20, 16 => 16, 17 => 12, 18 => 7);
	return defined $minor && $minor < ($fixed{$major} // 0);
}

# What a run with --create-slot says, without that warning, which must be there once.
sub without_slot_warning
{
	my ($node, $err) = @_;
	my $warning = qr/^\w+: warning: PostgreSQL \d+\.\d+ has a bug that can give a new replication slot a wrong snapshot\n\w+: detail: .*\n\w+: hint: .*\n/m;
	$err =~ s/$warning// or return "no warning of the minor release\n$err" if has_slot_bug($node);
	return $err;
}

# make_database($node, 'name', options => "TEMPLATE ...", files => [...],
# vars => { x => ... }): the files of t/data are run in one psql session.
sub make_database
{
	my ($node, $name, %params) = @_;

	sql($node, 'postgres',
		qq{CREATE DATABASE "$name" } . ($params{options} // ''));
	return unless $params{files};

	my @vars = map { ('-v', "$_=$params{vars}{$_}") } sort keys %{ $params{vars} // {} };
	my ($rc, $out, $err) = run_program(
		'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', @vars, '-d',
		$node->connstr($name),
		map { ('-f', data_file($_)) } @{ $params{files} });
	die "could not make database \"$name\": $err" if $rc != 0;
	return;
}

# From now on no checkpoint removes what a standby has not had yet.
sub keep_wal
{
	my ($node) = @_;
	sql($node, 'postgres', $_) foreach q{ALTER SYSTEM SET wal_keep_size = '1GB'}, 'SELECT pg_reload_conf()';
	return;
}

# A hot standby of a node that was started with allows_streaming => 1.  Its
# queries are never cancelled; replay waits for them.  Several have names.
sub start_standby
{
	my ($node, $name) = @_;
	$name //= 'standby';
	keep_wal($node);
	$node->backup("backup_$name");
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($node, "backup_$name", has_streaming => 1);
	$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
	$standby->start;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	return $standby;
}

# A foreign server "loop" that leads back to the database itself.
sub make_loop_server
{
	my ($node, $db) = @_;
	sql($node, $db, sprintf(<<'SQL', $node->host, $node->port, $db));
CREATE EXTENSION postgres_fdw;
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '%s', port '%d', dbname '%s');
CREATE USER MAPPING FOR CURRENT_USER SERVER loop;
SQL
	return;
}

# Returns exit code (128 + signal when killed), standard output and error; all
# of it also goes to the test's log.
sub run_program
{
	my @cmd = @_;
	my ($out, $err) = ('', '');
	note('running: ' . join(' ', map { s/[^ -~]/?/gr } @cmd));
	IPC::Run::run(\@cmd, '<', \'', '>', \$out, '2>', \$err);
	my $rc = ($? & 127) ? 128 + ($? & 127) : $? >> 8;
	print STDERR $err;
	return ($rc, $out, $err);
}

# dump_ok($node, $db, 'what', PROGRAM, options...) dumps into a new directory
# and returns its path.  Nothing may be said on standard error.
sub dump_ok
{
	my ($node, $db, $what, $program, @options) = @_;
	my $dir = new_path($program);
	my ($rc, undef, $err) = run_program($program, '-Fd', '-f', $dir,
		'--no-sync', @options, '-d', $node->connstr($db));
	ok($rc == 0 && $err eq '', "$what: $program")
	  or diag("exit code $rc: $err");
	BAIL_OUT_file("no archive to test with") if !-f "$dir/toc.dat";
	return $dir;
}

# A failed dump leaves nothing that the rest of the file could test.
sub BAIL_OUT_file
{
	my ($why) = @_;
	done_testing();
	die $why;
}

# restore_ok($node, $dir, $db, 'what', options...) runs stock pg_restore.
# Returns its standard error, which must be empty unless errors => regex.
sub restore_ok
{
	my ($node, $dir, $db, $what, @options) = @_;
	my ($rc, undef, $err) =
	  run_program('pg_restore', '-d', $node->connstr($db), @options, $dir);
	ok($rc == 0 && $err eq '', "$what: pg_restore @options")
	  or diag("exit code $rc: " . substr($err, 0, 4000));
	return $err;
}

# What this major's pg_restore reads, hence what pg_pardump must offer.
sub codecs
{
	my ($node) = @_;
	return pg_major($node) >= 16 ? qw(none gzip lz4 zstd) : qw(none gzip);
}

sub default_suffix
{
	my ($node) = @_;
	return pg_major($node) >= 16 ? '.zst' : '.gz';
}

# Whether the extension is installed: without it half of the tests would test
# the same as the other half, so they ask and fail rather than pass twice.
sub has_extension
{
	my ($node) = @_;
	return value($node, 'postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_pardump'");
}

# No session, lock or process of the last run: sessions go away a moment
# after their client, hence the poll.
sub nothing_left_ok
{
	my ($node, $dir, $what, @others) = @_;
	my $others = join(',', map { "'$_'" } ('none', @others));
	ok( $node->poll_query_until(
			'postgres', qq{
		SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
				AND application_name NOT IN ($others))}),
		"$what: no session left");

	my @left;
	foreach my $file (glob '/proc/[0-9]*/cmdline')
	{
		open my $fh, '<', $file or next;    # ended meanwhile
		my $cmdline = <$fh> // '';
		push @left, $cmdline =~ tr/\0/ /r if index($cmdline, $dir) >= 0;
	}
	is_deeply(\@left, [], "$what: no process left");
	return;
}

# A psql session that stays: returns a function that runs one statement and
# returns its output, and ends the session when called without one.  What bounds
# the time is for each statement: some hold a gate as long as a test file lasts.
sub start_psql
{
	my ($node, $db) = @_;
	my ($in, $out) = ('', '');
	my $timer = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	my $h = IPC::Run::start(
		[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db) ],
		'<', \$in, '>', \$out, $timer);
	return sub {
		my ($statement) = @_;
		$timer->start;
		if (!defined $statement)
		{
			# a server that was started meanwhile has the pipe, too, which so has no
			# end; a session that was lost may have ended psql
			local $SIG{PIPE} = 'IGNORE';
			$in .= "\\q\n";
			return eval { $h->finish } // do { $h->kill_kill; 0 };
		}
		$out = '';
		$in .= "$statement;\n\\echo -done-\n";
		$h->pump until $out =~ /^-done-$/m;
		return $out =~ s/\n?-done-\n//r;
	};
}

1;
