/*-------------------------------------------------------------------------
 *
 * network.c
 *	  Encoders and decoders of inet and cidr.
 *
 * choose.c finds them by the types' functions.  They have the results of
 * network_out(), network_send(), inet_in() and cidr_in()
 * (src/backend/utils/adt/network.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "utils/fmgroids.h"
#include "utils/inet.h"

#include "bytes/digits.h"
#include "types/family.h"

/* ----------
 * Encoders of inet and cidr.
 *
 * The texts are those of network_out() and of pg_inet_net_ntop()
 * (src/port/inet_net_ntop.c): inet shows the length of its prefix only if
 * that is less than the whole address, cidr always.  The binary forms are
 * those of network_send().
 *
 * Both types are stored as an inet_struct (src/include/utils/inet.h): a byte
 * for the family, a byte for the length of the prefix, and an address of 4 or
 * 16 bytes in network byte order.  The value does not contain its type, so
 * the encoder's variant does.
 * ----------
 */

/* xxxx:xxxx:xxxx:xxxx:xxxx:xxxx:255.255.255.255/128 */
#define ADDRESS_TEXT_ROOM	(49 + DIGITS_SLACK)

StaticAssertDecl(ADDRESS_TEXT_ROOM <= VALUE_ROOM &&
				 4 + sizeof(inet_struct) <= VALUE_ROOM,
				 "an address must fit in VALUE_ROOM");

#define IPV6_WORDS			8

/* The variants of encoders and decoders. */
#define INET				0
#define CIDR				1

/*
 * Write an IPv4 address.  The text of each number, with a dot after it, is
 * copied as four bytes.  The next number overwrites any bytes after the dot.
 */
static inline char *
put_ipv4(char *p, const uint8 *address)
{
	static char texts[256][4];

	/* fill the table in the first call */
	for (int i = 0; i < 256 && texts[255][0] == '\0'; i++)
	{
		char		text[4 + DIGITS_SLACK];

		*put_uint_8(text, i) = '.';
		memcpy(texts[i], text, sizeof(texts[i]));
	}
	for (int i = 0; i < 4; i++)
	{
		uint8		octet = address[i];

		memcpy(p, texts[octet], 4);
		p += 2 + (octet >= 10) + (octet >= 100);
	}
	return p - 1;				/* without the last dot */
}

/* Write a number of up to four hexadecimal digits without leading zeros. */
static inline char *
put_hex_word(char *p, uint32 word)
{
	if (word >= 0x1000)
		*p++ = hex_digits[word >> 12];
	if (word >= 0x100)
		*p++ = hex_digits[word >> 8 & 15];
	if (word >= 0x10)
		*p++ = hex_digits[word >> 4 & 15];
	*p++ = hex_digits[word & 15];
	return p;
}

/*
 * Find the longest run of zero words, or the first of several, which is
 * written as "::".  A single word is not written like that, and the length is
 * 0 then.
 */
static inline void
longest_zero_run(const uint32 *words, int *start, int *length)
{
	int			run = 0;

	*start = 0;
	*length = 0;
	for (int i = 0; i < IPV6_WORDS; i++)
	{
		run = words[i] == 0 ? run + 1 : 0;
		if (run > *length)
		{
			*length = run;
			*start = i + 1 - run;
		}
	}
	if (*length < 2)
		*length = 0;
}

/*
 * Do the last two words follow six words of zeros, or ::ffff: ?  They are
 * written as an IPv4 address then.  After seven words of zeros, the last word
 * is written as a word.
 */
static inline bool
embeds_ipv4(const uint32 *words, int start, int length)
{
	return start == 0 &&
		(length == 6 || (length == 5 && words[5] == 0xffff));
}

/*
 * Write an IPv6 address as pg_inet_net_ntop() does: words without leading
 * zeros, and "::" in place of the longest run of zero words.
 */
static char *
put_ipv6(char *p, const uint8 *address)
{
	uint32		words[IPV6_WORDS];
	int			start;
	int			length;
	int			i;

	for (i = 0; i < IPV6_WORDS; i++)
		words[i] = (uint32) address[2 * i] << 8 | address[2 * i + 1];
	longest_zero_run(words, &start, &length);

	for (i = 0; i < IPV6_WORDS; i++)
	{
		/* the second colon is written before the next word, or at the end */
		if (length > 0 && i == start)
		{
			*p++ = ':';
			i += length - 1;	/* the last word of the run */
			if (i == IPV6_WORDS - 1)
				*p++ = ':';
			continue;
		}
		if (i != 0)
			*p++ = ':';
		if (i == 6 && embeds_ipv4(words, start, length))
			return put_ipv4(p, address + 12);
		p = put_hex_word(p, words[i]);
	}
	return p;
}

/* Return the value, or raise an error if it is too short for its address. */
static inline inet *
get_address(const ColumnEncoder *encoder, Datum value)
{
	inet	   *address = (inet *) DatumGetPointer(value);
	Size		len = VARSIZE_ANY_EXHDR(address);

	if (unlikely(len < offsetof(inet_struct, ipaddr) ||
				 len < offsetof(inet_struct, ipaddr) + ip_addrsize(address)))
		damaged_value(encoder->variant == CIDR ? "cidr" : "inet");
	return address;
}

