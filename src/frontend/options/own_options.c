/*
 * own_options.c
 *		The table of options that pg_dump does not have, and their checks.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "options/own_options.h"

static const OptionRow own_options[] = {
	SHARED_OPTIONS,
	{"allow-rewritten", OPTION_FLAG, MEMBER(allow_rewritten)},
	{"also-from", OPTION_LIST, MEMBER(also_from)},
	{"clean-output", OPTION_FLAG, MEMBER(clean_output)},
	{"cluster-snapshot", OPTION_FLAG, MEMBER(cluster_snapshot)},
	{"compare", OPTION_FLAG, MEMBER(compare)},
	{"compare-with", OPTION_FILLED, MEMBER(compare_with)},
	{"copy-format", OPTION_TEXT, MEMBER(copy_format)},
	{"create-slot", OPTION_FLAG, MEMBER(create_slot)},
	{"create-subscription", OPTION_FILLED, MEMBER(create_subscription)},
	{"dry-run", OPTION_FLAG, MEMBER(dry_run)},
	{"expected-rate", OPTION_SIZE, MEMBER(expected_rate)},
	{"incremental", OPTION_TEXT, MEMBER(incremental)},
	{"incremental-by", OPTION_TEXT, MEMBER(incremental_by)},
	{"incremental-copy-method", OPTION_TEXT, MEMBER(incremental_copy_method)},
	{"incremental-pipe", OPTION_TEXT, MEMBER(incremental_pipe)},
	{"lock-later", OPTION_FLAG, MEMBER(lock_later)},
	{"manifest-checksums", OPTION_TEXT, MEMBER(manifest_checksums)},
	{"manifest-fingerprints", OPTION_FLAG, MEMBER(manifest_fingerprints)},
	{"mask", OPTION_LIST, MEMBER(mask)},
	{"mask-file", OPTION_LIST, MEMBER(mask_files)},
	{"max-table-segment-pages", OPTION_NUMBER, MEMBER(segment_pages),
	1, MaxBlockNumber},
	{"no-chunks", OPTION_FLAG, MEMBER(no_chunks)},
	{"no-extension", OPTION_FLAG, MEMBER(no_extension)},
	{"no-role-passwords", OPTION_FLAG, MEMBER(no_role_passwords)},
	{"pause-synchronous", OPTION_FLAG, MEMBER(pause_synchronous)},
	{"pg-dump", OPTION_TEXT, MEMBER(pg_dump_path)},
	{"pipe-copy", OPTION_TEXT, MEMBER(pipe_copy)},
	{"plan", OPTION_TEXT, MEMBER(plan)},
	{"publication", OPTION_LIST, MEMBER(publications)},
	{"roles", OPTION_FLAG, MEMBER(roles)},
	{"roles-only", OPTION_FLAG, MEMBER(roles_only)},
	{"run-tasks", OPTION_TEXT, MEMBER(run_tasks)},
	{"shared-snapshot", OPTION_FILLED, MEMBER(shared_snapshot)},
	{"sample", OPTION_LIST, MEMBER(sample)},
	{"verify", OPTION_OPTIONAL, MEMBER(verify)},
	{"where", OPTION_LIST, MEMBER(where)},
	{"wire-compression", OPTION_TEXT, MEMBER(wire_compression)},
	{"slot", OPTION_TEXT, MEMBER(slot)},
	{"slot-plugin", OPTION_TEXT, MEMBER(slot_plugin)},
	{"subscription-conninfo", OPTION_TEXT, MEMBER(subscription_conninfo)},
	{"tablespaces-only", OPTION_FLAG, MEMBER(tablespaces_only)},
	{"target", OPTION_TEXT, MEMBER(target)},
	{"target-password-command", OPTION_FILLED, MEMBER(target_password_command)},
	{"task", OPTION_TEXT, MEMBER(task)},
	{"tasks", OPTION_NUMBER, MEMBER(tasks), 1, 4096},
	{"with-pardump-extension", OPTION_FLAG, MEMBER(with_pardump_extension)},
};

const OptionRow *
own_options_rows(int *n)
{
	*n = lengthof(own_options);
	return own_options;
}

#define OF_ONE(option) "Option " option " applies to one database only."
#define LEADERS "Specify this option for the leader, not for its tasks."
#define NOT_IN_SNAPSHOT "A table that was rewritten after the snapshot was taken would lack rows of the snapshot."
#define TASKS_DUMP "Tasks can dump, but not copy.  Run the copy on one host, with -j."
#define EACH_TASK "Each task has its own value.  Specify this option in the command of --run-tasks."

/*
 * Rules that depend on the value of an option, or on a third option, are in
 * the functions below.  There is no rule for --mask-file, because its masks
 * were added to those of --mask before the rules are checked.
 */
