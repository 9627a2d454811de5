/*
 * previous_file.h
 *		Takes a file of the previous archive into a new one.
 *
 * It is read first, and must have the size and the checksum that its manifest
 * says: what a disk has lost would else be handed on for ever.
 */
#ifndef PREVIOUS_FILE_H
#define PREVIOUS_FILE_H

#include "archive/archive_dir.h"
#include "options/copy_method.h"
#include "plan/previous_archive.h"

/*
 * Take it over under a new name, by this method or, where the file system
 * cannot, by the next one: a link to the same file, a clone that shares its
 * blocks until one is written, a copy.  *method is what it was.  A file that
 * another user may write to is never linked.  False, and *problem, if it is
 * not what it should be; then there is no new file.  Exits with a message if
 * a new file cannot be written.
 */
extern bool previous_file_take(const PreviousArchive *previous,
							   const ManifestFile *file, const ArchiveDir *dir,
							   const char *new_name, CopyMethod *method,
							   const char **problem);

#endif							/* PREVIOUS_FILE_H */
