/* Between client.c and stream.c: a request with the stack's address and token,
 * and a write function that fills a struct buf. */
#ifndef SBX_E2E_CURL_H
#define SBX_E2E_CURL_H

#include <curl/curl.h>
#include <stdarg.h>
#include <stddef.h>

/* The caller frees the handle, then the list. */
CURL *curl_request(const char *method, const char *path, const char *body,
    va_list headers, struct curl_slist **ret_list);

size_t curl_into_buf(char *bytes, size_t one, size_t size, void *arg);

#endif
