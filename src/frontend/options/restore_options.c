/*
 * restore_options.c
 *		Reads the command line of pg_parrestore: pg_restore's options and our
 *		own.
 *
 * pg_restore's options of all majors are accepted.  Options that select
 * entries are passed to the stock pg_restore that lists the entries.  It
 * knows which of them its major version has, and which exclude each other.
 * All other options that do not disturb the list are passed to it, too.
 */
#include "base/fe_compat.h"

#include "options/help.h"
#include "options/option_table.h"
#include "options/options_parse.h"

/* How an option of pg_restore is used. */
typedef enum RestoreOptionUse
{
	USE_HERE = 0,				/* only used here, for example for the
								 * connection */
	USE_LIST = 1,				/* passed to pg_restore -l */
	USE_MAKE = 2,				/* passed to runs that create definitions */
	USE_SELECT = 4,				/* it excludes some definitions, which may be
								 * extensions */
	USE_NAME = 8				/* it selects by name */
} RestoreOptionUse;

/*
 * All options of pg_restore 15 to 18 (pg_restore.c:main).  If an option is
 * not passed to runs of pg_restore unchanged, stock_pg_restore.c passes it in
 * another form.
 */
static const StockOption restore_options[] = {
	{{"clean", OPTION_FLAG, MEMBER(clean)}, 'c', USE_LIST},
	{{"create", OPTION_FLAG, MEMBER(create)}, 'C', USE_LIST},
	{{"data-only", OPTION_FLAG, MEMBER(data_only)}, 'a', USE_LIST | USE_SELECT},
	{{"dbname", OPTION_TEXT, MEMBER(connection.dbname)}, 'd', USE_HERE},
	{{"disable-triggers", OPTION_FLAG, MEMBER(disable_triggers)}, 0, USE_LIST},
	{{"enable-row-security", OPTION_FLAG, MEMBER(enable_row_security)}, 0, USE_LIST | USE_MAKE},
	{{"exclude-schema", OPTION_WITH_VALUE}, 'N', USE_LIST | USE_NAME},
	{{"exit-on-error", OPTION_FLAG, MEMBER(exit_on_error)}, 'e', USE_MAKE},
	{{"file", OPTION_WITH_VALUE}, 'f', USE_HERE},
	{{"filter", OPTION_WITH_VALUE}, 0, USE_LIST | USE_SELECT},
	{{"format", OPTION_WITH_VALUE}, 'F', USE_LIST},
	{{"function", OPTION_WITH_VALUE}, 'P', USE_LIST | USE_SELECT | USE_NAME},
	{{"host", OPTION_TEXT, MEMBER(connection.pghost)}, 'h', USE_HERE},
	{{"if-exists", OPTION_FLAG, MEMBER(if_exists)}, 0, USE_LIST},
	{{"index", OPTION_WITH_VALUE}, 'I', USE_LIST | USE_SELECT | USE_NAME},
	{{"jobs", OPTION_WITH_VALUE, MEMBER(jobs_given)}, 'j', USE_HERE},
	{{"list", OPTION_FLAG, MEMBER(list)}, 'l', USE_HERE},
	{{"no-acl", OPTION_FLAG, MEMBER(no_privileges)}, 0, USE_LIST},
	{{"no-comments", OPTION_BARE}, 0, USE_LIST},
	{{"no-data", OPTION_BARE}, 0, USE_LIST},
	{{"no-data-for-failed-tables", OPTION_FLAG, MEMBER(no_data_for_failed_tables)}, 0, USE_LIST},
	{{"no-owner", OPTION_FLAG, MEMBER(no_owner)}, 'O', USE_LIST},
	{{"no-password", OPTION_BARE}, 'w', USE_HERE},
	{{"no-policies", OPTION_BARE}, 0, USE_LIST},
	{{"no-privileges", OPTION_FLAG, MEMBER(no_privileges)}, 'x', USE_LIST},
	{{"no-publications", OPTION_BARE}, 0, USE_LIST},
	{{"no-reconnect", OPTION_BARE}, 'R', USE_LIST},
	{{"no-schema", OPTION_BARE}, 0, USE_LIST | USE_SELECT},
	{{"no-security-labels", OPTION_BARE}, 0, USE_LIST},
	{{"no-statistics", OPTION_BARE}, 0, USE_LIST},
	{{"no-subscriptions", OPTION_BARE}, 0, USE_LIST},
	{{"no-table-access-method", OPTION_FLAG, MEMBER(no_table_access_method)}, 0, USE_LIST},
	{{"no-tablespaces", OPTION_FLAG, MEMBER(no_tablespaces)}, 0, USE_LIST},
	{{"password", OPTION_BARE}, 'W', USE_HERE},
	{{"port", OPTION_TEXT, MEMBER(connection.pgport)}, 'p', USE_HERE},
	{{"restrict-key", OPTION_WITH_VALUE}, 0, USE_LIST},
	{{"role", OPTION_TEXT, MEMBER(role)}, 0, USE_HERE},
	{{"schema", OPTION_WITH_VALUE}, 'n', USE_LIST | USE_SELECT | USE_NAME},
	{{"schema-only", OPTION_BARE}, 's', USE_LIST},
	{{"section", OPTION_WITH_VALUE}, 0, USE_LIST},
	{{"single-transaction", OPTION_BARE}, '1', USE_HERE},
	{{"statistics", OPTION_BARE}, 0, USE_LIST},
	{{"statistics-only", OPTION_BARE}, 0, USE_LIST | USE_SELECT},
	{{"strict-names", OPTION_FLAG, MEMBER(strict_names)}, 0, USE_LIST},
	{{"superuser", OPTION_TEXT, MEMBER(superuser)}, 'S', USE_HERE},
	{{"table", OPTION_WITH_VALUE}, 't', USE_LIST | USE_SELECT | USE_NAME},
	{{"transaction-size", OPTION_WITH_VALUE}, 0, USE_LIST | USE_MAKE},
	{{"trigger", OPTION_WITH_VALUE}, 'T', USE_LIST | USE_SELECT | USE_NAME},
	{{"use-list", OPTION_WITH_VALUE}, 'L', USE_LIST | USE_SELECT},
	{{"use-set-session-authorization", OPTION_FLAG, MEMBER(use_session_authorization)}, 0, USE_LIST},
	{{"username", OPTION_TEXT, MEMBER(connection.pguser)}, 'U', USE_HERE},
	{{"verbose", OPTION_FLAG, MEMBER(verbose)}, 'v', USE_HERE},
};

