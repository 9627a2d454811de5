/*
 * copy_task_plan.c
 *		Writes and reads the plan of a copy for tasks.
 */
#include "base/fe_compat.h"

#include "copy/copy_task_plan.h"
#include "dump_tasks/dump_task_read.h"
#include "dump_tasks/dump_task_write.h"
#include "tasks/task_address.h"
#include "tasks/task_server.h"

#define TARGET(name, kind, member) {name, kind, offsetof(CopyTaskTarget, member)}
#define TABLE(name, kind, member) {name, kind, offsetof(CopyTaskTable, member)}

static const PlanField target_fields[] = {
	TARGET("conninfo", PLAN_TEXT, conninfo),
	TARGET("system_identifier", PLAN_TEXT, server.system_identifier),
	TARGET("timeline", PLAN_TEXT, server.timeline),
	TARGET("database", PLAN_TEXT, server.database),
	TARGET("user", PLAN_TEXT, server.user),
	TARGET("history", PLAN_TEXT, history),
	TARGET("attempt", PLAN_INT, attempt),
	TARGET("fast_copy", PLAN_BOOL, fast_copy),
	TARGET("data_only", PLAN_BOOL, data_only),
	TARGET("disable_triggers", PLAN_BOOL, disable_triggers),
	TARGET("toast_compression", PLAN_TEXT, toast_compression),
	TARGET("wire_compression", PLAN_TEXT, wire_compression),
	TARGET("loader_missing", PLAN_TEXT, loader_missing),
	TARGET("loader_functions", PLAN_TEXT, loader_functions),
	TARGET("loader_table", PLAN_TEXT, loader_table),
	{NULL}
};

static const PlanField table_fields[] = {
	TABLE("name", PLAN_TEXT, name),
	TABLE("tag", PLAN_TEXT, tag),
	TABLE("oid", PLAN_UINT32, format.target),
	TABLE("format", PLAN_INT, format.kind),
	TABLE("reason", PLAN_TEXT, format.reason),
	TABLE("statement", PLAN_TEXT, format.statement),
	TABLE("truncate", PLAN_BOOL, format.truncate),
	{NULL}
};

/* ----------
 * Writing
 * ----------
 */
static void
write_target(PlanWriter *writer, const Target *target,
			 const CopyFormats *formats, const JobLog *log)
{
	const Options *options = target->options;
	const ServerExtension *loader = formats->loader;
	CopyTaskTarget planned = {
		.conninfo = task_address_of(target->conn, target->address),
		.server = task_server_read(target->conn),
		.history = unconstify(char *, target->history),
		.attempt = log->attempt,
		.fast_copy = target->fast_copy,
		.data_only = options->data_only,
		.disable_triggers = options->disable_triggers,
		.toast_compression = unconstify(char *, options->toast_compression),
		.wire_compression = pg_strdup(formats->wire_compression),
		.loader_missing = unconstify(char *, loader->missing),
		.loader_functions = loader->functions,
		.loader_table = loader->lock_table,
	};

	plan_write_array(writer, "target");
	plan_write_object(writer, 0, target_fields, &planned);
	plan_write_end_array(writer);
	free(planned.conninfo);
	free(planned.wire_compression);
}

static void
write_tables(PlanWriter *writer, const DumpTables *tables,
			 const CopyFormats *formats)
{
	plan_write_array(writer, "target_tables");
	for (int i = 0; i < tables->n_tables; i++)
	{
		CopyTaskTable planned = {
			.name = tables->tables[i].copy_name,
			.tag = tables->tables[i].entry->tag,
			.format = formats->tables[i],
		};

		plan_write_object(writer, i, table_fields, &planned);
	}
	plan_write_end_array(writer);
}

void
copy_task_plan_write(const char *path, const Source *source,
					 const Target *target, const DumpPlan *plan,
					 const CopyFormats *formats, const JobLog *log,
					 const char *run_id)
{
	PlanWriter	writer;

	dump_task_write_begin(&writer, path, TASKS_COPY, source, plan, run_id);
	write_target(&writer, target, formats, log);
	write_tables(&writer, plan->tables, formats);
	plan_write_end(&writer);
}

