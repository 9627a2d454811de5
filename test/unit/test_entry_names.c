/*
 * test_entry_names.c
 *		Which roles and tablespaces statements of pg_dump name.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "archive/toc.h"
#include "unit_test.h"

typedef void (*NamesCallback) (const TocEntry *entry, SimpleStringList *names);

static void
check(NamesCallback names_of, char *desc, char *statement, const char *expected,
	  const char *what)
{
	TocEntry	entry = {.desc = desc,.defn = statement,.tag = "x"};
	SimpleStringList names = {NULL, NULL};
	PQExpBuffer found = createPQExpBuffer();

	names_of(&entry, &names);
	for (SimpleStringListCell *cell = names.head; cell; cell = cell->next)
		appendPQExpBuffer(found, "[%s]", cell->val);
	is_text(found->data, expected, what);
	destroyPQExpBuffer(found);
	simple_string_list_destroy(&names);
}

void
test_entry_names(void)
{
	check(entry_names_roles, "ACL",
		  "REVOKE ALL ON TABLE t FROM a;\nGRANT SELECT ON TABLE t TO b;\n",
		  "[a][b]", "privileges");
	check(entry_names_roles, "ACL", "GRANT SELECT ON TABLE t TO \"A \"\"b\"\" TO c\";",
		  "[A \"b\" TO c]", "a quoted name");
	check(entry_names_roles, "ACL", "GRANT SELECT ON TABLE \"x TO y\" TO PUBLIC;",
		  "", "PUBLIC is not a role");
	check(entry_names_roles, "ACL", "GRANT ALL ON TABLE t TO a;\nGRANT ALL ON TABLE t TO a;",
		  "[a]", "each once");
	check(entry_names_roles, "POLICY",
		  "CREATE POLICY p ON t TO a, b USING ((x = 'TO c'::text));", "[a][b]",
		  "a policy is for several roles, and its condition has no names");
	check(entry_names_roles, "USER MAPPING",
		  "CREATE USER MAPPING FOR a SERVER s OPTIONS (x 'FOR b');", "[a]",
		  "a user mapping");
	check(entry_names_roles, "TABLE", "CREATE TABLE \"TO\" (a int);", "",
		  "other entries have none");
	check(entry_names_tablespaces, "DATABASE",
		  "CREATE DATABASE d TEMPLATE = template0 TABLESPACE = \"my space\";",
		  "[my space]", "the tablespace of a database");
}
