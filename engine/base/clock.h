/* The only place that asks the system for the time. Monotonic to measure, wall clock to label. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int64_t nsec; /* a duration or a point in time, in nanoseconds */

#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC  INT64_C(1000000000)

nsec clock_monotonic(void);
nsec clock_wall(void);       /* since 1970, UTC */
nsec clock_thread_cpu(void); /* CPU time of the calling thread */
nsec clock_process_cpu(
    void); /* of all threads of this process, those that have ended too; of no child */
nsec clock_since_boot(void); /* of the kernel, suspended or not: in a container, of the host's */

/* Whether the kernel holds the wall clock for synchronised with others; not every container may ask. */
enum clock_sync { CLOCK_SYNC_UNKNOWN, CLOCK_SYNCHRONISED, CLOCK_UNSYNCHRONISED };
extern const char *const clock_syncs[]; /* NULL-terminated */
enum clock_sync clock_sync(void);

enum { CLOCK_TEXT = 32 }; /* "2026-01-31T23:59:59.123456Z" and its end */

/* RFC 3339 in UTC with microseconds. Returns text. */
char *clock_format(nsec wall, char text[CLOCK_TEXT]);
/* Reads RFC 3339 with any offset; -1 if it is not one. */
int clock_parse(const char *text, nsec *ret);

static inline double seconds_of(nsec duration)
{
    return (double)duration / 1e9;
}
