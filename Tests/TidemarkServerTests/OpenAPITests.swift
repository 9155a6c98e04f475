// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import TidemarkWire

@testable import TidemarkServer

/// `Docs/openapi.yaml` beside what the server answers.
///
/// The file keeps to one layout, which is read here: a path, a method and a schema begin a line each, at two, four
/// and four spaces.
@Suite struct OpenAPITests {
    private struct Operation: Hashable {
        let path: String
        let method: String
    }

    private static let prefix = "/database/1/{container}/{environment}/{database}/"

    private let lines: [String]

    init() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Docs/openapi.yaml").standardizedFileURL
        lines = try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n")
    }

    /// The operations, and the lines of each.
    private var operations: [Operation: [String]] {
        var found: [Operation: [String]] = [:]
        var path = ""
        var operation: Operation?
        for line in lines.drop(while: { $0 != "paths:" }).prefix(while: { $0 != "components:" }) {
            if line.hasPrefix("  /") {
                path = String(line.dropFirst(2).dropLast())
                operation = nil
            } else if line.hasPrefix("    "), !line.hasPrefix("     "), line.hasSuffix(":") {
                operation = Operation(
                    path: path,
                    method: line.trimmingCharacters(in: [" ", ":"])
                )
            }
            if let operation { found[operation, default: []].append(line) }
        }
        return found
    }

    @Test func `The document lists every endpoint with its methods and its source`() {
        var expected: Set<Operation> = []
        for endpoint in WebEndpoint.all {
            let path = Self.prefix + endpoint.path
            expected.insert(Operation(path: path, method: "post"))
            if endpoint.allowsGET { expected.insert(Operation(path: path, method: "get")) }
        }
        for endpoint in PushEndpoint.allCases {
            for method in endpoint.methods {
                expected.insert(
                    Operation(
                        path: Self.prefix + endpoint.rawValue,
                        method: method.rawValue.lowercased()
                    )
                )
            }
        }
        let told = Set(operations.keys.filter { $0.path.hasPrefix(Self.prefix) })
        #expect(told == expected)
        let sources = ["documented", "seen live", "inferred", "ours"]
        for (operation, lines) in operations {
            let source = lines.first { $0.hasPrefix("      x-source: ") }?.dropFirst(16)
            #expect(source.map { sources.contains(String($0)) } == true, "\(operation)")
        }
    }

    @Test func `The document lists every method of the service`() throws {
        let line = try #require(lines.first { $0.hasPrefix("    method: ") })
        let names = DatabaseMethods.all.map(\.name) + ServiceStream.allCases.map(\.rawValue)
        #expect(line.contains("enum: [\(names.joined(separator: ", "))]"))
    }

    @Test func `Every other path in the document exists`() async throws {
        let others = Set(operations.keys.map(\.path)).filter { !$0.hasPrefix("/database") }
        #expect(others.count > 5)
        try await ServerUnderTest.run(.router) { server in
            for path in others {
                let parts = path.split(separator: "/").map { $0.hasPrefix("{") ? "sign-in" : $0 }
                let answer = try await server.request("/" + parts.joined(separator: "/"), .get)
                // A path that only takes forms has no page; what is unknown has no words at all.
                let isForm = path == "/account/{action}"
                #expect(isForm || !answer.body.isEmpty, "\(path)")
            }
            #expect(try await server.request("/no-such-path").body.isEmpty)
        }
    }

    // MARK: Answers

    /// The members of each schema, and what the file says of each.
    private var schemas: [String: [String: String]] {
        var schemas: [String: [String: String]] = [:]
        for line in lines {
            guard let colon = line.range(of: ": {type: object"),
                let start = line.range(of: "properties: {")
            else { continue }
            let name = line[..<colon.lowerBound].trimmingCharacters(in: .whitespaces)
            var members: [String: String] = [:]
            var depth = 0
            var member = ""
            for character in line[start.upperBound...] {
                if "{[".contains(character) { depth += 1 }
                if "}]".contains(character) { depth -= 1 }
                if depth < 0 || depth == 0 && character == "," {
                    let parts = member.split(separator: ":", maxSplits: 1)
                    members[parts[0].trimmingCharacters(in: .whitespaces)] = String(parts[1])
                    member = ""
                    if depth < 0 { break }
                } else {
                    member.append(character)
                }
            }
            if !name.contains(" ") { schemas[name] = members }
        }
        return schemas
    }

    private static func schema(in text: String) -> String? {
        text.range(of: "schemas/").map { range in
            String(text[range.upperBound...].prefix { $0.isLetter })
        }
    }

    /// Tells the members of a value that its schema does not have.
    private func unknown(
        _ value: Any,
        _ name: String,
        _ schemas: [String: [String: String]]
    ) -> [String] {
        guard let object = value as? [String: Any], let members = schemas[name] else {
            return ["\(name) is not an object of the file"]
        }
        return object.flatMap { key, value -> [String] in
            guard let text = members[key] else { return ["\(name).\(key)"] }
            guard let inner = Self.schema(in: text) else { return [] }
            if text.contains("additionalProperties") {
                let values = (value as? [String: Any])?.values.map { $0 } ?? []
                return values.flatMap { unknown($0, inner, schemas) }
            }
            if let values = value as? [Any] {
                return values.flatMap { unknown($0, inner, schemas) }
            }
            return unknown(value, inner, schemas)
        }
    }

    @Test func `Reviewed responses have only members in the document`() throws {
        let schemas = schemas
        #expect(schemas.count > 30)
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures"
        )
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var count = 0
        for file in files.sorted() {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            for exchange in GoldenExchanges.exchanges(in: text) {
                let endpoint = exchange.endpoint.split(separator: "?")[0]
                    .split(separator: "/").dropFirst().joined(separator: "/")
                let method = exchange.method.rawValue.lowercased()
                let operation = Operation(path: Self.prefix + endpoint, method: method)
                guard let lines = operations[operation] else { continue }
                // Names stand in the place of numbers that differ from run to run.
                let answer = exchange.answer
                    .replacingOccurrences(of: ":TIME", with: ":0")
                    .replacingOccurrences(of: ":SEQUENCE", with: ":0")
                let json = try JSONSerialization.jsonObject(with: Data(answer.utf8))
                let success = lines.first { $0.contains("\"200\"") }.flatMap { Self.schema(in: $0) }
                let name = exchange.status == 200 ? try #require(success) : "Failure"
                let strange = unknown(json, name, schemas)
                #expect(strange.isEmpty, "\(file): \(exchange.endpoint): \(strange)")
                count += 1
            }
        }
        #expect(count > 60)
    }
}
#endif
