/*
 * own_options.c
 *		Reads the options that pg_dump does not have, by a table of them.
 */
#include "base/fe_compat.h"

#include "options/option_table.h"
#include "options/option_value.h"
#include "options/own_options.h"

static const OptionRow own_options[] = {
	{"all-databases", OPTION_FLAG, offsetof(Options, all_databases)},
	{"allow-affected-standby", OPTION_FLAG,
	offsetof(Options, allow_affected_standby)},
	{"allow-rewritten", OPTION_FLAG, offsetof(Options, allow_rewritten)},
	{"also-from", OPTION_LIST, offsetof(Options, also_from)},
	{"check", OPTION_FLAG, offsetof(Options, check)},
	{"chunk-size", OPTION_SIZE, offsetof(Options, chunk_bytes)},
	{"clean-output", OPTION_FLAG, offsetof(Options, clean_output)},
	{"compare", OPTION_FLAG, offsetof(Options, compare)},
	{"compare-with", OPTION_TEXT, offsetof(Options, compare_with)},
	{"copy-format", OPTION_TEXT, offsetof(Options, copy_format)},
	{"create-slot", OPTION_FLAG, offsetof(Options, create_slot)},
	{"create-subscription", OPTION_TEXT, offsetof(Options, create_subscription)},
	{"dry-run", OPTION_FLAG, offsetof(Options, dry_run)},
	{"exclude-database", OPTION_LIST, offsetof(Options, exclude_databases)},
	{"expected-rate", OPTION_SIZE, offsetof(Options, expected_rate)},
	{"globals-only", OPTION_FLAG, offsetof(Options, globals_only)},
	{"incremental", OPTION_TEXT, offsetof(Options, incremental)},
	{"incremental-by", OPTION_TEXT, offsetof(Options, incremental_by)},
	{"incremental-copy-method", OPTION_TEXT,
	offsetof(Options, incremental_copy_method)},
	{"index-jobs", OPTION_NUMBER, offsetof(Options, index_jobs), 1, 4096},
	{"log-json", OPTION_TEXT, offsetof(Options, log_json)},
	{"manifest-checksums", OPTION_TEXT, offsetof(Options, manifest_checksums)},
	{"manifest-fingerprints", OPTION_FLAG,
	offsetof(Options, manifest_fingerprints)},
	{"mask", OPTION_LIST, offsetof(Options, mask)},
	{"mask-file", OPTION_LIST, offsetof(Options, mask_files)},
	{"max-table-segment-pages", OPTION_NUMBER, offsetof(Options, segment_pages),
	1, MaxBlockNumber},
	{"metrics", OPTION_TEXT, offsetof(Options, metrics)},
	{"metrics-label", OPTION_LIST, offsetof(Options, metrics_labels)},
	{"no-analyze", OPTION_FLAG, offsetof(Options, no_analyze)},
	{"no-chunks", OPTION_FLAG, offsetof(Options, no_chunks)},
	{"no-extension", OPTION_FLAG, offsetof(Options, no_extension)},
	{"no-progress", OPTION_FLAG, offsetof(Options, no_progress)},
	{"no-role-passwords", OPTION_FLAG, offsetof(Options, no_role_passwords)},
	{"password-command", OPTION_TEXT, offsetof(Options, password_command)},
	{"pause-synchronous", OPTION_FLAG, offsetof(Options, pause_synchronous)},
	{"pg-dump", OPTION_TEXT, offsetof(Options, pg_dump_path)},
	{"pipe", OPTION_TEXT, offsetof(Options, pipe_command)},
	{"plan", OPTION_TEXT, offsetof(Options, plan)},
	{"progress", OPTION_FLAG, offsetof(Options, progress)},
	{"publication", OPTION_LIST, offsetof(Options, publications)},
	{"report", OPTION_TEXT, offsetof(Options, report)},
	{"retries", OPTION_NUMBER, offsetof(Options, retries), 0, 1000},
	{"roles", OPTION_FLAG, offsetof(Options, roles)},
	{"roles-only", OPTION_FLAG, offsetof(Options, roles_only)},
	{"run-tasks", OPTION_TEXT, offsetof(Options, run_tasks)},
	{"stall-timeout", OPTION_NUMBER, offsetof(Options, stall_timeout), 0, 86400},
	{"standby-snapshot-timeout", OPTION_NUMBER,
	offsetof(Options, standby_snapshot_timeout), 0, 86400},
	{"sample", OPTION_LIST, offsetof(Options, sample)},
	{"verify", OPTION_TEXT, offsetof(Options, verify)},
	{"where", OPTION_LIST, offsetof(Options, where)},
	{"wire-compression", OPTION_TEXT, offsetof(Options, wire_compression)},
	{"slot", OPTION_TEXT, offsetof(Options, slot)},
	{"slot-plugin", OPTION_TEXT, offsetof(Options, slot_plugin)},
	{"subscription-conninfo", OPTION_TEXT,
	offsetof(Options, subscription_conninfo)},
	{"tablespaces-only", OPTION_FLAG, offsetof(Options, tablespaces_only)},
	{"target", OPTION_TEXT, offsetof(Options, target)},
	{"target-password-command", OPTION_TEXT,
	offsetof(Options, target_password_command)},
	{"task", OPTION_TEXT, offsetof(Options, task)},
	{"tasks", OPTION_NUMBER, offsetof(Options, tasks), 1, 4096},
	{"toast-compression", OPTION_TEXT, offsetof(Options, toast_compression)},
	{"trust-owners", OPTION_FLAG, offsetof(Options, trust_owners)},
	{"with-pardump-extension", OPTION_FLAG,
	offsetof(Options, with_pardump_extension)},
};

