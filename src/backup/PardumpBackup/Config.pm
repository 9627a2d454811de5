# The configuration file of pg_pardump_backup: lines of "key = value".  Each wrong line is
# reported by its number.

package PardumpBackup::Config;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(:mode O_NONBLOCK O_RDONLY);
use Text::ParseWords qw(shellwords);

our @EXPORT_OK = qw(read_config fill_in seconds_of bytes_of);

# For each key a function that returns its value, or dies with a detail of what is wrong.
# The keys of LISTS can be repeated.
my %KEYS = (
	bindir => \&path,
	cluster_snapshot => sub { one_of($_[0], qw(yes no)) eq 'yes' },
	compress => \&text,
	copy => \&copy_command,
	database => \&text,
	directory => \&path,
	drill_directory => \&path,
	drill_disk_limit => \&size,
	drill_preload => \&libraries,
	drill_time_limit => \&timeout,
	drill_user => \&text,
	exclude_database => \&text,
	fetch => \&fetch_command,
	globals => sub { one_of($_[0], qw(yes no no-passwords)) },
	host => \&text,
	incremental => sub { one_of($_[0], qw(yes no)) eq 'yes' },
	jobs => sub { number($_[0], 1, 4096) },
	keep_days => sub { number($_[0], 1, 36500) },
	keep_last => sub { number($_[0], 1, 100000) },
	list => \&list_command,
	lock_wait_timeout => \&timeout,
	maintenance_database => \&text,
	metrics => \&path,
	options => \&dump_options,
	pipe => \&pipe_command,
	port => sub { number($_[0], 1, 65535) },
	remove => \&remove_command,
	service => \&text,
	username => \&text,
	verify_command => sub { command($_[0]) });
my %LISTS = map { $_ => 1 } qw(database exclude_database);
my %DEFAULTS = (drill_directory => '/var/tmp', drill_time_limit => '12h', globals => 'yes', jobs => 1, keep_last => 7, lock_wait_timeout => '15min',
	maintenance_database => 'postgres');

# Options that "options" must not contain, because this program sets them, or because
# pg_pardump would write no archive, or write it to another place.  They can be
# shortened, but not to another option.
my @OWN = qw(file format jobs compress version check compare-with dry-run incremental incremental-pipe
  all-databases cluster-snapshot shared-snapshot manifest-fingerprints metrics no-sync pipe pipe-copy report report-history verify tasks task run-tasks plan target create-slot
  clean-output dbname host port username no-password password help);
my %NOT_SHORTENED = map { $_ => 1 } qw(clean create);

# Letters of pg_pardump's options.  Those of LETTERS_OWN must not be in "options",
# either.
my $LETTERS_WITH_VALUE = 'dEefhjFnNprSTtUZ';
my $LETTERS_OWN = 'dfFghjpUVwWZ?';

sub text { return $_[0]; }

sub one_of
{
	my ($value, @allowed) = @_;
	return $value if grep { $_ eq $value } @allowed;
	die 'The allowed values are: ' . join(', ', map { "\"$_\"" } @allowed) . ".\n";
}

sub number
{
	my ($value, $min, $max) = @_;
	return int $value if $value =~ /^\d{1,9}\z/ && $value >= $min && $value <= $max;
	die "The value must be a number from $min to $max.\n";
}

# As PostgreSQL takes it, but never without a unit: "15" would be milliseconds.
sub timeout
{
	my ($value) = @_;
	my $seconds = seconds_of($value);
	return $value =~ s/ //r if $seconds && $seconds < 2**31 / 1000;
	die "The value must be a time with a unit, from \"1ms\" to \"24d\", such as \"15min\".\n";
}

# Returns nothing if the value is not a time.
sub seconds_of
{
	my ($value) = @_;
	my %seconds = (ms => 0.001, s => 1, min => 60, h => 3600, d => 86400);
	return $value =~ /^(\d{1,9}) ?(ms|s|min|h|d)\z/ ? $1 * $seconds{$2} : undef;
}

# Returns nothing if the value is not a size.
sub bytes_of
{
	my ($value) = @_;
	my %bytes = (MB => 2**20, GB => 2**30, TB => 2**40);
	return $value =~ /^(\d{1,9}) ?(MB|GB|TB)\z/ ? $1 * $bytes{$2} : undef;
}

