// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The eras of the pictures in use, so that compaction does not remove events that they show.
///
/// A compaction begins a new era, and waits until no picture of an earlier era is in use.
package final class PicturePins: Sendable {
    /// The numbers of the eras that have not ended, the present one included.
    fileprivate final class OpenEras: Sendable {
        let numbers = Lock(Set<UInt64>())
    }

    /// The time between two compactions; it ends when the last picture that was taken in it is
    /// released.
    ///
    /// Each picture retains its era: registering a picture costs one reference.
    final class Era: Sendable {
        fileprivate let number: UInt64
        private let open: OpenEras

        fileprivate init(_ number: UInt64, _ open: OpenEras) {
            self.number = number
            self.open = open
            open.numbers.withLock { _ = $0.insert(number) }
        }

        deinit {
            open.numbers.withLock { _ = $0.remove(number) }
        }
    }

    private let open = OpenEras()
    /// The present era.
    ///
    /// Lock order: this lock, then the one of the numbers.
    private let present: Lock<Era>

    package init() {
        present = Lock(Era(0, open))
    }

    /// Registers a new picture, which has to retain the result.
    func pin() -> Era {
        present.withLock { $0 }
    }

    /// Begins a new era, and returns it.
    package func beginEra() -> UInt64 {
        present.withLock { present in
            present = Era(present.number + 1, open)
            return present.number
        }
    }

    /// Returns true if a picture taken before an era is in use.
    package func isAnyLeft(before era: UInt64) -> Bool {
        open.numbers.withLock { $0.contains { $0 < era } }
    }
}
