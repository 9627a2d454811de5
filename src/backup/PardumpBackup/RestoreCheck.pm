# The part of --restore-test that runs as the owner of the backups: it restores each backup
# into the temporary server, compares the result with the manifest, and drops the database.

package PardumpBackup::RestoreCheck;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use JSON::PP;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use PardumpBackup::Elsewhere qw(fetch_text fetch_into);
use PardumpBackup::Listing qw(size_text elapsed_text);
use PardumpBackup::Message qw(caused_by messages_of read_events printable counted clear_progress progress_lines);
use PardumpBackup::Programs qw(interrupted run query shell_quoted verify_archive run_pg_parrestore connection_words);
use PardumpBackup::Store qw(hold_backup write_file);

our @EXPORT_OK = qw(describe_backup test_backups);

# The database to connect to: one that no backup has.
use constant OWN_DATABASE => 'pardump_drill';

# Seconds that the server may take to start.
use constant START_LIMIT => 120;

# How many queries are passed to psql at once: their names fit into its arguments.
use constant QUERIES => 1000;

# The files of an archive that describe the others.
use constant HEADS => qw(toc.dat pg_pardump_manifest.json);

my $IDENTIFIER = qr/"(?:[^"]|"")+"|\w+/;

sub read_file
{
	my ($path, $bytes) = @_;
	open my $fh, '<', $path or die "could not open file \"$path\": $!\n";
	local $/;
	my $text = '';
	defined $bytes ? read($fh, $text, $bytes) : ($text = <$fh>);
	return $text // '';
}

# The superuser of a temporary server in which these globals can be restored: from 16
# on, a grant names the role that initdb made, and that role must have the same name.
sub superuser_of
{
	my ($globals) = @_;
	my ($grantor) = $globals =~ /^GRANT .* GRANTED BY ($IDENTIFIER);$/m;

	$grantor = defined $grantor ? $grantor =~ s/^"|"\z//gr =~ s/""/"/gr : 'postgres';
	return $grantor =~ /^pg_|[^ -~]/ ? 'postgres' : $grantor;
}

