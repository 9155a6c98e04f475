// Tidemark
// SPDX-License-Identifier: Apache-2.0

// On Apple's systems every object is a variable argument, and dates and arrays become objects:
// `NSPredicate(format: "date > %@", date as CVarArg)` is how most programs write it. Foundation on Linux
// has strings and numbers alone, so that would not compile. Predicates take arguments as they are; formats of
// text read their descriptions, as on Apple's systems.
// swift-format-ignore-file: NoLeadingUnderscores, AvoidRetroactiveConformances

public import Foundation

extension Date: @retroactive CVarArg {
    /// The description of the date, for formats of text.
    public var _cVarArgEncoding: [Int] { NSDate(timeInterval: 0, since: self).keptDescription }
}

extension Array: @retroactive CVarArg {
    /// The description of the array, for formats of text.
    public var _cVarArgEncoding: [Int] { NSArray(array: self).keptDescription }
}

extension NSDate: @retroactive CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension NSNumber: @retroactive CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension NSArray: @retroactive CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension CLLocation: CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension CKReference: CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension CKRecordID: CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension CKRecord: CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension CKRecordZoneID: CVarArg {
    /// The description of the object, for formats of text.
    public var _cVarArgEncoding: [Int] { keptDescription }
}

extension NSObject {
    /// The address of the description.
    ///
    /// Foundation on Linux reads only strings from it. The string is kept for good, since C does not say when
    /// it is done.
    fileprivate var keptDescription: [Int] {
        [Int(bitPattern: Unmanaged.passRetained(NSString(string: description)).toOpaque())]
    }
}
