/*-------------------------------------------------------------------------
 *
 * history_function.c
 *	  The SQL function pg_pardump_note_dump(), which leaves a mark in the
 *	  cluster's history.
 *
 * Marks are in the comment of a table of the extension: a row of a catalog is
 * logged, but neither dumped, as it belongs to an extension, nor published.
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

/* Older ones are forgotten. */
#define MAX_TOKENS 64

PG_FUNCTION_INFO_V1(pg_pardump_note_dump);

/* The comment with one token more, at its begin. */
static char *
add_token(const char *comment, const char *token)
{
	/* each of the others has a space before it */
	Size		keep = (MAX_TOKENS - 1) * (TOKEN_CHARS + 1);
	StringInfoData text;

	initStringInfo(&text);

	/*
	 * a comment that does not begin as ours was written by a user: replace it
	 */
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
 * The token is 32 hexadecimal digits.  It is there when the transaction has
 * committed, and that is on disk, also with synchronous_commit = off.  Not in
 * recovery (25006).
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
	/* the extension may be in any schema, and this function is in the same */
	relid = get_relname_relid(TABLE_NAME,
							  get_func_namespace(fcinfo->flinfo->fn_oid));
	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of the extension is missing",
						TABLE_NAME)));
	/* one at a time, as each reads what was there */
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	CreateComments(relid, RelationRelationId, 0,
				   add_token(GetComment(relid, RelationRelationId, 0), token));
	ForceSyncCommit();
	PG_RETURN_VOID();
}
