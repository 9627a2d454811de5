/*
 * clean_query.h
 *		Which objects of the target --clean drops, in SQL.
 *
 * Each of these begins a query, in a CTE that the query closes.
 */
#ifndef CLEAN_QUERY_H
#define CLEAN_QUERY_H

/*
 * The names as an archive has them (the tags that pg_dump gives its entries;
 * clean_objects.c completes some), of all objects that a database has more
 * than the system's.  A DROP needs one of two roles: the owner, or the owner
 * of the schema (dropcmds.c:RemoveObjects,
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

/* With the arguments, or the access method, that their DROP names. */
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
 * planned is the entries, from four arrays of equal length: catalog, schema,
 * tag, and what is special about the DROP ("tried" or "cascade", else "").
 * planned_objects is what the target has of them, and the obstacle to the
 * DROP: the extension that an object belongs to, or its owner, if neither the
 * role in $5, which is the session's if it is NULL, nor one that it is a
 * member of may drop the object.  Else that is NULL.
 */
#define PLANNED_PARAMS 5

#define PLANNED \
"WITH RECURSIVE planned (catalog, schema, tag, how) AS (" \
"SELECT pg_catalog.concat('pg_catalog.', t.catalog)::pg_catalog.regclass," \
" t.schema, t.tag, t.how" \
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[])," \
" pg_catalog.unnest($2::pg_catalog.text[])," \
" pg_catalog.unnest($3::pg_catalog.text[])," \
" pg_catalog.unnest($4::pg_catalog.text[])) t (catalog, schema, tag, how)" \
"), objects (classid, objid, schema, tag, owner, schema_owner) AS (" \
"SELECT NULL::pg_catalog.regclass, NULL::pg_catalog.oid," \
" NULL::pg_catalog.text, NULL::pg_catalog.text," \
" NULL::pg_catalog.oid, NULL::pg_catalog.oid WHERE false" \
IN_SCHEMA("pg_class", "relnamespace", "relname", "x.relowner") \
IN_SCHEMA("pg_collation", "collnamespace", "collname", "x.collowner") \
IN_SCHEMA("pg_conversion", "connamespace", "conname", "x.conowner") \
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
FUNCTIONS OPERATORS OTHERS \
"), planned_objects (classid, objid, how, obstacle) AS (" \
"SELECT DISTINCT o.classid::pg_catalog.oid, o.objid, p.how, COALESCE(" \
"(SELECT pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)" \
" FROM pg_catalog.pg_depend d WHERE " IS_SAME("d", "o") \
" AND d.objsubid OPERATOR(pg_catalog.=) 0" \
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\")," \
" CASE WHEN NOT (pg_catalog.pg_has_role(r.oid, o.owner, 'USAGE')" \
" OR pg_catalog.pg_has_role(r.oid, o.schema_owner, 'USAGE'))" \
" THEN CASE WHEN o.owner OPERATOR(pg_catalog.=) " NO_ROLE " THEN 'superusers'" \
" ELSE pg_catalog.concat('role ', pg_catalog.pg_get_userbyid(o.owner)) END END)" \
" FROM objects o JOIN planned p" \
" ON p.catalog OPERATOR(pg_catalog.=) o.classid" \
" AND p.schema OPERATOR(pg_catalog.=) o.schema" \
" AND p.tag OPERATOR(pg_catalog.=) o.tag" \
" LEFT JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=)" \
" COALESCE($5::pg_catalog.text, CURRENT_USER::pg_catalog.text)::pg_catalog.name"

/* What a DROP of the other one takes along without CASCADE (dependency.h). */
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
 * All that is dropped: planned objects, and what belongs to them.  A DROP
 * that fails ends a copy, and a restore continues without it.
 */
#define BY_COPY ""
#define BY_RESTORE " WHERE obstacle IS NULL"

#define DROPPED(by) PLANNED \
"), dropped (classid, objid) AS (" \
"SELECT classid, objid FROM planned_objects" by \
" UNION SELECT d.classid, d.objid FROM dropped s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") " AND " GOES_ALONG("d")

/*
 * What depends on them and stays.  No archive has an operator that exists
 * only because a planned one names it as its commutator or negator.  A base
 * type, which is dropped with CASCADE, takes it along; all else that it
 * depends on is kept by it.
 */
#define KEEPERS(by) DROPPED(by) \
"), dependents (classid, objid, objsubid, refclassid, refobjid) AS (" \
"SELECT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid FROM dropped s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") \
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
"), stays (classid, objid) AS (" \
"SELECT a.classid, a.objid FROM (" \
"SELECT classid, objid, false FROM dependents" \
" UNION ALL SELECT classid, objid, true FROM dropped" \
" UNION ALL SELECT classid, objid, true FROM shells" \
") a (classid, objid, goes) GROUP BY a.classid, a.objid" \
" HAVING NOT pg_catalog.bool_or(a.goes)" \
"), keepers (classid, objid, objsubid, refclassid, refobjid) AS (" \
"SELECT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid" \
" FROM dependents d JOIN stays s ON " IS_SAME("s", "d")

/*
 * More of these in a copy: partitions with rows that are not planned, which
 * go with their table.
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

#endif							/* CLEAN_QUERY_H */
