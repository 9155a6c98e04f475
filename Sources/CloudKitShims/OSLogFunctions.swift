// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// The functions that programs used before `Logger`. The arguments are not C arguments, because text
// is not one on Linux.

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Writes a message whose places are filled with arguments, as `printf` does.
public func os_log(
    _ message: StaticString,
    log: OSLog = .default,
    type: OSLogType = .default,
    _ args: Any...
) {
    log.write(type, OSLogFormat(message).text(args))
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Writes a message whose places are filled with arguments, as `printf` does.
public func os_log(
    _ type: OSLogType,
    log: OSLog = .default,
    _ message: StaticString,
    _ args: Any...
) {
    log.write(type, OSLogFormat(message).text(args))
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Writes a message with values in it.
@_disfavoredOverload
public func os_log(_ message: OSLogMessage) {
    OSLog.default.write(.default, message.text)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Writes a message with values in it.
@_disfavoredOverload
public func os_log(_ type: OSLogType, log: OSLog = .default, _ message: OSLogMessage) {
    log.write(type, message.text)
}

/// A text with places for arguments: `%d`, `%@`, `%{public}@`, `%.2f`.
struct OSLogFormat {
    private let format: Substring

    init(_ format: StaticString) {
        self.format = format.description[...]
    }

    /// Returns the text with arguments in place of its placeholders; a placeholder without an
    /// argument stays.
    func text(_ arguments: [Any]) -> String {
        // Arguments are matched by position. A type that does not fit its placeholder is described,
        // while `printf` would misread memory.
        var (result, rest, arguments) = ("", format, arguments[...])
        while let percent = rest.firstIndex(of: "%") {
            result += rest[..<percent]
            rest = rest[rest.index(after: percent)...]
            guard
                let place = rest.prefixMatch(
                    of:
                        /(?<options>\{[^}]*\})?(?<flags>[-+ 0#]*[0-9]*(\.[0-9]+)?)(hh|h|ll|l|q|z|t|j)?(?<kind>[@a-zA-Z%])/
                )
            else {
                result += "%"
                continue
            }
            let whole = rest[place.range]
            rest = rest[place.range.upperBound...]
            if place.kind == "%" {
                result += "%"
            } else if let argument = arguments.popFirst() {
                let isPrivate = place.options.map { $0.contains(/private|sensitive/) } ?? false
                result +=
                    isPrivate
                    ? "<private>"
                    : Self.text(argument, String(place.flags), String(place.kind))
            } else {
                result += "%" + whole
            }
        }
        return result + rest
    }

    private static func text(_ value: Any, _ flags: String, _ kind: String) -> String {
        switch (kind, value) {
        case ("d", let number as any FixedWidthInteger), ("i", let number as any FixedWidthInteger):
            // Every integer is passed as 64 bits, whatever length the format names.
            String(format: "%\(flags)lld", Int64(truncatingIfNeeded: number))
        case ("u", let number as any FixedWidthInteger), ("x", let number as any FixedWidthInteger),
            ("X", let number as any FixedWidthInteger), ("o", let number as any FixedWidthInteger):
            String(format: "%\(flags)ll\(kind)", UInt64(truncatingIfNeeded: number))
        case ("f", let number as any BinaryFloatingPoint),
            ("g", let number as any BinaryFloatingPoint),
            ("e", let number as any BinaryFloatingPoint):
            String(format: "%\(flags)\(kind)", Double(number))
        default:
            String(describing: value)
        }
    }
}
