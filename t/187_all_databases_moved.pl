# Archives of all databases that were moved to where others were, and names of
# databases and roles that are not UTF-8.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(start_cluster run_program sql value);
use Pardump::WholeCluster qw(create_database read_map archive_of dump_all);
use PostgreSQL::Test::Utils;
use Socket qw(AF_UNIX SOCK_SEQPACKET);
use Test::More;

my $source = start_cluster('moved_source');
my $target = start_cluster('moved_target');
foreach my $name (qw(first second))
{
	create_database($source, $name);
	sql($source, $name, "CREATE TABLE of_$name AS SELECT g FROM generate_series(1, 1000) g");
}
my ($rc, $err, $dir) = dump_all($source, '-j2');
is("$rc$err", '0', 'a dump');
my %oid = map { $_->{Name} => $_->{Oid} } @{ read_map($dir)->{Databases} };

sub swap
{
	my ($left, $right) = @_;
	foreach my $move ([ $left, "$left.aside" ], [ $right, $left ], [ "$left.aside", $right ])
	{
		rename $move->[0], $move->[1] or die "could not rename \"$move->[0]\": $!";
	}
	return;
}

# In the archive of $place is that of $name with this OID.
sub is_of
{
	my ($name, $oid, $place) = @_;
	return qr/archive contains database "$name" \(OID $oid\) instead of "$place" \(OID $oid{$place}\)\.\n/;
}

sub verified
{
	my ($rc, $out, $err) = run_program('pg_pardump', '--all-databases', "--verify=$dir");
	return ($rc, "$out$err");
}

# A restore in which a database fails leaves notes for --resume.
sub forget_notes { return sql($target, 'postgres', 'DROP SCHEMA IF EXISTS pardump_restore_all CASCADE'); }

