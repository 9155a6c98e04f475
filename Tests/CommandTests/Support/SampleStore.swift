// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A small history, as a change stream: two zones, every kind of change, texts of many scripts.
enum SampleHistory {
    static let start: Int64 = 1_700_000_000_000

    /// So many commits, each a second after the one before; the same for the same seed.
    static func lines(_ count: Int, seed: UInt64 = 1) -> [String] {
        var numbers = SeededGenerator(seed: seed)
        return (0..<count).map { index in
            let user = "u-\(numbers.next() % 3)"
            let device = numbers.next() % 2 == 0 ? #""device":"phone","# : ""
            let first = numbers.next()
            let changes = (0...numbers.next() % 4).map { step in
                let zone = numbers.next() % 3 == 0 ? "Küche" : "lists"
                let name = "item \((first + step * 7) % 40) \u{1F600}"
                let place = #""zone":"\#(zone)","recordName":"\#(name)""#
                if numbers.next() % 5 == 0 { return #"{"op":"delete",\#(place)}"# }
                let text = String(repeating: "text \(numbers.next() % 1000) ", count: 12)
                return #"""
                    {"op":"save",\#(place),"recordType":"Item","fields":{"title":"\#(text)",\#
                    "count":\#(index),"price":{"value":\#(Double(index) / 4),"type":"DOUBLE"}}}
                    """#
            }
            return #"""
                {"time":\#(start + Int64(index) * 1000),"user":"\#(user)",\#(device)\#
                "request":"r-\#(index)","changes":[\#(changes.joined(separator: ","))]}
                """#
        }
    }
}

extension ScratchFolder {
    /// Imports lines into a store of this folder, and returns its path.
    func store(_ lines: [String], name: String = "test.tide") async throws -> String {
        let input = lines.map { "\($0)\n" }.joined()
        let outcome = try await Command.run("import", path(name), "-", input: input)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return path(name)
    }

    /// Every file of this folder, with what it holds.
    func files() throws -> [String: Data] { try allFiles(below: url.path) }
}

/// Every file below a folder, with what it holds.
func allFiles(below folder: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    let names = FileManager.default.enumerator(atPath: folder)
    while let name = names?.nextObject() as? String {
        var isFolder: ObjCBool = false
        let path = folder + "/" + name
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            !isFolder.boolValue
        else { continue }
        files[name] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
    return files
}

/// Bytes to put into a segment: longer than a frame without events, so that they meet some.
let garbage = [UInt8](repeating: 0x55, count: 200)

/// Changes bytes of a file in place.
func overwrite(_ path: String, at offset: UInt64, with bytes: [UInt8]) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: bytes)
    try file.close()
}

extension Command.Outcome {
    /// The lines of the output, read as JSON by other code than the project's.
    func objects() throws -> [[String: Any]] {
        try lines.map { line in
            let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(value as? [String: Any])
        }
    }
}

extension ScratchFolder {
    /// The names in it.
    func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: url.path))
    }
}
