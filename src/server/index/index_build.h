/*-------------------------------------------------------------------------
 *
 * index_build.h
 *	  Builds new btree indexes in place of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_INDEX_BUILD_H
#define PARDUMP_INDEX_BUILD_H

typedef enum IndexBuildMode
{
	INDEX_BUILD_SERVER,			/* the server builds all indexes */
	INDEX_BUILD_LEFT,			/* so it does, but the log says why */
	INDEX_BUILD_FAST
} IndexBuildMode;

/*
 * The mode for the indexes that are created from now on, and for a build that
 * has not begun yet, by a function of the caller's that is asked for it.  In
 * INDEX_BUILD_LEFT it sets *reason, half a sentence that is not to be freed.
 */
typedef IndexBuildMode (*IndexBuildModeFunction) (const char **reason);

/*
 * Install the hooks, once, when the library is loaded.  Where builds are not
 * supported nothing is installed.
 */
extern void index_build_install(IndexBuildModeFunction mode);

/* Why this release's builds are left to the server, or NULL. */
extern const char *index_build_unsupported(void);

/* How many indexes were built here in the session. */
extern uint64 index_build_count(void);

#endif							/* PARDUMP_INDEX_BUILD_H */
