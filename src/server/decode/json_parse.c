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

typedef struct JsonParser
{
	const char *p;
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

/*
 * Take a string that has a backslash at the parser's place from there on, in
 * a copy without escapes.
 */
static bool
parse_escaped(JsonParser *parser, JsonNode *node)
{
	const char *from = parser->p;
	const char *end;
	Size		plain = from - node->text;
	char	   *copy;
	char	   *to;

	for (end = from; end < parser->end && *end != '"'; end++)
	{
		if ((unsigned char) *end < ' ' || (*end == '\\' && ++end == parser->end))
			return false;
	}
	if (end == parser->end)
		return false;

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
				return false;
		}
		*to++ = c;
	}
	node->text = copy;
	node->len = to - copy;
	parser->p = end + 1;
	return true;
}

/* The string whose opening quote is at the parser's place. */
static inline bool
parse_string(JsonParser *parser, JsonNode *node)
{
	node->kind = NODE_STRING;
	node->text = ++parser->p;
	parser->p = find_json_special(parser->p, parser->end);
	if (likely(parser->p < parser->end && *parser->p == '"'))
		node->len = parser->p++ - node->text;
	else if (!parse_escaped(parser, node))
		return false;
	return true;
}

static inline bool
parse_number(JsonParser *parser, JsonNode *node)
{
	bool		has_exponent;

	node->kind = NODE_NUMBER;
	node->text = parser->p;
	if (!scan_json_number(&parser->p, parser->end, &has_exponent) ||
		has_exponent)
		return false;
	node->len = parser->p - node->text;
	return true;
}

static inline bool
parse_word(JsonParser *parser, JsonNode *node, NodeKind kind,
		   const char *word, Size len)
{
	node->kind = kind;
	return scan_json_word(&parser->p, parser->end, word, len);
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
static inline bool
parse_key(JsonParser *parser)
{
	JsonNode   *key = new_node(parser);

	if (key == NULL || parser->p == parser->end || *parser->p != '"' ||
		!parse_string(parser, key))
		return false;
	key->next = parser->n_nodes;
	return scan_json_char(&parser->p, parser->end, ':');
}

static bool parse_value(JsonParser *parser);

/* The array or object whose opening bracket is at the parser's place. */
static bool
parse_container(JsonParser *parser, JsonNode *node)
{
	bool		is_object = *parser->p++ == '{';
	char		close = is_object ? '}' : ']';

	CHECK_FOR_INTERRUPTS();
	node->kind = is_object ? NODE_OBJECT : NODE_ARRAY;
	node->len = 0;
	if (++parser->depth > MAX_JSON_DEPTH)
		return false;

	parser->p = skip_json_space(parser->p, parser->end);
	if (parser->p == parser->end || *parser->p != close)
	{
		do
		{
			if ((is_object && !parse_key(parser)) || !parse_value(parser))
				return false;
			node->len++;
		} while (scan_json_char(&parser->p, parser->end, ','));
	}
	parser->depth--;
	parser->p = skip_json_space(parser->p, parser->end);
	return parser->p < parser->end && *parser->p++ == close;
}

static bool
parse_value(JsonParser *parser)
{
	JsonNode   *node = new_node(parser);
	bool		parsed;

	if (node == NULL || parser->p == parser->end)
		return false;
	switch (*parser->p)
	{
		case '{':
		case '[':
			parsed = parse_container(parser, node);
			break;
		case '"':
			parsed = parse_string(parser, node);
			break;
		case 't':
			parsed = parse_word(parser, node, NODE_TRUE, "true", 4);
			break;
		case 'f':
			parsed = parse_word(parser, node, NODE_FALSE, "false", 5);
			break;
		case 'n':
			parsed = parse_word(parser, node, NODE_NULL, "null", 4);
			break;
		default:
			parsed = parse_number(parser, node);
			break;
	}
	node->next = parser->n_nodes;
	return parsed;
}

uint32
json_parse(const char *text, Size len, JsonNode *nodes, uint32 max_nodes)
{
	JsonParser	parser = {
		.p = text,.end = text + len,.nodes = nodes,.max_nodes = max_nodes
	};

	parser.p = skip_json_space(parser.p, parser.end);
	if (!parse_value(&parser) ||
		skip_json_space(parser.p, parser.end) != parser.end)
		return 0;
	return parser.n_nodes;
}
