/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  A hash of everything but the rows that the text of the rows depends on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_DEFINITION_H
#define PARDUMP_DEFINITION_H

#include "read/heap_reader.h"

/*
 * SHA-256 over all of the catalogs that the text of a range's columns, in
 * their order, depends on: how the table's tuples are taken apart, defaults
 * that columns were added with, the columns' types and all types in these,
 * their output functions, labels of enums, attributes of composite types;
 * with the transaction IDs that wrote the rows of types, so that what was
 * renamed, and back again, differs too.  As the catalogs are now, not as the
 * active snapshot sees them.
 *
 * NULL, and why in *reason, if there is a type whose text depends on more: on
 * the names of other objects, as regclass's does; on settings of the server,
 * as money's; on libraries that can be exchanged, as that of any type does
 * whose output function is not PostgreSQL's own.  Allocates in
 * CurrentMemoryContext.
 */
extern bytea *table_definition(const HeapRange *range, const char **reason);

#endif							/* PARDUMP_DEFINITION_H */
