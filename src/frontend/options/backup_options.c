/*
 * backup_options.c
 *		Reads the command line of pg_parbasebackup: pg_basebackup's options
 *		and our own.
 *
 * The options of pg_basebackup of all major versions are accepted
 * (pg_basebackup.c:main).  Options that need a walsender, or a single process
 * that sees all bytes, are refused with a hint to use pg_basebackup.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "options/help.h"
#include "options/option_table.h"
#include "options/options_parse.h"

/* ----------
 * Tablespace mappings: -T OLDDIR=NEWDIR.
 * ----------
 */

typedef struct Mapping
{
	char	   *old_directory;
	char	   *new_directory;
} Mapping;

/*
 * Parse a mapping like tablespace_list_append() in pg_basebackup.c. "\="
 * stands for "=" in a directory's name.
 */
static Mapping
read_mapping(const char *text)
{
	char	   *old_directory = pg_malloc0(strlen(text) + 1);
	char	   *new_directory = pg_malloc0(strlen(text) + 1);
	char	   *out = old_directory;
	bool		in_new = false;

	for (const char *pos = text; *pos; pos++)
	{
		if (pos[0] == '\\' && pos[1] == '=')
			*out++ = *++pos;
		else if (*pos != '=')
			*out++ = *pos;
		else if (in_new)
			pg_fatal("multiple \"=\" signs in tablespace mapping");
		else
		{
			in_new = true;
			out = new_directory;
		}
	}
	if (*old_directory == '\0' || *new_directory == '\0')
		pg_fatal("invalid tablespace mapping format \"%s\", must be \"OLDDIR=NEWDIR\"",
				 text);
	if (!is_absolute_path(old_directory))
		pg_fatal("old directory is not an absolute path in tablespace mapping: %s",
				 old_directory);
	if (!is_absolute_path(new_directory))
		pg_fatal("new directory is not an absolute path in tablespace mapping: %s",
				 new_directory);
	canonicalize_path(old_directory);
	canonicalize_path(new_directory);
	return (Mapping)
	{
		old_directory, new_directory
	};
}

/*
 * Returns the canonical path, like pg_basebackup: ".." removes the directory
 * before it, even if that is a symbolic link to another place.  So all parts
 * of the program use the same path.
 */
static const char *
canonical(const char *path)
{
	char	   *result = pg_strdup(path);

	canonicalize_path(result);
	return result;
}

const char *
tablespace_mapping_place(const SimpleStringList *mappings, const char *oid,
						 const char *location)
{
	/* A mapping is the user's own choice, so it is valid for root too. */
	for (const SimpleStringListCell *cell = mappings->head; cell; cell = cell->next)
	{
		Mapping		mapping = read_mapping(cell->val);

		if (strcmp(mapping.old_directory, canonical(location)) == 0)
			return mapping.new_directory;
	}
	if (geteuid() != 0)
		return location;
	pg_log_error("no directory specified for tablespace %s", oid);
	pg_log_error_detail("Its location on the server is \"%s\".  As root, pg_parbasebackup writes only to directories that the command line names.",
						printable(location));
	pg_fatal_hint("Use -T %s=NEWDIR, where NEWDIR can be the same directory, or run the command as the user who will own the cluster.",
				  printable(location));
}

/* ----------
 * Reading the command line.
 * ----------
 */

/*
 * A flag of options that can be used with --extract, which connects to no
 * server.
 */
#define FOR_EXTRACT 1

#define NEEDS_WALSENDER "The option needs a replication connection."

