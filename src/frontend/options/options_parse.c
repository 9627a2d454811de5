/*
 * options_parse.c
 *		Reads the command line: pg_dump's options and our own.
 *
 * pg_dump's options of all majors are accepted.  Options that only select
 * objects are passed to the stock pg_dump that makes the plan.  It knows
 * which of them its major version has, and which exclude each other.  Options
 * for the output or the session are read here, and some of them are also
 * passed on.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "options/help.h"
#include "options/option_table.h"
#include "options/options_parse.h"
#include "options/own_options.h"

/* ----------
 * The options of --all-databases.
 * ----------
 */

/*
 * Options of the whole cluster, and options that are set for each database.
 */
static const char *const own_names[] = {
	"all-databases", "cluster-snapshot", "create", "dbname", "exclude-database",
	"file", "globals-only", "host", "incremental", "incremental-copy-method",
	"incremental-pipe", "jobs", "lock-later", "mask", "mask-file", "metrics", "no-password", "no-progress",
	"no-role-passwords", "password", "pause-synchronous", "pipe", "pipe-copy", "port", "progress", "report",
	"resume", "roles-only", "sample",
	"tablespaces-only", "target", "username", "verify", "where"
};

void
cluster_options_note(Options *options, const char *name, const char *arg)
{
	for (int i = 0; i < (int) lengthof(own_names); i++)
		if (strcmp(name, own_names[i]) == 0)
			return;
	*array_add(options->run_args, options->n_run_args) = arg ?
		psprintf("--%s=%s", name, arg) : psprintf("--%s", name);
}

/* ----------
 * Files of --mask-file: a line is an argument of --mask.
 *
 * A line that begins with a blank continues the previous line.  Empty lines
 * and lines that begin with # are ignored.  This code only finds the end of
 * each mask; row_mask.c reads its contents.  A name in double quotes may
 * contain a newline.
 * ----------
 */

/*
 * Returns the text of a file, with a newline at the end unless it is empty;
 * owned.
 */
static char *
read_text(const char *path)
{
	FILE	   *file = fopen(path, "r");
	PQExpBufferData text = buffer_new();
	char		part[4096];
	size_t		len;

	if (file == NULL)
		pg_fatal("could not open file \"%s\": %m", path);
	while ((len = fread(part, 1, sizeof(part), file)) > 0)
		appendBinaryPQExpBuffer(&text, part, len);
	if (ferror(file))
		pg_fatal("could not read file \"%s\": %m", path);
	fclose(file);
	if (strlen(buffer_text(&text)) != text.len)
		pg_fatal("file \"%s\" contains a zero byte", path);
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		appendPQExpBufferChar(&text, '\n');
	return text.data;
}

/* Returns the number of the line that begins at pos. */
static int
line_number(const char *text, const char *pos)
{
	int			n = 1;

	for (; text < pos; text++)
		n += *text == '\n';
	return n;
}

/* Returns the newline that ends the mask that begins here. */
static const char *
mask_end(const char *text)
{
	bool		quoted = false;
	bool		in_pattern = true;

	for (; *text; text++)
	{
		/* only quotes in the name: expressions have other rules */
		if (in_pattern && *text == '"')
			quoted = !quoted;
		if (*text == ':' && !quoted)
			in_pattern = false;
		if (*text == '\n' && !quoted && text[1] != ' ' && text[1] != '\t')
			break;
	}
	return text;
}

static bool
says_nothing(const char *line, size_t len)
{
	return line[0] == '#' || strspn(line, " \t\r\n") >= len;
}

static void
mask_file_read_file(Options *options, const char *path)
{
	char	   *text = read_text(path);
	int			n = 0;

	for (const char *line = text; *line;)
	{
		const char *end = says_nothing(line, strcspn(line, "\n")) ?
			line + strcspn(line, "\n") : mask_end(line);
		size_t		len = end - line;

		if (*end == '\0')
			pg_fatal("unterminated quoted name in file \"%s\", line %d", path,
					 line_number(text, line));
		if (len > 0 && line[len - 1] == '\r')
			len--;
		if (!says_nothing(line, len))
		{
			simple_string_list_append(&options->mask, pnstrdup(line, len));
			n++;
		}
		line = end + 1;
	}
	if (n == 0)
		pg_fatal("file \"%s\" contains no mask", path);
}

