/*
 * sink_tap.h
 *		Counts what flows by, where other processes see it, and its checksum.
 */
#ifndef SINK_TAP_H
#define SINK_TAP_H

#include "common/checksum_helper.h"

#include "stream/sink.h"

/*
 * next is taken over.  The bytes are added to *counter as they come, and to
 * *checksum unless it is NULL; both are borrowed.
 */
extern Sink *sink_tap_new(Sink *next, volatile uint64 *counter,
						  pg_checksum_context *checksum);

#endif							/* SINK_TAP_H */
