/*
 * custom_block.h
 *		The data of an archive file in the custom format, block by block.
 *
 * An entry's data are one block (pg_backup_custom.c: _StartData, _StartLOs,
 * _skipData, _skipLOs):
 *
 *		byte	1 = rows, 3 = large objects
 *		int		dump ID of the entry
 *		rows:	a stream
 *		objects: int OID and a stream, for each; then int 0
 *
 * and a stream is pieces of any length, int length and the bytes, up to an
 * int 0.  An int is a sign and four bytes, the lowest first.  The file is of
 * any origin: no length is believed, and memory is one buffer.
 *
 *		custom_block_seek(reader, offset);
 *		if (custom_block_begin(reader, &type, &dump_id))
 *			while ((n = custom_block_next(reader, &data)) > 0)
 *				... n bytes at data ...
 */
#ifndef CUSTOM_BLOCK_H
#define CUSTOM_BLOCK_H

#include "base/fe_compat.h"

typedef enum CustomBlockType
{
	CUSTOM_BLOCK_ROWS = 1,		/* BLK_DATA, BLK_BLOBS */
	CUSTOM_BLOCK_OBJECTS = 3
} CustomBlockType;

typedef struct CustomBlocks CustomBlocks;

/*
 * A reader of the file, at its begin.  The descriptor is borrowed; its own
 * position is not used, so processes may share it.
 */
extern CustomBlocks *custom_block_new(int fd);
extern void custom_block_free(CustomBlocks *reader);

/* Go to this byte, and forget all errors.  And where it is. */
extern void custom_block_seek(CustomBlocks *reader, uint64 offset);
extern uint64 custom_block_position(const CustomBlocks *reader);

/* Bytes as they stand: fewer at the end of the file, or after an error. */
extern size_t custom_block_raw(CustomBlocks *reader, void *buf, size_t len);

/*
 * Read the head of a block; false at the end of the file, or with an error.
 * Of rows, what follows is a stream.
 */
extern bool custom_block_begin(CustomBlocks *reader, CustomBlockType *type,
							   int *dump_id);

/*
 * Read the next object's OID in a block of them: a stream follows.  False
 * after the last one, or with an error.
 */
extern bool custom_block_object(CustomBlocks *reader, Oid *oid);

/*
 * Some bytes of the stream, borrowed until the next call: their length, 0
 * after the last, -1 for an error.
 */
extern ssize_t custom_block_next(CustomBlocks *reader, const char **data);

/* Go to the end of the stream, or of the whole block; false with an error. */
extern bool custom_block_skip_stream(CustomBlocks *reader);
extern bool custom_block_skip(CustomBlocks *reader, CustomBlockType type);

/* What is wrong with the file; NULL if nothing has been yet. */
extern const char *custom_block_error(const CustomBlocks *reader);

#endif							/* CUSTOM_BLOCK_H */
