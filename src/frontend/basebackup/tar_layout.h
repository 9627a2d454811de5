/*
 * tar_layout.h
 *		A base backup as tar files: base.tar, and OID.tar for each tablespace,
 *		as pg_basebackup -Ft makes them, compressed if asked.
 *
 * A file begins with its directories, a piece that the leader writes.  Those
 * of the workers follow in the order of the plan, each a frame of its own.
 * The last one of base.tar is the leader's again: what was known at the
 * backup's end only, and pg_control behind all, so that no server can be
 * started of what was cut off.
 */
#ifndef TAR_LAYOUT_H
#define TAR_LAYOUT_H

#include "basebackup/backup_layout.h"

extern const BackupForm tar_form;

#endif							/* TAR_LAYOUT_H */
