/*
 * help.c
 *		Texts of --help.
 */
#include "base/fe_compat.h"

#include "options/help.h"

/* ----------
 * The text of pg_parrestore --help, in the groups and the order of
 * pg_restore's.
 * ----------
 */

static const char general_options[] =
"\nGeneral options:\n"
"  -d, --dbname=NAME            connect to database name\n"
"  -f, --file=FILENAME          output file name (- for stdout)\n"
"  -F, --format=c|d|t           backup file format (should be automatic)\n"
"  -l, --list                   print summarized TOC of the archive\n"
"  -v, --verbose                verbose mode\n"
"  -V, --version                output version information, then exit\n"
"  --check                      look for what would make the run fail, and end\n"
"  --log-json=FILE              append events as lines of JSON to FILE (-: standard\n"
"                               output)\n"
"  --metrics=FILE               replace FILE by numbers about the run, in the text\n"
"                               format of Prometheus\n"
"  --metrics-label=NAME=VALUE   give all of them this label, too\n"
"  --no-progress                show no progress, also on a terminal\n"
"  --pg-restore=PATH            use this pg_restore to make definitions (default: the\n"
"                               one beside pg_parrestore, then the first in PATH)\n"
"  --progress                   show progress and a summary (default: if standard\n"
"                               error is a terminal)\n"
"  --report=FILE                write a page (HTML) that shows how it went\n"
"  --retries=NUM                retry up to NUM times what a lost connection\n"
"                               interrupted (default: 5)\n"
"  -?, --help                   show this help, then exit\n";

static const char restore_options[] =
"\nOptions controlling the restore, which are pg_restore's (in parentheses the\n"
"first that has the option):\n"
"  -a, --data-only              restore only the data, no schema\n"
"  -c, --clean                  clean (drop) database objects before recreating\n"
"  -C, --create                 create the target database\n"
"  -e, --exit-on-error          exit on error, default is to continue\n"
"  -I, --index=NAME             restore named index\n"
"  -j, --jobs=NUM               use this many parallel jobs to restore\n"
"  -L, --use-list=FILENAME      use table of contents from this file for\n"
"                               selecting/ordering output\n"
"  -n, --schema=NAME            restore only objects in this schema\n"
"  -N, --exclude-schema=NAME    do not restore objects in this schema\n"
"  -O, --no-owner               skip restoration of object ownership\n"
"  -P, --function=NAME(args)    restore named function\n"
"  -s, --schema-only            restore only the schema, no data\n"
"  -S, --superuser=NAME         superuser user name to use for disabling triggers\n"
"  -t, --table=NAME             restore named relation (table, view, etc.)\n"
"  -T, --trigger=NAME           restore named trigger\n"
"  -x, --no-privileges          skip restoration of access privileges (grant/revoke)\n"
"  -1, --single-transaction     restore as a single transaction, by stock pg_restore\n"
"  --disable-triggers           disable triggers during data-only restore\n"
"  --enable-row-security        enable row security\n"
"  --filter=FILENAME            restore or skip objects based on expressions\n"
"                               in FILENAME (pg_restore 17)\n"
"  --if-exists                  use IF EXISTS when dropping objects\n"
"  --no-comments                do not restore comment commands\n"
"  --no-data                    do not restore data (pg_restore 18)\n"
"  --no-data-for-failed-tables  do not restore data of tables that could not be\n"
"                               created\n"
"  --no-policies                do not restore row security policies (pg_restore 18)\n"
"  --no-publications            do not restore publications\n"
"  --no-schema                  do not restore schema (pg_restore 18)\n"
"  --no-security-labels         do not restore security labels\n"
"  --no-statistics              do not restore statistics (pg_restore 18)\n"
"  --no-subscriptions           do not restore subscriptions\n"
"  --no-table-access-method     do not restore table access methods\n"
"  --no-tablespaces             do not restore tablespace assignments\n"
"  --restrict-key=RESTRICT_KEY  use provided string as psql \\restrict key\n"
"  --section=SECTION            restore named section (pre-data, data, or post-data)\n"
"  --statistics                 restore the statistics (pg_restore 18)\n"
"  --statistics-only            restore only the statistics, not schema or data\n"
"                               (pg_restore 18)\n"
"  --strict-names               require table and/or schema include patterns to\n"
"                               match at least one entity each\n"
"  --transaction-size=N         commit after every N objects (pg_restore 17)\n"
"  --use-set-session-authorization\n"
"                               use SET SESSION AUTHORIZATION commands instead of\n"
"                               ALTER OWNER commands to set ownership\n";

