/*
 * entry_names.h
 *		The names of a cluster's objects in statements of pg_dump.
 */
#ifndef ENTRY_NAMES_H
#define ENTRY_NAMES_H

#include "base/fe_compat.h"

#include "fe_utils/simple_list.h"

#include "toc/toc.h"

/*
 * Add to the list, each once, the roles that an entry's statement names: whom
 * privileges are granted to, taken from, or granted by, whom a policy or a
 * user mapping is for, and whose settings in the database these are.  Not the
 * owner.
 */
extern void entry_names_roles(const TocEntry *entry, SimpleStringList *roles);

/* Likewise the tablespaces: of a database; those of others are a field. */
extern void entry_names_tablespaces(const TocEntry *entry,
									SimpleStringList *tablespaces);

/* Add a name, unless it is there. */
extern void entry_names_add(SimpleStringList *list, const char *name);

#endif							/* ENTRY_NAMES_H */
