# pgindent of 17 and 18 changes nothing in the sources: "make indent" was run,
# and typedefs.list has the types.  That of 19 puts a space before the dots of
# initializers and of variable arguments, where these have none.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program new_path);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = abs_path("$FindBin::RealBin/..");
my $bindir = `pg_config --bindir`;
chomp $bindir;
plan skip_all => 'no pgindent, which the development files of 17 and newer bring'
  if !-x "$bindir/pgindent";
plan skip_all => 'pgindent of another form than that of 17 and 18'
  if `pg_config --version` !~ /^PostgreSQL 1[78]/;

# What pgindent would change in these files and directories; it changes nothing.
sub indent
{
	my (@paths) = @_;
	local $ENV{PATH} = "$bindir:$ENV{PATH}";
	my ($rc, $out, $err) = run_program('pgindent', "--typedefs=$tree/typedefs.list",
		'--diff', '--check', @paths);
	return ($rc, "$out$err");
}

my ($paths) = slurp_file("$tree/Makefile") =~ /^\tpgindent \S+ (.*)$/m;
my ($rc, $said) = indent(map { "$tree/$_" } split ' ', $paths);
is($said, '', "$paths: pgindent changes nothing");
is($rc, 0, "$paths: pgindent is content");

my $other = new_path('other.c');
append_to_file($other, "int\nmain(void) {\n    return 0;\n}\n");
($rc, $said) = indent($other);
like($said, qr/^\+\treturn 0;$/m, 'in other code it does');

done_testing();
