/*
 * copy_sequence.h
 *		Makes sure that the target's sequences are where the source's were.
 */
#ifndef COPY_SEQUENCE_H
#define COPY_SEQUENCE_H

#include "fe_compat.h"

#include "libpq-fe.h"

#include "toc.h"

/*
 * Compare the positions of sequences with those of the TOC: a sequence has
 * none in a snapshot.  Each difference is an error message; returns how many
 * there are.
 */
extern int	copy_compare_sequences(PGconn *target, const Toc *toc);

#endif							/* COPY_SEQUENCE_H */
