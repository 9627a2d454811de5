/*-------------------------------------------------------------------------
 *
 * json.c
 *	  Decoder of json, and the parser that it shares with the decoder of
 *	  jsonb.
 *
 * The stored value of a json is its text, so its decoder only checks that the
 * text is valid; choose.c finds this decoder.  For jsonb.c the parser also
 * makes an array of nodes.  Both accept only a part of the JSON that the
 * server's parser accepts (src/common/jsonapi.c), and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"

#include "bytes/digits.h"
#include "bytes/escape.h"
#include "types/family.h"
#include "types/json.h"

/* ----------
 * Scans the tokens of JSON, as json_lex() does (src/common/jsonapi.c).
 *
 * Each scan_...() reads at *p and moves it to the place after the token, or
 * returns false if there is no such token.  Padding follows the end of the
 * text, so that blocks of bytes can be read there.
 * ----------
 */

/*
 * Values with more levels are left to the input functions, which check the
 * depth of the stack.
 */
#define MAX_JSON_DEPTH	32

/*
 * Skip white space.  Usually there is none, or one space.  The first test
 * need not compare with the end, as padding can be read.
 */
static inline const char *
skip_json_space(const char *p, const char *end)
{
	if (likely((unsigned char) *p > ' '))
		return p;
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* Scan a token of one character, and the white space around it. */
static inline bool
scan_json_char(const char **p, const char *end, char c)
{
	const char *at = skip_json_space(*p, end);

	if (at == end || *at != c)
		return false;
	*p = skip_json_space(at + 1, end);
	return true;
}

/* Scan a word, such as "true".  The caller checks that a token follows. */
static inline bool
scan_json_word(const char **p, const char *end, const char *word, Size len)
{
	if (end - *p < (int) len || memcmp(*p, word, len) != 0)
		return false;
	*p += len;
	return true;
}

/* Scan one or more digits. */
static inline bool
scan_json_digits(const char **p, const char *end)
{
	const char *start = *p;
	int			n;

	do
	{
		n = count_digits(*p);
		*p += n;
	} while (n == 8 && *p < end);
	/* digits in the padding are not part of the number */
	*p = Min(*p, end);
	return *p > start;
}

/* Scan a number; *has_exponent becomes whether it has an exponent. */
static inline bool
scan_json_number(const char **p, const char *end, bool *has_exponent)
{
	const char *start;

	if (*p < end && **p == '-')
		(*p)++;
	start = *p;
	/* JSON allows no leading zeros */
	if (!scan_json_digits(p, end) || (*start == '0' && *p > start + 1))
		return false;
	if (*p < end && **p == '.')
	{
		(*p)++;
		if (!scan_json_digits(p, end))
			return false;
	}
	*has_exponent = *p < end && (**p | 0x20) == 'e';
	if (!*has_exponent)
		return true;
	(*p)++;
	if (*p < end && (**p == '+' || **p == '-'))
		(*p)++;
	return scan_json_digits(p, end);
}

/* Find the first quote, backslash or control character, or return "end". */
static inline const char *
find_json_special(const char *p, const char *end)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	flags = flag_special(byte_block_load(p), ESCAPE_JSON);

		if (byte_block_any(flags))
			return Min(p + byte_block_first(flags), end);
	}
	return end;
}

/*
 * Return the character that a letter after a backslash means.  Returns 0 for
 * "u", which digits follow, and for letters that are an error.
 */
static inline char
escaped_char(char letter)
{
	if (letter == '"' || letter == '\\' || letter == '/')
		return letter;
	return unescape_letter(letter);
}

/* Scan the escape whose backslash is at *p. */
static bool
scan_escape(const char **p, const char *end)
{
	const char *letter = *p + 1;

	if (letter == end)
		return false;
	*p = letter + 1;
	if (escaped_char(*letter) != '\0')
		return true;
	if (*letter != 'u' || end - letter < 5)
		return false;
	/* json_in() accepts any character, as it keeps the text */
	*p = letter + 5;
	return is_hex_digit(letter[1]) && is_hex_digit(letter[2]) &&
		is_hex_digit(letter[3]) && is_hex_digit(letter[4]);
}

/* ----------
 * Parses JSON, and makes nodes for the decoder of jsonb: one for each value
 * and each key, in the order of the text.
 * ----------
 */

/*
 * Each parse_...() reads at p and returns the place after the text that it
 * has read, or NULL if the expected text is not there.
 */
typedef struct JsonParser
{
	const char *end;
	JsonNode   *nodes;			/* NULL to check the text only */
	uint32		n_nodes;
	uint32		max_nodes;
	int			depth;
	JsonNode	unused;			/* stands for all nodes if "nodes" is NULL */
} JsonParser;

/*
 * Parse the rest of a string whose first backslash is at "from", and make a
 * copy of the string with its escapes resolved.
 */
static const char *
parse_escaped(JsonParser *parser, const char *from, JsonNode *node)
{
	const char *end;
	Size		plain = from - node->text;
	char	   *copy;
	char	   *to;

	/* find the end first: the copy is not longer than the text up to it */
	for (end = from; end < parser->end && *end != '"'; end++)
	{
		if ((unsigned char) *end < ' ' || (*end == '\\' && ++end == parser->end))
			return NULL;
	}
	if (end == parser->end)
		return NULL;

	/* put_string() of jsonb.c reads whole blocks, beyond the end */
	copy = palloc(end - node->text + BYTE_BLOCK_SIZE);
	memcpy(copy, node->text, plain);
	to = copy + plain;
	while (from < end)
	{
		char		c = *from++;

		if (c == '\\')
		{
			c = escaped_char(*from++);
			if (c == '\0')
				return NULL;
		}
		*to++ = c;
	}
	node->text = copy;
	node->len = to - copy;
	return end + 1;
}

