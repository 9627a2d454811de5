/*
 * subscription_check.c
 *		Compares what publications publish with what is copied.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/message.h"
#include "base/units.h"
#include "replication/publication.h"
#include "replication/subscription_check.h"
#include "session/session.h"

/* The number of names that are shown of a longer list. */
#define SHOWN_NAMES 10

/*
 * Rows of a kind and a name.  A publication may publish partitions by their
 * root; what is copied are the leaves.  Members of extensions are made by
 * CREATE EXTENSION, with or without rows of their own.  What identifies rows
 * is as in relcache.c:RelationGetIndexList: an index that was chosen may have
 * been dropped, a primary key that can be deferred is none.
 *
 * prqual, prattrs and prrelid: a publication's filters, from 15 on.
 */
static const char compare_query[] =
"WITH copied AS (SELECT pg_catalog.unnest($1::pg_catalog.oid[]) AS oid),"
" publication AS (SELECT * FROM pg_catalog.pg_publication"
" WHERE pubname OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.name[])),"
" listed AS (SELECT DISTINCT c.oid, c.relkind"
" FROM pg_catalog.pg_publication_tables p"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) p.schemaname"
" JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) p.tablename"
" WHERE p.pubname OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.name[])),"
" published AS (SELECT oid FROM listed WHERE relkind OPERATOR(pg_catalog.<>) 'p'"
" UNION SELECT t.relid::pg_catalog.oid FROM listed, pg_catalog.pg_partition_tree(listed.oid) t"
" WHERE listed.relkind OPERATOR(pg_catalog.=) 'p' AND t.isleaf),"
" found (kind, oid) AS ("
"SELECT 'published', p.oid FROM published p"
" UNION ALL SELECT 'missing', p.oid FROM published p"
" WHERE NOT EXISTS (SELECT 1 FROM copied c WHERE c.oid OPERATOR(pg_catalog.=) p.oid)"
" AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.objid OPERATOR(pg_catalog.=) p.oid AND d.deptype OPERATOR(pg_catalog.=) 'e')"
" UNION ALL SELECT 'extra', c.oid FROM copied c"
" WHERE NOT EXISTS (SELECT 1 FROM published p WHERE p.oid OPERATOR(pg_catalog.=) c.oid)"
" UNION ALL SELECT 'identity', p.oid FROM published p"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) p.oid"
" WHERE c.relreplident OPERATOR(pg_catalog.<>) 'f' AND NOT EXISTS"
" (SELECT 1 FROM pg_catalog.pg_index i"
" WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indimmediate"
" AND (c.relreplident OPERATOR(pg_catalog.=) 'd' AND i.indisprimary"
" OR c.relreplident OPERATOR(pg_catalog.=) 'i' AND i.indisreplident))"
" UNION ALL SELECT 'part', r.prrelid FROM pg_catalog.pg_publication_rel r"
" JOIN publication p ON p.oid OPERATOR(pg_catalog.=) r.prpubid"
" WHERE pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.->>) 'prqual' IS NOT NULL"
" OR pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.->>) 'prattrs' IS NOT NULL)"
"SELECT DISTINCT f.kind, pg_catalog.format('%I.%I', n.nspname, c.relname)"
" FROM found f JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) f.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" UNION ALL SELECT 'operations', pubname FROM publication"
" WHERE NOT (pubinsert AND pubupdate AND pubdelete AND pubtruncate)"
" ORDER BY 1, 2";

/* The names of a kind, the first of them if there are many; NULL if none. */
static char *
names_of_kind(const PGresult *res, const char *kind)
{
	PQExpBufferData buf;
	int			n = 0;

	initPQExpBuffer(&buf);
	for (int i = 0; i < PQntuples(res); i++)
	{
		if (strcmp(PQgetvalue(res, i, 0), kind) != 0)
			continue;
		if (n < SHOWN_NAMES)
			appendPQExpBuffer(&buf, "%s%s", n > 0 ? ", " : "",
							  printable(PQgetvalue(res, i, 1)));
		n++;
	}
	if (n > SHOWN_NAMES)
		appendPQExpBuffer(&buf, " and %d more", n - SHOWN_NAMES);
	if (n > 0)
		return buf.data;
	termPQExpBuffer(&buf);
	return NULL;
}

static void
warn_of_kind(const PGresult *res, const char *kind, const char *warning,
			 const char *hint)
{
	char	   *names = names_of_kind(res, kind);

	if (names)
	{
		pg_log_warning("%s: %s", warning, names);
		pg_log_warning_hint("%s", hint);
	}
	free(names);
}

/* What is copied as it is now, and then stays so. */
static void
warn_of_objects(const Toc *toc)
{
	int			n_sequences = 0;
	bool		objects = false;

	for (int i = 0; i < toc->n_entries; i++)
	{
		n_sequences += toc_entry_is(&toc->entries[i], "SEQUENCE SET") ? 1 : 0;
		objects |= toc_entry_is(&toc->entries[i], "BLOBS");
	}
	if (objects)
	{
		pg_log_warning("changes of large objects are not replicated");
		pg_log_warning_hint("What is written to large objects from now on will not come to the target.");
	}
	if (n_sequences > 0)
	{
		pg_log_warning("positions of sequences are not replicated (%d sequence%s)",
					   n_sequences, units_plural(n_sequences));
		pg_log_warning_hint("Set them on the target when applications have stopped writing to the source, before they write to the target.");
	}
}

void
subscription_check(PGconn *conn, const Options *options, const Toc *toc,
				   const DumpTables *tables)
{
	char	   *oids = dump_tables_oids(tables);
	char	   *publications = publication_array(conn, options);
	const char *params[] = {oids, publications};
	PGresult   *res = session_query_params(conn, compare_query, 2, params, 0);
	char	   *missing = names_of_kind(res, "missing");
	char	   *published = names_of_kind(res, "published");

	if (published == NULL)
		pg_fatal("the publications publish no table");
	if (missing)
	{
		pg_log_error("tables are published whose rows are not copied: %s",
					 missing);
		pg_log_error_hint("Copy them too, or use a publication of what is copied: changes of rows that are not there would be lost.");
		exit(1);
	}
	warn_of_kind(res, "extra",
				 "tables are copied whose changes are not published",
				 "What is written there from now on will not come to the target.");
	warn_of_kind(res, "identity",
				 "published tables have no replica identity",
				 "The source refuses to update or delete rows of such a table: it needs a primary key that is not deferrable, or ALTER TABLE ... REPLICA IDENTITY.");
	warn_of_kind(res, "part",
				 "tables are published for some rows or columns only",
				 "Changes of the others will not come to the target, unless by another publication.");
	warn_of_kind(res, "operations",
				 "publications do not publish all of insert, update, delete and truncate",
				 "Changes of the other kinds will not come to the target.");
	warn_of_objects(toc);
	free(published);
	free(publications);
	free(oids);
	PQclear(res);
}
