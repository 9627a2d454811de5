/*
 * attributes.h
 *		Restores the attributes of extracted files, as tar does: modification
 *		time, permissions, and the owner if root extracts.
 *
 * Many processes write a file, each its parts.  Each sets the time after its
 * write, so the last of them sets it after all writes.  Attributes that later
 * files would change, such as the time of a directory, or that would prevent
 * later writes, such as a read-only mode, are noted, and set after all files.
 */
#ifndef ATTRIBUTES_H
#define ATTRIBUTES_H

#include "extract/tar_reader.h"

typedef struct Attributes Attributes;

/* Shared with all processes that are forked later. */
extern Attributes *attributes_new(void);

/* With which permissions it is created, under any umask that allows them. */
extern mode_t attributes_first_mode(const TarMember *member);

/*
 * Set those of a file that is open and has been written to.  Exits with a
 * message on failure; path is for that.
 */
extern void attributes_set(int fd, const char *path, const TarMember *member);

/*
 * Note a member that is below this directory, if some of its attributes must
 * wait for the end.  Processes must take turns to call it.  The directory's
 * name is kept.
 */
extern void attributes_note(Attributes *attributes, const char *directory,
							const TarMember *member);

/*
 * Is this path a directory that was noted of another archive than the one
 * which is extracted to this directory?
 */
extern bool attributes_is_of_other(const Attributes *attributes,
								   const char *directory, const char *path);

/*
 * If we are root: what is not in an archive, a file or a directory, belongs
 * to whom the archive's first member belongs to.  Before what it is in was
 * given away by attributes_set_noted().
 */
extern void attributes_adopt(const Attributes *attributes, const char *path);

/*
 * All is there: set what was noted last, as far as it is below this
 * directory, or all that is left if that is NULL; what is in a directory
 * before the directory.  Exits with a message on failure.
 */
extern void attributes_set_noted(Attributes *attributes, const char *directory);

#endif							/* ATTRIBUTES_H */
