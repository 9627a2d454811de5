/*
 * plan_field.h
 *		Members of structs as members of JSON objects: one table says how they
 *		are written and how they are read.
 */
#ifndef PLAN_FIELD_H
#define PLAN_FIELD_H

#include "base/json_reader.h"
#include "pqexpbuffer.h"

typedef enum PlanFieldKind
{
	PLAN_TEXT,					/* char *, may be NULL; any bytes */
	PLAN_INT,					/* int, not negative */
	PLAN_UINT32,				/* uint32, Oid, BlockNumber */
	PLAN_UINT64,
	PLAN_BOOL,
	PLAN_CHAR
} PlanFieldKind;

/* A table of them ends with a name that is NULL. */
typedef struct PlanField
{
	const char *name;
	PlanFieldKind kind;
	size_t		offset;			/* of the member in its struct */
} PlanField;

/*
 * A text as a JSON string.  JSON is UTF-8, and texts are in the archive's
 * encoding: what is not valid UTF-8, or begins like that, is "\x" and
 * hexadecimal digits.  NULL is null.
 */
extern void plan_field_append_text(PQExpBuffer buf, const char *text);

/* Read what that wrote; owned. */
extern char *plan_field_read_text(JsonReader *reader);

/* Append "name": value for all of them, with commas in between. */
extern void plan_fields_append(PQExpBuffer buf, const PlanField *fields,
							   const void *object);

/*
 * Read the value of a member with this name into the object.  False, and
 * nothing is read, if none of the fields has this name.
 */
extern bool plan_field_read(JsonReader *reader, const PlanField *fields,
							void *object, const char *name);

/* Free the texts. */
extern void plan_fields_free(const PlanField *fields, void *object);

#endif							/* PLAN_FIELD_H */
