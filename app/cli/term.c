/* Raw mode (termios(3)) and the size. */
#include "cli/term.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Process-wide as the terminal is: atexit(3) takes no argument. */
static struct termios before;
static bool raw;

bool
term_is(void)
{
	return isatty(STDIN_FILENO);
}

void
term_size(int *ret_cols, int *ret_rows)
{
	struct winsize size;

	*ret_cols = 80;
	*ret_rows = 24;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
	    size.ws_row == 0)
		return;
	*ret_cols = size.ws_col;
	*ret_rows = size.ws_row;
}

void
term_restore(void)
{
	if (raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	raw = false;
}

void
term_raw(void)
{
	struct termios now;

	if (raw || tcgetattr(STDIN_FILENO, &before) != 0)
		return;
	now = before;
	cfmakeraw(&now);
	(void)atexit(term_restore);
	raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &now) == 0;
}