/* Write an address with its prefix, which needs at most ADDRESS_TEXT_ROOM. */
static char *
encode_address(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	inet	   *address = get_address(encoder, value);
	uint32		bits = ip_bits(address);
	uint32		max_bits;
	char	   *p;

	if (likely(ip_family(address) == PGSQL_AF_INET))
	{
		max_bits = 32;
		p = put_ipv4(to, ip_addr(address));
	}
	else
	{
		max_bits = 128;
		p = put_ipv6(to, ip_addr(address));
	}

	/* network_out() decides whether another family or prefix is an error */
	if (unlikely(bits > max_bits ||
				 (max_bits == 128 && ip_family(address) != PGSQL_AF_INET6)))
		p = encode_by_type_function(encoder, value, out, to);
	else if (bits != max_bits || encoder->variant == CIDR)
	{
		/* VALUE_ROOM has room for the slack of put_uint_8() */
		*p++ = '/';
		p = put_uint_8(p, bits);
	}
	return p;
}

/*
 * The binary form: family, length of the prefix, 1 for cidr, length of the
 * address, and the address.
 */
static char *
send_address(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	inet	   *address = get_address(encoder, value);

	*to++ = ip_family(address);
	*to++ = ip_bits(address);
	*to++ = encoder->variant == CIDR;
	*to++ = ip_addrsize(address);
	memcpy(to, ip_addr(address), ip_addrsize(address));
	return to + ip_addrsize(address);
}

const EncoderRow network_encoders[] = {
	{F_INET_OUT, encode_address, INET,.never_quoted = true},
	{F_CIDR_OUT, encode_address, CIDR,.never_quoted = true},
	{F_INET_SEND, send_address, INET},
	{F_CIDR_SEND, send_address, CIDR},
	{InvalidOid}
};

/* ----------
 * Decoders of inet and cidr.
 *
 * They read the texts that network_out() writes, except IPv6 addresses that
 * contain an IPv4 address.
 * ----------
 */

#define IPV4_OCTETS		4

/*
 * Each read_...() reads at *p and moves it to the place after the text that
 * it has read.  It returns false if the expected text is not there.
 */

/* Read a number of up to three digits, without leading zeros. */
static inline bool
read_small_number(const char **p, const char *end, int64 max, int64 *n)
{
	const char *start = *p;

	return read_digits(p, end, 3, n) && *n <= max &&
		(*start != '0' || *p == start + 1);
}

/* Read four numbers with dots.  For cidr, the server also accepts fewer. */
static inline bool
read_ipv4(const char **p, const char *end, uint8 *address)
{
	for (int i = 0; i < IPV4_OCTETS; i++)
	{
		int64		octet;

		if (i > 0 && (*p == end || *(*p)++ != '.'))
			return false;
		if (!read_small_number(p, end, 255, &octet))
			return false;
		address[i] = octet;
	}
	return true;
}

/* Read a word of one to four hexadecimal digits. */
static inline bool
read_hex_word(const char **p, const char *end, uint16 *word)
{
	const char *start = *p;

	*word = 0;
	while (*p < end && *p - start < 4 && is_hex_digit(**p))
		*word = *word << 4 | hex_value(*(*p)++);
	return *p > start;
}

/*
 * Read words with a colon between them.  Two colons may occur once, and stand
 * for words of zero.
 */
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

	/*
	 * Words are gathered without the gap.  The text may end with a word or
	 * with two colons, but not with one.  The dot of an IPv4 address ends the
	 * loop, and the caller declines the text because of the rest.
	 */
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

	/* without a gap all words must be there; a gap is one word or more */
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

/* Are all bits after the prefix zero, as in addressOK() of network.c? */
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

static bool
decode_address(ColumnDecoder *decoder, const char *text, Size len,
			   Datum *value)
{
	const char *end = text + len;
	bool		is_cidr = decoder->variant == CIDR;

	/* like network_in(): every IPv6 address has a colon, no other has one */
	bool		is_ipv6 = memchr(text, ':', len) != NULL;
	int			max_bits = is_ipv6 ? 128 : 32;
	int64		bits = max_bits;
	inet	   *address = value_alloc(decoder, sizeof(inet));

	/* network_in() also clears all bytes, although IPv4 uses fewer */
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
		return false;			/* cidr_in() derives a length */
	/* cidr_in() raises the error for bits to the right of the mask */
	if (text != end ||
		(is_cidr && !is_network(ip_addr(address), bits, max_bits)))
		return false;

	ip_family(address) = is_ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET;
	ip_bits(address) = bits;
	SET_INET_VARSIZE(address);
	*value = PointerGetDatum(address);
	return true;
}

const DecoderRow network_decoders[] = {
	{F_INET_IN, decode_address,.variant = INET},
	{F_CIDR_IN, decode_address,.variant = CIDR},
	{InvalidOid}
};
