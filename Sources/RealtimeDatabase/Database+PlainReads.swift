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
        let (known, span) = (isOpen ? nil : KnownRows(rows), reads.span)
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
            let mayCome = waiting.isEmpty || !waiting.contains(span[index].connection)
            let isAnswered =
                mayCome
                && span[index].path.encoded.withUnsafeBytes { path in
                    rows.withKnownValue(at: path) { value in
                        guard value.count <= Self.answeredAtOnceBytesMax, mayRead(span[index], in: known, now: now)
                        else {
                            return false
                        }
                        bytes += value.count
                        answer(index, value)
                        return true
                    }
                }
            if !isAnswered {
                left.append(index)
                waiting.insert(span[index].connection)
            }
        }
        tally?.add(.get, .ok, count: span.count - left.count)
        return left
    }

    private func touchRows(of reads: [PlainRead], from start: Int) {
        rows.touch(start..<min(start + TreeRows.touchedMax, reads.count)) { index, touch in
            reads.span[index].path.encoded.withUnsafeBytes(touch)
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
    /// - parameter known: nil if everything is allowed.
    private func mayRead(_ read: borrowing PlainRead, in known: KnownRows?, now: Int64) -> Bool {
        guard let judge, let known, !read.principal.isAdministrator else { return true }
        let context = RuleContext(auth: read.principal.auth, now: now)
        let verdict = try? judge.decide(.read(read.path), context, in: known, readStepsMax: Self.stepsMax)
        return verdict?.isAllowed == true
    }
}
