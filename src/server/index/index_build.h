/*-------------------------------------------------------------------------
 *
 * index_build.h
 *	  Builds new btree indexes in place of the server.
 *
 * index_compare.c installs the hooks of this file, decides when they build an
 * index, and uses them to build the indexes that it compares.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_BUILD_H
#define PARDUMP_INDEX_BUILD_H

typedef enum IndexBuildMode
{
	INDEX_BUILD_SERVER,			/* the server builds all indexes */
	INDEX_BUILD_LEFT,			/* the server builds them, and DEBUG1 messages
								 * report why */
	INDEX_BUILD_FAST			/* the extension builds them if it can */
} IndexBuildMode;

/*
 * A function that returns the current mode.  It is called when an index is
 * created, and again when its build begins.  If it returns INDEX_BUILD_LEFT,
 * it sets *reason to half a sentence, which is not freed.
 */
typedef IndexBuildMode (*IndexBuildModeFunction) (const char **reason);

/*
 * Install the hooks.  This must be called once, when the library is loaded.
 * If the major version is not supported, nothing is installed.
 */
extern void index_build_install(IndexBuildModeFunction mode);

/* Return why indexes of this major version cannot be built, or NULL. */
extern const char *index_build_unsupported(void);

/* Return how many indexes the extension has built in this session. */
extern uint64 index_build_count(void);

#endif							/* PARDUMP_INDEX_BUILD_H */
