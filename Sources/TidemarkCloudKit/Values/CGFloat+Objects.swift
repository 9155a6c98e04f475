// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// A requirement for casts between the two types. Foundation on Linux has it for the other numbers.
// Without it, a field that is read `as? CGFloat` would be missing.
// swift-format-ignore: NoLeadingUnderscores, AvoidRetroactiveConformances
extension CGFloat: @retroactive _ObjectiveCBridgeable {
    /// Returns the number as an object.
    public func _bridgeToObjectiveC() -> NSNumber {
        NSNumber(value: Double(self))
    }

    /// Converts an object's number.
    public static func _forceBridgeFromObjectiveC(_ number: NSNumber, result: inout CGFloat?) {
        result = CGFloat(number.doubleValue)
    }

    /// Converts an object's number, if the result is exact.
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

    /// Converts an object's number; zero if there is none.
    public static func _unconditionallyBridgeFromObjectiveC(_ number: NSNumber?) -> CGFloat {
        CGFloat(number?.doubleValue ?? 0)
    }
}
