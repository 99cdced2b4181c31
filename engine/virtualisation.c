#include "engine/virtualisation.h"

#include "engine/base/text.h"
#include "engine/procfs.h"

#include <fcntl.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { LEAF_FEATURES = 1, FEATURE_HYPERVISOR = 1U << 31, LEAF_HYPERVISOR = 0x40000000 };

/* false: this CPU says that nothing is below it. */
static bool ask_cpu(char signature[13])
{
    unsigned a, b, c = 0, d;
    signature[0] = '\0';
    if (!__get_cpuid(LEAF_FEATURES, &a, &b, &c, &d) || !(c & FEATURE_HYPERVISOR))
        return false;
    __cpuid(LEAF_HYPERVISOR, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    signature[12] = '\0';
    return true;
}
static const bool cpu_knows = true;
#else
static bool ask_cpu(char signature[13])
{
    signature[0] = '\0';
    return false;
}
static const bool cpu_knows = false;
#endif

struct known {
    const char *says, *name;
};

static const char *lookup(const struct known *known, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (text_starts(text, known[i].says))
            return known[i].name;
    return NULL;
}

const char *virtual_by_signature(const char *signature)
{
    static const struct known known[] = {
        { "KVMKVMKVM", "kvm" },       { "Linux KVM Hv", "kvm" },       { "TCGTCGTCGTCG", "qemu" },
        { "VMwareVMware", "vmware" }, { "Microsoft Hv", "microsoft" }, { "XenVMMXenVMM", "xen" },
        { "bhyve bhyve ", "bhyve" },  { "QNXQVMBSQG", "qnx" },         { "ACRNACRNACRN", "acrn" },
        { "SRESRESRESRE", "sre" },    { "Apple VZ", "apple" },
    };
    return lookup(known, COUNT_OF(known), signature);
}

const char *virtual_by_maker(const char *maker)
{
    static const struct known known[] = {
        { "KVM", "kvm" },
        { "OpenStack", "kvm" },
        { "Amazon EC2", "amazon" },
        { "QEMU", "qemu" },
        { "VMware", "vmware" },
        { "VMW", "vmware" },
        { "innotek GmbH", "oracle" },
        { "VirtualBox", "oracle" },
        { "Xen", "xen" },
        { "Bochs", "bochs" },
        { "Parallels", "parallels" },
        { "BHYVE", "bhyve" },
        { "Hyper-V", "microsoft" },
        { "Apple Virtualization", "apple" },
        { "Google Compute Engine", "google" },
    };
    return lookup(known, COUNT_OF(known), maker);
}

static const char *by_dmi(void)
{
    static const char *const files[] = {
        "/sys/class/dmi/id/product_name",
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/board_vendor",
        "/sys/class/dmi/id/bios_vendor",
    };
    char text[128];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *name =
            procfs_line(AT_FDCWD, files[i], text, sizeof text) == 0 ? virtual_by_maker(text) : NULL;
        if (name)
            return name;
    }
    return NULL;
}

static bool is_user_mode_linux(void)
{
    char text[256];
    scoped_fd int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    return procfs_read(fd, text, sizeof text) > 0 && strstr(text, "User Mode Linux");
}

const char *virtual_machine(void)
{
    char signature[13], text[32];
    if (is_user_mode_linux())
        return "uml";
    bool below = ask_cpu(signature);
    const char *name = below ? virtual_by_signature(signature) : NULL;
    if (!name)
        name = by_dmi();
    if (!name && procfs_line(AT_FDCWD, "/sys/hypervisor/type", text, sizeof text) == 0 &&
        strcmp(text, "xen") == 0)
        name = "xen";
    if (!name && below)
        name = "vm-other";
    return name ? name : cpu_knows ? "none" : NULL;
}
