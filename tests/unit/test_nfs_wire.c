#include "engine/io/nfs_wire.h"
#include "tests/unit/cmocka_first.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The numbers of RFC 1813, 2.6. */
static void the_servers_errors_have_their_errno(void **state)
{
    static const struct {
        int status, error;
    } cases[] = {
        { 0, 0 },          { 2, ENOENT },  { 13, EACCES }, { 17, EEXIST },
        { 28, ENOSPC },    { 30, EROFS },  { 31, EMLINK }, { 63, ENAMETOOLONG },
        { 66, ENOTEMPTY }, { 69, EDQUOT }, { 70, ESTALE }, { 10004, EOPNOTSUPP },
        { 10008, EAGAIN }, { 10009, EIO }, { 12345, EIO },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (nfs_errno(cases[i].status) != cases[i].error)
            fail_msg("status %d: %s, not %s", cases[i].status, strerror(nfs_errno(cases[i].status)),
                     strerror(cases[i].error));
}

static void an_address_has_a_host_an_export_and_ports(void **state)
{
    static const struct {
        const char *text, *host, *export;
        unsigned port, mount_port;
    } cases[] = {
        { "nfs://filer/export", "filer", "/export", 0, 0 },
        { "nfs://10.0.0.1:2049/a/b", "10.0.0.1", "/a/b", 2049, 0 },
        { "nfs://filer/a?version=3&nfsport=2050&mountport=77", "filer", "/a", 2050, 77 },
        { "nfs://[::1]/a", "::1", "/a", 0, 0 },
        { "nfs://[2001:db8::7]:2049/a", "2001:db8::7", "/a", 2049, 0 },
        { "nfs://[::1/a", NULL, NULL, 0, 0 },
        { "nfs://[]/a", NULL, NULL, 0, 0 },
        { "nfs://[::1]x/a", NULL, NULL, 0, 0 },
        { "nfs://filer/a?version=4", NULL, NULL, 0, 0 },
        { "nfs://filer/a?uid=0", NULL, NULL, 0, 0 },
        { "nfs://filer/a?nfsport=0", NULL, NULL, 0, 0 },
        { "nfs://filer", NULL, NULL, 0, 0 },
        { "nfs:///export", NULL, NULL, 0, 0 },
        { "nfs://filer:x/export", NULL, NULL, 0, 0 },
        { "http://filer/export", NULL, NULL, 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nfs_address found;
        struct problem why = { 0 };
        int result = nfs_address_parse(cases[i].text, &found, &why);
        if (result != (cases[i].host ? 0 : -1))
            fail_msg("%s: %s", cases[i].text, why.message);
        if (!cases[i].host) {
            assert_string_equal(why.field, "url");
            continue;
        }
        assert_string_equal(found.host, cases[i].host);
        assert_string_equal(found.export, cases[i].export);
        assert_int_equal(found.port, cases[i].port);
        assert_int_equal(found.mount_port, cases[i].mount_port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_errors_have_their_errno),
        cmocka_unit_test(an_address_has_a_host_an_export_and_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
