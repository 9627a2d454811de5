/*
 * frame_list.h
 *		Where the frames of a compressed file begin: what can be decompressed
 *		side by side.
 *
 * They are found by the sizes that stand in them; no index is needed, nor is
 * anything decompressed.
 */
#ifndef FRAME_LIST_H
#define FRAME_LIST_H

#include "base/fe_compat.h"

#include "shared/compress_spec.h"

typedef struct FrameList
{
	int			n_frames;
	uint64	   *begins;			/* and the end of the last one */
} FrameList;

/*
 * The frames of a file, which is of any origin and open for reading; path is
 * for messages.  A file that is not compressed is cut into pieces of some MB;
 * one by gzip, whose members tell no size, is one frame.  Exits with a
 * message if it is damaged.
 */
extern FrameList *frame_list_find(int fd, const char *path,
								  CompressMethod method);

extern void frame_list_free(FrameList *list);

#endif							/* FRAME_LIST_H */
