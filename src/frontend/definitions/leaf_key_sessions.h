/*
 * leaf_key_sessions.h
 *		Makes foreign keys of partitions, side by side.
 */
#ifndef LEAF_KEY_SESSIONS_H
#define LEAF_KEY_SESSIONS_H

#include "definitions/leaf_keys.h"
#include "target/target.h"

/*
 * Make them all, in up to so many sessions.  Where one fails, for whatever
 * reason, its table's key is marked, and not gone on with.
 */
extern void leaf_key_sessions_run(const Target *target, LeafKeys *keys,
								  int n_sessions);

#endif							/* LEAF_KEY_SESSIONS_H */
