/*
 * publication.c
 *		Reads the lists of --publication.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "replication/publication.h"

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

/* In quotes, whatever it is: appendPGArray() came with 15. */
static void
append_array_element(PQExpBuffer buf, const char *name)
{
	if (buf->data[buf->len - 1] != '{')
		appendPQExpBufferChar(buf, ',');
	appendPQExpBufferChar(buf, '"');
	for (; *name; name++)
	{
		if (*name == '"' || *name == '\\')
			appendPQExpBufferChar(buf, '\\');
		appendPQExpBufferChar(buf, *name);
	}
	appendPQExpBufferChar(buf, '"');
}

char *
publication_array(const Options *options)
{
	PQExpBufferData buf;
	int			n;
	char	  **names = publication_names(options, &n);

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < n; i++)
		append_array_element(&buf, names[i]);
	appendPQExpBufferChar(&buf, '}');
	free(names);
	return buf.data;
}
