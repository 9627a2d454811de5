/*-------------------------------------------------------------------------
 *
 * raw_type.h
 *	  Which types' values mean the same on every server, as they are stored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RAW_TYPE_H
#define PARDUMP_RAW_TYPE_H

#include "postgres.h"

#include "access/tupdesc.h"

/*
 * Why values of the type cannot be taken as they are stored: half a sentence,
 * not to be freed; NULL if they can.
 */
extern const char *raw_type_reason(Oid type_id);

/* The first column that has such a type, and why: NULL if there is none. */
extern const char *raw_columns_reason(TupleDesc columns);

#endif							/* PARDUMP_RAW_TYPE_H */
