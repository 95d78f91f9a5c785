/* A run as callers see it. */
#include "api/run_view.h"
#include "lib/str.h"
#include "run/warm.h"

void
run_view(struct jw *w, const struct run *run)
{
	jw_str(w, "id", run->id);
	jw_str(w, "image", run->image);
	jw_str(w, "network", run->network);
	jw_time(w, "createdAt", run->created_ms);
	jw_time(w, "expiresAt", run->expires_ms);
	jw_str(w, "state", run->state);
	if (*run->labels != '\0')
		jw_raw(w, "labels", run->labels);
	if (run->auto_extend)
		jw_bool(w, "autoExtend", run->auto_extend);
	if (warm_has(run)) {
		jw_key(w, "warm");
		jw_open(w, '{');
		jw_str(w, "repo", run->warm_repo);
		jw_str(w, "path", run->warm_path);
		jw_bool(w, "booted", run->warm_booted);
		jw_str(w, "lockHash", run->warm_hash);
		jw_str(w, "repoDir", run->warm_dir);
		jw_close(w, '}');
	}
	if (*run->lease_holder == '\0' || run->lease_expires_ms <= run->read_ms)
		return;
	jw_key(w, "lease");
	jw_open(w, '{');
	jw_str(w, "holder", run->lease_holder);
	jw_int(w, "generation", run->lease_generation);
	jw_time(w, "expiresAt", run->lease_expires_ms);
	jw_close(w, '}');
}

void
run_view_more(struct jw *w, const struct run *run)
{
	jw_key(w, "limits");
	jw_open(w, '{');
	jw_int(w, "memoryMb", run->memory_mb);
	jw_real(w, "cpus", run->cpus);
	jw_int(w, "pids", run->pids);
	jw_close(w, '}');
	if (str_eq(run->network, "allowlist"))
		jw_raw(w, "egressAllow",
		    *run->egress_allow != '\0' ? run->egress_allow : "[]");
	jw_int(w, "inFlight", run->in_flight);
	if (run->disk_ms > 0) {
		jw_key(w, "disk");
		jw_open(w, '{');
		jw_int(w, "bytes", run->disk_bytes);
		jw_time(w, "at", run->disk_ms);
		if (run->disk_warned)
			jw_bool(w, "warning", true);
		jw_close(w, '}');
	}
	if (!str_eq(run->state, "exited"))
		return;
	jw_key(w, "exit");
	jw_open(w, '{');
	jw_int(w, "code", run->exit_code);
	jw_bool(w, "oomKilled", run->oom_killed);
	jw_time(w, "at", run->exited_ms);
	if (*run->exit_reason != '\0')
		jw_str(w, "reason", run->exit_reason);
	jw_close(w, '}');
}
