// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension RecordSave {
    /// Rejects values that a client encrypted but may not: any in the public database, whose
    /// readers share no key, and references and assets, which a store has to read.
    ///
    /// This rule is independent of the schema, and also holds if schemas are not checked. The
    /// schema decides which of its fields take encrypted values.
    package func checkEncrypted(in scope: DatabaseScope) throws(SyncError) {
        for field in fields where field.isEncrypted {
            let name = Name(field.name)
            guard scope != .public else { throw .encryptedInPublic(Name(recordType), name) }
            guard let type = field.type, !Schema.DeclaredType.canEncrypt(type) else { continue }
            throw .cannotEncrypt(Name(recordType), name, type)
        }
    }
}
