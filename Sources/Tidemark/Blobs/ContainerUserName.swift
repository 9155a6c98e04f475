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

    /// Creates the name of the user that an account of the server is in one container.
    ///
    /// `account` is the name of the account's record. The name is always the same in one container,
    /// and different in each.
    package init(serverAccount account: String, in container: ContainerID) {
        var hash = BlobHash()
        hash.update(Array("user|\(account)|\(container.identifier)".utf8).span.bytes)
        self.init("_" + hash.finish().description.prefix(32))
    }

    /// The beginning of the names of the records of the server's accounts.
    package static let serverAccountPrefix = "account-"

    /// True for the name of an account of the server, which stands for its users in all containers.
    package var isServerAccount: Bool { userRecordName.hasPrefix(Self.serverAccountPrefix) }
}
