// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel
import TidemarkWire

@Suite struct WebErrorTests {
    @Test func `Clients do not see the file name in an error of the log`() {
        let full = SyncError(.quotaExceeded, "The disk is full (notes.tide/log/7.seg, byte 4096)")
        #expect(WebError(full).reason == "The disk is full")
        let own = SyncError(.quotaExceeded, "The quota is used up (4 of 4 MB)")
        #expect(WebError(own).reason == own.message)
        let wrong = SyncError(.invalidArguments, "There is no such date (1/2)")
        #expect(WebError(wrong).reason == wrong.message)
    }
}
