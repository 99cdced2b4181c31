#include "service/fetch.h"

#include "engine/base/text.h"

#include <curl/curl.h>
#include <stdlib.h>

enum {
    BODY_MOST = 4 << 20, /* a node exporter's takes some 100 KiB */
    CONNECT_MOST_MS = 2000,
    ALL_MOST_MS = 3000,
};

struct fetch {
    CURL *curl;
    struct curl_slist *headers;
    const _Atomic bool *stop;
    struct text body;
    bool too_large;
    char error[CURL_ERROR_SIZE];
};

static size_t take(char *bytes, size_t one, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    (void)one; /* is 1 */
    if (fetch->body.n + n > BODY_MOST) {
        fetch->too_large = true;
        return CURL_WRITEFUNC_ERROR;
    }
    text_add(&fetch->body, bytes, n);
    return fetch->body.failed ? CURL_WRITEFUNC_ERROR : n;
}

/* Called every second at least, also while nothing comes. */
static int look(void *arg, curl_off_t to_come, curl_off_t came, curl_off_t to_go, curl_off_t gone)
{
    const struct fetch *fetch = arg;
    (void)to_come, (void)came, (void)to_go, (void)gone;
    return *fetch->stop;
}

static CURLcode set_up(struct fetch *fetch, const char *url)
{
    CURL *curl = fetch->curl;
    CURLcode code = CURLE_OK;
#define SET(option, value) \
    if (!code)             \
    code = curl_easy_setopt(curl, option, value)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");      /* whatever the environment says */
    SET(CURLOPT_NOSIGNAL, 1L);   /* there are other threads */
    SET(CURLOPT_QUICK_EXIT, 1L); /* a name server that hangs keeps nobody from ending */
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MOST_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)ALL_MOST_MS);
    SET(CURLOPT_HTTPHEADER, fetch->headers);
    SET(CURLOPT_USERAGENT, "plimsoll/" PLIMSOLL_VERSION);
    SET(CURLOPT_ERRORBUFFER, fetch->error);
    SET(CURLOPT_WRITEFUNCTION, take);
    SET(CURLOPT_WRITEDATA, fetch);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, look);
    SET(CURLOPT_XFERINFODATA, fetch);
#undef SET
    return code;
}

int fetch_open(const char *url, const _Atomic bool *stop, struct fetch **ret, struct problem *why)
{
    struct fetch *fetch = calloc(1, sizeof *fetch);
    if (!fetch)
        return problem_memory(why);
    fetch->stop = stop;
    fetch->curl = curl_easy_init();
    fetch->headers = curl_slist_append(NULL, "Accept: text/plain;version=0.0.4");
    CURLcode code = fetch->curl && fetch->headers ? set_up(fetch, url) : CURLE_OUT_OF_MEMORY;
    if (code) {
        fetch_close(fetch);
        return problem_set(why, PROBLEM_INTERNAL, "cannot prepare to ask another host: %s",
                           curl_easy_strerror(code));
    }
    *ret = fetch;
    return 0;
}

int fetch_get(struct fetch *fetch, char **ret, size_t *ret_n, struct problem *why)
{
    long status = 0;
    fetch->body.n = 0;
    fetch->too_large = false;
    fetch->error[0] = '\0';
    CURLcode code = curl_easy_perform(fetch->curl);
    if (fetch->too_large)
        return problem_set(why, PROBLEM_TOO_LARGE, "its answer is longer than %d bytes", BODY_MOST);
    if (fetch->body.failed)
        return problem_memory(why);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return problem_set(why, PROBLEM_CANCELLED, "it was told to stop");
    if (code)
        return problem_set(why, PROBLEM_IO_FAILED, "%s",
                           fetch->error[0] ? fetch->error : curl_easy_strerror(code));
    curl_easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return problem_set(why, PROBLEM_UNSUPPORTED, "it answers with status %ld, not 200", status);
    *ret = fetch->body.at;
    *ret_n = fetch->body.n;
    return 0;
}

struct fetch *fetch_close(struct fetch *fetch)
{
    if (!fetch)
        return NULL;
    curl_easy_cleanup(fetch->curl);
    curl_slist_free_all(fetch->headers);
    text_done(&fetch->body);
    free(fetch);
    return NULL;
}