/* pg_dump's flags that a direct copy needs to know. */
typedef struct NotedFlag
{
	const char *name;
	char		letter;			/* 0 if it has no short name */
	size_t		offset;			/* of the member in Options */
} NotedFlag;

static const NotedFlag noted_flags[] = {
	{"clean", 'c', offsetof(Options, clean)},
	{"create", 'C', offsetof(Options, create)},
	{"data-only", 'a', offsetof(Options, data_only)},
	{"disable-triggers", 0, offsetof(Options, disable_triggers)},
	{"extension", 'e', offsetof(Options, chooses_extensions)},
	{"no-owner", 'O', offsetof(Options, no_owner)},
	{"no-privileges", 'x', offsetof(Options, no_privileges)},
	{"no-acl", 'x', offsetof(Options, no_privileges)},
	{"no-comments", 0, offsetof(Options, no_comments)},
	{"no-security-labels", 0, offsetof(Options, no_security_labels)},
	{"no-table-access-method", 0, offsetof(Options, no_table_access_method)},
	{"no-tablespaces", 0, offsetof(Options, no_tablespaces)},
	{"statistics", 0, offsetof(Options, statistics)},
	{"use-set-session-authorization", 0,
	offsetof(Options, use_session_authorization)},
};

void
own_options_note_flag(Options *options, int letter, const char *name)
{
	for (int i = 0; i < (int) lengthof(noted_flags); i++)
	{
		const NotedFlag *flag = &noted_flags[i];

		if (name ? strcmp(flag->name, name) == 0 : flag->letter == letter)
			*(bool *) ((char *) options + flag->offset) = true;
	}
}

struct option *
own_options_append(const struct option *pg_dump_options)
{
	return option_table_append(pg_dump_options, own_options,
							   lengthof(own_options), OWN_OPTION_FIRST);
}

bool
own_option_read(Options *options, int c, const char *arg)
{
	if (c < OWN_OPTION_FIRST ||
		c >= OWN_OPTION_FIRST + (int) lengthof(own_options))
		return false;
	option_table_store(options, &own_options[c - OWN_OPTION_FIRST], arg);
	return true;
}

/* Both given? */
static void
exclude(bool one, const char *one_name, bool other, const char *other_name)
{
	if (one && other)
		pg_fatal("options %s and %s cannot be used together",
				 one_name, other_name);
}

/* One given, but not the other? */
static void
need(bool one, const char *one_name, bool other, const char *other_name)
{
	if (one && !other)
		pg_fatal("option %s requires option %s", one_name, other_name);
}

