/*
 * restore_rows.c
 *		Loads rows of an archive by one COPY.
 *
 * They end with a mark, for psql.  It is not sent, but must be there: data
 * that end without it have been cut.
 */
#include "base/fe_compat.h"

#include "archive/archive_file.h"
#include "restore/restore_rows.h"
#include "session/session_loss.h"
#include "stream/sink_tap.h"
#include "target/sink_target.h"

#define READ_BYTES (128 * 1024)

#define MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)

/* The last bytes are held back, as they may be the mark. */
typedef struct RowsText
{
	char		buffer[MARK_BYTES + READ_BYTES];
	size_t		held;			/* at the buffer's begin */
	bool		at_line;		/* all before these is whole lines */
}			RowsText;

/* Pass on what cannot be the mark, of len bytes that follow what is held. */
static void
pass_on(RowsText * text, size_t len, Sink *sink)
{
	size_t		all = text->held + len;
	size_t		part = all > MARK_BYTES ? all - MARK_BYTES : 0;

	if (part > 0)
	{
		sink_write(sink, text->buffer, part);
		text->at_line = text->buffer[part - 1] == '\n';
		memmove(text->buffer, text->buffer + part, all - part);
	}
	text->held = all - part;
}

static bool
ends_with_mark(const RowsText * text)
{
	return text->held == MARK_BYTES && text->at_line &&
		memcmp(text->buffer, ARCHIVE_END_OF_ROWS, MARK_BYTES) == 0;
}

/* All rows that a member has; what is wrong with them, or NULL.  Owned. */
static char *
send_rows(ArchiveMember *member, Sink *sink, char *const *error)
{
	RowsText   *text = pg_malloc0(sizeof(RowsText));
	char	   *problem = NULL;
	ssize_t		len;

	text->at_line = true;
	while ((len = archive_member_read(member, text->buffer + text->held,
									  READ_BYTES)) > 0 && *error == NULL)
		pass_on(text, len, sink);
	if (len < 0)
		problem = archive_member_error(member);
	else if (*error == NULL && !ends_with_mark(text))
		problem = pg_strdup("the data do not end as rows do");
	free(text);
	return problem;
}

/* The same of an entry. */
static char *
send_entry(const Archive *archive, const TocEntry *entry, Sink *sink,
		   char *const *error)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);

	if (member == NULL)
		return problem;
	problem = send_rows(member, sink, error);
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
		problem = i == 0 && first ? send_rows(first, sink, &result.error) :
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
