/*
 * clean_query.h
 *		Which objects of the target --clean drops, in SQL.
 *
 * Each of these begins a query, in a CTE that the query closes.
 */
#ifndef CLEAN_QUERY_H
#define CLEAN_QUERY_H

/*
 * The names as an archive has them (the tags that pg_dump gives its entries),
 * of all objects that a database has more than the system's.
 */
#define OIDS_OF_USERS "OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid"

#define IN_SCHEMA(catalog, schema, name) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, x." name "::pg_catalog.text" \
" FROM pg_catalog." catalog " x" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x." schema \
" WHERE x.oid " OIDS_OF_USERS

#define OF_TABLE(catalog, table, name) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text," \
" pg_catalog.concat(c.relname, ' ', x." name ")" \
" FROM pg_catalog." catalog " x" \
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x." table \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace" \
" WHERE x.oid " OIDS_OF_USERS

#define WITHOUT_SCHEMA(catalog, name) \
" UNION ALL SELECT 'pg_catalog." catalog "'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, x." name "::pg_catalog.text" \
" FROM pg_catalog." catalog " x"

#define FUNCTIONS \
" UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid," \
" n.nspname::pg_catalog.text," \
" pg_catalog.concat(p.proname, '('," \
" COALESCE((SELECT pg_catalog.string_agg(pg_catalog.format_type(a.type, NULL), ', ' ORDER BY a.no)" \
" FROM pg_catalog.unnest(p.proargtypes::pg_catalog.oid[]) WITH ORDINALITY a (type, no))," \
" CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_aggregate g" \
" WHERE g.aggfnoid::pg_catalog.oid OPERATOR(pg_catalog.=) p.oid) THEN '*' ELSE '' END), ')')" \
" FROM pg_catalog.pg_proc p" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace" \
" WHERE p.oid " OIDS_OF_USERS

#define OTHERS \
" UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, pg_catalog.concat(y.typname, ' ', x.conname)" \
" FROM pg_catalog.pg_constraint x" \
" JOIN pg_catalog.pg_type y ON y.oid OPERATOR(pg_catalog.=) x.contypid" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) y.typnamespace" \
" UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, x.oid," \
" n.nspname::pg_catalog.text, pg_catalog.concat(c.relname, ' ', a.attname)" \
" FROM pg_catalog.pg_attrdef x" \
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) x.adrelid" \
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) x.adrelid" \
" AND a.attnum OPERATOR(pg_catalog.=) x.adnum" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace" \
" UNION ALL SELECT 'pg_catalog.pg_cast'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, pg_catalog.concat('CAST ('," \
" pg_catalog.format_type(x.castsource, NULL), ' AS '," \
" pg_catalog.format_type(x.casttarget, NULL), ')')" \
" FROM pg_catalog.pg_cast x WHERE x.oid " OIDS_OF_USERS \
" UNION ALL SELECT 'pg_catalog.pg_transform'::pg_catalog.regclass, x.oid," \
" ''::pg_catalog.text, pg_catalog.concat('TRANSFORM FOR '," \
" pg_catalog.format_type(x.trftype, NULL), ' LANGUAGE '," \
" pg_catalog.quote_ident(l.lanname::pg_catalog.text))" \
" FROM pg_catalog.pg_transform x" \
" JOIN pg_catalog.pg_language l ON l.oid OPERATOR(pg_catalog.=) x.trflang" \
" UNION ALL SELECT 'pg_catalog.pg_user_mapping'::pg_catalog.regclass, x.umid," \
" ''::pg_catalog.text, pg_catalog.concat('USER MAPPING ', x.usename," \
" ' SERVER ', x.srvname) FROM pg_catalog.pg_user_mappings x"

/*
 * planned is the entries, from three arrays of equal length: catalog, schema
 * and tag.  planned_objects is what the target has of them.
 */
