#ifndef TIDEMARK_XXHASH_H
#define TIDEMARK_XXHASH_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

// The library's usual functions use the instructions for which it was compiled, on Debian SSE2. Those below
// use the best that the processor has. A library may be built without them, also one that a program meets
// only where it runs. So they are weak: without them, as in a static library, their addresses are null.
#ifdef __cplusplus
extern "C" {
#endif
#if defined(__x86_64__) && defined(__ELF__)
__attribute__((weak)) XXH64_hash_t XXH3_64bits_withSeed_dispatch(
    const void *bytes, size_t count, XXH64_hash_t seed);
__attribute__((weak)) XXH128_hash_t XXH3_128bits_withSeed_dispatch(
    const void *bytes, size_t count, XXH64_hash_t seed);
#define TIDEMARK_XXHASH_DISPATCHES 1
#endif

/// XXH3-64, by the fastest function that the library has for this processor.
static inline uint64_t tidemark_xxh3_64(const void *bytes, size_t count, uint64_t seed) {
#ifdef TIDEMARK_XXHASH_DISPATCHES
    if (XXH3_64bits_withSeed_dispatch != 0)
        return XXH3_64bits_withSeed_dispatch(bytes, count, seed);
#endif
    return XXH3_64bits_withSeed(bytes, count, seed);
}

/// XXH3-128, by the fastest function that the library has for this processor.
static inline XXH128_hash_t tidemark_xxh3_128(const void *bytes, size_t count, uint64_t seed) {
#ifdef TIDEMARK_XXHASH_DISPATCHES
    if (XXH3_128bits_withSeed_dispatch != 0)
        return XXH3_128bits_withSeed_dispatch(bytes, count, seed);
#endif
    return XXH3_128bits_withSeed(bytes, count, seed);
}

#ifdef __cplusplus
}
#endif
#endif