static const char own_options[] =
"\nOptions that pg_restore does not have:\n"
"  --allow-affected-standby     with --compare-with: read a standby whose snapshots\n"
"                               may be incomplete and cannot be checked\n"
"  --allow-existing             restore also if tables to be restored exist and\n"
"                               contain rows\n"
"  --all-databases              restore what pg_pardump --all-databases has dumped\n"
"  --chunk-size=SIZE            load tables that are whole in the archive in pieces\n"
"                               of about SIZE bytes (default: 16MB)\n"
"  --compare-with=CONNINFO      compare with the database that the archive is of,\n"
"                               after the restore\n"
"  --exclude-database=PATTERN   with --all-databases: leave out databases whose name\n"
"                               matches PATTERN\n"
"  --globals-only               with --all-databases: only roles, memberships,\n"
"                               settings and tablespaces\n"
"  --index-jobs=NUM             build NUM indexes at a time (default: as jobs)\n"
"  --no-analyze                 do not run ANALYZE after the rows\n"
"  --resume                     continue a restore that was interrupted\n"
"  --standby-snapshot-timeout=SECONDS\n"
"                               with --compare-with: retry for SECONDS while a standby\n"
"                               exports incomplete snapshots (default: 30)\n"
"  --toast-compression={default|lz4|pglz}\n"
"                               how the target compresses long values\n"
"  --trust-owners               with --compare-with: split tables of any role\n"
"  --verify                     verify the archive, a directory, first\n";

static const char connection_options[] =
"\nConnection options:\n"
"  -h, --host=HOSTNAME      database server host or socket directory\n"
"  -p, --port=PORT          database server port number\n"
"  -U, --username=NAME      connect as specified database user\n"
"  -w, --no-password        never prompt for password\n"
"  -W, --password           force password prompt (should happen automatically)\n"
"  --password-command=COMMAND\n"
"                           run COMMAND for the password of each new connection\n"
"  --role=ROLENAME          do SET ROLE before restore\n"
"\n"
"The options -I, -n, -N, -P, -t, -T, and --section can be combined and specified\n"
"multiple times to select multiple objects.\n"
"\n"
"If no input file name is supplied, then standard input is used.\n"
"\n"
"What it cannot do in parallel, stock pg_restore does: -l, -f, -1, -Ft, standard\n"
"input, and archives whose rows are INSERT commands.\n";

void
restore_help_print(const char *progname)
{
	printf("%s restores a PostgreSQL database from an archive of pg_pardump or pg_dump,\n"
		   "in parallel, within every table.\n\n", progname);
	printf("Usage:\n");
	printf("  %s [OPTION]... [FILE]\n", progname);
	printf("  %s --all-databases -d CONNINFO [OPTION]... DIRECTORY\n", progname);
	fputs(general_options, stdout);
	fputs(restore_options, stdout);
	fputs(own_options, stdout);
	fputs(connection_options, stdout);
	printf("\nReport bugs to the pg_pardump developers, with the output of --version;\n"
		   "it is not part of PostgreSQL.\n");
}

/* ----------
 * The text of pg_parbasebackup --help, in the groups and the order of
 * pg_basebackup's.
 * ----------
 */

