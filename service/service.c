#include "service/service.h"

#include "api/app.h"
#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "service/analyst.h"
#include "service/dispatcher.h"
#include "service/embedded_postgres.h"
#include "service/folders.h"
#include "service/ingester.h"
#include "service/launcher.h"
#include "service/observer.h"
#include "service/outage.h"
#include "service/prober.h"
#include "service/settings.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>

enum {
    STORE_CONNECTIONS = 16,
    BODY_BYTES = 1 << 20,
    HTTP_CONNECTIONS = 512,
    HTTP_THREADS = 2, /* answers are short; what waits does not hold a thread */
};
#define HTTP_IDLE      (60 * NSEC_PER_SEC)
#define ANSWERS_WITHIN (10 * NSEC_PER_SEC)

struct service {
    struct settings settings;
    char *settings_path;
    int state_lock, failed_fd;
    struct launcher launcher;
    struct prober *prober;
    struct embedded_postgres *postgres;
    struct store *store;
    struct ingester *ingester;
    struct observer *observer;
    struct dispatcher *dispatcher;
    struct app app;
    struct server_settings http;
    struct server *server;
    struct outage outage; /* the dispatcher's thread's */

    pthread_mutex_t lock;
    struct server *awake;    /* lock: whom changes are told to; NULL while it stops */
    struct analyst *analyst; /* lock: NULL until the database is ready */
};

/* ---- what the parts tell each other ---- */

static void job_changed(void *arg, job_id id)
{
    struct service *service = arg;
    scoped_lock(&service->lock);
    if (service->awake)
        server_wake(service->awake, id);
    if (service->analyst)
        analyst_nudge(service->analyst);
}

static void job_analysed(void *arg, job_id id)
{
    struct service *service = arg;
    scoped_lock(&service->lock);
    if (service->awake)
        server_wake(service->awake, id);
}

static void target_freed(void *arg)
{
    struct service *service = arg;
    prober_look(service->prober);
    dispatcher_nudge(service->dispatcher);
}

static void job_watched(void *arg, job_id id)
{
    struct service *service = arg;
    job_changed(service, id);
    dispatcher_nudge(service->dispatcher);
}

static void now_ready(void *arg)
{
    struct service *service = arg;
    const struct analyst_settings settings = { .store = service->store,
                                               .prober = service->prober,
                                               .host = service->settings.host,
                                               .changed = job_analysed,
                                               .arg = service };
    struct problem why = { 0 };
    struct analyst *analyst = NULL;
    outage_end(&service->outage, "the database", 0);
    if (analyst_start(&settings, &analyst, &why) < 0)
        log_problem(LOG_ERROR, "findings will be missing", &why);
    {
        scoped_lock(&service->lock);
        service->analyst = analyst;
    }
    log_line(LOG_NOTICE, "ready");
    (void)sd_notify(0, "READY=1\nSTATUS=taking jobs");
}

static void still_waiting(void *arg, const struct problem *why)
{
    struct service *service = arg;
    /* The private server is on its way; another one may take any time. */
    if (!service->postgres)
        outage_begin(&service->outage, "the database", 0, why);
    (void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=waiting for the database: %s",
                     why->message);
}

static void refused(void *arg, const struct problem *why)
{
    struct service *service = arg;
    log_problem(LOG_ERROR, "the database", why);
    eventfd_write(service->failed_fd, 1);
}

/* ---- what the API asks ---- */

static const struct targets *api_targets_hold(void *arg)
{
    struct service *service = arg;
    return prober_hold(service->prober);
}

static void api_targets_release(void *arg, const struct targets *targets)
{
    struct service *service = arg;
    prober_release(service->prober, targets);
}

static bool api_target_facts(void *arg, const char *name, struct target_facts *ret)
{
    struct service *service = arg;
    return prober_facts(service->prober, name, ret);
}

static void api_nudge(void *arg)
{
    struct service *service = arg;
    dispatcher_nudge(service->dispatcher);
}

