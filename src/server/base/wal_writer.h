/*-------------------------------------------------------------------------
 *
 * wal_writer.h
 *	  Wakes the server's WAL writer up while a statement writes much WAL.
 *
 * WAL records are stored in shared buffers first (wal_buffers, by default up
 * to 16 MB).  If all of them are full, a session must write some to the file
 * before it can store its next record, a few blocks at a time, and the other
 * sessions wait meanwhile.  The WAL writer would do this in time, but it
 * sleeps for wal_writer_delay (200 ms), in which a load fills the buffers
 * many times.  So a load wakes it up each time that a quarter of the buffers
 * has been filled.  A commit with synchronous_commit = off does the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_WAL_WRITER_H
#define PARDUMP_WAL_WRITER_H

#include "access/xlog.h"

/*
 * Wake the WAL writer up if much WAL was written since the last call that did
 * so, by any session.  To be called after WAL records have been stored.
 */
static inline void
wal_writer_wake(void)
{
	static XLogRecPtr last_woken = 0;

	if (XactLastRecEnd >= last_woken + (uint64) XLOGbuffers * XLOG_BLCKSZ / 4)
	{
		last_woken = XactLastRecEnd;
		XLogSetAsyncXactLSN(last_woken);
	}
}

#endif							/* PARDUMP_WAL_WRITER_H */
