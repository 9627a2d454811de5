/*-------------------------------------------------------------------------
 *
 * json.h
 *	  Parses JSON into nodes, for the decoder of jsonb.
 *
 * jsonb.c needs all nodes of a text before it can write the stored form, in
 * which the keys of an object precede its values.  The decoder of json itself
 * is in json.c, next to the parser.
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
	const char *text;			/* of a number, or of a string with escapes
								 * resolved; padding follows; part of the
								 * input, or allocated */
	uint32		len;			/* number of bytes, elements or members */
	uint32		next;			/* index of the node after this one and all
								 * nodes in it */
	NodeKind	kind;
} JsonNode;

/*
 * Parse a text, which FIELD_PADDING follows, into up to max_nodes nodes.  The
 * first node is the whole value.  The node of an array is followed by those
 * of its elements, the node of an object by those of each key and its value.
 * Returns the number of nodes, or 0 if the text is not JSON.  Also returns 0
 * for JSON with \u escapes, with exponents of numbers, with more levels than
 * MAX_JSON_DEPTH, or with more nodes.  Strings with escapes are allocated in
 * CurrentMemoryContext.
 */
extern uint32 json_parse(const char *text, Size len, JsonNode *nodes,
						 uint32 max_nodes);

#endif							/* PARDUMP_JSON_H */
