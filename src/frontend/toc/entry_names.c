/*
 * entry_names.c
 *		Finds the names of a cluster's objects in statements of pg_dump.
 *
 * Catalogs of the source would tell which roles an object depends on, but not
 * for whom pg_dump writes a statement: privileges on members of an extension,
 * and on what the system brings, are in the table of contents without their
 * objects.  What pg_restore is going to run is told by the statements alone.
 */
#include "base/fe_compat.h"

#include "toc/entry_names.h"

#define MAX_WORDS 3

/* Names follow these words in the statements of this kind of entry. */
typedef struct NameWords
{
	const char *desc;
	const char *before[MAX_WORDS + 1];	/* NULL terminated, as is after */
	const char *after[MAX_WORDS + 1];	/* there are none from here on */
} NameWords;

/*
 * dumputils.c:buildACLCommands, buildDefaultACLCommands,
 * pg_dump.c:dumpPolicy, dumpUserMappings, dumpDatabaseConfig
 */
static const NameWords role_words[] = {
	{"ACL", {"TO", "FROM", "AUTHORIZATION"}},
	{"ACL LANGUAGE", {"TO", "FROM", "AUTHORIZATION"}},
	{"DEFAULT ACL", {"TO", "FROM", "ROLE"}},
	{"POLICY", {"TO"}, {"USING", "WITH"}},
	{"USER MAPPING", {"FOR"}, {"SERVER"}},
	{"DATABASE PROPERTIES", {"ROLE"}},
};

/* pg_dump.c:dumpDatabase */
static const NameWords tablespace_words[] = {
	{"DATABASE", {"TABLESPACE"}},
};

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_WORD,					/* as it stands: keywords are not folded */
	TOKEN_QUOTED,				/* an identifier, without its quotes */
	TOKEN_OTHER					/* a literal, or one character */
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	char	   *text;			/* room for the statement it is from */
} Token;

/* Up to the quote that ends it; returns what follows.  Text may be NULL. */
static const char *
read_quoted(const char *pos, char quote, bool backslashes, char *text)
{
	for (; *pos; pos++)
	{
		if (*pos == quote && *++pos != quote)
			break;
		if (backslashes && pos[0] == '\\' && pos[1])
			pos++;
		if (text)
			*text++ = *pos;
	}
	if (text)
		*text = '\0';
	return pos;
}

static bool
is_word_byte(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' ||
		IS_HIGHBIT_SET(c);
}

/* Returns what follows the token. */
static const char *
read_token(const char *pos, Token *token)
{
	char	   *text = token->text;

	while (isspace((unsigned char) *pos))
		pos++;
	*text = '\0';
	token->kind = *pos ? TOKEN_OTHER : TOKEN_END;
	if (*pos == '"')
	{
		token->kind = TOKEN_QUOTED;
		return read_quoted(pos + 1, '"', false, text);
	}
	if (*pos == '\'')
		return read_quoted(pos + 1, '\'', false, NULL);
	if (pos[0] == 'E' && pos[1] == '\'')
		return read_quoted(pos + 2, '\'', true, NULL);
	if (!is_word_byte(*pos))
	{
		text[0] = *pos;
		text[1] = '\0';
		return *pos ? pos + 1 : pos;
	}
	token->kind = TOKEN_WORD;
	while (is_word_byte(*pos))
		*text++ = *pos++;
	*text = '\0';
	return pos;
}

static bool
is_one_of(const Token *token, const char *const *words)
{
	for (; token->kind == TOKEN_WORD && *words; words++)
		if (strcmp(token->text, *words) == 0)
			return true;
	return false;
}

void
entry_names_add(SimpleStringList *list, const char *name)
{
	if (!simple_string_list_member(list, name))
		simple_string_list_append(list, name);
}

/* Names with commas between them; returns what follows. */
static const char *
read_names(const char *pos, Token *token, SimpleStringList *names)
{
	const char *next;

	do
	{
		next = read_token(pos, token);
		if (token->kind == TOKEN_OTHER && strcmp(token->text, "=") == 0)
			next = read_token(next, token);
		/* PUBLIC is not a role; as a role's name the server refuses it */
		if (token->kind == TOKEN_QUOTED ||
			(token->kind == TOKEN_WORD && pg_strcasecmp(token->text, "public") != 0))
			entry_names_add(names, token->text);
		pos = next;
		next = read_token(pos, token);
	} while (token->kind == TOKEN_OTHER && strcmp(token->text, ",") == 0 &&
			 (pos = next) != NULL);
	return pos;
}

static void
read_statement(const char *defn, const NameWords *words, SimpleStringList *names)
{
	Token		token = {.text = pg_malloc(strlen(defn) + 2)};
	const char *pos = read_token(defn, &token);

	while (token.kind != TOKEN_END && !is_one_of(&token, words->after))
	{
		if (is_one_of(&token, words->before))
			pos = read_names(pos, &token, names);
		pos = read_token(pos, &token);
	}
	free(token.text);
}

static void
read_entry(const TocEntry *entry, const NameWords *words, int n_words,
		   SimpleStringList *names)
{
	for (int i = 0; i < n_words; i++)
		if (entry->defn && toc_entry_is(entry, words[i].desc))
			read_statement(entry->defn, &words[i], names);
}

void
entry_names_roles(const TocEntry *entry, SimpleStringList *roles)
{
	read_entry(entry, role_words, lengthof(role_words), roles);
}

void
entry_names_tablespaces(const TocEntry *entry, SimpleStringList *tablespaces)
{
	read_entry(entry, tablespace_words, lengthof(tablespace_words), tablespaces);
}
