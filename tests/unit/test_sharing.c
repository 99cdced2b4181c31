/* What is shared, who may ask for it, and what is told of it. */
#include "engine/ledger.h"
#include "engine/provision/sharer.h"
#include "engine/workload/workload.h"
#include "tests/unit/place.h"

static struct target target_with(const char *name, int kind, int means)
{
    struct target target = { 0 };
    must(fields_preset(target_fields, &target, &unmet));
    target.name = strdup(name);
    target.kind = kind;
    target.share = means;
    return target;
}

static void a_job_may_share_where_the_target_names_a_means(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int kind, means;
        uint64_t first, last, filesystems;
        const char *field, *message;
    } rows[] = {
        { "a", TARGET_DIRECTORY, SHARE_NONE, 1, 9, 1, "/params/share",
          "the target does not allow nfs: its setting share does not say by what means (zfs, "
          "exportfs or ganesha)" },
        { "", TARGET_DIRECTORY, SHARE_NONE, 1, 9, 1, "", "" }, /* by hand: exportfs */
        { "a", TARGET_DIRECTORY, SHARE_EXPORTFS, 1, 9, 100000, "", "" },
        { "a", TARGET_DIRECTORY, SHARE_GANESHA, 100, 199, 100, "", "" },
        { "a", TARGET_DIRECTORY, SHARE_GANESHA, 100, 199, 101, "/params/filesystems",
          "filesystems must be at most 100 to be shared: the target has so many export ids, from "
          "share_id_first to share_id_last" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct target target = target_with(rows[i].name, rows[i].kind, rows[i].means);
        struct problem why = { 0 };
        target.share_id_first = rows[i].first;
        target.share_id_last = rows[i].last;
        int is = sharing_check(&target, rows[i].filesystems, &why);
        assert_int_equal(is, rows[i].message[0] ? -1 : 0);
        assert_string_equal(why.field, rows[i].field);
        assert_string_equal(why.message, rows[i].message);
        target_done(&target);
    }
}

static void what_is_not_mounted_cannot_be_shared(void **state)
{
    (void)state;
    const struct workload *workload = workload_find("filesystem-scaling");
    struct target target = target_with("a", TARGET_ZFS, SHARE_GANESHA);
    scoped_free void *params = calloc(1, workload->params_size);
    struct problem why = { 0 };
    must(fields_preset(workload->params, params, &unmet));
    must(field_parse(field_named(workload->params, "share"), "nfs", "", params, &unmet));
    must(workload->check(params, &target, &unmet));
    must(field_parse(field_named(workload->params, "mounted"), "no", "", params, &unmet));
    assert_int_equal(workload->check(params, &target, &why), -1);
    assert_string_equal(why.field, "/params/share");
    fields_done(workload->params, params);
    target_done(&target);
}

static void a_share_has_the_path_of_its_number(void **state)
{
    (void)state;
    struct ledger_shares *shares = calloc(1, sizeof *shares);
    char path[SHARE_ROOT];
    struct problem why = { 0 };
    assert_non_null(shares);
    snprintf(shares->root, sizeof shares->root, "/srv/x/plimsoll-1-1-0011223344556677");
    shares->prefix = 'm';
    must(share_path(shares, 42, path, &unmet));
    assert_string_equal(path, "/srv/x/plimsoll-1-1-0011223344556677/m0000000042");
    memset(shares->root, 'x', sizeof shares->root - 1);
    assert_int_equal(share_path(shares, 42, path, &why), -1);
    free(shares);
}

