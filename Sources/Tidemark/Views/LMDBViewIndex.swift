// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// How a view index is opened.
package enum ViewAccess: Sendable {
    /// By the one writer of the store, who creates it if it is missing.
    case writing
    /// For reading while another process writes it: joins LMDB's table of readers, which the user
    /// must be allowed to write.
    case readingLive
    /// For reading while nobody has the store open: writes nothing at all. The caller sees to it
    /// that no writer changes this folder meanwhile.
    case readingStill
}

/// The view index in a folder of its own, in LMDB.
package final class LMDBViewIndex: ViewIndex {
    private let environment: LMDBEnvironment
    private let access: ViewAccess
    private let store: StoreID
    /// What the last commit says, kept where nobody else commits; `nil` elsewhere.
    private let newest: Lock<ViewState?>

    private init(_ environment: LMDBEnvironment, _ access: ViewAccess, _ state: ViewState) {
        self.environment = environment
        self.access = access
        store = state.store
        newest = Lock(access == .readingLive ? nil : state)
    }

    /// Opens the index in a folder; for `writing`, makes an empty one if there is none.
    package static func open(
        _ path: String,
        access: ViewAccess,
        store: StoreID
    ) throws(ViewIndexError) -> LMDBViewIndex {
        let files = ViewFiles(path)
        let environment: LMDBEnvironment
        if access == .writing, try !files.exist() {
            try files.createFolder()
            environment = try LMDBEnvironment(path, access, fileByteCount: 0)
            try environment.write(ViewBatch(), store: store, checkpoint: nil)
        } else {
            environment = try LMDBEnvironment(path, access, fileByteCount: files.byteCount())
        }
        let transaction = try environment.beginReading()
        defer { environment.endReading(transaction) }
        let state = try environment.readState(transaction)
        guard state.store == store else {
            throw .damaged("\(path): it belongs to store \(state.store), not \(store)")
        }
        return LMDBViewIndex(environment, access, state)
    }

    package var checkpoint: ViewCheckpoint? {
        if let state = newest.withLock({ $0 }) { return state.checkpoint }
        return try? snapshot().checkpoint
    }

    package func snapshot() throws(ViewIndexError) -> any ViewSnapshot {
        let transaction = try environment.beginReading()
        do throws(ViewIndexError) {
            let state = try state(of: transaction)
            return LMDBViewSnapshot(environment, transaction, state.checkpoint)
        } catch {
            environment.endReading(transaction)
            throw error
        }
    }

    /// What a transaction shows: mostly the newest commit, which is known without looking.
    private func state(of transaction: LMDBReadTransaction) throws(ViewIndexError) -> ViewState {
        if let newest = newest.withLock({ $0 }), newest.transaction == transaction.number {
            return newest
        }
        return try environment.readState(transaction)
    }

    package func apply(
        _ batch: consuming ViewBatch,
        checkpoint: ViewCheckpoint
    ) throws(ViewIndexError) {
        guard access == .writing else {
            throw ViewIndexError(.system, "\(environment.path): it is open for reading only")
        }
        let state = try environment.write(batch, store: store, checkpoint: checkpoint)
        newest.withLock { $0 = state }
    }

    package var byteCount: UInt64 {
        (try? ViewFiles(environment.path).byteCount()) ?? 0
    }
}
