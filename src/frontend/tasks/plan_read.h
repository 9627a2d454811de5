/*
 * plan_read.h
 *		Reads a plan's file, and takes no other user's.
 */
#ifndef PLAN_READ_H
#define PLAN_READ_H

#include "tasks/task_plan.h"

/*
 * Open a file of the run for reading: a regular one, no link, that is this
 * user's and that nobody else may write.  -1, and *problem, which is never
 * freed, if it is none; errno is ENOENT only if there is no such file.
 */
extern int	plan_read_open(const char *path, const char **problem);

/* All of such a file, ended by a zero; owned. */
extern char *plan_read_text(int fd, const char *path, size_t *len);

/* An array that grows while it is read. */
typedef struct PlanArray
{
	char	   *elements;
	size_t		size;			/* of one */
	int			n;
	int			space;
} PlanArray;

typedef struct PlanReader PlanReader;

/* While it is being read; zero but for the callbacks, and what they need. */
struct PlanReader
{
	JsonReader	json;
	TaskRun    *run;
	PlanArray	queue;			/* int */
	PlanArray	jobs;			/* Job */
	const PlanField *fields;	/* of the rest of the head */
	void	   *head;

	/* Read the value of any other member, or skip it (json_skip()). */
	void		(*read_member) (PlanReader *reader, const char *key);

	/*
	 * Read that of a member of an element that is none of the fields, or skip
	 * it.
	 */
	void		(*read_other) (PlanReader *reader, const char *key, void *object);
};

/*
 * Read all of the file.  Exits with a message if it is not the user's own, or
 * was written by another version of the program, or for something else than a
 * dump.
 */
extern void plan_read(PlanReader *reader, const char *path);

/* The same of a text, whose version and purpose are not looked at. */
extern void plan_read_parse(PlanReader *reader, const char *text, size_t len);

/* Afterwards: exit with a message if it is damaged. */
extern void plan_read_check(const PlanReader *reader, const char *path);

/* Something is wrong with it; the first of them is told. */
extern void plan_read_wrong(PlanReader *reader, const char *problem);

/* Room for one more element, all zero. */
extern void *plan_array_grow(PlanArray *array);

/* An array of objects. */
extern void plan_read_objects(PlanReader *reader, PlanArray *array,
							  const PlanField *fields);

#endif							/* PLAN_READ_H */
