/* `analyse`, `compare` and `history`: what the numbers mean, with no service at all. */
#pragma once
#include "engine/cli/session.h"

/* The arguments after the command's name. */
enum runner_exit analyse_file(char **argv);
enum runner_exit compare_files(char **argv);
enum runner_exit history_file(char **argv);
