/* A process that is watched and signalled by pidfd, so that a reused pid is never hit. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;  /* 0: none */
    int fd;     /* its pidfd: readable when it has ended */
    bool child; /* ours, to be collected */
};
#define PROCESS_NONE ((struct process){ .fd = -1 })
enum { PROCESS_FATE = 64 };

/* A child that was just started and not yet collected. */
must_check int process_of_child(pid_t pid, struct process *ret, struct problem *why);
/* The process that had this pid and start time (field 22 of /proc/PID/stat) in this boot: 1 and it,
 * or 0 when it is gone. */
must_check int process_find(pid_t pid, uint64_t start, const char *boot_id, struct process *ret,
                            struct problem *why);
/* Whether the machine was not started again since then. The unit tells the daemon which boot this is: within its
 * sandbox /proc is that of the kernel, and a container's boots are none of the kernel's. */
#define BOOT_VARIABLE "PLIMSOLL_BOOT_ID"
bool process_this_boot(const char *boot_id);
/* The process of that pid, whatever it is: to be looked at before it is believed. 0: there is none. */
must_check int process_open(pid_t pid, struct process *ret, struct problem *why);
bool process_ended(const struct process *process);
/* Waits for its end; false: the deadline has passed. */
bool process_wait(const struct process *process, nsec deadline_in);
/* 0, or -1 when it has ended or may not be signalled. */
int process_signal(const struct process *process, int signal);
/* What its threads do just now. Asleep in a system call is where a FUSE filesystem that does not answer
 * leaves them; whether a signal would wake them is not to be seen. */
enum process_rest {
    PROCESS_RUNS,   /* one of them runs */
    PROCESS_SLEEPS, /* all of them wait */
    PROCESS_HELD,   /* one of them waits and cannot be interrupted */
};
enum process_rest process_rest(const struct process *process);
/* Collects an ended child and says how it ended ("was killed by signal 9"); closes it. */
void process_close(struct process *process, char fate[PROCESS_FATE]);
/* Closes it without waiting for its end. */
void process_leave(struct process *process);
