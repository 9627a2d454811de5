
# Incremental dumps by summaries of the write-ahead log: which chunks a run has not
# read, and whether its archive is what a full dump would have been.

package Pardump::Summaries;

use strict;
use warnings;

use Exporter 'import';
use Pardump::Cluster qw(sql dump_ok);
use Pardump::Incremental qw(incremental full_archive same_contents_ok verified_ok);
use Test::More;

our @EXPORT_OK = qw(first_by_summaries by_summaries_ok);

our @first = ('-j2', '--chunk-size=512kB', '-Z0', '--manifest-fingerprints', '--incremental-by=wal-summaries');
our $unused = 'cannot use WAL summaries';

# A summary begins at a checkpoint: what was done before one is in no later one.
sub checkpoint { return sql($_[0], 'postgres', 'CHECKPOINT'); }

sub first_by_summaries
{
	my ($node, $db, $what, @options) = @_;
	checkpoint($node);
	return dump_ok($node, $db, $what, 'pg_pardump', @first, @options);
}

# by_summaries_ok($node, $db, 'what', $previous, table => numbers of the chunks that are
# not read, blanks between them; snapshot, options => of both dumps; warning => why
# summaries are not used): the archive is as a full dump of the same snapshot is.
# Returns its directory.  Nothing is written meanwhile.
sub by_summaries_ok
{
	my ($node, $db, $what, $previous, %params) = @_;
	my ($snapshot, $options, $warning) = delete @params{qw(snapshot options warning)};
	my @snapshot = map { "--snapshot=$_" } $snapshot // ();
	checkpoint($node);
	my $full = full_archive($node, $db, $what, '--chunk-size=512kB', @snapshot);
	my $new = incremental($node, $db, $previous, '--incremental-by=wal-summaries', '-v', '--chunk-size=512kB', @snapshot,
		@{ $options // [] });
	is($new->{rc}, 0, "$what: exit code") or diag($new->{err});
	same_contents_ok($new->{dir}, $full, $what);
	verified_ok($new->{dir}, $what);
	foreach my $table (sort keys %params)
	{
		my @unread = $new->{err} =~ /no block of chunk (\d+) of \d+ of table public\.$table was modified/g;
		push @unread, 1 if $new->{err} =~ /no block of table public\.$table was modified/;
		is(join(' ', sort { $a <=> $b } @unread), $params{$table}, "$what: not read of $table") or diag($new->{err});
	}
	my $warnings = join "\n", $new->{err} =~ /warning: (.*)/g;
	$warning ? like($new->{err}, qr/warning: \Q$unused\E\n[^\n]*detail: $warning/, "$what: why") : is($warnings, '', "$what: no warning");
	return $new->{dir};
}

1;
