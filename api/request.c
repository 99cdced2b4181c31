/* Reading a request. Whatever a client can write is checked here or by the field tables: nothing
 * behind this file sees an undecoded or unchecked byte. */
#include "api/request.h"

#include "api/task.h"
#include "api/upload.h"
#include "engine/base/field_json.h"
#include "engine/base/field_value.h"
#include "engine/base/text.h"

#include <ctype.h>
#include <sodium.h>

enum {
    POINTER_TEXT = 96, /* as long as a problem's field */
    KEY_MOST = 255,
};

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* Refuses text in the path or the query, which `where` points to ("": the path). */
static int refuse(const char *where, const char *what, struct problem *why)
{
    problem_set(why, PROBLEM_BAD_SYNTAX, "%s: %s", where[0] ? where + 2 : "the path", what);
    (void)!text_fit(why->field, sizeof why->field, "%s", where);
    return -1;
}

/* Decodes %XX in place; in the query + is a space, as forms write it. */
static int decode(char *text, const char *where, struct problem *why)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '%') {
            int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
            if (low < 0)
                return refuse(where, "% must be followed by two hexadecimal digits", why);
            if (high == 0 && low == 0)
                return refuse(where, "%00 is not text", why);
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = where[0] && *from == '+' ? ' ' : *from;
        }
    }
    *to = '\0';
    return text_is_plain(text)
               ? 0
               : refuse(where, "control characters and broken UTF-8 are not text", why);
}

/* "/?name"; what does not fit is cut off. */
static const char *query_pointer(char pointer[POINTER_TEXT], const char *name)
{
    char shown[POINTER_TEXT - 2];
    (void)!text_fit(pointer, POINTER_TEXT, "/?%s", text_shown(name, shown, sizeof shown));
    return pointer;
}

static int parse_path(struct request *in, char *path, struct problem *why)
{
    size_t n = strlen(path);
    if (path[0] != '/')
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the path must begin with /");
    if (n > 1 && path[n - 1] == '/') /* one slash at the end is as good as none */
        path[--n] = '\0';
    in->parts_n = 0;
    for (char *next = n > 1 ? path + 1 : NULL; next;) {
        char *part = strsep(&next, "/");
        if (in->parts_n == PATH_PARTS)
            return problem_set(why, PROBLEM_NOT_FOUND, "there is nothing at this address");
        if (decode(part, "", why))
            return -1;
        in->parts[in->parts_n++] = part;
    }
    return 0;
}

static int parse_query(struct request *in, char *query, struct problem *why)
{
    in->params_n = 0;
    while (query) {
        char *value = strsep(&query, "&");
        char *name = strsep(&value, "=");
        if (*name == '\0' && !value)
            continue;
        if (in->params_n == QUERY_MOST)
            return problem_set(why, PROBLEM_BAD_SYNTAX, "the query has more than %d parameters",
                               QUERY_MOST);
        static char nothing[1];
        if (!value)
            value = nothing;
        char pointer[POINTER_TEXT];
        if (decode(name, query_pointer(pointer, name), why) ||
            (*value && decode(value, query_pointer(pointer, name), why)))
            return -1;
        in->params[in->params_n++] = (struct pair){ name, value };
    }
    return 0;
}

int request_parse(struct request *in, struct problem *why)
{
    if (strlen(in->target) > TARGET_MOST)
        return problem_set(why, PROBLEM_TOO_LARGE, "the address may have at most %d bytes",
                           TARGET_MOST);
    free(in->buffer);
    in->buffer = strdup(in->target);
    if (!in->buffer)
        return problem_memory(why);
    char *query = strchr(in->buffer, '?');
    if (query)
        *query++ = '\0';
    if (parse_path(in, in->buffer, why))
        return -1;
    return parse_query(in, query, why);
}

static const struct field no_fields[] = { FIELD_END };

/* The map that "label.kernel" adds to. */
static const struct field *map_named(const struct field *table, const char *name)
{
    for (const struct field *f = table; f->type != FT_END; f++)
        if (f->type == FT_MAP && text_starts(name, f->name) && name[strlen(f->name)] == '.')
            return f;
    return NULL;
}

static int bind_param(struct request *in, size_t i, const struct field *table, void *object,
                      struct problem *why)
{
    const struct pair *param = &in->params[i];
    char where[POINTER_TEXT];
    query_pointer(where, param->name);
    for (size_t k = 0; k < i; k++)
        if (strcmp(in->params[k].name, param->name) == 0)
            return problem_field(why, where, "%s is given twice", param->name);
    const struct field *f = field_named(table, param->name);
    if (f && f->type != FT_MAP)
        return field_parse(f, param->value, where, object, why);
    f = map_named(table, param->name);
    if (!f)
        return field_unknown(table, param->name, where, why);
    if (map_add(f, field_at(f, object), param->name + strlen(f->name) + 1, param->value))
        return problem_field(why, where, "%s needs a name and a text without control characters",
                             param->name);
    return 0;
}

