// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension RecordSave {
    /// Refuses values that a client encrypted where none may be: in the public database, whose
    /// readers have no key in common; and as references and assets, which a store has to read.
    ///
    /// Holds whatever the schema says, and where schemas are not checked. Whether a field of the
    /// schema takes encrypted values is the schema's business.
    package func checkEncrypted(in scope: DatabaseScope) throws(SyncError) {
        guard fields.hasEncrypted else { return }
        for field in fields where field.isEncrypted {
            let name = Name(field.name)
            guard scope != .public else { throw .encryptedInPublic(Name(recordType), name) }
            guard let type = field.type, !Schema.DeclaredType.canEncrypt(type) else { continue }
            throw .cannotEncrypt(Name(recordType), name, type)
        }
    }
}