/* ----------
 * Reading
 * ----------
 */
static void
skip_other(PlanReader *reader, const char *key, void *object)
{
	json_skip(&reader->json);
}

/* A DumpTaskMore callback. */
static bool
read_member(void *arg, PlanReader *reader, const char *key)
{
	CopyTaskPlan *plan = arg;
	void		(*read_other) (PlanReader *reader, const char *key, void *object) =
		reader->read_other;
	bool		found = true;

	/* objects of ours have no members but these fields */
	reader->read_other = skip_other;
	if (strcmp(key, "target") == 0)
		plan_read_objects(reader, &plan->targets, target_fields);
	else if (strcmp(key, "target_tables") == 0)
		plan_read_objects(reader, &plan->tables, table_fields);
	else
		found = false;
	reader->read_other = read_other;
	return found;
}

static void
use_target(CopyTaskPlan *plan, PlanReader *reader)
{
	CopyTaskTarget *target = &plan->target;
	ServerExtension *loader = pg_malloc0(sizeof(ServerExtension));

	if (plan->targets.n == 1)
		*target = *(CopyTaskTarget *) plan->targets.elements;
	if (target->conninfo == NULL || target->history == NULL ||
		target->server.system_identifier == NULL ||
		target->server.timeline == NULL || target->server.database == NULL ||
		target->server.user == NULL || target->wire_compression == NULL ||
		(target->loader_missing == NULL &&
		 (target->loader_functions == NULL || target->loader_table == NULL)))
		plan_read_wrong(reader, "something of the target is missing");
	else
		strlcpy(plan->formats.wire_compression, target->wire_compression,
				sizeof(plan->formats.wire_compression));
	loader->missing = target->loader_missing;
	loader->functions = target->loader_functions;
	loader->lock_table = target->loader_table;
	loader->use = EXTENSION_LOADS;
	plan->formats.loader = loader;
}

static bool
is_possible(const CopyTaskTable *table)
{
	const CopyFormat *format = &table->format;

	switch (format->kind)
	{
		case COPY_FORMAT_TEXT:
		case COPY_FORMAT_BINARY:
			return table->name && table->tag && format->statement;
		case COPY_FORMAT_RAW:
			return table->name && table->tag;
	}
	return false;
}

/* The tables that are read get their names on the target. */
static void
use_tables(CopyTaskPlan *plan, PlanReader *reader)
{
	const CopyTaskTable *planned = (const CopyTaskTable *) plan->tables.elements;
	const DumpTables *tables = plan->read->plan.tables;
	int			n = plan->tables.n;
	TocEntry   *entries = pg_malloc0((n + 1) * sizeof(TocEntry));

	plan->formats.tables = pg_malloc0((n + 1) * sizeof(CopyFormat));
	if (n != tables->n_tables)
	{
		plan_read_wrong(reader, "the target has other tables");
		return;
	}
	for (int i = 0; i < n; i++)
	{
		if (!is_possible(&planned[i]))
			plan_read_wrong(reader, "a table of the target lacks something");
		entries[i].tag = planned[i].tag;
		tables->tables[i].entry = &entries[i];
		tables->tables[i].copy_name = planned[i].name;
		plan->formats.tables[i] = planned[i].format;
	}
}

/* A DumpTaskMore callback. */
static void
finish(void *arg, PlanReader *reader, DumpTaskPlan *read)
{
	CopyTaskPlan *plan = arg;

	plan->read = read;
	use_target(plan, reader);
	use_tables(plan, reader);
}

CopyTaskPlan *
copy_task_plan_read(const char *path)
{
	CopyTaskPlan *plan = pg_malloc0(sizeof(CopyTaskPlan));
	DumpTaskMore more = {.arg = plan,.read = read_member,.finish = finish};

	plan->targets.size = sizeof(CopyTaskTarget);
	plan->tables.size = sizeof(CopyTaskTable);
	(void) dump_task_read(path, TASKS_COPY, &more);
	return plan;
}