static const OptionRow own_options[] = {
	SHARED_OPTIONS,
	{"allow-existing", OPTION_FLAG, MEMBER(allow_existing)},
	{"compare-with", OPTION_TEXT, MEMBER(compare_with)},
	{"globals-only", OPTION_FLAG, MEMBER(globals_only)},
	{"pg-restore", OPTION_TEXT, MEMBER(pg_restore_path)},
	{"progress", OPTION_FLAG, MEMBER(progress)},
	{"resume", OPTION_FLAG, MEMBER(resume)},
	{"verify", OPTION_FLAG, MEMBER(verify_first)},
};

static const OptionTable table = {
	restore_options, lengthof(restore_options), own_options, lengthof(own_options)
};

/* The bit of one of our options in Options.own_given. */
#define OWN_BIT(no) (UINT64CONST(1) << (no))

StaticAssertDecl(lengthof(own_options) <= 64, "each of our options has a bit");

/* Arguments for a program, NULL-terminated. */
typedef struct ArgList
{
	const char **args;
	int			n;
} ArgList;

#define SECTION_PRE_DATA 1
#define SECTION_OTHER 2

typedef struct CommandLine
{
	Options    *options;
	ArgList		all;
	ArgList		list;
	ArgList		make;
	int			sections;		/* the sections of --section */
} CommandLine;

static void
add_arg(ArgList *list, const char *arg)
{
	list->args = pg_realloc(list->args, (list->n + 2) * sizeof(char *));
	list->args[list->n++] = arg;
	list->args[list->n] = NULL;
}

