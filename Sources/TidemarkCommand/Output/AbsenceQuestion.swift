// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A question to `tidemark why` about another record, as a command line.
struct AbsenceQuestion {
    /// The store, as the command names it.
    var store: String
    /// The device.
    var device: String
    /// The value of `--as`, if it was given.
    var user: String?

    /// Returns the command that asks about a record in a database.
    ///
    /// It has an option only where the value is not the default.
    func command(for record: RecordID, in database: DatabaseID) -> String {
        var words = ["tidemark", "why", store]
        func add(_ option: String, _ value: String, unless standard: String?) {
            if value == standard { return }
            // As a word of its own, a value with a hyphen in front would be an option.
            words += value.hasPrefix("-") ? ["\(option)=\(value)"] : [option, value]
        }
        add("--record", record.recordName, unless: nil)
        add("--zone", record.zone.zoneName, unless: ZoneID.defaultZoneName)
        add("--container", database.container.identifier, unless: ContainerID.standard.identifier)
        add("--environment", database.environment.rawValue, unless: "development")
        add("--database", database.scope.name, unless: DatabaseScope.private.name)
        add("--owner", database.owner.userRecordName, unless: UserID.current.userRecordName)
        add("--device", device, unless: nil)
        if let user { add("--as", user, unless: nil) }
        return words.map(\.shellWord).joined(separator: " ")
    }
}

extension String {
    /// The text as one word of a shell's command line.
    var shellWord: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "_-./:@%+=,".utf8.contains(byte)
                }
            }
        return isPlain ? self : "'\(replacing("'", with: "'\\''"))'"
    }
}
