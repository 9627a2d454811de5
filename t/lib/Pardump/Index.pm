# Builds indexes by the extension and by the server, and compares their files.

package Pardump::Index;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(sql value);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(index_session builders built_in_log index_pages different_files has_module
  check_index LEFT_BEFORE);

use constant LEFT_BEFORE => 'builds were not compared with the server\'s in this session';

# What a session needs that lets the extension build indexes, and says who did.
sub index_session
{
	my (%params) = @_;
	my $compared = $params{compared} // 1;
	# SET would have builds compared
	return join "\n", q{LOAD 'pg_pardump';}, q{SELECT set_config('pg_pardump.fast_index', 'on', false);},
	  $compared ? q{DO $$ DECLARE reason text := pardump.pg_pardump_compare_builds();
		BEGIN IF reason IS NOT NULL THEN RAISE 'not compared: %', reason; END IF; END $$;} : (),
	  q{SET client_min_messages = debug1;}, '';
}

# Who built which index: name and "us", or the server's reason, of each message.
# Those of comparisons are not counted.
sub builders
{
	my ($messages) = @_;
	my @builders;

	while ($messages =~ /DEBUG:  index "([^"]+)" is built by (?:(pg_pardump)|the server: (.*))$/mg)
	{
		push @builders, [ $1, defined $2 ? 'us' : $3 ] if $1 !~ /^pg_pardump_index_comparison/;
	}
	return @builders;
}

# The names of the indexes that the extension has built, by a server's log at DEBUG1.
sub built_in_log
{
	my ($log) = @_;
	my %built;

	$built{ $_->[0] }++ foreach grep { $_->[1] eq 'us' } builders($log);
	return \%built;
}

# The pages of a file, without the LSN and the checksum, by which they begin.
sub file_pages
{
	my ($path) = @_;
	open(my $in, '<:raw', $path) or die "could not open \"$path\": $!";
	my @pages;
	while (read($in, my $page, 8192))
	{
		push @pages, substr($page, 10);
	}
	return @pages;
}

# Those of an index, which are not written through shared buffers, so that no
# checkpoint is needed.
sub index_pages
{
	my ($node, $db, $index) = @_;
	return file_pages($node->data_dir . '/' . value($node, $db, "SELECT pg_relation_filepath('$index')"));
}

# What differs between the pages of two files; an empty string for nothing.
sub different_files
{
	my @one = file_pages($_[0]);
	my @other = file_pages($_[1]);
	my @different = grep { $one[$_] ne $other[$_] } 0 .. ($#one < $#other ? $#one : $#other);

	return 'no pages' if !@one;
	return scalar(@one) . ' and ' . scalar(@other) . ' pages' if @one != @other;
	return @different ? "pages @different" : '';
}

sub has_module
{
	my ($node, $name) = @_;
	return value($node, 'postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = '$name'");
}

# The error of amcheck about an index, if there is one; without amcheck none.
sub check_index
{
	my ($node, $db, $index) = @_;
	return '' if !has_module($node, 'amcheck');
	my (undef, undef, $err) = $node->psql($db, "CREATE EXTENSION IF NOT EXISTS amcheck;
		SELECT bt_index_parent_check('$index', true, true)");
	return join "\n", grep { !/already exists, skipping/ } split /\n/, $err;
}

1;
