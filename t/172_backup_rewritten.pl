# Files that are replaced after they were listed and before they are read.  Files that
# are not WAL-logged, such as settings and replication origins, are in the backup whole,
# as they are when they are read, and not cut to the length in the list.  This holds for
# large files, too, also if one is replaced while it is read.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Background qw(end_dump wait_in_run);
use Pardump::BaseBackup qw(start_run held_run verify_backup_ok start_backup manifest_files);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql value);
use Pardump::Moment qw(start_moments moment_held moment_go_on stop_moments);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
sql($node, 'postgres', 'CREATE EXTENSION pg_pardump');
my $pgdata = $node->data_dir;
my ($settings, $origins) = qw(postgresql.auto.conf pg_logical/replorigin_checkpoint);
mkdir "$pgdata/more" or die "could not make a directory: $!";

# A file of its own, under the name of the one before, as pg_prewarm's; it takes many
# pieces to read, and no two of them are alike.  Most contents are written again and again,
# and take longer to make than to write.
my %content;
sub replace_file
{
	my ($path, $bytes, $text) = @_;
	append_to_file("$path.tmp", $content{"$text $bytes"} //= join "\n", map { "$text $_" } 1 .. $bytes / 16);
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

# The directory of a run, or what is extracted of its tar files.
sub extracted
{
	my ($run, $what, @options) = @_;
	return $run->{dir} if $options[0] ne '-Ft';
	my $dir = new_path('extracted');
	my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '--no-sync');
	is("$rc$err", '0', "$what: extracted");
	return $dir;
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
		my $dir = extracted($run, $what, @$try);
		ok(slurp_file("$dir/$_") eq $want{$_}, "$what: $_ is as it is now") foreach sort keys %want;
		my $files = manifest_files($dir);
		is($files->{'more/empty'}{Size}, $longer ? 12 : 0, "$what: the manifest has that size");
		is(join(' ', grep { exists $files->{$_} || -e "$dir/$_" } 'more/there', 'more/large_there'), '',
			"$what: the backup contains no file that was not listed or has disappeared");
		verify_backup_ok($dir, $what);
		my $started = start_backup($dir, 'started' . $n);
		is(value($started, 'postgres', 'SELECT count(*) FROM pg_show_replication_origin_status()'), $longer ? 3 : 0,
			"$what: a server knows its origins");
		$started->stop('immediate');
		$started->clean_node;
	}
}

# another worker reads the files again, which are shorter now, because the first was lost
write_anew(1);
my ($moments, $run) = held_run($node, \@patterns, 'lost', { pattern => 1, n => 1, answer => 1, cut => 1 }, [], '-j1');
write_anew(0);
moment_go_on($moments);
is(end_dump($run), 0, 'a worker is lost: exit code');
like($run->{err}, qr/lost the connection of a worker; retry 1 of 5/, 'a worker is lost: message');
is(slurp_file("$run->{dir}/$_"), slurp_file("$pgdata/$_"), "a worker is lost: $_ has its current contents") foreach $settings, $origins;
verify_backup_ok($run->{dir}, 'a worker is lost');
stop_moments($moments);

# ---- a file that is small when it is listed, and has become too long to be read at once

foreach my $try ([ '-Fp', '--no-extension' ], ['-Fp'], [ '-Ft', '-Z', 'zstd:1', '--no-extension' ], [ '-Ft', '-Z', 'server-lz4' ])
{
	my $what = "grown, @$try";
	append_to_file("$pgdata/more/grows", 'text');
	($moments, $run) = held_run($node, \@patterns, $what, { pattern => 0, n => 1 }, [], '-j1', '-P', "--report=" . new_path('page'), @$try);
	replace_file("$pgdata/more/grows", 20 * 1024 * 1024, 'grown');
	my $size = -s "$pgdata/more/grows";
	cmp_ok($size, '>', 16 * 1024 * 1024, "$what: size of the file");
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	stop_moments($moments);
	my $dir = extracted($run, $what, @$try);
	ok(slurp_file("$dir/more/grows") eq slurp_file("$pgdata/more/grows"), "$what: all of it is there");
	my $files = manifest_files($run->{dir});
	is($files->{'more/grows'}{Size}, $size, "$what: the manifest has its size");
	verify_backup_ok($dir, $what);
	# but for the label, and pg_control
	my ($told) = $run->{err} =~ /^backed up .*\n  ([\d,]+) files/m;
	$told =~ tr/,//d;
	is($told, keys(%$files) - 2 - exists $files->{tablespace_map}, "$what: each file counts once");
	unlink "$pgdata/more/grows";
}

# ---- a large file that is replaced, or grows, while it is read: the second of its
# three pieces is asked for

# as long as each other, if the words are
sub large_file { replace_file("$pgdata/more/large", 10 * 1024 * 1024, $_[0]); return; }

