/*
 * clean_objects.c
 *		Finds out which objects of the target --clean cannot drop.
 *
 * Queries on the target's catalogs predict the result of the DROP statements:
 * which planned objects belong to other owners, and which other objects
 * depend on them.  DROP would report these one at a time, and without CASCADE
 * only the first; here they are listed together, before anything has been
 * changed.
 *
 * The prediction has to know which other objects a DROP removes.  pg_depend
 * shows this with its dependency types, as dependency.c interprets them.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "base/buffer.h"
#include "base/units.h"
#include "load/clean.h"
#include "session/table_lock.h"

/* Messages name this many objects; further ones are only counted. */
#define OBJECTS_SHOWN 10

/* Locks that are left to other sessions while objects are dropped. */
#define LOCKS_KEPT 100

#define OWNERS_HINT \
"Drop them as their owner or as a superuser; drop objects of an extension with the extension."
#define ROWS_HINT \
"Use --allow-existing to add the rows of the archive, as pg_restore does, or --no-data-for-failed-tables to skip them."

/* ----------
 * Queries for the objects of the target that --clean drops.
 *
 * Each of these macros begins a query, within a CTE that the query closes.
 * ----------
 */

/*
 * The names, as an archive writes them, of all objects of a database except
 * the system's (the tags that pg_dump gives its entries; some are completed
 * here).  A DROP needs one of two roles: the owner, or the owner of the
 * schema (dropcmds.c:RemoveObjects,
 * tablecmds.c:RangeVarCallbackForDropRelation).  Superusers have each role,
 * and no other role has role 0.
 */
#define OIDS_OF_USERS "OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid"
#define NO_ROLE "0::pg_catalog.oid"

#define NAMED_IN_SCHEMA(catalog, schema, name, owner, more) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, " name ", " owner ", n.nspowner" \
" FROM pg_catalog." catalog " x" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x." schema \
more " WHERE x.oid " OIDS_OF_USERS

#define IN_SCHEMA(catalog, schema, name, owner) \
NAMED_IN_SCHEMA(catalog, schema, "x." name "::pg_catalog.text", owner, "")

#define OF_TABLE(catalog, table, name) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text," \
" pg_catalog.concat(c.relname, ' ', x." name "), c.relowner, " NO_ROLE \
" FROM pg_catalog." catalog " x" \
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x." table \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace" \
" WHERE x.oid " OIDS_OF_USERS

#define WITHOUT_SCHEMA(catalog, name, owner) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, x." name "::pg_catalog.text, " owner ", " NO_ROLE \
" FROM pg_catalog." catalog " x"

#define FUNCTIONS \
NAMED_IN_SCHEMA("pg_proc", "pronamespace", \
"pg_catalog.concat(x.proname, '('," \
" COALESCE((SELECT pg_catalog.string_agg(pg_catalog.format_type(a.type, NULL), ', ' ORDER BY a.no)" \
" FROM pg_catalog.unnest(x.proargtypes::pg_catalog.oid[]) WITH ORDINALITY a (type, no))," \
" CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_aggregate g" \
" WHERE g.aggfnoid::pg_catalog.oid OPERATOR(pg_catalog.=) x.oid) THEN '*' ELSE '' END), ')')", \
"x.proowner", "")

/*
 * Names with the arguments, or the access method, that their DROP contains.
 */
#define ARGUMENT(type) \
"COALESCE(pg_catalog.format_type(NULLIF(x." type ", 0::pg_catalog.oid), NULL), 'NONE')"

#define OPERATORS \
NAMED_IN_SCHEMA("pg_operator", "oprnamespace", \
"pg_catalog.concat(x.oprname, ' (', " ARGUMENT("oprleft") ", ', ', " ARGUMENT("oprright") ", ')')", \
"x.oprowner", "") \
NAMED_IN_SCHEMA("pg_opclass", "opcnamespace", \
"pg_catalog.concat(x.opcname, ' USING ', pg_catalog.quote_ident(m.amname::pg_catalog.text))", \
"x.opcowner", " JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) x.opcmethod") \
NAMED_IN_SCHEMA("pg_opfamily", "opfnamespace", \
"pg_catalog.concat(x.opfname, ' USING ', pg_catalog.quote_ident(m.amname::pg_catalog.text))", \
"x.opfowner", " JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) x.opfmethod")

