// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// An object with fields: a record, or the encrypted part of a record.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    /// Returns the value of a field; `nil` if it has none.
    func object(forKey key: String) -> (any CKRecordValueProtocol)?
    /// Sets a field, or with `nil` clears it.
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: String)
    /// The value of a field; `nil` if it has none.
    subscript(key: String) -> (any CKRecordValueProtocol)? { get set }
    /// Returns the names of the fields that have a value.
    func allKeys() -> [String]
    /// Returns the names of the fields that were set or cleared since the record was fetched or
    /// saved.
    func changedKeys() -> [String]
}

extension CKRecordKeyValueSetting {
    /// The value of a field as an object, for code that requires objects; `nil` if it has none.
    @_disfavoredOverload
    public subscript(key: String) -> (any __CKRecordObjCValue)? {
        object(forKey: key) as? any __CKRecordObjCValue
    }

    /// The value of a field as a type; `nil` if it has none or one of another type.
    public subscript<Value: CKRecordValueProtocol>(key: String) -> Value? {
        get { object(forKey: key) as? Value }
        set { setObject(newValue, forKey: key) }
    }
}

// MARK: Records

extension CKRecord: CKRecordKeyValueSetting {
    /// Returns the value of a field; `nil` if it has none, or an encrypted one.
    ///
    /// It is a Foundation object, which casts to Swift's values. The names of
    /// `CKRecord.SystemFieldKey` return system fields.
    public func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        if key.hasPrefix("___") { return systemValue(key) as? any CKRecordValueProtocol }
        return read { $0.value(key, isEncrypted: false) }?.object
    }

    /// Sets a field; `nil` clears it.
    ///
    /// A value of a type that records cannot hold stops the program.
    public func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
        if key == SystemFieldKey.parent, object == nil || object is CKReference {
            parent = object as? CKReference
            return
        }
        let value = object.map { RecordValue(setting: $0, forKey: key) }
        change { $0.set(key, value, isEncrypted: false) }
    }

    /// The value of a field; `nil` if it has none, or an encrypted one.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// Returns the names of the fields that have a value, encrypted ones left out.
    public func allKeys() -> [CKRecord.FieldKey] {
        read { $0.keys(isEncrypted: false) }
    }

    /// Returns the names of the fields that were set or cleared since the record was fetched or
    /// saved, encrypted ones left out.
    public func changedKeys() -> [CKRecord.FieldKey] {
        read { $0.changedKeys(isEncrypted: false) }
    }

    /// Returns the words of all texts.
    public func allTokens() -> [String] {
        let texts = read { content in
            content.keys(isEncrypted: false).sorted()
                .flatMap { content.fields[$0]?.value.texts ?? [] }
        }
        return texts.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
    }

    /// The fields that the service keeps encrypted.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable {
        EncryptedValues(record: self)
    }
}

extension RecordValue {
    /// Takes a value that a program sets, and stops the program if no record can hold the value.
    init(setting value: Any, forKey key: String) {
        guard let taken = RecordValue(value) else {
            preconditionFailure(
                """
                The field "\(key)" cannot hold a value of type \(type(of: value)). A field holds \
                String, Date, Data, numbers, Bool, CLLocation, CKRecord.Reference, CKAsset, or an \
                array of one kind of these
                """
            )
        }
        self = taken
    }
}

// MARK: Encrypted fields

/// The fields of a record that the service keeps encrypted.
///
/// Unchecked: all it has is the record, which can be sent.
private final class EncryptedValues: NSObject, CKRecordKeyValueSetting, @unchecked Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
    }

    func object(forKey key: String) -> (any CKRecordValueProtocol)? {
        record.read { $0.value(key, isEncrypted: true) }?.object
    }

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: String) {
        let value = object.map { RecordValue(setting: $0, forKey: key) }
        switch value {
        case .asset, .reference:
            preconditionFailure(
                "The encrypted field \"\(key)\" cannot hold an asset or a reference"
            )
        default: record.change { $0.set(key, value, isEncrypted: true) }
        }
    }

    subscript(key: String) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [String] { record.read { $0.keys(isEncrypted: true) } }

    func changedKeys() -> [String] { record.read { $0.changedKeys(isEncrypted: true) } }
}

// MARK: Iteration

/// An iterator over the fields of a record, in the order of their names.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var rest: ArraySlice<(CKRecord.FieldKey, any CKRecordValueProtocol)>

    fileprivate init(_ fields: CKRecord) {
        // The values are read here, so the record may change during the iteration.
        rest =
            fields.allKeys().sorted().compactMap { key in
                fields.object(forKey: key).map { (key, $0) }
            }[...]
    }

    /// Returns the next field's name and value.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        rest.popFirst()
    }
}

extension CKRecord: Sequence {
    /// Returns an iterator over the fields that have a value, without encrypted ones.
    public func makeIterator() -> CKRecordKeyValueIterator {
        CKRecordKeyValueIterator(self)
    }
}
