/*
 * tablespace_mapping.h
 *		-T OLDDIR=NEWDIR: where the tablespaces of a base backup go.
 */
#ifndef TABLESPACE_MAPPING_H
#define TABLESPACE_MAPPING_H

#include "base/fe_compat.h"

#include "fe_utils/simple_list.h"

/*
 * Exit with a message if one is not as pg_basebackup takes it: two absolute
 * paths, with one "=" between them that has no backslash before it.
 */
extern void tablespace_mapping_check(const SimpleStringList *mappings);

/*
 * Where the tablespace of this location, which a server or an archive has
 * named, goes: owned if it is relocated, else the very location.  Exits with
 * a message if root would use that location without -T: the user who owns a
 * directory in the path could lead root elsewhere with a link.
 */
extern const char *tablespace_mapping_place(const SimpleStringList *mappings,
											const char *oid,
											const char *location);

#endif							/* TABLESPACE_MAPPING_H */
