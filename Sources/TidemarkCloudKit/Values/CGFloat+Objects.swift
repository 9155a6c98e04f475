// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// What a cast between the two looks for. Foundation on Linux has it for the other numbers, and without
// it a field that is read `as? CGFloat` would be missing.
// swift-format-ignore: NoLeadingUnderscores, AvoidRetroactiveConformances
extension CGFloat: @retroactive _ObjectiveCBridgeable {
    /// The number as an object.
    public func _bridgeToObjectiveC() -> NSNumber {
        NSNumber(value: Double(self))
    }

    /// Takes an object's number.
    public static func _forceBridgeFromObjectiveC(_ number: NSNumber, result: inout CGFloat?) {
        result = CGFloat(number.doubleValue)
    }

    /// Takes an object's number, if it is exactly one.
    public static func _conditionallyBridgeFromObjectiveC(
        _ number: NSNumber,
        result: inout CGFloat?
    ) -> Bool {
        var double: Double?
        guard Double._conditionallyBridgeFromObjectiveC(number, result: &double) else {
            return false
        }
        result = double.map { CGFloat($0) }
        return true
    }

    /// Takes an object's number; zero for none.
    public static func _unconditionallyBridgeFromObjectiveC(_ number: NSNumber?) -> CGFloat {
        CGFloat(number?.doubleValue ?? 0)
    }
}
