// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
public import TidemarkDatabase
public import TidemarkModel

/// The public half of a key with which a program signs requests to the public database.
public struct ServerKey: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "ServerKey"
    /// The key's id, as requests name it.
    public var id: RecordName
    /// The name that people know it by.
    public var name: String
    /// The container's identifier.
    public var container: String
    /// The environment's name.
    public var environment: String
    /// The public key, in PEM.
    public var publicKey: String

    /// Creates a key.
    public init(
        id: String,
        name: String,
        container: ContainerID,
        environment: Environment,
        publicKey: String
    ) {
        self.id = RecordName(id)
        self.name = name
        self.container = container.identifier
        self.environment = environment.rawValue
        self.publicKey = publicKey
    }

    /// The user as which the key's program acts.
    var user: UserID {
        UserID("_" + [UInt8].sha256("key|\(id.text)|\(container)").prefix(16).hexadecimal)
    }

    /// Returns the id of a public key: the hash of its bytes.
    static func id(ofPEM text: String) throws -> String {
        do {
            let key = try P256.Signing.PublicKey(pemRepresentation: text)
            // Derived from the key itself, so that registering a key twice replaces its record.
            return Array(SHA256.hash(data: key.derRepresentation)).hexadecimal
        } catch {
            throw SyncError(
                .invalidArguments,
                "The text is not a public key of the curve P-256 in PEM.",
                remedy:
                    "Make a key with `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`, "
                    + "and print its public half with `openssl ec -in key.pem -pubout`."
            )
        }
    }
}
#endif
