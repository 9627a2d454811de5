/*
 * options_parse.c
 *		Reads the command line: pg_dump's options and our own.
 *
 * pg_dump's options of all majors are accepted; those that only choose what
 * is dumped go on to the stock pg_dump that makes the plan, which knows which
 * of them its major has and which exclude each other.  Options that concern
 * the output or the session are read here, some of them are passed on as
 * well.
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

/* Of the cluster, or set for each database separately. */
static const char own_letters[] = "dhpUwWfjPg";
static const char *const own_names[] = {
	"all-databases", "create", "dbname", "exclude-database", "globals-only",
	"host", "incremental", "incremental-copy-method", "jobs", "mask",
	"mask-file", "metrics", "no-password", "no-progress",
	"no-role-passwords", "password", "port", "progress", "report",
	"resume", "roles-only", "sample",
	"tablespaces-only", "target", "username", "verify", "where"
};

static void
add_arg(Options *options, const char *arg)
{
	options->run_args = array_room(options->run_args, options->n_run_args,
								   sizeof(char *));
	options->run_args[options->n_run_args++] = arg;
}

/* pg_dump's patterns that must match: where, cluster_list.c finds out. */
static bool
note_pattern(Options *options, int letter, const char *name, const char *arg)
{
	SimpleStringList *list = letter == 't' ? &options->run_tables :
		letter == 'n' ? &options->run_schemas :
		letter == 0 && strcmp(name, "table-and-children") == 0 ?
		&options->run_tables_and_children : NULL;

	if (list)
		simple_string_list_append(list, arg);
	return list != NULL;
}

void
cluster_options_note(Options *options, int letter, const char *name,
					 const char *arg)
{
	if (note_pattern(options, letter, name, arg))
		return;
	if (letter != 0)
	{
		if (strchr(own_letters, letter) != NULL)
			return;
		/* an argument goes apart, as it may be empty */
		add_arg(options, psprintf("-%c", letter));
		if (arg)
			add_arg(options, arg);
		return;
	}
	for (int i = 0; i < (int) lengthof(own_names); i++)
		if (strcmp(name, own_names[i]) == 0)
			return;
	add_arg(options, arg ? psprintf("--%s=%s", name, arg) :
			psprintf("--%s", name));
}

/* ----------
 * Files of --mask-file: a line is an argument of --mask.
 *
 * A line that begins with a blank continues the one before it, and lines
 * that are empty or begin with # have no meaning.  This code decides only
 * where a mask ends; row_mask.c reads its contents.  A name in double quotes
 * may contain the end of a line.
 * ----------
 */