static const OptionRule rules[] = {
	{"--roles", NEEDS, "--target"},
	{"--roles", EXCLUDES, "--check", "--check creates no roles, but the copy requires them."},
	{"--exclude-database", NEEDS, "--all-databases"},
	{"--cluster-snapshot", NEEDS, "--all-databases"},
	{"--lock-later", NEEDS, "--cluster-snapshot"},
	{"-g/--globals-only", NEEDS, "--all-databases"},
	{"--roles-only", NEEDS, "--all-databases"},
	{"--tablespaces-only", NEEDS, "--all-databases"},
	{"--all-databases", EXCLUDES, "--roles", "--all-databases copies all roles anyway."},
	{"--all-databases", EXCLUDES, "--compare-with", OF_ONE("--compare-with")},
	{"--all-databases", EXCLUDES, "--clean-output", "Archives of dropped databases would remain.  Specify a new directory."},
	{"--all-databases", EXCLUDES, "--snapshot", OF_ONE("--snapshot")},
	{"--all-databases", EXCLUDES, "--create-slot", OF_ONE("--create-slot")},
	{"--all-databases", EXCLUDES, "--create-subscription", OF_ONE("--create-subscription")},
	{"--all-databases", EXCLUDES, "--also-from --tasks --task"},
	{"--cluster-snapshot", EXCLUDES, "--no-extension", "The extension makes one snapshot available in all databases."},
	{"--cluster-snapshot", EXCLUDES, "--serializable-deferrable", "A snapshot that waits for other transactions in one database cannot be adopted in the others."},
	{"--cluster-snapshot", EXCLUDES, "--allow-rewritten", NOT_IN_SNAPSHOT},
	{"--shared-snapshot", EXCLUDES, "--allow-rewritten", NOT_IN_SNAPSHOT},
	{"--cluster-snapshot", EXCLUDES, "--incremental-by", "WAL summaries need a position that was read before the snapshot was taken.  Use --incremental without them."},
	{"--cluster-snapshot", EXCLUDES, "--verify --globals-only --roles-only"
	" --tablespaces-only"},
	{"-g/--globals-only", EXCLUDES, "--roles-only --tablespaces-only"
	" --exclude-database --dry-run --check --verify"},
	{"--roles-only", EXCLUDES, "--tablespaces-only --exclude-database"
	" --dry-run --check --verify"},
	{"--tablespaces-only", EXCLUDES, "--exclude-database --dry-run --check"
	" --verify"},
	{"--exclude-database", EXCLUDES, "--verify"},
	{"--verify", EXCLUDES, "-f/--file --target --dry-run --check"},
	{"--dry-run", EXCLUDES, "--check"},
	{"--verify", EXCLUDES, "--clean-output -d/--dbname"},
	{"--clean-output", EXCLUDES, "--target --pipe"},
	/* a comparison writes nothing */
	{"--compare-with", EXCLUDES, "-f/--file --pipe --target --verify"
		" --dry-run --check --report --incremental --manifest-fingerprints"
		" --clean-output --create-slot -Z/--compress --sample --mask --also-from"
	" --tasks --task"},
	{"--report", EXCLUDES, "--dry-run --check"},
	{"--report-history", NEEDS, "--report"},
	/* metrics exist only for runs that write something */
	{"--metrics", EXCLUDES, "--verify --dry-run --check --compare-with"},
	{"--incremental-copy-method", NEEDS, "--incremental"},
	{"--target", EXCLUDES, "--manifest-fingerprints"},
	{"--verify", EXCLUDES, "--incremental --incremental-pipe --pipe-copy"},
	{"--incremental", EXCLUDES, "--target", "An incremental copy is not supported: the blocks of rows that already are on the target are not known."},
	{"--incremental", EXCLUDES, "--pipe", "Files of the previous archive are linked or copied within the file system, and cannot be written to a command.  If commands store both archives, use --incremental-pipe and --pipe-copy."},
	{"--incremental-pipe", NEEDS, "--pipe", "Files are copied from the previous archive to the new one without being read, so commands must store both archives."},
	{"--incremental-pipe", NEEDS, "--pipe-copy", "The files that are reused are not read: a command must copy them to the new archive."},
	{"--pipe-copy", NEEDS, "--incremental-pipe", "The manifest of the previous archive determines which files are copied."},
	{"--copy-format", NEEDS, "--target"},
	{"--toast-compression", NEEDS, "--target"},
	{"--wire-compression", NEEDS, "--target"},
	{"--index-jobs", NEEDS, "--target"},
	{"--compare", NEEDS, "--target"},
	{"--no-analyze", NEEDS, "--target"},
	{"--no-fast-index", NEEDS, "--target"},
	{"--target", EXCLUDES, "-f/--file -Z/--compress --dry-run"},
	{"--no-chunks", EXCLUDES, "--chunk-size --max-table-segment-pages"},
	{"--chunk-size", EXCLUDES, "--max-table-segment-pages"},
	{"-P/--progress", EXCLUDES, "--no-progress"},
	{"--pipe", EXCLUDES, "-f/--file --target"},
	{"--pipe-prefetch", NEEDS, "--pipe"},
	{"--pipe-prefetch", NEEDS, "--verify", "A dump starts each command when a worker begins to write the file."},
	{"--slot-plugin", NEEDS, "--create-slot"},
	{"--create-slot", NEEDS, "--slot"},
	{"--slot", NEEDS, "--create-slot", "A slot exports a snapshot only when it is created."},
	{"--create-slot", EXCLUDES, "--snapshot --serializable-deferrable"},
	{"--publication", NEEDS, "--create-subscription"},
	{"--subscription-conninfo", NEEDS, "--create-subscription"},
	{"--create-subscription", NEEDS, "--target --create-slot --publication"},
	{"--create-subscription", EXCLUDES, "--slot-plugin"},
	/* changes of rows that were left out would be lost */
	{"--create-subscription", EXCLUDES, "--where --sample"},
	/* the standbys take their snapshots themselves, at the same moment */
	{"--also-from", EXCLUDES, "--target --verify --snapshot --create-slot"
	" --serializable-deferrable"},
	/* these would reveal unmasked values, or compare them with masked ones */
	{"--mask", EXCLUDES, "--statistics --compare --verify"
	" --create-subscription"},
	{"--mask", EXCLUDES, "--create-slot", "Changes decoded from the slot contain unmasked columns."},
	/* a task reads all but -j and the connection from the plan */
	{"--task", NEEDS, "--plan"},
	{"--task", EXCLUDES, "--tasks --run-tasks"},
	{"--task", EXCLUDES, "--target", TASKS_DUMP},
	{"--task", EXCLUDES, "--verify"},
	{"--task", EXCLUDES, "--check --progress --log-json --report --metrics"
		" --role -f/--file --pipe --dry-run --incremental --create-slot --mask"
	" --also-from --snapshot -Z/--compress", LEADERS},
	{"--run-tasks", NEEDS, "--tasks"},
	{"--tasks", EXCLUDES, "--target", TASKS_DUMP},
	{"--tasks", EXCLUDES, "--verify"},
	{"--tasks", EXCLUDES, "--create-slot", "If the leader's session is lost, the slot would no longer match the dump."},
	{"--tasks", EXCLUDES, "-j/--jobs -r/--max-rate", EACH_TASK},
};

