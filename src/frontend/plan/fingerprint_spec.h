/*
 * fingerprint_spec.h
 *		By what fingerprints of rows are taken, and what they are worth under.
 */
#ifndef FINGERPRINT_SPEC_H
#define FINGERPRINT_SPEC_H

#include "base/fe_compat.h"

#include "common/checksum_helper.h"
#include "libpq-fe.h"

typedef struct FingerprintSpec
{
	const char *algorithm;		/* as pg_pardump_fingerprint() has it */
	const char *key;			/* hexadecimal */
	char	   *settings;		/* of the sessions that read; owned */
} FingerprintSpec;

/* The settings of a session that rows are printed by, as text; owned. */
extern char *fingerprint_settings(PGconn *conn);

/*
 * With a key of its own, for an archive with checksums of this kind: who asks
 * for SHA there is afraid of intent, and gets fingerprints of SHA-256.
 */
extern FingerprintSpec *fingerprint_spec_new(PGconn *conn,
											 pg_checksum_type checksum_type);

#endif							/* FINGERPRINT_SPEC_H */