static void
check_slot(const Options *options)
{
	need(options->slot_plugin != NULL, "--slot-plugin",
		 options->create_slot, "--create-slot");
	need(options->create_slot, "--create-slot", options->slot != NULL, "--slot");
	if (options->slot && !options->create_slot)
	{
		pg_log_error("option %s requires option %s", "--slot", "--create-slot");
		pg_log_error_detail("A slot has a snapshot only when it is made.");
		exit(1);
	}
	exclude(options->create_slot, "--create-slot",
			options->snapshot != NULL, "--snapshot");
	exclude(options->create_slot, "--create-slot",
			options->serializable_deferrable, "--serializable-deferrable");
	if (options->slot)
		option_value_check_slot(options->slot);
}

static void
check_subscription(const Options *options)
{
	bool		wanted = options->create_subscription != NULL;
	bool		publications = options->publications.head != NULL;

	need(publications, "--publication", wanted, "--create-subscription");
	need(options->subscription_conninfo != NULL, "--subscription-conninfo",
		 wanted, "--create-subscription");
	need(wanted, "--create-subscription", options->target != NULL, "--target");
	need(wanted, "--create-subscription", options->create_slot, "--create-slot");
	need(wanted, "--create-subscription", publications, "--publication");
	if (!wanted)
		return;
	if (options->create_subscription[0] == '\0')
		pg_fatal("invalid value \"%s\" for option %s", "",
				 "--create-subscription");
	if (options->subscription_conninfo)
		option_value_check_conninfo(options->subscription_conninfo);
	exclude(true, "--create-subscription",
			options->slot_plugin != NULL, "--slot-plugin");
	/* changes of rows that were left out would be lost */
	exclude(true, "--create-subscription",
			options->where.head != NULL, "--where");
	exclude(true, "--create-subscription",
			options->sample.head != NULL, "--sample");
}

/* Raw tuples cross in blocks; COPY's formats do not. */
static void
check_wire_compression(const char *value, const char *format)
{
	CompressSpec spec;
	char		error[COMPRESS_SPEC_ERROR_BYTES];

	exclude(format && strcmp(format, "binary") == 0, "--copy-format=binary",
			true, "--wire-compression");
	exclude(format && strcmp(format, "text") == 0, "--copy-format=text",
			true, "--wire-compression");
	if (strcmp(value, "auto") == 0)
		return;
	if (!compress_spec_parse(value, &spec, error))
		pg_fatal("invalid compression specification: %s", error);
	if (spec.method == COMPRESS_GZIP)
		pg_fatal("invalid value \"%s\" for option %s", value,
				 "--wire-compression");
}

/* What makes no sense with a direct copy, and what does only with one. */
static void
check_copy(const Options *options)
{
	const char *format = options->copy_format;
	const char *method = options->toast_compression;
	bool		is_copy = options->target != NULL;

	need(format != NULL, "--copy-format", is_copy, "--target");
	need(method != NULL, "--toast-compression", is_copy, "--target");
	need(options->wire_compression != NULL, "--wire-compression", is_copy,
		 "--target");
	need(options->index_jobs != 0, "--index-jobs", is_copy, "--target");
	need(options->compare, "--compare", is_copy, "--target");
	need(options->no_analyze, "--no-analyze", is_copy, "--target");
	if (format && strcmp(format, "auto") != 0 && strcmp(format, "raw") != 0 &&
		strcmp(format, "binary") != 0 && strcmp(format, "text") != 0)
		pg_fatal("unrecognized copy format \"%s\"", format);
	exclude(options->no_extension, "--no-extension",
			format && strcmp(format, "raw") == 0, "--copy-format=raw");
	if (options->wire_compression)
		check_wire_compression(options->wire_compression, format);
	option_value_check_toast(method);
	exclude(options->target != NULL, "--target",
			options->directory != NULL, "-f/--file");
	exclude(options->target != NULL, "--target",
			options->compress_given, "-Z/--compress");
	exclude(options->target != NULL, "--target",
			options->dry_run, "--dry-run");
}

/* Options of pg_dump's without which there are rows to compare. */
static const char *const without_rows[] = {
	"-s", "--no-data", "--statistics-only", "--section=pre-data",
	"--section=post-data"
};

