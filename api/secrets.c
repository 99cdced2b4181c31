/* Secrets and their hashes. A secret has 256 random bits, so one plain hash keeps it: there is
 * nothing to guess, and looking it up costs a microsecond. */
#include "api/app.h"

#include <sodium.h>

enum { SECRET_BYTES = 32 };

void secret_new(const char *prefix, char text[SECRET_TEXT])
{
    unsigned char bytes[SECRET_BYTES];
    size_t n = strlen(prefix);
    size_t coded =
        sodium_base64_ENCODED_LEN(SECRET_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    if (sodium_init() < 0 || n + coded > SECRET_TEXT)
        abort(); /* no randomness, or a prefix that no caller has: nothing safe can follow */
    randombytes_buf(bytes, sizeof bytes);
    memcpy(text, prefix, n);
    sodium_bin2base64(text + n, SECRET_TEXT - n, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

void secret_hash(const char *text, unsigned char hash[SECRET_HASH])
{
    crypto_generichash(hash, SECRET_HASH, (const unsigned char *)text, strlen(text), NULL, 0);
}
