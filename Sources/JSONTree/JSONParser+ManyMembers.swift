extension JSONParser {
    /// The object at `start` of the output ends here. Rearranges its members, unless they came in order, and leaves on
    /// the stack those that decide on its kind: its metadata and one child.
    mutating func finish(_ many: consuming ManyMembers, from start: Int, isInOrder: Bool) {
        if !isInOrder { rearrange(many, from: start) }
        var place = start + 1
        while place < output.count {
            let text = output.bytes(0..<output.count)
            let keyEnd = CanonicalScan.stringEnd(text, from: place)
            let end = CanonicalScan.valueEnd(text, from: keyEnd + 1)
            let key = text.part(place + 1..<keyEnd - 1)
            let metadata = JSONMember.order(ofMetadata: key)
            members.append(
                JSONMember(
                    order: metadata ?? .max, start: UInt32(place), keyEnd: UInt32(keyEnd), end: UInt32(end),
                    keyHasEscapes: false))
            if metadata == nil { return }
            place = end + 1
        }
    }

    private mutating func rearrange(_ many: consuming ManyMembers, from start: Int) {
        let text = output.bytes(0..<output.count)
        many.sort(in: text)
        var sorted = ByteScratch(in: used.take(offset))
        sorted.append(UInt8(ascii: "{"))
        let entries = many.entries
        for index in entries.indices {
            let place = ManyMembers.start(of: entries[index])
            let keyEnd = CanonicalScan.stringEnd(text, from: place)
            // Of equal keys the last one stays.
            if index + 1 < entries.count {
                let next = ManyMembers.start(of: entries[index + 1])
                let length = keyEnd - place
                if next + length <= text.count, equalBytes(text.part(place..<keyEnd), text.part(next..<next + length)) {
                    continue
                }
            }
            // Nothing comes after the colon of a member that holds nothing.
            if keyEnd + 1 == text.count || text[keyEnd + 1] == UInt8(ascii: ",") { continue }
            if sorted.count > 1 { sorted.append(UInt8(ascii: ",")) }
            sorted.append(text.part(place..<CanonicalScan.valueEnd(text, from: keyEnd + 1)))
        }
        output.truncate(to: start)
        output.append(sorted.bytes(0..<sorted.count))
    }
}
