/*
 * object_groups.h
 *		Large objects, of which many are made by one entry.
 *
 * Since 17 an entry, BLOB METADATA, has the OIDs of up to 1000 large objects
 * of the same owner and privileges in the place of a definition, and another
 * one, an ACL, the privileges of the first of them.  Each is taken apart, so
 * that a transaction has few locks; and what pg_restore would send for its
 * objects is written here (pg_backup_db.c: IssueCommandPerBlob,
 * IssueACLPerBlob), but for what they have wrong: a statement that names no
 * object is sent once, as it is.
 */
#ifndef OBJECT_GROUPS_H
#define OBJECT_GROUPS_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "stock/script.h"

/* Large objects of a part at most. */
#define OBJECT_GROUPS_PART 100

/*
 * Put parts in the place of groups, and of their privileges.  toc is the
 * archive's, with all of its entries: what is restored may be the privileges
 * alone.  Exits with a message if the archive is damaged.
 */
extern void object_groups_divide(Script *script, const Toc *toc);

/*
 * Append what an entry sends for large objects, other than its definition and
 * what the script has after that: of a part all of it, and with --clean what
 * drops them first.  Each statement ends with a zero byte; returns how many.
 */
extern int	object_groups_write(const ScriptEntry *entry,
								const Options *options, PQExpBuffer text);

/* Does this statement create a large object? */
extern bool object_groups_creates(const char *statement);

/* Does it concern large objects alone? */
extern bool object_groups_has(const ScriptEntry *entry);

#endif							/* OBJECT_GROUPS_H */
