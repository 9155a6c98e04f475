// Tidemark
// SPDX-License-Identifier: Apache-2.0

// A program as it was written before Swift 6, whose closures mode 6 does not take, on Apple's systems either.
#if Shims
import CloudKit
import CloudKitShims
import Foundation
import Testing

#if canImport(Combine)
import Combine
#endif

extension CKDatabase {
    fileprivate func savePublisher(_ record: CKRecord) -> AnyPublisher<CKRecord, Error> {
        Deferred {
            Future<CKRecord, Error> { promise in
                self.save(record) { saved, error in
                    if let saved = saved {
                        promise(.success(saved))
                    } else {
                        promise(.failure(error ?? CKError(.internalError)))
                    }
                }
            }
        }
        .eraseToAnyPublisher()
    }
}

@Suite struct ShimOldPrograms {
    @Test func aFutureSaves() async throws {
        let device = TidemarkDevice(.temporary(), user: "anna")
        let database = device.container().privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["title"] = "Milk"
        var cancellable: AnyCancellable?
        let saved: CKRecord = try await withCheckedThrowingContinuation { continuation in
            cancellable = database.savePublisher(record)
                .retry(1)
                // A serial queue: on a concurrent one, OpenCombine may deliver the completion before
                // the value, which is then lost.
                .receive(on: DispatchQueue(label: "saved records"))
                .sink(
                    receiveCompletion: { completion in
                        if case .failure(let error) = completion {
                            continuation.resume(throwing: error)
                        }
                    },
                    receiveValue: { continuation.resume(returning: $0) }
                )
        }
        #expect(saved["title"] as? String == "Milk")
        #expect(cancellable != nil)
    }
}
#endif
