/*
 * test_crc32c_combine.c
 *		The CRCs of parts make the CRC of the whole, however it is cut.
 */
#include "base/fe_compat.h"

#include "port/pg_crc32c.h"

#include "basebackup/backup_manifest.h"
#include "unit_test.h"

static uint32
crc_of(const uint8 *data, size_t len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, len);
	FIN_CRC32C(crc);
	return crc;
}

/* Cut at every place. */
static void
check_cuts(const uint8 *data, size_t len)
{
	uint32		whole = crc_of(data, len);
	size_t		n_equal = 0;

	for (size_t cut = 0; cut <= len; cut++)
		if (crc32c_combine(crc_of(data, cut), crc_of(data + cut, len - cut),
						   len - cut) == whole)
			n_equal++;
	is_number(n_equal, len + 1, "two parts, wherever it is cut");
}

/* Parts of all sizes, one after the other. */
static void
check_parts(const uint8 *data, size_t len)
{
	uint32		crc = 0;
	size_t		part;

	for (size_t pos = 0; pos < len; pos += part)
	{
		part = Min(len - pos, pos / 3 + 1);
		crc = crc32c_combine(crc, crc_of(data + pos, part), part);
	}
	is_number(crc, crc_of(data, len), "many parts");
}

/*
 * Parts of 8 GB, whose bytes are not read: it does not matter which of three
 * are combined first.
 */
static void
check_long_parts(uint32 crc1, uint32 crc2, uint32 crc3)
{
	const uint64 len = UINT64CONST(1) << 33;
	uint32		left = crc32c_combine(crc32c_combine(crc1, crc2, len), crc3, len);
	uint32		right = crc32c_combine(crc1, crc32c_combine(crc2, crc3, len),
									   2 * len);

	is_number(left, right, "three long parts");
}

void
test_crc32c_combine(void)
{
	uint8		data[5000];
	uint32		state = 1;

	for (size_t i = 0; i < sizeof(data); i++)
	{
		state = state * 1103515245 + 12345;
		data[i] = i % 1000 < 300 ? 0 : (uint8) (state >> 16);
	}
	is_number(crc32c_combine(crc_of((const uint8 *) "12345", 5),
							 crc_of((const uint8 *) "6789", 4), 4),
			  0xE3069283, "the value that is known of 123456789");
	is_number(crc32c_combine(7, 0, 0), 7, "nothing follows");
	check_cuts(data, sizeof(data));
	check_parts(data, sizeof(data));
	check_long_parts(0x12345678, 0x9ABCDEF0, 0x0F1E2D3C);
}