#define OTHERS \
" UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, pg_catalog.concat(y.typname, ' ', x.conname)," \
" y.typowner, " NO_ROLE \
" FROM pg_catalog.pg_constraint x" \
" JOIN pg_catalog.pg_type y ON y.oid OPERATOR(pg_catalog.=) x.contypid" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) y.typnamespace" \
" UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, pg_catalog.concat(c.relname, ' ', a.attname)," \
" c.relowner, " NO_ROLE \
" FROM pg_catalog.pg_attrdef x" \
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x.adrelid" \
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) x.adrelid" \
" AND a.attnum OPERATOR(pg_catalog.=) x.adnum" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace" \
" UNION ALL SELECT 'pg_catalog.pg_cast'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, pg_catalog.concat('CAST ('," \
" pg_catalog.format_type(x.castsource, NULL), ' AS '," \
" pg_catalog.format_type(x.casttarget, NULL), ')'), s.typowner, t.typowner" \
" FROM pg_catalog.pg_cast x" \
" JOIN pg_catalog.pg_type s ON s.oid OPERATOR(pg_catalog.=) x.castsource" \
" JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) x.casttarget" \
" WHERE x.oid " OIDS_OF_USERS \
" UNION ALL SELECT 'pg_catalog.pg_transform'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, pg_catalog.concat('TRANSFORM FOR '," \
" pg_catalog.format_type(x.trftype, NULL), ' LANGUAGE '," \
" pg_catalog.quote_ident(l.lanname::pg_catalog.text)), t.typowner, " NO_ROLE \
" FROM pg_catalog.pg_transform x" \
" JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) x.trftype" \
" JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) x.trflang" \
" UNION ALL SELECT 'pg_catalog.pg_user_mapping'::pg_catalog.regclass, x.umid," \
" ''::pg_catalog.text, pg_catalog.concat('USER MAPPING ', x.usename," \
" ' SERVER ', x.srvname), s.srvowner, x.umuser" \
" FROM pg_catalog.pg_user_mappings x" \
" JOIN pg_catalog.pg_foreign_server s ON s.oid OPERATOR(pg_catalog.=) x.srvid"

/*
 * Subscriptions are in a catalog that all databases share, so they need a
 * condition on the database.
 */
#define SUBSCRIPTIONS \
" UNION ALL SELECT 'pg_catalog.pg_subscription'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, x.subname::pg_catalog.text, x.subowner, " NO_ROLE \
" FROM pg_catalog.pg_subscription x" \
" WHERE x.subdbid OPERATOR(pg_catalog.=) (SELECT b.oid FROM pg_catalog.pg_database b" \
" WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())"

/* The kind of a relation as an entry and its DROP call it. */
#define RELATION_KIND(oid) \
"(SELECT CASE WHEN c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog.\"char\"[]) THEN 'TABLE'" \
" WHEN c.relkind OPERATOR(pg_catalog.=) ANY ('{i,I}'::pg_catalog.\"char\"[]) THEN 'INDEX'" \
" WHEN c.relkind OPERATOR(pg_catalog.=) 'f'::pg_catalog.\"char\" THEN 'FOREIGN TABLE'" \
" WHEN c.relkind OPERATOR(pg_catalog.=) 'm'::pg_catalog.\"char\" THEN 'MATERIALIZED VIEW'" \
" WHEN c.relkind OPERATOR(pg_catalog.=) 'S'::pg_catalog.\"char\" THEN 'SEQUENCE'" \
" WHEN c.relkind OPERATOR(pg_catalog.=) 'v'::pg_catalog.\"char\" THEN 'VIEW' ELSE '' END" \
" FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) " oid ")"

/*
 * planned contains the entries, from five arrays of equal length: kind,
 * catalog, schema, tag, and a property of the DROP ("tried", "cascade", or
 * ""); the last one is dropped first.  planned_objects contains the objects
 * of the target with these names, and the obstacle to their DROP, or NULL: a
 * relation is of another kind, or the object belongs to an extension, or to a
 * role that is neither the one in $6 (the session's if that is NULL) nor one
 * of which it is a member.  The obstacle is a code, which add_object() shows.
 */
#define PLANNED_PARAMS 6

