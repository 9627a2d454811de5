/*
 * wal_changes.c
 *		Reads the summaries of the write-ahead log.
 *
 * Functions are those of pg_proc.dat's "WAL summarization functions"; what
 * the columns mean is in walsummaryfuncs.c.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "previous/wal_changes.h"
#include "session/session.h"

#define POLL_US 100000
#define MAX_SUMMARIZE_POLLS 600 /* 60 s behind a checkpoint */

/* Reading them, in a session that may fail. */
typedef struct SummaryReader
{
	PGconn	   *conn;
	const Manifest *before;
	const char *problem;		/* NULL so far */
	uint64		until;			/* position up to which all must be there */
	PQExpBufferData summaries;	/* those that are, as rows of VALUES */
} SummaryReader;

/* ----------
 * Asking
 * ----------
 */

/* NULL, and the problem is noted, if it fails. */
static PGresult *
ask(SummaryReader *reader, const char *sql, ExecStatusType expected)
{
	PGresult   *res = session_exec(reader->conn, sql);
	const char *message;

	interrupt_check();
	if (PQresultStatus(res) == expected)
		return res;
	message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	reader->problem = message ? psprintf("the server says: %s", printable(message)) :
		"the connection was lost";
	PQclear(res);
	return NULL;
}

/* The first value, "" for NULL or if it fails; owned. */
static char *
ask_value(SummaryReader *reader, const char *sql)
{
	PGresult   *res = ask(reader, sql, PGRES_TUPLES_OK);
	char	   *value = pg_strdup(res && PQntuples(res) == 1 ?
								  PQgetvalue(res, 0, 0) : "");

	PQclear(res);
	return value;
}

static bool
ask_bool(SummaryReader *reader, const char *sql)
{
	char	   *value = ask_value(reader, sql);
	bool		result = value[0] == 't';

	free(value);
	return result;
}

/* "16/B374D848" */
static uint64
lsn_number(const char *text)
{
	unsigned int high;
	unsigned int low;

	if (sscanf(text, "%X/%X", &high, &low) != 2)
		return 0;
	return ((uint64) high << 32) | low;
}

/* ----------
 * Is it the same history, and all of it summarized?
 * ----------
 */
static bool
consists_of(const char *text, const char *chars)
{
	return text && *text && strspn(text, chars) == strlen(text);
}

/* Why the manifest proves nothing; it becomes part of statements, too. */
static const char *
why_not_before(const Manifest *before, const WalHistory *now)
{
	if (before->history_token == NULL)
		return "the previous archive was made without --incremental-by=wal-summaries, or while older transactions were running";
	if (!consists_of(before->history_token, "0123456789abcdef") ||
		!consists_of(before->history_lsn, "0123456789ABCDEF/") ||
		!consists_of(before->history_xmax, "0123456789") ||
		before->history_timeline == NULL || before->history_database == NULL ||
		before->history_server_start == NULL)
		return "the previous archive's manifest is damaged";
	if (strcmp(before->history_database, now->database) != 0)
		return "it is another database than that of the previous archive";
	if (strcmp(before->history_timeline, now->timeline) != 0)
		return "the server has changed its timeline since the previous archive";
	if (strcmp(before->history_server_start, now->server_start) != 0)
		return "the server was started anew since the previous archive";
	if (now->xmin < strtoull(before->history_xmax, NULL, 10))
		return "a transaction of the previous archive's time is still running";
	return NULL;
}

static bool
has_token(SummaryReader *reader)
{
	char	   *sql = psprintf("SELECT EXISTS (SELECT FROM pg_catalog.pg_description d"
							   " WHERE d.objoid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('" PARDUMP_HISTORY "'::pg_catalog.text)"
							   " AND d.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
							   " AND d.objsubid OPERATOR(pg_catalog.=) 0"
							   " AND pg_catalog.strpos(d.description, '%s'::pg_catalog.text) OPERATOR(pg_catalog.>) 0)",
							   reader->before->history_token);
	bool		result = ask_bool(reader, sql);

	free(sql);
	if (!result && reader->problem == NULL)
		reader->problem = "the server does not remember the previous dump, so its history may be another one";
	return result;
}

/*
 * Summaries end at checkpoints.  Who may not ask for one waits for the next;
 * how long that may take, in polls.
 */
static int
begin_checkpoint(SummaryReader *reader)
{
	char	   *timeout;
	int			seconds;

	if (ask_bool(reader, "SELECT pg_catalog.pg_has_role('pg_checkpoint'::pg_catalog.name, 'USAGE'::pg_catalog.text)"))
	{
		PQclear(ask(reader, "CHECKPOINT", PGRES_COMMAND_OK));
		return MAX_SUMMARIZE_POLLS;
	}
	timeout = ask_value(reader, "SELECT s.setting FROM pg_catalog.pg_settings s"
						" WHERE s.name OPERATOR(pg_catalog.=) 'checkpoint_timeout'::pg_catalog.text");
	seconds = atoi(timeout);
	free(timeout);
	return MAX_SUMMARIZE_POLLS + seconds * (1000000 / POLL_US);
}