/* The options of pg_basebackup 15 to 18, followed by our own. */
static const StockOption backup_options[] = {
	{{"checkpoint", OPTION_WITH_VALUE}, 'c'},
	{{"compress", OPTION_WITH_VALUE}, 'Z'},
	{{"create-slot", OPTION_BARE}, 'C', 0, NEEDS_WALSENDER},
	{{"dbname", OPTION_TEXT, MEMBER(connection.dbname)}, 'd'},
	{{"format", OPTION_WITH_VALUE}, 'F'},
	{{"gzip", OPTION_BARE}, 'z'},
	{{"host", OPTION_TEXT, MEMBER(connection.pghost)}, 'h'},
	{{"incremental", OPTION_WITH_VALUE}, 'i', 0, NEEDS_WALSENDER},
	{{"label", OPTION_TEXT, MEMBER(label)}, 'l'},
	{{"manifest-checksums", OPTION_TEXT, MEMBER(manifest_checksums)}},
	{{"manifest-force-encode", OPTION_BARE}, 0, 0, "File names are encoded only if they are not valid UTF-8."},
	{{"max-rate", OPTION_RATE, MEMBER(max_rate)}, 'r'},
	{{"no-clean", OPTION_FLAG, MEMBER(no_clean)}, 'n', FOR_EXTRACT},
	{{"no-estimate-size", OPTION_BARE}},
	{{"no-manifest", OPTION_FLAG, MEMBER(no_manifest)}},
	{{"no-password", OPTION_BARE}, 'w'},
	{{"no-slot", OPTION_FLAG, MEMBER(no_slot)}},
	{{"no-sync", OPTION_FLAG, MEMBER(no_sync)}, 'N', FOR_EXTRACT},
	{{"no-verify-checksums", OPTION_FLAG, MEMBER(no_verify_checksums)}},
	{{"password", OPTION_BARE}, 'W'},
	{{"pgdata", OPTION_TEXT, MEMBER(directory)}, 'D', FOR_EXTRACT},
	{{"port", OPTION_TEXT, MEMBER(connection.pgport)}, 'p'},
	{{"progress", OPTION_FLAG, MEMBER(progress)}, 'P', FOR_EXTRACT},
	{{"slot", OPTION_WITH_VALUE}, 'S', 0, NEEDS_WALSENDER},
	{{"status-interval", OPTION_WITH_VALUE}, 's'},
	{{"sync-method", OPTION_WITH_VALUE}, 1, FOR_EXTRACT},
	{{"tablespace-mapping", OPTION_LIST, MEMBER(tablespace_mappings)}, 'T', FOR_EXTRACT},
	{{"target", OPTION_WITH_VALUE}, 't', 0, NEEDS_WALSENDER},
	{{"username", OPTION_TEXT, MEMBER(connection.pguser)}, 'U'},
	{{"verbose", OPTION_FLAG, MEMBER(verbose)}, 'v', FOR_EXTRACT},
	{{"waldir", OPTION_TEXT, MEMBER(wal_directory)}},
	{{"wal-method", OPTION_WITH_VALUE}, 'X'},
	{{"write-recovery-conf", OPTION_FLAG, MEMBER(write_recovery_conf)}, 'R'},
	{{"jobs", OPTION_WITH_VALUE}, 'j', FOR_EXTRACT},
	{{"extract", OPTION_TEXT, MEMBER(extract)}, 0, FOR_EXTRACT},
	{{"log-json", OPTION_TEXT, MEMBER(log_json)}, 0, FOR_EXTRACT},
	{{"metrics", OPTION_FILLED, MEMBER(metrics)}},
	{{"metrics-label", OPTION_LIST, MEMBER(metrics_labels)}},
	{{"no-extension", OPTION_FLAG, MEMBER(no_extension)}},
	{{"no-progress", OPTION_FLAG, MEMBER(no_progress)}, 0, FOR_EXTRACT},
	{{"password-command", OPTION_FILLED, MEMBER(password_command)}},
	{{"report", OPTION_FILLED, MEMBER(report)}},
	{{"report-history", OPTION_FILLED, MEMBER(report_history)}},
	{{"retries", OPTION_NUMBER, MEMBER(retries), 0, 1000}},
	{{"stall-timeout", OPTION_NUMBER, MEMBER(stall_timeout), 0, 86400}},
};

static const OptionTable table = {backup_options, lengthof(backup_options)};

pg_noreturn static void
use_stock(void)
{
	pg_fatal_hint("Use pg_basebackup with the same options.");
}

/*
 * Refuse gzip: files are compressed in parts, and PostgreSQL's tools cannot
 * read gzip files with many members.
 */
pg_noreturn static void
refuse_gzip(void)
{
	pg_log_error("gzip is not supported");
	pg_fatal_hint("Use zstd or lz4, for example --format=tar --compress=zstd, or use pg_basebackup.");
}

/*
 * The values of options, in the order of their enums, or of false and true.
 */
static const char *const wal_methods[] = {"n", "none", "f", "fetch", "s", "stream", NULL};
static const char *const checkpoints[] = {"spread", "fast", NULL};
static const char *const formats[] = {"p", "plain", "t", "tar", NULL};
static const char *const sync_methods[] = {"fsync", "syncfs", NULL};

/* Read an option that does more than setting a member of Options. */
static void
read_special(Options *options, char letter, const char *arg)
{
	int			word;

	switch (letter)
	{
		case 'c':
			if ((word = option_value_word(arg, checkpoints)) < 0)
				pg_fatal("invalid checkpoint argument \"%s\", must be \"fast\" or \"spread\"",
						 arg);
			options->fast_checkpoint = word == 1;
			break;
		case 'F':
			if ((word = option_value_word(arg, formats)) < 0)
				pg_fatal("invalid output format \"%s\", must be \"plain\" or \"tar\"",
						 arg);
			options->tar_format = word >= 2;
			break;
		case 'z':
			refuse_gzip();
		case 'Z':
			option_value_compress(options, arg, COMPRESS_ON_CLIENT);
			if (options->compress.method == COMPRESS_GZIP)
				refuse_gzip();
			break;
		case 'X':
			if ((word = option_value_word(arg, wal_methods)) < 0)
			{
				pg_log_error("invalid value \"%s\" for option %s", arg,
							 "-X/--wal-method");
				pg_fatal_hint("Use \"none\", \"fetch\" or \"stream\".");
			}
			options->wal_method = (BackupWal) (word / 2);
			break;
		case 1:
			if ((word = option_value_word(arg, sync_methods)) < 0)
				pg_fatal("unrecognized sync method: %s", arg);
			options->sync_method = SYNC_FSYNC + word;
			break;
	}
}

