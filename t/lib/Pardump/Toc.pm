
# toc.dat of a directory archive, read and written as plain data.
#
# Format: pg_backup_archiver.c, WriteHead, WriteToc and their readers; 1.14 is
# written by pg_dump 12 to 15, 1.15 by 16, 1.16 by 17 and 18.  An int is a sign
# byte and four bytes, little endian; a string is its length and its bytes,
# NULL has length -1.

package Pardump::Toc;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(read_toc write_toc toc_bytes copy_archive data_path
  is_table_data is_barrier is_completion chunked_tables table_key);

my @suffixes = ('', '.gz', '.lz4', '.zst');

# Entry fields that are strings, in the order of the file; "section" is an int
# in their midst, "relkind" and "tableam" depend on the version.
my @before_section = qw(tableoid oid tag desc);
my @after_section = qw(defn drop copy namespace tablespace);

sub read_toc
{
	my ($dir) = @_;
	my $buf = PostgreSQL::Test::Utils::slurp_file("$dir/toc.dat");
	my $pos = 0;

	my $byte = sub {
		die "$dir/toc.dat ends too early" if $pos >= length $buf;
		return ord substr($buf, $pos++, 1);
	};
	my $int = sub {
		my $sign = $byte->();
		my $value = unpack 'V', substr($buf, $pos, 4);
		$pos += 4;
		return $sign ? -$value : $value;
	};
	my $str = sub {
		my $len = $int->();
		return undef if $len < 0;
		die "$dir/toc.dat ends too early" if $pos + $len > length $buf;
		$pos += $len;
		return substr($buf, $pos - $len, $len);
	};

	my %toc;
	die "$dir/toc.dat is not an archive" if substr($buf, 0, 5) ne 'PGDMP';
	$pos = 5;
	$toc{$_} = $byte->()
	  foreach qw(major minor revision intsize offsize format);
	$toc{compression} = $toc{minor} >= 15 ? $byte->() : $int->();
	$toc{times} = [ map { $int->() } 1 .. 7 ];
	$toc{$_} = $str->() foreach qw(dbname server_version dump_version);
	$toc{entries} = [];
	foreach (1 .. $int->())
	{
		my %te = (id => $int->(), had_dumper => $int->());
		$te{$_} = $str->() foreach @before_section;
		$te{section} = $int->();
		$te{$_} = $str->() foreach @after_section;
		$te{tableam} = $str->();
		$te{relkind} = $int->() if $toc{minor} >= 16;
		$te{$_} = $str->() foreach qw(owner with_oids);
		$te{deps} = [];
		while (defined(my $dep = $str->())) { push @{ $te{deps} }, $dep; }
		$te{filename} = $str->();
		push @{ $toc{entries} }, \%te;
	}
	die "$dir/toc.dat continues after its last entry" if $pos != length $buf;
	return \%toc;
}

# In the custom format (1) an entry ends with the offset of its data, here
# always "not set"; in a directory's (3) with its file's name.
sub toc_bytes
{
	my ($toc) = @_;
	my $int = sub { pack('C V', $_[0] < 0 ? 1 : 0, abs $_[0]) };
	my $str = sub { defined $_[0] ? $int->(length $_[0]) . $_[0] : $int->(-1) };

	my $buf = 'PGDMP';
	$buf .= chr $toc->{$_} foreach qw(major minor revision intsize offsize format);
	$buf .=
	  $toc->{minor} >= 15
	  ? chr $toc->{compression}
	  : $int->($toc->{compression});
	$buf .= $int->($_) foreach @{ $toc->{times} };
	$buf .= $str->($toc->{$_}) foreach qw(dbname server_version dump_version);
	$buf .= $int->(scalar @{ $toc->{entries} });
	foreach my $te (@{ $toc->{entries} })
	{
		$buf .= $int->($te->{$_}) foreach qw(id had_dumper);
		$buf .= $str->($te->{$_}) foreach @before_section;
		$buf .= $int->($te->{section});
		$buf .= $str->($te->{$_}) foreach @after_section;
		$buf .= $str->($te->{tableam});
		$buf .= $int->($te->{relkind}) if $toc->{minor} >= 16;
		$buf .= $str->($te->{$_})
		  foreach ('owner', 'with_oids');
		$buf .= $str->($_) foreach @{ $te->{deps} };
		$buf .= $str->(undef);
		$buf .=
		  $toc->{format} == 1
		  ? "\1" . "\0" x $toc->{offsize}
		  : $str->($te->{filename});
	}
	return $buf;
}

sub write_toc
{
	my ($toc, $dir) = @_;
	open my $fh, '>:raw', "$dir/toc.dat.new" or die "$dir/toc.dat.new: $!";
	print $fh toc_bytes($toc) or die "$dir/toc.dat.new: $!";
	close $fh or die "$dir/toc.dat.new: $!";
	rename "$dir/toc.dat.new", "$dir/toc.dat" or die "$dir/toc.dat: $!";
	return;
}

# A copy to change: hard links, except for toc.dat, which write_toc replaces.
sub copy_archive
{
	my ($from, $to) = @_;
	PostgreSQL::Test::Utils::system_or_bail('cp', '-al', $from, $to);
	return $to;
}

# The data file as it is on disk, with its codec's suffix, or undef.
sub data_path
{
	my ($dir, $te) = @_;
	my @found = grep { -e } map { "$dir/$te->{filename}$_" } @suffixes;
	return @found == 1 ? $found[0] : undef;
}

sub is_table_data { return $_[0]->{desc} eq 'TABLE DATA'; }

# The entry that stands for a chunked table's whole data and has none itself.
sub is_barrier
{
	my ($te) = @_;
	return is_table_data($te) && !$te->{had_dumper};
}

# The entry that has what follows the data begin once a chunked table has its rows.
sub is_completion { return $_[0]->{desc} eq 'TABLE DATA COMPLETE'; }

sub table_key
{
	my ($te) = @_;
	return join "\0", $te->{namespace} // '', $te->{tag};
}

# Chunked tables: [{ barrier => entry, chunks => [entries] }, ...] in the
# archive's order.
sub chunked_tables
{
	my ($toc) = @_;
	my (%chunks, @tables);
	foreach my $te (grep { is_table_data($_) } @{ $toc->{entries} })
	{
		if (is_barrier($te))
		{
			push @tables, { barrier => $te, chunks => $chunks{ table_key($te) } // [] };
		}
		else
		{
			push @{ $chunks{ table_key($te) } }, $te;
		}
	}
	return @tables;
}

1;
