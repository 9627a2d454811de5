/*
 * table_name.h
 *		Finds a table by its name, whether or not the role has privileges on
 *		it.
 */
#ifndef TABLE_NAME_H
#define TABLE_NAME_H

/*
 * In a query: the OID of the table or index that this expression, of type
 * text, names with its schema, quoted where that is needed; NULL if there is
 * none.  to_regclass() would be an error if the role has no USAGE on the
 * schema, where COPY, ANALYZE and ALTER TABLE are to tell of it, each of its
 * own table.
 */
#define TABLE_OID_OF(name) \
"(SELECT its_class.oid FROM pg_catalog.pg_class its_class" \
" JOIN pg_catalog.pg_namespace its_schema" \
" ON its_schema.oid OPERATOR(pg_catalog.=) its_class.relnamespace" \
" WHERE its_schema.nspname OPERATOR(pg_catalog.=)" \
" (pg_catalog.parse_ident(" name "))[1]::pg_catalog.name" \
" AND its_class.relname OPERATOR(pg_catalog.=)" \
" (pg_catalog.parse_ident(" name "))[2]::pg_catalog.name)"

#endif							/* TABLE_NAME_H */
