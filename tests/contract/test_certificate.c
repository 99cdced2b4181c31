/* TLS, and a certificate that is renewed while the server runs. */
#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "tests/contract/world.h"

#define SOON (30 * NSEC_PER_SEC)

static char certificate[128], key[128];

/* GnuTLS 3.7 itself loses 10 kB each time that it refuses a certificate beside a good key (twenty lines
 * around gnutls_certificate_set_x509_key_mem show it). The leak checker asks for this by name. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:gnutls_x509_crt_init\nleak:libtasn1\n";
}

static void run(const char *const *argv, char *output, size_t size)
{
    struct problem why = { 0 };
    if (spawn_run(argv, SOON, output, size, &why) < 0)
        fail_msg("%s", why.message);
}

/* A new key and a certificate of it for that name, at the same paths. */
static void make_certificate(const char *name)
{
    char subject[64];
    snprintf(subject, sizeof subject, "/CN=%s", name);
    const char *const argv[] = {
        "openssl", "req",       "-x509", "-newkey", "ec",    "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes",  "-days",     "1",     "-subj",   subject, "-keyout",  key,
        "-out",    certificate, NULL
    };
    run(argv, NULL, 0);
}

static void expect_name(unsigned port, const char *name)
{
    char address[32], output[8192], expected[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    snprintf(expected, sizeof expected, "subject=CN = %s\n", name);
    const char *const argv[] = { "openssl", "s_client", "-connect", address, NULL };
    run(argv, output, sizeof output);
    if (!strstr(output, expected))
        fail_msg("expected %s in:\n%s", expected, output);
}

static void takes_a_renewed_certificate_and_keeps_it_over_a_broken_one(void **state)
{
    struct world *world = *state;
    char *listen[] = { (char[]){ "127.0.0.1:0" }, (char[]){ "127.0.0.1:0" } };
    snprintf(certificate, sizeof certificate, "%s/certificate.pem", world->folder);
    snprintf(key, sizeof key, "%s/key.pem", world->folder);
    const struct server_settings settings = {
        .listen = { 2, listen }, .certificate = certificate, .key = key, .threads = 2
    };
    struct server *server = NULL;
    struct problem why = { 0 };

    make_certificate("first");
    assert_int_equal(server_start(&world->app, &settings, &server, &why), 0);
    unsigned port[] = { server_port(server, 0), server_port(server, 1) };
    expect_name(port[0], "first");
    assert_int_equal(server_reload(server, &settings, &why), 0);

    for (size_t round = 0; round < 3; round++) {
        static const char *const names[] = { "second", "third", "fourth" };
        make_certificate(names[round]);
        assert_int_equal(server_reload(server, &settings, &why), 1);
        for (size_t i = 0; i < COUNT_OF(port); i++)
            expect_name(port[i], names[round]);
    }

    FILE *f = fopen(certificate, "we");
    assert_non_null(f);
    fputs("-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", f);
    fclose(f);
    assert_int_equal(server_reload(server, &settings, &why), -1);
    assert_non_null(strstr(why.message, "certificate"));
    expect_name(port[0], "fourth");
    server_stop(server, NSEC_PER_SEC);
    unlink(certificate);
    unlink(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_renewed_certificate_and_keeps_it_over_a_broken_one),
    };
    return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
