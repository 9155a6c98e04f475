// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Runs a shell script in a folder and returns what it printed; throws unless it ended well.
@discardableResult
func shell(_ script: String, in folder: ScratchFolder) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", script]
    process.currentDirectoryURL = folder.url
    process.environment = [
        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
        "HOME": folder.url.path, "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_AUTHOR_NAME": "A", "GIT_COMMITTER_NAME": "C",
        "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_EMAIL": "c@example.org",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(
        decoding: output.fileHandleForReading.readDataToEndOfFile(),
        as: UTF8.self
    )
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw ShellFailure(script: script, output: text) }
    return text
}

/// A script that did not end well.
struct ShellFailure: Error {
    var script: String
    var output: String
}
