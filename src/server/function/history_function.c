/*-------------------------------------------------------------------------
 *
 * history_function.c
 *	  The SQL function pg_pardump_note_dump(), which records a dump in the
 *	  database.
 *
 * A dump calls it with a random token, which the dump also stores in its
 * manifest.  The next dump with --incremental-by=wal-summaries looks for this
 * token in the database.  If the cluster has been restored to an earlier
 * state, the token is missing, and WAL summaries cannot show what has changed
 * since the previous dump.
 *
 * The tokens are stored in the comment of a table of the extension.  Like all
 * catalog rows, a comment is written to WAL.  Unlike the rows of a table, it
 * is neither dumped, as the table belongs to an extension, nor published.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "function/sql_call.h"

#define TABLE_NAME "pg_pardump_history"
#define HEAD "dumps of this database:"
#define TOKEN_CHARS 32

/* The number of tokens in the comment; older ones are removed. */
#define MAX_TOKENS 64

PG_FUNCTION_INFO_V1(pg_pardump_note_dump);

/* Return the comment with one more token, which comes first. */
static char *
add_token(const char *comment, const char *token)
{
	/* a space precedes each of the other tokens */
	Size		keep = (MAX_TOKENS - 1) * (TOKEN_CHARS + 1);
	StringInfoData text;

	initStringInfo(&text);

	/* a comment that does not begin with HEAD is from a user: replace it */
	appendStringInfo(&text, "%s %s", HEAD, token);
	if (comment && strncmp(comment, HEAD, strlen(HEAD)) == 0)
	{
		comment += strlen(HEAD);
		appendBinaryStringInfo(&text, comment, (int) Min(strlen(comment), keep));
	}
	return text.data;
}

/*
 * pg_pardump_note_dump(token text)
 *
 * The token consists of 32 hexadecimal digits.  It is recorded when the
 * transaction commits; even with synchronous_commit = off, the commit waits
 * until it is on disk.  In recovery this is an error (25006).
 */
Datum
pg_pardump_note_dump(PG_FUNCTION_ARGS)
{
	Oid			relid;
	char	   *token;

	check_not_null(fcinfo, 0, "token");
	token = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (strlen(token) != TOKEN_CHARS ||
		strspn(token, "0123456789abcdef") != TOKEN_CHARS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("token must be %d hexadecimal digits", TOKEN_CHARS)));
	PreventCommandIfReadOnly("pg_pardump_note_dump()");
	/* the table is in the schema of this function, which may be any schema */
	relid = get_relname_relid(TABLE_NAME,
							  get_func_namespace(fcinfo->flinfo->fn_oid));
	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of the extension is missing",
						TABLE_NAME)));
	/* the lock makes others wait, as each call adds to the last comment */
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	CreateComments(relid, RelationRelationId, 0,
				   add_token(GetComment(relid, RelationRelationId, 0), token));
	ForceSyncCommit();
	PG_RETURN_VOID();
}
