/*-------------------------------------------------------------------------
 *
 * keyed_hash.c
 *	  Poly1305 and HMAC by OpenSSL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "utils/memutils.h"

#include "fingerprint/keyed_hash.h"

struct KeyedHash
{
	EVP_MD_CTX *context;		/* of OpenSSL's own memory */
	MemoryContextCallback free_context;
};

bool
keyed_hash_parse(const char *name, KeyedHashAlgorithm *algorithm)
{
	if (strcmp(name, "poly1305") == 0)
		*algorithm = KEYED_HASH_POLY1305;
	else if (strcmp(name, "sha256") == 0)
		*algorithm = KEYED_HASH_SHA256;
	else
		return false;
	return true;
}

static void
check(bool done)
{
	unsigned long error;

	if (done)
		return;
	error = ERR_get_error();
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not compute fingerprint: %s",
					error ? ERR_reason_error_string(error) : "out of memory")));
}

static void
free_context(void *arg)
{
	KeyedHash  *hash = arg;

	EVP_MD_CTX_free(hash->context);
	hash->context = NULL;
}

/* The context, with the key in it. */
static void
set_key(EVP_MD_CTX * context, KeyedHashAlgorithm algorithm,
		const unsigned char *key)
{
	bool		is_sha256 = algorithm == KEYED_HASH_SHA256;
	EVP_PKEY   *secret = EVP_PKEY_new_raw_private_key(is_sha256 ? EVP_PKEY_HMAC
													  : EVP_PKEY_POLY1305,
													  NULL, key,
													  KEYED_HASH_KEY_BYTES);
	bool		done = secret != NULL &&
		EVP_DigestSignInit(context, NULL, is_sha256 ? EVP_sha256() : NULL,
						   NULL, secret) > 0;

	EVP_PKEY_free(secret);		/* the context has its own reference */
	check(done);
}

KeyedHash *
keyed_hash_new(KeyedHashAlgorithm algorithm, const unsigned char *key)
{
	KeyedHash  *hash = palloc0(sizeof(KeyedHash));

	hash->free_context.func = free_context;
	hash->free_context.arg = hash;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &hash->free_context);
	hash->context = EVP_MD_CTX_new();
	check(hash->context != NULL);
	set_key(hash->context, algorithm, key);
	return hash;
}

void
keyed_hash_add(KeyedHash *hash, const void *data, Size bytes)
{
	check(EVP_DigestSignUpdate(hash->context, data, bytes) > 0);
}

bytea *
keyed_hash_value(const KeyedHash *hash)
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	unsigned char value[EVP_MAX_MD_SIZE];
	size_t		bytes = sizeof(value);
	bool		done = copy != NULL &&
		EVP_MD_CTX_copy_ex(copy, hash->context) > 0 &&
		EVP_DigestSignFinal(copy, value, &bytes) > 0;
	bytea	   *result;

	EVP_MD_CTX_free(copy);
	check(done);
	result = palloc(VARHDRSZ + bytes);
	SET_VARSIZE(result, VARHDRSZ + bytes);
	memcpy(VARDATA(result), value, bytes);
	return result;
}

void
keyed_hash_free(KeyedHash *hash)
{
	free_context(hash);			/* its callback then finds nothing to do */
}
