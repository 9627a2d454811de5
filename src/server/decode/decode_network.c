/*-------------------------------------------------------------------------
 *
 * decode_network.c
 *	  Decoders of inet and cidr.
 *
 * They read what network_out() writes (src/backend/utils/adt/network.c), but
 * for an IPv4 address within one of IPv6.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/fmgroids.h"
#include "utils/inet.h"

#include "bytes/read_digits.h"
#include "bytes/read_hex.h"
#include "decode/decode_network.h"

#define IPV4_OCTETS		4
#define IPV6_WORDS		8

/*
 * Each read_...() reads at *p, advances it behind what it has read, and
 * returns false if that is not there.
 */

/* A number of up to three digits, without leading zeros. */
static inline bool
read_small_number(const char **p, const char *end, uint32 max, uint32 *n)
{
	const char *start = *p;

	*n = 0;
	while (*p < end && is_digit(**p) && *p - start < 3)
		*n = *n * 10 + (*(*p)++ - '0');
	return *p > start && *n <= max && (*start != '0' || *p == start + 1);
}

static inline bool
read_ipv4(const char **p, const char *end, uint8 *address)
{
	for (int i = 0; i < IPV4_OCTETS; i++)
	{
		uint32		octet;

		if (i > 0 && (*p == end || *(*p)++ != '.'))
			return false;
		if (!read_small_number(p, end, 255, &octet))
			return false;
		address[i] = octet;
	}
	return true;
}

/* Up to four hexadecimal digits. */
static inline bool
read_hex_word(const char **p, const char *end, uint16 *word)
{
	const char *start = *p;

	*word = 0;
	while (*p < end && *p - start < 4 && is_hex_digit(**p))
		*word = *word << 4 | hex_value(*(*p)++);
	return *p > start;
}

/* Words with a colon between them; two colons, once, are words of zero. */
static inline bool
read_ipv6(const char **p, const char *end, uint8 *address)
{
	uint16		words[IPV6_WORDS];
	int			n = 0;
	int			gap = -1;		/* words before the two colons */
	int			missing;

	if (end - *p >= 2 && memcmp(*p, "::", 2) == 0)
	{
		gap = 0;
		*p += 2;
	}
	while (*p < end && **p != '/')
	{
		if (n == IPV6_WORDS || !read_hex_word(p, end, &words[n++]))
			return false;
		if (*p == end || **p != ':')
			break;
		(*p)++;
		if (*p == end)
			return false;
		if (**p == ':')
		{
			if (gap >= 0)
				return false;
			gap = n;
			(*p)++;
		}
		else if (**p == '/')
			return false;
	}

	missing = IPV6_WORDS - n;
	if (gap < 0 ? missing != 0 : missing == 0)
		return false;
	memset(address, 0, 2 * IPV6_WORDS);
	for (int i = 0; i < n; i++)
	{
		int			place = 2 * (i < gap || gap < 0 ? i : i + missing);

		address[place] = words[i] >> 8;
		address[place + 1] = words[i] & 0xff;
	}
	return true;
}

/* Are all bits behind the prefix zero?  network.c: addressOK() */
static inline bool
is_network(const uint8 *address, uint32 bits, uint32 max_bits)
{
	uint32		byte = bits / 8;

	if (bits == max_bits)
		return true;
	if ((address[byte] & (0xff >> bits % 8)) != 0)
		return false;
	while (++byte < max_bits / 8)
	{
		if (address[byte] != 0)
			return false;
	}
	return true;
}

static inline bool
decode_address(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value, bool is_cidr)
{
	const char *end = text + len;
	bool		is_ipv6 = memchr(text, ':', len) != NULL;
	uint32		max_bits = is_ipv6 ? 128 : 32;
	uint32		bits = max_bits;
	inet	   *address = value_alloc(decoder, sizeof(inet));

	memset(address, 0, sizeof(inet));
	if (!(is_ipv6 ? read_ipv6(&text, end, ip_addr(address)) :
		  read_ipv4(&text, end, ip_addr(address))))
		return false;
	if (text < end && *text == '/')
	{
		text++;
		if (!read_small_number(&text, end, max_bits, &bits))
			return false;
	}
	else if (is_cidr)
		return false;			/* the length would be guessed */
	if (text != end ||
		(is_cidr && !is_network(ip_addr(address), bits, max_bits)))
		return false;

	ip_family(address) = is_ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET;
	ip_bits(address) = bits;
	SET_INET_VARSIZE(address);
	*value = PointerGetDatum(address);
	return true;
}

static bool
decode_inet(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	return decode_address(decoder, text, len, value, false);
}

static bool
decode_cidr(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	return decode_address(decoder, text, len, value, true);
}

DecodeFunction
network_decoder(Oid input_function, ColumnDecoder *decoder)
{
	switch (input_function)
	{
		case F_INET_IN:
			return decode_inet;
		case F_CIDR_IN:
			return decode_cidr;
		default:
			return NULL;
	}
}
