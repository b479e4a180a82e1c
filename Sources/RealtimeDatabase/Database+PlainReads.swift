import HearthJSONTree
import HearthSecurityRules

/// Gets that need no turn. While nothing is under way, a turn would answer a get at once, and memory has most values:
/// then an event loop may look for them itself, and save the way to the database thread and back.
extension Database {
    /// A larger value is not copied into its message.
    package static let answeredAtOnceBytesMax = 16 << 10
    /// Steps of a decision by rules.
    private static let stepsMax = 2000

    /// Answers gets as a turn would. It leaves those that may need more than a look at memory, which are denied or
    /// expensive to decide, or whose values are large or not in memory as one row; and later ones of their connections.
    ///
    /// - parameter now: in milliseconds since 1970.
    /// - parameter bytesMax: about so many bytes of values are read.
    /// - parameter mayGoOn: asked after each few; all others are left if it answers false.
    /// - parameter answer: receives the index of a get, and the canonical text of its value.
    /// - returns: the indices of those that are left.
    package func answerAtOnce(
        _ reads: [PlainRead], now: Int64, bytesMax: Int = .max, mayGoOn: () -> Bool = { true },
        _ answer: (Int, UnsafeRawBufferPointer) -> Void
    ) -> [Int] {
        guard isIdle(at: now) else { return Array(reads.indices) }
        let (rows, span) = (rows, reads.span)
        let known = isOpen ? nil : KnownRows(rows)
        var left: [Int] = []
        var waiting: Set<ConnectionID> = []
        var bytes = 0
        for index in span.indices {
            let isNext = index.isMultiple(of: TreeRows.touchedMax)
            // A decision by rules may take as long as many gets.
            guard index == 0 || bytes < bytesMax && (known == nil && !isNext || mayGoOn()) else {
                left.append(contentsOf: index..<span.count)
                break
            }
            if isNext { touchRows(of: reads, from: index) }
            // Safe because: `reads` keeps the path, and the tree does not change before the value is used.
            let path = span[index].path.encoded.withUnsafeBytes { $0 }
            guard waiting.isEmpty || !waiting.contains(span[index].connection),
                let value = rows.knownValue(at: path), value.count <= Self.answeredAtOnceBytesMax,
                known.map({ mayRead(span[index], in: $0, now: now) }) ?? true
            else {
                left.append(index)
                waiting.insert(span[index].connection)
                continue
            }
            bytes += value.count
            answer(index, value)
        }
        tally?.add(.get, .ok, count: span.count - left.count)
        return left
    }

    private func touchRows(of reads: [PlainRead], from start: Int) {
        rows.touch(start..<min(start + TreeRows.touchedMax, reads.count)) { index in
            // Safe because: `reads` keeps the path.
            reads.span[index].path.encoded.withUnsafeBytes { $0 }
        }
    }

    /// A turn of gets would do nothing but answer them, and nothing else waits to be said.
    private func isIdle(at now: Int64) -> Bool {
        guard log.isEmpty, telling == nil, tornBy == nil, refusal == nil, durableSequence == sequence else {
            return false
        }
        guard ownedElsewhere == nil, forwarded == nil, heldWrites == .none, !pendingWrite.isThere else { return false }
        guard largeReads.isEmpty, transactions.isEmpty, !hasOrphans, !isMovingLeases, hiddenBy == nil else {
            return false
        }
        return observer == nil && coverage == nil && indexes.settings.rateLimits.isEmpty && now < indexes.nextExpiry
    }

    /// Whether the rules allow a read, as far as memory can tell at little cost.
    ///
    private func mayRead(_ read: borrowing PlainRead, in known: KnownRows, now: Int64) -> Bool {
        guard let judge, !read.principal.isAdministrator else { return true }
        let context = RuleContext(auth: read.principal.auth, now: now)
        let verdict = try? judge.decide(.read(read.path), context, in: known, readStepsMax: Self.stepsMax)
        return verdict?.isAllowed == true
    }
}
