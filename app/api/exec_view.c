/* An exec as callers see it. */
#include "api/exec_view.h"
#include "api/exec_stream.h"

const char *
exec_view_error(const struct wire_exit *x)
{
	if (x->code != -1 || x->timed_out)
		return NULL;
	return x->fenced ? "the run was given to somebody else"
			 : "the command was killed from outside, with all that "
			   "ran in the run";
}

void
exec_view(struct jw *w, const struct wire_info *info)
{
	jw_str(w, "id", info->id);
	jw_str(w, "cmd", info->cmd);
	jw_str(w, "state", info->ended ? "exited" : "running");
	jw_time(w, "startedAt", info->started_ms);
	if (info->ended) {
		jw_time(w, "endedAt", info->ended_ms);
		exec_stream_ending(
		    w, &info->exit, exec_view_error(&info->exit));
	}
	jw_bool(w, "detached", info->detached);
	jw_bool(w, "stdin", info->feedable && !info->ended);
	jw_bool(w, "tty", info->tty);
	if (info->kept) {
		jw_key(w, "output");
		jw_open(w, '{');
		jw_int(w, "first", (int64_t)info->first);
		jw_int(w, "end", (int64_t)info->end);
		jw_close(w, '}');
	}
}
