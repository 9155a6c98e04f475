// Tidemark
// SPDX-License-Identifier: Apache-2.0

#include "CDefaultCloud.h"

#include <stddef.h>

#ifdef __ELF__
// The module CloudKit defines it. Swift cannot ask whether a symbol was linked, and runs no code of a module
// because it was imported.
extern void *tidemark_cloudkit_embedded_stores(void) __attribute__((weak));
#endif

#ifdef __ELF__
extern void tidemark_cloudkit_name_archived_classes(void) __attribute__((weak));

// Archives may be read before a program calls anything of the module.
__attribute__((constructor)) static void name_archived_classes(void) {
    if (tidemark_cloudkit_name_archived_classes) tidemark_cloudkit_name_archived_classes();
}
#endif

void *tidemark_make_embedded_stores(void) {
#ifdef __ELF__
    return tidemark_cloudkit_embedded_stores ? tidemark_cloudkit_embedded_stores() : NULL;
#else
    return NULL;
#endif
}
