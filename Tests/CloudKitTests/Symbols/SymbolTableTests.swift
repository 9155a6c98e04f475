// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `Docs/cloudkit-symbols.md` says of each declaration of Apple's framework what became of it here.
@Suite(
    .enabled(
        if: FileManager.default.fileExists(atPath: AppleSymbols.reference.path),
        "../shared/cloudkit-semantics.md is not there"
    )
)
struct SymbolTableTests {
    private static let page = URL(filePath: #filePath)
        .appending(path: "../../../../Docs/cloudkit-symbols.md").standardized

    /// With `TIDEMARK_RECORD` in the environment the page is written anew.
    @Test func `The symbol table matches the module`() throws {
        let table = SymbolTable(apple: try AppleSymbols().names, module: try ModuleSymbols())
        #expect(table.unknownDifferences.isEmpty)
        if ProcessInfo.processInfo.environment["TIDEMARK_RECORD"] != nil {
            try Data(table.page.utf8).write(to: Self.page)
        }
        let written = try String(contentsOf: Self.page, encoding: .utf8)
        let differing = zip(written.split(separator: "\n"), table.page.split(separator: "\n"))
            .first { $0 != $1 }
        #expect(
            written == table.page,
            """
            Docs/cloudkit-symbols.md is not what the module says; run this test with TIDEMARK_RECORD=1. \
            First difference: \(differing.map { "\($0)" } ?? "at the end")
            """
        )
    }

    @Test(arguments: [
        (
            "func fetch(withRecordID id: CKRecord.ID, desiredKeys: [String]? = nil)",
            "fetch(withRecordID:desiredKeys:)"
        ),
        ("convenience init(_ a: A, b: (C, D) -> Void)", "init(_:b:)"),
        ("@nonobjc class var standard: CKAllowedSharingOptions { get }", "standard"),
        ("class func `default`() -> CKContainer", "`default`()"),
        ("final func cancelOperations() async", "cancelOperations()"),
        ("subscript(key: String) -> Int { get }", "subscript(_:)"),
        ("case allExcluding([CKRecordZone.ID])", "allExcluding(_:)"),
        (
            "@discardableResult func configuredWith<R>(group: G? = nil, body: (A) throws -> R) rethrows -> R",
            "configuredWith(group:body:)"
        ),
        ("class CKRecord : NSObject", "CKRecord"),
    ])
    func `A declaration is parsed`(_ declaration: String, _ name: String) {
        #expect(Declaration(declaration).name == name)
    }
}

/// What became of each of Apple's declarations.
struct SymbolTable {
    private static let headers = """
        # Every symbol of the CloudKit module

        Apple's declarations as published for the 2025 SDK, and those of iOS 18 and 26 (Appendix A of the reference that
        the project was built from), type by type, and what became of each here. The page is made from the module's
        symbol graph by `SymbolTableTests`, which fails where it is not up to date.

        - *works*: the declaration is there, by the same name and labels, and no difference from the reference is known.
          That it is there is compared; what it does is in the tests of its subject;
        - *differs*: it is there, and the line says what is different;
        - *does not apply*: there is nothing on Linux that it could do;
        - *missing*: it is not there yet.

        What a type has beside these, such as async twins of completion handlers, older names, and what makes it easier
        to use from Swift, is named below its table. [cloudkit.md](cloudkit.md) tells how to begin.

        """

    private let apple: Set<SymbolName>
    private let module: ModuleSymbols

    init(apple: Set<SymbolName>, module: ModuleSymbols) {
        self.apple = apple
        self.module = module
    }

    /// Differences that are said of nothing that Apple declares.
    var unknownDifferences: [String] {
        let all = Set(apple.map { "\($0.type).\($0.name)" }).union(apple.map(\.type))
        return SymbolDifferences.all.keys.filter { !all.contains($0) }.sorted()
    }

    private func standing(of symbol: SymbolName) -> String {
        let difference =
            SymbolDifferences.all["\(symbol.type).\(symbol.name)"]
            ?? SymbolDifferences.all[symbol.type]
        switch difference {
        case .notApplicable(let reason): return "does not apply: \(reason)"
        case .differs(let how) where module.contains(symbol): return "differs: \(how)"
        default: return module.contains(symbol) ? "works" : "missing"
        }
    }

    /// The whole page.
    var page: String {
        let rows = apple.sorted().map { ($0, standing(of: $0)) }
        var counts: [String: Int] = [:]
        for (_, standing) in rows {
            counts[String(standing.prefix { $0 != ":" }), default: 0] += 1
        }
        var page = Self.headers + "\n"
        page +=
            ["works", "differs", "does not apply", "missing"]
            .map { "\(counts[$0] ?? 0) \($0)" }.joined(separator: ", ") + ".\n"
        for type in Set(apple.map(\.type)).sorted() {
            page +=
                "\n## \(type.isEmpty ? "The module" : type)\n\n| symbol | here |\n| --- | --- |\n"
            for (symbol, standing) in rows where symbol.type == type {
                page += "| `\(symbol.name)` | \(standing) |\n"
            }
            let beside = beside(type)
            if !beside.isEmpty {
                page +=
                    "\nBeside these: " + beside.map { "`\($0)`" }.joined(separator: ", ") + ".\n"
            }
        }
        let own = Set(module.names.map(\.type)).union(
            module.names.filter(\.type.isEmpty).map(\.name)
        )
        .filter { $0.hasPrefix("Tidemark") }.sorted()
        page += "\n## Of Tidemark's own\n\n" + own.map { "`\($0)`" }.joined(separator: ", ") + ".\n"
        return page
    }

    /// What a type has that the reference does not list.
    private func beside(_ type: String) -> [String] {
        guard !type.isEmpty else { return [] }
        let place = module.resolved(type)
        return module.names.filter { $0.type == place }
            .filter { !apple.contains(SymbolName(type: type, name: $0.name)) }
            .map(\.name).sorted()
    }
}
