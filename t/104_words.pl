# What a user is told beside errors: what would make a run faster, what workers
# did, and the words of programs that this one runs.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/lib";

use Pardump::Cluster qw(pg_major start_cluster make_database run_program new_path sql
  dump_ok);
use Pardump::Command qw(fake_pg_dump);
use Pardump::Proxy qw(start_relay stop_proxy);
use Pardump::Toc qw(read_toc write_toc);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('words');
make_database($node, 'words');
# without WAL, and a row a page
sql($node, 'words', <<'SQL');
CREATE UNLOGGED TABLE large (id int, t text);
ALTER TABLE large ALTER t SET STORAGE PLAIN;
INSERT INTO large SELECT g, repeat('x', 7000) FROM generate_series(1, 10000) g;
CREATE TABLE small AS SELECT g AS id FROM generate_series(1, 5000) g;
SQL
sql($node, 'words', 'VACUUM FULL small');    # from 16 on tables grow by several pages
my @db = ('-d', $node->connstr('words'));

# Dumps; returns what is said on standard error.
sub said
{
	my ($what, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', @db, '--no-sync', '-Z0', '-f',
		new_path('dump'), @options);
	is("$rc$out", '0', "$what: exit code") or diag($err);
	return $err;
}

# ---- what costs time that it need not take

my $jobs = qr/pg_pardump: hint: Using 1 worker for about \d\d\.\d MB; use -j NUM to run more\./;
my $by_sql = qr/pg_pardump: hint: About \d\d\.\d MB are read with COPY, which is slower than the extension \(the database has no extension pg_pardump\)\.  To install it, run CREATE EXTENSION pg_pardump; in the database\./;

# These hints, and no others, each once.
sub hints_are
{
	my ($what, $err, $want) = @_;
	is(scalar(() = $err =~ /hint: /g), scalar(@$want), "$what: number of hints") or diag($err);
	like($err, qr/^$_$/m, "$what: hint") foreach @$want;
	return;
}
my $err = said('nothing chosen', '-P');
like($err, qr/\A$jobs\n$by_sql\n.*%/, 'nothing chosen: message before the progress');
hints_are('nothing chosen', $err, [ $jobs, $by_sql ]);
hints_are('nothing chosen, -v', said('nothing chosen, -v', '-v'), [ $jobs, $by_sql ]);
dump_ok($node, 'words', 'nothing chosen, and no progress', 'pg_pardump');
hints_are("@$_", said("@$_", '-P', @$_), [])
  foreach [ '-j1', '--no-extension' ], [ '-t', 'small' ], [ '-j2', '-t', 'small', '--chunk-size=8kB' ];
hints_are('-j2', said('-j2', '-P', '-j2'), [$by_sql]);

sql($node, 'postgres', 'CREATE DATABASE copied');
my ($rc, $out, $copied) = run_program('pg_pardump', @db, '--target=' . $node->connstr('copied'));
is($rc, 0, 'copy: exit code');
hints_are('copy', $copied, [ $jobs, $by_sql ]);
unlike($out, qr/hint|worker/, 'copy: not in the summary');

