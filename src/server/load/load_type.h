/*-------------------------------------------------------------------------
 *
 * load_type.h
 *	  What the input of a type may run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_TYPE_H
#define PARDUMP_LOAD_TYPE_H

#include "postgres.h"

/*
 * May the input of the type, of one that it is made of (a domain's base, an
 * array's element, a column of a composite type, the subtype of a range or
 * multirange), or of their constraints, do more than look at the value?  So
 * says the volatility of these functions; that of built-in input functions is
 * not asked.
 */
extern bool load_type_is_volatile(Oid type_id);

#endif							/* PARDUMP_LOAD_TYPE_H */
