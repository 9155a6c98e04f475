// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkQuery

@Suite struct BoxTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func `Every point within the radius is in a box`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func draw(_ range: ClosedRange<Double>) -> Double {
            .random(in: range, using: &generator)
        }
        var insideCount = 0
        var isNarrow = 0
        for _ in 0..<20_000 {
            // Mostly near the antimeridian and the poles, where boxes are cut.
            let longitude: [Double] = [
                draw(-180...180), draw(-180 ... -179), draw(179...180), 180, -180,
            ]
            let latitude: [Double] = [draw(-90...90), draw(89...90), draw(-90 ... -89), 0]
            let origin = Location(
                latitude: latitude.randomElement(using: &generator) ?? 0,
                longitude: longitude.randomElement(using: &generator) ?? 0
            )
            let spread: Double = [0.01, 1, 20].randomElement(using: &generator) ?? 1
            var other = origin.longitude + draw(-spread...spread)
            if other > 180 { other -= 360 }
            if other < -180 { other += 360 }
            let place = Location(
                latitude: min(90, max(-90, origin.latitude + draw(-spread...spread))),
                longitude: other
            )
            // The place itself is on the rim, or somewhat inside.
            let radius = origin.distance(to: place) * draw(1...1.2)
            guard let boxes = Box.boxes(around: origin, radius: radius) else { continue }
            insideCount += 1
            if boxes.contains(where: { $0.east - $0.west < 90 }) { isNarrow += 1 }
            let isFound = boxes.contains { box in
                (box.south...box.north).contains(place.latitude)
                    && (box.west...box.east).contains(place.longitude)
            }
            #expect(isFound, "seed \(seed): \(origin) \(place) \(radius)")
        }
        #expect(insideCount > 15_000 && isNarrow > 8_000)
    }
}
