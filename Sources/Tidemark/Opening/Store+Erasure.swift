// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

extension Store {
    /// Removes every byte of a user or a zone from a store that nobody has open.
    ///
    /// `Docs/erase.md` says what that is. The log is written anew as a whole, so there must be room for
    /// a second one. Until that is done nothing is decided: if it fails, or the machine stops, the
    /// store is as it was, but for tokens that have expired. From then on the store says so in a file,
    /// and the next opening for writing goes on with what was cut off. Erasing again is harmless.
    ///
    /// A dry run changes nothing, and may be made of a store that is open.
    ///
    /// Throws `locked` while anybody has the store open, also for reading; `full` if there is no room;
    /// `notAStore`, `corrupted`, `newerVersion`, `foreignFile` or `unreadable`. Blocks while the disk
    /// works. O(bytes of the log).
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
        let (log, _) = try opening.openLog(creating: false)
        let receipt: ErasureReceipt
        do throws(LogError) {
            var held = environment
            held.log = log.environment
            receipt = try Erasure(of: subject, in: folder, held).run(on: log)
        } catch {
            // The failure is the one to tell.
            try? log.close()
            throw error
        }
        try log.close()
        return receipt
    }
}