/*
 * Exit with a message if both options were specified.  why is the reason, or
 * NULL if it is obvious.
 */
static void
exclude(bool given, const char *one, const char *other, const char *why)
{
	if (!given)
		return;
	pg_log_error("options %s and %s cannot be used together", one, other);
	if (why)
		pg_log_error_detail("%s", why);
	exit(1);
}

/* Check --wire-compression, which applies only to raw tuples. */
static void
check_wire_compression(const char *value, const char *format)
{
	CompressSpec spec;
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	exclude(format && strcmp(format, "binary") == 0, "--copy-format=binary",
			"--wire-compression", NULL);
	exclude(format && strcmp(format, "text") == 0, "--copy-format=text",
			"--wire-compression", NULL);
	if (strcmp(value, "auto") == 0)
		return;
	if (!compress_spec_parse(value, &spec, error))
		pg_fatal("invalid compression specification: %s", error);
	if (spec.method == COMPRESS_GZIP)
	{
		pg_log_error("invalid value \"%s\" for option %s", value,
					 "--wire-compression");
		pg_fatal_hint("Use \"auto\", \"none\", \"lz4\" or \"zstd\".");
	}
}

/* With these options of pg_dump, there are no rows to compare. */
static const char *const without_rows[] = {
	"-s", "--no-data", "--statistics-only", "--section=pre-data",
	"--section=post-data"
};

