// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One open file of the machine's file system.
final class PosixFile: LogFile {
    let path: String
    /// The descriptor, or `closed`; swapped out once, so that it is closed once.
    private let descriptor: Atomic<Int32>
    /// True if a lock was ever taken.
    private let hasLocked = Atomic<Bool>(false)
    /// True if the file system counts the names of a file.
    private let hasCountedNames: Bool
    private static let closed: Int32 = -1

    init(descriptor: Int32, path: String, hasCountedNames: Bool) {
        self.descriptor = Atomic(descriptor)
        self.path = path
        self.hasCountedNames = hasCountedNames
    }

    deinit {
        close()
    }

    func close() {
        let open = descriptor.exchange(Self.closed, ordering: .acquiringAndReleasing)
        // A failed close is not repeated: the descriptor is invalid and may belong to another file,
        // and all important data was synced before.
        guard open != Self.closed else { return }
        // A forked process that has not yet called exec has a copy of the descriptor, and thereby
        // the lock. An explicit unlock releases the lock for all copies.
        if hasLocked.load(ordering: .acquiring) { _ = flock(open, LOCK_UN) }
        closeDescriptor(open)
    }

    func byteCount() throws(FileError) -> UInt64 {
        var status = stat()
        guard fstat(openDescriptor(), &status) == 0 else { throw failure(.stat, errno) }
        return UInt64(clamping: status.st_size)
    }

    func dataRange(from offset: UInt64) throws(FileError) -> Range<UInt64>? {
        let descriptor = openDescriptor()
        let end = try byteCount()
        guard offset < end else { return nil }
        // Moves the descriptor's own offset, which no other call uses.
        let start = lseek(descriptor, try position(offset, 0, .stat), seekData)
        // A file system that does not report holes fails the call.
        guard start >= 0 else { return errno == ENXIO ? nil : offset..<end }
        let hole = lseek(descriptor, start, seekHole)
        return UInt64(start)..<(hole > start ? UInt64(hole) : end)
    }

    func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int {
        let descriptor = openDescriptor()
        let start = try position(offset, buffer.byteCount, .read)
        return try buffer.withUnsafeMutableBytes { bytes throws(FileError) in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                let count = pread(descriptor, rest.baseAddress, rest.count, start + off_t(done))
                if count == 0 { break }
                if count > 0 {
                    done += count
                } else if errno != EINTR {
                    throw failure(.read, errno)
                }
            }
            return done
        }
    }

    func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError) {
        let descriptor = openDescriptor()
        let start = try position(offset, bytes.byteCount, .write)
        try bytes.withUnsafeBytes { bytes throws(FileError) in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = pwrite(descriptor, rest.baseAddress, rest.count, start + off_t(done))
                if count > 0 {
                    done += count
                } else if count == 0 {
                    // No system should write zero bytes of a nonempty buffer; a retry could loop
                    // forever.
                    throw failure(.write, EIO)
                } else if errno != EINTR {
                    throw failure(.write, errno)
                }
            }
        }
    }

    func sync() throws(FileError) {
        // Never repeated, not even after EINTR: a second sync may succeed although the first one
        // discarded the pages.
        let descriptor = openDescriptor()
        guard makeDurable(descriptor, .file) == 0 else { throw failure(.sync, errno) }
        guard hasCountedNames else { return }
        let count = tidemark_name_count(descriptor)
        guard count >= 0 else { throw failure(.stat, errno) }
        // Writes to a removed file still succeed, but no process could open it again.
        guard count > 0 else { throw failure(.sync, ENOENT) }
    }

    func truncate(to byteCount: UInt64) throws(FileError) {
        let descriptor = openDescriptor()
        let length = try position(byteCount, 0, .truncate)
        while ftruncate(descriptor, length) != 0 {
            guard errno == EINTR else { throw failure(.truncate, errno) }
        }
    }

    func allocate(to byteCount: UInt64) throws(FileError) {
        let start = try self.byteCount()
        guard start < byteCount else { return }
        do throws(FileError) {
            let first = try position(start, 0, .allocate)
            let length = try position(byteCount - start, Int(clamping: start), .allocate)
            // Reserving asks for all of the space before anything is written, so that a full disk
            // is met here. The zeros then make the blocks ordinary written ones: on the common
            // file systems a sync over a block that is only reserved also has to write metadata.
            let number = reserve(openDescriptor(), first, length)
            guard number == 0 else { throw failure(.allocate, number) }
            try writeZeros(from: start, to: byteCount)
        } catch {
            // The caller receives the allocation error; a file left long holds only zeros.
            try? truncate(to: start)
            throw FileError(call: .allocate, path: path, errorNumber: error.errorNumber)
        }
    }

    func lock(_ kind: FileLock) throws(FileError) -> Bool {
        let descriptor = openDescriptor()
        let operation = kind == .shared ? LOCK_SH : LOCK_EX
        hasLocked.store(true, ordering: .releasing)
        while flock(descriptor, operation | LOCK_NB) != 0 {
            let number = errno
            if number == EINTR { continue }
            guard number == EWOULDBLOCK else { throw failure(.lock, number) }
            // Systems differ in whether a failed conversion keeps the old lock; here it never does.
            try unlock()
            return false
        }
        return true
    }

    func unlock() throws(FileError) {
        let descriptor = openDescriptor()
        while flock(descriptor, LOCK_UN) != 0 {
            guard errno == EINTR else { throw failure(.lock, errno) }
        }
    }

    #if os(Linux)
    func lockHolder() -> LockHolder? {
        LockHolder(ofFile: openDescriptor())
    }
    #endif

    private func openDescriptor() -> Int32 {
        let open = descriptor.load(ordering: .acquiring)
        precondition(open != Self.closed, "\(path) is used after it was closed")
        return open
    }

    private func failure(_ call: FileError.Call, _ number: Int32) -> FileError {
        FileError(call: call, path: path, errorNumber: number)
    }

    /// Returns an offset as the system counts it, if `byteCount` more bytes fit behind it.
    private func position(
        _ offset: UInt64,
        _ byteCount: Int,
        _ call: FileError.Call
    ) throws(FileError) -> off_t {
        guard let start = off_t(exactly: offset),
            !start.addingReportingOverflow(off_t(byteCount)).overflow
        else { throw failure(call, EFBIG) }
        return start
    }

    private func writeZeros(from start: UInt64, to end: UInt64) throws(FileError) {
        // A longer buffer would be mapped, cleared and unmapped for each call.
        let zeros = [UInt8](repeating: 0, count: Int(min(end - start, 1 << 16)))
        var offset = start
        while offset < end {
            let count = Int(min(end - offset, UInt64(zeros.count)))
            try write(zeros.span.extracting(first: count).bytes, at: offset)
            offset += UInt64(count)
        }
    }
}

