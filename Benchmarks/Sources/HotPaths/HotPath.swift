// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One thing that happens once per record, on one thread: timed by the suites, and counted in
/// allocations and instructions by the driver.
package struct HotPath: Sendable {
    package let name: String
    /// Makes ready for so many operations.
    package let prepare: @Sendable (_ count: Int) throws -> Prepared

    /// A path that is ready.
    package struct Prepared {
        /// Runs so many operations, at most as many as were prepared for.
        ///
        /// Running again does the same work again, or goes on where the last run stopped.
        package let run: (_ count: Int) throws -> Void
    }

    /// Every path there is.
    package static let all = records + log + engine + handles
}

/// A path did not do what it was asked to do.
package struct WrongCount: Error {}

/// Makes sure that the work was done; also keeps the compiler from leaving it out.
func demand(_ condition: Bool) throws {
    guard condition else { throw WrongCount() }
}
