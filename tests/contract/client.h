/* A small HTTP client over sockets: one request, one connection, one answer read to its end. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct answer {
    int status;
    char *head; /* status line and headers */
    char *body; /* decoded from chunks; NUL-terminated */
    size_t n;
    json_t *json; /* NULL: it is not JSON */
};

struct ask {
    const char *method; /* NULL: GET */
    const char *target;
    const char *token;   /* NULL: none */
    const char *headers; /* further lines, each with its CRLF */
    const char *body;    /* NULL: none */
    size_t body_n;       /* 0: its strlen */
    const char *type;    /* NULL: application/json, if there is a body */
    bool whole;          /* fails the test when the server does not take all of the body */
};

/* Where: a port on loopback, or the path of a unix socket. */
struct place {
    unsigned port;
    const char *path;
};

/* Connects and sends; the descriptor. Fails the test when it cannot. */
int client_send(const struct place *place, const struct ask *ask);
int client_connect(const struct place *place);
/* Reads until the server closes, 20 s at most, and closes. Status 0: closed without an answer. */
struct answer client_read(int fd);
struct answer client_call(const struct place *place, const struct ask *ask);
void answer_done(struct answer *answer);
/* The value of a header in `text`, "" if it is not there. Returns text. */
const char *answer_header(const struct answer *answer, const char *name, char text[512]);
/* A member of the JSON answer: "a/b/0/c"; NULL if missing. */
json_t *answer_at(const struct answer *answer, const char *path);
const char *answer_text(const struct answer *answer, const char *path); /* "" if it is not text */
long long answer_number(const struct answer *answer, const char *path);
