/*
 * tablespace_map.h
 *		Reads and writes tablespace_map, the file of a backup in tar format
 *		that contains the locations of tablespaces.
 *
 * Each line consists of an OID and a location.  When the server starts, it
 * makes the links of the tablespaces from these lines.
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
	PQExpBuffer text;			/* contents of the file; owned */
} TablespaceMap;

/*
 * Read the file.  If it does not exist, the result has neither tablespaces
 * nor text.  Exits with a message on any other failure.
 */
extern TablespaceMap *tablespace_map_read(const char *path);

/* Append the line of a tablespace. */
extern void tablespace_map_append(PQExpBuffer text, Oid oid,
								  const char *location);

/* Write the file again, with the current locations of the tablespaces. */
extern void tablespace_map_write(TablespaceMap *map, const char *path);

#endif							/* TABLESPACE_MAP_H */