static const char *const copy_method_names[] = {"link", "clone", "copy", "pipe-copy"};

const char *
copy_method_name(CopyMethod method)
{
	return copy_method_names[method];
}

bool
copy_method_find(const char *name, CopyMethod *method)
{
	for (int i = 0; i < (int) lengthof(copy_method_names); i++)
		if (strcmp(name, copy_method_names[i]) == 0)
		{
			*method = (CopyMethod) i;
			return true;
		}
	return false;
}

CopyMethod
own_options_copy_method(const Options *options)
{
	const char *name = options->incremental_copy_method;
	CopyMethod	method = COPY_METHOD_LINK;

	if (name && (!copy_method_find(name, &method) ||
				 method == COPY_METHOD_PIPE))
	{
		pg_log_error("invalid value \"%s\" for option %s", name,
					 "--incremental-copy-method");
		pg_fatal_hint("Use \"link\", \"clone\" or \"copy\".");
	}
	return method;
}

bool
own_options_by_wal(const Options *options)
{
	const char *by = options->incremental_by;

	if (by && strcmp(by, "wal-summaries") == 0)
		return true;
	if (by && strcmp(by, "fingerprints") != 0)
	{
		pg_log_error("invalid value \"%s\" for option %s", by, "--incremental-by");
		pg_fatal_hint("Use \"fingerprints\" or \"wal-summaries\".");
	}
	return false;
}

static void
check_shared_snapshot(const Options *options)
{
	const struct
	{
		bool		given;
		const char *name;
	}			others[] = {
		{options->directory, "-f/--file"},
		{options->target, "--target"},
		{options->dry_run, "--dry-run"},
		{options->report, "--report"},
		{options->metrics, "--metrics"}
	};

	if (options->shared_snapshot && options->snapshot == NULL &&
		!options->cluster_snapshot)
		pg_fatal("option %s requires option %s or %s", "--shared-snapshot",
				 "--snapshot", "--cluster-snapshot");
	for (int i = 0; i < (int) lengthof(others); i++)
		exclude(options->shared_snapshot && options->cluster_snapshot &&
				others[i].given, "--shared-snapshot", others[i].name,
				"With --cluster-snapshot, this option keeps the snapshot for other runs, and nothing is dumped.");
}

static void
check_passwords(const Options *options)
{
	option_value_check_password_command(options, options->password_command,
										"--password-command");
	if (options->target_password_command && options->target == NULL &&
		options->compare_with == NULL)
		pg_fatal("option %s requires option %s or %s", "--target-password-command",
				 "--target", "--compare-with");
	option_value_check_password_command(options, options->target_password_command,
										"--target-password-command");
}

