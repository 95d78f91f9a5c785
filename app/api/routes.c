/* The table of routes. */
#include "api/routes.h"
#include "api/create.h"
#include "api/egress.h"
#include "api/exec.h"
#include "api/execs.h"
#include "api/files.h"
#include "api/health.h"
#include "api/lease.h"
#include "api/openapi.h"
#include "api/runs.h"
#include "api/service.h"
#include "api/snapshots.h"
#include "api/warm.h"

/* open: needs no token. stream: may run long. */
const struct route routes[] = {
    {"GET", "/health", api_health, .open = true},
    {"GET", "/health/ready", api_ready, .open = true},
    {"GET", "/openapi.json", api_openapi, .stream = false},
    {"GET", "/metrics", api_metrics, .stream = false},
    {"GET", "/v1/usage", api_usage, .stream = false},
    {"POST", "/v1/runs", api_run_create, .stream = true},
    {"GET", "/v1/runs", api_run_list, .stream = false},
    {"GET", "/v1/runs/{id}", api_run_get, .stream = false},
    {"DELETE", "/v1/runs/{id}", api_run_delete, .stream = false},
    {"POST", "/v1/runs/{id}/extend", api_run_extend, .stream = false},
    {"POST", "/v1/runs/{id}/exec", api_exec, .stream = true},
    {"GET", "/v1/runs/{id}/execs", api_exec_list, .stream = false},
    {"GET", "/v1/runs/{id}/execs/{eid}", api_exec_get, .stream = false},
    {"DELETE", "/v1/runs/{id}/execs/{eid}", api_exec_end, .stream = false},
    {"GET", "/v1/runs/{id}/execs/{eid}/stream", api_exec_stream,
	.stream = true},
    {"POST", "/v1/runs/{id}/execs/{eid}/stdin", api_exec_stdin, .stream = true},
    {"POST", "/v1/runs/{id}/execs/{eid}/signal", api_exec_signal,
	.stream = false},
    {"POST", "/v1/runs/{id}/execs/{eid}/resize", api_exec_resize,
	.stream = false},
    {"GET", "/v1/runs/{id}/files", api_files_get, .stream = true},
    {"PUT", "/v1/runs/{id}/files", api_files_put, .stream = true},
    {"GET", "/v1/runs/{id}/files/{path...}", api_files_get, .stream = true},
    {"PUT", "/v1/runs/{id}/files/{path...}", api_files_put, .stream = true},
    {"POST", "/v1/runs/{id}/files/{path...}", api_files_post, .stream = true},
    {"DELETE", "/v1/runs/{id}/files/{path...}", api_files_delete,
	.stream = true},
    {"POST", "/v1/runs/{id}/snapshot", api_snapshot_take, .stream = true},
    {"GET", "/v1/snapshots", api_snapshot_list, .stream = false},
    {"DELETE", "/v1/snapshots", api_snapshot_delete, .stream = true},
    {"GET", "/v1/runs/{id}/egress", api_egress_get, .stream = false},
    {"PUT", "/v1/runs/{id}/egress", api_egress_put, .stream = false},
    {"GET", "/v1/runs/{id}/egress/log", api_egress_log, .stream = true},
    {"POST", "/v1/egress/check", api_egress_check, .stream = false},
    {"POST", "/v1/runs/{id}/lease", api_lease_acquire, .stream = false},
    {"POST", "/v1/runs/{id}/lease/renew", api_lease_renew, .stream = false},
    {"POST", "/v1/runs/{id}/lease/release", api_lease_release, .stream = false},
    {"POST", "/v1/runs/{id}/warm-commit", api_warm_commit, .stream = true},
    {"GET", "/v1/runs/{id}/warm", api_warm_look, .stream = false},
    {"GET", "/v1/warmcache", api_warm_list, .stream = false},
    {"GET", "/v1/warmcache/{repo...}", api_warm_get, .stream = false},
    {"DELETE", "/v1/warmcache/{repo...}", api_warm_drop, .stream = false},
};

const size_t route_count = sizeof(routes) / sizeof(routes[0]);
