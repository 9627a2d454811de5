/*
 * frame_list.c
 *		Where the frames of a compressed file begin.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "backup/tar_archive.h"
#include "extract/frame_list.h"

/* Of a file that is not compressed. */
#define PIECE_BYTES ((uint64) 4 * 1024 * 1024)

FrameList *
frame_list_find(int fd, const char *path, CompressMethod method)
{
	FrameList  *list = pg_malloc0(sizeof(FrameList));
	int			max_frames = 1024;
	struct stat st;
	uint8	   *file;
	uint64		bytes;

	if (fstat(fd, &st) < 0)
		pg_fatal("could not stat file \"%s\": %m", path);
	if (st.st_size == 0)
		pg_fatal("file \"%s\" is empty", path);
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		pg_fatal("could not map file \"%s\": %m", path);
	list->begins = pg_malloc(max_frames * sizeof(uint64));
	list->begins[0] = 0;
	for (uint64 begin = 0; begin < st.st_size; begin += bytes)
	{
		bytes = st.st_size - begin;
		bytes = method == COMPRESS_NONE ? Min(bytes, PIECE_BYTES) :
			frame_bytes(file + begin, bytes, method);
		if (bytes == 0)
			pg_fatal("file \"%s\" is damaged or cut off: there is no whole %s frame at offset " UINT64_FORMAT,
					 path, compress_method_name(method), begin);
		if (list->n_frames + 2 > max_frames)
		{
			max_frames *= 2;
			list->begins = pg_realloc(list->begins, max_frames * sizeof(uint64));
		}
		list->begins[++list->n_frames] = begin + bytes;
	}
	munmap(file, st.st_size);
	return list;
}

void
frame_list_free(FrameList *list)
{
	free(list->begins);
	free(list);
}
