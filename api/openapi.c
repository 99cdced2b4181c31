#include "api/openapi.h"

#include "api/api.h"
#include "api/auth.h"
#include "api/handlers.h"
#include "api/imports.h"
#include "api/reply.h"
#include "engine/base/field_json.h"

#include <ctype.h>

static const char *const json_alone[] = { "application/json", NULL };

static json_t *reference(const char *section, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s", section, name));
}

static json_t *path_parameters(const char *path)
{
    json_t *list = json_array();
    if (strstr(path, "{id}"))
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:i}}", "name", "id", "in",
                                        "path", "required", 1, "description", "Its number.",
                                        "schema", "type", "integer", "minimum", 1));
    if (strstr(path, "{name}"))
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:{s:s}}", "name", "name", "in",
                                              "path", "required", 1, "description", "Its name.",
                                              "schema", "type", "string"));
    return list;
}

static void add_query_parameters(json_t *list, const struct field *table)
{
    if (!table)
        return;
    scoped_json json_t *schema = fields_schema(table);
    json_t *properties = json_object_get(schema, "properties");
    for (const struct field *f = table; f->type != FT_END; f++) {
        json_t *property = json_object_get(properties, f->name);
        bool map = f->type == FT_MAP; /* one parameter for each name */
        json_t *parameter = json_pack(
            "{s:o, s:s, s:b, s:s, s:O}", "name", json_sprintf("%s%s", f->name, map ? ".NAME" : ""),
            "in", "query", "required", (int)f->required, "description", f->doc, "schema",
            map ? json_object_get(property, "additionalProperties") : property);
        if (f->type == FT_CHOICES || f->type == FT_TEXTS || f->type == FT_LIST) {
            json_object_set_new(parameter, "style", json_string("form"));
            json_object_set_new(parameter, "explode", json_false());
        }
        json_array_append_new(list, parameter);
    }
}

static json_t *parameters(const struct route *route)
{
    json_t *list = path_parameters(route->path);
    add_query_parameters(list, route->query.table);
    if (route->keyed)
        json_array_append_new(list, reference("parameters", "IdempotencyKey"));
    if (route->method == METHOD_PATCH)
        json_array_append_new(list, reference("parameters", "IfMatch"));
    if (route->handle == job_events || route->handle == service_events)
        json_array_append_new(list, reference("parameters", "LastEventId"));
    return list;
}

static json_t *success(const struct route *route, unsigned status)
{
    json_t *response = json_pack("{s:s}", "description", route->summary);
    if (status == 204)
        return response;
    json_t *content = json_object();
    for (const char *const *type = route->types ? route->types : json_alone; *type; type++) {
        bool tabled = route->answer && strcmp(*type, "application/json") == 0;
        json_t *schema = tabled ? fields_schema_answer(route->answer) : json_object();
        json_object_set_new(content, *type, json_pack("{s:o}", "schema", schema));
    }
    json_object_set_new(response, "content", content);
    return response;
}

/* Which problems a route can tell follows from what it takes. */
static json_t *responses(const struct route *route)
{
    bool open = route->role == ROLE_OPEN, named = strchr(route->path, '{');
    bool signs_in = route->handle == session_post;
    const struct {
        const char *status;
        bool told;
    } problems[] = {
        { "304", route->method == METHOD_GET && route->answer },
        { "400", true },
        { "401", !open || signs_in },
        { "403", !open || signs_in },
        { "404", named },
        { "406", true },
        { "409", (route->method != METHOD_GET && !open) || route->handle == comparisons_get },
        { "412", route->method == METHOD_PATCH },
        { "413", route->method != METHOD_GET },
        { "415", route->body.table || route->takes },
        { "422", true },
        { "429", !open || signs_in },
        { "503", true },
    };
    json_t *all = json_object();
    char status[8];
    snprintf(status, sizeof status, "%u", route->status);
    json_object_set_new(all, status, success(route, route->status));
    if (route->status == 204 &&
        route->answer) /* asked for, and going on: the answer is how it stands */
        json_object_set_new(all, "202", success(route, 202));
    if (route->handle == job_events) /* nothing more will happen */
        json_object_set_new(all, "204", json_pack("{s:s}", "description", "There is no more."));
    if (route->keyed) { /* a dry run creates nothing */
        json_object_set_new(all, "200", success(route, 200));
    }
    for (size_t i = 0; i < COUNT_OF(problems); i++)
        if (problems[i].told)
            json_object_set_new(all, problems[i].status,
                                reference("responses", strcmp(problems[i].status, "304") == 0
                                                           ? "Unchanged"
                                                           : "Problem"));
    return all;
}

