/*
 * cluster_options.c
 *		The options of --all-databases.
 */
#include "base/fe_compat.h"

#include "options/cluster_options.h"

/* Of the cluster, or set for each database separately. */
static const char own_letters[] = "dhpUwWfjPg";
static const char *const own_names[] = {
	"all-databases", "create", "dbname", "exclude-database", "globals-only",
	"host", "incremental", "incremental-copy-method", "jobs", "mask",
	"mask-file", "metrics", "no-password", "no-progress",
	"no-role-passwords", "password", "port", "progress", "report",
	"roles-only", "sample",
	"tablespaces-only", "target", "username", "verify", "where"
};

static void
add_arg(Options *options, const char *arg)
{
	options->run_args = pg_realloc(options->run_args,
								   (options->n_run_args + 1) * sizeof(char *));
	options->run_args[options->n_run_args++] = arg;
}

/* pg_dump's patterns that must match: where, cluster_filter.c finds out. */
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

static void
need(bool given, const char *name)
{
	if (given)
		pg_fatal("option %s requires option %s", name, "--all-databases");
}

/* An option that --all-databases cannot be used with, and why. */
typedef struct RefusedOption
{
	bool		given;
	const char *name;
	const char *why;			/* or NULL */
} RefusedOption;

static void
refuse(const RefusedOption *refused, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (!refused[i].given)
			continue;
		pg_log_error("options %s and %s cannot be used together",
					 "--all-databases", refused[i].name);
		if (refused[i].why)
			pg_log_error_detail("%s", refused[i].why);
		exit(1);
	}
}

/* At most one of them, and it leaves no databases to be excluded. */
static void
check_parts(const Options *options)
{
	const struct
	{
		bool		given;
		const char *name;
	}			parts[] = {
		{options->globals_only, "-g/--globals-only"},
		{options->roles_only, "--roles-only"},
		{options->tablespaces_only, "--tablespaces-only"},
		{options->exclude_databases.head != NULL, "--exclude-database"}
	};
	const char *first = NULL;

	for (int i = 0; i < (int) lengthof(parts); i++)
	{
		if (parts[i].given && first)
			pg_fatal("options %s and %s cannot be used together", first,
					 parts[i].name);
		if (parts[i].given)
			first = parts[i].name;
	}
	if (first && options->exclude_databases.head == NULL &&
		(options->dry_run || options->check))
		pg_fatal("options %s and %s cannot be used together", first,
				 options->dry_run ? "--dry-run" : "--check");
	if (first && options->verify)
		pg_fatal("options %s and %s cannot be used together", first, "--verify");
}

void
cluster_options_check(const Options *options)
{
	static const char one[] = "It is of one database.";
	const RefusedOption refused[] = {
		{options->roles, "--roles", "All roles are copied then."},
		{options->pipe_command != NULL, "--pipe", "Files of several databases have the same names."},
		{options->compare_with != NULL, "--compare-with", one},
		{options->clean_output, "--clean-output", "Archives of databases that were dropped would stay: name a new directory."},
		{options->snapshot != NULL, "--snapshot", one},
		{options->create_slot, "--create-slot", one},
		{options->create_subscription != NULL, "--create-subscription", one},
		{options->also_from.head != NULL, "--also-from", NULL},
		{options->tasks != 0, "--tasks", NULL},
		{options->task != NULL, "--task", NULL},
		{options->target && options->check, "--check", "The roles that databases need are not there yet."},
		{options->target && options->create, "-C/--create", "Databases that are not there are made anyway."},
		{options->target && options->clean, "-c/--clean", "Databases are made anew."},
	};

	if (options->roles && options->target == NULL)
		pg_fatal("option %s requires option %s", "--roles", "--target");
	if (options->roles && options->check)
	{
		pg_log_error("options %s and %s cannot be used together", "--roles",
					 "--check");
		pg_log_error_detail("It makes nothing, and the copy needs the roles to be there.");
		exit(1);
	}
	if (!options->all_databases)
	{
		need(options->exclude_databases.head != NULL, "--exclude-database");
		need(options->globals_only, "-g/--globals-only");
		need(options->roles_only, "--roles-only");
		need(options->tablespaces_only, "--tablespaces-only");
		if (!options->roles)
			need(options->no_role_passwords, "--no-role-passwords");
		return;
	}
	refuse(refused, lengthof(refused));
	check_parts(options);
}

void
cluster_options_check_restore(const Options *options)
{
	static const char one[] = "It is of one database.";
	const RefusedOption refused[] = {
		{options->by_stock != NULL, "-f, -l, -1", one},
		{options->clean, "-c/--clean", "Databases are made anew; drop those that are there before."},
		{options->resume, "--resume", "What is complete, and what has not begun, looks alike on the target: resume the database that is not complete by itself."},
		{options->compare_with != NULL, "--compare-with", one},
		{options->check, "--check", "The roles that databases need are not there yet."},
	};

	if (!options->all_databases)
	{
		need(options->exclude_databases.head != NULL, "--exclude-database");
		need(options->globals_only, "--globals-only");
		return;
	}
	if (options->connection.dbname == NULL)
		pg_fatal("option %s requires option %s", "--all-databases", "-d/--dbname");
	if (options->restore == NULL)
		pg_fatal("no input directory specified");
	refuse(refused, lengthof(refused));
	check_parts(options);
}
