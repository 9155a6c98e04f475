// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A value that a record's field can have.
///
/// The values are strings, dates, data, numbers, Booleans, places, references, assets, and arrays
/// of one of these, as Swift values or Foundation objects. Other types cannot be stored, even if
/// they conform to the protocol. The same applies to arrays of other elements.
public protocol CKRecordValueProtocol {}

/// The same as `CKRecordValueProtocol`.
///
/// On Apple's systems it is for objects only. Here Swift's values are not objects, and conform
/// themselves.
public typealias CKRecordValue = CKRecordValueProtocol

// swift-format-ignore: NoLeadingUnderscores
/// A value of a record that is an object: the type of values that records return.
///
/// Swift's values do not conform to it, although they can be cast to it on Apple's systems. So a
/// library can extend it by members that `Int64` and others have too.
public protocol __CKRecordObjCValue: CKRecordValueProtocol {}

extension String: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
// For any elements: the cast `as? CKRecordValue` must succeed for an array that a program has
// parsed from JSON, as it does on Apple's systems.
extension Array: CKRecordValueProtocol {}

extension NSString: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}
extension CKReference: __CKRecordObjCValue {}
extension CKAsset: __CKRecordObjCValue {}
extension CLLocation: __CKRecordObjCValue {}
