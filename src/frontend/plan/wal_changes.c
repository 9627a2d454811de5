/*
 * wal_changes.c
 *		Notes the history that a dump belongs to, and reads WAL summaries
 *		since an earlier one.
 *
 * The functions are the "WAL summarization functions" of pg_proc.dat;
 * walsummaryfuncs.c explains their columns.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "plan/wal_changes.h"
#include "session/session.h"

/* ----------
 * What a dump notes for the next one.
 * ----------
 */

/* WAL summaries exist from 17 on. */
#define MIN_SERVER_FOR_SUMMARIES 170000

#define TOKEN_BYTES 16
#define WAIT_US 20000
#define MAX_WAITS 250			/* 5 s */

/*
 * This query does not call functions whose privileges may have been revoked.
 */
static const char may_query[] =
"SELECT pg_catalog.pg_is_in_recovery(),"
" pg_catalog.current_setting('summarize_wal') OPERATOR(pg_catalog.=) 'on'::pg_catalog.text,"
" pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_current_wal_insert_lsn()'), 'EXECUTE')"
" AND pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)'), 'EXECUTE')";

static const char lsn_query[] =
"SELECT pg_catalog.pg_current_wal_insert_lsn()";

/*
 * Assigns a transaction ID, and ends the transaction.  A snapshot's xmax is
 * not enough: it follows the last transaction that has ended, not the last
 * that has begun.
 */
static const char xid_query[] =
"SELECT pg_catalog.pg_current_xact_id()";

static const char bounds_query[] =
"SELECT pg_catalog.pg_snapshot_xmin(s.s), pg_catalog.pg_snapshot_xmax(s.s)"
" FROM pg_catalog.pg_current_snapshot() s (s)";

static const char place_query[] =
"SELECT d.oid, pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8),"
" (pg_catalog.date_part('epoch'::pg_catalog.text, pg_catalog.pg_postmaster_start_time())"
" OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8"
" FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

static const char *
why_not(PGconn *conn)
{
	PGresult   *res;

	if (PQserverVersion(conn) < MIN_SERVER_FOR_SUMMARIES)
		return "The server is older than 17.";
	res = session_query(conn, may_query);
	if (result_is_true(res, 0, 0))
		return "The server is a standby.";
	if (!result_is_true(res, 0, 1))
		return "The parameter summarize_wal is off.";
	if (!result_is_true(res, 0, 2))
		return "The role may not read WAL positions.";
	return NULL;
}

static void
read_bounds(PGconn *conn, uint64 *xmin, uint64 *xmax)
{
	PGresult   *res = session_query(conn, bounds_query);

	*xmin = result_number(res, 0, 0);
	*xmax = result_number(res, 0, 1);
	PQclear(res);
}

WalHistory *
wal_history_begin(PGconn *conn)
{
	WalHistory *history = pg_malloc0(sizeof(WalHistory));
	uint64		xmin;
	uint64		xmax;

	history->problem = why_not(conn);
	if (history->problem)
		return history;

	/*
	 * The token is committed after all rows were read, and the next run looks
	 * for it: a server that has lost that commit does not have the token.
	 */
	history->token = hex_random(TOKEN_BYTES);

	/*
	 * The position comes first, so all transactions with higher IDs write WAL
	 * after it.
	 */
	history->lsn = session_value(conn, lsn_query);
	history->xid = strtoull(session_value(conn, xid_query), NULL, 10);

	/*
	 * Wait until all transactions up to that one have ended: their changes
	 * before the position would not be in the summaries.
	 */
	read_bounds(conn, &xmin, &xmax);
	for (int i = 0; i < MAX_WAITS && xmin <= history->xid; i++)
	{
		interrupt_check();
		pg_usleep(WAIT_US);
		read_bounds(conn, &xmin, &xmax);
	}
	return history;
}

void
wal_history_snapshot_taken(PGconn *conn, WalHistory *history)
{
	PGresult   *res;
	uint64		xmax;

	if (history->problem)
		return;
	read_bounds(conn, &history->xmin, &xmax);
	history->xmax = psprintf(UINT64_FORMAT, xmax);
	res = session_query(conn, place_query);
	history->database = pg_strdup(PQgetvalue(res, 0, 0));
	history->timeline = pg_strdup(PQgetvalue(res, 0, 1));
	history->server_start = pg_strdup(PQgetvalue(res, 0, 2));
}