sub restored
{
	forget_notes();
	my ($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-j1', '-d', $target->connstr('postgres'), $dir);
	return ($rc, $err);
}

# What a program tells on standard error, write by write.
sub writes
{
	my (@command) = @_;
	my @written;
	socketpair(my $ours, my $theirs, AF_UNIX, SOCK_SEQPACKET, 0) or die "could not create sockets: $!";
	my $pid = fork // die "could not create process: $!";
	if ($pid == 0)
	{
		open STDERR, '>&', $theirs or die "could not redirect: $!";
		exec @command or die "could not execute: $!";
	}
	close $theirs;
	push @written, $_ while defined recv($ours, $_ = '', 65536, 0) && $_ ne '';
	waitpid $pid, 0;
	return @written;
}

sub databases_of_target
{
	return value($target, 'postgres', q{SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE NOT datistemplate});
}

# ---- two archives of one dump

is((verified())[0], 0, 'unchanged: exit code of --verify');
swap(map { archive_of($dir, $_) } qw(first second));
($rc, my $said) = verified();
is($rc, 1, 'swapped, verify: exit code');
like($said, qr/is from another database\n.*detail: The @{[ is_of('second', $oid{second}, 'first') ]}/, 'swapped, verify: the one');
like($said, qr/is from another database\n.*detail: The @{[ is_of('first', $oid{first}, 'second') ]}/, 'swapped, verify: the other');
like($said, qr/error: verification of 2 of 4 databases failed\n/, 'swapped, verify: both, and no others');
($rc, $err) = restored();
is($rc, 1, 'swapped, restore: exit code');
like($err, qr/^pg_parrestore:first: error: archive "\Q@{[ archive_of($dir, 'first') ]}\E" is from another database\n.*detail: The @{[ is_of('second', $oid{second}, 'first') ]}/m,
	'swapped, restore: the one');
like($err, qr/^pg_parrestore:second: error: archive .* is from another database\n.*detail: The @{[ is_of('first', $oid{first}, 'second') ]}/m, 'swapped, restore: the other');
like($err, qr/error: could not restore 2 of 4 databases\n/, 'swapped, restore: both, and no others');
is(databases_of_target(), 'postgres', 'swapped, restore: no database is created');

# those of two databases that fail at a time do not mix
forget_notes();
my @written = writes('pg_parrestore', '--all-databases', '-j2', '-d', $target->connstr('postgres'), $dir);
is(scalar(grep { /^pg_parrestore:(first|second): error: archive/ } @written), 2, 'swapped, at a time: both tell');
is_deeply([ grep { !/\A[^\n]*\n\z/ } @written ], [], 'swapped, at a time: each message is written at once');
swap(map { archive_of($dir, $_) } qw(first second));

# which would go into one that is there
swap(map { archive_of($dir, $_) } qw(first postgres));
($rc, $err) = restored();
is($rc, 1, 'in place of postgres: exit code');
like($err, qr/^pg_parrestore:postgres: error: archive .* is from another database\n.*detail: The @{[ is_of('first', $oid{first}, 'postgres') ]}/m, 'in place of postgres: message');
is(value($target, 'postgres', q{SELECT to_regclass('of_first') IS NULL}), 't', 'in place of postgres: nothing goes there');
is(databases_of_target(), 'postgres second', 'in place of postgres: the other one is restored');
sql($target, 'postgres', 'DROP DATABASE second');
swap(map { archive_of($dir, $_) } qw(first postgres));

# ---- the archive of a database that had the same name

sql($source, 'postgres', 'DROP DATABASE first');
create_database($source, 'first');
($rc, $err, my $later) = dump_all($source);
is("$rc$err", '0', 'a later dump');
my ($new_oid) = map { $_->{Oid} } grep { $_->{Name} eq 'first' } @{ read_map($later)->{Databases} };
swap(archive_of($dir, 'first'), archive_of($later, 'first'));
($rc, $said) = verified();
is($rc, 1, 'of the same name, verify: exit code');
like($said, is_of('first', $new_oid, 'first'), 'of the same name, verify: message');
($rc, $err) = restored();
is($rc, 1, 'of the same name, restore: exit code');
like($err, is_of('first', $new_oid, 'first'), 'of the same name, restore: message');
sql($target, 'postgres', 'DROP DATABASE second');
swap(archive_of($dir, 'first'), archive_of($later, 'first'));
($rc, $err) = restored();
is("$rc$err", '0', 'back in its place it is restored');
sql($target, 'postgres', 'DROP DATABASE first; DROP DATABASE second');

# ---- names that are no characters in the database that is connected to

create_database($source, 'latin', q{TEMPLATE template0 ENCODING 'LATIN1'});
create_database($source, 'ascii', q{TEMPLATE template0 ENCODING 'SQL_ASCII'});
sql($source, 'latin', q{SET client_encoding = 'LATIN1'; CREATE DATABASE "caf} . "\xe9" . q{" TEMPLATE template0 ENCODING 'LATIN1'});
sql($source, 'ascii', qq{SET client_encoding = 'SQL_ASCII'; CREATE DATABASE "raw\xff"; CREATE ROLE "role\xff"});
($rc, $err, $dir) = dump_all($source, '-j2');
is($rc, 1, 'such names, of a database that cannot have them: exit code');
like($err, qr/^pg_dumpall: error: .*invalid byte sequence.*^pg_pardump: error: pg_dumpall failed with exit code 1\n.*hint: .*connect to a database with another encoding\.$/ms,
	'such names, connected to a database with another encoding: message and hint');
ok(!-e $dir, 'such names, connected to a database with another encoding: no directory is left');
($rc, $err, $dir) = dump_all($source, '-j2', '--exclude-database=first', '-d', 'ascii');
is("$rc$err", '0', 'such names: exit code and messages of the dump');
is_deeply([ sort map { $_->{Name} // pack 'H*', $_->{'Encoded-Name'} } @{ read_map($dir)->{Databases} } ],
	[ sort qw(second postgres template1 latin ascii), "caf\xe9", "raw\xff" ], 'such names: databases of the map');
is((verified())[0], 0, 'such names: exit code of --verify');
($rc, $err) = restored();
is($rc, 1, 'such names: exit code of the restore');
like($err, qr/^pg_parrestore: error: could not create the roles and tablespaces: invalid byte sequence for encoding "UTF8": 0xff\n.*Statement was: CREATE ROLE "?role/m,
	'such names: the role is told');
is_deeply([ map { sort split /, / } $err =~ /^pg_parrestore: error: could not restore 2 of 7 databases\n.*detail: Failed databases: (.*)\.$/m ], [ "\"caf\xe9\"", "\"raw\xff\"" ],
	'such names: the databases are named, and no others');
is(value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname IN ('second', 'latin', 'ascii')}), 3,
	'such names: the others are there');
is(value($target, 'second', 'SELECT count(*) FROM of_second'), 1000, 'such names: with their rows');

# by a pattern they can be left out, of a dump and of a restore
sql($target, 'postgres', "DROP DATABASE $_") foreach qw(second latin ascii);
forget_notes();
($rc, undef, $err) = run_program('pg_parrestore', '--all-databases', '-d', $target->connstr('postgres'),
	'--exclude-database=caf?', '--exclude-database=raw?', $dir);
unlike($err, qr/could not restore|restored with errors/, 'left out of a restore: no database fails');
is(value($target, 'postgres', q{SELECT count(*) FROM pg_database WHERE datname IN ('second', 'latin', 'ascii')}), 3,
	'left out of a restore: the others are there');
sql($source, 'ascii', qq{SET client_encoding = 'SQL_ASCII'; DROP ROLE "role\xff"});
($rc, $err, $dir) = dump_all($source, '--exclude-database=caf*', '--exclude-database=raw?', '--exclude-database=first');
is("$rc$err", '0', 'left out of a dump: exit code');
is_deeply([ sort map { $_->{Name} } @{ read_map($dir)->{Databases} } ], [ sort qw(second postgres template1 latin ascii) ],
	'left out of a dump');

$_->stop foreach $source, $target;
done_testing();
