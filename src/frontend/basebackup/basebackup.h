/*
 * basebackup.h
 *		A base backup of a running cluster, by many connections.
 */
#ifndef BASEBACKUP_H
#define BASEBACKUP_H

#include "options/options.h"

/* Take it.  Returns the exit status; exits with a message if it fails. */
extern int	basebackup_take(const Options *options, const char *argv0);

#endif							/* BASEBACKUP_H */