#define PLANNED \
"WITH RECURSIVE planned (catalog, schema, tag) AS (" \
"SELECT pg_catalog.concat('pg_catalog.', t.catalog)::pg_catalog.regclass," \
" t.schema, t.tag" \
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[])," \
" pg_catalog.unnest($2::pg_catalog.text[])," \
" pg_catalog.unnest($3::pg_catalog.text[])) t (catalog, schema, tag)" \
"), objects (classid, objid, schema, tag) AS (" \
"SELECT NULL::pg_catalog.regclass, NULL::pg_catalog.oid," \
" NULL::pg_catalog.text, NULL::pg_catalog.text WHERE false" \
IN_SCHEMA("pg_class", "relnamespace", "relname") \
IN_SCHEMA("pg_collation", "collnamespace", "collname") \
IN_SCHEMA("pg_conversion", "connamespace", "conname") \
IN_SCHEMA("pg_opclass", "opcnamespace", "opcname") \
IN_SCHEMA("pg_operator", "oprnamespace", "oprname") \
IN_SCHEMA("pg_opfamily", "opfnamespace", "opfname") \
IN_SCHEMA("pg_ts_config", "cfgnamespace", "cfgname") \
IN_SCHEMA("pg_ts_dict", "dictnamespace", "dictname") \
IN_SCHEMA("pg_ts_parser", "prsnamespace", "prsname") \
IN_SCHEMA("pg_ts_template", "tmplnamespace", "tmplname") \
IN_SCHEMA("pg_type", "typnamespace", "typname") \
OF_TABLE("pg_constraint", "conrelid", "conname") \
OF_TABLE("pg_policy", "polrelid", "polname") \
OF_TABLE("pg_rewrite", "ev_class", "rulename") \
OF_TABLE("pg_trigger", "tgrelid", "tgname") \
WITHOUT_SCHEMA("pg_am", "amname") \
WITHOUT_SCHEMA("pg_event_trigger", "evtname") \
WITHOUT_SCHEMA("pg_extension", "extname") \
WITHOUT_SCHEMA("pg_foreign_data_wrapper", "fdwname") \
WITHOUT_SCHEMA("pg_foreign_server", "srvname") \
WITHOUT_SCHEMA("pg_language", "lanname") \
WITHOUT_SCHEMA("pg_namespace", "nspname") \
FUNCTIONS OTHERS \
"), planned_objects (classid, objid) AS (" \
"SELECT DISTINCT o.classid::pg_catalog.oid, o.objid FROM objects o JOIN planned p" \
" ON p.catalog OPERATOR(pg_catalog.=) o.classid" \
" AND p.schema OPERATOR(pg_catalog.=) o.schema" \
" AND p.tag OPERATOR(pg_catalog.=) o.tag"

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

/* All that is dropped: these objects, and what belongs to them. */
#define DROPPED PLANNED \
"), dropped (classid, objid) AS (" \
"SELECT classid, objid FROM planned_objects" \
" UNION SELECT d.classid, d.objid FROM dropped s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") " AND " GOES_ALONG("d")

/*
 * What depends on them and stays.  An operator that exists only because
 * another one names it as its commutator or negator is left to the DROP
 * statements: no archive has such an operator, and a base type, which is
 * dropped with CASCADE, takes it along.
 */
#define KEEPERS DROPPED \
"), dependents (classid, objid, objsubid, refclassid, refobjid) AS (" \
"SELECT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid FROM dropped s" \
" JOIN pg_catalog.pg_depend d ON " DEPENDS("d", "s") \
" AND d.deptype OPERATOR(pg_catalog.=) 'n'::pg_catalog.\"char\"" \
"), stays (classid, objid) AS (" \
"SELECT a.classid, a.objid FROM (" \
"SELECT classid, objid, false FROM dependents" \
" UNION ALL SELECT classid, objid, true FROM dropped" \
" UNION ALL SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass, o.oid, true" \
" FROM pg_catalog.pg_operator o" \
" WHERE o.oprcode::pg_catalog.oid OPERATOR(pg_catalog.=) 0::pg_catalog.oid" \
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
