/*
 * crc32c_combine.h
 *		The CRC-32C of bytes whose parts were read by different processes.
 */
#ifndef CRC32C_COMBINE_H
#define CRC32C_COMBINE_H

#include "base/fe_compat.h"

/*
 * The CRC of A followed by B, from the CRC of each and the length of B.  All
 * are finished values, as FIN_CRC32C() leaves them (port/pg_crc32c.h); that
 * of no bytes is 0.
 */
extern uint32 crc32c_combine(uint32 crc1, uint32 crc2, uint64 len2);

#endif							/* CRC32C_COMBINE_H */
