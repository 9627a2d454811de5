/*-------------------------------------------------------------------------
 *
 * packed_varlena.h
 *	  Access to a varlena value as it stands in a tuple, without a call unless
 *	  it is compressed or out of line.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PACKED_VARLENA_H
#define PARDUMP_PACKED_VARLENA_H

#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "fmgr.h"

/*
 * The value with a short or a plain header, to be read with VARDATA_ANY() and
 * VARSIZE_ANY_EXHDR(), which may be unaligned.  A new copy only if the value
 * was compressed or out of line; packed_varlena_release() frees it.
 */
static inline struct varlena *
packed_varlena(Datum value)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(stored) || VARATT_IS_EXTERNAL(stored)))
		return pg_detoast_datum_packed(stored);
	return stored;
}

static inline void
packed_varlena_release(struct varlena *packed, Datum value)
{
	if (unlikely((Pointer) packed != DatumGetPointer(value)))
		pfree(packed);
}

#endif							/* PARDUMP_PACKED_VARLENA_H */