static void what_was_told_of_shares_is_read_back(void **state)
{
    struct place *place = *state;
    struct ledger *made = run_made(place_run(place, -1)), read = { 0 }, copy = { 0 };
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem why = { 0 };
    made->shares.means = SHARE_GANESHA;
    made->shares.prefix = 'm';
    snprintf(made->shares.root, sizeof made->shares.root, "/srv/x");
    must(ledger_share_to(&made->shares, "10.0.0.0/8", &unmet));
    must(ledger_share_to(&made->shares, "host", &unmet));
    for (unsigned batch = 0; batch < 4; batch++) {
        for (unsigned i = 0; i < 10; i++)
            must(ledger_share_add(&made->shares, (uint16_t)(65000 + 10 * batch + i), &unmet));
        made->shares.claimed = 10 * (batch + 1);
        must(run_made_tell(place->run, &unmet)); /* before they are shared */
    }
    must(journal_reader_open(place->file, 0, &reader, &unmet));
    while (journal_next(reader, &record, &why) > 0)
        if (record->kind == RECORD_MADE)
            must(journal_read_made(record, &read, &unmet));
    journal_reader_close(reader);
    must(ledger_copy(&read, &copy, &unmet));
    ledger_done(&read);
    assert_int_equal(copy.shares.means, SHARE_GANESHA);
    assert_int_equal(copy.shares.prefix, 'm');
    assert_string_equal(copy.shares.root, "/srv/x");
    assert_int_equal(copy.shares.claimed, 40);
    assert_int_equal(copy.shares.n, 40);
    assert_int_equal(copy.shares.ids[0], 65000);
    assert_int_equal(copy.shares.ids[39], 65039);
    assert_int_equal(copy.shares.clients.n, 2);
    assert_string_equal(copy.shares.clients.at[0], "10.0.0.0/8");
    assert_string_equal(copy.shares.clients.at[1], "host");
    ledger_done(&copy);
}

static const struct capability *able(const struct target_facts *facts, const char *value)
{
    for (size_t i = 0; i < facts->capabilities_n; i++)
        if (strcmp(facts->capabilities[i].value, value) == 0)
            return &facts->capabilities[i];
    fail_msg("nothing is said of %s", value);
    return NULL;
}

static void a_target_says_what_it_cannot_do(void **state)
{
    (void)state;
    char nobody[] = "nobody";
    struct target_facts facts = { 0 };
    struct target target = target_with("a", TARGET_DIRECTORY, SHARE_NONE);
    capabilities_probe(&target, &facts);
    assert_false(able(&facts, "nfs")->usable);
    assert_string_equal(able(&facts, "nfs")->reason, "the target's setting share names no means");
    assert_string_equal(able(&facts, "remount")->reason,
                        "a target of kind directory cannot be brought back so");
    assert_string_equal(able(&facts, "reboot")->reason, "the target's setting allow_reboot is no");
    target.allow_reboot = true;
    capabilities_probe(&target, &facts);
    assert_true(able(&facts, "reboot")->usable);
    target_done(&target);

    target = target_with("a", TARGET_MKFS, SHARE_EXPORTFS);
    target.run_as = strdup(nobody);
    capabilities_probe(&target, &facts);
    assert_string_equal(able(&facts, "nfs")->by, "exportfs");
    assert_string_equal(able(&facts, "nfs")->reason,
                        "it takes root, and the target's setting run_as is nobody");
    assert_string_equal(able(&facts, "remount")->reason,
                        "it takes root, and the target's setting run_as is nobody");
    target_done(&target);

    target = target_with("a", TARGET_NFS, SHARE_NONE);
    capabilities_probe(&target, &facts);
    assert_int_equal(facts.capabilities_n, 0);
    target_done(&target);
}

static void a_bus_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct target target = target_with("a", TARGET_DIRECTORY, SHARE_GANESHA);
    struct problem why = { 0 };
    const char *before = getenv("DBUS_SYSTEM_BUS_ADDRESS");
    scoped_free char *kept = before ? strdup(before) : NULL;
    setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
    assert_int_equal(sharing_probe(&target, &why), -1);
    assert_string_equal(why.message, "cannot reach the system bus: No such file or directory");
    if (kept)
        setenv("DBUS_SYSTEM_BUS_ADDRESS", kept, 1);
    else
        unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
    target_done(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_may_share_where_the_target_names_a_means),
        cmocka_unit_test(what_is_not_mounted_cannot_be_shared),
        cmocka_unit_test(a_share_has_the_path_of_its_number),
        at_a_place(what_was_told_of_shares_is_read_back),
        cmocka_unit_test(a_target_says_what_it_cannot_do),
        cmocka_unit_test(a_bus_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