#define PLANNED \
"WITH RECURSIVE planned (kind, catalog, schema, tag, how, no) AS (" \
"SELECT t.kind, pg_catalog.concat('pg_catalog.', t.catalog)::pg_catalog.regclass," \
" t.schema, t.tag, t.how, t.no" \
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[])," \
" pg_catalog.unnest($2::pg_catalog.text[])," \
" pg_catalog.unnest($3::pg_catalog.text[])," \
" pg_catalog.unnest($4::pg_catalog.text[])," \
" pg_catalog.unnest($5::pg_catalog.text[]))" \
" WITH ORDINALITY t (kind, catalog, schema, tag, how, no)" \
"), objects (classid, objid, schema, tag, owner, schema_owner) AS (" \
"SELECT NULL::pg_catalog.regclass, NULL::pg_catalog.oid," \
" NULL::pg_catalog.text, NULL::pg_catalog.text," \
" NULL::pg_catalog.oid, NULL::pg_catalog.oid WHERE false" \
IN_SCHEMA("pg_class", "relnamespace", "relname", "x.relowner") \
IN_SCHEMA("pg_collation", "collnamespace", "collname", "x.collowner") \
IN_SCHEMA("pg_conversion", "connamespace", "conname", "x.conowner") \
IN_SCHEMA("pg_statistic_ext", "stxnamespace", "stxname", "x.stxowner") \
IN_SCHEMA("pg_ts_config", "cfgnamespace", "cfgname", "x.cfgowner") \
IN_SCHEMA("pg_ts_dict", "dictnamespace", "dictname", "x.dictowner") \
IN_SCHEMA("pg_ts_parser", "prsnamespace", "prsname", NO_ROLE) \
IN_SCHEMA("pg_ts_template", "tmplnamespace", "tmplname", NO_ROLE) \
IN_SCHEMA("pg_type", "typnamespace", "typname", "x.typowner") \
OF_TABLE("pg_constraint", "conrelid", "conname") \
OF_TABLE("pg_policy", "polrelid", "polname") \
OF_TABLE("pg_rewrite", "ev_class", "rulename") \
OF_TABLE("pg_trigger", "tgrelid", "tgname") \
WITHOUT_SCHEMA("pg_am", "amname", NO_ROLE) \
WITHOUT_SCHEMA("pg_event_trigger", "evtname", "x.evtowner") \
WITHOUT_SCHEMA("pg_extension", "extname", "x.extowner") \
WITHOUT_SCHEMA("pg_foreign_data_wrapper", "fdwname", "x.fdwowner") \
WITHOUT_SCHEMA("pg_foreign_server", "srvname", "x.srvowner") \
WITHOUT_SCHEMA("pg_language", "lanname", "x.lanowner") \
WITHOUT_SCHEMA("pg_namespace", "nspname", "x.nspowner") \
WITHOUT_SCHEMA("pg_publication", "pubname", "x.pubowner") \
FUNCTIONS OPERATORS OTHERS SUBSCRIPTIONS \
"), planned_objects (classid, objid, how, no, obstacle) AS (" \
"SELECT o.classid::pg_catalog.oid, o.objid, p.how, pg_catalog.max(p.no), COALESCE(" \
"CASE WHEN o.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass" \
" AND p.kind OPERATOR(pg_catalog.<>) " RELATION_KIND("o.objid") \
" THEN pg_catalog.concat('k', p.kind) END," \
" (SELECT pg_catalog.concat('o', pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0))" \
" FROM pg_catalog.pg_depend d WHERE " IS_SAME("d", "o") \
" AND d.objsubid OPERATOR(pg_catalog.=) 0" \
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\")," \
" CASE WHEN NOT (pg_catalog.pg_has_role(r.oid, o.owner, 'USAGE')" \
" OR pg_catalog.pg_has_role(r.oid, o.schema_owner, 'USAGE'))" \
" THEN CASE WHEN o.owner OPERATOR(pg_catalog.=) " NO_ROLE " THEN 's'" \
" ELSE pg_catalog.concat('r', pg_catalog.pg_get_userbyid(o.owner)) END END)" \
" FROM objects o JOIN planned p" \
" ON p.catalog OPERATOR(pg_catalog.=) o.classid" \
" AND p.schema OPERATOR(pg_catalog.=) o.schema" \
" AND p.tag OPERATOR(pg_catalog.=) o.tag" \
" LEFT JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=)" \
" COALESCE($6::pg_catalog.text, CURRENT_USER::pg_catalog.text)::pg_catalog.name" \
" GROUP BY 1, 2, 3, 5"

/*
 * Dependencies with which a DROP of the referenced object also drops the
 * dependent one, without CASCADE (dependency.h).
 */
#define GOES_ALONG(d) \
d ".deptype OPERATOR(pg_catalog.=) ANY ('{a,e,i,x,P,S}'::pg_catalog.\"char\"[])" \
" AND " d ".objsubid OPERATOR(pg_catalog.=) 0"

#define DEPENDS(d, on) \
d ".refclassid OPERATOR(pg_catalog.=) " on ".classid" \
" AND " d ".refobjid OPERATOR(pg_catalog.=) " on ".objid"

#define IS_SAME(a, b) \
a ".classid OPERATOR(pg_catalog.=) " b ".classid" \
" AND " a ".objid OPERATOR(pg_catalog.=) " b ".objid"

/*
 * All dropped objects: the planned ones, and those that belong to them.  A
 * DROP that fails ends a copy, but a restore continues without it.
 */
#define BY_COPY ""
#define BY_RESTORE " WHERE obstacle IS NULL"

#define DROPPED(by) PLANNED \
"), reached (classid, objid, no, by_cascade) AS (" \
"SELECT classid, objid, no, how OPERATOR(pg_catalog.=) 'cascade' FROM planned_objects" by \
" UNION SELECT d.classid, d.objid, s.no, s.by_cascade FROM reached s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") " AND " GOES_ALONG("d") \
"), dropped (classid, objid, no, by_cascade) AS (" \
"SELECT classid, objid, pg_catalog.max(no), pg_catalog.bool_or(by_cascade)" \
" FROM reached GROUP BY classid, objid"

/*
 * Objects that depend on dropped ones, and exist when these are dropped.
 * They stay, or are dropped later: for example the policy of a table that the
 * archive does not contain.  An operator that exists only because a planned
 * one names it as its commutator or negator is in no archive.  A base type is
 * dropped with CASCADE, which also drops this operator, and objects that
 * would be dropped later; all other dependent objects of the type keep it.
 */
#define KEEPERS(by) DROPPED(by) \
"), dependents (classid, objid, objsubid, refclassid, refobjid, no, by_cascade) AS (" \
"SELECT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid, s.no, s.by_cascade" \
" FROM dropped s JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") \
" AND d.deptype OPERATOR(pg_catalog.=) 'n'::pg_catalog.\"char\"" \
"), shells (classid, objid) AS (" \
"SELECT d.classid, d.objid FROM planned_objects s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") \
" AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass" \
" JOIN pg_catalog.pg_operator o ON o.oid OPERATOR(pg_catalog.=) d.objid" \
" AND o.oprcode::pg_catalog.oid OPERATOR(pg_catalog.=) " NO_ROLE \
" WHERE s.how OPERATOR(pg_catalog.=) 'cascade'" \
" AND EXISTS (SELECT FROM planned_objects p JOIN pg_catalog.pg_operator q" \
" ON q.oid OPERATOR(pg_catalog.=) p.objid WHERE p.classid OPERATOR(pg_catalog.=) d.classid" \
" AND o.oid OPERATOR(pg_catalog.=) ANY (ARRAY[q.oprcom, q.oprnegate]))" \
"), gone (classid, objid, no) AS (" \
"SELECT a.classid, a.objid, pg_catalog.max(a.no) FROM (" \
"SELECT classid, objid, no FROM dropped" \
" UNION ALL SELECT classid, objid, NULL FROM shells" \
") a (classid, objid, no) GROUP BY a.classid, a.objid" \
"), keepers (classid, objid, objsubid, refclassid, refobjid) AS (" \
"SELECT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid" \
" FROM dependents d LEFT JOIN gone g ON " IS_SAME("g", "d") \
" WHERE g.objid IS NULL OR (g.no OPERATOR(pg_catalog.<) d.no AND NOT d.by_cascade)"

