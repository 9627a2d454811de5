# One snapshot for the dumps of all databases.  A pg_pardump takes it, and keeps it while
# this program runs a dump of each database.  The dump of a database imports the snapshot
# from a session that this pg_pardump has in the database.  If that session is lost, the
# dump fails: it is never made in another snapshot.

package PardumpBackup::Snapshot;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

use PardumpBackup::Check qw(run_check);
use PardumpBackup::Message qw(printable);
use PardumpBackup::Programs qw(run start_and_wait finish limit_of query connection_words list_databases);
use PardumpBackup::Store qw(read_json);

our @EXPORT_OK = qw(check_snapshot take_snapshot is_kept databases_of snapshot_options is_template release_database end_snapshot is_in_snapshot);

# Seconds that the snapshot may take even if lock_wait_timeout is shorter.
use constant MIN_SNAPSHOT_LIMIT => 120;

# A pattern that matches this name.  In a name that is not valid in the encoding of the
# maintenance database, a "?" must stand for each byte that is not ASCII.
sub pattern_of
{
	my ($name) = @_;
	my $quoted = '"' . $name =~ s/"/""/gr . '"';

	return utf8::decode(my $copy = $name) ? $quoted : $quoted =~ s/[\x80-\xff]/"?"/gr;
}

# The command that takes a snapshot of these databases, but not of others.
sub command
{
	my ($config, $file, $databases, @more) = @_;
	my %wanted = map { $_ => 1 } @$databases;
	my ($open) = list_databases($config);

	return [ $config->{program}{pg_pardump}, qw(--all-databases --cluster-snapshot), "--shared-snapshot=$file", "--jobs=$config->{jobs}",
		# options of the dumps may require it; it has no other effect
		$config->{incremental} ? '--incremental=.' : (), @more, @{ $config->{options} // [] },
		(map { '--exclude-database=' . pattern_of($_) } grep { !$wanted{$_} } @$open),
		connection_words($config, $config->{maintenance_database}) ];
}

sub file_of { return "$_[0]{directory}/.cluster_snapshot"; }

# Dies if the snapshot cannot be taken.  Adds the number of warnings to the sums.
sub check_snapshot
{
	my ($config, $sums, @databases) = @_;
	run_check($config, $sums, undef, sub {
		my ($how, $log) = @_;
		run('pg_pardump --cluster-snapshot --check', [ @{ command($config, file_of($config), \@databases, '--check') }, $log ],
			limit => limit_of($config, MIN_SNAPSHOT_LIMIT), %$how);
	});
	return;
}

# A name as its bytes.
sub name_of
{
	my ($database) = @_;
	return pack 'H*', $database->{'Encoded-Name'} if defined $database->{'Encoded-Name'};
	utf8::encode(my $name = $database->{Name});
	return $name;
}

# Takes a snapshot of these databases, and keeps it until end_snapshot().  "record" of the
# result identifies the snapshot.
sub take_snapshot
{
	my ($config, @databases) = @_;
	my $file = file_of($config);

	# a killed run may have left it
	unlink $file;
	my $program = start_and_wait('pg_pardump --cluster-snapshot', command($config, $file, \@databases), limit_of($config, MIN_SNAPSHOT_LIMIT));

	# read_json() does not tell why it fails
	open my $fh, '<', $file or die "could not open file \"$file\": $!\n";
	close $fh;
	my $described = read_json($file) // die "file \"$file\" does not contain a JSON object\n";
	return { %$program, file => $file, record => $described->{'Cluster-Snapshot'},
		databases => [ map { { name => name_of($_), oid => $_->{Oid}, id => $_->{Snapshot}, pid => $_->{Process}, is_template => $_->{Template} } }
			  @{ $described->{Databases} } ] };
}

# Do all sessions of the snapshot still run?
sub is_kept
{
	my ($config, $snapshot) = @_;
	my @pids = map { $_->{pid} } @{ $snapshot->{databases} };
	my ($n) = query($config, 'could not find the sessions of the snapshot', 'SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity'
		  . " WHERE pid OPERATOR(pg_catalog.=) ANY ('{" . join(',', @pids) . "}'::pg_catalog.int4[])");
	return $n == @pids;
}

# The databases, in the order in which they should be dumped: sessions of the snapshot
# prevent CREATE DATABASE in databases that serve as templates.
sub databases_of { return map { $_->{name} } @{ $_[0]{databases} }; }

sub database_of
{
	my ($snapshot, $name) = @_;
	my ($found) = grep { $_->{name} eq $name } @{ $snapshot->{databases} };
	return $found;
}

# Is the database a template, so that CREATE DATABASE fails until its session ends?
sub is_template
{
	my ($snapshot, $name) = @_;
	my $database = database_of($snapshot, $name);

	return $database && $database->{is_template};
}

# Options with which pg_pardump dumps a database in the snapshot.
sub snapshot_options
{
	my ($snapshot, $name) = @_;
	my $shown = printable($name);
	my $database = database_of($snapshot, $name)
	  // die "the snapshot of all databases does not contain database \"$shown\"\n"
	  . "detail: The database does not exist, does not allow connections, or contains nothing that \"options\" select.\n"
	  . "hint: To find the reason, run \"pg_pardump_backup --check\" with this configuration.\n";
	return ("--snapshot=$database->{id}", "--shared-snapshot=$snapshot->{file}");
}

# No more dumps of this database will be made in the snapshot.
sub release_database
{
	my ($snapshot, $name) = @_;
	my $database = database_of($snapshot, $name);

	# if the program has ended, all dumps fail that need it
	syswrite $snapshot->{feed}, "$database->{oid}\n" if $database;
	return;
}

# Does the manifest of a backup's archive name the snapshot that the backup records?  A
# manifest can be large, so only this part of it is decoded.
sub is_in_snapshot
{
	my ($backup) = @_;
	return 1 if !$backup->{cluster_snapshot};
	open my $fh, '<', "$backup->{archive}/pg_pardump_manifest.json" or return 0;
	my ($text) = join('', <$fh>) =~ /"Cluster-Snapshot"\s*:\s*(\{[^{}]*\})/;
	my $json = JSON::PP->new->canonical;
	return defined $text && $json->encode(decode_json($text)) eq $json->encode($backup->{cluster_snapshot});
}

# Dies if pg_pardump did not succeed.
sub end_snapshot { return finish($_[0], 'could not keep the snapshot of all databases'); }

1;
