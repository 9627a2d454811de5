# Writes the metrics of pg_pardump_backup, in a file for the collector
# "textfile" of node_exporter.  The metrics of each dump are in files of their
# own.

package PardumpBackup::Metrics;

use strict;
use warnings;

use Exporter 'import';

use PardumpBackup::Store qw(now backups belongs_to database_of folders write_file);

our @EXPORT_OK = qw(write_metrics);

my %HELP = (
	exit_status => 'The exit code of the last run.',
	last_run_timestamp_seconds => 'When the last run ended.',
	success => 'Whether the last run made a backup of the database.',
	last_success_timestamp_seconds => 'When the newest backup of the database was completed.',
	backups => 'Number of backups of the database.');

sub sample
{
	my ($value, %labels) = @_;
	# the format is UTF-8, and a name may be anything
	utf8::decode(my $copy = $_) or s/[^ -~\n]/?/g foreach values %labels;
	my $labels = join ',', map {
		"$_=\"" . $labels{$_} =~ s/([\\"])/\\$1/gr =~ s/\n/\\n/gr . '"'
	} sort keys %labels;
	return "{$labels} $value\n";
}

# $outcome says for the folder of each database of this run whether the run made a
# backup.  Databases of earlier runs have metrics, too.  Backups of other servers than
# $server do not count.
sub write_metrics
{
	my ($config, $exit_status, $outcome, $server) = @_;
	my %samples = (
		exit_status => sample($exit_status, config => $config->{name}),
		last_run_timestamp_seconds => sample(now(), config => $config->{name}));
	my %folders = map { $_ => 1 } keys %$outcome, folders($config->{directory});
	my $file = "pg_pardump_backup_$config->{name}.prom";
	my $text = '';

	foreach my $folder (sort keys %folders)
	{
		my %labels = (config => $config->{name}, database => database_of($folder));
		my ($good) = backups($config->{directory}, $folder);
		my @own = grep { belongs_to($_, $server) } @$good;

		$samples{success} .= sample($outcome->{$folder} ? 1 : 0, %labels) if exists $outcome->{$folder};
		$samples{last_success_timestamp_seconds} .= sample($own[0]{finished}, %labels) if @own;
		$samples{backups} .= sample(scalar(@own), %labels);
	}
	foreach my $metric (sort keys %samples)
	{
		$text .= "# HELP pg_pardump_backup_$metric $HELP{$metric}\n# TYPE pg_pardump_backup_$metric gauge\n"
		  . join '', map { "pg_pardump_backup_$metric$_\n" } split /\n/, $samples{$metric};
	}
	# the collector is another user, and reads names with its suffix only
	my ($temporary, $final) = ("$config->{metrics}/.$file.tmp", "$config->{metrics}/$file");
	write_file($temporary, $text, 1);
	rename $temporary, $final or die "could not rename file \"$temporary\" to \"$final\": $!\n";
	return;
}

1;
