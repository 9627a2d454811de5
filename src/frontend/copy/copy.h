/*
 * copy.h
 *		Copies a database straight into another server.
 */
#ifndef COPY_H
#define COPY_H

#include "options/options.h"

/*
 * Do what the options ask for.  Returns when the target has everything; exits
 * with a message, and an account of what the target has, if anything fails.
 */
extern void copy_database(const Options *options, const char *argv0);

#endif							/* COPY_H */
