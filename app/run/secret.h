/*
 * This stack's secret: 32 random bytes in SBX_STATE_DIR/secret, made once, mode
 * 0600. It keys the hashes that are stored in place of what callers sent.
 */
#ifndef SBX_RUN_SECRET_H
#define SBX_RUN_SECRET_H

#include "config.h"
#include "crypto/digest.h"
#include "lib/err.h"

int secret_read(const struct config *config, unsigned char to[DIGEST_KEY_SIZE],
    struct err *e);

#endif
