/*
 * page_checksum.h
 *		Computes the checksum of a page, several times as fast as PostgreSQL
 *		where the processor has AVX2.
 *
 * pg_parbasebackup (basebackup/backup_read.c) and the extension
 * (read/file_stream.c) verify pages with it.  Up to 18, PostgreSQL's function
 * is compiled for every x86-64 processor, so without the instructions that
 * multiply four or eight 32-bit numbers: these came with SSE 4.1 and AVX2.
 * Here the function is compiled for AVX2 as well, and the processor is asked
 * at run time.
 *
 * This header must be included after postgres.h or postgres_fe.h.
 */
#ifndef PAGE_CHECKSUM_H
#define PAGE_CHECKSUM_H

/*
 * The function of checksum_impl.h is renamed: the server already contains one
 * with its name, but the programs do not.
 */
#define pg_checksum_page plain_checksum_page
static uint16 plain_checksum_page(char *page, BlockNumber blkno);
#include "storage/checksum_impl.h"
#undef pg_checksum_page

#ifdef __x86_64__
#include <immintrin.h>

/* The numbers in one register, and the registers for all partial sums. */
#define LANES 8
#define N_REGISTERS (N_SUMS / LANES)

/* Add the next number to each partial sum, as CHECKSUM_COMP does. */
#define ROUND(sums, values) \
	for (int i = 0; i < N_REGISTERS; i++) \
	{ \
		__m256i		mixed = _mm256_xor_si256((sums)[i], (values)); \
		(sums)[i] = _mm256_xor_si256(_mm256_mullo_epi32(mixed, prime), \
									 _mm256_srli_epi32(mixed, 17)); \
	}

/* pg_checksum_block() of checksum_impl.h, with AVX2 instructions. */
__attribute__((target("avx2")))
static inline uint32
checksum_block_avx2(const char *page)
{
	const __m256i *offsets = (const __m256i *) checksumBaseOffsets;
	const __m256i *values = (const __m256i *) page;
	const __m256i *end = (const __m256i *) (page + BLCKSZ);
	const __m256i prime = _mm256_set1_epi32(FNV_PRIME);
	__m256i		sums[N_REGISTERS];
	uint32		lanes[LANES];
	uint32		result = 0;

	for (int i = 0; i < N_REGISTERS; i++)
		sums[i] = _mm256_loadu_si256(&offsets[i]);
	for (; values < end; values += N_REGISTERS)
		ROUND(sums, _mm256_loadu_si256(&values[i]));
	/* two rounds with zeros, as in pg_checksum_block() */
	ROUND(sums, _mm256_setzero_si256());
	ROUND(sums, _mm256_setzero_si256());
	for (int i = 1; i < N_REGISTERS; i++)
		sums[0] = _mm256_xor_si256(sums[0], sums[i]);
	_mm256_storeu_si256((__m256i *) lanes, sums[0]);
	for (int i = 0; i < LANES; i++)
		result ^= lanes[i];
	return result;
}

/*
 * Compute the checksum of a page as pg_checksum_page() does
 * (storage/checksum_impl.h).  The page must not be new, and must be aligned
 * to 4 bytes.  Its own checksum is set to 0 during the call.
 */
static inline uint16
page_checksum(char *page, BlockNumber block)
{
	PageHeader	header = (PageHeader) page;
	uint16		stored = header->pd_checksum;
	uint32		checksum;

	if (!__builtin_cpu_supports("avx2"))
		return plain_checksum_page(page, block);
	header->pd_checksum = 0;
	checksum = checksum_block_avx2(page) ^ block;
	header->pd_checksum = stored;
	return (uint16) (checksum % 65535 + 1);
}
#else
static inline uint16
page_checksum(char *page, BlockNumber block)
{
	return plain_checksum_page(page, block);
}
#endif

#endif							/* PAGE_CHECKSUM_H */
