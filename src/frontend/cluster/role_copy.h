/*
 * role_copy.h
 *		--roles: makes the roles that a database needs on a copy's target.
 */
#ifndef ROLE_COPY_H
#define ROLE_COPY_H

#include "options/options.h"

/*
 * Make the roles that the source's database needs and the target has not:
 * owners, those with privileges, policies, user mappings or settings there,
 * and all that these are members of, with attributes, passwords, settings and
 * memberships, as stock pg_dumpall writes them.  Those that are there stay as
 * they are.  Exits with a message on failure.
 */
extern void role_copy(const Options *options, const char *argv0);

#endif							/* ROLE_COPY_H */
