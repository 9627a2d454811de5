/*
 * toc_context.h
 *		Which entry an error is about, in pg_restore's words.
 *
 * With --verbose pg_restore says before an error what it was at, unless the
 * error before was told at the same (pg_backup_archiver.c:
 * warn_or_exit_horribly).
 */
#ifndef TOC_CONTEXT_H
#define TOC_CONTEXT_H

#include "toc/toc.h"

/* Before others are forked: what one of them has told the others need not. */
extern void toc_context_share(void);

/*
 * An error is told next: of this entry, or, with NULL, of what a session
 * begins with.
 */
extern void toc_context_tell(const TocEntry *entry);

#endif							/* TOC_CONTEXT_H */