sub size
{
	my ($value) = @_;
	return $value if bytes_of($value);
	die "The value must be a size with a unit, such as \"100GB\".\n";
}

# Names of libraries, with blanks or commas between them.
sub libraries
{
	my ($value) = @_;
	my @names = grep { $_ ne '' } split /[\s,]+/, $value;
	die "The value must be names of libraries, such as \"timescaledb\".\n" if !@names || grep { !/^[A-Za-z0-9_][A-Za-z0-9_.-]*\z/ } @names;
	return \@names;
}

sub path
{
	my ($value) = @_;
	die "The value must be an absolute path.\n" if $value !~ m{^/};
	return $value =~ s{(?<=.)/+\z}{}r;
}

# A text in which only these letters, or a percent sign, may follow a percent sign.
sub placeholders
{
	my ($value, $letters) = @_;
	my ($wrong) = grep { !/^%[%$letters]\z/ } $value =~ /(%.?)/gs;
	die "The command contains unknown placeholder \"$wrong\".\nhint: This command may contain "
	  . join(', ', map { "%$_" } split //, $letters) . "; %% stands for a percent sign.\n" if defined $wrong;
	return $value;
}

sub words
{
	my ($value) = @_;
	my @words = shellwords($value);
	die "The value contains an unterminated quote.\n" if !@words;
	return @words;
}

# The words of a command that no shell sees.
sub command
{
	my ($value, $letters) = @_;
	return [ map { placeholders($_, $letters // 'dtD') } words($value) ];
}

sub list_command
{
	my ($value) = @_;
	my $words = command($value, 'd');
	my %has = placeholders_of(join ' ', @$words);
	die "The command must contain %d, the directory to list.\n" if !$has{d};
	return $words;
}

# Without these placeholders, a command would also remove other backups.  "none" is an empty
# command: the store removes old backups itself.
sub remove_command
{
	my ($value) = @_;
	return [] if $value eq 'none';
	my $words = command($value);
	die "The command must contain %D, or %d and %t; otherwise it would also remove other backups.\n"
	  if !names_backup(join ' ', @$words);
	return $words;
}

# The placeholders of a text.  "%%d" contains none.
sub placeholders_of { return map { $_ => 1 } $_[0] =~ /%(.)/g; }

sub names_backup
{
	my %has = placeholders_of($_[0]);
	return $has{D} || $has{d} && $has{t};
}

# A command that a shell runs for a file of a backup.
sub file_command
{
	my ($value, $reason, $more) = @_;
	placeholders($value, 'fdtD' . ($more // ''));
	my %has = placeholders_of($value);
	die "The command must contain %f, the name of the file.\n" if !$has{f};
	die $reason if !names_backup($value);
	# if the first command of a pipeline fails, the last one stores nothing, and the
	# shell reports success
	die "The command is a pipeline in sh, which ignores failures of all commands except the last.\n"
	  . "hint: Use bash -o pipefail -c '...'.\n"
	  if is_pipeline($value) && $value !~ /pipefail/;
	return $value;
}

sub pipe_command
{
	my ($value) = @_;
	return file_command($value, "The command must contain %D, or %d and %t; otherwise a backup would overwrite another.\n");
}

sub fetch_command
{
	my ($value) = @_;
	return file_command($value, "The command must contain %D, or %d and %t; otherwise it would return files of other backups.\n");
}

# A command that also contains the name of the file in the previous backup, and of that
# backup.
sub copy_command
{
	my ($value) = @_;
	my $reason = "The command must contain %D, or %d and %t; otherwise a backup would overwrite another.\n";
	my %has = placeholders_of(file_command($value, $reason, 'opP'));
	die "The command must contain %o, the name of the file in the previous backup.\n" if !$has{o};
	die "The command must contain %p or %P, which stand for the previous backup.\n" if !$has{p} && !$has{P};
	return $value;
}

# The commands that shells within a command are given as one word.
sub commands_of_shells
{
	my ($text) = @_;
	my @words = $text =~ /(?<![\w.-])(?:ba|da|k|z)?sh\s+(?:-\w+\s+)*-\w*c\s+('[^']*'|"(?:[^"\\]|\\.)*")/gs;
	return map { /^'(.*)'\z/s ? $1 : s/^"|"\z//gr =~ s/\\(["\\`\$])/$1/gr } @words;
}

# Does a shell see a pipeline?  Bars within $(...) only make words, and the bars of
# case separate patterns.
sub is_pipeline
{
	my ($text) = @_;
	return 1 if grep { is_pipeline($_) } commands_of_shells($text);
	$text =~ s/\\.|'[^']*'|"(?:[^"\\]|\\.)*"|`[^`]*`//gs;
	1 while $text =~ s/\$\([^()]*\)//;
	$text =~ s/(\bin|;;)\s*\(?\s*(?:[^\s();|]+\s*\|\s*)+[^\s();|]+\s*\)/$1/g if $text =~ /\bcase\s.*\sin\s.*\besac\b/;
	return $text =~ /(?<![|>])\|(?!\|)/;
}

sub dump_options
{
	my ($value) = @_;
	my @words = words($value);
	my @rest = @words;
	while (defined(my $word = shift @rest))
	{
		my ($name) = $word =~ /^--([a-z-]*)/;

		# letters may stand together, of which the last may have a value: the rest
		# of the word, or else the next one
		my ($letters, $last, $rest) = defined $name ? () : $word =~ /^-([^$LETTERS_WITH_VALUE]*)(.?)(.*)\z/s;
		die "The value must not contain $word; use the key lock_wait_timeout instead.\n"
		  if defined $name && length $name > 2 && index('lock-wait-timeout', $name) == 0;
		die "The value must not contain $word, which pg_pardump_backup sets itself.\n"
		  if defined $name && !$NOT_SHORTENED{$name} && grep { index($_, $name) == 0 } @OWN
		  or defined $letters && "$letters$last" =~ /[$LETTERS_OWN]/;
		shift @rest if defined $last && $last ne '' && $rest eq '';
	}
	return \@words;
}

# Replaces placeholders of a text by values.  Placeholders without a value stay.
sub fill_in
{
	my ($text, $values) = @_;
	return $text =~ s/%(.)/$values->{$1} \/\/ "%$1"/gser;
}

# The file names commands, so other users must not be able to write it.
sub open_config
{
	my ($file) = @_;
	my $is_last = "hint: The configuration file is the last argument.\n";
	my $reason = "detail: It names commands that this program runs.\n";
	sysopen(my $fh, $file, O_RDONLY | O_NONBLOCK)
	  or die "could not open configuration file \"$file\": $!\n" . ($!{ENOENT} ? $is_last : '');
	my ($mode, $owner) = (stat $fh)[ 2, 4 ];
	die "configuration file \"$file\" is not a regular file\n$is_last" if !S_ISREG($mode);
	my ($name, $user) = map { getpwuid($_) // $_ } $owner, $>;
	die "configuration file \"$file\" must be owned by root or the current user, but is owned by user \"$name\"\n${reason}hint: As root, run \"chown $user $file\".\n"
	  if $owner != 0 && $owner != $>;
	die "configuration file \"$file\" must not be writable by its group or others\n${reason}hint: Run \"chmod go-w $file\".\n"
	  if $mode & 022;
	return $fh;
}

# Does the command of "pipe" store backups outside of the directory?
sub stores_elsewhere
{
	my ($config) = @_;
	my %has = placeholders_of($config->{pipe} // '');
	return defined $config->{pipe} && !$has{D};
}

# Errors that more than one line cause, each with a key.
sub conflicts
{
	my ($config) = @_;
	my $is_elsewhere = stores_elsewhere($config);
	my @wrong;

	push @wrong, [ '', 'the required key "directory" is missing' ] if !defined $config->{directory};
	push @wrong, [ 'incremental', 'keys "incremental" and "pipe" require keys "fetch" and "copy"' ]
	  if $config->{incremental} && defined $config->{pipe} && (!defined $config->{fetch} || !defined $config->{copy});
	push @wrong, [ 'copy', 'key "copy" requires key "pipe"' ] if defined $config->{copy} && !defined $config->{pipe};
	push @wrong, [ 'exclude_database', 'keys "exclude_database" and "database" cannot be used together' ]
	  if $config->{exclude_database} && $config->{database};
	push @wrong, [ 'verify_command', 'key "verify_command" requires key "pipe"' ]
	  if $config->{verify_command} && !defined $config->{pipe};
	push @wrong, [ 'pipe', 'key "pipe" without %D requires key "remove"' ]
	  if $is_elsewhere && !$config->{remove};
	push @wrong, [ 'fetch', 'key "fetch" requires key "pipe"' ] if defined $config->{fetch} && !defined $config->{pipe};
	push @wrong, [ 'list', 'key "list" requires key "fetch"' ] if $config->{list} && !defined $config->{fetch};
	push @wrong, [ 'list', "key \"list\" cannot be used if \"pipe\" contains %D\ndetail: All backups are in the directory." ]
	  if $config->{list} && defined $config->{fetch} && defined $config->{pipe} && !$is_elsewhere;
	foreach my $key ($is_elsewhere ? grep { defined $config->{$_} } qw(remove fetch copy) : ())
	{
		my $text = ref $config->{$key} ? join(' ', @{ $config->{$key} }) : $config->{$key};
		my %has = placeholders_of($text);
		next if $text eq '';
		push @wrong, [ $key, "key \"$key\" must contain %d and %t, as \"pipe\" does" ] if !$has{d} || !$has{t};
		push @wrong, [ $key, "key \"$key\" must not contain %D, because \"pipe\" does not" ] if $key ne 'remove' && $has{D} && $has{d} && $has{t};
		push @wrong, [ $key, "key \"$key\" must contain %p, and not %P, because \"pipe\" does not contain %D" ] if $key eq 'copy' && (!$has{p} || $has{P});
	}
	return @wrong;
}

# Returns the values by key, "file" for the file, "name" for its name without directory
# and suffix, "table_lock_timeout" for LOCK TABLE in dumps, "elsewhere" if "pipe" stores
# backups outside of the directory, "store" if "fetch" returns these, and a list of what is
# wrong.
sub read_config
{
	my ($file) = @_;
	my (%config, %line, @wrong);
	my $fh = eval { open_config($file) };

	return ({}, $@) if !$fh;
	while (my $text = <$fh>)
	{
		next if $text =~ /^\s*(#|$)/;
		my ($key, $value) = $text =~ /^\s*(\w+)\s*=\s*(.*?)\s*\z/s;
		my $what =
		    !defined $key ? 'line does not have the form "key = value"'
		  : !$KEYS{$key} ? "unrecognized key \"$key\""
		  : $value eq '' ? "key \"$key\" has no value"
		  : $value =~ /\0/ ? "the value of key \"$key\" contains a zero byte"
		  : $line{$key} && !$LISTS{$key} ? "key \"$key\" is already set in line $line{$key}"
		  : undef;

		if (!defined $what)
		{
			$line{$key} = $.;
			my $result = eval { $KEYS{$key}->($value) };
			$what = "invalid value for key \"$key\"\ndetail: $@" if !defined $result;
			$LISTS{$key} ? push(@{ $config{$key} }, $result) : ($config{$key} = $result);
		}
		push @wrong, "$file:$.: $what" if defined $what;
	}
	push @wrong, "could not read file \"$file\": $!" if $fh->error;
	if (!@wrong)
	{
		push @wrong, map { $_->[0] eq '' ? "$file: $_->[1]" : "$file:$line{$_->[0]}: $_->[1]" }
		  conflicts(\%config);
	}
	($config{name}) = $file =~ m{([^/]+?)(?:\.conf)?\z};
	$config{elsewhere} = stores_elsewhere(\%config);
	$config{store} = $config{elsewhere} && defined $config{fetch};

	# A statement that waits for the locks of the snapshot keeps the dump waiting, and all
	# statements on the table after it.  It never gets its lock while the dump waits.
	my $timeout = $config{lock_wait_timeout} // ($config{cluster_snapshot} ? '5s' : $DEFAULTS{lock_wait_timeout});
	return ({ %DEFAULTS, %config, file => $file, jobs_given => defined $config{jobs}, table_lock_timeout => $timeout }, @wrong);
}

1;
