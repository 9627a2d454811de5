/*
 * help.c
 *		The text of --help, in the groups and the order of pg_dump's.
 */
#include "base/fe_compat.h"

#include "getopt_long.h"

#include "options/help.h"

static const char general_options[] =
"\nGeneral options:\n"
"  -f, --file=DIRECTORY         output directory name, must be missing or empty\n"
"  -F, --format=d               output file format (directory, the only one)\n"
"  -j, --jobs=NUM               use this many parallel jobs to dump\n"
"  -P, --progress               show progress and a summary (default: if standard\n"
"                               error is a terminal)\n"
"  -r, --max-rate=RATE          read at most so much in a second, by all workers\n"
"                               (in kB/s, or use suffix \"k\" or \"M\")\n"
"  -v, --verbose                verbose mode\n"
"  -V, --version                output version information, then exit\n"
"  -Z, --compress=[{client|server}-]METHOD[:DETAIL]\n"
"                               compress as specified (none, gzip, lz4, zstd;\n"
"                               default: zstd:1 if pg_dump is 16 or newer, else\n"
"                               gzip:1, as older pg_restore reads no other)\n"
"  --allow-rewritten            dump tables that were rewritten after the snapshot was\n"
"                               taken, though rows may be lost to it\n"
"  --check                      look for what would make the run fail, and end\n"
"  --clean-output               remove what an earlier run left in the directory\n"
"  --compare-with=CONNINFO|DIRECTORY\n"
"                               compare the database with another one or with an\n"
"                               archive, dump nothing\n"
"  --dry-run                    show how each table would be dumped, write nothing\n"
"  --expected-rate=SIZE         with --dry-run, tell the time at SIZE bytes a second\n"
"  --incremental=DIRECTORY      use files of the archive there again whose rows have\n"
"                               not changed; the new one is complete all the same\n"
"  --incremental-by=fingerprints|wal-summaries\n"
"                               what tells that rows have not changed (default:\n"
"                               fingerprints; summaries need 17 or newer, and\n"
"                               save reading)\n"
"  --incremental-copy-method=link|clone|copy\n"
"                               how such files come into the new one (default: link)\n"
"  --lock-wait-timeout=TIMEOUT  fail after waiting TIMEOUT for a table lock\n"
"  --log-json=FILE              append events as lines of JSON to FILE (-: standard\n"
"                               output)\n"
"  --manifest-checksums=ALGORITHM\n"
"                               use algorithm for the manifest's checksums\n"
"  --manifest-fingerprints      record what a later --incremental needs\n"
"  --metrics=FILE               replace FILE by numbers about the run, in the text\n"
"                               format of Prometheus\n"
"  --metrics-label=NAME=VALUE   give all of them this label, too\n"
"  --no-progress                show no progress, also on a terminal\n"
"  --no-sync                    do not wait for changes to be written safely to disk\n"
"  --pipe=COMMAND               write each file to the standard input of COMMAND, in\n"
"                               which %f is its name, instead of a directory\n"
"  --report=FILE                write a page (HTML) that shows how it went\n"
"  --retries=NUM                begin anew so often what a lost connection\n"
"                               interrupted (default: 5)\n"
"  --stall-timeout=SECONDS      replace a worker after so long a silence of a server\n"
"                               that is not at work (default: 60)\n"
"  --sync-method=METHOD         set method for syncing files to disk\n"
"  --verify=DIRECTORY           verify an archive, dump nothing\n"
"  -?, --help                   show this help, then exit\n";

static const char chunk_options[] =
"\nOptions controlling how tables are split:\n"
"  --chunk-size=SIZE            split tables in chunks of about SIZE bytes to dump\n"
"                               (default: total / (16 x jobs), 32MB to 1GB,\n"
"                               with --target 8MB to 1GB)\n"
"  --max-table-segment-pages=NUM\n"
"                               split tables in chunks of NUM heap pages\n"
"  --no-chunks                  dump every table whole\n"
"  --no-extension               read by SQL even if the server has the extension\n"
"  --pg-dump=PATH               use this pg_dump to read the schema (default: the\n"
"                               one beside pg_pardump, then the first in PATH)\n"
"  --trust-owners               query tables of other roles, too, which may run their\n"
"                               functions\n"
"  --with-pardump-extension     keep the extension pg_pardump in the archive\n";

static const char task_options[] =
"\nOptions for a dump by many hosts:\n"
"  --tasks=NUM                  split the dump into NUM tasks to be run on other hosts\n"
"  --run-tasks=COMMAND          what runs them, e.g. by a scheduler: %p is the plan, %n\n"
"                               how many, %l or %L which (with commas or blanks)\n"
"  --plan=FILE                  the plan, in a directory that all hosts see (default:\n"
"                               in the archive's)\n"
"  --task=I/NUM                 on any host: do task I, from 0, of that plan\n";

