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
