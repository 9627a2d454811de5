# Files that are written anew between the list and the moment when they are read: what
# is not in the log, as settings and what is known of replication origins, is in the
# backup as it is then, whole, and not cut to the length that was listed.  Large files
# are, too.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump);
use Pardump::BaseBackup qw(held_run verify_backup_ok start_backup manifest_files);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql value);
use Pardump::Moment qw(moment_go_on stop_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
my $pgdata = $node->data_dir;
my ($settings, $origins) = qw(postgresql.auto.conf pg_logical/replorigin_checkpoint);
mkdir "$pgdata/more" or die "could not make a directory: $!";

# A file of its own, under the name of the one before, as pg_prewarm's; it takes many
# pieces to read, and no two of them are alike.
sub replace_file
{
	my ($path, $bytes, $text) = @_;
	my $content = join "\n", map { "$text $_" } 1 .. $bytes / 16;
	append_to_file("$path.tmp", $content);
	rename "$path.tmp", $path or die "could not rename a file: $!";
	return;
}

# Both longer, or both shorter, and one that is there or not, as is a checkpoint's work.
sub write_anew
{
	my ($longer) = @_;
	if ($longer)
	{
		sql($node, 'postgres', q{ALTER SYSTEM SET application_name = 'a name that makes the file of settings longer'});
		sql($node, 'postgres', "SELECT pg_replication_origin_create('origin$_'); SELECT pg_replication_origin_advance('origin$_', '0/$_')")
		  foreach 1 .. 3;
		append_to_file("$pgdata/more/there", 'text');
		append_to_file("$pgdata/more/empty", 'not any more');
		replace_file("$pgdata/more/large", 18 * 1024 * 1024, 'longer');
		replace_file("$pgdata/more/large_there", 4 * 1024 * 1024, 'there');
	}
	else
	{
		sql($node, 'postgres', 'ALTER SYSTEM RESET ALL');
		sql($node, 'postgres', 'SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin');
		unlink "$pgdata/more/there", "$pgdata/more/empty";
		append_to_file("$pgdata/more/empty", '');
		replace_file("$pgdata/more/large", 10 * 1024 * 1024, 'shorter');
		unlink "$pgdata/more/large_there";
	}
	sql($node, 'postgres', 'CHECKPOINT');
	return;
}

# a worker's first statement; those of files that are read whole
my @patterns = (qr/COPY \(SELECT v\.n|BEGIN ISOLATION LEVEL READ COMMITTED/, qr/SELECT CASE WHEN s\.size IS NULL/);
my $n = 0;
foreach my $try ([ '-Fp', '--no-extension' ], ['-Fp'], [ '-Ft', '-Z', 'zstd:1', '--no-extension' ], [ '-Ft', '-Z', 'server-lz4' ],
	['-Ft'])
{
	foreach my $longer (1, 0)
	{
		my $what = ($longer ? 'longer' : 'shorter') . ", @$try";
		write_anew(!$longer) if $n++ == 0;
		my $before = -s "$pgdata/$origins";
		my ($moments, $run) = held_run($node, \@patterns, $what, { pattern => 0, n => 1 }, [], '-j1', @$try);
		write_anew($longer);
		cmp_ok((-s "$pgdata/$origins") <=> $before, '==', $longer ? 1 : -1, "$what: a file is");
		my %want = map { ($_ => slurp_file("$pgdata/$_")) } $settings, $origins, 'more/empty', 'more/large';
		moment_go_on($moments);
		is(end_dump($run) . $run->{err}, '0', "$what: the backup");
		stop_moments($moments);
		my $dir = $run->{dir};
		if ($try->[0] eq '-Ft')
		{
			$dir = new_path('extracted');
			my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync');
			is("$rc$err", '0', "$what: extracted");
		}
		ok(slurp_file("$dir/$_") eq $want{$_}, "$what: $_ is as it is now") foreach sort keys %want;
		my $files = manifest_files($dir);
		is($files->{'more/empty'}{Size}, $longer ? 12 : 0, "$what: the manifest has that size");
		is(join(' ', grep { exists $files->{$_} || -e "$dir/$_" } 'more/there', 'more/large_there'), '',
			"$what: there is none that was not listed, or is gone");
		verify_backup_ok($dir, $what);
		my $started = start_backup($dir, 'started' . $n);
		is(value($started, 'postgres', 'SELECT count(*) FROM pg_show_replication_origin_status()'), $longer ? 3 : 0,
			"$what: a server knows its origins");
		$started->stop('immediate');
		$started->clean_node;
	}
}

# read again by another worker, since the first one was lost, when they are shorter
write_anew(1);
my ($moments, $run) = held_run($node, \@patterns, 'lost', { pattern => 1, n => 1, answer => 1, cut => 1 }, [], '-j1');
write_anew(0);
moment_go_on($moments);
is(end_dump($run), 0, 'a worker is lost');
like($run->{err}, qr/lost its connection while reading .*; retry 1 of 5/, 'which is told');
is(slurp_file("$run->{dir}/$_"), slurp_file("$pgdata/$_"), "$_ is as it is now") foreach $settings, $origins;
verify_backup_ok($run->{dir}, 'a worker is lost');
stop_moments($moments);

# ---- all of a piece of a tar file is gone: it is an empty frame, or nothing

my $place = new_path('place');
mkdir $place or die "could not make a directory: $!";
sql($node, 'postgres', "CREATE TABLESPACE place LOCATION '$place'");
foreach my $try (['none'], [ 'zstd:1', '--no-extension' ], [ 'lz4', '--no-extension' ], ['server-zstd:1'], ['server-lz4'])
{
	my ($compress, @options) = @$try;
	my $what = "a piece is gone, @$try";
	sql($node, 'postgres', 'CREATE TABLE alone TABLESPACE place AS SELECT 1 AS a; CHECKPOINT');
	my $path = value($node, 'postgres', q{SELECT pg_relation_filepath('alone')});
	($moments, $run) = held_run($node, \@patterns, $what, { pattern => 0, n => 1 }, [], '-Ft', '-Z', $compress, @options);
	sql($node, 'postgres', 'DROP TABLE alone; CHECKPOINT');
	moment_go_on($moments);
	is(end_dump($run) . $run->{err}, '0', $what);
	stop_moments($moments);
	is(exists manifest_files($run->{dir})->{$path}, '', "$what: it is not in the backup");
	my ($dir, $elsewhere) = map { new_path($_) } qw(extracted elsewhere);
	my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '-T', "$place=$elsewhere", '--no-sync');
	is("$rc$err", '0', "$what: extracted");
	verify_backup_ok($dir, $what, '--ignore=tablespace_map');
	SKIP:
	{
		skip 'pg_verifybackup reads no tar files', 1 if pg_major($node) < 18;
		verify_backup_ok($run->{dir}, "$what: tar", '-n');
	}
}
$node->stop;
done_testing();
