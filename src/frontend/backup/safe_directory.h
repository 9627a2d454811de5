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

#endif							/* SAFE_DIRECTORY_H */
