# Base backups as tar files, of all codecs, which processes write together: GNU tar
# makes of them what pg_basebackup makes in plain format, pg_verifybackup accepts
# them, and a server starts.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::BaseBackup qw(backup_ok take_backup verify_backup_ok differences start_backup
  dump_of enable_checksums slots_left);
use Pardump::Cluster qw(start_cluster run_program new_path pg_major sql value listing);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('main', allows_streaming => 1);
enable_checksums($node);
my $location = new_path('tablespace');
mkdir $location or die "could not make \"$location\": $!";
sql($node, 'postgres', "CREATE TABLESPACE elsewhere LOCATION '$location'");
sql($node, 'postgres', <<'SQL');
CREATE TABLE large AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 50000) g;
CREATE TABLE far TABLESPACE elsewhere AS SELECT g, repeat(md5(g::text), 10) AS t FROM generate_series(1, 30000) g;
CREATE TABLE empty (a int);
CREATE EXTENSION pg_pardump;
VACUUM;
CHECKPOINT;
SQL
my $oid = value($node, 'postgres', q{SELECT oid FROM pg_tablespace WHERE spcname = 'elsewhere'});
my $quiet = dump_of($node);
# what the first run looks up in the catalogs gets hints
backup_ok($node, 'first', 'pg_parbasebackup', '-Ft');
my $stock = backup_ok($node, 'quiet', 'pg_basebackup', '-T', "$location=" . new_path('place'));
my $made = qr/^(backup_label|tablespace_map|global\/pg_control)$/;

# What GNU tar makes of a backup, in whose place the tablespace is a directory.
sub extract
{
	my ($dir, $suffix) = @_;
	my $to = new_path('extracted');
	my ($program) = { '' => [], '.zst' => ['--zstd'], '.lz4' => ['--use-compress-program=lz4'] }->{$suffix};
	mkdir $to, 0700 or die "could not make \"$to\": $!";
	my ($rc, undef, $err) = run_program('tar', '-x', @$program, '-f', "$dir/base.tar$suffix", '-C', $to);
	is("$rc$err", '0', "tar reads base.tar$suffix");
	is(readlink("$to/pg_tblspc/$oid"), $location, 'the link of the tablespace is there');
	unlink "$to/pg_tblspc/$oid" or die "could not remove the link: $!";
	my $place = new_path('place');
	mkdir $place, 0700 or die "could not make \"$place\": $!";
	symlink $place, "$to/pg_tblspc/$oid" or die "could not make a link: $!";
	($rc, undef, $err) = run_program('tar', '-x', @$program, '-f', "$dir/$oid.tar$suffix", '-C', $place);
	is("$rc$err", '0', "tar reads $oid.tar$suffix");
	($rc, undef, $err) = run_program('tar', '-x', @$program, '-f', "$dir/pg_wal.tar$suffix", '-C', "$to/pg_wal");
	is("$rc$err", '0', "tar reads pg_wal.tar$suffix");
	system_or_bail('cp', "$dir/backup_manifest", $to);
	return ($to, $place);
}

my $extracted;
my $place;
foreach my $try ([ 'none', '', '--no-extension' ], [ 'none', '' ], [ 'client-zstd:1', '.zst' ], [ 'lz4', '.lz4', '--no-extension' ],
	[ 'server-zstd:1', '.zst' ], [ 'server-lz4', '.lz4' ])
{
	my ($codec, $suffix, @options) = @$try;
	my $dir = backup_ok($node, $codec, 'pg_parbasebackup', '-Ft', '-j4', '-Z', $codec, @options);
	is(listing($dir), join(' ', sort "$oid.tar$suffix", "base.tar$suffix", "pg_wal.tar$suffix", 'backup_manifest'),
		"$codec: files of the backup");
	is_deeply([ differences($stock, $dir, $made) ], [], "$codec: the manifest tells the same as pg_basebackup's");
	verify_backup_ok($dir, $codec, '-n') if pg_major($node) >= 18;
	SKIP:
	{
		my ($program) = $codec =~ /(zstd|lz4)/;
		skip "$program is not installed", 1 if $program && system("$program --version >/dev/null 2>&1") != 0;
		($extracted, $place) = extract($dir, $suffix);
		verify_backup_ok($extracted, "$codec, extracted");
	}
	my @members = split /\n/, `tar -tf '$dir/base.tar'` if $suffix eq '';
	is($members[-1], 'global/pg_control', 'pg_control is the last member') if $suffix eq '';
}
is(slots_left($node), '', 'no slot is left');

