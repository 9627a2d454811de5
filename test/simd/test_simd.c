/*
 * test_simd.c
 *		The server's scanning and escaping of bytes against byte-by-byte
 *		references, on random input, outside of the server.
 *
 * Compiled once for each variant of src/server/bytes/byte_block.h; see
 * run.sh.
 */
#include "postgres.h"

#include <time.h>

#include "common/pg_lzcompress.h"

#include "bytes/digits.h"
#include "bytes/escape.h"
#include "bytes/pglz.h"
#include "load/row_reader.h"

/* The C library's; PostgreSQL's are in a library of one platform. */
#undef printf
#undef sprintf

#define ROUNDS			100000
#define MAX_TEXT		200
#define MAX_PGLZ		3000

static const char *const alphabets[] = {
	"abcdefgh", "abcdefgh\n", "\"\\\t\n\r\b\f\v\001\037\177\200\377 a", NULL
};

static uint64 seed;

/* splitmix64 */
static uint32
random_below(uint32 bound)
{
	uint64		z = seed += UINT64CONST(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64CONST(0x94d049bb133111eb);
	return (uint32) ((z ^ z >> 31) >> 32) % bound;
}

static void
check(bool right, const char *what)
{
	if (right)
		return;
	printf("%s differs\n", what);
	exit(1);
}

/* Bytes of one alphabet, some of them replaced by any byte. */
static void
random_text(char *text, Size len)
{
	const char *alphabet = alphabets[random_below(lengthof(alphabets))];
	bool		any_byte = random_below(4) == 0;

	for (Size i = 0; i < len; i++)
	{
		if (alphabet == NULL || (any_byte && random_below(20) == 0))
			text[i] = (char) random_below(256);
		else
			text[i] = alphabet[random_below(strlen(alphabet))];
	}
}

/* CopyAttributeOutText() of copyto.c, up to a zero byte. */
static Size
copy_escapes(char *to, const char *from, Size len)
{
	static const char special[] = "\b\f\n\r\t\v\\";
	static const char letters[] = "bfnrtv\\";
	char	   *start = to;

	for (; len > 0 && *from != '\0'; from++, len--)
	{
		const char *found = strchr(special, *from);

		if (found != NULL)
			*to++ = '\\';
		*to++ = found != NULL ? letters[found - special] : *from;
	}
	return to - start;
}

/* escape_json() of json.c, up to a zero byte. */
static Size
json_escapes(char *to, const char *from, Size len)
{
	static const char special[] = "\b\f\n\r\t\"\\";
	static const char letters[] = "bfnrt\"\\";
	char	   *start = to;

	for (; len > 0 && *from != '\0'; from++, len--)
	{
		const char *found = strchr(special, *from);

		if (found != NULL)
			to += sprintf(to, "\\%c", letters[found - special]);
		else if ((unsigned char) *from < ' ')
			to += sprintf(to, "\\u%04x", *from);
		else
			*to++ = *from;
	}
	return to - start;
}

/*
 * Each text in an allocation of its own: a sanitizer sees what goes beyond.
 */
static void
test_text(void)
{
	Size		len = random_below(MAX_TEXT);
	char	   *text = malloc(len);
	char	   *to = malloc(JSON_ESCAPED_SIZE(len));
	char		json[6 * MAX_TEXT + 1];
	char		expected[12 * MAX_TEXT + 1];
	Size		expected_len;
	char	   *end;
	bool		ascii = true;

	random_text(text, len);
	end = copy_escaping(to, text, len, ESCAPE_JSON);
	expected_len = json_escapes(json, text, len);
	check(end - to == expected_len && memcmp(to, json, expected_len) == 0,
		  "JSON escaping");

	end = copy_escaping(to, text, len, ESCAPE_JSON_COPY);
	expected_len = copy_escapes(expected, json, expected_len);
	check(end - to == expected_len && memcmp(to, expected, expected_len) == 0,
		  "JSON and COPY escaping");

	to = realloc(to, COPY_ESCAPED_SIZE(len));
	end = copy_escaping(to, text, len, ESCAPE_COPY);
	expected_len = copy_escapes(expected, text, len);
	check(end - to == expected_len && memcmp(to, expected, expected_len) == 0,
		  "COPY escaping");

	for (Size i = 0; i < len; i++)
		ascii &= (unsigned char) text[i] < 0x80;
	check(text_is_ascii(text, len) == ascii, "ASCII test");

	free(text);
	free(to);
}

static void
test_hex(void)
{
	char		bytes[16];
	char		to[32];
	char		expected[33];

	random_text(bytes, sizeof(bytes));
	for (int i = 0; i < 16; i++)
		sprintf(expected + 2 * i, "%02x", (uint8) bytes[i]);
	check(put_hex_16(to, (uint8 *) bytes) == to + 32 &&
		  memcmp(to, expected, 32) == 0, "hexadecimal");
}

static void
test_digits(void)
{
	uint64		n = (uint64) random_below(PG_UINT32_MAX) << 32;
	char		to[INTEGER_TEXT_ROOM];
	char		expected[INTEGER_TEXT_ROOM];

	n = (n | random_below(PG_UINT32_MAX)) >> random_below(64);
	sprintf(expected, INT64_FORMAT, (int64) n);
	*put_int64(to, (int64) n) = '\0';
	check(strcmp(to, expected) == 0, "64-bit integer");
	sprintf(expected, "%d", (int32) n);
	*put_int64(to, (int32) n) = '\0';
	check(strcmp(to, expected) == 0, "32-bit integer");
	if (n % 1000000 == 0)
		return;
	sprintf(expected, "%06d", (int) (n % 1000000));
	for (int i = 5; expected[i] == '0'; i--)
		expected[i] = '\0';
	*put_fraction_8(to, 100 * (n % 1000000)) = '\0';
	check(strcmp(to, expected) == 0, "fraction");
}

/* Digits, or a few other bytes among them, read back. */
static void
test_read_digits(void)
{
	Size		len = 1 + random_below(19);
	char		text[19 + READ_DIGITS_SLACK];
	uint64		expected = 0;
	uint64		n;
	uint32		n_32;
	bool		digits = true;

	random_text(text, sizeof(text));
	for (Size i = 0; i < len; i++)
	{
		if (random_below(50) > 0)
			text[i] = '0' + random_below(10);
		digits &= text[i] >= '0' && text[i] <= '9';
		expected = expected * 10 + (text[i] - '0');
	}
	check(read_uint_19(text, len, &n) == digits && (!digits || n == expected),
		  "number of digits");
	if (len <= 8)
		check(read_uint_8(text, len, &n_32) == digits &&
			  (!digits || n_32 == expected), "short number of digits");
	if (len == 4)
		check(read_4_digits(text, &n_32) == digits &&
			  (!digits || n_32 == expected), "four digits");
}

static void
test_read_hex(void)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	char		text[16];
	uint8		bytes[8];
	uint8		expected[8];
	bool		digits = true;

	for (int i = 0; i < 16; i++)
	{
		text[i] = hex[random_below(22)];
		if (random_below(100) == 0)
			text[i] = random_below(256);
		digits &= text[i] != '\0' && strchr(hex, text[i]) != NULL;
	}
	check(read_hex_8(text, bytes) == digits, "hexadecimal digits");
	for (int i = 0; i < 8 && digits; i++)
	{
		char		pair[3] = {text[2 * i], text[2 * i + 1], '\0'};

		expected[i] = strtoul(pair, NULL, 16);
	}
	check(!digits || memcmp(bytes, expected, 8) == 0, "bytes of hexadecimal");
}

