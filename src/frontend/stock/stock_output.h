/*
 * stock_output.h
 *		What stock pg_restore writes to its standard output.
 */
#ifndef STOCK_OUTPUT_H
#define STOCK_OUTPUT_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

/*
 * Run pg_restore, which connects to nothing, with these arguments (NULL
 * terminated, the program first), and append all that it writes to text.  If
 * it fails its own words are shown, and the process ends with its exit code.
 */
extern void stock_output_read(const char **args, PQExpBuffer text);

#endif							/* STOCK_OUTPUT_H */
