/*
 * leaf_keys.c
 *		Finds foreign keys that can be made partition by partition.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "base/printable.h"
#include "restore/leaf_keys.h"
#include "session/session.h"

/* What is smaller is checked in less time than a session of its own needs. */
#define LEAST_BYTES ((uint64) 8 * 1024 * 1024)

/* ----------
 * The archive's statement
 * ----------
 */

/* If the text begins so, what follows, else NULL. */
static const char *
after(const char *text, const char *begin)
{
	size_t		len = strlen(begin);

	return text && strncmp(text, begin, len) == 0 ? text + len : NULL;
}

/* Up to an identifier's end; *text is moved there; owned. */
static char *
take_identifier(const char **text, char stop)
{
	const char *end = identifier_skip(*text, stop);
	char	   *result = pnstrdup(*text, end - *text);

	*text = end;
	return result;
}

/*
 * The statement as pg_dump writes it (pg_dump.c:dumpConstraint): without ONLY
 * if the table is partitioned.  False if it is none that is for us.
 */
static bool
read_key(const TocEntry *entry, TableKey *key, char **referenced)
{
	const char *text = after(entry->defn, "ALTER TABLE ");
	const char *columns;
	size_t		len;

	if (text == NULL || after(text, "ONLY "))
		return false;
	key->table = take_identifier(&text, '\n');
	text = after(text, "\n    ADD CONSTRAINT ");
	if (text == NULL)
		return false;
	key->name = take_identifier(&text, ' ');
	columns = after(text, " FOREIGN KEY (");
	len = strlen(text);
	if (columns == NULL || strcmp(text + len - 2, ";\n") != 0)
		return false;
	key->definition = pnstrdup(text + 1, len - 3);
	text = after(identifier_skip(columns, ')'), ") REFERENCES ");
	if (text == NULL || strstr(text, " NOT VALID") ||
		strstr(text, " NOT ENFORCED"))
		return false;
	*referenced = take_identifier(&text, '(');
	return true;
}

/* ----------
 * The target's tables
 * ----------
 */

/*
 * A tree: each table in it, unless the referenced one is no ordinary table, a
 * name is taken already, or one in the tree cannot have such a key.  A name
 * may be taken by what a run has left behind that is resumed.
 */
static const char tree_query[] =
"WITH tree AS (SELECT c.oid, c.relkind, c.relname, n.nspname"
" FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) t"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.relid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace)"
" SELECT pg_catalog.format('%I.%I', nspname, relname), nspname, relname,"
" CASE relkind WHEN 'r' THEN pg_catalog.pg_relation_size(oid) ELSE 0 END"
" FROM tree"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_class r"
" WHERE r.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($2)"
" AND r.relkind OPERATOR(pg_catalog.=) 'r')"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN tree"
" ON k.conrelid OPERATOR(pg_catalog.=) tree.oid"
" WHERE k.conname OPERATOR(pg_catalog.=) $3::pg_catalog.name"
" AND NOT ($4::pg_catalog.bool AND tree.relkind OPERATOR(pg_catalog.=) 'r'"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" AND k.conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid))"
" AND NOT EXISTS (SELECT FROM tree"
" WHERE relkind OPERATOR(pg_catalog.<>) ALL ('{r,p}'::pg_catalog.\"char\"[]))";

/*
 * Would another entry, of a table in the tree, compete for the name, or for
 * the partitions' keys?
 */
static bool
has_rival(const Toc *toc, const TocEntry *own, const TableKey *key,
		  const PGresult *tree)
{
	char	   *name = identifier_unquote(key->name);
	bool		found = false;

	for (int i = 0; i < toc->n_entries && !found; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (entry == own || entry->namespace == NULL ||
			strstr(entry->desc, "CONSTRAINT") == NULL)
			continue;
		for (int j = 0; j < PQntuples(tree) && !found; j++)
		{
			const char *its = after(entry->tag, PQgetvalue(tree, j, 2));

			found = its && *its == ' ' &&
				strcmp(entry->namespace, PQgetvalue(tree, j, 1)) == 0 &&
				(strcmp(its + 1, name) == 0 ||
				 (entry->defn && strstr(entry->defn, key->definition)));
		}
	}
	free(name);
	return found;
}

/* Are there two that are worth it, so that there is anything side by side? */
static int
count_large(const PGresult *tree)
{
	int			n = 0;

	for (int i = 0; i < PQntuples(tree); i++)
		n += strtoull(PQgetvalue(tree, i, 3), NULL, 10) >= LEAST_BYTES;
	return n;
}

