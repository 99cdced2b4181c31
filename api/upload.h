/* A body that is larger than what is held in memory: a file in the state directory, until it is answered. */
#pragma once
#include "api/request.h"

enum { UPLOADS_MOST = 4 }; /* at once: each may fill its share of the disk */

struct api;
struct upload;
/* OVERLOADED when there are UPLOADS_MOST already, or no room for what the request announces. */
must_check int upload_open(struct api *api, const struct request *in, struct upload **ret,
                           struct problem *why);
void upload_add(struct upload *upload, const char *bytes, size_t n);
/* Removes the file, unless it was moved. Returns NULL. */
struct upload *upload_close(struct upload *upload);

/* All of it is there: why it cannot be used, if so; its hash. */
must_check int upload_end(struct upload *upload, unsigned char hash[32], struct problem *why);
int upload_folder(const struct upload *upload); /* where files about it may be made */
/* Its path, and that of the journal that is made of it. */
const char *upload_path(const struct upload *upload);
const char *upload_journal(const struct upload *upload);
/* Removes what an earlier life of the service left. */
void uploads_sweep(const char *state);
