/*
 * json_fields.h
 *		Structs as JSON objects: one table says how the members of a struct
 *		are written, how they are read, and what a reader refuses.
 *
 * A table is an array of JsonField that ends with a name of NULL.  It has at
 * most 64 fields.  A reader skips members of other names, so that later
 * versions can add some.
 */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "base/json.h"

typedef enum JsonFieldKind
{
	JSON_TEXT,					/* char *; NULL is null.  Text that is not
								 * UTF-8 is "\x" and hexadecimal digits */
	JSON_NAME,					/* the same, but such a text is hexadecimal
								 * digits in the member "Encoded-NAME" */
	JSON_DIGITS,				/* char *, hexadecimal digits of up to max
								 * bytes; NULL is null */
	JSON_BYTES,					/* uint8[max], of which "count" are used:
								 * hexadecimal digits */
	JSON_INT,					/* int, not negative */
	JSON_UINT32,				/* uint32, Oid, BlockNumber */
	JSON_UINT64,
	JSON_BLOCK,					/* int64; null is -1 */
	JSON_BOOL,					/* bool: 0 or 1 */
	JSON_CHAR,					/* char, as a number */
	JSON_TIME,					/* int64, microseconds since 1970: ISO 8601 in
								 * UTC */
	JSON_WORD,					/* an enum, or int: one of words */
	JSON_VERSION,				/* no member of the struct: must be max */
	JSON_OBJECT,				/* a pointer to a struct of fields */
	JSON_ARRAY					/* a pointer to "count" elements of fields */
} JsonFieldKind;

typedef enum JsonFieldFlags
{
	JSON_REQUIRED = 1,			/* a reader refuses an object without it; a
								 * text must not be null either */
	JSON_SKIP_NULL = 2			/* is not written while it is NULL, or has no
								 * bytes */
} JsonFieldFlags;

typedef struct JsonField
{
	const char *name;			/* "" in a table of a single field: elements
								 * are values, not objects */
	JsonFieldKind kind;
	size_t		offset;			/* of the member in its struct */
	int			flags;
	uint64		min;			/* of a number, or of an index in words */
	uint64		max;			/* of a number, or bytes; 0 = the type's */
	const char *const *words;	/* by value; ends with NULL */
	const struct JsonField *fields; /* of the object, or of an element */
	size_t		size;			/* of the object's struct, or an element's */
	size_t		count;			/* offset of an int: of elements, bytes */

	/* Is it written?  NULL = always. */
	bool		(*is_written) (const void *object);
} JsonField;

/* Where texts go; the caller has initialized buf. */
typedef struct JsonWriter
{
	PQExpBufferData buf;
	bool		not_utf8;		/* texts are in another encoding: JSON_NAME
								 * encodes all but ASCII */

	/* Takes what is in buf when that is large; NULL = all is kept. */
	void		(*flush) (void *arg, PQExpBuffer buf);
	void	   *arg;
} JsonWriter;

/* Append an object in one line, except for arrays of objects in it. */
extern void json_append_object(JsonWriter *writer, const JsonField *fields,
							   const void *object);

/*
 * Append an object that each member begins a line of.  The caller appends
 * further members and the closing brace.
 */
extern void json_append_document(JsonWriter *writer, const JsonField *fields,
								 const void *object);

/*
 * Read a whole text, UTF-8 or not, that is one object, into a struct that is
 * zero.  Damage sets reader->error to a text that names the member; it is
 * valid until another reader finds damage.  What was read until then is freed
 * by json_free_members(), too.
 */
extern void json_read_document(JsonReader *reader, const char *text,
							   size_t len, const JsonField *fields,
							   void *object);

/* Free what json_read_document() has allocated in the struct. */
extern void json_free_members(const JsonField *fields, void *object);

#endif							/* JSON_FIELDS_H */
