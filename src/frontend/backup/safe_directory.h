/*
 * safe_directory.h
 *		Refuses directories in which other users could redirect root.
 */
#ifndef SAFE_DIRECTORY_H
#define SAFE_DIRECTORY_H

#include "base/fe_compat.h"

/*
 * If root runs the program, exit with a message unless the directory, which
 * need not exist, and all directories above it belong to root, and no other
 * user can write to them, except to sticky directories above it.  The names
 * and bytes of a backup come from a server or an archive, and root would
 * write them wherever a link of another user leads.
 */
extern void safe_directory_check(const char *path);

/*
 * The same of a directory that is open: does its path lead to it, still?  In
 * a sticky directory another user may have put a link where there was nothing
 * at the first check, and removed it when the directory was open.  Once this
 * is true only root can change where the path leads.  Always true if
 * root does not run the program.
 */
extern bool safe_directory_is(const char *path, int fd);

#endif							/* SAFE_DIRECTORY_H */
