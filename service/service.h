/* The daemon: its parts, started in order and stopped in reverse. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>

struct service;

/* Reads the settings and starts everything. HTTP answers when this returns; jobs are taken a little
 * later, when the database is there and what an earlier daemon left has been taken over. To be called
 * before any other thread exists, with the signals that main waits for blocked. */
must_check int service_open(const char *settings_path, struct service **ret, struct problem *why);
/* Readable when the service cannot go on by itself: it is to be closed. */
int service_failed_fd(const struct service *service);
/* Reads targets, tokens and certificates again; a broken file is told and changes nothing. */
void service_reload(struct service *service);
/* No new claims; answers finish within 10 s; PostgreSQL stops; runners go on. Returns NULL. */
struct service *service_close(struct service *service);
