/* Which records there are, in which order they come and what stands in them. */
#include "engine/workload/throughput.h"

void data_name(char name[DATA_NAME], uint64_t number)
{
    snprintf(name, DATA_NAME, "f%0*llu", DATA_DIGITS, (unsigned long long)number);
}

void order_init(struct order *order, const struct throughput *with,
                enum throughput_operation operation, unsigned lane, uint64_t n)
{
    *order = (struct order){ .operation = operation, .n = n, .stride = with->stride };
    if (n)
        scatter_init(&order->scatter, n, mix64_of(with->seed + lane, (uint64_t)operation));
}

void content_init(struct content *content, const struct throughput *with, uint64_t file)
{
    *content = (struct content){ .seed = with->seed, .key = mix64_of(with->seed, file) };
    content->random = DATA_BLOCK - DATA_BLOCK * with->compressible_percent / 100;
    for (unsigned i = 0; i < DO_COUNT; i++)
        content->code[i] = mix64_of(content->key, i);
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void put_word(char *block, size_t i, uint64_t word, size_t end)
{
    if (i < end)
        memcpy(block + i, &word, at_most(sizeof word, end - i));
}

void content_noise(const struct content *content, char *data, size_t n, uint64_t salt)
{
    memset(data, 0, n);
    for (size_t block = 0; block < n; block += DATA_BLOCK) {
        size_t end = at_most(content->random, n - block);
        for (size_t i = 0; i < end; i += sizeof salt)
            put_word(data + block, i, mix64_of(content->key ^ salt, (block + i) / sizeof salt),
                     end);
    }
}

/* Words of one block: which operation, where, by which seed, and then what follows from these. */
static void fill_block(const struct content *content, char *block, size_t n, uint64_t offset,
                       uint64_t code)
{
    uint64_t head[] = { code, offset, content->seed };
    uint64_t key = mix64(code ^ mix64(content->key + offset));
    size_t end = at_most(content->random, n), i = 0;
    for (; i < sizeof head && i < end; i += sizeof key)
        put_word(block, i, head[i / sizeof key], end);
    for (; i + sizeof key <= end; i += sizeof key) {
        uint64_t word = mix64_of(key, i);
        memcpy(block + i, &word, sizeof word);
    }
    put_word(block, i, mix64_of(key, i), end);
    memset(block + end, 0, n - end);
}

void content_fill(const struct content *content, char *data, size_t n, uint64_t offset,
                  enum throughput_operation operation)
{
    for (size_t i = 0; i < n; i += DATA_BLOCK)
        fill_block(content, data + i, at_most(DATA_BLOCK, n - i), offset + i,
                   content->code[operation]);
}

/* The operation whose code is most like what is found: a wrong byte in the code is then one wrong byte. */
static uint64_t likely_code(const struct content *content, const char *block, size_t n)
{
    uint64_t found = 0, best = 0;
    size_t least = sizeof found + 1;
    memcpy(&found, block, at_most(sizeof found, n));
    for (unsigned i = 0; i < DO_COUNT; i++) {
        uint64_t difference = found ^ content->code[i];
        size_t wrong = 0;
        for (size_t byte = 0; byte < sizeof found; byte++)
            wrong += (difference >> 8 * byte & 0xff) != 0;
        if (wrong < least) {
            least = wrong;
            best = content->code[i];
        }
    }
    return best;
}

bool content_check(const struct content *content, const char *data, size_t n, uint64_t offset,
                   struct mismatch *ret)
{
    char expected[DATA_BLOCK];
    for (size_t block = 0; block < n; block += DATA_BLOCK) {
        const char *found = data + block;
        size_t length = at_most(DATA_BLOCK, n - block);
        fill_block(content, expected, length, offset + block,
                   likely_code(content, found, at_most(content->random, length)));
        if (memcmp(expected, found, length) == 0)
            continue;
        size_t i = 0;
        while (expected[i] == found[i])
            i++;
        *ret = (struct mismatch){ offset + block + i, (uint8_t)expected[i], (uint8_t)found[i] };
        return false;
    }
    return true;
}