# --check prints the same hints in its list, and does not count them
sub checked
{
	my ($what, $want, @options) = @_;
	my ($rc, $out, $err) = run_program('pg_pardump', '--check', @db, @options);
	is("$rc$err", '0', "$what, --check: exit code");
	my $list = join '', map { s/pg_pardump: //r . '\n' } @$want;
	like($out, qr/\n(?:  [a-z].*\n)+${list}no problems found(?: in 3 databases)?\n\z/, "$what, --check: hints");
	return;
}
checked('nothing chosen', [ $jobs, $by_sql ]);
checked('-j2', [$by_sql], '-j2');
checked('nothing to say', [], '-j1', '--no-extension');

# all databases: of all together
my $all_by_sql = qr/pg_pardump: hint: About \d\d\.\d MB \(databases: words\) are read with COPY, which is slower than the extension\.  To install it, run CREATE EXTENSION pg_pardump; in each of these databases\./;
my @all = ('--all-databases', '--exclude-database=copied');
$err = said('all databases', '-P', @all);
like($err, qr/^$jobs\n(?:.*\n)*\[1\/3\] words: (?:.*\n)*$all_by_sql\ndumped: roles, /m, 'all databases: hints before the rows and before the summary');
hints_are('all databases', $err, [ $jobs, $all_by_sql ]);
checked('all databases', [ $jobs, $all_by_sql ], @all);
checked('all databases, nothing to say', [], '-j1', '--no-extension', @all);
hints_are('all databases, -v', said('all databases, -v', '-v', @all), [ $jobs, $all_by_sql ]);
is(said('all databases, and no progress', @all), '', 'all databases, and no progress: no hint');
hints_are('all databases, nothing to say', said('all databases, nothing to say', '-P', '-j1', '--no-extension', @all), []);
my $other = start_cluster('words_copy');
($rc, $out, $copied) = run_program('pg_pardump', @db, @all, '--target=' . $other->connstr('postgres'));
is($rc, 0, 'copy of all databases: exit code');
hints_are('copy of all databases', $copied, [ $jobs, $all_by_sql ]);
$other->stop;

sql($node, 'words', 'CREATE ROLE app; ALTER TABLE large OWNER TO app');
hints_are('all databases, a table of another role', said('all databases, a table of another role', '-j2', '-P', '--chunk-size=8MB', @all),
	[ qr/pg_pardump: hint: Tables of other roles, about \d\d\.\d MB \(databases: words\), are not split: querying them could run code of these roles with your privileges\.  Use the extension, or --trust-owners if you trust these roles\./, $all_by_sql ]);
hints_are('a table of another role', said('a table of another role', '-j2', '-P', '--chunk-size=8MB'),
	[ qr/pg_pardump: hint: Tables of other roles, about \d\d\.\d MB, are not split: querying them could run code of role "app" with your privileges\.  Use the extension, or --trust-owners if you trust these roles\./, $by_sql ]);
checked('a table of another role', [ qr/hint: Tables of other roles, about \d\d\.\d MB, are not split: .* role "app" .*/, $by_sql ], '-j2', '--chunk-size=8MB');
hints_are('--trust-owners', said('--trust-owners', '-j2', '-P', '--trust-owners'), [$by_sql]);
sql($node, 'words', 'ALTER TABLE large OWNER TO CURRENT_USER');

sql($node, 'words', 'CREATE EXTENSION pg_pardump');
hints_are('with the extension', said('with the extension', '-P'), [$jobs]);
sql($node, 'words', "UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'pg_pardump'");
hints_are('an old extension', said('an old extension', '-j2', '-P'),
	[qr/pg_pardump: hint: About \d\d\.\d MB are read with COPY, which is slower than the extension \(.*0\.9.*\)\.  To update it, run ALTER EXTENSION pg_pardump UPDATE; in the database\./]);
hints_are('all databases, an old extension', said('all databases, an old extension', '-j2', '-P', @all),
	[qr/pg_pardump: hint: About \d\d\.\d MB \(databases: words\) are read with COPY, because the extension that is installed there cannot be used\.  To print the reason, use -v\./]);
sql($node, 'words', "UPDATE pg_extension SET extversion = '1.0' WHERE extname = 'pg_pardump'");

# ---- completions: what the server names

{
	my $completions = abs_path("$FindBin::RealBin/../completions");
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'words');
	sql($node, 'words', 'CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.small_too AS SELECT 1 AS a');
	foreach my $try ([ '-t', 'sm', 'small' ], [ '--where', 'sm', 'small' ], [ '-t', 'public.sm', 'public.small' ],
		[ '-T', 'elsewhere.', 'elsewhere.small_too' ], [ '-t', 'else', 'elsewhere.small_too' ],
		[ '-j', '', '' ], [ '--chunk-size', '', '' ], [ '-r', '', '' ], [ '-d', 'wor', 'words' ], [ '-v', 'wor', 'words' ])
	{
		my ($prev, $word, $want) = @$try;
		my (undef, $words) = run_program('bash', '-c', <<'BASH', 'bash', "$completions/pg_pardump.bash", $prev, $word);
prev=$2 cur=$3
_init_completion() { split=false; }
compopt() { :; }
. "$1" && eval "$(declare -f _pg_pardump | sed 's/local cur prev/local/')" && _pg_pardump pg_pardump
printf '%s\n' "${COMPREPLY[@]}"
BASH
		is($words, "$want\n", "bash: $prev $word");
	}
  SKIP:
	{
		skip 'zsh is not installed', 3 if system('zsh -c true 2>/dev/null') != 0;
		foreach my $try ([ 'sm', qr/^small$/m, qr/public/ ], [ 'public.sm', qr/^public\.small$/m, qr/^small/m ],
			[ 'x', qr/^elsewhere\.small_too$/m, qr/^elsewhere\.small$/m ])
		{
			my (undef, $words) = run_program('zsh', '-f', '-c', <<'ZSH', 'zsh', $completions, $try->[0]);
_call_program() { :; }
_arguments() { :; }
words=(pg_pardump) fpath=($1) PREFIX=$2
autoload -Uz _pg_pardump && _pg_pardump
compadd() { print -rl -- $names }
_pg_pardump_names tables
ZSH
			ok($words =~ $try->[1] && $words !~ $try->[2], "zsh: $try->[0]") or diag($words);
		}
	}
}

