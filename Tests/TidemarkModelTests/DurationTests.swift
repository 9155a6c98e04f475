// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@Suite struct DurationTests {
    @Test(arguments: [
        (0.0, 0), (0.05, 50), (-2.5, -2_500), (.nan, 0), (1e300, 1_000_000_000_000_000_000),
        (-.infinity, -1_000_000_000_000_000_000),
    ])
    func `Any number of seconds converts to a duration`(_ seconds: Double, milliseconds: Int64) {
        #expect(Duration(clampingSeconds: seconds).inMilliseconds == milliseconds)
    }

    @Test func `Durations convert to numbers, clamped to the representable range`() {
        #expect(Duration.seconds(0.05).inSeconds == 0.05)
        #expect(Duration.milliseconds(1_234).inMilliseconds == 1_234)
        #expect(Duration.milliseconds(-1_234).inMilliseconds == -1_234)
        #expect(Duration.seconds(Int64.max).inMilliseconds == .max)
        #expect(Duration.seconds(Int64.min).inMilliseconds == .min)
        // The longest durations have more seconds than an `Int64`.
        #expect(Duration.seconds(1e20).inMilliseconds == .max)
        #expect(Duration.seconds(-1e20).inMilliseconds == .min)
        #expect(Duration.seconds(1e20).inSeconds == 1e20)
    }
}
