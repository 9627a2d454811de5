/*
 * backup_help.c
 *		The text of pg_parbasebackup --help, in the groups and the order of
 *		pg_basebackup's.
 */
#include "base/fe_compat.h"

#include "options/backup_help.h"

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

static const char general_options[] =
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
"  --retries=NUM                read anew so often what a lost connection\n"
"                               interrupted (default: 5)\n"
"  --stall-timeout=SECONDS      replace a connection after so long a silence of a\n"
"                               server (default: 60, 0: never)\n"
"  --sync-method=METHOD         set method for syncing files to disk: fsync or syncfs\n"
"  -?, --help                   show this help, then exit\n";

static const char connection_options[] =
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
	fputs(general_options, stdout);
	fputs(connection_options, stdout);
	printf("\nReport bugs to the pg_pardump developers, with the output of --version;\n"
		   "it is not part of PostgreSQL.\n");
}
