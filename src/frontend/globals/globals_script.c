/*
 * globals_script.c
 *		Takes the script of pg_dumpall --globals-only apart.
 *
 * pg_dumpall quotes in two ways, both of which double the quote within, and
 * doubles backslashes where they mean something (appendStringLiteralConn).
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "base/message.h"
#include "globals/globals_script.h"

/* The end of the line, its newline included. */
static const char *
skip_line(const char *pos)
{
	pos += strcspn(pos, "\n");
	return *pos ? pos + 1 : pos;
}

/* Behind blanks, comments and the two commands; all between statements. */
static const char *
skip_between(const char *pos)
{
	for (;;)
	{
		pos += strspn(pos, " \t\r\n");
		if (strncmp(pos, "--", 2) == 0 ||
			strncmp(pos, "\\restrict ", strlen("\\restrict ")) == 0 ||
			strncmp(pos, "\\unrestrict ", strlen("\\unrestrict ")) == 0)
			pos = skip_line(pos);
		else
			return pos;
	}
}

/* Behind the quote that ends what begins here, NULL if none does. */
static const char *
skip_quoted(const char *pos)
{
	const char *end = strchr(pos + 1, *pos);

	return end ? end + 1 : NULL;
}

/* The semicolon that ends the statement, or NULL. */
static const char *
find_end(const char *pos)
{
	while (pos && *pos && *pos != ';')
	{
		if (*pos == '\'' || *pos == '"')
			pos = skip_quoted(pos);
		else if (strncmp(pos, "--", 2) == 0)
			pos = skip_line(pos);
		else
			pos++;
	}
	return pos && *pos == ';' ? pos : NULL;
}

GlobalsScript *
globals_script_parse(const char *text)
{
	GlobalsScript *script = pg_malloc0(sizeof(GlobalsScript));
	int			room = 0;

	for (const char *pos = skip_between(text); *pos; pos = skip_between(pos))
	{
		const char *end = find_end(pos);

		if (*pos == '\\')
			pg_fatal("the script of roles and tablespaces has an unexpected command: %s",
					 printable(pnstrdup(pos, strcspn(pos, " \t\n"))));
		if (end == NULL)
			pg_fatal("the script of roles and tablespaces ends within a statement");
		if (script->n == room)
		{
			room = room * 2 + 64;
			script->statements = pg_realloc(script->statements,
											room * sizeof(char *));
		}
		script->statements[script->n++] = pnstrdup(pos, end - pos);
		pos = end + 1;
	}
	return script;
}

/* The word is in capitals, which no name has that is in no quotes. */
static bool
is_about_tablespace(const char *statement)
{
	const char *word = strstr(statement, "TABLESPACE ");

	return word && strcspn(statement, "'\"") > (size_t) (word - statement);
}

void
globals_script_drop_tablespaces(GlobalsScript *script)
{
	int			n = 0;

	for (int i = 0; i < script->n; i++)
	{
		if (is_about_tablespace(script->statements[i]))
			free(script->statements[i]);
		else
			script->statements[n++] = script->statements[i];
	}
	script->n = n;
}

const char *
globals_script_after(const char *statement, const char *words)
{
	size_t		len = strlen(words);

	if (strncmp(statement, words, len) != 0 || statement[len] != ' ')
		return NULL;
	return statement + len + 1;
}

char *
globals_script_name(const char **pos)
{
	const char *end = *pos;
	char	   *identifier;
	char	   *name;

	/* doubled quotes end one piece and begin the next */
	if (*end == '"')
		while (end && *end == '"')
			end = skip_quoted(end);
	else
		end += strcspn(end, " \t\n,;");
	if (end == NULL || end == *pos)
		return NULL;
	identifier = pnstrdup(*pos, end - *pos);
	name = identifier_unquote(identifier);
	free(identifier);
	*pos = end;
	return name;
}
