/*
 * test_checksum.c
 *		The fast checksums are the same as PostgreSQL's.
 */
#include "base/fe_compat.h"

#include "storage/bufpage.h"

#include "shared/crc32c.h"
#include "shared/page_checksum.h"
#include "unit_test.h"

#define DATA_BYTES 5000

static uint32 seed = 1;

static uint8
random_byte(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 24;
}

static pg_crc32c
plain_crc(pg_crc32c crc, const void *data, size_t len)
{
	COMP_CRC32C(crc, data, len);
	return crc;
}

/* Of bytes of all lengths, which begin anywhere. */
void
test_crc32c(void)
{
	uint8		data[DATA_BYTES];
	pg_crc32c	crc;
	int			n_equal = 0;

	for (int i = 0; i < DATA_BYTES; i++)
		data[i] = random_byte();
	for (size_t len = 0; len < DATA_BYTES - 64; len++)
		if (crc32c_add(len * 77, data + len % 64, len) ==
			plain_crc(len * 77, data + len % 64, len))
			n_equal++;
	is_number(n_equal, DATA_BYTES - 64, "of any length, at any place, after any others");
	INIT_CRC32C(crc);
	crc = crc32c_add(crc, "123456789", 9);
	FIN_CRC32C(crc);
	is_number(crc, 0xE3069283, "the value that CRC-32C is known by");
}

/* Of pages that are full of anything. */
void
test_page_checksum(void)
{
	PGAlignedBlock page;
	PageHeader	header = (PageHeader) page.data;
	int			n_equal = 0;
	int			n_kept = 0;

	for (int i = 0; i < 1000; i++)
	{
		uint16		stored;

		for (int pos = 0; pos < BLCKSZ; pos++)
			page.data[pos] = i % 7 == 0 ? i : random_byte();
		/* one that is not new */
		header->pd_upper = BLCKSZ;
		stored = header->pd_checksum;
		if (page_checksum(page.data, i * 999983) ==
			plain_checksum_page(page.data, i * 999983))
			n_equal++;
		if (header->pd_checksum == stored)
			n_kept++;
	}
	is_number(n_equal, 1000, "of any page, at any place");
	is_number(n_kept, 1000, "the page is as it was");
}