/* A comparison makes nothing. */
static void
check_compare_with(const Options *options)
{
	const struct
	{
		bool		given;
		const char *name;
	}			others[] = {
		{options->directory != NULL, "-f/--file"},
		{options->pipe_command != NULL, "--pipe"},
		{options->target != NULL, "--target"},
		{options->verify != NULL, "--verify"},
		{options->dry_run, "--dry-run"},
		{options->check, "--check"},
		{options->report != NULL, "--report"},
		{options->incremental != NULL, "--incremental"},
		{options->manifest_fingerprints, "--manifest-fingerprints"},
		{options->clean_output, "--clean-output"},
		{options->create_slot, "--create-slot"},
		{options->compress_given, "-Z/--compress"},
		{options->sample.head != NULL, "--sample"},
		{options->mask.head != NULL, "--mask"},
		{options->mask_files.head != NULL, "--mask-file"},
		{options->also_from.head != NULL, "--also-from"},
		{options->tasks != 0, "--tasks"},
		{options->task != NULL, "--task"},
	};

	if (options->compare_with == NULL)
		return;
	if (options->compare_with[0] == '\0')
		pg_fatal("invalid value \"%s\" for option %s", "", "--compare-with");
	for (int i = 0; i < (int) lengthof(others); i++)
		exclude(true, "--compare-with", others[i].given, others[i].name);
	for (int i = 0; i < options->n_pg_dump_args; i++)
		for (int j = 0; j < (int) lengthof(without_rows); j++)
			exclude(true, "--compare-with",
					strcmp(options->pg_dump_args[i], without_rows[j]) == 0,
					j == 0 ? "-s/--schema-only" : without_rows[j]);
}

/*
 * What would let out the values that are masked, or compare them with those
 * in their place.
 */
static void
check_masks(const Options *options)
{
	bool		masks = options->mask.head || options->mask_files.head;
	const char *name = options->mask.head ? "--mask" : "--mask-file";

	exclude(masks, name, options->statistics, "--statistics");
	exclude(masks, name, options->compare, "--compare");
	exclude(masks, name, options->verify != NULL, "--verify");
	exclude(masks, name, options->create_subscription != NULL,
			"--create-subscription");
	if (masks && options->create_slot)
	{
		pg_log_error("options %s and %s cannot be used together", name,
					 "--create-slot");
		pg_log_error_detail("Changes that come by the slot have all columns as they are.");
		exit(1);
	}
}

static void
check_report(const Options *options)
{
	exclude(options->report != NULL, "--report",
			options->dry_run, "--dry-run");
	exclude(options->report != NULL, "--report",
			options->check, "--check");
	if (options->report && options->report[0] == '\0')
		pg_fatal("invalid value \"%s\" for option %s", "", "--report");
}

/* Of runs that make something. */
static void
check_metrics(const Options *options)
{
	option_value_check_metrics(options);
	if (options->metrics == NULL)
		return;
	exclude(true, "--metrics", options->verify != NULL, "--verify");
	exclude(true, "--metrics", options->dry_run, "--dry-run");
	exclude(true, "--metrics", options->check, "--check");
	exclude(true, "--metrics", options->compare_with != NULL, "--compare-with");
}

CopyMethod
own_options_copy_method(const Options *options)
{
	const char *name = options->incremental_copy_method;
	CopyMethod	method = COPY_METHOD_LINK;

	if (name && !copy_method_find(name, &method))
		pg_fatal("unrecognized copy method \"%s\"", name);
	return method;
}

bool
own_options_by_wal(const Options *options)
{
	const char *by = options->incremental_by;

	if (by && strcmp(by, "wal-summaries") == 0)
		return true;
	if (by && strcmp(by, "fingerprints") != 0)
		pg_fatal("invalid value \"%s\" for option %s", by, "--incremental-by");
	return false;
}

/* Fingerprints are of an archive, and are compared with those of another. */
static void
check_incremental(const Options *options)
{
	need(options->incremental_copy_method != NULL, "--incremental-copy-method",
		 options->incremental != NULL, "--incremental");
	(void) own_options_copy_method(options);
	(void) own_options_by_wal(options);
	if (options->incremental_by && !options->manifest_fingerprints)
		need(true, "--incremental-by", options->incremental != NULL,
			 "--incremental");
	exclude(options->target != NULL, "--target",
			options->manifest_fingerprints, "--manifest-fingerprints");
	exclude(options->verify != NULL, "--verify",
			options->incremental != NULL, "--incremental");
	if (options->incremental == NULL)
		return;
	if (options->target)
	{
		pg_log_error("options %s and %s cannot be used together",
					 "--incremental", "--target");
		pg_log_error_detail("Rows that are on the target already are not known by blocks.");
		exit(1);
	}
	if (options->pipe_command)
	{
		pg_log_error("options %s and %s cannot be used together",
					 "--incremental", "--pipe");
		pg_log_error_detail("Files of the previous archive are taken over where they are.");
		exit(1);
	}
}

