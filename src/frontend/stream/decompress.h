/*
 * decompress.h
 *		Reads data of archives: decompresses them, and reads the blocks of the
 *		custom format.
 *
 * A compressed file consists of one or more compressed streams: gzip members,
 * or lz4 or zstd frames.
 *
 *		decompressor_feed(d, data, len);
 *		while ((n = decompressor_fetch(d, out, size)) > 0)
 *			... n bytes at out ...
 *		if (n < 0) ... decompressor_error(d) ...
 *
 * The data are not trusted.  Memory is limited by the windows of the formats
 * (32 kB, 4 MB, 128 MB), even if a header claims a larger size.  Every call
 * makes progress or returns 0.
 */
#ifndef DECOMPRESS_H
#define DECOMPRESS_H

#include <sys/types.h>

#include "shared/compress.h"
#include "stream/command_reader.h"

/* ----------
 * The data of an archive file in the custom format.
 *
 * The data of an entry are one block (pg_backup_custom.c: _StartData,
 * _StartLOs, _skipData, _skipLOs):
 *
 *	byte	1 = rows, 3 = large objects
 *	int		dump ID of the entry
 *	rows:	a stream
 *	objects:	for each of them, int OID and a stream; then int 0
 *
 * A stream consists of pieces, each of which is an int length and that many
 * bytes, and ends with an int 0.  An int is a byte for the sign and four
 * bytes, least significant first.  The file is not trusted: lengths are
 * checked, and memory is limited to one buffer.
 *
 *	custom_block_seek(reader, offset);
 *	if (custom_block_begin(reader, &type, &dump_id))
 *		... read the data, or custom_block_skip(reader, type) ...
 * ----------
 */

typedef enum CustomBlockType
{
	CUSTOM_BLOCK_ROWS = 1,		/* BLK_DATA, BLK_BLOBS */
	CUSTOM_BLOCK_OBJECTS = 3
} CustomBlockType;

typedef struct CustomBlocks CustomBlocks;

/*
 * Returns a reader at the beginning of the file.  The descriptor is borrowed.
 * Its position is not used, so processes can share it.
 */
extern CustomBlocks *custom_block_new(int fd);
extern void custom_block_free(CustomBlocks *reader);

/*
 * Go to this offset, and forget all errors.  The second function returns the
 * current offset.
 */
extern void custom_block_seek(CustomBlocks *reader, uint64 offset);
extern uint64 custom_block_position(const CustomBlocks *reader);

/*
 * Read bytes without interpreting them.  Returns their number, which is
 * smaller than len at the end of the file or after an error.
 */
extern size_t custom_block_raw(CustomBlocks *reader, void *buf, size_t len);

/*
 * Read the header of a block.  Returns false at the end of the file or after
 * an error.  If the block contains rows, a stream follows.
 */
extern bool custom_block_begin(CustomBlocks *reader, CustomBlockType *type,
							   int *dump_id);

/*
 * Read the OID of the next object in a block of large objects; a stream
 * follows.  Returns false after the last object or after an error.
 */
extern bool custom_block_object(CustomBlocks *reader, Oid *oid);

/*
 * Skip the rest of the stream, or of the whole block.  Returns false after an
 * error.
 */
extern bool custom_block_skip_stream(CustomBlocks *reader);
extern bool custom_block_skip(CustomBlocks *reader, CustomBlockType type);

/* Returns the error message, or NULL if there was no error. */
extern const char *custom_block_error(const CustomBlocks *reader);

typedef struct Decompressor Decompressor;

/*
 * "gzip" data have the header and checksum of gzip in a file, but those of
 * zlib in a custom archive (compress_gzip.c: gzopen() and deflateInit()).
 */
typedef enum DecompressForm
{
	DECOMPRESS_FILE,
	DECOMPRESS_CUSTOM
} DecompressForm;

/*
 * The method must not be COMPRESS_NONE.  Exits with a message if there is not
 * enough memory.
 */
extern Decompressor *decompressor_new(CompressMethod method,
									  DecompressForm form);

/* Discard all input, and begin a new file. */
extern void decompressor_reset(Decompressor *d);

/* Pass the next input, which is borrowed until all output is fetched. */
extern void decompressor_feed(Decompressor *d, const void *data, size_t len);

/*
 * Returns the length of some output, 0 if more input is needed, or -1 after
 * an error.
 */
extern ssize_t decompressor_fetch(Decompressor *d, void *out, size_t size);

/* Does the input consist of at least one stream, and are all complete? */
extern bool decompressor_complete(const Decompressor *d);

/* Returns the error message; borrowed. */
extern const char *decompressor_error(const Decompressor *d);

/* Free the decompressor, also in the middle of a stream. */
extern void decompressor_free(Decompressor *d);

/* ----------
 * Reads data of an archive, and decompresses them.
 *
 * The data are a file of an archive in directory format, the output of a
 * command, or a stream of a custom archive (see above).  They are not
 * trusted.  Memory is limited to a decompressor and a buffer.
 * ----------
 */

typedef struct DataReader DataReader;

/* Reads a file from its current position.  Takes over the descriptor. */
extern DataReader *data_reader_new_file(int fd, CompressMethod method);

/* Reads the output of a command.  Takes over its reader. */
extern DataReader *data_reader_new_command(CommandReader *command,
										   CompressMethod method);

/*
 * See command_reader_limit().  Has no effect if no command returns the data.
 */
extern void data_reader_limit(DataReader *reader, uint64 most);

/*
 * Reads a stream that has begun, and the streams after it.  Call
 * data_reader_restart() before each of the later ones.  The blocks are
 * borrowed.
 */
extern DataReader *data_reader_new_custom(CustomBlocks *blocks,
										  CompressMethod method);
extern void data_reader_restart(DataReader *reader);

/*
 * Read some bytes into buf.  Returns their number, 0 if all data were read
 * and are complete, or -1 after an error: the data do not exist, are damaged,
 * end early, or are followed by other bytes.  Later calls return the same
 * again.
 */
extern ssize_t data_reader_read(DataReader *reader, void *buf, size_t size);

/* Returns the error message; borrowed. */
extern const char *data_reader_error(const DataReader *reader);

/* Returns how many stored bytes were read. */
extern uint64 data_reader_stored_bytes(const DataReader *reader);

/* Close the file or end the command, and free the reader, at any position. */
extern void data_reader_free(DataReader *reader);

#endif							/* DECOMPRESS_H */