static int api_forget(void *arg, job_id id, struct problem *why)
{
    struct service *service = arg;
    return launcher_forget(&service->launcher, id, why);
}

static int api_ready(void *arg, struct problem *why)
{
    struct service *service = arg;
    if (dispatcher_ready(service->dispatcher, why) < 0)
        return -1;
    return store_ping(service->store, why);
}

/* ---- starting ---- */

static int open_store(struct service *service, struct problem *why)
{
    const struct settings *settings = &service->settings;
    const char *conninfo = settings->database;
    if (settings_embedded(settings)) {
        if (embedded_postgres_open(settings->state, settings->runtime, &service->postgres, why) < 0)
            return -1;
        conninfo = embedded_postgres_conninfo(service->postgres);
    }
    return store_open(conninfo, STORE_CONNECTIONS, &service->store, why);
}

static int open_workers(struct service *service, struct problem *why)
{
    const struct ingester_settings ingest = { .store = service->store,
                                              .launcher = &service->launcher,
                                              .changed = job_changed,
                                              .freed = target_freed,
                                              .arg = service };
    if (ingester_start(&ingest, &service->ingester, why) < 0 ||
        observer_start(service->store, service->prober, &service->observer, why) < 0)
        return -1;
    const struct dispatcher_settings dispatch = { .store = service->store,
                                                  .host = service->settings.host,
                                                  .ingester = service->ingester,
                                                  .prober = service->prober,
                                                  .launcher = &service->launcher,
                                                  .observer = service->observer,
                                                  .changed = job_changed,
                                                  .watched = job_watched,
                                                  .ready = now_ready,
                                                  .waiting = still_waiting,
                                                  .refused = refused,
                                                  .arg = service };
    return dispatcher_new(&dispatch, &service->dispatcher, why);
}

static int open_server(struct service *service, struct problem *why)
{
    const struct settings *settings = &service->settings;
    service->app = (struct app){ .store = service->store,
                                 .host = settings->host,
                                 .state = settings->state,
                                 .web = settings->web,
                                 .service = service,
                                 .targets_hold = api_targets_hold,
                                 .targets_release = api_targets_release,
                                 .target_facts = api_target_facts,
                                 .nudge = api_nudge,
                                 .forget = api_forget,
                                 .ready = api_ready };
    service->http = (struct server_settings){ .listen = settings->listen,
                                              .certificate = settings->certificate,
                                              .key = settings->key,
                                              .body_bytes = BODY_BYTES,
                                              .upload_bytes = settings->imports,
                                              .connections = HTTP_CONNECTIONS,
                                              .idle = HTTP_IDLE,
                                              .threads = HTTP_THREADS };
    if (server_start(&service->app, &service->http, &service->server, why) < 0)
        return -1;
    scoped_lock(&service->lock);
    service->awake = service->server;
    return 0;
}

/* By an address of this machine alone. */
static bool is_loopback(const char *listen)
{
    return text_starts(listen, "127.") || text_starts(listen, "[::1]");
}

/* Says where it listens, and writes the first port to RUNTIME/http.port for scripts. */
static int announce(struct service *service, struct problem *why)
{
    const struct settings *settings = &service->settings;
    unsigned first = 0;
    for (size_t i = 0; i < settings->listen.n; i++) {
        const char *listen = settings->listen.at[i];
        unsigned port = server_port(service->server, i);
        if (!port) {
            log_line(LOG_NOTICE, "listening on %s", listen);
            continue;
        }
        first = first ? first : port;
        log_line(LOG_NOTICE, "listening on %s://%.*s:%u", settings->certificate ? "https" : "http",
                 (int)(strrchr(listen, ':') - listen), listen, port);
        if (!settings->certificate && !is_loopback(listen))
            log_line(LOG_WARNING,
                     "tokens cross the network to %s unencrypted: set certificate and key", listen);
    }
    return first ? folders_note_port(settings->runtime, first, why) : 0;
}

