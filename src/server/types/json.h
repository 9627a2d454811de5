/*-------------------------------------------------------------------------
 *
 * json.h
 *	  Parser of JSON, for the decoder of jsonb.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_JSON_H
#define PARDUMP_JSON_H

typedef enum NodeKind
{
	NODE_NULL,
	NODE_TRUE,
	NODE_FALSE,
	NODE_NUMBER,
	NODE_STRING,
	NODE_ARRAY,
	NODE_OBJECT
} NodeKind;

typedef struct JsonNode
{
	const char *text;			/* of a number, or a string without escapes,
								 * with padding; borrowed from the input, or
								 * in the context of the call */
	uint32		len;			/* its bytes, or elements, or members */
	uint32		next;			/* the node behind all that is in this one */
	NodeKind	kind;
} JsonNode;

/*
 * Parse a text that has FIELD_PADDING behind it into up to max_nodes nodes.
 * The first node is the whole value; behind that of a container stand those
 * of its elements, or of its keys, each before that of its value.  Returns
 * how many there are, or 0 if the text is not JSON, and for some that is:
 * with \u escapes, numbers with an exponent, more depth than MAX_JSON_DEPTH,
 * or more nodes.  Strings with escapes are allocated in CurrentMemoryContext.
 */
extern uint32 json_parse(const char *text, Size len, JsonNode *nodes,
						 uint32 max_nodes);

#endif							/* PARDUMP_JSON_H */
