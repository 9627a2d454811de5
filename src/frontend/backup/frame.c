/*
 * frame.c
 *		How long a frame of compressed bytes is, by what it says of itself.
 */
#include "base/fe_compat.h"

#include <zstd.h>

#include "backup/frame.h"

/* What lz4 frames consist of (lz4_Frame_format.md). */
#define LZ4_MAGIC 0x184D2204
#define LZ4_SKIPPABLE_MAGIC 0x184D2A50
#define LZ4_SKIPPABLE_MASK 0xFFFFFFF0
#define LZ4_BLOCK_CHECKSUM 0x10
#define LZ4_CONTENT_SIZE 0x08
#define LZ4_CONTENT_CHECKSUM 0x04
#define LZ4_DICTIONARY_ID 0x01
#define LZ4_STORED_BLOCK 0x80000000

static uint32
number32(const uint8 *at)
{
	return at[0] | (uint32) at[1] << 8 | (uint32) at[2] << 16 |
		(uint32) at[3] << 24;
}

/* The bytes of the lz4 frame that begins there; 0 if it is none, or cut. */
static uint64
lz4_frame_bytes(const uint8 *frame, uint64 left)
{
	uint64		pos;
	uint8		flags;
	uint32		block;

	if (left < 8)
		return 0;
	if ((number32(frame) & LZ4_SKIPPABLE_MASK) == LZ4_SKIPPABLE_MAGIC)
		return left - 8 >= number32(frame + 4) ? 8 + (uint64) number32(frame + 4) : 0;
	if (number32(frame) != LZ4_MAGIC)
		return 0;
	flags = frame[4];
	/* magic number, flags, block size, header's checksum */
	pos = 7 + (flags & LZ4_CONTENT_SIZE ? 8 : 0) +
		(flags & LZ4_DICTIONARY_ID ? 4 : 0);
	do
	{
		if (pos + 4 > left)
			return 0;
		block = number32(frame + pos);
		pos += 4;
		if (block != 0)
			pos += (block & ~LZ4_STORED_BLOCK) +
				(flags & LZ4_BLOCK_CHECKSUM ? 4 : 0);
	} while (block != 0);
	pos += flags & LZ4_CONTENT_CHECKSUM ? 4 : 0;
	return pos <= left ? pos : 0;
}

uint64
frame_bytes(const void *frame, uint64 left, CompressMethod method)
{
	size_t		zstd_bytes;

	switch (method)
	{
		case COMPRESS_NONE:
		case COMPRESS_GZIP:
			return left;
		case COMPRESS_LZ4:
			return lz4_frame_bytes(frame, left);
		case COMPRESS_ZSTD:
			zstd_bytes = ZSTD_findFrameCompressedSize(frame, left);
			return ZSTD_isError(zstd_bytes) ? 0 : zstd_bytes;
	}
	return 0;
}
