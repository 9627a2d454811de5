/*
 * compare_sequence.h
 *		Makes sure that the target's sequences are where the source's were.
 */
#ifndef COMPARE_SEQUENCE_H
#define COMPARE_SEQUENCE_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

#include "toc/toc.h"

/*
 * Compare the positions of sequences with those of the TOC: a sequence has
 * none in a snapshot.  Each difference is an error message; returns how many
 * there are.
 */
extern int	compare_sequences(PGconn *target_conn, const Toc *toc);

#endif							/* COMPARE_SEQUENCE_H */
