/*
 * identifier.c
 *		Implements identifier.h: splits and joins lists of identifiers, and
 *		compares their names.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/identifier.h"

/*
 * A doubled quote needs no special case: it ends a quoted part and begins
 * another one at once.
 */
const char *
identifier_skip(const char *text, char stop)
{
	bool		quoted = false;

	for (; *text && (quoted || *text != stop); text++)
		if (*text == '"')
			quoted = !quoted;
	return text;
}

char *
identifier_last(char *text, char wanted)
{
	char	   *result = NULL;

	for (const char *at = identifier_skip(text, wanted); *at;
		 at = identifier_skip(at + 1, wanted))
		result = text + (at - text);
	return result;
}

char	  **
identifier_split(const char *list, size_t len, int *n)
{
	const char *stop = list + len;
	char	  **result = pg_malloc((len / 2 + 1) * sizeof(char *));

	/*
	 * An identifier and its comma take at least two bytes, so an array of
	 * half the length is large enough.
	 */
	*n = 0;
	while (list < stop)
	{
		const char *end = identifier_skip(list, ',');

		end = Min(end, stop);
		result[(*n)++] = pnstrdup(list, end - list);
		list = end + strspn(end, ", ");
	}
	return result;
}

char *
identifier_join(char *const *identifiers, int n)
{
	PQExpBufferData buf = buffer_new();

	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&buf, "%s%s", i > 0 ? ", " : "", identifiers[i]);
	return buf.data;
}

char *
identifier_unquote(const char *identifier)
{
	char	   *result = pg_malloc(strlen(identifier) + 1);
	char	   *to = result;
	bool		quoted = false;

	for (const char *pos = identifier; *pos; pos++)
	{
		if (*pos != '"')
			*to++ = *pos;
		else if (quoted && pos[1] == '"')
			*to++ = *++pos;		/* a doubled quote stands for one */
		else
			quoted = !quoted;
	}
	*to = '\0';
	return result;
}

int
identifier_find(char *const *identifiers, int n, const char *name)
{
	for (int i = 0; i < n; i++)
	{
		char	   *own = identifier_unquote(identifiers[i]);
		bool		found = strcmp(own, name) == 0;

		free(own);
		if (found)
			return i;
	}
	return -1;
}

/* This is the test of recognized_connection_string() in fe-connect.c. */
bool
identifier_is_conninfo(const char *text)
{
	return text && (strncmp(text, "postgresql://", strlen("postgresql://")) == 0 ||
					strncmp(text, "postgres://", strlen("postgres://")) == 0 ||
					strchr(text, '=') != NULL);
}
