// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import Logging
import TidemarkModel

/// Writes log messages as JSON, an object a line: `time`, `level`, `message`, then the metadata.
public struct JSONLogHandler: LogHandler {
    /// The metadata that every message has.
    public var metadata: Logger.Metadata = [:]
    /// The least level that is written.
    public var logLevel = Logger.Level.info
    private let write: @Sendable ([UInt8]) -> Void

    /// Writes lines, each with its end, by a function that may be called from any thread.
    public init(write: @escaping @Sendable ([UInt8]) -> Void) {
        self.write = write
    }

    /// Returns a logger that writes lines.
    public static func logger(write: @escaping @Sendable ([UInt8]) -> Void) -> Logger {
        Logger(label: "tidemark") { _ in JSONLogHandler(write: write) }
    }

    /// One metadata entry of every message.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes a message.
    public func log(
        level: Logger.Level,
        message: Logger.Message,
        metadata own: Logger.Metadata?,
        source: String,
        file: String,
        function: String,
        line: UInt
    ) {
        var bytes = Self.begun(level, "\(message)")
        let all = metadata.merging(own ?? [:]) { _, own in own }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            bytes.append(literal: ",")
            bytes.append(jsonString: key)
            bytes.append(literal: ":")
            bytes.append(jsonString: "\(value)")
        }
        end(bytes)
    }

    /// Writes a message whose metadata a closure appends as members, in the order of their names.
    func log(_ level: Logger.Level, _ message: String, members: (inout [UInt8]) -> Void) {
        var bytes = Self.begun(level, message)
        members(&bytes)
        end(bytes)
    }

    private static func begun(_ level: Logger.Level, _ message: String) -> [UInt8] {
        var bytes: [UInt8] = []
        // Most lines are shorter.
        bytes.reserveCapacity(600)
        bytes.append(literal: "{\"time\":\"")
        RFC3339.append(milliseconds: Clock.now(), isFixedWidth: true, to: &bytes)
        bytes.append(literal: "\"")
        bytes.append(member: "level", jsonString: level.rawValue)
        bytes.append(member: "message", jsonString: message)
        return bytes
    }

    private func end(_ line: consuming [UInt8]) {
        line.append(literal: "}\n")
        // One call for the whole line, so that lines of concurrent requests do not mix.
        write(line)
    }
}
#endif
