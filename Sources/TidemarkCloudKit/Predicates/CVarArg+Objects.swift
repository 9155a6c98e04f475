// Tidemark
// SPDX-License-Identifier: Apache-2.0

// On Apple's systems every object is a variable argument, and dates and arrays become objects:
// `NSPredicate(format: "date > %@", date as CVarArg)` is how most programs write it. Foundation on Linux
// has strings and numbers alone, so that would not compile.
// swift-format-ignore-file: NoLeadingUnderscores, AvoidRetroactiveConformances

public import Foundation

extension Date: @retroactive CVarArg {
    /// The date as an object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { NSDate(timeInterval: 0, since: self).kept }
}

extension Array: @retroactive CVarArg {
    /// The array as an object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { NSArray(array: self).kept }
}

extension NSDate: @retroactive CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension NSNumber: @retroactive CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension NSArray: @retroactive CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension CLLocation: CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension CKReference: CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension CKRecordID: CVarArg {
    /// The object, for formats that C reads.
    public var _cVarArgEncoding: [Int] { kept }
}

extension NSObject {
    /// The object's address; the object is kept for good, since C does not say when it is done.
    ///
    /// Predicates take arguments as they are, and never ask for it.
    fileprivate var kept: [Int] { [Int(bitPattern: Unmanaged.passRetained(self).toOpaque())] }
}