/*
 * Further such objects in a copy: partitions with rows that are not planned,
 * and would be dropped with their table.
 */
#define FILLED_PARTITIONS \
" UNION ALL SELECT d.classid, d.objid, 0, d.refclassid, d.refobjid FROM dropped s" \
" JOIN pg_catalog.pg_depend d ON " IS_SAME("d", "s") \
" AND d.deptype OPERATOR(pg_catalog.=) 'a'::pg_catalog.\"char\"" \
" AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass" \
" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass" \
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.objid" \
" AND c.relispartition AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog.\"char\"[])" \
" WHERE NOT EXISTS (SELECT FROM planned_objects p WHERE " IS_SAME("p", "d") ")" \
" AND EXISTS (SELECT FROM pg_catalog.pg_partition_tree(c.oid) t" \
" WHERE pg_catalog.pg_relation_size(t.relid) OPERATOR(pg_catalog.>) 0::pg_catalog.int8)"

/* ----------
 * The queries, and their parameters.
 * ----------
 */

/*
 * The catalog that contains an entry's object, and whether it is in a schema.
 */
static const struct
{
	const char *desc;
	const char *catalog;
	bool		has_schema;
}			catalogs[] = {
	{"ACCESS METHOD", "pg_am", false},
	{"AGGREGATE", "pg_proc", true},
	{"CAST", "pg_cast", false},
	{"CHECK CONSTRAINT", "pg_constraint", true},
	{"COLLATION", "pg_collation", true},
	{"CONSTRAINT", "pg_constraint", true},
	{"CONVERSION", "pg_conversion", true},
	{"DEFAULT", "pg_attrdef", true},
	{"DOMAIN", "pg_type", true},
	{"EVENT TRIGGER", "pg_event_trigger", false},
	{"EXTENSION", "pg_extension", false},
	{"FK CONSTRAINT", "pg_constraint", true},
	{"FOREIGN DATA WRAPPER", "pg_foreign_data_wrapper", false},
	{"FOREIGN TABLE", "pg_class", true},
	{"FUNCTION", "pg_proc", true},
	{"INDEX", "pg_class", true},
	{"MATERIALIZED VIEW", "pg_class", true},
	{"OPERATOR", "pg_operator", true},
	{"OPERATOR CLASS", "pg_opclass", true},
	{"OPERATOR FAMILY", "pg_opfamily", true},
	{"POLICY", "pg_policy", true},
	{"PROCEDURAL LANGUAGE", "pg_language", false},
	{"PROCEDURE", "pg_proc", true},
	{"PUBLICATION", "pg_publication", false},
	{"RULE", "pg_rewrite", true},
	{"SCHEMA", "pg_namespace", false},
	{"SEQUENCE", "pg_class", true},
	{"SERVER", "pg_foreign_server", false},
	{"SHELL TYPE", "pg_type", true},
	{"STATISTICS", "pg_statistic_ext", true},
	{"SUBSCRIPTION", "pg_subscription", false},
	{"TABLE", "pg_class", true},
	{"TEXT SEARCH CONFIGURATION", "pg_ts_config", true},
	{"TEXT SEARCH DICTIONARY", "pg_ts_dict", true},
	{"TEXT SEARCH PARSER", "pg_ts_parser", true},
	{"TEXT SEARCH TEMPLATE", "pg_ts_template", true},
	{"TRANSFORM", "pg_transform", false},
	{"TRIGGER", "pg_trigger", true},
	{"TYPE", "pg_type", true},
	{"USER MAPPING", "pg_user_mapping", false},
	{"VIEW", "pg_class", true}
};

