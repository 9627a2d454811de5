/*
 * manifest_name.h
 *		A table's name, as a manifest or a table of contents tells it.
 */
#ifndef MANIFEST_NAME_H
#define MANIFEST_NAME_H

#include "base/fe_compat.h"

/*
 * The name of a table as SQL has it, for people; NULL stands for nothing.
 * Bytes may be wrong in any encoding.  Owned.
 */
extern char *manifest_name_table(const char *schema, const char *table);

#endif							/* MANIFEST_NAME_H */
