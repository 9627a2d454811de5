/*
 * archive_objects.h
 *		The large objects of an entry, one after the other.
 *
 *		objects = archive_objects_open(archive, entry, &problem);
 *		while (archive_objects_next(objects, &oid))
 *			while ((n = archive_objects_read(objects, buf, size)) > 0)
 *				... n bytes of object oid at buf ...
 *		if (archive_objects_error(objects)) ...
 *
 * An entry BLOBS has some or all of them: in a directory as a list and a file
 * for each, in a custom archive as one block.  What is not read is passed
 * over without being decompressed.
 */
#ifndef ARCHIVE_OBJECTS_H
#define ARCHIVE_OBJECTS_H

#include "archive/archive_open.h"

typedef struct ArchiveObjects ArchiveObjects;

/* NULL, and *problem, an owned sentence, if they are not there. */
extern ArchiveObjects *archive_objects_open(const Archive *archive,
											const TocEntry *entry,
											char **problem);

/* The next one; false after the last, or with an error. */
extern bool archive_objects_next(ArchiveObjects *objects, Oid *oid);

/*
 * Where the one that was returned last is, for another process that is to
 * begin with it: there, right after the opening, that becomes the next one.
 * To pass over all those before it, once for each of many that share an
 * entry, would take too long.
 */
extern uint64 archive_objects_position(const ArchiveObjects *objects);
extern void archive_objects_seek(ArchiveObjects *objects, uint64 position);

/*
 * Some bytes of that one into buf: how many, 0 when all have been read and
 * were whole, -1 for an error.
 */
extern ssize_t archive_objects_read(ArchiveObjects *objects, void *buf,
									size_t size);

/* What is wrong, as a sentence, owned; NULL if nothing has been yet. */
extern char *archive_objects_error(const ArchiveObjects *objects);

/* Close and free it, wherever it is. */
extern void archive_objects_close(ArchiveObjects *objects);

#endif							/* ARCHIVE_OBJECTS_H */