/// `lseek` to the next data, and to the next hole. Swift does not import Linux's macros for them.
#if canImport(Darwin)
private let seekData = SEEK_DATA
private let seekHole = SEEK_HOLE
#else
private let seekData: Int32 = 3
private let seekHole: Int32 = 4
#endif

/// The kind of file behind a descriptor, as far as syncing differs by it.
enum SyncTarget {
    case file
    case directory
}

/// Waits until written bytes are on the medium; returns 0, or -1 and sets `errno`, as system calls
/// do.
func makeDurable(_ descriptor: Int32, _ target: SyncTarget) -> Int32 {
    #if canImport(Darwin)
    // `fsync` there only hands the data to the drive. Drives and file systems without the full
    // form say so before doing anything, so that falling back repeats nothing.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    guard errno == ENOTSUP || errno == ENOTTY || errno == EINVAL else { return -1 }
    return fsync(descriptor)
    #else
    switch target {
    // `fdatasync` writes a changed length too, and saves the write of a changed modification time.
    case .file: return fdatasync(descriptor)
    case .directory: return fsync(descriptor)
    }
    #endif
}

func closeDescriptor(_ descriptor: Int32) {
    _ = close(descriptor)
}

/// Reserves the space of a range; returns 0 or an error number.
///
/// If a file system cannot reserve space, this returns 0, and the following writes report a full
/// disk.
private func reserve(_ descriptor: Int32, _ offset: off_t, _ byteCount: off_t) -> Int32 {
    #if canImport(Darwin)
    var request = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL),
        fst_posmode: F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: byteCount,
        fst_bytesalloc: 0
    )
    guard fcntl(descriptor, F_PREALLOCATE, &request) == -1 else { return 0 }
    let number = errno
    #else
    var number: Int32
    repeat {
        number = posix_fallocate(descriptor, offset, byteCount)
    } while number == EINTR
    #endif
    return number == EOPNOTSUPP || number == ENOTSUP || number == EINVAL ? 0 : number
}
