// Tidemark
// SPDX-License-Identifier: Apache-2.0

#ifndef TIDEMARK_FILESYSTEMS_H
#define TIDEMARK_FILESYSTEMS_H

#include <stdbool.h>
#if defined(__APPLE__)
#include <sys/mount.h>
#elif defined(__linux__)
#include <sys/vfs.h>
#endif

/// Returns true if a path lies on a file system that is known to be on a disk of this machine.
///
/// Linux: a list of such file systems, since others may wait for a network or for another process. The
/// numbers are those of statfs(2).
static inline bool tidemark_is_local(const char *path) {
#if defined(__APPLE__)
    struct statfs status;
    return statfs(path, &status) == 0 && (status.f_flags & MNT_LOCAL) != 0;
#elif defined(__linux__)
    struct statfs status;
    if (statfs(path, &status) != 0) return false;
    switch ((unsigned long)status.f_type & 0xFFFFFFFF) {
    case 0xEF53:     // ext2, ext3, ext4
    case 0x58465342: // XFS
    case 0x9123683E: // Btrfs
    case 0xF2F52010: // F2FS
    case 0x2FC12FC1: // ZFS
    case 0x01021994: // tmpfs
        return true;
    default:
        return false;
    }
#else
    return false;
#endif
}

#endif
