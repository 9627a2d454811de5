/*
 * stand_in.c
 *		Preloaded into pg_pardump, has it call functions of the schema "standin"
 *		in the place of the extension's, which are of the schema "pardump".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int (*SendQuery) (void *, const char *);
typedef int (*SendQueryParams) (void *, const char *, int, const void *,
								const void *, const void *, const void *, int);

/* The text with the other schema, which has as long a name, after a keyword. */
static char *
with_stand_in(const char *sql)
{
	static const char *const calls[] = {
		"FROM pardump.", "FROM standin.", "SELECT pardump.", "SELECT standin."
	};
	char	   *copy = strdup(sql);

	for (int i = 0; i < 4; i += 2)
		for (char *found; (found = strstr(copy, calls[i])) != NULL;)
			memcpy(found, calls[i + 1], strlen(calls[i]));
	return copy;
}

int
PQsendQuery(void *conn, const char *sql)
{
	char	   *copy = with_stand_in(sql);
	int			rc = ((SendQuery) dlsym(RTLD_NEXT, "PQsendQuery")) (conn, copy);

	free(copy);
	return rc;
}

int
PQsendQueryParams(void *conn, const char *sql, int n_params, const void *types,
				  const void *values, const void *lengths, const void *formats,
				  int result_format)
{
	char	   *copy = with_stand_in(sql);
	int			rc = ((SendQueryParams) dlsym(RTLD_NEXT, "PQsendQueryParams"))
		(conn, copy, n_params, types, values, lengths, formats, result_format);

	free(copy);
	return rc;
}
