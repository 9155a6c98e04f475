// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Shims
public import OpenCombine

// Operators of Combine that OpenCombine does not have.

extension Publishers {
    /// Publishes the values of several publishers.
    public struct MergeMany<Upstream: Publisher>: Publisher {
        /// The values that the publishers publish.
        public typealias Output = Upstream.Output
        /// The error that the publishers fail with.
        public typealias Failure = Upstream.Failure

        /// The publishers.
        public let publishers: [Upstream]

        /// Merges publishers.
        public init(_ upstream: Upstream...) {
            publishers = upstream
        }

        /// Merges publishers.
        public init(_ upstream: some Swift.Sequence<Upstream>) {
            publishers = Array(upstream)
        }

        /// Subscribes to all publishers.
        public func receive<Downstream: Subscriber>(
            subscriber: Downstream
        ) where Downstream.Input == Output, Downstream.Failure == Failure {
            // `flatMap` without a limit subscribes to all publishers at once, so their values
            // interleave.
            Publishers.Sequence<[Upstream], Failure>(sequence: publishers)
                .flatMap { $0 }
                .receive(subscriber: subscriber)
        }
    }

    /// Publishes the values of two publishers.
    public struct Merge<A: Publisher, B: Publisher>: Publisher
    where A.Output == B.Output, A.Failure == B.Failure {
        /// The values that the publishers publish.
        public typealias Output = A.Output
        /// The error that the publishers fail with.
        public typealias Failure = A.Failure

        private let merged: MergeMany<AnyPublisher<Output, Failure>>

        /// Merges two publishers.
        public init(_ a: A, _ b: B) {
            merged = MergeMany(a.eraseToAnyPublisher(), b.eraseToAnyPublisher())
        }

        /// Subscribes to both publishers.
        public func receive<Downstream: Subscriber>(
            subscriber: Downstream
        ) where Downstream.Input == Output, Downstream.Failure == Failure {
            merged.receive(subscriber: subscriber)
        }
    }

    /// Publishes the latest values of two publishers, as soon as each has published one.
    public struct CombineLatest<A: Publisher, B: Publisher>: Publisher
    where A.Failure == B.Failure {
        /// A value of each publisher.
        public typealias Output = (A.Output, B.Output)
        /// The error that the publishers fail with.
        public typealias Failure = A.Failure

        private enum Side {
            case a(A.Output)
            case b(B.Output)
        }

        /// The first publisher.
        public let a: A
        /// The second publisher.
        public let b: B

        /// Combines two publishers.
        public init(_ a: A, _ b: B) {
            self.a = a
            self.b = b
        }

        /// Subscribes to both publishers.
        public func receive<Downstream: Subscriber>(
            subscriber: Downstream
        ) where Downstream.Input == Output, Downstream.Failure == Failure {
            // One stream of both sides, so that `scan` sees values one after another and needs no
            // lock.
            Merge(a.map { Side.a($0) }, b.map { Side.b($0) })
                .scan((nil, nil) as (A.Output?, B.Output?)) { newest, side in
                    switch side {
                    case .a(let value): (value, newest.1)
                    case .b(let value): (newest.0, value)
                    }
                }
                .compactMap { newest -> Output? in
                    guard let a = newest.0, let b = newest.1 else { return nil }
                    return (a, b)
                }
                .receive(subscriber: subscriber)
        }
    }
}

extension Publisher {
    /// Publishes the values of this publisher and another one.
    public func merge<Other: Publisher>(with other: Other) -> Publishers.Merge<Self, Other> {
        Publishers.Merge(self, other)
    }

    /// Publishes the newest values of this publisher and another one.
    public func combineLatest<Other: Publisher>(
        _ other: Other
    ) -> Publishers.CombineLatest<Self, Other> where Other.Failure == Failure {
        Publishers.CombineLatest(self, other)
    }

    /// Publishes a value made from the latest values of this publisher and another one.
    public func combineLatest<Other: Publisher, Value>(
        _ other: Other,
        _ transform: @escaping (Output, Other.Output) -> Value
    ) -> Publishers.Map<Publishers.CombineLatest<Self, Other>, Value>
    where Other.Failure == Failure {
        combineLatest(other).map { transform($0.0, $0.1) }
    }
}
#endif