static void
task_options_read(const char *text, int *task, int *n_tasks)
{
	char	   *end;
	long		no = strtol(text, &end, 10);
	long		n = *end == '/' && end[1] >= '0' && end[1] <= '9' ?
		strtol(end + 1, &end, 10) : 0;

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > 4096 || no >= n)
	{
		pg_log_error("invalid value \"%s\" for option %s", text, "--task");
		pg_fatal_hint("Specify I/NUM, with NUM from 1 to 4096 and I from 0 to NUM - 1, for example 0/4.");
	}
	*task = (int) no;
	*n_tasks = (int) n;
}

void
task_options_read_planned(const char *text, int n_planned, int *task,
						  int *n_tasks)
{
	task_options_read(text, task, n_tasks);
	if (*n_tasks != n_planned)
	{
		pg_log_error(ngettext("the plan is for %d task, not for %d",
							  "the plan is for %d tasks, not for %d", n_planned),
					 n_planned, *n_tasks);
		pg_fatal_hint("Use --task=I/%d, with I from 0 to %d.", n_planned, n_planned - 1);
	}
}

/* Append the numbers of these tasks. */
static void
append_list(PQExpBuffer command, const bool *wanted, int n_tasks,
			const char *separator)
{
	const char *before = "";

	for (int i = 0; i < n_tasks; i++)
		if (wanted[i])
		{
			appendPQExpBuffer(command, "%s%d", before, i);
			before = separator;
		}
}

char *
task_options_command(const char *pattern, const char *plan_path, int n_tasks,
					 const bool *wanted)
{
	PQExpBufferData command = buffer_new();
	bool		has_plan = false;

	for (const char *pos = pattern; *pos; pos++)
	{
		if (*pos != '%')
		{
			appendPQExpBufferChar(&command, *pos);
			continue;
		}
		switch (*++pos)
		{
			case 'n':
				appendPQExpBuffer(&command, "%d", n_tasks);
				break;
			case 'p':

				/*
				 * Quote the path for the shell, because it may contain spaces
				 * or quotes.
				 */
				appendShellString(&command, plan_path);
				has_plan = true;
				break;
			case 'l':
				append_list(&command, wanted, n_tasks, ",");
				break;
			case 'L':
				append_list(&command, wanted, n_tasks, " ");
				break;
			case '%':
				appendPQExpBufferChar(&command, '%');
				break;
			default:
				return NULL;
		}
	}
	return has_plan ? buffer_text(&command) : NULL;
}

static void
check_task(const Options *options)
{
	int			task;
	int			n_tasks;

	task_options_read(options->task, &task, &n_tasks);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		exclude(strcmp(options->pg_dump_args[i], "-v") != 0, "--task",
				options->pg_dump_args[i], LEADERS);
}

/*
 * Check the options of the leader.  A run that only checks or plans requires
 * no command, and no place for the plan.
 */
static void
check_leader(const Options *options)
{
	bool		looks = options->dry_run || options->check;

	if (options->tasks == 0 && options->plan)
		pg_fatal("option %s requires option %s or %s", "--plan", "--task", "--tasks");
	if (options->tasks && options->run_tasks == NULL && !looks)
		pg_fatal("option %s requires option %s", "--tasks", "--run-tasks");
	if (options->tasks && options->pipe_command && options->plan == NULL &&
		!looks)
	{
		pg_log_error("options %s and %s require option %s", "--tasks",
					 "--pipe", "--plan");
		pg_fatal_hint("Specify a file in a new directory that all hosts can access.  The plan and the results of tasks are written there.");
	}
	if (options->run_tasks &&
		!task_options_command(options->run_tasks, "plan", 0, NULL))
	{
		pg_log_error("invalid value \"%s\" for option %s", options->run_tasks,
					 "--run-tasks");
		pg_fatal_hint("The command must contain %%p, which stands for the plan.  %%n stands for the number of tasks, %%l or %%L for the tasks to run, and %%%% for a percent sign.");
	}
}

