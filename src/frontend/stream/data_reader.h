/*
 * data_reader.h
 *		Reads data of an archive, as they were before compression.
 *
 * They are a file of a directory archive, or a stream of a custom archive
 * (custom_block.h); of any origin.  Memory is a decompressor's, and a buffer.
 */
#ifndef DATA_READER_H
#define DATA_READER_H

#include "shared/compress_spec.h"

#include "stream/custom_block.h"

typedef struct DataReader DataReader;

/* Of a file, which is taken over, from where it is. */
extern DataReader *data_reader_new_file(int fd, CompressMethod method);

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

/* Close the file and free it, wherever it is. */
extern void data_reader_free(DataReader *reader);

#endif							/* DATA_READER_H */
