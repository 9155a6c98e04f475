#include <lz4.h>
#include <lz4hc.h>

/// Makes an LZ4 stream search a dictionary that another stream has loaded, without copying it.
///
/// The dictionary's stream must stay unchanged until the block is compressed, and is never written to.
/// This is what LZ4_attach_dictionary does, which libraries before 1.10 have, but do not export.
static inline void tidemark_attach_dictionary(LZ4_stream_t *working, const LZ4_stream_t *dictionary) {
#if LZ4_VERSION_NUMBER >= 11000
    LZ4_attach_dictionary(working, dictionary);
#else
    // At offset zero no entry of a table means "not found", and the dictionary would not be searched.
    if (working->internal_donotuse.currentOffset == 0)
        working->internal_donotuse.currentOffset = 64 * 1024;
    working->internal_donotuse.dictCtx =
        dictionary->internal_donotuse.dictSize == 0 ? 0 : &dictionary->internal_donotuse;
#endif
}
/// Decodes the first bytes of a block; returns how many, at most `wantedCount`, or a negative number for
/// bytes that are not LZ4's.
///
/// Libraries before 1.9.4 cannot stop within a block that has a dictionary, and decode all of it. So there
/// has to be room for `rawCount` bytes.
static inline int tidemark_decompress_first(
    const char *stored, char *raw, int storedCount, int wantedCount, int rawCount, const char *dictionary,
    int dictionaryCount) {
#if LZ4_VERSION_NUMBER >= 10904
    return LZ4_decompress_safe_partial_usingDict(
        stored, raw, storedCount, wantedCount, rawCount, dictionary, dictionaryCount);
#else
    int count = LZ4_decompress_safe_usingDict(
        stored, raw, storedCount, rawCount, dictionary, dictionaryCount);
    return count < wantedCount ? count : wantedCount;
#endif
}
