# What tells a version or a licence tells the same in all places.

use strict;
use warnings;

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(run_program);
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/..";

# One paragraph after the other, with any margin.
sub words_of
{
	my ($text) = @_;
	return join ' ', grep { $_ ne '.' } split ' ', $text;
}

my (undef, $program) = run_program('pg_pardump', '--version');
my ($version, $major_minor) = $program =~ /^pg_pardump ((\d+\.\d+)\.\d+) /;
ok(defined $version, 'the program tells its version');

like((run_program('pg_pardump_backup', '--version'))[1], qr/^pg_pardump_backup \Q$version\E$/, 'pg_pardump_backup: the version');

my $meta = decode_json(slurp_file("$tree/META.json"));
my $provided = $meta->{provides}{pg_pardump};
is($meta->{version}, $version, 'META.json: the version');
like($provided->{version}, qr/^\Q$major_minor\E\./, 'META.json: the version of the extension');
ok(-e "$tree/$provided->{$_}", "META.json: the $_") foreach qw(file docfile);

like(slurp_file("$tree/pg_pardump.control"), qr/^default_version = '\Q$major_minor\E'$/m,
	'the control file');
like($provided->{file}, qr/--\Q$major_minor\E\.sql$/, 'the SQL script');
like(slurp_file("$tree/CHANGELOG.md"), qr/^## \Q$version\E /m, 'CHANGELOG.md');
like(slurp_file("$tree/debian/changelog"), qr/\Apg-pardump \(\Q$version\E\) /,
	"Debian's changelog");

my ($terms) = slurp_file("$tree/debian/copyright") =~ /^License: PostgreSQL\n (.*)\z/ms;
my ($holder, $licence) = split /\n\n/, slurp_file("$tree/LICENSE"), 2;
is(words_of($terms), words_of($licence), "Debian's copyright file has the licence's text");
like($holder, qr/2026, the pg_pardump developers/, 'holder of the copyright: licence');
like(slurp_file("$tree/debian/copyright"), qr/^Copyright: 2026, the pg_pardump developers$/m,
	'holder of the copyright: debian/copyright');

done_testing();