/*
 * Parse the rest of a string whose first backslash is at p, without a copy,
 * for the decoder of json.
 */
static const char *
pass_escaped(JsonParser *parser, const char *p)
{
	while (p < parser->end && *p == '\\')
	{
		if (!scan_escape(&p, parser->end))
			return NULL;
		p = find_json_special(p, parser->end);
	}
	/* a control character also ends the loop, and is an error */
	return p < parser->end && *p == '"' ? p + 1 : NULL;
}

/* Parse the string whose opening quote is at p. */
static inline const char *
parse_string(JsonParser *parser, const char *p, JsonNode *node)
{
	node->kind = NODE_STRING;
	node->text = ++p;
	p = find_json_special(p, parser->end);
	/* most strings contain no escapes, and are not copied */
	if (unlikely(p == parser->end || *p != '"'))
		return parser->nodes == NULL ? pass_escaped(parser, p) :
			parse_escaped(parser, p, node);
	node->len = p - node->text;
	return p + 1;
}

static inline const char *
parse_number(JsonParser *parser, const char *p, JsonNode *node)
{
	bool		has_exponent;

	node->kind = NODE_NUMBER;
	node->text = p;
	/* put_numeric_of_text() reads no exponents */
	if (!scan_json_number(&p, parser->end, &has_exponent) ||
		(has_exponent && parser->nodes != NULL))
		return NULL;
	node->len = p - node->text;
	return p;
}

static inline const char *
parse_word(JsonParser *parser, const char *p, JsonNode *node, NodeKind kind,
		   const char *word, Size len)
{
	node->kind = kind;
	return scan_json_word(&p, parser->end, word, len) ? p : NULL;
}

/* Return the next unused node, or NULL if none is left. */
static inline JsonNode *
new_node(JsonParser *parser)
{
	if (parser->nodes == NULL)
		return &parser->unused;
	if (unlikely(parser->n_nodes == parser->max_nodes))
		return NULL;
	return &parser->nodes[parser->n_nodes++];
}

/* Parse a key and the colon after it. */
static inline const char *
parse_key(JsonParser *parser, const char *p)
{
	JsonNode   *key = new_node(parser);

	if (key == NULL || p == parser->end || *p != '"')
		return NULL;
	p = parse_string(parser, p, key);
	key->next = parser->n_nodes;
	return p != NULL && scan_json_char(&p, parser->end, ':') ? p : NULL;
}

static const char *parse_value(JsonParser *parser, const char *p);

/* Parse the array or object whose opening bracket is at p. */
static const char *
parse_container(JsonParser *parser, const char *p, JsonNode *node)
{
	bool		is_object = *p++ == '{';
	char		close = is_object ? '}' : ']';

	/* a text of a gigabyte may consist mostly of containers */
	CHECK_FOR_INTERRUPTS();
	node->kind = is_object ? NODE_OBJECT : NODE_ARRAY;
	node->len = 0;
	/* the input functions decide whether these are too many levels */
	if (++parser->depth > MAX_JSON_DEPTH)
		return NULL;

	p = skip_json_space(p, parser->end);
	if (p == parser->end || *p != close)
	{
		do
		{
			if (is_object)
				p = parse_key(parser, p);
			if (p != NULL)
				p = parse_value(parser, p);
			if (p == NULL)
				return NULL;
			node->len++;
		} while (scan_json_char(&p, parser->end, ','));
	}
	parser->depth--;
	p = skip_json_space(p, parser->end);
	return p < parser->end && *p == close ? p + 1 : NULL;
}

/*
 * Parse the value at p.  Its node precedes the nodes of the values in it, and
 * its "next" is set after all of these have been parsed.
 */
static const char *
parse_value(JsonParser *parser, const char *p)
{
	JsonNode   *node = new_node(parser);

	if (node == NULL || p == parser->end)
		return NULL;
	switch (*p)
	{
		case '{':
		case '[':
			p = parse_container(parser, p, node);
			break;
		case '"':
			p = parse_string(parser, p, node);
			break;
		case 't':
			p = parse_word(parser, p, node, NODE_TRUE, "true", 4);
			break;
		case 'f':
			p = parse_word(parser, p, node, NODE_FALSE, "false", 5);
			break;
		case 'n':
			p = parse_word(parser, p, node, NODE_NULL, "null", 4);
			break;
		default:
			p = parse_number(parser, p, node);
			break;
	}
	node->next = parser->n_nodes;
	return p;
}

/* Does the text consist of one value, with optional white space around it? */
static bool
parse_text(JsonParser *parser, const char *text)
{
	const char *p = parse_value(parser, skip_json_space(text, parser->end));

	return p != NULL && skip_json_space(p, parser->end) == parser->end;
}

uint32
json_parse(const char *text, Size len, JsonNode *nodes, uint32 max_nodes)
{
	JsonParser	parser = {
		.end = text + len,.nodes = nodes,.max_nodes = max_nodes
	};

	return parse_text(&parser, text) ? parser.n_nodes : 0;
}

/* ----------
 * Decoder of json
 * ----------
 */

/*
 * Like json_in(), this checks the text and returns all of it unchanged,
 * including white space.
 */
static bool
decode_json(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	JsonParser	parser = {.end = text + len};
	struct varlena *result;

	if (!parse_text(&parser, text))
		return false;
	result = varlena_alloc(decoder, len);
	memcpy(VARDATA(result), text, len);
	*value = PointerGetDatum(result);
	return true;
}

const DecoderRow json_decoders[] = {
	{F_JSON_IN, decode_json},
	{InvalidOid}
};
