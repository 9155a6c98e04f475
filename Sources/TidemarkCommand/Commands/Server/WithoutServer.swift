// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if !Server
extension CommandError {
    /// The failure of commands that need the server.
    static let withoutServer = CommandError(
        "This program was built without the server. Build it with `swift build -c release --traits Server`."
    )
}
#endif
