/*
 * help.c
 *		Texts of --help.
 */
#include "base/fe_compat.h"

#include "options/help.h"

/* In pg_pardump and pg_parrestore. */
#define CONNECTION_OPTIONS \
"  -h, --host=HOSTNAME          database server host or socket directory\n" \
"  -p, --port=PORT              database server port number\n" \
"  -U, --username=NAME          connect as specified database user\n" \
"  -w, --no-password            never prompt for password\n" \
"  -W, --password               force password prompt (should happen\n" \
"                               automatically)\n" \
"  --password-command=COMMAND   run COMMAND to get the password of each new\n" \
"                               connection\n"

/* In pg_pardump and pg_parbasebackup. */
#define STALL_TIMEOUT_OPTION \
"  --stall-timeout=SECONDS      reconnect a session that received no data for\n" \
"                               SECONDS and is idle on the server (default: 60;\n" \
"                               0 to wait forever)\n"

/* In all programs. */
#define MONITORING_OPTIONS \
"\nOptions for monitoring:\n" \
"  --log-json=FILE              append events as JSON lines to FILE (- for\n" \
"                               standard output)\n" \
"  --metrics=FILE               write Prometheus metrics to FILE\n" \
"  --metrics-label=NAME=VALUE   add a label to all metrics\n" \
"  --report=FILE                write an HTML report to FILE\n" \
"  --report-history=DIRECTORY   record the run in DIRECTORY, and show the last 30\n" \
"                               runs in the report\n"

#define END_OF_HELP(program) \
"\nSee " program "(1) for all options in detail.\n" \
"For help with a problem, see the section \"Getting help\" of README.md.\n"

/* ----------
 * The text of pg_parrestore --help: own options first, then pg_restore's.
 * ----------
 */

static const char restore_text[] =
"\nGeneral options:\n"
"  -d, --dbname=NAME            connect to database name\n"
"  --pipe=COMMAND               read each file of the archive from the standard\n"
"                               output of COMMAND (%f: name of the file; with\n"
"                               --all-databases, %d: its directory)\n"
"  --pipe-prefetch=NUM          start commands of --pipe for up to NUM files\n"
"                               before they are needed (default: 16)\n"
"  -j, --jobs=NUM               use NUM parallel jobs to restore (default: 1)\n"
"  -v, --verbose                verbose mode\n"
"  --progress                   show progress and a summary (default on a\n"
"                               terminal)\n"
"  --no-progress                do not show progress\n"
"  --check                      check prerequisites, then exit\n"
"  --verify                     verify the archive before the restore (directory\n"
"                               format only)\n"
"  --resume                     resume an interrupted restore\n"
"  --retries=NUM                retry interrupted jobs NUM times (default: 5)\n"
"  --stall-timeout=SECONDS      with --pipe: end a command that returned no data\n"
"                               for SECONDS (default: 60; 0 to wait forever)\n"
"  --allow-existing             also restore into existing tables that contain\n"
"                               rows\n"
"  --chunk-size=SIZE            load tables of pg_dump's archives in pieces of\n"
"                               about SIZE bytes (default: 16MB)\n"
"  --index-jobs=NUM             build NUM indexes in parallel (default: as\n"
"                               --jobs)\n"
"  --no-analyze                 do not run ANALYZE after loading\n"
"  --no-fast-index              do not build indexes with the extension\n"
"  --toast-compression=default|lz4|pglz\n"
"                               TOAST compression method, on the target, of\n"
"                               columns that specify none\n"
"  --pg-restore=PATH            use this pg_restore to read the schema (default:\n"
"                               the one in the same directory, then in PATH)\n"
"  -V, --version                output version information, then exit\n"
"  -?, --help                   show this help, then exit\n"

"\nOptions for all databases of a cluster:\n"
"  --all-databases              restore a dump of pg_pardump --all-databases\n"
"  --exclude-database=PATTERN   exclude databases whose name matches PATTERN\n"
"  --globals-only               restore only roles, memberships, settings and\n"
"                               tablespaces\n"

