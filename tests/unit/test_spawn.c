#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "tests/unit/cmocka_first.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ARGV(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void keeps_the_output(void **state)
{
    (void)state;
    char output[100];
    struct problem why = { 0 };
    assert_int_equal(
        spawn_run(ARGV("echo", "two words"), 10 * NSEC_PER_SEC, output, sizeof output, &why), 0);
    assert_string_equal(output, "two words");
}

static void keeps_the_beginning_of_a_long_output(void **state)
{
    (void)state;
    char output[8];
    struct problem why = { 0 };
    /* More than a pipe holds, so it must be read to the end. */
    assert_int_equal(
        spawn_run(ARGV("seq", "1", "50000"), 10 * NSEC_PER_SEC, output, sizeof output, &why), 0);
    assert_string_equal(output, "1\n2\n3\n4");
}

static void passes_no_argument_through_a_shell(void **state)
{
    (void)state;
    char output[100];
    struct problem why = { 0 };
    assert_int_equal(
        spawn_run(ARGV("echo", "$(id); *"), 10 * NSEC_PER_SEC, output, sizeof output, &why), 0);
    assert_string_equal(output, "$(id); *");
}

static void tells_a_failure_in_the_tools_words(void **state)
{
    (void)state;
    static const struct {
        const char *script, *message;
    } rows[] = {
        { "echo no such pool >&2; exit 3", "sh ended with status 3: no such pool" },
        { "exit 1", "sh ended with status 1" },
        { "printf 'too small.\\n\\tUsage:  sh\\n\\n' >&2; exit 1",
          "sh ended with status 1: too small.; Usage: sh" },
        { "kill -TERM $$", "sh was ended by signal 15 (Terminated)" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct problem why = { 0 };
        assert_int_equal(
            spawn_run(ARGV("sh", "-c", rows[i].script), 10 * NSEC_PER_SEC, NULL, 0, &why), -1);
        assert_string_equal(why.message, rows[i].message);
    }
}

static void says_what_cannot_be_started(void **state)
{
    (void)state;
    struct problem why = { 0 };
    assert_int_equal(spawn_run(ARGV("no-such-tool"), 10 * NSEC_PER_SEC, NULL, 0, &why), -1);
    assert_string_equal(why.message, "cannot start no-such-tool: No such file or directory");
}

static void kills_what_is_late(void **state)
{
    (void)state;
    struct problem why = { 0 };
    nsec begin = clock_monotonic();
    assert_int_equal(spawn_run(ARGV("sleep", "60"), NSEC_PER_SEC / 10, NULL, 0, &why), -1);
    assert_string_equal(why.message, "sleep did not end within 0.1 s and was killed");
    assert_true(clock_monotonic() - begin < 30 * NSEC_PER_SEC);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and reaps it */
    assert_int_equal(errno, ECHILD);
}

static void does_not_wait_for_a_grandchild(void **state)
{
    (void)state;
    char output[32];
    struct problem why = { 0 };
    nsec begin = clock_monotonic();
    assert_int_equal(spawn_run(ARGV("sh", "-c", "sleep 60 & echo $!"), 30 * NSEC_PER_SEC, output,
                               sizeof output, &why),
                     0);
    assert_true(clock_monotonic() - begin < 25 * NSEC_PER_SEC);
    pid_t grandchild = (pid_t)strtol(output, NULL, 10);
    assert_true(grandchild > 1);
    assert_int_equal(kill(grandchild, SIGKILL), 0);
}

/* What never stops talking is heard no longer than it is waited for. */
static void does_not_listen_for_ever(void **state)
{
    (void)state;
    char output[8];
    struct problem why = { 0 };
    assert_int_equal(spawn_run(ARGV("yes"), NSEC_PER_SEC / 10, NULL, 0, &why), -1);
    assert_non_null(strstr(why.message, "yes did not end within 0.1 s and was killed"));
    why = (struct problem){ 0 };
    assert_int_equal(
        spawn_run(ARGV("sh", "-c", "yes &"), 30 * NSEC_PER_SEC, output, sizeof output, &why), 0);
}

static void waits_until_a_deadline(void **state)
{
    (void)state;
    struct problem why = { 0 };
    struct spawn spawn = { .argv = ARGV("sleep", "60") };
    pid_t pid;
    int status = 42;
    assert_int_equal(spawn_start(&spawn, &pid, &why), 0);
    assert_int_equal(spawn_wait(pid, NSEC_PER_SEC / 20, &status, &why), -1);
    assert_non_null(strstr(why.message, "did not end within 0.05 s"));
    assert_int_equal(status, 42);
    assert_int_equal(kill(pid, SIGTERM), 0); /* it still runs */
    why = (struct problem){ 0 };
    assert_int_equal(spawn_wait(pid, 10 * NSEC_PER_SEC, &status, &why), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* Descriptors given in an order where one is another's place. */
static void puts_descriptors_where_they_belong(void **state)
{
    (void)state;
    char bytes[32] = "";
    int out[2], err[2], status;
    struct problem why = { 0 };
    pid_t pid;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    scoped_fd int kept_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    scoped_fd int kept_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(stdout);
    dup2(err[1], STDOUT_FILENO); /* the child's errors go to our 1 and its output to our 2 */
    dup2(out[1], STDERR_FILENO);
    struct spawn spawn = { .argv = ARGV("sh", "-c", "echo out; echo err >&2; cat"),
                           .out = STDERR_FILENO,
                           .err = STDOUT_FILENO };
    int started = spawn_start(&spawn, &pid, &why);
    dup2(kept_out, STDOUT_FILENO);
    dup2(kept_err, STDERR_FILENO);
    close(out[1]);
    close(err[1]);
    assert_int_equal(started, 0);
    assert_int_equal(spawn_wait(pid, 10 * NSEC_PER_SEC, &status, &why), 0); /* 0 is /dev/null */
    assert_int_equal(read(out[0], bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "out\n", 4);
    assert_int_equal(read(err[0], bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "err\n", 4);
    close(out[0]);
    close(err[0]);
}

static void gives_the_child_default_signals(void **state)
{
    (void)state;
    char output[256];
    struct problem why = { 0 };
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGPIPE, SIG_IGN);
    int outcome = spawn_run(ARGV("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"),
                            10 * NSEC_PER_SEC, output, sizeof output, &why);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(outcome, 0);
    unsigned long long blocked_there, ignored_there;
    assert_int_equal(sscanf(output, "SigBlk: %llx SigIgn: %llx", &blocked_there, &ignored_there),
                     2);
    assert_int_equal(blocked_there, 0);
    /* 32 and 33 are the C library's own, which it sets up again in every program. */
    assert_int_equal(ignored_there & ~(3ULL << 31), 0);
}

static void starts_a_session_when_asked(void **state)
{
    (void)state;
    struct problem why = { 0 };
    for (int own = 0; own < 2; own++) {
        struct spawn spawn = { .argv = ARGV("sleep", "60"), .own_session = own };
        pid_t pid;
        int status;
        assert_int_equal(spawn_start(&spawn, &pid, &why), 0);
        assert_int_equal(getsid(pid), own ? pid : getsid(0));
        kill(pid, SIGKILL);
        assert_int_equal(spawn_wait(pid, 10 * NSEC_PER_SEC, &status, &why), 0);
    }
}

static void passes_the_environment_given(void **state)
{
    (void)state;
    struct problem why = { 0 };
    char bytes[32] = "";
    int ends[2], status;
    pid_t pid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct spawn spawn = { .argv = ARGV("/usr/bin/env"), .env = ARGV("A=b"), .out = ends[1] };
    assert_int_equal(spawn_start(&spawn, &pid, &why), 0);
    close(ends[1]);
    assert_int_equal(spawn_wait(pid, 10 * NSEC_PER_SEC, &status, &why), 0);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "A=b\n", 4);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_output),
        cmocka_unit_test(keeps_the_beginning_of_a_long_output),
        cmocka_unit_test(passes_no_argument_through_a_shell),
        cmocka_unit_test(tells_a_failure_in_the_tools_words),
        cmocka_unit_test(says_what_cannot_be_started),
        cmocka_unit_test(kills_what_is_late),
        cmocka_unit_test(does_not_wait_for_a_grandchild),
        cmocka_unit_test(does_not_listen_for_ever),
        cmocka_unit_test(waits_until_a_deadline),
        cmocka_unit_test(puts_descriptors_where_they_belong),
        cmocka_unit_test(gives_the_child_default_signals),
        cmocka_unit_test(starts_a_session_when_asked),
        cmocka_unit_test(passes_the_environment_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
