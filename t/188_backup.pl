# pg_pardump_backup through 36 nights, many of which fail: after each the last good
# backup is there, and what has a final name is whole.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Digest::MD5 qw(md5_hex);
use Pardump::Background qw(wait_until);
use Pardump::Cluster qw(start_cluster make_database run_program new_path sql restore_ok line_break);
use Pardump::Compare qw(fingerprint same_data_ok);
use Pardump::Nights qw(backup_config run_backup start_backup end_backup failing_programs next_fault
  complete_backups partial_backups time_name);
use PostgreSQL::Test::Utils;
use Test::More;

use constant DAY => 86400;

my $node = start_cluster('backup');
my $odd = "-o'd\"d \\" . line_break($node) . '=x';
my $odd_folder = sprintf '=2Do=27d=22d=20=5C=%02X=3Dx', ord line_break($node);
make_database($node, 'shop');
sql($node, 'postgres', 'CREATE DATABASE "' . $odd =~ s/"/""/gr . '"');
sql($node, 'postgres', 'CREATE DATABASE closed ALLOW_CONNECTIONS false; CREATE ROLE owner PASSWORD \'secret\'');
sql($node, 'shop', <<'SQL');
CREATE TABLE nights (night int);
CREATE TABLE rows AS SELECT g AS id, md5(g::text) AS t FROM generate_series(1, 5000) g;
SQL

my $bin = failing_programs();
my ($file, $dir) = backup_config($node, "bindir = $bin", 'jobs = 2', 'compress = none', 'keep_last = 3', 'keep_days = 5',
	map { "exclude_database = $_" } qw(closed postgres template1));

# What there should be of a database: each backup's name, time and night, the oldest
# first.
my %kept = (shop => [], $odd_folder => []);
my $time = 1_800_000_000;
my $night = 0;

# What a successful run at this time makes of it.
sub expect_backup
{
	my ($folder, $all_stay) = @_;
	my $list = $kept{$folder};
	my %taken = map { $_->{name} => 1 } @$list;
	my $named = $time;
	$named++ while $taken{ time_name($named) };
	push @$list, { name => time_name($named), time => $named, night => $night };
	return if $all_stay;
	my $first_kept = @$list - 3;
	@$list = @$list[ grep { $_ >= $first_kept || $list->[$_]{time} >= $time - 5 * DAY } 0 .. $#$list ];
	return;
}

# The bytes of the files of an archive.
sub bytes_of { return join '', map { my $name = s/.*\///r; "$name " . md5_hex(slurp_file($_)) . "\n" } sort glob "$_[0]/*"; }

# Archives that --verify has found to be sound, with their bytes.
my %sound;

# Every invariant, after every night, and how much is half done.
sub invariants_ok
{
	my ($what, $half_done) = @_;
	# a later backup may have the name of one that was removed
	delete @sound{ grep { !-e } keys %sound };

	is(scalar(my @partial = partial_backups($dir)), $half_done, "$what: what is half done");
	foreach my $folder (sort keys %kept)
	{
		my @complete = complete_backups($dir, $folder);
		is_deeply(\@complete, [ sort map { $_->{name} } @{ $kept{$folder} } ], "$what: backups of $folder");
		my @halves = grep {
			my $path = "$dir/$folder/$_";
			!-f "$path/dump/toc.dat" || !-f "$path/backup.json"
			  || slurp_file("$path/globals.sql") !~ /^CREATE ROLE owner.*^-- PostgreSQL database cluster dump complete/ms
		} @complete;
		is_deeply(\@halves, [], "$what: all of $folder are whole");
		my $last = $kept{$folder}[-1] or next;
		my $path = "$dir/$folder/$last->{name}/dump";
		if (defined $sound{$path})
		{
			is(bytes_of($path), $sound{$path}, "$what: the last good one of $folder has not changed");
			next;
		}
		my ($rc) = run_program('pg_pardump', "--verify=$path");
		is($rc, 0, "$what: the last good one of $folder is sound");
		$sound{$path} = bytes_of($path);
		next if $folder ne 'shop';
		my (undef, $rows) = run_program('pg_restore', '-a', '-t', 'nights', '-f', '-', $path);
		my ($nights) = $rows =~ /^COPY [^\n]*\n(.*?)\\\.$/ms;
		is($nights, join('', map { "$_\n" } 1 .. $last->{night}), "$what: it is of night $last->{night}");
	}
	is_deeply([ map { s/.*\///r } grep { !-d || !/\/(shop|\Q$odd_folder\E)$/ } glob "$dir/*" ], [], "$what: nothing else is there");
	return;
}

sub night_begins
{
	$night++;
	$time += DAY;
	sql($node, 'shop', "INSERT INTO nights VALUES ($night)");
	return;
}

# A night of this fault, after which it is as expected.
sub night_ok
{
	my ($fault, %expected) = @_;
	night_begins();
	my $what = "night $night, $fault";
	next_fault($bin, $fault);
	expect_backup($_) foreach @{ $expected{good} // [ sort keys %kept ] };
	my ($rc, $out, $err) = $expected{run} ? $expected{run}->() : run_backup($time, $file);
	next_fault($bin, 'none');
	is($rc, $expected{rc} // 0, "$what: exit code") or diag($err);
	is($out, '', "$what: nothing on standard output");
	$expected{message} ? like($err, $expected{message}, "$what: message") : is($err, '', "$what: nothing is said");
	invariants_ok($what, $expected{half_done} // 0);
	return;
}

sub good_nights { night_ok('none') foreach 1 .. $_[0]; return; }

my $interrupted = qr/error: could not back up database "shop"\n.*detail: Interrupted by SIGTERM\.\n/;

# ---- more than are kept, then failures of every kind, and between them nights that work

good_nights(7);

# one that is old by now is not removed, as there is nothing new of its database
night_ok('full shop', rc => 1, good => [$odd_folder],
	message => qr/error: could not write file ".*": File too large\n(.*\n)*.*error: could not back up database "shop"\n.*detail: pg_pardump failed with exit code 1\./);
night_ok('server down', rc => 1, good => [], message => qr/error: could not read the names of databases\n.*detail: psql failed with exit code 2\./,
	run => sub {
		$node->stop;
		my @result = run_backup($time, $file);
		$node->start;
		return @result;
	});
foreach (1 .. 6)
{
	night_ok('globals', rc => 1, good => [], message => qr/no globals\n.*error: pg_dumpall failed with exit code 1/);
}
is(scalar @{ $kept{shop} }, 6, 'after a week without a backup those of before are kept');
good_nights(1);
is(scalar @{ $kept{shop} }, 3, 'and the next one leaves the newest only');
night_ok('half_globals', rc => 1, good => [], message => qr/error: the output of pg_dumpall is incomplete/);
night_ok("damage shop", rc => 1, good => [$odd_folder],
	message => qr/The\schecksum(.*\n)*.*error: could not back up database "shop"\n.*detail: pg_pardump --verify failed with exit code 1\./);
night_ok('killed shop', rc => 1, good => [$odd_folder],
	message => qr/error: could not back up database "shop"\n.*detail: pg_pardump was terminated by signal 9\./);
good_nights(2);

# ---- a full disk for our own files, too

night_ok('none, but no file can be written', rc => 1, good => [],
	message => qr/error: could not back up database "shop"\n.*detail: Could not write file ".*backup\.json\.tmp": File too large\./,
	run => sub {
		local $ENV{PG_PARDUMP_BACKUP_NOW} = $time;
		return run_program('sh', '-c', 'trap "" XFSZ; ulimit -f 0; exec pg_pardump_backup "$1"', 'sh', $file);
	});

# ---- killed, and what continues; then the next night clears what it has left

night_ok('all_killed shop', rc => 128 + 9, good => [], half_done => 1, message => qr/^/,
	run => sub {
		my $run = start_backup($time, $file);
		wait_until('pg_pardump is left alone', sub { -e "$bin/waits" });
		expect_backup($odd_folder, 'all stay');
		next_fault($bin, 'none');
		my ($rc, undef, $err) = run_backup($time, $file);
		is($rc, 4, 'what a killed run has left is at work: exit code');
		like($err, qr/error: directory "\Q$dir\E" is in use by another run\n.*detail: The run is process $run->{pid}, which was started at \d{8}T\d{6}Z\.\n/,
			'what a killed run has left is at work: message');
		is(scalar(my @halves = partial_backups($dir)), 1, 'and is left alone');
		unlink "$bin/waits";
		return (end_backup($run), $run->{out}, $run->{err});
	});
wait_until('the lock is free', sub { (run_program('flock', '-n', "$dir/.lock", 'true'))[0] == 0 });
good_nights(1);

# a run that is interrupted removes nothing old
night_ok('slow shop', rc => 1, good => [], message => $interrupted,
	run => sub {
		expect_backup($odd_folder, 'all stay');
		my $run = start_backup($time, $file);
		wait_until('the dump works', sub { glob "$dir/shop/*.partial/dump/toc.dat.tmp" });
		kill TERM => $run->{pid};
		return (end_backup($run), $run->{out}, $run->{err});
	});

# ---- two runs at once

night_ok('waits shop', run => sub {
	my $run = start_backup($time, $file);
	wait_until('the dump waits', sub { -e "$bin/waits" });
	next_fault($bin, 'none');
	my ($rc, undef, $err) = run_backup($time, $file);
	is($rc, 4, 'a second run: exit code');
	like($err, qr/^pg_pardump_backup: error: directory "\Q$dir\E" is in use by another run\n.*detail: The run is process $run->{pid}, which was started at @{[ time_name($time) ]}\.\n.*hint: Wait until the other run has ended\.\n\z/,
		'a second run: who has the lock');
	unlink "$bin/waits";
	return (end_backup($run), $run->{out}, $run->{err});
});

# ---- a removal that fails: all backups are made

{
	my $oldest = $kept{shop}[0]{name};
	append_to_file("$dir/shop/$oldest.partial", 'mine');
	my @before = @{ $kept{shop} };
	$time += 10 * DAY;
	night_ok('none, but the oldest cannot be removed', rc => 3, half_done => 1,
		message => qr/error: could not remove backup "shop\/$oldest"\n.*detail: Could not rename directory ".*$oldest" to ".*$oldest\.partial": /,
		run => sub {
			unshift @{ $kept{shop} }, $before[0];
			return run_backup($time, $file);
		});
	unlink "$dir/shop/$oldest.partial";
	good_nights(1);
	ok(!grep({ $_->{name} eq $oldest } @{ $kept{shop} }), 'then it is removed');
}

# ---- the clock is set back, to the second of a backup that is there, and goes right again

$time -= 9 * DAY;
my $future = qr/\A(pg_pardump_backup: warning: backup ".*\/\d+T\d+Z" has a time in the future\n.*detail: The clock was set back, .*\n.*detail: The backup is kept until at least .*\n.*hint: Check the clock of this machine\.\n)+\z/;
night_ok('the clock was set back', message => $future) foreach 1 .. 2;
$time = $kept{shop}[-1]{time} - DAY;
night_ok('the clock stands', message => $future);
$time += 12 * DAY;
good_nights(2);

# ---- what is not ours is left alone

mkdir "$dir/shop/20200101T000000Z" or die $!;
mkdir "$dir/shop/notes.partial" or die $!;
mkdir "$dir/other" or die $!;
my $outside = new_path('outside');
mkdir $outside or die $!;
append_to_file("$outside/precious", 'mine');
symlink $outside, "$dir/shop/20200102T000000Z.partial" or die $!;
append_to_file("$dir/other/20200103T000000Z.partial", 'mine');
mkdir "$dir/shop/20200104T000000Z.partial" or die $!;
symlink $outside, "$dir/shop/20200104T000000Z.partial/link" or die $!;
night_begins();
expect_backup($_) foreach sort keys %kept;
my ($rc, undef, $err) = run_backup($time, $file);
is($rc, 0, 'strangers: exit code');
like($err, qr/\A.*warning: directory "\Q$dir\E\/shop\/20200101T000000Z" has the name of a backup, but is not a backup\n.*detail: .* so no run removes the directory\.\n\z/,
	'strangers: a warning');
ok(-d "$dir/shop/20200101T000000Z" && -d "$dir/shop/notes.partial" && -l "$dir/shop/20200102T000000Z.partial"
	  && -f "$dir/other/20200103T000000Z.partial", 'strangers: they stay');
ok(!-e "$dir/shop/20200104T000000Z.partial", 'what looks like ours and is half done is gone');
is(slurp_file("$outside/precious"), 'mine', 'what links lead to is left alone');
unlink "$dir/shop/20200102T000000Z.partial", "$dir/other/20200103T000000Z.partial";
rmdir $_ foreach "$dir/shop/20200101T000000Z", "$dir/shop/notes.partial", "$dir/other";

good_nights(36 - $night);
is($night, 36, 'nights');

# ---- modes, and a restore of the last one

is_deeply([ grep { (stat)[2] & 077 } glob "$dir/*/* $dir/*/*/* $dir/*/*/dump/*" ], [], 'no other user can read any of it');
my $last = "$dir/shop/$kept{shop}[-1]{name}";
like(slurp_file("$last/globals.sql"), qr/^ALTER ROLE owner .*PASSWORD 'SCRAM-SHA-256/m, 'globals have passwords');
make_database($node, 'restored');
restore_ok($node, "$last/dump", 'restored', 'the last one');
same_data_ok(fingerprint($node, 'shop'), fingerprint($node, 'restored'), 'the last one');

$node->stop;
done_testing();