"\nOptions for comparing with the source after the restore:\n"
"  --compare-with=CONNINFO      compare with the database from which the archive\n"
"                               was dumped\n"
"  --trust-owners               split tables of other roles, too; this may run\n"
"                               code of these roles\n"
"  --allow-affected-standby     read a standby even if its version has a bug that\n"
"                               can make its snapshots incomplete\n"
"  --standby-snapshot-timeout=SECONDS\n"
"                               retry for SECONDS if a standby exports an\n"
"                               incomplete snapshot (default: 30)\n"

MONITORING_OPTIONS

"\nConnection options:\n"
CONNECTION_OPTIONS
"  --role=ROLENAME              do SET ROLE before restore\n"

"\nOptions of pg_restore (in parentheses: the version that introduced the option):\n"
"  -a, --data-only              restore only the data, no schema\n"
"  -c, --clean                  clean (drop) database objects before recreating\n"
"  -C, --create                 create the target database\n"
"  -e, --exit-on-error          exit on error, default is to continue\n"
"  -f, --file=FILENAME          output file name (- for stdout)\n"
"  -F, --format=c|d|t           archive format (should be automatic)\n"
"  -I, --index=NAME             restore named index\n"
"  -l, --list                   print summarized TOC of the archive\n"
"  -L, --use-list=FILENAME      use table of contents from this file for\n"
"                               selecting/ordering output\n"
"  -n, --schema=NAME            restore only objects in this schema\n"
"  -N, --exclude-schema=NAME    do not restore objects in this schema\n"
"  -O, --no-owner               skip restoration of object ownership\n"
"  -P, --function=NAME(args)    restore named function\n"
"  -s, --schema-only            restore only the schema, no data\n"
"  -S, --superuser=NAME         superuser user name to use for disabling\n"
"                               triggers\n"
"  -t, --table=NAME             restore named relation (table, view, etc.)\n"
"  -T, --trigger=NAME           restore named trigger\n"
"  -x, --no-privileges          skip restoration of access privileges\n"
"                               (grant/revoke)\n"
"  -1, --single-transaction     restore as a single transaction\n"
"  --disable-triggers           disable triggers during data-only restore\n"
"  --enable-row-security        enable row security\n"
"  --filter=FILENAME            restore or skip objects based on expressions\n"
"                               in FILENAME (pg_restore 17)\n"
"  --if-exists                  use IF EXISTS when dropping objects\n"
"  --no-comments                do not restore comment commands\n"
"  --no-data                    do not restore data (pg_restore 18)\n"
"  --no-data-for-failed-tables  do not restore data of tables that could not be\n"
"                               created\n"
"  --no-policies                do not restore row security policies\n"
"                               (pg_restore 18)\n"
"  --no-publications            do not restore publications\n"
"  --no-schema                  do not restore schema (pg_restore 18)\n"
"  --no-security-labels         do not restore security labels\n"
"  --no-statistics              do not restore statistics (pg_restore 18)\n"
"  --no-subscriptions           do not restore subscriptions\n"
"  --no-table-access-method     do not restore table access methods\n"
"  --no-tablespaces             do not restore tablespace assignments\n"
"  --restrict-key=RESTRICT_KEY  use provided string as psql \\restrict key\n"
"  --section=SECTION            restore named section (pre-data, data, or\n"
"                               post-data)\n"
"  --statistics                 restore the statistics (pg_restore 18)\n"
"  --statistics-only            restore only the statistics, not schema or data\n"
"                               (pg_restore 18)\n"
"  --strict-names               require table and/or schema include patterns to\n"
"                               match at least one entity each\n"
"  --transaction-size=N         commit after every N objects (pg_restore 17)\n"
"  --use-set-session-authorization\n"
"                               use SET SESSION AUTHORIZATION commands instead\n"
"                               of ALTER OWNER commands to set ownership\n"

