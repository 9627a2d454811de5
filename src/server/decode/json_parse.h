/*-------------------------------------------------------------------------
 *
 * json_parse.h
 *	  Makes nodes of JSON: one for each value and each key, in the order of
 *	  the text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_JSON_PARSE_H
#define PARDUMP_JSON_PARSE_H

#include "postgres.h"

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
 * Parse a text that has FIELD_PADDING behind it.  The first node is the whole
 * value; behind that of a container stand those of its elements, or of its
 * keys, each before that of its value.  They are allocated in
 * CurrentMemoryContext.  Returns false if the text is no JSON, and for some
 * that is: with \u escapes, numbers with an exponent, and more depth than
 * MAX_JSON_DEPTH.
 */
extern bool json_parse(const char *text, Size len, JsonNode **nodes,
					   uint32 *n_nodes);

#endif							/* PARDUMP_JSON_PARSE_H */
