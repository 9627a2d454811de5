/*
 * toc_names.c
 *		Finds entries by names, and what the statements of sequences say.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "toc/toc_names.h"

typedef struct NamedEntry
{
	char	   *name;			/* qualified and quoted; owned */
	int			no;
} NamedEntry;

struct TocNames
{
	NamedEntry *entries;		/* in the order of their names */
	int			n;
};

static int
compare_named(const void *a, const void *b)
{
	return strcmp(((const NamedEntry *) a)->name,
				  ((const NamedEntry *) b)->name);
}

TocNames *
toc_names_make(const Toc *toc, const char *desc)
{
	TocNames   *result = pg_malloc0(sizeof(TocNames));

	result->entries = pg_malloc((toc->n_entries + 1) * sizeof(NamedEntry));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (entry->namespace == NULL || !toc_entry_is(entry, desc))
			continue;
		result->entries[result->n].name =
			pg_strdup(fmtQualifiedId(entry->namespace, entry->tag));
		result->entries[result->n++].no = i;
	}
	qsort(result->entries, result->n, sizeof(NamedEntry), compare_named);
	return result;
}

int
toc_names_find(const TocNames *names, const char *name)
{
	NamedEntry	key = {(char *) name};
	const NamedEntry *found =
		bsearch(&key, names->entries, names->n, sizeof(NamedEntry),
				compare_named);

	return found ? found->no : -1;
}

void
toc_names_free(TocNames *names)
{
	for (int i = 0; i < names->n; i++)
		free(names->entries[i].name);
	free(names->entries);
	free(names);
}

/* The word no n, from 0, of a statement; owned. */
static char *
word_of(const char *statement, int n)
{
	const char *word = statement;

	for (; n > 0; n--)
	{
		word = identifier_skip(word, ' ');
		word += *word != '\0';
	}
	return pnstrdup(word, identifier_skip(word, ' ') - word);
}

/* The last part of a qualified name, which ends before it from now on. */
static char *
cut_last_part(char *name)
{
	char	   *dot = identifier_last(name, '.');

	if (dot == NULL)
		return name + strlen(name);
	*dot = '\0';
	return dot + 1;
}

/* A qualified name, which is taken over, quoted only where it must be. */
static char *
requoted(char *name)
{
	char	   *table = identifier_unquote(cut_last_part(name));
	char	   *schema = identifier_unquote(name);
	char	   *result = pg_strdup(fmtQualifiedId(schema, table));

	free(schema);
	free(table);
	free(name);
	return result;
}

/*
 * As pg_dump writes them (dumpSequence): ALTER SEQUENCE name OWNED BY
 * table.column, and ALTER TABLE name ALTER COLUMN ... of an identity, which
 * is the sequence's own entry.
 */
char *
toc_names_sequence_owner(const TocEntry *entry)
{
	char	   *owner;

	if (entry->defn == NULL)
		return NULL;
	if (toc_entry_is(entry, "SEQUENCE OWNED BY"))
	{
		owner = word_of(entry->defn, 5);
		(void) cut_last_part(owner);
		return requoted(owner);
	}
	if (toc_entry_is(entry, "SEQUENCE") &&
		strncmp(entry->defn, "ALTER TABLE ", 12) == 0)
		return requoted(word_of(entry->defn, 2));
	return NULL;
}
