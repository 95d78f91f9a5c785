/* sbxctl completion: commands from their table, runs from the box. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "lib/str.h"

#include <stdio.h>

static const char script[] =
    "\n\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[1]}\n"
    "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tcase $before in\n"
    "\tlease) words='acquire renew release' ;;\n"
    "\tegress) words='show log set check' ;;\n"
    "\tsnapshot) words='take ls rm' ;;\n"
    "\twarm) words='commit ls rm' ;;\n"
    "\tesac\n"
    "\twords=\"$words $(sbxctl ps -q 2>/dev/null)\"\n"
    "\tmapfile -t COMPREPLY < <(compgen -f -W \"$words\" -- \"$word\")\n"
    "}\n"
    "complete -o nosort -F _sbxctl sbxctl\n";

int
cmd_completion(struct cli *c, int argc, char **argv)
{
	(void)c;
	if (argc != 2 || !str_eq(argv[1], "bash"))
		return cli_usage("completion");
	(void)printf("_sbxctl() {\n\tlocal words= commands='");
	for (size_t i = 0; i < command_count; i++)
		(void)printf("%s%s", i > 0 ? " " : "", commands[i].name);
	(void)printf("'%s", script);
	return 0;
}
