
# The databases that round trips start from: "everything" (t/data), one in
# LATIN1, one in SQL_ASCII, and PostgreSQL's own regression database.

package Pardump::Databases;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use Pardump::Cluster qw(start_cluster make_database make_once run_program new_path sql);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(prepare_for_everything make_everything make_latin1 make_sql_ascii
  start_everything archives_of_everything dump_by_stock start_regression start_beside
  regress_dir empty_copy);

# What each database, and an empty one to restore it into, is created with.
my %options = (
	everything => 'TEMPLATE extension_template',
	latin1 => "TEMPLATE template0 ENCODING 'LATIN1'",
	sql_ascii => "TEMPLATE template0 ENCODING 'SQL_ASCII'");

# What a cluster needs to hold the database of everything, or a copy of it.
sub prepare_for_everything
{
	my ($node) = @_;
	my @dirs = (new_path('space1'), new_path('space2'));
	mkdir $_ or die "could not create \"$_\": $!" foreach @dirs;
	my ($rc, undef, $err) = run_program(
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-v', "dir1=$dirs[0]", '-v', "dir2=$dirs[1]",
		'-d', $node->connstr('postgres'),
		'-f', Pardump::Cluster::data_file('everything_roles.sql'));
	die "could not make roles and tablespaces: $err" if $rc != 0;

	make_database($node, 'extension_template',
		options => 'TEMPLATE template0',
		files => ['extension_template.sql']);
	return;
}

sub make_everything
{
	my ($node) = @_;
	prepare_for_everything($node);
	make_database($node, 'everything',
		options => $options{everything},
		files => [
			map { "everything_$_.sql" }
			  qw(types toast tables names objects extension)
		]);
	return;
}

# Makes archives of stock pg_dump: of each kind, and one in the custom format that
# could not be written but in one go.
sub dump_by_stock
{
	my ($node, $db, %archives) = @_;
	my $connstr = $node->connstr($db);
	run_program('pg_dump', '-Fd', '-f', $archives{directory}, '-d', $connstr);
	run_program('pg_dump', '-Fc', '-f', $archives{custom}, '-d', $connstr);
	run_program('bash', '-c', 'pg_dump -Fc -d "$0" | cat >"$1"', $connstr, $archives{piped});
	return;
}

sub kept_everything { return "${PostgreSQL::Test::Utils::tmp_check}/everything_backups"; }

# A running cluster with the database of everything, which the first test file that
# asks makes, with its archives, and keeps for the others.
sub start_everything
{
	my ($name) = @_;
	make_once(kept_everything(), sub {
		my ($dir) = @_;
		my $maker = start_cluster('everything_maker', own => 'everything');
		make_everything($maker);
		mkdir $dir or die "could not create \"$dir\": $!";
		dump_by_stock($maker, 'everything', map { $_ => "$dir/stock_$_" } qw(directory custom piped));
		$maker->stop;
		# with its tablespaces in the place of the links that lead to them
		system_or_bail('cp', '-aL', $maker->data_dir, "$dir/everything");
	});
	my $node = new_from_kept(kept_everything(), 'everything', $name);
	foreach my $space (glob $node->data_dir . '/pg_tblspc/*')
	{
		my $place = new_path('space');
		rename($space, $place) && symlink($place, $space) or die "could not move \"$space\": $!";
	}
	$node->start;
	return $node;
}

# Archives of that database by stock pg_dump, not to be changed: directory, custom, and
# one in the custom format that was written to a pipe.
sub archives_of_everything
{
	return map { $_ => kept_everything() . "/stock_$_" } qw(directory custom piped);
}

# A node that is a copy of a kept data directory.
sub new_from_kept
{
	my ($kept, $data, $name) = @_;
	# a node that never runs, whose backups these seem to be
	my $root = PostgreSQL::Test::Cluster->new("${name}_root");
	symlink $kept, $root->backup_dir or die "could not link \"$kept\": $!";
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($root, $data);
	return $node;
}

sub make_latin1
{
	my ($node) = @_;
	make_database($node, 'latin1',
		options => $options{latin1},
		files => ['latin1.sql']);
	return;
}

sub make_sql_ascii
{
	my ($node) = @_;
	make_database($node, 'sql_ascii',
		options => $options{sql_ascii},
		files => ['sql_ascii.sql']);
	return;
}

# An empty database named $name to restore $source into.  Some files make a hundred
# of them, and to copy files takes less than to write all pages to the WAL.
sub empty_copy
{
	my ($node, $source, $name) = @_;
	make_database($node, $name,
		options => ($options{$source} // 'TEMPLATE template0') . ' STRATEGY file_copy');
	return $name;
}

# The folder with PostgreSQL's src/test/regress of this major and its
# regress.so, or undef when PG_PARDUMP_REGRESS does not say where it is.
sub regress_dir
{
	my $dir = $ENV{PG_PARDUMP_REGRESS} // '';
	return undef if $dir eq '';
	die "no parallel_schedule in PG_PARDUMP_REGRESS, \"$dir\""
	  if !-f "$dir/parallel_schedule";
	die "no regress.so in PG_PARDUMP_REGRESS, \"$dir\""
	  if !-f "$dir/regress.so";
	return $dir;
}

# PostgreSQL's regression tests, which leave the database "regression", in a
# cluster of their own.  That every one of them passes is not our concern: some
# depend on how the server was packaged.  What matters is that the schedule ran
# to its end.  Returns its data directory.
sub make_regression
{
	my $node = start_cluster('regression_maker', own => 'regression');
	my $dir = regress_dir();
	my $outputdir = new_path('regress');
	mkdir $outputdir or die "could not create \"$outputdir\": $!";
	my (undef, $out) = run_program(
		$ENV{PG_REGRESS}, "--dlpath=$dir", '--bindir=',
		'--host=' . $node->host, '--port=' . $node->port,
		'--max-concurrent-tests=20', "--schedule=$dir/parallel_schedule",
		"--inputdir=$dir", "--outputdir=$outputdir");
	my $passed = () = $out =~ /^(?:ok \d+|.* \.\.\. ok )/mg;
	append_to_file("$outputdir/pg_regress.out", $out);
	die "only $passed regression tests passed; see $outputdir" if $passed <= 150;
	note("$passed regression tests passed");
	$node->stop;
	return $node->data_dir;
}

# A running cluster with the database "regression", if PG_PARDUMP_REGRESS says
# where its tests are; else with none.  They take most of a minute, so the first
# test file that asks runs them, and keeps for the others what they left: the
# very files, since a restored database has no dropped columns nor rows from
# before a column was added.
sub start_regression
{
	my ($name) = @_;
	return start_cluster($name) if !defined regress_dir();
	my $kept = "${PostgreSQL::Test::Utils::tmp_check}/regression_backups";
	make_once($kept, sub {
		my $data = make_regression();
		mkdir $_[0] or die "could not create \"$_[0]\": $!";
		system_or_bail('cp', '-a', $data, "$_[0]/regression");
	});
	my $node = new_from_kept($kept, 'regression', $name);
	$node->start;
	return $node;
}

# Another cluster, with the roles of this one.
sub start_beside
{
	my ($node, $name) = @_;
	my $other = start_cluster($name);
	my $globals = new_path('globals.sql');
	run_program('pg_dumpall', '--roles-only', '-f', $globals, '-d', $node->connstr('postgres'));
	run_program('psql', '-Xq', '-d', $other->connstr('postgres'), '-f', $globals);
	return $other;
}

1;
