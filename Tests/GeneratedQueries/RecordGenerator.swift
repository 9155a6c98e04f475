// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension PredicateGenerator {
    /// A record with some of the fields that predicates look at, sometimes of another type.
    package mutating func record(
        named name: String? = nil,
        ofType type: String = "Note"
    ) throws -> Record {
        var builder = FieldsBuilder()
        for (name, type) in queriedFields where !chance(4) {
            let other = chance(10) ? pick(FieldType.allCases) : type
            let value = ValuePool.value(of: other, using: &random)
            let isEncrypted = chance(20) && Schema.DeclaredType.canEncrypt(value.type)
            try builder.set(name, value, isEncrypted: isEncrypted)
        }
        let header = RecordHeader(
            recordName: Name(name ?? pick(ValuePool.names)),
            recordType: Name(type),
            created: Authorship(time: pick(ValuePool.times), user: chance(3) ? nil : UserID("u-1")),
            modified: Authorship(time: pick(ValuePool.times), user: UserID(pick(ValuePool.names))),
            parentName: chance(2) ? nil : Name(pick(ValuePool.names)),
            shareName: chance(2) ? nil : Name(pick(ValuePool.names))
        )
        return Record(
            zone: .default,
            changeTag: nil,
            body: RecordBody(header, fields: try builder.finish())
        )
    }
}