const char *
wal_history_note(PGconn *conn, const WalHistory *history)
{
	char	   *sql = psprintf("SELECT " PARDUMP_NOTE_DUMP "('%s'::pg_catalog.text)",
							   history->token);
	PGresult   *res = session_exec(conn, sql);
	const char *message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		return NULL;
	return message ? message_sentence(message) : "The connection was lost.";
}

/* ----------
 * The blocks of a database that may have changed.
 * ----------
 */

/* A part of a relation's main fork, which begins with block start. */
typedef struct BlockPart
{
	Oid			tablespace;
	Oid			filenode;
	BlockNumber start;
} BlockPart;

/* Sorted by tablespace, file node and start. */
typedef struct BlockParts
{
	BlockPart  *parts;
	int			n;
} BlockParts;

struct ChangedBlocks
{
	BlockParts	parts;			/* parts of CHANGED_BLOCKS_PART blocks */
	BlockParts	limits;			/* all blocks from start on */
	bool		all;			/* all blocks of the database */
};

static int
compare_parts(const void *a, const void *b)
{
	const BlockPart *one = a;
	const BlockPart *other = b;

	if (one->tablespace != other->tablespace)
		return one->tablespace < other->tablespace ? -1 : 1;
	if (one->filenode != other->filenode)
		return one->filenode < other->filenode ? -1 : 1;
	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return 0;
}

static void
sort_parts(BlockParts *parts)
{
	qsort(parts->parts, parts->n, sizeof(BlockPart), compare_parts);
}

ChangedBlocks *
changed_blocks_new(const PGresult *res)
{
	ChangedBlocks *changes = pg_malloc0(sizeof(ChangedBlocks));
	int			n = PQntuples(res);

	changes->parts.parts = pg_malloc((n + 1) * sizeof(BlockPart));
	changes->limits.parts = pg_malloc((n + 1) * sizeof(BlockPart));
	for (int i = 0; i < n; i++)
	{
		bool		is_limit = result_is_true(res, i, 3);
		BlockParts *parts = is_limit ? &changes->limits : &changes->parts;
		BlockPart  *part = &parts->parts[parts->n++];

		part->tablespace = result_oid(res, i, 0);
		part->filenode = result_oid(res, i, 1);
		part->start = (BlockNumber) result_oid(res, i, 2);
		if (part->filenode == 0)
			changes->all = true;
	}
	sort_parts(&changes->parts);
	sort_parts(&changes->limits);
	return changes;
}

/* Is there a part of the relation that begins in this range? */
static bool
any_begins(const BlockParts *parts, Oid tablespace, Oid filenode,
		   BlockNumber start, BlockNumber end)
{
	BlockPart	key = {tablespace, filenode, start};
	int			i = lower_bound(&key, parts->parts, parts->n,
								sizeof(BlockPart), compare_parts);
	const BlockPart *part = &parts->parts[i];

	return i < parts->n && part->tablespace == tablespace &&
		part->filenode == filenode && part->start < end;
}

bool
changed_blocks_touch(const ChangedBlocks *changes, Oid tablespace,
					 Oid filenode, BlockNumber start, BlockNumber end)
{
	BlockNumber first = start / CHANGED_BLOCKS_PART * CHANGED_BLOCKS_PART;

	return changes->all ||
		any_begins(&changes->limits, tablespace, filenode, 0, end) ||
		any_begins(&changes->parts, tablespace, filenode, first, end);
}

/* ----------
 * The summaries.
 * ----------
 */

#define POLL_US 100000
#define MAX_SUMMARIZE_POLLS 600 /* 60 s after a checkpoint */

/* The state while summaries are read, in a session that may fail. */
typedef struct SummaryReader
{
	PGconn	   *conn;
	const Manifest *before;
	const char *problem;		/* NULL so far */
	uint64		until;			/* all WAL up to this position must be
								 * summarized */
	PQExpBufferData summaries;	/* existing summaries, as rows of VALUES */
} SummaryReader;

/* ----------
 * Queries
 * ----------
 */

/* Run a statement; on failure, note the problem and return NULL. */
static PGresult *
ask(SummaryReader *reader, const char *sql, ExecStatusType expected)
{
	PGresult   *res = session_exec(reader->conn, sql);
	const char *message;

	interrupt_check();
	if (PQresultStatus(res) == expected)
		return res;
	message = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	reader->problem = message ? message_sentence(printable(message)) :
		"The connection was lost.";
	PQclear(res);
	return NULL;
}

