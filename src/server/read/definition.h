/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Computes a hash of everything, apart from the rows, on which the text of
 *	  a table's rows depends.
 *
 * function/read_function.c calls this.  An incremental dump reuses a file of
 * the previous archive only if the definition of the table is still the same,
 * and the rows are (fingerprint.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DEFINITION_H
#define PARDUMP_DEFINITION_H

#include "read/heap_reader.h"

/*
 * Return a SHA-256 hash of all catalog contents on which the text of a
 * range's columns, in their order, depends: the layout of the table's tuples,
 * the defaults with which columns were added, the types of the columns and
 * all types that these consist of, their output functions, labels of enums,
 * and attributes of composite types.  The hash includes the transaction IDs
 * that wrote the rows of types, so it also changes if a type was renamed and
 * renamed back.  The catalogs are read in their current state, and not as the
 * active snapshot sees them.
 *
 * Returns NULL, and sets *reason, if the text of a type depends on more: on
 * names of other objects, as that of regclass; on settings of the server, as
 * that of money; or on a library that can be replaced, as that of each type
 * whose output function is not PostgreSQL's own.  Allocates in
 * CurrentMemoryContext.
 */
extern bytea *table_definition(const HeapRange *range, const char **reason);

#endif							/* PARDUMP_DEFINITION_H */