static bool
wait_for_summaries(SummaryReader *reader)
{
	int			polls = begin_checkpoint(reader);

	while (reader->problem == NULL)
	{
		char	   *lsn = ask_value(reader, "SELECT s.summarized_lsn"
									" FROM pg_catalog.pg_get_wal_summarizer_state() s");
		bool		done = lsn_number(lsn) >= reader->until;

		free(lsn);
		if (done)
			break;
		if (polls-- == 0)
			reader->problem = "the server has not summarized its write-ahead log in time";
		pg_usleep(POLL_US);
	}
	return reader->problem == NULL;
}

/* One chain without a gap, on one timeline, over all that was logged. */
static bool
is_covered(SummaryReader *reader)
{
	const Manifest *before = reader->before;
	uint64		position = lsn_number(before->history_lsn);
	PGresult   *res = ask(reader, "SELECT s.tli, s.start_lsn, s.end_lsn"
						  " FROM pg_catalog.pg_available_wal_summaries() s"
						  " ORDER BY s.start_lsn, s.end_lsn", PGRES_TUPLES_OK);
	uint64		timeline = strtoull(before->history_timeline, NULL, 16);

	for (int i = 0; res && i < PQntuples(res); i++)
	{
		uint64		end = lsn_number(PQgetvalue(res, i, 2));

		if (strtoull(PQgetvalue(res, i, 0), NULL, 10) != timeline ||
			lsn_number(PQgetvalue(res, i, 1)) > position || end <= position)
			continue;
		position = end;
		appendPQExpBuffer(&reader->summaries,
						  "%s(%s::pg_catalog.int8, '%s'::pg_catalog.pg_lsn, '%s'::pg_catalog.pg_lsn)",
						  reader->summaries.len > 0 ? ", " : "",
						  PQgetvalue(res, i, 0), PQgetvalue(res, i, 1),
						  PQgetvalue(res, i, 2));
	}
	PQclear(res);
	if (position < reader->until && reader->problem == NULL)
		reader->problem = "summaries of the write-ahead log are missing (wal_summary_keep_time)";
	return reader->problem == NULL;
}

/* ----------
 * What has changed
 * ----------
 */
/*
 * Of the summaries that were found, and no others: one that is removed
 * meanwhile is an error.
 */
static ChangedBlocks *
read_changes(SummaryReader *reader)
{
	const Manifest *before = reader->before;
	char	   *sql = psprintf("SELECT c.reltablespace, c.relfilenode,"
							   " CASE WHEN c.is_limit_block THEN c.relblocknumber"
							   " ELSE c.relblocknumber OPERATOR(pg_catalog./) %d OPERATOR(pg_catalog.*) %d END AS start,"
							   " c.is_limit_block"
							   " FROM (VALUES %s) s (tli, start_lsn, end_lsn),"
							   " LATERAL pg_catalog.pg_wal_summary_contents(s.tli, s.start_lsn, s.end_lsn) c"
							   " WHERE c.reldatabase OPERATOR(pg_catalog.=) %lu::pg_catalog.oid"
							   " AND (c.relforknumber OPERATOR(pg_catalog.=) 0 OR c.relfilenode OPERATOR(pg_catalog.=) 0::pg_catalog.oid)"
							   " GROUP BY 1, 2, 3, 4",
							   CHANGED_BLOCKS_PART, CHANGED_BLOCKS_PART, reader->summaries.data,
							   strtoul(before->history_database, NULL, 10));
	PGresult   *res = ask(reader, sql, PGRES_TUPLES_OK);
	ChangedBlocks *changes = res ? changed_blocks_new(res) : NULL;

	PQclear(res);
	free(sql);
	return changes;
}

ChangedBlocks *
wal_changes_read(PGconn *conn, const PreviousArchive *previous,
				 const WalHistory *history, const char **problem)
{
	SummaryReader reader = {.conn = conn,.before = previous->manifest};
	ChangedBlocks *changes = NULL;
	char	   *until;

	initPQExpBuffer(&reader.summaries);
	reader.problem = why_not_before(reader.before, history);
	if (reader.problem == NULL && has_token(&reader))
	{
		until = ask_value(&reader, "SELECT pg_catalog.pg_current_wal_insert_lsn()");
		reader.until = lsn_number(until);
		free(until);
		if (reader.problem == NULL && wait_for_summaries(&reader) &&
			is_covered(&reader))
			changes = read_changes(&reader);
	}
	termPQExpBuffer(&reader.summaries);
	*problem = reader.problem;
	return changes;
}
