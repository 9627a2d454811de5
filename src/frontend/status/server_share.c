/*
 * server_share.c
 *		What each of several servers has to do with a run (--also-from).
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/event_log.h"
#include "base/units.h"
#include "status/server_share.h"

char *
server_share_plan(const Run *run)
{
	PQExpBufferData text;

	if (run->servers == NULL)
		return NULL;
	initPQExpBuffer(&text);
	appendPQExpBuffer(&text, "Rows are read from %d servers:", run->n_servers);
	for (int i = 0; i < run->n_servers; i++)
		appendPQExpBuffer(&text, "%s %s", i > 0 ? "," : "", run->servers[i]);
	appendPQExpBufferChar(&text, '.');
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

static void
add_files(FileTotals *total, const FileResult *files, int n, int server)
{
	for (int i = 0; i < n; i++)
	{
		if (!files[i].done || files[i].server != server)
			continue;
		total->n_done++;
		total->rows += files[i].rows;
		total->raw_bytes += files[i].raw_bytes;
		total->stored_bytes += files[i].stored_bytes;
	}
}

/* Files of rows, and large objects. */
static FileTotals
total_of(const Run *run, int server)
{
	const FileResults *results = run->results;
	FileTotals	total = {0};

	add_files(&total, results->files, results->n_files, server);
	add_files(&total, results->objects, results->n_objects, server);
	return total;
}

char *
server_share_text(const Run *run)
{
	PQExpBufferData text;
	char		size[UNITS_BYTES];

	if (run->servers == NULL)
		return NULL;
	initPQExpBuffer(&text);
	for (int i = 0; i < run->n_servers; i++)
	{
		FileTotals	total = total_of(run, i);

		appendPQExpBuffer(&text, "%s%s %d file%s, %s", i > 0 ? "; " : "",
						  run->servers[i], total.n_done,
						  units_plural(total.n_done),
						  units_size(total.raw_bytes, size));
	}
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

void
server_share_note(const Run *run)
{
	for (int i = 0; i < run->n_servers; i++)
	{
		FileTotals	total = total_of(run, i);
		Event	   *event = event_new("server");

		event_add_text(event, "server", run->servers[i]);
		event_add_number(event, "files", total.n_done);
		event_add_number(event, "rows", total.rows);
		event_add_number(event, "raw_bytes", total.raw_bytes);
		event_add_number(event, "stored_bytes", total.stored_bytes);
		event_write(event);
	}
}