"\nThe options -I, -n, -N, -P, -t, -T, and --section can be combined and\n"
"specified multiple times to select multiple objects.\n"
"\n"
"If neither an input file name nor --pipe is supplied, standard input is used.\n"
"\n"
"pg_restore runs the restore, without parallel jobs, for -l, -f, -1, -Ft,\n"
"standard input, and archives that contain rows as INSERT commands.\n"

"\nExamples:\n"
"  pg_parrestore -j 8 -d shop /backup/shop\n"
"  pg_parrestore -j 8 -d shop --resume /backup/shop\n"
"  pg_parrestore -j 8 -d shop -n sales -t orders /backup/shop\n"
END_OF_HELP("pg_parrestore");

void
restore_help_print(const char *progname)
{
	printf("%s restores a PostgreSQL database in parallel, even within a single\n"
		   "table, from an archive of pg_pardump or pg_dump.\n\n", progname);
	printf("Usage:\n");
	printf("  %s [OPTION]... [FILE]\n", progname);
	printf("  %s --check [OPTION]... [FILE]\n", progname);
	printf("  %s --resume [OPTION]... [FILE]\n", progname);
	printf("  %s --pipe=COMMAND [OPTION]...\n", progname);
	printf("  %s --all-databases -d CONNINFO [OPTION]... DIRECTORY\n", progname);
	fputs(restore_text, stdout);
}

/* ----------
 * The text of pg_parbasebackup --help: own options first, then
 * pg_basebackup's.
 * ----------
 */

static const char backup_text[] =
"\nGeneral options:\n"
"  -D, --pgdata=DIRECTORY       receive base backup into directory\n"
"  -j, --jobs=NUM               use NUM parallel connections (default: 1)\n"
"  --extract=BACKUP             extract the backup in tar format in directory\n"
"                               BACKUP instead of taking one\n"
"  -P, --progress               show progress and a summary (default on a\n"
"                               terminal)\n"
"  --no-progress                do not show progress\n"
"  --no-extension               do not use extension pg_pardump of the server\n"
"  --retries=NUM                retry interrupted jobs NUM times (default: 5)\n"
STALL_TIMEOUT_OPTION
"  -v, --verbose                output verbose messages\n"
"  -V, --version                output version information, then exit\n"
"  -?, --help                   show this help, then exit\n"

MONITORING_OPTIONS

"\nConnection options:\n"
"  -d, --dbname=CONNSTR         connection string; the default database is\n"
"                               postgres\n"
CONNECTION_OPTIONS

"\nOptions of pg_basebackup:\n"
"  -c, --checkpoint=fast|spread set fast or spread (default) checkpointing\n"
"  -F, --format=p|t             output format (plain (default), tar)\n"
"  -l, --label=LABEL            set backup label\n"
"  -n, --no-clean               do not clean up after errors\n"
"  -N, --no-sync                do not wait for changes to be written safely to\n"
"                               disk\n"
"  -r, --max-rate=RATE          limit the transfer rate of all connections\n"
"                               together (in kB/s, or use suffix \"k\" or \"M\")\n"
"  -R, --write-recovery-conf    write configuration for replication\n"
"  -s, --status-interval=INTERVAL\n"
"                               has no effect; there is no replication\n"
"                               connection\n"
"  -T, --tablespace-mapping=OLDDIR=NEWDIR\n"
"                               relocate tablespace in OLDDIR to NEWDIR\n"
"  -X, --wal-method=none|fetch|stream\n"
"                               include required WAL files with specified method\n"
"                               (default: stream, as segments are completed)\n"
"  -Z, --compress=[{client|server}-]METHOD[:DETAIL]\n"
"                               compress tar format on the client, or with the\n"
"                               extension on the server (zstd, lz4 or none)\n"
"  --manifest-checksums=CRC32C|NONE\n"
"                               use algorithm for manifest checksums\n"
"  --no-estimate-size           has no effect; the size is known anyway\n"
"  --no-manifest                suppress generation of backup manifest\n"
"  --no-slot                    prevent creation of temporary replication slot\n"
"  --no-verify-checksums        do not verify checksums\n"
"  --sync-method=METHOD         set method for syncing files to disk: fsync or\n"
"                               syncfs\n"
"  --waldir=WALDIR              location for the write-ahead log directory\n"
"\nNot supported, use pg_basebackup instead: -C/--create-slot, -S/--slot,\n"
"-i/--incremental, -t/--target, -z/--gzip, -Z gzip, -D -\n"