/*
 * The element of catalogs for this entry, or -1.  pg_dump writes a comment
 * instead of a DROP if nothing must be dropped, for example for schema
 * public.
 */
static int
catalog_of(const TocEntry *entry)
{
	if (strncmp(entry->drop_stmt, "--", 2) == 0)
		return -1;
	for (int i = 0; i < (int) lengthof(catalogs); i++)
		if (toc_entry_is(entry, catalogs[i].desc))
			return catalogs[i].has_schema && entry->namespace == NULL ? -1 : i;
	return -1;
}

/*
 * The objects that keep others from being dropped.  If such an object belongs
 * to another one, like the rule of a view, the other one is named.  Each row
 * contains their number.
 */
#define KEEPERS_QUERY(by, more) KEEPERS(by) more \
") SELECT k.name, pg_catalog.concat('d', pg_catalog.min(k.depends_on))," \
" pg_catalog.count(*) OVER () FROM (" \
"SELECT COALESCE(pg_catalog.pg_describe_object(i.refclassid, i.refobjid, 0)," \
" pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid))," \
" pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)" \
" FROM keepers d LEFT JOIN pg_catalog.pg_depend i" \
" ON " IS_SAME("i", "d") " AND i.deptype OPERATOR(pg_catalog.=) 'i'::pg_catalog.\"char\"" \
") k (name, depends_on) WHERE k.name IS NOT NULL" \
" GROUP BY k.name ORDER BY k.name COLLATE \"C\" LIMIT " CppAsString2(OBJECTS_SHOWN)

static const char keepers_query[] = KEEPERS_QUERY(BY_RESTORE, "");
static const char copy_keepers_query[] = KEEPERS_QUERY(BY_COPY, FILLED_PARTITIONS);

/*
 * The planned objects whose DROP would fail.  Each row contains their number.
 */
static const char obstacles_query[] =
PLANNED
") SELECT o.name, o.obstacle, pg_catalog.count(*) OVER () FROM ("
"SELECT pg_catalog.pg_describe_object(classid, objid, 0), obstacle"
" FROM planned_objects WHERE obstacle IS NOT NULL"
" AND how OPERATOR(pg_catalog.<>) 'tried'"
") o (name, obstacle) WHERE o.name IS NOT NULL"
" ORDER BY o.name COLLATE \"C\" LIMIT " CppAsString2(OBJECTS_SHOWN);

/*
 * The numbers of the tables in $7 and $8 that stay, and the obstacle to their
 * own DROP, if there is one.  Objects on which a keeper depends stay, and so
 * on; and with them the objects that belong to them and have no DROP that
 * succeeds.
 */
