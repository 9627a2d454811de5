/*
 * index_attach.h
 *		Keeps the indexes of one partition tree from being attached side by
 *		side, or beside its foreign keys.
 */
#ifndef INDEX_ATTACH_H
#define INDEX_ATTACH_H

#include "toc/toc.h"

/*
 * Let each INDEX ATTACH entry depend on the one before it in its partition
 * tree, so that pg_restore -j runs them one after the other; and foreign keys
 * of the tree's tables, or to them, on the last of these.
 */
extern void index_attach_chain(Toc *toc);

#endif							/* INDEX_ATTACH_H */