/* Random items of pglz, and what they make, byte by byte. */
static void
test_pglz(void)
{
	Size		expected_len = 0;
	Size		goal = 1 + random_below(MAX_PGLZ);
	unsigned int match_share = random_below(9);
	char		expected[MAX_PGLZ + 300];
	unsigned char packed[2 * MAX_PGLZ];
	unsigned char *control = NULL;
	Size		packed_len = 0;
	char	   *source;
	char	   *to;

	for (int item = 0; expected_len < goal; item = (item + 1) % 8)
	{
		if (item == 0)
		{
			control = packed + packed_len++;
			*control = 0;
		}
		if (expected_len > 0 && random_below(8) < match_share)
		{
			uint32		farthest = random_below(2) ? 20 : 4095;
			Size		offset = 1 + random_below(Min(expected_len, farthest));
			Size		len = 3 + random_below(random_below(2) ? 16 : 271);

			*control |= 1 << item;
			packed[packed_len++] = (offset & 0xf00) >> 4 | Min(len - 3, 15);
			packed[packed_len++] = offset & 0xff;
			if (len >= 18)
				packed[packed_len++] = len - 18;
			for (; len > 0; len--, expected_len++)
				expected[expected_len] = expected[expected_len - offset];
		}
		else
			packed[packed_len++] = expected[expected_len++] = random_below(256);
	}
	source = malloc(packed_len);
	memcpy(source, packed, packed_len);
	to = malloc(expected_len + PGLZ_SLACK);
	check(pglz_decode(source, packed_len, to, expected_len) &&
		  memcmp(to, expected, expected_len) == 0, "pglz");

	/* Damage may decode to anything, inside of the output. */
	source[random_below(packed_len)] = random_below(256);
	(void) pglz_decode(source, random_below(packed_len + 1), to, expected_len);
	free(source);
	free(to);
}