static const char kept_tables_query[] =
KEEPERS(BY_RESTORE)
"), parts (classid, objid) AS ("
"SELECT a.classid, a.objid FROM (SELECT classid, objid, false FROM dropped"
" UNION ALL SELECT classid, objid, true FROM planned_objects" BY_RESTORE
") a (classid, objid, is_planned) GROUP BY a.classid, a.objid"
" HAVING NOT pg_catalog.bool_or(a.is_planned)"
"), edges (classid, objid, kept_classid, kept_objid) AS ("
"SELECT d.classid, d.objid, d.refclassid, d.refobjid FROM dropped s"
" JOIN pg_catalog.pg_depend d ON " IS_SAME("d", "s")
" UNION ALL SELECT d.refclassid, d.refobjid, d.classid, d.objid FROM parts s"
" JOIN pg_catalog.pg_depend d ON " IS_SAME("d", "s") " AND " GOES_ALONG("d")
"), kept (classid, objid) AS ("
"SELECT refclassid, refobjid FROM keepers"
" UNION SELECT e.kept_classid, e.kept_objid FROM kept k JOIN edges e ON " IS_SAME("e", "k")
"), undropped (classid, objid, obstacle) AS ("
"SELECT p.classid, p.objid, p.obstacle FROM planned_objects p"
" WHERE p.obstacle IS NOT NULL"
" AND NOT EXISTS (SELECT FROM dropped d WHERE " IS_SAME("d", "p") ")"
" UNION ALL SELECT classid, objid, NULL FROM kept"
") SELECT pg_catalog.max(a.no), pg_catalog.max(a.obstacle) FROM ("
"SELECT c.oid, t.no, NULL FROM ROWS FROM (pg_catalog.unnest($7::pg_catalog.text[]),"
" pg_catalog.unnest($8::pg_catalog.text[]))"
" WITH ORDINALITY t (schema, name, no)"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name"
" JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name"
" UNION ALL SELECT objid, NULL, obstacle FROM undropped"
" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
") a (oid, no, obstacle) GROUP BY a.oid"
" HAVING pg_catalog.max(a.no) IS NOT NULL AND pg_catalog.bool_or(a.no IS NULL)"
" ORDER BY 1";

/* The number of parameters in the queries of a restore. */
#define RESTORE_PARAMS (PLANNED_PARAMS + 2)

/*
 * The number of objects that are dropped, including the large objects in $7,
 * and whether the lock table has room: a DROP locks each object until the
 * transaction ends.  The server has some more room, for its own processes.
 */
static const char locks_query[] =
DROPPED(BY_COPY)
"), locks (needed) AS (SELECT pg_catalog.count(*) OPERATOR(pg_catalog.+) ("
"SELECT pg_catalog.count(*) FROM pg_catalog.pg_largeobject_metadata m"
" WHERE m.oid OPERATOR(pg_catalog.=) ANY ($7::pg_catalog.oid[])) FROM dropped"
") SELECT needed, (needed OPERATOR(pg_catalog.+) " CppAsString2(LOCKS_KEPT) "::pg_catalog.int8"
" OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks))"
" OPERATOR(pg_catalog.<=) (" TABLE_LOCK_ROOM_SQL ")"
" FROM locks";

/*
 * Run one of the queries in a separate transaction.  For recursive queries
 * the planner expects few rows, and chooses nested loops, which take minutes
 * with thousands of objects.  So these are disabled.  Then the costs are so
 * high that JIT would compile the query for 20 seconds, so it is disabled,
 * too.  quote_all_identifiers must have pg_dump's value, because tags are
 * compared with names that the server quotes.
 */
static PGresult *
ask(PGconn *conn, const Options *options, const char *query, int n_params,
	const char *const *params)
{
	PGresult   *res;

	session_begin_unwatched(conn, SESSION_BEGIN_READ_ONLY "; "
							SESSION_SET_LOCAL("enable_nestloop", "off") "; "
							SESSION_SET_LOCAL("jit", "off"));
	/* the value with which pg_dump has written the names */
	PQclear(session_query(conn, options->quote_all_identifiers ?
						  SESSION_SET_LOCAL("quote_all_identifiers", "on") :
						  SESSION_SET_LOCAL("quote_all_identifiers", "off")));
	res = session_query_params(conn, query, n_params, params, 0);
	session_command(conn, "COMMIT");
	return res;
}

/*
 * The tag of an entry, with the additional text of its DROP: the arguments of
 * an operator, or the access method of an operator class or family.  Owned.
 */
static char *
full_tag(const TocEntry *entry)
{
	static const char using[] = " USING ";
	const char *drop = entry->drop_stmt;
	const char *found = NULL;
	char	   *result;

	if (toc_entry_is(entry, "OPERATOR"))
	{
		/* Skip the name of the schema, which may be quoted. */
		drop += strcspn(drop, "\".");
		while (*drop == '"')
		{
			drop += 1 + strcspn(drop + 1, "\"");
			drop += *drop == '"' ? 1 : 0;
		}
		drop += *drop == '.' ? 1 : 0;
		if (strncmp(drop, entry->tag, strlen(entry->tag)) == 0)
			found = drop + strlen(entry->tag);
	}
	else if (toc_entry_is(entry, "OPERATOR CLASS") ||
			 toc_entry_is(entry, "OPERATOR FAMILY"))
		for (const char *next = drop; (next = strstr(next, using)) != NULL; next++)
			found = next;
	result = psprintf("%s%s", entry->tag, found ? found : "");
	if (found)
		result[strcspn(result, ";")] = '\0';
	return result;
}

