/* Whatever an exporter says: it is refused with a plain sentence, or every figure is a finite number or none. */
#include "engine/base/text.h"
#include "service/exporter.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_share(double value)
{
    return isnan(value) || (value >= 0 && value <= 1);
}

/* One reading of the bytes' first half and one of the second, so that there are differences. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exporter_reading readings[2];
    struct host_sample sample;
    size_t half = size / 2;
    for (int i = 0; i < 2; i++) {
        size_t n = i ? size - half : half;
        scoped_free char *bytes = malloc(n ? n : 1);
        struct problem why = { 0 };
        if (!bytes)
            abort();
        memcpy(bytes, data + (i ? half : 0), n);
        if (exporter_read(bytes, n, &readings[i], &why) < 0) {
            if (!why.message[0] || !text_is_plain(why.message))
                abort();
            return 0;
        }
        readings[i].at = (i + 1) * NSEC_PER_SEC;
    }
    exporter_sample(&readings[0], &readings[1], 1, &sample);
    if (!is_share(sample.cpu_user) || !is_share(sample.cpu_idle) || !is_share(sample.disk_busy) ||
        isinf(sample.load1) || isinf(sample.disk_read) || sample.disk_read < 0)
        abort();
    return 0;
}
