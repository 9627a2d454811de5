/*
 * toc_database.c
 *		Compares an archive with the database that it should be of.
 */
#include "base/fe_compat.h"

#include "toc/toc_database.h"

/* Of a run that is one of several; InvalidOid: any database is meant. */
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

/* pg_dump writes it for any selection from the database. */
static Oid
database_oid(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "DATABASE"))
			return toc->entries[i].oid;
	return InvalidOid;
}

/* The head has the name as it was in the connection: byte for byte. */
char *
toc_database_problem(const Toc *toc)
{
	const char *name = toc->dbname ? toc->dbname : "";
	Oid			oid = database_oid(toc);

	if (expected_oid == InvalidOid ||
		(oid == expected_oid && strcmp(name, expected_name) == 0))
		return NULL;
	return psprintf("is of database \"%s\" with OID %u, not of \"%s\" with OID %u",
					name, oid, expected_name, expected_oid);
}
