// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

extension Store {
    /// Removes every byte of a user or a zone from a store that no process has open.
    ///
    /// `Docs/erase.md` describes the details. The whole log is rewritten, so there must be free
    /// space for a second log. The erasure takes effect only once the rewrite is done. If it fails
    /// before, or the machine stops, the store is unchanged, except that some tokens have expired.
    /// After it, a file in the store marks the erasure, and the next open for writing completes it.
    /// Erasing again is harmless.
    ///
    /// A dry run changes nothing, and works on an open store. To erase from a store that this
    /// process has open, use ``erase(_:isDryRun:)``.
    ///
    /// Throws `locked` while a process has the store open, even for reading; `full` if there is no
    /// space; `notAStore`, `corrupted`, `newerVersion`, `foreignFile` or `unreadable`. Blocks on
    /// disk I/O. O(bytes of the log).
    public static func erase(
        _ subject: ErasureSubject,
        at path: String,
        options: StoreOptions = StoreOptions(),
        isDryRun: Bool = false
    ) throws(LogError) -> ErasureReceipt {
        try erase(
            subject,
            at: path,
            options: options,
            isDryRun: isDryRun,
            environment: StoreEnvironment()
        )
    }

    /// Removes every byte of a user or a zone from this store, which stays in use.
    ///
    /// The store is closed for the time of the erasure, and opened again. Meanwhile calls fail with
    /// `serviceUnavailable` and a time after which to retry, and streams wait. A call that has begun
    /// before gets some seconds to end; after that it may fail, and uploads do. Readers of the files
    /// get two seconds. Otherwise this is as ``erase(_:at:options:isDryRun:)``.
    ///
    /// Throws `locked` if another process, or another opening in this one, reads the store, and
    /// `readOnly` if the store is closed or open for reading; nothing has happened then. Blocks on
    /// disk I/O. O(bytes of the log).
    public func erase(
        _ subject: ErasureSubject,
        isDryRun: Bool = false
    ) throws(LogError) -> ErasureReceipt {
        guard let reopening else {
            throw LogError(
                .readOnly,
                "The store is open for reading only. Open it for writing to erase from it."
            )
        }
        let folder = reopening.folder
        func run() throws(LogError) -> ErasureReceipt {
            try Store.erase(
                subject,
                at: folder.path,
                options: options,
                isDryRun: isDryRun,
                environment: reopening.environment
            )
        }
        if isDryRun { return try run() }
        // Before the check for readers, so that readers in this process notice and close the files.
        erasureCount.withLock { $0 += 1 }
        defer { erasureCount.withLock { $0 -= 1 } }
        return try whileClosed(
            if: { (log) throws(LogError) in
                // The erasure and the next opening find the store by its path.
                guard try log.isInPlace() else {
                    throw LogError(
                        .unreadable,
                        "The store's folder was moved. Open it where it is now, and erase there.",
                        path: folder.path
                    )
                }
                // The erasure would find the same, when the store is closed already.
                guard try reopening.waitForReaders(of: log) else { throw Erasure.isRead(folder) }
            },
            run
        )
    }

    /// Returns the subject of an erasure that was interrupted and is pending; `nil` if there is
    /// none.
    ///
    /// Throws `corrupted` if the file that records the erasure is malformed, and `unreadable`.
    package static func pendingErasure(at path: String) throws(LogError) -> ErasureSubject? {
        try ErasureFiles(StoreFolder(path), StoreEnvironment()).pending()
    }

    /// Erases with effects of the caller's.
    package static func erase(
        _ subject: ErasureSubject,
        at path: String,
        options: StoreOptions,
        isDryRun: Bool = false,
        environment: StoreEnvironment
    ) throws(LogError) -> ErasureReceipt {
        let folder = StoreFolder(path)
        if isDryRun { return try Erasure(of: subject, in: folder, environment).estimate() }
        let opening = StoreOpening(folder: folder, options: options, environment: environment)
        // This open also completes an earlier erasure that was interrupted.
        let (log, _) = try opening.openLog(creating: false)
        let receipt: ErasureReceipt
        do throws(LogError) {
            var held = environment
            held.log = log.environment
            receipt = try Erasure(of: subject, in: folder, held).run(on: log)
        } catch {
            // Report the original failure.
            try? log.close()
            throw error
        }
        try log.close()
        return receipt
    }
}