"\nExamples:\n"
"  pg_parbasebackup -j 8 -h db1 -D /backup/base\n"
"  pg_parbasebackup -j 8 -h db1 -Ft -Z zstd -D /backup/tar\n"
"  pg_parbasebackup -j 8 --extract=/backup/tar -D /var/lib/postgresql/restored\n"
END_OF_HELP("pg_parbasebackup");

void
backup_help_print(const char *progname)
{
	printf("%s takes a base backup of a running PostgreSQL server, like\n"
		   "pg_basebackup, over parallel connections.\n\n", progname);
	printf("Usage:\n");
	printf("  %s [OPTION]... -D DIRECTORY\n", progname);
	printf("  %s --extract=BACKUP [OPTION]... -D DIRECTORY\n", progname);
	fputs(backup_text, stdout);
}

/* ----------
 * The text of pg_pardump --help: own options first, then pg_dump's.
 * ----------
 */

static const char dump_text[] =
"\nGeneral options:\n"
"  -f, --file=DIRECTORY         output directory; must not exist, or be empty\n"
"  -F, --format=d               output file format (directory, the only one)\n"
"  -j, --jobs=NUM               use NUM parallel jobs (default: 1)\n"
"  -Z, --compress=[{client|server}-]METHOD[:DETAIL]\n"
"                               compress with gzip, lz4, zstd or none (default:\n"
"                               zstd:1 if pg_dump is 16 or newer, otherwise\n"
"                               gzip:1)\n"
"  -r, --max-rate=RATE          limit the transfer rate of all jobs together\n"
"                               (in kB/s, or use suffix \"k\" or \"M\")\n"
"  -v, --verbose                verbose mode\n"
"  -P, --progress               show progress and a summary (default on a\n"
"                               terminal)\n"
"  --no-progress                do not show progress\n"
"  --check                      check prerequisites, then exit\n"
"  --dry-run                    show how each table would be dumped, then exit\n"
"  --expected-rate=SIZE         with --check or --dry-run: estimate the duration\n"
"                               at SIZE bytes per second, for example 200MB\n"
"  --clean-output               remove an earlier archive from the output\n"
"                               directory first\n"
"  --pipe=COMMAND               write each file to the standard input of COMMAND\n"
"                               instead of a directory (%f: name of the file;\n"
"                               with --all-databases, %d: its directory)\n"
"  --pg-dump=PATH               use this pg_dump to read the schema (default:\n"
"                               the one in the same directory, then in PATH)\n"
"  --with-pardump-extension     keep extension pg_pardump in the archive\n"
"  -V, --version                output version information, then exit\n"
"  -?, --help                   show this help, then exit\n"

"\nOptions controlling how tables are read:\n"
"  --chunk-size=SIZE            split tables into chunks of about SIZE bytes\n"
"                               (default: total / (16 x jobs), 32MB to 1GB, with\n"
"                               --target 8MB to 1GB)\n"
"  --max-table-segment-pages=NUM\n"
"                               split tables into chunks of NUM heap pages\n"
"  --no-chunks                  do not split tables\n"
"  --no-extension               do not use extension pg_pardump of the server\n"
"  --trust-owners               split tables of other roles, too; this may run\n"
"                               code of these roles\n"
"  --allow-rewritten            dump tables that were rewritten after the\n"
"                               snapshot was taken; rows may be missing\n"

