// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension StoreFolder {
    /// Throws `notAStore` if the folder for a new copy of `store` already holds a store.
    ///
    /// The message names the store that exists. A copy that was finished before its process was
    /// killed is complete, and a caller that retries must be able to tell that copy from other
    /// stores.
    func checkFree(forCopyOf store: StoreID?, _ fileSystem: any FileSystem) throws(LogError) {
        let isThere = try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(current)
        }
        guard isThere else { return }
        let found: String
        if let reader = try? LogReader(path, fileSystem: fileSystem) {
            // A copy has the identity of its source, and may be written to under it.
            let what =
                reader.store == store
                ? "The store itself or a complete copy of it" : "Another store"
            found = "\(what) is already here, up to event \(reader.durableSequence)."
        } else {
            found = "A store that cannot be read is already here."
        }
        throw LogError(
            .notAStore,
            "\(found) Nothing was changed. Give a path that does not exist yet, or remove this "
                + "folder if it is not needed.",
            path: path
        )
    }
}
