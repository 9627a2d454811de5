
# The manifest of an archive: read as data, or changed with a new checksum.

package Pardump::Manifest;

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Exporter 'import';
use JSON::PP;
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw($manifest_name read_manifest write_manifest change_manifest write_bytes);

our $manifest_name = 'pg_pardump_manifest.json';

sub write_bytes
{
	my ($path, $bytes) = @_;
	open my $fh, '>:raw', $path or die "could not write \"$path\": $!";
	print $fh $bytes;
	close $fh or die "could not write \"$path\": $!";
	return;
}

sub read_manifest
{
	my ($dir) = @_;
	return decode_json(slurp_file("$dir/$manifest_name"));
}

# Writes this text and the line that tells its checksum.
sub write_manifest
{
	my ($dir, $text) = @_;
	write_bytes("$dir/$manifest_name",
		"$text\"Manifest-Checksum\": \"" . sha256_hex($text) . "\"}\n");
	return;
}

# change_manifest($dir, sub): the function changes $_, the text but for its last
# line, which is then made right again: a manifest that lies.
sub change_manifest
{
	my ($dir, $change) = @_;
	local $_ = slurp_file("$dir/$manifest_name");
	my $before = $_;
	s/"Manifest-Checksum".*//s;
	$change->();
	die "nothing was changed in the manifest of \"$dir\"" if index($before, $_) == 0;
	write_manifest($dir, $_);
	return;
}

1;