"\nOptions controlling which rows and values are dumped:\n"
"  --where=PATTERN:CONDITION    dump only rows that meet CONDITION\n"
"  --sample=PATTERN:PERCENT     dump PERCENT of the rows\n"
"  --mask=PATTERN.COLUMN:EXPRESSION\n"
"                               dump EXPRESSION instead of the values of columns\n"
"  --mask-file=FILENAME         read masks from FILENAME, one per line\n"

"\nOptions controlling failures:\n"
"  --retries=NUM                retry interrupted jobs NUM times (default: 5)\n"
STALL_TIMEOUT_OPTION

"\nOptions for incremental dumps:\n"
"  --incremental=DIRECTORY      reuse unchanged files of the archive in\n"
"                               DIRECTORY, which was dumped with\n"
"                               --manifest-fingerprints or --incremental; the\n"
"                               new archive is complete\n"
"  --incremental-by=fingerprints|wal-summaries\n"
"                               how to detect changes (default: fingerprints;\n"
"                               summaries need PostgreSQL 17)\n"
"  --incremental-copy-method=link|clone|copy\n"
"                               how to reuse files (default: link)\n"
"  --incremental-pipe=COMMAND   with --pipe: read the previous archive from the\n"
"                               standard output of COMMAND (%f: name of the file;\n"
"                               with --all-databases, %d: its directory)\n"
"  --pipe-copy=COMMAND          with --incremental-pipe: copy each reused file\n"
"                               with COMMAND (%o: name in the previous archive,\n"
"                               %f: new name; with --all-databases, %d: its\n"
"                               directory in both)\n"
"  --manifest-fingerprints      record fingerprints for later incremental dumps\n"
"  --manifest-checksums=ALGORITHM\n"
"                               checksum of each file: CRC32C (default), SHA224,\n"
"                               SHA256, SHA384, SHA512 or NONE\n"

"\nOptions for verifying and comparing, without a dump:\n"
"  --verify=DIRECTORY           verify the archive in DIRECTORY; with --pipe and\n"
"                               without DIRECTORY, the one that COMMAND returns\n"
"  --pipe-prefetch=NUM          with --verify and --pipe: start commands for up\n"
"                               to NUM files before they are needed (default: 16)\n"
"  --compare-with=CONNINFO|DIRECTORY\n"
"                               compare with another database or an archive\n"

"\nOptions for copying to another server, without an archive:\n"
"  --target=CONNINFO            copy into this database\n"
"  --compare                    compare source and target after the copy\n"
"  --copy-format=auto|raw|binary|text\n"
"                               format for rows (default: auto)\n"
"  --wire-compression={auto|none|lz4|zstd}[:DETAIL]\n"
"                               compress raw tuples in transit (default: auto,\n"
"                               which is lz4 unless both servers are local)\n"
"  --index-jobs=NUM             build NUM indexes in parallel (default: as\n"
"                               --jobs)\n"
"  --no-analyze                 do not run ANALYZE after loading\n"
"  --no-fast-index              do not build indexes with the extension\n"
"  --roles                      create roles on the target that the database\n"
"                               needs and that are missing there\n"
"  --toast-compression=default|lz4|pglz\n"
"                               TOAST compression method, on the target, of\n"
"                               columns that specify none\n"

"\nOptions for logical replication:\n"
"  --create-slot                create a logical replication slot, and dump its\n"
"                               snapshot\n"
"  --slot=NAME                  name of the slot\n"
"  --slot-plugin=PLUGIN         output plugin of the slot (default: pgoutput)\n"
"  --create-subscription=NAME   with --target: create a subscription that\n"
"                               continues after the copy\n"
"  --publication=NAME[,...]     publications of the subscription\n"
"  --subscription-conninfo=CONNINFO\n"
"                               how the target server connects to the source\n"

"\nOptions for hot standbys:\n"
"  --also-from=CONNINFO         also read from this standby, in the same\n"
"                               snapshot; can be specified multiple times\n"
"  --allow-affected-standby     read a standby even if its version has a bug that\n"
"                               can make its snapshots incomplete\n"
"  --pause-synchronous          also pause replay on synchronous standbys that\n"
"                               commits wait for\n"
"  --standby-snapshot-timeout=SECONDS\n"
"                               retry for SECONDS if a standby exports an\n"
"                               incomplete snapshot (default: 30)\n"

