/*
 * trust.h
 *		Whose functions may run in our sessions (doc/security.md).
 */
#ifndef TRUST_H
#define TRUST_H

/*
 * Superusers and the role that connected, to follow WITH: in spite of --role,
 * a function can go back to that.
 */
#define TRUSTED_SQL \
"trusted (oid) AS (SELECT r.oid FROM pg_catalog.pg_roles r" \
" WHERE r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) session_user)"

#endif							/* TRUST_H */
