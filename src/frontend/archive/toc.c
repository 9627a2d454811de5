/*
 * toc.c
 *		Finds entries in a table of contents, and reads names from their SQL
 *		statements.
 *
 * The statements are written by pg_dump, whose formats are known.  But an
 * archive may come from anywhere, so a statement in another format is
 * skipped, and no code relies on its length or on an end of a quoted string.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "archive/toc.h"
#include "base/buffer.h"
#include "base/identifier.h"
#include "base/shared_memory.h"
#include "base/units.h"

void
toc_free(Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		TocEntry   *entry = &toc->entries[i];

		free(entry->tag);
		free(entry->desc);
		free(entry->defn);
		free(entry->drop_stmt);
		free(entry->copy_stmt);
		free(entry->namespace);
		free(entry->tablespace);
		free(entry->tableam);
		free(entry->owner);
		free(entry->deps);
		free(entry->filename);
	}
	free(toc->entries);
	free(toc->dbname);
	free(toc->server_version);
	free(toc->pg_dump_version);
	free(toc);
}

static const char *archive_path;

void
toc_set_archive(const char *path)
{
	archive_path = path;
}

void
toc_damaged(const char *problem)
{
	if (archive_path == NULL)
		toc_reject_pg_dump(message_sentence(problem));
	pg_log_error(ARCHIVE_DAMAGED, archive_path);
	pg_log_error_detail("%s", message_sentence(problem));
	pg_fatal_hint(ARCHIVE_COPY_HINT);
}

bool
toc_has_mark(const Toc *toc)
{
	return toc->pg_dump_version && strstr(toc->pg_dump_version, TOC_MARK);
}

char *
toc_encoding(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *begin;
		const char *end;

		if (!toc_entry_is(entry, "ENCODING") || entry->defn == NULL)
			continue;
		/* The statement is: SET client_encoding = 'name'; */
		begin = strchr(entry->defn, '\'');
		end = begin ? strchr(begin + 1, '\'') : NULL;
		if (end)
			return pnstrdup(begin + 1, end - begin - 1);
	}
	toc_damaged("the table of contents does not contain the encoding of the data");
}

bool
toc_entry_is_one_of(const TocEntry *entry, const char *const *descs)
{
	for (; *descs; descs++)
		if (toc_entry_is(entry, *descs))
			return true;
	return false;
}

/* These kinds are those of _tocEntryRestorePass() in pg_backup_archiver.c. */
bool
toc_entry_is_privilege(const TocEntry *entry)
{
	static const char *const descs[] = {"ACL", "ACL LANGUAGE", "DEFAULT ACL", NULL};

	return toc_entry_is_one_of(entry, descs);
}

bool
toc_entry_is_setting(const TocEntry *entry)
{
	static const char *const descs[] = {"ENCODING", "STDSTRINGS", "SEARCHPATH", NULL};

	return toc_entry_is_one_of(entry, descs);
}

bool
toc_entry_is_group_privilege(const TocEntry *entry)
{
	return toc_entry_is(entry, "ACL") &&
		strncmp(entry->tag, "LARGE OBJECTS ", 14) == 0;
}

bool
toc_entry_makes_large_objects(const TocEntry *entry)
{
	static const char *const descs[] = {"BLOB", "BLOB METADATA", NULL};

	return toc_entry_is_one_of(entry, descs);
}

const TocEntry *
toc_find(const Toc *toc, const char *desc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], desc))
			return &toc->entries[i];
	return NULL;
}

const TocEntry **
toc_entries_by_id(const Toc *toc)
{
	const TocEntry **result = pg_malloc0((toc->max_dump_id + 1) *
										 sizeof(TocEntry *));

	for (int i = 0; i < toc->n_entries; i++)
		result[toc->entries[i].dump_id] = &toc->entries[i];
	return result;
}

char *
toc_entry_describe(const TocEntry *entry)
{
	return entry->namespace ? psprintf("%s %s.%s", entry->desc, entry->namespace,
									   entry->tag)
		: psprintf("%s %s", entry->desc, entry->tag);
}

void
toc_reject_pg_dump(const char *detail)
{
	pg_log_error("could not read the output of pg_dump");
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("Check that --pg-dump specifies a stock pg_dump 15 to 19.");
}