static const char output_options[] =
"\nOptions controlling the output:\n"
"  -D, --pgdata=DIRECTORY       receive base backup into directory\n"
"  -F, --format=p|t             output format (plain (default), tar)\n"
"  --extract=BACKUP             extract a backup in tar format, which is in directory\n"
"                               BACKUP, instead of taking one\n"
"  -j, --jobs=NUM               use this many parallel connections\n"
"  -r, --max-rate=RATE          maximum transfer rate to transfer data directory, of\n"
"                               all connections (in kB/s, or use suffix \"k\" or \"M\")\n"
"  -R, --write-recovery-conf    write configuration for replication\n"
"  -T, --tablespace-mapping=OLDDIR=NEWDIR\n"
"                               relocate tablespace in OLDDIR to NEWDIR\n"
"  -X, --wal-method=none|fetch|stream\n"
"                               include required WAL files with specified method\n"
"                               (default: stream, as segments are complete)\n"
"  -Z, --compress=[{client|server}-]METHOD[:DETAIL]\n"
"                               compress tar format on the client, or by the extension\n"
"                               on the server (zstd, lz4 or none)\n"
"  --waldir=WALDIR              location for the write-ahead log directory\n";

static const char backup_help_general_options[] =
"\nGeneral options:\n"
"  -c, --checkpoint=fast|spread set fast or spread (default) checkpointing\n"
"  -l, --label=LABEL            set backup label\n"
"  -n, --no-clean               do not clean up after errors\n"
"  -N, --no-sync                do not wait for changes to be written safely to disk\n"
"  -P, --progress               show progress and a summary (default: if standard\n"
"                               error is a terminal)\n"
"  -v, --verbose                output verbose messages\n"
"  -V, --version                output version information, then exit\n"
"  --report=FILE                write a page (HTML) that shows how it went\n"
"  --log-json=FILE              append events as lines of JSON to FILE (-: standard\n"
"                               output)\n"
"  --metrics=FILE               replace FILE by numbers about the run, in the text\n"
"                               format of Prometheus\n"
"  --metrics-label=NAME=VALUE   give all of them this label, too\n"
"  --manifest-checksums=CRC32C|NONE\n"
"                               use algorithm for manifest checksums\n"
"  --no-estimate-size           has no effect: the size is known anyway\n"
"  --no-extension               read by SQL even if the server has the extension\n"
"  --no-manifest                suppress generation of backup manifest\n"
"  --no-progress                show no progress, also on a terminal\n"
"  --no-slot                    prevent creation of temporary replication slot\n"
"  --no-verify-checksums        do not verify checksums\n"
"  --retries=NUM                retry up to NUM times what a lost connection\n"
"                               interrupted (default: 5)\n"
"  --stall-timeout=SECONDS      replace a connection after so long a silence of a\n"
"                               server (default: 60, 0: never)\n"
"  --sync-method=METHOD         set method for syncing files to disk: fsync or syncfs\n"
"  -?, --help                   show this help, then exit\n";

static const char backup_help_connection_options[] =
"\nConnection options:\n"
"  -d, --dbname=CONNSTR         connection string; the database in it, postgres by\n"
"                               default, is only connected to\n"
"  -h, --host=HOSTNAME          database server host or socket directory\n"
"  -p, --port=PORT              database server port number\n"
"  -s, --status-interval=INTERVAL\n"
"                               has no effect: there is no replication connection\n"
"  -U, --username=NAME          connect as specified database user\n"
"  -w, --no-password            never prompt for password\n"
"  -W, --password               force password prompt (should happen automatically)\n"
"  --password-command=COMMAND   run COMMAND for the password of each new\n"
"                               connection\n"
"\n"
"What it cannot do, pg_basebackup can: -C, -S, -i, -t, -z,\n"
"gzip, and -D -.\n";

void
backup_help_print(const char *progname)
{
	printf("%s takes a base backup of a running PostgreSQL server, as pg_basebackup\n"
		   "does, by many connections.\n\n", progname);
	printf("Usage:\n");
	printf("  %s [OPTION]...\n", progname);
	fputs(output_options, stdout);
	fputs(backup_help_general_options, stdout);
	fputs(backup_help_connection_options, stdout);
	printf("\nReport bugs to the pg_pardump developers, with the output of --version;\n"
		   "it is not part of PostgreSQL.\n");
}