static void
add_leaves(LeafKeys *keys, const PGresult *tree, int n, bool resumed)
{
	keys->leaves = pg_realloc(keys->leaves,
							  (keys->n_leaves + n) * sizeof(LeafKey));
	for (int i = 0; i < PQntuples(tree); i++)
	{
		uint64		bytes = strtoull(PQgetvalue(tree, i, 3), NULL, 10);
		LeafKey    *leaf = &keys->leaves[keys->n_leaves];

		if (bytes < LEAST_BYTES)
			continue;
		leaf->leaf = pg_strdup(PQgetvalue(tree, i, 0));
		leaf->key = keys->n_keys;
		leaf->bytes = bytes;
		leaf->made = resumed;
		keys->n_leaves++;
	}
}

static void
add_key(PGconn *conn, LeafKeys *keys, const Toc *toc, const TocEntry *entry,
		bool resumed)
{
	TableKey	key = {NULL};
	char	   *referenced;
	const char *params[4];
	PGresult   *tree;
	int			n;

	if (!read_key(entry, &key, &referenced))
		return;
	params[0] = key.table;
	params[1] = referenced;
	params[2] = identifier_unquote(key.name);
	params[3] = resumed ? "t" : "f";
	/* an error is the table's own statement's to meet: no rows */
	tree = PQexecParams(conn, tree_query, 4, NULL, params, NULL, NULL, 0);
	n = count_large(tree);
	if (n >= 2 && !has_rival(toc, entry, &key, tree))
	{
		add_leaves(keys, tree, n, resumed);
		keys->keys = pg_realloc(keys->keys,
								(keys->n_keys + 1) * sizeof(TableKey));
		keys->keys[keys->n_keys++] = key;
	}
	PQclear(tree);
}

static int
compare_leaves(const void *a, const void *b)
{
	const LeafKey *l1 = a;
	const LeafKey *l2 = b;

	if (l1->bytes != l2->bytes)
		return l1->bytes > l2->bytes ? -1 : 1;
	/* two keys of one partition wait for each other: not neighbours */
	return l1->key - l2->key;
}

/* ----------
 * What is left over
 * ----------
 */
static const char own_query[] =
"SELECT 1 FROM pg_catalog.pg_constraint k"
" WHERE k.conrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)"
" AND k.conname OPERATOR(pg_catalog.=) $2::pg_catalog.name"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" AND k.conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid";

static void
drop_leaf(PGconn *conn, LeafKey *leaf, const char *name)
{
	char	   *unquoted = identifier_unquote(name);
	const char *params[] = {leaf->leaf, unquoted};
	char	   *sql = psprintf("ALTER TABLE ONLY %s DROP CONSTRAINT %s",
							   leaf->leaf, name);
	PGresult   *res = PQexecParams(conn, own_query, 2, NULL, params, NULL,
								   NULL, 0);
	bool		is_there = PQntuples(res) > 0;

	leaf->made = false;
	if (is_there)
	{
		PQclear(res);
		res = session_exec(conn, sql);
	}
	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		pg_log_error("could not drop constraint %s of partition %s, which is not part of its table's: %s",
					 printable(name), printable(leaf->leaf),
					 PQresultErrorMessage(res));
		pg_log_error_hint("Drop it by hand.");
	}
	PQclear(res);
	free(sql);
	free(unquoted);
}

void
leaf_keys_drop(PGconn *conn, LeafKeys *keys, bool all)
{
	for (int i = 0; i < keys->n_leaves; i++)
	{
		LeafKey    *leaf = &keys->leaves[i];
		const TableKey *key = &keys->keys[leaf->key];

		if (leaf->made && (all || key->failed))
			drop_leaf(conn, leaf, key->name);
	}
}

LeafKeys *
leaf_keys_find(PGconn *conn, const RestoreSchedule *schedule, bool resumed)
{
	const Toc  *toc = schedule->toc;
	LeafKeys   *keys = pg_malloc0(sizeof(LeafKeys));

	for (int i = 0; i < toc->n_entries; i++)
		if (schedule->phases[i] == RESTORE_POST_DATA &&
			toc_entry_is(&toc->entries[i], "FK CONSTRAINT"))
			add_key(conn, keys, toc, &toc->entries[i], resumed);
	if (keys->n_leaves > 0)
		qsort(keys->leaves, keys->n_leaves, sizeof(LeafKey), compare_leaves);
	/* of the run before: it may not have come to validate them */
	leaf_keys_drop(conn, keys, true);
	return keys;
}
