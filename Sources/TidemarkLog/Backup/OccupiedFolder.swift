// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension StoreFolder {
    /// Throws `notAStore` if a store is in the folder, where a new copy of `store` is to be made.
    ///
    /// Says what is there: a copy that was made before its maker was killed is whole, and whoever asks
    /// again must be able to tell it from other stores.
    func checkFree(forCopyOf store: StoreID?, _ fileSystem: any FileSystem) throws(LogError) {
        let isThere = try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(current)
        }
        guard isThere else { return }
        let found: String
        if let reader = try? LogReader(path, fileSystem: fileSystem) {
            // A copy has the identity of what it was made of, and may be written like that.
            let what =
                reader.store == store
                ? "The store itself or a complete copy of it" : "Another store"
            found = "\(what) is here already, up to event \(reader.durableSequence)."
        } else {
            found = "A store that cannot be read is here already."
        }
        throw LogError(
            .notAStore,
            "\(found) Nothing was changed. Give a path where nothing is yet, or remove what is here if "
                + "nobody needs it.",
            path: path
        )
    }
}