/* The text of a file, which ends in a newline if there is any; owned. */
static char *
read_text(const char *path)
{
	FILE	   *file = fopen(path, "r");
	PQExpBufferData text;
	char		part[4096];
	size_t		len;

	if (file == NULL)
		pg_fatal("could not open file \"%s\": %m", path);
	initPQExpBuffer(&text);
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

/* The newline that ends the mask that begins here. */
static const char *
mask_end(const char *text)
{
	bool		quoted = false;
	bool		in_pattern = true;

	for (; *text; text++)
	{
		/* quotes count in the name only: an expression has its own rules */
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
			pg_fatal("unterminated quoted name in file \"%s\"", path);
		if (len > 0 && line[len - 1] == '\r')
			len--;
		if (!says_nothing(line, len))
		{
			char	   *mask = pnstrdup(line, len);

			simple_string_list_append(&options->mask, mask);
			free(mask);
			n++;
		}
		line = end + 1;
	}
	free(text);
	if (n == 0)
		pg_fatal("file \"%s\" contains no mask", path);
}

static void
mask_files_read(Options *options)
{
	for (const SimpleStringListCell *cell = options->mask_files.head; cell;
		 cell = cell->next)
		mask_file_read_file(options, cell->val);
}

/* ----------
 * Reads the command line: pg_dump's options and our own.
 * ----------
 */

/* Long options without a short one: values above any character. */
enum
{
	OPT_PASS = 1000,			/* goes to pg_dump as it is */
	OPT_PASS_LAST = OPT_PASS + 99,	/* the same, of a newer pg_dump */
	OPT_INSERTS,				/* cannot be: rows as INSERT commands */
	OPT_BINARY_UPGRADE,			/* cannot be: for pg_upgrade only */
	OPT_ENABLE_ROW_SECURITY,
	OPT_EXTRA_FLOAT_DIGITS,
	OPT_LOCK_WAIT_TIMEOUT,
	OPT_NO_SYNC,
	OPT_QUOTE_ALL_IDENTIFIERS,
	OPT_ROLE,
	OPT_SERIALIZABLE_DEFERRABLE,
	OPT_SNAPSHOT,
	OPT_SYNC_METHOD
};

/* Goes to pg_dump as it is, of this major and of later ones. */
#define PASS_SINCE(major) (OPT_PASS + (major))

static const char short_options[] = "abBcCd:e:E:f:F:gh:j:n:N:Op:Pr:RsS:t:T:U:vwWxZ:";

/* The union of pg_dump 15 to 19 (pg_dump.c:main). */
static const struct option pg_dump_options[] = {
	{"attribute-inserts", no_argument, NULL, OPT_INSERTS},
	{"binary-upgrade", no_argument, NULL, OPT_BINARY_UPGRADE},
	{"blobs", no_argument, NULL, 'b'},
	{"clean", no_argument, NULL, 'c'},
	{"column-inserts", no_argument, NULL, OPT_INSERTS},
	{"compress", required_argument, NULL, 'Z'},
	{"create", no_argument, NULL, 'C'},
	{"data-only", no_argument, NULL, 'a'},
	{"dbname", required_argument, NULL, 'd'},
	{"disable-dollar-quoting", no_argument, NULL, OPT_PASS},
	{"disable-triggers", no_argument, NULL, OPT_PASS},
	{"enable-row-security", no_argument, NULL, OPT_ENABLE_ROW_SECURITY},
	{"encoding", required_argument, NULL, 'E'},
	{"exclude-extension", required_argument, NULL, PASS_SINCE(17)},
	{"exclude-schema", required_argument, NULL, 'N'},
	{"exclude-table", required_argument, NULL, 'T'},
	{"exclude-table-and-children", required_argument, NULL, PASS_SINCE(16)},
	{"exclude-table-data", required_argument, NULL, OPT_PASS},
	{"exclude-table-data-and-children", required_argument, NULL, PASS_SINCE(16)},
	{"extension", required_argument, NULL, 'e'},
	{"extra-float-digits", required_argument, NULL, OPT_EXTRA_FLOAT_DIGITS},
	{"file", required_argument, NULL, 'f'},
	{"filter", required_argument, NULL, PASS_SINCE(17)},
	{"format", required_argument, NULL, 'F'},
	{"help", no_argument, NULL, '?'},
	{"host", required_argument, NULL, 'h'},
	{"if-exists", no_argument, NULL, OPT_PASS},
	{"include-foreign-data", required_argument, NULL, OPT_PASS},
	{"inserts", no_argument, NULL, OPT_INSERTS},
	{"jobs", required_argument, NULL, 'j'},
	{"large-objects", no_argument, NULL, 'b'},
	{"load-via-partition-root", no_argument, NULL, OPT_PASS},
	{"lock-wait-timeout", required_argument, NULL, OPT_LOCK_WAIT_TIMEOUT},
	/* ours, but with a letter, as pg_basebackup has it */
	{"max-rate", required_argument, NULL, 'r'},
	{"no-acl", no_argument, NULL, 'x'},
	{"no-blobs", no_argument, NULL, 'B'},
	{"no-comments", no_argument, NULL, OPT_PASS},
	{"no-data", no_argument, NULL, PASS_SINCE(18)},
	{"no-large-objects", no_argument, NULL, 'B'},
	{"no-owner", no_argument, NULL, 'O'},
	{"no-password", no_argument, NULL, 'w'},
	{"no-policies", no_argument, NULL, PASS_SINCE(18)},
	{"no-privileges", no_argument, NULL, 'x'},
	{"no-publications", no_argument, NULL, OPT_PASS},
	{"no-reconnect", no_argument, NULL, 'R'},
	{"no-schema", no_argument, NULL, PASS_SINCE(18)},
	{"no-security-labels", no_argument, NULL, OPT_PASS},
	{"no-statistics", no_argument, NULL, PASS_SINCE(18)},
	{"no-subscriptions", no_argument, NULL, OPT_PASS},
	{"no-sync", no_argument, NULL, OPT_NO_SYNC},
	{"no-synchronized-snapshots", no_argument, NULL, OPT_PASS},
	{"no-table-access-method", no_argument, NULL, OPT_PASS},
	{"no-tablespaces", no_argument, NULL, OPT_PASS},
	{"no-toast-compression", no_argument, NULL, OPT_PASS},
	{"no-unlogged-table-data", no_argument, NULL, OPT_PASS},
	{"on-conflict-do-nothing", no_argument, NULL, OPT_INSERTS},
	{"password", no_argument, NULL, 'W'},
	{"port", required_argument, NULL, 'p'},
	{"quote-all-identifiers", no_argument, NULL, OPT_QUOTE_ALL_IDENTIFIERS},
	{"restrict-key", required_argument, NULL, OPT_PASS},
	{"role", required_argument, NULL, OPT_ROLE},
	{"rows-per-insert", required_argument, NULL, OPT_INSERTS},
	{"schema", required_argument, NULL, 'n'},
	{"schema-only", no_argument, NULL, 's'},
	{"section", required_argument, NULL, OPT_PASS},
	{"sequence-data", no_argument, NULL, PASS_SINCE(18)},
	{"serializable-deferrable", no_argument, NULL, OPT_SERIALIZABLE_DEFERRABLE},
	{"snapshot", required_argument, NULL, OPT_SNAPSHOT},
	{"statistics", no_argument, NULL, PASS_SINCE(18)},
	{"statistics-only", no_argument, NULL, PASS_SINCE(18)},
	{"strict-names", no_argument, NULL, OPT_PASS},
	{"superuser", required_argument, NULL, 'S'},
	{"sync-method", required_argument, NULL, OPT_SYNC_METHOD},
	{"table", required_argument, NULL, 't'},
	{"table-and-children", required_argument, NULL, PASS_SINCE(16)},
	{"use-set-session-authorization", no_argument, NULL, OPT_PASS},
	{"username", required_argument, NULL, 'U'},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0}
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
	if (strcmp(arg, "fsync") == 0)
		return SYNC_FSYNC;
	if (strcmp(arg, "syncfs") == 0)
	{
#ifdef __linux__
		return SYNC_SYNCFS;
#else
		pg_fatal("this build does not support sync method \"%s\"", "syncfs");
#endif
	}
	pg_fatal("unrecognized sync method: %s", arg);
}