static const char slot_options[] =
"\nOptions for logical replication:\n"
"  --create-slot                create a logical replication slot, and dump in the\n"
"                               snapshot with which its changes begin\n"
"  --slot=NAME                  name of that slot\n"
"  --slot-plugin=PLUGIN         its output plugin (default: pgoutput)\n"
"  --create-subscription=NAME   with --target: create a subscription there that goes\n"
"                               on where the copy ends\n"
"  --publication=NAME[,...]     publications it subscribes to\n"
"  --subscription-conninfo=CONNINFO\n"
"                               how the target's server connects to the source\n";

static const char standby_options[] =
"\nOptions for hot standbys:\n"
"  --also-from=CONNINFO         read from this one, too, the same snapshot; may be\n"
"                               given again\n"
"  --allow-affected-standby     read a standby whose snapshots may be incomplete and\n"
"                               cannot be checked: rows may be wrong\n"
"  --pause-synchronous          pause the replay, for a moment, of standbys that\n"
"                               commits on the primary wait for, too\n"
"  --standby-snapshot-timeout=SECONDS\n"
"                               retry for SECONDS while a standby exports incomplete\n"
"                               snapshots (default: 30)\n";

static const char cluster_options[] =
"\nOptions for all databases of a cluster:\n"
"  --all-databases              dump each database, and what they share, into the\n"
"                               directory, or copy them into the cluster of --target\n"
"  --exclude-database=PATTERN   leave out databases whose name matches PATTERN\n"
"  -g, --globals-only           only roles, memberships, settings and tablespaces\n"
"  --no-role-passwords          do not dump passwords for roles\n"
"  --roles-only                 only roles, no databases or tablespaces\n"
"  --tablespaces-only           only tablespaces, no databases or roles\n";

static const char copy_options[] =
"\nOptions for a direct copy, without an archive:\n"
"  --target=CONNINFO            copy into this database instead of into a directory\n"
"  --compare                    compare source and target in the end\n"
"  --copy-format=FORMAT         how rows cross: auto (of each table by what costs the\n"
"                               least, the default), raw, binary, or text\n"
"  --index-jobs=NUM             build so many indexes at a time (default: as jobs)\n"
"  --no-analyze                 do not run ANALYZE in the end\n"
"  --roles                      create the roles that the database needs, if they are\n"
"                               not there\n"
"  --toast-compression=METHOD   how the target compresses long values of columns that\n"
"                               have no method of their own: lz4, pglz, or default\n"
"  --wire-compression={auto|none|lz4|zstd}[:DETAIL]\n"
"                               compress raw tuples on their way (default: auto, lz4\n"
"                               unless both servers are here)\n";

static const char content_options[] =
"\nOptions controlling the output content, which are pg_dump's (in parentheses the\n"
"first that has the option):\n"
"  -a, --data-only              dump only the data, not the schema or statistics\n"
"  -b, --large-objects          include large objects in dump\n"
"  --blobs                      (same as --large-objects, deprecated)\n"
"  -B, --no-large-objects       exclude large objects in dump\n"
"  --no-blobs                   (same as --no-large-objects, deprecated)\n"
"  -c, --clean                  clean (drop) database objects before recreating\n"
"  -C, --create                 include commands to create database in dump\n"
"  -e, --extension=PATTERN      dump the specified extension(s) only\n"
"  -E, --encoding=ENCODING      dump the data in encoding ENCODING\n"
"  -n, --schema=PATTERN         dump the specified schema(s) only\n"
"  -N, --exclude-schema=PATTERN do NOT dump the specified schema(s)\n"
"  -O, --no-owner               skip restoration of object ownership in\n"
"                               plain-text format\n"
"  -s, --schema-only            dump only the schema, no data or statistics\n"
"  -S, --superuser=NAME         superuser user name to use in plain-text format\n"
"  -t, --table=PATTERN          dump only the specified table(s)\n"
"  -T, --exclude-table=PATTERN  do NOT dump the specified table(s)\n"
"  -x, --no-privileges          do not dump privileges (grant/revoke)\n"
"  --disable-dollar-quoting     disable dollar quoting, use SQL standard quoting\n"
"  --disable-triggers           disable triggers during data-only restore\n"
"  --enable-row-security        enable row security (dump only content user has\n"
"                               access to)\n"
"  --exclude-extension=PATTERN  do NOT dump the specified extension(s)\n"
"                               (pg_dump 17)\n"
"  --exclude-table-and-children=PATTERN\n"
"                               do NOT dump the specified table(s), including\n"
"                               child and partition tables (pg_dump 16)\n"
"  --exclude-table-data=PATTERN do NOT dump data for the specified table(s)\n"
"  --exclude-table-data-and-children=PATTERN\n"
"                               do NOT dump data for the specified table(s),\n"
"                               including child and partition tables (pg_dump 16)\n"
"  --extra-float-digits=NUM     override default setting for extra_float_digits\n"
"  --filter=FILENAME            include or exclude objects and data from dump\n"
"                               based on expressions in FILENAME (pg_dump 17)\n"
"  --if-exists                  use IF EXISTS when dropping objects\n"
"  --include-foreign-data=PATTERN\n"
"                               include data of foreign tables on foreign\n"
"                               servers matching PATTERN\n"
"  --load-via-partition-root    load partitions via the root table\n"
"  --no-comments                do not dump comment commands\n"
"  --no-data                    do not dump data (pg_dump 18)\n"
"  --no-policies                do not dump row security policies (pg_dump 18)\n"
"  --no-publications            do not dump publications\n"
"  --no-schema                  do not dump schema (pg_dump 18)\n"
"  --no-security-labels         do not dump security label assignments\n"
"  --no-statistics              do not dump statistics (pg_dump 18)\n"
"  --no-subscriptions           do not dump subscriptions\n"
"  --no-table-access-method     do not dump table access methods\n"
"  --no-tablespaces             do not dump tablespace assignments\n"
"  --no-toast-compression       do not dump TOAST compression methods\n"
"  --no-unlogged-table-data     do not dump unlogged table data\n"
"  --quote-all-identifiers      quote all identifiers, even if not key words\n"
"  --section=SECTION            dump named section (pre-data, data, or post-data)\n"
"  --sequence-data              include sequence data in dump (pg_dump 18)\n"
"  --serializable-deferrable    wait until the dump can run without anomalies\n"
"  --snapshot=SNAPSHOT          use given snapshot for the dump\n"
"  --statistics                 dump the statistics (pg_dump 18)\n"
"  --statistics-only            dump only the statistics, not schema or data\n"
"                               (pg_dump 18)\n"
"  --strict-names               require table and/or schema include patterns to\n"
"                               match at least one entity each\n"
"  --table-and-children=PATTERN dump only the specified table(s), including\n"
"                               child and partition tables (pg_dump 16)\n"
"  --use-set-session-authorization\n"
"                               use SET SESSION AUTHORIZATION commands instead of\n"
"                               ALTER OWNER commands to set ownership\n";

