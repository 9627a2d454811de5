/*
 * copy_method.h
 *		How a file of the archive before becomes one of this.
 */
#ifndef COPY_METHOD_H
#define COPY_METHOD_H

typedef enum CopyMethod
{
	COPY_METHOD_LINK,			/* each where the one before cannot */
	COPY_METHOD_CLONE,
	COPY_METHOD_COPY
} CopyMethod;

/* As --incremental-copy-method has it, and the manifest. */
extern const char *copy_method_name(CopyMethod method);

/* The method of this name; false if there is none. */
extern bool copy_method_find(const char *name, CopyMethod *method);

#endif							/* COPY_METHOD_H */