static void
pass_on(Options *options, const char *arg)
{
	options->pg_dump_args = array_room(options->pg_dump_args,
									   options->n_pg_dump_args,
									   sizeof(char *));
	options->pg_dump_args[options->n_pg_dump_args++] = arg;
}

/* An argument goes apart, as it may be empty (-N ''). */
static void
pass_on_short(Options *options, int letter, const char *arg)
{
	pass_on(options, psprintf("-%c", letter));
	if (arg)
		pass_on(options, arg);
}

static void
pass_on_long(Options *options, const char *name, const char *arg)
{
	pass_on(options, arg ? psprintf("--%s=%s", name, arg)
			: psprintf("--%s", name));
}

/* Options with a short letter; false for those that have none. */
static bool
read_short_option(Options *options, int c, const char *arg)
{
	if (option_read_common(options, c, arg))
	{
		if (c == 'v')
			pass_on_short(options, c, NULL);
		return true;
	}
	switch (c)
	{
		case 'd':
			options->connection.dbname = arg;
			return true;
		case 'h':
			options->connection.pghost = arg;
			return true;
		case 'p':
			options->connection.pgport = arg;
			return true;
		case 'U':
			options->connection.pguser = arg;
			return true;
		case 'f':
			options->directory = arg;
			return true;
		case 'F':
			check_format(arg);
			return true;
		case 'Z':
			option_value_compress(options, arg, COMPRESS_WHERE_BEST);
			return true;
		case 'g':
			options->globals_only = true;
			return true;
		case 'r':
			options->max_rate = option_value_rate(arg, "-r/--max-rate");
			return true;
		case 'P':
			options->progress = true;
			return true;
		case 'E':
			options->encoding = arg;
			pass_on_short(options, c, arg);
			return true;
		case 'R':				/* no-op in pg_dump too */
			return true;
	}
	if (c > 0 && c < 128 && c != '?' && strchr(short_options, c) != NULL)
	{
		pass_on_short(options, c, arg);
		return true;
	}
	return false;
}

/* pg_dump has the option since this major, but not before. */
static void
note_major(Options *options, const char *name, int major)
{
	if (major <= options->needed_major)
		return;
	options->needed_major = major;
	options->needed_for = name;
}

static void
refuse_inserts(const char *name)
{
	pg_log_error("option --%s is not supported", name);
	pg_log_error_detail("Rows written as INSERT commands cannot be split into chunks.");
	pg_fatal_hint("Use pg_dump for INSERT commands.");
}

