/*
 * read_archive.h
 *		Reads an archive for a TAP test, which makes it by stock pg_dump.
 */
#ifndef READ_ARCHIVE_H
#define READ_ARCHIVE_H

/*
 * "--read-archive PATH" writes all data to standard output: for each entry
 * "entry ID LENGTH", or "object OID LENGTH" for each large object, then the
 * bytes and a newline.
 *
 * "--damage-archive PATH FILE STEP" changes a bit in every STEPth byte of a
 * file of the archive, and cuts it there, and tells how often what is read is
 * the same, is refused, is something else, or is a crash.
 *
 * Returns the exit code.
 */
extern int	read_archive_main(int argc, char **argv);

#endif							/* READ_ARCHIVE_H */
