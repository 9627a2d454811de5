/*
 * restore_rows.c
 *		Loads rows of an archive by one COPY.
 */
#include "base/fe_compat.h"

#include "restore/restore_rows.h"
#include "session/session_loss.h"
#include "stream/sink.h"
#include "target/sink_target.h"

/* All rows of an entry; what is wrong with them, or NULL.  Owned. */
static char *
send_entry(const Archive *archive, const TocEntry *entry, Sink *sink,
		   char *const *error)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);

	if (member == NULL)
		return problem;
	problem = archive_member_send_rows(member, sink, error);
	archive_member_close(member);
	return problem;
}

RestoredRows
restore_rows(PGconn *conn, const char *copy, Oid table, Oid *later,
			 const Archive *archive, const ArchiveRows *const *rows, int n,
			 ArchiveMember *first, volatile uint64 *progress)
{
	RestoredRows result = {0};
	Sink	   *target = sink_target_rows_new(conn, copy, table, later,
											  &result.error);
	Sink	   *sink = sink_tap_new(target, progress, NULL);
	char	   *problem = NULL;

	for (int i = 0; i < n && problem == NULL && result.error == NULL; i++)
		problem = i == 0 && first ?
			archive_member_send_rows(first, sink, &result.error) :
			send_entry(archive, rows[i]->entry, sink, &result.error);
	if (problem)
		sink_target_rows_give_up(target, problem);
	else
		sink_finish(sink);
	result.rows = sink_target_rows_taken(target);
	result.bytes = sink->bytes_in;
	/* the server has only repeated what it was told */
	if (problem)
	{
		free(result.error);
		result.error = problem;
	}
	sink_free(sink);
	return result;
}

bool
restore_rows_wanted(const ArchiveRows *const *sources, int n, uint64 *rows)
{
	*rows = 0;
	for (int i = 0; i < n; i++)
	{
		if (sources[i]->want == NULL)
			return false;
		*rows += sources[i]->want->rows;
	}
	return true;
}

char *
restore_rows_settle(PGconn *conn, const Options *options)
{
	PGresult   *res;
	char	   *error = NULL;

	if (!options->data_only)
		return NULL;
	res = PQexec(conn, "SET CONSTRAINTS ALL IMMEDIATE");
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		if (session_is_lost(conn, res))
			session_failed(conn, res, "query failed", "SET CONSTRAINTS");
		error = pg_strdup(PQresultErrorMessage(res));
	}
	PQclear(res);
	return error;
}