# Plain data about a backup: "major" is the major version of its server.  If the command of
# "fetch" returns its files, "fetch" is true, and "globals" the name of that file.  A backup
# with a "problem" cannot be tested.
sub describe_backup
{
	my ($config, $backup) = @_;
	my %described = map { $_ => $backup->{$_} } qw(database folder name path archive started problem);

	$described{pipe} = $backup->{pipe} ? 1 : 0;
	return \%described if defined $backup->{problem};
	if (!$backup->{pipe})
	{
		($described{major}) = read_file("$backup->{archive}/pg_pardump_manifest.json", 65536) =~ /^"Server-Version": "(\d+)/m;
		my $file = "$backup->{path}/globals.sql";
		$described{superuser} = superuser_of(-e $file ? read_file($file) : '');
	}
	elsif (defined $config->{fetch})
	{
		$described{fetch} = 1;
		@described{qw(major globals)} = @$backup{qw(major globals)};
		my $text = eval { defined $backup->{globals} ? fetch_text($config, $backup, $backup->{globals}) : '' };
		$described{failure} = $@ if !defined $text;
		$described{superuser} = superuser_of($text // '');
	}
	return \%described;
}

sub quoted { return '"' . $_[0] =~ s/"/""/gr . '"'; }

# Runs SQL, and returns what psql printed, with its messages.
sub psql_output
{
	my ($test, $database, @arguments) = @_;
	return run('psql', [ $test->{program}{psql}, '-Xq', connection_words($test, $database), @arguments ],
		capture => 1, merge => 1, any_exit => 1);
}

sub wait_for_server
{
	my ($test) = @_;
	my $end = clock_gettime(CLOCK_MONOTONIC) + START_LIMIT;

	until (eval { query($test, 'could not connect to the temporary server', 'SELECT 1', database => 'postgres', quiet => 1); 1 })
	{
		die $@ if interrupted() || clock_gettime(CLOCK_MONOTONIC) > $end;
		select undef, undef, undef, 0.2;
	}
	return;
}

# The databases that initdb makes can be among the backups.
sub make_room
{
	my ($test) = @_;
	my $own = OWN_DATABASE;

	query($test, 'could not create a database on the temporary server', "CREATE DATABASE $own TEMPLATE template0", database => 'postgres');
	query($test, 'could not drop the databases of the temporary server', $_)
	  foreach 'ALTER DATABASE template1 IS_TEMPLATE false', 'DROP DATABASE template1', 'DROP DATABASE postgres WITH (FORCE)';
	return;
}

# The same text is executed once; $seen has its first error.  Not psql but pg_parrestore
# executes the text, which may be forged: psql would run programs that it names.
# Tablespaces cannot be created: their directories belong to others.
sub restore_globals
{
	my ($test, $backup, $seen) = @_;
	my $text = $backup->{fetch} ? fetch_text($test, $backup, $backup->{globals}) : read_file("$backup->{path}/globals.sql");

	if (!defined $seen->{$text})
	{
		my $file = "$test->{client}/globals.sql";
		my $log = File::Temp->new;

		write_file($file, $text);
		$seen->{$text} = '';
		if (!eval {
				run('pg_parrestore', [ $test->{program}{pg_parrestore}, '--all-databases', '--globals-only', '--exit-on-error', '--no-tablespaces',
						"--log-json=$log", connection_words($test, OWN_DATABASE), $file ], lines => sub { });
				1;
			})
		{
			die $@ if interrupted();
			my ($first) = grep { $_->[0] eq 'error' } messages_of(read_events($log));
			$seen->{$text} = caused_by('could not restore globals.sql', $first ? $first->[1] : $@);
		}
	}
	die $seen->{$text} if $seen->{$text} ne '';
	return;
}

# An extension of the archive that needs a library that is not preloaded.
sub extension_without_library
{
	my ($test, $backup) = @_;
	my $list = run('pg_restore', [ $test->{program}{pg_restore}, '--list', $backup->{archive} ], capture => 1);

	foreach my $extension ($list =~ /^\d+; \d+ \d+ EXTENSION - (.+?) *$/mg)
	{
		my $output = psql_output($test, OWN_DATABASE, '-c', 'BEGIN', '-c', 'CREATE EXTENSION ' . quoted($extension) . ' CASCADE', '-c', 'ROLLBACK');
		return $extension if $output =~ /preload/i;
	}
	return;
}

# The rows of each table, and the partitioned table above it, as the manifest has them.
sub tables_of_manifest
{
	my ($backup) = @_;
	my $file = "$backup->{archive}/pg_pardump_manifest.json";
	my (%tables, $fh);

	open $fh, '<', $file or die "could not open file \"$file\": $!\n";
	while (my $line = <$fh>)
	{
		my ($object) = $line =~ /^(\{ "Path": .*\})/ or next;
		my $entry = JSON::PP->new->utf8->decode($object);

		next if !defined $entry->{Rows};
		my ($schema, $name, $root_schema, $root) = map {
			my $encoded = $entry->{"Encoded-$_"};
			utf8::encode(my $text = $entry->{$_} // '');
			defined $encoded ? pack('H*', $encoded) : $text;
		} qw(Schema Table Root-Schema Root-Table);
		# no server has such a name, and an argument of a program ends there
		die "the manifest contains an impossible name of a table\n" if "$schema$name$root_schema$root" =~ /\0/;
		my $table = $tables{ quoted($schema) . '.' . quoted($name) } //= { rows => 0 };
		$table->{rows} += $entry->{Rows};
		$table->{root} = $root ne '' ? quoted($root_schema) . '.' . quoted($root) : undef;
	}
	return \%tables;
}

# The numbers of rows of these tables.  Each query is an argument of psql, which psql only
# sends to the server: a newline in a name cannot begin a command of psql.
sub count_rows
{
	my ($test, $database, @names) = @_;
	my @counts;

	while (my @some = splice @names, 0, QUERIES)
	{
		push @counts, split /\n/, run('psql',
			[ $test->{program}{psql}, '-XAtq', '-v', 'ON_ERROR_STOP=1', connection_words($test, $database),
				map { ('-c', "SELECT pg_catalog.count(*) FROM ONLY $_") } @some ], capture => 1, error => 'could not count the rows of tables');
	}
	return @counts;
}

# Dies if a table does not have the rows that the manifest says.  A partition may have rows
# of another one, as with --load-via-partition-root.  Returns the numbers of tables and rows.
sub compare_counts
{
	my ($test, $backup) = @_;
	my $tables = tables_of_manifest($backup);
	my @names = sort keys %$tables;
	my @counts = count_rows($test, $backup->{database}, @names);
	my (%want, %have, $rows);

	foreach my $i (0 .. $#names)
	{
		my $table = $tables->{ $names[$i] };
		my $sum = $table->{root} // $names[$i];

		$want{$sum} += $table->{rows};
		$have{$sum} += $counts[$i];
		$rows += $table->{rows};
	}
	my ($wrong) = grep { $want{$_} != $have{$_} } sort keys %want;
	die sprintf "the number of rows of table %s is %d in the backup, but %d after the restore\n", printable($wrong), $want{$wrong}, $have{$wrong} if defined $wrong;
	return (scalar(@names), $rows // 0);
}

# pg_dump leaves out indexes that are not valid, except those of partitioned tables.
sub check_indexes
{
	my ($test, $database) = @_;
	my ($index) = query($test, 'could not read the names of indexes', q{SELECT i.indexrelid::pg_catalog.regclass FROM pg_catalog.pg_index i}
		  . q{ JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid}
		  . q{ WHERE c.relkind OPERATOR(pg_catalog.=) 'i' AND NOT (i.indisvalid AND i.indisready AND i.indislive) LIMIT 1},
		database => $database, limit => 0);
	die 'index "' . printable($index) . "\" is not valid\n" if defined $index;
	return;
}

# A constraint that is NOT VALID in the archive stays so.
sub check_constraints
{
	my ($test, $backup) = @_;
	my @constraints = query($test, 'could not read the names of constraints', q{SELECT conname FROM pg_catalog.pg_constraint}
		  . q{ WHERE NOT convalidated AND conparentid OPERATOR(pg_catalog.=) 0 ORDER BY conname},
		database => $backup->{database}, limit => 0);

	return if !@constraints;
	my $script = run('pg_restore', [ $test->{program}{pg_restore}, '--schema-only', '--file=-', $backup->{archive} ], capture => 1);
	my $allowed = () = $script =~ /\bNOT (?:VALID|ENFORCED)\b/g;
	die sprintf "the number of constraints that are NOT VALID is %d in the backup, but %d after the restore\ndetail: One of them is \"%s\".\n",
	  $allowed, scalar @constraints, printable($constraints[0]) if @constraints > $allowed;
	return;
}

sub drop_database
{
	my ($test, $database) = @_;
	my $name = quoted($database);

	# its creation may have failed
	my ($exists) = query($test, 'could not drop the restored database', 'SELECT 1 FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) '
		  . "'" . $database =~ s/'/''/gr . "'");
	return if !$exists;
	query($test, 'could not drop the restored database', $_, limit => 0) foreach "ALTER DATABASE $name IS_TEMPLATE false", "DROP DATABASE $name WITH (FORCE)";
	return;
}

# Stores the files of the archive that describe the others, which pg_restore and the
# comparison read, in a directory that becomes "archive".
sub fetch_heads
{
	my ($test, $backup) = @_;
	my $directory = "$test->{client}/archive";

	mkdir $directory, 0700 or $!{EEXIST} or die "could not create directory \"$directory\": $!\n";
	fetch_into($test, $backup, $_, "$directory/$_") foreach HEADS;
	$backup->{archive} = $directory;
	return;
}

# The test with a command of "fetch" that returns these stored files.  A store could return
# others to each program, so that the files that are verified are not those that are used.
sub with_heads
{
	my ($test, $backup) = @_;
	return $test if !$backup->{fetch};
	my $directory = shell_quoted($backup->{archive}) =~ s/%/%%/gr;
	my $names = join '|', HEADS;
	return { %$test, fetch => "case %f in $names) exec cat $directory/%f;; esac; $test->{fetch}" };
}

# Why a backup is not tested; nothing if it can be.
sub reason_against
{
	my ($test, $backup) = @_;

	die $backup->{problem} if defined $backup->{problem};
	return 'its files were written by the command of "pipe", and the key "fetch" is not set' if $backup->{pipe} && !$backup->{fetch};
	return "the version of its server is unknown" if !defined $backup->{major};
	return "it is from PostgreSQL $backup->{major}, but the newest backup is from PostgreSQL $test->{major}" if $backup->{major} ne $test->{major};
	return 'it contains no globals.sql (globals = no)' if $backup->{fetch} ? !defined $backup->{globals} : !-e "$backup->{path}/globals.sql";
	die $backup->{failure} if defined $backup->{failure};
	fetch_heads($test, $backup) if $backup->{fetch};
	my $extension = extension_without_library($test, $backup);
	return 'extension ' . quoted(printable($extension)) . ' needs a library that drill_preload does not list' if defined $extension;
	return;
}

# Restores and checks a backup.  On a terminal, shows progress in a line that begins with a
# title.  Returns figures for the report.
sub test_backup
{
	my ($test, $backup, $seen, $title) = @_;
	my $shown = sub { return !$test->{verbose} && -t STDERR ? ({ lines => progress_lines($title, $_[0]) }, '--progress') : {} };
	my $began = clock_gettime(CLOCK_MONOTONIC);
	my $with_heads = with_heads($test, $backup);

	verify_archive($with_heads, $backup, $shown->('verifying'));
	restore_globals($test, $backup, $seen);
	run_pg_parrestore($with_heads, $backup, undef, $shown->('restoring'), '--no-tablespaces');
	my ($tables, $rows) = compare_counts($test, $backup);
	check_indexes($test, $backup->{database});
	check_constraints($test, $backup);
	my ($bytes) = query($test, 'could not read the size of the database', 'SELECT pg_catalog.pg_database_size(pg_catalog.current_database())', database => $backup->{database});
	return join ', ', counted('%s table', '%s tables', $tables), counted('%s row', '%s rows', $rows),
	  sprintf('%s in %s', size_text($bytes), elapsed_text(clock_gettime(CLOCK_MONOTONIC) - $began));
}

# Returns whether no test failed.  Dies if no backup was tested.  $server contains
# host, port, username and major of the server, the directory "bin" of its programs, a
# directory "client" for files, and the directory "home" of the commands of "fetch".
sub test_backups
{
	my ($config, $server, @backups) = @_;
	my $test = { %$config, %$server, maintenance_database => OWN_DATABASE };
	my %count = map { $_ => 0 } 'passed', 'FAILED', 'not tested';
	my ($n, %seen) = (0);

	delete $test->{service};
	$test->{program} = { %{ $config->{program} },
		map { -x "$server->{bin}/$_" ? ($_ => "$server->{bin}/$_") : () } qw(psql pg_pardump pg_parrestore pg_restore) };
	$ENV{TMPDIR} = $ENV{HOME} = $test->{client};
	# programs such as rclone have their configuration there
	$test->{fetch} = 'export HOME=' . shell_quoted($server->{home}) =~ s/%/%%/gr . "; $config->{fetch}" if defined $config->{fetch} && defined $server->{home};
	wait_for_server($test);
	make_room($test);
	foreach my $backup (@backups)
	{
		my $title = sprintf '[%d/%d] %s', ++$n, scalar @backups, printable("$backup->{database}/$backup->{name}");
		my ($result, $text) = ('not tested');

		if (!eval {
				my $lock = hold_backup($backup);
				$text = reason_against($test, $backup);
				($result, $text) = ('passed', test_backup($test, $backup, \%seen, $title)) if !defined $text;
				1;
			})
		{
			die $@ if interrupted();
			($result, $text) = ('FAILED', $@ =~ s/\n\z//r =~ s/\n(?=(?:detail|hint): )/\n  /gr);
		}
		$count{$result}++;
		clear_progress();
		print "$title: $result: $text\n";
		STDOUT->flush;
		drop_database($test, $backup->{database}) if !$backup->{pipe} || $backup->{fetch};
	}
	die "the restore test tested no backup\nhint: The lines above state the reasons.  If libraries are missing, list them in drill_preload.\n" if $count{'not tested'} == $n;
	printf $count{FAILED} ? "restore test FAILED (databases passed: %d, failed: %d, not tested: %d)\n"
	  : "restore test passed (databases passed: %d, failed: %d, not tested: %d)\n", @count{ 'passed', 'FAILED', 'not tested' };
	return !$count{FAILED};
}

1;
