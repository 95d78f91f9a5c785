/* The table of routes: read it and you know the product. */
#ifndef SBX_API_ROUTES_H
#define SBX_API_ROUTES_H

#include "http/router.h"

extern const struct route routes[];
extern const size_t route_count;

#endif
