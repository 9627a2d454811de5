
# Checks that stock pg_restore can load all of a chunked archive ("barrier layout"):
# chunks are TABLE DATA entries with their own IDs.  The table's original entry follows
# them as a barrier: it has no data, and depends on all chunks.
#
# layout_problems() and toc_problems() return lists of problems.

package Pardump::Layout;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max uniq);
use Pardump::Toc qw(read_toc data_path is_table_data is_barrier is_completion
  chunked_tables table_key);
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(layout_problems toc_problems chunk_count chunks_of);

my %suffix_of = (0 => '', 1 => '.gz', 2 => '.lz4', 3 => '.zst');

sub layout_problems
{
	my ($dir) = @_;
	my $toc = index_toc(read_toc($dir));
	my @chunked = chunked_tables($toc);
	return (
		id_problems($toc, \@chunked),
		order_problems($toc),
		file_problems($toc, $dir),
		lonely_problems($toc),
		map { (chunk_problems($toc, $_), priority_problems($toc, $_)) }
		  @chunked);
}

# Build indexes over the archive's entries, which the checks of each table use: for each
# ID, the position of the entry, and the post-data entries that depend on it; and
# whether there are any post-data entries.
sub index_toc
{
	my ($toc) = @_;
	my @entries = @{ $toc->{entries} };
	$toc->{position} = { map { $entries[$_]{id} => $_ } reverse 0 .. $#entries };
	$toc->{max_id} = max(keys %{ $toc->{position} });
	foreach my $te (grep { $_->{section} == 4 } @entries)
	{
		$toc->{has_post} = 1;
		push @{ $toc->{needed_by}{$_} }, $te foreach uniq(@{ $te->{deps} });
	}
	return $toc;
}

# Do chunks have to depend on each other?  Only if the archive does not create the table
# (--data-only, tables of extensions).  Then pg_restore may disable triggers around each
# chunk, which would lose rows if it loaded chunks concurrently.
sub must_be_chained
{
	my ($toc, $table) = @_;
	return !exists $toc->{position}{ $table->{barrier}{deps}[0] };
}

# The number of chunks of the whole archive, and of the table with this name.
sub chunk_count
{
	my ($dir) = @_;
	my $count = 0;
	$count += @{ $_->{chunks} } foreach chunked_tables(read_toc($dir));
	return $count;
}

sub chunks_of
{
	my ($dir, $table) = @_;
	my ($found) =
	  grep { $_->{barrier}{tag} eq $table } chunked_tables(read_toc($dir));
	return $found ? scalar @{ $found->{chunks} } : 0;
}

sub entry_name
{
	my ($te) = @_;
	return "$te->{id} $te->{desc} " . ($te->{namespace} // '-') . ".$te->{tag}";
}

# IDs must be unique, because pg_restore ignores all but the last entry with an ID, and
# dense, because it allocates arrays for the largest ID.
sub id_problems
{
	my ($toc, $chunked) = @_;
	my (@problems, %seen);
	foreach my $te (@{ $toc->{entries} })
	{
		push @problems, 'id used twice: ' . entry_name($te) if $seen{ $te->{id} }++;
		push @problems, 'id not above 0: ' . entry_name($te) if $te->{id} <= 0;
	}
	my %is_chunk = map { $_->{id} => 1 } map { @{ $_->{chunks} } } @$chunked;
	my $others = max(0, map { ($_->{id}, @{ $_->{deps} }) }
		grep { !$is_chunk{ $_->{id} } && !is_barrier($_) && $_->{section} < 4 }
		@{ $toc->{entries} });
	my $stock_max = max(0, map { $_->{id} }
		grep { !$is_chunk{ $_->{id} } && !is_completion($_) } @{ $toc->{entries} });
	my $max = max(0, keys %seen);
	my $allowed = max($others, $stock_max) + keys(%is_chunk) + 2 * @$chunked;
	push @problems, "ids not dense: largest is $max, $allowed would do"
	  if $max > $allowed;
	return @problems;
}

# The sections must be PRE_DATA (2), DATA (3) and POST_DATA (4) in this order, with
# comments and the like (1) anywhere.  A data entry follows all entries that it
# depends on.
sub order_problems
{
	my ($toc) = @_;
	my (@problems, %position, $section);
	my $n = 0;
	$position{ $_->{id} } = $n++ foreach @{ $toc->{entries} };
	$section = 0;
	foreach my $te (@{ $toc->{entries} })
	{
		push @problems, 'section out of order: ' . entry_name($te)
		  if $te->{section} > 1 && $te->{section} < $section;
		$section = $te->{section} if $te->{section} > 1;
		next unless is_table_data($te);
		foreach my $dep (@{ $te->{deps} })
		{
			push @problems, entry_name($te) . " comes before what it needs, $dep"
			  if ($position{$dep} // -1) > $position{ $te->{id} };
		}
	}
	return @problems;
}

# Each entry with data has a regular file, with the suffix of the codec in the header,
# and each file belongs to an entry.
sub file_problems
{
	my ($toc, $dir) = @_;
	my (@problems, %used);
	my $codec = $toc->{compression};
	$codec = 1 if $toc->{minor} < 15 && $codec != 0;    # the number is a level in old archives
	my $suffix = $suffix_of{$codec};
	push @problems, "unknown codec $codec in the header" unless defined $suffix;

	foreach my $te (grep { ($_->{filename} // '') ne '' } @{ $toc->{entries} })
	{
		my $blobs = $te->{desc} =~ /^BLOBS/;
		my $path = $blobs ? "$dir/$te->{filename}" : data_path($dir, $te);
		push @problems, 'no data: ' . entry_name($te) and next
		  unless defined $path && -f $path && !-l $path;
		push @problems, "file $path belongs to two entries" if $used{$path}++;
		push @problems, "wrong suffix: $path"
		  if !$blobs && $path ne "$dir/$te->{filename}$suffix";
	}
	foreach my $path (map { "$dir/$_" } grep { !/^\.\.?$/ } slurp_dir($dir))
	{
		next if $path =~ m{/(toc\.dat|pg_pardump_manifest\.json|blob_\d+\.dat\Q$suffix\E)$} || $used{$path};
		push @problems, "a file of no entry: $path";
	}
	return @problems;
}

# A table with several data entries must have a barrier, which depends on all of them.
sub lonely_problems
{
	my ($toc) = @_;
	my (%count, %barrier);
	foreach my $te (grep { is_table_data($_) } @{ $toc->{entries} })
	{
		$count{ table_key($te) }++;
		$barrier{ table_key($te) } = 1 if is_barrier($te);
	}
	return map { 'chunks without a barrier: ' . s/\0/./r }
	  grep { $count{$_} > 1 && !$barrier{$_} } sort keys %count;
}

sub chunk_problems
{
	my ($toc, $table) = @_;
	my ($barrier, @chunks) = ($table->{barrier}, @{ $table->{chunks} });
	my @problems;
	my $complain = sub { push @problems, entry_name($barrier) . ': ' . shift; };

	$complain->('only ' . @chunks . ' chunks') if @chunks < 2;
	$complain->('barrier has a COPY command, a definition or a file')
	  if defined $barrier->{copy}
	  || defined $barrier->{defn}
	  || ($barrier->{filename} // '') ne '';
	my ($table_id, @waits) = @{ $barrier->{deps} };
	$complain->('barrier does not wait for exactly its chunks')
	  if join(' ', sort @waits) ne join(' ', sort map { $_->{id} } @chunks);

	my $at = $toc->{position}{ $barrier->{id} };
	my $chained = must_be_chained($toc, $table);
	my $previous;
	foreach my $i (0 .. $#chunks)
	{
		my $chunk = $chunks[$i];
		my @deps = @{ $chunk->{deps} };
		$complain->('chunks and barrier are not side by side')
		  if $toc->{entries}[ $at - @chunks + $i ]{id} != $chunk->{id};
		foreach my $field (qw(tableoid oid namespace tag owner section tableam))
		{
			$complain->("chunk $chunk->{id} has another $field")
			  if ($chunk->{$field} // '') ne ($barrier->{$field} // '');
		}
		$complain->("chunk $chunk->{id} has no COPY command")
		  unless ($chunk->{copy} // '') =~ /^COPY /;
		# a chunk of an extension's table also depends on the data of referenced tables
		my @referenced = $chained ? splice(@deps, defined $previous ? 2 : 1) : ();
		$complain->("chunk $chunk->{id} depends on @{ $chunk->{deps} }")
		  if $deps[-1] != $table_id || @deps > 2
		  || grep { !defined $toc->{position}{$_} || !is_table_data($toc->{entries}[ $toc->{position}{$_} ]) } @referenced;
		$complain->("chunk $chunk->{id} is not chained")
		  if $chained && defined $previous && $deps[0] != $previous;
		$previous = $chunk->{id};
	}
	return @problems;
}

# pg_restore gives an index the priority of the data of its table, but a barrier has no
# data.  So the largest chunk depends on a reserved ID that no entry has, and the
# post-data entries of the table depend on this ID, too.  They depend on a completion
# instead of the barrier, because pg_restore processes the barrier, which has no size,
# after all data.
sub priority_problems
{
	my ($toc, $table) = @_;
	return () if must_be_chained($toc, $table);
	my $table_id = $table->{barrier}{deps}[0];
	my @marked = grep { @{ $_->{deps} } == 2 } @{ $table->{chunks} };
	my $name = entry_name($table->{barrier});
	return "$name: no chunk has the table's reserved id" if @marked == 0;
	return "$name: several chunks have a reserved id" if @marked > 1;

	my @problems;
	my $reserved = $marked[0]{deps}[0];
	push @problems, "$name: the reserved id $reserved is an entry's"
	  if exists $toc->{position}{$reserved};
	push @problems, "$name: the reserved id $reserved is too large"
	  if $reserved > $toc->{max_id};
	push @problems, map { "$name: " . entry_name($_) . ' waits for the table or its barrier' }
	  map { needed_by($toc, $_) } $table_id, $table->{barrier}{id};
	return (@problems, completion_problems($toc, $table, $reserved));
}

sub needed_by { my ($toc, $id) = @_; return @{ $toc->{needed_by}{$id} // [] }; }

# The completion depends on exactly the chunks, with the reserved ID instead of the ID of
# the largest chunk, and restores nothing.  An entry that depends on the completion also
# depends on the reserved ID, and vice versa.
sub completion_problems
{
	my ($toc, $table, $reserved) = @_;
	my $name = entry_name($table->{barrier});
	my @reserved = needed_by($toc, $reserved);
	my @found = grep { is_completion($_) } @reserved;
	return $toc->{has_post} ? "$name: " . @found . ' completions' : () if @found != 1;

	my @problems;
	my $completion = $found[0];
	my @waits = map { @{ $_->{deps} } == 2 ? $reserved : $_->{id} } @{ $table->{chunks} };
	push @problems, "$name: the completion does not wait for exactly the chunks"
	  if join(' ', sort @{ $completion->{deps} }) ne join(' ', sort @waits);
	push @problems, "$name: the completion has a COPY command, a definition or a file"
	  if $completion->{had_dumper}
	  || defined $completion->{copy}
	  || defined $completion->{defn}
	  || ($completion->{filename} // '') ne '';
	my %count;
	$count{ entry_name($_) }++ foreach grep { $_ != $completion } @reserved, needed_by($toc, $completion->{id});
	push @problems, map { "$name: $_ has only one of completion and reserved id" }
	  grep { $count{$_} != 2 } sort keys %count;
	return @problems;
}

# Compare everything but data with an archive of stock pg_dump of the same database: the
# same entries must be in the same order, with the same texts, owners and IDs.
sub toc_problems
{
	my ($stock_dir, $dir) = @_;
	my ($stock, $ours) = (read_toc($stock_dir), index_toc(read_toc($dir)));
	my %chunk = map { $_->{id} => 1 } map { @{ $_->{chunks} } } chunked_tables($ours);
	my @ours = grep { !$chunk{ $_->{id} } && !is_completion($_) } @{ $ours->{entries} };
	my %is_split = map { $_->{barrier}{deps}[0] => 1 } grep { !must_be_chained($ours, $_) } chunked_tables($ours);
	my @problems;

	push @problems, 'header has no mark' if $ours->{dump_version} !~ s/, pg_pardump \d+\.\d+\.\d+$//;
	foreach my $field (qw(major minor revision dbname server_version dump_version))
	{
		push @problems, "header has another $field"
		  if $stock->{$field} ne $ours->{$field};
	}
	push @problems, scalar(@ours) . ' entries, not ' . @{ $stock->{entries} }
	  if @ours != @{ $stock->{entries} };
	foreach my $want (@{ $stock->{entries} })
	{
		my $got = shift @ours // last;
		my %skip = map { $_ => 1 } qw(deps);
		@skip{qw(had_dumper copy defn filename)} = (1) x 4 if is_barrier($got);
		foreach my $field (grep { !$skip{$_} } sort keys %$want)
		{
			push @problems, entry_name($got) . ": another $field than in " . entry_name($want)
			  if ($want->{$field} // 'NULL') ne ($got->{$field} // 'NULL');
		}
		my %has = map { $_ => 1 } @{ $got->{deps} };
		# instead of a split table, an entry depends on the completion of the table
		push @problems, entry_name($got) . ': dependencies lost'
		  if grep { !$has{$_} && !($got->{section} == 4 && $is_split{$_}) } @{ $want->{deps} };
	}
	return @problems;
}

1;
