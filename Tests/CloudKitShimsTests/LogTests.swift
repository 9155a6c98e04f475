// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKitShims
import Foundation
import Synchronization
import Testing

/// The log's handler is the process's: these tests run one after another.
@Suite(.serialized) struct LogTests {
    /// What a body writes under a category of its own.
    private func entries(_ body: (String) -> Void) -> [OSLog.Entry] {
        let category = UUID().uuidString
        let heard = Mutex<[OSLog.Entry]>([])
        let before = OSLog.handler
        let list = Box()
        OSLog.handler = { entry in
            if entry.category == category { list.entries.withLock { $0.append(entry) } }
        }
        defer { OSLog.handler = before }
        body(category)
        heard.withLock { $0 = list.entries.withLock { $0 } }
        return heard.withLock { $0 }
    }

    private final class Box: Sendable {
        let entries = Mutex<[OSLog.Entry]>([])
    }

    @Test func `A logger redacts values by their privacy`() {
        let found = entries { category in
            let logger = Logger(subsystem: "org.example", category: category)
            let name = "Anna"
            logger.info("found \(3) for \(name)")
            logger.error(
                "\(name, privacy: .public) \(name, privacy: .private) \(name, privacy: .sensitive)"
            )
            logger.debug(
                "\(255, format: .hex(includePrefix: true)) \(1.5, format: .fixed(precision: 2))"
            )
            logger.log(level: .fault, "[\(7, align: .right(columns: 3))]")
            logger.notice("\(name, privacy: .private(mask: .hash))")
        }
        #expect(found.map(\.type) == [.info, .error, .debug, .fault, .default])
        #expect(found[0].message == "found 3 for Anna")
        #expect(found[1].message == "Anna <private> <private>")
        #expect(found[2].message == "0xff 1.50")
        #expect(found[3].message == "[  7]")
        #expect(found[4].message.hasPrefix("<mask.hash: "))
        #expect(found[0].subsystem == "org.example")
    }

    @Test func `os_log replaces format specifiers`() {
        let found = entries { category in
            let log = OSLog(subsystem: "org.example", category: category)
            let name = "Anna"
            os_log(
                "saved %d of %{public}@ in %.1f s (%{private}@), 100%%",
                log: log,
                type: .info,
                3,
                name,
                0.25,
                name
            )
            os_log(.error, log: log, "plain")
            os_log(.debug, log: log, "with \(name)")
            os_log("%x %lld %@", log: log, 255, Int64(-4), "x" as NSString)
            os_log("%d and %@", log: log, 1)
        }
        #expect(
            found.map(\.message) == [
                "saved 3 of Anna in 0.2 s (<private>), 100%", "plain", "with Anna", "ff -4 x",
                "1 and %@",
            ]
        )
        #expect(found.map(\.type) == [.info, .error, .debug, .default, .default])
    }

    @Test func `A disabled log writes nothing`() {
        let found = entries { _ in
            os_log("lost", log: .disabled, type: .error)
            Logger(.disabled).error("lost")
        }
        #expect(found.isEmpty)
        #expect(!OSLog.disabled.isEnabled(type: .fault))
        #expect(OSLog.default.isEnabled(type: .debug))
    }
}
