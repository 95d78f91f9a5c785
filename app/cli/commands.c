/* The table of commands: what main.c finds, `help` prints, and the shell
 * completes. */
#include "cli/commands.h"
#include "cli/exec_options.h"
#include "lib/str.h"

const struct command commands[] = {
    {"run", cmd_run, "IMAGE [OPTIONS] [-- COMMAND...]",
	"make a run, and execute COMMAND in it",
	EXEC_HELP "      --rm             destroy the run when COMMAND ends\n"
		  "      --network KIND   none, allowlist or open\n"
		  "      --allow ENTRY    of allowlist: one more host; again\n"
		  "      --ttl SEC        how long the run lives (1800)\n"
		  "      --memory MIB  --cpus N  --pids N\n"
		  "      --label NAME=VALUE\n"
		  "      --warm REPOSITORY[:PATH]\n"
		  "      --auto-extend    what is done in it keeps it alive\n"},
    {"ps", cmd_ps, "[-q] [--label NAME:VALUE]", "list runs",
	"  -q, --quiet          their ids alone\n"
	"  -l, --label L        those with that label\n"},
    {"exec", cmd_exec,
	"RUN [OPTIONS] [--owner NAME --generation N] -- COMMAND...",
	"execute in a run; its exit code is sbxctl's",
	EXEC_HELP "  -d, --detach         let it go on, print its id\n"},
    {"execs", cmd_execs, "RUN", "what is executed in a run", NULL},
    {"logs", cmd_logs, "RUN [EXEC] [-a] [--offset N]",
	"output of a detached exec, then live; the newest one's",
	"  -a, --attach         standard input goes to it\n"
	"  -o, --offset N       from that byte on\n"},
    {"kill", cmd_kill, "RUN EXEC [-s SIGNAL]",
	"end an exec and all that it started, or signal it",
	"  -s, --signal SIGNAL  this alone, to its process group\n"},
    {"cp", cmd_cp, "RUN:PATH PATH | PATH RUN:PATH",
	"copy a file or directory; `-` is standard input or output",
	"Of a directory what is in it goes into the target, which is made "
	"where it is missing:\n`cp src RUN:dir` makes dir/file, not "
	"dir/src/file as cp -r would, and leaves what\nelse is in dir. A file "
	"goes into a target in a run that ends in /, or here into a\n"
	"directory.\n"},
    {"ls", cmd_ls, "RUN[:PATH]", "list a directory of a run", NULL},
    {"rm", cmd_rm, "RUN... | --all", "destroy runs",
	"  -a, --all            every one on the box\n"},
    {"extend", cmd_extend, "RUN SEC", "let a run live SEC from now on", NULL},
    {"lease", cmd_lease, "acquire|renew|release RUN [OPTIONS]",
	"take a run over, keep it, give it back",
	"acquire prints the options that go with what is then done in the "
	"run:\n  L=$(sbxctl lease acquire RUN); sbxctl exec RUN $L -- "
	"COMMAND...\n\n"
	"  -o, --owner NAME     who ($USER)\n"
	"  -t, --ttl SEC        for how long (300)\n"
	"  -g, --generation N   of renew and release\n"
	"  -w, --wait SEC       of acquire: until the run is free\n"
	"  -f, --force          of acquire: kill what runs in it\n"},
    {"egress", cmd_egress,
	"show RUN [-a] | log RUN [-f] | set RUN [ENTRY...] | check HOST "
	"[ENTRY...]",
	"what a run may reach, and what it did",
	"  -a, --all            the built-in entries too\n"
	"  -f, --follow         and then decisions as they are made\n"},
    {"snapshot", cmd_snapshot, "take RUN | ls | rm IMAGE",
	"keep a run's files as an image", NULL},
    {"warm", cmd_warm, "commit RUN [REPOSITORY] | ls | rm REPOSITORY",
	"the warm repository cache", NULL},
    {"top", cmd_top, "[-n SEC] [--once]", "watch the box",
	"  -n, --interval SEC   between two looks (2)\n"},
    {"completion", cmd_completion, "bash",
	"print the completion: source <(sbxctl completion bash)", NULL},
};

const size_t command_count = sizeof(commands) / sizeof(commands[0]);

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (str_eq(commands[i].name, name))
			return &commands[i];
	return NULL;
}
