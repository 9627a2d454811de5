/*
 * advice.c
 *		What costs a run time that it need not take.
 */
#include "base/fe_compat.h"

#include "base/units.h"
#include "progress/progress.h"
#include "status/advice.h"

/* Fewer bytes are read within a second or two, however that is done. */
#define BYTES_WORTH_A_WORD ((uint64) 64 * 1024 * 1024)

#define MAX_LINES 3

/* Of tables that SQL reads for this reason. */
static uint64
bytes_by_sql(const DumpPlan *plan, const char *sql_reason)
{
	const ChunkPlan *chunks = plan->chunks;
	uint64		bytes = 0;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const char *reason = chunks->tables[chunks->files[i].table].sql_reason;

		if (reason && strcmp(reason, sql_reason) == 0)
			bytes += chunks->files[i].est_bytes;
	}
	return bytes;
}

/*
 * Of tables that are whole, since queries could run functions of their
 * owners.
 */
static uint64
undivided_bytes(const DumpPlan *plan)
{
	uint64		bytes = 0;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];
		const TablePlan *decided = &plan->chunks->tables[i];

		if (table->stranger && decided->n_files == 1 && decided->sql_reason &&
			table->total_bytes >= plan->chunks->chunk_bytes * 3 / 2)
			bytes += table->total_bytes;
	}
	return bytes;
}

/* Fills in up to MAX_LINES lines, owned, and returns how many. */
static int
compose(const Options *options, const DumpPlan *plan, char *lines[MAX_LINES])
{
	const char *missing = plan->extension ? plan->extension->missing : NULL;
	uint64		bytes = dump_plan_bytes(plan);
	char		size[UNITS_BYTES];
	int			n = 0;

	if (!options->jobs_given && !options->tasks && plan->queue->n_jobs > 1 &&
		bytes >= BYTES_WORTH_A_WORD)
		lines[n++] = psprintf("one worker for about %s: -j NUM lets NUM workers share it",
							  units_size(bytes, size));
	bytes = undivided_bytes(plan);
	if (bytes >= BYTES_WORTH_A_WORD && !options->no_chunks)
		lines[n++] = psprintf("about %s in tables of other roles are not split, as queries might run their functions: the extension, or --trust-owners, lets them be",
							  units_size(bytes, size));
	if (missing == NULL || options->no_extension)
		return n;
	bytes = bytes_by_sql(plan, missing);
	if (bytes >= BYTES_WORTH_A_WORD || plan->extension->is_there)
		lines[n++] = psprintf("about %s read by SQL, which takes longer: %s",
							  units_size(bytes, size), missing);
	return n;
}

void
advice_give(const Options *options, const DumpPlan *plan)
{
	char	   *lines[MAX_LINES];
	int			n = compose(options, plan, lines);

	for (int i = 0; i < n; i++)
	{
		if (progress_is_shown())
		{
			message_before_output();
			fprintf(stderr, "%s\n", lines[i]);
		}
		else
			pg_log_info("%s", lines[i]);
		free(lines[i]);
	}
}

void
advice_print(const Options *options, const DumpPlan *plan, FILE *stream)
{
	char	   *lines[MAX_LINES];
	int			n = compose(options, plan, lines);

	for (int i = 0; i < n; i++)
	{
		fprintf(stream, "%s\n", lines[i]);
		free(lines[i]);
	}
}
