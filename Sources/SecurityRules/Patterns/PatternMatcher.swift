/// Searches texts for patterns. Keeps its memory from one search to the next.
struct PatternMatcher {
    /// Steps that one search may take: some seconds would block everybody.
    static let maximumSteps = 4_000_000

    private var current: [Int] = []
    private var next: [Int] = []
    /// The round in which a state was last entered.
    private var entered: [Int] = []
    private var round = 0
    private var pending: [Int] = []
    private var steps = 0

    /// Whether the pattern matches somewhere in the text. Nil if finding out takes too many steps.
    ///
    /// - parameter left: the remaining steps for this search and others; used steps are subtracted.
    mutating func finds(_ pattern: Pattern, in text: UnsafeRawBufferPointer, left: inout Int) -> Bool? {
        let found = finds(pattern, in: text, maximum: min(Self.maximumSteps, left))
        left -= steps
        return found
    }

    private mutating func finds(
        _ pattern: Pattern, in text: UnsafeRawBufferPointer, maximum: Int
    ) -> Bool? {
        if entered.count < pattern.states.count {
            entered = Array(repeating: -1, count: pattern.states.count)
            round = 0
        }
        steps = 0
        current.removeAll(keepingCapacity: true)
        var offset = 0
        round += 1
        while true {
            // A match may begin anywhere.
            if enter(0, pattern, offset, text.count, isCurrent: true) { return true }
            guard offset < text.count else { return false }
            let (character, length) = Self.character(text, at: offset)
            offset += length
            round += 1
            next.removeAll(keepingCapacity: true)
            for state in current {
                guard case .set(let set) = pattern.states[state], pattern.sets[set].contains(character) else {
                    continue
                }
                if enter(state + 1, pattern, offset, text.count, isCurrent: false) { return true }
            }
            steps += current.count + 1
            if steps > maximum { return nil }
            swap(&current, &next)
        }
    }

    /// Enters a state and all that follow it without a character. True if the match is among them.
    private mutating func enter(
        _ state: Int, _ pattern: Pattern, _ offset: Int, _ count: Int, isCurrent: Bool
    ) -> Bool {
        pending.removeAll(keepingCapacity: true)
        pending.append(state)
        while let state = pending.popLast() {
            if entered[state] == round { continue }
            entered[state] = round
            steps += 1
            switch pattern.states[state] {
            case .set: if isCurrent { current.append(state) } else { next.append(state) }
            case .split(let first, let second):
                pending.append(second)
                pending.append(first)
            case .jump(let target): pending.append(target)
            case .start: if offset == 0 { pending.append(state + 1) }
            case .end: if offset == count { pending.append(state + 1) }
            case .match: return true
            }
        }
        return false
    }

    /// The character at `offset` of well-formed text; an unpaired surrogate is one as well.
    private static func character(_ text: UnsafeRawBufferPointer, at offset: Int) -> (UInt32, Int) {
        let lead = text[offset]
        if lead < 0x80 { return (UInt32(lead), 1) }
        let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        var value = UInt32(lead) & (0x7F >> UInt32(length))
        let end = min(offset + length, text.count)
        for index in offset + 1..<max(end, offset + 1) { value = value << 6 | UInt32(text[index] & 0x3F) }
        return (value, end - offset)
    }
}
