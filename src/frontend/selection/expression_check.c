/*
 * expression_check.c
 *		Has the server look at what a user wrote in SQL.
 *
 * It is to be one expression.  Text that ends the parenthesis around it could
 * change the statement in ways that were not intended, so it is parsed in
 * parentheses and in brackets: what closes the one is an error in the other.
 * A newline behind it ends a comment that it may end in.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "selection/expression_check.h"
#include "session/session_loss.h"

#define SQLSTATE_DATATYPE_MISMATCH "42804"

void
expression_check(PGconn *conn, const char *sql, const char *problem,
				 const char *mismatch)
{
	PGresult   *res = PQprepare(conn, "", sql, 0, NULL);
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *words = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (PQresultStatus(res) == PGRES_COMMAND_OK)
	{
		PQclear(res);
		res = PQdescribePrepared(conn, "");
		if (PQresultStatus(res) == PGRES_COMMAND_OK && PQnparams(res) == 0)
		{
			PQclear(res);
			return;
		}
		sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
		words = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	}
	interrupt_check();
	if (session_is_lost(conn, res))
		session_failed(conn, res, "query failed", sql);
	message_set_sqlstate(sqlstate);
	pg_log_error("%s", problem);
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		pg_log_error_detail("It has parameters.");
	else if (mismatch && sqlstate &&
			 strcmp(sqlstate, SQLSTATE_DATATYPE_MISMATCH) == 0)
		pg_log_error_detail("%s", mismatch);
	else
		pg_log_error_detail("%s", words ? words : PQerrorMessage(conn));
	pg_log_error_hint("search_path is empty: qualify what is not in pg_catalog by its schema.");
	exit(1);
}
