// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An object of a keyed archive, read as a property list.
///
/// Foundation's unarchiver on Linux traps on an object of an unexpected class and on objects that
/// contain each other, and archives of other systems are unchecked input. So their objects are not
/// decoded but looked up, one level at a time. Any error gives `nil`.
///
/// The unarchiver does not expose its property list, so it is found by reflection. If a version of
/// Foundation stores it elsewhere, such archives cannot be read, and nothing else changes.
struct KeyedObject {
    private let fields: [String: Any]
    private let objects: [Any]

    private init(_ fields: [String: Any], _ objects: [Any]) {
        self.fields = fields
        self.objects = objects
    }

    /// Creates the object that an unarchiver decodes now: the top of the archive, or an object in
    /// it.
    init?(_ coder: NSCoder) {
        guard coder is NSKeyedUnarchiver else { return nil }
        let unarchiver = Mirror(reflecting: coder)
        guard let objects = unarchiver.descendant("_objects") as? [Any],
            let contexts = unarchiver.descendant("_containers", "some"),
            let context = Mirror(reflecting: contexts).children.map(\.value).last,
            let fields = Mirror(reflecting: context).descendant("dict") as? [String: Any]
        else { return nil }
        self.init(fields, objects)
    }

    /// The name of the object's class; `nil` for the top of an archive.
    var className: String? {
        (value("$class") as? [String: Any])?["$classname"] as? String
    }

    /// Returns the value under a key, or the one that it refers to; `nil` for none.
    private func value(_ key: String) -> Any? {
        guard let value = fields[key] else { return nil }
        let type = String(describing: type(of: value))
        guard type == "_NSKeyedArchiverUID" else { return value }
        // A reference to another object of the archive: its index. Untrusted input, so it is
        // checked.
        guard let number = Mirror(reflecting: value).descendant("value") as? UInt32,
            number < objects.count
        else { return nil }
        let found = objects[Int(number)]
        return found as? String == "$null" ? nil : found
    }

    func string(_ key: String) -> String? {
        value(key) as? String
    }

    func data(_ key: String) -> Data? {
        value(key) as? Data ?? object(key)?.fields["NS.data"] as? Data
    }

    func integer(_ key: String) -> Int? {
        (value(key) as? NSNumber)?.intValue
    }

    func date(_ key: String) -> Date? {
        guard let object = object(key, "NSDate"),
            let seconds = (object.fields["NS.time"] as? NSNumber)?.doubleValue
        else { return nil }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }

    /// Returns the object under a key; `nil` if it is not of the given class.
    func object(_ key: String, _ className: String? = nil) -> KeyedObject? {
        guard let fields = value(key) as? [String: Any] else { return nil }
        let object = KeyedObject(fields, objects)
        return className == nil || object.className == className ? object : nil
    }
}
