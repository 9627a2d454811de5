/*-------------------------------------------------------------------------
 *
 * read_fingerprint.h
 *	  Fingerprints of what pg_pardump_read() reads, if the session wants them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_READ_FINGERPRINT_H
#define PARDUMP_READ_FINGERPRINT_H

#include "postgres.h"

#include "function/range_argument.h"
#include "read/chunk_reader.h"

typedef struct ReadFingerprint ReadFingerprint;

/* What pg_pardump_last_fingerprint() tells is not that of an earlier read. */
extern void read_fingerprint_forget(void);

/*
 * A new fingerprint, of no rows yet, for a read as text, with the definition
 * of now: to be called before anything is learned of the columns' types.
 * NULL, and none will be told, if the session has given no key, the columns
 * have no definition, or the current user may read some columns only.
 * Allocates in CurrentMemoryContext, which must live as long as the reader.
 */
extern ReadFingerprint *read_fingerprint_begin(const RangeArgument *range);

/* Have the reader add its rows; before the first of them. */
extern void read_fingerprint_watch(ReadFingerprint *fingerprint,
								   ChunkReader *reader);

/*
 * All rows were read: keep the fingerprint for pg_pardump_last_fingerprint()
 * and this role, unless the definition has changed since they began, as types
 * may, which are not locked.
 */
extern void read_fingerprint_keep(ReadFingerprint *fingerprint,
								  const RangeArgument *range, Oid role);

#endif							/* PARDUMP_READ_FINGERPRINT_H */