/* ----------
 * Reads the command line: pg_dump's options and our own.
 * ----------
 */

/* How an option is used: the values of StockOption.uses. */
enum
{
	OURS = 0,					/* read here, and not passed to pg_dump */
	PASSED,						/* passed to pg_dump, even if read here */
	INSERTS,					/* refused: rows as INSERT commands */
	UPGRADE,					/* refused: only for pg_upgrade */
	ANSWERED					/* help_if_asked() has handled the full name;
								 * a larger number: passed to pg_dump, from
								 * this major version on */
};

/*
 * All options of pg_dump 15 to 19 (pg_dump.c:main), and our options that have
 * a letter.
 */
static const StockOption pg_dump_options[] = {
	{{"attribute-inserts", OPTION_BARE}, 0, INSERTS},
	{{"binary-upgrade", OPTION_BARE}, 0, UPGRADE},
	{{"blobs", OPTION_BARE}, 'b', PASSED},
	{{"clean", OPTION_FLAG, MEMBER(clean)}, 'c', PASSED},
	{{"column-inserts", OPTION_BARE}, 0, INSERTS},
	{{"compress", OPTION_WITH_VALUE, MEMBER(compress_given)}, 'Z'},
	{{"create", OPTION_FLAG, MEMBER(create)}, 'C', PASSED},
	{{"data-only", OPTION_FLAG, MEMBER(data_only)}, 'a', PASSED},
	{{"dbname", OPTION_TEXT, MEMBER(connection.dbname)}, 'd'},
	{{"disable-dollar-quoting", OPTION_BARE}, 0, PASSED},
	{{"disable-triggers", OPTION_FLAG, MEMBER(disable_triggers)}, 0, PASSED},
	{{"enable-row-security", OPTION_FLAG, MEMBER(enable_row_security)}, 0, PASSED},
	{{"encoding", OPTION_TEXT, MEMBER(encoding)}, 'E', PASSED},
	{{"exclude-extension", OPTION_WITH_VALUE}, 0, 17},
	{{"exclude-schema", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 'N', PASSED},
	{{"exclude-table", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 'T', PASSED},
	{{"exclude-table-and-children", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 0, 16},
	{{"exclude-table-data", OPTION_WITH_VALUE}, 0, PASSED},
	{{"exclude-table-data-and-children", OPTION_WITH_VALUE}, 0, 16},
	{{"extension", OPTION_WITH_VALUE, MEMBER(chooses_extensions)}, 'e', PASSED},
	{{"extra-float-digits", OPTION_TEXT, MEMBER(extra_float_digits)}, 0, PASSED},
	{{"file", OPTION_TEXT, MEMBER(directory)}, 'f'},
	{{"filter", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 0, 17},
	{{"format", OPTION_WITH_VALUE}, 'F'},
	/* our options with a letter, as in other programs: -g, -r, -P */
	{{"globals-only", OPTION_FLAG, MEMBER(globals_only)}, 'g'},
	{{"help", OPTION_BARE}, 0, ANSWERED},
	{{"host", OPTION_TEXT, MEMBER(connection.pghost)}, 'h'},
	{{"if-exists", OPTION_BARE}, 0, PASSED},
	{{"include-foreign-data", OPTION_WITH_VALUE, MEMBER(foreign_data)}, 0, PASSED},
	{{"inserts", OPTION_BARE}, 0, INSERTS},
	{{"jobs", OPTION_WITH_VALUE, MEMBER(jobs_given)}, 'j'},
	{{"large-objects", OPTION_BARE}, 'b', PASSED},
	{{"load-via-partition-root", OPTION_BARE}, 0, PASSED},
	{{"lock-wait-timeout", OPTION_TEXT, MEMBER(lock_wait_timeout)}, 0, PASSED},
	{{"max-rate", OPTION_RATE, MEMBER(max_rate)}, 'r'},
	{{"no-acl", OPTION_FLAG, MEMBER(no_privileges)}, 'x', PASSED},
	{{"no-blobs", OPTION_BARE}, 'B', PASSED},
	{{"no-comments", OPTION_FLAG, MEMBER(no_comments)}, 0, PASSED},
	{{"no-data", OPTION_BARE}, 0, 18},
	{{"no-large-objects", OPTION_BARE}, 'B', PASSED},
	{{"no-owner", OPTION_FLAG, MEMBER(no_owner)}, 'O', PASSED},
	{{"no-password", OPTION_BARE}, 'w'},
	{{"no-policies", OPTION_BARE}, 0, 18},
	{{"no-privileges", OPTION_FLAG, MEMBER(no_privileges)}, 'x', PASSED},
	{{"no-publications", OPTION_BARE}, 0, PASSED},
	{{"no-reconnect", OPTION_BARE}, 'R'},
	{{"no-schema", OPTION_BARE}, 0, 18},
	{{"no-security-labels", OPTION_FLAG, MEMBER(no_security_labels)}, 0, PASSED},
	{{"no-statistics", OPTION_BARE}, 0, 18},
	{{"no-subscriptions", OPTION_BARE}, 0, PASSED},
	{{"no-sync", OPTION_BARE}, 1},
	{{"no-synchronized-snapshots", OPTION_BARE}, 0, PASSED},
	{{"no-table-access-method", OPTION_FLAG, MEMBER(no_table_access_method)}, 0, PASSED},
	{{"no-tablespaces", OPTION_FLAG, MEMBER(no_tablespaces)}, 0, PASSED},
	{{"no-toast-compression", OPTION_BARE}, 0, PASSED},
	{{"no-unlogged-table-data", OPTION_BARE}, 0, PASSED},
	{{"on-conflict-do-nothing", OPTION_BARE}, 0, INSERTS},
	{{"password", OPTION_BARE}, 'W'},
	{{"port", OPTION_TEXT, MEMBER(connection.pgport)}, 'p'},
	{{"progress", OPTION_FLAG, MEMBER(progress)}, 'P'},
	{{"quote-all-identifiers", OPTION_FLAG, MEMBER(quote_all_identifiers)}, 0, PASSED},
	{{"restrict-key", OPTION_WITH_VALUE}, 0, PASSED},
	{{"role", OPTION_TEXT, MEMBER(role)}, 0, PASSED},
	{{"rows-per-insert", OPTION_WITH_VALUE}, 0, INSERTS},
	{{"schema", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 'n', PASSED},
	{{"schema-only", OPTION_BARE}, 's', PASSED},
	{{"section", OPTION_WITH_VALUE}, 0, PASSED},
	{{"sequence-data", OPTION_BARE}, 0, 18},
	{{"serializable-deferrable", OPTION_FLAG, MEMBER(serializable_deferrable)}},
	{{"snapshot", OPTION_TEXT, MEMBER(snapshot)}},
	{{"statistics", OPTION_FLAG, MEMBER(statistics)}, 0, 18},
	{{"statistics-only", OPTION_BARE}, 0, 18},
	{{"strict-names", OPTION_BARE}, 0, PASSED},
	{{"superuser", OPTION_WITH_VALUE}, 'S', PASSED},
	{{"sync-method", OPTION_WITH_VALUE}, 2},
	{{"table", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 't', PASSED},
	{{"table-and-children", OPTION_WITH_VALUE, MEMBER(selects_tables)}, 0, 16},
	{{"use-set-session-authorization", OPTION_FLAG, MEMBER(use_session_authorization)}, 0, PASSED},
	{{"username", OPTION_TEXT, MEMBER(connection.pguser)}, 'U'},
	{{"verbose", OPTION_FLAG, MEMBER(verbose)}, 'v', PASSED},
	{{"version", OPTION_BARE}, 0, ANSWERED},
};

/*
 * -F: the directory format is the only one that can be written in parallel.
 */
static void
check_format(const char *format)
{
	if (pg_strcasecmp(format, "d") == 0 ||
		pg_strcasecmp(format, "directory") == 0)
		return;
	if (pg_strcasecmp(format, "c") != 0 && pg_strcasecmp(format, "custom") != 0 &&
		pg_strcasecmp(format, "p") != 0 && pg_strcasecmp(format, "plain") != 0 &&
		pg_strcasecmp(format, "t") != 0 && pg_strcasecmp(format, "tar") != 0)
		pg_fatal("invalid output format \"%s\" specified", format);
	pg_log_error("output format \"%s\" cannot be written in parallel", format);
	pg_fatal_hint("Use directory format (-Fd), or use pg_dump for other formats.  \"pg_restore -f\" converts a directory archive to a plain-text script.");
}

static SyncMethod
parse_sync(const char *arg)
{
	if (strcmp(arg, "syncfs") == 0)
		return SYNC_SYNCFS;
	if (strcmp(arg, "fsync") != 0)
		pg_fatal("unrecognized sync method: %s", arg);
	return SYNC_FSYNC;
}

static void
pass_on(Options *options, const char *arg)
{
	*array_add(options->pg_dump_args, options->n_pg_dump_args) = arg;
}

/* Read an option that does more than setting a member of Options. */
static void
read_special(Options *options, char letter, const char *arg)
{
	switch (letter)
	{
		case 'F':
			check_format(arg);
			break;
		case 'Z':
			option_value_compress(options, arg, COMPRESS_WHERE_BEST);
			break;
		case 1:
			options->sync_method = SYNC_NONE;
			break;
		case 2:
			/* as in pg_dump, --no-sync takes precedence, in any order */
			if (options->sync_method != SYNC_NONE)
				options->sync_method = parse_sync(arg);
			break;
	}
}

static void
read_option(Options *options, const StockOption *option, const char *arg)
{
	const char *name = option->row.name;

	if (option->uses == INSERTS || option->uses == UPGRADE)
		pg_log_error("option --%s is not supported", name);
	if (option->uses == INSERTS)
	{
		pg_log_error_detail("Rows written as INSERT commands cannot be split into chunks.");
		pg_fatal_hint("Use pg_dump for INSERT commands.");
	}
	if (option->uses == UPGRADE)
		pg_fatal_detail("This option is reserved for pg_upgrade, which runs pg_dump itself.");
	option_table_store(options, &option->row, arg);
	if (!option_read_common(options, option->letter, arg))
		read_special(options, option->letter, arg);
	/* older pg_dumps do not have the option */
	if (option->uses > ANSWERED && option->uses > options->needed_major)
	{
		options->needed_major = option->uses;
		options->needed_for = name;
	}
	if (option->uses == OURS)
		return;
	if (option->letter < ' ')
		pass_on(options, arg ? psprintf("--%s=%s", name, arg) :
				psprintf("--%s", name));
	else
	{
		/* pass the argument separately, because it may be empty (-N '') */
		pass_on(options, psprintf("-%c", option->letter));
		if (arg)
			pass_on(options, arg);
	}
}

/* Check combinations of options, except those that pg_dump checks. */
static void
check_options(const Options *options, const OptionTable *table)
{
	if ((options->directory == NULL && !options->dry_run && !options->check &&
		 options->pipe_command == NULL && options->target == NULL &&
		 options->verify == NULL && options->compare_with == NULL &&
		 options->task == NULL &&
		 (options->shared_snapshot == NULL || !options->all_databases)) ||
		(options->directory && options->directory[0] == '\0'))
	{
		pg_log_error("no output directory specified");
		pg_fatal_hint("Use -f DIRECTORY to specify a new directory, --pipe to write to commands, or --target to copy into another database.");
	}
	own_options_check(options, table);
	if (options->extra_float_digits != NULL)
		(void) option_value_number(options->extra_float_digits,
								   "--extra-float-digits", -15, 3);
}

/* Returns options with their defaults, as far as these are not 0. */
static Options *
new_options(void)
{
	Options    *options = pg_malloc0(sizeof(Options));

	options->jobs = 1;			/* as in pg_dump */
	options->sync_method = SYNC_FSYNC;
	options->retries = 5;
	options->stall_timeout = 60;
	options->standby_snapshot_timeout = 30;
	options->connection.prompt_password = TRI_DEFAULT;
	options->one_of_all = message_database() != NULL;
	return options;
}

/* Was --pipe or an abbreviation of it specified? */
static bool
has_pipe(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--pi", strlen("--pi")) == 0)
			return true;
	return false;
}

static void
read_options(Options *options, int argc, char **argv, const OptionTable *table)
{
	const char *letters = option_table_letters(table);
	struct option *names = option_table_names(table);
	int			c;

	/*
	 * --verify requires a directory unless --pipe is specified.  If the
	 * directory were always optional, "--verify -dir" would be two options,
	 * and with POSIXLY_CORRECT no option could follow "--verify DIR".
	 */
	for (struct option *name = names; name->name && !has_pipe(argc, argv); name++)
		if (name->has_arg == optional_argument)
			name->has_arg = required_argument;

	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1)
	{
		const StockOption *stock;
		const OptionRow *row = option_table_find(table, c, &stock);

		/* getopt_long() has reported the error */
		if (row == NULL || (stock && stock->uses == ANSWERED))
			help_try_option(argv, names);
		if (stock)
			read_option(options, stock, optarg);
		else
			option_table_store(options, row, optarg);

		/* patterns must match in one of the databases (cluster_list.c) */
		if (strcmp(row->name, "table") == 0)
			simple_string_list_append(&options->run_tables, optarg);
		else if (strcmp(row->name, "schema") == 0)
			simple_string_list_append(&options->run_schemas, optarg);
		else if (strcmp(row->name, "table-and-children") == 0)
			simple_string_list_append(&options->run_tables_and_children, optarg);
		else
			cluster_options_note(options, row->name, optarg);
	}
}

/*
 * Set the archive to verify: a directory, or the files that the command of
 * --pipe returns, but not both.
 */
static void
settle_verify(Options *options, int argc, char **argv)
{
	if (options->pipe_command && (options->verify[0] != '\0' || optind < argc))
		pg_fatal("options %s and %s cannot be used together",
				 "--verify=DIRECTORY", "--pipe");
	if (options->pipe_command)
		options->verify = options->pipe_command;
	if (options->verify[0] == '\0')
		pg_fatal("no directory specified for option %s", "--verify");
}

const Options *
options_parse(int argc, char **argv)
{
	OptionTable table = {pg_dump_options, lengthof(pg_dump_options)};
	Options    *options;

	help_if_asked(argc, argv, "pg_pardump", help_print);
	options = new_options();
	table.rows = own_options_rows(&table.n_rows);
	read_options(options, argc, argv, &table);
	if (options->verify)
		settle_verify(options, argc, argv);
	/* The database may be named without -d, but not twice. */
	if (optind < argc && options->all_databases)
	{
		pg_log_error("cannot dump all databases and a specific one (\"%s\") at the same time",
					 argv[optind]);
		pg_fatal_hint("Use -d to specify the database to connect to first.");
	}
	if (optind < argc && options->connection.dbname == NULL)
		options->connection.dbname = argv[optind++];
	help_refuse_more(argc, argv);
	/* before the rules, which contain --mask, but not --mask-file */
	for (const SimpleStringListCell *cell = options->mask_files.head; cell;
		 cell = cell->next)
		mask_file_read_file(options, cell->val);
	/* only now, because options may have any order */
	check_options(options, &table);
	if (options->incremental_pipe)
		options->incremental = options->incremental_pipe;
	/* the number of tasks that read at the same time */
	if (options->tasks)
	{
		options->jobs = (int) options->tasks;
		options->jobs_given = true;
	}
	return options;
}
