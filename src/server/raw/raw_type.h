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
 * The first column whose values cannot be taken as they are stored, and why:
 * half a sentence; NULL if there is none.
 */
extern const char *raw_columns_reason(TupleDesc columns);

#endif							/* PARDUMP_RAW_TYPE_H */
