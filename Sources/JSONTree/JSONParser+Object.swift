extension JSONParser {
    mutating func parseObject(depth: Int) throws(JSONError) -> Kind {
        let opening = offset
        offset += 1
        let start = output.count
        output.append(UInt8(ascii: "{"))
        let base = members.count
        var many = ManyMembers()
        var isInOrder = true
        var hasMetadata = false
        skipWhiteSpace()
        if try peek() == UInt8(ascii: "}") {
            offset += 1
            output.truncate(to: start)
            return .nothing
        }
        while true {
            if output.count > start + 1 { output.append(UInt8(ascii: ",")) }
            let member = try parseMember(depth: depth)
            if member.isMetadata { hasMetadata = true }
            if member.isNothing { isInOrder = false }
            if members.count > base, !precedes(members.top(from: members.count - 1)[0], member) { isInOrder = false }
            if members.count - base >= ManyMembers.countMin { many.append(members.takeTop(from: base)) }
            members.append(member)
            try refuseLongOutput()
            skipWhiteSpace()
            let byte = try peek()
            offset += 1
            if byte == UInt8(ascii: ",") { continue }
            guard byte == UInt8(ascii: "}") else { throw JSONError(.unexpectedByte(byte), at: offset - 1) }
            break
        }
        if !many.isEmpty || !isInOrder && output.count - start >= Self.largeObjectBytesMin {
            many.append(members.takeTop(from: base))
            finish(many, from: start, isInOrder: isInOrder)
        } else if !isInOrder {
            rearrange(from: start, base: base)
        }
        let kind: Kind
        if hasMetadata {
            kind = try finishMetadata(from: start, base: base, opening: opening)
        } else if members.count == base {
            output.truncate(to: start)
            kind = .nothing
        } else {
            output.append(UInt8(ascii: "}"))
            kind = .object
        }
        members.truncate(to: base)
        return kind
    }

    private mutating func parseMember(depth: Int) throws(JSONError) -> JSONMember {
        skipWhiteSpace()
        let keyOffset = offset
        let first = try peek()
        guard first == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte(first), at: offset) }
        let start = output.count
        let hasEscapes = try parseString()
        let keyEnd = output.count
        let order = try orderOfKey(start + 1..<keyEnd - 1, hasEscapes: hasEscapes, offset: keyOffset)
        try parseColon()
        skipWhiteSpace()
        let valueOffset = offset
        let kind: Kind
        switch order {
        case JSONMember.priorityOrder:
            kind = try parseLeaf(else: .invalidPriority)
            if kind == .bool { throw JSONError(.invalidPriority, at: valueOffset) }
        case JSONMember.valueOrder:
            kind = try parseLeaf(else: .invalidValueWrapper)
        case JSONMember.serverValueOrder:
            try parseServerValue()
            kind = .serverValue
        default:
            if depth == 0 { throw JSONError(.tooDeep(limit: limits.depth), at: keyOffset) }
            kind = try parseNode(depth: depth - 1)
        }
        var isNothing = kind == .nothing
        if isNothing, keepsNulls, depth == limits.depth {
            output.append("null")
            isNothing = false
        }
        return JSONMember(
            order: order, start: UInt32(start), keyEnd: UInt32(keyEnd), end: UInt32(output.count),
            keyHasEscapes: hasEscapes, isNothing: isNothing)
    }

    private func orderOfKey(_ range: Range<Int>, hasEscapes: Bool, offset: Int) throws(JSONError) -> UInt64 {
        guard hasEscapes else { return try orderOfKey(output.bytes(range), offset: offset) }
        var utf8: [UInt8] = []
        JSONText.appendUnescaped(output.bytes(range), to: &utf8)
        return try utf8.span.bytes.withUnsafeBytes { (utf8) throws(JSONError) in try orderOfKey(utf8, offset: offset) }
    }

    private func orderOfKey(_ utf8: UnsafeRawBufferPointer, offset: Int) throws(JSONError) -> UInt64 {
        if let order = JSONMember.order(ofMetadata: utf8) { return order }
        if utf8.first == UInt8(ascii: ".") { throw JSONError(.unknownMetadata, at: offset) }
        do throws(KeyError) { try Key.check(utf8) } catch { throw JSONError(.key(error), at: offset) }
        return JSONMember.order(ofKey: utf8)
    }

    /// Order of members by key.
    private func precedes(_ a: JSONMember, _ b: JSONMember) -> Bool {
        if a.order != b.order { return a.order < b.order }
        return a.isOrderExact ? false : compareLongKeys(a, b) < 0
    }

    @inline(never)
    private func compareLongKeys(_ a: JSONMember, _ b: JSONMember) -> Int {
        let textA = output.bytes(Int(a.start) + 1..<Int(a.keyEnd) - 1)
        let textB = output.bytes(Int(b.start) + 1..<Int(b.keyEnd) - 1)
        guard a.keyHasEscapes || b.keyHasEscapes else { return compareText(textA, textB) }
        var (utf8A, utf8B): ([UInt8], [UInt8]) = ([], [])
        JSONText.appendUnescaped(textA, to: &utf8A)
        JSONText.appendUnescaped(textB, to: &utf8B)
        return utf8A.withUnsafeBytes { a in utf8B.withUnsafeBytes { b in compareText(a, b) } }
    }

    /// Sorts the members of the object that starts at `start`; of equal keys the last one stays, and only if it holds
    /// something.
    private mutating func rearrange(from start: Int, base: Int) {
        let top = members.top(from: base)
        sort(top)
        let copyStart = output.count
        output.append(UInt8(ascii: "{"))
        var kept = 0
        for index in top.indices {
            let member = top[index]
            if index + 1 < top.count, !precedes(member, top[index + 1]) { continue }
            if member.isNothing { continue }
            if kept > 0 { output.append(UInt8(ascii: ",")) }
            let moved = output.count - copyStart + start
            output.appendCopy(of: Int(member.start)..<Int(member.end))
            top[kept] = JSONMember(
                order: member.order, start: UInt32(moved), keyEnd: UInt32(moved) + member.keyEnd - member.start,
                end: UInt32(moved) + member.end - member.start, keyHasEscapes: member.keyHasEscapes)
            kept += 1
        }
        members.truncate(to: base + kept)
        output.keepOnly(copyStart..<output.count, at: start)
    }

    /// By key, then by place.
    private func sort(_ top: UnsafeMutableBufferPointer<JSONMember>) {
        func isBefore(_ a: JSONMember, _ b: JSONMember) -> Bool {
            if a.order != b.order { return a.order < b.order }
            let order = a.isOrderExact ? 0 : compareLongKeys(a, b)
            return order != 0 ? order < 0 : a.start < b.start
        }
        guard top.count <= 16 else {
            var top = top
            top.sort(by: isBefore)
            return
        }
        for index in top.indices.dropFirst() {
            let member = top[index]
            var place = index
            while place > 0, isBefore(member, top[place - 1]) {
                top[place] = top[place - 1]
                place -= 1
            }
            top[place] = member
        }
    }

    /// Gives an object with `.priority`, `.value` or `.sv`, whose members are in order, its canonical form
    /// (Protocol.md 7.6).
    private mutating func finishMetadata(from start: Int, base: Int, opening: Int) throws(JSONError) -> Kind {
        var priority: Range<Int>?
        var value: Range<Int>?
        var isServerValue = false
        var children = 0
        for member in members.top(from: base) {
            switch member.order {
            case JSONMember.priorityOrder: priority = Int(member.start)..<Int(member.end)
            case JSONMember.valueOrder: value = Int(member.keyEnd) + 1..<Int(member.end)
            case JSONMember.serverValueOrder: isServerValue = true
            default: children += 1
            }
        }
        if isServerValue {
            if value != nil || children > 0 { throw JSONError(.invalidServerValue, at: opening) }
            guard let priority else {
                output.append(UInt8(ascii: "}"))
                return .serverValue
            }
            // {".priority":p,".sv":s} becomes {".priority":p,".value":{".sv":s}}
            let operation = priority.upperBound + 1..<output.count
            let copyStart = output.count
            output.append("{")
            output.appendCopy(of: priority)
            output.append(",\".value\":{")
            output.appendCopy(of: operation)
            output.append("}}")
            output.keepOnly(copyStart..<output.count, at: start)
            return .object
        }
        if let value {
            if children > 0 { throw JSONError(.invalidValueWrapper, at: opening) }
            if priority != nil {
                output.append(UInt8(ascii: "}"))
                return .object
            }
            output.keepOnly(value, at: start)
            return kindOfLeaf(at: start)
        }
        if children > 0 {
            output.append(UInt8(ascii: "}"))
            return .object
        }
        output.truncate(to: start)
        return .nothing
    }

    private func kindOfLeaf(at start: Int) -> Kind {
        switch output[start] {
        case UInt8(ascii: "{"): .serverValue
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        default: .number
        }
    }
}
