/*
 * publication.c
 *		The publications that --publication names.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "replication/publication.h"
#include "session/session.h"

char	  **
publication_names(const Options *options, int *n_names)
{
	char	  **names = NULL;
	int			n = 0;

	for (const SimpleStringListCell *cell = options->publications.head;
		 cell; cell = cell->next)
	{
		const char *begin = cell->val;

		for (;;)
		{
			size_t		len = strcspn(begin, ",");

			if (len == 0)
				pg_fatal("invalid value \"%s\" for option %s", cell->val,
						 "--publication");
			names = pg_realloc(names, (n + 1) * sizeof(char *));
			names[n++] = pnstrdup(begin, len);
			if (begin[len] == '\0')
				break;
			begin += len + 1;
		}
	}
	*n_names = n;
	return names;
}

char *
publication_array(PGconn *conn, const Options *options)
{
	int			n;
	char	  **names = publication_names(options, &n);
	char	   *result = text_array(conn, names, n);

	free(names);
	return result;
}

void
publication_check(PGconn *conn, const Options *options)
{
	int			n;
	char	  **names = publication_names(options, &n);

	for (int i = 0; i < n; i++)
	{
		const char *params[] = {names[i]};
		PGresult   *res = session_query_params(conn,
											   "SELECT 1 FROM pg_catalog.pg_publication"
											   " WHERE pubname OPERATOR(pg_catalog.=) $1",
											   1, params, 0);

		if (PQntuples(res) == 0)
		{
			pg_log_error("publication \"%s\" does not exist on the source",
						 names[i]);
			pg_log_error_hint("Create it before the copy, e.g. CREATE PUBLICATION %s FOR ALL TABLES;",
							  fmtId(names[i]));
			exit(1);
		}
		PQclear(res);
	}
	free(names);
}
