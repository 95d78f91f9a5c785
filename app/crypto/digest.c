/* Digests by libcrypto. */
#include "crypto/digest.h"
#include "lib/str.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

void
digest_keyed(const unsigned char key[DIGEST_KEY_SIZE], const void *bytes,
    size_t size, char to[DIGEST_HEX_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned digest_size = 0;

	/* It fails for want of memory alone. */
	if (HMAC(EVP_sha256(), key, DIGEST_KEY_SIZE, bytes, size, digest,
		&digest_size) == NULL ||
	    digest_size * 2 + 1 != DIGEST_HEX_SIZE)
		abort();
	str_hex(to, digest, digest_size);
}

void
digest_begin(struct digest *ret_digest)
{
	ret_digest->ctx = EVP_MD_CTX_new();
	if (ret_digest->ctx == NULL ||
	    EVP_DigestInit_ex(ret_digest->ctx, EVP_sha256(), NULL) != 1)
		abort();
}

void
digest_add(struct digest *d, const void *bytes, size_t size)
{
	if (EVP_DigestUpdate(d->ctx, bytes, size) != 1)
		abort();
}

void
digest_end(struct digest *d, char to[DIGEST_HEX_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	if (EVP_DigestFinal_ex(d->ctx, digest, &size) != 1 ||
	    size * 2 + 1 != DIGEST_HEX_SIZE)
		abort();
	EVP_MD_CTX_free(d->ctx);
	d->ctx = NULL;
	str_hex(to, digest, size);
}