"\nOptions for all databases of a cluster:\n"
"  --all-databases              dump all databases and global objects, or copy\n"
"                               them to the cluster of --target\n"
"  --cluster-snapshot           dump all databases in one snapshot; on a primary,\n"
"                               this needs the extension in each of them\n"
"  --exclude-database=PATTERN   exclude databases whose name matches PATTERN\n"
"  -g, --globals-only           dump only roles, memberships, settings and\n"
"                               tablespaces\n"
"  --lock-later                 with --cluster-snapshot: lock the tables of each\n"
"                               database only when its dump starts\n"
"  --no-role-passwords          do not dump passwords for roles (also with\n"
"                               --roles)\n"
"  --roles-only                 dump only roles, no databases or tablespaces\n"
"  --shared-snapshot=FILE       with --cluster-snapshot: keep the snapshot for\n"
"                               dumps by other programs; with --snapshot: dump in\n"
"                               the snapshot that FILE describes\n"
"  --tablespaces-only           dump only tablespaces, no databases or roles\n"

"\nOptions for dumps distributed over hosts:\n"
"  --tasks=NUM                  split the dump into NUM tasks for other hosts\n"
"  --run-tasks=COMMAND          run tasks with COMMAND; %p is the plan, %n the\n"
"                               number of tasks, %l or %L the tasks to run\n"
"                               (separated by commas or spaces)\n"
"  --plan=FILE                  plan file in a directory that all hosts can\n"
"                               access (default: in the archive's directory)\n"
"  --task=I/NUM                 on another host: run task I of the plan, counted\n"
"                               from 0\n"

MONITORING_OPTIONS

"\nConnection options:\n"
"  -d, --dbname=DBNAME          database to dump\n"
CONNECTION_OPTIONS
"  --target-password-command=COMMAND\n"
"                               run COMMAND to get the password of --target or\n"
"                               --compare-with\n"
"  --role=ROLENAME              do SET ROLE before dump\n"

"\nOptions of pg_dump (in parentheses: the version that introduced the option):\n"
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
"  -O, --no-owner               with --target: skip restoration of object\n"
"                               ownership; no effect on archives\n"
"  -s, --schema-only            dump only the schema, no data or statistics\n"
"  -S, --superuser=NAME         no effect; specify it for pg_restore\n"
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
"                               child and partition tables\n"
"                               (pg_dump 16)\n"
"  --exclude-table-data=PATTERN do NOT dump data for the specified table(s)\n"
"  --exclude-table-data-and-children=PATTERN\n"
"                               do NOT dump data for the specified table(s),\n"
"                               including child and partition tables\n"
"                               (pg_dump 16)\n"
"  --extra-float-digits=NUM     override default setting for extra_float_digits\n"
"  --filter=FILENAME            include or exclude objects and data from dump\n"
"                               based on expressions in FILENAME (pg_dump 17)\n"
"  --if-exists                  use IF EXISTS when dropping objects\n"
"  --include-foreign-data=PATTERN\n"
"                               include data of foreign tables on foreign\n"
"                               servers matching PATTERN\n"
"  --load-via-partition-root    load partitions via the root table\n"
"  --lock-wait-timeout=TIMEOUT  fail after waiting TIMEOUT for a table lock\n"
"  --no-comments                do not dump comment commands\n"
"  --no-data                    do not dump data (pg_dump 18)\n"
"  --no-policies                do not dump row security policies (pg_dump 18)\n"
"  --no-publications            do not dump publications\n"
"  --no-schema                  do not dump schema (pg_dump 18)\n"
"  --no-security-labels         do not dump security label assignments\n"
"  --no-statistics              do not dump statistics (pg_dump 18)\n"
"  --no-subscriptions           do not dump subscriptions\n"
"  --no-sync                    do not wait for changes to be written safely to\n"
"                               disk\n"
"  --no-table-access-method     do not dump table access methods\n"
"  --no-tablespaces             do not dump tablespace assignments\n"
"  --no-toast-compression       do not dump TOAST compression methods\n"
"  --no-unlogged-table-data     do not dump unlogged table data\n"
"  --quote-all-identifiers      quote all identifiers, even if not key words\n"
"  --section=SECTION            dump named section (pre-data, data, or\n"
"                               post-data)\n"
"  --sequence-data              include sequence data in dump (pg_dump 18)\n"
"  --serializable-deferrable    wait until the dump can run without anomalies\n"
"  --snapshot=SNAPSHOT          use given snapshot for the dump\n"
"  --statistics                 dump the statistics (pg_dump 18)\n"
"  --statistics-only            dump only the statistics, not schema or data\n"
"                               (pg_dump 18)\n"
"  --strict-names               require table and/or schema include patterns to\n"
"                               match at least one entity each\n"
"  --sync-method=METHOD         set method for syncing files to disk: fsync or\n"
"                               syncfs\n"
"  --table-and-children=PATTERN dump only the specified table(s), including\n"
"                               child and partition tables (pg_dump 16)\n"
"  --use-set-session-authorization\n"
"                               use SET SESSION AUTHORIZATION commands instead\n"
"                               of ALTER OWNER commands to set ownership\n"
"\nNot supported, use pg_dump instead: --inserts, --column-inserts,\n"
"--rows-per-insert, --on-conflict-do-nothing, --binary-upgrade, -F c|p|t\n"

