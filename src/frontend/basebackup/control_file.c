/*
 * control_file.c
 *		pg_control of a server of any major, as bytes.
 */
#include "base/fe_compat.h"

#include "port/pg_crc32c.h"

#include "basebackup/control_file.h"

/*
 * Where its CRC is depends on the major, which need not be ours: behind what
 * it is of, in the first sector.
 */
bool
control_file_is_whole(const char *data, int len)
{
	pg_crc32c	crc;
	pg_crc32c	stored;

	for (int pos = 128; pos + (int) sizeof(stored) <= Min(len, 512); pos += 4)
	{
		INIT_CRC32C(crc);
		COMP_CRC32C(crc, data, pos);
		FIN_CRC32C(crc);
		memcpy(&stored, data + pos, sizeof(stored));
		if (EQ_CRC32C(crc, stored))
			return true;
	}
	return false;
}
