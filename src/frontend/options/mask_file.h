/*
 * mask_file.h
 *		Reads files of --mask-file.
 */
#ifndef MASK_FILE_H
#define MASK_FILE_H

#include "options/options.h"

/*
 * Put what the files of the options say with what --mask does.  A mask is a
 * line of the form of --mask; one that begins with a blank continues that
 * before it, and those that are empty or begin with # say nothing.  Exits
 * with a message if a file cannot be read, or has no mask.
 */
extern void mask_files_read(Options *options);

#endif							/* MASK_FILE_H */
