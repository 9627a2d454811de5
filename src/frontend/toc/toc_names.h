/*
 * toc_names.h
 *		Entries of one kind by the names of their objects, and the tables that
 *		own sequences.
 */
#ifndef TOC_NAMES_H
#define TOC_NAMES_H

#include "toc/toc.h"

typedef struct TocNames TocNames;

/* The entries of a kind (desc) that are in a schema. */
extern TocNames *toc_names_make(const Toc *toc, const char *desc);

/*
 * The number of the entry of this name, qualified and quoted as by
 * fmtQualifiedId(); -1 if there is none.
 */
extern int	toc_names_find(const TocNames *names, const char *name);

extern void toc_names_free(TocNames *names);

/*
 * The table that owns the sequence that the entry is of, if the entry says
 * so: its name as toc_names_find() takes it; else NULL.  Owned.
 */
extern char *toc_names_sequence_owner(const TocEntry *entry);

#endif							/* TOC_NAMES_H */
