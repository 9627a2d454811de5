/*
 * job_log_schema.h
 *		The schema on the target in which everything of a log is.
 */
#ifndef JOB_LOG_SCHEMA_H
#define JOB_LOG_SCHEMA_H

#define JOB_LOG_SCHEMA "pardump_restore"

/*
 * Is there a log, is all that its schema has this role's, is all of it there,
 * and may the role make one?  One row.
 */
#define JOB_LOG_LOOK_QUERY \
"SELECT n.oid IS NOT NULL, u.oid OPERATOR(pg_catalog.=) n.nspowner" \
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c" \
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid" \
" AND c.relowner OPERATOR(pg_catalog.<>) u.oid)," \
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c" \
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid" \
" AND ((c.relname OPERATOR(pg_catalog.=) ANY ('{run,done,no_crash}'::pg_catalog.name[])" \
" AND c.relkind OPERATOR(pg_catalog.=) 'r')" \
" OR (c.relname OPERATOR(pg_catalog.=) 'running'" \
" AND c.relkind OPERATOR(pg_catalog.=) 'v'))) OPERATOR(pg_catalog.=) 4," \
" pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')" \
" FROM pg_catalog.pg_roles u LEFT JOIN pg_catalog.pg_namespace n" \
" ON n.nspname OPERATOR(pg_catalog.=) '" JOB_LOG_SCHEMA "'" \
" WHERE u.rolname OPERATOR(pg_catalog.=) CURRENT_USER"

enum
{
	JOB_LOG_EXISTS,
	JOB_LOG_IS_OWN,
	JOB_LOG_IS_COMPLETE,
	JOB_LOG_MAY_MAKE
};

#endif							/* JOB_LOG_SCHEMA_H */