static const struct launcher_way *choose_launcher(const struct service *service)
{
    bool systemd = service->settings.launcher == LAUNCHER_SYSTEMD ||
                   (service->settings.launcher == LAUNCHER_AUTO &&
                    launcher_under_systemd(service->settings_path));
    return systemd ? &launcher_systemd : &launcher_spawn;
}

static int start(struct service *service, struct problem *why)
{
    struct settings *settings = &service->settings;
    if (settings_load(service->settings_path, settings, why) < 0)
        return -1;
    service->launcher = (struct launcher){ .way = choose_launcher(service),
                                           .state = settings->state,
                                           .runner = settings->runner,
                                           .settings = service->settings_path };
    service->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (service->failed_fd < 0)
        return problem_errno(why, errno, "cannot make a descriptor");
    if (folders_make(settings->state, settings->runtime, &service->state_lock, why) < 0 ||
        cpus_take(settings->cpus, &service->launcher.cpus, why) < 0 ||
        prober_start(&settings->targets, &service->prober, why) < 0 ||
        open_store(service, why) < 0 || open_workers(service, why) < 0 ||
        open_server(service, why) < 0 || announce(service, why) < 0)
        return -1;
    return dispatcher_start(service->dispatcher, why);
}

int service_open(const char *settings_path, struct service **ret, struct problem *why)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return problem_memory(why);
    pthread_mutex_init(&service->lock, NULL);
    service->state_lock = service->failed_fd = -1;
    service->settings_path = realpath(settings_path, NULL);
    int failed = service->settings_path
                     ? start(service, why)
                     : problem_errno(why, errno, "cannot read %s", settings_path);
    if (failed) {
        service_close(service);
        return -1;
    }
    *ret = service;
    return 0;
}

int service_failed_fd(const struct service *service)
{
    return service->failed_fd;
}

/* ---- while it runs ---- */

static int reload(struct service *service, struct problem *why)
{
    scoped(settings_done) struct settings settings = { 0 };
    if (settings_load(service->settings_path, &settings, why) < 0)
        return -1;
    const char *restart = settings_restart(&service->settings, &settings);
    if (restart)
        log_line(LOG_WARNING, "%s of [service] has changed: it takes a restart to follow", restart);
    return prober_reload(service->prober, &settings.targets, why);
}

void service_reload(struct service *service)
{
    struct problem why = { 0 };
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
                     (long long)(clock_monotonic() / NSEC_PER_USEC));
    server_forget(service->server);
    if (reload(service, &why) < 0)
        log_problem(LOG_ERROR, "the settings stay as they were", &why);
    else
        log_line(LOG_NOTICE, "settings read again");
    why = (struct problem){ 0 };
    int changed = server_reload(service->server, &service->http, &why);
    if (changed < 0)
        log_problem(LOG_ERROR, "the certificate stays as it was", &why);
    else if (changed)
        log_line(LOG_NOTICE, "the certificate has changed");
    (void)sd_notify(0, "READY=1");
}

struct service *service_close(struct service *service)
{
    if (!service)
        return NULL;
    dispatcher_stop(service->dispatcher);
    {
        scoped_lock(&service->lock);
        service->awake = NULL;
    }
    if (service->server) {
        service->server = server_stop(service->server, ANSWERS_WITHIN);
        folders_forget_port(service->settings.runtime);
    }
    service->ingester = ingester_stop(service->ingester);
    service->observer = observer_stop(service->observer);
    service->analyst = analyst_stop(service->analyst);
    service->store = store_close(service->store); /* ends the watch, which nudges the dispatcher */
    service->dispatcher = dispatcher_free(service->dispatcher);
    service->prober = prober_stop(service->prober);
    service->postgres = embedded_postgres_close(service->postgres);
    close_cell(&service->state_lock);
    close_cell(&service->failed_fd);
    settings_done(&service->settings);
    pthread_mutex_destroy(&service->lock);
    free(service->settings_path);
    free(service);
    return NULL;
}
