// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_NAMES_H
#define TIDEMARK_NAMES_H

#include <errno.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#if !defined(STATX_NLINK) && __has_include(<linux/stat.h>)
#include <linux/stat.h>
#endif
// As in <unistd.h>, whose names a Swift file would then have to import from here.
long syscall(long number, ...);
#endif

/// Returns the number of names of an open file; -1 after an error, with `errno` set.
///
/// Linux: asks for nothing else. Since 6.13, a kernel that was asked for a file's times gives the next write
/// a time of its own. On ext4 without a journal, the next sync then writes the inode too, which takes as long as
/// writing the data. Unasked, the kernel changes times once per tick of its clock.
static inline long tidemark_name_count(int descriptor) {
#if defined(SYS_statx) && defined(STATX_NLINK)
    struct statx some;
    // The system call, because the C library declares its function only for programs in GNU's dialect. The
    // number is AT_EMPTY_PATH, which is hidden for the same reason.
    if (syscall(SYS_statx, descriptor, "", 0x1000, STATX_NLINK, &some) == 0) {
        if (some.stx_mask & STATX_NLINK) return (long)some.stx_nlink;
    } else if (errno != ENOSYS && errno != EPERM) {
        return -1;
    }
    // An old kernel, or a sandbox that does not know the call.
#endif
    struct stat all;
    return fstat(descriptor, &all) == 0 ? (long)all.st_nlink : -1;
}

#endif
