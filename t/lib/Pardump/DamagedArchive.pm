
# Damages to an archive, each a function of its directory; and copies that have
# them.

package Pardump::DamagedArchive;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(new_path);
use Pardump::Manifest qw(change_manifest write_bytes);
use Pardump::Toc qw(read_toc write_toc);
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(damaged flipped cut gone written other_manifest other_toc);

# One bit of a file is another.
sub flipped
{
	my ($name, $at) = @_;
	return sub {
		my $bytes = slurp_file("$_[0]/$name");
		substr($bytes, $at, 1) = chr(ord(substr($bytes, $at, 1)) ^ 1);
		write_bytes("$_[0]/$name", $bytes);
	};
}

sub cut
{
	my ($name, $len) = @_;
	return sub { write_bytes("$_[0]/$name", substr(slurp_file("$_[0]/$name"), 0, $len)); };
}

sub gone
{
	my @patterns = @_;
	return sub { unlink map { glob "$_[0]/$_" } @patterns; };
}

# A file that is there, the only one of the pattern, or another has these bytes.
sub written
{
	my ($name, $bytes) = @_;
	return sub { write_bytes($name =~ /\*/ ? glob "$_[0]/$name" : "$_[0]/$name", $bytes); };
}

# A manifest that lies: the function changes $_.
sub other_manifest
{
	my ($change) = @_;
	return sub { change_manifest($_[0], $change); };
}

# The same of toc.dat: the function gets its entries.
sub other_toc
{
	my ($change) = @_;
	return sub {
		my $toc = read_toc($_[0]);
		$change->(@{ $toc->{entries} });
		write_toc($toc, $_[0]);
	};
}

# A copy of the archive, damaged by the function.  Returns its directory.
sub damaged
{
	my ($dir, $damage) = @_;
	my $copy = new_path('damaged');
	system_or_bail('cp', '-a', $dir, $copy);
	$damage->($copy);
	return $copy;
}

1;
