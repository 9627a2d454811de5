/*-------------------------------------------------------------------------
 *
 * json_parse.c
 *	  Makes nodes of JSON: one for each value and each key, in the order of
 *	  the text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "decode/json_parse.h"
#include "decode/json_scan.h"

/*
 * Each parse_...() reads at p and returns the place behind what it has read,
 * or NULL if that is not there.
 */
typedef struct JsonParser
{
	const char *end;
	JsonNode   *nodes;
	uint32		n_nodes;
	uint32		max_nodes;
	int			depth;
} JsonParser;

/* What a letter behind a backslash stands for, 0 if for nothing, or a "u". */
static inline char
escaped_char(char letter)
{
	switch (letter)
	{
		case '"':
		case '\\':
		case '/':
			return letter;
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		default:
			return '\0';
	}
}

/* A string, its first backslash at "from", in a copy without escapes. */
static const char *
parse_escaped(JsonParser *parser, const char *from, JsonNode *node)
{
	const char *end;
	Size		plain = from - node->text;
	char	   *copy;
	char	   *to;

	for (end = from; end < parser->end && *end != '"'; end++)
	{
		if ((unsigned char) *end < ' ' || (*end == '\\' && ++end == parser->end))
			return NULL;
	}
	if (end == parser->end)
		return NULL;

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

/* The string whose opening quote is at p. */
static inline const char *
parse_string(JsonParser *parser, const char *p, JsonNode *node)
{
	node->kind = NODE_STRING;
	node->text = ++p;
	p = find_json_special(p, parser->end);
	if (unlikely(p == parser->end || *p != '"'))
		return parse_escaped(parser, p, node);
	node->len = p - node->text;
	return p + 1;
}

static inline const char *
parse_number(JsonParser *parser, const char *p, JsonNode *node)
{
	bool		has_exponent;

	node->kind = NODE_NUMBER;
	node->text = p;
	if (!scan_json_number(&p, parser->end, &has_exponent) || has_exponent)
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

/* The next node, or NULL if there is none left. */
static inline JsonNode *
new_node(JsonParser *parser)
{
	if (unlikely(parser->n_nodes == parser->max_nodes))
		return NULL;
	return &parser->nodes[parser->n_nodes++];
}

/* A key and the colon behind it. */
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

/* The array or object whose opening bracket is at p. */
static const char *
parse_container(JsonParser *parser, const char *p, JsonNode *node)
{
	bool		is_object = *p++ == '{';
	char		close = is_object ? '}' : ']';

	CHECK_FOR_INTERRUPTS();
	node->kind = is_object ? NODE_OBJECT : NODE_ARRAY;
	node->len = 0;
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

uint32
json_parse(const char *text, Size len, JsonNode *nodes, uint32 max_nodes)
{
	JsonParser	parser = {
		.end = text + len,.nodes = nodes,.max_nodes = max_nodes
	};
	const char *p = parse_value(&parser, skip_json_space(text, parser.end));

	if (p == NULL || skip_json_space(p, parser.end) != parser.end)
		return 0;
	return parser.n_nodes;
}