/* Their snapshot is one that they have at the same time, and no other. */
static void
check_also_from(const Options *options)
{
	bool		also = options->also_from.head != NULL;
	int			n = 1;

	need(options->pause_synchronous, "--pause-synchronous", also, "--also-from");
	exclude(also, "--also-from", options->target != NULL, "--target");
	exclude(also, "--also-from", options->verify != NULL, "--verify");
	exclude(also, "--also-from", options->snapshot != NULL, "--snapshot");
	exclude(also, "--also-from", options->create_slot, "--create-slot");
	exclude(also, "--also-from", options->serializable_deferrable,
			"--serializable-deferrable");
	for (const SimpleStringListCell *cell = options->also_from.head; cell;
		 cell = cell->next)
		n++;
	if (also && options->tasks && options->tasks < n)
		pg_fatal("%d servers need at least as many tasks (--tasks)", n);
	if (also && options->tasks == 0 && options->jobs < n)
		pg_fatal("%d servers need at least as many jobs (--jobs)", n);
}

static void
check_target_password(const Options *options)
{
	if (options->target_password_command && options->target == NULL &&
		options->compare_with == NULL)
		pg_fatal("option %s requires option %s", "--target-password-command",
				 "--target or --compare-with");
	option_value_check_password_command(options, options->target_password_command,
										"--target-password-command");
}

void
own_options_check(const Options *options)
{
	option_value_check_password_command(options, options->password_command,
										"--password-command");
	check_target_password(options);
	option_value_check_checksums(options->manifest_checksums);
	exclude(options->verify != NULL, "--verify",
			options->directory != NULL, "-f/--file");
	exclude(options->verify != NULL, "--verify",
			options->target != NULL, "--target");
	exclude(options->verify != NULL, "--verify",
			options->dry_run, "--dry-run");
	exclude(options->verify != NULL, "--verify",
			options->check, "--check");
	exclude(options->dry_run, "--dry-run", options->check, "--check");
	exclude(options->verify != NULL, "--verify",
			options->pipe_command != NULL, "--pipe");
	exclude(options->verify != NULL, "--verify",
			options->clean_output, "--clean-output");
	exclude(options->verify != NULL, "--verify",
			options->connection.dbname != NULL, "-d/--dbname");
	exclude(options->clean_output, "--clean-output",
			options->target != NULL, "--target");
	exclude(options->clean_output, "--clean-output",
			options->pipe_command != NULL, "--pipe");
	check_compare_with(options);
	check_report(options);
	check_metrics(options);
	check_incremental(options);
	check_copy(options);
	exclude(options->no_chunks, "--no-chunks",
			options->chunk_bytes != 0, "--chunk-size");
	exclude(options->no_chunks, "--no-chunks",
			options->segment_pages != 0, "--max-table-segment-pages");
	exclude(options->chunk_bytes != 0, "--chunk-size",
			options->segment_pages != 0, "--max-table-segment-pages");
	exclude(options->no_extension, "--no-extension",
			options->compress_place == COMPRESS_ON_SERVER,
			"-Z/--compress=server-METHOD");
	exclude(options->progress, "-P/--progress",
			options->no_progress, "--no-progress");
	exclude(options->pipe_command != NULL, "--pipe",
			options->directory != NULL, "-f/--file");
	exclude(options->pipe_command != NULL, "--pipe",
			options->target != NULL, "--target");
	if (options->pipe_command)
		option_value_check_pipe(options->pipe_command);
	if (options->expected_rate != 0 && !options->dry_run)
		pg_fatal("option %s requires option %s", "--expected-rate", "--dry-run");
	check_slot(options);
	check_subscription(options);
	check_also_from(options);
	check_masks(options);
}
