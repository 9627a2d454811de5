/*-------------------------------------------------------------------------
 *
 * network_order.h
 *	  Writes integers in network byte order, as COPY's binary format has them.
 *
 * Each put_...() writes at "p", which need not be aligned, and returns the
 * end of what it wrote.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_NETWORK_ORDER_H
#define PARDUMP_NETWORK_ORDER_H

#include "postgres.h"

#include "port/pg_bswap.h"

static inline char *
put_network_16(char *p, uint16 n)
{
	n = pg_hton16(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

static inline char *
put_network_32(char *p, uint32 n)
{
	n = pg_hton32(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

static inline char *
put_network_64(char *p, uint64 n)
{
	n = pg_hton64(n);
	memcpy(p, &n, sizeof(n));
	return p + sizeof(n);
}

#endif							/* PARDUMP_NETWORK_ORDER_H */
