/*
 * toc_database.h
 *		Is an archive that of the database which is meant?
 */
#ifndef TOC_DATABASE_H
#define TOC_DATABASE_H

#include "toc/toc.h"

/*
 * This process is to read the archive of the database with this OID and name.
 * The directory of a cluster's dump says so, but the archives in it may have
 * been moved: what is in one would go elsewhere, or be taken for whole.
 */
extern void toc_database_expect(Oid oid, const char *name);
extern bool toc_database_is_expected(void);

/*
 * What the archive is of, and what it should be of, to follow its name in a
 * message, owned; NULL if it is of the one that is meant, or any will do.
 */
extern char *toc_database_problem(const Toc *toc);

#endif							/* TOC_DATABASE_H */
