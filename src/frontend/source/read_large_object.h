/*
 * read_large_object.h
 *		Fetches the contents of large objects from the server.
 */
#ifndef READ_LARGE_OBJECT_H
#define READ_LARGE_OBJECT_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

#include "stream/sink.h"

/* How many objects are read at a time. */
#define LARGE_OBJECT_BATCH 16

/*
 * The first pieces of a batch of objects: one row each.  Exits with a message
 * if the server fails or its connection breaks.  Memory: 16 MiB.
 */
extern PGresult *read_large_objects(PGconn *conn, const Oid *oids, int n_oids);

/*
 * Write the contents of an object to the sink: its first piece, which is that
 * row of a batch, and what more there is of it.
 */
extern void read_large_object(PGconn *conn, const PGresult *batch, int row,
							  Oid oid, Sink *sink);

#endif							/* READ_LARGE_OBJECT_H */