int
toc_table_dump_id(const TocEntry *data_entry)
{
	if (data_entry->n_deps < 1 || data_entry->deps[0] <= 0)
		toc_damaged(psprintf("the data of table \"%s\" does not depend on an entry of the table",
							 printable(data_entry->tag)));
	return data_entry->deps[0];
}

/* One a line (pg_dump.c:dumpLO). */
static int
read_oids(const char *pos, Oid **oids)
{
	int			n = 0;

	while (*pos)
	{
		char	   *end;
		unsigned long oid = strtoul(pos, &end, 10);

		if (end == pos || *end != '\n')
			return 0;
		*array_add(*oids, n) = (Oid) oid;
		pos = end + 1;
	}
	return n;
}

int
toc_large_objects(const Toc *toc, const TocEntry **by_id,
				  const TocEntry *blobs, Oid **oids)
{
	const TocEntry *metadata = blobs->n_deps > 0 ?
		by_id[Max(0, blobs->deps[0])] : NULL;
	int			n = 0;

	*oids = NULL;

	/*
	 * From 17 on, pg_dump writes one BLOB METADATA entry for each group of
	 * objects with the same owner and privileges, and the BLOBS entry depends
	 * on it.
	 */
	if (toc->minor >= 16)
		return metadata && metadata->defn &&
			toc_entry_is(metadata, "BLOB METADATA") ?
			read_oids(metadata->defn, oids) : 0;
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "BLOB"))
			*array_add(*oids, n) = toc->entries[i].oid;
	return n;
}

/* ----------
 * Entries by name, and the owners of sequences.
 * ----------
 */

typedef struct NamedEntry
{
	char	   *name;			/* first, for compare_strings(): qualified and
								 * quoted; owned */
	int			no;
} NamedEntry;

struct TocNames
{
	NamedEntry *entries;		/* sorted by name */
	int			n;
};

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
	qsort(result->entries, result->n, sizeof(NamedEntry), compare_strings);
	return result;
}

int
toc_names_find(const TocNames *names, const char *name)
{
	const NamedEntry *found =
		bsearch(&name, names->entries, names->n, sizeof(NamedEntry),
				compare_strings);

	return found ? found->no : -1;
}

/* Returns word n, counted from 0, of a statement; the caller owns it. */
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

/*
 * Returns the last part of a qualified name, and removes it from name.  If
 * there is only one part, returns an empty string.
 */
static char *
cut_last_part(char *name)
{
	char	   *dot = identifier_last(name, '.');

	if (dot == NULL)
		return name + strlen(name);
	/* The name is changed in place, because the caller needs the rest too. */
	*dot = '\0';
	return dot + 1;
}

/*
 * Returns a qualified name with only the necessary quotes, as in TocNames.
 * Changes the name that it gets.
 */
static char *
requoted(char *name)
{
	char	   *table = identifier_unquote(cut_last_part(name));

	return pg_strdup(fmtQualifiedId(identifier_unquote(name), table));
}

/*
 * pg_dump (dumpSequence) writes ALTER SEQUENCE name OWNED BY table.column;
 * for identity columns, the entry of the sequence itself is ALTER TABLE name
 * ALTER COLUMN ...
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

/* ----------
 * Names of roles and tablespaces in the statements of pg_dump.
 *
 * The names are read from the statements that pg_restore will run, because
 * the catalogs of the source would not be enough.  They contain the roles
 * that an object depends on, but pg_dump also writes privileges on members of
 * extensions and on system objects, without the objects themselves.
 * ----------
 */

#define MAX_WORDS 3

/*
 * In the statements of this kind of entry, names follow the words in before.
 */
typedef struct NameWords
{
	const char *desc;
	const char *before[MAX_WORDS + 1];	/* NULL-terminated, like after */
	const char *after[MAX_WORDS + 1];	/* no names follow these words */
} NameWords;

/*
 * These statements are written by buildACLCommands() and
 * buildDefaultACLCommands() in dumputils.c, and by dumpPolicy(),
 * dumpUserMappings() and dumpDatabaseConfig() in pg_dump.c.
 */