/* Random text that repeats itself, compressed and decompressed again. */
static void
test_pglz_encode(void)
{
	Size		len = random_below(8) ? random_below(MAX_PGLZ) : 60000 + random_below(20000);
	unsigned int letters = 1 + random_below(random_below(2) ? 4 : 256);
	char	   *text = malloc(Max(len, 1));
	char	   *packed = malloc(PGLZ_MAX_OUTPUT(len));
	char	   *to = malloc(len + PGLZ_SLACK);
	int32		packed_len;

	for (Size i = 0; i < len; i++)
		text[i] = random_below(letters);
	packed_len = pglz_encode(text, len, packed);
	check(packed_len < 0 || packed_len < (int32) len, "length of pglz");
	check(packed_len < 0 ||
		  (pglz_decode(packed, packed_len, to, len) &&
		   memcmp(to, text, len) == 0), "pglz of text");
	check(packed_len >= 0 || len < 32 || letters > 1, "pglz of one byte");
	free(text);
	free(packed);
	free(to);
}

/* The bits of a block's flags, and COPY's escapes resolved again. */
static void
test_fields(void)
{
	Size		len = BYTE_BLOCK_SIZE + random_below(MAX_TEXT);
	char	   *text = malloc(len);
	char	   *escaped = malloc(2 * len + BYTE_BLOCK_SIZE);
	char	   *plain = malloc(2 * len + BYTE_BLOCK_SIZE);
	uint8		c = random_below(0x80);
	uint64		equal = 0;
	uint64		at_most = 0;
	ByteBlock	block;
	Field		field;
	Size		end;

	random_text(text, len);
	block = byte_block_load(text);
	for (int i = 0; i < BYTE_BLOCK_SIZE; i++)
	{
		equal |= (uint64) ((uint8) text[i] == c) << i;
		at_most |= (uint64) ((uint8) text[i] <= c) << i;
	}
	check(byte_block_bits(byte_block_eq(block, c)) == equal &&
		  byte_block_bits(byte_block_le(block, c)) == at_most,
		  "bits of flags");

	field.text = escaped;
	field.len = copy_escapes(escaped, text, len);
	field.escaped = true;
	end = field_unescape(&field, plain);
	check(end == strnlen(text, len) && memcmp(plain, text, end) == 0,
		  "text without escapes");
	free(text);
	free(escaped);
	free(plain);
}

int
main(int argc, char *argv[])
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64) time(NULL);
	printf("seed " UINT64_FORMAT ": ", seed);
	for (int i = 0; i < ROUNDS; i++)
	{
		test_text();
		test_hex();
		test_fields();
		test_digits();
		test_read_hex();
		test_read_digits();
		if (i % 10 == 0)
		{
			test_pglz();
			test_pglz_encode();
		}
	}
	printf("the same\n");
	return 0;
}
