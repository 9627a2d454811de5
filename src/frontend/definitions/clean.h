/*
 * clean.h
 *		Drops what --clean drops.
 */
#ifndef CLEAN_H
#define CLEAN_H

#include "target/restore_stage.h"

/*
 * Stock pg_restore drops what is going to be made, in the opposite order of
 * the archive, and it is on the target's disk.  Nothing without --clean, or
 * if the database is new.
 *
 * A copy drops all in one transaction where the lock table has room, and an
 * error ends the process; no transaction can drop subscriptions, which are
 * dropped before.  Otherwise errors are shown, and end a restore with
 * --exit-on-error; else what could not be dropped cannot be made either.
 */
extern void clean_drop(RestoreStages *stages);

#endif							/* CLEAN_H */
