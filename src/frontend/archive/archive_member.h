/*
 * archive_member.h
 *		The data of an entry of an archive's table of contents, as they were
 *		before compression.
 *
 *		member = archive_member_open(archive, entry, &problem);
 *		while ((n = archive_member_read(member, buf, size)) > 0)
 *			... n bytes at buf ...
 *		if (n < 0) ... archive_member_error(member) ...
 *
 * An archive may be damaged, or made to deceive: data are whole, or there is
 * an error; memory is bounded, even if they claim to be large.  Any process
 * may open any member.
 */
#ifndef ARCHIVE_MEMBER_H
#define ARCHIVE_MEMBER_H

#include "archive/archive_open.h"

typedef struct ArchiveMember ArchiveMember;

/*
 * Of an entry with data that are not large objects, for which see below.
 * NULL, and *problem, an owned sentence, if there are none.
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
 * Read "size" bytes, or all, into memory, from where they are the next that
 * archive_member_read() has.  True if that is all there is to read, an error
 * at its end included.
 */
extern bool archive_member_read_ahead(ArchiveMember *member, size_t size);

/*
 * Write all rows that it has to the sink, without the mark that ends them,
 * and do not finish that; but stop when *stop is not NULL any more.  What is
 * wrong with them, or NULL; owned.
 */
extern char *archive_member_send_rows(ArchiveMember *member, Sink *sink,
									  char *const *stop);

/* What is wrong, as a sentence; owned. */
extern char *archive_member_error(const ArchiveMember *member);

/* How much has been read as it is stored. */
extern uint64 archive_member_stored_bytes(const ArchiveMember *member);

/* Close and free it, wherever it is. */
extern void archive_member_close(ArchiveMember *member);

/* ----------
 * The large objects of an entry, one after the other.
 *
 * objects = archive_objects_open(archive, entry, &problem);
 * while (archive_objects_next(objects, &oid))
 * while ((n = archive_objects_read(objects, buf, size)) > 0)
 * ... n bytes of object oid at buf ...
 * if (archive_objects_error(objects)) ...
 *
 * An entry BLOBS has some or all of them: in a directory as a list and a file
 * for each, in a custom archive as one block.  What is not read is passed
 * over without being decompressed.
 * ----------
 */

typedef struct ArchiveObjects ArchiveObjects;

/* NULL, and *problem, an owned sentence, if they are not there. */
extern ArchiveObjects *archive_objects_open(const Archive *archive,
											const TocEntry *entry,
											char **problem);

/* The next one; false after the last, or with an error. */
extern bool archive_objects_next(ArchiveObjects *objects, Oid *oid);

/*
 * Where the one that was returned last is, for another process that is to
 * begin with it.
 */
extern uint64 archive_objects_position(const ArchiveObjects *objects);

/*
 * Open the entry at such a position, to read the objects with these OIDs,
 * which follow each other in it.  To pass over all objects before them, once
 * for each of many processes that share an entry, would take too long.  The
 * OIDs are borrowed: they name files that commands return, so that only the
 * leader reads the list.
 */
extern ArchiveObjects *archive_objects_open_some(const Archive *archive,
												 const TocEntry *entry,
												 uint64 position,
												 const Oid *oids, int n_oids,
												 char **problem);

/*
 * Some bytes of that one into buf: how many, 0 when all have been read and
 * were whole, -1 for an error.
 */
extern ssize_t archive_objects_read(ArchiveObjects *objects, void *buf,
									size_t size);

/* What is wrong, as a sentence, owned; NULL if nothing has been yet. */
extern char *archive_objects_error(const ArchiveObjects *objects);

/*
 * Has a command not returned the object that is being read?  Then read it
 * again from its beginning.
 */
extern bool archive_objects_is_unread(const ArchiveObjects *objects);
extern void archive_objects_reopen(ArchiveObjects *objects);

/*
 * Commands have returned these OIDs as the list of an entry, for which there
 * is no checksum: what is wrong with them, or NULL; owned.  No list is empty,
 * as pg_dump makes an entry only for objects.  Which objects there are is
 * compared with toc.dat, unless that does not contain them.  by_id is the
 * result of toc_entries_by_id().
 */
extern char *archive_objects_check_list(const Archive *archive,
										const TocEntry **by_id,
										const TocEntry *entry,
										const Oid *oids, int n);

/* Close and free it, wherever it is. */
extern void archive_objects_close(ArchiveObjects *objects);

#endif							/* ARCHIVE_MEMBER_H */
