/*
 * compare_objects.h
 *		Sums of large objects that do not depend on where they are stored.
 */
#ifndef COMPARE_OBJECTS_H
#define COMPARE_OBJECTS_H

#include "libpq-fe.h"

#include "archive/archive_open.h"
#include "plan/archive_plan.h"

typedef struct ObjectSum
{
	uint64		objects;
	uint64		bytes;
	uint64		sum;			/* of a hash of each */
} ObjectSum;

/*
 * Of a group, as the server has it.  Exits with a message if it cannot be
 * read.
 */
extern ObjectSum compare_objects_of_server(PGconn *conn,
										   const LargeObjectGroup *group,
										   uint64 seed);

/* Likewise, as an archive has it. */
extern ObjectSum compare_objects_of_archive(const Archive *archive,
											const ArchiveGroup *where,
											const LargeObjectGroup *group,
											uint64 seed);

#endif							/* COMPARE_OBJECTS_H */
