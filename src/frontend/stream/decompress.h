/*
 * decompress.h
 *		Decompresses what is fed piece by piece, of any origin.
 *
 * A file is one compressed stream after the other: gzip members, lz4 or zstd
 * frames.
 *
 *		decompressor_feed(d, data, len);
 *		while ((n = decompressor_fetch(d, out, size)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... decompressor_error(d) ...
 *
 * The bytes are not trusted: memory is bounded by the formats' windows (32
 * kB, 4 MB, 128 MB), for any size that a file claims, and every call makes
 * progress or returns 0.
 */
#ifndef DECOMPRESS_H
#define DECOMPRESS_H

#include <sys/types.h>

#include "shared/compress.h"
#include "stream/command_reader.h"

/* ----------
 * The data of an archive file in the custom format, block by block.
 *
 * An entry's data are one block (pg_backup_custom.c: _StartData, _StartLOs,
 * _skipData, _skipLOs):
 *
 * byte	1 = rows, 3 = large objects
 * int		dump ID of the entry
 * rows:	a stream
 * objects: int OID and a stream, for each; then int 0
 *
 * and a stream is pieces of any length, int length and the bytes, up to an
 * int 0.  An int is a sign and four bytes, the lowest first.  The file is of
 * any origin: no length is believed, and memory is one buffer.
 *
 * custom_block_seek(reader, offset);
 * if (custom_block_begin(reader, &type, &dump_id))
 * while ((n = custom_block_next(reader, &data)) > 0)
 * ... n bytes at data ...
 * ----------
 */

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

/* Go to the end of the stream, or of the whole block; false with an error. */
extern bool custom_block_skip_stream(CustomBlocks *reader);
extern bool custom_block_skip(CustomBlocks *reader, CustomBlockType type);

/* What is wrong with the file; NULL if nothing has been yet. */
extern const char *custom_block_error(const CustomBlocks *reader);

typedef struct Decompressor Decompressor;

/*
 * In a file "gzip" has gzip's head and checksum, within a custom archive
 * zlib's (compress_gzip.c: gzopen(), and deflateInit() for the other).
 */
typedef enum DecompressForm
{
	DECOMPRESS_FILE,
	DECOMPRESS_CUSTOM
} DecompressForm;

/* Not for COMPRESS_NONE.  Exits with a message if memory is out. */
extern Decompressor *decompressor_new(CompressMethod method,
									  DecompressForm form);

/* Forget what was fed, and begin again. */
extern void decompressor_reset(Decompressor *d);

/* The next bytes, borrowed until all output is fetched. */
extern void decompressor_feed(Decompressor *d, const void *data, size_t len);

/* Some output: its length, 0 if more must be fed first, -1 for an error. */
extern ssize_t decompressor_fetch(Decompressor *d, void *out, size_t size);

/* Has all that was fed been whole streams, at least one? */
extern bool decompressor_complete(const Decompressor *d);

/* What is wrong; borrowed. */
extern const char *decompressor_error(const Decompressor *d);

/* Free it, wherever in a stream it is. */
extern void decompressor_free(Decompressor *d);

/* ----------
 * Reads data of an archive, as they were before compression.
 *
 * They are a file of a directory archive, or a stream of a custom archive
 * (see above); of any origin.  Memory is a decompressor's, and a buffer.
 * ----------
 */

typedef struct DataReader DataReader;

/* Of a file, which is taken over, from where it is. */
extern DataReader *data_reader_new_file(int fd, CompressMethod method);

/* Of what a command writes; taken over. */
extern DataReader *data_reader_new_command(CommandReader *command,
										   CompressMethod method);

/*
 * Let a command return at most this number of bytes, if their number is not
 * known.
 */
extern void data_reader_limit(DataReader *reader, uint64 most);

/*
 * Of a stream that has begun, and of those after it, for each of which
 * data_reader_restart() is called; the blocks are borrowed.
 */
extern DataReader *data_reader_new_custom(CustomBlocks *blocks,
										  CompressMethod method);
extern void data_reader_restart(DataReader *reader);

/*
 * Some bytes into buf: how many, 0 when all have been read and were whole, -1
 * for an error: data are not there, are damaged, end early, or are followed
 * by something else.  After that it is the same again.
 */
extern ssize_t data_reader_read(DataReader *reader, void *buf, size_t size);

/* What is wrong; borrowed. */
extern const char *data_reader_error(const DataReader *reader);

/* How much has been read as it is stored. */
extern uint64 data_reader_stored_bytes(const DataReader *reader);

/* Close the file, or end the command, and free it, wherever it is. */
extern void data_reader_free(DataReader *reader);

#endif							/* DECOMPRESS_H */
