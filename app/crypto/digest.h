/*
 * Digests by OpenSSL's libcrypto: the only file that knows it.
 */
#ifndef SBX_CRYPTO_DIGEST_H
#define SBX_CRYPTO_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX_SIZE 65 /* SHA-256 in lower-case hex, and a NUL */
#define DIGEST_KEY_SIZE 32

/* HMAC-SHA-256 (RFC 2104) of bytes. */
void digest_keyed(const unsigned char key[DIGEST_KEY_SIZE], const void *bytes,
    size_t size, char to[DIGEST_HEX_SIZE]);

/* SHA-256 (FIPS 180-4) of bytes as they come. */
struct digest {
	struct evp_md_ctx_st *ctx;
};

void digest_begin(struct digest *ret_digest);
void digest_add(struct digest *d, const void *bytes, size_t size);
/* Tells it, and ends what digest_begin began. */
void digest_end(struct digest *d, char to[DIGEST_HEX_SIZE]);

#endif