int request_bind_query(struct request *in, struct problem *why)
{
    const struct field *table = in->route->query.table ? in->route->query.table : no_fields;
    size_t size = in->route->query.size;
    in->query = calloc(1, size ? size : 1);
    if (!in->query)
        return problem_memory(why);
    if (fields_preset(table, in->query, why))
        return -1;
    for (size_t i = 0; i < in->params_n; i++)
        if (bind_param(in, i, table, in->query, why))
            return -1;
    return 0;
}

static bool too_deep(const json_t *json, unsigned depth)
{
    if (depth == 0)
        return true;
    size_t i;
    const char *key;
    json_t *value;
    json_array_foreach(json, i, value) if (too_deep(value, depth - 1)) return true;
    json_object_foreach((json_t *)(uintptr_t)json, key,
                        value) if (too_deep(value, depth - 1)) return true;
    return false;
}

/* That media type alone or with charset=utf-8, in any case of letters. */
static bool is_media(const char *type, const char *wanted)
{
    size_t n = strlen(wanted);
    if (!type || strncasecmp(type, wanted, n) != 0)
        return false;
    type += n + strspn(type + n, " \t");
    if (*type == ';') {
        type += 1 + strspn(type + 1, " \t");
        if (strncasecmp(type, "charset=", 8) != 0)
            return false;
        type += 8;
        return strcasecmp(type, "utf-8") == 0 || strcasecmp(type, "\"utf-8\"") == 0;
    }
    return *type == '\0';
}

int request_media(struct request *in, struct problem *why)
{
    const char *type = NULL, *const *takes = in->route->takes;
    char list[200] = "";
    if (request_header(in, "Content-Type", &type, why))
        return -1;
    for (size_t i = 0; takes[i]; i++) {
        size_t n = strlen(list);
        if (is_media(type, takes[i])) {
            in->media = i;
            return 0;
        }
        (void)!text_fit(list + n, sizeof list - n, "%s%s",
                        !i             ? ""
                        : takes[i + 1] ? ", "
                                       : " or ",
                        takes[i]);
    }
    return problem_set(why, PROBLEM_BAD_MEDIA, "the body must be %s, and Content-Type must say so",
                       list);
}

int request_key(const struct request *in, struct idempotency *ret, struct problem *why)
{
    const char *key = NULL;
    if (request_header(in, "Idempotency-Key", &key, why))
        return -1;
    size_t n = key ? strlen(key) : 1;
    for (size_t i = 0; key && i < n; i++)
        if (key[i] < 0x20 || key[i] > 0x7e)
            n = 0;
    if (n == 0 || n > KEY_MOST)
        return problem_field(why, "/Idempotency-Key",
                             "the key must have 1 to %d printable ASCII characters", KEY_MOST);
    *ret = (struct idempotency){ .key = key, .token = in->principal.token };
    crypto_generichash(ret->body_hash, sizeof ret->body_hash, (const unsigned char *)in->body,
                       in->body_n, NULL, 0);
    return 0;
}

static int parse_body(const struct request *in, json_t **ret, struct problem *why)
{
    const char *type = NULL;
    if (request_header(in, "Content-Type", &type, why))
        return -1;
    if (!is_media(type, "application/json"))
        return problem_set(why, PROBLEM_BAD_MEDIA,
                           "the body must be application/json, and Content-Type must say so");
    json_error_t error;
    scoped_json json_t *json = json_loadb(in->body, in->body_n, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the body is not JSON: line %d, column %d: %s",
                           error.line, error.column,
                           json_error_code(&error) == json_error_null_character
                               ? "\\u0000 is not text"
                               : error.text);
    if (!json_is_object(json))
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the body must be a JSON object");
    if (too_deep(json, JSON_DEPTH))
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the body nests deeper than %d levels",
                           JSON_DEPTH);
    *ret = steal(&json);
    return 0;
}

int request_bind_body(struct request *in, struct problem *why)
{
    const struct field *table = in->route->body.table ? in->route->body.table : no_fields;
    size_t size = in->route->body.size;
    scoped_json json_t *json = NULL;
    if (in->body_n == 0)
        json = json_object();
    else if (parse_body(in, &json, why))
        return -1;
    scoped_free void *object = calloc(1, size ? size : 1);
    if (!json || !object)
        return problem_memory(why);
    if (fields_bind(table, json, "", object, why))
        return -1; /* it owns nothing then */
    in->input = steal(&object);
    return 0;
}

