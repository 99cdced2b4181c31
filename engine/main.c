/* plimsoll-runner: measures one job, in a process of its own. */
#include "engine/base/log.h"
#include "engine/cli/analyse.h"
#include "engine/cli/by_hand.h"
#include "engine/cli/job.h"
#include "engine/cli/report.h"

#include <stdbool.h>

static const char help[] =
    "plimsoll-runner measures how much load a filesystem carries before it slows down.\n"
    "\n"
    "  plimsoll-runner run KIND --on PLACE [OPTION ...] [NAME=VALUE ...]\n"
    "      Measures in a new folder below PLACE, and removes it afterwards. Progress goes to "
    "standard\n"
    "      error, a table and the rate to standard output. PLACE is a folder, nfs://HOST/EXPORT, "
    "or\n"
    "      for filesystem-scaling also btrfs:DIR, mkfs:DIR or zfs:DATASET.\n"
    "        --reserve SHARE   of space and inodes to leave alone (5%)\n"
    "        --journal FILE    keep every batch there; the file must not exist yet\n"
    "        --json            totals as JSON\n"
    "        --matrix NAME=VALUE,VALUE,...\n"
    "                          a run of each value (of each combination, where given more than "
    "once);\n"
    "                          values with commas of their own are separated by semicolons\n"
    "        --repeat N        each of them N times, in rounds whose order is random\n"
    "        --seed N          what fixes that order; it is told at the end\n"
    "        --null            in place of --on: operations that return at once, which shows what "
    "the\n"
    "                          engine itself costs; there is nothing to list then\n"
    "      For example: plimsoll-runner run create-scaling --on /srv/scratch files=200000 "
    "threads=2\n"
    "\n"
    "  plimsoll-runner run SPEC.json --settings FILE\n"
    "      Runs a job of the service; the journal is written beside the spec.\n"
    "  plimsoll-runner clean SPEC.json --settings FILE\n"
    "      Removes what such a job left behind; may be repeated.\n"
    "        --job NUMBER      in place of SPEC.json: the job of that number, below the state "
    "folder of\n"
    "                          the settings; for root, who trusts nothing that the service can "
    "write\n"
    "  plimsoll-runner analyse [--json] [--batch N] [--start N] FILE\n"
    "      What a journal, or CSV with the columns load (or n) and seconds, means; without a "
    "load,\n"
    "      --batch says how many a batch has.\n"
    "  plimsoll-runner compare [--json] [--batch N] [--start N] A B\n"
    "      Whether B costs more than A, phase by phase, at equal load.\n"
    "  plimsoll-runner history [--json] FILE\n"
    "      Where one figure changed for good: a value a line, oldest first.\n"
    "  plimsoll-runner workloads [--json]\n"
    "      The kinds and their parameters.\n"
    "  plimsoll-runner --version | --help\n"
    "\n"
    "Ends with 0 when the measurement came to its end (a limit of the target included), 1 when it\n"
    "failed, 2 when it was refused, 3 when it was cancelled, 4 when clean-up met entries not its "
    "own,\n"
    "5 when the machine is about to be restarted by the job, which goes on after that.\n";

static enum runner_exit usage(const char *what)
{
    log_line(LOG_ERROR, "%s; plimsoll-runner --help tells more", what);
    return EXIT_USAGE;
}

/* The number as the unit's name has it: one way to write each. */
static bool read_number(const char *text, job_id *ret)
{
    size_t digits = strspn(text, "0123456789");
    if (text[0] == '0' || digits == 0 || digits > 18 || text[digits])
        return false;
    *ret = strtoll(text, NULL, 10);
    return true;
}

/* SPEC.json or --job NUMBER, and perhaps --settings FILE, in any order. */
static enum runner_exit with_job(char **argv, enum runner_exit (*act)(const struct job_named *))
{
    struct job_named named = { .settings = "/etc/plimsoll/plimsoll.conf" };
    for (; *argv; argv++)
        if (strcmp(*argv, "--settings") == 0 && argv[1])
            named.settings = *++argv;
        else if (strcmp(*argv, "--job") == 0 && argv[1] && !named.job) {
            if (!read_number(*++argv, &named.job))
                return usage("--job wants the number of a job, in decimal digits");
        } else if (!named.spec && (*argv)[0] != '-')
            named.spec = *argv;
        else
            return usage("one SPEC.json or --job NUMBER, and --settings FILE, are wanted");
    if (!named.spec == !named.job)
        return usage("either a SPEC.json or --job NUMBER is wanted");
    return act(&named);
}

static bool is_spec(const char *argument)
{
    size_t n = strlen(argument);
    return n > 5 && strcmp(argument + n - 5, ".json") == 0;
}

static enum runner_exit run(char **argv)
{
    if (!argv[0])
        return usage("run wants a kind of workload, or a SPEC.json");
    if (workload_find(argv[0]))
        return by_hand(argv);
    for (char **a = argv; *a; a++)
        if (is_spec(*a) || strcmp(*a, "--job") == 0)
            return with_job(argv, job_run);
    log_line(LOG_ERROR, "there is no workload %s; plimsoll-runner workloads lists them", argv[0]);
    return EXIT_USAGE;
}

static enum runner_exit clean(char **argv)
{
    return with_job(argv, job_clean);
}

static enum runner_exit workloads(char **argv)
{
    struct problem why = { 0 };
    if (argv[0] && (strcmp(argv[0], "--json") != 0 || argv[1]))
        return usage("workloads takes --json or nothing");
    if (!argv[0])
        report_workloads();
    else if (report_workloads_json(&why))
        log_problem(LOG_ERROR, "workloads", &why);
    return why.code ? EXIT_FAILED : EXIT_DONE;
}

static enum runner_exit version(char **argv)
{
    (void)argv;
    puts("plimsoll-runner " PLIMSOLL_VERSION);
    return EXIT_DONE;
}

static enum runner_exit show_help(char **argv)
{
    (void)argv;
    fputs(help, stdout);
    return EXIT_DONE;
}

static const struct command {
    const char *name;
    enum runner_exit (*act)(char **argv); /* the arguments after it */
} commands[] = {
    { "run", run },
    { "clean", clean },
    { "analyse", analyse_file },
    { "compare", compare_files },
    { "history", history_file },
    { "workloads", workloads },
    { "--version", version },
    { "--help", show_help },
    { "-h", show_help },
};

/* What was asked for and could not be written is a failure. */
static int told(enum runner_exit result)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return (int)result;
    log_line(LOG_ERROR, "cannot write to standard output");
    return (int)(result == EXIT_DONE ? EXIT_FAILED : result);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return (int)usage("a command is wanted");
    for (char **a = argv + 2; *a; a++)
        if (strcmp(*a, "--help") == 0)
            return (int)show_help(a);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, argv[1]) == 0)
            return told(commands[i].act(argv + 2));
    log_line(LOG_ERROR, "there is no command %s; plimsoll-runner --help lists them", argv[1]);
    return EXIT_USAGE;
}