# ---- words of other programs

foreach my $try (
	[ "echo '/some/where/pg_dump: unrecognized option' >&2", "pg_dump: unrecognized option\n" ],
	[ "printf 'sh: no such thing\n\n' >&2", "pg_dump: sh: no such thing\n" ],
	[ "printf 'pg_dump: error: one\nmore\n\nof it\n\n\npg_dump: hint: two\n\n' >&2",
		"pg_dump: error: one\n\tmore\n\t\n\tof it\npg_dump: hint: two\n" ],
	[ "printf '\n\npg_dump: error: late\n/etc/x\n' >&2", "pg_dump: error: late\n\t/etc/x\n" ])
{
	my ($body, $want) = @$try;
	my (undef, undef, $err) = run_program('pg_pardump', @db, '-f', new_path('failed'), '--pg-dump',
		fake_pg_dump('fake_pg_dump', "$body\nexit 1"));
	is($err, "${want}pg_pardump: error: pg_dump failed with exit code 1\n", "pg_dump: $body");
}
# pg_restore ends the text of an error with an empty line
sql($node, 'words', 'CREATE SCHEMA there');
sql($node, 'postgres', 'CREATE DATABASE taken');
sql($node, 'taken', q{CREATE SCHEMA there; CREATE FUNCTION guard() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'guarded'; END$$;
	CREATE EVENT TRIGGER guard ON ddl_command_start WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION guard()});
($rc, undef, $err) = run_program('pg_pardump', @db, '-n', 'there', '--clean', '--target=' . $node->connstr('taken'));
is($rc, 1, 'pg_restore fails: exit code');
like($err, qr/^pg_restore: error: .*guarded\n(?:\t.*\n)+\tCommand was: DROP SCHEMA IF EXISTS there;\n(?=pg_)/m, 'pg_restore fails: its messages');

# ---- a server or an archive of a later major

