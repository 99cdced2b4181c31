#include "tests/contract/client.h"

#include "engine/base/attr.h"
#include "engine/base/text.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
/* cmocka wants its own four first */
#include <cmocka.h>

int client_connect(const struct place *place)
{
    struct sockaddr_in inet = { .sin_family = AF_INET,
                                .sin_port = htons((uint16_t)place->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    const struct timeval most = { .tv_sec = 20 };
    int fd = socket(place->path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (place->path) {
        assert_int_equal(text_fit(local.sun_path, sizeof local.sun_path, "%s", place->path), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&local, sizeof local), 0);
    } else {
        assert_int_equal(connect(fd, (struct sockaddr *)&inet, sizeof inet), 0);
    }
    return fd;
}

/* Returns how much was not taken: the server may answer and close before it has read all. */
static size_t send_all(int fd, const char *bytes, size_t n)
{
    for (ssize_t sent; n && (sent = send(fd, bytes, n, MSG_NOSIGNAL)) > 0; n -= (size_t)sent)
        bytes += sent;
    return n;
}

int client_send(const struct place *place, const struct ask *ask)
{
    struct text head = { 0 };
    size_t n = ask->body ? ask->body_n ? ask->body_n : strlen(ask->body) : 0;
    text_addf(&head, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
              ask->method ? ask->method : "GET", ask->target);
    if (ask->token)
        text_addf(&head, "Authorization: Bearer %s\r\n", ask->token);
    if (ask->body)
        text_addf(&head, "Content-Length: %zu\r\nContent-Type: %s\r\n", n,
                  ask->type ? ask->type : "application/json");
    text_addf(&head, "%s\r\n", ask->headers ? ask->headers : "");
    assert_false(head.failed);
    int fd = client_connect(place);
    size_t left = send_all(fd, head.at, head.n);
    left += send_all(fd, ask->body, n);
    assert_true(left == 0 || !ask->whole);
    text_done(&head);
    return fd;
}

/* In place. */
static size_t join_chunks(char *body, size_t n)
{
    char *from = body, *to = body, *end = body + n;
    for (;;) {
        char *data;
        size_t size = strtoul(from, &data, 16);
        data = strstr(data, "\r\n");
        if (!data || size == 0 || data + 2 + size > end)
            break;
        memmove(to, data + 2, size);
        to += size;
        from = data + 2 + size + 2;
    }
    *to = '\0';
    return (size_t)(to - body);
}

struct answer client_read(int fd)
{
    struct text all = { 0 };
    struct answer answer = { 0 };
    char block[65536], text[512];
    for (ssize_t n; (n = recv(fd, block, sizeof block, 0)) > 0;)
        text_add(&all, block, (size_t)n);
    close(fd);
    char *end = all.at ? strstr(all.at, "\r\n\r\n") : NULL;
    if (!end) {
        text_done(&all);
        answer.head = strdup("");
        answer.body = strdup("");
        return answer;
    }
    answer.head = strndup(all.at, (size_t)(end + 2 - all.at));
    answer.n = all.n - (size_t)(end + 4 - all.at);
    answer.body = malloc(answer.n + 1);
    assert_non_null(answer.head);
    assert_non_null(answer.body);
    memcpy(answer.body, end + 4, answer.n);
    answer.body[answer.n] = '\0';
    answer.status = (int)strtol(answer.head + strlen("HTTP/1.1 "), NULL, 10);
    if (strcmp(answer_header(&answer, "Transfer-Encoding", text), "chunked") == 0)
        answer.n = join_chunks(answer.body, answer.n);
    answer.json = json_loadb(answer.body, answer.n, JSON_DECODE_ANY, NULL);
    text_done(&all);
    return answer;
}

struct answer client_call(const struct place *place, const struct ask *ask)
{
    return client_read(client_send(place, ask));
}

void answer_done(struct answer *answer)
{
    free(answer->head);
    free(answer->body);
    json_decref(answer->json);
    *answer = (struct answer){ 0 };
}

const char *answer_header(const struct answer *answer, const char *name, char text[512])
{
    size_t n = strlen(name);
    text[0] = '\0';
    for (const char *line = answer->head; line && *line; line = strstr(line, "\r\n")) {
        line += strncmp(line, "\r\n", 2) == 0 ? 2 : 0;
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            const char *value = line + n + 1 + strspn(line + n + 1, " ");
            (void)!text_fit(text, 512, "%.*s", (int)strcspn(value, "\r\n"), value);
            break;
        }
    }
    return text;
}

json_t *answer_at(const struct answer *answer, const char *path)
{
    json_t *at = answer->json;
    while (at && *path) {
        char name[64];
        size_t n = strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        at = json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10))
                               : json_object_get(at, name);
        path += n + (path[n] == '/');
    }
    return at;
}

const char *answer_text(const struct answer *answer, const char *path)
{
    const char *text = json_string_value(answer_at(answer, path));
    return text ? text : "";
}

long long answer_number(const struct answer *answer, const char *path)
{
    return (long long)json_number_value(answer_at(answer, path));
}
