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
#include "stream/decompress.h"
#include "stream/sink.h"

typedef struct ArchiveMember ArchiveMember;

/*
 * Of an entry with data that are not large objects, which archive_objects.h
 * has.  NULL, and *problem, an owned sentence, if there are none.
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

/*
 * A reader of the block of an entry in the custom format, which must be of
 * this type; NULL, and *problem, an owned sentence, if it is not there.
 */
extern CustomBlocks *archive_member_block(const Archive *archive,
										  const TocEntry *entry,
										  CustomBlockType type,
										  char **problem);

#endif							/* ARCHIVE_MEMBER_H */
