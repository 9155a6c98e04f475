// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The queue of the main actor's jobs.
enum MainQueue {
    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// True in code that the main queue runs.
    ///
    /// After an asynchronous `main` has begun, the queue has no thread of its own, so that the
    /// current thread does not tell.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) ?? false }
}
