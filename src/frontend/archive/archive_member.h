/*
 * archive_member.h
 *		Reads the data of an entry of an archive's table of contents, and
 *		decompresses them.
 *
 *		member = archive_member_open(archive, entry, &problem);
 *		while ((n = archive_member_read(member, buf, size)) > 0)
 *			... n bytes at buf ...
 *		if (n < 0) ... archive_member_error(member) ...
 *
 * An archive may be damaged or forged.  Either all data of an entry are read,
 * or there is an error.  Memory is limited, even if the archive claims that
 * the data are large.  Any process may open any member.
 */
#ifndef ARCHIVE_MEMBER_H
#define ARCHIVE_MEMBER_H

#include "archive/archive_open.h"

typedef struct ArchiveMember ArchiveMember;

/*
 * Open an entry with data.  For large objects, see below.  Returns NULL and
 * sets *problem to the cause, owned, if the data cannot be read.
 */
extern ArchiveMember *archive_member_open(const Archive *archive,
										  const TocEntry *entry,
										  char **problem);

/*
 * Some bytes into buf: how many, 0 when all have been read and were whole, -1
 * for an error.
 */
extern ssize_t archive_member_read(ArchiveMember *member, void *buf,
								   size_t size);

/*
 * Read the next "size" bytes into memory, or all if there are fewer.
 * archive_member_read() returns them later.  Returns true if nothing is left
 * to read after them, also because of an error.
 */
extern bool archive_member_read_ahead(ArchiveMember *member, size_t size);

/*
 * Write all rows to the sink, without the mark that ends them.  Does not
 * finish the sink.  Stops early when *stop is not NULL.  Returns an error in
 * the archive as a message, owned, or NULL.
 */
extern char *archive_member_send_rows(ArchiveMember *member, Sink *sink,
									  char *const *stop);

/* The error message if the data of an entry cannot be read; owned. */
extern char *archive_member_unread(const TocEntry *entry);

/* Returns the cause of an error; owned. */
extern char *archive_member_error(const ArchiveMember *member);

/* Returns how many stored bytes were read. */
extern uint64 archive_member_stored_bytes(const ArchiveMember *member);

/* Close the member, at any position, and free it. */
extern void archive_member_close(ArchiveMember *member);

/* ----------
 * The large objects of an entry, one after the other.
 *
 *	objects = archive_objects_open(archive, entry, &problem);
 *	while (archive_objects_next(objects, &oid))
 *		while ((n = archive_objects_read(objects, buf, size)) > 0)
 *			... n bytes of object oid at buf ...
 *	if (archive_objects_error(objects)) ...
 *
 * A BLOBS entry has some or all large objects: in a directory, as a list and
 * a file for each object; in a custom archive, as one block.  Objects that
 * are not read are skipped without being decompressed.
 * ----------
 */

typedef struct ArchiveObjects ArchiveObjects;

/*
 * Returns NULL and sets *problem to the cause, owned, if the objects or their
 * list cannot be read.
 */
extern ArchiveObjects *archive_objects_open(const Archive *archive,
											const TocEntry *entry,
											char **problem);

/*
 * Go to the next object.  Returns false after the last one or after an error.
 */
extern bool archive_objects_next(ArchiveObjects *objects, Oid *oid);

/*
 * Returns the position of the current object, from which another process can
 * begin.
 */
extern uint64 archive_objects_position(const ArchiveObjects *objects);

/*
 * Open the entry at such a position, to read the objects with these OIDs,
 * which follow each other in the entry.  Many processes share an entry, and
 * it would take too long if each of them skipped all objects before its own.
 *
 * If commands return the files, the names of the files result from the OIDs,
 * so that only the leader reads the list.  The OIDs are borrowed.
 */
extern ArchiveObjects *archive_objects_open_some(const Archive *archive,
												 const TocEntry *entry,
												 uint64 position,
												 const Oid *oids, int n_oids,
												 char **problem);

/*
 * Read some bytes of the current object into buf.  Returns their number, 0 if
 * all data were read and are complete, or -1 after an error.
 */
extern ssize_t archive_objects_read(ArchiveObjects *objects, void *buf,
									size_t size);

/*
 * Has a command returned nothing for the current object, which was read to
 * its end, and is there no manifest that contains its size?  Except with
 * gzip, pg_dump stores an empty object as an empty file.  But some commands
 * return nothing for a missing file, too.  So before the object is taken for
 * empty, archive_objects_read() runs the command once more.
 */
extern bool archive_objects_has_no_data(const ArchiveObjects *objects);

/* The error message if large objects of an entry cannot be read; owned. */
extern char *archive_objects_unread(const TocEntry *entry);

/* Returns the cause of an error, owned, or NULL if there was no error. */
extern char *archive_objects_error(const ArchiveObjects *objects);

/*
 * Did a command fail to return the current object?  If so,
 * archive_objects_reopen() lets the next read begin at its beginning again.
 */
extern bool archive_objects_is_unread(const ArchiveObjects *objects);
extern void archive_objects_reopen(ArchiveObjects *objects);

/*
 * Commands have returned these OIDs as the list of an entry, which has no
 * checksum.  Returns the error, owned, or NULL.
 *
 * An empty list is an error, because pg_dump creates such an entry only if
 * there are objects.  The OIDs must be those in toc.dat, if toc.dat contains
 * them.  by_id is the result of toc_entries_by_id().
 */
extern char *archive_objects_check_list(const Archive *archive,
										const TocEntry **by_id,
										const TocEntry *entry,
										const Oid *oids, int n);

/* Close the entry, at any position, and free the reader. */
extern void archive_objects_close(ArchiveObjects *objects);

#endif							/* ARCHIVE_MEMBER_H */