/* The property of the DROP for "planned". */
static const char *
how_dropped(const RestoreStages *stages, const TocEntry *entry)
{
	static const char cascade[] = " CASCADE;\n";
	size_t		length = strlen(entry->drop_stmt);

	if (!stages->as_pg_restore && clean_may_fail(entry))
		return "tried";
	return length > strlen(cascade) &&
		strcmp(entry->drop_stmt + length - strlen(cascade), cascade) == 0 ?
		"cascade" : "";
}

/*
 * The entries as arrays for PLANNED; owned.  The tag gets the additional text
 * of the DROP, because operators and operator classes are not identified by
 * their names alone.
 */
static void
make_params(const RestoreStages *stages, PGconn *conn, const char **params)
{
	static char none[] = "";
	const Toc  *toc = stages->schedule->toc;
	char	  **columns[PLANNED_PARAMS - 1];
	int			n = 0;

	for (int i = 0; i < (int) lengthof(columns); i++)
		columns[i] = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		int			catalog;

		if (!clean_has_drop(stages, i))
			continue;
		catalog = catalog_of(entry);
		if (catalog < 0)
			continue;
		columns[0][n] = entry->desc;
		columns[1][n] = unconstify(char *, catalogs[catalog].catalog);
		columns[2][n] = catalogs[catalog].has_schema ? entry->namespace : none;
		columns[3][n] = full_tag(entry);
		columns[4][n++] = unconstify(char *, how_dropped(stages, entry));
	}
	for (int i = 0; i < (int) lengthof(columns); i++)
		params[i] = text_array(conn, columns[i], n);
	params[PLANNED_PARAMS - 1] = stages->setup.options->role;
}

/* The OIDs of all large objects, as an array; owned. */
static char *
large_objects_param(const RestoreSchedule *schedule)
{
	PQExpBufferData oids = buffer_new();

	for (int i = 0; i < schedule->toc->n_entries; i++)
		if (schedule->phases[i] == RESTORE_LARGE_OBJECTS)
			clean_append_large_objects(&oids, &schedule->toc->entries[i]);
	return psprintf("{%s}", buffer_text(&oids));
}

/* ----------
 * Reports.
 * ----------
 */

/*
 * Add an object to a list, with the reason why it stays: a letter, which a
 * name may follow.
 */
static void
add_object(PQExpBuffer list, const char *name, const char *reason)
{
	static const struct
	{
		char		code;
		const char *text;
	}			texts[] = {
		{'d', "%s (depends on %s)"},
		{'k', "%s (cannot be dropped by DROP %s)"},
		{'o', "%s (belongs to %s)"},
		{'r', "%s (belongs to role %s)"},
		{'s', "%s (belongs to superusers)"}
	};

	for (int i = 0; i < (int) lengthof(texts); i++)
		if (reason[0] == texts[i].code)
			units_names_add(list, psprintf(texts[i].text, name, reason + 1));
}

/*
 * Append the results of a query as a list, with the second column as the
 * reason.  Returns the number of all objects.
 */
static int
list_objects(PGconn *conn, const Options *options, const char *query,
			 const char *const *params, PQExpBuffer list)
{
	PGresult   *res = ask(conn, options, query, PLANNED_PARAMS, params);
	int			n_shown = PQntuples(res);
	int			n = n_shown == 0 ? 0 : session_number(res, 0, 2, 1, INT_MAX);

	for (int i = 0; i < n_shown; i++)
		add_object(list, PQgetvalue(res, i, 0), PQgetvalue(res, i, 1));
	return n;
}

bool
clean_objects_fit(const RestoreStages *stages, int *n)
{
	PGconn	   *conn = stages->target->conn;
	const char *params[PLANNED_PARAMS + 1];
	PGresult   *res;

	make_params(stages, conn, params);
	params[PLANNED_PARAMS] = large_objects_param(stages->schedule);
	res = ask(conn, stages->setup.options, locks_query, lengthof(params), params);
	*n = session_number(res, 0, 0, 0, INT_MAX);
	return result_is_true(res, 0, 1);
}

/*
 * Report which objects cannot be dropped, and which other objects depend on
 * those that can.  Both are errors, because the transaction would fail at the
 * first one.
 */
