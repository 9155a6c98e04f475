// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkCommand

@Suite struct GitHistoryTests {
    /// A line of a change stream, read by other code than the project's.
    private struct Line: Decodable {
        struct Change: Decodable {
            struct Fields: Decodable, Equatable {
                var mode: String
                var byteCount: Int?
                var text: String?
                var blob: String?
            }
            var op: String
            var zone: String
            var recordName: String
            var recordType: String?
            var fields: Fields?
        }
        var time: Int64
        var user: String
        var request: String
        var changes: [Change]
    }

    private func lines(_ history: GitHistory) throws -> [Line] {
        var all: [Line] = []
        while let line = try history.next() {
            all.append(try JSONDecoder().decode(Line.self, from: Data(line)))
        }
        return all
    }

    @Test func `Each commit is one line with every kind of change`() throws {
        let folder = try ScratchFolder()
        let ids = try shell(
            #"""
            git init -q . && mkdir deep
            printf 'first\n' > deep/a.txt; printf '"q" \\ \001\tü' > 'odd " name'; ln -s deep/a.txt link
            git add -A && git commit -qm one
            printf 'second\n' > deep/a.txt; chmod +x deep/a.txt; git rm -q link; printf 'a\000b' > zero
            printf '\377' > latin
            export GIT_COMMITTER_DATE='1600000000 +0000' GIT_AUTHOR_EMAIL=b@example.org
            git add -A && git commit -qm two
            git commit -q --allow-empty -m nothing
            git rev-list --reverse HEAD
            """#,
            in: folder
        ).split(separator: "\n").map(String.init)
        let history = try GitHistory(repository: folder.path(""))
        let told = try lines(history)

        #expect(told.map(\.request) == Array(ids.prefix(2)))
        #expect(told.map(\.user) == ["a@example.org", "b@example.org"].map(GitHistory.user))
        // The second committer's clock went back: the time is raised.
        #expect(told.map(\.time) == [1_700_000_000_000, 1_700_000_000_000])
        #expect(told.flatMap(\.changes).allSatisfy { $0.zone == "files" })

        let first = told[0].changes
        #expect(first.map(\.recordName) == ["deep/a.txt", "link", #"odd " name"#])
        #expect(first.allSatisfy { $0.op == "save" && $0.recordType == "File" })
        #expect(first[0].fields == .init(mode: "100644", byteCount: 6, text: "first\n"))
        #expect(first[1].fields == .init(mode: "120000", byteCount: 10, text: "deep/a.txt"))
        #expect(
            first[2].fields == .init(mode: "100644", byteCount: 10, text: "\"q\" \\ \u{1}\tü")
        )

        let second = told[1].changes
        #expect(second.map(\.recordName) == ["deep/a.txt", "latin", "link", "zero"])
        #expect(second.map(\.op) == ["save", "save", "delete", "save"])
        #expect(second[0].fields == .init(mode: "100755", byteCount: 7, text: "second\n"))
        #expect(second[2].fields == nil)
        let blob = try shell("git rev-parse HEAD:zero", in: folder).prefix(40)
        #expect(second[3].fields == .init(mode: "100644", byteCount: 3, blob: String(blob)))
        #expect(second[1].fields?.text == nil && second[1].fields?.blob?.count == 40)
        #expect(history.notes == [])
    }

    @Test func `A merge has the changes relative to its first parent`() throws {
        let folder = try ScratchFolder()
        try shell(
            """
            git init -q -b main . && echo 1 > a && git add -A && git commit -qm one
            git checkout -qb side && echo 2 > b && git add -A && git commit -qm side-one
            echo 3 > b && git add -A && git commit -qm side-two
            git checkout -q main && echo 2 > a && git add -A && git commit -qm two
            git merge -q --no-edit side
            """,
            in: folder
        )
        let told = try lines(try GitHistory(repository: folder.path("")))
        #expect(told.map { $0.changes.map(\.recordName) } == [["a"], ["a"], ["b"]])
        #expect(told[2].changes[0].fields?.text == "3\n")
    }

    @Test func `A shallow clone starts with all existing files`() throws {
        let folder = try ScratchFolder()
        try shell(
            """
            git init -q full && cd full
            for i in 1 2 3; do echo $i > file$i; git add -A; git commit -qm $i; done
            cd .. && git clone -q --depth 2 "file://$PWD/full" shallow
            """,
            in: folder
        )
        let told = try lines(try GitHistory(repository: folder.path("shallow")))
        #expect(told.map { $0.changes.map(\.recordName) } == [["file1", "file2"], ["file3"]])
    }

    @Test func `Oversized contents are named, and oversized paths are counted`() throws {
        let folder = try ScratchFolder()
        try shell(
            #"""
            git init -q .
            head -c 999000 /dev/zero | tr '\0' x > fits
            head -c 999001 /dev/zero | tr '\0' x > large
            part=$(printf '%0100d' 0); mkdir -p $part/$part
            echo long > $part/$part/$(printf '%054d' 0); echo fits > $part/$part/$(printf '%053d' 0)
            name=$(printf 'latin\351'); echo x > "$name"; echo last > zz
            git add -A && git commit -qm one
            """#,
            in: folder
        )
        let history = try GitHistory(repository: folder.path(""))
        let changes = try lines(history)[0].changes
        #expect(changes.map(\.recordName.utf8.count) == [255, 4, 5, 2])
        #expect(changes[1].fields?.text?.utf8.count == 999_000)
        #expect(changes[2].fields?.byteCount == 999_001)
        #expect(changes[2].fields?.text == nil && changes[2].fields?.blob?.count == 40)
        #expect(changes[3].fields?.text == "last\n")
        #expect(
            history.notes == [
                "Skipped 2 changes to paths that cannot be record names: not UTF-8, or longer than "
                    + "255 bytes."
            ]
        )
    }

    @Test func `A commit of many files is read in batches`() throws {
        let folder = try ScratchFolder()
        try shell(
            """
            git init -q . && i=0
            while [ $i -lt 1001 ]; do echo "text $i" > f$i; i=$((i + 1)); done
            git add -A && git commit -qm many
            """,
            in: folder
        )
        let changes = try lines(try GitHistory(repository: folder.path("")))[0].changes
        #expect(changes.count == 1001)
        for change in changes {
            #expect(change.fields?.text == "text \(change.recordName.dropFirst())\n")
        }
    }

    @Test func `A folder without a repository is rejected`() throws {
        let folder = try ScratchFolder()
        do {
            _ = try GitHistory(repository: folder.path("absent"))
            Issue.record("read a history from nowhere")
        } catch let error as CommandError {
            #expect(error.description == "git failed with status 128; its message is above.")
        }
    }
}