"\nIf no database name is supplied, then the PGDATABASE environment\n"
"variable value is used.\n"

"\nExamples:\n"
"  pg_pardump -j 8 -f /backup/shop shop\n"
"  pg_pardump -j 8 --target='host=new dbname=shop' shop\n"
"  pg_pardump --verify=/backup/shop -j 8\n"
"  pg_pardump -j 8 --incremental=/backup/mon -f /backup/tue shop\n"
"  pg_pardump -j 8 --all-databases -f /backup/all\n"
"  pg_pardump -j 8 --pipe='rclone rcat store:shop/%f' shop\n"
END_OF_HELP("pg_pardump");

void
help_print(const char *progname)
{
	printf("%s dumps a PostgreSQL database in parallel, even within a single table,\n"
		   "as a directory archive for pg_restore.\n"
		   "\n"
		   "Extension pg_pardump, if it is installed in the database, splits tables evenly\n"
		   "and reads rows two to three times as fast as COPY.\n\n", progname);
	printf("Usage:\n");
	printf("  %s -f DIRECTORY [OPTION]... [DBNAME]\n", progname);
	printf("  %s --target=CONNINFO [OPTION]... [DBNAME]\n", progname);
	printf("  %s --compare-with=CONNINFO|DIRECTORY [OPTION]... [DBNAME]\n", progname);
	printf("  %s --check [OPTION]... [DBNAME]\n", progname);
	printf("  %s --verify=DIRECTORY [OPTION]...\n", progname);
	printf("  %s --verify --pipe=COMMAND [OPTION]...\n", progname);
	printf("  %s --all-databases -f DIRECTORY|--target=CONNINFO [OPTION]...\n",
		   progname);
	fputs(dump_text, stdout);
}

/* An option within this distance of an existing one is a misspelling. */
#define MAX_DISTANCE 2

/*
 * Is the argument this option, or an abbreviation that is not shorter than
 * least?
 */
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
	pg_fatal_hint("Try \"%s --help\" for more information.", progname);
}

/*
 * Returns how many characters must be inserted, removed or replaced to change
 * one text into the other (Levenshtein distance).
 */
static int
distance(const char *text, int text_len, const char *name)
{
	int			name_len = strlen(name);
	int		   *row = pg_malloc((name_len + 1) * sizeof(int));

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
	return row[name_len];
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

			/* the option exists, so its argument is wrong */
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
