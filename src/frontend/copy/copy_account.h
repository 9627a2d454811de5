/*
 * copy_account.h
 *		In which formats a copy's tables went, and why.
 */
#ifndef COPY_ACCOUNT_H
#define COPY_ACCOUNT_H

#include "copy/copy_format.h"
#include "status/run.h"

/*
 * How many tables were copied in which format, and why in none that takes
 * less work, as a text; NULL if there are no tables.  Owned.
 */
extern char *copy_account_formats(const Run *run, const CopyFormats *formats);

#endif							/* COPY_ACCOUNT_H */