static const char row_options[] =
"\nOptions controlling which rows are dumped, and what of them:\n"
"  --mask=PATTERN.COLUMN:EXPRESSION\n"
"                               dump EXPRESSION in place of the values of the\n"
"                               specified column(s)\n"
"  --mask-file=FILENAME         the same for each line of FILENAME\n"
"  --sample=PATTERN:PERCENT     dump PERCENT of the rows of the specified table(s)\n"
"  --where=PATTERN:CONDITION    dump only rows of the specified table(s) that meet\n"
"                               CONDITION\n";

static const char connection_options[] =
"\nConnection options:\n"
"  -d, --dbname=DBNAME      database to dump\n"
"  -h, --host=HOSTNAME      database server host or socket directory\n"
"  -p, --port=PORT          database server port number\n"
"  -U, --username=NAME      connect as specified database user\n"
"  -w, --no-password        never prompt for password\n"
"  -W, --password           force password prompt (should happen automatically)\n"
"  --password-command=COMMAND\n"
"                           run COMMAND for the password of each new connection\n"
"  --target-password-command=COMMAND\n"
"                           the same for --target or --compare-with\n"
"  --role=ROLENAME          do SET ROLE before dump\n"
"\n"
"If no database name is supplied, then the PGDATABASE environment\n"
"variable value is used.\n";

void
help_print(const char *progname)
{
	printf("%s dumps a PostgreSQL database in parallel, within every table, as a directory\n"
		   "archive for pg_restore.\n\n", progname);
	printf("Usage:\n");
	printf("  %s [OPTION]... [DBNAME]\n", progname);
	printf("  %s --all-databases [OPTION]...\n", progname);
	fputs(general_options, stdout);
	fputs(chunk_options, stdout);
	fputs(task_options, stdout);
	fputs(standby_options, stdout);
	fputs(slot_options, stdout);
	fputs(copy_options, stdout);
	fputs(cluster_options, stdout);
	fputs(content_options, stdout);
	fputs(row_options, stdout);
	fputs(connection_options, stdout);
	printf("\nReport bugs to the %s developers, with the output of --version;\n"
		   "it is not part of PostgreSQL.\n", progname);
}

void
help_if_asked(int argc, char **argv, const char *name,
			  void (*help) (const char *progname))
{
	if (argc < 2)
		return;
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
	{
		help(get_progname(argv[0]));
		exit(0);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
	{
		printf("%s " PARDUMP_VERSION " (PostgreSQL " PG_VERSION ")\n", name);
		exit(0);
	}
}

void
help_try(const char *progname)
{
	pg_log_error_hint("Try \"%s --help\" for more information.", progname);
	exit(1);
}

void
help_refuse_more(int argc, char **argv)
{
	if (optind >= argc)
		return;
	pg_log_error("too many command-line arguments (first is \"%s\")",
				 argv[optind]);
	help_try(get_progname(argv[0]));
}
