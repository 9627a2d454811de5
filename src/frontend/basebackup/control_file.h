/*
 * control_file.h
 *		pg_control of a server of any major, as bytes.
 */
#ifndef CONTROL_FILE_H
#define CONTROL_FILE_H

#include "base/fe_compat.h"

/* Does it have its CRC?  It may have been read while it was written. */
extern bool control_file_is_whole(const char *data, int len);

#endif							/* CONTROL_FILE_H */
