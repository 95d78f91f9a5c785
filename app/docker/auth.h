/*
 * Credentials of registries: from Docker's config.json to the engine's
 * X-Registry-Auth.
 *
 * Pure. Of a config.json only `auths` is read, not credsStore or credHelpers:
 * those are programs to run.
 */
#ifndef SBX_DOCKER_AUTH_H
#define SBX_DOCKER_AUTH_H

#include "lib/buf.h"
#include "lib/err.h"

/*
 * Append the header's value for that registry (reference.h's host): nothing
 * where config has no entry for it. ERR_INTERNAL where config is not JSON or
 * the entry cannot be read; the text names the host, never a secret.
 */
int auth_header(const char *config, size_t size, const char *host,
    struct buf *to, struct err *e);

#endif
