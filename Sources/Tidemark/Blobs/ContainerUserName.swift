// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension UserID {
    /// Creates the name of an account's user in one container, as CloudKit does: different in every
    /// container.
    ///
    /// An underscore and the first 32 hexadecimal digits of the SHA-256 of the container's
    /// identifier, a zero byte and the account's name, in UTF-8. So it can be computed anywhere,
    /// and does not reveal the account.
    public init(account: String, in container: ContainerID) {
        var hash = BlobHash()
        let text = container.identifier + "\0" + account
        hash.update(Array(text.utf8).span.bytes)
        self.init("_" + hash.finish().description.prefix(32))
    }
}
