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

/* Of all that is read, or of tables that SQL reads for this reason. */
static uint64
expected_bytes(const DumpContext *context, const char *sql_reason)
{
	const ChunkPlan *plan = context->plan;
	uint64		bytes = sql_reason ? 0 : context->objects->est_bytes;

	for (int i = 0; i < plan->n_files; i++)
		if (sql_reason == NULL ||
			plan->tables[plan->files[i].table].sql_reason == sql_reason)
			bytes += plan->files[i].est_bytes;
	return bytes;
}

/* Of tables that are whole lest a query runs functions of their owners. */
static uint64
undivided_bytes(const DumpContext *context)
{
	uint64		bytes = 0;

	for (int i = 0; i < context->tables->n_tables; i++)
	{
		const DumpTable *table = &context->tables->tables[i];
		const TablePlan *plan = &context->plan->tables[i];

		if (table->stranger && plan->n_files == 1 && plan->sql_reason &&
			table->total_bytes >= context->plan->chunk_bytes * 3 / 2)
			bytes += table->total_bytes;
	}
	return bytes;
}

/* Fills in up to MAX_LINES lines, owned, and returns how many. */
static int
compose(const DumpContext *context, char *lines[MAX_LINES])
{
	const Options *options = context->options;
	const char *missing = context->extension->missing;
	uint64		bytes = expected_bytes(context, NULL);
	char		size[UNITS_BYTES];
	int			n = 0;

	if (!options->jobs_given && context->queue->n_jobs > 1 &&
		bytes >= BYTES_WORTH_A_WORD)
		lines[n++] = psprintf("one worker for about %s: -j NUM lets NUM workers share it",
							  units_size(bytes, size));
	bytes = undivided_bytes(context);
	if (bytes >= BYTES_WORTH_A_WORD && !options->no_chunks)
		lines[n++] = psprintf("about %s in tables of other roles are not split, as queries might run their functions: the extension, or --trust-owners, lets them be",
							  units_size(bytes, size));
	if (missing == NULL || options->no_extension)
		return n;
	bytes = expected_bytes(context, missing);
	if (bytes >= BYTES_WORTH_A_WORD || context->extension->is_there)
		lines[n++] = psprintf("about %s read by SQL, which takes longer: %s",
							  units_size(bytes, size), missing);
	return n;
}

void
advice_give(const DumpContext *context)
{
	char	   *lines[MAX_LINES];
	int			n = compose(context, lines);

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
advice_print(const DumpContext *context, FILE *stream)
{
	char	   *lines[MAX_LINES];
	int			n = compose(context, lines);

	for (int i = 0; i < n; i++)
	{
		fprintf(stream, "%s\n", lines[i]);
		free(lines[i]);
	}
}
