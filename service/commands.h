/* plimsolld token ... and plimsolld code: through the database of the running daemon. */
#pragma once

/* argv from the command's name on; returns the exit status. */
int command_token(const char *settings_path, int argc, char **argv);
int command_code(const char *settings_path, int argc, char **argv);