/* "get_jobs_id_series" */
static json_t *operation_id(const struct route *route)
{
    char id[96];
    size_t n = 0;
    const char *path = route->path;
    if (strncmp(path, "/api/v1", 7) == 0)
        path += 7;
    for (const char *c = method_text(route->method); *c && n < sizeof id - 1; c++)
        id[n++] = (char)tolower((unsigned char)*c);
    for (const char *c = path; *c && n < sizeof id - 1; c++)
        if (isalnum((unsigned char)*c))
            id[n++] = *c;
        else if (id[n - 1] != '_' && *c != '}')
            id[n++] = '_';
    return json_stringn(id, n);
}

static json_t *operation(const struct route *route)
{
    json_t *json =
        json_pack("{s:o, s:s, s:o, s:o}", "operationId", operation_id(route), "summary",
                  route->summary, "parameters", parameters(route), "responses", responses(route));
    if (route->body.table)
        json_object_set_new(json, "requestBody",
                            json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content",
                                      "application/json", "schema",
                                      fields_schema(route->body.table)));
    if (route->takes) {
        json_t *content = json_object();
        for (const char *const *type = route->takes; *type; type++) {
            bool described = strcmp(*type, "application/json") == 0;
            json_object_set_new(
                content, *type,
                json_pack("{s:o}", "schema", described ? imports_schema() : json_object()));
        }
        json_object_set_new(json, "requestBody",
                            json_pack("{s:b, s:o}", "required", 1, "content", content));
    }
    if (route->role == ROLE_OPEN) {
        json_object_set_new(json, "security", json_array());
    } else {
        json_object_set_new(json, "security", json_pack("[{s:[]}, {s:[]}]", "token", "session"));
        json_object_set_new(json, "x-role", json_string(roles[route->role]));
    }
    return json;
}

static json_t *paths(void)
{
    json_t *all = json_object();
    for (const struct route *route = routes; route->path; route++) {
        json_t *path = json_object_get(all, route->path);
        char method[16];
        size_t n = 0;
        for (const char *c = method_text(route->method); *c && n < sizeof method - 1; c++)
            method[n++] = (char)tolower((unsigned char)*c);
        method[n] = '\0';
        if (!path)
            json_object_set_new(all, route->path, path = json_object());
        json_object_set_new(path, method, operation(route));
    }
    return all;
}

static json_t *components(void)
{
    return json_pack(
        "{s:{s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}},"
        " s:{s:{s:s, s:s, s:b, s:s, s:{s:s, s:i, s:i, s:s}}, s:{s:s, s:s, s:b, s:s, s:{s:s}},"
        "  s:{s:s, s:s, s:b, s:s, s:{s:s, s:i}}},"
        " s:{s:{s:s, s:{s:{s:o}}}, s:{s:s}},"
        " s:{s:o}}",
        "securitySchemes", "token", "type", "http", "scheme", "bearer", "session", "type", "apiKey",
        "in", "cookie", "name", SESSION_COOKIE, "description",
        "Made by POST /session. Writes then need an Origin header that names this service.",
        "parameters", "IdempotencyKey", "name", "Idempotency-Key", "in", "header", "required", 0,
        "description",
        "Repeated with the same body within 24 hours, the first answer again; with another body, "
        "a problem.",
        "schema", "type", "string", "minLength", 1, "maxLength", 255, "pattern", "^[ -~]+$",
        "IfMatch", "name", "If-Match", "in", "header", "required", 0, "description",
        "The ETag of what was read: if it has changed since, nothing is done (412).", "schema",
        "type", "string", "LastEventId", "name", "Last-Event-ID", "in", "header", "required", 0,
        "description",
        "The id of the last event that was read: those after it follow the snapshot. 204 when "
        "there "
        "is nothing more to come.",
        "schema", "type", "integer", "minimum", 0, "responses", "Problem", "description",
        "A problem (RFC 9457). A pointer is a JSON pointer into the body, /?name for a parameter "
        "of the query, or /Name for a header.",
        "content", "application/problem+json", "schema", reference("schemas", "Problem"),
        "Unchanged", "description", "If-None-Match names what would be answered.", "schemas",
        "Problem", fields_schema_answer(problem_answer));
}

int openapi_text(char **ret, struct problem *why)
{
    scoped_json json_t *json = json_pack(
        "{s:s, s:{s:s, s:s, s:s}, s:o, s:o}", "openapi", "3.1.0", "info", "title", "plimsoll",
        "version", PLIMSOLL_VERSION, "description",
        "Finds how much load a filesystem carries before it slows down, and where. Fields that are "
        "not known are refused. Sizes and durations in requests may be numbers or texts with a "
        "unit. Every representation has an ETag. GET and HEAD never change anything.",
        "paths", paths(), "components", components());
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (!text)
        return problem_set(why, PROBLEM_INTERNAL, "the description of the interface is not JSON");
    *ret = text;
    return 0;
}

int openapi_get(struct api *api, struct request *in unused, struct reply *out, struct problem *why)
{
    char *copy = strdup(api->openapi);
    if (!copy)
        return problem_memory(why);
    reply_bytes(out, "application/json", copy, strlen(copy));
    return 0;
}
