// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
/// The last use of each session and its last tokens, in memory only.
///
/// After a restart, the lifetime of a session counts from the restart for clients that listen, and from the
/// time in the token for others; the first token that arrives is accepted.
struct SessionUses {
    private struct Use {
        /// The time of the last use, in milliseconds since 1970.
        var last: Int64
        /// The time in the one valid token; only with ``TokenRotation/strict``.
        var nextToken: Int64?
        /// The token that was handed out last, and the time in it.
        var lastToken: (issued: Int64, text: String)?
    }

    private var uses: [String: Use] = [:]
    /// The time from which all uses are known; a session that began before counts as used then.
    private let start: Int64
    /// The number of entries at which old ones are searched.
    private var searchCount = 10_000

    init(from start: Int64) {
        self.start = start
    }

    /// The number of entries.
    var count: Int { uses.count }

    /// Returns the time in the next valid token of a session.
    mutating func nextToken(of session: Session, now: Int64) -> Int64 {
        let id = session.id.text
        if let next = uses[id]?.nextToken { return next }
        var use = uses[id] ?? Use(last: now)
        use.nextToken = now
        set(use, id)
        return now
    }

    /// Returns the session's last token if it contains a time.
    func token(of session: Session, issued: Int64) -> String? {
        guard let last = uses[session.id.text]?.lastToken, last.issued == issued else { return nil }
        return last.text
    }

    /// Keeps a token of a session that was used before.
    mutating func keep(_ text: String, issued: Int64, of session: Session) {
        uses[session.id.text]?.lastToken = (issued, text)
    }

    /// Returns true if a session continues; this is no use.
    func continues(_ session: Session, now: Int64) -> Bool {
        now < (uses[session.id.text]?.last ?? start) + session.lifetime
    }

    /// Records that a session began.
    mutating func begin(_ session: Session, now: Int64) {
        set(Use(last: now), session.id.text)
    }

    /// Returns true if a session continues, and records a use.
    mutating func use(_ session: Session, now: Int64) -> Bool {
        guard continues(session, now: now) else { return false }
        let id = session.id.text
        var use = uses[id] ?? Use(last: now)
        use.last = now
        set(use, id)
        return true
    }

    /// Returns true if the token of a session with a time is valid, and records its use.
    mutating func take(
        _ issued: Int64,
        of session: Session,
        isStrict: Bool,
        now: Int64
    ) -> Bool {
        let id = session.id.text
        var use = uses[id] ?? Use(last: issued)
        guard now < max(issued, use.last) + session.lifetime else { return false }
        if isStrict {
            guard use.nextToken ?? issued == issued else { return false }
            // Later than `issued` even within one millisecond, or the same token would be valid
            // again.
            use.nextToken = max(now, issued + 1)
        }
        use.last = now
        set(use, id)
        return true
    }

    /// Sets an entry, and removes those that no session needs any more.
    private mutating func set(_ use: Use, _ id: String) {
        uses[id] = use
        guard uses.count >= searchCount else { return }
        // No session lasts longer without a use. Any other entry is needed: without it, a used
        // token would be valid again, or a session would end early.
        uses = uses.filter { use.last - $0.value.last < Session.longestLifetime }
        // The number doubles, so that many live sessions are not searched at each use.
        searchCount = max(10_000, 2 * uses.count)
    }
}
#endif