void
own_options_check(const Options *options, const OptionTable *table)
{
	const char *format;
	int			n;
	bool		copies;

	option_rules_check(options, rules, lengthof(rules), table);
	/* These conflict with what --all-databases does on a target anyway. */
	copies = options->all_databases && options->target;
	exclude(copies && options->check && options->expected_rate != 0, "--all-databases",
			"--expected-rate", "The check of a copy of all databases does not plan the copies of the databases.");
	exclude(copies && options->create, "--all-databases", "-C/--create",
			"--all-databases creates missing databases anyway.");
	exclude(copies && options->clean, "--all-databases", "-c/--clean",
			"--all-databases creates the databases, and does not drop existing objects.");
	if (options->no_role_passwords && !options->all_databases &&
		!options->roles)
		pg_fatal("option %s requires option %s or %s", "--no-role-passwords",
				 "--all-databases", "--roles");
	if (options->pause_synchronous && options->also_from.head == NULL &&
		!options->cluster_snapshot)
		pg_fatal("option %s requires option %s or %s", "--pause-synchronous",
				 "--also-from", "--cluster-snapshot");
	if (options->expected_rate != 0 && !options->dry_run && !options->check)
		pg_fatal("option %s requires option %s or %s", "--expected-rate",
				 "--check", "--dry-run");
	check_shared_snapshot(options);
	check_passwords(options);
	option_value_check_checksums(options->manifest_checksums);
	for (int i = 0; options->compare_with && i < options->n_pg_dump_args; i++)
		for (int j = 0; j < (int) lengthof(without_rows); j++)
			exclude(strcmp(options->pg_dump_args[i], without_rows[j]) == 0,
					"--compare-with",
					j == 0 ? "-s/--schema-only" : without_rows[j], NULL);
	option_value_check_metrics(options);
	/* check these values, which are read again where they are used */
	(void) own_options_copy_method(options);
	(void) own_options_by_wal(options);
	/* fingerprints are written to an archive, or compared with one */
	if (options->incremental_by && !options->manifest_fingerprints &&
		options->incremental == NULL && options->incremental_pipe == NULL)
		pg_fatal("option %s requires option %s or %s", "--incremental-by",
				 "--incremental", "--manifest-fingerprints");
	format = options->copy_format;
	if (format && strcmp(format, "auto") != 0 && strcmp(format, "raw") != 0 &&
		strcmp(format, "binary") != 0 && strcmp(format, "text") != 0)
	{
		pg_log_error("invalid value \"%s\" for option %s", format,
					 "--copy-format");
		pg_fatal_hint("Use \"auto\", \"raw\", \"binary\" or \"text\".");
	}
	exclude(options->no_extension && format && strcmp(format, "raw") == 0,
			"--no-extension", "--copy-format=raw", NULL);
	if (options->wire_compression)
		check_wire_compression(options->wire_compression, format);
	option_value_check_toast(options->toast_compression);
	exclude(options->no_extension &&
			options->compress_place == COMPRESS_ON_SERVER, "--no-extension",
			"-Z/--compress=server-METHOD", NULL);
	option_value_check_pipe("--pipe", options->pipe_command,
							options->all_databases);
	option_value_check_pipe("--incremental-pipe", options->incremental_pipe,
							options->all_databases);
	option_value_check_pipe_copy(options->pipe_copy, options->all_databases);
	(void) option_value_prefetch(options->pipe_prefetch, options->jobs);
	if (options->slot)
		option_value_check_slot(options->slot);
	if (options->subscription_conninfo)
		option_value_check_conninfo(options->subscription_conninfo);
	/* Each server requires at least one job or task. */
	n = 1;
	for (const SimpleStringListCell *cell = options->also_from.head; cell;
		 cell = cell->next)
		n++;
	if (n > 1 && options->tasks && options->tasks < n)
	{
		pg_log_error("option --also-from requires at least one task (--tasks) for each of the %d servers",
					 n);
		pg_fatal_hint("Use --tasks=%d.", n);
	}
	if (n > 1 && options->tasks == 0 && options->jobs < n)
	{
		pg_log_error("option --also-from requires at least one job (--jobs) for each of the %d servers",
					 n);
		pg_fatal_hint("Use --jobs=%d.", n);
	}
	if (options->task)
		check_task(options);
	else
		check_leader(options);
}
