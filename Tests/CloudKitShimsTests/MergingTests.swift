// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Shims
import CloudKitShims
import Testing

struct MergingTests {
    @Test func `A merged publisher emits all values and finishes after both`() {
        let (a, b) = (PassthroughSubject<Int, Never>(), PassthroughSubject<Int, Never>())
        var values: [Int] = []
        var ends = 0
        let subscription = a.merge(with: b)
            .sink(receiveCompletion: { _ in ends += 1 }, receiveValue: { values.append($0) })
        a.send(1)
        b.send(2)
        a.send(completion: .finished)
        b.send(3)
        #expect(values == [1, 2, 3])
        #expect(ends == 0)
        b.send(completion: .finished)
        #expect(ends == 1)
        subscription.cancel()
        var many: [Int] = []
        let all = Publishers.MergeMany([Just(1), Just(2), Just(3)]).sink { many.append($0) }
        #expect(many == [1, 2, 3])
        all.cancel()
    }

    @Test func `A combined publisher emits the latest values of both`() {
        let (a, b) = (CurrentValueSubject<Int, Never>(1), PassthroughSubject<String, Never>())
        var values: [String] = []
        let subscription = a.combineLatest(b) { "\($0)\($1)" }.sink { values.append($0) }
        #expect(values.isEmpty)
        b.send("x")
        a.send(2)
        b.send("y")
        #expect(values == ["1x", "2x", "2y"])
        subscription.cancel()
        b.send("z")
        #expect(values.count == 3)
    }
}
#endif
