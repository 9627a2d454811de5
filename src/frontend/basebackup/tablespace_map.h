/*
 * tablespace_map.h
 *		The file tablespace_map of a backup in tar format: a line of OID and
 *		location for each tablespace, by which the server makes its link.
 */
#ifndef TABLESPACE_MAP_H
#define TABLESPACE_MAP_H

#include "pqexpbuffer.h"

typedef struct MappedTablespace
{
	Oid			oid;
	char	   *location;
} MappedTablespace;

typedef struct TablespaceMap
{
	int			n_tablespaces;
	MappedTablespace *tablespaces;
	PQExpBuffer text;			/* the bytes of the file; owned */
} TablespaceMap;

/*
 * Read the file; without tablespaces and text if it is not there.  Exits with
 * a message on any other failure.
 */
extern TablespaceMap *tablespace_map_read(const char *path);

/* Append the line of a tablespace. */
extern void tablespace_map_append(PQExpBuffer text, Oid oid,
								  const char *location);

/* Write the file again, with the locations that the tablespaces have now. */
extern void tablespace_map_write(TablespaceMap *map, const char *path);

#endif							/* TABLESPACE_MAP_H */
