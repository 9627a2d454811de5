/*
 * crc32c_combine.c
 *		The CRC-32C of bytes whose parts were read by different processes.
 *
 * A CRC is the remainder of a polynomial over the two numbers 0 and 1.  What
 * follows multiplies the polynomial of the bytes before it by a power of x,
 * eight for each byte; so it does with their remainder, and the CRC of what
 * follows is added to that.  Coefficients are in reverse: the highest bit is
 * that of x to the power of 0.
 */
#include "base/fe_compat.h"

#include "backup/crc32c_combine.h"

#define CRC32C_POLYNOMIAL 0x82F63B78
#define X_TO_THE_0 0x80000000
#define X_TO_THE_8 0x00800000

/* The remainder of a product of two remainders. */
static uint32
multiply(uint32 a, uint32 b)
{
	uint32		product = 0;

	for (uint32 power = X_TO_THE_0; power != 0; power >>= 1)
	{
		if (a & power)
			product ^= b;
		b = (b >> 1) ^ (b & 1 ? CRC32C_POLYNOMIAL : 0);
	}
	return product;
}

uint32
crc32c_combine(uint32 crc1, uint32 crc2, uint64 len2)
{
	uint32		square = X_TO_THE_8;
	uint32		shift = X_TO_THE_0;

	for (; len2 > 0; len2 >>= 1)
	{
		if (len2 & 1)
			shift = multiply(shift, square);
		square = multiply(square, square);
	}
	return multiply(crc1, shift) ^ crc2;
}
