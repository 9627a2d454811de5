/*
 * attributes.h
 *		Restores the attributes of extracted files, as tar does: modification
 *		time, permissions and, if root extracts, the owner.
 *
 * Several processes write a file, each its own parts.  Each sets the time
 * after its write, so the last one sets it after all writes.  Attributes that
 * writing later files would change, such as the time of a directory, or that
 * would prevent later writes, such as a read-only mode, are noted, and set
 * after all files.
 */
#ifndef ATTRIBUTES_H
#define ATTRIBUTES_H

#include "extract/tar_reader.h"

typedef struct Attributes Attributes;

/*
 * Make an empty list, in memory that is shared with processes forked later.
 */
extern Attributes *attributes_new(void);

/*
 * The permissions with which a member is created, if the umask allows them.
 */
extern mode_t attributes_first_mode(const TarMember *member);

/*
 * Set the attributes of an open file after it was written to.  Exits with a
 * message on failure; path is only for that message.
 */
extern void attributes_set(int fd, const char *path, const TarMember *member);

/*
 * Note a member of the archive that is extracted to this directory, if some
 * of its attributes must wait for the end.  Processes must take turns to call
 * this.  The pointer to the directory's name is kept.
 */
extern void attributes_note(Attributes *attributes, const char *directory,
							const TarMember *member);

/*
 * Is this path a directory that was noted for another archive than the one
 * that is extracted to this directory?
 */
extern bool attributes_is_of_other(const Attributes *attributes,
								   const char *directory, const char *path);

/*
 * If root runs the program: give a file or directory that is not in an
 * archive the owner of the archive's first member.  Call this before the
 * parent directory gets its owner from attributes_set_noted().
 */
extern void attributes_adopt(const Attributes *attributes, const char *path);

/*
 * After all files were written: set the attributes that were noted last, as
 * far as they belong to this directory, or all that remain if directory is
 * NULL.  The contents of a directory come before the directory.  Exits with a
 * message on failure.
 */
extern void attributes_set_noted(Attributes *attributes, const char *directory);

#endif							/* ATTRIBUTES_H */