/* ----------
 * The text of --help, in the groups and the order of pg_dump's.
 * ----------
 */

static const char help_general_options[] =
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
"                               not changed; the new archive is complete\n"
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
"  --retries=NUM                retry up to NUM times what a lost connection\n"
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
"  --compare                    compare source and target after the copy\n"
"  --copy-format=FORMAT         how rows cross: auto (of each table by what costs the\n"
"                               least, the default), raw, binary, or text\n"
"  --index-jobs=NUM             build NUM indexes at a time (default: as jobs)\n"
"  --no-analyze                 do not run ANALYZE after the rows\n"
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

static const char help_connection_options[] =
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
	fputs(help_general_options, stdout);
	fputs(chunk_options, stdout);
	fputs(task_options, stdout);
	fputs(standby_options, stdout);
	fputs(slot_options, stdout);
	fputs(copy_options, stdout);
	fputs(cluster_options, stdout);
	fputs(content_options, stdout);
	fputs(row_options, stdout);
	fputs(help_connection_options, stdout);
	printf("\nReport bugs to the %s developers, with the output of --version;\n"
		   "it is not part of PostgreSQL.\n", progname);
}

/* An option this far from an existing one is a misspelling. */
#define MAX_DISTANCE 2

/* The long option, or an abbreviation of it not shorter than least? */
static bool
is_asked(const char *arg, const char *name, const char *least)
{
	size_t		len = strlen(arg);

	return len >= strlen(least) && strncmp(arg, name, len) == 0;
}

void
help_if_asked(int argc, char **argv, const char *name,
			  void (*help) (const char *progname))
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
	{
		if (is_asked(argv[i], "--help", "--hel") ||
			(i == 1 && strcmp(argv[i], "-?") == 0))
		{
			help(get_progname(argv[0]));
			exit(0);
		}
		if (is_asked(argv[i], "--version", "--vers") ||
			(i == 1 && strcmp(argv[i], "-V") == 0))
		{
			printf("%s " PARDUMP_VERSION " (PostgreSQL " PG_VERSION ")\n", name);
			exit(0);
		}
	}
}

void
help_try(const char *progname)
{
	pg_log_error_hint("Try \"%s --help\" for more information.", progname);
	exit(1);
}

/*
 * How many characters are to be inserted, removed or replaced to make one
 * text of the other (Levenshtein).
 */
static int
distance(const char *text, int text_len, const char *name)
{
	int			name_len = strlen(name);
	int		   *row = pg_malloc((name_len + 1) * sizeof(int));
	int			result;

	for (int j = 0; j <= name_len; j++)
		row[j] = j;
	for (int i = 1; i <= text_len; i++)
	{
		int			diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= name_len; j++)
		{
			int			replaced = diagonal + (text[i - 1] != name[j - 1]);

			diagonal = row[j];
			row[j] = Min(replaced, Min(row[j], row[j - 1]) + 1);
		}
	}
	result = row[name_len];
	free(row);
	return result;
}

void
help_try_option(char **argv, const struct option *names)
{
	const char *given = argv[optind - 1];
	const char *closest = NULL;
	int			least = MAX_DISTANCE + 1;
	int			len;

	if (strncmp(given, "--", 2) == 0)
	{
		given += 2;
		len = strcspn(given, "=");
		for (; names->name; names++)
		{
			int			d = distance(given, len, names->name);

			/* the option or its abbreviation, whose argument is wrong */
			if (strncmp(given, names->name, len) == 0)
				help_try(get_progname(argv[0]));
			if (d < least && 2 * d <= len)
			{
				least = d;
				closest = names->name;
			}
		}
		if (closest)
			pg_log_error_hint("Perhaps you meant the option \"--%s\".", closest);
	}
	help_try(get_progname(argv[0]));
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
