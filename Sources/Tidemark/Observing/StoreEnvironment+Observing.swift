// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

extension StoreEnvironment {
    /// Returns the same effects, with an observer for their syncs.
    func observed(by observer: (any StoreObserver)?) -> StoreEnvironment {
        guard let observer else { return self }
        var observed = self
        observed.log.observeSync = {
            // On the thread that writes the frame, which may be that of a caller.
            let work = observer.begins(.sync)
            return { result in
                switch result {
                case .success(let frame):
                    observer.notes(.synced(frame))
                    work?.ends(nil)
                case .failure(let error):
                    work?.ends(error)
                }
            }
        }
        return observed
    }
}
