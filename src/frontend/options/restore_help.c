/*
 * restore_help.c
 *		The text of pg_parrestore --help, in the groups and the order of
 *		pg_restore's.
 */
#include "base/fe_compat.h"

#include "options/restore_help.h"

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
"  --retries=NUM                begin anew so often what a lost connection\n"
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
"  --compare-with=CONNINFO      compare with the database that the archive is of, in\n"
"                               the end\n"
"  --exclude-database=PATTERN   with --all-databases: leave out databases whose name\n"
"                               matches PATTERN\n"
"  --globals-only               with --all-databases: only roles, memberships,\n"
"                               settings and tablespaces\n"
"  --index-jobs=NUM             build so many indexes at a time (default: as jobs)\n"
"  --no-analyze                 do not run ANALYZE in the end\n"
"  --resume                     go on with a restore that has not come to its end\n"
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