static void
check_drops(const RestoreStages *stages, PGconn *conn)
{
	const Options *options = stages->setup.options;
	const char *params[PLANNED_PARAMS];
	PQExpBufferData list = buffer_new();
	int			n;

	make_params(stages, conn, params);
	n = list_objects(conn, options, obstacles_query, params, &list);
	if (n > 0)
	{
		pg_log_error("--clean cannot drop %d of the objects that are to be copied", n);
		pg_log_error_detail("Objects: %s.",
							units_names(list.data, n, OBJECTS_SHOWN));
		pg_log_error_hint(OWNERS_HINT);
	}
	resetPQExpBuffer(&list);
	n = list_objects(conn, options, copy_keepers_query, params, &list);
	if (n > 0)
	{
		pg_log_error(ngettext("--clean cannot drop objects with %d dependent object on the target",
							  "--clean cannot drop objects with %d dependent objects on the target",
							  n), n);
		pg_log_error_detail("Dependent objects: %s.",
							units_names(list.data, n, OBJECTS_SHOWN));
		pg_log_error_hint("Drop the other objects or detach the partitions first, or copy into another database.");
	}
}

void
clean_objects_check_copy(const RestoreStages *stages)
{
	const Options *options = stages->setup.options;
	int			n;

	if (!options->clean || options->create)
		return;
	check_drops(stages, stages->target->conn);
	if (!clean_objects_fit(stages, &n))
	{
		pg_log_warning(ngettext("the lock table of the target is too small to drop %d object in one transaction",
								"the lock table of the target is too small to drop %d objects in one transaction",
								n), n);
		pg_log_warning_detail("--clean drops them one by one.  After an error, some of them remain dropped.");
		pg_log_warning_hint("Increase max_locks_per_transaction on the target, and restart its server.");
	}
}

/*
 * Append a list of the tables that cannot be dropped for a reason of their
 * own, or of those on which other objects depend.  Returns their number.
 */
static int
list_tables(const PGresult *res, const DumpTables *tables, bool own_reason,
			PQExpBuffer list)
{
	int			n = 0;

	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, 0, 1, tables->n_tables) - 1;

		if (PQgetisnull(res, i, 1) == own_reason || n++ >= OBJECTS_SHOWN)
			continue;
		if (own_reason)
			add_object(list, tables->tables[no].name, PQgetvalue(res, i, 1));
		else
			units_names_add(list, tables->tables[no].name);
	}
	return n;
}

static void
refuse_kept_tables(PGconn *conn, const Options *options, const char *const *params,
				   const DumpTables *tables)
{
	PGresult   *res = ask(conn, options, kept_tables_query, RESTORE_PARAMS, params);
	PQExpBufferData list = buffer_new();
	PQExpBufferData keepers = buffer_new();
	int			n = list_tables(res, tables, true, &list);

	if (n > 0)
	{
		pg_log_error("--clean cannot drop %d of the tables that have rows in the archive",
					 n);
		pg_log_error_detail("Tables: %s.",
							units_names(list.data, n, OBJECTS_SHOWN));
		pg_log_error_hint(OWNERS_HINT "  " ROWS_HINT);
	}
	resetPQExpBuffer(&list);
	n = list_tables(res, tables, false, &list);
	if (n > 0)
	{
		int			n_keepers = list_objects(conn, options, keepers_query, params,
											 &keepers);

		pg_log_error("--clean cannot drop %d of the tables that have rows in the archive, because other objects of the target depend on them",
					 n);
		pg_log_error_detail("Tables: %s.",
							units_names(list.data, n, OBJECTS_SHOWN));
		pg_log_error_detail("Dependent objects: %s.",
							units_names(keepers.data, n_keepers, OBJECTS_SHOWN));
		pg_log_error_hint("Drop the dependent objects first.  " ROWS_HINT);
	}
	PQclear(res);
}

void
clean_objects_check_restore(const RestoreStages *stages, PGconn *conn,
							const DumpTables *tables)
{
	static char none[] = "";
	int			n = tables->n_tables;
	char	  **schemas = pg_malloc((n + 1) * sizeof(char *));
	char	  **names = pg_malloc((n + 1) * sizeof(char *));
	const char *params[RESTORE_PARAMS];

	for (int i = 0; i < n; i++)
	{
		const TocEntry *entry = tables->tables[i].entry;

		/*
		 * If the archive does not define the table, its rows are added to the
		 * existing ones.
		 */
		schemas[i] = tables->tables[i].has_definition && entry->namespace ?
			entry->namespace : none;
		names[i] = entry->tag;
	}
	make_params(stages, conn, params);
	params[PLANNED_PARAMS] = text_array(conn, schemas, n);
	params[PLANNED_PARAMS + 1] = text_array(conn, names, n);
	refuse_kept_tables(conn, stages->setup.options, params, tables);
}