my @large = (qr/COPY.*(?:more\/large'|6d6f72652f6c61726765")/s);
my $warning = qr/^pg_parbasebackup: warning: file "more\/large" was replaced or removed while it was read\n.*detail: .*\n.*hint: Make another backup .*\n\z/;
foreach my $try ([ '-Fp', '--no-extension' ], ['-Fp'], [ '-Ft', '-Z', 'zstd:1', '--no-extension' ], [ '-Ft', '-Z', 'server-lz4' ])
{
	foreach my $change (
		[ 'replaced', 1, sub { large_file('number') } ],
		[ 'replaced by a short one', 1, sub { replace_file("$pgdata/more/large", 1600, 'text') } ],
		[ 'replaced by a long one', 1, sub { replace_file("$pgdata/more/large", 20 * 1024 * 1024, 'figure') } ],
		[ 'removed', 1, sub { unlink "$pgdata/more/large" } ],
		[ 'continued', 0, sub { append_to_file("$pgdata/more/large", "more\n" x 1000) } ])
	{
		my ($how, $is_other, $do) = @$change;
		my $what = "$how while it is read, @$try";
		large_file('letter');
		# times are told in seconds
		utime 1, 1, "$pgdata/more/large";
		my $before = slurp_file("$pgdata/more/large");
		($moments, $run) = held_run($node, \@large, $what, { pattern => 0, n => 2 }, [], '-j1', @$try);
		$do->();
		my $want = !$is_other ? $before : -e "$pgdata/more/large" ? slurp_file("$pgdata/more/large") : undef;
		moment_go_on($moments);
		is(end_dump($run), 0, "$what: exit code");
		stop_moments($moments);
		my $dir = extracted($run, $what, @$try);
		if ($is_other && $try->[0] eq '-Ft')
		{
			like($run->{err}, $warning, "$what: a warning");
		}
		else
		{
			is($run->{err}, '', "$what: no warning");
			my $got = -e "$dir/more/large" ? slurp_file("$dir/more/large") : undef;
			ok(($got // 'none') eq ($want // 'none'), "$what: one of them is there");
			is(exists manifest_files($run->{dir})->{'more/large'}, defined $want ? 1 : '', "$what: the manifest contains the file");
		}
		verify_backup_ok($dir, $what);
	}
}
# again and again
{
	large_file('number 0');
	utime 1, 1, "$pgdata/more/large";
	my $moments = start_moments($node, \@large, map { { pattern => 0, n => $_ } } 2, 5, 8);
	my $run = start_run($moments, [], '-j1');
	foreach my $n (1 .. 3)
	{
		wait_in_run($run, "the file is read, $n", sub { scalar(my @said = moment_held($moments)) });
		large_file("number $n");
		utime $n + 1, $n + 1, "$pgdata/more/large";
		moment_go_on($moments);
	}
	is(end_dump($run), 0, 'replaced again and again: exit code');
	like($run->{err}, $warning, 'replaced again and again: a warning');
	verify_backup_ok($run->{dir}, 'replaced again and again');
	stop_moments($moments);
}
# in the middle of a piece: the server waits within it, because the answer is not read
# and is larger than a socket's buffers
foreach my $form ('-Fp', '-Ft')
{
	my $what = "replaced within a piece, $form";
	large_file('letter');
	utime 1, 1, "$pgdata/more/large";
	my ($moments, $run) = held_run($node, \@large, $what, { pattern => 0, n => 2, answer => 1 }, [], '-j1', '-v', $form);
	large_file('number');
	moment_go_on($moments);
	is(end_dump($run), 0, "$what: exit code");
	stop_moments($moments);
	like($run->{err}, qr/^pg_parbasebackup: reading the files again: file "more\/large" was replaced or removed while it was read$/m, "$what: message about reading the files again");
	# the first piece of a tar file is already written
	my $dir = extracted($run, $what, $form);
	my $got = slurp_file("$dir/more/large");
	my $length = 4 * 1024 * 1024;
	my ($want) = map { slurp_file("$pgdata/$_") } 'more/large';
	ok(substr($got, $length) eq substr($want, $length), "$what: the second piece is that of the new file");
	is($got eq $want, $form eq '-Fp' ? 1 : '', "$what: the first piece is that of the new file, except in a tar file");
	like($run->{err}, qr/warning: file "more\/large" was replaced or removed/, "$what: warning") if $form eq '-Ft';
	verify_backup_ok($dir, $what);
}
unlink "$pgdata/more/large";

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
	is(exists manifest_files($run->{dir})->{$path}, '', "$what: the manifest does not contain the file");
	my ($dir, $elsewhere) = map { new_path($_) } qw(extracted elsewhere);
	my ($rc, undef, $err) = run_program('pg_parbasebackup', '--extract', $run->{dir}, '-D', $dir, '-T', "$place=$elsewhere", '--no-sync');
	is("$rc$err", '0', "$what: extracted");
	verify_backup_ok($dir, $what);
	SKIP:
	{
		skip 'pg_verifybackup reads no tar files', 1 if pg_major($node) < 18;
		verify_backup_ok($run->{dir}, "$what: tar", '-n');
	}
}
$node->stop;
done_testing();
