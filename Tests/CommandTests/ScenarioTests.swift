// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server && !canImport(Darwin)
import Foundation
import TestSupport
import Testing

/// The scenarios of CloudKit code at a server that only the environment names, in a process of their own.
@Suite struct ScenarioTests {
    private static let suites =
        "(Queries|Assets|Saving in a database|A note store|A sync engine"
        + "|Sharing|Accounts|Subscriptions)`?/"

    /// Runs them under `tidemark exec` with options of it.
    private func run(
        _ module: String,
        _ options: String,
        _ suites: String = Self.suites
    ) async throws -> Command.Outcome {
        let folder = try ScratchFolder()
        return try await Command.script(
            """
            export XDG_DATA_HOME="$PWD/devices"
            "$tidemark" exec \(options) -- "$(dirname "$tidemark")/tidemarkPackageTests.xctest" \
                --testing-library swift-testing --no-parallel --filter '^\(module)\\.`?\(suites)' 2>&1
            """,
            in: folder
        )
    }

    @Test(arguments: ["CloudKitTests", "TidemarkCloudKitTests"])
    func `Scenarios pass at a server under both names of the module`(
        _ module: String
    ) async throws {
        let outcome = try await run(module, "--user anna")
        #expect(outcome.status == 0, "\(outcome)")
        let passed = outcome.lines.filter { $0.contains(" passed after ") }
        #expect(passed.filter { $0.contains(" Suite ") }.count == 8, "\(outcome)")
        #expect(passed.filter { $0.contains(" Test ") }.count >= 37, "\(outcome)")
        #expect(outcome.output.contains(#"skipped: "needs a store of its own""#))
    }

    @Test func `Scenarios fail at a server at which nobody is signed in`() async throws {
        let outcome = try await run("CloudKitTests", "", "Queries/")
        #expect(outcome.status != 0)
        #expect(outcome.output.contains("Suite Queries failed"), "\(outcome)")
    }
}
#endif