# the map would lead to the source's own tablespace
like(slurp_file("$extracted/tablespace_map"), qr/^$oid \Q$location\E$/, 'the map of tablespaces is there');
unlink "$extracted/tablespace_map" or die "could not remove the map: $!";
my $restored = start_backup($extracted, 'restored');
is(dump_of($restored) =~ s/\Q$place\E/PLACE/gr, $quiet =~ s/\Q$location\E/PLACE/gr, 'the restored server contains all rows');
$restored->stop;

# ---- -R, and what is for plain format only

my $standby = backup_ok($node, '-R', 'pg_parbasebackup', '-Ft', '-R', '-X', 'none');
my $text = `cd '$standby' && tar -xOf base.tar postgresql.auto.conf`;
like($text, qr/^# Do not edit.*^primary_conninfo = '.*port=\d+/ms, '-R adds to the settings');
is(scalar(grep { /^(standby\.signal|postgresql\.auto\.conf)$/ } split /\n/, `tar -tf '$standby/base.tar'`), 2,
	'-R: the archive contains each file once');
foreach my $try (
	[ qr/only be specified in plain mode/, '--waldir', new_path('waldir') ],
	[ qr/only be relocated in plain mode/, '-T', '/a=/b' ])
{
	my ($message, @options) = @$try;
	my ($rc, $err, $dir) = take_backup($node, 'pg_parbasebackup', '-Ft', @options);
	like("$rc$err", qr/^1.*$message/, "refused: @options");
	ok(!-e $dir, "refused: @options: nothing is created");
}

# ---- damage is seen

# bytes in the midst of a frame
foreach my $try ([ 'server-zstd:1', 'zst' ], [ 'zstd:1', 'zst', '--no-extension' ], [ 'server-lz4', 'lz4' ], [ 'lz4', 'lz4', '--no-extension' ])
{
	my ($codec, $suffix, @options) = @$try;
	my $dir = backup_ok($node, 'to be damaged', 'pg_parbasebackup', '-Ft', '-Z', $codec, @options);
	my ($path, $program) = ("$dir/base.tar.$suffix", $suffix eq 'zst' ? 'zstd' : 'lz4');
	open my $file, '+<', $path or die "could not open: $!";
	seek $file, (-s $file) / 2, 0;
	print $file "\xFF\x00\xFF\x00\xFF\x00\xFF";
	close $file or die "could not write: $!";
	my @readers = ([ 'pg_parbasebackup', "--extract=$dir", '--no-sync', '-D', new_path('none') ]);
	push @readers, [ 'pg_verifybackup', '-n', $dir ] if pg_major($node) >= 18;
	# without -i, tar would stop at what damage made of a header, if that
	# looks like the end, and not hear of the checksum
	push @readers, [ 'tar', "--use-compress-program=$program", '-itf', $path ], [ $program, '-qt', $path ]
	  if system("$program --version >/dev/null 2>&1") == 0;
	foreach my $reader (@readers)
	{
		my ($rc) = run_program(@$reader);
		isnt($rc, 0, "$codec: $reader->[0] sees damage");
	}
}
{
	my $dir = backup_ok($node, 'to be cut', 'pg_parbasebackup', '-Ft');
	# in the midst of a file: between two it could have its end
	my $large = value($node, 'postgres', q{SELECT pg_relation_filepath('large')});
	my ($block) = `tar -tRf '$dir/base.tar'` =~ /^block (\d+): \Q$large\E$/m or die "\"$large\" is not there";
	truncate "$dir/base.tar", ($block + 100) * 512 or die "could not cut: $!";
	my ($rc) = run_program('tar', '-tf', "$dir/base.tar");
	isnt($rc, 0, 'tar sees that it is cut');
}

done_testing();
