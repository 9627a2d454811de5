/*
 * dir_listing.h
 *		The names of a directory that many hosts write to.
 *
 * A listing is cheap to ask, and may be old.  On a network's file system so
 * may be what is asked by name, unless the directory was looked at anew
 * before (close-to-open consistency, nfs(5)).
 */
#ifndef DIR_LISTING_H
#define DIR_LISTING_H

#include "base/fe_compat.h"

/* All zero at first, but for the directory. */
typedef struct DirListing
{
	const char *directory;
	char	  **names;			/* sorted */
	int			n;
	int			space;			/* names there is room for */
	int64		read_at;		/* clock_monotonic_ms(); 0 = never */
} DirListing;

/* Read it anew.  Without a directory the run is over: nothing is in it. */
extern void dir_listing_read(DirListing *listing);

/* The first name that is not less; there may be none. */
extern int	dir_listing_find(const DirListing *listing, const char *name);

/* Is there a name of this number, and does it begin so? */
extern bool dir_listing_begins(const DirListing *listing, int i,
							   const char *begin);

/* Does it have this name, or one that begins so? */
extern bool dir_listing_has(const DirListing *listing, const char *name);
extern bool dir_listing_has_beginning(const DirListing *listing,
									  const char *begin);

/* What is asked by name afterwards is not older than this. */
extern void dir_listing_look_anew(const DirListing *listing);

/* Is a file of this name, and suffix, in the directory now? */
extern bool dir_listing_is_in(const DirListing *listing, const char *name,
							  const char *suffix);

#endif							/* DIR_LISTING_H */