/* The first value of a query, "" for NULL or on failure; owned. */
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
	return ask_value(reader, sql)[0] == 't';
}

/* Parse a position such as "16/B374D848". */
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
 * Is it the same history, and is all of it summarized?
 * ----------
 */
static bool
consists_of(const char *text, const char *chars)
{
	return text && *text && strspn(text, chars) == strlen(text);
}

/*
 * Returns why the manifest of the previous archive proves nothing; NULL if it
 * does.  Its texts become parts of statements, so they are checked, too.
 */
static const char *
why_not_before(const Manifest *before, const WalHistory *now)
{
	if (before->history_token == NULL)
		return "The previous archive was made without --incremental-by=wal-summaries, or while older transactions were running.";
	if (!consists_of(before->history_token, "0123456789abcdef") ||
		!consists_of(before->history_lsn, "0123456789ABCDEF/") ||
		!consists_of(before->history_xmax, "0123456789") ||
		before->history_timeline == NULL || before->history_database == NULL ||
		before->history_server_start == NULL)
		return "The previous archive's manifest is damaged.";
	if (strcmp(before->history_database, now->database) != 0)
		return "The previous archive is that of another database.";
	if (strcmp(before->history_timeline, now->timeline) != 0)
		return "The server switched to another timeline after the previous archive.";
	if (strcmp(before->history_server_start, now->server_start) != 0)
		return "The server was restarted after the previous archive.";
	if (now->xmin < strtoull(before->history_xmax, NULL, 10))
		return "A transaction that was running during the previous archive is still running.";
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

	if (!result && reader->problem == NULL)
		reader->problem = "The server has no record of the previous dump, so its history might differ.";
	return result;
}

/*
 * Request a checkpoint, because summaries end at checkpoints.  A role without
 * that privilege waits for the next one.  Returns how long this may take, in
 * polls.
 */
static int
begin_checkpoint(SummaryReader *reader)
{
	char	   *timeout;

	if (ask_bool(reader, "SELECT pg_catalog.pg_has_role('pg_checkpoint'::pg_catalog.name, 'USAGE'::pg_catalog.text)"))
	{
		PQclear(ask(reader, "CHECKPOINT", PGRES_COMMAND_OK));
		return MAX_SUMMARIZE_POLLS;
	}
	timeout = ask_value(reader, "SELECT s.setting FROM pg_catalog.pg_settings s"
						" WHERE s.name OPERATOR(pg_catalog.=) 'checkpoint_timeout'::pg_catalog.text");
	return MAX_SUMMARIZE_POLLS + atoi(timeout) * (1000000 / POLL_US);
}

static bool
wait_for_summaries(SummaryReader *reader)
{
	int			polls = begin_checkpoint(reader);

	while (reader->problem == NULL &&
		   lsn_number(ask_value(reader, "SELECT s.summarized_lsn"
								" FROM pg_catalog.pg_get_wal_summarizer_state() s")) <
		   reader->until)
	{
		if (polls-- == 0)
			reader->problem = "The server did not summarize its WAL in time.";
		pg_usleep(POLL_US);
	}
	return reader->problem == NULL;
}

/*
 * Do the summaries form a chain without gaps, on one timeline, over all WAL
 * since the previous position?
 */
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

		/*
		 * Summaries may overlap, because the server writes some again after a
		 * crash.  A summary that ends before the position, or begins after
		 * it, does not continue the chain.
		 */
		if (result_number(res, i, 0) != timeline ||
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
		reader->problem = "WAL summaries are missing (see wal_summary_keep_time).";
	return reader->problem == NULL;
}

/* ----------
 * The changed blocks
 * ----------
 */
/*
 * Read the changes from exactly the summaries that were found: if one is
 * removed meanwhile this is an error.
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

	return res ? changed_blocks_new(res) : NULL;
}

ChangedBlocks *
wal_changes_read(PGconn *conn, const PreviousArchive *previous,
				 const WalHistory *history, const char **problem)
{
	SummaryReader reader = {
		.conn = conn,
		.before = previous->manifest,
		.summaries = buffer_new(),
	};
	ChangedBlocks *changes = NULL;

	reader.problem = why_not_before(reader.before, history);
	if (reader.problem == NULL && has_token(&reader))
	{
		reader.until = lsn_number(ask_value(&reader, lsn_query));
		if (reader.problem == NULL && wait_for_summaries(&reader) &&
			is_covered(&reader))
			changes = read_changes(&reader);
	}
	*problem = reader.problem;
	return changes;
}
