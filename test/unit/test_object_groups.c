/*
 * test_object_groups.c
 *		Groups of large objects are split, and each object has its own
 *		statements, with any names of roles.
 */
#include "base/fe_compat.h"

#include "load/definition_session.h"
#include "unit_test.h"

static int	group_dep[] = {7};
static char list[] = "11\n12\n4000000001\n";
static TocEntry entries[] = {
	{.dump_id = 7,.desc = "BLOB METADATA",.tag = "11..4000000001",.defn = list},
	{.dump_id = 9,.desc = "ACL",.tag = "LARGE OBJECTS 11..4000000001",.deps = group_dep,.n_deps = 1,
		.defn = "GRANT SELECT ON LARGE OBJECT 11 TO \"; LARGE OBJECT 12 \"\"x\";\n"
	"SET SESSION AUTHORIZATION o;\nGRANT ALL ON LARGE OBJECT 11 TO p;\n\n"},
	{.dump_id = 8,.desc = "BLOB",.tag = "13",.drop_stmt = "SELECT",.defn = "SELECT pg_catalog.lo_create('13');\n"},
	{.dump_id = 5,.desc = "TABLE",.tag = "LARGE OBJECT 1",.defn = "CREATE TABLE"},
};
static const Toc toc = {.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 9};

/* The script of all entries, taken apart. */
static Script *
divided(void)
{
	static const char *after[] = {"ALTER LARGE OBJECT 0 OWNER TO \"0 o\";"};
	Script	   *script = pg_malloc0(sizeof(Script));

	script->n_entries = lengthof(entries);
	script->entries = pg_malloc0(sizeof(ScriptEntry) * lengthof(entries));
	for (int i = 0; i < lengthof(entries); i++)
		script->entries[i].entry = &entries[i];
	script->entries[0].after = after;
	script->entries[0].n_after = 1;
	object_groups_divide(script, &toc);
	return script;
}

/* Its statements, with a | behind each. */
static const char *
written(const ScriptEntry *entry, bool clean, bool if_exists)
{
	static PQExpBufferData text;
	Options		options = {.clean = clean,.if_exists = if_exists};
	int			n;

	initPQExpBuffer(&text);
	n = object_groups_write(entry, &options, &text);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\0')
		{
			text.data[i] = '|';
			n--;
		}
	return n == 0 ? text.data : "another number of statements";
}

static void
test_parts(void)
{
	PQExpBufferData many;
	Script	   *script;

	initPQExpBuffer(&many);
	for (int i = 0; i < 2 * OBJECT_GROUPS_PART + 1; i++)
		appendPQExpBuffer(&many, "%d\n", 1000 + i);
	entries[0].defn = many.data;
	script = divided();
	is_number(script->n_entries, 8, "three parts of a group, and of its privileges");
	is_number(script->entries[2].part, 2, "the third one");
	is_number(script->entries[2].n_oids, 1, "what is left of them");
	is_text(script->entries[2].oids, "1200\n", "the last one");
	is_number(script->entries[1].n_oids, OBJECT_GROUPS_PART, "a whole one");
	ok(strncmp(script->entries[1].oids, "1100\n", 5) == 0, "where it begins");
	ok(script->entries[3].entry == &entries[1], "then the privileges");
	ok(strncmp(script->entries[4].oids, "1100\n", 5) == 0, "on the same");
	ok(script->entries[6].oids == NULL, "one large object is none");
	entries[0].defn = list;
	termPQExpBuffer(&many);
}

static void
test_statements(void)
{
	Script	   *script = divided();

	is_number(script->n_entries, 4, "a small group is one part");
	is_text(written(&script->entries[0], false, false),
			"SELECT pg_catalog.lo_create('11');|SELECT pg_catalog.lo_create('12');|"
			"SELECT pg_catalog.lo_create('4000000001');|"
			"ALTER LARGE OBJECT 11 OWNER TO \"0 o\";|ALTER LARGE OBJECT 12 OWNER TO \"0 o\";|"
			"ALTER LARGE OBJECT 4000000001 OWNER TO \"0 o\";|", "each is made, and has its owner");
	is_text(written(&script->entries[1], true, true),
			"GRANT SELECT ON LARGE OBJECT 11 TO \"; LARGE OBJECT 12 \"\"x\";|"
			"GRANT SELECT ON LARGE OBJECT 12 TO \"; LARGE OBJECT 12 \"\"x\";|"
			"GRANT SELECT ON LARGE OBJECT 4000000001 TO \"; LARGE OBJECT 12 \"\"x\";|"
			"SET SESSION AUTHORIZATION o;|GRANT ALL ON LARGE OBJECT 11 TO p;|"
			"GRANT ALL ON LARGE OBJECT 12 TO p;|GRANT ALL ON LARGE OBJECT 4000000001 TO p;|",
			"and its privileges");
	is_text(written(&script->entries[2], false, false), "", "one is made by its definition");
	is_text(written(&script->entries[2], true, false), "SELECT pg_catalog.lo_unlink('13');|",
			"and dropped before");
	is_text(written(&script->entries[2], true, true),
			"SELECT pg_catalog.lo_unlink(oid) FROM pg_catalog.pg_largeobject_metadata WHERE oid = '13';|",
			"if it is there");
	ok(object_groups_has(&script->entries[1]) && object_groups_has(&script->entries[2]),
	   "of large objects");
	ok(!object_groups_has(&script->entries[3]), "a table");
}

static void
divide(const void *defn)
{
	entries[0].defn = (char *) defn;
	(void) divided();
}

static void
divide_without_group(const void *arg)
{
	group_dep[0] = *(const int *) arg;
	(void) divided();
}

void
test_object_groups(void)
{
	static const char *const lists[] = {"11\n'12\n", "11", "\n", "11\n12345678901\n", "11\n-- dummy"};
	static const int no_groups[] = {8, 6, 10, -1};

	test_parts();
	test_statements();
	toc_set_archive("shop.dump");
	for (int i = 0; i < lengthof(lists); i++)
		child_ends(divide, lists[i], 1,
				   "unit_test: error: archive \"shop.dump\" is damaged\n"
				   "unit_test: detail: Entry 7 (\"11..4000000001\") is not a list of large objects.\n"
				   "unit_test: hint: Use another copy of the archive, or make a new dump.\n",
				   "no list");
	for (int i = 0; i < lengthof(no_groups); i++)
		child_ends(divide_without_group, &no_groups[i], 1,
				   "unit_test: error: archive \"shop.dump\" is damaged\n"
				   "unit_test: detail: Entry 9 (\"LARGE OBJECTS 11..4000000001\") has privileges of missing large objects.\n"
				   "unit_test: hint: Use another copy of the archive, or make a new dump.\n",
				   "no group");
}
