// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Hummingbird
import NIOCore
import Synchronization
import Tidemark
import TidemarkWire

/// The answers of a service: a store's answer to the first request of a method, repeated.
///
/// This is what a client and HTTP take of the time of a save, without the store.
final class RepeatedAnswers: Sendable {
    private struct Answer {
        let form: WireForm
        let bytes: ByteBuffer
    }

    private let store: Store
    private let known = Mutex<[String: Answer]>([:])

    init(_ store: Store) {
        self.store = store
    }

    func answer(_ name: String, _ type: String, _ body: ByteBuffer) async throws -> Response {
        guard let form = WireForm(mediaType: type), let method = DatabaseMethods.named(name) else {
            throw HTTPError(.notFound)
        }
        let answer: Answer
        if let earlier = known.withLock({ $0[name] }) {
            answer = earlier
        } else {
            let request = ReceivedMessage(form, Array(body.readableBytesView))
            let message = try await method.answer(
                to: request,
                in: form,
                by: store,
                as: Caller()
            )
            answer = Answer(form: message.form, bytes: ByteBuffer(bytes: message.bytes))
            known.withLock { $0[name] = answer }
        }
        return Response(
            status: .ok,
            headers: [.contentType: answer.form.mediaType],
            body: ResponseBody(byteBuffer: answer.bytes)
        )
    }
}