static void
check_checksums(const char *method)
{
	if (method == NULL || pg_strcasecmp(method, "crc32c") == 0 ||
		pg_strcasecmp(method, "none") == 0)
		return;
	if (pg_strncasecmp(method, "sha", 3) != 0)
	{
		pg_log_error("invalid value \"%s\" for option %s", method,
					 "--manifest-checksums");
		pg_fatal_hint("Use \"CRC32C\" or \"none\".");
	}
	pg_log_error("manifest checksum algorithm %s is not supported", method);
	pg_log_error_detail("Workers read pieces of a file in parallel, and only CRC-32C checksums of pieces can be combined.");
	use_stock();
}

static const OptionRule rules[] = {
	{"--progress", EXCLUDES, "--no-progress"},
	{"--report-history", NEEDS, "--report"},
	{"--no-manifest", EXCLUDES, "--manifest-checksums"},
};

/* Check combinations of options. */
static void
check_options(Options *options, const char *progname)
{
	if (options->directory == NULL || *options->directory == '\0')
	{
		pg_log_error("no target directory specified");
		help_try(progname);
	}
	if (strcmp(options->directory, "-") == 0)
	{
		pg_log_error("writing the backup to standard output is not supported");
		pg_log_error_detail("Parallel connections write different pieces of the file at the same time, which a pipe does not allow.");
		use_stock();
	}
	option_rules_check(options, rules, lengthof(rules), &table);
	option_value_check_metrics(options);
	option_value_check_password_command(options, options->password_command,
										"--password-command");
	if (options->compress_place == COMPRESS_ON_CLIENT && !options->tar_format &&
		options->compress.method != COMPRESS_NONE)
		pg_fatal("only tar mode backups can be compressed");
	if (options->wal_directory && options->tar_format)
		pg_fatal("WAL directory location can only be specified in plain mode");
	if (options->tablespace_mappings.head && options->tar_format)
		pg_fatal("tablespaces can only be relocated in plain mode");
	if (options->wal_directory && !is_absolute_path(options->wal_directory))
		pg_fatal("WAL directory location must be an absolute path");

	/*
	 * The paths are changed only now, so that the messages above contain them
	 * as the user has written them.
	 */
	options->directory = canonical(options->directory);
	if (options->wal_directory)
		options->wal_directory = canonical(options->wal_directory);

	/*
	 * Exit with a message if a mapping is not valid for pg_basebackup: two
	 * absolute paths with one "=" between them without a backslash before it.
	 */
	for (const SimpleStringListCell *cell = options->tablespace_mappings.head; cell; cell = cell->next)
		(void) read_mapping(cell->val);
	check_checksums(options->manifest_checksums);
	if (options->no_sync)
		options->sync_method = SYNC_NONE;
}

/*
 * Choose a database.  Any one is suitable, and users of pg_basebackup specify
 * none, so the default is a database that always exists.
 */
static void
choose_database(ConnParams *params)
{
	PQconninfoOption *options;
	char	   *error = NULL;
	bool		named = false;

	if (params->dbname && !identifier_is_conninfo(params->dbname))
		return;
	options = PQconninfoParse(params->dbname ? params->dbname : "", &error);
	if (options == NULL)
		pg_fatal("%s", error);
	for (PQconninfoOption *option = options; option->keyword; option++)
		if (option->val && (strcmp(option->keyword, "dbname") == 0 ||
							strcmp(option->keyword, "service") == 0))
			named = true;
	if (!named && getenv("PGDATABASE") == NULL && getenv("PGSERVICE") == NULL)
		params->override_dbname = pg_strdup("postgres");
}

const Options *
backup_options_parse(int argc, char **argv)
{
	const char *progname = get_progname(argv[0]);
	Options    *options = pg_malloc0(sizeof(Options));
	const char *letters = option_table_letters(&table);
	const struct option *names = option_table_names(&table);
	const char *not_for_extract = NULL;
	int			c;

	help_if_asked(argc, argv, "pg_parbasebackup", backup_help_print);
	options->backup = true;
	options->jobs = 1;
	options->retries = 5;
	options->stall_timeout = 60;
	options->wal_method = BACKUP_WAL_STREAM;
	options->sync_method = SYNC_FSYNC;
	options->label = "pg_parbasebackup base backup";
	options->connection.prompt_password = TRI_DEFAULT;

	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1)
	{
		const StockOption *option;

		if (option_table_find(&table, c, &option) == NULL)
			help_try_option(argv, names);
		if (option->refused)
		{
			pg_log_error("option --%s is not supported", option->row.name);
			pg_log_error_detail("%s", option->refused);
			use_stock();
		}

		/*
		 * Options may have any order, so --extract is checked after all of
		 * them were read.
		 */
		if (option->uses != FOR_EXTRACT)
			not_for_extract = option->row.name;
		option_table_store(options, &option->row, optarg);
		if (!option_read_common(options, option->letter, optarg))
			read_special(options, option->letter, optarg);
	}
	if (options->extract && not_for_extract)
		pg_fatal("options %s and %s cannot be used together", "--extract",
				 psprintf("--%s", not_for_extract));
	help_refuse_more(argc, argv);
	check_options(options, progname);
	choose_database(&options->connection);
	return options;
}