/* Read an option that does more than setting a member of Options. */
static void
read_special(Options *options, char letter, const char *arg)
{
	switch (letter)
	{
		case 'l':
		case 'f':
			options->by_stock = "";
			break;
		case '1':
			options->by_stock = "a single transaction requires a single session";
			break;
		case 'F':
			if (pg_tolower((unsigned char) arg[0]) == 't')
				options->by_stock = STOCK_READS_TAR;
			break;
	}
}

static void
read_option(CommandLine *line, const StockOption *option, const char *arg)
{
	const char *text = arg ? psprintf("--%s=%s", option->row.name, arg)
		: psprintf("--%s", option->row.name);

	option_table_store(line->options, &option->row, arg);
	if (!option_read_common(line->options, option->letter, arg))
		read_special(line->options, option->letter, arg);
	/* as in pg_restore.c:main */
	if (strcmp(option->row.name, "transaction-size") == 0)
		line->options->exit_on_error = true;
	/* only valid for a script, which pg_restore reports */
	if (strcmp(option->row.name, "restrict-key") == 0 &&
		line->options->by_stock == NULL)
		line->options->by_stock = "";
	if (line->options->by_stock && line->options->by_stock_option == NULL)
		line->options->by_stock_option = text;
	add_arg(&line->all, text);
	if (strcmp(option->row.name, "section") == 0)
		line->sections |= strcmp(arg, "pre-data") == 0 ? SECTION_PRE_DATA : SECTION_OTHER;
	if (option->uses & USE_SELECT)
		line->options->selects_entries = true;
	if (option->uses & USE_NAME)
		simple_string_list_append(&line->options->name_filters,
								  psprintf("%c%s", option->letter, arg));
	if (option->uses & USE_LIST)
		add_arg(&line->list, text);
	if (option->uses & USE_MAKE)
		add_arg(&line->make, text);
}

/* Is one of our options useful if stock pg_restore does the work? */
static bool
is_for_stock(const Options *options, size_t offset)
{
	if (offset == MEMBER(pg_restore_path))
		return true;
	/* pg_restore -l only requires toc.dat, which a command returns */
	return options->list && options->pipe_command &&
		(offset == MEMBER(pipe_command) || offset == MEMBER(retries) ||
		 offset == MEMBER(stall_timeout));
}

void
restore_options_check_stock(const Options *options, const char *reason)
{
	const char *given = NULL;

	for (int i = 0; i < (int) lengthof(own_options); i++)
		if ((options->own_given & OWN_BIT(i)) != 0 &&
			!is_for_stock(options, own_options[i].offset))
			given = own_options[i].name;
	if (given && *reason)
	{
		pg_log_error("option --%s cannot be used, because pg_restore runs this restore",
					 given);
		pg_fatal_detail("%s", message_sentence(reason));
	}
	if (given)
		pg_fatal("option --%s cannot be used without a database to restore into",
				 given);
}

/* pg_restore checks all other combinations of options. */
static const OptionRule rules[] = {
	{"--exclude-database", NEEDS, "--all-databases"},
	{"--globals-only", NEEDS, "--all-databases"},
	{"--all-databases", NEEDS, "-d/--dbname"},
	{"--all-databases", EXCLUDES, "-c/--clean", "--all-databases creates the databases.  Drop existing databases first."},
	{"--all-databases", EXCLUDES, "--compare-with", "Option --compare-with applies to one database only."},
	{"--globals-only", EXCLUDES, "--resume"},
	{"--globals-only", EXCLUDES, "--check"},
	{"-g/--globals-only", EXCLUDES, "--exclude-database"},
	{"--progress", EXCLUDES, "--no-progress"},
	{"--metrics", EXCLUDES, "--check"},
	{"--report", EXCLUDES, "--check"},
	{"--report-history", NEEDS, "--report"},
	{"--allow-affected-standby", NEEDS, "--compare-with"},
	{"--trust-owners", NEEDS, "--compare-with"},
	{"--if-exists", NEEDS, "-c/--clean"},
	{"--pipe-prefetch", NEEDS, "--pipe"},
	{"--pipe", EXCLUDES, "--verify", "Each file would be read twice.  Its checksum in the manifest is checked while it is restored."},
};

