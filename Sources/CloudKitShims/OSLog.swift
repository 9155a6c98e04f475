// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization

/// The severity of a message.
public struct OSLogType: RawRepresentable, Hashable, Sendable {
    /// The number that Apple's systems have for it.
    public let rawValue: UInt8

    /// Creates a type from its number.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Creates a type from its number.
    public init(_ rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A message about the ordinary course of events.
    public static let `default` = OSLogType(0x00)
    /// Details that may help.
    public static let info = OSLogType(0x01)
    /// Details for developers of the program.
    public static let debug = OSLogType(0x02)
    /// Something failed.
    public static let error = OSLogType(0x10)
    /// The program itself is wrong.
    public static let fault = OSLogType(0x11)

    /// The word for it in a line of the log.
    public var name: String {
        switch self {
        case .info: "info"
        case .debug: "debug"
        case .error: "error"
        case .fault: "fault"
        default: "default"
        }
    }
}

/// The log of one part of a program.
public final class OSLog: NSObject, Sendable {
    /// A message with its place and time.
    public struct Entry: Sendable {
        /// The program, as a rule.
        public let subsystem: String
        /// The part of the program.
        public let category: String
        /// The severity of the message.
        public let type: OSLogType
        /// The text; values that are private are left out.
        public let message: String
        /// The time at which the message was written.
        public let date: Date
    }

    /// The program, as a rule.
    public let subsystem: String
    /// The part of the program.
    public let category: String
    private let isDisabled: Bool

    private init(subsystem: String, category: String, isDisabled: Bool) {
        self.subsystem = subsystem
        self.category = category
        self.isDisabled = isDisabled
    }

    /// Creates a log of a part of a program.
    public convenience init(subsystem: String, category: String) {
        self.init(subsystem: subsystem, category: category, isDisabled: false)
    }

    /// A log of the program as a whole.
    public static let `default` = OSLog(subsystem: "", category: "")
    /// A log that nothing comes of.
    public static let disabled = OSLog(subsystem: "", category: "", isDisabled: true)

    /// Returns true if messages of a type are logged.
    public func isEnabled(type: OSLogType) -> Bool { !isDisabled }

    /// The function that gets every message of the process.
    ///
    /// At first a line of standard error for each, except for those of the types `debug` and
    /// `info`, which Apple's systems do not keep either.
    public static var handler: @Sendable (Entry) -> Void {
        get { currentHandler.withLock { $0 } }
        set { currentHandler.withLock { $0 = newValue } }
    }

    private static let currentHandler = Mutex<@Sendable (Entry) -> Void> { entry in
        guard entry.type != .debug, entry.type != .info else { return }
        let place = "\(entry.subsystem):\(entry.category)"
        let line = "\(entry.date.ISO8601Format()) \(entry.type.name) [\(place)] \(entry.message)\n"
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }

    func write(_ type: OSLogType, _ message: String) {
        guard isEnabled(type: type) else { return }
        let entry = Entry(
            subsystem: subsystem,
            category: category,
            type: type,
            message: message,
            date: Date()
        )
        // The lock protects only the reference to the handler, which is called without it. A
        // handler may therefore log, or set another handler.
        Self.handler(entry)
    }
}

/// Writes messages of a part of a program.
public struct Logger: Sendable {
    private let log: OSLog

    /// Creates a logger of a part of a program.
    public init(subsystem: String, category: String) {
        log = OSLog(subsystem: subsystem, category: category)
    }

    /// Creates a logger for the program as a whole.
    public init() {
        log = .default
    }

    /// Creates a logger that writes to a log.
    public init(_ logObj: OSLog) {
        log = logObj
    }

    /// Writes a message of a type.
    public func log(level: OSLogType, _ message: OSLogMessage) { log.write(level, message.text) }

    /// Writes a message.
    public func log(_ message: OSLogMessage) { log.write(.default, message.text) }

    /// Writes a message of the type `debug`.
    public func trace(_ message: OSLogMessage) { log.write(.debug, message.text) }

    /// Writes a message of the type `debug`.
    public func debug(_ message: OSLogMessage) { log.write(.debug, message.text) }

    /// Writes a message of the type `info`.
    public func info(_ message: OSLogMessage) { log.write(.info, message.text) }

    /// Writes a message.
    public func notice(_ message: OSLogMessage) { log.write(.default, message.text) }

    /// Writes a message of the type `error`.
    public func warning(_ message: OSLogMessage) { log.write(.error, message.text) }

    /// Writes a message of the type `error`.
    public func error(_ message: OSLogMessage) { log.write(.error, message.text) }

    /// Writes a message of the type `fault`.
    public func critical(_ message: OSLogMessage) { log.write(.fault, message.text) }

    /// Writes a message of the type `fault`.
    public func fault(_ message: OSLogMessage) { log.write(.fault, message.text) }
}
