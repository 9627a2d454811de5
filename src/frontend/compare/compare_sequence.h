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

/*
 * The same of two tables of contents, with what the sides are called; tell is
 * called for each difference, with a sentence.  Of what only the second has
 * entries count that are chosen; all if that is NULL.  Returns how many there
 * are; *n is the number of sequences that were compared.
 */
extern int	compare_sequences_of_tocs(const Toc *const tocs[2],
									  const char *const names[2],
									  const bool *chosen, int *n,
									  void (*tell) (const char *what));

#endif							/* COMPARE_SEQUENCE_H */