static void
read_long_option(Options *options, int c, const char *name, const char *arg)
{
	switch (c)
	{
		case OPT_INSERTS:
			refuse_inserts(name);
			break;
		case OPT_BINARY_UPGRADE:
			pg_log_error("option --%s is not supported", name);
			pg_fatal_hint("This option is reserved for pg_upgrade, which runs pg_dump itself.");
		case OPT_NO_SYNC:
			options->sync_method = SYNC_NONE;
			return;
		case OPT_SYNC_METHOD:
			/* --no-sync counts, in either order of the two, as in pg_dump */
			if (options->sync_method != SYNC_NONE)
				options->sync_method = parse_sync(arg);
			return;
		case OPT_SNAPSHOT:
			options->snapshot = arg;
			return;
		case OPT_SERIALIZABLE_DEFERRABLE:
			options->serializable_deferrable = true;
			return;
			/* the session's, and pg_dump's too */
		case OPT_ROLE:
			options->role = arg;
			break;
		case OPT_LOCK_WAIT_TIMEOUT:
			options->lock_wait_timeout = arg;
			break;
		case OPT_ENABLE_ROW_SECURITY:
			options->enable_row_security = true;
			break;
		case OPT_QUOTE_ALL_IDENTIFIERS:
			options->quote_all_identifiers = true;
			break;
		case OPT_EXTRA_FLOAT_DIGITS:
			options->extra_float_digits = arg;
			break;
		default:
			note_major(options, name, c - OPT_PASS);
			break;
	}
	pass_on_long(options, name, arg);
}

static bool
is_passed(int c)
{
	return c >= OPT_PASS && c <= OPT_PASS_LAST;
}

/* What must hold between options; the rest of it pg_dump checks. */
static void
check_options(const Options *options)
{
	if ((options->directory == NULL && !options->dry_run && !options->check &&
		 options->pipe_command == NULL && options->target == NULL &&
		 options->verify == NULL && options->compare_with == NULL &&
		 options->task == NULL) ||
		(options->directory && options->directory[0] == '\0'))
	{
		pg_log_error("no output directory specified");
		pg_fatal_hint("Use -f DIRECTORY to specify a new directory, --pipe to write to commands, or --target to copy into another database.");
	}
	own_options_check(options);
	if (options->extra_float_digits != NULL)
		(void) option_value_number(options->extra_float_digits,
								   "--extra-float-digits", -15, 3);
}

/* What is not 0 unless it is given. */
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

static void
read_options(Options *options, int argc, char **argv)
{
	struct option *long_options = own_options_append(pg_dump_options);
	int			c;
	int			index = -1;

	while ((c = getopt_long(argc, argv, short_options,
							long_options, &index)) != -1)
	{
		/*
		 * A copy tells pg_restore, too, what the schema is to be like.  So
		 * these flags are noted, and also read as pg_dump's.  One that is
		 * passed on has no letter, only its place in the table.
		 */
		own_options_note_flag(options, c,
							  is_passed(c) ? long_options[index].name : NULL);
		cluster_options_note(options, c < OPT_PASS ? c : 0,
							 c < OPT_PASS ? NULL : long_options[index].name, optarg);
		if (own_option_read(options, c, optarg) ||
			read_short_option(options, c, optarg))
			continue;
		if (c < OPT_PASS)
		{
			/* getopt_long has said what is wrong */
			help_try_option(argv, long_options);
		}
		read_long_option(options, c, long_options[index].name, optarg);
	}
}

/* The database may be named without -d, but not twice. */
static void
read_database(Options *options, int argc, char **argv)
{
	if (optind < argc && options->all_databases)
	{
		pg_log_error("cannot dump all databases and a specific one (\"%s\") at the same time",
					 argv[optind]);
		pg_fatal_hint("Use -d to specify the database to connect to first.");
	}
	if (optind < argc && options->connection.dbname == NULL)
		options->connection.dbname = argv[optind++];
	help_refuse_more(argc, argv);
}

const Options *
options_parse(int argc, char **argv)
{
	Options    *options;

	help_if_asked(argc, argv, "pg_pardump", help_print);
	options = new_options();
	read_options(options, argc, argv);
	read_database(options, argc, argv);
	/* before the rules, which know of --mask alone */
	mask_files_read(options);
	/* only now, as an option may stand before the one that it needs */
	check_options(options);
	/* as many read at a time */
	if (options->tasks)
	{
		options->jobs = (int) options->tasks;
		options->jobs_given = true;
	}
	return options;
}
