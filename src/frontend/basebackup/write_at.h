/*
 * write_at.h
 *		Writes bytes at a place of a file that others write to as well.
 */
#ifndef WRITE_AT_H
#define WRITE_AT_H

#include "base/fe_compat.h"

/* All of them, or false with errno; what cannot be written is ENOSPC. */
extern bool write_at(int fd, const void *data, size_t len, uint64 offset);

#endif							/* WRITE_AT_H */
