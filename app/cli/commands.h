/* The commands of sbxctl, one function each; commands.c has their table. */
#ifndef SBX_CLI_COMMANDS_H
#define SBX_CLI_COMMANDS_H

#include "cli/cli.h"

int cmd_run(struct cli *c, int argc, char **argv);
int cmd_ps(struct cli *c, int argc, char **argv);
int cmd_top(struct cli *c, int argc, char **argv);
int cmd_rm(struct cli *c, int argc, char **argv);
int cmd_extend(struct cli *c, int argc, char **argv);
int cmd_exec(struct cli *c, int argc, char **argv);
int cmd_execs(struct cli *c, int argc, char **argv);
int cmd_logs(struct cli *c, int argc, char **argv);
int cmd_kill(struct cli *c, int argc, char **argv);
int cmd_cp(struct cli *c, int argc, char **argv);
int cmd_ls(struct cli *c, int argc, char **argv);
int cmd_lease(struct cli *c, int argc, char **argv);
int cmd_egress(struct cli *c, int argc, char **argv);
int cmd_snapshot(struct cli *c, int argc, char **argv);
int cmd_warm(struct cli *c, int argc, char **argv);
int cmd_completion(struct cli *c, int argc, char **argv);

#endif