void request_done(struct request *in)
{
    if (in->query && in->route->query.table)
        fields_done(in->route->query.table, in->query);
    if (in->input && in->route->body.table)
        fields_done(in->route->body.table, in->input);
    free(in->query);
    free(in->input);
    in->task = task_end(in->task);
    in->upload = upload_close(in->upload);
    free(in->buffer);
    free(in->body);
    free(in->target);
}

int request_header(const struct request *in, const char *name, const char **ret,
                   struct problem *why)
{
    const char *value = in->header(in->wire, name);
    if (value && !text_is_plain(value)) {
        char where[96];
        (void)!text_fit(where, sizeof where, "/%s", name);
        problem_set(why, PROBLEM_BAD_SYNTAX,
                    "the header %s holds a control character or broken UTF-8", name);
        (void)!text_fit(why->field, sizeof why->field, "%s", where);
        return -1;
    }
    *ret = value;
    return 0;
}

/* One element of a comma-separated header: its text without parameters, and its q. */
static const char *next_element(const char *header, char *text, size_t size, double *ret_q)
{
    header += strspn(header, ", \t");
    if (*header == '\0')
        return NULL;
    size_t n = strcspn(header, ",;"), word = n;
    while (word && (header[word - 1] == ' ' || header[word - 1] == '\t'))
        word--;
    if (text_fit(text, size, "%.*s", (int)word, header))
        text[0] = '\0';
    *ret_q = 1;
    header += n;
    while (*header == ';') {
        header += 1 + strspn(header + 1, " \t");
        if ((header[0] == 'q' || header[0] == 'Q') && header[1] == '=')
            *ret_q = strtod(header + 2, NULL);
        header += strcspn(header, ",;");
    }
    return header;
}

/* How well a media range fits: 3 exact, 2 "type/+", 1 any, 0 not at all. */
static int range_fits(const char *range, const char *type)
{
    size_t family = strcspn(type, "/") + 1;
    if (strcasecmp(range, type) == 0)
        return 3;
    if (strncasecmp(range, type, family) == 0 && strcmp(range + family, "*") == 0)
        return 2;
    return strcmp(range, "*/*") == 0;
}

int request_accepts(const char *accept, const char *const *types, size_t *ret, struct problem *why)
{
    double best = accept ? 0 : 1;
    size_t chosen = 0;
    for (size_t i = 0; accept && types[i]; i++) {
        char range[96];
        double q, own = 0;
        int fit = 0;
        for (const char *at = accept; (at = next_element(at, range, sizeof range, &q));) {
            int now = range_fits(range, types[i]);
            if (now > fit) { /* the most specific range decides for a type */
                fit = now;
                own = q;
            }
        }
        if (own > best) {
            best = own;
            chosen = i;
        }
    }
    if (best <= 0)
        return problem_set(why, PROBLEM_NOT_ACCEPTABLE, "this address answers with %s%s%s",
                           types[0], types[0] && types[1] ? " or " : "",
                           types[0] && types[1] ? types[1] : "");
    *ret = chosen;
    return 0;
}

bool request_takes_gzip(const char *accept_encoding)
{
    char coding[32];
    double q;
    for (const char *at = accept_encoding ? accept_encoding : "";
         (at = next_element(at, coding, sizeof coding, &q));)
        if (strcasecmp(coding, "gzip") == 0)
            return q > 0;
    return false;
}

/* The length of an etag up to its closing quote or the suffix of an encoding. */
static size_t etag_stem(const char *etag)
{
    size_t n = strcspn(etag, ",");
    while (n && (etag[n - 1] == ' ' || etag[n - 1] == '\t'))
        n--;
    if (n && etag[n - 1] == '"')
        n--;
    return n > 5 && memcmp(etag + n - 5, "-gzip", 5) == 0 ? n - 5 : n;
}

bool etag_listed(const char *if_none_match, const char *etag)
{
    size_t n = etag_stem(etag);
    for (const char *at = if_none_match; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        if (*at == '*')
            return true;
        if (at[0] == 'W' && at[1] == '/')
            at += 2;
        if (etag_stem(at) == n && memcmp(at, etag, n) == 0)
            return true;
    }
    return false;
}

int cookie_value(const char *header, const char *name, char *text, size_t size)
{
    size_t n = strlen(name);
    while (header && *header) {
        header += strspn(header, "; \t");
        size_t length = strcspn(header, ";");
        if (length > n && strncmp(header, name, n) == 0 && header[n] == '=')
            return text_fit(text, size, "%.*s", (int)(length - n - 1), header + n + 1);
        header += length;
    }
    return -1;
}
