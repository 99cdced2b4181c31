/* What the compiler is told: results that matter, cleanup where a thing is declared, and
 * functions that are not used here because they hide truncation, failure or shared state. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define must_check        __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define scoped(fn)        __attribute__((cleanup(fn)))
#define unused            __attribute__((unused))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Gives the pointer away: the variable is NULL afterwards, so its cleanup does nothing. */
#define steal(p)                       \
    __extension__({                    \
        __typeof__(*(p)) held_ = *(p); \
        *(p) = NULL;                   \
        held_;                         \
    })
/* The same for a descriptor, whose nothing is -1. */
static inline int steal_fd(int *fd)
{
    int held = *fd;
    *fd = -1;
    return held;
}

static inline void free_cell(void *p)
{
    free(*(void **)p);
}
static inline void close_cell(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
static inline void fclose_cell(FILE **f)
{
    if (*f)
        fclose(*f);
}
#define scoped_free scoped(free_cell)
#define scoped_fd   scoped(close_cell)
#define scoped_file scoped(fclose_cell)

#define NOT_HERE(name) name##_is_not_used_here
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef atoi
#undef atol
#undef strtok
#undef localtime
#undef gmtime
#undef system
#define strcpy(d, s)       NOT_HERE(strcpy)
#define strcat(d, s)       NOT_HERE(strcat)
#define strncpy(d, s, n)   NOT_HERE(strncpy)
#define strncat(d, s, n)   NOT_HERE(strncat)
#define sprintf(...)       NOT_HERE(sprintf)
#define vsprintf(s, f, ap) NOT_HERE(vsprintf)
#define atoi(s)            NOT_HERE(atoi)
#define atol(s)            NOT_HERE(atol)
#define strtok(s, d)       NOT_HERE(strtok)
#define localtime(t)       NOT_HERE(localtime)
#define gmtime(t)          NOT_HERE(gmtime)
#define system(c)          NOT_HERE(system)