/* pg_restore refuses this too, but under its own name. */
static void
refuse_file_and_database(const Options *options)
{
	const char *const *args = options->pg_restore_args;

	if (options->connection.dbname == NULL)
		return;
	for (int i = 0; args && args[i] && strcmp(args[i], "--") != 0; i++)
		if (strncmp(args[i], "--file=", strlen("--file=")) == 0)
			pg_fatal("options %s and %s cannot be used together",
					 "-d/--dbname", "-f/--file");
}

/*
 * Check --pipe.  Only the directory format can be read through commands: a
 * file in the custom format is read at many offsets, and other formats are
 * left to pg_restore.
 */
static void
check_pipe(Options *options)
{
	const char *const *args = options->pg_restore_args;

	option_value_check_pipe("--pipe", options->pipe_command,
							options->all_databases);
	if (options->restore)
		pg_fatal("an archive cannot be specified together with option %s", "--pipe");
	for (int i = 0; args && args[i]; i++)
		if (strncmp(args[i], "--format=", strlen("--format=")) == 0 &&
			pg_tolower((unsigned char) args[i][strlen("--format=")]) != 'd')
		{
			pg_log_error("options %s and %s cannot be used together", "--pipe", args[i]);
			pg_fatal_detail("Commands can only return the files of an archive in the directory format.");
		}
	options->restore = options->pipe_command;
}

static void
check_options(Options *options)
{
	const char *archive;

	if (options->pipe_command)
		check_pipe(options);
	archive = options->restore;

	option_rules_check(options, rules, lengthof(rules), &table);
	/* for all databases, --check shows what would be resumed */
	if (options->resume && options->check && !options->all_databases)
	{
		pg_log_error("options %s and %s cannot be used together", "--resume", "--check");
		pg_fatal_hint("Use --resume without --check.  Only with --all-databases, --check shows what --resume would do.");
	}
	if (options->all_databases && archive == NULL)
		pg_fatal("no input directory specified");
	if (options->all_databases && options->by_stock)
	{
		pg_log_error("options %s and %s cannot be used together",
					 "--all-databases", options->by_stock_option);
		pg_fatal_detail("Option %s applies to one database only.",
						options->by_stock_option);
	}
	refuse_file_and_database(options);
	if (options->by_stock == NULL && options->connection.dbname == NULL)
		options->by_stock = "";
	if (options->by_stock == NULL && archive == NULL)
		options->by_stock = "the archive comes from standard input";

	/*
	 * Do not silently ignore an option that stock pg_restore does not have.
	 */
	if (options->by_stock)
		restore_options_check_stock(options, options->by_stock);
	(void) option_value_prefetch(options->pipe_prefetch, options->jobs);
	option_value_check_metrics(options);
	option_value_check_password_command(options, options->password_command,
										"--password-command");
	option_value_check_toast(options->toast_compression);
}

const Options *
restore_options_parse(int argc, char **argv)
{
	Options    *options = pg_malloc0(sizeof(Options));
	CommandLine line = {.options = options};
	const char *letters = option_table_letters(&table);
	const struct option *names = option_table_names(&table);
	int			c;

	help_if_asked(argc, argv, "pg_parrestore", restore_help_print);
	options->jobs = 1;
	options->retries = 5;
	options->stall_timeout = 60;
	options->standby_snapshot_timeout = 30;
	options->connection.prompt_password = TRI_DEFAULT;

	while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1)
	{
		const StockOption *option;
		const OptionRow *row = option_table_find(&table, c, &option);

		if (row == NULL)
			help_try_option(argv, names);
		if (option)
			read_option(&line, option, optarg);
		else
		{
			option_table_store(options, row, optarg);
			options->own_given |= OWN_BIT(row - own_options);
		}
		cluster_options_note(options, row->name, optarg);
	}
	if (optind < argc)
	{
		options->restore = argv[optind++];
		/* the name of the archive may begin with a dash */
		add_arg(&line.all, "--");
		add_arg(&line.all, options->restore);
	}
	help_refuse_more(argc, argv);
	/* extensions belong to pre-data */
	if (line.sections == SECTION_OTHER)
		options->selects_entries = true;
	options->pg_restore_args = line.all.args;
	options->list_args = line.list.args;
	options->make_args = line.make.args;
	options->compare = options->compare_with != NULL;
	check_options(options);
	return options;
}