static const NameWords role_words[] = {
	{"ACL", {"TO", "FROM", "AUTHORIZATION"}},
	{"ACL LANGUAGE", {"TO", "FROM", "AUTHORIZATION"}},
	{"DEFAULT ACL", {"TO", "FROM", "ROLE"}},
	{"POLICY", {"TO"}, {"USING", "WITH"}},
	{"USER MAPPING", {"FOR"}, {"SERVER"}},
	{"DATABASE PROPERTIES", {"ROLE"}},
};

/* This statement is written by dumpDatabase() in pg_dump.c. */
static const NameWords tablespace_words[] = {
	{"DATABASE", {"TABLESPACE"}},
};

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_WORD,					/* unchanged: keywords are not folded */
	TOKEN_QUOTED,				/* an identifier, without its quotes */
	TOKEN_OTHER					/* a literal, or one character */
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	char	   *text;			/* has room for the whole statement */
} Token;

/*
 * Read a quoted string up to its closing quote, and return the position after
 * it.  text gets the contents, unless it is NULL.
 */
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

/*
 * Read a token, and return the position after it.  Literals are skipped, so
 * that names or keywords in them have no effect.
 */
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

/*
 * Read a list of names, separated by commas, and return the position after
 * it.
 */
static const char *
read_names(const char *pos, Token *token, SimpleStringList *names)
{
	const char *next;

	do
	{
		next = read_token(pos, token);
		if (token->kind == TOKEN_OTHER && strcmp(token->text, "=") == 0)
			next = read_token(next, token);
		/* PUBLIC is not a role, and cannot be the name of one. */
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

/* ----------
 * Checking which database an archive belongs to.
 * ----------
 */

/*
 * The expected database, in a run for one of several databases.  InvalidOid
 * means that any database is accepted.
 */
static Oid	expected_oid = InvalidOid;
static const char *expected_name;

void
toc_database_expect(Oid oid, const char *name)
{
	expected_oid = oid;
	expected_name = name;
}

bool
toc_database_is_expected(void)
{
	return expected_oid != InvalidOid;
}

/*
 * The names are compared as bytes, because the header contains the name
 * exactly as the connection had it.
 */
char *
toc_database_problem(const Toc *toc)
{
	const char *name = toc->dbname ? toc->dbname : "";

	/* pg_dump writes this entry for every selection of objects. */
	const TocEntry *database = toc_find(toc, "DATABASE");
	Oid			oid = database ? database->oid : InvalidOid;

	if (expected_oid == InvalidOid ||
		(oid == expected_oid && strcmp(name, expected_name) == 0))
		return NULL;
	return psprintf("the archive contains database \"%s\" (OID %u) instead of \"%s\" (OID %u)",
					printable(name), oid, printable(expected_name),
					expected_oid);
}

/* ----------
 * The context of errors, as in pg_restore.
 * ----------
 */

/* This corresponds to ArchiverStage in pg_backup_archiver.h. */
typedef enum ErrorStage
{
	STAGE_NONE,
	STAGE_INITIALIZING,
	STAGE_PROCESSING
} ErrorStage;

/* The detail at the end of a run names this many entries. */
#define ENTRIES_SHOWN 10

/* The errors of all processes, in shared memory. */
typedef struct ErrorContext
{
	volatile int last_stage;
	volatile int n_entries;		/* entries with errors */
	volatile int dump_ids[ENTRIES_SHOWN];	/* of the first ones; 0 = not yet
											 * noted */
} ErrorContext;

static ErrorContext *context;

/* The entry of the last error in this process. */
static const TocEntry *last_entry;

void
toc_context_share(void)
{
	context = shared_memory_new(1, sizeof(ErrorContext));
}

/*
 * Note that the entry has an error.  Another process may note the same entry
 * at the same time; it is named twice then.
 */
static void
note_entry(const TocEntry *entry)
{
	int			no;

	for (int i = 0; i < ENTRIES_SHOWN; i++)
		if (context->dump_ids[i] == entry->dump_id)
			return;
	no = __sync_fetch_and_add(&context->n_entries, 1);
	if (no < ENTRIES_SHOWN)
		context->dump_ids[no] = entry->dump_id;
}

char *
toc_context_entries(const Toc *toc)
{
	PQExpBufferData names = buffer_new();
	const TocEntry **by_id = toc_entries_by_id(toc);

	for (int i = 0; i < ENTRIES_SHOWN; i++)
	{
		int			id = context->dump_ids[i];
		const TocEntry *entry = id <= toc->max_dump_id ? by_id[id] : NULL;

		if (entry)
			units_names_add(&names, toc_entry_describe(entry));
	}
	free(by_id);
	if (context->n_entries > ENTRIES_SHOWN)
		appendPQExpBuffer(&names, " and %d more",
						  context->n_entries - ENTRIES_SHOWN);
	return names.len > 0 ? names.data : NULL;
}

void
toc_context_report(const TocEntry *entry)
{
	ErrorStage	stage = entry ? STAGE_PROCESSING : STAGE_INITIALIZING;

	/*
	 * pg_restore reports a stage only if it has changed.  It is a single
	 * process with one state, but several of ours report errors, so the stage
	 * is in shared memory.  The entry is not shared, so each process may
	 * report it again.
	 */
	if ((ErrorStage) context->last_stage != stage)
		pg_log_info("while %s:", entry ? "PROCESSING TOC" : "INITIALIZING");
	context->last_stage = stage;
	if (entry && entry != last_entry)
		pg_log_info("from TOC entry %d; %u %u %s %s %s", entry->dump_id,
					entry->catalog_oid, entry->oid, entry->desc, entry->tag,
					entry->owner ? entry->owner : "(no owner)");
	if (entry && entry != last_entry)
		note_entry(entry);
	last_entry = entry;
}

/* ----------
 * Serializing INDEX ATTACH entries of a partition tree.
 *
 * ALTER INDEX ATTACH PARTITION makes a partitioned index valid when all
 * indexes that it needs are attached.  Then it checks the parent index too,
 * but releases the lock of the parent before it commits
 * (tablecmds.c:validatePartitionedIndex).  So if the last partitions of two
 * branches are attached at the same time, neither transaction sees that the
 * other makes its branch valid.  The parent index stays invalid, and a
 * foreign key that references its table cannot be created.  pg_restore -j has
 * this problem, because pg_dump's dependencies separate only entries with a
 * common table.
 *
 * For that check, the statement locks the parent's table after locking an
 * index below it.  A foreign key of the parent's table, or one that
 * references it, locks the table first, and then all indexes below it.  If
 * both run at the same time, they can deadlock.
 * ----------
 */

/*
 * Returns the tree that a dump ID belongs to, as one of the tree's dump IDs
 * (a union-find structure with path halving).
 */
static int
find_tree(int *trees, int id)
{
	while (trees[id] != id)
		id = trees[id] = trees[trees[id]];
	return id;
}

static void
add_dependency(TocEntry *entry, int dump_id)
{
	entry->deps = pg_realloc(entry->deps, (entry->n_deps + 1) * sizeof(int));
	entry->deps[entry->n_deps++] = dump_id;
}

/*
 * Let the entry, which depends on tables of partition trees, run after the
 * last INDEX ATTACH of these trees.
 */
static void
come_after(TocEntry *entry, int *trees, const int *last)
{
	int			n_deps = entry->n_deps;

	for (int i = 0; i < n_deps; i++)
	{
		int			attach = last[find_tree(trees, entry->deps[i])];

		if (attach != 0)
			add_dependency(entry, attach);
	}
}

void
index_attach_chain(Toc *toc)
{
	int		   *trees = pg_malloc((toc->max_dump_id + 1) * sizeof(int));
	int		   *last = pg_malloc0((toc->max_dump_id + 1) * sizeof(int));

	for (int id = 0; id <= toc->max_dump_id; id++)
		trees[id] = id;

	/*
	 * An INDEX ATTACH entry depends on both indexes and on their tables, so
	 * the entries of a partition tree are connected by common dependencies.
	 */
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		for (int j = 0; toc_entry_is(entry, "INDEX ATTACH") && j < entry->n_deps; j++)
			trees[find_tree(trees, entry->deps[j])] =
				find_tree(trees, entry->dump_id);
	}
	for (int i = 0; i < toc->n_entries; i++)
	{
		TocEntry   *entry = &toc->entries[i];
		int			tree;

		if (!toc_entry_is(entry, "INDEX ATTACH"))
			continue;
		tree = find_tree(trees, entry->dump_id);
		if (last[tree] != 0)
			add_dependency(entry, last[tree]);
		last[tree] = entry->dump_id;
	}
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "FK CONSTRAINT"))
			come_after(&toc->entries[i], trees, last);
}