{
	my $major = pg_major($node);
	my $later = $major + 1;
	my $relay = start_relay($node, sub {
		my ($bytes, $is_servers) = @_;
		$$bytes =~ s/(server_version\0)$major/$1$later/ if $is_servers;
		return 1;
	});
	my $newer = "host=$relay->{host} port=$relay->{port} dbname=words sslmode=disable gssencmode=disable";
	# where the path of the program has its major
	my $bin = new_path('usr');
	my ($installed) = (run_program('sh', '-c', 'command -v pg_pardump'))[1] =~ /(.+)/;
	make_path("$bin/$_/bin") foreach $major, $later;
	copy($installed, "$bin/$major/bin/pg_pardump") or die "could not copy $installed: $!";
	chmod 0755, "$bin/$major/bin/pg_pardump";
	my $error = "pg_pardump: error: the server is PostgreSQL $later, but pg_dump $major cannot dump a newer server\n";

	foreach my $options ([ '-f', new_path('newer') ], ['--check'], [ '--target', $node->connstr('copied') ],
		[ '--all-databases', '-f', new_path('newer_all') ])
	{
		my ($rc, $out, $err) = run_program("$bin/$major/bin/pg_pardump", '-d', $newer, @$options);
		is($rc, 1, "newer server, $options->[0]: exit code");
		is($err . ($out =~ s/^error: /pg_pardump: error: /mr =~ s/^  hint: /pg_pardump: hint: /mr =~ s/^1 problem \(errors: 1, .*\n//mr),
			"${error}pg_pardump: hint: Use pg_pardump of PostgreSQL $later.\n", "newer server, $options->[0]: hint");
	}
	append_to_file("$bin/$later/bin/pg_pardump", "#!/bin/sh\n");
	chmod 0755, "$bin/$later/bin/pg_pardump";
	my (undef, undef, $err) = run_program("$bin/$major/bin/pg_pardump", '-d', $newer, '-f', new_path('newer'));
	is($err, "${error}pg_pardump: hint: Use pg_pardump of PostgreSQL $later: $bin/$later/bin/pg_pardump.\n",
		'newer server: the program to use');
	stop_proxy($relay);

	my $archive = dump_ok($node, 'words', 'an archive', 'pg_pardump', '-t', 'small');
	my $old = new_path('old_pg_restore');
	append_to_file($old, "#!/bin/sh\necho 'pg_restore: error: unsupported version (1.99) in file header' >&2\nexit 1\n");
	chmod 0755, $old;
	my $restore = sub { (run_program('pg_parrestore', '-d', $node->connstr('copied'), '--pg-restore', $old, $archive))[2] };
	my $error_of_restore = "pg_restore: error: unsupported version (1.99) in file header\n";
	is($restore->(), $error_of_restore, 'an archive of the same major: no hint');
	my $toc = read_toc($archive);
	$toc->{dump_version} =~ s/^\d+/$later/;
	write_toc($toc, $archive);
	is($restore->(), $error_of_restore
		  . "pg_parrestore: hint: The archive was written by pg_dump $later.  Use pg_parrestore of PostgreSQL $later, or \"pg_restore -f -\" of PostgreSQL $later with psql.\n",
		'an archive of a later major: hint');
}

# ---- a target that is not there

foreach my $try ([ 'nodb', 1 ], [ 'shut', 0 ])
{
	my ($name, $hint) = @$try;
	sql($node, 'postgres', 'CREATE DATABASE shut ALLOW_CONNECTIONS false') if $name eq 'shut';
	my ($rc, undef, $err) = run_program('pg_pardump', @db, '-s', "--target=@{[ $node->connstr($name) ]}");
	is($rc, 1, "target $name: exit code");
	like($err, qr/^pg_pardump: error: .*database "$name"/m, "target $name: error");
	is($err =~ /^pg_pardump: hint: .*createdb; or use --create/m ? 1 : 0, $hint, "target $name: hint");
}

# ---- more words about chunks

foreach my $level ('-v', '-vv')
{
	my $err = said($level, '-t', 'small', '--max-table-segment-pages=10', $level);
	my @ends = $err =~ /^pg_pardump: chunk \d of \d of table public\.small: ([\d,]+) rows?, \S+ \S+ stored as \S+ \S+, \d+\.\d+ s$/mg;
	is(eval(join('+', 0, @ends) =~ tr/,//dr), $level eq '-v' ? 0 : 5000, "$level: rows of chunks");
	is(scalar(@ends), $level eq '-v' ? 0 : 3, "$level: chunks");
}
$node->stop;
done_testing();
