/*
 * toast_compression.h
 *		--toast-compression: how the target compresses long values.
 *
 * The method is given as the setting default_toast_compression has it.  It is
 * for columns that have none of their own.  "default", or NULL, leaves it as
 * the target's sessions have it.
 */
#ifndef TOAST_COMPRESSION_H
#define TOAST_COMPRESSION_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * Tell of an error if the target has no such method.  For findings_report()
 * to end the run.
 */
extern void toast_compression_check(PGconn *conn, const char *method);

/* From now on rows of this session are compressed by it. */
extern void toast_compression_set(PGconn *conn, const char *method);

#endif							/* TOAST_COMPRESSION_H */
